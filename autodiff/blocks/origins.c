// Program ids and loops in, what each says of where a block lies out; and the forms of numbers, held against them.
#include "autodiff/blocks/origins.h"

#include "analysis/ir/walk.h"

BlockSize *block_of(Blocks *blocks, const Value *symbol) {
    for (LIST_EACH(int, i, blocks->blocks))
        if (blocks->blocks.items[i].symbol == symbol) return &blocks->blocks.items[i];
    return NULL;
}

void block_stays(Blocks *blocks, const Value *symbol, const char *why) {
    BlockSize *block = symbol ? block_of(blocks, symbol) : NULL;
    if (block && !block->why) block->why = why;
}

static void poly_stays(Blocks *blocks, const Poly *poly, const char *why) {
    for (int t = 0; poly && t < poly->count; t++)
        for (int a = 0; a < poly->terms[t].atom_count; a++)
            block_stays(blocks, poly->terms[t].atoms[a], why);
}

void type_stays(Blocks *blocks, const Type *type, const char *why) {
    for (int i = 0; i < type->rank; i++) poly_stays(blocks, type->dims[i], why);
}

Value *block_dim(Blocks *blocks, const Poly *dim, bool *is_other) {
    *is_other = false;
    if (!dim) return NULL;
    bool is_symbol = dim->count == 1 && dim->terms[0].coefficient == 1 &&
                     dim->terms[0].atom_count == 1 && block_of(blocks, dim->terms[0].atoms[0]);
    if (is_symbol) return dim->terms[0].atoms[0];
    for (int t = 0; t < dim->count; t++)
        for (int a = 0; a < dim->terms[t].atom_count; a++)
            *is_other = *is_other || block_of(blocks, dim->terms[t].atoms[a]);
    return NULL;
}

/* ---- loops over blocks ---- */

const Poly *scalar_poly(Blocks *blocks, Value *value) {
    if (value->type.rank) return NULL;
    Affine form = affine_by(blocks->former, value);
    return form.known && !form.wrapped ? form.base : NULL;
}

static bool poly_mentions_block(Blocks *blocks, const Poly *poly) {
    for (int t = 0; t < poly->count; t++)
        for (int a = 0; a < poly->terms[t].atom_count; a++)
            if (block_of(blocks, poly->terms[t].atoms[a])) return true;
    return false;
}

static bool is_count(const Blocks *blocks, const Value *value, int *axis) {
    int64_t number;
    for (int k = PROGRAM_AXES; k < BLOCK_AXES; k++)
        if (blocks->counts[k] == value) {
            *axis = k;
            return true;
        }
    if (!value->op || value->op->code != OP_NUM_PROGRAMS) return false;
    if (!value_is_int(value->op->operands[0], &number)) return false;
    *axis = (int)number;
    return number >= 0 && number < PROGRAM_AXES;
}

static bool is_id(const Value *value, int axis) {
    if (axis < PROGRAM_AXES) return value_is_program_id(value, axis);
    return value_is_tile_index(value, grid_axis(axis), (axis - PROGRAM_AXES) % 2);
}

/// `product` as `symbol * other`, one of each.
static bool is_product(Blocks *blocks, const Poly *product, Value **symbol, Value **other) {
    if (product->count != 1 || product->terms[0].coefficient != 1) return false;
    const Monomial *term = &product->terms[0];
    if (term->atom_count < 1 || term->atom_count > 2) return false;
    *symbol = *other = NULL;
    for (int i = 0; i < term->atom_count; i++)
        if (block_of(blocks, term->atoms[i]))
            *symbol = term->atoms[i];
        else
            *other = term->atoms[i];
    return *symbol && (*other || term->atom_count == 1);
}

const Poly *rounded_up(Blocks *blocks, const Value *value, Value **symbol) {
    const Op *op = value->op;
    while (op && op_keeps_numbers(op)) op = op->operands[0]->op;
    if (!op || op->code != OP_FLOORDIV) return NULL;
    *symbol = op->operands[1];
    const Poly *sum = scalar_poly(blocks, op->operands[0]);
    if (!sum || !block_of(blocks, *symbol)) return NULL;
    const Poly *less = poly_subtract(blocks->arena, poly_atom(blocks->arena, *symbol),
                                     poly_constant(blocks->arena, 1));
    const Poly *end = poly_subtract(blocks->arena, sum, less);
    return poly_mentions_block(blocks, end) ? NULL : end;
}

/// `for i in range(lower, upper, step)` as a walk from block to block.
static bool read_loop(Blocks *blocks, Op *loop, Origin *origin) {
    const Poly *bounds[3];
    for (int i = 0; i < 3; i++)
        if (!(bounds[i] = scalar_poly(blocks, loop->operands[i]))) return false;
    const Poly *lower = bounds[0], *upper = bounds[1], *step = bounds[2];
    *origin = (Origin){.variable = loop->regions[0]->arguments[0], .loop = loop};
    Value *other, *symbol;
    int64_t number;
    if (is_product(blocks, step, &origin->symbol, &other)) {  // in steps of elements
        origin->end = upper;
        if (poly_mentions(upper, origin->symbol)) return false;
        origin->kind = other ? ORIGIN_OWNERS : ORIGIN_LOOP;
        if (!other) return !poly_mentions(lower, origin->symbol);
        return is_count(blocks, other, &origin->axis) &&
               is_product(blocks, lower, &symbol, &other) && symbol == origin->symbol && other &&
               is_id(other, origin->axis);
    }
    origin->counts_blocks = true;
    bool is_first = poly_is_constant(lower, &number) && number == 0,
         is_next = poly_is_constant(step, &number) && number == 1;
    if (is_first && is_next && is_count(blocks, loop->operands[1], &origin->axis)) {
        origin->kind = ORIGIN_PROGRAMS;
        return true;
    }
    origin->end = rounded_up(blocks, loop->operands[1], &origin->symbol);
    if (!origin->end) return false;
    origin->kind = ORIGIN_LOOP;
    if (is_first && is_next) return true;
    origin->kind = ORIGIN_OWNERS;
    return is_count(blocks, loop->operands[2], &origin->axis) &&
           is_id(loop->operands[0], origin->axis);
}

