// Executes concrete tile IR (every constexpr bound) program by program, on tiles and virtual memory.
#ifndef TAD_GPU_RUNNER_INTERP_INTERP_H
#define TAD_GPU_RUNNER_INTERP_INTERP_H

#include <setjmp.h>

#include "base/error.h"
#include "gpu-runner/interp/budget.h"
#include "gpu-runner/interp/coverage.h"
#include "gpu-runner/interp/memory.h"
#include "gpu-runner/interp/traffic.h"

typedef struct InterpOptions {
    bool
        own_types;  // round values and tangents to their element types; else every float is a double
    const Map *rounding;  // with own_types: the ops that round; NULL: all
    bool is_exempt;       // those of `rounding` are the ones that do not
    bool
        allow_tf32;  // with own_types: float32 dots round their operands unless the kernel asks for ieee
    bool holds_extremes;  // maxima and minima along an axis have no tangent
    int64_t max_steps;    // elements computed per launch, 0: a default
    size_t max_bytes;     // of live tiles, 0: a default
    Budget *budget;       // of all launches together, or NULL
} InterpOptions;

/// A loop that runs, and those around it.
typedef struct RunningLoop {
    const Op *op;
    int64_t iterations;
    const struct RunningLoop *outer;
} RunningLoop;

enum { INTERP_KNOWN_PARAMETERS = 128 };  // the others are looked up

/// Which operand of an operation has that name.
typedef struct KnownParameter {
    const char *name;
    OpCode code;
    int index;
} KnownParameter;

struct Interp {
    Arena *arena;  // of the pool; outlives every launch
    TilePool pool;
    VirtualMemory *memory;
    InterpOptions options;
    const Function *function;
    Tile **values;  // by value id
    int value_count;
    int value_capacity;
    const Op *op;  // being executed, for messages
    bool rounds;   // this op
    KnownParameter parameters[INTERP_KNOWN_PARAMETERS];
    int64_t program[3];
    int64_t grid[3];
    int64_t steps;
    Coverage *coverage;  // filled where it is not NULL
    Traffic *traffic;    // the same
    int next_check;      // operations until the clock is read again
    jmp_buf stop;
    Error error;
    bool is_over_budget;      // stopped by the budget, not by the kernel
    const RunningLoop *loop;  // the innermost; NULL: none
    int loop_line;  // where it stopped within loops: of the one with the most iterations; 0: in none
    int64_t loop_iterations;  // of that one
};

Interp *interp_new(Arena *arena, const InterpOptions *options);

/// Runs all programs of `grid`, in order or from last to first, against `memory`. `arguments`: one tile per parameter
/// of `function` (borrowed). A sentence with the line where a program cannot go on.
Error interp_launch(Interp *interp, VirtualMemory *memory, const Function *function,
                    Tile *const *arguments, const int64_t grid[3], bool reversed);
/// What this thread spent in interp_launch, from its start, and waiting for others that did.
double interp_seconds(void);
void interp_waited(double seconds);
/// One program of a launch; the caller has begun it with interp_begin.
void interp_begin(Interp *interp, VirtualMemory *memory, const Function *function,
                  Tile *const *arguments, const int64_t grid[3]);
Error interp_program(Interp *interp, const int64_t program[3]);

/// What one op makes of operands that are known (borrowed; NULL where omitted), outside of a launch; the caller has begun one with
/// interp_begin. `*result` is borrowed.
Error interp_fold(Interp *interp, const Op *op, Tile *const *operands, Tile **result);

/* What the op handlers (interp_*.c) share. A handler reads its operands and sets its op's results. */

typedef void OpHandler(Interp *interp, const Op *op);
_Noreturn void interp_stop(Interp *interp, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/// Runs a region's ops; the terminator is returned, its operands are evaluated.
const Op *interp_region(Interp *interp, const Region *region);
/// The value's tile, borrowed.
Tile *interp_value(Interp *interp, const Value *value);
/// Binds a value; takes over the reference.
void interp_bind(Interp *interp, const Value *value, Tile *tile);
static inline void interp_result(Interp *interp, const Op *op, Tile *tile) {
    interp_bind(interp, op->results[0], tile);
}
/// Adds to the step count; stops at the limits.
void interp_count(Interp *interp, int64_t elements);

/// Operands by position (NULL where omitted or None) or by the row's parameter name, a literal.
Tile *operand_at(Interp *interp, const Op *op, int index);
Tile *operand_named(Interp *interp, const Op *op, const char *name);
/// Of a hint: a finding where it promises what the value is not.
void promise_check(Interp *interp, const Op *op, const Tile *tile);
Tile *operand_number(Interp *interp, const Op *op, int index);  // a number tile, else stops
int64_t operand_int(Interp *interp, const Op *op, const char *name, int64_t missing);
bool operand_flag(Interp *interp, const Op *op, const char *name, bool missing);
Str operand_string(Interp *interp, const Op *op, const char *name);
DTypeCode operand_dtype(Interp *interp, const Op *op, const char *name, DTypeCode missing);
/// Integers of a tuple (nested ones flattened) or of one number. Returns how many; -1 where something is no integer.
int tile_integers(const Tile *tile, int64_t *integers, int capacity);
/// The axis operand made non-negative; `missing` when omitted.
int operand_axis(Interp *interp, const Op *op, const char *name, int rank, int missing);

/// An intermediate: frees `tile` and returns `result`.
Tile *interp_consume(Interp *interp, Tile *tile, Tile *result);
Tile *cast_number(Interp *interp, Tile *tile, DTypeCode dtype);
/// Results (or the tuple result) of an op with several.
void interp_results(Interp *interp, const Op *op, Tile *const *tiles, int count);

OpHandler run_elementwise, run_where, run_cast, run_bitcast, run_umulhi, run_logical, run_is_none;
OpHandler run_reduce_sum, run_reduce_extreme, run_reduce_custom, run_scan, run_scan_custom,
    run_sort, run_topk, run_histogram;
OpHandler run_dot, run_random;
OpHandler run_arange, run_full, run_transpose, run_reshape, run_expand_dims, run_broadcast_to,
    run_join, run_split, run_cat, run_interleave, run_flip, run_gather;
OpHandler run_load, run_store, run_atomic, run_make_block_pointer, run_advance, run_make_descriptor,
    run_descriptor_load, run_descriptor_store;

#endif
