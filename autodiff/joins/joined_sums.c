// The terms of the second loop are made again at the end of the first one's body, without the factors that come too late for it.
#include "autodiff/joins/joined_sums.h"

#include "analysis/build/build.h"
#include "autodiff/addresses/alike.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"

/// Operations between a sum and the elements that it is of.
enum { MOST_DEPTH = 16, FIRST_CARRIED = 3 };

typedef struct LateFactor {
    Value *value;
    bool divides;
} LateFactor;

typedef LIST(LateFactor) LateFactors;

/// Two loops over one range, of which the second only adds up.
typedef struct SumJoining {
    Function *function;
    Op *first, *second;
    Map readers;
    Map copies;  // value of the second body, or from outside -> what stands for it in the first
    Builder b;   // at the end of the first body
} SumJoining;

static const Region *body(const Op *loop) { return loop->regions[0]; }

/* ---- what comes too late ---- */

/// A value from outside of the second loop: whether it is there in front of the first.
static bool is_early(const SumJoining *join, const Value *value) {
    const Op *op = value->op;
    return !op || op->parent != join->first->parent || op_comes_before(op, join->first);
}

static bool note_early(void *context, Value *value) {
    SumJoining *join = context;
    if (!region_defines(body(join->second), value) && is_early(join, value))
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
    if (depth == 0 || !value->op || !region_defines(body(join->second), value)) return true;
    return has_late_operand(join, value->op, depth);
}

/// A number from outside of the loop.
static bool is_factor(const SumJoining *join, const Value *value) {
    return value->type.kind == TYPE_NUMBER && value->type.rank == 0 &&
           dtype_is_float(value->type.element) && !region_defines(body(join->second), value);
}

/// Whether each iteration of the second loop has a lane where this holds: start + arange < end.
static bool holds_somewhere(const SumJoining *join, const Value *condition) {
    const Value *start = body(join->second)->arguments[0];
    if (!made_by(condition, OP_LT) || condition->op->operands[1] != join->second->operands[1])
        return false;
    const Value *index = condition->op->operands[0];
    if (!made_by(index, OP_ADD)) return false;
    for (int i = 0; i < 2; i++) {
        const Value *lanes = index->op->operands[1 - i];
        bool is_index = index->op->operands[i] == start && made_by(lanes, OP_ARANGE) &&
                        is_number(lanes->op->operands[0], 0);
        if (is_index) return true;
    }
    return false;
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
    return b ? build_binary(&join->b, op->code, a, b) : NULL;
}

/// The value without its late factors, in the first body; NULL where they are no factors.
static Value *stripped(SumJoining *join, Value *value, LateFactors *factors, int depth) {
    if (!is_late(join, value, MOST_DEPTH)) return copied(join, value);
    const Op *op = value->op;
    if (depth == 0 || !op || !region_defines(body(join->second), value)) return NULL;
    Value *inner = NULL;
    switch (op->code) {
    case OP_ADD:
    case OP_SUB: inner = stripped_sum(join, op, factors, depth - 1); break;
    case OP_MUL:
    case OP_DIV: inner = stripped_product(join, op, factors, depth - 1); break;
    case OP_NEG:
    case OP_SUM:
        inner = stripped(join, op->operands[0], factors, depth - 1);
        if (inner) inner = build_unary(&join->b, op->code, inner);
        break;
    case OP_WHERE:
        if (!is_number(op->operands[2], 0) || !holds_somewhere(join, op->operands[0])) break;
        inner = stripped(join, op->operands[1], factors, depth - 1);
        if (inner)
            inner = build_ternary(&join->b, OP_WHERE, copied(join, op->operands[0]), inner,
                                  copied(join, op->operands[2]));
        break;
    default: break;
    }
    return inner && same_type(inner, value) ? inner : NULL;
}

/* ---- the loops ---- */

