// The gradient of `x[row, label]` beside that of `x[row, :]`: whoever stores the row adds it where the column is the label. Each program
// then stores its row once, without atomics.
#include "autodiff/atomics/picked.h"

#include <math.h>

#include "analysis/addresses/affine.h"
#include "analysis/addresses/strides.h"
#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/walk.h"
#include "autodiff/addresses/place.h"
#include "autodiff/atomics/rows.h"
#include "autodiff/padding/within.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/order.h"
#include "autodiff/rewrite/rewrite.h"

enum {
    MOST_COPIED = 64,  // values in front of the row, in a chain: beyond, atomics stay
    MOST_PARTS = 64,   // of a mask, and of an address
};

struct Pick {
    Arena *arena;
    Function *function;
    const Accumulation *picked, *tiles;
    Op *addition, *row;  // what they add with
    Op *in_addition,
        *in_row;     // in the innermost region of both: what is in front of `in_row` is known there
    Op *inner;       // `in_row`, or what has the row in a branch there
    int side;        // of that branch; -1: there is none
    Op *loop;        // whose iterations have the parts of the row; NULL: one tile has it
    Value *columns;  // the row's tile of indices
    const Poly *index;   // of the element, counted like `columns`
    const Poly *origin;  // of the columns: what they are beside lanes and the loop's variable
    const Poly *step;    // with a loop: columns from one of its numbers to the next
    Builder before;      // in front of `in_row`
    Map copies;
    Value *guard;  // under which loads are brought; NULL: as they stand
    Value *label;  // the index
    Value *
        inside;  // whether the tiles of the row have it; NULL: always, by what is asked around the addition
    Value *alone;         // the element's address in front of `in_row`, where a branch has the row
    Value *value, *mask;  // of the addition, in front of `in_row` or in a branch there
    bool moves_branch;    // the branch around the addition comes in front of the row
    bool is_asked_again;  // in place of that, the value is 0 where its branches are not taken
    int copied;
};

/* ---- what is known in front of the row ---- */

static bool visit_known(void *context, Value *value) { return value_is_before(value, context); }

/// A load that a branch had is made under what the branch asks.
static void keep_load(Pick *pick, Op *load) {
    Value *mask = access_mask(load), *guard = pick->guard;
    int at_mask = op_parameter_index(OP_LOAD, STR("mask")),
        at_other = op_parameter_index(OP_LOAD, STR("other"));
    Builder b = {
        .function = pick->function, .region = load->parent, .before = load, .range = load->range};
    op_set_operand(load, at_mask, mask ? build_binary(&b, OP_AND, mask, guard) : guard);
    if (!load->operands[at_other]) op_set_operand(load, at_other, build_float(&b, 0.0));
}

static Value *bring(Pick *pick, Value *value);

static bool bring_captured(void *context, Value *value) {
    Pick *pick = context;
    Value *copy = bring(pick, value);
    if (copy && copy != value) map_set_pointer(&pick->copies, value, copy);
    return copy != NULL;
}

static bool visit_copied(void *context, Op *op) {
    const Pick *pick = context;
    return op->code == OP_YIELD || op->code == OP_IF || op_is_pure(op) ||
           op_is_stable_load(pick->function, op);
}

static bool visit_load(void *context, Op *op) {
    if (op->code == OP_LOAD) keep_load(context, op);
    return true;
}

static bool can_be_copied(const Pick *pick, const Op *op) {
    if (op->region_count && op->code != OP_IF) return false;
    bool can = op->region_count || op_is_pure(op) || op_is_stable_load(pick->function, op);
    for (int r = 0; r < op->region_count && can; r++)
        can = region_walk(op->regions[r], visit_copied, (void *)(uintptr_t)pick);
    return can;
}

/// The same value in front of the row; NULL where it is made of more than can be made again there.
static Value *bring(Pick *pick, Value *value) {
    if (value_is_before(value, pick->in_row)) return value;
    Value *copy = map_get_pointer(&pick->copies, value);
    const Op *op = value->op;
    if (copy || !op || pick->copied++ > MOST_COPIED) return copy;
    if (!can_be_copied(pick, op) || !op_walk_captured(op, bring_captured, pick)) return NULL;
    op_clone(&pick->before, op, &pick->copies);
    copy = map_get_pointer(&pick->copies, value);
    if (op->code == OP_LOAD && pick->guard) keep_load(pick, copy->op);
    for (int r = 0; r < op->region_count && pick->guard; r++)
        region_walk(copy->op->regions[r], visit_load, pick);
    return copy;
}

