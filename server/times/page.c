// A page that needs nothing else: its style is in it, and its plots are SVG.
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "server/times/reference.h"
#include "server/times/times.h"

static const char STYLE[] =
    ":root{--ink:#1b1f24;--soft:#59636e;--line:#d1d9e0;--paper:#fff;--one:#0969da;--two:#bc4c00}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#f0f6fc;--soft:#9198a1;--line:#3d444d;"
    "--paper:#0d1117;--one:#4493f8;--two:#f0883e}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);"
    "max-width:72rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.4rem}h2{font-size:1.15rem;margin-top:2rem}\n"
    ".table{overflow-x:auto}table{border-collapse:collapse}\n"
    "th,td{padding:.3rem .7rem;border-bottom:1px solid var(--line);text-align:right;"
    "font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    "th:first-child,td:first-child{text-align:left}th{font-weight:600}\n"
    "code,.note{color:var(--soft);font-size:.85rem}code{white-space:normal}\n"
    "svg{width:100%;max-width:44rem;height:auto;display:block}\n"
    "svg text{font:12px system-ui,sans-serif;fill:var(--soft)}\n"
    ".axis{stroke:var(--line);fill:none}.roof{stroke:var(--soft);stroke-width:1.5;fill:none}\n"
    ".one{stroke:var(--one);fill:none;stroke-width:2}.two{stroke:var(--two);fill:none;"
    "stroke-width:2}\n"
    ".dot1{fill:var(--one)}.dot2{fill:var(--two)}\n";

static void put_text(Buffer *out, const char *text) {
    for (const char *at = text_visible(out->arena, text); *at; at++) {
        if (strchr("&<>\"'", *at))
            buffer_printf(out, "&#%d;", *at);
        else
            buffer_putc(out, *at);
    }
}

static const char *name_of(Arena *arena, const Json *row) {
    return arena_printf(arena, "%s:%s", json_get_string(row, "file", ""),
                        json_get_string(row, "kernel", ""));
}

// --- plots ----------------------------------------------------------------------------------------------------------

enum { WIDTH = 640, HEIGHT = 360, LEFT = 70, RIGHT = 20, TOP = 16, BOTTOM = 44 };

/// Both axes are logarithmic, and hold whole powers of ten.
typedef struct Plot {
    Buffer *out;
    double low_x, high_x, low_y, high_y;  // powers of ten
} Plot;

typedef struct PlotRange {
    double low, high;
} PlotRange;

static void range_take(PlotRange *range, double value) {
    if (!(value > 0) || !isfinite(value)) return;
    if (value < range->low) range->low = value;
    if (value > range->high) range->high = value;
}

static double plot_x(const Plot *plot, double x) {
    double share = (log10(x) - plot->low_x) / (plot->high_x - plot->low_x);
    return LEFT + share * (WIDTH - LEFT - RIGHT);
}

static double plot_y(const Plot *plot, double y) {
    double share = (log10(y) - plot->low_y) / (plot->high_y - plot->low_y);
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
}

static void put_power(Buffer *out, double power) {
    if (power >= 0 && power <= 3)
        buffer_printf(out, "%.0f", pow(10, power));
    else
        buffer_printf(out, "1e%.0f", power);
}

static Plot plot_begin(Buffer *out, const char *title, PlotRange x, PlotRange y, const char *below,
                       const char *beside) {
    Plot plot = {out, floor(log10(x.low)), ceil(log10(x.high)), floor(log10(y.low)),
                 ceil(log10(y.high))};
    if (plot.high_x <= plot.low_x) plot.high_x = plot.low_x + 1;
    if (plot.high_y <= plot.low_y) plot.high_y = plot.low_y + 1;
    buffer_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\"><title>", WIDTH, HEIGHT);
    put_text(out, title);
    buffer_puts(out, "</title>\n");
    for (int i = 0; i <= (int)(plot.high_x - plot.low_x); i++) {
        double power = plot.low_x + i;
        double at = plot_x(&plot, pow(10, power));
        buffer_printf(out, "<path class=\"axis\" d=\"M%.1f %dV%d\"/>", at, TOP, HEIGHT - BOTTOM);
        buffer_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", at,
                      HEIGHT - BOTTOM + 16);
        put_power(out, power);
        buffer_puts(out, "</text>\n");
    }
    for (int i = 0; i <= (int)(plot.high_y - plot.low_y); i++) {
        double power = plot.low_y + i;
        double at = plot_y(&plot, pow(10, power));
        buffer_printf(out, "<path class=\"axis\" d=\"M%d %.1fH%d\"/>", LEFT, at, WIDTH - RIGHT);
        buffer_printf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 6, at + 4);
        put_power(out, power);
        buffer_puts(out, "</text>\n");
    }
    buffer_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                  (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, below);
    buffer_printf(out,
                  "<text transform=\"rotate(-90)\" x=\"%d\" y=\"14\" text-anchor=\"middle\">%s"
                  "</text>\n",
                  -(TOP + HEIGHT - BOTTOM) / 2, beside);
    return plot;
}

