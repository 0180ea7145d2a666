// From an addition whose address wraps around at a bound to one with a mask: elements at and beyond the bound are padding where
// what they add is 0 (scheduling.md, section 4b).
#include "autodiff/padding/unwrap.h"

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/build/infer.h"
#include "autodiff/addresses/place.h"
#include "autodiff/padding/vanishing.h"
#include "autodiff/rewrite/rewrite.h"

/// Values that one search asks about. Beyond: what is added may be anything.
enum { MOST_STEPS = 2000, DEEPEST = 200 };

/// Elements at or beyond `bound`, counted as `start + step * i` along an axis.
typedef struct Padding {
    Arena *arena;
    Former *former;
    const Poly *start, *step, *bound;
    int left;  // steps
    int depth;
    Map loops;  // carried values that are taken to be 0 there while their loop is looked at
} Padding;

/// The axis of operand `index` that lies along `axis` of the result; -1: none, or it is spread along it.
static int axis_of_operand(const Op *op, int index, int axis) {
    Type from = op->operands[index]->type, to = op->results[0]->type;
    int64_t number;
    if (op->code == OP_EXPAND_DIMS) {
        const Value *place = op->operands[1];
        if (place->op && place->op->code == OP_TUPLE && place->op->operand_count == 1)
            place = place->op->operands[0];
        if (!value_is_int(place, &number)) return -1;
        if (number < 0) number += to.rank;
        return axis == number ? -1 : axis - (axis > number);
    }
    if (op->code == OP_TRANS && to.rank == 2 && from.rank == 2)
        return op->operand_count == 1 || !op->operands[1] ? 1 - axis : -1;
    if (op_has(op->code, TRAIT_LAYOUT) && op->code != OP_BROADCAST_TO) return -1;
    int inner = axis - (to.rank - from.rank);
    if (inner < 0 || !from.dims[inner]) return -1;
    bool is_spread = poly_is_constant(from.dims[inner], &number) && number == 1;
    return is_spread ? -1 : inner;
}

static bool moves_elements(const Op *op) {
    return op_has(op->code, TRAIT_LAYOUT) || op->code == OP_CAST ||
           op_rows[op->code].kind == KIND_HINT;
}

/// Whether a comparison along the axis is of the same numbers with the same bound.
static bool compares_alike(const Padding *padding, const Op *op, int axis) {
    if (op->code != OP_LT && op->code != OP_GT) return false;
    int side = op->code == OP_LT ? 0 : 1, inner = axis_of_operand(op, side, axis);
    Affine x = affine_by(padding->former, op->operands[side]);
    Affine bound = affine_by(padding->former, op->operands[1 - side]);
    if (inner < 0 || !x.known || x.wrapped || !bound.known || bound.wrapped) return false;
    for (int i = 0; i < bound.rank; i++)
        if (!poly_is_zero(bound.lane[i])) return false;
    for (int i = 0; i < x.rank; i++)
        if (i != inner && !poly_is_zero(x.lane[i])) return false;
    return inner < x.rank && poly_equal(x.lane[inner], padding->step) &&
           poly_equal(x.base, padding->start) && poly_equal(bound.base, padding->bound);
}

/// Whether a mask is false for all padding along the axis.
static bool mask_fails(Padding *padding, const Value *mask, int axis) {
    const Op *op = mask && axis >= 0 ? mask->op : NULL;
    if (!op || !op->result_count || padding->left-- <= 0 || padding->depth > DEEPEST) return false;
    if (compares_alike(padding, op, axis)) return true;
    bool is_and = op_has(op->code, TRAIT_BOTH);
    if (!is_and && !moves_elements(op)) return false;
    padding->depth++;
    bool fails = false;
    for (int i = 0; i < (is_and ? 2 : 1) && !fails; i++)
        fails = mask_fails(padding, op->operands[i], axis_of_operand(op, i, axis));
    padding->depth--;
    return fails;
}

static bool is_zero(Padding *padding, const Value *value, int axis);

static bool operand_is_zero(Padding *padding, const Op *op, int index, int axis) {
    const Value *operand = op->operands[index];
    if (value_is_zero(operand)) return true;
    int inner = axis_of_operand(op, index, axis);
    return inner >= 0 && is_zero(padding, operand, inner);
}

static bool product_is_zero(Padding *padding, const Op *op, int axis) {
    int side = axis == op->results[0]->type.rank - 1 ? 1 : 0;
    if (axis < op->results[0]->type.rank - 2) return false;
    const Value *acc = op->operand_count > 2 ? op->operands[2] : NULL;
    if (acc && !value_is_none(acc) && !value_is_zero(acc) && !is_zero(padding, acc, axis))
        return false;
    return is_zero(padding, op->operands[side], axis);
}

