// The conversation is one: each answer is followed by what became of it, in the words of who says so. A candidate that is not better than
// the best is dropped, and the model is given the best again.
#include "server/phases/phase.h"

#include <math.h>

#include "autodiff/emit/emitted.h"
#include "codeactions/codeactions.h"
#include "features/features.h"
#include "server/proofs/pair.h"
#include "server/report/diff.h"
#include "server/text/resolve.h"

#define SYSTEM                                                                                     \
    "You rewrite the bodies of Triton kernels that compute gradients.\n"                           \
    "Answer with the whole kernels that you change, in one ```python block, and nothing else in "  \
    "it. Decorators, names, parameters and everything else of the file are locked: only the lines " \
    "below a kernel's signature are taken. Use `tl` and the helpers of the file, no imports.\n"    \
    "Each answer is parsed, checked, and run by an interpreter in double precision against "       \
    "differences of the forward, with several sizes and launches; what is wrong, reads or writes " \
    "out of bounds, or lets two programs write one element, is refused. Masks and dtypes have to " \
    "be right for every size."

typedef struct PhaseRow {
    const char *name, *task, *gain;
} PhaseRow;

static const PhaseRow rows[PHASE_COUNT] = {
#define PHASE(id, name, task, gain) [PHASE_##id] = {name, task, gain},
#include "server/phases/phases.def"
#undef PHASE
};

PhaseId phase_find(const char *name) {
    for (int i = 0; i < PHASE_COUNT; i++)
        if (strcmp(rows[i].name, name) == 0) return (PhaseId)i;
    return PHASE_COUNT;
}

const char *phase_name(PhaseId id) { return rows[id].name; }

const char *phase_names(Arena *arena) {
    Buffer out = buffer_new(arena);
    for (int i = 0; i < PHASE_COUNT; i++) buffer_printf(&out, "%s%s", i ? ", " : "", rows[i].name);
    return buffer_text(&out);
}

/// Whether a GPU's clock has a word, where there is one.
static bool is_timed(PhaseId id) { return id == PHASE_FASTER || id == PHASE_TIDY; }

// --- the first question

static const char *time_words(Arena *arena, const BackwardTime *time) {
    return arena_printf(arena, "%.4g ms (%.4g to %.4g)", time->median_ms, time->low_ms,
                        time->high_ms);
}

static void put_cost(Arena *arena, Buffer *out, const Judged *judged) {
    for (LIST_EACH(int, i, judged->open.names)) {
        const char *name = judged->open.names.items[i];
        const Kernel *kernel = snapshot_find_kernel(judged->snapshot, str_from(name));
        const char *cost = kernel ? cost_summary(arena, kernel, NULL) : NULL;
        if (cost) buffer_printf(out, "`%s`: %s\n", name, cost);
    }
}

/// Helpers of the file that one of the texts names.
static void put_helpers(Arena *arena, Buffer *out, const Snapshot *snapshot, const char *kernels) {
    for (LIST_EACH(int, i, snapshot->module->functions)) {
        const FunctionDefinition *function = snapshot->module->functions.items[i];
        const char *call = arena_printf(arena, "%.*s(", STR_ARGS(function->name));
        bool is_used = function->is_jit && function->is_helper && strstr(kernels, call);
        if (is_used) buffer_printf(out, "\n%.*s\n", STR_ARGS(source_slice(function->range)));
    }
}

