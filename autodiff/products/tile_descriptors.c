// A tile that is loaded through pointers in; one that a descriptor loads (TMA), where a flag says so, out.
#include "autodiff/products/tile_descriptors.h"

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "autodiff/products/branch.h"
#include "autodiff/rewrite/algebra.h"
#include "autodiff/rewrite/rewrite.h"

enum {
    ROWS = 0,
    COLUMNS,
    MOST_NESTED =
        32,  // operations between a number and what it starts from. Beyond: the tile stays
};

/// A tile of rows, as a descriptor takes it.
typedef struct RowTile {
    Value *parameter;
    const Poly *start;   // of the tensor's rows, in elements from where the parameter points
    const Poly *stride;  // from row to row
    const Value *step;   // from element to element of a row, where it is a parameter; NULL: 1
    Value *row,
        *limit;  // a tile of the rows' indices, and how many rows there are; NULL: all that are asked for
} RowTile;

/* ---- numbers that are 0 or more ---- */

static bool visit_range(void *context, Op *op) {
    const Value **size = context;
    if (op->code != OP_ARANGE) return true;
    const Value *length = op->operands[1];
    const Op *quotient = made_by(length, OP_FLOORDIV) ? length->op : NULL;
    for (int i = 0; quotient && i < 2; i++)
        if (quotient->operands[i] == *size) *size = NULL;
    if (length == *size) *size = NULL;
    return *size != NULL;
}

/// Whether it is the length of a tile, or of what it is a part of, or the number of parts: then it is positive.
static bool is_tile_size(const Function *function, const Value *value) {
    const Value *size = value;
    if (!value->type.is_constexpr) return false;
    region_walk(function->body, visit_range, &size);
    return !size;
}

static bool is_never_negative(const Function *function, const Value *value, int depth) {
    const Op *op = value->op;
    int64_t number;
    if (value_is_int(value, &number)) return number >= 0;
    if (depth == MOST_NESTED || value->type.kind != TYPE_NUMBER) return false;
    if (is_tile_size(function, value)) return true;
    if (!op) {
        const Op *loop = value->region ? value->region->parent : NULL;
        return loop && loop->code == OP_FOR && !value->index &&
               is_never_negative(function, loop->operands[0], depth + 1) &&
               !(value_is_int(loop->operands[2], &number) && number < 0);
    }
    if (op->code == OP_PROGRAM_ID || op->code == OP_NUM_PROGRAMS) return true;
    if (op->code == OP_IF) {
        for (int r = 0; r < op->region_count; r++)
            if (!is_never_negative(
                    function, region_terminator(op->regions[r])->operands[value->index], depth + 1))
                return false;
        return op->region_count == 2;
    }
    bool keeps = op->code == OP_ADD || op->code == OP_MUL || op->code == OP_FLOORDIV;
    // a remainder has the sign of what is divided
    bool is_of_first = op->code == OP_MOD || op->code == OP_ARANGE ||
                       op_has(op->code, TRAIT_LAYOUT) || op_keeps_numbers(op);
    if (is_of_first) return is_never_negative(function, op->operands[0], depth + 1);
    return keeps && is_never_negative(function, op->operands[0], depth + 1) &&
           is_never_negative(function, op->operands[1], depth + 1);
}

/* ---- the rows of a tile ---- */

/// The index of the first row of a tile of them, at the builder's place; NULL where the tile is something else than one row after
/// the other.
static Value *first_row(Builder *b, Value *rows, int depth) {
    const Op *op = rows->op;
    int64_t zero;
    if (!rows->type.rank) return rows;
    if (!op || depth == MOST_NESTED) return NULL;
    if (op->code == OP_ARANGE) return op->operands[0];
    if (op_has(op->code, TRAIT_LAYOUT) || op_keeps_numbers(op))
        return first_row(b, op->operands[0], depth + 1);
    if (op->code != OP_ADD) return NULL;
    Value *one = first_row(b, op->operands[0], depth + 1);
    Value *other = one ? first_row(b, op->operands[1], depth + 1) : NULL;
    if (!other) return NULL;
    if (value_is_int(one, &zero) && !zero) return other;
    if (value_is_int(other, &zero) && !zero) return one;
    return build_binary(b, OP_ADD, one, other);
}

static bool is_one(const Poly *poly) {
    int64_t number;
    return poly && poly_is_constant(poly, &number) && number == 1;
}

static bool is_zero(const Poly *poly) {
    int64_t number;
    return poly && poly_is_constant(poly, &number) && !number;
}

