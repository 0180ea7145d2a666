// The emitted module: what the forward needs of the user's file as it stands there, the derived kernels, the differentiable launchers.
#include "autodiff/module/module.h"

#include <ctype.h>
#include <string.h>

#include "analysis/launches/launch_tensors.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/function/function_text.h"
#include "autodiff/launcher/host_guards.h"
#include "autodiff/launcher/scalar_tensors.h"
#include "autodiff/module/helpers.h"
#include "autodiff/module/hoist.h"
#include "autodiff/module/module_launchers.h"
#include "autodiff/module/repeated_imports.h"
#include "autodiff/plan/launch_plan.h"
#include "autodiff/plan/wrappers.h"
#include "autodiff/primal/scalars.h"
#include "autodiff/state/saved_parameters.h"

/// Whether the two say the same, whatever ends their lines.
static bool same_text(Str a, Str b) {
    size_t i = 0, k = 0;
    while (i < a.size || k < b.size) {
        if (i < a.size && a.data[i] == '\r') {
            i++;
            continue;
        }
        if (i >= a.size || k >= b.size || a.data[i++] != b.data[k++]) return false;
    }
    return true;
}

/// A file that has some backward already has helpers, too.
static HelperPlace find_helper(const void *context, const char *name, const char *text) {
    const ModuleWriter *writer = context;
    for (LIST_EACH(int, i, writer->items)) {
        const Item *item = &writer->items.items[i];
        if (!map_has(&item->binds, str_from(name))) continue;
        if (!same_text(str_trim(source_slice(item->range)), str_trim(str_from(text))))
            return HELPER_TAKEN;
        return item->is_included ? HELPER_PRESENT : HELPER_ABSENT;
    }
    return HELPER_ABSENT;
}

static void write_backward(ModuleWriter *writer, Buffer *out, int p) {
    Arena *arena = writer->arena;
    const Backward *backward = writer->plans[p].backward;
    // Kernels of one file may need the same one.
    if (*backward->helper_text && !strstr(buffer_text(out), backward->helper_text))
        buffer_printf(out, "\n\n%s", backward->helper_text);
    if (writer->plans[p].hoisted && writer->wrapper != WRAPPER_NONE)
        buffer_printf(out, "\n\n%s", writer->plans[p].hoisted);
    buffer_printf(out, "\n\n%s", backward->kernel_text);
    if (writer->plans[p].is_apart) return;
    if (writer->wrapper == WRAPPER_AUTOGRAD)
        buffer_printf(
            out, "\n\n%s",
            helpers_named(arena, autograd_class(arena, &writer->plans[p]), find_helper, writer));
    if (writer->operators && !writer->operators[p].refusal)
        buffer_printf(out, "\n\n%s",
                      helpers_named(arena,
                                    operator_text(arena, &writer->operators[p], writer->space),
                                    find_helper, writer));
}

/// Whether a kernel is all that it is behind this statement: `kernel = triton.autotune(...)(kernel)` may stand below it.
static bool stands_behind(const Item *item, const FunctionDefinition *kernel) {
    Str alias = kernel_alias(kernel);
    if (alias.size) return map_has(&item->binds, alias);
    Range last = kernel->range;
    for (LIST_EACH(int, i, kernel->decorators)) {
        Range wrapper = node_range(kernel->module->source, kernel->decorators.items[i]);
        if (wrapper.start > last.start) last = wrapper;
    }
    if (last.start >= kernel->range.end)
        return last.start >= item->range.start && last.end <= item->range.end;
    return item->function == kernel;
}

