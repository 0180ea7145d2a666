// The stores of a primal whose values carry a gradient.
#include "autodiff/primal/active_outputs.h"

#include "analysis/ir/walk.h"
#include "analysis/parameters/roles.h"
#include "autodiff/primal/activity.h"
#include "autodiff/primal/gradient_parameters.h"

bool outputs_are_active(const Differentiation *state, const Memory *memory) {
    for (int i = 0; i < memory->stored.count; i++) {
        const Value *root = (const Value *)(uintptr_t)memory->stored.entries[i].number;
        OpList list = memory_accesses(state->arena, state->primal, root);
        for (int k = 0; k < list.count; k++) {
            const Op *op = list.items[k];
            bool writes = op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC);
            if (writes && op->operand_count > 1 && value_is_active(state, op->operands[1]))
                return true;
        }
    }
    return false;
}

bool outputs_are_active_numbers(const Differentiation *state, const Memory *memory) {
    Differentiation other = *state;
    other.activity.active = map_new(state->arena);
    other.activity.ignores_bits = true;
    activity_mark(&other);
    return outputs_are_active(&other, memory);
}

/// The first answer that is not 0, of what an op takes and what its regions yield; of a carried value, of the loop's.
static intptr_t ask_sources(ValueWalk *walk, const Value *value) {
    const Op *from = value->op ? value->op : value->region ? value->region->parent : NULL;
    intptr_t found = 0;
    for (int i = 0; from && i < from->operand_count && !found; i++)
        found = walk_ask(walk, from->operands[i]);
    for (int r = 0; from && r < from->region_count && !found; r++) {
        const Op *yield = region_terminator(from->regions[r]);
        for (int i = 0; yield && i < yield->operand_count && !found; i++)
            found = walk_ask(walk, yield->operands[i]);
    }
    return found;
}

/// What was not understood and a float is computed from. NULL: nothing of the kind.
static intptr_t unknown_in(ValueWalk *walk, const Value *value) {
    if (!value || value->constant || value->type.is_constexpr || value_is_of_integers(value))
        return 0;
    const Op *op = value->op;
    if (op && op->code == OP_UNKNOWN) return op->note ? (intptr_t)op : 0;
    if (op && op_rows[op->code].effects & EFFECT_READS) return 0;
    return ask_sources(walk, value);
}

/// Assembly that is not understood and takes an address: what it reads there, nobody sees.
static intptr_t reading_assembly(ValueWalk *walk, const Value *value) {
    if (!value || value->constant) return 0;
    const Op *op = value->op;
    if (op && op->code == OP_INLINE_ASM && op->operand_count > 2 && op->operands[2]) {
        const Op *list = op->operands[2]->op;
        for (int i = 0; list && list->code == OP_TUPLE && i < list->operand_count; i++)
            if (list->operands[i]->type.kind == TYPE_POINTER) return (intptr_t)op;
    }
    if (op && op->code == OP_LOAD) return 0;
    return ask_sources(walk, value);
}

/// Refuses to store what assembly has read, but to a tensor of whole numbers.
static void refuse_assembly(Differentiation *state, const Op *store) {
    const Value *root = pointer_root(store->operands[0]);
    const DType stored = store->operands[0]->type.element;
    // of a pointer that was cast nobody knows what the tensor has
    bool is_of_integers =
        root && root->type.kind == TYPE_POINTER && dtype_is_integer(root->type.element) &&
        (root->type.element.code != DTYPE_OF_PARAMETER || dtype_equal(stored, root->type.element));
    const Op *assembly = is_of_integers || !store->operands[1]
                             ? NULL
                             : (const Op *)walk_from(store->operands[1], reading_assembly, 0, NULL);
    if (assembly)
        adjoint_fail(
            state, DIAGNOSTIC_GRADIENT_UNKNOWN_ADDRESS, assembly->range,
            "this assembly takes an address, so it is not known which tensor it reads, nor "
            "whether that has a gradient: read it with tl.load");
}

/* ---- addresses that are numbers ---- */

typedef struct PointerSources {
    Arena *arena;
    Map seen;
    LIST(const Value *) queue;
    bool has_pointer;  // among the values that were added last
} PointerSources;

static void add_source(PointerSources *sources, const Value *value) {
    TypeKind kind = value ? value->type.kind : TYPE_UNKNOWN;
    if (kind != TYPE_POINTER && kind != TYPE_TUPLE) return;
    sources->has_pointer = true;
    if (map_has_pointer(&sources->seen, value)) return;
    map_set_pointer(&sources->seen, value, sources);
    LIST_PUSH(sources->arena, &sources->queue, value);
}

/// Adds what the pointer is made of. Whether that is a number: loaded, or cast to a pointer.
static bool add_sources(PointerSources *sources, const Value *pointer) {
    const Op *op = pointer->op, *around = pointer->region ? pointer->region->parent : NULL;
    const Op *owner = op ? op : around;
    if (!owner) return false;  // a parameter
    if (op && (op_rows[op->code].effects & EFFECT_READS)) return true;
    sources->has_pointer = false;
    for (int i = 0; i < owner->operand_count; i++) add_source(sources, owner->operands[i]);
    for (int r = 0; r < owner->region_count; r++) {
        const Op *yield = region_terminator(owner->regions[r]);
        for (int i = 0; yield && i < yield->operand_count; i++)
            add_source(sources, yield->operands[i]);
    }
    return !sources->has_pointer && (owner->code == OP_CAST || owner->code == OP_BITCAST);
}

