// The gradient check on hand-written backwards: right ones are proved, each kind of wrong one fails for its reason.
#include "gpu-runner/prove/request.h"

#include "gpu-runner/verdict/gradcheck.h"
#include "tests/support/check.h"

/// Forward: z = x * exp(y) per row of a matrix, w shared by all rows.
static const char forward[] =
    "import triton\nimport triton.language as tl\n\n"
    "@triton.jit\n"
    "def rows(X, W, Z, stride, n, BLOCK: tl.constexpr):\n"
    "    row = tl.program_id(0)\n"
    "    for start in range(0, n, BLOCK):\n"
    "        cols = start + tl.arange(0, BLOCK)\n"
    "        x = tl.load(X + row * stride + cols, mask=cols < n, other=0.0)\n"
    "        w = tl.load(W + cols, mask=cols < n, other=0.0)\n"
    "        tl.store(Z + row * stride + cols, x * tl.exp(w), mask=cols < n)\n\n";

static const char launch[] =
    "[{\"kernel\":\"back\",\"arguments\":{\"X\":{\"same\":\"X\"},\"W\":{\"same\":\"W\"},"
    "\"dZ\":{\"upstream\":\"Z\"},\"dX\":{\"gradient\":\"X\"},\"dW\":{\"gradient\":\"W\"},"
    "\"stride\":{\"same\":\"stride\"},\"n\":{\"same\":\"n\"},\"BLOCK\":{\"same\":\"BLOCK\"}}}]";

typedef struct Checked {
    Arena *arena;
    Json *result;
    Error error;
} Checked;

static Checked check_texts(const char *source, const char *kernel, const char *backward,
                           const char *launches, const char *inputs, const char *outputs,
                           const char *spec) {
    Checked checked = {.arena = arena_new()};
    Arena *arena = checked.arena;
    Error error = NULL;
    Json *params = json_object(arena), *back = json_object(arena),
         *specification = json_object(arena);
    json_set_string(params, "path", "k.py");
    json_set_string(params, "source", source);
    json_set_string(params, "kernel", kernel);
    json_set_string(back, "source", arena_printf(arena, "%s%s", source, backward));
    json_set(back, "launches", json_parse(arena, str_from(launches), &error));
    json_set(params, "backward", back);
    json_set(params, "inputs", json_parse(arena, str_from(inputs), &error));
    json_set(params, "outputs", json_parse(arena, str_from(outputs), &error));
    json_set_string(specification, "text", spec);
    json_set(params, "spec", specification);
    json_set_number(params, "max_seconds", 60);
    checked.result = request_gradcheck(arena, params, NULL, NULL, NULL, &checked.error);
    if (checked.error) printf("  %s\n", checked.error);
    return checked;
}

/// `body` is the backward's inside: x, w, g, cols, mask and row are there.
static Checked check_body(const char *body) {
    Arena *arena = arena_new();
    const char *backward =
        arena_printf(arena,
                     "@triton.jit\n"
                     "def back(X, W, dZ, dX, dW, stride, n, BLOCK: tl.constexpr):\n"
                     "    row = tl.program_id(0)\n"
                     "    for start in range(0, n, BLOCK):\n"
                     "        cols = start + tl.arange(0, BLOCK)\n"
                     "        mask = cols < n\n"
                     "        x = tl.load(X + row * stride + cols, mask=mask, other=0.0)\n"
                     "        w = tl.load(W + cols, mask=mask, other=0.0)\n"
                     "        g = tl.load(dZ + row * stride + cols, mask=mask, other=0.0)\n"
                     "%s",
                     body);
    Checked checked =
        check_texts(forward, "rows", backward, launch, "[\"X\",\"W\"]", "[\"Z\"]", NULL);
    arena_free(arena);
    return checked;
}

#define CHECK_STATUS(checked, expected)                                                  \
    do {                                                                                 \
        const char *status_text = json_get_string((checked).result, "status", "none");   \
        if (strcmp(status_text, expected) != 0)                                          \
            printf("  %s\n", json_print((checked).arena, (checked).result, true));       \
        CHECK_EQ_STR(status_text, expected);                                             \
    } while (0)

