// Which elements an access touches (scheduling.md, section 10): lanes, iterations and programs are the digits of an
// index from 0, a mask cuts it off, and what a step and a length are for each such index is Python for the launcher.
#include "autodiff/extents/element_ranges.h"

#include <string.h>

#include "analysis/addresses/affine_axes.h"
#include "analysis/addresses/strides.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/place.h"
#include "autodiff/digits/lane_digits.h"
#include "autodiff/digits/rotations.h"
#include "autodiff/extents/flat_ranges.h"
#include "autodiff/extents/mask_cuts.h"
#include "autodiff/extents/program_splits.h"

/// Digits that are those of one index.
typedef struct DigitChain {
    const Poly *step;    // of the address from one index to the next
    const char *length;  // indices
    StoredDigit *outer;  // the coarsest
    const Poly *finer;   // indices of the others together
    const Poly *size;    // indices; or NULL
    const Poly *end;     // of a loop that takes them all up to there; or NULL
} DigitChain;

/// Choices and minima within one another that are looked into, as many as a launcher says.
enum { MOST_CHOICES = 4 };

/// Whether a number is `bound`, or the smaller one of it and another; of what a flag chooses, both.
static bool is_at_most(const StoredSearch *coverage, const Poly *number, const Poly *bound,
                       int depth) {
    Arena *arena = coverage->arena;
    if (poly_equal(number, bound)) return true;
    bool is_atom = number->count == 1 && number->terms[0].atom_count == 1 &&
                   poly_equal(number, poly_atom(arena, number->terms[0].atoms[0]));
    const Value *atom = is_atom ? number->terms[0].atoms[0] : NULL;
    const Op *op = atom ? atom->op : NULL;
    bool is_choice = op && op->code == OP_IF;
    if (!op || depth == MOST_CHOICES || (!is_choice && op->code != OP_MINIMUM)) return false;
    int found = 0;
    for (int i = 0; i < 2; i++) {
        Value *side =
            is_choice ? region_terminator(op->regions[i])->operands[atom->index] : op->operands[i];
        const Poly *own = with_programs(coverage, value_poly(arena, side));
        found += is_at_most(coverage, own, bound, depth + 1);
    }
    return found > (is_choice ? 1 : 0);
}

/// Whether the coarsest digit of a chain is a loop that goes on for as long as there is an index below `bound`: to that bound in
/// steps of all that the finer digits come to, or as often as these go into it.
static bool chain_reaches(const StoredSearch *coverage, const DigitChain *chain,
                          const Poly *bound) {
    const StoredDigit *outer = chain->outer;
    if (!outer->end) return false;
    if (poly_equal(outer->end, bound) && poly_equal(outer->scale, chain->finer)) return true;
    const char *end = poly_text(coverage, outer->end), *limit = poly_text(coverage, bound),
               *size = poly_text(coverage, chain->finer);
    return poly_is_one(outer->scale) && end && limit && size &&
           strcmp(end, arena_printf(coverage->arena, "triton.cdiv(%s, %s)", limit, size)) == 0;
}

