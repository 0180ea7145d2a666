// A store at an index from memory in; the tensor of these indices, and which elements of it the launch reads, out.
#include "autodiff/programs/distinct.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/build/infer.h"
#include "analysis/ir/loops.h"
#include "autodiff/addresses/place.h"
#include "autodiff/extents/element_ranges.h"
#include "autodiff/programs/program_ranges.h"
#include "autodiff/rewrite/rewrite.h"

/// What a number differs by from lane to lane, program to program and iteration to iteration, apart from what it loads.
typedef struct Movers {
    Arena *arena;
    const Op *skipped;  // a load that is not looked into; NULL: none
    Map seen;
    LIST(const Op *) lanes;  // tl.arange
    LIST(const Value *) carried;
    bool programs[PROGRAM_AXES];
    LIST(const Op *) loads;
    bool is_open;  // something else, too
} Movers;

static void add_movers_of(Movers *movers, const Value *value) {
    if (!value || value->constant || map_has_pointer(&movers->seen, value)) return;
    map_set_pointer(&movers->seen, value, movers);
    const Op *op = value->op;
    int64_t axis;
    if (!op) {
        if (value->region && value->region->parent)
            LIST_PUSH(movers->arena, &movers->carried, value);
        return;
    }
    if (op == movers->skipped) return;
    if (op->code == OP_PROGRAM_ID) {
        bool is_known = value_is_int(op->operands[0], &axis) && axis >= 0 && axis < PROGRAM_AXES;
        if (is_known) movers->programs[axis] = true;
        movers->is_open = movers->is_open || !is_known;
        return;
    }
    if (op->code == OP_ARANGE) LIST_PUSH(movers->arena, &movers->lanes, op);
    if (op->code == OP_LOAD) LIST_PUSH(movers->arena, &movers->loads, op);
    if (op->code == OP_LOAD) return;
    movers->is_open = movers->is_open || op->region_count || op_rows[op->code].effects;
    for (int i = 0; i < op->operand_count; i++) add_movers_of(movers, op->operands[i]);
}

static Movers movers_of(Arena *arena, const Value *value, const Op *skipped) {
    Movers movers = {.arena = arena, .skipped = skipped, .seen = map_new(arena)};
    add_movers_of(&movers, value);
    return movers;
}

/// Rows of lanes with the same bounds count as one.
static bool are_same_lanes(const Op *a, const Op *b) {
    for (int i = 0; i < a->operand_count && i < b->operand_count; i++)
        if (a->operands[i] != b->operands[i]) return false;
    return true;
}

/// Whether something moves both, or may.
static bool have_common(const Movers *a, const Movers *b) {
    if (a->is_open || b->is_open) return true;
    for (int i = 0; i < PROGRAM_AXES; i++)
        if (a->programs[i] && b->programs[i]) return true;
    for (LIST_EACH(int, i, a->lanes))
        for (LIST_EACH(int, k, b->lanes))
            if (are_same_lanes(a->lanes.items[i], b->lanes.items[k])) return true;
    for (LIST_EACH(int, i, a->carried))
        for (LIST_EACH(int, k, b->carried))
            if (a->carried.items[i] == b->carried.items[k]) return true;
    return false;
}

/// A condition, without what only brings it to the shape of a tile.
static const Value *without_layout(const Value *value) {
    while (value && value->op && op_has(value->op->code, TRAIT_LAYOUT))
        value = value->op->operands[0];
    return value;
}

typedef struct IndexedStore {
    Arena *arena;
    const Op *index;        // the load
    Movers movers;          // of its address
    const Value *own_mask;  // of the load
} IndexedStore;

/// `index >= 0`, `index != -1`: indices that leave elements out are below 0.
static bool leaves_out_negatives(const IndexedStore *store, const Op *compared) {
    int64_t bound;
    if (!op_has(compared->code, TRAIT_COMPARES) || !value_is_int(compared->operands[1], &bound) ||
        bound < -1 || bound > 0)
        return false;
    if (bound == 0 && compared->code != OP_GE && compared->code != OP_LT) return false;
    const Value *value = without_layout(compared->operands[0]);
    while (value && value->op && op_keeps_numbers(value->op))
        value = without_layout(value->op->operands[0]);
    return value && value->op == store->index;
}

/// Whether the condition leaves out no index of those that the launch reads, or only such below 0.
static bool leaves_none_out(const IndexedStore *store, const Value *condition, int depth) {
    condition = without_layout(condition);
    if (!condition || value_is_none(condition) || condition == without_layout(store->own_mask))
        return true;
    const Op *op = condition->op;
    if (depth > 8) return false;
    if (op && op->code == OP_AND)
        return leaves_none_out(store, op->operands[0], depth + 1) &&
               leaves_none_out(store, op->operands[1], depth + 1);
    if (op && leaves_out_negatives(store, op)) return true;
    const Op *own = store->own_mask ? without_layout(store->own_mask)->op : NULL;
    if (own && own->code == OP_AND)
        for (int i = 0; i < 2; i++)
            if (without_layout(own->operands[i]) == condition) return true;
    Movers movers = movers_of(store->arena, condition, NULL);
    return !movers.loads.count && !have_common(&movers, &store->movers);
}

