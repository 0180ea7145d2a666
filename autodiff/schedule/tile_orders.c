// From a kernel to the grids of tiles that its program ids number: quotients and remainders of an id, in whatever spelling, that
// are together a bijection (scheduling.md, section 4b).
#include "autodiff/schedule/tile_orders.h"

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/order.h"
#include "autodiff/rewrite/rewrite.h"

typedef LIST(Value *) Values;

/// What is known of a kernel's numbers.
typedef struct TileSearch {
    Arena *arena;
    Former *former;
    Values numbers;  // whole ones that are made of some id, in the order of the kernel
    const Poly *id;
} TileSearch;

/// An order, and the values that are its rows and columns.
typedef struct TileFinding {
    TileOrder order;
    const Poly *row, *column;
    const Poly *digits[TILE_MOST_DIGITS];  // of more than these, the highest first
    const Poly *above
        [TILE_MOST_DIGITS];  // what each but the lowest is a digit of: the id without those below
} TileFinding;

static bool visit_number(void *context, Op *op) {
    TileSearch *search = context;
    bool is_number = op->result_count == 1 && !op->region_count && op->operand_count &&
                     op->results[0]->type.kind == TYPE_NUMBER && op->results[0]->type.rank == 0 &&
                     dtype_is_integer(op->results[0]->type.element) && op->code != OP_CONSTANT;
    if (is_number && !op->results[0]->constant)
        LIST_PUSH(search->arena, &search->numbers, op->results[0]);
    return true;
}

static const Poly *form_of(TileSearch *search, Value *value) {
    Affine form = affine_by(search->former, value);
    return form.known && form.rank == 0 && !form.wrapped ? form.base : NULL;
}

/// `above` and `below` of `above // below` or `above % below`, where all programs have one `below`, or it is `divisor`.
static bool divides(TileSearch *search, const Value *value, OpCode code, const Poly *divisor,
                    const Poly **above, const Poly **below) {
    if (value->op->code != code) return false;
    *above = form_of(search, value->op->operands[0]);
    *below = form_of(search, value->op->operands[1]);
    if (!*above || !*below) return false;
    return divisor ? poly_equal(*below, divisor) : poly_is_fixed(search->arena, *below);
}

static bool divides_id(TileSearch *search, const Value *value, OpCode code, const Poly **divisor) {
    const Poly *above;
    return divides(search, value, code, NULL, &above, divisor) && poly_equal(above, search->id);
}

/// Whether the kernel divides the id by one number alone.
static const Poly *only_divisor(TileSearch *search) {
    const Poly *only = NULL, *divisor;
    for (LIST_EACH(int, i, search->numbers)) {
        const Value *value = search->numbers.items[i];
        if (!divides_id(search, value, OP_FLOORDIV, &divisor) &&
            !divides_id(search, value, OP_MOD, &divisor))
            continue;
        if (only && !poly_equal(only, divisor)) return NULL;
        only = divisor;
    }
    return only;
}

/// `id % divisor` in each of its spellings: the operation's atom, and the id without the multiple of its quotient.
typedef struct Remainder {
    const Poly *id, *operation, *difference;  // `operation`: NULL where the kernel has none
} Remainder;

static bool is_remainder(const Remainder *rest, const Poly *form) {
    return poly_equal(form, rest->operation) || poly_equal(form, rest->difference);
}

static Remainder remainder_by(TileSearch *search, const Poly *quotient, const Poly *divisor) {
    Arena *arena = search->arena;
    Remainder rest = {.id = search->id};
    const Poly *other;
    if (quotient)
        rest.difference = poly_subtract(arena, rest.id, poly_multiply(arena, quotient, divisor));
    for (LIST_EACH(int, i, search->numbers)) {
        Value *value = search->numbers.items[i];
        if (divides_id(search, value, OP_MOD, &other) && poly_equal(other, divisor))
            rest.operation = form_of(search, value);
    }
    return rest;
}

/// `rows - group * quotient` and `group`, the sides of a minimum.
static bool find_height(TileSearch *search, const Value *value, const Poly *quotient,
                        TileOrder *order) {
    if (value->op->code != OP_MINIMUM) return false;
    for (int side = 0; side < 2; side++) {
        const Poly *left = form_of(search, value->op->operands[side]);
        const Poly *group = form_of(search, value->op->operands[1 - side]);
        if (!left || !group || !poly_is_fixed(search->arena, group)) continue;
        order->group = group;
        order->rows = poly_add(search->arena, left, poly_multiply(search->arena, group, quotient));
        if (poly_is_fixed(search->arena, order->rows)) return true;
    }
    return false;
}

