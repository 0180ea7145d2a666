// An address is `weight * row + rest`, whatever memory and flags make of the row (`bos + block * B + lane` of variable lengths).
// A store of the forward has the same row in `weight' * row + rest'`. No two programs store to one of its elements: the derivation
// assumes so, for each of them takes the upstream gradient. So no two programs have one row, if three things hold: the address tells
// the row and all that differs between programs in `rest'`; the mask of the store has each row that the mask of the access has;
// and the store is reached wherever the access is.
#include "autodiff/addresses/told.h"

#include <limits.h>

#include "analysis/addresses/affine_axes.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/like_store.h"
#include "autodiff/addresses/limits.h"
#include "autodiff/addresses/place.h"
#include "autodiff/addresses/told_rows.h"
#include "autodiff/rewrite/rewrite.h"

/* ---- limits ---- */

static const Poly *zero(Arena *arena) { return poly_constant(arena, 0); }

/// What holds where the access touches an element, as far as it is understood.
void row_limits_find(RowSearch *search) {
    int axes[TYPE_MAX_RANK] = {0};
    limits_of_mask(search->arena, &search->access, &search->limits);
    for (const Region *region = search->op->parent; region && region->parent;
         region = region->parent->parent)
        if (region->parent->code == OP_IF && region == region->parent->regions[0] &&
            region->parent->operands[0]->type.rank == 0)
            limits_of_condition(search->arena, region->parent->operands[0], axes, &search->limits);
    limits_of_else_branches(search->arena, search->op, &search->limits);
}

/* ---- rows ---- */

/// Splits an address into the multiples of a weight and the rest. False where its rows are the same in all programs.
bool rows_split(Arena *arena, const Access *access, int lane, const Poly *weight, Rows *rows) {
    bool is_size = weight->count == 1 && weight->terms[0].coefficient > 0;
    if (!is_size || !poly_is_fixed(arena, weight)) return false;
    *rows = (Rows){*access, lane, weight, zero(arena), zero(arena)};
    for (int t = 0; t < access->offset.base->count; t++) {
        const Poly term = {1, &access->offset.base->terms[t]};
        const Poly *index = poly_divide_exact(arena, &term, weight);
        const Poly **part = index ? &rows->index : &rows->rest;
        *part = poly_add(arena, *part, index ? index : &term);
    }
    return !poly_is_fixed(arena, rows->index);
}

static bool is_listed(const Atoms *atoms, const Value *value) {
    for (int i = 0; i < atoms->count; i++)
        if (atoms->items[i] == value) return true;
    return false;
}

static bool varies(Arena *arena, Value *atom) {
    return !poly_is_fixed(arena, poly_atom(arena, atom));
}

static void list_varying(Arena *arena, const Poly *poly, Atoms *atoms) {
    for (int t = 0; t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++) {
            Value *atom = poly->terms[t].atoms[i];
            if (varies(arena, atom) && !is_listed(atoms, atom)) LIST_PUSH(arena, atoms, atom);
        }
}

static bool is_in_loop_of(const Op *op, const Value *variable) {
    if (!value_is_loop_variable(variable)) return false;
    for (; op; op = op->parent->parent)
        if (op->parent == variable->region) return true;
    return false;
}

/* ---- what the address tells ---- */

enum { NUMBER_ID = INT_MIN / 4 };  // of the first number that is made up

/// As many as there are of a digit, or a number that nothing is known of.
static Value *count_of(Arena *arena, const Value *digit, int id) {
    const Op *op = digit ? digit->op : NULL;
    Value *count = op && op->code == OP_MOD          ? op->operands[1]
                   : op && op->code == OP_TILE_INDEX ? op->operands[3]
                                                     : NULL;
    if (count) return count;
    count = ARENA_NEW(arena, Value);
    *count = (Value){.id = id, .type.kind = TYPE_NUMBER};
    return count;
}

