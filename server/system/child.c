// fork, and what a parent can know of how its child ended.
#include "server/system/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "server/report/say.h"

static void follow_parent(pid_t parent) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent) _exit(STATUS_TROUBLE);
}

pid_t child_fork(void) {
    pid_t parent = getpid(), child = fork();
    if (child == 0) follow_parent(parent);
    return child;
}

int child_wait(pid_t child, int *status) {
    int state = 0;
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) continue;
    *status = WIFEXITED(state) ? WEXITSTATUS(state) : STATUS_TROUBLE;
    return WIFSIGNALED(state) ? WTERMSIG(state) : 0;
}

bool signal_is_crash(int number) {
    return number == SIGSEGV || number == SIGBUS || number == SIGABRT || number == SIGFPE ||
           number == SIGILL || number == SIGKILL;
}

const char *signal_text(int number) {
    switch (number) {
    case SIGSEGV: return "a segmentation fault";
    case SIGBUS: return "a bus error";
    case SIGABRT: return "an abort";
    case SIGFPE: return "an arithmetic fault";
    case SIGILL: return "an illegal instruction";
    case SIGKILL: return "killed, perhaps for want of memory";
    default: return "a signal";
    }
}
