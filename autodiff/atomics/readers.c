// A value of one program and lane in; the same value of another program and lane out.
#include "autodiff/atomics/readers.h"

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/ir/loops.h"
#include "analysis/ir/walk.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"

Value *conditions_both(Builder *b, Value *a, Value *also) {
    return a && also ? build_binary(b, OP_AND, a, also) : a ? a : also;
}

Value *zeros_added(Builder *b, const Op *op) {
    Type type = op->operands[0]->type;
    Value *shape = build_shape(b, type), *element = build_dtype(b, op->operands[1]->type.element);
    return shape ? build_ternary(b, OP_FULL, shape, build_float(b, 0.0), element) : NULL;
}

/// Along which of its axes a tile of numbers counts lanes that the coordinate numbers, each one more than the one before: the only axis, or
/// that of the tile that is added, where the others have one element (`lanes[:, None]`). -1: along none.
static int axis_along(const Coordinate *coordinate, const Type *type, const Affine *form) {
    int64_t one;
    int axis = type->rank == 1 ? 0 : coordinate->lane;
    if (axis >= type->rank || form->rank != type->rank ||
        !poly_equal(type->dims[axis], coordinate->size) ||
        !poly_is_constant(form->lane[axis], &one) || one != 1)
        return -1;
    for (int i = 0; i < type->rank; i++)
        if (i != axis && (!poly_is_constant(type->dims[i], &one) || one != 1)) return -1;
    return axis;
}

/// Whether the value is the coordinate and `distance`.
static bool is_at_distance(Arena *arena, const Coordinate *coordinate, const Value *value,
                           const Poly *distance) {
    if (value->type.kind != TYPE_NUMBER) return false;
    Affine form = affine_of(arena, (Value *)(uintptr_t)value);
    if (!form.known || form.wrapped) return false;
    bool has_lanes = coordinate->size != NULL;
    if (has_lanes != (value->type.rank > 0)) return false;
    if (has_lanes && axis_along(coordinate, &value->type, &form) < 0) return false;
    const Poly *own = has_lanes ? coordinate->size : poly_constant(arena, 1);
    own = coordinate->program ? poly_multiply(arena, own, poly_atom(arena, coordinate->program))
                              : poly_constant(arena, 0);
    return poly_equal(form.base, poly_add(arena, own, distance));
}

bool value_is_coordinate(Arena *arena, const Coordinate *coordinate, const Value *value) {
    if (!coordinate->size) return value_is_program_id(value, coordinate->axis);
    return is_at_distance(arena, coordinate, value, poly_constant(arena, 0));
}

Value *coordinate_number(Builder *b, const Coordinate *coordinate, Value *found) {
    if (found->type.rank <= 1) return found;
    Value *size = build_poly(b, coordinate->size);
    Value *lanes = build_binary(b, OP_ARANGE, build_int(b, 0), size);
    if (!coordinate->program) return lanes;
    return build_binary(b, OP_ADD, build_binary(b, OP_MUL, coordinate->program, size), lanes);
}

/// A row of lanes along the axis that the coordinate has in a tile of so many axes.
static Value *laid_along(Builder *b, const Coordinate *coordinate, Value *row, int rank) {
    for (int i = 0; i < rank && rank > 1; i++)
        if (i != coordinate->lane) row = build_binary(b, OP_EXPAND_DIMS, row, build_int(b, i));
    return row;
}

Value *coordinate_spread(Builder *b, const Coordinate *coordinate, Value *condition, int rank,
                         int added_rank) {
    if (!coordinate->size || rank == 1) return condition;
    return rank == added_rank ? laid_along(b, coordinate, condition, rank) : NULL;
}

Value *coordinate_end(Builder *b, const Coordinate *coordinate) {
    Value *size = coordinate->size ? build_poly(b, coordinate->size) : NULL;
    if (!coordinate->program) return size;
    Value *programs = build_unary(b, OP_NUM_PROGRAMS, build_int(b, coordinate->axis));
    return size ? build_binary(b, OP_MUL, programs, size) : programs;
}

/* ---- what is made of a coordinate ---- */

typedef struct CoordinateSearch {
    Arena *arena;
    const Coordinate *coordinate;
} CoordinateSearch;

static bool visit_captured(void *context, Value *value) { return !walk_ask(context, value); }

static intptr_t has_rule(ValueWalk *walk, const Value *value) {
    const CoordinateSearch *search = walk->context;
    if (!value || value->constant) return false;
    if (value_is_coordinate(search->arena, search->coordinate, value)) return true;
    return value->op && !op_walk_captured(value->op, visit_captured, walk);
}

bool value_has_coordinate(Arena *arena, const Coordinate *coordinate, const Value *value) {
    const CoordinateSearch search = {arena, coordinate};
    return walk_from(value, has_rule, true, &search);
}

