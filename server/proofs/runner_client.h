// One worker process `tad-runner`: starts it, sends one request at a time, kills and restarts it when it hangs or dies.
#ifndef TAD_SERVER_PROOFS_RUNNER_CLIENT_H
#define TAD_SERVER_PROOFS_RUNNER_CLIENT_H

#include "base/json.h"
#include "server/system/loop.h"

typedef struct RunnerClient RunnerClient;

/// Why a request has no result.
typedef enum RunnerTrouble {
    RUNNER_OK,
    RUNNER_REFUSED,      // the runner answered with an error; `message` is its own
    RUNNER_DIED,         // it exited or was killed while it worked on the request
    RUNNER_TIMED_OUT,    // it was killed after the time limit
    RUNNER_UNAVAILABLE,  // it cannot be started at all
} RunnerTrouble;

/// `result` (for RUNNER_OK) and `message` (otherwise) live until the callback returns.
typedef void RunnerCallback(void *context, RunnerTrouble trouble, const Json *result,
                            const char *message);
typedef void RunnerProgress(void *context, const Json *params);

/// `command` is a program with its arguments, NULL-terminated: a path, or `ssh box tad-runner`.
RunnerClient *runner_client_new(Arena *arena, Loop *loop, const char *const *command,
                                RunnerProgress *progress, void *progress_context);
/// From now on the worker runs only where nothing else wants the processor: somebody types meanwhile.
void runner_client_give_way(RunnerClient *client);
enum { RUNNER_NO_DEVICE = -1 };
/// Which of its GPUs a worker with a GPU uses, counted round them: of two workers, one says 0 and the other 1. RUNNER_NO_DEVICE: none, the
/// interpreter alone.
void runner_client_use_device(RunnerClient *client, int device);
/// Sends `method`; the callback comes exactly once, never from inside this call. Requires no request in flight.
void runner_client_request(RunnerClient *client, const char *method, Json *params,
                           uint64_t limit_ms, RunnerCallback *callback, void *context);
/// Ends the worker; it has no state worth saving. A request in flight gets no answer. The client may be used again.
void runner_client_close(RunnerClient *client);

/// Where tad-runner is: `given` when not NULL, else beside our own executable, else on PATH. NULL and `*error` when nowhere.
const char *runner_find(Arena *arena, const char *given, Error *error);
/// Splits `text` at spaces into a NULL-terminated command (a command line for ssh or srun); quotes keep theirs together, and a lone path
/// stays whole.
const char *const *runner_command(Arena *arena, const char *text);
/// The same worker with another backend than `cpu`.
const char *const *runner_command_for(Arena *arena, const char *const *command,
                                      const char *backend);

#endif
