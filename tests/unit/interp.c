// The interpreter on kernels written in Triton: text in, buffers out, through the runner's `run` request.
#include "gpu-runner/prove/request.h"

#include "gpu-runner/run.h"
#include "tests/support/check.h"

/// One kernel run; `arguments` is JSON. The first failure is in `error`.
typedef struct Ran {
    Arena *arena;
    Json *result;
    Error error;
} Ran;

static Ran run_with(const char *body, const char *arguments, const char *grid, const char *more) {
    Ran ran = {.arena = arena_new()};
    Json *params = json_parse(
        ran.arena,
        str_from(arena_printf(ran.arena,
                              "{\"path\":\"k.py\",\"kernel\":\"k\",\"arguments\":%s,\"grid\":%s%s}",
                              arguments, grid, more)),
        &ran.error);
    if (!params) return ran;
    const char *source =
        arena_printf(ran.arena, "import triton\nimport triton.language as tl\n\n%s", body);
    json_set_string(params, "source", source);
    ran.result = request_run(ran.arena, params, NULL, &ran.error);
    return ran;
}

static Ran run(const char *body, const char *arguments) {
    return run_with(body, arguments, "[1]", "");
}

/// The buffer `name` after the run must hold `count` numbers.
static void check_buffer(const Ran *ran, const char *name, const double *expected, int count) {
    if (ran->error) printf("  %s\n", ran->error);
    CHECK(ran->error == NULL);
    const Json *buffer = json_get(json_get(ran->result, "buffers"), name);
    CHECK(buffer && buffer->count >= count);
    for (int i = 0; buffer && i < count && i < buffer->count; i++)
        CHECK_NEAR(buffer->items[i]->number, expected[i], 1e-12);
}

#define CHECK_BUFFER(ran, name, ...)                                                     \
    do {                                                                                 \
        const double expected_numbers[] = {__VA_ARGS__};                                 \
        check_buffer(&(ran), name, expected_numbers,                                     \
                     (int)(sizeof expected_numbers / sizeof *expected_numbers));         \
        arena_free((ran).arena);                                                         \
    } while (0)

#define HEAD "@triton.jit\ndef k(X, Y, N: tl.constexpr):\n    i = tl.arange(0, N)\n    x = tl.load(X + i)\n"
#define LIBDEVICE "from triton.language.extra import libdevice\n\n"
#define FOUR "{\"X\":{\"data\":[3,-7,2,5]},\"Y\":{\"data\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]},\"N\":4}"
#define WHOLE "{\"X\":{\"data\":[3,-7,2,5],\"dtype\":\"int32\"},\"Y\":{\"data\":[0,0,0,0,0,0,0,0],\"dtype\":\"int32\"},\"N\":4}"

TEST(elementwise_and_broadcasting) {
    Ran outer = run(HEAD "    p = x[:, None] * x[None, :]\n"
                         "    tl.store(Y + i[:, None] * N + i[None, :], p)\n",
                    FOUR);
    CHECK_BUFFER(outer, "Y", 9, -21, 6, 15, -21, 49, -14, -35, 6, -14, 4, 10, 15, -35, 10, 25);
    Ran where = run(
        HEAD "    tl.store(Y + i, tl.where(x > 2, tl.abs(x), -1.0) + tl.maximum(x, 0.0))\n", FOUR);
    CHECK_BUFFER(where, "Y", 6, -1, 1, 10);
    Ran clamp = run(HEAD "    tl.store(Y + i, tl.clamp(x, -1.0, 4.0))\n", FOUR);
    CHECK_BUFFER(clamp, "Y", 3, -1, 2, 4);
}

