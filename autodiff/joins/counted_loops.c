// From a `while` whose condition compares a number that each iteration steps on to a loop over a range: what rests on how many iterations
// there are, and on which elements each has, is known then.
#include "autodiff/joins/counted_loops.h"

#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/limits.h"
#include "autodiff/rewrite/rewrite.h"

enum { DEEPEST_END = 16 };  // of what an end is computed from. Beyond: the loop stays

/// A `while` that counts.
typedef struct CountedWhile {
    Function *function;
    Op *loop;
    Builder outside;
    Map copies;   // of what its condition computes, in front of it
    int counter;  // which of the numbers that it carries
    Value *end, *step;
    bool is_down, is_with_end;  // `k > n`, `k <= n`
} CountedWhile;

/// A number of the condition or the body as it is in front of the loop; NULL where iterations change it.
static Value *in_front(CountedWhile *counting, Value *value, int depth) {
    const Op *loop = counting->loop;
    Value *copy = map_get_pointer(&counting->copies, value);
    if (copy) return copy;
    if (!region_defines(loop->regions[0], value) && !region_defines(loop->regions[1], value))
        return value;
    const Op *op = value->op;
    if (!op || op->region_count || op->result_count != 1 || !op_is_pure(op) || depth > DEEPEST_END)
        return NULL;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !in_front(counting, op->operands[i], depth + 1)) return NULL;
    op_clone(&counting->outside, op, &counting->copies);
    return map_get_pointer(&counting->copies, value);
}

static bool is_whole_number(const Value *value) {
    return value->type.kind == TYPE_NUMBER && !value->type.rank &&
           dtype_is_integer(value->type.element);
}

/// Finds what the condition compares with what: one number that the loop carries, with one that it does not change.
static bool find_end(CountedWhile *counting) {
    const Region *asked = counting->loop->regions[0];
    const Op *compared = region_terminator(asked)->operands[0]->op;
    if (!compared || compared->parent != asked) return false;
    const OpCode code = compared->code;
    if (!op_has(code, TRAIT_COMPARES) || code == OP_EQ || code == OP_NE) return false;
    for (int side = 0; side < 2; side++) {
        const Value *number = compared->operands[side];
        if (number->op || number->region != asked || !is_whole_number(number)) continue;
        counting->counter = number->index;
        counting->is_down = (code == OP_GT || code == OP_GE) == (side == 0);
        counting->is_with_end = code == OP_LE || code == OP_GE;
        counting->end = in_front(counting, compared->operands[1 - side], 0);
        return counting->end && is_whole_number(counting->end);
    }
    return false;
}

/// Whether a step is certainly above 0: a loop over a range would run where a `while` does not.
static bool is_positive(const CountedWhile *counting, Value *step) {
    int64_t number;
    if (value_is_int(step, &number)) return number > 0;
    if (step->op && step->op->code == OP_NUM_PROGRAMS) return true;
    return poly_is_size(counting->function->arena, value_poly(counting->function->arena, step));
}

/// Finds what an iteration adds to the number.
static bool find_step(CountedWhile *counting) {
    const Region *body = counting->loop->regions[1];
    const Value *counter = body->arguments[counting->counter];
    const Op *next = region_terminator(body)->operands[counting->counter]->op;
    int64_t number;
    if (!next || next->parent != body || (next->code != OP_ADD && next->code != OP_SUB))
        return false;
    int side = next->operands[0] == counter ? 0 : 1;
    if (next->operands[side] != counter || (next->code == OP_SUB && side == 1)) return false;
    Value *step = next->operands[1 - side];
    if (!is_whole_number(step)) return false;
    bool is_less = next->code == OP_SUB;
    if (value_is_int(step, &number) && number < 0 && number > INT32_MIN) {
        is_less = !is_less;
        step = build_int(&counting->outside, -number);
    }
    step = in_front(counting, step, 0);
    counting->step = step;
    return step && is_less == counting->is_down && is_positive(counting, step);
}

static Type type_of_counter(const Value *const *bounds) {
    Type type = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32)};
    for (int i = 0; i < 3; i++) {
        const DType element = bounds[i]->type.element;
        if (!bounds[i]->constant && dtype_bits(element.code) == 64 && dtype_is_integer(element))
            type.element = element;
    }
    return type;
}

static void take_place(CountedWhile *counting) {
    Op *loop = counting->loop;
    Function *function = counting->function;
    Builder *b = &counting->outside;
    const Region *body = loop->regions[1];
    Value **operands = ARENA_ARRAY(function->arena, Value *, 3 + loop->operand_count);
    Value *one = build_int(b, counting->is_down ? -1 : 1);
    operands[0] = loop->operands[counting->counter];
    operands[1] =
        counting->is_with_end ? build_binary(b, OP_ADD, counting->end, one) : counting->end;
    operands[2] = counting->is_down ? build_binary(b, OP_SUB, build_int(b, 0), counting->step)
                                    : counting->step;
    for (int i = 0; i < loop->operand_count; i++) operands[3 + i] = loop->operands[i];
    Op *counted = op_append(b, OP_FOR, operands, 3 + loop->operand_count, 0);
    Region *region = op_add_region(b, counted);
    const Value *counter = body->arguments[counting->counter];
    Map values = map_new(function->arena);
    Value *variable = region_add_argument(
        function, region, type_of_counter((const Value *const *)operands), counter->name);
    for (int i = 0; i < loop->operand_count; i++) {
        const Value *carried = body->arguments[i];
        Value *argument = region_add_argument(function, region, carried->type, carried->name);
        map_set_pointer(&values, (void *)(uintptr_t)carried,
                        i == counting->counter ? variable : argument);
    }
    Builder inside = {
        .function = function, .region = region, .range = loop->range, .call = loop->call};
    region_clone_into(&inside, body, &values);
    const Op *end = region_terminator(body);
    Value **next = ARENA_ARRAY(function->arena, Value *, end->operand_count + 1);
    for (int i = 0; i < end->operand_count; i++) next[i] = value_mapped(&values, end->operands[i]);
    op_append(&inside, OP_YIELD, next, end->operand_count, 0);
    for (int i = 0; i < loop->result_count; i++) {
        Value *result = op_append_result(function, counted, loop->results[i]->type);
        result->name = loop->results[i]->name;
        region_replace_uses(function->body, loop->results[i], result);
    }
    op_remove(loop);
}

static void count_loops(Function *function, Region *region) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count; i++) count_loops(function, op->regions[i]);
        if (op->code != OP_WHILE) continue;
        CountedWhile counting = {.function = function,
                                 .loop = op,
                                 .outside = {.function = function,
                                             .region = region,
                                             .before = op,
                                             .range = op->range,
                                             .call = op->call},
                                 .copies = map_new(function->arena)};
        if (find_end(&counting) && find_step(&counting)) take_place(&counting);
    }
}

void function_count_loops(Function *function) { count_loops(function, function->body); }
