// Steps that a piece of work may take, and whether its result is still wanted. A step is about what 64 bytes of memory cost: arenas
// and walks take theirs by themselves, so that no analysis has to count. Who starts a budget stands below a guard (base/error.h);
// where the steps are spent, or nobody wants the result any longer, the work ends there as it does after a BUG, with the cause in the guard.
#ifndef TAD_BASE_BUDGET_H
#define TAD_BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

typedef struct StepBudget {
    int64_t limit;  // steps
    int64_t taken;
    int64_t next;  // with so many taken something is looked at
    struct StepBudget *outer;
} StepBudget;

/// The calling thread's innermost, or NULL. For budget_take alone.
extern _Thread_local StepBudget *budget_current;

/// The work of this thread takes its steps from `budget` until budget_stop, or until a guard that was begun before catches something.
void budget_start(StepBudget *budget, int64_t limit);
void budget_stop(const StepBudget *budget);
/// What is done for others, or kept for longer than this work, takes no steps and is not interrupted. Returns what budget_resume wants.
StepBudget *budget_pause(void);
void budget_resume(StepBudget *paused);
/// Steps that are left, for work that can end by itself; INT64_MAX where there is no budget.
int64_t budget_left(void);

void budget_look(StepBudget *budget);
/// All that this thread has taken, under budgets or not, and with what it spread over others (base/parallel.h): a measure of
/// work that is the same on every machine, for tests.
extern _Thread_local int64_t steps_taken;
/// Takes steps of the budget, if there is one. Does not return where they are spent, or where the result is not wanted.
static inline void budget_take(int64_t steps) {
    StepBudget *budget = budget_current;
    steps_taken += steps;
    if (budget && (budget->taken += steps) >= budget->next) budget_look(budget);
}

/// Whether somebody waits for what this thread does; once false, false for ever. Asked every now and then by work with a budget, from
/// any thread that takes part (base/parallel.h).
typedef struct Wanted {
    bool (*ask)(const void *context);  // NULL: it is
    const void *context;
} Wanted;
/// Returns the one before.
Wanted wanted_set(Wanted wanted);
bool result_is_wanted(void);

#endif
