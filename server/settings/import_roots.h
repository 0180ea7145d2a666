// Where a project keeps what it installs: packages are imported from there, not from the project's folder.
#ifndef TAD_SERVER_SETTINGS_IMPORT_ROOTS_H
#define TAD_SERVER_SETTINGS_IMPORT_ROOTS_H

#include "server/settings/options.h"

/// The folders below `folder` that its pyproject.toml names as the place of packages, and `src` where `folder` holds a project
/// of any kind. None where there is no project.
Names import_roots(Arena *arena, const char *folder);

#endif