/// The variable of a loop over so many numbers that is put around the operation.
static Value *number_around(Arena *arena, Op *op, const Value *digit, int id) {
    static const Constant numbers[] = {{.kind = CONSTANT_INT, .integer = 0},
                                       {.kind = CONSTANT_INT, .integer = 1}};
    Op *loop = ARENA_NEW(arena, Op);
    Region *body = ARENA_NEW(arena, Region);
    Value *variable = ARENA_NEW(arena, Value);
    *loop = (Op){.code = OP_FOR,
                 .operands = ARENA_ARRAY(arena, Value *, 3),
                 .operand_count = 3,
                 .regions = ARENA_ARRAY(arena, Region *, 1),
                 .region_count = 1,
                 .parent = op->parent};
    loop->regions[0] = body;
    *body =
        (Region){.parent = loop, .arguments = ARENA_ARRAY(arena, Value *, 1), .argument_count = 1};
    body->arguments[0] = variable;
    *variable = (Value){.id = id, .type.kind = TYPE_NUMBER, .region = body};
    for (int i = 0; i < 2; i++) {
        loop->operands[2 * i] = ARENA_NEW(arena, Value);
        *loop->operands[2 * i] =
            (Value){.id = id - 1 - i, .type.kind = TYPE_NUMBER, .constant = &numbers[i]};
    }
    loop->operands[1] = count_of(arena, digit, id - 3);
    op->parent = body;
    return variable;
}

static bool mentions_any(const Poly *poly, const Atoms *atoms) {
    for (int i = 0; i < atoms->count; i++)
        if (poly_mentions(poly, atoms->items[i])) return true;
    return false;
}

/// Whether the kernel compares a row with more than its lanes, as that of a neighbour (`row + tap * dilation < n`): then the rest of the
/// address may lead into other rows.
static bool rows_are_crossed(const RowSearch *search) {
    Arena *arena = search->arena;
    Atoms of_index = {0}, of_rest = {0};
    list_varying(arena, search->own.index, &of_index);
    list_varying(arena, search->own.rest, &of_rest);
    FunctionAxes around = function_axes(arena, search->function);
    for (LIST_EACH(int, i, around.comparisons))
        for (int side = 0; side < 2; side++) {
            Affine form = affine_of(arena, around.comparisons.items[i]->operands[side]);
            if (!form.known || !mentions_any(form.base, &of_index)) continue;
            if (mentions_any(form.base, &of_rest)) return true;
            for (int k = 0; k < form.rank; k++) {
                int64_t number;
                if (!poly_is_constant(form.lane[k], &number)) return true;
            }
        }
    return false;
}

/// Whether elements of other numbers, or of other digits, are other elements, where the address is `weight * (step * number + beside)` and the
/// rest: with numbers that may be any in their places, each of these owns what it touches.
static bool address_tells(RowSearch *search, const Poly *step, const Poly *beside) {
    Arena *arena = search->arena;
    Access told = search->own.access;
    Op *op = ARENA_NEW(arena, Op);
    *op = *search->op;
    told.op = op;
    if (!beside && search->own.lane >= 0) told.offset.lane[search->own.lane] = zero(arena);
    const Poly *number = poly_atom(arena, number_around(arena, op, NULL, NUMBER_ID));
    const Poly *base = search->own.rest;
    if (beside) base = poly_add(arena, base, poly_multiply(arena, search->own.weight, beside));
    for (LIST_EACH(int, i, search->digits)) {
        Value *digit = search->digits.items[i];
        Value *own = number_around(arena, op, digit, NUMBER_ID - 4 * (i + 1));
        base = poly_substitute(arena, base, digit, poly_atom(arena, own));
        if (!base) return false;
    }
    const Poly *weight = poly_multiply(arena, search->own.weight, step);
    told.offset.base = poly_add(arena, base, poly_multiply(arena, weight, number));
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    FunctionAxes around = function_axes(arena, search->function);
    int count = access_axes(arena, &around, &told, axes, dependence, ACCESS_MOST_AXES), owned = 0;
    for (int i = 0; i < count; i++) {
        if (axes[i].is_program && dependence[i] != AXIS_FREE) return false;
        owned += !axes[i].is_program && dependence[i] == AXIS_OWNED &&
                 axes[i].loop->regions[0]->arguments[0]->id <= NUMBER_ID;
    }
    return owned == search->digits.count + 1;
}

/* ---- the store ---- */

