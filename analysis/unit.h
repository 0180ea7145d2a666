// What the analysis of one kernel came to, with all that it rests on, so that the next text can have it too. Private to
// analysis/snapshot.c and analysis/unit*.c.
#ifndef TAD_ANALYSIS_UNIT_H
#define TAD_ANALYSIS_UNIT_H

#include "analysis/checks/check.h"
#include "analysis/snapshot.h"

/// A text and its module. Outlives its snapshot while there are units made from it: their ranges and nodes lie in it.
typedef struct SnapshotBase {
    atomic_int count;
    Arena *arena;
    const Source *source;
    Module *module;
} SnapshotBase;

/// Counted and immutable.
typedef struct Unit {
    atomic_int count;
    Arena *arena;
    SnapshotBase *base;
    Function *function;  // its definition is that of base->module
    bool understood;
    Diagnostics lowered;      // what the lowering said
    Diagnostics checked;      // the same, then what the checks said
    const char *failure;      // a BUG's message, or NULL
    CheckExtent extent;       // of the checks
    int64_t limit;            // steps that it had
    int64_t taken;            // and those that it took
    bool is_cut;              // for they did not do
    bool is_unwanted;         // it was interrupted: no unit to be shown
    ModuleReads reads;        // of base->module
    Map observed;             // FunctionDefinition * of a helper -> Type[] that it was called with
    const Type *called_with;  // what a helper was taken to be called with, or NULL
} Unit;

SnapshotBase *base_retain(SnapshotBase *base);
void base_release(SnapshotBase *base);

/// Lowers and checks one jit function of base->module in at most `limit` steps. The caller holds one count.
Unit *unit_build(SnapshotBase *base, const FunctionDefinition *definition, const Type *called_with,
                 CheckOptions checks, int64_t limit);
Unit *unit_retain(Unit *unit);
void unit_release(Unit *unit);

/// What helpers are called with, as far as the kernels looked at so far tell. By the helper's node, which all texts that
/// share its piece share.
typedef struct UnitCalls {
    Arena *arena;
    Map types;  // node id -> Type[]
} UnitCalls;

/// What a function of the present module is called with, or NULL.
const Type *calls_find(const UnitCalls *calls, const FunctionDefinition *definition);
void calls_add(UnitCalls *calls, const Unit *unit);
/// Whether a unit of a helper still holds when it is called with `types`.
bool unit_is_called_with(const Unit *unit, const Type *types);

/// An edited text: what changed, between which modules.
typedef struct UnitUpdate {
    const Module *before;
    const Module *now;
    const ModuleChanges *changes;
    Map changed_words;  // by map_hash: all words in changes->texts
} UnitUpdate;

UnitUpdate update_new(Arena *arena, const Module *before, const Module *now,
                      const ModuleChanges *changes);
/// Whether a unit of the function `before` holds for `now`, the same function in the edited text; helpers besides
/// unit_is_called_with.
bool unit_holds(const UnitUpdate *update, const Unit *unit, const FunctionDefinition *before,
                const FunctionDefinition *now);

#endif
