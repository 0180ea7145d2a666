// A backward that recomputes the forward in; one that loads what the forward has stored already out.
#include "autodiff/tape/saved.h"

#include "analysis/addresses/affine.h"
#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/host/launch.h"
#include "analysis/ir/walk.h"
#include "analysis/launches/launch_later.h"
#include "analysis/launches/launch_least.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/copying.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/tape/memory.h"

/* ---- what launches pass ---- */

static const HostTensor *passed_tensor(const HostLaunch *launch, int index) {
    const HostValue *value = index < launch->argument_count ? launch->arguments[index].value : NULL;
    return value && value->kind == HOST_TENSOR && value->tensor->dtype ? value->tensor : NULL;
}

/// Whether a tensor of this type keeps the value as it is: a float32, a whole number of 32 bits, what is true or false.
static bool is_unrounded(const HostValue *dtype, const Value *value) {
    bool is_known = dtype->kind == HOST_CONSTANT && dtype->constant.kind == CONSTANT_DTYPE;
    if (!is_known) return false;
    DTypeCode code = dtype->constant.dtype.code;
    if (value->type.element.code == DTYPE_INT32) return code == DTYPE_INT32 || code == DTYPE_INT64;
    return code == DTYPE_FLOAT32 || code == DTYPE_INT1;
}

/// Whether a launch passes, for a parameter that has a gradient, a tensor of an element type that nobody but the caller knows.
static bool is_type_of_input(const Differentiation *state, const HostLaunch *launch,
                             const HostValue *dtype) {
    for (int i = 0; dtype->kind == HOST_DTYPE && i < state->primal->parameter_count; i++) {
        const HostTensor *tensor = passed_tensor(launch, i);
        bool is_same =
            tensor && tensor->dtype->kind == HOST_DTYPE && tensor->dtype->input == dtype->input;
        const Value *parameter = state->primal->parameters[i].value;
        if (is_same && map_has_pointer(&state->buffers.gradients, parameter)) return true;
    }
    return false;
}

/// Whether every launch that is known passes a tensor for this parameter that keeps the value as it is, for one rounded to less is
/// another one; or, where that is asked for, one of an input's type.
static bool is_tensor_of(const Differentiation *state, int index, const Value *value,
                         bool is_single) {
    const FunctionDefinition *kernel = state->primal->definition;
    HostLaunches launches = host_launches_by_flags(state->arena, kernel, state->primal);
    for (LIST_EACH(int, i, launches)) {
        const HostTensor *tensor = passed_tensor(launches.items[i], index);
        if (!tensor) return false;
        if (!is_unrounded(tensor->dtype, value) &&
            (is_single || !is_type_of_input(state, launches.items[i], tensor->dtype)))
            return false;
    }
    return launches.count > 0;
}

/* ---- which stores ---- */

typedef struct RootUse {
    const Value *root;
    int accesses;
} RootUse;

static bool visit_access(void *context, Op *op) {
    RootUse *use = context;
    bool touches = op_rows[op->code].effects & (EFFECT_READS | EFFECT_WRITES | EFFECT_ATOMIC);
    if (touches && op->operand_count && pointer_root(op->operands[0]) == use->root) use->accesses++;
    return true;
}

static bool is_only_access(const Function *function, const Value *root) {
    RootUse use = {.root = root};
    region_walk(function->body, visit_access, &use);
    return use.accesses == 1;
}

/// Whether a value is more work than a load: it comes out of a loop, a reduction, a product or a generator of random numbers.
static intptr_t is_costly(ValueWalk *walk, const Value *value) {
    const Op *op = value ? value->op : NULL;
    if (!op || value->constant) return false;
    bool is_product = op->code == OP_REDUCE || op->code == OP_DOT;
    if (is_product || (op_rows[op->code].effects & EFFECT_RANDOM) || op_is_loop(op->code) ||
        op_rows[op->code].shape == SHAPE_REDUCED)
        return true;
    for (int i = 0; i < op->operand_count; i++)
        if (walk_ask(walk, op->operands[i])) return true;
    return false;
}

static bool is_absent(const Op *op, int index) {
    const Value *value = index < op->operand_count ? op->operands[index] : NULL;
    return !value || (value->constant && value->constant->kind == CONSTANT_NONE);
}

/// Whether the cast leaves fewer bits than the value has, as far as its type is known.
static bool is_narrowed(const Value *value, const Value *cast) {
    int bits = dtype_bits(cast->type.element.code);
    return value->type.element.code != DTYPE_INT1 && bits &&
           bits < dtype_bits(value->type.element.code);
}

