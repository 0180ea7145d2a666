// Windows that add to their elements in; elements that ask their windows out.
#include "autodiff/gathers/row_windows.h"

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/addresses/axis.h"
#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/place.h"
#include "autodiff/atomics/covers.h"
#include "autodiff/atomics/readers.h"
#include "autodiff/atomics/tap_bounds.h"
#include "autodiff/rewrite/copying.h"

enum {
    MOST_COPIED = 256,  // values that a window is made of
};

typedef struct RowWindows {
    Differentiation *state;
    Arena *arena;
    const Op *op;
    Value *gradient;
    Coordinate windows;
    const Poly *step;  // elements from where a window begins to where the next one does
    const Poly *rest;  // of the address: where the row begins
    Op *loop;          // over taps
    const Poly *taps;  // how many a window has, one beside the other
    const Poly *end;   // of the windows of a row
    const Poly *span;  // elements of a row up to behind those of the last window
} RowWindows;

static bool is_constexpr(const Poly *number) {
    for (int t = 0; t < number->count; t++)
        for (int i = 0; i < number->terms[t].atom_count; i++)
            if (!number->terms[t].atoms[i]->type.is_constexpr) return false;
    return true;
}

static Value *tap_of(const RowWindows *rows) { return rows->loop->regions[0]->arguments[0]; }

/// The loop over taps around the statement: from 0 on, up to what the compiler knows, and it carries nothing.
static bool find_taps(RowWindows *rows) {
    Op *loop = rows->op->parent->parent;
    int64_t first, step;
    if (!loop || loop->parent->parent || (loop->code != OP_STATIC_FOR && loop->code != OP_FOR) ||
        loop->result_count || !value_is_int(loop->operands[0], &first) || first != 0 ||
        !value_is_int(loop->operands[2], &step) || step != 1)
        return false;
    rows->loop = loop;
    rows->taps = value_poly(rows->arena, loop->operands[1]);
    return is_constexpr(rows->taps);
}

/// Takes the programs that have blocks of a row's windows out of the address. False where no axis of the grid numbers such blocks, and something else
/// than one block has all of a row.
static bool take_programs(RowWindows *rows) {
    const Poly *block = poly_multiply(rows->arena, rows->windows.size, rows->step);
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        Value *program = rows->state->versions.axes->programs[axis];
        const Poly *weight, *rest;
        if (!program || !poly_mentions(rows->rest, program)) continue;
        if (!poly_split(rows->arena, rows->rest, program, &weight, &rest) ||
            !poly_equal(weight, block))
            continue;
        rows->windows.axis = axis;
        rows->windows.program = program;
        rows->rest = rest;
        return true;
    }
    return true;
}

/// The address as where a row begins, a window's number times a step, and what taps add.
static bool find_steps(RowWindows *rows) {
    Arena *arena = rows->arena;
    Access access = access_of(arena, (Op *)(uintptr_t)rows->op);
    const Type *tile = &rows->op->operands[0]->type;
    int64_t one;
    if (tile->rank != 1 || !access.parameter || !access.offset.known || access.offset.wrapped ||
        access.offset.rank != 1 || !tile->dims[0])
        return false;
    rows->gradient = access.parameter;
    rows->step = access.offset.lane[0];
    rows->windows = (Coordinate){.axis = -1, .size = tile->dims[0], .weight = rows->step};
    rows->rest = access.offset.base;
    const Poly *tap;
    if (!poly_split(arena, rows->rest, tap_of(rows), &tap, &rows->rest) ||
        !poly_is_constant(tap, &one) || one != 1)
        return false;
    // what is divided by it: a difference may be 0
    if (rows->step->count != 1) return false;
    bool is_dense = poly_is_constant(rows->step, &one) && one == 1;
    return !is_dense && poly_is_nonnegative(arena, rows->step) && is_constexpr(rows->step) &&
           take_programs(rows);
}

/// `window < end` masks the statement.
static bool find_span(RowWindows *rows) {
    Arena *arena = rows->arena;
    const Poly *one = poly_constant(arena, 1);
    TapConditions conditions = tap_conditions(arena, access_mask(rows->op));
    for (LIST_EACH(int, i, conditions)) {
        const Op *op = conditions.items[i]->op;
        bool is_end = op && op->code == OP_LT && !op->operands[1]->type.rank &&
                      value_is_coordinate(arena, &rows->windows, op->operands[0]);
        if (is_end) rows->end = value_poly(arena, op->operands[1]);
    }
    if (!rows->end) return false;
    rows->span = poly_multiply(arena, rows->step, poly_subtract(arena, rows->end, one));
    rows->span = poly_add(arena, rows->span, rows->taps);
    return true;
}

