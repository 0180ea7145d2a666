// `--dump STAGE FILE[:KERNEL]`: what one stage of the analysis makes of a file, as text.
#include <stdio.h>
#include <string.h>

#include "codeactions/codeactions.h"
#include "server/diff.h"
#include "server/files.h"
#include "server/options.h"
#include "server/resolve.h"
#include "server/target.h"

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
    const Snapshot *snapshot;
    Str kernel;  // empty: all of them
    Arena *arena;
} Dump;

// --- Syntax

typedef struct SyntaxDump {
    const Source *source;
    uint32_t open[256];  // where the enclosing nodes end
    int depth;
} SyntaxDump;

static bool print_node(void *context, SyntaxNode node) {
    SyntaxDump *dump = context;
    Range range = node_range(dump->source, node);
    while (dump->depth > 0 && dump->open[dump->depth - 1] <= range.start && range.end > range.start)
        dump->depth--;
    printf("%*s%s", 2 * dump->depth, "", node_kind_name(node));
    if (node_child_count(node) == 0) {
        Str text = source_slice(range);
        printf(" `%.*s`", text.size > 60 ? 60 : (int)text.size, text.data);
    }
    printf(" %u-%u\n", range.start, range.end);
    if (dump->depth < 256) dump->open[dump->depth++] = range.end;
    return dump->depth < 255;
}

static void dump_syntax(const Dump *dump) {
    SyntaxDump context = {.source = dump->snapshot->source};
    syntax_walk(syntax_root(dump->snapshot->module->tree), print_node, &context);
}

// --- Module

static void print_function(const FunctionDefinition *function) {
    printf("%s %.*s:%d", function->is_jit ? "jit" : "def", STR_ARGS(function->name),
           range_line(function->header_range));
    if (function->is_helper) printf(" helper");
    if (function->is_autotuned) printf(" autotuned");
    if (function->has_heuristics) printf(" heuristics");
    if (function->returns_value) printf(" returns");
    printf("\n");
    for (int i = 0; i < function->parameter_count; i++) {
        const ParameterDefinition *parameter = &function->parameters[i];
        printf("    %s%.*s", parameter->is_constexpr ? "constexpr " : "",
               STR_ARGS(parameter->name));
        if (parameter->annotation.size) printf(": %.*s", STR_ARGS(parameter->annotation));
        if (parameter->default_text.size) printf(" = %.*s", STR_ARGS(parameter->default_text));
        for (LIST_EACH(int, j, function->tuned_names))
            if (str_equal(function->tuned_names.items[j], parameter->name)) printf(" (tuned)");
        printf("\n");
    }
}

static void dump_module(const Dump *dump) {
    const Module *module = dump->snapshot->module;
    for (LIST_EACH(int, i, module->functions)) print_function(module->functions.items[i]);
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        Str launcher = site->launcher ? site->launcher->name : STR("module level");
        printf("launch %.*s:%d in %.*s\n", STR_ARGS(site->kernel->name), range_line(site->range),
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
        if (is_wanted(dump, kernel)) printf("%s\n", function_print(dump->arena, kernel->function));
    }
}

static void dump_types(const Dump *dump) {
    for (LIST_EACH(int, i, dump->snapshot->kernels)) {
        const Kernel *kernel = &dump->snapshot->kernels.items[i];
        if (!is_wanted(dump, kernel)) continue;
        printf("%s\n", kernel->function->name);
        for (int j = 0; j < kernel->function->parameter_count; j++) {
            const Parameter *parameter = &kernel->function->parameters[j];
            printf("    %s: %s%s%s%s\n", parameter->name,
                   type_print(dump->arena, parameter->value->type),
                   parameter->is_loaded ? " loaded" : "", parameter->is_stored ? " stored" : "",
                   parameter->is_optional ? " optional" : "");
        }
    }
}