/// The digits of a cut, each weighed with all that the finer ones come to. False where they are no digits of one index.
static bool chain_digits(StoredSearch *coverage, const MaskCut *cut, DigitChain *chain) {
    Arena *arena = coverage->arena;
    const Poly *weight = poly_constant(arena, 1);
    int left = 0;
    *chain = (DigitChain){0};
    for (int i = 0; i < coverage->count; i++) left += !poly_is_zero(cut->weights[i]);
    while (left) {
        StoredDigit *next = NULL;
        for (int i = 0; i < coverage->count; i++) {
            StoredDigit *digit = &coverage->digits[i];
            if (digit->is_taken || !weight || !poly_equal(cut->weights[i], weight)) continue;
            // a lane that is alone along its axis has no share in what the others come to
            if (!next || (digit->extent && poly_is_one(digit->extent))) next = digit;
        }
        if (!next) return false;
        if (!chain->step) chain->step = next->weight;
        if (!poly_equal(next->weight, poly_multiply(arena, chain->step, weight))) return false;
        next->is_taken = true;
        chain->outer = next;
        chain->finer = weight;
        left--;
        if (left && !next->extent) return false;
        const char *before = poly_is_one(weight) ? NULL : factor_text(coverage, weight),
                   *own = next->extent ? factor_text(coverage, next->extent) : next->count;
        if (!own && !coverage->is_most) return false;
        chain->length = before && own ? arena_printf(arena, "%s * %s", own, before) : own;
        // Steps of all the finer digits go up to the loop's end at least, whatever block they are.
        bool is_gapless = next->end && !next->extent && poly_equal(next->scale, weight) &&
                          !coverage->counts_blocks;
        chain->end = is_gapless ? next->end : NULL;
        if (is_gapless) chain->length = poly_text(coverage, next->end);
        weight = next->extent ? poly_multiply(arena, weight, next->extent) : NULL;
    }
    chain->size = weight;
    if (weight) chain->length = poly_text(coverage, weight);
    return (chain->length || coverage->is_most) && !poly_is_zero(chain->step);
}

static bool has_weights(const StoredSearch *coverage, const MaskCut *cut) {
    for (int i = 0; i < coverage->count; i++)
        if (!poly_is_zero(cut->weights[i])) return true;
    return false;
}

/// Holds for all digits: `index >= 0`.
static bool cut_is_vacuous(const StoredSearch *coverage, const MaskCut *cut) {
    int64_t number;
    if (!poly_is_constant(cut->bound, &number) || number < 1) return false;
    for (int i = 0; i < coverage->count; i++) {
        int64_t weight;
        if (!poly_is_constant(cut->weights[i], &weight) || weight > 0) return false;
    }
    return true;
}

bool add_range(ElementRanges *cover, const char *step, const char *length) {
    if (!step || !length || cover->count == STORED_MOST_DIGITS) return false;
    cover->ranges[cover->count++] = (RangeText){.step = step, .length = length};
    return true;
}

/// Of digits that move the address back, the step onwards. What the last of `count` digits is at is added to the base.
static const Poly *turned_step(const StoredSearch *coverage, const Poly *step, const Poly *count,
                               ElementRanges *cover) {
    Arena *arena = coverage->arena;
    const Poly *onwards = poly_subtract(arena, poly_constant(arena, 0), step);
    if (!count || !poly_is_nonnegative(arena, onwards)) return step;
    const Poly *last = poly_subtract(arena, count, poly_constant(arena, 1));
    cover->base = poly_add(arena, cover->base, poly_multiply(arena, step, last));
    return onwards;
}

static bool is_other_side(const StoredSearch *coverage, const MaskCut *a, const MaskCut *b) {
    const Poly *zero = poly_constant(coverage->arena, 0);
    for (int i = 0; i < coverage->count; i++)
        if (!poly_equal(a->weights[i], poly_subtract(coverage->arena, zero, b->weights[i])))
            return false;
    return has_weights(coverage, a);
}

/// Whether a cut is the lower end of an index that another one ends: `index >= least`.
static bool cut_is_from_below(const StoredSearch *coverage, const MaskCut *cut) {
    bool is_below = false;
    for (int i = 0; i < coverage->cut_count; i++)
        is_below = is_below || is_other_side(coverage, cut, &coverage->cuts[i]);
    for (int i = 0; i < coverage->count && is_below; i++)
        is_below = poly_is_nonnegative(
            coverage->arena,
            poly_subtract(coverage->arena, poly_constant(coverage->arena, 0), cut->weights[i]));
    return is_below;
}

