// `y + t * D + column` for t from `load(starts + program)` to below `load(starts + program + 1)`: the rows of a program, in Python.
//
// The address is `weight * row + rest`, as memory tells the row. Rows of one program are next to each other: one row, those of a tile,
// of a loop, or of a loop over tiles, as far as the mask goes. Where they begin and end is said over numbers of the launch, program
// ids and what is read at places that are made of these.
#include "autodiff/spans/row_spans.h"

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/limits.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/spans/span_text.h"

typedef struct SpanSearch {
    SpanText text;
    Access access;
    const Poly *weight, *row, *rest;  // of the address
    int lane;                         // along which rows follow each other; -1: none
    const Op *loop;                   // likewise; NULL: none
    bool is_reversed;                 // the loop counts down to the first row
    Limits limits;
    LIST(const Poly *) ends;     // numbers that the row is below
    LIST(StoreCondition) holds;  // what has to hold for the program to store
} SpanSearch;

/* ---- the address ---- */

/// Splits the address by the weight of a number from memory.
static bool split_address(SpanSearch *search, Value *atom) {
    Arena *arena = search->text.arena;
    const Poly *base = search->access.offset.base, *weight, *rest;
    if (!poly_split(arena, base, atom, &weight, &rest)) return false;
    bool is_size = weight->count == 1 && weight->terms[0].coefficient > 0;
    if (!is_size || !poly_is_fixed(arena, weight)) return false;
    search->weight = weight;
    search->row = search->rest = poly_constant(arena, 0);
    for (int t = 0; t < base->count; t++) {
        const Poly term = {1, &base->terms[t]};
        const Poly *row = poly_divide_exact(arena, &term, weight);
        const Poly **part = row ? &search->row : &search->rest;
        *part = poly_add(arena, *part, row ? row : &term);
    }
    return true;
}

/// Finds the lanes along which rows follow each other. False where they are rows apart.
static bool find_lane(SpanSearch *search) {
    search->lane = -1;
    for (int i = 0; i < search->access.offset.rank; i++) {
        const Poly *lane = search->access.offset.lane[i];
        if (poly_is_zero(lane) || !poly_divide_exact(search->text.arena, lane, search->weight))
            continue;
        if (search->lane >= 0 || !poly_equal(lane, search->weight)) return false;
        search->lane = i;
    }
    return true;
}

static const Poly *rows_of_tile(const SpanSearch *search) {
    const Type type = search->access.op->operands[0]->type;
    return search->lane < type.rank ? type.dims[search->lane] : NULL;
}

/// Whether the row moves with the loop from one to the next, or from one tile to the next.
static bool takes_loop(SpanSearch *search, const Op *loop) {
    Arena *arena = search->text.arena;
    const Poly *factor, *others, *one = poly_constant(arena, 1);
    Value *variable = loop->regions[0]->arguments[0];
    if (search->loop || !poly_split(arena, search->row, variable, &factor, &others)) return false;
    search->loop = loop;
    search->is_reversed = search->lane < 0 && poly_equal(factor, poly_constant(arena, -1));
    Affine step = affine_of(arena, loop->operands[2]);
    const Poly *wanted = search->lane < 0 ? one : rows_of_tile(search);
    return (search->is_reversed || poly_equal(factor, one)) && step.known && !step.rank && wanted &&
           poly_equal(step.base, wanted);
}

/* ---- what has to hold ---- */

/// Whether something tells programs apart whose rows are compared.
static bool concerns_rows(const SpanSearch *search, const SpanUses *uses) {
    return uses->is_open || uses->loads || span_uses_meet(&search->text.uses, uses);
}

/// A condition around the store: one on flags, one that the programs of a row share, or one that is said.
static bool take_branch(SpanSearch *search, const Op *branch, bool is_first) {
    Value *condition = branch->operands[0];
    SpanUses uses = {0};
    span_note(&search->text, &uses, condition);
    bool is_flag = condition->type.is_constexpr;
    if (!is_flag && !concerns_rows(search, &uses)) return true;
    if (!is_flag) span_note(&search->text, &search->text.uses, condition);
    LIST_PUSH(search->text.arena, &search->holds,
              (StoreCondition){.value = condition, .is_first = is_first, .is_flag = is_flag});
    return true;
}

