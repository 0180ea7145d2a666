// Where packages are imported from: where a project keeps what it installs, and where environments keep what is installed.
#ifndef TAD_SERVER_SETTINGS_IMPORT_ROOTS_H
#define TAD_SERVER_SETTINGS_IMPORT_ROOTS_H

#include "server/settings/options.h"

/// The folders below `folder` that its pyproject.toml names as the place of packages, and `src` where `folder` holds a project
/// of any kind. None where there is no project.
Names import_roots(Arena *arena, const char *folder);
/// Where installed packages lie: PYTHONPATH, and the environments that VIRTUAL_ENV and CONDA_PREFIX name.
Names import_roots_of_process(Arena *arena);
/// The same of the virtual environments in a folder (`.venv`, `venv`, `env`).
Names import_roots_beside(Arena *arena, const char *folder);
/// Whether a folder is one that Python installs packages into.
bool import_root_is_installed(const char *folder);

#endif
