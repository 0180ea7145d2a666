// Schedule and contention: atomics that many programs hit, work in a loop that could stand outside, loops in order.
#include "analysis/addresses/affine_axes.h"
#include "analysis/build/value_poly.h"
#include "analysis/checks/check.h"
#include "analysis/ir/loops.h"
#include "analysis/launches/launch_least.h"

/// The first program axis that the address does not depend on, -1 where it depends on all.
static int shared_axis(Check *check, const Access *access) {
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    int count = access_axes(check->arena, &check->axes, access, axes, dependence, ACCESS_MOST_AXES);
    for (int i = 0; i < count; i++)
        if (axes[i].is_program && dependence[i] == AXIS_FREE &&
            !check_depends_on_program(check, access->op->operands[0], axes[i].program_axis))
            return axes[i].program_axis;
    return -1;
}

/// Whether each program comes to the operation, whatever it has loaded and whichever it is.
static bool is_done_by_all(const Op *op) {
    for (const Op *outer = op->parent->parent; outer; outer = outer->parent->parent) {
        bool is_flag = outer->code == OP_IF && outer->operands[0]->type.is_constexpr;
        if (!is_flag && outer->code != OP_FOR && outer->code != OP_STATIC_FOR) return false;
    }
    return true;
}

/// One number that each program adds: no ticket, whose old value somebody reads, and no count of programs or of events.
static bool adds_one_number(const Check *check, const Access *access) {
    const Op *op = access->op;
    const Value *added = check_operand(op, "val");
    bool is_counted =
        added && (added->constant || added->type.is_constexpr ||
                  dtype_is_integer(op->operands[0]->type.element) ||
                  (added->type.kind == TYPE_NUMBER && dtype_is_integer(added->type.element)));
    bool is_read = op->result_count && check_uses(check, op->results[0])->list.count;
    bool is_masked = access->mask && !access->mask->constant && !access->mask->type.is_constexpr;
    return added && !is_counted && !is_read && !is_masked && is_done_by_all(op);
}

/// A scalar that all programs along an axis update: dear where the launches of the file have several there.
static void check_one_place(Check *check, const Access *access, int axis) {
    GridAxis axes[PROGRAM_AXES];
    if (!adds_one_number(check, access)) return;
    launches_axes(check->arena, check->function, axes);
    if (axes[axis] != GRID_AXIS_SEVERAL) return;
    check_report(
        check, DIAGNOSTIC_ATOMIC_ONE_ELEMENT, access->op,
        "all programs along axis %d update one element of %s, one after the other: where there are "
        "many, a partial result of each, put together by a second kernel, costs less",
        axis, access->parameter->name);
}

void check_atomics(Check *check) {
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        if (!op_has(access->op->code, TRAIT_COLLECTS)) continue;
        DTypeCode element = access->op->operands[0]->type.element.code;
        if (access->op->code == OP_ATOMIC_ADD &&
            (element == DTYPE_FLOAT16 || element == DTYPE_BFLOAT16))
            check_report(check, DIAGNOSTIC_LOW_PRECISION_ATOMIC, access->op,
                         "each addition is rounded to %s: accumulate into a float32 buffer",
                         dtype_name(element));
        if (check->kernel->is_helper || !access->parameter || !access->offset.known) continue;
        int axis = shared_axis(check, access);
        if (axis < 0) continue;
        if (type_is_tile(access->op->operands[0]->type))
            check_report(check, DIAGNOSTIC_ATOMIC_HOT_SPOT, access->op,
                         "every program along axis %d adds to the same elements of %s: they wait "
                         "for each other",
                         axis, access->parameter->name);
        else
            check_one_place(check, access, axis);
    }
}

/* ---- work inside loops ---- */

static Op *enclosing_loop(const Op *op) {
    Op *outer = op->parent->parent;
    return outer && outer->code == OP_FOR ? outer : NULL;
}

static bool is_invariant(const Access *access, const Op *loop) {
    return access->op->code == OP_LOAD && loop_invariant(loop, access->op->operands[0]) &&
           (!access->mask || loop_invariant(loop, access->mask));
}

/// Whether the loop goes on by tiles, nothing reads its counter, and it accesses the same elements in each iteration: the counter is
/// forgotten in an address.
static bool has_idle_counter(Check *check, const Op *loop) {
    int64_t number;
    if (poly_is_constant(value_poly(check->arena, loop->operands[2]), &number) ||
        check_uses(check, loop->regions[0]->arguments[0])->list.count)
        return false;
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        if (op_is_within(access->op, loop) && !is_invariant(access, loop)) return false;
    }
    return true;
}

