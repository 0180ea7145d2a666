// A cell is read line by line: only where a statement can begin is a `%` or a `!` no Python.
#include "server/text/notebook.h"

#include <string.h>
#include <strings.h>

#include "analysis/syntax/source.h"
#include "server/text/protocol.h"

#define CELL_SCHEME "vscode-notebook-cell:"

bool uri_is_cell(const char *uri) {
    return strncasecmp(uri, CELL_SCHEME, strlen(CELL_SCHEME)) == 0;
}

const char *cell_path(Arena *arena, const char *uri) {
    const char *rest = uri + strlen(CELL_SCHEME);
    Str file = {rest, strcspn(rest, "#?")};
    const char *path = path_of_uri(arena, arena_printf(arena, "file:%.*s", STR_ARGS(file)));
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    return arena_printf(arena, "%.*s" SOURCE_CELL, folder, path);
}

/// What lines before leave open.
typedef struct Open {
    int depth;             // of brackets
    char quote;            // of a string in three quotes, or 0
    bool is_continued;     // by a backslash
    bool is_magic;         // the line that is continued
    bool is_other_syntax;  // all of the cell
} Open;

static bool is_triple(Str text, size_t at) {
    return at + 2 < text.size && text.data[at + 1] == text.data[at] &&
           text.data[at + 2] == text.data[at];
}

/// Where a string that begins at `at` ends; one in three quotes may leave itself open.
static size_t string_end(Str line, size_t at, Open *open) {
    char quote = line.data[at];
    if (is_triple(line, at)) {
        open->quote = quote;
        return at + 3;
    }
    for (at++; at < line.size && line.data[at] != quote; at++)
        if (line.data[at] == '\\') at++;
    return at + 1;
}

/// Follows brackets, strings and a backslash at the end.
static void line_follow(Str line, Open *open) {
    size_t at = 0;
    while (at < line.size) {
        char c = line.data[at];
        if (open->quote) {
            if (c == '\\') {
                at++;
            } else if (c == open->quote && is_triple(line, at)) {
                open->quote = 0;
                at += 2;
            }
            at++;
            continue;
        }
        if (c == '#') break;
        if (c == '"' || c == '\'') {
            at = string_end(line, at, open);
            continue;
        }
        if (strchr("([{", c)) open->depth++;
        if (strchr(")]}", c) && open->depth) open->depth--;
        at++;
    }
    open->is_continued = line.size && line.data[line.size - 1] == '\\';
}

/// Where in a line that begins a statement IPython's own syntax begins; the line's size where it is Python.
static size_t magic_start(Str line) {
    size_t start = 0;
    while (start < line.size && strchr(" \t", line.data[start])) start++;
    if (start == line.size) return line.size;
    bool is_help = line.data[line.size - 1] == '?' && !memchr(line.data, '#', line.size);
    if (is_help || strchr("%!?", line.data[start])) return start;
    // `files = !ls`
    size_t at = start;
    while (at < line.size && (byte_is_word(line.data[at]) || strchr(", .", line.data[at]))) at++;
    if (at == start || at >= line.size || line.data[at] != '=') return line.size;
    do at++;
    while (at < line.size && line.data[at] == ' ');
    return at < line.size && strchr("%!", line.data[at]) ? at : line.size;
}

static void blank(char *data, size_t size) { memset(data, ' ', size); }

/// Whether the body below `%%name` is Python, too.
static bool body_is_python(Str line) {
    static const char *const names[] = {"time", "timeit", "capture", "prun", "python", "python3"};
    Str name = {line.data + 2, 0};
    while (2 + name.size < line.size && byte_is_word(name.data[name.size])) name.size++;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is(name, names[i])) return true;
    return str_is(name, "writefile") && str_ends(str_trim(line), ".py");
}

static void line_take(char *data, size_t size, bool is_first, Open *open) {
    Str line = {data, size};
    if (size && data[size - 1] == '\r') line.size--;
    if (is_first && str_starts(line, "%%")) open->is_other_syntax = !body_is_python(line);
    if (open->is_other_syntax || (open->is_continued && open->is_magic)) {
        open->is_continued = line.size && data[line.size - 1] == '\\';
        blank(data, line.size);
        return;
    }
    bool begins = !open->depth && !open->quote && !open->is_continued;
    size_t magic = begins ? magic_start(line) : line.size;
    open->is_magic = magic < line.size;
    if (!open->is_magic) {
        line_follow(line, open);
        return;
    }
    open->is_continued = data[line.size - 1] == '\\';
    blank(data + magic, line.size - magic);
    data[magic] = '0';  // a statement, so that a block may consist of it
}

Str cell_python(Arena *arena, Str text) {
    char *copy = arena_strndup(arena, text.data, text.size);
    Open open = {0};
    bool is_first = true;
    for (size_t at = 0; at < text.size;) {
        const char *newline = memchr(copy + at, '\n', text.size - at);
        size_t size = newline ? (size_t)(newline - copy) - at : text.size - at;
        bool says = str_trim((Str){copy + at, size}).size > 0;
        line_take(copy + at, size, is_first, &open);
        is_first = is_first && !says;
        at += size + 1;
    }
    return (Str){copy, text.size};
}