/// In the order of the file: what a statement needs stands before it there, and so here.
static void write_items(ModuleWriter *writer, Buffer *out) {
    bool after_definition = false, after_import = true;
    bool *written = ARENA_ARRAY(writer->arena, bool, writer->plan_count + 1);
    for (LIST_EACH(int, i, writer->items)) {
        Item *item = &writer->items.items[i];
        if (!item->is_included || item->is_future) continue;
        const char *launcher = launcher_text_of(writer, item);
        Str own = import_without_repeats(writer->arena, writer->module->source, &writer->items, i);
        if (!own.size) continue;
        bool is_definition = item_is_definition(item), is_import = item_is_import(item);
        bool is_apart = is_definition || after_definition || (after_import && !is_import);
        buffer_puts(out, is_apart ? "\n\n" : "");
        Str text = launcher ? str_from(launcher) : own;
        bool is_kernel = item->function && item->function->is_jit;
        if (is_definition && !is_kernel)
            text = str_from(host_guards_text(writer->arena, str_dup(writer->arena, text)));
        if (item->given.size) buffer_printf(out, "%.*s\n", STR_ARGS(item->given));
        buffer_printf(out, "%.*s\n", STR_ARGS(text));
        after_definition = is_definition;
        after_import = is_import;
        for (int p = 0; p < writer->plan_count; p++) {
            if (written[p] || !stands_behind(item, writer->plans[p].kernel)) continue;
            write_backward(writer, out, p);
            written[p] = after_definition = true;
        }
    }
    // Forward kernels below an `if` or `try`, or inside a function.
    for (int p = 0; p < writer->plan_count; p++)
        if (!written[p] && !writer->plans[p].inner_text) write_backward(writer, out, p);
}

static const char header_start[] = "\"\"\"Backward of ", header_end[] = ", derived by tad-lsp.";

// `norm` also stores `mean_saved_ptr`: `mean`, 4 bytes for each program, which its backward loads.
static const char saved_words[] = "` also stores `", saved_value[] = "`: `";

/// Comments above the header: what the proof said of the module, or what its reader put there.
static Str without_comments(Str text) {
    while (text.size && *text.data && strchr("#\r\n", *text.data)) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t taken = end ? (size_t)(end - text.data) + 1 : text.size;
        text = (Str){text.data + taken, text.size - taken};
    }
    return text;
}

Str backward_origin(Str text) {
    text = without_comments(text);
    if (!str_starts(text, header_start)) return (Str){0};
    Str name = {text.data + sizeof header_start - 1, 0};
    while (name.data + name.size < text.data + text.size && name.data[name.size] != '\n')
        name.size++;
    if (name.size && name.data[name.size - 1] == '\r') name.size--;
    if (!str_ends(name, header_end)) return (Str){0};
    return (Str){name.data, name.size - (sizeof header_end - 1)};
}

SavedValues module_saved(Arena *arena, Str text) {
    SavedValues values = {0};
    if (!backward_origin(text).size) return values;
    const char *at = str_dup(arena, without_comments(text)) + sizeof header_start;
    const char *end = strstr(at, "\"\"\"");
    while (end && (at = strstr(at, saved_words)) && at < end) {
        const char *start = at;
        while (start[-1] != '`' && start[-1] != '\n') start--;
        const char *name = at + sizeof saved_words - 1;
        size_t size = strcspn(name, "`\n");
        const char *value = name + size;
        bool is_known = str_starts(str_from(value), saved_value);
        SavedValue saved = {.kernel = str_dup(arena, (Str){start, (size_t)(at - start)}),
                            .parameter = str_dup(arena, (Str){name, size}),
                            .lanes = "",
                            .columns = ""};
        if (is_known) value += sizeof saved_value - 1;
        saved.value = str_dup(arena, (Str){value, strcspn(value, "`\n")});
        if (is_known) LIST_PUSH(arena, &values, saved);
        at = name;
    }
    return values;
}

/// Whether a name can stand in a docstring as it is.
static bool is_plain_name(const char *name) {
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == '"' || *c == '\\' || *c == 0x7F) return false;
    return *name && !utf8_find_invalid(name, strlen(name));
}

static void write_header(ModuleWriter *writer, Buffer *out) {
    const char *path = writer->module->source->path, *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    buffer_printf(out, "%s%s%s\n\n", header_start, is_plain_name(name) ? name : "the kernels",
                  header_end);
    buffer_puts(out, "The forward kernels are the original's; edit the rest as you like.\n");
    for (LIST_EACH(int, i, writer->snapshot->saved)) {
        const SavedValue *saved = &writer->snapshot->saved.items[i];
        buffer_printf(out, "`%s%s%s%s%s`, %s, which its backward loads.\n", saved->kernel,
                      saved_words, saved->parameter, saved_value, saved->value,
                      saved_size_text(saved));
    }
    for (LIST_EACH(int, i, writer->notes)) buffer_printf(out, "%s\n", writer->notes.items[i]);
    buffer_puts(out, "\"\"\"\n\n");
    for (LIST_EACH(int, i, writer->items))
        if (writer->items.items[i].is_future)
            buffer_printf(out, "%.*s\n\n", STR_ARGS(source_slice(writer->items.items[i].range)));
}

