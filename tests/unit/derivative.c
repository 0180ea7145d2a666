// Derivatives of small kernels along directions, how errors are judged, and how many programs a kernel wants.
#include "gpu-runner/execute/derivative.h"
#include "gpu-runner/configure/spec.h"
#include "gpu-runner/execute/grid.h"
#include "gpu-runner/prove/request.h"

#include "gpu-runner/configure/spec_text.h"
#include "tests/support/check.h"

typedef struct Prepared {
    Arena *arena;
    Sources *sources;
    PlanConfiguration configuration;
    Problem problem;
    int input, output;  // parameters
} Prepared;

/// `body` reads X and stores to Y; `spec` as in a `# tad:` line.
static Prepared *prepare(const char *body, const char *spec) {
    Arena *arena = arena_new();
    Prepared *prepared = ARENA_NEW(arena, Prepared);
    Error error = NULL;
    prepared->arena = arena;
    prepared->sources = sources_new(arena, json_object(arena));
    const char *text = arena_printf(arena,
                                    "import triton\nimport triton.language as tl\n\n@triton.jit\n"
                                    "def k(X, Y, N: tl.constexpr):\n    i = tl.arange(0, N)\n%s",
                                    body);
    const Module *module = sources_module(prepared->sources, "k.py", str_from(text));
    const FunctionDefinition *kernel = module_find_function(module, str_from("k"));
    SpecRequest request = {.module = module, .kernel = kernel};
    prepared->configuration = configuration_open(arena, kernel);
    error = spec_parse(arena, &request, str_from(spec), &prepared->configuration);
    CHECK(error == NULL);
    int count;
    Binding *bindings = configuration_bindings(arena, &prepared->configuration, &count);
    prepared->output = 1;
    prepared->problem = (Problem){
        .configuration = &prepared->configuration,
        .forward = lower_concrete(prepared->sources, kernel, bindings, count, &error),
        .inputs = &prepared->input,
        .input_count = 1,
        .outputs = &prepared->output,
        .output_count = 1,
        .seed = 5,
    };
    if (error) printf("  %s\n", error);
    CHECK(error == NULL);
    return prepared;
}

static void prepared_free(Prepared *prepared) {
    sources_free(prepared->sources);
    arena_free(prepared->arena);
}

static const bool all[] = {true};

/// Both ways along one direction.
static Measured measure(Prepared *prepared) {
    Executor executor = executor_new(prepared->arena, &prepared->problem);
    Perturbation perturbation = {.active = all, .seed = 11};
    Measured measured = {0};
    measured.dual = derivative_by_duals(&executor, perturbation, &measured.error);
    derivative_by_differences(&executor, perturbation, 1e-4, &measured);
    CHECK(measured.error == NULL);
    return measured;
}

TEST(duals_agree_with_differences) {
    static const char *const bodies[] = {
        "    x = tl.load(X + i)\n    tl.store(Y + i, x * x * x)\n",
        "    x = tl.load(X + i)\n    tl.store(Y + i, tl.exp(x) / (2.0 + tl.sum(x * x)))\n",
        "    x = tl.load(X + i)\n    for k in range(3):\n        x = tl.sin(x) * x\n    tl.store(Y + i, x)\n",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        Prepared *prepared = prepare(bodies[i], "X=f32[16], Y=f32[16], N=16, grid=(1,)");
        Measured measured = measure(prepared);
        CHECK(measured.is_smooth);
        CHECK(fabs(measured.dual) > 1e-3);
        CHECK_NEAR(measured.difference, measured.dual, 1e-8);
        Executor executor = executor_new(prepared->arena, &prepared->problem);
        CHECK(!derivative_is_rounding(&executor, all, 11));
        prepared_free(prepared);
    }
}

TEST(one_element_is_its_weight) {
    Prepared *prepared = prepare("    tl.store(Y + i, 3.0 * tl.load(X + i))\n",
                                 "X=f32[16], Y=f32[16], N=16, grid=(1,)");
    Executor executor = executor_new(prepared->arena, &prepared->problem);
    Content weights = upstream_content(&prepared->problem, 1);
    for (int64_t at = 0; at < 16; at += 5) {
        Perturbation perturbation = {.active = all, .is_single = true, .single = at};
        Error error = NULL;
        CHECK_NEAR(derivative_by_duals(&executor, perturbation, &error),
                   3 * upstream_at(&executor, &weights, 1, at), 1e-12);
        CHECK(error == NULL);
    }
    prepared_free(prepared);
}

TEST(what_is_not_finite_is_no_part_of_the_loss) {
    Prepared *prepared = prepare(
        "    x = tl.load(X + i)\n    tl.store(Y + i, tl.where(i == 3, float('inf'), 2.0 * x))\n",
        "X=f32[16], Y=f32[16], N=16, grid=(1,)");
    Executor executor = executor_new(prepared->arena, &prepared->problem);
    Execution forward = execution_forward(&executor, NULL);
    int64_t excluded, written;
    executor_exclude_infinite(&executor, &forward, &excluded, &written);
    CHECK_EQ_INT(excluded, 1);
    CHECK_EQ_INT(written, 16);
    Content weights = upstream_content(&prepared->problem, 1);
    CHECK_NEAR(upstream_at(&executor, &weights, 1, 3), 0, 0);
    CHECK(fabs(upstream_at(&executor, &weights, 1, 4)) > 0);
    Error error = NULL;
    Perturbation perturbation = {.active = all, .seed = 11};
    CHECK(isfinite(derivative_by_duals(&executor, perturbation, &error)));
    execution_free(&forward);
    prepared_free(prepared);
}

