// The syntax tree is walked once; tables are made as headers and dotted keys name them.
#include "analysis/syntax/toml.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/syntax/syntax.h"
#include "analysis/syntax/syntax_nodes.h"
#include "base/list.h"
#include "base/map.h"

enum { DEEPEST = 200 };

typedef struct Reader {
    Arena *arena;
    const Source *source;
    Error error;  // the first one; reading stops there
    int depth;
} Reader;

static void fail(Reader *reader, SyntaxNode node, const char *what) {
    if (reader->error) return;
    reader->error = arena_printf(reader->arena, "line %d: %s",
                                 range_line(node_range(reader->source, node)), what);
}

static bool is(SyntaxNode node, const char *kind) {
    return strcmp(node_kind_name(node), kind) == 0;
}

static Toml *toml_new(Reader *reader, SyntaxNode node, TomlKind kind) {
    Toml *value = ARENA_NEW(reader->arena, Toml);
    value->kind = kind;
    value->range = node_range(reader->source, node);
    return value;
}

static void toml_append(Arena *arena, Toml *into, Str key, Toml *value) {
    if (into->count == into->capacity) {
        int capacity = into->capacity ? 2 * into->capacity : 4;
        size_t count = (size_t)into->count, wanted = (size_t)capacity;
        into->items =
            arena_grow(arena, into->items, sizeof(Toml *) * count, sizeof(Toml *) * wanted);
        into->keys = arena_grow(arena, into->keys, sizeof(Str) * count, sizeof(Str) * wanted);
        into->capacity = capacity;
    }
    into->keys[into->count] = key;
    into->items[into->count++] = value;
}

static Toml *table_get(const Toml *table, Str key) {
    for (int i = 0; i < table->count; i++)
        if (str_equal(table->keys[i], key)) return table->items[i];
    return NULL;
}

Toml *toml_get(const Toml *table, const char *key) {
    return table && table->kind == TOML_TABLE ? table_get(table, str_from(key)) : NULL;
}

static void add_utf8(Buffer *out, unsigned long code) {
    if (code < 0x80) {
        buffer_putc(out, (char)code);
    } else if (code < 0x800) {
        buffer_putc(out, (char)(0xC0 | code >> 6));
        buffer_putc(out, (char)(0x80 | (code & 0x3F)));
    } else if (code < 0x10000) {
        buffer_putc(out, (char)(0xE0 | code >> 12));
        buffer_putc(out, (char)(0x80 | (code >> 6 & 0x3F)));
        buffer_putc(out, (char)(0x80 | (code & 0x3F)));
    } else {
        buffer_putc(out, (char)(0xF0 | code >> 18));
        buffer_putc(out, (char)(0x80 | (code >> 12 & 0x3F)));
        buffer_putc(out, (char)(0x80 | (code >> 6 & 0x3F)));
        buffer_putc(out, (char)(0x80 | (code & 0x3F)));
    }
}

/// `\uXXXX` and `\UXXXXXXXX`: digits taken, or 0 where they are not a character.
static size_t add_code(Buffer *out, Str digits, size_t wanted) {
    char text[9] = {0};
    if (digits.size < wanted) return 0;
    memcpy(text, digits.data, wanted);
    char *end = NULL;
    unsigned long code = strtoul(text, &end, 16);
    if (*end || code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return 0;
    add_utf8(out, code);
    return wanted;
}

/// A backslash at a line's end swallows it and the white space after it.
static size_t skip_space(Str text, size_t from) {
    size_t at = from;
    while (at < text.size && strchr(" \t\r\n", text.data[at])) at++;
    return at - from;
}

static Str unescape(Reader *reader, SyntaxNode node, Str text) {
    Buffer out = buffer_new(reader->arena);
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] != '\\' || i + 1 >= text.size) {
            buffer_putc(&out, text.data[i]);
            continue;
        }
        char kind = text.data[++i];
        static const char from[] = "btnfre\"\\", to[] = "\b\t\n\f\r\033\"\\";
        const char *plain = memchr(from, kind, sizeof from - 1);
        Str rest = {text.data + i + 1, text.size - i - 1};
        size_t taken = 0;
        if (plain) {
            buffer_putc(&out, to[plain - from]);
        } else if (kind == 'u' || kind == 'U') {
            taken = add_code(&out, rest, kind == 'u' ? 4 : 8);
            if (!taken) fail(reader, node, "an escape that is no character");
        } else if (strchr(" \t\r\n", kind)) {
            taken = skip_space(text, i + 1);
        } else {
            fail(reader, node, "an unknown escape in a string");
        }
        i += taken;
    }
    return (Str){buffer_text(&out), out.size};
}

