// A loop that carries a running maximum in; whether its last value is all that the adjoint needs, and the adjoint of a step, out.
// Where it can, the loop finds the number of the iteration that has it, too: then no element is loaded again to be compared.
#include "autodiff/sweep/extremes.h"

#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/loops.h"
#include "autodiff/primal/activity.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/sweep/adjoint.h"
#include "autodiff/sweep/rule_parts.h"

enum {
    MOST_DEEP = 16
};  // operations between an element and its comparison. Beyond: states are kept

/// Whether an operation's elements are those of its operands, or their sizes, signs and types: one rounding that is the same everywhere.
static bool picks(OpCode code) {
    bool is_changed_alike = code == OP_CAST || code == OP_NEG || code == OP_ABS;
    return is_changed_alike || code == OP_WHERE || code == OP_FULL || op_has(code, TRAIT_ORDERED);
}

/// Whether a value is the same wherever it is computed: it is loaded, or picked, and nothing of it rounds. Whole numbers and truths
/// are, as far as no float that rounds decides them.
static bool is_exact(const Value *value, int depth) {
    const Op *op = value->op;
    bool is_float = dtype_is_float(value->type.element);
    if (value->constant) return true;
    if (!op) return !is_float || (value->region && !value->region->parent);  // no float of a loop
    if (op->code == OP_LOAD) return true;
    if (depth > MOST_DEEP || op->region_count) return false;
    if (is_float && !picks(op->code)) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !is_exact(op->operands[i], depth + 1)) return false;
    return true;
}

typedef struct OnlyUse {
    const Value *value;
    Op *op;
    int operand, count;
} OnlyUse;

static bool visit_use(void *context, Op *op) {
    OnlyUse *use = context;
    for (int i = 0; i < op->operand_count; i++) {
        if (op->operands[i] != use->value) continue;
        use->op = op;
        use->operand = i;
        use->count++;
    }
    return use->count < 2;
}

/// A step of a running extreme.
typedef struct ExtremeStep {
    int carried;  // which operand is what the loop carries
    Value *
        place;  // of the primal: the number of what is the extreme, -1 for none; NULL: it is not known
    Value *number;  // of what this iteration takes in: its own, or that of the first lane of `tile`
    Op *tile;  // what takes the extreme of a tile in each iteration, whose lanes have numbers then; or NULL
} ExtremeStep;

typedef struct ExtremeChain {
    Differentiation *state;
    OpCode code;  // OP_UNDEFINED: none yet
    bool notes;
    Op *loops[LOOPS_MOST_NESTED];  // from outside, with the carried value's index in each
    int indices[LOOPS_MOST_NESTED];
    int loop_count;
    Op *step;  // the last one
    int step_count;
    bool is_exact;  // what is compared is the same wherever it is computed
} ExtremeChain;

enum { FOR_BOUNDS = 3 };  // operands of a loop over a range, in front of what it carries

static bool is_over_range(const Op *op) { return op->code == OP_FOR || op->code == OP_STATIC_FOR; }

/// Follows what a loop carries from its body's argument to what is carried on.
static bool follow(ExtremeChain *chain, Op *loop, int index, int depth) {
    const Region *body = loop->regions[0];
    const Value *value = body->arguments[1 + index];
    if (depth > MOST_DEEP || chain->loop_count == LOOPS_MOST_NESTED) return false;
    chain->indices[chain->loop_count] = index;
    chain->loops[chain->loop_count++] = loop;
    for (int steps = 0; steps < MOST_DEEP; steps++) {
        OnlyUse use = {.value = value};
        region_walk(body, visit_use, &use);
        if (use.count != 1 || use.op->parent != body) return false;
        if (use.op == region_terminator(body)) return use.operand == index;
        if (is_over_range(use.op) && use.operand >= FOR_BOUNDS) {
            int inner = use.operand - FOR_BOUNDS;
            if (!follow(chain, use.op, inner, depth + 1)) return false;
            value = use.op->results[inner];
            continue;
        }
        bool is_one = (use.op->code == OP_MAXIMUM || use.op->code == OP_MINIMUM) &&
                      (chain->code == OP_UNDEFINED || chain->code == use.op->code) &&
                      use.operand < 2;
        if (!is_one) return false;
        chain->is_exact = chain->is_exact && is_exact(use.op->operands[1 - use.operand], 0);
        chain->code = use.op->code;
        chain->step = use.op;
        chain->step_count++;
        if (chain->notes) {
            ExtremeStep *step = ARENA_NEW(chain->state->arena, ExtremeStep);
            step->carried = use.operand;
            map_set_pointer(&chain->state->sweep.extremes, use.op, step);
        }
        value = use.op->results[0];
    }
    return false;
}

