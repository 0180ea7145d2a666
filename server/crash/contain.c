// A parent that only waits, a child that works; between them a page of shared memory with the file at hand. What is known of a
// process after a segmentation fault is nothing, so it is not gone on with: the work starts again without that file.
#include "server/crash/contain.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "server/system/child.h"

enum { MOST_CRASHES = 16 };  // files; with more, a check ends by the signal

typedef struct Crash {
    char path[PATH_MAX];
    int signal;
} Crash;

struct Containment {
    char at[PATH_MAX];  // the file at hand, "" for none
    int crash_count;
    Crash crashes[MOST_CRASHES];
};

void contain_enter(Containment *containment, const char *path) {
    if (containment) snprintf(containment->at, sizeof containment->at, "%s", path ? path : "");
}

bool contain_may_enter(const Containment *containment, Report *report, const char *path) {
    for (int i = 0; containment && i < containment->crash_count; i++) {
        const Crash *crash = &containment->crashes[i];
        if (strcmp(crash->path, path) != 0) continue;
        report_problem(report,
                       "%s: the analysis crashed (%s), so this file was left out; please report it",
                       path, signal_text(crash->signal));
        return false;
    }
    return true;
}

static pid_t child_now;

/// What ends the parent ends the child. Async-signal-safe.
static void pass_on(int number) {
    if (child_now > 0) kill(child_now, number);
}

/// Notes the file that the child was at. False where there is nothing to leave out.
static bool crash_note(Containment *containment, int number) {
    if (!signal_is_crash(number) || !containment->at[0] || containment->crash_count == MOST_CRASHES)
        return false;
    Crash *crash = &containment->crashes[containment->crash_count++];
    memcpy(crash->path, containment->at, sizeof crash->path);
    crash->signal = number;
    containment->at[0] = 0;
    return true;
}

/// As the child was ended, so that a shell sees it.
static int end_likewise(int number) {
    if (signal_is_crash(number)) {
        say("the check crashed (%s); please report it", signal_text(number));
        return STATUS_TROUBLE;
    }
    signal(number, SIG_DFL);
    raise(number);
    return STATUS_TROUBLE;
}

static int contain_watch(const Options *options, Containment *containment,
                         int command(const Options *, Containment *)) {
    struct sigaction pass = {.sa_handler = pass_on};
    sigaction(SIGTERM, &pass, NULL);
    sigaction(SIGHUP, &pass, NULL);
    sigaction(SIGINT, &pass, NULL);
    for (;;) {
        pid_t child = child_fork();
        if (child == 0) {
            signal(SIGTERM, SIG_DFL);
            signal(SIGHUP, SIG_DFL);
            signal(SIGINT, SIG_DFL);
            exit(command(options, containment));
        }
        if (child < 0) return command(options, NULL);  // no process to spare: without containment
        child_now = child;
        int status;
        int number = child_wait(child, &status);
        child_now = 0;
        if (!number) return status;
        if (!crash_note(containment, number)) return end_likewise(number);
    }
}

int contain_run(const Options *options,
                int command(const Options *options, Containment *containment)) {
    Containment *containment =
        mmap(NULL, sizeof *containment, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (containment == MAP_FAILED) return command(options, NULL);
    int status = contain_watch(options, containment, command);
    munmap(containment, sizeof *containment);
    return status;
}
