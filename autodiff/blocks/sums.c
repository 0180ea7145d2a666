// Loops over blocks in; those blocks that nothing but a sum goes along stay free, the others do not.
#include "autodiff/blocks/origins.h"

#include "analysis/addresses/strides.h"
#include "analysis/ir/walk.h"
#include "autodiff/rewrite/rewrite.h"

enum { MOST_TERMS = 64 };  // that an iteration adds one after the other

/// A sum along one origin's blocks.
typedef struct BlockSum {
    Blocks *blocks;
    Map terms;  // values -> whether they are, plus 1
    int origin;
    bool needs_mask;  // elements behind the end are not known to add 0
} BlockSum;

static int label_of(Blocks *blocks, int node) {
    return blocks->labels.items[node_root(blocks, node)];
}

/* ---- elements behind the end ---- */

static bool is_zero(const Value *value) {
    double number;
    if (value && value->op && value->op->code == OP_FULL) value = value->op->operands[1];
    return value && value_is_number(value, &number) && number == 0;
}

/// Whether the elements behind the end of the origin's mask are 0.
static intptr_t ends_in_zeros(ValueWalk *walk, const Value *value) {
    const BlockSum *sum = walk->context;
    if (is_zero(value)) return true;
    if (!value->op) return false;
    const Op *op = value->op;
    Value *const *x = op->operands;
    switch (op->code) {
    case OP_LOAD: return mask_end_of(sum->blocks, x[1], sum->origin) && is_zero(x[2]);
    case OP_WHERE:
        if (mask_end_of(sum->blocks, x[0], sum->origin) && is_zero(x[2])) return true;
        return walk_ask(walk, x[1]) && walk_ask(walk, x[2]);
    case OP_DOT: return walk_ask(walk, x[0]) || walk_ask(walk, x[1]);
    case OP_SUM:
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO:
    case OP_TRANS: return walk_ask(walk, x[0]);
    default: break;
    }
    if (op_rows[op->code].shape != SHAPE_SAME && op_rows[op->code].shape != SHAPE_BROADCAST)
        return false;
    switch (op_rows[op->code].zero) {
    case ZERO_FIRST: return walk_ask(walk, x[0]);
    case ZERO_ANY: return walk_ask(walk, x[0]) || walk_ask(walk, x[1]);
    case ZERO_ALL: return walk_ask(walk, x[0]) && walk_ask(walk, x[1]);
    default: return false;
    }
}

/* ---- terms ---- */

/// A flag of the launch, such as whether somebody asks for a gradient: the same in all iterations.
static bool asks_for_flag(const Op *op) {
    return op && op->code == OP_IF && value_is_of_parameters(op->operands[0]);
}

/// How often a value is used, of the two sides of a flag on the one where that is more often.
static int count_uses(const Region *region, const Value *value) {
    int count = 0;
    for (const Op *op = region->first; op; op = op->next) {
        for (int i = 0; i < op->operand_count; i++) count += op->operands[i] == value;
        int most = 0, all = 0;
        for (int r = 0; r < op->region_count; r++) {
            int inside = count_uses(op->regions[r], value);
            all += inside;
            most = inside > most ? inside : most;
        }
        count += asks_for_flag(op) ? most : all;
    }
    return count;
}

static bool is_used_once(const Region *region, const Value *value) {
    return count_uses(region, value) == 1;
}

/// What the sides of a flag end with.
static Value *end_of_side(const Op *branch, int side, const Value *result) {
    return region_terminator(branch->regions[side])->operands[result->index];
}

static bool reduces(const BlockSum *sum, const Op *op) {
    for (LIST_EACH(int, i, sum->blocks->reductions)) {
        const Reduction *reduction = &sum->blocks->reductions.items[i];
        if (reduction->op == op) return label_of(sum->blocks, reduction->node) == sum->origin;
    }
    return false;
}

static bool is_term(BlockSum *sum, Value *value);

