// What stands around a kernel: autotune, heuristics, other wrappers.
#ifndef TAD_AUTODIFF_PLAN_WRAPPERS_H
#define TAD_AUTODIFF_PLAN_WRAPPERS_H

#include "analysis/module/module.h"

/// The name that a wrapper of a kernel is assigned to, `name = triton.autotune(...)(kernel)`; empty: it is a decorator.
Str wrapper_name(const FunctionDefinition *kernel, int decorator);
/// `tuned = wrapper(kernel)`: what the kernel is called under its outermost wrapper; empty where its own name has them all.
/// Of several such names that stand side by side the one that is launched, the last of these where there are more.
Str kernel_alias(const FunctionDefinition *kernel);
/// Whether the kernel goes by this name, with or without wrappers.
bool kernel_has_name(const FunctionDefinition *kernel, Str name);
/// Whether the backward keeps the parameter although its body does not use it (autotune and heuristics ask for it by name).
bool decorators_mention(const FunctionDefinition *kernel, const char *name, bool is_constexpr);
/// Whether `kernel[grid](...)` takes a keyword of this name for itself, or refuses it: no launch can pass a parameter by it.
bool name_is_of_launch(Str name);
/// Whether a function that launches the kernel names the parameter in a string: its grid may ask for it, as `meta["n"]`.
bool launchers_mention(const FunctionDefinition *kernel, const char *name);

#endif
