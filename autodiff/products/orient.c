// Sums of products are kept the way they are stored: the elements that follow each other in memory along the last axis.
#include "autodiff/products/orient.h"

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "autodiff/products/transposes.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/rewrite.h"

enum { LOOP_BOUNDS = 3, MOST_FACTORS = 8 };

/// A sum on its way through loops and branches: every value of it is transposed, or none.
typedef struct CarriedSum {
    Function *function;
    const Map *readers;
    Map has;  // its values
    LIST(Value *) values;
} CarriedSum;

static bool sum_has(const CarriedSum *sum, const Value *value) {
    return map_has_pointer(&sum->has, value);
}

/* ---- what a sum is made of ---- */

/// The tile of a product with a scalar, or of a cast, that is transposed by transposing it. -1: none.
static int scaled_tile(const Op *op) {
    if (op->code == OP_CAST || op->code == OP_NEG) return 0;
    if (op->code != OP_MUL && op->code != OP_DIV) return -1;
    if (op->operands[1]->type.rank == 0) return 0;
    return op->code == OP_MUL && op->operands[0]->type.rank == 0 ? 1 : -1;
}

/// Whether a term of a sum can be made transposed at no cost: a product that nobody else reads, or the tile that the sum starts with.
static bool turns(const CarriedSum *sum, const Value *value) {
    const Op *op = value->op;
    for (int depth = 0; op && depth < MOST_FACTORS; depth++) {
        if (op->results[0]->type.rank != 2) return false;
        if (op->code == OP_FULL) return true;
        if (value_readers(sum->readers, op->results[0])->count != 1) return false;
        if (op_is_bare_dot(op)) return true;
        int tile = scaled_tile(op);
        op = tile < 0 ? NULL : op->operands[tile]->op;
    }
    return false;
}

static bool is_counted_loop(const Op *op) {
    return op && (op->code == OP_FOR || op->code == OP_STATIC_FOR);
}

static bool add_value(CarriedSum *sum, Value *value);

static bool add_carried(CarriedSum *sum, const Op *loop, int index) {
    Region *body = loop->regions[0];
    return add_value(sum, loop->results[index]) && add_value(sum, body->arguments[1 + index]) &&
           add_value(sum, loop->operands[LOOP_BOUNDS + index]) &&
           add_value(sum, region_terminator(body)->operands[index]);
}

/// Follows a sum back to where it starts. False where it meets what is no sum of products.
static bool add_value(CarriedSum *sum, Value *value) {
    if (sum_has(sum, value)) return true;
    if (value->type.kind != TYPE_NUMBER || value->type.rank != 2) return false;
    const Op *op = value->op;
    if (op && op->code == OP_FULL) return true;
    map_set_pointer(&sum->has, value, value);
    LIST_PUSH(sum->function->arena, &sum->values, value);
    if (!op) {
        const Op *loop = value->region->parent;
        return is_counted_loop(loop) && value->index > 0 &&
               add_carried(sum, loop, value->index - 1);
    }
    if (is_counted_loop(op)) return add_carried(sum, op, value->index);
    if (op->code == OP_IF)
        return add_value(sum, region_terminator(op->regions[0])->operands[value->index]) &&
               add_value(sum, region_terminator(op->regions[1])->operands[value->index]);
    if (op->code == OP_DOT && op->operand_count > 2 && op->operands[2])
        return add_value(sum, op->operands[2]);
    if (op->code != OP_ADD) return false;
    for (int side = 1; side >= 0; side--)
        if (turns(sum, op->operands[side])) return add_value(sum, op->operands[1 - side]);
    return false;
}

