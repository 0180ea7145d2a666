// libuv handles wrapped so that nobody else sees them. Each has an arena of its own, freed when libuv lets go of it.
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
    Arena *arena;
    uv_process_t uv;
    uv_pipe_t input, output, error_output;
    Loop *loop;
    Process *next;
    ProcessEvents events;
    int open_parts;  // the two pipes that we read and the process itself
    int status, signal;
    bool running, input_open, input_closed;
    char read_buffer[2][READ_SIZE];
};

struct Timer {
    Arena *arena;
    uv_timer_t uv;
    TimerCallback *callback;
    void *context;
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

static void timer_closed(uv_handle_t *handle) {
    Timer *timer = handle->data;
    arena_free(timer->arena);
}

static void close_handle(uv_handle_t *handle, void *unused) {
    (void)unused;
    if (!uv_is_closing(handle)) uv_close(handle, handle->type == UV_TIMER ? timer_closed : NULL);
}

void loop_free(Loop *loop) {
    if (!loop) return;
    for (Process *process = loop->processes; process; process = process->next) {
        process_abandon(process);
        process_close_input(process);  // so that nobody closes it twice
    }
    uv_walk(&loop->uv, close_handle, NULL);
    while (uv_run(&loop->uv, UV_RUN_DEFAULT)) {
    }
    uv_loop_close(&loop->uv);
    for (Process *process = loop->processes, *next; process; process = next) {
        next = process->next;
        arena_free(process->arena);
    }
    arena_free(loop->arena);
}

void loop_run(Loop *loop) { uv_run(&loop->uv, UV_RUN_DEFAULT); }
void loop_stop(Loop *loop) { uv_stop(&loop->uv); }
uint64_t clock_ns(void) { return uv_hrtime(); }
uint64_t loop_now_ms(const Loop *loop) {
    (void)loop;
    return uv_hrtime() / 1000000;
}

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

void process_kill(Process *process) {
    if (process->running) uv_process_kill(&process->uv, SIGKILL);
}

static void timer_fired(uv_timer_t *uv) {
    Timer *timer = uv->data;
    timer->callback(timer->context);
}

Timer *timer_start(Loop *loop, uint64_t delay_ms, uint64_t repeat_ms, TimerCallback *callback,
                   void *context) {
    Arena *own = arena_new();
    Timer *timer = ARENA_NEW(own, Timer);
    timer->arena = own;
    timer->callback = callback;
    timer->context = context;
    timer->uv.data = timer;
    uv_timer_init(&loop->uv, &timer->uv);
    uv_update_time(&loop->uv);
    uv_timer_start(&timer->uv, timer_fired, delay_ms, repeat_ms);
    return timer;
}

void timer_stop(Timer *timer) {
    if (!timer) return;
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

bool process_exists(int id) { return uv_kill(id, 0) != UV_ESRCH; }

int processor_count(void) { return (int)uv_available_parallelism(); }

// --- Streams

enum { STDIN_DESCRIPTOR = 0, STDOUT_DESCRIPTOR = 1 };

/// One end or two: a socket is read and written, stdin and stdout are two handles, or files without a handle.
struct Stream {
    Loop *loop;
    StreamEvents events;
    union {
        uv_pipe_t pipe;
        uv_tty_t terminal;
        uv_tcp_t tcp;
        uv_stream_t stream;
    } ends[2];
    uv_stream_t *input, *output;  // NULL: a file
    uv_connect_t connecting;
    uv_shutdown_t finishing;
    uv_fs_t reading;
    size_t backlog;
    Buffer waiting;  // written before the connection stands
    bool connected, closed, paused, reads_file;
    bool has_ended;  // nothing more comes, which was told
    char buffer[READ_SIZE];
};

static void stream_end(Stream *stream, const char *why) {
    if (stream->has_ended) return;
    stream->has_ended = true;
    if (stream->input) uv_read_stop(stream->input);
    if (stream->events.closed) stream->events.closed(stream->events.context, why);
}

static void stream_close(Stream *stream, const char *why) {
    stream->closed = true;
    stream_end(stream, why);
}

static void stream_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
    (void)suggested;
    Stream *stream = handle->data;
    *buffer = uv_buf_init(stream->buffer, READ_SIZE);
}

static void stream_has_read(uv_stream_t *handle, ssize_t size, const uv_buf_t *buffer) {
    Stream *stream = handle->data;
    if (size > 0)
        stream->events.data(stream->events.context, buffer->base, (size_t)size);
    else if (size == UV_EOF)
        stream_end(stream, NULL);
    else if (size < 0)
        stream_close(stream, uv_strerror((int)size));
}

static void file_read_next(Stream *stream);

static void file_has_read(uv_fs_t *request) {
    Stream *stream = request->data;
    ssize_t size = request->result;
    uv_fs_req_cleanup(request);
    stream->reads_file = false;
    if (size <= 0) {
        stream_end(stream, size == 0 ? NULL : uv_strerror((int)size));
        return;
    }
    stream->events.data(stream->events.context, stream->buffer, (size_t)size);
    if (!stream->paused) file_read_next(stream);
}

static void file_read_next(Stream *stream) {
    if (stream->reads_file || stream->has_ended) return;
    stream->reads_file = true;
    stream->reading.data = stream;
    uv_buf_t buffer = uv_buf_init(stream->buffer, READ_SIZE);
    uv_fs_read(&stream->loop->uv, &stream->reading, STDIN_DESCRIPTOR, &buffer, 1, -1,
               file_has_read);
}

void stream_resume(Stream *stream) {
    stream->paused = false;
    if (stream->has_ended || !stream->connected) return;
    if (stream->input)
        uv_read_start(stream->input, stream_buffer, stream_has_read);
    else
        file_read_next(stream);
}

void stream_pause(Stream *stream) {
    stream->paused = true;
    if (stream->input) uv_read_stop(stream->input);
}

static Stream *stream_new(Loop *loop, const StreamEvents *events) {
    Stream *stream = ARENA_NEW(loop->arena, Stream);
    stream->loop = loop;
    stream->events = *events;
    stream->waiting = buffer_new(loop->arena);
    return stream;
}

/// NULL for a file; `*failed` where it cannot be opened.
static uv_stream_t *descriptor_open(Stream *stream, int descriptor, int *failed) {
    uv_stream_t *end = &stream->ends[descriptor].stream;
    switch (uv_guess_handle(descriptor)) {
    case UV_NAMED_PIPE:
        uv_pipe_init(&stream->loop->uv, &stream->ends[descriptor].pipe, 0);
        *failed = uv_pipe_open(&stream->ends[descriptor].pipe, descriptor);
        break;
    case UV_TTY:
        *failed = uv_tty_init(&stream->loop->uv, &stream->ends[descriptor].terminal, descriptor, 0);
        break;
    case UV_TCP:
        uv_tcp_init(&stream->loop->uv, &stream->ends[descriptor].tcp);
        *failed = uv_tcp_open(&stream->ends[descriptor].tcp, descriptor);
        break;
    default: return NULL;
    }
    end->data = stream;
    return end;
}

Error stream_open_stdio(Loop *loop, Arena *arena, const StreamEvents *events, Stream **result) {
    Stream *stream = stream_new(loop, events);
    int failed = 0;
    stream->input = descriptor_open(stream, STDIN_DESCRIPTOR, &failed);
    if (!failed) stream->output = descriptor_open(stream, STDOUT_DESCRIPTOR, &failed);
    if (failed) return arena_printf(arena, "cannot use stdin and stdout: %s", uv_strerror(failed));
    stream->connected = true;
    *result = stream;
    stream_resume(stream);
    return NULL;
}

Stream *stream_open_socket(Loop *loop, int descriptor, const StreamEvents *events) {
    Stream *stream = stream_new(loop, events);
    uv_pipe_t *pipe = &stream->ends[0].pipe;
    uv_pipe_init(&loop->uv, pipe, 0);
    stream->input = stream->output = &stream->ends[0].stream;
    stream->input->data = stream;
    stream->connected = true;
    int failed = uv_pipe_open(pipe, descriptor);
    if (failed)
        stream_close(stream, uv_strerror(failed));
    else
        stream_resume(stream);
    return stream;
}

void stream_finish(Stream *stream) {
    if (!stream->closed) uv_shutdown(&stream->finishing, stream->output, NULL);
}

void stream_abandon(Stream *stream) {
    stream->events = (StreamEvents){0};
    stream->closed = stream->has_ended = true;
    uv_close((uv_handle_t *)stream->input, NULL);
}

static void stream_connected(uv_connect_t *request, int status) {
    Stream *stream = request->data;
    if (status == UV_ECANCELED) return;
    if (status < 0) {
        stream_close(stream, uv_strerror(status));
        return;
    }
    stream->connected = true;
    if (stream->waiting.size) stream_write(stream, stream->waiting.data, stream->waiting.size);
    if (!stream->paused) stream_resume(stream);
}

Stream *stream_connect_pipe(Loop *loop, const char *name, const StreamEvents *events) {
    Stream *stream = stream_new(loop, events);
    uv_pipe_t *pipe = &stream->ends[0].pipe;
    uv_pipe_init(&loop->uv, pipe, 0);
    stream->input = stream->output = &stream->ends[0].stream;
    stream->input->data = stream->connecting.data = stream;
    uv_pipe_connect(&stream->connecting, pipe, name, stream_connected);
    return stream;
}

Stream *stream_connect_port(Loop *loop, int port, const StreamEvents *events) {
    Stream *stream = stream_new(loop, events);
    uv_tcp_t *tcp = &stream->ends[0].tcp;
    uv_tcp_init(&loop->uv, tcp);
    uv_tcp_nodelay(tcp, 1);
    stream->input = stream->output = &stream->ends[0].stream;
    stream->input->data = stream->connecting.data = stream;
    struct sockaddr_in address;
    uv_ip4_addr("127.0.0.1", port, &address);
    int failed = uv_tcp_connect(&stream->connecting, tcp, (const struct sockaddr *)&address,
                                stream_connected);
    if (failed) stream_close(stream, uv_strerror(failed));
    return stream;
}

typedef struct StreamWrite {
    uv_write_t uv;
    Arena *arena;
    Stream *stream;
    size_t size;
} StreamWrite;

static void stream_written(uv_write_t *uv, int status) {
    StreamWrite *write = (StreamWrite *)uv;
    Stream *stream = write->stream;
    stream->backlog -= write->size;
    arena_free(write->arena);
    if (status == UV_ECANCELED) return;
    if (status < 0)
        stream_close(stream, uv_strerror(status));
    else if (stream->backlog == 0 && stream->events.drained)
        stream->events.drained(stream->events.context);
}

static void file_write_all(Stream *stream, const char *data, size_t size) {
    while (size > 0) {
        uv_fs_t request;
        uv_buf_t buffer = uv_buf_init((char *)(uintptr_t)data, (unsigned)size);
        int written =
            uv_fs_write(&stream->loop->uv, &request, STDOUT_DESCRIPTOR, &buffer, 1, -1, NULL);
        uv_fs_req_cleanup(&request);
        if (written <= 0) return;
        data += written;
        size -= (size_t)written;
    }
}

void stream_write(Stream *stream, const char *data, size_t size) {
    if (stream->closed) return;
    if (!stream->connected) {
        buffer_add(&stream->waiting, data, size);
        return;
    }
    if (!stream->output) {
        file_write_all(stream, data, size);
        return;
    }
    uv_buf_t now = uv_buf_init((char *)(uintptr_t)data, (unsigned)size);
    int written = stream->backlog ? 0 : uv_try_write(stream->output, &now, 1);
    if (written > 0) {
        data += written;
        size -= (size_t)written;
    }
    if (size == 0) return;
    Arena *arena = arena_new();
    StreamWrite *write = ARENA_NEW(arena, StreamWrite);
    *write = (StreamWrite){.arena = arena, .stream = stream, .size = size};
    uv_buf_t rest = uv_buf_init(arena_strndup(arena, data, size), (unsigned)size);
    stream->backlog += size;
    if (uv_write(&write->uv, stream->output, &rest, 1, stream_written) == 0) return;
    stream->backlog -= size;
    arena_free(arena);
    stream_close(stream, "writing failed");
}

size_t stream_backlog(const Stream *stream) { return stream->backlog; }
bool stdin_is_terminal(void) { return uv_guess_handle(STDIN_DESCRIPTOR) == UV_TTY; }

// --- Workers

typedef struct Queue {
    Job *first, *last;
} Queue;

static void queue_push(Queue *queue, Job *job) {
    job->next = NULL;
    if (queue->last)
        queue->last->next = job;
    else
        queue->first = job;
    queue->last = job;
}

static Job *queue_pop(Queue *queue) {
    Job *job = queue->first;
    if (job) queue->first = job->next;
    if (!queue->first) queue->last = NULL;
    return job;
}

struct Worker {
    Loop *loop;
    uv_thread_t thread;
    uv_mutex_t lock;  // of what follows
    uv_cond_t changed;
    Queue waiting, finished;
    bool is_ending;
    uv_async_t wake;  // tells the loop that something is finished
};

static void worker_main(void *context) {
    Worker *worker = context;
    for (;;) {
        uv_mutex_lock(&worker->lock);
        while (!worker->waiting.first && !worker->is_ending)
            uv_cond_wait(&worker->changed, &worker->lock);
        Job *job = worker->is_ending ? NULL : queue_pop(&worker->waiting);
        uv_mutex_unlock(&worker->lock);
        if (!job) return;
        job->run(job);
        uv_mutex_lock(&worker->lock);
        queue_push(&worker->finished, job);
        uv_mutex_unlock(&worker->lock);
        uv_async_send(&worker->wake);
    }
}

static void worker_collect(Worker *worker) {
    for (;;) {
        uv_mutex_lock(&worker->lock);
        Job *job = queue_pop(&worker->finished);
        uv_mutex_unlock(&worker->lock);
        if (!job) return;
        job->done(job, true);
    }
}

static void worker_woken(uv_async_t *wake) { worker_collect(wake->data); }

Worker *worker_new(Loop *loop, size_t stack_bytes) {
    Worker *worker = ARENA_NEW(loop->arena, Worker);
    worker->loop = loop;
    uv_mutex_init(&worker->lock);
    uv_cond_init(&worker->changed);
    worker->wake.data = worker;
    uv_async_init(&loop->uv, &worker->wake, worker_woken);
    uv_thread_options_t options = {.flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = stack_bytes};
    int failed = uv_thread_create_ex(&worker->thread, &options, worker_main, worker);
    if (failed) BUG("cannot start a thread: %s", uv_strerror(failed));
    return worker;
}

void worker_post(Worker *worker, Job *job) {
    uv_mutex_lock(&worker->lock);
    queue_push(&worker->waiting, job);
    uv_cond_signal(&worker->changed);
    uv_mutex_unlock(&worker->lock);
}

void worker_end(Worker *worker) {
    uv_mutex_lock(&worker->lock);
    worker->is_ending = true;
    uv_cond_signal(&worker->changed);
    uv_mutex_unlock(&worker->lock);
    uv_thread_join(&worker->thread);
    worker_collect(worker);
    for (Job *job; (job = queue_pop(&worker->waiting));) job->done(job, false);
    uv_close((uv_handle_t *)&worker->wake, NULL);
    uv_mutex_destroy(&worker->lock);
    uv_cond_destroy(&worker->changed);
}
