// After any edit a snapshot that was updated equals one that was built anew.
#include "tests/support/edits.h"
#include "analysis/snapshot.h"
#include "tests/support/check.h"
#include "tests/support/equal.h"
#include "tests/support/files.h"

#include <glob.h>
#include <pthread.h>
#include <stdlib.h>

typedef struct Session {
    Snapshot *snapshot;
    Snapshot *earlier;  // to come back to: undo
    unsigned seed;
} Session;

static unsigned next_random(unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static bool session_edit(Session *session, Str other) {
    Arena *arena = arena_new();
    unsigned char bytes[32];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)next_random(&session->seed);
    Choices choices = {bytes, sizeof bytes, 0};
    Str text = session->snapshot->source->text;
    bool undoes = choose(&choices, 6) == 0;
    text = undoes ? session->earlier->source->text : edit_text(arena, &choices, text, other);
    if (text.size > 30000) text.size = 30000;
    Snapshot *next = snapshot_update(session->snapshot, text, &session->snapshot->options);
    const char *difference = snapshot_difference(arena, next);
    if (difference) printf("%s\nseed %u\n%s\n", next->source->path, session->seed, difference);
    snapshot_release(session->earlier);
    session->earlier = session->snapshot;
    session->snapshot = next;
    arena_free(arena);
    return !difference;
}

/// `count` edits of the file, each compared with a snapshot built anew.
static bool edit_file(const char *path, int count, Str other) {
    Arena *arena = arena_new();
    Session session = {.seed = (unsigned)strlen(path) * 7919u};
    session.snapshot = snapshot_build(path, file_text(arena, path), NULL);
    session.earlier = snapshot_retain(session.snapshot);
    bool equal = true;
    for (int i = 0; i < count && equal; i++) equal = session_edit(&session, other);
    snapshot_release(session.snapshot);
    snapshot_release(session.earlier);
    arena_free(arena);
    return equal;
}

static void edit_files(const char *pattern, int count) {
    Arena *arena = arena_new();
    Str other = file_text(arena, "tests/fixtures/launch.py");
    glob_t files;
    CHECK_EQ_INT(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) CHECK(edit_file(files.gl_pathv[i], count, other));
    globfree(&files);
    arena_free(arena);
}

/// TAD_EDITS: how many edits of each file, for a longer run than that of `make test`.
static int edit_count(int usual) {
    const char *wanted = getenv("TAD_EDITS");
    return wanted ? (int)strtol(wanted, NULL, 10) : usual;
}

TEST(edited_examples_equal_new_ones) { edit_files("examples/*.py", edit_count(12)); }
TEST(edited_goldens_equal_new_ones) { edit_files("tests/golden/*.py", edit_count(25)); }
TEST(edited_fixtures_equal_new_ones) { edit_files("tests/fixtures/*.py", edit_count(8)); }

/* ---- what depends on what ---- */

static const char header[] =
    "import triton\nimport triton.language as tl\n\nWIDTH: tl.constexpr = 16\n\n\n";
static const char helper[] = "@triton.jit\ndef inner(p, N: tl.constexpr):\n"
                             "    return tl.load(p + tl.arange(0, N))\n\n\n";
static const char kernel[] = "@triton.jit\ndef kernel(X, Y):\n"
                             "    tl.store(Y + tl.arange(0, WIDTH), inner(X, WIDTH))\n\n\n";
static const char plain[] = "@triton.jit\ndef plain(X, Y):\n"
                            "    i = tl.program_id(0)\n    tl.store(Y + i, tl.load(X + i))\n\n\n";
static const char launcher[] = "def launch(x, y):\n    kernel[(1,)](x, y)\n    plain[(4,)](x, y)\n";

typedef struct Step {
    const char *find;
    const char *replace;
    bool keeps_kernel;  // whether the work on `kernel` and on `plain` is taken over
    bool keeps_plain;
} Step;

static const Region *body_of(const Snapshot *snapshot, const char *name) {
    const Kernel *found = snapshot_find_kernel(snapshot, str_from(name));
    return found ? found->function->body : NULL;
}

static Str replaced(Arena *arena, Str text, const char *find, const char *replace) {
    const char *at = strstr(text.data, find);
    CHECK(at != NULL);
    return replace_bytes(arena, text, (size_t)(at - text.data), strlen(find), str_from(replace));
}

