// Which lanes of a load, store or atomic touch which elements, and by how far programs are apart: for a picture.
#include "analysis/cost/kernel_cost.h"
#include "analysis/ir/loops.h"
#include "features/describe/describe.h"
#include "features/describe/describe_cost.h"
#include "features/features.h"

/// A polynomial in words and, where the first configuration says it, as a number.
static AccessAmount amount_of(Arena *arena, const KernelCosts *costs, const Poly *poly) {
    AccessAmount amount = {.text = poly ? poly_label(arena, poly) : NULL};
    const Poly *left = poly ? cost_under(costs->numbers[0], poly) : NULL;
    amount.is_known = left && poly_is_constant(left, &amount.number);
    return amount;
}

typedef struct ProgramSteps {
    Arena *arena;
    const KernelCosts *costs;
    const Poly *base;
    AccessReport *report;
} ProgramSteps;

/// Whether a number that the address is made of comes of the value, in whatever way.
static bool comes_of(Arena *arena, const Poly *base, const Value *value) {
    for (int t = 0; t < base->count; t++)
        for (int a = 0; a < base->terms[t].atom_count; a++)
            if (value_depends_on(arena, base->terms[t].atoms[a], value, NULL)) return true;
    return false;
}

/// How far the elements of a program and the next one along an axis are apart.
static bool visit_program(void *context, Op *op) {
    ProgramSteps *steps = context;
    int64_t axis;
    if (op->code != OP_PROGRAM_ID || !value_is_int(op->operands[0], &axis) || axis < 0 ||
        axis >= ACCESS_PROGRAM_AXES || !comes_of(steps->arena, steps->base, op->results[0]))
        return true;
    const Poly *step, *rest;
    AccessStep *found = &steps->report->programs[axis];
    found->is_there = true;
    if (poly_split(steps->arena, steps->base, op->results[0], &step, &rest) &&
        !comes_of(steps->arena, rest, op->results[0]))
        found->step = amount_of(steps->arena, steps->costs, step);
    return true;
}

static const char *kind_of(WorkKind kind) {
    return kind == WORK_READ ? "load" : kind == WORK_WRITE ? "store" : "atomic";
}

static void fill(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                 const KernelCosts *costs, const CostLine *line, AccessReport *report) {
    Access access = access_of(arena, (Op *)(uintptr_t)line->op);
    Type shape = work_access_shape(arena, line->op);
    report->range = snapshot_range(snapshot, line->op->range);
    report->kind = kind_of(line->work.kind);
    report->pointer = access.parameter ? access.parameter->name : NULL;
    report->lanes = lanes_label(arena, costs, line);
    report->is_masked = line->is_masked;
    bool is_open;
    const Poly *bytes = cost_bytes(arena, line, &is_open);
    report->bytes = amount_of(arena, costs, bytes);
    report->is_type_open = is_open;
    int bits = dtype_bits(line->work.element.code);
    report->element_bytes = is_open || bits < 8 ? COST_OPEN_BYTES : bits / 8;
    report->is_known = access.offset.known;
    for (int i = 0; i < shape.rank && i < TYPE_MAX_RANK; i++) {
        AccessAxis axis = {.extent = amount_of(arena, costs, shape.dims[i])};
        if (access.offset.known && i < access.offset.rank && access.offset.lane[i])
            axis.stride = amount_of(arena, costs, access.offset.lane[i]);
        report->axes[report->rank++] = axis;
    }
    if (!access.offset.known) return;
    ProgramSteps steps = {arena, costs, access.offset.base, report};
    region_walk(kernel->function->body, visit_program, &steps);
}

bool access_report(Arena *arena, const Snapshot *snapshot, const Kernel *kernel, uint32_t offset,
                   AccessReport *report) {
    *report = (AccessReport){0};
    if (!kernel->function) return false;
    KernelCosts costs = kernel_costs(arena, kernel, NULL, false);
    int line = range_line((Range){snapshot->source, offset, offset});
    const CostLine *best = NULL;
    for (LIST_EACH(int, i, costs.cost->lines)) {
        const CostLine *candidate = &costs.cost->lines.items[i];
        Range range = snapshot_range(snapshot, candidate->op->range);
        if (candidate->work.kind == WORK_DOT || range.source != snapshot->source) continue;
        bool holds = range.start <= offset && offset <= range.end;
        bool on_line = range_line(range) == line;
        if (holds || (on_line && !best)) best = candidate;
    }
    if (!best) return false;
    const CostInstance *instance =
        costs.instances.list.count ? &costs.instances.list.items[0] : NULL;
    report->configuration = instance ? instance->name : NULL;
    fill(arena, snapshot, kernel, &costs, best, report);
    return true;
}
