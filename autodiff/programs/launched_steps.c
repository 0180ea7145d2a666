// From a store and the launches of its kernel to the ranges of elements whose sums the Function has to look at.
//
// What raises an error has to be certain: of a range whose length nobody can say, or of iterations that store one after the other,
// nothing is asked.
#include "autodiff/programs/launched_steps.h"

#include <string.h>

#include "analysis/host/launch.h"
#include "autodiff/addresses/place.h"
#include "autodiff/extents/access_flags.h"
#include "autodiff/extents/element_ranges.h"
#include "autodiff/extents/launch_polys.h"
#include "autodiff/extents/nested_ranges.h"

/// Quotients of quotients are known one after the other.
enum { MOST_ROUNDS = 4 };

/// What one store touches at most.
typedef struct StoreRanges {
    const Function *primal;
    const StoredSearch *coverage;
    int stored;  // the parameter that it stores to, or -1
    const char *name, *guard;
    ElementRanges ranges;
    bool is_cut;  // without ranges of whose length nothing is known
} StoreRanges;

/// A range that is empty stores nothing, so that nothing of it has to be kept apart: lengths are at least 1.
static void note_lengths(LaunchPolys *polys, const ElementRanges *ranges) {
    bool is_news = true;
    for (int round = 0; round < MOST_ROUNDS && is_news; round++) {
        is_news = false;
        for (int i = 0; i < ranges->count; i++)
            for (int k = 0; k < 2; k++)
                is_news |= launch_note_positive(polys, ranges->ranges[i].most[k]);
    }
}

/// Whether the sizes that a launch passes keep the sums of the ranges apart.
static bool launch_keeps_apart(Arena *arena, const HostLaunch *launch, const StoreRanges *store) {
    const ElementRanges *ranges = &store->ranges;
    LaunchPolys polys =
        launch_polys_of(arena, launch, store->primal, store->stored, store->coverage->extents);
    note_lengths(&polys, ranges);
    ElementRanges launched = *ranges;
    for (int i = 0; i < ranges->count; i++) {
        RangeText *range = &launched.ranges[i];
        range->by = launch_poly(&polys, range->by);
        for (int k = 0; k < 2; k++)
            range->most[k] = range->most[k] ? launch_poly(&polys, range->most[k]) : NULL;
        if (!range->by) return false;
    }
    return ranges_are_nested(arena, &launched);
}

static bool all_keep_apart(const StoreRanges *store) {
    Arena *scratch = arena_new_scratch();
    const Function *primal = store->primal;
    HostLaunches launches = host_launches_by_flags(scratch, primal->definition, primal);
    bool all = launches.count > 0;
    for (int i = 0; i < launches.count && all; i++)
        all = launch_keeps_apart(scratch, launches.items[i], store);
    arena_free(scratch);
    return all;
}

/// The number of a parameter in launches; -1: it is none of theirs.
static int place_of(const Function *function, const char *name) {
    for (int p = 0; p < function->parameter_count; p++)
        if (strcmp(function->parameters[p].name, name) == 0) return p;
    return -1;
}

bool launches_keep_apart(const Differentiation *state, const StoredSearch *coverage,
                         const char *parameter, const ElementRanges *ranges) {
    const StoreRanges own = {.primal = state->primal,
                             .coverage = coverage,
                             .stored = place_of(state->primal, parameter),
                             .ranges = *ranges};
    return all_keep_apart(&own);
}

/// Leaves out ranges of whose length nothing is known; whether there are any.
static bool drop_endless(ElementRanges *ranges) {
    int left = 0;
    for (int i = 0; i < ranges->count; i++)
        if (ranges->ranges[i].step && ranges->ranges[i].length)
            ranges->ranges[left++] = ranges->ranges[i];
    bool any = left < ranges->count;
    ranges->count = left;
    return any;
}

static StepCheck check_of(Differentiation *state, const StoreRanges *store) {
    Arena *arena = state->arena;
    const ElementRanges *ranges = &store->ranges;
    StepCheck check = {.of = store->name,
                       .ranges = ARENA_ARRAY(arena, const char *, ranges->count + 1),
                       .bounds = ARENA_ARRAY(arena, const char *, ranges->count + 1),
                       .guard = store->guard,
                       .is_of_stores = true};
    for (int i = 0; i < ranges->count; i++) {
        const RangeText *range = &ranges->ranges[i];
        const char *bound = range->most[0] ? poly_text(store->coverage, range->most[0]) : NULL;
        check.bounds[check.range_count] =
            bound ? arena_printf(arena, "(%s, %s)", range->step, bound) : NULL;
        check.ranges[check.range_count++] =
            arena_printf(arena, "(%s, %s)", range->step, range->length);
    }
    return check;
}

