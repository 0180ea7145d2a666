// Names of a Python file to what they stand for: imports followed, alternatives chosen, wrappers of jit recognised.
#include "analysis/module/module_scope.h"

#include <string.h>

#include "analysis/ir/type.h"
#include "analysis/module/module_condition.h"
#include "analysis/ops/op.h"
#include "analysis/syntax/syntax_nodes.h"

enum {
    IMPORT_DEPTH_LIMIT = 16,
    ALIAS_LIMIT = 8,  // `a = b`, `b = c`: more than anybody writes, and `a = b`, `b = a` ends
};

static ScopeEntry resolve_at(Arena *arena, const Module *module, Str name, int depth);

static Str dotted_join(Arena *arena, Str head, Str tail) {
    if (head.size == 0) return tail;
    if (tail.size == 0) return head;
    Buffer joined = buffer_sized(arena, head.size + tail.size + 1);
    buffer_add(&joined, head.data, head.size);
    buffer_putc(&joined, '.');
    buffer_add(&joined, tail.data, tail.size);
    return (Str){joined.data, joined.size};
}

static ScopeEntry entry_external(Str dotted) {
    return (ScopeEntry){.kind = SCOPE_EXTERNAL, .dotted = dotted};
}

bool scope_language_name(Str dotted, Str *name) {
    static const char prefix[] = "triton.language";
    size_t size = sizeof prefix - 1;
    if (!str_starts(dotted, prefix)) return false;
    if (dotted.size == size) {
        *name = (Str){"", 0};
        return true;
    }
    if (dotted.data[size] != '.') return false;
    *name = (Str){dotted.data + size + 1, dotted.size - size - 1};
    // triton.language.core.exp and triton.language.standard.cdiv are the same functions.
    static const char *const inner[] = {"core.", "standard.", "semantic."};
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
        if (str_starts(*name, inner[i])) {
            size_t skip = str_from(inner[i]).size;
            *name = (Str){name->data + skip, name->size - skip};
        }
    return true;
}

/// The first parts of a dotted name, as far as they tell a build apart; empty where it is Triton's own or no Triton.
static Str other_build_of(Str dotted) {
    static const char EXTRA[] = "triton.language.extra.";
    static const char *const own[] = {"libdevice", "cuda", "hip"};
    if (str_starts(dotted, EXTRA)) {
        size_t start = sizeof EXTRA - 1, end = start;
        while (end < dotted.size && dotted.data[end] != '.') end++;
        Str part = {dotted.data + start, end - start};
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            if (str_is(part, own[i])) return (Str){0};
        return (Str){dotted.data, end};
    }
    static const char LANGUAGE[] = ".language";
    size_t root = 0;
    while (root < dotted.size && dotted.data[root] != '.') root++;
    Str rest = {dotted.data + root, dotted.size - root};
    size_t end = root + sizeof LANGUAGE - 1;
    bool is_package = str_starts(rest, LANGUAGE) && (end == dotted.size || dotted.data[end] == '.');
    bool is_fork = str_starts(dotted, "triton") && root > strlen("triton");
    return is_package && is_fork ? (Str){dotted.data, end} : (Str){0};
}

static Str other_build_in(Arena *arena, const ScopeEntry *entry) {
    if (entry->kind != SCOPE_IMPORTED || entry->level) return (Str){0};
    const char *whole = entry->name.size ? arena_printf(arena, "%.*s.%.*s", STR_ARGS(entry->dotted),
                                                        STR_ARGS(entry->name))
                                         : str_dup(arena, entry->dotted);
    return other_build_of(str_from(whole));
}