/// Whether a derived kernel has the word, or a function that it reduces with.
static bool kernels_mention(const ModuleWriter *writer, const char *word) {
    for (int p = 0; p < writer->plan_count; p++) {
        const Backward *backward = writer->plans[p].backward;
        if (strstr(backward->kernel_text, word) || strstr(backward->helper_text, word)) return true;
    }
    return false;
}

/// Texts in an emitted kernel that the user's file binds (combine functions of reductions, ...). `own`: its parameters, which are
/// not the file's names; or NULL.
static void include_names_in(ModuleWriter *writer, const char *text, const BackwardLaunch *own) {
    for (const char *p = text; *p;) {
        size_t size = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        Str name = {p, size};
        bool is_own = false;
        for (int i = 0; size && own && i < own->argument_count && !is_own; i++)
            is_own = str_is(name, own->arguments[i].name);
        if (size && !is_own && (p == text || p[-1] != '.'))
            items_include_name(&writer->items, name);
        p += size ? size : 1;
    }
}

/// The file's name as an operator's namespace.
static const char *space_of(Arena *arena, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    Buffer space = buffer_new(arena);
    if (!isalpha((unsigned char)*name) && *name != '_') buffer_puts(&space, "kernels_");
    for (; *name && strcmp(name, ".py") != 0; name++)
        buffer_putc(&space, isalnum((unsigned char)*name) ? *name : '_');
    return buffer_text(&space);
}

/// Tensors whose numbers an operator takes: their gradients lack a part.
static void note_numbers(ModuleWriter *writer, const LaunchPlan *plan) {
    Arena *arena = writer->arena;
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const Parameter *parameter = &plan->backward->kernel->function->parameters[p];
        const LaunchSite *site = NULL;
        for (LIST_EACH(int, i, writer->module->launches)) {
            const LaunchSite *other = &writer->module->launches.items[i];
            bool is_own = other->kernel == plan->kernel;
            if (is_own && launch_tensor(arena, writer->module, other, p).text) site = other;
        }
        if (!site) continue;
        const char *note =
            arena_printf(arena, "`%s` of `%.*s` has no gradient: an operator takes a number.",
                         parameter->name, STR_ARGS(plan->kernel->name));
        LIST_PUSH(arena, &writer->notes, note);
        bool is_asked = parameter_is_float_scalar(parameter) && !plan->backward->is_partial;
        if (is_asked && writer->diagnostics)
            diagnose(writer->diagnostics, DIAGNOSTIC_GRADIENT_NUMBER_OF_TENSOR,
                     snapshot_range(writer->snapshot, site->range),
                     "`%s` of `%.*s` has no gradient: an operator takes a number", parameter->name,
                     STR_ARGS(plan->kernel->name));
    }
}

static void plan_operators(ModuleWriter *writer) {
    Arena *arena = writer->arena;
    writer->space = space_of(arena, writer->module->source->path);
    writer->operators = ARENA_ARRAY(arena, OperatorPlan, writer->plan_count + 1);
    for (int p = 0; p < writer->plan_count; p++) {
        OperatorPlan *plan = &writer->operators[p];
        *plan = operator_plan(arena, writer->module, &writer->plans[p]);
        if (!plan->refusal) note_numbers(writer, &writer->plans[p]);
        if (plan->refusal)
            LIST_PUSH(arena, &writer->notes,
                      arena_printf(arena, "`%.*s` is no operator: %s.",
                                   STR_ARGS(plan->launch->kernel->name), plan->refusal));
    }
}

