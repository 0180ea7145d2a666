// The pipeline of the differentiation, readable from top to bottom: copy, normalize, mark, sweep, clean, schedule, emit.
#include "autodiff/backward.h"

#include <string.h>

#include "analysis/affine.h"
#include "analysis/launch.h"
#include "analysis/loops.h"
#include "autodiff/adjoint.h"
#include "autodiff/branches.h"
#include "autodiff/descriptors.h"
#include "autodiff/guard.h"
#include "autodiff/memory.h"
#include "autodiff/module_text.h"
#include "autodiff/owners.h"
#include "autodiff/replay.h"
#include "autodiff/rewrite.h"
#include "autodiff/saved.h"
#include "autodiff/scalars.h"
#include "autodiff/stores.h"
#include "autodiff/tape.h"
#include "autodiff/tidy.h"
#include "autodiff/variants.h"
#include "autodiff/widths.h"

/* ---- what the kernel does to memory ---- */

bool kernel_is_forward(const Kernel *kernel) {
    if (kernel->is_helper || !kernel->function || kernel->definition->returns_value) return false;
    Memory memory = memory_of(kernel->function->arena, kernel->function);
    return memory.writes;
}

bool parameter_points_to_float(const Parameter *parameter) {
    return parameter->value->type.kind == TYPE_POINTER &&
           !dtype_is_integer(parameter->value->type.element) &&
           parameter->value->type.element.code != DTYPE_ANY_INT;
}

const Parameter *parameter_of_root(const Differentiation *state, const Value *root) {
    const Value *origin = map_get_pointer(&state->origins, root);
    return &state->primal->parameters[(origin ? origin : root)->index];
}

static bool is_wanted(const BackwardOptions *options, const char *name) {
    if (!options || options->wrt_count == 0) return true;
    for (int i = 0; i < options->wrt_count; i++)
        if (strcmp(options->wrt[i], name) == 0) return true;
    return false;
}

static bool parameter_is_wanted(const void *options, const Parameter *parameter) {
    return is_wanted(options, parameter->name);
}

/* ---- setting up ---- */

static Value *add_gradient_parameter(Differentiation *state, const Parameter *of,
                                     const char *prefix, const char *suffix, Type type) {
    const char *own =
        map_get_pointer(&state->values, of->value) ? recomputed(state, of->value)->name : of->name;
    const char *name = arena_printf(state->arena, "%s%s%s", prefix, own, suffix);
    for (int i = 0; i < state->backward->parameter_count; i++)
        if (strcmp(state->backward->parameters[i].name, name) == 0)
            return add_gradient_parameter(state, of, arena_printf(state->arena, "%s_", prefix),
                                          suffix, type);
    Value *value = function_add_parameter(state->backward, name, type);
    Parameter *parameter = &state->backward->parameters[value->index];
    parameter->is_optional = of->is_optional;
    return value;
}

static void add_primal_parameters(Differentiation *state) {
    for (int i = 0; i < state->primal->parameter_count; i++) {
        const Parameter *from = &state->primal->parameters[i];
        const char *name = map_get_pointer(&state->pointer_names, from->value);
        Value *value =
            function_add_parameter(state->backward, name ? name : from->name, from->value->type);
        value->constant = from->value->constant;
        value->is_chosen = from->value->is_chosen;
        value->may_be_zero = from->value->may_be_zero;
        Parameter copy = *from;
        copy.value = value;
        if (name) copy.name = name;
        state->backward->parameters[value->index] = copy;
        map_set_pointer(&state->values, from->value, value);
    }
}