/// Of an index that begins at `least`, the length from there on. No element, where that is below 0: then lanes begin later than the
/// address does.
static bool begin_at(const StoredSearch *coverage, const Poly *least, const Poly *step,
                     const char **length, ElementRanges *cover) {
    Arena *arena = coverage->arena;
    const char *text = factor_text(coverage, least);
    int64_t number;
    bool is_known = poly_is_constant(least, &number) && number >= 0;
    if (!text ||
        (!is_known && !add_range(cover, "0", arena_printf(arena, "min(max(%s + 1, 0), 1)", text))))
        return false;
    *length = arena_printf(arena, "max(%s - %s, 0)", *length, text);
    cover->base = poly_add(arena, cover->base, poly_multiply(arena, step, least));
    return true;
}

/// The index above which a cut leaves nothing of its other side.
static const Poly *least_of(const StoredSearch *coverage, const MaskCut *below) {
    return poly_subtract(coverage->arena, poly_constant(coverage->arena, 1), below->bound);
}

/// The same for the lower end of a cut, if there is one. Of two such ends the further one counts: nothing is said of the other.
static bool begin_at_least(StoredSearch *coverage, const MaskCut *cut, const Poly *step, bool *done,
                           const char **length, ElementRanges *cover) {
    for (int i = 0; i < coverage->cut_count; i++) {
        const MaskCut *below = &coverage->cuts[i];
        if (done[i] || !is_other_side(coverage, below, cut) || cut_is_vacuous(coverage, below))
            continue;
        done[i] = true;
        return begin_at(coverage, least_of(coverage, below), step, length, cover);
    }
    return true;
}

/// Whether a cut leaves all of its digits' numbers from one on: `index >= least`.
static bool cut_begins(const StoredSearch *coverage, const MaskCut *cut) {
    const Poly *zero = poly_constant(coverage->arena, 0);
    for (int i = 0; i < coverage->count; i++)
        if (!poly_is_nonnegative(coverage->arena,
                                 poly_subtract(coverage->arena, zero, cut->weights[i])))
            return false;
    return has_weights(coverage, cut);
}

/// The range of digits that a mask begins and does not end: programs behind the first one.
static bool range_from(StoredSearch *coverage, int first, bool *done, ElementRanges *cover) {
    const MaskCut *cut = &coverage->cuts[first];
    const Poly *zero = poly_constant(coverage->arena, 0);
    MaskCut index = {.bound = NULL};
    DigitChain chain;
    for (int i = 0; i < coverage->count; i++)
        index.weights[i] = poly_subtract(coverage->arena, zero, cut->weights[i]);
    if (!chain_digits(coverage, &index, &chain) || !chain.length ||
        !poly_is_nonnegative(coverage->arena, chain.step))
        return false;
    done[first] = true;
    for (int i = 0; i < coverage->cut_count; i++)
        if (!done[i] && cuts_are_equal(coverage, cut, &coverage->cuts[i])) return false;
    const char *length = chain.length;
    return begin_at(coverage, least_of(coverage, cut), chain.step, &length, cover) &&
           add_range(cover, poly_text(coverage, chain.step), length);
}

/// The range that the cuts from `first` on with the same digits leave.
static bool range_of_cuts(StoredSearch *coverage, int first, bool *done, ElementRanges *cover) {
    const MaskCut *cut = &coverage->cuts[first];
    DigitChain chain;
    if (!has_weights(coverage, cut)) {  // of no program there is no element
        const char *bound = poly_text(coverage, cut->bound);
        return bound && add_range(cover, "0", arena_printf(coverage->arena, "min(%s, 1)", bound));
    }
    if (!chain_digits(coverage, cut, &chain)) return false;
    const char *length = chain.length;
    bool is_met = false;  // a loop runs up to the bound
    for (int i = first; i < coverage->cut_count; i++) {
        if (!cuts_are_equal(coverage, cut, &coverage->cuts[i])) continue;
        done[i] = true;
        const char *bound = poly_text(coverage, coverage->cuts[i].bound);
        if (!bound) return false;
        bool reaches = chain_reaches(coverage, &chain, coverage->cuts[i].bound);
        bool is_below = chain.end && is_at_most(coverage, chain.end, coverage->cuts[i].bound, 0);
        if (!is_met && reaches)
            length = bound;
        else if (!is_below && strcmp(length, bound) != 0)
            length = arena_printf(coverage->arena, "min(%s, %s)", length, bound);
        is_met = is_met || reaches;
    }
    if (!begin_at_least(coverage, cut, chain.step, done, &length, cover)) return false;
    const Poly *step = turned_step(coverage, chain.step, cut->bound, cover);
    bool is_whole = strcmp(length, poly_text(coverage, cut->bound)) == 0;
    if (step != chain.step && !is_whole) {  // from the end on: all of it counts, or nothing
        const char *bound = factor_text(coverage, cut->bound);
        const char *all =
            bound ? arena_printf(coverage->arena, "min(max(%s - %s + 1, 0), 1)", length, bound)
                  : NULL;
        if (!add_range(cover, "0", all)) return false;
    }
    return add_range(cover, poly_text(coverage, step), length);
}