/// Whether the atoms of a polynomial are defined in front of the loop around an operation.
static bool is_of_before(const Op *op, const Poly *poly) {
    const Region *body = op->parent;
    while (body && !(body->parent && body->parent->code == OP_FOR))
        body = body->parent ? body->parent->parent : NULL;
    for (int t = 0; body && t < poly->count; t++)
        for (int a = 0; a < poly->terms[t].atom_count; a++)
            if (region_defines(body, poly->terms[t].atoms[a])) return false;
    return body != NULL;
}

static bool is_small_integer(const Value *value) {
    return value->type.element.code == DTYPE_INT32 || value->constant || value->type.is_constexpr;
}

/// Whether first_row finds a number of 32 bits, as descriptors take them.
static bool has_first_row(const Value *rows, int depth) {
    const Op *op = rows->op;
    if (!rows->type.rank) return is_small_integer(rows);
    if (!op || depth == MOST_NESTED) return false;
    if (op->code == OP_ARANGE) return true;
    if (op_has(op->code, TRAIT_LAYOUT) || op_keeps_numbers(op))
        return has_first_row(op->operands[0], depth + 1);
    return op->code == OP_ADD && has_first_row(op->operands[0], depth + 1) &&
           has_first_row(op->operands[1], depth + 1);
}

static bool is_parameter(const Value *value) {
    return !value->op && value->region && !value->region->parent;
}

/// Takes a tile of one row after the other for the rows.
static bool take_rows(Arena *arena, Value *value, RowTile *tile, const Poly **first) {
    Affine rows = affine_of(arena, value);
    if (!rows.known || rows.wrapped || rows.rank != 2 || !is_one(rows.lane[ROWS]) ||
        !is_zero(rows.lane[COLUMNS]))
        return false;
    *first = rows.base;
    tile->row = value;
    return true;
}

/// The comparison `row < limit` that a mask is, with the rows along the first axis.
static bool read_mask(Arena *arena, const Value *mask, RowTile *tile, const Poly **first) {
    while (mask->op && op_has(mask->op->code, TRAIT_LAYOUT)) mask = mask->op->operands[0];
    const Op *op = mask->op;
    if (!op || op->code != OP_LT || op->operands[1]->type.rank ||
        dtype_class(op->operands[1]->type.element) != CLASS_SIGNED ||
        !is_small_integer(op->operands[1]) || !is_parameter(op->operands[1]))
        return false;
    tile->limit = op->operands[1];
    return take_rows(arena, op->operands[0], tile, first);
}

/// The rows of an address that nothing masks: what it multiplies by the step from row to row.
static bool read_address(Arena *arena, const Value *value, RowTile *tile, const Poly **first,
                         int depth) {
    const Op *op = value->op;
    if (!op || depth == MOST_NESTED || value->type.rank < 2) return false;
    if (op_has(op->code, TRAIT_LAYOUT))
        return read_address(arena, op->operands[0], tile, first, depth + 1);
    for (int i = 0; i < 2 && op->code == OP_MUL; i++)
        if (!op->operands[1 - i]->type.rank &&
            poly_equal(value_poly(arena, op->operands[1 - i]), tile->stride) &&
            take_rows(arena, op->operands[i], tile, first))
            return true;
    return op->code == OP_ADD && (read_address(arena, op->operands[0], tile, first, depth + 1) ||
                                  read_address(arena, op->operands[1], tile, first, depth + 1));
}

static Value *operand_of(const Op *load, const char *name) {
    int index = op_parameter_index(OP_LOAD, str_from(name));
    Value *value = index < load->operand_count ? load->operands[index] : NULL;
    return value && !value_is_none(value) ? value : NULL;
}

/// From element to element: 1, or a parameter that a launch may pass 1 for.
static bool read_step(const Poly *poly, const Value **step) {
    bool is_atom = poly && poly->count == 1 && poly->terms[0].coefficient == 1 &&
                   poly->terms[0].atom_count == 1 && is_parameter(poly->terms[0].atoms[0]);
    *step = is_atom ? poly->terms[0].atoms[0] : NULL;
    return is_atom || is_one(poly);
}

static bool read_tile(Arena *arena, Op *load, RowTile *tile) {
    const Poly *first;
    const Value *step;
    if (load->code != OP_LOAD || load->results[0]->type.rank != 2) return false;
    const Value *mask = operand_of(load, "mask"), *beyond = operand_of(load, "other");
    Access access = access_of(arena, load);
    const Affine *place = &access.offset;
    if (!access.parameter || !place->known || place->wrapped || place->rank != 2 ||
        !read_step(place->lane[COLUMNS], &step) || (mask && !(beyond && is_number(beyond, 0))))
        return false;
    *tile = (RowTile){.parameter = access.parameter, .stride = place->lane[ROWS], .step = step};
    bool has_rows = mask ? read_mask(arena, mask, tile, &first)
                         : read_address(arena, load->operands[0], tile, &first, 0);
    if (!has_rows || !has_first_row(tile->row, 0)) return false;
    tile->start = poly_subtract(arena, place->base, poly_multiply(arena, first, tile->stride));
    return is_of_before(load, tile->start) && is_of_before(load, tile->stride);
}

