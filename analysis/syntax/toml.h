// A TOML document in, a tree of values out, every value with its place. TOML 1.0 by tree-sitter's grammar.
#ifndef TAD_ANALYSIS_SYNTAX_TOML_H
#define TAD_ANALYSIS_SYNTAX_TOML_H

#include "analysis/syntax/source.h"
#include "base/error.h"

typedef enum TomlKind {
    TOML_STRING,  // dates and times too, as written
    TOML_INTEGER,
    TOML_FLOAT,
    TOML_BOOL,
    TOML_ARRAY,
    TOML_TABLE,
} TomlKind;

typedef struct Toml Toml;
struct Toml {
    TomlKind kind;
    Str string;
    int64_t integer;  // also 0/1 of a bool
    double number;
    Toml **items;  // of an array, or the values of a table
    Str *keys;     // of a table, `count` of them
    int count;
    int capacity;
    Range range;
    bool is_closed;  // written out as `{...}` or `[...]`: nothing may be added later
};

/// The document's root table. NULL and `*error` ("line 3: ...") where it is malformed.
Toml *toml_parse(Arena *arena, const Source *source, Error *error);
/// The member `key` of a table, or NULL (also where `table` is NULL or no table).
Toml *toml_get(const Toml *table, const char *key);

#endif
