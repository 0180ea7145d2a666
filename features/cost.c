// What a kernel and each of its lines cost, as an editor shows it: at the ends of lines and over the kernel.
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "features/describe/describe.h"
#include "features/describe/describe_cost.h"
#include "features/features.h"

/* ---- ends of lines ---- */

typedef struct LineTexts {
    uint32_t end;
    LIST(const char *) texts;
} LineTexts;

static uint32_t line_end(const Source *source, uint32_t offset) {
    while (offset < source->text.size && source->text.data[offset] != '\n') offset++;
    while (offset &&
           (source->text.data[offset - 1] == '\r' || source->text.data[offset - 1] == ' '))
        offset--;
    return offset;
}

static bool says(const LineTexts *line, const char *text) {
    for (LIST_EACH(int, i, line->texts))
        if (strcmp(line->texts.items[i], text) == 0) return true;
    return false;
}

typedef struct CostHinter {
    Arena *arena;
    const Snapshot *snapshot;
    const Kernel *kernel;
    LIST(LineTexts) lines;
} CostHinter;

/// A line of a helper is told where the kernel calls it.
static void take_line(CostHinter *hinter, const KernelCosts *costs, const CostLine *line) {
    const CallSite *call = line->op->call;
    while (call && call->outer) call = call->outer;
    Range range = snapshot_range(hinter->snapshot, call ? call->range : line->op->range);
    if (range.source != hinter->snapshot->source) return;
    const char *text = cost_line_label(hinter->arena, costs, line);
    if (!text) return;
    uint32_t end = line_end(range.source, range.end);
    for (LIST_EACH(int, i, hinter->lines)) {
        LineTexts *known = &hinter->lines.items[i];
        if (known->end != end) continue;
        if (!says(known, text)) LIST_PUSH(hinter->arena, &known->texts, text);
        return;
    }
    LineTexts fresh = {.end = end};
    LIST_PUSH(hinter->arena, &fresh.texts, text);
    LIST_PUSH(hinter->arena, &hinter->lines, fresh);
}

static void hint_kernel(CostHinter *hinter, uint32_t start, uint32_t end, InlayHints *hints) {
    enum { MOST_TEXTS = 2 };
    KernelCosts costs = kernel_costs(hinter->arena, hinter->kernel, NULL, false);
    hinter->lines.count = 0;
    for (LIST_EACH(int, i, costs.cost->lines))
        if (!cost_is_off(costs.numbers[0], &costs.cost->lines.items[i]))
            take_line(hinter, &costs, &costs.cost->lines.items[i]);
    for (LIST_EACH(int, i, hinter->lines)) {
        const LineTexts *line = &hinter->lines.items[i];
        if (line->end < start || line->end > end) continue;
        Buffer out = buffer_new(hinter->arena);
        for (int k = 0; k < line->texts.count && k < MOST_TEXTS; k++)
            buffer_printf(&out, "%s%s", k ? "; " : "", line->texts.items[k]);
        if (line->texts.count > MOST_TEXTS) buffer_puts(&out, "; …");
        InlayHint hint = {.offset = line->end, .label = buffer_text(&out), .is_cost = true};
        LIST_PUSH(hinter->arena, &hints->list, hint);
    }
}

InlayHints cost_hints(Arena *arena, const Snapshot *snapshot, uint32_t start, uint32_t end) {
    InlayHints hints = {0};
    CostHinter hinter = {.arena = arena, .snapshot = snapshot};
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        Range range = snapshot_range(snapshot, kernel->definition->range);
        if (!kernel->function || kernel->is_helper || range.start >= end || start > range.end)
            continue;
        hinter.kernel = kernel;
        hint_kernel(&hinter, start, end, &hints);
    }
    return hints;
}

const char *cost_hint_tooltip(void) {
    return "An estimate, for one program, each time that it comes by: bytes as the kernel asks for them, whatever caches do, "
           "with the lanes that a mask leaves out; of a matrix product two operations for each multiply-add.\n\n"
           "`tad.inlayHints.cost` switches these hints off.";
}

/* ---- the kernel ---- */

