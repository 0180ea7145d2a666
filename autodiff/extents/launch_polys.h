// From the numbers that a launch passes to polynomials over what its launcher gets from outside: `o.stride(0)` of a new
// `torch.empty(rows, 2 * n)` is `2 * n`.
#ifndef TAD_AUTODIFF_EXTENTS_LAUNCH_POLYS_H
#define TAD_AUTODIFF_EXTENTS_LAUNCH_POLYS_H

#include "analysis/host/launch.h"
#include "analysis/ir/ir.h"

/// A number of host code that polynomials have as an atom: at least 1, as sizes are.
typedef struct LaunchAtom {
    const char *text;
    Value *value;
    bool may_be_zero;           // then the number is one less than the atom
    const Poly *above, *below;  // it is the quotient of both, rounded down; NULL: of no numbers
} LaunchAtom;

typedef struct LaunchPolys {
    Arena *arena;
    const HostLaunch *launch;
    const Function *function;
    int stored;              // the parameter of the tensor whose elements are asked about
    Value *const *programs;  // stand for how many programs there are along each axis of the grid
    Map sizes;               // inputs that a size of a tensor is made of
    LIST(LaunchAtom) atoms;
} LaunchPolys;

/// `function`: the kernel of the launch, lowered. `stored`: of its parameters, the tensor whose elements are asked about. `programs`: what
/// stands for the extents of the grid, PROGRAM_AXES of them.
LaunchPolys launch_polys_of(Arena *arena, const HostLaunch *launch, const Function *function,
                            int stored, Value *const *programs);
/// A polynomial over parameters of the kernel and `programs`, in the launcher's numbers. What a tuner chooses, and what is neither, stays as it
/// is. A number that a caller picks may be 0, and so may a stride of `stored` where the caller passes that. NULL: the launch does not say it.
const Poly *launch_poly(LaunchPolys *polys, const Poly *poly);
/// Takes a product over parameters of the kernel and `programs` as one that is not 0, so that none of its factors is. Whether that was news: then
/// numbers that are computed from them may be known better, too.
bool launch_note_positive(LaunchPolys *polys, const Poly *poly);

#endif
