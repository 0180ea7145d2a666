// The terms of the second loop are made again at the end of the first one's body, without the factors that come too late for it.
#include "autodiff/joins/joined_sums.h"

#include "analysis/build/build.h"
#include "autodiff/addresses/alike.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"

/// Operations between a sum and the elements that it is of.
enum { MOST_DEPTH = 16, MOST_ADDENDS = 8, FIRST_CARRIED = 3 };

typedef struct LateFactor {
    Value *value;
    bool divides;
} LateFactor;

typedef LIST(LateFactor) LateFactors;

/// A loop, and those in it, each alone in the body of the one around it.
typedef struct LoopNest {
    Op *loops[LOOPS_MOST_NESTED];
    int depth;
} LoopNest;

/// Two nests over the same ranges, of which the second only adds up.
typedef struct SumJoining {
    Function *function;
    LoopNest first, second;
    Map readers;
    Map copies;  // value of the second nest, or from outside -> what stands for it in the first
    Builder b;   // at the end of the first one's innermost body
} SumJoining;

static Region *body(const Op *loop) { return loop->regions[0]; }
static Op *outer(const LoopNest *nest) { return nest->loops[0]; }
static Op *inner(const LoopNest *nest) { return nest->loops[nest->depth - 1]; }

/// Whether a value is one of the nest's own.
static bool is_within(const LoopNest *nest, const Value *value) {
    return region_defines(body(outer(nest)), value);
}

/* ---- what comes too late ---- */

/// A value from outside of the second loop: whether it is there in front of the first.
static bool is_early(const SumJoining *join, const Value *value) {
    const Op *op = value->op, *first = outer(&join->first);
    return !op || op->parent != first->parent || op_comes_before(op, first);
}

static bool note_early(void *context, Value *value) {
    SumJoining *join = context;
    if (!is_within(&join->second, value) && is_early(join, value))
        map_set_pointer(&join->copies, value, value);
    return true;
}

static bool is_late(const SumJoining *join, const Value *value, int depth);

static bool has_late_operand(const SumJoining *join, const Op *op, int depth) {
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && is_late(join, op->operands[i], depth - 1)) return true;
    return false;
}

/// Whether a value needs one that is not there yet. True also where it takes long to tell.
static bool is_late(const SumJoining *join, const Value *value, int depth) {
    if (map_has_pointer(&join->copies, value)) return false;
    if (depth == 0 || !value->op || !is_within(&join->second, value)) return true;
    return has_late_operand(join, value->op, depth);
}

/// A number from outside of the nest.
static bool is_factor(const SumJoining *join, const Value *value) {
    return value->type.kind == TYPE_NUMBER && value->type.rank == 0 &&
           dtype_is_float(value->type.element) && !is_within(&join->second, value);
}

/// Lanes from 0 on, or those of the innermost loop's iteration: `start + arange`.
static bool is_index(const SumJoining *join, const Value *index, const Value *end) {
    while (made_by(index, OP_EXPAND_DIMS) || made_by(index, OP_BROADCAST_TO))
        index = index->op->operands[0];
    const Op *loop = inner(&join->second);
    if (made_by(index, OP_ARANGE))
        return is_number(index->op->operands[0], 0) && !end->op && !end->type.rank &&
               !is_within(&join->second, end);
    if (!made_by(index, OP_ADD) || end != loop->operands[1]) return false;
    for (int i = 0; i < 2; i++) {
        const Value *lanes = index->op->operands[1 - i];
        bool is_it = index->op->operands[i] == body(loop)->arguments[0] &&
                     made_by(lanes, OP_ARANGE) && is_number(lanes->op->operands[0], 0);
        if (is_it) return true;
    }
    return false;
}

/// Whether each iteration of the second loop has a lane where this holds, if rows have elements: start + arange < end, or arange < n.
static bool holds_somewhere(const SumJoining *join, const Value *condition) {
    if (!made_by(condition, OP_LT)) return false;
    return is_index(join, condition->op->operands[0], condition->op->operands[1]);
}

/* ---- the terms ---- */

static Value *copied(SumJoining *join, Value *value) {
    return value_copied(&join->b, value, &join->copies);
}

static bool are_same(const LateFactors *a, const LateFactors *b) {
    if (a->count != b->count) return false;
    for (LIST_EACH(int, i, *a))
        if (a->items[i].value != b->items[i].value || a->items[i].divides != b->items[i].divides)
            return false;
    return true;
}

static void take(SumJoining *join, LateFactors *factors, Value *value, bool divides) {
    LateFactor factor = {value, divides};
    LIST_PUSH(join->function->arena, factors, factor);
}

static Value *stripped(SumJoining *join, Value *value, LateFactors *factors, int depth);

