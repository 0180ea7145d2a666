// A forward function in; the variant that the passes make of it, or why there is none, out.
#include "autodiff/derive.h"

#include <string.h>

#include "analysis/build/build.h"
#include "analysis/ir/ir_verify.h"
#include "autodiff/arguments.h"
#include "autodiff/blocks/digit_loops.h"
#include "autodiff/blocks/free_blocks.h"
#include "autodiff/blocks/program_order.h"
#include "autodiff/blocks/whole_rows.h"
#include "autodiff/digits/quotients.h"
#include "autodiff/extents/fills.h"
#include "autodiff/extents/flat_launch.h"
#include "autodiff/joins/inner_digits.h"
#include "autodiff/joins/joined_loops.h"
#include "autodiff/joins/whole_steps.h"
#include "autodiff/layouts/expanded_inputs.h"
#include "autodiff/layouts/upstream_strides.h"
#include "autodiff/parts.h"
#include "autodiff/passes.h"
#include "autodiff/plan/tile_size.h"
#include "autodiff/primal/active_outputs.h"
#include "autodiff/primal/shared_tiles.h"
#include "autodiff/primal/widths.h"
#include "autodiff/products/cut_masks.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/same_gradients.h"
#include "autodiff/schedule/coverage.h"
#include "autodiff/schedule/stages.h"
#include "autodiff/schedule/tile_orders.h"
#include "autodiff/state/saved_parameters.h"
#include "autodiff/tape/tape.h"
#include "autodiff/together/block_parts.h"
#include "autodiff/together/described_tiles.h"
#include "autodiff/together/iterations.h"
#include "autodiff/together/side_by_side.h"
#include "autodiff/together/sliced_grid.h"
#include "base/budget.h"
#include "base/error.h"

static void variant_refuse(Variant *variant, BackwardStatus status, const char *reason,
                           Range range) {
    variant->result.status = status;
    variant->result.reason = reason;
    variant->result.reason_range = range;
}

/// A backward that breaks an invariant of the IR is none, whatever the passes say.
static void refuse_broken(Differentiation *state) {
    const char *broken = state->failed ? NULL : function_verify(state->arena, state->backward);
    if (broken)
        adjoint_fail(
            state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, state->primal->definition->name_range,
            "the backward of this kernel needs values that are not available in it (%s)", broken);
}

/// Asks a copy of the backward, in which rows and columns of tiles stand for the ids that number these.
static void blocks_look(const Differentiation *state, BackwardLaunch *launch) {
    Map copies = map_new(state->arena);
    Function *copy = function_copy(state->arena, state->backward, state->backward->name, &copies);
    Value *counts[2 * PROGRAM_AXES] = {0};
    for (int i = 0; i < 2 * PROGRAM_AXES; i++)
        if (state->parts.tile_counts[i])
            counts[i] = map_get_pointer(&copies, state->parts.tile_counts[i]);
    tile_orders_open(state->arena, copy, 2);
    blocks_describe(state->arena, copy, counts, launch);
}

static bool visit_loop_work(void *context, Op *op) {
    int *work = context;
    bool counts = op->code == OP_LOAD || op->code == OP_DOT || op->code == OP_REDUCE ||
                  op_rows[op->code].shape == SHAPE_REDUCED;
    *work += counts && op_is_in_loop(op);
    return true;
}

/// What costs most in loops: which of two backwards of one kernel has less to do is told by it.
static int loop_work(const Function *backward) {
    int work = 0;
    region_walk(backward->body, visit_loop_work, &work);
    return work;
}

static bool visit_loop_again(void *context, Op *op) {
    int *count = context;
    bool is_again = !op->note || str_starts(str_from(op->note), "fills ");
    *count += op_is_loop(op->code) && is_again && op->range.source && *op->range.source->path;
    return true;
}

static int loops_again(const Function *backward) {
    int count = 0;
    region_walk(backward->body, visit_loop_again, &count);
    return count;
}

static bool visit_draw(void *context, Op *op) {
    int *count = context;
    *count += (op_rows[op->code].effects & EFFECT_RANDOM) != 0;
    return true;
}

