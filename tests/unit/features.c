// The features of the editor over annotated Python (tests/features/*.py), half-typed snippets with a cursor `|`.
//
//     x = tl.load(x_ptr + offsets)
//     #   ^^^^^^^ hover: part of the Markdown, from the first caret's place on
//
// Kinds: hover, inlay, token, lens, label (names a place), def, back (declaration), ref (all places, by their labels). A range
// that starts in the column of the `#` is written `# <^^^`; only where a marker starts counts.
#include "features/features.h"

#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/files.h"

typedef struct Marker {
    char kind[16];
    const char *text;
    uint32_t offset;
    int line;  // of the code, from 1
} Marker;

typedef struct Fixture {
    Arena *arena;
    const char *path;
    Snapshot *snapshot;
    Marker markers[400];
    int count;
} Fixture;

/// A marker in the line at [start, end), or false.
static bool marker_read(Fixture *fixture, uint32_t start, uint32_t end, Marker *marker) {
    const char *text = fixture->snapshot->source->text.data;
    uint32_t at = start;
    while (at < end && text[at] == ' ') at++;
    uint32_t column = at - start;
    if (at == end || text[at] != '#') return false;
    at++;
    while (at < end && text[at] == ' ') at++;
    bool at_hash = at < end && text[at] == '<';
    if (at_hash) at++;
    if (at == end || text[at] != '^') return false;
    marker->offset = at_hash ? column : at - start;
    while (at < end && text[at] == '^') at++;
    while (at < end && text[at] == ' ') at++;
    size_t size = 0;
    while (at < end && text[at] != ':' && size < sizeof marker->kind - 1)
        marker->kind[size++] = text[at++];
    marker->kind[size] = '\0';
    if (at == end || text[at] != ':') return false;
    marker->text = str_dup(fixture->arena, str_trim((Str){text + at + 1, end - at - 1}));
    return true;
}

static void fixture_open(Fixture *fixture, Arena *arena, const char *name) {
    fixture->arena = arena;
    fixture->count = 0;
    fixture->path = arena_printf(arena, "tests/features/%s", name);
    fixture->snapshot = snapshot_build(fixture->path, file_text(arena, fixture->path), NULL);
    const Source *source = fixture->snapshot->source;
    int code = 0;
    for (int line = 0; line < source->line_count; line++) {
        uint32_t start = source->line_starts[line];
        uint32_t end = line + 1 < source->line_count ? source->line_starts[line + 1] - 1
                                                     : (uint32_t)source->text.size;
        Marker marker = {.line = code + 1};
        if (!marker_read(fixture, start, end, &marker)) {
            code = line;
            continue;
        }
        marker.offset += source->line_starts[code];
        if (fixture->count < 400) fixture->markers[fixture->count++] = marker;
    }
    CHECK(fixture->count > 0 && fixture->count < 400);
}

static void marker_fail(const Fixture *fixture, const Marker *marker, const char *actual) {
    check_fail(fixture->path, marker->line,
               arena_printf(fixture->arena, "%s: %s", marker->kind, marker->text));
    printf("  actual   %s\n", actual);
}

static int line_of(const Fixture *fixture, uint32_t offset) {
    int line;
    int column;
    source_position(fixture->snapshot->source, offset, &line, &column);
    return line + 1;
}

// --- Fixtures

static void run_hover(const Fixture *fixture, const Marker *marker) {
    Hover hover = hover_at(fixture->arena, fixture->snapshot, marker->offset);
    bool is_none = strcmp(marker->text, "none") == 0;
    bool fits = is_none ? !hover.markdown : hover.markdown && strstr(hover.markdown, marker->text);
    if (!fits) marker_fail(fixture, marker, hover.markdown ? hover.markdown : "nothing");
    if (hover.markdown)
        CHECK(hover.range.start <= marker->offset && marker->offset < hover.range.end);
}

static const char *label_at(const Fixture *fixture, uint32_t offset) {
    for (int i = 0; i < fixture->count; i++)
        if (strcmp(fixture->markers[i].kind, "label") == 0 && fixture->markers[i].offset == offset)
            return fixture->markers[i].text;
    return arena_printf(fixture->arena, "line %d", line_of(fixture, offset));
}

static void run_links(const Fixture *fixture, const Marker *marker, Links links) {
    Buffer out = buffer_new(fixture->arena);
    for (LIST_EACH(int, i, links.list))
        buffer_printf(&out, "%s%s", i ? " " : "",
                      label_at(fixture, links.list.items[i].selection.start));
    if (strcmp(buffer_text(&out), marker->text) != 0)
        marker_fail(fixture, marker, buffer_text(&out));
}

