// For each tensor of a kernel: the ranges of elements whose sums must differ, as Python for the Function.
#include "autodiff/programs/steps.h"

#include <string.h>

#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/host/launch.h"
#include "analysis/ir/type.h"
#include "analysis/launches/launch_chosen.h"
#include "autodiff/addresses/place.h"
#include "autodiff/digits/digits.h"
#include "autodiff/digits/lane_digits.h"
#include "autodiff/extents/access_flags.h"
#include "autodiff/extents/element_ranges.h"
#include "autodiff/extents/nested_ranges.h"
#include "autodiff/programs/launched_steps.h"
#include "autodiff/programs/row_ends.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/tape/tape_size.h"

/// What the accesses to one tensor touch, together.
typedef struct TensorSteps {
    Value *parameter;
    ElementRanges ranges;
    const char
        *more[STORED_MOST_DIGITS];  // what accesses side by side add to a range's length, or NULL
    int64_t least[STORED_MOST_DIGITS],
        most[STORED_MOST_DIGITS];  // and by how many steps, in numbers
    const char *guard;             // what has to be for any of the accesses; NULL: nothing
    LIST(Op *) accesses;
    bool is_open;   // nobody can say what they touch at most
    bool is_rough;  // something may leave elements out of these
} TensorSteps;

typedef struct TensorSearch {
    Differentiation *state;
    Arena *arena;
    StoredSearch *coverage;
    LIST(TensorSteps *) tensors;
    Map checked;  // numbers that the check of an output holds: rows of it lie that far apart
} TensorSearch;

/* ---- accesses side by side ---- */

static int range_by(const ElementRanges *ranges, const Poly *by) {
    for (int i = 0; i < ranges->count; i++)
        if (poly_equal(ranges->ranges[i].by, by)) return i;
    return -1;
}

/// Whether a distance is as many rows of some range as a number of the caller's says: the second half of `2 * C` rows.
static bool is_of_rows(const ElementRanges *ranges, Arena *arena, const Poly *distance) {
    int64_t number;
    for (int i = 0; i < ranges->count; i++)
        if (!poly_is_constant(ranges->ranges[i].by, &number) &&
            poly_divide_exact(arena, distance, ranges->ranges[i].by))
            return true;
    return false;
}

/// A range of one element, for accesses that lie such a distance apart. -1: there is no room, or nobody can say how far that is.
static int add_steps_range(TensorSearch *search, TensorSteps *tensor, const Poly *by) {
    ElementRanges *ranges = &tensor->ranges;
    const char *step = factor_text(search->coverage, by);
    if (ranges->count == STORED_MOST_DIGITS || !step) return -1;
    const Poly *one = poly_constant(search->arena, 1);
    ranges->ranges[ranges->count] =
        (RangeText){.step = step, .length = "1", .by = by, .most = {one, one}};
    return ranges->count++;
}

/// The range that a distance is so many steps of: the coarsest that goes into it, one of a single element where there is none.
static int range_stepped(TensorSearch *search, TensorSteps *tensor, const Poly *distance,
                         const Poly **steps) {
    Arena *arena = search->arena;
    ElementRanges *ranges = &tensor->ranges;
    int64_t number;
    for (int is_whole = 1; is_whole >= 0; is_whole--) {
        for (int i = 0; i < ranges->count; i++) {
            bool is_number = poly_is_constant(ranges->ranges[i].by, &number);
            *steps = poly_divide_exact(arena, distance, ranges->ranges[i].by);
            if (*steps && (is_whole ? !is_number && poly_is_constant(*steps, &number) : is_number))
                return i;
        }
        if (!is_whole || !is_of_rows(ranges, arena, distance)) continue;
        *steps = poly_constant(arena, distance->terms[0].coefficient);
        return add_steps_range(search, tensor, poly_divide_exact(arena, distance, *steps));
    }
    const Poly *one = poly_constant(arena, 1);
    *steps = distance;
    return range_by(ranges, one) < 0 ? add_steps_range(search, tensor, one) : -1;
}

