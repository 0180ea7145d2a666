// Threads that live as long as one call: starting one costs less than 0.1 ms, and nothing outlives the caller.
#define _GNU_SOURCE  // sched_getaffinity
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/budget.h"
#include "base/error.h"

static _Thread_local int own_mark;

int thread_mark(void) { return own_mark; }

void thread_set_mark(int mark) { own_mark = mark; }

typedef struct Parallel {
    ParallelWork work;
    void *context;
    int count;
    int mark;       // of the calling thread
    Wanted wanted;  // the same
    atomic_int next;
    atomic_llong steps;  // that the other threads took
    atomic_bool failed;
    BugCause cause;     // of the first BUG
    char failure[512];  // and what it said
} Parallel;

typedef struct ParallelWorker {
    Parallel *parallel;
    int number;
    pthread_t thread;
} ParallelWorker;

static void work_guarded(Parallel *parallel, int worker, int index) {
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        parallel->work(parallel->context, worker, index);
        bug_guard_end(&guard);
        return;
    }
    if (atomic_exchange(&parallel->failed, true)) return;
    snprintf(parallel->failure, sizeof parallel->failure, "%s", guard.message);
    parallel->cause = guard.cause;
}

static void *worker_run(void *argument) {
    const ParallelWorker *worker = argument;
    Parallel *parallel = worker->parallel;
    thread_set_mark(parallel->mark);
    wanted_set(parallel->wanted);
    for (int i; (i = atomic_fetch_add(&parallel->next, 1)) < parallel->count;)
        work_guarded(parallel, worker->number, i);
    if (worker->number) atomic_fetch_add(&parallel->steps, steps_taken);
    return NULL;
}

static int worker_limit(int count) {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    int limit =
        sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 1;
    if (limit > PARALLEL_MOST_WORKERS) limit = PARALLEL_MOST_WORKERS;
    return limit < count ? limit : count;
}

void parallel_for(int count, ParallelWork work, void *context) {
    Parallel parallel = {.work = work, .context = context, .count = count, .mark = own_mark};
    parallel.wanted = wanted_set((Wanted){0});
    wanted_set(parallel.wanted);
    ParallelWorker workers[PARALLEL_MOST_WORKERS];
    int limit = worker_limit(count), started = 1;
    pthread_attr_t attributes;
    bool has_attributes = limit > 1 && pthread_attr_init(&attributes) == 0;
    if (has_attributes && pthread_attr_setstacksize(&attributes, PARALLEL_STACK_BYTES) == 0)
        for (; started < limit; started++) {
            workers[started] = (ParallelWorker){.parallel = &parallel, .number = started};
            if (pthread_create(&workers[started].thread, &attributes, worker_run,
                               &workers[started]) != 0)
                break;
        }
    if (has_attributes) pthread_attr_destroy(&attributes);
    workers[0] = (ParallelWorker){.parallel = &parallel};
    worker_run(&workers[0]);
    for (int i = 1; i < started; i++) pthread_join(workers[i].thread, NULL);
    steps_taken += parallel.steps;
    if (parallel.failed) bug_raise_for(parallel.cause, parallel.failure);
}

/* ---- locks ---- */

void lock_init(Lock *lock) {
    *lock = (Lock){0};
    pthread_mutex_init(&lock->mutex, NULL);
}

void lock_destroy(Lock *lock) { pthread_mutex_destroy(&lock->mutex); }

void lock_take(Lock *lock) {
    pthread_mutex_lock(&lock->mutex);
    lock->paused = budget_pause();
}

void lock_give(Lock *lock) {
    StepBudget *paused = lock->paused;
    pthread_mutex_unlock(&lock->mutex);
    budget_resume(paused);
}
