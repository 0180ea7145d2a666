// Expressions and bodies in Triton's language, lowered at a builder's place.
#ifndef TAD_ANALYSIS_LOWERING_RULE_H
#define TAD_ANALYSIS_LOWERING_RULE_H

#include "analysis/build/build.h"
#include "analysis/module/given_rules.h"
#include "base/error.h"

typedef struct NamedValue {
    const char *name;
    Value *value;
} NamedValue;

/// Lowers one expression in Triton's language (`text`, for example a derivative rule "grad * result") at the builder's place;
/// built-ins are bare names (`exp`, `where`, `sum`). NULL and a BUG-free message in `*error` where it does not lower.
Value *lower_expression(Builder *builder, const char *text, const NamedValue *names, int name_count,
                        Error *error);
/// The same for a body of statements that ends in `return ...` (the EXPANDS column).
Value *lower_body(Builder *builder, const char *text, const NamedValue *names, int name_count,
                  Error *error);

/// What a rule that was given by hand comes to at the builder's place: a value for each of its parameters, in order; None where there
/// is no gradient, NULL where a constexpr has no expression. Names are those given here, then those of the rule's file. NULL where it does not lower: `fault` has the place in the
/// file and the message.
Value **lower_given_rule(Builder *builder, const GivenRule *rule, const NamedValue *names,
                         int name_count, Diagnostic *fault);

/// The helper's own value of these arguments, its body inlined at the builder's place. NULL where it is not understood.
Value *lower_helper(Builder *builder, const FunctionDefinition *helper, Value *const *values);

#endif
