// Statements that add to a gradient in; whether programs or iterations share what they touch, each by itself and two of them together, out.
#include "autodiff/sharing/sharing.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/host/launch.h"
#include "analysis/ir/loops.h"
#include "autodiff/addresses/like_store.h"
#include "autodiff/addresses/place.h"
#include "autodiff/addresses/segments.h"
#include "autodiff/addresses/told.h"
#include "autodiff/addresses/told_segments.h"
#include "autodiff/digits/digits.h"
#include "autodiff/digits/lane_digits.h"
#include "autodiff/digits/rotations.h"
#include "autodiff/rewrite/order.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/sharing/flag_cases.h"
#include "autodiff/spans/row_spans.h"

/* ---- one statement ---- */

/// Whether a value comes from memory, by operands alone.
static bool is_made_of_loads(const Value *value, Map *seen) {
    if (!value || !value->op || map_has_pointer(seen, value)) return false;
    if (value->op->code == OP_LOAD) return true;
    map_set_pointer(seen, value, seen);
    for (int i = 0; i < value->op->operand_count; i++)
        if (is_made_of_loads(value->op->operands[i], seen)) return true;
    return false;
}

/// An address of which nothing is known but this.
static const char *unknown_address(Arena *arena, const Op *op, const char *name) {
    Map seen = map_new(arena);
    return arena_printf(
        arena, "the address of `%s` %s, so any two programs may add to the same element", name,
        is_made_of_loads(op->operands[0], &seen) ? "depends on loaded data"
                                                 : "is not linear in the lanes of its tile");
}

static const char *shared_axis(Arena *arena, const Axis *axis, AxisDependence dependence,
                               const char *name) {
    if (!axis->is_program)
        return arena_printf(
            arena, "several iterations of the loop at line %d add to the same elements of `%s`",
            range_line(axis->loop->range), name);
    bool is_all = dependence == AXIS_FREE && axis->digit == AXIS_WHOLE;
    return arena_printf(arena, "%sprograms along grid axis %d %sadd to the same elements of `%s`",
                        is_all ? "all " : "", axis->program_axis, is_all ? "" : "may ", name);
}

/// What is assumed of offsets that programs have the elements between.
static void assume_ascending(Differentiation *state, const Accumulation *statement,
                             const Value *offsets, int axis) {
    for (LIST_EACH(int, i, state->stores.assumptions)) {
        const Assumption *known = &state->stores.assumptions.items[i];
        if (known->offsets && strcmp(known->offsets, offsets->name) == 0 &&
            known->program_axis == axis)
            return;
    }
    const char *text = arena_printf(state->arena,
                                    "the offsets in `%s` do not decrease, so that programs along "
                                    "grid axis %d share no elements of `%s`",
                                    offsets->name, axis, statement->input->name);
    LIST_PUSH(state->arena, &state->stores.assumptions,
              (Assumption){.text = text,
                           .range = statement->range,
                           .offsets = offsets->name,
                           .program_axis = axis});
}

/// Offsets whose neighbours bound what a program touches, or NULL. The Function asks the grid how many it has to check.
/// Under a flag it would have to look at offsets that may be there for nothing.
static Value *offsets_around(Differentiation *state, const SharingView *view, const Access *access,
                             const Axis *axis) {
    const FunctionDefinition *kernel = state->primal->definition;
    if (view->copies || !axis->is_program || axis->digit != AXIS_WHOLE || kernel->is_autotuned ||
        kernel->has_heuristics)
        return NULL;
    return segments_of_programs(state->arena, view->function, view->axes, access,
                                axis->program_axis);
}

/// The store of the forward that tells which program has what, where memory or a flag decides about it. Where an axis of the grid is left
/// out of the address, the store alone says that there is one program along it.
static const Op *find_teller(Differentiation *state, const SharingView *view, Op *op,
                             const AxisDependence *dependence, int count) {
    bool leaves_out = false;
    for (int i = 0; i < count; i++) leaves_out = leaves_out || dependence[i] == AXIS_FREE;
    const Op *rows =
        leaves_out ? NULL : told_by_store(state->arena, view->function, view->upstreams, op, NULL);
    if (rows) return rows;
    LikeStores like = like_stores_find(state->arena, view->function, view->upstreams, op, NULL);
    return like.count ? like.items[0].upstream : NULL;
}

