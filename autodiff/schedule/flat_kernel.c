// From a flat index, `program * BLOCK + lane`, to owners of what its digits tell apart: the columns of rows that follow each other
// (`index % period`), or runs of elements (`index // run % owners`). A turn is what a program does for one owner at a time.
#include "autodiff/schedule/flat_kernel.h"

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/place.h"
#include "autodiff/digits/digits.h"
#include "autodiff/extents/stored_digits.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/schedule/reduction_plan.h"
#include "autodiff/schedule/summed_programs.h"
#include "autodiff/state/tile_turns.h"
#include "autodiff/tape/tape.h"

typedef struct Flat {
    Differentiation *state;
    ReductionPlan *plan;
    OwnDigits digits;    // of all statements
    Op **statements;     // in the order of those that programs share
    const Value *bound;  // of the comparison `index < bound` that all else is under; or NULL
    bool lanes_own;      // owners follow each other lane by lane; else each has a run of elements
    Map plain;           // gradients in which the owner's number is the element's
    Map copies;          // of what depends on the index, in a turn
    Value *inside;       // the lanes of a turn that are elements of it
    Value *
        is_own;  // the lanes that have an owner, in all turns alike; NULL: the owner is one for all lanes
    Value *owner;  // the element of a gradient
    Value *first;  // in a tile of runs: the number of each run's first element; or NULL
    Value *
        owners;  // in a tile of runs, where `owner` is a column: the same one after the other; or NULL
    Value *period;  // the number of the period that it is of; NULL: there are none
    Value *
        all_row;  // likewise, of the lane's element: its row among all, or among those of its period
    Value *
        row;  // with `is_own`: of the lane, where a tile has several rows of owners; each has sums of its own
} Flat;

static Value *add(Builder *b, Value *x, Value *y) { return build_binary(b, OP_ADD, x, y); }
static Value *multiply(Builder *b, Value *x, Value *y) { return build_binary(b, OP_MUL, x, y); }
static Value *least(Builder *b, Value *x, Value *y) { return build_binary(b, OP_MINIMUM, x, y); }
static Value *quotient(Builder *b, Value *x, Value *y) {
    return build_binary(b, OP_FLOORDIV, x, y);
}
static Value *remainder_of(Builder *b, Value *x, Value *y) { return build_binary(b, OP_MOD, x, y); }

static Value *at_least_one(Builder *b, Value *x) {
    return build_binary(b, OP_MAXIMUM, x, build_int(b, 1));
}

static Value *named(Value *value, const char *name) {
    if (!value->constant && !value->name) value->name = name;
    return value;
}

static Value *cast(Builder *b, Value *x, DType element) {
    if (dtype_equal(x->type.element, element)) return x;
    return build_binary(b, OP_CAST, x, build_dtype(b, element));
}

/// What a loop runs to.
static Value *count_of(Builder *b, Value *x) { return cast(b, x, dtype_of(DTYPE_INT32)); }

static Value *expand(Builder *b, Value *x, int axis) {
    return build_binary(b, OP_EXPAND_DIMS, x, build_int(b, axis));
}

static Value *rounded_up(Builder *b, Value *x, Value *by) {
    return build_trip_count(b, build_int(b, 0), x, by);
}

/* ---- what there is ---- */

static const Poly *lanes_of(const Flat *flat) { return flat->digits.number->type.dims[0]; }

/// Whether a tile has the numbers `program * lanes + lane`, along the first axis of the grid.
static bool counts_lanes(Arena *arena, const Function *function, Value *number) {
    if (number->type.rank != 1 || !number->type.dims[0] ||
        !dtype_is_integer(number->type.element) || dtype_bits(number->type.element.code) < 32)
        return false;
    Affine form = affine_of(arena, number);
    FunctionAxes axes = function_axes(arena, function);
    int64_t step;
    if (!form.known || form.wrapped || form.rank != 1 || !axes.programs[0] || axes.programs[1] ||
        axes.programs[2] || !poly_is_constant(form.lane[0], &step) || step != 1)
        return false;
    const Poly *first =
        poly_multiply(arena, poly_atom(arena, axes.programs[0]), number->type.dims[0]);
    return poly_equal(form.base, first);
}

