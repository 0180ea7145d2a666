// Plan, then a worker that launches what the user's Triton compiled; where that does not work, a Python with PyTorch, which gets everything on
// stdin and answers with one line of JSON.
#include "server/proofs/timing.h"

#include <stdlib.h>
#include <string.h>

#include "autodiff/module/helpers.h"
#include "server/proofs/python_child.h"

enum {
    PLAN_LIMIT_MS = 60000,
    SPARE_MS = 20000,  // for a worker to say that it has no time left
};

struct Timing {
    Arena *arena;
    Loop *loop;
    RunnerClient *runner;
    RunnerClient *gpu;  // the worker that launches
    Json *plan;
    const char *refused;  // why that worker has no times, or NULL
    PythonChild *child;
    Timer *late;
    const char *const *python;
    const char *const *command;  // of a worker
    const char *module;
    Json *params;
    Json *reference;  // what is timed in PyTorch beside it, or NULL
    Json *result;     // while that is timed
    TimingCallback *callback;
    void *context;
    bool is_cancelled, only_launched;
};

static void timing_free(void *context) {
    Timing *timing = context;
    arena_free(timing->arena);
}

/// The processes' own callbacks are still on the stack: the memory goes at the loop's next turn.
static void timing_end(Timing *timing, const Json *result, const char *problem) {
    timer_stop(timing->late);
    timing->callback(timing->context, result, problem);
    runner_client_close(timing->runner);
    if (timing->gpu) runner_client_close(timing->gpu);
    timer_start(timing->loop, 0, 0, timing_free, timing);
}

/// Whether a worker of this machine was refused because no driver of a GPU is there.
static bool has_no_driver(const char *refused) {
    return refused && strstr(refused, "libcuda.so.1 is not found") != NULL;
}

/// Both ways failed: the way without PyTorch is the one to be mended.
static const char *both_problems(const Timing *timing, const char *problem) {
    const char *what = has_no_driver(timing->refused) ? "this machine has no NVIDIA driver: " : "";
    return timing->refused ? arena_printf(timing->arena, "%s%s; and with PyTorch: %s", what,
                                          timing->refused, problem)
                           : problem;
}

bool timing_lacks_setup(const char *problem) { return strstr(problem, TIMING_SETTING) != NULL; }

static Json *request_for_child(Timing *timing);

static void reference_timed(void *context, const Json *answer, const char *problem) {
    Timing *timing = context;
    Arena *arena = timing->arena;
    timing->child = NULL;
    Json *reference = answer ? json_copy(arena, answer) : json_object(arena);
    if (problem) json_set_string(reference, "problem", problem);
    json_set(timing->result, "reference", reference);
    timing_end(timing, timing->is_cancelled ? NULL : timing->result,
               timing->is_cancelled ? "cancelled" : NULL);
}

/// The times are there; what is left is to be timed in PyTorch, where somebody asks for that.
static void timing_succeed(Timing *timing, const Json *result) {
    if (!timing->reference) {
        timing_end(timing, result, NULL);
        return;
    }
    timing->result = json_copy(timing->arena, result);
    const char *problem = json_get_string(timing->reference, "problem", NULL);
    if (problem) {
        reference_timed(timing, NULL, problem);
        return;
    }
    Json *request = request_for_child(timing);
    json_set(request, "reference", timing->reference);
    json_set(request, "inputs", json_get(timing->params, "inputs"));
    json_set(request, "outputs", json_get(timing->params, "outputs"));
    timing->child = python_child_start(timing->loop, timing->arena, timing->python, request, false,
                                       reference_timed, timing);
}

static void child_timed(void *context, const Json *answer, const char *problem) {
    Timing *timing = context;
    timing->child = NULL;
    if (timing->is_cancelled)
        timing_end(timing, NULL, "cancelled");
    else if (problem)
        timing_end(timing, NULL, both_problems(timing, problem));
    else
        timing_succeed(timing, answer);
}

static HelperPlace helper_is_absent(const void *context, const char *name, const char *text) {
    (void)context, (void)name, (void)text;
    return HELPER_ABSENT;
}

