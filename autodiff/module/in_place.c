// The backward as edits of the forward's own file: below the kernel, with the launchers that stand there made differentiable.
#include "autodiff/module/in_place.h"

#include <string.h>

#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/function/function_text.h"
#include "autodiff/launcher/launcher_text.h"
#include "autodiff/module/helpers.h"
#include "autodiff/module/hoist.h"
#include "autodiff/plan/launch_plan.h"

typedef struct InPlace {
    Arena *arena;
    const Snapshot *snapshot;
    const Module *module;
    LIST(BackwardEdit) edits;
} InPlace;

static void add(InPlace *place, uint32_t start, uint32_t end, const char *text) {
    BackwardEdit edit = {{place->snapshot->source, start, end}, text};
    LIST_PUSH(place->arena, &place->edits, edit);
    for (int i = place->edits.count - 1; i > 0; i--) {
        BackwardEdit *now = &place->edits.items[i], *before = now - 1;
        if (before->range.start <= now->range.start) break;
        BackwardEdit swapped = *now;
        *now = *before;
        *before = swapped;
    }
}

static bool is_bound(const InPlace *place, const char *name) {
    return module_resolve(place->arena, place->module, str_from(name)).kind != SCOPE_MISSING;
}

/// A helper of an earlier time is used again.
static HelperPlace find_helper(const void *context, const char *name, const char *text) {
    const InPlace *place = context;
    if (!map_has(&place->module->scope->names, str_from(name))) return HELPER_ABSENT;
    SyntaxNode root = syntax_root(place->module->tree);
    for (uint32_t i = 0; i < node_child_count(root); i++) {
        Str own = str_trim(node_text(place->module->source, node_child(root, i)));
        if (str_equal(own, str_trim(str_from(text)))) return HELPER_PRESENT;
    }
    return HELPER_TAKEN;
}

/// Behind the last import at module level, or behind the docstring.
static uint32_t end_of_imports(const InPlace *place) {
    SyntaxNode root = syntax_root(place->module->tree);
    uint32_t end = 0;
    for (uint32_t i = 0; i < node_child_count(root); i++) {
        SyntaxNode node = node_child(root, i);
        SyntaxKind kind = node_kind(node);
        bool docstring = end == 0 && kind == SYNTAX_EXPRESSION_STATEMENT &&
                         node_kind(node_child(node, 0)) == SYNTAX_STRING;
        if (docstring || kind == SYNTAX_IMPORT || kind == SYNTAX_IMPORT_FROM ||
            kind == SYNTAX_FUTURE_IMPORT)
            end = node_range(place->snapshot->source, node).end;
        else if (kind != SYNTAX_COMMENT)
            break;
    }
    return end;
}

/// `kernel`: the text of the derived kernel, `helpers`: of what it reduces with.
static void add_imports(InPlace *place, const char *kernel, const char *helpers) {
    const char *texts = arena_printf(place->arena, "%s\n%s", helpers, kernel);
    Buffer imports = buffer_new(place->arena);
    if (!is_bound(place, "torch")) buffer_puts(&imports, "import torch\n");
    if (!is_bound(place, "triton")) buffer_puts(&imports, "import triton\n");
    if (!is_bound(place, "tl")) buffer_puts(&imports, "import triton.language as tl\n");
    if (strstr(texts, "math.") && !is_bound(place, "math")) buffer_puts(&imports, "import math\n");
    if (strstr(texts, "libdevice.") && !is_bound(place, "libdevice"))
        buffer_puts(&imports, "from triton.language.extra import libdevice\n");
    if (!imports.size) return;
    uint32_t at = end_of_imports(place);
    const char *text = buffer_text(&imports);
    size_t size = strlen(text) - 1;
    add(place, at, at,
        at ? arena_printf(place->arena, "\n%.*s", (int)size, text)
           : arena_printf(place->arena, "%s\n", text));
}