static void run_references(const Fixture *fixture, const Marker *marker) {
    Ranges ranges = references_at(fixture->arena, fixture->snapshot, marker->offset, true);
    Buffer out = buffer_new(fixture->arena);
    for (LIST_EACH(int, i, ranges.list))
        buffer_printf(&out, "%s%s", i ? " " : "", label_at(fixture, ranges.list.items[i].start));
    if (strcmp(buffer_text(&out), marker->text) != 0)
        marker_fail(fixture, marker, buffer_text(&out));
    Highlights highlights = highlights_at(fixture->arena, fixture->snapshot, marker->offset);
    CHECK_EQ_INT(highlights.list.count, ranges.list.count);
}

/// Whether the hint is the one that the marker means: behind the name that starts there.
static bool hint_fits(const Fixture *fixture, const Marker *marker, const InlayHint *hint) {
    const char *label = hint->label;
    if (strncmp(label, ": ", 2) == 0) label += 2;
    while (*label == ' ') label++;
    if (strcmp(label, marker->text) != 0 || line_of(fixture, hint->offset) != marker->line)
        return false;
    if (strncmp(label, "->", 2) == 0) return true;
    if (hint->is_parameter) return hint->offset == marker->offset;
    const char *text = fixture->snapshot->source->text.data;
    for (uint32_t i = marker->offset; i < hint->offset; i++)
        if (text[i] == ' ' || text[i] == ',' || text[i] == '(') return false;
    return marker->offset < hint->offset;
}

static void run_inlay(const Fixture *fixture) {
    InlayHints hints = inlay_hints(fixture->arena, fixture->snapshot, 0,
                                   (uint32_t)fixture->snapshot->source->text.size);
    bool *used = ARENA_ARRAY(fixture->arena, bool, hints.list.count + 1);
    for (int i = 0; i < fixture->count; i++) {
        const Marker *marker = &fixture->markers[i];
        if (strcmp(marker->kind, "inlay") != 0) continue;
        bool found = false;
        for (LIST_EACH(int, k, hints.list))
            if (!used[k] && hint_fits(fixture, marker, &hints.list.items[k]))
                found = used[k] = true;
        if (!found) marker_fail(fixture, marker, "no such hint");
    }
    for (LIST_EACH(int, k, hints.list)) {
        const InlayHint *hint = &hints.list.items[k];
        if (!used[k]) check_fail(fixture->path, line_of(fixture, hint->offset), hint->label);
        CHECK(inlay_hint_tooltip(fixture->arena, fixture->snapshot, hint->offset) != NULL);
    }
}

static const char *token_text(Arena *arena, const Token *token) {
    static const char *const types[] = {
#define TOKEN(id, name) #id,
        TOKEN_TYPES(TOKEN)
#undef TOKEN
    };
    static const char *const modifiers[] = {
#define MODIFIER(id, name) name,
        TOKEN_MODIFIERS(MODIFIER)
#undef MODIFIER
    };
    Buffer out = buffer_new(arena);
    buffer_puts(&out, types[token->type]);
    for (int i = 0; i < TOKEN_MODIFIER_COUNT; i++)
        if (token->modifiers & (1u << i)) buffer_printf(&out, " %s", modifiers[i]);
    return buffer_text(&out);
}

static void run_tokens(const Fixture *fixture) {
    Tokens tokens = semantic_tokens(fixture->arena, fixture->snapshot, 0,
                                    (uint32_t)fixture->snapshot->source->text.size);
    Map lines = map_new(fixture->arena);
    bool *used = ARENA_ARRAY(fixture->arena, bool, tokens.list.count + 1);
    for (int i = 0; i < fixture->count; i++) {
        const Marker *marker = &fixture->markers[i];
        if (strcmp(marker->kind, "token") != 0) continue;
        map_set_number(&lines, (uint64_t)marker->line, &lines);
        const char *actual = "no token";
        for (LIST_EACH(int, k, tokens.list)) {
            if (tokens.list.items[k].start != marker->offset) continue;
            actual = token_text(fixture->arena, &tokens.list.items[k]);
            used[k] = true;
        }
        if (strcmp(actual, marker->text) != 0) marker_fail(fixture, marker, actual);
    }
    for (LIST_EACH(int, k, tokens.list)) {
        const Token *token = &tokens.list.items[k];
        int line = line_of(fixture, token->start);
        if (!used[k] && map_has_number(&lines, (uint64_t)line))
            check_fail(fixture->path, line, token_text(fixture->arena, token));
        if (k) CHECK(tokens.list.items[k - 1].end <= token->start);
    }
}

