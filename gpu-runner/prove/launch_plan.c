// The request `plan`: the arguments, buffer sizes and grid of one launch, for whoever launches the kernel for real.
#include "gpu-runner/prove/launch_plan.h"

#include <math.h>
#include <string.h>

#include "analysis/cost/count.h"
#include "gpu-runner/configure/plan_backward.h"
#include "gpu-runner/configure/spec.h"
#include "gpu-runner/execute/fault.h"
#include "gpu-runner/execute/grid.h"
#include "gpu-runner/prove/launches.h"
#include "gpu-runner/prove/request.h"

typedef struct Plan {
    Arena *arena;
    Sources *sources;
    const FunctionDefinition *kernel;
    const Json *launches;  // of the backward, or NULL
    const Json *
        whole_rows;  // what its Function launches in their place where a block holds a row, or NULL
    Budget budget;
    uint64_t seed;
    bool seeks_fault;    // all programs are run, up to one that leaves a tensor
    const char *sought;  // the kernel of the backward whose programs these are; NULL: the forward's
    const Module *backward;  // where something of it is sought
} Plan;

static void put_constant(Json *json, Arena *arena, const Constant *constant) {
    switch (constant->kind) {
    case CONSTANT_TUPLE: {
        Json *items = json_array(arena);
        for (int i = 0; i < constant->item_count; i++) {
            Json *item = json_object(arena);
            put_constant(item, arena, &constant->items[i]);
            json_push(items, item);
        }
        json_set(json, "items", items);
        return;
    }
    case CONSTANT_NONE: json_set(json, "value", json_null(arena)); return;
    case CONSTANT_BOOL: json_set_bool(json, "value", constant->integer != 0); return;
    case CONSTANT_INT: json_set_number(json, "value", (double)constant->integer); return;
    case CONSTANT_FLOAT:
        json_set_number(json, "value", constant->number);
        json_set_bool(json, "is_float", true);
        return;
    case CONSTANT_STRING: json_set(json, "value", json_str(arena, constant->string)); return;
    case CONSTANT_DTYPE: json_set_string(json, "type", dtype_name(constant->dtype.code)); return;
    case CONSTANT_FUNCTION: json_set(json, "function", json_str(arena, constant->string)); return;
    }
}

static Json *numbers_json(Arena *arena, const int64_t *numbers, int count) {
    Json *json = json_array(arena);
    for (int i = 0; i < count; i++) json_push(json, json_number(arena, (double)numbers[i]));
    return json;
}

enum { TIMED_PART = 7 };

static void put_buffer(Json *json, Arena *arena, const PlanArgument *argument,
                       const MemoryBuffer *buffer) {
    static const char *const contents[] = {
        [CONTENT_ZERO] = "zero",         [CONTENT_RANDOM] = "uniform",
        [CONTENT_NORMAL] = "normal",     [CONTENT_SMALL] = "small",
        [CONTENT_DISTINCT] = "distinct", [CONTENT_MONOTONE] = "monotone",
        [CONTENT_VALUES] = "values",
    };
    // a launch that is timed has parts of one length
    static const Content parts[] = {
        [PART_STARTS] = {.kind = CONTENT_MONOTONE, .high = TIMED_PART},
        [PART_ENDS] = {.kind = CONTENT_MONOTONE, .high = TIMED_PART},
        [PART_LENGTHS] = {.kind = CONTENT_SMALL, .low = 1, .high = TIMED_PART},
        [PART_ROWS] = {.kind = CONTENT_ZERO},
        [PART_BOUNDS] = {.kind = CONTENT_MONOTONE, .high = TIMED_PART},
    };
    const Content *content = argument->content.kind == CONTENT_PARTS
                                 ? &parts[argument->content.part]
                                 : &argument->content;
    Offsets read = {0}, written = {0};
    memory_touched(arena, buffer, false, &read);
    memory_touched(arena, buffer, true, &written);
    int64_t first = 0, end = argument->extent;
    const Offsets *all[] = {&read, &written};
    for (int k = 0; k < 2; k++) {
        if (!all[k]->count) continue;
        int64_t low = all[k]->items[0], high = all[k]->items[all[k]->count - 1] + 1;
        if (low < first) first = low;
        if (high > end) end = high;
    }
    json_set_string(json, "dtype", dtype_name(argument->dtype));
    json_set_number(json, "first", (double)first);
    json_set_number(json, "elements", (double)(end - first));
    json_set_bool(json, "read", read.count > 0);
    json_set_bool(json, "written", written.count > 0);
    json_set_string(json, "content", contents[content->kind]);
    json_set_number(json, "low", content->low);
    json_set_number(json, "high", content->high);
    if (argument->rank) {  // "shape" and "strides" are those of descriptors, which are compiled
        json_set(json, "dims", numbers_json(arena, argument->dims, argument->rank));
        json_set(json, "steps", numbers_json(arena, argument->strides, argument->rank));
    }
    if (!argument->content.has_mark) return;
    json_set_number(json, "mark", (double)argument->content.mark);
    json_set_number(json, "mark_each", MARK_EACH);
}

