// A Python of the user's with PyTorch that times: one request on its stdin, one line of JSON as its answer.
#ifndef TAD_SERVER_PROOFS_PYTHON_CHILD_H
#define TAD_SERVER_PROOFS_PYTHON_CHILD_H

#include "base/json.h"
#include "server/system/loop.h"

typedef struct PythonChild PythonChild;
/// The answer, or NULL and one sentence; both in the arena of the start.
typedef void PythonChildCallback(void *context, const Json *answer, const char *problem);

/// Runs gpu-runner/time_kernels.py by the command `python`: within the sandbox for programs that drive a GPU, where the command is a Python
/// of this machine. `has_no_gpu`: the machine is known to have none, so that no Python of it would do. The callback comes exactly once, from the loop; never from inside this call, but where NULL is returned.
PythonChild *python_child_start(Loop *loop, Arena *arena, const char *const *python,
                                const Json *request, bool has_no_gpu, PythonChildCallback *callback,
                                void *context);
/// The callback gets a problem.
void python_child_kill(PythonChild *child);
/// Kills it; the callback does not come.
void python_child_abandon(PythonChild *child);
/// A Python itself, and no command that leads to one: what leads elsewhere needs the network.
bool is_python(const char *const *command);

/// What timing cannot do without, and the setting that says where it is. Begins alike for all of them.
#define TIMING_SETTING "the setting `tad.python.command`, `--python` or $TAD_PYTHON"

enum { PYTHON_CHILD_LIMIT_MS = 300000 };

#endif
