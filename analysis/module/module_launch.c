// Which kernels a file launches, which meta-parameters are tuned, which jit functions are helpers of others.
#include "analysis/module/module_launch.h"

#include <string.h>

#include "analysis/module/chosen_kernels.h"
#include "analysis/module/function_names.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

// --- Meta-parameters of autotune and heuristics

typedef struct TunedSearch {
    Module *module;
    const Module *place;  // where the nodes at hand are written
    FunctionDefinition *function;
    int depth;
} TunedSearch;

static bool visit_tuned(void *context, SyntaxNode node);

static void tuned_add(TunedSearch *search, Str name) {
    const ParameterDefinition *parameter = NULL;
    for (int i = 0; i < search->function->parameter_count; i++)
        if (str_equal(search->function->parameters[i].name, name))
            parameter = &search->function->parameters[i];
    if (!parameter) return;
    for (LIST_EACH(int, i, search->function->tuned_names))
        if (str_equal(search->function->tuned_names.items[i], name)) return;
    LIST_PUSH(search->module->arena, &search->function->tuned_names, parameter->name);
}

static void tuned_keys(TunedSearch *search, SyntaxNode dictionary) {
    for (uint32_t i = 0; i < node_child_count(dictionary); i++) {
        SyntaxNode pair = node_child(dictionary, i);
        if (node_kind(pair) != SYNTAX_PAIR) continue;
        Str key = node_text(search->place->source, node_field(pair, "key"));
        if (key.size < 2) continue;
        tuned_add(search, (Str){key.data + 1, key.size - 2});
    }
}

/// Configurations are often built by a function of the file, or kept in a global list.
static void tuned_follow(TunedSearch *search, SyntaxNode name) {
    if (search->depth > 3) return;
    ScopeEntry entry = scope_of_expression(search->module->arena, search->place, name);
    TunedSearch inner = *search;
    inner.depth++;
    inner.place = entry.module;
    if (entry.kind == SCOPE_ASSIGNED) syntax_walk(entry.node, visit_tuned, &inner);
    if (entry.kind == SCOPE_FUNCTION && !entry.function->is_jit) {
        inner.place = entry.function->module;
        syntax_walk(entry.function->body, visit_tuned, &inner);
    }
}

static bool visit_tuned(void *context, SyntaxNode node) {
    TunedSearch *search = context;
    switch (node_kind(node)) {
    case SYNTAX_DICTIONARY: tuned_keys(search, node); return false;
    case SYNTAX_IDENTIFIER: tuned_follow(search, node); return false;
    case SYNTAX_ATTRIBUTE: return false;
    case SYNTAX_KEYWORD_ARGUMENT: {
        // Names beside the configurations (key, reset_to_zero, ...) are not tuned.
        Str name = node_text(search->place->source, node_field(node, "name"));
        return str_is(name, "configs") || str_is(name, "kwargs") || str_is(name, "values");
    }
    default: return true;
    }
}

static void tuned_find(Module *module, FunctionDefinition *function) {
    ModuleReads reads = {.names = map_new(module->arena)};
    module_watch(module, &reads);
    for (LIST_EACH(int, j, function->decorators)) {
        TunedSearch search = {module, module, function, 0};
        SyntaxNode decorator = function->decorators.items[j];
        int flags = module_wrapper_flags(module->arena, module, decorator, 0);
        if (node_kind(decorator) == SYNTAX_IDENTIFIER)
            tuned_follow(&search, decorator);
        else if (flags & (WRAPS_AUTOTUNE | WRAPS_HEURISTICS))
            syntax_walk(decorator, visit_tuned, &search);
    }
    module_watch_end(&reads);
    for (int i = 0; i < reads.names.count; i++)
        LIST_PUSH(module->arena, &function->facts->tuned_reads, reads.names.entries[i].number);
}