const Op *told_but_for_alike(Differentiation *state, const Accumulation *statement,
                             AlikePrograms *alike) {
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    Op *op = statement->op;
    Access access = places_find(state->versions.places, op)->access;
    *alike = (AlikePrograms){0};
    if (!access.parameter || !access.offset.known || !lanes_are_apart(state->arena, op))
        return NULL;
    int count = access_axes(state->arena, state->versions.axes, &access, axes, dependence,
                            ACCESS_MOST_AXES);
    bool is_open = false, any = false;
    for (int i = 0; i < count; i++) {
        if (!axes[i].is_program) continue;
        int axis = axes[i].program_axis, digit = axes[i].digit;
        bool is_free = dependence[i] == AXIS_FREE;
        is_open = is_open || dependence[i] == AXIS_SCATTERED;
        any = any || is_free;
        if (is_free) *(digit < 0 ? &alike->whole[axis] : &alike->tiles[axis][digit]) = true;
    }
    if (!is_open || !any) return NULL;
    const Map *upstreams = &state->stores.upstreams;
    const Op *rows = told_by_store(state->arena, state->backward, upstreams, op, alike);
    if (rows) return rows;
    LikeStores like = like_stores_find(state->arena, state->backward, upstreams, op, alike);
    return like.count ? like.items[0].upstream : NULL;
}

typedef struct IdUse {
    Arena *arena;
    const Value *id;
    bool is_used;
} IdUse;

static bool visit_id_use(void *context, Op *op) {
    IdUse *use = context;
    bool acts = op->region_count || (op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC));
    for (int i = 0; acts && i < op->operand_count && !use->is_used; i++)
        use->is_used =
            op->operands[i] && value_depends_on_axis(use->arena, op->operands[i], use->id);
    return !use->is_used;
}

bool programs_are_copies(const Differentiation *state, const SharingView *view, const Axis *axis) {
    const Value *id = view->axes->programs[axis->program_axis];
    if (axis->digit == AXIS_WHOLE || view->axes->tiles[axis->program_axis][axis->digit])
        return false;
    IdUse use = {.arena = state->arena, .id = id};
    region_walk(view->function->body, visit_id_use, &use);
    return !use.is_used;
}

/// Rows of segments that tell programs apart along all axes, or NULL.
static const SegmentRows *segments_around(Differentiation *state, const SharingView *view, Op *op,
                                          const Axis *axes, const AxisDependence *dependence,
                                          int count) {
    const FunctionAxes *function = view->axes;
    for (int i = 0; i < count; i++)
        if (axes[i].is_program && dependence[i] == AXIS_FREE &&
            !programs_are_copies(state, view, &axes[i]))
            return NULL;
    SegmentsOfRows segments = segments_of_rows(state->arena, view->function, op);
    for (LIST_EACH(int, s, segments)) {
        bool are_told = segments.items[s].blocks.numbers != NULL;
        for (int i = 0; i < count && are_told; i++) {
            if (!axes[i].is_program || dependence[i] != AXIS_SCATTERED) continue;
            const Value *id = axes[i].digit == AXIS_WHOLE
                                  ? function->programs[axes[i].program_axis]
                                  : function->tiles[axes[i].program_axis][axes[i].digit];
            are_told = id && segments_tell(state->arena, &segments.items[s], id);
        }
        if (are_told) return &segments.items[s];
    }
    return NULL;
}

/// Why programs may share what an address reaches, by its axes, or NULL; `told_by`, `segments` and what is assumed of offsets say why they do
/// not.
static const char *why_programs_meet(Differentiation *state, const SharingView *view,
                                     const Accumulation *statement, Op *op, const Axis *axes,
                                     const AxisDependence *dependence, int count,
                                     const Op **told_by, const SegmentRows **segments) {
    Access access = places_find(view->places, op)->access;
    Value *offsets[ACCESS_MOST_AXES] = {0};
    for (int i = 0; i < count; i++) {
        if (!axes[i].is_program || dependence[i] == AXIS_OWNED) continue;
        if (dependence[i] == AXIS_FREE && programs_are_copies(state, view, &axes[i])) continue;
        offsets[i] = offsets_around(state, view, &access, &axes[i]);
        if (offsets[i]) continue;
        *told_by = find_teller(state, view, op, dependence, count);
        if (!*told_by) *segments = segments_around(state, view, op, axes, dependence, count);
        return *told_by || *segments
                   ? NULL
                   : shared_axis(state->arena, &axes[i], dependence[i], statement->input->name);
    }
    for (int i = 0; i < count; i++)
        if (offsets[i]) assume_ascending(state, statement, offsets[i], axes[i].program_axis);
    return NULL;
}

