// Texts that nest, repeat or go on without end, on a thread with the stack that the server gives.
#include <pthread.h>

#include "analysis/snapshot.h"
#include "tests/support/check.h"

enum { DEEP = 10000, INDENTED = 300 };

typedef struct Deep {
    const char *before;
    const char *open;  // repeated
    const char *inner;
    const char *close;  // repeated as often
    const char *after;
    int count;  // 0: DEEP
} Deep;

#define KERNEL "import triton\nimport triton.language as tl\n@triton.jit\ndef k(X, N: tl.constexpr):\n" \
               "    i = tl.program_id(0)\n"

static const Deep deeps[] = {
    {KERNEL "    x = ", "(", "i", ")", "\n", 0},
    {KERNEL "    x = ", "(", "i", "", "\n", 0},
    {KERNEL "    x = ", ")", "i", "", "\n", 0},
    {KERNEL "    x = ", "[", "i", "]", "\n", 0},
    {KERNEL "    ", "(", "a,", ")", " = i\n", 0},
    {KERNEL "    ", "[", "a", "]", " = i\n", 0},
    {KERNEL "    ", "a = ", "i", "", "\n", 0},
    {KERNEL "    x = i", ".a", "", "", "\n", 0},
    {KERNEL "    x = ", "tl.exp(", "i", ")", "\n", 0},
    {KERNEL "    x = i", "[0]", "", "", "\n", 0},
    {KERNEL "    x = ", "i + ", "i", "", "\n", 0},
    {KERNEL "    x = ", "2 ** ", "2", "", "\n", 0},
    {KERNEL "    x = ", "not ", "i", "", "\n", 0},
    {KERNEL "    x = ", "1 if i else ", "i", "", "\n", 0},
    {KERNEL "    x = ", "lambda: ", "i", "", "\n", 0},
    {KERNEL "    x = ", "-", "i", "", "\n", 0},
    {KERNEL "    x = ", "~", "i", "", "\n", 0},
    {KERNEL "    x = ", "await ", "i", "", "\n", 0},
    {KERNEL "    x = ", "i < ", "i", "", "\n", 0},
    {KERNEL "    x = ", "i and ", "i", "", "\n", 0},
    {KERNEL "    x = ", "(i or ", "i", ")", "\n", 0},
    {KERNEL "    x = ", "i[", "i", "]", "\n", 0},
    {KERNEL "    x = i[", ":, ", ":", "", "]\n", 0},
    {KERNEL "    x = ", "{i: ", "i", "}", "\n", 0},
    {KERNEL "    x = ", "{", "i", "}", "\n", 0},
    {KERNEL "    x = ", "[j for j in ", "i", "]", "\n", 0},
    {KERNEL "    x = ", "tl.sum(j for j in ", "i", ")", "\n", 0},
    {KERNEL "    x = ", "tl.sum(input=", "i", ")", "\n", 0},
    {KERNEL "    x = tl.sum(", "*", "i", "", ")\n", 0},
    {KERNEL "    x = ", "f'{", "i", "}'", "\n", 0},
    {KERNEL "    x = ", "'a' ", "'b'", "", "\n", 0},
    {KERNEL "    x = ", "i if ", "i", " else i", "\n", 0},
    {KERNEL "    x = ", "i.to(", "i", ")", "\n", 0},
    {KERNEL "    x = i", ".to(tl.int64)", "", "", "\n", 0},
    {KERNEL "    ", "i += 1; ", "i += 1", "", "\n", 0},
    {KERNEL "    for ", "(a,", "b", ")", " in i:\n        pass\n", 0},
    {KERNEL "    del ", "(a, ", "b", ")", "\n", 0},
    {KERNEL "    return ", "(i, ", "i", ")", "\n", 0},
    {KERNEL "    x: ", "tl.a[", "i", "]", " = i\n", 0},
    {KERNEL "", "    # tad: a=(\n", "", "", "    x = i\n", 500},
    {"", "@decorated\n", "", "", "def f(): pass\n" KERNEL, 0},
    {"import a", ".b", "", "", "\n" KERNEL, 0},
    {"", "if a:\n    b = 1\nelse:\n    b = 2\n", "", "", KERNEL, 2000},
    {KERNEL "def l(x):\n    k[(", "lambda meta: (", "1", ",)", ",)](x, 1)\n", 0},
    {KERNEL "def l(x):\n    x = ", "x.view(", "1", ")", "\n    k[(1,)](x, N=4)\n", 0},
    {KERNEL "def l(x):\n    x = x", "[0]", "", "", "\n    k[(1,)](x, N=4)\n", 0},
    {KERNEL "def l(x):\n    n = ", "max(1, ", "2", ")", "\n    k[(n,)](x, N=n)\n", 0},
    {KERNEL "    x = ", "(y := ", "i", ")", "\n", 0},
    {KERNEL "    if i:\n        x = 1\n", "    elif i == 2:\n        x = 2\n", "", "", "", 2000},
    {"", "a = ", "3", "", "\n" KERNEL, 0},
    {"a = b", ".c", "", "", "\n" KERNEL "    x = a\n", 0},
    {"@", "a(", "", ")", "\ndef f(): pass\n" KERNEL, 0},
    {KERNEL "k2 = ", "triton.jit(", "k", ")", "\n", 0},
    {KERNEL "def l(x):\n    k[", "(", "1", ")", "](x, 1)\n", 0},
    {KERNEL "def l(x):\n    k[(1,)](", "(", "x", ")", ", 1)\n", 0},
    {KERNEL "def l(x):\n    n = ", "x.shape[0] + ", "1", "", "\n    k[(n,)](x, N=n)\n", 0},
};

