// What the parameters of an emitted kernel are bound to, and their order.
#ifndef TAD_AUTODIFF_ARGUMENTS_H
#define TAD_AUTODIFF_ARGUMENTS_H

#include "autodiff/state/differentiation.h"

/// What a parameter of `state->backward` is bound to, once the backward's parameters are made; `*of` as in BackwardArgument.
ArgumentUse argument_use(const Differentiation *state, const Value *value, const char **of);
/// The parameters of `state->backward` with their names and uses, as they are now: no launch has to know more to be asked for numbers.
BackwardLaunch *arguments_so_far(const Differentiation *state);
/// Upstream gradients, saved tensors, gradients, scalars, constexprs; only what is used (element types by primal index). Fills the
/// launch's arguments and renumbers the parameters of `state->backward`.
void arguments_arrange(Differentiation *state, Backward *result, BackwardLaunch *launch);
/// The forward's inputs that get a gradient and the outputs whose upstream gradient is read, by the arguments of the launch.
void arguments_list(Differentiation *state, Backward *result, const BackwardLaunch *launch);
/// Gives parameters that no launch can pass by keyword another name: the Function passes all of them so.
void arguments_rename(Arena *arena, const FunctionDefinition *definition, Function *backward,
                      BackwardLaunch *launch);
/// Where an argument stands among the parameters of an emitted kernel.
int argument_rank(ArgumentUse use, const Parameter *parameter);

#endif
