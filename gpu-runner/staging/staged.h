// What the lowering knows of a value before the kernel runs, and what the files of it share.
#ifndef TAD_GPU_RUNNER_CUDA_STAGED_H
#define TAD_GPU_RUNNER_CUDA_STAGED_H

#include "gpu-runner/interp/interp.h"

/// The interpreter's Tile without its numbers: those stand in a variable of the text, or are known (`tile`) and written out.
typedef struct Staged {
    TileKind kind;
    DTypeCode dtype;
    bool is_weak;
    int rank;
    int64_t dims[TYPE_MAX_RANK];
    int64_t count;
    const char *text;   // of one element: an expression; of several: an array
    const char *chain;  // of several, in place of `text`: an expression over `i` (chains.h)
    bool is_light;
    const Tile *tile;  // known: as the interpreter has it. NULL: only the kernel knows
    struct Staged *const *items;
    int item_count;
} Staged;

typedef struct Staging {
    Arena *arena;
    const Function *function;
    Buffer text;
    int indent;
    int names;       // given so far
    int64_t room;    // elements of a block's memory that are taken now,
    int64_t most;    // at the most,
    int64_t widest;  // and those of its largest tile
    Staged **values;
    struct ChainUse *uses;         // by value id
    Buffer helpers;                // functions on whole numbers that the text needs,
    bool has_helper[OP_COUNT][8];  // which of them are there
    Interp *folding;               // computes what is known
    bool is_dual;                  // numbers have tangents
    bool rounds;                   // numbers are rounded to their types
    bool allow_tf32;               // and those of float32 products to TF32
    bool holds_extremes;           // maxima and minima along an axis have no tangent
    bool adds_at_once;             // sums of tangents by atomic operations take no turns
    bool has_op[OP_COUNT];         // whose function the text needs
    bool draws;                    // the text needs functions on words of bits (prelude.c)
    bool has_small_bits;           // and those of floats of 16 bits and less
    bool is_ordered;               // programs have to run in the interpreter's order
    const Op *op;                  // being lowered, for messages
    jmp_buf stop;
    Error error;
} Staging;

typedef void OpStaging(Staging *staging, const Op *op);

