// Inside autodiff/: one backward for each value of a flag that decides shapes or types, below one `if` of the emitted kernel.
#ifndef TAD_AUTODIFF_VARIANTS_H
#define TAD_AUTODIFF_VARIANTS_H

#include "autodiff/state/differentiation.h"

typedef struct VariantPart {
    Function *function;
    BackwardLaunch launch;
} VariantPart;

/// The backward of a forward function, not yet text.
typedef struct Variant {
    Backward result;  // status, reason, gradients, inputs and outputs
    BackwardLaunch launch;
    Function *backward;
    VariantPart parts[1 + BACKWARD_MOST_REDUCTIONS];  // in their place, one after the other
    int part_count;                                   // 0: it is one kernel
    struct Variant
        *whole_rows;        // one kernel in place of all, for rows that one block holds; or NULL
    LaunchFlags flags;      // values of which may need fewer atomics by themselves
    bool is_joined;         // loops of the forward were made one (joins/joined_loops.h)
    int reduction_kernels;  // how many there may be for it
    int beside_shares[2];   // as in PartState
    bool cannot_be_flat;    // likewise
    bool fits_one_pass;     // whether one kernel may be all of them
    bool
        has_more_digits;  // whether ids of the forward have more digits than rows and columns (schedule/tile_orders.h)
    int failure_id;  // DiagnosticId, where refused
    bool is_bits;    // refused because a gradient would have to pass through the bits of a float
    bool only_bits;  // and no float output has another gradient
} Variant;

/// Where a constexpr flag of the kernel decides what shape or type a value has, and only then, derives the kernel for both
/// of its values and puts the two below an `if`. Leaves `variant` as it is where that does not help.
void variants_derive_apart(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                           Variant *variant);

/// Where one value of a flag has a backward and the other has none, or one of another kind of argument, derives the kernel for the one, and has
/// the backward stop compilation for the other. Leaves `variant` as it is where there is no such flag, or where launches pass the other value alone.
void variants_derive_without(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                             Variant *variant);

/// variants_derive_apart for a kernel lowered with these bindings: `forward`.
void variants_derive_bound(Arena *arena, const Kernel *kernel, const Function *forward,
                           const BackwardOptions *options, const Binding *bound, int count,
                           Variant *variant);

/// A parameter with the value that the first of two variants is for.
typedef struct VariantChoice {
    const Parameter *parameter;
    const Constant
        *value;  // a function, None, a number, a tuple of any items; NULL: what counts as true
    const Constant *same;  // a number that means the same (axis -1 is the last); or NULL
} VariantChoice;

/// A refused kernel without the values of its sizes for which it computes in another way (`if BLOCK == 1:`), where the shape of what it
/// computes is known then; the backward asserts that the sizes are others.
void variants_derive_excluding(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                               Variant *variant);
/// Where two variants cannot be merged as an output has a running gradient in one of them alone: adds these outputs to what the options ask
/// for, with which both are derived once more. Whether there are any.
bool variants_need_running(Arena *arena, const Variant *a, const Variant *b,
                           BackwardOptions *options);

/// Both variants below an `if`, kernel by kernel where they have several. False where they want one name for different things.
bool variants_merge(Arena *arena, const Function *forward, VariantChoice choice,
                    const Variant *const variants[2], Variant *into);
/// Has the backward stop compilation, with the message, where the parameter is none of the values.
bool variants_assert(Arena *arena, const Function *forward, const Parameter *parameter,
                     const Constant *values, int count, const char *message, Variant *variant);
/// flag_variants.c: where flags of a launch keep what programs add from having owners (`variant->flags`), derives the kernel for each value of
/// one of them by itself and puts the kernels of each below an `if`. Leaves the variant as it is where no fewer gradients need atomics then.
void variants_derive_flags(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                           Variant *variant);

/// The kernel as it is with these values of parameters, derived. Whether it compiles with them.
bool variant_derive_with(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                         const Binding *bindings, int count, Variant *variant);
/// Whether the backward changes a gradient in place, so that an empty branch would not leave zeros.
bool variant_has_running(const Variant *variant);

#endif
