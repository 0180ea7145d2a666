// From the bounds of a loop to how programs share its numbers: where one program's range ends, the next one's starts.
#include "autodiff/programs/program_ranges.h"

#include "analysis/addresses/affine.h"

typedef LIST(const Value *) Worklist;

static void push(Arena *arena, Map *seen, Worklist *work, const Value *value) {
    if (!value || map_has_pointer(seen, value)) return;
    map_set_pointer(seen, value, seen);
    LIST_PUSH(arena, work, value);
}

/// Whether anything that a value is made of is the id along the axis.
static bool depends_on_id(Arena *arena, const Value *value, int axis) {
    Map seen = map_new(arena);
    Worklist work = {0};
    push(arena, &seen, &work, value);
    while (work.count) {
        const Value *next = work.items[--work.count];
        if (value_is_program_id(next, axis)) return true;
        const Op *op = next->op ? next->op : next->region ? next->region->parent : NULL;
        if (!op) continue;
        for (int i = 0; i < op->operand_count; i++) push(arena, &seen, &work, op->operands[i]);
        for (int r = 0; r < op->region_count; r++) {
            const Op *end = region_terminator(op->regions[r]);
            for (int i = 0; end && i < end->operand_count; i++)
                push(arena, &seen, &work, end->operands[i]);
        }
    }
    return false;
}

static bool poly_depends_on_id(Arena *arena, const Poly *poly, int axis) {
    for (int t = 0; t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++)
            if (depends_on_id(arena, poly->terms[t].atoms[i], axis)) return true;
    return false;
}

Value *integer_without_casts(Value *value) {
    while (value && value->op && op_keeps_numbers(value->op)) value = value->op->operands[0];
    return value;
}

static const Poly *size_of(Arena *arena, Value *value) {
    Affine form = affine_of(arena, value);
    return form.known && form.rank == 0 ? form.base : NULL;
}

static bool is_same_size(Arena *arena, Value *a, Value *b) {
    const Poly *x = size_of(arena, a), *y = size_of(arena, b);
    return x && y && poly_equal(x, y);
}

/// The operand of `minimum(x, bound)` that depends on the id, where the other one does not.
static Value *cut_of(Arena *arena, Value *value, int axis, Value **bound) {
    const Op *op = integer_without_casts(value)->op;
    if (!op || op->code != OP_MINIMUM) return NULL;
    for (int i = 0; i < 2; i++) {
        *bound = op->operands[1 - i];
        if (depends_on_id(arena, op->operands[i], axis) && !depends_on_id(arena, *bound, axis))
            return op->operands[i];
    }
    return NULL;
}

/// Whether a value is 1 in the programs whose id is below `bound`, 0 in the others.
static bool counts_those_below(Arena *arena, Value *value, int axis, Value *bound) {
    const Op *op = integer_without_casts(value)->op;
    int64_t one, zero;
    if (op && op->code == OP_WHERE && value_is_int(op->operands[1], &one) && one == 1 &&
        value_is_int(op->operands[2], &zero) && zero == 0)
        op = integer_without_casts(op->operands[0])->op;
    if (!op || (op->code != OP_LT && op->code != OP_GT)) return false;
    int id = op->code == OP_GT;
    return value_is_program_id(integer_without_casts(op->operands[id]), axis) &&
           is_same_size(arena, op->operands[1 - id], bound);
}

/// What the next program's `minimum(id, bound)` has more than this one's, times `factor`: taken out of `growth`.
static const Poly *without_step(Arena *arena, const Poly *growth, const Poly *factor, int axis,
                                Value *bound) {
    for (int t = 0; t < growth->count; t++)
        for (int i = 0; i < growth->terms[t].atom_count; i++) {
            Value *atom = growth->terms[t].atoms[i];
            if (counts_those_below(arena, atom, axis, bound))
                return poly_subtract(arena, growth,
                                     poly_multiply(arena, factor, poly_atom(arena, atom)));
        }
    return NULL;
}

/// An atom of a polynomial that depends on the id, or NULL.
static Value *next_atom(Arena *arena, const Poly *poly, int axis) {
    for (int t = 0; t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++)
            if (depends_on_id(arena, poly->terms[t].atoms[i], axis)) return poly->terms[t].atoms[i];
    return NULL;
}

/// Whether `start` is 0 in the first program, and `end` is what `start` is in the next: sums of multiples of the id and of
/// `minimum(id, bound)`.
static bool sums_follow(Arena *arena, const Poly *start, const Poly *end, int axis) {
    const Poly *growth = poly_subtract(arena, end, start);
    while (growth && start->count) {
        Value *atom = next_atom(arena, start, axis), *bound;
        const Poly *factor, *rest;
        if (!atom || !poly_split(arena, start, atom, &factor, &rest)) return false;
        if (poly_depends_on_id(arena, factor, axis)) return false;
        Value *least = cut_of(arena, atom, axis, &bound);
        if (value_is_program_id(atom, axis))
            growth = poly_subtract(arena, growth, factor);
        else if (least && value_is_program_id(integer_without_casts(least), axis))
            growth = without_step(arena, growth, factor, axis, bound);
        else
            return false;
        start = rest;
    }
    return growth && growth->count == 0;
}

/// As sums_follow, of values: also of the same quotient of both.
static bool values_follow(Arena *arena, Value *start, Value *end, int axis) {
    const Op *low = integer_without_casts(start)->op, *high = integer_without_casts(end)->op;
    if (low && high && low->code == OP_FLOORDIV && high->code == OP_FLOORDIV &&
        is_same_size(arena, low->operands[1], high->operands[1]) &&
        !depends_on_id(arena, low->operands[1], axis)) {
        start = low->operands[0];
        end = high->operands[0];
    }
    const Poly *from = size_of(arena, start), *to = size_of(arena, end);
    return from && to && sums_follow(arena, from, to, axis);
}

bool while_counts_in_range(Arena *arena, const Op *loop, int index, int axis) {
    const Region *body = loop->regions[1];
    const Op *next = region_terminator(body)->operands[index]->op;
    if (!next || next->code != OP_ADD) return false;
    bool is_counter =
        next->operands[0] == body->arguments[index] || next->operands[1] == body->arguments[index];
    return is_counter && depends_on_id(arena, loop->operands[index], axis);
}

ProgramRange program_range(Arena *arena, const Op *loop, int axis) {
    for (int i = 0; loop->code == OP_WHILE && i < loop->operand_count; i++)
        if (while_counts_in_range(arena, loop, i, axis)) return RANGE_OPEN;
    bool is_loop = loop->code == OP_FOR || loop->code == OP_STATIC_FOR;
    if (!is_loop || !depends_on_id(arena, loop->operands[0], axis)) return RANGE_COMMON;
    Value *start = loop->operands[0], *end = loop->operands[1], *bound, *other;
    int64_t step;
    if (!value_is_int(loop->operands[2], &step) || step != 1) return RANGE_OPEN;
    Value *uncut = cut_of(arena, end, axis, &bound);
    if (uncut && values_follow(arena, start, uncut, axis)) return RANGE_OWNED;
    Value *from = uncut ? cut_of(arena, start, axis, &other) : NULL;
    if (from && is_same_size(arena, bound, other)) {
        start = from;
        end = uncut;
    }
    return values_follow(arena, start, end, axis) ? RANGE_OWNED : RANGE_OPEN;
}
