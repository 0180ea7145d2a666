// A launch site in, what every kernel parameter gets out: runs the host code until nothing new is learnt, then binds. Each
// choice of sizes and flags is evaluated once in the life of a module.
#include "analysis/host/launch.h"

#include <inttypes.h>

#include "analysis/host/host_statement.h"
#include "analysis/host/parameter_uses.h"
#include "analysis/host_values/host.h"
#include "analysis/host_values/host_input.h"
#include "analysis/host_values/host_solve.h"
#include "analysis/syntax/syntax_nodes.h"
#include "base/budget.h"
#include "base/error.h"
#include "base/memo.h"

enum {
    MOST_FLAGS = 8,  // that are turned over, one at a time
    MAX_RUNS = 24,
    /// Steps (base/budget.h) of one evaluation; the largest in use takes 50,000. Beyond: the launch is not understood, and says so.
    LAUNCH_MOST_STEPS = 1 << 20,
};

/// One evaluation that is wanted.
typedef struct Asked {
    const Module *module;
    const LaunchSite *site;
    HostPolicy policy;  // without the function: `uses` and `own_lengths` are all of it that counts
    KernelUses uses;
    uint64_t own_lengths;
} Asked;

/// Sizes that the host code never looks at: as those of the first tensor of the same rank.
static bool copy_unread_sizes(Host *host) {
    bool changed = false;
    for (int i = 0; i < host->inputs.count; i++) {
        HostInput *input = host->inputs.items[i];
        for (int axis = 0; input->kind == INPUT_TENSOR && axis < input->rank; axis++) {
            if (input->is_dim_read[axis]) continue;
            const HostInput *model = NULL;
            for (int k = 0; k < host->inputs.count; k++) {
                const HostInput *other = host->inputs.items[k];
                if (other->kind != INPUT_TENSOR || other->rank != input->rank ||
                    (other == input && model))
                    continue;
                if (!model || (other->is_dim_read[axis] && !model->is_dim_read[axis]))
                    model = other;
            }
            int64_t old = input->dims[axis];
            bool held = host_constraints_hold(host);
            if (!model || model->dims[axis] == old) continue;
            input->dims[axis] = model->dims[axis];
            if (held && !host_constraints_hold(host))
                input->dims[axis] = old;
            else
                changed = true;
        }
    }
    return changed;
}

/// The rank of a tensor that is only asked for `k.stride(2)` and `k.stride(-1)`: as that of one which is asked for the same
/// strides and whose rank the host code says, since these are the strides of two axes.
static bool copy_ranks(Host *host) {
    bool changed = false;
    for (int i = 0; i < host->inputs.count; i++) {
        HostInput *input = host->inputs.items[i];
        unsigned last = input->rank > 0 ? 1U << (input->rank - 1) : 0;
        if (input->kind != INPUT_TENSOR || input->is_rank_certain) continue;
        if (!(input->strides_from_end & 1) || !(input->strides_from_front & last)) continue;
        for (int k = 0; k < host->inputs.count; k++) {
            const HostInput *model = host->inputs.items[k];
            if (model->kind != INPUT_TENSOR || !model->is_rank_certain ||
                model->rank <= input->rank ||
                model->strides_from_front != input->strides_from_front ||
                model->strides_from_end != input->strides_from_end)
                continue;
            host_set_rank(host, input, model->rank);
            input->is_rank_certain = false;
            changed = true;
            break;
        }
    }
    return changed;
}

/// `x.shape[1]` and `x.shape[-1]` are two axes where nobody says the rank: a launcher has one name for one.
static bool part_ends(Host *host) {
    bool changed = false;
    for (int i = 0; i < host->inputs.count; i++) {
        HostInput *input = host->inputs.items[i];
        bool is_open = input->kind == INPUT_TENSOR && !input->is_rank_certain && input->rank > 1;
        if (!is_open || !(input->sizes_from_end & 1) ||
            !(input->sizes_from_front >> (input->rank - 1) & 1))
            continue;
        host_set_rank(host, input, input->rank + 1);
        input->is_rank_certain = false;
        input->has_more_axes = changed = true;
    }
    return changed;
}

