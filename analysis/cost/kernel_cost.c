#include "analysis/cost/kernel_cost.h"

#include <math.h>
#include <string.h>

#include "analysis/addresses/affine_axes.h"
#include "analysis/cost/counter.h"
#include "analysis/ir/loops.h"

typedef struct CostWalk {
    KernelCost *cost;
    Former *former;
    FunctionAxes axes;
    bool tells_shared;
} CostWalk;

/* ---- iterations ---- */

static const char *atom_text(Arena *arena, const Poly *poly) {
    enum { LONGEST = 24 };
    const Value *atom =
        poly->count == 1 && poly->terms[0].atom_count == 1 && poly->terms[0].coefficient == 1
            ? poly->terms[0].atoms[0]
            : NULL;
    if (!atom || atom->name || !atom->op) return poly_print(arena, poly);
    Str text = source_slice(atom->op->range);
    bool is_short = text.size && text.size <= LONGEST && !memchr(text.data, '\n', text.size);
    return is_short ? str_dup(arena, text) : poly_print(arena, poly);
}

/// Iterations of a loop as an atom of its own, the same for equal bounds.
static const Poly *trips_atom(CostWalk *walk, const Poly *span, const Poly *step) {
    KernelCost *cost = walk->cost;
    for (LIST_EACH(int, i, cost->trips))
        if (poly_equal(cost->trips.items[i].span, span) &&
            poly_equal(cost->trips.items[i].step, step))
            return poly_atom(cost->arena, cost->trips.items[i].atom);
    Value *atom = ARENA_NEW(cost->arena, Value);
    atom->id = cost->function->value_count + cost->trips.count;
    atom->type = (Type){.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32)};
    const char *text = atom_text(cost->arena, span), *by = atom_text(cost->arena, step);
    atom->name = strchr(text, '?') || strchr(by, '?')
                     ? "iterations"
                     : arena_printf(cost->arena, "cdiv(%s, %s)", text, by);
    LIST_PUSH(cost->arena, &cost->trips, ((CostTrips){atom, span, step}));
    return poly_atom(cost->arena, atom);
}

static const Poly *scalar_form(CostWalk *walk, Value *value) {
    if (!value) return NULL;
    Affine form = affine_by(walk->former, value);
    return form.known && form.rank == 0 && !form.wrapped ? form.base : NULL;
}

static const Poly *trips_of(CostWalk *walk, const Op *loop) {
    Arena *arena = walk->cost->arena;
    if (loop->code != OP_FOR && loop->code != OP_STATIC_FOR) return NULL;
    const Poly *lower = scalar_form(walk, loop->operands[0]),
               *upper = scalar_form(walk, loop->operands[1]),
               *step = scalar_form(walk, loop->operands[2]);
    int64_t down;
    if (!lower || !upper || !step || poly_is_zero(step)) return NULL;
    const Poly *span = poly_subtract(arena, upper, lower);
    if (poly_is_constant(step, &down) && down < 0) {
        span = poly_subtract(arena, lower, upper);
        step = poly_constant(arena, -down);
    }
    if (!span) return NULL;
    const Poly *whole = poly_divide_exact(arena, span, step);
    int64_t count;
    if (whole && poly_is_constant(whole, &count) && count < 0) return poly_constant(arena, 0);
    return whole ? whole : trips_atom(walk, span, step);
}

/// How often a program comes by the operation; NULL where a loop says it only as it runs, or another number in each iteration.
static const Poly *times_of(CostWalk *walk, const Op *op, const Op **innermost) {
    Arena *arena = walk->cost->arena;
    const Poly *times = poly_constant(arena, 1);
    *innermost = NULL;
    for (const Op *around = op->parent->parent; around; around = around->parent->parent) {
        if (!op_is_loop(around->code)) continue;
        if (!*innermost) *innermost = around;
        const Poly *trips = trips_of(walk, around);
        for (const Op *outer = around->parent->parent; trips && outer;
             outer = outer->parent->parent)
            if (op_is_loop(outer->code))
                for (int i = 0; i < 3; i++)
                    if (!loop_invariant(outer, around->operands[i])) trips = NULL;
        times = trips && times ? poly_multiply(arena, times, trips) : NULL;
    }
    return times;
}

