// Launches: arguments bound to parameters, and what all launches of one kernel have in common.
#include "autodiff/plan/launch_plan.h"

#include <ctype.h>
#include <string.h>

#include "analysis/host/launch.h"
#include "analysis/module/module_launch.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/plan/aliases.h"
#include "autodiff/plan/fresh_tensors.h"
#include "autodiff/plan/parts.h"
#include "autodiff/plan/wrappers.h"
#include "autodiff/state/saved_parameters.h"

int parameter_find(const FunctionDefinition *kernel, Str name) {
    for (int i = 0; i < kernel->parameter_count; i++)
        if (str_equal(kernel->parameters[i].name, name)) return i;
    return -1;
}

bool parameter_is_pointer(const Parameter *parameter) {
    return parameter->value->type.kind == TYPE_POINTER || parameter_is_descriptor(parameter);
}

bool parameter_is_output(const Parameter *parameter) {
    return parameter_is_pointer(parameter) && parameter->is_stored;
}

bool kernel_tunes(const FunctionDefinition *kernel, Str name) {
    for (LIST_EACH(int, i, kernel->tuned_names))
        if (str_equal(kernel->tuned_names.items[i], name)) return true;
    return false;
}

/// Spread positional arguments fill what lies between the plain ones and the first keyword's parameter.
static bool bind_spread(const Module *module, BoundLaunch *bound, SyntaxNode first,
                        SyntaxNode last) {
    const FunctionDefinition *kernel = bound->site->kernel;
    uint32_t start = node_range(module->source, first).start,
             end = node_range(module->source, last).end;
    bound->spread = (Str){module->source->text.data + start, end - start};
    bound->spread_last = bound->spread_first - 1;
    for (int p = bound->spread_first; p < kernel->parameter_count; p++) {
        if (bound->arguments[p].size || kernel->parameters[p].is_constexpr) break;
        bound->arguments[p] = STR("*");
        bound->spread_last = p;
    }
    for (int p = 0; p < kernel->parameter_count; p++) {
        const ParameterDefinition *parameter = &kernel->parameters[p];
        bool is_given = bound->arguments[p].size || parameter->default_text.size;
        if (!is_given && !kernel_tunes(kernel, parameter->name)) return false;
    }
    return bound->spread_last >= bound->spread_first;
}

bool launch_bind(Arena *arena, const Module *module, const LaunchSite *site, BoundLaunch *bound) {
    *bound = (BoundLaunch){.site = site, .spread_first = -1, .spread_last = -2};
    bound->arguments = ARENA_ARRAY(arena, Str, site->kernel->parameter_count + 1);
    SyntaxNode list = node_field(site->call, "arguments");
    SyntaxNode *children;
    int count = node_children(arena, list, &children);
    int next = 0, first_spread = -1, last_positional = -1;
    for (int i = 0; i < count; i++) {
        SyntaxKind kind = node_kind(children[i]);
        if (kind == SYNTAX_DICTIONARY_SPLAT) return false;
        if (kind != SYNTAX_KEYWORD_ARGUMENT) {
            last_positional = i;
            // `*x.stride()` is read as an attribute of a spread by the grammar: the text tells
            bool spreads = str_starts(node_text(module->source, children[i]), "*");
            if (spreads && first_spread < 0) {
                first_spread = i;
                bound->spread_first = next;
            }
            if (first_spread >= 0) continue;
            if (next >= site->kernel->parameter_count) return false;
            bound->arguments[next++] = node_text(module->source, children[i]);
            continue;
        }
        Str name = node_text(module->source, node_field(children[i], "name"));
        Str value = node_text(module->source, node_field(children[i], "value"));
        int index = parameter_find(site->kernel, name);
        if (index >= 0) {
            bound->arguments[index] = value;
        } else {
            LIST_PUSH(arena, &bound->option_names, name);
            LIST_PUSH(arena, &bound->options, value);
        }
    }
    return first_spread < 0 ||
           bind_spread(module, bound, children[first_spread], children[last_positional]);
}

