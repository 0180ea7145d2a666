#include "analysis/cost/count.h"

#include <math.h>

#include "analysis/cost/counter.h"

static void add(Counts *sum, const Counts *more, int64_t times) {
    for (int i = 0; i < WORK_KINDS; i++) sum->work[i] += more->work[i] * times;
    for (int i = 0; i < WORK_MEMORY_KINDS; i++) sum->on[i] += more->on[i] * times;
    sum->is_open |= more->is_open;
    sum->is_on_open |= more->is_on_open;
    sum->is_wide_open |= more->is_wide_open;
}

static bool is_whole(const Counts *counts) { return !counts->is_open && !counts->is_on_open; }

static int bits_of(const Counter *counter, DType element) {
    if (element.code == DTYPE_OF_PARAMETER && element.parameter >= 0 &&
        element.parameter < counter->function->parameter_count)
        return counter->launch->bits[element.parameter];
    return element.code > DTYPE_OF_PARAMETER ? dtype_bits(element.code) : 0;
}

/// Truths take a byte of memory each.
static int64_t bytes_of(int64_t elements, int bits) {
    return bits < 8 ? elements : elements * bits / 8;
}

static void count_work(Counter *counter, Op *op, Counts *sum) {
    Work work = work_of(counter->arena, op);
    if (!work.is_some) return;
    double amount = counter_poly(counter, work.amount);
    if (isnan(amount)) {
        sum->is_wide_open = true;
        return;
    }
    if ((int)work.kind >= WORK_MEMORY_KINDS) {
        sum->work[work.kind] += (int64_t)amount;
        return;
    }
    int bits = bits_of(counter, work.element);
    int64_t on = counter_lanes_on(counter, op);
    sum->is_wide_open |= !bits;
    sum->is_on_open |= on < 0;
    sum->work[work.kind] += bytes_of((int64_t)amount, bits);
    sum->on[work.kind] += bytes_of(on < 0 ? (int64_t)amount : on, bits);
}

static Counts count_region(Counter *counter, const Region *region);

/* ---- loops and branches ---- */

static void forget(Counter *counter, Value *const *values, int count) {
    for (int i = 0; i < count; i++) counter_set(counter, values[i], NAN);
}

/// Each of `to` becomes what `from` has, all at once.
static void hand_on(Counter *counter, Value *const *from, int from_count, Value *const *to,
                    int count) {
    double *numbers = ARENA_ARRAY(counter->arena, double, count + 1);
    for (int i = 0; i < count; i++)
        numbers[i] = i < from_count ? counter_number(counter, from[i]) : NAN;
    for (int i = 0; i < count; i++) counter_set(counter, to[i], numbers[i]);
}

static bool is_over(const Counter *counter) { return counter->steps > counter->launch->most_steps; }

static Counts count_for(Counter *counter, const Op *op) {
    const Region *body = op->regions[0];
    int carried = body->argument_count - 1;
    double lower = counter_number(counter, op->operands[0]),
           upper = counter_number(counter, op->operands[1]),
           step = counter_number(counter, op->operands[2]);
    Counts sum = {0};
    double trips = step > 0   ? ceil((upper - lower) / step)
                   : step < 0 ? ceil((lower - upper) / -step)
                              : NAN;
    if (trips <= 0) {
        hand_on(counter, op->operands + 3, op->operand_count - 3, op->results, op->result_count);
        return sum;
    }
    forget(counter, body->arguments, body->argument_count);
    Counts once = count_region(counter, body);
    forget(counter, op->results, op->result_count);
    add(&sum, &once, isnan(trips) ? 1 : (int64_t)trips);
    sum.is_open |= isnan(trips);
    if (isnan(trips) || is_whole(&once) || is_over(counter)) return sum;
    Counts followed = {0};
    hand_on(counter, op->operands + 3, op->operand_count - 3, body->arguments + 1, carried);
    for (int64_t i = 0; i < (int64_t)trips; i++) {
        counter_set(counter, body->arguments[0], lower + (double)i * step);
        once = count_region(counter, body);
        add(&followed, &once, 1);
        const Op *yield = region_terminator(body);
        if (yield)
            hand_on(counter, yield->operands, yield->operand_count, body->arguments + 1, carried);
        if (is_over(counter)) {
            forget(counter, op->results, op->result_count);
            return sum;
        }
    }
    hand_on(counter, body->arguments + 1, carried, op->results, op->result_count);
    return followed;
}

