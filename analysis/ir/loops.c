// Classifies what a loop carries by looking at how the yielded value comes from the region argument.
#include <math.h>
#include <string.h>

#include "analysis/ir/loops.h"
#include "analysis/ir/walk.h"

enum { DEPTH_LIMIT = 200 };

/// One loop under classification.
typedef struct Classifier {
    Arena *arena;
    const Op *loop;
    Region *body;
    Map uses;   // Value -> number of uses in the body and below, plus one so that 0 is "not seen"
    Map inner;  // loop inside -> its Carried array
} Classifier;

const char *carried_class_name(CarriedClass class) {
    static const char *const names[] = {
        [CARRIED_UNCHANGED] = "unchanged",
        [CARRIED_INDUCTION] = "induction",
        [CARRIED_SUM] = "sum",
        [CARRIED_GAUGE] = "gauge",
        [CARRIED_RECURRENCE] = "recurrence",
    };
    return names[class];
}

static bool is_pure(const Op *op) { return !op->region_count && !op_rows[op->code].effects; }

static intptr_t invariant_within(ValueWalk *walk, const Value *value) {
    const Op *loop = walk->context;
    if (!value || value->constant) return true;
    if (!region_defines(loop->regions[0], value)) return true;
    if (!value->op || !is_pure(value->op)) return false;
    for (int i = 0; i < value->op->operand_count; i++)
        if (!walk_ask(walk, value->op->operands[i])) return false;
    return true;
}

bool op_is_within(const Op *op, const Op *around) {
    for (; op; op = op->parent ? op->parent->parent : NULL)
        if (op == around) return true;
    return false;
}

bool loop_invariant(const Op *loop, const Value *value) {
    return walk_from(value, invariant_within, false, loop);
}

/* ---- dependence ---- */

typedef LIST(const Value *) Worklist;

static void push_new(Arena *arena, Map *seen, Worklist *work, const Value *value) {
    if (!value || map_has_pointer(seen, value)) return;
    map_set_pointer(seen, value, &work->count);
    LIST_PUSH(arena, work, value);
}

/// The operand of `region`'s terminator at `index`, or NULL.
static Value *yielded(const Region *region, int index) {
    const Op *end = region_terminator(region);
    return end && index < end->operand_count ? end->operands[index] : NULL;
}

static void push_argument_sources(Arena *arena, Map *seen, Worklist *work, const Value *value) {
    const Op *owner = value->region->parent;
    if (!owner) return;
    bool counted = owner->code == OP_FOR || owner->code == OP_STATIC_FOR;
    if (counted && value->index == 0) {
        for (int i = 0; i < 3 && i < owner->operand_count; i++)
            push_new(arena, seen, work, owner->operands[i]);
        return;
    }
    if (counted || owner->code == OP_WHILE) {
        int carried = counted ? value->index - 1 : value->index;
        int operand = counted ? carried + 3 : carried;
        if (operand < owner->operand_count) push_new(arena, seen, work, owner->operands[operand]);
        push_new(arena, seen, work, yielded(owner->regions[owner->region_count - 1], carried));
        return;
    }
    for (int i = 0; i < owner->operand_count; i++) push_new(arena, seen, work, owner->operands[i]);
}

bool value_depends_on(Arena *arena, const Value *value, const Value *on, const Value *stop) {
    Map seen = map_new(arena);
    Worklist work = {0};
    push_new(arena, &seen, &work, value);
    while (work.count) {
        const Value *next = work.items[--work.count];
        if (next == on) return true;
        if (next == stop) continue;
        if (!next->op) {
            if (next->region) push_argument_sources(arena, &seen, &work, next);
            continue;
        }
        const Op *op = next->op;
        // of what a loop carries beside this, only what the body makes it of
        bool is_loop = op_is_loop(op->code);
        int first = op->code == OP_WHILE ? 0 : 3;
        for (int i = 0; i < op->operand_count; i++)
            if (!is_loop || i < first || i == first + next->index)
                push_new(arena, &seen, &work, op->operands[i]);
        for (int i = 0; i < op->region_count; i++) {
            const Op *end = region_terminator(op->regions[i]);
            if (!end) continue;
            if (end->code == OP_CONDITION) push_new(arena, &seen, &work, end->operands[0]);
            push_new(arena, &seen, &work, yielded(op->regions[i], next->index));
        }
    }
    return false;
}

/* ---- uses ---- */

static bool count_operands(void *context, Op *op) {
    Classifier *classifier = context;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        uintptr_t count = (uintptr_t)map_get_pointer(&classifier->uses, op->operands[i]);
        map_set_pointer(&classifier->uses, op->operands[i], (void *)(count + 1));
    }
    return true;
}

