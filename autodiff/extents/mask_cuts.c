// Masks and conditions as comparisons of an index with its bound.
#include "autodiff/extents/mask_cuts.h"

#include <string.h>

#include "analysis/addresses/strides.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/type.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/rewrite.h"

bool cuts_are_equal(const StoredSearch *coverage, const MaskCut *a, const MaskCut *b) {
    for (int i = 0; i < coverage->count; i++)
        if (!poly_equal(a->weights[i], b->weights[i])) return false;
    return true;
}

/// What is above 0 where a comparison holds: `right - left`, and 1 more where they may be equal.
static bool add_cut_of(StoredSearch *coverage, const Affine *sides, bool or_equal, const int *lanes,
                       int rank) {
    Arena *arena = coverage->arena;
    const Poly *zero = poly_constant(arena, 0);
    if (coverage->cut_count == STORED_MOST_CUTS) return false;
    MaskCut *cut = &coverage->cuts[coverage->cut_count];
    if (!sides[0].known || !sides[1].known || sides[0].wrapped || sides[1].wrapped) return false;
    const Poly *slack = poly_subtract(arena, sides[1].base, sides[0].base);
    if (or_equal) slack = poly_add(arena, slack, poly_constant(arena, 1));
    if (!split_digits(coverage, slack, cut->weights, &cut->bound)) return false;
    if (coverage->is_most && !poly_text(coverage, cut->bound)) return false;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < sides[side].rank; i++) {
            const Poly *weight = sides[side].lane[i];
            int at = i + rank - sides[side].rank;
            if (poly_is_zero(weight)) continue;
            if (at < 0 || at >= rank || lanes[at] < 0) return false;
            int digit = coverage->lane + lanes[at];
            cut->weights[digit] = side ? poly_add(arena, cut->weights[digit], weight)
                                       : poly_subtract(arena, cut->weights[digit], weight);
        }
    for (int i = 0; i < coverage->count; i++)
        cut->weights[i] = poly_subtract(arena, zero, cut->weights[i]);
    for (int i = 0; i < coverage->cut_count; i++)  // both branches of a condition may set it
        if (cuts_are_equal(coverage, &coverage->cuts[i], cut) &&
            poly_equal(coverage->cuts[i].bound, cut->bound))
            return true;
    coverage->cut_count++;
    return true;
}

static bool add_cut(StoredSearch *coverage, Value *left, Value *right, bool or_equal,
                    const int *lanes, int rank) {
    Affine sides[2] = {affine_of(coverage->arena, left), affine_of(coverage->arena, right)};
    return add_cut_of(coverage, sides, or_equal, lanes, rank);
}

enum { MASK_STEPS = 200 };

static bool add_mask(StoredSearch *coverage, Value *mask, bool is_denied, const int *lanes,
                     int rank, int *steps);

static bool has_cut(const StoredSearch *coverage, const MaskCut *cuts, int count,
                    const MaskCut *cut) {
    for (int i = 0; i < count; i++)
        if (cuts_are_equal(coverage, &cuts[i], cut) && poly_equal(cuts[i].bound, cut->bound))
            return true;
    return false;
}

/// A mask that a branch chose, at most: the one may leave what the other cuts off.
static bool add_chosen_at_most(StoredSearch *coverage, const Value *mask, bool is_denied,
                               const int *lanes, int rank, int *steps) {
    MaskCut first[STORED_MOST_CUTS];
    int before = coverage->cut_count, count = 0, kept = before;
    for (int side = 0; side < 2; side++) {
        Value *end = region_terminator(mask->op->regions[side])->operands[mask->index];
        coverage->cut_count = before;
        if (!add_mask(coverage, end, is_denied, lanes, rank, steps)) return false;
        if (side) break;
        count = coverage->cut_count - before;
        for (int i = 0; i < count; i++) first[i] = coverage->cuts[before + i];
    }
    for (int i = before; i < coverage->cut_count; i++)
        if (has_cut(coverage, first, count, &coverage->cuts[i]))
            coverage->cuts[kept++] = coverage->cuts[i];
    bool is_whole = kept == before + count && kept == coverage->cut_count;
    coverage->is_rough = coverage->is_rough || !is_whole;
    coverage->cut_count = kept;
    return true;
}

