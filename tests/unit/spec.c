// Launch specifications: the text of a `# tad:` line, and what is guessed from a kernel alone.
#include "gpu-runner/configure/spec.h"

#include "gpu-runner/configure/spec_guess.h"
#include "gpu-runner/configure/spec_text.h"
#include "gpu-runner/prove/request.h"
#include "tests/support/check.h"

typedef struct Fixture {
    Arena *arena;
    Sources *sources;
    SpecRequest request;
    Error error;
} Fixture;

static Fixture fixture_new(const char *body, const char *kernel) {
    Fixture fixture = {.arena = arena_new()};
    Arena *arena = fixture.arena;
    const char *text =
        arena_printf(arena, "import triton\nimport triton.language as tl\n\n%s", body);
    fixture.sources = sources_new(arena, json_object(arena));
    Module *module = sources_module(fixture.sources, "k.py", str_from(text));
    fixture.request.module = module;
    fixture.request.kernel = module_find_function(module, str_from(kernel));
    LowerOptions options = {0};
    Diagnostics diagnostics = {.arena = arena};
    fixture.request.symbolic = lower_kernel(arena, fixture.request.kernel, &options, &diagnostics);
    return fixture;
}

static void fixture_free(Fixture *fixture) {
    sources_free(fixture->sources);
    arena_free(fixture->arena);
}

static const PlanArgument *argument(const PlanConfiguration *configuration, const char *name) {
    static const PlanArgument none;
    for (int i = 0; i < configuration->argument_count; i++)
        if (str_is(configuration->arguments[i].name, name)) return &configuration->arguments[i];
    CHECK_EQ_STR(name, "an argument of the configuration");
    return &none;
}

static int64_t integer_of(const PlanConfiguration *configuration, const char *name) {
    const PlanArgument *found = argument(configuration, name);
    return found->kind == ARGUMENT_CONSTANT ? found->constant->integer : found->integer;
}

static const char copy[] =
    "@triton.jit\n"
    "def copy(X, I, n, scale: tl.constexpr, MODE: tl.constexpr, DT: tl.constexpr, BLOCK: tl.constexpr):\n"
    "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    tl.store(X + at, tl.load(I + at, mask=at < n).to(DT) * scale, mask=at < n)\n";

static PlanConfiguration parse(Fixture *fixture, const char *text) {
    PlanConfiguration configuration = configuration_open(fixture->arena, fixture->request.kernel);
    fixture->error = spec_parse(fixture->arena, &fixture->request, str_from(text), &configuration);
    return configuration;
}

TEST(values_of_every_kind) {
    Fixture fixture = fixture_new(copy, "copy");
    PlanConfiguration parsed = parse(
        &fixture, "BLOCK=2**4, rows=3, n=rows * BLOCK - 1, X=f32[rows, n] strides (n + 5, 1), "
                  "I=i64[n] in range(2, 7), scale=-0.5, MODE='a, b', DT=tl.float16, "
                  "grid=(cdiv(n, BLOCK), max(1, 2))");
    CHECK_EQ_STR(fixture.error, NULL);
    CHECK_EQ_INT(integer_of(&parsed, "n"), 47);
    CHECK_EQ_INT(integer_of(&parsed, "BLOCK"), 16);
    const PlanArgument *x = argument(&parsed, "X"), *indices = argument(&parsed, "I");
    CHECK_EQ_INT(x->rank, 2);
    CHECK_EQ_INT(x->strides[0], 52);
    CHECK_EQ_INT(x->extent, 2 * 52 + 46 + 1);
    CHECK_EQ_INT(indices->dtype, DTYPE_INT64);
    CHECK_EQ_INT(indices->content.kind, CONTENT_SMALL);
    CHECK_NEAR(indices->content.high, 7, 0);
    CHECK_NEAR(argument(&parsed, "scale")->constant->number, -0.5, 0);
    CHECK_EQ_TEXT(argument(&parsed, "MODE")->constant->string, "a, b");
    CHECK_EQ_INT(argument(&parsed, "DT")->constant->dtype.code, DTYPE_FLOAT16);
    CHECK(parsed.grid_is_known);
    CHECK_EQ_INT(parsed.grid[0], 3);
    CHECK_EQ_INT(parsed.grid[1], 2);
    CHECK_EQ_INT(parsed.grid[2], 1);
    fixture_free(&fixture);
}

