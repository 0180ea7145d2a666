// What is elementwise of products is the same transposed, if the products, and the rows beside them, are.
#include "autodiff/products/transposed.h"

#include "analysis/build/build.h"
#include "autodiff/products/transposes.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/rewrite.h"

enum {
    /// Tiles that are computed of one another; attention has a dozen. Beyond: they stay as they are.
    MOST_TILES = 128,
    /// Operations that make a row. Beyond: the row is transposed as it is.
    MOST_ROW_DEPTH = 8,
};

/// Tiles that are all transposed, or none: each is an operand of another, or made of it.
typedef struct Tiles {
    Function *function;
    const Map *readers;
    Map has;  // tile -> its transpose, or the tile itself as long as there is none
    LIST(Value *) all;
    int products;
    int saved;  // transposes of computed tiles that are not made any more
    int made;   // transposes that are made instead
} Tiles;

static bool has_lanes_alone(const Poly *dim) {
    int64_t one;
    return !poly_is_constant(dim, &one) || one != 1;
}

/// A matrix of numbers with more than one element along both axes, as far as is known.
static bool is_tile(const Value *value) {
    const Type *type = &value->type;
    return type->kind == TYPE_NUMBER && type->rank == 2 && has_lanes_alone(type->dims[0]) &&
           has_lanes_alone(type->dims[1]);
}

/* ---- which ---- */

static bool add(Tiles *tiles, Value *tile) {
    if (map_has_pointer(&tiles->has, tile)) return true;
    if (tiles->all.count == MOST_TILES || !tile->op) return false;
    map_set_pointer(&tiles->has, tile, tile);
    LIST_PUSH(tiles->function->arena, &tiles->all, tile);
    return true;
}

static bool is_spread(const Op *op) {
    return op->code == OP_BROADCAST_TO && !is_tile(op->operands[0]);
}

/// A hint says something of each axis.
static bool is_elementwise(const Op *op) {
    return op_is_elementwise(op) && op->result_count == 1 && op_rows[op->code].kind != KIND_HINT;
}

/// A factor whose transpose costs nothing: it lies in shared memory, or the transpose is there.
static bool is_at_hand(const Value *factor) {
    while (made_by(factor, OP_CAST)) factor = factor->op->operands[0];
    return made_by(factor, OP_LOAD) || made_by(factor, OP_TRANS);
}

/// Whether a tile is transposed as it is: what is loaded, say.
static bool is_opaque(const Op *op) {
    return !op_is_bare_dot(op) && op->code != OP_FULL && op->code != OP_IF && !is_spread(op) &&
           !is_elementwise(op);
}

/// Whether the transpose of a tile can be made of those of its operands; these are added.
static bool add_operands(Tiles *tiles, const Value *tile) {
    const Op *op = tile->op;
    if (op_is_bare_dot(op)) {
        tiles->products++;
        for (int i = 0; i < 2; i++) tiles->made += !is_at_hand(op->operands[i]);
        return true;
    }
    if (op->code == OP_FULL || is_spread(op)) return true;
    if (op->code == OP_IF) {
        for (int r = 0; r < 2; r++) {
            Value *given = region_terminator(op->regions[r])->operands[tile->index];
            if (!is_tile(given) || !add(tiles, given)) return false;
        }
        return true;
    }
    for (int i = 0; i < op->operand_count; i++) {
        Value *operand = op->operands[i];
        if (!operand || operand->type.kind != TYPE_NUMBER) continue;
        if (operand->type.rank > 2 || (is_tile(operand) && !add(tiles, operand))) return false;
    }
    return true;
}

/// Whether all that read a tile can do with its transpose; what they make is added.
static bool add_readers(Tiles *tiles, Value *tile) {
    const OpList *readers = value_readers(tiles->readers, tile);
    for (LIST_EACH(int, i, *readers)) {
        const Op *reader = readers->items[i];
        if (reader->code == OP_TRANS) {
            tiles->saved++;
            continue;
        }
        if (reader->code == OP_YIELD && reader->parent->parent->code == OP_IF) {
            for (int k = 0; k < reader->operand_count; k++)
                if (reader->operands[k] == tile && !add(tiles, reader->parent->parent->results[k]))
                    return false;
            continue;
        }
        if (!is_elementwise(reader) || !is_tile(reader->results[0])) return false;
        if (!add(tiles, reader->results[0])) return false;
    }
    return true;
}

/// All tiles that are transposed with this one. False where one of them cannot be, or is used as it is.
static bool collect(Tiles *tiles, Value *tile) {
    if (!is_tile(tile) || !add(tiles, tile)) return false;
    for (int i = 0; i < tiles->all.count; i++) {
        Value *one = tiles->all.items[i];
        if (is_opaque(one->op))
            tiles->made++;
        else if (!add_operands(tiles, one) || !add_readers(tiles, one))
            return false;
    }
    return tiles->products > 0 && tiles->saved > tiles->made;
}

/* ---- transposing them ---- */

static Value *row_transposed(Builder *b, Value *row, int depth);

static Value *op_transposed(Builder *b, const Op *op, int depth) {
    Value **operands = ARENA_ARRAY(b->function->arena, Value *, op->operand_count);
    for (int i = 0; i < op->operand_count; i++)
        operands[i] = op->operands[i] && op->operands[i]->type.kind == TYPE_NUMBER
                          ? row_transposed(b, op->operands[i], depth)
                          : op->operands[i];
    return build(b, op->code, operands, op->operand_count);
}

