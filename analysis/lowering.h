// The lowering's own state and the parts of it that call each other; only lower*.c and params.c include this.
#ifndef TAD_ANALYSIS_LOWERING_H
#define TAD_ANALYSIS_LOWERING_H

#include "analysis/infer.h"
#include "analysis/lower.h"
#include "analysis/module_scope.h"

/// No text that a program means grows longer.
enum { TEXT_LIMIT = 100000 };

/// The variables of one Python function while it is lowered: slots by name, values by slot (NULL: not assigned).
typedef struct Variables {
    Value **values;
    int count;
} Variables;

/// One function being inlined (or the kernel itself, a global's expression, or a rule of the operation table).
typedef struct Frame {
    const FunctionDefinition *definition;  // NULL for globals and rules
    const Module *module;  // where names that are no variables are looked up; NULL for rules
    const Source *source;  // what the nodes' text is in
    Map slots;             // name -> slot + 1
    Map scalars;  // names of numbers that are not annotated as constexprs: Triton makes tensors of them
    LIST(Str) names;  // by slot
    Variables variables;
    int loops;               // around the statement at hand
    int unknown_conditions;  // around it, within all frames
    const void *global;      // id of the expression of the global that is being evaluated, or NULL
    struct Frame *caller;
} Frame;

typedef struct Lowering {
    Arena *arena;
    Builder builder;
    const LowerOptions *options;
    Diagnostics *diagnostics;  // NULL while the kinds of parameters are still sought
    const Source *root;        // diagnostics in other files are told at the call in this one
    Frame *frame;
    int depth;       // of expressions and blocks, against the C stack
    int attempts;    // enclosing loops that are lowered a second time
    int unrepeated;  // loops that were not tried first because so many around them are
    int steps;       // statements so far
    int call_depth;
    int global_depth;
    int global_count;  // evaluations of globals so far
    int max_ops;
    int max_depth;
    int split_depth;       // arms around that took the statements after them along
    int unassigned;        // reads so far, below such arms, of variables without a value
    LIST(Str) forgotten;   // variables that lost their type where two arms met
    bool stopped;          // a limit was reached: finish quickly
    bool keeps_sightings;  // the pass that stays
    const struct Assumption *assumptions;  // conditions of the arms around, innermost first
} Lowering;

/// A condition that is known where its arm is lowered.
typedef struct Assumption {
    const Value *condition;
    bool truth;
    bool holds;  // for every instance of the kernel that compiles, not just within an arm
    const struct Assumption *outer;
} Assumption;

/// What a block of statements came to.
typedef struct Outcome {
    bool returned;
    Value *value;  // NULL: nothing
    bool ended;    // the statements that follow in its block were lowered with it
} Outcome;

/// Statements that are still to come, also those after the enclosing blocks.
typedef struct Rest {
    const SyntaxNode *items;
    int count;
    int next;
    const struct Rest *outer;
} Rest;

/// What an expression stands for that need not be a value.
typedef enum EntityKind { ENTITY_VALUE, ENTITY_SCOPE, ENTITY_METHOD, ENTITY_PYTHON } EntityKind;

typedef struct Entity {
    EntityKind kind;
    Value *value;      // ENTITY_VALUE, and the receiver of an ENTITY_METHOD
    ScopeEntry entry;  // ENTITY_SCOPE
    Str name;          // of the method or Python built-in
} Entity;

typedef struct Arguments {
    LIST(Value *) positional;
    LIST(Keyword) keywords;
    LIST(Range) keyword_ranges;
    Range range;
    bool is_open;  // something like **kwargs: what is missing may be in there
} Arguments;

