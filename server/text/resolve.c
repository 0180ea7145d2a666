// Relative imports go from the file's folder; absolute ones from the file's package root, then from the folders above it and
// from where projects in these keep their packages, then to texts of our own (library.h). What is installed is a question of its own.
// Each file is read once; a cycle ends at the module that is still being built.
#include "server/text/resolve.h"

#include <pthread.h>
#include <string.h>

#include "analysis/module/module_scope.h"
#include "base/budget.h"
#include "base/map.h"
#include "server/settings/import_roots.h"
#include "server/settings/library.h"
#include "server/system/files.h"

enum { MOST_PARENTS = 12 };  // of `from ....a import b`; beyond, nothing is imported

typedef struct Loaded {
    const char *path;
    const char *real;  // for the overlay; NULL: a text of our own
    Module *module;    // NULL while it is being built, or when it cannot be read
    Str text;
    Text *open;  // counted; where it was open
    int stamp;
} Loaded;

struct ImportResolver {
    Arena *arena;
    pthread_mutex_t lock;  // of one question; a module that is loaded for an answer asks on
    Resolver interface;
    Map by_path;       // -> Loaded
    Map by_question;   // "from\ndotted" -> Answer
    Buffer question;   // of the last one
    Map roots;         // folder -> Names *: where the project in it keeps packages
    Map environments;  // folder -> Names *: where environments in it keep packages
    Names installed;   // and those of this process
    bool knows_installed;
    Map importers;  // path -> ImportList: what the file there imports
    Overlay *overlay;
};

typedef struct ImportList {
    LIST(Import) list;
} ImportList;

typedef struct Answer {
    const Loaded *loaded;  // NULL: there is no such file
} Answer;

/// A file that is open counts before it is saved for the first time.
static bool is_file(const ImportResolver *resolver, const char *path) {
    return file_exists(path) || (resolver->overlay && overlay_is_open(resolver->overlay, path));
}

/// `folder/a/b.py` or `folder/a/b/__init__.py` for a.b; `folder/__init__.py` for an empty name.
static const char *find_module(ImportResolver *resolver, const char *folder, Str dotted) {
    Arena *arena = resolver->arena;
    char *relative = str_dup(arena, dotted);
    for (char *c = relative; *c; c++)
        if (*c == '.') *c = '/';
    const char *base = dotted.size ? path_join(arena, folder, relative) : folder;
    if (dotted.size) {
        const char *file = arena_printf(arena, "%s.py", base);
        if (is_file(resolver, file)) return file;
    }
    const char *package = path_join(arena, base, "__init__.py");
    return is_file(resolver, package) ? package : NULL;
}

static const char *parent_of(Arena *arena, const char *folder) {
    const char *last = strrchr(folder, '/');
    if (strcmp(folder, ".") == 0) return "..";
    if (strcmp(last ? last + 1 : folder, "..") == 0) return path_join(arena, folder, "..");
    return path_folder(arena, folder);
}

static const char *find_relative(ImportResolver *resolver, const char *folder, Str dotted,
                                 int level) {
    for (int i = 1; i < level; i++) folder = parent_of(resolver->arena, folder);
    return find_module(resolver, folder, dotted);
}

static const Names *roots_of(ImportResolver *resolver, const char *folder) {
    Names *roots = map_get(&resolver->roots, str_from(folder));
    if (roots) return roots;
    roots = ARENA_NEW(resolver->arena, Names);
    *roots = import_roots(resolver->arena, folder);
    map_set(&resolver->roots, str_from(folder), roots);
    return roots;
}

/// From a folder that is no package, or from where its project keeps packages.
static const char *find_below(ImportResolver *resolver, const char *folder, Str dotted) {
    const char *found = find_module(resolver, folder, dotted);
    const Names *roots = found ? NULL : roots_of(resolver, folder);
    for (int i = 0; roots && i < roots->count && !found; i++)
        found = find_module(resolver, roots->items[i], dotted);
    return found;
}

/// Whether `below`, a folder of installed packages, is asked for another package than the one that lies at `from`.
static bool is_another_package(const char *folder, const char *from, Str dotted) {
    if (!import_root_is_installed(folder)) return false;
    const char *name = strrchr(from, '/');
    Str own = str_from(name ? name + 1 : from), first = dotted;
    for (size_t i = 0; i < first.size; i++)
        if (first.data[i] == '.') first.size = i;
    return !str_equal(own, first);
}