/// The rows and columns of groups of this height.
static bool find_in_groups(TileSearch *search, const Remainder *rest, const Poly *quotient,
                           const Poly *height, TileFinding *finding) {
    const Poly *above, *below;
    const Poly *first = poly_multiply(search->arena, finding->order.group, quotient);
    finding->row = finding->column = NULL;
    for (LIST_EACH(int, i, search->numbers)) {
        Value *value = search->numbers.items[i];
        if (divides(search, value, OP_FLOORDIV, height, &above, &below) &&
            is_remainder(rest, above))
            finding->column = form_of(search, value);
        if (!divides(search, value, OP_MOD, height, &above, &below)) continue;
        bool is_rotated = poly_equal(above, rest->id);
        if (!is_rotated && !is_remainder(rest, above)) continue;
        if (finding->row && finding->order.is_rotated != is_rotated) return false;
        finding->order.is_rotated = is_rotated;
        finding->row = poly_add(search->arena, first, form_of(search, value));
    }
    return finding->row && finding->column;
}

static bool find_groups(TileSearch *search, TileFinding *finding) {
    const Poly *divisor;
    for (LIST_EACH(int, i, search->numbers)) {
        if (!divides_id(search, search->numbers.items[i], OP_FLOORDIV, &divisor)) continue;
        const Poly *quotient = form_of(search, search->numbers.items[i]);
        const Remainder rest = remainder_by(search, quotient, divisor);
        for (LIST_EACH(int, k, search->numbers)) {
            Value *least = search->numbers.items[k];
            if (!find_height(search, least, quotient, &finding->order)) continue;
            finding->order.columns =
                poly_divide_exact(search->arena, divisor, finding->order.group);
            const Poly *height = form_of(search, least);
            if (finding->order.columns && find_in_groups(search, &rest, quotient, height, finding))
                return true;
        }
    }
    return false;
}

static bool find_rows(TileSearch *search, TileFinding *finding) {
    const Poly *divisor, *only = only_divisor(search);
    if (!only) return false;
    finding->order = (TileOrder){.columns = only};
    finding->row = finding->column = NULL;
    for (LIST_EACH(int, i, search->numbers))
        if (divides_id(search, search->numbers.items[i], OP_FLOORDIV, &divisor))
            finding->row = form_of(search, search->numbers.items[i]);
    const Remainder rest = remainder_by(search, finding->row, only);
    finding->column = rest.operation ? rest.operation : rest.difference;
    return true;
}

/* ---- more digits ---- */

/// The first operation of a code that divides `number`, by whatever; NULL: there is none.
static Value *division_of(const TileSearch *search, const Poly *number, OpCode code) {
    TileSearch of = *search;
    const Poly *divisor;
    of.id = number;
    for (LIST_EACH(int, i, search->numbers))
        if (divides_id(&of, search->numbers.items[i], code, &divisor))
            return search->numbers.items[i];
    return NULL;
}

/// The one number that the kernel divides `number` by, if it takes both what is above and the rest, as operations; else NULL.
static const Poly *divided_by(const TileSearch *search, const Poly *number, const Poly **above,
                              const Poly **rest) {
    TileSearch of = *search;
    of.id = number;
    Value *quotient = division_of(search, number, OP_FLOORDIV),
          *remainder = division_of(search, number, OP_MOD);
    *above = quotient ? form_of(&of, quotient) : NULL;
    *rest = remainder ? form_of(&of, remainder) : NULL;
    return *above && *rest ? only_divisor(&of) : NULL;
}

