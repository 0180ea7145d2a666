// Which elements a kernel certainly stores (scheduling.md, section 10): lanes, iterations and programs are the digits of an
// index from 0, a mask cuts it off, and what a step and a length are for each such index is Python for the launcher to compare
// with the tensor's own strides and sizes. Whatever is not understood says nothing, and the buffer is zeroed as ever.
#include "autodiff/schedule/coverage.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/ir/type.h"
#include "autodiff/addresses/place.h"
#include "autodiff/tape/tape_size.h"

/// One digit of an address: a program id, an iteration or a lane, from 0 to below its extent.
typedef struct StoredDigit {
    Value *atom;        // as polynomials have it; NULL: a lane
    const Poly *scale;  // of a loop: its variable is `origin + scale * digit`
    const Poly *origin;
    const Poly *extent;  // or NULL: only its text is known
    const char *count;   // the text of an extent that is no polynomial
    const Poly *end;     // of a loop from 0: where it ends
    const Poly *weight;  // in the address
    bool is_taken;       // by a range
} StoredDigit;

/// `sum of weights[d] * digit d < bound`.
typedef struct MaskCut {
    const Poly *weights[STORED_MOST_DIGITS];
    const Poly *bound;
} MaskCut;

/// Addresses `step * i` for i from 0 to below `length`.
typedef struct RangeText {
    const char *step, *length;
} RangeText;

typedef struct StoreCover {
    const Poly *base;
    RangeText ranges[STORED_MOST_DIGITS];
    int count;
} StoreCover;

typedef struct StoredSearch {
    Arena *arena;
    const Function *function;
    const BackwardLaunch *launch;
    Value *programs[PROGRAM_AXES];  // stand for all program ids along an axis
    Value *extents[PROGRAM_AXES];   // programs along it
    StoredDigit digits[STORED_MOST_DIGITS];
    int count;
    int lane;  // the first lane among the digits
    MaskCut cuts[STORED_MOST_CUTS];
    int cut_count;
    const Op *deal;  // the branch of the programs that a loop's numbers are dealt to; or NULL
    const Value *most,
        *stride;  // of a gradient in parts: ARGUMENT_SLICES and _PART_STRIDE; or NULL
} StoredSearch;

/* ---- text ---- */

static bool byte_is_name(char c) { return byte_is_word(c) || c == '.'; }

/// Whether the launcher knows every name of the text.
static bool names_are_passed(const StoredSearch *coverage, const char *text) {
    for (const char *at = text; *at;) {
        size_t size = 0;
        while (byte_is_name(at[size])) size++;
        for (int i = 0; size && i < coverage->launch->argument_count; i++) {
            const BackwardArgument *argument = &coverage->launch->arguments[i];
            bool is_it = strlen(argument->name) == size && strncmp(argument->name, at, size) == 0;
            if (is_it &&
                (argument->use != ARGUMENT_SAME || strcmp(argument->name, argument->of) != 0))
                return false;
        }
        at += size ? size : 1;
    }
    return true;
}

static const char *atom_text(const StoredSearch *coverage, const Value *atom) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (atom == coverage->extents[axis]) return arena_printf(coverage->arena, "grid.%d", axis);
    const char *text = host_text(coverage->arena, coverage->function, atom, false);
    if (!text || !names_are_passed(coverage, text)) return NULL;
    return strpbrk(text, " ") && !strchr(text, '(') ? arena_printf(coverage->arena, "(%s)", text)
                                                    : text;
}

static const char *poly_text(const StoredSearch *coverage, const Poly *poly) {
    if (!poly) return NULL;
    Buffer out = buffer_new(coverage->arena);
    if (poly->count == 0) return "0";
    for (int t = 0; t < poly->count; t++) {
        const Monomial *term = &poly->terms[t];
        long long size = (long long)term->coefficient;
        if (t) buffer_puts(&out, size < 0 ? " - " : " + ");
        if (!t && size < 0) buffer_putc(&out, '-');
        if (size < 0) size = -size;
        bool is_said = size != 1 || term->atom_count == 0;
        if (is_said) buffer_printf(&out, "%lld", size);
        for (int i = 0; i < term->atom_count; i++) {
            const char *text = atom_text(coverage, term->atoms[i]);
            if (!text) return NULL;
            buffer_printf(&out, "%s%s", is_said || i ? " * " : "", text);
        }
    }
    return buffer_text(&out);
}

