// Which part of a store's mask says where a tensor ends, and which part only chooses among its elements: zeros for those that are not chosen.
#include "autodiff/extents/fills.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "autodiff/extents/element_ranges.h"
#include "autodiff/extents/wide_loads.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/tape/tape.h"

enum { MASK_OPERAND = 2 };

/// A gradient, and the plain store that is its only access; NULL: it has others.
typedef struct GradientStore {
    const Value *gradient;
    Op *store;
} GradientStore;

typedef struct FillSearch {
    Differentiation *state;
    const BackwardLaunch *launch;
    LIST(GradientStore) stores;
    Op *store;                 // the one that is looked at
    bool reads[PROGRAM_AXES];  // the number of a program
    StoredSearch *coverage;
    Value *terms
        [2 *
         MASK_MOST_TERMS];  // of the mask; behind them, wider ones that hold wherever one of them does
    int own_terms, term_count;
} FillSearch;

static bool is_gradient(const FillSearch *search, const Value *parameter) {
    return parameter && !parameter->op && parameter->index < search->launch->argument_count &&
           search->launch->arguments[parameter->index].use == ARGUMENT_GRADIENT;
}

static bool visit(void *context, Op *op) {
    FillSearch *search = context;
    int64_t axis;
    if (op->code == OP_PROGRAM_ID && value_is_int(op->operands[0], &axis) && axis >= 0 &&
        axis < PROGRAM_AXES)
        search->reads[axis] = true;
    if (!op_is_access(op)) return true;
    const Value *parameter = access_of(search->state->arena, op).parameter;
    if (!is_gradient(search, parameter)) return true;
    for (LIST_EACH(int, i, search->stores)) {
        if (search->stores.items[i].gradient != parameter) continue;
        search->stores.items[i].store = NULL;
        return true;
    }
    GradientStore only = {parameter, op->code == OP_STORE ? op : NULL};
    LIST_PUSH(search->state->arena, &search->stores, only);
    return true;
}

/// The terms of `a & b & c`. False where there are too many.
static bool list_terms(FillSearch *search, Value *mask) {
    const Op *op = mask->op;
    if (op && op->code == OP_AND)
        return list_terms(search, op->operands[0]) && list_terms(search, op->operands[1]);
    if (search->term_count == MASK_MOST_TERMS) return false;
    search->terms[search->term_count++] = mask;
    return true;
}

/// What a whole number is below, whatever the program: the number of programs for the number of one, n for `x % n`. NULL: that is not known.
static Value *most_of(Builder *b, const Value *value) {
    const Op *op = value->op;
    if (value->type.rank || !op) return NULL;
    if (op->code == OP_MOD) return op->operands[1];
    return op->code == OP_PROGRAM_ID ? build_unary(b, OP_NUM_PROGRAMS, op->operands[0]) : NULL;
}

/// `lanes < programs` for `lanes <= program`: what holds wherever the terms do, whatever the program is.
static void add_wider_terms(FillSearch *search, Builder *b) {
    search->own_terms = search->term_count;
    for (int i = 0; i < search->own_terms && search->own_terms <= MASK_MOST_TERMS / 2; i++) {
        const Op *op = search->terms[i]->op;
        bool is_below = op && (op->code == OP_LE || op->code == OP_LT);
        Value *most = is_below ? most_of(b, op->operands[1]) : NULL;
        if (most)
            search->terms[search->term_count++] = build_binary(b, OP_LT, op->operands[0], most);
    }
}

/// Whether the lanes of `own` begin with those of `end`, and end there or before: it is one of its terms, or the same lanes end at something
/// else, too, which is within the row then: no two lanes have one element.
static bool is_ended_by(const Value *own, const Value *end) {
    const Op *op = own->op, *other = end->op;
    if (own == end) return true;
    if (!op || !other) return false;
    if (op->code == OP_AND)
        return is_ended_by(op->operands[0], end) || is_ended_by(op->operands[1], end);
    if (op->code == OP_EXPAND_DIMS && other->code == OP_EXPAND_DIMS)
        return own->type.rank == end->type.rank && op->operands[1] == other->operands[1] &&
               is_ended_by(op->operands[0], other->operands[0]);
    if (op->code == OP_IF && op->result_count == 1) {
        for (int r = 0; r < op->region_count; r++)
            if (!is_ended_by(op->regions[r]->last->operands[0], end)) return false;
        return op->region_count == 2;
    }
    return (op->code == OP_LT || op->code == OP_LE) && other->code == OP_LT &&
           op->operands[0] == other->operands[0];
}

