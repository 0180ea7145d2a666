// One walk over a kernel: which parameters are flags, numbers, texts, lengths of ranges.
#include "analysis/host/parameter_uses.h"

#include <string.h>

typedef struct Seen {
    int index;    // of the parameter
    int divisor;  // the parameter that it is divided by, -1: none
    bool as_flag, as_number, as_length, as_present;
    const Constant *compared;
    Str texts[LAUNCH_MOST_TEXTS];
    int text_count;
} Seen;

static void see_text(Seen *seen, const Constant *constant) {
    if (constant->kind != CONSTANT_STRING || seen->text_count == LAUNCH_MOST_TEXTS) return;
    for (int i = 0; i < seen->text_count; i++)
        if (str_equal(seen->texts[i], constant->string)) return;
    seen->texts[seen->text_count++] = constant->string;
}

static void see(Seen *seen, const Op *op, int operand) {
    seen->as_length |= op->code == OP_ARANGE && operand == 1;
    switch (op->code) {
    case OP_IF:
        if (operand == 0) seen->as_flag = true;
        break;
    case OP_LOGICAL_AND:
    case OP_LOGICAL_OR:
    case OP_LOGICAL_NOT: seen->as_flag = true; break;
    case OP_EQ:
    case OP_NE: {
        const Value *other = op->operands[1 - (operand > 1 ? 1 : operand)];
        if (!other || !other->constant) break;
        seen->compared = other->constant;
        see_text(seen, other->constant);
        break;
    }
    default: seen->as_number = true;
    }
}

static bool is_below_flag(const Op *op) {
    for (const Op *outer = op->parent->parent; outer; outer = outer->parent->parent)
        if (outer->code == OP_IF && outer->operands[0]->type.is_constexpr) return true;
    return false;
}

/// Triton compiles no address from None, also where nothing is loaded from it.
static bool makes_address(const Op *op, const Value *pointer) {
    bool is_access = op_rows[op->code].effects & (EFFECT_READS | EFFECT_WRITES);
    TypeKind made = op->result_count == 1 ? op->results[0]->type.kind : TYPE_NONE;
    bool is_made = made == TYPE_POINTER || made == TYPE_BLOCK_POINTER || made == TYPE_DESCRIPTOR;
    return pointer->type.kind == TYPE_POINTER && (is_access || is_made) && !op->region_count &&
           !is_below_flag(op);
}

/// Nor does it take None for a number.
static bool makes_number(const Op *op, const Value *number) {
    switch (op->code) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_FLOORDIV:
    case OP_MOD: return number->type.kind == TYPE_NUMBER && !is_below_flag(op);
    default: return false;
    }
}

static Seen *seen_parameter(const Map *parameters, const Value *value) {
    while (value && value->op && value->op->code == OP_CAST) value = value->op->operands[0];
    return value && !value->op ? map_get_pointer(parameters, value) : NULL;
}

/// The operand that says how long a tile is along each axis: a power of two. -1 where an op has none.
static int tile_shape_operand(OpCode code) {
    switch (code) {
    case OP_FULL: return 0;
    case OP_MAKE_BLOCK_POINTER: return 4;
    case OP_MAKE_TENSOR_DESCRIPTOR: return 3;
    default: return -1;
    }
}

static void see_tile_shape(const Map *parameters, const Op *op) {
    int operand = tile_shape_operand(op->code);
    const Value *shape = operand >= 0 && operand < op->operand_count ? op->operands[operand] : NULL;
    if (!shape || !shape->op || shape->op->code != OP_TUPLE) return;
    for (int i = 0; i < shape->op->operand_count; i++) {
        Seen *seen = seen_parameter(parameters, shape->op->operands[i]);
        if (seen) seen->as_length = true;
    }
}

static bool visit_op(void *context, Op *op) {
    const Map *parameters = context;
    see_tile_shape(parameters, op);
    if (op->code == OP_FLOORDIV) {
        Seen *number = seen_parameter(parameters, op->operands[0]);
        const Seen *divisor = seen_parameter(parameters, op->operands[1]);
        if (number && divisor && number->divisor < 0) number->divisor = divisor->index;
    }
    for (int i = 0; i < op->operand_count; i++) {
        const Value *operand = op->operands[i];
        Seen *seen = operand && !operand->op ? map_get_pointer(parameters, operand) : NULL;
        if (!seen) continue;
        see(seen, op, i);
        seen->as_present =
            seen->as_present || makes_address(op, operand) || makes_number(op, operand);
    }
    return true;
}

static HostInputKind kind_of(const Parameter *parameter, const Seen *seen) {
    Type type = parameter->value->type;
    if (type.kind == TYPE_POINTER && type.rank == 0) return INPUT_TENSOR;
    if (parameter->is_constexpr) {
        if (seen->compared && seen->compared->kind == CONSTANT_STRING) return INPUT_STRING;
        if (seen->as_flag && !seen->as_number) return INPUT_BOOL;
        return seen->as_number || seen->compared ? INPUT_INT : INPUT_BOOL;
    }
    if (type.kind != TYPE_NUMBER) return INPUT_UNDECIDED;
    if (dtype_is_float(type.element)) return INPUT_FLOAT;
    return dtype_is_integer(type.element) ? INPUT_INT : INPUT_UNDECIDED;
}

KernelUses parameter_uses(Arena *arena, const Function *function) {
    KernelUses uses = {0};
    if (!function) return uses;
    Seen *seen = ARENA_ARRAY(arena, Seen, function->parameter_count + 1);
    Map parameters = map_new(arena);
    for (int i = 0; i < function->parameter_count; i++) {
        seen[i].index = i;
        seen[i].divisor = -1;
        map_set_pointer(&parameters, function->parameters[i].value, &seen[i]);
    }
    region_walk(function->body, visit_op, &parameters);
    for (int i = 0; i < function->parameter_count; i++) {
        KernelUse use = {kind_of(&function->parameters[i], &seen[i]), seen[i].as_length,
                         seen[i].divisor, seen[i].as_present, .text_count = seen[i].text_count};
        memcpy(use.texts, seen[i].texts, sizeof use.texts);
        LIST_PUSH(arena, &uses, use);
    }
    return uses;
}

static bool visit_lengths(void *context, Op *op) {
    uint64_t *lengths = context;
    for (int i = 0; i < op->result_count; i++) {
        const Type *type = &op->results[i]->type;
        for (int axis = 0; axis < type->rank; axis++) {
            int64_t length;
            bool is_number = type->dims[axis] && poly_is_constant(type->dims[axis], &length);
            if (!is_number || length < 1 || (length & (length - 1)) != 0) continue;
            int power = 0;
            while (length >>= 1) power++;
            *lengths |= (uint64_t)1 << power;
        }
    }
    return true;
}

uint64_t kernel_own_lengths(const Function *function) {
    uint64_t lengths = 0;
    if (function) region_walk(function->body, visit_lengths, &lengths);
    return lengths;
}