static void run_once(Host *host) {
    host->attributes = map_new(host->arena);
    host->constraints.count = 0;
    host->buffer_count = 0;
    host->older_buffers = 0;
    host->step_count = 0;
    host->depth = 0;
    host->call_depth = 0;
    host->is_changed = false;
    host->is_contradicted = false;
    host->is_reached = false;
    host->decision_count = 0;
    host->decisions = 0;
    host->obstacle = NULL;
    for (int i = 0; i < host->inputs.count; i++) host->inputs.items[i]->tensor = NULL;
    host->modules = map_new(host->arena);
    host->frames.count = 0;
    HostFrame *globals = host_module_frame(host, host->module);
    globals->is_on_path = true;
    host_run_block(host, globals, syntax_root(host->module->tree));
}

static void find_reason(Host *host) {
    HostLaunch *launch = host->launch;
    if (!host->is_reached) {
        launch->reason = host->obstacle ? host->obstacle : "the launch is not reached";
        return;
    }
    for (int i = 0; i < launch->argument_count && !launch->reason; i++) {
        const HostValue *value = launch->arguments[i].value;
        const char *note = !value                        ? "nothing is passed"
                           : value->kind == HOST_UNKNOWN ? value->note
                                                         : NULL;
        Str name = launch->kernel->parameters[i].name;
        if (note) launch->reason = arena_printf(host->arena, "%.*s: %s", STR_ARGS(name), note);
    }
    if (!launch->reason && launch->grid_rank == 0) launch->reason = "the grid is not understood";
    for (int i = 0; !launch->reason && i < launch->grid_rank; i++)
        if (launch->grid[i]->kind == HOST_UNKNOWN)
            launch->reason = arena_printf(host->arena, "grid: %s", launch->grid[i]->note);
    if (!launch->reason && !host_constraints_hold(host))
        launch->reason = "a condition on the way to the launch could not be met";
}

static bool is_leaf(const HostValue *value) {
    return value->kind == HOST_SIZE || value->kind == HOST_INPUT;
}

static void note_equalities(Host *host) {
    for (int i = 0; i < host->constraints.count; i++) {
        const HostConstraint *constraint = &host->constraints.items[i];
        const HostValue *equal = constraint->condition;
        if (constraint->want && equal->kind == HOST_OPERATION &&
            equal->operation == HOST_OP_EQUAL && is_leaf(equal->items[0]) &&
            is_leaf(equal->items[1]))
            LIST_PUSH(host->arena, &host->launch->equalities,
                      ((HostEquality){equal->items[0], equal->items[1]}));
    }
}

/// The one tensor that a value is made of sizes of, or NULL.
static const HostInput *tensor_of_sizes(const HostValue *value) {
    if (value->kind == HOST_SIZE) return value->input;
    const HostInput *tensor = NULL;
    for (int i = 0; value->kind == HOST_OPERATION && i < value->count; i++) {
        if (value->items[i]->kind == HOST_CONSTANT) continue;
        const HostInput *found = tensor_of_sizes(value->items[i]);
        if (!found || (tensor && tensor != found)) return NULL;
        tensor = found;
    }
    return tensor;
}

/// `x.shape[1] % n == 0` says what `n` may be, and so does `x.shape[1] // n`: it is as much the tensor's as its sizes are.
static void note_divisors(Host *host) {
    for (int i = 0; i < host->constraints.count; i++) {
        const HostConstraint *constraint = &host->constraints.items[i];
        const HostValue *equal = constraint->condition;
        if (!constraint->want || equal->kind != HOST_OPERATION || equal->operation != HOST_OP_EQUAL)
            continue;
        const HostValue *rest = equal->items[0], *zero = equal->items[1];
        bool is_rest = rest->kind == HOST_OPERATION && rest->operation == HOST_OP_MODULO &&
                       zero->kind == HOST_CONSTANT && zero->constant.integer == 0;
        if (is_rest && rest->items[1]->kind == HOST_INPUT &&
            rest->items[1]->input->kind == INPUT_INT)
            rest->items[1]->input->divides = tensor_of_sizes(rest->items[0]);
    }
}