static Counts count_while(Counter *counter, const Op *op) {
    const Region *condition = op->regions[0], *body = op->regions[1];
    int carried = condition->argument_count;
    Counts sum = {0};
    hand_on(counter, op->operands, op->operand_count, condition->arguments, carried);
    for (;;) {
        Counts asked = count_region(counter, condition);
        add(&sum, &asked, 1);
        const Op *end = region_terminator(condition);
        double holds = end && end->operand_count ? counter_number(counter, end->operands[0]) : NAN;
        if (holds == 0) break;
        hand_on(counter, condition->arguments, carried, body->arguments, body->argument_count);
        Counts once = count_region(counter, body);
        add(&sum, &once, 1);
        if (isnan(holds) || is_over(counter)) {
            sum.is_open = true;
            forget(counter, op->results, op->result_count);
            return sum;
        }
        const Op *yield = region_terminator(body);
        if (yield)
            hand_on(counter, yield->operands, yield->operand_count, condition->arguments, carried);
    }
    hand_on(counter, condition->arguments, carried, op->results, op->result_count);
    return sum;
}

static Counts larger(const Counts *a, const Counts *b) {
    Counts sum = *a;
    for (int i = 0; i < WORK_KINDS; i++)
        if (b->work[i] > sum.work[i]) sum.work[i] = b->work[i];
    for (int i = 0; i < WORK_MEMORY_KINDS; i++)
        if (b->on[i] > sum.on[i]) sum.on[i] = b->on[i];
    sum.is_open = true;
    sum.is_on_open |= b->is_on_open;
    sum.is_wide_open |= b->is_wide_open;
    return sum;
}

static bool is_nothing(const Counts *counts) {
    for (int i = 0; i < WORK_KINDS; i++)
        if (counts->work[i]) return false;
    return is_whole(counts) && !counts->is_wide_open;
}

static Counts count_if(Counter *counter, const Op *op) {
    double holds = counter_number(counter, op->operands[0]);
    if (!isnan(holds)) {
        const Region *taken = op->regions[holds != 0 ? 0 : 1];
        Counts sum = count_region(counter, taken);
        const Op *yield = region_terminator(taken);
        if (yield)
            hand_on(counter, yield->operands, yield->operand_count, op->results, op->result_count);
        return sum;
    }
    Counts then = count_region(counter, op->regions[0]),
           otherwise = count_region(counter, op->regions[1]);
    forget(counter, op->results, op->result_count);
    return is_nothing(&then) && is_nothing(&otherwise) ? then : larger(&then, &otherwise);
}

static Counts count_region(Counter *counter, const Region *region) {
    Counts sum = {0};
    for (Op *op = region->first; op; op = op->next) {
        Counts inner = {0};
        counter->steps++;
        if (op->code == OP_FOR || op->code == OP_STATIC_FOR)
            inner = count_for(counter, op);
        else if (op->code == OP_WHILE)
            inner = count_while(counter, op);
        else if (op->code == OP_IF)
            inner = count_if(counter, op);
        else {
            counter_take(counter, op);
            count_work(counter, op, &inner);
        }
        if (op->code == OP_UNKNOWN) inner.is_open = true;
        add(&sum, &inner, 1);
    }
    return sum;
}

/* ---- programs ---- */

/// With the ids of the axes in `known` (a bit each) taken one by one, and the others left open.
static Counts count_programs(Counter *counter, unsigned known) {
    const int64_t *grid = counter->launch->grid;
    Counts sum = {0};
    int64_t times = 1, programs = 1;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        bool is_known = (known >> axis) & 1;
        if (is_known) programs *= grid[axis];
        if (!is_known) times *= grid[axis];
    }
    for (int64_t i = 0; i < programs; i++) {
        int64_t rest = i;
        for (int axis = 0; axis < PROGRAM_AXES; axis++) {
            bool is_known = (known >> axis) & 1;
            counter->program[axis] = is_known ? rest % grid[axis] : grid[axis] == 1 ? 0 : -1;
            if (is_known) rest /= grid[axis];
        }
        Counts one = count_region(counter, counter->function->body);
        add(&sum, &one, times);
        if (is_over(counter)) {
            sum.is_open = sum.is_on_open = true;
            return sum;
        }
    }
    return sum;
}

Counts count_launch(Arena *arena, const Function *function, const CountedLaunch *launch) {
    Counter counter = {.arena = arena,
                       .function = function,
                       .launch = launch,
                       .former = former_new(arena),
                       .value_count = function->value_count,
                       .numbers = ARENA_ARRAY(arena, double, function->value_count + 1)};
    for (int i = 0; i < function->value_count; i++) counter.numbers[i] = NAN;
    for (int i = 0; i < function->parameter_count; i++)
        counter_set(&counter, function->parameters[i].value, launch->numbers[i]);
    Counts best = count_programs(&counter, 0);
    // Of few axes first: the ids of others need not be told apart.
    static const unsigned orders[] = {1, 2, 4, 3, 5, 6, 7};
    for (size_t i = 0; i < sizeof orders / sizeof *orders && !is_whole(&best); i++) {
        counter.steps = 0;
        Counts counts = count_programs(&counter, orders[i]);
        if (is_over(&counter)) break;
        bool is_better = (best.is_open && !counts.is_open) ||
                         (best.is_open == counts.is_open && best.is_on_open && !counts.is_on_open);
        if (is_better) best = counts;
    }
    return best;
}