static void plot_point(const Plot *plot, double x, double y, const char *style, const char *title,
                       const char *label) {
    Buffer *out = plot->out;
    buffer_printf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>", style,
                  plot_x(plot, x), plot_y(plot, y));
    put_text(out, title);
    buffer_puts(out, "</title></circle>\n");
    if (!label) return;
    bool is_right = plot_x(plot, x) > WIDTH * 3.0 / 4;
    buffer_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">",
                  plot_x(plot, x) + (is_right ? -7 : 7), plot_y(plot, y) + 4,
                  is_right ? "end" : "start");
    put_text(out, label);
    buffer_puts(out, "</text>\n");
}

// --- rooflines ------------------------------------------------------------------------------------------------------

/// Operations a byte, and TFLOP/s; false where the operations were not counted.
static bool roof_point(const Json *row, double *x, double *y) {
    const Json *forward = json_get(row, "forward");
    double bytes = json_get_number(forward, "bytes", 0);
    *y = json_get_number(forward, "tflop_s", 0);
    *x = bytes > 0 ? json_get_number(row, "operations", 0) / bytes : 0;
    return *x > 0 && *y > 0 && !json_get_bool(row, "is_small", false);
}

static void put_roof(const Plot *plot, double copy, double matrix) {
    double from = pow(10, plot->low_x), to = pow(10, plot->high_x);
    double least = pow(10, plot->low_y);
    if (copy > 0) {
        double end = to, start = from;
        if (matrix > 0 && copy * to / 1e3 > matrix) end = matrix * 1e3 / copy;
        if (copy * start / 1e3 < least) start = least * 1e3 / copy;
        if (end > start)
            buffer_printf(plot->out, "<path class=\"roof\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
                          plot_x(plot, start), plot_y(plot, copy * start / 1e3), plot_x(plot, end),
                          plot_y(plot, copy * end / 1e3));
    }
    if (matrix > 0) {
        double start = copy > 0 && matrix * 1e3 / copy > from ? matrix * 1e3 / copy : from;
        if (start < to)
            buffer_printf(plot->out, "<path class=\"roof\" d=\"M%.1f %.1fH%.1f\"/>\n",
                          plot_x(plot, start), plot_y(plot, matrix), plot_x(plot, to));
    }
}

static void put_roofline(Buffer *out, const Json *times) {
    const Json *rows = json_get(times, "kernels");
    double copy = json_get_number(times, "copy_gb_s", 0),
           matrix = json_get_number(times, "matrix_tflop_s", 0), x, y;
    PlotRange across = {DBL_MAX, 0}, up = {DBL_MAX, 0};
    for (int i = 0; i < rows->count; i++) {
        if (!roof_point(rows->items[i], &x, &y)) continue;
        range_take(&across, x);
        range_take(&up, y);
        range_take(&up, copy * x / 1e3);
    }
    if (across.high <= 0) return;
    if (matrix > 0) range_take(&up, matrix);
    if (matrix > 0 && copy > 0) range_take(&across, 2e3 * matrix / copy);
    buffer_puts(out, "<h2>Roofline of the forwards</h2>\n");
    Plot plot = plot_begin(out, "Roofline", across, up, "operations a byte", "TFLOP/s");
    put_roof(&plot, copy, matrix);
    for (int i = 0; i < rows->count; i++) {
        const Json *row = rows->items[i];
        if (!roof_point(row, &x, &y)) continue;
        const char *kernel = json_get_string(row, "kernel", "");
        plot_point(&plot, x, y, "dot1",
                   arena_printf(out->arena, "%s: %.3g operations a byte, %.3g TFLOP/s (%s)", kernel,
                                x, y, json_get_string(row, "configuration", "")),
                   kernel);
    }
    buffer_puts(out,
                "</svg>\n<p class=\"note\">Bytes: each tensor once. Operations: those of the text, "
                "counted as <b>--cost</b> does. The roof is the rate of a copy");
    buffer_puts(out, matrix > 0 ? ", and of a matrix product in half precision, on this GPU.</p>\n"
                                : " on this GPU.</p>\n");
}

