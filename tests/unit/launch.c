// Host code around launches: what each kernel parameter gets, with which sizes, and that conditions on the way are met.
#include "analysis/host/launch.h"

#include <dirent.h>
#include <stdio.h>

#include "analysis/lowering/lower.h"

#include "analysis/host/launch_concrete.h"
#include "analysis/host_values/host_value.h"
#include "analysis/launches/launch_least.h"
#include "tests/support/check.h"
#include "tests/support/files.h"

#define PRELUDE                                                                                    \
    "import math\nimport torch\nimport triton\nimport triton.language as tl\n"                     \
    "@triton.jit\n"                                                                                \
    "def kernel(x, y, n, m, BLOCK: tl.constexpr):\n"                                               \
    "    tl.store(y + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))\n"

typedef struct Case {
    Arena *arena;
    Module *module;
    const HostLaunch *launch;
    ConcreteLaunch *concrete;
} Case;

static Case evaluate_with(const char *text, HostPolicy policy) {
    Case it = {.arena = arena_new()};
    Source *source = source_new(it.arena, "", str_from(text));
    Diagnostics diagnostics = {.arena = it.arena};
    it.module = module_build(it.arena, source, NULL, &diagnostics);
    CHECK(it.module->launches.count > 0);
    it.launch = host_launch(it.module, &it.module->launches.items[0], &policy);
    it.concrete = host_concretize(it.arena, it.launch);
    return it;
}

static Case evaluate(const char *text) { return evaluate_with(text, (HostPolicy){0}); }

static void done(Case it) {
    module_release(it.module);
    arena_free(it.arena);
}

static const char *text_of(const Case *it, int argument) {
    const HostValue *value = it->launch->arguments[argument].value;
    return value ? host_print(it->arena, value) : "nothing";
}

static int64_t number_of(const Case *it, int argument) {
    int64_t number = -1;
    host_int(it->launch->arguments[argument].value, &number);
    return number;
}

TEST(shapes_and_strides) {
    Case it =
        evaluate(PRELUDE "def run(a):\n"
                         "    rows, cols = a.shape\n"
                         "    out = torch.empty_like(a)\n"
                         "    block = triton.next_power_of_2(cols)\n"
                         "    kernel[(rows,)](a, out, a.stride(0), a.numel(), BLOCK=block)\n");
    CHECK(it.launch->is_reached && it.concrete->is_complete);
    CHECK_EQ_STR(text_of(&it, 2), "a.shape[1]");
    CHECK_EQ_STR(text_of(&it, 4), "next_power_of_2(a.shape[1])");
    CHECK_EQ_INT(number_of(&it, 3),
                 it.concrete->arguments[0].dims[0] * it.concrete->arguments[0].dims[1]);
    CHECK_EQ_INT(it.concrete->grid[0], it.concrete->arguments[0].dims[0]);
    CHECK_EQ_INT(it.concrete->buffers.items[it.concrete->arguments[1].buffer].contents,
                 CONTENTS_EMPTY);
    CHECK(it.concrete->arguments[0].buffer != it.concrete->arguments[1].buffer);
    done(it);
}

TEST(sizes_that_are_left_over_are_positive) {
    for (uint64_t seed = 0; seed < 6; seed++) {
        Case it = evaluate_with(
            PRELUDE "def run(a, w, pad, step):\n"
                    "    left = (a.shape[1] + 2 * pad - 3 * (w.shape[0] - 1) - 1) // step + 1\n"
                    "    out = torch.empty((a.shape[0], left), device=a.device)\n"
                    "    kernel[(a.shape[0],)](a, out, left, w.shape[0], BLOCK=16)\n",
            (HostPolicy){.seed = seed});
        CHECK(it.launch->is_reached);
        CHECK(number_of(&it, 2) > 0);
        done(it);
    }
}

TEST(a_zip_is_as_long_as_what_is_known_of_it) {
    Case it = evaluate(PRELUDE "def run(x, y, window):\n"
                               "    rows, cols = x.shape\n"
                               "    kr, kc = (min(k, n) for k, n in zip(window, (rows, cols)))\n"
                               "    kernel[(rows,)](x, y, kr, kc, BLOCK=16)\n");
    CHECK_EQ_STR(text_of(&it, 2), "min(window[0], x.shape[0])");
    CHECK_EQ_STR(text_of(&it, 3), "min(window[1], x.shape[1])");
    done(it);
}