static bool same_size(const Poly *a, const Poly *b) { return a && b ? poly_equal(a, b) : a == b; }

static bool same_digits(const OwnDigits *a, const OwnDigits *b) {
    return a->number == b->number && poly_equal(a->low, b->low) &&
           same_size(a->extent, b->extent) && same_size(a->period, b->period);
}

static bool is_statement(const Flat *flat, const Op *op) {
    for (int i = 0; i < flat->state->parts.shared.count; i++)
        if (flat->statements[i] == op) return true;
    return false;
}

static bool op_acts(const Op *op) {
    return op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED);
}

enum { SET_OF_SUMS = -1 };  // of a gradient of one element: all lanes of all programs are its own

/// Sets of digits that statements have, in their order; which of them each statement has, or SET_OF_SUMS. -1 where one has none of the
/// index alone, or all are such sums.
static int find_sets(Flat *flat, OwnDigits *sets, int *set_of) {
    Differentiation *state = flat->state;
    int count = 0;
    for (LIST_EACH(int, i, state->parts.shared)) {
        Op *op = state->parts.shared.items[i].statement.op;
        if (op->parent != state->backward->body) return -1;
        const bool is_sum = op->operands[0]->type.rank == 0;
        int set = is_sum ? SET_OF_SUMS : 0;
        if (!is_sum && !digits_own(state->arena, op, &sets[count])) return -1;
        while (!is_sum && set < count && !same_digits(&sets[set], &sets[count])) set++;
        for (int k = 0; k < i; k++)  // a gradient is one kernel's
            if (state->parts.shared.items[k].gradient == state->parts.shared.items[i].gradient &&
                set_of[k] != set)
                return -1;
        if (!is_sum && sets[count].is_plain)
            map_set_pointer(&flat->plain, state->parts.shared.items[i].statement.gradient, flat);
        set_of[i] = set;
        count += set == count;
    }
    return count ? count : -1;
}

/// Leaves the statements of one set; the first kernel has all else that the backward does.
static void keep_set(const Flat *flat, const int *set_of, int set) {
    Differentiation *state = flat->state;
    int count = 0;
    for (LIST_EACH(int, i, state->parts.shared)) {
        SharedStatement *shared = &state->parts.shared.items[i];
        if (set_of[i] == set)
            state->parts.shared.items[count++] = *shared;
        else
            op_remove(shared->statement.op);
    }
    state->parts.shared.count = count;
    for (int i = 0; i < count; i++) flat->statements[i] = state->parts.shared.items[i].statement.op;
    for (Op *op = state->backward->body->first, *next; op && set; op = next) {
        next = op->next;
        if (op_acts(op) && !is_statement(flat, op)) op_remove(op);
    }
    function_drop_dead(state->backward);
}

/// What the kernel of the part's number adds, all of one set.
typedef struct KernelSet {
    int *set_of;  // of all statements
    int set;      // SET_OF_SUMS: the last kernel's
} KernelSet;

/// False where there is no such kernel.
static bool find_kernel(Flat *flat, KernelSet *own) {
    Differentiation *state = flat->state;
    int count = state->parts.shared.count, index = state->parts.part.index;
    flat->statements = ARENA_ARRAY(state->arena, Op *, count + 1);
    OwnDigits *sets = ARENA_ARRAY(state->arena, OwnDigits, count + 1);
    own->set_of = ARENA_ARRAY(state->arena, int, count + 1);
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (state->stores.unread_axes[axis] == GRID_AXIS_SEVERAL) return false;
    int set_count = find_sets(flat, sets, own->set_of);
    bool has_sums = false;
    for (int i = 0; i < count; i++) has_sums |= own->set_of[i] == SET_OF_SUMS;
    if (set_count < 0 || index >= set_count + has_sums) return false;
    state->parts.reduction_kernels = set_count + has_sums;
    own->set = index < set_count ? index : SET_OF_SUMS;
    if (index < set_count) flat->digits = sets[index];
    return true;
}

bool flat_take_sums(Differentiation *state) {
    Flat flat = {.state = state, .plain = map_new(state->arena)};
    KernelSet own;
    if (!find_kernel(&flat, &own) || own.set != SET_OF_SUMS) return false;
    keep_set(&flat, own.set_of, own.set);
    return true;
}

