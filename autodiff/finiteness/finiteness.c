// Values of a backward followed under the assumption that a condition fails, op by op, loops until nothing changes.
#include <math.h>

#include "analysis/ir/walk.h"
#include "autodiff/finiteness/finiteness_parts.h"

int finiteness_condition_count(const Finiteness *finiteness) {
    return finiteness->conditions.count;
}

const Condition *finiteness_condition(const Finiteness *finiteness, int index) {
    return &finiteness->conditions.items[index];
}

bool finiteness_is_adjoint(const Finiteness *finiteness, const Value *value) {
    return value && map_has_pointer(&finiteness->adjoints, value);
}

Fact finiteness_fact(const Finiteness *finiteness, const Value *value, Slot slot) {
    double number;
    if (!value) return fact_data(true);
    if (value_is_number(value, &number)) return fact_number(number);
    if (!finiteness_varies(finiteness, value, slot)) slot = SLOT_COUNTS;
    bool is_known = value->id < finiteness->fact_count && finiteness->facts[value->id].is_known;
    if (is_known) return finiteness->facts[value->id].slots[slot];
    if (!value->op) {  // a parameter
        Fact fact = fact_data(true);
        fact.low = fact.peak = 1 / LARGEST;
        return fact;
    }
    return fact_data(slot == SLOT_COUNTS);
}

/* ---- the walk ---- */

static void set_facts(Finiteness *finiteness, const Value *value, const Facts *facts) {
    if (value->id >= finiteness->fact_count) return;
    finiteness->facts[value->id] = *facts;
    finiteness->facts[value->id].is_known = true;
}

static Facts get_facts(const Finiteness *finiteness, const Value *value) {
    Facts facts = {.is_known = true};
    for (Slot slot = 0; slot < MASK_MOST_SLOTS; slot++)
        facts.slots[slot] = finiteness_fact(finiteness, value, slot);
    return facts;
}

/// What a part of the condition is under the assumption, in its own slot; false of other values.
static bool is_assumed(const Finiteness *finiteness, const Value *value, Slot slot, Fact *fact) {
    const Condition *condition = finiteness->condition;
    for (int p = 0; p < condition->part_count; p++) {
        const ConditionPart *part = &condition->parts[p];
        int axis;
        if (!condition_is(part, value, &axis)) continue;
        Slot own = part->reach == REACH_ALL    ? SLOT_COUNTS
                   : part->reach == REACH_AXIS ? axis + 1
                                               : SLOT_TILE;
        if (slot != own) continue;
        *fact = fact_number(part->is_negated);
        fact->counts = part->reach != condition->reach;  // a branch that all elements take
        return true;
    }
    return false;
}

/// What the assumption says of a value that its condition compares with a number: `x == 0` holds, `x > 0` fails.
static Fact fact_narrowed(const Finiteness *finiteness, const Value *value, Slot slot, Fact fact) {
    const Condition *condition = finiteness->condition;
    const ConditionPart *part = &condition->parts[0];
    for (int i = 0; condition->part_count == 1 && i < part->values.count; i++) {
        const Op *test = part->values.items[i]->op;
        double bound;
        bool is_test = test && op_is_comparison(test->code) && test->operands[0] == value &&
                       value_is_number(test->operands[1], &bound) && value_is_float(value);
        Slot own = condition->reach == REACH_ALL    ? SLOT_COUNTS
                   : condition->reach == REACH_AXIS ? part->axis + 1
                                                    : SLOT_TILE;
        if (!is_test || slot != own) continue;
        Fact narrow = fact_of_test(test->code, part->is_negated, bound, fact);
        if (narrow.low > narrow.high)
            narrow = fact_of_test(test->code, part->is_negated, bound, fact_anything());
        narrow.counts = false;
        return narrow;
    }
    return fact;
}

/// Of what a branch chooses: it may be the condition.
static void set_assumed(Finiteness *finiteness, const Value *value) {
    if (!value_is_truth(value)) return;
    Facts facts = get_facts(finiteness, value);
    for (Slot slot = 0; slot < MASK_MOST_SLOTS; slot++)
        is_assumed(finiteness, value, slot, &facts.slots[slot]);
    set_facts(finiteness, value, &facts);
}