TEST(integers_behave_as_in_c) {
    Ran division = run(HEAD "    tl.store(Y + i, x // 2)\n    tl.store(Y + N + i, x % 4)\n", WHOLE);
    CHECK_BUFFER(division, "Y", 1, -3, 1, 2, 3, -3, 2, 1);
    Ran constants = run(HEAD "    tl.store(Y + i, x * 0 + (-7 // 2))\n", WHOLE);
    CHECK_BUFFER(constants, "Y", -4, -4, -4, -4);
    Ran wraps = run(HEAD "    tl.store(Y + i, x * 1000000007)\n", WHOLE);
    CHECK_BUFFER(wraps, "Y", -1294967275, 1589934543, 2000000014, 705032739);
    Ran bits =
        run(HEAD "    tl.store(Y + i, (x & 6) | 1)\n    tl.store(Y + N + i, (x << 3) ^ (x >> 1))\n",
            WHOLE);
    CHECK_BUFFER(bits, "Y", 3, 1, 3, 5, 25, 52, 17, 42);
    Ran zero = run(HEAD "    tl.store(Y + i, x // (x - 3))\n", WHOLE);
    CHECK(zero.error && strstr(zero.error, "division by zero"));
    arena_free(zero.arena);
}

TEST(functions_of_bits) {
    // 3, -7, 2, 5
    Ran counts = run(LIBDEVICE HEAD "    tl.store(Y + i, libdevice.popc(x))\n"
                                    "    tl.store(Y + N + i, libdevice.ffs(x))\n",
                     WHOLE);
    CHECK_BUFFER(counts, "Y", 2, 30, 1, 2, 1, 1, 2, 1);
    Ran places = run(LIBDEVICE HEAD "    tl.store(Y + i, libdevice.clz(x))\n"
                                    "    tl.store(Y + N + i, libdevice.mul24(x, x))\n",
                     WHOLE);
    CHECK_BUFFER(places, "Y", 30, 0, 30, 29, 9, 49, 4, 25);
}

TEST(reductions) {
    Ran sums = run(HEAD "    tl.store(Y, tl.sum(x))\n    tl.store(Y + 1, tl.max(x, axis=0))\n"
                        "    tl.store(Y + 2, tl.min(x, 0))\n    tl.store(Y + 3, tl.argmax(x, 0))\n",
                   FOUR);
    CHECK_BUFFER(sums, "Y", 3, 5, -7, 3);
    Ran axes =
        run(HEAD "    m = x[:, None] - x[None, :] * 2\n    tl.store(Y + i, tl.sum(m, axis=1))\n"
                 "    tl.store(Y + N + i, tl.sum(m, axis=-2))\n"
                 "    tl.store(Y + 2 * N + i[:, None], tl.max(m, 1, keep_dims=True))\n",
            FOUR);
    CHECK_BUFFER(axes, "Y", 6, -34, 2, 14, -21, 59, -13, -37, 17, 7, 16, 19);
    Ran pairs = run(
        HEAD
        "    v, at = tl.max(x, 0, return_indices=True)\n    tl.store(Y, v)\n    tl.store(Y + 1, at)\n",
        FOUR);
    CHECK_BUFFER(pairs, "Y", 5, 3);
}

TEST(integers_are_reduced_in_32_bits_or_their_own) {
    Ran wide = run("@triton.jit\ndef k(X, Y, N: tl.constexpr):\n"
                   "    x = tl.load(X + tl.arange(0, N))\n    tl.store(Y, tl.sum(x.to(tl.int8)))\n"
                   "    tl.store(Y + 1, tl.sum(x.to(tl.uint8)))\n",
                   "{\"X\":{\"data\":[100,100,100,-1],\"dtype\":\"int32\"},"
                   "\"Y\":{\"data\":[0,0],\"dtype\":\"int32\"},\"N\":4}");
    CHECK_BUFFER(wide, "Y", 299, 555);
    Ran wider = run("@triton.jit\ndef k(X, Y, N: tl.constexpr):\n"
                    "    x = tl.load(X + tl.arange(0, N))\n    tl.store(Y, tl.sum(x))\n",
                    "{\"X\":{\"data\":[3000000000,3000000000],\"dtype\":\"int64\"},"
                    "\"Y\":{\"data\":[0],\"dtype\":\"int64\"},\"N\":2}");
    CHECK_BUFFER(wider, "Y", 6000000000);
}

