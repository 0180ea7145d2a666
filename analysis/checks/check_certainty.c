// What is certain of a value's type, whatever the kernel is launched with.
#include "analysis/checks/check_certainty.h"

#include "analysis/checks/check_arguments.h"
#include "analysis/ir/walk.h"
#include "analysis/syntax/syntax_nodes.h"

bool check_is_concrete(DType dtype) { return dtype_bits(dtype.code) > 0; }

/// Whether the element type follows from the type of a parameter, which is up to the caller (an int may be a float or a bool).
static intptr_t is_guess(ValueWalk *walk, const Value *value) {
    if (!value) return true;
    if (value->constant) return false;
    if (!value->op) {  // what a loop carries is as certain as what it starts with
        const Op *loop = value->region ? value->region->parent : NULL;
        if (!loop || (loop->code != OP_FOR && loop->code != OP_WHILE)) return true;
        int operand = loop->code == OP_FOR ? value->index + 2 : value->index;
        bool carried = loop->code == OP_WHILE || value->index > 0;
        return !carried || operand >= loop->operand_count ||
               walk_ask(walk, loop->operands[operand]);
    }
    if (op_is_comparison(value->op->code)) return false;
    switch (value->op->code) {
    case OP_LOAD:
    case OP_PROGRAM_ID:
    case OP_NUM_PROGRAMS:
    case OP_ARANGE:
    case OP_CAST:
    case OP_FULL:
    case OP_DOT:
    case OP_DIV:
    case OP_ARGMAX:
    case OP_ARGMIN: return false;
    default: break;
    }
    if (value->op->region_count) return true;
    for (int i = 0; i < value->op->operand_count; i++) {
        const Value *operand = value->op->operands[i];
        if (operand && operand->type.kind == TYPE_NUMBER && walk_ask(walk, operand)) return true;
    }
    return false;
}

bool check_is_certain(const Value *value) { return !walk_from(value, is_guess, true, NULL); }

/// What a loop carries to this value from outside, as its argument or as its result; NULL where it is no such value.
static const Value *carried_from(const Value *value) {
    const Op *loop = value->op ? value->op : value->region ? value->region->parent : NULL;
    if (!loop || (loop->code != OP_FOR && loop->code != OP_WHILE)) return NULL;
    int first = loop->code == OP_FOR ? 3 : 0;
    int operand = first + value->index - (!value->op && loop->code == OP_FOR);
    return operand >= first && operand < loop->operand_count ? loop->operands[operand] : NULL;
}

/// Whether a value is a scalar under some value of a constexpr, where the symbolic kernel has the tile of the other branch.
static intptr_t may_be_scalar(ValueWalk *walk, const Value *value) {
    if (!value || value->type.kind != TYPE_NUMBER) return false;
    if (value->type.rank == 0) return true;
    const Value *carried = carried_from(value);
    if (carried) return walk_ask(walk, carried);
    const Op *op = value->op;
    if (!op) return false;
    if (op->code == OP_IF) {
        for (int i = 0; i < op->region_count; i++) {
            const Op *end = region_terminator(op->regions[i]);
            if (end && value->index < end->operand_count &&
                walk_ask(walk, end->operands[value->index]))
                return true;
        }
        return false;
    }
    if (op_rows[op->code].shape != SHAPE_BROADCAST && op_rows[op->code].shape != SHAPE_SAME)
        return false;
    bool has_operand = false;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i] || op->operands[i]->type.kind != TYPE_NUMBER) continue;
        if (!walk_ask(walk, op->operands[i])) return false;
        has_operand = true;
    }
    return has_operand;
}

bool check_is_tile(const Value *value) {
    return value->type.rank > 0 && !walk_from(value, may_be_scalar, true, NULL);
}

/// Whether a value is a float of 32 bits or more: a promotion is as wide as its widest operand, whatever the others are.
static intptr_t is_wide(ValueWalk *walk, const Value *value) {
    if (!value || value->constant || value->type.kind != TYPE_NUMBER || value->type.is_constexpr ||
        !dtype_is_float(value->type.element))
        return false;
    bool is_known = dtype_bits(value->type.element.code) >= 32;
    if (is_known && check_is_certain(value)) return true;
    const Op *op = value->op;
    if (!op || op->region_count) return false;
    OpDType element = op_rows[op->code].element;
    bool promotes = element == ELEMENT_PROMOTE || element == ELEMENT_DIVIDE ||
                    element == ELEMENT_FLOAT || element == ELEMENT_SAME || op->code == OP_WHERE;
    if (!is_known || !promotes) return false;
    int first = op->code == OP_WHERE ? 1 : 0;
    int end = element == ELEMENT_SAME && op->code != OP_WHERE ? 1 : op->operand_count;
    for (int i = first; i < end; i++)
        if (walk_ask(walk, op->operands[i])) return true;
    return false;
}