/// The folder of the path that is named after an accelerator with a Triton of its own; empty where there is none.
static Str accelerator_of(Str path) {
    static const char *const names[] = {"aipu", "ascend",   "cambricon", "cann",      "enflame",
                                        "gcu",  "hygon",    "iluvatar",  "kunlunxin", "metax",
                                        "mlu",  "mthreads", "musa",      "npu",       "tsingmicro"};
    for (size_t start = 0; start < path.size;) {
        size_t end = start;
        while (end < path.size && path.data[end] != '/') end++;
        Str folder = {path.data + start, end - start}, bare = folder;
        if (bare.size && bare.data[0] == '_') bare = (Str){bare.data + 1, bare.size - 1};
        for (size_t i = 0; end < path.size && i < sizeof names / sizeof *names; i++)
            if (str_is(bare, names[i])) return folder;
        start = end + 1;
    }
    return (Str){0};
}

Str module_other_build(Arena *arena, const Module *module) {
    const Map *names = &module->scope->names;
    Str found = accelerator_of(str_from(module->source->path ? module->source->path : ""));
    for (int i = 0; i < names->count && !found.size; i++)
        for (const ScopeEntry *entry = names->entries[i].value; entry && !found.size;
             entry = entry->next)
            found = other_build_in(arena, entry);
    for (int i = 0; i < module->scope->stars.count && !found.size; i++)
        found = other_build_in(arena, &module->scope->stars.items[i]);
    return found;
}

bool scope_is_language(const Module *module) {
    static const char folder[] = "triton/language/";
    Str path = str_from(module->source->path ? module->source->path : "");
    if (str_starts(path, folder) || text_contains(path, "/triton/language/")) return true;
    // seen from within that folder
    return text_contains(module->source->text, "\nfrom ..runtime.jit import ");
}

OpCode scope_find_operation(Str name) {
    OpCode code = op_find(name);
    if (code != OP_COUNT || !str_starts(name, "math.") || name.size > 64) return code;
    char libdevice[96] = "libdevice.";
    memcpy(libdevice + 10, name.data + 5, name.size - 5);
    return op_find((Str){libdevice, name.size + 5});
}

bool scope_language_has(Str name) {
    OpCode code = scope_find_operation(name);
    return (code != OP_COUNT && op_rows[code].kind != KIND_REMOVED) ||
           dtype_from_name(name) != DTYPE_UNKNOWN;
}

static bool is_ours(Str dotted) {
    return str_is(dotted, "triton") || str_starts(dotted, "triton.");
}

/// The module that everybody gives this name, for names whose own text was not found; empty: none.
static Str usual_module(Str name) {
    static const struct {
        const char *name, *module;
    } usual[] = {{"triton", "triton"},
                 {"tl", "triton.language"},
                 {"libdevice", "triton.language.extra.libdevice"},
                 {"torch", "torch"},
                 {"math", "math"}};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (str_is(name, usual[i].name)) return str_from(usual[i].module);
    return (Str){0};
}

/// A name that a notebook's cell takes from another cell.
static ScopeEntry resolve_in_notebook(Str name) {
    Str module = usual_module(name);
    return module.size ? entry_external(module) : (ScopeEntry){.kind = SCOPE_OPAQUE, .name = name};
}

/// What a file imports that was not found. Packages have a file that imports Triton where there is one, and all others take it from there
/// (`from package.compat import tl, triton`).
static ScopeEntry resolve_not_found(ScopeEntry entry, Str whole) {
    Str module = usual_module(entry.name);
    if (is_ours(module)) return entry_external(module);
    if (entry.level) return (ScopeEntry){.kind = SCOPE_OPAQUE, .name = entry.name, .dotted = whole};
    return entry_external(whole);
}

/// What an installed package defines for kernels: a jit function, or a module of Triton's users. Host code of such packages is known by name.
static ScopeEntry resolve_installed(Arena *arena, ScopeEntry entry, Str whole, int depth) {
    const Resolver *resolver = entry.module->resolver;
    const Source *from = entry.module->source;
    const Module *found =
        resolver->resolve(resolver->context, from, entry.dotted, IMPORT_INSTALLED);
    ScopeEntry inner = {.kind = SCOPE_MISSING};
    if (found && entry.name.size) inner = resolve_at(arena, found, entry.name, depth + 1);
    if (inner.kind == SCOPE_FUNCTION && inner.function->is_jit) return inner;
    if (inner.kind == SCOPE_ASSIGNED && text_contains(inner.module->source->text, "triton"))
        return inner;
    const Module *below = entry.name.size
                              ? resolver->resolve(resolver->context, from, whole, IMPORT_INSTALLED)
                              : found;
    if (below && text_contains(below->source->text, "triton"))
        return (ScopeEntry){.kind = SCOPE_MODULE, .module = below};
    return resolve_not_found(entry, whole);
}

