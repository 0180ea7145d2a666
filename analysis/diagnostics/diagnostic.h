// What the analysis has to say: one row of diagnostics.def each, an exact range, a message.
#ifndef TAD_ANALYSIS_DIAGNOSTICS_DIAGNOSTIC_H
#define TAD_ANALYSIS_DIAGNOSTICS_DIAGNOSTIC_H

#include "analysis/syntax/source.h"
#include "base/list.h"

typedef enum Severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_INFO, SEVERITY_HINT } Severity;

// DIAGNOSTIC(ID, "kebab-name", SEVERITY, "family", "one-line title", "page: markdown")
typedef enum DiagnosticId {
#define DIAGNOSTIC(id, name, severity, family, title, page) DIAGNOSTIC_##id,
#include "analysis/diagnostics/diagnostics.def"
#undef DIAGNOSTIC
    DIAGNOSTIC_COUNT
} DiagnosticId;

typedef struct DiagnosticRow {
    const char *id;
    const char *name;
    Severity severity;
    const char *family;
    const char *title;
    const char *page;
} DiagnosticRow;

extern const DiagnosticRow diagnostic_rows[DIAGNOSTIC_COUNT];

typedef struct Related {
    Range range;
    const char *message;
} Related;

typedef struct Diagnostic {
    DiagnosticId id;
    Severity severity;
    Range range;
    const char *message;
    Related *related;
    int related_count;
    const char *once_a_file;  // of what has the same text here the first is said alone; or NULL
    bool rests_on_nothing;    // true whatever the function is called with
    bool is_of_python;        // what any server for Python says, too
} Diagnostic;

typedef struct Diagnostics {
    Arena *arena;
    LIST(Diagnostic) list;
} Diagnostics;

/// Adds one (the same id at the same range with the same message only once). Returns it, to add related places.
Diagnostic *diagnose(Diagnostics *sink, DiagnosticId id, Range range, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void diagnostic_relate(Diagnostics *sink, Diagnostic *diagnostic, Range range, const char *message);
/// The page of a row, with a word before each of its two examples: what is reported, and the same mended. Allocated in the arena where
/// there are two.
const char *diagnostic_page(Arena *arena, const DiagnosticRow *row);
/// The row named `name`, or that was (diagnostics_former.def); NULL where there is none.
const DiagnosticRow *diagnostic_find(Str name);
/// Whether somebody who writes `name` means the row: by its name, by one that it had before, or by its family.
bool diagnostic_is_meant(const DiagnosticRow *row, Str name);
/// The nearest diagnostic or family name, or NULL.
const char *diagnostic_suggest(Str name);

#endif
