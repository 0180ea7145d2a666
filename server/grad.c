// Deriving happens file by file while the snapshot lives; proving afterwards, each prover taking the next kernel from the queue.
#include "server/grad.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "autodiff/backward.h"
#include "base/json.h"
#include "server/check.h"
#include "server/proof.h"
#include "server/runner_client.h"

enum { MOST_DEATHS = 2 };

typedef struct Proof {
    const ProofFile *file;
    ProofPlan plan;
    Range name;  // in the file's source
    int result;  // index in the report's kernels
    int deaths;
    double derive_seconds;
} Proof;

typedef struct Prover {
    struct Grad *grad;
    RunnerClient *client;
    Proof *proof;  // in work, or NULL
    uint64_t started_ms;
} Prover;

struct Grad {
    Arena *arena;
    Loop *loop;
    Report *report;
    ImportResolver *resolver;
    const Options *options;
    LIST(Proof *) proofs;
    int next, done;
    LIST(Prover *) provers;
    bool shows_progress;
    bool runner_missing;
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
} Deriving;

/// The backward's text is copied out: it dies with the snapshot.
static void proof_queue(const Deriving *deriving, const Kernel *kernel, Backward *backward,
                        const char *text, int result, double derive_seconds) {
    Grad *grad = deriving->grad;
    Arena *arena = grad->arena;
    Proof *proof = ARENA_NEW(arena, Proof);
    proof->file = deriving->file;
    Range name = kernel->definition->name_range;
    proof->name = (Range){deriving->file->source, name.start, name.end};
    proof->result = result;
    proof->derive_seconds = derive_seconds;
    proof->plan = proof_plan(arena, kernel, backward, text, deriving->file->settings);
    LIST_PUSH(arena, &grad->proofs, proof);
}

static void derive_kernel(const Deriving *deriving, const Kernel *kernel, Arena *arena) {
    Grad *grad = deriving->grad;
    Report *report = grad->report;
    uint64_t started = loop_now_ms(grad->loop);
    BackwardOptions options = {.wrapper = (WrapperKind)grad->options->wrapper,
                               .wrt = grad->options->wrt.items,
                               .wrt_count = grad->options->wrt.count};
    Diagnostics diagnostics = {.arena = arena};
    Backward *backward = backward_derive(arena, deriving->snapshot, kernel, &options, &diagnostics);
    const char *text = NULL;
    options.wrapper = WRAPPER_NONE;  // the kernels are proved
    if (backward->status == BACKWARD_DERIVED)
        text = backward_module(arena, deriving->snapshot, &backward, 1, &options, &diagnostics);
    report_take(report, &diagnostics, deriving->file->settings, grad->options);
    double seconds = (double)(loop_now_ms(grad->loop) - started) / 1000;
    KernelResult result = {
        .file = deriving->file->source->path,
        .name = arena_strdup(report->arena, kernel->function->name),
        .line = range_line(kernel->definition->name_range),
        .status = status_of(backward->status),
        .reason = arena_strdup(report->arena, backward->reason ? backward->reason : ""),
        .atomics = backward->atomics,
        .seconds = seconds,
    };
    LIST_PUSH(report->arena, &report->kernels, result);
    if (text) proof_queue(deriving, kernel, backward, text, report->kernels.count - 1, seconds);
}

void grad_derive(Grad *grad, const Snapshot *snapshot, const Settings *settings, const char *only) {
    Arena *arena = grad->arena;
    ProofFile *file = ARENA_NEW(arena, ProofFile);
    Str text = snapshot->source->text;
    text = (Str){str_dup(arena, text), text.size};
    file->source = source_new(arena, arena_strdup(arena, snapshot->source->path), text);
    file->settings = settings;
    Deriving deriving = {grad, snapshot, file};
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (!kernel_is_forward(kernel)) continue;
        if (only && strcmp(kernel->function->name, only) != 0) continue;
        Arena *scratch = arena_new();
        BugGuard guard;
        if (BUG_GUARD(&guard)) {
            derive_kernel(&deriving, kernel, scratch);
            bug_guard_end(&guard);
        } else {
            report_problem(grad->report, "%s:%d: internal error while deriving `%s`: %s",
                           file->source->path, range_line(kernel->definition->name_range),
                           kernel->function->name, guard.message);
        }
        arena_free(scratch);
    }
    file->imports = import_resolver_closure(grad->resolver, arena, snapshot->source->path);
}

