// The pipeline of the differentiation, readable from top to bottom: copy, normalize, mark, sweep, clean, schedule, emit.
#include "autodiff/backward.h"

#include <string.h>

#include "analysis/affine.h"
#include "analysis/loops.h"
#include "autodiff/adjoint.h"
#include "autodiff/module_text.h"
#include "autodiff/rewrite.h"

/* ---- what the kernel does to memory ---- */

typedef struct Memory {
    const Function *function;
    Map stored; // roots
    Map loaded;
    bool writes;
} Memory;

static bool visit_memory(void *context, Op *op) {
    Memory *memory = context;
    int effects = op_rows[op->code].effects;
    if (!(effects & (EFFECT_READS | EFFECT_WRITES | EFFECT_ATOMIC)) || op->operand_count == 0) return true;
    Value *root = pointer_root(op->operands[0]);
    if (effects & (EFFECT_WRITES | EFFECT_ATOMIC)) memory->writes = true;
    if (!root) return true;
    if (effects & (EFFECT_WRITES | EFFECT_ATOMIC)) map_set_pointer(&memory->stored, root, op);
    else map_set_pointer(&memory->loaded, root, op);
    return true;
}

static Memory memory_of(Arena *arena, const Function *function) {
    Memory memory = {.function = function, .stored = map_new(arena), .loaded = map_new(arena)};
    region_walk(function->body, visit_memory, &memory);
    return memory;
}

bool kernel_is_forward(const Kernel *kernel) {
    if (kernel->is_helper || !kernel->function || kernel->definition->returns_value) return false;
    Memory memory = memory_of(kernel->function->arena, kernel->function);
    return memory.writes;
}

static bool points_to_float(const Parameter *parameter) {
    return parameter->value->type.kind == TYPE_POINTER && !dtype_is_integer(parameter->value->type.element) &&
           parameter->value->type.element.code != DTYPE_ANY_INT;
}

static bool is_wanted(const BackwardOptions *options, const char *name) {
    if (!options || options->wrt_count == 0) return true;
    for (int i = 0; i < options->wrt_count; i++)
        if (strcmp(options->wrt[i], name) == 0) return true;
    return false;
}

/* ---- setting up ---- */

static Value *add_gradient_parameter(Differentiation *state, const Parameter *of, const char *prefix) {
    const char *name = arena_printf(state->arena, "%s%s", prefix, of->name);
    for (int i = 0; i < state->backward->parameter_count; i++)
        if (strcmp(state->backward->parameters[i].name, name) == 0)
            return add_gradient_parameter(state, of, arena_printf(state->arena, "%s_", prefix));
    Type type = of->value->type;
    Value *value = function_add_parameter(state->backward, name, type);
    Parameter *parameter = &state->backward->parameters[value->index];
    parameter->is_optional = of->is_optional;
    return value;
}

static void add_primal_parameters(Differentiation *state) {
    for (int i = 0; i < state->primal->parameter_count; i++) {
        const Parameter *from = &state->primal->parameters[i];
        Value *value = function_add_parameter(state->backward, from->name, from->value->type);
        value->constant = from->value->constant;
        Parameter copy = *from;
        copy.value = value;
        state->backward->parameters[value->index] = copy;
        map_set_pointer(&state->values, from->value, value);
    }
}

/// `d` before the name; another prefix where the forward has such a parameter already (its own hand-written gradient).
static void add_gradients(Differentiation *state, const Memory *memory, const BackwardOptions *options) {
    for (int i = 0; i < state->primal->parameter_count; i++) {
        const Parameter *parameter = &state->primal->parameters[i];
        if (!points_to_float(parameter)) continue;
        bool stored = map_has_pointer(&memory->stored, parameter->value);
        bool loaded = map_has_pointer(&memory->loaded, parameter->value);
        if (stored) map_set_pointer(&state->upstreams, parameter->value, add_gradient_parameter(state, parameter, "d"));
        if (loaded && is_wanted(options, parameter->name))
            map_set_pointer(&state->gradients, parameter->value,
                            add_gradient_parameter(state, parameter, stored ? "d_in_" : "d"));
    }
}

