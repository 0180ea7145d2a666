// A check is some proofs: each is queued, given to a free worker, recorded. The last one ends the check.
#include "server/gradients/checks.h"

#include <stdio.h>
#include <string.h>

#include "autodiff/kept.h"
#include "autodiff/module/module.h"
#include "autodiff/saving/saving.h"
#include "server/gradients/around.h"
#include "server/gradients/handover.h"
#include "server/gradients/kernel_hash.h"
#include "server/gradients/written.h"
#include "server/proofs/given.h"
#include "server/proofs/pair.h"
#include "server/proofs/runner_client.h"
#include "server/queues/fast_queue.h"
#include "server/queues/request.h"
#include "server/queues/slow_queue.h"
#include "server/session/client.h"
#include "server/session/progress.h"

enum { MOST_DEATHS = 2 };
enum { MOST_PROVERS = 16 };  // workers at once; more checks wait

typedef struct GradientCheck GradientCheck;

typedef struct QueuedProof {
    Arena *arena;
    GradientCheck *check;
    const char *kernel;
    int line;
    GradientStatus status;  // final already where the rules refuse
    Json *params;           // for the runner; NULL: there is nothing to run
    const char *runner;     // command that the settings name, "" for our own
    Twin twin;              // the same in the module beside the file
    Json *places;       // of each input's gradient, where the file holds the backward; else NULL
    Json *given;        // the place of a derivative by hand that the gradients rest on; or NULL
    const char *rests;  // which these are, in words; or NULL
    EditsAround around;
    double limit_s;
    int deaths;
    bool is_done;
    struct QueuedProof *next;  // in the queue
} QueuedProof;

struct GradientCheck {
    Arena *arena;
    Checks *checks;
    const char *uri;
    Progress progress;
    int version;
    bool is_all;       // answered with a list
    Request *request;  // held, or NULL
    LIST(QueuedProof *) proofs;
    int done;
    atomic_bool is_cancelled;
    bool is_prepared;  // the proofs belong to the loop's thread
    GradientCheck *next;
};

typedef struct CheckProver {
    Checks *checks;
    RunnerClient *client;
    const char *runner;  // command that the client was made for
    QueuedProof *proof;  // in work, or NULL
    uint64_t started_ms;
} CheckProver;

struct Checks {
    Server *server;
    GradientCheck *first;
    QueuedProof *queue, **queue_end;
    CheckProver provers[MOST_PROVERS];
    Handover handover;
    int last_token;
};

Checks *checks_new(Server *server) {
    Checks *checks = ARENA_NEW(server->arena, Checks);
    checks->server = server;
    checks->queue_end = &checks->queue;
    return checks;
}

static void check_free(GradientCheck *check) {
    for (LIST_EACH(int, i, check->proofs)) arena_free(check->proofs.items[i]->arena);
    arena_free(check->arena);
}

void checks_end(Checks *checks) {
    for (int i = 0; i < MOST_PROVERS; i++)
        if (checks->provers[i].client) runner_client_close(checks->provers[i].client);
    for (GradientCheck *check = checks->first, *next; check; check = next) {
        next = check->next;
        if (check->request) request_drop(check->request);
        check_free(check);
    }
    checks->first = NULL;
}

// --- The end of a check

static Json *check_result(GradientCheck *check) {
    Request *request = check->request;
    Json *list = json_array(request->arena);
    for (LIST_EACH(int, i, check->proofs)) {
        const QueuedProof *proof = check->proofs.items[i];
        json_push(list, gradient_status_json(request->arena, check->uri, proof->kernel,
                                             check->version, &proof->status));
    }
    return check->is_all ? list : list->count ? list->items[0] : NULL;
}

