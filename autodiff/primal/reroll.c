// From a loop and the same statements behind it to a loop with one iteration more. What stands behind is matched, value by value,
// with what the loop carries out of an iteration: with its bound in the variable's place, and what it has carried out in the place
// of what it carries in. Masks may say more than those in the loop.
#include "autodiff/primal/reroll.h"

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/order.h"
#include "autodiff/rewrite/rewrite.h"

/// Values that one search compares, and quotients of quotients in a loop's end. Beyond: the loop stays as it is.
enum { MOST_STEPS = 4000, DEEPEST = 4 };

typedef LIST(Value *) Values;

/// A load of the loop and the one that stands for it behind.
typedef struct LoadPair {
    Op *inside, *behind;
} LoadPair;

typedef struct Rolling {
    Arena *arena;
    Function *function;
    Op *loop;
    const Poly *end, *step;  // the loop's
    Value *quotient;         // `x // y` of which the end is a multiple; or NULL
    const Poly *per;         // so many times
    Op *branch;              // around what stands behind; or NULL
    int side;
    Map seen;  // value behind the loop -> the loop's own
    LIST(LoadPair) loads;
    Values last;  // of what the loop carries out: what it is behind all; NULL: nobody asks
    int left;
} Rolling;

/* ---- numbers ---- */

static bool is_whole_number(const Value *value) {
    return value->type.kind == TYPE_NUMBER && value->type.rank == 0 &&
           dtype_is_integer(value->type.element);
}

static Value *variable_of(const Rolling *rolling) {
    return rolling->loop->regions[0]->arguments[0];
}

/// `x % y` where the loop's end is made of `x // y`; or NULL.
static Value *find_remainder(const Rolling *rolling, const Poly *number) {
    Arena *arena = rolling->arena;
    const Op *quotient = rolling->quotient->op;
    for (int t = 0; t < number->count; t++)
        for (int i = 0; i < number->terms[t].atom_count; i++) {
            Value *atom = number->terms[t].atoms[i];
            const Op *op = atom->op;
            if (op && op->code == OP_MOD && !atom->type.rank &&
                poly_equal(value_poly(arena, op->operands[0]),
                           value_poly(arena, quotient->operands[0])) &&
                poly_equal(value_poly(arena, op->operands[1]),
                           value_poly(arena, quotient->operands[1])))
                return atom;
        }
    return NULL;
}

/// `x - x // y * y` for the quotient: 0 or more.
static const Poly *remainder_of(const Rolling *rolling) {
    const Op *op = rolling->quotient->op;
    const Poly *whole = poly_multiply(rolling->arena, value_poly(rolling->arena, op->operands[1]),
                                      poly_atom(rolling->arena, rolling->quotient));
    return poly_subtract(rolling->arena, value_poly(rolling->arena, op->operands[0]), whole);
}

static const Poly *with_quotient(const Rolling *rolling, const Poly *number) {
    Value *remainder = rolling->quotient ? find_remainder(rolling, number) : NULL;
    if (!remainder) return number;
    return poly_substitute(rolling->arena, number, remainder, remainder_of(rolling));
}

static const Poly *number_of(const Rolling *rolling, Value *value) {
    return with_quotient(rolling, value_poly(rolling->arena, value));
}

/// How much a number grows with the loop's end, and so with its variable; NULL: not at all.
static const Poly *growth_of(const Rolling *rolling, const Poly *number) {
    const Poly *growth, *rest;
    if (!rolling->quotient ||
        !poly_split(rolling->arena, number, rolling->quotient, &growth, &rest) ||
        poly_is_zero(growth))
        return NULL;
    return poly_divide_exact(rolling->arena, growth, rolling->per);
}

/* ---- the same, behind the loop ---- */

static bool match(Rolling *rolling, Value *x, Value *z);

static void sum_terms(Arena *arena, Value *sum, Values *terms) {
    const Op *op = sum->op;
    if (op && op->code == OP_ADD) {
        sum_terms(arena, op->operands[0], terms);
        sum_terms(arena, op->operands[1], terms);
    } else {
        LIST_PUSH(arena, terms, sum);
    }
}