static intptr_t is_of_loop(ValueWalk *walk, const Value *value) {
    const Op *op = value ? value->op : NULL;
    if (!op || value->constant) return false;
    if (op->code == OP_FOR || op->code == OP_STATIC_FOR) return true;
    for (int i = 0; i < op->operand_count; i++)
        if (walk_ask(walk, op->operands[i])) return true;
    return false;
}

bool value_needs_loop(const Value *value) { return walk_from(value, is_of_loop, true, NULL) != 0; }

/* ---- the same of another one ---- */

static Arena *arena_of(const OtherReader *reader) { return reader->builder->function->arena; }

/// Whether a program id that a coordinate counts is in the value by itself.
static bool differs(const OtherReader *reader, const Value *value) {
    for (int c = 0; c < reader->count; c++)
        if (reader->numbers[c] && reader->coordinates[c].program &&
            value_depends_on_axis(arena_of(reader), value, reader->coordinates[c].program))
            return true;
    return false;
}

/// Whether it numbers lanes that the reader has others of.
static bool numbers_moved_lanes(const OtherReader *reader, const Value *value) {
    for (int c = 0; c < reader->count; c++)
        if (reader->numbers[c] && reader->coordinates[c].size &&
            poly_equal(value->type.dims[0], reader->coordinates[c].size))
            return true;
    return false;
}

/// Whether the reader has something else there: a load of it is masked where it is none of the launch.
static Value *inside_of(const OtherReader *reader, Builder *b, const Value *pointer, bool *fits) {
    Value *all = NULL;
    *fits = true;
    for (int c = 0; c < reader->count; c++) {
        const Coordinate *coordinate = &reader->coordinates[c];
        if (!reader->inside[c] || !value_has_coordinate(arena_of(reader), coordinate, pointer))
            continue;
        Value *inside =
            coordinate_spread(b, coordinate, reader->inside[c], pointer->type.rank, reader->rank);
        if (!inside) *fits = false;
        all = conditions_both(b, all, inside);
    }
    return all;
}

Value *load_where_also(Builder *b, const Op *load, Value **operands, Value *also) {
    Value *mask = access_mask(load) ? operands[1] : NULL;
    bool is_float = dtype_is_float(load->results[0]->type.element);
    if (!mask) operands[2] = is_float ? build_float(b, 0.0) : build_int(b, 0);
    operands[1] = conditions_both(b, mask, also);
    return build(b, OP_LOAD, operands, load->operand_count > 3 ? load->operand_count : 3);
}

/// A load for the other reader, who may be none of the launch.
static Value *load_inside(const OtherReader *reader, Builder *b, const Op *op) {
    Value *operands[OPERATION_MOST_OPERANDS] = {0};
    bool fits;
    if (op->operand_count > OPERATION_MOST_OPERANDS || !op_is_stable_load(reader->function, op))
        return NULL;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i]) operands[i] = value_mapped(&reader->copies, op->operands[i]);
    Value *inside = inside_of(reader, b, op->operands[0], &fits);
    if (!fits) return NULL;
    if (!inside) return build(b, OP_LOAD, operands, op->operand_count);
    return load_where_also(b, op, operands, inside);
}

/// The operands' values of the reader. False where one cannot be made; `is_other` where one is another.
static bool take(OtherReader *reader, Value *value, bool *is_other) {
    Value *own = reader_value(reader, value);
    if (!own) return false;
    *is_other = *is_other || own != value;
    map_set_pointer(&reader->copies, value, own);
    return true;
}

typedef struct Captured {
    OtherReader *reader;
    bool is_other;
} Captured;

static bool take_captured(void *context, Value *value) {
    Captured *captured = context;
    return take(captured->reader, value, &captured->is_other);
}

typedef struct LoopCopy {
    const OtherReader *reader;
    bool fits;
} LoopCopy;

static bool takes_tile(const Op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && op->operands[i]->type.rank > 0) return true;
    return false;
}

/// Whether an op within another numbers nothing that the reader has others of.
static bool visit_numbers(void *context, Op *op) {
    LoopCopy *copy = context;
    bool is_number = op->code == OP_PROGRAM_ID && differs(copy->reader, op->results[0]);
    bool is_lanes = op->code == OP_ARANGE && numbers_moved_lanes(copy->reader, op->results[0]);
    copy->fits = !is_number && !is_lanes;
    return copy->fits;
}

/// Whether an op of a loop computes element by element.
static bool visit_inner(void *context, Op *op) {
    LoopCopy *copy = context;
    bool is_for = op->code == OP_FOR || op->code == OP_STATIC_FOR || op->code == OP_YIELD;
    bool is_load = op->code == OP_LOAD && op_is_stable_load(copy->reader->function, op);
    bool is_plain = op_is_pure(op) && (!takes_tile(op) || op_is_by_element(op));
    copy->fits = is_for || is_load || is_plain || op->code == OP_TILE_INDEX;
    return copy->fits;
}

