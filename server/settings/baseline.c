// A finding is known by what its author sees: the line's text without the spaces around it. Paths are those below the baseline's folder.
#include "server/settings/baseline.h"

#include <string.h>

#include "base/escape.h"
#include "base/json.h"
#include "server/system/files.h"
#include "server/system/output.h"

typedef struct KnownFinding {
    const char *file, *name, *text;
    int count;  // how often; of the report's findings, how many are left
} KnownFinding;

typedef struct Baseline {
    Arena *arena;
    const char *folder;  // real
    LIST(KnownFinding) list;
    LIST(const char *) cut;  // files that were analysed in part only
} Baseline;

static Baseline baseline_of(Arena *arena, const char *path) {
    return (Baseline){.arena = arena, .folder = path_real(arena, path_folder(arena, path))};
}

/// Of a file, from the baseline's folder; the whole path where it lies elsewhere.
static const char *relative(const Baseline *baseline, const char *path) {
    const char *real = path_real(baseline->arena, path);
    size_t size = strlen(baseline->folder);
    bool is_below = strncmp(real, baseline->folder, size) == 0 && real[size] == '/';
    return is_below ? real + size + 1 : real;
}

static bool is_same(const KnownFinding *a, const KnownFinding *b) {
    return strcmp(a->file, b->file) == 0 && strcmp(a->name, b->name) == 0 &&
           strcmp(a->text, b->text) == 0;
}

static KnownFinding *find(const Baseline *baseline, const KnownFinding *wanted) {
    for (LIST_EACH(int, i, baseline->list))
        if (is_same(&baseline->list.items[i], wanted)) return &baseline->list.items[i];
    return NULL;
}

static KnownFinding known_of(const Baseline *baseline, const Finding *finding) {
    Str text = str_trim(str_from(finding->place.excerpt));
    // As JSON holds it: what is no UTF-8 is replaced.
    const Json *held = json_str(baseline->arena, text);
    return (KnownFinding){relative(baseline, finding->place.file), finding->row->name,
                          str_dup(baseline->arena, held->string), 1};
}

static Json *known_json(Arena *arena, const KnownFinding *known) {
    Json *json = json_object(arena);
    json_set_string(json, "file", known->file);
    json_set_string(json, "name", known->name);
    json_set_string(json, "line", known->text);
    if (known->count > 1) json_set_number(json, "count", known->count);
    return json;
}

bool baseline_is_ours(Arena *arena, Str text) {
    Error error;
    const Json *json = json_parse(arena, text, &error);
    const Json *findings = json_get(json, "baseline");
    return findings && findings->kind == JSON_ARRAY;
}

static Error baseline_read(Baseline *baseline, const char *path) {
    Str text;
    Error error = file_read(baseline->arena, path, &text);
    if (error) return error;
    if (!baseline_is_ours(baseline->arena, text))
        return arena_printf(baseline->arena, "%s: is no baseline; --write-baseline writes one",
                            path);
    const Json *findings = json_get(json_parse(baseline->arena, text, &error), "baseline");
    for (int i = 0; i < findings->count; i++) {
        const Json *json = findings->items[i];
        const char *name = json_get_string(json, "name", "");
        const DiagnosticRow *row = diagnostic_find(str_from(name));
        KnownFinding known = {json_get_string(json, "file", ""), row ? row->name : name,
                              json_get_string(json, "line", ""), json_get_int(json, "count", 1)};
        LIST_PUSH(baseline->arena, &baseline->list, known);
    }
    return NULL;
}

/// Whether the run would have found it: its file was checked, or is no more.
static bool was_looked_for(const Baseline *baseline, const Report *report,
                           const KnownFinding *known) {
    for (LIST_EACH(int, i, baseline->cut))
        if (strcmp(baseline->cut.items[i], known->file) == 0) return false;
    for (LIST_EACH(int, i, report->files))
        if (strcmp(relative(baseline, report->files.items[i]), known->file) == 0) return true;
    const char *path = *known->file == '/'
                           ? known->file
                           : path_join(baseline->arena, baseline->folder, known->file);
    return !file_exists(path);
}

/// Files of which not all was looked at: what is not found there may be there.
static void note_cut(Baseline *baseline, const Report *report) {
    for (LIST_EACH(int, i, report->findings)) {
        const Finding *finding = &report->findings.items[i];
        if (finding->row == &diagnostic_rows[DIAGNOSTIC_SYNTAX_ERROR] ||
            finding->row == &diagnostic_rows[DIAGNOSTIC_LIMIT_REACHED] ||
            finding->row == &diagnostic_rows[DIAGNOSTIC_INTERNAL_ERROR])
            LIST_PUSH(baseline->arena, &baseline->cut, relative(baseline, finding->place.file));
    }
}

