// `--dump STAGE FILE[:KERNEL]`: what one stage of the analysis makes of a file, as text.
#include <stdio.h>
#include <string.h>

#include "analysis/cost/card.h"
#include "analysis/host/launch.h"
#include "analysis/host/launch_concrete.h"
#include "analysis/ir/ir_print.h"
#include "analysis/ir/ir_verify.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/backward.h"
#include "autodiff/passes.h"
#include "autodiff/saving/saving.h"
#include "base/escape.h"
#include "codeactions/codeactions.h"
#include "features/features.h"
#include "server/dumps/dump_configurations.h"
#include "server/dumps/dump_edits.h"
#include "server/report/diff.h"
#include "server/settings/options.h"
#include "server/settings/settings.h"
#include "server/system/files.h"
#include "server/system/target.h"
#include "server/text/resolve.h"

typedef enum StageId {
#define STAGE(id, name, help) STAGE_##id,
#include "analysis/stages.def"
#undef STAGE
    STAGE_COUNT
} StageId;

typedef struct StageRow {
    const char *name;
    const char *help;
} StageRow;

static const StageRow stages[STAGE_COUNT] = {
#define STAGE(id, name, help) [STAGE_##id] = {name, help},
#include "analysis/stages.def"
#undef STAGE
};

typedef struct Dump {
    const PassRow *pass;  // NULL: a stage
    const Snapshot *snapshot;
    Str kernel;        // empty: all of them
    const char *card;  // whose peaks count, or NULL
    bool is_saving;    // forwards store more (--save)
    Arena *arena;
} Dump;

// --- Syntax

/// Strangers' text in it is shown, not obeyed.
static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void put(const char *format, ...) {
    Arena *arena = arena_new();
    va_list arguments;
    va_start(arguments, format);
    fputs(lines_visible(arena, arena_vprintf(arena, format, arguments)), stdout);
    va_end(arguments);
    arena_free(arena);
}

enum { DUMP_DEEPEST = 256 };  // what is nested more is left out

typedef struct SyntaxDump {
    const Source *source;
    uint32_t open[DUMP_DEEPEST];  // where the enclosing nodes end
    int depth;
} SyntaxDump;

static bool print_node(void *context, SyntaxNode node) {
    SyntaxDump *dump = context;
    Range range = node_range(dump->source, node);
    while (dump->depth > 0 && dump->open[dump->depth - 1] <= range.start && range.end > range.start)
        dump->depth--;
    put("%*s%s", 2 * dump->depth, "", node_kind_name(node));
    if (node_child_count(node) == 0) {
        Str text = source_slice(range);
        put(" `%.*s`", text.size > 60 ? 60 : (int)text.size, text.data);
    }
    put(" %u-%u\n", range.start, range.end);
    if (dump->depth < DUMP_DEEPEST) dump->open[dump->depth++] = range.end;
    return dump->depth < DUMP_DEEPEST - 1;
}

static void dump_syntax(const Dump *dump) {
    SyntaxDump context = {.source = dump->snapshot->source};
    syntax_walk(syntax_root(dump->snapshot->module->tree), print_node, &context);
}

// --- Module

static void print_function(const FunctionDefinition *function) {
    put("%s %.*s:%d", function->is_jit ? "jit" : "def", STR_ARGS(function->name),
        range_line(function->header_range));
    if (function->is_helper) put(" helper");
    if (function->is_autotuned) put(" autotuned");
    if (function->has_heuristics) put(" heuristics");
    if (function->returns_value) put(" returns");
    put("\n");
    for (int i = 0; i < function->parameter_count; i++) {
        const ParameterDefinition *parameter = &function->parameters[i];
        put("    %s%.*s", parameter->is_constexpr ? "constexpr " : "", STR_ARGS(parameter->name));
        if (parameter->annotation.size) put(": %.*s", STR_ARGS(parameter->annotation));
        if (parameter->default_text.size) put(" = %.*s", STR_ARGS(parameter->default_text));
        for (LIST_EACH(int, j, function->tuned_names))
            if (str_equal(function->tuned_names.items[j], parameter->name)) put(" (tuned)");
        put("\n");
    }
}

