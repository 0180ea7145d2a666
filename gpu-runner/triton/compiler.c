// Two pipes and a process of its own group, which ends with this one.
#define _GNU_SOURCE  // pipe2
#include "gpu-runner/triton/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { SLICE_MS = 50, FIRST_SECONDS = 30, MOST_ANSWER = 64 << 20, STATUS_NO_PROGRAM = 127 };

/// The one of this process.
static struct {
    Arena *arena;  // of all below; NULL: none runs
    pid_t pid;
    int input, output;
    const char *command;  // as one text: another one is another compiler
    Buffer read;
    size_t taken;         // of `read`
    const Json *release;  // its first line
} compiler;

static const char script_name[] = "tad-compile-kernels.py";

/// Beside our own program.
static const char *script_path(Arena *arena) {
    enum { LONGEST_PATH = 4096 };
    char *path = arena_alloc(arena, LONGEST_PATH + sizeof script_name);
    ssize_t size = readlink("/proc/self/exe", path, LONGEST_PATH - 1);
    if (size <= 0) return script_name;
    path[size] = 0;
    char *slash = strrchr(path, '/');
    memcpy(slash ? slash + 1 : path, script_name, sizeof script_name);
    return path;
}

static void compiler_end(void) {
    if (!compiler.arena) return;
    close(compiler.input);
    close(compiler.output);
    if (compiler.pid > 0) {
        kill(-compiler.pid, SIGKILL);
        kill(compiler.pid, SIGKILL);
        while (waitpid(compiler.pid, NULL, 0) < 0 && errno == EINTR) continue;
    }
    arena_free(compiler.arena);
    memset(&compiler, 0, sizeof compiler);
}

/// What runs between fork and exec: nothing that allocates.
static void become(char *const *command, int input, int output) {
    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0)
        execvp(command[0], command);
    _exit(STATUS_NO_PROGRAM);
}

static char **command_of(Arena *arena, const Json *python) {
    enum { MORE = 3 };
    int count = python && python->kind == JSON_ARRAY ? python->count : 0;
    char **command = ARENA_ARRAY(arena, char *, count + MORE + 1);
    int size = 0;
    for (int i = 0; i < count; i++)
        if (python->items[i]->kind == JSON_STRING)
            command[size++] = str_dup(arena, python->items[i]->string);
    if (!size) command[size++] = arena_strdup(arena, "python3");
    command[size++] =
        arena_strdup(arena, "-I");  // neither folder nor environment changes what is imported
    command[size++] = arena_strdup(arena, script_path(arena));
    return command;
}

Error compiler_start(Arena *arena, const Json *python) {
    const char *wanted = python ? json_print(arena, python, false) : "";
    if (compiler.arena && strcmp(wanted, compiler.command) == 0) return NULL;
    compiler_end();
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC)) return "no pipe to a Python";
    if (pipe2(from, O_CLOEXEC)) {
        close(to[0]);
        close(to[1]);
        return "no pipe from a Python";
    }
    char **command = command_of(arena, python);
    pid_t pid = fork();
    if (pid == 0) become(command, to[0], from[1]);
    close(to[0]);
    close(from[1]);
    compiler.arena = arena_new();
    compiler.pid = pid;
    compiler.input = to[1];
    compiler.output = from[0];
    compiler.command = arena_strdup(compiler.arena, wanted);
    compiler.read = buffer_new(compiler.arena);
    if (pid > 0) return NULL;
    Error error = arena_printf(arena, "cannot start `%s`: %s", command[0], strerror(errno));
    compiler_end();
    return error;
}

/// Waits until the pipe is ready; a sentence where nobody wants to wait any more.
static Error await(int file, short events, Budget *budget) {
    struct pollfd pipe = {.fd = file, .events = events};
    for (;;) {
        if (budget_is_over(budget)) return budget_end_text(budget->end);
        if (poll(&pipe, 1, SLICE_MS) > 0) return NULL;
    }
}

