// The sizes of a flat kernel in; out what the Function that launches it says of them, in Python.
#include "autodiff/extents/flat_launch.h"

#include "analysis/build/value_poly.h"
#include "autodiff/extents/element_ranges.h"
#include "autodiff/extents/stored_digits.h"

/// The elements that owners have, in Python, as `stored` of the launch says them; NULL where the launcher does not know all of it.
static const char *owners_text(const FlatSizes *sizes, const StoredSearch *search,
                               const char *elements) {
    const char *bound = sizes->bound ? poly_text(search, sizes->bound) : NULL,
               *run = poly_text(search, sizes->run),
               *owners = sizes->owners ? poly_text(search, sizes->owners) : NULL,
               *period = sizes->period ? poly_text(search, sizes->period) : NULL;
    int64_t number;
    if (!run || (sizes->bound && !bound) || (sizes->owners && !owners) ||
        (sizes->period && !period))
        return NULL;
    const char *all = sizes->has_turns ? bound
                      : bound          ? arena_printf(search->arena, "min(%s, %s)", elements, bound)
                                       : elements;
    if (period)  // the last period may have too few elements
        return arena_printf(search->arena, "[(1, %s), (%s, %s // max(%s, 1))]", owners, owners, all,
                            period);
    if (!poly_is_constant(sizes->run, &number) || number != 1)
        all = arena_printf(search->arena, "triton.cdiv(%s, max(%s, 1))", all, run);
    return owners ? arena_printf(search->arena, "[(1, min(%s, %s))]", owners, all)
                  : arena_printf(search->arena, "[(1, %s)]", all);
}

/// Where lanes are a gradient's, a program has a tile of them: there may be fewer than the forward has programs.
static void describe_ordered(const Differentiation *state, BackwardLaunch *launch) {
    const OrderedSizes *sizes = &state->parts.ordered;
    const StoredSearch *search = stored_search_new(state->arena, state->backward, launch);
    const char *end = poly_text(search, sizes->elements), *step = poly_text(search, sizes->lanes);
    launch->turns_end = step ? end : NULL;
    launch->turns_step = end ? step : NULL;
}

void flat_describe(const Differentiation *state, BackwardLaunch *launch) {
    const FlatSizes *sizes = &state->parts.flat;
    if (state->parts.ordered.lanes) describe_ordered(state, launch);
    if (!sizes->lanes) return;
    const StoredSearch *search = stored_search_new(state->arena, state->backward, launch);
    const char *lanes = factor_text(search, sizes->lanes), *run = poly_text(search, sizes->run),
               *owners = sizes->owners ? poly_text(search, sizes->owners) : "None",
               *period = sizes->period ? poly_text(search, sizes->period) : NULL;
    if (!lanes || !run || !owners || (sizes->period && !period)) return;
    launch->flat_lanes = lanes;
    launch->flat_run = run;
    launch->flat_end = sizes->bound ? poly_text(search, sizes->bound) : NULL;
    launch->has_flat_turns = sizes->has_turns && launch->flat_end;
    const char *elements = launch->has_flat_turns
                               ? launch->flat_end
                               : arena_printf(state->arena, "grid.0 * %s", lanes),
               *count = owners_text(sizes, search, elements);
    for (int i = 0; i < launch->argument_count; i++) {
        BackwardArgument *argument = &launch->arguments[i];
        const Value *value = state->backward->parameters[i].value;
        if (argument->use == ARGUMENT_SLICES)
            argument->turns = arena_printf(state->arena, "%s, %s, %s, %s%s%s", elements, run,
                                           owners, lanes, period ? ", " : "", period ? period : "");
        if (argument->is_parts && count && map_has_pointer(&sizes->plain, value))
            argument->alone = count;
    }
}
