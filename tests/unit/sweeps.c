// Every question of the editor at every place: of the examples, of updated snapshots beside fresh ones, of cut texts and wreckage.
#include "features/features.h"

#include <dirent.h>

#include "tests/support/check.h"
#include "tests/support/files.h"

// --- Edited texts

static void sweep_folder(const char *folder, void (*run)(Str text)) {
    DIR *directory = opendir(folder);
    CHECK(directory != NULL);
    int files = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        Arena *arena = arena_new();
        if (str_ends(str_from(entry->d_name), ".py")) {
            files++;
            run(file_text(arena, arena_printf(arena, "%s/%s", folder, entry->d_name)));
        }
        arena_free(arena);
    }
    if (directory) closedir(directory);
    CHECK(files > 3);
}

static void show_at(Buffer *out, const Snapshot *snapshot, uint32_t offset) {
    Arena *arena = out->arena;
    Hover hover = hover_at(arena, snapshot, offset);
    buffer_printf(out, "hover %u %s\n", offset, hover.markdown ? hover.markdown : "none");
    Links links = definition_at(arena, snapshot, offset);
    for (LIST_EACH(int, k, links.list))
        buffer_printf(out, "definition %u %u-%u\n", offset, links.list.items[k].target.start,
                      links.list.items[k].target.end);
    links = type_definition_at(arena, snapshot, offset);
    for (LIST_EACH(int, k, links.list))
        buffer_printf(out, "type %u %u\n", offset, links.list.items[k].target.start);
    Ranges ranges = references_at(arena, snapshot, offset, true);
    buffer_printf(out, "references %d\n", ranges.list.count);
}

/// Everything that is shown of a file, as one text.
static const char *shown(Arena *arena, const Snapshot *snapshot) {
    Buffer out = buffer_new(arena);
    uint32_t size = (uint32_t)snapshot->source->text.size;
    InlayHints hints = inlay_hints(arena, snapshot, 0, size);
    for (LIST_EACH(int, i, hints.list))
        buffer_printf(&out, "hint %u%s\n", hints.list.items[i].offset, hints.list.items[i].label);
    Tokens tokens = semantic_tokens(arena, snapshot, 0, size);
    for (LIST_EACH(int, i, tokens.list))
        buffer_printf(&out, "token %u-%u %d %u\n", tokens.list.items[i].start,
                      tokens.list.items[i].end, (int)tokens.list.items[i].type,
                      (unsigned)tokens.list.items[i].modifiers);
    Symbols symbols = document_symbols(arena, snapshot);
    for (LIST_EACH(int, i, symbols.list)) {
        const Symbol *symbol = symbols.list.items[i];
        buffer_printf(&out, "symbol %s %u-%u %d\n", symbol->name, symbol->range.start,
                      symbol->range.end, symbol->children.count);
    }
    Lenses lenses = code_lenses(arena, snapshot);
    for (LIST_EACH(int, i, lenses.list))
        buffer_printf(&out, "lens %u %d\n", lenses.list.items[i].range.start,
                      lenses.list.items[i].is_forward);
    for (LIST_EACH(int, i, tokens.list))
        if (i % 5 == 0) show_at(&out, snapshot, tokens.list.items[i].start);
    return buffer_text(&out);
}

/// Tells the first line in which two texts differ.
static void check_same(const char *name, const char *updated, const char *fresh) {
    if (strcmp(updated, fresh) == 0) return;
    size_t start = 0;
    for (size_t i = 0; updated[i] && updated[i] == fresh[i]; i++)
        if (updated[i] == '\n') start = i + 1;
    check_fail(name, 0, "an updated snapshot shows something else than a fresh one");
    printf("  updated  %.*s\n  fresh    %.*s\n", (int)strcspn(updated + start, "\n"),
           updated + start, (int)strcspn(fresh + start, "\n"), fresh + start);
}

static void edit_check(Arena *arena, const Snapshot *before, const char *what, const char *text) {
    Snapshot *updated = snapshot_update(before, str_from(text), NULL);
    Snapshot *fresh = snapshot_build("edit.py", str_from(text), NULL);
    check_same(what, shown(arena, updated), shown(arena, fresh));
    snapshot_release(updated);
    snapshot_release(fresh);
}

/// Lines above, below and inside kernels; later edits start from a text that shares already.
static void edit_file(Str text) {
    Arena *arena = arena_new();
    Snapshot *first = snapshot_build("edit.py", text, NULL);
    const char *shifted = arena_printf(arena, "# one more line\n\n%.*s", STR_ARGS(text));
    edit_check(arena, first, "lines above", shifted);
    Snapshot *second = snapshot_update(first, str_from(shifted), NULL);
    const char *half = text.data + text.size / 2;
    while (*half && *half != '\n') half++;
    const char *inside =
        arena_printf(arena, "%.*s\n    extra = 1%s", (int)(half - text.data), text.data, half);
    edit_check(arena, second, "a line inside", inside);
    edit_check(arena, second, "a function behind",
               arena_printf(arena, "%s\n\ndef behind():\n    pass\n", shifted));
    Snapshot *third = snapshot_update(second, str_from(inside), NULL);
    snapshot_release(second);
    snapshot_release(first);
    edit_check(arena, third, "back again", str_dup(arena, text));
    snapshot_release(third);
    arena_free(arena);
}