static HostLaunch *launch_new(Arena *arena, const Asked *asked) {
    HostLaunch *launch = ARENA_NEW(arena, HostLaunch);
    launch->site = asked->site;
    launch->kernel = asked->site->kernel;
    return launch;
}

/// Evaluates the function around the launch up to the call, and meets the conditions on the way. Bounded in steps.
static HostLaunch *evaluate(Arena *arena, const Asked *asked) {
    Host host = {.arena = arena,
                 .module = asked->module,
                 .site = asked->site,
                 .policy = asked->policy,
                 .uses = asked->uses,
                 .own_lengths = asked->own_lengths};
    HostLaunch *launch = launch_new(arena, asked);
    host.launch = launch;
    // elsewhere sizes are what the file says, or as large as in use
    bool makes_small = !asked->policy.keep_blocks && !asked->policy.divide_blocks;
    for (int run = 0; run < MAX_RUNS; run++) {
        run_once(&host);
        bool has_ranks = run < MAX_RUNS / 2 && !host.is_changed;
        if (host.is_changed || (has_ranks && (part_ends(&host) || copy_ranks(&host)))) continue;
        bool changed = run < MAX_RUNS / 2 && copy_unread_sizes(&host);
        if (!host_solve(&host) && !changed) {
            if (!makes_small || run >= MAX_RUNS / 2 || !host_count_less(&host)) break;
            makes_small = false;  // once
        }
        if (run + 1 == MAX_RUNS) run_once(&host);
    }
    launch->flag_count = host.flag_count;
    launch->decision_count = host.decision_count;
    launch->decisions = host.decisions;
    launch->is_reached = host.is_reached && host_constraints_hold(&host);
    launch->is_contradicted = host.is_contradicted;
    note_equalities(&host);
    note_divisors(&host);
    LIST(HostInput *) inputs = {0};
    for (int arguments = 1; arguments >= 0; arguments--)
        for (int i = 0; i < host.inputs.count; i++)
            if (host.inputs.items[i]->is_argument == (arguments == 1))
                LIST_PUSH(arena, &inputs, host.inputs.items[i]);
    launch->inputs.items = inputs.items;
    launch->inputs.count = inputs.count;
    launch->inputs.capacity = inputs.capacity;
    find_reason(&host);
    return launch;
}

/* ---- once for each choice ---- */

/// What a launch came to, and what was read of its module on the way.
typedef struct Evaluated {
    const HostLaunch *launch;
    ModuleReads reads;
} Evaluated;

static HostLaunchWatcher *watcher;

void host_launch_watch(HostLaunchWatcher *told) { watcher = told; }

/// Where the steps are spent, the launch is one that is not understood.
static HostLaunch *evaluate_bounded(Arena *arena, const Asked *asked) {
    BugGuard guard;
    Wanted wanted = wanted_set((Wanted){0});  // others may ask for it, too
    StepBudget *budget = ARENA_NEW(arena, StepBudget);
    HostLaunch *volatile launch = NULL;
    if (BUG_GUARD(&guard)) {
        budget_start(budget, LAUNCH_MOST_STEPS);
        launch = evaluate(arena, asked);
        budget_stop(budget);
        bug_guard_end(&guard);
    }
    wanted_set(wanted);
    if (launch) return launch;
    if (guard.cause != BUG_SPENT) bug_raise_again(&guard);
    launch = launch_new(arena, asked);
    launch->reason = "its host code takes more steps than its evaluation has";
    return launch;
}

