#include "server/phases/judge.h"

#include <math.h>

#include "analysis/cost/card.h"
#include "analysis/cost/cost_instances.h"
#include "server/model/trial.h"
#include "server/proofs/grad.h"
#include "server/proofs/pair.h"

/// A size that nobody says: both texts are measured with the same.
enum { NOMINAL_CONSTEXPR = 64, NOMINAL_NUMBER = 1024 };

// --- cost

typedef struct Costing {
    const KernelCost *cost;
    CostNumbers *numbers;
    int depth;
} Costing;

static double poly_number(Costing *costing, const Poly *poly);

static double atom_number(Costing *costing, const Value *atom) {
    enum { DEEPEST = 8 };
    const KernelCost *cost = costing->cost;
    for (LIST_EACH(int, i, cost->trips)) {
        const CostTrips *trips = &cost->trips.items[i];
        if (trips->atom != atom) continue;
        if (costing->depth >= DEEPEST) return NAN;
        costing->depth++;
        double span = poly_number(costing, trips->span), step = poly_number(costing, trips->step);
        costing->depth--;
        return step > 0 ? fmax(ceil(span / step), 0) : NAN;
    }
    const FunctionDefinition *definition = cost->function->definition;
    for (int i = 0; i < definition->parameter_count && atom->name; i++)
        if (definition->parameters[i].is_constexpr &&
            str_is(definition->parameters[i].name, atom->name))
            return NOMINAL_CONSTEXPR;
    return NOMINAL_NUMBER;
}

/// NaN for what is not known.
static double poly_number(Costing *costing, const Poly *poly) {
    poly = cost_under(costing->numbers, poly);
    if (!poly) return NAN;
    double sum = 0;
    for (int i = 0; i < poly->count; i++) {
        double term = (double)poly->terms[i].coefficient;
        for (int k = 0; k < poly->terms[i].atom_count; k++)
            term *= atom_number(costing, poly->terms[i].atoms[k]);
        sum += term;
    }
    return sum;
}

/// Adds what a program of the kernel takes, NaN where that is not known.
static void add_kernel(Arena *arena, const Kernel *kernel, Judged *judged) {
    const Card *card = card_find(STR("h100"));
    KernelCost *cost = kernel_cost(arena, kernel->function, false);
    if (!card || cost->is_incomplete) {
        judged->cost = judged->atomics = NAN;
        return;
    }
    CostInstances instances = cost_instances(arena, kernel);
    Costing costing = {
        .cost = cost,
        .numbers = cost_numbers(cost, instances.list.count ? instances.list.items[0].values : NULL),
    };
    CostTotals totals = cost_totals(cost, costing.numbers);
    double updates = poly_number(&costing, totals.bytes[WORK_UPDATE]);
    double bytes = poly_number(&costing, totals.bytes[WORK_READ]) +
                   poly_number(&costing, totals.bytes[WORK_WRITE]) +
                   2 * updates;  // read and written
    judged->atomics += updates;
    // The sum, not the larger: less of either is better.
    judged->cost += bytes / card->memory +
                    poly_number(&costing, totals.dots) / (1e3 * card->dots[1]) +
                    poly_number(&costing, totals.math) / (1e3 * card->math);
}

static void measure(Arena *arena, Judged *judged) {
    judged->cost = judged->atomics = 0;
    for (LIST_EACH(int, i, judged->open.names)) {
        const Kernel *kernel =
            snapshot_find_kernel(judged->snapshot, str_from(judged->open.names.items[i]));
        if (kernel) add_kernel(arena, kernel, judged);
    }
}

// --- findings

static int count_diagnostics(const Snapshot *snapshot, DiagnosticId id) {
    int count = 0;
    for (LIST_EACH(int, i, snapshot->diagnostics.list))
        count += snapshot->diagnostics.list.items[i].id == id;
    return count;
}