static void run_lens(const Fixture *fixture, const Marker *marker) {
    Lenses lenses = code_lenses(fixture->arena, fixture->snapshot);
    const char *actual = "none";
    for (LIST_EACH(int, i, lenses.list))
        if (lenses.list.items[i].range.start == marker->offset)
            actual = lenses.list.items[i].is_backward  ? "backward"
                     : lenses.list.items[i].is_forward ? "forward"
                                                       : "other";
    if (strcmp(actual, marker->text) != 0) marker_fail(fixture, marker, actual);
}

static void run_marker(const Fixture *fixture, const Marker *marker) {
    Arena *arena = fixture->arena;
    const Snapshot *snapshot = fixture->snapshot;
    if (strcmp(marker->kind, "hover") == 0)
        run_hover(fixture, marker);
    else if (strcmp(marker->kind, "def") == 0)
        run_links(fixture, marker, definition_at(arena, snapshot, marker->offset));
    else if (strcmp(marker->kind, "back") == 0)
        run_links(fixture, marker, declaration_at(arena, snapshot, marker->offset));
    else if (strcmp(marker->kind, "type") == 0)
        run_links(fixture, marker, type_definition_at(arena, snapshot, marker->offset));
    else if (strcmp(marker->kind, "ref") == 0)
        run_references(fixture, marker);
    else if (strcmp(marker->kind, "lens") == 0)
        run_lens(fixture, marker);
    else if (strcmp(marker->kind, "label") != 0 && strcmp(marker->kind, "inlay") != 0 &&
             strcmp(marker->kind, "token") != 0)
        marker_fail(fixture, marker, "no such kind of marker");
}

static bool has_kind(const Fixture *fixture, const char *kind) {
    for (int i = 0; i < fixture->count; i++)
        if (strcmp(fixture->markers[i].kind, kind) == 0) return true;
    return false;
}

static void fixture_run(const char *name) {
    Arena *arena = arena_new();
    Fixture *fixture = ARENA_NEW(arena, Fixture);
    fixture_open(fixture, arena, name);
    for (int i = 0; i < fixture->count; i++) run_marker(fixture, &fixture->markers[i]);
    if (has_kind(fixture, "inlay")) run_inlay(fixture);
    if (has_kind(fixture, "token")) run_tokens(fixture);
    snapshot_release(fixture->snapshot);
    arena_free(arena);
}

TEST(hover) { fixture_run("hover.py"); }
TEST(inlay) { fixture_run("inlay_hints.py"); }
TEST(definitions) { fixture_run("definitions.py"); }
TEST(backward) { fixture_run("backward.py"); }
TEST(tokens) { fixture_run("tokens.py"); }

// --- Snippets with a cursor

#define HEAD                                                                                       \
    "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n"   \
    "WIDTH: tl.constexpr = 16\n\n"                                                                 \
    "@triton.jit\ndef helper(value, scale: tl.constexpr = 1.0):\n    return value * scale\n\n"
#define KERNEL HEAD "@triton.jit\ndef kernel(x_ptr, n, BLOCK: tl.constexpr):\n    o = tl.arange(0, BLOCK)\n"
#define TAIL "\n\n@triton.jit\ndef later(z_ptr):\n    z = tl.load(z_ptr)\n    tl.store(z_ptr, z)\n"

typedef struct Snippet {
    Arena *arena;
    Snapshot *snapshot;
    uint32_t offset;
} Snippet;

static Snippet snippet_open(const char *text) {
    const char *cursor = strchr(text, '|');
    Snippet snippet = {.arena = arena_new(), .offset = (uint32_t)(cursor - text)};
    char *joined = arena_printf(snippet.arena, "%.*s%s", (int)(cursor - text), text, cursor + 1);
    snippet.snapshot = snapshot_build("snippet.py", str_from(joined), NULL);
    return snippet;
}

static void snippet_close(Snippet *snippet) {
    snapshot_release(snippet->snapshot);
    arena_free(snippet->arena);
}

/// Of a label of several words the first counts.
static bool offers(const Completions *completions, const char *label) {
    size_t size = strlen(label);
    for (LIST_EACH(int, i, completions->list)) {
        const char *offered = completions->list.items[i].label;
        if (strncmp(offered, label, size) == 0 && (!offered[size] || offered[size] == ' '))
            return true;
    }
    return false;
}

