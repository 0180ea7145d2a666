// One walk over a text finds its comments: strings hold none, and a function ends where its indentation does.
#include "server/report/suppress.h"

#include <string.h>

/// One name of a comment (or, without a name, everything), and the bytes whose findings it silences.
typedef struct Silence {
    Range place;  // of the name; of the word `ignore` where there is none
    Str name;
    uint32_t start, end;
    bool is_used, is_gone;
} Silence;

typedef struct FileSilences {
    const Source *source;
    LIST(Silence) lines;  // by place; each of one line
    LIST(Silence) wide;   // of functions and of the file
    LIST(Silence) stray;  // alone on a line with no function below
} FileSilences;

struct Silences {
    Arena *arena;
    LIST(FileSilences) files;
};

Silences *silences_new(Arena *arena) {
    Silences *silences = ARENA_NEW(arena, Silences);
    silences->arena = arena;
    return silences;
}

// --- Reading

enum { NO_INDENT = -1 };

/// Comments above a function wait for it; those of a function that was begun wait for its end.
typedef struct WaitingSilence {
    int index;   // of `wide`
    int indent;  // of the `def`; NO_INDENT before it
} WaitingSilence;

typedef struct Walk {
    Arena *arena;
    FileSilences *file;
    Str text;
    uint32_t at, line;  // `line`: where the physical line starts
    int depth;          // of brackets
    bool is_continued;  // the line goes on one from before
    bool has_code;      // on this physical line, so far
    LIST(WaitingSilence) waiting;
} Walk;

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

static Range range_of_text(const Walk *walk, Str part) {
    uint32_t start = (uint32_t)(part.data - walk->text.data);
    return (Range){walk->file->source, start, start + (uint32_t)part.size};
}

/// Where the comment `scope` puts one of its names.
typedef enum SilenceScope { SCOPE_LINE, SCOPE_FUNCTION, SCOPE_FILE } SilenceScope;

static void silence_add(Walk *walk, SilenceScope scope, Range place, Str name, uint32_t line_end) {
    FileSilences *file = walk->file;
    Silence silence = {.place = place, .name = name, .start = walk->line, .end = line_end};
    if (scope == SCOPE_LINE) {
        LIST_PUSH(walk->arena, &file->lines, silence);
        return;
    }
    silence.start = scope == SCOPE_FILE ? 0 : walk->line;
    silence.end = scope == SCOPE_FILE ? (uint32_t)walk->text.size : 0;
    if (scope == SCOPE_FUNCTION)
        LIST_PUSH(walk->arena, &walk->waiting, ((WaitingSilence){file->wide.count, NO_INDENT}));
    LIST_PUSH(walk->arena, &file->wide, silence);
}

/// What follows a `#`, up to the end of the line.
static void read_comment(Walk *walk, Str comment, bool is_alone) {
    if (!takes(&comment, "tad") || !takes(&comment, ":")) return;
    Str word = skip_spaces(comment);
    if (!takes(&comment, "ignore")) return;
    bool is_of_file = str_starts(comment, "-file");
    if (is_of_file) comment = (Str){comment.data + 5, comment.size - 5};
    if (is_of_file && !is_alone) return;
    word.size = (size_t)(comment.data - word.data);
    SilenceScope scope = is_of_file ? SCOPE_FILE : is_alone ? SCOPE_FUNCTION : SCOPE_LINE;
    uint32_t line_end = (uint32_t)(comment.data + comment.size - walk->text.data);
    if (!takes(&comment, "[")) {
        char next = comment.size ? *comment.data : ' ';
        if (next == ' ' || next == '\t' || next == '\r' || next == '#')
            silence_add(walk, scope, range_of_text(walk, word), (Str){"", 0}, line_end);
        return;
    }
    const char *close = memchr(comment.data, ']', comment.size);
    if (!close) return;
    Str list = {comment.data, (size_t)(close - comment.data)};
    while (list.size) {
        const char *comma = memchr(list.data, ',', list.size);
        Str name = {list.data, comma ? (size_t)(comma - list.data) : list.size};
        size_t taken = name.size + (comma != NULL);
        list = (Str){list.data + taken, list.size - taken};
        name = str_trim(name);
        if (name.size) silence_add(walk, scope, range_of_text(walk, name), name, line_end);
    }
}

static void walk_comment(Walk *walk) {
    const char *start = walk->text.data + walk->at;
    const char *end = memchr(start, '\n', walk->text.size - walk->at);
    Str comment = {start, end ? (size_t)(end - start) : walk->text.size - walk->at};
    bool is_alone = !walk->has_code && !walk->is_continued && walk->depth == 0;
    for (size_t i = 0; i < comment.size; i++)
        if (comment.data[i] == '#')
            read_comment(walk, (Str){start + i + 1, comment.size - i - 1}, is_alone);
    walk->at += (uint32_t)comment.size;
}

