// tree-sitter's Python scanner reads to the next statement at each comment, for its indentation: a run of n comments costs n * n.
#include "analysis/syntax/syntax_comments.h"

/// What is few is left as it is, so that comments and paragraphs of them are nodes of their own.
enum { FEW_COMMENTS = 16, FEW_PARAGRAPHS = 64 };

typedef struct Run {
    Str text;
    char *copy;  // NULL: nothing was joined yet
    size_t end;  // of the last comment
    int comments, paragraphs;
} Run;

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f'; }

/// The first byte of the line that is no blank.
static size_t line_begin(Str text, size_t at) {
    while (at < text.size && is_space(text.data[at])) at++;
    return at;
}

static size_t line_end(Str text, size_t at) {
    const char *newline = at < text.size ? memchr(text.data + at, '\n', text.size - at) : NULL;
    return newline ? (size_t)(newline - text.data) : text.size;
}

static void run_join(Arena *arena, Run *run, size_t start) {
    if (!run->copy) run->copy = arena_strndup(arena, run->text.data, run->text.size);
    for (size_t i = run->end; i < start; i++)
        if (run->copy[i] == '\n' || run->copy[i] == '\r') run->copy[i] = ' ';
}

static void run_add(Arena *arena, Run *run, size_t start, size_t end, bool is_paragraph) {
    if (run->comments && is_paragraph) run->paragraphs++;
    bool may_join = !is_paragraph || run->paragraphs > FEW_PARAGRAPHS;
    if (run->comments > FEW_COMMENTS && may_join) run_join(arena, run, start);
    run->comments++;
    run->end = end;
}

Str comments_join(Arena *arena, Str text) {
    Run run = {.text = text};
    bool is_paragraph = false;
    for (size_t at = 0; at < text.size;) {
        size_t begin = line_begin(text, at), end = line_end(text, begin);
        bool is_blank = begin == end, is_comment = !is_blank && text.data[begin] == '#';
        if (is_comment) run_add(arena, &run, begin, end, is_paragraph);
        if (!is_comment && !is_blank) run = (Run){.text = text, .copy = run.copy};
        is_paragraph = is_blank;
        at = end + 1;
    }
    return run.copy ? (Str){run.copy, text.size} : text;
}
