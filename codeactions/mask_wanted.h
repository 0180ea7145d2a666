// Which mask an access wants: read off the axes of its address and off the masks of the kernel's other accesses.
#ifndef TAD_CODEACTIONS_MASK_WANTED_H
#define TAD_CODEACTIONS_MASK_WANTED_H

#include "analysis/addresses/affine.h"
#include "base/list.h"

/// A tile of numbers, laid along the axes of an access: value[i0, i1, ...] = base + sum_k lane[k] * i_k.
typedef struct Placed {
    const Poly *base;
    const Poly *lane[TYPE_MAX_RANK];  // NULL: it does not vary along the axis
    const Poly *extent[TYPE_MAX_RANK];
} Placed;

/// One term of a mask. `code` OP_COUNT: not a comparison of affine forms, `value` is all that is known.
typedef struct MaskPart {
    OpCode code;
    Placed left, right;  // left varies along axes; of a part without lanes neither does
    bool is_bound;       // left varies, right does not
    Value *value;
} MaskPart;
typedef struct MaskParts {
    LIST(MaskPart) list;
} MaskParts;

typedef struct MaskWanted {
    int rank;           // of the access
    MaskParts bounds;   // one for each axis and limit; empty: nothing is certain
    MaskParts kept;     // what the access's own mask has beside them
    MaskParts missing;  // what it lacks
    LIST(Op *) same;    // other accesses whose masks are just `bounds`
} MaskWanted;

/// False where it is not certain: other masks disagree, bound something else, or the address is no sum of what they bound. All in `arena`.
bool mask_wanted(Arena *arena, const Function *function, Op *access, MaskWanted *wanted);
/// Whether the access's mask is what is wanted of it, with `kept` more parts.
bool mask_is_wanted(Arena *arena, const Function *function, Op *access, int kept);

#endif
