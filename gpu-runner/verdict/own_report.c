// Tensors whose type nobody says are bfloat16 in one run and float32, with dots in TF32, in another.
#include "gpu-runner/verdict/own_report.h"

#include <ctype.h>
#include <math.h>

#include "gpu-runner/prove/own_types.h"

/// Of the steps that the proof took, and what every proof may have.
static const double SHARE_OF_PROOF = 0.5;
static const int64_t LEAST_STEPS = 30000000;

typedef struct OwnReport {
    const ProblemReader *reader;
    CudaUse *cuda;
    Budget budget;
    Json *runs, *finding;
    Buffer words;
    double worst;
} OwnReport;

/// Two forwards for each input, one with exact tangents, and forward and backward twice.
static int64_t steps_of(const ProvedRun *run) {
    return 2 * run->input_count * run->forward_steps + 2 * run->backward_steps;
}

/// Whether the kernel alone says what is passed: then it also leaves types open that every launch settles.
static bool is_of_kernel(const ProvedRun *run) { return run->configuration.origin == SPEC_KERNEL; }

/// The largest that fits; of those that do not, the smallest. What a launch or the user says comes first.
static const ProvedRun *choose(const ProvedRuns *runs, int64_t allowed) {
    const ProvedRun *best = NULL;
    for (LIST_EACH(int, i, *runs)) {
        const ProvedRun *run = &runs->items[i];
        if (best && is_of_kernel(run) != is_of_kernel(best)) {
            if (is_of_kernel(best)) best = run;
            continue;
        }
        int64_t steps = steps_of(run), other = best ? steps_of(best) : 0;
        bool is_better = steps <= allowed ? other > allowed || steps > other : steps < other;
        if (!best || is_better) best = run;
    }
    return best;
}

/// A tensor in a type of the caller's: what is stored for the backward alone has its Function's, float32.
static bool is_open(const ProblemReader *reader, const PlanArgument *argument) {
    return argument->is_type_open && !problem_is_saved(reader, argument->name);
}

static bool has_open_types(const ProblemReader *reader, const PlanConfiguration *configuration) {
    for (int i = 0; i < configuration->argument_count; i++)
        if (is_open(reader, &configuration->arguments[i])) return true;
    return false;
}

static PlanConfiguration in_bfloat16(const ProblemReader *reader,
                                     const PlanConfiguration *configuration) {
    PlanConfiguration other = configuration_copy(reader->arena, configuration, 0);
    for (int i = 0; i < other.argument_count; i++)
        if (is_open(reader, &other.arguments[i])) other.arguments[i].dtype = DTYPE_BFLOAT16;
    return other;
}

static bool visit_dot(void *context, Op *op) {
    bool *found = context;
    const Value *left = op->code == OP_DOT && op->operand_count ? op->operands[0] : NULL;
    if (left && left->type.element.code == DTYPE_FLOAT32) *found = true;
    return !*found;
}

/// "bf16", "f32 with dots in tf32", "bf16 and f32".
static const char *types_text(Arena *arena, const Problem *problem) {
    const PlanConfiguration *configuration = problem->configuration;
    Buffer text = buffer_new(arena);
    bool is_said[DTYPE_COUNT] = {false}, has_dots = false;
    for (int i = 0; i < configuration->argument_count; i++) {
        const PlanArgument *argument = &configuration->arguments[i];
        bool is_tensor = argument->kind == ARGUMENT_POINTER && dtype_code_is_float(argument->dtype);
        if (!is_tensor || is_said[argument->dtype]) continue;
        is_said[argument->dtype] = true;
        buffer_printf(&text, "%s%s", text.size ? " and " : "", dtype_short_name(argument->dtype));
    }
    region_walk(problem->forward->body, visit_dot, &has_dots);
    if (has_dots) buffer_puts(&text, " with dots in tf32");
    return buffer_text(&text);
}

static Str line_text(const Op *op) {
    const Source *source = op->range.source;
    int line = range_line(op->range);
    uint32_t start = source->line_starts[line - 1], end = start;
    while (end < source->text.size && source->text.data[end] != '\n') end++;
    return str_trim((Str){source->text.data + start, end - start});
}

typedef struct NamedOp {
    Str name;
    const Op *found;
} NamedOp;

static bool visit_named(void *context, Op *op) {
    NamedOp *search = context;
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->name && str_is(search->name, op->results[i]->name)) search->found = op;
    return true;
}

/// Where the forward computes `name`; 0: nowhere.
static int line_of_value(const Function *forward, Str name) {
    NamedOp search = {.name = name};
    if (name.size) region_walk(forward->body, visit_named, &search);
    return search.found && search.found->range.source ? range_line(search.found->range) : 0;
}

/// The line of the forward that a line of the backward belongs to, by the names that backwards are written with: `acc` and
/// `acc_1` are recomputed, `dacc` is the gradient of `acc`. 0: not known.
static int forward_line(const Function *forward, Str line) {
    Str name = {line.data, 0};
    while (name.size < line.size &&
           (isalnum((unsigned char)name.data[name.size]) || name.data[name.size] == '_'))
        name.size++;
    for (int tries = 0; tries < 2; tries++) {
        int found = line_of_value(forward, name);
        if (!found && name.size > 1 && *name.data == 'd')
            found = line_of_value(forward, (Str){name.data + 1, name.size - 1});
        if (found) return found;
        while (name.size && isdigit((unsigned char)name.data[name.size - 1])) name.size--;
        if (name.size && name.data[name.size - 1] == '_') name.size--;
    }
    return 0;
}