static void dump_module(const Dump *dump) {
    const Module *module = dump->snapshot->module;
    for (LIST_EACH(int, i, module->functions)) print_function(module->functions.items[i]);
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        Str launcher = site->launcher ? site->launcher->name : STR("module level");
        put("launch %.*s:%d in %.*s\n", STR_ARGS(site->kernel->name), range_line(site->range),
            STR_ARGS(launcher));
    }
}

// --- Kernels

static bool is_wanted(const Dump *dump, const Kernel *kernel) {
    return dump->kernel.size == 0 || str_equal(dump->kernel, kernel->definition->name);
}

static void dump_ir(const Dump *dump) {
    for (LIST_EACH(int, i, dump->snapshot->kernels)) {
        const Kernel *kernel = &dump->snapshot->kernels.items[i];
        if (is_wanted(dump, kernel)) put("%s\n", function_print(dump->arena, kernel->function));
    }
}

static void dump_types(const Dump *dump) {
    for (LIST_EACH(int, i, dump->snapshot->kernels)) {
        const Kernel *kernel = &dump->snapshot->kernels.items[i];
        if (!is_wanted(dump, kernel)) continue;
        put("%s\n", kernel->function->name);
        for (int j = 0; j < kernel->function->parameter_count; j++) {
            const Parameter *parameter = &kernel->function->parameters[j];
            put("    %s: %s%s%s%s\n", parameter->name,
                type_print(dump->arena, parameter->value->type),
                parameter->is_loaded ? " loaded" : "", parameter->is_stored ? " stored" : "",
                parameter->is_optional ? " optional" : "");
        }
    }
}

static void dump_diagnostics(const Dump *dump) {
    for (LIST_EACH(int, i, dump->snapshot->diagnostics.list)) {
        const Diagnostic *diagnostic = &dump->snapshot->diagnostics.list.items[i];
        put("%s:%d: %s: %s\n", dump->snapshot->source->path, range_line(diagnostic->range),
            diagnostic_rows[diagnostic->id].name, diagnostic->message);
    }
}

static bool print_gap(void *context, Op *op) {
    const char *name = context;
    bool is_constexpr = op->result_count && op->results[0]->type.is_constexpr;
    const char *note = op->code == OP_UNKNOWN && !is_constexpr ? op->note : NULL;
    for (int i = 0; i < op->result_count && !note; i++)
        if (op->results[i]->type.kind == TYPE_UNKNOWN) note = op_id(op->code);
    if (!note) return true;
    Str text = source_slice(op->range);
    put("    %s:%d: %s: %.*s\n", name, range_line(op->range), note,
        text.size > 60 ? 60 : (int)text.size, text.data);
    return false;
}

static void dump_coverage(const Dump *dump) {
    for (LIST_EACH(int, i, dump->snapshot->kernels)) {
        const Kernel *kernel = &dump->snapshot->kernels.items[i];
        if (!is_wanted(dump, kernel)) continue;
        Error broken = function_verify(dump->arena, kernel->function);
        put("%s %s:%d %s%s\n", kernel->understood ? "understood" : "partly",
            dump->snapshot->source->path, range_line(kernel->definition->name_range),
            kernel->function->name, kernel->is_helper ? " (helper)" : "");
        if (broken) put("    BROKEN: %s\n", broken);
        char *name = str_dup(dump->arena, kernel->definition->name);
        if (!kernel->understood) region_walk(kernel->function->body, print_gap, name);
    }
}

// --- Actions

static void print_edit(const Dump *dump, const ActionEdit *edit) {
    const Source *source = dump->snapshot->source;
    if (edit->refusal) put("    refused: %s\n", edit->refusal);
    if (edit->edits.count)
        put("%s", diff_unified(dump->arena, source->path, str_dup(dump->arena, source->text),
                               source->path, edits_applied(dump->arena, source->text, edit).data));
    for (LIST_EACH(int, i, edit->files))
        put("%s", diff_unified(dump->arena, edit->files.items[i].path, NULL,
                               edit->files.items[i].path, edit->files.items[i].text));
}

