// Memory that a kernel both reads and writes.
#include "autodiff/memory.h"

#include "analysis/affine.h"

enum { AXES_MAX = 16 };

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

typedef struct AccessSearch {
    Arena *arena;
    OpList ops;
    const Value *root;
} AccessSearch;

static bool visit_access(void *context, Op *op) {
    AccessSearch *search = context;
    int effects = op_rows[op->code].effects;
    bool touches = (effects & (EFFECT_READS | EFFECT_WRITES | EFFECT_ATOMIC)) &&
                   op->operand_count && pointer_root(op->operands[0]) == search->root;
    if (touches) LIST_PUSH(search->arena, &search->ops, op);
    return true;
}

OpList memory_accesses(Arena *arena, const Function *function, const Value *root) {
    AccessSearch search = {.arena = arena, .root = root};
    region_walk(function->body, visit_access, &search);
    return search.ops;
}

static bool same_place(Arena *arena, Op *a, Op *b) {
    if (a->operands[0] == b->operands[0]) return true;
    Access left = access_of(arena, a), right = access_of(arena, b);
    if (!left.offset.known || !right.offset.known || left.offset.rank != right.offset.rank)
        return false;
    if (!poly_equal(left.offset.base, right.offset.base)) return false;
    for (int i = 0; i < left.offset.rank; i++)
        if (!poly_equal(left.offset.lane[i], right.offset.lane[i])) return false;
    return true;
}

static Value *access_mask(const Op *op) {
    int index = op_parameter_index(op->code, STR("mask"));
    Value *mask = index >= 0 && index < op->operand_count ? op->operands[index] : NULL;
    return mask && value_is_none(mask) ? NULL : mask;
}

static bool op_is_before(const Op *a, const Op *b) {
    for (const Op *op = a->next; op; op = op->next)
        if (op == b) return true;
    return false;
}

/* ---- order ---- */

/// The ancestors of two ops (or the ops themselves) in the innermost region that holds both.
static void common_level(const Op *a, const Op *b, const Op **in_a, const Op **in_b) {
    for (const Op *left = a; left; left = left->parent ? left->parent->parent : NULL)
        for (const Op *right = b; right; right = right->parent ? right->parent->parent : NULL)
            if (left->parent == right->parent) {
                *in_a = left;
                *in_b = right;
                return;
            }
    *in_a = *in_b = NULL;
}

static bool is_loop(const Op *op) {
    return op->code == OP_FOR || op->code == OP_STATIC_FOR || op->code == OP_WHILE;
}

/// Whether every iteration of every loop around `level` touches elements of its own at both places.
static bool iterations_are_apart(Differentiation *state, const Op *level, Op *load, Op *store) {
    bool in_loop = false;
    for (const Op *op = level->parent->parent; op; op = op->parent->parent)
        in_loop = in_loop || is_loop(op);
    if (!in_loop) return true;
    if (!same_place(state->arena, load, store)) return false;
    Access access = access_of(state->arena, store);
    Axis axes[AXES_MAX];
    AxisDependence dependence[AXES_MAX];
    if (!access.offset.known) return false;
    int count = access_axes(state->arena, state->primal, &access, axes, dependence, AXES_MAX);
    for (int i = 0; i < count; i++)
        if (!axes[i].is_program && dependence[i] != AXIS_OWNED) return false;
    return true;
}

/// Whether the store can only come after the load, as far as shared elements go.
static bool load_comes_first(Differentiation *state, Op *load, Op *store) {
    const Op *in_load, *in_store;
    common_level(load, store, &in_load, &in_store);
    if (!in_load)
        return load->parent->parent && store->parent->parent &&
               load->parent->parent == store->parent->parent &&
               load->parent->parent->code == OP_IF;  // the two arms of one branch
    if (in_load == in_store || !op_is_before(in_load, in_store)) return false;
    return iterations_are_apart(state, in_load, load, store);
}

static bool in_exclusive_arms(const Op *a, const Op *b) {
    for (const Region *left = a->parent; left && left->parent; left = left->parent->parent)
        for (const Region *right = b->parent; right && right->parent; right = right->parent->parent)
            if (left->parent == right->parent && left != right && left->parent->code == OP_IF)
                return true;
    return false;
}

/* ---- loads of stored values ---- */

/// A load of what the same region stored before, at the same place, is the stored value.
static bool forward_stored(Differentiation *state, Op *load, Op *store) {
    if (store->code != OP_STORE || load->code != OP_LOAD || store->parent != load->parent)
        return false;
    if (!same_place(state->arena, load, store) || access_mask(load) != access_mask(store))
        return false;
    if (!op_is_before(store, load)) return false;
    region_replace_uses(state->primal->body, load->results[0], store->operands[1]);
    op_remove(load);
    return true;
}

