// SQLite's functions and numbers are declared here, as its ABI has kept them since version 3.5: the build needs no headers of it.
#include "server/retrieval/sqlite.h"

#include <dlfcn.h>
#include <pthread.h>

enum {
    SQLITE_OK = 0,
    SQLITE_CORRUPT = 11,
    SQLITE_NOT_A_DATABASE = 26,
    SQLITE_ROW = 100,
    SQLITE_DONE = 101,
    SQLITE_OPEN_READONLY = 1,
    SQLITE_OPEN_READWRITE = 2,
    SQLITE_OPEN_CREATE = 4,
    WAIT_MS = 20000,  // for another process that writes
};

typedef void (*SqliteDestructor)(void *);

typedef struct SqliteLibrary {
    int (*open_v2)(const char *path, void **database, int flags, const char *system);
    int (*close)(void *database);
    int (*busy_timeout)(void *database, int ms);
    int (*exec)(void *database, const char *text, void *callback, void *context, char **message);
    int (*prepare_v2)(void *database, const char *text, int size, void **statement,
                      const char **rest);
    int (*bind_text)(void *statement, int index, const char *text, int size, SqliteDestructor);
    int (*bind_int64)(void *statement, int index, int64_t value);
    int (*bind_blob)(void *statement, int index, const void *data, int size, SqliteDestructor);
    int (*step)(void *statement);
    int (*reset)(void *statement);
    int (*finalize)(void *statement);
    const unsigned char *(*column_text)(void *statement, int column);
    int64_t (*column_int64)(void *statement, int column);
    const void *(*column_blob)(void *statement, int column);
    int (*column_bytes)(void *statement, int column);
    const char *(*errmsg)(void *database);
} SqliteLibrary;

static SqliteLibrary sqlite;
static bool sqlite_is_there;

static void sqlite_open(void) {
    void *library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"sqlite3_open_v2", &sqlite.open_v2},
        {"sqlite3_close", &sqlite.close},
        {"sqlite3_busy_timeout", &sqlite.busy_timeout},
        {"sqlite3_exec", &sqlite.exec},
        {"sqlite3_prepare_v2", &sqlite.prepare_v2},
        {"sqlite3_bind_text", &sqlite.bind_text},
        {"sqlite3_bind_int64", &sqlite.bind_int64},
        {"sqlite3_bind_blob", &sqlite.bind_blob},
        {"sqlite3_step", &sqlite.step},
        {"sqlite3_reset", &sqlite.reset},
        {"sqlite3_finalize", &sqlite.finalize},
        {"sqlite3_column_text", &sqlite.column_text},
        {"sqlite3_column_int64", &sqlite.column_int64},
        {"sqlite3_column_blob", &sqlite.column_blob},
        {"sqlite3_column_bytes", &sqlite.column_bytes},
        {"sqlite3_errmsg", &sqlite.errmsg},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(library, functions[i].name);
        if (!found) return;
        memcpy(functions[i].place, &found, sizeof found);
    }
    sqlite_is_there = true;
}

struct Database {
    Arena *arena;
    const char *path;
    void *handle;
    bool is_damaged;
};

struct Query {
    Database *database;
    void *statement;  // NULL: it could not be made
    int bound;
    bool is_running;
    Error error;
};

static Error told(Database *database, int code) {
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return NULL;
    if ((code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOT_A_DATABASE)
        database->is_damaged = true;
    const char *why = database->handle ? sqlite.errmsg(database->handle) : "it cannot be opened";
    return arena_printf(database->arena, "%s: %s", database->path, why);
}

Database *database_open(Arena *arena, const char *path, DatabaseMode mode, Error *error) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, sqlite_open);
    *error = sqlite_is_there ? NULL : "the index needs SQLite: install libsqlite3-0";
    if (*error) return NULL;
    Database *database = ARENA_NEW(arena, Database);
    *database = (Database){.arena = arena, .path = path};
    int flags =
        mode == DATABASE_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    *error = told(database, sqlite.open_v2(path, &database->handle, flags, NULL));
    if (!*error) {
        sqlite.busy_timeout(database->handle, WAIT_MS);
        return database;
    }
    database_close(database);
    return NULL;
}

void database_close(Database *database) {
    if (database && database->handle) sqlite.close(database->handle);
    if (database) database->handle = NULL;
}

bool database_is_damaged(const Database *database) { return database->is_damaged; }

Error database_run(Database *database, const char *statements) {
    return told(database, sqlite.exec(database->handle, statements, NULL, NULL, NULL));
}

Query *query_new(Database *database, const char *statement) {
    Query *query = ARENA_NEW(database->arena, Query);
    *query = (Query){.database = database};
    query->error =
        told(database, sqlite.prepare_v2(database->handle, statement, -1, &query->statement, NULL));
    return query;
}

/// The number of the next `?`.
static int next_value(Query *query) {
    if (query->is_running) sqlite.reset(query->statement);
    query->is_running = false;
    return ++query->bound;
}

static void note(Query *query, int code) {
    Error error = told(query->database, code);
    if (!query->error) query->error = error;
}

// The database makes copies: the values need not stay.
#define SQLITE_COPIES ((SqliteDestructor)(intptr_t)-1)

void query_text(Query *query, const char *value) {
    if (!query->statement) return;
    note(query, sqlite.bind_text(query->statement, next_value(query), value, -1, SQLITE_COPIES));
}

void query_int(Query *query, int64_t value) {
    if (query->statement)
        note(query, sqlite.bind_int64(query->statement, next_value(query), value));
}

void query_blob(Query *query, const void *data, size_t size) {
    if (!query->statement) return;
    note(query, sqlite.bind_blob(query->statement, next_value(query), data ? data : "", (int)size,
                                 SQLITE_COPIES));
}

bool query_next(Query *query) {
    if (query->error || !query->statement) return false;
    query->is_running = true;
    int code = sqlite.step(query->statement);
    if (code == SQLITE_ROW) return true;
    note(query, code);
    sqlite.reset(query->statement);
    query->is_running = false;
    query->bound = 0;
    return false;
}

const char *query_get_text(Query *query, int column) {
    const void *text = sqlite.column_text(query->statement, column);
    return text ? arena_strdup(query->database->arena, text) : "";
}

int64_t query_get_int(Query *query, int column) {
    return sqlite.column_int64(query->statement, column);
}

Str query_get_blob(Query *query, int column) {
    const void *data = sqlite.column_blob(query->statement, column);
    size_t size = (size_t)sqlite.column_bytes(query->statement, column);
    return data ? (Str){arena_strndup(query->database->arena, data, size), size} : (Str){"", 0};
}

Error query_end(Query *query) {
    if (query->statement) sqlite.finalize(query->statement);
    query->statement = NULL;
    return query->error;
}
