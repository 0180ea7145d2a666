// A backward in terms of maxima of lanes in; one in terms of the largest of them out.
#include "autodiff/stored/lanes.h"

#include <math.h>

#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "autodiff/addresses/shift.h"
#include "autodiff/finiteness/finiteness_parts.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/stored/needed.h"
#include "autodiff/stored/twin.h"

enum { MOST_DEPTH = 12 };

typedef struct LaneMaxima {
    Differentiation *state;
    Value *maxima, *largest;
    const ShiftedValues *shifted;  // when the maxima are, each by a number of its own
    Needed needed;
    Map made;       // for one op: value -> what it is with the largest maximum
    bool is_empty;  // a choice of lanes that saw nothing has been left out
    bool changed;
} LaneMaxima;

static bool stays(const LaneMaxima *lanes, const Value *value) {
    StateShift shift;
    return value != lanes->maxima && value_when_shifted(lanes->shifted, value, &shift) &&
           shift.kind == STATE_STAYS;
}

/// `exp(m - max(m))`, which is 1 with the largest maximum in each lane.
static bool is_ratio(const LaneMaxima *lanes, const Op *op) {
    if (op->code != OP_EXP && op->code != OP_EXP2) return false;
    const Op *difference = op->operands[0]->op;
    if (!difference || difference->code != OP_SUB || difference->operands[0] != lanes->maxima)
        return false;
    const Value *taken = difference->operands[1];
    while (made_by(taken, OP_BROADCAST_TO) || made_by(taken, OP_EXPAND_DIMS))
        taken = taken->op->operands[0];
    return taken == lanes->largest;
}

/// Of `where(m == -inf, 0, x)` the x; NULL: it is something else.
static Value *branch_of_seen(const LaneMaxima *lanes, const Op *op) {
    double number;
    const Op *test = op->code == OP_WHERE ? op->operands[0]->op : NULL;
    if (!test || (test->code != OP_EQ && test->code != OP_NE)) return NULL;
    if (test->operands[0] != lanes->maxima || !value_is_number(test->operands[1], &number) ||
        !isinf(number))
        return NULL;
    int empty = test->code == OP_EQ ? 1 : 2;
    return is_number(op->operands[empty], 0) ? op->operands[3 - empty] : NULL;
}

/// `x * exp(m - max(m))`: the x. NULL: it is something else.
static Value *factor_of_ratio(const LaneMaxima *lanes, const Op *op) {
    for (int i = 0; op->code == OP_MUL && i < 2; i++) {
        const Op *ratio = op->operands[i]->op;
        if (ratio && is_ratio(lanes, ratio) && same_type(op->operands[1 - i], op->results[0]))
            return op->operands[1 - i];
    }
    return NULL;
}

static Value *ones(Builder *b, const Value *like) {
    Value *shape = build_shape(b, like->type);
    return shape ? build_ternary(b, OP_FULL, shape, build_float(b, 1.0),
                                 build_dtype(b, like->type.element))
                 : NULL;
}

/// A value with the largest maximum in the place of each; NULL where that cannot be.
static Value *with_largest(LaneMaxima *lanes, Builder *b, Value *value, int depth) {
    if (!value || depth > MOST_DEPTH) return NULL;
    Value *known = map_get_pointer(&lanes->made, value);
    if (known) return known;
    const Op *op = value->op;
    Value *seen = op ? branch_of_seen(lanes, op) : NULL;
    Value *factor = op ? factor_of_ratio(lanes, op) : NULL;
    Value *made = NULL;
    if (factor) {
        made = with_largest(lanes, b, factor, depth + 1);
    } else if (seen && same_type(seen, value)) {
        lanes->is_empty = true;
        made = with_largest(lanes, b, seen, depth + 1);
    } else if (stays(lanes, value)) {
        return value;
    } else if (!op || op->region_count || !op_is_pure(op) || !op_is_elementwise(op)) {
        return NULL;
    } else if (is_ratio(lanes, op)) {
        made = ones(b, value);
    } else {
        bool moves = op->code == OP_SUB && op->operands[1] == lanes->maxima &&
                     same_shape(op->operands[0]->type, value->type);
        Map operands = map_new(lanes->state->arena);
        for (int i = 0; i < op->operand_count; i++) {
            Value *operand = moves && i == 1 ? lanes->largest
                                             : with_largest(lanes, b, op->operands[i], depth + 1);
            if (!operand) return NULL;
            map_set_pointer(&operands, op->operands[i], operand);
        }
        made = op_clone(b, op, &operands)->results[0];
    }
    if (made) map_set_pointer(&lanes->made, value, made);
    return made;
}

