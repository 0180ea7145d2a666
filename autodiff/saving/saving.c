// Text in, text out: a forward that stores more is an ordinary kernel, whose backward loads what it stored (tape/saved.c, statistics.c).
#include "autodiff/saving/saving.h"

#include <string.h>

#include "autodiff/backward.h"
#include "autodiff/emit/emitted.h"
#include "autodiff/saving/saving_text.h"

enum { MOST_KERNELS = 16 };  // with candidates: each is derived three times

typedef struct SavingSearch {
    Arena *arena;
    const BackwardOptions *options;
    Saving found;
    int kernels;  // that had candidates
} SavingSearch;

/// A kernel that stores some candidates, and what its backward then is.
typedef struct Attempt {
    Snapshot *snapshot;
    const Backward *backward;
    RowValues used;  // those that the backward loads
} Attempt;

static bool is_loaded(const Backward *backward, const char *parameter) {
    for (int i = 0; i < backward->launch_count; i++)
        for (int k = 0; k < backward->launches[i].argument_count; k++) {
            const BackwardArgument *argument = &backward->launches[i].arguments[k];
            if (argument->use == ARGUMENT_SAME && strcmp(argument->of, parameter) == 0) return true;
        }
    return false;
}

void saving_mark(Snapshot *snapshot, const SavedValues *values) {
    Arena *arena = snapshot->arena;
    for (LIST_EACH(int, i, *values)) {
        SavedValue copy = values->items[i];
        copy.kernel = arena_strdup(arena, copy.kernel);
        copy.parameter = arena_strdup(arena, copy.parameter);
        copy.value = copy.value ? arena_strdup(arena, copy.value) : NULL;
        LIST_PUSH(arena, &snapshot->saved, copy);
    }
}

static void attempt_end(Attempt *attempt) {
    snapshot_release(attempt->snapshot);
    *attempt = (Attempt){0};
}

/// Derives the kernel that stores these values. Whether there is a backward.
static bool attempt(SavingSearch *search, const Kernel *kernel, const RowValues *values,
                    Attempt *attempt) {
    *attempt = (Attempt){0};
    Arena *arena = search->arena;
    const Snapshot *snapshot = search->found.snapshot;
    const char **names = ARENA_ARRAY(arena, const char *, values->count + 1);
    const char *text = values->count ? saving_text(arena, snapshot, kernel, values, names) : NULL;
    if (!text) return false;
    attempt->snapshot = snapshot_build(snapshot->source->path, str_from(text), &snapshot->options);
    const Kernel *own = snapshot_find_kernel(attempt->snapshot, kernel->definition->name);
    if (!own || !own->function || attempt->snapshot->module->has_syntax_errors) return false;
    saving_mark(attempt->snapshot, &snapshot->saved);
    for (LIST_EACH(int, i, *values)) {
        const SavedValue saved = {.kernel = kernel->function->name,
                                  .parameter = names[i],
                                  .value = values->items[i].expression,
                                  .is_row = values->items[i].lanes.size > 0};
        saving_mark(attempt->snapshot, &(SavedValues){.items = (SavedValue[]){saved}, .count = 1});
    }
    attempt->backward = backward_derive(arena, attempt->snapshot, own, search->options, NULL);
    if (attempt->backward->status != BACKWARD_DERIVED) return false;
    for (LIST_EACH(int, i, *values))
        if (is_loaded(attempt->backward, names[i]))
            LIST_PUSH(arena, &attempt->used, values->items[i]);
    return true;
}

/// What loops of the backward do: loads, products and reductions that stand in them.
static int loop_work(const Backward *backward) {
    int work = 0;
    for (int i = 0; i < backward->launch_count; i++) work += backward->launches[i].loop_work;
    return work;
}

static bool is_better(const Backward *saving, const Backward *plain) {
    return loop_work(saving) < loop_work(plain) && saving->atomics <= plain->atomics &&
           saving->launch_count <= plain->launch_count &&
           saving->input_count >= plain->input_count &&
           saving->assumption_count <= plain->assumption_count;
}