static bool is_among(Str name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (str_is(name, names[i])) return true;
    return false;
}

Str module_package(const Module *module, Str dotted, bool *is_found) {
    static const char *const pythons[] = {
        "torch",      "numpy",       "math",   "functools", "itertools", "operator", "typing",
        "contextlib", "collections", "random", "os",        "sys",       "builtins", "dataclasses",
    };
    const Resolver *resolver = module ? module->resolver : NULL;
    Str package = dotted;
    for (size_t i = package.size; i-- > 0;)
        if (package.data[i] == '.') package.size = i;
    bool is_said = resolver && package.size && package.size < dotted.size && !is_ours(dotted) &&
                   !is_among(package, pythons, sizeof pythons / sizeof *pythons);
    if (!is_said) return (Str){"", 0};
    *is_found = resolver->resolve(resolver->context, module->source, package, 0) ||
                resolver->resolve(resolver->context, module->source, package, IMPORT_INSTALLED);
    return package;
}

static ScopeEntry import_follow(Arena *arena, ScopeEntry entry, int depth) {
    Str whole = dotted_join(arena, entry.dotted, entry.name);
    if (entry.level == 0 && is_ours(entry.dotted)) return entry_external(whole);
    const Resolver *resolver = entry.module ? entry.module->resolver : NULL;
    if (!resolver || depth > IMPORT_DEPTH_LIMIT) return resolve_not_found(entry, whole);
    const Source *from = entry.module->source;
    const Module *found =
        entry.dotted.size || entry.level
            ? resolver->resolve(resolver->context, from, entry.dotted, entry.level)
            : NULL;
    if (entry.name.size == 0) {
        if (found) return (ScopeEntry){.kind = SCOPE_MODULE, .module = found};
        return entry.level ? entry_external(whole) : resolve_installed(arena, entry, whole, depth);
    }
    // `from . import module` in a package's own file asks for another one
    if (found && (found != entry.module || entry.dotted.size)) {
        ScopeEntry inner = resolve_at(arena, found, entry.name, depth + 1);
        if (inner.kind != SCOPE_MISSING) return inner;
    }
    // `from package import module`
    const Module *below = resolver->resolve(resolver->context, from, whole, entry.level);
    if (below) return (ScopeEntry){.kind = SCOPE_MODULE, .module = below};
    if (entry.level) return resolve_not_found(entry, whole);
    // A script that lies in a package finds the file beside it; `from math import sqrt` is no such import.
    const Module *beside = resolver->resolve(resolver->context, from, entry.dotted, 1);
    ScopeEntry inner = {.kind = SCOPE_MISSING};
    if (beside && beside != entry.module) inner = resolve_at(arena, beside, entry.name, depth + 1);
    bool is_there = inner.kind == SCOPE_FUNCTION && inner.function->module == beside;
    if (is_there) return inner;
    return found ? resolve_not_found(entry, whole) : resolve_installed(arena, entry, whole, depth);
}

/// Whether this alternative of a name can be used: some spellings of a name exist only in some Triton releases.
static bool entry_is_known(ScopeEntry entry) {
    Str name;
    if (entry.kind == SCOPE_OPAQUE || entry.kind == SCOPE_MISSING) return false;
    if (entry.kind != SCOPE_EXTERNAL) return true;
    if (!scope_language_name(entry.dotted, &name)) return is_ours(entry.dotted);
    if (name.size == 0 || str_is(name, "math") || str_ends(name, "libdevice") ||
        str_is(name, "extra") || str_is(name, "constexpr"))
        return true;
    // Element types that Python itself has: `from triton.language import *` leaves them alone.
    if (str_is(name, "float") || str_is(name, "int") || str_is(name, "bool")) return false;
    return scope_find_operation(name) != OP_COUNT || dtype_from_name(name) != DTYPE_UNKNOWN;
}

