// The driver of passes.def: runs the passes in their order, holds what they need and give, and verifies what they leave.
#ifndef TAD_AUTODIFF_PASSES_H
#define TAD_AUTODIFF_PASSES_H

#include "autodiff/state/differentiation.h"

typedef enum PassFunction { PASS_CHANGES_PRIMAL, PASS_CHANGES_BACKWARD } PassFunction;

/// What is as it was before a pass, in every kernel (passes.def).
typedef enum PassKeeps {
    PASS_KEEPS_TEXT,
    PASS_KEEPS_BITS,
    PASS_KEEPS_VALUES,
    PASS_KEEPS_FINITE,
    PASS_KEEPS_NUMBERS,
    PASS_KEEPS_PARTS,
    PASS_KEEPS_NOTHING,
} PassKeeps;

typedef struct PassRow {
    const char *name;
    unsigned needs, gives;  // sets of facts
    PassFunction changes;
    PassKeeps keeps;
    void (*run)(Differentiation *state);
    const char *help;  // one sentence
} PassRow;

/// Rows of passes.def in their order.
extern const PassRow pass_rows[];
extern const int pass_count;
/// NULL where no pass has this name.
const PassRow *pass_find(const char *name);
/// The function that a pass has changed: the primal or the backward.
const Function *pass_subject(const PassRow *row, const Differentiation *state);

/// Runs all passes over `state`, whose primal is a copy of the forward, until one fails or finds nothing to differentiate.
/// `state->options->observer` is told after each. Where passes are verified (debug builds, and passes_verify_each), a pass that
/// leaves a function which breaks an invariant of the tile IR is a BUG that names the pass.
void passes_run(Differentiation *state);
/// Verifies after each pass in release builds, too. For the whole process, before its first derivation.
void passes_verify_each(void);

#endif