static bool find_statements(Flat *flat) {
    Differentiation *state = flat->state;
    KernelSet own;
    if (!find_kernel(flat, &own) || own.set == SET_OF_SUMS) return false;
    keep_set(flat, own.set_of, own.set);
    int64_t run;
    flat->lanes_own = poly_is_constant(flat->digits.low, &run) && run == 1;
    if (flat->digits.period && !flat->lanes_own) return false;
    return counts_lanes(state->arena, state->backward, flat->digits.number);
}

/// Whether an op may be done for any tile of elements: by element, or an access.
static bool is_movable(const Flat *flat, const Op *op) {
    if (op->code == OP_LOAD || op->code == OP_STORE)
        return op->operand_count <= OPERATION_MOST_OPERANDS;
    if (op->code == OP_ATOMIC_ADD) return is_statement(flat, op);
    return op_is_by_element(op) && op->result_count == 1;
}

static bool depends_on(const Map *values, const Op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && map_has_pointer(values, op->operands[i])) return true;
    return false;
}

/// Whether `inside` is one of the conditions that make up a mask.
static bool mask_has(const Value *mask, const Value *inside) {
    if (mask == inside) return true;
    bool is_both = mask && mask->op && mask->op->code == OP_AND;
    return is_both &&
           (mask_has(mask->op->operands[0], inside) || mask_has(mask->op->operands[1], inside));
}

/// Whether the comparison is around all that the kernel writes, and nothing else is around what it adds; or it has no masks there.
static bool settle_bound(Flat *flat) {
    bool is_masked = access_mask(flat->statements[0]) != NULL;
    if (!is_masked) flat->bound = NULL;
    for (const Op *op = flat->state->backward->body->first; op; op = op->next) {
        if (!op_acts(op)) continue;
        const Value *mask = access_mask(op);
        bool is_told = is_statement(flat, op) ? mask == flat->bound : mask_has(mask, flat->bound);
        if (flat->bound ? !is_told : is_statement(flat, op) && mask) return false;
    }
    return flat->bound || !is_masked;
}

/// Whether all that tells lanes and programs apart is the index. `moved`: what depends on it, and what acts.
static bool find_moved(Flat *flat, Map *moved) {
    Map differing = map_new(flat->state->arena);
    Value *number = flat->digits.number;
    map_set_pointer(moved, number, flat);
    for (Op *op = flat->state->backward->body->first; op; op = op->next) {
        if (op == number->op) continue;
        bool differs =
            op->code == OP_PROGRAM_ID || op->code == OP_ARANGE || depends_on(&differing, op);
        bool is_moved = depends_on(moved, op) || op_acts(op);
        if (op->region_count || (is_moved && (differs || !is_movable(flat, op)))) return false;
        if (op_acts(op) && !map_has_pointer(moved, op->operands[0])) return false;
        for (int i = 0; i < op->result_count; i++) {
            if (differs) map_set_pointer(&differing, op->results[i], flat);
            if (is_moved) map_set_pointer(moved, op->results[i], flat);
        }
        bool is_bound =
            op->code == OP_LT && op->operands[0] == number && op->operands[1]->type.rank == 0;
        if (is_bound && !flat->bound &&
            poly_is_fixed(flat->state->arena, value_poly(flat->state->arena, op->operands[1])))
            flat->bound = op->results[0];
    }
    return settle_bound(flat);
}

/* ---- a turn ---- */

/// Whether a value is 0 outside of the turn: loads are, and what is made of them by factors that are loaded likewise.
static bool is_zero_outside(const Flat *flat, const Value *value) {
    double number;
    const Op *op = value->op;
    if (!op || value->constant) return value_is_number(value, &number) && number == 0;
    switch (op->code) {
    case OP_LOAD:
        return op->operand_count > 2 && mask_has(op->operands[1], flat->inside) &&
               op->operands[2] && value_is_number(op->operands[2], &number) && number == 0;
    case OP_CAST:
    case OP_NEG: return is_zero_outside(flat, op->operands[0]);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
        return is_zero_outside(flat, op->operands[0]) && is_zero_outside(flat, op->operands[1]);
    default: return false;
    }
}

