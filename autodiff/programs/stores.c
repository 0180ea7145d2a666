// From the stores of a forward kernel to whose gradient each stored element has: which program's, and which lane's.
//
// Programs that store one value to one element are no race, but only one of them may take the upstream gradient: which one
// follows from the digits of the program ids that the address and the value depend on (program_digits.c).
#include "autodiff/programs/stores.h"

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/addresses/strides.h"
#include "analysis/build/build.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/host/launch.h"
#include "analysis/ir/walk.h"
#include "analysis/launches/launch_least.h"
#include "autodiff/addresses/place.h"
#include "autodiff/primal/activity.h"
#include "autodiff/programs/distinct.h"
#include "autodiff/programs/launched_steps.h"
#include "autodiff/programs/program_digits.h"
#include "autodiff/programs/program_ranges.h"
#include "autodiff/programs/store_lanes.h"
#include "autodiff/programs/store_wraps.h"
#include "autodiff/spans/lane_elements.h"
#include "autodiff/spans/row_spans.h"
#include "autodiff/tape/load_tape.h"

/* ---- one program of those that store alike ---- */

static bool is_before(const Op *op, const Op *place) {
    for (; place; place = place->parent->parent)
        for (const Op *at = place; at; at = at->previous)
            if (at == op) return true;
    return false;
}

static bool is_known_at(const Value *value, const Op *place) {
    if (value->op) return value->constant || is_before(value->op, place);
    return value->region && !value->region->parent;
}

/// Whether what the digits are of can be named at a place; an id can be read anywhere.
static bool number_is_known_at(const Value *number, const Op *place) {
    if (!number || value_is_program_id(number, -1)) return true;
    if (number->op) return is_before(number->op, place);
    for (const Region *region = place->parent; region;
         region = region->parent ? region->parent->parent : NULL)
        if (region == number->region) return true;
    return false;
}

static bool digits_are_known_at(const Digits *digits, const Op *place) {
    for (int i = 0; i < digits->count; i++) {
        const Digit *digit = &digits->items[i];
        const Poly *ends[] = {digit->low, digit->high, digit->base};
        for (int e = 0; e < 3 && ends[e]; e++)
            for (int t = 0; t < ends[e]->count; t++)
                for (int a = 0; a < ends[e]->terms[t].atom_count; a++)
                    if (!is_known_at(ends[e]->terms[t].atoms[a], place)) return false;
    }
    return true;
}

typedef struct DividedId {
    Arena *arena;
    const Poly *number, *low;
    const Poly *found;
} DividedId;

static bool visit_divisor(void *context, Op *op) {
    DividedId *search = context;
    if (op->code != OP_FLOORDIV || op->results[0]->type.rank) return true;
    const Poly *above = value_poly(search->arena, op->operands[0]);
    const Poly *below = value_poly(search->arena, op->operands[1]);
    int64_t one;
    if (!above || !below || !poly_equal(above, search->number)) return true;
    const Poly *left = poly_divide_exact(search->arena, search->low, below);
    bool is_proper =
        left && poly_is_fixed(search->arena, below) && !(poly_is_constant(left, &one) && one == 1);
    if (is_proper) search->found = below;
    return true;
}

/// What the kernel divides a number by, and `low` is a multiple of: programs that differ by the remainder alone are not asked apart then.
static const Poly *divisor_of(const Differentiation *state, Value *number, const Poly *low) {
    DividedId search = {state->arena, value_poly(state->arena, number), low, NULL};
    region_walk(state->primal->body, visit_divisor, &search);
    return search.found;
}

/// Whether a number is below `low`.
static Value *build_below(Differentiation *state, Builder *b, Value *number, const Poly *low) {
    const Poly *divisor = divisor_of(state, number, low);
    if (divisor) {
        number = build_binary(b, OP_FLOORDIV, number, build_poly(b, divisor));
        low = poly_divide_exact(state->arena, low, divisor);
    }
    return build_binary(b, OP_LT, number, build_poly(b, low));
}