static Value *bring_poly(Pick *pick, const Poly *poly) {
    const Poly *known = poly;
    for (int t = 0; t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++) {
            Value *atom = poly->terms[t].atoms[i], *other = bring(pick, atom);
            if (!other) return NULL;
            if (other != atom)
                known = poly_substitute(pick->arena, known, atom, poly_atom(pick->arena, other));
        }
    return build_poly(&pick->before, known);
}

/* ---- the index ---- */

static intptr_t loaded_rule(ValueWalk *walk, const Value *value) {
    const Op *op = value ? value->op : NULL;
    if (!op || op->region_count) return false;
    if (op->code == OP_LOAD) return true;
    for (int i = 0; i < op->operand_count; i++)
        if (walk_ask(walk, op->operands[i])) return true;
    return false;
}

/// An index along the row: of loaded numbers or program ids (the diagonal of a matrix of scores), and of sizes beside them; no stride, no
/// other dimension.
static bool is_index(const Poly *index) {
    bool differs = false;
    for (int t = 0; t < index->count; t++) {
        if (index->terms[t].atom_count > 1) return false;
        const Value *atom = index->terms[t].atom_count ? index->terms[t].atoms[0] : NULL;
        if (!atom) continue;
        if (value_is_program_id(atom, -1) || walk_from(atom, loaded_rule, false, NULL))
            differs = true;
        else if (!value_is_of_parameters(atom))
            return false;
    }
    return differs;
}

/// Whether tiles of columns that go on by so many for each number of the loop follow each other without gaps.
static bool tiles_follow(const Pick *pick, const Poly *step) {
    const Poly *each =
        poly_multiply(pick->arena, step, value_poly(pick->arena, pick->loop->operands[2]));
    return each && poly_equal(each, pick->row->operands[0]->type.dims[0]);
}

/// Takes a tile of numbers for the row's columns where the index is the shorter for it.
static void try_columns(Pick *pick, Value *value, const Poly *distance, const Affine *row) {
    if (value->type.kind != TYPE_NUMBER || value->type.rank != 1) return;
    Affine columns = affine_of(pick->arena, value);
    int64_t one;
    if (!columns.known || columns.wrapped || columns.rank != 1 ||
        !poly_is_constant(columns.lane[0], &one) || one != 1)
        return;
    const Poly *weight = row->lane[0], *base = columns.base;
    const Poly *index = poly_divide_exact(
        pick->arena, poly_add(pick->arena, distance, poly_multiply(pick->arena, weight, base)),
        weight);
    if (!index || !is_index(index) || (pick->index && pick->index->count <= index->count)) return;
    const Poly *origin = base, *step = NULL;
    if (pick->loop &&
        (!poly_split(pick->arena, base, pick->loop->regions[0]->arguments[0], &step, &origin) ||
         !tiles_follow(pick, step)))
        return;
    pick->columns = value;
    pick->index = index;
    pick->origin = origin;
    pick->step = step;
}

static void find_columns(Pick *pick, Value *value, const Poly *distance, const Affine *row,
                         int *left) {
    if (!value || (*left)-- <= 0) return;
    try_columns(pick, value, distance, row);
    const Op *op = value->op;
    if (!op || op->region_count || op->code == OP_LOAD) return;
    for (int i = 0; i < op->operand_count; i++)
        find_columns(pick, op->operands[i], distance, row, left);
}

/// The index as the address of the element has it, where it is known in front of the row.
static void find_spelling(Pick *pick, Value *value, int *left) {
    if (!value || pick->label || (*left)-- <= 0) return;
    bool is_number = value->type.kind == TYPE_NUMBER && value->type.rank == 0;
    if (is_number && dtype_is_integer(value->type.element) && !value->constant &&
        value_is_before(value, pick->in_row) &&
        poly_equal(value_poly(pick->arena, value), pick->index)) {
        pick->label = value;
        return;
    }
    const Op *op = value->op;
    if (!op || op->region_count || op->code == OP_LOAD) return;
    for (int i = 0; i < op->operand_count; i++) find_spelling(pick, op->operands[i], left);
}

/// A branch that has the row, such as one on a flag: without it the element is stored alone.
static void find_branch(Pick *pick) {
    pick->inner = pick->in_row;
    pick->side = -1;
    if (pick->in_row->code != OP_IF || pick->in_row->region_count != 2) return;
    Op *inner = pick->row;
    while (inner->parent->parent != pick->in_row) inner = inner->parent->parent;
    pick->side = inner->parent == pick->in_row->regions[1];
    pick->inner = inner;
}