/// Whether a value is a column of a tile of runs: one for each owner.
static bool is_column(const Flat *flat, const Value *value) {
    int64_t width;
    const Type *type = &value->type;
    return flat->owners && type->rank == 2 && type->dims[1] &&
           poly_is_constant(type->dims[1], &width) && width == 1;
}

/// An access of the turn's lanes alone, or one that the owner makes once: all of its turns read that element.
static bool limit_access(const Flat *flat, Builder *b, const Op *op, Value **operands, int *count) {
    int at = op->code == OP_LOAD ? 1 : 2;
    if (*count < 3) *count = 3;
    Value **mask = &operands[at];
    bool is_plain = !*mask || *mask == flat->inside;
    bool is_owners = op->code == OP_LOAD && is_plain && !owners_differ(flat->plan, operands[0]);
    if (operands[0]->type.rank == 0 && op->code != OP_ATOMIC_ADD) {
        *mask = operands[2] = NULL;
        return is_owners;
    }
    bool is_added = op->code == OP_ATOMIC_ADD, is_each = is_column(flat, operands[0]);
    // what is not made of the owner's number alone (`index - index % run`) is another element in each turn, or lane
    if (is_added && owners_differ(flat->plan, operands[0])) return false;
    if (flat->owners && is_added && !is_each) return false;
    if (is_each && !is_added && !is_owners) return false;
    is_each = is_each && !is_added;
    Value *inside = is_each                                      ? expand(b, flat->is_own, 1)
                    : is_owners && flat->is_own && !flat->owners ? flat->is_own
                                                                 : flat->inside;
    if (op->code == OP_LOAD && !*mask) {
        bool is_float = dtype_is_float(op->results[0]->type.element);
        operands[2] = is_float ? build_float(b, 0.0) : build_int(b, 0);
    }
    if (is_plain)
        *mask = inside;
    else if (!mask_has(*mask, flat->inside))
        *mask = build_binary(b, OP_AND, *mask, flat->inside);
    return true;
}

/// What is made of a column of owners, of the same one after the other.
static Value *of_owners(const Flat *flat, Builder *b, Value *value) {
    Value *operands[OPERATION_MOST_OPERANDS] = {0};
    if (value == flat->owner) return flat->owners;
    if (!is_column(flat, value) || !value->op) return value;
    for (int i = 0; i < value->op->operand_count; i++)
        if (value->op->operands[i]) operands[i] = of_owners(flat, b, value->op->operands[i]);
    return build(b, value->op->code, operands, value->op->operand_count);
}

/// What a turn adds for its owner.
static void add_term(Flat *flat, Builder *b, int index, Value **operands) {
    Value *term = operands[1], *mask = operands[2];
    if (term->type.rank == 0 || mask != flat->inside || !is_zero_outside(flat, term))
        term = build_ternary(b, OP_WHERE, mask, term, build_float(b, 0.0));
    Value *address = operands[0];
    Accumulation *statement = &flat->state->parts.shared.items[index].statement;
    if (flat->lanes_own)
        address =
            add(b, address, multiply(b, flat->row, part_stride(flat->state, statement->gradient)));
    else if (flat->owners)
        term = build_binary(b, OP_SUM, term, build_int(b, 1));
    else
        term = build_unary(b, OP_SUM, term);
    if (flat->owners) address = of_owners(flat, b, address);
    build(b, OP_ATOMIC_ADD, (Value *[]){address, term, flat->is_own}, 3);
    statement->op = b->before->previous;
}

/// What the owner, or its row, says of a digit of the index, where owners follow each other lane by lane: nothing is divided in a turn.
/// NULL: neither does.
static Value *digit_in_turn(const Flat *flat, Builder *b, Value *result) {
    Arena *arena = flat->state->arena;
    const OwnDigits *own = &flat->digits;
    const Poly *low, *extent, *rows = NULL, *reach = NULL;
    if (!flat->lanes_own || result->type.rank != 1 ||
        !digit_read(arena, result, own->number, &low, &extent))
        return NULL;
    if (own->period) rows = poly_divide_exact(arena, own->period, own->extent);
    if (poly_equal(low, own->extent) && same_size(extent, rows))
        return cast(b, flat->all_row, result->type.element);
    if (extent) reach = poly_multiply(arena, low, extent);
    if (!reach || !poly_divide_exact(arena, own->extent, reach)) return NULL;
    int64_t step;
    Value *digit = flat->owner;
    if (!poly_is_constant(low, &step) || step != 1) digit = quotient(b, digit, build_poly(b, low));
    if (!poly_equal(reach, own->extent)) digit = remainder_of(b, digit, build_poly(b, extent));
    return cast(b, digit, result->type.element);
}

