// Files of the user's own: outside of every workspace, so that what somebody cloned cannot speak for him.
#ifndef TAD_SERVER_SYSTEM_PRIVATE_H
#define TAD_SERVER_SYSTEM_PRIVATE_H

#include "base/arena.h"
#include "base/error.h"

/// `$variable/tad-lsp/name`, or `~/below/tad-lsp/name`. NULL and `*error` where there is no such place, or where it lies in
/// `workspace` (a real path; NULL: it may lie anywhere).
const char *private_path(Arena *arena, const char *variable, const char *below, const char *name,
                         const char *workspace, Error *error);
/// Makes a folder and those above it, for the user alone, as far as they are not there.
void private_make_folder(Arena *arena, const char *folder);
/// Whether the file is the user's alone to write. A sentence where not; NULL, too, where it is not there.
Error private_refuse(Arena *arena, const char *path);
/// The folder of the workspace that holds a file: the nearest above it that has .git or pyproject.toml, else its own. Real.
const char *workspace_of(Arena *arena, const char *file);
/// Whether a path, with its links followed, lies in the folder.
bool lies_in(Arena *arena, const char *path, const char *folder);

#endif
