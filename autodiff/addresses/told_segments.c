// An address is `weight * row + rest`. Its rows lie in segments: from `offsets[n]` to below `offsets[n + 1]`, or from `n * length` on,
// `length` of them. The mask, and the bounds of the loops around, have to say so of each row that is touched. Programs with another
// `n` have other rows then, and those with other digits in the rest other elements of their rows.
// Memory may list the blocks of all segments, a pair of `n` and a number `t` for each program: its rows are those from
// `offsets[n] + t * B` on, as many as lie in the block and in the segment. Programs with another pair have other rows.
#include "autodiff/addresses/told_segments.h"

#include "analysis/addresses/affine_axes.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/told_rows.h"
#include "autodiff/rewrite/rewrite.h"

enum { DEEPEST_DIGIT = 4 };  // of an id. Beyond: it is not told

typedef LIST(Op *) Loads;

/// Where rows of the split at hand begin and end.
typedef struct Segment {
    Value *number, *offsets;
    const Poly *start, *end;
    BlockList list;      // where memory says which block of the segment a program has
    const Poly *block;   // rows of one
    const Poly *within;  // which of these a row is
} Segment;

static const Poly *number_of(Arena *arena, int64_t number) { return poly_constant(arena, number); }

/* ---- bounds of loops ---- */

static void add_limit(RowSearch *search, const Poly *base) {
    Limit limit = {.base = base};
    for (int i = 0; i < TYPE_MAX_RANK; i++) limit.lane[i] = number_of(search->arena, 0);
    LIST_PUSH(search->arena, &search->limits, limit);
}

/// What an iteration says of the loop's end: it is above the start, and so is what was rounded up for it.
static void add_limits_of_loops(RowSearch *search) {
    Arena *arena = search->arena;
    for (const Op *outer = search->op->parent->parent; outer; outer = outer->parent->parent) {
        int64_t lower;
        if (outer->code != OP_FOR || !value_is_int(outer->operands[0], &lower) || lower < 0 ||
            !poly_is_size(arena, value_poly(arena, outer->operands[2])))
            continue;
        const Poly *end = value_poly(arena, outer->operands[1]);
        add_limit(search, poly_subtract(arena, end, number_of(arena, lower)));
        Value *atom =
            end->count == 1 && end->terms[0].atom_count == 1 ? end->terms[0].atoms[0] : NULL;
        const Op *op = atom && poly_equal(end, poly_atom(arena, atom)) ? atom->op : NULL;
        if (!op || op->code != OP_FLOORDIV) continue;
        const Poly *divisor = value_poly(arena, op->operands[1]);
        if (!poly_is_size(arena, divisor)) continue;
        const Poly *least = poly_subtract(arena, value_poly(arena, op->operands[0]), divisor);
        add_limit(search, poly_add(arena, least, number_of(arena, 1)));
    }
}

/* ---- segments ---- */

static bool visit_load(void *context, Op *op) {
    RowSearch *search = ((void **)context)[0];
    Loads *loads = ((void **)context)[1];
    bool is_plain = op->code == OP_LOAD && op->results[0]->type.rank == 0 &&
                    dtype_is_integer(op->results[0]->type.element) &&
                    (op->operand_count < 2 || !op->operands[1] || value_is_none(op->operands[1]));
    if (is_plain && op_is_stable_load(search->function, op)) LIST_PUSH(search->arena, loads, op);
    return true;
}

/// What numbers programs: an id, a row or column of tiles, or a digit of these.
static bool is_number(const Value *value) {
    OpCode code = value->op ? value->op->code : OP_UNKNOWN;
    return value_is_program_id(value, -1) || value_is_tile_index(value, -1, -1) || code == OP_MOD ||
           code == OP_FLOORDIV;
}

static Value *atom_of(Arena *arena, const Poly *poly) {
    Value *atom =
        poly->count == 1 && poly->terms[0].atom_count == 1 ? poly->terms[0].atoms[0] : NULL;
    return atom && poly_equal(poly, poly_atom(arena, atom)) ? atom : NULL;
}

