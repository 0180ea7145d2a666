// `--doctor`: what is here of the things that proofs and timings can use. Nothing of the user's is imported or run:
// workers are asked, `--version` is asked, and Python is asked for the version of an installed package.
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/json.h"
#include "server/proofs/runner_client.h"
#include "server/settings/options.h"

enum { COMMAND_LIMIT_MS = 10000 };

typedef struct Doctor {
    Arena *arena;
    const Options *options;
    Loop *loop;
    const Json *worker;  // what it answered; NULL where it did not
    const Json *cuda;    // what a worker with the GPU says of it; NULL where it did not
    const char *cuda_missing;
} Doctor;

/// Found: text to show. Not found: NULL and `*missing` says why.
typedef const char *Examination(Doctor *doctor, const char **missing);

static const char *first_line(Arena *arena, const char *text) {
    return arena_strndup(arena, text, strcspn(text, "\r\n"));
}

static const char *ask(Doctor *doctor, const char *const *arguments, const char **missing) {
    CommandResult result = command_run(doctor->arena, arguments, COMMAND_LIMIT_MS);
    if (!result.started)
        *missing = arena_printf(doctor->arena, "no `%s` on PATH", arguments[0]);
    else if (result.timed_out)
        *missing = arena_printf(doctor->arena, "`%s` did not answer within %d s", arguments[0],
                                COMMAND_LIMIT_MS / 1000);
    else if (result.status != 0)
        *missing = arena_printf(doctor->arena, "`%s` failed: %s", arguments[0],
                                first_line(doctor->arena, result.output));
    else
        return first_line(doctor->arena, result.output);
    return NULL;
}

static const char *find_compiler(Doctor *doctor, const char **missing) {
    static const char *const names[] = {"cc", "gcc", "clang"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *found =
            ask(doctor, (const char *const[]){names[i], "--version", NULL}, missing);
        if (found) return found;
    }
    *missing = "none of cc, gcc, clang on PATH; Triton compiles its launchers with one";
    return NULL;
}

static const char *find_python(Doctor *doctor, const char **missing) {
    return ask(doctor, (const char *const[]){"python3", "--version", NULL}, missing);
}

static const char *find_package(Doctor *doctor, const char *name, const char **missing) {
    // -I: neither the current folder nor PYTHON* variables; metadata is read, the package is not imported.
    const char *code = arena_printf(doctor->arena,
                                    "import importlib.metadata as m\n"
                                    "try: print(m.version('%s'))\n"
                                    "except m.PackageNotFoundError: print('')",
                                    name);
    const char *version =
        ask(doctor, (const char *const[]){"python3", "-I", "-c", code, NULL}, missing);
    if (version && *version) return version;
    if (version) *missing = arena_printf(doctor->arena, "python3 has no package `%s`", name);
    return NULL;
}

static const char *find_triton(Doctor *doctor, const char **missing) {
    return find_package(doctor, "triton", missing);
}

static const char *find_torch(Doctor *doctor, const char **missing) {
    return find_package(doctor, "torch", missing);
}

typedef struct DoctorProbe {
    Doctor *doctor;
    const Json *answer;
    const char *missing;
} DoctorProbe;

static void probed(void *context, RunnerTrouble trouble, const Json *result, const char *message) {
    DoctorProbe *probe = context;
    Arena *arena = probe->doctor->arena;
    if (trouble == RUNNER_OK && result)
        probe->answer = json_copy(arena, result);
    else
        probe->missing = arena_strdup(arena, message ? message : "it does not answer");
    loop_stop(probe->doctor->loop);
}

static const Json *probe_worker(Doctor *doctor, const char *const *command, const char **missing) {
    DoctorProbe probe = {.doctor = doctor};
    RunnerClient *client = runner_client_new(doctor->arena, doctor->loop, command, NULL, NULL);
    runner_client_request(client, "probe", NULL, COMMAND_LIMIT_MS, probed, &probe);
    loop_run(doctor->loop);
    runner_client_close(client);
    if (!probe.answer) *missing = probe.missing;
    return probe.answer;
}

/// The backend of that name in what a worker answered, or NULL.
static const Json *backend_named(const Json *answer, const char *name) {
    const Json *backends = json_get(answer, "backends");
    for (int i = 0; backends && backends->kind == JSON_ARRAY && i < backends->count; i++)
        if (strcmp(json_get_string(backends->items[i], "name", ""), name) == 0)
            return backends->items[i];
    return NULL;
}

