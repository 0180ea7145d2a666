// What build tools and checkers of types read in pyproject.toml to find packages.
#include "server/settings/import_roots.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/syntax/toml.h"
#include "server/system/files.h"

typedef enum RootKind {
    ROOT_FOLDERS,   // a folder or a list of them
    ROOT_PACKAGES,  // folders of packages: what they lie in
    ROOT_TABLES,    // tables with `from`, a folder
    ROOT_MAP,       // of names of packages to their folders; "" stands for all
} RootKind;

static const struct {
    const char *key;
    RootKind kind;
} rows[] = {
    {"tool.setuptools.package-dir", ROOT_MAP},
    {"tool.setuptools.packages.find.where", ROOT_FOLDERS},
    {"tool.poetry.packages", ROOT_TABLES},
    {"tool.hatch.build.targets.wheel.packages", ROOT_PACKAGES},
    {"tool.hatch.build.targets.wheel.sources", ROOT_FOLDERS},
    {"tool.pdm.build.package-dir", ROOT_FOLDERS},
    {"tool.uv.build-backend.module-root", ROOT_FOLDERS},
    {"tool.maturin.python-source", ROOT_FOLDERS},
    {"tool.pyright.extraPaths", ROOT_FOLDERS},
    {"tool.ruff.src", ROOT_FOLDERS},
    {"tool.pytest.ini_options.pythonpath", ROOT_FOLDERS},
};

typedef struct Roots {
    Arena *arena;
    const char *folder;
    LIST(const char *) list;
} Roots;

static void root_add(Roots *roots, Str relative) {
    const char *root = path_normal(
        roots->arena, path_join(roots->arena, roots->folder, str_dup(roots->arena, relative)));
    for (LIST_EACH(int, i, roots->list))
        if (strcmp(roots->list.items[i], root) == 0) return;
    bool is_own = strcmp(root, roots->folder) == 0;
    if (!is_own && folder_exists(root)) LIST_PUSH(roots->arena, &roots->list, root);
}

/// "src" of "src/kernels".
static Str folder_of(Str path) {
    while (path.size && path.data[path.size - 1] == '/') path.size--;
    while (path.size && path.data[path.size - 1] != '/') path.size--;
    while (path.size && path.data[path.size - 1] == '/') path.size--;
    return path.size ? path : STR(".");
}

static void value_add(Roots *roots, const Toml *value, RootKind kind) {
    const Toml *from = kind == ROOT_TABLES ? toml_get(value, "from") : value;
    if (!from || from->kind != TOML_STRING) return;
    root_add(roots, kind == ROOT_PACKAGES ? folder_of(from->string) : from->string);
}

static void map_add(Roots *roots, const Toml *map) {
    for (int i = 0; map->kind == TOML_TABLE && i < map->count; i++)
        value_add(roots, map->items[i], map->keys[i].size ? ROOT_PACKAGES : ROOT_FOLDERS);
}

static const Toml *value_at(Arena *arena, const Toml *table, const char *key) {
    char *name = arena_strdup(arena, key);
    for (char *dot; table && (dot = strchr(name, '.')); name = dot + 1) {
        *dot = 0;
        table = toml_get(table, name);
    }
    return toml_get(table, name);
}

/// What is wrong in the file is said by those who read their settings there.
static void project_read(Roots *roots, const char *path) {
    Str text;
    Error error = file_read(roots->arena, path, &text);
    const Toml *root =
        error ? NULL : toml_parse(roots->arena, source_new(roots->arena, path, text), &error);
    for (size_t row = 0; root && row < sizeof rows / sizeof *rows; row++) {
        const Toml *value = value_at(roots->arena, root, rows[row].key);
        if (!value) continue;
        if (rows[row].kind == ROOT_MAP) map_add(roots, value);
        if (value->kind == TOML_STRING) value_add(roots, value, rows[row].kind);
        for (int i = 0; value->kind == TOML_ARRAY && i < value->count; i++)
            value_add(roots, value->items[i], rows[row].kind);
    }
}

// ---- what is installed ----

enum { OLDEST_MINOR = 8, NEWEST_MINOR = 20 };  // of Python 3

static void environment_add(Roots *roots, const char *environment) {
    for (int minor = NEWEST_MINOR; minor >= OLDEST_MINOR; minor--) {
        const char *folder =
            arena_printf(roots->arena, "%s/lib/python3.%d/site-packages", environment, minor);
        if (folder_exists(folder)) LIST_PUSH(roots->arena, &roots->list, folder);
    }
}

Names import_roots_of_process(Arena *arena) {
    static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    Roots roots = {.arena = arena};
    const char *paths = getenv("PYTHONPATH");
    for (const char *at = paths ? paths : ""; *at;) {
        size_t size = strcspn(at, ":");
        const char *folder = arena_strndup(arena, at, size);
        if (size && folder_exists(folder)) LIST_PUSH(arena, &roots.list, folder);
        at += size + (at[size] == ':');
    }
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *environment = getenv(variables[i]);
        if (environment && *environment) environment_add(&roots, environment);
    }
    return (Names){roots.list.items, roots.list.count};
}

Names import_roots_beside(Arena *arena, const char *folder) {
    static const char *const names[] = {".venv", "venv", "env"};
    Roots roots = {.arena = arena};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *environment = path_join(arena, folder, names[i]);
        if (file_exists(path_join(arena, environment, "pyvenv.cfg")))
            environment_add(&roots, environment);
    }
    return (Names){roots.list.items, roots.list.count};
}

bool import_root_is_installed(const char *folder) {
    const char *last = strrchr(folder, '/');
    const char *name = last ? last + 1 : folder;
    return strcmp(name, "site-packages") == 0 || strcmp(name, "dist-packages") == 0;
}

Names import_roots(Arena *arena, const char *folder) {
    static const char *const marks[] = {"setup.py", "setup.cfg", ".git"};
    Roots roots = {.arena = arena, .folder = path_normal(arena, folder)};
    const char *project = path_join(arena, folder, "pyproject.toml");
    bool is_project = file_exists(project);
    if (is_project) project_read(&roots, project);
    for (size_t i = 0; i < sizeof marks / sizeof *marks && !is_project; i++) {
        const char *mark = path_join(arena, folder, marks[i]);
        is_project = file_exists(mark) || folder_exists(mark);
    }
    if (is_project) root_add(&roots, STR("src"));
    return (Names){roots.list.items, roots.list.count};
}