/// Whether `x` is among what the loop of the maxima takes them of: where a maximum is minus infinity, so is x.
static bool is_seen(const LaneMaxima *lanes, const Value *x) {
    const Op *loop = lanes->maxima->op;
    const Op *next = region_terminator(loop->regions[0])->operands[lanes->maxima->index]->op;
    if (!next || next->code != OP_MAXIMUM || !x->op) return false;
    for (int i = 0; i < 2; i++) {
        const Value *carried = loop->regions[0]->arguments[lanes->maxima->index + 1];
        if (next->operands[1 - i] != carried) continue;
        LoopTwin twin = {.arena = lanes->state->arena, .variables = map_new(lanes->state->arena)};
        if (regions_are_twins(&twin, loop->regions[0], x->op->parent) &&
            values_are_twins(&twin, next->operands[i], x))
            return true;
    }
    return false;
}

/// Whether a product is 0 in lanes that saw nothing, whatever its other side is: one of `exp(x - m)`.
static bool vanishes_unseen(const LaneMaxima *lanes, const Op *product) {
    for (int i = 0; product->code == OP_MUL && i < 2; i++) {
        const Value *factor = product->operands[i];
        if (!made_by(factor, OP_EXP) && !made_by(factor, OP_EXP2)) continue;
        const Value *difference = factor->op->operands[0];
        if (made_by(difference, OP_SUB) && difference->op->operands[1] == lanes->maxima &&
            is_seen(lanes, difference->op->operands[0]))
            return true;
    }
    return false;
}

static bool visit_op(void *context, Op *op) {
    LaneMaxima *lanes = context;
    Value *operands[2];
    if (op->result_count != 1 || op->operand_count != 2 || !op_is_elementwise(op) ||
        !map_has_pointer(&lanes->needed.values, op->results[0]) || !stays(lanes, op->results[0]) ||
        (stays(lanes, op->operands[0]) && stays(lanes, op->operands[1])))
        return true;
    Builder builder = {.function = lanes->state->backward,
                       .region = op->parent,
                       .before = op,
                       .range = op->range,
                       .call = op->call};
    lanes->made = map_new(lanes->state->arena);
    lanes->is_empty = false;
    for (int i = 0; i < 2; i++) {
        operands[i] = with_largest(lanes, &builder, op->operands[i], 0);
        if (!operands[i]) return true;
    }
    if (lanes->is_empty && !vanishes_unseen(lanes, op)) return true;
    for (int i = 0; i < 2; i++) op_set_operand(op, i, operands[i]);
    lanes->changed = true;
    return true;
}

static bool share_maximum(Differentiation *state, const Map *ours, Value *largest) {
    static const double bases[] = {1, 0.69314718055994530942};
    Value *maxima = largest->op->operands[0];
    Map held = map_new(state->arena);
    if (!made_by(maxima, OP_FOR) || maxima->type.rank != 1 || largest->op->result_count != 1)
        return false;
    if (!values_when_shifted(state->arena, state->backward, largest, 0, NULL)) return false;
    map_set_pointer(&held, largest, largest);
    LaneMaxima lanes = {.state = state, .maxima = maxima, .largest = largest};
    for (int i = 0; i < 2 && !lanes.shifted; i++)
        lanes.shifted = values_when_shifted(state->arena, state->backward, maxima, bases[i], &held);
    if (!lanes.shifted) return false;
    lanes.needed = values_needed(state, ours, NULL);
    region_walk(state->backward->body, visit_op, &lanes);
    return lanes.changed;
}

bool lanes_share_maximum(Differentiation *state, const Map *ours) {
    bool changed = false;
    for (Op *op = state->backward->body->first; op; op = op->next)
        if (op->code == OP_MAX && op->results[0]->type.rank == 0)
            changed = share_maximum(state, ours, op->results[0]) || changed;
    return changed;
}