/// Takes over what was found in the former text; false where the edit may have changed it.
static bool tuned_move(Module *module, FunctionDefinition *function, const ModuleChanges *changes) {
    const FunctionDefinition *former = function->facts->former;
    if (!former || !former->facts->has_tuned || !changes || changes->all) return false;
    const FunctionFacts *known = former->facts;
    bool same = former->decorators.count == function->decorators.count;
    for (int i = 0; same && i < function->decorators.count; i++)
        same = former->decorators.items[i].id == function->decorators.items[i].id;
    for (int i = 0; same && i < known->tuned_reads.count; i++)
        same = !map_has_number(&changes->names, known->tuned_reads.items[i]);
    for (int i = 0; same && i < known->tuned_reads.count; i++)
        LIST_PUSH(module->arena, &function->facts->tuned_reads, known->tuned_reads.items[i]);
    for (int i = 0; same && i < former->tuned_names.count; i++)
        for (int p = 0; p < function->parameter_count; p++)
            if (str_equal(function->parameters[p].name, former->tuned_names.items[i])) {
                LIST_PUSH(module->arena, &function->tuned_names, function->parameters[p].name);
                break;
            }
    return same;
}

void module_find_tuned(Module *module, const ModuleChanges *changes) {
    for (LIST_EACH(int, i, module->functions)) {
        FunctionDefinition *function = module->functions.items[i];
        if (!function->is_autotuned && !function->has_heuristics) continue;
        if (!tuned_move(module, function, changes)) tuned_find(module, function);
        function->facts->has_tuned = true;
    }
}

// --- Launches

/// A set of hashes by their last bits: what it has not is in no function; what it has may be.
enum { CALLABLE_WORDS = 64 };

typedef struct LaunchSearch {
    Module *module;
    Map launched;                       // FunctionDefinition of each kernel -> the search
    Map referenced;                     // by other jit functions
    uint64_t callable[CALLABLE_WORDS];  // a bit for the hash of each name of a function
} LaunchSearch;

typedef struct LaunchCallSearch {
    Arena *arena;
    NodeList *calls;
    bool at_module_level;
} LaunchCallSearch;

static bool visit_launch(void *context, SyntaxNode node) {
    const LaunchCallSearch *search = context;
    SyntaxKind kind = node_kind(node);
    bool is_call = kind == SYNTAX_CALL || kind == SYNTAX_ASSIGNMENT;
    const char *field = kind == SYNTAX_CALL ? "function" : "right";
    if (is_call && node_kind(node_field(node, field)) == SYNTAX_SUBSCRIPT)
        LIST_PUSH(search->arena, search->calls, node);
    return !(search->at_module_level && kind == SYNTAX_FUNCTION);
}

typedef struct MentionSearch {
    const Module *module;
    FunctionFacts *facts;
    uint32_t start;  // of the piece
    Map own;         // names that the function binds for itself
    Map seen;
} MentionSearch;

static bool visit_mention(void *context, SyntaxNode node) {
    MentionSearch *search = context;
    if (node_kind(node) != SYNTAX_IDENTIFIER) return true;
    Range range = node_range(search->module->source, node);
    if (map_has(&search->own, source_slice(range))) return true;
    uint64_t hash = map_hash(source_slice(range));
    if (map_has_number(&search->seen, hash)) return true;
    map_set_number(&search->seen, hash, search);
    LIST_PUSH(search->module->arena, &search->facts->mentions,
              (Mention){hash, range.start - search->start, range.end - range.start});
    return true;
}

static uint32_t piece_start(const Module *module, SyntaxNode node) {
    return syntax_piece_range(module->tree, module->source, node_piece(node)).start;
}

static SyntaxNode class_around(SyntaxNode node) {
    while (!node_is_null(node) && node_kind(node) != SYNTAX_CLASS) node = node_parent(node);
    return node;
}

/// A kernel that is a static method: `self.kernel`, `cls.kernel` within its class, `Class.kernel` anywhere. NULL: none.
static const FunctionDefinition *find_method(const Module *module, SyntaxNode callee) {
    SyntaxNode object = node_field(callee, "object");
    if (node_kind(callee) != SYNTAX_ATTRIBUTE || node_kind(object) != SYNTAX_IDENTIFIER)
        return NULL;
    Str name = node_text(module->source, node_field(callee, "attribute"));
    Str owner = node_text(module->source, object);
    bool is_own = str_is(owner, "self") || str_is(owner, "cls");
    SyntaxNode own = is_own ? class_around(callee) : (SyntaxNode){0};
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *function = module->functions.items[i];
        if (!function->is_jit || !str_equal(function->name, name)) continue;
        SyntaxNode class = class_around(function->node);
        if (node_is_null(class)) continue;
        if (is_own ? class.id == own.id
                   : str_equal(node_text(module->source, node_field(class, "name")), owner))
            return function;
    }
    return NULL;
}