static const char *find_absolute(ImportResolver *resolver, const char *folder, Str dotted) {
    Arena *arena = resolver->arena;
    const char *from = folder;
    for (int i = 0; i < MOST_PARENTS; i++) {
        bool in_package = is_file(resolver, path_join(arena, folder, "__init__.py"));
        if (is_another_package(folder, from, dotted)) return NULL;
        // Inside a package only its root can be on the path.
        const char *found = in_package ? NULL : find_below(resolver, folder, dotted);
        if (found) return found;
        const char *parent = parent_of(arena, folder);
        if (strcmp(parent, folder) == 0) return NULL;
        from = folder;
        folder = parent;
    }
    return NULL;
}

enum { LONGEST_LIST_OF_NAMES = 16 * 1024 };  // of a package's `__init__.py`, in bytes

/// Whether an installed file may have functions for kernels, or hand on the names of others that have.
static bool may_be_for_kernels(const char *path) {
    Arena *scratch = arena_new();
    Str text;
    bool is_read = file_read(scratch, path, &text) == NULL;
    bool hands_on =
        is_read && text.size <= LONGEST_LIST_OF_NAMES && str_ends(str_from(path), "/__init__.py");
    bool may_be = is_read && (hands_on || text_contains(text, "triton"));
    arena_free(scratch);
    return may_be;
}

/// From the environments that this process was started in, then from those that lie beside the file or above it.
static const char *find_installed(ImportResolver *resolver, const char *folder, Str dotted) {
    Arena *arena = resolver->arena;
    if (!resolver->knows_installed) resolver->installed = import_roots_of_process(arena);
    resolver->knows_installed = true;
    const char *found = NULL;
    for (int i = 0; i < resolver->installed.count && !found; i++)
        found = find_module(resolver, resolver->installed.items[i], dotted);
    for (int i = 0; i < MOST_PARENTS && !found; i++) {
        Names *roots = map_get(&resolver->environments, str_from(folder));
        if (!roots) {
            roots = ARENA_NEW(arena, Names);
            *roots = import_roots_beside(arena, folder);
            map_set(&resolver->environments, str_from(folder), roots);
        }
        for (int k = 0; k < roots->count && !found; k++)
            found = find_module(resolver, roots->items[k], dotted);
        const char *parent = parent_of(arena, folder);
        if (strcmp(parent, folder) == 0) break;
        folder = parent;
    }
    return found && may_be_for_kernels(found) ? found : NULL;
}

/// False where it cannot be read.
static bool load_text(ImportResolver *resolver, Loaded *loaded) {
    if (resolver->overlay) {
        loaded->real = path_real(resolver->arena, loaded->path);
        loaded->open = overlay_import(resolver->overlay, loaded->real, &loaded->stamp);
    }
    if (!loaded->open) return file_read(resolver->arena, loaded->path, &loaded->text) == NULL;
    loaded->text = loaded->open->analysed;
    return loaded->text.size <= FILE_LARGEST_BYTES;
}

/// `library`: its text where that is one of our own, else empty.
static const Loaded *load(ImportResolver *resolver, const char *path, Str library) {
    Loaded *loaded = map_get(&resolver->by_path, str_from(path));
    if (loaded) return loaded;
    loaded = ARENA_NEW(resolver->arena, Loaded);
    loaded->path = path;
    loaded->text = library;
    map_set(&resolver->by_path, str_from(path), loaded);
    if (!library.size && !load_text(resolver, loaded)) return loaded;
    Source *source = source_new(resolver->arena, path, loaded->text);
    source->is_library = library.size > 0;
    loaded->module = module_build(resolver->arena, source, &resolver->interface, NULL);
    return loaded;
}

static void import_add(ImportResolver *resolver, Import import) {
    ImportList *list = map_get(&resolver->importers, str_from(import.from));
    if (!list) {
        list = ARENA_NEW(resolver->arena, ImportList);
        map_set(&resolver->importers, str_from(import.from), list);
    }
    LIST_PUSH(resolver->arena, &list->list, import);
}

