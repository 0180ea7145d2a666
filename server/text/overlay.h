// What files hold as the editor knows it: unsaved texts of open ones, and which have changed on disk. From any thread.
#ifndef TAD_SERVER_TEXT_OVERLAY_H
#define TAD_SERVER_TEXT_OVERLAY_H

#include "base/list.h"
#include "server/text/documents.h"

/// Files are known by their real path, so that links to one are one.
typedef struct Overlay Overlay;

Overlay *overlay_new(void);
void overlay_free(Overlay *overlay);

/// The file is open under `uri` and holds `text`; or is closed, for a NULL `text`.
void overlay_set(Overlay *overlay, const char *path, const char *uri, Text *text);
/// The file on disk has changed.
void overlay_touch(Overlay *overlay, const char *path);
/// A module of this name, the last part of a dotted one, was looked for in vain.
void overlay_miss(Overlay *overlay, Str module);
/// The file has appeared: where a module of its name was missed, whatever was not found is looked for again. True then.
bool overlay_appear(Overlay *overlay, const char *path);
/// As if all that was missed had appeared.
void overlay_relist(Overlay *overlay);

/// The text of an open file, which the caller releases; NULL for one that is to be read from disk. `*stamp` is another number
/// after each change. From now on it counts as imported.
Text *overlay_import(Overlay *overlay, const char *path, int *stamp);
int overlay_stamp(const Overlay *overlay, const char *path);
/// Whether overlay_import was asked for it.
bool overlay_is_imported(const Overlay *overlay, const char *path);
typedef LIST(const char *) OpenPaths;
/// The real paths of open files.
OpenPaths overlay_open_paths(const Overlay *overlay, Arena *arena);
bool overlay_is_open(const Overlay *overlay, const char *path);
/// The same as overlay_import without counting; `*uri`, in `arena`, is the client's name of it. NULL where it is not open.
Text *overlay_open_text(const Overlay *overlay, Arena *arena, const char *path, const char **uri);
/// Another number when something that was not found may be there now.
int overlay_listing(const Overlay *overlay);
/// Another number after anything.
int overlay_generation(const Overlay *overlay);

#endif