/// Of a number, a row, or a column. Numbers along the last axis are a row.
static Value *row_transposed(Builder *b, Value *row, int depth) {
    int64_t axis;
    if (row->type.rank == 0) return row;
    if (row->type.rank == 1) return build_binary(b, OP_EXPAND_DIMS, row, build_int(b, 1));
    const Op *op = row->op;
    if (made_by(row, OP_EXPAND_DIMS) && op->operands[0]->type.rank == 1 &&
        value_is_int(op->operands[1], &axis)) {
        bool is_column = axis == 1 || axis == -1;
        return build_binary(b, OP_EXPAND_DIMS, op->operands[0], build_int(b, is_column ? 0 : 1));
    }
    if (depth == 0 || !op || !is_elementwise(op) || op->code == OP_FULL)
        return tile_transposed(b, row);
    Value *result = op_transposed(b, op, depth - 1);
    if (result->op && !result->name) result->name = row->name;
    return result;
}

static Value *transposed(Tiles *tiles, Value *tile);

static Value *choice_transposed(Tiles *tiles, Op *branch, int index) {
    Type type = type_transposed(tiles->function->arena, branch->results[index]->type);
    for (int r = 0; r < 2; r++) {
        Op *end = region_terminator(branch->regions[r]);
        Value *given = transposed(tiles, end->operands[index]);
        op_append_operand(tiles->function, end, given);
    }
    return op_append_result(tiles->function, branch, type);
}

static Value *spread_transposed(Builder *b, const Op *op) {
    Value *row = row_transposed(b, op->operands[0], MOST_ROW_DEPTH);
    Type type = type_transposed(b->function->arena, op->results[0]->type);
    return build_binary(b, OP_BROADCAST_TO, row, build_shape(b, type));
}

static Value *elementwise_transposed(Tiles *tiles, Builder *b, const Op *op) {
    Value **operands = ARENA_ARRAY(b->function->arena, Value *, op->operand_count);
    for (int i = 0; i < op->operand_count; i++) {
        Value *operand = op->operands[i];
        bool is_number = operand && operand->type.kind == TYPE_NUMBER;
        operands[i] = !is_number         ? operand
                      : is_tile(operand) ? transposed(tiles, operand)
                                         : row_transposed(b, operand, MOST_ROW_DEPTH);
    }
    return build(b, op->code, operands, op->operand_count);
}

/// The transpose of one of the tiles, made beside it, once.
static Value *transposed(Tiles *tiles, Value *tile) {
    Value *known = map_get_pointer(&tiles->has, tile);
    if (known != tile) return known;
    Op *op = tile->op;
    Builder b = {.function = tiles->function,
                 .region = op->parent,
                 .before = op,
                 .range = op->range,
                 .call = op->call};
    Value *result;
    if (is_opaque(op)) {
        b.before = op->next;
        result = tile_transposed(&b, tile);
        map_set_pointer(&tiles->has, tile, result);
        return result;
    }
    if (op->code == OP_IF) {
        result = choice_transposed(tiles, op, tile->index);
    } else if (op->code == OP_DOT) {
        result = dot_transposed(&b, op);
    } else if (is_spread(op)) {
        result = spread_transposed(&b, op);
    } else if (op->code == OP_FULL) {
        Type type = type_transposed(tiles->function->arena, tile->type);
        Value *operands[] = {build_shape(&b, type), op->operands[1], op->operands[2]};
        result = build(&b, OP_FULL, operands, 3);
    } else {
        result = elementwise_transposed(tiles, &b, op);
    }
    if (!result->name && result->op) result->name = tile->name;
    map_set_pointer(&tiles->has, tile, result);
    return result;
}

/* ---- where ---- */

typedef struct Transposes {
    Arena *arena;
    OpList ops;
} Transposes;

static bool visit(void *context, Op *op) {
    Transposes *found = context;
    bool is_of_tile = op->code == OP_TRANS && is_tile(op->operands[0]) && op->operands[0]->op;
    if (is_of_tile && op_is_in_loop(op)) LIST_PUSH(found->arena, &found->ops, op);
    return true;
}

static bool transpose(Function *function, const Op *use) {
    Map readers = function_readers(function->arena, function);
    Tiles tiles = {.function = function, .readers = &readers, .has = map_new(function->arena)};
    if (!collect(&tiles, use->operands[0])) return false;
    for (LIST_EACH(int, i, tiles.all)) {
        if (is_opaque(tiles.all.items[i]->op)) continue;
        const OpList *of_tile = value_readers(&readers, tiles.all.items[i]);
        for (LIST_EACH(int, k, *of_tile))
            if (of_tile->items[k]->code == OP_TRANS)
                region_replace_uses(function->body, of_tile->items[k]->results[0],
                                    transposed(&tiles, tiles.all.items[i]));
    }
    function_clean(function);
    return true;
}

void function_transpose_tiles(Function *function) {
    bool again = true;
    while (again) {
        again = false;
        Transposes found = {.arena = function->arena};
        region_walk(function->body, visit, &found);
        for (int i = 0; i < found.ops.count && !again; i++)
            again = transpose(function, found.ops.items[i]);
    }
}