/// `expected`: labels with spaces between; `!label` must not be offered; "-": nothing at all is.
static void complete(int line, const char *text, const char *expected) {
    Snippet snippet = snippet_open(text);
    Completions completions = completions_at(snippet.arena, snippet.snapshot, snippet.offset);
    if (strcmp(expected, "-") == 0) {
        if (completions.list.count) check_fail("completion", line, completions.list.items[0].label);
        snippet_close(&snippet);
        return;
    }
    char *words = arena_strdup(snippet.arena, expected);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        bool is_unwanted = *word == '!';
        if (offers(&completions, word + is_unwanted) == is_unwanted)
            check_fail("completion", line, word);
    }
    CHECK(completions.replace.end == snippet.offset && completions.replace.start <= snippet.offset);
    for (LIST_EACH(int, i, completions.list)) {
        const char *key = completions.list.items[i].key;
        if (key) CHECK(completion_documentation(snippet.arena, key) != NULL);
    }
    snippet_close(&snippet);
}
#define COMPLETE(text, expected) complete(__LINE__, text, expected)

TEST(completion_of_members) {
    COMPLETE(KERNEL "    x = tl.lo|" TAIL, "load log float32 !helper");
    COMPLETE(KERNEL "    x = tl.|" TAIL, "load store float32 math extra cdiv");
    COMPLETE(KERNEL "    x = tl.load(p)\n    x = x.t|" TAIL, "to !value");
    COMPLETE(KERNEL "    x = tl.load(p)\n    y = y|" TAIL, "x !y");
    COMPLETE("import triton\nimport triton.language as tl\n@triton.jit\ndef g(x_ptr, BLOCK: tl.c|",
             "constexpr !load");
    COMPLETE(KERNEL "    x = tl.|\n    y = o + 1" TAIL, "load store float32");
    COMPLETE(KERNEL "    x = triton.language.|" TAIL, "load int64");
    COMPLETE(KERNEL "    x = libdevice.ta|" TAIL, "tanh tan !load");
    COMPLETE(KERNEL "    x = tl.math.|" TAIL, "exp2 rsqrt !load");
    COMPLETE(KERNEL "    x = o.|" TAIL, "to sum dtype shape T !load !store");
    COMPLETE(KERNEL "    x = tl.exp(o).|" TAIL, "to sum dtype");
    COMPLETE(KERNEL "    x = o.dtype.|" TAIL, "element_ty primitive_bitwidth !sum");
    COMPLETE(KERNEL "    tl.store(x_ptr + o, tl.exp(o.|" TAIL, "to sum");
    COMPLETE(KERNEL "    d = tl.make_tensor_descriptor(x_ptr, [n], [1], [BLOCK])\n    x = d.|" TAIL,
             "load store atomic_add !sum");
    COMPLETE(KERNEL "    x = 3.|" TAIL, "-");
    COMPLETE(
        "import triton\nimport triton.language as tl\n@triton.jit\ndef g(x_ptr, x = tl.dot(y, tl.|",
        "load exp float32");
}

TEST(completion_of_names) {
    COMPLETE(KERNEL "    y = o + |\n" TAIL, "o x_ptr n BLOCK WIDTH helper later tl libdevice");
    COMPLETE(KERNEL "    y = o + |\n    q = 3\n" TAIL, "o !q");
    COMPLETE(KERNEL "    for k in range(0, n):\n        a = k\n        |\n" TAIL, "a k o");
    COMPLETE(KERNEL "    y = hel|" TAIL, "helper");
    COMPLETE(KERNEL "    \"te|xt\"" TAIL, "-");
    COMPLETE(KERNEL "    y = o  # som|e" TAIL, "-");
    COMPLETE(KERNEL "    for |" TAIL, "-");
    COMPLETE(KERNEL TAIL "\ndef host(a):\n    b = a + |\n", "-");
    COMPLETE(KERNEL TAIL "\nnumber = tl.|\n", "-");
}

