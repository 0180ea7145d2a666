#include "tests/unit/passes/generate.h"

#include "gpu-runner/interp/memory.h"

enum { MOST_LOOPS = 2, MOST_OUTPUTS = 12, PART = 64, ELEMENTS = 512 };

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const char *const TILES[] = {"a", "b", "acc", "v"};
static const char *const SCALARS[] = {"s", "m"};
static const char *const INPUTS[] = {"X", "W", "Q"};
static const char *const MASKS[] = {"", "", ", mask=c < n, other=0.0", ", mask=c < n, other=0.0",
                                    ", mask=(c < n) & (p < 2), other=1.0"};
static const char *const UNARY[] = {
    "tl.sin(%s)",     "tl.exp(0.2 * tl.sin(%s))",
    "tl.sigmoid(%s)", "tl.sqrt(0.5 + tl.exp(-%s))",
    "smooth(%s)",     "(-%s)",
    "(%s * -0.5)",    "(%s * 1.0)",
    "tl.abs(%s)",
};
static const char *const BINARY[] = {
    "(%s + %s)",   "(%s - %s)",          "(%s * %s)",
    "mix(%s, %s)", "tl.maximum(%s, %s)", "(%s / (1.5 + tl.sin(%s)))",
};
static const char *const CHOICES[] = {"tl.where(c % 2 == 0, ", "tl.where(c < n, ",
                                      "tl.where(c == p, ", "tl.where(start > 0.0, "};
static const char *const REDUCTIONS[] = {"tl.sum(%s, axis=0)", "tl.max(%s, axis=0)",
                                         "tl.min(%s, axis=0)"};
static const char *const CONDITIONS[] = {"p % 2 == 0", "FLAG", "start > 0.0", "not FLAG", "FLAG"};
static const char *const RANGES[] = {"range(L)", "range(M)", "range(L - 1, -1, -1)",
                                     "tl.static_range(2)", "range(0, L, 1)"};

/// Exponents of a product of matrices and a row.
static const char *const EXPONENTS[] = {
    "%s * 0.25 - %s[:, None]",
    "tl.where(c[None, :] < n, %s * tl.sin(s), -float('inf')) - %s[:, None]",
    "tl.where(c[:, None] < c[None, :], %s / 3.0, -1e30) - %s[:, None]",
    "tl.where(c[:, None] == p, -1e4, tl.sin(%s) * 2.0 + %s[None, :])",
    "0.5 * (c[:, None] - c[None, :]) - %s - %s[None, :]",
    "%s + tl.load(W + c[:, None] * B + c[None, :]) - %s[:, None]",
};

typedef struct Author {
    Arena *arena;
    uint64_t state;
    Buffer body;
    int outputs, loops, depth, counters;
    bool in_while;
} Author;

static uint64_t draw(Author *author) { return author->state = hash_mix(author->state + 1); }
static int below(Author *author, int count) { return (int)(draw(author) % (uint64_t)count); }
static bool chance(Author *author) { return below(author, 2) == 0; }
#define ONE_OF(author, items) ((items)[below((author), COUNT(items))])

static void indent(Author *author) {
    for (int i = 0; i <= author->depth; i++) buffer_puts(&author->body, "    ");
}

/* ---- expressions ---- */

static const char *scalar(Author *author, int depth);

/// A pattern with one or two `%s`.
static const char *filled(Author *author, const char *pattern, const char *first,
                          const char *second) {
    Buffer out = buffer_new(author->arena);
    for (const char *at = pattern; *at; at++) {
        if (at[0] != '%' || at[1] != 's') {
            buffer_putc(&out, *at);
            continue;
        }
        buffer_puts(&out, first);
        first = second;
        at++;
    }
    return buffer_text(&out);
}

static const char *tile(Author *author, int depth) {
    int kind = depth < 3 ? below(author, 8) : 0;
    if (kind < 2) return ONE_OF(author, TILES);
    const char *first = tile(author, depth + 1);
    if (kind == 2) return filled(author, ONE_OF(author, UNARY), first, NULL);
    if (kind == 3) return filled(author, ONE_OF(author, BINARY), first, scalar(author, depth + 1));
    if (kind == 4) return arena_printf(author->arena, "tl.cumsum(%s, axis=0)", first);
    const char *second = tile(author, depth + 1);
    if (kind == 5)
        return arena_printf(author->arena, "%s%s, %s)", ONE_OF(author, CHOICES), first, second);
    if (kind == 6 && depth < 2)
        return arena_printf(author->arena, "tl.sum(%s[:, None] * tl.sin(%s)[None, :], axis=%d)",
                            first, second, below(author, 2));
    return filled(author, ONE_OF(author, BINARY), first, second);
}

static const char *scalar(Author *author, int depth) {
    int kind = depth < 3 ? below(author, 4) : 0;
    if (kind == 1) return filled(author, ONE_OF(author, UNARY), scalar(author, depth + 1), NULL);
    if (kind == 2) {
        const char *first = scalar(author, depth + 1);
        return filled(author, ONE_OF(author, BINARY), first, scalar(author, depth + 1));
    }
    if (kind == 3) return filled(author, ONE_OF(author, REDUCTIONS), tile(author, depth + 1), NULL);
    return ONE_OF(author, SCALARS);
}