/// The number of a row, or of each row of a tile, that a store of the forward leaves as it is, the index of a row, or what is true or
/// false; or NULL.
static Value *stored_number(const Op *op, const Map *ours) {
    if (op->code != OP_STORE || map_has_pointer(ours, op) || !is_absent(op, 2)) return NULL;
    Value *value = op->operands[1];
    bool is_cast = value->op && value->op->code == OP_CAST;
    if (is_cast && !is_narrowed(value->op->operands[0], value)) value = value->op->operands[0];
    bool is_choice = value->type.element.code == DTYPE_INT1;
    bool is_index = value->type.element.code == DTYPE_INT32 && value->type.rank == 0;
    bool is_single = value->type.kind == TYPE_NUMBER && value->type.rank <= 1 + is_choice &&
                     (is_choice || is_index || value->type.element.code == DTYPE_FLOAT32) &&
                     !value->type.is_constexpr;
    if (!is_single || !value->op || value->op->parent != op->parent || op_is_in_loop(op))
        return NULL;
    Value *root = pointer_root(op->operands[0]);
    return root && walk_from(value, is_costly, true, NULL) ? value : NULL;
}

static int parameter_of(const Differentiation *state, const Value *root) {
    for (int i = 0; i < state->primal->parameter_count; i++)
        if (recomputed(state, state->primal->parameters[i].value) == root) return i;
    return -1;
}

/// Whether a step is 1 or more in every launch: no hop that a launcher's caller says, which may be 0.
static bool is_step(const Differentiation *state, const Poly *step) {
    if (step->count != 1) return false;
    for (int a = 0; a < step->terms[0].atom_count; a++) {
        int at = parameter_of(state, step->terms[0].atoms[a]);
        int64_t least = at >= 0 ? launches_least(state->arena, state->primal, at) : 0;
        if (least == LAUNCH_LEAST_UNKNOWN || least < 1) return false;
    }
    return true;
}

/// Whether programs that differ in this number alone store to other elements.
static bool is_told_apart(const Differentiation *state, const Op *store, Value *id) {
    Value *root;
    const Affine place = pointer_affine_of(state->arena, store->operands[0], &root);
    const Poly *step, *rest;
    if (!place.known || !poly_split(state->arena, place.base, id, &step, &rest)) return false;
    for (int t = 0; t < rest->count; t++)
        for (int a = 0; a < rest->terms[t].atom_count; a++)
            if (value_depends_on(state->arena, rest->terms[t].atoms[a], id, NULL)) return false;
    return !poly_is_zero(step) && is_step(state, step);
}

/// Whether each program finds there what it stored itself: no other one may have stored since, as far as is known.
static bool is_stored_once(const Differentiation *state, const Op *store, const Value *value) {
    for (LIST_EACH(int, i, state->stores.assumptions)) {
        Range range = state->stores.assumptions.items[i].range;
        if (range.source == store->range.source && range.start == store->range.start) return false;
    }
    FunctionAxes axes = function_axes(state->arena, state->backward);
    bool is_index = value->type.element.code == DTYPE_INT32;  // a gradient asked the same already
    int numbers = 0;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        Value *id = axes.programs[axis];
        if (!id || !value_depends_on(state->arena, value, id, NULL)) continue;
        numbers++;  // programs of two numbers may share `b + h`, each of which tells them apart
        if (!value_depends_on(state->arena, store->operands[0], id, NULL) ||
            (is_index && (numbers > 1 || !is_told_apart(state, store, id))))
            return false;
    }
    return true;
}

bool stored_is_unrounded(const Differentiation *state, const Value *value, const Value *root) {
    int index = parameter_of(state, root);
    return value->type.element.code == DTYPE_FLOAT32 && index >= 0 &&
           is_tensor_of(state, index, value, true);
}

bool stored_value_stays(const Differentiation *state, const Op *store, const Value *value,
                        bool is_single) {
    Value *root = pointer_root(store->operands[0]);
    int index = root ? parameter_of(state, root) : -1;
    if (index < 0 || index >= state->primal->definition->parameter_count) return false;
    const Value *parameter = state->primal->parameters[index].value;
    bool may_be_again = op_is_in_loop(store) && map_has_pointer(&state->buffers.running, parameter);
    bool is_only =
        is_only_access(state->backward, root) || is_only_access(state->primal, parameter);
    return !may_be_again && is_only && is_stored_once(state, store, value) &&
           is_tensor_of(state, index, value, is_single);
}

