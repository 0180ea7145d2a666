// Places by kind and range; an access counts the indices of each axis that take part.
#include "gpu-runner/interp/coverage.h"

#include <string.h>

#include "gpu-runner/interp/memory.h"

Coverage *coverage_new(Arena *arena) {
    Coverage *coverage = ARENA_NEW(arena, Coverage);
    coverage->arena = arena;
    coverage->by_place = map_new(arena);
    return coverage;
}

static uint64_t key_of(PlaceKind kind, Range range) {
    uint64_t source = (uint64_t)(uintptr_t)range.source;
    return hash_mix(hash_mix(source + (uint64_t)kind) ^ ((uint64_t)range.start << 32 | range.end));
}

const CoveragePlace *coverage_find(const Coverage *coverage, PlaceKind kind, Range range) {
    return map_get_number(&coverage->by_place, key_of(kind, range));
}

CoveragePlace *coverage_place(Coverage *coverage, PlaceKind kind, Range range) {
    uint64_t key = key_of(kind, range);
    CoveragePlace *place = map_get_number(&coverage->by_place, key);
    if (place) return place;
    place = ARENA_NEW(coverage->arena, CoveragePlace);
    *place = (CoveragePlace){.kind = kind, .range = range};
    map_set_number(&coverage->by_place, key, place);
    LIST_PUSH(coverage->arena, &coverage->places, place);
    return place;
}

void coverage_loop(Coverage *coverage, Range range, int64_t iterations) {
    CoveragePlace *place = coverage_place(coverage, PLACE_LOOP, range);
    place->had[iterations > 1 ? LOOP_SEVERAL : iterations > 0 ? LOOP_ONE : LOOP_NONE] = true;
    if (iterations > place->most) place->most = iterations;
}

/// Along each axis: indices at which some element takes part.
static void take_extents(CoveragePlace *place, int rank, const int64_t *dims, const uint8_t *on) {
    enum { WORDS = 256 };  // of indices along an axis; beyond, they share bits
    int64_t inner = 1, count = 1;
    for (int d = 0; d < rank; d++) count *= dims[d];
    place->rank = rank;
    for (int axis = rank - 1; axis >= 0; axis--) {
        uint64_t seen[WORDS] = {0};
        int64_t extent = 0;
        for (int64_t i = 0; i < count; i++) {
            int64_t index = i / inner % dims[axis], word = index / 64 % WORDS;
            uint64_t bit = (uint64_t)1 << (index % 64);
            if (!on[i] || seen[word] & bit) continue;
            seen[word] |= bit;
            extent++;
        }
        place->dims[axis] = dims[axis];
        place->extents[axis] = extent;
        inner *= dims[axis];
    }
}

void coverage_access(Coverage *coverage, const Op *op, int rank, const int64_t *dims,
                     const uint8_t *on) {
    CoveragePlace *place = coverage_place(coverage, PLACE_ACCESS, op->range);
    int64_t count = 1, taken = 0;
    for (int d = 0; d < rank; d++) count *= dims[d];
    for (int64_t i = 0; i < count; i++) taken += on[i] != 0;
    place->is_store = op->code == OP_STORE || op->code == OP_DESCRIPTOR_STORE;
    if (count > place->most) place->most = count;
    place->had[taken == count ? ACCESS_ALL : taken ? ACCESS_SOME : ACCESS_NONE] = true;
    if (taken && taken < count) take_extents(place, rank, dims, on);
}

bool coverage_adds(const Coverage *known, const Coverage *more) {
    for (LIST_EACH(int, i, more->places)) {
        const CoveragePlace *place = more->places.items[i];
        const CoveragePlace *seen = coverage_find(known, place->kind, place->range);
        for (int k = 0; k < PLACE_CASES; k++)
            if (place->had[k] && (!seen || !seen->had[k])) return true;
    }
    return false;
}

void coverage_merge(Coverage *known, const Coverage *more) {
    for (LIST_EACH(int, i, more->places)) {
        const CoveragePlace *place = more->places.items[i];
        CoveragePlace *seen = coverage_place(known, place->kind, place->range);
        for (int k = 0; k < PLACE_CASES; k++) seen->had[k] |= place->had[k];
        if (place->most > seen->most) seen->most = place->most;
        seen->is_store = place->is_store;
        if (!place->rank || seen->rank) continue;
        seen->rank = place->rank;
        memcpy(seen->dims, place->dims, sizeof seen->dims);
        memcpy(seen->extents, place->extents, sizeof seen->extents);
    }
}

// --- thresholds ---

static bool is_scalar_parameter(const Value *value) {
    return value->region && !value->region->parent && !value->constant &&
           value->type.kind == TYPE_NUMBER && value->type.rank == 0;
}

static bool is_number(const Constant *constant) {
    return constant && (constant->kind == CONSTANT_INT || constant->kind == CONSTANT_FLOAT);
}

static bool has_thresholds(OpCode code) {
    return op_has(code, TRAIT_ORDERS) || op_has(code, TRAIT_LIMITS);
}

/// How many operands are numbers to compare: those in front of the options.
static int compared_count(const Op *op) {
    int options = op_parameter_index(op->code, STR("propagate_nan"));
    return options >= 0 && options < op->operand_count ? options : op->operand_count;
}

const Value *threshold_value(const Op *op, int operand) {
    const Value *value = op->operands[operand];
    while (value && value->op && value->op->code == OP_CAST) value = value->op->operands[0];
    return value;
}

int threshold_operand(const Op *op, int which) {
    if (!has_thresholds(op->code)) return -1;
    int count = compared_count(op), found = -1;
    bool is_float = false;
    for (int i = 0; i < count; i++) {
        const Value *value = threshold_value(op, i);
        if (!value) return -1;
        bool is_threshold = is_number(value->constant) || is_scalar_parameter(value);
        is_float = is_float || (!is_threshold && dtype_is_float(op->operands[i]->type.element));
        if (is_threshold && which-- == 0) found = i;
    }
    return is_float ? found : -1;
}

static bool is_equal(double a, double b) { return !(a < b) && !(a > b); }

void thresholds_note(Coverage *coverage, const Op *op, Tile *const *operands, int count,
                     const Tile *result) {
    if (!has_thresholds(op->code) || !result || result->kind != TILE_NUMBER) return;
    bool orders = op_has(op->code, TRAIT_ORDERS);
    const Tile *thresholds[PLACE_CASES - 1];
    int known = 0;
    for (int operand; known < PLACE_CASES - 1; known++) {
        operand = threshold_operand(op, known);
        if (operand < 0 || operand >= count || operands[operand]->kind != TILE_NUMBER) break;
        thresholds[known] = operands[operand];
    }
    if (!known) return;
    CoveragePlace *place = coverage_place(coverage, PLACE_THRESHOLD, op->range);
    for (int64_t i = 0; i < result->count; i++) {
        int which = orders && tile_integer_at(result, i) ? THRESHOLD_BEYOND : THRESHOLD_WITHIN;
        for (int k = 0; !orders && k < known; k++)
            if (is_equal(tile_number_at(result, i), tile_number_at(thresholds[k], 0)))
                which = THRESHOLD_BEYOND + k;
        place->had[which] = true;
    }
}
