// Inside autodiff/: parameters in another order.
#ifndef TAD_AUTODIFF_TOGETHER_RENUMBER_H
#define TAD_AUTODIFF_TOGETHER_RENUMBER_H

#include "analysis/ir/ir.h"

/// Element types are told by their parameter's index: changes it everywhere in `function`.
void function_renumber_parameters(Function *function, const int *new_index);

#endif
