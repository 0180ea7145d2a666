// The emitted module: what the forward needs of the user's file as it stands there, the derived kernels, the differentiable launchers.
#include "autodiff/module_text.h"

#include <ctype.h>
#include <string.h>

#include "analysis/launch.h"
#include "autodiff/hoist.h"
#include "autodiff/operator_text.h"

/// A statement at module level with the names that it binds and mentions.
typedef struct Item {
    SyntaxNode node;
    Range range;
    Map binds;
    Map mentions;
    bool is_included;
    bool is_future;
    const char *left_out;  // why it is not written: it launches kernels without gradients; or NULL
    bool is_noted;
    const FunctionDefinition *function;  // the top-level def it is, or NULL
} Item;

typedef struct ModuleWriter {
    Arena *arena;
    const Snapshot *snapshot;
    const Module *module;
    LIST(Item) items;
    LaunchPlan *plans;
    OperatorPlan *operators;  // one per plan, with WRAPPER_TRITON_OP
    int plan_count;
    WrapperKind wrapper;
    const char *space;  // the namespace of operators
    LIST(Item *) launchers;
    LIST(const char *) launcher_texts;
    Names notes;
} ModuleWriter;

typedef struct NameCollector {
    ModuleWriter *writer;
    Item *item;
} NameCollector;

/// Whether an identifier stands for a thing: it is not the name of an attribute or of a keyword argument.
static bool is_mention(SyntaxNode node) {
    if (node_kind(node) != SYNTAX_IDENTIFIER) return false;
    SyntaxNode parent = node_parent(node);
    SyntaxKind kind = node_kind(parent);
    if (kind == SYNTAX_ATTRIBUTE) return node_same(node_field(parent, "object"), node);
    return kind != SYNTAX_KEYWORD_ARGUMENT || !node_same(node_field(parent, "name"), node);
}

static bool visit_mention(void *context, SyntaxNode node) {
    NameCollector *collector = context;
    if (is_mention(node))
        map_set(&collector->item->mentions, node_text(collector->writer->module->source, node),
                (void *)1);
    return true;
}

static void bind_targets(ModuleWriter *writer, Item *item, SyntaxNode node) {
    if (node_is_null(node)) return;
    if (node_kind(node) == SYNTAX_IDENTIFIER) {
        map_set(&item->binds, node_text(writer->module->source, node), (void *)1);
        return;
    }
    if (node_kind(node) != SYNTAX_PATTERN_LIST && node_kind(node) != SYNTAX_TUPLE_PATTERN) return;
    for (uint32_t i = 0; i < node_child_count(node); i++)
        bind_targets(writer, item, node_child(node, i));
}

static void bind_import(ModuleWriter *writer, Item *item, SyntaxNode node) {
    const Source *source = writer->module->source;
    // `from a.b import c` binds no `a`.
    uint32_t first = node_kind(node) == SYNTAX_IMPORT_FROM ? 1 : 0;
    for (uint32_t i = first; i < node_child_count(node); i++) {
        SyntaxNode child = node_child(node, i);
        SyntaxKind kind = node_kind(child);
        if (kind == SYNTAX_ALIASED_IMPORT)
            map_set(&item->binds, node_text(source, node_field(child, "alias")), (void *)1);
        if (kind == SYNTAX_WILDCARD_IMPORT) item->is_included = true;
        if (kind != SYNTAX_DOTTED_NAME) continue;
        Str name = node_text(source, child);
        size_t dot = 0;
        while (dot < name.size && name.data[dot] != '.') dot++;
        map_set(&item->binds, (Str){name.data, dot}, (void *)1);
    }
}

