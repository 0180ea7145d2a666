// The schedule of a backward in words and a picture: read off the kernels that are emitted, as a person would read it.
#include <math.h>
#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "autodiff/backward.h"
#include "autodiff/rewrite/rewrite.h"
#include "features/features.h"

enum { LOOP_CHARACTERS = 72, MOST_TOTALS = 3 };

typedef struct ScheduleText {
    Arena *arena;
    Buffer *out;
    const Snapshot *snapshot;  // of the forward
    const Kernel *forward;
    const Backward *backward;
    const Snapshot *module;  // of what is emitted
    const char *card;
} ScheduleText;

/// One kernel that is emitted.
typedef struct ScheduleKernel {
    const ScheduleText *text;
    const BackwardLaunch *launch;
    const Kernel *kernel;
    FunctionAxes axes;
} ScheduleKernel;

/// How the elements of a gradient are shared out among programs and iterations, as one statement has it.
typedef struct ScheduleWriter {
    Op *op;
    bool owns[PROGRAM_AXES], meets[PROGRAM_AXES];  // programs along an axis of the grid
    const Op *loop;     // whose iterations own elements, and are shared out among programs; or NULL
    const Op *summing;  // the loop whose iterations add to one element; or NULL
    bool is_open;       // memory, or a number that is not understood, says who meets
} ScheduleWriter;

/* ---- who writes ---- */

static bool is_written_to(const Op *op, const Value *pointer) {
    return (op->code == OP_STORE || op->code == OP_ATOMIC_ADD) && op->operand_count &&
           pointer_root(op->operands[0]) == pointer;
}

typedef struct ScheduleSearch {
    const Value *pointer;
    Op *found;  // an atomic where there is one, else a store
} ScheduleSearch;

static bool visit_write(void *context, Op *op) {
    ScheduleSearch *search = context;
    if (is_written_to(op, search->pointer) && (!search->found || op->code == OP_ATOMIC_ADD))
        search->found = op;
    return !search->found || search->found->code == OP_STORE;
}

static const Value *parameter_named(const Function *function, const char *name) {
    for (int i = 0; i < function->parameter_count; i++)
        if (strcmp(function->parameters[i].name, name) == 0) return function->parameters[i].value;
    return NULL;
}

static bool is_shared_out(const ScheduleKernel *emitted, Arena *arena, const Op *loop) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        for (int i = 0; i < 3; i++)
            if (emitted->axes.programs[axis] &&
                value_depends_on_axis(arena, loop->operands[i], emitted->axes.programs[axis]))
                return true;
    return false;
}

static ScheduleWriter writer_of(const ScheduleKernel *emitted, Op *op) {
    Arena *arena = emitted->text->arena;
    ScheduleWriter writer = {.op = op};
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    Access access = access_of(arena, op);
    if (!access.parameter || !access.offset.known) {
        writer.is_open = true;
        return writer;
    }
    int count = access_axes(arena, &emitted->axes, &access, axes, dependence, ACCESS_MOST_AXES);
    for (int i = 0; i < count; i++) {
        bool is_owner = dependence[i] == AXIS_OWNED;
        if (axes[i].is_program) {
            writer.owns[axes[i].program_axis] |= is_owner;
            writer.meets[axes[i].program_axis] |= dependence[i] == AXIS_FREE;
            writer.is_open |= dependence[i] == AXIS_SCATTERED;
        } else if (is_owner && is_shared_out(emitted, arena, axes[i].loop)) {
            writer.loop = axes[i].loop;
        } else if (dependence[i] == AXIS_FREE) {
            writer.summing = axes[i].loop;
        }
    }
    return writer;
}

/* ---- words ---- */

/// "grid axis 0", "grid axes 0 and 1"; NULL for none.
static const char *axes_text(Arena *arena, const bool *axes) {
    int count = 0, told = 0;
    for (int i = 0; i < PROGRAM_AXES; i++) count += axes[i];
    if (!count) return NULL;
    Buffer out = buffer_new(arena);
    buffer_puts(&out, count > 1 ? "grid axes " : "grid axis ");
    for (int i = 0; i < PROGRAM_AXES; i++) {
        if (!axes[i]) continue;
        const char *between = told == 0 ? "" : told + 1 == count ? " and " : ", ";
        buffer_printf(&out, "%s%d", between, i);
        told++;
    }
    return buffer_text(&out);
}

/// What a loop runs over, as it is written.
static const char *loop_text(const ScheduleText *text, const Op *loop) {
    Str written = source_slice(snapshot_range(text->module, loop->range));
    size_t size = 0;
    while (size < written.size && written.data[size] != '\n' && written.data[size] != '\r') size++;
    if (size && written.data[size - 1] == ':') size--;
    bool is_long = size > LOOP_CHARACTERS;
    return arena_printf(text->arena, "`%.*s%s`", is_long ? LOOP_CHARACTERS : (int)size,
                        written.data, is_long ? "..." : "");
}

