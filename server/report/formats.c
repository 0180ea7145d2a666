// The formats for people: full with excerpts and carets, concise, and GitHub's annotations. Machines' formats: format_data.c, format_ci.c.
#include "server/report/formats.h"

#include <string.h>

#include "base/escape.h"

static FormatWriter *const writers[FORMAT_COUNT] = {
#define FORMAT(id, name, writer, help) writer,
#include "server/report/formats.def"
#undef FORMAT
};

void report_write(Buffer *out, const Report *report, Format format, const FormatOptions *options) {
    writers[format](out, report, options);
}

void put_json(Buffer *out, const Json *value) {
    buffer_puts(out, json_visible(out->arena, json_print(out->arena, value, true)));
    buffer_putc(out, '\n');
}

typedef enum Paint {
    PAINT_RED,
    PAINT_YELLOW,
    PAINT_BLUE,
    PAINT_CYAN,
    PAINT_GREEN,
    PAINT_BOLD
} Paint;

static const char *paint(const FormatOptions *options, Paint paint) {
    static const char *const codes[] = {"\033[1;31m", "\033[1;33m", "\033[1;34m",
                                        "\033[36m",   "\033[32m",   "\033[1m"};
    return options->color ? codes[paint] : "";
}

static const char *plain(const FormatOptions *options) { return options->color ? "\033[0m" : ""; }

static Paint severity_paint(Severity severity) {
    static const Paint paints[] = {PAINT_RED, PAINT_YELLOW, PAINT_BLUE, PAINT_CYAN};
    return paints[severity];
}

/// The line as it is, then carets under [start, end); tabs are repeated so that the carets stay below.
static void put_excerpt(Buffer *out, const Place *place, Severity severity,
                        const FormatOptions *options) {
    Str line = str_from(place->excerpt);
    enum { WIDEST = 400 };
    if (line.size > WIDEST || line.size == 0) return;
    int number = place->start.line + 1;
    int digits = number >= 100000 ? 7 : 5;
    buffer_printf(out, "%*d | %s\n%*s | ", digits, number, text_visible(out->arena, line.data),
                  digits, "");
    int column = 0, carets = 0;
    bool same_line = place->end.line == place->start.line;
    char shown[SHOWN_SIZE];
    for (size_t at = 0, size; (size = char_visible(line, at, shown)); at += size, column++) {
        bool inside = column >= place->start.column && (!same_line || column < place->end.column);
        if (!inside && column >= place->start.column) continue;
        // What is shown as an escape is as wide as that.
        int width = shown[0] == '\\' ? (int)strlen(shown) : 1;
        if (inside && carets++ == 0) buffer_puts(out, paint(options, severity_paint(severity)));
        for (int i = 0; i < width; i++)
            buffer_putc(out, inside ? '^' : *shown == '\t' ? '\t' : ' ');
    }
    if (carets == 0) buffer_printf(out, "%s^", paint(options, severity_paint(severity)));
    buffer_printf(out, "%s\n", plain(options));
}

static void put_finding(Buffer *out, const Finding *finding, const FormatOptions *options) {
    buffer_printf(out, "%s%s[%s]%s: %s%s%s\n", paint(options, severity_paint(finding->severity)),
                  severity_name(finding->severity), finding->row->name, plain(options),
                  paint(options, PAINT_BOLD), text_visible(out->arena, finding->message),
                  plain(options));
    const Place *place = &finding->place;
    buffer_printf(out, "  --> %s:%d:%d\n", text_visible(out->arena, place->file),
                  place->start.line + 1, place->start.column + 1);
    put_excerpt(out, place, finding->severity, options);
    for (int i = 0; i < finding->note_count; i++) {
        const Note *note = &finding->notes[i];
        buffer_printf(out, "  note: %s:%d:%d: %s\n", text_visible(out->arena, note->place.file),
                      note->place.start.line + 1, note->place.start.column + 1,
                      text_visible(out->arena, note->message));
        put_excerpt(out, &note->place, SEVERITY_INFO, options);
    }
    buffer_putc(out, '\n');
}

static const char *plural(int count) { return count == 1 ? "" : "s"; }

static void put_summary(Buffer *out, const Report *report, const FormatOptions *options) {
    if (options->quiet) return;
    bool any = false;
    for (Severity severity = SEVERITY_ERROR; severity <= SEVERITY_HINT; severity++) {
        int count = report_count(report, severity);
        if (!count) continue;
        buffer_printf(out, "%s%d %s%s", any ? ", " : "", count, severity_name(severity),
                      severity == SEVERITY_INFO ? "" : plural(count));
        any = true;
    }
    if (!any)
        buffer_printf(out, "%snothing to report%s", paint(options, PAINT_GREEN), plain(options));
    buffer_printf(out, "; %d file%s, %d kernel%s, %.2f s", report->files.count,
                  plural(report->files.count), report->kernel_count, plural(report->kernel_count),
                  report->seconds);
    if (report->suppressed) buffer_printf(out, ", %d suppressed", report->suppressed);
    if (report->problems.count)
        buffer_printf(out, ", %d problem%s", report->problems.count,
                      plural(report->problems.count));
    buffer_putc(out, '\n');
}

static int widest(const Report *report, bool names) {
    int width = 6;  // of the headings `kernel` and `status`
    for (LIST_EACH(int, i, report->kernels)) {
        const KernelResult *kernel = &report->kernels.items[i];
        int size =
            names ? (int)strlen(kernel->name) : (int)strlen(kernel_status_name(kernel->status));
        if (size > width) width = size;
    }
    return width;
}