/// A mask that a branch chose: what both have.
static bool add_chosen(StoredSearch *coverage, const Value *mask, bool is_denied, const int *lanes,
                       int rank, int *steps) {
    if (coverage->is_most) return add_chosen_at_most(coverage, mask, is_denied, lanes, rank, steps);
    for (int side = 0; side < 2; side++) {
        Value *end = region_terminator(mask->op->regions[side])->operands[mask->index];
        if (!add_mask(coverage, end, is_denied, lanes, rank, steps)) return false;
    }
    return true;
}

static bool is_true_everywhere(const Value *mask) {
    int64_t number;
    const Op *op = mask->op;
    return op && op->code == OP_FULL && value_is_int(op->operands[1], &number) && number == 1;
}

/// A condition, or what it denies where `is_denied`, as cuts; `lanes` of its dimensions. False where it is anything else.
static bool add_mask(StoredSearch *coverage, Value *mask, bool is_denied, const int *lanes,
                     int rank, int *steps) {
    const Op *op = mask->op;
    if (!op || mask->constant || ++*steps > MASK_STEPS) return false;
    Value *a = op->operand_count > 0 ? op->operands[0] : NULL,
          *b = op->operand_count > 1 ? op->operands[1] : NULL;
    int inner[TYPE_MAX_RANK] = {0};
    int64_t axis;
    if (is_true_everywhere(mask)) return !is_denied;
    switch (op->code) {
    case OP_IF: return add_chosen(coverage, mask, is_denied, lanes, rank, steps);
    case OP_AND:
    case OP_OR:
        if ((op->code == OP_OR) != is_denied) return false;
        return add_mask(coverage, a, is_denied, lanes + rank - a->type.rank, a->type.rank, steps) &&
               add_mask(coverage, b, is_denied, lanes + rank - b->type.rank, b->type.rank, steps);
    case OP_EXPAND_DIMS:
        if (!value_is_int(b, &axis)) return false;
        if (axis < 0) axis += rank;
        for (int i = 0; i < rank - 1; i++) inner[i] = lanes[i < axis ? i : i + 1];
        return add_mask(coverage, a, is_denied, inner, rank - 1, steps);
    case OP_BROADCAST_TO:
        return add_mask(coverage, a, is_denied, lanes + rank - a->type.rank, a->type.rank, steps);
    case OP_INVERT:
    case OP_LOGICAL_NOT:
        return mask->type.element.code == DTYPE_INT1 &&
               add_mask(coverage, a, !is_denied, lanes, rank, steps);
    case OP_LT:
        return is_denied ? add_cut(coverage, b, a, true, lanes, rank)
                         : add_cut(coverage, a, b, false, lanes, rank);
    case OP_LE:
        return is_denied ? add_cut(coverage, b, a, false, lanes, rank)
                         : add_cut(coverage, a, b, true, lanes, rank);
    case OP_GT:
        return is_denied ? add_cut(coverage, a, b, true, lanes, rank)
                         : add_cut(coverage, b, a, false, lanes, rank);
    case OP_GE:
        return is_denied ? add_cut(coverage, a, b, false, lanes, rank)
                         : add_cut(coverage, b, a, true, lanes, rank);
    default: return false;
    }
}

bool asks_for_buffer(const Value *asked, const Op *store) {
    const Op *present = asked->op;
    const Op *absent = present && present->code == OP_LOGICAL_NOT ? present->operands[0]->op : NULL;
    return absent && absent->code == OP_IS_NONE &&
           absent->operands[0] == pointer_root(store->operands[0]);
}

/// Lanes of a condition that is not understood: these may be fewer than is known.
static void leave_open(StoredSearch *coverage, const Value *mask, const int *lanes) {
    int64_t number;
    for (int i = 0; i < mask->type.rank; i++) {
        const Poly *dim = mask->type.dims[i];
        bool is_one = dim && poly_is_constant(dim, &number) && number == 1;
        if (!is_one && lanes[i] >= 0) coverage->open_lanes |= 1U << lanes[i];
    }
}