TEST(custom_reductions_and_scans) {
    Ran reduced = run("@triton.jit\ndef mul(a, b):\n    return a * b\n\n" HEAD
                      "    tl.store(Y, tl.reduce(x, 0, mul))\n",
                      FOUR);
    CHECK_BUFFER(reduced, "Y", -210);
    Ran cumulative = run(
        HEAD
        "    tl.store(Y + i, tl.cumsum(x, 0))\n    tl.store(Y + N + i, tl.cumsum(x, 0, reverse=True))\n"
        "    tl.store(Y + 2 * N + i, tl.cumprod(x, 0))\n",
        FOUR);
    CHECK_BUFFER(cumulative, "Y", 3, -4, -2, 3, 3, 0, 7, 5, 3, -21, -42, -210);
    Ran linear =
        run("@triton.jit\ndef step(a1, b1, a2, b2):\n    return a1 * a2, b1 * a2 + b2\n\n" HEAD
            "    a, h = tl.associative_scan((x * 0 + 2.0, x), 0, step)\n    tl.store(Y + i, h)\n",
            FOUR);
    CHECK_BUFFER(linear, "Y", 3, -1, 0, 5);
}

TEST(matrix_products) {
    Ran square = run(
        "@triton.jit\ndef k(X, Y, N: tl.constexpr):\n    i = tl.arange(0, N)\n"
        "    a = tl.load(X + i[:, None] * N + i[None, :])\n    acc = tl.full([N, N], 1.0, tl.float32)\n"
        "    tl.store(Y + i[:, None] * N + i[None, :], tl.dot(a, tl.trans(a), acc))\n",
        "{\"X\":{\"data\":[1,2,3,4]},\"Y\":{\"data\":[0,0,0,0]},\"N\":2}");
    CHECK_BUFFER(square, "Y", 6, 12, 12, 26);
}

TEST(movement) {
    Ran shapes = run(
        HEAD
        "    a = tl.reshape(x, [2, 2])\n    tl.store(Y + i, tl.reshape(tl.trans(a), [4]))\n"
        "    lo, hi = tl.split(a)\n    j = tl.join(hi, lo)\n    tl.store(Y + N + i, tl.reshape(j, [4]))\n"
        "    tl.store(Y + 2 * N + i, tl.flip(x))\n"
        "    tl.store(Y + 3 * N + i, tl.interleave(lo, hi))\n",
        FOUR);
    CHECK_BUFFER(shapes, "Y", 3, 2, -7, 5, -7, 3, 5, 2, 5, 2, -7, 3, 3, -7, 2, 5);
    Ran sorted = run(
        HEAD
        "    tl.store(Y + i, tl.sort(x))\n    tl.store(Y + N + i, tl.sort(x, descending=True))\n"
        "    tl.store(Y + 2 * N + i, tl.gather(x, 3 - i, 0))\n",
        FOUR);
    CHECK_BUFFER(sorted, "Y", -7, 2, 3, 5, 5, 3, 2, -7, 5, 2, -7, 3);
    Ran rows =
        run("@triton.jit\ndef k(X, Y, N: tl.constexpr):\n"
            "    at = tl.arange(0, 2)[:, None] * N + tl.arange(0, N)[None, :]\n"
            "    x = tl.load(X + at)\n    tl.store(Y + at, tl.sort(x))\n"
            "    two = tl.arange(0, 2)[:, None] * 2 + tl.arange(0, 2)[None, :]\n"
            "    tl.store(Y + 2 * N + two, tl.topk(x, 2))\n",
            "{\"X\":{\"data\":[3,-7,2,5,1,9,4,0]},\"Y\":{\"data\":[0,0,0,0,0,0,0,0,0,0,0,0]},"
            "\"N\":4}");
    CHECK_BUFFER(rows, "Y", -7, 2, 3, 5, 0, 1, 4, 9, 5, 3, 9, 4);
    Ran counts = run(HEAD "    tl.store(Y + i, tl.histogram(x & 3, 4))\n", WHOLE);
    CHECK_BUFFER(counts, "Y", 0, 2, 1, 1);
}

