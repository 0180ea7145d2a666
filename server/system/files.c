// Walking and reading. An unreadable folder is a problem, not the end: the others are still checked.
#include "server/system/files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"

enum { DEEPEST_FOLDER = 64 };

const char *path_join(Arena *arena, const char *folder, const char *name) {
    if (strcmp(folder, ".") == 0 || !*folder) return arena_strdup(arena, name);
    bool slash = folder[strlen(folder) - 1] == '/';
    return arena_printf(arena, "%s%s%s", folder, slash ? "" : "/", name);
}

const char *path_folder(Arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return ".";
    return slash == path ? "/" : arena_strndup(arena, path, (size_t)(slash - path));
}

const char *path_normal(Arena *arena, const char *path) {
    LIST(Str) parts = {0};
    for (const char *at = path; *at;) {
        Str part = {at, strcspn(at, "/")};
        at += part.size + (at[part.size] == '/');
        if (part.size == 0 || str_is(part, ".")) continue;
        bool up = str_is(part, "..");
        if (up && parts.count && !str_is(parts.items[parts.count - 1], ".."))
            parts.count--;
        else if (!up || *path != '/')
            LIST_PUSH(arena, &parts, part);
    }
    Buffer out = buffer_new(arena);
    if (*path == '/') buffer_putc(&out, '/');
    for (LIST_EACH(int, i, parts))
        buffer_printf(&out, "%s%.*s", i ? "/" : "", STR_ARGS(parts.items[i]));
    if (out.size == 0) buffer_putc(&out, '.');
    return buffer_text(&out);
}

const char *path_real(Arena *arena, const char *path) {
    char real[PATH_MAX];
    return realpath(path, real) ? arena_strdup(arena, real) : path;
}

bool file_exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

bool folder_exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool skips_folder(Arena *arena, const char *path, const char *name) {
    static const char *const skipped[] = {"node_modules", "__pycache__", "site-packages", NULL};
    if (name[0] == '.') return true;
    for (int i = 0; skipped[i]; i++)
        if (strcmp(name, skipped[i]) == 0) return true;
    return file_exists(path_join(arena, path, "pyvenv.cfg"));
}

typedef struct FolderWalk {
    Arena *arena;
    Report *report;
    FileList *files;
    Map seen;  // by real path
} FolderWalk;

static void add_file(FolderWalk *walk, const char *path, bool was_named) {
    Str real = str_from(path_real(walk->arena, path));
    if (map_has(&walk->seen, real)) return;
    map_set(&walk->seen, real, walk);
    LIST_PUSH(walk->arena, &walk->files->items, (FileItem){path, was_named});
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void walk_folder(FolderWalk *walk, const char *folder, int depth);

static void walk_entry(FolderWalk *walk, const char *folder, const char *name, int depth) {
    const char *path = path_join(walk->arena, folder, name);
    struct stat info;
    if (lstat(path, &info)) {
        report_problem(walk->report, "%s: %s", path, strerror(errno));
        return;
    }
    bool is_link = S_ISLNK(info.st_mode);
    if (S_ISDIR(info.st_mode) && !skips_folder(walk->arena, path, name))
        walk_folder(walk, path, depth + 1);
    else if (str_ends(str_from(name), ".py") &&
             (S_ISREG(info.st_mode) || (is_link && file_exists(path))))
        add_file(walk, path, false);
}

static void walk_folder(FolderWalk *walk, const char *folder, int depth) {
    if (depth > DEEPEST_FOLDER) {
        report_problem(walk->report,
                       "%s: folders are nested more than %d deep; name it to check it", folder,
                       DEEPEST_FOLDER);
        return;
    }
    DIR *directory = opendir(folder);
    if (!directory) {
        report_problem(walk->report, "%s: cannot read the folder: %s", folder, strerror(errno));
        return;
    }
    LIST(const char *) names = {0};
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        LIST_PUSH(walk->arena, &names, arena_strdup(walk->arena, entry->d_name));
    }
    closedir(directory);
    if (names.count) qsort(names.items, (size_t)names.count, sizeof *names.items, compare_names);
    for (LIST_EACH(int, i, names)) walk_entry(walk, folder, names.items[i], depth);
}

FileList files_collect(Arena *arena, Report *report, const char *const *paths, int count) {
    FileList files = {0};
    FolderWalk walk = {arena, report, &files, map_new(arena)};
    for (int i = 0; i < count; i++) {
        const char *path = path_normal(arena, paths[i]);
        struct stat info;
        if (!*paths[i] || stat(path, &info))
            report_problem(report, "%s: %s", *paths[i] ? path : "(empty path)",
                           strerror(*paths[i] ? errno : ENOENT));
        else if (S_ISDIR(info.st_mode))
            walk_folder(&walk, path, 0);
        else
            add_file(&walk, path, true);
    }
    return files;
}

static int line_of(const char *text, const char *where) {
    int line = 1;
    for (; text < where; text++) line += *text == '\n';
    return line;
}

static Error refuse_text(Arena *arena, const char *path, Str text) {
    const char *nul = memchr(text.data, 0, text.size);
    if (nul)
        return arena_printf(arena, "%s:%d: the file has a NUL byte, so it is no Python source",
                            path, line_of(text.data, nul));
    const char *invalid = utf8_find_invalid(text.data, text.size);
    if (invalid)
        return arena_printf(arena,
                            "%s:%d: the file is not UTF-8; save it as UTF-8 to have it checked",
                            path, line_of(text.data, invalid));
    return NULL;
}

Error file_read(Arena *arena, const char *path, Str *text) {
    *text = (Str){"", 0};
    struct stat info;
    if (stat(path, &info)) return arena_printf(arena, "%s: %s", path, strerror(errno));
    if (S_ISDIR(info.st_mode)) return arena_printf(arena, "%s: is a folder", path);
    if (!S_ISREG(info.st_mode)) return arena_printf(arena, "%s: is no regular file", path);
    if (info.st_size > FILE_LARGEST_BYTES)
        return arena_printf(arena, "%s: the file has %.1f MB; files over %d MB are not analysed",
                            path, (double)info.st_size / 1e6, FILE_LARGEST_BYTES / 1000000);
    FILE *file = fopen(path, "rb");
    if (!file) return arena_printf(arena, "%s: %s", path, strerror(errno));
    char *data = arena_alloc(arena, (size_t)info.st_size + 1);
    size_t size = fread(data, 1, (size_t)info.st_size, file);
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed) return arena_printf(arena, "%s: reading failed: %s", path, strerror(errno));
    *text = (Str){data, size};
    return refuse_text(arena, path, *text);
}
