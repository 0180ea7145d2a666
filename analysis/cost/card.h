// Cards, and what bounds a kernel on one by the roofline: memory or arithmetic.
#ifndef TAD_ANALYSIS_COST_CARD_H
#define TAD_ANALYSIS_COST_CARD_H

#include "analysis/cost/footprint.h"
#include "analysis/cost/kernel_cost.h"

typedef struct Card {
    const char *name, *title;
    double memory;                        // GB/s
    double math, dots[3];                 // TFLOP/s: dots of 32, 16 and 8 bits
    int shared_kib;                       // of a program
    int capability;                       // 90 for 9.0; 0: no card of NVIDIA
    int all_shared_kib, warps, programs;  // of a multiprocessor
} Card;

/// NULL where there is none of that name.
const Card *card_find(Str name);
/// Bytes of shared memory that a program may have, on the most generous card of the compute capability; 0: there is none.
int64_t card_most_shared(int capability);
/// The names, ", " between.
const char *card_names(Arena *arena);

typedef enum CardBound { BOUND_OPEN, BOUND_MEMORY, BOUND_ARITHMETIC } CardBound;

/// What bounds it whatever the sizes and caches are: BOUND_OPEN where these decide. `card` NULL: on all cards of the table.
CardBound card_bound(const Card *card, const KernelCost *cost, const CostTotals *totals);
/// Operations a byte from which arithmetic bounds a kernel of such dots.
double card_ridge(const Card *card, const KernelCost *cost);

/// How many programs a multiprocessor runs at once.
typedef struct CardFit {
    bool is_known;
    int programs;  // 0: it has not what one takes
    double warps_share;
    const char *limit;  // what lets no more of them run: "warps", "registers", "shared memory"
} CardFit;
CardFit card_fit(const Card *card, const Footprint *footprint, int warps);

#endif
