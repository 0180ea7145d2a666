// A statement that programs share in; for each value of the flags that choose its place, which ids and loops its address moves with, out.
#include "autodiff/sharing/shared_axes.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "autodiff/addresses/like_store.h"
#include "autodiff/addresses/limits.h"
#include "autodiff/addresses/place.h"
#include "autodiff/addresses/told.h"
#include "autodiff/addresses/told_segments.h"
#include "autodiff/sharing/flag_cases.h"
#include "autodiff/sharing/sharing.h"

static bool ends_rows(Arena *arena, Op *op) {
    return address_needs_no_strides(arena, op) || lanes_are_bounded(arena, op);
}

bool statement_ends_rows(Arena *arena, const SharedStatement *shared) {
    return ends_rows(arena, shared->statement.op) ||
           (shared->by_flags && shared->by_flags->ends_rows && !shared->is_one_of_several);
}

/* ---- what is assumed ---- */

void shared_axes_assume(Differentiation *state, const SharedStatement *shared) {
    for (int flags = 0; shared->by_flags && flags < 1 << FLAGS_MOST; flags++) {
        const Op *told_by = shared->by_flags->told_by[flags];
        const SegmentRows *segments = shared->by_flags->segments[flags];
        if (told_by) assume_told_by(state, &shared->statement, told_by);
        if (segments) assume_segments(state, &shared->statement, segments);
    }
}

/* ---- one value of the flags ---- */

/// Ids, and digits of these (the last place is the id itself), that nothing reads under some value.
typedef struct CopiedAxes {
    bool axes[PROGRAM_AXES][1 + TILE_MOST_DIGITS];
} CopiedAxes;

/// What is known of the statement under one value.
typedef struct FlagCase {
    Differentiation *state;
    const SharingView *view;
    Op *op;  // the statement
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    int count;
    FlagAxes *all;
    CopiedAxes *copied;
} FlagCase;

/// Adds what an id, or one of its digits, does. The whole of an id is each digit that the kernel takes of it.
static void add_program(FlagCase *one, int axis, int digit, bool is_free) {
    const int digits = one->state->versions.axes->digits[axis];
    bool *all = is_free ? one->all->is_free[axis] : one->all->is_owned[axis];
    if (digit != AXIS_WHOLE || !digits) all[digit == AXIS_WHOLE ? TILE_MOST_DIGITS : digit] = true;
    for (int i = 0; digit == AXIS_WHOLE && i < digits; i++) all[i] = true;
}

/// Adds a digit that the address is not made of. Where nothing else reads it, and programs along it have elements of their own under
/// another value, it counts as theirs: those that do the same under this one sum the same.
static void add_free(FlagCase *one, const Axis *axis) {
    bool is_copied = one->view->copies && programs_are_copies(one->state, one->view, axis);
    if (is_copied)
        one->copied->axes[axis->program_axis][axis->digit] = true;
    else
        add_program(one, axis->program_axis, axis->digit, true);
}

static void add_copied(const CopiedAxes *copied, FlagAxes *all) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        for (int i = 0; i <= TILE_MOST_DIGITS; i++)
            all->is_free[axis][i] |= copied->axes[axis][i] && !all->is_owned[axis][i];
}

/// Ids, and digits of these, that nothing reads under this value: programs along them do the same.
static void add_unread(FlagCase *one) {
    const FunctionAxes *axes = one->state->versions.axes;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        int known = 0;
        for (int i = 0; i < one->count; i++) {
            if (!one->axes[i].is_program || one->axes[i].program_axis != axis) continue;
            int digit = one->axes[i].digit;
            known = digit == AXIS_WHOLE ? TILE_MOST_DIGITS : known > digit + 1 ? known : digit + 1;
        }
        if (axes->programs[axis] && !known) add_program(one, axis, AXIS_WHOLE, true);
        for (int digit = known; known && digit < axes->digits[axis]; digit++) {
            const Axis unread = {.is_program = true, .program_axis = axis, .digit = digit};
            add_free(one, &unread);
        }
    }
}

static const Op *original(const SharingView *view, const Op *op) {
    return view->originals ? map_get_pointer(view->originals, op) : op;
}

/// A store of the forward that tells programs apart that differ by more than `alike`; or NULL.
static const Op *find_teller(const FlagCase *one, const AlikePrograms *alike) {
    const SharingView *view = one->view;
    Arena *arena = one->state->arena;
    const Op *rows = told_by_store(arena, view->function, view->upstreams, one->op, alike);
    if (rows) return original(view, rows);
    LikeStores like = like_stores_find(arena, view->function, view->upstreams, one->op, alike);
    return like.count ? original(view, like.items[0].upstream) : NULL;
}

