// Kernels, files and problems have the number of the file that was looked at, so that parts merge into the order of one run.
#include "server/report/results.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "server/report/say.h"

/// The members of a worker's answer that a format shows.
static const char *const shown_of_proof[] = {"coverage", "own_types", "cuda", "incomplete"};

enum { FORM = 1 };  // of the file

// --- Writing

static Json *position_json(Arena *arena, Position position) {
    const int parts[] = {position.line, position.character, position.column};
    Json *json = json_array(arena);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        json_push(json, json_number(arena, parts[i]));
    return json;
}

static void set_place(Json *json, const Place *place) {
    json_set_string(json, "file", place->file);
    json_set(json, "start", position_json(json->arena, place->start));
    json_set(json, "end", position_json(json->arena, place->end));
    json_set_string(json, "excerpt", place->excerpt);
}

static Json *finding_json(Arena *arena, const Finding *finding) {
    Json *json = json_object(arena), *notes = json_array(arena);
    json_set_string(json, "name", finding->row->name);
    json_set_number(json, "severity", finding->severity);
    json_set_string(json, "message", finding->message);
    set_place(json, &finding->place);
    for (int i = 0; i < finding->note_count; i++) {
        Json *note = json_object(arena);
        json_set_string(note, "message", finding->notes[i].message);
        set_place(note, &finding->notes[i].place);
        json_push(notes, note);
    }
    json_set(json, "notes", notes);
    return json;
}

static void set_text(Json *json, const char *key, const char *text) {
    if (text) json_set_string(json, key, text);
}

static Json *kernel_json(Arena *arena, const KernelResult *kernel) {
    Json *json = json_object(arena), *proof = json_object(arena);
    json_set_string(json, "file", kernel->file);
    json_set_string(json, "name", kernel->name);
    json_set_number(json, "line", kernel->line);
    json_set_number(json, "at", kernel->at);
    json_set_string(json, "status", kernel_status_name(kernel->status));
    json_set_string(json, "reason", kernel->reason);
    set_text(json, "covered", kernel->covered);
    set_text(json, "asserted", kernel->asserted);
    set_text(json, "own_types", kernel->own_types);
    set_text(json, "gpu", kernel->gpu);
    set_text(json, "open", kernel->open);
    for (size_t i = 0; i < sizeof shown_of_proof / sizeof *shown_of_proof; i++) {
        const Json *member = json_get(kernel->proof, shown_of_proof[i]);
        if (member) json_set(proof, shown_of_proof[i], json_copy(arena, member));
    }
    if (kernel->proof) json_set(json, "proof", proof);
    if (kernel->has_error) json_set_number(json, "worst_error", kernel->worst_error);
    json_set_number(json, "atomics", kernel->atomics);
    json_set_number(json, "seconds", kernel->seconds);
    json_set_number(json, "given_line", kernel->given_line);
    json_set_bool(json, "rests_on_given", kernel->rests_on_given);
    json_set_bool(json, "is_doubted", kernel->is_doubted);
    return json;
}

static Json *told_json(Arena *arena, const char *text, int at) {
    Json *json = json_object(arena);
    json_set_string(json, "text", text);
    json_set_number(json, "at", at);
    return json;
}

const char *results_text(Arena *arena, const Report *report, const ResultsPart *part) {
    Json *json = json_object(arena), *files = json_array(arena), *problems = json_array(arena),
         *findings = json_array(arena), *kernels = json_array(arena);
    json_set_number(json, "tad_results", FORM);
    json_set_string(json, "version", TAD_VERSION);
    json_set_number(json, "part", part->number);
    json_set_number(json, "of", part->count);
    json_set_string(json, "tree", arena_printf(arena, "%016llx", (unsigned long long)part->tree));
    json_set_bool(json, "grad", report->with_kernels);
    json_set_string(json, "words", part->words);
    json_set_number(json, "kernel_count", report->kernel_count);
    json_set_number(json, "suppressed", report->suppressed);
    json_set_number(json, "seconds", report->seconds);
    for (LIST_EACH(int, i, report->files))
        json_push(files, told_json(arena, report->files.items[i], report->files_at.items[i]));
    for (LIST_EACH(int, i, report->problems))
        json_push(problems,
                  told_json(arena, report->problems.items[i], report->problems_at.items[i]));
    for (LIST_EACH(int, i, report->findings))
        json_push(findings, finding_json(arena, &report->findings.items[i]));
    for (LIST_EACH(int, i, report->kernels))
        json_push(kernels, kernel_json(arena, &report->kernels.items[i]));
    json_set(json, "files", files);
    json_set(json, "problems", problems);
    json_set(json, "findings", findings);
    json_set(json, "kernels", kernels);
    return arena_printf(arena, "%s\n", json_print(arena, json, false));
}

// --- Reading: what a file does not have reads as nothing, and what it must not have is refused