static const char *place(Author *author) {
    Buffer out = buffer_new(author->arena);
    buffer_printf(&out, "%d", 4 * below(author, 3));
    if (below(author, 4)) buffer_printf(&out, " + p * %d", 8 * below(author, 3) + 8);
    for (int i = 0; i < author->loops; i++)
        if (below(author, 4)) buffer_printf(&out, " + %c * %d", "ij"[i], 8 * below(author, 2) + 8);
    return buffer_text(&out);
}

static const char *loaded(Author *author) {
    const char *input = ONE_OF(author, INPUTS), *at = place(author);
    switch (below(author, 6)) {
    case 0:
        return arena_printf(author->arena,
                            "tl.load(tl.make_block_ptr(%s + %s, (n, 8), (8, 1), (%d, 0), (1, B), "
                            "(1, 0)), boundary_check=(0, 1)).reshape([B])",
                            input, at, below(author, 2));
    case 1:
        return arena_printf(author->arena, "tl.load(chosen + %s + c%s)", at, ONE_OF(author, MASKS));
    default:
        return arena_printf(author->arena, "tl.load(%s + %s + c%s)", input, at,
                            ONE_OF(author, MASKS));
    }
}

/* ---- statements ---- */

static void assign(Author *author) {
    bool is_tile = below(author, 4) > 0;
    const char *name = is_tile ? ONE_OF(author, TILES) : ONE_OF(author, SCALARS);
    const char *value = is_tile ? tile(author, 1) : scalar(author, 1);
    indent(author);
    if (chance(author))
        buffer_printf(&author->body, "%s = 0.5 * %s + %s\n", name, name, value);
    else
        buffer_printf(&author->body, "%s = %s\n", name, value);
}

static void load(Author *author) {
    indent(author);
    buffer_printf(&author->body, "%s = %s\n", ONE_OF(author, TILES), loaded(author));
}

/// A part of an output that no other program, iteration or statement stores to.
static void store(Author *author) {
    if (author->outputs == MOST_OUTPUTS || author->in_while) return;
    indent(author);
    const char *at = "p";
    for (int i = 0; i < author->loops; i++)
        at = arena_printf(author->arena, "(%s * 3 + %c)", at, "ij"[i]);
    int kind = below(author, 5);
    const char *mask = chance(author) ? ", mask=c < n" : "";
    if (kind == 0)
        buffer_printf(&author->body, "tl.atomic_add(y%d + c, %s%s)\n", author->outputs,
                      tile(author, 1), mask);
    else if (kind == 1)
        buffer_printf(&author->body, "tl.store(y%d + %s, %s)\n", author->outputs, at,
                      scalar(author, 1));
    else
        buffer_printf(&author->body, "tl.store(y%d + %s * B + c, %s%s)\n", author->outputs, at,
                      tile(author, 1), mask);
    author->outputs++;
}

/// One tensor is loaded and stored, each program in a part of its own.
static void in_place(Author *author) {
    const char *at = arena_printf(author->arena, "Z + p * %d + %d + c", PART, 8 * below(author, 2));
    indent(author);
    if (chance(author))
        buffer_printf(&author->body, "%s = tl.load(%s)\n", ONE_OF(author, TILES), at);
    else
        buffer_printf(&author->body, "tl.store(%s, %s)\n", at, tile(author, 1));
}

/// Exponentials of a product: in a loop they are taken to base 2.
static void scores(Author *author) {
    const char *product = arena_printf(
        author->arena,
        "tl.dot(tl.sin(%s)[:, None] + tl.zeros([B, B], tl.float32), tl.sin(%s)[None, :] * "
        "tl.sin(%s)[:, None])",
        ONE_OF(author, TILES), tile(author, 2), ONE_OF(author, TILES));
    const char *row = arena_printf(author->arena, "tl.sin(%s)", ONE_OF(author, TILES));
    buffer_printf(&author->body, "%s = tl.sum(tl.exp(%s), axis=%d)\n", ONE_OF(author, TILES),
                  filled(author, ONE_OF(author, EXPONENTS), product, row), below(author, 2));
}

static void product(Author *author) {
    indent(author);
    if (chance(author)) {
        scores(author);
        return;
    }
    buffer_printf(&author->body,
                  "%s = tl.sum(tl.dot(%s[:, None] + tl.zeros([B, B], tl.float32), "
                  "%s[None, :] * %s[:, None]), axis=%d)\n",
                  ONE_OF(author, TILES), tile(author, 2), ONE_OF(author, TILES),
                  ONE_OF(author, TILES), below(author, 2));
}

