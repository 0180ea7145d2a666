// The comment is looked for in the text of the line; one that stands in a string literal silences as well.
#include "server/report/suppress.h"

#include <string.h>

static Str source_line(const Source *source, int line) {
    if (line < 0 || line >= source->line_count) return (Str){"", 0};
    uint32_t start = source->line_starts[line];
    Str rest = {source->text.data + start, source->text.size - start};
    const char *end = rest.size ? memchr(rest.data, '\n', rest.size) : NULL;
    if (end) rest.size = (size_t)(end - rest.data);
    return rest;
}

static Str skip_spaces(Str text) {
    while (text.size && (*text.data == ' ' || *text.data == '\t')) {
        text.data++;
        text.size--;
    }
    return text;
}

/// True and the rest of `text` after `word` where it starts with it, white space before it aside.
static bool takes(Str *text, const char *word) {
    Str rest = skip_spaces(*text);
    if (!str_starts(rest, word)) return false;
    size_t size = strlen(word);
    *text = (Str){rest.data + size, rest.size - size};
    return true;
}

static bool list_names(Str list, const DiagnosticRow *row) {
    while (list.size) {
        const char *comma = memchr(list.data, ',', list.size);
        Str name = {list.data, comma ? (size_t)(comma - list.data) : list.size};
        size_t taken = name.size + (comma != NULL);
        list = (Str){list.data + taken, list.size - taken};
        name = str_trim(name);
        if (str_is(name, row->name) || str_is(name, row->family)) return true;
    }
    return false;
}

/// What follows a `#`.
static bool comment_silences(Str comment, const DiagnosticRow *row) {
    if (!takes(&comment, "tad") || !takes(&comment, ":") || !takes(&comment, "ignore"))
        return false;
    if (!takes(&comment, "[")) {
        char next = comment.size ? *comment.data : ' ';
        return next == ' ' || next == '\t' || next == '\r' || next == '#';
    }
    const char *close = memchr(comment.data, ']', comment.size);
    return close && list_names((Str){comment.data, (size_t)(close - comment.data)}, row);
}

static bool line_silences(const Source *source, int line, const DiagnosticRow *row) {
    Str text = source_line(source, line);
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '#' &&
            comment_silences((Str){text.data + i + 1, text.size - i - 1}, row))
            return true;
    return false;
}

bool is_suppressed(Range range, const DiagnosticRow *row) {
    if (!range.source) return false;
    int first, last, column;
    source_position(range.source, range.start, &first, &column);
    source_position(range.source, range.end, &last, &column);
    return line_silences(range.source, first, row) ||
           (last != first && line_silences(range.source, last, row));
}