/// Sums of two: both have the same factors.
static Value *stripped_sum(SumJoining *join, const Op *op, LateFactors *factors, int depth) {
    LateFactors other = {0};
    Value *a = stripped(join, op->operands[0], factors, depth);
    if (!a || op->operands[0] == op->operands[1])
        return a ? build_binary(&join->b, op->code, a, a) : NULL;
    Value *b = stripped(join, op->operands[1], &other, depth);
    return b && are_same(factors, &other) ? build_binary(&join->b, op->code, a, b) : NULL;
}

/// Products, of which either side may be a factor that comes too late.
static Value *stripped_product(SumJoining *join, const Op *op, LateFactors *factors, int depth) {
    for (int i = 0; i < 2; i++) {
        Value *factor = op->operands[i];
        bool divides = op->code == OP_DIV;
        if ((divides && i == 0) || !is_factor(join, factor) || !is_late(join, factor, MOST_DEPTH))
            continue;
        take(join, factors, factor, divides);
        return stripped(join, op->operands[1 - i], factors, depth);
    }
    Value *a = stripped(join, op->operands[0], factors, depth);
    bool keeps = op->code == OP_MUL;
    Value *b = !a      ? NULL
               : keeps ? stripped(join, op->operands[1], factors, depth)
                       : copied(join, op->operands[1]);
    if (!b) return NULL;
    for (int i = 0; i < 2 && keeps; i++) {
        const Op *kept = (i ? b : a)->op;  // 1 or 0
        if (kept && kept->code == OP_WHERE && is_number(kept->operands[1], 1))
            return build_ternary(&join->b, OP_WHERE, kept->operands[0], i ? a : b,
                                 kept->operands[2]);
    }
    return build_binary(&join->b, op->code, a, b);
}

/// The value without its late factors, in the first body; NULL where they are no factors.
static Value *stripped(SumJoining *join, Value *value, LateFactors *factors, int depth) {
    if (!is_late(join, value, MOST_DEPTH)) return copied(join, value);
    const Op *op = value->op;
    if (is_factor(join, value)) {
        take(join, factors, value, false);
        return build_float(&join->b, 1.0);
    }
    if (depth == 0 || !op || !is_within(&join->second, value)) return NULL;
    Value *made = NULL;
    switch (op->code) {
    case OP_ADD:
    case OP_SUB: made = stripped_sum(join, op, factors, depth - 1); break;
    case OP_MUL:
    case OP_DIV: made = stripped_product(join, op, factors, depth - 1); break;
    case OP_NEG:
    case OP_SUM:
        made = stripped(join, op->operands[0], factors, depth - 1);
        if (made) made = build_unary(&join->b, op->code, made);
        break;
    case OP_WHERE:
        if (!is_number(op->operands[2], 0) || !holds_somewhere(join, op->operands[0])) break;
        made = stripped(join, op->operands[1], factors, depth - 1);
        if (made)
            made = build_ternary(&join->b, OP_WHERE, copied(join, op->operands[0]), made,
                                 copied(join, op->operands[2]));
        break;
    default: break;
    }
    return made && same_type(made, value) ? made : NULL;
}

/* ---- the loops ---- */

/// What an iteration of a loop of the second nest adds to what it carries; NULL: it does something else.
static Value *added(const SumJoining *join, const Op *loop, int carried) {
    Value *argument = body(loop)->arguments[carried + 1];
    const Value *next = region_terminator(body(loop))->operands[carried];
    bool is_sum = made_by(next, OP_ADD) && next->type.rank == 0 &&
                  next->type.element.code == DTYPE_FLOAT32 && same_type(argument, next) &&
                  value_readers(&join->readers, argument)->count == 1;
    if (!is_sum) return NULL;
    for (int i = 0; i < 2; i++)
        if (next->op->operands[i] == argument) return next->op->operands[1 - i];
    return NULL;
}

/// What an iteration of the innermost loop adds to what the nest carries out; NULL: it does something else.
static Value *term_of(const SumJoining *join, int carried) {
    for (int level = 0;; level++) {
        Value *term = added(join, join->second.loops[level], carried);
        if (!term || level == join->second.depth - 1) return term;
        const Op *loop = join->second.loops[level + 1];
        carried = 0;
        while (carried < loop->result_count && loop->results[carried] != term) carried++;
        if (carried == loop->result_count || !is_number(loop->operands[FIRST_CARRIED + carried], 0))
            return NULL;
    }
}

/// The terms of an address, in whatever order they are added. False where there are too many.
static bool list_addends(const Value *value, const Value **addends, int *count) {
    if (made_by(value, OP_ADD))
        return list_addends(value->op->operands[0], addends, count) &&
               list_addends(value->op->operands[1], addends, count);
    if (*count == MOST_ADDENDS) return false;
    addends[(*count)++] = value;
    return true;
}