static void check_end(GradientCheck *check) {
    Checks *checks = check->checks;
    GradientCheck **link = &checks->first;
    while (*link && *link != check) link = &(*link)->next;
    if (*link) *link = check->next;
    bool is_cancelled = atomic_load(&check->is_cancelled);
    if (!check->progress.is_clients)
        progress_end(checks->server, check->progress, is_cancelled ? "cancelled" : NULL);
    Request *request = check->request;
    if (request && is_cancelled)
        request_fail(request, ERROR_REQUEST_CANCELLED, "cancelled");
    else if (request && !request->error_code)
        request->result = check_result(check);
    if (request) request_complete(request);
    check_free(check);
}

static void proof_record(const QueuedProof *proof) {
    const GradientCheck *check = proof->check;
    struct Gradients *gradients = check->checks->server->gradients;
    gradients_record(gradients, check->uri, proof->kernel, check->version, proof->line,
                     &proof->status);
    if (!proof->twin.hash) return;
    GradientStatus status = proof->status;
    status.hash = proof->twin.hash;
    gradients_record(gradients, proof->twin.uri, proof->kernel, proof->twin.version,
                     proof->twin.line, &status);
}

static void proof_done(QueuedProof *proof) {
    GradientCheck *check = proof->check;
    if (proof->is_done) return;
    proof->is_done = true;
    check->done++;
    proof_record(proof);
    progress_report(check->checks->server, check->progress, proof->kernel,
                    100.0 * check->done / check->proofs.count);
    if (check->done == check->proofs.count) check_end(check);
}

// --- Workers

static void prover_next(CheckProver *prover);

static void read_answer(QueuedProof *proof, const Json *answer) {
    GradientStatus *status = &proof->status;
    const char *name = json_get_string(answer, "status", "");
    const Json *worst = json_get(answer, "worst_error");
    status->state = strcmp(name, "proved") == 0   ? GRADIENT_PROVED
                    : strcmp(name, "failed") == 0 ? GRADIENT_FAILED
                                                  : GRADIENT_UNPROVED;
    status->reason = arena_strdup(proof->arena, json_get_string(answer, "reason", ""));
    if (status->state == GRADIENT_UNPROVED && !*status->reason)
        status->reason = "the check was not conclusive";
    status->has_error = worst && worst->kind == JSON_NUMBER;
    status->worst_error = status->has_error ? worst->number : 0;
    status->details = answer ? json_copy(proof->arena, answer) : NULL;
    const char *asserted = json_get_string(proof->params, "asserted", NULL);
    if (asserted && status->details) json_set_string(status->details, "asserted", asserted);
    around_take(proof->arena, &proof->around, status);
    bool is_wrong =
        status->state == GRADIENT_FAILED || json_get_bool(status->details, "contradicted", false);
    if (is_wrong && proof->rests) {
        status->reason =
            arena_printf(proof->arena, "%s; it rests on %s", status->reason, proof->rests);
        status->range = proof->given;
    } else {
        status->given = NULL;
    }
    if (status->state != GRADIENT_FAILED || !proof->places) return;
    status->writer = gradient_writer(json_get(proof->params, "backward"), status->details);
    if (!status->writer.input.size) return;
    status->range = json_get(proof->places, str_dup(proof->arena, status->writer.input));
}

static void prover_answered(void *context, RunnerTrouble trouble, const Json *answer,
                            const char *message) {
    CheckProver *prover = context;
    QueuedProof *proof = prover->proof;
    Checks *checks = prover->checks;
    if (trouble == RUNNER_DIED && ++proof->deaths < MOST_DEATHS) {
        handover_take_death(&checks->handover, checks->server, proof->runner, message);
        prover_next(prover);  // once more, with a fresh process
        return;
    }
    uint64_t now = loop_now_ms(checks->server->loop);
    proof->status.seconds += (double)(now - prover->started_ms) / 1000;
    if (trouble == RUNNER_OK) {
        handover_take(&checks->handover, checks->server, answer);
        read_answer(proof, answer);
    } else {
        proof->status.state = GRADIENT_UNPROVED;
        proof->status.reason = arena_strdup(proof->arena, message);
    }
    prover->proof = NULL;
    proof_done(proof);
    prover_next(prover);
}

