// A backward whose unused elements may hold infinities in; one whose sums are of zeros there out. Each condition that leaves
// elements out is taken to fail (finiteness.h); an adjoint that is meant to be 0 there and may be NaN is masked before it gets
// to elements that count: summed along an axis, added to another adjoint, or stored.
#include "autodiff/finiteness/guard.h"

#include "analysis/build/build.h"
#include "autodiff/addresses/place.h"
#include "autodiff/finiteness/finiteness.h"
#include "autodiff/finiteness/guard_masks.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/tape/tape.h"

enum { MOST_MASKS = 8 };  // of one value under one condition

static Builder builder_before(const Guard *guard, Op *op) {
    return (Builder){.function = guard->state->backward,
                     .region = op->parent,
                     .before = op,
                     .range = op->range,
                     .call = op->call};
}

/* ---- masking ---- */

/// Whether the condition stands in a mask as it is, to choose 0 where it holds.
static bool is_turned(const Guard *guard) {
    const Condition *condition = guard->condition;
    return condition->part_count == 1 && condition->parts[0].is_negated && !condition->is_of_nan;
}

/// Several operations may need a mask of one value each, and the value itself then, too. A mask that does not help is no
/// reason for another.
static bool is_done(Guard *guard, const Value *value, Slot slot) {
    const Condition *condition = guard->condition;
    uint64_t key = (uint64_t)value->id;
    for (int p = 0; p < condition->part_count; p++)
        key = (key << 21) ^ (uint64_t)condition->parts[p].values.items[0]->id ^ (key >> 43);
    key = key * MASK_MOST_SLOTS + (uint64_t)slot;
    intptr_t count = (intptr_t)map_get_number(&guard->done, key);
    map_set_number(&guard->done, key, (void *)(count + 1));
    return count >= MOST_MASKS;
}

/// `where(mask, tile, 0)`; of a tile that is masked here already, under both masks. NULL where there is no mask.
static Value *masked(Guard *guard, Builder *builder, Value *tile, Slot slot) {
    if (is_done(guard, tile, slot)) return NULL;
    Value *mask = guard_mask(guard, builder, tile, slot), *zero = build_float(builder, 0.0);
    if (!mask) return NULL;
    bool is_negated = is_turned(guard);
    const Op *op = tile->op;
    bool is_masked = !guard->condition->is_of_nan && map_has_pointer(&guard->made, tile) &&
                     is_number(op->operands[is_negated ? 1 : 2], 0);
    Value *result;
    if (is_masked) {
        mask = build_binary(builder, is_negated ? OP_OR : OP_AND, op->operands[0], mask);
        result = build_ternary(builder, OP_WHERE, mask, op->operands[1], op->operands[2]);
    } else {
        result = is_negated ? build_ternary(builder, OP_WHERE, mask, zero, tile)
                            : build_ternary(builder, OP_WHERE, mask, tile, zero);
    }
    result->name = tile->name;
    map_set_pointer(&guard->made, result, result);
    return result;
}

/// The same below casts and transpositions, where other uses of the tile may share it.
static Value *masked_below(Guard *guard, Builder *builder, Value *tile, Slot slot) {
    const Op *op = tile->op;
    bool turns = op && ((op->code == OP_TRANS && tile->type.rank == 2) ||
                        (guard->condition->is_of_nan && op->code == OP_EXPAND_DIMS));
    Slot from = op ? finiteness_operand_slot(guard->finiteness, op, 0, slot) : NO_SLOT;
    if (from == NO_SLOT || (!turns && op->code != OP_CAST) ||
        op->operand_count > OPERATION_MOST_OPERANDS)
        return masked(guard, builder, tile, slot);
    Value *operands[OPERATION_MOST_OPERANDS] = {0};
    for (int i = 0; i < op->operand_count; i++) operands[i] = op->operands[i];
    operands[0] = masked_below(guard, builder, operands[0], from);
    if (!operands[0]) return NULL;
    Value *result = build(builder, op->code, operands, op->operand_count);
    result->name = tile->name;
    return result;
}