static void print_actions(const Dump *dump, ActionRefusal *refusal, bool fixes_alone) {
    const Snapshot *snapshot = dump->snapshot;
    uint32_t end = (uint32_t)snapshot->source->text.size;
    Actions actions = actions_offer(dump->arena, snapshot, 0, end, OFFER_EXACT, refusal, NULL);
    for (LIST_EACH(int, i, actions.list)) {
        const Action *action = &actions.list.items[i];
        if (action->id == ACTION_IGNORE || (fixes_alone && !action->diagnostic)) continue;
        put("%d: %s: %s%s%s\n", range_line(action->range), action_rows[action->id].name,
            action->title, action->disabled ? "; not here: " : "",
            action->disabled ? action->disabled : "");
        if (action->disabled) continue;
        ActionEdit edit = action_apply_offered(dump->arena, snapshot, action);
        print_edit(dump, &edit);
    }
}

static void dump_actions(const Dump *dump) { print_actions(dump, NULL, false); }

/// Spares the derivations.
static const char *not_wanted(void *context, const Kernel *kernel) {
    (void)context;
    (void)kernel;
    return "not wanted here";
}

static void dump_fixes(const Dump *dump) { print_actions(dump, not_wanted, true); }

// --- Launches

static void print_launch(const Dump *dump, const LaunchSite *site, const Function *function) {
    const HostPolicy policy = {.function = function};
    const HostLaunch *launch = host_launch(dump->snapshot->module, site, &policy);
    put("line %d: %s", range_line(site->range), host_launch_print(dump->arena, launch));
}

static void dump_launches(const Dump *dump) {
    const Module *module = dump->snapshot->module;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        const Kernel *kernel = snapshot_find_kernel(dump->snapshot, site->kernel->name);
        if (dump->kernel.size == 0 || str_equal(dump->kernel, site->kernel->name))
            print_launch(dump, site, kernel ? kernel->function : NULL);
    }
}

// --- Schedules

static void dump_schedule(const Dump *dump) {
    bool is_first = true;
    Saving saving = {.snapshot = dump->snapshot};
    if (dump->is_saving)
        saving = saving_of(dump->arena, dump->snapshot, NULL,
                           dump->kernel.size ? snapshot_find_kernel(dump->snapshot, dump->kernel)
                                             : NULL);
    for (LIST_EACH(int, i, saving.snapshot->kernels)) {
        const Kernel *kernel = &saving.snapshot->kernels.items[i];
        if (!is_wanted(dump, kernel) || !kernel_is_forward(kernel)) continue;
        Arena *arena = arena_new();
        ScheduleReport report = schedule_report(arena, saving.snapshot, kernel, dump->card);
        put("%s%s", is_first ? "" : "\n", schedule_text(arena, &report));
        arena_free(arena);
        is_first = false;
    }
    saving_close(&saving);
}

// --- Passes

static void print_after_pass(void *context, const char *pass, const Function *function) {
    const Dump *dump = context;
    if (strcmp(pass, dump->pass->name) == 0) put("%s\n", function_print(dump->arena, function));
}

/// A kernel is derived more than once where its backward has several kernels, or variants: each time is shown.
static void dump_pass(const Dump *dump) {
    Dump shown = *dump;
    const PassObserver observer = {print_after_pass, &shown};
    const BackwardOptions options = {.observer = &observer};
    for (LIST_EACH(int, i, dump->snapshot->kernels)) {
        const Kernel *kernel = &dump->snapshot->kernels.items[i];
        if (!is_wanted(dump, kernel) || !kernel_is_forward(kernel)) continue;
        const Backward *backward =
            backward_derive(dump->arena, dump->snapshot, kernel, &options, NULL);
        if (backward->reason) put("%s: %s\n", kernel->function->name, backward->reason);
    }
}

