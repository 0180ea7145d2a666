// One file of SQLite in $XDG_DATA_HOME, and an empty one beside it that writers lock: the index may be taken away and made anew while
// others wait.
#include "server/retrieval/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "server/retrieval/sqlite.h"
#include "server/system/files.h"
#include "server/system/private.h"

struct Store {
    Arena *arena;
    const char *path;
    Database *database;
    int lock;  // of a writer; -1: none
};

#define SCHEMA                                                                                     \
    "CREATE TABLE roots(path TEXT PRIMARY KEY);"                                                   \
    "CREATE TABLE files(path TEXT PRIMARY KEY, mtime INTEGER, size INTEGER, hash INTEGER);"        \
    "CREATE TABLE uses(file TEXT, path TEXT, mtime INTEGER, size INTEGER, hash INTEGER);"          \
    "CREATE INDEX uses_file ON uses(file);"                                                        \
    "CREATE TABLE kernels(path TEXT, name TEXT, line INTEGER, traits BLOB,"                        \
    " words BLOB, hash INTEGER, PRIMARY KEY(path, name));"                                                                   \
    "CREATE TABLE texts(path TEXT, name TEXT, text TEXT, PRIMARY KEY(path, name));"                \
    "CREATE TABLE vectors(embedding TEXT, hash INTEGER, vector BLOB, PRIMARY KEY(embedding, hash));" \
    "CREATE TABLE pairs(id INTEGER PRIMARY KEY, path TEXT, name TEXT, line INTEGER);"              \
    "CREATE INDEX pairs_path ON pairs(path);"                                                      \
    "CREATE TABLE members(pair INTEGER, forward INTEGER, path TEXT, name TEXT);"                   \
    "CREATE INDEX members_pair ON members(pair);"                                                  \
    "CREATE INDEX members_kernel ON members(path, name);"

/// What the file has to have been written with.
static int64_t store_version(void) {
    return (int64_t)((map_hash(STR(SCHEMA)) ^ structure_version()) & 0x7fffffff);
}

const char *store_path(Arena *arena, Error *error) {
    return private_path(arena, "XDG_DATA_HOME", ".local/share", "index.sqlite", NULL, error);
}

static int64_t database_version(Database *database) {
    Query *query = query_new(database, "PRAGMA user_version");
    int64_t version = query_next(query) ? query_get_int(query, 0) : -1;
    query_end(query);
    return version;
}

Store *store_open(Arena *arena, Error *error) {
    const char *path = store_path(arena, error);
    if (!path) return NULL;
    *error = private_refuse(arena, path);
    if (!*error && !file_exists(path))
        *error =
            "nothing is indexed: `tad-lsp --index PATH...` does so, with packages or code of your own";
    if (*error) return NULL;
    Store *store = ARENA_NEW(arena, Store);
    *store = (Store){.arena = arena, .path = path, .lock = -1};
    store->database = database_open(arena, path, DATABASE_READ, error);
    if (!store->database) return NULL;
    int64_t version = database_version(store->database);
    if (version == store_version()) return store;
    *error =
        database_is_damaged(store->database)
            ? arena_printf(arena,
                           "the index %s is damaged: `tad-lsp --index PATH...` makes it anew", path)
            : arena_printf(arena,
                           "the index %s is of another version: `tad-lsp --index` makes it anew",
                           path);
    store_close(store);
    return NULL;
}

static StorePaths read_paths(Store *store, const char *statement, Error *error) {
    StorePaths paths = {0};
    Query *query = query_new(store->database, statement);
    while (query_next(query)) LIST_PUSH(store->arena, &paths.list, query_get_text(query, 0));
    *error = query_end(query);
    return paths;
}

StorePaths store_roots(Store *store, Error *error) {
    return read_paths(store, "SELECT path FROM roots ORDER BY path", error);
}