/// What gpu-runner/time_kernels.py is given. A text that is the user's own module does not go to a Python that imports it.
static Json *request_for_child(Timing *timing) {
    Arena *arena = timing->arena;
    Json *request = json_object(arena);
    if (!timing->only_launched) json_set_string(request, "module", timing->module);
    json_set_string(request, "kernel", json_get_string(timing->params, "kernel", ""));
    json_set(request, "plan", timing->plan);
    json_set(request, "launches", json_get(json_get(timing->params, "backward"), "launches"));
    json_set_string(
        request, "helpers",
        helpers_text(arena, "_product_tiles() _loop_tile() _row_block() _wide_block() _together()",
                     helper_is_absent, NULL));
    return request;
}

static void child_start(Timing *timing) {
    timing->child =
        python_child_start(timing->loop, timing->arena, timing->python, request_for_child(timing),
                           has_no_driver(timing->refused), child_timed, timing);
}

static Json *python_json(const Timing *timing) {
    Json *python = json_array(timing->arena);
    for (const char *const *word = timing->python; *word; word++)
        json_push(python, json_string(timing->arena, *word));
    return python;
}

/// A worker of this machine: the Python here times on the same GPU as it.
static bool is_here(const char *const *command) {
    const char *slash = strrchr(command[0], '/');
    return strcmp(slash ? slash + 1 : command[0], "tad-runner") == 0;
}

/// What Triton says of the text it says in a process with PyTorch, too (gpu-runner/triton/compiler.c).
static bool is_refused_by_triton(const char *message) {
    return strstr(message, " the text that was compiled: ") != NULL;
}

/// The kernel left its memory, or used an address that is none: codes 700, 716 and 717 of the driver.
static bool is_fault(const char *message) {
    return strstr(message, ", 700)") || strstr(message, ", 716)") || strstr(message, ", 717)");
}

/// The kernel did not end: a limit of ours, or the system's (702).
static bool is_endless(const char *message) {
    return strstr(message, "takes longer than the request may") || strstr(message, ", 702)");
}

/// What PyTorch's launch of the same kernel would run into as well.
static bool would_fail_again(const char *message) {
    return strstr(message, "the context is lost") || strstr(message, "the GPU is left to it") ||
           strstr(message, "the GPU has no memory left");
}

/// The kernel of the backward that a message names in quotes; NULL: it names none.
static const char *named_launch(Timing *timing, const char *message) {
    const Json *launches = json_get(json_get(timing->params, "backward"), "launches");
    for (int i = 0; launches && launches->kind == JSON_ARRAY && i < launches->count; i++) {
        const char *name = json_get_string(launches->items[i], "kernel", "");
        if (strstr(message, arena_printf(timing->arena, "`%s`: ", name))) return name;
    }
    return NULL;
}

static const char *line_text(Arena *arena, const char *text, int line) {
    for (; line > 1 && text; line--) {
        text = strchr(text, '\n');
        if (text) text++;
    }
    return text ? str_dup(arena, str_trim((Str){text, strcspn(text, "\n")})) : "";
}

/// "k.py:12: " of the user's file, or "line 12 of the derived text (`x = ...`): ".
static const char *fault_place(Timing *timing, int line) {
    Arena *arena = timing->arena;
    const char *derived = json_get_string(json_get(timing->params, "backward"), "source", NULL);
    bool is_own = !derived || !named_launch(timing, timing->refused) ||
                  strcmp(derived, json_get_string(timing->params, "source", "")) == 0;
    return is_own
               ? arena_printf(arena, "%s:%d: ", json_get_string(timing->params, "path", ""), line)
               : arena_printf(arena, "line %d of the derived text (`%s`): ", line,
                              line_text(arena, derived, line));
}

/// Why the interpreter has no place for a fault.
static const char *not_found(Arena *arena, const char *refused, const char *why) {
    if (strstr(refused, ", 716)") && strcmp(why, "no program left a tensor") == 0)
        why = "no program left a tensor, and each address fits its type";
    if (is_endless(refused) && strcmp(why, "no program left a tensor") == 0)
        why = "there all programs ended";
    return arena_printf(arena, "%s; the interpreter did not find where: %s", refused, why);
}