static bool is_in_loop(const Op *op) {
    for (op = op->parent->parent; op; op = op->parent->parent)
        if (op_is_loop(op->code)) return true;
    return false;
}

/// By a store of the forward that has the same tile of addresses. Its lanes have elements of their own, or that is assumed of them.
static GradientSharing sharing_like_store(Differentiation *state, const SharingView *view,
                                          const Accumulation *statement, Op *op) {
    LikeStores like = like_stores_find(state->arena, view->function, view->upstreams, op, NULL);
    const char *why = unknown_address(state->arena, op, statement->input->name);
    if (!like.count) return (GradientSharing){.why = why};
    const bool is_once = !is_in_loop(op);
    return (GradientSharing){.is_private = is_once,
                             .is_of_program = true,
                             .why = is_once ? NULL : why,
                             .told_by = {like.items[0].upstream}};
}

/// By the address as a sum over axes, in the function that the view has.
static GradientSharing affine_sharing(Differentiation *state, const SharingView *view,
                                      const Accumulation *statement, Op *op) {
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    Access access = places_find(view->places, op)->access;
    const char *name = statement->input->name;
    if (!access.parameter) return (GradientSharing){.why = unknown_address(state->arena, op, name)};
    if (!access.offset.known) return sharing_like_store(state, view, statement, op);
    if (!lanes_are_apart(state->arena, op))
        return (GradientSharing){
            .why = arena_printf(state->arena,
                                "several lanes of one tile may add to the same element of `%s`",
                                name)};
    int count = access_axes(state->arena, view->axes, &access, axes, dependence, ACCESS_MOST_AXES);
    GradientSharing sharing = {.is_private = true, .is_of_program = true};
    sharing.why = why_programs_meet(state, view, statement, op, axes, dependence, count,
                                    &sharing.told_by[0], &sharing.segments[0]);
    if (sharing.why) return (GradientSharing){.why = sharing.why};
    for (int i = 0; i < count; i++) {
        if (axes[i].is_program || dependence[i] == AXIS_OWNED) continue;
        sharing.is_private = false;
        // Windows that overlap may reach into another program's, too.
        sharing.is_of_program = sharing.is_of_program && dependence[i] == AXIS_FREE;
        if (!sharing.why) sharing.why = shared_axis(state->arena, &axes[i], dependence[i], name);
    }
    return sharing;
}

/// Whether somebody knows that rows end where the digits of lanes do, of a bound that the kernel takes for a number of its own: without a
/// launch in the file the Function looks at all steps at each call (programs/steps.h).
static bool rows_are_looked_at(const Differentiation *state, const LaneDigits *apart) {
    const Function *primal = state->primal;
    bool any = false;
    for (int i = 0; i < TYPE_MAX_RANK; i++) any = any || apart->ends[i];
    return !any || !host_launches(state->arena, primal->definition, primal).count;
}

/// Whether no two lanes, programs or iterations meet where the digits of a lane are lanes of their own.
static bool lane_digits_are_private(Differentiation *state, const SharingView *view, Op *op) {
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    const LaneDigits apart = access_by_lane_digits(state->arena, op);
    const Access access = apart.access;
    if (!access.offset.known || !rows_are_looked_at(state, &apart) ||
        !offset_lanes_are_apart(state->arena, access.op->operands[0]->type, &access))
        return false;
    int count = access_axes(state->arena, view->axes, &access, axes, dependence, ACCESS_MOST_AXES);
    for (int i = 0; i < count; i++)
        if (dependence[i] != AXIS_OWNED && !lane_digits_count(&apart, &axes[i])) return false;
    return true;
}