static int use_count(const Classifier *classifier, const Value *value) {
    return (int)(uintptr_t)map_get_pointer(&classifier->uses, value);
}

/* ---- inductions ---- */

static bool is_address_like(const Value *value) {
    switch (value->type.kind) {
    case TYPE_NUMBER:
        return dtype_is_integer(value->type.element) || value->type.element.code == DTYPE_ANY_INT;
    case TYPE_POINTER:
    case TYPE_BLOCK_POINTER: return true;
    default: return false;
    }
}

static bool classify_induction(const Classifier *classifier, const Value *argument, Value *next,
                               Carried *carried) {
    const Op *op = next->op;
    if (!op || !is_address_like(argument)) return false;
    Value *step = NULL;
    if (op->code == OP_ADD && op->operands[0] == argument)
        step = op->operands[1];
    else if (op->code == OP_ADD && op->operands[1] == argument)
        step = op->operands[0];
    else if (op->code == OP_SUB && op->operands[0] == argument)
        step = op->operands[1];
    else if (op->code == OP_ADVANCE && op->operands[0] == argument)
        step = op->operands[1];
    if (!step || !loop_invariant(classifier->loop, step)) return false;
    carried->class = CARRIED_INDUCTION;
    carried->step = step;
    carried->negated = op->code == OP_SUB;
    return true;
}

/* ---- sums ---- */

typedef struct Chain {
    LIST(Op *) links;
    bool negated;
} Chain;

static Value *walk_link(Classifier *classifier, Value *value, const Value *argument, Chain *chain,
                        int *used, int depth);

/// The operand of `op` that the sum runs through: the one that depends on the argument, by another way than through `stop`
/// (may be NULL). -1 where it is no link.
static int link_operand(const Classifier *classifier, const Op *op, const Value *argument,
                        const Value *stop) {
    int candidates[2] = {-1, -1};
    switch (op->code) {
    case OP_ADD:
        candidates[0] = 0;
        candidates[1] = 1;
        break;
    case OP_SUB:
    case OP_CAST: candidates[0] = 0; break;
    case OP_FMA: candidates[0] = 2; break;
    case OP_DOT: candidates[0] = op_parameter_index(op->code, STR("acc")); break;
    default: return -1;
    }
    int found = -1;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        if (!value_depends_on(classifier->arena, op->operands[i], argument, stop)) continue;
        if (found >= 0 || (i != candidates[0] && i != candidates[1])) return -1;
        found = i;
    }
    if (found >= 0 && op->code == OP_CAST &&
        !type_equal(op->operands[0]->type, op->results[0]->type))
        return -1;
    return found;
}

/// An `if` whose branches both continue one sum. Returns the value that they continue, `*used` of its uses.
static Value *walk_branches(Classifier *classifier, Value *value, const Value *argument,
                            Chain *chain, int *used, int depth) {
    Op *op = value->op;
    Value *base = NULL;
    if (value_depends_on(classifier->arena, op->operands[0], argument, NULL)) return NULL;
    for (int i = 0; i < op->region_count; i++) {
        Chain branch = {0};
        Value *current = yielded(op->regions[i], value->index);
        int uses = 1;  // of `current`, by what was walked
        while (current && region_defines(op->regions[i], current)) {
            if (use_count(classifier, current) != uses) return NULL;
            current = walk_link(classifier, current, argument, &branch, &uses, depth + 1);
        }
        if (!current || (base && base != current)) return NULL;
        base = current;
        for (int k = 0; k < branch.links.count; k++)
            LIST_PUSH(classifier->arena, &chain->links, branch.links.items[k]);
        *used += uses;
    }
    return base;
}

/// Once for each inner loop: nests of loops that carry many values would otherwise be classified over and over.
static const Carried *classify_inner(Classifier *classifier, const Op *loop) {
    Carried *known = map_get_pointer(&classifier->inner, loop);
    if (known) return known;
    known = loop_classify(classifier->arena, loop);
    map_set_pointer(&classifier->inner, loop, known);
    return known;
}