/// Whether the store is reached wherever `op` is, in the same iterations of the loops that the rows move with, and in the first
/// of all others.
static bool is_reached(RowSearch *search, const Op *store) {
    for (const Region *region = store->parent; region && region->parent;
         region = region->parent->parent) {
        const Op *around = region->parent;
        bool is_shared = false;
        for (const Region *other = search->op->parent; other;
             other = other->parent ? other->parent->parent : NULL)
            is_shared |= other == region;
        if (around->code == OP_IF) {
            if (!is_shared && !op_is_in_like_branch(search->op, region)) return false;
            continue;
        }
        if (around->code != OP_FOR) return false;
        Value *variable = region->arguments[0];
        if (is_shared && poly_mentions(search->own.index, variable)) continue;
        Affine lower = affine_of(search->arena, around->operands[0]);
        if (!lower.known || lower.rank || !poly_is_fixed(search->arena, lower.base)) return false;
        if (!is_shared && !loop_has_iteration(search->arena, around)) return false;
        LIST_PUSH(search->arena, &search->first, variable);
    }
    return true;
}

/// Whether a number is another in the first iteration of the loops around the store.
static bool moves_with_first(const RowSearch *search, const Poly *poly) {
    for (int t = 0; t < poly->count; t++)
        for (int a = 0; a < poly->terms[t].atom_count; a++)
            for (LIST_EACH(int, i, search->first))
                if (region_defines(search->first.items[i]->region, poly->terms[t].atoms[a]))
                    return true;
    return false;
}

/// Whether in the loops whose first iteration is looked at nothing is another that has to be the same: no branch, no loop of the rows,
/// and none of what tells programs apart.
static bool first_is_like_all(const RowSearch *search, const Op *store) {
    for (LIST_EACH(int, i, search->first)) {
        const Region *body = search->first.items[i]->region;
        for (const Region *region = store->parent; region != body;
             region = region->parent->parent) {
            bool is_first = false;
            for (LIST_EACH(int, k, search->first))
                is_first |= search->first.items[k]->region == region;
            if (!is_first) return false;
        }
    }
    for (LIST_EACH(int, i, search->digits))
        if (moves_with_first(search, poly_atom(search->arena, search->digits.items[i])))
            return false;
    const Poly *index = search->own.index;
    if (search->within) index = poly_subtract(search->arena, index, search->within);
    return !moves_with_first(search, index);
}

/// In the first iteration of the loops around the store, and in the first of the programs that are taken for one.
static const Poly *at_first(const RowSearch *search, const Poly *poly) {
    for (LIST_EACH(int, i, search->first)) {
        Value *variable = search->first.items[i];
        Affine lower = affine_of(search->arena, variable->region->parent->operands[0]);
        if (poly) poly = poly_substitute(search->arena, poly, variable, lower.base);
    }
    return poly_in_first_program(search->arena, poly, search->alike);
}

/// The same limit, by the row's lanes.
static bool limits_are_equal(const RowSearch *search, const Limit *own, const Limit *stored) {
    if (!poly_equal(own->base, stored->base)) return false;
    for (int i = 0; i < TYPE_MAX_RANK; i++) {
        if (i != search->own.lane && !poly_is_zero(own->lane[i])) return false;
        if (i != search->stored.lane && !poly_is_zero(stored->lane[i])) return false;
    }
    return search->own.lane < 0 ||
           poly_equal(own->lane[search->own.lane], stored->lane[search->stored.lane]);
}

/// How many there are, or NULL.
static const Poly *rows_of_tile(const Rows *rows) {
    const Type type = rows->access.op->operands[0]->type;
    return rows->lane < type.rank ? type.dims[rows->lane] : NULL;
}

enum { MOST_LOWER = 32 };  // numbers that are looked at in place of one. Beyond: it may be below 1

/// Numbers that a number is at least.
typedef struct LowerNumbers {
    const RowSearch *search;
    LIST(const Poly *) tried;
} LowerNumbers;

static bool is_tried(const LowerNumbers *lower, const Poly *poly) {
    for (LIST_EACH(int, i, lower->tried))
        if (poly_equal(lower->tried.items[i], poly)) return true;
    return lower->tried.count == MOST_LOWER;
}

