// Whether a float input reaches a float output at all.
#ifndef TAD_AUTODIFF_PRIMAL_ACTIVE_OUTPUTS_H
#define TAD_AUTODIFF_PRIMAL_ACTIVE_OUTPUTS_H

#include "autodiff/tape/memory.h"

/// Whether a store or an atomic writes an active value. Requires activity.
bool outputs_are_active(const Differentiation *state, const Memory *memory);
/// Whether floats reach a float output on another way than as bits.
bool outputs_are_active_numbers(const Differentiation *state, const Memory *memory);
/// Refuses the kernel where it stores something whose type is not known: that may have a gradient.
void outputs_refuse_unknown(Differentiation *state);
/// Refuses the kernel where floats with a gradient are loaded or stored through an address that is a number: no parameter is
/// the tensor there. With inputs named by --wrt such loads are constants.
void outputs_refuse_unseen(Differentiation *state, const Memory *memory);

#endif
