// What loops and masks leave of a total: one iteration alone, one element too many, a quotient that counts lanes that are masked.
#include "analysis/addresses/affine.h"
#include "analysis/addresses/guards.h"
#include "analysis/build/build.h"
#include "analysis/checks/check.h"

/* ---- the last iteration alone ---- */

/// A tile of zeros, or 0.0 where each iteration sums a tile up.
static bool begins_at_zero(const Value *value, const Value *next) {
    double number;
    const Op *op = value ? value->op : NULL;
    if (value && value->constant && value->constant->kind == CONSTANT_FLOAT)
        return next->op->code == OP_SUM && value->constant->number == 0;
    const Value *fill = op && op->code == OP_FULL ? check_operand(op, "value") : NULL;
    return fill && type_is_tile(value->type) && value_is_number(fill, &number) && number == 0;
}

static bool is_used_after(const Check *check, const Value *result) {
    const Uses *uses = check_uses(check, result);
    for (LIST_EACH(int, i, uses->list))
        if (uses->list.items[i]->code != OP_YIELD) return true;
    return false;
}

static void check_last_kept(Check *check, const Op *loop) {
    const Region *body = loop->regions[0];
    const Op *yield = region_terminator(body);
    for (int i = 0; yield && i < yield->operand_count && i + 3 < loop->operand_count; i++) {
        const Value *argument = body->arguments[i + 1], *next = check_strip(yield->operands[i]);
        bool is_made_here = next && next->op && next->op->parent == body && !next->op->region_count;
        if (!is_made_here || check_uses(check, argument)->list.count ||
            !begins_at_zero(check_strip(loop->operands[i + 3]), next) ||
            !value_depends_on(check->arena, next, body->arguments[0], NULL) ||
            !is_used_after(check, loop->results[i]))
            continue;
        const char *name = argument->name ? argument->name : loop->results[i]->name;
        Diagnostic *said = check_report(
            check, DIAGNOSTIC_LAST_ITERATION_ONLY, next->op,
            "each iteration computes %s anew, and after the loop only the last one is left: add to "
            "it with `+=`",
            name ? name : "this");
        check_relate(check, said, loop, "the loop");
    }
}

/* ---- the last iteration beside a scan ---- */

/// Whether the tile is what a scan runs along that is added to the carried value.
static bool continues_scan(Check *check, const Value *carried, const Value *tile) {
    const Uses *uses = check_uses(check, carried);
    for (LIST_EACH(int, i, uses->list)) {
        const Op *add = uses->list.items[i];
        if (add->code != OP_ADD) continue;
        const Value *other = check_strip(add->operands[check_strip(add->operands[0]) == carried]);
        const Op *scan = other ? other->op : NULL;
        bool scans = scan && (scan->code == OP_CUMSUM || scan->code == OP_ASSOCIATIVE_SCAN);
        if (scans && check_strip(scan->operands[0]) == tile) return true;
    }
    return false;
}

/// `total + tl.cumsum(x)`, and then `total = tl.sum(x)`: what came before the last block is lost.
static void check_forgotten_total(Check *check, const Op *loop) {
    const Region *body = loop->regions[0];
    const Op *yield = region_terminator(body);
    for (int i = 0; yield && i < yield->operand_count && i + 3 < loop->operand_count; i++) {
        const Value *argument = body->arguments[i + 1], *next = check_strip(yield->operands[i]);
        const Op *sum = next ? next->op : NULL;
        if (!sum || sum->code != OP_SUM || sum->parent != body ||
            !continues_scan(check, argument, check_strip(sum->operands[0])))
            continue;
        const char *name = argument->name ? argument->name : loop->results[i]->name;
        Diagnostic *said = check_report(
            check, DIAGNOSTIC_LAST_ITERATION_ONLY, sum,
            "%s continues the scan, and becomes the sum of this block alone: add to it with `+=`",
            name ? name : "what is added");
        check_relate(check, said, loop, "the loop");
    }
}

/* ---- one element too many ---- */

/// What an index changes by along its only axis; NULL where it has none or several.
static const Poly *only_lane(const Affine *form) {
    const Poly *only = NULL;
    for (int k = 0; form->known && k < form->rank; k++) {
        if (poly_is_zero(form->lane[k])) continue;
        if (only) return NULL;
        only = form->lane[k];
    }
    return only;
}

