// A loop that carries sums of tiles in; one that carries the tiles out.
#include "autodiff/joins/late_sums.h"

#include "analysis/build/build.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/rewrite.h"

enum { FIRST_CARRIED = 3, MOST_OF_A_LOOP = 6 };

typedef struct LateSums {
    Function *function;
    Map readers;
    LIST(Op *) loops;
    bool has_products;
} LateSums;

static bool visit_op(void *context, Op *op) {
    LateSums *sums = context;
    sums->has_products = sums->has_products || op_is_product(op->code);
    if (op->code == OP_FOR) LIST_PUSH(sums->function->arena, &sums->loops, op);
    return true;
}

static const OpList *readers_of(const LateSums *sums, const Value *value) {
    return value_readers(&sums->readers, value);
}

/// The one operation that reads a value; NULL where several do, or none.
static Op *only_reader(const LateSums *sums, const Value *value) {
    const OpList *readers = readers_of(sums, value);
    return readers->count == 1 ? readers->items[0] : NULL;
}

/// `carried + tl.sum(tile)`, or less: the operation, where all is read once and the tile is of float32. `*sum`: that of the tile.
static Op *addition_of(const LateSums *sums, const Op *loop, int index, Op **sum) {
    const Region *body = loop->regions[0];
    const Value *carried = body->arguments[1 + index];
    Op *end = region_terminator(body), *op = only_reader(sums, carried);
    bool adds = op && (op->code == OP_ADD || op->code == OP_SUB) && op->parent == body &&
                end->operands[index] == op->results[0] && only_reader(sums, op->results[0]) == end;
    if (!adds) return NULL;
    int side = op->operands[0] == carried ? 1 : 0;
    if (op->code == OP_SUB && side == 0) return NULL;
    const Value *term = op->operands[side];
    *sum = term->op;
    if (!*sum || (*sum)->code != OP_SUM || (*sum)->parent != body || only_reader(sums, term) != op)
        return NULL;
    const Type *tile = &(*sum)->operands[0]->type;
    bool is_plain = tile->rank > 0 && tile->element.code == DTYPE_FLOAT32 &&
                    dtype_equal(tile->element, carried->type.element) &&
                    term->type.rank == carried->type.rank;
    return is_plain && dtype_equal(term->type.element, carried->type.element) ? op : NULL;
}

/// Where the tile is what a loop adds up, from 0 on, and nobody else reads it: that loop goes on with what there is already.
static bool went_on(const LateSums *sums, Value *carried, const Op *addition, const Value *tile) {
    const Op *inner = tile->op;
    if (!inner || inner->code != OP_FOR || inner->parent != addition->parent ||
        addition->code != OP_ADD || !only_reader(sums, tile))
        return false;
    for (int i = 0; i < inner->result_count; i++) {
        const Value *first = inner->operands[FIRST_CARRIED + i];
        if (inner->results[i] != tile) continue;
        Value *next = region_terminator(inner->regions[0])->operands[i];
        const Value *argument = inner->regions[0]->arguments[1 + i];
        bool adds = (made_by(next, OP_ADD) || made_by(next, OP_SUB)) &&
                    (next->op->operands[0] == argument ||
                     (next->op->code == OP_ADD && next->op->operands[1] == argument)) &&
                    readers_of(sums, argument)->count == 1;
        if (!adds || !made_by(first, OP_FULL) || !is_number(first->op->operands[1], 0))
            return false;
        op_set_operand(tile->op, FIRST_CARRIED + i, carried);
        inner->results[i]->name = inner->regions[0]->arguments[1 + i]->name = next->name =
            carried->name;
        return true;
    }
    return false;
}

static void carry_tile(const LateSums *sums, Op *loop, int index, Op *addition, Op *sum) {
    Function *function = sums->function;
    Region *body = loop->regions[0];
    Value *tile = sum->operands[0], *old = loop->results[index];
    Builder before = {
        .function = function, .region = loop->parent, .before = loop, .range = sum->range};
    Value *shape = build_shape(&before, tile->type);
    if (!shape) return;
    Value *zeros = build_ternary(&before, OP_FULL, shape, build_float(&before, 0.0),
                                 build_dtype(&before, tile->type.element));
    Type type = zeros->type;
    op_append_operand(function, loop, zeros);
    Value *tiles = region_add_argument(function, body, type, old->name);
    Builder inside = {
        .function = function, .region = body, .before = addition, .range = addition->range};
    Value *more = went_on(sums, tiles, addition, tile)
                      ? tile
                      : build_binary(&inside, addition->code, tiles, tile);
    Op *end = region_terminator(body);
    op_append_operand(function, end, more);
    op_set_operand(end, index, body->arguments[1 + index]);
    op_remove(addition);
    op_remove(sum);
    Value *total = op_append_result(function, loop, type);
    Builder behind = {.function = function,
                      .region = loop->parent,
                      .before = loop->next,
                      .range = addition->range};
    Value **operands = ARENA_ARRAY(function->arena, Value *, sum->operand_count);
    for (int i = 0; i < sum->operand_count; i++) operands[i] = sum->operands[i];
    operands[0] = total;
    Value *late = build(&behind, OP_SUM, operands, sum->operand_count), *all = late;
    if (!is_number(loop->operands[FIRST_CARRIED + index], 0))
        all = build_binary(&behind, OP_ADD, loop->operands[FIRST_CARRIED + index], late);
    all->name = old->name;
    old->name = NULL;
    region_replace_uses(function->body, old, all);
}

static void sum_late(LateSums *sums, Op *loop) {
    int count = loop->result_count, moved = 0;
    for (int i = 0; i < count && moved < MOST_OF_A_LOOP; i++) {
        Op *sum = NULL;
        sums->readers = function_readers(sums->function->arena, sums->function);
        Op *addition = addition_of(sums, loop, i, &sum);
        if (!addition) continue;
        carry_tile(sums, loop, i, addition, sum);
        moved++;
    }
}

void function_sum_late(Function *function) {
    LateSums sums = {.function = function};
    region_walk(function->body, visit_op, &sums);
    for (int i = sums.loops.count; i-- > 0 && !sums.has_products;)  // inner ones first
        sum_late(&sums, sums.loops.items[i]);
}
