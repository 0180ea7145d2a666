// An observer of the passes: prints, notes and interprets the functions after each, and compares with what was there before.
#include "tests/unit/passes/validate.h"

#include <math.h>
#include <stdio.h>

#include "analysis/ir/ir_print.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/tape/alias.h"
#include "autodiff/tape/memory.h"
#include "tests/unit/passes/mistakes.h"

enum { MISTAKES_OF = 3 };  // comparisons, in one of which a mistake is planted, too
static const double SLOPE_ERROR = 1e-6;

/// What passes note beside the functions.
typedef struct Notes {
    int numbers[14];
} Notes;

/// How many facts the parameters have from the launches of the file.
static int facts_of_launches(const Function *primal) {
    int facts = 0;
    for (int i = 0; i < primal->parameter_count; i++) {
        const Parameter *parameter = &primal->parameters[i];
        facts += parameter->may_have_contents + parameter->comes_from_tensor +
                 parameter->value->is_chosen + parameter->value->may_be_zero +
                 parameter->may_be_descriptor + (parameter->value->constant != NULL);
    }
    return facts;
}

/// One derivation under way.
typedef struct Watched {
    Validation *validation;
    Arena *arena;
    Subject subject;
    Differentiation state;
    BackwardOptions options;
    PassObserver observer;
    int last;  // row that ran last, -1: none
    const char *primal_text, *backward_text;
    Notes notes;
    Computed primal, backward;
    bool has_primal, has_backward;  // these can be compared
    const char *slope_fault;        // what the first backward has wrong, or NULL
    bool runs;                      // the forward, in this configuration
    bool is_part;                   // of a backward in several kernels
} Watched;

static Notes notes_of(const Differentiation *state) {
    return (Notes){{state->activity.active.count, state->activity.constant.count,
                    state->activity.bits.count, state->stores.owners.count,
                    state->stores.assumptions.count, state->stores.adds, state->widths.double_count,
                    state->communication != NULL, state->buffers.running.count,
                    state->versions.replays.count, state->tapes.tapes.count,
                    state->is_constant || state->failed, facts_of_launches(state->primal),
                    state->stores.steps.count}};
}

static void fail(const Watched *watched, const char *pass, const char *what) {
    watched->validation->failures++;
    if (watched->validation->is_silent) return;
    const Range name = watched->subject.forward->definition->name_range;
    printf("  %s:%d: `%s`: the pass `%s` keeps less than its row says: %s\n", name.source->path,
           range_line(name), watched->subject.forward->name, pass, what);
}

static Likeness likeness_of(const PassRow *row) {
    if (row->keeps == PASS_KEEPS_BITS) return ALIKE_BITS;
    if (row->keeps == PASS_KEEPS_FINITE) return ALIKE_FINITE;
    return row->keeps == PASS_KEEPS_NUMBERS ? ALIKE_NUMBERS : ALIKE_VALUES;
}

/* ---- computing ---- */

static Computed compute(Watched *watched, bool is_backward, const FunctionEdit *edit) {
    const Differentiation *state = &watched->state;
    if (!is_backward)
        return primal_compute(watched->arena, &watched->subject, state, state->primal, edit);
    BackwardRun *run = backward_run_new(watched->arena, &watched->subject);
    backward_run_add(run, state, state->backward, edit);
    return backward_run_gradients(run);
}

/// What a primal loads that the backward has to bring up to date first has no contents of its own.
static bool primal_stands_alone(const Differentiation *state) {
    return state->versions.replays.count == 0 && state->versions.load_tapes.count == 0 &&
           state->versions.lost.count == 0;
}

static void plant_mistake(Watched *watched, int row, bool is_backward, const Computed *before) {
    const FunctionEdit edit = {
        mistake_plant, hash_mix(watched->subject.seed + (uint64_t)row * 1000003u + is_backward)};
    Computed wrong = compute(watched, is_backward, &edit);
    if (wrong.is_unedited) return;
    PassTally *tally = &watched->validation->tallies[row];
    tally->mistakes++;
    if (computed_difference(watched->arena, before, &wrong, likeness_of(&pass_rows[row])))
        tally->found++;
}

/// Compares what a function computes now with what it did before the pass.
static void compare(Watched *watched, int row, bool is_backward) {
    Validation *validation = watched->validation;
    Computed *before = is_backward ? &watched->backward : &watched->primal;
    const FunctionEdit broken = {mistake_plant, watched->subject.seed + validation->broken_seed};
    bool is_broken =
        validation->broken_pass && strcmp(validation->broken_pass, pass_rows[row].name) == 0;
    Computed now = compute(watched, is_backward, is_broken ? &broken : NULL);
    if (now.is_unedited) return;
    const char *difference =
        computed_difference(watched->arena, before, &now, likeness_of(&pass_rows[row]));
    validation->tallies[row].comparisons += !before->error;
    if (difference) fail(watched, pass_rows[row].name, difference);
    bool is_sample = validation->tallies[row].comparisons % MISTAKES_OF == 1;
    if (!difference && !before->error && validation->plants_mistakes && is_sample)
        plant_mistake(watched, row, is_backward, before);
    *before = now;
}

