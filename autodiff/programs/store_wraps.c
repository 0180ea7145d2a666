// A store's wraps in, the lanes below the end out.
#include "autodiff/programs/store_wraps.h"

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/addresses/axis.h"
#include "analysis/build/build.h"
#include "analysis/ir/loops.h"
#include "autodiff/addresses/place.h"

enum { DEPTH_MAX = 16 };

static bool starts_at_zero(const Value *value, int depth);

/// Whether a number is counted by the kernel itself and is 0 at first: made of program ids and loops, not of what is passed or
/// loaded, and nothing is added to it.
static bool counts_from_zero(const Value *value, int depth) {
    if (value->constant || value->type.is_constexpr || depth > DEPTH_MAX) return false;
    if (!value->op)
        return value_is_loop_variable(value) &&
               starts_at_zero(value->region->parent->operands[0], depth + 1);
    const Op *op = value->op;
    switch (op->code) {
    case OP_PROGRAM_ID: return true;
    case OP_FLOORDIV:
    case OP_MOD:
    case OP_CAST: return counts_from_zero(op->operands[0], depth + 1);
    case OP_SUB:  // a group's own index: from where the group begins
        return counts_from_zero(op->operands[0], depth + 1) && !op->operands[1]->constant &&
               !op->operands[1]->type.is_constexpr;
    case OP_ADD:
        return counts_from_zero(op->operands[0], depth + 1) &&
               counts_from_zero(op->operands[1], depth + 1);
    case OP_MUL:
    case OP_MINIMUM:
        return counts_from_zero(op->operands[0], depth + 1) ||
               counts_from_zero(op->operands[1], depth + 1);
    case OP_WHERE:
        return counts_from_zero(op->operands[1], depth + 1) &&
               counts_from_zero(op->operands[2], depth + 1);
    case OP_IF:
        for (int branch = 0; branch < 2; branch++) {
            const Op *yield = region_terminator(op->regions[branch]);
            if (!yield || !counts_from_zero(yield->operands[value->index], depth + 1)) return false;
        }
        return true;
    default: return false;
    }
}

static bool starts_at_zero(const Value *value, int depth) {
    int64_t start;
    return value_is_int(value, &start) ? start == 0 : counts_from_zero(value, depth);
}

/// Whether lanes number elements one by one, and programs of which each has a tile leave none out between two of these: what wraps to an
/// element has one below the end then.
static bool has_no_gaps(Arena *arena, const Affine *affine, const Value *index) {
    const Poly *lanes = NULL, *factor, *rest;
    for (int i = 0; i < affine->rank; i++) {
        if (poly_is_zero(affine->lane[i])) continue;
        if (lanes || !poly_equal(affine->lane[i], poly_constant(arena, 1))) return false;
        lanes = index->type.dims[i];
    }
    for (int t = 0; t < affine->base->count; t++)
        for (int i = 0; i < affine->base->terms[t].atom_count; i++) {
            Value *atom = affine->base->terms[t].atoms[i];
            if (!value_is_program_id(atom, -1) || affine->base->count > 1) continue;
            if (!poly_split(arena, affine->base, atom, &factor, &rest)) return false;
            return lanes && poly_equal(factor, lanes);
        }
    return lanes != NULL;
}

/// Whether the first tile begins at index 0.
static bool begins_at_zero(Arena *arena, Value *index) {
    Affine affine = affine_of(arena, index);
    if (!affine.known || affine.wrapped || !has_no_gaps(arena, &affine, index)) return false;
    for (int t = 0; t < affine.base->count; t++) {
        bool counts = false;
        for (int i = 0; i < affine.base->terms[t].atom_count; i++)
            counts = counts || counts_from_zero(affine.base->terms[t].atoms[i], 0);
        if (!counts) return false;
    }
    return true;
}

static const Value *without_axes(const Value *value) {
    while (value->op && (value->op->code == OP_EXPAND_DIMS || value->op->code == OP_BROADCAST_TO ||
                         op_keeps_numbers(value->op) || op_rows[value->op->code].kind == KIND_HINT))
        value = value->op->operands[0];
    return value;
}

