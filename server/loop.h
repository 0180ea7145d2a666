// Processes, pipes and timers on one thread: the one door to libuv. All of a loop's objects die with it.
#ifndef TAD_SERVER_LOOP_H
#define TAD_SERVER_LOOP_H

#include "base/error.h"
#include "base/text.h"

typedef struct Loop Loop;
typedef struct Process Process;
typedef struct Timer Timer;

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
/// Runs until loop_stop or until nothing can happen any more.
void loop_run(Loop *loop);
void loop_stop(Loop *loop);
/// Milliseconds of a clock that only goes forward.
uint64_t loop_now_ms(const Loop *loop);

/// Starts `arguments` (NULL-terminated, the first is the program, looked up in PATH when it has no slash).
Error process_start(Loop *loop, Arena *arena, const char *const *arguments,
                    const ProcessEvents *events, Process **process);
/// Copies `size` bytes and writes them when the pipe takes them. Dropped when the process is gone.
void process_write(Process *process, const char *data, size_t size);
void process_close_input(Process *process);
void process_kill(Process *process);
/// Kills it; its owner hears no more of it.
void process_abandon(Process *process);

typedef void TimerCallback(void *context);
/// Calls back once after `delay_ms`, then every `repeat_ms` when that is not 0.
Timer *timer_start(Loop *loop, uint64_t delay_ms, uint64_t repeat_ms, TimerCallback *callback,
                   void *context);
void timer_stop(Timer *timer);

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