static const char *factor_text(const StoredSearch *coverage, const Poly *poly) {
    const char *text = poly_text(coverage, poly);
    return text && poly->count > 1 ? arena_printf(coverage->arena, "(%s)", text) : text;
}

/* ---- digits ---- */

static Value *stand_in(Arena *arena, int id) {
    Value *value = ARENA_NEW(arena, Value);
    *value = (Value){.id = id, .type.kind = TYPE_NUMBER};
    return value;
}

static bool is_one(const Poly *poly) {
    int64_t number;
    return poly && poly_is_constant(poly, &number) && number == 1;
}

/// All program ids along an axis, and all counts of programs, as one atom each.
static const Poly *with_programs(const StoredSearch *coverage, const Poly *poly) {
    for (bool found = true; found;) {
        found = false;
        for (int t = 0; t < poly->count && !found; t++)
            for (int i = 0; i < poly->terms[t].atom_count && !found; i++) {
                Value *atom = poly->terms[t].atoms[i];
                int64_t axis;
                OpCode code = atom->op ? atom->op->code : OP_COUNT;
                found = (code == OP_PROGRAM_ID || code == OP_NUM_PROGRAMS) &&
                        value_is_int(atom->op->operands[0], &axis) && axis >= 0 &&
                        axis < PROGRAM_AXES;
                if (found)
                    poly =
                        poly_substitute(coverage->arena, poly, atom,
                                        poly_atom(coverage->arena, code == OP_PROGRAM_ID
                                                                       ? coverage->programs[axis]
                                                                       : coverage->extents[axis]));
            }
    }
    return poly;
}

/* ---- sums in parts ---- */

/// How many programs share a sum: no more than `most`.
static bool is_slices(const StoredSearch *coverage, const Value *value) {
    const Op *op = value ? value->op : NULL;
    return coverage->most && op && op->code == OP_MINIMUM &&
           (op->operands[0] == coverage->most || op->operands[1] == coverage->most);
}

static bool names_program(const StoredSearch *coverage, Value *value) {
    const Poly *poly = with_programs(coverage, value_poly(coverage->arena, value));
    for (int t = 0; t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++)
            for (int axis = 0; axis < PROGRAM_AXES; axis++)
                if (poly->terms[t].atoms[i] == coverage->programs[axis]) return true;
    return false;
}

/// One slice by itself, as if a single program had each of its owners: groups of such programs share them out among themselves.
static const Poly *of_one_slice(const StoredSearch *coverage, const Poly *poly) {
    Arena *arena = coverage->arena;
    for (bool found = coverage->most; found;) {
        found = false;
        for (int t = 0; t < poly->count && !found; t++)
            for (int i = 0; i < poly->terms[t].atom_count && !found; i++) {
                Value *atom = poly->terms[t].atoms[i];
                const Op *op = atom->op;
                bool is_stride = atom == coverage->stride;
                found = is_stride ||
                        (op && op->code == OP_FLOORDIV && is_slices(coverage, op->operands[1]));
                if (!found) continue;
                bool is_number = is_stride || names_program(coverage, op->operands[0]);
                poly = poly_substitute(arena, poly, atom, poly_constant(arena, is_number ? 0 : 1));
            }
    }
    return poly;
}

/// Whether it asks which programs have a slice.
static bool asks_for_slice(const StoredSearch *coverage, const Op *branch) {
    const Op *asks = branch->operands[0]->op;
    if (!coverage->most || !asks || asks->code != OP_LT) return false;
    const Value *most = asks->operands[1];
    return is_slices(coverage, most) || (most->op && most->op->code == OP_FLOORDIV &&
                                         is_slices(coverage, most->op->operands[1]));
}

static StoredDigit *add_digit(StoredSearch *coverage) {
    return coverage->count < STORED_MOST_DIGITS ? &coverage->digits[coverage->count++] : NULL;
}

static void add_programs(StoredSearch *coverage) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        *add_digit(coverage) =
            (StoredDigit){.atom = coverage->programs[axis],
                          .extent = poly_atom(coverage->arena, coverage->extents[axis])};
}

/// Where there is no program, there is no element.
static bool cut_off_no_programs(StoredSearch *coverage, int axis) {
    if (coverage->cut_count == STORED_MOST_CUTS) return false;
    MaskCut *any = &coverage->cuts[coverage->cut_count++];
    for (int i = 0; i < STORED_MOST_DIGITS; i++)
        any->weights[i] = poly_constant(coverage->arena, 0);
    any->bound = poly_atom(coverage->arena, coverage->extents[axis]);
    return true;
}