/// In a tile of runs, the number of an element among those of its run (`index % run`): nothing is divided. NULL: the value is another one.
static Value *place_in_run(const Flat *flat, Builder *b, Value *result) {
    const Poly *low, *extent;
    Value *number = flat->digits.number;
    if (!flat->first || result->type.rank != 1 ||
        !digit_read(flat->state->arena, result, number, &low, &extent) || !poly_is_one(low) ||
        !same_size(extent, flat->digits.low))
        return NULL;
    Value *place = build_binary(b, OP_SUB, map_get_pointer(&flat->copies, number), flat->first);
    return cast(b, place, result->type.element);
}

/// In a tile of runs, lanes of the forward's block that are the same in all of its turns (`tl.full([BLOCK], ...)`), as that tile. NULL where they
/// are made of more than one number.
static Value *spread_again(Flat *flat, Builder *b, Value *value) {
    Value *operands[OPERATION_MOST_OPERANDS] = {0}, *known = map_get_pointer(&flat->copies, value);
    const Op *op = value->op;
    if (known || value->type.rank == 0) return known ? known : value;
    if (value->type.rank != 1 || !op || op->operand_count > OPERATION_MOST_OPERANDS) return NULL;
    int shape = op_parameter_index(op->code, STR("shape"));
    if (shape < 0 && !op_is_by_element(op)) return NULL;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        operands[i] = i == shape ? build_shape(b, flat->inside->type)
                                 : spread_again(flat, b, op->operands[i]);
        if (!operands[i]) return NULL;
    }
    Value *copy = build(b, op->code, operands, op->operand_count);
    if (!copy || copy->type.kind == TYPE_UNKNOWN) return NULL;
    map_set_pointer(&flat->copies, value, copy);
    return named(copy, value->name);
}

static bool make_again(Flat *flat, Builder *b, Op *op) {
    Value *operands[OPERATION_MOST_OPERANDS + 3] = {0};
    int count = op->operand_count;
    Value *result = op->result_count ? op->results[0] : NULL;
    b->range = op->range;
    if (result && digit_is(flat->state->arena, result, &flat->digits)) {
        map_set_pointer(&flat->copies, result, flat->owner);
        return true;
    }
    if (result && digit_is_period(flat->state->arena, result, &flat->digits)) {
        map_set_pointer(&flat->copies, result, flat->period);
        return true;
    }
    Value *digit = result ? digit_in_turn(flat, b, result) : NULL;
    if (result && !digit) digit = place_in_run(flat, b, result);
    if (digit) {
        map_set_pointer(&flat->copies, result, named(digit, result->name));
        return true;
    }
    if (result && result == flat->bound) {
        map_set_pointer(&flat->copies, result, flat->inside);
        return true;
    }
    // what says a shape, or has another one, is of the forward's block
    if (flat->owners && (op->code == OP_EXPAND_DIMS || op->code == OP_BROADCAST_TO)) return false;
    for (int i = 0; i < count; i++) {
        if (!op->operands[i]) continue;
        operands[i] = flat->owners ? spread_again(flat, b, op->operands[i])
                                   : value_mapped(&flat->copies, op->operands[i]);
        if (!operands[i]) return false;
    }
    if (op_is_access(op) && !limit_access(flat, b, op, operands, &count)) return false;
    if (op->code == OP_ATOMIC_ADD) {
        int index = 0;
        while (flat->statements[index] != op) index++;
        add_term(flat, b, index, operands);
        return true;
    }
    Value *copy = build(b, op->code, operands, count);
    if (!result) return true;
    if (!copy || copy->type.kind == TYPE_UNKNOWN) return false;
    map_set_pointer(&flat->copies, result, copy);
    named(copy, result->name);
    return true;
}