static SyntaxNode scope_around(SyntaxNode node) {
    for (node = node_parent(node); !node_is_null(node); node = node_parent(node)) {
        SyntaxKind kind = node_kind(node);
        if (kind == SYNTAX_FUNCTION || kind == SYNTAX_CLASS || kind == SYNTAX_LAMBDA) break;
    }
    return node;
}

/// A kernel that is defined in a function around its launch. NULL: none.
static const FunctionDefinition *find_nested(const Module *module, SyntaxNode callee) {
    if (node_kind(callee) != SYNTAX_IDENTIFIER) return NULL;
    Str name = node_text(module->source, callee);
    for (SyntaxNode scope = scope_around(callee); !node_is_null(scope);
         scope = scope_around(scope)) {
        if (node_kind(scope) != SYNTAX_FUNCTION) continue;
        for (LIST_EACH(int, i, module->functions)) {
            const FunctionDefinition *function = module->functions.items[i];
            if (function->is_jit && str_equal(function->name, name) &&
                node_same(scope_around(function->node), scope))
                return function;
        }
    }
    return NULL;
}

/// The names that a scope binds: a function's own, a lambda's parameters, what a comprehension runs over.
static bool scope_binds(const Module *module, SyntaxNode scope, Str name) {
    Map names = map_new(module->arena);
    switch (node_kind(scope)) {
    case SYNTAX_FUNCTION: names = function_names(module->arena, module->source, scope); break;
    case SYNTAX_LAMBDA:
        parameter_names_add(&names, module->source, node_field(scope, "parameters"));
        break;
    case SYNTAX_LIST_COMPREHENSION:
    case SYNTAX_GENERATOR:
    case SYNTAX_SET_COMPREHENSION:
    case SYNTAX_DICTIONARY_COMPREHENSION:
        for (uint32_t i = 0; i < node_child_count(scope); i++)
            if (node_kind(node_child(scope, i)) == SYNTAX_FOR_IN_CLAUSE)
                target_names_add(&names, module->source, node_field(node_child(scope, i), "left"));
        break;
    default: return false;
    }
    return map_has(&names, name);
}

/// Whether a scope around the identifier binds its name: what the file calls so is something else.
static bool is_bound_around(const Module *module, SyntaxNode identifier) {
    Str name = node_text(module->source, identifier);
    SyntaxNode scope = node_parent(identifier);
    while (!node_is_null(scope) && !scope_binds(module, scope, name)) scope = node_parent(scope);
    return !node_is_null(scope);
}

/// The kernel that an expression names, also in `wrap_triton(kernel)`. NULL: none.
static const FunctionDefinition *kernel_named(const Module *module, SyntaxNode callee) {
    if (node_kind(callee) == SYNTAX_CALL) {
        Str wrapper = node_text(module->source, node_field(callee, "function"));
        if (!str_ends(wrapper, "wrap_triton") && !str_ends(wrapper, "capture_triton")) return NULL;
        callee = node_child(node_field(callee, "arguments"), 0);
    }
    if (node_is_null(callee)) return NULL;
    const FunctionDefinition *nested = find_nested(module, callee);
    if (nested) return nested;
    ScopeEntry entry =
        scope_follow_alias(module->arena, scope_of_expression(module->arena, module, callee));
    bool is_kernel = entry.kind == SCOPE_FUNCTION && entry.function->is_jit;
    if (!is_kernel) return find_method(module, callee);
    // what a function imports for itself is among the file's names
    bool is_own = node_kind(callee) == SYNTAX_IDENTIFIER && entry.function->module == module;
    return is_own && is_bound_around(module, callee) ? NULL : entry.function;
}