static bool are_same(const ParameterValues *a, const ParameterValues *b) {
    bool is_same = a->count == b->count;
    for (int i = 0; is_same && i < a->count; i++) is_same = a->items[i] == b->items[i];
    return is_same;
}

/// Adds the product of parameters that a term is a multiple of.
static bool ask_term(Arena *arena, const Monomial *term, DescribedTiles *asked) {
    enum { WHOLE = 16 };  // elements that are a multiple of 16 bytes, however small they are
    ParameterValues product = {0};
    if (term->coefficient % WHOLE == 0) return true;
    for (int a = 0; a < term->atom_count; a++)
        if (is_parameter(term->atoms[a])) LIST_PUSH(arena, &product, term->atoms[a]);
    if (!product.count) return false;
    for (LIST_EACH(int, i, asked->strides))
        if (are_same(&asked->strides.items[i], &product)) return true;
    LIST_PUSH(arena, &asked->strides, product);
    return true;
}

static bool ask(Arena *arena, const Poly *poly, DescribedTiles *asked) {
    for (int t = 0; t < poly->count; t++)
        if (!ask_term(arena, &poly->terms[t], asked)) return false;
    return true;
}

bool load_has_descriptor(Arena *arena, Function *function, Op *load, DescribedTiles *asked) {
    RowTile tile;
    if (!read_tile(arena, load, &tile) || !is_never_negative(function, tile.row, 0) ||
        !tile.stride->count || !ask(arena, tile.stride, asked) || !ask(arena, tile.start, asked))
        return false;
    LIST_PUSH(arena, &asked->tensors, tile.parameter);
    if (tile.step) LIST_PUSH(arena, &asked->ones, tile.step);
    bool is_known = !tile.limit;
    for (LIST_EACH(int, i, asked->rows)) is_known |= asked->rows.items[i] == tile.limit;
    if (!is_known) LIST_PUSH(arena, &asked->rows, tile.limit);
    return true;
}

/* ---- the descriptor ---- */

static const char *load_parameter_name(const Function *function, const Value *value) {
    for (int i = 0; i < function->parameter_count; i++)
        if (function->parameters[i].value == value) return function->parameters[i].name;
    return "their";
}

/// What the flag chooses instead of the load, at the builder's place.
static Value *build_load(Builder *b, const RowTile *tile, const Op *load) {
    const Type type = load->results[0]->type;
    Value *base = tile->parameter, *zero = build_int(b, 0), *one = build_int(b, 1);
    if (tile->start->count) base = build_binary(b, OP_ADD, base, build_poly(b, tile->start));
    Value *rows = tile->limit ? tile->limit : build_int(b, INT32_MAX);
    Value *shape[] = {rows, build_poly(b, type.dims[COLUMNS])},
          *strides[] = {build_poly(b, tile->stride), one},
          *lengths[] = {build_poly(b, type.dims[ROWS]), build_poly(b, type.dims[COLUMNS])};
    Value *operands[] = {base, build_tuple(b, shape, 2), build_tuple(b, strides, 2),
                         build_tuple(b, lengths, 2)};
    Value *descriptor = build(b, OP_MAKE_TENSOR_DESCRIPTOR, operands, 4);
    const char *parameter = load_parameter_name(b->function, tile->parameter);
    descriptor->name = arena_printf(b->function->arena, "%s_tiles", parameter);
    Value *place[] = {first_row(b, tile->row, 0), zero};
    return build_binary(b, OP_DESCRIPTOR_LOAD, descriptor, build_tuple(b, place, 2));
}

void load_by_descriptor(Function *function, Op *load, Value *flag) {
    RowTile tile;
    if (!read_tile(function->arena, load, &tile)) return;
    Builder b = {
        .function = function, .region = load->parent, .before = load->next, .range = load->range};
    Value *value = load->results[0];
    Op *branch = op_append(&b, OP_IF, &flag, 1, 0);
    branch->range = load->range;
    Builder described = b, plain = b;
    described.region = op_add_region(&b, branch);
    plain.region = op_add_region(&b, branch);
    described.before = plain.before = NULL;
    Value *result = op_append_result(function, branch, value->type);
    result->name = value->name;
    region_replace_uses(function->body, value, result);
    op_append(&plain, OP_YIELD, &value, 1, 0);
    op_move_before(load, plain.region->first);
    Value *tiles = build_load(&described, &tile, load);
    op_append(&described, OP_YIELD, &tiles, 1, 0);
    branch_take_own(function, branch, 1);
}