static int draws(const Function *backward) {
    int count = 0;
    region_walk(backward->body, visit_draw, &count);
    return count;
}

/// Programs as one, where that is worth it. Whose strides the arguments are is seen in the kernel of one program alone.
static void join_programs(Differentiation *state, const Kernel *kernel, BackwardLaunch *launch) {
    BackwardLaunch alone = *launch;
    alone.arguments = ARENA_ARRAY(state->arena, BackwardArgument, launch->argument_count + 1);
    for (int i = 0; i < launch->argument_count; i++) alone.arguments[i] = launch->arguments[i];
    upstream_strides_describe(state->arena, kernel, state->backward, &alone);
    expanded_inputs_describe(state->arena, kernel, state->backward, &alone);
    grid_take_slices(state, launch);
    iterations_side_by_side(state, launch);
    programs_side_by_side(state, launch);
    if (!launch->has_together) return;
    for (int i = 0; i < launch->argument_count; i++)
        for (int k = 0; k < alone.argument_count; k++)
            if (strcmp(launch->arguments[i].name, alone.arguments[k].name) == 0)
                launch->arguments[i] = alone.arguments[k];
}

/// Whether the launch goes on with scratch of an earlier one, which a tuner has chosen the blocks of.
static bool follows_tuner(const Differentiation *state, const Kernel *kernel,
                          const BackwardLaunch *launch) {
    bool is_tuned = kernel->definition->is_autotuned && !kernel->definition->has_heuristics &&
                    state->options && !state->options->is_untuned;
    return is_tuned && state->parts.part.kind == PART_REDUCTION && launch_reads_scratch(launch);
}

static void variant_describe(Differentiation *state, const Kernel *kernel, Variant *variant) {
    Backward *result = &variant->result;
    variant->backward = state->backward;
    variant->launch.loop_work = loop_work(state->backward);
    variant->launch.loops_again = loops_again(state->backward);
    variant->launch.draws = draws(state->backward);
    result->assumptions = state->stores.assumptions.items;
    result->assumption_count = state->stores.assumptions.count;
    result->steps = state->stores.steps.items;
    result->step_count = state->stores.steps.count;
    tapes_describe(state);
    result->loop_notes = state->tapes.loop_notes.items;
    result->loop_note_count = state->tapes.loop_notes.count;
    arguments_arrange(state, result, &variant->launch);
    arguments_list(state, result, &variant->launch);
    coverage_describe(state->arena, state->backward, &variant->launch);
    flat_describe(state, &variant->launch);
    coverage_outputs(state->arena, state->primal, state->primal->definition->parameter_count,
                     result);
    fills_describe(state, &variant->launch);
    tile_size_describe(state->arena, state->backward, &variant->launch);
    if (state->parts.ordered.reads_apart) tile_size_read_apart(state->arena, &variant->launch);
    stages_describe(state->backward, &variant->launch);
    same_gradients_describe(state->arena, kernel, state->backward, &variant->launch);
    variant->launch.follows_tuner = follows_tuner(state, kernel, &variant->launch);
    blocks_look(state, &variant->launch);
    variant->launch.row = state->parts.row;
    if (part_goes_through_rows(&state->parts.part))
        variant->launch.row.sums = carried_tiles(state->backward);
    programs_follow_rows(state->backward, &variant->launch);
    join_programs(state, kernel, &variant->launch);
    blocks_take_parts(state, &variant->launch);
    function_branch_masks(state->backward);
    tiles_take_descriptors(state, &variant->launch);
    result->status = BACKWARD_DERIVED;
}

static void note_saved(const SavedValues *saved, Function *primal) {
    for (int k = 0; saved && k < primal->parameter_count; k++) {
        int axis = 0;
        Str name = str_from(primal->parameters[k].name);
        primal->parameters[k].is_saved =
            saved_parameter(saved, primal->name, name, &axis) && axis == 0;
    }
}

