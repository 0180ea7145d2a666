// Numbers that a launcher reads off tensors and passes to kernels: where they have a gradient, the tensors are passed in their place.
#include "autodiff/launcher/scalar_tensors.h"

#include <string.h>

#include "analysis/launches/launch_numbers.h"
#include "analysis/launches/launch_tensors.h"
#include "autodiff/primal/scalars.h"

/// Why a kernel's backward lacks the gradient of a parameter that a launcher passes a tensor's number for; NULL: it does not,
/// or the gradient is zero.
static const char *loss_of(const LaunchPlan *plan, int parameter) {
    const Backward *backward = plan->backward;
    const Parameter *scalar = &backward->kernel->function->parameters[parameter];
    if (scalar->is_constexpr) return "it is a constexpr";
    if (scalar->value->type.kind != TYPE_NUMBER) return NULL;
    if (!parameter_is_float_scalar(scalar)) return "the kernel takes it for a whole number";
    if (launch_argument(backward, ARGUMENT_GRADIENT, scalar->name)) return NULL;
    return backward->is_partial ? "it was not asked for" : backward->scalars_lost;
}

static bool has_sum(const LaunchPlan *plan, int parameter) {
    const char *name = plan->backward->kernel->function->parameters[parameter].name;
    const BackwardArgument *gradient = launch_argument(plan->backward, ARGUMENT_GRADIENT, name);
    return gradient && gradient->is_program_sum;
}

static const CutTensor *cut_of(const LaunchPlan *plan, const LaunchSite *site,
                               const LaunchTensor *tensor) {
    for (int i = 0; plan->cuts && i < plan->cuts->count; i++) {
        const CutTensor *cut = &plan->cuts->items[i];
        bool is_shared = cut->launcher == site->launcher || str_starts(cut->name, "self.");
        for (int k = 0; is_shared && k < tensor->source_count; k++)
            if (str_equal(tensor->sources[k], cut->name)) return cut;
    }
    return NULL;
}

typedef struct ScalarNumbers {
    Arena *arena;
    const Module *module;
    LaunchPlan *plans;
    int plan_count;
} ScalarNumbers;

typedef void NumberVisit(void *context, const LaunchPlan *plan, const LaunchSite *site,
                         int parameter, const LaunchTensor *tensor);

/// All that launches pass to differentiable kernels and comes from tensors.
static void each_number(const ScalarNumbers *numbers, NumberVisit *visit, void *context) {
    for (int k = 0; k < numbers->plan_count; k++) {
        const LaunchPlan *plan = &numbers->plans[k];
        for (LIST_EACH(int, i, numbers->module->launches)) {
            const LaunchSite *site = &numbers->module->launches.items[i];
            for (int p = 0; site->kernel == plan->kernel && p < site->kernel->parameter_count;
                 p++) {
                LaunchTensor tensor = launch_tensor(numbers->arena, numbers->module, site, p);
                if (tensor.text) visit(context, plan, site, p, &tensor);
            }
        }
    }
}

typedef struct Cutting {
    Arena *arena;
    CutTensors *cuts;
} Cutting;

static void cut_number(void *context, const LaunchPlan *plan, const LaunchSite *site, int parameter,
                       const LaunchTensor *tensor) {
    Cutting *cutting = context;
    const Backward *backward = plan->backward;
    const char *why = loss_of(plan, parameter);
    if (!why) return;
    const char *where = arena_printf(cutting->arena, "`%s` of `%.*s`",
                                     backward->kernel->function->parameters[parameter].name,
                                     STR_ARGS(plan->kernel->name));
    for (int i = 0; i < tensor->source_count; i++) {
        CutTensor cut = {site->launcher,
                         tensor->sources[i],
                         where,
                         why,
                         .is_named = backward->is_partial,
                         .is_noted = why == backward->scalars_lost};
        LIST_PUSH(cutting->arena, cutting->cuts, cut);
    }
}

/// A number that has a gradient and comes from a tensor that is cut stays a number: what else it comes from is cut as well.
static void cut_loser(void *context, const LaunchPlan *plan, const LaunchSite *site, int parameter,
                      const LaunchTensor *tensor) {
    Cutting *cutting = context;
    const CutTensor *found = has_sum(plan, parameter) ? cut_of(plan, site, tensor) : NULL;
    if (!found) return;
    cutting->cuts->items[found - cutting->cuts->items].is_noted = true;
    CutTensor cut = *found;
    for (int i = 0; i < tensor->source_count; i++) {
        const LaunchTensor source = {.sources = &tensor->sources[i], .source_count = 1};
        if (cut_of(plan, site, &source)) continue;
        cut.launcher = site->launcher;
        cut.name = tensor->sources[i];
        LIST_PUSH(cutting->arena, cutting->cuts, cut);
    }
}

/// A note of the module and a warning where the number is read.
static void note_number(Arena *arena, const NumberNotes *notes, const char *where, Str tensor,
                        const FunctionDefinition *launcher, Range range, const char *why) {
    const char *note =
        arena_printf(arena, "%s has no gradient, so `%.*s` stays a number in `%.*s`: %s.", where,
                     STR_ARGS(tensor), STR_ARGS(launcher->name), why);
    for (LIST_EACH(int, i, *notes->texts))
        if (strcmp(notes->texts->items[i], note) == 0) return;
    LIST_PUSH(arena, notes->texts, note);
    if (notes->diagnostics)
        diagnose(notes->diagnostics, DIAGNOSTIC_GRADIENT_NUMBER_OF_TENSOR,
                 snapshot_range(notes->snapshot, range),
                 "%s has no gradient, so `%.*s` stays a number in `%.*s`: %s", where,
                 STR_ARGS(tensor), STR_ARGS(launcher->name), why);
}