static bool cover_ranges(StoredSearch *coverage, ElementRanges *cover) {
    bool done[STORED_MOST_CUTS] = {false};
    for (int i = 0; i < coverage->cut_count; i++) {
        if (done[i] || cut_is_vacuous(coverage, &coverage->cuts[i]) ||
            cut_is_from_below(coverage, &coverage->cuts[i]))
            continue;
        bool begins = cut_begins(coverage, &coverage->cuts[i]);
        if (begins ? !range_from(coverage, i, done, cover)
                   : !range_of_cuts(coverage, i, done, cover))
            return false;
    }
    for (int i = 0; i < coverage->cut_count; i++)  // a second lower end of an index
        if (!done[i] && cut_is_from_below(coverage, &coverage->cuts[i]) &&
            !cut_is_vacuous(coverage, &coverage->cuts[i]))
            return false;
    for (int i = 0; i < coverage->count; i++) {
        const StoredDigit *digit = &coverage->digits[i];
        int64_t number;
        bool is_lane = !digit->atom, is_loop = digit->scale != NULL;
        if (digit->is_taken || poly_is_one(digit->extent)) continue;
        if (poly_is_zero(digit->weight) && digit->is_quotient) {
            const char *count = digit->extent ? poly_text(coverage, digit->extent) : digit->count;
            if (!count) return false;
            add_range(cover, "0", arena_printf(coverage->arena, "min(%s, 1)", count));
            continue;
        }
        if (poly_is_zero(digit->weight)) {
            bool may_be_empty =
                !digit->extent || !poly_is_constant(digit->extent, &number) || number < 1;
            if (is_loop && !is_lane && may_be_empty) return false;
            continue;
        }
        const Poly *step = turned_step(coverage, digit->weight, digit->extent, cover);
        if (!add_range(cover, poly_text(coverage, step),
                       digit->extent ? poly_text(coverage, digit->extent) : digit->count))
            return false;
    }
    return true;
}

/// What is before and around an access in digits: programs and loops. False where there are too many, or something else.
static bool add_axes(StoredSearch *coverage, Op *access) {
    coverage->count = coverage->cut_count = 0;
    coverage->open_lanes = 0;
    coverage->is_rough = false;
    coverage->deal = NULL;
    memset(coverage->takes_turns, 0, sizeof coverage->takes_turns);
    if (!add_programs(coverage)) return false;
    for (Op *op = access; op->parent->parent; op = op->parent->parent) {
        Op *around = op->parent->parent;
        bool is_loop = around->code == OP_FOR || around->code == OP_STATIC_FOR;
        coverage->is_rough = coverage->is_rough || around->code == OP_WHILE;
        if (is_loop ? !add_loop(coverage, around) : around->code != OP_IF && !coverage->is_most)
            return false;
    }
    return true;
}

static bool add_lanes(StoredSearch *coverage, Type type) {
    coverage->lane = coverage->count;
    for (int i = 0; i < type.rank; i++) {
        StoredDigit *digit = add_digit(coverage);
        if (!digit || !type.dims[i]) return false;
        *digit = (StoredDigit){.extent = type.dims[i]};
    }
    return true;
}

