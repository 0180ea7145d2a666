// Inside autodiff/: gradients that several programs add to, summed by a kernel of their own: turns of a loop of the forward own
// the elements there, and the forward's programs are what is looped over (scheduling.md, section 3: interchange, two stages).
#ifndef TAD_AUTODIFF_OWNERS_H
#define TAD_AUTODIFF_OWNERS_H

#include "analysis/axis.h"
#include "autodiff/adjoint.h"

/// What moves to a kernel of owners.
typedef struct OwnerPlan {
    Arena *arena;
    LIST(const SharedStatement *) statements;
    Op *loop;                   // of the backward, whose turns own the elements; NULL: none does
    bool summed[PROGRAM_AXES];  // axes of the grid whose programs add to the same elements
    bool
        is_sliced;  // owners are too few to fill a GPU: several programs sum a share each, and add it
    LIST(Value *)
    kept;  // results of loops, or what is smaller: of each program of the forward, from memory
} OwnerPlan;

typedef struct OwnerPlans {
    OwnerPlan items[MOST_OWNER_KERNELS];
    int count;
} OwnerPlans;

/// owner_plan.c: which statements can move, those with the same owners together.
OwnerPlans owners_plan(Differentiation *state);
/// Whether a value of the backward tells programs along the summed axes apart, or turns of loops that are summed over.
bool owners_differ(const OwnerPlan *plan, Value *value);
/// Calls `visit` for each value from outside that an op and what is in its regions use; false as soon as that is.
bool op_walk_captured(const Op *op, bool (*visit)(void *context, Value *value), void *context);

/// owner_kernel.c: turns the backward under construction into the kernel of plan `index`. False where that cannot be.
bool owners_take(Differentiation *state, const OwnerPlans *plans, int index);
/// The rest of it: the statements of plans that are `moved` go, and what their kernels read is stored.
void owners_leave(Differentiation *state, const OwnerPlans *plans, const bool *moved);

#endif