static bool visit_binding(void *context, SyntaxNode node) {
    NameCollector *collector = context;
    ModuleWriter *writer = collector->writer;
    const Source *source = writer->module->source;
    switch (node_kind(node)) {
    case SYNTAX_FUNCTION:
    case SYNTAX_CLASS:
        map_set(&collector->item->binds, node_text(source, node_field(node, "name")), (void *)1);
        return false;
    case SYNTAX_ASSIGNMENT:
        bind_targets(writer, collector->item, node_field(node, "left"));
        return false;
    case SYNTAX_IMPORT:
    case SYNTAX_IMPORT_FROM: bind_import(writer, collector->item, node); return false;
    case SYNTAX_FUTURE_IMPORT:
        collector->item->is_included = collector->item->is_future = true;
        return false;
    default: return true;
    }
}

static void collect_items(ModuleWriter *writer) {
    SyntaxNode root = syntax_root(writer->module->tree);
    for (uint32_t i = 0; i < node_child_count(root); i++) {
        SyntaxNode node = node_child(root, i);
        if (node_kind(node) == SYNTAX_COMMENT) continue;
        Item item = {.node = node,
                     .range = node_range(writer->module->source, node),
                     .binds = map_new(writer->arena),
                     .mentions = map_new(writer->arena)};
        NameCollector collector = {writer, &item};
        syntax_walk(node, visit_binding, &collector);
        syntax_walk(node, visit_mention, &collector);
        for (LIST_EACH(int, f, writer->module->functions)) {
            const FunctionDefinition *function = writer->module->functions.items[f];
            Range range = node_range(writer->module->source, function->node);
            bool whole = range.start >= item.range.start && range.end == item.range.end;
            if (whole &&
                (node_kind(node) == SYNTAX_FUNCTION || node_kind(node) == SYNTAX_DECORATED))
                item.function = function;
        }
        LIST_PUSH(writer->arena, &writer->items, item);
    }
}

static void include_name(ModuleWriter *writer, Str name);

static void include_item(ModuleWriter *writer, Item *item) {
    if (item->is_included || item->left_out) return;
    item->is_included = true;
    for (int m = 0; m < item->mentions.count; m++)
        include_name(writer, item->mentions.entries[m].key);
}

/// Includes what binds `name`, and what that mentions in turn.
static void include_name(ModuleWriter *writer, Str name) {
    for (LIST_EACH(int, i, writer->items)) {
        Item *item = &writer->items.items[i];
        if (map_has(&item->binds, name)) include_item(writer, item);
    }
}

static bool binds(const ModuleWriter *writer, const char *name) {
    for (LIST_EACH(int, i, writer->items))
        if (writer->items.items[i].is_included &&
            map_has(&writer->items.items[i].binds, str_from(name)))
            return true;
    return false;
}

static bool binds_it(const void *writer, const char *name) { return binds(writer, name); }

static bool has_plan(const ModuleWriter *writer, const FunctionDefinition *kernel) {
    for (int p = 0; p < writer->plan_count; p++)
        if (writer->plans[p].kernel == kernel) return !writer->plans[p].is_apart;
    return false;
}

/// Whether a launch of a kernel with a backward lies in the function or class.
static bool launches_in(const ModuleWriter *writer, const Item *item) {
    for (LIST_EACH(int, k, writer->module->launches)) {
        const LaunchSite *site = &writer->module->launches.items[k];
        if (site->launcher && site->range.start >= item->range.start &&
            site->range.end <= item->range.end && has_plan(writer, site->kernel))
            return true;
    }
    return false;
}

/// The class of a top-level item, decorated or not; a null node for others.
static SyntaxNode class_of(const Item *item) {
    SyntaxNode node = item->node;
    if (node_kind(node) == SYNTAX_DECORATED) node = node_field(node, "definition");
    return node_kind(node) == SYNTAX_CLASS ? node : (SyntaxNode){0};
}

static bool is_autograd_function(const ModuleWriter *writer, SyntaxNode class) {
    const Source *source = writer->module->source;
    SyntaxNode bases = node_field(class, "superclasses");
    for (uint32_t i = 0; !node_is_null(bases) && i < node_child_count(bases); i++)
        if (str_ends(node_text(source, node_child(bases, i)), "Function")) return true;
    return false;
}

