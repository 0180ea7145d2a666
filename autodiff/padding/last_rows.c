// From an addition to the last row of a tile, and one to the tile, to the latter alone.
#include "autodiff/padding/last_rows.h"

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/limits.h"
#include "autodiff/addresses/place.h"
#include "autodiff/padding/vanishing.h"
#include "autodiff/padding/within.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/order.h"
#include "autodiff/rewrite/rewrite.h"

enum { MOST_PARTS = 64 };  // of a mask, and of an address. Beyond: the additions stay two

typedef struct LastRow {
    Arena *arena;
    Function *function;
    const Accumulation *last, *tile;
    Access row, rows;  // what they add to
    Op *in_row;  // the addition of the row, or the branch around it, where that of the tile stands
    int axis;    // of the tile, along which its rows follow each other
    const Poly *left;         // how many rows there are from the first of the tile on
    const Poly *place;        // of the last row, from the first one on
    Value *numbers, *number;  // of the rows, and of the last one
    bool is_masked;           // the tile's mask says all that the row's says
} LastRow;

static const Poly *one(const LastRow *fold) { return poly_constant(fold->arena, 1); }

/* ---- the rows of the tile ---- */

/// The axis of the tile that an axis of the row's addition is.
static int axis_of_tile(const LastRow *fold, int axis) { return axis + (axis >= fold->axis); }

/// Whether the addition is to one row of what the tile's is to, in the same columns.
static bool has_same_columns(const LastRow *fold) {
    const Type row = fold->row.op->operands[0]->type, tile = fold->rows.op->operands[0]->type;
    for (int i = 0; i < row.rank; i++) {
        int axis = axis_of_tile(fold, i);
        if (!poly_equal(fold->row.offset.lane[i], fold->rows.offset.lane[axis]) || !row.dims[i] ||
            !poly_equal(row.dims[i], tile.dims[axis]))
            return false;
    }
    return true;
}

/// Whether the number is `minimum(rows of the tile, rows that are left) - 1`, in any spelling.
static bool is_last_place(const LastRow *fold, const Poly *place) {
    Arena *arena = fold->arena;
    const Poly *rows = fold->rows.op->operands[0]->type.dims[fold->axis];
    for (int t = 0; t < place->count; t++) {
        const Monomial *term = &place->terms[t];
        const Op *op = term->atom_count == 1 && term->coefficient == 1 ? term->atoms[0]->op : NULL;
        if (!op || op->code != OP_MINIMUM) continue;
        const Poly *more = poly_subtract(arena, place, poly_atom(arena, term->atoms[0]));
        more = poly_add(arena, more, one(fold));
        const Poly *sides[2];
        for (int i = 0; i < 2; i++)
            sides[i] = poly_add(arena, value_poly(arena, op->operands[i]), more);
        for (int i = 0; i < 2; i++)
            if (poly_equal(sides[i], rows) && poly_equal(sides[1 - i], fold->left)) return true;
    }
    return false;
}

/// Finds the axis along which the mask ends the tile, where the other addition is to the last of these rows.
static bool find_rows(LastRow *fold, const Limits *limits) {
    Arena *arena = fold->arena;
    const Affine *tile = &fold->rows.offset;
    const Poly *distance = poly_subtract(arena, fold->row.offset.base, tile->base);
    for (LIST_EACH(int, i, *limits)) {
        const Limit *limit = &limits->items[i];
        for (fold->axis = 0; fold->axis < tile->rank; fold->axis++) {
            bool ends = poly_equal(limit->lane[fold->axis], poly_constant(arena, -1));
            for (int k = 0; k < tile->rank; k++)
                ends = ends && (k == fold->axis || poly_is_zero(limit->lane[k]));
            const Poly *weight = tile->lane[fold->axis];
            if (!ends || poly_is_zero(weight)) continue;
            fold->left = limit->base;
            fold->place = poly_divide_exact(arena, distance, weight);
            if (fold->place && is_last_place(fold, fold->place) && has_same_columns(fold))
                return true;
        }
    }
    return false;
}

static bool limits_are_equal(const LastRow *fold, const Limit *row, const Limit *tile) {
    if (!poly_equal(row->base, tile->base)) return false;
    for (int i = 0; i < fold->row.offset.rank; i++)
        if (!poly_equal(row->lane[i], tile->lane[axis_of_tile(fold, i)])) return false;
    return true;
}

