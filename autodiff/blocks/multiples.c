// Loops over blocks whose bounds are multiples of another size in; that they go through the same elements in blocks that divide it, out.
#include "autodiff/blocks/origins.h"

enum { MOST_NESTED = 8 };  // choices between the ends of a loop, one in another

/// A size, other than `symbol`, that is a factor of the number; NULL: none is known.
static Value *factor_of(Blocks *blocks, const Poly *number, const Value *symbol) {
    if (!number || !number->count) return NULL;
    const Monomial *first = &number->terms[0];
    for (int a = 0; a < first->atom_count; a++) {
        Value *atom = first->atoms[a];
        const Poly *quotient, *rest;
        bool is_factor = atom != symbol && block_of(blocks, atom) &&
                         poly_split(blocks->arena, number, atom, &quotient, &rest) &&
                         poly_is_zero(rest);
        if (is_factor) return atom;
    }
    return NULL;
}

static bool is_multiple(Blocks *blocks, const Poly *number, Value *size) {
    const Poly *quotient, *rest;
    if (poly_is_zero(number)) return true;
    return number && poly_split(blocks->arena, number, size, &quotient, &rest) &&
           poly_is_zero(rest);
}

/// Whether the blocks of a loop in steps of elements begin at multiples of their size, given that it divides the other.
static bool begins_at_multiple(Blocks *blocks, const Origin *origin, Value *other) {
    if (origin->kind == ORIGIN_OWNERS) return true;
    return is_multiple(blocks, scalar_poly(blocks, origin->loop->operands[0]), other);
}

/// Another size stays the forward's, and this one has to divide it.
static void note_divisor(Blocks *blocks, BlockSize *block, Value *other, const char *why) {
    block_stays(blocks, other, why);
    for (LIST_EACH(int, i, block->limits))
        if (block->limits.items[i] == other) return;
    LIST_PUSH(blocks->arena, &block->limits, other);
}

static void note_limit(Blocks *blocks, const Origin *origin, Value *other) {
    note_divisor(blocks, block_of(blocks, origin->symbol), other,
                 "a loop over other blocks ends at a multiple of it");
}

static bool ends_alike(Blocks *blocks, const Origin *origin, Value *end, int depth) {
    const Op *op = end->op;
    const Poly *number = scalar_poly(blocks, end);
    if (depth == MOST_NESTED) return false;
    bool is_masked = origin->mask_end && !origin->is_unmasked;
    if (number && is_masked && poly_equal(number, origin->mask_end)) return true;
    if (op && op_keeps_numbers(op)) return ends_alike(blocks, origin, op->operands[0], depth + 1);
    if (op && op->code == OP_MINIMUM)
        return ends_alike(blocks, origin, op->operands[0], depth + 1) &&
               ends_alike(blocks, origin, op->operands[1], depth + 1);
    if (op && op->code == OP_IF) {
        bool fits = op->region_count == 2;
        for (int r = 0; r < op->region_count && fits; r++)
            fits = ends_alike(blocks, origin,
                              region_terminator(op->regions[r])->operands[end->index], depth + 1);
        return fits;
    }
    Value *other = factor_of(blocks, number, origin->symbol);
    if (!other || !begins_at_multiple(blocks, origin, other)) return false;
    note_limit(blocks, origin, other);
    return true;
}

bool loop_ends_alike(Blocks *blocks, const Origin *origin) {
    if (origin->counts_blocks || !origin->loop || !origin->symbol) return false;
    return ends_alike(blocks, origin, origin->loop->operands[1], 0);
}

/// The loop over blocks of elements whose variable a number is: where its block begins.
static const Origin *started_by(const Blocks *blocks, const Poly *number) {
    for (LIST_EACH(int, i, blocks->origins)) {
        const Origin *origin = &blocks->origins.items[i];
        bool is_start = origin->loop && !origin->counts_blocks && origin->symbol &&
                        origin->kind != ORIGIN_PROGRAMS &&
                        poly_equal(number, poly_atom(blocks->arena, origin->variable));
        if (is_start) return origin;
    }
    return NULL;
}

bool visit_middle(Blocks *blocks, const Op *op) {
    if (op->results[0]->type.rank) return false;
    bool is_first = op->code == OP_LT || op->code == OP_GE;
    if (!is_first && op->code != OP_GT && op->code != OP_LE) return false;
    const Poly *start = scalar_poly(blocks, op->operands[is_first ? 0 : 1]),
               *middle = scalar_poly(blocks, op->operands[is_first ? 1 : 0]);
    const Origin *origin = start && middle ? started_by(blocks, start) : NULL;
    Value *other = origin ? factor_of(blocks, middle, origin->symbol) : NULL;
    if (!other || !begins_at_multiple(blocks, origin, other)) return false;
    note_limit(blocks, origin, other);
    return true;
}

bool visit_assertion(Blocks *blocks, const Op *op) {
    const Op *equal = op->code == OP_STATIC_ASSERT ? op->operands[0]->op : NULL;
    const Op *rest = equal && equal->code == OP_EQ ? equal->operands[0]->op : NULL;
    int64_t zero;
    if (!rest || rest->code != OP_MOD || !value_is_int(equal->operands[1], &zero) || zero != 0)
        return false;
    BlockSize *block = block_of(blocks, rest->operands[1]);
    if (!block || !block_of(blocks, rest->operands[0])) return false;
    note_divisor(blocks, block, rest->operands[0], "another block has to divide it");
    return true;
}

bool visit_quotient(Blocks *blocks, const Op *op) {
    if (op->code != OP_FLOORDIV || op->results[0]->type.rank) return false;
    Value *other = op->operands[1];
    const Poly *number = scalar_poly(blocks, op->operands[0]);
    if (!number || !block_of(blocks, other)) return false;
    const Origin *origin = started_by(blocks, number);
    if (!origin || origin->symbol == other || !begins_at_multiple(blocks, origin, other))
        return false;
    note_limit(blocks, origin, other);
    return true;
}