/// What is understood of a mask; the rest leaves its lanes open.
static void add_most(StoredSearch *coverage, Value *mask, const int *lanes, int *steps) {
    const Op *op = mask->op;
    int inner[TYPE_MAX_RANK] = {0}, rank = mask->type.rank;
    int64_t axis;
    if (op && op->code == OP_AND && ++*steps < MASK_STEPS) {
        for (int i = 0; i < 2; i++)
            add_most(coverage, op->operands[i], lanes + rank - op->operands[i]->type.rank, steps);
    } else if (op && op->code == OP_BROADCAST_TO) {
        add_most(coverage, op->operands[0], lanes + rank - op->operands[0]->type.rank, steps);
    } else if (op && op->code == OP_EXPAND_DIMS && value_is_int(op->operands[1], &axis)) {
        if (axis < 0) axis += rank;
        for (int i = 0; i < rank - 1; i++) inner[i] = lanes[i < axis ? i : i + 1];
        add_most(coverage, op->operands[0], inner, steps);
    } else {
        int cuts = coverage->cut_count;
        if (add_mask(coverage, mask, false, lanes, rank, steps)) return;
        coverage->cut_count = cuts;
        coverage->is_rough = true;
        leave_open(coverage, mask, lanes);
    }
}

bool add_most_conditions(StoredSearch *coverage, const Access *access) {
    int lanes[TYPE_MAX_RANK], steps = 0;
    Arena *arena = coverage->arena;
    for (int i = 0; i < TYPE_MAX_RANK; i++) lanes[i] = i;
    for (Op *op = access->op; op->parent->parent; op = op->parent->parent) {
        Op *around = op->parent->parent;
        if (around->code != OP_IF || around->operands[0]->type.rank) continue;
        int cuts = coverage->cut_count;
        if (add_mask(coverage, around->operands[0], op->parent == around->regions[1], lanes, 0,
                     &steps))
            continue;
        coverage->cut_count = cuts;
        bool is_flag = value_is_of_parameters(around->operands[0]);  // its callers ask for these
        coverage->is_rough = coverage->is_rough || !is_flag;
    }
    int rank = access->op->operands[0]->type.rank;
    for (int i = 0; i < access->offset.wrap_count; i++) {
        const Wrap *wrap = &access->offset.wraps[i];
        Affine sides[2] = {affine_of(arena, wrap->value), {.known = true, .base = wrap->modulus}};
        sides[0].wrapped = false;
        int above = rank - wrap->value->type.rank;
        if (above < 0 || !add_cut_of(coverage, sides, false, lanes + above, rank - above))
            return false;
    }
    Value *mask = access_mask(access->op);
    if (!mask) return true;
    int above = rank - mask->type.rank;
    if (above < 0) return false;
    add_most(coverage, mask, lanes + above, &steps);
    return true;
}

/// A branch that flags of the launch choose: `flags` says where it is taken. False where it is anything else.
static bool add_flag(StoredSearch *coverage, Value *asked, bool is_else, const Op *store) {
    Arena *arena = coverage->arena;
    const Op *op = asked->op;
    if (!is_else && asks_for_buffer(asked, store)) return true;
    if (op && op->code == OP_LOGICAL_NOT)
        return add_flag(coverage, op->operands[0], !is_else, store);
    if (op && op->code == OP_LOGICAL_AND && !is_else)
        return add_flag(coverage, op->operands[0], false, store) &&
               add_flag(coverage, op->operands[1], false, store);
    if (op || asked->type.kind != TYPE_NUMBER || asked->type.rank) return false;
    const char *name = poly_text(coverage, value_poly(arena, asked));
    if (!name || strpbrk(name, " (")) return false;
    const char *before = coverage->flags ? arena_printf(arena, "%s and ", coverage->flags) : "";
    coverage->flags = arena_printf(arena, "%s%s%s", before, is_else ? "not " : "", name);
    return true;
}

bool add_conditions(StoredSearch *coverage, Op *store) {
    int lanes[TYPE_MAX_RANK], steps = 0;
    coverage->flags = NULL;
    for (int i = 0; i < TYPE_MAX_RANK; i++) lanes[i] = i;
    for (Op *op = store; op->parent->parent; op = op->parent->parent) {
        Op *around = op->parent->parent;
        if (around->code != OP_IF || around == coverage->deal) continue;
        bool is_else = op->parent == around->regions[1];
        if (!is_else && asks_for_slice(coverage, around)) continue;
        if (add_flag(coverage, around->operands[0], is_else, store)) continue;
        if (around->operands[0]->type.rank ||
            !add_mask(coverage, around->operands[0], is_else, lanes, 0, &steps))
            return false;
    }
    Value *mask = access_mask(store);
    if (!mask) return true;
    int rank = store->operands[0]->type.rank, above = rank - mask->type.rank;
    return above >= 0 && add_mask(coverage, mask, false, lanes + above, mask->type.rank, &steps);
}