static bool add_distance(TensorSearch *search, TensorSteps *tensor, const Poly *distance) {
    Arena *arena = search->arena;
    for (int t = 0; t < distance->count; t++) {
        Poly term = {1, &distance->terms[t]};
        const Poly *steps;
        int64_t number;
        int at = range_stepped(search, tensor, &term, &steps);
        if (at < 0) return false;
        if (poly_is_constant(steps, &number)) {
            if (number < tensor->least[at]) tensor->least[at] = number;
            if (number > tensor->most[at]) tensor->most[at] = number;
            continue;
        }
        if (distance->terms[t].coefficient < 0)
            steps = poly_multiply(arena, steps, poly_constant(arena, -1));
        const char *text = factor_text(search->coverage, steps), *known = tensor->more[at];
        if (!text) return false;
        if (known && strstr(known, text)) continue;
        tensor->more[at] = known ? arena_printf(arena, "%s + %s", known, text) : text;
    }
    return true;
}

/// A length where the flags are so; elsewhere there is nothing. Flags "" are none.
static const char *length_under(Arena *arena, const char *length, const char *flags) {
    return *flags ? arena_printf(arena, "(%s if %s else 0)", length, flags) : length;
}

/// The ranges of one more access, whose steps have to be among the others', or the others' among them. `flags`: under which the others
/// are, and under which this one is; where they are the same, nothing is made of them.
static bool join_ranges(TensorSearch *search, TensorSteps *tensor, const ElementRanges *more,
                        const char *const flags[2]) {
    const bool is_alike = strcmp(flags[0], flags[1]) == 0;
    ElementRanges *all = &tensor->ranges;
    for (int i = 0; i < more->count; i++) {
        const RangeText *range = &more->ranges[i];
        int at = range_by(all, range->by);
        if (at < 0) return false;
        RangeText *known = &all->ranges[at];
        bool is_same = known->length && range->length && strcmp(known->length, range->length) == 0;
        if (is_same) continue;
        const char *lengths[] = {known->length, range->length};
        for (int side = 0; side < 2 && !is_alike; side++)
            if (lengths[side])
                lengths[side] = length_under(search->arena, lengths[side], flags[side]);
        known->length = lengths[0] && lengths[1]
                            ? arena_printf(search->arena, "max(%s, %s)", lengths[0], lengths[1])
                            : NULL;
        known->most[0] = known->most[1] = NULL;
    }
    return add_distance(search, tensor, poly_subtract(search->arena, more->base, all->base));
}

/// False where distances were counted in the ranges that go.
static bool swap_ranges(TensorSteps *tensor, ElementRanges *other) {
    for (int i = 0; i < tensor->ranges.count; i++)
        if (tensor->more[i] || tensor->least[i] || tensor->most[i]) return false;
    ElementRanges ranges = tensor->ranges;
    tensor->ranges = *other;
    *other = ranges;
    return true;
}

/* ---- accesses ---- */

static TensorSteps *tensor_of(TensorSearch *search, Value *parameter) {
    for (LIST_EACH(int, i, search->tensors))
        if (search->tensors.items[i]->parameter == parameter) return search->tensors.items[i];
    TensorSteps *tensor = ARENA_NEW(search->arena, TensorSteps);
    *tensor = (TensorSteps){.parameter = parameter};
    LIST_PUSH(search->arena, &search->tensors, tensor);
    return tensor;
}

/// The digits of one number, as far as the mask leaves them, as ranges.
static bool digit_ranges(TensorSearch *search, Op *op, ElementRanges *ranges) {
    Arena *arena = search->arena;
    const DigitsByMask digits = digits_by_mask(arena, op);
    ranges->count = 0;
    ranges->base = digits.base;
    if (digits.count < 0 || digits.loop_count) return false;
    for (int i = 0; i < digits.count; i++) {
        const DigitStep *own = &digits.steps[i];
        const char *step = poly_text(search->coverage, own->weight);
        const Poly *count = own->end ? own->end : own->extent;
        if (!step) return false;
        if (own->first) {
            count = count ? poly_subtract(arena, count, own->first) : NULL;
            ranges->base =
                poly_add(arena, ranges->base, poly_multiply(arena, own->weight, own->first));
        }
        ranges->ranges[ranges->count++] =
            (RangeText){.step = step,
                        .length = count ? poly_text(search->coverage, count) : NULL,
                        .by = own->weight,
                        .most = {count, count}};
    }
    return true;
}

