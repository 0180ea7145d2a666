// A kernel whose flag decides shapes or the way of a scan: lowered again with the flag true and false, derived twice, merged below one `if`.
#include "autodiff/variants.h"
#include "analysis/build/build.h"
#include "analysis/build/clone.h"
#include "analysis/ir/ir_verify.h"
#include "analysis/ir/walk.h"
#include "analysis/launches/launch_values.h"
#include "autodiff/arguments.h"
#include "autodiff/blocks/joined_launches.h"
#include "autodiff/derive.h"
#include "autodiff/together/renumber.h"

#include <string.h>

enum { FLAGS_MAX = 3 };

/* ---- which flag ---- */

/// Whether what a branch yields is of a kind that only one branch at a time can be differentiated with.
static bool is_undecided(const Value *value) {
    Type type = value->type;
    if (type.kind == TYPE_UNKNOWN || type.kind == TYPE_BLOCK_POINTER ||
        type.kind == TYPE_DESCRIPTOR)
        return true;
    if (type.kind == TYPE_POINTER && !pointer_root((Value *)(uintptr_t)value)) return true;
    for (int i = 0; i < type.rank; i++)
        if (!type.dims[i]) return true;
    return false;
}

/// What of an operation has to be known to differentiate it: the way of a scan or a sort, the rank of a sum.
static const char *const modes[] = {"reverse", "descending", "keep_dims"};

/// Whether operand `index` is such a mode.
static bool is_mode(const Op *op, int index) {
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (op_parameter_index(op->code, str_from(modes[i])) == index) return true;
    return false;
}

typedef struct FlagUse {
    const Value *flag;
    bool is_number;  // used as more than a condition
} FlagUse;

static bool visit_flag_use(void *context, Op *op) {
    FlagUse *use = context;
    bool logical = op_is_logical(op->code);
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] == use->flag && !logical && !(op->code == OP_IF && i == 0) &&
            !is_mode(op, i))
            use->is_number = true;
    return !use->is_number;
}

/// A constexpr parameter that the condition is made of and that is never used but as a condition.
static intptr_t flag_within(ValueWalk *walk, const Value *condition) {
    const Function *function = walk->context;
    if (!condition) return 0;
    if (!condition->op) {
        if (!condition->region || condition->region != function->body || condition->constant)
            return 0;
        const Parameter *parameter = &function->parameters[condition->index];
        FlagUse use = {.flag = condition};
        region_walk(function->body, visit_flag_use, &use);
        return parameter->is_constexpr && !use.is_number ? (intptr_t)parameter : 0;
    }
    const Op *op = condition->op;
    // `dtype == tl.float16` with `dtype = tl.float8e5 if FLAG else tl.float16` asks for FLAG
    if (op->code == OP_IF) return walk_ask(walk, op->operands[0]);
    if (!op_is_logical(op->code) && op->code != OP_EQ && op->code != OP_NE) return 0;
    for (int i = 0; i < op->operand_count; i++) {
        intptr_t found = walk_ask(walk, op->operands[i]);
        if (found) return found;
    }
    return 0;
}

static const Parameter *flag_in(const Function *function, const Value *condition) {
    return (const Parameter *)walk_from(condition, flag_within, 0, function);
}

typedef struct VariantFlagSearch {
    const Function *function;
    const Parameter *flag;
} VariantFlagSearch;

/// Ends at an access through a descriptor whose block is not known.
static bool visit_open_block(void *context, Op *op) {
    (void)context;
    bool accesses = op_rows[op->code].effects & (EFFECT_READS | EFFECT_WRITES | EFFECT_ATOMIC);
    const Value *descriptor = accesses && op->operand_count ? op->operands[0] : NULL;
    if (!descriptor || descriptor->type.kind != TYPE_DESCRIPTOR) return true;
    for (int i = 0; i < descriptor->type.rank; i++)
        if (!descriptor->type.dims[i]) return false;
    return true;
}

/// Whether one branch stores blocks of one shape, perhaps, and the other one blocks of another.
static bool decides_blocks(const Op *branch) {
    for (int r = 0; r < branch->region_count; r++)
        if (!region_walk(branch->regions[r], visit_open_block, NULL)) return true;
    return false;
}

