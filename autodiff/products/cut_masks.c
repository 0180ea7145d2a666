// A loop of products with a masked tile in; the mask under a branch that asks whether it cuts the tile, out.
#include "autodiff/products/cut_masks.h"

#include "analysis/build/build.h"
#include "analysis/ir/loops.h"
#include "autodiff/products/branch.h"
#include "autodiff/rewrite/rewrite.h"

enum {
    FEWEST_PRODUCTS = 2,  // fewer leave enough time beside them for a mask
    MOST_NESTED = 32,     // operations between a comparison's operand and what it starts from
};

/// A comparison of a mask, and the constexpr condition under which it is one.
typedef struct Leaf {
    const Op *comparison;
    Value *flag;  // NULL: always
    bool is_under_else;
} Leaf;

typedef struct Mask {
    Builder builder;  // in front of what it masks
    Leaf leaves[MASK_MOST_PARTS];
    int count;
} Mask;

/* ---- the comparisons of a mask ---- */

static bool add_leaf(Mask *mask, Leaf leaf) {
    for (int i = 0; i < mask->count; i++) {
        Leaf *known = &mask->leaves[i];
        if (known->comparison != leaf.comparison) continue;
        bool is_same = known->flag == leaf.flag && known->is_under_else == leaf.is_under_else;
        bool is_either = known->flag && known->flag == leaf.flag && !is_same;
        if (is_either) known->flag = NULL;  // on both sides of a flag
        if (is_same || is_either || !known->flag) return true;
    }
    if (mask->count == MASK_MOST_PARTS) return false;
    mask->leaves[mask->count++] = leaf;
    return true;
}

/// Whether the mask is all of some comparisons.
static bool find_leaves(Mask *mask, const Value *value, Leaf under, int depth) {
    const Op *op = value->op;
    bool holds;
    if (value_is_bool(value, &holds)) return holds;
    if (!op || depth == MOST_NESTED) return false;
    if (op_has(op->code, TRAIT_BOTH))
        return find_leaves(mask, op->operands[0], under, depth + 1) &&
               find_leaves(mask, op->operands[1], under, depth + 1);
    if (op_has(op->code, TRAIT_LAYOUT)) return find_leaves(mask, op->operands[0], under, depth + 1);
    if (op->code == OP_IF) {
        Value *flag = op->operands[0];
        if (!flag->type.is_constexpr || under.flag) return false;
        for (int r = 0; r < 2; r++) {
            Leaf side = {.flag = flag, .is_under_else = r == 1};
            const Value *yielded = region_terminator(op->regions[r])->operands[value->index];
            if (!find_leaves(mask, yielded, side, depth + 1)) return false;
        }
        return true;
    }
    under.comparison = op;
    bool is_order = op_has(op->code, TRAIT_ORDERS);
    return is_order && add_leaf(mask, under);
}

/* ---- the question whether it cuts ---- */

/// Whether a value can be read at the builder's place.
static bool is_at_hand(const Builder *builder, const Value *value) {
    const Region *home = value->op ? value->op->parent : value->region;
    const Region *region = builder->region;
    while (region && region != home) region = region->parent ? region->parent->parent : NULL;
    return value->constant || region;
}

/// A number that no lane of a tile of whole numbers is below, or none is above; NULL: not known. `is_end`: none is at it, either.
static Value *bound(Builder *b, Value *value, bool is_upper, bool *is_end, int depth) {
    const Op *op = value->op;
    int64_t zero;
    if (value->type.kind != TYPE_NUMBER || dtype_class(value->type.element) != CLASS_SIGNED)
        return NULL;  // differences of unsigned numbers wrap
    if (!value->type.rank) return is_at_hand(b, value) ? value : NULL;
    if (!op || depth == MOST_NESTED || value_may_wrap(value)) return NULL;
    if (op->code == OP_ARANGE) {
        *is_end |= is_upper;
        return is_at_hand(b, op->operands[is_upper]) ? op->operands[is_upper] : NULL;
    }
    bool is_layout = op_has(op->code, TRAIT_LAYOUT);
    if (is_layout || op_keeps_numbers(op))
        return bound(b, op->operands[0], is_upper, is_end, depth + 1);
    if (op->code != OP_ADD && op->code != OP_SUB) return NULL;
    bool is_sum = op->code == OP_ADD, is_other_end = false;
    Value *first = bound(b, op->operands[0], is_upper, is_end, depth + 1);
    Value *second = !first ? NULL
                           : bound(b, op->operands[1], is_upper == is_sum,
                                   is_sum ? is_end : &is_other_end, depth + 1);
    if (!second) return NULL;
    if (value_is_int(second, &zero) && zero == 0) return first;
    if (is_sum && value_is_int(first, &zero) && zero == 0) return second;
    return build_binary(b, op->code, first, second);
}

