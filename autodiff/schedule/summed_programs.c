// From axes that are summed over to the programs along them, and from the number of one of these to its ids. Where ids number tiles,
// the tiles in one row, or in one column, count as far as the grid has programs for them: the first so many of them.
#include "autodiff/schedule/summed_programs.h"

#include "analysis/build/build.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/state/names.h"
#include "autodiff/tape/tape.h"

static Value *add(Builder *b, Value *x, Value *y) { return build_binary(b, OP_ADD, x, y); }
static Value *subtract(Builder *b, Value *x, Value *y) { return build_binary(b, OP_SUB, x, y); }
static Value *multiply(Builder *b, Value *x, Value *y) { return build_binary(b, OP_MUL, x, y); }
static Value *quotient(Builder *b, Value *x, Value *y) {
    return build_binary(b, OP_FLOORDIV, x, y);
}
static Value *remainder_of(Builder *b, Value *x, Value *y) { return build_binary(b, OP_MOD, x, y); }
static Value *least(Builder *b, Value *x, Value *y) { return build_binary(b, OP_MINIMUM, x, y); }

/// As it is to be called where it gets a variable.
static Value *named(Value *value, const char *name) {
    if (!value->name && !value->constant) value->name = name;
    return value;
}

/* ---- tiles ---- */

/// The first row of the group that begins there, and how many rows it has.
static Value *height_of(Builder *b, const TileNumbers *tiles, Value *first) {
    return least(b, subtract(b, tiles->rows, first), tiles->group);
}

static Value *first_of(Builder *b, const TileNumbers *tiles, Value *place) {
    return multiply(b, quotient(b, place, tiles->group), tiles->group);
}

/// The id of the tile in the row at `place` of a group, and in the first column.
static Value *start_of(Builder *b, const TileNumbers *tiles, Value *first, Value *place) {
    if (!tiles->group) return multiply(b, place, tiles->columns);
    return add(b, multiply(b, first, tiles->columns), subtract(b, place, first));
}

/// The id of the tile in the row at `place`, and in the column.
static Value *id_of(Builder *b, const TileNumbers *tiles, Value *place, Value *column) {
    Value *first = tiles->group ? first_of(b, tiles, place) : NULL;
    Value *start = start_of(b, tiles, first, place);
    if (!first) return add(b, start, column);
    return add(b, start, multiply(b, column, height_of(b, tiles, first)));
}

/// The row at `place` of a group.
static Value *row_in(Builder *b, const TileNumbers *tiles, bool is_rotated, Value *first,
                     Value *place) {
    if (!is_rotated) return place;
    Value *start = start_of(b, tiles, first, place);
    return add(b, first, remainder_of(b, start, height_of(b, tiles, first)));
}

/// Programs that have a tile in this one's row.
static Value *count_in_row(Builder *b, const TileNumbers *tiles, Value *programs) {
    Value *start = start_of(b, tiles, tiles->first, tiles->place);
    if (!tiles->group) return least(b, subtract(b, programs, start), tiles->columns);
    Value *height = height_of(b, tiles, tiles->first);
    return least(b, build_trip_count(b, start, programs, height), tiles->columns);
}

/// Programs that have a tile in this one's column: one in each row of the groups that are full, and some in the next one.
static Value *count_in_column(Builder *b, const TileNumbers *tiles, Value *programs) {
    if (!tiles->group) return build_trip_count(b, tiles->column, programs, tiles->columns);
    Value *size = named(multiply(b, tiles->group, tiles->columns), "tiles_in_group");
    Value *full = named(multiply(b, quotient(b, programs, size), tiles->group), "full_rows");
    Value *height = named(height_of(b, tiles, full), "rows_of_last_group");
    Value *more = subtract(b, remainder_of(b, programs, size), multiply(b, tiles->column, height));
    more = named(least(b, more, height), "more_rows");
    more = build_binary(b, OP_MAXIMUM, more, build_int(b, 0));
    return least(b, add(b, full, more), tiles->rows);
}

