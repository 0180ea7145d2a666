// Constant folding of what Triton computes at compile time.
#include "analysis/build/fold.h"

#include "analysis/build/infer_rules.h"
#include "analysis/ir/walk.h"

static const Constant *fold_text(Arena *arena, OpCode code, Str a, Str b) {
    if (code != OP_ADD) return NULL;
    const char *text = arena_printf(arena, "%.*s%.*s", STR_ARGS(a), STR_ARGS(b));
    return constant_new(arena, constant_of_string((Str){text, a.size + b.size}));
}

static const Constant *fold_two(Arena *arena, OpCode code, const Constant *a, const Constant *b) {
    if (code == OP_LOGICAL_AND) return constant_truth(a) ? b : a;
    if (code == OP_LOGICAL_OR) return constant_truth(a) ? a : b;
    bool is_text = a->kind == CONSTANT_STRING && b->kind == CONSTANT_STRING;
    if (is_text && code != OP_EQ && code != OP_NE)
        return fold_text(arena, code, a->string, b->string);
    Constant result;
    return constant_apply(code, a, b, &result) ? constant_new(arena, result) : NULL;
}

static const Constant *fold_log2(Arena *arena, const Constant *a) {
    if (!constant_is_int(a) || a->integer <= 0) return NULL;
    int64_t log = 0;
    while (a->integer >> (log + 1)) log++;
    return constant_new(arena, constant_of_int(log));
}

static const Constant *fold_one(Arena *arena, OpCode code, const Constant *a) {
    if (code == OP_INTEGER_LOG2) return fold_log2(arena, a);
    if (code == OP_IS_NONE) return constant_new(arena, constant_of_bool(a->kind == CONSTANT_NONE));
    Constant result;
    return constant_apply(code, a, NULL, &result) ? constant_new(arena, result) : NULL;
}

/// 1 where a kernel's own parameter stays what it is on one of the ways through branches and loops.
static intptr_t trace_handed(ValueWalk *walk, const Value *value) {
    if (!value) return 0;
    const Op *op = value->region ? value->region->parent : value->op;
    if (!op) return value->region != NULL;
    if (op->code == OP_IF && !value->region) {
        for (int branch = 0; branch < 2; branch++) {
            const Op *yield = region_terminator(op->regions[branch]);
            if (!yield || walk_ask(walk, yield->operands[value->index])) return 1;
        }
        return 0;
    }
    if (!op_is_loop(op->code)) return 0;
    int first = op->code == OP_WHILE ? 0 : 3;
    int carried = value->region && op->code != OP_WHILE ? value->index - 1 : value->index;
    return carried >= 0 && walk_ask(walk, op->operands[first + carried]);
}

/// `x is None` for what is certainly something; a kernel's own parameter may be given None.
static bool is_never_none(const Value *value) {
    if (walk_from(value, trace_handed, 1, NULL)) return false;
    switch (value->type.kind) {
    case TYPE_NUMBER:
    case TYPE_POINTER:
    case TYPE_BLOCK_POINTER:
    case TYPE_DESCRIPTOR: return !value->type.is_constexpr;
    case TYPE_TUPLE: return true;
    default: return false;
    }
}

static const Constant *fold_dtype(Arena *arena, OpCode code, const Value *value) {
    Type type = value->type;
    bool pointer = type.kind == TYPE_POINTER;
    if (code == OP_ELEMENT_TYPE_OF) {
        // The operand is the pointer itself or its dtype.
        const Constant *dtype = value->constant;
        bool of_dtype = dtype && dtype->kind == CONSTANT_DTYPE && dtype->is_pointer;
        if (of_dtype)
            return constant_new(arena, (Constant){.kind = CONSTANT_DTYPE, .dtype = dtype->dtype});
        if (!pointer && type.kind != TYPE_BLOCK_POINTER) return NULL;
        pointer = false;
    } else if (!pointer && type.kind != TYPE_NUMBER && type.kind != TYPE_DESCRIPTOR) {
        return NULL;
    }
    if (type.is_constexpr || type.element.code == DTYPE_UNKNOWN) return NULL;
    bool abstract = type.element.code > DTYPE_UNKNOWN && type.element.code < DTYPE_OF_PARAMETER;
    if (abstract) return NULL;
    return constant_new(
        arena, (Constant){.kind = CONSTANT_DTYPE, .dtype = type.element, .is_pointer = pointer});
}

const Constant *fold_op(Arena *arena, OpCode code, Value *const *operands, int operand_count) {
    Value *first = operand_count > 0 ? operands[0] : NULL;
    if (!first) return NULL;
    if (code == OP_DTYPE_OF || code == OP_ELEMENT_TYPE_OF) return fold_dtype(arena, code, first);
    if (code == OP_IS_NONE && !first->constant)
        return is_never_none(first) ? constant_new(arena, constant_of_bool(false)) : NULL;
    if (!op_stays_constexpr(code) && code != OP_IS_NONE) return NULL;
    if (!first->constant || constant_is_beyond_int64(first->constant)) return NULL;
    Value *second = operand_count > 1 ? operands[1] : NULL;
    if (!second) return fold_one(arena, code, first->constant);
    if (!second->constant || constant_is_beyond_int64(second->constant)) return NULL;
    return fold_two(arena, code, first->constant, second->constant);
}
