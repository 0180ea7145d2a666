// Passes that are one call to what a room does, and the loop that runs them all.
#include "autodiff/passes.h"

#include <string.h>

#include "analysis/ir/ir_verify.h"
#include "analysis/ir/walk.h"
#include "analysis/launches/launch_contents.h"
#include "analysis/launches/launch_joined.h"
#include "autodiff/arguments.h"
#include "autodiff/atomics/one_element.h"
#include "autodiff/atomics/rare_terms.h"
#include "autodiff/blocks/digit_loops.h"
#include "autodiff/blocks/whole_rows.h"
#include "autodiff/digits/quotients.h"
#include "autodiff/extents/fills.h"
#include "autodiff/finiteness/guard.h"
#include "autodiff/finiteness/guard_stores.h"
#include "autodiff/finiteness/implied_masks.h"
#include "autodiff/gathers/between.h"
#include "autodiff/gathers/first_iterations.h"
#include "autodiff/gathers/in_order.h"
#include "autodiff/gathers/one_iteration.h"
#include "autodiff/gathers/turned_back.h"
#include "autodiff/joins/branch_loads.h"
#include "autodiff/joins/counted_loops.h"
#include "autodiff/joins/inner_digits.h"
#include "autodiff/joins/joined_loops.h"
#include "autodiff/joins/joined_sums.h"
#include "autodiff/joins/late_sums.h"
#include "autodiff/joins/merged_tails.h"
#include "autodiff/joins/moments.h"
#include "autodiff/joins/pairs.h"
#include "autodiff/joins/whole_steps.h"
#include "autodiff/primal/active_outputs.h"
#include "autodiff/primal/activity.h"
#include "autodiff/primal/bits.h"
#include "autodiff/primal/choices.h"
#include "autodiff/primal/descriptors.h"
#include "autodiff/primal/gradient_parameters.h"
#include "autodiff/primal/reroll.h"
#include "autodiff/primal/upwards.h"
#include "autodiff/primal/widths.h"
#include "autodiff/products/base_two.h"
#include "autodiff/products/log_sums.h"
#include "autodiff/products/orient.h"
#include "autodiff/products/scales.h"
#include "autodiff/products/transposed.h"
#include "autodiff/programs/communication.h"
#include "autodiff/programs/steps.h"
#include "autodiff/programs/stores.h"
#include "autodiff/rewrite/branches.h"
#include "autodiff/rewrite/known_branches.h"
#include "autodiff/rewrite/normalize.h"

#include "autodiff/rewrite/rewrite.h"
#include "autodiff/rewrite/simplify.h"
#include "autodiff/rewrite/tidy.h"
#include "autodiff/schedule/reduction_kernel.h"
#include "autodiff/schedule/schedule.h"
#include "autodiff/schedule/stages.h"
#include "autodiff/schedule/tile_orders.h"
#include "autodiff/schedule/wanted.h"
#include "autodiff/stored/kept_sums.h"
#include "autodiff/stored/normalized.h"
#include "autodiff/sweep/adjoint.h"
#include "autodiff/sweep/extremes.h"
#include "autodiff/sweep/strip.h"
#include "autodiff/tape/loaded_states.h"
#include "autodiff/tape/memory.h"
#include "autodiff/tape/replay.h"
#include "autodiff/tape/saved.h"
#include "autodiff/tape/statistics.h"
#include "autodiff/tape/tape.h"
#include "base/error.h"

/* ---- on the primal ---- */

static void pass_aliases(Differentiation *state) {
    if (state->options) function_join_parameters(state->primal, state->options->joined);
}

static void pass_launches(Differentiation *state) {
    launches_note(state->arena, state->primal->definition, state->primal);
}

static void pass_normalize(Differentiation *state) {
    Range range = state->primal->definition->name_range;
    const char *failure = function_normalize(state->primal, &range);
    if (failure) adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNKNOWN_ADDRESS, range, "%s", failure);
}

static void pass_counted_loops(Differentiation *state) { function_count_loops(state->primal); }

static void pass_upwards(Differentiation *state) { function_count_upwards(state->primal); }

static void pass_choices(Differentiation *state) { function_open_choices(state->primal); }

static void pass_branch_loads(Differentiation *state) { function_open_branch_loads(state->primal); }

static bool visit_while(void *context, Op *op) {
    (void)context;
    return op->code != OP_WHILE;
}

/// Before it is known which loops wait for other programs, and that the kernel is refused for that, all `while` loops stay.
static void drop_dead_early(Function *primal) {
    if (region_walk(primal->body, visit_while, NULL)) function_drop_dead(primal);
}

static void pass_simplify(Differentiation *state) {
    function_simplify(state->primal);
    function_share(state->primal);
    if (function_chain_quotients(state->primal)) function_share(state->primal);
    function_settle_known_branches(state->primal);
    function_hoist(state->primal);
    if (tile_orders_straighten(state->arena, state->primal)) function_share(state->primal);
    drop_dead_early(state->primal);  // what a loop carries and nobody reads has no adjoint
}