/// Whether some store overwrites the very elements of the load: in its region, or in both arms of a branch there.
static bool is_overwritten(Differentiation *state, Op *load, const OpList *accesses) {
    for (int i = 0; i < accesses->count; i++) {
        Op *store = accesses->items[i];
        if (store->code != OP_STORE || !same_place(state->arena, load, store)) continue;
        if (store->parent == load->parent) return true;
        const Op *branch = store->parent->parent;
        if (!branch || branch->code != OP_IF || branch->parent != load->parent) continue;
        for (int k = 0; k < accesses->count; k++) {
            Op *other = accesses->items[k];
            if (other->code == OP_STORE && other->parent->parent == branch &&
                other->parent != store->parent && same_place(state->arena, load, other))
                return true;
        }
    }
    return false;
}

static bool forward_any(Differentiation *state, Op *load, const OpList *accesses, int index) {
    for (int k = index - 1; k >= 0; k--)
        if (forward_stored(state, load, accesses->items[k])) return true;
    return false;
}

static void resolve_load(Differentiation *state, const Parameter *parameter, Op *load,
                         const OpList *accesses) {
    for (int k = 0; k < accesses->count && !state->failed; k++) {
        Op *store = accesses->items[k];
        bool writes = op_rows[store->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC);
        if (!writes || in_exclusive_arms(load, store) || load_comes_first(state, load, store))
            continue;
        adjoint_fail(
            state, DIAGNOSTIC_GRADIENT_IN_PLACE, load->range,
            "`%s` is stored and loaded again in an order that the backward cannot reverse; use another buffer",
            parameter->name);
    }
    bool needs_gradient = map_has_pointer(&state->gradients, parameter->value);
    if (!state->failed && needs_gradient && !is_overwritten(state, load, accesses))
        adjoint_fail(
            state, DIAGNOSTIC_GRADIENT_IN_PLACE, load->range,
            "`%s` is loaded and stored at different places of one buffer; write the result to another tensor",
            parameter->name);
}

void memory_resolve_hazards(Differentiation *state, const Memory *memory) {
    for (int p = 0; p < state->primal->parameter_count && !state->failed; p++) {
        const Parameter *parameter = &state->primal->parameters[p];
        if (!map_has_pointer(&memory->stored, parameter->value) ||
            !map_has_pointer(&memory->loaded, parameter->value))
            continue;
        OpList accesses = memory_accesses(state->arena, state->primal, parameter->value);
        for (int i = 0; i < accesses.count && !state->failed; i++) {
            Op *load = accesses.items[i];
            if (load->code != OP_LOAD || forward_any(state, load, &accesses, i)) continue;
            resolve_load(state, parameter, load, &accesses);
        }
    }
}

/* ---- outputs written more than once ---- */

static void refuse_repeated_store(Differentiation *state, const Parameter *parameter, Op *store) {
    Access access = access_of(state->arena, store);
    Axis axes[AXES_MAX];
    AxisDependence dependence[AXES_MAX];
    int count = access.offset.known
                    ? access_axes(state->arena, state->primal, &access, axes, dependence, AXES_MAX)
                    : 0;
    for (int a = 0; a < count; a++)
        if (!axes[a].is_program && dependence[a] == AXIS_FREE)
            adjoint_fail(
                state, DIAGNOSTIC_GRADIENT_STORED_REPEATEDLY, store->range,
                "every iteration of the loop at line %d stores to the same elements of `%s`; store once, after the loop",
                range_line(axes[a].loop->range), parameter->name);
}

void memory_refuse_repeated_stores(Differentiation *state, const Memory *memory) {
    for (int i = 0; i < memory->stored.count && !state->failed; i++) {
        const Value *root = (const Value *)(uintptr_t)memory->stored.entries[i].number;
        if (!map_has_pointer(&state->upstreams, root)) continue;
        const Parameter *parameter = &state->primal->parameters[root->index];
        OpList accesses = memory_accesses(state->arena, state->primal, root);
        for (int k = 0; k < accesses.count && !state->failed; k++) {
            Op *store = accesses.items[k];
            if (store->code != OP_STORE || !value_is_active(state, store->operands[1])) continue;
            refuse_repeated_store(state, parameter, store);
            for (int other = 0; other < k; other++) {
                Op *earlier = accesses.items[other];
                if (earlier->code != OP_STORE || earlier->parent != store->parent ||
                    !same_place(state->arena, earlier, store))
                    continue;
                adjoint_fail(state, DIAGNOSTIC_GRADIENT_STORED_REPEATEDLY, store->range,
                             "`%s` is stored twice at the same elements; keep the last store only",
                             parameter->name);
            }
        }
    }
}

void memory_refuse_lost_values(Differentiation *state, const Memory *memory) {
    Memory after = memory_of(state->arena, state->backward);
    for (int i = 0; i < memory->stored.count; i++) {
        Value *root = (Value *)(uintptr_t)memory->stored.entries[i].number;
        if (!map_has_pointer(&memory->loaded, root)) continue;
        Op *load = map_get_pointer(&after.loaded, value_mapped(&state->values, root));
        if (load)
            adjoint_fail(
                state, DIAGNOSTIC_GRADIENT_IN_PLACE, load->range,
                "the backward has to read `%s`, which the kernel overwrites; write the result to another tensor",
                state->primal->parameters[root->index].name);
    }
}
