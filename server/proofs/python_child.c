// The process is killed when it is late or says too much; what it says on stderr is kept for the case that it has no answer.
#include "server/proofs/python_child.h"

#include <string.h>

#include "server/proofs/runner_client.h"
#include "server/system/files.h"

enum { LONGEST_TROUBLE = 300, MOST_ANSWER = 1 << 20 };

struct PythonChild {
    Arena *arena;
    Process *process;
    Timer *late;
    const char *const *python;
    Buffer output, trouble;
    PythonChildCallback *callback;
    void *context;
    bool is_late, has_no_gpu;
};

bool is_python(const char *const *command) {
    const char *slash = strrchr(command[0], '/');
    return !command[1] && strncmp(slash ? slash + 1 : command[0], "python", 6) == 0;
}

static void child_wrote(void *context, const char *data, size_t size) {
    PythonChild *child = context;
    if (child->output.size <= MOST_ANSWER)
        buffer_add(&child->output, data, size);
    else
        process_kill(child->process);  // child_exited says why
}

static void child_complained(void *context, const char *data, size_t size) {
    PythonChild *child = context;
    if (child->trouble.size < 1u << 16) buffer_add(&child->trouble, data, size);
}

/// The last line that is not empty.
static const char *last_line(Arena *arena, Buffer *text) {
    Str all = str_trim((Str){buffer_text(text), text->size});
    size_t start = all.size;
    while (start > 0 && all.data[start - 1] != '\n') start--;
    size_t size = all.size - start;
    return arena_strndup(arena, all.data + start, size < LONGEST_TROUBLE ? size : LONGEST_TROUBLE);
}

static const char *with_advice(Arena *arena, const char *problem, const char *lacks,
                               bool has_no_gpu) {
    if (!*lacks) return problem;
    // a Python with Triton is of no use where there is no GPU
    if (!has_no_gpu && strcmp(lacks, "python") == 0)
        return arena_printf(
            arena, "%s. To time kernels, name a Python with Triton by " TIMING_SETTING, problem);
    return arena_printf(arena,
                        "%s. To time kernels, name a Python with Triton on a machine with a GPU "
                        "by " TIMING_SETTING ", as in `ssh box python3`",
                        problem);
}

static void child_exited(void *context, int status, int signal_number) {
    PythonChild *child = context;
    Error error = NULL;
    Arena *arena = child->arena;
    timer_stop(child->late);
    const Json *answer =
        child->output.size
            ? json_parse(arena, (Str){buffer_text(&child->output), child->output.size}, &error)
            : NULL;
    const char *problem = json_get_string(answer, "error", NULL);
    if (problem)
        problem =
            with_advice(arena, problem, json_get_string(answer, "lacks", ""), child->has_no_gpu);
    if (child->is_late)
        problem = "timing took longer than 5 minutes";
    else if (child->output.size > MOST_ANSWER)
        problem = arena_printf(
            arena, "`%s` was stopped: it wrote more than %d MB, where one line was asked",
            child->python[0], MOST_ANSWER >> 20);
    else if (!answer)
        problem =
            arena_printf(arena, "`%s` ended with %s %d: %s", child->python[0],
                         signal_number ? "signal" : "status",
                         signal_number ? signal_number : status, last_line(arena, &child->trouble));
    bool is_missing = strstr(problem ? problem : "", "cannot start");
    if (!answer && is_missing) problem = with_advice(arena, problem, "python", child->has_no_gpu);
    child->callback(child->context, problem ? NULL : answer, problem);
}

static void child_is_late(void *context) {
    PythonChild *child = context;
    child->late = NULL;
    child->is_late = true;
    process_kill(child->process);
}

static const char *const *child_command(Arena *arena, const char *const *python) {
    enum { MOST_AROUND = 6 };
    int count = 0, python_count = 0;
    while (python[python_count]) python_count++;
    const char **command = ARENA_ARRAY(arena, const char *, python_count + MOST_AROUND);
    Error error = NULL;
    const char *runner = is_python(python) ? runner_find(arena, NULL, &error) : NULL;
    if (runner) {
        command[count++] = runner;
        command[count++] = "--within";
        command[count++] = "gpu";
    }
    for (int i = 0; i < python_count; i++) command[count++] = python[i];
    // -I: neither the user's folder nor his environment changes what is imported
    command[count++] = "-I";
    command[count] = path_join(arena, executable_folder(arena), "tad-time-kernels.py");
    return command;
}

PythonChild *python_child_start(Loop *loop, Arena *arena, const char *const *python,
                                const Json *request, bool has_no_gpu, PythonChildCallback *callback,
                                void *context) {
    PythonChild *child = ARENA_NEW(arena, PythonChild);
    *child = (PythonChild){.arena = arena,
                           .python = python,
                           .has_no_gpu = has_no_gpu,
                           .output = buffer_new(arena),
                           .trouble = buffer_new(arena),
                           .callback = callback,
                           .context = context};
    const char *text = json_print(arena, request, false);
    ProcessEvents events = {child_wrote, child_complained, child_exited, child};
    EnvironmentKind kind = is_python(python)
                               ? ENVIRONMENT_PYTHON
                               : (EnvironmentKind)(ENVIRONMENT_PYTHON | ENVIRONMENT_COMMAND);
    Error error =
        process_start(loop, arena, child_command(arena, python), kind, &events, &child->process);
    if (error) {
        callback(context, NULL, with_advice(arena, error, "python", has_no_gpu));
        return NULL;
    }
    child->late = timer_start(loop, PYTHON_CHILD_LIMIT_MS, 0, child_is_late, child);
    process_write(child->process, text, strlen(text));
    process_close_input(child->process);
    return child;
}

void python_child_kill(PythonChild *child) { process_kill(child->process); }

void python_child_abandon(PythonChild *child) {
    timer_stop(child->late);
    process_abandon(child->process);
}