/// A sum of the block's elements, or what is linear in one.
static bool is_linear(BlockSum *sum, Value *value) {
    Blocks *blocks = sum->blocks;
    const Op *op = value->op;
    if (!op || op->result_count != 1) return false;
    Value *const *x = op->operands;
    const Value *variable = blocks->origins.items[sum->origin].variable;
    switch (op->code) {
    case OP_DOT:
    case OP_SUM:
        if (op->code == OP_DOT && x[2] && !is_zero(x[2])) return false;
        if (!reduces(sum, op)) return false;
        map_set_pointer(&blocks->summed, op, sum);
        if (!walk_from(x[0], ends_in_zeros, false, sum) &&
            !(op->code == OP_DOT && walk_from(x[1], ends_in_zeros, false, sum)))
            sum->needs_mask = true;
        return true;
    case OP_CAST:
    case OP_NEG:
    case OP_EXPAND_DIMS:
    case OP_BROADCAST_TO:
    case OP_TRANS: return is_term(sum, x[0]);
    case OP_ADD:
    case OP_SUB: return is_term(sum, x[0]) && is_term(sum, x[1]);
    case OP_DIV: return is_term(sum, x[0]) && !value_depends_on_axis(blocks->arena, x[1], variable);
    case OP_MUL:
        for (int i = 0; i < 2; i++)
            if (!value_depends_on_axis(blocks->arena, x[1 - i], variable) && is_term(sum, x[i]))
                return true;
        return false;
    default: return false;
    }
}

static bool is_term(BlockSum *sum, Value *value) {
    void *known = map_get_pointer(&sum->terms, value);
    if (known) return (intptr_t)known == 2;
    map_set_pointer(&sum->terms, value, (void *)1);
    bool is_one = is_linear(sum, value);
    map_set_pointer(&sum->terms, value, (void *)(intptr_t)(is_one + 1));
    return is_one;
}

/// Whether `value` is what was carried, plus and minus terms; each step of the sum is used by the next alone.
static bool adds_up(BlockSum *sum, Value *value, const Value *carried, int depth) {
    if (value == carried) return true;
    const Op *op = value->op;
    if (depth == MOST_TERMS || !op || !op->parent || !is_used_once(op->parent, value)) return false;
    Value *const *x = op->operands;
    if (asks_for_flag(op))
        return adds_up(sum, end_of_side(op, 0, value), carried, depth + 1) &&
               adds_up(sum, end_of_side(op, 1, value), carried, depth + 1);
    if (op->code == OP_ADD)
        return (adds_up(sum, x[0], carried, depth + 1) && is_term(sum, x[1])) ||
               (adds_up(sum, x[1], carried, depth + 1) && is_term(sum, x[0]));
    if (op->code == OP_SUB) return adds_up(sum, x[0], carried, depth + 1) && is_term(sum, x[1]);
    if (op->code == OP_CAST && dtype_is_float(value->type.element))
        return adds_up(sum, x[0], carried, depth + 1);
    if (op->code == OP_DOT && x[2] && reduces(sum, op)) {
        if (!adds_up(sum, x[2], carried, depth + 1)) return false;
        map_set_pointer(&sum->blocks->summed, op, sum);
        if (!walk_from(x[0], ends_in_zeros, false, sum) &&
            !walk_from(x[1], ends_in_zeros, false, sum))
            sum->needs_mask = true;
        return true;
    }
    return false;
}

/* ---- sums lane by lane ---- */

/// Whether `value` is what was carried, plus and minus tiles; `needs_mask`: these do not end in zeros.
static bool adds_tiles(BlockSum *sum, Value *value, const Value *carried, int depth) {
    if (value == carried) return true;
    const Op *op = value->op;
    if (depth == MOST_TERMS || !op || !op->parent || !is_used_once(op->parent, value)) return false;
    bool is_cast = op->code == OP_CAST && dtype_is_float(value->type.element);
    if (is_cast) return adds_tiles(sum, op->operands[0], carried, depth + 1);
    if (asks_for_flag(op))
        return adds_tiles(sum, end_of_side(op, 0, value), carried, depth + 1) &&
               adds_tiles(sum, end_of_side(op, 1, value), carried, depth + 1);
    if (op->code != OP_ADD && op->code != OP_SUB) return false;
    for (int i = 0; i < (op->code == OP_ADD ? 2 : 1); i++) {
        if (!adds_tiles(sum, op->operands[i], carried, depth + 1)) continue;
        sum->needs_mask |= !walk_from(op->operands[1 - i], ends_in_zeros, false, sum);
        return true;
    }
    return false;
}