static bool take_surroundings(SpanSearch *search) {
    for (const Region *region = search->access.op->parent; region && region->parent;
         region = region->parent->parent) {
        const Op *around = region->parent;
        if (around->code == OP_IF) {
            if (!take_branch(search, around, region == around->regions[0])) return false;
            continue;
        }
        if (around->code != OP_FOR && around->code != OP_STATIC_FOR) return false;
        SpanUses uses = {0};
        bool is_of_rows = poly_mentions(search->row, region->arguments[0]);
        if (is_of_rows && !takes_loop(search, around)) return false;
        for (int i = 0; i < 3; i++)
            span_note(&search->text, is_of_rows ? &search->text.uses : &uses, around->operands[i]);
        if (concerns_rows(search, &uses)) return false;
    }
    return true;
}

/// A part of the mask: an end of the rows, one of the columns, or a condition without lanes.
static bool take_limit(SpanSearch *search, const Limit *limit) {
    Arena *arena = search->text.arena;
    bool has_columns = false;
    for (int i = 0; i < TYPE_MAX_RANK; i++)
        has_columns |= i != search->lane && !poly_is_zero(limit->lane[i]);
    bool has_rows = search->lane >= 0 && !poly_is_zero(limit->lane[search->lane]);
    const Value *variable = search->loop ? search->loop->regions[0]->arguments[0] : NULL;
    has_rows = has_rows || (variable && poly_mentions(limit->base, variable));
    SpanUses uses = {0};
    span_note_poly(&search->text, &uses, limit->base);
    if (!has_rows && !concerns_rows(search, &uses)) return true;
    if (has_columns) return false;
    span_note_poly(&search->text, &search->text.uses, limit->base);
    if (!has_rows) {
        LIST_PUSH(arena, &search->holds, (StoreCondition){.positive = limit->base});
        return true;
    }
    bool is_above =
        search->lane >= 0 && !poly_equal(limit->lane[search->lane], poly_constant(arena, -1));
    const Poly *end = poly_add(arena, search->row, limit->base);
    if (is_above || search->is_reversed || (variable && poly_mentions(end, variable))) return false;
    LIST_PUSH(arena, &search->ends, end);
    return true;
}

/// Whether columns and all else beside the row are the same for the programs whose rows are compared, or tell them apart by a digit
/// of their ids that the row lacks.
static bool rest_is_apart(SpanSearch *search) {
    SpanUses uses = {0};
    span_note_poly(&search->text, &uses, search->rest);
    for (int i = 0; i < search->access.offset.rank; i++)
        span_note_poly(&search->text, &uses, search->access.offset.lane[i]);
    return !uses.loads && span_uses_are_apart(&search->text, &uses);
}

/* ---- as Python ---- */

/// The row in the first iteration, or where the iterations end, without lanes.
static const Poly *row_at(const SpanSearch *search, bool is_end) {
    Arena *arena = search->text.arena;
    const Poly *row = search->row, *one = poly_constant(arena, 1);
    const Poly *tile = search->lane >= 0 ? rows_of_tile(search) : one;
    if (!search->loop) return is_end ? poly_add(arena, row, tile) : row;
    Value *variable = search->loop->regions[0]->arguments[0];
    Affine bounds[2];
    for (int i = 0; i < 2; i++) {
        bounds[i] = affine_of(arena, search->loop->operands[i]);
        if (!bounds[i].known || bounds[i].rank || bounds[i].wrapped) return NULL;
    }
    bool is_upper = is_end != search->is_reversed;
    row = poly_substitute(arena, row, variable, bounds[is_upper].base);
    return row && search->is_reversed ? poly_add(arena, row, one) : row;
}

/// Behind the last row: a loop over tiles goes on up to the end of its last one.
static const char *end_text(SpanSearch *search) {
    Arena *arena = search->text.arena;
    const Poly *end = row_at(search, true), *first = row_at(search, false);
    const char *text = end ? span_poly_text(&search->text, end) : NULL;
    if (text && search->loop && search->lane >= 0) {
        const char *count = span_poly_text(&search->text, poly_subtract(arena, end, first));
        const char *start = span_poly_text(&search->text, first);
        const char *tile = span_poly_text(&search->text, rows_of_tile(search));
        if (!count || !start || !tile) return NULL;
        text = arena_printf(arena, "%s - -(%s) // %s * %s", start, count, tile, tile);
    }
    for (LIST_EACH(int, i, search->ends)) {
        const char *other = span_poly_text(&search->text, search->ends.items[i]);
        if (!text || !other) return NULL;
        text = arena_printf(arena, "_smaller(%s, %s)", text, other);
    }
    return text;
}