static void prover_progress(void *context, const Json *params) {
    const CheckProver *prover = context;
    if (!prover->proof || !params) return;
    enum { STEP_PERCENT = 10 };  // lenses are asked for anew at each
    QueuedProof *proof = prover->proof;
    const GradientCheck *check = proof->check;
    double of = json_get_number(params, "of", 0), done = json_get_number(params, "done", 0);
    double part = of > 0 ? done / of : 0;
    if (part < 1 && 100 * part >= proof->status.percent + STEP_PERCENT) {
        proof->status.percent = (int)(100 * part);
        proof_record(proof);
    }
    Arena *arena = arena_new();
    progress_report(
        check->checks->server, check->progress,
        arena_printf(arena, "%s: %s", proof->kernel, json_get_string(params, "message", "")),
        100.0 * (check->done + part) / check->proofs.count);
    arena_free(arena);
}

static QueuedProof *queue_take(Checks *checks) {
    QueuedProof *proof = checks->queue;
    if (!proof) return NULL;
    checks->queue = proof->next;
    if (!checks->queue) checks->queue_end = &checks->queue;
    return proof;
}

static void proof_begun(QueuedProof *proof) {
    proof->status.is_waiting = false;
    proof->status.percent = 0;
    proof_record(proof);
}

static bool prover_prepare(CheckProver *prover, const char *wish, Error *error) {
    Arena *arena = prover->checks->server->arena;
    *error = NULL;
    if (prover->client && strcmp(prover->runner, wish) == 0) return true;
    if (prover->client) runner_client_close(prover->client);
    prover->client = NULL;
    const char *runner = runner_find(arena, *wish ? arena_strdup(arena, wish) : NULL, error);
    if (*error) return false;
    prover->runner = arena_strdup(arena, wish);
    prover->client = runner_client_new(arena, prover->checks->server->loop,
                                       runner_command(arena, runner), prover_progress, prover);
    runner_client_give_way(prover->client);
    return true;
}

/// Takes the proof that it has, or the next of the queue; without one its process ends.
static void prover_next(CheckProver *prover) {
    Checks *checks = prover->checks;
    for (;;) {
        if (!prover->proof) {
            prover->proof = queue_take(checks);
            prover->started_ms = loop_now_ms(checks->server->loop);
            if (prover->proof) proof_begun(prover->proof);
        }
        QueuedProof *proof = prover->proof;
        Error error;
        if (!proof) {
            if (prover->client) runner_client_close(prover->client);
            return;
        }
        if (prover_prepare(prover, proof->runner, &error)) {
            int device = (int)(prover - checks->provers);
            runner_client_use_device(prover->client, proof->deaths ? RUNNER_NO_DEVICE : device);
            runner_client_request(prover->client, "gradcheck", proof->params,
                                  proof_limit_ms(proof->limit_s), prover_answered, prover);
            return;
        }
        proof->status.state = GRADIENT_UNPROVED;
        proof->status.reason = arena_strdup(proof->arena, error);
        prover->proof = NULL;
        proof_done(proof);
    }
}

static int provers_wanted(const Server *server) {
    int count = (int)server->configuration->workers;
    if (count <= 0) count = (processor_count() + 1) / 2;
    return count > MOST_PROVERS ? MOST_PROVERS : count;
}

static void provers_start(Checks *checks) {
    int count = provers_wanted(checks->server);
    for (int i = 0; i < count && checks->queue; i++) {
        CheckProver *prover = &checks->provers[i];
        prover->checks = checks;
        if (!prover->proof) prover_next(prover);
    }
}

// --- Preparing, on the slow queue