/// Of a sum along another axis.
static bool sum_is_zero(Padding *padding, const Op *op, int axis) {
    int rank = op->operands[0]->type.rank, kept = op->results[0]->type.rank == rank;
    Value *along = op->operand_count > 1 ? op->operands[1] : NULL;
    int64_t gone;
    if (rank < 2 || !along || !value_is_int(along, &gone)) return false;
    if (gone < 0) gone += rank;
    if (kept) return axis != gone && is_zero(padding, op->operands[0], axis);
    return is_zero(padding, op->operands[0], axis < gone ? axis : axis + 1);
}

/// Of an operation that works element by element: by what its row says of zeros.
static bool element_is_zero(Padding *padding, const Op *op, int axis) {
    bool is_any = op_rows[op->code].zero == ZERO_ANY;
    if (!op_rows[op->code].has_value) return false;
    if (op_rows[op->code].zero == ZERO_FIRST) return operand_is_zero(padding, op, 0, axis);
    if (!is_any && op_rows[op->code].zero != ZERO_ALL) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (operand_is_zero(padding, op, i, axis) == is_any) return is_any;
    return !is_any;
}

/// What a loop carries out: 0 at first, and 0 after an iteration that started with 0.
static bool carried_is_zero(Padding *padding, const Op *loop, int carried, int axis) {
    const Value *argument = loop->regions[0]->arguments[carried + 1];
    const Value *first = loop->operands[3 + carried];
    if (!value_is_zero(first) && !is_zero(padding, first, axis)) return false;
    map_set_pointer(&padding->loops, argument, (void *)(intptr_t)(axis + 1));
    bool stays = is_zero(padding, region_terminator(loop->regions[0])->operands[carried], axis);
    map_set_pointer(&padding->loops, argument, NULL);
    return stays;
}

static bool result_is_zero(Padding *padding, const Value *value, int axis) {
    const Op *op = value->op;
    switch (op->code) {
    case OP_LOAD: {
        int other = op_parameter_index(op->code, STR("other"));
        bool is_filled =
            other < op->operand_count && op->operands[other] && value_is_zero(op->operands[other]);
        return is_filled && mask_fails(padding, access_mask(op), axis);
    }
    case OP_SUM: return sum_is_zero(padding, op, axis);
    case OP_WHERE:
        if (!operand_is_zero(padding, op, 2, axis)) return false;
        return operand_is_zero(padding, op, 1, axis) ||
               mask_fails(padding, op->operands[0], axis_of_operand(op, 0, axis));
    case OP_DOT: return product_is_zero(padding, op, axis);
    case OP_IF:
        for (int r = 0; r < 2; r++) {
            const Value *end = region_terminator(op->regions[r])->operands[value->index];
            if (!value_is_zero(end) && !is_zero(padding, end, axis)) return false;
        }
        return true;
    case OP_FOR:
    case OP_STATIC_FOR: return carried_is_zero(padding, op, value->index, axis);
    default:
        return moves_elements(op) ? operand_is_zero(padding, op, 0, axis)
                                  : element_is_zero(padding, op, axis);
    }
}

/// Whether a value is 0 in all padding along its axis.
static bool is_zero(Padding *padding, const Value *value, int axis) {
    if (!value || padding->left-- <= 0 || padding->depth > DEEPEST) return false;
    if (!value->op) return (intptr_t)map_get_pointer(&padding->loops, value) == (intptr_t)axis + 1;
    padding->depth++;
    bool zero = result_is_zero(padding, value, axis);
    padding->depth--;
    return zero;
}

/* ---- the address ---- */

/// The operation that wraps around, in what an address is made of, and the address's axis that its elements lie along.
typedef struct WrapPlace {
    const Op *op;
    Value *bound;
    int axis;
} WrapPlace;

/// The bound of `x % bound` and of `where(x < bound, x, 0)`.
static Value *bound_of(const Op *op, const Value *wrapped) {
    if (op->code == OP_MOD && op->operands[0] == wrapped) return op->operands[1];
    const Op *condition = op->code == OP_WHERE ? op->operands[0]->op : NULL;
    bool is_wrap = condition && condition->code == OP_LT && condition->operands[0] == wrapped &&
                   op->operands[1] == wrapped;
    return is_wrap ? condition->operands[1] : NULL;
}

/// What both sides of a branch hand on, each in its own width (`if LONG: rows = rows.to(tl.int64)`), or NULL.
static Value *widened_by(const Value *value) {
    Value *ends[2];
    const Op *op = value->op;
    if (op->code != OP_IF) return NULL;
    for (int r = 0; r < 2; r++) {
        ends[r] = region_terminator(op->regions[r])->operands[value->index];
        while (ends[r]->op && op_keeps_numbers(ends[r]->op)) ends[r] = ends[r]->op->operands[0];
    }
    bool is_outside = ends[0] == ends[1] && ends[0]->op && ends[0]->op->parent != op->regions[0];
    return is_outside ? ends[0] : NULL;
}

