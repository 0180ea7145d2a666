// What one operation does each time that a program comes by it: elements moved, multiply-adds, arithmetic.
#ifndef TAD_ANALYSIS_COST_WORK_H
#define TAD_ANALYSIS_COST_WORK_H

#include "analysis/ir/ir.h"

typedef enum WorkKind {
    WORK_READ,    // elements that a load asks for, with the lanes that its mask leaves out
    WORK_WRITE,   // of a store
    WORK_UPDATE,  // of an atomic
    WORK_DOT,     // floating-point operations of a matrix product: two for each multiply-add
    WORK_MATH,  // of other arithmetic: one for each element that an operation makes, two of an fma
    WORK_KINDS
} WorkKind;

enum { WORK_MEMORY_KINDS = WORK_UPDATE + 1 };

/// Number `amount` of `kind`; `amount` is NULL where a length is not known. Zero work is not told.
typedef struct Work {
    bool is_some;
    WorkKind kind;
    const Poly *amount;
    DType element;  // of what is moved
} Work;

/// Polynomials are in `arena`.
Work work_of(Arena *arena, const Op *op);
/// Operations that one element of an arithmetic operation is.
int work_weight(OpCode code);
/// Operations of the function that a reduction or a scan combines two elements with.
int work_of_combine(const Op *op);
/// Elements of a tile; NULL where a length is not known.
const Poly *work_elements(Arena *arena, Type type);
/// The shape that the pointers, the mask and the value of an access have together.
Type work_access_shape(Arena *arena, const Op *op);

#endif