/* ---- lanes ---- */

static bool is_one(const Poly *poly) {
    int64_t number;
    return poly_is_constant(poly, &number) && number == 1;
}

static void order_lanes(Arena *arena, CostLine *line, const Access *access, Type shape) {
    const Affine *offset = &access->offset;
    int64_t smallest = 0, stride;
    const Poly *open = NULL;
    if (!offset->known) {
        line->order = shape.rank ? LANES_GATHERED : LANES_SINGLE;
        return;
    }
    line->order = LANES_SINGLE;
    for (int i = 0; i < offset->rank && i < shape.rank; i++) {
        const Poly *lane = offset->lane[i];
        if (!lane || poly_is_zero(lane) || !shape.dims[i] || is_one(shape.dims[i])) continue;
        if (!poly_is_constant(lane, &stride)) {
            open = lane;
            continue;
        }
        if (stride < 0) stride = -stride;
        if (!smallest || stride < smallest) {
            smallest = stride;
            line->lane_amount = shape.dims[i];
        }
    }
    if (smallest == 1) {
        line->order = LANES_CONTIGUOUS;
    } else if (open) {
        line->order = LANES_BY_STRIDE;
        line->lane_amount = open;
    } else if (smallest > 1) {
        line->order = LANES_STRIDED;
        line->lane_amount = poly_constant(arena, smallest);
    }
}

static bool may_be_shared(CostWalk *walk, const Access *access) {
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    if (!access->parameter || !access->offset.known) return true;
    int count =
        access_axes(walk->cost->arena, &walk->axes, access, axes, dependence, ACCESS_MOST_AXES);
    for (int i = 0; i < count && i < ACCESS_MOST_AXES; i++)
        if (dependence[i] != AXIS_OWNED) return true;
    return count > ACCESS_MOST_AXES;
}

/* ---- the walk ---- */

static bool is_combined(const Op *op) {
    for (const Op *around = op->parent->parent; around; around = around->parent->parent)
        if (around->code == OP_REDUCE || around->code == OP_ASSOCIATIVE_SCAN) return true;
    return false;
}

static bool visit(void *context, Op *op) {
    CostWalk *walk = context;
    KernelCost *cost = walk->cost;
    for (int i = 0; i < op->result_count; i++)
        cost->is_incomplete |= op->results[i]->type.kind == TYPE_UNKNOWN;
    Work work = work_of(cost->arena, op);
    if (!work.is_some || is_combined(op)) return true;
    CostLine line = {.op = op, .work = work};
    line.times = times_of(walk, op, &line.loop);
    if (work.kind == WORK_MATH) {
        LIST_PUSH(cost->arena, &cost->math, line);
        return true;
    }
    if (work.kind != WORK_DOT) {
        Access access = access_by(walk->former, op);
        Type shape = work_access_shape(cost->arena, op);
        line.is_masked = (access.mask && !value_is_none(access.mask)) ||
                         op->operands[0]->type.kind != TYPE_POINTER;
        order_lanes(cost->arena, &line, &access, shape);
        line.is_shared =
            walk->tells_shared && work.kind == WORK_READ && may_be_shared(walk, &access);
    }
    LIST_PUSH(cost->arena, &cost->lines, line);
    return true;
}

KernelCost *kernel_cost(Arena *arena, const Function *function, bool tells_shared) {
    KernelCost *cost = ARENA_NEW(arena, KernelCost);
    *cost = (KernelCost){.arena = arena, .function = function};
    CostWalk walk = {.cost = cost, .former = former_new(arena), .tells_shared = tells_shared};
    if (tells_shared) walk.axes = function_axes(arena, function);
    region_walk(function->body, visit, &walk);
    return cost;
}

/* ---- numbers ---- */

struct CostNumbers {
    const KernelCost *cost;
    Counter counter;
    CountedLaunch launch;
};

static bool take_op(void *context, Op *op) {
    CostNumbers *numbers = context;
    if (op->region_count == 0) counter_take(&numbers->counter, op);
    return true;
}