/// Bounds of other accesses that end the lanes of the store, which does not have them: a length that a row has in memory is below
/// what each row has.
static bool visit_bounds(void *context, Op *op) {
    FillSearch *search = context;
    Value *mask =
        op_is_access(op) && op != search->store ? access_of(search->state->arena, op).mask : NULL;
    Value *open[MASK_MOST_TERMS] = {mask};
    for (int count = mask ? 1 : 0; count;) {
        Value *term = open[--count];
        if (term->op && term->op->code == OP_AND && count + 2 <= MASK_MOST_TERMS) {
            open[count++] = term->op->operands[0];
            open[count++] = term->op->operands[1];
            continue;
        }
        bool is_new = search->term_count < search->own_terms + MASK_MOST_TERMS / 2 &&
                      value_is_before(term, search->store) &&
                      is_ended_by(search->store->operands[MASK_OPERAND], term);
        for (int i = 0; i < search->term_count; i++) is_new &= search->terms[i] != term;
        if (is_new) search->terms[search->term_count++] = term;
    }
    return true;
}

/// Whether a loop ends where a mask does: then the elements behind its end are none that are stored.
static bool ends_at_cut(const StoredSearch *coverage, int digit) {
    const Poly *end = coverage->digits[digit].end, *extent = coverage->digits[digit].extent;
    if (end && extent && poly_equal(end, extent)) return true;  // as often as it says
    for (int i = 0; i < coverage->cut_count; i++)
        if (!poly_is_zero(coverage->cuts[i].weights[digit]) &&
            poly_equal(coverage->cuts[i].bound, end))
            return true;
    return !end;
}

/// Whether each digit is in the address, and no element is stored that the ranges do not have.
static bool is_exact(const FillSearch *search, const ElementRanges *cover) {
    const StoredSearch *coverage = search->coverage;
    if (cover->flags || !poly_is_zero(cover->base)) return false;
    for (int i = 0; i < coverage->count; i++) {
        const StoredDigit *digit = &coverage->digits[i];
        bool is_other = false;  // no axis, or one that the loop's digit stands for
        for (int axis = 0; axis < PROGRAM_AXES; axis++)
            is_other |= digit->atom == coverage->programs[axis] &&
                        (!search->reads[axis] ||
                         (coverage->takes_turns[axis] && poly_is_zero(digit->weight)));
        if (is_other || poly_is_one(digit->extent)) continue;
        bool is_cut_off = digit->is_quotient && !digit->extent;  // a last row of fewer
        if (is_cut_off || poly_is_zero(digit->weight)) return false;
        if (!coverage->counts_blocks && !ends_at_cut(coverage, i)) return false;
    }
    return true;
}

/// The terms of a set that stand together in the mask already, or all of them anew; NULL: none.
static Value *mask_of(const FillSearch *search, Builder *b, unsigned set) {
    Value *mask = NULL;
    for (int i = 0; i < search->term_count; i++)
        if (set >> i & 1)
            mask = mask ? build_binary(b, OP_AND, mask, search->terms[i]) : search->terms[i];
    return mask;
}

/// What a store under the terms of a set stores.
static const char *ranges_under(FillSearch *search, Builder *b, unsigned set) {
    Arena *arena = search->state->arena;
    Value *before = search->store->operands[MASK_OPERAND], *mask = mask_of(search, b, set);
    ElementRanges cover;
    op_set_operand(search->store, MASK_OPERAND, mask);
    bool is_known =
        element_ranges(search->coverage, search->store, &cover) && is_exact(search, &cover);
    op_set_operand(search->store, MASK_OPERAND, before);
    if (!is_known) return NULL;
    Buffer out = buffer_new(arena);
    for (int i = 0; i < cover.count; i++)
        buffer_printf(&out, "%s(%s, %s)", i ? ", " : "", cover.ranges[i].step,
                      cover.ranges[i].length);
    return arena_printf(arena, "[%s]", buffer_text(&out));
}

