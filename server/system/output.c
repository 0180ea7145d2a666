// Where a path leads is found one component after the other, as the system does it, so that each link is seen.
#include "server/system/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/system/files.h"

static bool is_below(const char *path, const char *folder) {
    size_t size = strlen(folder);
    if (size == 1) return true;  // "/"
    return strncmp(path, folder, size) == 0 && (path[size] == '/' || path[size] == 0);
}

typedef struct Way {
    Arena *arena;
    const char *path;  // as it was named
    const char *root;
    const char *at;  // real, absolute
} Way;

/// Goes through a link. One that a stranger may have put below the root must not lead out of it.
static Error way_follow(Way *way, const char *link) {
    char target[PATH_MAX];
    if (!realpath(link, target))
        return arena_printf(way->arena, "%s: %s is a link that leads nowhere", way->path, link);
    if (is_below(way->at, way->root) && !is_below(target, way->root))
        return arena_printf(way->arena, "%s: %s is a link that leads out of %s, to %s", way->path,
                            link, way->root, target);
    way->at = arena_strdup(way->arena, target);
    return NULL;
}

static Error way_step(Way *way, Str name) {
    struct stat info;
    if (name.size == 0 || str_is(name, ".")) return NULL;
    if (str_is(name, "..")) {
        way->at = path_folder(way->arena, way->at);
        return NULL;
    }
    const char *next = path_join(way->arena, way->at, str_dup(way->arena, name));
    if (lstat(next, &info) == 0 && S_ISLNK(info.st_mode)) return way_follow(way, next);
    way->at = next;
    return NULL;
}

/// Where the path leads; a last name that is not there yet stays as it is.
static Error way_walk(Way *way) {
    char here[PATH_MAX];
    if (!realpath(way->root ? way->root : ".", here))
        return arena_printf(way->arena, "%s: %s", way->root ? way->root : ".", strerror(errno));
    way->root = arena_strdup(way->arena, here);
    way->at = "/";
    if (*way->path != '/') {
        if (!getcwd(here, sizeof here))
            return arena_printf(way->arena, "%s: %s", way->path, strerror(errno));
        way->at = arena_strdup(way->arena, here);
    }
    for (const char *name = way->path; *name;) {
        size_t size = strcspn(name, "/");
        Error error = way_step(way, (Str){name, size});
        if (error) return error;
        name += size + (name[size] == '/');
    }
    return NULL;
}

static bool is_input(const Output *output, const struct stat *info) {
    struct stat input;
    for (int i = 0; i < output->input_count; i++)
        if (stat(output->inputs[i], &input) == 0 && input.st_dev == info->st_dev &&
            input.st_ino == info->st_ino)
            return true;
    return false;
}

static bool may_replace(Arena *arena, const Output *output, const char *real,
                        const struct stat *info) {
    Str text;
    if (output->is_forced || info->st_size == 0) return true;
    return output->is_ours && !file_read(arena, real, &text) && output->is_ours(arena, text);
}

/// Devices, and what the shell hands over (`>(...)`): written as they are, there is nothing to lose.
static bool is_handed_over(const char *path) {
    struct stat info;
    Str name = str_from(path);
    if (str_starts(name, "/dev/") || str_starts(name, "/proc/")) return true;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

Error output_refuse(Arena *arena, const Output *output, const char **real) {
    const char *path = output->path;
    struct stat info;
    Way way = {.arena = arena, .path = path, .root = output->root};
    Error error = way_walk(&way);
    if (error) return arena_printf(arena, "%s; nothing was written", error);
    *real = way.at;
    if (stat(way.at, &info)) return NULL;
    if (S_ISDIR(info.st_mode)) return arena_printf(arena, "%s: is a folder", path);
    if (is_input(output, &info))
        return arena_printf(arena, "%s: is read here, so it is not written; name another file",
                            path);
    if (!may_replace(arena, output, way.at, &info))
        return arena_printf(arena, "%s: exists and was not written by tad-lsp; %s", path,
                            output->way_out);
    if (access(way.at, W_OK))
        return arena_printf(arena, "%s: cannot write: %s", path, strerror(errno));
    return NULL;
}

/// An empty file of a new name in the folder of `real`, with the permissions that `real` has, or would get.
static Error draft_open(Arena *arena, const char *real, const char **draft, int *file) {
    enum { MOST_TRIES = 100 };
    struct stat info;
    const char *folder = path_folder(arena, real), *name = strrchr(real, '/');
    for (int i = 0; i < MOST_TRIES; i++) {
        *draft =
            path_join(arena, folder,
                      arena_printf(arena, ".%s.%ld-%d", name ? name + 1 : real, (long)getpid(), i));
        *file = open(*draft, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (*file >= 0 || errno != EEXIST) break;
    }
    if (*file < 0) return arena_printf(arena, "cannot write: %s", strerror(errno));
    if (stat(real, &info) == 0 && fchmod(*file, info.st_mode & 07777)) {
        Error error = arena_printf(arena, "cannot keep its permissions: %s", strerror(errno));
        close(*file);
        unlink(*draft);
        return error;
    }
    return NULL;
}

static bool write_all(int file, const char *text) {
    for (size_t left = strlen(text); left;) {
        ssize_t size = write(file, text, left);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) return false;
        text += size;
        left -= (size_t)size;
    }
    return true;
}

static Error write_straight(Arena *arena, const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return arena_printf(arena, "%s: cannot write: %s", path, strerror(errno));
    bool failed = !write_all(file, text);
    int why = errno;
    if (close(file) && !failed) {
        failed = true;
        why = errno;
    }
    return failed ? arena_printf(arena, "%s: writing failed: %s", path, strerror(why)) : NULL;
}

Error output_write(Arena *arena, const Output *output, const char *text) {
    if (is_handed_over(output->path)) return write_straight(arena, output->path, text);
    const char *real, *draft;
    int file;
    Error error = output_refuse(arena, output, &real);
    if (error) return error;
    error = draft_open(arena, real, &draft, &file);
    if (error) return arena_printf(arena, "%s: %s", output->path, error);
    bool failed = !write_all(file, text);
    int why = errno;
    if (close(file) && !failed) {
        failed = true;
        why = errno;
    }
    if (!failed && rename(draft, real)) {
        failed = true;
        why = errno;
    }
    if (!failed) return NULL;
    unlink(draft);
    return arena_printf(arena, "%s: writing failed: %s", output->path, strerror(why));
}

Error output_open(Arena *arena, const Output *output, int *file) {
    if (is_handed_over(output->path)) {
        *file = open(output->path, O_WRONLY | O_APPEND | O_CLOEXEC);
        return *file >= 0
                   ? NULL
                   : arena_printf(arena, "%s: cannot write: %s", output->path, strerror(errno));
    }
    const char *real, *draft;
    Error error = output_refuse(arena, output, &real);
    if (error) return error;
    error = draft_open(arena, real, &draft, file);
    if (error) return arena_printf(arena, "%s: %s", output->path, error);
    if (rename(draft, real) == 0) return NULL;
    error = arena_printf(arena, "%s: cannot write: %s", output->path, strerror(errno));
    close(*file);
    unlink(draft);
    return error;
}