/// Where each gradient is written in the file.
static Json *places_json(Request *request, const Snapshot *snapshot, const Kernel *kernel,
                         const Backward *backward) {
    Json *places = json_object(request->arena);
    for (int i = 0; i < backward->launch_count; i++) {
        const BackwardLaunch *launch = &backward->launches[i];
        for (int k = 0; k < launch->argument_count; k++) {
            const BackwardArgument *argument = &launch->arguments[k];
            if (argument->use != ARGUMENT_GRADIENT && argument->use != ARGUMENT_RUNNING &&
                argument->use != ARGUMENT_KEPT)
                continue;
            GradientWriter writer = {str_from(argument->of), str_from(launch->kernel),
                                     str_from(argument->name)};
            Range place =
                gradient_place(request->arena, snapshot, writer, kernel->definition->name_range);
            json_set(places, argument->of, request_range_json(request, snapshot, place));
        }
    }
    return places;
}

static void leave_unproved(QueuedProof *proof, const char *reason) {
    proof->status.state = GRADIENT_UNPROVED;
    proof->status.reason = arena_strdup(proof->arena, reason);
}

/// The text with the kernels to prove: the file's own, edited or not, where it holds the backward, which is then taken as it
/// stands there. NULL and the proof unproved where that cannot be told. `forward`: what the backward was derived in.
static const char *text_to_prove(Request *request, QueuedProof *proof, const Snapshot *snapshot,
                                 const Snapshot *forward, const Original *original,
                                 Backward *backward) {
    Arena *arena = request->arena;
    const char *unchecked = given_obstacle(arena, backward);
    if (unchecked) {
        leave_unproved(proof, unchecked);
        return NULL;
    }
    if (!pair_is_written(snapshot, forward, backward)) {
        Diagnostics ignored = {.arena = arena};
        const BackwardOptions options = {.wrapper = WRAPPER_NONE};
        return backward_module(arena, forward, &backward, 1, &options, &ignored);
    }
    Range place;
    const char *obstacle = NULL;
    if (original->name && forward == snapshot)
        obstacle = pair_without_origin(arena, original->name, original->snapshot);
    else
        obstacle = pair_settle(arena, snapshot, forward, backward, &place);
    if (!obstacle) return str_dup(arena, snapshot->source->text);
    leave_unproved(proof, obstacle);
    return NULL;
}

/// What the gradients rest on that is given by hand, and where it stands in the file.
static void note_given(Request *request, QueuedProof *proof, const Snapshot *snapshot,
                       const Backward *backward) {
    const char *rests = given_words(request->arena, backward);
    if (rests) proof->rests = arena_strdup(proof->arena, rests);
    const GivenRule *rule = given_here(backward, snapshot->source);
    if (!rule) return;
    proof->status.given = str_dup(proof->arena, rule->name);
    proof->given = json_copy(proof->arena, request_range_json(request, snapshot, rule->range));
}

/// `first`: the kernel in the file that the text was derived from; or NULL. `source`: the kernel that is derived.
static void proof_derive_in(Request *request, QueuedProof *proof, const Snapshot *snapshot,
                            const Kernel *kernel, const Original *original, const Kernel *first,
                            const Kernel *source) {
    Arena *arena = request->arena;
    const Snapshot *forward = source->snapshot;
    Backward *backward = backward_kept(arena, forward, source, WRAPPER_AUTOGRAD, NULL);
    if (backward->status != BACKWARD_DERIVED) {
        proof->status.state =
            backward->status == BACKWARD_REFUSED ? GRADIENT_REFUSED : GRADIENT_NOT_DIFFERENTIABLE;
        proof->status.reason =
            arena_strdup(proof->arena, backward->reason ? backward->reason : "no reason given");
        return;
    }
    if (!request->configuration->trusted) {
        leave_unproved(proof, UNTRUSTED_WORDS);
        return;
    }
    const char *text = text_to_prove(request, proof, snapshot, forward, original, backward);
    if (!text) return;
    Imports imports =
        first ? import_resolver_closure(original->resolver, arena, original->snapshot->source->path)
              : slow_imports(request);
    proof->params = json_copy(proof->arena, slow_proof_params(request, forward, imports, source,
                                                              backward, text, proof->limit_s));
    if (pair_is_written(snapshot, forward, backward))
        proof->places = json_copy(proof->arena, places_json(request, snapshot, kernel, backward));
    else
        proof->twin = written_twin(request, snapshot, kernel, backward);
    if (proof->twin.hash) proof->twin.uri = arena_strdup(proof->arena, proof->twin.uri);
    note_given(request, proof, snapshot, backward);
    proof->status.state = GRADIENT_RUNNING;
}

