// `--merge FILE...`: the parts of one run that machines shared, as the report of that run.
#include <stdio.h>
#include <string.h>

#include "server/cli/outcome.h"
#include "server/report/results.h"
#include "server/system/files.h"

typedef struct Merging {
    Report report;
    ResultsPart run;     // as the first file says it
    const char *first;   // that file
    bool with_kernels;   // of that file
    const char **parts;  // the file of each part, by its number; NULL: not seen
} Merging;

static const char *words_or(const ResultsPart *part) {
    return *part->words ? part->words : "none of --select, --ignore and --severity";
}

/// Why the part does not belong to the others; NULL where it does.
static Error part_refuse(const Merging *merging, const Report *report, const ResultsPart *part) {
    Arena *arena = merging->report.arena;
    if (part->count != merging->run.count)
        return arena_printf(
            arena,
            "it is part %d of %d, and %s of %d; run all parts with the same number behind the /",
            part->number, part->count, merging->first, merging->run.count);
    if (part->tree != merging->run.tree)
        return arena_printf(
            arena,
            "it is of other files, or of other versions of them, than %s; the parts "
            "are run in the same folder of the same commit",
            merging->first);
    if (report->with_kernels != merging->with_kernels)
        return arena_printf(arena,
                            "it was run %s --grad, and %s %s it; run all parts with the same words",
                            report->with_kernels ? "with" : "without", merging->first,
                            report->with_kernels ? "without" : "with");
    if (strcmp(part->words, merging->run.words) != 0)
        return arena_printf(arena,
                            "it was run with %s, and %s with %s; run all parts with the same words",
                            words_or(part), merging->first, words_or(&merging->run));
    if (merging->parts[part->number])
        return arena_printf(arena, "it is part %d, as is %s; give one of them, once", part->number,
                            merging->parts[part->number]);
    return NULL;
}

static Error merge_file(Merging *merging, const char *path) {
    Arena *arena = merging->report.arena;
    Report report;
    ResultsPart part;
    Str text;
    Error error = file_read(arena, path, &text);
    if (error) return error;
    error = results_read(arena, text, &report, &part);
    if (!error && !merging->first) {
        merging->first = path;
        merging->run = part;
        merging->with_kernels = report.with_kernels;
        merging->parts = ARENA_ARRAY(arena, const char *, (size_t)part.count + 1);
    }
    if (!error) error = part_refuse(merging, &report, &part);
    if (error) return arena_printf(arena, "%s: left out: %s", path, error);
    merging->parts[part.number] = path;
    results_add(&merging->report, &report);
    return NULL;
}

/// "2, 5 and 9 of 16"; NULL where all are there.
static const char *missing_parts(const Merging *merging) {
    enum { MOST_NAMED = 20 };
    Arena *arena = merging->report.arena;
    Buffer words = buffer_new(arena);
    int missing = 0;
    for (int i = 1; merging->first && i <= merging->run.count; i++) {
        if (merging->parts[i]) continue;
        if (++missing <= MOST_NAMED) buffer_printf(&words, "%s%d", missing > 1 ? ", " : "", i);
    }
    if (missing > MOST_NAMED) buffer_printf(&words, " and %d more", missing - MOST_NAMED);
    return missing ? arena_printf(arena,
                                  "part%s %s of %d; run `--check%s` with `--shard I/%d --results "
                                  "FILE` for %s, and merge again",
                                  missing > 1 ? "s" : "", buffer_text(&words), merging->run.count,
                                  merging->with_kernels ? " --grad" : "", merging->run.count,
                                  missing > 1 ? "each" : "it")
                   : NULL;
}

int command_merge(const Options *options) {
    Arena *arena = arena_new();
    Merging merging = {.report = {.arena = arena}};
    Error error = outcome_refuse(options);
    if (error) {
        say("%s", error);
        arena_free(arena);
        return STATUS_TROUBLE;
    }
    LIST(const char *) problems = {0};
    for (int i = 0; i < options->operand_count; i++) {
        error = merge_file(&merging, options->operands[i]);
        if (error) LIST_PUSH(arena, &problems, error);
    }
    results_finish(&merging.report);
    for (LIST_EACH(int, i, problems)) report_problem(&merging.report, "%s", problems.items[i]);
    const char *missing = missing_parts(&merging);
    if (missing)
        report_problem(&merging.report, "the report is not whole: no results of %s", missing);
    int status = outcome_write(&merging.report, options, options->operands, options->operand_count);
    arena_free(arena);
    return status;
}
