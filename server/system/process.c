// Child processes on the loop, each the first of its group, so that wrappers and what they start are ended as a whole.
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "server/system/loop_parts.h"

enum { GRACE_MS = 500 };
enum { READ_SIZE = 64 * 1024 };  // a usual pipe

struct Process {
    Arena *arena;
    uv_process_t uv;
    uv_pipe_t input, output, error_output;
    Loop *loop;
    Process *next;
    ProcessEvents events;
    int open_parts;  // the two pipes that we read and the process itself
    int status, signal;
    pid_t group;
    Timer *grace;  // it has ended, but somebody holds its pipes open
    bool running, input_open, input_closed;
    bool has_group;  // it has ended, but others of its group have not
    char read_buffer[2][READ_SIZE];
};

static Process *process_of_pipe(const void *handle) { return ((const uv_handle_t *)handle)->data; }

static void process_free_when_closed(Process *process) {
    if (process->open_parts > 0 || !process->input_closed) return;
    Process **link = &process->loop->processes;
    while (*link && *link != process) link = &(*link)->next;
    if (*link) *link = process->next;
    arena_free(process->arena);
}

static void input_closed(uv_handle_t *handle) {
    Process *process = handle->data;
    process->input_closed = true;
    process_free_when_closed(process);
}

void process_close_input(Process *process) {
    if (!process->input_open) return;
    process->input_open = false;
    uv_close((uv_handle_t *)&process->input, input_closed);
}

static void part_closed(Process *process) {
    if (--process->open_parts > 0) return;
    timer_stop(process->grace);
    process->grace = NULL;
    process_kill(process);  // what is left of its group
    process->has_group = false;
    if (process->events.exited)
        process->events.exited(process->events.context, process->status, process->signal);
    process->events = (ProcessEvents){0};
    process_close_input(process);
    process_free_when_closed(process);
}

static void pipe_closed(uv_handle_t *handle) { part_closed(handle->data); }

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
    (void)suggested;
    Process *process = handle->data;
    int which = handle == (uv_handle_t *)&process->error_output;
    *buffer = uv_buf_init(process->read_buffer[which], READ_SIZE);
}

static void output_close(uv_pipe_t *pipe) {
    if (!uv_is_closing((uv_handle_t *)pipe)) uv_close((uv_handle_t *)pipe, pipe_closed);
}

static void have_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer) {
    Process *process = process_of_pipe(stream);
    if (size < 0) {
        output_close((uv_pipe_t *)stream);
        return;
    }
    bool is_error = stream == (uv_stream_t *)&process->error_output;
    void (*tell)(void *, const char *, size_t) =
        is_error ? process->events.error_output : process->events.output;
    if (size > 0 && tell) tell(process->events.context, buffer->base, (size_t)size);
}

static void process_closed(uv_handle_t *handle) { part_closed(handle->data); }

/// A child of a wrapper that is gone: what it says now is meant for nobody.
static void grace_over(void *context) {
    Process *process = context;
    process_kill(process);
    output_close(&process->output);
    output_close(&process->error_output);
}

static void process_exited(uv_process_t *uv, int64_t status, int signal_number) {
    Process *process = uv->data;
    process->running = false;
    process->has_group = kill(-process->group, 0) == 0;
    process->grace = timer_start(process->loop, GRACE_MS, 0, grace_over, process);
    process->status = (int)status;
    process->signal = signal_number;
    process_close_input(process);
    uv_close((uv_handle_t *)uv, process_closed);
}

static void pipe_init(Process *process, uv_pipe_t *pipe) {
    uv_pipe_init(&process->loop->uv, pipe, 0);
    pipe->data = process;
}

/// libuv wants writable strings; nobody writes to them.
static char **arguments_copy(Arena *arena, const char *const *arguments) {
    int count = 0;
    while (arguments[count]) count++;
    char **copy = ARENA_ARRAY(arena, char *, count + 1);
    for (int i = 0; i < count; i++) copy[i] = arena_strdup(arena, arguments[i]);
    return copy;
}

