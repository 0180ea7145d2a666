// The conditions of a backward that leave elements out: masks of upstream gradients and of infinities, choices with 0 or with
// an infinity.
#include "autodiff/finiteness/conditions.h"

#include <math.h>

#include "analysis/addresses/affine.h"
#include "analysis/ir/walk.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/algebra.h"

enum { MOST_CONDITIONS = 48, MOST_DEPTH = 12 };

bool value_varies_along(const Value *value, int axis) {
    int64_t length;
    if (axis < 0 || axis >= value->type.rank) return false;
    const Poly *dim = value->type.dims[value->type.rank - 1 - axis];
    return !dim || !poly_is_constant(dim, &length) || length != 1;
}

/// The one axis along which a mask varies; -1 where there are several.
static int only_axis(const Value *mask) {
    int found = -1;
    for (int axis = 0; axis < mask->type.rank; axis++) {
        if (!value_varies_along(mask, axis)) continue;
        if (found >= 0) return -1;
        found = axis;
    }
    return found;
}

static const Value *without_axes(const Value *value) {
    while (value->op && (value->op->code == OP_EXPAND_DIMS || value->op->code == OP_BROADCAST_TO))
        value = value->op->operands[0];
    return value;
}

static bool is_alike(const Value *a, const Value *b, int depth) {
    a = without_axes(a), b = without_axes(b);
    if (a == b) return true;
    double x, y;
    if (value_is_number(a, &x) && value_is_number(b, &y)) return x == y;
    if (!a->op || !b->op || a->op->code != b->op->code || depth > MOST_DEPTH) return false;
    if (a->op->operand_count != b->op->operand_count || a->op->region_count ||
        op_rows[a->op->code].shape != SHAPE_BROADCAST)
        return false;
    for (int i = 0; i < a->op->operand_count; i++) {
        if (!a->op->operands[i] != !b->op->operands[i]) return false;
        if (a->op->operands[i] && !is_alike(a->op->operands[i], b->op->operands[i], depth + 1))
            return false;
    }
    return true;
}

/// Laid along several axes, equal expressions of vectors need not be the same: i[:, None] < j[None, :] and the other way round.
static bool is_same_part(const ConditionPart *part, const Value *value) {
    for (LIST_EACH(int, i, part->values)) {
        const Value *known = part->values.items[i];
        if (known == value) return true;
        if (part->reach != REACH_TILE && only_axis(known) >= 0 && only_axis(value) >= 0 &&
            is_alike(known, value, 0))
            return true;
    }
    return false;
}

bool condition_is(const ConditionPart *part, const Value *value, int *axis) {
    *axis = only_axis(value);
    return value->type.element.code == DTYPE_INT1 && is_same_part(part, value);
}

bool op_joins_truths(const Op *op, bool is_or) {
    if (op->result_count != 1 || op->results[0]->type.element.code != DTYPE_INT1) return false;
    if (is_or) return op->code == OP_OR || op->code == OP_LOGICAL_OR;
    bool are_truths = op->code == OP_MUL && op->operands[0]->type.element.code == DTYPE_INT1 &&
                      op->operands[1]->type.element.code == DTYPE_INT1;
    return op_has(op->code, TRAIT_BOTH) || are_truths;
}

static bool is_below_bound(const Value *value) {
    const Op *op = without_axes(value)->op;
    if (!op) return false;
    bool is_below = op->code == OP_LT || op->code == OP_LE;
    return is_below && op->operands[0]->type.rank > 0 && only_axis(op->operands[1]) < 0;
}

static ConditionPart part_of(Arena *arena, Value *value, bool is_negated) {
    int axis = only_axis(value);
    bool varies = false;
    for (int i = 0; i < value->type.rank; i++) varies = varies || value_varies_along(value, i);
    ConditionPart part = {.is_negated = is_negated,
                          .axis = axis,
                          .reach = !varies     ? REACH_ALL
                                   : axis >= 0 ? REACH_AXIS
                                               : REACH_TILE};
    LIST_PUSH(arena, &part.values, value);
    return part;
}

