// From masks and conditions to sums of lanes and sizes that are at least 1 where they hold.
#include "autodiff/addresses/limits.h"

#include "analysis/addresses/affine_axes.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/place.h"

enum { MASK_STEPS = 200 };  // parts of a mask that are looked at. Beyond: it is not understood

static const Poly *zero(Arena *arena) { return poly_constant(arena, 0); }

/// Adds `larger - smaller + slack`, of which the lanes are those of `axes`.
static bool add_limit(Arena *arena, Value *larger, Value *smaller, int slack, const int *axes,
                      int rank, Limits *limits) {
    Affine sides[] = {affine_of(arena, larger), affine_of(arena, smaller)};
    Limit limit = {.base = poly_constant(arena, slack)};
    for (int i = 0; i < TYPE_MAX_RANK; i++) limit.lane[i] = zero(arena);
    for (int s = 0; s < 2; s++) {
        const Poly *sign = poly_constant(arena, s ? -1 : 1);
        if (!sides[s].known || sides[s].wrapped || sides[s].rank > rank) return false;
        limit.base = poly_add(arena, limit.base, poly_multiply(arena, sides[s].base, sign));
        for (int i = 0; i < sides[s].rank; i++) {
            const Poly **lane = &limit.lane[axes[rank - sides[s].rank + i]];
            *lane = poly_add(arena, *lane, poly_multiply(arena, sides[s].lane[i], sign));
        }
    }
    LIST_PUSH(arena, limits, limit);
    return true;
}

/// Lists the comparisons that all have to hold for the mask. False where one of its parts is none.
static bool add_limits(Arena *arena, const Value *mask, const int *axes, Limits *limits,
                       int *steps) {
    const Op *op = mask->op;
    int rank = mask->type.rank;
    int64_t axis;
    if (!op || ++*steps > MASK_STEPS) return false;
    if (op_is_ordering(op->code) && !dtype_is_integer(op->operands[0]->type.element)) return false;
    Value *const *sides = op->operands;
    switch (op->code) {
    case OP_LT: return add_limit(arena, sides[1], sides[0], 0, axes, rank, limits);
    case OP_LE: return add_limit(arena, sides[1], sides[0], 1, axes, rank, limits);
    case OP_GT: return add_limit(arena, sides[0], sides[1], 0, axes, rank, limits);
    case OP_GE: return add_limit(arena, sides[0], sides[1], 1, axes, rank, limits);
    case OP_AND: {
        bool all = true;
        for (int i = 0; i < 2; i++)
            all &= add_limits(arena, sides[i], axes + rank - sides[i]->type.rank, limits, steps);
        return all;
    }
    case OP_BROADCAST_TO:
        return add_limits(arena, sides[0], axes + rank - sides[0]->type.rank, limits, steps);
    case OP_EXPAND_DIMS: {
        if (!value_is_int(sides[1], &axis)) return false;
        if (axis < 0) axis += rank;
        int inner[TYPE_MAX_RANK] = {0};
        for (int i = 0, count = 0; i < rank; i++)
            if (i != axis) inner[count++] = axes[i];
        return add_limits(arena, sides[0], inner, limits, steps);
    }
    default: return false;
    }
}

/// Lists the comparisons that hold where a number that is true or false is false, as far as they are understood.
static void add_negated(Arena *arena, const Value *condition, Limits *limits, int *steps) {
    static const int no_axes[TYPE_MAX_RANK];
    const Op *op = condition->op;
    if (!op || ++*steps > MASK_STEPS) return;
    Value *const *sides = op->operands;
    if (op->code == OP_LOGICAL_NOT) {
        add_limits(arena, sides[0], no_axes, limits, steps);
    } else if (op->code == OP_LOGICAL_OR || op->code == OP_OR) {
        for (int i = 0; i < 2; i++) add_negated(arena, sides[i], limits, steps);
    } else if (op_is_ordering(op->code) && dtype_is_integer(sides[0]->type.element)) {
        bool is_larger = op->code == OP_GT || op->code == OP_GE;
        bool holds_for_equal = op->code == OP_LE || op->code == OP_GE;
        add_limit(arena, sides[is_larger], sides[!is_larger], !holds_for_equal, no_axes, 0, limits);
    }
}