static const Json *items_of(const Json *json, const char *key) {
    static const Json none = {.kind = JSON_ARRAY};
    const Json *items = json_get(json, key);
    return items && items->kind == JSON_ARRAY ? items : &none;
}

static Position position_read(const Json *json) {
    int parts[3] = {0};
    for (int i = 0; json && json->kind == JSON_ARRAY && i < json->count && i < 3; i++) {
        double number = json->items[i]->kind == JSON_NUMBER ? json->items[i]->number : 0;
        parts[i] = number >= 0 && number < INT32_MAX ? (int)number : 0;
    }
    return (Position){parts[0], parts[1], parts[2]};
}

static const char *text_read(Arena *arena, const Json *json, const char *key) {
    const char *text = json_get_string(json, key, NULL);
    return text ? arena_strdup(arena, text) : NULL;
}

static const char *text_or_empty(Arena *arena, const Json *json, const char *key) {
    const char *text = text_read(arena, json, key);
    return text ? text : "";
}

static Place place_read(Arena *arena, const Json *json) {
    return (Place){text_or_empty(arena, json, "file"), position_read(json_get(json, "start")),
                   position_read(json_get(json, "end")), text_or_empty(arena, json, "excerpt")};
}

static Error finding_read(Report *report, const Json *json) {
    Arena *arena = report->arena;
    const char *name = json_get_string(json, "name", "");
    const DiagnosticRow *row = diagnostic_find(str_from(name));
    int severity = json_get_int(json, "severity", -1);
    if (!row || severity < SEVERITY_ERROR || severity > SEVERITY_HINT)
        return arena_printf(arena, "it has a finding that this release does not know: `%s`", name);
    const Json *notes = items_of(json, "notes");
    Finding finding = {.row = row,
                       .severity = (Severity)severity,
                       .place = place_read(arena, json),
                       .message = text_or_empty(arena, json, "message"),
                       .notes = ARENA_ARRAY(arena, Note, (size_t)notes->count + 1),
                       .note_count = notes->count};
    for (int i = 0; i < notes->count; i++)
        finding.notes[i] = (Note){place_read(arena, notes->items[i]),
                                  text_or_empty(arena, notes->items[i], "message")};
    LIST_PUSH(arena, &report->findings, finding);
    return NULL;
}

static Error kernel_read(Report *report, const Json *json) {
    Arena *arena = report->arena;
    const char *status = json_get_string(json, "status", "");
    int found = 0;
    while (found < KERNEL_STATUS_COUNT &&
           strcmp(kernel_status_name((KernelStatus)found), status) != 0)
        found++;
    if (found == KERNEL_STATUS_COUNT)
        return arena_printf(arena, "it has a status that this release does not know: `%s`", status);
    const Json *worst = json_get(json, "worst_error"), *proof = json_get(json, "proof");
    bool has_error = worst && worst->kind == JSON_NUMBER;
    KernelResult kernel = {
        .file = text_or_empty(arena, json, "file"),
        .name = text_or_empty(arena, json, "name"),
        .line = json_get_int(json, "line", 0),
        .at = json_get_int(json, "at", 0),
        .status = (KernelStatus)found,
        .reason = text_or_empty(arena, json, "reason"),
        .covered = text_read(arena, json, "covered"),
        .asserted = text_read(arena, json, "asserted"),
        .own_types = text_read(arena, json, "own_types"),
        .gpu = text_read(arena, json, "gpu"),
        .open = text_read(arena, json, "open"),
        .proof = proof ? json_copy(arena, proof) : NULL,
        .has_error = has_error,
        .worst_error = has_error ? worst->number : 0,
        .atomics = json_get_int(json, "atomics", 0),
        .seconds = json_get_number(json, "seconds", 0),
        .given_line = json_get_int(json, "given_line", 0),
        .rests_on_given = json_get_bool(json, "rests_on_given", false),
        .is_doubted = json_get_bool(json, "is_doubted", false),
    };
    LIST_PUSH(arena, &report->kernels, kernel);
    return NULL;
}

static Error head_read(Arena *arena, const Json *json, Report *report, ResultsPart *part) {
    if (json_get_int(json, "tad_results", 0) < 1)
        return "it has no results; `tad-lsp --check PATH... --results FILE` writes them";
    const char *version = json_get_string(json, "version", "");
    if (json_get_int(json, "tad_results", 0) != FORM || strcmp(version, TAD_VERSION) != 0)
        return arena_printf(arena,
                            "release %s wrote it, and this is " TAD_VERSION
                            "; run that part, or the merge, with the other's release",
                            version);
    part->number = json_get_int(json, "part", 0);
    part->count = json_get_int(json, "of", 0);
    enum { HEXADECIMAL = 16 };
    const char *tree = json_get_string(json, "tree", "");
    char *end = NULL;
    part->tree = strtoull(tree, &end, HEXADECIMAL);
    bool has_tree = *tree && !*end;
    if (!has_tree || part->number < 1 || part->number > part->count)
        return "it does not say which part of a run it is";
    part->words = arena_strdup(arena, json_get_string(json, "words", ""));
    report->with_kernels = json_get_bool(json, "grad", false);
    report->kernel_count = json_get_int(json, "kernel_count", 0);
    report->suppressed = json_get_int(json, "suppressed", 0);
    report->seconds = json_get_number(json, "seconds", 0);
    return NULL;
}

