// Inside autodiff/extents/: an address as digits (programs, iterations, lanes), and what a launcher calls their extents.
#ifndef TAD_AUTODIFF_EXTENTS_STORED_DIGITS_H
#define TAD_AUTODIFF_EXTENTS_STORED_DIGITS_H

#include "analysis/addresses/affine.h"
#include "autodiff/state/result.h"

/// One digit of an address: a program id, an iteration or a lane, from 0 to below its extent.
typedef struct StoredDigit {
    Value *atom;        // as polynomials have it; NULL: a lane
    const Poly *scale;  // of a loop: its variable is `origin + scale * digit`
    const Poly *origin;
    const Poly *extent;  // or NULL: only its text is known
    const char *count;   // the text of an extent that is no polynomial
    const Poly *end;     // of a loop from 0: where it ends
    const Poly *weight;  // in the address
    bool is_taken;       // by a range
    bool is_quotient;    // of a divided id: where it has no value, no program is counted
} StoredDigit;

/// A program's id, or a digit of it, as `by * above + below`.
typedef struct ProgramSplit {
    Value *whole, *above, *below;
    const Poly *by;
} ProgramSplit;

/// `sum of weights[d] * digit d < bound`.
typedef struct MaskCut {
    const Poly *weights[STORED_MOST_DIGITS];
    const Poly *bound;
} MaskCut;

typedef struct StoredSearch {
    Arena *arena;
    const Function *function;
    const BackwardLaunch *launch;  // NULL: of a forward
    bool is_tuned;                 // the grid is a tuner's
    bool is_launched;  // whoever takes the text asks which numbers the launches of the file pass
    bool is_most;      // what an access touches at most is asked for
    bool
        says_sizes;  // whoever takes the text knows sizes and strides of descriptors by their parameters' names
    bool
        ends_all;  // with is_most: a mask that ends the address as a whole (`p * hop + lane < n`) ends each range, too
    bool counts_blocks;      // a loop in blocks is said by all that they have, also behind its end
    bool has_one_iteration;  // with is_most: of each loop around the access
    Value *programs[PROGRAM_AXES];            // stand for all program ids along an axis
    Value *extents[PROGRAM_AXES];             // programs along it
    ProgramSplit splits[STORED_MOST_SPLITS];  // of these, in an address that divides them
    int split_count;
    StoredDigit digits[STORED_MOST_DIGITS];
    int count;
    int lane;  // the first lane among the digits
    MaskCut cuts[STORED_MOST_CUTS];
    int cut_count;
    bool is_rough;  // with is_most: something that is not understood may leave elements out
    unsigned
        open_lanes;  // with is_most: those that a mask cuts off by something that is not understood
    const char *flags;  // of the launch, under which a store is made, in Python; or NULL
    bool takes_turns
        [PROGRAM_AXES];  // programs along the axis have turns of a loop, or numbers that it deals out: each other ones
    const Op *deal;  // the branch of the programs that a loop's numbers are dealt to; or NULL
    const Value *most,
        *stride;  // of a gradient in parts: ARGUMENT_SLICES and _PART_STRIDE; or NULL
} StoredSearch;

/// Python of a polynomial over the launch's arguments; NULL where the launcher does not know all of it.
const char *poly_text(const StoredSearch *coverage, const Poly *poly);
/// The same in parentheses where it is a sum.
const char *factor_text(const StoredSearch *coverage, const Poly *poly);
bool poly_is_one(const Poly *poly);
/// All program ids along an axis, and all counts of programs, as one atom each; ids that are split as their digits.
const Poly *with_programs(const StoredSearch *coverage, const Poly *poly);
/// Whether a branch asks which programs have a slice of a gradient in parts.
bool asks_for_slice(const StoredSearch *coverage, const Op *branch);
/// A further digit, to be filled; NULL where there are too many.
StoredDigit *add_digit(StoredSearch *coverage);
/// The program ids, or the digits that they are split into. False where there are too many.
bool add_programs(StoredSearch *coverage);
/// Whether a loop has the numbers of all programs along several axes of the grid, dealt to the first ones: `range(pid_0 + pid_1 *
/// programs_0, programs_0 * programs_1, slices)`.
bool loop_deals_programs(const StoredSearch *coverage, const Op *loop);
/// The iterations of a loop. False where they are not understood.
bool add_loop(StoredSearch *coverage, Op *loop);
/// Whether a digit is a program id, or made of these alone: programs that have another one are other programs.
bool digit_is_of_programs(const StoredSearch *coverage, const StoredDigit *digit);
/// With is_most: whatever else an address moves with.
bool add_movers(StoredSearch *coverage, const Poly *base);
/// What `poly` weighs each digit that is an atom with, and the rest of it. False where something else varies in it.
bool split_digits(const StoredSearch *coverage, const Poly *poly, const Poly **weights,
                  const Poly **rest);

#endif
