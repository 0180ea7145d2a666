// An access has the element `e`, and a store of the forward, in the same program, `weight * e + shift`, where weight and shift are of the
// launch. No two programs store to one element there: the derivation assumes so, for each of them takes the upstream gradient. So no
// two programs have one `e`, whatever flags, memory or strides make of it, if the store is reached, and its mask holds, wherever the
// access touches `e`. Lanes and loops that the store has alone are looked at where they begin.
#include "autodiff/addresses/like_store.h"

#include "analysis/addresses/affine_axes.h"
#include "analysis/addresses/strides.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/loops.h"
#include "autodiff/addresses/limits.h"
#include "autodiff/addresses/offset_sum.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/rewrite.h"

enum { MOST_PARTS = 64, MOST_WEIGHTS = 16 };  // of a mask; tried. Beyond: nothing is known

/// One of the conditions that all have to hold, and the lane that each of its axes is.
typedef struct LikePart {
    const Value *value;
    int axes[TYPE_MAX_RANK];
} LikePart;
typedef LIST(LikePart) LikeParts;

/// A variable of a loop around the store, and what it is there.
typedef struct KnownVariable {
    Value *variable;
    const Poly *value;
} KnownVariable;

typedef struct LikeSearch {
    Arena *arena;
    const Function *function;
    Op *op;
    Access access;    // of `op`
    LikeParts parts;  // that hold where `op` touches an element
    Limits limits;    // of these
    const AlikePrograms *alike;
    OffsetSum sum;  // the address of `op`, where it is not linear in its lanes
    Access stored;  // of the store that is looked at
    int lanes
        [TYPE_MAX_RANK];  // of the store -> the lane of `op` that is the same; -1: the first alone
    LIST(KnownVariable) known;
} LikeSearch;

/* ---- parts of masks ---- */

/// False where there are too many.
static bool add_parts(Arena *arena, const Value *mask, const int *axes, LikeParts *parts) {
    const Op *op = mask->op;
    int rank = mask->type.rank;
    int64_t axis;
    if (parts->count == MOST_PARTS) return false;
    if (op && op->code == OP_AND && mask->type.element.code == DTYPE_INT1) {
        for (int i = 0; i < 2; i++) {
            const Value *side = op->operands[i];
            if (!add_parts(arena, side, axes + rank - side->type.rank, parts)) return false;
        }
        return true;
    }
    if (op && op->code == OP_BROADCAST_TO)
        return add_parts(arena, op->operands[0], axes + rank - op->operands[0]->type.rank, parts);
    if (op && op->code == OP_EXPAND_DIMS && value_is_int(op->operands[1], &axis)) {
        if (axis < 0) axis += rank;
        int inner[TYPE_MAX_RANK] = {0};
        for (int i = 0, count = 0; i < rank; i++)
            if (i != axis) inner[count++] = axes[i];
        return add_parts(arena, op->operands[0], inner, parts);
    }
    LikePart part = {.value = mask};
    for (int i = 0; i < rank; i++) part.axes[i] = axes[i];
    LIST_PUSH(arena, parts, part);
    return true;
}

static bool parts_of_mask(Arena *arena, const Access *access, LikeParts *parts) {
    const Value *mask = access_mask(access->op);
    int axes[TYPE_MAX_RANK] = {0};
    if (!mask) return true;
    if (mask->type.rank > access->offset.rank) return false;
    for (int i = 0; i < mask->type.rank; i++) axes[i] = access->offset.rank - mask->type.rank + i;
    return add_parts(arena, mask, axes, parts);
}

/// What holds where `op` touches an element, as far as it is understood.
static void find_parts(LikeSearch *search) {
    int axes[TYPE_MAX_RANK] = {0};
    if (!parts_of_mask(search->arena, &search->access, &search->parts)) search->parts.count = 0;
    for (const Region *region = search->op->parent; region && region->parent;
         region = region->parent->parent)
        if (region->parent->code == OP_IF && region == region->parent->regions[0] &&
            region->parent->operands[0]->type.rank == 0)
            add_parts(search->arena, region->parent->operands[0], axes, &search->parts);
    for (LIST_EACH(int, i, search->parts)) {
        const LikePart *part = &search->parts.items[i];
        limits_of_condition(search->arena, part->value, part->axes, &search->limits);
    }
    limits_of_else_branches(search->arena, search->op, &search->limits);
}

/* ---- the store's loops and branches ---- */

static bool is_around(const Op *op, const Region *region) {
    for (const Region *other = op->parent; other;
         other = other->parent ? other->parent->parent : NULL)
        if (other == region) return true;
    return false;
}