/// Whether the row has one tile, or one in each iteration of a loop.
static bool find_loop(Pick *pick) {
    if (pick->inner == pick->row) return true;
    Op *loop = pick->row->parent->parent;
    if (loop != pick->inner || (loop->code != OP_FOR && loop->code != OP_STATIC_FOR)) return false;
    pick->loop = loop;
    return true;
}

/* ---- which columns the tiles have ---- */

static bool is_one(const Poly *poly) {
    int64_t number;
    return poly_is_constant(poly, &number) && number == 1;
}

/// Whether a loop from 0 on goes through all so many columns: up to them, or to their number of tiles.
static bool loop_has_all(const Pick *pick, const Poly *columns) {
    Arena *arena = pick->arena;
    Value *end = pick->loop->operands[1];
    const Op *op = end->op;
    if (is_one(pick->step)) return poly_equal(value_poly(arena, end), columns);
    if (!op || (op->code != OP_CDIV && op->code != OP_FLOORDIV) ||
        !poly_equal(value_poly(arena, op->operands[1]), pick->step))
        return false;
    const Poly *all = columns;
    if (op->code == OP_FLOORDIV)
        all = poly_add(arena, columns, poly_subtract(arena, pick->step, poly_constant(arena, 1)));
    return poly_equal(value_poly(arena, op->operands[0]), all);
}

/// Where the columns end: by their mask, which may say no more, or where the tiles end. NULL where the mask is another one.
static Value *end_of_columns(const Pick *pick) {
    const Value *mask = access_mask(pick->row);
    const Op *op = mask ? mask->op : NULL;
    if (!mask) return pick->loop && is_one(pick->step) ? pick->loop->operands[1] : NULL;
    return op && op->code == OP_LT && op->operands[0] == pick->columns &&
                   op->operands[1]->type.rank == 0
               ? op->operands[1]
               : NULL;
}

/// Whether the program goes through the whole row, so that an index outside of what it reads is none of the row's. Sets `inside`.
static bool find_inside(const Differentiation *state, Pick *pick, const Affine *row) {
    Builder *b = &pick->before;
    const Poly *tile = pick->row->operands[0]->type.dims[0];
    Value *end = end_of_columns(pick);
    if (!end && (access_mask(pick->row) || (pick->loop && !is_one(pick->step)))) return false;
    const Poly *columns = end ? value_poly(pick->arena, end) : tile;
    RowTiles tiles = {pick->tiles->input, row->base, row->lane[0], columns};
    Value *const *bounds = pick->loop ? pick->loop->operands : NULL;
    bool from_zero =
        poly_is_zero(pick->origin) && (!bounds || poly_is_zero(value_poly(pick->arena, bounds[0])));
    if (!from_zero || !row_is_whole(state, &tiles)) return false;
    bool is_all = bounds && loop_has_all(pick, columns);
    end = end ? bring(pick, end) : build_poly(b, tile);
    if (!end || (bounds && !is_all)) return false;
    Value *low = build_binary(b, OP_GE, pick->label, build_int(b, 0));
    pick->inside = build_binary(b, OP_AND, low, build_binary(b, OP_LT, pick->label, end));
    if (bounds || poly_equal(columns, tile)) return true;
    Value *further = build_binary(b, OP_LT, pick->label, build_poly(b, tile));
    pick->inside = build_binary(b, OP_AND, pick->inside, further);
    return true;
}

/// Whether the addition is made for indices alone that the program's tiles have: branches or its mask ask for that.
static bool is_asked_for(const Pick *pick) {
    Arena *arena = pick->arena;
    const Poly *first = pick->origin, *last = pick->row->operands[0]->type.dims[0];
    const Value *mask = access_mask(pick->row);
    Value *end = end_of_columns(pick);
    if (mask && !end) return false;
    if (pick->loop) {
        const Poly *start = value_poly(arena, pick->loop->operands[0]);
        first = poly_add(arena, first, poly_multiply(arena, pick->step, start));
        last = poly_multiply(arena, pick->step, value_poly(arena, pick->loop->operands[1]));
    }
    const Poly *below = poly_subtract(arena, poly_add(arena, pick->origin, last), pick->index);
    const Poly *one = poly_constant(arena, 1);
    if (!conditions_say_nonnegative(arena, pick->addition,
                                    poly_subtract(arena, pick->index, first)) ||
        !conditions_say_nonnegative(arena, pick->addition, poly_subtract(arena, below, one)))
        return false;
    if (!mask) return true;
    below = poly_subtract(arena, value_poly(arena, end), pick->index);
    return conditions_say_nonnegative(arena, pick->addition, poly_subtract(arena, below, one));
}

/* ---- what is added ---- */