/// The first of the programs that store the same, a condition at the store: the digits that its place lacks are 0.
static Value *first_program(Differentiation *state, Op *store, Value *number, const Digits *missing,
                            int axis) {
    Builder b = {.function = state->primal,
                 .region = store->parent,
                 .before = store,
                 .range = store->range,
                 .call = store->call};
    if (!number || value_is_program_id(number, -1))
        number = build_unary(&b, OP_PROGRAM_ID, build_int(&b, axis));
    Value *first = NULL;
    for (int i = 0; i < missing->count; i++) {
        const Digit *part = &missing->items[i];
        Value *digit = number;
        if (part->base) digit = build_binary(&b, OP_MOD, digit, build_poly(&b, part->base));
        if (part->high) digit = build_binary(&b, OP_MOD, digit, build_poly(&b, part->high));
        int64_t low;
        bool is_lowest = poly_is_constant(part->low, &low) && low == 1;
        Value *is_zero = is_lowest ? build_binary(&b, OP_EQ, digit, build_int(&b, 0))
                                   : build_below(state, &b, digit, part->low);
        first = first ? build_binary(&b, OP_AND, first, is_zero) : is_zero;
    }
    return first;
}

static const char *stored_name(const Differentiation *state, const Op *store) {
    const Value *root = pointer_root(store->operands[0]);
    return root ? parameter_of_root(state, root)->name : "memory";
}