/* ---- owners ---- */

/// In the index's own type, which may have to be a wide one.
static Value *wide(const Flat *flat, Builder *b, Value *number) {
    return cast(b, number, flat->digits.number->type.element);
}

/// Whether programs that take turns have all tiles up to the bound: their count is `(bound + lanes - 1) // lanes`.
static bool turns_end_at_bound(const Flat *flat, Builder *b) {
    Arena *arena = flat->state->arena;
    Value *count = tiles_count(flat->state, b);
    while (count && count->op && op_keeps_numbers(count->op)) count = count->op->operands[0];
    if (!flat->bound || !count || !count->op || count->op->code != OP_FLOORDIV) return false;
    const Poly *lanes = lanes_of(flat), *end = value_poly(arena, flat->bound->op->operands[1]),
               *rest = poly_subtract(arena, lanes, poly_constant(arena, 1));
    return end && poly_equal(value_poly(arena, count->op->operands[1]), lanes) &&
           poly_equal(value_poly(arena, count->op->operands[0]), poly_add(arena, end, rest));
}

/// Elements that programs have, as numbers of the launch.
static Value *count_elements(const Flat *flat, Builder *b, Value *lanes) {
    if (flat->state->parts.tiles.count)
        return cast(b, flat->bound->op->operands[1], flat->digits.number->type.element);
    Value *programs = build_unary(b, OP_NUM_PROGRAMS, build_int(b, 0));
    Value *total = multiply(b, wide(flat, b, programs), lanes);
    if (flat->bound) total = least(b, total, flat->bound->op->operands[1]);
    return named(total, "total");
}

/// The loop of owners lane by lane, in blocks: of all that are below `end`, in each of the periods.
static Op *open_blocks(Flat *flat, Builder *b, Value *lanes, Value *end, Value *periods,
                       Value **start) {
    if (!periods) return open_loop(b, build_int(b, 0), end, lanes, start);
    Value *block, *blocks = named(count_of(b, rounded_up(b, end, lanes)), "blocks");
    Value *all = named(count_of(b, multiply(b, periods, blocks)), "blocks_of_all");
    Op *loop = open_loop(b, build_int(b, 0), all, build_int(b, 1), &block);
    named(block, "block");
    flat->period = named(quotient(b, block, blocks), "period");
    *start = multiply(b, remainder_of(b, block, blocks), lanes);
    return loop;
}

/// Owners lane by lane: a tile has as many of their rows as fit in, one at least, and each is summed by itself. Where each period has owners of
/// its own, `total` is of one of them: the last may be shorter.
static Op *open_columns(Flat *flat, Builder *b, Value *lanes, Value *all) {
    Differentiation *state = flat->state;
    ReductionPlan *plan = flat->plan;
    Value *period = flat->digits.period ? build_poly(b, flat->digits.period) : NULL;
    Value *periods = period ? named(rounded_up(b, all, period), "periods") : NULL;
    Value *total = period ? named(least(b, period, all), "of_a_period") : all;
    Value *most = parts_most(state), *owners = build_poly(b, flat->digits.extent), *start;
    Value *rows = at_least_one(b, least(b, quotient(b, lanes, owners), most));
    plan->rows = named(rows, "rows_at_once");
    Value *width = named(multiply(b, owners, rows), "span");
    plan->turns = named(count_of(b, rounded_up(b, total, width)), "turns");
    Value *end = named(count_of(b, least(b, width, total)), "end");
    Op *loop = open_blocks(flat, b, lanes, end, periods, &start);
    named(start, "start");
    Value *before = NULL;  // elements of earlier periods
    if (period) {
        before = named(multiply(b, wide(flat, b, flat->period), period), "before");
        total = named(least(b, period, build_binary(b, OP_SUB, all, before)), "here");
        end = count_of(b, least(b, width, total));
    }
    Value *turn = named(build_unary(b, OP_PROGRAM_ID, build_int(b, 0)), "turn");
    Value *columns = add(b, start, build_binary(b, OP_ARANGE, build_int(b, 0), lanes));
    named(columns, "columns");
    Value *first = multiply(b, wide(flat, b, turn), width);
    Value *left = least(b, width, build_binary(b, OP_SUB, total, first));
    flat->inside = named(build_binary(b, OP_LT, columns, left), "inside");
    flat->is_own = named(build_binary(b, OP_LT, columns, end), "is_own");
    flat->owner = named(remainder_of(b, columns, owners), "column");
    flat->row = quotient(b, columns, owners);
    flat->all_row = add(b, multiply(b, wide(flat, b, turn), rows), flat->row);
    if (before) first = add(b, before, first);
    Value *index = named(add(b, first, columns), flat->digits.number->name);
    map_set_pointer(&flat->copies, flat->digits.number, index);
    return loop;
}