typedef struct Movable {
    const Pick *pick;
    bool stays;
} Movable;

static bool visit_moved(void *context, Op *op) {
    Movable *movable = context;
    const Pick *pick = movable->pick;
    bool moves = op == pick->addition || op->code == OP_YIELD || op->code == OP_IF ||
                 op_is_pure(op) || op_is_stable_load(pick->function, op);
    if (!moves) movable->stays = true;
    return moves;
}

/// Where the branches around the addition need what comes of the row: what is added, or 0 where they are not taken, is chosen in front of
/// the row. What they load is loaded there only where they are taken.
static bool ask_again(Pick *pick) {
    const Op *branches[REGIONS_MOST_NESTED];
    bool is_else[REGIONS_MOST_NESTED];
    int count = 0;
    for (const Op *op = pick->addition; op != pick->in_addition; op = op->parent->parent) {
        if (count == REGIONS_MOST_NESTED) return false;
        branches[count] = op->parent->parent;
        is_else[count] = op->parent == branches[count]->regions[1];
        count++;
    }
    Builder *b = &pick->before;
    Value *asked = NULL;
    while (count--) {
        Value *condition = bring(pick, branches[count]->operands[0]);
        if (!condition) return false;
        if (is_else[count]) condition = build_unary(b, OP_LOGICAL_NOT, condition);
        asked = asked ? build_binary(b, OP_AND, asked, condition) : condition;
        pick->guard = asked;
    }
    Value *mask = pick->mask;
    pick->value = bring(pick, pick->value);
    if (mask) pick->mask = bring(pick, mask);
    pick->guard = NULL;
    if (!pick->value || (mask && !pick->mask)) return false;
    pick->value = build_ternary(b, OP_WHERE, asked, pick->value, build_float(b, 0.0));
    pick->is_asked_again = true;
    return true;
}

/// Whether what is added is known in front of the row, or can be made so.
static bool find_value(Pick *pick) {
    Op *addition = pick->addition;
    pick->value = addition->operands[1];
    pick->mask = access_mask(addition);
    for (const Op *op = addition; op != pick->in_addition; op = op->parent->parent)
        if (op->parent->parent->code != OP_IF || op->parent->parent->region_count != 2)
            return false;
    if (op_precedes(pick->in_addition, pick->in_row)) return true;
    if (pick->in_addition == addition) {
        pick->value = bring(pick, pick->value);
        if (pick->value && pick->mask) pick->mask = bring(pick, pick->mask);
        return pick->value && (pick->mask || !access_mask(addition));
    }
    Movable movable = {.pick = pick};
    for (int r = 0; r < pick->in_addition->region_count; r++)
        region_walk(pick->in_addition->regions[r], visit_moved, &movable);
    pick->moves_branch =
        !movable.stays && op_walk_captured(pick->in_addition, visit_known, pick->in_row);
    return pick->moves_branch || ask_again(pick);
}

static bool is_pair(const Accumulation *picked, const Accumulation *row) {
    return picked->op->code == OP_ATOMIC_ADD && row->op->code == OP_ATOMIC_ADD &&
           picked->gradient == row->gradient && !picked->is_running && !row->is_running &&
           picked->op->operands[0]->type.rank == 0 && row->op->operands[0]->type.rank == 1 &&
           row->op->operands[1]->type.rank == 1 && row->op->operands[0]->type.dims[0];
}

Pick *pick_plan(Differentiation *state, const Accumulation *picked, const Accumulation *row,
                bool is_single) {
    if (!is_pair(picked, row)) return NULL;
    Pick *pick = ARENA_NEW(state->arena, Pick);
    *pick = (Pick){.arena = state->arena,
                   .function = state->backward,
                   .picked = picked,
                   .tiles = row,
                   .addition = picked->op,
                   .row = row->op,
                   .copies = map_new(state->arena)};
    ops_common_level(pick->addition, pick->row, &pick->in_addition, &pick->in_row);
    if (!pick->in_row || pick->in_row == pick->in_addition) return NULL;
    find_branch(pick);
    if (!find_loop(pick)) return NULL;
    Access element = access_of(state->arena, pick->addition);
    Access tiles = access_of(state->arena, pick->row);
    if (!tiles.parameter || tiles.parameter != element.parameter || !tiles.offset.known ||
        !element.offset.known || tiles.offset.wrapped || element.offset.wrapped ||
        tiles.offset.rank != 1 || poly_is_zero(tiles.offset.lane[0]))
        return NULL;
    const Poly *distance = poly_subtract(state->arena, element.offset.base, tiles.offset.base);
    // `base + start + lanes < end` has the columns in its mask alone
    find_columns(pick, pick->row->operands[0], distance, &tiles.offset, &(int){MOST_PARTS});
    find_columns(pick, access_mask(pick->row), distance, &tiles.offset, &(int){MOST_PARTS});
    if (!pick->columns) return NULL;
    pick->before = (Builder){.function = state->backward,
                             .region = pick->in_row->parent,
                             .before = pick->in_row,
                             .range = row->range};
    find_spelling(pick, pick->addition->operands[0], &(int){MOST_PARTS});
    if (!pick->label) pick->label = bring_poly(pick, pick->index);
    if (!pick->label) return NULL;
    bool is_asked = is_asked_for(pick);
    if (pick->side >= 0) pick->alone = bring(pick, pick->addition->operands[0]);
    bool has_it = pick->side >= 0 ? is_asked && is_single && pick->alone != NULL
                                  : is_asked || find_inside(state, pick, &tiles.offset);
    return has_it && find_value(pick) ? pick : NULL;
}