/// Proves what `Generate backward` would write.
static void proof_derive(Request *request, QueuedProof *proof, const Snapshot *snapshot,
                         const Kernel *kernel, const Original *original) {
    Saving saving = written_saving(request, original, snapshot, kernel);
    proof_derive_in(request, proof, snapshot, kernel, original, original_kernel(original, kernel),
                    saving_kernel(&saving, kernel));
    saving_close(&saving);
}

static void proof_prepare(Request *request, GradientCheck *check, const Snapshot *snapshot,
                          const Kernel *kernel, const Original *original,
                          const FunctionEdits *edits) {
    Arena *arena = arena_new();
    QueuedProof *proof = ARENA_NEW(arena, QueuedProof);
    proof->arena = arena;
    proof->check = check;
    proof->kernel = str_dup(arena, kernel->definition->name);
    proof->line = range_line(snapshot_range(snapshot, kernel->definition->name_range));
    proof->limit_s = request->configuration->time_limit_s;
    proof->runner = arena_strdup(arena, request->configuration->runner);
    proof->status.reason = "";
    proof->status.hash = kernel_hash(snapshot, kernel);
    proof->around = around_kernel(arena, edits, kernel);
    LIST_PUSH(check->arena, &check->proofs, proof);
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        proof_derive(request, proof, snapshot, kernel, original);
        bug_guard_end(&guard);
    } else {
        proof->status.state = GRADIENT_UNPROVED;
        proof->status.reason = guard.cause == BUG_UNWANTED
                                   ? "cancelled"
                                   : arena_printf(arena, "internal error: %s", guard.message);
    }
}

typedef struct Preparation {
    GradientCheck *check;
    const char *kernel;  // NULL: all
} Preparation;

static Json *prepare_work(Request *request) {
    const Preparation *preparation = request->context;
    const Snapshot *snapshot = slow_snapshot(request);
    Original original = snapshot ? original_open(request) : (Original){0};
    FunctionEdits edits = {0};
    if (snapshot) edits = around_edits(request, snapshot, &original);
    for (int i = 0; snapshot && i < snapshot->kernels.count; i++) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        bool is_asked = !preparation->kernel
                            ? kernel_has_gradients(snapshot, kernel)
                            : str_is(kernel->definition->name, preparation->kernel);
        if (atomic_load(&preparation->check->is_cancelled)) break;
        if (is_asked)
            proof_prepare(request, preparation->check, snapshot, kernel, &original, &edits);
    }
    original_close(&original);
    return NULL;
}

static void queue_add(Checks *checks, QueuedProof *proof) {
    *checks->queue_end = proof;
    checks->queue_end = &proof->next;
}

/// From here on the check's proofs belong to the loop's thread.
static void prepare_finish(Request *request) {
    GradientCheck *check = ((const Preparation *)request->context)->check;
    Checks *checks = check->checks;
    int count = check->proofs.count;
    check->is_prepared = true;
    if (request->error_code && check->request)
        request_fail(check->request, (ErrorCode)request->error_code, "%s", request->error);
    else if (count == 0 && !check->is_all && check->request)
        request_fail(check->request, ERROR_REQUEST_FAILED, "there is no such kernel in %s",
                     check->uri);
    if (count == 0 || atomic_load(&check->is_cancelled)) {
        check_end(check);
        return;
    }
    for (int i = 0; i < count; i++) {
        QueuedProof *proof = check->proofs.items[i];
        if (proof->params) queue_add(checks, proof);
    }
    for (int i = 0; i < count; i++) {  // the last one may end the check
        QueuedProof *proof = check->proofs.items[i];
        if (!proof->params) proof_done(proof);
    }
    provers_start(checks);
    // What no worker has taken waits. The check itself may have ended.
    for (QueuedProof *proof = checks->queue; proof; proof = proof->next) {
        if (proof->check != check) continue;
        proof->status.is_waiting = true;
        proof_record(proof);
    }
}