static void add_condition(Conditions *conditions, Arena *arena, Value *value, bool is_negated) {
    if (value_is_none(value) || value->constant) return;
    for (LIST_EACH(int, i, *conditions)) {
        ConditionPart *known = &conditions->items[i].parts[0];
        if (known->is_negated != is_negated || !is_same_part(known, value)) continue;
        for (LIST_EACH(int, k, known->values))
            if (known->values.items[k] == value) return;
        LIST_PUSH(arena, &known->values, value);
        return;
    }
    if (conditions->count == MOST_CONDITIONS) return;
    Condition condition = {.parts = {part_of(arena, value, is_negated)}, .part_count = 1};
    condition.reach = condition.parts[0].reach;
    condition.is_beyond = !is_negated && is_below_bound(value);
    LIST_PUSH(arena, conditions, condition);
}

/// Adds the parts of a mask that is a conjunction (of one that is negated: a disjunction). `seen` holds the masks met before: a
/// mask that stands twice says nothing new, and the ways to it double with each `mask & mask`. A part that is left out costs a
/// guard, never a gradient.
static void split_into(Conditions *conditions, Arena *arena, ValueWalk *seen, Value *mask,
                       bool is_negated) {
    if (!mask || value_is_none(mask) ||
        walk_pair(seen, mask, is_negated ? mask : NULL) != WALK_PAIR_NEW)
        return;
    const Op *op = mask->op;
    if (op && op->code == OP_BROADCAST_TO) {
        split_into(conditions, arena, seen, op->operands[0], is_negated);
        return;
    }
    if (op && op_joins_truths(op, is_negated)) {
        for (int i = 0; i < 2; i++)
            split_into(conditions, arena, seen, op->operands[i], is_negated);
        return;
    }
    bool is_not = op && (op->code == OP_LOGICAL_NOT ||
                         (op->code == OP_INVERT && mask->type.element.code == DTYPE_INT1));
    if (is_not)
        split_into(conditions, arena, seen, op->operands[0], !is_negated);
    else
        add_condition(conditions, arena, mask, is_negated);
}

static void split_mask(Conditions *conditions, Arena *arena, Value *mask, bool is_negated) {
    ValueWalk seen;
    walk_start(&seen, NULL, 0, NULL);
    split_into(conditions, arena, &seen, mask, is_negated);
}

/// Whether a value is 0 or an infinity that the author wrote.
static bool is_void(const Value *value) {
    return is_number(value, 0) || is_number(value, INFINITY) || is_number(value, -INFINITY);
}

typedef struct Collection {
    const Differentiation *state;
    Conditions *conditions;
    Conditions nans;       // tests for NaN
    Conditions upstreams;  // those of upstream loads
    Conditions branches;  // those of upstream loads and of choices within a branch, with the branch
} Collection;

/// A mask in the branch of an `if` says something outside of it where the branch is taken.
static void add_branch(Collection *collection, const Op *op, Value *mask, bool is_negated) {
    Arena *arena = collection->state->arena;
    const Op *branch = op->parent->parent;
    Conditions masks = {0};
    split_mask(&masks, arena, mask, is_negated);
    bool is_flag = branch && branch->code == OP_IF && branch->operands[0]->type.rank == 0 &&
                   branch->operands[0]->type.element.code == DTYPE_INT1;
    for (LIST_EACH(int, i, masks)) {
        Condition condition = masks.items[i];
        if (!is_flag || condition.reach != REACH_AXIS ||
            region_defines(op->parent, condition.parts[0].values.items[0]))
            continue;
        bool holds = branch->regions[0] == op->parent;
        condition.parts[condition.part_count++] = part_of(arena, branch->operands[0], holds);
        LIST_PUSH(arena, &collection->branches, condition);
    }
}

static bool has_same_axis(const Condition *a, const Condition *b) {
    const ConditionPart *parts[] = {&a->parts[0], &b->parts[0]};
    if (a->reach != REACH_AXIS || b->reach != REACH_AXIS) return false;
    const Poly *dims[2];
    for (int i = 0; i < 2; i++) {
        Type type = parts[i]->values.items[0]->type;
        dims[i] = type.dims[type.rank - 1 - parts[i]->axis];
    }
    return poly_equal(dims[0], dims[1]);
}