TEST(control_flow) {
    Ran loops = run(
        "@triton.jit\ndef k(X, Y, n, N: tl.constexpr):\n    acc = 0.0\n    for j in range(0, n, 2):\n"
        "        if j == 2:\n            acc += 10.0\n        else:\n            acc += tl.load(X + j)\n"
        "    s = 1\n    while s * 3 < n * 100:\n        s = s * 3\n    tl.store(Y, acc)\n    tl.store(Y + 1, s)\n"
        "    if n > 3:\n        return\n    tl.store(Y + 2, 5.0)\n",
        "{\"X\":{\"data\":[3,-7,2,5]},\"Y\":{\"data\":[0,0,0,0]},\"n\":{\"int\":4},\"N\":4}");
    CHECK_BUFFER(loops, "Y", 13, 243, 0);
    Ran grid = run_with(
        "@triton.jit\ndef k(Y):\n    p = tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)\n"
        "    tl.store(Y + p, p * 1.5)\n",
        "{\"Y\":{\"data\":[0,0,0,0,0,0]}}", "[3, 2]", "");
    CHECK_BUFFER(grid, "Y", 0, 1.5, 3, 4.5, 6, 7.5);
}

TEST(masks_and_blocks) {
    Ran masked = run(
        HEAD "    y = tl.load(X + i, mask=i < 2, other=9.0)\n    tl.store(Y + i, y, mask=i > 0)\n",
        FOUR);
    CHECK_BUFFER(masked, "Y", 0, -7, 9, 9);
    Ran block = run(
        "@triton.jit\ndef k(X, Y, N: tl.constexpr):\n"
        "    p = tl.make_block_ptr(X, (3,), (1,), (0,), (2,), (0,))\n    p = tl.advance(p, (2,))\n"
        "    q = tl.make_block_ptr(Y, (4,), (1,), (1,), (2,), (0,))\n"
        "    tl.store(q, tl.load(p, boundary_check=(0,), padding_option=\"zero\") + 1.0)\n",
        FOUR);
    CHECK_BUFFER(block, "Y", 0, 3, 1, 0);
    Ran descriptor = run("@triton.jit\ndef k(X, Y, N: tl.constexpr):\n"
                         "    d = tl.make_tensor_descriptor(X, [2, 2], [2, 1], [2, 2])\n"
                         "    e = tl.make_tensor_descriptor(Y, [2, 2], [2, 1], [2, 2])\n"
                         "    e.store([0, 0], d.load([1, 0]))\n",
                         FOUR);
    CHECK_BUFFER(descriptor, "Y", 2, 5, 0, 0);
}

TEST(atomics) {
    Ran sums = run_with(
        "@triton.jit\ndef k(X, Y):\n    p = tl.program_id(0)\n    x = tl.load(X + p)\n"
        "    old = tl.atomic_add(Y, x)\n    tl.atomic_max(Y + 1, x)\n    tl.store(Y + 2 + p, old)\n",
        "{\"X\":{\"data\":[3,-7,2]},\"Y\":{\"data\":[0,0,0,0,0]}}", "[3]", "");
    CHECK_BUFFER(sums, "Y", -2, 3, 0, 3, -4);
    Ran swap =
        run("@triton.jit\ndef k(X, Y, N: tl.constexpr):\n    a = tl.atomic_cas(Y, 0, 5)\n"
            "    b = tl.atomic_cas(Y, 0, 6)\n    tl.store(Y + 1, a)\n    tl.store(Y + 2, b)\n",
            WHOLE);
    CHECK_BUFFER(swap, "Y", 5, 0, 5);
}

TEST(own_types_round) {
    const char *half = "{\"X\":{\"data\":[1.0009765625,65000,2,5],\"dtype\":\"fp16\"},"
                       "\"Y\":{\"data\":[0,0,0,0]},\"N\":4}";
    Ran exact = run_with(HEAD "    tl.store(Y + i, x * x)\n", half, "[1]", "");
    CHECK_BUFFER(exact, "Y", 1.0009765625 * 1.0009765625, 65000.0 * 65000.0, 4, 25);
    Ran rounded = run_with(HEAD "    tl.store(Y + i, x * 1.0009765625)\n", half, "[1]",
                           ",\"own_types\":true");
    CHECK_BUFFER(rounded, "Y", 1.001953125, 65056, 2.001953125, 5.00390625);
}

