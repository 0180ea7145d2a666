// A copy of this process that works while this one waits, so that a crash of the copy can be told.
#ifndef TAD_SERVER_SYSTEM_CHILD_H
#define TAD_SERVER_SYSTEM_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/// As fork(): 0 in the child, -1 where there is no process to spare. Whoever kills the parent ends the child.
pid_t child_fork(void);
/// The signal that ended the child, or 0 and its exit status.
int child_wait(pid_t child, int *status);
/// Whether it is a signal that a program's own mistake ends with.
bool signal_is_crash(int number);
/// "a segmentation fault".
const char *signal_text(int number);

#endif