static bool visit_loop(void *context, Op *op) {
    Blocks *blocks = context;
    Origin origin;
    if (op->code == OP_FOR && read_loop(blocks, op, &origin))
        LIST_PUSH(blocks->arena, &blocks->origins, origin);
    return true;
}

void origins_find(Blocks *blocks) {
    const FunctionAxes axes = function_axes(blocks->arena, blocks->function);
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (axes.programs[axis])
            LIST_PUSH(blocks->arena, &blocks->origins,
                      ((Origin){.kind = ORIGIN_PROGRAM,
                                .variable = axes.programs[axis],
                                .axis = axis,
                                .counts_blocks = true}));
    for (int axis = PROGRAM_AXES; axis < BLOCK_AXES; axis++) {
        Value *index = axes.tiles[grid_axis(axis)][(axis - PROGRAM_AXES) % 2];
        blocks->tiles[axis] = index;
        if (index)
            LIST_PUSH(blocks->arena, &blocks->origins,
                      ((Origin){.kind = ORIGIN_PROGRAM,
                                .variable = index,
                                .axis = axis,
                                .counts_blocks = true}));
    }
    region_walk(blocks->function->body, visit_loop, blocks);
}

int origin_of_loop(const Blocks *blocks, const Op *loop) {
    for (LIST_EACH(int, i, blocks->origins))
        if (blocks->origins.items[i].loop == loop) return i;
    return LABELS_NONE;
}

/* ---- forms ---- */

static int origin_of_atom(const Blocks *blocks, const Value *atom) {
    for (LIST_EACH(int, i, blocks->origins)) {
        const Origin *origin = &blocks->origins.items[i];
        bool is_program = origin->kind == ORIGIN_PROGRAM;
        if (is_program ? is_id(atom, origin->axis) : origin->variable == atom) return i;
    }
    return LABELS_NONE;
}

static const char plain_use[] = "a number is made of it that is no `block * size + lane`";

void poly_use(Blocks *blocks, const Poly *poly) {
    int axis;
    for (int t = 0; t < poly->count; t++)
        for (int a = 0; a < poly->terms[t].atom_count; a++) {
            Value *atom = poly->terms[t].atoms[a];
            Value *rounded;
            block_stays(blocks, atom, plain_use);
            if (rounded_up(blocks, atom, &rounded)) block_stays(blocks, rounded, plain_use);
            int origin = origin_of_atom(blocks, atom);
            if (origin >= 0) blocks->origins.items[origin].is_plain = true;
            if (is_count(blocks, atom, &axis)) blocks->counts_programs[axis] = true;
        }
}

/// Takes `weight * (origin's elements)` out of the base. The origin, or LABELS_NONE.
static int take_origin(Blocks *blocks, Value *symbol, const Poly *weight, const Poly **base) {
    for (int t = 0; t < (*base)->count; t++)
        for (int a = 0; a < (*base)->terms[t].atom_count; a++) {
            Value *atom = (*base)->terms[t].atoms[a];
            int index = origin_of_atom(blocks, atom);
            if (index < 0) continue;
            Origin *origin = &blocks->origins.items[index];
            if (origin->symbol && origin->symbol != symbol) continue;
            const Poly *part = poly_multiply(blocks->arena, weight, poly_atom(blocks->arena, atom));
            if (origin->counts_blocks)
                part = poly_multiply(blocks->arena, part, poly_atom(blocks->arena, symbol));
            const Poly *rest = poly_subtract(blocks->arena, *base, part);
            if (!part || !rest || rest->count + part->count != (*base)->count) continue;
            origin->symbol = symbol;
            *base = rest;
            return index;
        }
    return LABELS_NONE;
}

void form_use(Blocks *blocks, const Affine *form, const Type *type, int *labels,
              const Poly **rest) {
    const Poly *base = form->base;
    for (int k = 0; k < type->rank; k++) {
        if (labels) labels[k] = LABELS_NONE;
        if (k >= form->rank || poly_is_zero(form->lane[k])) continue;
        bool is_other;
        Value *symbol = block_dim(blocks, type->dims[k], &is_other);
        if (is_other) type_stays(blocks, type, "a tile has another multiple of it");
        poly_use(blocks, form->lane[k]);
        if (!symbol) continue;
        int origin = take_origin(blocks, symbol, form->lane[k], &base);
        if (origin < 0)
            block_stays(blocks, symbol,
                        "each tile of it is an axis from 0 on: it covers all of that");
        if (labels) labels[k] = origin;
    }
    poly_use(blocks, base);
    if (rest) *rest = base;
}

bool value_is_affine(Blocks *blocks, Value *value) {
    const Type *type = &value->type;
    bool is_number = type->kind == TYPE_NUMBER && dtype_is_integer(type->element) &&
                     type->element.code != DTYPE_INT1;
    if (type->kind == TYPE_POINTER) return true;
    return is_number && affine_by(blocks->former, value).known;
}
