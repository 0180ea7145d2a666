// Text in, text out: a forward that stores more is an ordinary kernel, whose backward loads what it stored (tape/saved.c, statistics.c).
#include "autodiff/saving/saving.h"

#include <string.h>

#include "autodiff/emit/emitted.h"
#include "autodiff/kept.h"
#include "autodiff/saving/saving_text.h"
#include "base/budget.h"
#include "base/error.h"

enum {
    MOST_KERNELS = 16
};  // whose backward runs a loop of the forward again: each is derived some times more

typedef struct SavingSearch {
    Arena *arena;
    const BackwardOptions *options;
    const Snapshot *file;
    Snapshot *found;  // the file so far; a holder's
    int kernels;      // that were tried
} SavingSearch;

/// Which of a kernel's candidates are worth it: bits.
typedef struct SavingChoice {
    unsigned candidates;
} SavingChoice;

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

static void attempt_end(Attempt *attempt) {
    snapshot_release(attempt->snapshot);
    *attempt = (Attempt){0};
}

static void mark(Snapshot *snapshot, const SavedValue *value) {
    Arena *arena = snapshot->arena;
    const SavedValue copy = {.kernel = arena_strdup(arena, value->kernel),
                             .parameter = arena_strdup(arena, value->parameter),
                             .value = arena_strdup(arena, value->value),
                             .lanes = arena_strdup(arena, value->lanes),
                             .columns = arena_strdup(arena, value->columns),
                             .is_choice = value->is_choice};
    LIST_PUSH(arena, &snapshot->saved, copy);
}

static void note_pieces(Snapshot *snapshot, const SavedPieces *pieces) {
    Arena *arena = snapshot->arena;
    for (LIST_EACH(int, i, *pieces)) {
        const SavedPiece *piece = &pieces->items[i];
        const SavedPiece copy = {arena_strdup(arena, piece->from), arena_strdup(arena, piece->to)};
        LIST_PUSH(arena, &snapshot->saved_pieces, copy);
    }
}

/// The file with a kernel that stores these values besides what the file's kernels store already; NULL where that cannot be written.
static Snapshot *snapshot_saving(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                                 const RowValues *values, const char **names) {
    SavedPieces pieces = {0};
    const char *text =
        values->count ? saving_text(arena, snapshot, kernel, values, names, &pieces) : NULL;
    if (!text) return NULL;
    const SnapshotOptions options = {.resolver = snapshot->options.resolver,
                                     .imports_version = snapshot->options.imports_version,
                                     .skip_checks = true};
    Snapshot *own = snapshot_build(snapshot->source->path, str_from(text), &options);
    const Kernel *found = snapshot_find_kernel(own, kernel->definition->name);
    if (!found || !found->function || own->module->has_syntax_errors) {
        snapshot_release(own);
        return NULL;
    }
    for (LIST_EACH(int, i, snapshot->saved)) mark(own, &snapshot->saved.items[i]);
    note_pieces(own, &snapshot->saved_pieces);
    note_pieces(own, &pieces);
    Str unsaved = snapshot->unsaved.size ? snapshot->unsaved : snapshot->source->text;
    own->unsaved = (Str){str_dup(own->arena, unsaved), unsaved.size};
    for (LIST_EACH(int, i, *values)) {
        const SavedValue saved = {.kernel = kernel->function->name,
                                  .parameter = names[i],
                                  .value = values->items[i].expression,
                                  .lanes = str_dup(arena, values->items[i].lanes),
                                  .columns = str_dup(arena, values->items[i].columns),
                                  .is_choice = values->items[i].is_choice};
        mark(own, &saved);
    }
    return own;
}

static bool is_usual(const BackwardOptions *options) {
    return !options || (!options->wrt_count && !options->is_untuned);
}

/// Once for each kernel of a snapshot, where nobody chooses anything.
static Backward *derive(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                        Diagnostics *diagnostics) {
    WrapperKind wrapper = options ? options->wrapper : WRAPPER_AUTOGRAD;
    return is_usual(options)
               ? backward_kept(arena, kernel->snapshot, kernel, wrapper, diagnostics)
               : backward_derive(arena, kernel->snapshot, kernel, options, diagnostics);
}