const char *launch_lacks(const LaunchPlan *plan, const BoundLaunch *bound) {
    const FunctionDefinition *kernel = plan->kernel;
    for (int p = 0; p < kernel->parameter_count; p++) {
        const ParameterDefinition *parameter = &kernel->parameters[p];
        // which constexprs a tuner sets may be known to Python alone
        bool is_open = parameter->is_constexpr || parameter->default_text.size ||
                       kernel_tunes(kernel, parameter->name) || plan->saved[p];
        if (!bound->arguments[p].size && !is_open) return plan_parameter(plan, p)->name;
    }
    return NULL;
}

static const char *class_name_of(Arena *arena, Str kernel) {
    Buffer name = buffer_new(arena);
    bool upper = true;
    for (size_t i = 0; i < kernel.size; i++) {
        char c = kernel.data[i];
        if (c == '_') {
            upper = true;
            continue;
        }
        buffer_putc(&name, upper ? (char)toupper((unsigned char)c) : c);
        upper = false;
    }
    buffer_puts(&name, "Function");
    return buffer_text(&name);
}

const Parameter *plan_parameter(const LaunchPlan *plan, int index) {
    return &plan->backward->kernel->function->parameters[index];
}

const BackwardArgument *launch_argument(const Backward *backward, ArgumentUse use, const char *of) {
    const BackwardLaunch *launch = &backward->whole;
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == use && strcmp(launch->arguments[i].of, of) == 0)
            return &launch->arguments[i];
    return NULL;
}

bool parameter_is_descriptor(const Parameter *parameter) {
    return parameter->value->type.kind == TYPE_DESCRIPTOR || parameter->may_be_descriptor;
}

bool plan_has_descriptors(const LaunchPlan *plan) {
    for (int p = 0; p < plan->kernel->parameter_count; p++)
        if (plan->passed[p] && parameter_is_descriptor(plan_parameter(plan, p))) return true;
    return false;
}

bool launch_is_plain(const Module *module, const LaunchPlan *plan, const BoundLaunch *bound) {
    if (!bound->site->launcher) return true;
    if (plan_has_descriptors(plan) || plan_has_parts(plan)) return false;
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        if (plan->stored_if[p]) return false;
        if (!parameter_is_output(plan_parameter(plan, p))) continue;
        Str text = bound->arguments[p];
        if (p >= bound->spread_first && p <= bound->spread_last) return false;
        if (!text.size || str_is(text, "None")) continue;
        if (!str_is_name(text) || !launch_allocates(module, bound->site, text)) return false;
    }
    return true;
}

/// `*x.stride()`, `*x.shape`: so many numbers as `x` has axes.
static bool is_spread_of_axes(Str text) {
    return str_ends(text, ".stride()") || str_ends(text, ".shape") || str_ends(text, ".size()");
}

bool launch_binds_late(Arena *arena, const Module *module, const LaunchSite *site) {
    SyntaxNode *children;
    int count = node_children(arena, node_field(site->call, "arguments"), &children);
    bool spreads = false;
    for (int i = 0; i < count; i++) {
        if (node_kind(children[i]) == SYNTAX_DICTIONARY_SPLAT) return true;
        Str text = node_text(module->source, children[i]);
        if (!str_starts(text, "*")) continue;
        spreads = true;
        if (!is_spread_of_axes(text)) return true;
    }
    BoundLaunch bound;
    return spreads && !launch_bind(arena, module, site, &bound);
}

const char *plan_name(Arena *arena, const LaunchPlan *plan, const char *name) {
    const BackwardLaunch *launch = &plan->backward->whole;
    bool is_taken = parameter_find(plan->kernel, str_from(name)) >= 0;
    for (int i = 0; i < launch->argument_count; i++)
        is_taken = is_taken || strcmp(launch->arguments[i].name, name) == 0;
    return is_taken ? plan_name(arena, plan, arena_printf(arena, "%s_", name)) : name;
}