/// The file that a star imports from; NULL where it is Triton's, or was not found.
static const Module *module_of_star(const ScopeEntry *star, int depth) {
    const Resolver *resolver = star->module ? star->module->resolver : NULL;
    bool is_written = star->dotted.size || star->level;
    if (!resolver || !is_written || depth >= IMPORT_DEPTH_LIMIT ||
        (star->level == 0 && is_ours(star->dotted)))
        return NULL;
    return resolver->resolve(resolver->context, star->module->source, star->dotted, star->level);
}

/// Whether a star brings no such name along: one of Python's own, which these modules of its library have not.
static bool leaves_to_python(const ScopeEntry *star, Str name) {
    static const char *const modules[] = {
        "typing",    "typing_extensions", "dataclasses", "enum",    "abc",  "collections",
        "functools", "itertools",         "contextlib",  "pathlib", "copy", "warnings",
    };
    static const char *const names[] = {
        "range", "len",   "min",       "max",   "abs",     "sum",     "int",        "float",
        "bool",  "str",   "list",      "tuple", "dict",    "zip",     "all",        "any",
        "print", "round", "enumerate", "slice", "hasattr", "getattr", "isinstance",
    };
    // which nobody's kernels get from a star but from an array library, whose element types have such names
    static const char *const kept[] = {"len", "float", "hasattr", "getattr", "isinstance"};
    bool is_of_arrays = str_starts(star->dotted, "torch") || str_starts(star->dotted, "numpy") ||
                        str_starts(star->dotted, "jax");
    if (!is_of_arrays && is_among(name, kept, sizeof kept / sizeof *kept)) return true;
    return star->level == 0 && is_among(star->dotted, modules, sizeof modules / sizeof *modules) &&
           is_among(name, names, sizeof names / sizeof *names);
}

static ScopeEntry resolve_star(Arena *arena, const Module *module, Str name, int depth) {
    ScopeEntry result = {.kind = SCOPE_MISSING};
    for (LIST_EACH(int, i, module->scope->stars)) {
        ScopeEntry entry = module->scope->stars.items[i];
        const Module *file = module_of_star(&entry, depth);
        entry.name = name;
        ScopeEntry found = file ? resolve_at(arena, file, name, depth + 1)
                                : import_follow(arena, entry, depth + 1);
        if (entry_is_known(found)) return found;
        if (file && found.kind == SCOPE_MISSING) continue;
        // It may come from a file that was not found; but names that we have never come from Triton's star.
        if (!is_ours(entry.dotted) && !leaves_to_python(&entry, name)) result.kind = SCOPE_OPAQUE;
    }
    if (module->source->is_cell) return resolve_in_notebook(name);
    return result;
}

/// Functions that only fill a gap: `return None`, or inline assembly for one kind of device.
static bool is_makeshift(const ScopeEntry *entry) {
    if (entry->kind != SCOPE_FUNCTION) return false;
    const FunctionDefinition *function = entry->function;
    if (!function->returns_value) return false;
    Str text = str_trim(node_text(function->module->source, function->body));
    return str_ends(text, "return None") || text_contains(text, "inline_asm");
}

/// Functions that are there to say that something is missing.
static bool only_raises(const ScopeEntry *entry) {
    if (entry->kind != SCOPE_FUNCTION) return false;
    const FunctionDefinition *function = entry->function;
    return str_starts(str_trim(node_text(function->module->source, function->body)), "raise ");
}

enum { RANK_NEVER = -1, RANK_RAISING, RANK_MAKESHIFT, RANK_OPEN, RANK_CERTAIN };