bool check_is_wide_float(const Value *value) { return walk_from(value, is_wide, false, NULL); }

/// Whether a value is a float of whatever width: an exponential, a quotient, what a float goes into.
static intptr_t is_float(ValueWalk *walk, const Value *value) {
    if (!value || value->constant || value->type.kind != TYPE_NUMBER || value->type.is_constexpr ||
        !dtype_is_float(value->type.element))
        return false;
    const Op *op = value->op;
    if (!op || op->region_count) return false;
    switch (op_rows[op->code].element) {
    case ELEMENT_FLOAT:
    case ELEMENT_DIVIDE: return true;
    case ELEMENT_PROMOTE:
        return walk_ask(walk, op->operands[0]) ||
               (op->operand_count > 1 && walk_ask(walk, op->operands[1]));
    default: return false;
    }
}

bool check_is_float(const Value *value) { return walk_from(value, is_float, false, NULL); }

/// Whether a launch of the file passes `tl.constexpr(...)` for the parameter, whatever its annotation is.
static bool is_passed_constexpr(Check *check, const Value *parameter) {
    const FunctionDefinition *kernel = check->kernel->definition;
    const Module *module = kernel->module;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != kernel) continue;
        CheckedArguments arguments =
            arguments_read(check, module->source, site->launcher, site->call);
        const CheckedArgument *argument = arguments_find(kernel, &arguments, parameter->index);
        if (!argument || node_is_null(argument->value) || node_kind(argument->value) != SYNTAX_CALL)
            continue;
        SyntaxNode function = node_field(argument->value, "function");
        if (str_ends(node_text(module->source, function), "constexpr")) return true;
    }
    return false;
}

/// Whether Triton knows for sure that this is no constexpr: it comes from memory, a program id or a plain parameter.
static intptr_t certainly_runtime(ValueWalk *walk, const Value *value) {
    Check *check = (Check *)(uintptr_t)walk->context;
    if (!value || value->constant || value->type.is_constexpr || value->type.kind != TYPE_NUMBER)
        return false;
    if (check_is_parameter(value)) return check->is_entry && !is_passed_constexpr(check, value);
    if (!value->op) return false;
    if (op_has(value->op->code, TRAIT_RUNTIME)) return true;
    switch (value->op->code) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_FLOORDIV:
        return walk_ask(walk, value->op->operands[0]) || walk_ask(walk, value->op->operands[1]);
    default: return false;
    }
}

bool check_is_runtime(const Check *check, const Value *value) {
    return walk_from(value, certainly_runtime, false, check);
}

/* ---- programs that a pruning function counts ---- */

static bool is_tuned_parameter(const Check *check, const Value *value) {
    const FunctionDefinition *kernel = check->kernel->definition;
    if (!check_is_parameter(value)) return false;
    Str name = str_from(check->function->parameters[value->index].name);
    for (LIST_EACH(int, i, kernel->tuned_names))
        if (str_equal(kernel->tuned_names.items[i], name)) return true;
    return false;
}

bool check_may_be_pruned_to_one(const Check *check, int axis) {
    const FunctionDefinition *kernel = check->kernel->definition;
    const Value *id = check->axes.programs[axis];
    bool is_pruned = false;
    for (LIST_EACH(int, i, kernel->decorators))
        is_pruned |= str_contains(node_text(kernel->module->source, kernel->decorators.items[i]),
                                  str_from("early_config_prune"));
    if (!is_pruned || !id) return false;
    const Uses *uses = check_uses(check, id);
    for (LIST_EACH(int, i, uses->list)) {
        const Op *use = uses->list.items[i];
        if (use->code == OP_MUL && is_tuned_parameter(check, use->operands[use->operands[0] == id]))
            return true;
    }
    return false;
}