/// A name for the class that the file has nowhere, not even for a local variable, nor the class of a kernel before this one (`_act` and `act`).
static const char *free_class_name(Arena *arena, const Module *module,
                                   const FunctionDefinition *kernel) {
    const char *name = class_name_of(arena, kernel->name);
    int before = 0;
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *other = module->functions.items[i];
        if (other == kernel) break;
        before += other->is_jit && strcmp(class_name_of(arena, other->name), name) == 0;
    }
    const char *numbered = name;
    for (int number = 2;; number++) {
        bool is_free = !str_has_word(module->source->text, str_from(numbered));
        if (is_free && before-- == 0) return numbered;
        numbered = arena_printf(arena, "%s%d", name, number);
    }
}

typedef struct TupleSearch {
    const Source *source;
    Arena *arena;
    Str name;
    int tuples, others;  // that the name is bound to
} TupleSearch;

static bool visit_grid(void *context, SyntaxNode node) {
    TupleSearch *search = context;
    SyntaxNode left = node_field(node, "left");
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_ASSIGNMENT && node_kind(left) == SYNTAX_IDENTIFIER) {
        if (!str_equal(node_text(search->source, left), search->name)) return true;
        SyntaxKind value = node_kind(node_field(node, "right"));
        bool is_tuple = value == SYNTAX_TUPLE || value == SYNTAX_EXPRESSION_LIST;
        search->tuples += is_tuple;
        search->others += !is_tuple;
        return true;
    }
    bool is_binding = kind == SYNTAX_ASSIGNMENT || kind == SYNTAX_AUGMENTED_ASSIGNMENT ||
                      kind == SYNTAX_FOR || kind == SYNTAX_FUNCTION || kind == SYNTAX_WITH_ITEM ||
                      kind == SYNTAX_NAMED_EXPRESSION || kind == SYNTAX_GLOBAL;
    if (!is_binding) return true;
    SyntaxNode bound = kind == SYNTAX_FUNCTION || kind == SYNTAX_NAMED_EXPRESSION
                           ? node_field(node, "name")
                           : left;
    Str text = node_text(search->source, node_is_null(bound) ? node : bound);
    search->others += text_contains(text, str_dup(search->arena, search->name));
    return true;
}

/// Whether a launch's grid is a function, or a list, which may come to something else after the launch.
static bool grid_may_change(Arena *arena, const Module *module, const LaunchSite *site) {
    SyntaxKind kind = node_kind(site->grid);
    Str written = node_text(module->source, site->grid);
    bool has_axes = !str_is(written, launch_grid_text(arena, module, site));
    if (has_axes || kind == SYNTAX_TUPLE) return false;
    if (kind != SYNTAX_IDENTIFIER || !site->launcher) return true;
    TupleSearch search = {module->source, arena, written, 0, 0};
    syntax_walk(site->launcher->body, visit_grid, &search);
    return search.tuples == 0 || search.others > 0;
}

/// How many arguments all launches pass without a name, where that matters to the kernel's tuner; else 0.
static int tuner_places(Arena *arena, const Module *module, const FunctionDefinition *kernel) {
    Range above = {kernel->range.source, kernel->range.start, kernel->header_range.start};
    if (!text_contains(source_slice(above), "prune_configs_by")) return 0;
    int least = kernel->parameter_count;
    bool any = false;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != kernel) continue;
        any = true;
        SyntaxNode *children;
        int count = node_children(arena, node_field(site->call, "arguments"), &children), own = 0;
        while (own < count && node_kind(children[own]) != SYNTAX_KEYWORD_ARGUMENT &&
               !str_starts(node_text(module->source, children[own]), "*"))
            own++;
        least = own < least ? own : least;
    }
    return any ? least : 0;
}

/// How many arguments of the forward stand in their places: also what Triton takes for its own by name, and what is in front of it.
static int positional_count(Arena *arena, const Module *module, const FunctionDefinition *kernel) {
    int count = tuner_places(arena, module, kernel);
    for (int i = count; i < kernel->parameter_count; i++)
        if (name_is_of_launch(kernel->parameters[i].name)) count = i + 1;
    return count;
}

bool plan_has(const LaunchPlan *plan, int parameter) {
    return plan->passed[parameter] || plan->saved[parameter];
}