/// Whether the same is asked already.
static bool is_known(const Differentiation *state, const StepCheck *check) {
    for (LIST_EACH(int, i, state->stores.steps))
        if (step_checks_are_equal(&state->stores.steps.items[i], check)) return true;
    return false;
}

/// False where the places of a store are not understood, or something else decides whether it is made. `is_in_order`: of iterations that
/// store one after the other, one.
static bool find_ranges(Differentiation *state, Op *store, bool is_in_order, StoreRanges *own) {
    Function *primal = state->primal;
    const Value *root = pointer_root(store->operands[0]);
    *own = (StoreRanges){0};
    if (!root || !host_launches(state->arena, primal->definition, primal).count) return false;
    StoredSearch *coverage = stored_search_new(state->arena, primal, NULL);
    coverage->is_most = coverage->is_launched = coverage->ends_all = true;
    coverage->has_one_iteration = is_in_order;
    *own = (StoreRanges){.primal = primal,
                         .coverage = coverage,
                         .name = parameter_of_root(state, root)->name,
                         .guard = access_flags(state->arena, primal, store)};
    own->stored = place_of(primal, own->name);
    if (!own->guard) return false;
    own->is_cut = !element_ranges_at_most(coverage, store, &own->ranges) || coverage->is_rough;
    if (own->is_cut) return false;
    own->is_cut = drop_endless(&own->ranges);
    return true;
}

static bool is_a_length(const ElementRanges *ranges, const Value *number) {
    for (int i = 0; i < ranges->count; i++)
        for (int k = 0; k < 2; k++)
            if (ranges->ranges[i].most[k] && poly_mentions(ranges->ranges[i].most[k], number))
                return true;
    return false;
}

/// Whether the kernel's own numbers keep the ranges apart, and each that a range steps by ends one: no caller passes 0 for it.
static bool keep_apart_by_lengths(Arena *arena, const ElementRanges *ranges) {
    for (int i = 0; i < ranges->count; i++) {
        const Poly *by = ranges->ranges[i].by;
        for (int t = 0; t < by->count; t++)
            for (int a = 0; a < by->terms[t].atom_count; a++)
                if (!is_a_length(ranges, by->terms[t].atoms[a])) return false;
    }
    return ranges_are_nested(arena, ranges);
}

static void add_check(Differentiation *state, StepCheck check) {
    if (!is_known(state, &check)) LIST_PUSH(state->arena, &state->stores.steps, check);
}

static bool compare_others(Arena *arena, StoreRanges *own, StoreRanges *other, int *programs);

/// Of a store whose iterations come one after the other: that no other program stores in any of its iterations to an element of this one's.
/// False where nobody knows.
static bool note_iterations(Differentiation *state, Op *store, const StoreRanges *once) {
    StoreRanges own, other;
    int programs = 0;
    if (!find_ranges(state, store, false, &own) || own.is_cut) return !own.is_cut;
    if (own.ranges.count == once->ranges.count || all_keep_apart(&own)) return true;
    other = own;
    if (!compare_others(state->arena, &own, &other, &programs) || !programs) return false;
    StepCheck check = check_of(state, &own), *more = ARENA_NEW(state->arena, StepCheck);
    check.programs = programs;
    check.distance = "0";
    *more = check;
    check.other = more;
    add_check(state, check);
    return true;
}

bool launched_steps_note(Differentiation *state, Op *store) {
    StoreRanges own;
    bool is_in_order = map_has_pointer(&state->buffers.running, pointer_root(store->operands[0]));
    bool is_known_place = find_ranges(state, store, is_in_order, &own);
    bool is_settled = !own.is_cut;
    if (is_known_place && is_in_order) is_settled &= note_iterations(state, store, &own);
    if (is_known_place && own.ranges.count && !keep_apart_by_lengths(state->arena, &own.ranges) &&
        !all_keep_apart(&own))
        add_check(state, check_of(state, &own));
    return is_settled;
}

/* ---- two stores ---- */

static int range_by(const ElementRanges *ranges, const Poly *by) {
    for (int i = 0; i < ranges->count; i++)
        if (poly_equal(ranges->ranges[i].by, by)) return i;
    return -1;
}