/// `d` before the name; another prefix where the forward has such a parameter already (its own hand-written gradient).
static void add_gradients(Differentiation *state, const Memory *memory,
                          const BackwardOptions *options) {
    for (int i = 0; i < state->primal->parameter_count; i++) {
        const Parameter *parameter = &state->primal->parameters[i];
        Value *root = parameter->value;
        if (parameter_is_float_scalar(parameter) && scalar_is_asked(options, parameter)) {
            Type sums = {.kind = TYPE_POINTER, .element = dtype_of(DTYPE_FLOAT32)};
            map_set_pointer(&state->gradients, root,
                            add_gradient_parameter(state, parameter, "d", "_ptr", sums));
        }
        if (!parameter_points_to_float(parameter)) continue;
        const Value *origin = map_get_pointer(&state->origins, root);
        if (origin) {  // another version of a buffer: the same gradient, where that has one
            if (map_has_pointer(&state->running, origin))
                map_set_pointer(&state->gradients, root,
                                map_get_pointer(&state->gradients, origin));
            continue;
        }
        bool stored = map_has_pointer(&memory->stored, root);
        bool loaded = map_has_pointer(&memory->loaded, root);
        bool running = map_has_pointer(&state->running, root);
        bool wanted = loaded && !stored && is_wanted(options, parameter->name);
        if (!stored && !wanted) continue;
        Value *gradient = add_gradient_parameter(state, parameter, "d", "", root->type);
        if (map_has_pointer(&state->kept, root)) {
            Value *kept = add_gradient_parameter(state, parameter, "d", "_before", root->type);
            state->backward->parameters[kept->index].is_optional = true;
            map_set_pointer(&state->kept, root, kept);
        }
        if (stored) map_set_pointer(&state->upstreams, root, gradient);
        if (wanted || running) map_set_pointer(&state->gradients, root, gradient);
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
    for (int i = 0; i < op->keyword_count; i++)
        map_set_pointer(&use->used, op->keywords[i].value, (void *)1);
    for (int i = 0; i < op->result_count; i++) {
        const Constant *constant = op->results[i]->constant;
        if (constant && constant->kind == CONSTANT_DTYPE &&
            constant->dtype.code == DTYPE_OF_PARAMETER)
            map_set_number(&use->used, (uint64_t)constant->dtype.parameter + 1,
                           (void *)1);  // small numbers are no pointers
    }
    return true;
}

static bool parameter_is_used(const ParameterUse *use, const Parameter *parameter,
                              int primal_index) {
    return map_has_pointer(&use->used, parameter->value) ||
           (primal_index >= 0 && map_has_number(&use->used, (uint64_t)primal_index + 1));
}

static ArgumentUse argument_use(const Differentiation *state, const Value *value, const char **of) {
    const Tape *tape = tape_of(state, value);
    *of = value == state->slices ? state->backward->parameters[value->index].name : NULL;
    if (*of) return ARGUMENT_SLICES;
    for (int i = 0; i < state->primal->parameter_count && !tape; i++) {
        const Parameter *primal = &state->primal->parameters[i];
        *of = primal->name;
        if (map_get_pointer(&state->upstreams, primal->value) == value &&
            map_has_pointer(&state->running, primal->value))
            return ARGUMENT_RUNNING;
        if (map_get_pointer(&state->kept, primal->value) == value) return ARGUMENT_KEPT;
        if (map_get_pointer(&state->gradients, primal->value) == value) return ARGUMENT_GRADIENT;
        if (map_get_pointer(&state->upstreams, primal->value) == value) return ARGUMENT_UPSTREAM;
        if (map_get_pointer(&state->values, primal->value) != value) continue;
        const DescriptorNumber *number = descriptor_number(state, primal->value);
        if (number) {
            *of = number->of;
            return number->use;
        }
        if (!map_has_pointer(&state->origins, primal->value)) return ARGUMENT_SAME;
        *of = parameter_of_root(state, primal->value)->name;
        return map_has_pointer(&state->replays, primal->value) ? ARGUMENT_AMID : ARGUMENT_BEFORE;
    }
    *of = tape ? state->backward->parameters[value->index].name : NULL;
    if (!tape) return ARGUMENT_SAME;
    return tape->steps == value ? ARGUMENT_STEPS : ARGUMENT_SCRATCH;
}

/// What the launcher has to know of memory that it allocates.
static void describe_scratch(const Differentiation *state, const Value *value,
                             BackwardArgument *argument) {
    const Tape *tape = tape_of(state, value);
    if (argument->use == ARGUMENT_STEPS) {
        argument->elements = tape_step_elements(state, value);
        argument->trips = tape->trips;
    } else if (argument->use == ARGUMENT_SCRATCH) {
        argument->elements = tape->elements;
        argument->dtype = tape->dtype;
    }
}

int argument_rank(ArgumentUse use, const Parameter *parameter) {
    if (parameter->is_constexpr) return use == ARGUMENT_SLICES ? 5 : 4;
    if (use == ARGUMENT_UPSTREAM || use == ARGUMENT_RUNNING) return 0;
    if (use == ARGUMENT_GRADIENT || use == ARGUMENT_KEPT || use == ARGUMENT_SCRATCH) return 2;
    return parameter->value->type.kind == TYPE_POINTER ? 1 : 3;
}

typedef struct Renumbering {
    Arena *arena;
    const int *new_index;  // by the index before
    Map done;              // values
} Renumbering;

static void renumber_value(Renumbering *renumbering, Value *value) {
    if (!value || map_has_pointer(&renumbering->done, value)) return;
    map_set_pointer(&renumbering->done, value, value);
    const Constant *constant = value->constant;
    if (constant && constant->kind == CONSTANT_DTYPE &&
        constant->dtype.code == DTYPE_OF_PARAMETER) {
        Constant *copy = ARENA_NEW(renumbering->arena, Constant);
        *copy = *constant;
        copy->dtype.parameter = renumbering->new_index[constant->dtype.parameter];
        value->constant = copy;
    }
    if (value->type.element.code == DTYPE_OF_PARAMETER)
        value->type.element.parameter = renumbering->new_index[value->type.element.parameter];
}

static bool renumber_op(void *context, Op *op) {
    Renumbering *renumbering = context;
    for (int i = 0; i < op->operand_count; i++) renumber_value(renumbering, op->operands[i]);
    for (int i = 0; i < op->keyword_count; i++) renumber_value(renumbering, op->keywords[i].value);
    for (int i = 0; i < op->result_count; i++) renumber_value(renumbering, op->results[i]);
    for (int i = 0; i < op->region_count; i++)
        for (int k = 0; k < op->regions[i]->argument_count; k++)
            renumber_value(renumbering, op->regions[i]->arguments[k]);
    return true;
}

void function_renumber_parameters(Function *function, const int *new_index) {
    Renumbering renumbering = {function->arena, new_index, map_new(function->arena)};
    region_walk(function->body, renumber_op, &renumbering);
    for (int i = 0; i < function->parameter_count; i++)
        renumber_value(&renumbering, function->parameters[i].value);
}

/// Upstream gradients, saved tensors, gradients, scalars, constexprs; only what is used (element types by primal index).
static void arrange_parameters(Differentiation *state, Backward *result, BackwardLaunch *launch) {
    Function *backward = state->backward;
    ParameterUse use = {.used = map_new(state->arena)};
    region_walk(backward->body, visit_parameter_use, &use);
    Parameter *kept = ARENA_ARRAY(state->arena, Parameter, backward->parameter_count + 1);
    launch->arguments = ARENA_ARRAY(state->arena, BackwardArgument, backward->parameter_count + 1);
    int *new_index = ARENA_ARRAY(state->arena, int, backward->parameter_count + 1);
    int count = 0;
    for (int rank = 0; rank < 6; rank++) {
        for (int i = 0; i < backward->parameter_count; i++) {
            const Parameter *parameter = &backward->parameters[i];
            const char *of;
            ArgumentUse role = argument_use(state, parameter->value, &of);
            bool is_value =
                role == ARGUMENT_SAME || role == ARGUMENT_BEFORE || role == ARGUMENT_AMID;
            int primal_index = is_value && i < state->primal->parameter_count ? i : -1;
            bool kept_by_name = primal_index >= 0 && parameter->value->type.kind != TYPE_POINTER &&
                                (launchers_mention(result->kernel->definition, parameter->name) ||
                                 decorators_mention(result->kernel->definition, parameter->name,
                                                    parameter->is_constexpr));
            bool needed = kept_by_name || role == ARGUMENT_KEPT ||
                          parameter_is_used(&use, parameter, primal_index);
            if (argument_rank(role, parameter) != rank || !needed) continue;
            BackwardArgument *argument = &launch->arguments[count];
            *argument = (BackwardArgument){.name = parameter->name,
                                           .use = role,
                                           .of = of,
                                           .is_constexpr = parameter->is_constexpr};
            describe_scratch(state, parameter->value, argument);
            if (role == ARGUMENT_SHAPE || role == ARGUMENT_STRIDE)
                argument->axis = descriptor_number(state, state->primal->parameters[i].value)->axis;
            bool sums = role == ARGUMENT_GRADIENT || role == ARGUMENT_RUNNING;
            for (int g = 0; sums && g < result->gradient_count; g++)
                if (strcmp(result->gradients[g].input, of) == 0) {
                    argument->is_float32 = result->gradients[g].is_sum;
                    argument->is_program_sum = result->gradients[g].is_program_sum;
                }
            new_index[i] = count;
            kept[count++] = *parameter;
        }
    }
    launch->argument_count = count;
    backward->parameters = kept;
    backward->parameter_count = count;
    function_renumber_parameters(backward, new_index);
}

/// Whether a buffer that is updated in place is an input as well: the forward reads what was there before.
static bool running_is_input(const Differentiation *state, const BackwardArgument *argument) {
    for (int i = 0; i < state->primal->parameter_count; i++) {
        const Parameter *parameter = &state->primal->parameters[i];
        if (strcmp(parameter->name, argument->of) == 0)
            return parameter->is_loaded || parameter->has_contents;
    }
    return false;
}

static void list_inputs(Differentiation *state, Backward *result, const BackwardLaunch *launch) {
    result->inputs = ARENA_ARRAY(state->arena, const char *, launch->argument_count + 1);
    result->outputs = ARENA_ARRAY(state->arena, const char *, launch->argument_count + 1);
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        bool running = argument->use == ARGUMENT_RUNNING, kept = argument->use == ARGUMENT_KEPT;
        if (argument->use == ARGUMENT_GRADIENT || kept ||
            (running && running_is_input(state, argument)))
            result->inputs[result->input_count++] = argument->of;
        if (argument->use == ARGUMENT_UPSTREAM || running)
            result->outputs[result->output_count++] = argument->of;
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

/// A store of something whose type is not known may have a gradient.
static bool visit_unknown_store(void *context, Op *op) {
    Differentiation *state = context;
    bool stores = op->code == OP_STORE && op->operand_count > 1 && op->operands[1];
    if (stores && op->operands[1]->type.kind == TYPE_UNKNOWN)
        adjoint_refuse_unknown(state, op->operands[1]);
    return !state->failed;
}

typedef struct Unknown {
    const Op *op;
} Unknown;

static bool visit_unknown(void *context, Op *op) {
    Unknown *unknown = context;
    if (op->code == OP_UNKNOWN && !unknown->op) unknown->op = op;
    return !unknown->op;
}

static void remove_forward_effects(Region *region, const Map *ours) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count; i++) remove_forward_effects(op->regions[i], ours);
        bool ordered = op_rows[op->code].effects & EFFECT_ORDERED;
        bool hint = op_rows[op->code].kind == KIND_HINT && op->result_count == 0;
        if ((ordered || hint) && !map_has_pointer(ours, op)) op_remove(op);
    }
}