/// The kernel takes what is above a digit and not the digit, or the digit alone: the other one is computed beside it, for who looks at all digits.
/// Returns how many digits the id has then.
static int complete_digits(TileSearch *search, Function *function) {
    const Poly *number = search->id;
    int count = 1;
    while (number && count < TILE_MOST_DIGITS) {
        TileSearch of = *search;
        of.id = number;
        if (!only_divisor(&of)) break;
        Value *quotient = division_of(search, number, OP_FLOORDIV),
              *remainder = division_of(search, number, OP_MOD);
        Value *known = quotient ? quotient : remainder;
        if (known->op->parent != function->body) break;
        if (!quotient || !remainder) {
            Builder b = {.function = function,
                         .region = function->body,
                         .before = known->op->next,
                         .range = known->op->range};
            Value *other = build_binary(&b, quotient ? OP_MOD : OP_FLOORDIV, known->op->operands[0],
                                        known->op->operands[1]);
            if (!other->op) break;
            LIST_PUSH(search->arena, &search->numbers, other);
            if (!quotient) quotient = other;
        }
        number = form_of(search, quotient);
        count++;
    }
    return count;
}

/// `id % a`, `id // a % b`, `id // a // b`: three digits or more. False where there are two.
static bool find_digits(TileSearch *search, int most, TileFinding *finding) {
    const Poly *number = search->id, *sizes[TILE_MOST_DIGITS], *rests[TILE_MOST_DIGITS],
               *numbers[TILE_MOST_DIGITS], *above;
    int count = 0;
    while (count + 1 < most && (sizes[count] = divided_by(search, number, &above, &rests[count]))) {
        numbers[count++] = number;
        number = above;
    }
    if (count < 2) return false;
    finding->order = (TileOrder){.columns = sizes[0], .digit_count = count + 1};
    finding->digits[0] = number;
    for (int i = 0; i < count; i++) {  // from the lowest on
        finding->digits[count - i] = rests[i];
        finding->order.extents[count - i] = sizes[i];
        finding->above[count - i] = numbers[i];
    }
    finding->order.extents[0] = NULL;
    return true;
}

/* ---- in the kernel ---- */

static Value *hide(Function *function, Value *value, int axis, int digit, const Poly *extent) {
    Builder b = {.function = function, .region = value->op->parent, .before = value->op->next};
    Value *operands[] = {value, build_int(&b, axis), build_int(&b, digit),
                         extent ? build_poly(&b, extent) : NULL};
    Op *op = op_append(&b, OP_TILE_INDEX, operands, 4, 0);
    Value *index = op_append_result(function, op, value->type);
    index->name = value->name;
    region_replace_uses(function->body, value, index);
    op_set_operand(op, 0, value);
    return index;
}

Value *tile_order_number(Function *function, const TileOrder *order, int axis, int digit) {
    if (!order->id || order->group || order->digit_count || order->id->op->parent != function->body)
        return NULL;
    Builder b = {.function = function, .region = function->body, .before = order->id->op->next};
    Value *columns = build_poly(&b, order->columns);
    Value *number = build_binary(&b, digit ? OP_MOD : OP_FLOORDIV, order->id, columns);
    return number->op ? hide(function, number, axis, digit, digit ? order->columns : order->rows)
                      : NULL;
}

/// The same number, computed anew in a loop or in a branch behind it, is the index as well.
static void hide_again(TileSearch *search, Function *function, const Poly *number, Value *index) {
    for (LIST_EACH(int, i, search->numbers)) {
        Value *value = search->numbers.items[i];
        Op *in_index, *in_value;
        if (value->op->parent == function->body) continue;
        const Poly *form = form_of(search, value);
        if (!form || !poly_equal(form, number)) continue;
        ops_common_level(index->op, value->op, &in_index, &in_value);
        if (in_index && op_precedes(in_index, in_value))
            region_replace_uses(function->body, value, index);
    }
}

/// All values that are a row or a column.
static void hide_tiles(TileSearch *search, Function *function, const TileFinding *finding,
                       int axis) {
    Values tiles[2] = {{0}};
    for (LIST_EACH(int, i, search->numbers)) {
        Value *value = search->numbers.items[i];
        if (value->op->parent != function->body) continue;
        const Poly *form = form_of(search, value);
        for (int digit = 0; digit < 2; digit++)
            if (form && poly_equal(form, digit ? finding->column : finding->row)) {
                LIST_PUSH(search->arena, &tiles[digit], value);
                break;
            }
    }
    for (int digit = 0; digit < 2; digit++) {
        const Poly *extent = digit ? finding->order.columns : finding->order.rows;
        if (!tiles[digit].count) continue;
        Value *index = hide(function, tiles[digit].items[0], axis, digit, extent);
        for (int i = 1; i < tiles[digit].count; i++)
            region_replace_uses(function->body, tiles[digit].items[i], index);
        hide_again(search, function, digit ? finding->column : finding->row, index);
    }
}