static const char *find_runner(Doctor *doctor, const char **missing) {
    const char *runner = runner_find(doctor->arena, doctor->options->runner, missing);
    doctor->cuda_missing = "no worker says";
    if (!runner) return NULL;
    const char *const *command = runner_command(doctor->arena, runner);
    doctor->worker = probe_worker(doctor, command, missing);
    if (!doctor->worker) return NULL;
    // A process of its own: the worker that proves lets nobody open a library.
    const Json *answer = probe_worker(doctor, runner_command_for(doctor->arena, command, "cuda"),
                                      &doctor->cuda_missing);
    doctor->cuda = backend_named(answer, "cuda");
    bool has_cuda = json_get_bool(doctor->cuda, "available", false);
    return arena_printf(doctor->arena, "%s %s, backends: cpu%s", runner,
                        json_get_string(doctor->worker, "version", "?"), has_cuda ? ", cuda" : "");
}

/// What the worker says of a part of its backend cuda.
static const char *cuda_part(const Doctor *doctor, const char *name, const char **missing) {
    const Json *part = json_get(doctor->cuda, name);
    *missing = json_get_string(part, "missing", doctor->cuda_missing);
    return json_get_string(part, "found", NULL);
}

static const char *find_driver(Doctor *doctor, const char **missing) {
    return cuda_part(doctor, "driver", missing);
}

static const char *find_nvrtc(Doctor *doctor, const char **missing) {
    return cuda_part(doctor, "nvrtc", missing);
}

static const char *find_gpu(Doctor *doctor, const char **missing) {
    return cuda_part(doctor, "gpu", missing);
}

static const char *find_cuda(Doctor *doctor, const char **missing) {
    *missing = json_get_string(doctor->cuda, "missing", doctor->cuda_missing);
    if (!json_get_bool(doctor->cuda, "available", false)) return NULL;
    return "a kernel was compiled, launched, and its result is right";
}

/// What the worker may not do while it proves. It tells itself, so that it is that of the machine where it runs.
static const char *find_sandbox(Doctor *doctor, const char **missing) {
    const Json *sandbox = json_get(doctor->worker, "sandbox");
    static const struct {
        const char *key, *text;
    } parts[] = {
        {"system_calls", "system calls filtered (no network, no files, no programs)"},
        {"no_new_privileges", "no new privileges"},
        {"limits", "limits on memory, time and files"},
        {"environment", "an empty environment"},
    };
    Buffer held = buffer_new(doctor->arena);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (json_get_bool(sandbox, parts[i].key, false))
            buffer_printf(&held, "%s%s", held.size ? ", " : "", parts[i].text);
    const char *lacking = json_get_string(sandbox, "lacking", NULL);
    *missing = lacking ? lacking : "the worker does not tell of one";
    if (held.size == 0) return NULL;
    return lacking ? arena_printf(doctor->arena, "%s; but %s", buffer_text(&held), lacking)
                   : buffer_text(&held);
}

static const struct {
    const char *name;
    Examination *examine;
    const char *use;
    bool is_needed;  // for `--check --grad`
} examinations[] = {
    {"worker tad-runner", find_runner, "proofs of gradients", true},
    {"sandbox of the worker", find_sandbox, "what a proof may not do", false},
    {"C compiler", find_compiler, "Triton's launchers", false},
    {"Python", find_python, "compiling with your Triton", false},
    {"Triton", find_triton, "compiling with your Triton", false},
    {"PyTorch", find_torch, "running the derived functions", false},
    {"NVIDIA driver", find_driver, "running on the GPU", false},
    {"NVRTC", find_nvrtc, "proofs on the GPU", false},
    {"GPU", find_gpu, "running on the GPU", false},
    {"backend cuda", find_cuda, "proofs on the GPU", false},
};

int command_doctor(const Options *options) {
    Arena *arena = arena_new();
    Doctor doctor = {.arena = arena, .options = options, .loop = loop_new()};
    int status = STATUS_CLEAN;
    printf("tad-lsp %s\n", TAD_VERSION);
    for (size_t i = 0; i < sizeof examinations / sizeof *examinations; i++) {
        const char *missing = "not found";
        const char *found = examinations[i].examine(&doctor, &missing);
        if (found)
            printf("  found    %-22s %s\n", examinations[i].name,
                   text_visible(doctor.arena, found));
        else
            printf("  missing  %-22s %s (for %s)\n", examinations[i].name,
                   text_visible(doctor.arena, missing), examinations[i].use);
        if (!found && examinations[i].is_needed) status = STATUS_FINDINGS;
    }
    puts(
        "Checking kernels and deriving gradients need none of these; proofs need the worker alone.");
    loop_free(doctor.loop);
    arena_free(arena);
    return status;
}