/// The load of `offsets[number + ahead]`, or NULL.
static const Op *find_offset(const RowSearch *search, const Loads *loads, const Value *offsets,
                             int64_t ahead, Value *number) {
    for (LIST_EACH(int, i, *loads)) {
        Access access = access_of(search->arena, loads->items[i]);
        if (access.parameter != offsets || !access.offset.known || access.offset.rank) continue;
        const Poly *at =
            poly_subtract(search->arena, access.offset.base, number_of(search->arena, ahead));
        if (poly_equal(at, poly_atom(search->arena, number))) return loads->items[i];
    }
    return NULL;
}

/// A load of `numbers[step * program + place]` that a number is, with steps of two or more; NULL: it is none.
static const Op *find_listed(const RowSearch *search, const Loads *loads, const Value *number,
                             BlockList *list, Value **program, int64_t *place) {
    Arena *arena = search->arena;
    for (LIST_EACH(int, i, *loads)) {
        Op *load = loads->items[i];
        Access access = access_of(arena, load);
        const Poly *factor, *rest;
        if (!access.parameter || !access.offset.known || access.offset.rank) continue;
        if (!poly_equal(affine_of(arena, load->results[0]).base,
                        poly_atom(arena, (Value *)(uintptr_t)number)))
            continue;
        const Poly *base = access.offset.base;
        for (int t = 0; t < base->count; t++) {
            *program = base->terms[t].atom_count == 1 ? base->terms[t].atoms[0] : NULL;
            if (!*program || !is_number(*program) ||
                !poly_split(arena, base, *program, &factor, &rest) ||
                !poly_is_constant(factor, &list->step) || !poly_is_constant(rest, place))
                continue;
            list->numbers = access.parameter;
            if (list->step >= 2 && *place >= 0 && *place < list->step) return load;
        }
    }
    return NULL;
}

/// By a term of the row's index, the number of a block of the segment `listed`, which memory says as it says that one.
static bool begins_in_block(const RowSearch *search, const Loads *loads, const Value *listed,
                            Segment *segment) {
    Arena *arena = search->arena;
    const Poly *index = poly_subtract(arena, search->own.index, segment->start);
    Value *program, *other_program;
    BlockList list = {0}, other = {0};
    if (!find_listed(search, loads, listed, &list, &program, &list.sequence)) return false;
    for (int t = 0; t < index->count; t++)
        for (int a = 0; a < index->terms[t].atom_count; a++) {
            Value *atom = index->terms[t].atoms[a];
            if (!find_listed(search, loads, atom, &other, &other_program, &list.block) ||
                other.numbers != list.numbers || other.step != list.step ||
                other_program != program || list.block == list.sequence ||
                !poly_split(arena, index, atom, &segment->block, &segment->within) ||
                !poly_is_size(arena, segment->block))
                continue;
            segment->number = program;
            segment->list = list;
            return true;
        }
    return false;
}

/// By a term of the row's index, `offsets[number]`.
static bool begins_at_offset(const RowSearch *search, const Loads *loads, Value *atom,
                             Segment *segment) {
    Arena *arena = search->arena;
    for (LIST_EACH(int, i, *loads)) {
        Op *load = loads->items[i];
        Access access = access_of(arena, load);
        if (!poly_equal(affine_of(arena, load->results[0]).base, poly_atom(arena, atom)) ||
            !access.parameter || !access.offset.known || access.offset.rank)
            continue;
        Value *number = atom_of(arena, access.offset.base);
        const Op *next = number ? find_offset(search, loads, access.parameter, 1, number) : NULL;
        if (!next) continue;
        *segment = (Segment){.number = number,
                             .offsets = access.parameter,
                             .start = poly_atom(arena, atom),
                             .end = affine_of(arena, next->results[0]).base};
        if (is_number(number) || begins_in_block(search, loads, number, segment)) return true;
    }
    return false;
}

/// By a term of the row's index, `number * length`.
static bool begins_at_multiple(const RowSearch *search, Value *atom, const Poly *length,
                               Segment *segment) {
    Arena *arena = search->arena;
    if (!is_number(atom) || !poly_is_size(arena, length) || !poly_is_fixed(arena, length))
        return false;
    const Poly *start = poly_multiply(arena, length, poly_atom(arena, atom));
    *segment = (Segment){.number = atom, .start = start, .end = poly_add(arena, start, length)};
    return true;
}

