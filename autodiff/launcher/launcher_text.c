// The user's launcher with the generated Functions in the place of its launches.
#include "autodiff/launcher/launcher_text.h"

#include <string.h>

#include "analysis/launches/launch_tensors.h"
#include "analysis/module/module_launch.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/emit/call_lines.h"
#include "autodiff/launcher/scalar_tensors.h"
#include "autodiff/plan/aliases.h"
#include "autodiff/plan/constants.h"
#include "autodiff/plan/launch_plan.h"
#include "autodiff/plan/wrappers.h"

static const char *apply_text(Arena *arena, const Module *module, const LaunchPlan *plan,
                              const BoundLaunch *bound, int indent) {
    Texts arguments = {0};
    LIST_PUSH(arena, &arguments, launch_grid_text(arena, module, bound->site));
    if (plan->has_options) {
        Buffer options = buffer_new(arena);
        buffer_putc(&options, '{');
        for (LIST_EACH(int, i, bound->options))
            buffer_printf(&options, "%s\"%.*s\": %.*s", i ? ", " : "",
                          STR_ARGS(bound->option_names.items[i]),
                          STR_ARGS(bound->options.items[i]));
        buffer_putc(&options, '}');
        LIST_PUSH(arena, &arguments, buffer_text(&options));
    }
    Buffer targets = buffer_new(arena);
    int outputs = 0, named = 0;
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        if (!plan->passed[p]) continue;
        if (p == bound->spread_first) LIST_PUSH(arena, &arguments, str_dup(arena, bound->spread));
        if (p >= bound->spread_first && p <= bound->spread_last) continue;
        Str text = bound->arguments[p];
        if (!text.size)
            text = plan->kernel->parameters[p].default_text.size
                       ? plan->kernel->parameters[p].default_text
                       : STR("None");
        const char *tensor = scalar_argument_text(arena, module, plan, bound->site, p);
        LIST_PUSH(arena, &arguments, tensor ? tensor : str_dup(arena, text));
        if (!parameter_is_output(plan_parameter(plan, p))) continue;
        bool is_name = str_is_name(text) && !str_is(text, "None");
        buffer_printf(&targets, "%s%.*s", outputs ? ", " : "", STR_ARGS(is_name ? text : STR("_")));
        outputs++;
        named += is_name;
    }
    const char *prefix = arena_printf(arena, "%s%s%s.apply", named ? buffer_text(&targets) : "",
                                      named ? " = " : "", plan->class_name);
    return call_lines(arena, prefix, arguments.items, arguments.count, indent);
}

static const LaunchPlan *plan_of(const LaunchPlan *plans, int count,
                                 const FunctionDefinition *kernel) {
    for (int i = 0; i < count; i++)
        if (plans[i].kernel == kernel && !plans[i].is_apart) return &plans[i];
    return NULL;
}

bool function_is_of_module(const FunctionDefinition *function) {
    for (SyntaxNode node = node_parent(function->node); !node_is_null(node);
         node = node_parent(node))
        if (node_kind(node) == SYNTAX_FUNCTION || node_kind(node) == SYNTAX_CLASS) return false;
    return true;
}

bool launch_is_without_gradients(const Module *module, const LaunchSite *site, uint32_t start) {
    Range range = node_range(module->source, site->launcher->node);
    bool is_bare = range.start == start || function_is_of_module(site->launcher);
    Str text = source_slice(is_bare ? range : site->launcher->range);
    return text_contains(text, "no_grad") || text_contains(text, "inference_mode");
}

/// `Class.launch(grid, arguments as they stand)`.
static const char *launch_text(Arena *arena, const Module *module, const LaunchPlan *plan,
                               const LaunchSite *site, int indent) {
    SyntaxNode *children;
    int count = node_children(arena, node_field(site->call, "arguments"), &children);
    Texts arguments = {0};
    LIST_PUSH(arena, &arguments, launch_grid_text(arena, module, site));
    for (int i = 0; i < count; i++) {
        const char *text = str_dup(arena, node_text(module->source, children[i]));
        SyntaxNode value = node_field(children[i], "value");
        bool is_keyword = node_kind(children[i]) == SYNTAX_KEYWORD_ARGUMENT, is_made = false;
        for (int p = 0; p < plan->kernel->parameter_count; p++) {
            SyntaxNode given = launch_argument_node(module, site, p);
            if (!node_same(given, is_keyword ? value : children[i])) continue;
            is_made |= plan->saved[p] != NULL;
            const char *tensor = scalar_argument_text(arena, module, plan, site, p);
            if (tensor)
                text = is_keyword
                           ? arena_printf(arena, "%s=%s", plan_parameter(plan, p)->name, tensor)
                           : tensor;
        }
        if (!is_made) LIST_PUSH(arena, &arguments, text);
    }
    return call_lines(arena, arena_printf(arena, "%s.launch", plan->class_name), arguments.items,
                      arguments.count, indent);
}