/// Where a launch's number, or a tensor that is made of numbers, loses the gradient of the tensor that it is read off.
static void note_argument(Arena *arena, const Module *module, const LaunchPlan *plan,
                          const LaunchSite *site, int p, const NumberNotes *notes) {
    const Parameter *parameter = &plan->backward->kernel->function->parameters[p];
    bool is_number = parameter_is_float_scalar(parameter);
    bool is_tensor = launch_argument(plan->backward, ARGUMENT_GRADIENT, parameter->name) &&
                     parameter_is_pointer(parameter);
    NumberRead read;
    if ((!is_number && !is_tensor) || launch_tensor(arena, module, site, p).text ||
        !launch_number_read(arena, module, site, p, is_tensor, &read))
        return;
    const char *where =
        arena_printf(arena, is_number ? "`%s` of `%.*s`" : "what is passed for `%s` of `%.*s`",
                     parameter->name, STR_ARGS(plan->kernel->name));
    note_number(arena, notes, where, read.tensor, site->launcher, read.range,
                is_number ? "the launcher does more with it than arithmetic"
                          : "a new tensor is made of it");
}

/// Numbers of tensors that a launcher does more with than is followed.
static void note_lost(Arena *arena, const Module *module, const LaunchPlan *plan,
                      const NumberNotes *notes) {
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != plan->kernel || plan->backward->is_partial) continue;
        for (int p = 0; p < site->kernel->parameter_count; p++)
            note_argument(arena, module, plan, site, p, notes);
    }
}

void scalars_cut(Arena *arena, const Module *module, LaunchPlan *plans, int plan_count,
                 const NumberNotes *notes) {
    const ScalarNumbers numbers = {arena, module, plans, plan_count};
    Cutting cutting = {arena, ARENA_NEW(arena, CutTensors)};
    each_number(&numbers, cut_number, &cutting);
    for (int k = 0; k < plan_count; k++) plans[k].cuts = cutting.cuts;
    for (int known = -1; known != cutting.cuts->count;) {
        known = cutting.cuts->count;
        each_number(&numbers, cut_loser, &cutting);
    }
    for (int k = 0; k < plan_count; k++) note_lost(arena, module, &plans[k], notes);
    for (LIST_EACH(int, i, *cutting.cuts)) {
        const CutTensor *cut = &cutting.cuts->items[i];
        if (!cut->is_noted || cut->is_named) continue;
        note_number(arena, notes, cut->where, cut->name, cut->launcher, cut->launcher->name_range,
                    cut->why);
    }
}

const char *scalar_refusal(Arena *arena, const Module *module, const LaunchPlan *plan,
                           const LaunchSite *site) {
    for (int p = 0; p < site->kernel->parameter_count; p++) {
        if (!has_sum(plan, p)) continue;
        LaunchTensor tensor = launch_tensor(arena, module, site, p);
        const CutTensor *cut = tensor.text ? cut_of(plan, site, &tensor) : NULL;
        if (!cut || !cut->is_named) continue;
        return arena_printf(arena,
                            "the gradient of `%.*s` at line %d would lack the part of %s: %s",
                            STR_ARGS(cut->name), range_line(site->range), cut->where, cut->why);
    }
    return NULL;
}

const char *scalar_argument_text(Arena *arena, const Module *module, const LaunchPlan *plan,
                                 const LaunchSite *site, int parameter) {
    if (!has_sum(plan, parameter)) return NULL;
    LaunchTensor tensor = launch_tensor(arena, module, site, parameter);
    if (cut_of(plan, site, &tensor)) return NULL;
    return tensor.name ? tensor.name : tensor.text;
}

static bool is_launch_in(const LaunchSite *site, Range range) {
    return site->launcher && site->range.start >= range.start && site->range.end <= range.end;
}

typedef LIST(LaunchTensor) Tensors;

static void add_tensors_of(Arena *arena, const Module *module, const LaunchPlan *plan,
                           const LaunchSite *site, Tensors *all) {
    for (int p = 0; p < site->kernel->parameter_count; p++) {
        if (!scalar_argument_text(arena, module, plan, site, p)) continue;
        LaunchTensor tensor = launch_tensor(arena, module, site, p);
        bool known = !tensor.name;
        for (LIST_EACH(int, i, *all))
            known |= tensor.name && all->items[i].start == tensor.start &&
                     strcmp(all->items[i].name, tensor.name) == 0;
        if (!known) LIST_PUSH(arena, all, tensor);
    }
}

const char *scalar_bindings_text(Arena *arena, const Module *module, Range range,
                                 const LaunchPlan *plans, int plan_count, uint32_t from,
                                 uint32_t to) {
    Tensors all = {0};
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        for (int k = 0; is_launch_in(site, range) && k < plan_count; k++)
            if (plans[k].kernel == site->kernel)
                add_tensors_of(arena, module, &plans[k], site, &all);
    }
    Buffer out = buffer_new(arena);
    for (uint32_t at = from, next; at < to; at = next) {
        next = to;
        for (LIST_EACH(int, i, all)) {
            const LaunchTensor *tensor = &all.items[i];
            if (tensor->start > at && tensor->start < next) next = tensor->start;
            if (tensor->start != at) continue;
            buffer_puts(&out, tensor->binding);
            at = tensor->end;
        }
        buffer_add(&out, module->source->text.data + at, next - at);
    }
    return buffer_text(&out);
}
