// Unified diffs: known ones, and random texts whose diff, applied, gives the new text.
#include "server/report/diff.h"

#include <stdlib.h>

#include "tests/support/check.h"

TEST(known) {
    Arena *arena = arena_new();
    CHECK_EQ_STR(diff_unified(arena, "a", "x\ny\n", "b", "x\ny\n"), "");
    CHECK_EQ_STR(diff_unified(arena, "a", NULL, "b", "x\n"),
                 "--- /dev/null\n+++ b\n@@ -0,0 +1 @@\n+x\n");
    CHECK_EQ_STR(diff_unified(arena, "a", "x\n", "b", ""), "--- a\n+++ b\n@@ -1 +0,0 @@\n-x\n");
    CHECK_EQ_STR(
        diff_unified(arena, "a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "b", "1\n2\n3\n4\nV\n6\n7\n8\n9\n"),
        "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+V\n 6\n 7\n 8\n");
    CHECK_EQ_STR(diff_unified(arena, "a", "x", "b", "x\n"),
                 "--- a\n+++ b\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+x\n");
    arena_free(arena);
}

typedef struct Cursor {
    const char *at;
} Cursor;

static Str take_line(Cursor *cursor) {
    const char *end = strchr(cursor->at, '\n');
    Str line = {cursor->at, end ? (size_t)(end - cursor->at) + 1 : strlen(cursor->at)};
    cursor->at += line.size;
    return line;
}

/// Applies a diff of texts that end in a line feed; NULL where context or deleted lines do not fit.
static const char *apply(Arena *arena, const char *old_text, const char *diff) {
    Cursor old = {old_text}, patch = {diff};
    Buffer out = buffer_new(arena);
    int old_line = 0;
    while (*patch.at) {
        Str line = take_line(&patch);
        if (str_starts(line, "---") || str_starts(line, "+++")) continue;
        if (str_starts(line, "@@ -")) {
            int start = (int)strtol(line.data + 4, NULL, 10);
            const char *after = line.data + 4 + strcspn(line.data + 4, ", ");
            bool empty = strncmp(after, ",0", 2) == 0;
            for (; old_line < start - !empty; old_line++) {
                Str kept = take_line(&old);
                buffer_add(&out, kept.data, kept.size);
            }
            continue;
        }
        Str body = {line.data + 1, line.size - 1};
        if (*line.data != '+') {
            if (!str_equal(take_line(&old), body)) return NULL;
            old_line++;
        }
        if (*line.data != '-') buffer_add(&out, body.data, body.size);
    }
    buffer_puts(&out, old.at);
    return buffer_text(&out);
}

static const char *random_text(Arena *arena, unsigned *state, int lines, int letters) {
    Buffer text = buffer_new(arena);
    for (int i = 0; i < lines; i++) {
        *state = *state * 1103515245u + 12345u;
        buffer_printf(&text, "%c\n", 'a' + (int)(*state >> 16) % letters);
    }
    return buffer_text(&text);
}

TEST(random_texts) {
    unsigned state = 1;
    for (int round = 0; round < 400; round++) {
        Arena *arena = arena_new();
        int letters = 2 + round % 7;
        const char *a = random_text(arena, &state, round % 23, letters);
        const char *b = random_text(arena, &state, (round * 7) % 31, letters);
        const char *diff = diff_unified(arena, "a", a, "b", b);
        CHECK_EQ_STR(apply(arena, a, diff), b);
        arena_free(arena);
    }
}

TEST(too_different) {
    Arena *arena = arena_new();
    Buffer a = buffer_new(arena), b = buffer_new(arena);
    for (int i = 0; i < 3000; i++) {
        buffer_printf(&a, "a%d\n", i);
        buffer_printf(&b, "b%d\n", i);
    }
    const char *diff = diff_unified(arena, "a", buffer_text(&a), "b", buffer_text(&b));
    CHECK_EQ_STR(apply(arena, buffer_text(&a), diff), buffer_text(&b));
    arena_free(arena);
}

TEST_MAIN(TEST_ROW(known), TEST_ROW(random_texts), TEST_ROW(too_different))
