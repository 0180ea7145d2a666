// Relative imports go from the file's folder; absolute ones from the file's package root, then from the folders above it.
// Each file is read once; a cycle ends at the module that is still being built.
#include "server/resolve.h"

#include <string.h>

#include "base/map.h"
#include "server/files.h"

enum { MOST_PARENTS = 12 };

typedef struct Loaded {
    const char *path;
    Module *module;  // NULL while it is being built, or when it cannot be read
    Str text;
} Loaded;

struct ImportResolver {
    Arena *arena;
    Resolver interface;
    Map by_path;      // -> Loaded
    Map by_question;  // "from\ndotted" -> Answer
    LIST(Import) edges;
};

typedef struct Answer {
    const Loaded *loaded;  // NULL: there is no such file
} Answer;

/// `folder/a/b.py` or `folder/a/b/__init__.py` for a.b; `folder/__init__.py` for an empty name.
static const char *find_module(Arena *arena, const char *folder, Str dotted) {
    char *relative = str_dup(arena, dotted);
    for (char *c = relative; *c; c++)
        if (*c == '.') *c = '/';
    const char *base = dotted.size ? path_join(arena, folder, relative) : folder;
    if (dotted.size) {
        const char *file = arena_printf(arena, "%s.py", base);
        if (file_exists(file)) return file;
    }
    const char *package = path_join(arena, base, "__init__.py");
    return file_exists(package) ? package : NULL;
}

static const char *parent_of(Arena *arena, const char *folder) {
    const char *last = strrchr(folder, '/');
    if (strcmp(folder, ".") == 0) return "..";
    if (strcmp(last ? last + 1 : folder, "..") == 0) return path_join(arena, folder, "..");
    return path_folder(arena, folder);
}

static const char *find_relative(Arena *arena, const char *folder, Str dotted, int level) {
    for (int i = 1; i < level; i++) folder = parent_of(arena, folder);
    return find_module(arena, folder, dotted);
}

static const char *find_absolute(Arena *arena, const char *folder, Str dotted) {
    for (int i = 0; i < MOST_PARENTS; i++) {
        bool in_package = file_exists(path_join(arena, folder, "__init__.py"));
        // Inside a package only its root can be on the path.
        const char *found = in_package ? NULL : find_module(arena, folder, dotted);
        if (found) return found;
        const char *parent = parent_of(arena, folder);
        if (strcmp(parent, folder) == 0) return NULL;
        folder = parent;
    }
    return NULL;
}

static const Loaded *load(ImportResolver *resolver, const char *path) {
    Loaded *loaded = map_get(&resolver->by_path, str_from(path));
    if (loaded) return loaded;
    loaded = ARENA_NEW(resolver->arena, Loaded);
    loaded->path = path;
    map_set(&resolver->by_path, str_from(path), loaded);
    if (file_read(resolver->arena, path, &loaded->text)) return loaded;
    Source *source = source_new(resolver->arena, path, loaded->text);
    loaded->module = module_build(resolver->arena, source, &resolver->interface, NULL);
    return loaded;
}

static const Module *resolve(void *context, const Source *from, Str dotted, int level) {
    ImportResolver *resolver = context;
    Arena *arena = resolver->arena;
    if (!from || !*from->path) return NULL;
    char dots[MOST_PARENTS + 1] = {0};
    if (level > MOST_PARENTS) return NULL;
    memset(dots, '.', (size_t)level);
    const char *question = arena_printf(arena, "%s\n%s%.*s", from->path, dots, STR_ARGS(dotted));
    Answer *answer = map_get(&resolver->by_question, str_from(question));
    if (!answer) {
        const char *folder = path_folder(arena, from->path);
        const char *path = level ? find_relative(arena, folder, dotted, level)
                                 : find_absolute(arena, folder, dotted);
        answer = ARENA_NEW(arena, Answer);
        map_set(&resolver->by_question, str_from(question), answer);
        if (!path) return NULL;
        answer->loaded = load(resolver, path_normal(arena, path));
        Import edge = {arena_strdup(arena, from->path),
                       arena_printf(arena, "%s%.*s", dots, STR_ARGS(dotted)), answer->loaded->path,
                       answer->loaded->text};
        LIST_PUSH(arena, &resolver->edges, edge);
    }
    return answer->loaded ? answer->loaded->module : NULL;
}

ImportResolver *import_resolver_new(void) {
    Arena *arena = arena_new();
    ImportResolver *resolver = ARENA_NEW(arena, ImportResolver);
    resolver->arena = arena;
    resolver->interface = (Resolver){resolve, resolver};
    resolver->by_path = map_new(arena);
    resolver->by_question = map_new(arena);
    return resolver;
}

void import_resolver_free(ImportResolver *resolver) {
    if (!resolver) return;
    for (int i = 0; i < resolver->by_path.count; i++) {
        const Loaded *loaded = resolver->by_path.entries[i].value;
        if (loaded->module) module_release(loaded->module);
    }
    arena_free(resolver->arena);
}

const Resolver *import_resolver_interface(ImportResolver *resolver) { return &resolver->interface; }

Imports import_resolver_closure(ImportResolver *resolver, Arena *arena, const char *path) {
    Imports imports = {0};
    Map reached = map_new(arena);
    LIST(const char *) open = {0};
    LIST_PUSH(arena, &open, path);
    map_set(&reached, str_from(path), resolver);
    for (LIST_EACH(int, at, open)) {
        for (LIST_EACH(int, i, resolver->edges)) {
            const Import *edge = &resolver->edges.items[i];
            if (strcmp(edge->from, open.items[at]) != 0) continue;
            LIST_PUSH(arena, &imports.list, *edge);
            if (map_has(&reached, str_from(edge->path))) continue;
            map_set(&reached, str_from(edge->path), resolver);
            LIST_PUSH(arena, &open, edge->path);
        }
    }
    return imports;
}