/// Ends that are known of one access count where all the others have the same.
static void note_open_end(TensorSearch *search, const Parameter *parameter, Op *op) {
    RowEnds *ends = ARENA_NEW(search->arena, RowEnds);
    const RowEnds *known = map_get_pointer(&search->state->stores.ends_unknown, parameter);
    *ends = row_ends_of(search->state, search->coverage, op);
    bool is_same =
        !known ||
        (known->lengths && ends->lengths && strcmp(known->lengths, ends->lengths) == 0 &&
         strcmp(known->step, ends->step) == 0 && known->program_axis == ends->program_axis);
    if (!is_same) *ends = (RowEnds){0};
    map_set_pointer(&search->state->stores.ends_unknown, parameter, ends);
}

/// The access, or the one with lanes taken apart, where it is linear in the lanes of that. Digits of one number are another form.
static Access linear_access(const TensorSearch *search, Op *op) {
    Access access = access_of(search->arena, op);
    if (access.offset.known || digits_steps(search->arena, op, NULL, 0, NULL) >= 0) return access;
    return access_by_lane_digits(search->arena, op).access;
}

static void note_access(TensorSearch *search, Op *op) {
    Access access = access_of(search->arena, op);
    if (!access.parameter) return;
    ElementRanges ranges;
    const char *guard = access_flags(search->arena, search->state->primal, op);
    bool is_known = false, is_linear = linear_access(search, op).offset.known;
    if (is_linear)
        is_known = element_ranges_at_most(search->coverage, op, &ranges);
    else if (digits_steps(search->arena, op, NULL, 0, NULL) < 0)
        return;  // places of which nothing is taken for granted
    else
        is_known = digit_ranges(search, op, &ranges);
    if (!is_known && access.offset.known && open_lanes_may_meet(search->coverage, op))
        note_open_end(search, parameter_of_root(search->state, access.parameter), op);
    TensorSteps *tensor = tensor_of(search, access.parameter);
    tensor->is_rough = tensor->is_rough || !is_linear || search->coverage->is_rough;
    LIST_PUSH(search->arena, &tensor->accesses, op);
    if (!guard || !is_known) tensor->is_open = true;
    if (tensor->is_open) return;
    if (tensor->accesses.count == 1) {
        tensor->guard = guard;
        tensor->ranges = ranges;
        return;
    }
    const char *flags[] = {tensor->guard, guard};
    bool is_more = ranges.count > tensor->ranges.count;
    if (is_more && !swap_ranges(tensor, &ranges)) tensor->is_open = true;
    if (is_more) flags[0] = guard, flags[1] = tensor->guard;
    if (strcmp(guard, tensor->guard) != 0) tensor->guard = "";
    if (!tensor->is_open) tensor->is_open = !join_ranges(search, tensor, &ranges, flags);
}

static bool visit_access(void *context, Op *op) {
    if (op_is_access(op)) note_access(context, op);
    return true;
}

/* ---- what is checked, and what is not ---- */

static const char *length_text(const TensorSearch *search, const TensorSteps *tensor, int at) {
    const char *length = tensor->ranges.ranges[at].length;
    if (!length) return "None";
    int64_t steps = tensor->most[at] - tensor->least[at];
    if (tensor->more[at]) length = arena_printf(search->arena, "%s + %s", length, tensor->more[at]);
    if (strcmp(length, "1") == 0) return arena_printf(search->arena, "%lld", (long long)steps + 1);
    return steps ? arena_printf(search->arena, "%s + %lld", length, (long long)steps) : length;
}

static bool is_one_range(const TensorSteps *tensor) {
    return tensor->ranges.count == 0 ||
           (tensor->ranges.count == 1 && !tensor->more[0] && tensor->least[0] == tensor->most[0]);
}

static bool has_distances(const TensorSteps *tensor) {
    for (int i = 0; i < tensor->ranges.count; i++)
        if (tensor->more[i] || tensor->least[i] != tensor->most[i]) return true;
    return false;
}

