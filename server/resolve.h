// Finds and reads the modules that files import, for the analysis, which does no I/O.
#ifndef TAD_SERVER_RESOLVE_H
#define TAD_SERVER_RESOLVE_H

#include "analysis/module.h"

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

ImportResolver *import_resolver_new(void);
/// Modules that it handed out die with it.
void import_resolver_free(ImportResolver *resolver);
const Resolver *import_resolver_interface(ImportResolver *resolver);
/// All files that `path` imports, directly and through others, as far as the analysis asked for them.
Imports import_resolver_closure(ImportResolver *resolver, Arena *arena, const char *path);

#endif