/// Of an address that turns digits around: no element, where one is turned to numbers below 0.
static bool add_turns(const StoredSearch *coverage, const Straightened *straight,
                      ElementRanges *cover) {
    for (int i = 0; i < straight->count; i++) {
        const Poly *least = straight->least[i];
        int64_t number;
        if (poly_is_constant(least, &number) && number >= 0) continue;
        const char *text = poly_text(coverage, least);
        if (!text ||
            !add_range(cover, "0", arena_printf(coverage->arena, "min(max(%s + 1, 0), 1)", text)))
            return false;
    }
    return true;
}

/// How many lanes there are of a dimension that the mask ends: those of one tile, or of all.
static const char *lanes_text(const StoredSearch *coverage, const LaneDigits *apart,
                              int dimension) {
    const Poly *lanes = apart->tile[dimension];
    for (int axis = 0; axis < PROGRAM_AXES && lanes && apart->counter[dimension]; axis++)
        if (value_is_program_id(apart->counter[dimension], axis))
            lanes = poly_multiply(coverage->arena,
                                  poly_atom(coverage->arena, coverage->extents[axis]), lanes);
    return poly_text(coverage, lanes);
}

/// A loop over blocks of lanes that are counted through goes up to where the mask ends them.
static bool take_blocks(StoredSearch *coverage, const LaneDigits *apart, int dimension) {
    Arena *arena = coverage->arena;
    const Value *counter = apart->counter[dimension];
    const Poly *end = value_poly(arena, counter->region->parent->operands[1]),
               *all = poly_multiply(arena, coverage->digits[coverage->lane + dimension].extent,
                                    apart->low[dimension]);
    for (int i = 0; i < coverage->count; i++)
        if (coverage->digits[i].atom == counter) coverage->digits[i].is_taken = true;
    return all && poly_equal(all, end);
}

/// Of a tile whose lanes are taken apart: what its mask leaves, as far as the tile reaches.
static bool end_lane_digits(StoredSearch *coverage, const LaneDigits *apart) {
    for (int i = 0; i < apart->access.offset.rank; i++) {
        StoredDigit *digit = &coverage->digits[coverage->lane + i];
        const char *bound = poly_text(coverage, digit->extent);
        if (!apart->low[i]) continue;
        if (apart->counter[i] && value_is_loop_variable(apart->counter[i])) {
            if (!bound || !take_blocks(coverage, apart, i)) return false;
            continue;
        }
        const char *all = lanes_text(coverage, apart, i);
        const char *low = poly_text(coverage, apart->low[i]);
        if (!bound || !all || !low) return false;
        digit->extent = NULL;
        const char *most = apart->counter[i] ? "max" : "", *least = apart->counter[i] ? ", 1" : "";
        digit->count =
            arena_printf(coverage->arena, "min(%s, %s // %s(%s%s))", bound, all, most, low, least);
    }
    return true;
}

bool element_ranges(StoredSearch *coverage, Op *store, ElementRanges *cover) {
    Arena *arena = coverage->arena;
    Straightened straight = access_straightened(arena, store);
    if (straight.access) store = straight.access;
    Access access = access_of(arena, store);
    LaneDigits apart = {.is_exact = false};
    if (!access.offset.known) apart = access_by_lane_digits(arena, store);
    if (apart.is_exact) {
        access = apart.access;
        store = access.op;
    }
    Type type = store->operands[0]->type;
    const Poly *weights[STORED_MOST_DIGITS];
    *cover = (ElementRanges){0};
    coverage->split_count = 0;
    if (!access.offset.known && !coverage->is_most && flat_ranges(coverage, store, cover))
        return true;
    if (!access.offset.known || access.offset.wrapped || access.offset.rank > type.rank)
        return false;
    if (!coverage->most) find_splits(coverage, access.offset.base);
    if (!add_axes(coverage, store) || !add_lanes(coverage, type)) return false;
    if (!split_digits(coverage, access.offset.base, weights, &cover->base)) return false;
    for (int i = 0; i < access.offset.rank; i++) {
        weights[coverage->lane + i] = with_programs(coverage, access.offset.lane[i]);
        if (!poly_text(coverage, weights[coverage->lane + i])) return false;
    }
    for (int i = 0; i < coverage->count; i++) coverage->digits[i].weight = weights[i];
    if (apart.is_exact && !end_lane_digits(coverage, &apart)) return false;
    if (!add_conditions(coverage, store) || !cover_ranges(coverage, cover) ||
        !add_turns(coverage, &straight, cover))
        return false;
    cover->flags = coverage->flags;
    return true;
}