/// The sum of exponentials as they come in, beside their maximum.
static void online(Author *author) {
    const char *name = ONE_OF(author, TILES);
    indent(author);
    buffer_printf(&author->body, "top = tl.max(%s, axis=0)\n", name);
    indent(author);
    buffer_printf(&author->body, "%s = tl.exp(%s - top) / tl.sum(tl.exp(%s - top), axis=0)\n",
                  ONE_OF(author, TILES), name, name);
}

static void block(Author *author, int budget);

static void inner(Author *author, int budget) {
    author->depth++;
    block(author, budget - 1);
    author->depth--;
}

static void branch(Author *author, int budget) {
    const char *condition = ONE_OF(author, CONDITIONS);
    int times = chance(author) ? 1 : 2;
    for (int i = 0; i < times; i++) {
        indent(author);
        buffer_printf(&author->body, "if %s:\n", condition);
        inner(author, budget);
    }
    if (chance(author)) {
        indent(author);
        buffer_puts(&author->body, "else:\n");
        inner(author, budget);
    }
}

static void loop(Author *author, int budget) {
    if (author->loops == MOST_LOOPS) return;
    indent(author);
    if (below(author, 4) == 0) {
        int counter = author->counters++;
        bool outer = author->in_while;
        buffer_printf(&author->body, "k%d = 0\n", counter);
        indent(author);
        buffer_printf(&author->body, "while k%d < L:\n", counter);
        author->in_while = true;
        inner(author, budget);
        author->in_while = outer;
        author->depth++;
        indent(author);
        buffer_printf(&author->body, "k%d += 1\n", counter);
        author->depth--;
        return;
    }
    buffer_printf(&author->body, "for %c in %s:\n", "ij"[author->loops], ONE_OF(author, RANGES));
    author->loops++;
    inner(author, budget);
    author->loops--;
}

static void block(Author *author, int budget) {
    assign(author);
    int count = 1 + below(author, 3);
    for (int i = 0; i < count; i++) {
        int kind = below(author, 13);
        if (kind < 3)
            load(author);
        else if (kind < 5)
            store(author);
        else if (kind < 7 && budget > 0)
            loop(author, budget);
        else if (kind < 9 && budget > 0)
            branch(author, budget);
        else if (kind == 9)
            product(author);
        else if (kind == 10)
            online(author);
        else if (kind == 11 && author->loops == 0 && !author->in_while)
            in_place(author);
        else
            assign(author);
    }
}

/* ---- the module ---- */

static const char HELPERS[] =
    "import triton\nimport triton.language as tl\n\n\n"
    "@triton.jit\ndef smooth(x):\n    return x * tl.sigmoid(x)\n\n\n"
    "@triton.jit\ndef mix(x, y):\n    d = x - y\n    return x + d * 0.25 + d * d * 0.125\n\n\n";

const char *kernel_generate(Arena *arena, uint64_t seed) {
    Author author = {.arena = arena, .state = hash_mix(seed), .body = buffer_new(arena)};
    bool flag = chance(&author), picks = chance(&author);
    indent(&author);
    buffer_printf(&author.body, "chosen = %s\n", picks ? "X if FLAG else W" : "Q + 8");
    if (chance(&author)) {
        buffer_puts(&author.body, "    if start > 0.0:\n        chosen = W + 4\n    else:\n"
                                  "        chosen = Q\n");
    }
    for (int i = 0; i < COUNT(TILES); i++) {
        indent(&author);
        buffer_printf(&author.body, "%s = %s\n", TILES[i],
                      below(&author, 4) ? loaded(&author) : "tl.zeros([B], tl.float32)");
    }
    buffer_printf(&author.body, "    s = tl.load(W + p)\n    m = 0.5\n");
    block(&author, 2);
    store(&author);
    buffer_printf(&author.body, "    tl.store(Y + p * B + c, %s)\n", tile(&author, 0));
    int programs = 1 + below(&author, 3), trips = 1 + below(&author, 3);
    Buffer out = buffer_new(arena), names = buffer_new(arena), values = buffer_new(arena);
    for (int i = 0; i < author.outputs; i++) {
        buffer_printf(&names, "y%d, ", i);
        buffer_printf(&values, "y%d=f32[%d], ", i, ELEMENTS);
    }
    buffer_printf(&out,
                  "%s# tad: X=f32[%d], W=f32[%d], Q=f32[%d], Z=f32[%d], Y=f32[%d], %s"
                  "L=%d, M=%d, n=%d, FLAG=%s, B=8, grid=(%d,)\n",
                  HELPERS, ELEMENTS, ELEMENTS, ELEMENTS, ELEMENTS, ELEMENTS, buffer_text(&values),
                  trips, 1 + below(&author, 3), 3 + below(&author, 4), flag ? "True" : "False",
                  programs);
    buffer_printf(&out,
                  "@triton.jit\ndef drawn(X, W, Q, Z, Y, %sL, M, n, FLAG: tl.constexpr, B: "
                  "tl.constexpr):\n    p = tl.program_id(0)\n    c = tl.arange(0, B)\n"
                  "    start = tl.load(W + p * 2)\n%s",
                  buffer_text(&names), buffer_text(&author.body));
    return buffer_text(&out);
}
