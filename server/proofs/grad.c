// Deriving happens file by file while the snapshot lives; proving afterwards, each prover taking the next kernel from the queue.
#include "server/proofs/grad.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "autodiff/backward.h"
#include "autodiff/emit/emitted.h"
#include "autodiff/module/module.h"
#include "autodiff/saving/saving.h"
#include "base/escape.h"
#include "base/json.h"
#include "server/edits/edited.h"
#include "server/proofs/given.h"
#include "server/proofs/gradient_place.h"
#include "server/proofs/pair.h"
#include "server/proofs/proof.h"
#include "server/proofs/runner_client.h"
#include "server/settings/wanted.h"
#include "server/system/files.h"

enum { MOST_DEATHS = 2 };

/// Where the file writes the gradient of an input.
typedef struct WrittenGradient {
    const char *input;
    Range range;
} WrittenGradient;

typedef struct GradProof {
    const ProofFile *file;    // whose launches it is run with
    const ProofFile *holder;  // that was checked, and holds the backward or its forward
    bool is_written;          // the backward is the holder's own
    LIST(WrittenGradient) written;
    ProofPlan plan;
    Range name;         // in the holder's source
    Range given;        // of a derivative by hand there that the gradients rest on; no source: none
    const char *rests;  // which these are, in words; or NULL
    int edited;         // the line of an edit around the kernels that was told; 0: there is none
    int result;         // index in the report's kernels
    int deaths;
    const char *died;  // how the first worker did, or NULL
    double derive_seconds;
} GradProof;

typedef struct GradProver {
    struct Grad *grad;
    RunnerClient *client;
    GradProof *proof;  // in work, or NULL
    int device;        // of the worker's GPUs, counted round them
    uint64_t started_ms;
} GradProver;

struct Grad {
    Arena *arena;
    Loop *loop;
    Report *report;
    ImportResolver *resolver;
    const Options *options;
    LIST(GradProof *) proofs;
    int next, done;
    LIST(GradProver *) provers;
    bool shows_progress;
    bool runner_missing;
    const char *before;  // grad_compare
};

Grad *grad_new(Arena *arena, Loop *loop, Report *report, ImportResolver *resolver,
               const Options *options) {
    Grad *grad = ARENA_NEW(arena, Grad);
    grad->arena = arena;
    grad->loop = loop;
    grad->report = report;
    grad->resolver = resolver;
    grad->options = options;
    grad->shows_progress = isatty(STDERR_FILENO) && !options->quiet;
    return grad;
}

void grad_compare(Grad *grad, const char *before) { grad->before = before; }

// --- Deriving

static KernelStatus status_of(BackwardStatus status) {
    static const KernelStatus statuses[] = {
        [BACKWARD_DERIVED] = KERNEL_DERIVED,
        [BACKWARD_REFUSED] = KERNEL_REFUSED,
        [BACKWARD_NOT_DIFFERENTIABLE] = KERNEL_NOT_DIFFERENTIABLE,
    };
    return statuses[status];
}

typedef struct Deriving {
    Grad *grad;
    const Snapshot *snapshot;
    ProofFile *file;
    const char *origin_name;  // of the file that a module of ours was derived from; or NULL
    Snapshot *origin;         // where that is there; or NULL
    ProofFile *origin_file;
    Saving saving;           // what kernels are derived from that have no origin
    ProofFile *saving_file;  // NULL: nothing is saved
    FunctionEdits edits;     // that were told
} Deriving;

static ProofFile *proof_file(Arena *arena, const Snapshot *snapshot, const Settings *settings) {
    ProofFile *file = ARENA_NEW(arena, ProofFile);
    Str text = snapshot->source->text;
    text = (Str){str_dup(arena, text), text.size};
    file->source = source_new(arena, arena_strdup(arena, snapshot->source->path), text);
    file->settings = settings;
    return file;
}

/// The same kernel in the file that the module was derived from: that one's launches are the ones to prove with.
static const Kernel *original_of(const Deriving *deriving, const Kernel *kernel) {
    return deriving->origin ? snapshot_find_kernel(deriving->origin, kernel->definition->name)
                            : NULL;
}

