// Inside analysis/module/: the kernels that a name launches which is no kernel's own: `kernel = a if flag else b`, a function's parameter.
#ifndef TAD_ANALYSIS_MODULE_CHOSEN_KERNELS_H
#define TAD_ANALYSIS_MODULE_CHOSEN_KERNELS_H

#include "analysis/module/module.h"

typedef struct ChosenKernel {
    const FunctionDefinition *kernel;
    LIST(SyntaxNode) places;  // the expressions that name it
    bool is_bare;             // `kernel.fn`: without the outermost of its tuners
} ChosenKernel;

typedef LIST(ChosenKernel) ChosenKernels;

/// The kernel that an expression names where it stands; NULL: none.
typedef const FunctionDefinition *KernelNamed(const Module *module, SyntaxNode expression);

/// Whether an expression is `kernel.fn` of a tuned kernel: `*kernel`.
bool kernel_is_bare(const Module *module, SyntaxNode expression, KernelNamed *named,
                    const FunctionDefinition **kernel);
/// All kernels that `name`, which `launcher` launches, may be, each once. None where it may be something else as well.
ChosenKernels chosen_kernels(Arena *arena, const Module *module, const FunctionDefinition *launcher,
                             Str name, KernelNamed *named);

#endif