/// Those at the kernel's top that are a number, the first of them first.
static Values values_of(TileSearch *search, const Function *function, const Poly *number) {
    Values found = {0};
    for (LIST_EACH(int, i, search->numbers)) {
        Value *value = search->numbers.items[i];
        const Poly *form = value->op->parent == function->body ? form_of(search, value) : NULL;
        if (form && poly_equal(form, number)) LIST_PUSH(search->arena, &found, value);
    }
    return found;
}

typedef struct NumberUse {
    const Values *values;
    const Poly *number;
    TileSearch *search;
    Op *behind;  // what the digits of the number are known behind
    LIST(Op *) uses;
    bool fails;
} NumberUse;

/// Notes who reads the number but to divide it, or to change its type.
static bool visit_number_use(void *context, Op *op) {
    NumberUse *use = context;
    for (int i = 0; i < op->operand_count; i++) {
        bool reads = false;
        for (LIST_EACH(int, k, *use->values)) reads |= op->operands[i] == use->values->items[k];
        if (!reads || op->code == OP_TILE_INDEX) continue;
        bool divides = (op->code == OP_FLOORDIV || op->code == OP_MOD) && i == 0;
        bool is_same = op_keeps_numbers(op);
        if (divides || is_same) continue;
        Op *in_behind, *in_use;
        ops_common_level(use->behind, op, &in_behind, &in_use);
        use->fails |= !in_behind || in_behind == in_use || !op_precedes(in_behind, in_use);
        LIST_PUSH(use->search->arena, &use->uses, op);
    }
    return !use->fails;
}

/// Digits of one id, hidden; what is above one of them is written by those that it has, where the kernel reads it. False where it is read
/// before these are known: nothing is changed then.
static bool hide_digits(TileSearch *search, Function *function, const TileFinding *finding,
                        int axis) {
    const int count = finding->order.digit_count;
    Values values[TILE_MOST_DIGITS];
    NumberUse uses[TILE_MOST_DIGITS] = {{0}};
    for (int digit = 0; digit < count; digit++) {
        values[digit] = values_of(search, function, finding->digits[digit]);
        if (!values[digit].count) return false;
    }
    Op *behind = values[0].items[0]->op;
    for (int digit = 1; digit + 1 < count; digit++) {  // those above the lowest but one, and so on
        Op *own = values[digit].items[0]->op;
        if (op_precedes(behind, own)) behind = own;
        const Values above = values_of(search, function, finding->above[digit]);
        Values *known = ARENA_NEW(search->arena, Values);
        *known = above;
        uses[digit] = (NumberUse){known, finding->above[digit], search, behind, {0}, false};
        region_walk(function->body, visit_number_use, &uses[digit]);
        if (uses[digit].fails) return false;
        for (LIST_EACH(int, i, *known))
            if (!type_equal(known->items[i]->type, values[digit].items[0]->type) ||
                !type_equal(known->items[i]->type, values[0].items[0]->type))
                if (uses[digit].uses.count) return false;
    }
    Value *indices[TILE_MOST_DIGITS];
    for (int digit = 0; digit < count; digit++) {
        indices[digit] =
            hide(function, values[digit].items[0], axis, digit, finding->order.extents[digit]);
        for (int i = 1; i < values[digit].count; i++)
            region_replace_uses(function->body, values[digit].items[i], indices[digit]);
        hide_again(search, function, finding->digits[digit], indices[digit]);
    }
    Value *whole = indices[0];
    for (int digit = 1; digit + 1 < count; digit++) {
        const NumberUse *use = &uses[digit];
        Op *last = whole->op;
        if (op_precedes(last, indices[digit]->op)) last = indices[digit]->op;
        Builder b = {.function = function, .region = function->body, .before = last->next};
        Value *size = build_poly(&b, finding->order.extents[digit]);
        whole = build_binary(&b, OP_ADD, build_binary(&b, OP_MUL, whole, size), indices[digit]);
        for (LIST_EACH(int, i, use->uses))
            for (int k = 0; k < use->uses.items[i]->operand_count; k++)
                for (LIST_EACH(int, v, *use->values))
                    if (use->uses.items[i]->operands[k] == use->values->items[v])
                        op_set_operand(use->uses.items[i], k, whole);
    }
    return true;
}