static void *evaluate_noted(void *context, Arena *arena) {
    Asked asked = *(const Asked *)context;
    Evaluated *evaluated = ARENA_NEW(arena, Evaluated);
    evaluated->reads.names = map_new(arena);
    if (watcher) watcher(asked.site, &asked.policy);
    module_watch(asked.module, &evaluated->reads);
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        evaluated->launch = evaluate_bounded(arena, &asked);
        bug_guard_end(&guard);
        module_watch_end(&evaluated->reads);
        return evaluated;
    }
    module_watch_end(&evaluated->reads);
    BUG("%s", guard.message);
}

/// All that an evaluation depends on besides the module.
static Str key_of(Arena *arena, const Asked *asked) {
    Buffer key = buffer_new(arena);
    const HostPolicy *policy = &asked->policy;
    const LaunchSite *site = asked->site;
    buffer_printf(&key, "%p %p %p %d ", site->call.id, (const void *)site->kernel,
                  (const void *)site->launcher, site->is_bare);
    buffer_printf(&key, "%" PRIu64 " %d %d %d%d%d %d %" PRIx64 " %" PRIx64 " %" PRIx64 " ",
                  policy->seed, policy->variant, policy->turned, policy->keep_blocks,
                  policy->divide_blocks, policy->keeps_lengths, policy->sizes, policy->apart,
                  policy->apart_kept, asked->own_lengths);
    for (LIST_EACH(int, i, asked->uses)) {
        const KernelUse *use = &asked->uses.items[i];
        buffer_printf(&key, "%d%c%c%d", use->kind, use->is_length ? 'l' : ' ',
                      use->is_present ? 'a' : ' ', use->divisor);
        for (int k = 0; k < use->text_count; k++)
            buffer_printf(&key, "\"%.*s\"", STR_ARGS(use->texts[k]));
    }
    return (Str){buffer_text(&key), key.size};
}

const HostLaunch *host_launch(const Module *module, const LaunchSite *site,
                              const HostPolicy *policy) {
    Arena *scratch = arena_new();
    Asked asked = {.module = module, .site = site};
    if (policy) asked.policy = *policy;
    const Function *function = asked.policy.function;
    if (function && function->general) function = function->general;
    asked.uses = parameter_uses(scratch, function);
    asked.own_lengths = kernel_own_lengths(function);
    asked.policy.function = NULL;
    const Evaluated *evaluated =
        memo_get(module->evaluated, key_of(scratch, &asked), evaluate_noted, &asked);
    module_note_reads(module, &evaluated->reads);
    arena_free(scratch);
    return evaluated->launch;
}

HostLaunches host_launches(Arena *arena, const FunctionDefinition *kernel,
                           const Function *function) {
    HostLaunches all = {0};
    const HostPolicy policy = {.keep_blocks = true, .function = function};
    for (LIST_EACH(int, i, kernel->module->launches)) {
        const LaunchSite *site = &kernel->module->launches.items[i];
        if (site->kernel == kernel)
            LIST_PUSH(arena, &all, host_launch(kernel->module, site, &policy));
    }
    return all;
}

static void add_reached(Arena *arena, HostLaunches *all, const LaunchSite *site,
                        const HostPolicy *policy) {
    const HostLaunch *launch = host_launch(site->kernel->module, site, policy);
    if (launch->is_reached) LIST_PUSH(arena, all, launch);
}

HostLaunches host_launches_by_flags(Arena *arena, const FunctionDefinition *kernel,
                                    const Function *function) {
    HostLaunches all = host_launches(arena, kernel, function);
    const int site_count = all.count;
    for (int i = 0; i < site_count; i++) {
        const HostLaunch *launch = all.items[i];
        HostPolicy policy = {.keep_blocks = true, .function = function};
        for (int flag = 0; flag < launch->flag_count && flag < MOST_FLAGS; flag++) {
            policy.variant = 1 << flag;
            add_reached(arena, &all, launch->site, &policy);
        }
        policy.variant = 0;
        for (int k = 0; k < launch->decision_count && k < MOST_FLAGS; k++) {
            policy.turned = launch->decisions >> k & 1 ? -(k + 1) : k + 1;
            add_reached(arena, &all, launch->site, &policy);
        }
    }
    return all;
}