#define CHECK_REASON(checked, part)                                                      \
    CHECK(strstr(json_get_string((checked).result, "reason", ""), part) != NULL)

#define RIGHT_X "        tl.store(dX + row * stride + cols, g * tl.exp(w), mask=mask)\n"
#define RIGHT_W "        tl.atomic_add(dW + cols, g * x * tl.exp(w), mask=mask)\n"

TEST(right_is_proved) {
    Checked checked = check_body(RIGHT_X RIGHT_W);
    CHECK_STATUS(checked, "proved");
    CHECK(json_get_number(checked.result, "worst_error", 1) < 1e-9);
    CHECK(json_get_number(checked.result, "dot_test", 1) < 1e-9);
    const Json *configurations = json_get(checked.result, "configurations");
    CHECK(configurations->count >= 2);
    CHECK(strstr(json_get_string(configurations->items[0], "text", ""), "# tad: ") != NULL);
    arena_free(checked.arena);
}

TEST(wrong_factor_fails) {
    Checked checked = check_body(RIGHT_X "        tl.atomic_add(dW + cols, g * x, mask=mask)\n");
    CHECK_STATUS(checked, "failed");
    CHECK_REASON(checked, "gradient of W is wrong");
    const Json *inputs = json_get(checked.result, "inputs");
    CHECK(json_get_number(inputs->items[0], "error", 1) < 1e-9);
    CHECK(json_get_number(inputs->items[1], "error", 0) > 1e-3);
    CHECK(json_get(inputs->items[1], "worst")->kind == JSON_OBJECT);
    arena_free(checked.arena);
}

TEST(a_single_missing_element_is_named) {
    Checked checked = check_body(
        "        tl.store(dX + row * stride + cols, g * tl.exp(w), mask=mask & ((cols != 5) | (row != 1)))\n" RIGHT_W);
    CHECK_STATUS(checked, "failed");
    const Json *worst = json_get(json_get(checked.result, "inputs")->items[0], "worst");
    const Json *index = json_get(worst, "index");
    CHECK(index && index->count == 2);
    if (index && index->count == 2) {
        CHECK_NEAR(index->items[0]->number, 1, 0);
        CHECK_NEAR(index->items[1]->number, 5, 0);
    }
    CHECK_NEAR(json_get_number(worst, "actual", 1), 0, 0);
    arena_free(checked.arena);
}

TEST(a_lost_update_fails) {
    // the first program alone would be right; the others overwrite it
    Checked checked =
        check_body(RIGHT_X "        tl.store(dW + cols, g * x * tl.exp(w), mask=mask)\n");
    CHECK_STATUS(checked, "failed");
    arena_free(checked.arena);
    Checked added =
        check_body(RIGHT_X "        old = tl.load(dW + cols, mask=mask, other=0.0)\n"
                           "        tl.store(dW + cols, old + g * x * tl.exp(w), mask=mask)\n");
    CHECK_STATUS(added, "failed");  // right in sequence, a race on a GPU
    CHECK_REASON(added, "race");
    arena_free(added.arena);
}

TEST(writes_where_nothing_was_read_fail) {
    Checked checked = check_body(
        RIGHT_X RIGHT_W "        tl.store(dX + row * stride + 500 + cols, g, mask=mask)\n");
    CHECK_STATUS(checked, "failed");
    CHECK_REASON(checked, "never touches");
    arena_free(checked.arena);
}

TEST(a_missing_mask_fails) {
    // zeros beyond the last row: right in value, but outside of the tensor
    Checked stored = check_body(
        "        tl.store(dX + row * stride + cols, tl.where(mask, g * tl.exp(w), 0.0))\n" RIGHT_W);
    CHECK_STATUS(stored, "failed");
    CHECK_REASON(stored, "never touches");
    arena_free(stored.arena);
}

TEST(order_dependence_fails) {
    Checked checked = check_body(
        RIGHT_X RIGHT_W
        "        if row == 0:\n            tl.atomic_xchg(dW + cols, 0.0 * g, mask=mask)\n");
    CHECK(strcmp(json_get_string(checked.result, "status", ""), "proved") != 0);
    arena_free(checked.arena);
}