/// Whether programs that differ by an id of which nothing else is known have rows of other segments, or other elements of their rows.
static bool are_in_segments(FlagCase *one, int index) {
    const SharingView *view = one->view;
    Arena *arena = one->state->arena;
    SegmentsOfRows segments = segments_of_rows(arena, view->function, one->op);
    for (LIST_EACH(int, s, segments)) {
        bool are_told = true;
        for (int i = 0; i < one->count && are_told; i++) {
            const Axis *axis = &one->axes[i];
            if (!axis->is_program || one->dependence[i] != AXIS_SCATTERED) continue;
            const Value *id = axis->digit == AXIS_WHOLE
                                  ? view->axes->programs[axis->program_axis]
                                  : view->axes->tiles[axis->program_axis][axis->digit];
            are_told = id && segments_tell(arena, &segments.items[s], id);
        }
        if (!are_told) continue;
        one->all->segments[index] = &segments.items[s];
        return true;
    }
    return false;
}

/// What ids do. False where nobody knows it of one.
static bool add_programs(FlagCase *one, int index) {
    AlikePrograms alike = {0};
    bool is_open = false;
    for (int i = 0; i < one->count; i++) {
        int axis = one->axes[i].program_axis, digit = one->axes[i].digit;
        if (!one->axes[i].is_program) continue;
        is_open = is_open || one->dependence[i] == AXIS_SCATTERED;
        if (one->dependence[i] == AXIS_FREE)
            *(digit < 0 ? &alike.whole[axis] : &alike.tiles[axis][digit]) = true;
        if (one->dependence[i] == AXIS_FREE)
            add_free(one, &one->axes[i]);
        else
            add_program(one, axis, digit, false);
    }
    add_unread(one);
    if (!is_open) return true;
    // Without flags the stores were asked already (told_but_for_alike).
    if (one->view->copies) one->all->told_by[index] = find_teller(one, &alike);
    return one->all->told_by[index] || are_in_segments(one, index);
}

/// What the loops around the statement do, the innermost first. False where there are too many.
static bool add_loops(FlagCase *one) {
    int depth = 0;
    for (const Op *outer = one->op->parent->parent; outer; outer = outer->parent->parent) {
        if (!op_is_loop(outer->code)) continue;
        if (depth == LOOPS_MOST_NESTED) return false;
        AxisDependence on = AXIS_SCATTERED;
        for (int i = 0; i < one->count; i++)
            if (!one->axes[i].is_program && one->axes[i].loop == outer) on = one->dependence[i];
        one->all->loop_is_free[depth] |= on == AXIS_FREE;
        one->all->loop_is_owned[depth] |= on == AXIS_OWNED;
        one->all->loop_is_open[depth] |= on == AXIS_SCATTERED;
        depth++;
    }
    return true;
}

static bool add_case(FlagCase *one, int index) {
    Arena *arena = one->state->arena;
    Access access = places_find(one->view->places, one->op)->access;
    if (!access.parameter || !access.offset.known || one->view->has_copies ||
        !lanes_are_apart(arena, one->op))
        return false;
    one->count =
        access_axes(arena, one->view->axes, &access, one->axes, one->dependence, ACCESS_MOST_AXES);
    one->all->ends_rows = one->all->ends_rows && ends_rows(arena, one->op);
    return add_programs(one, index) && add_loops(one);
}

/* ---- all of them ---- */

static bool is_in(const Function *function, const Op *op) {
    const Region *region = op->parent;
    while (region && region->parent) region = region->parent->parent;
    return region == function->body;
}

/// Adds what the view shows. False where that is not enough.
static bool add_view(Differentiation *state, const SharingView *view, Op *op, int index,
                     FlagAxes *all, CopiedAxes *copied) {
    FlagCase one = {.state = state, .view = view, .op = op, .all = all, .copied = copied};
    return add_case(&one, index);
}

const FlagAxes *shared_axes_by_flags(Differentiation *state, const Accumulation *statement) {
    const FlagCases *cases = sharing_cases(state);
    FlagAxes *all = ARENA_NEW(state->arena, FlagAxes);
    CopiedAxes copied = {0};
    *all = (FlagAxes){.ends_rows = true};
    bool any = false;
    if (!cases->count) {
        const SharingView view = {.function = state->backward,
                                  .axes = state->versions.axes,
                                  .places = state->versions.places,
                                  .upstreams = &state->stores.upstreams};
        return add_view(state, &view, statement->op, 0, all, &copied) ? all : NULL;
    }
    for (int i = 0; i < cases->count; i++) {
        const SharingView *view = &cases->items[i];
        Op *op = map_get_pointer(view->copies, statement->op);
        if (!op) return NULL;
        if (!is_in(view->function, op)) continue;
        if (!add_view(state, view, op, i, all, &copied)) return NULL;
        any = true;
    }
    add_copied(&copied, all);
    return any ? all : NULL;
}
