// libuv handles wrapped so that nobody else sees them. Handles live in the loop's arena, so a closed one stays readable.
#include "server/loop.h"

#include <signal.h>
#include <string.h>
#include <uv.h>

enum { READ_SIZE = 64 * 1024 };

struct Loop {
    uv_loop_t uv;
    Arena *arena;
    Process *processes;
};

struct Process {
    uv_process_t uv;
    uv_pipe_t input, output, error_output;
    Loop *loop;
    Process *next;
    ProcessEvents events;
    int open_parts;  // the two pipes that we read and the process itself
    int status, signal;
    bool running, input_open;
    char read_buffer[2][READ_SIZE];
};

struct Timer {
    uv_timer_t uv;
    TimerCallback *callback;
    void *context;
    bool active;
};

Loop *loop_new(void) {
    signal(SIGPIPE, SIG_IGN);
    Arena *arena = arena_new();
    Loop *loop = ARENA_NEW(arena, Loop);
    loop->arena = arena;
    int failed = uv_loop_init(&loop->uv);
    if (failed) BUG("uv_loop_init: %s", uv_strerror(failed));
    return loop;
}

static void close_handle(uv_handle_t *handle, void *unused) {
    (void)unused;
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

void loop_free(Loop *loop) {
    if (!loop) return;
    for (Process *process = loop->processes; process; process = process->next)
        process_abandon(process);
    uv_walk(&loop->uv, close_handle, NULL);
    while (uv_run(&loop->uv, UV_RUN_DEFAULT)) {
    }
    uv_loop_close(&loop->uv);
    arena_free(loop->arena);
}

void loop_run(Loop *loop) { uv_run(&loop->uv, UV_RUN_DEFAULT); }
void loop_stop(Loop *loop) { uv_stop(&loop->uv); }
uint64_t loop_now_ms(const Loop *loop) {
    (void)loop;
    return uv_hrtime() / 1000000;
}

static Process *process_of_pipe(const void *handle) { return ((const uv_handle_t *)handle)->data; }

static void part_closed(Process *process) {
    if (--process->open_parts > 0 || !process->events.exited) return;
    process->events.exited(process->events.context, process->status, process->signal);
}

static void pipe_closed(uv_handle_t *handle) { part_closed(handle->data); }

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
    (void)suggested;
    Process *process = handle->data;
    int which = handle == (uv_handle_t *)&process->error_output;
    *buffer = uv_buf_init(process->read_buffer[which], READ_SIZE);
}

static void have_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer) {
    Process *process = process_of_pipe(stream);
    if (size < 0) {
        if (!uv_is_closing((uv_handle_t *)stream)) uv_close((uv_handle_t *)stream, pipe_closed);
        return;
    }
    bool is_error = stream == (uv_stream_t *)&process->error_output;
    void (*tell)(void *, const char *, size_t) =
        is_error ? process->events.error_output : process->events.output;
    if (size > 0 && tell) tell(process->events.context, buffer->base, (size_t)size);
}

static void process_closed(uv_handle_t *handle) { part_closed(handle->data); }

static void process_exited(uv_process_t *uv, int64_t status, int signal_number) {
    Process *process = uv->data;
    process->running = false;
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
                    const ProcessEvents *events, Process **result) {
    Process *process = ARENA_NEW(loop->arena, Process);
    process->loop = loop;
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
        .args = arguments_copy(loop->arena, arguments),
        .stdio = pipes,
        .stdio_count = 3,
        .exit_cb = process_exited,
    };
    int failed = uv_spawn(&loop->uv, &process->uv, &options);
    if (failed) {
        close_handle((uv_handle_t *)&process->input, NULL);
        close_handle((uv_handle_t *)&process->output, NULL);
        close_handle((uv_handle_t *)&process->error_output, NULL);
        close_handle((uv_handle_t *)&process->uv, NULL);
        return arena_printf(arena, "cannot start `%s`: %s", arguments[0], uv_strerror(failed));
    }
    process->running = process->input_open = true;
    process->open_parts = 3;
    process->next = loop->processes;
    loop->processes = process;
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

void process_close_input(Process *process) {
    if (!process->input_open) return;
    process->input_open = false;
    close_handle((uv_handle_t *)&process->input, NULL);
}

void process_kill(Process *process) {
    if (process->running) uv_process_kill(&process->uv, SIGKILL);
}

static void timer_fired(uv_timer_t *uv) {
    Timer *timer = uv->data;
    if (uv_timer_get_repeat(uv) == 0) timer->active = false;
    timer->callback(timer->context);
}

Timer *timer_start(Loop *loop, uint64_t delay_ms, uint64_t repeat_ms, TimerCallback *callback,
                   void *context) {
    Timer *timer = ARENA_NEW(loop->arena, Timer);
    timer->callback = callback;
    timer->context = context;
    timer->active = true;
    timer->uv.data = timer;
    uv_timer_init(&loop->uv, &timer->uv);
    uv_update_time(&loop->uv);
    uv_timer_start(&timer->uv, timer_fired, delay_ms, repeat_ms);
    return timer;
}

void timer_stop(Timer *timer) {
    if (!timer) return;
    timer->active = false;
    close_handle((uv_handle_t *)&timer->uv, NULL);
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
    if (!process_start(collected.loop, arena, arguments, &events, &collected.process)) {
        result.started = true;
        process_close_input(collected.process);
        timer_start(collected.loop, limit_ms, 0, collected_late, &collected);
        loop_run(collected.loop);
        result.output = buffer_text(&collected.text);
    }
    loop_free(collected.loop);
    return result;
}

const char *executable_folder(Arena *arena) {
    char path[4096];
    size_t size = sizeof path;
    if (uv_exepath(path, &size)) return ".";
    char *slash = strrchr(path, '/');
    if (slash) *slash = 0;
    return arena_strdup(arena, path);
}

int processor_count(void) { return (int)uv_available_parallelism(); }