/// The loop around `op` that counts alike, or NULL.
static const Op *loop_alike(const LikeSearch *search, const Op *loop) {
    for (const Op *outer = search->op->parent->parent; outer; outer = outer->parent->parent)
        if (outer->code == OP_FOR && outer->operands[0] == loop->operands[0] &&
            outer->operands[1] == loop->operands[1] && outer->operands[2] == loop->operands[2])
            return outer;
    return NULL;
}

/// Whether the store is reached wherever `op` is: in the like iterations of the loops of both, in the first of others.
static bool is_reached(LikeSearch *search, const Op *store) {
    for (const Region *region = store->parent; region && region->parent;
         region = region->parent->parent) {
        const Op *around = region->parent;
        if (is_around(search->op, region)) continue;
        if (around->code == OP_IF) {
            if (!op_is_in_like_branch(search->op, region)) return false;
            continue;
        }
        if (around->code != OP_FOR) return false;
        KnownVariable known = {.variable = region->arguments[0]};
        const Op *like = loop_alike(search, around);
        if (like) {
            known.value = poly_atom(search->arena, like->regions[0]->arguments[0]);
        } else {
            Affine lower = affine_of(search->arena, around->operands[0]);
            if (!lower.known || lower.rank || !poly_is_fixed(search->arena, lower.base) ||
                !loop_has_iteration(search->arena, around))
                return false;
            known.value = lower.base;
        }
        LIST_PUSH(search->arena, &search->known, known);
    }
    return true;
}

static bool is_alike(const AlikePrograms *alike, const Value *id) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (alike->whole[axis] && value_is_program_id(id, axis)) return true;
        for (int digit = 0; digit < TILE_MOST_DIGITS; digit++)
            if (alike->tiles[axis][digit] && value_is_tile_index(id, axis, digit)) return true;
    }
    return false;
}

/// Whether it is 0 in the first of the programs that are taken for one: an id, or a digit of it.
static bool is_first_program(const AlikePrograms *alike, const Value *atom) {
    const Op *op = atom->op;
    if (is_alike(alike, atom)) return true;
    if (!op || (op->code != OP_FLOORDIV && op->code != OP_MOD)) return false;
    const Value *id = op->operands[0];
    while (id->op && op_keeps_numbers(id->op)) id = id->op->operands[0];
    return is_alike(alike, id) && value_is_of_parameters(op->operands[1]);
}

const Poly *poly_in_first_program(Arena *arena, const Poly *poly, const AlikePrograms *alike) {
    bool changes = alike != NULL;
    while (poly && changes) {
        changes = false;
        for (int t = 0; !changes && t < poly->count; t++)
            for (int i = 0; !changes && i < poly->terms[t].atom_count; i++)
                if (is_first_program(alike, poly->terms[t].atoms[i])) {
                    poly = poly_substitute(arena, poly, poly->terms[t].atoms[i],
                                           poly_constant(arena, 0));
                    changes = true;
                }
    }
    return poly;
}

/// In the iterations and programs that are looked at; NULL where that cannot be said.
static const Poly *settled(const LikeSearch *search, const Poly *poly) {
    for (LIST_EACH(int, i, search->known))
        if (poly)
            poly = poly_substitute(search->arena, poly, search->known.items[i].variable,
                                   search->known.items[i].value);
    return poly_in_first_program(search->arena, poly, search->alike);
}

/* ---- the element ---- */

static const Poly *size_of(const Access *access, int lane) {
    Type type = access->op->operands[0]->type;
    return lane < type.rank ? type.dims[lane] : NULL;
}

static bool is_one(const Poly *poly) {
    int64_t number;
    return poly && poly_is_constant(poly, &number) && number == 1;
}

/// Finds for each lane of `op` one of the store that goes along with it.
static bool match_lanes(LikeSearch *search, const Poly *weight) {
    const Affine *own = &search->access.offset, *stored = &search->stored.offset;
    for (int k = 0; k < TYPE_MAX_RANK; k++) search->lanes[k] = -1;
    for (int i = 0; i < own->rank; i++) {
        const Poly *size = size_of(&search->access, i);
        if (is_one(size)) continue;
        const Poly *step = poly_multiply(search->arena, own->lane[i], weight);
        int k = 0;
        while (k < stored->rank &&
               (search->lanes[k] >= 0 || !poly_equal(stored->lane[k], step) || !size ||
                !size_of(&search->stored, k) || !poly_equal(size_of(&search->stored, k), size)))
            k++;
        if (k == stored->rank) return false;
        search->lanes[k] = i;
    }
    return true;
}

/// Whether the same condition holds where `op` touches an element, of the same lanes.
static bool is_held(const LikeSearch *search, const LikePart *part) {
    for (LIST_EACH(int, i, search->parts)) {
        const LikePart *own = &search->parts.items[i];
        if (own->value != part->value) continue;
        bool is_same = true;
        for (int a = 0; a < part->value->type.rank; a++)
            is_same &= search->lanes[part->axes[a]] == own->axes[a];
        if (is_same) return true;
    }
    return false;
}

