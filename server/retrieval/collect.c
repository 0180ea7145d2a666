// A file is analysed with what it imports; it is out of date where any of that is.
#include "server/retrieval/collect.h"

#include <sys/stat.h>

#include "server/retrieval/pairs.h"
#include "server/retrieval/words.h"
#include "server/system/files.h"
#include "server/text/resolve.h"
#include "server/text/sieve.h"

enum { MOST_TEXT = 64 * 1024 };  // that is kept of a kernel

struct Collector {
    Arena *arena;
    const Map *known;
    ImportResolver *resolver;
    Map current;  // path -> Stamp *
};

Collector *collector_new(Arena *arena, const Map *known) {
    Collector *collector = ARENA_NEW(arena, Collector);
    *collector = (Collector){.arena = arena,
                             .known = known,
                             .resolver = import_resolver_new(NULL),
                             .current = map_new(arena)};
    return collector;
}

void collector_free(Collector *collector) { import_resolver_free(collector->resolver); }

static int64_t hash_text(Str text) { return (int64_t)map_hash(text); }

/// The file's time and size; false where it is not there.
static bool look_at(const char *path, Stamp *stamp) {
    struct stat info;
    *stamp = (Stamp){.path = path};
    if (stat(path, &info)) return false;
    stamp->mtime_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    stamp->size = info.st_size;
    return true;
}

static bool is_as_before(Collector *collector, const Stamp *before) {
    Stamp *now = map_get(&collector->current, str_from(before->path));
    if (!now) {
        now = ARENA_NEW(collector->arena, Stamp);
        if (!look_at(before->path, now)) now->size = -1;
        map_set(&collector->current, str_from(before->path), now);
    }
    if (now->size != before->size) return false;
    if (now->mtime_ns == before->mtime_ns) return true;
    if (!now->hash) {
        Arena *scratch = arena_new();
        Str text;
        if (!file_read(scratch, before->path, &text)) now->hash = hash_text(text);
        arena_free(scratch);
    }
    return now->hash == before->hash;
}

bool collector_is_current(Collector *collector, const char *path) {
    const StoredFile *file = map_get(collector->known, str_from(path));
    if (!file || !is_as_before(collector, &file->stamp)) return false;
    for (LIST_EACH(int, i, file->uses))
        if (!is_as_before(collector, &file->uses.items[i])) return false;
    return true;
}

/// Files that only put kernels together name none of them, perhaps: their classes are read, too.
static bool may_hold_pairs(const char *text) {
    return strstr(text, "backward") != NULL && strstr(text, "import") != NULL;
}

StoredKernel collect_kernel(Arena *arena, const char *path, const Kernel *kernel) {
    Str text = source_slice(kernel->definition->range);
    if (text.size > MOST_TEXT) text.size = MOST_TEXT;
    text = utf8_repaired(arena, text);
    const char *name = str_dup(arena, kernel->definition->name);
    return (StoredKernel){.path = path,
                          .name = name,
                          .line = range_line(kernel->definition->name_range),
                          .hash = hash_text(text),
                          .structure = structure_of(arena, kernel->function),
                          .words = vocabulary_of(arena, path, name, text),
                          .text = str_dup(arena, text)};
}

static void take_kernels(Arena *arena, const Snapshot *snapshot, StoredFile *file) {
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (!kernel->function || kernel->definition->returns_value) continue;
        StoredKernel stored = collect_kernel(arena, file->stamp.path, kernel);
        LIST_PUSH(arena, &file->kernels, stored);
    }
}

static void take_members(Arena *arena, StoredPair *pair, const FunctionDefinition *const *kernels,
                         int count, bool is_forward) {
    for (int i = 0; i < count; i++) {
        const char *path = path_real(arena, kernels[i]->module->source->path);
        StoredMember member = {arena_strdup(arena, path), str_dup(arena, kernels[i]->name),
                               is_forward};
        LIST_PUSH(arena, &pair->members, member);
    }
}

static void take_pairs(Arena *arena, const Module *module, StoredFile *file) {
    Arena *scratch = arena_new_scratch();
    KernelPairs pairs = pairs_find(scratch, module);
    for (LIST_EACH(int, i, pairs.list)) {
        const KernelPair *found = &pairs.list.items[i];
        StoredPair pair = {.name = arena_strdup(arena, found->name),
                           .line = range_line(found->forward->name_range)};
        take_members(arena, &pair, found->forwards.items, found->forwards.count, true);
        take_members(arena, &pair, found->backwards.items, found->backwards.count, false);
        LIST_PUSH(arena, &file->pairs, pair);
    }
    arena_free(scratch);
}

static void take_uses(Collector *collector, StoredFile *file) {
    Arena *arena = collector->arena;
    Map seen = map_new(arena);
    Imports imports = import_resolver_closure(collector->resolver, arena, file->stamp.path);
    for (LIST_EACH(int, i, imports.list)) {
        const Import *import = &imports.list.items[i];
        Stamp stamp;
        const char *path = arena_strdup(arena, path_real(arena, import->path));
        if (map_has(&seen, str_from(path)) || !look_at(path, &stamp)) continue;
        map_set(&seen, str_from(path), file);
        stamp.hash = hash_text(import->text);
        LIST_PUSH(arena, &file->uses, stamp);
    }
}

StoredFile *collector_read(Collector *collector, const char *path, Error *error) {
    Arena *arena = collector->arena, *own = arena_new_scratch();
    StoredFile *file = ARENA_NEW(arena, StoredFile);
    Str text;
    look_at(path, &file->stamp);
    *error = file_read(own, path, &text);
    if (*error) *error = arena_strdup(arena, *error);
    bool has_kernels = !*error && text_may_concern_kernels(text.data);
    file->stamp.hash = *error ? 0 : hash_text(text);
    if (!*error && (has_kernels || may_hold_pairs(text.data))) {
        SnapshotOptions options = {.resolver = import_resolver_interface(collector->resolver),
                                   .skip_checks = true};
        Snapshot *snapshot = snapshot_build(path, text, &options);
        take_kernels(arena, snapshot, file);
        take_pairs(arena, snapshot->module, file);
        take_uses(collector, file);
        snapshot_release(snapshot);
    }
    arena_free(own);
    return *error ? NULL : file;
}