/// The id's own tile, as the kernel computes it where it does.
static bool find_tile(Differentiation *state, Builder *b, const TileOrder *order,
                      Value *const *known, TileNumbers *tiles) {
    Map copies = map_new(state->arena);
    *tiles = (TileNumbers){.columns = poly_copied(b, order->columns, &copies)};
    if (order->group) {
        tiles->rows = poly_copied(b, order->rows, &copies);
        tiles->group = poly_copied(b, order->group, &copies);
    }
    if (!tiles->columns || (order->group && (!tiles->rows || !tiles->group))) return false;
    for (int digit = 0; digit < 2; digit++) {
        Value *own = known[digit] ? known[digit]->op->operands[0] : NULL;
        Value *copy = value_copied(b, own, &copies);
        if (own && !copy) return false;
        *(digit ? &tiles->column : &tiles->row) = copy;
    }
    if (!order->group) {
        if (!tiles->row) tiles->row = quotient(b, order->id, tiles->columns);
        if (!tiles->column) tiles->column = remainder_of(b, order->id, tiles->columns);
        tiles->place = tiles->row;
        return true;
    }
    Value *size = multiply(b, tiles->group, tiles->columns);
    Value *first = tiles->first = multiply(b, quotient(b, order->id, size), tiles->group);
    Value *height = height_of(b, tiles, first), *rest = remainder_of(b, order->id, size);
    if (!tiles->column) tiles->column = quotient(b, rest, height);
    bool is_place = tiles->row && !order->is_rotated;
    tiles->place = is_place ? tiles->row : add(b, first, remainder_of(b, rest, height));
    if (!tiles->row) tiles->row = row_in(b, tiles, order->is_rotated, first, tiles->place);
    return true;
}

/* ---- more digits ---- */

static bool has_digits(const ReductionPlan *plan, int axis) {
    return axis >= PROGRAM_AXES && plan->orders->axes[summed_grid_axis(axis)].digit_count > 0;
}

/// Whether it is summed over along with a digit above it, which stands for all.
static bool is_with_above(const ReductionPlan *plan, int axis) {
    bool any = false;
    if (!has_digits(plan, axis)) return false;
    for (int digit = 0; digit < summed_digit(axis); digit++)
        any |= plan->summed[summed_axis(summed_grid_axis(axis), digit)];
    return any;
}

/// The product of the sizes of digits; NULL: 1.
static Value *product_of(Builder *b, const DigitNumbers *digits, int first, int last) {
    Value *product = NULL;
    for (int digit = last; digit >= first; digit--)
        product = product ? multiply(b, product, digits->sizes[digit]) : digits->sizes[digit];
    return product;
}

/// Neighbouring digits that are summed over, up to two groups of them, the lower one first. False where there are more.
static bool find_groups(const ReductionPlan *plan, int grid, DigitNumbers *digits) {
    for (int digit = plan->orders->axes[grid].digit_count - 1; digit >= 0; digit--) {
        if (!plan->summed[summed_axis(grid, digit)]) continue;
        DigitGroup *group = digits->group_count ? &digits->groups[digits->group_count - 1] : NULL;
        if (group && group->first == digit + 1) {
            group->first = digit;
            continue;
        }
        if (digits->group_count == 2) return false;
        digits->groups[digits->group_count++] = (DigitGroup){.first = digit, .last = digit};
    }
    return true;
}

static Value *times(Builder *b, Value *number, Value *weight) {
    return weight ? multiply(b, number, weight) : number;
}

/// How many numbers below `end` are multiples of a weight, from 0 on.
static Value *count_below(Builder *b, Value *end, Value *weight) {
    return weight ? build_trip_count(b, build_int(b, 0), end, weight) : end;
}

/// How many programs differ from this one in the summed digits alone. Where the grid ends within a value of the upper group, the lower one has
/// its first values there.
static Value *count_programs(Builder *b, const DigitNumbers *digits, Value *all) {
    const DigitGroup *lower = &digits->groups[0], *upper = &digits->groups[1];
    Value *rest = subtract(b, all, digits->base);
    if (digits->group_count == 1) {
        Value *count = count_below(b, rest, lower->weight);
        return lower->size ? least(b, count, lower->size) : count;
    }
    if (upper->size) rest = least(b, rest, multiply(b, upper->size, upper->weight));
    Value *full = multiply(b, quotient(b, rest, upper->weight), lower->size);
    Value *more = count_below(b, remainder_of(b, rest, upper->weight), lower->weight);
    return add(b, full, least(b, more, lower->size));
}