static const char *const lost_result =
    "what an atomic gave is not known any more; in a kernel before this one, store the places that "
    "it led to in a tensor";

/// What an atomic of the forward gave is known to nobody afterwards: whatever still reads it is refused.
static void forget_result(Differentiation *state, Op *op) {
    Builder b = {
        .function = state->backward, .region = op->parent, .before = op, .range = op->range};
    Op *unknown = op_append(&b, OP_UNKNOWN, NULL, 0, 1);
    unknown->note = lost_result;
    unknown->results[0]->type = op->results[0]->type;
    region_replace_uses(state->backward->body, op->results[0], unknown->results[0]);
}

/// Stores and atomics of the forward are not repeated: nothing may be recomputed from them either.
static void remove_forward_stores(Differentiation *state, Region *region, const Map *ours) {
    for (Op *op = region->first, *next; op; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count; i++)
            remove_forward_stores(state, op->regions[i], ours);
        bool writes = op_rows[op->code].effects & (EFFECT_WRITES | EFFECT_ATOMIC);
        if (!writes || map_has_pointer(ours, op) || replay_keep(state, op)) continue;
        if (op->result_count == 1) forget_result(state, op);
        op_remove(op);
    }
}

/// Makes of the whole backward the part that is asked for. False where there is no such part.
static bool settle_part(Differentiation *state) {
    const BackwardPart *part = &state->part;
    if (part->kind == PART_WHOLE) return true;
    OwnerPlans plans = owners_plan(state);
    state->owner_kernels = plans.count;
    bool is_made = true;
    if (part->kind == PART_PROGRAMS)
        owners_leave(state, &plans, part->moved);
    else
        is_made = part->index < plans.count && owners_take(state, &plans, part->index);
    function_clean(state->backward);
    if (!is_made) adjoint_fail(state, DIAGNOSTIC_GRADIENT_ATOMIC_HOT_SPOT, (Range){0}, "no owners");
    return is_made;
}

