// What the interpreter came by in a kernel: iterations of loops, sides of branches, masks of accesses, sides of thresholds. By place in the source, so that
// several configurations of one kernel can be put together.
#ifndef TAD_GPU_RUNNER_INTERP_COVERAGE_H
#define TAD_GPU_RUNNER_INTERP_COVERAGE_H

#include "analysis/ir/ir.h"
#include "gpu-runner/interp/tile.h"

typedef enum PlaceKind {
    PLACE_LOOP,    // cases: no iteration, one, several
    PLACE_BRANCH,  // cases: not taken, taken
    PLACE_ACCESS,  // cases: no element takes part, some, all
    PLACE_THRESHOLD,  // cases: floats on this side of a number that they are held against, beyond it, beyond a second one
} PlaceKind;

enum { PLACE_CASES = 3 };
enum { LOOP_NONE, LOOP_ONE, LOOP_SEVERAL };
enum { BRANCH_PASSED, BRANCH_TAKEN };
enum { ACCESS_NONE, ACCESS_SOME, ACCESS_ALL };
enum { THRESHOLD_WITHIN, THRESHOLD_BEYOND };

typedef struct CoveragePlace {
    PlaceKind kind;
    Range range;
    bool had[PLACE_CASES];
    int64_t most;  // of a loop: iterations; of an access: elements of the largest tile
    // of an access: the latest tile of which some elements took part
    int rank;
    int64_t dims[TYPE_MAX_RANK], extents[TYPE_MAX_RANK];  // of the tile, and of what took part
    bool is_store;
} CoveragePlace;

typedef struct Coverage {
    Arena *arena;
    Map by_place;
    LIST(CoveragePlace *) places;  // in the order of their first execution
} Coverage;

Coverage *coverage_new(Arena *arena);
/// The place, made where it is new.
CoveragePlace *coverage_place(Coverage *coverage, PlaceKind kind, Range range);
/// NULL: nothing came by.
const CoveragePlace *coverage_find(const Coverage *coverage, PlaceKind kind, Range range);
void coverage_loop(Coverage *coverage, Range range, int64_t iterations);
/// `on`: per element of a tile of these dims, whether it takes part.
void coverage_access(Coverage *coverage, const Op *op, int rank, const int64_t *dims,
                     const uint8_t *on);
/// Whether `more` has a case that `known` has not.
bool coverage_adds(const Coverage *known, const Coverage *more);
void coverage_merge(Coverage *known, const Coverage *more);

// --- thresholds: numbers that a kernel holds floats against ---

/// The operand with the number that an ordering, a minimum, a maximum or a clamp holds a float against: a constant or a
/// scalar parameter. `which` counts an operation's several ones from 0. -1: there is none (more).
int threshold_operand(const Op *op, int which);
/// The value behind its casts.
const Value *threshold_value(const Op *op, int operand);
/// Of an ordering, whether it held for some elements and did not for some; of the others, whether some elements are the
/// threshold. Nothing of an operation without one. `operands` are the first `count` ones of the operation.
void thresholds_note(Coverage *coverage, const Op *op, Tile *const *operands, int count,
                     const Tile *result);

#endif