/// Along the summed digits of an axis: which number this program has, and how many there are.
static bool find_digits(Differentiation *state, Builder *b, const ReductionPlan *plan, int grid,
                        SummedPrograms *programs, Value *all, Value **own) {
    const TileOrder *order = &plan->orders->axes[grid];
    DigitNumbers *digits = &programs->digits[grid];
    const int lowest = order->digit_count - 1;
    Map copies = map_new(state->arena);
    *digits = (DigitNumbers){.base = order->id};
    for (int digit = 1; digit <= lowest; digit++)
        if (!(digits->sizes[digit] = poly_copied(b, order->extents[digit], &copies))) return false;
    if (!find_groups(plan, grid, digits)) return false;
    for (int i = 0; i < digits->group_count; i++) {
        DigitGroup *group = &digits->groups[i];
        const Value *known = programs->axes.tiles[grid][group->first];
        bool is_one = group->first == group->last && known;
        group->weight = product_of(b, digits, group->last + 1, lowest);
        group->size = group->first ? product_of(b, digits, group->first, group->last) : NULL;
        Value *number = is_one ? value_copied(b, known->op->operands[0], &copies) : NULL;
        if (!number) {
            number = group->weight ? quotient(b, order->id, group->weight) : order->id;
            if (group->size) number = remainder_of(b, number, group->size);
        }
        digits->base = subtract(b, digits->base, times(b, number, group->weight));
        *own = i ? add(b, *own, multiply(b, number, digits->groups[0].size)) : number;
    }
    digits->count = count_programs(b, digits, all);
    for (int digit = 1; digit <= lowest; digit++)
        programs->counts[summed_axis(grid, digit)] = digits->sizes[digit];
    if (plan->summed[summed_axis(grid, 0)])
        programs->counts[summed_axis(grid, 0)] =
            count_below(b, all, product_of(b, digits, 1, lowest));
    return true;
}

/// In the region, the digits of a group are those of its number.
static void place_group(Builder *b, int grid, const SummedPrograms *programs,
                        const DigitGroup *group, Value *number) {
    Value *const *sizes = programs->digits[grid].sizes;
    for (int digit = group->last; digit >= group->first; digit--) {
        const Value *index = programs->axes.tiles[grid][digit];
        Value *own = digit > group->first ? remainder_of(b, number, sizes[digit]) : number;
        if (digit > group->first) number = quotient(b, number, sizes[digit]);
        if (!index) continue;
        if (!dtype_equal(own->type.element, index->type.element))
            own = build_binary(b, OP_CAST, own, build_dtype(b, index->type.element));
        if (own->op && !own->name) own->name = programs->names[summed_axis(grid, digit)];
        region_replace_uses(b->region, index, own);
    }
}

/// The ids of an axis in the region, where the number along its summed digits is `number`.
static void place_digits(Builder *b, int grid, const SummedPrograms *programs, Value *number) {
    const DigitNumbers *digits = &programs->digits[grid];
    Value *id = digits->base;
    for (int i = 0; i < digits->group_count; i++) {
        const DigitGroup *group = &digits->groups[i];
        bool is_last = i + 1 == digits->group_count;
        Value *own = is_last ? number : remainder_of(b, number, group->size);
        if (!is_last) number = quotient(b, number, group->size);
        id = add(b, id, times(b, own, group->weight));
        place_group(b, grid, programs, group, own);
    }
    for (LIST_EACH(int, i, programs->reads)) {
        const Value *read = programs->reads.items[i]->results[0];
        if (value_is_program_id(read, grid)) region_replace_uses(b->region, read, id);
    }
}

/* ---- programs ---- */

static int axis_of(const Value *id) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (value_is_program_id(id, axis)) return summed_axis(axis, AXIS_WHOLE);
        for (int digit = 0; digit < TILE_MOST_DIGITS; digit++)
            if (value_is_tile_index(id, axis, digit)) return summed_axis(axis, digit);
    }
    return -1;
}

Value *summed_count_of(const SummedPrograms *programs, const Value *id) {
    int axis = axis_of(id);
    return axis < 0 ? NULL : programs->counts[axis];
}