/* ---- reading what the kernel itself has stored ---- */

typedef struct Hazard {
    Differentiation *state;
    const Memory *memory;
} Hazard;

typedef struct StoreList {
    LIST(Op *) ops;
    Arena *arena;
    const Value *root;
} StoreList;

static bool visit_root_access(void *context, Op *op) {
    StoreList *list = context;
    int effects = op_rows[op->code].effects;
    bool touches = (effects & (EFFECT_READS | EFFECT_WRITES | EFFECT_ATOMIC)) && op->operand_count &&
                   pointer_root(op->operands[0]) == list->root;
    if (touches) LIST_PUSH(list->arena, &list->ops, op);
    return true;
}

static bool same_place(Arena *arena, Op *a, Op *b) {
    if (a->operands[0] == b->operands[0]) return true;
    Access left = access_of(arena, a), right = access_of(arena, b);
    if (!left.offset.known || !right.offset.known || left.offset.rank != right.offset.rank) return false;
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

/// A load of what the same region stored before, at the same place, is the stored value.
static bool forward_stored(Differentiation *state, Op *load, Op *store) {
    if (store->code != OP_STORE || load->code != OP_LOAD || store->parent != load->parent) return false;
    if (!same_place(state->arena, load, store) || access_mask(load) != access_mask(store)) return false;
    for (const Op *op = store->next; op; op = op->next) {
        if (op != load) continue;
        region_replace_uses(state->primal->body, load->results[0], store->operands[1]);
        op_remove(load);
        return true;
    }
    return false;
}

static bool op_is_before(const Op *a, const Op *b) {
    for (const Op *op = a; op; op = op->next)
        if (op == b) return true;
    return false;
}

/// Loads and stores through one pointer: forwarded, accepted as an update in place, or refused.
static void resolve_hazards(Differentiation *state, const Memory *memory) {
    for (int p = 0; p < state->primal->parameter_count && !state->failed; p++) {
        const Parameter *parameter = &state->primal->parameters[p];
        if (!map_has_pointer(&memory->stored, parameter->value) || !map_has_pointer(&memory->loaded, parameter->value)) continue;
        StoreList list = {.arena = state->arena, .root = parameter->value};
        region_walk(state->primal->body, visit_root_access, &list);
        bool load_left = false;
        for (int i = 0; i < list.ops.count && !state->failed; i++) {
            Op *load = list.ops.items[i];
            if (load->code != OP_LOAD) continue;
            bool forwarded = false;
            for (int k = i - 1; k >= 0 && !forwarded; k--) forwarded = forward_stored(state, load, list.ops.items[k]);
            if (forwarded) continue;
            load_left = true;
            bool matched = false;
            for (int k = 0; k < list.ops.count; k++) {
                Op *store = list.ops.items[k];
                if (store->code != OP_STORE) continue;
                bool ordered = store->parent == load->parent && op_is_before(load, store);
                if (ordered && same_place(state->arena, load, store)) matched = true;
                bool precedes = store->parent == load->parent && op_is_before(store, load);
                if (precedes || !ordered) {
                    adjoint_fail(state, DIAGNOSTIC_GRADIENT_IN_PLACE, load->range,
                                 "`%s` is stored and loaded again in an order that the backward cannot reverse; use another buffer", parameter->name);
                }
            }
            if (!matched && points_to_float(parameter))
                adjoint_fail(state, DIAGNOSTIC_GRADIENT_IN_PLACE, load->range,
                             "`%s` is loaded and stored at different places of one buffer; write the result to another tensor", parameter->name);
        }
        (void)load_left;
    }
}

/// Output elements that several iterations or statements write have no single upstream gradient.
static void refuse_repeated_stores(Differentiation *state, const Memory *memory) {
    for (int i = 0; i < memory->stored.count && !state->failed; i++) {
        const Value *root = (const Value *)(uintptr_t)memory->stored.entries[i].number;
        if (!map_has_pointer(&state->upstreams, root)) continue;
        StoreList list = {.arena = state->arena, .root = root};
        region_walk(state->primal->body, visit_root_access, &list);
        for (int k = 0; k < list.ops.count && !state->failed; k++) {
            Op *store = list.ops.items[k];
            if (store->code != OP_STORE || !value_is_active(state, store->operands[1])) continue;
            Access access = access_of(state->arena, store);
            Axis axes[16];
            AxisDependence dependence[16];
            int count = access.offset.known ? access_axes(state->arena, state->primal, &access, axes, dependence, 16) : 0;
            for (int a = 0; a < count; a++)
                if (!axes[a].is_program && dependence[a] == AXIS_FREE)
                    adjoint_fail(state, DIAGNOSTIC_GRADIENT_STORED_REPEATEDLY, store->range,
                                 "every iteration of the loop at line %d stores to the same elements of `%s`; store once, after the loop",
                                 range_line(axes[a].loop->range), state->primal->parameters[root->index].name);
            for (int other = 0; other < k; other++) {
                Op *earlier = list.ops.items[other];
                if (earlier->code != OP_STORE || earlier->parent != store->parent || !same_place(state->arena, earlier, store)) continue;
                adjoint_fail(state, DIAGNOSTIC_GRADIENT_STORED_REPEATEDLY, store->range,
                             "`%s` is stored twice at the same elements; keep the last store only", state->primal->parameters[root->index].name);
            }
        }
    }
}

/* ---- finishing ---- */

typedef struct ParameterUse {
    Map used;
} ParameterUse;

static bool visit_parameter_use(void *context, Op *op) {
    ParameterUse *use = context;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i]) map_set_pointer(&use->used, op->operands[i], (void *)1);
    for (int i = 0; i < op->keyword_count; i++) map_set_pointer(&use->used, op->keywords[i].value, (void *)1);
    for (int i = 0; i < op->result_count; i++) {
        const Constant *constant = op->results[i]->constant;
        if (constant && constant->kind == CONSTANT_DTYPE && constant->dtype.code == DTYPE_OF_PARAMETER)
            map_set_number(&use->used, (uint64_t)constant->dtype.parameter + 1, (void *)1); // small numbers are no pointers
    }
    return true;
}

