// What a derivation tells the author.
#ifndef TAD_AUTODIFF_FINDINGS_H
#define TAD_AUTODIFF_FINDINGS_H

#include "autodiff/state/result.h"

/// Assumptions, atomics, tapes and copies of a derived backward, as diagnostics. `diagnostics` may be NULL.
void findings_report(const Snapshot *snapshot, const Backward *result, Diagnostics *diagnostics);

#endif