TEST(completion_of_arguments) {
    COMPLETE(KERNEL "    tl.load(x_ptr + o, |)" TAIL, "mask= other= cache_modifier= o !pointer=");
    COMPLETE(KERNEL "    tl.load(x_ptr + o, |" TAIL, "mask= other= cache_modifier= o");
    COMPLETE(KERNEL "    tl.load(x_ptr + o, mask=o < n, |)" TAIL, "other= !mask=");
    COMPLETE(KERNEL "    tl.load(x_ptr + o, mask=|)" TAIL, "o !other=");
    COMPLETE(KERNEL "    tl.load(x_ptr + o, cache_modifier=|)" TAIL, "\".ca\" \".cg\" !\".wb\"");
    COMPLETE(KERNEL "    tl.store(x_ptr + o, o, cache_modifier=\"|\")" TAIL, ".wb !.ca");
    COMPLETE(KERNEL "    tl.dot(o, o, input_precision=\"t|\")" TAIL, "tf32 ieee tf32x3");
    COMPLETE(KERNEL "    tl.zeros([BLOCK], dtype=|)" TAIL, "tl.float32 tl.bfloat16");
    COMPLETE(KERNEL "    tl.zeros([BLOCK], tl.|)" TAIL, "float32");
    COMPLETE(KERNEL "    y = o.sum(|)" TAIL, "axis= keep_dims= !input=");
    COMPLETE(KERNEL "    y = helper(o, |)" TAIL, "scale= !value=");
    COMPLETE(KERNEL "    y = helper(\n        o,\n        |\n    )" TAIL, "scale=");
    COMPLETE(KERNEL TAIL "\ndef host(x):\n    kernel[(1,)](x, |)\n",
             "n= BLOCK= num_warps= !x_ptr=");
    COMPLETE(KERNEL TAIL "\ndef host(x):\n    kernel[(1,)](x, n=3, |)\n", "BLOCK= !n=");
    COMPLETE(HEAD "@triton.autotune(|)\n@triton.jit\ndef k(x_ptr, B: tl.constexpr):\n    pass\n",
             "configs= key= reset_to_zero=");
    COMPLETE(
        HEAD
        "@triton.autotune(configs=[], key=[\"|\"])\n@triton.jit\ndef k(x_ptr, B: tl.constexpr):\n    pass\n",
        "x_ptr B");
    COMPLETE(KERNEL TAIL
             "\ndef host(x):\n    g = lambda m: (m[\"|\"],)\n    kernel[g](x, 3, BLOCK=16)\n",
             "BLOCK");
}

TEST(completion_of_comments) {
    COMPLETE(HEAD "# tad: |\n@triton.jit\ndef k(x_ptr, n, B: tl.constexpr):\n    pass\n",
             "x_ptr= n= B= grid uniform ignore");
    COMPLETE(HEAD "# tad: |\n@triton.jit\ndef f(x, K: tl.constexpr):\n    return x\n",
             "backward ignore");
    COMPLETE(HEAD "# tad: backward of f(x): |\n@triton.jit\ndef f(x, n):\n    return x\n",
             "grad result x n !grid");
    COMPLETE(KERNEL "    y = o  # tad: ignore[|" TAIL, "unmasked-load memory");
    COMPLETE(KERNEL "    y = o  # tad: ignore[unmasked-l|]" TAIL, "unmasked-load");
    COMPLETE(KERNEL "    y = o  # t|" TAIL, "tad: !x");
}

static void signature(int line, const char *text, const char *label, const char *active) {
    Snippet snippet = snippet_open(text);
    Signature found = signature_at(snippet.arena, snippet.snapshot, snippet.offset);
    if (!label) {
        if (found.label) check_fail("signature", line, found.label);
    } else if (!found.label || !strstr(found.label, label)) {
        check_fail("signature", line, found.label ? found.label : "none");
    } else {
        const char *actual = "none";
        if (found.active >= 0 && found.active < found.parameters.count) {
            const SignatureParameter *parameter = &found.parameters.items[found.active];
            actual = arena_strndup(snippet.arena, found.label + parameter->start,
                                   parameter->end - parameter->start);
        }
        if (strcmp(actual, active) != 0) check_fail("signature", line, actual);
    }
    snippet_close(&snippet);
}
#define SIGNATURE(text, label, active) signature(__LINE__, text, label, active)

