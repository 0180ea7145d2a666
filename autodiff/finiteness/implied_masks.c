// Masks in; the same without what other parts of them imply out.
#include "autodiff/finiteness/implied_masks.h"

#include <string.h>

#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "analysis/launches/launch_least.h"
#include "autodiff/addresses/place.h"

/// `value < bound`, or `value >= bound`.
typedef struct PartBound {
    const Value *value;
    const Poly *bound;  // NULL: another condition
    bool is_above;
} PartBound;

typedef struct MaskTerms {
    Value *items[MASK_MOST_PARTS];
    int count;
} MaskTerms;

static bool list_parts(Value *mask, MaskTerms *parts) {
    if (mask->op && mask->op->code == OP_AND)
        return list_parts(mask->op->operands[0], parts) && list_parts(mask->op->operands[1], parts);
    if (parts->count == MASK_MOST_PARTS) return false;
    parts->items[parts->count++] = mask;
    return true;
}

static PartBound bound_of(Arena *arena, const Value *part) {
    bool is_denied = false;
    const Op *op = part->op;
    if (op && op->code == OP_INVERT) {
        is_denied = true;
        op = op->operands[0]->op;
    }
    bool is_less = op && (op->code == OP_LT || op->code == OP_LE),
         has_bound = op && (op->code == OP_LE || op->code == OP_GT);
    if (!op || (!is_less && op->code != OP_GT && op->code != OP_GE) || op->operands[1]->type.rank ||
        !dtype_is_integer(op->operands[0]->type.element))
        return (PartBound){0};
    const Poly *bound = value_poly(arena, op->operands[1]);
    if (has_bound) bound = poly_add(arena, bound, poly_constant(arena, 1));
    return (PartBound){op->operands[0], bound, is_less == is_denied};
}

/// Whether a part says that a value is not a number.
static bool is_unlike(const Value *part, const Value **value, const Value **number) {
    const Op *op = part->op;
    bool is_denied = op && op->code == OP_INVERT;
    if (is_denied) op = op->operands[0]->op;
    if (!op || op->code != (is_denied ? OP_EQ : OP_NE)) return false;
    *value = op->operands[0];
    *number = op->operands[1];
    return true;
}

/// Whether two parts leave out the same number of a value.
static bool are_unlike(Arena *arena, const Value *part, const Value *other) {
    const Value *value, *number, *of, *known;
    return is_unlike(part, &value, &number) && is_unlike(other, &of, &known) && value == of &&
           !number->type.rank && !known->type.rank &&
           poly_equal(value_poly(arena, (Value *)(uintptr_t)number),
                      value_poly(arena, (Value *)(uintptr_t)known));
}

/// Whether it is a size that launches pass, 1 or more.
static bool is_positive(const Differentiation *state, const Value *value) {
    const Function *backward = state->backward, *forward = state->primal;
    for (int i = 0; i < backward->parameter_count && forward->definition; i++)
        for (int k = 0; k < forward->parameter_count && backward->parameters[i].value == value;
             k++) {
            if (strcmp(forward->parameters[k].name, backward->parameters[i].name) != 0) continue;
            int64_t least = launches_least(state->arena, forward, k);
            return least >= 1 && least != LAUNCH_LEAST_UNKNOWN;
        }
    return false;
}

/// Whether a number is 0 or more, by the sizes that launches pass.
static bool is_never_negative(const Differentiation *state, const Poly *number) {
    for (int t = 0; t < number->count; t++) {
        if (number->terms[t].coefficient < 0) return false;
        for (int a = 0; a < number->terms[t].atom_count; a++) {
            const Value *atom = number->terms[t].atoms[a];
            if (!is_positive(state, atom)) return false;
        }
    }
    return true;
}

/// Whether `value == number` says that a part holds.
static bool follows_from_number(const Value *part, const Value *value, int64_t number) {
    const Op *op = part->op;
    int64_t bound;
    bool is_denied = op && op->code == OP_INVERT;
    if (is_denied) op = op->operands[0]->op;
    if (!op || op->operand_count != 2 || op->operands[0] != value ||
        !value_is_int(op->operands[1], &bound))
        return false;
    switch (op->code) {
    case OP_LT: return (number < bound) != is_denied;
    case OP_LE: return (number <= bound) != is_denied;
    case OP_GT: return (number > bound) != is_denied;
    case OP_GE: return (number >= bound) != is_denied;
    case OP_EQ: return (number == bound) != is_denied;
    case OP_NE: return (number != bound) != is_denied;
    default: return false;
    }
}

