// The state of one lowering: frames, variables, places, reports. Only the rooms of the lowering include this.
#ifndef TAD_ANALYSIS_FRAMES_LOWERING_H
#define TAD_ANALYSIS_FRAMES_LOWERING_H

#include "analysis/build/infer.h"
#include "analysis/frames/options.h"
#include "analysis/module/module_scope.h"

/// No text that a program means grows longer.
enum { TEXT_LIMIT = 100000 };

/// The variables of one Python function while it is lowered: slots by name, values by slot (NULL: not assigned).
typedef struct Variables {
    Value **values;
    int count;
} Variables;

/// One function being inlined (or the kernel itself, a global's expression, or a rule of the operation table).
typedef struct LoweringFrame {
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
    struct LoweringFrame *caller;
} LoweringFrame;

/// A variable that two branches left with two types: what it is where the truth of their condition is known.
typedef struct VariableVersions {
    const Value *merged;  // of no type: nothing is read of it where the truth is not known
    const Value *condition;
    Value *versions[2];  // where it is true, where it is false
} VariableVersions;

typedef struct Lowering {
    Arena *arena;
    Builder builder;
    const LowerOptions *options;
    Diagnostics *diagnostics;  // NULL while the kinds of parameters are still sought
    const Source *root;        // diagnostics in other files are told at the call in this one
    LoweringFrame *frame;
    int depth;       // of expressions and blocks, against the C stack
    int attempts;    // enclosing loops that are lowered a second time
    int unrepeated;  // loops that were not tried first because so many around them are
    int steps;       // statements so far
    int call_depth;
    int global_depth;
    int global_count;  // evaluations of globals so far
    int64_t reserve;   // of the budget's steps: with fewer left the lowering stops by itself
    int max_ops;
    int max_depth;
    int split_depth;      // branches around that took the statements after them along
    int unassigned;       // reads so far, below such branches, of variables without a value
    LIST(Str) forgotten;  // variables that lost their type where two branches met
    LIST(VariableVersions) versions;
    bool stopped;          // a limit was reached: finish quickly
    bool keeps_sightings;  // the pass that stays
    bool keeps_shapes;     // a tile is not made wider where branches meet
    const struct LoweringAssumption
        *assumptions;  // conditions of the branches around, innermost first
} Lowering;

/// A condition that is known where its branch is lowered.
typedef struct LoweringAssumption {
    const Value *condition;
    bool truth;
    bool holds;  // for every instance of the kernel that compiles, not just within a branch
    const struct LoweringAssumption *outer;
} LoweringAssumption;

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

LoweringFrame *frame_enter(Lowering *lowering, LoweringFrame *frame);
void frame_leave(Lowering *lowering, LoweringFrame *frame);
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
// The note of `*arguments` and `**meta` of a kernel, as which nobody knows what a launch passes.
#define ARGUMENTS_WITHOUT_NUMBER "arguments without number"
/// Whether a limit is reached; says so once. Asked once per statement.
bool lowering_over(Lowering *lowering, SyntaxNode node);
/// One level deeper; false (and said once) when that is too deep. Ended by `lowering->depth--` either way.
bool lowering_deeper(Lowering *lowering, SyntaxNode node);

#endif
