// From a store's address and mask, whatever they are made of, to Python that says each lane's element: `@0`, `@1` are programs, and the
// numbers behind these the lanes of each axis of the tile.
#include "autodiff/spans/lane_elements.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/offset_sum.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/spans/span_text.h"

enum { MOST_PARTS = 96, DEEPEST = 24, MOST_LOADS = 64 };  // of a text that a person reads

typedef struct LaneElements {
    SpanText text;
    const Op *store;
    int parts;
    bool has_root;
} LaneElements;

/* ---- what lanes that meet store ---- */

typedef struct StoredAlike {
    const Differentiation *state;
    OffsetSum place;  // of the store
    Map seen;
    int steps;
} StoredAlike;

/// Whether a value is the same wherever the place is: made of what is loaded there, and of what all lanes and programs have.
static bool is_of_place(StoredAlike *alike, const Value *value) {
    if (!value || value->constant || map_has_pointer(&alike->seen, value)) return true;
    map_set_pointer(&alike->seen, value, alike);
    const Op *op = value->op;
    if (!op) return value->region && !value->region->parent;
    if (op->region_count || alike->steps++ >= MOST_LOADS) return false;
    if (op->code == OP_LOAD) {
        Arena *arena = alike->state->arena;
        const OffsetSum read = offset_sum_of(arena, op->operands[0]);
        const Poly *distance = offset_sum_distance(arena, &read, &alike->place);
        return distance && poly_is_fixed(arena, distance);
    }
    if (op->code == OP_PROGRAM_ID || op->code == OP_ARANGE || !op_is_elementwise(op)) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!is_of_place(alike, op->operands[i])) return false;
    return true;
}

static bool lanes_store_the_same(const Differentiation *state, const Op *store) {
    StoredAlike alike = {.state = state,
                         .place = offset_sum_of(state->arena, store->operands[0]),
                         .seen = map_new(state->arena)};
    return is_of_place(&alike, store->operands[1]);
}

/* ---- as Python ---- */

static const char *tile_text(LaneElements *search, Value *value, const int *axes, int depth);

static const char *side_text(LaneElements *search, const Value *value, int side, const int *axes,
                             int depth) {
    Value *operand = value->op->operands[side];
    return tile_text(search, operand, axes + value->type.rank - operand->type.rank, depth + 1);
}

static const char *both_text(LaneElements *search, const Value *value, const char *format,
                             const int *axes, int depth) {
    const char *a = side_text(search, value, 0, axes, depth);
    const char *b = a ? side_text(search, value, 1, axes, depth) : NULL;
    if (!b) return NULL;
    if (value->type.kind == TYPE_POINTER && strcmp(a, "0") == 0) return b;  // behind its root
    Buffer out = buffer_new(search->text.arena);
    for (const char *at = format; *at; at++) {
        if (*at == 'A' || *at == 'B')
            buffer_puts(&out, *at == 'A' ? a : b);
        else
            buffer_add(&out, at, 1);
    }
    return buffer_text(&out);
}

static const char *expanded_text(LaneElements *search, const Value *value, const int *axes,
                                 int depth) {
    int inner[TYPE_MAX_RANK] = {0}, rank = value->type.rank;
    int64_t axis;
    if (!value_is_int(value->op->operands[1], &axis)) return NULL;
    if (axis < 0) axis += rank;
    for (int i = 0, count = 0; i < rank; i++)
        if (i != axis) inner[count++] = axes[i];
    return tile_text(search, value->op->operands[0], inner, depth + 1);
}

/// The number that counts the lanes of an axis, from 0 on.
static const char *lanes_text(LaneElements *search, const Value *value, const int *axes) {
    int64_t first;
    if (!value_is_int(value->op->operands[0], &first)) return NULL;
    const char *lane = arena_printf(search->text.arena, "@%d", search->text.driver_count + axes[0]);
    return first ? arena_printf(search->text.arena, "(%lld + %s)", (long long)first, lane) : lane;
}

/// What lanes read of memory that nobody writes to, under no other mask than the store's.
static const char *read_text(LaneElements *search, const Value *value, const int *axes, int depth) {
    Op *op = value->op;
    const Value *mask = access_mask(op);
    const Value *root = pointer_root(op->operands[0]);
    if (!root || (mask && mask != access_mask(search->store)) ||
        !op_is_stable_load(search->text.state->primal, op) ||
        !dtype_is_integer(value->type.element))
        return NULL;
    const bool had_root = search->has_root;
    search->has_root = false;
    const char *place = tile_text(search, op->operands[0], axes, depth + 1);
    search->has_root = had_root;
    if (!place) return NULL;
    const char *name = parameter_of_root(search->text.state, root)->name;
    if (!search->text.reads) search->text.reads = name;
    return arena_printf(search->text.arena, "_element(%s, %s)", name, place);
}