/// What the analysis took for granted: of the elements of a tensor (`x.dtype.is_int()`), or that a constexpr is another number
/// than an excluded one. The backward asks it where it compiles.
static Value *asked_again(Differentiation *state, Builder *b, const Op *question) {
    const Value *of = question->operands[0], *than = question->operands[1];
    if (question->code == OP_DTYPE_QUESTION && of->constant)
        return build_binary(b, OP_DTYPE_QUESTION, build_dtype(b, of->constant->dtype),
                            build_string(b, than->constant->string.data));
    bool is_excluded = state->options && state->options->excludes && question->code == OP_NE &&
                       !of->op && than->constant;
    if (!is_excluded) return NULL;
    Value *own = value_mapped(&state->values, state->primal->parameters[of->index].value);
    return build_binary(b, OP_NE, own, build_constant(b, *than->constant));
}

static void assert_assumptions(Differentiation *state, const Function *forward) {
    Builder b = {.function = state->backward, .region = state->backward->body};
    b.before = b.region->first;
    for (const Op *op = forward->body->first; op; op = op->next) {
        const Op *question = op->code == OP_STATIC_ASSERT ? op->operands[0]->op : NULL;
        b.range = op->range;
        Value *asked = question ? asked_again(state, &b, question) : NULL;
        if (!asked) continue;
        Value *operands[] = {asked, build_string(&b, op->operands[1]->constant->string.data)};
        if (asked->op) b.before = asked->op->next;
        op_append(&b, OP_STATIC_ASSERT, operands, 2, 0);
    }
}

static bool derive_part(Arena *arena, const Kernel *kernel, const Function *forward,
                        const BackwardOptions *options, bool keeps_loads, BackwardPart part,
                        Variant *variant) {
    *variant = (Variant){.result.kernel = kernel};
    Range where = kernel->definition->name_range;
    Differentiation state = differentiation_new(arena);
    state.options = options;
    state.result = &variant->result;
    state.versions.keeps_loads = keeps_loads;
    state.parts.part = part;
    state.primal = function_copy(arena, forward, forward->name, NULL);
    if (options) note_saved(options->saved, state.primal);
    if (part.deals_tiles) tiles_deal(&state);
    if (!state.failed) passes_run(&state);
    bool has_turns = part.deals_tiles && part.kind != PART_FLAT;
    if (!state.failed && !state.is_constant && has_turns) tiles_gather(&state);
    variant->reduction_kernels = state.parts.reduction_kernels;
    variant->cannot_be_flat = state.parts.cannot_be_flat;
    for (int all = 0; all < 2; all++) variant->beside_shares[all] = state.parts.beside_shares[all];
    variant->fits_one_pass = state.parts.fits_one_pass;
    if (!state.failed && state.is_constant) {
        variant_refuse(variant, BACKWARD_NOT_DIFFERENTIABLE,
                       "no floating-point input reaches a floating-point output through operations "
                       "with a derivative",
                       where);
        return false;
    }
    if (!state.failed) joined_loops_assert(&state);
    if (!state.failed) pointer_types_assert(&state);
    if (!state.failed) assert_assumptions(&state, forward);
    refuse_broken(&state);
    variant->is_joined = state.joins.any;
    variant->has_more_digits = !state.failed && tile_orders_has_more_digits(arena, state.primal);
    variant->flags = state.parts.flags;
    if (state.failed) {
        variant->is_bits = state.is_bits;
        variant->only_bits = state.is_bits && !outputs_are_active_numbers(&state, state.memory);
        variant->failure_id = state.failure_id;
        variant_refuse(variant, BACKWARD_REFUSED, state.failure, state.failure_range);
        return state.versions.loses_values;
    }
    variant_describe(&state, kernel, variant);
    if (variant->result.input_count == 0 && part.kind == PART_WHOLE)
        variant_refuse(variant, BACKWARD_NOT_DIFFERENTIABLE, "every gradient is zero", where);
    return false;
}

