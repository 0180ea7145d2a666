// Processes, descriptors, timers and worker threads around one loop thread: the one door to libuv. All of a loop's objects
// die with it.
#ifndef TAD_SERVER_SYSTEM_LOOP_H
#define TAD_SERVER_SYSTEM_LOOP_H

#include "base/error.h"
#include "base/text.h"
#include "server/system/environment.h"

typedef struct Loop Loop;
typedef struct Process Process;
typedef struct Timer Timer;
typedef struct Watch Watch;
typedef struct Worker Worker;

/// What a process tells its owner. Called from loop_run; `exited` comes once, after the last output.
typedef struct ProcessEvents {
    void (*output)(void *context, const char *data, size_t size);
    void (*error_output)(void *context, const char *data, size_t size);  // NULL: thrown away
    void (*exited)(void *context, int status, int signal);
    void *context;
} ProcessEvents;

Loop *loop_new(void);
/// Kills the processes that still run and frees everything made from the loop.
void loop_free(Loop *loop);
/// Only kills them.
void loop_kill_processes(const Loop *loop);
/// Runs until loop_stop or until nothing can happen any more.
void loop_run(Loop *loop);
/// The same; a signal that ends this process (SIGINT, SIGTERM, SIGHUP) first kills the loop's: a terminal does not signal their groups.
void loop_run_with_signals(Loop *loop);
/// From now on the first signal that ends a process (SIGINT, SIGTERM, SIGHUP) only says that it shall come to an end; the second ends it.
/// loop_run_with_signals then comes back, with its work undone.
void interrupts_hold(void);
/// Whether a signal has come since.
bool interrupted(void);
/// From now on a signal does what it did before.
void interrupts_release(void);
void loop_stop(Loop *loop);
/// The same at the loop's next turn, in which what has ended is given back.
void loop_stop_later(Loop *loop);
/// Nanoseconds of a clock that only goes forward.
uint64_t clock_ns(void);
/// Milliseconds of a clock that only goes forward.
uint64_t loop_now_ms(const Loop *loop);

/// Starts `arguments` (NULL-terminated, the first is the program, looked up in PATH when it has no slash), as the first of a session and
/// process group of its own. Whatever of the group is left is killed with it, or half a second after it ended; then nothing more is read.
Error process_start(Loop *loop, Arena *arena, const char *const *arguments,
                    EnvironmentKind environment, const ProcessEvents *events, Process **process);
/// Copies `size` bytes and writes them when the pipe takes them. Dropped when the process is gone.
void process_write(Process *process, const char *data, size_t size);
void process_close_input(Process *process);
/// SIGTERM, to the process alone: it says how far it is, and ends.
void process_interrupt(const Process *process);
/// The whole group.
void process_kill(Process *process);
/// Lets whatever else wants the processor go first (setpriority(2), nice 10).
void process_give_way(Process *process);
/// Kills it; its owner hears no more of it. A process is freed after `exited`, or when it was abandoned: forget it then.
void process_abandon(Process *process);
/// Whether a process with that number runs on this machine.
bool process_exists(int id);

typedef void TimerCallback(void *context);
/// Calls back once after `delay_ms`, then every `repeat_ms` when that is not 0.
Timer *timer_start(Loop *loop, uint64_t delay_ms, uint64_t repeat_ms, TimerCallback *callback,
                   void *context);
/// Also frees a timer that fired. NULL is allowed.
void timer_stop(Timer *timer);

/// What a descriptor is waited for. The callback comes again and again as long as it holds.
typedef enum WatchKind { WATCH_READABLE, WATCH_WRITABLE } WatchKind;
typedef void WatchCallback(void *context);
/// NULL for what can always be read and written: files. The descriptor does not block any more; one watch of it at a time.
Watch *watch_start(Loop *loop, int descriptor, WatchKind kind, WatchCallback *callback,
                   void *context);
/// NULL is allowed.
void watch_stop(Watch *watch);

/// Something to do on a worker's thread. The owner allocates it, with this as its first member.
typedef struct Job Job;
struct Job {
    void (*run)(Job *job);  // on the worker's thread
    void (*done)(Job *job,
                 bool has_run);  // on the loop's thread, in order; false: the worker ended first
    Job *next;
};
/// Calls `work` on a thread of its own and waits for it.
void thread_run(size_t stack_bytes, void (*work)(void *context), void *context);
/// A thread that does jobs one after the other. `stack_bytes` 0: the system's choice.
Worker *worker_new(Loop *loop, size_t stack_bytes);
/// From any thread.
void worker_post(Worker *worker, Job *job);
/// The same, behind all that worker_post posts, also later. Among themselves in order.
void worker_post_patient(Worker *worker, Job *job);
/// No other job begins. False where the one that runs is not done before `until_ms` of the loop's clock.
bool worker_stop(Worker *worker, uint64_t until_ms);
/// Waits for the running jobs and tells the others that they will not run. A job that ends may still post one to any of these
/// workers: it is told the same.
void workers_end(Worker *const *workers, int count);

/// Runs a short command to its end or to the time limit and collects what it printed to stdout and stderr.
typedef struct CommandResult {
    bool started;
    bool timed_out;
    int status;
    const char *output;
} CommandResult;
CommandResult command_run(Arena *arena, const char *const *arguments, uint64_t limit_ms);

/// The folder that holds this program's own executable, without a closing slash.
const char *executable_folder(Arena *arena);
int processor_count(void);

#endif
