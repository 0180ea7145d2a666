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

static void watch_closed(uv_handle_t *handle);

static void close_handle(uv_handle_t *handle, void *unused) {
    (void)unused;
    uv_close_cb freed = handle->type == UV_TIMER ? timer_closed : NULL;
    if (handle->type == UV_POLL) freed = watch_closed;
    if (!uv_is_closing(handle)) uv_close(handle, freed);
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

void loop_kill_processes(const Loop *loop) {
    for (Process *process = loop->processes; process; process = process->next)
        process_kill(process);
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

// --- Descriptors

struct Watch {
    Arena *arena;
    uv_poll_t uv;
    int kind;
    WatchCallback *callback;
    void *context;
};

static void watch_closed(uv_handle_t *handle) { arena_free(((Watch *)handle->data)->arena); }

/// An error is seen by whoever reads or writes, but libuv takes it for the end.
static void watch_met(uv_poll_t *uv, int status, int events) {
    (void)events;
    const Watch *watch = uv->data;
    watch->callback(watch->context);
    if (status < 0 && !uv_is_closing((uv_handle_t *)uv)) uv_poll_start(uv, watch->kind, watch_met);
}

Watch *watch_start(Loop *loop, int descriptor, WatchKind kind, WatchCallback *callback,
                   void *context) {
    Arena *own = arena_new();
    Watch *watch = ARENA_NEW(own, Watch);
    watch->arena = own;
    watch->kind = kind == WATCH_READABLE ? UV_READABLE : UV_WRITABLE;
    watch->callback = callback;
    watch->context = context;
    watch->uv.data = watch;
    int failed = uv_poll_init(&loop->uv, &watch->uv, descriptor);
    if (failed) {
        arena_free(own);
        return NULL;
    }
    uv_poll_start(&watch->uv, watch->kind, watch_met);
    return watch;
}

void watch_stop(Watch *watch) {
    if (watch) close_handle((uv_handle_t *)&watch->uv, NULL);
}

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
    bool is_ending, has_stopped;
    uv_async_t wake;  // tells the loop that something is finished
};

/// The next job; NULL at the end.
static Job *worker_take(Worker *worker) {
    uv_mutex_lock(&worker->lock);
    while (!worker->waiting.first && !worker->is_ending)
        uv_cond_wait(&worker->changed, &worker->lock);
    Job *job = worker->is_ending ? NULL : queue_pop(&worker->waiting);
    worker->has_stopped = !job;
    if (!job) uv_cond_signal(&worker->changed);
    uv_mutex_unlock(&worker->lock);
    return job;
}

static void worker_main(void *context) {
    Worker *worker = context;
    for (Job *job; (job = worker_take(worker));) {
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

static void thread_start(uv_thread_t *thread, size_t stack_bytes, uv_thread_cb work,
                         void *context) {
    uv_thread_options_t options = {.flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = stack_bytes};
    int failed = uv_thread_create_ex(thread, &options, work, context);
    if (failed) BUG("cannot start a thread: %s", uv_strerror(failed));
}

void thread_run(size_t stack_bytes, void (*work)(void *context), void *context) {
    uv_thread_t thread;
    thread_start(&thread, stack_bytes, work, context);
    uv_thread_join(&thread);
}

Worker *worker_new(Loop *loop, size_t stack_bytes) {
    Worker *worker = ARENA_NEW(loop->arena, Worker);
    worker->loop = loop;
    uv_mutex_init(&worker->lock);
    uv_cond_init(&worker->changed);
    worker->wake.data = worker;
    uv_async_init(&loop->uv, &worker->wake, worker_woken);
    thread_start(&worker->thread, stack_bytes, worker_main, worker);
    return worker;
}

void worker_post(Worker *worker, Job *job) {
    uv_mutex_lock(&worker->lock);
    queue_push(&worker->waiting, job);
    uv_cond_signal(&worker->changed);
    uv_mutex_unlock(&worker->lock);
}

bool worker_stop(Worker *worker, uint64_t until_ms) {
    uv_mutex_lock(&worker->lock);
    worker->is_ending = true;
    uv_cond_signal(&worker->changed);
    for (uint64_t now_ms; !worker->has_stopped && (now_ms = clock_ns() / 1000000) < until_ms;)
        uv_cond_timedwait(&worker->changed, &worker->lock, (until_ms - now_ms) * 1000000);
    bool has_stopped = worker->has_stopped;
    uv_mutex_unlock(&worker->lock);
    return has_stopped;
}

void worker_end(Worker *worker) {
    worker_stop(worker, 0);
    uv_thread_join(&worker->thread);
    worker_collect(worker);
    for (Job *job; (job = queue_pop(&worker->waiting));) job->done(job, false);
    uv_close((uv_handle_t *)&worker->wake, NULL);
    uv_mutex_destroy(&worker->lock);
    uv_cond_destroy(&worker->changed);
}