static bool value_is_poly(const StoredSearch *coverage, Value *value, const Poly *poly) {
    return poly_equal(with_programs(coverage, value_poly(coverage->arena, value)), poly);
}

/// The branch `if pid < step:` around a loop, of programs along an axis of which there are at least `step`; or NULL.
static const Op *find_deal(const StoredSearch *coverage, const Op *loop, int axis) {
    const Op *least = loop->operands[2]->op;
    const Poly *count = poly_atom(coverage->arena, coverage->extents[axis]);
    if (!least || least->code != OP_MINIMUM) return NULL;
    if (!value_is_poly(coverage, least->operands[0], count) &&
        !value_is_poly(coverage, least->operands[1], count))
        return NULL;
    for (const Op *op = loop; op->parent->parent; op = op->parent->parent) {
        const Op *around = op->parent->parent;
        const Op *asks = around->code == OP_IF ? around->operands[0]->op : NULL;
        if (asks && asks->code == OP_LT && op->parent == around->regions[0] &&
            asks->operands[1] == loop->operands[2] &&
            value_is_poly(coverage, asks->operands[0],
                          poly_atom(coverage->arena, coverage->programs[axis])))
            return around;
    }
    return NULL;
}

/// A loop whose numbers are dealt to the first programs: `range(pid, end, step)` below `if pid < step:`, where there are that many. Its
/// variable is each number in one of them.
static bool add_dealt_loop(StoredSearch *coverage, StoredDigit *digit, const Op *loop,
                           const Poly *low, const Poly *high) {
    Arena *arena = coverage->arena;
    for (int axis = 0; axis < PROGRAM_AXES && !coverage->deal; axis++) {
        if (!poly_equal(low, poly_atom(arena, coverage->programs[axis]))) continue;
        coverage->deal = find_deal(coverage, loop, axis);
        if (!coverage->deal) return false;
        digit->scale = poly_constant(arena, 1);
        digit->origin = poly_constant(arena, 0);
        digit->extent = digit->end = high;
        digit->count = poly_text(coverage, high);
        bool is_all = poly_equal(high, poly_atom(arena, coverage->extents[axis]));
        return digit->count && (is_all || cut_off_no_programs(coverage, axis));
    }
    return false;
}

/// A loop in which programs take turns: `range(pid * A, end, tl.num_programs(0) * A)`. Its variable is `A * digit` in some program.
static bool add_shared_loop(StoredSearch *coverage, StoredDigit *digit, const Poly *low,
                            const Poly *high, const Poly *step) {
    Arena *arena = coverage->arena;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        const Poly *scale, *rest, *stride, *more;
        if (!poly_split(arena, low, coverage->programs[axis], &scale, &rest) ||
            !poly_split(arena, step, coverage->extents[axis], &stride, &more))
            continue;
        if (poly_is_zero(scale) || !poly_is_zero(rest) || !poly_is_zero(more) ||
            !poly_equal(scale, stride))
            continue;
        digit->scale = scale;
        digit->origin = poly_constant(arena, 0);
        digit->end = high;
        digit->extent = is_one(scale) ? high : poly_divide_exact(arena, high, scale);
        const char *end = poly_text(coverage, high), *by = poly_text(coverage, scale);
        if (!end || !by) return false;
        digit->count = arena_printf(arena, "triton.cdiv(%s, %s)", end, by);
        return cut_off_no_programs(coverage, axis);
    }
    return false;
}

static bool add_loop(StoredSearch *coverage, Op *loop) {
    Arena *arena = coverage->arena;
    StoredDigit *digit = add_digit(coverage);
    if (!digit) return false;
    const Poly *bounds[3];
    for (int i = 0; i < 3; i++)
        bounds[i] =
            with_programs(coverage, of_one_slice(coverage, value_poly(arena, loop->operands[i])));
    *digit = (StoredDigit){
        .atom = loop->regions[0]->arguments[0], .scale = bounds[2], .origin = bounds[0]};
    const char *texts[3];
    for (int i = 0; i < 3; i++) texts[i] = poly_text(coverage, bounds[i]);
    if (!texts[0])
        return add_dealt_loop(coverage, digit, loop, bounds[0], bounds[1]) ||
               add_shared_loop(coverage, digit, bounds[0], bounds[1], bounds[2]);
    if (!texts[1] || !texts[2]) return false;
    int64_t step;
    if (poly_is_constant(bounds[2], &step) && step < 1) return false;
    const Poly *length = poly_subtract(arena, bounds[1], bounds[0]);
    if (poly_is_zero(bounds[0])) digit->end = bounds[1];
    digit->extent = is_one(bounds[2]) ? length : poly_divide_exact(arena, length, bounds[2]);
    digit->count =
        arena_printf(arena, "triton.cdiv(%s, %s)", poly_text(coverage, length), texts[2]);
    return true;
}