static const char *first_question(const PhaseRun *run) {
    Arena *arena = run->arena;
    const Snapshot *snapshot = run->base.snapshot;
    const Kernel *forward = snapshot_find_kernel(snapshot, str_from(run->gate.forward));
    const char *open = bodies_text(arena, snapshot, &run->base.open);
    Buffer out = buffer_new(arena);
    Buffer context = buffer_new(arena);
    buffer_printf(&context, "%.*s\n", STR_ARGS(source_slice(forward->definition->range)));
    put_helpers(arena, &context, snapshot,
                arena_printf(arena, "%s%s", buffer_text(&context), open));
    buffer_printf(&out, "%s\n\nThe forward, which is locked:\n\n```python\n%s```\n\n",
                  rows[run->id].task, buffer_text(&context));
    buffer_printf(&out, "The kernels of its backward:\n\n```python\n%s```\n\n", open);
    if (run->id == PHASE_REPAIR)
        buffer_printf(&out, "The check says: %s\n", run->base.refused);
    else
        put_cost(arena, &out, &run->base);
    if (is_timed(run->id) && !run->base_time.missing)
        buffer_printf(&out, "Together they take %s on %s.\n", time_words(arena, &run->base_time),
                      run->base_time.device);
    if (run->id == PHASE_TIDY && run->base.findings)
        buffer_printf(&out, "The check finds:\n%s",
                      bodies_findings_text(arena, snapshot, &run->base.open));
    return buffer_text(&out);
}

static void say_turn(PhaseRun *run, bool is_answer, const char *text) {
    LIST_PUSH(run->arena, &run->chat.turns, (ChatTurn){is_answer, text});
}

Error phase_begin(Arena *arena, const Options *options, const char *path, const char *text,
                  const char *forward, PhaseId id, Asker *asker, PhaseRun *run) {
    *run = (PhaseRun){.arena = arena,
                      .id = id,
                      .asker = asker,
                      .gate = {arena, options, path, forward, NULL},
                      .chat.system = SYSTEM};
    run->base = run->best = judge(&run->gate, text);
    bool is_run = run->base.report != NULL, is_proved = !run->base.refused;
    if (id == PHASE_REPAIR && is_proved)
        return arena_printf(arena, "the gradients of `%s` are proved: nothing to repair", forward);
    if (!is_proved && (id != PHASE_REPAIR || !is_run))
        return arena_printf(arena, "the backward of `%s` as it is: %s", forward, run->base.refused);
    run->gate.base = &run->base;
    if (is_timed(id)) {
        run->base_time = run->best_time =
            backward_time(&run->gate, run->asker, run->base.snapshot->source->text);
    }
    say_turn(run, false, first_question(run));
    return NULL;
}

// --- answers

static const char *measured(const PhaseRun *run, const Judged *judged) {
    const BackwardTime *time = judged == &run->base ? &run->base_time : &run->best_time;
    if (run->id == PHASE_TIDY)
        return arena_printf(run->arena, "%d parts and %d finding%s", judged->size, judged->findings,
                            judged->findings == 1 ? "" : "s");
    if (run->id == PHASE_REPAIR)
        return arena_printf(run->arena, "worst error %.1e", judged->worst_error);
    if (run->id == PHASE_FASTER && !time->missing) return time_words(run->arena, time);
    return arena_printf(run->arena, "%.4g ns a program", judged->cost);
}

/// Equal but for rounding.
static bool is_more(double a, double b) { return a > b * (1 + 1e-9); }

/// No finding more, and fewer of them or less text.
static bool is_tidier(const Judged *judged, const Judged *best) {
    if (judged->findings != best->findings) return judged->findings < best->findings;
    return judged->size < best->size;
}

/// Why the estimate says that the candidate costs more than the best text; NULL: it does not.
static const char *estimated_loss(const PhaseRun *run, const Judged *judged) {
    Arena *arena = run->arena;
    if (!(judged->cost >= 0))
        return arena_printf(arena, "right, but what it moves and computes is not known");
    if (is_more(judged->atomics, run->best.atomics))
        return arena_printf(arena,
                            "right, but its atomics move more: %.4g bytes a program, were %.4g; "
                            "nothing here can time whether they wait for each other",
                            judged->atomics, run->best.atomics);
    if (run->id == PHASE_TIDY && is_more(judged->cost, run->best.cost))
        return arena_printf(arena,
                            "right, but it moves or computes more than before (%.4g, was %.4g)",
                            judged->cost, run->best.cost);
    return NULL;
}

static void take_over(PhaseRun *run, const Judged *judged) {
    if (run->best.snapshot != run->base.snapshot) judged_free(&run->best);
    run->best = *judged;
}