static void find(const Deriving *deriving, DiagnosticId id, Range range, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void find(const Deriving *deriving, DiagnosticId id, Range range, const char *format, ...) {
    Grad *grad = deriving->grad;
    va_list arguments;
    va_start(arguments, format);
    const char *message = arena_vprintf(grad->arena, format, arguments);
    va_end(arguments);
    Diagnostics diagnostics = {.arena = grad->arena};
    diagnose(&diagnostics, id, range, "%s", message);
    report_take(grad->report, &diagnostics, deriving->file->settings, grad->options);
}

/// The line of what was edited around the kernels of a backward; 0: nothing that was told.
static int edited_line(const Deriving *deriving, const Kernel *kernel) {
    for (LIST_EACH(int, i, deriving->edits)) {
        const FunctionEdit *edit = &deriving->edits.items[i];
        if (!*edit->kernel || str_is(kernel->definition->name, edit->kernel))
            return range_line(edit->range);
    }
    return 0;
}

/// The places in the file where gradients are written, for the message about a wrong one.
static void note_written(const Deriving *deriving, const Kernel *kernel, const Backward *backward,
                         GradProof *proof) {
    Arena *arena = deriving->grad->arena;
    for (int i = 0; i < backward->launch_count; i++) {
        const BackwardLaunch *launch = &backward->launches[i];
        for (int k = 0; k < launch->argument_count; k++) {
            const BackwardArgument *argument = &launch->arguments[k];
            if (argument->use != ARGUMENT_GRADIENT && argument->use != ARGUMENT_RUNNING &&
                argument->use != ARGUMENT_KEPT)
                continue;
            GradientWriter writer = {str_from(argument->of), str_from(launch->kernel),
                                     str_from(argument->name)};
            Range range =
                gradient_place(arena, deriving->snapshot, writer, kernel->definition->name_range);
            range.source = deriving->file->source;
            WrittenGradient written = {arena_strdup(arena, argument->of), range};
            LIST_PUSH(arena, &proof->written, written);
        }
    }
}

/// The backward's text is copied out: it dies with the snapshot. The proof is that of the report's last kernel.
static GradProof *proof_queue(const Deriving *deriving, const Kernel *kernel,
                              const Backward *backward, const char *text, double derive_seconds) {
    Grad *grad = deriving->grad;
    Arena *arena = grad->arena;
    GradProof *proof = ARENA_NEW(arena, GradProof);
    bool is_from_origin = deriving->origin && kernel->snapshot == deriving->origin;
    proof->holder = deriving->file;
    bool is_saving = deriving->saving_file && kernel->snapshot == deriving->saving.snapshot;
    proof->file = is_from_origin ? deriving->origin_file
                  : is_saving    ? deriving->saving_file
                                 : deriving->file;
    proof->result = grad->report->kernels.count - 1;
    proof->derive_seconds = derive_seconds;
    proof->plan = proof_plan(arena, kernel, backward, text, proof->file->settings);
    proof->plan.before = grad->before;
    LIST_PUSH(arena, &grad->proofs, proof);
    return proof;
}

/// The backward as the file has it takes the place of the derived one. Why it is not proved, or NULL.
static const char *take_written(const Deriving *deriving, const Kernel *kernel, Arena *arena,
                                const Snapshot *forward, Backward *backward) {
    Range place = kernel->definition->name_range;
    const char *obstacle = pair_settle(arena, deriving->snapshot, forward, backward, &place);
    if (!obstacle) return NULL;
    find(deriving, DIAGNOSTIC_GRADIENT_UNPAIRED, place, "%s", obstacle);
    return "not proved: the backward of this file does not say what its parameters are";
}

/// Whether the module's kernel is still the original's: what the original's launches say of it holds here, too.
static bool is_original(const Deriving *deriving, const Kernel *kernel) {
    const Kernel *original = original_of(deriving, kernel);
    if (!original) return false;
    if (kernels_read_the_same(deriving->grad->arena, original, kernel)) return true;
    find(deriving, DIAGNOSTIC_GRADIENT_OUTDATED, kernel->definition->name_range,
         "`%s` here is not that of %s any more: write the backward anew", kernel->function->name,
         deriving->origin_file->source->path);
    return false;
}

/// The text with the backward's kernels; NULL and `*reason` where there is none to prove.
static const char *text_to_prove(const Deriving *deriving, const Kernel *kernel, Arena *arena,
                                 const Snapshot *forward, Backward *backward, bool is_written,
                                 const char **reason) {
    *reason = given_obstacle(arena, backward);
    if (*reason) return NULL;
    *reason = "";
    if (is_written && deriving->origin_name && forward == deriving->snapshot) {
        *reason = arena_printf(arena, "not proved: %s",
                               pair_without_origin(arena, deriving->origin_name, deriving->origin));
        return NULL;
    }
    if (is_written) {
        const char *obstacle = take_written(deriving, kernel, arena, forward, backward);
        if (obstacle) *reason = obstacle;
        return obstacle ? NULL : deriving->file->source->text.data;
    }
    Diagnostics ignored = {.arena = arena};
    const BackwardOptions kernels = {.wrapper = WRAPPER_NONE};
    return backward_module(arena, forward, &backward, 1, &kernels, &ignored);
}

static void derive_kernel(const Deriving *deriving, const Kernel *kernel, Arena *arena) {
    Grad *grad = deriving->grad;
    Report *report = grad->report;
    uint64_t started = loop_now_ms(grad->loop);
    BackwardOptions options = {.wrapper = (WrapperKind)grad->options->wrapper,
                               .is_untuned = grad->options->tuning == TUNING_NONE,
                               .wrt = grad->options->wrt.items,
                               .wrt_count = grad->options->wrt.count};
    Diagnostics diagnostics = {.arena = arena};
    bool is_from_origin = is_original(deriving, kernel);
    const Snapshot *forward = is_from_origin ? deriving->origin : deriving->snapshot;
    const Kernel *source = is_from_origin ? original_of(deriving, kernel) : kernel;
    Backward *backward;
    if (deriving->saving_file && !is_from_origin) {
        forward = deriving->saving.snapshot;
        source = saving_kernel(&deriving->saving, kernel);
        backward = saving_derive(arena, &deriving->saving, kernel, &options, &diagnostics);
    } else {
        backward = backward_derive(arena, forward, source, &options, &diagnostics);
    }
    bool is_derived = backward->status == BACKWARD_DERIVED;
    bool is_written = is_derived && pair_is_written(deriving->snapshot, forward, backward);
    if (!is_written) report_take(report, &diagnostics, deriving->file->settings, grad->options);
    const char *reason = backward->reason ? backward->reason : "";
    const char *text =
        is_derived ? text_to_prove(deriving, kernel, arena, forward, backward, is_written, &reason)
                   : NULL;
    double seconds = (double)(loop_now_ms(grad->loop) - started) / 1000;
    KernelResult result = {
        .file = deriving->file->source->path,
        .at = report->at,
        .name = arena_strdup(report->arena, kernel->function->name),
        .line = range_line(kernel->definition->name_range),
        .status = status_of(backward->status),
        .reason = arena_strdup(report->arena, reason),
        .atomics = backward->atomics,
        .seconds = seconds,
    };
    LIST_PUSH(report->arena, &report->kernels, result);
    if (!text) return;
    GradProof *proof = proof_queue(deriving, source, backward, text, seconds);
    Range name = kernel->definition->name_range;
    proof->name = (Range){deriving->file->source, name.start, name.end};
    proof->is_written = is_written;
    proof->edited = edited_line(deriving, kernel);
    const char *rests = given_words(arena, backward);
    if (rests) proof->rests = arena_strdup(grad->arena, rests);
    const GivenRule *rule = given_here(backward, deriving->snapshot->source);
    if (rule) proof->given = (Range){deriving->file->source, rule->range.start, rule->range.end};
    if (is_written) note_written(deriving, kernel, backward, proof);
}

/// The file that a module of ours was derived from, as it lies beside it now.
static void open_origin(Deriving *deriving) {
    Grad *grad = deriving->grad;
    deriving->origin =
        module_origin(grad->arena, deriving->snapshot, import_resolver_interface(grad->resolver),
                      &deriving->origin_name);
    if (!deriving->origin) return;
    deriving->origin_file = proof_file(grad->arena, deriving->origin, deriving->file->settings);
}

/// What the forwards store for their backwards, where that is asked for.
static void open_saving(Deriving *deriving, const char *only) {
    const Options *asked = deriving->grad->options;
    deriving->saving.snapshot = deriving->snapshot;
    if (asked->saving == SAVING_NONE || deriving->origin_name) return;
    const BackwardOptions options = {.wrapper = (WrapperKind)asked->wrapper,
                                     .is_untuned = asked->tuning == TUNING_NONE,
                                     .wrt = asked->wrt.items,
                                     .wrt_count = asked->wrt.count};
    deriving->saving =
        saving_of(deriving->grad->arena, deriving->snapshot, &options,
                  only ? snapshot_find_kernel(deriving->snapshot, str_from(only)) : NULL);
    if (deriving->saving.snapshot != deriving->snapshot)
        deriving->saving_file =
            proof_file(deriving->grad->arena, deriving->saving.snapshot, deriving->file->settings);
}

static void derive_guarded(const Deriving *deriving, const Kernel *kernel) {
    Arena *scratch = arena_new();
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        derive_kernel(deriving, kernel, scratch);
        bug_guard_end(&guard);
    } else {
        report_problem(deriving->grad->report, "%s:%d: internal error while deriving `%s`: %s",
                       deriving->file->source->path, range_line(kernel->definition->name_range),
                       kernel->function->name, guard.message);
    }
    arena_free(scratch);
}

