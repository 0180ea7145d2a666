// Numbers of tensors in launchers, and the gradients of these tensors.
#ifndef TAD_AUTODIFF_LAUNCHER_SCALAR_TENSORS_H
#define TAD_AUTODIFF_LAUNCHER_SCALAR_TENSORS_H

#include "autodiff/plan/launch_plan.h"

/// What a launch passes to the Function in place of a number that it reads off a tensor; NULL: the number as it stands.
const char *scalar_argument_text(Arena *arena, const Module *module, const LaunchPlan *plan,
                                 const LaunchSite *site, int parameter);
/// Where it is said that a number has no gradient.
typedef struct NumberNotes {
    Texts *texts;  // of the module
    const Snapshot *snapshot;
    Diagnostics *diagnostics;  // may be NULL
} NumberNotes;

/// Finds the plans' `cuts`; says of each number that comes from a tensor and has no gradient.
void scalars_cut(Arena *arena, const Module *module, LaunchPlan *plans, int plan_count,
                 const NumberNotes *notes);
/// Why a launch cannot be written where inputs were asked for by name: a tensor's gradient would lack a part. Else NULL.
const char *scalar_refusal(Arena *arena, const Module *module, const LaunchPlan *plan,
                           const LaunchSite *site);
/// The text of a launcher between two places, with the lines that keep such tensors for the launches in `range`.
const char *scalar_bindings_text(Arena *arena, const Module *module, Range range,
                                 const LaunchPlan *plans, int plan_count, uint32_t from,
                                 uint32_t to);

#endif