/// Whether programs have parts of one row that are no blocks of its windows: steps of a few windows.
static bool is_within_row(const RowWindows *rows, const Poly *step) {
    const Poly *windows = poly_divide_exact(rows->arena, step, rows->step);
    return windows && is_constexpr(windows);
}

/// Each program's row is told by its numbers along the other axes of the grid: steps of these from row to row, which the Function looks at.
static bool find_rows(const RowWindows *rows, StepCheck *check) {
    Arena *arena = rows->arena;
    const Differentiation *state = rows->state;
    const Poly *rest = rows->rest;
    *check = (StepCheck){.ranges = ARENA_ARRAY(arena, const char *, PROGRAM_AXES + 1),
                         .guard = "",
                         .is_of_windows = true};
    check->ranges[check->range_count++] =
        arena_printf(arena, "(1, %s)", poly_print(arena, rows->span));
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        Value *program = state->versions.axes->programs[axis];
        const Poly *step;
        if (state->stores.unread_axes[axis] == GRID_AXIS_SEVERAL) return false;
        if (!program || program == rows->windows.program) continue;
        if (!poly_split(arena, rest, program, &step, &rest) || poly_is_zero(step) ||
            !poly_is_fixed(arena, step) || is_within_row(rows, step))
            return false;
        check->ranges[check->range_count++] =
            arena_printf(arena, "(%s, grid.%d)", poly_print(arena, step), axis);
    }
    for (int i = 0; i < state->primal->parameter_count; i++)
        if (map_get_pointer(&state->buffers.gradients, state->primal->parameters[i].value) ==
            rows->gradient)
            check->of = state->primal->parameters[i].name;
    return check->of && poly_is_fixed(arena, rest);
}

/// Of windows with many taps an element would ask more of them than there may be.
static bool are_short(const RowWindows *rows) {
    return launches_pass_few(rows->state, rows->taps) && launches_pass_few(rows->state, rows->step);
}

/* ---- the elements ---- */

/// A loop over blocks of a row's elements, which the programs of the row share out.
static Op *open_elements(const RowWindows *rows, Builder *b) {
    const Coordinate *windows = &rows->windows;
    Value *block = build_poly(b, windows->size);
    Value *bounds[] = {build_int(b, 0), build_poly(b, rows->span), block};
    if (windows->program) {
        bounds[0] = build_binary(b, OP_MUL, windows->program, block);
        Value *programs = build_unary(b, OP_NUM_PROGRAMS, build_int(b, windows->axis));
        bounds[2] = build_binary(b, OP_MUL, programs, block);
    }
    Op *loop = op_append(b, OP_FOR, bounds, 3, 0);
    Type number = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32)};
    region_add_argument(b->function, op_add_region(b, loop), number, "start");
    return loop;
}

/// What the window adds that lies `turn` windows in front of the last one which may have an element. NULL where that cannot be made.
static Value *window_term(const RowWindows *rows, Builder *b, Value *element, Value *turn) {
    Value *step = build_poly(b, rows->step), *taps = build_poly(b, rows->taps);
    Value *window = build_binary(b, OP_SUB, build_binary(b, OP_FLOORDIV, element, step), turn);
    window->name = "window";
    Value *tap = build_binary(b, OP_SUB, element, build_binary(b, OP_MUL, window, step));
    Value *is_tap = build_binary(b, OP_LT, tap, taps);
    Value *has_it =
        build_binary(b, OP_AND, build_binary(b, OP_GE, window, build_int(b, 0)), is_tap);
    // what is loaded by the number of a tap alone has no mask
    tap = build_ternary(b, OP_WHERE, is_tap, tap, build_int(b, 0));
    tap->name = tap_of(rows)->name;
    if (!launches_cover(rows->state, &rows->windows, rows->end))
        has_it = build_binary(b, OP_AND, has_it,
                              build_binary(b, OP_LT, window, coordinate_end(b, &rows->windows)));
    OtherReader reader = {.function = b->function,
                          .builder = b,
                          .coordinates = &rows->windows,
                          .count = 1,
                          .rank = 1,
                          .numbers = {window},
                          .inside = {has_it},
                          .nest = rows->loop,
                          .copies = map_new(rows->arena),
                          .left = MOST_COPIED};
    map_set_pointer(&reader.copies, tap_of(rows), tap);
    Value *term = reader_value(&reader, rows->op->operands[1]);
    Value *mask = reader_value(&reader, access_mask(rows->op));
    if (!term || !mask) return NULL;
    return build_ternary(b, OP_WHERE, build_binary(b, OP_AND, has_it, mask), term,
                         build_float(b, 0.0));
}