static const char *intensity_text(Arena *arena, double low, double high) {
    if (high > 1.05 * low) return arena_printf(arena, "%.2g to %.2g FLOP a byte", low, high);
    return arena_printf(arena, low < 10 ? "%.2g FLOP a byte" : "%.0f FLOP a byte", low);
}

static const char *bound_text(CardBound bound) {
    return bound == BOUND_MEMORY       ? "memory-bound"
           : bound == BOUND_ARITHMETIC ? "compute-bound"
                                       : NULL;
}

static const Poly *all_bytes(Arena *arena, const CostTotals *totals) {
    const Poly *bytes = poly_constant(arena, 0);
    for (int i = 0; i < WORK_MEMORY_KINDS; i++)
        bytes = bytes && totals->bytes[i] ? poly_add(arena, bytes, totals->bytes[i]) : NULL;
    return bytes;
}

static const Poly *all_operations(Arena *arena, const CostTotals *totals) {
    return totals->dots && totals->math ? poly_add(arena, totals->dots, totals->math) : NULL;
}

/// Of all instances together.
typedef struct CostSummary {
    CardBound bound;
    double low, high;  // operations a byte; NaN: not known
} CostSummary;

static CostSummary summary_of(const KernelCosts *costs, const Card *card) {
    CostSummary summary = {BOUND_OPEN, INFINITY, 0};
    for (int i = 0; i < costs->count; i++) {
        CostTotals totals = cost_totals(costs->cost, costs->numbers[i]);
        CardBound here = card_bound(card, costs->cost, &totals);
        summary.bound = i && here != summary.bound ? BOUND_OPEN : here;
        bool is_known = !isnan(totals.intensity) && !isnan(summary.low);
        summary.low = is_known ? fmin(summary.low, totals.intensity) : NAN;
        summary.high = is_known ? fmax(summary.high, totals.intensity) : NAN;
    }
    return summary;
}

/// What the roofline leaves of the other of the card's peaks: "at most 12 % of its arithmetic".
static void put_other_peak(Buffer *out, const KernelCosts *costs, const CostSummary *summary,
                           const Card *card) {
    if (!card || summary->bound == BOUND_OPEN || !(summary->low > 0)) return;
    double ridge = card_ridge(card, costs->cost);
    bool is_memory = summary->bound == BOUND_MEMORY;
    double share = 100 * (is_memory ? summary->high / ridge : ridge / summary->low);
    buffer_printf(out, ", at most %.*f %% of its %s", share < 10, share,
                  is_memory ? "arithmetic" : "bandwidth");
}

const char *cost_summary(Arena *arena, const Kernel *kernel, const char *card_name) {
    enum { LONGEST = 48 };
    if (!kernel->function || !kernel->understood) return NULL;
    const Card *card = card_name ? card_find(str_from(card_name)) : NULL;
    KernelCosts costs = kernel_costs(arena, kernel, NULL, true);
    CostTotals plain = cost_totals(costs.cost, cost_numbers(costs.cost, NULL));
    const Poly *moved = all_bytes(arena, &plain);
    if (!costs.cost->lines.count || (moved && poly_is_zero(moved))) return NULL;
    CostSummary summary = summary_of(&costs, card);
    Buffer out = buffer_new(arena);
    const char *verdict = bound_text(summary.bound), *bytes = bytes_label(arena, &costs, moved);
    if (verdict) buffer_printf(&out, card ? "%s on %s" : "%s", verdict, card ? card->name : "");
    if (bytes && strlen(bytes) <= LONGEST)
        buffer_printf(&out, "%s%s%s a program", out.size ? ", " : "",
                      plain.is_upper ? "up to " : "", bytes);
    if (summary.low > 0)
        buffer_printf(&out, "%s%s", out.size ? ", " : "",
                      intensity_text(arena, summary.low, summary.high));
    put_other_peak(&out, &costs, &summary, card);
    if (out.size && plain.is_type_open)
        buffer_printf(&out, " (at %d bytes an element)", COST_OPEN_BYTES);
    return out.size ? buffer_text(&out) : NULL;
}

/* ---- the report ---- */

