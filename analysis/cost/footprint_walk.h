// What the parts of the footprint share. Private to analysis/cost/.
#ifndef TAD_ANALYSIS_COST_FOOTPRINT_WALK_H
#define TAD_ANALYSIS_COST_FOOTPRINT_WALK_H

#include "analysis/cost/counter.h"
#include "analysis/cost/footprint.h"
#include "analysis/cost/layout.h"

enum { FOOTPRINT_OPEN_BYTES = 2 };  // of an element whose type the caller decides

/// What is known of a value.
typedef struct LaidTile {
    bool is_tile, is_address;
    bool is_elsewhere;  // in shared memory, or computed where it is used: in no registers
    bool is_made_of_product, feeds_product;
    int rank, bits;
    int64_t shape[TYPE_MAX_RANK], elements;
    ThreadLayout layout;
    int from, to;  // places in the order of the operations
} LaidTile;

/// Bytes of shared memory that are taken from one place to another, both included.
typedef struct SharedBuffer {
    int64_t bytes;
    int from, to;
} SharedBuffer;

typedef struct FootprintWalk {
    Arena *arena;
    const Function *function;
    FootprintOptions options;
    Former *former;
    Counter counter;
    LaidTile *tiles;   // by value
    int *start, *end;  // by operation
    int places;
    LIST(Op *) ops;
    LIST(SharedBuffer) buffers;
    bool is_open;
} FootprintWalk;

/// How an access lies in memory.
typedef struct AccessReach {
    int64_t shape[TYPE_MAX_RANK], elements;
    int rank, bits, fastest;
    int64_t run;     // elements that a thread moves at once
    int64_t width;   // bits of neighbours that lie together
    bool is_spread;  // each thread has an element of its own
    bool is_block;   // by a block pointer or a descriptor
    ThreadLayout layout;
} AccessReach;

int footprint_bits(const FootprintWalk *walk, DType element);
const Value *footprint_operand(const Op *op, const char *name);
AccessReach footprint_reach(FootprintWalk *walk, Op *op);
void footprint_buffer(FootprintWalk *walk, int64_t bytes, int from, int to);

/// Gives values their layouts, and notes what goes through shared memory on the way from one to another.
void footprint_layouts(FootprintWalk *walk);
/// Notes the operands of products that lie in shared memory.
void footprint_products(FootprintWalk *walk);
/// Whether the product is computed by groups of four warps, from shared memory.
bool footprint_is_wide(const FootprintWalk *walk, const Op *dot);

#endif
