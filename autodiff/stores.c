// From the stores of a forward kernel to whose gradient each stored element has: which program's, and which lane's.
//
// Programs that store one value to one element are no race, but only one of them may take the upstream gradient. Which
// program ids an address, a value and the conditions around a store depend on is found by walking back from them.
#include "autodiff/stores.h"

#include "analysis/affine.h"
#include "analysis/infer.h"
#include "autodiff/load_tape.h"
#include "autodiff/place.h"

/* ---- how a program id is used ---- */

/// How values depend on the id of the program along one axis.
typedef struct AxisUse {
    bool direct;       // in a way that tells all programs apart, or that was not understood
    Value *quotient;   // by `id // quotient` alone
    Value *remainder;  // by `id % remainder` alone
} AxisUse;

typedef struct Sources {
    Arena *arena;
    const Map *stored;  // parameters that the kernel stores to
    int axis;
    Map seen;
    LIST(const Value *) work;
    AxisUse use;
} Sources;

static void push(Sources *sources, const Value *value) {
    if (!value || map_has_pointer(&sources->seen, value)) return;
    map_set_pointer(&sources->seen, value, (void *)1);
    LIST_PUSH(sources->arena, &sources->work, value);
}

static void push_region_ends(Sources *sources, const Op *op) {
    for (int r = 0; r < op->region_count; r++) {
        const Op *end = region_terminator(op->regions[r]);
        for (int i = 0; end && i < end->operand_count; i++) push(sources, end->operands[i]);
    }
}

static bool is_program_id(const Value *value, int axis) {
    int64_t number;
    return value && value->op && value->op->code == OP_PROGRAM_ID &&
           value_is_int(value->op->operands[0], &number) && number == axis;
}

static bool is_same_number(const Value *a, const Value *b) {
    int64_t x, y;
    return a == b || (value_is_int(a, &x) && value_is_int(b, &y) && x == y);
}

static void add_part(Sources *sources, Value **part, Value *divisor) {
    if (*part && !is_same_number(*part, divisor)) sources->use.direct = true;
    *part = divisor;
}

/// What other programs may have changed, or what is another number each time.
static bool tells_programs_apart(const Sources *sources, const Op *op) {
    int effects = op_rows[op->code].effects;
    if (op->code == OP_UNKNOWN || (effects & (EFFECT_ATOMIC | EFFECT_ORDERED))) return true;
    if (!(effects & EFFECT_READS)) return effects & EFFECT_WRITES;
    const Value *root = pointer_root(op->operands[0]);
    return !root || map_has_pointer(sources->stored, root);
}

static void visit_source(Sources *sources, const Value *value) {
    const Op *op = value->op;
    if (!op) {
        const Op *owner = value->region ? value->region->parent : NULL;
        for (int i = 0; owner && i < owner->operand_count; i++) push(sources, owner->operands[i]);
        if (owner) push_region_ends(sources, owner);
        return;
    }
    if (is_program_id(value, sources->axis)) {
        sources->use.direct = true;
        return;
    }
    bool divides = op->code == OP_FLOORDIV || op->code == OP_MOD;
    if (divides && is_program_id(op->operands[0], sources->axis)) {
        bool is_quotient = op->code == OP_FLOORDIV;
        add_part(sources, is_quotient ? &sources->use.quotient : &sources->use.remainder,
                 op->operands[1]);
        push(sources, op->operands[1]);
        return;
    }
    if (tells_programs_apart(sources, op)) sources->use.direct = true;
    for (int i = 0; i < op->operand_count; i++) push(sources, op->operands[i]);
    push_region_ends(sources, op);
}

static AxisUse axis_use(Sources *sources) {
    while (sources->work.count && !sources->use.direct)
        visit_source(sources, sources->work.items[--sources->work.count]);
    if (sources->use.quotient && sources->use.remainder) sources->use.direct = true;
    return sources->use;
}

static bool is_used(AxisUse use) { return use.direct || use.quotient || use.remainder; }

static Sources sources_new(Arena *arena, const Map *stored, int axis) {
    return (Sources){.arena = arena, .stored = stored, .axis = axis, .seen = map_new(arena)};
}

/// Where and when a store happens: its address, its mask, the branches and loops around it.
static AxisUse place_use(Arena *arena, const Map *stored, const Op *store, int axis) {
    Sources sources = sources_new(arena, stored, axis);
    push(&sources, store->operands[0]);
    push(&sources, access_mask(store));
    for (const Op *op = store->parent->parent; op; op = op->parent->parent) {
        for (int i = 0; i < op->operand_count; i++) push(&sources, op->operands[i]);
        if (op->code == OP_WHILE) push_region_ends(&sources, op);
    }
    return axis_use(&sources);
}

