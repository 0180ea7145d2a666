// json-c parses; values are copied into the arena so that they share its lifetime.
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/json.h"

// Two of its types have the names of our functions.
#define json_bool json_c_bool
#define json_object json_c_object
#include <json-c/json_object.h>
#include <json-c/json_object_iterator.h>
#include <json-c/json_tokener.h>
#undef json_bool
#undef json_object

typedef struct json_c_object Node;

enum { DEEPEST_VALUE = 1000 };

static Json *from_node(Arena *arena, Node *node);

static Json *from_array(Arena *arena, Node *node) {
    Json *array = json_array(arena);
    for (size_t i = 0; i < json_object_array_length(node); i++)
        json_push(array, from_node(arena, json_object_array_get_idx(node, i)));
    return array;
}

static Json *from_object(Arena *arena, Node *node) {
    Json *object = json_object(arena);
    struct json_object_iterator at = json_object_iter_begin(node), end = json_object_iter_end(node);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *key = arena_strdup(arena, json_object_iter_peek_name(&at));
        json_append(object, str_from(key), from_node(arena, json_object_iter_peek_value(&at)));
    }
    return object;
}

/// What has no number in JSON (1e999, NaN) is null, as it is written.
static Json *from_number(Arena *arena, double number) {
    return isfinite(number) ? json_number(arena, number) : json_null(arena);
}

static Json *from_node(Arena *arena, Node *node) {
    switch (json_object_get_type(node)) {
    case json_type_null: break;
    case json_type_boolean: return json_bool(arena, json_object_get_boolean(node));
    case json_type_double:
    case json_type_int: return from_number(arena, json_object_get_double(node));
    case json_type_object: return from_object(arena, node);
    case json_type_array: return from_array(arena, node);
    case json_type_string:
        return json_str(
            arena, (Str){json_object_get_string(node), (size_t)json_object_get_string_len(node)});
    }
    return json_null(arena);
}

/// The value of `\\uXXXX` at `at`, or -1 where there is no such escape.
static int escape_value(const char *at, const char *end) {
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return -1;
    int value = 0;
    for (int i = 2; i < 6; i++) {
        const char *digits = "0123456789abcdef";
        char lower = at[i] >= 'A' && at[i] <= 'F' ? (char)(at[i] - 'A' + 'a') : at[i];
        const char *digit = lower ? strchr(digits, lower) : NULL;
        if (!digit) return -1;
        value = value * 16 + (int)(digit - digits);
    }
    return value;
}

static bool is_high_half(int value) { return value >= 0xD800 && value <= 0xDBFF; }
static bool is_low_half(int value) { return value >= 0xDC00 && value <= 0xDFFF; }

/// Halves of surrogate pairs and NUL, which UTF-8 text cannot hold, become U+FFFD, which counts one UTF-16 unit as well. Editors send them while a character is being typed.
static Str escapes_repaired(Arena *arena, Str text) {
    if (!text.size || !memchr(text.data, '\\', text.size)) return text;
    char *copy = NULL;
    const char *at = text.data, *end = text.data + text.size;
    while (at < end && (at = memchr(at, '\\', (size_t)(end - at)))) {
        enum { ESCAPE_SIZE = 6 };
        int value = escape_value(at, end);
        bool is_pair = is_high_half(value) && is_low_half(escape_value(at + ESCAPE_SIZE, end));
        if (value == 0 || is_low_half(value) || (is_high_half(value) && !is_pair)) {
            if (!copy) copy = arena_strndup(arena, text.data, text.size);
            memcpy(copy + (at - text.data), "\\ufffd", ESCAPE_SIZE);
        }
        at += is_pair ? 2 * ESCAPE_SIZE : 2;
    }
    return copy ? (Str){copy, text.size} : text;
}

Json *json_parse(Arena *arena, Str text, Error *error) {
    if (text.size > INT_MAX) {
        *error = "JSON of more than 2 GB";
        return NULL;
    }
    text = escapes_repaired(arena, utf8_repaired(arena, text));
    struct json_tokener *tokener = json_tokener_new_ex(DEEPEST_VALUE);
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    Node *root = json_tokener_parse_ex(tokener, text.data, (int)text.size);
    size_t where = json_tokener_get_parse_end(tokener);
    // Only the end of the text tells that a number is over.
    if (json_tokener_get_error(tokener) == json_tokener_continue)
        root = json_tokener_parse_ex(tokener, "", 1);
    bool is_whole = json_tokener_get_error(tokener) == json_tokener_success;
    Json *value = is_whole ? from_node(arena, root) : NULL;
    *error = is_whole ? NULL : arena_printf(arena, "not valid JSON at byte %zu", where);
    json_object_put(root);
    json_tokener_free(tokener);
    return value;
}
