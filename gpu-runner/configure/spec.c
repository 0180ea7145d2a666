// Where configurations come from, in order; each source overrides the next.
#include "gpu-runner/configure/spec.h"
#include "analysis/lowering/lower.h"
#include "analysis/parameters/element_kinds.h"
#include "gpu-runner/configure/spec_descriptor.h"
#include "gpu-runner/configure/spec_guess.h"
#include "gpu-runner/configure/spec_launcher.h"
#include "gpu-runner/configure/spec_text.h"

#include <math.h>
#include <string.h>

#include "gpu-runner/interp/coverage.h"

enum { MOST_BEYOND = 3 };  // so many configurations reach beyond thresholds

PlanConfiguration configuration_open(Arena *arena, const FunctionDefinition *kernel) {
    PlanConfiguration configuration = {.argument_count = kernel->parameter_count};
    configuration.arguments = ARENA_ARRAY(arena, PlanArgument, kernel->parameter_count + 1);
    for (int i = 0; i < kernel->parameter_count; i++)
        configuration.arguments[i].name = kernel->parameters[i].name;
    for (int axis = 0; axis < 3; axis++) configuration.grid[axis] = 1;
    return configuration;
}

const Constant *constant_int(Arena *arena, int64_t value) {
    return constant_new(arena, constant_of_int(value));
}

const Constant *constant_bool(Arena *arena, bool value) {
    return constant_new(arena, constant_of_bool(value));
}

const Constant *constant_float(Arena *arena, double value) {
    return constant_new(arena, constant_of_float(value));
}

const Constant *constant_none(Arena *arena) {
    return constant_new(arena, (Constant){.kind = CONSTANT_NONE});
}

const Constant *constant_text(Arena *arena, Str text) {
    return constant_new(arena, constant_of_string((Str){str_dup(arena, text), text.size}));
}

const Constant *constant_dtype(Arena *arena, DTypeCode dtype) {
    return constant_new(arena, constant_of_dtype(dtype));
}

/// One text, possibly of several `# tad:` lines; each line is a configuration, the rest is guessed.
static void add_text(Arena *arena, const SpecRequest *request, const char *text, SpecOrigin origin,
                     Configurations *all, Error *error) {
    for (const char *line = text; line && *line;) {
        const char *end = strchr(line, '\n');
        Str one = str_trim((Str){line, end ? (size_t)(end - line) : strlen(line)});
        line = end ? end + 1 : NULL;
        if (str_starts(one, "#")) one = str_trim((Str){one.data + 1, one.size - 1});
        if (str_starts(one, "tad:"))
            one = str_trim((Str){one.data + 4, one.size - 4});
        else if (origin == SPEC_COMMENT)
            continue;  // another comment
        if (one.size == 0 || str_starts(one, "ignore") || str_starts(one, "backward of")) continue;
        PlanConfiguration fixed = configuration_open(arena, request->kernel);
        fixed.origin = origin;
        *error = spec_parse(arena, request, one, &fixed);
        if (*error) return;
        Configurations filled = spec_guess(arena, request, &fixed, error);
        for (int i = 0; i < filled.count; i++) LIST_PUSH(arena, all, filled.items[i]);
    }
}

static void add_pyproject(Arena *arena, const SpecRequest *request, const Json *entry,
                          Configurations *all, Error *error) {
    if (entry->kind == JSON_STRING) {
        add_text(arena, request, str_dup(arena, entry->string), SPEC_PYPROJECT, all, error);
    } else if (entry->kind == JSON_ARRAY) {
        for (int i = 0; i < entry->count && !*error; i++)
            add_pyproject(arena, request, entry->items[i], all, error);
    } else if (entry->kind == JSON_OBJECT) {
        Buffer text = buffer_new(arena);
        for (int i = 0; i < entry->count; i++) {
            const Json *value = entry->items[i];
            buffer_printf(&text, "%s%.*s=", i ? ", " : "", STR_ARGS(entry->keys[i]));
            if (value->kind == JSON_STRING)
                buffer_add(&text, value->string.data, value->string.size);
            else if (value->kind == JSON_BOOL)
                buffer_puts(&text, value->number != 0 ? "True" : "False");
            else
                buffer_puts(&text, json_print(arena, value, false));
        }
        add_text(arena, request, buffer_text(&text), SPEC_PYPROJECT, all, error);
    }
}

