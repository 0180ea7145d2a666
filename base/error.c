// Containment of our own mistakes.
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local BugGuard *current_guard;
static _Thread_local char bug_message[512];

void bug_guard_begin(BugGuard *guard) {
    guard->outer = current_guard;
    guard->message = NULL;
    current_guard = guard;
}

void bug_guard_end(BugGuard *guard) { current_guard = guard->outer; }

void bug_raise(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int used = snprintf(bug_message, sizeof bug_message, "%s:%d: ", file, line);
    if (used > 0 && (size_t)used < sizeof bug_message)
        vsnprintf(bug_message + used, sizeof bug_message - (size_t)used, format, arguments);
    va_end(arguments);
    BugGuard *guard = current_guard;
    if (!guard) {
        fprintf(stderr, "tad: internal error: %s\n", bug_message);
        abort();
    }
    guard->message = bug_message;
    current_guard = guard->outer;
    longjmp(guard->jump, 1);
}