/// The sum of what all windows add that have an element, the last one first. NULL where that cannot be made.
static Value *sum_windows(const RowWindows *rows, Builder *b, Value *element) {
    Arena *arena = rows->arena;
    Value *sum = zeros_added(b, rows->op);
    if (!sum) return NULL;
    const Poly *last = poly_subtract(arena, rows->step, poly_constant(arena, 1));
    Value *most = build_binary(b, OP_FLOORDIV, build_poly(b, poly_add(arena, rows->taps, last)),
                               build_poly(b, rows->step));
    Value *bounds[] = {build_int(b, 0), most, build_int(b, 1), sum};
    Op *loop = op_append(b, OP_STATIC_FOR, bounds, 4, 0);
    loop->range = rows->loop->range;
    Region *body = op_add_region(b, loop);
    Builder inside = {.function = b->function, .region = body, .range = b->range};
    Type number = bounds[0]->type;
    number.is_constexpr = true;
    Value *turn = region_add_argument(b->function, body, number, "turn");
    Value *carried = region_add_argument(b->function, body, sum->type, "total");
    Value *term = window_term(rows, &inside, element, turn);
    if (!term) return NULL;
    Value *next = build_binary(&inside, OP_ADD, carried, term);
    op_append(&inside, OP_YIELD, &next, 1, 0);
    Value *result = op_append_result(b->function, loop, sum->type);
    result->name = "total";
    return result;
}

/// The addition to the elements of a block, at the end of the loop over these. NULL where their sums cannot be made.
static Op *add_elements(const RowWindows *rows, Op *loop) {
    Builder b = {
        .function = rows->state->backward, .region = loop->regions[0], .range = rows->op->range};
    Value *lanes =
        build_binary(&b, OP_ARANGE, build_int(&b, 0), build_poly(&b, rows->windows.size));
    Value *element = build_binary(&b, OP_ADD, loop->regions[0]->arguments[0], lanes);
    element->name = "element";
    Value *sum = sum_windows(rows, &b, element);
    if (!sum) return NULL;
    Value *row = build_binary(&b, OP_ADD, rows->gradient, build_poly(&b, rows->rest));
    Value *pointers = build_binary(&b, OP_ADD, row, element);
    Value *mask = build_binary(&b, OP_LT, element, build_poly(&b, rows->span));
    // elements between windows that are shorter than the steps from one to the next are in none
    Value *at = build_binary(&b, OP_MOD, element, build_poly(&b, rows->step));
    mask = build_binary(&b, OP_AND, mask, build_binary(&b, OP_LT, at, build_poly(&b, rows->taps)));
    Op *made = build(&b, OP_ATOMIC_ADD, (Value *[]){pointers, sum, mask}, 3)->op;
    op_append(&b, OP_YIELD, NULL, 0, 0);
    return made;
}

Op *row_windows_gather(Differentiation *state, const Accumulation *statement) {
    RowWindows rows = {.state = state, .arena = state->arena, .op = statement->op};
    const FunctionDefinition *kernel = state->primal->definition;
    StepCheck check;
    if (!kernel || kernel->is_autotuned || kernel->has_heuristics || !access_mask(rows.op) ||
        value_needs_loop(rows.op->operands[1]) || !find_taps(&rows) || !find_steps(&rows) ||
        !find_span(&rows) || !are_short(&rows) || !find_rows(&rows, &check))
        return NULL;
    Builder b = {.function = state->backward,
                 .region = state->backward->body,
                 .before = rows.loop->next,
                 .range = statement->range};
    Op *loop = open_elements(&rows, &b), *made = add_elements(&rows, loop);
    if (made)
        LIST_PUSH(state->arena, &state->stores.steps, check);
    else
        op_remove(loop);
    return made;
}
