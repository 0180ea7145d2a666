// Text in, the ends of its top-level statements out: a scan that knows strings, comments and brackets, and no grammar.
#include "analysis/syntax/split.h"

#include <string.h>

typedef enum LineKind {
    LINE_INSIDE,  // goes on with what came before
    LINE_SIMPLE,
    LINE_IMPORT,
    LINE_COMPOUND,
    LINE_DECORATOR,
    LINE_DEFINITION,
} LineKind;

/// Lines between an unclosed bracket's `@` and the definition that shows it to be a decorator.
enum { DECORATOR_LINES = 64 };

static char char_at(Str text, size_t at) { return at < text.size ? text.data[at] : '\0'; }

static bool is_letter(char c) { return byte_is_word(c) && !(c >= '0' && c <= '9'); }

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static size_t line_end(Str text, size_t at) {
    const char *newline = at < text.size ? memchr(text.data + at, '\n', text.size - at) : NULL;
    return newline ? (size_t)(newline - text.data) : text.size;
}

static Str word_at(Str text, size_t at) {
    size_t end = at;
    while (byte_is_word(char_at(text, end))) end++;
    return (Str){text.data + at, end - at};
}

static bool word_is_any(Str word, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (str_is(word, words[i])) return true;
    return false;
}

/// The word after `word` and the blanks behind it; empty where something else follows.
static Str next_word(Str text, Str word) {
    size_t at = (size_t)(word.data - text.data) + word.size;
    if (!is_blank(char_at(text, at))) return (Str){text.data + at, 0};
    while (is_blank(char_at(text, at))) at++;
    return word_at(text, at);
}

/// Whether `from` at `word` is that of `from some.module import ...`.
static bool imports_from(Str text, Str word) {
    size_t at = (size_t)(word.data - text.data) + word.size;
    if (!is_blank(char_at(text, at))) return false;
    while (is_blank(char_at(text, at))) at++;
    size_t module = at;
    while (byte_is_word(char_at(text, at)) || char_at(text, at) == '.') at++;
    Str name = {text.data + module, at - module};
    return name.size && str_is(next_word(text, name), "import");
}

static LineKind word_kind(Str text, Str word) {
    static const char *const inside[] = {"else", "elif", "except", "finally"};
    static const char *const compound[] = {"if", "for", "while", "with", "try", "async"};
    if (word_is_any(word, inside, sizeof inside / sizeof *inside)) return LINE_INSIDE;
    Str next = next_word(text, word);
    if (str_is(word, "async") && str_is(next, "def")) return LINE_DEFINITION;
    if ((str_is(word, "def") || str_is(word, "class")) && next.size) return LINE_DEFINITION;
    if (str_is(word, "import") && next.size) return LINE_IMPORT;
    if (str_is(word, "from") && imports_from(text, word)) return LINE_IMPORT;
    return word_is_any(word, compound, sizeof compound / sizeof *compound) ? LINE_COMPOUND
                                                                           : LINE_SIMPLE;
}

static LineKind line_kind(Str text, size_t at) {
    char c = char_at(text, at);
    if (is_letter(c)) return word_kind(text, word_at(text, at));
    if (c == '@') return is_letter(char_at(text, at + 1)) ? LINE_DECORATOR : LINE_SIMPLE;
    bool is_inside = is_blank(c) || c == '\n' || c == '\r' || c == '\f' || c == '#' || c == ')' ||
                     c == ']' || c == '}' || c == '\0';
    return is_inside ? LINE_INSIDE : LINE_SIMPLE;
}

/// Whether the `@name` at a line's start decorates a definition that follows; inside brackets it may multiply matrices.
static bool decorates(Str text, size_t at) {
    size_t end = line_end(text, at);
    for (int depth = 0; at < end && depth >= 0; at++) {
        char c = text.data[at];
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        if (depth < 0) return false;
    }
    for (int lines = 0; lines < DECORATOR_LINES && at < text.size; lines++) {
        at = line_end(text, at) + 1;
        LineKind kind = at < text.size ? line_kind(text, at) : LINE_SIMPLE;
        if (kind == LINE_DEFINITION) return true;
        if (kind != LINE_DECORATOR && kind != LINE_INSIDE) return false;
    }
    return false;
}

/// Whether a line within brackets shows that they were never closed.
static bool is_outside(Str text, size_t at) {
    LineKind kind = line_kind(text, at);
    return kind == LINE_DEFINITION || kind == LINE_IMPORT ||
           (kind == LINE_DECORATOR && decorates(text, at));
}

/// Past the backslash at `at` and what it escapes; a line's end counts as one.
static size_t escape_end(Str text, size_t at) {
    bool is_crlf = char_at(text, at + 1) == '\r' && char_at(text, at + 2) == '\n';
    size_t end = at + (is_crlf ? 3 : 2);
    return end < text.size ? end : text.size;
}

static size_t string_end(Str text, size_t at) {
    char quote = text.data[at];
    bool is_long = char_at(text, at + 1) == quote && char_at(text, at + 2) == quote;
    size_t i = at + (is_long ? 3 : 1);
    while (i < text.size) {
        char c = text.data[i];
        if (c == '\\') {
            i = escape_end(text, i);
        } else if (c == quote && !is_long) {
            return i + 1;
        } else if (c == quote && char_at(text, i + 1) == quote && char_at(text, i + 2) == quote) {
            return i + 3;
        } else if (c == '\n' && !is_long) {
            return i;
        } else {
            i++;
        }
    }
    return text.size;
}

/// Whether a piece of kind `*kind` ends before a line of kind `line`; else what it is with that line.
static bool piece_ends(LineKind *kind, LineKind line) {
    if (line == LINE_INSIDE) return false;
    bool goes_on = *kind == LINE_INSIDE || (*kind == LINE_IMPORT && line == LINE_IMPORT) ||
                   (*kind == LINE_DECORATOR && (line == LINE_DECORATOR || line == LINE_DEFINITION));
    if (goes_on) *kind = line;
    return !goes_on;
}

size_t split_next(Str text, size_t from) {
    LineKind kind = LINE_INSIDE;
    int depth = 0;
    bool is_start = true;
    for (size_t i = from; i < text.size;) {
        if (is_start && depth == 0 && piece_ends(&kind, line_kind(text, i))) return i;
        if (is_start && depth > 0 && is_outside(text, i)) return i;
        is_start = false;
        switch (text.data[i]) {
        case '#': i = line_end(text, i); break;
        case '"':
        case '\'': i = string_end(text, i); break;
        case '\\': i = escape_end(text, i); break;
        case '(':
        case '[':
        case '{':
            depth++;
            i++;
            break;
        case ')':
        case ']':
        case '}':
            depth -= depth > 0;
            i++;
            break;
        case '\n':
            is_start = true;
            i++;
            break;
        default: i++;
        }
    }
    return text.size;
}