static void tell_idle_counter(Check *check, const Access *access, const Op *loop) {
    const Op *address = access->op->operands[0]->op;
    Diagnostic *said = check_report(
        check, DIAGNOSTIC_LOOP_STEP, access->op,
        "each iteration of the loop loads the same elements of %s: its counter goes on by %s, and "
        "nothing reads it",
        access->parameter->name,
        poly_print(check->arena, value_poly(check->arena, loop->operands[2])));
    check_relate(check, said, loop, "the loop");
    for (int i = 0; address && i < address->operand_count; i++)
        if (address->operands[i] && address->operands[i]->op)
            check_relate(check, said, address->operands[i]->op, "the address");
}

/// Whether an address counts on by what tells programs apart where the loop starts. Other digits of their ids may place it elsewhere.
static bool has_start(Check *check, const Access *access, const Op *loop) {
    const Poly *start = value_poly(check->arena, loop->operands[0]);
    bool any = false;
    for (int t = 0; t < start->count; t++)
        for (int a = 0; a < start->terms[t].atom_count; a++) {
            Value *atom = start->terms[t].atoms[a];
            if (poly_is_fixed(check->arena, poly_atom(check->arena, atom))) continue;
            if (!access->offset.known || !poly_mentions(access->offset.base, atom)) return false;
            any = true;
        }
    return any;
}

/// Whether programs take turns in the loop, and the address is that of their first one.
static bool is_of_first_turn(Check *check, const Access *access, const Op *loop) {
    const Value *step = loop->operands[2];
    bool takes_turns = false;
    if (!has_start(check, access, loop)) return false;
    for (LIST_EACH(int, i, check->program_ids)) {
        const Value *id = check->program_ids.items[i]->results[0];
        takes_turns |= value_depends_on(check->arena, loop->operands[0], id, NULL) &&
                       value_depends_on(check->arena, access->op->operands[0], id, NULL);
    }
    for (int axis = 0; axis < PROGRAM_AXES && takes_turns; axis++) {
        const Value *count = check->axes.program_counts[axis];
        if (count && value_depends_on(check->arena, step, count, NULL)) return true;
    }
    return false;
}

static void tell_first_turn(Check *check, const Access *access, const Op *loop) {
    const char *counter = loop->regions[0]->arguments[0]->name;
    Diagnostic *said = check_report(
        check, DIAGNOSTIC_LOOP_STEP, access->op,
        "each iteration of the loop loads the elements of %s that the first one does: the address has "
        "%s, and not %s",
        access->parameter->name, check_name(check, loop->operands[0]),
        counter ? counter : "the loop's counter");
    check_relate(check, said, loop, "the loop");
}

static void check_invariant_load(Check *check, const Access *access) {
    const Op *loop = enclosing_loop(access->op);
    if (!loop || !access->parameter || check_is_stored(check, access->parameter) ||
        !type_is_tile(access->op->results[0]->type) || !is_invariant(access, loop))
        return;
    if (has_idle_counter(check, loop)) {
        tell_idle_counter(check, access, loop);
        return;
    }
    if (is_of_first_turn(check, access, loop)) {
        tell_first_turn(check, access, loop);
        return;
    }
    Diagnostic *said = check_report(
        check, DIAGNOSTIC_LOOP_INVARIANT_LOAD, access->op,
        "each iteration of the loop loads the same elements of %s: load them before it",
        access->parameter->name);
    check_relate(check, said, loop, "the loop");
}

/// `acc += tl.sum(x)`: one exchange between threads per iteration, where one after the loop is enough.
static void check_reductions(Check *check, Op *loop) {
    Carried *carried = loop_classify(check->arena, loop);
    for (int i = 3; i < loop->operand_count; i++) {
        Value *term = carried[i - 3].class == CARRIED_SUM ? carried[i - 3].term : NULL;
        if (!term || !term->op || term->op->code != OP_SUM || loop->results[i - 3]->type.rank != 0)
            continue;
        Diagnostic *said = check_report(
            check, DIAGNOSTIC_REDUCTION_IN_LOOP, term->op,
            "this reduces across threads in each iteration of the loop: add up tiles, and reduce once after it");
        check_relate(check, said, loop, "the loop");
    }
}