/// A load that only this operand comes from, below casts and transpositions, gets the mask itself and reads nothing beyond. False
/// where it stays as it is.
static bool mask_load(Guard *guard, Value *tile, Slot slot) {
    enum { MASK = 1, OTHER = 2 };
    Map readers = function_readers(guard->arena, guard->state->backward);
    while (value_readers(&readers, tile)->count == 1 && tile->op && tile->op->code != OP_LOAD) {
        const Op *op = tile->op;
        slot = finiteness_operand_slot(guard->finiteness, op, 0, slot);
        if ((op->code != OP_CAST && op->code != OP_TRANS) || slot == NO_SLOT) return false;
        tile = op->operands[0];
    }
    Op *load = tile->op;
    bool is_kept = load && load->code == OP_LOAD && tape_value(guard->state, load);
    if (guard->condition->is_of_nan) return false;  // what is loaded tells
    if (!load || load->code != OP_LOAD || is_kept || value_readers(&readers, tile)->count != 1 ||
        load->operand_count <= OTHER || load->operands[0]->type.kind == TYPE_BLOCK_POINTER)
        return false;
    Value *mask = access_mask(load), *other = load->operands[OTHER];
    if (mask && !(other && is_number(other, 0))) return false;
    Builder builder = builder_before(guard, load);
    Value *more = guard_mask(guard, &builder, tile, slot);
    if (!more) return false;
    if (is_turned(guard))
        more = build_unary(&builder, more->type.rank ? OP_INVERT : OP_LOGICAL_NOT, more);
    if (mask) more = build_binary(&builder, OP_AND, mask, more);
    if (!mask) op_set_operand(load, OTHER, build_float(&builder, 0.0));
    op_set_operand(load, MASK, more);
    return guard->changed = true;
}

static Fact fact_at(const Guard *guard, const Value *value, Slot slot) {
    return finiteness_fact(guard->finiteness, value, slot);
}

static bool is_spoilt(const Guard *guard, const Value *value, Slot slot) {
    bool is_left_out = slot != SLOT_COUNTS || guard->condition->reach == REACH_ALL;
    return value && is_left_out && finiteness_is_adjoint(guard->finiteness, value) &&
           finiteness_varies(guard->finiteness, value, slot) &&
           fact_is_spoilt(fact_at(guard, value, slot));
}

static bool mask_origin(Guard *guard, Value *value, Slot slot);

/// Masks what spoils an operation's result: its adjoint operands where these start, else the factors that do. False where it
/// is none of them.
static bool mask_causes(Guard *guard, Op *op, Slot slot) {
    bool found = false;
    for (int i = 0; i < op->operand_count; i++) {
        Slot from =
            op->operands[i] ? finiteness_operand_slot(guard->finiteness, op, i, slot) : NO_SLOT;
        if (from != NO_SLOT && op->operands[i]->op && is_spoilt(guard, op->operands[i], from))
            found = mask_origin(guard, op->operands[i], from) || found;
    }
    if (found || op_rows[op->code].zero != ZERO_ANY) return found;
    for (int i = 0; i < op->operand_count; i++) {
        Value *factor = op->operands[i];
        Slot from = factor ? finiteness_operand_slot(guard->finiteness, op, i, slot) : NO_SLOT;
        if (from == NO_SLOT || !finiteness_varies(guard->finiteness, factor, from) ||
            fact_is_finite(fact_at(guard, factor, from)))
            continue;
        if (mask_load(guard, factor, from)) {
            found = true;
            continue;
        }
        Builder builder = builder_before(guard, op);
        Value *result = masked_below(guard, &builder, factor, from);
        if (!result) continue;
        op_set_operand(op, i, result);
        found = true;
    }
    return found;
}

typedef struct GuardReader {
    const Value *value;
    Op *op;
    int count;
} GuardReader;

static bool visit_reader(void *context, Op *op) {
    GuardReader *reader = context;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] == reader->value) {
            reader->op = op;
            reader->count++;
        }
    return true;
}