/// An empty index with the roots of the one before, as far as they can still be read.
static Error make_anew(Store *store) {
    Error ignored = NULL, error;
    StorePaths roots = {0};
    if (store->database) roots = store_roots(store, &ignored);
    database_close(store->database);
    unlink(arena_printf(store->arena, "%s-journal", store->path));
    unlink(store->path);
    store->database = database_open(store->arena, store->path, DATABASE_WRITE, &error);
    if (error) return error;
    error = database_run(store->database,
                         arena_printf(store->arena,
                                      "BEGIN;" SCHEMA "PRAGMA user_version = %lld; COMMIT",
                                      (long long)store_version()));
    if (error) return error;
    Query *query = query_new(store->database, "INSERT OR IGNORE INTO roots VALUES(?)");
    for (LIST_EACH(int, i, roots.list)) {
        query_text(query, roots.list.items[i]);
        query_next(query);
    }
    return query_end(query);
}

static Error open_to_write(Store *store, const char **made_anew) {
    Arena *arena = store->arena;
    const char *folder = path_folder(arena, store->path);
    private_make_folder(arena, folder);
    Error error = private_refuse(arena, folder);
    if (!error) error = private_refuse(arena, store->path);
    if (error) return error;
    const char *lock = arena_printf(arena, "%s.lock", store->path);
    store->lock = open(lock, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (store->lock < 0) return arena_printf(arena, "%s: %s", lock, strerror(errno));
    while (flock(store->lock, LOCK_EX) && errno == EINTR) continue;
    if (!file_exists(store->path)) return make_anew(store);
    store->database = database_open(arena, store->path, DATABASE_WRITE, &error);
    if (!store->database) return error;
    Query *check = query_new(store->database, "PRAGMA quick_check(1)");
    bool is_sound = query_next(check) && strcmp(query_get_text(check, 0), "ok") == 0;
    query_end(check);
    if (is_sound && database_version(store->database) == store_version()) return NULL;
    *made_anew = is_sound ? "it is of another version" : "it is damaged";
    return make_anew(store);
}

Store *store_open_to_write(Arena *arena, const char **made_anew, Error *error) {
    *made_anew = NULL;
    const char *path = store_path(arena, error);
    if (!path) return NULL;
    Store *store = ARENA_NEW(arena, Store);
    *store = (Store){.arena = arena, .path = path, .lock = -1};
    *error = open_to_write(store, made_anew);
    if (!*error) return store;
    store_close(store);
    return NULL;
}

void store_close(Store *store) {
    if (!store) return;
    database_close(store->database);
    if (store->lock >= 0) close(store->lock);
    store->lock = -1;
}

// --- reading

static Stamp read_stamp(Query *query, int column) {
    return (Stamp){query_get_text(query, column), query_get_int(query, column + 1),
                   query_get_int(query, column + 2), query_get_int(query, column + 3)};
}

Map store_files(Store *store, Error *error) {
    Map files = map_new(store->arena);
    Query *query = query_new(store->database, "SELECT path, mtime, size, hash FROM files");
    while (query_next(query)) {
        StoredFile *file = ARENA_NEW(store->arena, StoredFile);
        file->stamp = read_stamp(query, 0);
        map_set(&files, str_from(file->stamp.path), file);
    }
    *error = query_end(query);
    if (*error) return files;
    query = query_new(store->database, "SELECT file, path, mtime, size, hash FROM uses");
    while (query_next(query)) {
        StoredFile *file = map_get(&files, str_from(query_get_text(query, 0)));
        if (file) LIST_PUSH(store->arena, &file->uses, read_stamp(query, 1));
    }
    *error = query_end(query);
    return files;
}

static Structure read_structure(Arena *arena, Query *query, int column) {
    Str blob = query_get_blob(query, column);
    Structure structure = {.count = (int)(blob.size / sizeof(Trait))};
    structure.traits = ARENA_ARRAY(arena, Trait, structure.count + 1);
    memcpy(structure.traits, blob.data, (size_t)structure.count * sizeof(Trait));
    return structure;
}

static StoredVector read_vector(Arena *arena, Query *query, int column) {
    Str blob = query_get_blob(query, column);
    StoredVector vector = {.count = (int)(blob.size / sizeof(float))};
    float *items = ARENA_ARRAY(arena, float, vector.count + 1);
    memcpy(items, blob.data, (size_t)vector.count * sizeof(float));
    vector.items = items;
    return vector;
}

#define IS_FORWARD                                                                                 \
    " EXISTS(SELECT 1 FROM members f WHERE f.path = k.path AND f.name = k.name AND f.forward"      \
    " AND EXISTS(SELECT 1 FROM members b JOIN kernels USING(path, name)"                           \
    " WHERE b.pair = f.pair AND NOT b.forward))"

StoredKernels store_forwards(Store *store, const char *embedding, Error *error) {
    StoredKernels kernels = {0};
    Query *query = query_new(store->database,
                             "SELECT path, name, line, traits, words, k.hash, vector FROM kernels k"
                             " LEFT JOIN vectors v ON v.hash = k.hash AND v.embedding = ?"
                             " WHERE" IS_FORWARD " ORDER BY path, line");
    query_text(query, embedding ? embedding : "");
    while (query_next(query)) {
        StoredKernel kernel = {.path = query_get_text(query, 0),
                               .name = query_get_text(query, 1),
                               .line = (int)query_get_int(query, 2),
                               .structure = read_structure(store->arena, query, 3),
                               .words = read_structure(store->arena, query, 4),
                               .hash = query_get_int(query, 5),
                               .vector = read_vector(store->arena, query, 6)};
        LIST_PUSH(store->arena, &kernels.list, kernel);
    }
    *error = query_end(query);
    return kernels;
}

StoredKernels store_without_vector(Store *store, const char *embedding, Error *error) {
    StoredKernels kernels = {0};
    Query *query = query_new(
        store->database, "SELECT k.path, k.name, k.hash, t.text FROM kernels k"
                         " JOIN texts t USING(path, name) WHERE NOT EXISTS(SELECT 1 FROM vectors v"
                         " WHERE v.hash = k.hash AND v.embedding = ?) AND" IS_FORWARD
                         " GROUP BY k.hash ORDER BY k.path, k.line");
    query_text(query, embedding);
    while (query_next(query)) {
        StoredKernel kernel = {.path = query_get_text(query, 0),
                               .name = query_get_text(query, 1),
                               .hash = query_get_int(query, 2),
                               .text = query_get_text(query, 3)};
        LIST_PUSH(store->arena, &kernels.list, kernel);
    }
    *error = query_end(query);
    return kernels;
}

StoredVector store_vector(Store *store, const char *embedding, int64_t hash) {
    if (!embedding) return (StoredVector){0};
    Query *query =
        query_new(store->database, "SELECT vector FROM vectors WHERE embedding = ? AND hash = ?");
    query_text(query, embedding);
    query_int(query, hash);
    StoredVector vector = {0};
    if (query_next(query)) vector = read_vector(store->arena, query, 0);
    query_end(query);
    return vector;
}

static StoredPlaces read_places(Store *store, const StoredKernel *kernel, const char *statement,
                                Error *error) {
    StoredPlaces places = {0};
    Query *query = query_new(store->database, statement);
    query_text(query, kernel->path);
    query_text(query, kernel->name);
    while (query_next(query)) {
        StoredPlace place = {query_get_text(query, 0), query_get_text(query, 1),
                             (int)query_get_int(query, 2)};
        LIST_PUSH(store->arena, &places.list, place);
    }
    *error = query_end(query);
    return places;
}

StoredPlaces store_functions_of(Store *store, const StoredKernel *kernel, Error *error) {
    return read_places(
        store, kernel,
        "SELECT DISTINCT p.path, p.name, p.line FROM pairs p JOIN members m"
        " ON m.pair = p.id WHERE m.path = ? AND m.name = ? AND m.forward ORDER BY p.id",
        error);
}

StoredPlaces store_backwards_of(Store *store, const StoredKernel *kernel, Error *error) {
    // The Function with the fewest kernels first: what belongs to a kernel of several is told best by the one that has it alone.
    return read_places(
        store, kernel,
        "SELECT k.path, k.name, k.line FROM members f JOIN members b ON b.pair = f.pair"
        " AND NOT b.forward JOIN kernels k ON k.path = b.path AND k.name = b.name"
        " WHERE f.pair = (SELECT m.pair FROM members m WHERE m.path = ? AND m.name = ? AND m.forward"
        " ORDER BY (SELECT COUNT(*) FROM members a WHERE a.pair = m.pair), m.pair LIMIT 1)"
        " GROUP BY k.path, k.name ORDER BY k.path <> f.path, MIN(b.rowid)",
        error);
}

const char *store_text(Store *store, const char *path, const char *name) {
    Query *query = query_new(store->database, "SELECT text FROM texts WHERE path = ? AND name = ?");
    query_text(query, path);
    query_text(query, name);
    const char *text = query_next(query) ? query_get_text(query, 0) : "";
    query_end(query);
    return text;
}

// --- writing

/// The statements of a write, each made once.
typedef struct Writing {
    Query *drop_members, *drop_pairs, *drop_kernels, *drop_texts, *drop_uses, *drop_file;
    Query *file, *use, *kernel, *text, *pair, *member;
    int64_t last_pair;
} Writing;

static void write_stamp(Query *query, const Stamp *stamp) {
    query_text(query, stamp->path);
    query_int(query, stamp->mtime_ns);
    query_int(query, stamp->size);
    query_int(query, stamp->hash);
    query_next(query);
}

static void drop_file(Writing *writing, const char *path) {
    Query *const drops[] = {writing->drop_members, writing->drop_pairs, writing->drop_kernels,
                            writing->drop_texts,   writing->drop_uses,  writing->drop_file};
    for (size_t i = 0; i < sizeof drops / sizeof *drops; i++) {
        query_text(drops[i], path);
        query_next(drops[i]);
    }
}

static void write_structure(Query *query, const Structure *structure) {
    query_blob(query, structure->traits, (size_t)structure->count * sizeof(Trait));
}

static void write_kernel(Writing *writing, const StoredKernel *kernel) {
    query_text(writing->kernel, kernel->path);
    query_text(writing->kernel, kernel->name);
    query_int(writing->kernel, kernel->line);
    write_structure(writing->kernel, &kernel->structure);
    write_structure(writing->kernel, &kernel->words);
    query_int(writing->kernel, kernel->hash);
    query_next(writing->kernel);
    query_text(writing->text, kernel->path);
    query_text(writing->text, kernel->name);
    query_text(writing->text, kernel->text);
    query_next(writing->text);
}

static void write_pair(Writing *writing, const char *path, const StoredPair *pair) {
    int64_t id = ++writing->last_pair;
    query_int(writing->pair, id);
    query_text(writing->pair, path);
    query_text(writing->pair, pair->name);
    query_int(writing->pair, pair->line);
    query_next(writing->pair);
    for (LIST_EACH(int, i, pair->members)) {
        const StoredMember *member = &pair->members.items[i];
        query_int(writing->member, id);
        query_int(writing->member, member->is_forward);
        query_text(writing->member, member->path);
        query_text(writing->member, member->name);
        query_next(writing->member);
    }
}

static void write_file(Writing *writing, const StoredFile *file) {
    drop_file(writing, file->stamp.path);
    write_stamp(writing->file, &file->stamp);
    for (LIST_EACH(int, i, file->uses)) {
        query_text(writing->use, file->stamp.path);
        write_stamp(writing->use, &file->uses.items[i]);
    }
    for (LIST_EACH(int, i, file->kernels)) write_kernel(writing, &file->kernels.items[i]);
    for (LIST_EACH(int, i, file->pairs))
        write_pair(writing, file->stamp.path, &file->pairs.items[i]);
}

static void write_change(Store *store, Writing *writing, const StoreChange *change) {
    Query *last = query_new(store->database, "SELECT COALESCE(MAX(id), 0) FROM pairs");
    if (query_next(last)) writing->last_pair = query_get_int(last, 0);
    query_end(last);
    for (LIST_EACH(int, i, change->gone)) drop_file(writing, change->gone.items[i]);
    for (LIST_EACH(int, i, change->files)) write_file(writing, change->files.items[i]);
}

static Error write_roots(Store *store, const StoreChange *change) {
    Query *query = query_new(store->database, "DELETE FROM roots WHERE path = ?");
    for (LIST_EACH(int, i, change->forgotten)) {
        query_text(query, change->forgotten.items[i]);
        query_next(query);
    }
    Error error = query_end(query);
    if (error) return error;
    query = query_new(store->database, "INSERT OR IGNORE INTO roots VALUES(?)");
    for (LIST_EACH(int, i, change->roots)) {
        query_text(query, change->roots.items[i]);
        query_next(query);
    }
    return query_end(query);
}

Error store_write(Store *store, const StoreChange *change) {
    Error error = database_run(store->database, "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE");
    if (error) return error;
    Writing writing;
    const struct {
        Query **query;
        const char *statement;
    } statements[] = {
        {&writing.drop_members,
         "DELETE FROM members WHERE pair IN (SELECT id FROM pairs WHERE path = ?)"},
        {&writing.drop_pairs, "DELETE FROM pairs WHERE path = ?"},
        {&writing.drop_kernels, "DELETE FROM kernels WHERE path = ?"},
        {&writing.drop_texts, "DELETE FROM texts WHERE path = ?"},
        {&writing.drop_uses, "DELETE FROM uses WHERE file = ?"},
        {&writing.drop_file, "DELETE FROM files WHERE path = ?"},
        {&writing.file, "INSERT OR REPLACE INTO files VALUES(?, ?, ?, ?)"},
        {&writing.use, "INSERT INTO uses VALUES(?, ?, ?, ?, ?)"},
        {&writing.kernel, "INSERT OR REPLACE INTO kernels VALUES(?, ?, ?, ?, ?, ?)"},
        {&writing.text, "INSERT OR REPLACE INTO texts VALUES(?, ?, ?)"},
        {&writing.pair, "INSERT INTO pairs VALUES(?, ?, ?, ?)"},
        {&writing.member, "INSERT INTO members VALUES(?, ?, ?, ?)"},
    };
    enum { STATEMENTS = sizeof statements / sizeof *statements };
    for (int i = 0; i < STATEMENTS; i++)
        *statements[i].query = query_new(store->database, statements[i].statement);
    write_change(store, &writing, change);
    for (int i = 0; i < STATEMENTS; i++) {
        Error own = query_end(*statements[i].query);
        if (!error) error = own;
    }
    if (!error) error = write_roots(store, change);
    if (!error) return database_run(store->database, "COMMIT");
    database_run(store->database, "ROLLBACK");
    return error;
}

Error store_write_vectors(Store *store, const char *embedding, const StoredKernel *kernels,
                          int count) {
    Error error = database_run(store->database, "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE");
    if (error) return error;
    Query *query =
        query_new(store->database, "DELETE FROM vectors WHERE embedding <> ? OR hash NOT IN"
                                   " (SELECT hash FROM kernels)");
    query_text(query, embedding);
    query_next(query);
    error = query_end(query);
    query = query_new(store->database, "INSERT OR REPLACE INTO vectors VALUES(?, ?, ?)");
    for (int i = 0; i < count && !error; i++) {
        query_text(query, embedding);
        query_int(query, kernels[i].hash);
        query_blob(query, kernels[i].vector.items, (size_t)kernels[i].vector.count * sizeof(float));
        query_next(query);
    }
    Error own = query_end(query);
    if (!error) error = own;
    if (!error) return database_run(store->database, "COMMIT");
    database_run(store->database, "ROLLBACK");
    return error;
}