const char *finding_more(Arena *arena, const Snapshot *before, const Snapshot *after) {
    for (LIST_EACH(int, i, after->diagnostics.list)) {
        const Diagnostic *diagnostic = &after->diagnostics.list.items[i];
        if (diagnostic->severity > SEVERITY_WARNING) continue;
        int known = before ? count_diagnostics(before, diagnostic->id) : 0;
        if (diagnostic->severity == SEVERITY_WARNING && !before) continue;
        if (count_diagnostics(after, diagnostic->id) <= known) continue;
        Str line = source_slice(diagnostic->range);
        return arena_printf(arena, "line %d, `%.*s`: %s", range_line(diagnostic->range),
                            (int)(line.size > 120 ? 120 : line.size), line.data,
                            diagnostic->message);
    }
    return NULL;
}

static int count_findings(const Report *report, const DiagnosticRow *row) {
    int count = 0;
    for (LIST_EACH(int, i, report->findings)) count += report->findings.items[i].row == row;
    return count;
}

/// What the proof found that it does not find in the base.
static const char *new_proof_finding(const Gate *gate, const Report *report) {
    for (LIST_EACH(int, i, report->findings)) {
        const Finding *finding = &report->findings.items[i];
        int known = gate->base ? count_findings(gate->base->report, finding->row) : 0;
        if (finding->severity <= SEVERITY_WARNING && count_findings(report, finding->row) > known)
            return finding->message;
    }
    return NULL;
}

// --- proof

static const Report *prove(const Gate *gate, ImportResolver *resolver, const Snapshot *snapshot) {
    Report *report = ARENA_NEW(gate->arena, Report);
    report->arena = gate->arena;
    Options *options = ARENA_NEW(gate->arena, Options);
    *options = *gate->options;
    options->quiet = true;
    options->wrapper = WRAPPER_AUTOGRAD;
    Loop *loop = loop_new();
    SettingsCache *settings = settings_cache_new(gate->arena, report);
    Grad *grad = grad_new(gate->arena, loop, report, resolver, options);
    grad_derive(grad, snapshot, settings_for(settings, gate->path), gate->forward);
    grad_prove(grad);
    loop_free(loop);
    return report;
}

static const char *refuse_proof(const Gate *gate, const Report *report, Judged *judged) {
    if (report->kernels.count != 1) return "nothing was proved";
    const KernelResult *result = &report->kernels.items[0];
    judged->worst_error = result->worst_error;
    if (result->status != KERNEL_PROVED && interrupted()) return TRIAL_CANCELLED;
    if (result->status != KERNEL_PROVED)
        return *result->reason ? result->reason : "its gradients are not proved";
    return new_proof_finding(gate, report);
}

static void judge_snapshot(const Gate *gate, ImportResolver *resolver, Judged *judged) {
    Arena *arena = gate->arena;
    const Kernel *forward = snapshot_find_kernel(judged->snapshot, str_from(gate->forward));
    if (!forward) {
        judged->refused = arena_printf(arena, "`%s` is not there any more", gate->forward);
        return;
    }
    judged->open = bodies_open(arena, judged->snapshot, forward);
    if (gate->base)
        judged->refused =
            bodies_refuse(arena, gate->base->snapshot, judged->snapshot, &gate->base->open);
    if (!judged->refused && !judged->open.names.count) judged->refused = "it has no backward";
    if (!judged->refused)
        judged->refused =
            finding_more(arena, gate->base ? gate->base->snapshot : NULL, judged->snapshot);
    if (judged->refused) return;
    judged->report = prove(gate, resolver, judged->snapshot);
    judged->refused = refuse_proof(gate, judged->report, judged);
    measure(arena, judged);
    judged->size = bodies_size(judged->snapshot, &judged->open);
    judged->findings = bodies_findings(judged->snapshot, &judged->open);
}

Judged judge(const Gate *gate, const char *text) {
    Judged judged = {.refused = "it cannot be analysed", .cost = NAN, .atomics = NAN};
    BugGuard guard;
    if (!BUG_GUARD(&guard)) return judged;
    ImportResolver *resolver = import_resolver_new(NULL);
    SnapshotOptions options = {.resolver = import_resolver_interface(resolver)};
    Judged made = {.cost = NAN, .atomics = NAN};
    made.snapshot = snapshot_build(gate->path, str_from(text), &options);
    judge_snapshot(gate, resolver, &made);
    bug_guard_end(&guard);
    import_resolver_free(resolver);
    return made;
}

void judged_free(Judged *judged) {
    snapshot_release(judged->snapshot);
    judged->snapshot = NULL;
}
