// A function whose loops go through `rows * size` elements in blocks in; two loops in the place of each, over rows and in a row, out.
// What says that there are rows: some loop divides the number of an element, or the author has loops over rows beside.
#include "autodiff/blocks/digit_loops.h"

#include "analysis/addresses/strides.h"
#include "analysis/build/build.h"
#include "analysis/build/value_poly.h"
#include "autodiff/blocks/origins.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"

typedef struct DigitLoops {
    Arena *arena;
    Function *function;
    const Value *block;      // the step of all of them
    const Poly *end, *size;  // of all elements, and of a row; NULL: nobody divides yet
    LIST(Op *) loops;        // over all elements
    LIST(Op *) blocks;       // all loops in steps of the block
    int in_rows;  // of these, how many are loops over one row within the author's own loop over rows
    bool fits;
} DigitLoops;

/// What a loop makes of the numbers of its elements.
typedef struct RowLoop {
    DigitLoops *all;
    Op *loop;
    Map moved;  // values that depend on the loop's number
    Map by_row;  // quotients, and what is made of these alone by element -> the number for a row, once it is made
    LIST(Op *) made, loads, quotients, remainders, masks;  // `made`: by element, of such values
    LIST(Op *) mixed;  // by element, of such values and of what differs within a row
} RowLoop;

static RowLoop row_loop(DigitLoops *all, Op *loop) {
    return (RowLoop){
        .all = all, .loop = loop, .moved = map_new(all->arena), .by_row = map_new(all->arena)};
}

static Value *start_of(const Op *loop) { return loop->regions[0]->arguments[0]; }

/// `start + arange(0, block)`, in either order.
static bool is_index(const Op *loop, const Value *value) {
    const Op *op = value->op;
    if (!op || op->code != OP_ADD || value->type.rank != 1) return false;
    for (int i = 0; i < 2; i++) {
        const Op *lanes = op->operands[1 - i]->op;
        int64_t first;
        if (op->operands[i] == start_of(loop) && lanes && lanes->code == OP_ARANGE &&
            value_is_int(lanes->operands[0], &first) && first == 0)
            return true;
    }
    return false;
}

static bool is_moved(const RowLoop *row, const Op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] && map_has_pointer(&row->moved, op->operands[i])) return true;
    return false;
}

/// The size of a row, where the number of an element is divided by it.
static bool divides(RowLoop *row, const Op *op) {
    DigitLoops *all = row->all;
    const Poly *size = value_poly(all->arena, op->operands[1]);
    if (!is_index(row->loop, op->operands[0]) || !value_is_of_parameters(op->operands[1]) ||
        (all->size && !poly_equal(size, all->size)))
        return false;
    all->size = size;
    return size != NULL;
}

static bool is_by_row(const RowLoop *row, const Value *value) {
    return value && map_has_pointer(&row->by_row, value);
}

/// Whether an operation by element is the same for all elements of a row.
static bool is_made_of_rows(const RowLoop *row, const Op *op) {
    bool only = op_is_by_element(op) && op->result_count == 1;
    for (int i = 0; i < op->operand_count; i++)
        only &= !op->operands[i] || is_by_row(row, op->operands[i]) || !op->operands[i]->type.rank;
    return only;
}

/// Whether an operation by element has a tile beside what is the same for a row: a number may stand for that.
static bool is_of_lanes_too(const RowLoop *row, const Op *op) {
    bool has_lanes = false;
    for (int i = 0; i < op->operand_count; i++)
        has_lanes |= op->operands[i] && !is_by_row(row, op->operands[i]) &&
                     op->operands[i]->type.rank == op->results[0]->type.rank;
    return has_lanes && op_is_by_element(op) && op->result_count == 1 && op->operand_count == 2;
}

static bool uses_rows(const RowLoop *row, const Op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (is_by_row(row, op->operands[i])) return true;
    return false;
}

/// `index // size`, or the remainder.
static bool take_digit(RowLoop *row, Op *op) {
    if (!divides(row, op)) return false;
    Arena *arena = row->all->arena;
    if (op->code == OP_MOD) {
        LIST_PUSH(arena, &row->remainders, op);
        return true;
    }
    LIST_PUSH(arena, &row->quotients, op);
    map_set_pointer(&row->by_row, op->results[0], row);
    return true;
}

/// `index < end`, or a comparison of other things than places.
static bool take_comparison(RowLoop *row, Op *op) {
    Arena *arena = row->all->arena;
    if (dtype_is_float(op->operands[0]->type.element)) return true;
    if (op->code != OP_LT || !is_index(row->loop, op->operands[0]) ||
        !poly_equal(value_poly(arena, op->operands[1]), row->all->end))
        return false;
    LIST_PUSH(arena, &row->masks, op);
    return true;
}