bool plan_has_names(const LaunchPlan *plan, const char *text) {
    for (const char *at = text; *at;) {
        size_t size = 0;
        while (byte_is_word(at[size])) size++;
        int parameter = size ? parameter_find(plan->kernel, (Str){at, size}) : -1;
        if (parameter >= 0 && !plan_has(plan, parameter)) return false;
        at += size ? size : 1;
    }
    return true;
}

bool plan_has_all_names(const LaunchPlan *plan, const char *const *texts, int count) {
    for (int i = 0; i < count; i++)
        if (!plan_has_names(plan, texts[i])) return false;
    return true;
}

/// What the Function makes is no launch's.
static void plan_saved(Arena *arena, LaunchPlan *plan) {
    const FunctionDefinition *kernel = plan->kernel;
    const Kernel *forward = plan->backward->kernel;
    plan->saved = ARENA_ARRAY(arena, const SavedValue *, kernel->parameter_count + 1);
    plan->saved_axis = ARENA_ARRAY(arena, int, kernel->parameter_count + 1);
    plan->axes = 1;
    for (int p = 0; forward->snapshot && p < kernel->parameter_count; p++) {
        plan->saved[p] = saved_parameter(&forward->snapshot->saved, forward->function->name,
                                         kernel->parameters[p].name, &plan->saved_axis[p]);
        if (plan->saved[p] && plan->saved_axis[p] >= plan->axes)
            plan->axes = plan->saved_axis[p] + 1;
    }
}

LaunchPlan launch_plan(Arena *arena, const Module *module, const Backward *backward) {
    const FunctionDefinition *kernel = backward->kernel->definition;
    LaunchPlan plan = {.kernel = kernel,
                       .backward = backward,
                       .class_name = free_class_name(arena, module, kernel)};
    plan.ctx = plan_name(arena, &plan, "ctx");
    plan.grid = plan_name(arena, &plan, "grid");
    plan.options = plan_name(arena, &plan, "options");
    plan.positional = positional_count(arena, module, kernel);
    Str alias = kernel_alias(kernel), callee = alias.size ? alias : kernel->name;
    bool is_hidden = parameter_find(kernel, callee) >= 0;
    plan.callee = arena_printf(arena, "%s%.*s", is_hidden ? "_" : "", STR_ARGS(callee));
    plan.passed = ARENA_ARRAY(arena, bool, kernel->parameter_count + 1);
    plan_saved(arena, &plan);
    bool launched = false;
    for (LIST_EACH(int, i, module->launches)) {
        BoundLaunch bound;
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != kernel) continue;
        plan.fixes_grid = plan.fixes_grid || grid_may_change(arena, module, site);
        if (launch_binds_late(arena, module, site)) {
            launched = plan.has_launch = plan.has_options = true;
            for (int p = 0; p < kernel->parameter_count; p++)
                if (!kernel_tunes(kernel, kernel->parameters[p].name)) plan.passed[p] = true;
            continue;
        }
        if (!launch_bind(arena, module, site, &bound) || launch_lacks(&plan, &bound)) continue;
        launched = true;
        if (bound.options.count) plan.has_options = true;
        for (int p = 0; p < kernel->parameter_count; p++)
            if (bound.arguments[p].size) plan.passed[p] = true;
    }
    for (int p = 0; !launched && p < kernel->parameter_count; p++)
        plan.passed[p] = !kernel_tunes(kernel, kernel->parameters[p].name);
    if (!launched) plan.fixes_grid = true;
    for (int p = 0; p < kernel->parameter_count; p++)
        if (plan.saved[p]) plan.passed[p] = false;
    if (plan_has_descriptors(&plan)) plan.has_launch = true;
    aliases_plan(arena, module, &plan);
    parts_plan(arena, &plan);
    if (plan_has_parts(&plan)) plan.has_launch = true;
    for (LIST_EACH(int, i, module->launches)) {
        BoundLaunch bound;
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel == kernel && launch_bind(arena, module, site, &bound) &&
            !launch_is_plain(module, &plan, &bound))
            plan.has_launch = true;
    }
    return plan;
}