typedef struct LauncherMentions {
    const Source *source;
    Str name;
    int count;
} LauncherMentions;

static bool visit_name(void *context, SyntaxNode node) {
    LauncherMentions *mentions = context;
    mentions->count += node_kind(node) == SYNTAX_IDENTIFIER &&
                       str_equal(node_text(mentions->source, node), mentions->name);
    return true;
}

Range launch_place(const Module *module, const LaunchSite *site) {
    Range call = node_range(module->source, site->call), none = {.source = NULL};
    SyntaxNode parent = node_parent(site->call);
    if (node_kind(parent) == SYNTAX_EXPRESSION_STATEMENT) return call;
    SyntaxNode left = node_field(parent, "left");
    if (node_kind(parent) != SYNTAX_ASSIGNMENT || node_kind(left) != SYNTAX_IDENTIFIER ||
        node_kind(node_parent(parent)) != SYNTAX_EXPRESSION_STATEMENT)
        return none;
    LauncherMentions mentions = {module->source, node_text(module->source, left), 0};
    syntax_walk(site->launcher->body, visit_name, &mentions);
    call.start = node_range(module->source, parent).start;
    return mentions.count == 1 ? call : none;
}

const LaunchSite *launch_after(const Module *module, Range range, uint32_t at) {
    const LaunchSite *next = NULL;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (!site->launcher || site->range.start < at || site->range.end > range.end) continue;
        if (!next || site->range.start < next->range.start) next = site;
    }
    return next;
}

/// Every line of the text, which begins a line, indented.
static void add_indented(Buffer *out, const char *text, int columns) {
    for (const char *line = text; *line;) {
        size_t size = strcspn(line, "\n");
        if (size) buffer_printf(out, "%*s%.*s", columns, "", (int)size, line);
        line += size;
        if (*line) buffer_putc(out, *line++);
    }
}

/// The text of the launcher between two places, with what belongs behind the kernels that are defined there.
static const char *text_between(Arena *arena, const Module *module, Range range,
                                const LaunchPlan *plans, int plan_count, uint32_t from,
                                uint32_t to) {
    const LaunchPlan *next = NULL;
    for (int p = 0; p < plan_count; p++) {
        uint32_t end = plans[p].kernel->range.end;
        bool is_here = plans[p].inner_text && end > from && end <= to;
        if (is_here && (!next || end < next->kernel->range.end)) next = &plans[p];
    }
    if (!next) return scalar_bindings_text(arena, module, range, plans, plan_count, from, to);
    uint32_t end = next->kernel->range.end;
    int line, column;
    source_position(module->source, next->kernel->range.start, &line, &column);
    Buffer out = buffer_new(arena);
    buffer_puts(&out, scalar_bindings_text(arena, module, range, plans, plan_count, from, end));
    buffer_puts(&out, "\n\n");
    add_indented(&out, next->inner_text, column);
    Str rest = {module->source->text.data + end, module->source->text.size - end};
    bool is_followed = !str_starts(rest, "\n\n") && !str_starts(rest, "\r\n\r\n");
    buffer_puts(&out, is_followed ? "\n" : "");
    buffer_puts(&out, text_between(arena, module, range, plans, plan_count, end, to));
    return buffer_text(&out);
}

/// The same of one name that the launcher has for the kernel.
static const char *name_refusal(Arena *arena, const LaunchSite *site, Str name) {
    Str alias = kernel_alias(site->kernel);
    if (!alias.size || str_equal(name, alias) || !kernel_has_name(site->kernel, name)) return NULL;
    return arena_printf(arena, "it launches `%.*s` without what `%.*s` has around it",
                        STR_ARGS(name), STR_ARGS(alias));
}