/// Over a string literal of one line or, with three quotes, of several.
static void walk_string(Walk *walk) {
    const char *data = walk->text.data;
    size_t size = walk->text.size;
    char quote = data[walk->at];
    bool is_long =
        walk->at + 2 < size && data[walk->at + 1] == quote && data[walk->at + 2] == quote;
    walk->at += is_long ? 3 : 1;
    while (walk->at < size) {
        char byte = data[walk->at];
        if (byte == '\n' && !is_long) return;  // not ended: the line ends it
        if (byte == '\\' && walk->at + 1 < size) {
            walk->at += 2;
        } else if (byte != quote) {
            walk->at++;
        } else if (!is_long) {
            walk->at++;
            return;
        } else if (walk->at + 2 < size && data[walk->at + 1] == quote &&
                   data[walk->at + 2] == quote) {
            walk->at += 3;
            return;
        } else {
            walk->at++;
        }
    }
}

static bool starts_word(Str text, const char *word) {
    size_t size = strlen(word);
    return str_starts(text, word) && text.size > size &&
           (text.data[size] == ' ' || text.data[size] == '\t');
}

/// Comments that wait for a function and find none.
static void forget(Walk *walk, int kept) {
    for (int i = kept; i < walk->waiting.count; i++) {
        Silence *silence = &walk->file->wide.items[walk->waiting.items[i].index];
        LIST_PUSH(walk->arena, &walk->file->stray, *silence);
        silence->is_gone = true;
    }
    walk->waiting.count = kept;
}

static int first_pending(const Walk *walk) {
    int first = walk->waiting.count;
    while (first && walk->waiting.items[first - 1].indent == NO_INDENT) first--;
    return first;
}

/// A line of code begins, one that no earlier line goes on.
static void walk_statement(Walk *walk) {
    int indent = (int)(walk->at - walk->line);
    Str rest = {walk->text.data + walk->at, walk->text.size - walk->at};
    int pending = first_pending(walk);
    int open = 0;
    for (int i = 0; i < pending; i++) {
        WaitingSilence waiting = walk->waiting.items[i];
        if (waiting.indent < indent)
            walk->waiting.items[open++] = waiting;
        else
            walk->file->wide.items[waiting.index].end = walk->line;
    }
    for (int i = pending; i < walk->waiting.count; i++)
        walk->waiting.items[open + i - pending] = walk->waiting.items[i];
    walk->waiting.count -= pending - open;
    if (*rest.data == '@') return;
    bool is_function =
        starts_word(rest, "def") || starts_word(rest, "async") || starts_word(rest, "class");
    if (!is_function) forget(walk, open);
    for (int i = open; i < walk->waiting.count; i++) walk->waiting.items[i].indent = indent;
}

static void walk_line_end(Walk *walk) {
    bool is_blank = !walk->has_code && walk->at && walk->text.data[walk->line] == '\n';
    if (is_blank && !walk->is_continued) forget(walk, first_pending(walk));
    walk->is_continued = walk->depth > 0 || (walk->at && walk->text.data[walk->at - 1] == '\\');
    walk->at++;
    walk->line = walk->at;
    walk->has_code = false;
}

static void walk_code(Walk *walk) {
    if (!walk->has_code && !walk->is_continued) walk_statement(walk);
    walk->has_code = true;
    char byte = walk->text.data[walk->at];
    if (byte == '"' || byte == '\'') {
        walk_string(walk);
        return;
    }
    if (byte == '(' || byte == '[' || byte == '{') walk->depth++;
    if ((byte == ')' || byte == ']' || byte == '}') && walk->depth) walk->depth--;
    walk->at++;
}

static void file_read_silences(Arena *arena, FileSilences *file) {
    Walk walk = {.arena = arena, .file = file, .text = file->source->text};
    if (!str_contains(walk.text, str_from("ignore"))) return;
    while (walk.at < walk.text.size) {
        char byte = walk.text.data[walk.at];
        if (byte == '\n')
            walk_line_end(&walk);
        else if (byte == '#')
            walk_comment(&walk);
        else if (byte == ' ' || byte == '\t' || byte == '\r')
            walk.at++;
        else
            walk_code(&walk);
    }
    int pending = first_pending(&walk);
    forget(&walk, pending);
    for (int i = 0; i < pending; i++)
        file->wide.items[walk.waiting.items[i].index].end = (uint32_t)walk.text.size;
}

static FileSilences *silences_of(Silences *silences, const Source *source) {
    for (LIST_EACH(int, i, silences->files))
        if (silences->files.items[i].source == source) return &silences->files.items[i];
    LIST_PUSH(silences->arena, &silences->files, ((FileSilences){.source = source}));
    FileSilences *file = &silences->files.items[silences->files.count - 1];
    file_read_silences(silences->arena, file);
    return file;
}