/// Finds the flag of the first branch or mode that is open and should not be.
static bool visit_flagged(void *context, Op *op) {
    VariantFlagSearch *search = context;
    for (int i = 0; i < op->operand_count && !search->flag; i++)
        if (is_mode(op, i)) search->flag = flag_in(search->function, op->operands[i]);
    if (op->code != OP_IF) return !search->flag;
    bool undecided = decides_blocks(op);
    for (int i = 0; i < op->result_count; i++)
        undecided = undecided || is_undecided(op->results[i]);
    if (undecided) search->flag = flag_in(search->function, op->operands[0]);
    return !search->flag;
}

/* ---- merging ---- */

typedef struct Merged {
    Arena *arena;
    const Function *forward;  // with the flag open
    Parameter *parameters;
    BackwardArgument *arguments;
    int count;
} Merged;

/// What is stored for certain in all variants is so below their `if`, too.
static const char *same_text(const char *a, const char *b) {
    return a && b && strcmp(a, b) == 0 ? a : NULL;
}

static bool merged_add(Merged *merged, const Parameter *parameter,
                       const BackwardArgument *argument) {
    for (int i = 0; i < merged->count; i++) {
        BackwardArgument *known = &merged->arguments[i];
        if (strcmp(known->name, argument->name) != 0) continue;
        if (known->use != argument->use) return false;
        // of two blocks nobody takes parts then: it stays one
        if (known->use == ARGUMENT_PARTS || known->use == ARGUMENT_DESCRIBED) return true;
        if (strcmp(known->of, argument->of) != 0) return false;
        if (known->is_parts != argument->is_parts) return false;
        if (known->programs &&
            !(argument->programs && strcmp(known->programs, argument->programs) == 0))
            known->programs = NULL;
        known->stored = same_text(known->stored, argument->stored);
        known->is_float32 = known->is_float32 || argument->is_float32;
        known->is_optional = known->is_optional && argument->is_optional;
        return true;
    }
    int rank = argument_rank(argument->use, parameter), at = merged->count;
    while (at > 0 &&
           argument_rank(merged->arguments[at - 1].use, &merged->parameters[at - 1]) > rank)
        at--;
    size_t behind = (size_t)(merged->count - at);
    memmove(merged->arguments + at + 1, merged->arguments + at, behind * sizeof(BackwardArgument));
    memmove(merged->parameters + at + 1, merged->parameters + at, behind * sizeof(Parameter));
    merged->arguments[at] = *argument;
    merged->arguments[at].filled = merged->arguments[at].same_as = NULL;  // below a flag
    merged->parameters[at] = *parameter;
    merged->count++;
    return true;
}

static bool merged_add_all(Merged *merged, const VariantPart *part) {
    for (int i = 0; i < part->launch.argument_count; i++)
        if (!merged_add(merged, &part->function->parameters[i], &part->launch.arguments[i]))
            return false;
    return true;
}

/// What only some of the variants have an argument for is not stored in the others.
static void forget_stored(Merged *merged, const VariantPart *const *parts, int count) {
    for (int i = 0; i < merged->count; i++)
        for (int r = 0; r < count; r++)
            if (!parts[r] || launch_index(&parts[r]->launch, merged->arguments[i].name) < 0)
                merged->arguments[i].stored = NULL;
}

/// The body of a variant at the builder's place, its parameters replaced by the merged function's of the same names.
static void clone_body(Builder *builder, const VariantPart *part) {
    Function *function = builder->function, *own = part->function;
    int *new_index = ARENA_ARRAY(function->arena, int, own->parameter_count + 1);
    for (int i = 0; i < own->parameter_count; i++)
        for (int k = 0; k < function->parameter_count; k++)
            if (strcmp(function->parameters[k].name, own->parameters[i].name) == 0)
                new_index[i] = k;
    function_renumber_parameters(own, new_index);
    Map values = map_new(function->arena);
    for (int i = 0; i < own->parameter_count; i++) {
        Value *value = function->parameters[new_index[i]].value;
        value->type = own->parameters[i].value->type;
        map_set_pointer(&values, own->parameters[i].value, value);
    }
    region_clone_into(builder, own->body, &values);
}