/// Whether the name stands for something else at module level, or for another kernel that comes to be there.
static bool is_taken(const ModuleWriter *writer, int plan) {
    Str name = writer->plans[plan].kernel->name;
    for (LIST_EACH(int, i, writer->items))
        if (map_has(&writer->items.items[i].binds, name)) return true;
    for (int p = 0; p < plan; p++)
        if (writer->plans[p].hoisted && str_equal(writer->plans[p].kernel->name, name)) return true;
    return false;
}

/// Whether all launches of a nested kernel stand in the function that defines it.
static bool is_launched_around(const ModuleWriter *writer, const FunctionDefinition *kernel) {
    SyntaxNode around = node_parent(kernel->node);
    while (!node_is_null(around) && node_kind(around) != SYNTAX_FUNCTION &&
           node_kind(around) != SYNTAX_CLASS)
        around = node_parent(around);
    if (node_kind(around) != SYNTAX_FUNCTION) return false;
    Range range = node_range(writer->module->source, around);
    bool any = false;
    for (LIST_EACH(int, i, writer->module->launches)) {
        const LaunchSite *site = &writer->module->launches.items[i];
        if (site->kernel != kernel) continue;
        any = true;
        if (site->range.start < range.start || site->range.end > range.end) return false;
    }
    return any;
}

/// Whether another function defines a kernel of this name: then each stays in its own.
static bool has_namesake(const ModuleWriter *writer, int plan) {
    const FunctionDefinition *kernel = writer->plans[plan].kernel;
    for (LIST_EACH(int, i, writer->module->functions)) {
        const FunctionDefinition *other = writer->module->functions.items[i];
        if (other != kernel && other->is_jit && str_equal(other->name, kernel->name))
            return is_launched_around(writer, kernel);
    }
    return false;
}

/// What stands behind a kernel inside a function: its backward and the Function, which see what is around them.
static const char *inner_text(ModuleWriter *writer, const LaunchPlan *plan) {
    const Backward *backward = plan->backward;
    const char *class =
        helpers_named(writer->arena, autograd_class(writer->arena, plan), find_helper, writer);
    Str text =
        str_from(arena_printf(writer->arena, "%s%s%s\n%s", backward->helper_text,
                              *backward->helper_text ? "\n" : "", backward->kernel_text, class));
    text = str_trim(text);
    Buffer out = buffer_new(writer->arena);  // functions in a function are one empty line apart
    for (size_t i = 0; i < text.size; i++) {
        bool is_third =
            i >= 2 && text.data[i] == '\n' && text.data[i - 1] == '\n' && text.data[i - 2] == '\n';
        if (!is_third) buffer_putc(&out, text.data[i]);
    }
    return buffer_text(&out);
}

/// A kernel that stays apart has decorators that only its own place gives a meaning.
static void drop_decorators(ModuleWriter *writer, Backward *backward, Str captured) {
    static const char jit[] = "@triton.jit\n";
    const char *start = strstr(backward->kernel_text, jit);
    if (!start) return;
    Str head = {backward->kernel_text, (size_t)(start - backward->kernel_text)};
    if (text_contains(head, str_dup(writer->arena, captured))) backward->kernel_text = start;
}

/// Kernels inside functions and classes come to module level, where the Functions launch them; those that use what is around
/// them, or share their name, have their Function beside them.
static void hoist_kernels(ModuleWriter *writer, Backward *const *derived) {
    for (int p = 0; p < writer->plan_count; p++) {
        LaunchPlan *plan = &writer->plans[p];
        if (!kernel_is_nested(plan->kernel)) continue;
        Str name = plan->kernel->name, captured = {"", 0};
        bool taken = is_taken(writer, p) || has_namesake(writer, p);
        plan->hoisted = taken ? NULL : kernel_hoisted(writer->arena, plan->kernel, &captured);
        if (plan->hoisted) continue;
        if (writer->wrapper == WRAPPER_AUTOGRAD && is_launched_around(writer, plan->kernel)) {
            plan->inner_text = inner_text(writer, plan);
            continue;
        }
        plan->is_apart = true;
        if (captured.size) drop_decorators(writer, derived[p], captured);
        if (writer->wrapper == WRAPPER_NONE) continue;
        const char *why = taken
                              ? "shares its name with something outside of its scope"
                              : arena_printf(writer->arena, "uses `%.*s` of the function around it",
                                             STR_ARGS(captured));
        LIST_PUSH(writer->arena, &writer->notes,
                  arena_printf(writer->arena, "`%.*s` %s: its backward kernel alone is written.",
                               STR_ARGS(name), why));
    }
}