bool stored_tensor_is_as_small(const Differentiation *state, const Op *store) {
    Value *root = pointer_root(store->operands[0]);
    int index = root ? parameter_of(state, root) : -1;
    if (index < 0) return false;
    HostLaunches launches =
        host_launches_by_flags(state->arena, state->primal->definition, state->primal);
    for (LIST_EACH(int, i, launches)) {
        const HostTensor *tensor = passed_tensor(launches.items[i], index);
        if (!tensor || !is_type_of_input(state, launches.items[i], tensor->dtype)) return false;
    }
    return launches.count > 0;
}

/// Whether nothing that the launcher says writes to the tensor once the launch has: an index is no result that callers leave alone.
static bool is_last_of_launcher(const Differentiation *state, const Op *store) {
    int index = parameter_of(state, pointer_root(store->operands[0]));
    HostLaunches launches = host_launches(state->arena, state->primal->definition, state->primal);
    for (LIST_EACH(int, i, launches))
        if (!launch_writes_last(launches.items[i], index)) return false;
    return true;
}

bool stored_tensor_is_left(const Differentiation *state, const Op *store) {
    Value *root = pointer_root(store->operands[0]);
    int index = root ? parameter_of(state, root) : -1;
    if (index < 0 || state->primal->parameters[index].may_have_contents) return false;
    HostLaunches launches = host_launches(state->arena, state->primal->definition, state->primal);
    for (LIST_EACH(int, i, launches))
        if (!launch_leaves(launches.items[i], index)) return false;
    return launches.count > 0;
}

/* ---- loading ---- */

static bool comes_before(const Op *op, const Op *place) {
    for (const Op *at = place; at; at = at->previous)
        if (at == op) return true;
    return false;
}

/// The value at the builder's place: as it is where it is known there, else computed again. NULL where that cannot be.
static Value *value_at(Builder *builder, Value *value, Map *copies, int depth) {
    Op *op = value->op;
    bool is_known = !op || value->constant || op->parent != builder->region ||
                    (op != builder->before && comes_before(op, builder->before));
    if (is_known) return value;
    Value *copy = map_get_pointer(copies, value);
    if (copy) return copy;
    if (depth > 12 || !op_is_pure(op) || op->region_count || op->result_count != 1) return NULL;
    for (int i = 0; i < op->operand_count; i++) {
        Value *operand = op->operands[i];
        Value *known = operand ? value_at(builder, operand, copies, depth + 1) : NULL;
        if (operand && !known) return NULL;
        if (operand) map_set_pointer(copies, operand, known);
    }
    Op *clone = op_clone(builder, op, copies);
    copy = clone->results[0];
    map_set_pointer(copies, value, copy);
    return copy;
}

typedef struct Quotients {
    const Value *divisor, *reciprocal;
    Value *loaded;
    Op *place;
    Builder *builder;
} Quotients;

/// `a / t` where `1 / t` has been loaded: the divisor is not needed any more.
static bool visit_quotient(void *context, Op *op) {
    Quotients *quotients = context;
    if (op->code != OP_DIV || op->operands[1] != quotients->divisor ||
        op->results[0] == quotients->reciprocal)
        return true;
    Builder builder = *quotients->builder;
    builder.region = op->parent;
    builder.before = op;
    Value *product = build_binary(&builder, OP_MUL, op->operands[0], quotients->loaded);
    if (op->results[0]->name && product->op) product->name = op->results[0]->name;
    region_replace_uses(builder.function->body, op->results[0], product);
    return true;
}

/// Where `value` is one over something: that, else NULL.
static Value *divisor_of(const Value *value) {
    double one;
    const Op *op = value->op;
    bool is_reciprocal = op->code == OP_DIV && value_is_number(op->operands[0], &one) && one == 1.0;
    return is_reciprocal ? op->operands[1] : NULL;
}

/// A store of a forward that was made to store more: each lane of each program has a place of its own.
static bool is_own_store(const Differentiation *state, const Op *store) {
    int index = parameter_of(state, pointer_root(store->operands[0]));
    return index >= 0 && state->primal->parameters[index].is_saved;
}

typedef struct CommonMask {
    const Map *ours;
    const Op *own;  // the store that does not count
    Value *mask;
    bool is_common;
} CommonMask;