static void add_branch(Function *function, Op *branch, const VariantPart *part) {
    Builder builder = {.function = function, .region = NULL};
    Region *side = op_add_region(&builder, branch);
    builder.region = side;
    if (part) clone_body(&builder, part);
    op_append(&builder, OP_YIELD, NULL, 0, 0);
}

static void merge_gradients(Arena *arena, Backward *into, const Backward *from) {
    Gradient *all = ARENA_ARRAY(arena, Gradient, into->gradient_count + from->gradient_count + 1);
    memcpy(all, into->gradients, sizeof(Gradient) * (size_t)into->gradient_count);
    int count = into->gradient_count;
    for (int i = 0; i < from->gradient_count; i++) {
        const Gradient *gradient = &from->gradients[i];
        int known = 0;
        while (known < count && strcmp(all[known].input, gradient->input) != 0) known++;
        if (known == count) {
            all[count++] = *gradient;
            continue;
        }
        all[known].is_sum = all[known].is_sum || gradient->is_sum;
        if (all[known].is_atomic || !gradient->is_atomic) continue;
        bool is_sum = all[known].is_sum;
        all[known] = *gradient;
        all[known].is_sum = is_sum;
    }
    into->gradients = all;
    into->gradient_count = count;
    into->atomics = 0;
    for (int i = 0; i < count; i++) into->atomics += all[i].is_atomic;
}

static void merge_assumptions(Arena *arena, Backward *into, const Backward *from) {
    int most = into->assumption_count + from->assumption_count;
    Assumption *all = ARENA_ARRAY(arena, Assumption, most + 1);
    for (int i = 0; i < into->assumption_count; i++) all[i] = into->assumptions[i];
    for (int i = 0; i < from->assumption_count; i++)
        all[into->assumption_count + i] = from->assumptions[i];
    into->assumptions = all;
    into->assumption_count = most;
}

static void merge_steps(Arena *arena, Backward *into, const Backward *from) {
    StepCheck *all = ARENA_ARRAY(arena, StepCheck, into->step_count + from->step_count + 1);
    int count = into->step_count;
    for (int i = 0; i < count; i++) all[i] = into->steps[i];
    for (int i = 0; i < from->step_count; i++) {
        bool is_known = false;
        for (int k = 0; k < count && !is_known; k++)
            is_known = step_checks_are_equal(&all[k], &from->steps[i]);
        if (!is_known) all[count++] = from->steps[i];
    }
    into->steps = all;
    into->step_count = count;
}