/// What is said of a kernel that has no backward, apart from all else.
static Variant refused_copy(Arena *arena, const Variant *variant) {
    Variant copy = {.result = {.kernel = variant->result.kernel},
                    .is_joined = variant->is_joined,
                    .reduction_kernels = variant->reduction_kernels,
                    .fits_one_pass = variant->fits_one_pass,
                    .has_more_digits = variant->has_more_digits,
                    .failure_id = variant->failure_id,
                    .is_bits = variant->is_bits,
                    .only_bits = variant->only_bits};
    variant_refuse(&copy, BACKWARD_REFUSED, arena_strdup(arena, variant->result.reason),
                   variant->result.reason_range);
    return copy;
}

bool variant_try(Arena *arena, const Kernel *kernel, const Function *forward,
                 const BackwardOptions *options, bool keeps_loads, BackwardPart part,
                 Variant *variant) {
    Arena *own = arena_new_scratch();
    bool keeping_may_help = derive_part(own, kernel, forward, options, keeps_loads, part, variant);
    if (variant->result.status == BACKWARD_REFUSED) {
        *variant = refused_copy(arena, variant);
        arena_free(own);
    } else {
        arena_give(own, arena);
    }
    return keeping_may_help;
}

/// Whether a kernel's programs leave something in memory, each in a place of its own: there are none for tiles.
static bool leaves_by_program(const BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        if (argument->use == ARGUMENT_SCRATCH || argument->use == ARGUMENT_STEPS ||
            argument->is_program_sum)
            return true;
    }
    return false;
}

/// Where programs take turns with tiles: derived as for one program a tile, where fewer gradients need atomics then.
static void try_tiles(Arena *arena, const Kernel *kernel, const Function *forward,
                      const BackwardOptions *options, bool keeps_loads, Variant *variant) {
    const BackwardPart whole = {.kind = PART_WHOLE, .deals_tiles = true};
    Variant tiles;
    variant_try(arena, kernel, forward, options, keeps_loads, whole, &tiles);
    if (tiles.result.status != BACKWARD_DERIVED) return;
    variant_split(arena, kernel, forward, options, keeps_loads, whole, &tiles);
    bool is_better = tiles.part_count && tiles.result.atomics < variant->result.atomics;
    for (int i = 0; i < tiles.part_count && is_better; i++)
        is_better = !leaves_by_program(&tiles.parts[i].launch);
    if (is_better) *variant = tiles;
}

/// Whether atomics add more than a number for each program: shares of one's own, apart along all that programs share, cost more than that.
static bool adds_tiles(const Variant *variant) {
    bool any = false;
    for (int i = 0; i < variant->result.gradient_count; i++)
        any |= variant->result.gradients[i].is_atomic && !variant->result.gradients[i].adds_number;
    return any;
}

/// Where ids have more digits than rows and columns: programs along each of these share what the others own.
static void try_digits(Arena *arena, const Kernel *kernel, const Function *forward,
                       const BackwardOptions *options, bool keeps_loads, Variant *variant) {
    const BackwardPart whole = {.kind = PART_WHOLE, .has_digits = true};
    Variant digits;
    if (!variant->has_more_digits || !adds_tiles(variant)) return;
    variant_try(arena, kernel, forward, options, keeps_loads, whole, &digits);
    if (digits.result.status != BACKWARD_DERIVED) return;
    if (digits.result.atomics)
        variant_split(arena, kernel, forward, options, keeps_loads, whole, &digits);
    if (digits.result.atomics < variant->result.atomics) *variant = digits;
}

static bool visit_loop(void *context, Op *op) {
    int *loops = context;
    *loops += op->code == OP_FOR && op->result_count > 0;
    return *loops < 2;
}

/// Gradients that a program adds to in memory, and reads again for it.
static int added_in_memory(const Variant *variant) {
    int count = 0;
    for (int i = 0; i < variant->result.gradient_count; i++) {
        const Gradient *gradient = &variant->result.gradients[i];
        count += gradient->is_sum && !gradient->is_parts && !gradient->is_program_sum;
    }
    return count;
}