static bool lower_is_at_least_one(LowerNumbers *lower, const Poly *poly);

/// Whether `factor * atom + rest` is, where the atom is a minimum: with either side in its place.
static bool lower_of_minimum_is_size(LowerNumbers *lower, const Value *atom, const Poly *factor,
                                     const Poly *rest) {
    Arena *arena = lower->search->arena;
    if (!atom->op || atom->op->code != OP_MINIMUM) return false;
    for (int side = 0; side < 2; side++) {
        Affine form = affine_of(arena, atom->op->operands[side]);
        if (!form.known || form.rank || form.wrapped ||
            !lower_is_at_least_one(lower,
                                   poly_add(arena, rest, poly_multiply(arena, factor, form.base))))
            return false;
    }
    return true;
}

/// Whether a number is at least 1 where `op` is reached: with variables of loops around it at the end of their range where it is least, and
/// `a` for `min(a, b)` that is taken away.
static bool lower_is_at_least_one(LowerNumbers *lower, const Poly *poly) {
    const RowSearch *search = lower->search;
    Arena *arena = search->arena;
    if (is_tried(lower, poly))
        return false;  // in whatever order its numbers were put at their ends
    LIST_PUSH(arena, &lower->tried, poly);
    if (poly_is_size(arena, poly)) return true;
    for (LIST_EACH(int, i, search->limits)) {
        const Limit *limit = &search->limits.items[i];
        bool is_number = true;
        for (int k = 0; k < TYPE_MAX_RANK; k++) is_number &= poly_is_zero(limit->lane[k]);
        const Poly *more = poly_subtract(arena, poly, limit->base);
        if (is_number && poly_is_size(arena, poly_add(arena, more, poly_constant(arena, 1))))
            return true;
    }
    for (int t = 0; t < poly->count; t++)
        for (int a = 0; a < poly->terms[t].atom_count; a++) {
            Value *atom = poly->terms[t].atoms[a];
            const Poly *factor, *rest, *ends[2] = {NULL, NULL};
            if (!poly_split(arena, poly, atom, &factor, &rest)) continue;
            bool grows = poly_is_size(arena, factor);
            if (!grows && !poly_is_size(arena, poly_subtract(arena, zero(arena), factor))) continue;
            if (is_in_loop_of(search->op, atom)) {
                const Op *loop = atom->region->parent;
                Affine end = affine_of(arena, loop->operands[grows ? 0 : 1]);
                Affine step = affine_of(arena, loop->operands[2]);
                if (loop->code != OP_FOR || !end.known || end.rank || end.wrapped || !step.known ||
                    step.rank || !poly_is_size(arena, step.base))
                    continue;
                ends[0] =
                    grows ? end.base : poly_subtract(arena, end.base, poly_constant(arena, 1));
            } else if (!grows && atom->op && atom->op->code == OP_MINIMUM) {
                for (int side = 0; side < 2; side++) {
                    Affine least = affine_of(arena, atom->op->operands[side]);
                    if (least.known && !least.rank && !least.wrapped) ends[side] = least.base;
                }
            }
            if (grows && search->takes_minima &&
                lower_of_minimum_is_size(lower, atom, factor, rest))
                return true;
            for (int k = 0; k < 2; k++) {
                const Poly *less =
                    ends[k] ? poly_add(arena, rest, poly_multiply(arena, factor, ends[k])) : NULL;
                if (less && lower_is_at_least_one(lower, less)) return true;
            }
        }
    return false;
}

bool row_number_is_size(const RowSearch *search, const Poly *poly) {
    LowerNumbers lower = {.search = search};
    return lower_is_at_least_one(&lower, poly);
}

/// Whether the limit holds for the one row that `op` touches, in the first of the columns.
static bool limit_holds_within(const RowSearch *search, const Limit *limit) {
    Arena *arena = search->arena;
    const Poly *base = at_first(search, limit->base);
    const Poly *step = limit->lane[search->stored.lane];
    return base && row_number_is_size(
                       search, poly_add(arena, base, poly_multiply(arena, step, search->within)));
}

