// From a loop in which programs take turns with tiles to its body, for one program a tile, and back: each tile is some program's, once,
// so that a backward of the one is a backward of the other, with the loop around it.
#include "autodiff/primal/shared_tiles.h"

#include "analysis/addresses/affine_axes.h"
#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/build/infer.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"

static Value *without_casts(Value *value) {
    while (value->op && op_keeps_numbers(value->op)) value = value->op->operands[0];
    return value;
}

static bool is_number_of(const Value *value, OpCode code, int axis) {
    int64_t number;
    return value->op && value->op->code == code && value_is_int(value->op->operands[0], &number) &&
           number == axis;
}

/// The axis along which programs take turns in the loop; -1: none.
static int axis_of_turns(const Op *loop) {
    if (loop->code != OP_FOR || !value_is_of_parameters(loop->operands[1])) return -1;
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (is_number_of(without_casts(loop->operands[0]), OP_PROGRAM_ID, axis) &&
            is_number_of(without_casts(loop->operands[2]), OP_NUM_PROGRAMS, axis))
            return axis;
    return -1;
}

typedef struct NumberReads {
    const Op *loop;
    int axis;
    bool is_other;  // something else than the loop's bounds reads the id, or the number of programs
} NumberReads;

static bool visit_read(void *context, Op *op) {
    NumberReads *reads = context;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i] || (op == reads->loop && i != 1)) continue;
        const Value *value = without_casts(op->operands[i]);
        bool is_it = is_number_of(value, OP_PROGRAM_ID, reads->axis) ||
                     is_number_of(value, OP_NUM_PROGRAMS, reads->axis);
        reads->is_other |= is_it && op->code != OP_CAST;
    }
    return !reads->is_other;
}

static bool op_acts(const Op *op) {
    return op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED) ||
           op->region_count > 0;
}

/// The loop, where it is all that the kernel does and carries nothing.
static Op *find_loop(Function *primal, int *axis) {
    Op *loop = NULL;
    for (Op *op = primal->body->first; op; op = op->next) {
        int turns = axis_of_turns(op);
        if (turns >= 0 && !loop) {
            loop = op;
            *axis = turns;
        } else if (op_acts(op)) {
            return NULL;
        }
    }
    if (!loop) return NULL;
    const Op *end = region_terminator(loop->regions[0]);
    for (int i = 0; i < end->operand_count; i++)
        if (end->operands[i] != loop->regions[0]->arguments[i + 1] &&
            end->operands[i] != loop->operands[3 + i])
            return NULL;
    NumberReads reads = {.loop = loop, .axis = *axis};
    region_walk(primal->body, visit_read, &reads);
    return reads.is_other ? NULL : loop;
}

void tiles_deal(Differentiation *state) {
    Function *primal = state->primal;
    int axis;
    bool takes_turns = false;
    for (const Op *op = primal->body->first; op && !takes_turns; op = op->next)
        takes_turns = axis_of_turns(op) >= 0;
    if (takes_turns) function_drop_dead(primal);
    Op *loop = takes_turns ? find_loop(primal, &axis) : NULL;
    if (!loop) {
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_ATOMIC_HOT_SPOT, (Range){0}, "no turns");
        return;
    }
    Region *body = loop->regions[0];
    state->parts.tiles = (TileTurns){.axis = axis,
                                     .count = loop->operands[1],
                                     .name = body->arguments[0]->name,
                                     .range = loop->range};
    for (int i = 0; i < loop->result_count; i++) {
        region_replace_uses(primal->body, loop->results[i], loop->operands[3 + i]);
        region_replace_uses(primal->body, body->arguments[i + 1], loop->operands[3 + i]);
    }
    region_replace_uses(primal->body, body->arguments[0], loop->operands[0]);
    for (Op *op = body->first, *next; op && op->code != OP_YIELD; op = next) {
        next = op->next;
        op_move_before(op, loop);
    }
    op_remove(loop);
}

/// An expression of the primal's parameters, in the backward.
static Value *in_backward(Builder *b, Value *value, Map *values) {
    Value *known = map_get_pointer(values, value);
    if (known || !value->op) return known;
    for (int i = 0; i < value->op->operand_count; i++)
        if (value->op->operands[i] && !in_backward(b, value->op->operands[i], values)) return NULL;
    op_clone(b, value->op, values);
    return map_get_pointer(values, value);
}

void tiles_gather(Differentiation *state) {
    const TileTurns *tiles = &state->parts.tiles;
    Function *backward = state->backward;
    LIST(Op *) ops = {0};
    for (Op *op = backward->body->first; op; op = op->next)
        if (!op_stays_at_start(op)) LIST_PUSH(state->arena, &ops, op);
    Builder b = {.function = backward, .region = backward->body, .range = tiles->range};
    Map values = map_new(state->arena);
    for (int i = 0; i < state->primal->parameter_count; i++) {
        Value *parameter = state->primal->parameters[i].value;
        map_set_pointer(&values, parameter, recomputed(state, parameter));
    }
    Value *axis = build_int(&b, tiles->axis), *count = in_backward(&b, tiles->count, &values);
    if (!count) {
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_ATOMIC_HOT_SPOT, (Range){0}, "no turns");
        return;
    }
    Value *bounds[] = {build_unary(&b, OP_PROGRAM_ID, axis), count,
                       build_unary(&b, OP_NUM_PROGRAMS, axis)};
    Op *loop = op_append(&b, OP_FOR, bounds, 3, 0);
    Region *body = op_add_region(&b, loop);
    Type type = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32)};
    Value *tile = region_add_argument(backward, body, type, tiles->name);
    Op *end = op_append(&(Builder){.function = backward, .region = body}, OP_YIELD, NULL, 0, 0);
    for (LIST_EACH(int, i, ops)) op_move_before(ops.items[i], end);
    for (Op *op = backward->body->first; op; op = op->next)
        for (int i = 0; i < op->result_count; i++) {
            if (is_number_of(op->results[i], OP_PROGRAM_ID, tiles->axis))
                region_replace_uses(body, op->results[i], tile);
            if (is_number_of(op->results[i], OP_NUM_PROGRAMS, tiles->axis))
                region_replace_uses(body, op->results[i], count);
        }
    function_hoist(backward);
    function_clean(backward);
    function_sink_addresses(backward);
}