/// Which kernels: the one of that name, or all whose names stand in [start, end) of the text.
typedef struct GradChoice {
    const char *only;
    uint32_t start, end;
} GradChoice;

static bool is_chosen(const GradChoice *choice, const Snapshot *snapshot, const Kernel *kernel) {
    if (choice->only) return strcmp(kernel->function->name, choice->only) == 0;
    uint32_t name = kernel->definition->name_range.start;
    // a gradient of a gradient is for who asks for it by name
    return name >= choice->start && name < choice->end && !kernel_of_backward(snapshot, kernel);
}

/// Tells what is edited around the chosen kernels; keeps what no setting and no comment silences.
static void find_edits(Deriving *deriving, const GradChoice *choice, Arena *arena) {
    const Grad *grad = deriving->grad;
    const Snapshot *snapshot = deriving->snapshot;
    FunctionEdits edits = function_edits(arena, snapshot, deriving->origin,
                                         import_resolver_interface(grad->resolver));
    for (LIST_EACH(int, i, edits)) {
        const FunctionEdit *edit = &edits.items[i];
        const Kernel *kernel = snapshot_find_kernel(snapshot, str_from(edit->kernel));
        if (*edit->kernel && (!kernel || !is_chosen(choice, snapshot, kernel))) continue;
        int told = grad->report->findings.count;
        find(deriving, DIAGNOSTIC_GRADIENT_FUNCTION_EDITED, edit->range, "%s", edit->message);
        if (grad->report->findings.count > told) LIST_PUSH(grad->arena, &deriving->edits, *edit);
    }
}