static GradientSharing sharing_in(Differentiation *state, const SharingView *view,
                                  const Accumulation *statement, Op *op) {
    GradientSharing sharing = affine_sharing(state, view, statement, op);
    if (!sharing.is_private)
        sharing.is_private = digits_are_private(state->arena, view->axes, op) ||
                             lane_digits_are_private(state, view, op);
    if (sharing.is_private) return sharing;
    Op *straight = access_straightened(state->arena, op).access;
    if (!straight) straight = access_unshifted(state->arena, op, NULL);
    if (!straight) return sharing;
    GradientSharing plain = affine_sharing(state, view, statement, straight);
    bool is_private = (plain.is_private && !plain.told_by[0] && !plain.segments[0]) ||
                      digits_are_private(state->arena, view->axes, straight);
    return is_private ? (GradientSharing){.is_private = true} : sharing;
}

/* ---- by the flags of a launch ---- */

static SharingView whole_view(Differentiation *state) {
    return (SharingView){.function = state->backward,
                         .axes = state->versions.axes,
                         .places = state->versions.places,
                         .upstreams = &state->stores.upstreams};
}

const FlagCases *sharing_cases(Differentiation *state) {
    if (!state->stores.cases) {
        SharingView view = whole_view(state);
        state->stores.cases = flag_cases_new(state->arena, &view);
    }
    return state->stores.cases;
}

/// Whether an operation is there, in one of the sides that were taken.
static bool is_in(const Function *function, const Op *op) {
    const Region *region = op->parent;
    while (region && region->parent) region = region->parent->parent;
    return region == function->body;
}

static const Op *original(const SharingView *view, const Op *op) {
    return op && view->originals ? map_get_pointer(view->originals, op) : op;
}

/// What holds of it whatever the flags are, and by which stores that is told in each case. Nothing, where no flag decides.
static GradientSharing sharing_in_cases(Differentiation *state, const Accumulation *statement) {
    const FlagCases *cases = sharing_cases(state);
    bool any = cases->count > 0;
    GradientSharing all = {.is_by_flags = true, .is_private = any, .is_of_program = any};
    for (int i = 0; i < cases->count && all.is_of_program; i++) {
        const SharingView *view = &cases->items[i];
        Op *op = map_get_pointer(view->copies, statement->op);
        if (!op) return (GradientSharing){0};
        if (!is_in(view->function, op)) continue;
        GradientSharing own = sharing_in(state, view, statement, op);
        all.is_private = all.is_private && own.is_private;
        all.is_of_program = own.is_of_program;
        all.told_by[i] = original(view, own.told_by[0]);
        all.segments[i] = own.segments[0];
        if (!own.is_private) all.why = own.why;
    }
    return all;
}

/// What was found for a statement when its address was looked at.
typedef struct KnownSharing {
    const Value *pointer;
    GradientSharing sharing;
} KnownSharing;

GradientSharing statement_sharing(Differentiation *state, const Accumulation *statement) {
    KnownSharing *known = map_get_pointer(&state->stores.told, statement->op);
    if (known && known->pointer == statement->op->operands[0]) return known->sharing;
    SharingView view = whole_view(state);
    GradientSharing sharing = sharing_in(state, &view, statement, statement->op);
    if (!sharing.is_private) {
        GradientSharing by_flags = sharing_in_cases(state, statement);
        if (by_flags.is_private || (by_flags.is_of_program && !sharing.is_of_program))
            sharing = by_flags;
    }
    known = ARENA_NEW(state->arena, KnownSharing);
    *known = (KnownSharing){statement->op->operands[0], sharing};
    map_set_pointer(&state->stores.told, statement->op, known);
    return sharing;
}

bool sharing_is_told(const GradientSharing *sharing) {
    for (int i = 0; i < 1 << FLAGS_MOST; i++)
        if (sharing->told_by[i] || sharing->segments[i]) return true;
    return false;
}