static void launch_add(LaunchSearch *search, const FunctionDefinition *launcher,
                       ChosenKernel chosen, SyntaxNode call, SyntaxNode subscript) {
    Module *module = search->module;
    if (launcher && function_is_dead(module->arena, launcher)) return;
    LaunchSite site = {.kernel = chosen.kernel,
                       .launcher = launcher,
                       .call = call,
                       .subscript = subscript,
                       .grid = node_field(subscript, "subscript"),
                       .is_bare = chosen.is_bare,
                       .range = node_range(module->source, call)};
    for (LIST_EACH(int, i, chosen.places))
        LIST_PUSH(module->arena, &site.chosen, chosen.places.items[i]);
    LIST_PUSH(module->arena, &module->launches, site);
    map_set_pointer(&search->launched, chosen.kernel, search);
}

/// The kernels that `kernel[grid]` may be; none where one of them is not known.
static ChosenKernels launched_kernels(const Module *module, const FunctionDefinition *launcher,
                                      SyntaxNode subscript) {
    SyntaxNode callee = node_field(subscript, "value");
    ChosenKernels kernels = {0};
    ChosenKernel own = {.kernel = kernel_named(module, callee)};
    if (!own.kernel) own.is_bare = kernel_is_bare(module, callee, kernel_named, &own.kernel);
    if (own.kernel)
        LIST_PUSH(module->arena, &kernels, own);
    else if (launcher && node_kind(callee) == SYNTAX_IDENTIFIER)
        kernels = chosen_kernels(module->arena, module, launcher, node_text(module->source, callee),
                                 kernel_named);
    return kernels;
}

/// Calls of a name that is given a kernel with its grid, `run = kernel[grid]`.
typedef struct NamedSearch {
    const Module *module;
    Str name;
    SyntaxNode assignment;
    NodeList calls;
    bool is_bound_again;  // the name, or one that the grid reads
} NamedSearch;

static bool visit_named(void *context, SyntaxNode node) {
    NamedSearch *search = context;
    const Source *source = search->module->source;
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_CALL &&
        str_equal(node_text(source, node_field(node, "function")), search->name))
        LIST_PUSH(search->module->arena, &search->calls, node);
    bool binds =
        kind == SYNTAX_ASSIGNMENT || kind == SYNTAX_AUGMENTED_ASSIGNMENT || kind == SYNTAX_FOR;
    if (!binds || node_same(node, search->assignment)) return true;
    Range made = node_range(source, search->assignment);
    Str grid = node_text(source, node_field(search->assignment, "right"));
    Str target = node_text(source, node_field(node, "left"));
    bool is_later = node_range(source, node).end > made.start;
    for (size_t i = 0; i < target.size;) {
        size_t size = 0;
        while (i + size < target.size && byte_is_word(target.data[i + size])) size++;
        Str word = {target.data + i, size};
        if (size && (str_equal(word, search->name) || (is_later && str_has_word(grid, word))))
            search->is_bound_again = true;
        i += size ? size : 1;
    }
    return true;
}

static void launches_add_named(LaunchSearch *search, const FunctionDefinition *launcher,
                               SyntaxNode assignment) {
    SyntaxNode subscript = node_field(assignment, "right"), name = node_field(assignment, "left");
    if (!launcher || node_kind(name) != SYNTAX_IDENTIFIER) return;
    ChosenKernels kernels = launched_kernels(search->module, launcher, subscript);
    if (!kernels.count) return;
    NamedSearch named = {.module = search->module,
                         .name = node_text(search->module->source, name),
                         .assignment = assignment};
    syntax_walk(launcher->body, visit_named, &named);
    if (named.is_bound_again) return;
    for (LIST_EACH(int, i, named.calls))
        for (LIST_EACH(int, k, kernels))
            launch_add(search, launcher, kernels.items[k], named.calls.items[i], subscript);
}

static void launches_add(LaunchSearch *search, const FunctionDefinition *launcher, NodeList calls) {
    for (LIST_EACH(int, i, calls)) {
        if (node_kind(calls.items[i]) == SYNTAX_ASSIGNMENT) {
            launches_add_named(search, launcher, calls.items[i]);
            continue;
        }
        SyntaxNode subscript = node_field(calls.items[i], "function");
        ChosenKernels kernels = launched_kernels(search->module, launcher, subscript);
        for (LIST_EACH(int, k, kernels))
            launch_add(search, launcher, kernels.items[k], calls.items[i], subscript);
    }
}