/// What a descriptor is to be made with.
static void put_descriptor(Json *json, Arena *arena, const PlanArgument *argument) {
    if (!argument->block_rank) return;
    json_set(json, "shape", numbers_json(arena, argument->dims, argument->block_rank));
    json_set(json, "strides", numbers_json(arena, argument->strides, argument->block_rank));
    json_set(json, "block", numbers_json(arena, argument->block, argument->block_rank));
}

static Json *arguments_json(Arena *arena, const PlanConfiguration *configuration,
                            MemoryBuffer *const *buffers) {
    Json *arguments = json_array(arena);
    for (int i = 0; i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        Json *json = json_object(arena);
        json_set(json, "name", json_str(arena, argument->name));
        switch (argument->kind) {
        case ARGUMENT_POINTER:
            json_set_string(json, "kind", "buffer");
            json_set(json, "key", json_str(arena, argument->name));
            put_buffer(json, arena, argument, buffers[i]);
            put_descriptor(json, arena, argument);
            break;
        case ARGUMENT_INTEGER:
            json_set_string(json, "kind", "int");
            json_set_number(json, "value", (double)argument->integer);
            if (argument->dtype == DTYPE_INT1) json_set_string(json, "dtype", "int1");
            break;
        case ARGUMENT_FLOAT:
            json_set_string(json, "kind", "float");
            json_set_number(json, "value", argument->number);
            break;
        case ARGUMENT_CONSTANT:
        case ARGUMENT_OPEN:
            json_set_string(json, "kind", "constant");
            if (argument->constant) put_constant(json, arena, argument->constant);
            break;
        }
        json_push(arguments, json);
    }
    return arguments;
}

/// A proof wants small sizes, a measurement those of real use: `# tad time:` lines come before `# tad:` lines.
static const char *timing_text(Arena *arena, const char *text) {
    static const char mark[] = "# tad time:";
    Buffer out = buffer_new(arena);
    for (const char *at = text; at && (at = strstr(at, mark)); at += sizeof mark - 1) {
        const char *rest = at + sizeof mark - 1, *end = strchr(rest, '\n');
        buffer_printf(&out, "# tad:%.*s\n", end ? (int)(end - rest) : (int)strlen(rest), rest);
    }
    return out.size ? buffer_text(&out) : text;
}

/// What to launch with, in one line; warps and stages where somebody says how many.
static void put_options(Arena *arena, const PlanConfiguration *configuration, Json *result) {
    Buffer text = buffer_new(arena);
    Json *options = json_object(arena);
    buffer_puts(&text, configuration_print(arena, configuration));
    if (configuration->warps) {
        buffer_printf(&text, ", num_warps=%d", configuration->warps);
        json_set_number(options, "num_warps", configuration->warps);
    }
    if (configuration->stages) {
        buffer_printf(&text, ", num_stages=%d", configuration->stages);
        json_set_number(options, "num_stages", configuration->stages);
    }
    json_set_string(result, "text", buffer_text(&text));
    json_set(result, "options", options);
}

/// The launches of the backward, with "fills" where the launcher lets a kernel store zeros.
static Json *settled_launches(const Plan *plan, const PlanConfiguration *configuration,
                              const Json *asked) {
    Json *launches = json_copy(plan->arena, asked);
    for (int i = 0; i < launches->count; i++) {
        const Json *arguments = json_get(launches->items[i], "arguments");
        for (int k = 0; arguments && k < arguments->count; k++) {
            const StoredRanges *stored;
            Json *argument = arguments->items[k];
            if (json_get(argument, "fill") &&
                launch_fills(plan->arena, plan->kernel, configuration, argument, &stored))
                json_set_bool(argument, "fills", true);
        }
    }
    return launches;
}

static void put_backward(const Plan *plan, const PlanConfiguration *configuration, Json *result) {
    if (!plan->launches || plan->launches->kind != JSON_ARRAY) return;
    Error refused = NULL;
    PlannedForward forward = {configuration, json_get(result, "arguments")};
    const Json *asked = settled_launches(plan, configuration, plan->launches);
    Json *launches = NULL;
    if (plan->whole_rows) {
        Json *rows = json_copy(plan->arena, plan->whole_rows);
        json_set(rows, "launches",
                 settled_launches(plan, configuration, json_get(rows, "launches")));
        launches = plan_whole_rows(plan->arena, &forward, rows, &refused);
    }
    if (!launches && !refused) launches = plan_backward(plan->arena, &forward, asked, &refused);
    if (launches)
        json_set(result, "launches", launches);
    else
        json_set_string(result, "refused", refused);
}

