// XDG's folders, checked.
#include "server/system/private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/system/files.h"

bool lies_in(Arena *arena, const char *path, const char *folder) {
    // What is not there yet: the nearest folder above it that is.
    while (access(path, F_OK) && strcmp(path, "/") != 0 && strcmp(path, ".") != 0)
        path = path_folder(arena, path);
    const char *real = path_real(arena, path);
    size_t size = strlen(folder);
    if (size == 1) return true;
    return strncmp(real, folder, size) == 0 && (real[size] == '/' || real[size] == 0);
}

const char *private_path(Arena *arena, const char *variable, const char *below, const char *name,
                         const char *workspace, Error *error) {
    const char *base = getenv(variable), *home = getenv("HOME");
    *error = NULL;
    if (base && *base == '/')
        base = arena_strdup(arena, base);
    else if (home && *home == '/')
        base = path_join(arena, home, below);
    else
        *error =
            arena_printf(arena, "neither $%s nor $HOME says where your own files are", variable);
    if (*error) return NULL;
    const char *path = path_join(arena, path_join(arena, base, "tad-lsp"), name);
    if (!workspace || !lies_in(arena, path, workspace)) return path;
    *error = arena_printf(arena, "%s lies in the workspace %s, which cannot speak for you", path,
                          workspace);
    return NULL;
}

void private_make_folder(Arena *arena, const char *folder) {
    if (strcmp(folder, "/") == 0 || folder_exists(folder)) return;
    private_make_folder(arena, path_folder(arena, folder));
    mkdir(folder, 0700);
}

Error private_refuse(Arena *arena, const char *path) {
    struct stat info;
    if (stat(path, &info)) return NULL;
    if (info.st_uid != getuid() && info.st_uid != 0)
        return arena_printf(arena, "%s belongs to somebody else", path);
    if (info.st_mode & (S_IWGRP | S_IWOTH))
        return arena_printf(arena, "%s can be written by others: chmod go-w it", path);
    return NULL;
}

const char *workspace_of(Arena *arena, const char *file) {
    const char *own = path_folder(arena, path_real(arena, file));
    for (const char *folder = own; strcmp(folder, "/") != 0 && strcmp(folder, ".") != 0;
         folder = path_folder(arena, folder)) {
        if (access(path_join(arena, folder, ".git"), F_OK) == 0) return folder;
        if (access(path_join(arena, folder, "pyproject.toml"), F_OK) == 0) return folder;
    }
    return own;
}