/// The further range that two stores make which are a distance apart, or, with `longer`, a range that is longer by as many steps as the
/// distance is; false where the distance is none of steps.
static bool stretch(Arena *arena, ElementRanges *ranges, const Poly *distance, bool longer) {
    const Poly *two = poly_constant(arena, 2);
    if (distance->terms[0].coefficient < 0)
        distance = poly_subtract(arena, poly_constant(arena, 0), distance);
    for (int i = 0; longer && i < ranges->count; i++) {
        RangeText *range = &ranges->ranges[i];
        // one of several programs is no longer one that programs keep apart by
        if (range->is_of_programs || range->is_of_both) continue;
        const Poly *steps = poly_divide_exact(arena, distance, range->by);
        if (!steps) continue;
        for (int k = 0; k < 2; k++)
            range->most[k] = range->most[k] ? poly_add(arena, range->most[k], steps) : NULL;
        return true;
    }
    if (longer || ranges->count == STORED_MOST_DIGITS) return false;
    ranges->ranges[ranges->count++] = (RangeText){.by = distance, .most = {two, two}};
    return true;
}

/// What both stores touch together at most, in ranges of the one that has the other's; false where neither has.
static bool join(Arena *arena, const StoreRanges *first, const StoreRanges *second,
                 const Poly *distance, bool longer, StoreRanges *joined) {
    bool is_first = first->ranges.count >= second->ranges.count;
    *joined = is_first ? *first : *second;
    const StoreRanges *less = is_first ? second : first;
    for (int i = 0; i < less->ranges.count; i++) {
        const RangeText *range = &less->ranges.ranges[i];
        int at = range_by(&joined->ranges, range->by);
        if (at < 0 || strcmp(joined->ranges.ranges[at].length, range->length) != 0) return false;
    }
    for (int t = 0; t < distance->count; t++) {
        Poly *term = ARENA_NEW(arena, Poly);
        *term = (Poly){1, &distance->terms[t]};
        if (!stretch(arena, &joined->ranges, term, longer)) return false;
    }
    return true;
}

/// Puts the ranges of programs first, and counts them.
static int programs_first(ElementRanges *ranges) {
    int count = 0;
    for (int i = 0; i < ranges->count; i++) {
        RangeText range = ranges->ranges[i];
        if (!range.is_of_programs) continue;
        for (int k = i; k > count; k--) ranges->ranges[k] = ranges->ranges[k - 1];
        ranges->ranges[count++] = range;
    }
    return count;
}

/// Lanes of all programs are one range: what meets in it is of several of them, if there are several.
static bool count_none_of_one(Arena *arena, ElementRanges *ranges) {
    bool found = false;
    for (int i = 0; i < ranges->count; i++) {
        RangeText *range = &ranges->ranges[i];
        if (!range->is_of_both) continue;
        range->length = arena_printf(arena, "(%s) * (grid.0 * grid.1 * grid.2 > 1)", range->length);
        found = true;
    }
    return found;
}

/// Of two stores of a program that come one after the other: has only those of other programs compared. False where it is not known
/// which these are.
static bool compare_others(Arena *arena, StoreRanges *own, StoreRanges *other, int *programs) {
    ElementRanges *first = &own->ranges, *second = &other->ranges;
    if (first->moves_else || second->moves_else) return false;
    bool is_mixed = count_none_of_one(arena, first);
    if (count_none_of_one(arena, second) || is_mixed) return true;
    *programs = programs_first(first);
    if (programs_first(second) != *programs || !*programs) return false;
    for (int i = 0; i < *programs; i++)
        if (strcmp(first->ranges[i].step, second->ranges[i].step) != 0 ||
            strcmp(first->ranges[i].length, second->ranges[i].length) != 0)
            return false;
    return true;
}

void launched_pair_note(Differentiation *state, Op *first, Op *second) {
    Arena *arena = state->arena;
    StoreRanges own, other, joined;
    bool is_in_order = map_has_pointer(&state->buffers.running, pointer_root(first->operands[0]));
    if (!find_ranges(state, first, false, &own) || !find_ranges(state, second, false, &other) ||
        strcmp(own.guard, other.guard) != 0)
        return;
    const Poly *distance = poly_subtract(arena, other.ranges.base, own.ranges.base);
    if (!distance || poly_is_zero(distance) || !own.ranges.count || !other.ranges.count) return;
    const char *text = poly_text(own.coverage, distance);
    if (!text) return;
    for (int longer = 0; longer < 2; longer++)
        if (join(arena, &own, &other, distance, longer, &joined) && all_keep_apart(&joined)) return;
    int programs = 0;
    if (is_in_order && !compare_others(arena, &own, &other, &programs)) return;
    StepCheck check = check_of(state, &own), *more = ARENA_NEW(arena, StepCheck);
    *more = check_of(state, &other);
    check.programs = more->programs = programs;
    check.distance = text;
    check.other = more;
    add_check(state, check);
}