static const char *times_text(Arena *arena, double times) {
    return times < 10 ? arena_printf(arena, "%.1f", times) : arena_printf(arena, "%.0f", times);
}

static void set_finding(OwnReport *report, const Problem *problem, const OwnTypes *own,
                        const char *types) {
    Arena *arena = report->reader->arena;
    Str input = problem->configuration->arguments[own->parameter].name;
    Buffer text = buffer_new(arena);
    buffer_printf(&text, "in %s the gradient of `%.*s` ", types, STR_ARGS(input));
    if (isfinite(own->times))
        buffer_printf(&text,
                      "is %s times as far from that in fp64 as the forward's rounding explains",
                      times_text(arena, own->times));
    else
        buffer_puts(&text, "is not finite, and in fp64 it is");
    report->finding = json_object(arena);
    json_set_string(report->finding, "input", str_dup(arena, input));
    if (own->op && own->op->range.source) {
        Str line = line_text(own->op);
        buffer_printf(&text, ": %s in `%.*s`, line %d of `%s`", own_types_rounding(arena, own->op),
                      STR_ARGS(line), range_line(own->op->range), own->kernel);
        if (isfinite(own->times_without))
            buffer_printf(&text, " (%s times without it)", times_text(arena, own->times_without));
        json_set_string(report->finding, "kernel", own->kernel);
        json_set_number(report->finding, "line", range_line(own->op->range));
        int from = forward_line(problem->forward, line);
        if (from) buffer_printf(&text, "; it belongs to line %d of the forward", from);
        json_set_number(report->finding, "forward_line", from);
    }
    json_set_string(report->finding, "message", buffer_text(&text));
}

static void say(OwnReport *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(OwnReport *report, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (report->words.size) buffer_puts(&report->words, ", ");
    buffer_puts(&report->words, arena_vprintf(report->reader->arena, format, arguments));
    va_end(arguments);
}

static void take(OwnReport *report, const Problem *problem, const OwnTypes *own) {
    Arena *arena = report->reader->arena;
    const char *types = types_text(arena, problem);
    Json *json = json_object(arena);
    json_set_string(json, "types", types);
    json_set_number(json, "steps", (double)own->steps);
    json_push(report->runs, json);
    if (own->obstacle) {
        json_set_string(json, "reason", own->obstacle);
        say(report, "%s not tried: %s", types, own->obstacle);
        return;
    }
    Str input = problem->configuration->arguments[own->parameter].name;
    json_set(json, "times",
             isfinite(own->times) ? json_number(arena, own->times) : json_null(arena));
    json_set_number(json, "error", isfinite(own->error) ? own->error : 0);
    json_set_string(json, "input", str_dup(arena, input));
    if (isfinite(own->times))
        say(report, "in %s: %s times what the forward's rounding explains", types,
            times_text(arena, own->times));
    else
        say(report, "in %s: not finite", types);
    if (own->times <= OWN_TYPES_MOST || own->times <= report->worst) return;
    report->worst = own->times;
    set_finding(report, problem, own, types);
}

/// `only_narrow`: float32 throughout is what the other run has tried. `steps`: of the backward, as it was proved.
static void measure(OwnReport *report, PlanConfiguration *configuration, bool only_narrow,
                    int64_t steps) {
    ProblemReader reader = *report->reader;
    reader.budget = &report->budget;
    Problem problem;
    Error launch_error = NULL,
          error = problem_read(&reader, configuration, &problem, &launch_error);
    OwnTypes own = {.obstacle = error ? error : launch_error};
    if (!own.obstacle) {
        if (only_narrow && !own_types_are_narrow(&problem)) return;
        problem.cuda = report->cuda;
        own = own_types_measure(reader.arena, &problem, steps);
    }
    if (error) problem.forward = report->reader->symbolic;
    take(report, &problem, &own);
}

Json *own_types_report(const ProblemReader *reader, const ProvedRuns *runs, CudaUse *cuda) {
    Arena *arena = reader->arena;
    OwnReport report = {
        .reader = reader, .cuda = cuda, .runs = json_array(arena), .words = buffer_new(arena)};
    double spent = (double)reader->budget->steps * SHARE_OF_PROOF;
    int64_t allowed = spent > (double)LEAST_STEPS ? (int64_t)spent : LEAST_STEPS;
    const ProvedRun *run = choose(runs, allowed / 2);
    if (!run) return json_null(arena);
    report.budget = *reader->budget;
    report.budget.limit = report.budget.steps + allowed;
    if (report.budget.end == BUDGET_OUT_OF_STEPS) report.budget.end = BUDGET_HOLDS;
    if (steps_of(run) > allowed) {
        say(&report, "not tried: it takes more steps than the proof leaves");
    } else {
        PlanConfiguration plain = configuration_copy(arena, &run->configuration, 0);
        bool has_open = has_open_types(reader, &plain);
        if (has_open) {
            PlanConfiguration narrow = in_bfloat16(reader, &plain);
            measure(&report, &narrow, false, run->backward_steps);
        }
        measure(&report, &plain, has_open, run->backward_steps);
    }
    Json *json = json_object(arena);
    json_set_string(json, "words", buffer_text(&report.words));
    json_set(json, "runs", report.runs);
    json_set(json, "finding", report.finding ? report.finding : json_null(arena));
    return json;
}
