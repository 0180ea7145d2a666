#include "analysis/cost/card.h"

#include <math.h>

static const Card cards[] = {
#define CARD(name, title, memory, math, dots32, dots16, dots8, shared, capability, all_shared, \
             warps, programs)                                                                      \
    {name, title, memory, math, {dots32, dots16, dots8}, shared, capability, all_shared, warps, programs},
#include "analysis/cost/cards.def"
#undef CARD
};

enum { CARDS = sizeof cards / sizeof *cards };

const Card *card_find(Str name) {
    for (int i = 0; i < CARDS; i++)
        if (str_is(name, cards[i].name)) return &cards[i];
    return NULL;
}

int64_t card_most_shared(int capability) {
    int kib = 0;
    for (int i = 0; i < CARDS; i++)
        if (cards[i].capability == capability && cards[i].shared_kib > kib)
            kib = cards[i].shared_kib;
    return (int64_t)kib * 1024;
}

const char *card_names(Arena *arena) {
    Buffer out = buffer_new(arena);
    for (int i = 0; i < CARDS; i++) buffer_printf(&out, "%s%s", i ? ", " : "", cards[i].name);
    return buffer_text(&out);
}

/// Of the widest operands of the kernel's dots; of those that nobody says, 16 bits.
static int dot_class(const KernelCost *cost) {
    int widest = -1;
    for (LIST_EACH(int, i, cost->lines)) {
        const CostLine *line = &cost->lines.items[i];
        if (line->work.kind != WORK_DOT) continue;
        DType element = line->op->operands[0]->type.element;
        int bits = element.code > DTYPE_OF_PARAMETER ? dtype_bits(element.code) : 16;
        if (bits > widest) widest = bits;
    }
    return widest < 0 ? -1 : widest >= 32 ? 0 : widest >= 16 ? 1 : 2;
}

double card_ridge(const Card *card, const KernelCost *cost) {
    int class = dot_class(cost);
    return 1000 * (class < 0 ? card->math : card->dots[class]) / card->memory;
}

CardBound card_bound(const Card *card, const KernelCost *cost, const CostTotals *totals) {
    double least = totals->least_intensity, most = totals->most_intensity;
    if (isnan(least) || isnan(most)) return BOUND_OPEN;
    bool memory = true, arithmetic = true;
    for (int i = 0; i < CARDS; i++) {
        if (card && card != &cards[i]) continue;
        // What no dot computes is slower: by its own peak memory bounds it only below that.
        memory &= most < fmin(card_ridge(&cards[i], cost), 1000 * cards[i].math / cards[i].memory);
        arithmetic &= least > card_ridge(&cards[i], cost);
    }
    return memory ? BOUND_MEMORY : arithmetic ? BOUND_ARITHMETIC : BOUND_OPEN;
}

/* ---- occupancy ---- */

static int at_most(int programs, int64_t of_card, int64_t of_program) {
    int64_t fit = of_program > 0 ? of_card / of_program : programs;
    return fit < programs ? (int)fit : programs;
}

CardFit card_fit(const Card *card, const Footprint *footprint, int warps) {
    enum { RESERVED = 1024, REGISTERS = 65536, REGISTER_UNIT = 8 };
    int64_t registers = (footprint->registers + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    CardFit fit = {.is_known = footprint->is_known && card->warps > 0, .programs = card->programs};
    if (!fit.is_known) return fit;
    int by_warps = at_most(card->programs, card->warps, warps),
        by_registers = at_most(card->programs, REGISTERS, registers * FOOTPRINT_LANES * warps),
        by_shared = at_most(card->programs, (int64_t)card->all_shared_kib * 1024,
                            footprint->shared + RESERVED);
    fit.programs = by_warps < by_registers ? by_warps : by_registers;
    fit.limit = by_warps <= by_registers ? "warps" : "registers";
    if (by_shared < fit.programs) fit.programs = by_shared, fit.limit = "shared memory";
    fit.warps_share = (double)fit.programs * warps / card->warps;
    return fit;
}
