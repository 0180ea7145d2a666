// The formats of build servers: GitLab Code Quality (a JSON array) and JUnit XML (a test case per file and per gradient).
#include <string.h>

#include "base/escape.h"
#include "base/map.h"
#include "server/report/formats.h"

/// FNV-1a over several texts, 64 bits.
static uint64_t hash_add(uint64_t hash, const char *text) {
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return (hash ^ 0xFF) * 1099511628211u;
}

/// Stable while lines move: the line's text counts, its number does not. `repeat` tells equal findings apart.
static uint64_t fingerprint_of(const Finding *finding, int repeat) {
    uint64_t hash = 1469598103934665603u;
    hash = hash_add(hash, finding->place.file);
    hash = hash_add(hash, finding->row->name);
    hash = hash_add(hash, finding->message);
    hash = hash_add(hash, finding->place.excerpt);
    return (hash ^ (uint64_t)repeat) * 1099511628211u;
}

static Json *quality_issue(Arena *arena, const Finding *finding, uint64_t fingerprint) {
    static const char *const severities[] = {"major", "minor", "info", "info"};
    Json *issue = json_object(arena), *location = json_object(arena), *lines = json_object(arena);
    json_set_string(issue, "description", finding->message);
    json_set_string(issue, "check_name", finding->row->name);
    json_set_string(issue, "fingerprint",
                    arena_printf(arena, "%016llx", (unsigned long long)fingerprint));
    json_set_string(issue, "severity", severities[finding->severity]);
    json_set_number(lines, "begin", finding->place.start.line + 1);
    json_set_number(lines, "end", finding->place.end.line + 1);
    json_set_string(location, "path", finding->place.file);
    json_set(location, "lines", lines);
    json_set(issue, "location", location);
    return issue;
}

void format_gitlab(Buffer *out, const Report *report, const FormatOptions *options) {
    (void)options;
    Arena *arena = report->arena;
    Json *issues = json_array(arena);
    Map seen = map_new(arena);
    for (LIST_EACH(int, i, report->findings)) {
        const Finding *finding = &report->findings.items[i];
        int repeat = 0;
        uint64_t fingerprint = fingerprint_of(finding, repeat);
        while (map_has_number(&seen, fingerprint)) fingerprint = fingerprint_of(finding, ++repeat);
        map_set_number(&seen, fingerprint, issues);
        json_push(issues, quality_issue(arena, finding, fingerprint));
    }
    put_json(out, issues);
}

/// XML 1.0 text: markup escaped; what is obeyed elsewhere (base/escape.h) by its number, or U+FFFD where XML has none.
static void put_xml(Buffer *out, const char *text) {
    Str whole = str_from(text);
    char shown[SHOWN_SIZE];
    for (size_t at = 0, size; (size = char_visible(whole, at, shown)); at += size) {
        unsigned char c = (unsigned char)text[at];
        bool is_mark = shown[0] == '\\' && c != '\\';
        bool is_none = strcmp(shown, "\xEF\xBF\xBE") == 0 || strcmp(shown, "\xEF\xBF\xBF") == 0;
        if (strchr("&<>\"", c) || (is_mark && strchr("\r\n#:", c)))
            buffer_printf(out, "&#%d;", c);
        else if (is_mark && c >= 0x80)
            buffer_printf(out, "&#x%s;", shown + 2);
        else if (is_none || (is_mark && c < ' '))
            buffer_puts(out, UTF8_REPLACEMENT);
        else if (is_mark)
            buffer_printf(out, "&#%d;", c);
        else
            buffer_puts(out, shown);
    }
}

typedef struct Case {
    const char *class_name, *name, *verdict;  // verdict: NULL, "failure", "error" or "skipped"
    const char *message, *body;
    double seconds;
} Case;

static void put_case(Buffer *out, const Case *row) {
    buffer_puts(out, "    <testcase classname=\"");
    put_xml(out, row->class_name);
    buffer_puts(out, "\" name=\"");
    put_xml(out, row->name);
    buffer_printf(out, "\" time=\"%.6f\"", row->seconds);
    if (!row->verdict) {
        buffer_puts(out, "/>\n");
        return;
    }
    buffer_printf(out, ">\n      <%s message=\"", row->verdict);
    put_xml(out, row->message);
    buffer_puts(out, "\">");
    put_xml(out, row->body);
    buffer_printf(out, "</%s>\n    </testcase>\n", row->verdict);
}

static bool counts(const Finding *finding) { return finding->severity <= SEVERITY_WARNING; }