TEST(what_does_not_run_is_unproved) {
    Checked checked =
        check_body("        tl.store(dX + row * stride + cols, g // (row - row), mask=mask)\n");
    CHECK_STATUS(checked, "unproved");
    arena_free(checked.arena);
    Checked missing =
        check_texts(forward, "rows", "", "[{\"kernel\":\"nowhere\",\"arguments\":{}}]", "[\"X\"]",
                    "[\"Z\"]", NULL);
    CHECK_STATUS(missing, "unproved");
    CHECK_REASON(missing, "no kernel `nowhere`");
    arena_free(missing.arena);
}

static const char scalar_forward[] = "import triton\nimport triton.language as tl\n\n"
                                     "@triton.jit\n"
                                     "def scaled(X, Y, scale, n, BLOCK: tl.constexpr):\n"
                                     "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
                                     "    x = tl.load(X + at, mask=at < n, other=0.0)\n"
                                     "    tl.store(Y + at, tl.log(x) * scale, mask=at < n)\n\n";

static const char scalar_backward[] =
    "@triton.jit\n"
    "def back(X, dY, dX, dscale, scale, n, BLOCK: tl.constexpr):\n"
    "    pid = tl.program_id(0)\n"
    "    at = pid * BLOCK + tl.arange(0, BLOCK)\n"
    "    x = tl.load(X + at, mask=at < n, other=1.0)\n"
    "    g = tl.load(dY + at, mask=at < n, other=0.0)\n"
    "    tl.store(dX + at, g * scale / x, mask=at < n)\n"
    "    tl.store(dscale + pid, tl.sum(g * tl.log(x)))\n";

static const char scalar_launch[] =
    "[{\"kernel\":\"back\",\"arguments\":{\"X\":{\"same\":\"X\"},\"dY\":{\"upstream\":\"Y\"},\"dX\":{\"gradient\":\"X\"},"
    "\"dscale\":{\"gradient\":\"scale\"},\"scale\":{\"same\":\"scale\"},\"n\":{\"same\":\"n\"},\"BLOCK\":{\"same\":\"BLOCK\"}}}]";

TEST(scalars_and_positive_inputs) {
    // log of negative numbers is NaN: the check must find inputs for which there is something to compare
    Checked checked = check_texts(scalar_forward, "scaled", scalar_backward, scalar_launch,
                                  "[\"X\",\"scale\"]", "[\"Y\"]", NULL);
    CHECK_STATUS(checked, "proved");
    const Json *inputs = json_get(checked.result, "inputs");
    CHECK(json_get_number(inputs->items[1], "directions", 0) > 0);
    arena_free(checked.arena);
}

TEST(the_comment_decides) {
    Checked checked = check_texts(
        scalar_forward, "scaled", scalar_backward, scalar_launch, "[\"X\"]", "[\"Y\"]",
        "# tad: n=11, BLOCK=4, X=f32[n] in uniform(1, 2), Y=f32[n], scale=3.5, grid=cdiv(n, BLOCK)");
    CHECK_STATUS(checked, "proved");
    const Json *configuration = json_get(checked.result, "configurations")->items[0];
    CHECK_EQ_STR(json_get_string(configuration, "source", ""), "comment");
    CHECK(strstr(json_get_string(configuration, "text", ""), "grid=(3, 1, 1)") != NULL);
    arena_free(checked.arena);
    Checked broken = check_texts(scalar_forward, "scaled", scalar_backward, scalar_launch,
                                 "[\"X\"]", "[\"Y\"]", "# tad: n=wrong(");
    CHECK_STATUS(broken, "unproved");
    arena_free(broken.arena);
}