static Error send_all(const char *text, size_t size, Budget *budget) {
    struct sigaction ignored = {.sa_handler = SIG_IGN}, before;
    Error error = NULL;
    sigaction(SIGPIPE, &ignored, &before);
    while (size && !error) {
        error = await(compiler.input, POLLOUT, budget);
        enum { AT_A_TIME = 4096 };  // what a pipe that is ready takes without waiting
        ssize_t sent = error ? 0 : write(compiler.input, text, size < AT_A_TIME ? size : AT_A_TIME);
        if (sent < 0 && errno != EINTR) error = "it ended";
        if (sent > 0) text += sent, size -= (size_t)sent;
    }
    sigaction(SIGPIPE, &before, NULL);
    return error;
}

/// The next line, which stays as it is until the one after it is asked for.
static Error next_line(Str *line, Budget *budget) {
    static char chunk[64 * 1024];  // of the one thread that works
    for (size_t seen = compiler.taken;;) {
        const char *start = buffer_text(&compiler.read);
        const char *end = memchr(start + seen, '\n', compiler.read.size - seen);
        if (end) {
            *line = (Str){start + compiler.taken, (size_t)(end - start) - compiler.taken};
            compiler.taken = (size_t)(end - start) + 1;
            return NULL;
        }
        seen = compiler.read.size;
        if (seen - compiler.taken > MOST_ANSWER) return "it says too much";
        Error error = await(compiler.output, POLLIN, budget);
        if (error) return error;
        ssize_t size = read(compiler.output, chunk, sizeof chunk);
        if (size == 0 || (size < 0 && errno != EINTR)) return "it ended";
        if (size > 0) buffer_add(&compiler.read, chunk, (size_t)size);
    }
}

static Json *next_answer(Arena *arena, Budget *budget, Error *error) {
    Str line = {0};
    *error = next_line(&line, budget);
    line = (Str){*error ? "" : str_dup(arena, line), line.size};
    Json *answer = *error ? NULL : json_parse(arena, line, error);
    const char *refused = json_get_string(answer, "error", NULL);
    int row = json_get_int(answer, "line", 0);
    if (refused && row)
        *error = arena_printf(arena, "line %d of the text that was compiled: %s", row, refused);
    else if (refused && json_get_bool(answer, "is_refusal", false))
        *error = arena_printf(arena, "Triton refuses the text that was compiled: %s", refused);
    else if (refused)
        *error = refused;
    return answer;
}

const Json *compiler_release(Arena *arena, Budget *budget, Error *error) {
    *error = NULL;
    if (!compiler.arena) *error = "no compiler runs";
    if (*error || compiler.release) return compiler.release;
    // What is no compiler says nothing, however long somebody waits.
    Budget first = {.deadline = clock_seconds() + FIRST_SECONDS, .cancelled = budget->cancelled};
    if (budget->deadline > 0 && budget->deadline < first.deadline)
        first.deadline = budget->deadline;
    Json *release = next_answer(arena, &first, error);
    if (*error) {
        *error = arena_printf(arena, "the Python that compiles: %s", *error);
        compiler_end();
        return NULL;
    }
    return compiler.release = json_copy(compiler.arena, release);
}

Json *compiler_ask(Arena *arena, const Json *request, Budget *budget, Error *error) {
    if (!compiler_release(arena, budget, error)) return NULL;
    // What was read before is done with.
    if (compiler.taken == compiler.read.size) compiler.read.size = compiler.taken = 0;
    Buffer text = buffer_new(arena);
    json_add(&text, request, false);
    buffer_putc(&text, '\n');
    *error = send_all(buffer_text(&text), text.size, budget);
    Json *answer = *error ? NULL : next_answer(arena, budget, error);
    if (!answer) {
        *error = arena_printf(arena, "the Python that compiles: %s", *error);
        compiler_end();
    }
    return *error ? NULL : answer;
}

static int digit_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

char *base64_bytes(Arena *arena, Str text, size_t *size) {
    char *bytes = arena_alloc(arena, text.size / 4 * 3 + 3);
    uint32_t held = 0;
    int bits = 0;
    *size = 0;
    for (size_t i = 0; i < text.size && text.data[i] != '='; i++) {
        int digit = digit_of(text.data[i]);
        if (digit < 0) {
            *size = 0;
            return bytes;
        }
        held = (held << 6) | (uint32_t)digit;
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        bytes[(*size)++] = (char)(held >> bits);
    }
    return bytes;
}
