// A problem in, the number of programs along each axis out: programs run until they store nothing new.
#include "gpu-runner/execute/grid.h"

#include "analysis/addresses/axis.h"
#include "analysis/build/infer.h"

enum {
    MOST_PROGRAMS = 24,      // tried along an axis
    IDLE_PROGRAMS = 8,       // in a row that add nothing: the rest will not, either
    UNLIMITED_PROGRAMS = 3,  // taken where each one adds something
    SHARE_OF_SEARCH = 8,     // of the steps that are left: a check costs more than the search
};

static bool reads_num_programs(void *context, Op *op) {
    bool *axes = context;
    int64_t axis;
    if (op->code == OP_NUM_PROGRAMS && op->operand_count && op->operands[0] &&
        value_is_int(op->operands[0], &axis) && axis >= 0 && axis < 3)
        axes[axis] = true;
    return true;
}

static bool reads_program_id(void *context, Op *op) {
    bool *axes = context;
    int64_t axis = 0;
    if (op->code == OP_PROGRAM_ID &&
        (!op->operand_count || !op->operands[0] || value_is_int(op->operands[0], &axis)) &&
        axis >= 0 && axis < 3)
        axes[axis] = true;
    return true;
}

/// Programs along `axis` until one fails, or several in a row store nothing or only where earlier ones did.
static int64_t programs_along(Executor *executor, int axis, Error *first_error) {
    Execution run = execution_new(executor, NULL);
    Tile **tiles = execution_arguments(executor, &run, NULL);
    int64_t grid[3] = {1, 1, 1}, useful = 0;
    grid[axis] = MOST_PROGRAMS;
    interp_begin(executor->interp, run.memory, executor->problem->forward, tiles, grid);
    bool is_poisoned = false;
    for (int64_t i = 0; i < MOST_PROGRAMS && i - useful < IDLE_PROGRAMS; i++) {
        int64_t program[3] = {0};
        program[axis] = i;
        Error error = interp_program(executor->interp, program);
        if (error && i == 0) *first_error = arena_strdup(executor->interp->arena, error);
        bool was_poisoned = is_poisoned;
        is_poisoned = memory_has_found(run.memory, FINDING_POISON);
        // Where all blocks are whole, one that was not loaded lies beyond them.
        bool is_beyond =
            executor->problem->configuration->is_fallback && i > 0 && is_poisoned && !was_poisoned;
        if (error || is_beyond) break;
        if (run.memory->new_elements) useful = i + 1;
    }
    execution_free(&run);
    return useful;
}

typedef struct DigitSearch {
    Arena *arena;
    const PlanConfiguration *configuration;
    int axis;
    int64_t most;  // programs along the axis, so that their number is a digit
} DigitSearch;

static Value *without_casts(Value *value) {
    while (value->op && value->op->code == OP_CAST && dtype_is_integer(value->type.element))
        value = value->op->operands[0];
    return value;
}

static bool number_of(const DigitSearch *search, const Value *value, int64_t *number) {
    if (value_is_int(value, number)) return true;
    bool is_parameter = !value->op && value->region && !value->region->parent &&
                        value->index < search->configuration->argument_count;
    if (!is_parameter) return false;
    const PlanArgument *argument = &search->configuration->arguments[value->index];
    *number = argument->integer;
    return argument->kind == ARGUMENT_INTEGER;
}

/// `batch * heads + head`, of two program ids: there are so many heads.
static bool visit_digit(void *context, Op *op) {
    DigitSearch *search = context;
    for (int i = 0; op->code == OP_ADD && i < 2; i++) {
        const Value *id = without_casts(op->operands[i]);
        const Op *product = without_casts(op->operands[1 - i])->op;
        if (!value_is_program_id(id, search->axis) || !product || product->code != OP_MUL) continue;
        for (int k = 0; k < 2; k++) {
            int64_t number;
            bool moves = axis_sources_of(search->arena, product->operands[1 - k], NULL).any_axis;
            if (moves && number_of(search, without_casts(product->operands[k]), &number) &&
                number > 0 && number < search->most)
                search->most = number;
        }
    }
    return true;
}

Error grid_find(Arena *arena, const Problem *problem, PlanConfiguration *configuration) {
    bool used[3] = {false}, counted[3] = {false};
    region_walk(problem->forward->body, reads_program_id, used);
    region_walk(problem->forward->body, reads_num_programs, counted);
    Problem probe = *problem;
    probe.configuration = configuration;
    for (int axis = 0; axis < 3; axis++) configuration->grid[axis] = counted[axis] ? 2 : 1;
    Arena *scratch = arena_new();
    Executor executor = executor_new(scratch, &probe);
    Error error = NULL;
    Budget *budget = problem->budget;
    const int64_t limit = budget ? budget->limit : 0;
    if (limit) budget->limit = budget->steps + (limit - budget->steps) / SHARE_OF_SEARCH;
    for (int axis = 0; axis < 3 && !error; axis++) {
        if (!used[axis] || counted[axis]) continue;
        int64_t useful = programs_along(&executor, axis, &error);
        DigitSearch search = {scratch, configuration, axis, UNLIMITED_PROGRAMS};
        if (useful == MOST_PROGRAMS) region_walk(problem->forward->body, visit_digit, &search);
        configuration->grid[axis] = useful == MOST_PROGRAMS ? search.most : useful > 0 ? useful : 1;
    }
    if (budget) budget->limit = limit;
    if (error) error = arena_strdup(arena, error);
    arena_free(scratch);
    configuration->grid_is_known = true;
    return error;
}

Execution grid_run_corners(Executor *executor) {
    const int64_t *grid = executor->problem->configuration->grid;
    Execution run = execution_new(executor, NULL);
    Tile **tiles = execution_arguments(executor, &run, NULL);
    interp_begin(executor->interp, run.memory, executor->problem->forward, tiles, grid);
    for (int corner = 0; corner < GRID_CORNERS && !run.error; corner++) {
        int64_t program[3];
        for (int axis = 0; axis < 3; axis++)
            program[axis] = (corner >> axis) & 1 ? grid[axis] - 1 : 0;
        run.error = interp_program(executor->interp, program);
    }
    return run;
}