/// What the interpreter found of a fault of the GPU's, in words; NULL: nothing.
static const char *fault_text(Timing *timing, const Json *fault) {
    enum { LEAST_ITERATIONS = 1000 };
    Arena *arena = timing->arena;
    const Json *at = json_get(fault, "program");
    if (!at || at->kind != JSON_ARRAY || at->count < 3) return NULL;
    const char *program = arena_printf(arena, "program (%.0f, %.0f, %.0f)", at->items[0]->number,
                                       at->items[1]->number, at->items[2]->number);
    double iterations = json_get_number(fault, "iterations", 0);
    int line = json_get_int(fault, "line", 0), loop = json_get_int(fault, "loop_line", 0);
    if (line && !is_endless(timing->refused))
        return arena_printf(arena, "%s%s, lane %d %s", fault_place(timing, line), program,
                            json_get_int(fault, "lane", 0), json_get_string(fault, "message", ""));
    if (loop && is_endless(timing->refused) && iterations >= LEAST_ITERATIONS)
        return arena_printf(arena, "%s%s is still in this loop after %.0f iterations",
                            fault_place(timing, loop), program, iterations);
    return NULL;
}

static void fault_sought(void *context, RunnerTrouble trouble, const Json *result,
                         const char *message) {
    Timing *timing = context;
    Arena *arena = timing->arena;
    const Json *fault = trouble == RUNNER_OK ? json_get(result, "fault") : NULL;
    const char *found = fault ? fault_text(timing, fault) : NULL,
               *why = fault ? json_get_string(fault, "reason", "") : message;
    const char *said = timing->is_cancelled ? "cancelled"
                       : found              ? arena_printf(arena, "%s; %s", timing->refused, found)
                                            : not_found(arena, timing->refused, why);
    timing_end(timing, NULL, said);
}

/// Runs the kernel that failed in the interpreter. One that does not end shows that soon.
static void fault_seek(Timing *timing) {
    enum { SECONDS = 20, SECONDS_ENDLESS = 5, SPARE = 10 };
    int seconds = is_endless(timing->refused) ? SECONDS_ENDLESS : SECONDS;
    Json *params = json_copy(timing->arena, timing->params);
    const char *launch = named_launch(timing, timing->refused);
    json_set_bool(params, "seek_fault", true);
    if (launch) json_set_string(params, "seek_launch", launch);
    json_set_number(params, "max_seconds", seconds);
    runner_client_request(timing->runner, "plan", params, (uint64_t)(seconds + SPARE) * 1000,
                          fault_sought, timing);
}

static void launched(void *context, RunnerTrouble trouble, const Json *result,
                     const char *message) {
    Timing *timing = context;
    if (trouble == RUNNER_OK) {
        timing_succeed(timing, result);
    } else if (trouble == RUNNER_REFUSED && (is_fault(message) || is_endless(message))) {
        timing->refused = arena_strdup(timing->arena, message);
        fault_seek(timing);
    } else if (trouble == RUNNER_TIMED_OUT || !is_here(timing->command) ||
               is_refused_by_triton(message) || would_fail_again(message)) {
        timing_end(timing, NULL, arena_strdup(timing->arena, message));
    } else {
        timing->refused = arena_strdup(timing->arena, message);
        if (timing->only_launched) {
            timing_end(timing, NULL, timing->refused);
            return;
        }
        child_start(timing);
    }
}

/// A worker of its own: one that drives a GPU may be lost with it.
static void launch_start(Timing *timing, const char *const *runner) {
    static const char *const taken[] = {"path", "modules", "kernel"};
    Arena *arena = timing->arena;
    Json *params = json_object(arena);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        Json *value = json_get(timing->params, taken[i]);
        if (value) json_set(params, taken[i], value);
    }
    json_set_string(params, "module", timing->module);
    json_set(params, "plan", timing->plan);
    json_set(params, "python", python_json(timing));
    json_set_number(params, "max_seconds", (PYTHON_CHILD_LIMIT_MS - SPARE_MS) / 1e3);
    timing->gpu = runner_client_new(arena, timing->loop, runner_command_for(arena, runner, "cuda"),
                                    NULL, NULL);
    runner_client_request(timing->gpu, "time", params, PYTHON_CHILD_LIMIT_MS, launched, timing);
}

static void planned(void *context, RunnerTrouble trouble, const Json *result, const char *message) {
    Timing *timing = context;
    if (timing->is_cancelled || trouble != RUNNER_OK) {
        timing_end(timing, NULL,
                   timing->is_cancelled ? "cancelled" : arena_strdup(timing->arena, message));
        return;
    }
    timing->plan = json_copy(timing->arena, result);
    if (is_python(timing->python))
        launch_start(timing, timing->command);
    else if (timing->only_launched)
        timing_end(timing, NULL,
                   "a kernel without a backward is timed by a Python of this machine only");
    else
        child_start(timing);
}