static Str deep_text(Arena *arena, const Deep *deep) {
    Buffer text = buffer_new(arena);
    int count = deep->count ? deep->count : DEEP;
    buffer_puts(&text, deep->before);
    for (int i = 0; i < count; i++) buffer_puts(&text, deep->open);
    buffer_puts(&text, deep->inner);
    for (int i = 0; i < count; i++) buffer_puts(&text, deep->close);
    buffer_puts(&text, deep->after);
    return (Str){buffer_text(&text), text.size};
}

static void *build_text(void *context) {
    return snapshot_build("deep.py", *(const Str *)context, NULL);
}

static void survive(Str text) {
    pthread_attr_t attributes;
    pthread_t thread;
    void *built = NULL;
    pthread_attr_init(&attributes);
    CHECK_EQ_INT(pthread_attr_setstacksize(&attributes, SNAPSHOT_STACK_BYTES), 0);
    CHECK_EQ_INT(pthread_create(&thread, &attributes, build_text, &text), 0);
    pthread_join(thread, &built);
    pthread_attr_destroy(&attributes);
    Snapshot *snapshot = built;
    for (LIST_EACH(int, i, snapshot->diagnostics.list))
        CHECK(snapshot->diagnostics.list.items[i].id != DIAGNOSTIC_INTERNAL_ERROR);
    snapshot_release(snapshot);
}

TEST(deep_nesting) {
    Arena *arena = arena_new();
    for (size_t i = 0; i < sizeof deeps / sizeof *deeps; i++) survive(deep_text(arena, &deeps[i]));
    arena_free(arena);
}

TEST(deep_indentation) {
    static const char *const heads[] = {
        "if i:", "for j in range(3):", "while i < 3:", "def f():", "class A:", "with i:"};
    Arena *arena = arena_new();
    for (size_t h = 0; h < sizeof heads / sizeof *heads; h++) {
        Buffer text = buffer_new(arena);
        buffer_puts(&text, KERNEL);
        for (int i = 0; i < INDENTED; i++) buffer_printf(&text, "%*s%s\n", i + 4, "", heads[h]);
        buffer_printf(&text, "%*si = 1\n", INDENTED + 4, "");
        survive((Str){buffer_text(&text), text.size});
    }
    arena_free(arena);
}

TEST(endless_recursion) {
    survive(STR("@triton.jit\ndef f(a):\n    return f(a + 1)\n" KERNEL "    f(i)\n"));
    survive(STR("@triton.jit\ndef f(a):\n    return g(a) + g(a)\n"
                "@triton.jit\ndef g(a):\n    return f(a) + f(a)\n" KERNEL "    f(i)\n"));
    survive(STR("A = B\nB = A\n" KERNEL "    x = A\n"));
}

TEST(long_lines) {
    Arena *arena = arena_new();
    size_t size = 10 << 20;
    char *line = arena_alloc(arena, size + 1);
    memset(line, 'a', size);
    survive((Str){line, size});
    static const char opening[] = {'x', ' ', '=', ' ', '\''};
    memcpy(line, opening, sizeof opening);
    survive((Str){line, size});
    line[0] = '#';
    survive((Str){line, size});
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(deep_nesting), TEST_ROW(deep_indentation), TEST_ROW(endless_recursion),
          TEST_ROW(long_lines))