static bool has_name(const char *const *names, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static const char **merge_names(Arena *arena, const char **a, int a_count, const char **b,
                                int b_count, int *count) {
    const char **all = ARENA_ARRAY(arena, const char *, a_count + b_count + 1);
    *count = 0;
    for (int i = 0; i < a_count; i++) all[(*count)++] = a[i];
    for (int i = 0; i < b_count; i++)
        if (!has_name(all, *count, b[i])) all[(*count)++] = b[i];
    return all;
}

static Value *condition_of(Builder *builder, Value *parameter, const Constant *value) {
    if (!value) return parameter;
    Value *condition;
    if (value->kind == CONSTANT_NONE)
        condition = build_unary(builder, OP_IS_NONE, parameter);
    else if (value->kind == CONSTANT_BOOL && value->integer)
        return parameter;
    else if (value->kind == CONSTANT_BOOL)
        condition = build_unary(builder, OP_LOGICAL_NOT, parameter);
    else if (value->kind == CONSTANT_TUPLE)
        condition = build_binary(
            builder, OP_EQ,
            build_binary(builder, OP_PYTHON_CALL, build_string(builder, "len"), parameter),
            build_int(builder, value->item_count));
    else
        condition = build_binary(builder, OP_EQ, parameter, build_constant(builder, *value));
    condition->type =
        (Type){.kind = TYPE_NUMBER, .element = dtype_of(DTYPE_INT1), .is_constexpr = true};
    return condition;
}

/// An empty function with the parameters of all parts and the one that chooses among them; NULL where they want one name for different
/// things. A part that is NULL does nothing.
static Function *merged_function(Arena *arena, const Function *forward, const Parameter *chooser,
                                 const VariantPart *const *parts, int count,
                                 BackwardLaunch *launch) {
    int most = forward->parameter_count + 1;
    const char *name = NULL;
    for (int r = 0; r < count; r++) {
        if (!parts[r]) continue;
        most += parts[r]->launch.argument_count;
        if (!name) name = parts[r]->function->name;
    }
    Merged merged = {.arena = arena,
                     .forward = forward,
                     .parameters = ARENA_ARRAY(arena, Parameter, most),
                     .arguments = ARENA_ARRAY(arena, BackwardArgument, most)};
    for (int r = 0; r < count; r++)
        if (parts[r] && !merged_add_all(&merged, parts[r])) return NULL;
    forget_stored(&merged, parts, count);
    BackwardArgument choice = {
        .name = chooser->name, .use = ARGUMENT_SAME, .of = chooser->name, .is_constexpr = true};
    if (!merged_add(&merged, chooser, &choice)) return NULL;
    Function *function = function_new(arena, name);
    function->definition = forward->definition;
    for (int i = 0; i < merged.count; i++) {
        Value *value = function_add_parameter(function, merged.parameters[i].name,
                                              merged.parameters[i].value->type);
        Parameter copy = merged.parameters[i];
        copy.value = value;
        function->parameters[i] = copy;
    }
    const BackwardLaunch **launches = ARENA_ARRAY(arena, const BackwardLaunch *, count + 1);
    int launch_count = 0;
    *launch = (BackwardLaunch){.arguments = merged.arguments, .argument_count = merged.count};
    function->parameters[launch_index(launch, chooser->name)].value->type = chooser->value->type;
    for (int r = 0; r < count; r++)
        if (parts[r]) launches[launch_count++] = &parts[r]->launch;
    launches_join_loops(arena, launches, launch_count, launch);
    return function;
}

static bool merge_parts(Arena *arena, const Function *forward, VariantChoice choice,
                        const VariantPart *const parts[2], VariantPart *into) {
    Function *function = merged_function(arena, forward, choice.parameter, parts, 2, &into->launch);
    if (!function) return false;
    Builder builder = {.function = function, .region = function->body};
    int at = launch_index(&into->launch, choice.parameter->name);
    Value *chosen = function->parameters[at].value;
    Value *condition = condition_of(&builder, chosen, choice.value);
    if (choice.same)
        condition = build_binary(&builder, OP_LOGICAL_OR, condition,
                                 condition_of(&builder, chosen, choice.same));
    Op *branch = op_append(&builder, OP_IF, &condition, 1, 0);
    for (int r = 0; r < 2; r++) add_branch(function, branch, parts[r]);
    into->function = function;
    return function_verify(arena, function) == NULL;
}

/// The kernels of a variant, in their order.
static int parts_of(const Variant *variant, VariantPart *parts) {
    if (!variant->backward) return 0;
    if (!variant->part_count) parts[0] = (VariantPart){variant->backward, variant->launch};
    for (int i = 0; i < variant->part_count; i++) parts[i] = variant->parts[i];
    return variant->part_count ? variant->part_count : 1;
}

static bool share_gradient(const BackwardLaunch *a, const BackwardLaunch *b) {
    for (int i = 0; i < a->argument_count; i++) {
        int known =
            a->arguments[i].use == ARGUMENT_GRADIENT ? launch_index(b, a->arguments[i].name) : -1;
        if (known >= 0 && b->arguments[known].use == ARGUMENT_GRADIENT) return true;
    }
    return false;
}

/// Whether two kernels, each of a variant, are one below the flag: they have a gradient in common, or a module could not have both.
static bool belong_together(const VariantPart *a, const VariantPart *b) {
    return share_gradient(&a->launch, &b->launch) ||
           strcmp(a->function->name, b->function->name) == 0;
}

/// A buffer is one for all kernels. False where they want it for different things.
static bool settle_buffers(Variant *variant) {
    for (int p = 0; p < variant->part_count; p++)
        for (int q = 0; q < variant->part_count; q++) {
            const BackwardLaunch *other = &variant->parts[q].launch;
            for (int i = 0; i < variant->parts[p].launch.argument_count && q != p; i++) {
                BackwardArgument *own = &variant->parts[p].launch.arguments[i];
                int at = launch_index(other, own->name);
                if (at < 0) continue;
                const BackwardArgument *known = &other->arguments[at];
                if (known->use != own->use || strcmp(known->of, own->of) != 0 ||
                    known->is_parts != own->is_parts)
                    return false;
                own->is_float32 = own->is_float32 || known->is_float32;
                own->stored = NULL;  // some of it may be another kernel's
            }
        }
    return true;
}

/// The kernels of both variants, each with the one of the other that belongs to it: in an order that is that of both.
static bool merge_all_parts(Arena *arena, const Function *forward, VariantChoice choice,
                            const Variant *const variants[2], Variant *into) {
    enum { MOST = 1 + BACKWARD_MOST_REDUCTIONS };
    VariantPart own[2][MOST];
    int counts[2], at[2] = {0, 0};
    for (int r = 0; r < 2; r++) counts[r] = parts_of(variants[r], own[r]);
    into->part_count = 0;
    while (at[0] < counts[0] || at[1] < counts[1]) {
        const VariantPart *pair[2] = {NULL, NULL};
        int match = at[1];
        while (at[0] < counts[0] && match < counts[1] &&
               !belong_together(&own[0][at[0]], &own[1][match]))
            match++;
        bool is_shared = at[0] < counts[0] && match < counts[1];
        if (at[0] < counts[0] && (!is_shared || match == at[1])) pair[0] = &own[0][at[0]++];
        if (!pair[0] || is_shared) pair[1] = &own[1][at[1]++];
        if (into->part_count == MOST) return false;
        if (!merge_parts(arena, forward, choice, pair, &into->parts[into->part_count++]))
            return false;
    }
    into->backward = into->parts[0].function;
    into->launch = into->parts[0].launch;
    if (into->part_count == 1) into->part_count = 0;
    return settle_buffers(into);
}

bool variants_merge(Arena *arena, const Function *forward, VariantChoice choice,
                    const Variant *const variants[2], Variant *into) {
    *into = (Variant){.result = variants[variants[0]->backward ? 0 : 1]->result};
    if (!merge_all_parts(arena, forward, choice, variants, into)) return false;
    const Variant *other = variants[1];
    if (!other->backward || !variants[0]->backward) return true;
    Backward *result = &into->result;
    merge_gradients(arena, result, &other->result);
    merge_assumptions(arena, result, &other->result);
    merge_steps(arena, result, &other->result);
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        result->single_axes[axis] |= other->result.single_axes[axis];
    result->inputs = merge_names(arena, result->inputs, result->input_count, other->result.inputs,
                                 other->result.input_count, &result->input_count);
    result->outputs =
        merge_names(arena, result->outputs, result->output_count, other->result.outputs,
                    other->result.output_count, &result->output_count);
    return true;
}

bool variants_assert(Arena *arena, const Function *forward, const Parameter *parameter,
                     const Constant *values, int count, const char *message, Variant *variant) {
    BackwardLaunch launch;
    const VariantPart part = {variant->backward, variant->launch}, *only = &part;
    Function *function = merged_function(arena, forward, parameter, &only, 1, &launch);
    if (!function) return false;
    for (int i = 0; i < launch.argument_count; i++) launch.arguments[i].stored = NULL;
    Builder builder = {.function = function, .region = function->body};
    Value *chosen = function->parameters[launch_index(&launch, parameter->name)].value;
    Value *any = NULL;
    for (int i = 0; i < count; i++) {
        Value *condition = condition_of(&builder, chosen, &values[i]);
        any = any ? build_binary(&builder, OP_LOGICAL_OR, any, condition) : condition;
    }
    Value *operands[] = {any, build_string(&builder, message)};
    op_append(&builder, OP_STATIC_ASSERT, operands, 2, 0);
    clone_body(&builder, &part);
    variant->backward = function;
    variant->launch = launch;
    return function_verify(arena, function) == NULL;
}

/* ---- both values of a flag ---- */

bool variant_has_running(const Variant *variant) {
    for (int i = 0; i < variant->launch.argument_count; i++) {
        ArgumentUse use = variant->launch.arguments[i].use;
        if (use == ARGUMENT_RUNNING || use == ARGUMENT_KEPT) return true;
    }
    return false;
}

/// What the output `of` is to a variant: its upstream gradient, or a running one. ARGUMENT_SAME: neither.
static ArgumentUse output_use(const Variant *variant, const char *of) {
    VariantPart parts[1 + BACKWARD_MOST_REDUCTIONS];
    int count = parts_of(variant, parts);
    for (int p = 0; p < count; p++)
        for (int i = 0; i < parts[p].launch.argument_count; i++) {
            const BackwardArgument *argument = &parts[p].launch.arguments[i];
            bool is_output =
                argument->use == ARGUMENT_UPSTREAM || argument->use == ARGUMENT_RUNNING;
            if (is_output && strcmp(argument->of, of) == 0) return argument->use;
        }
    return ARGUMENT_SAME;
}

bool variants_need_running(Arena *arena, const Variant *a, const Variant *b,
                           BackwardOptions *options) {
    if (!a->backward || !b->backward) return false;
    const Variant *const sides[2] = {a, b};
    int before = options->running_count;
    for (int r = 0; r < 2; r++) {
        const BackwardLaunch *launch = &sides[r]->launch;
        const char **names =
            ARENA_ARRAY(arena, const char *, options->running_count + launch->argument_count + 1);
        for (int i = 0; i < options->running_count; i++) names[i] = options->running[i];
        for (int i = 0; i < launch->argument_count; i++) {
            const BackwardArgument *argument = &launch->arguments[i];
            if (argument->use == ARGUMENT_RUNNING &&
                output_use(sides[1 - r], argument->of) == ARGUMENT_UPSTREAM &&
                !has_name(names, options->running_count, argument->of))
                names[options->running_count++] = argument->of;
        }
        options->running = names;
    }
    return options->running_count > before;
}

/// Whether a parameter is a tensor with one value of a flag and its descriptor with the other: no kernel takes both.
static bool are_of_other_kinds(const Function *a, const Function *b) {
    for (int i = 0; i < a->parameter_count && i < b->parameter_count; i++) {
        TypeKind own = a->parameters[i].value->type.kind, other = b->parameters[i].value->type.kind;
        if ((own == TYPE_POINTER && other == TYPE_DESCRIPTOR) ||
            (own == TYPE_DESCRIPTOR && other == TYPE_POINTER))
            return true;
    }
    return false;
}

void variants_derive_bound(Arena *arena, const Kernel *kernel, const Function *forward,
                           const BackwardOptions *options, const Binding *bound, int count,
                           Variant *variant) {
    VariantFlagSearch search = {.function = forward};
    region_walk(forward->body, visit_flagged, &search);
    if (!search.flag || count == FLAGS_MAX) return;
    Variant *variants[2];
    const Function *lowered[2];
    for (int r = 0; r < 2; r++) {
        const Constant *constant = constant_new(arena, constant_of_bool(r == 0));
        Binding *bindings = ARENA_ARRAY(arena, Binding, count + 1);
        if (count) memcpy(bindings, bound, sizeof(Binding) * (size_t)count);
        bindings[count] = (Binding){.name = str_from(search.flag->name), .constant = constant};
        Diagnostics found = {.arena = arena};
        LowerOptions lowering = {.bindings = bindings,
                                 .binding_count = count + 1,
                                 .general = kernel->function,
                                 .keeps_given = true};
        const Function *own = lower_kernel(arena, kernel->definition, &lowering, &found);
        lowered[r] = own;
        variants[r] = ARENA_NEW(arena, Variant);
        variant_derive(arena, kernel, own, options, variants[r]);
        if (variants[r]->result.status == BACKWARD_REFUSED)
            variants_derive_bound(arena, kernel, own, options, bindings, count + 1, variants[r]);
        if (variants[r]->result.status == BACKWARD_REFUSED) return;
        if (variants[r]->result.status != BACKWARD_DERIVED) variants[r]->backward = NULL;
    }
    if (!variants[0]->backward && !variants[1]->backward) return;
    if (are_of_other_kinds(lowered[0], lowered[1])) return;
    for (
        int r = 0; r < 2;
        r++)  // a branch without a gradient leaves zeros, but what is updated in place needs a sweep
        if (!variants[r]->backward && variant_has_running(variants[1 - r])) return;
    Variant whole;
    if (variants_merge(arena, forward, (VariantChoice){search.flag, NULL, NULL},
                       (const Variant *const[]){variants[0], variants[1]}, &whole)) {
        *variant = whole;
        return;
    }
    BackwardOptions together = options ? *options : (BackwardOptions){0};
    bool runs = variants_need_running(arena, variants[0], variants[1], &together);
    if (together.keeps_schedule && !runs) return;
    together.keeps_schedule = true;  // one may store parts of what the other adds to
    variants_derive_bound(arena, kernel, forward, &together, bound, count, variant);
}

void variants_derive_apart(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                           Variant *variant) {
    variants_derive_bound(arena, kernel, kernel->function, options, NULL, 0, variant);
}

/* ---- a flag that asks for what has no derivative ---- */

typedef struct FlagList {
    Arena *arena;
    const Function *function;
    const Range *where;  // only flags around it; NULL: all
    LIST(const Parameter *) flags;
} FlagList;

static bool visit_elsewhere(void *context, Op *op) {
    const Range *where = context;
    return op->range.source != where->source || op->range.start != where->start;
}

/// Whether what a range stands for is in one of the branches.
static bool is_around(const Op *branch, const Range *where) {
    for (int r = 0; r < branch->region_count; r++)
        if (!region_walk(branch->regions[r], visit_elsewhere, (Range *)(uintptr_t)where))
            return true;
    return false;
}

static bool visit_condition(void *context, Op *op) {
    FlagList *list = context;
    bool counts = op->code == OP_IF && (!list->where || is_around(op, list->where));
    const Parameter *flag = counts ? flag_in(list->function, op->operands[0]) : NULL;
    for (LIST_EACH(int, i, list->flags))
        if (list->flags.items[i] == flag) flag = NULL;
    if (flag) LIST_PUSH(list->arena, &list->flags, flag);
    return list->flags.count < FLAGS_MAX;
}

static bool has_error(const Diagnostics *found) {
    for (LIST_EACH(int, i, found->list))
        if (found->list.items[i].severity == SEVERITY_ERROR) return true;
    return false;
}

bool variant_derive_with(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                         const Binding *bindings, int count, Variant *variant) {
    Diagnostics found = {.arena = arena};
    LowerOptions lowering = {.bindings = bindings,
                             .binding_count = count,
                             .general = kernel->function,
                             .keeps_given = true};
    const Function *own = lower_kernel(arena, kernel->definition, &lowering, &found);
    variant_derive(arena, kernel, own, options, variant);
    return !has_error(&found);
}

/// The kernel with the flag at one value: the forward that was derived.
static const Function *derive_flag(Arena *arena, const Kernel *kernel,
                                   const BackwardOptions *options, const Parameter *flag,
                                   bool is_set, Variant *variant) {
    Binding binding = {.name = str_from(flag->name),
                       .constant = constant_new(arena, constant_of_bool(is_set))};
    Diagnostics found = {.arena = arena};
    LowerOptions lowering = {
        .bindings = &binding, .binding_count = 1, .general = kernel->function, .keeps_given = true};
    const Function *own = lower_kernel(arena, kernel->definition, &lowering, &found);
    variant_derive(arena, kernel, own, options, variant);
    if (variant->result.status == BACKWARD_REFUSED && !variant->is_bits)
        variants_derive_bound(arena, kernel, own, options, &binding, 1, variant);
    return own;
}

/// Whether all launches of the file pass this one value of a flag.
static bool is_always_passed(const Kernel *kernel, const Parameter *flag, bool is_set) {
    const Function *function = kernel->function;
    LaunchValues values = launches_flags(function, (int)(flag - function->parameters));
    return values.count == 1 && (values.items[0] != 0) == is_set;
}

/// Takes the backward of a flag's one value as that of the kernel. Whether it can.
static bool take_alone(Arena *arena, const Kernel *kernel, const Parameter *flag, bool is_set,
                       const char *why, Variant *without, Variant *variant) {
    const char *message = arena_printf(arena, "no gradient where %s is %s: %s", flag->name,
                                       is_set ? "not set" : "set", why);
    Constant value = constant_of_bool(is_set);
    if (!variants_assert(arena, kernel->function, flag, &value, 1, message, without)) return false;
    *variant = *without;
    variant->result.flag_lost = message;
    variant->result.flag_range = flag->range;
    return true;
}

void variants_derive_without(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                             Variant *variant) {
    const Range where = variant->result.reason_range;
    FlagList list = {.arena = arena, .function = kernel->function, .where = &where};
    region_walk(kernel->function->body, visit_condition, &list);
    list.where = NULL;
    region_walk(kernel->function->body, visit_condition, &list);
    for (LIST_EACH(int, i, list.flags)) {
        const Parameter *flag = list.flags.items[i];
        Variant sides[2];  // by whether it is set
        const Function *lowered[2];
        for (int is_set = 0; is_set < 2; is_set++)
            lowered[is_set] =
                derive_flag(arena, kernel, options, flag, is_set == 1, &sides[is_set]);
        bool both = sides[0].result.status == BACKWARD_DERIVED &&
                    sides[1].result.status == BACKWARD_DERIVED;
        Variant whole;
        if (both && !are_of_other_kinds(lowered[0], lowered[1]) &&
            variants_merge(arena, kernel->function, (VariantChoice){flag, NULL, NULL},
                           (const Variant *const[]){&sides[1], &sides[0]}, &whole)) {
            *variant = whole;
            return;
        }
        both = both && are_of_other_kinds(lowered[0], lowered[1]);
        for (int is_set = 0; is_set < 2; is_set++) {
            const Variant *other = &sides[1 - is_set];
            bool is_cause =
                other->result.status == BACKWARD_REFUSED && (other->is_bits || !variant->is_bits);
            if (sides[is_set].result.status != BACKWARD_DERIVED || (!is_cause && !both) ||
                is_always_passed(kernel, flag, is_set == 0))
                continue;
            const char *why =
                both ? "an argument is a tensor with one value and its descriptor with the other"
                     : other->result.reason;
            if (take_alone(arena, kernel, flag, is_set == 1, why, &sides[is_set], variant)) return;
        }
    }
}

/* ---- sizes that are computed with in another way ---- */

enum { EXCLUDED_MAX = 3 };

typedef struct ExcludedSearch {
    const Function *function;
    const Parameter *parameter;  // the first that is found
    const Constant *number;
} ExcludedSearch;

/// `if SIZE == 1:` around what has another shape with other sizes.
static bool visit_size(void *context, Op *op) {
    ExcludedSearch *search = context;
    const Op *test = op->code == OP_IF ? op->operands[0]->op : NULL;
    bool undecided = false;
    for (int i = 0; i < op->result_count && test; i++)
        undecided = undecided || is_undecided(op->results[i]);
    if (!undecided || test->code != OP_EQ) return true;
    for (int side = 0; side < 2; side++) {
        const Value *size = test->operands[side], *number = test->operands[1 - side];
        bool is_size = !size->op && !size->constant && size->region == search->function->body &&
                       search->function->parameters[size->index].is_constexpr;
        if (!is_size || !number->constant || number->constant->kind != CONSTANT_INT) continue;
        search->parameter = &search->function->parameters[size->index];
        search->number = number->constant;
    }
    return !search->parameter;
}

void variants_derive_excluding(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                               Variant *variant) {
    Binding *excluded = ARENA_ARRAY(arena, Binding, EXCLUDED_MAX);
    BackwardOptions own = options ? *options : (BackwardOptions){0};
    own.excludes = true;
    const Function *forward = kernel->function;
    const char *lost = "no gradient where";
    for (int count = 0; count < EXCLUDED_MAX;) {
        ExcludedSearch search = {.function = forward};
        region_walk(forward->body, visit_size, &search);
        if (!search.parameter) return;
        lost = arena_printf(arena, "%s%s %s is %lld", lost, count ? ", or" : "",
                            search.parameter->name, (long long)search.number->integer);
        excluded[count++] =
            (Binding){.name = str_from(search.parameter->name), .constant = search.number};
        Diagnostics found = {.arena = arena};
        LowerOptions lowering = {.excluded = excluded,
                                 .excluded_count = count,
                                 .general = kernel->function,
                                 .keeps_given = true};
        forward = lower_kernel(arena, kernel->definition, &lowering, &found);
        Variant without;
        variant_derive(arena, kernel, forward, &own, &without);
        if (without.result.status == BACKWARD_NOT_DIFFERENTIABLE) return;
        if (without.result.status != BACKWARD_DERIVED) continue;
        without.result.flag_lost = lost;
        without.result.flag_range = search.parameter->range;
        *variant = without;
        return;
    }
}