// --- Proving

static void show_progress(const Grad *grad, const char *message) {
    if (!grad->shows_progress) return;
    fprintf(stderr, "\r\033[K[%d/%d] %s", grad->done, grad->proofs.count, message);
    fflush(stderr);
}

static KernelResult *proof_result(const Grad *grad, const Proof *proof) {
    return &grad->report->kernels.items[proof->result];
}

/// Adds what a proof found, under the diagnostic `name`, when there is one of that name.
static void add_finding(const Grad *grad, const Proof *proof, const char *name, Range range,
                        const char *message) {
    const DiagnosticRow *row = diagnostic_find(str_from(name));
    if (!row) return;
    Diagnostics diagnostics = {.arena = grad->arena};
    diagnose(&diagnostics, (DiagnosticId)(row - diagnostic_rows), range, "%s", message);
    report_take(grad->report, &diagnostics, proof->file->settings, grad->options);
}

/// Accesses out of bounds, races and the like that the prover saw in the forward kernel itself.
static void take_findings(const Grad *grad, const Proof *proof, const Json *findings) {
    for (int i = 0; findings && findings->kind == JSON_ARRAY && i < findings->count; i++) {
        const Json *finding = findings->items[i];
        if (strcmp(json_get_string(finding, "kernel", ""), proof->plan.kernel) != 0) continue;
        Range range =
            proof_line_range(proof->file->source, json_get_int(finding, "line", 0), proof->name);
        add_finding(grad, proof, json_get_string(finding, "kind", ""), range,
                    json_get_string(finding, "message", ""));
    }
}

static void take_answer(const Grad *grad, const Proof *proof, const Json *answer) {
    KernelResult *result = proof_result(grad, proof);
    const char *status = json_get_string(answer, "status", "");
    result->reason = arena_strdup(grad->report->arena, json_get_string(answer, "reason", ""));
    const Json *worst = json_get(answer, "worst_error");
    result->has_error = worst && worst->kind == JSON_NUMBER;
    result->worst_error = result->has_error ? worst->number : 0;
    take_findings(grad, proof, json_get(answer, "findings"));
    if (strcmp(status, "proved") == 0) {
        result->status = KERNEL_PROVED;
    } else if (strcmp(status, "failed") == 0) {
        result->status = KERNEL_FAILED;
        const char *message = arena_printf(grad->arena, "the derived gradient of `%s` is wrong: %s",
                                           proof->plan.kernel, result->reason);
        add_finding(grad, proof, "gradient-wrong", proof->name, message);
    } else if (!*result->reason) {
        result->reason = "the proof was not conclusive";
    }
}

static void prover_next(Prover *prover);

static void proof_answered(void *context, RunnerTrouble trouble, const Json *answer,
                           const char *message) {
    Prover *prover = context;
    Grad *grad = prover->grad;
    Proof *proof = prover->proof;
    KernelResult *result = proof_result(grad, proof);
    result->seconds =
        proof->derive_seconds + (double)(loop_now_ms(grad->loop) - prover->started_ms) / 1000;
    if (trouble == RUNNER_OK) {
        take_answer(grad, proof, answer);
    } else if (trouble == RUNNER_DIED && ++proof->deaths < MOST_DEATHS) {
        prover_next(prover);  // once more, with a fresh process
        return;
    } else {
        result->reason = arena_printf(grad->report->arena, "not proved: %s", message);
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
static void prover_next(Prover *prover) {
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
    runner_client_request(prover->client, "gradcheck", params,
                          proof_limit_ms(grad->options->time_limit_s), proof_answered, prover);
    arena_free(arena);
}

static void say_not_proved(const Grad *grad, const char *why) {
    for (LIST_EACH(int, i, grad->proofs))
        proof_result(grad, grad->proofs.items[i])->reason =
            arena_printf(grad->report->arena, "not proved: %s", why);
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
    int count = grad->options->jobs ? grad->options->jobs : processor_count();
    if (count > grad->proofs.count) count = grad->proofs.count;
    for (int i = 0; i < count; i++) {
        Prover *prover = ARENA_NEW(grad->arena, Prover);
        prover->grad = grad;
        prover->client = runner_client_new(grad->arena, grad->loop, command, NULL, NULL);
        LIST_PUSH(grad->arena, &grad->provers, prover);
        prover_next(prover);
    }
    loop_run(grad->loop);
    if (grad->shows_progress) fputs("\r\033[K", stderr);
}
