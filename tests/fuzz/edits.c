// A file of the examples and edits chosen by the input: after each, the updated snapshot equals one built anew.
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/snapshot.h"
#include "tests/support/edits.h"
#include "tests/support/equal.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { MOST_EDITS = 5, MOST_TEXTS = 64, LONGEST_TEXT = 2500 };

static Arena *texts_arena;
static Str texts[MOST_TEXTS];
static int text_count;

static void read_texts(const char *pattern) {
    glob_t files;
    if (glob(pattern, 0, NULL, &files) != 0) return;
    for (size_t i = 0; i < files.gl_pathc && text_count < MOST_TEXTS; i++) {
        FILE *file = fopen(files.gl_pathv[i], "rb");
        if (!file) continue;
        char *text = arena_alloc(texts_arena, LONGEST_TEXT);
        size_t size = fread(text, 1, LONGEST_TEXT, file);
        fclose(file);
        texts[text_count++] = (Str){text, size};
    }
    globfree(&files);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    texts_arena = arena_new();
    read_texts("tests/golden/*.py");
    read_texts("tests/fixtures/*.py");
    if (text_count == 0) {
        fprintf(stderr, "run this from the root of the repository\n");
        exit(2);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    Arena *arena = arena_new();
    Choices choices = {data, size, 0};
    Str text = texts[choose(&choices, (uint32_t)text_count)];
    Str other = texts[choose(&choices, (uint32_t)text_count)];
    Snapshot *snapshot = snapshot_build("fuzz.py", text, NULL);
    for (int i = 0; i < MOST_EDITS && choices.at < size; i++) {
        text = edit_text(arena, &choices, snapshot->source->text, other);
        if (text.size > 2 * LONGEST_TEXT) text.size = 2 * LONGEST_TEXT;
        Snapshot *next = snapshot_update(snapshot, text, NULL);
        snapshot_release(snapshot);
        snapshot = next;
        const char *difference = snapshot_difference(arena, snapshot);
        if (!difference) continue;
        fprintf(stderr, "%s\n", difference);
        abort();
    }
    snapshot_release(snapshot);
    arena_free(arena);
    return 0;
}