static const Gradient *gradient_of(const Backward *backward, const char *input) {
    for (int i = 0; i < backward->gradient_count; i++)
        if (strcmp(backward->gradients[i].input, input) == 0) return &backward->gradients[i];
    return NULL;
}

static bool has_argument(const BackwardLaunch *launch, ArgumentUse use) {
    for (int i = 0; i < launch->argument_count; i++)
        if (launch->arguments[i].use == use) return true;
    return false;
}

typedef struct ScheduleReaders {
    const Value *pointer;
    FunctionAxes axes;
    Arena *arena;
    bool meets[PROGRAM_AXES];
} ScheduleReaders;

static bool visit_read(void *context, Op *op) {
    ScheduleReaders *readers = context;
    if (op->code != OP_LOAD || pointer_root(op->operands[0]) != readers->pointer) return true;
    Axis axes[ACCESS_MOST_AXES];
    AxisDependence dependence[ACCESS_MOST_AXES];
    Access access = access_of(readers->arena, op);
    int count =
        access_axes(readers->arena, &readers->axes, &access, axes, dependence, ACCESS_MOST_AXES);
    for (int i = 0; i < count; i++)
        if (axes[i].is_program && dependence[i] == AXIS_FREE)
            readers->meets[axes[i].program_axis] = true;
    return true;
}

/// The axes of the forward's grid whose programs read the same elements of an input; NULL for none.
static const char *readers_text(const ScheduleText *text, const char *input) {
    const Function *function = text->forward->function;
    ScheduleReaders readers = {.pointer = parameter_named(function, input),
                               .axes = function_axes(text->arena, function),
                               .arena = text->arena};
    if (!readers.pointer) return NULL;
    region_walk(function->body, visit_read, &readers);
    return axes_text(text->arena, readers.meets);
}

/// How many additions meet in one element.
static const char *collisions_text(const ScheduleKernel *emitted, const ScheduleWriter *writer) {
    Arena *arena = emitted->text->arena;
    const char *axes = axes_text(arena, writer->meets);
    if (has_argument(emitted->launch, ARGUMENT_SLICES))
        return "at most `SLICES` additions meet in one element";
    if (writer->is_open)
        return "how many additions meet in one element is decided where the kernel runs";
    if (axes && writer->summing)
        return arena_printf(arena,
                            "in one element meet additions of all programs along %s, and of each "
                            "iteration over %s",
                            axes, loop_text(emitted->text, writer->summing));
    if (axes)
        return arena_printf(arena, "in one element meet additions of all programs along %s", axes);
    if (writer->summing)
        return arena_printf(arena, "in one element meet additions of each iteration over %s",
                            loop_text(emitted->text, writer->summing));
    return "how many additions meet in one element was not worked out";
}

/* ---- the picture ---- */

static void put_picture(const ScheduleKernel *emitted, const ScheduleWriter *writer,
                        const char *gradient) {
    Buffer *out = emitted->text->out;
    bool is_atomic = writer->op->code != OP_STORE;
    const char *writers = writer->loop ? "iterations" : "programs";
    if (is_atomic)
        buffer_printf(out,
                      "      %-16s 0    1    2    ...\n"
                      "      %-16s  \\   |   /\n"
                      "      %-16s [ + + + + ]\n",
                      writers, "", gradient);
    else
        buffer_printf(out,
                      "      %-16s  0    1    2   ...\n"
                      "      %-16s  |    |    |\n"
                      "      %-16s [ ]  [ ]  [ ]  ...\n",
                      writers, "", gradient);
}

/* ---- one gradient ---- */

static void put_store(const ScheduleKernel *emitted, const ScheduleWriter *writer,
                      const BackwardArgument *of) {
    const ScheduleText *text = emitted->text;
    const char *owners = axes_text(text->arena, writer->owns);
    buffer_puts(text->out, "    owner: ");
    if (writer->loop)
        buffer_printf(text->out, "an iteration over %s, which programs share out",
                      loop_text(text, writer->loop));
    else if (owners)
        buffer_printf(text->out, "a program along %s", owners);
    else
        buffer_puts(text->out, "the one program that has the element");
    buffer_puts(text->out, "; each element is stored plainly, no two programs meet\n");
    const char *readers = readers_text(text, of->of);
    if (readers && writer->loop)
        buffer_printf(text->out,
                      "    why: the forward's programs along %s read the same elements of `%s`, so "
                      "their sum has an owner of its own\n",
                      readers, of->of);
}