// lower.c
Frame *frame_enter(Lowering *lowering, Frame *frame);
void frame_leave(Lowering *lowering, Frame *frame);
Value *variable_get(Lowering *lowering, Str name);
void variable_set(Lowering *lowering, Str name, Value *value);
int variable_slot(Lowering *lowering, Str name);
Variables variables_copy(Lowering *lowering);
Str lowering_text(const Lowering *lowering, SyntaxNode node);
/// Sets the place of ops to come; returns the former one to set again.
Range lowering_at(Lowering *lowering, SyntaxNode node);
Diagnostic *lowering_report(Lowering *lowering, DiagnosticId id, SyntaxNode node,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));
/// Reports a construct once and gives an OP_UNKNOWN for it.
Value *lowering_unknown(Lowering *lowering, SyntaxNode node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/// The same without a report: something that follows from what was said before.
Value *lowering_silent(Lowering *lowering, const char *note);
/// A constexpr of which nothing is known.
Value *lowering_opaque(Lowering *lowering, const char *note);
/// Remembers for function_value_at what `node` came to; where nodes of the kernel itself are lowered.
void lowering_sight(Lowering *lowering, SyntaxNode node, Value *value);
/// Remembers for function_inlined_at what a place of the helper that is being inlined came to.
void lowering_sight_inlined(Lowering *lowering, uint32_t start, uint32_t end, Value *value);
/// Whether a limit is reached; says so once. Asked once per statement.
bool lowering_over(Lowering *lowering, SyntaxNode node);
/// One level deeper; false (and said once) when that is too deep. Ended by `lowering->depth--` either way.
bool lowering_deeper(Lowering *lowering, SyntaxNode node);

// lower_statement.c
Outcome lower_rest(Lowering *lowering, const Rest *rest);
Outcome lower_block(Lowering *lowering, SyntaxNode block);
void lower_assign(Lowering *lowering, SyntaxNode target, Value *value);
void names_assigned(Lowering *lowering, SyntaxNode node, Map *names);
/// Whether the statements to come read `name` before they certainly assign it.
bool rest_reads(const Lowering *lowering, const Rest *rest, Str name);

// lower_control.c
/// With `leaves` a return is in it, and the arms take what follows with them.
Outcome lower_if(Lowering *lowering, SyntaxNode node, const Rest *after, bool leaves);
Value *lower_conditional(Lowering *lowering, SyntaxNode node);
/// What an arm (the first, or the second) comes to.
typedef Value *ChoiceLowerer(Lowering *lowering, void *context, bool is_first);
/// One of two values by a condition: an OP_IF, or one arm of it where the condition is known.
Value *lower_choice(Lowering *lowering, Value *condition, ChoiceLowerer *lower, void *context);
/// The condition that decides which of two functions a value is; NULL where it is no such value.
Value *function_choice(const Value *value, Value *functions[2]);
void lower_for(Lowering *lowering, SyntaxNode node);
void lower_while(Lowering *lowering, SyntaxNode node);  // and lower_for: lower_loop.c
/// How many integers range(first, end, step) has, and each of them.
uint64_t range_count(int64_t first, int64_t end, int64_t step);
int64_t range_item(int64_t first, int64_t step, uint64_t index);
/// True and `*result` when the truth of a value is known at compile time.
bool value_truth(const Value *value, bool *result);
/// The same, knowing the conditions of the arms around.
bool condition_known(const Lowering *lowering, const Value *value, bool *result);
/// Certainly a value of the running program in every instance: it comes from memory or from the place in the grid. A
/// plain parameter need not be one: Triton makes a constexpr of an integer 1.
bool value_is_runtime(const Value *value);
/// Adds what follows from `condition` being `truth` to the assumptions, until the arm around ends.
void lowering_assume(Lowering *lowering, const Value *condition, bool truth, bool holds);
Type type_join(Arena *arena, Type a, Type b);
/// The type a constexpr has once it is a run-time value.
Type type_at_runtime(const Value *value);

// lower_expression.c
Value *lower_value(Lowering *lowering, SyntaxNode node);
Entity lower_entity(Lowering *lowering, SyntaxNode node);
Value *entity_value(Lowering *lowering, Entity entity, SyntaxNode node);
/// What the name of a number is in an operator `beside` another operand; anything else as it is.
Value *lower_named_number(Lowering *lowering, SyntaxNode node, Value *value, const Value *beside);
Value *lower_operator(Lowering *lowering, Str symbol, Value *left, Value *right, SyntaxNode node);
bool value_is_tuple(const Value *value, int *count);
/// A keyword that the operation does not have, with the parameter that may be meant.
void lowering_report_keyword(Lowering *lowering, OpCode code, const char *callee,
                             const char *keyword, SyntaxNode node);
/// A tuple, or an unknown (said once) where it would have more values in all than any program needs.
Value *tuple_item(Lowering *lowering, Value *tuple, int index);
/// The items that a `for` or a comprehension runs over when they are known: a tuple, range(), zip(), enumerate(). False otherwise.
bool lower_iterable(Lowering *lowering, SyntaxNode node, Value ***items, int *count);

// lower_access.c
Entity lower_attribute(Lowering *lowering, SyntaxNode node);
Value *lower_subscript(Lowering *lowering, SyntaxNode node);
OpCode descriptor_method(Lowering *lowering, Str name);
Value *lower_dtype_question(Lowering *lowering, Value *value, Str name);

// lower_literal.c
Value *lower_integer(Lowering *lowering, SyntaxNode node);
Value *lower_float(Lowering *lowering, SyntaxNode node);
Value *lower_string(Lowering *lowering, SyntaxNode node);
bool text_method_exists(Str name);
/// A method of a text that is known: "...".format(...), split, join and the like.
Value *lower_text_method(Lowering *lowering, Str text, Str name, const Arguments *arguments);

// lower_call.c
Value *lower_call(Lowering *lowering, SyntaxNode node);
Value *lower_operation(Lowering *lowering, OpCode code, Arguments *arguments, SyntaxNode node);
Value *lower_inline(Lowering *lowering, const FunctionDefinition *callee, Arguments *arguments,
                    SyntaxNode node);
Value *lower_entity_call(Lowering *lowering, Entity callee, Arguments *arguments, SyntaxNode node);

// lower_global.c
/// The value of a global of a module: a constant, or a constexpr of which nothing is known.
Value *global_value(Lowering *lowering, ScopeEntry entry, Str name, SyntaxNode node);
/// What `Point(x, y)` makes when `entry` is a class of named tuples: a tuple with names; NULL when it is none.
Value *lower_named_tuple(Lowering *lowering, ScopeEntry entry, Arguments *arguments);
/// The item of a named tuple, or NULL.
Value *named_item(const Value *tuple, Str name);

// lower_builtin.c
bool python_builtin_exists(Str name);
/// One that a kernel cannot name, with what to write there (or NULL).
bool python_builtin_is_missing(Str name, const char **instead);
Value *lower_builtin(Lowering *lowering, Str name, Arguments *arguments, SyntaxNode node);
/// `math.log2(x)`, `triton.cdiv(a, b)`, ... of constants; NULL where it is none of them.
Value *lower_external_call(Lowering *lowering, Str dotted, Arguments *arguments, SyntaxNode node);
Value *lower_external_value(Lowering *lowering, Str dotted);

// lower_assembly.c
/// What tl.inline_asm_elementwise computes, as operations; NULL where it is not understood. `operands` by the row.
Value *lower_assembly(Lowering *lowering, Value *const *operands, int operand_count);

// lower_rule.c
Value *lower_expansion(Lowering *lowering, OpCode code, Arguments *arguments, SyntaxNode node);

// lower_cleanup.c
void lower_clean(Function *function);

// params.c
/// What is known of the parameters' types between two passes.
typedef struct ParameterKnowledge {
    Type *types;  // by parameter
    bool *
        may_be_descriptor;  // the same: used as a pointer or as a descriptor, whatever it turns out to be
    bool *is_cut;           // what is loaded is cast to an integer and meets no float
    int count;
} ParameterKnowledge;
/// What the IR of one pass says about parameters that are not annotated; true when something new was learnt.
bool parameters_learn(Arena *arena, Function *function, const bool *is_fixed,
                      ParameterKnowledge *knowledge);
/// Defaults for what no use decides: pointers point to floats, scalars are what their default value is. True when something changed.
/// One undecided parameter a call, as it may decide others, or all `at_once`; those that the body does not mention with it.
bool parameters_settle(const Function *function, ParameterKnowledge *knowledge,
                       const bool *is_fixed, bool at_once);
/// Whether parameters_settle would change nothing.
bool parameters_are_settled(Arena *arena, const Function *function,
                            const ParameterKnowledge *knowledge, const bool *is_fixed);
/// Fills what Parameter says about loads, stores and None.
void parameters_describe(Function *function);
Type parameter_type_of_annotation(Str annotation);

// descriptor_blocks.c
/// Block shapes of the descriptors that the host makes, as far as the IR of one pass tells; true when something new was learnt.
bool descriptor_blocks_learn(Arena *arena, Function *function, ParameterKnowledge *knowledge);
/// The same over the parameters of another pass. All atoms are parameters.
const Poly *poly_in_function(Arena *arena, const Poly *poly, const Function *function);

#endif