TEST(names_may_come_later) {
    Fixture fixture = fixture_new(copy, "copy");
    PlanConfiguration parsed =
        parse(&fixture, "grid=(cdiv(n, BLOCK) * 2 - 5), X=f32[n], n=33, BLOCK=8");
    CHECK_EQ_STR(fixture.error, NULL);
    CHECK_EQ_INT(parsed.grid[0], 5);
    CHECK_EQ_INT(argument(&parsed, "X")->extent, 33);
    fixture_free(&fixture);
}

TEST(mistakes_are_explained) {
    static const char *const wrong[][2] = {
        {"n", "NAME=value"},
        {"n=", "value is expected"},
        {"n=m + 1", "`m` is not known"},
        {"n=1/0", "division by zero"},
        {"n=(1, 2)", "a tuple"},
        {"X=f32[3", "expected"},
        {"n=3 4", "left over"},
        {"grid=()", "grid"},
        {"MODE=\"x", "closing"},
        {"X=f32[2] in nowhere", "in"},
        {"n=foo(3)", "not known"},
        {"X=f32[2] strides (1, 2)", "strides"},
    };
    Fixture fixture = fixture_new(copy, "copy");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        parse(&fixture, wrong[i][0]);
        CHECK(fixture.error != NULL);
        if (!fixture.error || !strstr(fixture.error, wrong[i][1]))
            printf("  %s: %s\n", wrong[i][0], fixture.error ? fixture.error : "accepted");
        CHECK(fixture.error && strstr(fixture.error, wrong[i][1]));
    }
    Buffer deep = buffer_new(fixture.arena);
    buffer_puts(&deep, "n=");
    for (int i = 0; i < 20000; i++) buffer_putc(&deep, '(');
    parse(&fixture, buffer_text(&deep));
    CHECK(fixture.error != NULL);
    fixture_free(&fixture);
}

TEST(printed_configurations_parse_back) {
    Fixture fixture = fixture_new(copy, "copy");
    Error error = NULL;
    fixture.request.seed = 5;
    Configurations all = spec_configurations(fixture.arena, &fixture.request, &error);
    CHECK_EQ_STR(error, NULL);
    CHECK(all.count > 0);
    for (int i = 0; i < all.count; i++) {
        const char *text = configuration_print(fixture.arena, &all.items[i]);
        PlanConfiguration again = parse(&fixture, text + strlen("# tad: "));
        CHECK_EQ_STR(fixture.error, NULL);
        CHECK_EQ_STR(configuration_print(fixture.arena, &again), text);
    }
    fixture_free(&fixture);
}

static const char matmul[] =
    "@triton.jit\n"
    "def matmul(A, B, C, bias, M, N, K, sam, sak, sbk, sbn, scm, scn, ACT: tl.constexpr,\n"
    "           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):\n"
    "    rm = tl.program_id(0) * BM + tl.arange(0, BM)\n"
    "    rn = tl.program_id(1) * BN + tl.arange(0, BN)\n"
    "    rk = tl.arange(0, BK)\n"
    "    a = A + rm[:, None] * sam + rk[None, :] * sak\n"
    "    b = B + rk[:, None] * sbk + rn[None, :] * sbn\n"
    "    acc = tl.zeros((BM, BN), dtype=tl.float32)\n"
    "    for k in range(0, tl.cdiv(K, BK)):\n"
    "        x = tl.load(a, mask=(rm[:, None] < M) & (rk[None, :] < K - k * BK), other=0.0)\n"
    "        y = tl.load(b, mask=(rk[:, None] < K - k * BK) & (rn[None, :] < N), other=0.0)\n"
    "        acc += tl.dot(x, y)\n"
    "        a += BK * sak\n"
    "        b += BK * sbk\n"
    "    if bias is not None:\n"
    "        acc += tl.load(bias + rn, mask=rn < N)[None, :]\n"
    "    if ACT == 'relu':\n"
    "        acc = tl.maximum(acc, 0.0)\n"
    "    tl.store(C + rm[:, None] * scm + rn[None, :] * scn, acc, mask=(rm[:, None] < M) & (rn[None, :] < N))\n";

static Configurations guess(Fixture *fixture) {
    Error error = NULL;
    PlanConfiguration open = configuration_open(fixture->arena, fixture->request.kernel);
    open.origin = SPEC_KERNEL;
    Configurations all = spec_guess(fixture->arena, &fixture->request, &open, &error);
    CHECK_EQ_STR(error, NULL);
    CHECK(all.count > 0);
    return all;
}