static void follow_op(Finiteness *finiteness, const Op *op) {
    Facts facts = {.is_known = true};
    for (int i = 0; i < op->result_count; i++) {
        const Value *value = op->results[i];
        for (Slot slot = 0; slot < MASK_MOST_SLOTS; slot++) {
            if (!finiteness_varies(finiteness, value, slot)) continue;
            if (!is_assumed(finiteness, value, slot, &facts.slots[slot]))
                facts.slots[slot] =
                    fact_narrowed(finiteness, value, slot, fact_of_op(finiteness, op, slot));
            if (finiteness->condition->is_of_nan && value_is_truth(value))
                facts.slots[slot].counts = false;  // a mask may leave out all there are
        }
        set_facts(finiteness, value, &facts);
    }
}

static bool fact_equals(Fact a, Fact b) {
    return a.low == b.low && a.high == b.high && a.peak == b.peak && a.may_be_nan == b.may_be_nan &&
           a.counts == b.counts && a.is_zero == b.is_zero && a.slope == b.slope;
}

/// What grows from one iteration to the next grows without bound.
static Fact widened(Fact before, Fact joined) {
    if (joined.low < before.low) joined.low = isinf(joined.low) ? joined.low : -LARGEST;
    if (joined.high > before.high) joined.high = isinf(joined.high) ? joined.high : LARGEST;
    if (joined.peak < before.peak) joined.peak = joined.low;
    return joined;
}

/// Joins into what is known of `value`; whether that changed it.
static bool join_facts(Finiteness *finiteness, const Value *value, const Facts *next, bool widens) {
    Facts now = get_facts(finiteness, value);
    bool changed = false;
    for (Slot slot = 0; slot < MASK_MOST_SLOTS; slot++) {
        Fact joined = fact_join(now.slots[slot], next->slots[slot]);
        if (widens) joined = widened(now.slots[slot], joined);
        changed = changed || !fact_equals(joined, now.slots[slot]);
        now.slots[slot] = joined;
    }
    set_facts(finiteness, value, &now);
    return changed;
}

static void follow_region(Finiteness *finiteness, const Region *region);

static bool is_made_in(const Op *loop, const Value *value) {
    for (int r = 0; r < loop->region_count; r++)
        if (region_defines(loop->regions[r], value)) return true;
    return false;
}

/// Whether a value may be another one in the next iteration of a loop.
static intptr_t may_change(ValueWalk *walk, const Value *value) {
    const Op *op = value ? value->op : NULL;
    if (!value || !is_made_in(walk->context, value)) return false;
    if (!op || op->region_count || !op_is_pure(op)) return true;
    for (int i = 0; i < op->operand_count; i++)
        if (walk_ask(walk, op->operands[i])) return true;
    return false;
}

/// In an earlier iteration a condition of this one may have held.
static bool condition_changes_in(const Finiteness *finiteness, const Op *loop) {
    const Condition *condition = finiteness->condition;
    ValueWalk walk;
    walk_start(&walk, may_change, true, loop);
    for (int p = 0; p < condition->part_count; p++)
        for (LIST_EACH(int, i, condition->parts[p].values))
            if (walk_ask(&walk, condition->parts[p].values.items[i])) return true;
    return false;
}

static Facts facts_of_before(Facts facts) {
    for (Slot slot = 1; slot < MASK_MOST_SLOTS; slot++) {
        facts.slots[slot] = fact_join(facts.slots[slot], facts.slots[SLOT_COUNTS]);
        facts.slots[slot].is_zero = false;
    }
    if (!facts.slots[SLOT_COUNTS].counts)
        facts.slots[SLOT_COUNTS] = fact_trusted(facts.slots[SLOT_COUNTS]);
    facts.slots[SLOT_COUNTS].is_zero = false;
    return facts;
}

/// What a loop ends with. One that starts alike where elements count has run, or would leave the same there.
static Facts facts_after(Facts start, Facts carried, Facts last) {
    for (Slot slot = 0; slot < MASK_MOST_SLOTS; slot++) {
        Fact after = last.slots[slot];
        if (!start.slots[slot].counts) after = fact_join(start.slots[slot], after);
        after.is_zero = carried.slots[slot].is_zero;
        after.counts = carried.slots[slot].counts;
        last.slots[slot] = after;
    }
    return last;
}

/// The slot of a tile whose rows a sum goes over: the sum has one axis less, its last one.
static Slot norm_slot(const Finiteness *finiteness, const Value *tile, const Value *sum,
                      Slot slot) {
    if (slot == SLOT_COUNTS || finiteness->condition->reach != REACH_AXIS) return NO_SLOT;
    bool is_shorter = sum->type.rank + 1 == tile->type.rank;
    Slot from = is_shorter ? slot + 1 : slot;
    return from < MASK_MOST_SLOTS && finiteness_varies(finiteness, tile, from) ? from : NO_SLOT;
}