static const char *tile_text(LaneElements *search, Value *value, const int *axes, int depth) {
    const Op *op = value->op;
    const bool is_pointer = value->type.kind == TYPE_POINTER;
    if (depth > DEEPEST || ++search->parts > MOST_PARTS) return NULL;
    if (is_pointer && !op) {
        const bool is_first = !search->has_root;
        search->has_root = true;
        return is_first ? "0" : NULL;
    }
    if (!is_pointer && value->type.rank == 0) {
        if (value->type.element.code == DTYPE_INT1) {
            const StoreCondition condition = {.value = value, .is_first = true};
            return span_condition_text(&search->text, &condition);
        }
        return span_number_text(&search->text, value);
    }
    if (!op || op->region_count ||
        (!is_pointer && value_may_wrap(value) && value->type.element.code != DTYPE_INT1))
        return NULL;
    switch (op->code) {
    case OP_ARANGE: return lanes_text(search, value, axes);
    case OP_BROADCAST_TO: return side_text(search, value, 0, axes, depth);
    case OP_EXPAND_DIMS: return expanded_text(search, value, axes, depth);
    case OP_ADD: return both_text(search, value, "(A + B)", axes, depth);
    case OP_SUB: return both_text(search, value, "(A - B)", axes, depth);
    case OP_MUL: return both_text(search, value, "(A * B)", axes, depth);
    case OP_FLOORDIV: return both_text(search, value, "(A // B)", axes, depth);
    case OP_MOD: return both_text(search, value, "(A % B)", axes, depth);
    case OP_AND: return both_text(search, value, "(A & B)", axes, depth);
    case OP_OR: return both_text(search, value, "(A | B)", axes, depth);
    case OP_XOR: return both_text(search, value, "(A ^ B)", axes, depth);
    case OP_MINIMUM: return both_text(search, value, "_smaller(A, B)", axes, depth);
    case OP_MAXIMUM: return both_text(search, value, "_larger(A, B)", axes, depth);
    case OP_LT: return both_text(search, value, "(A < B)", axes, depth);
    case OP_LE: return both_text(search, value, "(A <= B)", axes, depth);
    case OP_GT: return both_text(search, value, "(A > B)", axes, depth);
    case OP_GE: return both_text(search, value, "(A >= B)", axes, depth);
    case OP_EQ: return both_text(search, value, "(A == B)", axes, depth);
    case OP_NE: return both_text(search, value, "(A != B)", axes, depth);
    case OP_CAST: return op_keeps_numbers(op) ? side_text(search, value, 0, axes, depth) : NULL;
    case OP_LOAD: return read_text(search, value, axes, depth);
    default: return NULL;
    }
}

/* ---- the whole store ---- */

/// What has to hold around the store; false where it is not understood, or where iterations store one after the other.
static bool say_surroundings(LaneElements *search, Buffer *holds, Buffer *flags) {
    for (const Region *region = search->store->parent; region && region->parent;
         region = region->parent->parent) {
        const Op *around = region->parent;
        if (around->code != OP_IF) return false;
        Value *condition = around->operands[0];
        const StoreCondition asked = {.value = condition,
                                      .is_first = region == around->regions[0],
                                      .is_flag = condition->type.is_constexpr};
        const char *text = span_condition_text(&search->text, &asked);
        Buffer *out = asked.is_flag ? flags : holds;
        if (!text) return false;
        buffer_printf(out, "%s%s", !out->size ? "" : asked.is_flag ? " and " : " & ", text);
    }
    return true;
}

static const char *counts_text(LaneElements *search) {
    const char *programs = span_counts_text(&search->text);
    const Type tile = search->store->operands[0]->type;
    if (!programs) return NULL;
    Buffer out = buffer_new(search->text.arena);
    if (search->text.driver_count)
        buffer_printf(&out, "%.*s", (int)strlen(programs) - 1, programs);
    else
        buffer_puts(&out, "[");
    for (int i = 0; i < tile.rank; i++) {
        const char *lanes = tile.dims[i] ? span_poly_text(&search->text, tile.dims[i]) : NULL;
        if (!lanes) return NULL;
        buffer_printf(&out, "%s%s", out.size > 1 ? ", " : "", lanes);
    }
    buffer_puts(&out, "]");
    return buffer_text(&out);
}

void lane_elements_describe(Differentiation *state, const Op *store, Assumption *assumption) {
    Arena *arena = state->arena;
    LaneElements search = {.text = {.arena = arena, .state = state}, .store = store};
    Value *mask = access_mask(store), *pointer = store->operands[0];
    int axes[TYPE_MAX_RANK];
    const int rank = pointer->type.rank;
    for (int i = 0; i < TYPE_MAX_RANK; i++) axes[i] = i;
    if (pointer->type.kind != TYPE_POINTER || (mask && mask->type.rank > rank) ||
        lanes_store_the_same(state, store))
        return;
    span_note(&search.text, &search.text.uses, pointer);
    if (mask) span_note(&search.text, &search.text.uses, mask);
    for (const Region *region = store->parent; region && region->parent;
         region = region->parent->parent)
        if (region->parent->code == OP_IF && !region->parent->operands[0]->type.is_constexpr)
            span_note(&search.text, &search.text.uses, region->parent->operands[0]);
    if (!span_settle(&search.text) && (search.text.uses.is_open || !rank)) return;
    Buffer holds = buffer_new(arena), flags = buffer_new(arena);
    const char *element = tile_text(&search, pointer, axes, 0);
    const char *masked =
        element && mask ? tile_text(&search, mask, axes + rank - mask->type.rank, 0) : "True";
    if (!element || !masked || !say_surroundings(&search, &holds, &flags)) return;
    const char *counts = counts_text(&search);
    if (!counts) return;
    assumption->spans = arena_printf(arena, "(%s, %s%s%s)", element, masked,
                                     holds.size ? " & " : "", buffer_text(&holds));
    assumption->span_flags = flags.size ? buffer_text(&flags) : NULL;
    assumption->span_counts = counts;
    assumption->span_axes = search.text.driver_count;
    assumption->span_lanes = rank;
    assumption->span_reads = search.text.reads ? search.text.reads : "_where_to_compare()";
}
