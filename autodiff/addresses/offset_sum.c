// From a tile of pointers to its root and what is added to it. A tile that cannot be taken apart (`p // HALF`, a loaded index) is a term as it is:
// so two addresses can be told to be alike whose lanes nobody understands.
#include "autodiff/addresses/offset_sum.h"

#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "autodiff/rewrite/rewrite.h"

enum { MOST_STEPS = 256 };  // an address has few terms; one that doubles itself is not understood

typedef struct Summing {
    Arena *arena;
    OffsetSum *sum;
    int steps;
} Summing;

static void add_term(const Summing *summing, const Value *tile, const Poly *weight,
                     const int *axes) {
    OffsetTerm term = {.tile = tile, .weight = weight};
    for (int i = 0; i < tile->type.rank; i++) term.axes[i] = axes[i];
    for (LIST_EACH(int, i, summing->sum->terms)) {
        OffsetTerm *known = &summing->sum->terms.items[i];
        bool is_same = known->tile == tile;
        for (int k = 0; k < tile->type.rank; k++) is_same = is_same && known->axes[k] == axes[k];
        if (!is_same) continue;
        known->weight = poly_add(summing->arena, known->weight, weight);
        return;
    }
    LIST_PUSH(summing->arena, &summing->sum->terms, term);
}

/// A tile that is not taken apart; false for one of pointers.
static bool add_whole(const Summing *summing, const Value *value, const Poly *weight,
                      const int *axes) {
    if (value->type.kind == TYPE_POINTER) return false;
    add_term(summing, value, weight, axes);
    return true;
}

static bool add(Summing *summing, Value *value, const Poly *weight, const int *axes);

static bool add_expanded(Summing *summing, const Value *value, const Poly *weight,
                         const int *axes) {
    int inner[TYPE_MAX_RANK] = {0}, rank = value->type.rank;
    int64_t axis;
    if (!value_is_int(value->op->operands[1], &axis)) return false;
    if (axis < 0) axis += rank;
    for (int i = 0, count = 0; i < rank; i++)
        if (i != axis) inner[count++] = axes[i];
    return add(summing, value->op->operands[0], weight, inner);
}

/// One side of an operation, which may have fewer axes than its result.
static bool add_side(Summing *summing, const Value *value, int side, const Poly *weight,
                     const int *axes) {
    Value *operand = value->op->operands[side];
    return add(summing, operand, weight, axes + value->type.rank - operand->type.rank);
}

static bool add_product(Summing *summing, const Value *value, const Poly *weight, const int *axes) {
    for (int i = 0; i < 2; i++) {
        Value *factor = value->op->operands[i];
        if (factor->type.rank) continue;
        const Poly *all = poly_multiply(summing->arena, value_poly(summing->arena, factor), weight);
        return all && add_side(summing, value, 1 - i, all, axes);
    }
    return add_whole(summing, value, weight, axes);
}

static bool add(Summing *summing, Value *value, const Poly *weight, const int *axes) {
    const Op *op = value->op;
    const bool is_pointer = value->type.kind == TYPE_POINTER;
    Arena *arena = summing->arena;
    if (summing->steps++ >= MOST_STEPS) return false;
    if (is_pointer && !op) {
        const bool is_first = !summing->sum->root;
        summing->sum->root = value;
        return is_first;
    }
    if (!is_pointer && value->type.rank == 0) {
        const Poly *all = poly_multiply(arena, value_poly(arena, value), weight);
        if (all) summing->sum->base = poly_add(arena, summing->sum->base, all);
        return all != NULL;
    }
    if (!op || (!is_pointer && value_may_wrap(value)))
        return add_whole(summing, value, weight, axes);
    switch (op->code) {
    case OP_BROADCAST_TO: return add_side(summing, value, 0, weight, axes);
    case OP_EXPAND_DIMS: return add_expanded(summing, value, weight, axes);
    case OP_ADD:
        return add_side(summing, value, 0, weight, axes) &&
               add_side(summing, value, 1, weight, axes);
    case OP_SUB: {
        const Poly *other = poly_multiply(arena, weight, poly_constant(arena, -1));
        return other && add_side(summing, value, 0, weight, axes) &&
               add_side(summing, value, 1, other, axes);
    }
    case OP_CAST:
        if (!is_pointer && op_keeps_numbers(op)) return add_side(summing, value, 0, weight, axes);
        break;
    case OP_MUL: return add_product(summing, value, weight, axes);
    default: break;
    }
    return add_whole(summing, value, weight, axes);
}

OffsetSum offset_sum_of(Arena *arena, Value *pointer) {
    OffsetSum sum = {.base = poly_constant(arena, 0)};
    Summing summing = {.arena = arena, .sum = &sum};
    int axes[TYPE_MAX_RANK] = {0};
    for (int i = 0; i < pointer->type.rank; i++) axes[i] = i;
    sum.known = pointer->type.kind == TYPE_POINTER &&
                add(&summing, pointer, poly_constant(arena, 1), axes) && sum.root;
    return sum;
}

const Poly *offset_sum_distance(Arena *arena, const OffsetSum *a, const OffsetSum *b) {
    if (!a->known || !b->known) return NULL;
    OffsetSum rest = {.base = poly_subtract(arena, a->base, b->base)};
    const Summing summing = {.arena = arena, .sum = &rest};
    const Poly *minus = poly_constant(arena, -1);
    for (LIST_EACH(int, i, a->terms))
        add_term(&summing, a->terms.items[i].tile, a->terms.items[i].weight,
                 a->terms.items[i].axes);
    for (LIST_EACH(int, i, b->terms)) {
        const OffsetTerm *term = &b->terms.items[i];
        const Poly *weight = poly_multiply(arena, term->weight, minus);
        if (!weight) return NULL;
        add_term(&summing, term->tile, weight, term->axes);
    }
    for (LIST_EACH(int, i, rest.terms))
        if (!poly_is_zero(rest.terms.items[i].weight)) return NULL;
    return rest.base;
}
