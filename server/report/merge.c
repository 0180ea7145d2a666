// A three-way merge by lines. S. Khanna, K. Kunal, B. Pierce, "A formal investigation of diff3" (2007): what all three have in common
// separates chunks; each chunk is taken from who changed it.
#include "server/report/merge.h"

#include <ctype.h>
#include <string.h>

#include "server/report/diff.h"

typedef struct MergeSide {
    DiffLines lines;
    int *match;  // for each line of the base, its line here, or -1
} MergeSide;

typedef struct Merger {
    Arena *arena;
    DiffLines base;
    MergeSide ours, theirs;
    const char *our_name, *their_name;
    Buffer out;
    int line;  // of `out`, from 1
    LineMerge result;
} Merger;

/// A line as it is compared: numbers in comments of ours, which name lines of the forward, are left out.
static Str line_key(Arena *arena, Str line) {
    Str text = str_trim(line);
    if (!str_starts(text, "# ") || !str_contains(text, STR("line "))) return line;
    Buffer key = buffer_new(arena);
    for (size_t i = 0; i < line.size; i++)
        if (!isdigit((unsigned char)line.data[i])) buffer_putc(&key, line.data[i]);
    return str_from(buffer_text(&key));
}

static DiffLines keys_of(Arena *arena, const DiffLines *lines) {
    DiffLines keys = {0};
    for (LIST_EACH(int, i, lines->list))
        LIST_PUSH(arena, &keys.list, line_key(arena, lines->list.items[i]));
    return keys;
}

static MergeSide side_of(Arena *arena, const DiffLines *base, Str text) {
    MergeSide side = {.lines = diff_lines(arena, text)};
    side.match = ARENA_ARRAY(arena, int, base->list.count + 1);
    DiffLines keys = keys_of(arena, base), own = keys_of(arena, &side.lines);
    Edits edits = diff_edits(arena, &keys, &own);
    int x = 0, y = 0;
    for (LIST_EACH(int, i, edits.list)) {
        EditKind kind = edits.list.items[i];
        if (kind != EDIT_INSERT) side.match[x++] = kind == EDIT_KEEP ? y : -1;
        y += kind != EDIT_DELETE;
    }
    return side;
}

typedef struct MergeSpan {
    const DiffLines *lines;
    int start, end;
} MergeSpan;

static bool span_equal(Arena *arena, MergeSpan a, MergeSpan b) {
    if (a.end - a.start != b.end - b.start) return false;
    for (int i = 0; i < a.end - a.start; i++)
        if (!str_equal(line_key(arena, a.lines->list.items[a.start + i]),
                       line_key(arena, b.lines->list.items[b.start + i])))
            return false;
    return true;
}

static void put_text(Merger *merger, const char *text, size_t size) {
    buffer_add(&merger->out, text, size);
    for (size_t i = 0; i < size; i++) merger->line += text[i] == '\n';
}

static void put_span(Merger *merger, MergeSpan span) {
    for (int i = span.start; i < span.end; i++)
        put_text(merger, span.lines->list.items[i].data, span.lines->list.items[i].size);
}

static void note_change(Merger *merger) {
    if (!merger->result.first_change) merger->result.first_change = merger->line;
}

static void put_marker(Merger *merger, const char *marker, const char *name) {
    // A last line without an end gets one.
    const Buffer *out = &merger->out;
    if (out->size && out->data[out->size - 1] != '\n') put_text(merger, "\n", 1);
    const char *line = arena_printf(merger->arena, "%s%s%s\n", marker, *name ? " " : "", name);
    put_text(merger, line, strlen(line));
}

/// Lines that both have at the start and at the end stand outside of the markers.
static void put_conflict(Merger *merger, MergeSpan ours, MergeSpan theirs) {
    Arena *arena = merger->arena;
    MergeSpan head = ours, tail = ours;
    while (ours.start < ours.end && theirs.start < theirs.end &&
           span_equal(arena, (MergeSpan){ours.lines, ours.start, ours.start + 1},
                      (MergeSpan){theirs.lines, theirs.start, theirs.start + 1}))
        ours.start++, theirs.start++;
    while (ours.start < ours.end && theirs.start < theirs.end &&
           span_equal(arena, (MergeSpan){ours.lines, ours.end - 1, ours.end},
                      (MergeSpan){theirs.lines, theirs.end - 1, theirs.end}))
        ours.end--, theirs.end--;
    head.end = ours.start;
    tail.start = ours.end;
    put_span(merger, head);
    note_change(merger);
    merger->result.conflicts++;
    if (!merger->result.first_conflict) merger->result.first_conflict = merger->line;
    put_marker(merger, "<<<<<<<", merger->our_name);
    put_span(merger, ours);
    put_marker(merger, "=======", "");
    put_span(merger, theirs);
    put_marker(merger, ">>>>>>>", merger->their_name);
    put_span(merger, tail);
}

static void put_chunk(Merger *merger, MergeSpan base, MergeSpan ours, MergeSpan theirs) {
    Arena *arena = merger->arena;
    bool own = !span_equal(arena, base, ours), their = !span_equal(arena, base, theirs);
    if (!their || (own && span_equal(arena, ours, theirs))) {
        merger->result.kept += own && !their;
        put_span(merger, ours);
    } else if (!own) {
        note_change(merger);
        put_span(merger, theirs);
    } else {
        put_conflict(merger, ours, theirs);
    }
}

/// The next line of the base that both sides have, from their places on; the base's end where there is none.
static int next_common(const Merger *merger, int from, int ours, int theirs) {
    int i = from;
    while (i < merger->base.list.count &&
           (merger->ours.match[i] < ours || merger->theirs.match[i] < theirs))
        i++;
    return i;
}

LineMerge merge_lines(Arena *arena, Str base, Str ours, const char *our_name, Str theirs,
                      const char *their_name) {
    Merger merger = {.arena = arena,
                     .base = diff_lines(arena, base),
                     .our_name = our_name,
                     .their_name = their_name,
                     .out = buffer_new(arena),
                     .line = 1};
    merger.ours = side_of(arena, &merger.base, ours);
    merger.theirs = side_of(arena, &merger.base, theirs);
    int i = 0, own = 0, their = 0, count = merger.base.list.count;
    for (;;) {
        int next = next_common(&merger, i, own, their);
        int own_end = next < count ? merger.ours.match[next] : merger.ours.lines.list.count;
        int their_end = next < count ? merger.theirs.match[next] : merger.theirs.lines.list.count;
        put_chunk(&merger, (MergeSpan){&merger.base, i, next},
                  (MergeSpan){&merger.ours.lines, own, own_end},
                  (MergeSpan){&merger.theirs.lines, their, their_end});
        if (next == count) break;
        // The newer text says which line of the forward is meant.
        put_span(&merger, (MergeSpan){&merger.theirs.lines, their_end, their_end + 1});
        i = next + 1, own = own_end + 1, their = their_end + 1;
    }
    merger.result.text = buffer_text(&merger.out);
    return merger.result;
}
