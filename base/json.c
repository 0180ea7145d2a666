// cJSON parses; values are copied into the arena so that they share its lifetime. Printing: base/json_print.c.
#include "base/json.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <math.h>
#include <string.h>

static Json *json_new(Arena *arena, JsonKind kind) {
    Json *value = ARENA_NEW(arena, Json);
    value->kind = kind;
    value->arena = arena;
    return value;
}

Json *json_null(Arena *arena) { return json_new(arena, JSON_NULL); }

Json *json_bool(Arena *arena, bool value) {
    Json *json = json_new(arena, JSON_BOOL);
    json->number = value;
    return json;
}

Json *json_number(Arena *arena, double value) {
    Json *json = json_new(arena, JSON_NUMBER);
    json->number = value;
    return json;
}

Json *json_str(Arena *arena, Str value) {
    Json *json = json_new(arena, JSON_STRING);
    json->string = (Str){arena_strndup(arena, value.data, value.size), value.size};
    return json;
}

Json *json_string(Arena *arena, const char *value) {
    return value ? json_str(arena, str_from(value)) : json_null(arena);
}

Json *json_text(const Buffer *text) {
    Json *json = json_new(text->arena, JSON_TEXT);
    json->string = (Str){text->data, text->size};
    return json;
}

Json *json_numbers(Arena *arena, const uint32_t *items, int count) {
    enum { USUAL_SIZE = 3 };
    Buffer text = buffer_sized(arena, (size_t)count * USUAL_SIZE + 2);
    buffer_putc(&text, '[');
    for (int i = 0; i < count; i++) {
        if (i) buffer_putc(&text, ',');
        buffer_put_int(&text, items[i]);
    }
    buffer_putc(&text, ']');
    return json_text(&text);
}

Json *json_array(Arena *arena) { return json_new(arena, JSON_ARRAY); }
Json *json_object(Arena *arena) { return json_new(arena, JSON_OBJECT); }

static void json_append(Json *into, Str key, Json *item) {
    if (into->count == into->capacity) {
        int capacity = into->capacity ? into->capacity * 2 : 4;
        size_t count = (size_t)into->count;
        into->items = arena_grow(into->arena, into->items, sizeof(Json *) * count,
                                 sizeof(Json *) * (size_t)capacity);
        if (into->kind == JSON_OBJECT)
            into->keys = arena_grow(into->arena, into->keys, sizeof(Str) * count,
                                    sizeof(Str) * (size_t)capacity);
        into->capacity = capacity;
    }
    if (into->kind == JSON_OBJECT) into->keys[into->count] = key;
    into->items[into->count++] = item;
}

void json_push(Json *array, Json *item) { json_append(array, (Str){0}, item); }

void json_set(Json *object, const char *key, Json *value) {
    for (int i = 0; i < object->count; i++) {
        if (str_is(object->keys[i], key)) {
            object->items[i] = value;
            return;
        }
    }
    json_append(object, str_from(arena_strdup(object->arena, key)), value);
}

void json_set_string(Json *object, const char *key, const char *value) {
    json_set(object, key, json_string(object->arena, value));
}

void json_set_number(Json *object, const char *key, double value) {
    json_set(object, key, json_number(object->arena, value));
}

void json_set_bool(Json *object, const char *key, bool value) {
    json_set(object, key, json_bool(object->arena, value));
}

Json *json_copy(Arena *arena, const Json *value) {
    Json *copy = json_new(arena, value->kind);
    copy->string = value->string.data
                       ? (Str){arena_strndup(arena, value->string.data, value->string.size),
                               value->string.size}
                       : value->string;
    copy->number = value->number;
    for (int i = 0; i < value->count; i++) {
        Str key = value->kind == JSON_OBJECT ? value->keys[i] : (Str){0};
        if (key.data) key = (Str){arena_strndup(arena, key.data, key.size), key.size};
        json_append(copy, key, json_copy(arena, value->items[i]));
    }
    return copy;
}

Json *json_get(const Json *object, const char *key) {
    if (!object || object->kind != JSON_OBJECT) return NULL;
    for (int i = 0; i < object->count; i++)
        if (str_is(object->keys[i], key)) return object->items[i];
    return NULL;
}

double json_get_number(const Json *object, const char *key, double missing) {
    Json *value = json_get(object, key);
    return value && value->kind == JSON_NUMBER ? value->number : missing;
}

int json_get_int(const Json *object, const char *key, int missing) {
    double number = json_get_number(object, key, missing);
    return number >= INT_MIN && number <= INT_MAX ? (int)number : missing;
}

const char *json_get_string(const Json *object, const char *key, const char *missing) {
    Json *value = json_get(object, key);
    return value && value->kind == JSON_STRING ? value->string.data : missing;
}

bool json_get_bool(const Json *object, const char *key, bool missing) {
    Json *value = json_get(object, key);
    return value && value->kind == JSON_BOOL ? value->number != 0 : missing;
}

static Json *from_cjson(Arena *arena, const cJSON *node) {
    if (cJSON_IsBool(node)) return json_bool(arena, cJSON_IsTrue(node));
    if (cJSON_IsNumber(node)) return json_number(arena, node->valuedouble);
    if (cJSON_IsString(node)) return json_string(arena, node->valuestring);
    if (!cJSON_IsArray(node) && !cJSON_IsObject(node)) return json_null(arena);
    Json *json = json_new(arena, cJSON_IsArray(node) ? JSON_ARRAY : JSON_OBJECT);
    for (const cJSON *child = node->child; child; child = child->next) {
        const char *key = child->string ? arena_strdup(arena, child->string) : "";
        json_append(json, str_from(key), from_cjson(arena, child));
    }
    return json;
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
static Str text_repaired(Arena *arena, Str text) {
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

/// cJSON reads one value and is content with whatever follows.
static bool is_blank(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n' || *at == 0)) at++;
    return at >= end;
}

Json *json_parse(Arena *arena, Str text, Error *error) {
    const char *end = NULL;
    text = text_repaired(arena, text);
    cJSON *root = cJSON_ParseWithLengthOpts(text.data, text.size, &end, 0);
    if (root && !is_blank(end, text.data + text.size)) {
        cJSON_Delete(root);
        root = NULL;
    }
    if (!root) {
        long where = end ? (long)(end - text.data) : 0;
        *error = arena_printf(arena, "not valid JSON at byte %ld", where);
        return NULL;
    }
    Json *value = from_cjson(arena, root);
    cJSON_Delete(root);
    *error = NULL;
    return value;
}