/// Sorts the operations of a loop's body: what they do with the numbers of elements. False where that is more than rows can have.
static bool read_body(RowLoop *row) {
    Arena *arena = row->all->arena;
    map_set_pointer(&row->moved, start_of(row->loop), row);
    for (Op *op = row->loop->regions[0]->first; op; op = op->next) {
        if (op->region_count) return false;
        if (!is_moved(row, op)) continue;
        for (int i = 0; i < op->result_count; i++)
            map_set_pointer(&row->moved, op->results[i], row);
        bool is_integer = op->result_count == 1 && dtype_is_integer(op->results[0]->type.element);
        if ((op->code == OP_FLOORDIV && is_integer) || op->code == OP_MOD) {
            if (!take_digit(row, op)) return false;
        } else if (op_is_comparison(op->code)) {
            if (!take_comparison(row, op)) return false;
        } else if (op->code == OP_LOAD && is_by_row(row, op->operands[0])) {
            LIST_PUSH(arena, &row->loads, op);
        } else if (uses_rows(row, op)) {
            if (!is_made_of_rows(row, op)) {
                if (!is_of_lanes_too(row, op)) return false;
                LIST_PUSH(arena, &row->mixed, op);
                continue;
            }
            map_set_pointer(&row->by_row, op->results[0], row);
            LIST_PUSH(arena, &row->made, op);
        }
    }
    return true;
}

/* ---- two loops ---- */

/// The loop over rows, around `loop`, which carries the same.
static Value *open_rows(DigitLoops *all, Op *loop, const Poly *rows) {
    Builder b = {.function = all->function,
                 .region = loop->parent,
                 .before = loop,
                 .range = loop->range,
                 .call = loop->call};
    int count = loop->result_count;
    Value **operands = ARENA_ARRAY(all->arena, Value *, count + 3);
    operands[0] = build_int(&b, 0);
    operands[1] = build_poly(&b, rows);
    operands[2] = build_int(&b, 1);
    Value *size = build_poly(&b, all->size);
    for (int i = 0; i < count; i++) operands[3 + i] = loop->operands[3 + i];
    Op *outer = op_append(&b, OP_FOR, operands, count + 3, 0);
    outer->range = loop->range;
    Region *body = op_add_region(&b, outer);
    Value *row = region_add_argument(all->function, body, start_of(loop)->type, "row");
    Value **results = ARENA_ARRAY(all->arena, Value *, count + 1);
    for (int i = 0; i < count; i++) {
        const Value *carried = loop->regions[0]->arguments[i + 1];
        Value *argument = region_add_argument(all->function, body, carried->type, carried->name);
        Value *result = op_append_result(all->function, outer, loop->results[i]->type);
        result->name = loop->results[i]->name;
        region_replace_uses(all->function->body, loop->results[i], result);
        op_set_operand(loop, 3 + i, argument);
        results[i] = loop->results[i];
    }
    Op *end = op_append(&(Builder){.function = all->function, .region = body}, OP_YIELD, results,
                        count, 0);
    op_move_before(loop, end);
    op_set_operand(loop, 1, size);
    return row;
}

static Builder in_front_of(DigitLoops *all, Op *op) {
    return (Builder){.function = all->function,
                     .region = op->parent,
                     .before = op,
                     .range = op->range,
                     .call = op->call};
}

/// The same for a number.
static bool make_number(RowLoop *row, Op *op) {
    Value *operands[OPERATION_MOST_OPERANDS] = {0};
    if (op->operand_count > OPERATION_MOST_OPERANDS) return false;
    for (int i = 0; i < op->operand_count; i++)
        operands[i] = is_by_row(row, op->operands[i])
                          ? map_get_pointer(&row->by_row, op->operands[i])
                          : op->operands[i];
    Builder b = in_front_of(row->all, op);
    Value *number = build(&b, op->code, operands, op->operand_count);
    if (!number || number->type.rank || number->type.kind == TYPE_UNKNOWN) return false;
    if (!number->constant && !number->name) number->name = op->results[0]->name;
    map_set_pointer(&row->by_row, op->results[0], number);
    return true;
}

/// One load for a row. Lanes behind the mask have what they had.
static void load_once(RowLoop *row, Op *op) {
    Builder b = in_front_of(row->all, op);
    Value *operands[] = {map_get_pointer(&row->by_row, op->operands[0]), NULL, NULL};
    Value *mask = op->operand_count > 1 ? op->operands[1] : NULL,
          *other = op->operand_count > 2 ? op->operands[2] : NULL;
    Value *number = build(&b, OP_LOAD, operands, 3);
    if (mask && other) number = build_ternary(&b, OP_WHERE, mask, number, other);
    region_replace_uses(row->all->function->body, op->results[0], number);
}

