// Paths that a user named in, readable Python files out; and texts that are fit for analysis.
#ifndef TAD_SERVER_SYSTEM_FILES_H
#define TAD_SERVER_SYSTEM_FILES_H

#include "base/error.h"
#include "server/report/report.h"

enum { FILE_LARGEST_BYTES = 10 * 1000 * 1000 };

typedef struct FileItem {
    const char *path;
    bool was_named;  // by the user, not found in a folder
} FileItem;

typedef struct FileList {
    LIST(FileItem) items;
} FileList;

/// The files of `paths`: a file as it is, a folder's `*.py` in order of their names. Skips hidden folders, virtual
/// environments and node_modules. Each file once. What cannot be read becomes a problem of the report.
FileList files_collect(Arena *arena, Report *report, const char *const *paths, int count);

/// The whole text. Refuses what is no text: over 10 MB, NUL bytes, not UTF-8, no regular file.
Error file_read(Arena *arena, const char *path, Str *text);
bool file_exists(const char *path);
bool folder_exists(const char *path);

/// "a/b" of "a/b/c.py", "." of "c.py".
const char *path_folder(Arena *arena, const char *path);
/// `.` and `..` and doubled slashes taken out, by text alone.
const char *path_normal(Arena *arena, const char *path);
/// The path without links, or the path itself where it does not exist.
const char *path_real(Arena *arena, const char *path);
const char *path_join(Arena *arena, const char *folder, const char *name);

#endif