void assume_told_by(Differentiation *state, const Accumulation *statement, const Op *upstream) {
    const Op *store = map_get_pointer(&state->stores.upstreams, upstream);
    const char *output = parameter_of_root(state, pointer_root(store->operands[0]))->name;
    const char *what = map_has_pointer(&state->stores.owners, store) ? "different values to" : "to";
    const char *text = arena_printf(state->arena,
                                    "no two programs store %s one element of `%s`, so that they "
                                    "share no elements of `%s`",
                                    what, output, statement->input->name);
    for (LIST_EACH(int, i, state->stores.assumptions))
        if (strcmp(state->stores.assumptions.items[i].text, text) == 0) return;
    Assumption assumption = {.text = text, .range = store->range, .of = output};
    row_spans_describe(state, store, &assumption);
    LIST_PUSH(state->arena, &state->stores.assumptions, assumption);
}

static void assume_once(Differentiation *state, Assumption assumption) {
    for (LIST_EACH(int, i, state->stores.assumptions))
        if (strcmp(state->stores.assumptions.items[i].text, assumption.text) == 0) return;
    LIST_PUSH(state->arena, &state->stores.assumptions, assumption);
}

void assume_segments(Differentiation *state, const Accumulation *statement,
                     const SegmentRows *segments) {
    const char *input = statement->input->name;
    const BlockList *blocks = &segments->blocks;
    Assumption assumption = {.range = statement->range, .program_axis = AXIS_WHOLE};
    if (segments->offsets) {
        assumption.offsets = segments->offsets->name;
        assumption.text = arena_printf(
            state->arena,
            "the offsets in `%s` do not decrease, so that programs share no elements of `%s`",
            assumption.offsets, input);
        assume_once(state, assumption);
    }
    if (!blocks->numbers) return;
    if (segments->block) {
        const Assumption room = {
            .text = arena_printf(state->arena,
                                 "the parts of a block of %s rows lie in it, so that programs "
                                 "share no elements of `%s`",
                                 poly_print(state->arena, segments->block), input),
            .range = statement->range,
            .program_axis = AXIS_WHOLE};
        assume_once(state, room);
    }
    assumption.offsets = blocks->numbers->name;
    assumption.blocks = arena_printf(state->arena, "%lld, %lld, %lld", (long long)blocks->step,
                                     (long long)blocks->sequence, (long long)blocks->block);
    assumption.text = arena_printf(
        state->arena,
        "no two programs read one pair of numbers from `%s`, so that they share no elements of `%s`",
        assumption.offsets, input);
    assume_once(state, assumption);
}

/// What is assumed where only a mask that is not understood (a length in memory) ends a row before the next one begins.
static void assume_ended(Differentiation *state, const Accumulation *statement) {
    const char *name = statement->input->name;
    const RowEnds *ends = map_get_pointer(&state->stores.ends_unknown, statement->input);
    if (!ends) return;
    const char *text = arena_printf(state->arena,
                                    "masks end each row of `%s` before the next one begins, so "
                                    "that programs share no elements of it",
                                    name);
    for (LIST_EACH(int, i, state->stores.assumptions))
        if (strcmp(state->stores.assumptions.items[i].text, text) == 0) return;
    LIST_PUSH(state->arena, &state->stores.assumptions,
              (Assumption){.text = text,
                           .range = statement->range,
                           .program_axis = ends->program_axis,
                           .lengths = ends->lengths,
                           .step = ends->step,
                           .of = name});
}

void assume_told(Differentiation *state, const Accumulation *statement) {
    GradientSharing sharing = statement_sharing(state, statement);
    for (int i = 0; i < 1 << FLAGS_MOST; i++)
        if (sharing.told_by[i]) assume_told_by(state, statement, sharing.told_by[i]);
    for (int i = 0; i < 1 << FLAGS_MOST; i++)
        if (sharing.segments[i]) assume_segments(state, statement, sharing.segments[i]);
    if (sharing.is_by_flags || !sharing_is_told(&sharing)) assume_ended(state, statement);
}

/* ---- two statements ---- */

/// The loop around the operation that counts as another one does, or NULL.
static Op *loop_alike(const Op *loop, const Op *op) {
    for (Op *outer = op->parent->parent; outer; outer = outer->parent->parent)
        if (outer->code == loop->code && outer->operands[0] == loop->operands[0] &&
            outer->operands[1] == loop->operands[1] && outer->operands[2] == loop->operands[2])
            return outer;
    return NULL;
}