/// Those of the terms that are left as one affine form, by the lanes of a tile of that rank. False where one is none.
static bool add_forms(const Rolling *rolling, const Values *terms, int rank, Affine *sum) {
    Arena *arena = rolling->arena;
    *sum = (Affine){.known = true, .rank = rank, .base = poly_constant(arena, 0)};
    for (int i = 0; i < rank; i++) sum->lane[i] = poly_constant(arena, 0);
    for (LIST_EACH(int, i, *terms)) {
        Value *term = terms->items[i];
        if (!term) continue;
        if (term->type.kind != TYPE_NUMBER || term->type.rank > rank) return false;
        Affine form = affine_of(arena, term);
        if (!form.known || form.wrapped) return false;
        sum->base = poly_add(arena, sum->base, form.base);
        for (int k = 0; k < form.rank; k++) {
            int at = k + rank - form.rank;
            sum->lane[at] = poly_add(arena, sum->lane[at], form.lane[k]);
        }
    }
    return true;
}

static bool is_same_number(const Rolling *rolling, const Poly *x, const Poly *z) {
    x = poly_substitute(rolling->arena, with_quotient(rolling, x), variable_of(rolling),
                        rolling->end);
    return poly_equal(x, with_quotient(rolling, z));
}

/// Whether two addresses are the same sum: term by term, and of those that are left as numbers of the lanes.
static bool match_address(Rolling *rolling, Value *x, Value *z) {
    if (match(rolling, x, z)) return true;
    Values terms = {0}, others = {0};
    sum_terms(rolling->arena, x, &terms);
    sum_terms(rolling->arena, z, &others);
    for (LIST_EACH(int, i, terms))
        for (int k = 0; k < others.count && terms.items[i]; k++) {
            if (!others.items[k] || !match(rolling, terms.items[i], others.items[k])) continue;
            terms.items[i] = others.items[k] = NULL;
        }
    Affine sums[2];
    if (!type_equal(x->type, z->type) || !add_forms(rolling, &terms, x->type.rank, &sums[0]) ||
        !add_forms(rolling, &others, x->type.rank, &sums[1]))
        return false;
    bool is_same = is_same_number(rolling, sums[0].base, sums[1].base);
    for (int i = 0; i < x->type.rank; i++)
        is_same = is_same && is_same_number(rolling, sums[0].lane[i], sums[1].lane[i]);
    if (is_same) map_set_pointer(&rolling->seen, z, x);
    return is_same;
}

static bool match_load(Rolling *rolling, Op *x, Op *z) {
    if (!op_is_stable_load(rolling->function, x) || !op_is_stable_load(rolling->function, z))
        return false;
    if (x->keyword_count || z->keyword_count ||
        !match_address(rolling, x->operands[0], z->operands[0]))
        return false;
    int other = op_parameter_index(x->code, STR("other"));
    Value *fill_x = other < x->operand_count ? x->operands[other] : NULL,
          *fill_z = other < z->operand_count ? z->operands[other] : NULL;
    if (access_mask(x) && access_mask(z) && (fill_x || fill_z) && !match(rolling, fill_x, fill_z))
        return false;
    if (access_mask(x) && !access_mask(z)) return false;
    for (LIST_EACH(int, i, rolling->loads)) {
        const LoadPair *known = &rolling->loads.items[i];
        if (known->inside == x || known->behind == z)
            return known->inside == x && known->behind == z;
    }
    LIST_PUSH(rolling->arena, &rolling->loads, (LoadPair){x, z});
    return true;
}

static bool visit_pure(void *context, Op *op) {
    (void)context;
    return op->code == OP_YIELD || op_is_pure(op);
}

/// Branches that only compute, as casts under a flag are: result `index` of both.
static bool match_branches(Rolling *rolling, Op *x, Op *z, int index) {
    if (!match(rolling, x->operands[0], z->operands[0])) return false;
    for (int r = 0; r < 2; r++) {
        if (!region_walk(x->regions[r], visit_pure, NULL) ||
            !region_walk(z->regions[r], visit_pure, NULL) ||
            !match(rolling, region_terminator(x->regions[r])->operands[index],
                   region_terminator(z->regions[r])->operands[index]))
            return false;
    }
    return true;
}

