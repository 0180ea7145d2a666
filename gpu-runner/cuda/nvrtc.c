// One program a text; its log is asked for where it does not compile.
#include "gpu-runner/cuda/nvrtc.h"

enum { NVRTC_INVALID_OPTION = 5 };

Error nvrtc_open(Arena *arena, Nvrtc *nvrtc) {
    static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                                        "libnvrtc.so.11.2", NULL};
    Error error = NULL;
    void *library = library_open(arena, "TAD_NVRTC", names, &error);
    if (!library) return error;
#define CALL(field, symbol, ...)                                                                   \
    if (!error) error = library_function(arena, library, symbol, &nvrtc->field);
#include "gpu-runner/cuda/nvrtc.def"
#undef CALL
    if (!error && nvrtc->version_get(&nvrtc->major, &nvrtc->minor))
        error = "libnvrtc does not tell its version";
    return error;
}

/// The first line of the log that is an error, else its first line.
static const char *complaint(Arena *arena, const Nvrtc *nvrtc, void *program) {
    size_t size = 0;
    if (nvrtc->log_size(program, &size) || size < 2) return "no reason given";
    char *log = arena_alloc(arena, size + 1);
    if (nvrtc->log_get(program, log)) return "no reason given";
    const char *error = strstr(log, "error");
    const char *line = error ? error : log;
    while (line > log && line[-1] != '\n') line--;
    return arena_strndup(arena, line, strcspn(line, "\n"));
}

static const char *program_code(Arena *arena, const Nvrtc *nvrtc, void *program,
                                const char *architecture, Error *error) {
    const char *const options[] = {architecture, "--fmad=false", "--std=c++17"};
    int code = nvrtc->program_compile(program, (int)(sizeof options / sizeof *options), options);
    size_t size = 0;
    if (code == NVRTC_INVALID_OPTION)
        *error = arena_printf(arena, "NVRTC %d.%d does not know this GPU (%s); a newer one does",
                              nvrtc->major, nvrtc->minor, architecture);
    else if (code)
        *error = arena_printf(arena, "NVRTC does not compile the kernel (%d): %s", code,
                              complaint(arena, nvrtc, program));
    else if (nvrtc->code_size(program, &size) || size == 0)
        *error = "NVRTC gives no code for this GPU; it is too old";
    if (*error) return NULL;
    char *bytes = arena_alloc(arena, size);
    if (nvrtc->code_get(program, bytes) == 0) return bytes;
    *error = "NVRTC does not hand its code over";
    return NULL;
}

const char *nvrtc_compile(Arena *arena, const Nvrtc *nvrtc, const char *text, int architecture,
                          Error *error) {
    void *program = NULL;
    if (nvrtc->program_create(&program, text, "kernel.cu", 0, NULL, NULL)) {
        *error = "NVRTC does not take the kernel's text";
        return NULL;
    }
    const char *code =
        program_code(arena, nvrtc, program,
                     arena_printf(arena, "--gpu-architecture=sm_%d", architecture), error);
    nvrtc->program_destroy(&program);
    return code;
}