/// What `poly` weighs each digit that is an atom with, and the rest of it. False where something else varies in it.
static bool split_digits(const StoredSearch *coverage, const Poly *poly, const Poly **weights,
                         const Poly **rest) {
    Arena *arena = coverage->arena;
    poly = with_programs(coverage, of_one_slice(coverage, poly));
    for (int i = coverage->count - 1; i >= 0; i--) {
        const StoredDigit *digit = &coverage->digits[i];
        weights[i] = poly_constant(arena, 0);
        if (!digit->atom) continue;
        const Poly *weight, *others;
        if (!poly_split(arena, poly, digit->atom, &weight, &others)) return false;
        if (digit->scale) {
            others = poly_add(arena, others, poly_multiply(arena, weight, digit->origin));
            weight = poly_multiply(arena, weight, digit->scale);
        }
        weights[i] = weight;
        poly = others;
    }
    *rest = poly;
    for (int i = 0; i < coverage->count; i++)
        if (!poly_text(coverage, weights[i])) return false;
    return poly_text(coverage, poly) != NULL;
}

/* ---- masks ---- */

static bool cuts_are_equal(const StoredSearch *coverage, const MaskCut *a, const MaskCut *b) {
    for (int i = 0; i < coverage->count; i++)
        if (!poly_equal(a->weights[i], b->weights[i])) return false;
    return true;
}

/// What is above 0 where a comparison holds: `right - left`, and 1 more where they may be equal.
static bool add_cut(StoredSearch *coverage, Value *left, Value *right, bool or_equal,
                    const int *lanes, int rank) {
    Arena *arena = coverage->arena;
    const Poly *zero = poly_constant(arena, 0);
    Affine sides[2] = {affine_of(arena, left), affine_of(arena, right)};
    if (coverage->cut_count == STORED_MOST_CUTS) return false;
    MaskCut *cut = &coverage->cuts[coverage->cut_count];
    if (!sides[0].known || !sides[1].known || sides[0].wrapped || sides[1].wrapped) return false;
    const Poly *slack = poly_subtract(arena, sides[1].base, sides[0].base);
    if (or_equal) slack = poly_add(arena, slack, poly_constant(arena, 1));
    if (!split_digits(coverage, slack, cut->weights, &cut->bound)) return false;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < sides[side].rank; i++) {
            const Poly *weight = sides[side].lane[i];
            int at = i + rank - sides[side].rank;
            if (poly_is_zero(weight)) continue;
            if (at < 0 || at >= rank || lanes[at] < 0) return false;
            int digit = coverage->lane + lanes[at];
            cut->weights[digit] = side ? poly_add(arena, cut->weights[digit], weight)
                                       : poly_subtract(arena, cut->weights[digit], weight);
        }
    for (int i = 0; i < coverage->count; i++)
        cut->weights[i] = poly_subtract(arena, zero, cut->weights[i]);
    for (int i = 0; i < coverage->cut_count; i++)  // both branches of a condition may set it
        if (cuts_are_equal(coverage, &coverage->cuts[i], cut) &&
            poly_equal(coverage->cuts[i].bound, cut->bound))
            return true;
    coverage->cut_count++;
    return true;
}

enum { MASK_STEPS = 200 };

static bool add_mask(StoredSearch *coverage, Value *mask, bool is_denied, const int *lanes,
                     int rank, int *steps);

/// A mask that a branch chose: what both have.
static bool add_chosen(StoredSearch *coverage, const Value *mask, bool is_denied, const int *lanes,
                       int rank, int *steps) {
    for (int side = 0; side < 2; side++) {
        Value *end = region_terminator(mask->op->regions[side])->operands[mask->index];
        if (!add_mask(coverage, end, is_denied, lanes, rank, steps)) return false;
    }
    return true;
}

