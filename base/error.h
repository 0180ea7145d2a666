// The three kinds of trouble: a user's mistake is a Diagnostic (analysis/), the world's failure is an
// Error, our own mistake is a BUG, contained by the nearest guard so that one feature's fault ends nothing else.
#ifndef TAD_BASE_ERROR_H
#define TAD_BASE_ERROR_H

#include <setjmp.h>
#include <stdbool.h>

/// NULL means success; otherwise one sentence: what, where, what to do. Owned by an arena.
typedef const char *Error;

/// What ended guarded work.
typedef enum BugCause {
    BUG_FAULT,     // our own mistake
    BUG_SPENT,     // the steps of its budget (base/budget.h)
    BUG_UNWANTED,  // nobody waits for its result
} BugCause;

typedef struct BugGuard {
    jmp_buf jump;
    struct BugGuard *outer;
    const char *message;
    BugCause cause;             // with a message
    struct StepBudget *budget;  // of the work around the guard
    struct Arena *scratch;      // the newest of them, of the work around the guard
} BugGuard;

/// `BugGuard guard; if (BUG_GUARD(&guard)) { ...may BUG...; bug_guard_end(&guard); } else { guard.message }`
/// Per thread, nests. Variables changed inside and read after a BUG must be volatile.
#define BUG_GUARD(guard) (bug_guard_begin(guard), setjmp((guard)->jump) == 0)
void bug_guard_begin(BugGuard *guard);
void bug_guard_end(BugGuard *guard);

/// Our own mistake: jumps to the nearest guard, or prints and aborts where there is none.
#define BUG(...) bug_raise(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void bug_raise(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

_Noreturn void bug_raise_for(BugCause cause, const char *message);
/// What the guard caught, once more, for the guard around it.
_Noreturn void bug_raise_again(const BugGuard *guard);

#endif
