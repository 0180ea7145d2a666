// The schedule of a backward in words and a picture: read off the kernels that are emitted, as a person would read it.
#include <math.h>
#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/addresses/affine_axes.h"
#include "autodiff/backward.h"
#include "autodiff/kept.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/state/saved_parameters.h"
#include "base/error.h"
#include "features/features.h"

enum { LOOP_CHARACTERS = 72, MOST_TOTALS = 3 };

typedef struct ScheduleSource {
    Arena *arena;
    const Kernel *forward;
    const Backward *backward;
    const Snapshot *module;  // of what is emitted
    const char *card;
} ScheduleSource;

/// One kernel that is emitted.
typedef struct Emitted {
    const ScheduleSource *source;
    const BackwardLaunch *launch;
    const Kernel *kernel;
    FunctionAxes axes;
} Emitted;

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

static bool is_shared_out(const Emitted *emitted, Arena *arena, const Op *loop) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        for (int i = 0; i < 3; i++)
            if (emitted->axes.programs[axis] &&
                value_depends_on_axis(arena, loop->operands[i], emitted->axes.programs[axis]))
                return true;
    return false;
}

static ScheduleWriter writer_of(const Emitted *emitted, Op *op) {
    Arena *arena = emitted->source->arena;
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
static const char *loop_text(const ScheduleSource *source, const Op *loop) {
    Str written = source_slice(snapshot_range(source->module, loop->range));
    size_t size = 0;
    while (size < written.size && written.data[size] != '\n' && written.data[size] != '\r') size++;
    if (size && written.data[size - 1] == ':') size--;
    bool is_long = size > LOOP_CHARACTERS;
    return arena_printf(source->arena, "`%.*s%s`", is_long ? LOOP_CHARACTERS : (int)size,
                        written.data, is_long ? "..." : "");
}

static const Gradient *gradient_of(const Backward *backward, const char *input) {
    for (int i = 0; i < backward->gradient_count; i++)
        if (strcmp(backward->gradients[i].input, input) == 0) return &backward->gradients[i];
    return NULL;
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
static const char *readers_text(const ScheduleSource *source, const char *input) {
    const Function *function = source->forward->function;
    ScheduleReaders readers = {.pointer = parameter_named(function, input),
                               .axes = function_axes(source->arena, function),
                               .arena = source->arena};
    if (!readers.pointer) return NULL;
    region_walk(function->body, visit_read, &readers);
    return axes_text(source->arena, readers.meets);
}

/// How many additions meet in one element.
static const char *collisions_text(const Emitted *emitted, const ScheduleWriter *writer) {
    Arena *arena = emitted->source->arena;
    const char *axes = axes_text(arena, writer->meets);
    for (int i = 0; i < emitted->launch->argument_count; i++)
        if (emitted->launch->arguments[i].use == ARGUMENT_SLICES)
            return "at most `SLICES` additions meet in one element";
    if (writer->is_open)
        return "how many additions meet in one element is decided where the kernel runs";
    if (axes && writer->summing)
        return arena_printf(arena,
                            "in one element meet additions of all programs along %s, and of each "
                            "iteration over %s",
                            axes, loop_text(emitted->source, writer->summing));
    if (axes)
        return arena_printf(arena, "in one element meet additions of all programs along %s", axes);
    if (writer->summing)
        return arena_printf(arena, "in one element meet additions of each iteration over %s",
                            loop_text(emitted->source, writer->summing));
    return "how many additions meet in one element was not worked out";
}

/* ---- one gradient ---- */

static void set_store(const Emitted *emitted, const ScheduleWriter *writer,
                      ScheduleGradient *gradient) {
    const ScheduleSource *source = emitted->source;
    const char *owners = axes_text(source->arena, writer->owns);
    const char *readers = readers_text(source, gradient->of);
    gradient->owner = "the one program that has the element";
    if (writer->loop)
        gradient->owner =
            arena_printf(source->arena, "an iteration over %s, which programs share out",
                         loop_text(source, writer->loop));
    else if (owners)
        gradient->owner = arena_printf(source->arena, "a program along %s", owners);
    if (readers && writer->loop)
        gradient->why =
            arena_printf(source->arena,
                         "the forward's programs along %s read the same elements of `%s`, so "
                         "their sum has an owner of its own",
                         readers, gradient->of);
}

/// Of a gradient that is another one.
static const char *same_text(const Emitted *emitted, const BackwardArgument *gradient) {
    const BackwardLaunch *whole = &emitted->source->backward->whole;
    bool is_upstream = false;
    for (int i = 0; i < whole->argument_count; i++)
        is_upstream |= whole->arguments[i].use == ARGUMENT_UPSTREAM &&
                       strcmp(whole->arguments[i].name, gradient->same_as) == 0;
    return arena_printf(emitted->source->arena, "the same as %s: %s", gradient->same_as,
                        is_upstream
                            ? "handed on as it is where the tensors are laid out alike and the "
                              "launch reaches all elements"
                            : "one buffer, stored once, where autograd asks for both and their "
                              "tensors are laid out alike");
}

static ScheduleGradient report_gradient(const Emitted *emitted, const BackwardArgument *argument) {
    ScheduleGradient told = {.name = argument->name,
                             .of = argument->of,
                             .is_running = argument->use == ARGUMENT_RUNNING};
    const Value *pointer = parameter_named(emitted->kernel->function, argument->name);
    ScheduleSearch search = {.pointer = pointer};
    if (pointer) region_walk(emitted->kernel->function->body, visit_write, &search);
    if (argument->is_program_sum) {
        told.owner = "each program stores a sum of its own, and the Function adds them up";
        return told;
    }
    if (argument->is_parts) {
        const char *readers = readers_text(emitted->source, argument->of);
        told.owner = "each of at most `most_slices` programs stores a sum of its own, and the "
                     "Function adds them up; no atomics";
        if (readers)
            told.why = arena_printf(emitted->source->arena,
                                    "the forward's programs along %s read the same elements of "
                                    "`%s`, and owners are too few to fill a GPU",
                                    readers, argument->of);
        return told;
    }
    if (!search.found) return told;
    ScheduleWriter writer = writer_of(emitted, search.found);
    told.writers = writer.loop ? "iterations" : "programs";
    if (search.found->code == OP_STORE) {
        set_store(emitted, &writer, &told);
        const Gradient *gradient = gradient_of(emitted->source->backward, argument->of);
        if (gradient && gradient->picked)
            told.picked = arena_printf(emitted->source->arena,
                                       "with it: the element that is read by an index from memory "
                                       "(%s) is added there",
                                       gradient->picked);
        if (argument->same_as) told.same = same_text(emitted, argument);
    } else {
        const Gradient *gradient = gradient_of(emitted->source->backward, argument->of);
        told.why = gradient ? gradient->why : NULL;
        told.collisions = collisions_text(emitted, &writer);
    }
    return told;
}

/* ---- one kernel ---- */

static void report_work(const Emitted *emitted, ScheduleKernel *told) {
    const ScheduleSource *source = emitted->source;
    const char *first = source->backward->launches[0].kernel;
    const Kernel *tuned = emitted->launch->follows_tuner
                              ? snapshot_find_kernel(source->module, str_from(first))
                              : NULL;
    CostReport report = cost_report(source->arena, source->module, emitted->kernel,
                                    tuned && tuned->function ? tuned : NULL, source->card);
    for (int i = 0; i < report.totals.count && i < MOST_TOTALS; i++) {
        const CostReportTotals *totals = &report.totals.items[i];
        ScheduleWork work = {.name = totals->name, .text = cost_totals_text(source->arena, totals)};
        // where nothing is said to be the bound, caches may serve what several programs read
        if (totals->bound && !isnan(totals->memory_share))
            work.share = arena_printf(
                source->arena,
                "at most %.0f %% of the bandwidth and %.0f %% of the arithmetic of %s",
                100 * totals->memory_share, 100 * totals->arithmetic_share, source->card);
        LIST_PUSH(source->arena, &told->work, work);
        LIST_PUSH(source->arena, &told->totals, *totals);
    }
}

/// The block sizes that the kernel could have of its own, and why it has to have the forward's for others.
static void report_blocks(const ScheduleSource *source, const BackwardLaunch *launch,
                          ScheduleKernel *told) {
    for (int i = 0; i < launch->block_count; i++) {
        const LaunchBlock *block = &launch->blocks[i];
        const char *axes = axes_text(source->arena, block->numbers);
        const char *limits = block->limit_count ? " that divides " : "";
        for (int k = 0; k < block->limit_count; k++)
            limits =
                arena_printf(source->arena, "%s%s%s", limits, k ? " and " : "", block->limits[k]);
        const char *text =
            block->why
                ? arena_printf(source->arena, "%s: the forward's size, as %s", block->name,
                               block->why)
                : arena_printf(source->arena, "%s: any size%s%s is right%s%s", block->name,
                               block->needs_divisor ? " that divides the forward's" : "", limits,
                               axes ? "; its blocks are counted by programs along " : "",
                               axes ? axes : "");
        LIST_PUSH(source->arena, &told->blocks, text);
    }
}

static ScheduleKernel report_kernel(const ScheduleSource *source, const BackwardLaunch *launch) {
    const Kernel *kernel = snapshot_find_kernel(source->module, str_from(launch->kernel));
    ScheduleKernel told = {.name = launch->kernel, .is_understood = kernel && kernel->function};
    if (!told.is_understood) return told;
    const Emitted emitted = {.source = source,
                             .launch = launch,
                             .kernel = kernel,
                             .axes = function_axes(source->arena, kernel->function)};
    report_work(&emitted, &told);
    if (launch->row.block)
        LIST_PUSH(source->arena, &told.blocks,
                  arena_printf(source->arena,
                               "in place of the kernels above where a block holds a row: %s <= %s",
                               launch->row.length, launch->row.block));
    report_blocks(source, launch, &told);
    for (int i = 0; i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        if (argument->use != ARGUMENT_GRADIENT && argument->use != ARGUMENT_RUNNING) continue;
        ScheduleGradient gradient = report_gradient(&emitted, argument);
        LIST_PUSH(source->arena, &told.gradients, gradient);
    }
    return told;
}

/// The module's snapshot is let go, also where nobody waits for the report any longer.
static void report_kernels(const ScheduleSource *source, ScheduleReport *report) {
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        for (int i = 0; i < source->backward->launch_count; i++) {
            ScheduleKernel told = report_kernel(source, &source->backward->launches[i]);
            LIST_PUSH(source->arena, &report->kernels, told);
        }
        const Backward *rows = source->backward->whole_rows;
        if (rows)
            LIST_PUSH(source->arena, &report->kernels, report_kernel(source, &rows->launches[0]));
        bug_guard_end(&guard);
        snapshot_release(source->module);
        return;
    }
    snapshot_release(source->module);
    bug_raise_again(&guard);
}

ScheduleReport schedule_report(Arena *arena, const Snapshot *snapshot, const Kernel *kernel,
                               const char *card) {
    const BackwardOptions options = {0};
    Backward *backward = backward_kept(arena, snapshot, kernel, options.wrapper, NULL);
    ScheduleReport report = {.kernel = kernel->function->name,
                             .line = range_line(kernel->definition->name_range),
                             .gradients = backward->input_count,
                             .atomics = backward->atomics};
    if (backward->status != BACKWARD_DERIVED) {
        report.reason = backward->reason ? backward->reason : "not known";
        return report;
    }
    for (LIST_EACH(int, i, snapshot->saved))
        if (strcmp(snapshot->saved.items[i].kernel, report.kernel) == 0)
            LIST_PUSH(arena, &report.saved, &snapshot->saved.items[i]);
    Diagnostics ignored = {.arena = arena};
    const char *emitted = backward_module(arena, snapshot, &backward, 1, &options, &ignored);
    const SnapshotOptions reading = {.skip_checks = true};
    Snapshot *module = snapshot_build(snapshot->source->path, str_from(emitted), &reading);
    const ScheduleSource source = {
        .arena = arena, .forward = kernel, .backward = backward, .module = module, .card = card};
    report_kernels(&source, &report);
    return report;
}

/* ---- as text ---- */

static void put_picture(Buffer *out, const ScheduleGradient *gradient) {
    if (!gradient->owner)
        buffer_printf(out,
                      "      %-16s 0    1    2    ...\n"
                      "      %-16s  \\   |   /\n"
                      "      %-16s [ + + + + ]\n",
                      gradient->writers, "", gradient->name);
    else
        buffer_printf(out,
                      "      %-16s  0    1    2   ...\n"
                      "      %-16s  |    |    |\n"
                      "      %-16s [ ]  [ ]  [ ]  ...\n",
                      gradient->writers, "", gradient->name);
}

static void put_gradient(Buffer *out, const ScheduleGradient *gradient) {
    buffer_printf(out, "  %s, the gradient of `%s`%s\n", gradient->name, gradient->of,
                  gradient->is_running ? ", updated in place" : "");
    if (!gradient->writers) {
        if (gradient->owner)
            buffer_printf(out, "    owner: %s\n", gradient->owner);
        else
            buffer_puts(out, "    this kernel stores nothing to it\n");
        if (gradient->why) buffer_printf(out, "    why: %s\n", gradient->why);
        return;
    }
    if (gradient->owner) {
        buffer_printf(out, "    owner: %s; each element is stored plainly, no two programs meet\n",
                      gradient->owner);
        if (gradient->picked) buffer_printf(out, "    %s\n", gradient->picked);
        if (gradient->why) buffer_printf(out, "    why: %s\n", gradient->why);
        if (gradient->same) buffer_printf(out, "    %s\n", gradient->same);
    } else {
        buffer_printf(out, "    atomics%s%s\n", gradient->why ? ": " : "",
                      gradient->why ? gradient->why : "");
        buffer_printf(out, "    collisions: %s\n", gradient->collisions);
    }
    put_picture(out, gradient);
}

static void put_kernel(Buffer *out, const ScheduleKernel *kernel) {
    buffer_printf(out, "\n%s\n", kernel->name);
    if (!kernel->is_understood) buffer_puts(out, "  what is emitted was not understood again\n");
    for (LIST_EACH(int, i, kernel->work)) {
        const ScheduleWork *work = &kernel->work.items[i];
        buffer_printf(out, "  %s%sa program %s\n", work->name ? work->name : "",
                      work->name ? ": " : "", work->text);
        if (work->share) buffer_printf(out, "  %s\n", work->share);
    }
    for (LIST_EACH(int, i, kernel->blocks)) buffer_printf(out, "  %s\n", kernel->blocks.items[i]);
    for (LIST_EACH(int, i, kernel->gradients)) put_gradient(out, &kernel->gradients.items[i]);
}

static const char *saved_text(Arena *arena, const SavedValue *saved) {
    return arena_printf(arena, "`%s` in `%s`: %s", saved->value, saved->parameter,
                        saved_size_text(saved));
}

/// What one gradient is stored by, as an item of a list; nothing where the kernel does not store it.
static bool put_brief(Buffer *out, const ScheduleGradient *gradient) {
    if (!gradient->owner && !gradient->writers) return false;
    buffer_printf(out, "\n- `%s`, the gradient of `%s`: ", gradient->name, gradient->of);
    if (gradient->owner)
        buffer_printf(out, "%s%s", gradient->writers ? "plain stores by " : "", gradient->owner);
    else
        buffer_printf(out, "atomics%s%s", gradient->why ? ", because " : "",
                      gradient->why ? gradient->why : "");
    return true;
}

const char *schedule_brief(Arena *arena, const ScheduleReport *report) {
    enum { MOST_TOLD = 3 };
    if (report->reason) return "";
    Buffer out = buffer_new(arena);
    int told = 0, left = 0;
    const char *several = report->kernels.count == 1 ? "" : "s";
    buffer_printf(&out, "Its backward has %d kernel%s", (int)report->kernels.count, several);
    if (report->atomics)
        buffer_printf(&out, ", with atomics for %d of %d gradients:", report->atomics,
                      report->gradients);
    else
        buffer_puts(&out, ", without atomics:");
    for (LIST_EACH(int, i, report->kernels))
        for (LIST_EACH(int, k, report->kernels.items[i].gradients)) {
            const ScheduleGradient *gradient = &report->kernels.items[i].gradients.items[k];
            if (told == MOST_TOLD)
                left += gradient->owner || gradient->writers;
            else
                told += put_brief(&out, gradient);
        }
    if (left) buffer_printf(&out, "\n- and %d more", left);
    for (LIST_EACH(int, i, report->saved))
        buffer_printf(&out, "%s%s", i ? "; " : "\n\nIts forward also stores ",
                      saved_text(arena, report->saved.items[i]));
    return buffer_text(&out);
}

const char *schedule_text(Arena *arena, const ScheduleReport *report) {
    Buffer out = buffer_new(arena);
    buffer_printf(&out, "%s, line %d: ", report->kernel, report->line);
    if (report->reason) {
        buffer_printf(&out, "no backward: %s\n", report->reason);
        return buffer_text(&out);
    }
    const char *several = report->kernels.count == 1 ? "" : "s";
    buffer_printf(&out, "a backward of %d kernel%s, ", (int)report->kernels.count, several);
    if (report->atomics)
        buffer_printf(&out, "with atomics for %d of %d gradients\n", report->atomics,
                      report->gradients);
    else
        buffer_puts(&out, "without atomics\n");
    for (LIST_EACH(int, i, report->kernels)) put_kernel(&out, &report->kernels.items[i]);
    for (LIST_EACH(int, i, report->saved))
        buffer_printf(&out, "\nthe forward also stores %s\n",
                      saved_text(arena, report->saved.items[i]));
    return buffer_text(&out);
}