typedef void DumpFunction(const Dump *dump);
static DumpFunction *const dumps[STAGE_COUNT] = {
    [STAGE_SYNTAX] = dump_syntax,
    [STAGE_MODULE] = dump_module,
    [STAGE_IR] = dump_ir,
    [STAGE_TYPES] = dump_types,
    [STAGE_DIAGNOSTICS] = dump_diagnostics,
    [STAGE_COVERAGE] = dump_coverage,
    [STAGE_ACTIONS] = dump_actions,
    [STAGE_FIXES] = dump_fixes,
    [STAGE_LAUNCHES] = dump_launches,
    [STAGE_SCHEDULE] = dump_schedule,
    [STAGE_CONFIGURATIONS] = NULL,  // it asks the worker: dump_configurations
    [STAGE_EDITS] = NULL,           // it reads the file that the module was derived from
};

static int dump_file(const Options *given, StageId stage, const PassRow *pass,
                     const char *operand) {
    Arena *arena = arena_new();
    CommandTarget target = target_of(arena, operand);
    Dump dump = {.pass = pass,
                 .arena = arena,
                 .card = given->card,
                 .is_saving = given->saving == SAVING_AUTO,
                 .kernel = str_from(target.kernel ? target.kernel : "")};
    Str text;
    Error error = file_read(arena, target.path, &text);
    if (error) {
        say("%s", error);
        arena_free(arena);
        return STATUS_TROUBLE;
    }
    ImportResolver *resolver = import_resolver_new(NULL);
    SnapshotOptions options = {.resolver = import_resolver_interface(resolver),
                               .skip_checks = stage != STAGE_DIAGNOSTICS &&
                                              stage != STAGE_ACTIONS && stage != STAGE_FIXES};
    Snapshot *snapshot = snapshot_build(target.path, text, &options);
    dump.snapshot = snapshot;
    int status = STATUS_CLEAN;
    if (target.kernel && !snapshot_find_kernel(snapshot, dump.kernel)) {
        say("%s has no kernel named %s.", target.path, target.kernel);
        status = STATUS_TROUBLE;
    } else if (stage == STAGE_CONFIGURATIONS) {
        status = dump_configurations(given, snapshot, resolver, target.path, target.kernel);
    } else if (stage == STAGE_EDITS) {
        put("%s", edits_text(arena, snapshot, resolver));
    } else if (pass) {
        dump_pass(&dump);
    } else {
        dumps[stage](&dump);
    }
    snapshot_release(snapshot);
    import_resolver_free(resolver);
    arena_free(arena);
    return status;
}

int command_dump(const Options *options) {
    const char *name = options->operands[0];
    if (strcmp(name, "help") == 0) {
        for (int i = 0; i < STAGE_COUNT; i++) put("%-14s %s\n", stages[i].name, stages[i].help);
        put("%-14s %s\n", "ops", "the operation table, tab-separated (no file needed)");
        put("\nand, of the differentiation, the function that a pass has changed:\n");
        for (int i = 0; i < pass_count; i++)
            put("%-14s %s\n", pass_rows[i].name, pass_rows[i].help);
        return STATUS_CLEAN;
    }
    if (strcmp(name, "ops") == 0) {
        Arena *arena = arena_new();
        fputs(op_table_print(arena), stdout);
        arena_free(arena);
        return STATUS_CLEAN;
    }
    int stage = 0;
    while (stage < STAGE_COUNT && strcmp(name, stages[stage].name) != 0) stage++;
    const PassRow *pass = stage == STAGE_COUNT ? pass_find(name) : NULL;
    if (stage == STAGE_COUNT && !pass) {
        say("there is no stage or pass `%s`; `--dump help` lists them", name);
        return STATUS_TROUBLE;
    }
    Arena *arena = arena_new();
    Error error = card_refuse(arena, "--card", options->card);
    if (error) say("%s", error);
    arena_free(arena);
    if (error) return STATUS_TROUBLE;
    int status = STATUS_CLEAN;
    for (int i = 1; i < options->operand_count; i++) {
        int one = dump_file(options, (StageId)stage, pass, options->operands[i]);
        if (one != STATUS_CLEAN) status = one;
    }
    return status;
}
