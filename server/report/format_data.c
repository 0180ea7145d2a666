// The formats for programs: our own JSON (docs/json.md) and SARIF 2.1.0 (OASIS standard).
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "server/report/formats.h"

static Json *position_json(Arena *arena, Position position) {
    Json *json = json_object(arena);
    json_set_number(json, "line", position.line);
    json_set_number(json, "character", position.character);
    return json;
}

/// `{start: {line, character}, end: ...}` as in LSP.
static Json *range_json(Arena *arena, const Place *place) {
    Json *json = json_object(arena);
    json_set(json, "start", position_json(arena, place->start));
    json_set(json, "end", position_json(arena, place->end));
    return json;
}

static Json *finding_json(Arena *arena, const Finding *finding) {
    Json *json = json_object(arena);
    json_set_string(json, "file", finding->place.file);
    json_set(json, "range", range_json(arena, &finding->place));
    json_set_string(json, "severity", severity_name(finding->severity));
    json_set_string(json, "name", finding->row->name);
    json_set_string(json, "family", finding->row->family);
    json_set_string(json, "message", finding->message);
    Json *related = json_array(arena);
    for (int i = 0; i < finding->note_count; i++) {
        Json *note = json_object(arena);
        json_set_string(note, "file", finding->notes[i].place.file);
        json_set(note, "range", range_json(arena, &finding->notes[i].place));
        json_set_string(note, "message", finding->notes[i].message);
        json_push(related, note);
    }
    json_set(json, "related", related);
    return json;
}

static Json *kernel_json(Arena *arena, const KernelResult *kernel) {
    Json *json = json_object(arena);
    json_set_string(json, "file", kernel->file);
    json_set_string(json, "name", kernel->name);
    json_set_number(json, "line", kernel->line);
    json_set_string(json, "status", kernel_status_name(kernel->status));
    json_set_string(json, "reason", kernel->reason);
    json_set(json, "worst_error",
             kernel->has_error ? json_number(arena, kernel->worst_error) : json_null(arena));
    json_set(json, "covered",
             kernel->covered ? json_string(arena, kernel->covered) : json_null(arena));
    json_set(json, "asserted",
             kernel->asserted ? json_string(arena, kernel->asserted) : json_null(arena));
    const Json *coverage = kernel->covered ? json_get(kernel->proof, "coverage") : NULL;
    json_set(json, "coverage", coverage ? json_copy(arena, coverage) : json_null(arena));
    const Json *own_types = json_get(kernel->proof, "own_types");
    json_set(json, "own_types", own_types ? json_copy(arena, own_types) : json_null(arena));
    const Json *cuda = json_get(kernel->proof, "cuda");
    if (cuda) json_set(json, "cuda", json_copy(arena, cuda));
    json_set_bool(json, "incomplete", json_get_bool(kernel->proof, "incomplete", false));
    json_set_number(json, "atomics", kernel->atomics);
    json_set_number(json, "seconds", kernel->seconds);
    return json;
}

static Json *summary_json(Arena *arena, const Report *report) {
    Json *json = json_object(arena);
    json_set_number(json, "files", report->files.count);
    json_set_number(json, "kernels", report->kernel_count);
    for (Severity severity = SEVERITY_ERROR; severity <= SEVERITY_HINT; severity++)
        json_set_number(json, severity_name(severity), report_count(report, severity));
    json_set_number(json, "suppressed", report->suppressed);
    for (KernelStatus status = 0; report->with_kernels && status < KERNEL_STATUS_COUNT; status++)
        json_set_number(json, kernel_status_name(status), report_count_kernels(report, status));
    json_set_number(json, "seconds", report->seconds);
    return json;
}

static Json *strings_json(Arena *arena, const char *const *items, int count) {
    Json *array = json_array(arena);
    for (int i = 0; i < count; i++) json_push(array, json_string(arena, items[i]));
    return array;
}

void format_json(Buffer *out, const Report *report, const FormatOptions *options) {
    (void)options;
    Arena *arena = report->arena;
    Json *json = json_object(arena);
    json_set_string(json, "version", TAD_VERSION);
    Json *diagnostics = json_array(arena);
    for (LIST_EACH(int, i, report->findings))
        json_push(diagnostics, finding_json(arena, &report->findings.items[i]));
    json_set(json, "diagnostics", diagnostics);
    if (report->with_kernels) {
        Json *kernels = json_array(arena);
        for (LIST_EACH(int, i, report->kernels))
            json_push(kernels, kernel_json(arena, &report->kernels.items[i]));
        json_set(json, "kernels", kernels);
    }
    if (report->times) json_set(json, "times", json_copy(arena, report->times));
    json_set(json, "problems", strings_json(arena, report->problems.items, report->problems.count));
    json_set(json, "summary", summary_json(arena, report));
    put_json(out, json);
}

static Json *text_json(Arena *arena, const char *text) {
    Json *json = json_object(arena);
    json_set_string(json, "text", text);
    return json;
}

/// A relative reference or file URI: everything but unreserved characters and `/` is percent-encoded (RFC 3986).
static const char *file_uri(Arena *arena, const char *file) {
    Buffer uri = buffer_new(arena);
    if (*file == '/') buffer_puts(&uri, "file://");
    for (; *file; file++) {
        unsigned char c = (unsigned char)*file;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("-._~/", c);
        if (plain)
            buffer_putc(&uri, (char)c);
        else
            buffer_printf(&uri, "%%%02X", c);
    }
    return buffer_text(&uri);
}