/// By the file, by an emitted kernel of a plan before this one, or by a parameter.
static bool is_kernel_name_taken(const ModuleWriter *writer, int plan, const char *name) {
    for (int p = 0; p < plan; p++) {
        const Backward *backward = writer->plans[p].backward, *rows = backward->whole_rows;
        if (writer->plans[p].inner_text) continue;
        for (int i = 0; i < backward->launch_count; i++)
            if (strcmp(backward->launches[i].kernel, name) == 0) return true;
        if (rows && strcmp(rows->launches[0].kernel, name) == 0) return true;
    }
    return items_bind(&writer->items, name) ||
           parameter_find(writer->plans[plan].kernel, str_from(name)) >= 0;
}

static const char *with_definition_named(Arena *arena, const char *text, const char *from,
                                         const char *to) {
    const char *head = arena_printf(arena, "\ndef %s(", from), *at = strstr(text, head);
    if (!at) return text;
    return arena_printf(arena, "%.*s\ndef %s(%s", (int)(at - text), text, to, at + strlen(head));
}

/// An emitted kernel gives way to what has its name: a backward that the author wrote, or another nested kernel's.
static void settle_kernel_names(ModuleWriter *writer, Backward *const *derived) {
    Arena *arena = writer->arena;
    for (int p = 0; p < writer->plan_count; p++) {
        Backward *backward = derived[p];
        if (writer->plans[p].inner_text) continue;
        int count = backward->launch_count + (backward->whole_rows != NULL);
        for (int i = 0; i < count; i++) {
            BackwardLaunch *launch = i < backward->launch_count
                                         ? &backward->launches[i]
                                         : &backward->whole_rows->launches[0];
            const char *old = launch->kernel, *name = old;
            for (int n = 2; is_kernel_name_taken(writer, p, name); n++)
                name = arena_printf(arena, "%s_%d", old, n);
            if (name == old) continue;
            launch->kernel = name;
            launch->text = with_definition_named(arena, launch->text, old, name);
            backward->kernel_text = with_definition_named(arena, backward->kernel_text, old, name);
        }
    }
}

/// What the kernels need: what they call, the names in them, and what changes these.
static void include_needs(ModuleWriter *writer) {
    for (LIST_EACH(int, i, writer->launchers))
        items_include(&writer->items, writer->launchers.items[i]);
    launchers_include_callers(writer);
    for (int p = 0; p < writer->plan_count; p++) {
        if (!writer->plans[p].inner_text)
            items_include_name(&writer->items, writer->plans[p].kernel->name);
        items_include_name(&writer->items, kernel_alias(writer->plans[p].kernel));
        const Backward *backward = writer->plans[p].backward;
        include_names_in(writer, backward->kernel_text, &backward->whole);
        if (writer->plans[p].hoisted) include_names_in(writer, writer->plans[p].hoisted, NULL);
    }
    items_include_name(&writer->items, STR("triton"));
    items_include_name(&writer->items, STR("tl"));
    if (writer->wrapper != WRAPPER_NONE) items_include_name(&writer->items, STR("torch"));
    items_include_changes(&writer->items);
}

/// Whether the name has a value before the first kernel.
static bool binds_early(const ModuleWriter *writer, const char *name) {
    for (LIST_EACH(int, i, writer->items)) {
        const Item *item = &writer->items.items[i];
        if (!item->is_included) continue;
        if (map_has(&item->binds, str_from(name))) return true;
        if (item->function && item->function->is_jit) return false;
    }
    return false;
}