/// Masks what is read by a mask made here alone: by this one, too.
static bool mask_further(Guard *guard, Value *value, Slot slot) {
    GuardReader reader = {.value = value};
    region_walk(guard->state->backward->body, visit_reader, &reader);
    if (reader.count != 1 || reader.op->code != OP_WHERE ||
        !map_has_pointer(&guard->made, reader.op->results[0]))
        return false;
    bool is_negated = is_turned(guard);
    if (!is_number(reader.op->operands[is_negated ? 1 : 2], 0)) return false;
    if (is_done(guard, reader.op->results[0], slot)) return false;
    Builder builder = builder_before(guard, reader.op);
    Value *mask = guard_mask(guard, &builder, value, slot);
    if (!mask) return false;
    mask = build_binary(&builder, is_negated ? OP_OR : OP_AND, reader.op->operands[0], mask);
    op_set_operand(reader.op, 0, mask);
    return true;
}

/// What a loop or a branch hands on is masked where that is made: a sum over rows is NaN by one of them.
static bool mask_yielded(Guard *guard, const Value *value, Slot slot) {
    bool found = false;
    for (int r = 0; r < value->op->region_count; r++) {
        const Op *yield = region_terminator(value->op->regions[r]);
        Value *made = yield->code == OP_YIELD ? yield->operands[value->index] : NULL;
        if (made && made->op && is_spoilt(guard, made, slot))
            found = mask_origin(guard, made, slot) || found;
    }
    return found;
}

/// Masks an adjoint, or what it is spoilt by, up to where that starts. False where that cannot be written.
static bool mask_origin(Guard *guard, Value *value, Slot slot) {
    Op *op = value->op;
    if (map_has_pointer(&guard->masked, value)) return true;
    map_set_pointer(&guard->masked, value, value);
    if (op->region_count && guard->condition->is_of_nan) return mask_yielded(guard, value, slot);
    if (!op->region_count && mask_causes(guard, op, slot)) return guard->changed = true;
    if (!guard->condition->is_of_nan && mask_further(guard, value, slot))
        return guard->changed = true;
    Builder builder = builder_before(guard, op);
    builder.before = op->next;
    Value *result = masked(guard, &builder, value, slot);
    if (!result) return false;
    region_replace_uses(guard->state->backward->body, value, result);
    for (int i = 0; i < result->op->operand_count; i++)
        if (result->op->operands[i] == result) op_set_operand(result->op, i, value);
    const Op *mask = result->op->operands[0]->op;
    if (guard->condition->is_of_nan) op_set_operand(mask->operands[0]->op, 0, value);
    return guard->changed = true;
}

static void mask_operand(Guard *guard, Op *op, int index, Slot slot) {
    Value *tile = op->operands[index];
    if (is_spoilt(guard, tile, slot) && tile->op && mask_origin(guard, tile, slot)) return;
    if (mask_load(guard, tile, slot)) return;
    Builder builder = builder_before(guard, op);
    Value *result = masked_below(guard, &builder, tile, slot);
    if (!result) return;
    op_set_operand(op, index, result);
    guard->changed = true;
}

/* ---- where elements that do not count meet others ---- */

/// Whether an access leaves out the elements in `slot`.
static bool is_left_out(const Guard *guard, const Op *op, Slot slot) {
    const Value *mask = access_mask(op);
    return mask && fact_is_false(fact_at(guard, mask, slot));
}

/// What takes over an operand of an op with regions, or of what ends one; NULL where nothing does.
static const Value *carried_value(const Op *op, int index) {
    bool is_yield = op->code == OP_YIELD;
    const Op *owner = is_yield ? op->parent->parent : op;
    bool is_counted = owner->code == OP_FOR || owner->code == OP_STATIC_FOR;
    if (owner->code == OP_IF) return is_yield ? owner->results[index] : NULL;
    if (!is_counted && owner->code != OP_WHILE) return NULL;
    int first = is_counted && !is_yield ? 3 : 0;
    return index < first ? NULL : owner->regions[0]->arguments[index - first + is_counted];
}