TEST(work_is_kept_where_nothing_it_rests_on_changed) {
    static const Step steps[] = {
        {"import triton\n", "import math\nimport triton\n", true, true},  // only moves
        {"tl.constexpr = 16", "tl.constexpr = 32", false, true},
        {"return tl.load(p", "return 2 * tl.load(p", false, true},
        {"Y + i, tl.load(X + i)", "Y + i, tl.load(X + i + 1)", true, false},
        {"plain[(4,)](x, y)", "plain[(4,)](y, x)", false, false},  // names both
        {"def launch", "def other(x):\n    return x\n\n\ndef launch", true, true},
        {"def other(x):", "def other(x:", true, true},  // no Python, but nobody asks
        {"def other(x:", "def other(x):", true, true},
        {"def launch", "plain[(3,)](1, 2)\n\n\ndef launch", true, false},
        {"def inner", "def outer", false, true},
        {"def outer", "def inner", false, true},  // `inner` was missing
        {"triton.language as tl", "triton.language as l", false, false},
    };
    Arena *arena = arena_new();
    Str text = str_from(arena_printf(arena, "%s%s%s%s%s", header, helper, kernel, plain, launcher));
    Snapshot *snapshot = snapshot_build("k.py", text, NULL);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        text = replaced(arena, text, steps[i].find, steps[i].replace);
        Snapshot *next = snapshot_update(snapshot, text, NULL);
        bool kept = body_of(snapshot, "kernel") == body_of(next, "kernel");
        bool kept_plain = body_of(snapshot, "plain") == body_of(next, "plain");
        if (kept != steps[i].keeps_kernel || kept_plain != steps[i].keeps_plain)
            printf("step %d: `%s`\n", (int)i, steps[i].replace);
        CHECK_EQ_INT(kept, steps[i].keeps_kernel);
        CHECK_EQ_INT(kept_plain, steps[i].keeps_plain);
        CHECK_EQ_STR(snapshot_difference(arena, next), NULL);
        snapshot_release(snapshot);
        snapshot = next;
    }
    snapshot_release(snapshot);
    arena_free(arena);
}

TEST(other_imports_or_options_start_afresh) {
    Arena *arena = arena_new();
    Str text = str_from(arena_printf(arena, "%s%s%s", header, helper, kernel));
    Snapshot *first = snapshot_build("k.py", text, NULL);
    SnapshotOptions options = {.imports_version = 1};
    Snapshot *second = snapshot_update(first, text, &options);
    CHECK(body_of(first, "kernel") != body_of(second, "kernel"));
    Snapshot *third = snapshot_update(second, text, &options);
    CHECK(body_of(second, "kernel") == body_of(third, "kernel"));
    snapshot_release(first);
    snapshot_release(second);
    snapshot_release(third);
    arena_free(arena);
}

/* ---- threads ---- */

typedef struct Reader {
    const Snapshot *snapshot;
    Str text;
    bool is_equal;
} Reader;

/// Updates a snapshot that other threads update and read at the same time, each to a text of its own.
static void *read_and_update(void *context) {
    Reader *reader = context;
    Arena *arena = arena_new();
    Snapshot *snapshot = snapshot_retain(reader->snapshot);
    const char *before = snapshot_text(arena, snapshot);
    Snapshot *next = snapshot_update(snapshot, reader->text, NULL);
    reader->is_equal =
        !snapshot_difference(arena, next) && strcmp(before, snapshot_text(arena, snapshot)) == 0;
    snapshot_release(snapshot);
    Snapshot *last = snapshot_update(next, reader->snapshot->source->text, NULL);
    reader->is_equal = reader->is_equal && strcmp(before, snapshot_text(arena, last)) == 0;
    snapshot_release(next);
    snapshot_release(last);
    arena_free(arena);
    return NULL;
}

TEST(threads_share_snapshots) {
    enum { THREADS = 4, ROUNDS = 5 };
    Arena *arena = arena_new();
    Str text = str_from(arena_printf(arena, "%s%s%s%s%s", header, helper, kernel, plain, launcher));
    static const char *const edits[THREADS] = {"WIDTH: tl.constexpr = 16", "return tl.load(p",
                                               "i = tl.program_id(0)", "def launch"};
    Snapshot *snapshot = snapshot_build("k.py", text, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        Reader readers[THREADS];
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) {
            readers[i] = (Reader){snapshot, replaced(arena, text, edits[i], "# gone"), false};
            CHECK_EQ_INT(pthread_create(&threads[i], NULL, read_and_update, &readers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            CHECK(readers[i].is_equal);
        }
    }
    snapshot_release(snapshot);
    arena_free(arena);
}

/// A text that is long enough for several threads, whose kernels share a helper and globals.
TEST(threads_share_one_text) {
    enum { KERNELS = 100 };
    Arena *arena = arena_new();
    Str text = str_from(arena_printf(arena, "%s%s%s", header, helper, plain));
    for (int i = 0; i < KERNELS; i++) {
        Str named = replaced(arena, str_from(kernel), "def kernel(",
                             arena_printf(arena, "def kernel%d(", i));
        text = str_from(arena_printf(arena, "%.*s%.*s", STR_ARGS(text), STR_ARGS(named)));
    }
    CHECK(text.size > 8192);
    Snapshot *first = snapshot_build("k.py", text, NULL);
    Snapshot *second = snapshot_build("k.py", text, NULL);
    CHECK(first->kernels.count >= KERNELS);
    CHECK_EQ_STR(snapshot_text(arena, first), snapshot_text(arena, second));
    snapshot_release(first);
    snapshot_release(second);
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(threads_share_snapshots), TEST_ROW(threads_share_one_text),
          TEST_ROW(work_is_kept_where_nothing_it_rests_on_changed),
          TEST_ROW(other_imports_or_options_start_afresh), TEST_ROW(edited_examples_equal_new_ones),
          TEST_ROW(edited_goldens_equal_new_ones), TEST_ROW(edited_fixtures_equal_new_ones))
