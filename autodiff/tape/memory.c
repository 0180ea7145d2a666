// Memory that a kernel both reads and writes: which contents each load sees, and where the gradient of such a buffer lives.
//
// A load sees the contents from before the launch, or what is there when the kernel has ended, or something between.
// The first two are read from a copy and from the buffer itself; the third is made again, and saved where its order is not that of the text.
#include "autodiff/tape/memory.h"
#include "autodiff/rewrite/order.h"

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "analysis/build/build.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "analysis/host/launch.h"
#include "analysis/launches/launch_later.h"
#include "autodiff/addresses/place.h"
#include "autodiff/digits/lane_digits.h"
#include "autodiff/tape/load_tape.h"
#include "autodiff/tape/loop_stores.h"
#include "autodiff/tape/replay.h"
#include "autodiff/tape/saved.h"

static bool visit_memory(void *context, Op *op) {
    Memory *memory = context;
    int effects = op_rows[op->code].effects;
    if (!(effects & (EFFECT_READS | EFFECT_WRITES | EFFECT_ATOMIC)) || op->operand_count == 0)
        return true;
    Value *root = pointer_root(op->operands[0]);
    bool writes = effects & (EFFECT_WRITES | EFFECT_ATOMIC);
    if (writes) memory->writes = true;
    if (root) map_set_pointer(writes ? &memory->stored : &memory->loaded, root, op);
    return true;
}

Memory memory_of(Arena *arena, const Function *function) {
    Memory memory = {.stored = map_new(arena), .loaded = map_new(arena)};
    region_walk(function->body, visit_memory, &memory);
    return memory;
}

typedef struct BufferSearch {
    Arena *arena;
    OpList ops;
    const Value *root;
} BufferSearch;

static bool visit_access(void *context, Op *op) {
    BufferSearch *search = context;
    int effects = op_rows[op->code].effects;
    bool touches = (effects & (EFFECT_READS | EFFECT_WRITES | EFFECT_ATOMIC)) &&
                   op->operand_count && pointer_root(op->operands[0]) == search->root;
    if (touches) LIST_PUSH(search->arena, &search->ops, op);
    return true;
}

OpList memory_accesses(Arena *arena, const Function *function, const Value *root) {
    BufferSearch search = {.arena = arena, .root = root};
    region_walk(function->body, visit_access, &search);
    return search.ops;
}

static bool is_write(const Op *op) {
    return op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC);
}

static bool is_loop(const Op *op) { return op_is_loop(op->code); }

/// Whether a structured op holds another in its regions.
static bool holds(const Op *outer, const Op *op) {
    for (; op; op = op->parent ? op->parent->parent : NULL)
        if (op == outer) return true;
    return false;
}

/* ---- order ---- */

static bool same_place(const Differentiation *state, Op *a, Op *b) {
    return place_equals(places_find(state->versions.places, a),
                        places_find(state->versions.places, b));
}