void check_loop_work(Check *check) {
    for (LIST_EACH(int, i, check->memory)) check_invariant_load(check, check->memory.items[i]);
    for (LIST_EACH(int, i, check->ops))
        if (check->ops.items[i]->code == OP_FOR) check_reductions(check, check->ops.items[i]);
}

/* ---- loops that must run in order ---- */

/// The loop's carried value number `k`: as an iteration starts, and what it becomes in it.
static const Value *loop_argument(const Op *loop, int k) {
    return loop->regions[0]->arguments[k + 1];
}

static Value *loop_next(const Op *loop, int k) {
    const Op *end = region_terminator(loop->regions[0]);
    return end && k < end->operand_count ? end->operands[k] : NULL;
}

/// `where(x < best, x, best)`: the smaller or the larger one of the two that are compared.
static bool is_choice_of_compared(const Op *op, const Value *argument) {
    const Value *condition = check_strip(op->operands[0]);
    const Op *compared = condition ? condition->op : NULL;
    if (!compared || !op_has(compared->code, TRAIT_ORDERS)) return false;
    const Value *sides[] = {check_strip(compared->operands[0]), check_strip(compared->operands[1])};
    const Value *branches[] = {check_strip(op->operands[1]), check_strip(op->operands[2])};
    bool is_same = sides[0] == branches[0] && sides[1] == branches[1];
    bool is_turned = sides[0] == branches[1] && sides[1] == branches[0];
    return (is_same || is_turned) && (sides[0] == argument || sides[1] == argument);
}

/// Whether a state is the largest or smallest value of the iterations so far, as good as a sum in any order; also one that an `if`
/// leaves alone or a `where` guards.
static bool is_extreme(Value *next, const Value *argument, int depth) {
    enum { DEEPEST = 8 };
    const Value *value = check_strip(next);
    const Op *op = value ? value->op : NULL;
    if (!op || depth == DEEPEST) return false;
    switch (op->code) {
    case OP_MAXIMUM:
    case OP_MINIMUM: return true;
    case OP_MAX:
    case OP_MIN: return is_extreme(op->operands[0], argument, depth + 1);
    case OP_WHERE:
        return is_choice_of_compared(op, argument) ||
               is_extreme(op->operands[1], argument, depth + 1) ||
               is_extreme(op->operands[2], argument, depth + 1);
    case OP_IF:
        for (int i = 0; i < op->region_count; i++) {
            const Op *end = region_terminator(op->regions[i]);
            if (end && value->index < end->operand_count &&
                is_extreme(end->operands[value->index], argument, depth + 1))
                return true;
        }
        return false;
    default: return false;
    }
}

/// Whether a state is kept relative to a running maximum of the same loop, as the sums of an online softmax are: a sum, too.
static bool is_of_extreme(const Check *check, const Op *loop, int k) {
    for (int i = 0; i < loop->result_count; i++) {
        const Value *argument = loop_argument(loop, i);
        Value *next = loop_next(loop, i);
        if (next && is_extreme(next, argument, 0) &&
            (i == k || value_depends_on(check->arena, loop_next(loop, k), argument, NULL)))
            return true;
    }
    return false;
}

/// The first state of a loop that goes from iteration to iteration in order, or NULL.
static const Value *find_recurrence(const Check *check, const Op *loop) {
    const Carried *carried = loop_classify(check->arena, loop);
    for (int k = 0; k < loop->result_count; k++) {
        const Value *argument = loop_argument(loop, k), *next = loop_next(loop, k);
        if (carried[k].class == CARRIED_RECURRENCE && argument->name && next &&
            argument->type.kind == TYPE_NUMBER && dtype_is_float(argument->type.element) &&
            !is_of_extreme(check, loop, k) && value_depends_on(check->arena, next, argument, NULL))
            return argument;
    }
    return NULL;
}

void check_loops(Check *check) {
    for (LIST_EACH(int, i, check->ops)) {
        const Op *loop = check->ops.items[i];
        const Value *state = loop->code == OP_FOR ? find_recurrence(check, loop) : NULL;
        if (!state) continue;
        check_report(
            check, DIAGNOSTIC_LOOP_RECURRENCE, loop,
            "`%s` of one iteration is computed from `%s` of the iteration before, so the iterations run in this order, "
            "and backwards in a backward",
            state->name, state->name);
        return;  // of a kernel's loops one is enough: nothing can be done about it
    }
}