static bool is_true_everywhere(const Value *mask) {
    int64_t number;
    const Op *op = mask->op;
    return op && op->code == OP_FULL && value_is_int(op->operands[1], &number) && number == 1;
}

/// A condition, or what it denies where `is_denied`, as cuts; `lanes` of its dimensions. False where it is anything else.
static bool add_mask(StoredSearch *coverage, Value *mask, bool is_denied, const int *lanes,
                     int rank, int *steps) {
    const Op *op = mask->op;
    if (!op || mask->constant || ++*steps > MASK_STEPS) return false;
    Value *a = op->operand_count > 0 ? op->operands[0] : NULL,
          *b = op->operand_count > 1 ? op->operands[1] : NULL;
    int inner[TYPE_MAX_RANK] = {0};
    int64_t axis;
    if (is_true_everywhere(mask)) return !is_denied;
    switch (op->code) {
    case OP_IF: return add_chosen(coverage, mask, is_denied, lanes, rank, steps);
    case OP_AND:
    case OP_OR:
        if ((op->code == OP_OR) != is_denied) return false;
        return add_mask(coverage, a, is_denied, lanes + rank - a->type.rank, a->type.rank, steps) &&
               add_mask(coverage, b, is_denied, lanes + rank - b->type.rank, b->type.rank, steps);
    case OP_EXPAND_DIMS:
        if (!value_is_int(b, &axis)) return false;
        if (axis < 0) axis += rank;
        for (int i = 0; i < rank - 1; i++) inner[i] = lanes[i < axis ? i : i + 1];
        return add_mask(coverage, a, is_denied, inner, rank - 1, steps);
    case OP_BROADCAST_TO:
        return add_mask(coverage, a, is_denied, lanes + rank - a->type.rank, a->type.rank, steps);
    case OP_LT:
        return is_denied ? add_cut(coverage, b, a, true, lanes, rank)
                         : add_cut(coverage, a, b, false, lanes, rank);
    case OP_LE:
        return is_denied ? add_cut(coverage, b, a, false, lanes, rank)
                         : add_cut(coverage, a, b, true, lanes, rank);
    case OP_GT:
        return is_denied ? add_cut(coverage, a, b, true, lanes, rank)
                         : add_cut(coverage, b, a, false, lanes, rank);
    case OP_GE:
        return is_denied ? add_cut(coverage, a, b, false, lanes, rank)
                         : add_cut(coverage, b, a, true, lanes, rank);
    default: return false;
    }
}

/// Whether it asks for the buffer that is stored to: where there is none, there is nothing to fill.
static bool asks_for_buffer(const Op *branch, const Op *store) {
    const Op *present = branch->operands[0]->op;
    const Op *absent = present && present->code == OP_LOGICAL_NOT ? present->operands[0]->op : NULL;
    return absent && absent->code == OP_IS_NONE &&
           absent->operands[0] == pointer_root(store->operands[0]);
}

/// What has to be for a store to be come by: branches around it, and its mask.
static bool add_conditions(StoredSearch *coverage, Op *store) {
    int lanes[TYPE_MAX_RANK], steps = 0;
    for (int i = 0; i < TYPE_MAX_RANK; i++) lanes[i] = i;
    for (Op *op = store; op->parent->parent; op = op->parent->parent) {
        Op *around = op->parent->parent;
        if (around->code != OP_IF || around == coverage->deal) continue;
        bool is_else = op->parent == around->regions[1];
        if (!is_else && (asks_for_buffer(around, store) || asks_for_slice(coverage, around)))
            continue;
        if (around->operands[0]->type.rank ||
            !add_mask(coverage, around->operands[0], is_else, lanes, 0, &steps))
            return false;
    }
    Value *mask = access_mask(store);
    if (!mask) return true;
    int rank = store->operands[0]->type.rank, above = rank - mask->type.rank;
    return above >= 0 && add_mask(coverage, mask, false, lanes + above, mask->type.rank, &steps);
}

/* ---- ranges ---- */

/// Digits that are those of one index.
typedef struct DigitChain {
    const Poly *step;    // of the address from one index to the next
    const char *length;  // indices
    StoredDigit *outer;  // the coarsest
    const Poly *finer;   // indices of the others together
} DigitChain;