static void derive(Differentiation *state, Backward *result) {
    adjoint_sweep(state);
    if (state->failed) return;
    Map ours = map_new(state->arena);
    for (int i = 0; i < state->accumulations.count; i++)
        map_set_pointer(&ours, state->accumulations.items[i].op, (void *)1);
    for (int i = 0; i < state->running_steps.count; i++)
        map_set_pointer(&ours, state->running_steps.items[i].op, (void *)1);
    for (LIST_EACH(int, t, state->tapes))
        for (LIST_EACH(int, i, state->tapes.items[t]->ops))
            map_set_pointer(&ours, state->tapes.items[t]->ops.items[i], (void *)1);
    saved_values_load(state, result->kernel->definition, &ours);
    remove_forward_effects(state->backward->body, &ours);
    remove_forward_stores(state, state->backward->body, &ours);
    function_drop_dead(state->backward);
    tapes_prune(state);
    function_clean(state->backward);
    replay_prune(state);
    memory_refuse_lost_values(state);
    if (state->failed) return;
    schedule_accumulations(state, result);
    function_clean(state->backward);
    guard_padding(state);
    function_clean(state->backward);
    if (!settle_part(state)) return;
    function_join_branches(state->backward);
    function_tidy(state->backward);
    function_hoist(state->backward);
    function_clean(state->backward);
    function_sink_addresses(state->backward);
    widths_settle(state);
    Unknown unknown = {0};
    region_walk(state->backward->body, visit_unknown, &unknown);
    if (unknown.op)
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION, unknown.op->range,
                     "the backward would have to recompute this%s: %s",
                     unknown.op->note == lost_result ? "" : ", which was not understood",
                     unknown.op->note ? unknown.op->note : "unknown construct");
    const char *broken = function_verify(state->arena, state->backward);
    if (broken && !state->failed)
        adjoint_fail(state, DIAGNOSTIC_GRADIENT_UNSUPPORTED_OPERATION,
                     state->primal->definition ? state->primal->definition->name_range : (Range){0},
                     "the backward of this kernel needs values that are not available in it (%s)",
                     broken);
}