static void add_launchers(InPlace *place, const LaunchPlan *plan) {
    for (LIST_EACH(int, i, place->module->functions)) {
        const FunctionDefinition *function = place->module->functions.items[i];
        bool launches = false;
        for (LIST_EACH(int, k, place->module->launches)) {
            const LaunchSite *site = &place->module->launches.items[k];
            launches |= site->launcher == function && site->kernel == plan->kernel;
        }
        const char *why;
        const char *text =
            function->is_jit || !launches
                ? NULL
                : launcher_text(place->arena, place->snapshot,
                                node_range(place->module->source, function->node), plan, 1, &why);
        Range range = snapshot_range(place->snapshot, function->range);
        if (text && range.source == place->snapshot->source)
            add(place, range.start, range.end, text);
    }
}

/// Where the statement of the module ends that holds the kernel: itself, or the `if` or `try` around it.
static uint32_t end_of_statement(const InPlace *place, const FunctionDefinition *kernel) {
    SyntaxNode node = kernel->node;
    for (SyntaxNode outer = node_parent(node); !node_is_null(node_parent(outer));
         outer = node_parent(node))
        node = outer;
    Range range = node_range(place->module->source, node);
    while (range.end > range.start && range.source->text.data[range.end - 1] == '\n') range.end--;
    return snapshot_range(place->snapshot, range).end;
}

/// At the end of the file.
static void add_helpers(InPlace *place, const char *text) {
    Str helpers = str_trim(str_from(text)), source = place->snapshot->source->text;
    uint32_t end = (uint32_t)source.size;
    bool ends_line = end && source.data[end - 1] == '\n';
    add(place, end, end,
        arena_printf(place->arena, "%s\n\n%.*s\n", ends_line ? "" : "\n", STR_ARGS(helpers)));
}

/// Replaces the emitted kernels of an earlier time, as they stand in the file. False: there are none yet.
static bool replace_kernels(InPlace *place, const Backward *backward) {
    bool any = false;
    const int count = backward->launch_count + (backward->whole_rows != NULL);
    for (int i = 0; i < count; i++) {
        const BackwardLaunch *launch = i < backward->launch_count
                                           ? &backward->launches[i]
                                           : &backward->whole_rows->launches[0];
        const FunctionDefinition *earlier =
            module_find_function(place->module, str_from(launch->kernel));
        if (!earlier) continue;
        Range old = snapshot_range(place->snapshot, earlier->range);
        add(place, old.start, old.end, str_dup(place->arena, str_trim(str_from(launch->text))));
        any = true;
    }
    return any;
}

int backward_in_place(Arena *arena, const Snapshot *snapshot, const Backward *backward,
                      BackwardEdit **edits) {
    InPlace place = {.arena = arena, .snapshot = snapshot, .module = snapshot->module};
    Str kernel = str_trim(str_from(backward->kernel_text));
    if (replace_kernels(&place, backward)) {
        *edits = place.edits.items;
        return place.edits.count;
    }
    // Inside a class or a function there is no place for it.
    if (kernel_is_nested(backward->kernel->definition)) return 0;
    LaunchPlan plan = launch_plan(arena, snapshot->module, backward);
    add_imports(&place, backward->kernel_text, backward->helper_text);
    uint32_t below = end_of_statement(&place, backward->kernel->definition);
    Str wrapper =
        str_trim(str_from(helpers_named(arena, autograd_class(arena, &plan), find_helper, &place)));
    Str helpers = str_trim(str_from(backward->helper_text));
    add(&place, below, below,
        arena_printf(arena, "%s%.*s\n\n\n%.*s\n\n\n%.*s", helpers.size ? "\n\n\n" : "",
                     STR_ARGS(helpers), STR_ARGS(kernel), STR_ARGS(wrapper)));
    add_launchers(&place, &plan);
    Buffer written = buffer_new(arena);
    for (LIST_EACH(int, i, place.edits)) buffer_printf(&written, "%s\n", place.edits.items[i].text);
    const char *functions = helpers_text(arena, buffer_text(&written), find_helper, &place);
    if (*functions) add_helpers(&place, functions);
    *edits = place.edits.items;
    return place.edits.count;
}