TEST(edits) { sweep_folder("examples", edit_file); }

// --- Every place

/// Every question about one place; the answers must lie in the text.
static void ask_everything(Arena *arena, const Snapshot *snapshot, uint32_t offset) {
    uint32_t size = (uint32_t)snapshot->source->text.size;
    Hover hover = hover_at(arena, snapshot, offset);
    if (hover.markdown) CHECK(hover.range.end <= size && hover.range.start <= hover.range.end);
    inlay_hint_tooltip(arena, snapshot, offset);
    Completions completions = completions_at(arena, snapshot, offset);
    CHECK(completions.replace.start <= offset && completions.replace.end == offset);
    Signature found = signature_at(arena, snapshot, offset);
    CHECK(found.active < found.parameters.count);
    Links links = definition_at(arena, snapshot, offset);
    for (LIST_EACH(int, i, links.list)) CHECK(links.list.items[i].selection.source != NULL);
    declaration_at(arena, snapshot, offset);
    type_definition_at(arena, snapshot, offset);
    const char *refusal;
    Range range = rename_prepare(arena, snapshot, offset, &refusal);
    CHECK((refusal == NULL) == (range.source != NULL));
    rename_at(arena, snapshot, offset, STR("renamed_here"), &refusal);
    Highlights highlights = highlights_at(arena, snapshot, offset);
    for (LIST_EACH(int, i, highlights.list)) CHECK(highlights.list.items[i].range.end <= size);
    selection_ranges(arena, snapshot, offset);
    CallItem item = call_item_at(arena, snapshot, offset);
    if (item.name) CHECK(item.selection.source != NULL);
}

static void ask_file(Arena *arena, const Snapshot *snapshot) {
    uint32_t size = (uint32_t)snapshot->source->text.size;
    inlay_hints(arena, snapshot, 0, size);
    semantic_tokens(arena, snapshot, 0, size);
    code_lenses(arena, snapshot);
    document_symbols(arena, snapshot);
    folding_ranges(arena, snapshot);
}

/// Every `step`-th place of the text cut off after `size` bytes, from `from` on.
static void sweep(Str text, size_t size, uint32_t from, uint32_t step) {
    Arena *arena = arena_new();
    Snapshot *snapshot = snapshot_build("sweep.py", (Str){text.data, size}, NULL);
    ask_file(arena, snapshot);
    arena_free(arena);
    for (uint32_t offset = from; offset <= size; offset += step) {
        arena = arena_new();
        ask_everything(arena, snapshot, offset);
        arena_free(arena);
    }
    arena = arena_new();
    ask_everything(arena, snapshot, (uint32_t)size);
    calls_into(arena, snapshot, (uint32_t)size);
    calls_from(arena, snapshot, (uint32_t)size);
    arena_free(arena);
    snapshot_release(snapshot);
}

static void sweep_whole(Str text) { sweep(text, text.size, 0, 29); }

static void sweep_cut(Str text) {
    for (size_t size = 80; size < text.size; size += text.size / 9 + 1)
        sweep(text, size, (uint32_t)(size - 40), 7);
}

static void sweep_dense(Str text) { sweep(text, text.size, 0, 3); }

TEST(sweep_of_examples) { sweep_folder("examples", sweep_whole); }
TEST(sweep_of_cut_examples) { sweep_folder("examples", sweep_cut); }
TEST(sweep_of_fixtures) { sweep_folder("tests/features", sweep_dense); }

TEST(sweep_of_wreckage) {
    static const char *const texts[] = {
        "",
        "\n",
        "@",
        "@triton.jit",
        "@triton.jit\ndef",
        "@triton.jit\ndef k(",
        "import triton.language as tl\ntl.",
        "(((((((((((",
        "tl.load(",
        "# tad:",
        "# tad: ignore[",
        "\"",
        "'''",
        "@triton.jit\ndef k(x):\n  x.",
        "import triton\n@triton.jit\ndef k(x):\n\treturn x.\n",
        "\xc3\xa4\xc3\xb6 = tl.load(\xc3\xbc",
        "k[(1,)](",
        "a[b](",
        "import triton\n@triton.jit\ndef k(a, *b, c=1, **d):\n  for",
        "lambda: (yield",
        "f'{tl.load(",
        "]]])))"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Str text = str_from(texts[i]);
        sweep(text, text.size, 0, 1);
    }
}

TEST_MAIN(TEST_ROW(edits), TEST_ROW(sweep_of_examples), TEST_ROW(sweep_of_cut_examples),
          TEST_ROW(sweep_of_fixtures), TEST_ROW(sweep_of_wreckage))