/// The GPU decides: faster is what has its median below all but the fastest tenth of the best text's runs.
static const char *weigh_time(PhaseRun *run, Judged *judged, bool *is_kept) {
    Arena *arena = run->arena;
    BackwardTime time = backward_time(&run->gate, run->asker, judged->snapshot->source->text);
    if (time.missing) return arena_printf(arena, "right, but it has no time: %s", time.missing);
    *is_kept = time.median_ms < run->best_time.low_ms;
    const char *words = arena_printf(
        arena, "%s: %s, was %s, timed on %s", *is_kept ? "faster" : "right, but not faster",
        time_words(arena, &time), time_words(arena, &run->best_time), time.device);
    if (!*is_kept) return words;
    take_over(run, judged);
    run->best_time = time;
    return words;
}

/// A tidier text may not be slower than that of the beginning was in nine of ten runs: many small losses are no gain.
static const char *timed_loss(const PhaseRun *run, const Judged *judged) {
    Arena *arena = run->arena;
    BackwardTime time = backward_time(&run->gate, run->asker, judged->snapshot->source->text);
    if (time.missing) return arena_printf(arena, "right, but it has no time: %s", time.missing);
    if (time.median_ms <= run->base_time.high_ms) return NULL;
    return arena_printf(arena, "right, but slower: %s, was %s, timed on %s",
                        time_words(arena, &time), time_words(arena, &run->base_time), time.device);
}

/// Takes a candidate that passes over where it is better. What became of it.
static const char *weigh(PhaseRun *run, Judged *judged, bool *is_kept) {
    Arena *arena = run->arena;
    const char *gain = rows[run->id].gain;
    if (run->id == PHASE_REPAIR) {
        *is_kept = true;
        take_over(run, judged);
        run->stopped = "the gradients are proved";
        return arena_printf(arena, "%s: %s", gain, measured(run, judged));
    }
    if (run->id == PHASE_FASTER && !run->base_time.missing) return weigh_time(run, judged, is_kept);
    bool is_clocked = is_timed(run->id) && !run->base_time.missing;
    *is_kept = run->id == PHASE_TIDY ? is_tidier(judged, &run->best)
                                     : is_more(run->best.cost, judged->cost);
    const char *loss = NULL;
    if (is_clocked)
        loss = *is_kept ? timed_loss(run, judged) : NULL;
    else if (*is_kept || run->id != PHASE_TIDY)
        loss = estimated_loss(run, judged);
    if (loss) {
        *is_kept = false;
        return loss;
    }
    const char *words = arena_printf(
        arena, "%s: %s, was %s", *is_kept ? gain : arena_printf(arena, "right, but not %s", gain),
        measured(run, judged), measured(run, &run->best));
    if (*is_kept) take_over(run, judged);
    return words;
}

static PhaseTry try_answer(PhaseRun *run, const ChatReply *reply) {
    Arena *arena = run->arena;
    const char *why = NULL, *old = run->best.snapshot->source->text.data;
    PhaseTry try
        = {.diff = ""};
    const char *text =
        reply->is_cut ? NULL
                      : bodies_take(arena, run->best.snapshot, &run->best.open, reply->text, &why);
    if (!text) {
        try
            .words = arena_printf(arena, "cannot be used: %s", why ? why : "it was cut off");
        return try
            ;
    }
    try
        .diff = diff_unified(arena, run->gate.path, old, run->gate.path, text);
    if (!*try.diff) {
        try
            .words = "the same text as before";
        return try
            ;
    }
    Judged judged = judge(&run->gate, text);
    if (judged.refused) try
            .words = arena_printf(arena, "refused: %s", judged.refused);
    else
        try
            .words = weigh(run, &judged, &try.is_kept);
    if (!try.is_kept) judged_free(&judged);
    return try
        ;
}

