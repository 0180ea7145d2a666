// Inside autodiff/module/: which functions and classes of a file launch kernels, and their text with gradients.
#ifndef TAD_AUTODIFF_MODULE_MODULE_LAUNCHERS_H
#define TAD_AUTODIFF_MODULE_MODULE_LAUNCHERS_H

#include "autodiff/launcher/operator_text.h"
#include "autodiff/module/module_items.h"

typedef struct ModuleWriter {
    Arena *arena;
    const Snapshot *snapshot;
    const Module *module;
    Items items;
    LaunchPlan *plans;
    OperatorPlan *operators;  // one per plan, with WRAPPER_TRITON_OP
    int plan_count;
    WrapperKind wrapper;
    const char *space;  // the namespace of operators
    LIST(Item *) launchers;
    LIST(const char *) launcher_texts;
    Texts notes;
    Diagnostics *diagnostics;
} ModuleWriter;

/// Fills `launchers` and their texts, and `left_out` of what has no gradients here; says so.
void launchers_find(ModuleWriter *writer);
/// Functions and classes that call what is differentiable here belong to the module: it takes the place of the user's.
void launchers_include_callers(ModuleWriter *writer);
/// NULL: the item is none.
const char *launcher_text_of(const ModuleWriter *writer, const Item *item);

#endif