/// How much speaks for one of several definitions of a name. The first of equals is taken, of certain ones the last.
static int alternative_rank(Arena *arena, const Module *module, const ScopeEntry *written,
                            const ScopeEntry *followed, bool has_others, int depth) {
    if (!has_others) return RANK_OPEN;
    Truth truth = condition_truth(arena, module, written->condition, depth + 1);
    if (truth == TRUTH_NO) return RANK_NEVER;
    if (truth == TRUTH_YES && written->condition) return RANK_CERTAIN;
    if (only_raises(followed)) return RANK_RAISING;
    return is_makeshift(followed) ? RANK_MAKESHIFT : RANK_OPEN;
}

/// What a condition puts in the place of Triton itself (`tl = MagicMock()`) is for machines without it. Nor can it be asked about:
/// such conditions use Triton.
static bool is_triton_itself(const ScopeEntry *written, const ScopeEntry *followed) {
    return !written->condition && followed->kind == SCOPE_EXTERNAL &&
           (str_is(followed->dotted, "triton") || str_is(followed->dotted, "triton.language"));
}

/// What `triton, tl = load_triton()` gives: nobody calls anything else so.
static ScopeEntry returned_module(ScopeEntry entry, Str name) {
    Str usual = usual_module(name);
    bool is_returned = entry.kind == SCOPE_ASSIGNED && !entry.condition && entry.module &&
                       !node_is_null(entry.node) &&
                       text_contains(node_text(entry.module->source, entry.node), "(");
    return is_returned && is_ours(usual) ? entry_external(usual) : entry;
}

/// Whether it is a function that gives nothing: it stands in for an operation that a release or a device lacks.
static bool gives_nothing(const ScopeEntry *entry) {
    if (entry->kind != SCOPE_FUNCTION || !entry->function->is_jit) return false;
    const FunctionDefinition *function = entry->function;
    Str text = str_trim(node_text(function->module->source, function->body));
    return !function->returns_value || str_ends(text, "return None");
}

/// Whether it is an operation of Triton that does nothing but give a value.
static bool is_value_operation(Arena *arena, const ScopeEntry *entry) {
    Str name;
    ScopeEntry followed = *entry;
    if (entry->kind == SCOPE_ASSIGNED && entry->item < 0)
        followed = scope_of_expression(arena, entry->module, entry->node);
    if (followed.kind != SCOPE_EXTERNAL || !scope_language_name(followed.dotted, &name))
        return false;
    OpCode code = scope_find_operation(name);
    return code != OP_COUNT &&
           !(op_rows[code].effects & (EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED));
}

/// The operation that a name is where its functions give nothing: a kernel that uses what these give is for devices that have it.
static ScopeEntry operation_instead(Arena *arena, const ScopeEntry *entries, ScopeEntry chosen,
                                    int depth) {
    if (!entries->next || !gives_nothing(&chosen)) return chosen;
    for (const ScopeEntry *each = entries; each; each = each->next) {
        ScopeEntry followed =
            each->kind == SCOPE_IMPORTED ? import_follow(arena, *each, depth + 1) : *each;
        if (entry_is_known(followed) && is_value_operation(arena, &followed)) return followed;
    }
    return chosen;
}

static ScopeEntry resolve_at(Arena *arena, const Module *module, Str name, int depth) {
    if (depth > IMPORT_DEPTH_LIMIT) return (ScopeEntry){.kind = SCOPE_OPAQUE, .name = name};
    module_note_read(module, name);
    const ScopeEntry *entry = map_get(&module->scope->names, name);
    if (!entry) return resolve_star(arena, module, name, depth);
    ScopeEntry first = {.kind = SCOPE_MISSING};
    ScopeEntry chosen = first;
    int rank = RANK_NEVER;
    for (const ScopeEntry *each = entry; each; each = each->next) {
        ScopeEntry followed =
            each->kind == SCOPE_IMPORTED ? import_follow(arena, *each, depth + 1) : *each;
        if (each == entry) first = followed;
        if (each == entry && is_triton_itself(entry, &first)) return first;
        int own = entry_is_known(followed)
                      ? alternative_rank(arena, module, each, &followed, entry->next != NULL, depth)
                      : RANK_NEVER;
        if (own == RANK_NEVER || own < rank || (own == rank && own != RANK_CERTAIN)) continue;
        chosen = followed;
        rank = own;
    }
    chosen = operation_instead(arena, entry, rank == RANK_NEVER ? first : chosen, depth);
    return returned_module(chosen, name);
}