/// Whether the limit holds for each row that `op` touches, in the first of the columns.
static bool limit_holds(const RowSearch *search, const Limit *limit) {
    if (search->within) return limit_holds_within(search, limit);
    for (LIST_EACH(int, i, search->limits))
        if (limits_are_equal(search, &search->limits.items[i], limit) &&
            !moves_with_first(search, limit->base))
            return true;
    const Poly *least = at_first(search, limit->base);
    int lane = search->stored.lane;
    if (!least) return false;
    if (lane >= 0 && !poly_is_zero(limit->lane[lane])) {
        const Poly *rows = rows_of_tile(&search->stored);
        if (!rows) return false;
        const Poly *last = poly_subtract(search->arena, rows, poly_constant(search->arena, 1));
        const Poly *way = poly_multiply(search->arena, limit->lane[lane], last);
        if (!poly_is_size(search->arena, poly_add(search->arena, least, way))) return false;
    }
    return poly_is_size(search->arena, least);
}

/// Whether the store has each row that `op` touches, in a column that is the same for all programs.
static bool stores_rows(const RowSearch *search) {
    Limits limits = {0};
    if (!limits_of_mask(search->arena, &search->stored.access, &limits)) return false;
    for (LIST_EACH(int, i, limits))
        if (!limit_holds(search, &limits.items[i])) return false;
    if (search->within) {
        const Poly *one = poly_constant(search->arena, 1), *rows = rows_of_tile(&search->stored);
        return rows && row_number_is_size(search, poly_add(search->arena, search->within, one)) &&
               row_number_is_size(search, poly_subtract(search->arena, rows, search->within));
    }
    return search->own.lane < 0 ||
           poly_equal(rows_of_tile(&search->own), rows_of_tile(&search->stored));
}

/// Whether programs with the same row and digits have one element of the store.
static bool element_is_told(const RowSearch *search) {
    Arena *arena = search->arena;
    const Poly *rest = at_first(search, search->stored.rest);
    Atoms varying = {0};
    if (!rest || stride_may_vanish(search->stored.weight)) return false;
    list_varying(arena, rest, &varying);
    for (LIST_EACH(int, i, varying))
        if (!is_listed(&search->digits, varying.items[i])) return false;
    for (int i = 0; i < search->stored.access.offset.rank; i++)
        if (!poly_is_fixed(arena, search->stored.access.offset.lane[i])) return false;
    return true;
}

/// Which row of a tile of the store the one row of the address is: a number, or one of the loops around it. NULL: none that is known.
static const Poly *row_within(const RowSearch *search, const Rows *stored) {
    Arena *arena = search->arena;
    Atoms varying = {0};
    const Poly *index = poly_in_first_program(arena, stored->index, search->alike), *one;
    if (!index) return NULL;
    const Poly *step = stored->access.offset.lane[stored->lane];
    if (!poly_equal(step, stored->weight)) return NULL;
    one = poly_subtract(arena, search->own.index, index);
    list_varying(arena, one, &varying);
    for (LIST_EACH(int, i, varying)) {
        const Value *atom = varying.items[i];
        bool is_end = atom->op && atom->op->code == OP_MINIMUM;
        if (!is_in_loop_of(search->op, atom) && !is_end) return NULL;
    }
    return one;
}

static bool is_told_by(RowSearch *search, Op *store) {
    bool is_one_row = search->own.lane < 0 && search->stored.lane >= 0;
    search->first = (Atoms){0};
    search->within = is_one_row ? row_within(search, &search->stored) : NULL;
    return is_reached(search, store) && first_is_like_all(search, store) &&
           element_is_told(search) && stores_rows(search);
}

/* ---- ways to split an address ---- */

void rows_list_splits(Arena *arena, const Access *access, Splits *splits) {
    const Poly *base = access->offset.base;
    Rows rows;
    if (!access->parameter || !access->offset.known || access->offset.wrapped) return;
    for (int i = 0; i < access->offset.rank; i++)
        if (!poly_is_zero(access->offset.lane[i]) &&
            rows_split(arena, access, i, access->offset.lane[i], &rows))
            LIST_PUSH(arena, splits, rows);
    for (int t = 0; t < base->count; t++)
        for (int a = 0; a < base->terms[t].atom_count; a++) {
            const Poly *weight, *rest;
            Value *atom = base->terms[t].atoms[a];
            if (varies(arena, atom) && poly_split(arena, base, atom, &weight, &rest) &&
                rows_split(arena, access, -1, weight, &rows))
                LIST_PUSH(arena, splits, rows);
        }
}