/// Until the forward's own stores are gone, a backward of a kernel that loads what it stores would store it once more.
static bool is_in_place(const Differentiation *state) {
    const Map *stored = &state->memory->stored;
    for (int i = 0; i < stored->count; i++) {
        const Op *op = stored->entries[i].value;
        const void *root = (const void *)(uintptr_t)stored->entries[i].number;
        if (op->code != OP_STORE || map_has_pointer(&state->memory->loaded, root) ||
            map_has_pointer(&state->buffers.running, root))
            return true;
    }
    return state->versions.origins.count > 0;
}

/// The pass behind which the backward is complete for this kernel and grid.
static const char *first_backward(const Watched *watched) {
    const Differentiation *state = &watched->state;
    for (int axis = 0; axis < PROGRAM_AXES; axis++)  // programs that do the same would each add it
        if (state->stores.unread_axes[axis] != GRID_AXIS_ONE &&
            watched->subject.configuration->grid[axis] > 1)
            return "accumulate";
    return is_in_place(state) ? "strip" : "sweep";
}

/// The first backward is held against the derivative of the forward.
static void begin_backward(Watched *watched) {
    watched->backward = compute(watched, true, NULL);
    watched->has_backward = !watched->backward.error;
    double dual, gradient, size;
    if (!slopes_compute(watched->arena, &watched->subject, &watched->state, &watched->backward,
                        &dual, &gradient, &size))
        return;
    watched->validation->slopes++;
    if (fabs(dual - gradient) > SLOPE_ERROR * fmax(size, 1e-3))
        watched->slope_fault =
            arena_printf(watched->arena, "the slope is %.17g by duals and %.17g by the gradients",
                         dual, gradient);
}

/// A launcher refuses other grids: along an axis that the kernel does not read, programs would do the same twice.
static bool grid_is_allowed(const Watched *watched) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (watched->state.result->single_axes[axis] &&
            watched->subject.configuration->grid[axis] > 1)
            return false;
    return true;
}

/* ---- after a pass ---- */

static int row_of(const char *name) { return (int)(pass_find(name) - pass_rows); }

static bool same_text(const char *a, const char *b) { return a && b && strcmp(a, b) == 0; }

static void check_texts(Watched *watched, const PassRow *row, const char *primal,
                        const char *backward) {
    bool rewrites = row->keeps != PASS_KEEPS_TEXT;
    bool may_primal = rewrites && row->changes == PASS_CHANGES_PRIMAL;
    bool may_backward = rewrites && row->changes == PASS_CHANGES_BACKWARD;
    if (!may_primal && !same_text(primal, watched->primal_text))
        fail(watched, row->name, "it changed the primal");
    if (!may_backward && watched->backward_text && !same_text(backward, watched->backward_text))
        fail(watched, row->name, "it changed the backward");
}

static void after_pass(void *context, const char *pass, const Function *function) {
    Watched *watched = context;
    Differentiation *state = &watched->state;
    int number = row_of(pass);
    const PassRow *row = &pass_rows[number];
    PassTally *tally = &watched->validation->tallies[number];
    const char *primal = function_print(watched->arena, state->primal);
    const char *backward = state->backward ? function_print(watched->arena, state->backward) : NULL;
    check_texts(watched, row, primal, backward);
    Notes notes = notes_of(state);
    bool primal_changed = !same_text(primal, watched->primal_text);
    bool backward_changed = watched->backward_text && !same_text(backward, watched->backward_text);
    tally->runs++;
    tally->changes +=
        primal_changed || backward_changed || memcmp(&notes, &watched->notes, sizeof notes) != 0;
    watched->last = number;
    watched->primal_text = primal;
    watched->backward_text = backward;
    watched->notes = notes;
    if (!primal_stands_alone(state)) watched->has_primal = false;
    if (primal_changed && watched->has_primal) compare(watched, number, false);
    if (watched->is_part || !backward || !watched->runs) return;
    if (!grid_is_allowed(watched)) watched->has_backward = false;
    if (strcmp(pass, first_backward(watched)) == 0)
        begin_backward(watched);
    else if (backward_changed && watched->has_backward && row->keeps != PASS_KEEPS_NOTHING)
        compare(watched, number, true);
    (void)function;
}

/* ---- derivations ---- */