TEST(sizes_bite) {
    Fixture fixture = fixture_new(matmul, "matmul");
    Configurations all = guess(&fixture);
    bool with_bias = false, without_bias = false, relu = false, other = false;
    bool transposed = false, single = false, empty = false;
    for (int i = 0; i < all.count; i++) {
        const PlanConfiguration *one = &all.items[i];
        if (one->is_extra) {
            transposed = transposed || integer_of(one, "sam") < integer_of(one, "sak");
            single = single ||
                     (integer_of(one, "K") > 0 && integer_of(one, "K") <= integer_of(one, "BK"));
            empty = empty || (one->is_empty && integer_of(one, "K") == 0);
        }
        if (one->is_fallback || one->is_extra) continue;
        const char *const blocks[] = {"BM", "BN", "BK"}, *const sizes[] = {"M", "N", "K"};
        for (int k = 0; k < 3; k++) {
            int64_t block = integer_of(one, blocks[k]), size = integer_of(one, sizes[k]);
            CHECK(block >= 16 && (block & (block - 1)) == 0);
            CHECK(size > block && size % block != 0);
        }
        CHECK(integer_of(one, "sam") > 100 * integer_of(one, "sak"));
        CHECK(integer_of(one, "sam") * 200 < INT64_C(1) << 46);
        bool present = argument(one, "bias")->kind == ARGUMENT_POINTER;
        with_bias = with_bias || present;
        without_bias = without_bias || !present;
        bool is_relu = str_is(argument(one, "ACT")->constant->string, "relu");
        relu = relu || is_relu;
        other = other || !is_relu;
    }
    CHECK(transposed && single && empty);
    CHECK(with_bias && without_bias && relu && other);
    fixture_free(&fixture);
}

TEST(rows_fit_their_block) {
    Fixture fixture = fixture_new(
        "@triton.jit\n"
        "def rows(X, Y, L, stride, n, ignore, BLOCK: tl.constexpr):\n"
        "    row = tl.program_id(0)\n"
        "    cols = tl.arange(0, BLOCK)\n"
        "    label = tl.load(L + row)\n"
        "    if label == ignore:\n"
        "        return\n"
        "    x = tl.load(X + row * stride + cols, mask=cols < n, other=0.0)\n"
        "    tl.store(Y + row * stride + cols, tl.where(cols == label, x, 0.0), mask=cols < n)\n",
        "rows");
    Configurations all = guess(&fixture);
    const PlanConfiguration *first = &all.items[0];
    CHECK(integer_of(first, "n") < integer_of(first, "BLOCK"));
    CHECK(integer_of(first, "stride") > integer_of(first, "BLOCK"));
    CHECK_EQ_INT(argument(first, "L")->dtype, DTYPE_INT32);
    CHECK_EQ_INT(argument(first, "L")->content.kind, CONTENT_SMALL);
    CHECK_EQ_INT(argument(first, "X")->dtype, DTYPE_FLOAT32);
    fixture_free(&fixture);
}

/// `rows` says how many strides there are between ranks: with no more than a made-up grid has programs, ranks would lie in
/// each other.
TEST(what_multiplies_strides_exceeds_the_grid) {
    Fixture fixture = fixture_new("@triton.jit\n"
                                  "def add_ranks(X, stride, Y, rows, ranks):\n"
                                  "    at = X + tl.program_id(0) * stride\n"
                                  "    total = tl.load(at)\n"
                                  "    for rank in range(1, ranks):\n"
                                  "        total += tl.load(at + rank * rows * stride)\n"
                                  "    tl.store(Y + tl.program_id(0), total)\n",
                                  "add_ranks");
    Configurations all = guess(&fixture);
    for (int i = 0; i < all.count; i++) {
        const PlanConfiguration *one = &all.items[i];
        if (!one->is_fallback) CHECK(integer_of(one, "rows") > 32);
    }
    fixture_free(&fixture);
}

TEST_MAIN(TEST_ROW(values_of_every_kind), TEST_ROW(names_may_come_later),
          TEST_ROW(mistakes_are_explained), TEST_ROW(printed_configurations_parse_back),
          TEST_ROW(sizes_bite), TEST_ROW(rows_fit_their_block),
          TEST_ROW(what_multiplies_strides_exceeds_the_grid))