/// The contents of a quoted text: '...', "...", '''...''', """...""".
static Str quoted_text(Reader *reader, SyntaxNode node) {
    Str text = node_text(reader->source, node);
    if (text.size < 2) return text;
    char quote = text.data[0];
    size_t width = 1;
    if (text.size >= 6 && text.data[1] == quote && text.data[2] == quote) width = 3;
    text = (Str){text.data + width, text.size - 2 * width};
    if (width == 3) {
        if (str_starts(text, "\r\n"))
            text = (Str){text.data + 2, text.size - 2};
        else if (str_starts(text, "\n"))
            text = (Str){text.data + 1, text.size - 1};
    }
    return quote == '"' ? unescape(reader, node, text) : text;
}

static const char *without_underscores(Reader *reader, Str text) {
    Buffer digits = buffer_new(reader->arena);
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] != '_') buffer_putc(&digits, text.data[i]);
    return buffer_text(&digits);
}

static void read_integer(Reader *reader, SyntaxNode node, Toml *value) {
    const char *digits = without_underscores(reader, node_text(reader->source, node));
    static const struct {
        const char *prefix;
        int base;
    } bases[] = {{"0x", 16}, {"0o", 8}, {"0b", 2}, {"", 10}};
    int i = 0;
    while (strncmp(digits, bases[i].prefix, strlen(bases[i].prefix)) != 0) i++;
    errno = 0;
    value->integer = strtoll(digits + strlen(bases[i].prefix), NULL, bases[i].base);
    value->number = (double)value->integer;
    if (errno) fail(reader, node, "an integer that does not fit 64 bits");
}

static double read_float(Reader *reader, SyntaxNode node) {
    const char *text = without_underscores(reader, node_text(reader->source, node));
    const char *unsigned_text = text + (*text == '+' || *text == '-');
    double sign = *text == '-' ? -1 : 1;
    if (strcmp(unsigned_text, "inf") == 0) return sign * (double)INFINITY;
    if (strcmp(unsigned_text, "nan") == 0) return (double)NAN;
    return strtod(text, NULL);
}

static void read_pair(Reader *reader, SyntaxNode pair, Toml *table);

static Toml *read_value(Reader *reader, SyntaxNode node) {
    if (reader->depth >= DEEPEST) {
        fail(reader, node, "values are nested too deeply");
        return toml_new(reader, node, TOML_STRING);
    }
    reader->depth++;
    Toml *value = toml_new(reader, node, TOML_STRING);
    if (is(node, "integer")) {
        value->kind = TOML_INTEGER;
        read_integer(reader, node, value);
    } else if (is(node, "float")) {
        value->kind = TOML_FLOAT;
        value->number = read_float(reader, node);
    } else if (is(node, "boolean")) {
        value->kind = TOML_BOOL;
        value->integer = str_is(node_text(reader->source, node), "true");
    } else if (is(node, "string")) {
        value->string = quoted_text(reader, node);
    } else if (is(node, "array") || is(node, "inline_table")) {
        value->kind = is(node, "array") ? TOML_ARRAY : TOML_TABLE;
        value->is_closed = true;
        for (uint32_t i = 0; i < node_child_count(node) && !reader->error; i++) {
            SyntaxNode child = node_child(node, i);
            if (is(child, "comment")) continue;
            if (value->kind == TOML_TABLE)
                read_pair(reader, child, value);
            else
                toml_append(reader->arena, value, (Str){0}, read_value(reader, child));
        }
    } else {
        value->string = node_text(reader->source, node);  // dates and times
    }
    reader->depth--;
    return value;
}

typedef struct KeyPath {
    LIST(Str) parts;
} KeyPath;

static void read_key(Reader *reader, SyntaxNode node, KeyPath *path) {
    if (++reader->depth > DEEPEST) {
        fail(reader, node, "keys are nested too deeply");
    } else if (is(node, "dotted_key")) {
        for (uint32_t i = 0; i < node_child_count(node); i++)
            read_key(reader, node_child(node, i), path);
    } else {
        Str part =
            is(node, "quoted_key") ? quoted_text(reader, node) : node_text(reader->source, node);
        LIST_PUSH(reader->arena, &path->parts, part);
    }
    reader->depth--;
}