/// Whether a number is computed of indices that wrap, and of what is the same in all lanes: lanes that wrap to one element have
/// the same.
static bool is_of_wraps(const LaneMeeting *lanes, const Value *value, int depth) {
    const Value *inner = without_axes(value);
    const Op *op = inner->op;
    if (inner->constant || inner->type.rank == 0) return true;
    if (!op || op->region_count || depth > DEPTH_MAX) return false;
    for (int i = 0; op->code == OP_MOD && i < lanes->wrap_count; i++)
        if (op->operands[0] == lanes->wraps[i].index && op->operands[1] == lanes->wraps[i].count)
            return true;
    bool is_computed = op_rows[op->code].shape == SHAPE_BROADCAST;  // element by element
    for (int i = 0; is_computed && i < op->operand_count; i++)
        is_computed = !op->operands[i] || is_of_wraps(lanes, op->operands[i], depth + 1);
    return is_computed;
}

/// Whether a number is not less in a lane with a larger index, or the same in those that wrap to one element.
static bool grows(Arena *arena, const LaneMeeting *lanes, Value *value) {
    if (is_of_wraps(lanes, value, 0)) return true;
    Affine affine = affine_of(arena, value);
    if (!affine.known || affine.wrapped) return false;
    for (int i = 0; i < affine.rank; i++)
        if (!poly_is_nonnegative(arena, affine.lane[i])) return false;
    return true;
}

/// Whether a mask that holds for a lane past the end holds for that below it, too: it only bounds indices from above.
static bool bounds_from_above(Arena *arena, const LaneMeeting *lanes, Value *mask, int depth) {
    if (!mask) return true;
    const Value *inner = without_axes(mask);
    if (inner->constant || inner->type.rank == 0) return true;
    if (!inner->op || depth > DEPTH_MAX) return false;
    Value *const *operands = inner->op->operands;
    switch (inner->op->code) {
    case OP_AND:
    case OP_LOGICAL_AND:
        return bounds_from_above(arena, lanes, operands[0], depth + 1) &&
               bounds_from_above(arena, lanes, operands[1], depth + 1);
    case OP_LT:
    case OP_LE:
        return without_axes(operands[1])->type.rank == 0 && grows(arena, lanes, operands[0]);
    case OP_GT:
    case OP_GE:
        return without_axes(operands[0])->type.rank == 0 && grows(arena, lanes, operands[1]);
    default: return false;
    }
}

/// The condition with its axes where the store has them; NULL where that is not known.
static Value *expand(Builder *b, Value *condition, const LaneWrap *wrap, int rank) {
    int own = condition->type.rank;
    for (int axis = 1, next = 1; next <= own; axis++) {
        if (axis > rank || wrap->axes[next] < axis) return NULL;
        if (wrap->axes[next] == axis)
            next++;
        else
            condition = build_binary(b, OP_EXPAND_DIMS, condition,
                                     build_int(b, condition->type.rank - axis + 1));
    }
    return condition;
}

Value *lanes_before_wraps(Differentiation *state, Op *store, const LaneMeeting *lanes) {
    int rank = store->operands[0]->type.rank;
    if (!lanes->wrap_count || !bounds_from_above(state->arena, lanes, access_mask(store), 0))
        return NULL;
    for (int i = 0; i < lanes->wrap_count; i++)
        if (!begins_at_zero(state->arena, lanes->wraps[i].index)) return NULL;
    Builder b = {.function = state->primal,
                 .region = store->parent,
                 .before = store,
                 .range = store->range,
                 .call = store->call};
    Value *first = NULL;
    for (int i = 0; i < lanes->wrap_count; i++) {
        const LaneWrap *wrap = &lanes->wraps[i];
        Value *below = build_binary(&b, OP_LT, wrap->index, wrap->count);
        below = expand(&b, below, wrap, rank);
        if (!below) return NULL;
        first = first ? build_binary(&b, OP_AND, first, below) : below;
    }
    return first;
}