/// The launcher knows which tensors hold integers.
static void take_integers(PlanConfiguration *guessed, const PlanConfiguration *launched) {
    for (int i = 0; i < guessed->argument_count && i < launched->argument_count; i++) {
        PlanArgument *argument = &guessed->arguments[i];
        const PlanArgument *known = &launched->arguments[i];
        if (argument->kind != ARGUMENT_POINTER || known->kind != ARGUMENT_POINTER ||
            !dtype_code_is_float(argument->dtype) || dtype_code_is_float(known->dtype))
            continue;
        argument->dtype = known->dtype;
        argument->content = known->content;
    }
}

/// What a loaded integer is compared with; false where that is not known.
static bool mark_of(const SpecRequest *request, const PlanConfiguration *configuration,
                    const Value *mark, int64_t *number) {
    while (mark && mark->op && mark->op->code == OP_CAST) mark = mark->op->operands[0];
    if (!mark) return false;
    if (value_is_int(mark, number)) return true;
    if (mark->op || mark->region != request->symbolic->body) return false;
    const PlanArgument *argument = &configuration->arguments[mark->index];
    *number = argument->integer;
    if (argument->kind != ARGUMENT_CONSTANT) return argument->kind == ARGUMENT_INTEGER;
    *number = argument->constant->integer;
    return constant_is_int(argument->constant);
}

static int64_t programs_of(const PlanConfiguration *configuration) {
    return configuration->grid[0] * configuration->grid[1] * configuration->grid[2];
}

/// The least launch of an origin with a program for each third element; NULL: there is none.
static const PlanConfiguration *least_of(const Configurations *all, SpecOrigin origin) {
    const PlanConfiguration *least = NULL;
    for (LIST_EACH(int, i, *all)) {
        const PlanConfiguration *one = &all->items[i];
        bool is_one = one->origin == origin && !one->is_fallback && !one->is_empty &&
                      (programs_of(one) >= MARK_EACH || !one->grid_is_known);
        if (is_one && (!least || programs_of(one) < programs_of(least))) least = one;
    }
    return least;
}

/// Of the least configuration of an origin another one, in which some loaded integers are what the kernel compares them
/// with, as a label that is ignored.
static void add_marked(Arena *arena, const SpecRequest *request, SpecOrigin origin,
                       Configurations *all) {
    const ParameterFacts *facts = facts_of(arena, request->symbolic);
    const PlanConfiguration *least = least_of(all, origin);
    if (!least) return;
    PlanConfiguration marked = configuration_copy(arena, least, 0);
    int count = 0;
    for (int i = 0; i < marked.argument_count; i++) {
        Content *content = &marked.arguments[i].content;
        int64_t mark;
        if (marked.arguments[i].kind != ARGUMENT_POINTER || content->kind != CONTENT_SMALL ||
            !facts[i].mark || !mark_of(request, &marked, facts[i].mark, &mark))
            continue;
        content->has_mark = true;
        content->mark = mark;
        count++;
    }
    if (!count) return;
    marked.is_extra = true;
    marked.is_launch = marked.is_passed = false;
    LIST_PUSH(arena, all, marked);
}

// --- thresholds ---

/// Data of a proof are mostly nearer to 0 than LEAST; beyond MOST an exponential of them is no number.
static const double LEAST = 1, MOST = 1e4;

/// The largest thresholds, in falling order.
typedef struct FarThresholds {
    const Function *symbolic;
    const PlanConfiguration *configuration;
    double *magnitudes;
    int count, most;
} FarThresholds;