TEST(random_numbers_are_tritons) {
    // philox_4x32(0, 0, 0, 0; key 0) begins with 0x6627e8d5, as a float 1713891541 * 4.6566127342e-10
    Ran uniform = run(HEAD "    tl.store(Y + i, tl.rand(0, i))\n", FOUR);
    const Json *numbers = json_get(json_get(uniform.result, "buffers"), "Y");
    CHECK(numbers != NULL);
    if (numbers) CHECK_NEAR(numbers->items[0]->number, 0.79809, 1e-5);
    for (int i = 0; numbers && i < 4; i++)
        CHECK(numbers->items[i]->number >= 0 && numbers->items[i]->number < 1);
    arena_free(uniform.arena);
}

static bool has_finding(const Ran *ran, const char *kind) {
    const Json *findings = json_get(ran->result, "findings");
    for (int i = 0; findings && i < findings->count; i++)
        if (strcmp(json_get_string(findings->items[i], "kind", ""), kind) == 0) return true;
    return false;
}

TEST(findings) {
    Ran outside = run(HEAD "    tl.store(Y + i * 8, x)\n", FOUR);
    CHECK(has_finding(&outside, "out-of-bounds"));
    arena_free(outside.arena);
    Ran poison = run(HEAD "    y = tl.load(X + i, mask=i < 2)\n    tl.store(Y + i, y + 1)\n", FOUR);
    CHECK(has_finding(&poison, "undefined-value"));
    arena_free(poison.arena);
    Ran clean = run(
        HEAD "    y = tl.load(X + i, mask=i < 2)\n    tl.store(Y + i, tl.where(i < 2, y, 0.0))\n",
        FOUR);
    CHECK(clean.error == NULL && !has_finding(&clean, "undefined-value"));
    arena_free(clean.arena);
    Ran race = run_with("@triton.jit\ndef k(Y):\n    tl.store(Y, tl.program_id(0) * 1.0)\n",
                        "{\"Y\":{\"data\":[0]}}", "[2]", "");
    CHECK(has_finding(&race, "race"));
    arena_free(race.arena);
}

TEST(what_does_not_end_is_stopped) {
    Ran endless = run_with(
        "@triton.jit\ndef k(X, Y, n):\n    s = n\n    while s > 0:\n        s = s + 0\n    tl.store(Y, s)\n",
        "{\"X\":{\"data\":[0]},\"Y\":{\"data\":[0]},\"n\":{\"int\":4}}", "[1]",
        ",\"max_seconds\":0.2");
    CHECK(endless.error && strstr(endless.error, "out of time"));
    arena_free(endless.arena);
    Ran huge = run("@triton.jit\ndef k(X, Y, N: tl.constexpr):\n    a = tl.arange(0, 65536)\n"
                   "    b = a[:, None] * a[None, :]\n    tl.store(Y, tl.sum(b))\n",
                   WHOLE);
    CHECK(huge.error && strstr(huge.error, "MiB"));
    arena_free(huge.arena);
    Ran none = run("@triton.jit\ndef other():\n    pass\n", FOUR);
    CHECK(none.error && strstr(none.error, "no kernel"));
    arena_free(none.arena);
}

TEST_MAIN(TEST_ROW(elementwise_and_broadcasting), TEST_ROW(integers_behave_as_in_c),
          TEST_ROW(functions_of_bits), TEST_ROW(reductions),
          TEST_ROW(integers_are_reduced_in_32_bits_or_their_own),
          TEST_ROW(custom_reductions_and_scans), TEST_ROW(matrix_products), TEST_ROW(movement),
          TEST_ROW(control_flow), TEST_ROW(masks_and_blocks), TEST_ROW(atomics),
          TEST_ROW(own_types_round), TEST_ROW(random_numbers_are_tritons), TEST_ROW(findings),
          TEST_ROW(what_does_not_end_is_stopped))