/// Whether the coarsest digit of a chain is a loop that goes on for as long as there is an index below `bound`: to that bound in
/// steps of all that the finer digits come to, or as often as these go into it.
static bool chain_reaches(const StoredSearch *coverage, const DigitChain *chain,
                          const Poly *bound) {
    const StoredDigit *outer = chain->outer;
    if (!outer->end) return false;
    if (poly_equal(outer->end, bound) && poly_equal(outer->scale, chain->finer)) return true;
    const char *end = poly_text(coverage, outer->end), *limit = poly_text(coverage, bound),
               *size = poly_text(coverage, chain->finer);
    return is_one(outer->scale) && end && limit && size &&
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
        for (int i = 0; i < coverage->count && !next; i++) {
            StoredDigit *digit = &coverage->digits[i];
            if (digit->is_taken || !weight || !poly_equal(cut->weights[i], weight)) continue;
            next = digit;
        }
        if (!next) return false;
        if (!chain->step) chain->step = next->weight;
        if (!poly_equal(next->weight, poly_multiply(arena, chain->step, weight))) return false;
        next->is_taken = true;
        chain->outer = next;
        chain->finer = weight;
        left--;
        if (left && !next->extent) return false;
        const char *before = is_one(weight) ? NULL : factor_text(coverage, weight),
                   *own = next->extent ? factor_text(coverage, next->extent) : next->count;
        if (!own) return false;
        chain->length = before ? arena_printf(arena, "%s * %s", own, before) : own;
        weight = next->extent ? poly_multiply(arena, weight, next->extent) : NULL;
    }
    if (weight) chain->length = poly_text(coverage, weight);
    return chain->length && !poly_is_zero(chain->step);
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

static bool add_range(StoreCover *cover, const char *step, const char *length) {
    if (!step || !length || cover->count == STORED_MOST_DIGITS) return false;
    cover->ranges[cover->count++] = (RangeText){step, length};
    return true;
}

/// The range that the cuts from `first` on with the same digits leave.
static bool range_of_cuts(StoredSearch *coverage, int first, bool *done, StoreCover *cover) {
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
        if (!is_met && reaches)
            length = bound;
        else if (strcmp(length, bound) != 0)
            length = arena_printf(coverage->arena, "min(%s, %s)", length, bound);
        is_met = is_met || reaches;
    }
    return add_range(cover, poly_text(coverage, chain.step), length);
}

static bool cover_ranges(StoredSearch *coverage, StoreCover *cover) {
    bool done[STORED_MOST_CUTS] = {false};
    for (int i = 0; i < coverage->cut_count; i++) {
        if (done[i] || cut_is_vacuous(coverage, &coverage->cuts[i])) continue;
        if (!range_of_cuts(coverage, i, done, cover)) return false;
    }
    for (int i = 0; i < coverage->count; i++) {
        const StoredDigit *digit = &coverage->digits[i];
        int64_t number;
        bool is_lane = !digit->atom, is_loop = digit->scale != NULL;
        if (digit->is_taken || is_one(digit->extent)) continue;
        if (poly_is_zero(digit->weight)) {
            bool may_be_empty =
                !digit->extent || !poly_is_constant(digit->extent, &number) || number < 1;
            if (is_loop && !is_lane && may_be_empty) return false;
            continue;
        }
        if (!add_range(cover, poly_text(coverage, digit->weight),
                       digit->extent ? poly_text(coverage, digit->extent) : digit->count))
            return false;
    }
    return true;
}

static bool store_cover(StoredSearch *coverage, Op *store, StoreCover *cover) {
    Arena *arena = coverage->arena;
    Access access = access_of(arena, store);
    Type type = store->operands[0]->type;
    const Poly *weights[STORED_MOST_DIGITS];
    *cover = (StoreCover){0};
    coverage->count = coverage->cut_count = 0;
    coverage->deal = NULL;
    if (!access.offset.known || access.offset.wrapped || access.offset.rank > type.rank)
        return false;
    add_programs(coverage);
    for (Op *op = store; op->parent->parent; op = op->parent->parent) {
        Op *around = op->parent->parent;
        bool is_loop = around->code == OP_FOR || around->code == OP_STATIC_FOR;
        if (is_loop ? !add_loop(coverage, around) : around->code != OP_IF) return false;
    }
    coverage->lane = coverage->count;
    for (int i = 0; i < type.rank; i++) {
        StoredDigit *digit = add_digit(coverage);
        if (!digit || !type.dims[i]) return false;
        *digit = (StoredDigit){.extent = type.dims[i]};
    }
    if (!split_digits(coverage, access.offset.base, weights, &cover->base)) return false;
    for (int i = 0; i < access.offset.rank; i++) {
        weights[coverage->lane + i] = with_programs(coverage, access.offset.lane[i]);
        if (!poly_text(coverage, weights[coverage->lane + i])) return false;
    }
    for (int i = 0; i < coverage->count; i++) coverage->digits[i].weight = weights[i];
    return add_conditions(coverage, store) && cover_ranges(coverage, cover);
}