CostNumbers *cost_numbers(const KernelCost *cost, const Constant *const *values) {
    const Function *function = cost->function;
    CostNumbers *numbers = ARENA_NEW(cost->arena, CostNumbers);
    int count = function->value_count + cost->trips.count;
    numbers->cost = cost;
    numbers->counter = (Counter){.arena = cost->arena,
                                 .function = function,
                                 .launch = &numbers->launch,
                                 .values = values,
                                 .is_symbolic = true,
                                 .program = {-1, -1, -1},
                                 .value_count = count,
                                 .numbers = ARENA_ARRAY(cost->arena, double, count + 1)};
    for (int i = 0; i < count; i++) numbers->counter.numbers[i] = NAN;
    for (int i = 0; i < PROGRAM_AXES; i++) numbers->launch.grid[i] = -1;
    for (int i = 0; values && i < function->parameter_count; i++) {
        const Constant *value = values[i];
        if (value && (value->kind == CONSTANT_INT || value->kind == CONSTANT_BOOL))
            counter_set(&numbers->counter, function->parameters[i].value, (double)value->integer);
    }
    region_walk(function->body, take_op, numbers);
    for (LIST_EACH(int, i, cost->trips)) {
        const CostTrips *trips = &cost->trips.items[i];
        double span = counter_poly(&numbers->counter, trips->span),
               step = counter_poly(&numbers->counter, trips->step);
        if (step > 0 && !isnan(span))
            counter_set(&numbers->counter, trips->atom, fmax(0, ceil(span / step)));
    }
    return numbers;
}

const Poly *cost_under(CostNumbers *numbers, const Poly *poly) {
    Arena *arena = numbers->cost->arena;
    const Poly *result = poly;
    for (int i = 0; poly && i < poly->count; i++)
        for (int k = 0; result && k < poly->terms[i].atom_count; k++) {
            Value *atom = poly->terms[i].atoms[k];
            double number = counter_number(&numbers->counter, atom);
            if (!isnan(number) && poly_mentions(result, atom))
                result =
                    poly_substitute(arena, result, atom, poly_constant(arena, (int64_t)number));
        }
    return result;
}

bool cost_is_off(const CostNumbers *numbers, const CostLine *line) {
    const Region *region = line->op->parent;
    for (const Op *around = region->parent; around;
         region = around->parent, around = region->parent) {
        if (around->code != OP_IF) continue;
        double holds = counter_number(&numbers->counter, around->operands[0]);
        if (!isnan(holds) && region == around->regions[holds != 0 ? 1 : 0]) return true;
    }
    return false;
}

bool cost_is_sure(const CostNumbers *numbers, const CostLine *line) {
    for (const Op *around = line->op->parent->parent; around; around = around->parent->parent)
        if (around->code == OP_IF && isnan(counter_number(&numbers->counter, around->operands[0])))
            return false;
    return true;
}

/* ---- totals ---- */

const Poly *cost_bytes(Arena *arena, const CostLine *line, bool *is_open) {
    DType element = line->work.element;
    int bits = element.code > DTYPE_OF_PARAMETER ? dtype_bits(element.code) : 0;
    *is_open = !bits;
    if (!line->work.amount) return NULL;
    int64_t bytes = !bits ? COST_OPEN_BYTES : bits < 8 ? 1 : bits / 8;
    return poly_multiply(arena, line->work.amount, poly_constant(arena, bytes));
}

static const Poly *sum(Arena *arena, const Poly *total, const Poly *each, const Poly *times) {
    if (!total || !each || !times) return NULL;
    return poly_add(arena, total, poly_multiply(arena, each, times));
}

/// Sizes that are not known, each of which is tried at its ends.
typedef struct Corners {
    Arena *arena;
    LIST(const Value *) atoms;
} Corners;

static void note_atoms(Corners *corners, const Poly *poly) {
    for (int i = 0; i < poly->count; i++)
        for (int k = 0; k < poly->terms[i].atom_count; k++) {
            const Value *atom = poly->terms[i].atoms[k];
            bool is_known = false;
            for (LIST_EACH(int, n, corners->atoms)) is_known |= corners->atoms.items[n] == atom;
            if (!is_known) LIST_PUSH(corners->arena, &corners->atoms, atom);
        }
}