static Paint status_paint(KernelStatus status) {
    static const Paint paints[KERNEL_STATUS_COUNT] = {
        [KERNEL_PROVED] = PAINT_GREEN,
        [KERNEL_DERIVED] = PAINT_YELLOW,
        [KERNEL_REFUSED] = PAINT_YELLOW,
        [KERNEL_FAILED] = PAINT_RED,
        [KERNEL_NOT_DIFFERENTIABLE] = PAINT_CYAN,
    };
    return paints[status];
}

/// The table at the end: one row per forward kernel.
static void put_kernels(Buffer *out, const Report *report, const FormatOptions *options) {
    if (!report->with_kernels || options->quiet || report->kernels.count == 0) return;
    int name_width = widest(report, true), status_width = widest(report, false);
    buffer_printf(out, "%s%-*s  %-*s  %11s  %7s  %7s  %s%s\n", paint(options, PAINT_BOLD),
                  name_width, "kernel", status_width, "status", "worst error", "atomics", "seconds",
                  "where", plain(options));
    for (LIST_EACH(int, i, report->kernels)) {
        const KernelResult *kernel = &report->kernels.items[i];
        const char *error =
            kernel->has_error ? arena_printf(report->arena, "%.1e", kernel->worst_error) : "-";
        buffer_printf(out, "%-*s  %s%-*s%s  %11s  %7d  %7.2f  %s:%d\n", name_width, kernel->name,
                      paint(options, status_paint(kernel->status)), status_width,
                      kernel_status_name(kernel->status), plain(options), error, kernel->atomics,
                      kernel->seconds, text_visible(out->arena, kernel->file), kernel->line);
        if (*kernel->reason)
            buffer_printf(out, "%*s  %s\n", name_width, "",
                          text_visible(out->arena, kernel->reason));
        if (kernel->covered)
            buffer_printf(out, "%*s  covered: %s\n", name_width, "",
                          text_visible(out->arena, kernel->covered));
        if (kernel->asserted)
            buffer_printf(out, "%*s  asserted at each call: %s\n", name_width, "",
                          text_visible(out->arena, kernel->asserted));
        if (kernel->own_types)
            buffer_printf(out, "%*s  own types: %s\n", name_width, "",
                          text_visible(out->arena, kernel->own_types));
        if (kernel->gpu)
            buffer_printf(out, "%*s  on the GPU: %s\n", name_width, "",
                          text_visible(out->arena, kernel->gpu));
    }
    buffer_printf(out, "%d forward kernel%s:", report->kernels.count,
                  plural(report->kernels.count));
    const char *separator = " ";
    for (KernelStatus status = 0; status < KERNEL_STATUS_COUNT; status++) {
        int count = report_count_kernels(report, status);
        if (count) buffer_printf(out, "%s%d %s", separator, count, kernel_status_name(status));
        if (count) separator = ", ";
    }
    buffer_puts(out, "\n");
}

/// Ends with an empty line, as findings do.
static void put_times(Buffer *out, const Report *report, const FormatOptions *options) {
    if (report->times_text && !options->quiet) buffer_printf(out, "%s\n", report->times_text);
}

void format_full(Buffer *out, const Report *report, const FormatOptions *options) {
    for (LIST_EACH(int, i, report->findings)) put_finding(out, &report->findings.items[i], options);
    put_kernels(out, report, options);
    put_times(out, report, options);
    put_summary(out, report, options);
}

void format_concise(Buffer *out, const Report *report, const FormatOptions *options) {
    for (LIST_EACH(int, i, report->findings)) {
        const Finding *finding = &report->findings.items[i];
        buffer_printf(
            out, "%s:%d:%d: %s%s[%s]%s %s\n", text_visible(out->arena, finding->place.file),
            finding->place.start.line + 1, finding->place.start.column + 1,
            paint(options, severity_paint(finding->severity)), severity_name(finding->severity),
            finding->row->name, plain(options), text_visible(out->arena, finding->message));
    }
    put_kernels(out, report, options);
    put_times(out, report, options);
    put_summary(out, report, options);
}

/// GitHub's escapes for workflow commands: in messages %, CR, LF; in properties `:` and `,` too.
static void put_escaped(Buffer *out, const char *text, bool property) {
    for (text = text_visible(out->arena, text); *text; text++) {
        bool escaped = strchr("%\r\n", *text) || (property && strchr(":,", *text));
        if (escaped)
            buffer_printf(out, "%%%02X", (unsigned)*text);
        else
            buffer_putc(out, *text);
    }
}

static void put_annotation(Buffer *out, const char *kind, const Place *place, const char *title,
                           const char *message) {
    buffer_printf(out, "::%s file=", kind);
    put_escaped(out, place->file, true);
    buffer_printf(out, ",line=%d,endLine=%d,col=%d", place->start.line + 1, place->end.line + 1,
                  place->start.column + 1);
    if (place->end.line == place->start.line)
        buffer_printf(out, ",endColumn=%d", place->end.column + 1);
    buffer_puts(out, ",title=");
    put_escaped(out, title, true);
    buffer_puts(out, "::");
    put_escaped(out, message, false);
    buffer_putc(out, '\n');
}

void format_github(Buffer *out, const Report *report, const FormatOptions *options) {
    (void)options;
    static const char *const kinds[] = {"error", "warning", "notice", "notice"};
    for (LIST_EACH(int, i, report->findings)) {
        const Finding *finding = &report->findings.items[i];
        put_annotation(out, kinds[finding->severity], &finding->place, finding->row->name,
                       finding->message);
    }
    for (LIST_EACH(int, i, report->problems)) {
        buffer_puts(out, "::error title=tad-lsp::");
        put_escaped(out, report->problems.items[i], false);
        buffer_putc(out, '\n');
    }
}