/// Whether what operand `index` holds in `slot` comes to elements that count.
static bool reaches_others(const Guard *guard, const Op *op, int index, Slot slot) {
    const Finiteness *finiteness = guard->finiteness;
    if (op->code == OP_STORE || op->code == OP_ATOMIC_ADD)
        return index == 1 && !is_left_out(guard, op, slot);
    const Value *to = NULL;
    Slot place = slot;
    if (op->code == OP_YIELD || op->region_count) {
        to = carried_value(op, index);
        if (!to) return false;
    } else if (op->result_count == 1) {
        int axis;
        to = op->results[0];
        bool is_summed = (op->code == OP_CUMSUM || op->code == OP_CUMPROD) &&
                         reduced_axis(op, &axis) && slot == axis + 1;
        place = is_summed ? NO_SLOT : finiteness_result_slot(finiteness, op, index, slot);
        if (place == NO_SLOT) return finiteness_is_adjoint(finiteness, to);
    }
    if (!to) return op->result_count > 1;
    if (!finiteness_is_adjoint(finiteness, to)) return false;
    Fact fact = fact_at(guard, to, place);
    return !fact.is_zero && !fact_is_finite(fact);
}

static void settle_product(Guard *guard, Op *op) {
    const Finiteness *finiteness = guard->finiteness;
    for (Slot slot = 1; slot < MASK_MOST_SLOTS; slot++) {
        Value *a = op->operands[0], *b = op->operands[1];
        bool is_summed = finiteness_varies(finiteness, a, slot) &&
                         finiteness_result_slot(finiteness, op, 0, slot) == NO_SLOT;
        Slot other = guard->condition->reach == REACH_AXIS && slot <= 2 ? 3 - slot : NO_SLOT;
        if (!is_summed || other == NO_SLOT || !finiteness_varies(finiteness, b, other)) continue;
        Fact facts[] = {fact_at(guard, a, slot), fact_at(guard, b, other)};
        if (!fact_is_spoilt(finiteness_product(facts[0], facts[1]))) continue;
        for (int i = 0; i < 2; i++)
            if (!fact_is_finite(facts[i])) mask_operand(guard, op, i, i ? other : slot);
    }
}

static bool visit_op(void *context, Op *op) {
    Guard *guard = context;
    bool is_product =
        op->code == OP_DOT && finiteness_is_adjoint(guard->finiteness, op->results[0]);
    if (is_product) settle_product(guard, op);
    for (int i = 0; i < op->operand_count; i++)
        for (Slot slot = 0; slot < MASK_MOST_SLOTS; slot++)
            if (is_spoilt(guard, op->operands[i], slot) && reaches_others(guard, op, i, slot))
                mask_operand(guard, op, i, slot);
    return true;
}

enum { MOST_LIFTED = 12 };

static bool can_be_lifted(const Region *branch, const Value *value, int depth) {
    if (!value || !region_defines(branch, value)) return true;
    Op *op = value->op;
    if (!op || op->parent != branch || op->region_count || !op_is_pure(op) || depth == MOST_LIFTED)
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!can_be_lifted(branch, op->operands[i], depth + 1)) return false;
    return true;
}

/// An op that was moved in front of a branch, and the op of the branch that it stood before.
typedef struct LiftedOp {
    Op *op, *next;
    const Region *branch;
} LiftedOp;

typedef struct LiftedOps {
    Arena *arena;
    LIST(LiftedOp) items;
} LiftedOps;

static void lift(LiftedOps *lifted, const Region *branch, const Value *value) {
    if (!value || !region_defines(branch, value)) return;
    Op *op = value->op;
    for (int i = 0; i < op->operand_count; i++) lift(lifted, branch, op->operands[i]);
    if (op->parent != branch) return;
    LIST_PUSH(lifted->arena, &lifted->items, (LiftedOp){op, op->next, branch});
    op_move_before(op, branch->parent);
}

static bool visit_masked_upstream(void *context, Op *op) {
    const Guard *guard = context;
    return op->code != OP_LOAD || !load_is_upstream(guard->state, op) || !access_mask(op);
}

typedef struct Lifting {
    Guard *guard;
    LiftedOps *lifted;
} Lifting;

/// Whether an op is an `if` that a number decides as the kernel runs, and one of its branches loads an upstream gradient under
/// a mask: what it decides by says where that mask leaves elements out.
static bool decides_a_mask(Guard *guard, const Op *op) {
    if (op->code != OP_IF || op->operands[0]->type.is_constexpr) return false;
    for (int r = 0; r < op->region_count; r++)
        if (!region_walk(op->regions[r], visit_masked_upstream, guard)) return true;
    return false;
}