static CostReportLine report_line(Arena *arena, const Snapshot *snapshot, const KernelCosts *costs,
                                  const CostLine *line) {
    static const char *const kinds[WORK_KINDS] = {"reads", "writes", "updates", "dot", "math"};
    const CallSite *call = line->op->call;
    while (call && call->outer) call = call->outer;
    Range range = snapshot_range(snapshot, call ? call->range : line->op->range);
    CostReportLine row = {.line = range_line(range), .kind = kinds[line->work.kind]};
    bool is_open = false;
    const Poly *amount =
        line->work.kind == WORK_DOT ? line->work.amount : cost_bytes(arena, line, &is_open);
    row.amount = line->work.kind == WORK_DOT ? operations_label(arena, costs, amount)
                                             : bytes_label(arena, costs, amount);
    row.times = line->times ? poly_label(arena, cost_under(costs->numbers[0], line->times)) : NULL;
    row.lanes = line->work.kind == WORK_DOT ? NULL : lanes_label(arena, costs, line);
    row.is_masked = line->is_masked;
    row.is_type_open = is_open;
    return row;
}

CostReport cost_report(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                       const Kernel *tuned, const char *card_name) {
    CostReport report = {.summary = cost_summary(arena, kernel, card_name)};
    const Card *card = card_name ? card_find(str_from(card_name)) : NULL;
    if (!kernel->function) return report;
    KernelCosts costs = kernel_costs(arena, kernel, tuned, true);
    for (LIST_EACH(int, i, costs.cost->lines)) {
        const CostLine *line = &costs.cost->lines.items[i];
        LIST_PUSH(arena, &report.lines, report_line(arena, snapshot, &costs, line));
    }
    for (int i = 0; i < costs.count; i++) {
        KernelCosts one = costs;
        one.numbers = &costs.numbers[i];
        one.count = 1;
        CostTotals totals = cost_totals(costs.cost, costs.numbers[i]);
        const CostInstance *instance =
            costs.instances.list.count ? &costs.instances.list.items[i] : NULL;
        CostReportTotals row = {.name = instance ? instance->name : NULL,
                                .line = instance ? range_line(instance->range) : 0,
                                .bound = bound_text(card_bound(card, costs.cost, &totals)),
                                .read = bytes_label(arena, &one, totals.bytes[WORK_READ]),
                                .written = bytes_label(arena, &one, totals.bytes[WORK_WRITE]),
                                .updated = bytes_label(arena, &one, totals.bytes[WORK_UPDATE]),
                                .operations =
                                    operations_label(arena, &one, all_operations(arena, &totals)),
                                .intensity = totals.intensity,
                                .is_upper = totals.is_upper,
                                .memory_share = NAN,
                                .arithmetic_share = NAN,
                                .peak = NAN,
                                .reachable = NAN,
                                .is_type_open = totals.is_type_open};
        if (card && !isnan(totals.intensity)) {
            double ridge = card_ridge(card, costs.cost);
            row.memory_share = fmin(1, ridge / totals.intensity);
            row.arithmetic_share = fmin(1, totals.intensity / ridge);
            row.peak = ridge * card->memory / 1000;
            row.reachable = row.peak * row.arithmetic_share;
        }
        row.footprint = footprint_report(arena, kernel, instance, card);
        LIST_PUSH(arena, &report.totals, row);
    }
    return report;
}

/* ---- the totals in words ---- */

enum {
    CALL_LONGEST =
        24,  // characters of a count of iterations that is written out wherever it stands
    CALL_MOST_NAMED = 3
};

/// The size of a call that begins here, `cdiv(n - start, step)`; 0 where none does.
static size_t call_size(Str text) {
    size_t name = 0;
    while (name < text.size && (isalnum((unsigned char)text.data[name]) || text.data[name] == '_' ||
                                text.data[name] == '.'))
        name++;
    if (!name || name == text.size || text.data[name] != '(') return 0;
    int depth = 0;
    for (size_t i = name; i < text.size; i++) {
        depth += (text.data[i] == '(') - (text.data[i] == ')');
        if (depth == 0) return i + 1;
    }
    return 0;
}