static void find_edits_guarded(Deriving *deriving, const GradChoice *choice, Arena *arena) {
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        find_edits(deriving, choice, arena);
        bug_guard_end(&guard);
    } else {
        report_problem(deriving->grad->report, "%s: internal error while comparing Functions: %s",
                       deriving->file->source->path, guard.message);
    }
}

static void derive_chosen(Grad *grad, const Snapshot *snapshot, const Settings *settings,
                          const GradChoice *choice) {
    Arena *arena = grad->arena;
    Deriving deriving = {
        .grad = grad, .snapshot = snapshot, .file = proof_file(arena, snapshot, settings)};
    open_origin(&deriving);
    open_saving(&deriving, choice->only);
    Arena *scratch = arena_new();
    if (!choice->only) find_edits_guarded(&deriving, choice, scratch);
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (kernel_is_forward(kernel) && is_chosen(choice, snapshot, kernel))
            derive_guarded(&deriving, kernel);
    }
    deriving.file->imports = import_resolver_closure(grad->resolver, arena, snapshot->source->path);
    if (deriving.origin)
        deriving.origin_file->imports =
            import_resolver_closure(grad->resolver, arena, deriving.origin->source->path);
    if (deriving.saving_file) deriving.saving_file->imports = deriving.file->imports;
    snapshot_release(deriving.origin);
    saving_close(&deriving.saving);
    arena_free(scratch);
}