ScopeEntry module_resolve(Arena *arena, const Module *module, Str name) {
    return resolve_at(arena, module, name, 0);
}

/// A module of the package whose own file `module` is: `import package.name` somewhere makes it an attribute. NULL: none.
static const Module *module_below(const Module *module, Str name) {
    const char *path = module->source->path;
    const Resolver *resolver = module->resolver;
    if (!resolver || !path || !str_ends(str_from(path), "__init__.py")) return NULL;
    return resolver->resolve(resolver->context, module->source, name, 1);
}

/// The jit function that the class has under this name, a static method; NULL: none.
static FunctionDefinition *static_kernel(const ScopeEntry *class, Str name) {
    SyntaxNode body = node_field(class->node, "body");
    FunctionDefinition *found = NULL;
    for (LIST_EACH(int, i, class->module->functions)) {
        FunctionDefinition *function = class->module->functions.items[i];
        SyntaxNode around = node_parent(function->node);
        if (node_kind(around) == SYNTAX_DECORATED) around = node_parent(around);
        if (str_equal(function->name, name) && node_same(around, body)) found = function;
    }
    return found && found->is_jit ? found : NULL;
}

ScopeEntry scope_attribute(Arena *arena, ScopeEntry entry, Str attribute) {
    if (entry.kind == SCOPE_EXTERNAL)
        return entry_external(dotted_join(arena, entry.dotted, attribute));
    if (entry.kind == SCOPE_CLASS) {
        FunctionDefinition *function = static_kernel(&entry, attribute);
        if (function)
            return (ScopeEntry){
                .kind = SCOPE_FUNCTION, .function = function, .module = entry.module};
    }
    if (entry.kind == SCOPE_MODULE) {
        ScopeEntry inner = resolve_at(arena, entry.module, attribute, 1);
        if (inner.kind != SCOPE_MISSING) return inner;
        const Module *below = module_below(entry.module, attribute);
        if (below) return (ScopeEntry){.kind = SCOPE_MODULE, .module = below};
    }
    return (ScopeEntry){.kind = SCOPE_OPAQUE, .name = attribute};
}

ScopeEntry scope_of_expression(Arena *arena, const Module *module, SyntaxNode node) {
    return scope_of_expression_at(arena, module, node, 0);
}

ScopeEntry scope_of_expression_at(Arena *arena, const Module *module, SyntaxNode node, int depth) {
    // a.b.c nests to the left: collect the attributes, then apply them from the name outwards.
    Str attributes[NAME_MOST_PARTS];
    int count = 0;
    while (node_kind(node) == SYNTAX_ATTRIBUTE && count < NAME_MOST_PARTS) {
        attributes[count++] = node_text(module->source, node_field(node, "attribute"));
        node = node_field(node, "object");
    }
    if (node_kind(node) != SYNTAX_IDENTIFIER) return (ScopeEntry){.kind = SCOPE_OPAQUE};
    ScopeEntry entry = resolve_at(arena, module, node_text(module->source, node), depth);
    while (count > 0) entry = scope_attribute(arena, entry, attributes[--count]);
    return entry;
}

/// The function at module level that a name stands for at a place in the text, where the name is bound again further down.
static FunctionDefinition *defined_before(const Module *module, SyntaxNode name) {
    Range place = node_range(module->source, name);
    FunctionDefinition *found = NULL;
    for (LIST_EACH(int, i, module->functions)) {
        FunctionDefinition *function = module->functions.items[i];
        SyntaxNode around = node_parent(function->node);
        if (node_kind(around) == SYNTAX_DECORATED) around = node_parent(around);
        if (node_kind(around) == SYNTAX_MODULE && function->range.end <= place.start &&
            str_equal(function->name, node_text(module->source, name)))
            found = function;
    }
    return found;
}