/// The most terms that say where the tensor ends; 0: none do, or all of the mask's own. Its own are taken where they do.
static unsigned find_ends(FillSearch *search, Builder *b, const char **ranges) {
    unsigned own = (1U << search->own_terms) - 1, all = (1U << search->term_count) - 1, best = 0;
    if (ranges_under(search, b, own)) return 0;
    for (unsigned set = 1; set <= all && !(best && set > own); set++) {
        if ((set & own) == own || __builtin_popcount(set) <= __builtin_popcount(best)) continue;
        const char *found = ranges_under(search, b, set);
        if (!found) continue;
        best = set;
        *ranges = found;
    }
    return best;
}

static Value *add_flag(Differentiation *state) {
    Type flag = {.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT1), .is_constexpr = true};
    Value *fill = backward_add_parameter(state, "FILL", flag);
    Parameter *parameter = &state->backward->parameters[fill->index];
    parameter->is_constexpr = true;
    parameter->default_text = STR("False");
    return fill;
}

/// The parameter that a gradient is of; NULL: the backward does not read it.
static const Value *input_of(const FillSearch *search, const Value *gradient) {
    const char *of = search->launch->arguments[gradient->index].of;
    for (int i = 0; i < search->launch->argument_count; i++) {
        const BackwardArgument *argument = &search->launch->arguments[i];
        if (argument->use == ARGUMENT_SAME && strcmp(argument->of, of) == 0)
            return search->state->backward->parameters[i].value;
    }
    return NULL;
}

/// `if FILL: mask = ends` and the store's own mask else; 0 is stored where that does not hold. What is loaded there is under the
/// same mask then.
static void widen(FillSearch *search, const Value *gradient, Builder *b, unsigned ends) {
    Differentiation *state = search->state;
    Op *store = search->store;
    Value *own = store->operands[MASK_OPERAND], *value = store->operands[1];
    Value *sides[] = {mask_of(search, b, ends), own};
    if (sides[0]->type.rank != own->type.rank) return;
    OpList loads = {0};
    wide_loads_find(state, input_of(search, gradient), store, &loads);
    Op *place = loads.count ? loads.items[0] : store;
    if (!value_can_be_brought(sides[0], place)) {
        loads.count = 0;
        place = store;
    }
    sides[0] = value_brought(state->backward, sides[0], place);
    Value *fill = add_flag(state);
    *b = (Builder){.function = state->backward,
                   .region = place->parent,
                   .before = place,
                   .range = store->range};
    Op *branch = op_append(b, OP_IF, &fill, 1, 0);
    for (int r = 0; r < 2; r++) {
        Builder side = {.function = state->backward, .region = op_add_region(b, branch)};
        side.range = store->range;
        op_append(&side, OP_YIELD, &sides[r], 1, 0);
    }
    Value *mask = op_append_result(state->backward, branch, own->type);
    mask->name = "stored";
    wide_loads_take(state, &loads, mask);
    b->region = store->parent;
    b->before = store;
    Value *zero = build_float(b, 0);
    op_set_operand(store, 1, build_ternary(b, OP_WHERE, own, value, zero));
    op_set_operand(store, MASK_OPERAND, mask);
    state->parts.fill = fill;
    state->parts.filled = gradient;
}

/// Widens the store of a gradient, where a part of its mask says where the tensor ends.
static void try_store(FillSearch *search, const GradientStore *only) {
    Op *store = search->store = only->store;
    Value *mask = store->operand_count > MASK_OPERAND ? store->operands[MASK_OPERAND] : NULL;
    search->term_count = 0;
    if (!mask || !list_terms(search, mask)) return;
    Builder b = {.function = search->state->backward,
                 .region = store->parent,
                 .before = store,
                 .range = store->range};
    search->own_terms = search->term_count;
    region_walk(search->state->backward->body, visit_bounds, search);
    unsigned ends = find_ends(search, &b, &search->state->parts.fill_ranges);
    if (!ends) {  // no mask ends a row where its loop does: it is of whole blocks, or keeps its zeros
        search->coverage->counts_blocks = true;
        ends = find_ends(search, &b, &search->state->parts.fill_ranges);
        search->coverage->counts_blocks = false;
    }
    if (ends) widen(search, only->gradient, &b, ends);
}

