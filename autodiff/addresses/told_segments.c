// An address is `weight * row + rest`. Its rows lie in segments: from `offsets[n]` to below `offsets[n + 1]`, or from `n * length` on,
// `length` of them. The mask, and the bounds of the loops around, have to say so of each row that is touched. Programs with another
// `n` have other rows then, and those with other digits in the rest other elements of their rows.
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
        const Op *next = number && is_number(number)
                             ? find_offset(search, loads, access.parameter, 1, number)
                             : NULL;
        if (!next) continue;
        *segment = (Segment){number, access.parameter, poly_atom(arena, atom),
                             affine_of(arena, next->results[0]).base};
        return true;
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
    *segment = (Segment){atom, NULL, start, poly_add(arena, start, length)};
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

/// Whether each row that is touched lies in the segment: those of a tile follow the first one.
static bool rows_are_within(const RowSearch *search, const Segment *segment) {
    Arena *arena = search->arena;
    const Poly *behind = poly_subtract(arena, search->own.index, segment->start);
    return ends_before(search, segment->end) &&
           row_number_is_size(search, poly_add(arena, behind, number_of(arena, 1)));
}

/// Adds what the split at hand says with a segment.
static void add_segment(RowSearch *search, const Segment *segment, SegmentsOfRows *found) {
    if (!rows_are_within(search, segment) || !row_digits_find(search) || !rows_tell(search)) return;
    SegmentRows rows = {.number = segment->number, .offsets = segment->offsets};
    for (LIST_EACH(int, i, search->digits))
        LIST_PUSH(search->arena, &rows.digits, search->digits.items[i]);
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