ScopeEntry scope_follow_alias(Arena *arena, ScopeEntry entry) {
    for (int i = 0; i < ALIAS_LIMIT && entry.kind == SCOPE_ASSIGNED && entry.item < 0; i++) {
        SyntaxKind kind = node_kind(entry.node);
        if (kind != SYNTAX_IDENTIFIER && kind != SYNTAX_ATTRIBUTE) break;
        ScopeEntry next = scope_of_expression(arena, entry.module, entry.node);
        FunctionDefinition *before =
            kind == SYNTAX_IDENTIFIER ? defined_before(entry.module, entry.node) : NULL;
        if (before && next.kind == SCOPE_FUNCTION) next.function = before;
        if (next.kind == SCOPE_OPAQUE || next.kind == SCOPE_MISSING) break;
        entry = next;
    }
    return entry;
}

// --- Decorators

/// A function's text without comments and docstrings, which may speak of `triton.jit`.
static Str code_of(Arena *arena, Str text) {
    Buffer code = buffer_sized(arena, text.size + 1);
    for (size_t i = 0; i < text.size;) {
        Str rest = {text.data + i, text.size - i};
        size_t size = 1;
        if (*rest.data == '#') {
            while (size < rest.size && rest.data[size] != '\n') size++;
        } else if (str_starts(rest, "\"\"\"") || str_starts(rest, "'''")) {
            for (size = 3; size < rest.size && memcmp(rest.data + size - 3, rest.data, 3) != 0;)
                size++;
        } else {
            buffer_putc(&code, *rest.data);
        }
        i += size;
    }
    return (Str){buffer_text(&code), code.size};
}

static int flags_of_text(Str text) {
    int flags = 0;
    if (text_contains(text, "triton.jit") || text_contains(text, " jit(") ||
        text_contains(text, "\njit(") || text_contains(text, "JITFunction"))
        flags |= WRAPS_JIT;
    if (text_contains(text, "autotune(") || text_contains(text, "Autotuner("))
        flags |= WRAPS_AUTOTUNE;
    if (text_contains(text, "heuristics(")) flags |= WRAPS_HEURISTICS;
    return flags;
}

/// Other compilers have decorators of the same name.
static const char *const others[] = {"numba", "torch",     "jax", "cupy",    "tilelang", "taichi",
                                     "warp",  "functools", "mlx", "cutlass", "flydsl",   "cudnn"};

enum { OTHERS = sizeof others / sizeof *others };

/// Whether the file lies in the package of another compiler, and has nothing of Triton.
static bool is_of_another(const Module *module) {
    const Source *source = module->source;
    if (!source->path || text_contains(source->text, "triton")) return false;
    for (int i = 0; i < OTHERS; i++) {
        size_t size = strlen(others[i]);
        for (const char *at = strstr(source->path, others[i]); at; at = strstr(at + 1, others[i]))
            if ((at == source->path || at[-1] == '/') && at[size] == '/') return true;
    }
    return false;
}

/// Whether the code calls for the `jit` of another compiler, and for nothing of Triton: `tilelang.jit(function)`.
static bool wraps_another(Str code) {
    if (text_contains(code, "triton")) return false;
    for (int i = 0; i < OTHERS; i++) {
        size_t size = str_from(others[i]).size;
        for (size_t at = 0; at + size + 4 <= code.size; at++) {
            Str rest = {code.data + at, code.size - at};
            bool begins = !at || !(byte_is_word(rest.data[-1]) || rest.data[-1] == '.');
            if (!begins || !str_starts(rest, others[i])) continue;
            size_t end = size;
            while (end < rest.size && (byte_is_word(rest.data[end]) || rest.data[end] == '.'))
                end++;
            if (rest.data[size] == '.' && text_contains((Str){rest.data, end}, "jit")) return true;
        }
    }
    return false;
}