static bool match_ops(Rolling *rolling, Op *x, Op *z, int index) {
    if (x->code == OP_IF && z->code == OP_IF) return match_branches(rolling, x, z, index);
    if (x->code != z->code || x->region_count || z->region_count) return false;
    if (x->code == OP_LOAD) return match_load(rolling, x, z);
    if (!op_is_pure(x) || x->operand_count != z->operand_count || x->keyword_count ||
        z->keyword_count)
        return false;
    for (int i = 0; i < x->operand_count; i++)
        if (!match(rolling, x->operands[i], z->operands[i])) return false;
    return true;
}

static bool match_argument(Rolling *rolling, const Value *x, Value *z) {
    const Op *loop = rolling->loop;
    int index = x->index - 1;
    if (index < 0) return false;  // the variable itself is a number
    Value *next = region_terminator(loop->regions[0])->operands[index],
          *first = loop->operands[3 + index];
    if (z == loop->results[index]) return true;
    return (next == x || next == first) && match(rolling, first, z);
}

static bool is_same_constant(const Value *x, const Value *z) {
    double a, b;
    if (value_is_none(x) && value_is_none(z)) return true;
    return value_is_number(x, &a) && value_is_number(z, &b) && a == b;
}

/// Whether `z`, behind the loop, is what `x` would be in its next iteration.
static bool match(Rolling *rolling, Value *x, Value *z) {
    const Region *body = rolling->loop->regions[0];
    if (!x || !z) return x == z;
    if (rolling->left-- <= 0) return false;
    if (map_get_pointer(&rolling->seen, z) == x) return true;
    if (x->region == body && !x->op) {
        if (x->index > 0) return match_argument(rolling, x, z);
    } else if (x == z) {
        return true;  // of both places
    }
    if (!type_equal(x->type, z->type)) return false;
    if (x->constant || z->constant) return is_same_constant(x, z);
    bool is_same = false;
    if (is_whole_number(x)) {
        is_same =
            is_same_number(rolling, value_poly(rolling->arena, x), value_poly(rolling->arena, z));
    }
    if (!is_same)
        is_same =
            x->op && z->op && x->index == z->index && match_ops(rolling, x->op, z->op, x->index);
    if (is_same) map_set_pointer(&rolling->seen, z, x);
    return is_same;
}

/* ---- what stands behind ---- */

static void forget(Rolling *rolling) {
    rolling->seen = map_new(rolling->arena);
    rolling->loads.count = 0;
    rolling->left = MOST_STEPS;
}

static bool is_last_of(Rolling *rolling, Value *next, Value *value) {
    int loads = rolling->loads.count;
    if (match(rolling, next, value)) return true;
    rolling->loads.count = loads;
    return false;
}

/// What the loop carries out of an iteration as `next` is behind the branch, or the place behind the loop; NULL: not known.
static Value *last_of(Rolling *rolling, Value *next, int index) {
    Value *carried = rolling->loop->results[index];
    if (!next->op) return NULL;
    if (rolling->branch) {
        for (int i = 0; i < rolling->branch->result_count; i++) {
            Value *ends[2];
            for (int r = 0; r < 2; r++)
                ends[r] = region_terminator(rolling->branch->regions[r])->operands[i];
            if (ends[1 - rolling->side] == carried &&
                is_last_of(rolling, next, ends[rolling->side]))
                return rolling->branch->results[i];
        }
        return NULL;
    }
    for (Op *op = rolling->loop->next; op; op = op->next)
        for (int i = 0; i < op->result_count && op->code == next->op->code; i++)
            if (is_last_of(rolling, next, op->results[i])) return op->results[i];
    return NULL;
}

/// Finds for all that the loop carries out and somebody reads what it is behind what is left.
static bool find_last(Rolling *rolling, const Map *readers) {
    const Op *loop = rolling->loop, *end = region_terminator(loop->regions[0]);
    bool any = false;
    forget(rolling);
    rolling->last.count = 0;
    for (int i = 0; i < loop->result_count; i++) {
        Value *last = NULL, *next = end->operands[i];
        bool moves = next != loop->regions[0]->arguments[i + 1] && next != loop->operands[3 + i];
        if (moves && value_readers(readers, loop->results[i])->count) {
            last = last_of(rolling, next, i);
            if (!last) return false;
            any = true;
        }
        LIST_PUSH(rolling->arena, &rolling->last, last);
    }
    return any;
}

static bool is_last(const Rolling *rolling, const Value *value) {
    for (LIST_EACH(int, i, rolling->last))
        if (rolling->last.items[i] == value) return true;
    return false;
}