/// Operations of all programs, where they hang on nothing in memory.
static void put_work(Arena *arena, const Function *function, const PlanConfiguration *configuration,
                     Json *result) {
    enum { MOST_STEPS = 2000000 };
    int count = function->parameter_count;
    double *numbers = ARENA_ARRAY(arena, double, count + 1);
    int *bits = ARENA_ARRAY(arena, int, count + 1);
    for (int i = 0; i < count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        numbers[i] = argument->kind == ARGUMENT_INTEGER ? (double)argument->integer
                     : argument->kind == ARGUMENT_FLOAT ? argument->number
                                                        : NAN;
        if (argument->kind == ARGUMENT_POINTER) bits[i] = dtype_bits(argument->dtype);
    }
    CountedLaunch launch = {.numbers = numbers, .bits = bits, .most_steps = MOST_STEPS};
    memcpy(launch.grid, configuration->grid, sizeof launch.grid);
    Counts counts = count_launch(arena, function, &launch);
    if (counts.is_wide_open || counts.is_open) return;
    json_set_number(result, "operations",
                    (double)counts.work[WORK_DOT] + (double)counts.work[WORK_MATH]);
    json_set_number(result, "dot_operations", (double)counts.work[WORK_DOT]);
}

/// The launches of the backward up to the sought one, read into the problem; the index of that one, or -1 and `*error`.
static int sought_launch(Plan *plan, Problem *problem, Error *error) {
    const LaunchReader reader = {plan->arena, plan->sources, plan->kernel, plan->backward, -1,
                                 -1,          NULL};
    int count = plan->launches && plan->launches->kind == JSON_ARRAY ? plan->launches->count : 0;
    GradientLaunch *launches = ARENA_ARRAY(plan->arena, GradientLaunch, count + 1);
    problem->launches = launches;
    for (int i = 0; i < count && plan->backward; i++) {
        const Json *launch = plan->launches->items[i];
        if (!launch_read(&reader, problem->configuration, launch, &launches[i], error)) return -1;
        problem->launch_count = i + 1;
        if (strcmp(json_get_string(launch, "kernel", ""), plan->sought) == 0) return i;
    }
    *error = "the backward has no such launch";
    return -1;
}

/// {"program", "lane", "line", "message"} of the first access outside of a tensor, in the order of programs; else {"reason"}, and
/// {"program", "loop_line", "iterations"} where the search ended in a loop.
static Json *fault_json(Plan *plan, Problem *problem, Executor *executor) {
    Arena *arena = plan->arena;
    Json *fault = json_object(arena);
    FaultPlace place = {0};
    int launch = plan->sought ? sought_launch(plan, problem, &place.error) : -1;
    if (!place.error) place = fault_seek(executor, launch);
    if (place.finding) {
        json_set(fault, "program", numbers_json(arena, place.program, 3));
        json_set_number(fault, "lane", (double)place.finding->lane);
        json_set_number(fault, "line", place.finding->line);
        json_set_string(fault, "message", place.finding->message);
        return fault;
    }
    json_set_string(fault, "reason", place.error ? place.error : "no program left a tensor");
    if (!place.loop_line) return fault;
    json_set(fault, "program", numbers_json(arena, place.program, 3));
    json_set_number(fault, "loop_line", place.loop_line);
    json_set_number(fault, "iterations", (double)place.iterations);
    return fault;
}

/// A run that ended early, with the loop that it was in where that has had many iterations.
static Error ended_early(Arena *arena, const Interp *interp, Error error) {
    enum { MANY_ITERATIONS = 1000 };
    if (!error || !interp->loop_line || interp->loop_iterations < MANY_ITERATIONS) return error;
    return arena_printf(
        arena,
        "%s; program (%lld, %lld, %lld) is still in the loop of line %d after %lld iterations",
        error, (long long)interp->program[0], (long long)interp->program[1],
        (long long)interp->program[2], interp->loop_line, (long long)interp->loop_iterations);
}