TEST(views_share_memory) {
    Case it = evaluate(PRELUDE "def run(a):\n"
                               "    b = a.reshape(-1, a.shape[-1]).transpose(0, 1)\n"
                               "    kernel[(1,)](a, b, b.stride(0), b.stride(1), BLOCK=16)\n");
    CHECK_EQ_INT(it.concrete->arguments[0].buffer, it.concrete->arguments[1].buffer);
    CHECK_EQ_INT(number_of(&it, 2), 1);
    CHECK_EQ_INT(number_of(&it, 3), it.concrete->arguments[0].dims[1]);
    done(it);
}

TEST(calls_that_write_give_the_tensor_itself) {
    static const char *const writes[] = {"y.add_(1)", "torch.zeros(8, out=y)",
                                         "torch.exp(x, out=y)", "y.no_such_method_()"};
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 PRELUDE "def run(x):\n"
                         "    y = torch.empty(8)\n"
                         "    z = %s\n"
                         "    kernel[(1,)](y, z, 8, 8, BLOCK=8)\n",
                 writes[i]);
        Case it = evaluate(text);
        const HostValue *first = it.launch->arguments[0].value,
                        *second = it.launch->arguments[1].value;
        CHECK(first->kind == HOST_TENSOR && first->tensor->buffer->may_be_written);
        bool is_one = second->kind == HOST_TENSOR && first->kind == HOST_TENSOR &&
                      second->tensor->buffer == first->tensor->buffer;
        CHECK_EQ_INT(is_one, i < 3);
        done(it);
    }
}

TEST(grid_of_meta_parameters) {
    Case it = evaluate(PRELUDE "def run(a, n: int):\n"
                               "    grid = lambda meta: (triton.cdiv(n, meta['BLOCK']), 3)\n"
                               "    kernel[grid](a, a, n, 7, BLOCK=1024)\n");
    CHECK_EQ_INT(it.launch->grid_rank, 2);
    CHECK_EQ_STR(host_print(it.arena, it.launch->grid[0]), "cdiv(n, 32)");
    CHECK_EQ_INT(it.concrete->grid[1], 3);
    done(it);
    it = evaluate_with(PRELUDE "def run(a, n: int):\n"
                               "    kernel[(n,)](a, a, n, 7, BLOCK=1024)\n",
                       (HostPolicy){.keep_blocks = true});
    CHECK_EQ_INT(number_of(&it, 4), 1024);
    done(it);
}

/// Host code and kernel may name one length, each in its own text: the kernel's is what it is, and so is the other then.
TEST(lengths_of_the_kernels_own) {
    const char *text = "import torch\nimport triton\nimport triton.language as tl\n"
                       "@triton.jit\n"
                       "def kernel(x, y, n, BLOCK: tl.constexpr):\n"
                       "    rows = tl.program_id(0) * 128 + tl.arange(0, 128)\n"
                       "    cols = tl.arange(0, BLOCK)\n"
                       "    at = rows[:, None] * n + cols[None, :]\n"
                       "    tl.store(y + at, tl.load(x + at))\n"
                       "def run(x, y):\n"
                       "    kernel[(x.shape[0] // 128,)](x, y, x.shape[1], BLOCK=64)\n";
    Arena *arena = arena_new();
    Diagnostics diagnostics = {.arena = arena};
    Module *module = module_build(arena, source_new(arena, "", str_from(text)), NULL, &diagnostics);
    const LaunchSite *site = &module->launches.items[0];
    HostPolicy policy = {.function =
                             lower_kernel(arena, site->kernel, &(LowerOptions){0}, &diagnostics)};
    const HostLaunch *launch = host_launch(module, site, &policy);
    CHECK_EQ_STR(host_print(arena, launch->grid[0]), "x.shape[0] // 128");
    CHECK_EQ_STR(host_print(arena, launch->arguments[3].value), "16");
    module_release(module);
    arena_free(arena);
}