static bool find_wrap(Padding *padding, Value *address, const Value *wrapped, WrapPlace *place) {
    const Op *op = address ? address->op : NULL;
    if (!op || !op->result_count || padding->left-- <= 0 || padding->depth > DEEPEST) return false;
    Value *bound = address->type.rank == 1 ? bound_of(op, wrapped) : NULL;
    if (bound) {
        *place = (WrapPlace){op, bound, 0};
        return bound->type.rank == 0;
    }
    bool found = false;
    padding->depth++;
    Value *widened = widened_by(address);
    if (widened) found = find_wrap(padding, widened, wrapped, place);
    for (int i = 0; i < op->operand_count && !found; i++) {
        found = op->operands[i] && op->operands[i]->type.rank &&
                find_wrap(padding, op->operands[i], wrapped, place);
        if (!found) continue;
        int axis = -1;
        for (int a = 0; a < address->type.rank; a++)
            if (axis_of_operand(op, i, a) == place->axis) axis = a;
        place->axis = axis;
        found = axis >= 0;
    }
    padding->depth--;
    return found;
}

/// The address with `direct` in the place of what wraps around.
static Value *directed(Builder *b, Value *address, const Op *wrap, Value *direct, Map *copies) {
    Op *op = address->op;
    if (op == wrap) return direct;
    if (!op || !address->type.rank) return address;
    Value *known = map_get_pointer(copies, address);
    if (known) return known;
    Value *widened = widened_by(address);
    if (widened) {
        map_set_pointer(copies, widened, directed(b, widened, wrap, direct, copies));
        op_clone(b, op, copies);
        return map_get_pointer(copies, address);
    }
    bool changes = false;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        Value *operand = directed(b, op->operands[i], wrap, direct, copies);
        if (!operand) return NULL;
        changes = changes || operand != op->operands[i];
        map_set_pointer(copies, op->operands[i], operand);
    }
    if (changes && !op_is_pure(op)) return NULL;
    if (changes) op_clone(b, op, copies);
    known = changes ? map_get_pointer(copies, address) : address;
    map_set_pointer(copies, address, known);
    return known;
}

static bool has_no_negative(const Poly *poly) {
    for (int t = 0; t < poly->count; t++)
        if (poly->terms[t].coefficient < 0) return false;
    return true;
}

static Value *below(Builder *b, Value *numbers, Value *bound, int rank, int axis) {
    Value *mask = build_binary(b, OP_LT, numbers, bound);
    for (int i = 0; i < rank; i++)
        if (i != axis) mask = build_binary(b, OP_EXPAND_DIMS, mask, build_int(b, i));
    return mask;
}

/// One wrap of a statement's address. False where what wraps around may add something.
static bool unwrap(Differentiation *state, Op *op, const Wrap *wrap) {
    Padding padding = {.arena = state->arena,
                       .former = former_new(state->arena),
                       .bound = wrap->modulus,
                       .left = MOST_STEPS,
                       .loops = map_new(state->arena)};
    Affine form = affine_by(padding.former, wrap->value);
    WrapPlace place;
    Value *address = op->operands[0], *added = op->operands[1];
    if (!form.known || form.rank != 1 || form.wrapped || added->type.rank != address->type.rank ||
        !find_wrap(&padding, address, wrap->value, &place))
        return false;
    padding.start = form.base;
    padding.step = form.lane[0];
    // Below 0 a remainder is no remainder of numbers.
    if (!has_no_negative(form.base) || !has_no_negative(form.lane[0])) return false;
    if (!is_zero(&padding, added, place.axis)) return false;
    Builder b = {.function = state->backward,
                 .region = op->parent,
                 .before = op,
                 .range = op->range,
                 .call = op->call};
    Map values = map_new(state->arena);
    Value *direct = directed(&b, address, place.op, wrap->value, &values);
    if (!direct) return false;
    Value *inside = below(&b, wrap->value, place.bound, address->type.rank, place.axis);
    Value *mask = access_mask(op);
    op_set_operand(op, 0, direct);
    op_set_operand(op, 2, mask ? build_binary(&b, OP_AND, mask, inside) : inside);
    return true;
}

void accumulations_unwrap(Differentiation *state) {
    for (int i = 0; i < state->sweep.accumulations.count; i++) {
        Accumulation *statement = &state->sweep.accumulations.items[i];
        if (!statement->op || statement->op->code != OP_ATOMIC_ADD || statement->is_running ||
            statement->op->operand_count < 3)
            continue;
        Access access = access_of(state->arena, statement->op);
        for (int w = 0; access.offset.known && w < access.offset.wrap_count; w++)
            if (!unwrap(state, statement->op, &access.offset.wraps[w])) break;
    }
}