/* ---- where it is ---- */

/// Whether a loop counts from 0 on, one by one.
static bool counts_plainly(const Op *loop) {
    int64_t lower, step;
    return value_is_int(loop->operands[0], &lower) && lower == 0 &&
           value_is_int(loop->operands[2], &step) && step == 1;
}

/// Whether the one loop goes through blocks from 0 on.
static bool goes_by_blocks(const ExtremeChain *chain) {
    const Op *loop = chain->loops[0];
    int64_t lower;
    return chain->loop_count == 1 && value_is_int(loop->operands[0], &lower) && lower == 0 &&
           loop->operands[2]->type.is_constexpr && !loop->operands[2]->constant;
}

/// Whether the iterations of all loops of a chain have numbers, from 0 on.
static bool are_numbered(const ExtremeChain *chain) {
    for (int i = 0; i < chain->loop_count; i++) {
        const Op *loop = chain->loops[i];
        if (!counts_plainly(loop) && !goes_by_blocks(chain)) return false;
        if (i && region_defines(chain->loops[0]->regions[0], loop->operands[1])) return false;
    }
    return true;
}

/// The number of an iteration of all loops of a chain, at the builder's place in the innermost.
static Value *iteration_number(const ExtremeChain *chain, Builder *b) {
    Value *number = NULL;
    for (int i = 0; i < chain->loop_count; i++) {
        const Op *loop = chain->loops[i];
        Value *variable = loop->regions[0]->arguments[0];
        if (number)
            number = build_binary(b, OP_ADD, build_binary(b, OP_MUL, number, loop->operands[1]),
                                  variable);
        else
            number = variable;
    }
    return number;
}

/// What takes the extreme of a tile in each iteration, along one axis, for the running one; NULL where the step takes the elements as they are.
static Op *extreme_of_tile(const ExtremeChain *chain, const Value *element, int *axis) {
    Op *op = element->op;
    const OpCode code = chain->code == OP_MAXIMUM ? OP_MAX : OP_MIN;
    if (!op || op->code != code || op->result_count != 1 || op->parent != chain->step->parent)
        return NULL;
    const Type type = op->operands[0]->type;
    const Value *along = operand(op, 1);
    const bool has_axis = along && !value_is_none(along);
    if ((!has_axis && type.rank != 1) || !constant_axis(along, type.rank, 0, axis)) return NULL;
    return op;
}

/// Whether the lanes of the tiles have numbers of their own: blocks have as many of them as the loop steps by.
static bool lanes_are_numbered(const ExtremeChain *chain, const Op *tile, int axis) {
    const Poly *lanes = tile->operands[0]->type.dims[axis];
    const Op *loop = chain->loops[0];
    if (!lanes) return false;
    if (counts_plainly(loop)) return true;
    return poly_equal(lanes, value_poly(chain->state->arena, loop->operands[2]));
}

/// The step's operand that is not carried.
static Value *element_of(const ExtremeChain *chain, const Value *carried) {
    const Op *step = chain->step;
    return step->operands[step->operands[0] == carried];
}

/// Has the loops carry one value more, which begins as `first`; the argument in the innermost, and the outermost loop's result.
static Value *carry(const ExtremeChain *chain, Value *first, Value **result) {
    Function *function = chain->state->primal;
    Value *value = first;
    for (int i = 0; i < chain->loop_count; i++) {
        Op *loop = chain->loops[i];
        op_append_operand(function, loop, value);
        Value *after = op_append_result(function, loop, first->type);
        after->name = "place";
        if (i)
            op_append_operand(function, region_terminator(chain->loops[i - 1]->regions[0]), after);
        else
            *result = after;
        value = region_add_argument(function, loop->regions[0], first->type, "place");
    }
    return value;
}

