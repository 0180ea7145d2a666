// Counting, exit status, and places: byte ranges become lines and UTF-16 columns here, and nowhere else.
#include "server/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "server/report/say.h"

const char *severity_name(Severity severity) {
    static const char *const names[] = {"error", "warning", "info", "hint"};
    return names[severity];
}

const char *kernel_status_name(KernelStatus status) {
    static const char *const names[] = {
#define STATUS(id, name, finding) name,
        KERNEL_STATUSES(STATUS)
#undef STATUS
    };
    return names[status];
}

int report_count(const Report *report, Severity severity) {
    int count = 0;
    for (LIST_EACH(int, i, report->findings))
        count += report->findings.items[i].severity == severity;
    return count;
}

int report_count_kernels(const Report *report, KernelStatus status) {
    int count = 0;
    for (LIST_EACH(int, i, report->kernels)) count += report->kernels.items[i].status == status;
    return count;
}

static int compare_findings(const void *left, const void *right) {
    const Finding *a = left, *b = right;
    int order = strcmp(a->place.file, b->place.file);
    if (order == 0) order = a->place.start.line - b->place.start.line;
    if (order == 0) order = a->place.start.column - b->place.start.column;
    if (order == 0) order = (int)a->severity - (int)b->severity;
    if (order == 0) order = strcmp(a->message, b->message);
    return order ? order : strcmp(a->row->name, b->row->name);
}

void report_sort(Report *report) {
    if (!report->findings.count) return;
    Finding *findings = report->findings.items;
    qsort(findings, (size_t)report->findings.count, sizeof *findings, compare_findings);
    int count = 1;
    for (int i = 1; i < report->findings.count; i++)
        if (compare_findings(&findings[count - 1], &findings[i]) != 0)
            findings[count++] = findings[i];
    report->findings.count = count;
}

int report_status(const Report *report) {
    static const bool is_finding[] = {
#define STATUS(id, name, finding) finding,
        KERNEL_STATUSES(STATUS)
#undef STATUS
    };
    if (report->problems.count) return STATUS_TROUBLE;
    if (report_count(report, SEVERITY_ERROR) || report_count(report, SEVERITY_WARNING))
        return STATUS_FINDINGS;
    for (LIST_EACH(int, i, report->kernels))
        if (is_finding[report->kernels.items[i].status]) return STATUS_FINDINGS;
    return STATUS_CLEAN;
}

static Str line_text(const Source *source, int line) {
    if (line >= source->line_count) return (Str){"", 0};
    uint32_t start = source->line_starts[line];
    const char *data = source->text.data + start;
    size_t size = 0;
    while (start + size < source->text.size && data[size] != '\n' && data[size] != '\r') size++;
    return (Str){data, size};
}

static Position position_of(const Source *source, uint32_t offset) {
    Position position = {0};
    int bytes = 0;
    source_position(source, offset, &position.line, &bytes);
    const char *line = source->text.data + (offset - (uint32_t)bytes);
    for (int i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)line[i];
        if ((byte & 0xC0) == 0x80) continue;
        position.column++;
        position.character += byte >= 0xF0 ? 2 : 1;
    }
    return position;
}

/// A line of 10 MB may have as many findings; a longer excerpt is not shown.
enum { EXCERPT_MOST_BYTES = 1000 };

Place place_of(Arena *arena, Range range) {
    if (!range.source) return (Place){.file = "", .excerpt = ""};
    uint32_t size = (uint32_t)range.source->text.size;
    uint32_t start = range.start < size ? range.start : size;
    uint32_t end = range.end < size ? range.end : size;
    Place place = {
        .file = arena_strdup(arena, range.source->path),
        .start = position_of(range.source, start),
        .end = position_of(range.source, end > start ? end : start),
    };
    Str line = line_text(range.source, place.start.line);
    if (line.size > EXCERPT_MOST_BYTES) line.size = EXCERPT_MOST_BYTES;
    place.excerpt = str_dup(arena, line);
    return place;
}

void report_problem(Report *report, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *problem = arena_vprintf(report->arena, format, arguments);
    va_end(arguments);
    LIST_PUSH(report->arena, &report->problems, problem);
    LIST_PUSH(report->arena, &report->problems_at, report->at);
    say("%s", problem);
}