void grad_derive(Grad *grad, const Snapshot *snapshot, const Settings *settings, const char *only) {
    derive_chosen(grad, snapshot, settings, &(GradChoice){only, 0, UINT32_MAX});
}

void grad_derive_part(Grad *grad, const Snapshot *snapshot, const Settings *settings,
                      uint32_t start, uint32_t end) {
    derive_chosen(grad, snapshot, settings, &(GradChoice){NULL, start, end});
}

// --- Proving

static void show_progress(const Grad *grad, const char *message) {
    if (!grad->shows_progress) return;
    fprintf(stderr, "\r\033[K[%d/%d] %s", grad->done, grad->proofs.count,
            text_visible(grad->report->arena, message));
    fflush(stderr);
}

static KernelResult *proof_result(const Grad *grad, const GradProof *proof) {
    return &grad->report->kernels.items[proof->result];
}

/// Adds what a proof found, under the diagnostic `name`, when there is one of that name.
static void add_finding(const Grad *grad, const GradProof *proof, const char *name, Range range,
                        const char *message) {
    const DiagnosticRow *row = diagnostic_find(str_from(name));
    if (!row) return;
    Diagnostics diagnostics = {.arena = grad->arena};
    diagnose(&diagnostics, (DiagnosticId)(row - diagnostic_rows), range, "%s", message);
    report_take(grad->report, &diagnostics, proof->holder->settings, grad->options);
}

/// Accesses out of bounds, races and the like that the prover saw in the forward kernel itself: how many they are.
static int take_findings(const Grad *grad, const GradProof *proof, const Json *findings) {
    int count = 0;
    for (int i = 0; findings && findings->kind == JSON_ARRAY && i < findings->count; i++) {
        const Json *finding = findings->items[i];
        if (strcmp(json_get_string(finding, "kernel", ""), proof->plan.kernel) != 0) continue;
        Range range =
            proof_line_range(proof->file->source, json_get_int(finding, "line", 0), proof->name);
        add_finding(grad, proof, json_get_string(finding, "kind", ""), range,
                    json_get_string(finding, "message", ""));
        count++;
    }
    return count;
}

/// Where the file writes the gradient that is furthest off; else the name of the forward.
static Range wrong_place(const GradProof *proof, const Json *answer) {
    GradientWriter writer = gradient_writer(proof->plan.backward, answer);
    for (LIST_EACH(int, i, proof->written))
        if (writer.input.size && str_is(writer.input, proof->written.items[i].input))
            return proof->written.items[i].range;
    return proof->given.source ? proof->given : proof->name;
}

/// What the proof in fp64 does not see: at its line in the file that holds the backward, else at the forward's.
static void add_imprecise(const Grad *grad, const GradProof *proof, const Json *finding) {
    const char *key = proof->is_written ? "line" : "forward_line";
    Range range =
        proof_line_range(proof->holder->source, json_get_int(finding, key, 0), proof->name);
    add_finding(grad, proof, "gradient-imprecise", range, json_get_string(finding, "message", ""));
}

/// A gradient that was measured as wrong in a run that may be to blame itself.
static void add_doubt(const Grad *grad, const GradProof *proof, const Json *answer,
                      const char *reason) {
    Diagnostics diagnostics = {.arena = grad->arena};
    diagnose(&diagnostics, DIAGNOSTIC_GRADIENT_WRONG, wrong_place(proof, answer),
             "the gradient of `%s` is not proved: %s", proof->plan.kernel, reason)
        ->severity = SEVERITY_WARNING;
    report_take(grad->report, &diagnostics, proof->holder->settings, grad->options);
}