/// `if first: x = where(mask, x, 0)`: the mask is there behind the branch, too, where it may be needed. So is the condition of
/// `if FLAG: if ragged: x = load(p, mask)`.
static bool visit_branch(void *context, Op *op) {
    const Lifting *lifting = context;
    const Op *branch = op->parent->parent;
    bool is_choice = op->code == OP_WHERE && dtype_is_float(op->results[0]->type.element) &&
                     (is_number(op->operands[1], 0) || is_number(op->operands[2], 0));
    bool is_in_branch = branch && branch->code == OP_IF;
    bool is_run = is_in_branch && !branch->operands[0]->type.is_constexpr;
    if ((is_choice && is_run) || (is_in_branch && decides_a_mask(lifting->guard, op)))
        if (can_be_lifted(op->parent, op->operands[0], 0))
            lift(lifting->lifted, op->parent, op->operands[0]);
    return true;
}

/// Whether all that reads the op stands in the region of `next`, which is not NULL, there or behind it.
static bool is_read_from(const Map *readers, const Op *op, const Op *next) {
    for (int i = 0; i < op->result_count; i++) {
        const OpList *list = value_readers(readers, op->results[i]);
        for (LIST_EACH(int, k, *list)) {
            const Op *reader = list->items[k], *at = next;
            while (reader && reader->parent != next->parent) reader = reader->parent->parent;
            while (at && at != reader) at = at->next;
            if (!reader || !at) return false;
        }
    }
    return true;
}

/// What nobody needed behind the branch goes back to its place.
static void put_back(Guard *guard, const LiftedOps *lifted) {
    for (int i = lifted->items.count - 1; i >= 0; i--) {
        const LiftedOp *item = &lifted->items.items[i];
        if (item->next->parent != item->branch) continue;  // it went away
        Map readers = function_readers(guard->arena, guard->state->backward);
        if (is_read_from(&readers, item->op, item->next)) op_move_before(item->op, item->next);
    }
}

void guard_padding(Differentiation *state) {
    enum { ROUNDS = 64 };
    Guard guard = {.state = state,
                   .arena = state->arena,
                   .made = map_new(state->arena),
                   .done = map_new(state->arena)};
    LiftedOps lifted = {.arena = state->arena};
    Lifting lifting = {&guard, &lifted};
    region_walk(state->backward->body, visit_branch, &lifting);
    for (int round = 0; round < ROUNDS; round++) {
        int first_id = state->backward->value_count;
        guard.finiteness = finiteness_new(state);
        guard.changed = false;
        for (int i = 0; i < finiteness_condition_count(guard.finiteness) && !guard.changed; i++) {
            guard.condition = finiteness_condition(guard.finiteness, i);
            guard.masked = map_new(state->arena);
            finiteness_assume(guard.finiteness, i);
            region_walk(state->backward->body, visit_op, &guard);
        }
        guard_drop_vectors(&guard, first_id);
        if (!guard.changed) break;
    }
    put_back(&guard, &lifted);
}

/* ---- masks that are not needed ---- */

/// A choice between a value and 0, and by how many parts of its mask that value is 0 already.
typedef struct GuardChoice {
    Op *op;
    int parts, zeros;
    bool is_needed;  // of what some condition leaves out, the value may be something else
} GuardChoice;

typedef struct GuardChoices {
    LIST(GuardChoice) items;
    Arena *arena;
    const ConditionPart *part;
} GuardChoices;

static int branch_of_zero(const Op *op) {
    return is_number(op->operands[2], 0) ? 2 : is_number(op->operands[1], 0) ? 1 : 0;
}

/// The parts of a mask that hold all together (`is_negated`: of which one may hold). `*is_part`: the one in question is among them.
static int count_parts(const GuardChoices *choices, const Value *mask, bool is_negated,
                       bool *is_part) {
    const Op *op = mask->op;
    int axis;
    if (choices->part && choices->part->is_negated == is_negated &&
        condition_is(choices->part, mask, &axis))
        *is_part = true;
    if (op && op->code == OP_BROADCAST_TO)
        return count_parts(choices, op->operands[0], is_negated, is_part);
    if (!op || !op_joins_truths(op, is_negated)) return 1;
    return count_parts(choices, op->operands[0], is_negated, is_part) +
           count_parts(choices, op->operands[1], is_negated, is_part);
}