static void take_reply(PhaseRun *run, const ChatReply *reply) {
    Arena *arena = run->arena;
    PhaseTry try
        = try_answer(run, reply);
    LIST_PUSH(arena, &run->tries, try);
    run->stalls = try
        .is_kept ? 0 : run->stalls + 1;
    if (run->stopped) return;
    say_turn(run, true, reply->text);
    if (run->id == PHASE_REPAIR) {
        say_turn(run, false,
                 arena_printf(arena, "Not right yet, %s.\n\nGive the kernels again, corrected.",
                              try.words));
        return;
    }
    const char *best = bodies_text(arena, run->best.snapshot, &run->best.open);
    say_turn(run, false,
             try.is_kept
                 ? arena_printf(arena, "Kept, it is %s. Go on from there, if more can be done.",
                                try.words)
                 : arena_printf(arena,
                                "Not kept, %s.\n\nThe best so far is:\n\n```python\n%s```\n\nGive "
                                "the kernels again, better.",
                                try.words, best));
}

void phase_run(PhaseRun *run) {
    Asker *asker = run->asker;
    int most = (int)asker->settings->max_iters, patience = (int)asker->settings->max_stalls;
    for (int i = 0; i < most && !run->stopped; i++) {
        ChatReply reply;
        Error error = asker_ask(asker, &run->chat, &reply);
        if (error) {
            run->stopped = error;
            run->is_failed = true;
            return;
        }
        asker_tell(asker, arena_printf(run->arena, "%s: answer %d is checked", phase_name(run->id),
                                       i + 1));
        take_reply(run, &reply);
        if (!run->stopped && run->stalls >= patience)
            run->stopped = asker_stalled(asker, run->stalls);
    }
    if (!run->stopped)
        run->stopped = arena_printf(run->arena, "%d answer%s", most, most == 1 ? "" : "s");
}

// --- what came of it

Str phase_text(const PhaseRun *run) { return run->best.snapshot->source->text; }

bool phase_has_gain(const PhaseRun *run) { return run->best.snapshot != run->base.snapshot; }

static const char *how_measured(const PhaseRun *run) {
    if (!is_timed(run->id)) return "";
    const char *what = run->id == PHASE_TIDY ? "not slower, " : "";
    if (!run->base_time.missing)
        return arena_printf(run->arena, " (%stimed on %s)", what, run->base_time.device);
    return arena_printf(run->arena, " (%sestimated, not timed: %s)", what, run->base_time.missing);
}

const char *phase_summary(const PhaseRun *run) {
    if (!phase_has_gain(run))
        return arena_printf(run->arena, "nothing %s was found", rows[run->id].gain);
    if (run->id == PHASE_REPAIR)
        return arena_printf(run->arena, "proved, worst error %.1e; before: %s",
                            run->best.worst_error, run->base.refused);
    return arena_printf(run->arena, "%s: %s, was %s%s; proved, worst error %.1e",
                        rows[run->id].gain, measured(run, &run->best), measured(run, &run->base),
                        how_measured(run), run->best.worst_error);
}

void phase_end(PhaseRun *run) {
    if (phase_has_gain(run)) judged_free(&run->best);
    judged_free(&run->base);
}

// --- the backward

static bool has_backward(const Snapshot *snapshot, const Kernel *forward) {
    for (LIST_EACH(int, i, snapshot->kernels))
        if (kernel_of_backward(snapshot, &snapshot->kernels.items[i]) == forward) return true;
    return false;
}

const char *phase_with_backward(Arena *arena, const char *path, const char *text,
                                const char *forward, const char **why) {
    const char *made = NULL;
    ImportResolver *resolver = import_resolver_new(NULL);
    SnapshotOptions options = {.resolver = import_resolver_interface(resolver),
                               .skip_checks = true};
    const Snapshot *snapshot = snapshot_build(path, str_from(text), &options);
    const Kernel *kernel = snapshot_find_kernel(snapshot, str_from(forward));
    *why = kernel ? NULL : arena_printf(arena, "there is no kernel `%s`", forward);
    if (kernel && has_backward(snapshot, kernel)) {
        made = text;
    } else if (kernel) {
        ActionEdit edit =
            action_apply(arena, snapshot, ACTION_BACKWARD_HERE, kernel->definition->name_range);
        *why = edit.refusal;
        if (!edit.refusal) made = str_dup(arena, edits_applied(arena, str_from(text), &edit));
    }
    snapshot_release(snapshot);
    import_resolver_free(resolver);
    return made;
}