const LaunchSite *launch_beside(const Module *module, const LaunchSite *site) {
    const LaunchSite *next = site + 1;
    bool is_there = next < module->launches.items + module->launches.count;
    return is_there && node_same(next->call, site->call) ? next : NULL;
}

bool launch_has_several(const Module *module, const LaunchSite *site) {
    return launch_beside(module, site) ||
           (site > module->launches.items && node_same(site[-1].call, site->call));
}

const char *launch_grid_text(Arena *arena, const Module *module, const LaunchSite *site) {
    SyntaxNode subscript = site->subscript;
    Range range = node_range(module->source, site->grid);
    bool is_tuple = false;
    for (uint32_t i = 0; i < node_all_child_count(subscript); i++) {
        SyntaxNode part = node_all_child(subscript, i);
        Range at = node_range(module->source, part);
        if (at.start < range.start || strcmp(node_kind_name(part), "]") == 0) continue;
        is_tuple = is_tuple || strcmp(node_kind_name(part), ",") == 0;
        range.end = at.end;
    }
    Str text = source_slice(range);
    return is_tuple ? arena_printf(arena, "(%.*s)", STR_ARGS(text)) : str_dup(arena, text);
}

static void find_calls(LaunchSearch *search, const FunctionDefinition *function) {
    FunctionFacts *facts = function->facts;
    if (!facts->has_calls) {
        LaunchCallSearch calls = {search->module->arena, &facts->calls, false};
        syntax_walk(function->body, visit_launch, &calls);
        facts->has_calls = true;
    }
    launches_add(search, function, facts->calls);
}

static void find_references(LaunchSearch *search, const FunctionDefinition *function) {
    const Module *module = search->module;
    FunctionFacts *facts = function->facts;
    uint32_t start = piece_start(module, function->node);
    if (!facts->has_mentions) {
        Arena *scratch = arena_new();
        MentionSearch mentions = {module, facts, start,
                                  function_names(scratch, module->source, function->node),
                                  map_new(scratch)};
        syntax_walk(function->body, visit_mention, &mentions);
        arena_free(scratch);
        facts->has_mentions = true;
    }
    for (LIST_EACH(int, i, facts->mentions)) {
        Mention mention = facts->mentions.items[i];
        if (!(search->callable[mention.hash >> 6 & (CALLABLE_WORDS - 1)] >> (mention.hash & 63) &
              1))
            continue;
        Str name = {module->source->text.data + start + mention.start, mention.size};
        const ScopeEntry *entry = map_get(&module->scope->names, name);
        for (; entry; entry = entry->next)
            if (entry->kind == SCOPE_FUNCTION && entry->function != function)
                map_set_pointer(&search->referenced, entry->function, entry->function);
    }
}

static void note_callable(LaunchSearch *search) {
    const Map *names = &search->module->scope->names;
    for (int i = 0; i < names->count; i++)
        for (const ScopeEntry *entry = names->entries[i].value; entry; entry = entry->next) {
            uint64_t hash = map_hash(names->entries[i].key);
            if (entry->kind == SCOPE_FUNCTION)
                search->callable[hash >> 6 & (CALLABLE_WORDS - 1)] |= (uint64_t)1 << (hash & 63);
        }
}

void module_find_launches(Module *module) {
    LaunchSearch search = {
        .module = module, .launched = map_new(module->arena), .referenced = map_new(module->arena)};
    note_callable(&search);
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *function = module->functions.items[i];
        if (function->is_jit)
            find_references(&search, function);
        else
            find_calls(&search, function);
    }
    for (int i = 0; i < syntax_piece_count(module->tree); i++) {
        PieceFacts *facts = &module->scope->pieces[i];
        LaunchCallSearch calls = {module->arena, &facts->calls, true};
        if (!facts->has_calls) syntax_walk_piece(module->tree, i, visit_launch, &calls);
        facts->has_calls = true;
        launches_add(&search, NULL, facts->calls);
    }
    for (LIST_EACH(int, i, module->functions)) {
        FunctionDefinition *function = module->functions.items[i];
        function->is_helper =
            function->is_jit && !map_has_pointer(&search.launched, function) &&
            (function->returns_value || map_has_pointer(&search.referenced, function));
    }
}