/// What the GPU had of a proof, and what kept it from the rest; NULL where nobody asked for it, or for none of this proof.
static const char *gpu_words(Arena *arena, const Json *cuda, bool is_auto) {
    if (!cuda) return NULL;
    int launches = json_get_int(cuda, "launches", 0),
        backwards = json_get_int(cuda, "backward_launches", 0), forwards = launches - backwards;
    const char *refused = json_get_string(cuda, "refused", NULL);
    const char *ran = arena_printf(arena, "%d launch%s of the forward, %d of the backward",
                                   forwards, forwards == 1 ? "" : "es", backwards);
    int rounded = json_get_int(cuda, "own_type_launches", 0);
    if (rounded) ran = arena_printf(arena, "%s, %d of all in own types", ran, rounded);
    if (!refused) return launches ? ran : is_auto ? NULL : "nothing";
    return launches ? arena_printf(arena, "%s, and not all: %s", ran, refused)
                    : arena_printf(arena, "nothing: %s", refused);
}

static void take_answer(const Grad *grad, const GradProof *proof, const Json *answer) {
    KernelResult *result = proof_result(grad, proof);
    const char *status = json_get_string(answer, "status", "");
    result->reason = arena_strdup(grad->report->arena, json_get_string(answer, "reason", ""));
    const Json *worst = json_get(answer, "worst_error");
    result->has_error = worst && worst->kind == JSON_NUMBER;
    result->worst_error = result->has_error ? worst->number : 0;
    const char *covered = json_get_string(answer, "covered", "");
    if (*covered) result->covered = arena_strdup(grad->report->arena, covered);
    if (proof->plan.asserted)
        result->asserted = arena_strdup(grad->report->arena, proof->plan.asserted);
    const Json *own_types = json_get(answer, "own_types");
    if (own_types && own_types->kind == JSON_OBJECT) {
        result->own_types =
            arena_strdup(grad->report->arena, json_get_string(own_types, "words", ""));
        const Json *finding = json_get(own_types, "finding");
        if (finding && finding->kind == JSON_OBJECT) add_imprecise(grad, proof, finding);
    }
    result->gpu = gpu_words(grad->report->arena, json_get(answer, "cuda"),
                            grad->options->backend == BACKEND_AUTO);
    result->proof = json_copy(grad->report->arena, answer);
    int findings = take_findings(grad, proof, json_get(answer, "findings"));
    if (strcmp(status, "proved") == 0 && proof->edited) {
        result->reason = arena_printf(grad->report->arena,
                                      "not proved: the kernels are, and what is edited around them "
                                      "in line %d is not",
                                      proof->edited);
    } else if (strcmp(status, "proved") == 0) {
        result->status = KERNEL_PROVED;
    } else if (strcmp(status, "failed") == 0) {
        result->status = KERNEL_FAILED;
        if (proof->given.source && !proof->is_written)
            result->given_line = range_line(proof->given);
        result->rests_on_given = proof->rests != NULL;
        if (proof->rests)
            result->reason = arena_printf(grad->report->arena, "%s; it rests on %s", result->reason,
                                          proof->rests);
        const char *message = arena_printf(grad->arena, "the %s of `%s` is wrong: %s",
                                           proof->is_written ? "backward" : "derived gradient",
                                           proof->plan.kernel, result->reason);
        add_finding(grad, proof, "gradient-wrong", wrong_place(proof, answer), message);
    } else {
        if (!*result->reason) result->reason = "the proof was not conclusive";
        if (proof->rests && json_get_bool(answer, "contradicted", false))
            result->reason = arena_printf(grad->report->arena, "%s; it rests on %s", result->reason,
                                          proof->rests);
        if (json_get_bool(answer, "incomplete", false)) result->open = "out of time";
        bool differs = json_get_bool(answer, "contradicted", false);
        result->is_doubted = differs || findings > 0;
        if (differs) add_doubt(grad, proof, answer, result->reason);
    }
}

