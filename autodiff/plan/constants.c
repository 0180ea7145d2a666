// Kernels that store nothing with a derivative: whole numbers and constants. Their launches may stay as they are in a launcher
// that is differentiated, if no tensor with a gradient is written to.
#include "autodiff/plan/constants.h"

#include "analysis/host/launch.h"
#include "analysis/ir/walk.h"
#include "analysis/launches/launch_contents.h"
#include "analysis/launches/launch_numbers.h"
#include "analysis/launches/launch_tensors.h"
#include "autodiff/primal/bits.h"
#include "autodiff/rewrite/rewrite.h"

typedef struct Origins {
    const Function *function;
    const LaunchSite *site;  // NULL: numbers that are passed are plain ones
    Arena *arena;
    bool is_strict;  // also whole numbers count that a float was made one of
} Origins;

static bool is_whole(const Value *value) {
    return value->type.kind == TYPE_NUMBER && value->type.element.code > DTYPE_OF_PARAMETER &&
           dtype_is_integer(value->type.element);
}

/// Whether a launch passes a number for the parameter that no tensor with a gradient has.
static bool is_plain_number(const Origins *origins, int parameter) {
    NumberRead read;
    const LaunchSite *site = origins->site;
    if (!site) return true;
    const Module *module = site->kernel->module;
    return !launch_tensor(origins->arena, module, site, parameter).text &&
           !launch_number_read(origins->arena, module, site, parameter, false, &read);
}

/// Whether a value depends on no float in memory, and on no number that was read off a tensor.
static intptr_t is_constant(ValueWalk *walk, const Value *value) {
    const Origins *origins = walk->context;
    if (!value || value->constant || (is_whole(value) && !origins->is_strict)) return true;
    if (value->type.kind != TYPE_NUMBER && value->type.kind != TYPE_TUPLE) return false;
    const Op *op = value->op;
    if (!op && value->region == origins->function->body)
        return is_whole(value) || is_plain_number(origins, value->index);
    if (!op) op = value->region->parent;
    if (!op || op_rows[op->code].gradient_unsupported) return false;
    if (op_rows[op->code].effects & EFFECT_READS)
        return value->type.kind == TYPE_NUMBER && dtype_is_integer(value->type.element);
    for (int i = 0; i < op->operand_count; i++)
        if (!walk_ask(walk, op->operands[i])) return false;
    for (int r = 0; r < op->region_count; r++) {
        const Op *yield = region_terminator(op->regions[r]);
        for (int i = 0; yield && i < yield->operand_count; i++)
            if (!walk_ask(walk, yield->operands[i])) return false;
    }
    return true;
}

typedef struct Writes {
    Origins origins;
    bool all_constant;
} Writes;

static bool visit_write(void *context, Op *op) {
    Writes *writes = context;
    if (!(op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC))) return true;
    const Function *function = writes->origins.function;
    const Value *root = op->operand_count > 1 ? pointer_root(op->operands[0]) : NULL;
    bool known = root && !root->op && root->index < function->parameter_count;
    const Parameter *parameter = known ? &function->parameters[root->index] : NULL;
    bool is_free = parameter && (dtype_is_integer(parameter->value->type.element) ||
                                 !parameter->may_have_contents);
    for (int i = 1; is_free && i < op->operand_count; i++)
        if (op->operands[i] && !value_is_none(op->operands[i]))
            is_free = walk_from(op->operands[i], is_constant, false, &writes->origins);
    writes->all_constant = is_free;
    return is_free;
}

static bool stores_constants(Arena *arena, const Kernel *kernel, const LaunchSite *site,
                             bool is_strict) {
    Function *function = function_copy(arena, kernel->function, kernel->function->name, NULL);
    if (site) {
        HostPolicy policy = {.keep_blocks = true, .function = function};
        launch_note_contents(host_launch(site->kernel->module, site, &policy), function);
    }
    Writes writes = {{function, site, arena, is_strict}, true};
    region_walk(function->body, visit_write, &writes);
    return writes.all_constant && !function_stores_bits(arena, function);
}

bool launch_stores_constants(Arena *arena, const Snapshot *snapshot, const LaunchSite *site) {
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (kernel->definition == site->kernel && kernel->function)
            return stores_constants(arena, kernel, site, false);
    }
    return false;
}

void launch_writes_over(Arena *arena, const Snapshot *snapshot, const LaunchSite *site,
                        bool *written) {
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (kernel->definition != site->kernel || !kernel->function) continue;
        Function *function = function_copy(arena, kernel->function, kernel->function->name, NULL);
        HostPolicy policy = {.keep_blocks = true, .function = function};
        launch_note_contents(host_launch(site->kernel->module, site, &policy), function);
        for (int p = 0; p < function->parameter_count; p++)
            written[p] =
                function->parameters[p].is_stored && function->parameters[p].may_have_contents;
    }
}

bool kernel_only_fills(Arena *arena, const Kernel *kernel) {
    const Module *module = kernel->definition->module;
    if (!stores_constants(arena, kernel, NULL, true)) return false;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel == kernel->definition && !stores_constants(arena, kernel, site, true))
            return false;
    }
    return true;
}