/// Derives the kernel that stores these values. Whether there is a backward. Where the derivation is ended, so is this.
static bool attempt(const SavingSearch *search, const Kernel *kernel, const RowValues *values,
                    Attempt *attempt) {
    *attempt = (Attempt){0};
    Arena *arena = search->arena;
    const char **names = ARENA_ARRAY(arena, const char *, values->count + 1);
    Snapshot *volatile own = snapshot_saving(arena, search->file, kernel, values, names);
    if (!own) return false;
    attempt->snapshot = own;
    BugGuard guard;
    if (!BUG_GUARD(&guard)) {
        snapshot_release(own);
        bug_raise_again(&guard);
    }
    const Kernel *storing = snapshot_find_kernel(own, kernel->definition->name);
    attempt->backward = derive(arena, storing, search->options, NULL);
    bug_guard_end(&guard);
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

/// How often the backward draws random numbers that the forward drew.
static int draws(const Backward *backward) {
    int count = 0;
    for (int i = 0; i < backward->launch_count; i++) count += backward->launches[i].draws;
    return count;
}

static bool is_better(const Backward *saving, const Backward *plain) {
    int work = loop_work(plain) - loop_work(saving), drawn = draws(plain) - draws(saving);
    // what was drawn is loaded instead, in a loop as well
    bool has_less = drawn > 0 ? work >= -drawn : drawn == 0 && work > 0;
    return has_less && saving->atomics <= plain->atomics &&
           saving->launch_count <= plain->launch_count &&
           saving->input_count >= plain->input_count &&
           saving->assumption_count <= plain->assumption_count;
}

/// Tries these values: what the backward loads of them, if it has less to do then; else no snapshot.
static Attempt try_values(const SavingSearch *search, const Kernel *kernel, const Backward *plain,
                          const RowValues *values) {
    Attempt first, chosen = {0};
    bool is_derived = attempt(search, kernel, values, &first);
    const RowValues used = first.used;
    if (is_derived && used.count == values->count) {
        chosen = first;
    } else {
        attempt_end(&first);
        is_derived = is_derived && attempt(search, kernel, &used, &chosen) &&
                     chosen.used.count == used.count;
    }
    if (!is_derived || !is_better(chosen.backward, plain)) attempt_end(&chosen);
    return chosen;
}

/// The candidates that are, or are not, of loops of which a log-sum is tried; at most one log-sum for each loop. With `takes_covered` also
/// those that only serve to make others.
static RowValues chosen_of(Arena *arena, const RowValues *all, bool takes_log_sums,
                           bool takes_covered) {
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
        is_wanted &= takes_covered || !candidate->is_covered;
        if (is_wanted) LIST_PUSH(arena, &chosen, *candidate);
    }
    return chosen;
}

/// Whether the backward runs a loop of the forward again, or draws its numbers: else nothing that is stored could spare that.
static bool has_work_again(const Backward *backward) {
    if (draws(backward)) return true;
    for (int i = 0; i < backward->launch_count; i++)
        if (backward->launches[i].loops_again) return true;
    return false;
}

static SavingChoice choice_of(const RowValues *all, const RowValues *used) {
    SavingChoice choice = {0};
    for (LIST_EACH(int, i, *all))
        for (LIST_EACH(int, k, *used))
            if (strcmp(all->items[i].expression, used->items[k].expression) == 0)
                choice.candidates |= 1u << i;
    return choice;
}

/// Whether the file holds kernels of the backward's: they belong to the forward as it is.
static bool stands_in(const Snapshot *file, const Backward *backward) {
    for (int i = 0; i < backward->launch_count; i++)
        if (module_find_function(file->module, str_from(backward->launches[i].kernel))) return true;
    return false;
}

