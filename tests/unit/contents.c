// Which tensors may hold something before a launch that a gradient could go to: all but memory made for this very launch.
#include "analysis/host/launch.h"
#include "analysis/lowering/lower.h"

#include "analysis/launches/launch_contents.h"
#include "tests/support/check.h"

#define PRELUDE                                                                                    \
    "import torch\nimport triton\nimport triton.language as tl\nfrom elsewhere import fill\n"      \
    "@triton.jit\n"                                                                                \
    "def other(x, y, n, BLOCK: tl.constexpr):\n"                                                   \
    "    tl.store(y + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))\n"                    \
    "@triton.jit\n"                                                                                \
    "def kernel(x, y, n, BLOCK: tl.constexpr):\n"                                                  \
    "    tl.store(y + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))\n"                    \
    "def make(x, fresh):\n"                                                                        \
    "    if fresh:\n"                                                                              \
    "        return torch.empty_like(x)\n"                                                         \
    "    return x.clone()\n"                                                                       \
    "def buffer(x):\n"                                                                             \
    "    return torch.empty(x.shape, device=x.device)\n"                                           \
    "def run(x, z, flag=False, out=None):\n"
#define LAUNCH "    kernel[(1,)](x, y, x.numel(), BLOCK=16)\n    return y\n"

static bool holds_something(const char *text) {
    Arena *arena = arena_new();
    Diagnostics diagnostics = {.arena = arena};
    Module *module = module_build(arena, source_new(arena, "", str_from(text)), NULL, &diagnostics);
    const FunctionDefinition *kernel = NULL;
    for (LIST_EACH(int, i, module->launches))
        if (str_is(module->launches.items[i].kernel->name, "kernel"))
            kernel = module->launches.items[i].kernel;
    CHECK(kernel != NULL);
    LowerOptions options = {0};
    Function *function = lower_kernel(arena, kernel, &options, &diagnostics);
    launches_note(arena, kernel, function);
    CHECK(!function->parameters[0].may_have_contents);  // is not stored to
    bool found = function->parameters[1].may_have_contents;
    module_release(module);
    arena_free(arena);
    return found;
}

TEST(new_memory) {
    static const char *const launchers[] = {
        PRELUDE "    y = torch.empty_like(x)\n" LAUNCH,
        PRELUDE "    y = x.new_zeros(x.shape)\n" LAUNCH,
        PRELUDE "    y = buffer(x).view(-1)\n" LAUNCH,
        PRELUDE "    y = torch.full_like(x, 2.0)\n" LAUNCH,
        PRELUDE "    if flag:\n        y = torch.empty_like(x)\n    else:\n"
                "        y = torch.zeros_like(x)\n" LAUNCH,
        PRELUDE "    if flag:\n        return x\n    y = torch.empty_like(x)\n" LAUNCH,
        PRELUDE "    y = torch.empty_like(x) if flag else None\n" LAUNCH,
        PRELUDE "    y = torch.empty_like(x)\n    z = z * y.shape[0]\n    z += x\n"
                "    other[(1,)](x, z, y.stride(0), BLOCK=16)\n" LAUNCH,
        PRELUDE "    for i in range(3):\n        y = torch.empty_like(x)\n    " LAUNCH,
    };
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        CHECK_EQ_INT((holds_something(launchers[i]) ? -1 : 1) * (int)(i + 1), (int)(i + 1));
}

TEST(memory_that_holds_something) {
    static const char *const launchers[] = {
        PRELUDE "    y = z\n" LAUNCH,
        PRELUDE "    y = out\n" LAUNCH,
        PRELUDE "    y = x.clone()\n" LAUNCH,
        PRELUDE "    y = torch.cat([x, z])\n" LAUNCH,
        PRELUDE "    y = torch.nn.functional.pad(x, (0, 3))[:, 1]\n" LAUNCH,
        PRELUDE "    y = x @ z\n" LAUNCH,
        PRELUDE "    y = fill(x)\n" LAUNCH,
        PRELUDE "    y = make(x, flag)\n" LAUNCH,
        PRELUDE "    y = make(x, True)\n" LAUNCH,
        PRELUDE "    y = torch.empty_like(x)\n    y[3:] = z\n" LAUNCH,
        PRELUDE "    y = torch.empty_like(x)\n    y += z\n" LAUNCH,
        PRELUDE "    y = torch.empty_like(x)\n    y.copy_(z)\n" LAUNCH,
        PRELUDE "    y = torch.empty_like(x)\n    torch.exp(z, out=y)\n" LAUNCH,
        PRELUDE "    y = torch.empty_like(x)\n    fill(y)\n" LAUNCH,
        PRELUDE "    y = torch.empty_like(x)\n    fill([z, y])\n" LAUNCH,
        PRELUDE "    y = torch.empty_like(x)\n    other[(1,)](z, y[1:], 3, BLOCK=16)\n" LAUNCH,
        PRELUDE "    y = torch.empty_like(x)\n    if flag:\n        y.copy_(z)\n" LAUNCH,
        PRELUDE "    y = torch.empty_like(x)\n    if flag:\n        y = z * 2\n" LAUNCH,
        PRELUDE "    y = torch.empty_like(x) if x.shape[0] > 2 else z\n" LAUNCH,
        PRELUDE "    if out is None:\n        y = torch.empty_like(x)\n    else:\n"
                "        y = out\n" LAUNCH,
        PRELUDE "    y = out if out is not None else torch.empty_like(x)\n" LAUNCH,
        PRELUDE "    y = torch.empty_like(x)\n    for i in range(3):\n    " LAUNCH,
        PRELUDE "    y = torch.empty_like(x)\n    while x.sum() > 3:\n    " LAUNCH,
        PRELUDE "    for i in range(3):\n        y = torch.empty_like(x)\n"
                "        for j in range(3):\n        " LAUNCH,
        PRELUDE
        "    y = torch.empty_like(x)\n    def step(j):\n        kernel[(1,)](x, y, j, BLOCK=16)\n"
        "    for j in range(3):\n        step(j)\n    return y\n",
        "import torch\nshared = torch.zeros(64)\n" PRELUDE "    y = shared\n" LAUNCH,
    };
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        CHECK_EQ_INT((holds_something(launchers[i]) ? 1 : -1) * (int)(i + 1), (int)(i + 1));
}

TEST_MAIN(TEST_ROW(new_memory), TEST_ROW(memory_that_holds_something))