/// With a name in place of each long call, and behind it all what the names stand for.
static const char *with_named_calls(Arena *arena, const char *written) {
    static const char *const names[CALL_MOST_NAMED] = {"turns", "turns2", "turns3"};
    Str named[CALL_MOST_NAMED], rest = str_from(written);
    Buffer out = buffer_new(arena);
    int count = 0;
    while (rest.size) {
        size_t size = call_size(rest), word = 0;
        int at = 0;
        while (at < count && !str_equal(named[at], (Str){rest.data, size})) at++;
        if (size > CALL_LONGEST && at < CALL_MOST_NAMED) {
            if (at == count) named[count++] = (Str){rest.data, size};
            buffer_puts(&out, names[at]);
        } else {
            while (word < rest.size && isalnum((unsigned char)rest.data[word])) word++;
            size = word ? word : 1;
            buffer_add(&out, rest.data, size);
        }
        rest = (Str){rest.data + size, rest.size - size};
    }
    for (int i = 0; i < count; i++)
        buffer_printf(&out, "%s%s = %.*s", i ? ", " : ", with ", names[i], STR_ARGS(named[i]));
    return buffer_text(&out);
}

const char *cost_totals_text(Arena *arena, const CostReportTotals *totals) {
    Buffer out = buffer_new(arena);
    buffer_printf(&out, "reads %s, writes %s", totals->read ? totals->read : "?",
                  totals->written ? totals->written : "?");
    if (totals->updated && strcmp(totals->updated, "0 bytes") != 0)
        buffer_printf(&out, ", updates %s", totals->updated);
    buffer_printf(&out, ", computes %s", totals->operations ? totals->operations : "?");
    if (!isnan(totals->intensity)) buffer_printf(&out, ", %.3g FLOP a byte", totals->intensity);
    if (totals->bound) buffer_printf(&out, ": %s", totals->bound);
    return with_named_calls(arena, buffer_text(&out));
}

/* ---- what a program takes, in hover ---- */

static bool holds(Range range, const Snapshot *snapshot, uint32_t offset) {
    return range.source == snapshot->source && range.start <= offset && offset <= range.end;
}

/// Of all configurations and launches, a line each.
static const char *footprints_of(Arena *arena, const Kernel *kernel, const CostInstances *instances,
                                 const Card *card) {
    enum { MOST_TOLD = 6 };
    Buffer out = buffer_new(arena);
    int told = 0, count = instances->list.count;
    for (int i = 0; i < (count ? count : 1) && told < MOST_TOLD; i++) {
        const CostInstance *instance = count ? &instances->list.items[i] : NULL;
        CostFootprint footprint = footprint_report(arena, kernel, instance, card);
        if (!footprint.text) continue;
        buffer_printf(&out, "%s- %s: %s", told++ ? "\n" : "",
                      instance ? instance->name : "a program", footprint.text);
    }
    return told ? buffer_text(&out) : NULL;
}

const char *footprint_at(Arena *arena, const Snapshot *snapshot, uint32_t offset,
                         const char *card_name, Range *range) {
    const Card *card = card_name ? card_find(str_from(card_name)) : NULL;
    for (int i = 0; card && i < snapshot->kernels.count; i++) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (!kernel->function || !kernel->understood || kernel->is_helper) continue;
        *range = snapshot_range(snapshot, kernel->definition->name_range);
        Range whole = snapshot_range(snapshot, kernel->definition->range);
        bool is_name = holds(*range, snapshot, offset);
        if (offset > range->end && holds(whole, snapshot, offset)) return NULL;
        CostInstances instances = cost_instances(arena, kernel);
        if (is_name) return footprints_of(arena, kernel, &instances, card);
        for (LIST_EACH(int, k, instances.list)) {
            const CostInstance *instance = &instances.list.items[k];
            *range = snapshot_range(snapshot, instance->range);
            if (!instance->is_configuration || !holds(*range, snapshot, offset)) continue;
            const char *text = footprint_report(arena, kernel, instance, card).text;
            return text ? arena_printf(arena, "`%s`, %s: %s",
                                       code_visible(arena, kernel->definition->name),
                                       instance->name, text)
                        : NULL;
        }
    }
    return NULL;
}
