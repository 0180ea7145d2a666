// A condition as a mask of a tile: the vectors that it compares are taken out of their tiles and laid along another's axes.
#include "autodiff/finiteness/guard_masks.h"

#include <math.h>

#include "analysis/build/build.h"
#include "autodiff/rewrite/rewrite.h"

static bool comes_before(const Op *a, const Op *b) {
    for (const Op *op = a; op; op = op->next)
        if (op == b) return true;
    return false;
}

/// Whether the value is there where `place` stands.
static bool is_there(const Value *value, const Op *place) {
    const Region *region = value->op ? value->op->parent : value->region;
    for (const Op *op = place; op; op = op->parent ? op->parent->parent : NULL)
        if (op->parent == region)
            return !value->op || (value->op != op && comes_before(value->op, op));
    return !value->op && !region;
}

/// Right behind the later of two values, so that it is there wherever both are. `b` may be NULL.
static Builder builder_behind(const Guard *guard, const Value *a, const Value *b) {
    Region *body = guard->state->backward->body;
    Builder builder = {.function = guard->state->backward, .region = body, .before = body->first};
    const Value *values[] = {a, b};
    for (int i = 0; i < 2; i++) {
        if (!values[i]) continue;
        Op *op = values[i]->op;
        Region *region = op ? op->parent : values[i]->region;
        if (!region) continue;
        bool deeper = region != builder.region && region_defines(builder.region, values[i]);
        if (deeper || (region == builder.region && op && comes_before(builder.before, op))) {
            builder.region = region;
            builder.before = op ? op->next : region->first;
        }
        builder.range = values[i]->range;
    }
    return builder;
}

static Value *vector_of(Guard *guard, OpCode code, Value *a, Value *b) {
    for (LIST_EACH(int, i, guard->vectors)) {
        const Vector *known = &guard->vectors.items[i];
        if (known->code == code && known->a == a && known->b == b) return known->value;
    }
    Builder builder = builder_behind(guard, a, b);
    Value *vector = b ? build_binary(&builder, code, a, b) : build_unary(&builder, code, a);
    if (!vector) return NULL;
    LIST_PUSH(guard->arena, &guard->vectors, (Vector){code, a, b, vector});
    return vector;
}

/// The rank-1 form of a mask that varies along one axis alone; NULL where there is none. Equal masks have the same.
static Value *mask_vector(Guard *guard, Value *mask) {
    const Op *op = mask->op;
    if (!op || mask->type.rank == 0) return mask;
    if (op->code == OP_EXPAND_DIMS || op->code == OP_BROADCAST_TO)
        return mask_vector(guard, op->operands[0]);
    bool is_arithmetic = op->code == OP_ADD || op->code == OP_SUB || op->code == OP_MUL;
    if (!op_is_comparison(op->code) && !(is_arithmetic && mask->type.rank > 1))
        return mask->type.rank == 1 ? mask : NULL;
    Value *a = mask_vector(guard, op->operands[0]), *b = mask_vector(guard, op->operands[1]);
    if (!a || !b || a->type.rank > 1 || b->type.rank > 1) return NULL;
    if (mask->type.rank == 1) return mask;
    return vector_of(guard, op->code, a, b);
}

/// One of the equal values of a part that is there at the builder's place; NULL where none is.
static Value *value_there(const Builder *builder, const ConditionPart *part) {
    for (LIST_EACH(int, i, part->values)) {
        Value *value = part->values.items[i];
        if (!builder->before || is_there(value, builder->before)) return value;
    }
    return NULL;
}

static Value *laid_along(Builder *builder, Value *vector, int rank, Slot slot) {
    for (int position = 0; position < rank; position++)
        if (position != rank - slot) {
            Value *operands[] = {vector, build_int(builder, position)};
            vector = build(builder, OP_EXPAND_DIMS, operands, 2);
        }
    return vector;
}

/// What the condition says along one axis, as vectors of its parts that are joined.
static Value *mask_along_axis(Guard *guard, Builder *builder, const Value *tile, Slot slot) {
    const Condition *condition = guard->condition;
    Value *joined = NULL;
    for (int p = 0; p < condition->part_count; p++) {
        const ConditionPart *part = &condition->parts[p];
        Value *value = value_there(builder, part);
        if (!value) return NULL;
        Value *vector = mask_vector(guard, value);
        if (!vector || (vector->type.rank != 1 && part->reach == REACH_AXIS)) {
            // it cannot be taken out of the tile that it stands in
            bool fits = value->type.rank == tile->type.rank && value_varies_along(value, slot - 1);
            return fits && condition->part_count == 1 ? value : NULL;
        }
        if (condition->part_count > 1 && part->is_negated)
            vector = vector_of(guard, vector->type.rank ? OP_INVERT : OP_LOGICAL_NOT, vector, NULL);
        if (joined && vector) vector = vector_of(guard, OP_OR, joined, vector);
        joined = vector;
        if (!joined) return NULL;
    }
    return laid_along(builder, joined, tile->type.rank, slot);
}

Value *guard_mask(Guard *guard, Builder *builder, Value *tile, Slot slot) {
    const Condition *condition = guard->condition;
    if (condition->is_of_nan)
        return build_binary(builder, OP_LT, build_unary(builder, OP_ABS, tile),
                            build_float(builder, INFINITY));
    if (condition->reach == REACH_AXIS) return mask_along_axis(guard, builder, tile, slot);
    Value *mask = value_there(builder, &condition->parts[0]);
    if (!mask) return NULL;
    if (condition->reach ==
        REACH_ALL) {  // a tile of one element counts as a number, and is laid along axes
        if (mask->type.rank > tile->type.rank) mask = mask_vector(guard, mask);
        return mask && mask->type.rank <= tile->type.rank ? mask : NULL;
    }
    if (mask->type.rank != tile->type.rank || slot > SLOT_SWAPPED) return NULL;
    return slot == SLOT_SWAPPED ? build_unary(builder, OP_TRANS, mask) : mask;
}

void guard_drop_vectors(Guard *guard, int first_id) {
    Map uses = function_count_uses(guard->arena, guard->state->backward);
    for (int i = guard->vectors.count - 1; i >= 0; i--) {
        Value *vector = guard->vectors.items[i].value;
        if (vector->op && vector->id >= first_id && !map_has_pointer(&uses, vector))
            op_remove(vector->op);
    }
    guard->vectors.count = 0;
}
