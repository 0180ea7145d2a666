// Steps, the clock, and a client that no longer wants the answer.
#include "gpu-runner/interp/budget.h"

#include <time.h>

double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool budget_is_over(Budget *budget) {
    if (budget->end == BUDGET_OUT_OF_TIME || budget->end == BUDGET_CANCELLED) return true;
    if (budget->cancelled && atomic_load(budget->cancelled))
        budget->end = BUDGET_CANCELLED;
    else if (budget->deadline > 0 && clock_seconds() > budget->deadline)
        budget->end = BUDGET_OUT_OF_TIME;
    else
        return false;
    return true;
}

const char *budget_end_text(BudgetEnd end) {
    static const char *const texts[] = {
        [BUDGET_HOLDS] = "",
        [BUDGET_OUT_OF_STEPS] = "out of steps",
        [BUDGET_OUT_OF_TIME] = "out of time",
        [BUDGET_CANCELLED] = "cancelled",
    };
    return texts[end];
}
