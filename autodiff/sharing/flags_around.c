// Statements of one gradient in; the conditions on constexpr parameters that divide them, stand around their loops, or choose their
// places, out.
#include "autodiff/sharing/flags_around.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/ir/loops.h"
#include "autodiff/rewrite/copying.h"

enum { DEEPEST_CONDITION = 8 };

static void note(Differentiation *state, const Parameter *parameter, const Constant *value) {
    LaunchFlags *flags = &state->parts.flags;
    for (LIST_EACH(int, i, *flags))
        if (strcmp(flags->items[i].parameter, parameter->name) == 0) return;
    LIST_PUSH(state->arena, flags, (LaunchFlag){parameter->name, value});
}

/// The constexpr parameter of the backward that a value is, or NULL.
static const Parameter *flag_of(const Differentiation *state, const Value *value) {
    const Function *function = state->backward;
    bool is_parameter = !value->op && !value->constant && value->region == function->body;
    if (!is_parameter) return NULL;
    const Parameter *parameter = &function->parameters[value->index];
    return parameter->is_constexpr ? parameter : NULL;
}

static void note_condition(Differentiation *state, const Value *condition, int depth) {
    const Parameter *flag = flag_of(state, condition);
    const Op *op = condition->op;
    if (flag) note(state, flag, NULL);
    if (!op || depth > DEEPEST_CONDITION) return;
    if (op_is_logical(op->code)) {
        for (int i = 0; i < op->operand_count; i++)
            if (op->operands[i]) note_condition(state, op->operands[i], depth + 1);
    } else if (op->code == OP_EQ || op->code == OP_NE) {
        for (int side = 0; side < 2; side++) {
            const Parameter *compared = flag_of(state, op->operands[side]);
            const Constant *value = op->operands[1 - side]->constant;
            bool is_value =
                value && (value->kind == CONSTANT_STRING || value->kind == CONSTANT_INT);
            if (compared && is_value) note(state, compared, value);
        }
    }
}

/// The side of the branch that the operation is in; NULL: in none.
static const Region *side_of(const Op *branch, const Op *op) {
    for (const Region *region = op->parent; region && region->parent;
         region = region->parent->parent)
        if (region->parent == branch) return region;
    return NULL;
}

/// Those around the statement of this index, from `region` on. The outermost first: it divides the kernel, whatever there is within.
static void note_around(Differentiation *state, const Accumulation *group, int count,
                        const Region *region, bool has_loop) {
    const Op *around = region->parent;
    if (!around) return;
    has_loop = has_loop || op_is_loop(around->code);
    note_around(state, group, count, around->parent, has_loop);
    if (around->code != OP_IF) return;
    bool divides = has_loop;
    for (int k = 0; k < count; k++) divides = divides || side_of(around, group[k].op) != region;
    if (divides) note_condition(state, around->operands[0], 0);
}

typedef struct ChosenPlaces {
    Differentiation *state;
    Map seen;
} ChosenPlaces;

/// Notes the conditions that choose what a value is made of.
static bool visit_place(void *context, Value *value) {
    ChosenPlaces *search = context;
    const Op *op = value->op;
    if (!op || value->constant || map_has_pointer(&search->seen, value)) return true;
    map_set_pointer(&search->seen, value, search);
    if (op->code == OP_IF || op->code == OP_WHERE)
        note_condition(search->state, op->operands[0], 0);
    return op_walk_captured(op, visit_place, search);
}

void flags_around_note(Differentiation *state, const Accumulation *group, int count) {
    for (int i = 0; i < count; i++) note_around(state, group, count, group[i].op->parent, false);
    ChosenPlaces search = {state, map_new(state->arena)};
    for (int i = 0; i < count; i++) {
        const Access access = access_of(state->arena, group[i].op);
        if (access.parameter && !access.offset.known)
            visit_place(&search, group[i].op->operands[0]);
    }
}