static AxisUse value_use(Arena *arena, const Map *stored, const Op *store, int axis) {
    Sources sources = sources_new(arena, stored, axis);
    push(&sources, store->operands[1]);
    return axis_use(&sources);
}

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

/// The first of the programs that store the same: a condition at the store.
static Value *first_program(Function *function, Op *store, AxisUse use, int axis) {
    Builder b = {.function = function,
                 .region = store->parent,
                 .before = store,
                 .range = store->range,
                 .call = store->call};
    Value *id = build_unary(&b, OP_PROGRAM_ID, build_int(&b, axis));
    if (use.remainder) return build_binary(&b, OP_LT, id, use.remainder);
    if (use.quotient) id = build_binary(&b, OP_MOD, id, use.quotient);
    return build_binary(&b, OP_EQ, id, build_int(&b, 0));
}

static void assume(Differentiation *state, const Op *store, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void assume(Differentiation *state, const Op *store, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_vprintf(state->arena, format, arguments);
    va_end(arguments);
    LIST_PUSH(state->arena, &state->assumptions, (Assumption){text, store->range});
}

static const char *stored_name(const Differentiation *state, const Op *store) {
    const Value *root = pointer_root(store->operands[0]);
    return root ? parameter_of_root(state, root)->name : "memory";
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
            if (is_program_id(base->terms[t].atoms[i], axis)) id = base->terms[t].atoms[i];
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

static void settle_axis(Differentiation *state, const Map *stored, Op *store, int axis) {
    AxisUse place = place_use(state->arena, stored, store, axis);
    if (place.direct) {
        if (tiles_overlap(state->arena, store, axis))
            assume(state, store,
                   "the tiles of neighbouring programs along grid axis %d do not "
                   "share elements of `%s`",
                   axis, stored_name(state, store));
        return;
    }
    AxisUse value = value_use(state->arena, stored, store, axis);
    bool is_alike =
        !is_used(value) || (!value.direct && (place.quotient || place.remainder) &&
                            value.quotient == place.quotient && value.remainder == place.remainder);
    const Value *divisor = place.quotient ? place.quotient : place.remainder;
    if (!is_alike || (divisor && !is_known_at(divisor, store))) {
        if (!is_under_constexpr(store))
            assume(state, store,
                   "only one program along grid axis %d stores to each element of "
                   "`%s`, though its id does not tell which",
                   axis, stored_name(state, store));
        return;
    }
    Value *condition = first_program(state->primal, store, place, axis);
    Value *others = map_get_pointer(&state->owners, store);
    if (others) {
        Builder b = {.function = state->primal, .region = store->parent, .before = store};
        condition = build_binary(&b, OP_AND, others, condition);
    }
    map_set_pointer(&state->owners, store, condition);
}

/* ---- all stores ---- */

typedef struct Settling {
    Differentiation *state;
    Map stored;
    Map replaced;  // buffers that other atomics than additions change -> one such op
    LIST(Op *) stores;
    bool axes[3];
} Settling;

static bool visit_op(void *context, Op *op) {
    Settling *settling = context;
    int64_t axis;
    if (op->code == OP_PROGRAM_ID && value_is_int(op->operands[0], &axis) && axis >= 0 && axis < 3)
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
    if (lanes.meeting == MEETING_CERTAIN)
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_STORED_REPEATEDLY, store->range,
                     "several lanes of this store write to one element of `%s`, and only one value "
                     "stays (%s): mask the others",
                     stored_name(state, store), lanes.why);
    if (lanes.meeting == MEETING_POSSIBLE)
        assume(state, store, "no two lanes of this store write to one element of `%s`: %s",
               stored_name(state, store), lanes.why);
}

void stores_settle(Differentiation *state) {
    Settling settling = {
        .state = state, .stored = map_new(state->arena), .replaced = map_new(state->arena)};
    region_walk(state->primal->body, visit_op, &settling);
    for (LIST_EACH(int, i, settling.stores)) {
        Op *store = settling.stores.items[i];
        const Value *stored = store->operand_count > 1 ? store->operands[1] : NULL;
        if (!stored || !value_is_active(state, stored)) continue;
        refuse_replaced(&settling, store);
        if (store->code != OP_STORE || state->failed) continue;
        settle_lanes(state, store);
        for (int axis = 0; axis < 3 && !state->failed; axis++)
            if (settling.axes[axis]) settle_axis(state, &settling.stored, store, axis);
    }
}