/// One step from `value` towards the argument: the value before the link and how often the link uses it, or NULL.
static Value *walk_link(Classifier *classifier, Value *value, const Value *argument, Chain *chain,
                        int *used, int depth) {
    Op *op = value->op;
    if (!op || depth > DEPTH_LIMIT) return NULL;
    *used = 1;
    LIST_PUSH(classifier->arena, &chain->links, op);
    if (op->code == OP_IF) {
        *used = 0;
        return walk_branches(classifier, value, argument, chain, used, depth);
    }
    if (op->code == OP_FOR || op->code == OP_STATIC_FOR) {
        CarriedClass inner = classify_inner(classifier, op)[value->index].class;
        bool sums = inner == CARRIED_SUM || inner == CARRIED_UNCHANGED;
        return sums ? op->operands[3 + value->index] : NULL;
    }
    int operand = link_operand(classifier, op, argument, NULL);
    return operand < 0 ? NULL : op->operands[operand];
}

static bool classify_sum(Classifier *classifier, Value *argument, Value *next, Carried *carried) {
    Chain chain = {0};
    Value *value = next;
    int uses = 1;
    for (int depth = 0; value && depth < DEPTH_LIMIT; depth++) {
        // A partial sum that something else reads is a prefix sum.
        if (use_count(classifier, value) != uses) return false;
        if (value == argument) break;
        value = walk_link(classifier, value, argument, &chain, &uses, depth);
    }
    if (value != argument) return false;
    carried->class = CARRIED_SUM;
    carried->links = chain.links.items;
    carried->link_count = chain.links.count;
    if (chain.links.count != 1) return true;
    Op *link = chain.links.items[0];
    if (op_is_product(link->code)) carried->dot = link;
    if (link->code == OP_ADD) carried->term = link->operands[link->operands[0] == argument];
    if (link->code == OP_SUB) {
        carried->term = link->operands[1];
        carried->negated = true;
    }
    return true;
}

/* ---- gauges ---- */

static const Value *strip_shape(const Value *value) {
    for (int i = 0; i < DEPTH_LIMIT && value && value->op; i++) {
        OpCode code = value->op->code;
        if (code != OP_CAST && !op_has(code, TRAIT_ORDERED)) break;
        value = value->op->operands[0];
    }
    return value;
}

static bool is_minus_infinity(const Value *value) {
    double number;
    value = strip_shape(value);
    if (value && value->op && value->op->code == OP_FULL) value = value->op->operands[1];
    return value && value_is_number(value, &number) && isinf(number) && number < 0;
}

/// The gauge below `where(m == -inf, 0, m)`: where nothing was seen yet, what it rescales is 0.
static const Value *strip_guard(const Value *value) {
    value = strip_shape(value);
    if (!value || !value->op || value->op->code != OP_WHERE) return value;
    const Op *condition = value->op->operands[0]->op;
    if (!condition || (condition->code != OP_EQ && condition->code != OP_NE)) return value;
    const Value *kept = strip_shape(value->op->operands[condition->code == OP_EQ ? 2 : 1]);
    const Value *limit = strip_shape(condition->operands[1]);
    double number;
    if (limit && limit->op && limit->op->code == OP_FULL) limit = limit->op->operands[1];
    bool is_infinite = limit && value_is_number(limit, &number) && isinf(number);
    return is_infinite && strip_shape(condition->operands[0]) == kept ? kept : value;
}

/// Whether `b` is `a` with `from` replaced by `to`: g(m) against g(m').
static bool equal_within(const Classifier *classifier, ValueWalk *walk, const Value *a,
                         const Value *b, const Value *from, const Value *to) {
    a = strip_shape(a);
    b = strip_shape(b);
    if (!a || !b) return a == b;
    if (a == from) return b == to;
    if (a == b) return loop_invariant(classifier->loop, a);
    if (!a->op || !b->op || a->op->code != b->op->code || !is_pure(a->op)) return false;
    if (a->op->operand_count != b->op->operand_count) return false;
    if (a->constant && b->constant) {
        double x, y;
        return value_is_number(a, &x) && value_is_number(b, &y) && !(x < y) && !(x > y);
    }
    WalkPair pair = walk_pair(walk, a, b);
    if (pair != WALK_PAIR_NEW) return pair == WALK_PAIR_KNOWN;
    for (int i = 0; i < a->op->operand_count; i++)
        if (!equal_within(classifier, walk, a->op->operands[i], b->op->operands[i], from, to))
            return false;
    return a->op->operand_count > 0;
}

static bool equal_replacing(const Classifier *classifier, const Value *a, const Value *b,
                            const Value *from, const Value *to) {
    ValueWalk walk;
    walk_start(&walk, NULL, 0, NULL);
    return equal_within(classifier, &walk, a, b, from, to);
}

typedef struct Cocycle {
    const Classifier *classifier;
    const Value *gauge, *next;
} Cocycle;