static bool parameter_is_used(const ParameterUse *use, const Parameter *parameter, int primal_index) {
    return map_has_pointer(&use->used, parameter->value) ||
           (primal_index >= 0 && map_has_number(&use->used, (uint64_t)primal_index + 1));
}

static ArgumentUse argument_use(const Differentiation *state, const Value *value, const char **of) {
    for (int i = 0; i < state->primal->parameter_count; i++) {
        const Parameter *primal = &state->primal->parameters[i];
        *of = primal->name;
        if (map_get_pointer(&state->gradients, primal->value) == value) return ARGUMENT_GRADIENT;
        if (map_get_pointer(&state->upstreams, primal->value) == value) return ARGUMENT_UPSTREAM;
        if (map_get_pointer(&state->values, primal->value) == value) return ARGUMENT_SAME;
    }
    *of = NULL;
    return ARGUMENT_SAME;
}

static int parameter_rank(ArgumentUse use, const Parameter *parameter) {
    if (parameter->is_constexpr) return 4;
    if (use == ARGUMENT_UPSTREAM) return 0;
    if (use == ARGUMENT_GRADIENT) return 2;
    return parameter->value->type.kind == TYPE_POINTER ? 1 : 3;
}

/// Upstream gradients, saved tensors, gradients, scalars, constexprs; only what is used (element types by primal index).
static void arrange_parameters(Differentiation *state, Backward *result, BackwardLaunch *launch) {
    Function *backward = state->backward;
    ParameterUse use = {.used = map_new(state->arena)};
    region_walk(backward->body, visit_parameter_use, &use);
    Parameter *kept = ARENA_ARRAY(state->arena, Parameter, backward->parameter_count + 1);
    launch->arguments = ARENA_ARRAY(state->arena, BackwardArgument, backward->parameter_count + 1);
    int count = 0;
    for (int rank = 0; rank < 5; rank++) {
        for (int i = 0; i < backward->parameter_count; i++) {
            const Parameter *parameter = &backward->parameters[i];
            const char *of;
            ArgumentUse role = argument_use(state, parameter->value, &of);
            int primal_index = role == ARGUMENT_SAME && i < state->primal->parameter_count ? i : -1;
            bool kept_by_name = primal_index >= 0 && parameter->value->type.kind != TYPE_POINTER &&
                                decorators_mention(result->kernel->definition, parameter->name, parameter->is_constexpr);
            bool needed = kept_by_name || parameter_is_used(&use, parameter, primal_index);
            if (parameter_rank(role, parameter) != rank || !needed) continue;
            BackwardArgument *argument = &launch->arguments[count];
            *argument = (BackwardArgument){.name = parameter->name, .use = role, .of = of, .is_constexpr = parameter->is_constexpr};
            for (int g = 0; role == ARGUMENT_GRADIENT && g < result->gradient_count; g++)
                if (strcmp(result->gradients[g].input, of) == 0) argument->is_float32 = result->gradients[g].is_atomic;
            kept[count++] = *parameter;
        }
    }
    launch->argument_count = count;
    backward->parameters = kept;
    backward->parameter_count = count;
}