/// A size of a tile of runs, along an axis.
static Value *run_tile_size(Differentiation *state, int axis, const char *name, Str unasked) {
    Type whole = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32), .is_constexpr = true};
    Value *size = state->parts.run_tile[axis] = backward_add_parameter(state, name, whole);
    Parameter *parameter = &state->backward->parameters[size->index];
    parameter->is_constexpr = true;
    parameter->default_text = unasked;
    return size;
}

/// Owners of one run of elements each: a tile has the runs of several that follow each other, and a part of these where they are long.
static Op *open_run_tiles(Flat *flat, Builder *b, Value *total) {
    Value *runs = run_tile_size(flat->state, 0, "RUNS", STR("8")),
          *lanes = run_tile_size(flat->state, 1, "LANES", STR("128"));
    Value *run = build_poly(b, flat->digits.low), *start;
    flat->plan->turns = named(rounded_up(b, run, lanes), "tiles");
    Value *end = named(count_of(b, rounded_up(b, total, run)), "end");
    Op *loop = open_loop(b, build_int(b, 0), end, runs, &start);
    named(start, "start");
    Value *turn = named(build_unary(b, OP_PROGRAM_ID, build_int(b, 0)), "turn");
    flat->owners = add(b, start, build_binary(b, OP_ARANGE, build_int(b, 0), runs));
    named(flat->owners, "owner");
    flat->is_own = named(build_binary(b, OP_LT, flat->owners, end), "is_own");
    flat->owner = expand(b, flat->owners, 1);
    Value *lane = build_binary(b, OP_ARANGE, build_int(b, 0), lanes);
    Value *within = add(b, multiply(b, turn, lanes), lane);
    within = expand(b, named(within, "within"), 0);
    Value *first = named(multiply(b, wide(flat, b, flat->owner), run), "first");
    flat->first = first;
    Value *left = named(least(b, run, build_binary(b, OP_SUB, total, first)), "left");
    flat->inside = named(build_binary(b, OP_LT, within, left), "inside");
    Value *index = named(add(b, first, within), flat->digits.number->name);
    map_set_pointer(&flat->copies, flat->digits.number, index);
    return loop;
}

/// Owners that have runs of elements in several rows: a tile is a part of a run, or the runs that one owner has in several of these.
static Op *open_runs(Flat *flat, Builder *b, Value *lanes, Value *total) {
    Value *run = build_poly(b, flat->digits.low), *owners = build_poly(b, flat->digits.extent);
    Value *together = named(at_least_one(b, quotient(b, lanes, run)), "rows_at_once");
    Value *tiles = named(rounded_up(b, run, lanes), "tiles");
    Value *rows = count_of(b, rounded_up(b, total, multiply(b, owners, run)));
    Value *groups = rounded_up(b, named(rows, "rows"), together), *owner;
    flat->plan->turns = named(multiply(b, groups, tiles), "turns");
    Value *end = least(b, owners, rounded_up(b, total, run));
    end = named(count_of(b, end), "end");
    Op *loop = open_loop(b, build_int(b, 0), end, build_int(b, 1), &owner);
    flat->owner = named(owner, "owner");
    Value *turn = named(build_unary(b, OP_PROGRAM_ID, build_int(b, 0)), "turn");
    Value *lane = build_binary(b, OP_ARANGE, build_int(b, 0), lanes);
    Value *part = remainder_of(b, turn, tiles);
    Value *row_of_lane = named(quotient(b, lane, run), "row_of_lane");
    // lanes are of several rows where these are short; else all are of the first
    Value *row = multiply(b, quotient(b, turn, tiles), together);
    Value *batch = named(add(b, row, row_of_lane), "row");
    row = add(b, multiply(b, batch, owners), owner);
    Value *within = named(remainder_of(b, lane, run), "lane_in_row");
    within = named(add(b, multiply(b, part, lanes), within), "within");
    Value *first = named(multiply(b, wide(flat, b, row), run), "first");
    Value *index = named(add(b, first, within), flat->digits.number->name);
    // each comparison is with one number for all lanes: else loads would be of single elements
    Value *fits = build_binary(b, OP_LT, row_of_lane, together);
    Value *in_row = build_binary(b, OP_LT, within, run);
    Value *inside = build_binary(b, OP_AND, named(fits, "fits"), in_row);
    inside = build_binary(b, OP_AND, inside, build_binary(b, OP_LT, batch, rows));
    inside = build_binary(b, OP_AND, inside, build_binary(b, OP_LT, index, total));
    flat->inside = named(inside, "inside");
    map_set_pointer(&flat->copies, flat->digits.number, index);
    return loop;
}

