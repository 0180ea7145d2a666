// Each run has an interpreter and a budget of its own; what they share is only read. Whoever takes a run pays for its steps, so that a
// verdict is that of one run after the other.
#include "gpu-runner/prove/beside.h"

#include "base/parallel.h"

/// Fewer steps are done before a thread is there; of more the memory would be too much.
static const int64_t LEAST_STEPS = 20000, MOST_STEPS = 1 << 24;

typedef struct BesideRun {
    Problem problem;  // with `budget`
    Budget budget;
    Arena *scratch;  // of its interpreter
    Execution run;
    int64_t before;  // steps of the budget
    bool reversed, is_made, is_taken;
} BesideRun;

struct Beside {
    Arena *arena;
    Executor executor;  // as it was when this was made
    InterpOptions options;
    LIST(BesideRun *) runs;
};

Beside *beside_new(Arena *arena, const Executor *executor, int64_t steps) {
    if (steps < LEAST_STEPS || steps > MOST_STEPS) return NULL;
    Beside *beside = ARENA_NEW(arena, Beside);
    *beside = (Beside){.arena = arena, .executor = *executor, .options = executor->interp->options};
    return beside;
}

void beside_add(Beside *beside, const Problem *problem, bool reversed) {
    if (!beside) return;
    BesideRun *run = ARENA_NEW(beside->arena, BesideRun);
    *run = (BesideRun){.problem = *problem, .reversed = reversed};
    run->budget = *problem->budget;
    run->before = run->budget.steps;
    run->problem.budget = &run->budget;
    run->problem.cuda = NULL;
    LIST_PUSH(beside->arena, &beside->runs, run);
}

static void make(const Beside *beside, BesideRun *run) {
    BugGuard guard;
    run->scratch = arena_new();
    if (!BUG_GUARD(&guard)) return;  // whoever asks for the run meets it
    InterpOptions options = beside->options;
    options.budget = &run->budget;
    Executor own = beside->executor;
    own.problem = &run->problem;
    own.interp = interp_new(run->scratch, &options);
    own.traced = NULL;
    run->run = execution_backward(&own, run->reversed, NULL);
    bug_guard_end(&guard);
    run->is_made = !own.interp->is_over_budget;
}

typedef struct BesideWork {
    const Beside *beside;
    void (*work)(void *context);  // the first index, where it is not NULL
    void *context;
} BesideWork;

static void work_one(void *context, int worker, int index) {
    (void)worker;
    const BesideWork *work = context;
    if (work->work && index == 0)
        work->work(work->context);
    else
        make(work->beside, work->beside->runs.items[index - (work->work != NULL)]);
}

static void run_all(BesideWork *work, int count) {
    double since = clock_seconds(), own = interp_seconds();
    parallel_for(count, work_one, work);
    interp_waited(clock_seconds() - since - (interp_seconds() - own));
}

void beside_run(Beside *beside) {
    BesideWork work = {.beside = beside};
    if (beside && beside->runs.count > 1) run_all(&work, beside->runs.count);
}

void beside_run_with(Beside *beside, void (*work)(void *context), void *context) {
    BesideWork all = {beside, work, context};
    if (beside)
        run_all(&all, 1 + beside->runs.count);
    else
        work(context);
}

void beside_free(Beside *beside) {
    for (int i = 0; beside && i < beside->runs.count; i++) {
        BesideRun *run = beside->runs.items[i];
        if (run->run.arena && !run->is_taken) execution_free(&run->run);
        arena_free(run->scratch);
    }
}

/// Problems are made anew by whoever asks: the same launches, and nothing from above the same output.
static bool is_same(const BesideRun *run, const Problem *problem, bool reversed) {
    return run->reversed == reversed && run->problem.launches == problem->launches &&
           run->problem.configuration == problem->configuration &&
           run->problem.is_silent == problem->is_silent &&
           (!problem->is_silent || run->problem.silent == problem->silent);
}

static BesideRun *find(const Beside *beside, const Problem *problem, bool reversed) {
    for (int i = 0; beside && i < beside->runs.count; i++) {
        BesideRun *run = beside->runs.items[i];
        if (run->is_made && !run->is_taken && is_same(run, problem, reversed)) return run;
    }
    return NULL;
}

Execution beside_backward(Beside *beside, Executor *executor, bool reversed) {
    const Problem *problem = executor->problem;
    Budget *budget = problem->budget;
    BesideRun *run = find(beside, problem, reversed);
    const int64_t steps = run ? run->budget.steps - run->before : 0;
    bool is_affordable = !budget->limit || budget->steps + steps <= budget->limit;
    executor->traced = NULL;
    if (!run || !is_affordable || budget_is_over(budget))
        return execution_backward(executor, reversed, NULL);
    budget_take(budget, steps);
    run->is_taken = true;
    executor->interp->is_over_budget = false;
    return run->run;
}