static void list_inputs(Differentiation *state, Backward *result, const BackwardLaunch *launch) {
    result->inputs = ARENA_ARRAY(state->arena, const char *, launch->argument_count + 1);
    result->outputs = ARENA_ARRAY(state->arena, const char *, launch->argument_count + 1);
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        if (argument->use == ARGUMENT_GRADIENT) result->inputs[result->input_count++] = argument->of;
        if (argument->use == ARGUMENT_UPSTREAM) result->outputs[result->output_count++] = argument->of;
    }
}

static Backward *refuse(Backward *result, BackwardStatus status, const char *reason, Range range) {
    result->status = status;
    result->reason = reason;
    result->reason_range = range;
    return result;
}

static bool any_active_store(const Differentiation *state, const Memory *memory) {
    for (int i = 0; i < memory->stored.count; i++) {
        StoreList list = {.arena = state->arena, .root = (const Value *)(uintptr_t)memory->stored.entries[i].number};
        region_walk(state->primal->body, visit_root_access, &list);
        for (int k = 0; k < list.ops.count; k++) {
            const Op *op = list.ops.items[k];
            bool writes = op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC);
            if (writes && op->operand_count > 1 && value_is_active(state, op->operands[1])) return true;
        }
    }
    return false;
}

/// After an update in place the old values are gone: the backward may not read them.
static void refuse_lost_values(Differentiation *state, const Memory *memory) {
    Memory after = memory_of(state->arena, state->backward);
    for (int i = 0; i < memory->stored.count; i++) {
        const Value *root = (const Value *)(uintptr_t)memory->stored.entries[i].number;
        if (!map_has_pointer(&memory->loaded, root)) continue;
        Value *again = value_mapped(&state->values, (Value *)(uintptr_t)root);
        Op *load = map_get_pointer(&after.loaded, again);
        if (load)
            adjoint_fail(state, DIAGNOSTIC_GRADIENT_IN_PLACE, load->range,
                         "the backward has to read `%s`, which the kernel overwrites; write the result to another tensor",
                         state->primal->parameters[root->index].name);
    }
}

typedef struct Unknown {
    const Op *op;
} Unknown;

static bool visit_unknown(void *context, Op *op) {
    Unknown *unknown = context;
    if (op->code == OP_UNKNOWN && !unknown->op) unknown->op = op;
    return !unknown->op;
}

static void remove_forward_effects(Region *region, const Differentiation *state) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count; i++) remove_forward_effects(op->regions[i], state);
        bool ordered = op_rows[op->code].effects & EFFECT_ORDERED;
        bool hint = op_rows[op->code].kind == KIND_HINT && op->result_count == 0;
        if (ordered || hint) op_remove(op);
    }
}

/// Stores and atomics of the forward are not repeated: nothing may be recomputed from them either.
static void remove_forward_stores(Differentiation *state, Region *region, const Map *ours) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count; i++) remove_forward_stores(state, op->regions[i], ours);
        bool writes = op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC);
        if (!writes || map_has_pointer(ours, op)) continue;
        op_remove(op);
    }
}

