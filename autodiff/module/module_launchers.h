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
/// Whether kernels with a backward are launched in a function of the item.
bool item_launches(const ModuleWriter *writer, const Item *item);
bool class_is_autograd_function(const ModuleWriter *writer, SyntaxNode class);
/// Why a function or class has no gradients here as it stands; NULL: nothing is against it. `*is_quiet`: it matters only to
/// those that call it. `launching`: names of what launches kernels of the file.
const char *item_why_left_out(ModuleWriter *writer, Item *item, const Map *launching,
                              bool *is_quiet);
/// The text with Functions or operators in the place of launches; NULL and `*why` where it cannot be.
const char *item_text_with_launches(ModuleWriter *writer, const Item *item, const char **why);
/// Says once that an item is left out, and why.
void item_note_left_out(ModuleWriter *writer, Item *item);
/// Says that a launcher has gradients that it has not in the file.
void item_note_decorators(const ModuleWriter *writer, const Item *item);
/// NULL: the item is none.
const char *launcher_text_of(const ModuleWriter *writer, const Item *item);

#endif