static bool visit_choice(void *context, Op *op) {
    GuardChoices *choices = context;
    if (op->code != OP_WHERE || !dtype_is_float(op->results[0]->type.element)) return true;
    int zero = branch_of_zero(op);
    bool ignored = false;
    if (!zero || !same_type(op->operands[3 - zero], op->results[0]) ||
        is_test_of_finite(op->operands[0], op->operands[1]))
        return true;
    GuardChoice choice = {.op = op,
                          .parts = count_parts(choices, op->operands[0], zero == 1, &ignored)};
    LIST_PUSH(choices->arena, &choices->items, choice);
    return true;
}

typedef enum LeftOut { LEAVES_NOTHING_OUT, LEFT_OUT_ZERO, LEFT_OUT_OTHER } LeftOut;

/// What a choice keeps would be in those of its elements that the condition leaves out.
static LeftOut kept_where_left_out(const Guard *guard, const Op *op) {
    const Value *mask = op->operands[0], *kept = op->operands[3 - branch_of_zero(op)];
    LeftOut found = LEAVES_NOTHING_OUT;
    for (Slot slot = 0; slot < MASK_MOST_SLOTS; slot++) {
        bool is_own = guard->condition->reach == REACH_ALL ? slot == SLOT_COUNTS : slot > 0;
        Fact truth = fact_at(guard, mask, slot);
        bool leaves_out = branch_of_zero(op) == 2 ? fact_is_false(truth) : fact_is_true(truth);
        if (!is_own || !finiteness_varies(guard->finiteness, mask, slot) || !leaves_out) continue;
        found = LEFT_OUT_ZERO;
        Fact fact = fact_at(guard, kept, slot);
        if (!fact_is(fact, 0) || fact.counts) return LEFT_OUT_OTHER;
    }
    return found;
}

/// Whether what a choice keeps is an adjoint, whose choices are ours. One that the author wrote stays: it may be there for a block in
/// which no element counts, where a running maximum is -inf still, and `exp(-inf - -inf)` is NaN.
static bool is_meant_as_zero(const Guard *guard, const Op *op) {
    return finiteness_is_adjoint(guard->finiteness, op->operands[3 - branch_of_zero(op)]);
}

void guard_drop_needless(Differentiation *state) {
    Guard guard = {.state = state, .arena = state->arena, .finiteness = finiteness_new(state)};
    GuardChoices choices = {.arena = state->arena};
    region_walk(state->backward->body, visit_choice, &choices);
    for (int i = 0; choices.items.count && i < finiteness_condition_count(guard.finiteness); i++) {
        guard.condition = finiteness_condition(guard.finiteness, i);
        if (guard.condition->part_count > 1) continue;
        finiteness_assume(guard.finiteness, i);
        choices.part = &guard.condition->parts[0];
        for (LIST_EACH(int, k, choices.items)) {
            GuardChoice *choice = &choices.items.items[k];
            bool is_part = false;
            count_parts(&choices, choice->op->operands[0], branch_of_zero(choice->op) == 1,
                        &is_part);
            LeftOut kept = kept_where_left_out(&guard, choice->op);
            choice->zeros +=
                is_part && is_meant_as_zero(&guard, choice->op) && kept == LEFT_OUT_ZERO;
            // A mask that a branch chose is one part, and may leave out whole rows, which the part takes to count.
            choice->is_needed = choice->is_needed || kept == LEFT_OUT_OTHER;
        }
    }
    for (LIST_EACH(int, k, choices.items)) {
        const GuardChoice *choice = &choices.items.items[k];
        Op *op = choice->op;
        if (choice->zeros < choice->parts || choice->is_needed) continue;
        Value *kept = op->operands[3 - branch_of_zero(op)];
        region_replace_uses(state->backward->body, op->results[0], kept);
        op_remove(op);
    }
}
