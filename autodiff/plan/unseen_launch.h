// Launches that a file does not show: of kernels in tables, of other files, by functions of other files.
#ifndef TAD_AUTODIFF_PLAN_UNSEEN_LAUNCH_H
#define TAD_AUTODIFF_PLAN_UNSEEN_LAUNCH_H

#include "analysis/module/module.h"

/// Why a piece of code may launch a kernel that nobody here sees; NULL: it does not.
const char *unseen_launch(Arena *arena, const Module *module, SyntaxNode code);

#endif