void limits_of_else_branches(Arena *arena, const Op *op, Limits *limits) {
    for (const Region *region = op->parent; region && region->parent;
         region = region->parent->parent) {
        const Op *around = region->parent;
        bool is_else = around->code == OP_IF && region == around->regions[1];
        if (is_else && around->operands[0]->type.rank == 0)
            add_negated(arena, around->operands[0], limits, &(int){0});
    }
}

bool limits_of_mask(Arena *arena, const Access *access, Limits *limits) {
    const Value *mask = access_mask(access->op);
    int axes[TYPE_MAX_RANK] = {0};
    if (!mask) return true;
    if (mask->type.rank > access->offset.rank) return false;
    for (int i = 0; i < mask->type.rank; i++) axes[i] = access->offset.rank - mask->type.rank + i;
    return add_limits(arena, mask, axes, limits, &(int){0});
}

bool limits_of_condition(Arena *arena, const Value *condition, const int *axes, Limits *limits) {
    return add_limits(arena, condition, axes, limits, &(int){0});
}

/// Whether a number steps by what the launch passes: rows of a table, in a bound for all of it.
static bool steps_by_launch(const Poly *poly) {
    for (int t = 0; t < poly->count; t++) {
        bool has_index = false, has_stride = false;
        for (int i = 0; i < poly->terms[t].atom_count; i++) {
            const Value *atom = poly->terms[t].atoms[i];
            bool is_parameter = !atom->op && atom->region && !atom->region->parent;
            has_index |= !is_parameter;
            has_stride |= is_parameter && !atom->type.is_constexpr;
        }
        if (has_index && has_stride) return true;
    }
    return false;
}

bool lanes_are_bounded(Arena *arena, Op *op) {
    Access access = access_of(arena, op);
    Limits limits = {0};
    if (!access.parameter || !access.offset.known) return false;
    limits_of_mask(arena, &access, &limits);
    for (int i = 0; i < access.offset.rank; i++) {
        if (poly_is_zero(access.offset.lane[i])) continue;
        bool is_bounded = false;
        for (LIST_EACH(int, k, limits)) {
            const Limit *limit = &limits.items[k];
            bool is_own = !steps_by_launch(limit->base) &&
                          poly_equal(limit->lane[i], poly_constant(arena, -1));
            for (int j = 0; j < access.offset.rank; j++)
                is_own = is_own && (j == i || poly_is_zero(limit->lane[j]));
            is_bounded = is_bounded || is_own;
        }
        if (!is_bounded) return false;
    }
    return true;
}

/* ---- sizes ---- */

static bool is_of_launch(const Poly *poly) {
    for (int t = 0; t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++) {
            const Value *atom = poly->terms[t].atoms[i];
            if (atom->op || !atom->region || atom->region->parent) return false;
        }
    return true;
}

/// `above // below`, above at least below: as `cdiv` of sizes is.
static bool is_whole_quotient(Arena *arena, const Value *value) {
    if (!value->op || value->op->code != OP_FLOORDIV) return false;
    const Poly *above = value_poly(arena, value->op->operands[0]);
    const Poly *below = value_poly(arena, value->op->operands[1]);
    return is_of_launch(above) && is_of_launch(below) &&
           poly_is_nonnegative(arena, poly_subtract(arena, above, below));
}

bool poly_is_size(Arena *arena, const Poly *poly) {
    for (int t = 0; t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++) {
            const Value *atom = poly->terms[t].atoms[i];
            if (!is_of_launch(poly_atom(arena, poly->terms[t].atoms[i])) &&
                !is_whole_quotient(arena, atom))
                return false;
        }
    return poly_is_nonnegative(arena, poly_subtract(arena, poly, poly_constant(arena, 1)));
}

bool loop_has_iteration(Arena *arena, const Op *loop) {
    Affine lower = affine_of(arena, loop->operands[0]), upper = affine_of(arena, loop->operands[1]);
    Affine step = affine_of(arena, loop->operands[2]);
    return lower.known && upper.known && step.known && poly_is_size(arena, step.base) &&
           poly_is_size(arena, poly_subtract(arena, upper.base, lower.base));
}

bool op_is_in_like_branch(const Op *op, const Region *branch) {
    const Op *condition = branch->parent;
    for (const Region *region = op->parent; region->parent; region = region->parent->parent)
        if (region->parent->code == OP_IF &&
            region->parent->operands[0] == condition->operands[0] &&
            (region == region->parent->regions[0]) == (branch == condition->regions[0]))
            return true;
    return false;
}