static void say_gone(const Baseline *baseline, const Report *report, const Options *options) {
    bool leaves_out = options->select.count || options->ignore.count || options->quiet;
    int gone = 0;
    if (options->update_baseline) return;
    for (LIST_EACH(int, i, baseline->list)) {
        const KnownFinding *known = &baseline->list.items[i];
        if (leaves_out || known->count <= 0 || !was_looked_for(baseline, report, known)) continue;
        say("%s: no longer there: %s: %s", known->file, known->name, known->text);
        gone++;
    }
    if (gone)
        say("%s: %d of its findings %s gone; --update-baseline drops %s", options->baseline, gone,
            gone == 1 ? "is" : "are", gone == 1 ? "it" : "them");
}

static Error write_known(const Baseline *baseline, const Report *report, const Options *options,
                         const char *path) {
    Arena *arena = baseline->arena;
    Json *findings = json_array(arena), *json = json_object(arena);
    for (LIST_EACH(int, i, baseline->list))
        json_push(findings, known_json(arena, &baseline->list.items[i]));
    json_set(json, "baseline", findings);
    Output output = {.path = path,
                     .is_ours = baseline_is_ours,
                     .is_forced = options->force,
                     .way_out = FORCE_HINT,
                     .inputs = report->files.items,
                     .input_count = report->files.count};
    return output_write(arena, &output, arena_printf(arena, "%s\n", json_print(arena, json, true)));
}

/// Without what was looked for and not found: `count` says how often an entry was left over.
static Error drop_gone(Baseline *baseline, const Report *report, const Options *options,
                       const KnownFinding *before) {
    if (report->problems.count)
        return arena_printf(baseline->arena, "%s: not updated, as not all could be checked",
                            options->baseline);
    int dropped = 0, left = 0;
    for (LIST_EACH(int, i, baseline->list)) {
        KnownFinding known = baseline->list.items[i];
        int gone = was_looked_for(baseline, report, &known) ? known.count : 0;
        dropped += gone;
        known.count = before[i].count - gone;
        if (known.count > 0) baseline->list.items[left++] = known;
    }
    baseline->list.count = left;
    Error error = dropped ? write_known(baseline, report, options, options->baseline) : NULL;
    if (!error)
        say("%s: %d finding%s dropped, %d kept", options->baseline, dropped,
            dropped == 1 ? "" : "s", left);
    return error;
}

Error baseline_apply(Report *report, const Options *options) {
    Baseline baseline = baseline_of(report->arena, options->baseline);
    Error error = baseline_read(&baseline, options->baseline);
    if (error) return error;
    note_cut(&baseline, report);
    KnownFinding *before =
        ARENA_ARRAY(report->arena, KnownFinding, (size_t)baseline.list.count + 1);
    for (LIST_EACH(int, i, baseline.list)) before[i] = baseline.list.items[i];
    int left = 0;
    for (LIST_EACH(int, i, report->findings)) {
        Finding finding = report->findings.items[i];
        KnownFinding wanted = known_of(&baseline, &finding);
        KnownFinding *known = find(&baseline, &wanted);
        if (known && known->count > 0) {
            known->count--;
            report->suppressed++;
        } else {
            report->findings.items[left++] = finding;
        }
    }
    report->findings.count = left;
    say_gone(&baseline, report, options);
    return options->update_baseline ? drop_gone(&baseline, report, options, before) : NULL;
}

Error baseline_write(Report *report, const Options *options) {
    Arena *arena = report->arena;
    Baseline baseline = baseline_of(arena, options->write_baseline);
    for (LIST_EACH(int, i, report->findings)) {
        KnownFinding wanted = known_of(&baseline, &report->findings.items[i]);
        KnownFinding *known = find(&baseline, &wanted);
        if (known)
            known->count++;
        else
            LIST_PUSH(arena, &baseline.list, wanted);
    }
    Error error = write_known(&baseline, report, options, options->write_baseline);
    if (error) return error;
    if (!options->quiet)
        say("%s: %d finding%s written", options->write_baseline, report->findings.count,
            report->findings.count == 1 ? "" : "s");
    report->suppressed += report->findings.count;
    report->findings.count = 0;
    return NULL;
}
