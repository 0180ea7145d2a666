// What a loop carries, and what branches leave: one type each, on every way.
#include "analysis/checks/check_certainty.h"

/// The type Triton gives a Python number that becomes a run-time value.
static DTypeCode materialised(const Value *value) {
    if (!value->constant)
        return value->type.is_constexpr ? DTYPE_UNKNOWN : value->type.element.code;
    switch (value->constant->kind) {
    case CONSTANT_BOOL: return DTYPE_INT1;
    case CONSTANT_INT:
        return value->constant->integer >= INT32_MIN && value->constant->integer <= INT32_MAX
                   ? DTYPE_INT32
                   : DTYPE_INT64;
    case CONSTANT_FLOAT: return DTYPE_FLOAT32;
    default: return DTYPE_UNKNOWN;
    }
}

/// What has one type in the symbolic kernel and may have another in each instance: a join over constexpr branches or iterations.
static bool is_of_instance(const Value *value) {
    const Op *op = value->region ? value->region->parent : value->op;
    if (!op) return false;
    return op->code == OP_STATIC_FOR || (op->code == OP_IF && op->operands[0]->type.is_constexpr);
}

/// Sixteen bits meet thirty-two or more, or an integer a float, or both types are certain.
static bool is_certain_to_differ(const Value *a, const Value *b) {
    if (check_is_certain(a) && check_is_certain(b)) return true;
    bool a_is_integer = a->type.kind == TYPE_NUMBER && dtype_is_integer(a->type.element) &&
                        type_is_tile(a->type) && check_is_certain(a);
    if (a_is_integer && check_is_float(b)) return true;
    bool a_is_half = dtype_bits(materialised(a)) == 16 && check_is_certain(a);
    return a_is_half && check_is_wide_float(b);
}

/// Whether two values certainly have different types at run time.
static bool types_differ(const Value *a, const Value *b) {
    if (is_of_instance(a) || is_of_instance(b)) return false;
    bool numbers = a->type.kind == TYPE_NUMBER && b->type.kind == TYPE_NUMBER;
    bool pointers = a->type.kind == TYPE_POINTER && b->type.kind == TYPE_POINTER;
    if (!numbers && !pointers) return false;
    if ((a->op && a->op->code == OP_UNDEFINED) || (b->op && b->op->code == OP_UNDEFINED))
        return false;
    if (a->type.rank != b->type.rank) return true;
    for (int i = 0; i < a->type.rank; i++) {
        int64_t x, y;
        if (a->type.dims[i] && b->type.dims[i] && poly_is_constant(a->type.dims[i], &x) &&
            poly_is_constant(b->type.dims[i], &y) && x != y)
            return true;
    }
    if (pointers) return false;
    DTypeCode x = materialised(a);
    DTypeCode y = materialised(b);
    return dtype_bits(x) > 0 && dtype_bits(y) > 0 && x != y && is_certain_to_differ(a, b);
}

static const char *runtime_text(Check *check, const Value *value) {
    if (value->constant) return dtype_short_name(materialised(value));
    return type_told(check->arena, value->type);
}

static void check_loop_carried(Check *check, Op *op) {
    int first = op->code == OP_FOR ? 3 : 0;
    const Region *body = op->regions[op->region_count - 1];
    const Op *end = region_terminator(body);
    for (int i = 0; end && i < end->operand_count && first + i < op->operand_count; i++) {
        Value *initial = op->operands[first + i];
        Value *next = end->operands[i];
        const Value *argument = body->arguments[op->code == OP_FOR ? i + 1 : i];
        if (!initial || !next || next == argument || !types_differ(initial, next)) continue;
        const char *name = argument->name ? argument->name : op->results[i]->name;
        Range range = next->range.source ? next->range : op->range;
        if (range.source != check->kernel->definition->module->source) range = op->range;
        Diagnostic *said = check_report_at(
            check, DIAGNOSTIC_CARRIED_TYPE, range,
            "%s is %s before the loop and %s after an iteration of it", name ? name : "a value",
            runtime_text(check, initial), runtime_text(check, next));
        check_relate(check, said, op, "the loop");
        if (said && initial->range.source == range.source)
            diagnostic_relate(check->diagnostics, said, initial->range, "before the loop");
    }
}

static void check_branches(Check *check, Op *op) {
    const Value *condition = op->operands[0];
    bool is_open = condition->type.kind == TYPE_UNKNOWN;  // it may be known when Triton compiles
    if (condition->type.is_constexpr || condition->constant || is_open) return;
    const Op *then_end = region_terminator(op->regions[0]);
    const Op *else_end = region_terminator(op->regions[1]);
    for (int i = 0;
         then_end && else_end && i < then_end->operand_count && i < else_end->operand_count; i++) {
        Value *a = then_end->operands[i];
        Value *b = else_end->operands[i];
        if (!a || !b || !types_differ(a, b)) continue;
        const char *name = op->results[i]->name ? op->results[i]->name : a->name;
        check_report(check, DIAGNOSTIC_BRANCH_TYPE, op,
                     "%s is %s in one branch and %s in the other", name ? name : "the value",
                     runtime_text(check, a), runtime_text(check, b));
    }
}

/// A plain number of the caller's is less or more than another: no constexpr, as words and modes that `==` asks for may be.
static bool is_plain_comparison(const Check *check, const Value *condition) {
    const Op *op = condition->op;
    if (!op || !op_is_comparison(op->code) || op->code == OP_EQ || op->code == OP_NE) return false;
    for (int i = 0; i < 2; i++) {
        const Value *side = op->operands[i];
        if (!side || side->type.kind != TYPE_NUMBER) return false;
        if (check_is_parameter(side) && check->function->parameters[side->index].is_optional)
            return false;
    }
    return check_is_runtime(check, op->operands[0]) || check_is_runtime(check, op->operands[1]);
}

/// What one branch alone assigns, used after it.
static void check_one_armed(Check *check, Op *op) {
    const Op *ends[] = {region_terminator(op->regions[0]), region_terminator(op->regions[1])};
    if (!ends[0] || !ends[1] || !is_plain_comparison(check, op->operands[0])) return;
    for (int i = 0; i < op->result_count; i++) {
        bool is_one_armed = false;
        for (int branch = 0; branch < 2; branch++) {
            const Value *value = i < ends[branch]->operand_count ? ends[branch]->operands[i] : NULL;
            is_one_armed = is_one_armed || (value && value->op && value->op->code == OP_UNDEFINED);
        }
        const Uses *uses = check_uses(check, op->results[i]);
        const Op *use = NULL;
        for (LIST_EACH(int, k, uses->list))
            if (!use && uses->list.items[k]->code != OP_YIELD) use = uses->list.items[k];
        if (!is_one_armed || !use || !op->results[i]->name) continue;
        Diagnostic *said = check_report(check, DIAGNOSTIC_UNDEFINED_NAME, use,
                                        "`%s` is assigned in one branch of a run-time `if`: Triton "
                                        "does not know it here",
                                        op->results[i]->name);
        check_relate(check, said, op, "the `if`");
    }
}

void check_carried_types(Check *check, Op *op) {
    if (!check->is_entry)
        return;  // whether a condition is a constexpr, and what starts as what, is up to the caller
    if (op->code == OP_FOR || op->code == OP_WHILE) check_loop_carried(check, op);
    if (op->code != OP_IF) return;
    check_branches(check, op);
    check_one_armed(check, op);
}
