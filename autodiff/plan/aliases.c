// Tensors of a launch that may share memory: which pairs the launchers leave open.
#include "autodiff/plan/aliases.h"

#include <string.h>

#include "analysis/host/launch.h"
#include "analysis/launches/launch_joined.h"
#include "analysis/launches/launch_tensors.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/plan/fresh_tensors.h"
#include "autodiff/tape/alias.h"

static bool is_tensor(const LaunchPlan *plan, int p) {
    const Parameter *parameter = plan_parameter(plan, p);
    bool is_pointer =
        parameter->value->type.kind == TYPE_POINTER || parameter_is_descriptor(parameter);
    return plan->passed[p] && is_pointer;
}

bool plan_is_joined(const LaunchPlan *plan, int p) {
    return plan->backward->joined && plan->backward->joined[p] >= 0;
}

bool plan_is_written(const LaunchPlan *plan, int p) {
    return is_tensor(plan, p) && plan_parameter(plan, p)->is_stored;
}

/// Whether it is an input as well as an output, whose gradient turns from the one into the other's.
static bool is_both(const LaunchPlan *plan, int p) {
    const BackwardLaunch *launch = &plan->backward->whole;
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == ARGUMENT_RUNNING &&
            strcmp(launch->arguments[i].of, plan_parameter(plan, p)->name) == 0)
            return true;
    return false;
}

const char *plan_only_read(Arena *arena, const LaunchPlan *plan, int p) {
    if (!plan->stored_if[p] || !is_both(plan, p)) return NULL;
    return plan_name(arena, plan, arena_printf(arena, "%s_read", plan_parameter(plan, p)->name));
}

typedef struct AliasMention {
    const Source *source;
    Str name;
    bool is_found;
} AliasMention;

static bool visit_mention(void *context, SyntaxNode node) {
    AliasMention *mention = context;
    mention->is_found |= node_kind(node) == SYNTAX_IDENTIFIER &&
                         str_equal(node_text(mention->source, node), mention->name);
    return !mention->is_found;
}

/// Whether an argument is memory that the launcher allocated and that no other argument names.
static bool is_of_its_own(const Module *module, const LaunchSite *site, int p, SyntaxNode other) {
    Str root = launch_argument_root(module, site, p);
    if (!root.size || !launch_owns(module, site, root)) return false;
    AliasMention mention = {.source = module->source, .name = root};
    syntax_walk(other, visit_mention, &mention);
    return !mention.is_found;
}

static bool is_nothing(SyntaxNode node) {
    return node_is_null(node) || node_kind(node) == SYNTAX_NONE;
}

/// Whether a launch shows that what it passes for two parameters shares no memory.
static bool shows_disjoint(const Module *module, const LaunchSite *site, int a, int b) {
    if (!site->launcher || site->launcher->module != module) return false;
    SyntaxNode first = launch_argument_node(module, site, a),
               second = launch_argument_node(module, site, b);
    if (is_nothing(first) || is_nothing(second)) return true;
    return is_of_its_own(module, site, a, second) || is_of_its_own(module, site, b, first);
}

/// The same of all launches of the kernel.
static bool are_disjoint(Arena *arena, const Module *module, const LaunchPlan *plan, int a, int b) {
    bool any = false;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != plan->kernel) continue;
        BoundLaunch bound;
        if (!launch_bind(arena, module, site, &bound) || bound.spread_first >= 0) return false;
        if (!shows_disjoint(module, site, a, b)) return false;
        any = true;
    }
    return any;
}

void aliases_plan(Arena *arena, const Module *module, LaunchPlan *plan) {
    int count = plan->kernel->parameter_count;
    plan->is_checked = ARENA_ARRAY(arena, bool, count + 1);
    plan->stored_if = ARENA_ARRAY(arena, const char *, count + 1);
    for (int a = 0; a < count; a++) {
        if (!plan_is_written(plan, a)) continue;
        for (int b = 0; b < count; b++) {
            bool is_pair = b != a && is_tensor(plan, b) && !plan_is_joined(plan, b) &&
                           (b > a || !plan_is_written(plan, b));
            bool is_used = plan_parameter(plan, b)->is_stored || plan_parameter(plan, b)->is_loaded;
            if (!is_pair || !is_used || are_disjoint(arena, module, plan, a, b)) continue;
            plan->is_checked[a] = plan->is_checked[b] = true;
        }
    }
    const Function *forward = plan->backward->kernel->function;
    for (int p = 0; p < count; p++)
        if ((plan->is_checked[p] || is_both(plan, p)) && plan_is_written(plan, p) &&
            !parameter_is_descriptor(plan_parameter(plan, p)))
            plan->stored_if[p] = alias_stored_if(arena, forward, p, plan->passed);
}

/// Whether the launch certainly has the kernel write to elements of `a` that `b` has, too, in a way that the derivation does not know.
static bool is_conflict(Arena *arena, const LaunchPlan *plan, const LaunchSite *site, int a,
                        int b) {
    const Function *forward = plan->backward->kernel->function;
    bool is_pair = a != b && is_tensor(plan, b) && !plan_is_joined(plan, b) && plan->is_checked[b];
    if (!is_pair || plan->stored_if[b]) return false;
    if (!launch_shares_elements(site, forward, a, b)) return false;
    const char *condition;
    return plan_is_written(plan, b) || !launch_passes_one(site, forward, a, b) ||
           !alias_reads_first(arena, forward, a, b, &condition);
}

const char *alias_refusal(Arena *arena, const Module *module, const LaunchPlan *plan,
                          const LaunchSite *site) {
    for (int a = 0; a < plan->kernel->parameter_count; a++) {
        if (!plan_is_written(plan, a) || !plan->is_checked[a] || plan->stored_if[a]) continue;
        for (int b = 0; b < plan->kernel->parameter_count; b++) {
            if (!is_conflict(arena, plan, site, a, b)) continue;
            Str first = node_text(module->source, launch_argument_node(module, site, a)),
                second = node_text(module->source, launch_argument_node(module, site, b));
            return arena_printf(
                arena,
                "it passes `%.*s` and `%.*s`, which share elements, as `%s` and `%s` of `%.*s`, "
                "which writes to `%s`",
                STR_ARGS(first), STR_ARGS(second), plan_parameter(plan, a)->name,
                plan_parameter(plan, b)->name, STR_ARGS(plan->kernel->name),
                plan_parameter(plan, a)->name);
        }
    }
    return NULL;
}