static void forget_carried(Finiteness *finiteness, const Op *loop, int argument) {
    Facts nothing = {.is_known = true};
    for (Slot slot = 0; slot < MASK_MOST_SLOTS; slot++) nothing.slots[slot] = fact_anything();
    for (int i = 0; i < loop->result_count; i++)
        for (int r = 0; r < loop->region_count; r++)
            set_facts(finiteness, loop->regions[r]->arguments[argument + i], &nothing);
}

static void follow_loop(Finiteness *finiteness, const Op *op) {
    enum { ROUNDS = 8, ROUNDS_AS_THEY_ARE = 2 };
    bool is_while = op->code == OP_WHILE, changes = condition_changes_in(finiteness, op);
    int first = is_while ? 0 : 3, argument = is_while ? 0 : 1;
    const Region *body = op->regions[is_while ? 1 : 0];
    if (!is_while) {
        Facts index = {.is_known = true};
        for (Slot slot = 0; slot < MASK_MOST_SLOTS; slot++) index.slots[slot] = fact_data(true);
        set_facts(finiteness, body->arguments[0], &index);
    }
    for (int i = 0; i < op->result_count; i++) {
        Facts start = get_facts(finiteness, op->operands[first + i]);
        for (int r = 0; r < op->region_count; r++)
            set_facts(finiteness, op->regions[r]->arguments[argument + i], &start);
    }
    for (int round = 0; round < ROUNDS; round++) {
        bool changed = false;
        for (int r = 0; r < op->region_count; r++) follow_region(finiteness, op->regions[r]);
        const Op *yield = region_terminator(body);
        for (int i = 0; i < op->result_count; i++) {
            Facts next = get_facts(finiteness, yield->operands[i]);
            if (changes) next = facts_of_before(next);
            for (int r = 0; r < op->region_count; r++)
                changed = join_facts(finiteness, op->regions[r]->arguments[argument + i], &next,
                                     round >= ROUNDS_AS_THEY_ARE) ||
                          changed;
        }
        if (!changed) break;
        if (round + 1 < ROUNDS) continue;
        forget_carried(finiteness, op, argument);  // not settled: nothing is known
        for (int r = 0; r < op->region_count; r++) follow_region(finiteness, op->regions[r]);
    }
    for (int i = 0; i < op->result_count; i++) {
        Facts last = get_facts(finiteness, op->regions[0]->arguments[argument + i]);
        if (!finiteness_is_adjoint(finiteness, op->results[i]))
            last = facts_after(get_facts(finiteness, op->operands[first + i]), last,
                               get_facts(finiteness, region_terminator(body)->operands[i]));
        const Value *normalized = running_norm_of(op, i);
        for (Slot slot = 0; normalized && slot < MASK_MOST_SLOTS; slot++) {
            Fact *norm = &last.slots[slot];
            Slot from = norm_slot(finiteness, normalized, op->results[i], slot);
            if (from == NO_SLOT || norm->may_be_nan ||
                !isfinite(finiteness_fact(finiteness, normalized, from).peak))
                continue;
            norm->low = fmax(norm->low, 1);
            norm->peak = fmax(norm->peak, norm->low);
        }
        set_facts(finiteness, op->results[i], &last);
    }
}

static void follow_branch(Finiteness *finiteness, const Op *op) {
    for (int r = 0; r < 2; r++) follow_region(finiteness, op->regions[r]);
    Fact condition = finiteness_fact(finiteness, op->operands[0], SLOT_COUNTS);
    for (int i = 0; i < op->result_count; i++) {
        Facts branches[2];
        for (int r = 0; r < 2; r++)
            branches[r] = get_facts(finiteness, region_terminator(op->regions[r])->operands[i]);
        bool is_first = fact_is_true(condition), is_known = is_first || fact_is_false(condition);
        Facts *taken = &branches[is_known && !is_first];
        if (is_known && !condition.counts && finiteness_is_adjoint(finiteness, op->results[i]))
            for (Slot slot = 0; slot < MASK_MOST_SLOTS; slot++)
                if (fact_is(taken->slots[slot], 0)) {
                    taken->slots[slot].is_zero = true;
                    taken->slots[slot].counts = false;
                }
        set_facts(finiteness, op->results[i], taken);
        if (!is_known) join_facts(finiteness, op->results[i], &branches[1], false);
        set_assumed(finiteness, op->results[i]);
    }
}