/// r(m, m') with r(a, b) r(b, c) = r(a, c): exp(g(m) - g(m')), g(m) / g(m'), their inverses and products.
static intptr_t is_cocycle(ValueWalk *walk, const Value *factor) {
    const Cocycle *cocycle = walk->context;
    const Classifier *classifier = cocycle->classifier;
    const Value *gauge = cocycle->gauge, *next = cocycle->next;
    factor = strip_shape(factor);
    if (!factor || !factor->op) return false;
    const Op *op = factor->op;
    if (op->code == OP_MUL)
        return walk_ask(walk, op->operands[0]) && walk_ask(walk, op->operands[1]);
    const Op *pair = op;
    if (op->code == OP_EXP || op->code == OP_EXP2) {
        const Value *difference = strip_shape(op->operands[0]);
        // A scale that does not change factors out of the difference.
        for (int i = 0; i < 4 && difference && difference->op && difference->op->code == OP_MUL;
             i++) {
            Value **sides = difference->op->operands;
            if (loop_invariant(classifier->loop, sides[0]))
                difference = strip_shape(sides[1]);
            else if (loop_invariant(classifier->loop, sides[1]))
                difference = strip_shape(sides[0]);
            else
                break;
        }
        if (!difference || !difference->op || difference->op->code != OP_SUB) return false;
        pair = difference->op;
    } else if (op->code != OP_DIV) {
        return false;
    }
    const Value *one = strip_guard(pair->operands[0]), *other = strip_guard(pair->operands[1]);
    return equal_replacing(classifier, one, other, gauge, next) ||
           equal_replacing(classifier, other, one, gauge, next);
}

static bool is_zero(const Value *value) {
    double number;
    value = strip_shape(value);
    if (value && value->op && value->op->code == OP_FULL) value = value->op->operands[1];
    return value && value_is_number(value, &number) && number == 0;
}

/// Whether the gauge never falls: a running maximum.
static bool is_running_maximum(const Value *gauge, const Value *next) {
    const Op *op = strip_shape(next)->op;
    return op && op->code == OP_MAXIMUM &&
           (strip_shape(op->operands[0]) == gauge || strip_shape(op->operands[1]) == gauge);
}

/// Whether a state is 0 for as long as a running maximum is -inf, so that it may be written as 0 there.
static bool is_zero_until_seen(const Classifier *classifier, const Value *argument,
                               const Value *written, const Value *gauge, const Value *gauge_next) {
    return is_zero(written) && is_zero(classifier->loop->operands[2 + argument->index]) &&
           is_running_maximum(gauge, gauge_next);
}

/// Of `where(m == -inf, s, s')`, what the state becomes once something was seen: s'. Before that it is what it started as, which the
/// first rescaling makes 0; or it started as 0, which may stand in its place. NULL: it is no such choice.
static Value *once_seen(const Classifier *classifier, const Op *op, const Value *argument,
                        const Value *gauge, const Value *gauge_next) {
    const Op *condition = op->code == OP_WHERE ? op->operands[0]->op : NULL;
    if (!condition || (condition->code != OP_EQ && condition->code != OP_NE)) return NULL;
    int kept = condition->code == OP_EQ ? 1 : 2;
    if (strip_shape(condition->operands[0]) != gauge_next ||
        !is_minus_infinity(condition->operands[1]))
        return NULL;
    bool is_guard = strip_shape(op->operands[kept]) == argument ||
                    is_zero_until_seen(classifier, argument, op->operands[kept], gauge, gauge_next);
    return is_guard ? op->operands[3 - kept] : NULL;
}

/// Whether `next` = argument * r + f, r a cocycle of the gauge, f free of the argument and of the old gauge but for what the
/// new one is made of. Sets `*factor`.
static bool is_rescaled(Classifier *classifier, const Value *argument, Value *next,
                        const Value *gauge, const Value *gauge_next, Value **factor) {
    Value *value = next;
    for (int depth = 0; depth < DEPTH_LIMIT; depth++) {
        const Op *op = value->op;
        if (!op) return false;
        Value *seen = once_seen(classifier, op, argument, gauge, gauge_next);
        if (seen) {
            value = seen;
            continue;
        }
        if (op->code == OP_MUL || (op->code == OP_FMA && !*factor)) {
            int side = strip_shape(op->operands[0]) == argument ? 0 : 1;
            if (strip_shape(op->operands[side]) != argument) return false;
            *factor = op->operands[1 - side];
            if (op->code == OP_FMA &&
                value_depends_on(classifier->arena, op->operands[2], argument, gauge_next))
                return false;
            return walk_from(*factor, is_cocycle, false, &(Cocycle){classifier, gauge, gauge_next});
        }
        int operand = link_operand(classifier, op, argument, gauge_next);
        if (operand < 0) return false;
        for (int i = 0; i < op->operand_count; i++)
            if (i != operand && op->operands[i] &&
                value_depends_on(classifier->arena, op->operands[i], gauge, gauge_next))
                return false;
        value = op->operands[operand];
    }
    return false;
}

