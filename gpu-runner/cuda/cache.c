// A file a key, named by its hash; it holds the key itself, so that equal hashes do not matter, and a sum over all of it.
#include "gpu-runner/cuda/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gpu-runner/interp/memory.h"

static const char SUFFIX[] = ".code";
enum { LONGEST_PATH = 4096, OLD_SECONDS = 3600, NAME_LETTERS = 32 };

typedef struct CacheHeader {
    char kind[8];
    uint64_t key_size, code_size, sum;
} CacheHeader;

static const char KIND[8] = "tad-co1";

static uint64_t hash_of(Str text, uint64_t seed) {
    uint64_t hash = hash_mix(seed ^ text.size), word;
    size_t at = 0;
    for (; at + sizeof word <= text.size; at += sizeof word) {
        memcpy(&word, text.data + at, sizeof word);
        hash = hash_mix(hash ^ word);
    }
    for (; at < text.size; at++) hash = hash_mix(hash ^ (unsigned char)text.data[at]);
    return hash;
}

static uint64_t sum_of(Str key, Str code) { return hash_of(code, hash_of(key, 1)); }

/// Ours alone: code in a folder that others write to is anybody's.
static bool is_private(const char *folder) {
    struct stat info;
    return stat(folder, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// $XDG_CACHE_HOME/tad-lsp/cuda, or that below $HOME/.cache. NULL where there is none.
static const char *folder_of(Arena *arena) {
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (!base || *base != '/') {
        if (!home || *home != '/') return NULL;
        base = arena_printf(arena, "%s/.cache", home);
    }
    mkdir(base, S_IRWXU);
    const char *ours = arena_printf(arena, "%s/tad-lsp", base),
               *folder = arena_printf(arena, "%s/cuda", ours);
    mkdir(ours, S_IRWXU);
    mkdir(folder, S_IRWXU);
    return strlen(folder) < LONGEST_PATH && is_private(ours) && is_private(folder) ? folder : NULL;
}

static const char *path_of(Arena *arena, const char *folder, Str key) {
    return arena_printf(arena, "%s/%016llx%016llx%s", folder, (unsigned long long)hash_of(key, 2),
                        (unsigned long long)hash_of(key, 3), SUFFIX);
}

static bool read_all(int file, char *bytes, size_t size) {
    for (size_t had = 0; had < size;) {
        ssize_t more = read(file, bytes + had, size - had);
        if (more <= 0) return false;
        had += (size_t)more;
    }
    return true;
}

static bool write_all(int file, const void *bytes, size_t size) {
    for (size_t had = 0; had < size;) {
        ssize_t more = write(file, (const char *)bytes + had, size - had);
        if (more <= 0) return false;
        had += (size_t)more;
    }
    return true;
}

static Str code_in(Arena *arena, int file, Str key) {
    CacheHeader header;
    struct stat info;
    if (fstat(file, &info) || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
        !read_all(file, (char *)&header, sizeof header) ||
        memcmp(header.kind, KIND, sizeof KIND) != 0 || header.key_size != key.size ||
        header.code_size == 0 || header.code_size > CACHE_MOST_BYTES ||
        (uint64_t)info.st_size != sizeof header + header.key_size + header.code_size)
        return (Str){0};
    size_t size = (size_t)(header.key_size + header.code_size);
    char *bytes = arena_alloc(arena, size + 1);
    if (!read_all(file, bytes, size)) return (Str){0};
    Str own = {bytes, key.size}, code = {bytes + key.size, (size_t)header.code_size};
    return str_equal(own, key) && sum_of(own, code) == header.sum ? code : (Str){0};
}

Str cache_find(Arena *arena, Str key) {
    const char *folder = folder_of(arena);
    if (!folder) return (Str){0};
    int file = open(path_of(arena, folder, key), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return (Str){0};
    Str code = code_in(arena, file, key);
    if (code.data) futimens(file, NULL);  // used just now
    close(file);
    return code;
}

// --- keeping it bounded -------------------------------------------------------------------------------------------------

typedef struct Entry {
    char name[NAME_LETTERS + sizeof SUFFIX];
    int64_t size;
    struct timespec used;
} Entry;

static int by_use(const void *a, const void *b) {
    const struct timespec *left = &((const Entry *)a)->used, *right = &((const Entry *)b)->used;
    if (left->tv_sec != right->tv_sec) return left->tv_sec < right->tv_sec ? -1 : 1;
    return (left->tv_nsec > right->tv_nsec) - (left->tv_nsec < right->tv_nsec);
}

/// Removes what was used least recently, and what a process that ended left half written.
static void shrink(Arena *arena, const char *folder) {
    DIR *listing = opendir(folder);
    if (!listing) return;
    LIST(Entry) entries = {0};
    int64_t bytes = 0;
    for (const struct dirent *found; (found = readdir(listing));) {
        struct stat info;
        if (fstatat(dirfd(listing), found->d_name, &info, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(info.st_mode))
            continue;
        Entry entry = {.size = info.st_size, .used = info.st_mtim};
        size_t letters = strlen(found->d_name);
        if (letters == sizeof entry.name - 1 && str_ends(str_from(found->d_name), SUFFIX)) {
            memcpy(entry.name, found->d_name, letters + 1);
            LIST_PUSH(arena, &entries, entry);
            bytes += entry.size;
        } else if (str_ends(str_from(found->d_name), ".part") &&
                   info.st_mtim.tv_sec + OLD_SECONDS < time(NULL)) {
            unlinkat(dirfd(listing), found->d_name, 0);
        }
    }
    int count = entries.count;
    if (count > CACHE_MOST_FILES || bytes > CACHE_MOST_BYTES)
        qsort(entries.items, (size_t)count, sizeof *entries.items, by_use);
    for (int i = 0; i < entries.count && (count > CACHE_MOST_FILES || bytes > CACHE_MOST_BYTES);
         i++) {
        if (unlinkat(dirfd(listing), entries.items[i].name, 0) == 0) count--;
        bytes -= entries.items[i].size;
    }
    closedir(listing);
}

void cache_keep(Arena *arena, Str key, Str code) {
    static int number;
    const char *folder = folder_of(arena);
    if (!folder || !code.size || code.size > CACHE_MOST_BYTES / 2) return;
    const char *path = path_of(arena, folder, key),
               *part = arena_printf(arena, "%s/%ld-%d.part", folder, (long)getpid(), number++);
    CacheHeader header = {.key_size = key.size, .code_size = code.size, .sum = sum_of(key, code)};
    memcpy(header.kind, KIND, sizeof KIND);
    int file = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (file < 0) return;
    bool whole = write_all(file, &header, sizeof header) && write_all(file, key.data, key.size) &&
                 write_all(file, code.data, code.size);
    whole = close(file) == 0 && whole;
    if (!whole || rename(part, path)) unlink(part);
    shrink(arena, folder);
}