/// In a kernel for rows that one block holds: what loops over blocks do with it.
static void take_whole_rows(Differentiation *state) {
    function_clean(
        state
            ->primal);  // what a loop carries and nobody reads has other numbers with another block
    bool joins = state->options && state->options->joins_loops;
    if (joins && digit_loops_open(state->arena, state->primal)) {  // a row of the elements
        state->joins.any = true;
        function_simplify(state->primal);
        function_share(state->primal);
        function_hoist(state->primal);
    }
    if (!whole_rows_take(state->arena, state->primal, &state->parts.row)) {
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_ATOMIC_HOT_SPOT, (Range){0}, "no rows in blocks");
        return;
    }
    function_simplify(state->primal);
    function_share(state->primal);
    function_hoist(state->primal);
}

static void pass_first_iterations(Differentiation *state) { first_iterations_roll(state->primal); }

static void pass_last_blocks(Differentiation *state) {
    if (last_blocks_roll(state)) {
        function_simplify(state->primal);
        function_share(state->primal);
        function_hoist(state->primal);
    }
    if (state->parts.part.has_whole_rows) take_whole_rows(state);
}

static void pass_join_loops(Differentiation *state) {
    if (!state->options || !state->options->joins_loops) return;
    loops_join(state);
    if (inner_digits_open(state) || function_join_digits(state->primal)) state->joins.any = true;
    if (digit_loops_open(state->arena, state->primal)) state->joins.any = true;
    if (whole_steps_note(state)) state->joins.any = true;
    if (block_parts_note(state)) state->joins.any = true;
    if (!state->joins.any) return;
    function_simplify(state->primal);
    function_share(state->primal);
    function_hoist(state->primal);
    function_drop_dead(state->primal);
}

static void pass_merge_tails(Differentiation *state) {
    if (!function_merge_tails(state->arena, state->primal)) return;
    drop_dead_early(state->primal);
    function_share(state->primal);
    function_hoist(state->primal);
}

static void pass_log_sums(Differentiation *state) {
    if (function_carry_sums(state->primal)) function_share(state->primal);
}

static void pass_moments(Differentiation *state) {
    if (!function_sum_moments(state->primal)) return;
    function_simplify(state->primal);
    function_share(state->primal);
    function_hoist(state->primal);
    function_drop_dead(state->primal);
}

static bool parameter_is_wanted(const void *options, const Parameter *parameter) {
    return gradient_is_wanted(options, parameter);
}

static void pass_versions(Differentiation *state) {
    state->backward =
        function_new(state->arena, arena_printf(state->arena, "%s_backward", state->primal->name));
    state->backward->definition = state->primal->definition;
    state->backward->parts = state->primal->parts;
    state->backward->part_count = state->primal->part_count;
    state->memory = ARENA_NEW(state->arena, struct Memory);
    *state->memory = memory_of(state->arena, state->primal);
    memory_split_versions(state, state->memory, parameter_is_wanted, state->options);
    function_simplify(state->primal);  // what a loop stored and read back may be unchanged now
    function_share(state->primal);
}

static void pass_parameters(Differentiation *state) {
    parameters_copy(state);
    parameters_add_gradients(state, state->memory);
}

static void pass_activity(Differentiation *state) {
    activity_mark(state);
    state->is_constant = !outputs_are_active(state, state->memory);
    if (state->is_constant) outputs_refuse_unknown(state);
    if (!state->failed) outputs_refuse_unseen(state, state->memory);
}

/* ---- on the backward ---- */

static void pass_sweep(Differentiation *state) {
    adjoint_sweep(state);
    if (!state->failed) function_drop_dead(state->backward);  // running states that nothing needs
}

static void pass_saved(Differentiation *state) {
    Map ours = statements_own(state);
    statistics_of_lanes_load(state, &ours);
    saved_values_load(state, &ours);
}

static void pass_statistics(Differentiation *state) {
    Map ours = statements_own(state);
    statistics_load(state, &ours);
}

static void pass_normalized(Differentiation *state) {
    Map ours = statements_own(state);
    normalized_load(state, &ours);
}

static void pass_kept_sums(Differentiation *state) {
    Map ours = statements_own(state);
    kept_sums_load(state, &ours);
}

static void pass_loaded_states(Differentiation *state) {
    Map ours = statements_own(state);
    loaded_states_take(state, &ours);
}

static void pass_strip(Differentiation *state) {
    strip_forward(state);
    tapes_prune(state);
    function_clean(state->backward);
}

static void pass_replay(Differentiation *state) {
    replay_prune(state);
    memory_refuse_lost_values(state);
}

static void pass_accumulate(Differentiation *state) {
    schedule_accumulations(state, state->result);
    function_clean(state->backward);
}

