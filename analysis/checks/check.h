// What the checks share: one kernel under examination, who uses what, and where to report. Private to analysis/checks/.
#ifndef TAD_ANALYSIS_CHECKS_CHECK_H
#define TAD_ANALYSIS_CHECKS_CHECK_H

#include "analysis/addresses/affine.h"
#include "analysis/ir/loops.h"
#include "analysis/lowering/kernel.h"

typedef struct Uses {
    LIST(Op *) list;  // an op is there once per operand
} Uses;

/// The kernel with numbers for some of its parameters.
typedef struct LoweredInstance {
    const Constant *const *values;  // by parameter; NULL: open
    Function *function;
    const Diagnostics *said;
} LoweredInstance;

typedef struct Check {
    Arena *arena;
    const Kernel *kernel;
    const Function *function;
    Diagnostics *diagnostics;
    bool skips_trials;
    const char *card;        // SnapshotOptions.card
    bool is_entry;           // kernel_is_entry
    Map uses;                // Value -> Uses *
    Map accesses;            // Op -> Access *
    Former *former;          // of these
    LIST(Op *) ops;          // every op, outer before inner
    LIST(Op *) program_ids;  // every tl.program_id
    FunctionAxes axes;
    LIST(Access *) memory;          // every load, store and atomic, in order
    LIST(LoweredInstance) lowered;  // by instance_lower, so that the same numbers are lowered once
} Check;

typedef void CheckOp(Check *check, Op *op);
typedef void CheckKernel(Check *check);

// The rows of the table in check.c.
CheckOp check_operand_types, check_matrix_products, check_shapes_of_op, check_addresses,
    check_conditions, check_carried_types, check_constants, check_shared_starts, check_words,
    check_blocks;
CheckKernel check_masks, check_masked_values, check_races, check_redundant_memory,
    check_access_patterns, check_offsets, check_sums, check_softmax, check_variances, check_random,
    check_products, check_atomics, check_loop_work, check_loops, check_autotuning,
    check_started_sums, check_launches, check_block_sizes, check_direct_calls, check_grids,
    check_launch_numbers, check_argument_kinds, check_instances, check_trials, check_steps,
    check_counted_lanes, check_running_values, check_configurations, check_totals, check_axes_apart,
    check_shared_memory, check_launch_types, check_tuned_arguments, check_turns, check_companions,
    check_kept_lanes, check_given_numbers;

/// A range or a new tile that is always made and has exactly this parameter as a dim; NULL where there is none.
const Op *check_needs_power_of_two(Check *check, const Value *parameter);
/// Ops that use `value`; empty where none.
const Uses *check_uses(const Check *check, const Value *value);
/// The access of a load, store or atomic; computed once.
const Access *check_access(Check *check, Op *op);
/// Reports at the op (at the outermost call where the op is in another file). Not twice the same id at one place.
/// NULL where it was said before.
Diagnostic *check_report(Check *check, DiagnosticId id, const Op *op, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
Diagnostic *check_report_at(Check *check, DiagnosticId id, Range range, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/// A related place, for the diagnostic just reported (may be NULL).
void check_relate(Check *check, Diagnostic *diagnostic, const Op *op, const char *message);
/// Whether the op stands under an `if` whose condition is a constexpr that is not known.
bool check_is_optional(const Op *op);
/// The user's name for the value, or what he wrote, shortened.
const char *check_name(const Check *check, const Value *value);
/// An operand by its parameter's name, NULL where omitted or None.
Value *check_operand(const Op *op, const char *parameter);
/// Whether the value depends on the program id of `axis` (-1: of any), or on a value read at an address that does.
bool check_depends_on_program(Check *check, const Value *value, int axis);
/// Through casts, broadcasts and reshapes to what was computed.
Value *check_strip(Value *value);
/// Whether check_strip looks through the operation.
bool check_is_stripped(const Op *op);
/// Whether the kernel stores through the parameter.
bool check_is_stored(const Check *check, const Value *parameter);
/// Elements of a type when all dims are known, else -1.
int64_t check_element_count(Type type);
static inline bool check_is_parameter(const Value *value) {
    return value && !value->op && value->region && !value->region->parent;
}

typedef enum CheckExtent {
    CHECKS_ALL,
    CHECKS_WITHOUT_TRIALS,  // launches are not tried with numbers
    CHECKS_OF_OPERATIONS,   // each by itself; nothing of the kernel as a whole
    CHECKS_NONE,
} CheckExtent;

typedef struct CheckOptions {
    CheckExtent extent;
    const char *card;  // SnapshotOptions.card
} CheckOptions;

/// The checks of analysis/checks/ over one lowered kernel; called by the pipeline.
void check_kernel(Arena *arena, const Kernel *kernel, CheckOptions options,
                  Diagnostics *diagnostics);

#endif