const char *launch_wrapper_refusal(Arena *arena, const Module *module, const LaunchSite *site) {
    SyntaxNode callee = node_field(site->subscript, "value");
    const char *why = name_refusal(arena, site, node_text(module->source, callee));
    for (int i = 0; i < site->chosen.count && !why; i++)
        why = name_refusal(arena, site, node_text(module->source, site->chosen.items[i]));
    return why;
}

bool launch_is_choice(const Module *module, const LaunchSite *site) {
    Str name = node_text(module->source, node_field(site->subscript, "value"));
    return site->chosen.count &&
           (launch_beside(module, site) || parameter_find(site->launcher, name) >= 0);
}

const char *launch_bare_refusal(Arena *arena, const LaunchSite *site) {
    if (!site->is_bare) return NULL;
    Str name = site->kernel->name;
    return arena_printf(arena,
                        "it launches `%.*s.fn`, without the tuner that the backward of `%.*s` "
                        "launches: give that kernel a name of its own",
                        STR_ARGS(name), STR_ARGS(name));
}

/// Where the statement of a launch stands in its line, without what a saving text has in front of it.
static int launch_column(const Snapshot *snapshot, uint32_t start) {
    int line, column;
    source_position(snapshot->module->source, start, &line, &column);
    Str before = {snapshot->module->source->text.data + start - column, (size_t)column};
    for (LIST_EACH(int, i, snapshot->saved_pieces)) {
        const SavedPiece *piece = &snapshot->saved_pieces.items[i];
        if (!*piece->to && str_ends(before, piece->from)) return column - (int)strlen(piece->from);
    }
    return column;
}

/// The lines that take the place of one launch; NULL: `*why` it has no gradients.
static const char *site_text(Arena *arena, const Snapshot *snapshot, const LaunchSite *site,
                             const LaunchPlan *plans, int plan_count, int column,
                             const char **why) {
    const Module *module = snapshot->module;
    const LaunchPlan *plan = plan_of(plans, plan_count, site->kernel);
    if (!plan) {
        *why = arena_printf(arena, "it also launches `%.*s`, which has no generated backward",
                            STR_ARGS(site->kernel->name));
        return NULL;
    }
    if ((*why = launch_bare_refusal(arena, site)) != NULL) return NULL;
    if ((*why = scalar_refusal(arena, module, plan, site)) != NULL) return NULL;
    if ((*why = alias_refusal(arena, module, plan, site)) != NULL) return NULL;
    if ((*why = launch_wrapper_refusal(arena, module, site)) != NULL) return NULL;
    BoundLaunch bound;
    bool is_bound = launch_bind(arena, module, site, &bound);
    bool is_late = launch_binds_late(arena, module, site);
    if (!is_bound && !is_late) {
        *why = "its launch has arguments that the kernel does not take";
        return NULL;
    }
    const char *lacks = is_late ? NULL : launch_lacks(plan, &bound);
    if (lacks) {
        *why = arena_printf(arena, "its launch passes no `%s`", lacks);
        return NULL;
    }
    return !is_late && launch_is_plain(module, plan, &bound)
               ? apply_text(arena, module, plan, &bound, column)
               : launch_text(arena, module, plan, site, column);
}

/// One launch of several kernels, which one is known where it runs: a branch for each.
static const char *choice_text(Arena *arena, const Snapshot *snapshot, const LaunchSite *first,
                               const LaunchPlan *plans, int plan_count, int column,
                               const char **why) {
    enum { STEP = 4 };
    const Module *module = snapshot->module;
    Str name = node_text(module->source, node_field(first->subscript, "value"));
    bool is_passed = parameter_find(first->launcher, name) >= 0;
    Buffer out = buffer_new(arena);
    for (const LaunchSite *site = first, *next; site; site = next) {
        next = launch_beside(module, site);
        const char *text = site_text(arena, snapshot, site, plans, plan_count, column + STEP, why);
        if (!text) return NULL;
        Str kernel = node_text(module->source, site->chosen.items[0]);
        if (site != first) buffer_printf(&out, "\n%*s", column, "");
        if (site != first && !next && !is_passed)
            buffer_puts(&out, "else:");
        else
            buffer_printf(&out, "%s %.*s is %.*s:", site == first ? "if" : "elif", STR_ARGS(name),
                          STR_ARGS(kernel));
        buffer_printf(&out, "\n%*s%s", column + STEP, "", text);
    }
    if (is_passed)
        buffer_printf(
            &out, "\n%*selse:\n%*sraise NotImplementedError(f\"no backward of {%.*s} is known\")",
            column, "", column + STEP, "", STR_ARGS(name));
    return buffer_text(&out);
}