/// Whether loops can find the place of the extreme, too.
static bool has_place(const ExtremeChain *chain) {
    const Op *step = chain->step, *inner = chain->loops[chain->loop_count - 1];
    const Value *first = chain->loops[0]->operands[FOR_BOUNDS + chain->indices[0]];
    const Value *best = inner->regions[0]->arguments[1 + chain->indices[chain->loop_count - 1]];
    if (chain->step_count != 1 || step->parent != inner->regions[0] || !are_numbered(chain) ||
        (step->operand_count > 2 && step->operands[2]) || value_is_active(chain->state, first) ||
        !type_equal(first->type, step->results[0]->type))
        return false;
    int axis;
    const Value *element = element_of(chain, best);
    const Op *tile = extreme_of_tile(chain, element, &axis);
    if (tile) return lanes_are_numbered(chain, tile, axis);
    return first->type.rank > 0;
}

/// Has the operation say which lane it takes, too: its two results, the first of the type that it had.
static void take_with_lane(Builder *b, const Op *tile, Value **largest, Value **lane) {
    Value *axis = operand(tile, 1);
    // Of a row, Triton wants to hear along which axis, where it says the lane.
    if (!axis || value_is_none(axis)) axis = build_int(b, 0);
    Value *operands[] = {tile->operands[0], axis, build_bool(b, true), NULL, operand(tile, 4)};
    const Value *both = build(b, tile->code, operands, 5);
    *largest = both->op->operands[0];
    *lane = both->op->operands[1];
    (*largest)->name = tile->results[0]->name ? tile->results[0]->name
                                              : (tile->code == OP_MAX ? "largest" : "least");
    (*lane)->name = "lane";
    const Type type = tile->results[0]->type;
    if (!type_equal((*largest)->type, type))
        *largest = build_binary(b, OP_CAST, *largest, build_dtype(b, type.element));
}

/// Has the loops find the place, too: `where((x > best) | ((x == best) & (place < 0)), number, place)`. One of several that are equal is the first.
static void find_place(const ExtremeChain *chain) {
    Function *function = chain->state->primal;
    Op *outer = chain->loops[0], *step = chain->step;
    const Op *inner = chain->loops[chain->loop_count - 1];
    ExtremeStep *noted = map_get_pointer(&chain->state->sweep.extremes, step);
    Value *first = outer->operands[FOR_BOUNDS + chain->indices[0]];
    Builder front = {.function = function,
                     .region = outer->parent,
                     .before = outer,
                     .range = outer->range},
            b = {
                .function = function, .region = step->parent, .before = step, .range = step->range};
    Value *none = build_int(&front, -1), *int32 = build_dtype(&front, dtype_of(DTYPE_INT32));
    if (first->type.rank)
        none = build_ternary(&front, OP_FULL, build_shape(&front, first->type), none, int32);
    else
        none = build_binary(&front, OP_CAST, none, int32);
    Value *place = carry(chain, none, &noted->place);
    Value *best = step->operands[noted->carried], *element = step->operands[1 - noted->carried];
    Value *number = iteration_number(chain, &b), *own;
    int axis;
    Op *tile = extreme_of_tile(chain, element, &axis);
    own = number;
    if (tile) {
        Value *lane;
        if (counts_plainly(chain->loops[0]))
            number = build_binary(&b, OP_MUL, number,
                                  build_poly(&b, tile->operands[0]->type.dims[axis]));
        take_with_lane(&b, tile, &element, &lane);
        step->operands[1 - noted->carried] = element;
        own = build_binary(&b, OP_ADD, lane, number);
    }
    OpCode beyond = step->code == OP_MAXIMUM ? OP_GT : OP_LT;
    Value *is_first = build_binary(&b, OP_AND, build_binary(&b, OP_EQ, element, best),
                                   build_binary(&b, OP_LT, place, build_int(&b, 0)));
    Value *is_it = build_binary(&b, OP_OR, build_binary(&b, beyond, element, best), is_first);
    Value *next = build_ternary(&b, OP_WHERE, is_it, own, place);
    next->name = "place";
    op_append_operand(function, region_terminator(inner->regions[0]), next);
    noted->number = number;
    noted->tile = tile;
}

