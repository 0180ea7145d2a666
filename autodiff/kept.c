// Looking up what a snapshot keeps, deriving what it does not. A derivation takes dozens of MiB; what it came to is a hundredth of that,
// and alone is kept.
#include "autodiff/kept.h"

#include <string.h>

#include "analysis/host/launch.h"
#include "base/budget.h"

/// What a snapshot keeps of derivations.
enum { MOST_KEPT_BYTES = 16 << 20 };

typedef struct KeptBackward {
    Backward *backward;
    Diagnostics found;
} KeptBackward;

// --- Copies that need nothing of the derivation

static const char *text_copy(Arena *arena, const char *text) {
    return text ? arena_strdup(arena, text) : NULL;
}

static const char **texts_copy(Arena *arena, const char *const *texts, int count) {
    if (!texts) return NULL;
    const char **copy = ARENA_ARRAY(arena, const char *, count + 1);
    for (int i = 0; i < count; i++) copy[i] = text_copy(arena, texts[i]);
    return copy;
}

static void *items_copy(Arena *arena, const void *items, int count, size_t size) {
    if (!items) return NULL;
    void *copy = arena_alloc(arena, (size_t)(count + 1) * size);
    if (count) memcpy(copy, items, (size_t)count * size);
    return copy;
}

#define TEXT(of, field) ((of)->field = text_copy(arena, (of)->field))
#define TEXTS(of, field, number) ((of)->field = texts_copy(arena, (of)->field, (number)))
#define ITEMS(of, field, number) \
    ((of)->field = items_copy(arena, (of)->field, (number), sizeof *(of)->field))

static void step_settle(Arena *arena, StepCheck *check) {
    TEXT(check, of);
    TEXTS(check, ranges, check->range_count);
    TEXTS(check, bounds, check->range_count);
    TEXT(check, guard);
    TEXT(check, distance);
}

static void argument_settle(Arena *arena, BackwardArgument *argument) {
    TEXT(argument, name);
    TEXT(argument, of);
    TEXT(argument, elements);
    TEXT(argument, trips);
    TEXT(argument, dtype);
    TEXT(argument, stored);
    TEXT(argument, filled);
    TEXT(argument, unfilled);
    TEXT(argument, upstream);
    TEXT(argument, input);
    TEXTS(argument, read, argument->read_count);
    TEXT(argument, same_as);
    TEXT(argument, turns);
    TEXT(argument, alone);
    TEXT(argument, programs);
    TEXT(argument, most);
}

static void block_settle(Arena *arena, LaunchBlock *block) {
    TEXT(block, name);
    TEXT(block, of);
    TEXT(block, why);
    TEXTS(block, limits, block->limit_count);
    for (int axis = 0; axis < PROGRAM_AXES; axis++) TEXT(block, ends[axis]);
    TEXT(block, extent);
    TEXTS(block, tensors, block->tensor_count);
}

static void lanes_settle(Arena *arena, LaneCount *lanes) {
    TEXT(lanes, fixed);
    TEXT(lanes, each);
}

static LoopTile *loop_copy(Arena *arena, const LoopTile *loop) {
    LoopTile *copy = ARENA_NEW(arena, LoopTile);
    *copy = *loop;
    TEXT(copy, rows);
    lanes_settle(arena, &copy->products);
    lanes_settle(arena, &copy->kept);
    lanes_settle(arena, &copy->loaded);
    TEXTS(copy, tensors, copy->tensor_count);
    return copy;
}

static void launch_settle(Arena *arena, BackwardLaunch *launch) {
    TEXT(launch, kernel);
    TEXT(launch, text);
    ITEMS(launch, arguments, launch->argument_count);
    for (int i = 0; i < launch->argument_count; i++) argument_settle(arena, &launch->arguments[i]);
    TEXT(launch, tile);
    TEXTS(launch, loaded, launch->loaded_count);
    TEXTS(launch, stages, launch->stage_count);
    ITEMS(launch, blocks, launch->block_count);
    for (int i = 0; i < launch->block_count; i++) block_settle(arena, &launch->blocks[i]);
    TEXT(launch, stream);
    TEXT(launch, elements);
    TEXT(launch, flat_end);
    TEXT(launch, flat_lanes);
    TEXT(launch, flat_run);
    TEXT(launch, row.block);
    TEXT(launch, row.length);
    TEXT(launch, turns_end);
    TEXT(launch, turns_step);
    TEXT(launch, together_least);
    DescribedLoads *described = &launch->described;
    TEXTS(described, tensors, described->tensor_count);
    TEXTS(described, strides, described->stride_count);
    TEXTS(described, ones, described->one_count);
    TEXTS(described, rows, described->row_count);
    if (launch->loop) launch->loop = loop_copy(arena, launch->loop);
}

static void gradients_settle(Arena *arena, Backward *copy) {
    ITEMS(copy, gradients, copy->gradient_count);
    for (int i = 0; i < copy->gradient_count; i++) {
        TEXT(&copy->gradients[i], input);
        TEXT(&copy->gradients[i], why);
        TEXT(&copy->gradients[i], picked);
    }
}