/* ---- making it so ---- */

/// What is added, out of the branches around the addition: 0 in their others.
static Value *out_of_branches(Pick *pick, Value *value) {
    for (Region *region = pick->addition->parent; region != pick->in_row->parent;
         region = region->parent->parent) {
        Op *branch = region->parent;
        for (int side = 0; side < 2; side++) {
            Region *other = branch->regions[side];
            Builder end = {.function = pick->function,
                           .region = other,
                           .before = region_terminator(other),
                           .range = branch->range};
            op_append_operand(pick->function, region_terminator(other),
                              other == region ? value : build_float(&end, 0.0));
        }
        Value *result = op_append_result(pick->function, branch, type_at_run_time(value->type));
        result->name = value->name;
        value = result;
    }
    return value;
}

static void note_assumption(Differentiation *state, const Pick *pick) {
    bool is_loaded = walk_from(pick->label, loaded_rule, false, NULL);
    const char *text = arena_printf(
        state->arena,
        "the element of `%s` that is read by %s lies in the row that the program "
        "reads as well: where it does not, and its gradient is not 0, that row's gradient is NaN",
        pick->picked->input->name, is_loaded ? "an index from memory" : "the program's number");
    LIST_PUSH(state->arena, &state->stores.assumptions,
              (Assumption){.text = text, .range = pick->picked->range});
}

/// Where the branch leaves the row out, the program stores the element alone. It is one of the program's own, and the buffer holds 0
/// where nothing is stored.
static void store_alone(Pick *pick, Value *value) {
    Region *other = pick->in_row->regions[!pick->side];
    Builder b = {.function = pick->function,
                 .region = other,
                 .before = region_terminator(other),
                 .range = pick->picked->range};
    Value *is_added = build_binary(&b, OP_NE, value, build_float(&b, 0.0));
    build(&b, OP_STORE, (Value *[]){pick->alone, value, is_added}, 3);
}

void pick_fold(Differentiation *state, Pick *pick) {
    Builder *b = &pick->before;
    if (pick->moves_branch) op_move_before(pick->in_addition, pick->in_row);
    Value *value = pick->value;
    if (pick->mask) {
        Builder at = *b;
        if (op_precedes(pick->in_addition, pick->in_row)) {
            at.region = pick->addition->parent;
            at.before = pick->addition;
        }
        value = build_ternary(&at, OP_WHERE, pick->mask, value, build_float(&at, 0.0));
    }
    if (!value->name) value->name = "dpicked";
    if (!pick->is_asked_again) value = out_of_branches(pick, value);
    if (pick->side >= 0) store_alone(pick, value);
    Value *elsewhere = build_float(b, 0.0);
    if (pick->inside) {
        Value *is_nothing = build_binary(b, OP_EQ, value, elsewhere);
        Value *is_right = build_binary(b, OP_OR, pick->inside, is_nothing);
        elsewhere = build_ternary(b, OP_WHERE, is_right, elsewhere, build_float(b, NAN));
        elsewhere->name = "elsewhere";
    }
    Builder at = {.function = state->backward,
                  .region = pick->row->parent,
                  .before = pick->row,
                  .range = pick->tiles->range};
    Value *is_picked = build_binary(&at, OP_EQ, pick->columns, pick->label);
    Value *further = build_ternary(&at, OP_WHERE, is_picked, value, elsewhere);
    Value *old = pick->row->operands[1];
    Value *sum = build_binary(&at, OP_ADD, old, further);
    sum->name = old->name;
    old->name = NULL;
    op_set_operand(pick->row, 1, sum);
    op_remove(pick->addition);
    if (pick->inside) note_assumption(state, pick);
}