static void write_imports(const ModuleWriter *writer, Buffer *out, const char *body) {
    if (writer->wrapper == WRAPPER_TRITON_OP && strstr(body, "typing."))
        buffer_puts(out, "import typing\n\n");
    if (writer->wrapper != WRAPPER_NONE && strstr(body, "_read_number(") &&
        !binds_early(writer, "warnings"))
        buffer_puts(out, "import warnings\n\n");
    if (writer->wrapper != WRAPPER_NONE && !binds_early(writer, "torch"))
        buffer_puts(out, "import torch\n");
    if (!binds_early(writer, "triton")) buffer_puts(out, "import triton\n");
    if (!binds_early(writer, "tl")) buffer_puts(out, "import triton.language as tl\n");
    if (kernels_mention(writer, "math.") && !binds_early(writer, "math"))
        buffer_puts(out, "import math\n");
    if (kernels_mention(writer, "libdevice.") && !binds_early(writer, "libdevice"))
        buffer_puts(out, "from triton.language.extra import libdevice\n");
}

/// The text with the line ends of the user's file.
static const char *with_line_ends(Arena *arena, const Source *source, const char *text) {
    const char *newline = memchr(source->text.data, '\n', source->text.size);
    bool is_crlf = newline && newline > source->text.data && newline[-1] == '\r';
    if (!is_crlf) return text;
    Buffer out = buffer_new(arena);
    for (const char *at = text; *at; at++) {
        if (*at == '\r' && at[1] == '\n') continue;
        if (*at == '\n') buffer_putc(&out, '\r');
        buffer_putc(&out, *at);
    }
    return buffer_text(&out);
}

/// The first place where a piece of what forwards store stands, as a person would write it.
static const char *with_piece(Arena *arena, const char *text, const SavedPiece *piece) {
    const char *at = strstr(text, piece->from);
    if (!at) return text;
    const char *line = at;
    while (line > text && line[-1] != '\n') line--;
    Buffer out = buffer_sized(arena, strlen(text) + strlen(piece->to) + 256);
    buffer_add(&out, text, (size_t)(at - text));
    for (const char *c = piece->to; *c; c++) {
        buffer_putc(&out, *c);
        if (*c == '\n') buffer_printf(&out, "%*s", (int)strspn(line, " "), "");
    }
    buffer_puts(&out, at + strlen(piece->from));
    return buffer_text(&out);
}

const char *backward_module(Arena *arena, const Snapshot *snapshot, Backward *const *backwards,
                            int count, const BackwardOptions *options, Diagnostics *diagnostics) {
    WrapperKind wrapper = options ? options->wrapper : WRAPPER_AUTOGRAD;
    ModuleWriter writer = {.arena = arena,
                           .snapshot = snapshot,
                           .module = snapshot->module,
                           .wrapper = wrapper,
                           .diagnostics = diagnostics};
    writer.plans = ARENA_ARRAY(arena, LaunchPlan, count + 1);
    Backward **derived = ARENA_ARRAY(arena, Backward *, count + 1);
    for (int i = 0; i < count; i++) {
        if (backwards[i]->status != BACKWARD_DERIVED) continue;
        derived[writer.plan_count] = backwards[i];
        writer.plans[writer.plan_count++] = launch_plan(arena, snapshot->module, backwards[i]);
    }
    writer.items = module_items(arena, writer.module);
    hoist_kernels(&writer, derived);
    const NumberNotes notes = {&writer.notes, snapshot, diagnostics};
    scalars_cut(arena, writer.module, writer.plans, writer.plan_count, &notes);
    if (wrapper == WRAPPER_TRITON_OP) plan_operators(&writer);
    if (wrapper != WRAPPER_NONE) launchers_find(&writer);
    include_needs(&writer);
    settle_kernel_names(&writer, derived);
    Buffer out = buffer_new(arena), body = buffer_new(arena);
    write_items(&writer, &body);
    const char *items = buffer_text(&body);
    for (LIST_EACH(int, i, snapshot->saved_pieces))
        items = with_piece(arena, items, &snapshot->saved_pieces.items[i]);
    write_header(&writer, &out);
    write_imports(&writer, &out, items);
    buffer_puts(&out, items);
    const char *helpers =
        helpers_text(arena, wrapper == WRAPPER_NONE ? "" : items, find_helper, &writer);
    if (*helpers) buffer_printf(&out, "\n\n%s", helpers);
    return with_line_ends(arena, snapshot->module->source, buffer_text(&out));
}