/// All errors and warnings of `file`: how many, and one line each in `body`.
static int failures_of(const Report *report, const char *file, Buffer *body) {
    int count = 0;
    for (LIST_EACH(int, i, report->findings)) {
        const Finding *finding = &report->findings.items[i];
        if (!counts(finding) || strcmp(finding->place.file, file) != 0) continue;
        count++;
        buffer_printf(body, "%s:%d:%d: %s[%s] %s\n", file, finding->place.start.line + 1,
                      finding->place.start.column + 1, severity_name(finding->severity),
                      finding->row->name, finding->message);
    }
    return count;
}

static int put_files(Buffer *out, const Report *report) {
    int failed = 0;
    for (LIST_EACH(int, i, report->files)) {
        Buffer body = buffer_new(report->arena);
        const char *file = report->files.items[i];
        int count = failures_of(report, file, &body);
        failed += count > 0;
        put_case(out, &(Case){.class_name = "check",
                              .name = file,
                              .verdict = count ? "failure" : NULL,
                              .message = arena_printf(report->arena, "%d finding(s)", count),
                              .body = buffer_text(&body)});
    }
    return failed;
}

static const char *case_verdict(KernelStatus status) {
    static const char *const verdicts[KERNEL_STATUS_COUNT] = {
        [KERNEL_DERIVED] = "skipped",
        [KERNEL_REFUSED] = "skipped",
        [KERNEL_FAILED] = "failure",
        [KERNEL_NOT_DIFFERENTIABLE] = "skipped",
    };
    return verdicts[status];
}

static void put_gradients(Buffer *out, const Report *report) {
    for (LIST_EACH(int, i, report->kernels)) {
        const KernelResult *kernel = &report->kernels.items[i];
        put_case(out, &(Case){.class_name = kernel->file,
                              .name = kernel->name,
                              .verdict = case_verdict(kernel->status),
                              .message = kernel_status_name(kernel->status),
                              .body = kernel->reason,
                              .seconds = kernel->seconds});
    }
}

/// Of a row of the times: the milliseconds of both directions, as seconds.
static double row_seconds(const Json *row) {
    return (json_get_number(json_get(row, "forward"), "median_ms", 0) +
            json_get_number(json_get(row, "backward"), "median_ms", 0)) /
           1000;
}

/// A case for each kernel at each size; one that could not be timed is skipped. What became slower is a finding of its file.
static int put_times(Buffer *out, const Json *rows) {
    int skipped = 0;
    for (int i = 0; i < rows->count; i++) {
        const Json *row = rows->items[i];
        const char *problem = json_get_string(row, "problem", NULL);
        skipped += problem != NULL;
        put_case(out, &(Case){.class_name = json_get_string(row, "file", ""),
                              .name = json_get_string(row, "kernel", ""),
                              .verdict = problem ? "skipped" : NULL,
                              .message = "not timed",
                              .body = problem ? problem : "",
                              .seconds = row_seconds(row)});
    }
    return skipped;
}

static void put_suite(Buffer *out, const char *name, const char *cases, int tests, int failures,
                      int errors, int skipped) {
    buffer_printf(
        out,
        "  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\">\n",
        name, tests, failures, errors, skipped);
    buffer_puts(out, cases);
    buffer_puts(out, "  </testsuite>\n");
}

void format_junit(Buffer *out, const Report *report, const FormatOptions *options) {
    (void)options;
    buffer_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tad-lsp\">\n");
    Buffer cases = buffer_new(report->arena);
    int failed = put_files(&cases, report);
    for (LIST_EACH(int, i, report->problems))
        put_case(&cases, &(Case){.class_name = "problem",
                                 .name = arena_printf(report->arena, "problem %d", i + 1),
                                 .verdict = "error",
                                 .message = report->problems.items[i],
                                 .body = ""});
    put_suite(out, "check", buffer_text(&cases), report->files.count + report->problems.count,
              failed, report->problems.count, 0);
    if (report->with_kernels) {
        Buffer gradients = buffer_new(report->arena);
        put_gradients(&gradients, report);
        int failures = report_count_kernels(report, KERNEL_FAILED);
        int proved = report_count_kernels(report, KERNEL_PROVED);
        put_suite(out, "gradients", buffer_text(&gradients), report->kernels.count, failures, 0,
                  report->kernels.count - failures - proved);
    }
    const Json *rows = json_get(report->times, "kernels");
    if (rows) {
        Buffer times = buffer_new(report->arena);
        int skipped = put_times(&times, rows);
        put_suite(out, "times", buffer_text(&times), rows->count, 0, 0, skipped);
    }
    buffer_puts(out, "</testsuites>\n");
}