Error process_start(Loop *loop, Arena *arena, const char *const *arguments,
                    EnvironmentKind environment, const ProcessEvents *events, Process **result) {
    Arena *own = arena_new();
    Process *process = ARENA_NEW(own, Process);
    process->arena = own;
    process->loop = loop;
    process->open_parts = 3;
    process->input_open = true;
    process->next = loop->processes;
    loop->processes = process;
    process->events = *events;
    pipe_init(process, &process->input);
    pipe_init(process, &process->output);
    pipe_init(process, &process->error_output);
    process->uv.data = process;
    uv_stdio_container_t pipes[3] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&process->input},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
         .data.stream = (uv_stream_t *)&process->output},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
         .data.stream = (uv_stream_t *)&process->error_output},
    };
    uv_process_options_t options = {
        .file = arguments[0],
        .args = arguments_copy(own, arguments),
        .env = environment_for(own, environment),
        .flags = UV_PROCESS_DETACHED,
        .stdio = pipes,
        .stdio_count = 3,
        .exit_cb = process_exited,
    };
    int failed = uv_spawn(&loop->uv, &process->uv, &options);
    if (failed) {
        process->events = (ProcessEvents){0};
        process_close_input(process);
        uv_close((uv_handle_t *)&process->output, pipe_closed);
        uv_close((uv_handle_t *)&process->error_output, pipe_closed);
        uv_close((uv_handle_t *)&process->uv, process_closed);
        return arena_printf(arena, "cannot start `%s`: %s", arguments[0], uv_strerror(failed));
    }
    process->running = true;
    process->group = process->uv.pid;
    uv_read_start((uv_stream_t *)&process->output, give_buffer, have_read);
    uv_read_start((uv_stream_t *)&process->error_output, give_buffer, have_read);
    *result = process;
    return NULL;
}

void process_abandon(Process *process) {
    process->events = (ProcessEvents){0};
    process_kill(process);
}

typedef struct Write {
    uv_write_t uv;
    Arena *arena;  // of this write alone
} Write;

static void written(uv_write_t *uv, int status) {
    (void)status;  // a broken pipe is followed by the exit, which is what counts
    Write *write = (Write *)uv;
    arena_free(write->arena);
}

void process_write(Process *process, const char *data, size_t size) {
    if (!process->running || !process->input_open) return;
    Arena *arena = arena_new();
    Write *write = ARENA_NEW(arena, Write);
    write->arena = arena;
    uv_buf_t buffer = uv_buf_init(arena_strndup(arena, data, size), (unsigned)size);
    if (uv_write(&write->uv, (uv_stream_t *)&process->input, &buffer, 1, written))
        arena_free(arena);
}

void process_give_way(Process *process) {
    if (process->running) uv_os_setpriority(process->uv.pid, UV_PRIORITY_BELOW_NORMAL);
}

void process_interrupt(const Process *process) {
    if (process->running) kill(process->uv.pid, SIGTERM);
}

void process_kill(Process *process) {
    if (process->running || process->has_group) kill(-process->group, SIGKILL);
}

void loop_kill_processes(const Loop *loop) {
    for (Process *process = loop->processes; process; process = process->next)
        process_kill(process);
}

/// The loop does not wait for a process that was killed just now; so that it is no zombie.
static void process_reap(const Process *process) {
    enum { STEPS = 100, STEP_NS = 1000 * 1000 };
    for (int i = 0; i < STEPS && waitpid(process->group, NULL, WNOHANG) == 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
}

void processes_end(Loop *loop) {
    for (Process *process = loop->processes; process; process = process->next) {
        process_abandon(process);
        if (process->running) process_reap(process);
        process->running = false;
        timer_stop(process->grace);  // so that nobody closes them twice
        process->grace = NULL;
        process_close_input(process);
    }
}

void processes_free(Loop *loop) {
    for (Process *process = loop->processes, *next; process; process = next) {
        next = process->next;
        arena_free(process->arena);
    }
}

typedef struct Collected {
    Loop *loop;
    Process *process;
    Buffer text;
    CommandResult *result;
} Collected;

static void collect(void *context, const char *data, size_t size) {
    Collected *collected = context;
    if (collected->text.size < 1u << 20) buffer_add(&collected->text, data, size);
}

static void collected_exit(void *context, int status, int signal_number) {
    Collected *collected = context;
    collected->result->status = signal_number ? 128 + signal_number : status;
    loop_stop(collected->loop);
}

static void collected_late(void *context) {
    Collected *collected = context;
    collected->result->timed_out = true;
    process_kill(collected->process);
    loop_stop(collected->loop);  // a grandchild may hold the pipes open: do not wait for them
}

CommandResult command_run(Arena *arena, const char *const *arguments, uint64_t limit_ms) {
    CommandResult result = {.status = -1, .output = ""};
    Collected collected = {.loop = loop_new(), .text = buffer_new(arena), .result = &result};
    ProcessEvents events = {collect, collect, collected_exit, &collected};
    if (!process_start(collected.loop, arena, arguments, ENVIRONMENT_OWN, &events,
                       &collected.process)) {
        result.started = true;
        process_close_input(collected.process);
        timer_start(collected.loop, limit_ms, 0, collected_late, &collected);
        loop_run(collected.loop);
        result.output = buffer_text(&collected.text);
    }
    loop_free(collected.loop);
    return result;
}

bool process_exists(int id) { return uv_kill(id, 0) != UV_ESRCH; }
