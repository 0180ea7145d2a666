// A table under a lock; entries stay, one for each file that was ever open, imported or reported.
#include "server/text/overlay.h"

#include <string.h>

#include "base/map.h"
#include "base/parallel.h"
#include "server/system/files.h"

typedef struct OverlayEntry {
    Text *text;       // counted; NULL: not open
    const char *uri;  // of the client, the last time that it was opened
    int stamp;
    bool is_imported;
} OverlayEntry;

struct Overlay {
    Arena *arena;
    Lock lock;
    Map by_path;  // -> Entry
    Map missed;   // names of modules
    atomic_int listing, generation;
};

Overlay *overlay_new(void) {
    Arena *arena = arena_new();
    Overlay *overlay = ARENA_NEW(arena, Overlay);
    overlay->arena = arena;
    overlay->by_path = map_new(arena);
    overlay->missed = map_new(arena);
    lock_init(&overlay->lock);
    atomic_init(&overlay->listing, 0);
    atomic_init(&overlay->generation, 0);
    return overlay;
}

void overlay_free(Overlay *overlay) {
    for (int i = 0; i < overlay->by_path.count; i++) {
        OverlayEntry *entry = overlay->by_path.entries[i].value;
        text_release(entry->text);
    }
    lock_destroy(&overlay->lock);
    arena_free(overlay->arena);
}

/// Readers lock, too; the table is no part of what they see as constant.
static Overlay *overlay_lock(const Overlay *overlay) {
    Overlay *held = (Overlay *)(uintptr_t)overlay;
    lock_take(&held->lock);
    return held;
}

static void overlay_unlock(Overlay *overlay) { lock_give(&overlay->lock); }

/// Requires the lock.
static OverlayEntry *entry_make(Overlay *overlay, const char *path) {
    OverlayEntry *entry = map_get(&overlay->by_path, str_from(path));
    if (entry) return entry;
    entry = ARENA_NEW(overlay->arena, OverlayEntry);
    map_set(&overlay->by_path, str_from(arena_strdup(overlay->arena, path)), entry);
    return entry;
}

static const OverlayEntry *entry_find(const Overlay *overlay, const char *path) {
    return map_get(&overlay->by_path, str_from(path));
}

void overlay_set(Overlay *overlay, const char *path, const char *uri, Text *text) {
    overlay_lock(overlay);
    OverlayEntry *entry = entry_make(overlay, path);
    Text *old = entry->text;
    bool has_name = entry->uri && uri && strcmp(entry->uri, uri) == 0;
    if (text && !has_name) entry->uri = arena_strdup(overlay->arena, uri);
    entry->text = text_retain(text);
    entry->stamp++;
    overlay_unlock(overlay);
    text_release(old);
    atomic_fetch_add(&overlay->generation, 1);
}

void overlay_touch(Overlay *overlay, const char *path) {
    overlay_lock(overlay);
    OverlayEntry *entry = entry_make(overlay, path);
    if (!entry->text) entry->stamp++;
    overlay_unlock(overlay);
    atomic_fetch_add(&overlay->generation, 1);
}

void overlay_miss(Overlay *overlay, Str module) {
    overlay_lock(overlay);
    if (!map_has(&overlay->missed, module))
        map_set(&overlay->missed, str_from(str_dup(overlay->arena, module)), overlay);
    overlay_unlock(overlay);
}

/// "b" of "a/b.py" and of "a/b/__init__.py".
static Str module_of(const char *path) {
    Str name = str_from(path);
    if (str_ends(name, ".py")) name.size -= strlen(".py");
    if (str_ends(name, "/__init__")) name.size -= strlen("/__init__");
    for (size_t i = name.size; i > 0; i--)
        if (name.data[i - 1] == '/') return (Str){name.data + i, name.size - i};
    return name;
}

bool overlay_appear(Overlay *overlay, const char *path) {
    overlay_lock(overlay);
    bool was_missed = map_has(&overlay->missed, module_of(path));
    overlay_unlock(overlay);
    if (was_missed) overlay_relist(overlay);
    return was_missed;
}

void overlay_relist(Overlay *overlay) {
    atomic_fetch_add(&overlay->listing, 1);
    atomic_fetch_add(&overlay->generation, 1);
}

Text *overlay_import(Overlay *overlay, const char *path, int *stamp) {
    overlay_lock(overlay);
    OverlayEntry *entry = entry_make(overlay, path);
    Text *text = text_retain(entry->text);
    *stamp = entry->stamp;
    entry->is_imported = true;
    overlay_unlock(overlay);
    return text;
}

int overlay_stamp(const Overlay *overlay, const char *path) {
    Overlay *held = overlay_lock(overlay);
    const OverlayEntry *entry = entry_find(held, path);
    int stamp = entry ? entry->stamp : 0;
    overlay_unlock(held);
    return stamp;
}

bool overlay_is_imported(const Overlay *overlay, const char *path) {
    Overlay *held = overlay_lock(overlay);
    const OverlayEntry *entry = entry_find(held, path);
    bool is_imported = entry && entry->is_imported;
    overlay_unlock(held);
    return is_imported;
}

Text *overlay_open_text(const Overlay *overlay, Arena *arena, const char *path, const char **uri) {
    Overlay *held = overlay_lock(overlay);
    const OverlayEntry *entry = entry_find(held, path);
    Text *text = entry ? text_retain(entry->text) : NULL;
    if (text) *uri = arena_strdup(arena, entry->uri);
    overlay_unlock(held);
    return text;
}

bool overlay_is_open(const Overlay *overlay, const char *path) {
    Overlay *held = overlay_lock(overlay);
    const OverlayEntry *entry = entry_find(held, path);
    bool is_open = entry && entry->text;
    overlay_unlock(held);
    return is_open;
}

OpenPaths overlay_open_paths(const Overlay *overlay, Arena *arena) {
    OpenPaths paths = {0};
    Overlay *held = overlay_lock(overlay);
    for (int i = 0; i < held->by_path.count; i++) {
        const OverlayEntry *entry = held->by_path.entries[i].value;
        if (entry->text) LIST_PUSH(arena, &paths, str_dup(arena, held->by_path.entries[i].key));
    }
    overlay_unlock(held);
    return paths;
}

int overlay_listing(const Overlay *overlay) { return atomic_load(&overlay->listing); }
int overlay_generation(const Overlay *overlay) { return atomic_load(&overlay->generation); }