static const Module *find_answer(ImportResolver *resolver, const Source *from, Str dotted,
                                 int level) {
    Arena *arena = resolver->arena;
    char dots[MOST_PARENTS + 1] = {0};
    if (level > MOST_PARENTS) return NULL;
    bool is_installed = level == IMPORT_INSTALLED;
    if (!is_installed) memset(dots, '.', (size_t)level);
    resolver->question.size = 0;
    if (is_installed) dots[0] = IMPORT_INSTALLED_MARK;
    buffer_printf(&resolver->question, "%s\n%s%.*s", from->path, dots, STR_ARGS(dotted));
    Str asked = {resolver->question.data, resolver->question.size};
    Answer *answer = map_get(&resolver->by_question, asked);
    if (!answer) {
        const char *question = str_dup(arena, asked);
        const char *folder = path_folder(arena, from->path);
        const char *path = is_installed ? find_installed(resolver, folder, dotted)
                           : level      ? find_relative(resolver, folder, dotted, level)
                                        : find_absolute(resolver, folder, dotted);
        answer = ARENA_NEW(arena, Answer);
        map_set(&resolver->by_question, str_from(question), answer);
        Str library = path || level ? (Str){"", 0} : library_text(arena, dotted);
        if (library.size) path = arena_printf(arena, "<%.*s>", STR_ARGS(dotted));
        if (!path) {
            if (resolver->overlay) overlay_miss(resolver->overlay, text_last_component(dotted));
            return NULL;
        }
        answer->loaded = load(resolver, library.size ? path : path_normal(arena, path), library);
        Import edge = {arena_strdup(arena, from->path),
                       arena_printf(arena, "%s%.*s", dots, STR_ARGS(dotted)), answer->loaded->path,
                       answer->loaded->text};
        import_add(resolver, edge);
    }
    return answer->loaded ? answer->loaded->module : NULL;
}

/// Kernels of one file are analysed by several threads.
static const Module *resolve(void *context, const Source *from, Str dotted, int level) {
    ImportResolver *resolver = context;
    if (!from || !*from->path) return NULL;
    const Module *volatile module = NULL;
    BugGuard guard;
    pthread_mutex_lock(&resolver->lock);
    StepBudget *paused = budget_pause();  // all kernels have the answer
    if (BUG_GUARD(&guard)) {
        module = find_answer(resolver, from, dotted, level);
        bug_guard_end(&guard);
    }
    budget_resume(paused);
    pthread_mutex_unlock(&resolver->lock);
    if (guard.message) bug_raise_again(&guard);
    return module;
}

ImportResolver *import_resolver_new(Overlay *overlay) {
    Arena *arena = arena_new();
    ImportResolver *resolver = ARENA_NEW(arena, ImportResolver);
    resolver->arena = arena;
    resolver->interface = (Resolver){resolve, resolver};
    resolver->by_path = map_new(arena);
    resolver->by_question = map_new(arena);
    resolver->question = buffer_new(arena);
    resolver->roots = map_new(arena);
    resolver->environments = map_new(arena);
    resolver->importers = map_new(arena);
    resolver->overlay = overlay;
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&resolver->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    return resolver;
}

void import_resolver_free(ImportResolver *resolver) {
    if (!resolver) return;
    for (int i = 0; i < resolver->by_path.count; i++) {
        const Loaded *loaded = resolver->by_path.entries[i].value;
        if (loaded->module) module_release(loaded->module);
        text_release(loaded->open);
    }
    pthread_mutex_destroy(&resolver->lock);
    arena_free(resolver->arena);
}

const Resolver *import_resolver_interface(ImportResolver *resolver) { return &resolver->interface; }

Imports import_resolver_closure(const ImportResolver *resolver, Arena *arena, const char *path) {
    Imports imports = {0};
    Map reached = map_new(arena);
    LIST(const char *) open = {0};
    LIST_PUSH(arena, &open, path);
    map_set(&reached, str_from(path), &reached);
    for (LIST_EACH(int, at, open)) {
        const ImportList *edges = map_get(&resolver->importers, str_from(open.items[at]));
        for (int i = 0; edges && i < edges->list.count; i++) {
            const Import *edge = &edges->list.items[i];
            LIST_PUSH(arena, &imports.list, *edge);
            if (map_has(&reached, str_from(edge->path))) continue;
            map_set(&reached, str_from(edge->path), &reached);
            LIST_PUSH(arena, &open, edge->path);
        }
    }
    return imports;
}

// --- What has changed since

static bool is_outdated(const ImportResolver *resolver, const Loaded *loaded) {
    return loaded->real && overlay_stamp(resolver->overlay, loaded->real) != loaded->stamp;
}

bool import_resolver_is_stale(const ImportResolver *resolver, const char *path) {
    if (!map_has(&resolver->importers, str_from(path))) return false;
    Arena *scratch = arena_new();
    Imports imports = import_resolver_closure(resolver, scratch, path);
    bool is_stale = false;
    for (int i = 0; i < imports.list.count && !is_stale; i++)
        is_stale = is_outdated(resolver,
                               map_get(&resolver->by_path, str_from(imports.list.items[i].path)));
    arena_free(scratch);
    return is_stale;
}

bool import_resolver_is_outdated(const ImportResolver *resolver) {
    for (int i = 0; i < resolver->by_path.count; i++)
        if (is_outdated(resolver, resolver->by_path.entries[i].value)) return true;
    return false;
}