static void derive(Watched *watched, bool keeps_loads, BackwardPart part) {
    Arena *arena = watched->arena;
    const Subject *subject = &watched->subject;
    watched->observer = (PassObserver){after_pass, watched};
    watched->options = (BackwardOptions){
        .joined = subject->joined, .observer = &watched->observer, .joins_loops = true};
    watched->state = differentiation_new(arena);
    watched->state.options = &watched->options;
    watched->state.result = ARENA_NEW(arena, Backward);
    watched->state.versions.keeps_loads = keeps_loads;
    watched->state.parts.part = part;
    watched->state.primal = function_copy(arena, subject->forward, subject->forward->name, NULL);
    watched->last = -1;
    watched->primal_text = function_print(arena, watched->state.primal);
    watched->backward_text = NULL;
    watched->notes = notes_of(&watched->state);
    watched->has_backward = false;
    watched->slope_fault = NULL;
    watched->is_part = part.kind != PART_WHOLE;
    watched->has_primal = !watched->is_part && watched->runs;
    if (watched->has_primal)
        watched->primal = primal_compute(arena, subject, NULL, subject->forward, NULL);
    passes_run(&watched->state);
    watched->validation->derivations++;
    if (watched->slope_fault && !watched->state.failed && grid_is_allowed(watched))
        fail(watched, "sweep", watched->slope_fault);
    if (!watched->state.failed) return;
    PassTally *tally = &watched->validation->tallies[watched->last + 1];  // it refused the kernel
    tally->runs++;
    tally->changes++;
}

/// What the kernels of a backward add to the gradients is what the whole does.
static void compare_kernels(Watched *whole, const Watched *parts, int count) {
    BackwardRun *run = backward_run_new(whole->arena, &whole->subject);
    for (int i = count - 1; i >= 0; i--)  // the programs' own first: they fill what owners read
        backward_run_add(run, &parts[i].state, parts[i].state.backward, NULL);
    Computed together = backward_run_gradients(run);
    const char *difference =
        computed_difference(whole->arena, &whole->backward, &together, ALIKE_VALUES);
    whole->validation->tallies[row_of("part")].comparisons++;
    // Sizes may be made up so that rows overlap: programs store to one element then, where the whole adds to it.
    if (difference && together.is_plain) fail(whole, "part", difference);
}

static void compare_one_pass(Watched *whole, bool keeps_loads) {
    Watched one = *whole;
    derive(&one, keeps_loads, (BackwardPart){.kind = PART_ONE_PASS});
    if (!one.state.failed) compare_kernels(whole, &one, 1);
}

/// The kernels that share the work of one add to the gradients what it does.
static void compare_parts(Watched *whole, bool keeps_loads) {
    Watched parts[BACKWARD_MOST_REDUCTIONS + 1];
    BackwardPart owner = {.kind = PART_REDUCTION}, rest = {.kind = PART_PROGRAMS};
    int count = 0;
    for (int kernels = 1; owner.index < kernels; owner.index++) {
        parts[count] = *whole;
        derive(&parts[count], keeps_loads, owner);
        if (owner.index == 0) kernels = parts[count].state.parts.reduction_kernels;
        rest.moved[owner.index] = !parts[count].state.failed;
        count += !parts[count].state.failed;
    }
    if (count == 0) return;
    if (parts[0].state.parts.fits_one_pass) compare_one_pass(whole, keeps_loads);
    parts[count] = *whole;
    derive(&parts[count], keeps_loads, rest);
    if (!parts[count].state.failed) compare_kernels(whole, parts, count + 1);
}

bool validate_kernel(Validation *validation, const Kernel *kernel,
                     const PlanConfiguration *configuration, uint64_t seed) {
    Arena *arena = arena_new();
    Watched *watched = ARENA_NEW(arena, Watched);
    Function *forward = function_copy(arena, kernel->function, kernel->function->name, NULL);
    *watched = (Watched){.validation = validation, .arena = arena};
    watched->subject = (Subject){.forward = forward,
                                 .configuration = configuration,
                                 .joined = aliases_join(arena, kernel->definition, forward),
                                 .seed = seed};
    const BackwardPart whole = {.kind = PART_WHOLE};
    Computed first = primal_compute(arena, &watched->subject, NULL, forward, NULL);
    bool runs = watched->runs = !first.error && first.is_plain;
    derive(watched, false, whole);
    bool keeps_loads = watched->state.failed && watched->state.versions.loses_values;
    if (keeps_loads) derive(watched, true, whole);
    bool is_derived = !watched->state.failed && !watched->state.is_constant;
    if (is_derived && watched->has_backward) compare_parts(watched, keeps_loads);
    arena_free(arena);
    return runs;
}