/// A request's own, while the client waits for it.
static Progress progress_for(Checks *checks, Arena *arena, const Request *request) {
    Progress own = request ? progress_of_params(request->params) : (Progress){0};
    if (own.token) return (Progress){json_copy(arena, own.token), true};
    return progress_new(arena, arena_printf(arena, "tad-check-%d", ++checks->last_token));
}

void checks_start(Checks *checks, QueueDocument *document, Text *text, const char *kernel,
                  Request *request) {
    Server *server = checks->server;
    Arena *arena = arena_new();
    GradientCheck *check = ARENA_NEW(arena, GradientCheck);
    *check = (GradientCheck){.arena = arena,
                             .checks = checks,
                             .uri = arena_strdup(arena, document->uri),
                             .progress = progress_for(checks, arena, request),
                             .version = text->version,
                             .is_all = !kernel,
                             .request = request,
                             .next = checks->first};
    atomic_init(&check->is_cancelled, false);
    checks->first = check;
    if (!check->progress.is_clients) progress_begin(server, check->progress, "Checking gradients");
    Request *prepare = request_new(server, arena_new());
    Preparation *preparation = ARENA_NEW(prepare->arena, Preparation);
    *preparation = (Preparation){check, kernel ? arena_strdup(prepare->arena, kernel) : NULL};
    prepare->context = preparation;
    request_set_document(prepare, document, text);
    prepare->work = prepare_work;
    prepare->finish = prepare_finish;
    request_start(prepare, QUEUE_SLOW);
}

// --- Cancelling

static void queue_remove(Checks *checks, const GradientCheck *check) {
    QueuedProof **link = &checks->queue;
    while (*link) {
        if ((*link)->check == check)
            *link = (*link)->next;
        else
            link = &(*link)->next;
    }
    checks->queue_end = link;
}

static void check_cancel(GradientCheck *check) {
    Checks *checks = check->checks;
    atomic_store(&check->is_cancelled, true);
    if (!check->is_prepared) return;  // prepare_finish ends it
    queue_remove(checks, check);
    CheckProver *freed[MOST_PROVERS];
    int freed_count = 0;
    for (int i = 0; i < MOST_PROVERS; i++) {
        CheckProver *prover = &checks->provers[i];
        if (!prover->proof || prover->proof->check != check) continue;
        runner_client_close(prover->client);
        prover->proof = NULL;
        freed[freed_count++] = prover;
    }
    for (LIST_EACH(int, i, check->proofs)) {
        QueuedProof *proof = check->proofs.items[i];
        if (proof->is_done) continue;
        proof->status = (GradientStatus){.state = GRADIENT_UNCHECKED, .reason = "cancelled"};
        proof_record(proof);
    }
    check_end(check);
    for (int i = 0; i < freed_count; i++)
        if (checks->queue) prover_next(freed[i]);
}

void checks_cancel_token(Checks *checks, const Json *token) {
    for (GradientCheck *check = checks->first; check; check = check->next)
        if (progress_has(check->progress, token)) {
            check_cancel(check);
            return;
        }
}

void checks_cancel_request(Checks *checks, const Request *request) {
    for (GradientCheck *check = checks->first; check; check = check->next)
        if (check->request == request) {
            check_cancel(check);
            return;
        }
}
