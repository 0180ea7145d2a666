// What analysis/cost counts, held against what the interpreter moved and computed: byte for byte, over all examples and the kernels of
// other tests.
#include <dirent.h>
#include <math.h>

#include "analysis/cost/count.h"
#include "analysis/cost/kernel_cost.h"
#include "analysis/host/launch.h"
#include "gpu-runner/configure/spec.h"
#include "gpu-runner/execute/execution.h"
#include "gpu-runner/execute/grid.h"
#include "gpu-runner/prove/request.h"
#include "tests/support/check.h"
#include "tests/support/files.h"

typedef struct Tally {
    int kernels, runs;
    int exact, exact_on;  // runs whose loops and branches, and whose masks, were followed
    int symbolic;         // runs of which the polynomials say all
} Tally;

static bool same(const char *what, const char *kernel, const char *configuration, int64_t counted,
                 int64_t moved) {
    if (counted == moved) return true;
    printf("  %s %s: counted %" PRId64 ", moved %" PRId64 "\n    %s\n", kernel, what, counted,
           moved, configuration);
    CHECK_EQ_INT(counted, moved);
    return false;
}

static void compare(Tally *tally, const char *kernel, const char *text, const Counts *counts,
                    const Traffic *moved) {
    tally->runs++;
    CHECK(!counts->is_wide_open);
    if (counts->is_open) return;
    tally->exact++;
    same("reads", kernel, text, counts->work[WORK_READ], moved->read);
    same("writes", kernel, text, counts->work[WORK_WRITE], moved->written);
    same("updates", kernel, text, counts->work[WORK_UPDATE], moved->updated);
    same("dots", kernel, text, counts->work[WORK_DOT], 2 * moved->dots);
    same("math", kernel, text, counts->work[WORK_MATH], moved->math);
    if (counts->is_on_open) return;
    tally->exact_on++;
    same("reads on", kernel, text, counts->on[WORK_READ], moved->read_on);
    same("writes on", kernel, text, counts->on[WORK_WRITE], moved->written_on);
    same("updates on", kernel, text, counts->on[WORK_UPDATE], moved->updated_on);
}

/// What the polynomials say of one program under these numbers, times the programs; -1: not all of it.
typedef struct Said {
    int64_t lanes, dots, math;
} Said;

static int64_t said_of(CostNumbers *numbers, const CostLine *line) {
    int64_t amount, times;
    const Poly *each = cost_under(numbers, line->work.amount),
               *often = cost_under(numbers, line->times);
    if (!each || !often || !poly_is_constant(each, &amount) || !poly_is_constant(often, &times))
        return -1;
    return amount * times;
}

static Said said_by(Arena *arena, const Function *symbolic,
                    const PlanConfiguration *configuration) {
    int count = symbolic->parameter_count;
    const Constant **values = ARENA_ARRAY(arena, const Constant *, count + 1);
    for (int i = 0; i < count && i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        if (argument->kind == ARGUMENT_INTEGER) values[i] = constant_int(arena, argument->integer);
        if (argument->kind == ARGUMENT_POINTER) values[i] = constant_text(arena, STR("a tensor"));
        if (argument->kind == ARGUMENT_CONSTANT) values[i] = argument->constant;
    }
    KernelCost *cost = kernel_cost(arena, symbolic, true);
    CostNumbers *numbers = cost_numbers(cost, values);
    Said said = {0};
    if (cost->is_incomplete) return (Said){-1, -1, -1};
    int64_t programs = configuration->grid[0] * configuration->grid[1] * configuration->grid[2];
    for (LIST_EACH(int, i, cost->lines)) {
        const CostLine *line = &cost->lines.items[i];
        if (cost_is_off(numbers, line)) continue;
        int64_t here = said_of(numbers, line);
        bool is_dot = line->work.kind == WORK_DOT;
        if (here < 0 || !cost_is_sure(numbers, line)) return (Said){-1, -1, -1};
        *(is_dot ? &said.dots : &said.lanes) += here * programs;
    }
    for (LIST_EACH(int, i, cost->math)) {
        const CostLine *line = &cost->math.items[i];
        if (cost_is_off(numbers, line)) continue;
        int64_t here = said_of(numbers, line);
        if (here < 0 || !cost_is_sure(numbers, line)) return (Said){-1, -1, -1};
        said.math += here * programs;
    }
    return said;
}

static void compare_symbolic(Tally *tally, const char *kernel, const char *text, const Said *said,
                             const Traffic *moved) {
    if (said->lanes < 0) return;
    tally->symbolic++;
    same("lanes by polynomials", kernel, text, said->lanes, moved->lanes);
    same("dots by polynomials", kernel, text, said->dots, 2 * moved->dots);
    same("math by polynomials", kernel, text, said->math, moved->math);
}