static void pass_guard(Differentiation *state) {
    function_choose_late(state->backward);
    guard_stores(state);
    guard_padding(state);
    guard_drop_needless(state);
    guard_stores(state);
    masks_leave_out_implied(state);
    function_clean(state->backward);
}

static void pass_branches(Differentiation *state) { function_join_branches(state->backward); }

static void pass_orient(Differentiation *state) { function_orient_sums(state->backward); }

static void pass_one_element(Differentiation *state) {
    atomics_ask_for_one_element(state->backward);
    function_join_branches(state->backward);
}

static void pass_join_sums(Differentiation *state) { function_join_sums(state->backward); }

/// Not where a program has a row in registers, and a slice of its own for its sums: it mostly has one row, and tiles of sums would spill.
static void pass_late_sums(Differentiation *state) {
    const BackwardPart *part = &state->parts.part;
    bool is_one_row = part->has_whole_rows && state->parts.has_own_slices;
    if (!is_one_row) function_sum_late(state->backward);
    if (part_goes_through_rows(part)) stages_add_to_rows(state);
}

static void pass_pairs(Differentiation *state) { function_pair_accesses(state->backward); }

static void pass_in_order(Differentiation *state) { gradient_store_in_order(state); }

static void pass_base_two(Differentiation *state) { function_take_base_two(state->backward); }

static void pass_fuse_scales(Differentiation *state) { function_fuse_scales(state->backward); }

static void pass_transpose_tiles(Differentiation *state) {
    function_transpose_tiles(state->backward);
}

static void pass_tidy(Differentiation *state) {
    function_tidy(state->backward);
    atomics_leave_out_zeros(state);
    function_hoist(state->backward);
    function_clean(state->backward);
}

static void pass_one_iteration(Differentiation *state) {
    loops_take_one_iteration(state->backward);
    function_clean(state->backward);
}

static void pass_fills(Differentiation *state) {
    fills_add(state, arguments_so_far(state));
    WholeStore (*const finders[])(Differentiation *) = {gradient_find_whole_rows,
                                                        gradient_find_turned_back};
    for (int i = 0; i < 2 && !state->parts.fill; i++) {
        WholeStore found = finders[i](state);
        if (!found.whole ||
            fills_choose(state, arguments_so_far(state), found.own, found.whole, found.around))
            continue;
        while (found.own->previous != found.around) op_remove(found.own->previous);
        op_remove(found.around);
    }
    function_clean(state->backward);
}

static void pass_sink(Differentiation *state) { function_sink_addresses(state->backward); }

/* ---- the table ---- */

enum {
#define FACT(id) FACT_NUMBER_##id,
#include "autodiff/passes.def"
#undef FACT
    FACT_COUNT
};
_Static_assert(FACT_COUNT <= 32, "facts are bits of an unsigned");

enum {
#define FACT(id) id = 1u << FACT_NUMBER_##id,
#include "autodiff/passes.def"
#undef FACT
};

const PassRow pass_rows[] = {
#define NEEDS(facts) facts
#define GIVES(facts) facts
#define CHANGES(function) PASS_CHANGES_##function
#define KEEPS(what) PASS_KEEPS_##what
#define PASS(id, name, needs, gives, changes, keeps, run, help) \
    {name, needs, gives, changes, keeps, run, help},
#include "autodiff/passes.def"
#undef PASS
#undef KEEPS
#undef CHANGES
#undef GIVES
#undef NEEDS
};
const int pass_count = sizeof pass_rows / sizeof *pass_rows;

const PassRow *pass_find(const char *name) {
    for (int i = 0; i < pass_count; i++)
        if (strcmp(pass_rows[i].name, name) == 0) return &pass_rows[i];
    return NULL;
}

const Function *pass_subject(const PassRow *row, const Differentiation *state) {
    return row->changes == PASS_CHANGES_PRIMAL ? state->primal : state->backward;
}

/* ---- the driver ---- */

#ifdef NDEBUG
static bool verifies_each;
#else
static bool verifies_each = true;
#endif

void passes_verify_each(void) { verifies_each = true; }

static void verify(const PassRow *row, const Differentiation *state) {
    const Function *subject = pass_subject(row, state);
    const char *broken = subject ? function_verify(state->arena, subject) : NULL;
    if (broken) BUG("after the pass `%s`: %s", row->name, broken);
}

void passes_run(Differentiation *state) {
    unsigned given = 0;
    for (int i = 0; i < pass_count && !state->failed && !state->is_constant; i++) {
        const PassRow *row = &pass_rows[i];
        if ((row->needs & given) != row->needs || (row->gives & given))
            BUG("the pass `%s` is out of order", row->name);
        row->run(state);
        given |= row->gives;
        if (state->failed) return;
        if (verifies_each) verify(row, state);
        const PassObserver *observer = state->options ? state->options->observer : NULL;
        if (observer) observer->after(observer->context, row->name, pass_subject(row, state));
    }
}