/* ---- rows that a branch leaves out ---- */

/// What stands in the region itself, around the op or it.
static Op *ancestor_in(const Region *region, Op *op) {
    while (op && op->parent != region) op = op->parent->parent;
    return op;
}

/// The loops from one on that are around the store, each with the store of 0 in the place of all else. False where that cannot be written
/// there.
static bool copy_zeros(Builder *b, const Op *from, Op *store, Map *values) {
    if (from == store) {
        Value *operands[] = {value_copied(b, store->operands[0], values), build_float(b, 0),
                             value_copied(b, store->operands[MASK_OPERAND], values)};
        if (!operands[0] || !operands[2]) return false;
        op_append(b, OP_STORE, operands, 3, 0);
        return true;
    }
    Value *bounds[3];
    for (int i = 0; i < 3; i++)
        if (!(bounds[i] = value_copied(b, from->operands[i], values))) return false;
    Op *made = op_append(b, from->code, bounds, 3, 0);
    Builder inside = {.function = b->function, .region = op_add_region(b, made), .range = b->range};
    const Value *variable = from->regions[0]->arguments[0];
    map_set_pointer(
        values, variable,
        region_add_argument(b->function, inside.region, variable->type, variable->name));
    const Op *next = ancestor_in(from->regions[0], store);
    bool is_done = copy_zeros(&inside, next, store, values);
    op_append(&inside, OP_YIELD, NULL, 0, 0);
    return is_done;
}

/// Whether only loops are between a region and the store in it.
static bool is_in_loops_alone(const Region *region, Op *store) {
    for (const Op *op = store; op->parent != region; op = op->parent->parent)
        if (op->parent->parent->code != OP_FOR && op->parent->parent->code != OP_STATIC_FOR)
            return false;
    return true;
}

/// What the store would store if the branch around it were not, in all rows.
static const char *ranges_outside(FillSearch *search, Builder *b, Op *nest, Op *branch) {
    Op *behind = nest->next;
    op_move_before(nest, branch);
    search->term_count = 0;
    bool has_terms = list_terms(search, search->store->operands[MASK_OPERAND]);
    search->own_terms = search->term_count;
    const char *ranges = has_terms ? ranges_under(search, b, (1U << search->own_terms) - 1) : NULL;
    op_move_before(nest, behind);
    return ranges;
}

/// A program may leave early, or store its row (a label that is ignored): under the flag it stores zeros in place of nothing.
static void try_return(FillSearch *search, const GradientStore *only) {
    Differentiation *state = search->state;
    Op *store = search->store = only->store, *branch = ancestor_in(state->backward->body, store);
    if (branch->code != OP_IF || branch->result_count || branch->region_count != 2 ||
        branch->operands[0]->type.is_constexpr || store->operand_count <= MASK_OPERAND ||
        !store->operands[MASK_OPERAND])
        return;
    int own = ancestor_in(branch->regions[1], store) ? 1 : 0;
    Region *other = branch->regions[!own];
    Op *nest = ancestor_in(branch->regions[own], store);
    Builder b = {.function = state->backward,
                 .region = other,
                 .before = region_terminator(other),
                 .range = store->range};
    ElementRanges known;  // who leaves early has no row of the tensor, as far as the launch says
    if (!nest || !nest->next || !is_in_loops_alone(branch->regions[own], store) ||
        element_ranges(search->coverage, store, &known))
        return;
    const char *ranges = ranges_outside(search, &b, nest, branch);
    if (!ranges) return;
    Value *fill = add_flag(state);
    Op *flagged = op_append(&b, OP_IF, &fill, 1, 0);
    Map values = map_new(state->arena);
    bool is_done = true;
    for (int r = 0; r < 2; r++) {
        Builder side = {
            .function = state->backward, .region = op_add_region(&b, flagged), .range = b.range};
        if (r == 0) is_done = copy_zeros(&side, nest, store, &values);
        op_append(&side, OP_YIELD, NULL, 0, 0);
    }
    if (!is_done) {
        op_remove(flagged);
        return;
    }
    state->parts.fill = fill;
    state->parts.filled = only->gradient;
    state->parts.fill_ranges = ranges;
}