/// The term that an iteration adds to what it carries; NULL: it does something else.
static Value *term_of(const SumJoining *join, int carried) {
    const Op *loop = join->second;
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

static bool is_alike(const SumJoining *join, const Op *load) {
    for (const Op *op = body(join->first)->first; op; op = op->next) {
        bool is_same = op->code == OP_LOAD && expressions_alike(op->results[0], load->results[0],
                                                                body(join->first)->arguments[0],
                                                                body(join->second)->arguments[0]);
        if (is_same) return true;
    }
    return false;
}

/// Nothing but sums of numbers, of what the first loop loads, too.
static bool only_adds(const SumJoining *join) {
    const Op *loop = join->second;
    for (const Op *op = body(loop)->first; op != region_terminator(body(loop)); op = op->next) {
        bool is_load = op->code == OP_LOAD && op_is_stable_load(join->function, op);
        if (op->region_count || (!is_load && !op_is_pure(op))) return false;
        if (is_load && !is_alike(join, op)) return false;
    }
    for (int i = 0; i < loop->result_count; i++)
        if (!term_of(join, i)) return false;
    return loop->result_count > 0;
}

/// The loop, branch or other op beside the second loop that an op is in; NULL: the op is beside it itself, or elsewhere.
static const Op *around(const SumJoining *join, const Op *op) {
    for (const Op *outer = op->parent->parent; outer; outer = outer->parent->parent)
        if (outer->parent == join->second->parent) return outer;
    return NULL;
}

/// Whether what reads a number does so in iterations of a loop over this range, or makes numbers that only such iterations read.
static bool is_read_in_iterations(const SumJoining *join, const Value *value, int depth) {
    const OpList *readers = value_readers(&join->readers, value);
    for (LIST_EACH(int, i, *readers)) {
        const Op *op = readers->items[i], *loop = around(join, op);
        if (loop && loop->code == OP_FOR && loops_have_one_range(loop, join->second)) continue;
        bool is_made_into_another = op->parent == join->second->parent && depth > 0 &&
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

/// Adds a term to what the first loop carries: the sum behind the loop.
static Value *carry(SumJoining *join, Value *term) {
    Op *loop = join->first;
    Builder outside = {.function = join->function,
                       .region = loop->parent,
                       .before = loop,
                       .range = loop->range,
                       .call = loop->call};
    op_append_operand(join->function, loop, build_float(&outside, 0.0));
    Value *argument = region_add_argument(join->function, loop->regions[0], term->type, NULL);
    Value *next = build_binary(&join->b, OP_ADD, argument, term);
    op_append_operand(join->function, region_terminator(body(loop)), next);
    return op_append_result(join->function, loop, term->type);
}

static Value *scaled(Builder *b, Value *sum, const LateFactors *factors) {
    for (int i = factors->count; i-- > 0;)
        sum = build_binary(b, factors->items[i].divides ? OP_DIV : OP_MUL, sum,
                           factors->items[i].value);
    return sum;
}

static bool join_sums(Function *function, Op *first, Op *second) {
    SumJoining join = {.function = function,
                       .first = first,
                       .second = second,
                       .readers = function_readers(function->arena, function),
                       .copies = map_new(function->arena)};
    join.b = (Builder){.function = function,
                       .region = first->regions[0],
                       .before = region_terminator(body(first)),
                       .range = second->range,
                       .call = second->call};
    if (!only_adds(&join)) return false;
    map_set_pointer(&join.copies, body(second)->arguments[0], body(first)->arguments[0]);
    for (const Op *op = body(second)->first; op; op = op->next)
        op_walk_captured(op, note_early, &join);
    EarlySum *sums = ARENA_ARRAY(function->arena, EarlySum, second->result_count);
    for (int i = 0; i < second->result_count; i++) {
        sums[i].term = stripped(&join, term_of(&join, i), &sums[i].factors, MOST_DEPTH);
        bool is_seen = sums[i].factors.count > 0 &&
                       !is_read_in_iterations(&join, second->results[i], MOST_DEPTH);
        if (!sums[i].term || is_seen) return false;
    }
    Builder behind = {.function = function,
                      .region = second->parent,
                      .before = second,
                      .range = second->range,
                      .call = second->call};
    for (int i = 0; i < second->result_count; i++) {
        Value *sum = scaled(&behind, carry(&join, sums[i].term), &sums[i].factors);
        sum = build_binary(&behind, OP_ADD, second->operands[FIRST_CARRIED + i], sum);
        sum->name = second->results[i]->name;
        region_replace_uses(function->body, second->results[i], sum);
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
        Op *first = loop_before(loops.ops.items[i]);
        tried |= first != NULL;
        if (first && join_sums(function, first, loops.ops.items[i])) joined = true;
    }
    if (joined)
        function_clean(function);
    else if (tried)
        function_drop_dead(function);  // what was made in vain
}