// --- time over size -------------------------------------------------------------------------------------------------

typedef struct Size {
    double bytes, milliseconds;
} Size;

static bool is_same_kernel(const Json *a, const Json *b) {
    return strcmp(json_get_string(a, "file", ""), json_get_string(b, "file", "")) == 0 &&
           strcmp(json_get_string(a, "kernel", ""), json_get_string(b, "kernel", "")) == 0;
}

/// The sizes of one kernel, the least first; each with the bytes of its forward.
static int sizes_of(const Json *rows, const Json *kernel, const char *direction, Size *sizes) {
    int count = 0;
    for (int i = 0; i < rows->count; i++) {
        const Json *row = rows->items[i];
        Size size = {json_get_number(json_get(row, "forward"), "bytes", 0),
                     json_get_number(json_get(row, direction), "median_ms", 0)};
        if (!is_same_kernel(row, kernel) || size.bytes <= 0 || size.milliseconds <= 0) continue;
        int at = count++;
        for (; at && sizes[at - 1].bytes > size.bytes; at--) sizes[at] = sizes[at - 1];
        sizes[at] = size;
    }
    return count;
}

static void put_line(const Plot *plot, const char *name, const Size *sizes, int count, int number) {
    if (count > 1) {
        buffer_printf(plot->out, "<path class=\"%s\" d=\"", number == 1 ? "one" : "two");
        for (int i = 0; i < count; i++)
            buffer_printf(plot->out, "%c%.1f %.1f", i ? 'L' : 'M', plot_x(plot, sizes[i].bytes),
                          plot_y(plot, sizes[i].milliseconds));
        buffer_puts(plot->out, "\"/>\n");
    }
    for (int i = 0; i < count; i++)
        plot_point(plot, sizes[i].bytes, sizes[i].milliseconds, number == 1 ? "dot1" : "dot2",
                   arena_printf(plot->out->arena, "%s: %.4g bytes, %.4g ms", name, sizes[i].bytes,
                                sizes[i].milliseconds),
                   i + 1 == count ? name : NULL);
}

static void put_sizes(Buffer *out, const Json *rows, const Json *kernel) {
    Size *forward = ARENA_ARRAY(out->arena, Size, rows->count);
    Size *backward = ARENA_ARRAY(out->arena, Size, rows->count);
    int first = sizes_of(rows, kernel, "forward", forward),
        second = sizes_of(rows, kernel, "backward", backward);
    if (first < 2) return;
    PlotRange across = {DBL_MAX, 0}, up = {DBL_MAX, 0};
    for (int i = 0; i < first; i++) range_take(&across, forward[i].bytes);
    for (int i = 0; i < first; i++) range_take(&up, forward[i].milliseconds);
    for (int i = 0; i < second; i++) range_take(&up, backward[i].milliseconds);
    buffer_puts(out, "<h2>");
    put_text(out, name_of(out->arena, kernel));
    buffer_puts(out, ": time over size</h2>\n");
    Plot plot = plot_begin(out, "Time over size", across, up, "bytes of the forward's tensors",
                           "milliseconds");
    put_line(&plot, "forward", forward, first, 1);
    put_line(&plot, "backward", backward, second, 2);
    buffer_puts(out, "</svg>\n");
}

// --- the table ------------------------------------------------------------------------------------------------------

