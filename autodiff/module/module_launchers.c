// Launchers of a file: those whose launches all have gradients, and why others have not.
#include "autodiff/module/module_launchers.h"

#include <string.h>

#include "analysis/host/launch.h"
#include "analysis/module/function_names.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/launcher/bare_launchers.h"
#include "autodiff/launcher/launcher_text.h"
#include "autodiff/launcher/operator_launch.h"
#include "autodiff/module/block_launchers.h"
#include "autodiff/module/library_parts.h"
#include "autodiff/plan/constants.h"
#include "autodiff/plan/unseen_launch.h"

static const char OWN_GRADIENT[] = "it is an autograd.Function with a backward of its own";

static bool has_plan(const ModuleWriter *writer, const FunctionDefinition *kernel) {
    for (int p = 0; p < writer->plan_count; p++)
        if (writer->plans[p].kernel == kernel) return !writer->plans[p].is_apart;
    return false;
}

/// The first launch of a kernel with a backward in the function or class; NULL: it has none.
static const LaunchSite *first_launch(const ModuleWriter *writer, const Item *item) {
    for (LIST_EACH(int, k, writer->module->launches)) {
        const LaunchSite *site = &writer->module->launches.items[k];
        if (site->launcher && site->range.start >= item->range.start &&
            site->range.end <= item->range.end && has_plan(writer, site->kernel))
            return site;
    }
    return NULL;
}

bool item_launches(const ModuleWriter *writer, const Item *item) {
    return first_launch(writer, item) != NULL;
}

bool class_is_autograd_function(const ModuleWriter *writer, SyntaxNode class) {
    const Source *source = writer->module->source;
    SyntaxNode bases = node_field(class, "superclasses");
    for (uint32_t i = 0; !node_is_null(bases) && i < node_child_count(bases); i++)
        if (str_ends(node_text(source, node_child(bases, i)), "Function")) return true;
    return false;
}

const char *item_text_with_launches(ModuleWriter *writer, const Item *item, const char **why) {
    const FunctionDefinition *function = item->function;
    Range range = function ? node_range(writer->module->source, function->node) : item->range;
    const char *text = writer->operators
                           ? operator_launcher_text(writer->arena, writer->module, range,
                                                    writer->operators, writer->plan_count, why)
                           : launcher_text(writer->arena, writer->snapshot, range, writer->plans,
                                           writer->plan_count, why);
    if (!text) return NULL;
    return function
               ? arena_printf(writer->arena, "%s%s", kept_decorators(writer->arena, function), text)
               : block_with_bare_launchers(writer->arena, writer->module, item->range, text);
}

