// Text in, places out: byte offsets to lines and columns.
#include "analysis/syntax/source.h"

#include <string.h>

Source *source_new(Arena *arena, const char *path, Str text) {
    Source *source = ARENA_NEW(arena, Source);
    source->path = path;
    source->text = text;
    source->is_cell = str_ends(str_from(path), SOURCE_CELL);
    // One pass: first with room for the lines that files usually have.
    int capacity = (int)(text.size / 24) + 16;
    source->line_starts = ARENA_ARRAY(arena, uint32_t, capacity);
    source->line_count = 1;
    const char *end = text.data + text.size;
    const char *newline;
    for (const char *at = text.data; at < end; at = newline + 1) {
        newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline) break;
        if (source->line_count == capacity) {
            source->line_starts =
                arena_grow(arena, source->line_starts, sizeof(uint32_t) * (size_t)capacity,
                           2 * sizeof(uint32_t) * (size_t)capacity);
            capacity *= 2;
        }
        source->line_starts[source->line_count++] = (uint32_t)(newline + 1 - text.data);
    }
    return source;
}

void source_position(const Source *source, uint32_t offset, int *line, int *column) {
    int low = 0;
    int high = source->line_count - 1;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (source->line_starts[middle] <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    *line = low;
    *column = (int)(offset - source->line_starts[low]);
}

Str source_slice(Range range) {
    if (!range.source || range.start > range.end || range.end > range.source->text.size)
        return (Str){"", 0};
    return (Str){range.source->text.data + range.start, range.end - range.start};
}

int range_line(Range range) {
    if (!range.source) return 0;
    int line;
    int column;
    source_position(range.source, range.start, &line, &column);
    return line + 1;
}
