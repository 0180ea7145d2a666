// Hash maps in an arena: by text and by 64-bit key (pointers, ids). Iteration is in insertion order.
#ifndef TAD_BASE_MAP_H
#define TAD_BASE_MAP_H

#include "base/text.h"

typedef struct MapEntry {
    Str key;
    uint64_t number;
    void *value;
} MapEntry;

typedef struct Map {
    Arena *arena;
    MapEntry *entries;
    int count;
    int capacity;
    int *slots;
    int slot_count;
} Map;

Map map_new(Arena *arena);
/// A hash of a text, for sets of names that need no text: map_set_number(&set, map_hash(name), ...).
uint64_t map_hash(Str key);
/// The value under `key`, or NULL.
void *map_get(const Map *map, Str key);
/// Sets or replaces. The key's bytes must outlive the map.
void map_set(Map *map, Str key, void *value);
bool map_has(const Map *map, Str key);

void *map_get_number(const Map *map, uint64_t key);
void map_set_number(Map *map, uint64_t key, void *value);
bool map_has_number(const Map *map, uint64_t key);

static inline void *map_get_pointer(const Map *map, const void *key) {
    return map_get_number(map, (uint64_t)(uintptr_t)key);
}
static inline void map_set_pointer(Map *map, const void *key, void *value) {
    map_set_number(map, (uint64_t)(uintptr_t)key, value);
}
static inline bool map_has_pointer(const Map *map, const void *key) {
    return map_has_number(map, (uint64_t)(uintptr_t)key);
}

#endif
