// From a loop in which programs take turns with tiles to its body, for one program a tile, and back: each tile is some program's, once,
// so that a backward of the one is a backward of the other, with the loop around it.
#include "autodiff/primal/shared_tiles.h"

#include "analysis/addresses/affine_axes.h"
#include "analysis/addresses/strides.h"
#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/build/infer.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/state/tile_turns.h"

static Value *without_casts(Value *value) {
    while (value->op && op_keeps_numbers(value->op)) value = value->op->operands[0];
    return value;
}

static bool is_number_of(const Value *value, OpCode code, int axis) {
    int64_t number;
    return value->op && value->op->code == code && value_is_int(value->op->operands[0], &number) &&
           number == axis;
}

/// Whether a bound is a number of the axis, `step` times: of blocks that follow each other.
static bool is_multiple_of(Value *value, OpCode code, int axis, Value *step) {
    const Op *op = without_casts(value)->op;
    if (!op || op->code != OP_MUL) return false;
    for (int i = 0; i < 2; i++)
        if (op->operands[1 - i] == step && is_number_of(without_casts(op->operands[i]), code, axis))
            return true;
    return false;
}

/// What a bound that is a product multiplies a program's number by; NULL.
static Value *step_of(Value *bound, int axis) {
    const Op *op = without_casts(bound)->op;
    if (!op || op->code != OP_MUL) return NULL;
    for (int i = 0; i < 2; i++)
        if (is_number_of(without_casts(op->operands[i]), OP_PROGRAM_ID, axis))
            return op->operands[1 - i];
    return NULL;
}

/// Counts `for start in range(program * step, end, programs * step)` in blocks: `for tile in range(program, cdiv(end, step), programs)`.
static void count_blocks(Function *primal, Op *loop) {
    for (int axis = 0; axis < PROGRAM_AXES && loop->code == OP_FOR; axis++) {
        Value *step = step_of(loop->operands[0], axis);
        if (!step || !step->type.is_constexpr || !value_is_of_parameters(loop->operands[1]) ||
            !is_multiple_of(loop->operands[2], OP_NUM_PROGRAMS, axis, step))
            continue;
        Region *body = loop->regions[0];
        Value *start = body->arguments[0];
        Builder before = {
            .function = primal, .region = loop->parent, .before = loop, .range = loop->range};
        Value *number = build_int(&before, axis);
        op_set_operand(loop, 1,
                       build_trip_count(&before, build_int(&before, 0), loop->operands[1], step));
        op_set_operand(loop, 0, build_unary(&before, OP_PROGRAM_ID, number));
        op_set_operand(loop, 2, build_unary(&before, OP_NUM_PROGRAMS, number));
        Builder inside = {
            .function = primal, .region = body, .before = body->first, .range = loop->range};
        Value *product = build_binary(&inside, OP_MUL, start, step);
        region_replace_uses(body, start, product);
        op_set_operand(product->op, product->op->operands[0] == product ? 0 : 1, start);
        product->name = start->name;
        start->name = NULL;
        return;
    }
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
    for (Op *op = primal->body->first; op; op = op->next) count_blocks(primal, op);
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

void tiles_gather(Differentiation *state) {
    const TileTurns *tiles = &state->parts.tiles;
    Function *backward = state->backward;
    LIST(Op *) ops = {0};
    for (Op *op = backward->body->first; op; op = op->next)
        if (!op_stays_at_start(op)) LIST_PUSH(state->arena, &ops, op);
    Builder b = {.function = backward, .region = backward->body, .range = tiles->range};
    Value *axis = build_int(&b, tiles->axis), *count = tiles_count(state, &b);
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
