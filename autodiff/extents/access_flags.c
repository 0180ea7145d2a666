// From an access to the flags around it, as Python over the launch's arguments.
#include "autodiff/extents/access_flags.h"

#include "analysis/addresses/strides.h"
#include "analysis/build/infer.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/tape/tape_size.h"

enum { MOST_NESTED_FLAGS = 4 };

static const char *flag_text(Arena *arena, const Function *primal, const Value *flag, int depth) {
    const Op *op = flag->op;
    if (depth > MOST_NESTED_FLAGS) return NULL;
    if (!op) return flag->constant ? NULL : host_text(arena, primal, flag, false);
    const char *a, *b;
    switch (op->code) {
    case OP_LOGICAL_NOT:
        a = flag_text(arena, primal, op->operands[0], depth + 1);
        return a ? arena_printf(arena, "not (%s)", a) : NULL;
    case OP_IS_NONE:
        if (op->operands[0]->op || op->operands[0]->region != primal->body) return NULL;
        return arena_printf(arena, "%s is None", primal->parameters[op->operands[0]->index].name);
    case OP_LOGICAL_AND:
    case OP_LOGICAL_OR:
        a = flag_text(arena, primal, op->operands[0], depth + 1);
        b = flag_text(arena, primal, op->operands[1], depth + 1);
        return a && b ? arena_printf(arena, "((%s) %s (%s))", a, op_rows[op->code].symbol, b)
                      : NULL;
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
        a = host_text(arena, primal, op->operands[0], false);
        b = host_text(arena, primal, op->operands[1], false);
        return a && b ? arena_printf(arena, "%s %s %s", a, op_rows[op->code].symbol, b) : NULL;
    default: return NULL;
    }
}

const char *access_flags(Arena *arena, const Function *primal, const Op *access) {
    const char *guard = "";
    for (const Op *op = access; op->parent->parent; op = op->parent->parent) {
        const Op *around = op->parent->parent;
        if (around->code != OP_IF || !value_is_of_parameters(around->operands[0])) continue;
        const char *flag = flag_text(arena, primal, around->operands[0], 0);
        if (!flag) return NULL;
        if (op->parent == around->regions[1]) flag = arena_printf(arena, "not (%s)", flag);
        guard = *guard ? arena_printf(arena, "%s and %s", flag, guard) : flag;
    }
    return guard;
}
