// Independent pieces of work, spread over the processors that this process may use; locks of what threads share.
#ifndef TAD_BASE_PARALLEL_H
#define TAD_BASE_PARALLEL_H

#include <pthread.h>

/// Who holds it is not interrupted: no budget (base/budget.h) ends the work before it is given back.
typedef struct Lock {
    pthread_mutex_t mutex;
    struct StepBudget *paused;  // of who holds it
} Lock;

void lock_init(Lock *lock);
void lock_destroy(Lock *lock);
void lock_take(Lock *lock);
void lock_give(Lock *lock);

/// `worker` is below PARALLEL_MOST_WORKERS and is one thread's at a time: it tells apart what threads must not share.
typedef void (*ParallelWork)(void *context, int worker, int index);

enum {
    PARALLEL_MOST_WORKERS = 8,       // an editor's other programs want some, too
    PARALLEL_STACK_BYTES = 8 << 20,  // of a thread that takes part
};

/// Calls `work` once for each index below `count`, in any order, and returns when all calls have. The calling thread takes
/// part as worker 0; of other threads there are as many as further processors, and fewer where none can be made. A
/// BUG in one call ends no other; the first is raised again here.
void parallel_for(int count, ParallelWork work, void *context);

/// A number that the calling thread bears, 0 at first; threads that take part in its work bear the same.
int thread_mark(void);
void thread_set_mark(int mark);

#endif