/// The limit as one of the lanes of `op`.
static bool limit_of_own(const LikeSearch *search, const Limit *stored, Limit *own) {
    own->base = settled(search, stored->base);
    for (int i = 0; i < TYPE_MAX_RANK; i++) own->lane[i] = poly_constant(search->arena, 0);
    for (int k = 0; k < TYPE_MAX_RANK; k++) {
        if (search->lanes[k] < 0) continue;
        own->lane[search->lanes[k]] = settled(search, stored->lane[k]);
        if (!own->lane[search->lanes[k]]) return false;
    }
    return own->base != NULL;
}

/// Whether the number is at least 1 in each lane.
static bool is_always(const LikeSearch *search, const Limit *limit) {
    Arena *arena = search->arena;
    const Poly *least = limit->base, *zero = poly_constant(arena, 0);
    for (int i = 0; i < search->access.offset.rank; i++) {
        const Poly *step = limit->lane[i], *size = size_of(&search->access, i);
        if (poly_is_nonnegative(arena, step)) continue;
        if (!size || !poly_is_nonnegative(arena, poly_subtract(arena, zero, step))) return false;
        const Poly *last = poly_subtract(arena, size, poly_constant(arena, 1));
        least = poly_add(arena, least, poly_multiply(arena, step, last));
    }
    return poly_is_size(arena, least);
}

static bool limit_holds(const LikeSearch *search, const Limit *stored) {
    Limit limit;
    if (!limit_of_own(search, stored, &limit)) return false;
    for (LIST_EACH(int, i, search->limits)) {
        const Limit *own = &search->limits.items[i];
        bool is_same = poly_equal(own->base, limit.base);
        for (int k = 0; k < TYPE_MAX_RANK && is_same; k++)
            is_same = poly_equal(own->lane[k], limit.lane[k]);
        if (is_same) return true;
    }
    return is_always(search, &limit);
}

/// Whether the store has the element wherever `op` touches its own.
static bool mask_holds(const LikeSearch *search) {
    LikeParts parts = {0};
    if (!parts_of_mask(search->arena, &search->stored, &parts)) return false;
    for (LIST_EACH(int, i, parts)) {
        const LikePart *part = &parts.items[i];
        if (is_held(search, part)) continue;
        Limits limits = {0};
        if (!limits_of_condition(search->arena, part->value, part->axes, &limits)) return false;
        for (LIST_EACH(int, k, limits))
            if (!limit_holds(search, &limits.items[k])) return false;
    }
    return true;
}

/* ---- the weight ---- */

typedef LIST(const Poly *) Weights;

static bool varies(Arena *arena, const Monomial *term) {
    const Poly one = {1, term};
    return !poly_is_fixed(arena, &one);
}

/// What the first number that differs between programs is multiplied by, in the store and not in the access.
static Weights weights_to_try(const LikeSearch *search, const Poly *stored) {
    Arena *arena = search->arena;
    const Poly *base = search->access.offset.base;
    Weights weights = {0};
    LIST_PUSH(arena, &weights, poly_constant(arena, 1));
    int t = 0;
    while (t < base->count && !varies(arena, &base->terms[t])) t++;
    for (int k = 0; t < base->count && k < stored->count && weights.count < MOST_WEIGHTS; k++) {
        const Poly own = {1, &base->terms[t]}, other = {1, &stored->terms[k]};
        const Poly *weight = poly_divide_exact(arena, &other, &own);
        if (weight && poly_is_fixed(arena, weight)) LIST_PUSH(arena, &weights, weight);
    }
    return weights;
}

static bool is_like(LikeSearch *search, Op *store, LikeStore *like) {
    Arena *arena = search->arena;
    search->stored = access_of(arena, store);
    search->known.count = 0;
    const Affine *offset = &search->stored.offset;
    if (!search->stored.parameter || !offset->known || offset->wrapped) return false;
    if (!is_reached(search, store)) return false;
    const Poly *stored = settled(search, offset->base);
    if (!stored) return false;
    Weights weights = weights_to_try(search, stored);
    for (LIST_EACH(int, i, weights)) {
        const Poly *weight = weights.items[i];
        const Poly *shift =
            poly_subtract(arena, stored, poly_multiply(arena, weight, search->access.offset.base));
        if (!poly_is_fixed(arena, shift) || !match_lanes(search, weight) || !mask_holds(search))
            continue;
        like->weight = weight;
        like->shift = shift;
        return true;
    }
    return false;
}

/* ---- programs that are taken for one ---- */

/// The ids, rows and columns that tell the programs apart.
typedef struct AlikeIds {
    const Value *items[(1 + TILE_MOST_DIGITS) * PROGRAM_AXES];
    int count;
} AlikeIds;