static int flags_of_name(Str dotted) {
    Str last = text_last_component(dotted);
    for (int i = 0; i < OTHERS; i++) {
        size_t size = str_from(others[i]).size;
        if (str_starts(dotted, others[i]) && (dotted.size == size || dotted.data[size] == '.'))
            return 0;
        // a wrapper by the name of what it wraps: `tilelang_jit`
        if (str_starts(last, others[i]) &&
            str_is((Str){last.data + size, last.size - size}, "_jit"))
            return 0;
    }
    if (text_contains(dotted, "gluon")) return str_is(last, "jit") ? WRAPS_FOREIGN : 0;
    int flags = 0;
    if (str_is(last, "jit") || str_ends(last, "_jit")) flags |= WRAPS_JIT;
    if (text_contains(last, "autotune")) flags |= WRAPS_AUTOTUNE;
    if (text_contains(last, "heuristic")) flags |= WRAPS_HEURISTICS;
    return flags;
}

/// Whether the text names Triton, or something of its language (`tl.load`).
static bool speaks_of_triton(const Module *module) {
    Str text = module->source->text;
    if (text_contains(text, "triton")) return true;
    for (size_t i = 0; i + 3 <= text.size; i++) {
        bool begins = !i || !(byte_is_word(text.data[i - 1]) || text.data[i - 1] == '.');
        if (begins && memcmp(text.data + i, "tl.", 3) == 0) return true;
    }
    return false;
}

/// What a name alone suggests. A `jit` of which no more is known is another compiler's in a file that never speaks of Triton.
static int flags_of_guess(const Module *module, Str name) {
    int flags = flags_of_name(name);
    return flags && !is_ours(name) && !speaks_of_triton(module) ? 0 : flags;
}

bool scope_marks_builtin(const FunctionDefinition *decorator) {
    Str text = node_text(decorator->module->source, decorator->node);
    return text_contains(text, "__triton_builtin__") || text_contains(text, "TRITON_BUILTIN");
}

static int flags_of_entry(Arena *arena, const Module *module, ScopeEntry entry, Str spelled,
                          int depth) {
    switch (entry.kind) {
    case SCOPE_EXTERNAL: return flags_of_guess(module, entry.dotted);
    case SCOPE_FUNCTION: {
        const FunctionDefinition *function = entry.function;
        if (function->is_jit || scope_marks_builtin(function) || is_of_another(function->module))
            return 0;
        Str code = code_of(arena, node_text(function->module->source, function->node));
        return wraps_another(code) ? 0 : flags_of_name(function->name) | flags_of_text(code);
    }
    case SCOPE_ASSIGNED: return module_wrapper_flags(arena, entry.module, entry.node, depth + 1);
    case SCOPE_CLASS: return flags_of_text(node_text(entry.module->source, entry.node));
    case SCOPE_OPAQUE: return flags_of_guess(module, entry.dotted.size ? entry.dotted : spelled);
    default: return flags_of_guess(module, spelled);
    }
}

int module_wrapper_flags(Arena *arena, const Module *module, SyntaxNode node, int depth) {
    if (depth > 6) return 0;
    switch (node_kind(node)) {
    case SYNTAX_IDENTIFIER:
    case SYNTAX_ATTRIBUTE:
        return flags_of_entry(arena, module, scope_of_expression(arena, module, node),
                              node_text(module->source, node), depth);
    case SYNTAX_CALL: {
        int flags = module_wrapper_flags(arena, module, node_field(node, "function"), depth + 1);
        Str callee = node_text(module->source, node_field(node, "function"));
        if (flags || !str_ends(callee, "partial")) return flags;
        return module_wrapper_flags(arena, module, node_child(node_field(node, "arguments"), 0),
                                    depth + 1);
    }
    case SYNTAX_LAMBDA: return flags_of_text(node_text(module->source, node));
    case SYNTAX_CONDITIONAL:
        return module_wrapper_flags(arena, module, node_child(node, 0), depth + 1) |
               module_wrapper_flags(arena, module, node_child(node, 2), depth + 1);
    case SYNTAX_PARENTHESIZED:
        return module_wrapper_flags(arena, module, node_child(node, 0), depth + 1);
    default: return 0;
    }
}