static Json *sarif_location(Arena *arena, const Place *place, const char *message) {
    Json *artifact = json_object(arena), *region = json_object(arena);
    json_set_string(artifact, "uri", file_uri(arena, place->file));
    json_set_number(region, "startLine", place->start.line + 1);
    json_set_number(region, "startColumn", place->start.character + 1);
    json_set_number(region, "endLine", place->end.line + 1);
    json_set_number(region, "endColumn", place->end.character + 1);
    Json *physical = json_object(arena), *location = json_object(arena);
    json_set(physical, "artifactLocation", artifact);
    json_set(physical, "region", region);
    json_set(location, "physicalLocation", physical);
    if (message) json_set(location, "message", text_json(arena, message));
    return location;
}

static const char *sarif_level(Severity severity) {
    static const char *const levels[] = {"error", "warning", "note", "note"};
    return levels[severity];
}

static Json *sarif_rule(Arena *arena, const DiagnosticRow *row) {
    Json *rule = json_object(arena), *configuration = json_object(arena),
         *help = json_object(arena);
    json_set_string(rule, "id", row->name);
    json_set(rule, "shortDescription", text_json(arena, row->title));
    const char *page = diagnostic_page(arena, row);
    json_set_string(help, "text", page);
    json_set_string(help, "markdown", page);
    json_set(rule, "help", help);
    json_set_string(configuration, "level", sarif_level(row->severity));
    json_set(rule, "defaultConfiguration", configuration);
    Json *properties = json_object(arena), *tags = json_array(arena);
    json_push(tags, json_string(arena, row->family));
    json_set(properties, "tags", tags);
    json_set(rule, "properties", properties);
    return rule;
}

static Json *sarif_result(Arena *arena, const Finding *finding, int rule_index) {
    Json *result = json_object(arena), *locations = json_array(arena);
    json_set_string(result, "ruleId", finding->row->name);
    json_set_number(result, "ruleIndex", rule_index);
    json_set_string(result, "level", sarif_level(finding->severity));
    json_set(result, "message", text_json(arena, finding->message));
    json_push(locations, sarif_location(arena, &finding->place, NULL));
    json_set(result, "locations", locations);
    if (finding->note_count == 0) return result;
    Json *related = json_array(arena);
    for (int i = 0; i < finding->note_count; i++) {
        const Note *note = &finding->notes[i];
        json_push(related, sarif_location(arena, &note->place, note->message));
    }
    json_set(result, "relatedLocations", related);
    return result;
}

static Json *sarif_invocations(Arena *arena, const Report *report) {
    Json *invocation = json_object(arena), *notifications = json_array(arena);
    json_set_bool(invocation, "executionSuccessful", report->problems.count == 0);
    for (LIST_EACH(int, i, report->problems)) {
        Json *notification = json_object(arena);
        json_set_string(notification, "level", "error");
        json_set(notification, "message", text_json(arena, report->problems.items[i]));
        json_push(notifications, notification);
    }
    json_set(invocation, "toolExecutionNotifications", notifications);
    Json *invocations = json_array(arena);
    json_push(invocations, invocation);
    return invocations;
}

/// Only the rules that were broken, so that a clean report stays small.
static Json *sarif_results(Arena *arena, const Report *report, Json *rules) {
    Json *results = json_array(arena);
    Map indices = map_new(arena);
    for (LIST_EACH(int, i, report->findings)) {
        const Finding *finding = &report->findings.items[i];
        uintptr_t index = (uintptr_t)map_get_pointer(&indices, finding->row);
        if (!index) {
            json_push(rules, sarif_rule(arena, finding->row));
            index = (uintptr_t)rules->count;
            map_set_number(&indices, (uint64_t)(uintptr_t)finding->row, (void *)index);
        }
        json_push(results, sarif_result(arena, finding, (int)index - 1));
    }
    return results;
}

void format_sarif(Buffer *out, const Report *report, const FormatOptions *options) {
    (void)options;
    Arena *arena = report->arena;
    Json *driver = json_object(arena), *tool = json_object(arena), *rules = json_array(arena);
    json_set_string(driver, "name", "tad-lsp");
    json_set_string(driver, "version", TAD_VERSION);
    Json *results = sarif_results(arena, report, rules);
    json_set(driver, "rules", rules);
    json_set(tool, "driver", driver);
    Json *run = json_object(arena), *runs = json_array(arena), *log = json_object(arena);
    json_set(run, "tool", tool);
    json_set_string(run, "columnKind", "utf16CodeUnits");
    json_set(run, "invocations", sarif_invocations(arena, report));
    json_set(run, "results", results);
    if (report->times) {  // what SARIF has no place for: §3.8
        Json *properties = json_object(arena);
        json_set(properties, "times", json_copy(arena, report->times));
        json_set(run, "properties", properties);
    }
    json_push(runs, run);
    json_set_string(log, "$schema",
                    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                    "sarif-schema-2.1.0.json");
    json_set_string(log, "version", "2.1.0");
    json_set(log, "runs", runs);
    put_json(out, log);
}
