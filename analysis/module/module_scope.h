// What the names of a Python file stand for; shared by module.c and the lowering.
#ifndef TAD_ANALYSIS_MODULE_MODULE_SCOPE_H
#define TAD_ANALYSIS_MODULE_MODULE_SCOPE_H

#include "analysis/module/module.h"

typedef enum ScopeKind {
    SCOPE_EXTERNAL,  // `dotted` outside the sources we have: "triton.language.exp", "math.pi", "torch.float32"
    SCOPE_IMPORTED,  // `name` of the module `dotted` (relative by `level`), or that module itself when name is empty
    SCOPE_FUNCTION,  // `function`
    SCOPE_ASSIGNED,  // the value of `node`, item `item` of it when >= 0
    SCOPE_CLASS,     // `node`
    SCOPE_MODULE,    // `module`: another file
    SCOPE_MISSING,   // no such name
    SCOPE_OPAQUE,    // there is such a name, nothing is known of it
} ScopeKind;

/// The `if` that a statement at module level stands in: `node` is `holds` where it is run.
typedef struct ScopeCondition {
    SyntaxNode node;
    bool holds;
    const struct ScopeCondition *outer;
} ScopeCondition;

typedef struct ScopeEntry {
    ScopeKind kind;
    Str dotted;
    int level;
    Str name;
    FunctionDefinition *function;
    SyntaxNode node;
    int item;
    Str annotation;                   // of `X: tl.constexpr = 1`
    const Module *module;             // where `node` and `function` are written
    const ScopeCondition *condition;  // that it is defined under, or NULL
    struct ScopeEntry *next;  // what the name is when the first does not hold (except, else)
} ScopeEntry;

typedef struct ModuleScope {
    Map names;               // Str -> ScopeEntry *
    LIST(ScopeEntry) stars;  // from X import *
    const Module *former;    // while the module is built: that of the text before, or NULL
    struct PieceFacts *pieces;
} ModuleScope;

typedef LIST(SyntaxNode) NodeList;

/// A name in the text of a function's piece.
typedef struct Mention {
    uint64_t hash;
    uint32_t start;  // from the start of the piece
    uint32_t size;
} Mention;

/// What a function's text says, whatever the names in it stand for: kept from one text to the next.
typedef struct FunctionFacts {
    const FunctionDefinition
        *former;          // while the module is built: what it was copied from, or NULL
    int decorator_count;  // written above it
    bool has_calls;
    NodeList calls;  // `name[grid](arguments)` in its body
    bool has_mentions;
    LIST(Mention) mentions;  // each name in its body once that it does not bind itself
    bool has_nested;
    bool nests;  // there are decorated functions or imports in its body
    bool has_tuned;
    LIST(uint64_t) tuned_reads;  // names that its tuned names depend on
} FunctionFacts;

typedef struct PieceFacts {
    bool has_statements;
    NodeList statements;  // without comments
    bool has_calls;
    NodeList calls;  // outside of functions
} PieceFacts;

/// What `name` stands for at module level, imports followed through the resolver. SCOPE_MISSING when nothing defines it.
ScopeEntry module_resolve(Arena *arena, const Module *module, Str name);
/// `entry.attribute`, for modules, and jit functions that are static methods of a class; SCOPE_OPAQUE where it is not known.
ScopeEntry scope_attribute(Arena *arena, ScopeEntry entry, Str attribute);
/// The entry of a name or a dotted expression (a.b.c) at module level.
ScopeEntry scope_of_expression(Arena *arena, const Module *module, SyntaxNode node);
/// What `entry` stands for where it is a plain second name, `other = kernel`; else `entry`.
ScopeEntry scope_follow_alias(Arena *arena, ScopeEntry entry);
/// "exp" for "triton.language.exp"; false when `dotted` is not under triton.language.
bool scope_language_name(Str dotted, Str *name);
/// The package of others that `dotted` is of ("fla" of "fla.ops.utils.exp"), and whether a file of it is to be found for an import of the
/// module. Empty for Triton's, PyTorch's and Python's own.
Str module_package(const Module *module, Str dotted, bool *is_found);

/// Whether the file is one of triton.language itself, as in a copy of Triton. There plain Python may be called in kernels: Triton goes
/// by the name of a function's module.
bool scope_is_language(const Module *module);
/// The package of another build of Triton's language that the file imports ("triton_dist.language", "triton.language.extra.tlx"), or the
/// folder of another accelerator that it lies in ("_ascend"): that compiler may take what Triton's does not. Empty where there is none.
Str module_other_build(Arena *arena, const Module *module);
/// Whether a decorator makes a builtin of the compiler: Python that builds Triton's IR.
bool scope_marks_builtin(const FunctionDefinition *decorator);

/// The operation that `name` under triton.language is; also what tl.math had in older releases. OP_COUNT: none.
OpCode scope_find_operation(Str name);

// What files that ask for Triton's version are told: the release that the operation table describes.
#define TRITON_VERSION "3.9.0"

/// module_condition.c: whether the conditions hold in that release, under an environment that sets nothing.
typedef enum Truth { TRUTH_UNKNOWN, TRUTH_NO, TRUTH_YES } Truth;
/// resolve_at of module_scope.c, for conditions: `depth` counts imports and globals that are followed.
ScopeEntry scope_of_expression_at(Arena *arena, const Module *module, SyntaxNode node, int depth);
/// Whether triton.language has `name`: an operation or an element type.
bool scope_language_has(Str name);

/// Flags of a decorator or of a wrapping function; foreign: the jit of another language, which makes it no kernel of ours.
enum { WRAPS_JIT = 1, WRAPS_AUTOTUNE = 2, WRAPS_HEURISTICS = 4, WRAPS_FOREIGN = 8 };
int module_wrapper_flags(Arena *arena, const Module *module, SyntaxNode expression, int depth);

/// Adds `f` to the module's names and functions. Used while the module is built.
FunctionDefinition *module_add_function(Module *module, SyntaxNode definition,
                                        SyntaxNode decorated);

/// For module_watch: `name` is looked up in `module`.
void module_note_read(const Module *module, Str name);

bool text_contains(Str text, const char *word);
Str text_last_component(Str dotted);

#endif