/// What is 0 beyond two masks, as a sum of two adjoints is.
static void add_pairs(Collection *collection) {
    const Conditions *simple = &collection->upstreams;
    Conditions *all = collection->conditions;
    for (LIST_EACH(int, i, *simple))
        for (int k = i + 1; k < simple->count && all->count < MOST_CONDITIONS; k++) {
            if (!has_same_axis(&simple->items[i], &simple->items[k])) continue;
            Condition pair = simple->items[i];
            pair.parts[pair.part_count++] = simple->items[k].parts[0];
            pair.is_beyond = pair.is_beyond && simple->items[k].is_beyond;
            LIST_PUSH(collection->state->arena, all, pair);
        }
    for (LIST_EACH(int, i, collection->branches))
        if (all->count < MOST_CONDITIONS)
            LIST_PUSH(collection->state->arena, all, collection->branches.items[i]);
    for (LIST_EACH(int, i, collection->nans))
        LIST_PUSH(collection->state->arena, all, collection->nans.items[i]);
}

bool is_test_of_finite(const Value *mask, const Value *value) {
    const Op *test = mask->op;
    return test && test->code == OP_LT && made_by(test->operands[0], OP_ABS) &&
           test->operands[0]->op->operands[0] == value && is_number(test->operands[1], INFINITY);
}

/// Whether sums or maxima of several elements go into a value.
static intptr_t joins_elements(ValueWalk *walk, const Value *value) {
    const Op *op = value && !value->constant ? value->op : NULL;
    if (!op) return value && value->region && value->region->parent;  // what a loop carries
    bool is_reduced = op_rows[op->code].shape == SHAPE_REDUCED || op->code == OP_DOT;
    if (is_reduced || op->region_count || op_rows[op->code].shape == SHAPE_SPECIAL) return true;
    intptr_t found = 0;
    for (int i = 0; i < op->operand_count && op->code != OP_LOAD && !found; i++)
        found = walk_ask(walk, op->operands[i]);
    return found;
}

/// `where(o == o, o, 0)`: a row of scores that is masked as a whole makes NaN of all that is summed with it, in elements that the test
/// does not lie along. So all elements count as left out where it fails.
static void add_tests_for_nan(Collection *collection, Value *mask, bool is_negated) {
    Arena *arena = collection->state->arena;
    Conditions masks = {0};
    split_mask(&masks, arena, mask, is_negated);
    for (LIST_EACH(int, i, masks)) {
        Condition condition = masks.items[i];
        ConditionPart *part = &condition.parts[0];
        const Op *test = part->values.items[0]->op;
        bool is_self = test && test->code == (part->is_negated ? OP_NE : OP_EQ) &&
                       test->operands[0] == test->operands[1];
        bool is_test = is_self || (test && test->code == OP_ISNAN && part->is_negated);
        if (!is_test || !dtype_is_float(test->operands[0]->type.element) ||
            !walk_from(test->operands[0], joins_elements, 0, NULL))
            continue;
        condition.reach = part->reach = REACH_ALL;
        condition.is_of_nan = true;
        condition.is_beyond = false;
        LIST_PUSH(arena, &collection->nans, condition);
    }
}

static bool visit_condition(void *context, Op *op) {
    Collection *collection = context;
    Arena *arena = collection->state->arena;
    if (op->code == OP_LOAD) {
        bool is_infinite = op->operand_count > 2 && op->operands[2] && is_void(op->operands[2]) &&
                           !is_number(op->operands[2], 0);
        bool is_upstream = load_is_upstream(collection->state, op);
        if (is_infinite || is_upstream)
            split_mask(collection->conditions, arena, access_mask(op), false);
        if (is_upstream) split_mask(&collection->upstreams, arena, access_mask(op), false);
        if (is_upstream) add_branch(collection, op, access_mask(op), false);
    } else if (op->code == OP_WHERE && dtype_is_float(op->results[0]->type.element)) {
        for (int branch = 1; branch < 3; branch++) {
            if (!is_void(op->operands[branch]) ||
                is_test_of_finite(op->operands[0], op->operands[3 - branch]))
                continue;
            add_tests_for_nan(collection, op->operands[0], branch == 1);
            split_mask(collection->conditions, arena, op->operands[0], branch == 1);
            add_branch(collection, op, op->operands[0], branch == 1);
        }
    }
    return true;
}

