// JSON values in an arena; text in through json-c, base/json_parse.c. RFC 8259.
#ifndef TAD_BASE_JSON_H
#define TAD_BASE_JSON_H

#include "base/error.h"
#include "base/text.h"

typedef enum {
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
    JSON_TEXT  // a value as it is written: what is large and only to be printed
} JsonKind;

typedef struct Json Json;
struct Json {
    JsonKind kind;
    double number;  // also 0/1 for JSON_BOOL
    Str string;
    Json **items;  // of an array, or the values of an object
    Str *keys;     // of an object, as many as items
    int count;
    int capacity;
    Arena *arena;
};

/// Parses one JSON text. NULL and `*error` set where it is malformed.
Json *json_parse(Arena *arena, Str text, Error *error);
/// One line (`pretty` false) or indented text; strings are valid UTF-8, non-finite numbers become null.
const char *json_print(Arena *arena, const Json *value, bool pretty);
/// The same at the end of `text`.
void json_add(Buffer *text, const Json *value, bool pretty);
/// `"string"` with its escapes, for what is large and written without a tree of values.
void json_add_string(Buffer *text, Str string);

Json *json_null(Arena *arena);
Json *json_bool(Arena *arena, bool value);
Json *json_number(Arena *arena, double value);
Json *json_string(Arena *arena, const char *value);
/// What is no UTF-8 in the text becomes U+FFFD, here and in json_string.
Json *json_str(Arena *arena, Str value);
/// What is printed as it stands: `text` holds one JSON value and is not added to any more.
Json *json_text(const Buffer *text);
/// An array of numbers, for printing only.
Json *json_numbers(Arena *arena, const uint32_t *items, int count);
Json *json_array(Arena *arena);
Json *json_object(Arena *arena);
void json_push(Json *array, Json *item);
/// At the end, also where an object has the key; `key` is kept, not copied.
void json_append(Json *into, Str key, Json *item);
/// Sets or replaces `key` (copied).
void json_set(Json *object, const char *key, Json *value);
void json_set_string(Json *object, const char *key, const char *value);
void json_set_number(Json *object, const char *key, double value);
void json_set_bool(Json *object, const char *key, bool value);

/// The value and everything in it, in another arena.
Json *json_copy(Arena *arena, const Json *value);

/// The member, or NULL (also where `object` is NULL or no object).
Json *json_get(const Json *object, const char *key);
/// Reads with a default for a missing or ill-typed member.
double json_get_number(const Json *object, const char *key, double missing);
/// Without its fraction; what an `int` does not hold counts as missing.
int json_get_int(const Json *object, const char *key, int missing);
const char *json_get_string(const Json *object, const char *key, const char *missing);
bool json_get_bool(const Json *object, const char *key, bool missing);

#endif