/// Whether the mask of the tile has each element that the addition of the row has: of its limits, one ends the rows, and the others are
/// those of the row.
static bool tile_has_row(LastRow *fold, const Limits *tile) {
    Limits row = {0};
    bool is_all = limits_of_mask(fold->arena, &fold->row, &row);
    int found = 0;
    for (LIST_EACH(int, i, *tile)) {
        const Limit *limit = &tile->items[i];
        if (!poly_is_zero(limit->lane[fold->axis])) {
            if (!poly_equal(limit->base, fold->left) ||
                !poly_equal(limit->lane[fold->axis], poly_constant(fold->arena, -1)))
                return false;
            continue;
        }
        bool is_said = false;
        for (LIST_EACH(int, k, row))
            is_said = is_said || limits_are_equal(fold, &row.items[k], limit);
        if (!is_said) return false;
        found++;
    }
    fold->is_masked = is_all && found == row.count;
    return true;
}

/* ---- a tile without rows ---- */

/// Whether a comparison is false of all that it compares where no row is left: all of it is at the tile's first row or behind.
static bool compares_rows(void *context, const Value *condition) {
    const LastRow *fold = context;
    const Op *op = condition->op;
    if (!op || (op->code != OP_LT && op->code != OP_GT)) return false;
    int side = op->code == OP_LT ? 0 : 1;
    Affine index = affine_of(fold->arena, op->operands[side]);
    Affine end = affine_of(fold->arena, op->operands[1 - side]);
    if (!index.known || index.wrapped || !end.known || end.wrapped || end.rank) return false;
    for (int i = 0; i < index.rank; i++) {
        int64_t step;
        if (!poly_is_constant(index.lane[i], &step) || step < 0) return false;
    }
    return poly_equal(poly_subtract(fold->arena, end.base, index.base), fold->left);
}

/* ---- where it is done ---- */

/// Whether the addition of the row can be made where that of the tile is: in front of it, or behind it where the latter moves there, in no
/// loop of its own.
static bool find_level(LastRow *fold) {
    Op *in_tile;
    ops_common_level(fold->row.op, fold->rows.op, &fold->in_row, &in_tile);
    if (!fold->in_row || in_tile != fold->rows.op) return false;
    for (const Op *op = fold->row.op; op != fold->in_row; op = op->parent->parent)
        if (op->parent->parent->code != OP_IF || op->parent->parent->region_count != 2)
            return false;
    return true;
}

/// The numbers of the rows, as the mask compares them.
static Value *find_numbers(LastRow *fold, const Value *mask, int *left) {
    const Op *op = mask ? mask->op : NULL;
    if (!op || (*left)-- <= 0) return NULL;
    if (compares_rows(fold, mask)) {
        Value *index = op->operands[op->code == OP_LT ? 0 : 1];
        Affine form = affine_of(fold->arena, index);
        return form.rank == 1 && poly_equal(form.lane[0], one(fold)) ? index : NULL;
    }
    Value *found = NULL;
    bool is_both = op_has(op->code, TRAIT_BOTH);
    for (int i = 0; (is_both || op_has(op->code, TRAIT_LAYOUT)) && i < (is_both ? 2 : 1) && !found;
         i++)
        found = find_numbers(fold, op->operands[i], left);
    return found;
}

/// The number of the last row, as the address has it.
static Value *find_number(const LastRow *fold, Value *value, const Poly *number, int *left) {
    const Op *op = value ? value->op : NULL;
    if (!op || op->region_count || op->code == OP_LOAD || (*left)-- <= 0) return NULL;
    bool is_number = value->type.kind == TYPE_NUMBER && value->type.rank == 0 &&
                     dtype_is_integer(value->type.element);
    if (is_number && poly_equal(value_poly(fold->arena, value), number)) return value;
    Value *found = NULL;
    for (int i = 0; i < op->operand_count && !found; i++)
        found = find_number(fold, op->operands[i], number, left);
    return found;
}

/// Has the number in front of the row's addition, and of the branches around it. False where it is made of more than can be made again.
static bool bring_number(LastRow *fold) {
    const Poly *number = affine_of(fold->arena, fold->numbers).base;
    number = poly_add(fold->arena, number, fold->place);
    fold->number = find_number(fold, fold->row.op->operands[0], number, &(int){MOST_PARTS});
    if (fold->number) {
        if (!value_can_be_brought(fold->number, fold->in_row)) return false;
        fold->number = value_brought(fold->function, fold->number, fold->in_row);
        return true;
    }
    Map copies = map_new(fold->arena);
    Builder before = {.function = fold->function,
                      .region = fold->in_row->parent,
                      .before = fold->in_row,
                      .range = fold->last->range};
    fold->number = poly_copied(&before, number, &copies);
    return fold->number != NULL;
}

static bool is_addition(const Accumulation *statement) {
    return statement->op && statement->op->code == OP_ATOMIC_ADD && !statement->is_running &&
           !statement->is_program_sum;
}