/// Whether each row that is touched lies below `end`.
static bool ends_before(const RowSearch *search, const Poly *end) {
    Arena *arena = search->arena;
    const Poly *left = poly_subtract(arena, end, search->own.index);
    if (search->own.lane < 0) return row_number_is_size(search, left);
    for (LIST_EACH(int, i, search->limits)) {
        const Limit *limit = &search->limits.items[i];
        bool is_of_rows = poly_equal(limit->lane[search->own.lane], number_of(arena, -1));
        for (int k = 0; k < TYPE_MAX_RANK; k++)
            is_of_rows = is_of_rows && (k == search->own.lane || poly_is_zero(limit->lane[k]));
        int64_t more;
        if (is_of_rows && poly_is_constant(poly_subtract(arena, left, limit->base), &more) &&
            more >= 0)
            return true;
    }
    return false;
}

/// An id, or what divisions leave of one: it is never below 0.
static bool is_of_id(Arena *arena, Value *value) {
    for (int depth = 0; value && depth < DEEPEST_DIGIT; depth++) {
        if (value_is_program_id(value, -1) || value_is_tile_index(value, -1, -1)) return true;
        const Op *op = value->op;
        if (!op || (op->code != OP_FLOORDIV && op->code != OP_MOD) ||
            !poly_is_size(arena, value_poly(arena, op->operands[1])))
            return false;
        value = atom_of(arena, value_poly(arena, op->operands[0]));
    }
    return false;
}

/// The least that a number of rows is, with 0 for each id that it grows with; NULL: nobody knows how another one moves it.
static const Poly *at_first_ids(Arena *arena, const Poly *poly) {
    for (int t = 0; poly && t < poly->count; t++)
        for (int a = 0; a < poly->terms[t].atom_count; a++) {
            Value *atom = poly->terms[t].atoms[a];
            const Poly *factor, *rest;
            if (!is_of_id(arena, atom)) continue;
            if (!poly_split(arena, poly, atom, &factor, &rest) ||
                !poly_is_nonnegative(arena, factor))
                return NULL;
            return at_first_ids(arena, rest);
        }
    return poly;
}

/// Whether each row that is touched lies in the segment, and not in front of its block: those of a tile follow the first one.
static bool rows_are_within(const RowSearch *search, const Segment *segment) {
    Arena *arena = search->arena;
    const Poly *behind = poly_subtract(arena, search->own.index, segment->start);
    if (segment->block) behind = at_first_ids(arena, segment->within);
    return behind && ends_before(search, segment->end) &&
           row_number_is_size(search, poly_add(arena, behind, number_of(arena, 1)));
}

/// More than a number of the launch, or a loop's variable, is; NULL: nobody knows.
static const Poly *end_of(Arena *arena, const Value *atom) {
    const bool is_variable = value_is_loop_variable(atom);
    const Op *op = is_variable ? atom->region->parent : atom->op;
    Value *end = NULL;
    if (is_variable || (op && op->code == OP_MOD)) end = op->operands[1];
    if (op && op->code == OP_TILE_INDEX) end = op->operands[3];
    const Poly *number = end ? value_poly(arena, end) : NULL;
    if (number && poly_is_fixed(arena, number)) return number;
    const Value *least = number ? atom_of(arena, number) : NULL;
    for (int i = 0; i < 2 && least && least->op && least->op->code == OP_MINIMUM; i++) {
        number = value_poly(arena, least->op->operands[i]);
        if (poly_is_fixed(arena, number)) return number;
    }
    return NULL;
}

