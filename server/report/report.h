// What a check found, free of the snapshots it came from: the input of every format.
#ifndef TAD_SERVER_REPORT_REPORT_H
#define TAD_SERVER_REPORT_REPORT_H

#include "analysis/diagnostics/diagnostic.h"

/// Zero-based. `character` counts UTF-16 units (LSP), `column` Unicode characters.
typedef struct Position {
    int line, character, column;
} Position;

typedef struct Place {
    const char *file;
    Position start, end;
    const char
        *excerpt;  // the first line's text, tabs as they are, 1,000 bytes at most; "" when unknown
} Place;

typedef struct Note {
    Place place;
    const char *message;
} Note;

typedef struct Finding {
    const DiagnosticRow *row;
    Severity severity;
    Place place;
    const char *message;
    Note *notes;
    int note_count;
} Finding;

// KERNEL_STATUS(ID, "name", counts as a finding)
#define KERNEL_STATUSES(X)                                                                         \
    X(PROVED, "proved", false)                                                                     \
    X(DERIVED, "derived", false)                                                                   \
    X(REFUSED, "refused", false)                                                                   \
    X(FAILED, "failed", true)                                                                      \
    X(NOT_DIFFERENTIABLE, "not-differentiable", false)

typedef enum KernelStatus {
#define STATUS(id, name, finding) KERNEL_##id,
    KERNEL_STATUSES(STATUS)
#undef STATUS
        KERNEL_STATUS_COUNT
} KernelStatus;

/// One forward kernel and what became of its gradient.
typedef struct KernelResult {
    const char *file;
    const char *name;
    int line;  // one-based, of the `def`
    int at;    // as Report.at, when it was derived
    KernelStatus status;
    const char *reason;  // "" when there is nothing to say
    const char
        *covered;  // what the proof's configurations had and had not, in words; NULL: none ran
    const char *asserted;  // what the Function asserts of a call's sizes, in words; or NULL
    const char
        *own_types;   // how far the gradients are off in the launch's types, in words; or NULL
    const char *gpu;  // with the backend `cuda`, what the GPU ran, in words; else NULL
    const struct Json *proof;  // the worker's answer, or NULL
    bool has_error;
    double worst_error;
    int atomics;
    double seconds;
    int given_line;  // failed: of a derivative by hand in the file that the gradients rest on; else 0
    bool rests_on_given;  // failed, and some derivative is given by hand, in whatever file
    bool is_doubted;      // not proved, and a run saw a fault, or a gradient that differed
    const char *
        open;  // why the proof did not end, in words that are the same on every machine; NULL: the reason says it
} KernelResult;

typedef struct Report {
    Arena *arena;
    LIST(Finding) findings;      // by file, then by place
    LIST(KernelResult) kernels;  // with --grad
    LIST(const char *) files;    // that were checked
    LIST(int) files_at;          // as `at`, of each of them
    LIST(const char *)
    problems;               // what could not be read or run: one sentence each, on stderr already
    LIST(int) problems_at;  // as `at`, of each of them
    int at;                 // the file that is looked at, counted from 1; 0: none yet
    bool with_kernels;
    const struct Json *times;  // with --time: as docs/json.md has them; else NULL
    const char *times_text;    // the same for people
    int kernel_count;          // jit functions seen
    int suppressed;
    double seconds;
} Report;

const char *severity_name(Severity severity);
const char *kernel_status_name(KernelStatus status);
int report_count(const Report *report, Severity severity);
int report_count_kernels(const Report *report, KernelStatus status);
/// By file, then by place; a finding that is there twice is left once.
void report_sort(Report *report);
/// 0, 1 or 2: the exit status of the check.
int report_status(const Report *report);

/// The place of a range; excerpt and file are copied into the arena.
Place place_of(Arena *arena, Range range);
/// Says `problem` on stderr and keeps it for the exit status and the formats.
void report_problem(Report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