/// Whether each lane of the one steps as a lane of the other, in whatever order.
static bool lanes_are_alike(const Affine *a, const Affine *b) {
    bool taken[TYPE_MAX_RANK] = {false};
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++) {
        int k = 0;
        while (k < b->rank && (taken[k] || !poly_equal(a->lane[i], b->lane[k]))) k++;
        if (k == b->rank) return false;
        taken[k] = true;
    }
    return true;
}

/// Whether two statements are at the same places but for the loops that they are in, each for itself. `by_program`: in whatever iterations;
/// else all those of the one are in front of those of the other.
static bool loops_are_alike(Differentiation *state, Op *a, Op *b, bool by_program) {
    Access one = access_of(state->arena, a), other = access_of(state->arena, b);
    Op *in_a, *in_b;
    ops_common_level(a, b, &in_a, &in_b);
    if (!in_a || one.parameter != other.parameter || !one.offset.known || !other.offset.known)
        return false;
    for (const Op *outer = in_a->parent->parent; outer && !by_program;
         outer = outer->parent->parent)
        if (op_is_loop(outer->code)) return false;
    const Poly *base = other.offset.base;
    for (Op *loop = b->parent->parent; loop; loop = loop->parent->parent) {
        if (loop->code == OP_IF) continue;
        const Op *like = loop->code == OP_FOR ? loop_alike(loop, a) : NULL;
        if (!like) return false;
        Value *variable = like->regions[0]->arguments[0];
        base = poly_substitute(state->arena, base, loop->regions[0]->arguments[0],
                               poly_atom(state->arena, variable));
        if (!base) return false;
    }
    return poly_equal(one.offset.base, base) && lanes_are_alike(&one.offset, &other.offset);
}

/// Whether the one store of the forward that tells what each has tells it of both, so that they meet in one program alone.
static bool are_told_by_one(Differentiation *state, const Op *told_a, const Op *told_b, Op *a,
                            Op *b) {
    return told_a && told_a == told_b &&
           (places_are_equal(state->arena, a, b) || loops_are_alike(state, a, b, false));
}

/// The stores that tell which rows an operation has, looked for once: each of them is held against all others of its gradient.
typedef struct KnownTellings {
    const Value *pointer;
    const Tellings *tellings;
} KnownTellings;

static const Tellings *tellings_of(Differentiation *state, const Function *function,
                                   const Map *upstreams, Op *op) {
    KnownTellings *known = map_get_pointer(&state->stores.tellings, op);
    if (known && known->pointer == op->operands[0]) return known->tellings;
    known = ARENA_NEW(state->arena, KnownTellings);
    *known = (KnownTellings){op->operands[0], tellings_find(state->arena, function, upstreams, op)};
    map_set_pointer(&state->stores.tellings, op, known);
    return known->tellings;
}

/// The one store that tells the rows of both, in a function with the upstream gradients of its stores; NULL: none.
static const Op *store_of_both(Differentiation *state, const Function *function,
                               const Map *upstreams, Op *a, Op *b) {
    return told_together_by_store(tellings_of(state, function, upstreams, a),
                                  tellings_of(state, function, upstreams, b));
}

bool are_told_together(Differentiation *state, const Accumulation *a, const Accumulation *b) {
    GradientSharing one = statement_sharing(state, a), other = statement_sharing(state, b);
    if (one.is_by_flags || other.is_by_flags) return false;
    return are_told_by_one(state, one.told_by[0], other.told_by[0], a->op, b->op) ||
           store_of_both(state, state->backward, &state->stores.upstreams, a->op, b->op);
}

/// What takes the upstream gradient of a store to a tensor that both are like; or NULL. By iterations, where there are none.
static const Op *stored_like_both(Differentiation *state, const SharingView *view, Op *a, Op *b,
                                  bool by_program) {
    if (!by_program && (is_in_loop(a) || is_in_loop(b))) return NULL;
    LikeStores one = like_stores_find(state->arena, view->function, view->upstreams, a, NULL);
    LikeStores other = like_stores_find(state->arena, view->function, view->upstreams, b, NULL);
    const LikeStore *like = like_stores_of_both(&one, &other);
    return like ? original(view, like->upstream) : NULL;
}