static void report_assumptions(const Backward *result, Diagnostics *diagnostics) {
    for (int i = 0; diagnostics && i < result->assumption_count; i++)
        diagnose(diagnostics, DIAGNOSTIC_GRADIENT_ASSUMES_DISTINCT, result->assumptions[i].range,
                 "the gradient assumes that %s", result->assumptions[i].text);
}

static void report_atomics(const Backward *result, Diagnostics *diagnostics) {
    for (int i = 0; diagnostics && i < result->gradient_count; i++) {
        const Gradient *gradient = &result->gradients[i];
        if (!gradient->is_atomic) continue;
        diagnose(diagnostics, DIAGNOSTIC_GRADIENT_ATOMIC_HOT_SPOT, gradient->range,
                 "the gradient of `%s` needs atomics: %s", gradient->input, gradient->why);
    }
}

static void report_loops(const Backward *result, Diagnostics *diagnostics) {
    for (int i = 0; diagnostics && i < result->loop_note_count; i++) {
        const LoopNote *note = &result->loop_notes[i];
        diagnose(diagnostics,
                 note->is_recomputed ? DIAGNOSTIC_GRADIENT_RECOMPUTED_STATE
                                     : DIAGNOSTIC_GRADIENT_TAPE,
                 note->range, "%s", note->text);
    }
}

