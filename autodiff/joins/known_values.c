// Each number that is made of the constexpr alone is computed under both values; what is asked of it is a truth under each.
#include "autodiff/joins/known_values.h"

#include "analysis/build/build.h"
#include "analysis/launches/launch_values.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/rewrite/simplify.h"

typedef struct TwoValues {
    Differentiation *state;
    Value *parameter;
    int64_t values[2];  // rising
    Map numbers[2];     // value of the function -> the constant that it is under each
    Value *flag;        // whether it is the larger
    bool is_asked_alone;
} TwoValues;

/// What a value is under one of both; NULL: not a number of the parameter and constants alone.
static Value *number_under(TwoValues *two, int which, Value *value) {
    if (!value || value->constant) return value;
    return map_get_pointer(&two->numbers[which], value);
}

static bool visit_number(void *context, Op *op) {
    TwoValues *two = context;
    bool is_scalar = op->result_count == 1 && op->results[0]->type.kind == TYPE_NUMBER &&
                     op->results[0]->type.rank == 0 && op->results[0]->type.is_constexpr &&
                     !op->region_count && op_is_pure(op) && op->operand_count;
    bool mentions = false;
    for (int i = 0; i < op->operand_count; i++)
        mentions =
            mentions || (op->operands[i] && map_has_pointer(&two->numbers[0], op->operands[i]));
    if (!mentions) return true;
    bool is_known = is_scalar;
    for (int which = 0; which < 2 && is_known; which++) {
        Function *function = two->state->primal;
        Value **operands = ARENA_ARRAY(two->state->arena, Value *, op->operand_count);
        for (int i = 0; i < op->operand_count; i++) {
            operands[i] = number_under(two, which, op->operands[i]);
            is_known = is_known && (operands[i] || !op->operands[i]);
        }
        Builder b = {
            .function = function, .region = function->body, .before = function->body->first};
        Value *made = is_known ? build(&b, op->code, operands, op->operand_count) : NULL;
        is_known = made && made->constant;
        if (is_known) map_set_pointer(&two->numbers[which], op->results[0], made);
    }
    two->is_asked_alone &= is_known || op->code == OP_IF || op->code == OP_STATIC_ASSERT;
    return two->is_asked_alone;
}

static bool is_true(const Value *value) {
    double number;
    return value_is_number(value, &number) && number != 0;
}

static void swap_sides(Op *branch) {
    Region *first = branch->regions[0];
    branch->regions[0] = branch->regions[1];
    branch->regions[1] = first;
}

static bool visit_condition(void *context, Op *op) {
    TwoValues *two = context;
    if (op->code != OP_IF) return true;
    Value *condition = op->operands[0];
    const Value *under[2] = {map_get_pointer(&two->numbers[0], condition),
                             map_get_pointer(&two->numbers[1], condition)};
    if (!under[0] || !under[1]) return true;
    bool truth[2] = {is_true(under[0]), is_true(under[1])};
    Function *function = two->state->primal;
    Builder b = {.function = function, .region = op->parent, .before = op};
    if (truth[0] == truth[1]) {
        op_set_operand(op, 0, build_bool(&b, truth[0]));
        return true;
    }
    if (truth[0]) swap_sides(op);
    op_set_operand(op, 0, two->flag);
    return true;
}

typedef struct Inner {
    const Value *flag;
    Value *truth;
} Inner;

/// A branch on the flag inside of one on the flag.
static bool visit_inner(void *context, Op *op) {
    const Inner *inner = context;
    if (op->code == OP_IF && op->operands[0] == inner->flag) op_set_operand(op, 0, inner->truth);
    return true;
}

static bool visit_outer(void *context, Op *op) {
    TwoValues *two = context;
    if (op->code != OP_IF || op->operands[0] != two->flag) return true;
    Function *function = two->state->primal;
    Builder b = {.function = function, .region = op->parent, .before = op};
    for (int side = 0; side < 2; side++) {
        Inner inner = {two->flag, build_bool(&b, side == 0)};
        region_walk(op->regions[side], visit_inner, &inner);
    }
    return true;
}

static bool settle(TwoValues *two, int parameter) {
    Function *function = two->state->primal;
    two->parameter = function->parameters[parameter].value;
    Builder b = {.function = function, .region = function->body, .before = function->body->first};
    for (int which = 0; which < 2; which++) {
        two->numbers[which] = map_new(two->state->arena);
        map_set_pointer(&two->numbers[which], two->parameter, build_int(&b, two->values[which]));
    }
    two->is_asked_alone = true;
    region_walk(function->body, visit_number, two);
    if (!two->is_asked_alone) return false;
    two->flag = build_binary(&b, OP_EQ, two->parameter, build_int(&b, two->values[1]));
    region_walk(function->body, visit_condition, two);
    region_walk(function->body, visit_outer, two);
    return true;
}

bool known_values_settle(Differentiation *state) {
    bool any = false;
    for (int p = 0; p < state->primal->parameter_count; p++) {
        const Parameter *parameter = &state->primal->parameters[p];
        if (!parameter->is_constexpr || parameter->value->constant) continue;
        LaunchValues values = launches_values(state->primal, p);
        if (values.count != 2) continue;
        TwoValues two = {.state = state, .values = {values.items[0], values.items[1]}};
        if (!settle(&two, p)) continue;
        KnownValues known = {parameter->name, {values.items[0], values.items[1]}};
        LIST_PUSH(state->arena, &state->joins.values, known);
        any = true;
    }
    if (any) function_simplify(state->primal);
    return any;
}
