// From a value back to loads whose masks leave everything out, through what is 0 where its operands are.
#include "autodiff/padding/vanishing.h"

#include "analysis/build/infer.h"

/// Values that one search asks about. Beyond: they are not 0
enum { MOST_STEPS = 4000, DEEPEST = 200 };

typedef struct Vanishing {
    ConditionFails *fails;
    void *context;
    int left, depth;
    Map carried;  // values that are taken to be 0 while their loop is looked at
} Vanishing;

static bool vanishes(Vanishing *search, const Value *value);

bool value_is_zero(const Value *value) {
    for (const Op *op; value && (op = value->op);) {
        if (value->constant && value->constant->kind == CONSTANT_FLOAT)
            return value->constant->number == 0;
        int64_t number;
        if (value_is_int(value, &number)) return number == 0;
        int fill = op->code == OP_FULL ? op_parameter_index(op->code, STR("value")) : 0;
        bool keeps = op_has(op->code, TRAIT_LAYOUT) || op->code == OP_CAST ||
                     op_rows[op->code].kind == KIND_HINT;
        if (!keeps && op->code != OP_FULL) return false;
        value = op->operands[fill];
    }
    return false;
}

static bool has_part(const Value *mask, ConditionFails *fails, void *context, int depth) {
    const Op *op = mask ? mask->op : NULL;
    if (mask && fails(context, mask)) return true;
    if (!op || depth > DEEPEST) return false;
    bool is_and = op_has(op->code, TRAIT_BOTH);
    if (!is_and && !op_has(op->code, TRAIT_LAYOUT)) return false;
    for (int i = 0; i < (is_and ? 2 : 1); i++)
        if (has_part(op->operands[i], fails, context, depth + 1)) return true;
    return false;
}

bool mask_has_part(const Value *mask, ConditionFails *fails, void *context) {
    return has_part(mask, fails, context, 0);
}

static bool is_left_out(const Vanishing *search, const Value *mask) {
    return mask_has_part(mask, search->fails, search->context);
}

/// What a loop carries out: 0 at first, and 0 after an iteration that started with 0.
static bool carried_vanishes(Vanishing *search, const Op *loop, int carried) {
    const Value *argument = loop->regions[0]->arguments[carried + 1];
    if (!vanishes(search, loop->operands[3 + carried])) return false;
    map_set_pointer(&search->carried, argument, search);
    bool stays = vanishes(search, region_terminator(loop->regions[0])->operands[carried]);
    map_set_pointer(&search->carried, argument, NULL);
    return stays;
}

/// By what the operation's row says of zeros.
static bool row_vanishes(Vanishing *search, const Op *op) {
    OpRow row = op_rows[op->code];
    if (!op->operand_count || op->region_count) return false;
    if (row.zero == ZERO_FIRST) return vanishes(search, op->operands[0]);
    if (row.zero != ZERO_ANY && row.zero != ZERO_ALL) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (vanishes(search, op->operands[i]) == (row.zero == ZERO_ANY))
            return row.zero == ZERO_ANY;
    return row.zero == ZERO_ALL;
}

static bool result_vanishes(Vanishing *search, const Value *value) {
    const Op *op = value->op;
    int other = op_parameter_index(op->code, STR("other"));
    int mask = op_parameter_index(op->code, STR("mask"));
    switch (op->code) {
    case OP_LOAD:
        return other < op->operand_count && op->operands[other] &&
               value_is_zero(op->operands[other]) && is_left_out(search, op->operands[mask]);
    case OP_WHERE:
        return vanishes(search, op->operands[2]) &&
               (is_left_out(search, op->operands[0]) || vanishes(search, op->operands[1]));
    case OP_DOT:
        if (op->operand_count > 2 && op->operands[2] && !value_is_none(op->operands[2]) &&
            !vanishes(search, op->operands[2]))
            return false;
        return vanishes(search, op->operands[0]) || vanishes(search, op->operands[1]);
    case OP_IF:
        for (int r = 0; r < 2; r++)
            if (!vanishes(search, region_terminator(op->regions[r])->operands[value->index]))
                return false;
        return true;
    case OP_FOR:
    case OP_STATIC_FOR: return carried_vanishes(search, op, value->index);
    default: return row_vanishes(search, op);
    }
}

static bool vanishes(Vanishing *search, const Value *value) {
    if (!value || search->left-- <= 0 || search->depth > DEEPEST) return false;
    if (value_is_zero(value)) return true;
    if (!value->op) return map_get_pointer(&search->carried, value) != NULL;
    search->depth++;
    bool zero = result_vanishes(search, value);
    search->depth--;
    return zero;
}

bool value_vanishes(Arena *arena, const Value *value, ConditionFails *fails, void *context) {
    Vanishing search = {
        .fails = fails, .context = context, .left = MOST_STEPS, .carried = map_new(arena)};
    return vanishes(&search, value);
}