/// Whether an operand of an op hands the sum on.
static bool hands_on(const CarriedSum *sum, const Op *reader, int operand) {
    if (reader->code == OP_YIELD) {
        const Op *owner = reader->parent->parent;
        return owner && operand < owner->result_count && sum_has(sum, owner->results[operand]);
    }
    if (is_counted_loop(reader))
        return operand >= LOOP_BOUNDS && sum_has(sum, reader->results[operand - LOOP_BOUNDS]);
    if (reader->code == OP_DOT && operand != 2) return false;
    return (reader->code == OP_ADD || reader->code == OP_DOT) && sum_has(sum, reader->results[0]);
}

static bool is_read_within(const CarriedSum *sum, const Value *value) {
    const OpList *readers = value_readers(sum->readers, value);
    for (LIST_EACH(int, i, *readers))
        for (int k = 0; k < readers->items[i]->operand_count; k++)
            if (readers->items[i]->operands[k] == value && !hands_on(sum, readers->items[i], k))
                return false;
    return true;
}

/* ---- transposing it ---- */

static Builder before(const CarriedSum *sum, Op *op) {
    return (Builder){.function = sum->function,
                     .region = op->parent,
                     .before = op,
                     .range = op->range,
                     .call = op->call};
}

static Value *term_turned(Builder *b, const Value *term) {
    Op *op = term->op;
    Value **operands = ARENA_ARRAY(b->function->arena, Value *, op->operand_count);
    for (int i = 0; i < op->operand_count; i++) operands[i] = op->operands[i];
    if (op->code == OP_FULL) {
        operands[0] = build_shape(b, type_transposed(b->function->arena, term->type));
    } else if (op->code != OP_DOT) {
        int tile = scaled_tile(op);
        operands[tile] = term_turned(b, op->operands[tile]);
    }
    Value *turned = op->code == OP_DOT ? dot_transposed(b, op)
                                       : build(b, op->code, operands, op->operand_count);
    turned->name = term->name;
    return turned;
}

/// The operands of an op of the sum that are no values of it.
static void turn_terms(const CarriedSum *sum, Op *op, int first, int last) {
    for (int i = first; i < last; i++) {
        if (!op->operands[i] || sum_has(sum, op->operands[i])) continue;
        Builder b = before(sum, op);
        op_set_operand(op, i, term_turned(&b, op->operands[i]));
    }
}

static void turn_op(const CarriedSum *sum, Op *op, int index) {
    if (op->code == OP_ADD) turn_terms(sum, op, 0, 2);
    if (op->code == OP_DOT) {
        Builder b = before(sum, op);
        Value *first = tile_transposed(&b, op->operands[1]);
        op_set_operand(op, 1, tile_transposed(&b, op->operands[0]));
        op_set_operand(op, 0, first);
        turn_terms(sum, op, 2, 3);
    }
    if (is_counted_loop(op)) turn_terms(sum, op, LOOP_BOUNDS + index, LOOP_BOUNDS + index + 1);
    for (int r = 0; r < op->region_count; r++)
        turn_terms(sum, region_terminator(op->regions[r]), index, index + 1);
}

static void turn(const CarriedSum *sum, Value *stored) {
    for (LIST_EACH(int, i, sum->values)) {
        Value *value = sum->values.items[i];
        if (value->op) turn_op(sum, value->op, value->index);
    }
    for (LIST_EACH(int, i, sum->values))
        sum->values.items[i]->type =
            type_transposed(sum->function->arena, sum->values.items[i]->type);
    Op *op = stored->op;
    Builder b = {.function = sum->function,
                 .region = op->parent,
                 .before = op->next,
                 .range = op->range,
                 .call = op->call};
    Value *back = build_unary(&b, OP_TRANS, stored);
    region_replace_uses(sum->function->body, stored, back);
    op_set_operand(back->op, 0, stored);
}

/* ---- where ---- */

static bool is_loaded(const Value *tile) {
    while (made_by(tile, OP_CAST)) tile = tile->op->operands[0];
    return made_by(tile, OP_LOAD);
}