static AlikeIds ids_of(Arena *arena, const Function *function, const AlikePrograms *alike) {
    FunctionAxes axes = function_axes(arena, function);
    AlikeIds ids = {.count = 0};
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        const bool *tiles = alike->tiles[axis];
        bool any = alike->whole[axis];
        for (int digit = 0; digit < TILE_MOST_DIGITS; digit++) any |= tiles[digit];
        if (any && axes.programs[axis]) ids.items[ids.count++] = axes.programs[axis];
        for (int digit = 0; digit < TILE_MOST_DIGITS; digit++)
            if ((alike->whole[axis] || tiles[digit]) && axes.tiles[axis][digit])
                ids.items[ids.count++] = axes.tiles[axis][digit];
    }
    return ids;
}

static bool differs_by(Arena *arena, const Value *value, const AlikeIds *ids) {
    for (int i = 0; i < ids->count; i++)
        if (value_depends_on_axis(arena, value, ids->items[i])) return true;
    return false;
}

bool access_is_alike(Arena *arena, const Function *function, Op *op, const AlikePrograms *alike) {
    const Value *mask = access_mask(op);
    if (!alike) return true;
    const AlikeIds ids = ids_of(arena, function, alike);
    if (differs_by(arena, op->operands[0], &ids) || (mask && differs_by(arena, mask, &ids)))
        return false;
    for (const Op *around = op->parent->parent; around; around = around->parent->parent) {
        bool is_for = around->code == OP_FOR || around->code == OP_STATIC_FOR;
        if (!is_for && around->code != OP_IF) return false;
        for (int i = 0; i < (is_for ? 3 : 1); i++)
            if (around->operands[i] && differs_by(arena, around->operands[i], &ids)) return false;
    }
    return true;
}

/* ---- addresses that are not linear in their lanes ---- */

/// Whether the store has the same tile for its address, a number of the launch before or behind, in the same iterations.
static bool is_same_tile(LikeSearch *search, Op *store, LikeStore *like) {
    Arena *arena = search->arena;
    search->stored = access_of(arena, store);
    search->known.count = 0;
    const int rank = search->op->operands[0]->type.rank;
    if (!search->stored.parameter || store->operands[0]->type.rank != rank ||
        !is_reached(search, store) || search->known.count)
        return false;
    const OffsetSum stored = offset_sum_of(arena, store->operands[0]);
    const Poly *shift = offset_sum_distance(arena, &stored, &search->sum);
    if (!shift || !poly_is_fixed(arena, shift)) return false;
    for (int k = 0; k < TYPE_MAX_RANK; k++) search->lanes[k] = k < rank ? k : -1;
    search->stored.offset.rank = rank;
    if (!mask_holds(search)) return false;
    like->weight = poly_constant(arena, 1);
    like->shift = shift;
    return true;
}

typedef struct LikeUpstreams {
    LikeSearch *search;
    const Map *stored;
    LikeStores found;
} LikeUpstreams;

static bool visit_upstream(void *context, Op *op) {
    LikeUpstreams *stores = context;
    LikeStore like = {.upstream = op};
    const bool is_linear = stores->search->access.offset.known;
    if (map_has_pointer(stores->stored, op) &&
        (is_linear ? is_like : is_same_tile)(stores->search, op, &like))
        LIST_PUSH(stores->search->arena, &stores->found, like);
    return true;
}

LikeStores like_stores_find(Arena *arena, const Function *function, const Map *stored, Op *op,
                            const AlikePrograms *alike) {
    LikeSearch search = {.arena = arena,
                         .function = function,
                         .op = op,
                         .access = access_of(arena, op),
                         .alike = alike};
    LikeUpstreams stores = {.search = &search, .stored = stored};
    Affine *offset = &search.access.offset;
    if (!search.access.parameter || (offset->known && offset->wrapped)) return stores.found;
    if (!offset->known) {
        if (alike || op->operands[0]->type.kind != TYPE_POINTER) return stores.found;
        search.sum = offset_sum_of(arena, op->operands[0]);
        offset->rank = op->operands[0]->type.rank;
    }
    if (!access_is_alike(arena, function, op, alike)) return stores.found;
    find_parts(&search);
    region_walk(function->body, visit_upstream, &stores);
    return stores.found;
}

const LikeStore *like_stores_of_both(const LikeStores *a, const LikeStores *b) {
    for (LIST_EACH(int, i, *a))
        for (LIST_EACH(int, k, *b)) {
            const LikeStore *one = &a->items[i], *other = &b->items[k];
            if (poly_equal(one->weight, other->weight) && poly_equal(one->shift, other->shift) &&
                pointer_root(one->upstream->operands[0]) ==
                    pointer_root(other->upstream->operands[0]))
                return one;
        }
    return NULL;
}
