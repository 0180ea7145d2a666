// Element-wise chains: a tile that one operation uses, and reads once an element, is no array of the text but an expression.
#ifndef TAD_GPU_RUNNER_STAGING_CHAINS_H
#define TAD_GPU_RUNNER_STAGING_CHAINS_H

#include "gpu-runner/staging/staged.h"

/// How often a value is used, and whether some user has to have it as an array.
typedef struct ChainUse {
    int count;
    bool as_array;
} ChainUse;

/// Counts the uses of all values of the function, before it is lowered.
void chains_begin(Staging *staging);
/// A tile whose elements are `text`, an expression over `i`; a variable where it has one element or the expression is long.
/// `is_light`: as cheap as to read it from an array, so that it may be computed again for each element that it is broadcast to.
Staged *chain_new(Staging *staging, TileKind kind, DTypeCode dtype, int rank, const int64_t *dims,
                  const char *text, bool is_light);
/// The element at `index` (an expression).
const char *chain_at(Staging *staging, const Staged *chain, const char *index);
/// The same tile as an array, if it is a chain.
const Staged *chain_settled(Staging *staging, const Staged *staged);
/// What `value` is bound to: a chain only where its user takes it as one.
const Staged *chain_bound(Staging *staging, const Value *value, const Staged *staged);
/// Before an operation is lowered: chains among its operands that it would compute several times become arrays.
void chains_settle_operands(Staging *staging, const Op *op);

#endif