/// Whether the sum is of products of a loaded tile, transposed, with one that was computed: the other way round the loaded tile is taken
/// as it is.
static bool is_loaded_first(const CarriedSum *sum, const Value *value) {
    const Op *op = value->op;
    if (!op || op->code != OP_ADD) return false;
    const Value *term = op->operands[sum_has(sum, op->operands[1]) ? 0 : 1];
    for (int tile = 0; term->op && tile >= 0 && !op_is_bare_dot(term->op);) {
        tile = scaled_tile(term->op);
        if (tile >= 0) term = term->op->operands[tile];
    }
    if (!term->op || !op_is_bare_dot(term->op)) return false;
    const Value *first = term->op->operands[0];
    return made_by(first, OP_TRANS) && is_loaded(first->op->operands[0]) &&
           !is_loaded(term->op->operands[1]);
}

/// Whether the loop has a sum of the shape that this one would have.
static bool has_like_turned(const Value *stored) {
    const Op *loop = stored->op;
    for (int i = 0; i < loop->result_count; i++) {
        const Type *type = &loop->results[i]->type;
        if (type->rank == 2 && poly_equal(type->dims[0], stored->type.dims[1]) &&
            poly_equal(type->dims[1], stored->type.dims[0]) && loop->results[i] != stored)
            return true;
    }
    return false;
}

typedef enum Lies { LIES_ALONG, LIES_ACROSS, LIES_BY_STRIDES } Lies;

static Lies tile_lies(Arena *arena, Op *op) {
    Access access = access_of(arena, op);
    const Affine *offset = &access.offset;
    if (!access.parameter || !offset->known || offset->rank != 2) return LIES_ALONG;
    const Poly *one = poly_constant(arena, 1);
    if (poly_equal(offset->lane[1], one)) return LIES_ALONG;
    return poly_equal(offset->lane[0], one) ? LIES_ACROSS : LIES_BY_STRIDES;
}

/// The sum that a store writes, or NULL where it writes something else.
static Value *stored_sum(const Op *op) {
    if (op->code != OP_STORE && op->code != OP_ATOMIC_ADD) return NULL;
    Value *value = op->operands[1];
    while (value && made_by(value, OP_CAST)) value = value->op->operands[0];
    return value && is_counted_loop(value->op) && value->type.rank == 2 ? value : NULL;
}

typedef struct StoredSum {
    Value *value;
    Lies lies;
} StoredSum;

typedef struct StoredSums {
    Arena *arena;
    LIST(StoredSum) found;
} StoredSums;

static bool visit_store(void *context, Op *op) {
    StoredSums *search = context;
    StoredSum found = {.value = stored_sum(op)};
    for (LIST_EACH(int, i, search->found))
        if (search->found.items[i].value == found.value) return true;
    if (found.value) found.lies = tile_lies(search->arena, op);
    if (found.value && found.lies != LIES_ALONG) LIST_PUSH(search->arena, &search->found, found);
    return true;
}

/// Whether a sum is better transposed, of all whose values are known: it lies so in memory, or, where launches say how it lies, the loop's
/// other sums are so.
static bool is_better(const CarriedSum *sum, const StoredSum *stored) {
    bool fits = true, is_first = false;
    for (LIST_EACH(int, i, sum->values)) {
        const Value *value = sum->values.items[i];
        fits = fits && (value == stored->value || is_read_within(sum, value));
        is_first = is_first || is_loaded_first(sum, value);
    }
    return fits && (stored->lies == LIES_ACROSS || (is_first && has_like_turned(stored->value)));
}

void function_orient_sums(Function *function) {
    StoredSums search = {.arena = function->arena};
    region_walk(function->body, visit_store, &search);
    for (LIST_EACH(int, i, search.found)) {
        const StoredSum *stored = &search.found.items[i];
        Map readers = function_readers(function->arena, function);
        CarriedSum sum = {
            .function = function, .readers = &readers, .has = map_new(function->arena)};
        if (add_value(&sum, stored->value) && is_better(&sum, stored)) turn(&sum, stored->value);
    }
}