/// Whether no row that is touched is behind the end of its block. `rests_on_grid`: set where that is so if the parts that ids number have room
/// in it, and nobody knows how many ids there are.
static bool ends_in_block(const RowSearch *search, const Segment *segment, bool *rests_on_grid) {
    Arena *arena = search->arena;
    const Type tile = search->op->operands[0]->type;
    const Poly *rows = search->own.lane < 0 ? number_of(arena, 1) : tile.dims[search->own.lane];
    const Poly *most = segment->within;
    *rests_on_grid = false;
    for (int t = 0; most && t < most->count; t++) {
        Value *atom = most->terms[t].atom_count ? most->terms[t].atoms[0] : NULL;
        for (int a = 1; a < most->terms[t].atom_count; a++)
            if (poly_is_fixed(arena, poly_atom(arena, atom))) atom = most->terms[t].atoms[a];
        if (!atom || poly_is_fixed(arena, poly_atom(arena, atom))) continue;
        const Poly *factor, *rest, *end = end_of(arena, atom);
        if (!poly_split(arena, most, atom, &factor, &rest) || !poly_is_nonnegative(arena, factor))
            return false;
        if (!end && !is_of_id(arena, atom)) return false;
        *rests_on_grid |= !end;
        end = end ? poly_subtract(arena, end, number_of(arena, 1)) : number_of(arena, 0);
        most = poly_add(arena, rest, poly_multiply(arena, factor, end));
        t = -1;  // its terms are others now
    }
    if (!rows || !most) return false;
    const FunctionAxes axes = function_axes(arena, search->function);
    const Poly *left = poly_subtract(arena, poly_subtract(arena, segment->block, most), rows);
    return *rests_on_grid || poly_is_nonnegative_in_parts(arena, &axes, left);
}

/// Whether no other lanes than those of the split are rows, and the tile's columns end.
static bool columns_end(const RowSearch *search) {
    const Access *access = &search->access;
    for (int k = 0; k < access->offset.rank; k++)
        if (k != search->own.lane && !poly_is_zero(access->offset.lane[k]) &&
            poly_divide_exact(search->arena, access->offset.lane[k], search->own.weight))
            return false;
    return lanes_are_bounded(search->arena, search->op);
}

/// Adds what the split at hand says with a segment.
static void add_segment(RowSearch *search, const Segment *segment, SegmentsOfRows *found) {
    bool rests_on_grid = false;
    if (!rows_are_within(search, segment) ||
        (segment->block &&
         (!columns_end(search) || !ends_in_block(search, segment, &rests_on_grid))) ||
        !row_digits_find(search, segment->within) ||
        !(segment->block ? blocks_tell(search, segment->block, segment->within)
                         : rows_tell(search)))
        return;
    SegmentRows rows = {.number = segment->number,
                        .offsets = segment->offsets,
                        .blocks = segment->list,
                        .lane = search->own.lane,
                        .weight = search->own.weight,
                        .rest = search->own.rest,
                        .within = segment->within,
                        .block = rests_on_grid ? segment->block : NULL};
    for (LIST_EACH(int, i, search->digits)) {
        Value *digit = search->digits.items[i];
        rows.has_parts |= segment->within && poly_mentions(segment->within, digit);
        LIST_PUSH(search->arena, &rows.digits, digit);
    }
    LIST_PUSH(search->arena, found, rows);
}

SegmentsOfRows segments_of_rows(Arena *arena, const Function *function, Op *op) {
    RowSearch search = {.arena = arena,
                        .function = function,
                        .op = op,
                        .access = access_of(arena, op),
                        .takes_minima = true};
    SegmentsOfRows found = {0};
    Splits splits = {0};
    Loads loads = {0};
    rows_list_splits(arena, &search.access, &splits);
    if (!splits.count) return found;
    row_limits_find(&search);
    add_limits_of_loops(&search);
    region_walk(function->body, visit_load, (void *[]){&search, &loads});
    for (LIST_EACH(int, i, splits)) {
        search.own = splits.items[i];
        const Poly *index = search.own.index;
        for (int t = 0; t < index->count; t++)
            for (int a = 0; a < index->terms[t].atom_count; a++) {
                Value *atom = index->terms[t].atoms[a];
                const Poly *factor, *rest;
                int64_t times;
                Segment segment;
                if (!poly_split(arena, index, atom, &factor, &rest)) continue;
                bool is_once = poly_is_constant(factor, &times) && times == 1;
                if ((is_once && begins_at_offset(&search, &loads, atom, &segment)) ||
                    begins_at_multiple(&search, atom, factor, &segment))
                    add_segment(&search, &segment, &found);
            }
    }
    return found;
}

/* ---- ids ---- */

static bool is_listed(const SegmentRows *segments, const Value *value) {
    if (segments->number == value) return true;
    for (LIST_EACH(int, i, segments->digits))
        if (segments->digits.items[i] == value) return true;
    return false;
}

