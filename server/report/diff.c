// E. Myers, "An O(ND) difference algorithm and its variations" (1986): the greedy algorithm with its trace kept.
// Texts that differ in more than a few thousand lines are given as one replacement.
#include "server/report/diff.h"

#include <string.h>

enum { CONTEXT = 3, MOST_EDITS = 2000 };

DiffLines diff_lines(Arena *arena, Str text) {
    DiffLines lines = {0};
    while (text.size) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t size = end ? (size_t)(end - text.data) + 1 : text.size;
        LIST_PUSH(arena, &lines.list, (Str){text.data, size});
        text = (Str){text.data + size, text.size - size};
    }
    return lines;
}

/// How far each diagonal k = x - y got with d edits; index k + d + 1.
typedef struct Front {
    int *reach;
} Front;

/// Whether the best path to diagonal k with d edits ends in an insertion. `reach` is of d - 1: index k' + (d - 1) + 1.
static bool comes_down(const int *reach, int d, int k) {
    return k == -d || (k != d && reach[k - 1 + d] < reach[k + 1 + d]);
}

static int front_start(const Front *before, int d, int k) {
    if (d == 0) return 0;
    const int *reach = before->reach;
    return comes_down(reach, d, k) ? reach[k + 1 + d] : reach[k - 1 + d] + 1;
}

static void backtrack(Arena *arena, const Front *fronts, int d, int x, int y, Edits *edits) {
    Edits reversed = {0};
    for (; d > 0; d--) {
        int k = x - y;
        const int *reach = fronts[d - 1].reach;
        bool down = comes_down(reach, d, k);
        int before_k = down ? k + 1 : k - 1;
        int before_x = reach[before_k + d], before_y = before_x - before_k;
        int after_x = down ? before_x : before_x + 1;
        for (; x > after_x; x--, y--) LIST_PUSH(arena, &reversed.list, EDIT_KEEP);
        LIST_PUSH(arena, &reversed.list, down ? EDIT_INSERT : EDIT_DELETE);
        x = before_x;
        y = before_y;
    }
    for (; x > 0; x--) LIST_PUSH(arena, &reversed.list, EDIT_KEEP);
    for (int i = reversed.list.count - 1; i >= 0; i--)
        LIST_PUSH(arena, &edits->list, reversed.list.items[i]);
}

static bool shortest_edits(Arena *arena, const DiffLines *a, const DiffLines *b, Edits *edits) {
    int n = a->list.count, m = b->list.count;
    int most = n + m < MOST_EDITS ? n + m : MOST_EDITS;
    Front *fronts = ARENA_ARRAY(arena, Front, most + 1);
    for (int d = 0; d <= most; d++) {
        fronts[d].reach = ARENA_ARRAY(arena, int, 2 * d + 3);
        for (int k = -d; k <= d; k += 2) {
            int x = front_start(d ? &fronts[d - 1] : NULL, d, k);
            while (x < n && x - k < m && str_equal(a->list.items[x], b->list.items[x - k])) x++;
            fronts[d].reach[k + d + 1] = x;
            if (x < n || x - k < m) continue;
            backtrack(arena, fronts, d, n, m, edits);
            return true;
        }
    }
    return false;
}

Edits diff_edits(Arena *arena, const DiffLines *a, const DiffLines *b) {
    Edits edits = {0};
    if (shortest_edits(arena, a, b, &edits)) return edits;
    for (int i = 0; i < a->list.count; i++) LIST_PUSH(arena, &edits.list, EDIT_DELETE);
    for (int i = 0; i < b->list.count; i++) LIST_PUSH(arena, &edits.list, EDIT_INSERT);
    return edits;
}

static void put_line(Buffer *out, char mark, Str line) {
    buffer_putc(out, mark);
    buffer_add(out, line.data, line.size);
    if (!line.size || line.data[line.size - 1] != '\n')
        buffer_puts(out, "\n\\ No newline at end of file\n");
}

typedef struct Hunk {
    int first, end;          // edits
    int old_line, new_line;  // zero-based, where the hunk starts
} Hunk;

static void put_range(Buffer *out, char mark, int line, int count) {
    // An empty side names the line before it.
    buffer_printf(out, "%c%d", mark, count ? line + 1 : line);
    if (count != 1) buffer_printf(out, ",%d", count);
}

static void put_hunk(Buffer *out, const Edits *edits, const DiffLines *a, const DiffLines *b,
                     Hunk hunk) {
    int old_count = 0, new_count = 0;
    for (int i = hunk.first; i < hunk.end; i++) {
        old_count += edits->list.items[i] != EDIT_INSERT;
        new_count += edits->list.items[i] != EDIT_DELETE;
    }
    buffer_puts(out, "@@ ");
    put_range(out, '-', hunk.old_line, old_count);
    buffer_putc(out, ' ');
    put_range(out, '+', hunk.new_line, new_count);
    buffer_puts(out, " @@\n");
    int x = hunk.old_line, y = hunk.new_line;
    for (int i = hunk.first; i < hunk.end; i++) {
        EditKind kind = edits->list.items[i];
        Str line = kind == EDIT_INSERT ? b->list.items[y] : a->list.items[x];
        put_line(out, " -+"[kind], line);
        x += kind != EDIT_INSERT;
        y += kind != EDIT_DELETE;
    }
}

/// Where the hunk that starts at edit `i` ends: after CONTEXT kept lines with no change within twice as many.
static int hunk_end(const Edits *edits, int i) {
    int kept = 0;
    for (; i < edits->list.count; i++) {
        kept = edits->list.items[i] == EDIT_KEEP ? kept + 1 : 0;
        if (kept > 2 * CONTEXT) return i + 1 - kept + CONTEXT;
    }
    return kept > CONTEXT ? i - kept + CONTEXT : i;
}

const char *diff_unified(Arena *arena, const char *old_path, const char *old_text,
                         const char *new_path, const char *new_text) {
    DiffLines a = diff_lines(arena, old_text ? str_from(old_text) : STR("")),
              b = diff_lines(arena, str_from(new_text));
    Edits edits = diff_edits(arena, &a, &b);
    Buffer out = buffer_new(arena);
    int x = 0, y = 0, kept = 0;
    for (int i = 0; i < edits.list.count;) {
        if (edits.list.items[i] == EDIT_KEEP) {
            x++, y++, kept++, i++;
            continue;
        }
        int before = kept < CONTEXT ? kept : CONTEXT;
        Hunk hunk = {i - before, hunk_end(&edits, i), x - before, y - before};
        if (out.size == 0)
            buffer_printf(&out, "--- %s\n+++ %s\n", old_text ? old_path : "/dev/null", new_path);
        put_hunk(&out, &edits, &a, &b, hunk);
        for (; i < hunk.end; i++) {
            x += edits.list.items[i] != EDIT_INSERT;
            y += edits.list.items[i] != EDIT_DELETE;
        }
        kept = 0;
    }
    return buffer_text(&out);
}