/// Tries these values, and keeps what the backward loads of them, if it has less to do then.
static bool try_values(SavingSearch *search, const Kernel *kernel, const Backward *plain,
                       const RowValues *values) {
    Attempt first, chosen;
    bool is_derived = attempt(search, kernel, values, &first);
    RowValues used = first.used;
    if (is_derived && used.count == values->count) {
        chosen = first;
    } else {
        attempt_end(&first);
        is_derived = is_derived && attempt(search, kernel, &used, &chosen) &&
                     chosen.used.count == used.count;
        if (!is_derived) return false;
    }
    if (!is_better(chosen.backward, plain)) {
        attempt_end(&chosen);
        return false;
    }
    saving_close(&search->found);
    search->found.snapshot = chosen.snapshot;
    search->found.is_own = true;
    return true;
}

/// The candidates that are, or are not, of loops of which a log-sum is tried; at most one log-sum for each loop.
static RowValues chosen_of(Arena *arena, const RowValues *all, bool takes_log_sums) {
    RowValues chosen = {0};
    for (LIST_EACH(int, i, *all)) {
        const RowValue *candidate = &all->items[i];
        bool has_log_sum = false, is_again = false;
        for (LIST_EACH(int, k, *all)) {
            const RowValue *other = &all->items[k];
            bool is_of_loop =
                other->is_log_sum && candidate->loop && other->loop == candidate->loop;
            has_log_sum |= is_of_loop;
            is_again |= is_of_loop && k < i;
        }
        bool is_wanted = takes_log_sums ? (candidate->is_log_sum ? !is_again : !has_log_sum)
                                        : !candidate->is_log_sum;
        is_wanted &= !candidate->is_covered;
        if (is_wanted) LIST_PUSH(arena, &chosen, *candidate);
    }
    return chosen;
}

static void save_for(SavingSearch *search, Str name) {
    const Kernel *kernel = snapshot_find_kernel(search->found.snapshot, name);
    bool is_forward = kernel && kernel->function && kernel_is_forward(kernel) &&
                      !kernel_of_backward(search->found.snapshot, kernel);
    if (!is_forward) return;
    RowValues all = saving_candidates(search->arena, search->found.snapshot, kernel);
    if (!all.count || search->kernels++ >= MOST_KERNELS) return;
    const Backward *plain =
        backward_derive(search->arena, search->found.snapshot, kernel, search->options, NULL);
    if (plain->status != BACKWARD_DERIVED) return;
    RowValues with = chosen_of(search->arena, &all, true);
    RowValues without = chosen_of(search->arena, &all, false);
    if (!try_values(search, kernel, plain, &with) && without.count)
        try_values(search, kernel, plain, &without);
}

Saving saving_open(Arena *arena, const Snapshot *snapshot, const BackwardOptions *options,
                   const char *only) {
    SavingSearch search = {.arena = arena, .options = options, .found = {.snapshot = snapshot}};
    LIST(Str) names = {0};
    // Without a Function nobody passes the buffers; an operator returns all that it writes.
    if (options && options->wrapper != WRAPPER_AUTOGRAD) return search.found;
    for (LIST_EACH(int, i, snapshot->kernels)) {
        Str name = snapshot->kernels.items[i].definition->name;
        if (!only || str_is(name, only)) LIST_PUSH(arena, &names, name);
    }
    for (LIST_EACH(int, i, names)) save_for(&search, names.items[i]);
    return search.found;
}

void saving_close(Saving *saving) {
    if (saving->is_own) snapshot_release(saving->snapshot);
    saving->is_own = false;
}

const Kernel *saving_kernel(const Saving *saving, const Kernel *kernel) {
    const Kernel *own = snapshot_find_kernel(saving->snapshot, kernel->definition->name);
    return own ? own : kernel;
}

Snapshot *saving_origin(Arena *arena, Snapshot *origin, Str module,
                        const BackwardOptions *options) {
    if (!origin || !module_saved(arena, module).count) return origin;
    Saving saving = saving_open(arena, origin, options, NULL);
    if (!saving.is_own) return origin;
    snapshot_release(origin);
    Snapshot *found = snapshot_retain(saving.snapshot);
    saving_close(&saving);
    return found;
}
