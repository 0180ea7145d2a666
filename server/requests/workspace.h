// The files of the workspace, one after the other, as if each were the request's document. On the slow queue.
#ifndef TAD_SERVER_REQUESTS_WORKSPACE_H
#define TAD_SERVER_REQUESTS_WORKSPACE_H

#include "server/session/session.h"

/// Looks at one file: it is `request->document` and `request->text` meanwhile. NULL snapshot: see WorkspaceScan.
typedef void FileVisitor(Request *request, const Snapshot *snapshot, const Settings *settings,
                         void *context);

typedef struct WorkspaceScan {
    FileVisitor *visit;
    void *context;
    Str word;            // only files that hold it; empty: only those that may concern kernels
    const char *path;    // a file that is visited wherever it is; or NULL
    bool with_checks;    // snapshots have diagnostics
    bool leaves_others;  // only files of workspace folders, not open ones elsewhere
} WorkspaceScan;

/// Until the request is cancelled. What the settings exclude, and what cannot be read, is left out. A fault of ours skips the file.
void workspace_scan(Request *request, const WorkspaceScan *scan);
/// Whether a file is the user's own to change: open, or in a folder of the workspace and not installed there.
bool workspace_holds(const Request *request, const char *path);
/// Whether both are one file, links followed.
bool file_is_same(const char *a, const char *b);

/// Symbols of files by when they were changed, so that only new ones are read.
typedef struct WorkspaceIndex WorkspaceIndex;
WorkspaceIndex *workspace_index_new(void);
void workspace_index_free(WorkspaceIndex *index);
/// SymbolInformation of the kernels and helpers whose names have the letters of `query` in this order.
Json *workspace_symbols(Request *request, WorkspaceIndex *index, Str query);

#endif