/// What the launcher has to copy because the kernel overwrites it.
static void report_copies(const Snapshot *snapshot, const Backward *result,
                          Diagnostics *diagnostics) {
    const Function *forward = result->kernel->function;
    for (int p = 0; diagnostics && p < forward->parameter_count; p++) {
        const Parameter *parameter = &forward->parameters[p];
        int copies = 0;
        for (int i = 0; i < result->whole.argument_count; i++) {
            const BackwardArgument *argument = &result->whole.arguments[i];
            bool is_copy = argument->use == ARGUMENT_BEFORE || argument->use == ARGUMENT_AMID;
            copies += is_copy && strcmp(argument->of, parameter->name) == 0;
        }
        if (copies)
            diagnose(
                diagnostics, DIAGNOSTIC_GRADIENT_COPY, snapshot_range(snapshot, parameter->range),
                "its backward needs %s of `%s` from before the launch, which overwrites it: store to another tensor to do without",
                copies > 1 ? "two copies" : "a copy", parameter->name);
    }
}

static void variant_refuse(Variant *variant, BackwardStatus status, int id, const char *reason,
                           Range range) {
    refuse(&variant->result, status, reason, range);
    variant->failure_id = id;
}

bool variant_try(Arena *arena, const Kernel *kernel, const Function *forward,
                 const BackwardOptions *options, bool keeps_loads, BackwardPart part,
                 Variant *variant) {
    Backward *result = &variant->result;
    *variant = (Variant){.result.kernel = kernel};
    Range where = kernel->definition->name_range;
    Differentiation state = {.arena = arena,
                             .values = map_new(arena),
                             .active = map_new(arena),
                             .constant = map_new(arena),
                             .gradients = map_new(arena),
                             .upstreams = map_new(arena),
                             .running = map_new(arena),
                             .kept = map_new(arena),
                             .numbers = map_new(arena),
                             .pointer_names = map_new(arena),
                             .origins = map_new(arena),
                             .replays = map_new(arena),
                             .load_tapes = map_new(arena),
                             .first_stores = map_new(arena),
                             .keeps_loads = keeps_loads,
                             .part = part,
                             .lost = map_new(arena),
                             .turns_apart = map_new(arena),
                             .ordered = map_new(arena),
                             .owners = map_new(arena)};
    state.primal = function_copy(arena, forward, forward->name, NULL);
    widths_note(&state);
    launches_note(arena, kernel->definition, state.primal);
    Range range = where;
    descriptors_open(&state);
    const char *failure = state.failed ? NULL : function_normalize(state.primal, &range);
    if (failure) adjoint_fail(&state, DIAGNOSTIC_GRADIENT_UNKNOWN_ADDRESS, range, "%s", failure);
    if (state.failed) {
        variant_refuse(variant, BACKWARD_REFUSED, state.failure_id, state.failure,
                       state.failure_range);
        return false;
    }
    function_simplify(state.primal);
    function_share(state.primal);
    function_hoist(state.primal);
    Memory memory = memory_of(arena, state.primal);
    state.backward = function_new(arena, arena_printf(arena, "%s_backward", forward->name));
    state.backward->definition = kernel->definition;
    memory_split_versions(&state, &memory, parameter_is_wanted, options);
    function_simplify(state.primal);  // what a loop stored and read back may be unchanged now
    function_share(state.primal);
    add_primal_parameters(&state);
    add_gradients(&state, &memory, options);
    activity_mark(&state);
    bool any_active = any_active_store(&state, &memory);
    if (!any_active) region_walk(state.primal->body, visit_unknown_store, &state);
    if (!state.failed && !any_active) {
        refuse(
            result, BACKWARD_NOT_DIFFERENTIABLE,
            "no floating-point input reaches a floating-point output through operations with a derivative",
            where);
        return false;
    }
    gauge_mark(&state);
    if (!state.failed) stores_settle(&state);
    if (!state.failed) derive(&state, result);
    variant->owner_kernels = state.owner_kernels;
    if (state.failed) {
        variant_refuse(variant, BACKWARD_REFUSED, state.failure_id, state.failure,
                       state.failure_range);
        return state.loses_values;
    }
    variant->backward = state.backward;
    result->assumptions = state.assumptions.items;
    result->assumption_count = state.assumptions.count;
    tapes_describe(&state);
    result->loop_notes = state.loop_notes.items;
    result->loop_note_count = state.loop_notes.count;
    arrange_parameters(&state, result, &variant->launch);
    list_inputs(&state, result, &variant->launch);
    result->status = BACKWARD_DERIVED;
    if (result->input_count == 0 && part.kind == PART_WHOLE)
        refuse(result, BACKWARD_NOT_DIFFERENTIABLE, "every gradient is zero", where);
    return false;
}