/* ---- at most ---- */

static void add_most_range(ElementRanges *cover, RangeText range) {
    if (cover->count < STORED_MOST_DIGITS) cover->ranges[cover->count++] = range;
}

/// Numbers of an index that a mask leaves out in front: those below its lower end, where that is a number. Else 0.
static int64_t left_out_in_front(const StoredSearch *coverage, const MaskCut *cut) {
    int64_t most = 0, number;
    for (int i = 0; i < coverage->cut_count; i++) {
        const MaskCut *below = &coverage->cuts[i];
        if (is_other_side(coverage, below, cut) &&
            poly_is_constant(least_of(coverage, below), &number) && number > most)
            most = number;
    }
    return most;
}

/// Whether a cut ends the address itself, of which its digits are no digits: blocks that begin nearer to each other than they are long.
static bool cut_is_of_address(const StoredSearch *coverage, const MaskCut *cut) {
    for (int i = 0; i < coverage->count; i++)
        if (!poly_equal(cut->weights[i], coverage->digits[i].weight)) return false;
    return has_weights(coverage, cut);
}

/// No range goes on behind the end of the address.
static void end_all(const StoredSearch *coverage, const MaskCut *cut, ElementRanges *cover) {
    const char *end = poly_text(coverage, cut->bound);
    for (int i = 0; i < cover->count; i++) {
        RangeText *range = &cover->ranges[i];
        if (range->length)
            range->length = arena_printf(coverage->arena, "min(%s, -(-(%s) // max(%s, 1)))",
                                         range->length, end, range->step);
    }
}

/// Whether a cut is a lower end that ranges begin at.
static bool is_left_out(const StoredSearch *coverage, int number) {
    const MaskCut *below = &coverage->cuts[number];
    int64_t least;
    if (!poly_is_constant(least_of(coverage, below), &least)) return false;
    for (int i = 0; i < coverage->cut_count; i++)
        if (is_other_side(coverage, below, &coverage->cuts[i]) &&
            left_out_in_front(coverage, &coverage->cuts[i]) == least)
            return true;
    return false;
}

/// A range without its first numbers.
static void shorten(StoredSearch *coverage, RangeText *range, const Poly *all, int64_t by) {
    Arena *arena = coverage->arena;
    const Poly *front = poly_constant(arena, by);
    if (!by) return;
    if (all)
        range->length = poly_text(coverage, poly_subtract(arena, all, front));
    else if (range->length)
        range->length = arena_printf(arena, "%s - %lld", range->length, (long long)by);
    for (int i = 0; i < 2; i++)
        if (range->most[i]) range->most[i] = poly_subtract(arena, range->most[i], front);
}

/// Notes what numbers a range: the digits that it has taken since `before`.
static void note_numbered(const StoredSearch *coverage, const StoredDigit *before,
                          RangeText *range) {
    bool has_ids = false, has_others = false;
    for (int i = 0; i < coverage->count; i++) {
        if (!coverage->digits[i].is_taken || before[i].is_taken) continue;
        bool is_of_ids = digit_is_of_programs(coverage, &coverage->digits[i]);
        has_ids |= is_of_ids;
        has_others |= !is_of_ids;
    }
    range->is_of_programs = has_ids && !has_others;
    range->is_of_both = has_ids && has_others;
}