/// The table that the first `count` parts name, made where it is missing; of an array of tables the last.
static Toml *table_at(Reader *reader, SyntaxNode node, Toml *table, const KeyPath *path,
                      int count) {
    for (int i = 0; i < count; i++) {
        Toml *next = table_get(table, path->parts.items[i]);
        if (!next) {
            next = toml_new(reader, node, TOML_TABLE);
            toml_append(reader->arena, table, path->parts.items[i], next);
        }
        if (next->kind == TOML_ARRAY && !next->is_closed && next->count)
            next = next->items[next->count - 1];
        if (next->kind != TOML_TABLE || next->is_closed) {
            fail(reader, node,
                 arena_printf(reader->arena, "`%.*s` is already something else than a table",
                              STR_ARGS(path->parts.items[i])));
            return NULL;
        }
        table = next;
    }
    return table;
}

static void read_pair(Reader *reader, SyntaxNode pair, Toml *table) {
    KeyPath path = {0};
    if (!is(pair, "pair") || node_child_count(pair) < 2) {
        fail(reader, pair, "a key and its value are expected here");
        return;
    }
    read_key(reader, node_child(pair, 0), &path);
    int last = path.parts.count - 1;
    if (last < 0) return;
    Toml *owner = table_at(reader, pair, table, &path, last);
    if (!owner) return;
    Str key = path.parts.items[last];
    if (table_get(owner, key))
        fail(reader, pair,
             arena_printf(reader->arena, "`%.*s` is set for the second time", STR_ARGS(key)));
    Toml *value = read_value(reader, node_child(pair, 1));
    toml_append(reader->arena, owner, key, value);
}

static void read_table(Reader *reader, SyntaxNode node, Toml *root, Map *seen) {
    KeyPath path = {0};
    bool is_array = is(node, "table_array_element");
    read_key(reader, node_child(node, 0), &path);
    int last = path.parts.count - 1;
    Toml *owner = last < 0 ? NULL : table_at(reader, node, root, &path, last);
    if (!owner) return;
    Str key = path.parts.items[last];
    Toml *array = table_get(owner, key), *table = NULL;
    if (is_array) {
        if (!array) {
            array = toml_new(reader, node, TOML_ARRAY);
            toml_append(reader->arena, owner, key, array);
        }
        if (array->kind != TOML_ARRAY || array->is_closed) {
            fail(reader, node,
                 arena_printf(reader->arena, "`%.*s` is already something else", STR_ARGS(key)));
            return;
        }
        table = toml_new(reader, node, TOML_TABLE);
        toml_append(reader->arena, array, (Str){0}, table);
    } else {
        table = table_at(reader, node, owner, &(KeyPath){.parts = {&key, 1, 1}}, 1);
        if (!table) return;
        if (map_has_pointer(seen, table) || (array && array->kind == TOML_ARRAY)) {
            fail(reader, node,
                 arena_printf(reader->arena, "table `%.*s` is defined for the second time",
                              STR_ARGS(key)));
            return;
        }
        map_set_pointer(seen, table, table);
    }
    for (uint32_t i = 1; i < node_child_count(node) && !reader->error; i++)
        if (!is(node_child(node, i), "comment")) read_pair(reader, node_child(node, i), table);
}

/// The first thing that the grammar could not place.
static SyntaxNode first_error(SyntaxNode node, int depth) {
    if (node_is_error(node) || depth >= DEEPEST) return node;
    for (uint32_t i = 0; i < node_all_child_count(node); i++) {
        SyntaxNode child = node_all_child(node, i);
        if (node_has_error(child) || node_is_error(child)) return first_error(child, depth + 1);
    }
    return node;
}

Toml *toml_parse(Arena *arena, const Source *source, Error *error) {
    Reader reader = {.arena = arena, .source = source};
    SyntaxTree *tree = syntax_parse_toml(source);
    SyntaxNode document = syntax_root(tree);
    Toml *root = toml_new(&reader, document, TOML_TABLE);
    Map seen = map_new(arena);
    if (node_has_error(document)) {
        SyntaxNode wrong = first_error(document, 0);
        Str text = str_trim(node_text(source, wrong));
        for (size_t i = 0; i < text.size; i++)
            if (text.data[i] == '\n' || i > 60) text.size = i;
        fail(&reader, wrong,
             text.size ? arena_printf(arena, "this is not TOML: `%.*s`", STR_ARGS(text))
                       : "this is not TOML");
    }
    for (uint32_t i = 0; i < node_child_count(document) && !reader.error; i++) {
        SyntaxNode child = node_child(document, i);
        if (is(child, "pair"))
            read_pair(&reader, child, root);
        else if (is(child, "table") || is(child, "table_array_element"))
            read_table(&reader, child, root, &seen);
    }
    syntax_free(tree);
    *error = reader.error;
    return reader.error ? NULL : root;
}