/// Decorators under which a launcher has gradients. Those that take them away are left out.
static const char *kept_decorators(const ModuleWriter *writer, const FunctionDefinition *function) {
    static const char *const dropped[] = {"no_grad", "inference_mode", "custom_op", "triton_op",
                                          "register_fake"};
    Buffer out = buffer_new(writer->arena);
    for (LIST_EACH(int, i, function->decorators)) {
        Str text = node_text(writer->module->source, function->decorators.items[i]);
        bool is_dropped = false;
        for (size_t k = 0; k < sizeof dropped / sizeof *dropped; k++)
            is_dropped = is_dropped || strstr(str_dup(writer->arena, text), dropped[k]);
        if (!is_dropped)
            buffer_printf(&out, "%s%.*s\n", str_starts(text, "@") ? "" : "@", STR_ARGS(text));
    }
    return buffer_text(&out);
}

static const char *text_with_launches(ModuleWriter *writer, const Item *item, const char **why) {
    SyntaxNode class = class_of(item);
    if (!node_is_null(class) && is_autograd_function(writer, class)) {
        *why = "it is an autograd.Function already";
        return NULL;
    }
    const FunctionDefinition *function = item->function;
    Range range = function ? node_range(writer->module->source, function->node) : item->range;
    const char *text = writer->operators
                           ? operator_launcher_text(writer->arena, writer->module, range,
                                                    writer->operators, writer->plan_count, why)
                           : launcher_text(writer->arena, writer->snapshot, range, writer->plans,
                                           writer->plan_count, why);
    return text && function
               ? arena_printf(writer->arena, "%s%s", kept_decorators(writer, function), text)
               : text;
}