/// Where loops can be joined, and fewer gradients need atomics then, or as many and fewer are added to in memory.
static void try_joined(Arena *arena, const Kernel *kernel, const Function *forward,
                       const BackwardOptions *options, Variant *variant) {
    BackwardOptions joining = options ? *options : (BackwardOptions){0};
    int loops = 0;
    region_walk(forward->body, visit_loop, &loops);
    bool any =
        loops > 1 || function_has_inner_digits(forward) || function_has_split_digits(forward) ||
        function_divides_in_loops(forward) || function_has_rows_beside(forward) ||
        (variant->result.atomics &&
         (function_has_part_steps(arena, forward) || function_has_block_parts(arena, forward)));
    if (joining.joins_loops || !any) return;
    joining.joins_loops = true;
    Variant joined;
    variant_derive(arena, kernel, forward, &joining, &joined);
    if (joined.result.status != BACKWARD_DERIVED || !joined.is_joined) return;
    bool is_better = joined.result.atomics < variant->result.atomics ||
                     (joined.result.atomics == variant->result.atomics &&
                      added_in_memory(&joined) < added_in_memory(variant));
    if (is_better) *variant = joined;
}

static Variant variant_copy(Arena *arena, const Variant *variant) {
    Variant copy = *variant;
    copy.result.gradients = ARENA_ARRAY(arena, Gradient, copy.result.gradient_count + 1);
    for (int i = 0; i < copy.result.gradient_count; i++)
        copy.result.gradients[i] = variant->result.gradients[i];
    return copy;
}

static bool launch_has_large_shares(const BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].has_large) return true;
    return false;
}

/// Whether programs keep apart as much as they read.
static bool has_large_shares(const Variant *variant) {
    bool found = !variant->part_count && launch_has_large_shares(&variant->launch);
    for (int i = 0; i < variant->part_count && !found; i++)
        found = launch_has_large_shares(&variant->parts[i].launch);
    return found;
}

/// Owners where there are any: what programs would keep apart as large shares is in no memory then. `alone`: the one kernel.
static void prefer_owners(Arena *arena, const Kernel *kernel, const Function *forward,
                          const BackwardOptions *options, bool keeps, const Variant *alone,
                          Variant *variant) {
    for (int joins = 0; joins < 2 && has_large_shares(variant); joins++) {
        Variant own = variant_copy(arena, alone);
        if (joins)
            try_joined(arena, kernel, forward, options, &own);
        else
            try_tiles(arena, kernel, forward, options, keeps, &own);
        if (!own.result.atomics && !has_large_shares(&own)) *variant = own;
    }
}

/// A derivation that may give a better variant.
typedef struct Improving {
    Arena *arena;
    const Kernel *kernel;
    const Function *forward;
    const BackwardOptions *options;
    bool keeps;
    const Variant *alone;  // the one kernel in the forward's schedule
    Variant *reached;      // what was found before the steps were spent
} Improving;

/// Whether a step left the variant as it was: what it takes has other kernels, or other gradients.
static bool is_untouched(const Variant *before, const Variant *variant) {
    bool is_same = before->backward == variant->backward &&
                   before->part_count == variant->part_count &&
                   before->whole_rows == variant->whole_rows &&
                   before->result.status == variant->result.status &&
                   before->result.gradients == variant->result.gradients;
    for (int i = 0; i < variant->part_count && is_same; i++)
        is_same = before->parts[i].function == variant->parts[i].function;
    return is_same;
}

/// Runs a step in memory of its own, which is kept only where the step changed the variant: most kernels that are tried are not taken,
/// and each takes megabytes.
static void improve_by(const Improving *with, void (*step)(const Improving *with, Variant *variant),
                       Variant *variant) {
    Improving own = *with;
    Variant *before = ARENA_NEW(with->arena, Variant);
    *before = *variant;
    own.arena = arena_new_scratch();
    step(&own, variant);
    if (is_untouched(before, variant))
        arena_free(own.arena);
    else
        arena_give(own.arena, with->arena);
    *with->reached = variant_copy(with->arena, variant);
}

