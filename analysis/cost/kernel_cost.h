// What a kernel moves and computes, operation by operation, as polynomials in its parameters and in the iterations of its loops; and what
// is left of them under the numbers of a configuration. Lanes that a mask leaves out are counted: an upper bound where there is one.
#ifndef TAD_ANALYSIS_COST_KERNEL_COST_H
#define TAD_ANALYSIS_COST_KERNEL_COST_H

#include "analysis/addresses/affine.h"
#include "analysis/cost/work.h"

/// How neighbouring lanes of an access lie in memory.
typedef enum LaneOrder {
    LANES_UNKNOWN,
    LANES_SINGLE,      // one element, or all lanes the same one
    LANES_CONTIGUOUS,  // runs of `lane_amount` elements
    LANES_STRIDED,     // `lane_amount` elements apart
    LANES_BY_STRIDE,   // contiguous where `lane_amount`, which the launch says, is 1
    LANES_GATHERED,    // where numbers from memory say
} LaneOrder;

typedef struct CostLine {
    const Op *op;
    Work work;
    const Poly *times;  // how often a program comes by it; NULL: not known
    const Op *loop;     // the innermost one around it, or NULL
    bool is_masked;
    bool
        is_shared;  // where asked for: a load whose elements other programs or iterations may read, too
    LaneOrder order;
    const Poly *lane_amount;
} CostLine;

/// Iterations of a loop that no polynomial says: the quotient of two, rounded up.
typedef struct CostTrips {
    Value *atom;
    const Poly *span, *step;
} CostTrips;

typedef struct KernelCost {
    Arena *arena;
    const Function *function;
    LIST(CostLine) lines;  // of memory and of matrix products
    LIST(CostLine) math;   // the rest of the arithmetic
    LIST(CostTrips) trips;
    bool is_incomplete;  // something of the kernel is not understood
} KernelCost;

/// `function` is the kernel with its constexprs open. `tells_shared`: `is_shared` and the intensities that rest on it are wanted,
/// which take longer.
KernelCost *kernel_cost(Arena *arena, const Function *function, bool tells_shared);

/// Numbers for the parameters of a kernel, and all scalars that follow from them.
typedef struct CostNumbers CostNumbers;
/// `values`: by parameter, NULL where it is open; NULL: all are.
CostNumbers *cost_numbers(const KernelCost *cost, const Constant *const *values);
/// The polynomial with what is known put in; NULL for NULL.
const Poly *cost_under(CostNumbers *numbers, const Poly *poly);
/// Whether the line is in a branch that these numbers leave out.
bool cost_is_off(const CostNumbers *numbers, const CostLine *line);

/// Whether each program comes by the line, whatever is not known.
bool cost_is_sure(const CostNumbers *numbers, const CostLine *line);

enum { COST_OPEN_BYTES = 2 };  // of an element whose type the caller decides

/// Bytes each time; NULL: not known. `*is_open`: the caller decides the element type.
const Poly *cost_bytes(Arena *arena, const CostLine *line, bool *is_open);

typedef struct CostTotals {
    const Poly *bytes[WORK_MEMORY_KINDS];  // of one program; NULL: not known
    const Poly *shared;                    // of the bytes read, those that others may read, too
    const Poly *dots, *math;
    bool is_type_open;  // some element type is the caller's to decide
    bool is_upper;      // masks or branches may leave some of it out
    double
        intensity;  // operations a byte of large launches, where block sizes do not decide it; else NaN
    double least_intensity,
        most_intensity;  // operations a byte, whatever the sizes; NaN: not known
} CostTotals;
CostTotals cost_totals(const KernelCost *cost, CostNumbers *numbers);

#endif
