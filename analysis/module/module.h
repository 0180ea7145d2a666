// What a Python file says that matters to kernels: imports, constexpr globals, jit functions, launchers. Built from the syntax tree.
#ifndef TAD_ANALYSIS_MODULE_MODULE_H
#define TAD_ANALYSIS_MODULE_MODULE_H

#include "analysis/diagnostics/diagnostic.h"
#include "analysis/ir/ir.h"
#include "analysis/syntax/syntax.h"

typedef struct Module Module;

/// Finds other modules that a file imports (helpers live in other files). The analysis does no I/O: the caller does.
/// `from` is the importing file; `dotted` the module ("fla.ops.utils.op", or "utils" with level 1 for `from .utils`).
/// Returns a parsed module or NULL. Cycles and repeated imports are the resolver's to share.
/// With `level` IMPORT_INSTALLED the module is looked for where Python's environments keep installed packages.
enum { IMPORT_INSTALLED = -1 };
#define IMPORT_INSTALLED_MARK '^'  // where an import is written as text, in the place of the dots of a relative one
typedef struct Resolver {
    const Module *(*resolve)(void *context, const Source *from, Str dotted, int level);
    void *context;
} Resolver;

typedef struct ParameterDefinition {
    Str name;
    Str annotation;
    Str default_text;
    SyntaxNode default_node;  // null node when none
    bool is_constexpr;
    bool is_keyword_only;
    bool is_variadic;  // *args
    Range range;
} ParameterDefinition;

/// A `def` under @triton.jit (or made one by `f = triton.jit(f)`).
struct FunctionDefinition {
    const Module *module;
    Str name;
    Range name_range;
    Range range;         // decorators included
    Range header_range;  // the def line
    SyntaxNode node;     // function_definition
    SyntaxNode body;
    ParameterDefinition *parameters;
    int parameter_count;
    bool is_jit;  // false: a plain Python function (a launcher, or a helper that lacks @triton.jit)
    bool is_autotuned;  // under @triton.autotune (also through aliases)
    bool has_heuristics;
    LIST(Str) tuned_names;  // meta-parameters set by autotune configs / heuristics
    LIST(SyntaxNode) decorators;
    bool is_helper;      // called from other jit functions of the file and not launched here
    bool returns_value;  // or yields some
    Str comment;         // the comment lines right above it (launch specification)
    const struct ScopeCondition *condition;  // that it is defined under, or NULL (function_is_dead)
    struct FunctionFacts *facts;             // private to module*.c
};

/// `kernel[grid](arguments)` in a plain function or at module level. A call that may launch one of several kernels is as many.
typedef struct LaunchSite {
    const FunctionDefinition *kernel;
    const FunctionDefinition *launcher;  // enclosing plain function, NULL at module level
    SyntaxNode call;                     // the whole call expression
    SyntaxNode subscript;     // `kernel[grid]`: what is called, or what its name stands for
    SyntaxNode grid;          // inside the brackets; of `kernel[m, n]` the first axis
    LIST(SyntaxNode) chosen;  // what names the kernel where the launch has another name for it:
                              // `kernel` of `k = kernel if flag else other`, or in calls
    bool is_bare;             // `kernel.fn`: without the outermost of its tuners
    Range range;
} LaunchSite;

struct Module {
    Arena *arena;
    const Source *source;
    SyntaxTree *tree;  // freed by module_release, as `evaluated` is
    const Resolver *resolver;
    LIST(FunctionDefinition *) functions;  // jit and plain, in order
    LIST(LaunchSite) launches;
    bool has_syntax_errors;     // asked by module_has_errors
    struct ModuleScope *scope;  // names -> what they are; private to module*.c
    struct Memo
        *evaluated;  // launches, by what was asked of them; private to analysis/host/launch.c
};

/// What an edit changed, for those who remember what they read of a module (module_watch).
typedef struct ModuleChanges {
    bool all;   // too much to tell
    Map names;  // by map_hash: stand for something else, or may
    LIST(Str)
    texts;  // of statements that are gone, new, or mean something else, each before and after
    bool has_other_errors;  // what module_has_errors says
} ModuleChanges;

/// Never fails: a half-typed file gives what can be seen. `diagnostics` gets module-level findings.
Module *module_build(Arena *arena, const Source *source, const Resolver *resolver,
                     Diagnostics *diagnostics);
/// The module of an edited text, equal to module_build of it, from that of the text before, which stays as it is and may
/// be freed. The arena of `changes->names` is set by the caller.
Module *module_update(Arena *arena, const Source *source, const Module *former, Edit edit,
                      const Resolver *resolver, Diagnostics *diagnostics, ModuleChanges *changes);
/// What one thread reads of a module while that is built or analysed: hashes of names, and whether module_has_errors was
/// asked.
typedef struct ModuleReads {
    Map names;
    bool errors;
    const Module *module;       // whose reads these are, while they are noted
    struct ModuleReads *outer;  // those that the thread notes besides
} ModuleReads;
/// From now on this thread notes in `reads`, whose map is made by the caller, what it reads of `module`.
void module_watch(const Module *module, ModuleReads *reads);
/// Ends `reads` and those that were begun since and not ended (by a BUG).
void module_watch_end(const ModuleReads *reads);
/// Notes for this thread's module_watch what was read of `module` when something was made that is now used again.
void module_note_reads(const Module *module, const ModuleReads *noted);
/// Whether some of the text is no Python, so that names may be missing.
bool module_has_errors(const Module *module);
/// Frees the syntax tree and the evaluated launches; the rest belongs to the arena. NULL is allowed.
void module_release(Module *module);
const FunctionDefinition *module_find_function(const Module *module, Str name);
/// Whether it is defined in a branch that the release of the operation table does not take (`elif triton.__version__ == "2.0.0":`).
bool function_is_dead(Arena *arena, const FunctionDefinition *function);
/// Whether it is, and another branch that is taken, or may be, defines what has its name.
bool function_is_outdone(Arena *arena, const FunctionDefinition *function);

#endif
