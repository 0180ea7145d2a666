// Integer tiles and addresses as affine forms: value[i0, i1, ...] = base + sum_k lane[k] * i_k.
#ifndef TAD_ANALYSIS_AFFINE_H
#define TAD_ANALYSIS_AFFINE_H

#include "analysis/ir.h"

/// `base` is over scalar values (parameters, program ids, loop variables, loaded scalars); `lane[k]` likewise, lane-free.
typedef struct Affine {
    bool known;            // false: data-dependent or not linear in the lanes
    bool wrapped;          // some `% M` of a lane-dependent value was looked through (padding rows may repeat)
    const Poly *base;
    int rank;
    const Poly *lane[TYPE_MAX_RANK];
} Affine;

/// An address: parameter (a pointer argument) + element offset.
typedef struct Access {
    Value *parameter; // NULL when the base pointer is not a parameter (pointer loaded from memory, chosen at run time)
    Affine offset;    // in elements
    Op *op;           // the load, store or atomic
    Value *mask;      // or NULL
} Access;

/// Affine form of an integer value. Carried inductions (x += c) are in closed form in the loop variable where that is exact.
Affine affine_of(Arena *arena, Value *value);
/// Access of a load, store or atomic through plain pointers, block pointers or descriptors.
Access access_of(Arena *arena, Op *op);

/// Program ids (OP_PROGRAM_ID results by axis) and loop variables that `value` is under or uses.
typedef struct Axis {
    bool is_program;
    int program_axis;  // 0..2
    Op *loop;          // OP_FOR / OP_STATIC_FOR
} Axis;

/// How an address depends on an axis (scheduling.md, section 1).
typedef enum AxisDependence { AXIS_FREE, AXIS_OWNED, AXIS_SCATTERED } AxisDependence;

/// For each axis around `access->op` (all program ids that the function reads, then its enclosing loops, outermost first):
/// free, owned or scattered. Distinct stride symbols count as distinct dimensions. Returns the number of axes written.
int access_axes(Arena *arena, const Function *function, const Access *access, Axis *axes, AxisDependence *dependence, int capacity);

const char *affine_print(Arena *arena, const Affine *affine);

#endif