/// Whether only what was matched reads a value: nobody else sees what it was before.
static bool is_read_within(const Rolling *rolling, const Map *readers, const Value *value) {
    const OpList *list = value_readers(readers, value);
    for (LIST_EACH(int, i, *list)) {
        const Op *op = list->items[i];
        bool is_end =
            rolling->branch && op->code == OP_YIELD && op->parent->parent == rolling->branch;
        bool is_matched = false;
        if (op->code == OP_YIELD && !is_end) op = op->parent->parent;
        for (int k = 0; k < op->result_count; k++)
            is_matched = is_matched || map_has_pointer(&rolling->seen, op->results[k]);
        if (!is_end && !is_matched) return false;
    }
    return true;
}

typedef struct DependenceSearch {
    const Rolling *rolling;
    Map known;  // value -> 1: it is not made of what the loop carries out; 2: it is
} DependenceSearch;

static bool is_of_results(DependenceSearch *search, const Value *value) {
    if (!value || !value->op) return false;
    if (value->op == search->rolling->loop)
        return search->rolling->last.items[value->index] != NULL;
    if (!map_has_pointer(&search->rolling->seen, value)) return false;
    intptr_t known = (intptr_t)map_get_pointer(&search->known, value);
    if (known) return known == 2;
    bool found = false;
    for (int i = 0; i < value->op->operand_count; i++)
        found = found || is_of_results(search, value->op->operands[i]);
    map_set_pointer(&search->known, value, (void *)(intptr_t)(found ? 2 : 1));
    return found;
}

/// A branch's other results must not be made of what the loop carries out.
static bool branch_ends_within(const Rolling *rolling, DependenceSearch *search) {
    if (!rolling->branch) return true;
    for (int i = 0; i < rolling->branch->result_count; i++) {
        if (is_last(rolling, rolling->branch->results[i])) continue;
        for (int r = 0; r < 2; r++) {
            const Value *end = region_terminator(rolling->branch->regions[r])->operands[i];
            if (is_of_results(search, end)) return false;
        }
    }
    return true;
}

/// Whether what was matched from `op` on, and is made of what the loop carries out, is read by what was matched alone.
static bool values_are_alone(DependenceSearch *search, const Map *readers, const Op *op) {
    const Rolling *rolling = search->rolling;
    for (; op; op = op->next)
        for (int i = 0; i < op->result_count; i++) {
            const Value *value = op->results[i];
            if (map_has_pointer(&rolling->seen, value) && is_of_results(search, value) &&
                !is_last(rolling, value) && !is_read_within(rolling, readers, value))
                return false;
        }
    return true;
}

/// Whether nobody but what was matched sees what the loop carried out, before the rest was done.
static bool rest_is_alone(const Rolling *rolling, const Map *readers) {
    DependenceSearch search = {rolling, map_new(rolling->arena)};
    for (LIST_EACH(int, i, rolling->last))
        if (rolling->last.items[i] && !is_read_within(rolling, readers, rolling->loop->results[i]))
            return false;
    if (!branch_ends_within(rolling, &search)) return false;
    return values_are_alone(&search, readers, rolling->loop->next) &&
           (!rolling->branch ||
            values_are_alone(&search, readers, rolling->branch->regions[rolling->side]->first));
}

/* ---- masks ---- */

/// The loop's end where the branch goes the way of what is left.
static Value *end_of_side(const Rolling *rolling, int side) {
    Value *end = rolling->loop->operands[1];
    const Op *choice = end->op;
    if (!rolling->branch || !choice || choice->code != OP_IF ||
        choice->operands[0] != rolling->branch->operands[0])
        return end;
    return region_terminator(choice->regions[side])->operands[end->index];
}

static void mask_parts(Arena *arena, Value *mask, Values *parts) {
    const Op *op = mask ? mask->op : NULL;
    if (op && op->code == OP_AND) {
        mask_parts(arena, op->operands[0], parts);
        mask_parts(arena, op->operands[1], parts);
    } else if (mask) {
        LIST_PUSH(arena, parts, mask);
    }
}

/// Whether a value is there in front of the loop.
static bool is_in_front(const Rolling *rolling, const Value *value) {
    const Op *op = value->op;
    if (value->constant || !op) return true;
    if (op->parent == rolling->loop->parent) return op_precedes(op, rolling->loop);
    for (const Region *region = rolling->loop->parent; region;
         region = region->parent ? region->parent->parent : NULL)
        if (region == op->parent) return true;
    return false;
}

