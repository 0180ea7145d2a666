// Deriving happens file by file while the snapshot lives; proving afterwards, each worker taking the next kernel from the queue.
#include "server/grad.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "autodiff/backward.h"
#include "base/json.h"
#include "server/check.h"
#include "server/runner_client.h"

/// Time for the runner to stop by itself after its own limit, before it is killed.
enum { GRACE_MS = 5000, MOST_DEATHS = 2 };

/// What several proofs share: the forward's file and what it imports.
typedef struct ForwardFile {
    const Source *source;  // a copy: the snapshot's dies with it
    const Settings *settings;
    Imports imports;
} ForwardFile;

typedef struct Proof {
    const ForwardFile *file;
    const char *kernel;
    Range name;  // in the file's source
    int result;  // index in the report's kernels
    int deaths;
    double derive_seconds;
    Json *backward, *inputs, *outputs, *spec;
} Proof;

typedef struct Worker {
    struct Grad *grad;
    RunnerClient *client;
    Proof *proof;  // in work, or NULL
    uint64_t started_ms;
} Worker;

struct Grad {
    Arena *arena;
    Loop *loop;
    Report *report;
    ImportResolver *resolver;
    const Options *options;
    LIST(Proof *) proofs;
    int next, done;
    LIST(Worker *) workers;
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

// --- What a proof needs, as the runner's protocol has it

static Json *names_json(Arena *arena, const char *const *names, int count) {
    Json *array = json_array(arena);
    for (int i = 0; i < count; i++) json_push(array, json_string(arena, names[i]));
    return array;
}

static Json *argument_json(Arena *arena, const BackwardArgument *argument) {
    static const char *const uses[] = {
        [ARGUMENT_SAME] = "same",         [ARGUMENT_UPSTREAM] = "upstream",
        [ARGUMENT_GRADIENT] = "gradient", [ARGUMENT_RUNNING] = "running",
        [ARGUMENT_BEFORE] = "before",     [ARGUMENT_SCRATCH] = "scratch",
    };
    Json *json = json_object(arena);
    const char *of = argument->use == ARGUMENT_SCRATCH ? argument->name : argument->of;
    json_set_string(json, uses[argument->use], of);
    if (argument->use == ARGUMENT_SCRATCH || argument->is_float32)
        json_set_string(json, "dtype", "fp32");
    if (argument->elements) json_set_string(json, "elements", argument->elements);
    return json;
}

static Json *launches_json(Arena *arena, const Backward *backward) {
    Json *launches = json_array(arena);
    for (int i = 0; i < backward->launch_count; i++) {
        const BackwardLaunch *launch = &backward->launches[i];
        Json *json = json_object(arena), *arguments = json_object(arena);
        for (int k = 0; k < launch->argument_count; k++)
            json_set(arguments, launch->arguments[k].name,
                     argument_json(arena, &launch->arguments[k]));
        json_set_string(json, "kernel", launch->kernel);
        json_set(json, "arguments", arguments);
        json_push(launches, json);
    }
    return launches;
}

static Json *spec_json(Arena *arena, const Kernel *kernel, const Settings *settings) {
    Json *spec = json_object(arena);
    Str comment = kernel->definition->comment;
    json_set(spec, "text", comment.size ? json_str(arena, comment) : json_null(arena));
    Json *launch = settings_launch(settings, arena, kernel->function->name);
    json_set(spec, "pyproject", launch ? launch : json_null(arena));
    json_set_bool(spec, "launchers", true);
    return spec;
}

static Json *modules_json(Arena *arena, const Imports *imports) {
    Json *modules = json_array(arena);
    for (LIST_EACH(int, i, imports->list)) {
        const Import *import = &imports->list.items[i];
        Json *json = json_object(arena);
        json_set_string(json, "from", import->from);
        json_set_string(json, "dotted", import->dotted);
        json_set_string(json, "path", import->path);
        json_set(json, "source", json_str(arena, import->text));
        json_push(modules, json);
    }
    return modules;
}

/// Made for each request anew, so that a queue of hundreds does not hold as many copies of the sources.
static Json *proof_params(const Grad *grad, const Proof *proof, Arena *arena) {
    Json *params = json_object(arena);
    json_set_string(params, "path", proof->file->source->path);
    json_set(params, "source", json_str(arena, proof->file->source->text));
    json_set(params, "modules", modules_json(arena, &proof->file->imports));
    json_set_string(params, "kernel", proof->kernel);
    json_set(params, "backward", proof->backward);
    json_set(params, "inputs", proof->inputs);
    json_set(params, "outputs", proof->outputs);
    json_set(params, "spec", proof->spec);
    json_set_number(params, "seed", grad->options->seed);
    json_set_number(params, "max_seconds", grad->options->time_limit_s);
    return params;
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
    ForwardFile *file;
} Deriving;

/// The backward's text is copied out: it dies with the snapshot.
static void proof_queue(const Deriving *deriving, const Kernel *kernel, Backward *backward,
                        const char *text, int result, double derive_seconds) {
    Grad *grad = deriving->grad;
    Arena *arena = grad->arena;
    Proof *proof = ARENA_NEW(arena, Proof);
    proof->file = deriving->file;
    proof->kernel = arena_strdup(arena, kernel->function->name);
    Range name = kernel->definition->name_range;
    proof->name = (Range){deriving->file->source, name.start, name.end};
    proof->result = result;
    proof->derive_seconds = derive_seconds;
    proof->backward = json_object(arena);
    json_set_string(proof->backward, "source", text);
    json_set(proof->backward, "launches", launches_json(arena, backward));
    proof->inputs = names_json(arena, backward->inputs, backward->input_count);
    proof->outputs = names_json(arena, backward->outputs, backward->output_count);
    proof->spec = spec_json(arena, kernel, deriving->file->settings);
    LIST_PUSH(arena, &grad->proofs, proof);
}

static void derive_kernel(const Deriving *deriving, const Kernel *kernel, Arena *arena) {
    Grad *grad = deriving->grad;
    Report *report = grad->report;
    uint64_t started = loop_now_ms(grad->loop);
    BackwardOptions options = {.wrapper = WRAPPER_NONE};
    Diagnostics diagnostics = {.arena = arena};
    Backward *backward = backward_derive(arena, deriving->snapshot, kernel, &options, &diagnostics);
    const char *text = NULL;
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

void grad_derive(Grad *grad, const Snapshot *snapshot, const Settings *settings) {
    Arena *arena = grad->arena;
    ForwardFile *file = ARENA_NEW(arena, ForwardFile);
    Str text = snapshot->source->text;
    text = (Str){str_dup(arena, text), text.size};
    file->source = source_new(arena, arena_strdup(arena, snapshot->source->path), text);
    file->settings = settings;
    Deriving deriving = {grad, snapshot, file};
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (!kernel_is_forward(kernel)) continue;
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

/// The text of a one-based line, or the kernel's name where there is no such line.
static Range line_range(const Proof *proof, int line) {
    const Source *source = proof->file->source;
    if (line < 1 || line > source->line_count) return proof->name;
    uint32_t start = source->line_starts[line - 1], size = (uint32_t)source->text.size;
    while (start < size && (source->text.data[start] == ' ' || source->text.data[start] == '\t'))
        start++;
    uint32_t end = start;
    while (end < size && source->text.data[end] != '\n') end++;
    return (Range){source, start, end};
}

/// Accesses out of bounds, races and the like that the worker saw in the forward kernel itself.
static void take_findings(const Grad *grad, const Proof *proof, const Json *findings) {
    for (int i = 0; findings && findings->kind == JSON_ARRAY && i < findings->count; i++) {
        const Json *finding = findings->items[i];
        if (strcmp(json_get_string(finding, "kernel", ""), proof->kernel) != 0) continue;
        Range range = line_range(proof, (int)json_get_number(finding, "line", 0));
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
                                           proof->kernel, result->reason);
        add_finding(grad, proof, "gradient-wrong", proof->name, message);
    } else if (!*result->reason) {
        result->reason = "the proof was not conclusive";
    }
}

static void worker_next(Worker *worker);

static void proof_answered(void *context, RunnerTrouble trouble, const Json *answer,
                           const char *message) {
    Worker *worker = context;
    Grad *grad = worker->grad;
    Proof *proof = worker->proof;
    KernelResult *result = proof_result(grad, proof);
    result->seconds =
        proof->derive_seconds + (double)(loop_now_ms(grad->loop) - worker->started_ms) / 1000;
    if (trouble == RUNNER_OK) {
        take_answer(grad, proof, answer);
    } else if (trouble == RUNNER_DIED && ++proof->deaths < MOST_DEATHS) {
        worker_next(worker);  // once more, with a fresh process
        return;
    } else {
        result->reason = arena_printf(grad->report->arena, "not proved: %s", message);
    }
    if (trouble == RUNNER_UNAVAILABLE && !grad->runner_missing) {
        grad->runner_missing = true;
        report_problem(grad->report, "%s", message);
    }
    grad->done++;
    worker->proof = NULL;
    show_progress(grad, proof->kernel);
    worker_next(worker);
}

/// Takes the proof that it has, or the next of the queue; the loop ends when no worker has one.
static void worker_next(Worker *worker) {
    Grad *grad = worker->grad;
    if (!worker->proof && grad->next < grad->proofs.count)
        worker->proof = grad->proofs.items[grad->next++];
    if (!worker->proof) {
        runner_client_close(worker->client);
        return;
    }
    worker->started_ms = loop_now_ms(grad->loop);
    show_progress(grad, worker->proof->kernel);
    Arena *arena = arena_new();
    uint64_t limit_ms = (uint64_t)(grad->options->time_limit_s * 1000) + GRACE_MS;
    runner_client_request(worker->client, "gradcheck", proof_params(grad, worker->proof, arena),
                          limit_ms, proof_answered, worker);
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
        Worker *worker = ARENA_NEW(grad->arena, Worker);
        worker->grad = grad;
        worker->client = runner_client_new(grad->arena, grad->loop, command, NULL, NULL);
        LIST_PUSH(grad->arena, &grad->workers, worker);
        worker_next(worker);
    }
    loop_run(grad->loop);
    if (grad->shows_progress) fputs("\r\033[K", stderr);
}