/// Whether the configuration ran.
static bool run_configuration(Tally *tally, Sources *sources, const FunctionDefinition *kernel,
                              const Function *symbolic, PlanConfiguration *configuration) {
    Arena *arena = sources->arena;
    Error error = NULL;
    int count;
    Binding *bindings = configuration_bindings(arena, configuration, &count);
    Budget budget = {.deadline = clock_seconds() + 5};
    Problem problem = {.configuration = configuration, .budget = &budget};
    problem.forward = lower_concrete(sources, kernel, bindings, count, &error);
    if (!error && problem.forward->parameter_count != configuration->argument_count) return false;
    if (!error && !configuration->grid_is_known) error = grid_find(arena, &problem, configuration);
    if (error) return false;
    Traffic traffic = {0};
    Executor executor = executor_new(arena, &problem);
    executor.interp->traffic = &traffic;
    executor.keeps_in = arena;
    if (execution_forward(&executor, NULL).error) return false;
    double *numbers = ARENA_ARRAY(arena, double, count + 1);
    int *bits = ARENA_ARRAY(arena, int, count + 1);
    for (int i = 0; i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        numbers[i] = argument->kind == ARGUMENT_INTEGER ? (double)argument->integer
                     : argument->kind == ARGUMENT_FLOAT ? argument->number
                                                        : NAN;
        bits[i] = argument->kind == ARGUMENT_POINTER ? dtype_bits(argument->dtype) : 0;
    }
    CountedLaunch launch = {.numbers = numbers, .bits = bits, .most_steps = 4000000};
    for (int axis = 0; axis < 3; axis++) launch.grid[axis] = configuration->grid[axis];
    Counts counts = count_launch(arena, problem.forward, &launch);
    compare(tally, str_dup(arena, kernel->name), configuration_print(arena, configuration), &counts,
            &traffic);
    Said said = said_by(arena, symbolic, configuration);
    compare_symbolic(tally, str_dup(arena, kernel->name), configuration_print(arena, configuration),
                     &said, &traffic);
    return true;
}

static void count_file(Tally *tally, const char *path) {
    enum { MOST_RUNS = 3 };
    Arena *arena = arena_new();
    Sources *sources = sources_new(arena, json_object(arena));
    Module *module = sources_module(sources, path, file_text(arena, path));
    for (LIST_EACH(int, i, module->functions)) {
        const FunctionDefinition *kernel = module->functions.items[i];
        LowerOptions options = {0};
        Diagnostics diagnostics = {.arena = arena};
        Error error = NULL;
        SpecRequest request = {
            .module = module,
            .kernel = kernel,
            .symbolic = lower_kernel(arena, kernel, &options, &diagnostics),
            .uses_launchers = true,
            .seed = 7,
        };
        if (!request.symbolic || kernel->returns_value) continue;
        Configurations all = spec_configurations(arena, &request, &error);
        int runs = 0;
        for (int k = 0; k < all.count && runs < MOST_RUNS; k++)
            runs += run_configuration(tally, sources, kernel, request.symbolic, &all.items[k]);
        tally->kernels += runs > 0;
    }
    sources_free(sources);
    arena_free(arena);
}

static Tally count_folder(const char *folder) {
    Tally tally = {0};
    Arena *arena = arena_new();
    DIR *entries = opendir(folder);
    CHECK(entries != NULL);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        if (str_ends(str_from(entry->d_name), ".py"))
            count_file(&tally, arena_printf(arena, "%s/%s", folder, entry->d_name));
    if (entries) closedir(entries);
    arena_free(arena);
    printf("%s: %d kernels, %d runs, %d exact, %d with masks, %d by polynomials\n", folder,
           tally.kernels, tally.runs, tally.exact, tally.exact_on, tally.symbolic);
    return tally;
}

TEST(examples) {
    Tally tally = count_folder("examples");
    CHECK(tally.kernels > 40 && tally.exact >= tally.runs - 3);
    CHECK(tally.exact_on >= tally.exact - 3 && tally.symbolic > 100);
}

TEST(golden) {
    Tally tally = count_folder("tests/golden");
    CHECK(tally.kernels > 10 && tally.exact >= tally.runs - 3 && tally.symbolic > 20);
}

TEST(emitted) {
    Tally tally = count_folder("tests/emitted/kernels");
    CHECK(tally.kernels > 300 && tally.exact > 950 && tally.exact_on > 940);
    CHECK(tally.symbolic > 800);
}

TEST_MAIN(TEST_ROW(examples), TEST_ROW(golden), TEST_ROW(emitted))