/* ---- stores together ---- */

static bool same_ranges(const StoreCover *a, const StoreCover *b) {
    bool same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++)
        same = strcmp(a->ranges[i].step, b->ranges[i].step) == 0 &&
               strcmp(a->ranges[i].length, b->ranges[i].length) == 0;
    return same;
}

/// Which of the covers starts at `base`; -1: none.
static int cover_at(const StoreCover *covers, int count, const Poly *base) {
    for (int i = 0; i < count; i++)
        if (poly_equal(covers[i].base, base)) return i;
    return -1;
}

/// Stores side by side, at equal distances from 0 on, as one with a further range.
static bool join_covers(const StoredSearch *coverage, StoreCover *covers, int count,
                        StoreCover *all) {
    Arena *arena = coverage->arena;
    int first = cover_at(covers, count, poly_constant(arena, 0));
    if (first < 0) return false;
    *all = covers[first];
    for (int i = 0; i < count; i++) {
        const Poly *distance = covers[i].base;
        bool is_row = i != first;
        for (int k = 0; k < count && is_row; k++) {
            int at =
                cover_at(covers, count, poly_multiply(arena, distance, poly_constant(arena, k)));
            is_row = at >= 0 && same_ranges(&covers[at], all);
        }
        if (is_row)
            return add_range(all, poly_text(coverage, distance), arena_printf(arena, "%d", count));
    }
    return true;
}

typedef struct GradientStores {
    Arena *arena;
    const Value *gradient;
    Op *stores[STORED_MOST_STORES], *loads[STORED_MOST_STORES];
    int count, load_count;
    bool may_load;  // where it stores
    bool is_more;   // something else is done with the buffer
} GradientStores;

/// Whether a store has the place and the mask of the load.
static bool is_stored_where_loaded(const GradientStores *found, Op *load) {
    Access loaded = access_of(found->arena, load);
    for (int i = 0; i < found->count; i++) {
        Access stored = access_of(found->arena, found->stores[i]);
        if (found->stores[i]->operands[0] == load->operands[0] && stored.mask == loaded.mask)
            return true;
    }
    return false;
}

static bool visit_store(void *context, Op *op) {
    GradientStores *found = context;
    if (!op_is_access(op)) return true;
    Access access = access_of(found->arena, op);
    if (access.parameter != found->gradient) return true;
    if (op->code == OP_STORE && found->count < STORED_MOST_STORES)
        found->stores[found->count++] = op;
    else if (op->code == OP_LOAD && found->may_load && found->load_count < STORED_MOST_STORES)
        found->loads[found->load_count++] = op;
    else
        found->is_more = true;
    return true;
}

