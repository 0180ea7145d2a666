// libuv handles wrapped so that nobody else sees them. Each has an arena of its own, freed when libuv lets go of it.
#include "server/system/loop.h"

#include <signal.h>
#include <string.h>

#include "server/system/loop_parts.h"

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
    processes_end(loop);
    uv_walk(&loop->uv, close_handle, NULL);
    while (uv_run(&loop->uv, UV_RUN_DEFAULT)) {
    }
    uv_loop_close(&loop->uv);
    processes_free(loop);
    arena_free(loop->arena);
}

void loop_run(Loop *loop) { uv_run(&loop->uv, UV_RUN_DEFAULT); }

// --- Signals

enum { ENDING_COUNT = 3 };
static const int endings[ENDING_COUNT] = {SIGINT, SIGTERM, SIGHUP};
static volatile sig_atomic_t is_held[ENDING_COUNT], interruptions;

void interrupts_release(void) {
    for (int i = 0; i < ENDING_COUNT; i++) {
        if (is_held[i]) signal(endings[i], SIG_DFL);
        is_held[i] = 0;
    }
}

static void interrupt(int number) {
    (void)number;
    interruptions = 1;
    for (int i = 0; i < ENDING_COUNT; i++)
        if (is_held[i]) signal(endings[i], SIG_DFL);
}

static bool is_ignored(int number) {
    struct sigaction now;
    return sigaction(number, NULL, &now) || now.sa_handler == SIG_IGN;
}

void interrupts_hold(void) {
    // What waits for a person's answer is woken.
    struct sigaction action = {.sa_handler = interrupt};
    for (int i = 0; i < ENDING_COUNT; i++) {
        is_held[i] = !is_ignored(endings[i]);
        if (is_held[i]) sigaction(endings[i], &action, NULL);
    }
}

bool interrupted(void) { return interruptions; }

static bool are_held(void) {
    bool any = false;
    for (int i = 0; i < ENDING_COUNT; i++) any |= is_held[i] != 0;
    return any;
}

static void look_for_interrupt(uv_timer_t *uv) {
    if (!interrupted()) return;
    loop_kill_processes(uv->data);
    loop_stop(uv->data);
}

/// libuv's own handlers would take the place of ours.
static void run_until_interrupted(Loop *loop) {
    enum { LOOK_MS = 50 };
    uv_timer_t *look = ARENA_NEW(loop->arena, uv_timer_t);
    look->data = loop;
    uv_timer_init(&loop->uv, look);
    uv_unref((uv_handle_t *)look);
    uv_timer_start(look, look_for_interrupt, LOOK_MS, LOOK_MS);
    if (!interrupted()) loop_run(loop);
    uv_close((uv_handle_t *)look, NULL);
}

static void signal_came(uv_signal_t *uv, int number) {
    loop_kill_processes(uv->data);
    signal(number, SIG_DFL);
    raise(number);
}

void loop_run_with_signals(Loop *loop) {
    if (are_held()) {
        run_until_interrupted(loop);
        return;
    }
    uv_signal_t *ends = ARENA_ARRAY(loop->arena, uv_signal_t, ENDING_COUNT);
    for (int i = 0; i < ENDING_COUNT; i++) {
        ends[i].data = loop;
        uv_signal_init(&loop->uv, &ends[i]);
        uv_unref((uv_handle_t *)&ends[i]);
        if (!is_ignored(endings[i])) uv_signal_start(&ends[i], signal_came, endings[i]);
    }
    loop_run(loop);
    for (int i = 0; i < ENDING_COUNT; i++) uv_close((uv_handle_t *)&ends[i], NULL);
}

void loop_stop(Loop *loop) { uv_stop(&loop->uv); }
uint64_t clock_ns(void) { return uv_hrtime(); }
uint64_t loop_now_ms(const Loop *loop) {
    (void)loop;
    return uv_hrtime() / 1000000;
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

static void stop_now(void *context) { loop_stop(context); }

void loop_stop_later(Loop *loop) { timer_start(loop, 0, 0, stop_now, loop); }

void timer_stop(Timer *timer) {
    if (!timer) return;
    close_handle((uv_handle_t *)&timer->uv, NULL);
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

typedef struct JobQueue {
    Job *first, *last;
} JobQueue;

static void queue_push(JobQueue *queue, Job *job) {
    job->next = NULL;
    if (queue->last)
        queue->last->next = job;
    else
        queue->first = job;
    queue->last = job;
}

static Job *queue_pop(JobQueue *queue) {
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
    JobQueue waiting, patient, finished;
    bool is_ending, has_stopped;
    uv_async_t wake;  // tells the loop that something is finished
};

/// The next job; NULL at the end.
static Job *worker_take(Worker *worker) {
    uv_mutex_lock(&worker->lock);
    while (!worker->waiting.first && !worker->patient.first && !worker->is_ending)
        uv_cond_wait(&worker->changed, &worker->lock);
    JobQueue *queue = worker->waiting.first ? &worker->waiting : &worker->patient;
    Job *job = worker->is_ending ? NULL : queue_pop(queue);
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

static void worker_push(Worker *worker, JobQueue *queue, Job *job) {
    uv_mutex_lock(&worker->lock);
    queue_push(queue, job);
    uv_cond_signal(&worker->changed);
    uv_mutex_unlock(&worker->lock);
}

void worker_post(Worker *worker, Job *job) { worker_push(worker, &worker->waiting, job); }

void worker_post_patient(Worker *worker, Job *job) { worker_push(worker, &worker->patient, job); }

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

/// Whether there was a job that had not been told how it ended.
static bool worker_tell_all(Worker *worker) {
    bool is_any = worker->finished.first || worker->waiting.first || worker->patient.first;
    worker_collect(worker);
    for (Job *job; (job = queue_pop(&worker->waiting));) job->done(job, false);
    for (Job *job; (job = queue_pop(&worker->patient));) job->done(job, false);
    return is_any;
}

void workers_end(Worker *const *workers, int count) {
    for (int i = 0; i < count; i++) {
        worker_stop(workers[i], 0);
        uv_thread_join(&workers[i]->thread);
    }
    for (bool is_any = true; is_any;) {
        is_any = false;
        for (int i = 0; i < count; i++) is_any |= worker_tell_all(workers[i]);
    }
    for (int i = 0; i < count; i++) {
        uv_close((uv_handle_t *)&workers[i]->wake, NULL);
        uv_mutex_destroy(&workers[i]->lock);
        uv_cond_destroy(&workers[i]->changed);
    }
}