/// Ends the lowering: the cpu backend runs the kernel instead.
_Noreturn void stage_refuse(Staging *staging, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/// A line of the text.
void stage_line(Staging *staging, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// The same, and what follows is indented, up to stage_close.
void stage_open(Staging *staging, const char *format, ...) __attribute__((format(printf, 2, 3)));
void stage_close(Staging *staging);
/// All threads of the block wait for each other.
void stage_barrier(Staging *staging);

const Staged *stage_value(Staging *staging, const Value *value);
void stage_bind(Staging *staging, const Value *value, const Staged *staged);
static inline void stage_result(Staging *staging, const Op *op, const Staged *staged) {
    stage_bind(staging, op->results[0], staged);
}
/// Results, or the tuple result, of an op with several.
void stage_results(Staging *staging, const Op *op, const Staged *const *staged, int count);
/// The region's ops; its terminator, whose operands are lowered.
const Op *stage_region(Staging *staging, const Region *region);

/// A value that is known.
const Staged *staged_known(Staging *staging, Tile *tile);
/// A variable: for one element an uninitialised one, declared here; for several an array with room of its own.
Staged *staged_new(Staging *staging, TileKind kind, DTypeCode dtype, int rank, const int64_t *dims);
/// The same without a name or room.
Staged *staged_unnamed(Staging *staging, TileKind kind, DTypeCode dtype, int rank,
                       const int64_t *dims);
/// A number of one element as an expression.
Staged *staged_scalar(Staging *staging, TileKind kind, DTypeCode dtype, const char *text);
Staged *staged_tuple(Staging *staging, const Staged *const *items, int count);
static inline bool staged_is_float(const Staged *staged) {
    return staged->kind == TILE_NUMBER && dtype_code_is_float(staged->dtype);
}
/// "TadReal" or "long long".
const char *staged_ctype(const Staged *staged);
/// The element at `index` (an expression), in C.
const char *staged_at(Staging *staging, const Staged *staged, const char *index);
/// An element's text without its tangent: something to compare.
const char *staged_plain(Staging *staging, const Staged *staged, const char *at);
/// The same, of a tile that is broadcast to the shape of `rank` and `dims`, whose index is `index`.
const char *staged_broadcast_at(Staging *staging, const Staged *staged, int rank,
                                const int64_t *dims, const char *index);
bool staged_shapes_broadcast(int *rank, int64_t *dims, const Staged *staged);
/// Sets each element: `for` over all of them, with the index `i` in `element`.
void stage_fill(Staging *staging, const Staged *into, const char *element);
/// Opens the loop over the elements `i` of a result: by the threads, or by the first one alone where there is one element.
void stage_outputs_open(Staging *staging, const Staged *result);
/// Ends it with the element's value; one that the first thread computed is told to all.
void stage_outputs_close(Staging *staging, const Staged *result, const char *value);
/// The element `at` (an expression) under another type, as Triton's casts.
const char *stage_cast_text(Staging *staging, const char *at, DTypeCode from, DTypeCode to);
const char *stage_cast_at(Staging *staging, const Staged *staged, const char *at, DTypeCode to);
const Staged *stage_cast(Staging *staging, const Staged *source, DTypeCode dtype);
/// A number (its text) rounded to its type, where numbers are, and its tangent to as many digits.
const char *stage_rounded(Staging *staging, const char *text, DTypeCode dtype);
/// The same without the tangent: what comes from memory.
const char *stage_rounded_loaded(Staging *staging, const char *text, DTypeCode dtype);
const char *stage_wrap(Staging *staging, const char *text, DTypeCode dtype);
/// Its width in bits, negative where it is unsigned.
int staged_bits(DTypeCode dtype);

/// Operands by position (NULL where omitted or None) or by the row's parameter name.
const Staged *staged_operand(Staging *staging, const Op *op, int index);
const Staged *staged_named(Staging *staging, const Op *op, const char *name);
const Staged *staged_number(Staging *staging, const Op *op, int index);  // a number, else refuses
int64_t staged_int(Staging *staging, const Op *op, const char *name, int64_t missing);
bool staged_flag(Staging *staging, const Op *op, const char *name, bool missing);
Str staged_string(Staging *staging, const Op *op, const char *name);
DTypeCode staged_dtype(Staging *staging, const Op *op, const char *name, DTypeCode missing);
/// Known integers of a tuple or a number; -1 where something is none.
int staged_integers(const Staged *staged, int64_t *integers, int capacity);
/// The scalars of a tuple or of one number; -1 where something is none.
int staged_scalars(const Staged *staged, const Staged **scalars, int capacity);
int staged_axis(Staging *staging, const Op *op, const char *name, int rank, int missing);

/// Arithmetic on tiles as the operator does it.
const Staged *stage_apply(Staging *staging, OpCode code, const Staged *const *operands, int count);

/// Whether an operation reads each element of its operands once, element by element.
bool stage_reads_once(OpCode code);

/// Declarations, checked access to memory, and functions: of each element-wise operation that `has_op` marks, and those on words of bits
/// where they are needed. `helpers`: functions of this text alone.
void prelude_write(Buffer *text, const Staging *staging, const char *helpers);
/// Whether the function of an operation can have a tangent.
bool prelude_has_slope(int code);

OpStaging stage_elementwise, stage_where, stage_cast_op, stage_bitcast, stage_logical;
OpStaging stage_arange, stage_full, stage_transpose, stage_reshape, stage_expand_dims,
    stage_broadcast_to, stage_join, stage_split, stage_cat, stage_interleave, stage_flip,
    stage_gather;
OpStaging stage_reduce_sum, stage_reduce_extreme, stage_reduce_custom, stage_scan,
    stage_scan_custom, stage_sort, stage_topk, stage_histogram, stage_dot;
OpStaging stage_load, stage_store, stage_atomic, stage_atomic_load, stage_make_block_pointer,
    stage_advance, stage_make_descriptor, stage_descriptor_load, stage_descriptor_store,
    stage_descriptor_atomic;
OpStaging stage_random, stage_philox, stage_random_floats;

#endif
