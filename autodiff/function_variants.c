// A kernel that calls a constexpr, takes one apart or works along an axis of that number: derived once for each jit function or
// length of a tuple that a launch passes, or for each axis, the backwards merged below comparisons. So is a kernel that reads a tensor
// as integers under one value of a constexpr, and as floats under another.
#include "autodiff/function_variants.h"

#include <string.h>

#include "analysis/host/launch.h"
#include "analysis/launches/launch_functions.h"
#include "analysis/parameters/element_kinds.h"
#include "autodiff/derive.h"
#include "autodiff/variants.h"

enum { BINDINGS_MAX = 3 };

typedef struct FunctionChoice {
    const Parameter *parameter;
    Constant *values;  // `count`, then as many that mean the same where has_same
    const Str *names;
    int count;
    bool has_same;
} FunctionChoice;

/// Tuples of some lengths.
static FunctionChoice lengths_choice(Arena *arena, const Parameter *parameter,
                                     LaunchLengths lengths) {
    Str *names = ARENA_ARRAY(arena, Str, lengths.count);
    FunctionChoice choice = {.parameter = parameter, .names = names, .count = lengths.count};
    choice.values = ARENA_ARRAY(arena, Constant, lengths.count);
    for (LIST_EACH(int, i, lengths)) {
        names[i] = str_from(arena_printf(arena, "tuples of %d", lengths.items[i]));
        choice.values[i] = (Constant){.kind = CONSTANT_TUPLE, .item_count = lengths.items[i]};
    }
    return choice;
}

typedef struct AxisSearch {
    const Function *function;
    const Parameter *parameter;  // found, with
    int rank;                    // that of the tile
} AxisSearch;

/// An operation along an axis whose number is an open parameter.
static bool visit_axis(void *context, Op *op) {
    AxisSearch *search = context;
    int index = op_axis_index(op->code);
    if (index < 1 || index >= op->operand_count || !op->operands[index]) return true;
    const Value *axis = op->operands[index], *tile = op->operands[0];
    bool is_open = !axis->op && axis->region == search->function->body && !axis->constant;
    if (!is_open || !tile || tile->type.kind != TYPE_NUMBER || tile->type.rank < 1) return true;
    const Parameter *parameter = &search->function->parameters[axis->index];
    if (!parameter->is_constexpr) return true;
    search->parameter = parameter;
    search->rank = tile->type.rank;
    return false;
}

/// Each axis of the tile, by its number from the front or from the back.
static bool find_axis_choice(Arena *arena, const Function *forward, FunctionChoice *choice) {
    AxisSearch search = {.function = forward};
    region_walk(forward->body, visit_axis, &search);
    if (!search.parameter) return false;
    Str *names = ARENA_ARRAY(arena, Str, search.rank);
    *choice = (FunctionChoice){
        .parameter = search.parameter, .names = names, .count = search.rank, .has_same = true};
    choice->values = ARENA_ARRAY(arena, Constant, 2 * search.rank);
    for (int i = 0; i < search.rank; i++) {
        names[i] = str_from(arena_printf(arena, "axis %d", i));
        choice->values[i] = constant_of_int(i);
        choice->values[search.rank + i] = constant_of_int(i - search.rank);
    }
    return true;
}

/// The first open parameter that launches pass functions or tuples for, or that an operation works along.
static bool find_choice(Arena *arena, const Function *forward, FunctionChoice *choice) {
    for (int p = 0; p < forward->parameter_count; p++) {
        const Parameter *parameter = &forward->parameters[p];
        if (!parameter->is_constexpr || parameter->value->constant ||
            parameter->value->type.kind == TYPE_TUPLE)
            continue;
        LaunchFunctions functions = launches_functions(arena, forward, p);
        LaunchLengths lengths = launches_lengths(arena, forward, p);
        if (functions.count == 0 && lengths.count) {
            *choice = lengths_choice(arena, parameter, lengths);
            return true;
        }
        if (functions.count == 0) continue;
        Str *names = ARENA_ARRAY(arena, Str, functions.count);
        *choice =
            (FunctionChoice){.parameter = parameter, .names = names, .count = functions.count};
        choice->values = ARENA_ARRAY(arena, Constant, functions.count);
        for (LIST_EACH(int, i, functions)) {
            names[i] = functions.items[i].name;
            choice->values[i] = launch_function_constant(&functions.items[i]);
        }
        return true;
    }
    return find_axis_choice(arena, forward, choice);
}

static void derive_functions(Arena *arena, const Kernel *kernel, const Function *forward,
                             const BackwardOptions *options, const Binding *bound, int count,
                             Variant *variant);