static bool visit_mask(void *context, Op *op) {
    CommonMask *common = context;
    bool writes = op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC);
    if (!writes || op == common->own || map_has_pointer(common->ours, op)) return true;
    Value *mask = op->code == OP_STORE ? access_mask(op) : NULL;
    common->is_common = mask && (!common->mask || common->mask == mask);
    common->mask = mask;
    return common->is_common;
}

static bool visit_joint(void *context, Op *op) {
    bool *is_by_lane = context, has_tile = false;
    for (int i = 0; i < op->operand_count; i++)
        has_tile |= op->operands[i] && op->operands[i]->type.rank > 0;
    bool hands_on = op_is_loop(op->code) || op->code == OP_IF || op->code == OP_YIELD;
    *is_by_lane = !has_tile || hands_on || op_is_by_element(op) || op->code == OP_TILE_INDEX ||
                  op->code == OP_LOAD || op->code == OP_STORE;
    return *is_by_lane;
}

/// The mask of all that the forward stores, where each lane is computed by itself: beyond it, nobody sees what was drawn. Else NULL.
static Value *mask_of_choice(const Differentiation *state, const Op *store, const Value *value,
                             const Map *ours) {
    bool is_by_lane = true;
    CommonMask common = {.ours = ours, .own = store, .is_common = true};
    if (value->type.element.code != DTYPE_INT1) return NULL;
    region_walk(state->primal->body, visit_joint, &is_by_lane);
    region_walk(state->backward->body, visit_mask, &common);
    bool fits =
        is_by_lane && common.is_common && common.mask && common.mask->type.rank == value->type.rank;
    for (int i = 0; fits && i < value->type.rank; i++)
        fits = poly_equal(common.mask->type.dims[i], value->type.dims[i]);
    return fits ? common.mask : NULL;
}

bool stored_lanes_are_all(const Differentiation *state, const Op *store, const Map *ours) {
    bool is_by_lane = true;
    const Value *mask = access_mask(store);
    CommonMask common = {.ours = ours, .own = store, .is_common = true};
    region_walk(state->primal->body, visit_joint, &is_by_lane);
    if (!is_by_lane || !mask) return is_by_lane;
    region_walk(state->backward->body, visit_mask, &common);
    return common.is_common && (!common.mask || common.mask == mask);
}

static void load_instead(Differentiation *state, Op *store, Value *value, Value *mask) {
    Value *divisor = divisor_of(value);
    bool is_near = divisor && divisor->op && divisor->op->parent == store->parent;
    Builder builder = {.function = state->backward,
                       .region = store->parent,
                       .before = is_near ? divisor->op : value->op,
                       .range = store->range};
    Map copies = map_new(state->arena);
    Value *address = value_at(&builder, store->operands[0], &copies, 0);
    if (!address) return;
    if (mask) mask = value_at(&builder, mask, &copies, 0);
    Value *others = mask ? build_int(&builder, 0) : NULL;
    Value *loaded = build(&builder, OP_LOAD, (Value *const[]){address, mask, others}, mask ? 3 : 1);
    Value *type = build_dtype(&builder, value->type.element);
    loaded = build_binary(&builder, OP_CAST, loaded, type);
    loaded->name = value->name;
    if (is_near) {
        Quotients quotients = {
            .divisor = divisor, .reciprocal = value, .loaded = loaded, .builder = &builder};
        region_walk(state->backward->body, visit_quotient, &quotients);
    }
    region_replace_uses(state->backward->body, value, loaded);
}

typedef struct Stores {
    OpList found;
    Arena *arena;
} Stores;

static bool visit_store(void *context, Op *op) {
    Stores *stores = context;
    if (op->code == OP_STORE) LIST_PUSH(stores->arena, &stores->found, op);
    return true;
}

void saved_values_load(Differentiation *state, const Map *ours) {
    Stores stores = {.arena = state->arena};
    region_walk(state->backward->body, visit_store, &stores);
    for (LIST_EACH(int, i, stores.found)) {
        Op *store = stores.found.items[i];
        Value *value = stored_number(store, ours);
        // Lanes of a store that the author wrote may meet.
        bool is_alone = value && (value->type.rank == 0 || is_own_store(state, store));
        bool is_index = value && value->type.element.code == DTYPE_INT32;
        if (is_alone && stored_value_stays(state, store, value, true) &&
            (!is_index || is_last_of_launcher(state, store)))
            load_instead(state, store, value, mask_of_choice(state, store, value, ours));
    }
}
