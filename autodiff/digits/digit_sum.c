// An address in; the digits of one number that it is a sum of out.
#include "autodiff/digits/digit_sum.h"

#include "analysis/addresses/affine_axes.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/place.h"

enum { MOST_STEPS = 256 };  // an address has few terms; one that doubles itself is not understood

static const Poly *one(Arena *arena) { return poly_constant(arena, 1); }

static bool is_one(const Poly *poly) {
    int64_t number;
    return poly_is_constant(poly, &number) && number == 1;
}

/// Whether nothing but loops whose length is known make the number vary within a launch.
static bool is_fixed_but_for_loops(Arena *arena, const Poly *poly) {
    for (int t = 0; t < poly->count; t++)
        for (int a = 0; a < poly->terms[t].atom_count; a++) {
            Value *atom = poly->terms[t].atoms[a];
            if (!value_is_loop_variable(atom) && !poly_is_fixed(arena, poly_atom(arena, atom)))
                return false;
        }
    return true;
}

/// A number that is the same for all programs and lanes; NULL for others.
static const Poly *even_number(const DigitSum *sum, Value *value) {
    Affine form = affine_by(sum->search.former, value);
    if (!form.known || form.wrapped) return NULL;
    for (int k = 0; k < form.rank; k++)
        if (!poly_is_zero(form.lane[k])) return NULL;
    return is_fixed_but_for_loops(sum->arena, form.base) ? form.base : NULL;
}

/// The number that an address has a digit of, or NULL.
static Value *find_number(DigitSum *sum, Value *value) {
    Value *number = NULL;
    FlatDigit digit;
    if (digit_is_divided(value) && digit_find(&sum->search, value, &number, &digit)) return number;
    const Op *op = sum->steps++ < MOST_STEPS ? value->op : NULL;
    for (int i = 0; op && i < op->operand_count && !number; i++)
        if (op->operands[i]) number = find_number(sum, op->operands[i]);
    return number;
}

static bool add_digit(DigitSum *sum, Value *value, const Poly *weight) {
    Value *number;
    FlatDigit digit;
    if (!digit_find(&sum->search, value, &number, &digit) || number != sum->number ||
        sum->count == ADDRESS_MOST_DIGITS)
        return false;
    digit.weight = weight;
    sum->digits[sum->count++] = digit;
    return true;
}

bool digit_sum_add(DigitSum *sum, Value *value, const Poly *weight) {
    if (!weight || sum->steps++ >= MOST_STEPS) return false;
    const Poly *fixed = value->type.kind == TYPE_POINTER ? NULL : even_number(sum, value);
    if (fixed) {
        fixed = poly_multiply(sum->arena, fixed, weight);
        if (fixed) sum->base = poly_add(sum->arena, sum->base, fixed);
        return fixed != NULL;
    }
    const Op *op = value->op;
    if (value == sum->number) return add_digit(sum, value, weight);
    if (value_may_wrap(value)) return false;
    if (!op) {
        bool is_first = value->type.kind == TYPE_POINTER && !sum->parameter;
        if (is_first) sum->parameter = value;
        return is_first && value->region && !value->region->parent;
    }
    switch (op->code) {
    case OP_CAST: return op_keeps_numbers(op) && digit_sum_add(sum, op->operands[0], weight);
    case OP_BROADCAST_TO: return digit_sum_add(sum, op->operands[0], weight);
    case OP_ADD:
        return digit_sum_add(sum, op->operands[0], weight) &&
               digit_sum_add(sum, op->operands[1], weight);
    case OP_SUB:
        return digit_sum_add(sum, op->operands[0], weight) &&
               digit_sum_add(sum, op->operands[1],
                             poly_multiply(sum->arena, weight, poly_constant(sum->arena, -1)));
    case OP_MUL:
        for (int i = 0; i < 2; i++) {
            const Poly *factor = digit_fixed_number(&sum->search, op->operands[i]);
            if (!factor) continue;
            factor = poly_multiply(sum->arena, factor, weight);
            return digit_sum_add(sum, op->operands[1 - i], factor);
        }
        return false;
    default: return add_digit(sum, value, weight);
    }
}

/// Takes the variable of a loop out of the base: it is a digit of its own. False where nobody knows how many values it has.
static bool take_loop(DigitSum *sum, Value *variable) {
    Arena *arena = sum->arena;
    const Op *loop = variable->region->parent;
    const Poly *weight, *rest, *bounds[3];
    if (sum->loop_count == DIGIT_MOST_LOOPS ||
        !poly_split(arena, sum->base, variable, &weight, &rest) || !poly_is_fixed(arena, weight))
        return false;
    for (int i = 0; i < 3; i++) {
        bounds[i] = value_poly(arena, loop->operands[i]);
        if (!poly_is_fixed(arena, bounds[i])) return false;
    }
    if (!is_one(bounds[2]) || !poly_is_zero(bounds[0])) return false;
    if (!poly_is_nonnegative(arena, weight)) {  // counted from the other end
        weight = poly_subtract(arena, poly_constant(arena, 0), weight);
        const Poly *last = poly_subtract(arena, bounds[1], one(arena));
        rest = poly_subtract(arena, rest, poly_multiply(arena, weight, last));
    }
    sum->base = rest;
    sum->variables[sum->loop_count] = variable;
    sum->loops[sum->loop_count++] =
        (DigitRange){.low = one(arena), .extent = bounds[1], .weight = weight};
    return true;
}

static bool take_loops(DigitSum *sum) {
    for (int t = 0; t < sum->base->count; t++)
        for (int a = 0; a < sum->base->terms[t].atom_count; a++) {
            Value *atom = sum->base->terms[t].atoms[a];
            if (!value_is_loop_variable(atom)) continue;
            if (!take_loop(sum, atom)) return false;
            t = -1;  // the base has other terms now
            break;
        }
    return true;
}

bool digit_sum_find(Arena *arena, Op *access, bool may_repeat, DigitSum *sum) {
    Value *address = access->operands[0];
    *sum = (DigitSum){.search = {arena, former_new(arena), may_repeat},
                      .arena = arena,
                      .base = poly_constant(arena, 0)};
    if (address->type.kind != TYPE_POINTER) return false;
    sum->number = find_number(sum, address);
    sum->steps = 0;
    return sum->number && digit_sum_add(sum, address, one(arena)) && sum->parameter &&
           (may_repeat || take_loops(sum));
}