/// Derives the kernel with what may be worth it. `*chosen` becomes the file with what is; or NULL.
static SavingChoice search_kernel(SavingSearch *search, const Kernel *kernel, const RowValues *all,
                                  Snapshot **chosen) {
    const SavingChoice none = {0};
    const Backward *plain = derive(search->arena, kernel, search->options, NULL);
    if (plain->status != BACKWARD_DERIVED || !has_work_again(plain)) return none;
    if (stands_in(search->file, plain)) return none;
    if (search->kernels++ >= MOST_KERNELS) return none;
    RowValues with = chosen_of(search->arena, all, true, false);
    RowValues without = chosen_of(search->arena, all, false, false);
    RowValues every = chosen_of(search->arena, all, false, true);
    Attempt best = try_values(search, kernel, plain, &with);
    if (!best.snapshot && without.count && without.count != with.count)
        best = try_values(search, kernel, plain, &without);
    const Backward *so_far = best.snapshot ? best.backward : plain;
    if (every.count != without.count && has_work_again(so_far)) {
        // what a value was made of may be needed beside it: a norm that is bounded from below
        Attempt more = try_values(search, kernel, so_far, &every);
        if (more.snapshot) {
            attempt_end(&best);
            best = more;
        }
    }
    *chosen = best.snapshot;
    return best.snapshot ? choice_of(all, &best.used) : none;
}

static Str choice_key(Arena *arena, const Kernel *kernel) {
    return str_from(arena_printf(arena, "saving %p", (const void *)kernel));
}

static void keep_choice(const Kernel *kernel, SavingChoice choice) {
    StepBudget *paused = budget_pause();  // it outlives the request
    Arena *own = arena_new();
    SavingChoice *kept = ARENA_NEW(own, SavingChoice);
    *kept = choice;
    memo_keep(kernel->snapshot->derivations, choice_key(own, kernel), own, kept);
    budget_resume(paused);
}

/// Puts the choice of one kernel into the file so far.
static void take_choice(SavingSearch *search, Str name, SavingChoice choice) {
    Arena *arena = search->arena;
    const Kernel *kernel = snapshot_find_kernel(search->found, name);
    RowValues all = saving_candidates(arena, search->found, kernel), chosen = {0};
    for (LIST_EACH(int, i, all))
        if (choice.candidates & 1u << i) LIST_PUSH(arena, &chosen, all.items[i]);
    const char **names = ARENA_ARRAY(arena, const char *, chosen.count + 1);
    Snapshot *own = snapshot_saving(arena, search->found, kernel, &chosen, names);
    if (!own) return;
    snapshot_release(search->found);
    search->found = own;
}

static void save_for(SavingSearch *search, const Kernel *kernel) {
    bool is_forward =
        kernel->function && kernel_is_forward(kernel) && !kernel_of_backward(search->file, kernel);
    if (!is_forward) return;
    RowValues all = saving_candidates(search->arena, search->file, kernel);
    if (!all.count) return;
    bool is_kept = is_usual(search->options);
    const SavingChoice *kept =
        is_kept ? memo_find(search->file->derivations, choice_key(search->arena, kernel)) : NULL;
    Snapshot *chosen = NULL;
    SavingChoice choice = kept ? *kept : search_kernel(search, kernel, &all, &chosen);
    if (is_kept && !kept) keep_choice(kernel, choice);
    if (chosen && search->found == search->file) {
        snapshot_release(search->found);
        search->found = chosen;
        return;
    }
    snapshot_release(chosen);
    if (choice.candidates) take_choice(search, kernel->definition->name, choice);
}

static bool is_asked(const SavingWish *wish, const Kernel *kernel) {
    if (!wish) return true;
    for (int i = 0; i < wish->count; i++)
        if (wish->kernels[i] == kernel) return true;
    return false;
}

/// Where it is ended, nobody holds the file so far any longer.
static void search_all(SavingSearch *search, const SavingWish *wish) {
    BugGuard guard;
    if (!BUG_GUARD(&guard)) {
        snapshot_release(search->found);
        bug_raise_again(&guard);
    }
    for (LIST_EACH(int, i, search->file->kernels)) {
        const Kernel *kernel = &search->file->kernels.items[i];
        if (is_asked(wish, kernel)) save_for(search, kernel);
    }
    bug_guard_end(&guard);
}

