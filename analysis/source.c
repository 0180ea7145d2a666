// Text in, places out: byte offsets to lines and columns.
#include "analysis/source.h"

Source *source_new(Arena *arena, const char *path, Str text) {
    Source *source = ARENA_NEW(arena, Source);
    source->path = path;
    source->text = text;
    int lines = 1;
    for (size_t i = 0; i < text.size; i++) lines += text.data[i] == '\n';
    source->line_count = lines;
    source->line_starts = ARENA_ARRAY(arena, uint32_t, lines);
    int line = 1;
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '\n') source->line_starts[line++] = (uint32_t)(i + 1);
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