static void derive(Differentiation *state, Backward *result, const Memory *memory) {
    adjoint_sweep(state);
    if (state->failed) return;
    Map ours = map_new(state->arena);
    for (int i = 0; i < state->accumulations.count; i++) map_set_pointer(&ours, state->accumulations.items[i].op, (void *)1);
    remove_forward_stores(state, state->backward->body, &ours);
    remove_forward_effects(state->backward->body, state);
    function_drop_dead(state->backward);
    function_clean(state->backward);
    refuse_lost_values(state, memory);
    if (state->failed) return;
    schedule_accumulations(state, result);
    function_clean(state->backward);
    function_hoist(state->backward);
    function_clean(state->backward);
    Unknown unknown = {0};
    region_walk(state->backward->body, visit_unknown, &unknown);
    if (unknown.op)
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, unknown.op->range, "the backward would have to recompute this, which was not understood: %s",
                     unknown.op->note ? unknown.op->note : "unknown construct");
    const char *broken = function_verify(state->arena, state->backward);
    if (broken && !state->failed)
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, state->primal->definition ? state->primal->definition->name_range : (Range){0},
                     "the backward of this kernel needs values that are not available in it (%s)", broken);
}

static void report_atomics(const Backward *result, Diagnostics *diagnostics) {
    for (int i = 0; diagnostics && i < result->gradient_count; i++) {
        const Gradient *gradient = &result->gradients[i];
        if (!gradient->is_atomic) continue;
        diagnose(diagnostics, DIAGNOSTIC_GRADIENT_ATOMIC_HOT_SPOT, gradient->range, "the gradient of `%s` needs atomics: %s", gradient->input, gradient->why);
    }
}

Backward *backward_derive(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                          const BackwardOptions *options, Diagnostics *diagnostics) {
    (void)snapshot;
    Backward *result = ARENA_NEW(arena, Backward);
    result->kernel = kernel;
    Range where = kernel->definition->name_range;
    if (!kernel_is_forward(kernel)) return refuse(result, BACKWARD_NOT_DIFFERENTIABLE, "the kernel stores nothing", where);
    Differentiation state = {.arena = arena, .values = map_new(arena), .active = map_new(arena), .constant = map_new(arena),
                             .gradients = map_new(arena), .upstreams = map_new(arena), .diagnostics = diagnostics};
    state.primal = function_copy(arena, kernel->function, kernel->function->name, NULL);
    Range range = where;
    const char *failure = function_normalize(state.primal, &range);
    if (failure) return refuse(result, BACKWARD_REFUSED, failure, range);
    function_simplify(state.primal);
    function_share(state.primal);
    function_hoist(state.primal);
    Memory memory = memory_of(arena, state.primal);
    state.backward = function_new(arena, arena_printf(arena, "%s_backward", kernel->function->name));
    state.backward->definition = kernel->definition;
    add_primal_parameters(&state);
    add_gradients(&state, &memory, options);
    resolve_hazards(&state, &memory);
    activity_mark(&state);
    if (!state.failed && !any_active_store(&state, &memory))
        return refuse(result, BACKWARD_NOT_DIFFERENTIABLE, "no floating-point input reaches a floating-point output through operations with a derivative", where);
    refuse_repeated_stores(&state, &memory);
    gauge_mark(&state);
    BackwardLaunch *launch = ARENA_NEW(arena, BackwardLaunch);
    if (!state.failed) derive(&state, result, &memory);
    if (state.failed) {
        if (diagnostics) diagnose(diagnostics, (DiagnosticId)state.failure_id, state.failure_range, "%s", state.failure);
        return refuse(result, BACKWARD_REFUSED, state.failure, state.failure_range);
    }
    arrange_parameters(&state, result, launch);
    list_inputs(&state, result, launch);
    if (result->input_count == 0)
        return refuse(result, BACKWARD_NOT_DIFFERENTIABLE, "every gradient is zero", where);
    launch->kernel = state.backward->name;
    result->launches = launch;
    result->launch_count = 1;
    result->kernel_text = emit_kernel(arena, state.backward, backward_decorators(arena, kernel->definition, result));
    result->status = BACKWARD_DERIVED;
    report_atomics(result, diagnostics);
    return result;
}