/// The kernel with one of the functions. What stands in the way is told with its name.
static Variant *derive_with(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                            const FunctionChoice *choice, int index, const Binding *bound,
                            int count) {
    Binding *bindings = ARENA_ARRAY(arena, Binding, count + 1);
    if (count) memcpy(bindings, bound, sizeof(Binding) * (size_t)count);
    const Constant *value = &choice->values[index];
    bindings[count].name = str_from(choice->parameter->name);
    if (value->kind == CONSTANT_TUPLE)
        bindings[count].type = (Type){.kind = TYPE_TUPLE,
                                      .is_constexpr = true,
                                      .rank = value->item_count,
                                      .dims = ARENA_ARRAY(arena, const Poly *, value->item_count)};
    else
        bindings[count].constant = constant_new(arena, *value);
    Diagnostics found = {.arena = arena};
    LowerOptions lowering = {.bindings = bindings,
                             .binding_count = count + 1,
                             .general = kernel->function,
                             .keeps_given = true};
    const Function *own = lower_kernel(arena, kernel->definition, &lowering, &found);
    Variant *variant = ARENA_NEW(arena, Variant);
    variant_derive(arena, kernel, own, options, variant);
    if (variant->result.status == BACKWARD_REFUSED)
        variants_derive_bound(arena, kernel, own, options, bindings, count + 1, variant);
    if (variant->result.status == BACKWARD_REFUSED)
        derive_functions(arena, kernel, own, options, bindings, count + 1, variant);
    if (variant->result.status == BACKWARD_REFUSED)
        variant->result.reason =
            arena_printf(arena, "with `%.*s` for `%s`: %s", STR_ARGS(choice->names[index]),
                         choice->parameter->name, variant->result.reason);
    if (variant->result.status != BACKWARD_DERIVED) variant->backward = NULL;
    return variant;
}

static const char *assertion_text(Arena *arena, const FunctionChoice *choice) {
    Buffer text = buffer_new(arena);
    buffer_puts(&text, "this backward is for ");
    for (int i = 0; i < choice->count; i++)
        buffer_printf(&text, "%s%.*s",
                      i == 0                   ? ""
                      : i + 1 == choice->count ? " and "
                                               : ", ",
                      STR_ARGS(choice->names[i]));
    buffer_puts(&text, " alone");
    return buffer_text(&text);
}

static void derive_functions(Arena *arena, const Kernel *kernel, const Function *forward,
                             const BackwardOptions *options, const Binding *bound, int count,
                             Variant *variant) {
    FunctionChoice choice;
    if (count == BINDINGS_MAX || !find_choice(arena, forward, &choice)) return;
    Variant **each = ARENA_ARRAY(arena, Variant *, choice.count);
    bool any_running = false, any_empty = false;
    for (int i = 0; i < choice.count; i++) {
        each[i] = derive_with(arena, kernel, options, &choice, i, bound, count);
        any_running = any_running || (each[i]->backward && variant_has_running(each[i]));
        any_empty = any_empty || !each[i]->backward;
        if (each[i]->result.status != BACKWARD_REFUSED) continue;
        *variant = *each[i];
        return;
    }
    if (any_running && any_empty) return;  // an empty branch leaves zeros, and no gradient in place
    Variant whole = *each[choice.count - 1];
    for (int i = choice.count - 2; i >= 0; i--) {
        Variant both = *each[i];
        const Variant *const branches[2] = {each[i], &whole};
        VariantChoice value = {choice.parameter, &choice.values[i],
                               choice.has_same ? &choice.values[choice.count + i] : NULL};
        if ((each[i]->backward || whole.backward) &&
            !variants_merge(arena, forward, value, branches, &both)) {
            if (options && options->keeps_schedule) return;
            BackwardOptions together = options ? *options : (BackwardOptions){0};
            together.keeps_schedule = true;  // one may store parts of what the other adds to
            derive_functions(arena, kernel, forward, &together, bound, count, variant);
            return;
        }
        whole = both;
    }
    if (!whole.backward || variants_assert(arena, forward, choice.parameter, choice.values,
                                           choice.has_same ? 2 * choice.count : choice.count,
                                           assertion_text(arena, &choice), &whole))
        *variant = whole;
}

void variants_derive_functions(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                               Variant *variant) {
    derive_functions(arena, kernel, kernel->function, options, NULL, 0, variant);
}

/* ---- integers or floats ---- */

enum { KINDS_MAX = 2 };  // constexprs that decide so, one within the other

typedef struct KindsAttempt {
    Arena *arena;
    const Kernel *kernel;
    const BackwardOptions *options;
} KindsAttempt;

/// The kernel with some constexprs bound, for all values of the others but those that are derived already.
typedef struct BoundKinds {
    const Function *forward;
    const Binding *bindings;
    int count;
    const KindChoice *derived[KINDS_MAX];
    int derived_count;
} BoundKinds;

static BoundKinds bind(const KindsAttempt *search, const BoundKinds *outer,
                       const Parameter *parameter, Constant value) {
    Binding *bindings = ARENA_ARRAY(search->arena, Binding, outer->count + 1);
    if (outer->count) memcpy(bindings, outer->bindings, sizeof(Binding) * (size_t)outer->count);
    bindings[outer->count] = (Binding){.name = str_from(parameter->name),
                                       .constant = constant_new(search->arena, value)};
    Diagnostics found = {.arena = search->arena};
    LowerOptions lowering = {.bindings = bindings,
                             .binding_count = outer->count + 1,
                             .general = search->kernel->function,
                             .keeps_given = true};
    const Function *forward =
        lower_kernel(search->arena, search->kernel->definition, &lowering, &found);
    BoundKinds bound = *outer;
    bound.forward = forward;
    bound.bindings = bindings;
    bound.count++;
    return bound;
}