static bool is_made_in_front(const Rolling *rolling, const Poly *number) {
    for (int t = 0; t < number->count; t++)
        for (int i = 0; i < number->terms[t].atom_count; i++)
            if (!is_in_front(rolling, number->terms[t].atoms[i])) return false;
    return true;
}

/// The loop's own value that was found to be the same behind it, where it is there already; or NULL.
static Value *own_value(const Rolling *rolling, const Builder *b, const Value *value) {
    Value *own = map_get_pointer(&rolling->seen, value);
    bool is_there =
        own && own->op && own->op->parent == b->region && op_precedes(own->op, b->before);
    return is_there ? own : NULL;
}

/// What a value behind the loop is in an iteration, made there: with the variable in the place of the end. NULL where it is not made of
/// arithmetic alone.
static Value *in_iteration(const Rolling *rolling, Builder *b, Value *value, Map *copies) {
    Value *known = map_get_pointer(copies, value);
    if (known || !value) return known;
    if (is_whole_number(value) && !value->constant) {
        const Poly *number = number_of(rolling, value), *growth = growth_of(rolling, number);
        if (growth && is_made_in_front(rolling, number)) {
            const Poly *variable = poly_atom(rolling->arena, variable_of(rolling)),
                       *less = poly_subtract(rolling->arena, rolling->end, variable);
            number =
                poly_subtract(rolling->arena, number, poly_multiply(rolling->arena, growth, less));
            Value *own = own_value(rolling, b, value);
            if (own && poly_equal(number_of(rolling, own), number)) return own;
            return build_poly(b, number);
        }
    }
    Op *op = value->op;
    if (!op || value->constant) return value;
    if (op->region_count || !op_is_pure(op)) return is_in_front(rolling, value) ? value : NULL;
    bool changes = false;
    for (int i = 0; i < op->operand_count; i++) {
        if (!op->operands[i]) continue;
        Value *operand = in_iteration(rolling, b, op->operands[i], copies);
        if (!operand) return NULL;
        changes = changes || operand != op->operands[i];
        map_set_pointer(copies, op->operands[i], operand);
    }
    Value *own = own_value(rolling, b, value);
    bool is_own = own && own->op;
    for (int i = 0; i < op->operand_count && is_own; i++)
        is_own = own->op->operands[i] == value_mapped(copies, op->operands[i]);
    if (is_own) return own;
    if (changes || !is_in_front(rolling, value)) op_clone(b, op, copies);
    return value_mapped(copies, value);
}

/// Whether a part of a mask leaves nothing out of the iterations that the loop has: `lane < bound`, where there are no more lanes.
static bool is_needless(const Rolling *rolling, const Value *part) {
    Arena *arena = rolling->arena;
    if (end_of_side(rolling, rolling->side) != rolling->loop->operands[1])
        return false;  // the branch has another end the other way
    const Op *op = part->op;
    while (op && (op->code == OP_EXPAND_DIMS || op->code == OP_BROADCAST_TO))
        op = op->operands[0]->op;
    if (!op || (op->code != OP_LT && op->code != OP_GT)) return false;
    Value *low = op->operands[op->code == OP_LT ? 0 : 1],
          *high = op->operands[op->code == OP_LT ? 1 : 0];
    Affine lanes = affine_of(arena, low), bound = affine_of(arena, high);
    int64_t one;
    int lane = -1;
    if (!lanes.known || lanes.wrapped || !bound.known || bound.wrapped) return false;
    for (int i = 0; i < bound.rank; i++)
        if (!poly_is_zero(bound.lane[i])) return false;
    for (int i = 0; i < lanes.rank; i++) {
        if (poly_is_zero(lanes.lane[i])) continue;
        if (lane >= 0 || !poly_is_constant(lanes.lane[i], &one) || one != 1) return false;
        lane = i;
    }
    if (lane < 0 || low->type.rank != lanes.rank || !low->type.dims[lane]) return false;
    const Poly *slack = with_quotient(rolling, poly_subtract(arena, bound.base, lanes.base));
    const Poly *growth = growth_of(rolling, slack);
    if (!growth ||
        !poly_is_nonnegative(arena, poly_subtract(arena, poly_constant(arena, 0), growth)))
        return false;
    slack = poly_subtract(arena, slack, poly_multiply(arena, growth, rolling->step));
    slack = poly_subtract(arena, slack, low->type.dims[lane]);
    return poly_is_nonnegative(arena, poly_subtract(arena, slack, remainder_of(rolling)));
}