static void follow_region(Finiteness *finiteness, const Region *region) {
    for (const Op *op = region->first; op; op = op->next) {
        if (op_is_loop(op->code))
            follow_loop(finiteness, op);
        else if (op->code == OP_IF)
            follow_branch(finiteness, op);
        else if (op->result_count)
            follow_op(finiteness, op);
    }
}

void finiteness_assume(Finiteness *finiteness, int index) {
    finiteness->condition = &finiteness->conditions.items[index];
    for (int i = 0; i < finiteness->fact_count; i++) finiteness->facts[i].is_known = false;
    follow_region(finiteness, finiteness->state->backward->body);
}

/* ---- adjoints ---- */

typedef struct AdjointWalk {
    Finiteness *finiteness;
    bool changed;
} AdjointWalk;

/// Whether a value is one number in every lane. A loop may begin an adjoint with a 0 that the forward uses as well.
static bool is_constant(const Value *value) {
    const Op *op = value->op;
    if (op && op->code == OP_FULL) return is_constant(op->operands[1]);
    if (op && (op->code == OP_CAST || op->code == OP_BROADCAST_TO))
        return is_constant(op->operands[0]);
    return value->constant;
}

static void mark_adjoint(AdjointWalk *walk, const Value *value) {
    if (!value_is_float(value) || is_constant(value) ||
        map_has_pointer(&walk->finiteness->adjoints, value))
        return;
    map_set_pointer(&walk->finiteness->adjoints, value, (void *)1);
    walk->changed = true;
}

/// What a loop or a branch hands on, from or to the values around it.
static void visit_carried(AdjointWalk *walk, const Op *op) {
    const Finiteness *finiteness = walk->finiteness;
    bool is_loop = op->code != OP_IF;
    int first = op->code == OP_WHILE ? 0 : 3, argument = op->code == OP_WHILE ? 0 : 1;
    for (int i = 0; i < op->result_count; i++) {
        LIST(const Value *) values = {0};
        LIST_PUSH(finiteness->arena, &values, op->results[i]);
        if (is_loop) LIST_PUSH(finiteness->arena, &values, op->operands[first + i]);
        for (int r = 0; r < op->region_count; r++) {
            const Op *yield = region_terminator(op->regions[r]);
            if (yield->code == OP_YIELD) LIST_PUSH(finiteness->arena, &values, yield->operands[i]);
            if (is_loop)
                LIST_PUSH(finiteness->arena, &values, op->regions[r]->arguments[argument + i]);
        }
        bool is_adjoint = false;
        for (LIST_EACH(int, k, values))
            is_adjoint = is_adjoint || finiteness_is_adjoint(finiteness, values.items[k]);
        for (int k = 0; is_adjoint && k < values.count; k++) mark_adjoint(walk, values.items[k]);
    }
}

/// What is computed from an adjoint is one; so is what is added to one, or stored as a gradient.
static bool visit_adjoint(void *context, Op *op) {
    AdjointWalk *walk = context;
    const Finiteness *finiteness = walk->finiteness;
    if (op_is_loop(op->code) || op->code == OP_IF) {
        visit_carried(walk, op);
        return true;
    }
    bool is_adjoint = op->code == OP_LOAD && load_is_upstream(finiteness->state, op);
    for (int i = 0; i < op->operand_count && op->code != OP_LOAD; i++)
        is_adjoint = is_adjoint || finiteness_is_adjoint(finiteness, op->operands[i]);
    for (int i = 0; i < op->result_count && !is_adjoint; i++)
        is_adjoint = finiteness_is_adjoint(finiteness, op->results[i]);
    for (int i = 0; is_adjoint && i < op->result_count; i++) mark_adjoint(walk, op->results[i]);
    bool is_sum = op_rows[op->code].traits & TRAIT_LINEAR && op->code != OP_FULL;
    for (int i = 0; is_adjoint && i < op->operand_count; i++)
        if (op->operands[i] && (is_sum || (i == 0 && op->code == OP_DIV)))
            mark_adjoint(walk, op->operands[i]);
    return true;
}

Finiteness *finiteness_new(const Differentiation *state) {
    Finiteness *finiteness = ARENA_NEW(state->arena, Finiteness);
    *finiteness = (Finiteness){.state = state,
                               .arena = state->arena,
                               .conditions = conditions_find(state),
                               .adjoints = map_new(state->arena),
                               .fact_count = state->backward->value_count};
    finiteness->facts = ARENA_ARRAY(state->arena, Facts, finiteness->fact_count + 1);
    AdjointWalk walk = {finiteness, true};
    while (walk.changed) {
        walk.changed = false;
        region_walk(state->backward->body, visit_adjoint, &walk);
    }
    return finiteness;
}
