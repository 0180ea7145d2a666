// `--doctor`: what is here of the things that proofs and timings can use. Nothing of the user's is imported or run:
// libraries are opened, `--version` is asked, and Python is asked for the version of an installed package.
#include <dlfcn.h>
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

/// A function of a library; NULL when the library lacks it.
#define FIND_FUNCTION(library, name, pointer)                                                      \
    do {                                                                                           \
        void *found_symbol = dlsym((library), (name));                                             \
        memcpy((pointer), &found_symbol, sizeof found_symbol);                                     \
    } while (0)

static void *open_library(Doctor *doctor, const char *const *names, const char **missing) {
    for (int i = 0; names[i]; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
    }
    *missing = arena_printf(doctor->arena, "no %s to be loaded", names[0]);
    return NULL;
}

static void *open_driver(Doctor *doctor, const char **missing) {
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    return open_library(doctor, names, missing);
}

static const char *find_driver(Doctor *doctor, const char **missing) {
    void *library = open_driver(doctor, missing);
    if (!library) return NULL;
    int (*driver_version)(int *version) = NULL;
    int version = 0;
    FIND_FUNCTION(library, "cuDriverGetVersion", &driver_version);
    if (!driver_version || driver_version(&version)) {
        *missing = "libcuda does not tell its version";
        return NULL;
    }
    return arena_printf(doctor->arena, "CUDA %d.%d", version / 1000, version % 1000 / 10);
}

static const char *name_devices(Doctor *doctor, void *library, int count) {
    int (*device_get)(int *device, int ordinal) = NULL;
    int (*device_name)(char *name, int size, int device) = NULL;
    FIND_FUNCTION(library, "cuDeviceGet", &device_get);
    FIND_FUNCTION(library, "cuDeviceGetName", &device_name);
    Buffer names = buffer_new(doctor->arena);
    for (int i = 0; i < count && device_get && device_name; i++) {
        int device = 0;
        char name[256] = "";
        if (device_get(&device, i) || device_name(name, sizeof name, device)) continue;
        buffer_printf(&names, "%s%s", i ? ", " : "", name);
    }
    return buffer_text(&names);
}

static const char *find_gpu(Doctor *doctor, const char **missing) {
    void *library = open_driver(doctor, missing);
    if (!library) return NULL;
    int (*initialise)(unsigned flags) = NULL;
    int (*device_count)(int *count) = NULL;
    FIND_FUNCTION(library, "cuInit", &initialise);
    FIND_FUNCTION(library, "cuDeviceGetCount", &device_count);
    int count = 0;
    int failed = initialise ? initialise(0) : -1;
    if (failed || !device_count || device_count(&count)) {
        *missing = arena_printf(doctor->arena, "the driver finds no GPU (cuInit: %d)", failed);
        return NULL;
    }
    if (count == 0) {
        *missing = "the driver sees no GPU";
        return NULL;
    }
    return name_devices(doctor, library, count);
}

static const char *find_nvrtc(Doctor *doctor, const char **missing) {
    static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                                        "libnvrtc.so.11.2", NULL};
    void *library = open_library(doctor, names, missing);
    if (!library) return NULL;
    int (*nvrtc_version)(int *major, int *minor) = NULL;
    int major = 0, minor = 0;
    FIND_FUNCTION(library, "nvrtcVersion", &nvrtc_version);
    if (nvrtc_version && nvrtc_version(&major, &minor) == 0)
        return arena_printf(doctor->arena, "%d.%d", major, minor);
    *missing = "libnvrtc does not tell its version";
    return NULL;
}

typedef struct DoctorProbe {
    Doctor *doctor;
    const char *found, *missing;
} DoctorProbe;

static const char *backend_names(Arena *arena, const Json *backends) {
    Buffer names = buffer_new(arena);
    for (int i = 0; backends && backends->kind == JSON_ARRAY && i < backends->count; i++)
        if (json_get_bool(backends->items[i], "available", false))
            buffer_printf(&names, "%s%s", names.size ? ", " : "",
                          json_get_string(backends->items[i], "name", "?"));
    return names.size ? buffer_text(&names) : "none";
}

static void probed(void *context, RunnerTrouble trouble, const Json *result, const char *message) {
    DoctorProbe *probe = context;
    Arena *arena = probe->doctor->arena;
    if (trouble == RUNNER_OK) {
        probe->doctor->worker = result ? json_copy(arena, result) : NULL;
        probe->found =
            arena_printf(arena, "%s, backends: %s", json_get_string(result, "version", "?"),
                         backend_names(arena, json_get(result, "backends")));
    } else {
        probe->missing = arena_strdup(arena, message);
    }
    loop_stop(probe->doctor->loop);
}

static const char *find_runner(Doctor *doctor, const char **missing) {
    const char *runner = runner_find(doctor->arena, doctor->options->runner, missing);
    if (!runner) return NULL;
    DoctorProbe probe = {.doctor = doctor};
    RunnerClient *client = runner_client_new(doctor->arena, doctor->loop,
                                             runner_command(doctor->arena, runner), NULL, NULL);
    runner_client_request(client, "probe", NULL, COMMAND_LIMIT_MS, probed, &probe);
    loop_run(doctor->loop);
    runner_client_close(client);
    *missing = probe.missing;
    return probe.found ? arena_printf(doctor->arena, "%s %s", runner, probe.found) : NULL;
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
};

int command_doctor(const Options *options) {
    Arena *arena = arena_new();
    Doctor doctor = {arena, options, loop_new(), NULL};
    int status = STATUS_CLEAN;
    printf("tad-lsp %s\n", TAD_VERSION);
    for (size_t i = 0; i < sizeof examinations / sizeof *examinations; i++) {
        const char *missing = "not found";
        const char *found = examinations[i].examine(&doctor, &missing);
        if (found)
            printf("  found    %-22s %s\n", examinations[i].name,
                   text_visible(doctor.arena, found));
        else
            printf("  missing  %-22s %s (for %s)\n", examinations[i].name, missing,
                   examinations[i].use);
        if (!found && examinations[i].is_needed) status = STATUS_FINDINGS;
    }
    puts(
        "Checking kernels and deriving gradients need none of these; proofs need the worker alone.");
    loop_free(doctor.loop);
    arena_free(arena);
    return status;
}