/// How an access depends on the ids and loops around it, also where its address divides a lane.
typedef struct AccessAxes {
    Access access;
    LaneDigits digits;  // of an address that is understood by these alone
    Axis items[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    int count;
} AccessAxes;

static AccessAxes axes_of(const Differentiation *state, Op *op) {
    AccessAxes found = {.access = access_of(state->arena, op)};
    if (!found.access.offset.known && op->operands[0]->type.kind == TYPE_POINTER) {
        found.digits = access_by_lane_digits(state->arena, op);
        if (found.digits.access.offset.known) found.access = found.digits.access;
    }
    found.count = access_axes(state->arena, state->versions.axes, &found.access, found.items,
                              found.dependence, ACCESS_MOST_AXES);
    return found;
}

/// Whether the access touches other elements in each iteration of the loop that is one of its axes.
static bool is_axis_owned(const AccessAxes *axes, int axis) {
    return axes->dependence[axis] == AXIS_OWNED ||
           (axes->digits.access.offset.known &&
            lane_digits_count(&axes->digits, &axes->items[axis]));
}

static bool is_owned_in(const AccessAxes *axes, const Op *loop) {
    if (!axes->access.offset.known) return false;
    for (int i = 0; i < axes->count; i++)
        if (!axes->items[i].is_program && axes->items[i].loop == loop)
            return is_axis_owned(axes, i);
    return false;
}

/// The same of an access and a loop around it.
static bool is_owned_by_loop(const Differentiation *state, Op *op, const Op *loop) {
    const AccessAxes axes = axes_of(state, op);
    return is_owned_in(&axes, loop);
}

/// Asked of so many pairs that what each computes is not kept.
static bool never_meet(const Differentiation *state, Op *a, Op *b) {
    const AccessPlace *left = places_find(state->versions.places, a),
                      *right = places_find(state->versions.places, b);
    Arena *scratch = arena_new_scratch();
    bool apart = place_is_apart(scratch, left, right);
    if (!apart && left->access.parameter == right->access.parameter && !left->access.offset.known &&
        !right->access.offset.known)
        apart = lane_digits_are_apart(scratch, a, b) ||
                lane_digits_never_meet(scratch, state->versions.axes, a, b, NULL);
    arena_free(scratch);
    return apart;
}

/// A stride that is one symbol of the kernel's (a parameter): a dimension of its own.
static bool is_stride_symbol(const Poly *poly) {
    return poly->count == 1 && poly->terms[0].coefficient == 1 && poly->terms[0].atom_count == 1 &&
           !poly->terms[0].atoms[0]->op && !poly->terms[0].atoms[0]->type.is_constexpr;
}

/// Whether the elements of `a` in one iteration of the loop are never those of `b` in another.
static bool iterations_are_apart(const Differentiation *state, const Op *loop, Op *a, Op *b) {
    if (loop->code == OP_WHILE) return false;
    if (map_has_pointer(&state->versions.iterations_apart, loop)) return true;
    const AccessAxes of_a = axes_of(state, a), of_b = axes_of(state, b);
    if (!is_owned_in(&of_a, loop) || !is_owned_in(&of_b, loop)) return false;
    if (same_place(state, a, b)) return true;
    const Access *left = &of_a.access, *right = &of_b.access;
    if (of_a.digits.access.offset.known && of_b.digits.access.offset.known)
        return lane_digits_never_meet(state->arena, state->versions.axes, a, b, loop);
    Value *iv = loop->regions[0]->arguments[0];
    const Poly *weights[2], *rests[2];
    if (!poly_split(state->arena, left->offset.base, iv, &weights[0], &rests[0]) ||
        !poly_split(state->arena, right->offset.base, iv, &weights[1], &rests[1]))
        return false;
    if (!poly_equal(weights[0], weights[1])) return false;
    Arena *arena = state->arena;
    const Poly *step = value_poly(arena, loop->operands[2]);
    if (step && places_fit(arena, a, b, poly_multiply(arena, weights[0], step))) return true;
    if (!is_stride_symbol(weights[0])) return false;
    const Value *stride = weights[0]->terms[0].atoms[0];
    return !poly_mentions(rests[0], stride) && !poly_mentions(rests[1], stride);
}

/// Whether the order of the two is that of their text, in each iteration of every loop around both.
static bool order_is_textual(const Differentiation *state, const Op *level, Op *a, Op *b) {
    for (const Op *op = level->parent->parent; op; op = op->parent->parent)
        if (is_loop(op) && !iterations_are_apart(state, op, a, b)) return false;
    return true;
}

typedef enum Order { ORDER_FIRST, ORDER_SECOND, ORDER_NEVER_MEET, ORDER_UNKNOWN } Order;

/// When `a` happens, as far as the elements are concerned that both touch.
static Order order_of(const Differentiation *state, Op *a, Op *b) {
    if (ops_are_exclusive(a, b)) {
        for (const Op *op = a->parent->parent; op; op = op->parent->parent)
            if (is_loop(op) && holds(op, b) && !iterations_are_apart(state, op, a, b))
                return ORDER_UNKNOWN;
        return ORDER_NEVER_MEET;
    }
    Op *in_a, *in_b;
    ops_common_level(a, b, &in_a, &in_b);
    if (!in_a || in_a == in_b || !order_is_textual(state, in_a, a, b)) return ORDER_UNKNOWN;
    if (never_meet(state, a, b)) return ORDER_NEVER_MEET;
    return op_precedes(in_a, in_b) ? ORDER_FIRST : ORDER_SECOND;
}

/// `x[i] = f(x[i])` with places that move with the loop: each is read and then written, in one region.
static bool is_updated_by_iterations(const Differentiation *state, const OpList *accesses) {
    const Region *region = accesses->count ? accesses->items[0]->parent : NULL;
    bool stores = false;
    for (int i = 0; i < accesses->count; i++) {
        Op *op = accesses->items[i];
        if ((op->code != OP_LOAD && op->code != OP_STORE) || op->parent != region) return false;
        if (stores && op->code == OP_LOAD) return false;
        stores = stores || op->code == OP_STORE;
        bool has_mate = false;
        for (int k = 0; k < accesses->count && !has_mate; k++) {
            Op *mate = accesses->items[k];
            has_mate = mate->code != op->code && access_mask(mate) == access_mask(op) &&
                       same_place(state, op, mate);
        }
        if (!has_mate) return false;
    }
    return stores;
}

typedef struct Turning {
    const Op *loop;
    Map seen;
    bool divides, wraps, clamps, is_read;
    bool is_chosen;  // by a number that a caller chooses: frames of a signal may lie on each other
} Turning;

/// What an address does with what changes from turn to turn.
static void turning_of(Turning *turning, const Value *value) {
    const Op *op = value ? value->op : NULL;
    turning->is_chosen = turning->is_chosen || (value && value->is_chosen);
    if (!op || loop_invariant(turning->loop, value) || map_has_pointer(&turning->seen, value))
        return;
    map_set_pointer(&turning->seen, value, turning);
    turning->is_read |= op->code == OP_LOAD;
    turning->divides = turning->divides || op->code == OP_FLOORDIV || op->code == OP_SHR;
    turning->wraps = turning->wraps || op->code == OP_MOD || op->code == OP_AND;
    turning->clamps = turning->clamps || op->code == OP_MINIMUM || op->code == OP_MAXIMUM ||
                      op->code == OP_WHERE || op->code == OP_CLAMP;
    for (int i = 0; i < op->operand_count; i++) turning_of(turning, op->operands[i]);
}

/// Whether an address moves with the loop, and so that it may well be another one in each iteration: `i % n` alone comes back,
/// and nobody knows what an index from memory does, or a step that a caller chooses.
static bool moves_on(const Differentiation *state, const Op *loop, const Op *access) {
    const Value *pointer = access->operands[0];
    Turning turning = {.loop = loop, .seen = map_new(state->arena)};
    turning_of(&turning, pointer);
    return !loop_invariant(loop, pointer) && turning.divides == turning.wraps && !turning.clamps &&
           !turning.is_read && !turning.is_chosen;
}

/// Where an update of one place after the other moves in a way that is not understood, its turns are taken to be at different
/// places, and this is said.
static void assume_iterations_apart(Differentiation *state, const Parameter *parameter,
                                    const OpList *accesses) {
    state->versions.iterations_apart = map_new(state->arena);
    if (!is_updated_by_iterations(state, accesses)) return;
    for (Op *loop = accesses->items[0]->parent->parent; loop; loop = loop->parent->parent) {
        if (!is_loop(loop)) continue;
        bool is_known = true, moves = loop->code != OP_WHILE;
        for (int i = 0; i < accesses->count; i++) {
            moves = moves && moves_on(state, loop, accesses->items[i]);
            for (int k = 0; k <= i; k++)
                is_known = is_known && iterations_are_apart(state, loop, accesses->items[i],
                                                            accesses->items[k]);
        }
        if (is_known || !moves) continue;
        map_set_pointer(&state->versions.iterations_apart, loop, loop);
        const char *text = arena_printf(
            state->arena, "no two iterations of this loop touch the same elements of `%s`",
            parameter->name);
        LIST_PUSH(state->arena, &state->stores.assumptions,
                  (Assumption){.text = text, .range = loop->range});
    }
}

/* ---- loads of stored values ---- */

/// Whether `load` sees exactly what `store` put there: the same place and lanes, stored before in its region or one around it.
static bool sees_store(const Differentiation *state, Op *load, Op *store) {
    if (store->code != OP_STORE || load->operand_count < 3 || !same_place(state, load, store))
        return false;
    if (access_mask(load) != access_mask(store)) return false;
    if (load->results[0]->type.rank != store->operands[1]->type.rank) return false;
    const Op *level = load;
    while (level && level->parent != store->parent)
        level = level->parent ? level->parent->parent : NULL;
    return level && op_precedes(store, level);
}

/// Puts what was stored in the place of a load of it: in the load's type, under its mask.
static void read_stored(Differentiation *state, Op *load, Value *value) {
    Builder b = {.function = state->primal,
                 .region = load->parent,
                 .before = load,
                 .range = load->range,
                 .call = load->call};
    DType element = load->results[0]->type.element;
    bool is_other = element.code != DTYPE_UNKNOWN && !dtype_equal(value->type.element, element);
    if (is_other && !stored_is_unrounded(state, value, pointer_root(load->operands[0])))
        value = build_binary(&b, OP_CAST, value, build_dtype(&b, element));
    Value *mask = access_mask(load);
    Value *other = load->operands[2] && !value_is_none(load->operands[2]) ? load->operands[2]
                   : dtype_is_integer(element)                            ? build_int(&b, 0)
                                                                          : build_float(&b, 0.0);
    if (mask) value = build_ternary(&b, OP_WHERE, mask, value, other);
    region_replace_uses(state->primal->body, load->results[0], value);
    op_remove(load);
}

/// A load of what the program itself stored before becomes the stored value. Any store between that may touch the same
/// elements is in the way, and so is one further on in a loop that both are in.
static bool forward_stored(Differentiation *state, Op *load, const OpList *accesses) {
    Op *source = NULL;
    for (int i = 0; i < accesses->count; i++) {
        Op *store = accesses->items[i];
        if (!is_write(store)) continue;
        if (sees_store(state, load, store)) {
            source = store;
            continue;
        }
        if (order_of(state, load, store) == ORDER_NEVER_MEET) continue;
        Op *in_load, *in_store;
        ops_common_level(load, store, &in_load, &in_store);
        if (!in_load || !op_precedes(in_load, in_store)) source = NULL;
    }
    // Within a loop that does not hold the source, a later iteration sees what an earlier one stored.
    for (int i = 0; source && i < accesses->count; i++) {
        Op *store = accesses->items[i];
        if (!is_write(store) || store == source) continue;
        for (const Op *loop = load->parent->parent; loop && source; loop = loop->parent->parent)
            if (is_loop(loop) && !holds(loop, source) && holds(loop, store) &&
                !iterations_are_apart(state, loop, load, store) &&
                order_of(state, load, store) != ORDER_NEVER_MEET)
                source = NULL;
    }
    if (!source) return false;
    read_stored(state, load, source->operands[1]);
    return true;
}

/// The same where an earlier loop over the same range stored it, each iteration elsewhere, and nothing else may have been stored there.
static bool forward_looped(Differentiation *state, Op *load, const OpList *accesses) {
    Op *source = NULL;
    for (int i = 0; i < accesses->count && !source; i++)
        if (loop_of_stored(load, accesses->items[i])) source = accesses->items[i];
    if (!source || !is_owned_by_loop(state, source, loop_of_stored(load, source))) return false;
    for (int i = 0; i < accesses->count; i++) {
        Op *store = accesses->items[i];
        if (is_write(store) && store != source && order_of(state, load, store) != ORDER_NEVER_MEET)
            return false;
    }
    Value *value = loop_stored_value(state->primal, load, source);
    if (value) read_stored(state, load, value);
    return value != NULL;
}

/* ---- versions ---- */

typedef enum Version {
    VERSION_BEFORE,   // the contents from before the launch
    VERSION_AFTER,    // what the kernel leaves there
    VERSION_AMID,     // what some of its stores have left, which others overwrite later
    VERSION_BETWEEN,  // not known
    VERSION_KEPT,  // what the backward sees where it repeats the stores in their order, and keeps
} Version;

enum { VERSION_COUNT = VERSION_KEPT + 1 };  // as many as there are

static bool list_has(const OpList *list, const Op *op) {
    for (int i = 0; i < list->count; i++)
        if (list->items[i] == op) return true;
    return false;
}

/// What a load sees. The stores that came before it join `done` where others come later.
static Version version_of(const Differentiation *state, Op *load, const OpList *accesses,
                          OpList *done) {
    bool first = true, last = true, known = true;
    OpList before = {0};
    for (int i = 0; i < accesses->count && known; i++) {
        Op *store = accesses->items[i];
        if (!is_write(store)) continue;
        Order order = order_of(state, load, store);
        if (order == ORDER_NEVER_MEET) continue;
        known = order == ORDER_FIRST || (order == ORDER_SECOND && store->code == OP_STORE);
        first = first && order == ORDER_FIRST;
        last = last && order == ORDER_SECOND;
        if (order == ORDER_SECOND) LIST_PUSH(state->arena, &before, store);
    }
    if (!known) return VERSION_BETWEEN;
    if (first || last) return first ? VERSION_BEFORE : VERSION_AFTER;
    for (int i = 0; i < before.count; i++)
        if (!list_has(done, before.items[i])) LIST_PUSH(state->arena, done, before.items[i]);
    return VERSION_AMID;
}

bool memory_loads_come_first(Differentiation *state, const Value *root, const OpList *loads) {
    Places places = places_new(state->arena);
    FunctionAxes axes = function_axes(state->arena, state->primal);
    OpList accesses = memory_accesses(state->arena, state->primal, root);
    bool come_first = true;
    state->versions.places = &places;
    state->versions.axes = &axes;
    for (int i = 0; i < loads->count; i++)
        for (int k = 0; k < accesses.count && come_first; k++) {
            Op *load = loads->items[i], *store = accesses.items[k];
            if (!is_write(store)) continue;
            Order order = order_of(state, load, store);
            come_first = (order == ORDER_FIRST || order == ORDER_NEVER_MEET) &&
                         (same_place(state, load, store) ||
                          places_are_owned_together(state->arena, &axes, load, store, true));
        }
    state->versions.places = NULL;
    state->versions.axes = NULL;
    return come_first;
}

/// Whether a copy with all these stores in it holds what the load sees: none of them comes later.
static bool sees_all_of(const Differentiation *state, Op *load, const OpList *done) {
    for (int i = 0; i < done->count; i++) {
        Order order = order_of(state, load, done->items[i]);
        if (order != ORDER_SECOND && order != ORDER_NEVER_MEET) return false;
    }
    return true;
}

Value *pointer_rebase(Builder *b, Value *pointer, const Value *root, Value *instead) {
    if (pointer == root) return instead;
    if (!pointer->op || pointer->op->region_count) return NULL;
    const Op *op = pointer->op;
    Value **operands = ARENA_ARRAY(b->function->arena, Value *, op->operand_count + 1);
    for (int i = 0; i < op->operand_count; i++) {
        operands[i] = op->operands[i];
        if (!operands[i] || operands[i]->type.kind != TYPE_POINTER) continue;
        operands[i] = pointer_rebase(b, operands[i], root, instead);
        if (!operands[i]) return NULL;
    }
    Value *copy = build(b, op->code, operands, op->operand_count);
    if (copy && !copy->name) copy->name = pointer->name;
    return copy;
}

/// The parameter that stands for another version of a buffer. Made on first use.
static Value *version_parameter(Differentiation *state, int index, Version version, Value **made) {
    if (*made) return *made;
    const Parameter *of = &state->primal->parameters[index];
    static const char *const suffixes[VERSION_COUNT] = {
        [VERSION_BEFORE] = "before", [VERSION_AMID] = "amid", [VERSION_BETWEEN] = "between"};
    const char *name = arena_printf(state->arena, "%s_%s", of->name, suffixes[version]);
    for (int i = 0; i < state->primal->parameter_count; i++)
        if (str_is(str_from(state->primal->parameters[i].name), name))
            name = arena_printf(state->arena, "%s_", name);
    bool is_optional = of->is_optional;
    Value *root = of->value;
    Value *value = function_add_parameter(state->primal, name, root->type);
    state->primal->parameters[value->index].is_optional = is_optional;
    map_set_pointer(&state->versions.origins, value, root);
    if (version == VERSION_BETWEEN) map_set_pointer(&state->versions.lost, value, root);
    return *made = value;
}

static void read_version(Differentiation *state, int index, Op *load, Version version,
                         Value *made[VERSION_COUNT]) {
    if (version == VERSION_AFTER || version == VERSION_KEPT) return;
    Value *root = state->primal->parameters[index].value;
    Value *instead = version_parameter(state, index, version, &made[version]);
    Builder b = {.function = state->primal,
                 .region = load->parent,
                 .before = load,
                 .range = load->range,
                 .call = load->call};
    Value *pointer = pointer_rebase(&b, load->operands[0], root, instead);
    if (pointer) {
        op_set_operand(load, 0, pointer);
        return;
    }
    adjoint_fail(
        state, DIAGNOSTIC_GRADIENT_UNKNOWN_ADDRESS, load->range,
        "`%s` is updated in place and the address of this load of it is chosen at run time",
        state->primal->parameters[index].name);
}

/* ---- running gradients ---- */

/// Whether the iterations of a loop around a store may write to one element.
static bool is_repeated_by_loops(const Differentiation *state, Op *store) {
    for (const Op *op = store->parent->parent; op; op = op->parent->parent)
        if (op->code == OP_WHILE) return true;
    const AccessAxes axes = axes_of(state, store);
    for (int i = 0; i < axes.count; i++)
        if (!axes.items[i].is_program && !is_axis_owned(&axes, i)) return true;
    return false;
}

/// Whether the store writes what an access at another place in the list may have written before. Of two stores that meet one
/// is the later, so each pair of them is asked about once.
static bool is_overwriting(const Differentiation *state, const OpList *accesses, int store) {
    for (int k = 0; k < accesses->count; k++) {
        Op *other = accesses->items[k];
        if (k == store || !is_write(other) || (other->code == OP_STORE && k > store)) continue;
        Order order = order_of(state, other, accesses->items[store]);
        bool is_earlier = order == ORDER_FIRST || order == ORDER_UNKNOWN;
        if (is_earlier || (other->code == OP_STORE && order == ORDER_SECOND)) return true;
    }
    return false;
}

/// Whether one element may be stored by a program after it was written already: then only the last store has an upstream
/// gradient.
static bool is_stored_repeatedly(const Differentiation *state, const OpList *accesses) {
    for (int i = 0; i < accesses->count; i++) {
        Op *store = accesses->items[i];
        if (store->code != OP_STORE) continue;
        if (is_repeated_by_loops(state, store)) return true;
        if (is_overwriting(state, accesses, i)) return true;
    }
    return false;
}

/// Loops around two accesses whose iterations may meet in one element have to be walked backwards.
static void mark_ordered_loops(Differentiation *state, const OpList *accesses) {
    for (int i = 0; i < accesses->count; i++)
        for (int k = 0; k <= i; k++) {
            Op *a = accesses->items[i], *b = accesses->items[k];
            if (!is_write(a) && !is_write(b)) continue;
            for (const Op *loop = a->parent->parent; loop; loop = loop->parent->parent)
                if (is_loop(loop) && holds(loop, b) && !iterations_are_apart(state, loop, a, b))
                    map_set_pointer(&state->versions.ordered, loop, (void *)1);
        }
}

static bool visit_lock(void *context, Op *op) {
    bool *found = context;
    int effects = op_rows[op->code].effects;
    bool adds = op->code == OP_ATOMIC_ADD || op->code == OP_DESCRIPTOR_ATOMIC_ADD;
    if ((effects & EFFECT_ATOMIC) && !adds) *found = true;
    return !*found;
}

static void make_running(Differentiation *state, int index, const OpList *accesses,
                         Value *const made[VERSION_COUNT]) {
    const Parameter *parameter = &state->primal->parameters[index];
    bool has_locks = false;
    region_walk(state->primal->body, visit_lock, &has_locks);
    bool adds = false;
    for (int i = 0; i < accesses->count; i++)
        adds = adds || (is_write(accesses->items[i]) && accesses->items[i]->code != OP_STORE);
    bool loads = false;
    for (int i = 0; i < accesses->count; i++) loads = loads || accesses->items[i]->code == OP_LOAD;
    if (has_locks || (adds && loads))
        adjoint_fail(
            state, DIAGNOSTIC_GRADIENT_IN_PLACE, accesses->items[0]->range,
            "several programs update and read `%s`, in an order that the backward does not know; use another buffer",
            parameter->name);
    map_set_pointer(&state->buffers.running, parameter->value, (void *)1);
    for (int i = 0; i < VERSION_COUNT; i++)
        if (made[i]) map_set_pointer(&state->buffers.running, made[i], (void *)1);
}

/* ---- what was there before ---- */

typedef enum Keeping {
    KEEPS_NOTHING,  // the tensor is new, or its loads say what they see
    KEEPS_APART,    // a buffer of its own for the gradient of what was there
    KEEPS_RUNNING,  // the running gradient is that one
} Keeping;

/// Where the gradient of what the kernel leaves, or adds to, of a tensor's contents from before the launch is made.
static Keeping keeping_of(const Differentiation *state, const Parameter *parameter,
                          const OpList *accesses) {
    if (!parameter->may_have_contents) return KEEPS_NOTHING;
    bool adds = false, has_locks = false;
    for (int i = 0; i < accesses->count; i++) {
        if (accesses->items[i]->code == OP_LOAD) return KEEPS_NOTHING;  // seen by its versions
        adds = adds || accesses->items[i]->code != OP_STORE;
    }
    region_walk(state->primal->body, visit_lock, &has_locks);
    return adds && !has_locks ? KEEPS_RUNNING : KEEPS_APART;
}

/* ---- all of it ---- */

/// Where what some load sees is not known, all stores are repeated in a copy, in their order, and the loads keep what is there.
static void keep_loads(Differentiation *state, int index, const OpList *accesses, Version *versions,
                       OpList *done) {
    bool any = false, has_atomics = false;
    for (int i = 0; i < accesses->count; i++) {
        const Op *op = accesses->items[i];
        any = any || (op->code == OP_LOAD && versions[i] == VERSION_BETWEEN);
        has_atomics = has_atomics || (op->code != OP_LOAD && op->code != OP_STORE);
    }
    if (!any || has_atomics) return;
    const char *name = state->primal->parameters[index].name;
    done->count = 0;
    for (int i = 0; i < accesses->count; i++) {
        Op *op = accesses->items[i];
        if (op->code == OP_STORE) LIST_PUSH(state->arena, done, op);
        bool is_amid = versions[i] == VERSION_BETWEEN || versions[i] == VERSION_AMID;
        if (op->code == OP_LOAD && is_amid)
            versions[i] = load_keep(state, op, name) ? VERSION_KEPT : VERSION_BETWEEN;
    }
}

/// Whether the kernel only stores there, and nobody reads that. What no load of the kernel's has asked for is left: the backward may.
static bool is_scratch(const Differentiation *state, int index, const OpList *accesses) {
    for (int i = 0; i < accesses->count; i++)
        if (accesses->items[i]->code != OP_STORE) return false;
    return parameter_is_scratch(state->arena, state->primal, index);
}

/// Whether another variant of the kernel stores repeatedly to the parameter, so that its gradient has to be a running one here, too.
static bool is_running_elsewhere(const Differentiation *state, const Parameter *parameter) {
    const BackwardOptions *options = state->options;
    for (int i = 0; options && i < options->running_count; i++)
        if (strcmp(options->running[i], parameter->name) == 0) return true;
    return false;
}

static void split_versions(Differentiation *state, int index, bool is_float, bool is_wanted) {
    Value *root = state->primal->parameters[index].value;
    OpList accesses = memory_accesses(state->arena, state->primal, root);
    for (int i = 0; i < accesses.count; i++)
        if (accesses.items[i]->code == OP_LOAD &&
            !forward_stored(state, accesses.items[i], &accesses))
            forward_looped(state, accesses.items[i], &accesses);
    accesses = memory_accesses(state->arena, state->primal, root);
    if (is_scratch(state, index, &accesses)) {
        for (int i = 0; i < accesses.count; i++) op_remove(accesses.items[i]);
        return;
    }
    if (is_float) assume_iterations_apart(state, &state->primal->parameters[index], &accesses);
    Version *versions = ARENA_ARRAY(state->arena, Version, accesses.count + 1);
    Keeping keeping = is_float && is_wanted
                          ? keeping_of(state, &state->primal->parameters[index], &accesses)
                          : KEEPS_NOTHING;
    bool needs_running =
        is_float && (keeping == KEEPS_RUNNING || is_stored_repeatedly(state, &accesses) ||
                     is_running_elsewhere(state, &state->primal->parameters[index]));
    if (keeping == KEEPS_APART && !needs_running)
        map_set_pointer(&state->buffers.kept, root, (void *)1);  // its parameter comes later
    state->primal->parameters[index].has_contents = keeping != KEEPS_NOTHING;
    bool any_load = false;
    OpList done = {0};
    for (int i = 0; i < accesses.count; i++) {
        Op *load = accesses.items[i];
        if (load->code != OP_LOAD) continue;
        any_load = true;
        versions[i] = version_of(state, load, &accesses, &done);
        if (is_float && (is_wanted || versions[i] != VERSION_BEFORE)) needs_running = true;
    }
    if (!any_load && !needs_running) return;
    if (needs_running) mark_ordered_loops(state, &accesses);  // while all go through one pointer
    for (int i = 0; i < accesses.count; i++)
        if (versions[i] == VERSION_AMID && accesses.items[i]->code == OP_LOAD &&
            !sees_all_of(state, accesses.items[i], &done))
            versions[i] = VERSION_BETWEEN;
    if (state->versions.keeps_loads) keep_loads(state, index, &accesses, versions, &done);
    Value *made[VERSION_COUNT] = {NULL};
    OpList before = accesses;
    for (int i = 0; i < accesses.count; i++)
        if (accesses.items[i]->code == OP_LOAD)
            read_version(state, index, accesses.items[i], versions[i], made);
    for (int i = 0; i < accesses.count; i++)
        if (accesses.items[i]->code == OP_LOAD && versions[i] == VERSION_KEPT)
            version_parameter(state, index, VERSION_AMID, &made[VERSION_AMID]);
    if (made[VERSION_AMID]) replay_plan(state, made[VERSION_AMID], done.items, done.count);
    if (needs_running) make_running(state, index, &before, made);
}

void memory_split_versions(Differentiation *state, const Memory *memory,
                           bool (*wants)(const void *context, const Parameter *parameter),
                           const void *context) {
    int count = state->primal->parameter_count;
    Places places = places_new(state->arena);
    state->versions.places = &places;
    for (int p = 0; p < count && !state->failed; p++) {
        const Parameter *parameter = &state->primal->parameters[p];
        if (!map_has_pointer(&memory->stored, parameter->value)) continue;
        FunctionAxes axes = function_axes(state->arena, state->primal);
        state->versions.axes = &axes;
        split_versions(state, p, parameter_points_to_float(parameter), wants(context, parameter));
    }
    state->versions.places = NULL;
    state->versions.axes = NULL;
}

void memory_refuse_lost_values(Differentiation *state) {
    Memory after = memory_of(state->arena, state->backward);
    for (int i = 0; i < state->versions.lost.count; i++) {
        Value *root = (Value *)(uintptr_t)state->versions.lost.entries[i].number;
        const Op *load = map_get_pointer(&after.loaded, value_mapped(&state->values, root));
        if (!load) continue;
        const Value *origin = state->versions.lost.entries[i].value;
        state->versions.loses_values = true;
        adjoint_fail(
            state, DIAGNOSTIC_GRADIENT_IN_PLACE, load->range,
            "the backward has to read what `%s` held here, which the kernel overwrites later; keep it in another tensor",
            state->primal->parameters[origin->index].name);
    }
}