static const char *const *command_copy(Arena *arena, const char *const *command) {
    int count = 0;
    while (command[count]) count++;
    const char **copy = ARENA_ARRAY(arena, const char *, count + 1);
    for (int i = 0; i < count; i++) copy[i] = arena_strdup(arena, command[i]);
    return copy;
}

Timing *timing_start(Loop *loop, const TimingRequest *request, TimingCallback *callback,
                     void *context) {
    Arena *arena = arena_new();
    Timing *timing = ARENA_NEW(arena, Timing);
    *timing = (Timing){
        .arena = arena,
        .loop = loop,
        .python = command_copy(arena, request->python),
        .module = arena_strdup(arena, request->module),
        .only_launched = request->only_launched,
        .reference = request->reference ? json_copy(arena, request->reference) : NULL,
        .callback = callback,
        .context = context,
    };
    Error error = NULL;
    const char *params = json_print(arena, request->params, false);
    timing->params = json_parse(arena, str_from(params), &error);
    timing->command = command_copy(arena, request->runner);
    timing->runner = runner_client_new(arena, loop, timing->command, NULL, NULL);
    runner_client_request(timing->runner, "plan", timing->params, PLAN_LIMIT_MS, planned, timing);
    return timing;
}

/// A worker that was closed says nothing any more.
static void launch_was_cancelled(void *context) {
    Timing *timing = context;
    timing->late = NULL;
    timing_end(timing, NULL, "cancelled");
}

void timing_cancel(Timing *timing) {
    timing->is_cancelled = true;
    if (timing->child) python_child_kill(timing->child);
    if (!timing->gpu || timing->child || timing->late) return;
    runner_client_close(timing->gpu);
    timing->late = timer_start(timing->loop, 0, 0, launch_was_cancelled, timing);
}

void timing_abandon(Timing *timing) {
    timer_stop(timing->late);
    if (timing->child) python_child_abandon(timing->child);
    runner_client_close(timing->runner);
    if (timing->gpu) runner_client_close(timing->gpu);
    arena_free(timing->arena);
}

const char *timing_summary(Arena *arena, const Json *result) {
    enum {
        MANY_OPERATIONS = 20  // for each byte: arithmetic may be what takes the time
    };
    double forward = json_get_number(json_get(result, "forward"), "median_ms", 0);
    double backward = json_get_number(json_get(result, "backward"), "median_ms", 0);
    double bytes = json_get_number(result, "bytes", 0);
    double copy = json_get_number(result, "copy_gb_s", 0);
    double operations = json_get_number(result, "operations", 0),
           matrix = json_get_number(result, "matrix_tflop_s", 0);
    bool is_small = bytes < TIMING_LEAST_BYTES;
    Buffer out = buffer_new(arena);
    buffer_printf(&out, "fwd %.3g ms", forward);
    if (forward > 0 && !is_small) {
        double rate = bytes / forward / 1e6;
        buffer_printf(&out, " (%.0f GB/s", rate);
        if (copy > 0) buffer_printf(&out, ", %.0f %% of a copy's", 100 * rate / copy);
        if (operations > MANY_OPERATIONS * bytes)
            buffer_printf(&out, ", %.3g TFLOP/s", operations / forward / 1e9);
        if (operations > MANY_OPERATIONS * bytes && matrix > 0)
            buffer_printf(&out, ", %.0f %% of a matrix product's",
                          100 * operations / forward / 1e9 / matrix);
        buffer_putc(&out, ')');
    }
    if (backward > 0) buffer_printf(&out, ", bwd %.3g ms", backward);
    if (backward > 0 && forward > 0) buffer_printf(&out, ", %.1fx fwd", backward / forward);
    if (is_small) buffer_puts(&out, ", at sizes of a proof: say real ones with `# tad time:`");
    return buffer_text(&out);
}

const char *const *timing_python(Arena *arena, const char *given) {
    const char *python = given && *given ? given : getenv("TAD_PYTHON");
    return runner_command(arena, python && *python ? python : "python3");
}
