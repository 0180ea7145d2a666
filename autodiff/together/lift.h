// Inside autodiff/: several members of a set as one, programs or iterations of a loop, whose values get an axis in front for them.
#ifndef TAD_AUTODIFF_TOGETHER_LIFT_H
#define TAD_AUTODIFF_TOGETHER_LIFT_H

#include "analysis/addresses/affine.h"
#include "autodiff/state/differentiation.h"

/// What became of a mask, in a region.
typedef struct KnownMask {
    const Value *of;
    int rank;
    const Region *region;
    Value *mask;
} KnownMask;

/// What is known of one such set. To be filled in: all above `ranks`; before members_widen `together`, `numbers`, `inside` and `first`, too.
typedef struct Members {
    Differentiation *state;
    Function *function;
    Former *former;
    Value *root;              // a whole number that tells the members apart
    Map ranks;                // values that differ between them -> the rank that they had, and 1
    bool changes;             // another value was found to differ
    bool is_wide;             // some access has a tile of its own
    bool takes_any_lanes;     // accesses may be of any tile
    bool counts_programs;     // who fills it in has an answer for how many programs there are
    Value *together;          // how many members are one
    Value *numbers, *inside;  // a tile of what `root` stands for, and which of these there are
    const Op *first;          // what makes `numbers` of `root`; it stays as it is
    LIST(KnownMask) masks;
} Members;

/// Whether the value differs between the members.
bool value_is_lifted(const Members *members, const Value *value);
/// Says that it does.
void lift_value(Members *members, Value *value);
/// Finds all that differs in the region; whether it can be had for several members at once: element by element, by reductions of each one's
/// rows, and with accesses whose lanes follow each other in memory.
bool members_fit(Members *members, const Region *region);
/// The first axis of such a value, in front of those that it has.
void members_add_axis(const Members *members, Value *value);
/// Gives these values their axis. What is behind the last member is masked.
void members_widen(Members *members, Region *region);
/// Which members there are, of `count`: those whose numbers are below that, and the only one. Of one the compiler then knows it, and masks
/// nothing: the backward of a gated RMS norm in rows of 4,096 had 192 registers a thread, and has 167.
Value *members_below(const Members *members, Builder *b, Value *count);
/// Which of the members there are, for a tile that had so many axes.
Value *members_inside(const Members *members, Op *before, int rank);
/// The value for a tile of that type: of all alike, where they do not differ.
Value *members_spread(const Members *members, Op *before, Value *value, Type type);

#endif