/// A text of which the launcher says nothing is one that the kernel asks for, another under another variant.
TEST(texts_that_the_kernel_asks_for) {
    const char *text = "import triton\nimport triton.language as tl\n"
                       "@triton.jit\n"
                       "def kernel(x, y, SIDE: tl.constexpr, BLOCK: tl.constexpr):\n"
                       "    at = tl.arange(0, BLOCK)\n"
                       "    if SIDE == 'left':\n"
                       "        tl.store(y + at, tl.load(x + at))\n"
                       "    elif SIDE == 'right':\n"
                       "        tl.store(y - at, tl.load(x + at))\n"
                       "def run(x, y, side: str, other: str = 'left'):\n"
                       "    kernel[(1,)](x, y, side, BLOCK=64)\n"
                       "    kernel[(1,)](x, y, other, BLOCK=64)\n";
    Arena *arena = arena_new();
    Diagnostics diagnostics = {.arena = arena};
    Module *module = module_build(arena, source_new(arena, "", str_from(text)), NULL, &diagnostics);
    const Function *function =
        lower_kernel(arena, module->launches.items[0].kernel, &(LowerOptions){0}, &diagnostics);
    static const char *const expected[2][2] = {{"right", "left"}, {"left", "left"}};
    for (int launch = 0; launch < 2; launch++)
        for (int variant = 0; variant < 2; variant++) {
            HostPolicy policy = {.function = function, .variant = variant};
            const HostValue *side =
                host_launch(module, &module->launches.items[launch], &policy)->arguments[2].value;
            CHECK(side->is_concrete && side->constant.kind == CONSTANT_STRING);
            CHECK(str_is(side->constant.string, expected[launch][variant]));
        }
    module_release(module);
    arena_free(arena);
}

TEST(padded_tensors_are_longer) {
    Case it = evaluate(PRELUDE "import torch.nn.functional as F\n"
                               "def run(a):\n"
                               "    rows, cols = a.shape\n"
                               "    b = F.pad(a, (1, 2, 0, triton.cdiv(rows, 16) * 16 - rows))\n"
                               "    c = torch.nn.functional.pad(a, [0, 3])\n"
                               "    kernel[(rows,)](b, c, b.stride(0), c.numel(), BLOCK=16)\n");
    CHECK(it.launch->is_reached && it.concrete->is_complete);
    const ConcreteArgument *b = &it.concrete->arguments[0], *c = &it.concrete->arguments[1];
    CHECK_EQ_INT(b->dims[0] % 16, 0);
    CHECK_EQ_INT(b->dims[1], c->dims[1]);
    CHECK_EQ_INT(b->strides[0], b->dims[1]);
    CHECK(b->dims[0] > it.concrete->grid[0]);
    CHECK_EQ_INT(c->dims[0], it.concrete->grid[0]);
    CHECK_EQ_INT(number_of(&it, 3), c->dims[0] * c->dims[1]);
    CHECK(b->buffer != c->buffer);
    done(it);
}

/// Blocks of 64 and 32 are 16 both; kept apart they are made small in their order, and what the file keeps counts, too.
TEST(blocks_that_stay_apart) {
    const char *text = PRELUDE "def run(x):\n"
                               "    large, small, least = 256, 64, 16\n"
                               "    kernel[(1,)](x, large, small, least, BLOCK=32)\n";
    const struct {
        uint64_t apart, kept;
        int64_t large, small, block;
    } all[] = {{0, 0, 32, 16, 16},
               {256 | 64 | 32, 0, 32, 16, 8},
               {64 | 32, 0, 32, 16, 8},
               {256 | 64 | 32 | 16, 16, 128, 64, 32}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        Case it =
            evaluate_with(text, (HostPolicy){.apart = all[i].apart, .apart_kept = all[i].kept});
        const ConcreteArgument *given = it.concrete->arguments;
        CHECK(it.launch->is_reached);
        CHECK_EQ_INT(given[1].constant.integer, all[i].large);
        CHECK_EQ_INT(given[2].constant.integer, all[i].small);
        CHECK_EQ_INT(given[3].constant.integer, 16);
        CHECK_EQ_INT(given[4].constant.integer, all[i].block);
        done(it);
    }
}

/// A launch of some thousand programs: heads and chunks only number them, and a few of each show as much. What blocks walk stays.
TEST(sizes_that_only_count_programs) {
    const char *text =
        PRELUDE "def run(x, dt):\n"
                "    batch, length, heads, dim = x.shape\n"
                "    assert dt.shape == (batch, heads, length)\n"
                "    grid = (triton.cdiv(length, 64), batch * triton.cdiv(dim, 16), heads)\n"
                "    kernel[grid](x, dt, length, dim, BLOCK=64)\n";
    Case it = evaluate_with(text, (HostPolicy){.sizes = HOST_SIZES_LARGE});
    CHECK(it.launch->is_reached);
    const int64_t *dims = it.concrete->arguments[0].dims;
    CHECK_EQ_INT(dims[2], 3);
    CHECK_EQ_INT(it.concrete->arguments[1].dims[1], 3);
    CHECK(dims[3] > 64);
    done(it);
    it = evaluate_with(text, (HostPolicy){.sizes = HOST_SIZES_LARGE, .keep_blocks = true});
    CHECK(it.concrete->arguments[0].dims[2] > 64);  // findings look at sizes as they are
    done(it);
}

