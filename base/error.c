// Containment of our own mistakes, and of work that is to end: its steps are spent, or nobody waits for it any longer.
#include "base/error.h"

#include "base/arena.h"
#include "base/budget.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local BugGuard *current_guard;
static _Thread_local char bug_message[512];

void bug_guard_begin(BugGuard *guard) {
    guard->outer = current_guard;
    guard->message = NULL;
    guard->budget = budget_current;
    guard->scratch = arena_newest_scratch();
    current_guard = guard;
}

void bug_guard_end(BugGuard *guard) { current_guard = guard->outer; }

static _Noreturn void bug_jump(BugCause cause) {
    BugGuard *guard = current_guard;
    if (!guard) {
        fprintf(stderr, "tad: internal error: %s\n", bug_message);
        abort();
    }
    guard->message = bug_message;
    guard->cause = cause;
    budget_current = guard->budget;
    arena_free_scratch(guard->scratch);
    current_guard = guard->outer;
    longjmp(guard->jump, 1);
}

void bug_raise(const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int used = snprintf(bug_message, sizeof bug_message, "%s:%d: ", file, line);
    if (used > 0 && (size_t)used < sizeof bug_message)
        vsnprintf(bug_message + used, sizeof bug_message - (size_t)used, format, arguments);
    va_end(arguments);
    bug_jump(BUG_FAULT);
}

void bug_raise_for(BugCause cause, const char *message) {
    snprintf(bug_message, sizeof bug_message, "%s", message);
    bug_jump(cause);
}

void bug_raise_again(const BugGuard *guard) {
    if (guard->message != bug_message)  // another thread's
        snprintf(bug_message, sizeof bug_message, "%s", guard->message);
    bug_jump(guard->cause);
}

/* ---- budgets (base/budget.h) ---- */

/// Between two questions: some 0.1 ms.
enum { STEPS_PER_QUESTION = 1024 };

_Thread_local StepBudget *budget_current;
_Thread_local int64_t steps_taken;
static _Thread_local Wanted wanted_now;

static void next_set(StepBudget *budget) {
    budget->next = budget->taken + STEPS_PER_QUESTION;
    if (budget->next > budget->limit) budget->next = budget->limit;
}

void budget_start(StepBudget *budget, int64_t limit) {
    *budget = (StepBudget){.limit = limit, .outer = budget_current};
    next_set(budget);
    budget_current = budget;
}

void budget_stop(const StepBudget *budget) { budget_current = budget->outer; }

StepBudget *budget_pause(void) {
    StepBudget *paused = budget_current;
    budget_current = 0;
    return paused;
}

void budget_resume(StepBudget *paused) { budget_current = paused; }

int64_t budget_left(void) {
    const StepBudget *budget = budget_current;
    return budget ? budget->limit - budget->taken : INT64_MAX;
}

void budget_look(StepBudget *budget) {
    if (budget->taken >= budget->limit) bug_raise_for(BUG_SPENT, "its steps are spent");
    if (!result_is_wanted()) bug_raise_for(BUG_UNWANTED, "nobody waits for it");
    next_set(budget);
}

Wanted wanted_set(Wanted wanted) {
    Wanted former = wanted_now;
    wanted_now = wanted;
    return former;
}

bool result_is_wanted(void) { return !wanted_now.ask || wanted_now.ask(wanted_now.context); }