/// What the mask of a load in the loop lacks.
static bool missing_parts(Rolling *rolling, const LoadPair *pair, Values *missing) {
    Values inside = {0}, behind = {0};
    mask_parts(rolling->arena, access_mask(pair->inside), &inside);
    mask_parts(rolling->arena, access_mask(pair->behind), &behind);
    int met = 0;
    for (LIST_EACH(int, k, behind)) {
        bool found = false;
        for (int i = 0; i < inside.count && !found; i++) {
            found = inside.items[i] && match(rolling, inside.items[i], behind.items[k]);
            if (found) inside.items[i] = NULL;
        }
        met += found;
        if (!found) LIST_PUSH(rolling->arena, missing, behind.items[k]);
    }
    return met == inside.count;
}

/// A mask that holds in the iterations that the loop has. NULL where its shape is not understood.
static Value *in_whole_blocks(const Rolling *rolling, Builder *b, Value *mask) {
    Value *number = variable_of(rolling);
    if (mask->type.rank) {  // as wide as the mask: interpreters take no other truth for a mask's
        Value *shape = build_shape(b, mask->type);
        if (!shape) return NULL;
        number = build_ternary(b, OP_FULL, shape, number, build_dtype(b, number->type.element));
    }
    return build_binary(b, OP_OR, mask, build_binary(b, OP_LT, number, rolling->loop->operands[1]));
}

/// The masks of the loop's loads, with what those behind it have besides. False where that cannot be said in the loop.
static bool make_masks(Rolling *rolling, Value **masks) {
    int count = rolling->loads.count;
    for (int i = 0; i < count; i++) {
        const LoadPair *pair = &rolling->loads.items[i];
        Values missing = {0};
        if (!missing_parts(rolling, pair, &missing) || rolling->loads.count > count) return false;
        Builder b = {.function = rolling->function,
                     .region = pair->inside->parent,
                     .before = pair->inside,
                     .range = pair->inside->range};
        Value *mask = access_mask(pair->inside);
        Map copies = map_new(rolling->arena);
        for (LIST_EACH(int, k, missing)) {
            Value *part = in_iteration(rolling, &b, missing.items[k], &copies);
            if (!part) return false;
            if (!is_needless(rolling, missing.items[k])) {
                part = in_whole_blocks(rolling, &b, part);
                if (!part) return false;
            }
            mask = mask ? build_binary(&b, OP_AND, mask, part) : part;
        }
        masks[i] = mask;
    }
    return true;
}

/* ---- the longer loop ---- */

/// The end of the loop with what is left, where the branch goes that way, and of the loop alone.
static bool find_ends(const Rolling *rolling, Builder *b, Value **longer, Value **same) {
    Op *loop = rolling->loop;
    Map copies = map_new(rolling->arena);
    *longer = end_of_side(rolling, rolling->side);
    *same = end_of_side(rolling, 1 - rolling->side);
    const Poly *more = poly_add(rolling->arena, value_poly(rolling->arena, *longer), rolling->step);
    if (!is_made_in_front(rolling, more)) return false;
    *longer = *longer == loop->operands[1] ? build_binary(b, OP_ADD, *longer, loop->operands[2])
                                           : poly_copied(b, more, &copies);
    if (!rolling->branch || poly_equal(more, value_poly(rolling->arena, *same)))
        *same = *longer;
    else if (*same != loop->operands[1])
        *same = value_copied(b, *same, &copies);
    return *longer && *same;
}

/// Whether the end is never below 0, where no size is.
static bool ends_behind_start(const Rolling *rolling) {
    const Poly *end = with_quotient(rolling, rolling->end);
    for (int t = 0; t < end->count; t++)
        if (end->terms[t].coefficient < 0) return false;
    return true;
}