/// The range that the cuts from `first` on with the same digits leave at most; none where they are no digits of one index.
static void add_range_below(StoredSearch *coverage, int first, bool *done, ElementRanges *cover) {
    Arena *arena = coverage->arena;
    StoredDigit before[STORED_MOST_DIGITS];
    memcpy(before, coverage->digits, sizeof before);
    const MaskCut *cut = &coverage->cuts[first];
    DigitChain chain;
    if (!has_weights(coverage, cut) || !chain_digits(coverage, cut, &chain)) {
        memcpy(coverage->digits, before, sizeof before);
        return;
    }
    RangeText range = {.by = chain.step,
                       .step = poly_text(coverage, chain.step),
                       .length = chain.length,
                       .most = {cut->bound, chain.size}};
    note_numbered(coverage, before, &range);
    const int64_t front = left_out_in_front(coverage, cut);
    shorten(coverage, &range, chain.size, front);
    for (int i = first; i < coverage->cut_count; i++) {
        if (!cuts_are_equal(coverage, cut, &coverage->cuts[i])) continue;
        done[i] = true;
        const char *bound = poly_text(
            coverage, poly_subtract(arena, coverage->cuts[i].bound, poly_constant(arena, front)));
        bool is_same = !range.length || strcmp(range.length, bound) == 0 ||
                       chain_reaches(coverage, &chain, coverage->cuts[i].bound);
        range.length = is_same ? bound : arena_printf(arena, "min(%s, %s)", range.length, bound);
    }
    cover->base =
        poly_add(arena, cover->base, poly_multiply(arena, chain.step, poly_constant(arena, front)));
    add_most_range(cover, range);
}

/// False where a digit is cut off by something that is not understood.
static bool add_digit_ranges(StoredSearch *coverage, ElementRanges *cover) {
    for (int i = 0; i < coverage->count; i++) {
        const StoredDigit *digit = &coverage->digits[i];
        if (digit->is_taken || poly_is_one(digit->extent) || poly_is_zero(digit->weight)) continue;
        if (i >= coverage->lane && coverage->open_lanes >> (i - coverage->lane) & 1) return false;
        bool is_of_programs = digit_is_of_programs(coverage, digit);
        add_most_range(
            cover,
            (RangeText){.by = digit->weight,
                        .step = poly_text(coverage, digit->weight),
                        .length = digit->extent ? poly_text(coverage, digit->extent) : digit->count,
                        .most = {digit->extent, digit->extent},
                        .is_of_programs = is_of_programs});
    }
    return true;
}

/// The digits of an access, what masks leave of them, and what is before them all.
static bool find_most(StoredSearch *coverage, Op *op, const Poly **base) {
    Access access = access_of(coverage->arena, op);
    const bool is_apart = !access.offset.known, is_masked = access_mask(op) != NULL;
    if (is_apart) access = access_by_lane_digits(coverage->arena, op).access;
    op = access.op;
    Type type = op->operands[0]->type;
    const Poly *weights[STORED_MOST_DIGITS];
    coverage->split_count = 0;
    if (!access.offset.known || access.offset.rank > type.rank || !add_axes(coverage, op) ||
        !add_movers(coverage, access.offset.base) || !add_lanes(coverage, type) ||
        !split_digits(coverage, access.offset.base, weights, base))
        return false;
    for (int i = 0; i < access.offset.rank; i++)
        weights[coverage->lane + i] = with_programs(coverage, access.offset.lane[i]);
    for (int i = 0; i < coverage->count; i++) coverage->digits[i].weight = weights[i];
    coverage->is_rough =
        coverage->is_rough || (is_apart && is_masked);  // its mask may end others, too
    return add_most_conditions(coverage, &access);
}

/// Whether a step is certainly more than what another digit reaches.
static bool steps_over(Arena *arena, const Poly *step, const StoredDigit *other) {
    const Poly *one = poly_constant(arena, 1);
    if (!other->extent) return false;
    const Poly *reach =
        poly_multiply(arena, other->weight, poly_subtract(arena, other->extent, one));
    if (!reach) return false;
    return sizes_are_nonnegative(arena,
                                 poly_subtract(arena, poly_subtract(arena, step, reach), one));
}