/// Masks a load that was copied along with its loop.
static bool visit_load(void *context, Op *op) {
    LoopCopy *copy = context;
    if (op->code != OP_LOAD) return true;
    Value *made = map_get_pointer(&copy->reader->copies, op->results[0]);
    Builder b = *copy->reader->builder;
    b.region = made->op->parent;
    b.before = made->op;
    Value *masked = load_inside(copy->reader, &b, op);
    copy->fits = masked != NULL;
    if (!masked || masked->op == made->op) return copy->fits;
    masked->name = made->name;
    region_replace_uses(b.region, made, masked);
    op_remove(made->op);
    return true;
}

static Value *loop_for_reader(OtherReader *reader, Value *value) {
    const Op *op = value->op;
    Captured captured = {reader, reader->nest && op_is_within(op, reader->nest)};
    LoopCopy copy = {reader, true};
    for (int r = 0; r < op->region_count && copy.fits; r++)
        region_walk(op->regions[r], visit_numbers, &copy);
    if (!copy.fits || !op_walk_captured(op, take_captured, &captured)) return NULL;
    if (!captured.is_other) return value;
    if (op->code != OP_FOR && op->code != OP_STATIC_FOR) return NULL;
    region_walk(op->regions[0], visit_inner, &copy);
    if (!copy.fits) return NULL;
    op_clone(reader->builder, op, &reader->copies);
    region_walk(op->regions[0], visit_load, &copy);
    return copy.fits ? map_get_pointer(&reader->copies, value) : NULL;
}

static Value *op_for_reader(OtherReader *reader, Value *value) {
    const Op *op = value->op;
    bool is_other = reader->nest && op_is_within(op, reader->nest) && !op_stays_at_start(op);
    if (op->code == OP_PROGRAM_ID) return differs(reader, value) ? NULL : value;
    if (op->code == OP_ARANGE && numbers_moved_lanes(reader, value)) return NULL;
    if (op->region_count) return loop_for_reader(reader, value);
    if (op->result_count != 1) return is_other || differs(reader, value) ? NULL : value;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !take(reader, op->operands[i], &is_other)) return NULL;
    if (!is_other) return value;
    if (op->code == OP_TILE_INDEX) return value_mapped(&reader->copies, op->operands[0]);
    if (op->code == OP_LOAD) return load_inside(reader, reader->builder, op);
    if (!op_is_pure(op) || (takes_tile(op) && !op_is_by_element(op))) return NULL;
    if (value->type.is_constexpr) {  // of a loop's variable that is none any more
        Value *operands[OPERATION_MOST_OPERANDS] = {0};
        if (op->operand_count > OPERATION_MOST_OPERANDS) return NULL;
        for (int i = 0; i < op->operand_count; i++)
            operands[i] = value_mapped(&reader->copies, op->operands[i]);
        return build(reader->builder, op->code, operands, op->operand_count);
    }
    op_clone(reader->builder, op, &reader->copies);
    return map_get_pointer(&reader->copies, value);
}

/// What a row of the reader's has in the place of a value that counts a coordinate.
static Value *in_place_of(const OtherReader *reader, int c, Value *row, const Value *value) {
    return laid_along(reader->builder, &reader->coordinates[c], row, value->type.rank);
}

/// The reader's coordinate that the value counts; NULL: none, or it is the same.
static Value *number_of(const OtherReader *reader, const Value *value) {
    for (int c = 0; c < reader->count; c++)
        if (reader->numbers[c] &&
            value_is_coordinate(arena_of(reader), &reader->coordinates[c], value))
            return in_place_of(reader, c, reader->numbers[c], value);
    return NULL;
}

/// The coordinate of the element that is read, where the value is that; else NULL.
static Value *owner_of(const OtherReader *reader, Value *value) {
    if (value->type.is_constexpr) return NULL;
    for (int c = 0; c < reader->count; c++)
        if (reader->distances[c] &&
            is_at_distance(arena_of(reader), &reader->coordinates[c], value, reader->distances[c]))
            return in_place_of(reader, c, reader->owners[c], value);
    return NULL;
}

Value *reader_value(OtherReader *reader, Value *value) {
    Value *known = map_get_pointer(&reader->copies, value);
    if (known || value->constant) return known ? known : value;
    known = number_of(reader, value);
    if (!known && value->op) known = owner_of(reader, value);
    if (!known && !value->op) {
        bool is_carried = reader->nest && value->region->parent &&
                          op_is_within(value->region->parent, reader->nest);
        known = is_carried || differs(reader, value) ? NULL : value;
    } else if (!known && reader->left-- > 0) {
        known = op_for_reader(reader, value);
    }
    if (known) map_set_pointer(&reader->copies, value, known);
    return known;
}