/// Whether the store is made for all indices that are read.
static bool is_made_for_all(const IndexedStore *store, const Op *op) {
    const Value *mask = access_mask(op);
    if (mask && !leaves_none_out(store, mask, 0)) return false;
    for (const Op *around = op->parent->parent; around; around = around->parent->parent) {
        if (op_is_within(store->index, around)) continue;
        bool is_loop = around->code == OP_FOR || around->code == OP_STATIC_FOR;
        bool is_branch = around->code == OP_IF;
        if (!is_branch && !is_loop) return false;
        if (is_branch && !leaves_none_out(store, around->operands[0], 0)) return false;
        for (int i = 0; is_loop && i < 3; i++) {
            Movers bound = movers_of(store->arena, around->operands[i], NULL);
            if (bound.loads.count || have_common(&bound, &store->movers)) return false;
        }
    }
    return true;
}

/// The elements that the launch reads of the tensor of indices, as a list in Python; NULL: nobody knows, or the store is not made for
/// all of them. `rest` moves the place besides.
static const char *ranges_of(Differentiation *state, const Op *store, const IndexedStore *indexed,
                             const Movers *rest, ElementRanges *read) {
    Arena *arena = state->arena;
    const Op *index = indexed->index;
    StoredSearch *search = stored_search_new(arena, state->primal, NULL);
    Access access = access_of(arena, (Op *)(uintptr_t)index);
    int64_t first = 0;
    if (indexed->movers.loads.count || have_common(&indexed->movers, rest) ||
        !op_is_stable_load(state->primal, index) || !access.parameter ||
        !is_made_for_all(indexed, store) || !element_ranges(search, (Op *)(uintptr_t)index, read) ||
        read->flags || !poly_is_constant(read->base, &first) || !read->count)
        return NULL;
    Buffer text = buffer_new(arena);
    for (int i = 0; i < read->count; i++) {
        const RangeText *range = &read->ranges[i];
        if (!range->step || !range->length) return NULL;
        buffer_printf(&text, "%s(%s, %s)", i ? ", " : "[", range->step, range->length);
    }
    if (first) buffer_printf(&text, ", (%lld, None)", (long long)first);
    buffer_puts(&text, "]");
    return buffer_text(&text);
}

static IndexedStore indexed_by(Arena *arena, const Op *index) {
    return (IndexedStore){.arena = arena,
                          .index = index,
                          .movers = movers_of(arena, index->operands[0], NULL),
                          .own_mask = access_mask(index)};
}

static const char *name_of_indices(Differentiation *state, const Op *index) {
    return parameter_of_root(state, access_of(state->arena, (Op *)(uintptr_t)index).parameter)
        ->name;
}

/// Whether both indices are read in one order, so that those of one place in the lists go together.
static bool go_together(const ElementRanges *a, const ElementRanges *b) {
    return a->count == 1 && b->count == 1 && strcmp(a->ranges[0].length, b->ranges[0].length) == 0;
}

/// `y[i, j]`: pairs that are read by the same lanes and programs differ as pairs. Else each index is to differ by itself.
static void describe_two(Differentiation *state, const Op *store, const Movers *all,
                         Assumption *assumption) {
    Arena *arena = state->arena;
    IndexedStore first = indexed_by(arena, all->loads.items[0]);
    IndexedStore second = indexed_by(arena, all->loads.items[1]);
    Movers rest = movers_of(arena, store->operands[0], NULL);
    ElementRanges read[2];
    bool are_pairs = have_common(&first.movers, &second.movers);
    const char *ranges = ranges_of(state, store, &first, &rest, &read[0]);
    const char *others = ranges_of(state, store, &second, &rest, &read[1]);
    if (!ranges || !others || (are_pairs && !go_together(&read[0], &read[1]))) return;
    assumption->indices = name_of_indices(state, first.index);
    assumption->ranges = ranges;
    assumption->second_indices = name_of_indices(state, second.index);
    assumption->second_ranges = others;
    assumption->are_pairs = are_pairs;
}

/// `y[i, j, k]`: what the same lanes and programs read differs together.
static void describe_several(Differentiation *state, const Op *store, const Movers *all,
                             Assumption *assumption) {
    Arena *arena = state->arena;
    int count = all->loads.count;
    const char **texts = ARENA_ARRAY(arena, const char *, 2 * count);
    ElementRanges first_read, read;
    IndexedStore first = indexed_by(arena, all->loads.items[0]);
    Movers rest = movers_of(arena, store->operands[0], NULL);
    for (int i = 0; i < count; i++) {
        IndexedStore indexed = indexed_by(arena, all->loads.items[i]);
        texts[2 * i + 1] = ranges_of(state, store, &indexed, &rest, i == 0 ? &first_read : &read);
        if (!texts[2 * i + 1]) return;
        if (i > 0 &&
            (!have_common(&first.movers, &indexed.movers) || !go_together(&first_read, &read)))
            return;
        texts[2 * i] = name_of_indices(state, indexed.index);
    }
    assumption->indices = texts[0];
    assumption->ranges = texts[1];
    assumption->second_indices = texts[2];
    assumption->second_ranges = texts[3];
    assumption->are_pairs = true;
    assumption->more = texts + 4;
    assumption->more_count = count - 2;
}

void distinct_describe(Differentiation *state, const Op *store, Assumption *assumption) {
    Arena *arena = state->arena;
    Movers all = movers_of(arena, store->operands[0], NULL);
    if (all.is_open) return;
    if (all.loads.count == 2) describe_two(state, store, &all, assumption);
    if (all.loads.count > 2) describe_several(state, store, &all, assumption);
    if (all.loads.count != 1) return;
    IndexedStore indexed = indexed_by(arena, all.loads.items[0]);
    Movers rest = movers_of(arena, store->operands[0], indexed.index);
    ElementRanges read;
    const char *ranges = ranges_of(state, store, &indexed, &rest, &read);
    if (!ranges) return;
    assumption->indices = name_of_indices(state, indexed.index);
    assumption->ranges = ranges;
}
