// A function whose loops walk rows in blocks in; the same without these loops, for rows that one block holds, out.
#include "autodiff/blocks/whole_rows.h"

#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "autodiff/blocks/origins.h"
#include "autodiff/rewrite/rewrite.h"

/// Whether loops from 0 on go over the blocks of a size, in each program over all of them, and nothing else does.
static bool is_walked(const Blocks *blocks, const Value *symbol) {
    bool any = false;
    int64_t lower;
    for (LIST_EACH(int, i, blocks->origins)) {
        const Origin *origin = &blocks->origins.items[i];
        if (origin->symbol != symbol) continue;
        if (origin->kind != ORIGIN_LOOP) return false;
        if (!value_is_int(origin->loop->operands[0], &lower) || lower != 0) return false;
        any = true;
    }
    return any;
}

static const char *parameter_name(const Function *function, const Value *value) {
    for (int i = 0; i < function->parameter_count; i++)
        if (function->parameters[i].value == value) return function->parameters[i].name;
    return NULL;
}

/// The length as Python over parameters; NULL: it is made of something else.
static const char *length_text(const Blocks *blocks, const Poly *length) {
    for (int t = 0; length && t < length->count; t++)
        for (int a = 0; a < length->terms[t].atom_count; a++)
            if (!parameter_name(blocks->function, length->terms[t].atoms[a])) return NULL;
    return length ? poly_print(blocks->arena, length) : NULL;
}

/// The iteration with the first block stands for the loop.
static void put_iteration(Function *function, Op *loop) {
    Region *body = loop->regions[0];
    const Op *end = region_terminator(body);
    Builder outside = {
        .function = function, .region = loop->parent, .before = loop, .range = loop->range};
    region_replace_uses(function->body, body->arguments[0], build_int(&outside, 0));
    for (int i = 0; i < loop->result_count; i++)
        region_replace_uses(function->body, body->arguments[i + 1], loop->operands[i + 3]);
    for (Op *op = body->first, *next; op && op != end; op = next) {
        next = op->next;
        op_move_before(op, loop);
    }
    for (int i = 0; i < loop->result_count; i++)
        region_replace_uses(function->body, loop->results[i], end->operands[i]);
    op_remove(loop);
}

bool whole_rows_take(Arena *arena, Function *function, WholeRow *row) {
    Blocks blocks;
    const Value *symbol = NULL;
    if (!blocks_study(&blocks, arena, function)) return false;
    for (LIST_EACH(int, i, blocks.blocks)) {
        const BlockSize *block = &blocks.blocks.items[i];
        bool is_free = !block->why && !block->needs_divisor && !block->limits.count;
        if (!is_free || !is_walked(&blocks, block->symbol)) continue;
        if (symbol) return false;
        symbol = block->symbol;
    }
    row->block = symbol ? parameter_name(function, symbol) : NULL;
    row->length = row->block ? length_text(&blocks, blocks_end(&blocks, symbol)) : NULL;
    if (!row->length) return false;
    for (LIST_EACH(int, i, blocks.origins))
        if (blocks.origins.items[i].symbol == symbol)
            put_iteration(function, blocks.origins.items[i].loop);
    return true;
}

bool part_goes_through_rows(const BackwardPart *part) {
    return part->has_whole_rows && part->kind == PART_WHOLE && !part->keeps_shares;
}
