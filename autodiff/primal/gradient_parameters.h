// The parameters of a backward: those of the forward, and one for each gradient.
#ifndef TAD_AUTODIFF_PRIMAL_GRADIENT_PARAMETERS_H
#define TAD_AUTODIFF_PRIMAL_GRADIENT_PARAMETERS_H

#include "autodiff/tape/memory.h"

/// Whether the gradient of the parameter was asked for: all are where `options` name none.
bool gradient_is_wanted(const BackwardOptions *options, const Parameter *parameter);
/// Makes `state->backward` with the forward's parameters, in their order. Fills `values`.
void parameters_copy(Differentiation *state);
/// Adds a parameter for each gradient: upstream ones of what is stored, those of wanted inputs. `d` stands before the name; another
/// prefix where the forward has such a parameter already (its own hand-written gradient). Fills `gradients`, `upstreams`, `kept`.
void parameters_add_gradients(Differentiation *state, const Memory *memory);

#endif
