// Measured times as data, and what is written of them: a table, CSV, a page. Sets of them are compared in kept.h.
#ifndef TAD_SERVER_TIMES_TIMES_H
#define TAD_SERVER_TIMES_TIMES_H

#include "base/json.h"

/// {"tad_times": 1, "kernels": []}; with the first result also "device", "triton", "copy_gb_s", "matrix_tflop_s".
Json *times_new(Arena *arena);
/// Adds a row: {"file", "kernel", "configuration", "bytes", "operations", "forward", "backward", "meters",
/// "is_small" where a launch takes longer than the work}. A direction has "median_ms",
/// "low_ms", "high_ms", "runs", "kernels", and where known "gb_s", "share_of_copy", "tflop_s". `no_backward`: why there is none, or NULL.
void times_add(Json *times, const char *file, const char *kernel, const Json *result,
               const char *no_backward);
/// Adds {"file", "kernel", "problem"} for what could not be timed.
void times_add_problem(Json *times, const char *file, const char *kernel, const char *problem);
/// Rows that have times.
int times_count(const Json *times);
/// Whether a text is one that these functions write: JSON, CSV or a page.
bool times_are_ours(Arena *arena, Str text);

/// For people: a line for each row, in columns.
const char *times_table(Arena *arena, const Json *times);
/// A row for each direction, under a row of names (RFC 4180).
const char *times_csv(Arena *arena, const Json *times);
/// One file of HTML without scripts and without links to elsewhere: tables, rooflines, time over size.
const char *times_page(Arena *arena, const Json *times);

/// What the page and the CSV file begin with.
#define TIMES_PAGE_HEAD "<!doctype html>\n<!-- tad-lsp --bench -->\n"
#define TIMES_CSV_HEAD "file,kernel,configuration,direction,median_ms"

#endif