/// Heads that groups divide: both are small, and several heads have one group.
TEST(sizes_that_divide_each_other_count_programs) {
    Case it = evaluate(PRELUDE "def run(x, k):\n"
                               "    batch, length, heads, dim = x.shape\n"
                               "    groups = k.shape[2]\n"
                               "    assert k.shape == (batch, length, groups, dim)\n"
                               "    assert heads % groups == 0\n"
                               "    grid = (triton.cdiv(dim, 16), batch * length, heads)\n"
                               "    kernel[grid](x, k, heads // groups, dim, BLOCK=16)\n");
    CHECK_EQ_INT(it.concrete->arguments[0].dims[2], 6);
    CHECK_EQ_INT(it.concrete->arguments[1].dims[2], 3);
    done(it);
}

TEST(conditions_are_met) {
    Case it = evaluate(PRELUDE "def run(a, b, causal, mode):\n"
                               "    assert a.dim() == 3 and a.shape[1] % 8 == 0\n"
                               "    assert a.shape[-1] in {16, 64}\n"
                               "    assert b.shape == (a.shape[0], a.shape[2])\n"
                               "    if not causal:\n"
                               "        raise ValueError('causal only')\n"
                               "    if mode == 'fast':\n"
                               "        kernel[(1,)](a, b, a.shape[1], causal, BLOCK=16)\n");
    CHECK(it.launch->is_reached);
    const ConcreteArgument *a = &it.concrete->arguments[0], *b = &it.concrete->arguments[1];
    CHECK_EQ_INT(a->rank, 3);
    CHECK_EQ_INT(a->dims[1] % 8, 0);
    CHECK_EQ_INT(a->dims[2], 16);
    CHECK_EQ_INT(b->rank, 2);
    CHECK_EQ_INT(b->dims[0], a->dims[0]);
    CHECK_EQ_INT(b->dims[1], a->dims[2]);
    CHECK_EQ_INT(number_of(&it, 3), 1);
    done(it);
}

TEST(contradiction_is_not_reached) {
    Case it = evaluate(PRELUDE "def run(a):\n"
                               "    n = a.shape[0]\n"
                               "    assert n == 3\n"
                               "    assert n == 4\n"
                               "    kernel[(1,)](a, a, n, 1, BLOCK=16)\n");
    CHECK(!it.launch->is_reached);
    CHECK(it.launch->reason != NULL);
    done(it);
}

TEST(equal_names_are_equal_sizes) {
    Case it = evaluate(PRELUDE "def run(a, b):\n"
                               "    M, K = a.shape\n"
                               "    K, N = b.shape\n"
                               "    kernel[(1,)](a, b, M, N, BLOCK=16)\n");
    CHECK_EQ_INT(it.concrete->arguments[0].dims[1], it.concrete->arguments[1].dims[0]);
    done(it);
}

TEST(limits_of_types) {
    Case it =
        evaluate(PRELUDE "def run(a, kind=torch.int8):\n"
                         "    limits = torch.finfo(torch.float8_e4m3fn)\n"
                         "    kernel[(1,)](a, a, limits.max, limits.min, limits.bits,\n"
                         "                 torch.iinfo(kind).min, torch.finfo(a.dtype).max)\n");
    CHECK(it.launch->is_reached);
    CHECK_EQ_STR(text_of(&it, 2), "448");
    CHECK_EQ_STR(text_of(&it, 3), "-448");
    CHECK_EQ_INT(number_of(&it, 4), 8);
    done(it);
}

TEST(helpers_and_methods) {
    Case it = evaluate(
        PRELUDE
        "def settings(n):\n"
        "    block = triton.next_power_of_2(n)\n"
        "    return block, 4 if block < 8 else 2\n"
        "class Fn(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, a, scale=None):\n"
        "        B, T, D = a.shape\n"
        "        block, warps = settings(D)\n"
        "        ctx.scale = D ** -0.5 if scale is None else scale\n"
        "        kernel[(B * T,)](a, a.new_zeros(B, T), ctx.scale, warps, BLOCK=block, num_warps=warps)\n");
    CHECK(it.launch->is_reached && it.concrete->is_complete);
    CHECK_EQ_STR(text_of(&it, 2), "a.shape[2] ** -0.5");
    CHECK_EQ_INT(number_of(&it, 3), 2);
    CHECK_EQ_INT(it.launch->options.count, 1);
    CHECK_EQ_INT(it.concrete->buffers.items[it.concrete->arguments[1].buffer].contents,
                 CONTENTS_ZEROS);
    done(it);
}