typedef struct TotalUses {
    const BlockSum *sum;
    const Value *total;
    bool is_other;
    LIST(Op *) sums;
} TotalUses;

static bool visit_total(void *context, Op *op) {
    TotalUses *uses = context;
    for (int i = 0; i < op->operand_count; i++) {
        if (op->operands[i] != uses->total) continue;
        if (i == 0 && op->code == OP_SUM && reduces(uses->sum, op))
            LIST_PUSH(uses->sum->blocks->arena, &uses->sums, op);
        else
            uses->is_other = true;
    }
    return true;
}

/// A value that a loop carries.
typedef struct NestSum {
    const Op *loop;
    int index;
} NestSum;

static Value *carried_at_first(NestSum carried) {
    return carried.loop->operands[3 + carried.index];
}

/// Where loops around a loop only hand on what it carries: as the outermost of them has it.
static NestSum carried_by_nest(NestSum carried) {
    for (;;) {
        const Value *first = carried_at_first(carried),
                    *result = carried.loop->results[carried.index];
        const Op *outer = !first->op && first->region ? first->region->parent : NULL;
        if (!outer || outer->code != OP_FOR || first->index == 0) return carried;
        const Region *body = outer->regions[0];
        int index = first->index - 1;
        if (region_terminator(body)->operands[index] != result || !is_used_once(body, first) ||
            !is_used_once(body, result))
            return carried;
        carried = (NestSum){outer, index};
    }
}

/// Whether a loop adds up tiles of the block, from 0 on, and all that is done with them is to sum their lanes.
static bool sums_lanes(BlockSum *sum, const Op *loop, int carry) {
    Blocks *blocks = sum->blocks;
    const Region *body = loop->regions[0];
    const Value *argument = body->arguments[1 + carry];
    bool is_used = is_used_once(body, argument);
    const NestSum whole = carried_by_nest((NestSum){loop, carry});
    if (!is_used || blocks->origins.items[sum->origin].kind != ORIGIN_LOOP ||
        !is_zero(carried_at_first(whole)) ||
        !adds_tiles(sum, region_terminator(body)->operands[carry], argument, 0))
        return false;
    TotalUses uses = {.sum = sum, .total = whole.loop->results[whole.index]};
    region_walk(blocks->function->body, visit_total, &uses);
    if (uses.is_other || !uses.sums.count) return false;
    for (LIST_EACH(int, i, uses.sums)) map_set_pointer(&blocks->summed, uses.sums.items[i], sum);
    return true;
}

static void settle_loop(Blocks *blocks, int index) {
    Origin *origin = &blocks->origins.items[index];
    const Op *loop = origin->loop;
    BlockSum sum = {.blocks = blocks, .terms = map_new(blocks->arena), .origin = index};
    for (int i = 0; loop && i < loop->result_count; i++) {
        const Region *body = loop->regions[0];
        const Value *argument = body->arguments[1 + i];
        Value *next = region_terminator(body)->operands[i];
        bool is_sum = origin->kind != ORIGIN_OWNERS && next != argument &&
                      is_used_once(body, argument) && adds_up(&sum, next, argument, 0);
        is_sum = is_sum || (next != argument && sums_lanes(&sum, loop, i));
        if (!is_sum)
            block_stays(blocks, origin->symbol,
                        "a loop over its blocks carries more than sums of their elements");
    }
    if (sum.needs_mask) origin->is_unmasked = true;
}

void sums_settle(Blocks *blocks) {
    for (LIST_EACH(int, i, blocks->origins))
        if (blocks->origins.items[i].symbol) settle_loop(blocks, i);
    for (LIST_EACH(int, i, blocks->reductions)) {
        const Reduction *reduction = &blocks->reductions.items[i];
        int label = label_of(blocks, reduction->node);
        bool is_summed = label >= 0 && map_has_pointer(&blocks->summed, reduction->op);
        if (!is_summed)
            block_stays(blocks, reduction->symbol,
                        label < 0 ? "a sum over its lanes is a sum over an axis"
                                  : "a sum over its lanes is not added up over all blocks");
    }
}