TEST(kinks_are_left_to_the_duals) {
    static const char relu[] = "import triton\nimport triton.language as tl\n\n"
                               "@triton.jit\n"
                               "def relu(X, Y, BLOCK: tl.constexpr):\n"
                               "    at = tl.arange(0, BLOCK)\n"
                               "    x = tl.load(X + at)\n"
                               "    tl.store(Y + at, tl.where(x > 0.0, x, 0.0))\n\n";
    static const char back[] = "@triton.jit\n"
                               "def back(X, dY, dX, BLOCK: tl.constexpr):\n"
                               "    at = tl.arange(0, BLOCK)\n"
                               "    x = tl.load(X + at)\n"
                               "    g = tl.load(dY + at)\n"
                               "    tl.store(dX + at, tl.where(x > 0.0, g, 0.0))\n";
    static const char launches[] =
        "[{\"kernel\":\"back\",\"arguments\":{\"X\":{\"same\":\"X\"},\"dY\":{\"upstream\":\"Y\"},\"dX\":{\"gradient\":\"X\"},"
        "\"BLOCK\":{\"same\":\"BLOCK\"}}}]";
    Checked checked = check_texts(
        relu, "relu", back, launches, "[\"X\"]", "[\"Y\"]",
        "# tad: BLOCK=16, X=f32[16] in (0.00001, -0.00002, 0.5, -0.5, 0.00003, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -2), Y=f32[16], grid=(1,)");
    CHECK_STATUS(checked, "proved");
    CHECK(json_get_bool(checked.result, "kink", false));
    arena_free(checked.arena);
}

static Json *texts_of(Arena *arena, const char *source) {
    Json *params = json_object(arena);
    json_set_string(params, "path", "k.py");
    json_set_string(params, "source", source);
    json_set_string(params, "kernel", "rows");
    return params;
}

static const Function *rows_lowered(Sources *sources, const Json *params, Constant lanes) {
    Arena *arena = sources->arena;
    Error error = NULL;
    const FunctionDefinition *kernel = sources_kernel(sources, params, &error);
    const Constant *constant = constant_new(arena, lanes);
    const Binding bindings[] = {{.name = str_from("BLOCK"), .constant = constant}};
    const Function *function = lower_concrete(sources, kernel, bindings, 1, &error);
    CHECK_EQ_STR(error ? error : "", "");
    return function;
}

TEST(a_request_of_the_same_texts_lowers_nothing_again) {
    Arena *arena = arena_new();
    Json *params = texts_of(arena, forward);
    Sources *sources = sources_borrow(params);
    const Function *eight = rows_lowered(sources, params, constant_of_int(8)),
                   *one = rows_lowered(sources, params, constant_of_int(1));
    CHECK(eight != one);
    CHECK(one != rows_lowered(sources, params, constant_of_bool(true)));
    sources_return(sources);
    json_set_number(params, "seed", 4);
    sources = sources_borrow(params);
    CHECK(rows_lowered(sources, params, constant_of_int(8)) == eight);
    sources_return(sources);
    Json *others = texts_of(arena, arena_printf(arena, "%s# another text\n", forward));
    sources = sources_borrow(others);
    CHECK_EQ_STR(
        str_dup(arena, rows_lowered(sources, others, constant_of_int(8))->definition->name),
        "rows");
    CHECK_EQ_INT(sources->built.count, 1);
    CHECK_EQ_INT((int)sources->built.items[0]->source->text.size, (int)sizeof forward - 1 + 15);
    Sources *lent = sources_borrow(others);  // the request before did not get to its end
    CHECK_EQ_INT(lent->built.count, 0);
    sources_return(lent);
    arena_free(arena);
}

TEST(requests_after_each_other_are_judged_by_their_own_texts) {
    const char *right = RIGHT_X RIGHT_W,
               *wrong = RIGHT_X "        tl.atomic_add(dW + cols, g * x, mask=mask)\n";
    for (int turn = 0; turn < 4; turn++) {
        Checked checked = check_body(turn % 2 ? wrong : right);
        CHECK_STATUS(checked, turn % 2 ? "failed" : "proved");
        arena_free(checked.arena);
    }
}

TEST_MAIN(TEST_ROW(a_request_of_the_same_texts_lowers_nothing_again),
          TEST_ROW(requests_after_each_other_are_judged_by_their_own_texts),
          TEST_ROW(right_is_proved), TEST_ROW(wrong_factor_fails),
          TEST_ROW(a_single_missing_element_is_named), TEST_ROW(a_lost_update_fails),
          TEST_ROW(writes_where_nothing_was_read_fail), TEST_ROW(order_dependence_fails),
          TEST_ROW(a_missing_mask_fails), TEST_ROW(what_does_not_run_is_unproved),
          TEST_ROW(scalars_and_positive_inputs), TEST_ROW(the_comment_decides),
          TEST_ROW(kinks_are_left_to_the_duals))