/// What a person calls the owner in the kernel, or NULL.
static const char *name_of_owner(const Flat *flat) {
    for (const Op *op = flat->state->backward->body->first; op; op = op->next)
        if (op->result_count == 1 && op->results[0]->name &&
            digit_is(flat->state->arena, op->results[0], &flat->digits))
            return op->results[0]->name;
    return NULL;
}

static bool visit_acting(void *context, Op *op) {
    bool *found = context;
    *found = *found || op_acts(op);
    return !*found;
}

bool flat_may_take(const Differentiation *state) {
    bool acts = false;
    for (const Op *op = state->backward->body->first; op && !acts; op = op->next)
        for (int r = 0; r < op->region_count; r++) region_walk(op->regions[r], visit_acting, &acts);
    return !acts;
}

bool flat_take(Differentiation *state, const TileOrders *orders, ReductionPlan *plan) {
    *plan = (ReductionPlan){
        .arena = state->arena, .orders = orders, .summed = {true}, .is_sliced = true};
    Flat flat = {.state = state,
                 .plan = plan,
                 .plain = map_new(state->arena),
                 .copies = map_new(state->arena)};
    Map moved = map_new(state->arena);
    if (!find_statements(&flat) || !find_moved(&flat, &moved)) return false;
    Region *body = state->backward->body;
    const char *name = name_of_owner(&flat);
    LIST(Op *) ops = {0};
    for (Op *op = body->first; op; op = op->next)
        if (op_acts(op) || (op->result_count && map_has_pointer(&moved, op->results[0])))
            if (op != flat.digits.number->op) LIST_PUSH(state->arena, &ops, op);
    Builder b = {.function = state->backward, .region = body};
    if (state->parts.tiles.count && !turns_end_at_bound(&flat, &b)) return false;
    Value *lanes = build_poly(&b, lanes_of(&flat)), *total = count_elements(&flat, &b, lanes);
    plan->loop = flat.lanes_own       ? open_columns(&flat, &b, lanes, total)
                 : flat.digits.extent ? open_runs(&flat, &b, lanes, total)
                                      : open_run_tiles(&flat, &b, total);
    if (name) (flat.owners ? flat.owners : flat.owner)->name = name;
    for (LIST_EACH(int, i, ops))
        if (!make_again(&flat, &b, ops.items[i])) return false;
    for (int i = ops.count - 1; i >= 0; i--) op_remove(ops.items[i]);
    for (LIST_EACH(int, i, state->parts.shared))
        LIST_PUSH(state->arena, &plan->statements, &state->parts.shared.items[i]);
    state->parts.flat = (FlatSizes){
        .lanes = lanes_of(&flat),
        .run = flat.digits.low,
        .owners = flat.digits.extent,
        .period = flat.digits.period,
        .bound = flat.bound ? value_poly(state->arena, flat.bound->op->operands[1]) : NULL,
        .plain = flat.plain,
        .has_turns = state->parts.tiles.count != NULL};
    return true;
}
