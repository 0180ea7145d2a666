// Kernels that store nothing with a derivative: whole numbers and constants. Their launches may stay as they are in a launcher
// that is differentiated, if no tensor with a gradient is written to.
#include "autodiff/plan/constants.h"

#include "analysis/host/launch.h"
#include "analysis/launches/launch_contents.h"
#include "autodiff/primal/bits.h"
#include "autodiff/rewrite/rewrite.h"

/// A number that is written in the kernel, or computed as an integer, whatever it is cast to in the end.
static bool is_constant(const Value *value) {
    while (value && value->op &&
           (value->op->code == OP_CAST || value->op->code == OP_FULL ||
            op_has(value->op->code, TRAIT_LAYOUT))) {
        if (dtype_is_integer(value->type.element) && value->op->code == OP_CAST) return true;
        value = value->op->operands[value->op->code == OP_FULL ? 1 : 0];
    }
    double number;
    if (!value || value->type.kind != TYPE_NUMBER) return false;
    return value_is_number(value, &number) ||
           (value->type.element.code > DTYPE_OF_PARAMETER && dtype_is_integer(value->type.element));
}

typedef struct Writes {
    Function *function;
    bool all_constant;
} Writes;

static bool visit_write(void *context, Op *op) {
    Writes *writes = context;
    if (!(op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC))) return true;
    const Value *root = op->operand_count > 1 ? pointer_root(op->operands[0]) : NULL;
    bool known = root && !root->op && root->index < writes->function->parameter_count;
    const Parameter *parameter = known ? &writes->function->parameters[root->index] : NULL;
    bool is_free = parameter && (dtype_is_integer(parameter->value->type.element) ||
                                 !parameter->may_have_contents);
    for (int i = 1; is_free && i < op->operand_count; i++)
        if (op->operands[i] && !value_is_none(op->operands[i]))
            is_free = is_constant(op->operands[i]);
    writes->all_constant = is_free;
    return is_free;
}

bool launch_stores_constants(Arena *arena, const Snapshot *snapshot, const LaunchSite *site) {
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (kernel->definition != site->kernel || !kernel->function) continue;
        Function *function = function_copy(arena, kernel->function, kernel->function->name, NULL);
        HostPolicy policy = {.keep_blocks = true, .function = function};
        launch_note_contents(host_launch(snapshot->module, site, &policy), function);
        Writes writes = {function, true};
        region_walk(function->body, visit_write, &writes);
        return writes.all_constant && !function_stores_bits(arena, function);
    }
    return false;
}