static void step_split(const Improving *with, Variant *variant) {
    variant_split(with->arena, with->kernel, with->forward, with->options, with->keeps,
                  (BackwardPart){.kind = PART_WHOLE}, variant);
}

static void step_owners(const Improving *with, Variant *variant) {
    prefer_owners(with->arena, with->kernel, with->forward, with->options, with->keeps, with->alone,
                  variant);
}

static void step_tiles(const Improving *with, Variant *variant) {
    try_tiles(with->arena, with->kernel, with->forward, with->options, with->keeps, variant);
}

static void step_flatten(const Improving *with, Variant *variant) {
    variant_flatten(with->arena, with->kernel, with->forward, with->options, with->keeps, variant);
}

static void step_digits(const Improving *with, Variant *variant) {
    try_digits(with->arena, with->kernel, with->forward, with->options, with->keeps, variant);
}

static void step_joined(const Improving *with, Variant *variant) {
    try_joined(with->arena, with->kernel, with->forward, with->options, variant);
}

static void step_whole_rows(const Improving *with, Variant *variant) {
    variant_find_whole_rows(with->arena, with->kernel, with->forward, with->options, with->keeps,
                            variant);
}

/// All that may need fewer atomics than one kernel in the forward's schedule.
static void run_improve(void *context, Variant *variant) {
    Improving with = *(const Improving *)context;
    const Variant alone = variant_copy(with.arena, variant);
    with.alone = &alone;
    if (variant->result.atomics) improve_by(&with, step_split, variant);
    if (!variant->result.atomics) improve_by(&with, step_owners, variant);
    if (variant->result.atomics) improve_by(&with, step_tiles, variant);
    if (variant->result.atomics) improve_by(&with, step_flatten, variant);
    bool joins_digits =
        function_has_split_digits(with.forward) || function_has_inner_digits(with.forward);
    if (variant->result.atomics && !joins_digits) improve_by(&with, step_digits, variant);
    if (variant->result.atomics || added_in_memory(variant))
        improve_by(&with, step_joined, variant);
    if (variant->result.atomics && joins_digits) improve_by(&with, step_digits, variant);
    improve_by(&with, step_whole_rows, variant);
}

static void run_whole_rows(void *context, Variant *variant) {
    improve_by(context, step_whole_rows, variant);
}

bool variant_attempt(Arena *arena, void (*run)(void *context, Variant *variant), void *context,
                     Variant *variant) {
    StepBudget *budget = ARENA_NEW(arena, StepBudget);
    Variant *better = ARENA_NEW(arena, Variant);
    *better = variant_copy(arena, variant);
    int64_t left = budget_left();
    bool ends = false;
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        budget_start(budget, left / 4 * 3);
        run(context, better);
        budget_stop(budget);
        bug_guard_end(&guard);
        *variant = *better;
        ends = true;
    } else if (guard.cause != BUG_SPENT) {
        bug_raise_again(&guard);
    }
    budget_take(budget->taken);
    return ends;
}

void variant_derive(Arena *arena, const Kernel *kernel, const Function *forward,
                    const BackwardOptions *options, Variant *variant) {
    const BackwardPart whole = {.kind = PART_WHOLE};
    bool keeps = variant_try(arena, kernel, forward, options, false, whole, variant);
    if (keeps) {
        Variant keeping;
        variant_try(arena, kernel, forward, options, true, whole, &keeping);
        keeps = keeping.result.status != BACKWARD_REFUSED;
        if (keeps) *variant = keeping;
    }
    bool is_apart = options && options->keeps_schedule;
    Improving with = {.arena = arena,
                      .kernel = kernel,
                      .forward = forward,
                      .options = options,
                      .keeps = keeps,
                      .reached = ARENA_NEW(arena, Variant)};
    *with.reached = variant_copy(arena, variant);
    if (variant->result.status != BACKWARD_DERIVED || is_apart) return;
    bool is_improved = variant->result.atomics || added_in_memory(variant);
    if (!variant_attempt(arena, is_improved ? run_improve : run_whole_rows, &with, variant))
        *variant = *with.reached;
}