/* ---- numbers under a branch ---- */

/// Moves a number that is made of ids and parameters in front of the branches around it; `first`: the outermost of them. False where something
/// else is in it.
static bool lift_number(Value *value, Op *first) {
    Op *op = value->op;
    if (!op || value->constant || value_is_before(value, first)) return true;
    if (op->region_count || !op_is_pure(op) || op->result_count != 1) return false;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && !lift_number(op->operands[i], first)) return false;
    op_move_before(op, first);
    return true;
}

/// The outermost branch around an operation that stands under branches alone; NULL of any other one.
static Op *branches_around(const Function *function, const Op *op) {
    Op *outer = NULL;
    while (op->parent != function->body) {
        outer = op->parent->parent;
        if (outer->code != OP_IF) return NULL;
        op = outer;
    }
    return outer;
}

/// Quotients and remainders of ids under `if row < rows:` are computed in front of it: which tile a program has does not depend on the branch.
static void lift_divided_ids(Arena *arena, Function *function) {
    TileSearch search = {.arena = arena};
    region_walk(function->body, visit_number, &search);
    for (LIST_EACH(int, i, search.numbers)) {
        Value *value = search.numbers.items[i];
        if (value->op->code != OP_FLOORDIV && value->op->code != OP_MOD) continue;
        Op *first = branches_around(function, value->op);
        if (first && axis_sources_of(arena, value, NULL).any_axis) lift_number(value, first);
    }
}

TileOrders tile_orders_open(Arena *arena, Function *function, int most_digits) {
    TileOrders orders = {0};
    lift_divided_ids(arena, function);
    FunctionAxes axes = function_axes(arena, function);
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (!axes.programs[axis]) continue;
        TileSearch search = {.arena = arena,
                             .former = former_new(arena),
                             .id = poly_atom(arena, axes.programs[axis])};
        region_walk(function->body, visit_number, &search);
        TileFinding finding = {0};
        bool has_groups = find_groups(&search, &finding);
        if (!has_groups && most_digits > 2) complete_digits(&search, function);
        if (!has_groups && find_digits(&search, most_digits, &finding) &&
            hide_digits(&search, function, &finding, axis)) {
            orders.axes[axis] = finding.order;
            orders.axes[axis].id = axes.programs[axis];
            continue;
        }
        if (!has_groups && !find_rows(&search, &finding)) continue;
        orders.axes[axis] = finding.order;
        orders.axes[axis].id = axes.programs[axis];
        hide_tiles(&search, function, &finding, axis);
    }
    return orders;
}

static bool visit_close(void *context, Op *op) {
    (void)context;
    for (int i = 0; i < op->operand_count; i++)
        while (op->operands[i] && value_is_tile_index(op->operands[i], -1, -1))
            op_set_operand(op, i, op->operands[i]->op->operands[0]);
    return true;
}

bool tile_orders_has_more_digits(Arena *arena, Function *function) {
    FunctionAxes axes = function_axes(arena, function);
    bool any = false;
    for (int axis = 0; axis < PROGRAM_AXES && !any; axis++) {
        if (!axes.programs[axis]) continue;
        TileSearch search = {.arena = arena,
                             .former = former_new(arena),
                             .id = poly_atom(arena, axes.programs[axis])};
        region_walk(function->body, visit_number, &search);
        TileFinding finding = {0};
        bool has_more = !find_groups(&search, &finding) && complete_digits(&search, function) > 2;
        any = has_more && find_digits(&search, TILE_MOST_DIGITS, &finding);
    }
    function_drop_dead(function);
    return any;
}

/// `x // c * c + x % c` is the number.
static bool visit_whole(void *context, Op *op) {
    Function *function = context;
    for (int side = 0; op->code == OP_ADD && side < 2; side++) {
        const Op *scaled = op->operands[side]->op, *rest = op->operands[1 - side]->op;
        const Op *above = scaled && scaled->code == OP_MUL ? scaled->operands[0]->op : NULL;
        bool is_whole = above && rest && above->code == OP_FLOORDIV && rest->code == OP_MOD &&
                        above->operands[0] == rest->operands[0] &&
                        above->operands[1] == rest->operands[1] &&
                        type_equal(op->results[0]->type, rest->operands[0]->type) &&
                        poly_equal(value_poly(function->arena, scaled->operands[1]),
                                   value_poly(function->arena, rest->operands[1]));
        if (is_whole) {
            region_replace_uses(function->body, op->results[0], rest->operands[0]);
            break;
        }
    }
    return true;
}