TEST(optional_argument_by_variant) {
    const char *text = PRELUDE "def run(a, bias=None):\n"
                               "    kernel[(1,)](a, bias, bias is not None, 0, BLOCK=16)\n";
    Case it = evaluate(text);
    CHECK_EQ_STR(text_of(&it, 1), "bias");
    CHECK_EQ_INT(number_of(&it, 2), 0);
    CHECK_EQ_INT(it.concrete->arguments[1].kind, CONCRETE_SCALAR);
    done(it);
    it = evaluate_with(text, (HostPolicy){.variant = 1});
    CHECK_EQ_INT(number_of(&it, 2), 1);
    done(it);
}

TEST(autotune_and_heuristics) {
    Case it = evaluate(
        "import torch, triton\nimport triton.language as tl\n"
        "@triton.autotune(configs=[triton.Config({'BLOCK': b}, num_warps=w) for b in [256] for w in [2, 4]], key=['n'])\n"
        "@triton.heuristics({'EVEN': lambda args: args['n'] % args['BLOCK'] == 0})\n"
        "@triton.jit\n"
        "def kernel(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):\n"
        "    tl.store(x, n)\n"
        "def run(x):\n"
        "    kernel[lambda META: (triton.cdiv(x.shape[0], META['BLOCK']),)](x, x.shape[0])\n");
    CHECK(it.concrete->is_complete);
    CHECK(it.launch->arguments[2].is_tuned && it.launch->arguments[3].is_tuned);
    CHECK_EQ_INT(number_of(&it, 2), 32);
    CHECK_EQ_INT(number_of(&it, 3), number_of(&it, 1) % 32 == 0);
    CHECK_EQ_INT(it.launch->problems.count, 0);
    done(it);
}

TEST(certain_problems) {
    Case it = evaluate(PRELUDE "def run(a):\n    kernel[(1,)](a, a, 1, BLOCK=16, BLOK=3)\n");
    CHECK_EQ_INT(it.launch->problems.count, 2);
    CHECK_EQ_INT(it.launch->problems.items[0].kind, PROBLEM_UNKNOWN_KEYWORD);
    CHECK_EQ_INT(it.launch->problems.items[1].kind, PROBLEM_MISSING_ARGUMENT);
    CHECK(str_is(it.launch->problems.items[1].name, "m"));
    done(it);
    it = evaluate(PRELUDE "def run(a, args):\n    kernel[(1,)](a, *args, BLOCK=16)\n");
    CHECK_EQ_INT(it.launch->problems.count, 0);
    done(it);
}

TEST(spread_shapes) {
    Case it = evaluate(PRELUDE "def run(k, v):\n"
                               "    B, T, H, V = *k.shape, v.shape[-1]\n"
                               "    kernel[(B, T)](k, v, H, V, BLOCK=16)\n");
    CHECK_EQ_INT(it.concrete->arguments[0].rank, 3);
    CHECK_EQ_STR(text_of(&it, 2), "k.shape[2]");
    CHECK_EQ_INT(it.launch->grid_rank, 2);
    done(it);
}

TEST(ranks_of_tensors_asked_for_the_same_strides) {
    Case it = evaluate(PRELUDE "def run(q, k):\n"
                               "    B, T, D = q.shape\n"
                               "    S = k.shape[1]\n"
                               "    assert q.stride(-1) == 1 and k.stride(-1) == 1\n"
                               "    kernel[(B, T)](q, k, q.stride(0) + q.stride(1),\n"
                               "                   k.stride(0) + k.stride(1), BLOCK=16)\n");
    CHECK_EQ_INT(it.concrete->arguments[1].rank, 3);
    CHECK_EQ_INT(it.concrete->arguments[1].dims[2], it.concrete->arguments[0].dims[2]);
    done(it);
    it = evaluate(PRELUDE "def run(q, w):\n"
                          "    B, T, D = q.shape\n"
                          "    kernel[(B, T)](q, w, q.stride(0) + q.stride(1),\n"
                          "                   w.stride(0) + w.stride(1), BLOCK=16)\n");
    CHECK_EQ_INT(it.concrete->arguments[1].rank, 2);
    done(it);
}