void variant_derive(Arena *arena, const Kernel *kernel, const Function *forward,
                    const BackwardOptions *options, Variant *variant) {
    const BackwardPart whole = {.kind = PART_WHOLE};
    bool keeps = variant_try(arena, kernel, forward, options, false, whole, variant);
    if (keeps) {
        Variant keeping;
        variant_try(arena, kernel, forward, options, true, whole, &keeping);
        keeps = keeping.result.status != BACKWARD_REFUSED;
        if (keeps) *variant = keeping;
    }
    bool is_apart = options && options->keeps_schedule;
    if (variant->result.status == BACKWARD_DERIVED && variant->result.atomics && !is_apart)
        variant_split(arena, kernel, forward, options, keeps, variant);
}

/// The kernel as a whole, else apart for the values of its flags.
static Variant *derive_whole(Arena *arena, const Kernel *kernel, const Function *forward,
                             const BackwardOptions *options) {
    Variant *variant = ARENA_NEW(arena, Variant);
    variant_derive(arena, kernel, forward, options, variant);
    BackwardOptions apart = options ? *options : (BackwardOptions){0};
    apart.keeps_schedule = true;  // several kernels cannot stand below one `if`
    if (variant->result.status == BACKWARD_REFUSED)
        variants_derive_apart(arena, kernel, &apart, variant);
    if (variant->result.status == BACKWARD_REFUSED)
        variants_derive_functions(arena, kernel, &apart, variant);
    return variant;
}

/// Scalars that nobody named must not stand in the way of the rest.
static Variant *derive_kernel(Arena *arena, const Kernel *kernel, Function *forward,
                              const BackwardOptions *options) {
    Variant *variant = derive_whole(arena, kernel, forward, options);
    if (variant->result.status != BACKWARD_REFUSED || (options && options->wrt_count))
        return variant;
    bool takes_scalars = false;
    launches_note(arena, kernel->definition, forward);
    for (int i = 0; i < forward->parameter_count; i++)
        takes_scalars |= scalar_is_asked(options, &forward->parameters[i]);
    if (!takes_scalars) return variant;
    BackwardOptions others = options ? *options : (BackwardOptions){0};
    others.skips_scalars = true;
    Variant *rest = derive_whole(arena, kernel, forward, &others);
    Range where = variant->result.reason_range;
    bool is_here = where.source == kernel->definition->name_range.source;
    rest->result.scalars_lost =
        is_here ? arena_printf(arena, "%s (line %d)", variant->result.reason, range_line(where))
                : variant->result.reason;
    return rest;
}