/// `start + lanes`, for a number `row * size + start + lanes` of all elements.
static Value *within_row(const RowLoop *row, Op *at, const Value *index) {
    Builder b = in_front_of(row->all, at);
    const Op *sum = index->op;
    bool is_first = sum->operands[0]->op && sum->operands[0]->op->code == OP_ARANGE;
    return build_binary(&b, OP_ADD, start_of(row->loop), sum->operands[is_first ? 0 : 1]);
}

/// `(pointer + row * size) + within` for `pointer + (row * size + within)`, as a person writes it: then it reads as the author's own rows do.
static void add_row_first(const RowLoop *row, Value *offset, const Value *place) {
    for (Op *op = row->loop->regions[0]->first, *next; op; op = next) {
        next = op->next;
        if (op->code != OP_ADD || op->operands[0]->type.kind != TYPE_POINTER) continue;
        const Op *added = op->operands[1]->op;
        bool is_place = op->operands[1] == place,
             is_lanes = added && added->code == OP_ADD && op->operands[1]->type.rank == 1 &&
                        (added->operands[0] == place || added->operands[1] == place);
        if (!is_place && !is_lanes) continue;
        Builder b = in_front_of(row->all, op);
        Value *within = start_of(row->loop);
        if (is_lanes)
            within = build_binary(&b, OP_ADD, within,
                                  added->operands[added->operands[0] == place ? 1 : 0]);
        op_set_operand(op, 0, build_binary(&b, OP_ADD, op->operands[0], offset));
        op_set_operand(op, 1, within);
    }
}

static bool split_loop(DigitLoops *all, Op *loop, const Poly *rows) {
    RowLoop row = row_loop(all, loop);
    if (!read_body(&row)) return false;
    Value *start = start_of(loop), *number = open_rows(all, loop, rows), *size = loop->operands[1];
    Builder first = in_front_of(all, loop->regions[0]->first);
    Value *offset = build_binary(&first, OP_MUL, number, size),
          *place = build_binary(&first, OP_ADD, offset, start);
    region_replace_uses(loop->regions[0], start, place);
    op_set_operand(place->op, place->op->operands[0] == place ? 0 : 1, start);
    for (LIST_EACH(int, i, row.masks)) {
        Op *mask = row.masks.items[i];
        op_set_operand(mask, 0, within_row(&row, mask, mask->operands[0]));
        op_set_operand(mask, 1, size);
    }
    for (LIST_EACH(int, i, row.remainders)) {
        Op *op = row.remainders.items[i];
        region_replace_uses(all->function->body, op->results[0],
                            within_row(&row, op, op->operands[0]));
    }
    for (LIST_EACH(int, i, row.quotients))
        map_set_pointer(&row.by_row, row.quotients.items[i]->results[0], number);
    for (LIST_EACH(int, i, row.made))
        if (!make_number(&row, row.made.items[i])) return false;
    for (LIST_EACH(int, i, row.mixed))
        for (int k = 0; k < 2; k++) {
            Value *by_row = row.mixed.items[i]->operands[k];
            if (is_by_row(&row, by_row))
                op_set_operand(row.mixed.items[i], k, map_get_pointer(&row.by_row, by_row));
        }
    for (LIST_EACH(int, i, row.loads)) load_once(&row, row.loads.items[i]);
    add_row_first(&row, offset, place);
    return true;
}

/* ---- all loops ---- */

static bool visit_loop(void *context, Op *op) {
    DigitLoops *all = context;
    int64_t lower;
    if (op->code != OP_FOR || op->operands[2] != all->block) return true;
    all->fits = value_is_int(op->operands[0], &lower) && lower == 0 &&
                value_poly(all->arena, op->operands[1]);
    LIST_PUSH(all->arena, &all->blocks, op);
    return all->fits;
}

static const Poly *end_of(const DigitLoops *all, const Op *loop) {
    return value_poly(all->arena, loop->operands[1]);
}

/// How many elements a loop over rows, around one in blocks, goes through; NULL: there is none around it.
static const Poly *elements_of_rows(const DigitLoops *all, const Op *loop) {
    const Op *around = loop->parent->parent;
    int64_t first, step;
    if (!around || around->code != OP_FOR || !value_is_int(around->operands[0], &first) || first ||
        !value_is_int(around->operands[2], &step) || step != 1)
        return NULL;
    return poly_multiply(all->arena, end_of(all, around), end_of(all, loop));
}