Error results_read(Arena *arena, Str text, Report *report, ResultsPart *part) {
    *report = (Report){.arena = arena};
    Error error = NULL;
    const Json *json = json_parse(arena, text, &error);
    if (error) return arena_printf(arena, "it is no JSON: %s", error);
    error = head_read(arena, json, report, part);
    const Json *files = items_of(json, "files"), *problems = items_of(json, "problems"),
               *findings = items_of(json, "findings"), *kernels = items_of(json, "kernels");
    for (int i = 0; i < files->count; i++) {
        LIST_PUSH(arena, &report->files, text_or_empty(arena, files->items[i], "text"));
        LIST_PUSH(arena, &report->files_at, json_get_int(files->items[i], "at", 0));
    }
    for (int i = 0; i < problems->count; i++) {
        LIST_PUSH(arena, &report->problems, text_or_empty(arena, problems->items[i], "text"));
        LIST_PUSH(arena, &report->problems_at, json_get_int(problems->items[i], "at", 0));
    }
    for (int i = 0; !error && i < findings->count; i++)
        error = finding_read(report, findings->items[i]);
    for (int i = 0; !error && i < kernels->count; i++)
        error = kernel_read(report, kernels->items[i]);
    return error;
}

bool results_are_ours(Arena *arena, Str text) {
    Error error;
    return json_get(json_parse(arena, text, &error), "tad_results") != NULL;
}

// --- Merging

void results_add(Report *report, const Report *part) {
    Arena *arena = report->arena;
    for (LIST_EACH(int, i, part->findings))
        LIST_PUSH(arena, &report->findings, part->findings.items[i]);
    for (LIST_EACH(int, i, part->kernels))
        LIST_PUSH(arena, &report->kernels, part->kernels.items[i]);
    for (LIST_EACH(int, i, part->files)) {
        LIST_PUSH(arena, &report->files, part->files.items[i]);
        LIST_PUSH(arena, &report->files_at, part->files_at.items[i]);
    }
    for (LIST_EACH(int, i, part->problems)) {
        LIST_PUSH(arena, &report->problems, part->problems.items[i]);
        LIST_PUSH(arena, &report->problems_at, part->problems_at.items[i]);
    }
    report->with_kernels = report->with_kernels || part->with_kernels;
    report->kernel_count += part->kernel_count;
    report->suppressed += part->suppressed;
    report->seconds += part->seconds;
}

typedef struct ToldAt {
    const char *text;
    int at, order;
} ToldAt;

static int compare_told(const void *left, const void *right) {
    const ToldAt *a = left, *b = right;
    return a->at != b->at ? (a->at > b->at) - (a->at < b->at) : a->order - b->order;
}

static int compare_kernels(const void *left, const void *right) {
    const KernelResult *a = left, *b = right;
    int order = (a->at > b->at) - (a->at < b->at);
    if (order == 0) order = strcmp(a->file, b->file);
    return order ? order : (a->line > b->line) - (a->line < b->line);
}

/// In the order of the files that they were told at; each once, as every part tells what is wrong with a folder.
static int sort_told(Arena *arena, const char **texts, const int *places, int count) {
    ToldAt *told = ARENA_ARRAY(arena, ToldAt, (size_t)count + 1);
    for (int i = 0; i < count; i++) told[i] = (ToldAt){texts[i], places[i], i};
    qsort(told, (size_t)count, sizeof *told, compare_told);
    int kept = 0;
    for (int i = 0; i < count; i++) {
        bool is_new = true;
        for (int k = 0; k < kept && is_new; k++) is_new = strcmp(texts[k], told[i].text) != 0;
        if (is_new) texts[kept++] = told[i].text;
    }
    return kept;
}

void results_finish(Report *report) {
    report_sort(report);
    if (report->kernels.count)
        qsort(report->kernels.items, (size_t)report->kernels.count, sizeof *report->kernels.items,
              compare_kernels);
    report->files.count =
        sort_told(report->arena, report->files.items, report->files_at.items, report->files.count);
    report->problems.count = sort_told(report->arena, report->problems.items,
                                       report->problems_at.items, report->problems.count);
    for (LIST_EACH(int, i, report->problems)) say("%s", report->problems.items[i]);
}
