// Two sizes of tiles, of which the faster counts: the larger one does not fit every GPU.
#include "gpu-runner/triton/matrix.h"

#include "gpu-runner/triton/compiler.h"

enum { SIZE = 8192, WARPS = 8, STAGES = 3, STEP = 64 };

static const char module[] =
    "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "@triton.jit\n"
    "def product(A, B, C, N, M: tl.constexpr, L: tl.constexpr, K: tl.constexpr):\n"
    "    # eight rows of tiles at a time, so that what they read stays in the cache\n"
    "    group = 8 * (N // L)\n"
    "    row = (tl.program_id(0) // group) * 8 + tl.program_id(0) % 8\n"
    "    column = (tl.program_id(0) % group) // 8\n"
    "    rows = row * M + tl.arange(0, M)\n"
    "    columns = column * L + tl.arange(0, L)\n"
    "    inner = tl.arange(0, K)\n"
    "    a = A + rows[:, None] * N + inner[None, :]\n"
    "    b = B + inner[:, None] * N + columns[None, :]\n"
    "    total = tl.zeros((M, L), tl.float32)\n"
    "    for k in range(0, N, K):\n"
    "        total += tl.dot(tl.load(a), tl.load(b))\n"
    "        a += K\n"
    "        b += K * N\n"
    "    tl.store(C + rows[:, None] * N + columns[None, :], total.to(tl.float16))\n";

typedef struct ProductTiles {
    int rows, columns;
} ProductTiles;
static const ProductTiles tiles[] = {{128, 256}, {128, 128}};

static void push_matrix(Json *list, const char *name) {
    Json *matrix = json_object(list->arena);
    json_set_string(matrix, "name", name);
    json_set_string(matrix, "key", arena_printf(list->arena, "matrix %s", name));
    json_set_string(matrix, "kind", "buffer");
    json_set_string(matrix, "dtype", "float16");
    json_set_number(matrix, "elements", (double)SIZE * SIZE);
    json_set_string(matrix, "content", "normal");
    json_set_bool(matrix, "aligned", true);
    json_push(list, matrix);
}

static void push_number(Json *list, const char *name, const char *kind, int value) {
    Json *number = json_object(list->arena);
    json_set_string(number, "name", name);
    json_set_string(number, "kind", kind);
    json_set_number(number, "value", value);
    json_push(list, number);
}

static Json *product_arguments(Arena *arena, const ProductTiles *tile) {
    Json *list = json_array(arena);
    push_matrix(list, "A");
    push_matrix(list, "B");
    push_matrix(list, "C");
    push_number(list, "N", "int", SIZE);
    push_number(list, "M", "constant", tile->rows);
    push_number(list, "L", "constant", tile->columns);
    push_number(list, "K", "constant", STEP);
    return list;
}

static const Json *product_compiled(Arena *arena, const Device *device, const Json *arguments,
                                    Budget *budget) {
    Json *ask = json_object(arena), *options = json_object(arena);
    Error error = NULL;
    json_set_number(options, "num_warps", WARPS);
    json_set_number(options, "num_stages", STAGES);
    json_set_string(ask, "source", module);
    json_set_string(ask, "path", "product");
    json_set(ask, "modules", json_array(arena));
    json_set_string(ask, "kernel", "product");
    json_set(ask, "arguments", json_copy(arena, arguments));
    json_set(ask, "options", options);
    json_set_number(ask, "architecture", device->architecture);
    return compiler_ask(arena, ask, budget, &error);
}

/// 0 where it does not compile, or does not fit this GPU.
static double product_rate(Arena *arena, GpuBuffers *buffers, const ProductTiles *tile,
                           Budget *budget) {
    const Json *arguments = product_arguments(arena, tile),
               *compiled = product_compiled(arena, buffers->device, arguments, budget);
    double grid[3] = {(double)SIZE / tile->rows * ((double)SIZE / tile->columns), 1, 1};
    LoadedKernel kernel;
    MeasuredRuns measured = {0};
    if (!compiled || kernel_load(arena, buffers, compiled, arguments, grid, &kernel)) return 0;
    Error error = stopwatch_run(arena, buffers, &kernel, 1, budget, &measured, NULL);
    kernel_unload(buffers, &kernel);
    if (error || measured.median_ms <= 0) return 0;
    return 2e3 * SIZE * SIZE * SIZE / measured.median_ms;
}

static double measure(const RateAsked *asked) {
    GpuBuffers own = {
        .arena = asked->arena, .device = asked->buffers->device, .calls = asked->buffers->calls};
    double best = 0;
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        double rate = product_rate(asked->arena, &own, &tiles[i], asked->context);
        if (rate > best) best = rate;
    }
    buffers_free(&own);
    return best;
}

double matrix_rate(Arena *arena, GpuBuffers *buffers, const char *release, Budget *budget) {
    static double rate = -1;  // of the one GPU of this process
    RateAsked asked = {.arena = arena,
                       .buffers = buffers,
                       .what = arena_printf(arena, "a matrix product, Triton %s", release),
                       .measure = measure,
                       .context = budget};
    return stopwatch_rate(&asked, &rate);
}
