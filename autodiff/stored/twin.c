// Loops of equal bounds in; which values of one are values of the other out.
#include "autodiff/stored/twin.h"

#include "analysis/ir/walk.h"
#include "autodiff/addresses/place.h"
#include "autodiff/finiteness/finiteness_parts.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/stored/left_out.h"

typedef struct LoopTwinWalk {
    const LoopTwin *twin;
    ValueWalk exact, masked;  // pairs that are equal everywhere, or but where the mask holds
} LoopTwinWalk;

static bool same(LoopTwinWalk *walk, const Value *a, const Value *b, bool is_exact);

static bool is_absent(const Value *value) { return !value || value_is_none(value); }

static Value *operand_of(const Op *op, int index) {
    return index < op->operand_count ? op->operands[index] : NULL;
}

/// Whether the mask of an access holds wherever that of the first place does.
static bool holds_inside(const LoopTwinWalk *walk, const Value *mask) {
    return is_absent(mask) || mask_is_within(walk->twin->mask, mask);
}

static bool same_loads(LoopTwinWalk *walk, const Op *a, const Op *b, bool is_exact) {
    if (!same(walk, operand_of(a, 0), operand_of(b, 0), is_exact)) return false;
    const Value *mask = operand_of(a, 1), *other_mask = operand_of(b, 1);
    bool are_masks =
        is_absent(mask) ? is_absent(other_mask) : other_mask && same(walk, mask, other_mask, true);
    bool is_inside = !is_exact && walk->twin->mask && are_masks && holds_inside(walk, mask);
    if (is_inside) return true;
    const Value *rest = operand_of(a, 2), *other_rest = operand_of(b, 2);
    if (is_absent(rest) || is_absent(other_rest))
        return are_masks && is_absent(rest) && is_absent(other_rest);
    return are_masks && same(walk, rest, other_rest, true);
}

static bool same_ops(LoopTwinWalk *walk, const Op *a, const Op *b, bool is_exact) {
    if (a->code != b->code || a->region_count || a->operand_count != b->operand_count) return false;
    if (a->code == OP_LOAD) return same_loads(walk, a, b, is_exact);
    if (!op_is_pure(a)) return false;
    bool keeps_places = op_is_elementwise(a) || op_rows[a->code].shape == SHAPE_BROADCAST;
    for (int i = 0; i < a->operand_count; i++)
        if (!same(walk, a->operands[i], b->operands[i], is_exact || !keeps_places)) return false;
    return true;
}

static bool same(LoopTwinWalk *walk, const Value *a, const Value *b, bool is_exact) {
    double x, y;
    if (!a || !b) return a == b;
    if (map_has_pointer(&walk->twin->variables, a))
        return map_get_pointer(&walk->twin->variables, a) == b;
    if (a->constant && b->constant && value_is_number(a, &x) && value_is_number(b, &y))
        return x == y && dtype_equal(a->type.element, b->type.element);
    if (!a->op || !b->op) return a == b;
    if (a->index != b->index || a->op->result_count != b->op->result_count) return false;
    if (a == b && walk->twin->variables.count == 0) return true;
    WalkPair pair = walk_pair(is_exact ? &walk->exact : &walk->masked, a, b);
    if (pair != WALK_PAIR_NEW) return pair == WALK_PAIR_KNOWN;
    if (a == b) {  // of neither loop, if nothing in it is
        for (int i = 0; i < walk->twin->variables.count; i++) {
            const Value *variable =
                (const Value *)(uintptr_t)walk->twin->variables.entries[i].number;
            if (value_depends_on(walk->twin->arena, a, variable, NULL)) return false;
        }
        return true;
    }
    return same_ops(walk, a->op, b->op, is_exact);
}

bool values_are_twins(const LoopTwin *twin, const Value *value, const Value *there) {
    LoopTwinWalk walk = {.twin = twin};
    walk_start(&walk.exact, NULL, 0, NULL);
    walk_start(&walk.masked, NULL, 0, NULL);
    return same(&walk, value, there, false);
}

/// Whether two loops run with the same values of their variables.
static bool loops_are_twins(LoopTwin *twin, const Op *a, const Op *b) {
    if (a->code != b->code || (a->code != OP_FOR && a->code != OP_STATIC_FOR)) return false;
    LoopTwinWalk walk = {.twin = twin};
    walk_start(&walk.exact, NULL, 0, NULL);
    walk_start(&walk.masked, NULL, 0, NULL);
    for (int i = 0; i < 3; i++)
        if (!same(&walk, a->operands[i], b->operands[i], true)) return false;
    map_set_pointer(&twin->variables, a->regions[0]->arguments[0], b->regions[0]->arguments[0]);
    return true;
}

static bool is_within(const Region *region, const Region *outer) {
    while (region && region != outer) region = region->parent ? region->parent->parent : NULL;
    return region == outer;
}

bool regions_are_twins(LoopTwin *twin, const Region *region, const Region *there) {
    if (is_within(there, region)) return true;
    const Op *loop = region->parent;
    if (!loop) return false;
    for (const Region *at = there; at && at->parent; at = at->parent->parent) {
        const int known = twin->variables.count;
        bool is_twin = loop->parent == at->parent->parent ||
                       (!is_within(at->parent->parent, loop->parent) &&
                        regions_are_twins(twin, loop->parent, at->parent->parent));
        if (is_twin && loops_are_twins(twin, loop, at->parent)) return true;
        if (twin->variables.count != known) return false;
    }
    return false;
}
