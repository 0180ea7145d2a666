// Finds and reads the modules that files import, for the analysis, which does no I/O.
#ifndef TAD_SERVER_TEXT_RESOLVE_H
#define TAD_SERVER_TEXT_RESOLVE_H

#include "analysis/module/module.h"
#include "server/text/overlay.h"

typedef struct ImportResolver ImportResolver;

/// A file that was read on behalf of an import.
typedef struct Import {
    const char *from;    // path of the importing file
    const char *dotted;  // as written, with its leading dots: "..utils.op"
    const char *path;
    Str text;
} Import;

typedef struct Imports {
    LIST(Import) list;
} Imports;

/// `overlay` has the texts of open files; NULL: all are read from disk.
ImportResolver *import_resolver_new(Overlay *overlay);
/// Modules that it handed out die with it.
void import_resolver_free(ImportResolver *resolver);
const Resolver *import_resolver_interface(ImportResolver *resolver);
/// All files that `path` imports, directly and through others, as far as the analysis asked for them.
Imports import_resolver_closure(const ImportResolver *resolver, Arena *arena, const char *path);
/// Whether a file of the closure of `path` has changed since it was read. Requires an overlay.
bool import_resolver_is_stale(const ImportResolver *resolver, const char *path);
/// Whether any file that was read has changed since. Requires an overlay.
bool import_resolver_is_outdated(const ImportResolver *resolver);

#endif