/// Whether `part` holds wherever `other` does.
static bool is_implied(const Differentiation *state, const Value *part, const Value *other) {
    const Op *equal = other->op && other->op->code == OP_EQ ? other->op : NULL;
    int64_t number;
    if (part == other || are_unlike(state->arena, part, other)) return true;
    if (equal && value_is_int(equal->operands[1], &number) &&
        follows_from_number(part, equal->operands[0], number))
        return true;
    const PartBound own = bound_of(state->arena, part), given = bound_of(state->arena, other);
    if (!own.bound || !given.bound || own.value != given.value || own.is_above != given.is_above)
        return false;
    return is_never_negative(state, own.is_above
                                        ? poly_subtract(state->arena, given.bound, own.bound)
                                        : poly_subtract(state->arena, own.bound, given.bound));
}

/// The parts without those that others imply; of two that say the same the first stays.
static MaskTerms without_implied(const Differentiation *state, const MaskTerms *parts) {
    bool is_left[MASK_MOST_PARTS];
    MaskTerms left = {.count = 0};
    for (int i = 0; i < parts->count; i++) is_left[i] = true;
    for (int i = parts->count - 1; i >= 0; i--)
        for (int k = 0; k < parts->count && is_left[i]; k++)
            if (k != i && is_left[k] && is_implied(state, parts->items[i], parts->items[k]))
                is_left[i] = false;
    for (int i = 0; i < parts->count; i++)
        if (is_left[i]) left.items[left.count++] = parts->items[i];
    return left;
}

static bool is_zero(const Value *value) {
    const Constant *constant = value->constant;
    return constant && ((constant->kind == CONSTANT_FLOAT && constant->number == 0) ||
                        (constant->kind == CONSTANT_INT && constant->integer == 0));
}

static bool any_implies(const Differentiation *state, const MaskTerms *parts, const Value *part) {
    for (int i = 0; i < parts->count; i++)
        if (is_implied(state, part, parts->items[i])) return true;
    return false;
}

static bool all_hold(const Differentiation *state, const MaskTerms *parts, Value *condition) {
    MaskTerms own = {.count = 0};
    if (!list_parts(condition, &own)) return false;
    for (int i = 0; i < own.count; i++)
        if (!any_implies(state, parts, own.items[i])) return false;
    return true;
}

static bool part_is_denied(const Differentiation *state, const MaskTerms *parts, Value *part) {
    Op denial = {.code = OP_INVERT, .operands = &part, .operand_count = 1};
    Value denied = *part;
    denied.op = &denial;
    for (int i = 0; i < parts->count; i++) {
        const Op *op = parts->items[i]->op;
        if (op && op->code == OP_INVERT && op->operands[0] == part) return true;
    }
    return bound_of(state->arena, &denied).bound && any_implies(state, parts, &denied);
}

/// Whether the mask leaves out all elements that a condition has.
static bool is_denied(const Differentiation *state, const MaskTerms *parts, Value *condition) {
    MaskTerms own = {.count = 0};
    if (part_is_denied(state, parts, condition)) return true;
    if (!list_parts(condition, &own)) return false;
    for (int i = 0; i < own.count; i++)
        if (part_is_denied(state, parts, own.items[i])) return true;
    return false;
}

/// What the mask has of `where(c, x, 0)`, where it has `c`, and of `where(c, 0, x)`, where it has not: the other elements are not stored.
static void drop_choices(const Differentiation *state, Op *op, const MaskTerms *parts) {
    for (int left = MASK_MOST_PARTS; left > 0; left--) {
        const Op *choice = op->operands[1]->op;
        if (!choice || choice->code != OP_WHERE) return;
        bool is_kept = is_zero(choice->operands[2]) && all_hold(state, parts, choice->operands[0]);
        bool is_other =
            is_zero(choice->operands[1]) && is_denied(state, parts, choice->operands[0]);
        Value *kept = choice->operands[is_kept ? 1 : 2];
        if ((!is_kept && !is_other) || !type_equal(kept->type, op->operands[1]->type)) return;
        op_set_operand(op, 1, kept);
    }
}

static bool visit_store(void *context, Op *op) {
    Differentiation *state = context;
    Value *mask = op->code == OP_STORE ? access_mask(op) : NULL;
    MaskTerms parts = {.count = 0};
    if (!mask || !list_parts(mask, &parts)) return true;
    drop_choices(state, op, &parts);
    const MaskTerms left = without_implied(state, &parts);
    if (left.count == parts.count) return true;
    Builder b = {
        .function = state->backward, .region = op->parent, .before = op, .range = op->range};
    Value *made = left.items[0];
    for (int i = 1; i < left.count; i++) made = build_binary(&b, OP_AND, made, left.items[i]);
    if (type_equal(made->type, mask->type))
        op_set_operand(op, op_parameter_index(op->code, STR("mask")), made);
    return true;
}

void masks_leave_out_implied(Differentiation *state) {
    region_walk(state->backward->body, visit_store, state);
}