/// Sorts the loops in blocks: those over all elements, and those over a row of them. False where there are others.
static bool sort_loops(DigitLoops *all) {
    for (LIST_EACH(int, i, all->blocks)) {
        Op *loop = all->blocks.items[i];
        const Poly *end = end_of(all, loop), *elements = elements_of_rows(all, loop);
        bool is_row = false;
        for (int k = 0; k < all->blocks.count && elements && !is_row; k++)
            is_row = poly_equal(end_of(all, all->blocks.items[k]), elements);
        const Poly **known = is_row ? &all->size : &all->end;
        if (*known && !poly_equal(*known, end)) return false;
        *known = end;
        all->in_rows += is_row;
        if (!is_row) LIST_PUSH(all->arena, &all->loops, loop);
    }
    return all->loops.count > 0;
}

/// Whether each loop can be split in rows of one size.
static bool loops_have_rows(DigitLoops *all) {
    for (LIST_EACH(int, i, all->loops)) {
        RowLoop row = row_loop(all, all->loops.items[i]);
        if (!read_body(&row)) return false;
    }
    return all->size != NULL;
}

/// Puts 0 in the place of the rows' numbers in a copy, and the element's in that of the remainder: addresses are linear there.
static void forget_rows(DigitLoops *all, Function *copy, const Map *copies) {
    for (LIST_EACH(int, i, all->loops)) {
        RowLoop row = row_loop(all, all->loops.items[i]);
        read_body(&row);
        for (LIST_EACH(int, k, row.quotients)) {
            Value *quotient = map_get_pointer(copies, row.quotients.items[k]->results[0]);
            Builder b = {.function = copy, .region = quotient->op->parent, .before = quotient->op};
            region_replace_uses(
                copy->body, quotient,
                build_binary(&b, OP_MUL, quotient->op->operands[0], build_int(&b, 0)));
        }
        for (LIST_EACH(int, k, row.remainders)) {
            Value *rest = map_get_pointer(copies, row.remainders.items[k]->results[0]);
            region_replace_uses(copy->body, rest, rest->op->operands[0]);
        }
    }
}

/// Whether blocks of any size do the same but for what rows read: nothing counts behind masks, and what loops carry are sums.
static bool block_is_free(DigitLoops *all) {
    Map copies = map_new(all->arena);
    Blocks blocks;
    Function *copy = function_copy(all->arena, all->function, all->function->name, &copies);
    forget_rows(all, copy, &copies);
    if (!blocks_study(&blocks, all->arena, copy)) return false;
    const BlockSize *block = block_of(&blocks, map_get_pointer(&copies, all->block));
    if (!block || block->why || block->needs_divisor || block->limits.count) return false;
    int count = 0;
    for (LIST_EACH(int, i, blocks.origins)) {
        const Origin *origin = &blocks.origins.items[i];
        if (origin->symbol != block->symbol) continue;
        if (origin->kind != ORIGIN_LOOP) return false;
        count++;
    }
    return count == all->blocks.count;
}

bool digit_loops_open(Arena *arena, Function *function) {
    for (int p = 0; p < function->parameter_count; p++) {
        DigitLoops all = {.arena = arena,
                          .function = function,
                          .block = function->parameters[p].value,
                          .fits = true};
        if (!function->parameters[p].is_constexpr) continue;
        region_walk(function->body, visit_loop, &all);
        if (!all.fits || !sort_loops(&all) || !loops_have_rows(&all)) continue;
        const Poly *rows = poly_divide_exact(arena, all.end, all.size);
        if (!rows || !block_is_free(&all)) continue;
        for (LIST_EACH(int, k, all.loops))
            if (!split_loop(&all, all.loops.items[k], rows)) return false;
        return true;
    }
    return false;
}

/* ---- whether it is worth a look ---- */

static bool visit_quotient_of_lanes(void *context, Op *op) {
    bool *found = context;
    *found |= op->code == OP_FLOORDIV && op->results[0]->type.rank == 1 && op_is_in_loop(op);
    return !*found;
}

bool function_divides_in_loops(const Function *function) {
    bool found = false;
    region_walk(function->body, visit_quotient_of_lanes, &found);
    return found;
}

/// Loops in steps of a constexpr: those within a loop, and others.
typedef struct BlockLoops {
    bool in_rows, alone;
} BlockLoops;

static bool visit_block_loop(void *context, Op *op) {
    BlockLoops *found = context;
    if (op->code != OP_FOR || !op->operands[2]->type.is_constexpr || op->operands[2]->constant)
        return true;
    const Op *around = op->parent->parent;
    if (around && around->code == OP_FOR)
        found->in_rows = true;
    else
        found->alone = true;
    return true;
}

bool function_has_rows_beside(const Function *function) {
    BlockLoops found = {0};
    region_walk(function->body, visit_block_loop, &found);
    return found.in_rows && found.alone;
}
