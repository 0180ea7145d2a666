// Inside autodiff/: what a value holds in elements that a mask leaves out.
#ifndef TAD_AUTODIFF_STORED_LEFT_OUT_H
#define TAD_AUTODIFF_STORED_LEFT_OUT_H

#include "autodiff/finiteness/finiteness.h"
#include "autodiff/stored/needed.h"

typedef struct LeftOut {
    Finiteness *finiteness;
    const Map *readers;    // function_readers, as the function is now
    const Needed *needed;  // readers whose results are not among these count for nothing
    const Map *ours;
} LeftOut;

/// Whether a value may be taken for `*number` in each element that `mask` leaves out: it is that, or nobody sees what it is. The
/// number is found here where it is not yet known: `*is_known`. Both are left as they are where the answer is no.
bool left_out_is_number(const LeftOut *left, Value *mask, Value *value, bool *is_known,
                        double *number);
/// Whether nobody sees what a value holds in the elements that `mask` leaves out, and `known` does not.
bool left_out_is_unseen(const LeftOut *left, const Value *mask, const Value *known,
                        const Value *value);
/// Whether each part of the mask `wide` is one of `narrow`: what `wide` leaves out `narrow` does, too.
bool mask_is_within(const Value *narrow, const Value *wide);

#endif