TEST(signatures) {
    SIGNATURE(KERNEL "    tl.dot(|" TAIL, "tl.dot(input, other, acc=None", "input");
    SIGNATURE(KERNEL "    tl.dot(o, |" TAIL, "tl.dot(", "other");
    SIGNATURE(KERNEL "    tl.dot(o, o, allow_tf32=|)" TAIL, "tl.dot(", "allow_tf32=None");
    SIGNATURE(KERNEL "    tl.store(x_ptr, tl.exp(|))" TAIL, "tl.exp(x)", "x");
    SIGNATURE(KERNEL "    tl.store(x_ptr, tl.exp(o)|)" TAIL, "tl.store(", "value");
    SIGNATURE(KERNEL "    tl.zeros([BLOCK, |], dtype=tl.float32)" TAIL, "tl.zeros(", "shape");
    SIGNATURE(KERNEL "    y = o.sum(|)" TAIL, ".sum(axis=None", "axis=None");
    SIGNATURE(KERNEL "    y = helper(o, |)" TAIL, "helper(value", "scale: constexpr = 1.0");
    SIGNATURE(KERNEL TAIL "\ndef host(x):\n    kernel[(1,)](x, BLOCK=|)\n", "kernel[grid](x_ptr",
              "BLOCK: constexpr");
    SIGNATURE(KERNEL TAIL "\ndef host(x):\n    print(x, |)\n", NULL, NULL);
    SIGNATURE(KERNEL "    y = o  # tl.dot(|" TAIL, NULL, NULL);
    SIGNATURE(KERNEL "    y = tl.maximum(\n        o,\n        |\n    )" TAIL, "tl.maximum(x, y",
              "y");
}

/// The text after the rename, or "refused: why".
static const char *renamed(Snippet *snippet, const char *name) {
    const char *refusal = NULL;
    Range range = rename_prepare(snippet->arena, snippet->snapshot, snippet->offset, &refusal);
    if (refusal) return arena_printf(snippet->arena, "refused: %s", refusal);
    CHECK(range.source != NULL);
    Ranges ranges =
        rename_at(snippet->arena, snippet->snapshot, snippet->offset, str_from(name), &refusal);
    if (refusal) return arena_printf(snippet->arena, "refused: %s", refusal);
    Buffer out = buffer_new(snippet->arena);
    Str text = snippet->snapshot->source->text;
    uint32_t at = 0;
    for (LIST_EACH(int, i, ranges.list)) {
        buffer_add(&out, text.data + at, ranges.list.items[i].start - at);
        buffer_puts(&out, name);
        at = ranges.list.items[i].end;
    }
    buffer_add(&out, text.data + at, text.size - at);
    return buffer_text(&out);
}

static void rename_check(int line, const char *before, const char *name, const char *after) {
    Snippet snippet = snippet_open(before);
    const char *actual = renamed(&snippet, name);
    bool fits = strncmp(after, "refused", 7) == 0 ? strncmp(actual, after, strlen(after)) == 0
                                                  : strcmp(actual, after) == 0;
    if (!fits) check_fail("rename", line, actual);
    snippet_close(&snippet);
}
#define RENAME(before, name, after) rename_check(__LINE__, before, name, after)

#define IMPORTS "import triton\nimport triton.language as tl\n"

TEST(rename_of_locals) {
    RENAME(
        IMPORTS
        "@triton.jit\ndef k(p):\n    a = tl.load(p)\n    |a += a\n    tl.store(p, a)\ndef a(a): return a\n",
        "b",
        IMPORTS
        "@triton.jit\ndef k(p):\n    b = tl.load(p)\n    b += b\n    tl.store(p, b)\ndef a(a): return a\n");
    RENAME(IMPORTS "@triton.jit\ndef k(p):\n    |a = tl.load(p)\n    tl.store(p, a)\n", "p",
           "refused: `p` is used");
    RENAME(IMPORTS "@triton.jit\ndef k(p):\n    |a = tl.load(p)\n    tl.store(p, a)\n", "tl",
           "refused: `tl` is used");
    RENAME(IMPORTS "@triton.jit\ndef k(p):\n    |a = tl.load(p)\n", "if",
           "refused: `if` is no name");
    RENAME(IMPORTS "@triton.jit\ndef k(p):\n    |a = tl.load(p)\n", "3a",
           "refused: `3a` is no name");
    RENAME(IMPORTS "@triton.jit\ndef k(p):\n    a = tl.|load(p)\n", "b",
           "refused: This name belongs to Triton");
    RENAME(IMPORTS "def f(a):\n    return |a\n", "b", "refused: There is no name");
}

