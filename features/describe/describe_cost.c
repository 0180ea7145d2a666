#include "features/describe/describe_cost.h"

#include <math.h>
#include <string.h>

#include "features/describe/describe.h"

enum { SECTOR_BYTES = 32 };  // what memory is read by

KernelCosts kernel_costs(Arena *arena, const Kernel *kernel, const Kernel *tuned,
                         bool tells_shared) {
    KernelCosts costs = {.cost = kernel_cost(arena, kernel->function, tells_shared),
                         .instances = tuned ? cost_instances_as(arena, kernel, tuned)
                                            : cost_instances(arena, kernel)};
    int count = costs.instances.list.count;
    costs.count = count ? count : 1;
    costs.numbers = ARENA_ARRAY(arena, CostNumbers *, costs.count);
    for (int i = 0; i < costs.count; i++)
        costs.numbers[i] =
            cost_numbers(costs.cost, count ? costs.instances.list.items[i].values : NULL);
    return costs;
}

/* ---- amounts ---- */

typedef struct AmountUnit {
    double base;
    int steps;  // to the largest name
    const char *const *names;
} AmountUnit;

static const char *const byte_names[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
static const char *const element_names[] = {"elements"};
static const char *const operation_names[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"};
static const AmountUnit of_bytes = {1024, 4, byte_names};
static const AmountUnit of_elements = {1, 0, element_names};
static const AmountUnit of_operations = {1000, 4, operation_names};

static int step_of(const AmountUnit *unit, int64_t number) {
    int step = 0;
    double amount = (double)number;
    while (amount >= unit->base && step < unit->steps) {
        amount /= unit->base;
        step++;
    }
    return step;
}

static const char *amount_text(Arena *arena, const AmountUnit *unit, int64_t number,
                               bool with_unit) {
    int step = step_of(unit, number);
    double amount = (double)number / pow(unit->base, step);
    bool is_whole = amount == floor(amount) || amount >= 100;
    return arena_printf(arena, is_whole ? "%.0f%s%s" : "%.1f%s%s", amount, with_unit ? " " : "",
                        with_unit ? unit->names[step] : "");
}

/// The amounts under all instances as one, or as a range; what is left of symbols where there are some.
static const char *label(Arena *arena, const KernelCosts *costs, const AmountUnit *unit,
                         const Poly *poly) {
    int64_t least = 0, most = 0, number;
    if (!poly) return NULL;
    const Poly *first = cost_under(costs->numbers[0], poly);
    for (int i = 0; i < costs->count; i++) {
        const Poly *known = cost_under(costs->numbers[i], poly);
        if (!poly_is_constant(known, &number)) {
            const Poly *shown = costs->count == 1 ? first : poly;
            for (int k = 1; k < costs->count && shown == poly; k++)
                if (!poly_equal(first, cost_under(costs->numbers[k], poly)))
                    break;
                else if (k == costs->count - 1)
                    shown = first;
            return arena_printf(arena, "%s %s", poly_label(arena, shown), unit->names[0]);
        }
        least = i && least < number ? least : number;
        most = i && most > number ? most : number;
    }
    const char *upper = amount_text(arena, unit, most, true);
    if (least == most) return upper;
    bool is_same_step = step_of(unit, least) == step_of(unit, most);
    return arena_printf(arena, "%s to %s", amount_text(arena, unit, least, !is_same_step), upper);
}

const char *bytes_label(Arena *arena, const KernelCosts *costs, const Poly *bytes) {
    return label(arena, costs, &of_bytes, bytes);
}

const char *operations_label(Arena *arena, const KernelCosts *costs, const Poly *operations) {
    return label(arena, costs, &of_operations, operations);
}

/* ---- lanes ---- */

const char *lanes_label(Arena *arena, const KernelCosts *costs, const CostLine *line) {
    bool is_open;
    int64_t number;
    const Poly *amount = cost_under(costs->numbers[0], line->lane_amount);
    const Poly *all = cost_bytes(arena, line, &is_open);
    switch (line->order) {
    case LANES_CONTIGUOUS: {
        const Poly *size = all ? poly_divide_exact(arena, all, line->work.amount) : NULL;
        const Poly *run = size && amount ? poly_multiply(arena, amount, size) : NULL;
        if (run && poly_is_constant(run, &number) && number < SECTOR_BYTES && costs->count == 1)
            return arena_printf(arena, "in runs of %lld bytes", (long long)number);
        return "coalesced";
    }
    case LANES_STRIDED:
        return arena_printf(arena, "not coalesced: %s elements apart", poly_label(arena, amount));
    case LANES_BY_STRIDE:
        if (poly_is_constant(amount, &number) && number == 1) return "coalesced";
        return arena_printf(arena, "coalesced where %s is 1", poly_label(arena, amount));
    case LANES_GATHERED: return "gathered";
    default: return NULL;
    }
}

const char *cost_line_label(Arena *arena, const KernelCosts *costs, const CostLine *line) {
    const char *each = line->loop ? " an iteration" : "";
    bool is_open = false;
    if (line->work.kind == WORK_DOT) {
        const char *made = operations_label(arena, costs, line->work.amount);
        return made ? arena_printf(arena, "%s%s", made, each) : NULL;
    }
    const Poly *bytes = cost_bytes(arena, line, &is_open);
    const char *order = lanes_label(arena, costs, line);
    const char *moved = NULL;
    if (is_open)
        moved = label(arena, costs, &of_elements, line->work.amount);
    else
        moved = bytes_label(arena, costs, bytes);
    if (line->order == LANES_SINGLE || (!moved && !order)) return NULL;
    if (!moved) return order;
    return arena_printf(arena, "%s%s%s%s%s", line->is_masked ? "up to " : "", moved, each,
                        order ? ", " : "", order ? order : "");
}

/* ---- what a program takes ---- */

static const char *fit_text(Arena *arena, const CardFit *fit, const Card *card, int warps) {
    if (!fit->programs)
        return arena_printf(arena, "more than a program may have on %s", card->name);
    return arena_printf(arena, "%d program%s of %d warp%s at once a multiprocessor, limited by %s",
                        fit->programs, fit->programs == 1 ? "" : "s", warps, warps == 1 ? "" : "s",
                        fit->limit);
}

CostFootprint footprint_told(Arena *arena, Footprint footprint, FootprintOptions options,
                             const Card *card) {
    CostFootprint told = {0};
    if (!footprint.is_known) return told;
    CardFit fit = card_fit(card, &footprint, options.warps);
    told.warps = options.warps;
    told.stages = options.stages;
    told.shared = (double)footprint.shared;
    told.registers = footprint.registers;
    told.is_spilled = footprint.is_capped;
    told.programs = fit.programs;
    told.warps_share = fit.warps_share;
    told.limit = fit.limit;
    told.text =
        arena_printf(arena, "about %s of shared memory and %d registers a thread%s, estimated: %s",
                     amount_text(arena, &of_bytes, footprint.shared, true), footprint.registers,
                     footprint.is_capped ? ", with some in memory" : "",
                     fit_text(arena, &fit, card, told.warps));
    return told;
}

CostFootprint footprint_report(Arena *arena, const Kernel *kernel, const CostInstance *instance,
                               const Card *card) {
    if (!card || !card->warps) return (CostFootprint){0};
    FootprintOptions options = cost_options(instance, card->capability);
    return footprint_told(arena, cost_footprint(arena, kernel, instance, options), options, card);
}

void describe_cost(Buffer *out, FileNames *names, const Kernel *kernel, Range place) {
    KernelCosts costs = kernel_costs(out->arena, kernel, NULL, false);
    for (LIST_EACH(int, i, costs.cost->lines)) {
        const CostLine *line = &costs.cost->lines.items[i];
        Range range = snapshot_range(names->snapshot, line->op->range);
        if (line->op->call || range.source != place.source || range.start != place.start ||
            range.end != place.end)
            continue;
        const char *text = cost_line_label(out->arena, &costs, line);
        if (!text) return;
        buffer_printf(out, "\n\n**Cost** (estimate): %s", text);
        if (!line->loop) return;
        const char *times = line->times ? poly_label(out->arena, line->times) : NULL;
        if (times)
            buffer_printf(out, "; a program comes by `%s` times", times);
        else
            buffer_puts(out, "; how often a program comes by is not known before it runs");
        return;
    }
}