static void note_loops(const ExtremeChain *chain) {
    for (int i = 0; i < chain->loop_count; i++)
        map_set_pointer(&chain->state->sweep.extreme_loops,
                        chain->loops[i]->results[chain->indices[i]], chain->step);
}

static bool visit_loop(void *context, Op *op) {
    Differentiation *state = context;
    int count = op->result_count;
    if (!is_over_range(op)) return true;
    const Carried *carried = loop_classify(state->arena, op);
    for (int i = 0; i < count; i++) {
        ExtremeChain chain = {.state = state, .code = OP_UNDEFINED, .is_exact = true};
        bool is_other = !value_is_active(state, op->results[i]) ||
                        map_has_pointer(&state->sweep.extreme_loops, op->results[i]) ||
                        (carried && shift_invariant_is_settled(state, op, carried, i));
        if (is_other || !follow(&chain, op, i, 0) || chain.code == OP_UNDEFINED) continue;
        const bool has = has_place(&chain);
        if (!has && !chain.is_exact) continue;
        ExtremeChain again = {.state = state, .code = OP_UNDEFINED, .notes = true};
        follow(&again, op, i, 0);
        note_loops(&again);
        if (has) find_place(&again);
    }
    return true;
}

void extremes_find(Differentiation *state) {
    state->sweep.extremes = map_new(state->arena);
    state->sweep.extreme_loops = map_new(state->arena);
    region_walk(state->primal->body, visit_loop, state);
}

bool loop_finds_extreme(const Differentiation *state, const Op *loop, int index) {
    return map_has_pointer(&state->sweep.extreme_loops, loop->results[index]);
}

/// The lane of a tile that is the last value takes the gradient.
static void tile_takes(Differentiation *state, const ExtremeStep *step, Value *gradient) {
    Builder *b = &state->builder;
    const Op *tile = step->tile;
    const Value *axis = operand(tile, 1);
    const Type type = recomputed_operand(state, tile, 0)->type;
    bool keeps = false;
    int along = 0;
    constant_axis(axis, type.rank, 0, &along);
    if (operand(tile, 4)) value_is_bool(tile->operands[4], &keeps);
    Value *numbers = lane_numbers(b, type, along, recomputed(state, step->number));
    Value *place = recomputed(state, step->place), *share = gradient;
    if (type.rank > 1) {
        axis = build_int(b, along);
        place = expand_reduced(b, place, axis, keeps);
        share = expand_reduced(b, gradient, axis, keeps);
    }
    Value *is_it = build_binary(b, OP_EQ, numbers, place);
    adjoint_add(state, tile->operands[0],
                build_ternary(b, OP_WHERE, is_it, share, build_float(b, 0.0)));
}

bool running_extreme_rule(Differentiation *state, const Op *op, Value *gradient) {
    const ExtremeStep *step = map_get_pointer(&state->sweep.extremes, op);
    if (!step || !gradient) return false;
    int carried = step->carried;
    Builder *b = &state->builder;
    Value *zero = build_float(b, 0.0), *is_it = NULL, *rest = gradient;
    if (step->tile) {
        tile_takes(state, step, gradient);
    } else if (step->number) {
        is_it =
            build_binary(b, OP_EQ, recomputed(state, step->place), recomputed(state, step->number));
    } else {
        Value *last = recomputed(state, op->operands[carried]),
              *element = recomputed(state, op->operands[1 - carried]);
        is_it = build_binary(b, OP_EQ, element, last);
        rest = build_ternary(b, OP_WHERE, is_it, zero, gradient);
    }
    if (is_it)
        adjoint_add(state, op->operands[1 - carried],
                    build_ternary(b, OP_WHERE, is_it, gradient, zero));
    adjoint_add(state, op->operands[carried], rest);
    return true;
}