static void put_cells(Buffer *out, const Json *direction, bool is_small) {
    static const double MIB = 1 << 20;
    double median = json_get_number(direction, "median_ms", 0);
    const Json *share = json_get(direction, "share_of_copy");
    if (median <= 0) {
        buffer_puts(out, "<td></td><td></td><td></td><td></td><td></td>");
        return;
    }
    buffer_printf(out, "<td>%.4g</td><td>%.4g to %.4g</td><td>", median,
                  json_get_number(direction, "low_ms", median),
                  json_get_number(direction, "high_ms", median));
    if (!is_small) buffer_printf(out, "%.0f", json_get_number(direction, "gb_s", 0));
    buffer_puts(out, "</td><td>");
    if (share && !is_small) buffer_printf(out, "%.0f %%", 100 * share->number);
    buffer_puts(out, "</td><td>");
    double peak = json_get_number(direction, "peak_bytes", 0);
    if (peak > 0 && !is_small) buffer_printf(out, "%.4g", peak / MIB);
    buffer_puts(out, "</td>");
}

static void put_row(Buffer *out, const Json *row) {
    const char *problem = json_get_string(row, "problem", NULL),
               *alone = json_get_string(row, "no_backward", NULL);
    buffer_puts(out, "<tr><td>");
    put_text(out, name_of(out->arena, row));
    buffer_puts(out, "<br><code>");
    put_text(out, problem ? problem : json_get_string(row, "configuration", ""));
    if (alone) {
        buffer_puts(out, "<br>no backward: ");
        put_text(out, alone);
    }
    const char *reference = reference_text(out->arena, row, "");
    while (*reference) {
        size_t size = strcspn(reference, "\n");
        buffer_puts(out, "<br>");
        put_text(out, arena_strndup(out->arena, reference, size));
        reference += size + (reference[size] == '\n');
    }
    buffer_puts(out, "</code></td>");
    bool is_small = json_get_bool(row, "is_small", false);
    put_cells(out, json_get(row, "forward"), is_small);
    put_cells(out, json_get(row, "backward"), is_small);
    double forward = json_get_number(json_get(row, "forward"), "median_ms", 0),
           backward = json_get_number(json_get(row, "backward"), "median_ms", 0);
    if (forward > 0 && backward > 0)
        buffer_printf(out, "<td>%.2f</td></tr>\n", backward / forward);
    else
        buffer_puts(out, "<td></td></tr>\n");
}

const char *times_page(Arena *arena, const Json *times) {
    const Json *rows = json_get(times, "kernels");
    Buffer out = buffer_new(arena);
    buffer_printf(&out,
                  "%s<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                  "content=\"width=device-width\">\n<title>Times of Triton kernels</title>\n"
                  "<style>\n%s</style></head>\n<body>\n<h1>Times of Triton kernels</h1>\n<p>",
                  TIMES_PAGE_HEAD, STYLE);
    put_text(&out, json_get_string(times, "device", "No GPU"));
    buffer_puts(&out, ", Triton ");
    put_text(&out, json_get_string(times, "triton", "?"));
    double copy = json_get_number(times, "copy_gb_s", 0);
    if (copy > 0) buffer_printf(&out, "; a copy runs at %.0f GB/s", copy);
    buffer_puts(
        &out,
        ". Medians in milliseconds, between the tenths of the runs that were the fastest "
        "and the slowest; the L2 cache is flushed before each run. MiB: of the tensors that are there at once.</p>\n"
        "<div class=\"table\"><table><tr><th>kernel</th><th>forward</th><th>from, to</th>"
        "<th>GB/s</th><th>of a copy</th><th>MiB</th><th>backward</th><th>from, to</th>"
        "<th>GB/s</th><th>of a copy</th><th>MiB</th><th>bwd/fwd</th></tr>\n");
    for (int i = 0; i < rows->count; i++) put_row(&out, rows->items[i]);
    buffer_puts(&out, "</table></div>\n");
    put_roofline(&out, times);
    for (int i = 0; i < rows->count; i++) {
        bool is_first = true;
        for (int k = 0; k < i; k++) is_first &= !is_same_kernel(rows->items[k], rows->items[i]);
        if (is_first) put_sizes(&out, rows, rows->items[i]);
    }
    buffer_puts(&out, "</body>\n</html>\n");
    return buffer_text(&out);
}