/// Its number under the configuration; 0 where that is not known.
static double number_of(const FarThresholds *far, const Value *value) {
    const Constant *constant = value->constant;
    if (!constant && value->region) {
        const PlanArgument *argument = &far->configuration->arguments[value->index];
        if (argument->kind == ARGUMENT_FLOAT) return argument->number;
        if (argument->kind == ARGUMENT_INTEGER) return (double)argument->integer;
        if (argument->kind == ARGUMENT_CONSTANT) constant = argument->constant;
    }
    if (constant && constant->kind == CONSTANT_FLOAT) return constant->number;
    return constant && constant->kind == CONSTANT_INT ? (double)constant->integer : 0;
}

/// Keeps the largest ones in falling order.
static void insert(FarThresholds *far, double magnitude) {
    int at = far->count;
    for (int i = 0; i < far->count; i++) {
        if (!(far->magnitudes[i] < magnitude) && !(far->magnitudes[i] > magnitude)) return;
        if (far->magnitudes[i] < magnitude && at == far->count) at = i;
    }
    if (at == far->most) return;
    if (far->count < far->most) far->count++;
    for (int i = far->count - 1; i > at; i--) far->magnitudes[i] = far->magnitudes[i - 1];
    far->magnitudes[at] = magnitude;
}

static bool far_op(void *context, Op *op) {
    FarThresholds *far = context;
    for (int which = 0, operand; (operand = threshold_operand(op, which)) >= 0; which++) {
        double magnitude = fabs(number_of(far, threshold_value(op, operand)));
        if (magnitude > LEAST && magnitude <= MOST) insert(far, magnitude);
    }
    return true;
}

/// Magnitudes of the kernel's thresholds under a configuration that data around 0 do not reach, the largest first, each once:
/// the `most` largest ones. Returns how many.
static int thresholds_far(const Function *symbolic, const PlanConfiguration *configuration,
                          double *magnitudes, int most) {
    FarThresholds far = {symbolic, configuration, magnitudes, 0, most};
    region_walk(symbolic->body, far_op, &far);
    return far.count;
}

/// Of the least configuration of an origin others, whose floats reach beyond the numbers that the kernel compares floats with:
/// each beyond the largest ones, the second largest, and so on, as an exponential may not bear the largest.
static void add_beyond(Arena *arena, const SpecRequest *request, SpecOrigin origin,
                       Configurations *all) {
    const PlanConfiguration *least = least_of(all, origin);
    double magnitudes[MOST_BEYOND];
    if (!least) return;
    const PlanConfiguration start = *least;
    int count = thresholds_far(request->symbolic, &start, magnitudes, MOST_BEYOND);
    for (int i = 0; i < count; i++) {
        PlanConfiguration beyond = configuration_copy(arena, &start, 0);
        configuration_set_contents(&beyond, -2 * magnitudes[i], 2 * magnitudes[i]);
        beyond.is_extra = true;
        beyond.is_launch = beyond.is_passed = false;
        LIST_PUSH(arena, all, beyond);
    }
}

/// Further contents of the least configuration of an origin.
static void add_extremes(Arena *arena, const SpecRequest *request, SpecOrigin origin,
                         Configurations *all) {
    add_marked(arena, request, origin, all);
    add_beyond(arena, request, origin, all);
}

/// The kernel with the constexprs of a configuration bound, its other parameters open.
static const Function *lower_constants(Arena *arena, const SpecRequest *request,
                                       const PlanConfiguration *configuration) {
    Binding *bindings = ARENA_ARRAY(arena, Binding, configuration->argument_count + 1);
    int count = 0;
    for (int i = 0; i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        if (argument->kind == ARGUMENT_CONSTANT)
            bindings[count++] = (Binding){.name = argument->name, .constant = argument->constant};
    }
    Diagnostics found = {.arena = arena};
    const LowerOptions options = {
        .bindings = bindings, .binding_count = count, .general = request->symbolic};
    return lower_kernel(arena, request->kernel, &options, &found);
}