static void notes_settle(Arena *arena, Backward *copy) {
    ITEMS(copy, loop_notes, copy->loop_note_count);
    for (int i = 0; i < copy->loop_note_count; i++) TEXT(&copy->loop_notes[i], text);
    ITEMS(copy, steps, copy->step_count);
    for (int i = 0; i < copy->step_count; i++) {
        step_settle(arena, &copy->steps[i]);
        if (!copy->steps[i].other) continue;
        StepCheck *other = items_copy(arena, copy->steps[i].other, 1, sizeof *other);
        step_settle(arena, other);
        copy->steps[i].other = other;
    }
    ITEMS(copy, assumptions, copy->assumption_count);
    for (int i = 0; i < copy->assumption_count; i++) {
        TEXT(&copy->assumptions[i], text);
        TEXT(&copy->assumptions[i], offsets);
        TEXT(&copy->assumptions[i], blocks);
        TEXT(&copy->assumptions[i], lengths);
        TEXT(&copy->assumptions[i], indices);
        TEXT(&copy->assumptions[i], second_indices);
        TEXT(&copy->assumptions[i], second_ranges);
        TEXTS(&copy->assumptions[i], more, 2 * copy->assumptions[i].more_count);
        TEXT(&copy->assumptions[i], ranges);
        TEXT(&copy->assumptions[i], step);
        TEXT(&copy->assumptions[i], of);
        TEXT(&copy->assumptions[i], spans);
        TEXT(&copy->assumptions[i], span_counts);
        TEXT(&copy->assumptions[i], span_flags);
        TEXT(&copy->assumptions[i], span_reads);
    }
}

static Backward *copy_of(Arena *arena, const Backward *backward) {
    Backward *copy = ARENA_NEW(arena, Backward);
    *copy = *backward;
    const Function *forward = copy->kernel->function;
    int parameter_count = forward ? forward->parameter_count : 0;
    TEXT(copy, reason);
    TEXT(copy, flag_lost);
    TEXT(copy, kernel_text);
    TEXT(copy, helper_text);
    ITEMS(copy, launches, copy->launch_count);
    for (int i = 0; i < copy->launch_count; i++) launch_settle(arena, &copy->launches[i]);
    launch_settle(arena, &copy->whole);
    if (copy->whole_rows) copy->whole_rows = copy_of(arena, copy->whole_rows);
    TEXTS(copy, inputs, copy->input_count);
    TEXTS(copy, outputs, copy->output_count);
    gradients_settle(arena, copy);
    copy->given = items_copy(arena, copy->given, copy->given_count, sizeof *copy->given);
    TEXT(copy, scalars_lost);
    notes_settle(arena, copy);
    copy->joined = items_copy(arena, copy->joined, parameter_count, sizeof *copy->joined);
    TEXTS(copy, stored, copy->kernel->definition->parameter_count);
    return copy;
}

static void findings_copy(const Diagnostics *from, Diagnostics *to) {
    for (LIST_EACH(int, i, from->list)) {
        Diagnostic copy = from->list.items[i];
        copy.message = text_copy(to->arena, copy.message);
        copy.related =
            items_copy(to->arena, copy.related, copy.related_count, sizeof *copy.related);
        for (int k = 0; k < copy.related_count; k++)
            copy.related[k].message = text_copy(to->arena, copy.related[k].message);
        LIST_PUSH(to->arena, &to->list, copy);
    }
}

// --- What is kept

/// Whether comments of the kernels say what the Function would check.
static bool tells_by_wrapper(Arena *arena, const Backward *backward) {
    const Function *forward = backward->kernel->function;
    bool is_told =
        backward->step_count > 0 && !host_launches(arena, forward->definition, forward).count;
    for (int i = 0; i < backward->step_count; i++)
        is_told |= backward->steps[i].is_of_windows || backward->steps[i].is_of_stores;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) is_told |= backward->single_axes[axis];
    for (int i = 0; i < backward->launch_count; i++)  // of which only a Function knows the grid
        is_told |= backward->launches[i].has_together || backward->launches[i].is_sliced;
    return is_told;
}

static Str key_of(Arena *arena, const Kernel *kernel, WrapperKind wrapper) {
    return str_from(arena_printf(arena, "%p %d", (const void *)kernel, (int)wrapper));
}

/// A derivation for a Function does without one, too, where neither a comment nor a kernel differs.
static const KeptBackward *kept_find(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                                     WrapperKind wrapper) {
    const KeptBackward *kept = memo_find(snapshot->derivations, key_of(arena, kernel, wrapper));
    if (kept || wrapper != WRAPPER_NONE) return kept;
    kept = memo_find(snapshot->derivations, key_of(arena, kernel, WRAPPER_AUTOGRAD));
    return kept && !tells_by_wrapper(arena, kept->backward) ? kept : NULL;
}

static void keep(const Snapshot *snapshot, WrapperKind wrapper, const Backward *backward,
                 const Diagnostics *found) {
    if (backward->given_count || memo_bytes(snapshot->derivations) >= MOST_KEPT_BYTES) return;
    Arena *own = arena_new();
    KeptBackward *kept = ARENA_NEW(own, KeptBackward);
    kept->backward = copy_of(own, backward);
    kept->found.arena = own;
    findings_copy(found, &kept->found);
    Str key = key_of(own, backward->kernel, wrapper);
    memo_keep(snapshot->derivations, key, own, kept);
}

Backward *backward_kept(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                        WrapperKind wrapper, Diagnostics *diagnostics) {
    const KeptBackward *kept = kept_find(arena, snapshot, kernel, wrapper);
    if (kept) {
        if (diagnostics) findings_copy(&kept->found, diagnostics);
        return copy_of(arena, kept->backward);
    }
    const BackwardOptions options = {.wrapper = wrapper};
    Diagnostics found = {.arena = arena};
    Backward *backward = backward_derive(arena, snapshot, kernel, &options, &found);
    StepBudget *paused = budget_pause();  // it outlives the request
    keep(snapshot, wrapper, backward, &found);
    budget_resume(paused);
    if (diagnostics) findings_copy(&found, diagnostics);
    return backward;
}
