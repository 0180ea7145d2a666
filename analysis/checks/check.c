// Runs every check over one lowered kernel. A check is a row of the tables here; what they share is below.
#include "analysis/checks/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static CheckOp *const op_checks[] = {
    check_operand_types, check_matrix_products, check_shapes_of_op, check_addresses,
    check_conditions,    check_carried_types,   check_constants,    check_shared_starts,
    check_words,         check_blocks,
};

static CheckKernel *const kernel_checks[] = {
    check_masks,           check_masked_values,  check_races,          check_redundant_memory,
    check_access_patterns, check_offsets,        check_sums,           check_softmax,
    check_variances,       check_random,         check_products,       check_atomics,
    check_loop_work,       check_loops,          check_autotuning,     check_started_sums,
    check_launches,        check_block_sizes,    check_direct_calls,   check_grids,
    check_launch_numbers,  check_argument_kinds, check_instances,      check_steps,
    check_counted_lanes,   check_running_values, check_configurations, check_totals,
    check_launch_types,    check_trials,         check_axes_apart,     check_shared_memory,
    check_tuned_arguments, check_turns,          check_companions,     check_kept_lanes,
    check_given_numbers,
};

/// Beyond this a kernel is unrolled code that nobody reads; the checks over pairs of ops are left out.
enum { MAX_OPS = 20000 };

static bool collect(void *context, Op *op) {
    Check *check = context;
    LIST_PUSH(check->arena, &check->ops, op);
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        Uses *uses = map_get_pointer(&check->uses, op->operands[i]);
        if (!uses) {
            uses = ARENA_NEW(check->arena, Uses);
            map_set_pointer(&check->uses, op->operands[i], uses);
        }
        LIST_PUSH(check->arena, &uses->list, op);
    }
    if (op->code == OP_PROGRAM_ID) LIST_PUSH(check->arena, &check->program_ids, op);
    return check->ops.count < MAX_OPS;
}

void check_kernel(Arena *arena, const Kernel *kernel, CheckOptions options,
                  Diagnostics *diagnostics) {
    if (!kernel->function) return;
    Check *check = ARENA_NEW(arena, Check);
    check->arena = arena;
    check->kernel = kernel;
    check->function = kernel->function;
    check->diagnostics = diagnostics;
    check->skips_trials = options.extent != CHECKS_ALL;
    check->card = options.card;
    check->is_entry = kernel_is_entry(kernel);
    check->uses = map_new(arena);
    check->accesses = map_new(arena);
    check->former = former_new(arena);
    region_walk(check->function->body, collect, check);
    check->axes = function_axes(arena, check->function);
    for (LIST_EACH(int, i, check->ops))
        for (size_t row = 0; row < sizeof op_checks / sizeof *op_checks; row++)
            op_checks[row](check, check->ops.items[i]);
    if (check->ops.count >= MAX_OPS || options.extent == CHECKS_OF_OPERATIONS) return;
    for (LIST_EACH(int, i, check->ops))
        if (op_is_access(check->ops.items[i]))
            LIST_PUSH(arena, &check->memory,
                      (Access *)(uintptr_t)check_access(check, check->ops.items[i]));
    for (size_t row = 0; row < sizeof kernel_checks / sizeof *kernel_checks; row++)
        kernel_checks[row](check);
}

/* ---- reporting ---- */

static Range range_of(const Check *check, const Op *op) {
    Range range = op->range;
    const Source *own =
        check->kernel->definition ? check->kernel->definition->module->source : NULL;
    for (const CallSite *call = op->call; call && range.source != own; call = call->outer)
        range = call->range;
    return range;
}

static Diagnostic *report(Check *check, DiagnosticId id, Range range, const char *message) {
    for (LIST_EACH(int, i, check->diagnostics->list)) {
        const Diagnostic *old = &check->diagnostics->list.items[i];
        if (old->id == id && old->range.source == range.source && old->range.start == range.start &&
            old->range.end == range.end)
            return NULL;
    }
    return diagnose(check->diagnostics, id, range, "%s", message);
}

Diagnostic *check_report(Check *check, DiagnosticId id, const Op *op, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *message = arena_vprintf(check->arena, format, arguments);
    va_end(arguments);
    Diagnostic *said = report(check, id, range_of(check, op), message);
    // What only some instances of the kernel compile is never certain.
    if (said && said->severity == SEVERITY_ERROR && check_is_optional(op))
        said->severity = SEVERITY_WARNING;
    return said;
}

Diagnostic *check_report_at(Check *check, DiagnosticId id, Range range, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *message = arena_vprintf(check->arena, format, arguments);
    va_end(arguments);
    return report(check, id, range, message);
}

void check_relate(Check *check, Diagnostic *diagnostic, const Op *op, const char *message) {
    if (diagnostic) diagnostic_relate(check->diagnostics, diagnostic, range_of(check, op), message);
}

const char *check_name(const Check *check, const Value *value) {
    enum { LONGEST = 40 };
    if (value->name) return value->name;
    Str text = value->range.source ? str_trim(source_slice(value->range)) : (Str){"", 0};
    bool one_line = text.size && !memchr(text.data, '\n', text.size);
    if (one_line && text.size <= LONGEST) return str_dup(check->arena, text);
    return "the value";
}

/* ---- looking around ---- */

const Uses *check_uses(const Check *check, const Value *value) {
    static const Uses none;
    const Uses *uses = map_get_pointer(&check->uses, value);
    return uses ? uses : &none;
}

const Access *check_access(Check *check, Op *op) {
    Access *access = map_get_pointer(&check->accesses, op);
    if (!access) {
        access = ARENA_NEW(check->arena, Access);
        *access = access_by(check->former, op);
        map_set_pointer(&check->accesses, op, access);
    }
    return access;
}

bool check_is_optional(const Op *op) {
    for (const Op *outer = op->parent->parent; outer; outer = outer->parent->parent)
        if (outer->code == OP_IF && outer->operands[0]->type.is_constexpr) return true;
    return false;
}

Value *check_operand(const Op *op, const char *parameter) {
    int index = op_parameter_index(op->code, str_from(parameter));
    Value *value = index >= 0 && index < op->operand_count ? op->operands[index] : NULL;
    return value && !value_is_none(value) ? value : NULL;
}

bool check_depends_on_program(Check *check, const Value *value, int axis) {
    for (LIST_EACH(int, i, check->program_ids)) {
        const Op *op = check->program_ids.items[i];
        int64_t number;
        if (!value_is_int(op->operands[0], &number)) continue;
        if ((axis < 0 || number == axis) &&
            value_depends_on(check->arena, value, op->results[0], NULL))
            return true;
    }
    return false;
}

bool check_is_stripped(const Op *op) {
    return op->code == OP_CAST || op_has(op->code, TRAIT_LAYOUT);
}

Value *check_strip(Value *value) {
    while (value && value->op && check_is_stripped(value->op)) value = value->op->operands[0];
    return value;
}

bool check_is_stored(const Check *check, const Value *parameter) {
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        if (!(op_rows[access->op->code].effects & EFFECT_WRITES)) continue;
        if (!access->parameter || access->parameter == parameter) return true;
    }
    return false;
}

int64_t check_element_count(Type type) {
    int64_t count = 1;
    for (int i = 0; i < type.rank; i++) {
        int64_t dim;
        if (!type.dims[i] || !poly_is_constant(type.dims[i], &dim) || dim < 1) return -1;
        if (count > INT64_MAX / dim) return -1;
        count *= dim;
    }
    return count;
}
