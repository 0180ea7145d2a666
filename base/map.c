// Open addressing over an insertion-ordered entry array.
#include "base/map.h"

#include <string.h>

Map map_new(Arena *arena) { return (Map){.arena = arena}; }

static uint64_t hash_mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 32);
}

/// Eight bytes at a time, each folded in by a multiplication whose upper half comes back down.
static uint64_t hash_of(Str key, uint64_t number) {
    uint64_t hash = hash_mix(key.size, number);
    size_t at = 0;
    for (; key.size - at >= sizeof hash; at += sizeof hash) {
        uint64_t word;
        memcpy(&word, key.data + at, sizeof word);
        hash = hash_mix(hash, word);
    }
    uint64_t rest = 0;
    if (at < key.size) memcpy(&rest, key.data + at, key.size - at);
    return hash_mix(hash, rest);
}

uint64_t map_hash(Str key) { return hash_of(key, 0); }

static bool entry_matches(const MapEntry *entry, Str key, uint64_t number) {
    return entry->number == number && str_equal(entry->key, key);
}

static int *slot_find(const Map *map, Str key, uint64_t number) {
    uint64_t mask = (uint64_t)map->slot_count - 1;
    for (uint64_t i = hash_of(key, number) & mask;; i = (i + 1) & mask) {
        int *slot = &map->slots[i];
        if (*slot == 0 || entry_matches(&map->entries[*slot - 1], key, number)) return slot;
    }
}

static MapEntry *entry_find(const Map *map, Str key, uint64_t number) {
    if (map->count == 0) return NULL;
    int slot = *slot_find(map, key, number);
    return slot ? &map->entries[slot - 1] : NULL;
}

static void map_grow(Map *map) {
    int capacity = map->capacity ? map->capacity * 2 : 8;
    map->entries = arena_grow(map->arena, map->entries, sizeof(MapEntry) * (size_t)map->count,
                              sizeof(MapEntry) * (size_t)capacity);
    map->capacity = capacity;
    map->slot_count = capacity * 2;
    map->slots = ARENA_ARRAY(map->arena, int, map->slot_count);
    for (int i = 0; i < map->count; i++)
        *slot_find(map, map->entries[i].key, map->entries[i].number) = i + 1;
}

static void entry_set(Map *map, Str key, uint64_t number, void *value) {
    int *slot = map->slot_count ? slot_find(map, key, number) : NULL;
    if (slot && *slot) {
        map->entries[*slot - 1].value = value;
        return;
    }
    if (map->count == map->capacity) {
        map_grow(map);
        slot = slot_find(map, key, number);
    }
    map->entries[map->count] = (MapEntry){key, number, value};
    *slot = ++map->count;
}

void *map_get(const Map *map, Str key) {
    MapEntry *entry = entry_find(map, key, 0);
    return entry ? entry->value : NULL;
}

void map_set(Map *map, Str key, void *value) { entry_set(map, key, 0, value); }

bool map_has(const Map *map, Str key) { return entry_find(map, key, 0) != NULL; }

void *map_get_number(const Map *map, uint64_t key) {
    MapEntry *entry = entry_find(map, (Str){0}, key);
    return entry ? entry->value : NULL;
}

void map_set_number(Map *map, uint64_t key, void *value) { entry_set(map, (Str){0}, key, value); }

bool map_has_number(const Map *map, uint64_t key) { return entry_find(map, (Str){0}, key) != NULL; }