/// Whether code is there to be run, not to be called: it prints, measures or compares.
static bool is_script(const Item *item) {
    static const char *const words[] = {"print", "do_bench", "perf_report", "assert_close",
                                        "allclose"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (map_has(&item->mentions, str_from(words[i]))) return true;
    return false;
}

/// Whether it holds functions that may launch kernels: a function or class, or an `if` or `try` around some.
static bool is_host_code(const Item *item) {
    if (item->function) return !item->function->is_jit;
    SyntaxKind kind = node_kind(item->node);
    return !item->is_main && (!node_is_null(item_class(item)) || kind == SYNTAX_IF ||
                              kind == SYNTAX_TRY || kind == SYNTAX_WITH || kind == SYNTAX_FOR);
}

/// What the item is called in messages.
static Range item_name(const ModuleWriter *writer, const Item *item) {
    const Source *source = writer->module->source;
    if (item->function) return item->function->name_range;
    SyntaxNode class = item_class(item);
    if (!node_is_null(class)) return node_range(source, node_field(class, "name"));
    for (LIST_EACH(int, i, writer->module->functions)) {
        Range name = writer->module->functions.items[i]->name_range;
        if (!writer->module->functions.items[i]->is_jit && name.start >= item->range.start &&
            name.end <= item->range.end)
            return name;
    }
    return item->range;
}

/// A statement without a name is called by its first line.
static Range first_line(Range range) {
    Str text = source_slice(range);
    const char *end = memchr(text.data, '\n', text.size);
    if (end) range.end = range.start + (uint32_t)(end - text.data);
    return range;
}

void item_note_left_out(ModuleWriter *writer, Item *item) {
    if (item->is_noted) return;
    item->is_noted = true;
    Range name = first_line(item_name(writer, item));
    Str text = source_slice(name);
    const char *note =
        arena_printf(writer->arena, "`%.*s` is left out: %s.", STR_ARGS(text), item->left_out);
    LIST_PUSH(writer->arena, &writer->notes, note);
    if (writer->diagnostics)
        diagnose(writer->diagnostics, DIAGNOSTIC_GRADIENT_LAUNCHER_LEFT_OUT,
                 snapshot_range(writer->snapshot, name), "`%.*s` is not in the written module: %s",
                 STR_ARGS(text), item->left_out);
}

/// A launcher that has no gradients in the file has some in the module.
void item_note_decorators(const ModuleWriter *writer, const Item *item) {
    const Source *source = writer->module->source;
    const LaunchSite *site = first_launch(writer, item);
    const FunctionDefinition *function = item->function;
    if (!function && site && function_is_of_module(site->launcher)) function = site->launcher;
    for (int i = 0; function && site && i < function->decorators.count; i++) {
        SyntaxNode decorator = function->decorators.items[i];
        if (!decorator_takes_gradients(source, decorator) || !writer->diagnostics) continue;
        diagnose(writer->diagnostics, DIAGNOSTIC_GRADIENT_DECORATOR_LEFT_OUT,
                 snapshot_range(writer->snapshot, node_range(source, decorator)),
                 "in the written module `%.*s` launches `%.*s` with gradients, without `%.*s`",
                 STR_ARGS(function->name), STR_ARGS(site->kernel->name),
                 STR_ARGS(node_text(source, decorator)));
    }
}

typedef struct StraySearch {
    const ModuleWriter *writer;
    bool is_launcher;                  // then kernels without a backward count, too
    const FunctionDefinition *kernel;  // found
} StraySearch;

static bool is_in_launch(const Module *module, Range range) {
    for (LIST_EACH(int, k, module->launches)) {
        const LaunchSite *site = &module->launches.items[k];
        Range subscript = node_range(module->source, site->subscript);
        if (range.start >= subscript.start && range.end <= subscript.end) return true;
        for (LIST_EACH(int, c, site->chosen)) {
            Range chosen = node_range(module->source, site->chosen.items[c]);
            if (range.start >= chosen.start && range.end <= chosen.end) return true;
        }
    }
    return false;
}

/// Whether a kernel is wrapped there: `name = triton.autotune(...)(kernel)`.
static bool is_in_wrapper(const Source *source, const FunctionDefinition *kernel, Range range) {
    for (LIST_EACH(int, i, kernel->decorators)) {
        Range wrapper = node_range(source, kernel->decorators.items[i]);
        if (range.start >= wrapper.start && range.end <= wrapper.end) return true;
    }
    return false;
}

/// A kernel is looked at (`kernel.best_config`), defined or bound, or only called by another.
static bool is_harmless(const Module *module, SyntaxNode node) {
    SyntaxNode parent = node_parent(node);
    switch (node_kind(parent)) {
    case SYNTAX_FUNCTION: return true;
    case SYNTAX_ASSIGNMENT: return node_same(node_field(parent, "left"), node);
    case SYNTAX_ATTRIBUTE: {
        Str member = node_text(module->source, node_field(parent, "attribute"));
        return !str_is(member, "run") && !str_is(member, "fn") && !str_is(member, "__getitem__");
    }
    default: return false;
    }
}

static bool visit_stray(void *context, SyntaxNode node) {
    StraySearch *search = context;
    const Module *module = search->writer->module;
    for (int i = 0; i < module->functions.count && node_kind(node) == SYNTAX_FUNCTION; i++) {
        const FunctionDefinition *function = module->functions.items[i];
        bool is_passed = function->is_jit || function_is_outdone(search->writer->arena, function);
        if (node_same(function->node, node) && is_passed) return false;
    }
    if (search->kernel || !node_is_mention(node)) return true;
    Str name = node_text(module->source, node);
    for (int i = 0; i < module->functions.count; i++) {
        const FunctionDefinition *kernel = module->functions.items[i];
        if (!kernel->is_jit || kernel->is_helper || kernel->returns_value ||
            !str_equal(kernel->name, name))
            continue;
        const ScopeEntry *own = map_get(&module->scope->names, name);
        bool is_rebound = own && own->kind == SCOPE_FUNCTION && !own->function->is_jit;
        if (is_rebound || (!search->is_launcher && !has_plan(search->writer, kernel))) continue;
        Range range = node_range(module->source, node);
        bool is_known = is_in_launch(module, range) || is_harmless(module, node) ||
                        is_in_wrapper(module->source, kernel, range);
        if (is_known) continue;
        search->kernel = kernel;
    }
    return true;
}

/// A kernel with a backward that the code uses otherwise than to launch it: what comes of that is not known.
static const FunctionDefinition *stray_kernel(const ModuleWriter *writer, const Item *item) {
    StraySearch search = {.writer = writer, .is_launcher = item_launches(writer, item)};
    syntax_walk(item->node, visit_stray, &search);
    return search.kernel;
}

/// Whether all names that the statement binds are those of kernels: `tuned = triton.autotune(...)(kernel)`.
static bool names_kernels(const ModuleWriter *writer, const Item *item) {
    for (int b = 0; b < item->binds.count; b++) {
        Str name = item->binds.entries[b].key;
        ScopeEntry entry =
            scope_follow_alias(writer->arena, module_resolve(writer->arena, writer->module, name));
        if (entry.kind != SCOPE_FUNCTION || !entry.function->is_jit) return false;
    }
    return item->binds.count > 0;
}

/// `KERNELS = {"gelu": gelu_kernel}`, `run = partial(gelu_kernel, ...)`, `go = lambda x: gelu_kernel[grid](x)`: why a statement
/// that is no definition has names that launch kernels out of sight; NULL: it has not.
static const char *launches_hidden(const ModuleWriter *writer, const Item *item) {
    if (item->function || item->is_main || item_is_import(item) || is_host_code(item)) return NULL;
    if (names_kernels(writer, item)) return NULL;
    const FunctionDefinition *stray = stray_kernel(writer, item);
    if (stray)
        return arena_printf(writer->arena, "it takes the kernel `%.*s`", STR_ARGS(stray->name));
    return unseen_launch(writer->arena, writer->module, item->node);
}

static const char *mentioned(const ModuleWriter *writer, const Item *item, const Map *names) {
    Map own = item->function
                  ? function_names(writer->arena, writer->module->source, item->function->node)
                  : item->binds;
    for (int m = 0; m < item->mentions.count; m++) {
        Str name = item->mentions.entries[m].key;
        if (map_has(names, name) && !map_has(&item->binds, name) && !map_has(&own, name))
            return str_dup(writer->arena, name);
    }
    return NULL;
}

static void bind_names(Item *item, Map *names) {
    for (int k = 0; k < item->binds.count; k++) map_set(names, item->binds.entries[k].key, item);
}

/// Whether what the item says at module level has consequences: it defines, binds or changes something.
static bool has_names(const Item *item) { return item->binds.count || item->changes.count; }

/// What calls or takes what is left out has no gradients either.
static void leave_out_callers(ModuleWriter *writer) {
    Map hidden = map_new(writer->arena), left_out = map_new(writer->arena);
    for (LIST_EACH(int, i, writer->items)) {
        Item *item = &writer->items.items[i];
        if (launches_hidden(writer, item)) {
            item->left_out = launches_hidden(writer, item);
            bind_names(item, &hidden);
        } else if (item->left_out) {
            bind_names(item, &left_out);
        }
    }
    for (LIST_EACH(int, i, writer->items)) {
        Item *item = &writer->items.items[i];
        if (item->left_out && is_host_code(item) && !is_script(item) &&
            mentioned(writer, item, &hidden))
            item_note_left_out(writer, item);
    }
    // `run = make(kernel)`
    for (LIST_EACH(int, i, writer->items)) {
        Item *item = &writer->items.items[i];
        bool is_hidden = item->left_out && !is_host_code(item) && has_names(item);
        if (is_hidden && !is_script(item) && mentioned(writer, item, &left_out))
            item_note_left_out(writer, item);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (LIST_EACH(int, i, writer->items)) {
            Item *item = &writer->items.items[i];
            bool is_kernel = item->function && item->function->is_jit;
            if (item->left_out || item_is_import(item) || is_kernel || item->is_main) continue;
            if (!has_names(item)) continue;
            const char *kernels = mentioned(writer, item, &hidden);
            const char *caller = kernels ? NULL : mentioned(writer, item, &left_out);
            if (!kernels && !caller) continue;
            const char *name = kernels ? kernels : caller;
            const Item *cause = map_get(kernels ? &hidden : &left_out, str_from(name));
            item->is_own_gradient = cause->is_own_gradient && !item_launches(writer, item);
            bool takes_kernel = kernels && !cause->is_own_gradient;
            item->left_out =
                arena_printf(writer->arena,
                             takes_kernel ? "it takes a kernel from `%s`" : "it calls `%s`", name);
            bool is_said = cause->is_noted || cause->is_own_gradient;
            bool is_missed = is_said && item_is_part_of_library(writer, item, &left_out);
            if ((is_missed || (takes_kernel && is_host_code(item))) && !is_script(item))
                item_note_left_out(writer, item);
            bind_names(item, is_host_code(item) ? &left_out : &hidden);
            changed = true;
        }
    }
}

/// The kernel of a launch without gradients in code that launches none with gradients; NULL: it has no such launch.
static const FunctionDefinition *kernel_without_gradient(const ModuleWriter *writer,
                                                         const Item *item) {
    for (LIST_EACH(int, k, writer->module->launches)) {
        const LaunchSite *site = &writer->module->launches.items[k];
        bool is_inside = site->range.start >= item->range.start &&
                         site->range.end <= item->range.end && site->launcher;
        if (is_inside && !has_plan(writer, site->kernel) &&
            !launch_stores_constants(writer->arena, writer->snapshot, site))
            return site->kernel;
    }
    return NULL;
}

/// Why a function or class has no gradients here as it stands; NULL: nothing is against it. `*is_quiet`: it matters only to
/// those that call it. `launching`: names of what launches kernels of the file.
const char *item_why_left_out(ModuleWriter *writer, Item *item, const Map *launching,
                              bool *is_quiet) {
    Arena *arena = writer->arena;
    bool launches = item_launches(writer, item);
    if (item->is_own_gradient)
        return launches || mentioned(writer, item, launching) ? OWN_GRADIENT : NULL;
    Str script = items_script_name(arena, writer->module, &writer->items, item);
    *is_quiet = !launches || is_script(item);
    if (script.size)
        return arena_printf(arena, "it uses `%.*s`, which is set only where the file is run",
                            STR_ARGS(script));
    Str operator= item->function ? (Str){0} : block_operator(writer, item);
    if (operator.size)
        return arena_printf(arena, "`%.*s` is registered as an operator below an `if`",
                            STR_ARGS(operator));
    const FunctionDefinition *stray = stray_kernel(writer, item);
    *is_quiet = stray && is_script(item);
    if (stray)
        return arena_printf(arena, "it uses `%.*s` otherwise than in a launch, `%.*s[grid](...)`",
                            STR_ARGS(stray->name), STR_ARGS(stray->name));
    const char *why = NULL;
    if (launches && !item_text_with_launches(writer, item, &why))
        return why ? why : "it is not understood";
    *is_quiet = !launches;
    const FunctionDefinition *without = launches ? NULL : kernel_without_gradient(writer, item);
    if (without) {
        const char *path = without->module->source->path, *slash = strrchr(path, '/');
        bool is_here = without->module == writer->module;  // then the kernel is refused by name
        *is_quiet = is_here || is_script(item);
        return arena_printf(arena, "it launches `%.*s`%s%s, which has no generated backward%s",
                            STR_ARGS(without->name), is_here ? "" : " of ",
                            is_here ? ""
                            : slash ? slash + 1
                                    : path,
                            is_here ? "" : " here");
    }
    *is_quiet = is_script(item);
    return unseen_launch(arena, writer->module, item->node);
}

/// Names of functions and classes that launch kernels with a backward, themselves or by what they mention.
static Map launching_names(ModuleWriter *writer) {
    Map names = map_new(writer->arena), seen = map_new(writer->arena);
    for (bool changed = true; changed;) {
        changed = false;
        for (LIST_EACH(int, i, writer->items)) {
            Item *item = &writer->items.items[i];
            if (!is_host_code(item) || is_script(item) || map_has_pointer(&seen, item)) continue;
            if (!item_launches(writer, item) && !mentioned(writer, item, &names)) continue;
            map_set_pointer(&seen, item, item);
            bind_names(item, &names);
            changed = true;
        }
    }
    return names;
}

void launchers_find(ModuleWriter *writer) {
    Map launching = launching_names(writer);
    for (LIST_EACH(int, i, writer->items)) {
        Item *item = &writer->items.items[i];
        if (!is_host_code(item)) continue;
        SyntaxNode class = item_class(item);
        item->is_own_gradient = !node_is_null(class) && class_is_autograd_function(writer, class);
        bool is_quiet = false;
        item->left_out = item_why_left_out(writer, item, &launching, &is_quiet);
        if (item->left_out && block_has_kernels(writer, item))
            item->is_noted = true;  // what is left out of it is noted by name
        else if (item->left_out && !is_quiet)
            item_note_left_out(writer, item);
    }
    leave_out_callers(writer);
    for (LIST_EACH(int, i, writer->items)) {
        Item *item = &writer->items.items[i];
        if (!is_host_code(item)) continue;
        if (item->left_out && block_has_kernels(writer, item)) {
            const char *text = block_of_some(writer, item, &launching);
            LIST_PUSH(writer->arena, &writer->launchers, item);
            LIST_PUSH(writer->arena, &writer->launcher_texts, text);
            continue;
        }
        if (!item_launches(writer, item)) continue;
        if (item->left_out) {
            item_note_left_out(writer, item);
            continue;
        }
        const char *why = NULL;
        item_note_decorators(writer, item);
        LIST_PUSH(writer->arena, &writer->launchers, item);
        LIST_PUSH(writer->arena, &writer->launcher_texts,
                  item_text_with_launches(writer, item, &why));
    }
}

const char *launcher_text_of(const ModuleWriter *writer, const Item *item) {
    for (LIST_EACH(int, i, writer->launchers))
        if (writer->launchers.items[i] == item) return writer->launcher_texts.items[i];
    bool is_code = item->function ? !item->function->is_jit : !node_is_null(item_class(item));
    return is_code && !writer->operators
               ? counted_text(writer->arena, writer->snapshot, item->range)
               : NULL;
}

/// `@op.register_fake`: part of an operator whose decorator is gone.
static bool registers_with(const ModuleWriter *writer, const Item *item, const Map *launchers) {
    const Source *source = writer->module->source;
    for (int i = 0; item->function && i < item->function->decorators.count; i++) {
        SyntaxNode node = item->function->decorators.items[i];
        if (node_kind(node) == SYNTAX_DECORATOR) node = node_child(node, 0);
        if (node_kind(node) == SYNTAX_CALL) node = node_field(node, "function");
        Str object = node_kind(node) == SYNTAX_ATTRIBUTE
                         ? node_text(source, node_field(node, "object"))
                         : (Str){0};
        if (object.size && map_has(launchers, object)) return true;
    }
    return false;
}

/// `@register("name")`: what such a function of the file may have put its argument into has that function in it.
static void bind_registries(ModuleWriter *writer, const Item *item, Map *callable) {
    const Source *source = writer->module->source;
    for (int i = 0; item->function && i < item->function->decorators.count; i++) {
        SyntaxNode node = item->function->decorators.items[i];
        if (node_kind(node) == SYNTAX_DECORATOR) node = node_child(node, 0);
        if (node_kind(node) == SYNTAX_CALL) node = node_field(node, "function");
        const Item *decorator = items_binding(&writer->items, node_text(source, node));
        for (int m = 0; decorator && decorator->function && m < decorator->mentions.count; m++) {
            Str name = decorator->mentions.entries[m].key;
            Item *registry = items_binding(&writer->items, name);
            if (registry && node_kind(registry->node) == SYNTAX_EXPRESSION_STATEMENT)
                map_set(callable, name, registry);
        }
    }
}

/// Functions and classes that call what is differentiable here belong to the module: it takes the place of the user's.
void launchers_include_callers(ModuleWriter *writer) {
    Map callable = map_new(writer->arena);
    for (LIST_EACH(int, i, writer->launchers)) {
        bind_names(writer->launchers.items[i], &callable);
        bind_registries(writer, writer->launchers.items[i], &callable);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (LIST_EACH(int, i, writer->items)) {
            Item *item = &writer->items.items[i];
            SyntaxNode class = item_class(item);
            if (!node_is_null(class) && class_is_autograd_function(writer, class)) continue;
            if (item->is_included || is_script(item)) continue;
            if (item->is_noted || registers_with(writer, item, &callable)) continue;
            if (!mentioned(writer, item, &callable)) continue;
            if (!item_is_part_of_library(writer, item, &callable)) continue;
            if (item->left_out) {
                item_note_left_out(writer, item);
                continue;
            }
            bool is_renaming = !is_host_code(item);
            items_include(&writer->items, item);
            bind_names(item, &callable);
            bind_registries(writer, item, &callable);
            for (int k = 0; is_renaming && k < item->changes.count; k++)
                map_set(&callable, item->changes.entries[k].key, item);
            changed = true;
        }
    }
}