static bool addresses_are_twins(const Value *a, const Value *b, const Twins *twins) {
    const Value *of_a[MOST_ADDENDS], *of_b[MOST_ADDENDS];
    int count = 0, others = 0;
    bool is_same_type = a->type.kind == TYPE_POINTER && same_type(a, b);
    if (!is_same_type || !list_addends(a, of_a, &count) || !list_addends(b, of_b, &others) ||
        count != others)
        return false;
    for (int i = 0; i < count; i++) {
        int k = i;
        while (k < count && !expressions_are_twins(of_a[i], of_b[k], twins)) k++;
        if (k == count) return false;
        of_b[k] = of_b[i];
    }
    return true;
}

/// Whether two loads read the same elements, under the same mask.
static bool loads_are_twins(const Op *a, const Op *b, const Twins *twins) {
    if (expressions_are_twins(a->results[0], b->results[0], twins)) return true;
    if (a->operand_count != b->operand_count ||
        !addresses_are_twins(a->operands[0], b->operands[0], twins))
        return false;
    for (int i = 1; i < a->operand_count; i++) {
        const Value *left = a->operands[i], *right = b->operands[i];
        bool is_same =
            left == right || (left && right && expressions_are_twins(left, right, twins));
        if (!is_same) return false;
    }
    return true;
}

/// The load of the first nest's innermost loop that reads what one of the second reads; or NULL.
static Value *twin_of(const SumJoining *join, const Op *load) {
    Twins twins = {.count = join->first.depth};
    for (int i = 0; i < twins.count; i++) {
        twins.a[i] = body(join->first.loops[i])->arguments[0];
        twins.b[i] = body(join->second.loops[i])->arguments[0];
    }
    for (const Op *op = body(inner(&join->first))->first; op; op = op->next)
        if (op->code == OP_LOAD && loads_are_twins(op, load, &twins)) return op->results[0];
    return NULL;
}

/// Nothing but sums of numbers, of what the first nest loads, too.
static bool only_adds(SumJoining *join) {
    const LoopNest *nest = &join->second;
    for (int level = 0; level < nest->depth; level++) {
        const Region *region = body(nest->loops[level]);
        bool is_inner = level == nest->depth - 1;
        for (const Op *op = region->first; op != region_terminator(region); op = op->next) {
            if (!is_inner && op == nest->loops[level + 1]) continue;
            bool is_load = op->code == OP_LOAD && op_is_stable_load(join->function, op);
            if (op->region_count || (!is_load && !op_is_pure(op))) return false;
            Value *twin = is_load && is_inner ? twin_of(join, op) : NULL;
            if (is_load && !twin) return false;
            if (is_load) map_set_pointer(&join->copies, op->results[0], twin);
        }
    }
    for (int i = 0; i < outer(nest)->result_count; i++)
        if (!term_of(join, i)) return false;
    return outer(nest)->result_count > 0;
}

/// Whether an op is in a nest over the ranges of the second one, which stands beside that.
static bool is_in_like_nest(const SumJoining *join, const Op *op) {
    int level = join->second.depth;
    for (const Op *at = op->parent->parent; at; at = at->parent->parent) {
        if (level > 0 && at->code == OP_FOR &&
            loops_have_one_range(at, join->second.loops[level - 1]))
            level--;
        if (at->parent == outer(&join->second)->parent) return level == 0 && at->code == OP_FOR;
    }
    return false;
}

/// Whether what reads a number does so in iterations of loops over these ranges, or makes numbers that only such iterations read.
static bool is_read_in_iterations(const SumJoining *join, const Value *value, int depth) {
    const OpList *readers = value_readers(&join->readers, value);
    for (LIST_EACH(int, i, *readers)) {
        const Op *op = readers->items[i];
        if (is_in_like_nest(join, op)) continue;
        bool is_made_into_another = op->parent == outer(&join->second)->parent && depth > 0 &&
                                    op_is_pure(op) && op->result_count == 1;
        if (!is_made_into_another || !is_read_in_iterations(join, op->results[0], depth - 1))
            return false;
    }
    return true;
}

typedef struct EarlySum {
    Value *term;
    LateFactors factors;
} EarlySum;