/// Whether some lanes fail a comparison, or may.
static Value *fails(Builder *b, const Leaf *leaf) {
    const Op *op = leaf->comparison;
    bool is_below = op->code == OP_LT || op->code == OP_LE, is_end = false, is_start = false;
    Value *a = bound(b, op->operands[0], is_below, is_below ? &is_end : &is_start, 0);
    Value *c = a ? bound(b, op->operands[1], !is_below, is_below ? &is_start : &is_end, 0) : NULL;
    if (!c) return NULL;
    bool is_weak = !is_end && (op->code == OP_LT || op->code == OP_GT);
    OpCode failing = is_below ? (is_weak ? OP_GE : OP_GT) : (is_weak ? OP_LE : OP_LT);
    Value *failed = build_binary(b, failing, a, c);
    if (!leaf->flag) return failed;
    Value *flag = leaf->is_under_else ? build_unary(b, OP_LOGICAL_NOT, leaf->flag) : leaf->flag;
    return build_binary(b, OP_LOGICAL_AND, flag, failed);
}

/// Whether the mask leaves lanes out; NULL: nobody knows.
static Value *cuts(Mask *mask) {
    Value *any = NULL;
    for (int i = 0; i < mask->count; i++) {
        Value *failed = fails(&mask->builder, &mask->leaves[i]);
        if (!failed) return NULL;
        any = any ? build_binary(&mask->builder, OP_LOGICAL_OR, any, failed) : failed;
    }
    return any;
}

/* ---- the branch ---- */

/// `value` where the mask leaves lanes out, and what it masks elsewhere.
static void put_under_branch(Function *function, Op *masked, Value *unmasked, Value *condition) {
    Builder b = {.function = function,
                 .region = masked->parent,
                 .before = masked->next,
                 .range = masked->range};
    Value *value = masked->results[0];
    Op *branch = op_append(&b, OP_IF, &condition, 1, 0);
    branch->range = masked->range;
    Builder taken = b, passed = b;
    taken.region = op_add_region(&b, branch);
    passed.region = op_add_region(&b, branch);
    taken.before = passed.before = NULL;
    op_append(&passed, OP_YIELD, &unmasked, 1, 0);
    Value *result = op_append_result(function, branch, value->type);
    result->name = value->name;
    region_replace_uses(function->body, value, result);
    op_append(&taken, OP_YIELD, &value, 1, 0);
    op_move_before(masked, taken.region->first);
    branch_take_own(function, branch, 0);
}

typedef struct CutMaskSearch {
    Arena *arena;
    OpList masks;
    LIST(const Op *) loops;  // of these
} CutMaskSearch;

static bool visit_product(void *context, Op *op) {
    int *count = context;
    *count += op->code == OP_DOT;
    return true;
}

/// The loop that an operation is in, apart from branches of flags; of other branches somebody else has thought.
static const Op *loop_around(const Op *op) {
    const Op *around = op->parent->parent;
    while (around && around->code == OP_IF && around->operands[0]->type.is_constexpr)
        around = around->parent->parent;
    return around;
}

static bool visit(void *context, Op *op) {
    CutMaskSearch *search = context;
    if (op->code != OP_WHERE || op->results[0]->type.rank != 2) return true;
    const Op *loop = loop_around(op);
    int products = 0;
    if (!loop || loop->code != OP_FOR) return true;
    region_walk(loop->regions[0], visit_product, &products);
    if (products < FEWEST_PRODUCTS) return true;
    LIST_PUSH(search->arena, &search->masks, op);
    LIST_PUSH(search->arena, &search->loops, loop);
    return true;
}

static bool types_meet(const Value *a, const Value *b) {
    if (a->type.rank != b->type.rank || a->type.element.code != b->type.element.code) return false;
    for (int d = 0; d < a->type.rank; d++)
        if (!poly_equal(a->type.dims[d], b->type.dims[d])) return false;
    return true;
}

/// Whether it is the only mask of its loop: of several branches in an iteration nothing is gained.
static bool is_alone(const CutMaskSearch *search, int index) {
    int count = 0;
    for (LIST_EACH(int, i, search->loops))
        count += search->loops.items[i] == search->loops.items[index];
    return count == 1;
}

void function_branch_masks(Function *function) {
    CutMaskSearch search = {.arena = function->arena};
    region_walk(function->body, visit, &search);
    for (LIST_EACH(int, i, search.masks)) {
        Op *op = search.masks.items[i];
        Value *tile = op->operands[1];
        Mask mask = {
            .builder = {
                .function = function, .region = op->parent, .before = op, .range = op->range}};
        bool fits = dtype_is_float(op->results[0]->type.element) && is_alone(&search, i) &&
                    types_meet(tile, op->results[0]) &&
                    find_leaves(&mask, op->operands[0], (Leaf){0}, 0) && mask.count;
        if (!fits) continue;
        Op *last = op->previous;
        Value *condition = cuts(&mask);
        if (condition && !condition->constant) {
            condition->name = "is_cut";
            put_under_branch(function, op, tile, condition);
        } else
            while (op->previous != last) op_remove(op->previous);
    }
}