// --- Asking

static bool names_row(Str name, const DiagnosticRow *row) {
    return !name.size || diagnostic_is_meant(row, name);
}

/// Those of the line that holds `offset`.
static bool line_holds(FileSilences *file, uint32_t offset, const DiagnosticRow *row) {
    int low = 0, high = file->lines.count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (file->lines.items[middle].end < offset)
            low = middle + 1;
        else
            high = middle;
    }
    bool holds = false;
    for (int i = low; i < file->lines.count && file->lines.items[i].start <= offset; i++)
        if (names_row(file->lines.items[i].name, row)) holds = file->lines.items[i].is_used = true;
    return holds;
}

bool silences_hold(Silences *silences, Range range, const DiagnosticRow *row) {
    if (!range.source) return false;
    FileSilences *file = silences_of(silences, range.source);
    bool holds = line_holds(file, range.start, row);
    if (!holds) holds = line_holds(file, range.end, row);
    for (int i = 0; i < file->wide.count && !holds; i++) {
        Silence *silence = &file->wide.items[i];
        bool is_inside =
            !silence->is_gone && silence->start <= range.start && range.start < silence->end;
        if (is_inside && names_row(silence->name, row)) holds = silence->is_used = true;
    }
    return holds;
}

// --- What is wrong with them

typedef struct SilenceQuestion {
    const Snapshot *snapshot;
    bool (*is_wanted)(const void *context, const DiagnosticRow *row);
    const void *context;
    Diagnostics *sink;
} SilenceQuestion;

/// Whether the silence has a part of a helper.
static bool touches_helper(const Snapshot *snapshot, const Silence *silence) {
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        Range range = snapshot_range(snapshot, kernel->definition->range);
        if (kernel->is_helper && range.start < silence->end && silence->start < range.end)
            return true;
    }
    return false;
}

/// Whether the analysis of the file alone would have found what the name stands for: gradients are derived and checked elsewhere,
/// helpers are looked at with what callers in other files pass, and launches that were not tried yet may have something to silence.
static bool is_certain(const SilenceQuestion *question, const Silence *silence) {
    if (!silence->name.size || touches_helper(question->snapshot, silence)) return false;
    for (int i = 0; i < DIAGNOSTIC_COUNT; i++) {
        const DiagnosticRow *row = &diagnostic_rows[i];
        if (!names_row(silence->name, row)) continue;
        bool is_later = strcmp(row->family, "gradients") == 0 ||
                        strcmp(row->family, "checks") == 0 ||
                        (question->snapshot->lacks_trials && strcmp(row->family, "launch") == 0);
        if (is_later || i == DIAGNOSTIC_UNUSED_IGNORE || i == DIAGNOSTIC_UNKNOWN_IGNORE ||
            !question->is_wanted(question->context, row))
            return false;
    }
    return true;
}

static bool is_known(Str name) {
    for (int i = 0; i < DIAGNOSTIC_COUNT; i++)
        if (names_row(name, &diagnostic_rows[i])) return true;
    return false;
}

static void say_silence(const SilenceQuestion *question, const Silence *silence) {
    if (!is_known(silence->name)) {
        const char *nearest = diagnostic_suggest(silence->name);
        diagnose(question->sink, DIAGNOSTIC_UNKNOWN_IGNORE, silence->place,
                 "there is no diagnostic `%.*s`%s%s%s", STR_ARGS(silence->name),
                 nearest ? "; did you mean `" : "", nearest ? nearest : "", nearest ? "`?" : "");
    } else if (!silence->is_used && is_certain(question, silence)) {
        diagnose(question->sink, DIAGNOSTIC_UNUSED_IGNORE, silence->place,
                 "nothing to silence here: `%.*s` is not reported; remove it",
                 STR_ARGS(silence->name));
    }
}

static void say_stray(const SilenceQuestion *question, const Silence *silence) {
    diagnose(question->sink, DIAGNOSTIC_UNUSED_IGNORE, silence->place,
             "this comment silences nothing: put it at the end of a line, above a function, or "
             "write `ignore-file`");
}

void silences_diagnose(Silences *silences, const Snapshot *snapshot,
                       bool (*is_wanted)(const void *context, const DiagnosticRow *row),
                       const void *context, Diagnostics *sink) {
    if (snapshot->module->has_syntax_errors) return;
    const FileSilences *file = silences_of(silences, snapshot->source);
    SilenceQuestion question = {snapshot, is_wanted, context, sink};
    for (LIST_EACH(int, i, file->lines)) say_silence(&question, &file->lines.items[i]);
    for (LIST_EACH(int, i, file->wide))
        if (!file->wide.items[i].is_gone) say_silence(&question, &file->wide.items[i]);
    for (LIST_EACH(int, i, file->stray)) say_stray(&question, &file->stray.items[i]);
}