/// Two statements that are looked at together.
typedef struct Two {
    const Accumulation *a, *b;
    bool by_program;
    const Op *told_by;  // what takes the upstream gradient of a store that the answer rests on
} Two;

/// Whether segments tell of both which program has what, and all iterations of the one are in front of those of the other, unless `by_program`.
static bool are_in_segments(Differentiation *state, Op *a, Op *b, const SegmentRows *one,
                            const SegmentRows *other, bool by_program) {
    Op *in_a, *in_b;
    if (!one || !other || !segments_tell_together(state->arena, one, a, other, b)) return false;
    ops_common_level(a, b, &in_a, &in_b);
    return in_a && (by_program || !is_in_loop(in_a));
}

/// As the view has them, with the stores and segments that tell what each has, those of case `i`.
static Pair pair_in(Differentiation *state, const SharingView *view, Two *two, Op *a, Op *b,
                    const GradientSharing *one, const GradientSharing *other, int i) {
    const int of_a = one->is_by_flags ? i : 0, of_b = other->is_by_flags ? i : 0;
    const Op *told_a = one->told_by[of_a], *told_b = other->told_by[of_b];
    const SegmentRows *segments_a = one->segments[of_a], *segments_b = other->segments[of_b];
    if (digits_are_apart(state->arena, view->axes, a, b)) return PAIR_APART;
    if (!told_a && !told_b && !segments_a && !segments_b &&
        (places_are_apart_by_strides(state->arena, view->axes, a, b) ||
         places_are_iterations(state->arena, view->axes, a, b)))
        return PAIR_APART;
    bool is_same = two->by_program && loops_are_alike(state, a, b, true);
    bool is_owned =
        segments_a || segments_b
            ? are_in_segments(state, a, b, segments_a, segments_b, two->by_program)
        : told_a || told_b
            ? are_told_by_one(state, told_a, told_b, a, b)
            : is_same || places_are_owned_together(state->arena, view->axes, a, b, false);
    const Op *like = is_owned ? NULL : stored_like_both(state, view, a, b, two->by_program);
    if (!is_owned && !like && two->by_program && told_a && told_b)
        like = original(view, store_of_both(state, view->function, view->upstreams, a, b));
    if (!is_owned && !like) return PAIR_SHARED;
    if (like) two->told_by = like;
    bool apart = ops_are_exclusive(a, b) || places_are_apart(state->arena, a, b) ||
                 lane_digits_are_apart(state->arena, a, b);
    return apart ? PAIR_APART : PAIR_ORDERED;
}

static Pair pair_in_cases(Differentiation *state, Two *two) {
    const FlagCases *cases = sharing_cases(state);
    GradientSharing one = statement_sharing(state, two->a);
    GradientSharing other = statement_sharing(state, two->b);
    Pair all = cases->count ? PAIR_APART : PAIR_SHARED;
    for (int i = 0; i < cases->count && all != PAIR_SHARED; i++) {
        const SharingView *view = &cases->items[i];
        Op *left = map_get_pointer(view->copies, two->a->op);
        Op *right = map_get_pointer(view->copies, two->b->op);
        if (!left || !right) return PAIR_SHARED;
        if (!is_in(view->function, left) || !is_in(view->function, right)) continue;
        Pair own = pair_in(state, view, two, left, right, &one, &other, i);
        if (own != PAIR_APART) all = own;
    }
    return all;
}

Pair pair_of(Differentiation *state, const Accumulation *a, const Accumulation *b, bool by_program,
             const Op **told_by) {
    Two two = {a, b, by_program, NULL};
    *told_by = NULL;
    if (ops_are_of_different_launches(a->op, b->op)) return PAIR_APART;
    GradientSharing one = statement_sharing(state, a), other = statement_sharing(state, b);
    Pair pair = PAIR_SHARED;
    if (!one.is_by_flags && !other.is_by_flags) {
        SharingView view = whole_view(state);
        pair = pair_in(state, &view, &two, a->op, b->op, &one, &other, 0);
    }
    if (pair == PAIR_SHARED) pair = pair_in_cases(state, &two);
    *told_by = two.told_by;
    return pair;
}