/// How many there are along an axis, or along the digits that it stands for.
static Value *count_along(const ReductionPlan *plan, const SummedPrograms *programs, int axis) {
    return has_digits(plan, axis) ? programs->digits[summed_grid_axis(axis)].count
                                  : programs->counts[axis];
}

typedef struct IdSearch {
    Arena *arena;
    const ReductionPlan *plan;
    SummedPrograms *programs;
} IdSearch;

static bool visit_id(void *context, Op *op) {
    const IdSearch *search = context;
    int axis = op->result_count ? axis_of(op->results[0]) : -1;
    if (op->code == OP_PROGRAM_ID) LIST_PUSH(search->arena, &search->programs->reads, op);
    if (axis < 0 || !search->plan->summed[axis]) return true;
    LIST_PUSH(search->arena, &search->programs->ids, op);
    if (op->results[0]->name) search->programs->names[axis] = op->results[0]->name;
    return true;
}

/// Which number along the axis this program has, and how many there are.
static bool find_along(Differentiation *state, Builder *b, const ReductionPlan *plan, int axis,
                       SummedPrograms *programs, Value **own) {
    int grid = summed_grid_axis(axis);
    Value *along = build_int(b, grid), *count = build_unary(b, OP_NUM_PROGRAMS, along);
    programs->counts[axis] = count;
    *own = build_unary(b, OP_PROGRAM_ID, along);
    if (axis < PROGRAM_AXES) return true;
    named(count, "all_programs");
    if (has_digits(plan, axis)) return find_digits(state, b, plan, grid, programs, count, own);
    TileNumbers *tiles = &programs->tiles[grid];
    if (!find_tile(state, b, &plan->orders->axes[grid], programs->axes.tiles[grid], tiles))
        return false;
    bool is_row = axis == summed_axis(grid, 0);
    *own = is_row ? tiles->place : tiles->column;
    programs->counts[axis] =
        is_row ? count_in_column(b, tiles, count) : count_in_row(b, tiles, count);
    return true;
}

bool summed_programs_find(Differentiation *state, Builder *b, const ReductionPlan *plan,
                          SummedPrograms *programs) {
    *programs = (SummedPrograms){.axes = function_axes(state->arena, state->backward)};
    IdSearch search = {state->arena, plan, programs};
    region_walk(state->backward->body, visit_id, &search);
    for (int axis = 0; axis < SUMMED_AXES; axis++) {
        if (!plan->summed[axis] || is_with_above(plan, axis)) continue;
        Value *own;
        if (!find_along(state, b, plan, axis, programs, &own)) return false;
        Value *count = count_along(plan, programs, axis);
        if (axis >= PROGRAM_AXES && !has_digits(plan, axis))
            state->parts.tile_counts[2 * summed_grid_axis(axis) + summed_digit(axis)] = count;
        bool is_first = !programs->own;
        programs->own = is_first ? own : add(b, programs->own, multiply(b, own, programs->count));
        programs->count = is_first ? count : multiply(b, programs->count, count);
    }
    programs->own->name = "program";
    programs->count->name = "programs";
    return true;
}

/// The ids of an axis in the region, where the number along the row, or the column, of its tiles is `number`.
static void place_tile(Builder *b, const ReductionPlan *plan, int axis,
                       const SummedPrograms *programs, Value *number) {
    int grid = summed_grid_axis(axis);
    if (has_digits(plan, axis)) {
        place_digits(b, grid, programs, number);
        return;
    }
    bool is_row = axis == summed_axis(grid, 0);
    const TileNumbers *tiles = &programs->tiles[grid];
    Value *place = is_row ? number : tiles->place, *column = is_row ? tiles->column : number;
    Value *row = tiles->row;
    bool is_rotated = plan->orders->axes[grid].is_rotated;
    if (is_row && is_rotated) row = row_in(b, tiles, true, first_of(b, tiles, place), place);
    if (is_row && !is_rotated) row = place;
    Value *id = id_of(b, tiles, place, column);
    const FunctionAxes *axes = &programs->axes;
    for (int digit = 0; digit < 2; digit++)
        if (axes->tiles[grid][digit])
            region_replace_uses(b->region, axes->tiles[grid][digit], digit ? column : row);
    for (LIST_EACH(int, i, programs->reads)) {
        const Value *read = programs->reads.items[i]->results[0];
        if (value_is_program_id(read, grid)) region_replace_uses(b->region, read, id);
    }
}