/// Whether an address was loaded, or is a number that the launcher passes: no parameter says which tensor it is in.
static bool is_unseen_address(Arena *arena, const Value *pointer) {
    PointerSources sources = {.arena = arena, .seen = map_new(arena)};
    add_source(&sources, pointer);
    for (int i = 0; i < sources.queue.count; i++)
        if (add_sources(&sources, sources.queue.items[i])) return true;
    return false;
}

static void refuse_number(Differentiation *state, const Op *op) {
    const char *others =
        state->is_constant ? "" : ", or name the inputs that need a gradient with --wrt";
    if (op->code == OP_LOAD)
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNKNOWN_ADDRESS, op->range,
                     "this loads through an address that is a number, loaded or passed, so the "
                     "gradient of the tensor there would be lost: pass the tensor itself%s",
                     others);
    else
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNKNOWN_ADDRESS, op->range,
                     "this stores through an address that is a number, loaded or passed, so it is "
                     "not known which tensor's gradient comes back here: pass the tensor itself");
}

/* ---- what was not understood ---- */

/// What is stored without a type or computed from what was not understood, or read or written at a place that nobody knows, may have
/// a gradient.
static bool visit_unknown_access(void *context, Op *op) {
    Differentiation *state = context;
    bool stores = (op->code == OP_STORE || op->code == OP_ATOMIC_ADD) && op->operand_count > 1 &&
                  op->operands[1];
    const Value *value = stores ? op->operands[1] : op->code == OP_LOAD ? op->results[0] : NULL;
    if (!value) return true;
    if (stores) refuse_assembly(state, op);
    if (stores && value->type.kind == TYPE_UNKNOWN) adjoint_refuse_unknown(state, op->operands[1]);
    const Op *cause =
        stores && !state->failed ? (const Op *)walk_from(value, unknown_in, 0, NULL) : NULL;
    if (cause && !state->failed)
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNKNOWN_SHAPE, cause->range,
                     "a gradient has to pass through what was not understood: %s", cause->note);
    bool is_open = !state->failed && value->type.kind == TYPE_NUMBER &&
                   dtype_is_float(value->type.element) && !pointer_root(op->operands[0]);
    if (is_open && is_unseen_address(state->arena, op->operands[0]))
        refuse_number(state, op);
    else if (is_open)
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNKNOWN_ADDRESS, op->range,
                     "the address of this %s is chosen at run time, so it is not known %s",
                     stores ? "store" : "load",
                     stores ? "which tensor's gradient comes back here"
                            : "which tensor has a gradient");
    return !state->failed;
}

void outputs_refuse_unknown(Differentiation *state) {
    region_walk(state->primal->body, visit_unknown_access, state);
}

/* ---- accesses through such addresses ---- */

typedef struct UnseenAccess {
    Differentiation *state;
    Differentiation *seeded;  // with what is loaded through such addresses as the only inputs
    const Op *load, *store;   // the first of each; the store of a value with a gradient
    OpList stores;
} UnseenAccess;

static bool visit_unseen_access(void *context, Op *op) {
    UnseenAccess *unseen = context;
    bool loads = op->code == OP_LOAD;
    bool stores =
        op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC) && op->operand_count > 1;
    if (stores) refuse_assembly(unseen->state, op);
    if ((!loads && !stores) || !is_unseen_address(unseen->state->arena, op->operands[0]))
        return true;
    if (stores) LIST_PUSH(unseen->state->arena, &unseen->stores, op);
    if (stores && !unseen->store && value_is_active(unseen->state, op->operands[1]))
        unseen->store = op;
    if (!loads || !value_may_be_float(op->results[0])) return true;
    if (!unseen->load) unseen->load = op;
    map_set_pointer(&unseen->seeded->activity.active, op->results[0], (void *)1);
    return true;
}

/// Whether what is loaded through such addresses reaches an output, be it one of those.
static bool reaches_outputs(const UnseenAccess *unseen, const Memory *memory) {
    for (LIST_EACH(int, i, unseen->stores))
        if (value_is_active(unseen->seeded, unseen->stores.items[i]->operands[1])) return true;
    return outputs_are_active(unseen->seeded, memory);
}

void outputs_refuse_unseen(Differentiation *state, const Memory *memory) {
    Differentiation seeded = *state;
    seeded.activity = (ActivityState){.active = map_new(state->arena),
                                      .constant = map_new(state->arena),
                                      .bits = map_new(state->arena)};
    seeded.buffers.gradients = map_new(state->arena);
    UnseenAccess unseen = {.state = state, .seeded = &seeded};
    region_walk(state->primal->body, visit_unseen_access, &unseen);
    if (state->failed) return;
    if (unseen.store) refuse_number(state, unseen.store);
    bool names_inputs = state->options && state->options->wrt_count > 0;
    if (!unseen.load || unseen.store || names_inputs) return;
    activity_mark(&seeded);
    if (reaches_outputs(&unseen, memory)) refuse_number(state, unseen.load);
}