/// Whether what the gauge becomes depends on no state but those that it scales: these are free of it, whatever it is.
static bool is_free_gauge(Classifier *classifier, const Carried *all, int count, int gauge) {
    const Value *next = yielded(classifier->body, gauge);
    for (int i = 0; i < count; i++) {
        bool is_state = all[i].class != CARRIED_UNCHANGED && all[i].class != CARRIED_INDUCTION;
        bool is_scaled = all[i].class == CARRIED_GAUGE && all[i].gauge == gauge;
        if (i != gauge && is_state && !is_scaled &&
            value_depends_on(classifier->arena, next, classifier->body->arguments[i + 1], NULL))
            return false;
    }
    return true;
}

static void classify_gauges(Classifier *classifier, Carried *all, int count) {
    for (int m = 0; m < count; m++) {
        if (all[m].class != CARRIED_RECURRENCE) continue;
        const Value *gauge = classifier->body->arguments[m + 1];
        const Value *gauge_next = yielded(classifier->body, m);
        Carried *before = ARENA_ARRAY(classifier->arena, Carried, count);
        memcpy(before, all, (size_t)count * sizeof *all);
        for (int s = 0; s < count; s++) {
            Value *factor = NULL;
            if (s == m || all[s].class != CARRIED_RECURRENCE) continue;
            if (!is_rescaled(classifier, classifier->body->arguments[s + 1],
                             yielded(classifier->body, s), gauge, gauge_next, &factor))
                continue;
            all[s].class = CARRIED_GAUGE;
            all[s].gauge = m;
            all[s].factor = factor;
            all[m].gauge = m;
            all[m].class = CARRIED_GAUGE;
        }
        if (!is_free_gauge(classifier, all, count, m))
            memcpy(all, before, (size_t)count * sizeof *all);
    }
}

Carried *loop_classify(Arena *arena, const Op *loop) {
    int count = loop->operand_count - 3;
    Carried *all = ARENA_ARRAY(arena, Carried, count > 0 ? count : 1);
    Classifier classifier = {arena, loop, loop->regions[0], map_new(arena), map_new(arena)};
    region_walk(classifier.body, count_operands, &classifier);
    for (int i = 0; i < count; i++) {
        Value *argument = classifier.body->arguments[i + 1];
        Value *next = yielded(classifier.body, i);
        all[i].class = CARRIED_RECURRENCE;
        all[i].gauge = -1;
        if (!next) continue;
        if (next == argument)
            all[i].class = CARRIED_UNCHANGED;
        else if (!classify_induction(&classifier, argument, next, &all[i]))
            classify_sum(&classifier, argument, next, &all[i]);
    }
    classify_gauges(&classifier, all, count);
    return all;
}

/// A cast to the type that a value has already is that value.
static const Value *without_casts(const Value *value) {
    while (value && value->op && value->op->code == OP_CAST) value = value->op->operands[0];
    return value;
}

/// The number of a carried value that is a region argument of the loop's body, or -1.
static int carried_number(const Op *loop, const Value *value) {
    const Region *body = loop->regions[loop->region_count - 1];
    int shift = loop->code == OP_FOR ? 1 : 0;
    if (!value || value->op || value->region != body) return -1;
    return value->index - shift;
}

int loop_shared_start(const Op *loop, int index) {
    if (loop->code != OP_FOR && loop->code != OP_WHILE) return -1;
    int first = loop->code == OP_FOR ? 3 : 0;
    const Op *yield = region_terminator(loop->regions[loop->region_count - 1]);
    if (!yield || index >= yield->operand_count) return -1;
    const Value *start = without_casts(loop->operands[first + index]);
    if (!start || start->constant || start->type.is_constexpr) return -1;
    int found = carried_number(loop, without_casts(yield->operands[index]));
    // Values that only change places are all the same: something new has to come into the row.
    for (int at = found, steps = 0; steps <= yield->operand_count; steps++) {
        if (at < 0 || at == index || at >= yield->operand_count ||
            without_casts(loop->operands[first + at]) != start)
            return -1;
        int next = carried_number(loop, without_casts(yield->operands[at]));
        if (next == at) return -1;
        bool goes_on = next >= 0 && without_casts(loop->operands[first + next]) == start;
        if (!goes_on) return found;
        at = next;
    }
    return -1;
}