void tile_orders_close(Function *function) {
    region_walk(function->body, visit_close, NULL);
    region_walk(function->body, visit_whole, function);
    function_drop_dead(function);
}

/* ---- orders of a grid ---- */

typedef struct OrderUse {
    TileSearch *search;
    const TileFinding *finding;
    int axes[2];  // of the grid: that of rows, and that of columns
    Map seen;
    bool uses_ids;
} OrderUse;

static bool is_number_of(const OrderUse *use, Value *value, int digit) {
    const Poly *form = value->type.rank == 0 && value->type.kind == TYPE_NUMBER && value->op &&
                               value->op->operand_count
                           ? form_of(use->search, value)
                           : NULL;
    return form && poly_equal(form, digit ? use->finding->column : use->finding->row);
}

/// Notes whether a value is made of an id by anything but the row and the column.
static void follow_value(OrderUse *use, Value *value) {
    if (!value || value->constant || map_has_pointer(&use->seen, value)) return;
    map_set_pointer(&use->seen, value, use);
    if (is_number_of(use, value, 0) || is_number_of(use, value, 1)) return;
    for (int i = 0; i < 2; i++) use->uses_ids |= value_is_program_id(value, use->axes[i]);
    for (int i = 0; value->op && i < value->op->operand_count; i++)
        follow_value(use, value->op->operands[i]);
}

static bool visit_use(void *context, Op *op) {
    bool acts = op->region_count || !op->result_count ||
                (op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED));
    for (int i = 0; acts && i < op->operand_count; i++) follow_value(context, op->operands[i]);
    return true;
}

/// The program's own number along an axis of the grid, as a value of this type.
static Value *own_number(Function *function, Value *id, const Value *like) {
    Op *first = function->body->first;
    while (op_stays_at_start(first)) first = first->next;
    Builder b = {.function = function, .region = function->body, .before = first};
    bool is_alike = dtype_equal(like->type.element, id->type.element);
    if (!id->name) id->name = like->name;
    return is_alike ? id : build_binary(&b, OP_CAST, id, build_dtype(&b, like->type.element));
}

/// The program's own numbers stand for the row and the column of its tile.
static void take_own_order(Function *function, const FunctionAxes *axes, const OrderUse *use) {
    for (LIST_EACH(int, i, use->search->numbers)) {
        Value *value = use->search->numbers.items[i];
        for (int digit = 0; digit < 2; digit++) {
            if (!is_number_of(use, value, digit)) continue;
            Value *id = axes->programs[use->axes[digit]];
            region_replace_uses(function->body, value, own_number(function, id, value));
            break;
        }
    }
    function_drop_dead(function);
}

bool tile_orders_straighten(Arena *arena, Function *function) {
    FunctionAxes axes = function_axes(arena, function);
    for (int row = 0; row < PROGRAM_AXES; row++)
        for (int column = 0; column < PROGRAM_AXES; column++) {
            if (row == column || !axes.programs[row] || !axes.programs[column] ||
                !axes.program_counts[row] || !axes.program_counts[column])
                continue;
            const Poly *rows = poly_atom(arena, axes.program_counts[row]);
            const Poly *columns = poly_atom(arena, axes.program_counts[column]);
            const Poly *first = poly_multiply(arena, poly_atom(arena, axes.programs[row]), columns);
            TileSearch search = {
                .arena = arena,
                .former = former_new(arena),
                .id = poly_add(arena, first, poly_atom(arena, axes.programs[column]))};
            region_walk(function->body, visit_number, &search);
            TileFinding finding = {0};
            if (!find_groups(&search, &finding) || !poly_equal(finding.order.rows, rows) ||
                !poly_equal(finding.order.columns, columns))
                continue;
            OrderUse use = {.search = &search,
                            .finding = &finding,
                            .axes = {row, column},
                            .seen = map_new(arena)};
            region_walk(function->body, visit_use, &use);
            if (use.uses_ids) continue;
            take_own_order(function, &axes, &use);
            return true;
        }
    return false;
}
