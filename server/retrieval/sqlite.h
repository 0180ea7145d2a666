// The one door to SQLite, which is opened at run time: a machine without it loses the index alone. One thread uses a database.
#ifndef TAD_SERVER_RETRIEVAL_SQLITE_H
#define TAD_SERVER_RETRIEVAL_SQLITE_H

#include "base/error.h"
#include "base/text.h"

typedef struct Database Database;
typedef struct Query Query;

typedef enum DatabaseMode { DATABASE_READ, DATABASE_WRITE } DatabaseMode;

/// Opens a file; with DATABASE_WRITE it is made where it is not there. NULL and `*error` where that fails. Closed by database_close.
Database *database_open(Arena *arena, const char *path, DatabaseMode mode, Error *error);
/// NULL is allowed. What a transaction has not committed is dropped.
void database_close(Database *database);
/// Runs statements that give no rows.
Error database_run(Database *database, const char *statements);
/// Whether an error so far was that the file is no database, or is damaged.
bool database_is_damaged(const Database *database);

/// One statement, with `?` for each value. What goes wrong gives no rows, and is told by query_end.
Query *query_new(Database *database, const char *statement);
/// The values of `?` in their order, after which query_next begins anew.
void query_text(Query *query, const char *value);
void query_int(Query *query, int64_t value);
void query_blob(Query *query, const void *data, size_t size);
/// The next row; false at the end, where the statement may be given values again.
bool query_next(Query *query);
/// Columns of the row, from 0; copies in the database's arena.
const char *query_get_text(Query *query, int column);
int64_t query_get_int(Query *query, int column);
Str query_get_blob(Query *query, int column);
/// Frees the statement. What went wrong with it, or NULL.
Error query_end(Query *query);

#endif
