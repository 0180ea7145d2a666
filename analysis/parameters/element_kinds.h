// Tensors that hold integers under one value of a constexpr, and floats under another: packed weights beside plain ones.
#ifndef TAD_ANALYSIS_PARAMETERS_ELEMENT_KINDS_H
#define TAD_ANALYSIS_PARAMETERS_ELEMENT_KINDS_H

#include "base/list.h"

#include "analysis/ir/ir.h"

/// A value of a constexpr parameter under which one side of a branch is taken.
typedef struct KindChoice {
    int parameter;
    Constant value;
} KindChoice;

typedef LIST(KindChoice) KindChoices;

/// The values of constexprs that may decide what some tensor holds: it is taken for one of integers, and is loaded in one side of a branch
/// on the constexpr and elsewhere, too. In the order of the branches, each once.
KindChoices kind_choices(Arena *arena, const Function *function);
/// Whether a tensor that holds integers in `function` holds floats in `bound`, the same kernel lowered with more constexprs bound, where
/// it is still loaded.
bool kind_is_float_in(const Function *function, int parameter, const Function *bound);

#endif