typedef struct UseSearch {
    const Value *value;
    const Region *region;
    bool is_outside;
} UseSearch;

static bool is_in(const Op *op, const Region *region) {
    const Region *own = op->parent;
    while (own && own != region) own = own->parent ? own->parent->parent : NULL;
    return own != NULL;
}

static bool visit_use(void *context, Op *op) {
    UseSearch *search = context;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] == search->value && !is_in(op, search->region))
            search->is_outside = true;
    return !search->is_outside;
}

/// Puts into the region of a branch what stands in front of it, and is for that region alone.
static void sink_to(const Function *function, const Op *branch, Region *region) {
    for (Op *op = branch->previous, *before; op; op = before) {
        before = op->previous;
        if (op->result_count != 1 || op->region_count || op->results[0]->constant ||
            (op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC | EFFECT_ORDERED)))
            continue;
        UseSearch search = {.value = op->results[0], .region = region};
        region_walk(function->body, visit_use, &search);
        if (!search.is_outside) op_move_before(op, region->first);
    }
}

bool fills_choose(Differentiation *state, const BackwardLaunch *launch, Op *own, Op *whole,
                  Op *around) {
    FillSearch search = {.state = state, .launch = launch, .store = whole};
    GradientStore only = {.gradient = access_of(state->arena, whole).parameter};
    Builder b = {.function = state->backward,
                 .region = whole->parent,
                 .before = whole,
                 .range = whole->range};
    region_walk(state->backward->body, visit, &search);  // which programs it reads the number of
    search.coverage = stored_search_new(state->arena, state->backward, launch);
    if (!is_gradient(&search, only.gradient) || whole->operand_count <= MASK_OPERAND ||
        !list_terms(&search, whole->operands[MASK_OPERAND]))
        return false;
    add_wider_terms(&search, &b);
    unsigned ends = find_ends(&search, &b, &state->parts.fill_ranges);
    if (!ends) return false;
    Value *mask = whole->operands[MASK_OPERAND], *zero = build_float(&b, 0);
    op_set_operand(whole, 1, build_ternary(&b, OP_WHERE, mask, whole->operands[1], zero));
    op_set_operand(whole, MASK_OPERAND, mask_of(&search, &b, ends));
    state->parts.fill = add_flag(state);
    state->parts.filled = only.gradient;
    b = (Builder){
        .function = state->backward, .region = own->parent, .before = own, .range = own->range};
    Op *branch = op_append(&b, OP_IF, &state->parts.fill, 1, 0);
    for (int r = 0; r < 2; r++) {
        Builder side = {.function = state->backward, .region = op_add_region(&b, branch)};
        Op *end = op_append(&side, OP_YIELD, NULL, 0, 0);
        for (Op *op = r ? own : around, *next; op != (r ? branch : own); op = next) {
            next = r ? branch : op->next == branch ? own : op->next;
            op_move_before(op, end);
        }
    }
    for (int r = 0; r < 2; r++) sink_to(state->backward, branch, branch->regions[r]);
    return true;
}

void fills_add(Differentiation *state, const BackwardLaunch *launch) {
    FillSearch search = {.state = state, .launch = launch};
    if (state->options->wrapper != WRAPPER_AUTOGRAD) return;  // who sets the flag?
    region_walk(state->backward->body, visit, &search);
    search.coverage = stored_search_new(state->arena, state->backward, launch);
    for (int i = 0; i < search.stores.count && !state->parts.fill; i++)
        if (search.stores.items[i].store) try_store(&search, &search.stores.items[i]);
    for (int i = 0; i < search.stores.count && !state->parts.fill; i++)
        if (search.stores.items[i].store) try_return(&search, &search.stores.items[i]);
    function_clean(state->backward);
}

void fills_describe(const Differentiation *state, BackwardLaunch *launch) {
    for (int i = 0; i < launch->argument_count && state->parts.fill; i++)
        if (state->backward->parameters[i].value == state->parts.filled)
            launch->arguments[i].filled = state->parts.fill_ranges;
}