/* ---- comparisons that are written otherwise ---- */

/// `left CODE right` as one form that is compared with 0.
typedef struct LinearTest {
    OpCode code;
    bool is_known;
    const Poly *base, *lane, *length;  // along its only axis
} LinearTest;

typedef struct Rewritten {
    Arena *arena;
    Former *former;
    Conditions *conditions;
    LIST(LinearTest) bounds;  // of the conditions' first parts, as far as they are known
} Rewritten;

static LinearTest linear_test(const Rewritten *search, const Value *value) {
    const Op *op = value->op;
    LinearTest bound = {.code = op ? op->code : OP_CONSTANT};
    if (!op || !op_is_comparison(op->code) || only_axis(value) < 0) return bound;
    Affine sides[] = {affine_by(search->former, op->operands[0]),
                      affine_by(search->former, op->operands[1])};
    if (!sides[0].known || !sides[1].known || sides[0].wrapped || sides[1].wrapped) return bound;
    bool is_turned = op->code == OP_GT || op->code == OP_GE;
    const Affine *a = &sides[is_turned], *b = &sides[!is_turned];
    if (is_turned) bound.code = op->code == OP_GT ? OP_LT : OP_LE;
    int axis = only_axis(value);
    const Poly *lanes[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        const Affine *side = i ? b : a;
        if (side->rank > axis) lanes[i] = side->lane[side->rank - 1 - axis];
        if (!lanes[i]) lanes[i] = poly_constant(search->arena, 0);
    }
    bound.length = value->type.dims[value->type.rank - 1 - axis];
    bound.base = poly_subtract(search->arena, a->base, b->base);
    bound.lane = poly_subtract(search->arena, lanes[0], lanes[1]);
    bound.is_known = bound.length && bound.base && bound.lane;
    return bound;
}

/// `lane < n - start` says what `start + lane < n` does.
static bool visit_comparison(void *context, Op *op) {
    Rewritten *search = context;
    if (!op_is_comparison(op->code) || only_axis(op->results[0]) < 0) return true;
    LinearTest bound = {.code = OP_CONSTANT};
    for (LIST_EACH(int, i, *search->conditions)) {
        ConditionPart *part = &search->conditions->items[i].parts[0];
        const LinearTest *known = &search->bounds.items[i];
        if (part->reach != REACH_AXIS || !known->is_known || is_same_part(part, op->results[0]))
            continue;
        if (bound.code == OP_CONSTANT) bound = linear_test(search, op->results[0]);
        if (bound.is_known && bound.code == known->code && poly_equal(bound.base, known->base) &&
            poly_equal(bound.lane, known->lane) && poly_equal(bound.length, known->length))
            LIST_PUSH(search->arena, &part->values, op->results[0]);
    }
    return true;
}

static void add_rewritten(const Differentiation *state, Conditions *conditions) {
    Rewritten search = {
        .arena = state->arena, .former = former_new(state->arena), .conditions = conditions};
    for (LIST_EACH(int, i, *conditions))
        LIST_PUSH(search.arena, &search.bounds,
                  linear_test(&search, conditions->items[i].parts[0].values.items[0]));
    region_walk(state->backward->body, visit_comparison, &search);
}

bool load_is_upstream(const Differentiation *state, const Op *load) {
    const Value *root = pointer_root(load->operands[0]);
    const Map *maps[] = {&state->buffers.upstreams, &state->buffers.running};
    for (size_t m = 0; root && m < sizeof maps / sizeof *maps; m++)
        for (int i = 0; i < maps[m]->count; i++)
            if (maps[m]->entries[i].value == root) return true;
    return false;
}

Conditions conditions_find(const Differentiation *state) {
    Conditions conditions = {0};
    Collection collection = {.state = state, .conditions = &conditions};
    region_walk(state->backward->body, visit_condition, &collection);
    add_rewritten(state, &conditions);
    add_pairs(&collection);
    return conditions;
}