static void dump_diagnostics(const Dump *dump) {
    for (LIST_EACH(int, i, dump->snapshot->diagnostics.list)) {
        const Diagnostic *diagnostic = &dump->snapshot->diagnostics.list.items[i];
        printf("%s:%d: %s: %s\n", dump->snapshot->source->path, range_line(diagnostic->range),
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
    printf("    %s:%d: %s: %.*s\n", name, range_line(op->range), note,
           text.size > 60 ? 60 : (int)text.size, text.data);
    return false;
}

static void dump_coverage(const Dump *dump) {
    for (LIST_EACH(int, i, dump->snapshot->kernels)) {
        const Kernel *kernel = &dump->snapshot->kernels.items[i];
        if (!is_wanted(dump, kernel)) continue;
        Error broken = function_verify(dump->arena, kernel->function);
        printf("%s %s:%d %s%s\n", kernel->understood ? "understood" : "partly",
               dump->snapshot->source->path, range_line(kernel->definition->name_range),
               kernel->function->name, kernel->is_helper ? " (helper)" : "");
        if (broken) printf("    BROKEN: %s\n", broken);
        char *name = str_dup(dump->arena, kernel->definition->name);
        if (!kernel->understood) region_walk(kernel->function->body, print_gap, name);
    }
}

// --- Actions

static void print_edit(const Dump *dump, const ActionEdit *edit) {
    const Source *source = dump->snapshot->source;
    if (edit->refusal) printf("    refused: %s\n", edit->refusal);
    if (edit->edits.count)
        fputs(diff_unified(dump->arena, source->path, str_dup(dump->arena, source->text),
                           source->path, edits_applied(dump->arena, source->text, edit).data),
              stdout);
    for (LIST_EACH(int, i, edit->files))
        fputs(diff_unified(dump->arena, edit->files.items[i].path, NULL, edit->files.items[i].path,
                           edit->files.items[i].text),
              stdout);
}

static void dump_actions(const Dump *dump) {
    const Snapshot *snapshot = dump->snapshot;
    uint32_t end = (uint32_t)snapshot->source->text.size;
    Actions actions = actions_offer(dump->arena, snapshot, 0, end, OFFER_EXACT, NULL, NULL);
    for (LIST_EACH(int, i, actions.list)) {
        const Action *action = &actions.list.items[i];
        if (action->id == ACTION_IGNORE) continue;
        printf("%d: %s: %s%s%s\n", range_line(action->range), action_rows[action->id].name,
               action->title, action->disabled ? "; not here: " : "",
               action->disabled ? action->disabled : "");
        if (action->disabled) continue;
        ActionEdit edit = action_apply(dump->arena, snapshot, action->id, action->range);
        print_edit(dump, &edit);
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
};

static int dump_file(StageId stage, const char *operand) {
    Arena *arena = arena_new();
    Target target = target_of(arena, operand);
    Dump dump = {.arena = arena, .kernel = str_from(target.kernel ? target.kernel : "")};
    Str text;
    Error error = file_read(arena, target.path, &text);
    if (error) {
        say("%s", error);
        arena_free(arena);
        return STATUS_TROUBLE;
    }
    ImportResolver *resolver = import_resolver_new(NULL);
    SnapshotOptions options = {.resolver = import_resolver_interface(resolver),
                               .skip_checks = stage != STAGE_DIAGNOSTICS && stage != STAGE_ACTIONS};
    Snapshot *snapshot = snapshot_build(target.path, text, &options);
    dump.snapshot = snapshot;
    int status = STATUS_CLEAN;
    if (target.kernel && !snapshot_find_kernel(snapshot, dump.kernel)) {
        say("%s has no kernel named %s.", target.path, target.kernel);
        status = STATUS_TROUBLE;
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
        for (int i = 0; i < STAGE_COUNT; i++) printf("%-12s %s\n", stages[i].name, stages[i].help);
        printf("%-12s %s\n", "ops", "the operation table, tab-separated (no file needed)");
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
    if (stage == STAGE_COUNT) {
        say("there is no stage `%s`; `--dump help` lists them", name);
        return STATUS_TROUBLE;
    }
    int status = STATUS_CLEAN;
    for (int i = 1; i < options->operand_count; i++) {
        int one = dump_file((StageId)stage, options->operands[i]);
        if (one != STATUS_CLEAN) status = one;
    }
    return status;
}