/// What of an argument can be named once more without calling anything: `index` of `index.view(-1)`.
static Str named_part(Str text) {
    const char *call = memchr(text.data, '(', text.size);
    if (!call) return text;
    Str before = {text.data, (size_t)(call - text.data)};
    while (before.size && before.data[before.size - 1] != '.') before.size--;
    if (before.size) before.size--;
    return before;
}

/// Behind a launch that stays as it is: tells autograd which tensors that others may have saved it has written over.
static const char *written_text(Arena *arena, const Snapshot *snapshot, const LaunchSite *site) {
    const Module *module = snapshot->module;
    BoundLaunch bound;
    Texts names = {0};
    bool *written = ARENA_ARRAY(arena, bool, site->kernel->parameter_count + 1);
    if (node_kind(node_parent(site->call)) != SYNTAX_EXPRESSION_STATEMENT ||
        !launch_bind(arena, module, site, &bound))
        return "";
    launch_writes_over(arena, snapshot, site, written);
    for (int p = 0; p < site->kernel->parameter_count; p++) {
        Str name = written[p] ? named_part(bound.arguments[p]) : (Str){0};
        if (name.size) LIST_PUSH(arena, &names, str_dup(arena, name));
    }
    if (!names.count) return "";
    int line, column;
    uint32_t start = node_range(module->source, site->call).start;
    source_position(module->source, start, &line, &column);
    Str before = {module->source->text.data + start - column, (size_t)column};
    const char *call = call_lines(arena, "_count_writes", names.items, names.count, column);
    return str_trim(before).size ? arena_printf(arena, "; %s", call)
                                 : arena_printf(arena, "\n%*s%s", column, "", call);
}

const char *launcher_text(Arena *arena, const Snapshot *snapshot, Range range,
                          const LaunchPlan *plans, int plan_count, const char **why) {
    const Module *module = snapshot->module;
    Buffer out = buffer_new(arena);
    uint32_t at = range.start;
    for (const LaunchSite *site; (site = launch_after(module, range, at)) != NULL;) {
        if (launch_is_without_gradients(module, site, range.start)) {
            *why = "it launches under torch.no_grad";
            return NULL;
        }
        bool is_choice = launch_is_choice(module, site);
        if (!is_choice && !plan_of(plans, plan_count, site->kernel) &&
            launch_stores_constants(arena, snapshot, site)) {
            uint32_t end = node_range(module->source, site->call).end;
            buffer_puts(&out, text_between(arena, module, range, plans, plan_count, at, end));
            buffer_puts(&out, written_text(arena, snapshot, site));
            at = end;
            continue;
        }
        Range call = launch_place(module, site);
        int column = call.source ? launch_column(snapshot, call.start) : 0;
        const char *text = is_choice
                               ? choice_text(arena, snapshot, site, plans, plan_count, column, why)
                               : site_text(arena, snapshot, site, plans, plan_count, column, why);
        if (text && !call.source)
            *why = "its launch is part of an expression, or what it gives is used: let it stand "
                   "alone";
        if (!text || !call.source) return NULL;
        buffer_puts(&out, text_between(arena, module, range, plans, plan_count, at, call.start));
        buffer_puts(&out, text);
        at = call.end;
    }
    buffer_puts(&out, text_between(arena, module, range, plans, plan_count, at, range.end));
    return buffer_text(&out);
}

const char *counted_text(Arena *arena, const Snapshot *snapshot, Range range) {
    Buffer out = buffer_new(arena);
    const char *text = snapshot->module->source->text.data;
    uint32_t at = range.start;
    bool is_counted = false;
    for (const LaunchSite *site; (site = launch_after(snapshot->module, range, at)) != NULL;) {
        uint32_t end = node_range(snapshot->module->source, site->call).end;
        const char *counts = launch_stores_constants(arena, snapshot, site)
                                 ? written_text(arena, snapshot, site)
                                 : "";
        buffer_add(&out, text + at, end - at);
        buffer_puts(&out, counts);
        is_counted = is_counted || *counts;
        at = end;
    }
    buffer_add(&out, text + at, range.end - at);
    return is_counted ? buffer_text(&out) : NULL;
}