/// Of a gradient that is another one.
static void put_same(const ScheduleText *text, const BackwardArgument *gradient) {
    bool is_upstream = false;
    for (int i = 0; i < text->backward->whole.argument_count; i++) {
        const BackwardArgument *argument = &text->backward->whole.arguments[i];
        is_upstream |=
            argument->use == ARGUMENT_UPSTREAM && strcmp(argument->name, gradient->same_as) == 0;
    }
    buffer_printf(text->out, "    the same as %s: %s\n", gradient->same_as,
                  is_upstream ? "handed on as it is where the tensors are laid out alike and the "
                                "launch reaches all elements"
                              : "one buffer, stored once, where autograd asks for both and their "
                                "tensors are laid out alike");
}

static void put_gradient(const ScheduleKernel *emitted, const BackwardArgument *argument) {
    const ScheduleText *text = emitted->text;
    buffer_printf(text->out, "  %s, the gradient of `%s`%s\n", argument->name, argument->of,
                  argument->use == ARGUMENT_RUNNING ? ", updated in place" : "");
    const Value *pointer = parameter_named(emitted->kernel->function, argument->name);
    ScheduleSearch search = {.pointer = pointer};
    if (pointer) region_walk(emitted->kernel->function->body, visit_write, &search);
    if (argument->is_program_sum) {
        buffer_puts(text->out, "    owner: each program stores a sum of its own, and the Function "
                               "adds them up\n");
        return;
    }
    if (!search.found) {
        buffer_puts(text->out, "    this kernel stores nothing to it\n");
        return;
    }
    ScheduleWriter writer = writer_of(emitted, search.found);
    if (search.found->code == OP_STORE) {
        put_store(emitted, &writer, argument);
        if (argument->same_as) put_same(text, argument);
    } else {
        const Gradient *gradient = gradient_of(text->backward, argument->of);
        buffer_printf(text->out, "    atomics%s%s\n", gradient && gradient->why ? ": " : "",
                      gradient && gradient->why ? gradient->why : "");
        buffer_printf(text->out, "    collisions: %s\n", collisions_text(emitted, &writer));
    }
    put_picture(emitted, &writer, argument->name);
}

/* ---- one kernel ---- */

static void put_costs(const ScheduleKernel *emitted) {
    const ScheduleText *text = emitted->text;
    CostReport report = cost_report(text->arena, text->module, emitted->kernel, text->card);
    for (int i = 0; i < report.totals.count && i < MOST_TOTALS; i++) {
        const CostReportTotals *totals = &report.totals.items[i];
        buffer_printf(text->out, "  a program %s\n", cost_totals_text(text->arena, totals));
        if (!isnan(totals->memory_share))
            buffer_printf(
                text->out,
                "  at most %.0f %% of the bandwidth and %.0f %% of the arithmetic of %s\n",
                100 * totals->memory_share, 100 * totals->arithmetic_share, text->card);
    }
}

static void put_kernel(const ScheduleText *text, const BackwardLaunch *launch) {
    const Kernel *kernel = snapshot_find_kernel(text->module, str_from(launch->kernel));
    buffer_printf(text->out, "\n%s\n", launch->kernel);
    if (!kernel || !kernel->function) {
        buffer_puts(text->out, "  what is emitted was not understood again\n");
        return;
    }
    const ScheduleKernel emitted = {.text = text,
                                    .launch = launch,
                                    .kernel = kernel,
                                    .axes = function_axes(text->arena, kernel->function)};
    put_costs(&emitted);
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        if (argument->use == ARGUMENT_GRADIENT || argument->use == ARGUMENT_RUNNING)
            put_gradient(&emitted, argument);
    }
}

const char *schedule_report(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                            const char *card) {
    Buffer out = buffer_new(arena);
    const BackwardOptions options = {0};
    Backward *backward = backward_derive(arena, snapshot, kernel, &options, NULL);
    int line = range_line(kernel->definition->name_range);
    buffer_printf(&out, "%s, line %d: ", kernel->function->name, line);
    if (backward->status != BACKWARD_DERIVED) {
        buffer_printf(&out, "no backward: %s\n", backward->reason ? backward->reason : "not known");
        return buffer_text(&out);
    }
    const char *several = backward->launch_count == 1 ? "" : "s";
    buffer_printf(&out, "a backward of %d kernel%s, ", backward->launch_count, several);
    if (backward->atomics)
        buffer_printf(&out, "with atomics for %d of %d gradients\n", backward->atomics,
                      backward->input_count);
    else
        buffer_puts(&out, "without atomics\n");
    Diagnostics ignored = {.arena = arena};
    const char *emitted = backward_module(arena, snapshot, &backward, 1, &options, &ignored);
    const SnapshotOptions reading = {.skip_checks = true};
    Snapshot *module = snapshot_build(snapshot->source->path, str_from(emitted), &reading);
    const ScheduleText text = {.arena = arena,
                               .out = &out,
                               .snapshot = snapshot,
                               .forward = kernel,
                               .backward = backward,
                               .module = module,
                               .card = card};
    for (int i = 0; i < backward->launch_count; i++) put_kernel(&text, &backward->launches[i]);
    snapshot_release(module);
    return buffer_text(&out);
}