/// A kernel and what has to be known to launch it.
static const char *emit_launch(Arena *arena, const Function *function, const BackwardLaunch *launch,
                               const char *grid, const Backward *result, const char **helpers) {
    const char *comment =
        arena_printf(arena, "%s%s%s%s", descriptor_comment(arena, function, launch), grid,
                     scalar_comment(arena, launch), tape_comment(arena, launch));
    return emit_kernel(arena, function, backward_decorators(arena, launch, result), comment,
                       helpers);
}

static void emit_variant(Arena *arena, const Variant *variant, WrapperKind wrapper,
                         Backward *result) {
    VariantPart whole = {variant->backward, variant->launch};
    const VariantPart *parts = variant->part_count ? variant->parts : &whole;
    result->launch_count = variant->part_count ? variant->part_count : 1;
    result->launches = ARENA_ARRAY(arena, BackwardLaunch, result->launch_count);
    Buffer text = buffer_new(arena), helpers = buffer_new(arena);
    for (int i = 0; i < result->launch_count; i++) {
        BackwardLaunch *launch = &result->launches[i];
        const char *needed, *grid = i ? "" : grid_comment(arena, result, wrapper);
        *launch = parts[i].launch;
        launch->kernel = parts[i].function->name;
        launch->is_tuned_before =
            i && result->kernel->definition->is_autotuned && launch_reads_scratch(launch);
        launch->text = emit_launch(arena, parts[i].function, launch, grid, result, &needed);
        buffer_printf(&text, "%s%s", i ? "\n\n" : "", launch->text);
        if (!strstr(buffer_text(&helpers), needed))
            buffer_printf(&helpers, "%s%s", helpers.size ? "\n\n" : "", needed);
        result->whole = i ? launch_join(arena, &result->whole, launch) : *launch;
    }
    result->kernel_text = buffer_text(&text);
    result->helper_text = buffer_text(&helpers);
}

/// Whether the file has the backward already, in fewer kernels: what launches these knows of no others.
static bool stands_in_fewer(const Module *module, const Variant *variant) {
    if (!module_find_function(module, str_from(variant->backward->name))) return false;
    for (int i = 0; i < variant->part_count; i++)
        if (!module_find_function(module, str_from(variant->parts[i].function->name))) return true;
    return false;
}

Backward *backward_derive(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                          const BackwardOptions *options, Diagnostics *diagnostics) {
    Backward *result = ARENA_NEW(arena, Backward);
    result->kernel = kernel;
    if (!kernel_is_forward(kernel))
        return refuse(result, BACKWARD_NOT_DIFFERENTIABLE, "the kernel stores nothing",
                      kernel->definition->name_range);
    const char *broken = function_verify(arena, kernel->function);
    if (broken)  // a fault of ours, and never a gradient to be trusted
        return refuse(result, BACKWARD_REFUSED,
                      arena_printf(arena, "tad-lsp failed to analyse this kernel (%s)", broken),
                      kernel->definition->name_range);
    // The kernel's IR may be of an earlier text; lines in comments and reasons are those of the present one.
    Function *forward = function_copy(arena, kernel->function, kernel->function->name, NULL);
    snapshot_relocate(snapshot, forward);
    BackwardOptions asked = options ? *options : (BackwardOptions){0};
    asked.keeps_schedule |= asked.wrapper == WRAPPER_TRITON_OP;
    Variant *variant = derive_kernel(arena, kernel, forward, &asked);
    if (variant->part_count && stands_in_fewer(snapshot->module, variant)) {
        asked.keeps_schedule = true;
        variant = derive_kernel(arena, kernel, forward, &asked);
    }
    *result = variant->result;
    result->is_partial = options && options->wrt_count > 0;
    if (result->status == BACKWARD_REFUSED && diagnostics)
        diagnose(diagnostics, (DiagnosticId)variant->failure_id, result->reason_range, "%s",
                 result->reason);
    if (result->status != BACKWARD_DERIVED) return result;
    emit_variant(arena, variant, options ? options->wrapper : WRAPPER_AUTOGRAD, result);
    report_assumptions(result, diagnostics);
    report_atomics(result, diagnostics);
    report_loops(result, diagnostics);
    report_copies(snapshot, result, diagnostics);
    return result;
}