bool open_lanes_may_meet(StoredSearch *coverage, Op *access) {
    Arena *arena = coverage->arena;
    const Poly *base;
    if (!find_most(coverage, access, &base)) return false;
    for (int i = coverage->lane; i < coverage->count; i++) {
        const StoredDigit *lane = &coverage->digits[i];
        bool is_open = coverage->open_lanes >> (i - coverage->lane) & 1;
        for (int c = 0; c < coverage->cut_count; c++)
            is_open = is_open && poly_is_zero(coverage->cuts[c].weights[i]);
        if (!is_open || poly_is_zero(lane->weight)) continue;
        for (int k = 0; k < coverage->lane; k++) {
            const StoredDigit *other = &coverage->digits[k];
            if (poly_is_zero(other->weight) || poly_is_one(other->extent)) continue;
            if (!steps_over(arena, other->weight, lane) && !steps_over(arena, lane->weight, other))
                return true;
        }
    }
    return false;
}

bool element_ranges_at_most(StoredSearch *coverage, Op *op, ElementRanges *cover) {
    bool done[STORED_MOST_CUTS] = {false};
    *cover = (ElementRanges){0};
    if (!find_most(coverage, op, &cover->base)) return false;
    for (int i = 0; i < coverage->cut_count; i++)
        if (!done[i] && !cut_is_vacuous(coverage, &coverage->cuts[i]))
            add_range_below(coverage, i, done, cover);
    if (!add_digit_ranges(coverage, cover)) return false;
    for (int i = 0; i < cover->count; i++)
        if (!cover->ranges[i].step) return false;
    for (int i = 0; i < coverage->count; i++) {
        const StoredDigit *digit = &coverage->digits[i];
        cover->moves_else |= digit->atom && digit->atom->op && !poly_is_zero(digit->weight) &&
                             !digit_is_of_programs(coverage, digit);
    }
    for (int i = 0; i < coverage->cut_count; i++) {
        const MaskCut *cut = &coverage->cuts[i];
        if (done[i] || cut_is_vacuous(coverage, cut) || is_left_out(coverage, i)) continue;
        if (coverage->ends_all && cut_is_of_address(coverage, cut))
            end_all(coverage, cut, cover);
        else
            coverage->is_rough = true;
    }
    return true;
}

/* ---- a search ---- */

static Value *stand_in(Arena *arena, int id) {
    Value *value = ARENA_NEW(arena, Value);
    *value = (Value){.id = id, .type.kind = TYPE_NUMBER};
    return value;
}

/// The function with each parameter at the index that its value has from before parameters were put in order.
static Function *by_first_index(Arena *arena, const Function *backward) {
    Function *function = ARENA_NEW(arena, Function);
    int most = 0;
    *function = *backward;
    for (int i = 0; i < backward->parameter_count; i++)
        if (backward->parameters[i].value->index > most)
            most = backward->parameters[i].value->index;
    function->parameter_count = most + 1;
    function->parameters = ARENA_ARRAY(arena, Parameter, most + 1);
    for (int i = 0; i < backward->parameter_count; i++)
        function->parameters[backward->parameters[i].value->index] = backward->parameters[i];
    return function;
}

StoredSearch *stored_search_new(Arena *arena, const Function *function,
                                const BackwardLaunch *launch) {
    enum { STAND_IN_ID = -1000000 };
    StoredSearch *coverage = ARENA_NEW(arena, StoredSearch);
    *coverage = (StoredSearch){
        .arena = arena, .function = by_first_index(arena, function), .launch = launch};
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        coverage->programs[axis] = stand_in(arena, STAND_IN_ID - axis);
        coverage->extents[axis] = stand_in(arena, STAND_IN_ID - PROGRAM_AXES - axis);
    }
    return coverage;
}