/// What a launch numbers: ids, and their quotients and remainders. What memory or a flag chooses may be out of its range.
static bool is_number_of_launch(const Value *value) {
    OpCode code = value->op ? value->op->code : OP_UNKNOWN;
    return value_is_axis(value) || code == OP_MOD || code == OP_FLOORDIV;
}

/// Lists what differs between programs in the rest of the address, and in `within` (or NULL). False where that is no number of the launch, or moves lanes.
bool row_digits_find(RowSearch *search, const Poly *within) {
    Atoms varying = {0};
    search->digits = (Atoms){0};
    list_varying(search->arena, search->own.rest, &varying);
    if (within) list_varying(search->arena, within, &varying);
    for (LIST_EACH(int, i, varying)) {
        if (is_in_loop_of(search->op, varying.items[i])) continue;
        if (!is_number_of_launch(varying.items[i])) return false;
        LIST_PUSH(search->arena, &search->digits, varying.items[i]);
    }
    for (int i = 0; i < search->access.offset.rank; i++)
        if (!poly_is_fixed(search->arena, search->access.offset.lane[i])) return false;
    return true;
}

/// The rows of a store as those of the address: what the launch numbers beside them (`part * all + row`) is of the rest. False where they
/// are others.
static bool take_rows(const RowSearch *search, Rows *stored) {
    Arena *arena = search->arena;
    Atoms varying = {0};
    if (search->own.lane < 0 && stored->lane >= 0) return row_within(search, stored) != NULL;
    if ((search->own.lane < 0) != (stored->lane < 0)) return false;
    const Poly *index = poly_in_first_program(arena, stored->index, search->alike);
    if (!index) return false;
    const Poly *more = poly_subtract(arena, index, search->own.index);
    list_varying(arena, more, &varying);
    for (LIST_EACH(int, i, varying))
        if (!is_number_of_launch(varying.items[i])) return false;
    stored->index = search->own.index;
    stored->rest = poly_add(arena, stored->rest, poly_multiply(arena, stored->weight, more));
    return true;
}

typedef enum Tells { TELLS_UNKNOWN, TELLS_NO, TELLS_YES } Tells;

typedef struct UpstreamSearch {
    RowSearch *search;
    const Map *stored;
    Splits own;
    Tells *own_tell;  // of each of these, whichever store is looked at
    const Op *found;
} UpstreamSearch;

static UpstreamSearch upstream_search(RowSearch *search, const Map *stored) {
    UpstreamSearch stores = {.search = search, .stored = stored};
    rows_list_splits(search->arena, &search->access, &stores.own);
    stores.own_tell = ARENA_ARRAY(search->arena, Tells, stores.own.count + 1);
    return stores;
}

bool rows_tell(RowSearch *search) {
    return !rows_are_crossed(search) &&
           address_tells(search, poly_constant(search->arena, 1), NULL);
}

bool blocks_tell(RowSearch *search, const Poly *block, const Poly *within) {
    return !rows_are_crossed(search) && address_tells(search, block, within);
}

/// Whether the address tells programs apart by the rows that it is split in now, `own` of them.
static bool own_rows_tell(const UpstreamSearch *stores, int own) {
    RowSearch *search = stores->search;
    Tells *tells = &stores->own_tell[own];
    if (*tells == TELLS_UNKNOWN) *tells = rows_tell(search) ? TELLS_YES : TELLS_NO;
    return *tells == TELLS_YES;
}