static bool extend(Rolling *rolling) {
    Op *loop = rolling->loop;
    Builder b = {.function = rolling->function,
                 .region = loop->parent,
                 .before = loop,
                 .range = loop->range};
    Value *longer, *same;
    if (!find_ends(rolling, &b, &longer, &same)) return false;
    if (!ends_behind_start(
            rolling)) {  // what stands behind runs also where the loop ends in front of 0
        if (longer != same) return false;
        op_set_operand(loop, 0, build_binary(&b, OP_MINIMUM, loop->operands[0], loop->operands[1]));
    }
    if (longer == same) {
        op_set_operand(loop, 1, longer);
        return true;
    }
    Map copies = map_new(rolling->arena);
    Value *condition = value_copied(&b, rolling->branch->operands[0], &copies);
    if (!condition) return false;
    Op *choice = op_append(&b, OP_IF, &condition, 1, 0);
    for (int side = 0; side < 2; side++) {
        Builder inner = {.function = rolling->function, .region = op_add_region(&b, choice)};
        op_append(&inner, OP_YIELD, side == rolling->side ? &longer : &same, 1, 0);
    }
    Type type = loop->operands[1]->type;
    type.is_constexpr = false;
    Value *end = op_append_result(rolling->function, choice, type);
    end->name = "end";
    op_set_operand(loop, 1, end);
    return true;
}

static bool visit_acts(void *context, Op *op) {
    bool *acts = context;
    bool is_harmless =
        op_is_pure(op) || op->code == OP_LOAD || op->code == OP_IF || op->code == OP_YIELD;
    *acts = *acts || !is_harmless;
    return !*acts;
}

/// Whether the op does nothing but give values that nobody reads.
static bool is_dead(Op *op, const Map *uses) {
    bool acts = op->code == OP_YIELD || op->result_count == 0;
    for (int i = 0; i < op->result_count; i++)
        acts = acts || map_has_pointer(uses, op->results[i]) || op->results[i]->type.is_constexpr;
    if (!acts) visit_acts(&acts, op);
    for (int r = 0; r < op->region_count && !acts; r++)
        region_walk(op->regions[r], visit_acts, &acts);
    return !acts;
}

static void drop_dead_behind(const Rolling *rolling) {
    for (bool any = true; any;) {
        any = false;
        Map uses = function_count_uses(rolling->arena, rolling->function);
        for (Op *op = rolling->loop->next, *next; op; op = next) {
            next = op->next;
            if (!is_dead(op, &uses)) continue;
            op_remove(op);
            any = true;
        }
    }
}

static bool roll(Rolling *rolling) {
    Value **masks = ARENA_ARRAY(rolling->arena, Value *, rolling->loads.count + 1);
    if (!make_masks(rolling, masks) || !extend(rolling)) return false;
    for (LIST_EACH(int, i, rolling->loads)) {
        Op *inside = rolling->loads.items[i].inside;
        const Op *behind = rolling->loads.items[i].behind;
        if (masks[i] == access_mask(inside)) continue;
        int other = op_parameter_index(inside->code, STR("other"));
        Value *fill = other < behind->operand_count ? behind->operands[other] : NULL;
        bool is_filled = access_mask(inside) != NULL;
        int mask = op_parameter_index(inside->code, STR("mask"));
        while (inside->operand_count <= other) op_append_operand(rolling->function, inside, NULL);
        op_set_operand(inside, mask, masks[i]);
        if (!is_filled) op_set_operand(inside, other, fill);
    }
    for (LIST_EACH(int, i, rolling->last))
        if (rolling->last.items[i])
            region_replace_uses(rolling->function->body, rolling->last.items[i],
                                rolling->loop->results[i]);
    drop_dead_behind(rolling);
    return true;
}

/* ---- loops ---- */

/// The quotient that the end of a loop is made of: one that is there, or that of a remainder in it, made for it.
static void find_quotient(Rolling *rolling) {
    const Poly *rest, *end = rolling->end;
    rolling->quotient = NULL;
    for (int t = 0; t < end->count; t++)
        for (int i = 0; i < end->terms[t].atom_count; i++) {
            Value *atom = end->terms[t].atoms[i];
            OpCode code = atom->op ? atom->op->code : OP_COUNT;
            if (atom->type.rank || (code != OP_FLOORDIV && code != OP_MOD)) continue;
            Builder b = {.function = rolling->function,
                         .region = rolling->loop->parent,
                         .before = rolling->loop,
                         .range = rolling->loop->range};
            rolling->quotient =
                code == OP_MOD
                    ? build_binary(&b, OP_FLOORDIV, atom->op->operands[0], atom->op->operands[1])
                    : atom;
            rolling->end = with_quotient(rolling, end);
            bool is_quotient =
                rolling->quotient->op && rolling->quotient->op->code == OP_FLOORDIV &&
                poly_split(rolling->arena, rolling->end, rolling->quotient, &rolling->per, &rest);
            if (is_quotient && !poly_is_zero(rolling->per)) return;
            rolling->end = end;
            rolling->quotient = NULL;
        }
}