/// Adds a term to what the loops of the first nest carry: the sum behind them.
static Value *carry(SumJoining *join, Value *term, const char *name) {
    Function *function = join->function;
    for (int level = join->first.depth; level-- > 0;) {
        Op *loop = join->first.loops[level];
        Builder before = {.function = function,
                          .region = loop->parent,
                          .before = loop,
                          .range = loop->range,
                          .call = loop->call};
        Builder end = join->b;
        end.region = body(loop);
        end.before = region_terminator(body(loop));
        op_append_operand(function, loop, build_float(&before, 0.0));
        Value *argument = region_add_argument(function, body(loop), term->type, name);
        Value *next = build_binary(&end, OP_ADD, argument, term);
        op_append_operand(function, region_terminator(body(loop)), next);
        term = op_append_result(function, loop, term->type);
        term->name = name;
    }
    return term;
}

static Value *scaled(Builder *b, Value *sum, const LateFactors *factors) {
    for (int i = factors->count; i-- > 0;)
        sum = build_binary(b, factors->items[i].divides ? OP_DIV : OP_MUL, sum,
                           factors->items[i].value);
    return sum;
}

static bool join_sums(Function *function, const LoopNest *first, const LoopNest *second) {
    SumJoining join = {.function = function,
                       .first = *first,
                       .second = *second,
                       .readers = function_readers(function->arena, function),
                       .copies = map_new(function->arena)};
    Op *loop = outer(second);
    join.b = (Builder){.function = function,
                       .region = body(inner(first)),
                       .before = region_terminator(body(inner(first))),
                       .range = loop->range,
                       .call = loop->call};
    if (!only_adds(&join)) return false;
    for (int i = 0; i < first->depth; i++)
        map_set_pointer(&join.copies, body(second->loops[i])->arguments[0],
                        body(first->loops[i])->arguments[0]);
    for (const Op *op = body(loop)->first; op; op = op->next)
        op_walk_captured(op, note_early, &join);
    EarlySum *sums = ARENA_ARRAY(function->arena, EarlySum, loop->result_count);
    for (int i = 0; i < loop->result_count; i++) {
        sums[i].term = stripped(&join, term_of(&join, i), &sums[i].factors, MOST_DEPTH);
        bool is_seen = sums[i].factors.count > 0 &&
                       !is_read_in_iterations(&join, loop->results[i], MOST_DEPTH);
        if (!sums[i].term || is_seen) return false;
    }
    Builder behind = {.function = function,
                      .region = loop->parent,
                      .before = loop,
                      .range = loop->range,
                      .call = loop->call};
    for (int i = 0; i < loop->result_count; i++) {
        Value *sum =
            scaled(&behind, carry(&join, sums[i].term, loop->results[i]->name), &sums[i].factors);
        sum = build_binary(&behind, OP_ADD, loop->operands[FIRST_CARRIED + i], sum);
        sum->name = loop->results[i]->name;
        region_replace_uses(function->body, loop->results[i], sum);
    }
    return true;
}

typedef struct Loops {
    Arena *arena;
    OpList ops;
} Loops;

static bool visit(void *context, Op *op) {
    Loops *loops = context;
    if (op->code == OP_FOR) LIST_PUSH(loops->arena, &loops->ops, op);
    return true;
}

/// The one loop in the body of a loop; NULL: there is none, or another, or a branch beside it.
static Op *loop_within(const Op *loop) {
    Op *found = NULL;
    for (Op *op = body(loop)->first; op; op = op->next) {
        if (!op->region_count) continue;
        if (found || op->code != OP_FOR) return NULL;
        found = op;
    }
    return found;
}

/// Two loops over one range and all that is in them, as far as both have one loop over one range in their bodies. False where one goes on.
static bool find_nests(Op *first, Op *second, LoopNest *nests) {
    nests[0].depth = nests[1].depth = 0;
    while (first && second && nests[0].depth < LOOPS_MOST_NESTED &&
           loops_have_one_range(first, second)) {
        nests[0].loops[nests[0].depth++] = first;
        nests[1].loops[nests[1].depth++] = second;
        first = loop_within(first);
        second = loop_within(second);
    }
    return !first && !second;
}

/// The nearest loop before one that goes through the same range; or NULL.
static Op *loop_before(const Op *second) {
    for (Op *op = second->previous; op; op = op->previous)
        if (op->code == OP_FOR && loops_have_one_range(op, second)) return op;
    return NULL;
}

void function_join_sums(Function *function) {
    Loops loops = {.arena = function->arena};
    bool tried = false, joined = false;
    region_walk(function->body, visit, &loops);
    for (LIST_EACH(int, i, loops.ops)) {
        LoopNest nests[2];
        Op *first = loop_before(loops.ops.items[i]);
        if (!first || !find_nests(first, loops.ops.items[i], nests)) continue;
        tried = true;
        if (join_sums(function, &nests[0], &nests[1])) joined = true;
    }
    if (joined)
        function_clean(function);
    else if (tried)
        function_drop_dead(function);  // what was made in vain
}
