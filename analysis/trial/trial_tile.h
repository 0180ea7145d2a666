// Numbers, tiles and pointers of a trial: made, spread over a shape, and combined element by element.
#ifndef TAD_ANALYSIS_TRIAL_TRIAL_TILE_H
#define TAD_ANALYSIS_TRIAL_TRIAL_TILE_H

#include "analysis/trial/trial.h"

typedef enum TrialKind {
    TRIAL_UNKNOWN,
    TRIAL_NUMBER,
    TRIAL_POINTER,  // elements from the start of `buffer`
    TRIAL_BLOCK,    // a block pointer or a descriptor: `base` and `items`
    TRIAL_TUPLE,
} TrialKind;

/// Immutable. A number or a pointer without `data` has a shape, and elements that are not known.
typedef struct TrialTile {
    TrialKind kind;
    int buffer;
    int rank;
    int64_t dims[TYPE_MAX_RANK];
    int64_t count;
    const double *data;
    const struct TrialTile *const
        *items;  // of a tuple; of a block: base, shape, strides, offsets, block
    int item_count;
} TrialTile;

/// Where tiles are made, and what that may take.
typedef struct TrialPool {
    Arena *arena;
    int64_t steps_left;
    bool is_cut;
} TrialPool;

/// A tile whose elements are written next; NULL where the steps are spent.
double *trial_room(TrialPool *pool, TrialTile *tile);
const TrialTile *trial_unknown(void);
const TrialTile *trial_number(TrialPool *pool, double number);
/// What of a constant is a number; unknown for the rest.
const TrialTile *trial_constant(TrialPool *pool, const Constant *constant);
bool trial_int(const TrialTile *tile, int64_t *number);
/// A tuple's numbers, or one number; -1 where they are not known.
int trial_ints(const TrialTile *tile, int64_t *numbers, int most);
/// The elements over a shape that the tile broadcasts to; NULL where they are not known.
const double *trial_spread(TrialPool *pool, const TrialTile *tile, int rank, const int64_t *dims);
/// Whether the shapes broadcast; the common one.
bool trial_common(const TrialTile *tile, int *rank, int64_t *dims);
/// An elementwise operation of whole numbers, truths or pointers.
const TrialTile *trial_elementwise(TrialPool *pool, const Op *op, const TrialTile *const *operands);
/// The same elements with other axes.
const TrialTile *trial_reshaped(TrialPool *pool, const TrialTile *tile, int rank,
                                const int64_t *dims);
const TrialTile *trial_permuted(TrialPool *pool, const TrialTile *tile, const int *order);

#endif