/// The comparison `index < bound` of the same bound, or the loop that ends there; NULL where neither is.
static const Op *strict_elsewhere(Check *check, const Op *op, const Value *bound,
                                  const Affine *index) {
    for (LIST_EACH(int, i, check->ops)) {
        const Op *other = check->ops.items[i];
        if (other->code != OP_LT || check_strip(other->operands[1]) != bound) continue;
        Affine form = affine_by(check->former, other->operands[0]);
        const Poly *lane = only_lane(&form);
        if (lane && poly_equal(lane, only_lane(index))) return other;
    }
    for (const Op *outer = op->parent->parent; outer; outer = outer->parent->parent)
        if (outer->code == OP_FOR && check_strip(outer->operands[1]) == bound &&
            value_depends_on(check->arena, op->operands[0], outer->regions[0]->arguments[0], NULL))
            return outer;
    return NULL;
}

static void check_inclusive(Check *check, const Op *op) {
    Value *bound = check_strip(op->operands[1]);
    if (!bound || bound->constant || bound->type.rank || bound->type.is_constexpr) return;
    Affine index = affine_by(check->former, op->operands[0]);
    if (!only_lane(&index)) return;
    const Op *strict = strict_elsewhere(check, op, bound, &index);
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        if (!strict || !access->mask || access->mask->constant ||
            !value_depends_on(check->arena, access->mask, op->results[0], NULL) ||
            !value_depends_on(check->arena, access->op->operands[0], check_strip(op->operands[0]),
                              NULL))
            continue;
        Diagnostic *said = check_report(
            check, DIAGNOSTIC_INCLUSIVE_BOUND, op,
            "`<=` lets an index through that is as large as %s, which ends it elsewhere: `<`",
            check_name(check, bound));
        check_relate(check, said, strict, "ends here");
        return;
    }
}

/* ---- means ---- */

/// Whether masked lanes along the axis go into the value as they were loaded.
static bool is_masked_along(Check *check, const Value *value, int axis, int depth) {
    enum { DEEPEST = 4 };
    const Op *op = value ? value->op : NULL;
    if (!op || depth == DEEPEST) return false;
    if (op->code == OP_LOAD || op->code == OP_WHERE) {
        Value *mask = check_operand(op, op->code == OP_LOAD ? "mask" : "condition");
        const Op *compared = mask ? check_strip(mask)->op : NULL;
        if (!compared || compared->code != OP_LT || value->type.rank != 1 || axis != 0)
            return false;
        const Value *bound = check_strip(compared->operands[1]);
        Affine index = affine_by(check->former, compared->operands[0]);
        return only_lane(&index) && bound && !bound->constant && !bound->type.is_constexpr &&
               !guard_always_holds(check->arena, compared);
    }
    bool passes = check_is_stripped(op) || op_rows[op->code].shape == SHAPE_BROADCAST;
    for (int i = 0; passes && i < op->operand_count; i++)
        if (is_masked_along(check, op->operands[i], axis, depth + 1)) return true;
    return false;
}

static void check_mean(Check *check, const Op *op) {
    const Value *total = check_strip(op->operands[0]), *count = op->operands[1];
    const Op *sum = total ? total->op : NULL;
    if (!sum || sum->code != OP_SUM || !count || !count->type.is_constexpr) return;
    const Type tile = sum->operands[0]->type;
    int64_t length;
    if (tile.rank != 1 || !tile.dims[0] || poly_is_constant(tile.dims[0], &length)) return;
    Affine form = affine_by(check->former, check_strip(op->operands[1]));
    if (!form.known || form.rank || !poly_equal(form.base, tile.dims[0]) ||
        !is_masked_along(check, sum->operands[0], 0, 0))
        return;
    Diagnostic *said = check_report(check, DIAGNOSTIC_MEAN_OF_BLOCK, op,
                                    "this divides by %s, which counts masked lanes, too: divide by "
                                    "the number that the mask compares with",
                                    check_name(check, count));
    check_relate(check, said, sum, "summed here");
}

void check_totals(Check *check) {
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        if (op->call) continue;
        if (op->code == OP_FOR) {
            check_last_kept(check, op);
            check_forgotten_total(check, op);
        }
        if (op->code == OP_LE) check_inclusive(check, op);
        if (op->code == OP_DIV) check_mean(check, op);
    }
}