static void prover_next(GradProver *prover);

static void proof_answered(void *context, RunnerTrouble trouble, const Json *answer,
                           const char *message) {
    GradProver *prover = context;
    Grad *grad = prover->grad;
    GradProof *proof = prover->proof;
    KernelResult *result = proof_result(grad, proof);
    result->seconds =
        proof->derive_seconds + (double)(loop_now_ms(grad->loop) - prover->started_ms) / 1000;
    if (trouble == RUNNER_OK) {
        take_answer(grad, proof, answer);
        if (proof->died && grad->options->backend != BACKEND_CPU)
            result->gpu = arena_printf(grad->report->arena, "nothing: %s", proof->died);
    } else if (trouble == RUNNER_DIED && ++proof->deaths < MOST_DEATHS) {
        proof->died = arena_strdup(grad->arena, message);
        prover_next(prover);  // once more, with a fresh process
        return;
    } else {
        result->reason = arena_printf(grad->report->arena, "not proved: %s", message);
        result->open = "no worker has proved them";
    }
    if (trouble == RUNNER_UNAVAILABLE && !grad->runner_missing) {
        grad->runner_missing = true;
        report_problem(grad->report, "%s", message);
    }
    grad->done++;
    prover->proof = NULL;
    show_progress(grad, proof->plan.kernel);
    prover_next(prover);
}

/// Takes the proof that it has, or the next of the queue; the loop ends when no prover has one.
static void prover_next(GradProver *prover) {
    Grad *grad = prover->grad;
    if (!prover->proof && grad->next < grad->proofs.count)
        prover->proof = grad->proofs.items[grad->next++];
    if (!prover->proof) {
        runner_client_close(prover->client);
        return;
    }
    prover->started_ms = loop_now_ms(grad->loop);
    show_progress(grad, prover->proof->plan.kernel);
    Arena *arena = arena_new();
    // The parameters are made for each request anew, so that a queue of hundreds does not hold as many copies of sources.
    Json *params = proof_params(arena, prover->proof->file, &prover->proof->plan,
                                grad->options->seed, grad->options->time_limit_s);
    // A GPU, or its driver, may have been what ended the first one.
    bool is_again = prover->proof->deaths > 0;
    runner_client_use_device(prover->client, is_again ? RUNNER_NO_DEVICE : prover->device);
    runner_client_request(prover->client, "gradcheck", params,
                          proof_limit_ms(grad->options->time_limit_s), proof_answered, prover);
    arena_free(arena);
}

static void say_not_proved(const Grad *grad, const char *why) {
    for (LIST_EACH(int, i, grad->proofs)) {
        KernelResult *result = proof_result(grad, grad->proofs.items[i]);
        result->reason = arena_printf(grad->report->arena, "not proved: %s", why);
        result->open = "no worker has proved them";
    }
}

void grad_prove(Grad *grad) {
    if (grad->proofs.count == 0) return;
    Error error = NULL;
    const char *runner = runner_find(grad->arena, grad->options->runner, &error);
    if (error) {
        report_problem(grad->report, "%s", error);
        say_not_proved(grad, error);
        return;
    }
    const char *const *command = runner_command(grad->arena, runner);
    if (grad->options->backend != BACKEND_CPU)
        command = runner_command_for(grad->arena, command,
                                     grad->options->backend == BACKEND_CUDA ? "cuda" : "auto");
    int count = grad->options->jobs ? grad->options->jobs : processor_count();
    if (count > grad->proofs.count) count = grad->proofs.count;
    for (int i = 0; i < count; i++) {
        GradProver *prover = ARENA_NEW(grad->arena, GradProver);
        prover->grad = grad;
        prover->client = runner_client_new(grad->arena, grad->loop, command, NULL, NULL);
        prover->device = i;
        LIST_PUSH(grad->arena, &grad->provers, prover);
        prover_next(prover);
    }
    loop_run_with_signals(grad->loop);
    if (grad->shows_progress) fputs("\r\033[K", stderr);
}