/// Rows of a described tensor begin at multiples of 16 bytes (TMA). Sizes that a proof chose know nothing of that: rows further apart.
static void space_descriptors(const PlanConfiguration *configuration) {
    enum { ALIGNMENT = 16 };  // elements: enough for any type
    for (int i = 0; i < configuration->argument_count; i++) {
        PlanArgument *argument = &configuration->arguments[i];
        bool is_spaced = true;
        for (int axis = 0; axis < argument->block_rank - 1; axis++)
            is_spaced &= argument->strides[axis] % ALIGNMENT == 0;
        if (argument->kind != ARGUMENT_POINTER || is_spaced) continue;
        int64_t stride = 1, extent = 1;
        for (int axis = argument->block_rank - 1; axis >= 0; axis--) {
            argument->strides[axis] = stride;
            extent += (argument->dims[axis] - 1) * stride;
            stride = (stride * argument->dims[axis] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
        argument->extent = argument->extent > extent ? argument->extent : extent;
    }
}

/// The plan of one configuration; NULL and `*error` where its first and last programs do not run.
static Json *plan_of(Plan *plan, PlanConfiguration *configuration, Error *error) {
    Arena *arena = plan->arena;
    int count;
    if (configuration->origin != SPEC_COMMENT) space_descriptors(configuration);
    Binding *bindings = configuration_bindings(arena, configuration, &count);
    Problem problem = {.configuration = configuration, .seed = plan->seed, .budget = &plan->budget};
    problem.forward = lower_concrete(plan->sources, plan->kernel, bindings, count, error);
    if (!*error && problem.forward->parameter_count != configuration->argument_count)
        *error = "the kernel's parameters are not understood";
    if (!*error && !configuration->grid_is_known)
        *error = grid_find(arena, &problem, configuration);
    if (*error) return NULL;
    Executor executor = executor_new(arena, &problem);
    executor.keeps_in = arena;
    Execution corners = grid_run_corners(&executor);
    *error = ended_early(arena, executor.interp, corners.error);
    if (*error) return NULL;
    Json *result = json_object(arena), *grid = json_array(arena);
    put_options(arena, configuration, result);
    json_set_string(result, "source", spec_origin_name(configuration->origin));
    for (int axis = 0; axis < 3; axis++)
        json_push(grid, json_number(arena, (double)configuration->grid[axis]));
    json_set(result, "grid", grid);
    json_set(result, "arguments", arguments_json(arena, configuration, corners.buffers));
    put_backward(plan, configuration, result);
    put_work(arena, problem.forward, configuration, result);
    if (plan->seeks_fault) json_set(result, "fault", fault_json(plan, &problem, &executor));
    return result;
}

static Json *plan_guarded(Plan *plan, PlanConfiguration *configuration, Error *error) {
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        Json *result = plan_of(plan, configuration, error);
        bug_guard_end(&guard);
        return result;
    }
    *error = arena_printf(plan->arena, "internal error: %s", guard.message);
    return NULL;
}

static Json *plan_first(Plan *plan, const Json *params, Error *error) {
    const Json *spec = json_get(params, "spec"), *pyproject = json_get(spec, "pyproject");
    plan->kernel = sources_kernel(plan->sources, params, error);
    if (!plan->kernel) return NULL;
    LowerOptions options = {0};
    Diagnostics diagnostics = {.arena = plan->arena};
    SpecRequest request = {
        .module = plan->kernel->module,
        .kernel = plan->kernel,
        .symbolic = lower_kernel(plan->arena, plan->kernel, &options, &diagnostics),
        .comment = timing_text(plan->arena, json_get_string(spec, "text", NULL)),
        .pyproject = pyproject && pyproject->kind != JSON_NULL ? pyproject : NULL,
        .uses_launchers = json_get_bool(spec, "launchers", true),
        .seed = plan->seed,
    };
    *error = "the kernel does not lower";
    if (!request.symbolic) return NULL;
    *error = "nothing is known to run it with";
    Configurations candidates = spec_configurations(plan->arena, &request, error);
    for (int i = 0; i < candidates.count && !budget_is_over(&plan->budget); i++) {
        *error = NULL;
        Json *result = plan_guarded(plan, &candidates.items[i], error);
        if (result) return result;
    }
    return NULL;
}

Json *request_plan(Arena *arena, const Json *params, const atomic_bool *cancelled, Error *error) {
    Plan plan = {
        .arena = arena, .sources = sources_new(arena, params), .budget.cancelled = cancelled};
    plan.launches = json_get(json_get(params, "backward"), "launches");
    plan.whole_rows = json_get(json_get(params, "backward"), "whole_rows");
    plan.seeks_fault = json_get_bool(params, "seek_fault", false);
    plan.sought = json_get_string(params, "seek_launch", NULL);
    const char *text = json_get_string(json_get(params, "backward"), "source", NULL);
    if (plan.sought && text)
        plan.backward =
            sources_module(plan.sources, json_get_string(params, "path", ""), str_from(text));
    plan.seed = hash_mix((uint64_t)json_get_number(params, "seed", 0) + 1);
    plan.budget.deadline = clock_seconds() + json_get_number(params, "max_seconds", 30);
    Json *result = plan_first(&plan, params, error);
    sources_free(plan.sources);
    return result;
}