/// Every launcher of examples/ is understood completely, in several variants.
TEST(examples_are_complete) {
    DIR *folder = opendir("examples");
    CHECK(folder != NULL);
    int sites = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!str_ends(str_from(entry->d_name), ".py")) continue;
        Arena *arena = arena_new();
        const char *path = arena_printf(arena, "examples/%s", entry->d_name);
        Diagnostics diagnostics = {.arena = arena};
        Module *module = module_build(arena, source_new(arena, path, file_text(arena, path)), NULL,
                                      &diagnostics);
        for (int i = 0; i < module->launches.count; i++) {
            const LaunchSite *site = &module->launches.items[i];
            const Function *function =
                lower_kernel(arena, site->kernel, &(LowerOptions){0}, &diagnostics);
            for (int variant = 0; variant < 2; variant++) {
                HostPolicy policy = {
                    .seed = (uint64_t)variant, .variant = variant, .function = function};
                const HostLaunch *launch = host_launch(module, site, &policy);
                if (launch->reason) printf("%s: %s\n", path, launch->reason);
                CHECK(launch->is_reached && launch->problems.count == 0);
                CHECK(host_concretize(arena, launch)->is_complete);
            }
            sites++;
        }
        module_release(module);
        arena_free(arena);
    }
    if (folder) closedir(folder);
    CHECK(sites > 35);
}

static int64_t least_block(const char *launcher) {
    Arena *texts = arena_new();
    Case it = evaluate(arena_printf(texts, PRELUDE "%s", launcher));
    Function *function = function_new(it.arena, "kernel");
    function->definition = it.launch->kernel;
    int64_t least = launches_least(it.arena, function, 4);
    done(it);
    arena_free(texts);
    return least;
}

/// Constants are themselves, sizes may be 1, and a caller's choice is not known.
TEST(smallest_values) {
    static const struct {
        const char *block;
        int64_t least;
    } rows[] = {{"a.shape[0]", 1},
                {"a.shape[0] // a.shape[1]", 1},
                {"64", 64},
                {"max(16, triton.next_power_of_2(a.shape[0]))", 16},
                {"triton.next_power_of_2(a.shape[0] + 8)", 16},
                {"min(64, triton.next_power_of_2(a.shape[0]))", 1},
                {"block", LAUNCH_LEAST_UNKNOWN},
                {"max(block, 32)", 32},
                {"plan(a)", LAUNCH_LEAST_UNKNOWN}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        snprintf(text, sizeof text, "def run(a, block):\n    kernel[(1,)](a, a, 1, 1, BLOCK=%s)\n",
                 rows[i].block);
        CHECK_EQ_INT(least_block(text), rows[i].least);
    }
    CHECK_EQ_INT(least_block("def run(a):\n    kernel[(1,)](a, a, 1, 1, BLOCK=64)\n"
                             "def few(a):\n    kernel[(1,)](a, a, 1, 1, BLOCK=8)\n"),
                 8);
}

/// What `**config` passes is what the launcher reads of it.
TEST(keyed_configuration) {
    Case it =
        evaluate(PRELUDE "def run(a, config):\n"
                         "    n = a.numel()\n"
                         "    kernel[(triton.cdiv(n, config['BLOCK']),)](a, a, n, 1, **config)\n");
    const HostValue *block = it.launch->arguments[4].value;
    CHECK(block && block->kind == HOST_INPUT && it.launch->grid[0]);
    CHECK_EQ_STR(text_of(&it, 4), "config[\"BLOCK\"]");
    CHECK(strstr(host_print(it.arena, it.launch->grid[0]), "config[\"BLOCK\"]"));
    done(it);
}

/// Loops without end, recursion, half-typed text and growing numbers end with an answer.
TEST(bounded) {
    static const char *const texts[] = {
        PRELUDE
        "def run(a):\n    n = a.shape[0]\n    while True:\n        n = n * n + n\n    kernel[(n,)](a, a, n, 1, BLOCK=16)\n",
        PRELUDE
        "def f(n):\n    return f(n) + f(n)\ndef run(a):\n    kernel[(1,)](a, a, f(1), 1, BLOCK=16)\n",
        PRELUDE
        "def run(a):\n    n = a.shape[0]\n    for i in range(64):\n        n = n + n\n    kernel[(n,)](a, a, n, 1, BLOCK=16)\n",
        PRELUDE
        "def run(a):\n    kernel[(a.shape[0],)](a, a, 1 << 90, 1 // 0, BLOCK=16)\n    kernel[",
        PRELUDE "X = Y\nY = X\ndef run(a):\n    kernel[X](a, Y, X, 1, BLOCK=16)\n",
        PRELUDE "def run(*a, **k):\n    kernel[a](*a, **k)\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Case it = evaluate(texts[i]);
        CHECK(it.launch != NULL && it.concrete != NULL);
        CHECK(host_launch_print(it.arena, it.launch) != NULL);
        done(it);
    }
}