TEST(rounding_is_told_from_a_derivative) {
    // each turn doubles what the last digits say: chaos, whose derivative is that of rounding
    Prepared *prepared = prepare("    x = tl.load(X + i)\n    for k in range(60):\n"
                                 "        x = 1.0 - 2.0 * x * x\n    tl.store(Y + i, x)\n",
                                 "X=f32[4], Y=f32[4], N=4, grid=(1,)");
    Executor executor = executor_new(prepared->arena, &prepared->problem);
    CHECK(derivative_is_rounding(&executor, all, 11));
    prepared_free(prepared);
}

TEST(errors_are_relative) {
    CHECK_NEAR(relative_error(200, 201, 0, 0), 1.0 / 201, 1e-15);
    CHECK_NEAR(relative_error(200, 201, 400, 0), 1.0 / 400, 1e-15);
    CHECK_NEAR(relative_error(200, 201, 0, 1), 0, 0);
    CHECK_NEAR(relative_error(200, 202, 0, 1), 1.0 / 202, 1e-15);
    CHECK_NEAR(relative_error(0, 1e-17, 0, 0), 1e-7, 1e-20);
    CHECK(isinf(relative_error(NAN, 1, 0, 0)));
    CHECK(isinf(relative_error(1, INFINITY, 0, 0)));
}

TEST(at_a_kink_duals_alone_settle_nothing) {
    bool kink = false;
    Measured agree = {.dual = 2, .difference = 2, .is_smooth = true};
    CHECK(measured_error(&agree, 2, 0, &kink) < DERIVATIVE_TOLERANCE);
    CHECK_NEAR(measured_error(&agree, 3, 0, &kink), 1.0 / 3, 1e-15);
    Measured duals_wrong = {.dual = 5, .difference = 2, .is_smooth = true};
    CHECK(measured_error(&duals_wrong, 5, 0, &kink) > 0.1);
    CHECK(!kink);
    Measured bent = {.dual = 2, .difference = 1.4, .is_smooth = false};
    CHECK_NEAR(measured_error(&bent, 2, 0, &kink), 0.6 / 2, 1e-15);
    CHECK(kink);
    CHECK_NEAR(measured_error(&bent, 3, 0, &kink), 1.0 / 3, 1e-15);
}

/// The grid of a kernel whose blocks of X have four elements.
static void check_grid(const char *body, int64_t x, int64_t y) {
    Prepared *prepared = prepare(body, "X=f32[64], Y=f32[64], N=4");
    Error error = grid_find(prepared->arena, &prepared->problem, &prepared->configuration);
    CHECK(error == NULL);
    CHECK_EQ_INT(prepared->configuration.grid[0], x);
    CHECK_EQ_INT(prepared->configuration.grid[1], y);
    CHECK_EQ_INT(prepared->configuration.grid[2], 1);
    prepared_free(prepared);
}

TEST(grids_end_where_programs_add_nothing) {
    check_grid("    tl.store(Y + i, tl.load(X + i))\n", 1, 1);
    check_grid("    j = tl.program_id(0) * N + i\n"
               "    tl.store(Y + j, tl.load(X + j, mask=j < 20), mask=j < 20)\n",
               5, 1);
    check_grid("    j = tl.program_id(1) * N + i\n"
               "    tl.store(Y + j, tl.load(X + j, mask=j < 7), mask=j < 7)\n",
               1, 2);
    check_grid("    j = (tl.program_id(0) % 2) * N + i\n    tl.store(Y + j, tl.load(X + j))\n", 2,
               1);
}

TEST(corners_show_how_far_buffers_reach) {
    Prepared *prepared = prepare("    j = (tl.program_id(0) * 4 + tl.program_id(1)) * N + i\n"
                                 "    tl.store(Y + j, tl.load(X + j))\n",
                                 "X=f32[64], Y=f32[64], N=4, grid=(3, 4)");
    Executor executor = executor_new(prepared->arena, &prepared->problem);
    Execution corners = grid_run_corners(&executor);
    CHECK(corners.error == NULL);
    Offsets written = {0};
    memory_touched(prepared->arena, corners.buffers[1], true, &written);
    CHECK_EQ_INT(written.count, 16);  // four of the twelve programs
    CHECK_EQ_INT(written.items[0], 0);
    CHECK_EQ_INT(written.items[15], 47);
    execution_free(&corners);
    prepared_free(prepared);
}

TEST_MAIN(TEST_ROW(duals_agree_with_differences), TEST_ROW(one_element_is_its_weight),
          TEST_ROW(what_is_not_finite_is_no_part_of_the_loss),
          TEST_ROW(rounding_is_told_from_a_derivative), TEST_ROW(errors_are_relative),
          TEST_ROW(at_a_kink_duals_alone_settle_nothing),
          TEST_ROW(grids_end_where_programs_add_nothing),
          TEST_ROW(corners_show_how_far_buffers_reach))
