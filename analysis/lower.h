// Syntax of one jit function in, typed tile IR out, helpers inlined.
#ifndef TAD_ANALYSIS_LOWER_H
#define TAD_ANALYSIS_LOWER_H

#include "analysis/module.h"
#include "base/error.h"

/// What is known about a parameter before lowering: a constant (constexprs, None for an absent pointer), or a type.
typedef struct Binding {
    Str name;
    const Constant *constant;  // or NULL
    Type type;                 // used when constant is NULL and kind is not TYPE_UNKNOWN
} Binding;

typedef struct LowerOptions {
    const Binding *bindings;
    int binding_count;
    bool
        unroll_static;  // unroll tl.static_range with known bounds (execution); else keep OP_STATIC_FOR
    int max_ops;        // 0: a default; beyond it lowering stops with a diagnostic
    int max_depth;      // of inlined calls
    Map *
        observed;  // out (empty before), or NULL: helper (FunctionDefinition *) -> Type[] that it was called with
} LowerOptions;

/// Lowers and infers types in one walk, as Triton's own code generator does; repeated until the kinds of
/// unannotated parameters (pointer, int, float) are stable. Never fails: what is not understood becomes OP_UNKNOWN
/// with one diagnostic. With all constexprs bound, every `if` on them is folded and dims are numbers.
Function *lower_kernel(Arena *arena, const FunctionDefinition *definition,
                       const LowerOptions *options, Diagnostics *diagnostics);

/// Joins the types of one more call into those that a helper is known to be called with.
void types_observe(Arena *arena, Type *known, const Type *seen, int count);

/// What the expression at bytes [start, end) of the kernel's own text came to: a name where it is read or assigned, a call,
/// an operator. Of a loop that is unrolled, in its last round. NULL where nothing was lowered. For editors.
Value *function_value_at(const Function *function, uint32_t start, uint32_t end);

/// Values of one place, each of another type.
typedef struct InlinedValue {
    Value *value;
    struct InlinedValue *next;
} InlinedValue;

/// What a name in a helper of the same file, or for the range of its body its result, came to where `function` inlines it; the
/// first few types. NULL where it does not. Bytes of the text of `helper`.
const InlinedValue *function_inlined_at(const Function *function, const FunctionDefinition *helper,
                                        uint32_t start, uint32_t end);

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

#endif