/// Whether a number is made of sizes alone: parameters, and quotients and remainders of what is 0 or more where these are at least 1.
static bool is_of_sizes(const Rolling *rolling, const Poly *number, int depth) {
    for (int t = 0; t < number->count; t++)
        for (int i = 0; i < number->terms[t].atom_count; i++) {
            const Value *atom = number->terms[t].atoms[i];
            const Op *op = atom->op;
            if (atom->constant || (!op && atom->region && !atom->region->parent)) continue;
            if (!op || (op->code != OP_FLOORDIV && op->code != OP_MOD) || depth == DEEPEST)
                return false;
            for (int k = 0; k < 2; k++) {
                const Poly *part = value_poly(rolling->arena, op->operands[k]);
                if (!poly_is_nonnegative(rolling->arena, part) ||
                    !is_of_sizes(rolling, part, depth + 1))
                    return false;
            }
        }
    return true;
}

/// Whether one more step is one more iteration.
static bool can_be_longer(Rolling *rolling) {
    const Op *loop = rolling->loop;
    rolling->end = value_poly(rolling->arena, end_of_side(rolling, rolling->side));
    rolling->step = value_poly(rolling->arena, loop->operands[2]);
    if (!is_made_in_front(rolling, rolling->end) || !is_of_sizes(rolling, rolling->end, 0) ||
        !is_of_sizes(rolling, rolling->step, 0))
        return false;
    find_quotient(rolling);
    return poly_is_nonnegative(rolling->arena, rolling->end) &&
           poly_is_nonnegative(rolling->arena, rolling->step) &&
           poly_divide_exact(rolling->arena, rolling->end, rolling->step);
}

static bool roll_up(Rolling *rolling, const Map *readers, Op *branch, int side) {
    rolling->branch = branch;
    rolling->side = side;
    return can_be_longer(rolling) && find_last(rolling, readers) &&
           rest_is_alone(rolling, readers) && roll(rolling);
}

static bool visit_effect(void *context, Op *op) {
    bool *has_effect = context;
    *has_effect = *has_effect ||
                  (op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED));
    return !*has_effect;
}

/// Whether an iteration does more than carry values on: one more of it would be seen.
static bool has_effect(const Op *loop) {
    bool found = false;
    region_walk(loop->regions[0], visit_effect, &found);
    return found;
}

static bool roll_loop(Differentiation *state, const Map *readers, Op *loop) {
    Rolling rolling = {.arena = state->arena, .function = state->primal, .loop = loop};
    int64_t start;
    if (loop->result_count == 0 || !value_is_int(loop->operands[0], &start) || start != 0 ||
        has_effect(loop))
        return false;
    if (roll_up(&rolling, readers, NULL, 0)) return true;
    for (Op *op = loop->next; op; op = op->next)
        for (int side = 0; op->code == OP_IF && side < 2; side++)
            if (op->result_count && roll_up(&rolling, readers, op, side)) return true;
    return false;
}

typedef struct LoopList {
    Arena *arena;
    LIST(Op *) loops;
} LoopList;

static bool visit_loop(void *context, Op *op) {
    LoopList *list = context;
    if (op->code == OP_FOR) LIST_PUSH(list->arena, &list->loops, op);
    return true;
}

bool last_blocks_roll(Differentiation *state) {
    LoopList list = {.arena = state->arena};
    region_walk(state->primal->body, visit_loop, &list);
    bool any = false;
    Map readers = function_readers(state->arena, state->primal);
    for (LIST_EACH(int, i, list.loops)) {
        if (!roll_loop(state, &readers, list.loops.items[i])) continue;
        any = true;
        readers = function_readers(state->arena, state->primal);
    }
    return any;
}