static const char *stored_text(StoredSearch *coverage, Function *backward, const Value *gradient,
                               bool may_load) {
    Arena *arena = coverage->arena;
    GradientStores found = {.arena = arena, .gradient = gradient, .may_load = may_load};
    region_walk(backward->body, visit_store, &found);
    if (found.is_more || found.count == 0) return NULL;
    for (int i = 0; i < found.load_count; i++)
        if (!is_stored_where_loaded(&found, found.loads[i])) return NULL;
    StoreCover *covers = ARENA_ARRAY(arena, StoreCover, found.count), all;
    int count = 0;
    for (int i = 0; i < found.count; i++)
        count += store_cover(coverage, found.stores[i], &covers[count]);
    if (!join_covers(coverage, covers, count, &all)) return NULL;
    Buffer out = buffer_new(arena);
    for (int i = 0; i < all.count; i++)
        buffer_printf(&out, "%s(%s, %s)", i ? ", " : "", all.ranges[i].step, all.ranges[i].length);
    return arena_printf(arena, "[%s]", buffer_text(&out));
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

static StoredSearch *search_new(Arena *arena, const Function *function,
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

typedef struct SlicesSearch {
    StoredSearch *coverage;
    const Value *most;
    const char *programs;
} SlicesSearch;

static bool visit_slices(void *context, Op *op) {
    SlicesSearch *search = context;
    if (op->code != OP_MINIMUM) return true;
    for (int i = 0; i < 2; i++) {
        if (op->operands[i] != search->most) continue;
        const Poly *count = value_poly(search->coverage->arena, op->operands[1 - i]);
        search->programs = poly_text(search->coverage, with_programs(search->coverage, count));
    }
    return !search->programs;
}

/// The programs that share sums, where these are all along some axes of the grid.
static const char *programs_text(StoredSearch *coverage, const Function *backward,
                                 const Value *most) {
    SlicesSearch search = {coverage, most, NULL};
    region_walk(backward->body, visit_slices, &search);
    const char *at = search.programs;
    for (; at && str_starts(str_from(at), "grid."); at += strlen(" * ")) {
        at += strlen("grid.0");
        if (!*at) return search.programs;
        if (!str_starts(str_from(at), " * ")) break;
    }
    return NULL;
}

static const Value *parameter_for(const Function *backward, const BackwardLaunch *launch,
                                  ArgumentUse use, const char *of) {
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == use && (!of || strcmp(launch->arguments[i].of, of) == 0))
            return backward->parameters[i].value;
    return NULL;
}

void coverage_describe(Arena *arena, Function *backward, BackwardLaunch *launch) {
    StoredSearch *coverage = search_new(arena, backward, launch);
    const Value *most = parameter_for(backward, launch, ARGUMENT_SLICES, NULL);
    const char *programs = NULL;
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == ARGUMENT_SLICES)
            programs = launch->arguments[i].programs = programs_text(coverage, backward, most);
    for (int i = 0; i < launch->argument_count; i++) {
        BackwardArgument *argument = &launch->arguments[i];
        if (argument->use != ARGUMENT_GRADIENT || argument->is_program_sum) continue;
        if (argument->is_parts && !programs) continue;
        coverage->most = argument->is_parts ? most : NULL;
        coverage->stride = argument->is_parts
                               ? parameter_for(backward, launch, ARGUMENT_PART_STRIDE, argument->of)
                               : NULL;
        argument->stored = stored_text(coverage, backward, backward->parameters[i].value, false);
    }
}

void coverage_outputs(Arena *arena, Function *forward, int count, Backward *result) {
    BackwardLaunch launch = {
        .arguments = ARENA_ARRAY(arena, BackwardArgument, forward->parameter_count + 1),
        .argument_count = forward->parameter_count,
    };
    for (int i = 0; i < forward->parameter_count; i++) {
        BackwardArgument *argument = &launch.arguments[i];
        argument->name = argument->of = forward->parameters[i].name;
        argument->use = i < count ? ARGUMENT_SAME : ARGUMENT_SCRATCH;
    }
    StoredSearch *coverage = search_new(arena, forward, &launch);
    result->stored = ARENA_ARRAY(arena, const char *, count + 1);
    for (int i = 0; i < count && i < forward->parameter_count; i++)
        result->stored[i] = stored_text(coverage, forward, forward->parameters[i].value, true);
}

static int launches_taking(const Backward *result, const char *name) {
    int count = 0;
    for (int i = 0; i < result->launch_count; i++)
        for (int k = 0; k < result->launches[i].argument_count; k++)
            count += strcmp(result->launches[i].arguments[k].name, name) == 0;
    return count;
}

static void settle_launch(const Backward *result, BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count; i++) {
        BackwardArgument *argument = &launch->arguments[i];
        if (launches_taking(result, argument->name) == 1) continue;
        argument->stored = argument->same_as = NULL;
    }
    for (int i = 0; i < launch->argument_count; i++) {
        const char *other = launch->arguments[i].same_as;
        for (int k = 0; other && k < launch->argument_count; k++)
            if (launch->arguments[k].use == ARGUMENT_GRADIENT &&
                strcmp(launch->arguments[k].name, other) == 0 &&
                launches_taking(result, other) != 1)
                launch->arguments[i].same_as = NULL;
    }
}

void coverage_settle(Backward *result) {
    for (int i = 0; i < result->launch_count; i++) settle_launch(result, &result->launches[i]);
    settle_launch(result, &result->whole);
}
