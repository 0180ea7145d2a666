// Inside autodiff/: tensor descriptors that the launcher makes, as plain pointers with sizes and strides.
#ifndef TAD_AUTODIFF_PRIMAL_DESCRIPTORS_H
#define TAD_AUTODIFF_PRIMAL_DESCRIPTORS_H

#include "autodiff/state/differentiation.h"

/// A number that the launcher reads off a descriptor: a parameter of the primal beyond the kernel's own.
typedef struct DescriptorNumber {
    const char *of;   // the kernel's parameter
    ArgumentUse use;  // ARGUMENT_SHAPE or ARGUMENT_STRIDE
    int axis;
} DescriptorNumber;

/// Each descriptor parameter of the primal becomes a pointer to what it describes, and the kernel makes the descriptor from
/// it, with parameters for its shape and strides. Fails where the shape of its blocks is not to be seen in the kernel.
void descriptors_open(Differentiation *state);
/// What a parameter of the primal that was added by `descriptors_open` is, or NULL.
const DescriptorNumber *descriptor_number(const Differentiation *state, const Value *value);

#endif
