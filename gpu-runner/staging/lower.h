// The tile IR as CUDA C++: one thread block runs one program after the other, a scalar is a variable that all threads agree on, a tile
// an array in the block's memory, and an operation a loop over its elements and a barrier. Floats are doubles. The text is valid C,
// too, where C has the few words of CUDA that it uses.
#ifndef TAD_GPU_RUNNER_CUDA_LOWER_H
#define TAD_GPU_RUNNER_CUDA_LOWER_H

#include "gpu-runner/interp/interp.h"

/// The name of the function in the text.
#define LOWERED_NAME "tad_kernel"

typedef struct Lowered {
    const char *text;
    int64_t room;        // elements that a block needs,
    int64_t room_bytes;  // of so many bytes each
    int64_t widest;      // elements of the largest tile
    bool is_ordered;     // one block is to run all programs, as their order counts
} Lowered;

/// What becomes of a number.
typedef struct StagedNumbers {
    bool is_dual;  // it has a tangent
    bool
        rounds;  // it is rounded to its type, as with the interpreter's `own_types`; else all floats are doubles
    bool allow_tf32, holds_extremes;  // the same of InterpOptions
    bool
        adds_at_once;  // sums of tangents by atomic operations take no turns: their last digits are those of some order
} StagedNumbers;

/* What the kernel is given, field by field as the text declares it (prelude.c). */

typedef struct LoweredBuffer {
    uint64_t data;     // on the GPU: doubles or integers of 64 bits
    uint64_t written;  // a byte an element, set by each store; or 0
    uint64_t
        users;  // a word an element: which programs of this launch use it, and how (prelude.c); or 0
    uint64_t tangents;  // doubles; 0: they are 0, and nothing is kept
    uint64_t
        pages;  // first offsets of the pages that `data` has, in increasing order; 0: all from `first` on
    int64_t first, count;  // elements
    int64_t page_count;
    int64_t dtype;
} LoweredBuffer;

enum {
    FAULT_WORDS = 5  // what, and where: line, program, element, offset
};

typedef struct LoweredLaunch {
    int64_t grid[3];
    int64_t reversed;  // whether the last program comes first
    uint64_t buffers;
    int64_t buffer_count;
    uint64_t arguments;  // 8 bytes each: a double, an integer or an address
    uint64_t tangents;   // a double each; or 0
    uint64_t room;
    int64_t room_per_block;
    int64_t
        fault[FAULT_WORDS];  // 0, or LoweredFault; the line; the program; the element; the offset
} LoweredLaunch;

typedef enum LoweredFault {
    LOWERED_FINE,
    LOWERED_OUTSIDE,   // of what was copied to the GPU
    LOWERED_NO_PLACE,  // no address, or that of another type's buffer
    LOWERED_DIVISION,  // by zero
    LOWERED_INDEX,     // of a gather
    LOWERED_ASSERT,
    LOWERED_ENDLESS,  // a while loop
    LOWERED_MEETS,    // two programs use an element, and one of them writes it
} LoweredFault;

/// `arguments`: one tile a parameter. Numbers and addresses of one element are read from the launch, so that one text serves all
/// launches whose tiles differ in nothing else. A sentence that names the operation where one has no lowering.
Error lower_function(Arena *arena, const Function *function, Tile *const *arguments,
                     StagedNumbers options, Lowered *lowered);

#endif