static bool plan(LastRow *fold) {
    const Op *last = fold->last->op, *tile = fold->tile->op;
    Limits limits = {0};
    int rank = tile->operands[0]->type.rank;
    if (!is_addition(fold->last) || !is_addition(fold->tile) ||
        fold->last->gradient != fold->tile->gradient || !rank ||
        last->operands[0]->type.rank != rank - 1 || last->operands[1]->type.rank != rank - 1 ||
        tile->operands[1]->type.rank != rank || !access_mask(tile))
        return false;
    fold->row = access_of(fold->arena, fold->last->op);
    fold->rows = access_of(fold->arena, fold->tile->op);
    const Access *row = &fold->row, *rows = &fold->rows;
    if (!row->parameter || row->parameter != rows->parameter || !row->offset.known ||
        !rows->offset.known || row->offset.wrapped || rows->offset.wrapped ||
        rows->offset.rank != rank || row->offset.rank != rank - 1 ||
        !limits_of_mask(fold->arena, rows, &limits) || !find_rows(fold, &limits) ||
        !tile_has_row(fold, &limits) || !find_level(fold))
        return false;
    fold->numbers = find_numbers(fold, access_mask(tile), &(int){MOST_PARTS});
    if (!fold->numbers) return false;
    const Poly *is_left = poly_subtract(fold->arena, fold->left, one(fold));
    return (conditions_say_nonnegative(fold->arena, last, is_left) ||
            value_vanishes(fold->arena, last->operands[1], compares_rows, fold)) &&
           bring_number(fold);
}

/* ---- doing it ---- */

/// What is added, out of the branches around the addition: 0 in their others.
static Value *out_of_branches(LastRow *fold, Value *value) {
    Type type = type_at_run_time(value->type);
    for (Region *region = fold->row.op->parent; region != fold->in_row->parent;
         region = region->parent->parent) {
        Op *branch = region->parent;
        for (int side = 0; side < 2; side++) {
            Op *end = region_terminator(branch->regions[side]);
            Builder b = {.function = fold->function,
                         .region = branch->regions[side],
                         .before = end,
                         .range = branch->range};
            Value *zero = build_float(&b, 0.0);
            if (type.rank)
                zero = build_ternary(&b, OP_FULL, build_shape(&b, type), zero,
                                     build_dtype(&b, type.element));
            op_append_operand(fold->function, end, branch->regions[side] == region ? value : zero);
        }
        Value *result = op_append_result(fold->function, branch, type);
        result->name = value->name;
        value = result;
    }
    return value;
}

static Value *along_axis(Builder *b, Value *value, int rank, int axis) {
    for (int i = 0; i < rank; i++)
        if (i != axis) value = build_binary(b, OP_EXPAND_DIMS, value, build_int(b, i));
    return value;
}

static void make(LastRow *fold) {
    Op *last = fold->row.op, *tile = fold->rows.op;
    Builder at = {.function = fold->function,
                  .region = last->parent,
                  .before = last,
                  .range = fold->last->range};
    Value *value = last->operands[1], *mask = access_mask(last);
    if (mask && !fold->is_masked)
        value = build_ternary(&at, OP_WHERE, mask, value, build_float(&at, 0.0));
    value = out_of_branches(fold, value);
    if (op_precedes(tile, fold->in_row)) {  // which may be the last of its region
        op_move_before(tile, fold->in_row);
        op_move_before(fold->in_row, tile);
    }
    Builder b = {.function = fold->function,
                 .region = tile->parent,
                 .before = tile,
                 .range = fold->tile->range};
    int rank = tile->operands[0]->type.rank;
    Value *is_last = build_binary(&b, OP_EQ, fold->numbers, fold->number);
    is_last = along_axis(&b, is_last, rank, fold->axis);
    if (rank > 1) value = build_binary(&b, OP_EXPAND_DIMS, value, build_int(&b, fold->axis));
    Value *further = build_ternary(&b, OP_WHERE, is_last, value, build_float(&b, 0.0));
    Value *old = tile->operands[1], *sum = build_binary(&b, OP_ADD, old, further);
    sum->name = old->name;
    old->name = NULL;
    op_set_operand(tile, 1, sum);
    op_remove(last);
}

void accumulations_take_last_rows(Differentiation *state) {
    for (int i = 0; i < state->sweep.accumulations.count; i++)
        for (int k = 0; k < state->sweep.accumulations.count; k++) {
            Accumulation *last = &state->sweep.accumulations.items[i];
            LastRow fold = {.arena = state->arena,
                            .function = state->backward,
                            .last = last,
                            .tile = &state->sweep.accumulations.items[k]};
            if (k == i || !last->op || !fold.tile->op || !plan(&fold)) continue;
            make(&fold);
            last->op = NULL;
        }
}