/// Whether code is there to be run, not to be called: it prints, measures or compares.
static bool is_script(const Item *item) {
    static const char *const words[] = {"print", "do_bench", "perf_report", "assert_close",
                                        "allclose"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (map_has(&item->mentions, str_from(words[i]))) return true;
    return false;
}

/// Whether it is a function or class that may launch kernels.
static bool is_host_code(const Item *item) {
    return item->function ? !item->function->is_jit : !node_is_null(class_of(item));
}

static void note_left_out(ModuleWriter *writer, Item *item) {
    if (item->is_noted) return;
    item->is_noted = true;
    Str name = item->function
                   ? item->function->name
                   : node_text(writer->module->source, node_field(class_of(item), "name"));
    const char *note =
        arena_printf(writer->arena, "`%.*s` is left out: %s.", STR_ARGS(name), item->left_out);
    LIST_PUSH(writer->arena, &writer->notes, note);
}

typedef struct StraySearch {
    const ModuleWriter *writer;
    bool is_launcher;                  // then kernels without a backward count, too
    const FunctionDefinition *kernel;  // found
} StraySearch;

static bool is_in_launch(const Module *module, Range range) {
    for (LIST_EACH(int, k, module->launches)) {
        Range subscript = node_range(module->source, module->launches.items[k].subscript);
        if (range.start >= subscript.start && range.end <= subscript.end) return true;
    }
    return false;
}

/// A kernel is looked at (`kernel.best_config`), defined or bound, or only called by another.
static bool is_harmless(const Module *module, SyntaxNode node) {
    SyntaxNode parent = node_parent(node);
    switch (node_kind(parent)) {
    case SYNTAX_FUNCTION: return true;
    case SYNTAX_ASSIGNMENT: return node_same(node_field(parent, "left"), node);
    case SYNTAX_ATTRIBUTE: {
        Str member = node_text(module->source, node_field(parent, "attribute"));
        return !str_is(member, "run") && !str_is(member, "fn");
    }
    default: return false;
    }
}

static bool visit_stray(void *context, SyntaxNode node) {
    StraySearch *search = context;
    const Module *module = search->writer->module;
    for (int i = 0; i < module->functions.count && node_kind(node) == SYNTAX_FUNCTION; i++)
        if (node_same(module->functions.items[i]->node, node) && module->functions.items[i]->is_jit)
            return false;
    if (search->kernel || !is_mention(node)) return true;
    Str name = node_text(module->source, node);
    for (int i = 0; i < module->functions.count; i++) {
        const FunctionDefinition *kernel = module->functions.items[i];
        if (!kernel->is_jit || kernel->is_helper || kernel->returns_value ||
            !str_equal(kernel->name, name))
            continue;
        if (!search->is_launcher && !has_plan(search->writer, kernel)) continue;
        if (is_in_launch(module, node_range(module->source, node)) || is_harmless(module, node))
            continue;
        search->kernel = kernel;
    }
    return true;
}

/// A kernel with a backward that the code uses otherwise than to launch it: what comes of that is not known.
static const FunctionDefinition *stray_kernel(const ModuleWriter *writer, const Item *item) {
    StraySearch search = {.writer = writer, .is_launcher = launches_in(writer, item)};
    syntax_walk(item->node, visit_stray, &search);
    return search.kernel;
}

/// `KERNELS = {"gelu": gelu_kernel}`, `run = partial(gelu_kernel, ...)`: names that stand for kernels.
static bool keeps_kernels(const ModuleWriter *writer, const Item *item) {
    SyntaxNode node = item->node;
    if (node_kind(node) == SYNTAX_EXPRESSION_STATEMENT) node = node_child(node, 0);
    SyntaxNode value = node_field(node, "right");
    if (node_kind(node) != SYNTAX_ASSIGNMENT || node_is_null(value)) return false;
    SyntaxKind kind = node_kind(value);
    Str callee = kind == SYNTAX_CALL
                     ? node_text(writer->module->source, node_field(value, "function"))
                     : (Str){0};
    bool keeps = kind == SYNTAX_DICTIONARY || kind == SYNTAX_LIST || kind == SYNTAX_TUPLE ||
                 str_ends(callee, "partial");
    return keeps && stray_kernel(writer, item);
}

static bool has_parameter(const Item *item, Str name) {
    for (int p = 0; item->function && p < item->function->parameter_count; p++)
        if (str_equal(item->function->parameters[p].name, name)) return true;
    return false;
}

static const char *mentioned(const ModuleWriter *writer, const Item *item, const Map *names) {
    for (int m = 0; m < item->mentions.count; m++) {
        Str name = item->mentions.entries[m].key;
        if (map_has(names, name) && !map_has(&item->binds, name) && !has_parameter(item, name))
            return str_dup(writer->arena, name);
    }
    return NULL;
}

static void bind_names(const Item *item, Map *names) {
    for (int k = 0; k < item->binds.count; k++) map_set(names, item->binds.entries[k].key, names);
}

/// What calls what is left out has no gradients either.
static void leave_out_callers(ModuleWriter *writer) {
    Map kept = map_new(writer->arena), left_out = map_new(writer->arena);
    for (LIST_EACH(int, i, writer->items)) {
        const Item *item = &writer->items.items[i];
        if (item->left_out) bind_names(item, &left_out);
        if (!is_host_code(item) && keeps_kernels(writer, item)) bind_names(item, &kept);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (LIST_EACH(int, i, writer->items)) {
            Item *item = &writer->items.items[i];
            if (item->left_out || !is_host_code(item)) continue;
            const char *kernels = mentioned(writer, item, &kept);
            const char *caller = kernels ? NULL : mentioned(writer, item, &left_out);
            if (!kernels && !caller) continue;
            item->left_out =
                kernels ? arena_printf(writer->arena, "it takes a kernel from `%s`", kernels)
                        : arena_printf(writer->arena, "it calls `%s`", caller);
            if (kernels && !is_script(item)) note_left_out(writer, item);
            bind_names(item, &left_out);
            changed = true;
        }
    }
}

static void find_launchers(ModuleWriter *writer) {
    for (LIST_EACH(int, i, writer->items)) {
        Item *item = &writer->items.items[i];
        if (!is_host_code(item)) continue;
        const FunctionDefinition *stray = stray_kernel(writer, item);
        if (stray)
            item->left_out = arena_printf(
                writer->arena, "it uses `%.*s` otherwise than in a launch, `%.*s[grid](...)`",
                STR_ARGS(stray->name), STR_ARGS(stray->name));
        else if (launches_in(writer, item) && !text_with_launches(writer, item, &item->left_out))
            item->left_out = item->left_out ? item->left_out : "it is not understood";
        if (item->left_out && (!stray || !is_script(item))) note_left_out(writer, item);
    }
    leave_out_callers(writer);
    for (LIST_EACH(int, i, writer->items)) {
        Item *item = &writer->items.items[i];
        if (!is_host_code(item) || !launches_in(writer, item)) continue;
        if (item->left_out) {
            note_left_out(writer, item);
            continue;
        }
        const char *why = NULL;
        LIST_PUSH(writer->arena, &writer->launchers, item);
        LIST_PUSH(writer->arena, &writer->launcher_texts, text_with_launches(writer, item, &why));
    }
}

static const char *launcher_text_of(const ModuleWriter *writer, const Item *item) {
    for (LIST_EACH(int, i, writer->launchers))
        if (writer->launchers.items[i] == item) return writer->launcher_texts.items[i];
    return NULL;
}

static bool is_import(const Item *item) {
    SyntaxKind kind = node_kind(item->node);
    return kind == SYNTAX_IMPORT || kind == SYNTAX_IMPORT_FROM || kind == SYNTAX_TRY ||
           kind == SYNTAX_IF;
}

static bool is_definition(const Item *item) {
    SyntaxKind kind = node_kind(item->node);
    return kind == SYNTAX_FUNCTION || kind == SYNTAX_DECORATED || kind == SYNTAX_CLASS;
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
        buffer_printf(out, "\n\n%s", autograd_class(arena, &writer->plans[p]));
    if (writer->operators && !writer->operators[p].refusal)
        buffer_printf(out, "\n\n%s", operator_text(arena, &writer->operators[p], writer->space));
}

static void write_items(ModuleWriter *writer, Buffer *out) {
    bool after_definition = false, any = false;
    bool *written = ARENA_ARRAY(writer->arena, bool, writer->plan_count + 1);
    for (int pass = 0; pass < 2; pass++) {
        for (LIST_EACH(int, i, writer->items)) {
            Item *item = &writer->items.items[i];
            if (!item->is_included || item->is_future || is_import(item) != (pass == 0)) continue;
            const char *launcher = launcher_text_of(writer, item);
            bool definition = is_definition(item);
            if (pass == 1) buffer_puts(out, definition || after_definition || !any ? "\n\n" : "");
            if (launcher)
                buffer_printf(out, "%s\n", launcher);
            else
                buffer_printf(out, "%.*s\n", STR_ARGS(source_slice(item->range)));
            if (pass == 1) any = true;
            after_definition = definition;
            for (int p = 0; definition && p < writer->plan_count; p++) {
                if (!item->function || writer->plans[p].kernel != item->function) continue;
                write_backward(writer, out, p);
                written[p] = true;
            }
        }
    }
    // Forward kernels below an `if` or `try`, or inside a function.
    for (int p = 0; p < writer->plan_count; p++)
        if (!written[p]) write_backward(writer, out, p);
}

static const char header_start[] = "\"\"\"Backward of ", header_end[] = ", derived by tad-lsp.\n";

Str backward_origin(Str text) {
    if (!str_starts(text, header_start)) return (Str){0};
    Str name = {text.data + sizeof header_start - 1, 0};
    while (name.data + name.size < text.data + text.size && name.data[name.size] != '\n')
        name.size++;
    name.size++;  // with the end of the line
    if (name.data + name.size > text.data + text.size || !str_ends(name, header_end))
        return (Str){0};
    return (Str){name.data, name.size - (sizeof header_end - 1)};
}

static void write_header(ModuleWriter *writer, Buffer *out) {
    const char *path = writer->module->source->path, *slash = strrchr(path, '/');
    buffer_printf(out, "%s%s%s\n", header_start, *path ? (slash ? slash + 1 : path) : "the kernels",
                  header_end);
    buffer_puts(out, "The forward kernels are the original's; edit the rest as you like.\n");
    for (LIST_EACH(int, i, writer->notes)) buffer_printf(out, "%s\n", writer->notes.items[i]);
    buffer_puts(out, "\"\"\"\n\n");
    for (LIST_EACH(int, i, writer->items))
        if (writer->items.items[i].is_future)
            buffer_printf(out, "%.*s\n\n", STR_ARGS(source_slice(writer->items.items[i].range)));
}

static bool kernels_mention(const ModuleWriter *writer, const char *word) {
    for (int p = 0; p < writer->plan_count; p++)
        if (strstr(writer->plans[p].backward->kernel_text, word)) return true;
    return false;
}

/// Names in an emitted kernel that the user's file binds (combine functions of reductions, ...).
static void include_names_in(ModuleWriter *writer, const char *text) {
    for (const char *p = text; *p;) {
        size_t size = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        if (size && (p == text || p[-1] != '.')) include_name(writer, (Str){p, size});
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

/// Tensors whose numbers an operator takes.
static void note_numbers(ModuleWriter *writer, const LaunchPlan *plan) {
    Arena *arena = writer->arena;
    for (int p = 0; p < plan->kernel->parameter_count; p++) {
        const char *name = plan->backward->kernel->function->parameters[p].name;
        bool is_of_tensor = false;
        for (LIST_EACH(int, i, writer->module->launches)) {
            const LaunchSite *site = &writer->module->launches.items[i];
            bool is_own = site->kernel == plan->kernel;
            is_of_tensor |= is_own && launch_tensor(arena, writer->module, site, p).text;
        }
        if (is_of_tensor)
            LIST_PUSH(arena, &writer->notes,
                      arena_printf(arena,
                                   "`%s` of `%.*s` has no gradient: an operator takes a number.",
                                   name, STR_ARGS(plan->kernel->name)));
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

/// `@op.register_fake`: part of an operator whose decorator is gone.
static bool registers_with(const ModuleWriter *writer, const Item *item, const Map *launchers) {
    const Source *source = writer->module->source;
    for (int i = 0; item->function && i < item->function->decorators.count; i++) {
        SyntaxNode node = item->function->decorators.items[i];
        if (node_kind(node) == SYNTAX_DECORATOR) node = node_child(node, 0);
        if (node_kind(node) == SYNTAX_CALL) node = node_field(node, "function");
        Str object = node_kind(node) == SYNTAX_ATTRIBUTE
                         ? node_text(source, node_field(node, "object"))
                         : (Str){0};
        if (object.size && map_has(launchers, object)) return true;
    }
    return false;
}

/// Functions and classes that call what is differentiable here belong to the module: it takes the place of the user's.
static void include_callers(ModuleWriter *writer) {
    Map callable = map_new(writer->arena);
    for (LIST_EACH(int, i, writer->launchers)) bind_names(writer->launchers.items[i], &callable);
    for (bool changed = true; changed;) {
        changed = false;
        for (LIST_EACH(int, i, writer->items)) {
            Item *item = &writer->items.items[i];
            SyntaxNode class = class_of(item);
            bool is_function =
                item->function && !item->function->is_jit && item->function->returns_value;
            bool is_class = !node_is_null(class) && !is_autograd_function(writer, class);
            if (item->is_included || (!is_function && !is_class) || is_script(item)) continue;
            if (item->is_noted || registers_with(writer, item, &callable)) continue;
            if (!mentioned(writer, item, &callable)) continue;
            if (item->left_out) {
                note_left_out(writer, item);
                continue;
            }
            include_item(writer, item);
            bind_names(item, &callable);
            changed = true;
        }
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

/// Kernels inside functions and classes come to module level, where the Functions launch them.
static void hoist_kernels(ModuleWriter *writer) {
    for (int p = 0; p < writer->plan_count; p++) {
        LaunchPlan *plan = &writer->plans[p];
        if (!kernel_is_nested(plan->kernel)) continue;
        Str name = plan->kernel->name, captured = {"", 0};
        bool taken = is_taken(writer, p);
        plan->hoisted = taken ? NULL : kernel_hoisted(writer->arena, plan->kernel, &captured);
        plan->is_apart = !plan->hoisted;
        if (!plan->is_apart || writer->wrapper == WRAPPER_NONE) continue;
        const char *why = taken
                              ? "shares its name with something outside of its scope"
                              : arena_printf(writer->arena, "uses `%.*s` of the function around it",
                                             STR_ARGS(captured));
        LIST_PUSH(writer->arena, &writer->notes,
                  arena_printf(writer->arena, "`%.*s` %s: its backward kernel alone is written.",
                               STR_ARGS(name), why));
    }
}

const char *backward_module(Arena *arena, const Snapshot *snapshot, Backward *const *backwards,
                            int count, const BackwardOptions *options, Diagnostics *diagnostics) {
    (void)diagnostics;
    WrapperKind wrapper = options ? options->wrapper : WRAPPER_AUTOGRAD;
    ModuleWriter writer = {
        .arena = arena, .snapshot = snapshot, .module = snapshot->module, .wrapper = wrapper};
    writer.plans = ARENA_ARRAY(arena, LaunchPlan, count + 1);
    for (int i = 0; i < count; i++)
        if (backwards[i]->status == BACKWARD_DERIVED)
            writer.plans[writer.plan_count++] = launch_plan(arena, snapshot->module, backwards[i]);
    collect_items(&writer);
    hoist_kernels(&writer);
    scalars_cut(arena, writer.module, writer.plans, writer.plan_count, &writer.notes);
    if (wrapper == WRAPPER_TRITON_OP) plan_operators(&writer);
    if (wrapper != WRAPPER_NONE) find_launchers(&writer);
    for (LIST_EACH(int, i, writer.launchers)) include_item(&writer, writer.launchers.items[i]);
    include_callers(&writer);
    for (int p = 0; p < writer.plan_count; p++) {
        include_name(&writer, writer.plans[p].kernel->name);
        include_names_in(&writer, writer.plans[p].backward->kernel_text);
        if (writer.plans[p].hoisted) include_names_in(&writer, writer.plans[p].hoisted);
    }
    include_name(&writer, STR("triton"));
    include_name(&writer, STR("tl"));
    if (wrapper != WRAPPER_NONE) include_name(&writer, STR("torch"));
    Buffer out = buffer_new(arena), body = buffer_new(arena);
    write_items(&writer, &body);
    write_header(&writer, &out);
    if (wrapper == WRAPPER_TRITON_OP && strstr(buffer_text(&body), "typing."))
        buffer_puts(&out, "import typing\n\n");
    if (wrapper != WRAPPER_NONE && !binds(&writer, "torch")) buffer_puts(&out, "import torch\n");
    if (!binds(&writer, "triton")) buffer_puts(&out, "import triton\n");
    if (!binds(&writer, "tl")) buffer_puts(&out, "import triton.language as tl\n");
    if (kernels_mention(&writer, "math.") && !binds(&writer, "math"))
        buffer_puts(&out, "import math\n");
    if (kernels_mention(&writer, "libdevice.") && !binds(&writer, "libdevice"))
        buffer_puts(&out, "from triton.language.extra import libdevice\n");
    buffer_puts(&out, buffer_text(&body));
    const char *helpers =
        helpers_text(arena, wrapper == WRAPPER_NONE ? "" : buffer_text(&body), binds_it, &writer);
    if (*helpers) buffer_printf(&out, "\n\n%s", helpers);
    return buffer_text(&out);
}