/// The quotient or the remainder of `id` that `value`, one that is told, is made of by further division; or NULL.
static Value *digit_of(Arena *arena, Value *value, OpCode code, const Value *id,
                       const Poly *divisor) {
    for (int depth = 0; value && value->op && depth < DEEPEST_DIGIT; depth++) {
        const Op *op = value->op;
        if (op->code != OP_FLOORDIV && op->code != OP_MOD) return NULL;
        Value *whole = atom_of(arena, value_poly(arena, op->operands[0]));
        bool is_by = !divisor || poly_equal(value_poly(arena, op->operands[1]), divisor);
        if (whole == id && op->code == code && is_by) return value;
        value = whole;
    }
    return NULL;
}

static bool is_told(Arena *arena, const SegmentRows *segments, const Value *id, int depth) {
    if (is_listed(segments, id)) return true;
    if (depth == DEEPEST_DIGIT) return false;
    for (int i = -1; i < segments->digits.count; i++) {
        Value *own = i < 0 ? segments->number : segments->digits.items[i];
        Value *quotient = digit_of(arena, own, OP_FLOORDIV, id, NULL);
        if (!quotient || !is_told(arena, segments, quotient, depth + 1)) continue;
        const Poly *divisor = value_poly(arena, quotient->op->operands[1]);
        for (int k = -1; k < segments->digits.count; k++) {
            Value *other = k < 0 ? segments->number : segments->digits.items[k];
            Value *rest = digit_of(arena, other, OP_MOD, id, divisor);
            if (rest && is_told(arena, segments, rest, depth + 1)) return true;
        }
    }
    return false;
}

bool segments_tell(Arena *arena, const SegmentRows *segments, const Value *id) {
    return is_told(arena, segments, id, 0);
}

/* ---- two accesses ---- */

static bool lists_are_equal(const BlockList *a, const BlockList *b) {
    return a->numbers == b->numbers && a->step == b->step && a->sequence == b->sequence &&
           a->block == b->block;
}

/// Whether both have the same columns: each lane but those of the rows steps as one of the other's, of as many elements.
static bool columns_are_equal(Arena *arena, const SegmentRows *a, Op *op_a, const SegmentRows *b,
                              Op *op_b) {
    const Access one = access_of(arena, op_a), other = access_of(arena, op_b);
    const Type types[2] = {op_a->operands[0]->type, op_b->operands[0]->type};
    bool taken[TYPE_MAX_RANK] = {false};
    int left = 0;
    if (one.parameter != other.parameter) return false;
    for (int k = 0; k < types[1].rank; k++) left += k != b->lane;
    for (int i = 0; i < types[0].rank; i++) {
        int k = 0;
        if (i == a->lane) continue;
        while (k < types[1].rank &&
               (taken[k] || k == b->lane || !types[0].dims[i] || !types[1].dims[k] ||
                !poly_equal(types[0].dims[i], types[1].dims[k]) ||
                !poly_equal(one.offset.lane[i], other.offset.lane[k])))
            k++;
        if (k == types[1].rank) return false;
        taken[k] = true;
        left--;
    }
    return left == 0;
}

/// Whether tiles have as many rows.
static bool rows_are_equal(const SegmentRows *a, const Op *op_a, const SegmentRows *b,
                           const Op *op_b) {
    if (a->lane < 0 || b->lane < 0) return a->lane < 0 && b->lane < 0;
    const Poly *rows = op_a->operands[0]->type.dims[a->lane];
    const Poly *others = op_b->operands[0]->type.dims[b->lane];
    return rows && others && poly_equal(rows, others);
}

bool segments_tell_together(Arena *arena, const SegmentRows *a, Op *op_a, const SegmentRows *b,
                            Op *op_b) {
    // Rows that are told by their segment alone lie in it wherever they are.
    bool are_in_one = (!a->within && !b->within) ||
                      (a->within && b->within && !a->has_parts && !b->has_parts) ||
                      (a->within && b->within && poly_equal(a->within, b->within) &&
                       rows_are_equal(a, op_a, b, op_b));
    return a->number == b->number && a->offsets == b->offsets && are_in_one &&
           lists_are_equal(&a->blocks, &b->blocks) && poly_equal(a->weight, b->weight) &&
           poly_equal(a->rest, b->rest) && columns_are_equal(arena, a, op_a, b, op_b);
}
