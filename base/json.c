// Values are made and read here. Text out: base/json_print.c; text in: base/json_parse.c.
#include "base/json.h"

#include <limits.h>
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
    value = utf8_repaired(arena, value);
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

void json_append(Json *into, Str key, Json *item) {
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