static bool visit_store(void *context, Op *op) {
    UpstreamSearch *stores = context;
    RowSearch *search = stores->search;
    if (!map_has_pointer(stores->stored, op)) return true;
    Access access = access_of(search->arena, op);
    Splits splits = {0};
    rows_list_splits(search->arena, &access, &splits);
    for (int i = 0; i < stores->own.count && !stores->found; i++) {
        search->own = stores->own.items[i];
        Splits like = {0};
        for (LIST_EACH(int, k, splits)) {
            Rows rows = splits.items[k];
            if (take_rows(search, &rows)) LIST_PUSH(search->arena, &like, rows);
        }
        if (!like.count || !row_digits_find(search, NULL) || !own_rows_tell(stores, i)) continue;
        for (int k = 0; k < like.count && !stores->found; k++) {
            search->stored = like.items[k];
            if (is_told_by(search, op)) stores->found = op;
        }
    }
    return !stores->found;
}

/* ---- two accesses ---- */

/// How an access tells rows by a store: what its address, and that of the store, have beside the row.
typedef struct Telling {
    const Op *store;
    const Poly *weight, *rest, *stored_weight, *stored_rest;
} Telling;

struct Tellings {
    LIST(Telling) list;
};

typedef struct TellingSearch {
    UpstreamSearch stores;
    Tellings *found;
} TellingSearch;

/// The rest but for what moves with the loops around the access: where its columns begin.
static const Poly *rest_without_loops(const RowSearch *search) {
    const Poly *left = zero(search->arena);
    for (int t = 0; t < search->own.rest->count; t++) {
        const Monomial *term = &search->own.rest->terms[t];
        const Poly one = {1, term};
        bool is_of_loop = false;
        for (int i = 0; i < term->atom_count; i++)
            is_of_loop |= is_in_loop_of(search->op, term->atoms[i]);
        if (!is_of_loop) left = poly_add(search->arena, left, &one);
    }
    return left;
}

static bool visit_telling(void *context, Op *op) {
    TellingSearch *tellings = context;
    RowSearch *search = tellings->stores.search;
    if (!map_has_pointer(tellings->stores.stored, op)) return true;
    Access access = access_of(search->arena, op);
    Splits splits = {0};
    rows_list_splits(search->arena, &access, &splits);
    for (int i = 0; i < tellings->stores.own.count; i++)
        for (LIST_EACH(int, k, splits)) {
            search->own = tellings->stores.own.items[i];
            search->stored = splits.items[k];
            if (!take_rows(search, &search->stored) || !row_digits_find(search, NULL) ||
                !own_rows_tell(&tellings->stores, i) || !is_told_by(search, op))
                continue;
            Telling telling = {op, search->own.weight, rest_without_loops(search),
                               search->stored.weight, at_first(search, search->stored.rest)};
            LIST_PUSH(search->arena, &tellings->found->list, telling);
        }
    return true;
}

Tellings *tellings_find(Arena *arena, const Function *function, const Map *stored, Op *op) {
    RowSearch *search = ARENA_NEW(arena, RowSearch);
    *search =
        (RowSearch){.arena = arena, .function = function, .op = op, .access = access_of(arena, op)};
    TellingSearch tellings = {.stores = upstream_search(search, stored),
                              .found = ARENA_NEW(arena, Tellings)};
    if (!tellings.stores.own.count) return tellings.found;
    row_limits_find(search);
    region_walk(function->body, visit_telling, &tellings);
    return tellings.found;
}

const Op *told_together_by_store(const Tellings *a, const Tellings *b) {
    for (LIST_EACH(int, i, a->list))
        for (LIST_EACH(int, k, b->list)) {
            const Telling *x = &a->list.items[i], *y = &b->list.items[k];
            if (x->store == y->store && poly_equal(x->weight, y->weight) &&
                poly_equal(x->rest, y->rest) && poly_equal(x->stored_weight, y->stored_weight) &&
                poly_equal(x->stored_rest, y->stored_rest))
                return x->store;
        }
    return NULL;
}

const Op *told_by_store(Arena *arena, const Function *function, const Map *stored, Op *op,
                        const AlikePrograms *alike) {
    RowSearch search = {.arena = arena,
                        .function = function,
                        .op = op,
                        .access = access_of(arena, op),
                        .alike = alike};
    if (!access_is_alike(arena, function, op, alike)) return NULL;
    UpstreamSearch stores = upstream_search(&search, stored);
    if (!stores.own.count) return NULL;
    row_limits_find(&search);
    region_walk(function->body, visit_store, &stores);
    return stores.found;
}
