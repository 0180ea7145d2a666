// What the names of a Python file stand for; shared by module.c and the lowering.
#ifndef TAD_ANALYSIS_MODULE_SCOPE_H
#define TAD_ANALYSIS_MODULE_SCOPE_H

#include "analysis/module.h"

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

typedef struct ScopeEntry {
    ScopeKind kind;
    Str dotted;
    int level;
    Str name;
    FunctionDefinition *function;
    SyntaxNode node;
    int item;
    Str annotation;           // of `X: tl.constexpr = 1`
    const Module *module;     // where `node` and `function` are written
    struct ScopeEntry *next;  // what the name is when the first does not hold (except, else)
} ScopeEntry;

typedef struct ModuleScope {
    Map names;               // Str -> ScopeEntry *
    LIST(ScopeEntry) stars;  // from X import *
} ModuleScope;

/// What `name` stands for at module level, imports followed through the resolver. SCOPE_MISSING when nothing defines it.
ScopeEntry module_resolve(Arena *arena, const Module *module, Str name);
/// `entry.attribute`, for modules; SCOPE_OPAQUE where it is not known.
ScopeEntry scope_attribute(Arena *arena, ScopeEntry entry, Str attribute);
/// The entry of a name or a dotted expression (a.b.c) at module level.
ScopeEntry scope_of_expression(Arena *arena, const Module *module, SyntaxNode node);
/// "exp" for "triton.language.exp"; false when `dotted` is not under triton.language.
bool scope_language_name(Str dotted, Str *name);

/// The operation that `name` under triton.language is; also what tl.math had in older releases. OP_COUNT: none.
OpCode scope_find_operation(Str name);

/// Flags of a decorator or of a wrapping function.
enum { WRAPS_JIT = 1, WRAPS_AUTOTUNE = 2, WRAPS_HEURISTICS = 4 };
int module_wrapper_flags(Arena *arena, const Module *module, SyntaxNode expression, int depth);

/// Adds `f` to the module's names and functions. Used while the module is built.
FunctionDefinition *module_add_function(Module *module, SyntaxNode definition,
                                        SyntaxNode decorated);
/// Fills launches, tuned names and is_helper, once all names are known.
void module_find_launches(Module *module);
void module_find_tuned(Module *module);

bool text_contains(Str text, const char *word);
Str text_last_component(Str dotted);

#endif
