// Inside autodiff/: one backward for each value of a flag that decides shapes or types, below one `if` of the emitted kernel.
#ifndef TAD_AUTODIFF_VARIANTS_H
#define TAD_AUTODIFF_VARIANTS_H

#include "autodiff/adjoint.h"

typedef struct VariantPart {
    Function *function;
    BackwardLaunch launch;
} VariantPart;

/// The backward of a forward function, not yet text.
typedef struct Variant {
    Backward result;  // status, reason, gradients, inputs and outputs
    BackwardLaunch launch;
    Function *backward;
    VariantPart parts[1 + MOST_OWNER_KERNELS];  // in their place, one after the other
    int part_count;                             // 0: it is one kernel
    int owner_kernels;                          // how many there may be for it
    int failure_id;                             // DiagnosticId, where refused
} Variant;

/// backward.c: derives one part of a function's backward. `keeps_loads`: what loads see and the kernel overwrites later is kept.
/// Whether that would help where this did not.
bool variant_try(Arena *arena, const Kernel *kernel, const Function *forward,
                 const BackwardOptions *options, bool keeps_loads, BackwardPart part,
                 Variant *variant);
/// parts.c: sets the gradients that programs share, as far as kernels of owners can sum them, apart from the rest. Leaves the
/// variant, which is of the whole, as it is where none can.
void variant_split(Arena *arena, const Kernel *kernel, const Function *forward,
                   const BackwardOptions *options, bool keeps_loads, Variant *variant);
/// Of two launches the arguments of the first, then those that the second has besides.
BackwardLaunch launch_join(Arena *arena, const BackwardLaunch *a, const BackwardLaunch *b);
/// Whether a program reads there what programs of an earlier launch left in memory, or the launch keeps states.
bool launch_reads_scratch(const BackwardLaunch *launch);
/// backward.c: derives one function. `variant` is overwritten.
void variant_derive(Arena *arena, const Kernel *kernel, const Function *forward,
                    const BackwardOptions *options, Variant *variant);
/// Where a constexpr flag of the kernel decides what shape or type a value has, and only then, derives the kernel for both
/// of its values and puts the two below an `if`. Leaves `variant` as it is where that does not help.
void variants_derive_apart(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                           Variant *variant);

/// The same for a kernel lowered with these bindings: `forward`.
void variants_derive_bound(Arena *arena, const Kernel *kernel, const Function *forward,
                           const BackwardOptions *options, const Binding *bound, int count,
                           Variant *variant);
/// function_variants.c: the same for the jit functions that launches pass for a constexpr. Where one of them has no backward,
/// the reason names it.
void variants_derive_functions(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                               Variant *variant);

/// A parameter with the value that the first of two variants is for.
typedef struct VariantChoice {
    const Parameter *parameter;
    const Constant *value;  // a function, None, a tuple of any items; NULL: what counts as true
} VariantChoice;

/// Both variants below an `if`. False where they want one name for different things.
bool variants_merge(Arena *arena, const Function *forward, VariantChoice choice,
                    const Variant *const variants[2], Variant *into);
/// Has the backward stop compilation, with the message, where the parameter is none of the values.
bool variants_assert(Arena *arena, const Function *forward, const Parameter *parameter,
                     const Constant *values, int count, const char *message, Variant *variant);
/// Whether the backward changes a gradient in place, so that an empty arm would not leave zeros.
bool variant_has_running(const Variant *variant);

/// backward.c: where an argument stands among the parameters of an emitted kernel.
int argument_rank(ArgumentUse use, const Parameter *parameter);
/// Element types are told by their parameter's index: changes it everywhere in `function`.
void function_renumber_parameters(Function *function, const int *new_index);

#endif