/// Two ranges without an end say nothing.
static bool is_endless(const TensorSteps *tensor) {
    int count = 0;
    for (int i = 0; i < tensor->ranges.count; i++) count += !tensor->ranges.ranges[i].length;
    return count > 1;
}

static void check_later(TensorSearch *search, const TensorSteps *tensor) {
    int count = tensor->ranges.count;
    StepCheck check = {.of = parameter_of_root(search->state, tensor->parameter)->name,
                       .ranges = ARENA_ARRAY(search->arena, const char *, count),
                       .range_count = count,
                       .guard = tensor->guard};
    check.is_doubted =
        search->coverage->is_launched && !tensor->is_rough &&
        !launches_keep_apart(search->state, search->coverage, check.of, &tensor->ranges);
    for (int i = 0; i < count; i++)
        check.ranges[i] = arena_printf(search->arena, "(%s, %s)", tensor->ranges.ranges[i].step,
                                       length_text(search, tensor, i));
    LIST_PUSH(search->arena, &search->state->stores.steps, check);
}

static bool is_checked(const TensorSearch *search, const TensorSteps *tensor) {
    if (tensor->is_open || is_endless(tensor)) return false;
    // The first row has no row before it: masks say so, and the ranges do not.
    if (search->coverage->is_launched && has_distances(tensor)) return false;
    if (has_distances(tensor)) return true;
    return !is_one_range(tensor) && !ranges_are_nested(search->arena, &tensor->ranges);
}

static void note_checked(TensorSearch *search, const TensorSteps *tensor) {
    for (int i = 0; i < tensor->ranges.count; i++) {
        const Poly *by = tensor->ranges.ranges[i].by;
        for (int t = 0; t < by->count; t++)
            for (int a = 0; a < by->terms[t].atom_count; a++)
                map_set_pointer(&search->checked, by->terms[t].atoms[a], search);
    }
}

/// Numbers that a caller may choose are taken for chosen, so that programs which meet add up. A number by which rows of an output lie apart
/// is the length of rows.
static void doubt_numbers(TensorSearch *search, const TensorSteps *tensor) {
    for (LIST_EACH(int, a, tensor->accesses)) {
        Access access = linear_access(search, tensor->accesses.items[a]);
        for (int k = -1; access.offset.known && k < access.offset.rank; k++) {
            const Poly *form = k < 0 ? access.offset.base : access.offset.lane[k];
            for (int t = 0; t < form->count; t++)
                for (int i = 0; i < form->terms[t].atom_count; i++) {
                    Value *atom = form->terms[t].atoms[i];
                    if (!map_has_pointer(&search->checked, atom) &&
                        number_is_free(search->arena, search->state->primal, atom))
                        atom->is_chosen = true;
                }
        }
    }
}

void steps_settle(Differentiation *state) {
    Function *primal = state->primal;
    bool is_launched = host_launches(state->arena, primal->definition, primal).count > 0;
    TensorSearch search = {.state = state,
                           .arena = state->arena,
                           .coverage = stored_search_new(state->arena, primal, NULL),
                           .checked = map_new(state->arena)};
    search.coverage->is_most = true;
    search.coverage->is_launched = is_launched;
    search.coverage->is_tuned =
        !is_launched && (primal->definition->is_autotuned || primal->definition->has_heuristics);
    region_walk(primal->body, visit_access, &search);
    for (LIST_EACH(int, i, search.tensors)) {
        const TensorSteps *tensor = search.tensors.items[i];
        const Parameter *parameter = parameter_of_root(state, tensor->parameter);
        bool counts = parameter_points_to_float(parameter) || parameter->is_stored;
        if (!counts || !is_checked(&search, tensor)) continue;
        check_later(&search, tensor);
        if (parameter->is_stored) note_checked(&search, tensor);
    }
    if (is_launched) return;  // the launches say what is chosen
    for (LIST_EACH(int, i, search.tensors)) {
        const TensorSteps *tensor = search.tensors.items[i];
        const Parameter *parameter = parameter_of_root(state, tensor->parameter);
        bool counts = parameter_points_to_float(parameter) || parameter->is_stored;
        if (counts && (tensor->is_open || is_endless(tensor))) doubt_numbers(&search, tensor);
    }
}