static void assume(Differentiation *state, const Op *store, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void assume(Differentiation *state, const Op *store, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_vprintf(state->arena, format, arguments);
    va_end(arguments);
    LIST_PUSH(state->arena, &state->stores.assumptions,
              (Assumption){.text = text, .range = store->range, .of = stored_name(state, store)});
}

static const Value *step_of_caller(const Differentiation *state, const Op *store);

/// The Function compares the indices that tell where the store writes, if it can: of what was assumed last. Rows that are as far apart as
/// a caller says may lie on each other with different indices.
static void have_compared(Differentiation *state, const Op *store) {
    Assumption *last = &state->stores.assumptions.items[state->stores.assumptions.count - 1];
    if (step_of_caller(state, store)) element_spans_describe(state, store, last);
    if (last->spans) return;
    bool has_lanes = row_spans_have_lanes(state->arena, store);
    if (has_lanes) row_spans_describe(state, store, last);
    if (!last->spans) distinct_describe(state, store, last);
    if (!has_lanes && !last->indices) row_spans_describe(state, store, last);
    if (!last->spans && !last->indices) lane_elements_describe(state, store, last);
}

/// Whether it is said already what a store assumes.
static bool is_assumed(const Differentiation *state, const Op *store) {
    for (LIST_EACH(int, i, state->stores.assumptions)) {
        Range said = state->stores.assumptions.items[i].range;
        if (said.source == store->range.source && said.start == store->range.start &&
            said.end == store->range.end)
            return true;
    }
    return false;
}

/// `if SPLITS == 1:` and the like: the grid is another one there.
static bool is_under_constexpr(const Op *op) {
    for (op = op->parent->parent; op; op = op->parent->parent)
        if (op->code == OP_IF && op->operands[0]->type.is_constexpr) return true;
    return false;
}

/// Whether the tiles of neighbouring programs share elements: the id moves the address by less than the lanes reach.
static bool tiles_overlap(Arena *arena, Op *store, int axis) {
    Access access = access_of(arena, store);
    Type type = store->operands[0]->type;
    if (!access.offset.known || access.offset.rank != type.rank) return false;
    const Poly *base = access.offset.base, *step, *rest;
    Value *id = NULL;
    for (int t = 0; t < base->count && !id; t++)
        for (int i = 0; i < base->terms[t].atom_count; i++)
            if (value_is_program_id(base->terms[t].atoms[i], axis)) id = base->terms[t].atoms[i];
    if (!id || !poly_split(arena, base, id, &step, &rest) || !poly_is_nonnegative(arena, step))
        return false;
    const Poly *one = poly_constant(arena, 1);
    for (int i = 0; i < type.rank; i++) {
        if (!poly_equal(access.offset.lane[i], one) || !type.dims[i]) continue;
        const Poly *last = poly_subtract(arena, type.dims[i], one);
        if (sizes_are_nonnegative(arena, poly_subtract(arena, last, step))) return true;
    }
    return false;
}

/// How an address has a program's id: computed from it, or read from memory at a place that is.
enum { ID_IS_COMPUTED = 1, ID_IS_READ = 2 };

static intptr_t id_use(ValueWalk *walk, const Value *value) {
    const int *axis = walk->context;
    if (!value || value->constant) return 0;
    if (value_is_program_id(value, *axis)) return ID_IS_COMPUTED;
    const Op *op = value->op ? value->op : value->region ? value->region->parent : NULL;
    intptr_t found = 0;
    if (!op) return 0;
    for (int i = 0; i < op->operand_count; i++) found |= walk_ask(walk, op->operands[i]);
    for (int r = 0; op->code == OP_IF && value->op && r < op->region_count; r++)
        found |= walk_ask(walk, region_terminator(op->regions[r])->operands[value->index]);
    return found && op->code == OP_LOAD ? ID_IS_READ : found;
}

/// How numbers from memory tell where each program along an axis stores: not at all, beside computed ones, or alone (ID_IS_READ).
static intptr_t place_is_read(const Op *store, int axis) {
    intptr_t use = walk_from(store->operands[0], id_use, ID_IS_READ, &axis);
    return use & ID_IS_READ ? use : 0;
}

/// Says that programs which read where they store keep apart. Where a digit of the id is computed as well (heads beside sequences), that may
/// tell them apart: then only what the Function can look at.
static void assume_read(Differentiation *state, const Op *store, int axis, bool is_alone) {
    assume(state, store,
           "programs along grid axis %d, which read from memory where they store, do not "
           "store to the same elements of `%s`",
           axis, stored_name(state, store));
    have_compared(state, store);
    const Assumption *last = &state->stores.assumptions.items[state->stores.assumptions.count - 1];
    if (!is_alone && !last->spans && !last->indices) state->stores.assumptions.count--;
}

/// Whether no two programs along the axis take the gradient of one element, where what is assumed holds.
static bool settle_axis(Differentiation *state, const Map *stored, Op *store, int axis) {
    Arena *arena = state->arena;
    DigitUse place = digits_of_place(arena, stored, store, axis);
    if (place.whole) {
        if (tiles_overlap(arena, store, axis))
            assume(state, store,
                   "the tiles of neighbouring programs along grid axis %d do not "
                   "share elements of `%s`",
                   axis, stored_name(state, store));
        else if (place_is_read(store, axis) && !is_assumed(state, store))
            assume_read(state, store, axis, place_is_read(store, axis) == ID_IS_READ);
        return true;
    }
    DigitUse value = digits_of_value(arena, stored, store, axis);
    Digits missing = {0};
    bool is_alike = digits_determine(arena, &place, &value) &&
                    digits_missing(arena, &place, &missing) &&
                    digits_are_known_at(&missing, store) && number_is_known_at(place.number, store);
    if (!is_alike) {
        if (is_under_constexpr(store)) return false;
        assume(state, store,
               "only one program along grid axis %d stores to each element of "
               "`%s`, though its id does not tell which",
               axis, stored_name(state, store));
        Assumption *last = &state->stores.assumptions.items[state->stores.assumptions.count - 1];
        element_spans_describe(state, store, last);
        if (!last->spans) row_spans_describe(state, store, last);
        if (!last->spans) lane_elements_describe(state, store, last);
        return false;
    }
    if (!missing.count) return true;
    Value *condition = first_program(state, store, place.number, &missing, axis);
    Value *others = map_get_pointer(&state->stores.owners, store);
    if (others) {
        Builder b = {.function = state->primal, .region = store->parent, .before = store};
        condition = build_binary(&b, OP_AND, others, condition);
    }
    map_set_pointer(&state->stores.owners, store, condition);
    return true;
}

/* ---- two stores of one buffer ---- */

static intptr_t reads_any_id(ValueWalk *walk, const Value *value) {
    if (!value || value->constant) return 0;
    const Op *op = value->op ? value->op : value->region ? value->region->parent : NULL;
    if (!op) return 0;
    if (op->code == OP_PROGRAM_ID) return 1;
    if (op->code == OP_LOAD) return 0;  // a row of the program's own, with a column from memory
    intptr_t found = 0;
    for (int i = 0; i < op->operand_count && !found; i++) found = walk_ask(walk, op->operands[i]);
    for (int r = 0; op->code == OP_IF && value->op && r < op->region_count && !found; r++)
        found = walk_ask(walk, region_terminator(op->regions[r])->operands[value->index]);
    return found;
}

/// Whether programs move two addresses by other numbers, as where one is the other's with rows and columns exchanged.
static bool are_moved_apart(Arena *arena, const Access *a, const Access *b) {
    if (!a->offset.known || !b->offset.known) return false;
    const Poly *between = poly_subtract(arena, a->offset.base, b->offset.base);
    for (int t = 0; t < between->count; t++)
        for (int i = 0; i < between->terms[t].atom_count; i++)
            if (walk_from(between->terms[t].atoms[i], reads_any_id, 1, NULL)) return true;
    return false;
}

/// Whether two ops stand in branches of one condition.
static bool are_alternatives(const Op *a, const Op *b) {
    for (const Region *own = a->parent; own && own->parent; own = own->parent->parent)
        for (const Region *other = b->parent; other && other->parent; other = other->parent->parent)
            if (own != other && own->parent == other->parent) return true;
    return false;
}

/// The constexpr parameter that a tile's axis is as long as; NULL.
static const char *size_along(const Function *function, const Value *tile, int axis) {
    const Poly *dim = tile->type.dims[axis];
    if (!dim || dim->count != 1 || dim->terms[0].coefficient != 1 || dim->terms[0].atom_count != 1)
        return NULL;
    for (int p = 0; p < function->parameter_count; p++)
        if (function->parameters[p].value == dim->terms[0].atoms[0])
            return function->parameters[p].name;
    return NULL;
}

/// Whether programs alone tell two addresses apart: nothing is added to one of them that is not made of their numbers.
static bool are_apart_by_programs(Arena *arena, const Access *a, const Access *b) {
    const Poly *between = poly_subtract(arena, a->offset.base, b->offset.base);
    for (int t = 0; t < between->count; t++) {
        bool has_id = false;
        for (int i = 0; i < between->terms[t].atom_count; i++)
            has_id |= walk_from(between->terms[t].atoms[i], reads_any_id, 1, NULL) != 0;
        if (!has_id) return false;
    }
    return true;
}

/// Of a block and its mirror image, which two sizes have to be one.
static void note_mirrored(Differentiation *state, const Op *store, const Access *own,
                          const Op *other, const Access *access) {
    const Value *tile = store->operands[1], *image = other->operands[1];
    if (tile->type.rank != 2 || image->type.rank != 2 || own->offset.rank != 2 ||
        access->offset.rank != 2 || !are_apart_by_programs(state->arena, own, access))
        return;
    for (int d = 0; d < 2; d++)
        if (!poly_equal(own->offset.lane[d], access->offset.lane[d]) ||
            !poly_equal(tile->type.dims[d], image->type.dims[1 - d]))
            return;
    const char *rows = size_along(state->primal, tile, 0),
               *columns = size_along(state->primal, tile, 1);
    if (rows && columns && strcmp(rows, columns) != 0)
        LIST_PUSH(state->arena, &state->stores.equals, ((Multiple){.size = rows, .of = columns}));
}

/// The number from memory that an address is moved by, outside of loops; NULL.
static Value *index_in(const Poly *base) {
    for (int t = 0; t < base->count; t++)
        for (int i = 0; i < base->terms[t].atom_count; i++) {
            Value *atom = base->terms[t].atoms[i];
            const Op *load = integer_without_casts(atom)->op;
            bool is_read = load && load->code == OP_LOAD;
            for (const Op *op = is_read ? load->parent->parent : NULL; op; op = op->parent->parent)
                is_read = is_read && !op_is_loop(op->code);
            if (is_read) return atom;
        }
    return NULL;
}

/// `y[i]` and `y[i + 1]` by one index from memory: no program's index may be another's and 1. A program's own two are apart.
static void note_further(Differentiation *state, const Op *store, const Access *own,
                         const Op *other, const Access *access) {
    Arena *arena = state->arena;
    Assumption described[2] = {{0}};
    const Poly *weight, *rest;
    int64_t further;
    if (!own->offset.known || !access->offset.known || own->mask != access->mask ||
        own->offset.rank != access->offset.rank)
        return;
    for (int i = 0; i < own->offset.rank; i++)
        if (!poly_equal(own->offset.lane[i], access->offset.lane[i])) return;
    Value *index = index_in(own->offset.base);
    if (!index || !poly_split(arena, own->offset.base, index, &weight, &rest)) return;
    const Poly *steps = poly_divide_exact(
        arena, poly_subtract(arena, own->offset.base, access->offset.base), weight);
    if (!steps || !poly_is_constant(steps, &further) || !further) return;
    distinct_describe(state, store, &described[0]);
    distinct_describe(state, other, &described[1]);
    for (int i = 0; i < 2; i++)
        if (!described[i].indices || described[i].second_indices) return;
    if (strcmp(described[0].indices, described[1].indices) != 0 ||
        strcmp(described[0].ranges, described[1].ranges) != 0)
        return;
    assume(state, store,
           "no program stores here to an element of `%s` that another one stores to at line %d by "
           "an index of its own",
           stored_name(state, store), range_line(other->range));
    Assumption *last = &state->stores.assumptions.items[state->stores.assumptions.count - 1];
    last->indices = described[0].indices;
    last->ranges = described[0].ranges;
    last->further = further;
}

/// One program may store by one statement where another stores by the other. Which of them takes the gradient of the element is then a matter
/// of who comes first, or both do.
static void settle_pairs(Differentiation *state, Op *const *stores, int count) {
    Arena *scratch = arena_new_scratch();
    Access *accesses = ARENA_ARRAY(scratch, Access, count + 1);
    for (int i = 0; i < count; i++) accesses[i] = access_of(scratch, stores[i]);
    for (int i = 0; i < count && !state->failed; i++) {
        Op *store = stores[i];
        const Value *root = pointer_root(store->operands[0]);
        if (!root || !store->operands[1]) continue;
        for (int k = 0; k < i; k++)
            if (pointer_root(stores[k]->operands[0]) == root && !are_alternatives(store, stores[k]))
                note_further(state, store, &accesses[i], stores[k], &accesses[k]);
        if (is_assumed(state, store)) continue;
        Arena *compared = arena_new_scratch();
        for (int k = 0; k < i; k++) {
            Op *other = stores[k];
            if (pointer_root(other->operands[0]) != root || are_alternatives(store, other))
                continue;
            if (!are_moved_apart(compared, &accesses[i], &accesses[k])) {
                launched_pair_note(state, other, store);
                continue;
            }
            assume(state, store,
                   "no program stores here to an element of `%s` that another one stores to at "
                   "line %d",
                   stored_name(state, store), range_line(other->range));
            note_mirrored(state, store, &accesses[i], other, &accesses[k]);
            break;
        }
        arena_free(compared);
    }
    arena_free(scratch);
}

/* ---- steps that a caller picks ---- */

static bool visit_no_size(void *context, Op *op) {
    const Value *number = context;
    bool is_size = op->code == OP_FOR && op->operands[2] == number;
    for (int r = 0; r < op->result_count; r++)
        for (int d = 0; d < op->results[r]->type.rank; d++)
            is_size = is_size || poly_mentions(op->results[r]->type.dims[d], number);
    return !is_size;
}

/// Whether a number is a side of no tile, and what no loop steps by: blocks follow each other where it is.
static bool is_no_size(const Function *function, const Value *number) {
    return region_walk(function->body, visit_no_size, (void *)(uintptr_t)number);
}

/// The number that an address multiplies by and that a launcher's caller picks, as rows `hop` apart; 0.
static intptr_t picked_by_caller(ValueWalk *walk, const Value *value) {
    const Op *op = value && !value->constant ? value->op : NULL;
    intptr_t found = 0;
    for (int i = 0; op && i < op->operand_count && !found; i++) {
        const Value *factor = op->code == OP_MUL ? op->operands[i] : NULL;
        while (factor && factor->op && factor->op->code == OP_CAST)
            factor = factor->op->operands[0];
        bool is_picked = factor && factor->is_chosen && factor->type.kind == TYPE_NUMBER &&
                         is_no_size(walk->context, factor);
        found = is_picked ? (intptr_t)factor : walk_ask(walk, op->operands[i]);
    }
    return found;
}

/// The number by which a caller says how far rows of the store are apart; NULL.
static const Value *step_of_caller(const Differentiation *state, const Op *store) {
    return (const Value *)walk_from(store->operands[0], picked_by_caller, 0, state->primal);
}

/// What no steps say of a store whose rows are as far apart as a caller says: that is said, and what each program stores is compared.
static void settle_steps(Differentiation *state, const Op *store) {
    const Value *step = step_of_caller(state, store);
    if (!step || is_assumed(state, store)) return;
    assume(state, store,
           "no element of `%s` is stored twice: a caller says by `%s` how far its rows are apart, "
           "and how long they are is not known here",
           stored_name(state, store), parameter_of_root(state, step)->name);
    have_compared(state, store);
}

/* ---- all stores ---- */

typedef struct Settling {
    Differentiation *state;
    Map stored;
    Map replaced;  // buffers that other atomics than additions change -> one such op
    LIST(Op *) stores;
    bool axes[PROGRAM_AXES];
} Settling;

static bool visit_op(void *context, Op *op) {
    Settling *settling = context;
    int64_t axis;
    if (op->code == OP_PROGRAM_ID && value_is_int(op->operands[0], &axis) && axis >= 0 &&
        axis < PROGRAM_AXES)
        settling->axes[axis] = true;
    int effects = op_rows[op->code].effects;
    bool writes = (effects & (EFFECT_WRITES | EFFECT_ATOMIC)) && op->operand_count;
    Value *root = writes ? pointer_root(op->operands[0]) : NULL;
    bool adds = op->code == OP_ATOMIC_ADD || op->code == OP_DESCRIPTOR_ATOMIC_ADD;
    if (root) map_set_pointer(&settling->stored, root, op);
    if (root && op->code != OP_STORE && !adds) map_set_pointer(&settling->replaced, root, op);
    if (is_load_tape(settling->state, root)) return true;
    if (op->code == OP_STORE || adds) LIST_PUSH(settling->state->arena, &settling->stores, op);
    return true;
}

/// `atomic_max` and the like keep one of two values, and nobody knows any more which.
static void refuse_replaced(Settling *settling, const Op *store) {
    const Value *root = pointer_root(store->operands[0]);
    const Op *atomic = root ? map_get_pointer(&settling->replaced, root) : NULL;
    if (atomic)
        adjoint_fail(settling->state, DIAGNOSTIC_GRADIENT_STORED_REPEATEDLY, atomic->range,
                     "`%s` may replace what is stored to `%s` at line %d, so whose gradient that "
                     "of the element is, is not known; use another buffer",
                     op_rows[atomic->code].name ? op_rows[atomic->code].name : "an atomic",
                     stored_name(settling->state, store), range_line(store->range));
}

static void settle_lanes(Differentiation *state, Op *store) {
    LaneMeeting lanes = store_lanes(state->arena, store);
    Value *first = lanes_before_wraps(state, store, &lanes);
    if (first) {
        map_set_pointer(&state->stores.owners, store, first);
        assume(state, store,
               "each element of `%s` that this store reaches by an index past the end (`%%`) is "
               "stored by an index below it, too, whose gradient counts",
               stored_name(state, store));
        lanes.meeting = lanes.besides;
        lanes.why = lanes.besides_why;
    }
    if (lanes.meeting == MEETING_CERTAIN)
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_STORED_REPEATEDLY, store->range,
                     "several lanes of this store write to one element of `%s`, and only one value "
                     "stays (%s): mask the others",
                     stored_name(state, store), lanes.why);
    if (lanes.meeting != MEETING_POSSIBLE) return;
    assume(state, store, "no two lanes of this store write to one element of `%s`: %s",
           stored_name(state, store), lanes.why);
    have_compared(state, store);
}