/// The axis of `id`, which may be NULL: -1.
static int axis_apart(const Op *id) { return id ? axis_of(id->results[0]) : -1; }

Value *summed_count_but(Builder *b, const ReductionPlan *plan, const SummedPrograms *programs,
                        const Op *id) {
    Value *count = NULL;
    if (!id) return programs->count;
    for (int axis = 0; axis < SUMMED_AXES; axis++) {
        if (!plan->summed[axis] || axis == axis_apart(id) || is_with_above(plan, axis)) continue;
        Value *along = count_along(plan, programs, axis);
        count = count ? multiply(b, count, along) : along;
    }
    return count;
}

/// Whether the user's name for an id along an axis is that of its number: it stands for one digit alone.
static bool names_one(const ReductionPlan *plan, const SummedPrograms *programs, int axis) {
    const DigitNumbers *digits = &programs->digits[summed_grid_axis(axis)];
    bool is_one = !has_digits(plan, axis) ||
                  (digits->group_count == 1 && digits->groups[0].first == digits->groups[0].last);
    return is_one && programs->names[axis];
}

void summed_programs_place_along(Region *region, const SummedPrograms *programs, const Op *id,
                                 Value *number) {
    const char *name = programs->names[axis_apart(id)];
    number->name = name ? name : "forward_program";
    region_replace_uses(region, id->results[0], number);
}

void summed_programs_place(const Differentiation *state, const ReductionPlan *plan, Region *region,
                           const SummedPrograms *programs, const Op *id, Value *program) {
    Builder b = {.function = state->backward, .region = region, .before = region->first};
    Value *rest = program;
    const char *name = NULL;
    int left = 0;
    for (int axis = 0; axis < SUMMED_AXES; axis++) {
        if (!plan->summed[axis] || axis == axis_apart(id) || is_with_above(plan, axis)) continue;
        if (names_one(plan, programs, axis)) name = programs->names[axis];
        left++;
    }
    program->name = name ? name : "forward_program";
    for (int axis = 0; axis < SUMMED_AXES; axis++) {
        if (!plan->summed[axis] || axis == axis_apart(id) || is_with_above(plan, axis)) continue;
        Value *count = --left ? count_along(plan, programs, axis) : NULL;
        Value *number = left ? remainder_of(&b, rest, count) : rest;
        if (left) rest = quotient(&b, rest, count);
        for (LIST_EACH(int, i, programs->ids)) {
            const Value *replaced = programs->ids.items[i]->results[0];
            if (axis_of(replaced) != axis) continue;
            if (left && !number->name && names_one(plan, programs, axis))
                number->name = programs->names[axis];
            if (axis < PROGRAM_AXES) region_replace_uses(region, replaced, number);
        }
        if (axis >= PROGRAM_AXES) place_tile(&b, plan, axis, programs, number);
    }
}

Op *open_loop(Builder *b, Value *lower, Value *upper, Value *step, Value **variable) {
    Op *loop = op_append(b, OP_FOR, (Value *[]){lower, upper, step}, 3, 0);
    loop->range = (Range){0};
    Region *body = op_add_region(b, loop);
    Type type = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32)};
    *variable = region_add_argument(b->function, body, type, NULL);
    b->region = body;
    b->before =
        op_append(&(Builder){.function = b->function, .region = body}, OP_YIELD, NULL, 0, 0);
    return loop;
}

/* ---- parts ---- */

static Type whole_number(void) {
    return (Type){.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT32)};
}

Value *parts_most(Differentiation *state) {
    if (!state->parts.slices)
        state->parts.slices = backward_add_parameter(state, "most_slices", whole_number());
    return state->parts.slices;
}

Value *part_stride(Differentiation *state, Value *gradient) {
    Value *stride = map_get_pointer(&state->parts.part_strides, gradient);
    if (stride) return stride;
    const char *name = state->backward->parameters[gradient->index].name;
    name = arena_printf(state->arena, "%s_stride", name_of_tensor(state->arena, name));
    stride = backward_add_parameter(state, name, whole_number());
    map_set_pointer(&state->parts.part_strides, gradient, stride);
    return stride;
}