/// What is counted over more iterations than are run, or over unknown ones, is unknown; what stays is known.
TEST(long_loops) {
    static const struct {
        const char *loop;
        int64_t number;  // -1: not known
    } cases[] = {
        {"    for i in range(60):\n        k += 1\n", 60},
        {"    for i in range(100):\n        k += 1\n", -1},
        {"    for i in range(1000):\n        k += 1\n", -1},
        {"    for i in range(1000):\n        k = 7\n", -1},
        {"    for i in range(100):\n        k = 7\n", 7},
        {"    for i in range(100):\n        b = 2\n", 0},
        {"    while k < 60:\n        k += 1\n", 60},
        {"    while k < 100:\n        k += 1\n", -1},
        {"    while torch.anything():\n        k += 1\n", -1},
        {"    k = len(list(range(200)))\n", 200},
        {"    k = len(list(range(1000)))\n", -1},
        {"    k = len(list(range(9223372036854775800, 9223372036854775807, 5)))\n", 2},
        {"    for a0, a1, a2, a3, a4, a5, a6, a7, a8 in zip([1], [2], [3], [4], [5], [6], [7], [8], [9]):\n"
         "        k = a8\n",
         -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena *arena = arena_new();
        Case it = evaluate(arena_printf(arena,
                                        PRELUDE "def run(a):\n    k = 0\n%s"
                                                "    kernel[(1,)](a, a, k, 1, BLOCK=16)\n",
                                        cases[i].loop));
        CHECK_EQ_INT(number_of(&it, 2), cases[i].number);
        done(it);
        arena_free(arena);
    }
}

TEST(tied_sizes_change_together) {
    Case it =
        evaluate(PRELUDE "def run(q, k, v):\n"
                         "    assert q.shape[-1] == k.shape[-1] and k.shape[-1] == v.shape[-1]\n"
                         "    rows, head = q.shape\n"
                         "    kernel[(rows,)](q, k, rows, q.stride(0), BLOCK=head)\n");
    CHECK(it.launch->is_reached && it.concrete->is_complete);
    int64_t head = number_of(&it, 4);
    CHECK(head > 0 && (head & (head - 1)) == 0);
    CHECK_EQ_INT(it.concrete->arguments[0].dims[1], head);
    CHECK_EQ_INT(it.concrete->arguments[1].dims[1], head);
    done(it);
}

TEST(spread_of_a_number_is_an_error) {
    Case it = evaluate(
        PRELUDE
        "def run(a, b=None):\n"
        "    kernel[(1,)](a, a, *(b.stride(0), b.stride(1)) if b is not None else 0, 16)\n");
    CHECK(it.launch->is_reached);
    CHECK_EQ_STR(text_of(&it, 2), "b.shape[1]");
    CHECK_EQ_INT(number_of(&it, 4), 16);
    done(it);
}

TEST(what_follows_an_unknown_spread_has_no_place) {
    Case it = evaluate(PRELUDE "def run(a, b):\n"
                               "    kernel[(1,)](a, a, *b.anything(), 3, BLOCK=16)\n");
    CHECK_EQ_STR(text_of(&it, 1), text_of(&it, 0));
    CHECK_EQ_STR(text_of(&it, 2), "nothing");
    CHECK_EQ_STR(text_of(&it, 3), "nothing");
    CHECK_EQ_INT(number_of(&it, 4), 16);
    done(it);
}

TEST(as_many_strides_are_spread_as_the_kernel_takes) {
    Case it = evaluate(PRELUDE "def run(a, b):\n"
                               "    kernel[(1,)](a, b, *b.stride(), BLOCK=16)\n");
    CHECK_EQ_INT(it.concrete->arguments[1].rank, 2);
    CHECK_EQ_STR(text_of(&it, 2), "b.shape[1]");
    CHECK_EQ_INT(it.launch->problems.count, 0);
    done(it);
}

/// The launcher's flag is what brings it to the launch of this kernel.
TEST(chosen_kernels) {
    static const char *const ways[] = {"    k = kernel if flag else other\n",
                                       "    k = other\n    if flag:\n        k = kernel\n",
                                       "    k = kernel\n    if not flag:\n        k = other\n"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        Arena *arena = arena_new();
        const char *text = arena_printf(arena,
                                        PRELUDE "@triton.jit\n"
                                                "def other(x, y, n, m, BLOCK: tl.constexpr):\n"
                                                "    tl.store(y, tl.load(x))\n"
                                                "def run(x, flag):\n"
                                                "    y = torch.empty_like(x)\n%s"
                                                "    k[(x.numel(),)](x, y, 1, 2, BLOCK=16)\n",
                                        ways[i]);
        Source *source = source_new(arena, "", str_from(text));
        Diagnostics diagnostics = {.arena = arena};
        Module *module = module_build(arena, source, NULL, &diagnostics);
        CHECK_EQ_INT(module->launches.count, 2);
        for (int k = 0; k < module->launches.count; k++) {
            const HostLaunch *launch =
                host_launch(module, &module->launches.items[k], &(HostPolicy){0});
            bool is_first = str_is(launch->kernel->name, "kernel");
            CHECK(launch->is_reached);
            for (int n = 0; n < launch->inputs.count; n++)
                if (strcmp(launch->inputs.items[n]->name, "flag") == 0)
                    CHECK_EQ_INT(launch->inputs.items[n]->constant.integer, is_first);
        }
        module_release(module);
        arena_free(arena);
    }
}

/// `kernel.fn` has no configurations of the tuner.
TEST(kernels_without_their_tuner) {
    Case it = evaluate("import torch\nimport triton\nimport triton.language as tl\n"
                       "@triton.autotune([triton.Config({'BLOCK': 64})], key=[])\n"
                       "@triton.jit\ndef kernel(x, BLOCK: tl.constexpr, M: tl.constexpr = 2):\n"
                       "    tl.store(x + tl.arange(0, BLOCK), M)\n"
                       "def run(x):\n    kernel.fn[(1,)](x, BLOCK=8)\n");
    CHECK(it.launch->is_reached);
    CHECK_EQ_STR(text_of(&it, 1), "8");
    CHECK_EQ_INT(it.launch->problems.count, 0);
    done(it);
}

/// `x.shape[1]` and `x.shape[-1]` are two axes where nobody says the rank, and one where it is said.
TEST(axes_from_both_ends) {
    static const char *const ways[] = {"", "    assert x.dim() == 2\n", "    a, b = x.shape\n"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        Arena *arena = arena_new();
        Case it = evaluate(arena_printf(arena,
                                        PRELUDE "def run(x, y):\n%s"
                                                "    heads, D = x.shape[1], x.shape[-1]\n"
                                                "    kernel[(heads,)](x, y, x.stride(1), D, 16)\n",
                                        ways[i]));
        CHECK(it.launch->is_reached);
        const HostInput *x = it.launch->inputs.items[0];
        CHECK_EQ_INT(x->rank, i == 0 ? 3 : 2);
        CHECK_EQ_INT(x->is_rank_certain, i != 0);
        CHECK_EQ_INT(x->has_more_axes, i == 0);
        done(it);
        arena_free(arena);
    }
}

TEST_MAIN(TEST_ROW(shapes_and_strides), TEST_ROW(a_zip_is_as_long_as_what_is_known_of_it),
          TEST_ROW(views_share_memory), TEST_ROW(sizes_that_are_left_over_are_positive),
          TEST_ROW(calls_that_write_give_the_tensor_itself), TEST_ROW(grid_of_meta_parameters),
          TEST_ROW(lengths_of_the_kernels_own), TEST_ROW(texts_that_the_kernel_asks_for),
          TEST_ROW(padded_tensors_are_longer), TEST_ROW(sizes_that_only_count_programs),
          TEST_ROW(blocks_that_stay_apart), TEST_ROW(sizes_that_divide_each_other_count_programs),
          TEST_ROW(conditions_are_met), TEST_ROW(contradiction_is_not_reached),
          TEST_ROW(equal_names_are_equal_sizes), TEST_ROW(limits_of_types),
          TEST_ROW(helpers_and_methods), TEST_ROW(optional_argument_by_variant),
          TEST_ROW(autotune_and_heuristics), TEST_ROW(certain_problems), TEST_ROW(spread_shapes),
          TEST_ROW(ranks_of_tensors_asked_for_the_same_strides), TEST_ROW(examples_are_complete),
          TEST_ROW(smallest_values), TEST_ROW(bounded), TEST_ROW(keyed_configuration),
          TEST_ROW(long_loops), TEST_ROW(tied_sizes_change_together),
          TEST_ROW(spread_of_a_number_is_an_error),
          TEST_ROW(what_follows_an_unknown_spread_has_no_place),
          TEST_ROW(as_many_strides_are_spread_as_the_kernel_takes), TEST_ROW(chosen_kernels),
          TEST_ROW(kernels_without_their_tuner), TEST_ROW(axes_from_both_ends))
