// Branches whose two sides end alike in, branches that yield what the common end is made of out.
#include "autodiff/joins/merged_tails.h"

#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/ir/loops.h"
#include "analysis/ir/walk.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/rewrite.h"

enum {
    DEEPEST = 6
};  // operations of a side's end, one in another. Beyond: they stay in the branch

/// A branch, and one result of it that may go behind it.
typedef struct Tail {
    Function *function;
    Op *branch;
    const Map *readers;
    int result;
    Value *sides
        [2];  // what the branch yields in the result's place then; or NULL: it has not been needed
    Builder behind;
} Tail;

static Value *yielded(const Op *branch, int side, int index) {
    return region_terminator(branch->regions[side])->operands[index];
}

static bool is_inside(const Op *branch, const Value *value) {
    const Op *owner = value->op ? value->op : value->region ? value->region->parent : NULL;
    return owner && owner != branch && op_is_within(owner, branch);
}

/// Whether both sides have one value there that was made before the branch, or the same constant.
static bool is_one_value(const Op *branch, const Value *a, const Value *b) {
    bool is_known;
    if (a->constant && b->constant)
        return constant_equal(a->constant, b->constant, &is_known) && is_known;
    return a == b && !is_inside(branch, a);
}

/// The result of the branch that is `a` from one side and `b` from the other, or -1.
static int result_of(const Tail *tail, const Value *a, const Value *b) {
    for (int i = 0; i < tail->branch->result_count; i++)
        if (i != tail->result && yielded(tail->branch, 0, i) == a &&
            yielded(tail->branch, 1, i) == b)
            return i;
    return -1;
}

/// Whether two operations, one of each side, can be one behind the branch. What others of their side read stays there, unless
/// it only gives a tile another shape.
static bool may_sink(const Tail *tail, const Value *a, const Value *b) {
    if (!a->op || !b->op || a->op->code != b->op->code || !same_type(a, b)) return false;
    const Op *ops[] = {a->op, b->op};
    for (int side = 0; side < 2; side++) {
        const Op *op = ops[side];
        bool is_read_once = value_readers(tail->readers, op->results[0])->count == 1;
        if (op->parent != tail->branch->regions[side] || op->result_count != 1 ||
            op->region_count || op->keyword_count || !op_is_pure(op) ||
            (!is_read_once && op->code != OP_EXPAND_DIMS))
            return false;
    }
    return a->op->operand_count == b->op->operand_count;
}

/// Whether a value of each side can be had as one behind the branch, with at most one new result, in the place of the old one.
static bool can_merge(Tail *tail, Value *a, Value *b, int depth) {
    if (!a || !b) return a == b;
    if (is_one_value(tail->branch, a, b) || result_of(tail, a, b) >= 0) return true;
    if (a == tail->sides[0] && b == tail->sides[1]) return true;
    Value *noted = tail->sides[0];
    if (depth < DEEPEST && may_sink(tail, a, b)) {
        bool can = true;
        for (int i = 0; i < a->op->operand_count && can; i++)
            can = can_merge(tail, a->op->operands[i], b->op->operands[i], depth + 1);
        if (can) return true;
        if (!noted) tail->sides[0] = tail->sides[1] = NULL;
    }
    bool can_be_yielded = !tail->sides[0] && !a->constant && !b->constant && same_type(a, b) &&
                          is_inside(tail->branch, a) && is_inside(tail->branch, b);
    if (!can_be_yielded) return false;
    tail->sides[0] = a;
    tail->sides[1] = b;
    return true;
}

/// What a value of each side is behind the branch, as `can_merge` found.
static Value *merge(Tail *tail, Value *a, Value *b) {
    if (!a || is_one_value(tail->branch, a, b)) return a;
    int result = result_of(tail, a, b);
    if (result < 0 && a == tail->sides[0] && b == tail->sides[1]) result = tail->result;
    if (result >= 0) return tail->branch->results[result];
    Map operands = map_new(tail->function->arena);
    for (int i = 0; i < a->op->operand_count; i++) {
        Value *operand = merge(tail, a->op->operands[i], b->op->operands[i]);
        if (operand) map_set_pointer(&operands, a->op->operands[i], operand);
    }
    return op_clone(&tail->behind, a->op, &operands)->results[0];
}

static bool is_exponential(const Value *value) {
    return made_by(value, OP_EXP) || made_by(value, OP_EXP2);
}

/// Whether the value is an operand of all that reads it, by place: a keyword's is another use.
static bool is_operand_alone(const OpList *readers, const Value *value) {
    for (int i = 0; i < readers->count; i++)
        for (int k = 0; k < readers->items[i]->keyword_count; k++)
            if (readers->items[i]->keywords[k].value == value) return false;
    return true;
}

/// Puts the exponential that both sides yield as one result behind the branch.
static bool sink(Arena *arena, Function *function, Op *branch, int result, const Map *readers) {
    Value *ends[] = {yielded(branch, 0, result), yielded(branch, 1, result)};
    Tail tail = {.function = function,
                 .branch = branch,
                 .readers = readers,
                 .result = result,
                 .behind = {.function = function,
                            .region = branch->parent,
                            .before = branch->next,
                            .range = branch->range}};
    Value *place = branch->results[result];
    const OpList *uses = value_readers(readers, place);
    bool can = is_exponential(ends[0]) && is_operand_alone(uses, place) &&
               may_sink(&tail, ends[0], ends[1]) && can_merge(&tail, ends[0], ends[1], 0) &&
               tail.sides[0] != ends[0];
    if (!can || !tail.sides[0]) return false;
    OpList old = {0};
    for (int i = 0; i < uses->count; i++) LIST_PUSH(arena, &old, uses->items[i]);
    const char *name = place->name;
    for (int side = 0; side < 2; side++)
        op_set_operand(region_terminator(branch->regions[side]), result, tail.sides[side]);
    place->type = tail.sides[0]->type;
    place->name = tail.sides[0]->name ? tail.sides[0]->name : tail.sides[1]->name;
    Value *end = merge(&tail, ends[0], ends[1]);
    end->name = name;
    for (LIST_EACH(int, i, old))
        for (int k = 0; k < old.items[i]->operand_count; k++)
            if (old.items[i]->operands[k] == place) op_set_operand(old.items[i], k, end);
    return true;
}

typedef struct TailMerging {
    Arena *arena;
    Function *function;
    Map readers;  // until something changes
    bool changed, again;
} TailMerging;

static bool visit_branch(void *context, Op *op) {
    TailMerging *merging = context;
    if (op->code != OP_IF || op->region_count != 2 || !op_is_in_loop(op)) return true;
    for (int i = 0; i < op->result_count; i++)
        if (sink(merging->arena, merging->function, op, i, &merging->readers)) {
            merging->changed = merging->again = true;
            return false;
        }
    return true;
}

bool function_merge_tails(Arena *arena, Function *function) {
    TailMerging merging = {.arena = arena, .function = function, .again = true};
    while (merging.again) {
        merging.again = false;
        merging.readers = function_readers(arena, function);
        region_walk(function->body, visit_branch, &merging);
    }
    return merging.changed;
}