/// Sizes whose bit is set are large, the others 1.
static double at_corner(const Corners *corners, const Poly *poly, unsigned corner, double large) {
    double total = 0;
    for (int i = 0; i < poly->count; i++) {
        double product = (double)poly->terms[i].coefficient;
        for (int k = 0; k < poly->terms[i].atom_count; k++)
            for (LIST_EACH(int, n, corners->atoms))
                if (corners->atoms.items[n] == poly->terms[i].atoms[k])
                    product *= (corner >> n) & 1 ? large : 1;
        total += product;
    }
    return total;
}

/// The extremes of operations over bytes, where each size that is not known is one or very large: a quotient of what is linear in each.
static void bound_intensity(Arena *arena, CostTotals *totals) {
    enum { LARGE = 1 << 20, SMALLER = 1 << 10, MOST_SIZES = 8 };
    totals->intensity = totals->least_intensity = totals->most_intensity = NAN;
    const Poly *bytes = poly_constant(arena, 0);
    for (int i = 0; i < WORK_MEMORY_KINDS; i++)
        bytes = totals->bytes[i] && bytes ? poly_add(arena, bytes, totals->bytes[i]) : NULL;
    if (!bytes || !totals->dots || !totals->math || !totals->shared) return;
    const Poly *operations = poly_add(arena, totals->dots, totals->math);
    const Poly *own = poly_subtract(arena, bytes, totals->shared);
    if (!operations || !own) return;
    Corners corners = {.arena = arena};
    note_atoms(&corners, bytes);
    note_atoms(&corners, operations);
    if (corners.atoms.count > MOST_SIZES) return;
    for (unsigned i = 0; i < 1u << corners.atoms.count; i++) {
        double made = at_corner(&corners, operations, i, LARGE),
               all = at_corner(&corners, bytes, i, LARGE),
               least = at_corner(&corners, own, i, LARGE);
        if (all <= 0 || made < 0) return;
        double low = made / all, high = least > 0 ? made / least : made > 0 ? INFINITY : 0;
        totals->least_intensity = i ? fmin(totals->least_intensity, low) : low;
        totals->most_intensity = i ? fmax(totals->most_intensity, high) : high;
    }
    unsigned last = (1u << corners.atoms.count) - 1;
    double there = at_corner(&corners, operations, last, LARGE) /
                   at_corner(&corners, bytes, last, LARGE),
           before = at_corner(&corners, operations, last, SMALLER) /
                    at_corner(&corners, bytes, last, SMALLER);
    if (fabs(there - before) <= 0.1 * there) totals->intensity = there;
}

CostTotals cost_totals(const KernelCost *cost, CostNumbers *numbers) {
    Arena *arena = cost->arena;
    const Poly *nothing = poly_constant(arena, 0);
    if (cost->is_incomplete)
        return (CostTotals){.intensity = NAN, .least_intensity = NAN, .most_intensity = NAN};
    CostTotals totals = {
        .bytes = {nothing, nothing, nothing}, .shared = nothing, .dots = nothing, .math = nothing};
    for (LIST_EACH(int, i, cost->lines)) {
        const CostLine *line = &cost->lines.items[i];
        if (cost_is_off(numbers, line)) continue;
        bool is_open = false;
        const Poly *times = cost_under(numbers, line->times);
        totals.is_upper |= line->is_masked || !cost_is_sure(numbers, line);
        if (line->work.kind == WORK_DOT) {
            totals.dots = sum(arena, totals.dots, cost_under(numbers, line->work.amount), times);
            continue;
        }
        const Poly *bytes = cost_under(numbers, cost_bytes(arena, line, &is_open));
        totals.is_type_open |= is_open;
        totals.bytes[line->work.kind] = sum(arena, totals.bytes[line->work.kind], bytes, times);
        if (line->is_shared) totals.shared = sum(arena, totals.shared, bytes, times);
    }
    for (LIST_EACH(int, i, cost->math)) {
        const CostLine *line = &cost->math.items[i];
        if (!cost_is_off(numbers, line))
            totals.math = sum(arena, totals.math, cost_under(numbers, line->work.amount),
                              cost_under(numbers, line->times));
    }
    bound_intensity(arena, &totals);
    return totals;
}