TEST(rename_of_parameters) {
    RENAME(
        IMPORTS
        "@triton.autotune([triton.Config({\"B\": 64})], key=[\"n\"])\n# tad: n=70, B=32\n@triton.jit\n"
        "def k(p, n, |B: tl.constexpr):\n    tl.store(p + tl.arange(0, B), n, mask=n < B)\n"
        "def f(p):\n    g = lambda m: (m[\"B\"],)\n    k[g](p, n=3)\n    k[(1,)](p, 3, B=16)\n",
        "WIDTH",
        IMPORTS
        "@triton.autotune([triton.Config({\"WIDTH\": 64})], key=[\"n\"])\n# tad: n=70, B=32\n@triton.jit\n"
        "def k(p, n, WIDTH: tl.constexpr):\n    tl.store(p + tl.arange(0, WIDTH), n, mask=n < WIDTH)\n"
        "def f(p):\n    g = lambda m: (m[\"WIDTH\"],)\n    k[g](p, n=3)\n    k[(1,)](p, 3, WIDTH=16)\n");
    RENAME(
        IMPORTS
        "# tad: n=70, B=n\n@triton.jit\ndef k(p, |n, B: tl.constexpr):\n    tl.store(p, n + B)\n",
        "size",
        IMPORTS
        "# tad: size=70, B=size\n@triton.jit\ndef k(p, size, B: tl.constexpr):\n    tl.store(p, size + B)\n");
    RENAME(
        IMPORTS
        "C = [triton.Config({\"B\": 64})]\n@triton.autotune(C, key=[])\n@triton.jit\n"
        "def k(p, |B: tl.constexpr):\n    tl.store(p, B)\n"
        "@triton.autotune(C, key=[])\n@triton.jit\ndef l(p, B: tl.constexpr):\n    tl.store(p, B)\n",
        "W", "refused: Line 3 gives it in configurations that other kernels use");
    RENAME(IMPORTS "@triton.jit\ndef k(p, |B: tl.constexpr):\n    tl.store(p, B)\n"
                   "def f(p, **m):\n    k[(1,)](p, **m)\n",
           "W", "refused: Line 7 passes keyword arguments by `**`");
}

TEST(rename_of_functions) {
    RENAME(
        IMPORTS
        "@triton.jit\ndef |h(x):\n    return x\n@triton.jit\ndef k(p):\n    tl.store(p, h(tl.load(p)))\n"
        "def f(p):\n    k[(1,)](p)\n",
        "identity",
        IMPORTS
        "@triton.jit\ndef identity(x):\n    return x\n@triton.jit\ndef k(p):\n    tl.store(p, identity(tl.load(p)))\n"
        "def f(p):\n    k[(1,)](p)\n");
    RENAME(IMPORTS "@triton.jit\ndef k(p):\n    tl.store(p, 1)\ndef f(p):\n    |k[(1,)](p)\n", "f",
           "refused: `f` is used");
    RENAME(IMPORTS "S: tl.constexpr = 2\n@triton.jit\ndef k(p):\n    tl.store(p, |S)\n", "SCALE",
           IMPORTS "SCALE: tl.constexpr = 2\n@triton.jit\ndef k(p):\n    tl.store(p, SCALE)\n");
}

TEST(calls) {
    Snippet snippet = snippet_open(
        IMPORTS
        "@triton.jit\ndef h(x):\n    return x\n@triton.jit\ndef |k(p):\n    tl.store(p, h(h(tl.load(p))))\n"
        "def f(p):\n    k[(1,)](p)\n");
    Arena *arena = snippet.arena;
    CallItem item = call_item_at(arena, snippet.snapshot, snippet.offset);
    CHECK_EQ_STR(item.name, "k");
    CHECK_EQ_INT(item.kind, SYMBOL_KERNEL);
    Calls into = calls_into(arena, snippet.snapshot, snippet.offset);
    CHECK_EQ_INT(into.list.count, 1);
    if (into.list.count) CHECK_EQ_STR(into.list.items[0].item.name, "f");
    Calls from = calls_from(arena, snippet.snapshot, snippet.offset);
    CHECK_EQ_INT(from.list.count, 1);
    if (from.list.count) {
        CHECK_EQ_STR(from.list.items[0].item.name, "h");
        CHECK_EQ_INT(from.list.items[0].places.list.count, 2);
        Calls back = calls_into(arena, snippet.snapshot, from.list.items[0].item.selection.start);
        CHECK_EQ_INT(back.list.count, 1);
    }
    snippet_close(&snippet);
}

