// Derivatives that an author gives by hand: `# tad: backward of helper(x, y): grad * y, grad * x`.
#ifndef TAD_ANALYSIS_MODULE_GIVEN_RULES_H
#define TAD_ANALYSIS_MODULE_GIVEN_RULES_H

#include "analysis/module/module.h"

/// One such comment. What it is about is not looked at here, but that it can be read and that the function is there.
typedef struct GivenRule {
    const Module *module;  // of the comment: where the names of the expressions are looked up
    Range range;           // from `#` to the end of the line
    Str name;              // of the function, as written
    LIST(Str) parameters;  // whose gradients the expressions are, in this order
    Range expressions;     // behind the colon
    const FunctionDefinition *function;  // NULL where there is a problem with the name
    const char *problem;                 // why the comment says nothing; NULL: it can be read
} GivenRule;

typedef LIST(GivenRule) GivenRules;

/// All of them in the module's text, in order. Allocates in `arena`, which the rules need not outlive.
GivenRules given_rules(Arena *arena, const Module *module);
/// The rule for a function that a kernel of `module` calls: in that module, else in the function's own. NULL: none is given.
const GivenRule *given_rule_of(Arena *arena, const Module *module,
                               const FunctionDefinition *function);
/// Whether the text may hold a rule at all: a quick look.
bool given_rules_may_be(const Module *module);
/// Whether a word of the expressions is a name of the file: no parameter, `grad` or `result`.
bool given_rule_asks(const GivenRule *rule, Str word);
/// Whether a parameter of the function may have a gradient: unless the rule leaves it out, or says `None`.
bool given_rule_may_be_gradient(const GivenRule *rule, Str parameter);
/// The expression of the parameter `at` of those that the rule names, of `count` in all; -1: it is a constexpr that has none.
int given_rule_expression(const GivenRule *rule, int at, int count);
/// How many of the named parameters are no constexprs.
int given_rule_least(const GivenRule *rule);
/// The expressions alone, as one line of Python, for people.
Str given_rule_text(const GivenRule *rule);

#endif
