// Our own invariants of the tile IR: links, terminators, counts, and that every operand is defined before it is used.
#include "analysis/ir/ir_verify.h"

#include "analysis/ir/ir.h"
#include "base/map.h"

typedef struct Verifier {
    Arena *arena;
    const Function *function;
    Map order;  // op -> its place in the walk, from 1
    int next;
    const char *problem;
} Verifier;

static void verify_fail(Verifier *verifier, const Op *op, const char *what) {
    if (verifier->problem) return;
    verifier->problem = arena_printf(verifier->arena, "%s: op %d (%s): %s",
                                     verifier->function->name, op->id, op_id(op->code), what);
}

static bool number_op(void *context, Op *op) {
    Verifier *verifier = context;
    map_set_pointer(&verifier->order, op, (void *)(uintptr_t)++verifier->next);
    return true;
}

static uintptr_t op_order(const Verifier *verifier, const Op *op) {
    return (uintptr_t)map_get_pointer(&verifier->order, op);
}

/// The op of `region` that `op` is or lies in; NULL where the region is not around it.
static const Op *op_in_region(const Op *op, const Region *region) {
    while (op && op->parent != region) op = op->parent ? op->parent->parent : NULL;
    return op;
}

static void verify_operand(Verifier *verifier, const Op *op, const Value *value) {
    if (!value) return;
    const Region *home = value->region ? value->region : value->op ? value->op->parent : NULL;
    if (!home) {
        verify_fail(verifier, op, "an operand is defined nowhere");
        return;
    }
    const Op *around = op_in_region(op, home);
    if (!around) {
        verify_fail(verifier, op,
                    arena_printf(verifier->arena, "operand %d is of another region", value->id));
    } else if (value->op && op_order(verifier, value->op) >= op_order(verifier, around)) {
        verify_fail(verifier, op,
                    arena_printf(verifier->arena, "operand %d is defined later", value->id));
    }
}

static void verify_terminator(Verifier *verifier, const Op *op, const Region *region, OpCode code,
                              int count) {
    const Op *last = region_terminator(region);
    if (!last || last->code != code) {
        verify_fail(verifier, op, "a region does not end as it should");
    } else if (count >= 0 && last->operand_count != count) {
        verify_fail(verifier, op, "a region yields another number of values");
    }
}

static void verify_shape(Verifier *verifier, const Op *op, int regions, int carried) {
    bool fits = op->region_count == regions && carried >= 0 && op->result_count == carried;
    if (!fits) verify_fail(verifier, op, "operands, results and regions do not fit together");
}

static void verify_structure(Verifier *verifier, const Op *op) {
    switch (op->code) {
    case OP_FOR:
    case OP_STATIC_FOR:
        verify_shape(verifier, op, 1, op->operand_count - 3);
        if (verifier->problem) return;
        if (op->regions[0]->argument_count != op->result_count + 1)
            verify_fail(verifier, op, "the body has another number of arguments");
        verify_terminator(verifier, op, op->regions[0], OP_YIELD, op->result_count);
        break;
    case OP_WHILE:
        verify_shape(verifier, op, 2, op->operand_count);
        if (verifier->problem) return;
        verify_terminator(verifier, op, op->regions[0], OP_CONDITION, 1);
        verify_terminator(verifier, op, op->regions[1], OP_YIELD, op->result_count);
        break;
    case OP_IF:
        if (op->region_count != 2 || op->operand_count != 1) {
            verify_fail(verifier, op, "an if has one condition and two branches");
            return;
        }
        for (int i = 0; i < 2; i++)
            verify_terminator(verifier, op, op->regions[i], OP_YIELD, op->result_count);
        break;
    case OP_CONSTANT:
        if (op->result_count != 1 || !op->results[0]->constant)
            verify_fail(verifier, op, "a constant without its value");
        break;
    case OP_REDUCE:
    case OP_ASSOCIATIVE_SCAN:
        if (op->region_count == 1)
            verify_terminator(verifier, op, op->regions[0], OP_YIELD, op->result_count);
        break;
    default: break;
    }
    int parameters;
    op_parameters(op->code, &parameters);
    bool is_table_op = op_rows[op->code].kind != KIND_STRUCTURAL;
    if (is_table_op && op->operand_count > parameters)
        verify_fail(verifier, op, "more operands than parameters");
    if (op_rows[op->code].kind == KIND_EXPANDS || op_rows[op->code].kind == KIND_REMOVED)
        verify_fail(verifier, op, "this kind of op never stands in the IR");
}

static void verify_links(Verifier *verifier, const Op *op) {
    bool linked = op->previous ? op->previous->next == op : op->parent->first == op;
    linked = linked && (op->next ? op->next->previous == op : op->parent->last == op);
    if (!linked) verify_fail(verifier, op, "its neighbours do not know it");
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->op != op || op->results[i]->index != i)
            verify_fail(verifier, op, "a result of another op");
    for (int i = 0; i < op->region_count; i++) {
        const Region *region = op->regions[i];
        if (region->parent != op) verify_fail(verifier, op, "a region of another op");
        for (int k = 0; k < region->argument_count; k++)
            if (region->arguments[k]->region != region)
                verify_fail(verifier, op, "an argument of another region");
    }
    bool is_terminator = op->code == OP_YIELD || op->code == OP_CONDITION;
    if (is_terminator && op->next) verify_fail(verifier, op, "a terminator in the middle");
}

static bool verify_op(void *context, Op *op) {
    Verifier *verifier = context;
    verify_links(verifier, op);
    verify_structure(verifier, op);
    for (int i = 0; i < op->operand_count; i++) verify_operand(verifier, op, op->operands[i]);
    for (int i = 0; i < op->keyword_count; i++) verify_operand(verifier, op, op->keywords[i].value);
    return !verifier->problem;
}

const char *function_verify(Arena *arena, const Function *function) {
    Verifier verifier = {.arena = arena, .function = function, .order = map_new(arena)};
    region_walk(function->body, number_op, &verifier);
    region_walk(function->body, verify_op, &verifier);
    return verifier.problem;
}