/// Sets the text, over `@0`, `@1` in the place of program numbers.
static bool say(SpanSearch *search, Assumption *assumption) {
    Arena *arena = search->text.arena;
    Buffer out = buffer_new(arena), flags = buffer_new(arena);
    if (!span_settle(&search->text)) return false;
    const Poly *first = row_at(search, false);
    const char *start = first ? span_poly_text(&search->text, first) : NULL;
    const char *end = start ? end_text(search) : NULL;
    if (!end) return false;
    buffer_printf(&out, "(%s, %s", start, end);
    bool any = false;
    for (LIST_EACH(int, i, search->holds)) {
        const StoreCondition *condition = &search->holds.items[i];
        const char *text = span_condition_text(&search->text, condition);
        if (!text) return false;
        if (condition->is_flag) {
            buffer_printf(&flags, "%s%s", flags.size ? " and " : "", text);
            continue;
        }
        buffer_printf(&out, "%s%s", any ? " & " : ", ", text);
        any = true;
    }
    buffer_puts(&out, any ? ")" : ", True)");
    assumption->spans = buffer_text(&out);
    assumption->span_flags = flags.size ? buffer_text(&flags) : NULL;
    assumption->span_counts = span_counts_text(&search->text);
    assumption->span_axes = search->text.driver_count;
    assumption->span_reads = search->text.reads ? search->text.reads : "torch.empty(0)";
    return assumption->span_counts != NULL;
}

static bool describe(SpanSearch *search, Assumption *assumption) {
    if (!find_lane(search)) return false;
    span_note_poly(&search->text, &search->text.uses, search->row);
    if (!limits_of_mask(search->text.arena, &search->access, &search->limits)) return false;
    // Conditions may concern programs that only others tell apart: once more, with all of them known.
    for (int round = 0; round < 2; round++) {
        search->loop = NULL;
        search->holds.count = search->ends.count = 0;
        if (!take_surroundings(search)) return false;
        for (LIST_EACH(int, i, search->limits))
            if (!take_limit(search, &search->limits.items[i])) return false;
    }
    return rest_is_apart(search) && say(search, assumption);
}

static bool describe_by(SpanSearch *search, Value *atom, Assumption *assumption) {
    SpanUses uses = {0};
    if (!split_address(search, atom)) return false;
    span_note_poly(&search->text, &uses, search->row);
    return uses.loads && describe(search, assumption);
}

bool row_spans_have_lanes(Arena *arena, const Op *store) {
    const Access access = access_of(arena, (Op *)(uintptr_t)store);
    if (!access.parameter || !access.offset.known || access.offset.wrapped) return false;
    const Poly *base = access.offset.base, *weight, *rest;
    for (int t = 0; t < base->count; t++)
        for (int i = 0; i < base->terms[t].atom_count; i++) {
            Value *atom = base->terms[t].atoms[i];
            const Op *read = atom->op;
            while (read && read->code == OP_CAST) read = read->operands[0]->op;
            if (!read || read->code != OP_LOAD || !poly_split(arena, base, atom, &weight, &rest))
                continue;
            for (int k = 0; k < access.offset.rank; k++)
                if (poly_equal(access.offset.lane[k], weight)) return true;
        }
    return false;
}

void row_spans_describe(Differentiation *state, const Op *store, Assumption *assumption) {
    Arena *arena = state->arena;
    Access access = access_of(arena, (Op *)(uintptr_t)store);
    if (!access.parameter || !access.offset.known || access.offset.wrapped) return;
    const Poly *base = access.offset.base;
    for (int t = 0; t < base->count; t++)
        for (int i = 0; i < base->terms[t].atom_count; i++) {
            Value *atom = base->terms[t].atoms[i];
            SpanSearch search = {.text = {.arena = arena, .state = state}, .access = access};
            Assumption said = *assumption;
            if (poly_is_fixed(arena, poly_atom(arena, atom)) || !describe_by(&search, atom, &said))
                continue;
            *assumption = said;
            return;
        }
}

void element_spans_describe(Differentiation *state, const Op *store, Assumption *assumption) {
    Arena *arena = state->arena;
    SpanSearch search = {.text = {.arena = arena, .state = state},
                         .access = access_of(arena, (Op *)(uintptr_t)store)};
    if (!search.access.parameter || !search.access.offset.known || search.access.offset.wrapped)
        return;
    search.weight = poly_constant(arena, 1);
    search.rest = poly_constant(arena, 0);
    search.row = search.access.offset.base;
    Assumption said = *assumption;
    if (describe(&search, &said)) *assumption = said;
}