Saving saving_open(Arena *arena, const Snapshot *snapshot, const BackwardOptions *options,
                   const SavingWish *wish) {
    // Without a Function nobody makes the buffers; an operator returns all that it writes.
    bool has_functions = !options || options->wrapper == WRAPPER_AUTOGRAD;
    if (!has_functions || snapshot->saved.count) return (Saving){snapshot, false};
    SavingSearch search = {
        .arena = arena, .options = options, .file = snapshot, .found = snapshot_retain(snapshot)};
    search_all(&search, wish);
    return (Saving){search.found, true};
}

Saving saving_of(Arena *arena, const Snapshot *snapshot, const BackwardOptions *options,
                 const Kernel *kernel) {
    const SavingWish wish = {&kernel, 1};
    return saving_open(arena, snapshot, options, kernel ? &wish : NULL);
}

void saving_close(Saving *saving) {
    if (saving->is_own) snapshot_release(saving->snapshot);
    saving->is_own = false;
}

const Kernel *saving_kernel(const Saving *saving, const Kernel *kernel) {
    if (kernel->snapshot == saving->snapshot) return kernel;
    const Kernel *own = snapshot_find_kernel(saving->snapshot, kernel->definition->name);
    return own ? own : kernel;
}

bool saving_has(const Saving *saving, const Kernel *kernel) {
    for (LIST_EACH(int, i, saving->snapshot->saved))
        if (str_is(kernel->definition->name, saving->snapshot->saved.items[i].kernel)) return true;
    return false;
}

Backward *saving_derive(Arena *arena, const Saving *saving, const Kernel *kernel,
                        const BackwardOptions *options, Diagnostics *diagnostics) {
    const Kernel *own = saving_kernel(saving, kernel);
    if (own == kernel || !saving_has(saving, kernel)) {
        bool was_tried = own == kernel && is_usual(options) &&
                         memo_find(kernel->snapshot->derivations, choice_key(arena, kernel));
        return was_tried ? derive(arena, kernel, options, diagnostics)
                         : backward_derive(arena, own->snapshot, own, options, diagnostics);
    }
    derive(arena, kernel, options, diagnostics);
    return derive(arena, own, options, NULL);
}

// --- As a module has it

/// The candidates that a module's kernel stores, in its order; fewer than it names: the kernel has another text by now.
static RowValues candidates_named(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                                  const SavedValues *values) {
    RowValues all = saving_candidates(arena, snapshot, kernel), found = {0};
    for (LIST_EACH(int, i, *values)) {
        if (!str_is(kernel->definition->name, values->items[i].kernel)) continue;
        for (LIST_EACH(int, k, all)) {
            if (strcmp(all.items[k].expression, values->items[i].value) != 0) continue;
            LIST_PUSH(arena, &found, all.items[k]);
            break;
        }
    }
    return found;
}

static int count_of(const SavedValues *values, Str kernel) {
    int count = 0;
    for (LIST_EACH(int, i, *values)) count += str_is(kernel, values->items[i].kernel);
    return count;
}

Snapshot *saving_as(Arena *arena, Snapshot *plain, const SavedValues *values) {
    Snapshot *found = plain;
    for (LIST_EACH(int, i, *values)) {
        Str name = str_from(values->items[i].kernel);
        const Kernel *kernel = snapshot_find_kernel(found, name);
        if (!kernel || !kernel->function || count_of(&found->saved, name)) continue;
        RowValues chosen = candidates_named(arena, found, kernel, values);
        const char **names = ARENA_ARRAY(arena, const char *, chosen.count + 1);
        if (chosen.count != count_of(values, name)) continue;
        Snapshot *own = snapshot_saving(arena, found, kernel, &chosen, names);
        if (!own) continue;
        snapshot_release(found);
        found = own;
    }
    return found;
}
