// What a kernel's body says about each of its parameters: the evidence from which sizes, strides, blocks and flags are chosen.
#ifndef TAD_GPU_RUNNER_CONFIGURE_FACTS_H
#define TAD_GPU_RUNNER_CONFIGURE_FACTS_H

#include "analysis/ir/ir.h"

/// Three sets for each value of a kernel: 192 bytes. Generated kernels that take each tensor by itself have some hundred parameters.
/// Beyond: no proof (gradcheck.c), for a parameter that is in no set would count as one without evidence.
/// A set of parameters by index.
typedef struct ParameterSet {
    uint64_t bits[KERNEL_MOST_PARAMETERS / 64];
} ParameterSet;

static inline bool set_has(ParameterSet set, int index) {
    return index >= 0 && index < KERNEL_MOST_PARAMETERS &&
           ((set.bits[index / 64] >> (index % 64)) & 1);
}
static inline void set_add(ParameterSet *set, int index) {
    if (index >= 0 && index < KERNEL_MOST_PARAMETERS)
        set->bits[index / 64] |= (uint64_t)1 << (index % 64);
}
static inline ParameterSet set_union(ParameterSet a, ParameterSet b) {
    for (int i = 0; i < KERNEL_MOST_PARAMETERS / 64; i++) a.bits[i] |= b.bits[i];
    return a;
}
static inline bool set_is_empty(ParameterSet set) {
    for (int i = 0; i < KERNEL_MOST_PARAMETERS / 64; i++)
        if (set.bits[i]) return false;
    return true;
}

typedef struct ParameterFacts {
    bool is_used;
    bool is_block;   // the length of an arange or a dim of a tile
    bool is_deep;    // ... of a tile of three dimensions or more
    bool is_dot;     // ... of a dot's operand
    bool is_flag;    // an `if` decides on it
    bool is_size;    // lanes are compared with it
    bool is_tiled;   // ... lanes that a program id or a loop moves along
    bool is_masked;  // ... in a mask, so that it need not be a multiple of a block
    bool is_whole;   // ... lanes that nothing moves: they must cover it
    bool is_trip;    // the bound of a loop that does not go by blocks
    bool is_bound;   // a loop's bound depends on it, by blocks or not
    bool is_from;    // a loop begins there, and its end does not depend on it
    bool is_stride;  // multiplies an index in an address
    bool
        is_lone_stride;  // ... without another: what only multiplies strides says how many of them there are
    bool is_window_step;  // elements from where a window begins to where the next one does: a few
    bool is_aligned;      // a descriptor's stride, which must be a multiple of 16 bytes
    bool is_tile;  // multiplies a program id or a loop variable in what is compared with a size
    bool is_block_count;  // multiplies a block
    bool is_start;        // added to a program id
    bool is_divisor;      // x // it, x % it; of a pointer: by what is loaded
    bool is_numerator;    // it // x
    int divided_by;       // ... by a parameter: its index plus 1; 0: by none
    bool is_scale;        // meets floats
    bool is_low;          // ... numbers are kept above it, and below another parameter
    bool is_high;         // ... and the other way around
    bool is_offset;       // is part of an address
    bool is_dtype;        // names an element type
    bool is_string;       // an option that is text
    bool is_axis;         // a dimension whose bounds an access checks, for example `axis`
    int axis;
    int tile_axes;  // it numbers an axis of a tile of so many; 0: of none
    bool is_none_tested;
    bool is_loaded, is_stored, is_atomic;  // pointers
    int bits;  // pointers: the width that a cast of the bits of what is loaded wants, or 0
    bool is_offset_list;  // pointers to integers: differences or bounds of what is loaded matter
    bool is_ends;         // ... of two elements: where parts begin and end
    bool is_block_index;  // what is loaded is multiplied by a block: its number
    bool is_class;        // ... is compared for equality with what a loop or a program counts
    bool is_truth;        // ... is compared with True or False
    bool is_lane_loaded;  // ... is loaded by lanes
    bool is_length;       // ... only bounds lanes and loops: how long a part is
    bool is_part_start;   // ... where a part begins, whose length is in another such list
    bool is_list;         // ... of which more than the first element is loaded
    bool is_integer;      // pointers to what an operation on integers takes
    bool is_paired;       // ... it is read at two times an index
    int from_list;  // ... a list of which something is the start, where this is the end: its index plus 1
    bool
        bounds_alone;  // ... what is loaded bounds lanes, programs or loops, and no other list with it
    bool is_list_index;            // ... what is loaded says where in such a list to look
    bool is_store_index;           // ... what is loaded addresses a store
    bool leads_to_store;           // ... lanes look up with it where to store
    bool is_compared_with_loaded;  // an integer such as an ignored index
    const Value
        *mark;     // of a pointer to integers: what is loaded is compared with this for equality
    int cut_size;  // of the length of a descriptor's blocks: the size that they cut, plus 1; 0: none is known, -1: there are several
    ParameterSet blocks;   // of a size: the blocks that walk it
    int64_t lanes;         // of a size: constant lengths of the aranges that walk it
    ParameterSet indexes;  // of a pointer to integers: pointers that they address loads of
    ParameterSet strides;  // of a pointer: integers that multiply in its addresses
    bool has_unit;         // ... and an index that nothing multiplies: neighbours lie side by side
    LIST(const Constant *) compared;  // constants that it is compared with
} ParameterFacts;

/// One entry per parameter of `function` (symbolic constexprs). Allocated in the arena.
ParameterFacts *facts_of(Arena *arena, const Function *function);

#endif
