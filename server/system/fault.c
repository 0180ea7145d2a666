// A word in a text, and the process ends as it says.
#include "server/system/fault.h"

#ifdef TAD_FAULTS
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int overflow(const volatile char *below) {
    volatile char here[4096];
    here[0] = here[1] = *below;
    return *below == 1 ? 0 : overflow(here) + here[1];
}

static void fault_segv(void) {
    volatile int *volatile nowhere = (volatile int *)(uintptr_t)64;
    *nowhere = 1;
}

static void fault_overflow(void) { overflow(""); }

static void fault_abort(void) { abort(); }

static void fault_kill(void) { raise(SIGKILL); }

static void fault_hang(void) {
    for (volatile int i = 0;; i = !i) continue;
}

void fault_provoke(const char *queue, Str text) {
    static const struct {
        const char *kind;
        void (*crash)(void);
    } faults[] = {{"segv", fault_segv},
                  {"overflow", fault_overflow},
                  {"abort", fault_abort},
                  {"kill", fault_kill},
                  {"hang", fault_hang}};
    if (!getenv("TAD_FAULTS")) return;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char comment[64];
        snprintf(comment, sizeof comment, "# tad-fault: %s %s\n", queue, faults[i].kind);
        if (strstr(text.data, comment)) faults[i].crash();
    }
}
#else
/// ISO C wants a declaration in every file.
typedef int NoFaults;
#endif
