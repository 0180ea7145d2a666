// The mistakes: a row of operations, each with what becomes of it.
#include "tests/unit/passes/mistakes.h"

#include "base/list.h"
#include "gpu-runner/interp/memory.h"

typedef struct Places {
    Arena *arena;
    LIST(Op *) ops;
} Places;

static bool is_number(const Value *value) {
    return value && value->type.kind == TYPE_NUMBER && !value->type.is_constexpr;
}

static bool swaps(const Op *op) {
    return (op->code == OP_SUB || op->code == OP_DIV) && op->operands[0] != op->operands[1];
}

static bool is_place(const Op *op) {
    switch (op->code) {
    case OP_ADD:
    case OP_MUL:
    case OP_SUB:
    case OP_DIV: return is_number(op->results[0]);
    case OP_WHERE: return op->operands[1] != op->operands[2];
    case OP_STORE:
    case OP_ATOMIC_ADD: return true;
    case OP_SIN:
    case OP_EXP:
    case OP_NEG: return true;
    case OP_LT: return op->operands[0]->type.rank > 0;
    default: return false;
    }
}

static bool collect(void *context, Op *op) {
    Places *places = context;
    if (is_place(op)) LIST_PUSH(places->arena, &places->ops, op);
    return true;
}

static void exchange(Op *op, int a, int b) {
    Value *first = op->operands[a];
    op->operands[a] = op->operands[b];
    op->operands[b] = first;
}

bool mistake_plant(Function *function, uint64_t seed) {
    Places places = {.arena = function->arena};
    region_walk(function->body, collect, &places);
    if (places.ops.count == 0) return false;
    Op *op = places.ops.items[hash_mix(seed) % (uint64_t)places.ops.count];
    switch (op->code) {
    case OP_ADD: op->code = OP_SUB; return true;
    case OP_MUL: op->code = OP_ADD; return true;
    case OP_WHERE: exchange(op, 1, 2); return true;
    case OP_LT: op->code = OP_GE; return true;
    case OP_SIN: op->code = OP_COS; return true;
    case OP_EXP:
    case OP_NEG: op->code = OP_ABS; return true;
    case OP_STORE:
    case OP_ATOMIC_ADD: op_remove(op); return true;
    default: break;
    }
    if (!swaps(op)) return false;
    exchange(op, 0, 1);
    return true;
}