TEST(outline) {
    Snippet snippet = snippet_open(
        KERNEL "    tl.store(x_ptr + o, o)\n\ndef host(x):\n    kernel[(1,)](x, 3, BLOCK=16)|\n");
    Arena *arena = snippet.arena;
    Symbols symbols = document_symbols(arena, snippet.snapshot);
    CHECK_EQ_INT(symbols.list.count, 4);
    if (symbols.list.count == 4) {
        const Symbol *kernel = symbols.list.items[2];
        CHECK_EQ_STR(symbols.list.items[0]->name, "WIDTH");
        CHECK_EQ_INT(symbols.list.items[1]->kind, SYMBOL_HELPER);
        CHECK_EQ_STR(kernel->name, "kernel");
        CHECK_EQ_INT(kernel->children.count, 4);
        CHECK_EQ_STR(kernel->children.items[3]->detail, "i32[BLOCK]");
        CHECK_EQ_INT(symbols.list.items[3]->kind, SYMBOL_LAUNCHER);
    }
    Folds folds = folding_ranges(arena, snippet.snapshot);
    bool has_imports = false;
    for (LIST_EACH(int, i, folds.list)) has_imports = has_imports || folds.list.items[i].is_imports;
    CHECK(has_imports);
    Ranges ranges = selection_ranges(arena, snippet.snapshot, snippet.offset - 3);
    CHECK(ranges.list.count > 4);
    for (int i = 1; i < ranges.list.count; i++)
        CHECK(ranges.list.items[i].start <= ranges.list.items[i - 1].start &&
              ranges.list.items[i - 1].end <= ranges.list.items[i].end);
    snippet_close(&snippet);
}

// --- Other files

static const Module *library;

static const Module *resolve_library(void *context, const Source *from, Str dotted, int level) {
    (void)context;
    (void)from;
    return level == 1 && str_is(dotted, "library") ? library : NULL;
}

TEST(imports) {
    Resolver resolver = {resolve_library, NULL};
    Snapshot *other =
        snapshot_build("library.py",
                       str_from(IMPORTS "S: tl.constexpr = 2\n@triton.jit\ndef twice(x):\n"
                                        "    \"\"\"Doubles.\"\"\"\n    return x * S\n"),
                       NULL);
    library = other->module;
    const char *text = IMPORTS "from .library import twice as double, S\n@triton.jit\ndef k(p):\n"
                               "    tl.store(p, double(tl.load(p)) * S)\n";
    SnapshotOptions options = {.resolver = &resolver};
    Snapshot *snapshot = snapshot_build("main.py", str_from(text), &options);
    Arena *arena = arena_new();
    uint32_t call = (uint32_t)(strstr(text, "double(") - text);
    Links links = definition_at(arena, snapshot, call);
    CHECK_EQ_INT(links.list.count, 1);
    if (links.list.count) {
        CHECK_EQ_STR(links.list.items[0].selection.source->path, "library.py");
        CHECK_EQ_TEXT(source_slice(links.list.items[0].selection), "twice");
    }
    Hover hover = hover_at(arena, snapshot, call);
    CHECK(hover.markdown && strstr(hover.markdown, "Doubles."));
    CHECK(hover.markdown && strstr(hover.markdown, "Defined in `library.py`"));
    links = definition_at(arena, snapshot, (uint32_t)(strstr(text, "S)") - text));
    CHECK_EQ_INT(links.list.count, 1);
    if (links.list.count)
        CHECK_EQ_TEXT(source_slice(links.list.items[0].target), "S: tl.constexpr = 2");
    const char *refusal;
    rename_prepare(arena, snapshot, call, &refusal);
    CHECK(!refusal);
    Ranges alias = rename_at(arena, snapshot, call, STR("two"), &refusal);
    CHECK(!refusal);
    CHECK_EQ_INT(alias.list.count, 2);  // the import's `as double`, and this use
    SharedName shared = shared_name_at(arena, snapshot, call);
    CHECK_EQ_STR(shared.path, "library.py");
    CHECK_EQ_TEXT(shared.name, "twice");
    CHECK(shared.is_alias);
    Calls from = calls_from(arena, snapshot, (uint32_t)(strstr(text, "k(p)") - text));
    CHECK_EQ_INT(from.list.count, 1);
    if (from.list.count) CHECK_EQ_STR(from.list.items[0].item.detail, "library.py");
    Signature found = signature_at(arena, snapshot, call + 7);
    CHECK(found.label && strstr(found.label, "twice(x"));
    arena_free(arena);
    snapshot_release(snapshot);
    snapshot_release(other);
}

TEST_MAIN(TEST_ROW(hover), TEST_ROW(inlay), TEST_ROW(definitions), TEST_ROW(backward),
          TEST_ROW(tokens), TEST_ROW(completion_of_members), TEST_ROW(completion_of_names),
          TEST_ROW(completion_of_arguments), TEST_ROW(completion_of_comments), TEST_ROW(signatures),
          TEST_ROW(rename_of_locals), TEST_ROW(rename_of_parameters), TEST_ROW(rename_of_functions),
          TEST_ROW(calls), TEST_ROW(outline), TEST_ROW(imports))