/// The tensor that holds floats with the choice; NULL: none.
static const char *floats_with(const BoundKinds *general, const BoundKinds *bound) {
    for (int i = 0; i < general->forward->parameter_count; i++)
        if (kind_is_float_in(general->forward, i, bound->forward))
            return general->forward->parameters[i].name;
    return NULL;
}

static void refuse(const KindsAttempt *search, const Parameter *parameter, const char *tensor,
                   const char *reason, Variant *variant) {
    *variant = (Variant){.result.status = BACKWARD_REFUSED};
    variant->result.reason = arena_printf(
        search->arena, "`%s` decides whether `%s` holds floats, and there its gradient is lost: %s",
        parameter->name, tensor, reason);
    variant->result.reason_range = search->kernel->definition->name_range;
}

static void derive_kinds(const KindsAttempt *search, const BoundKinds *general,
                         const BackwardOptions *options, Variant *variant);

static Variant *derive_bound(const KindsAttempt *search, const BoundKinds *bound,
                             const BackwardOptions *options) {
    Variant *variant = ARENA_NEW(search->arena, Variant);
    variant_derive(search->arena, search->kernel, bound->forward, options, variant);
    if (variant->result.status == BACKWARD_REFUSED)
        variants_derive_bound(search->arena, search->kernel, bound->forward, options,
                              bound->bindings, bound->count, variant);
    derive_kinds(search, bound, options, variant);
    if (variant->result.status != BACKWARD_DERIVED) variant->backward = NULL;
    return variant;
}

/// The kernel with the choice, beside that with any other value. False where both are not one kernel; `*again` has the options with
/// which they may be.
static bool merge_kinds(const KindsAttempt *search, const BoundKinds *general,
                        const BoundKinds *bound, const KindChoice *choice,
                        const BackwardOptions *options, BackwardOptions *again, Variant *variant) {
    const Parameter *parameter = &general->forward->parameters[choice->parameter];
    Variant *with = derive_bound(search, bound, options), *without = variant;
    if (choice->value.kind == CONSTANT_BOOL) {
        BoundKinds other =
            bind(search, general, parameter, constant_of_bool(!choice->value.integer));
        without = derive_bound(search, &other, options);
    } else {
        BoundKinds other = *general;
        other.derived[other.derived_count++] = choice;
        without = ARENA_NEW(search->arena, Variant);
        *without = *variant;
        derive_kinds(search, &other, options, without);
    }
    const char *tensor = floats_with(general, bound);
    if (with->result.status == BACKWARD_REFUSED) {
        refuse(search, parameter, tensor, with->result.reason, variant);
        return true;
    }
    if (without->result.status == BACKWARD_REFUSED) {
        *variant = *without;
        return true;
    }
    if (!with->backward) {
        *variant = *without;
        return true;
    }
    if (!without->backward && variant_has_running(with)) return false;
    Variant whole;
    const Variant *const both[2] = {with, without};
    VariantChoice value = {parameter, &choice->value, NULL};
    if (!variants_merge(search->arena, search->kernel->function, value, both, &whole)) {
        variants_need_running(search->arena, with, without, again);
        return false;
    }
    *variant = whole;
    return true;
}

static bool is_derived(const BoundKinds *general, const KindChoice *choice) {
    for (int i = 0; i < general->derived_count; i++)
        if (general->derived[i]->parameter == choice->parameter) return true;
    return false;
}

static void derive_kinds(const KindsAttempt *search, const BoundKinds *general,
                         const BackwardOptions *options, Variant *variant) {
    if (general->count + general->derived_count == KINDS_MAX) return;
    KindChoices choices = kind_choices(search->arena, general->forward);
    for (LIST_EACH(int, i, choices)) {
        const KindChoice *choice = &choices.items[i];
        const Parameter *parameter = &general->forward->parameters[choice->parameter];
        if (is_derived(general, choice)) continue;
        BoundKinds bound = bind(search, general, parameter, choice->value);
        const char *tensor = floats_with(general, &bound);
        if (!tensor) continue;
        BackwardOptions together = options ? *options : (BackwardOptions){0};
        if (merge_kinds(search, general, &bound, choice, options, &together, variant)) return;
        together.keeps_schedule = true;  // one may store parts of what the other adds to
        Variant whole;
        variant_derive(search->arena, search->kernel, general->forward, &together, &whole);
        if (merge_kinds(search, general, &bound, choice, &together, &(BackwardOptions){0}, &whole))
            *variant = whole;
        else
            refuse(search, parameter, tensor, "both ways do not go into one kernel", variant);
        return;
    }
}

void variants_derive_kinds(Arena *arena, const Kernel *kernel, const BackwardOptions *options,
                           Variant *variant) {
    const KindsAttempt search = {arena, kernel, options};
    const BoundKinds general = {.forward = kernel->function};
    if (variant->result.status == BACKWARD_REFUSED) return;
    derive_kinds(&search, &general, options, variant);
}