static void settle(Arena *arena, const SpecRequest *request, const ParameterFacts *facts,
                   PlanConfiguration *configuration) {
    const Function *bound = NULL;
    for (int i = 0; i < configuration->argument_count; i++) {
        PlanArgument *argument = &configuration->arguments[i];
        if (argument->kind != ARGUMENT_POINTER || argument->dtype != DTYPE_INT32) continue;
        if (!bound) bound = lower_constants(arena, request, configuration);
        if (!bound || !kind_is_float_in(request->symbolic, i, bound)) continue;
        argument->dtype = DTYPE_FLOAT32;
        argument->is_type_open = true;
        argument->content = content_guess(&facts[i], DTYPE_FLOAT32, argument->content.seed);
    }
}

/// Gives floats to tensors that are taken for integers, in each configuration whose constexprs leave nothing that says so.
static void settle_kinds(Arena *arena, const SpecRequest *request, Configurations *all) {
    if (!kind_choices(arena, request->symbolic).count) return;
    const ParameterFacts *facts = facts_of(arena, request->symbolic);
    for (LIST_EACH(int, i, *all)) settle(arena, request, facts, &all->items[i]);
}

/// Whether no block is known of a descriptor: flags may decide which of its axes a constexpr is for.
static bool has_open_block(const SpecRequest *request, const PlanConfiguration *configuration) {
    for (int i = 0; i < configuration->argument_count; i++)
        if (request->symbolic->parameters[i].value->type.kind == TYPE_DESCRIPTOR &&
            configuration->arguments[i].kind == ARGUMENT_POINTER &&
            !configuration->arguments[i].block_rank)
            return true;
    return false;
}

/// Gives descriptors the blocks that they have with the constexprs of their configuration.
static void settle_blocks(Arena *arena, const SpecRequest *request, Configurations *all) {
    for (LIST_EACH(int, i, *all)) {
        if (!has_open_block(request, &all->items[i])) continue;
        const Function *bound = lower_constants(arena, request, &all->items[i]);
        if (bound) spec_describe(bound, facts_of(arena, request->symbolic), &all->items[i]);
    }
}

Configurations spec_configurations(Arena *arena, const SpecRequest *request, Error *error) {
    Configurations all = {0};
    *error = NULL;
    if (request->comment) add_text(arena, request, request->comment, SPEC_COMMENT, &all, error);
    if (!*error && all.count == 0 && request->pyproject)
        add_pyproject(arena, request, request->pyproject, &all, error);
    if (request->symbolic) settle_blocks(arena, request, &all);
    if (*error || all.count > 0) return all;
    if (request->uses_launchers) all = spec_from_launchers(arena, request, false);
    add_extremes(arena, request, SPEC_LAUNCHER, &all);
    PlanConfiguration open = configuration_open(arena, request->kernel);
    open.origin = SPEC_KERNEL;
    Configurations guessed = spec_guess(arena, request, &open, error);
    for (int i = 0; i < guessed.count; i++) {
        if (all.count && !guessed.items[i].is_fallback)
            take_integers(&guessed.items[i], &all.items[0]);
        if (guessed.items[i].is_fallback && (i == 0 || !guessed.items[i - 1].is_fallback))
            add_extremes(arena, request, SPEC_KERNEL, &all);
        LIST_PUSH(arena, &all, guessed.items[i]);
    }
    if (request->uses_launchers) {
        Configurations even = spec_from_launchers(arena, request, true);
        for (int i = 0; i < even.count; i++) LIST_PUSH(arena, &all, even.items[i]);
    }
    settle_blocks(arena, request, &all);
    settle_kinds(arena, request, &all);
    if (all.count) *error = NULL;
    return all;
}
