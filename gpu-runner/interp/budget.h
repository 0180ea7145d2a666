// What a request may compute. Steps decide, so that a verdict is the same on every machine; the clock only ends a run without one.
#ifndef TAD_GPU_RUNNER_INTERP_BUDGET_H
#define TAD_GPU_RUNNER_INTERP_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/// Why the interpreter had to stop. What it would have found is not known then.
typedef enum BudgetEnd {
    BUDGET_HOLDS,
    BUDGET_OUT_OF_STEPS,  // the same on every machine
    BUDGET_OUT_OF_TIME,   // on this machine, now: a run that ends so has no verdict
    BUDGET_CANCELLED,
} BudgetEnd;

/// Shared by all launches of a request.
typedef struct Budget {
    int64_t steps;                 // elements computed so far
    int64_t limit;                 // of the part of the request that runs now; 0: none
    double deadline;               // clock_seconds(); 0: none
    const atomic_bool *cancelled;  // or NULL
    BudgetEnd end;                 // once out of time or cancelled, so it stays
} Budget;

/// Seconds of a clock that only runs forward.
double clock_seconds(void);
/// Whether the clock or the client ended the run. Reads the clock.
bool budget_is_over(Budget *budget);
/// Adds to the steps; the limit of steps is looked at each time.
static inline bool budget_take(Budget *budget, int64_t steps) {
    budget->steps += steps;
    return budget->limit == 0 || budget->steps <= budget->limit;
}
/// In the words of an error.
const char *budget_end_text(BudgetEnd end);

#endif
