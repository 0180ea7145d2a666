// One program a text; its log is asked for where it does not compile.
#include "gpu-runner/cuda/nvrtc.h"

#include "base/parallel.h"
#include "gpu-runner/cuda/cache.h"

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

/// Options beside the architecture, in this order. The third makes the compiler quick, and the fourth the code slow, too; releases before
/// 12.9 do not know these.
static const char *const options[] = {"--fmad=false", "--std=c++17", "--minimal", "-Ofc=max"};
enum { ALL_OPTIONS = sizeof options / sizeof *options, LASTING_OPTIONS = ALL_OPTIONS - 2 };

static int option_count(bool is_quick) { return is_quick ? ALL_OPTIONS : ALL_OPTIONS - 1; }

static int compile(const Nvrtc *nvrtc, void *program, const char *architecture, int count) {
    const char *given[1 + ALL_OPTIONS] = {architecture};
    memcpy(given + 1, options, sizeof options);
    return nvrtc->program_compile(program, 1 + count, given);
}

static Str program_code(Arena *arena, const Nvrtc *nvrtc, void *program, const char *architecture,
                        bool is_quick, Error *error) {
    int code = compile(nvrtc, program, architecture, option_count(is_quick));
    if (code == NVRTC_INVALID_OPTION) code = compile(nvrtc, program, architecture, LASTING_OPTIONS);
    size_t size = 0;
    if (code == NVRTC_INVALID_OPTION)
        *error = arena_printf(arena, "NVRTC %d.%d does not know this GPU (%s); a newer one does",
                              nvrtc->major, nvrtc->minor, architecture);
    else if (code)
        *error = arena_printf(arena, "NVRTC does not compile the kernel (%d): %s", code,
                              complaint(arena, nvrtc, program));
    else if (nvrtc->code_size(program, &size) || size == 0)
        *error = "NVRTC gives no code for this GPU; it is too old";
    if (*error) return (Str){0};
    char *bytes = arena_alloc(arena, size);
    if (nvrtc->code_get(program, bytes) == 0) return (Str){bytes, size};
    *error = "NVRTC does not hand its code over";
    return (Str){0};
}

/// All that the code is made from.
static Str key_of(Arena *arena, const Nvrtc *nvrtc, const char *text, NvrtcTarget target) {
    Buffer key = buffer_new(arena);
    buffer_printf(&key, "%d.%d sm_%d", nvrtc->major, nvrtc->minor, target.architecture);
    for (int i = 0; i < option_count(target.is_quick); i++) buffer_printf(&key, " %s", options[i]);
    buffer_printf(&key, "\n%s", text);
    return (Str){buffer_text(&key), key.size};
}

static Str compiled(Arena *arena, const Nvrtc *nvrtc, const char *text, NvrtcTarget target,
                    Error *error) {
    void *program = NULL;
    if (nvrtc->program_create(&program, text, "kernel.cu", 0, NULL, NULL)) {
        *error = "NVRTC does not take the kernel's text";
        return (Str){0};
    }
    Str code = program_code(arena, nvrtc, program,
                            arena_printf(arena, "--gpu-architecture=sm_%d", target.architecture),
                            target.is_quick, error);
    nvrtc->program_destroy(&program);
    return code;
}

Str nvrtc_compile(Arena *arena, const Nvrtc *nvrtc, const char *text, NvrtcTarget target,
                  Error *error) {
    Str key = key_of(arena, nvrtc, text, target), code = cache_find(arena, key);
    if (code.data) return code;
    code = compiled(arena, nvrtc, text, target, error);
    if (code.data) cache_keep(arena, key, code);
    return code;
}

// --- many at once -------------------------------------------------------------------------------------------------------

typedef struct Batch {
    const Nvrtc *nvrtc;
    NvrtcTarget target;
    const char *const *texts;
    Arena **arenas;  // of each text, whose thread is not the caller's
    Str *codes;
} Batch;

static void compile_one(void *context, int worker, int index) {
    (void)worker;
    const Batch *batch = context;
    if (batch->codes[index].data) return;
    Error error = NULL;
    batch->codes[index] =
        compiled(batch->arenas[index], batch->nvrtc, batch->texts[index], batch->target, &error);
}

void nvrtc_compile_all(Arena *arena, const Nvrtc *nvrtc, const char *const *texts, int count,
                       NvrtcTarget target, Str *codes) {
    Batch batch = {.nvrtc = nvrtc,
                   .target = target,
                   .texts = texts,
                   .arenas = ARENA_ARRAY(arena, Arena *, count + 1),
                   .codes = codes};
    bool *was_kept = ARENA_ARRAY(arena, bool, count + 1);
    for (int i = 0; i < count; i++) {
        codes[i] = cache_find(arena, key_of(arena, nvrtc, texts[i], target));
        was_kept[i] = codes[i].data != NULL;
        batch.arenas[i] = arena_new();
    }
    parallel_for(count, compile_one, &batch);
    for (int i = 0; i < count; i++) {
        if (codes[i].data && !was_kept[i]) {
            codes[i] = (Str){arena_strndup(arena, codes[i].data, codes[i].size), codes[i].size};
            cache_keep(arena, key_of(arena, nvrtc, texts[i], target), codes[i]);
        }
        arena_free(batch.arenas[i]);
    }
}
