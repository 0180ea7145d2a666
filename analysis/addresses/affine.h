// Integer tiles and addresses as affine forms: value[i0, i1, ...] = base + sum_k lane[k] * i_k.
#ifndef TAD_ANALYSIS_ADDRESSES_AFFINE_H
#define TAD_ANALYSIS_ADDRESSES_AFFINE_H

#include "analysis/addresses/axis.h"
#include "analysis/ir/ir.h"

/// A `x % M` (or `where(x < M, x, 0)`) of a lane-dependent x that was looked through.
typedef struct Wrap {
    Value *value;         // x
    const Poly *modulus;  // M
} Wrap;

/// `base` is over scalar values (parameters, program ids, loop variables, loaded scalars); `lane[k]` likewise, lane-free.
/// Equal pure scalars computed twice (two `tl.program_id(0)`, two `pid // H`) are the same atom: the first that dominates.
typedef struct Affine {
    bool known;  // false: data-dependent or not linear in the lanes
    bool
        wrapped;  // some `% M` of a lane-dependent value was looked through (padding rows may repeat)
    const Poly *base;
    int rank;
    const Poly *lane[TYPE_MAX_RANK];
    int wrap_count;  // what was looked through
    Wrap wraps[ADDRESS_MOST_WRAPS];
} Affine;

/// An address: parameter (a pointer argument) + element offset.
typedef struct Access {
    Value *
        parameter;  // NULL when the base pointer is not a parameter (pointer loaded from memory, chosen at run time)
    Affine offset;  // in elements
    Op *op;         // the load, store or atomic
    Value *mask;    // or NULL
} Access;

/// Affine form of an integer value. Carried inductions (x += c) are in closed form in the loop variable where that is exact.
Affine affine_of(Arena *arena, Value *value);
/// Affine form of a tile of pointers, a block pointer or a descriptor, in elements from `*root`: a parameter, or the
/// scalar pointer that it starts from, or NULL. Lanes of block pointers and descriptors are those of the block.
Affine pointer_affine_of(Arena *arena, Value *pointer, Value **root);
/// Access of a load, store or atomic through plain pointers, block pointers or descriptors.
Access access_of(Arena *arena, Op *op);
/// Works out the forms of a function's values, each once however many are asked. In `arena`; for as long as the function is not changed.
typedef struct Former Former;
Former *former_new(Arena *arena);
Arena *former_arena(const Former *former);
/// The same as affine_of and access_of.
Affine affine_by(Former *former, Value *value);
Access access_by(Former *former, Op *op);
/// Whether `op` is a load, store or atomic: something access_of understands.
bool op_is_access(const Op *op);

enum { AXIS_WHOLE = -1 };

/// Program ids (OP_PROGRAM_ID results by axis) and loop variables that `value` is under or uses.
typedef struct Axis {
    bool is_program;
    int program_axis;  // 0..2
    int digit;  // of an id that numbers tiles: their row (0) or column (1), or a digit below these; AXIS_WHOLE: the id
    Op *loop;   // OP_FOR / OP_STATIC_FOR
    bool
        aligned;  // owned loop axes: tiles of different iterations coincide or are disjoint even across programs with other
    // loop bounds. False: only elements (loop variable + lane) are distinct, `lo` may shift the tiling
} Axis;

/// How an address depends on an axis (scheduling.md, section 1).
typedef enum AxisDependence { AXIS_FREE, AXIS_OWNED, AXIS_SCATTERED } AxisDependence;

const char *affine_print(Arena *arena, const Affine *affine);

#endif