static bool any_active_addition(const Settling *settling) {
    for (LIST_EACH(int, i, settling->stores)) {
        const Op *op = settling->stores.items[i];
        if (op->code != OP_STORE && op->operand_count > 1 &&
            value_is_active(settling->state, op->operands[1]))
            return true;
    }
    return false;
}

/// Programs that differ in nothing that the kernel reads each add what they have, so they are programs of their own.
static void note_adding_axes(Settling *settling) {
    Differentiation *state = settling->state;
    state->stores.adds = any_active_addition(settling);
    if (!state->stores.adds) return;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        if (state->stores.unread_axes[axis] == GRID_AXIS_SEVERAL) {
            settling->axes[axis] = true;
            state->stores.unread_axes[axis] = GRID_AXIS_ONE;
        }
        state->stores.adding_axes[axis] = settling->axes[axis];
    }
}

static void note_unread_axes(Settling *settling) {
    GridAxis *axes = settling->state->stores.unread_axes;
    launches_axes(settling->state->arena, settling->state->primal, axes);
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (settling->axes[axis]) axes[axis] = GRID_AXIS_ONE;
}

void stores_settle(Differentiation *state) {
    Settling settling = {
        .state = state, .stored = map_new(state->arena), .replaced = map_new(state->arena)};
    region_walk(state->primal->body, visit_op, &settling);
    note_unread_axes(&settling);
    note_adding_axes(&settling);
    LIST(Op *) active = {0}, open = {0};
    for (LIST_EACH(int, i, settling.stores)) {
        Op *store = settling.stores.items[i];
        const Value *stored = store->operand_count > 1 ? store->operands[1] : NULL;
        if (!stored || !value_is_active(state, stored)) continue;
        refuse_replaced(&settling, store);
        if (store->code != OP_STORE || state->failed) continue;
        LIST_PUSH(state->arena, &active, store);
        settle_lanes(state, store);
        if (!launched_steps_note(state, store)) LIST_PUSH(state->arena, &open, store);
        bool is_distinct = !map_has_pointer(&state->stores.owners, store);
        for (int axis = 0; axis < PROGRAM_AXES && !state->failed; axis++)
            if (settling.axes[axis])
                is_distinct &= settle_axis(state, &settling.stored, store, axis);
        if (is_distinct) map_set_pointer(&state->stores.distinct, store, store);
    }
    settle_pairs(state, active.items, active.count);
    for (LIST_EACH(int, i, open)) settle_steps(state, open.items[i]);
}
