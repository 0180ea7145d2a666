// What stands behind a refused call is found by giving its helper some rule, which is never kept: the derivation then says what is refused next.
#include "server/phases/extract.h"

#include "analysis/ops/op.h"
#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/backward.h"
#include "server/model/candidate.h"
#include "server/text/resolve.h"

/// What a person still reads as one question.
enum { MOST_HELPERS = 8, MOST_PARAMETERS = 8 };

typedef struct Extraction {
    Arena *arena;
    const Snapshot *snapshot;
    const Kernel *kernel;
    Range call;
    Buffer body;                          // the call in words of the helper's parameters
    const char *names[MOST_PARAMETERS];   // of these
    const char *values[MOST_PARAMETERS];  // what the kernel passes for them
    bool constexprs[MOST_PARAMETERS];
    int count;
    bool is_too_much;
    uint32_t copied;  // so far of the call's text
} Extraction;

/// What the names of an argument are.
typedef struct ArgumentNames {
    const Extraction *extraction;
    bool any, others;  // names that are the kernel's own; some of them no constexpr parameter
} ArgumentNames;

static const ParameterDefinition *parameter_named(const FunctionDefinition *definition, Str name) {
    for (int i = 0; i < definition->parameter_count; i++)
        if (str_equal(definition->parameters[i].name, name)) return &definition->parameters[i];
    return NULL;
}

typedef struct BoundName {
    const Source *source;
    Str name;
    bool is_found;
} BoundName;

static void see_target(void *context, SyntaxNode identifier, bool is_item) {
    BoundName *search = context;
    (void)is_item;
    search->is_found |= str_equal(node_text(search->source, identifier), search->name);
}

static bool see_binding(void *context, SyntaxNode node) {
    BoundName *search = context;
    SyntaxKind kind = node_kind(node);
    bool binds =
        kind == SYNTAX_ASSIGNMENT || kind == SYNTAX_AUGMENTED_ASSIGNMENT || kind == SYNTAX_FOR;
    if (binds) syntax_targets(node_field(node, "left"), see_target, search);
    return !search->is_found;
}

/// Whether the kernel itself gives the name a value.
static bool is_local(const Extraction *extraction, Str name) {
    BoundName search = {extraction->snapshot->source, name, false};
    syntax_walk(extraction->kernel->definition->body, see_binding, &search);
    return search.is_found;
}

static bool see_name(void *context, SyntaxNode node) {
    ArgumentNames *names = context;
    const Extraction *extraction = names->extraction;
    if (node_kind(node) != SYNTAX_IDENTIFIER) return true;
    Str name = node_text(extraction->snapshot->source, node);
    const ParameterDefinition *parameter = parameter_named(extraction->kernel->definition, name);
    if (!parameter && !is_local(extraction, name)) return true;
    names->any = true;
    names->others |= !parameter || !parameter->is_constexpr;
    return true;
}

static void copy_until(Extraction *extraction, uint32_t end) {
    const char *text = extraction->snapshot->source->text.data;
    buffer_add(&extraction->body, text + extraction->copied, end - extraction->copied);
    extraction->copied = end;
}

static int find_value(const Extraction *extraction, const char *value) {
    for (int i = 0; i < extraction->count; i++)
        if (strcmp(extraction->values[i], value) == 0) return i;
    return -1;
}

/// An argument becomes a parameter, unless no name of the kernel is in it. Of lists and tuples, each item.
static void take_argument(Extraction *extraction, SyntaxNode node) {
    Arena *arena = extraction->arena;
    const Source *source = extraction->snapshot->source;
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_KEYWORD_ARGUMENT) {
        take_argument(extraction, node_field(node, "value"));
        return;
    }
    if (kind == SYNTAX_LIST || kind == SYNTAX_TUPLE) {
        for (uint32_t i = 0; i < node_child_count(node); i++)
            take_argument(extraction, node_child(node, i));
        return;
    }
    ArgumentNames names = {.extraction = extraction};
    syntax_walk(node, see_name, &names);
    if (!names.any) return;
    const char *value = str_dup(arena, node_text(source, node));
    int known = find_value(extraction, value);
    if (known < 0 && extraction->count == MOST_PARAMETERS) {
        extraction->is_too_much = true;
        return;
    }
    if (known < 0) {
        known = extraction->count++;
        extraction->values[known] = value;
        extraction->constexprs[known] = !names.others;
        extraction->names[known] =
            kind == SYNTAX_IDENTIFIER ? value : arena_printf(arena, "value_%d", known);
    }
    Range range = node_range(source, node);
    copy_until(extraction, range.start);
    buffer_puts(&extraction->body, extraction->names[known]);
    extraction->copied = range.end;
}

typedef struct CallAt {
    Range range;
    const Op *op;
} CallAt;

static bool see_op(void *context, Op *op) {
    CallAt *search = context;
    bool is_it = op->range.source == search->range.source &&
                 op->range.start == search->range.start && op->range.end == search->range.end;
    if (is_it && op->result_count == 1) search->op = op;
    return true;
}

/// Whether the place is a call in the kernel's own text of an operation that does nothing but compute.
static bool is_call(Extraction *extraction, SyntaxNode *node) {
    const FunctionDefinition *definition = extraction->kernel->definition;
    Range range = extraction->call;
    if (range.source != extraction->snapshot->source || range.start < definition->range.start ||
        range.end > definition->range.end)
        return false;
    CallAt search = {range, NULL};
    region_walk(extraction->kernel->function->body, see_op, &search);
    if (!search.op || op_rows[search.op->code].effects) return false;
    *node = node_at(definition->node, range.start, range.end);
    while (!node_is_null(*node) && node_kind(*node) != SYNTAX_CALL) *node = node_parent(*node);
    if (node_is_null(*node)) return false;
    Range found = node_range(range.source, *node);
    return found.start == range.start && found.end == range.end;
}

/// The helper's definition below its decorator. `*is_there`: the file has it, from a call before.
static const char *define(const Extraction *extraction, Str callee, const char *head,
                          const char **name, bool *is_there) {
    Arena *arena = extraction->arena;
    Str text = extraction->snapshot->source->text;
    size_t start = callee.size;
    while (start > 0 && callee.data[start - 1] != '.') start--;
    Str last = {callee.data + start, callee.size - start};
    const char *base =
        arena_printf(arena, "%s_%.*s", extraction->kernel->function->name, STR_ARGS(last));
    *name = base;
    for (int i = 2;; *name = arena_printf(arena, "%s_%d", base, i++)) {
        const char *whole =
            arena_printf(arena, "def %s(%s):\n    return %s\n", *name, head,
                         arena_strndup(arena, extraction->body.data, extraction->body.size));
        *is_there = str_contains(text, str_from(whole));
        if (*is_there || !str_contains(text, str_from(*name))) return whole;
    }
}

/// `triton.jit` as the file writes it, without arguments.
static Str decorator_of(const FunctionDefinition *definition, const Source *source) {
    for (int i = definition->decorators.count - 1; i >= 0; i--) {
        Str text = node_text(source, definition->decorators.items[i]);
        const char *open = memchr(text.data, '(', text.size);
        if (open) text.size = (size_t)(open - text.data);
        text = str_trim(text);
        if (str_starts(text, "@")) text = str_trim((Str){text.data + 1, text.size - 1});
        if (str_ends(text, "jit")) return text;
    }
    return (Str){0};
}

static Str annotation_of(const FunctionDefinition *definition) {
    for (int i = 0; i < definition->parameter_count; i++)
        if (definition->parameters[i].is_constexpr) return definition->parameters[i].annotation;
    return (Str){0};
}

static size_t line_above(Str text, size_t at) {
    while (at > 0 && text.data[at - 1] != '\n') at--;
    return at;
}

/// Above the kernel's decorators and its comment.
static size_t place_above(const Extraction *extraction) {
    Str text = extraction->snapshot->source->text;
    size_t at = line_above(text, extraction->kernel->definition->range.start);
    while (at > 0) {
        size_t before = line_above(text, at - 1);
        if (text.data[before] != '#') break;
        at = before;
    }
    return at;
}

/// The text with the helper and a call of it.
static const char *with_helper(Extraction *extraction, SyntaxNode call) {
    Arena *arena = extraction->arena;
    const Source *source = extraction->snapshot->source;
    const FunctionDefinition *definition = extraction->kernel->definition;
    SyntaxNode arguments = node_field(call, "arguments");
    Str text = source->text, decorator = decorator_of(definition, source);
    Str callee = node_text(source, node_field(call, "function"));
    extraction->body = buffer_new(arena);
    extraction->copied = extraction->call.start;
    for (uint32_t i = 0; i < node_child_count(arguments); i++)
        take_argument(extraction, node_child(arguments, i));
    copy_until(extraction, extraction->call.end);
    if (extraction->is_too_much || !extraction->count || !decorator.size) return NULL;
    if (memchr(callee.data, '(', callee.size)) return NULL;
    Buffer head = buffer_new(arena), passed = buffer_new(arena);
    for (int i = 0; i < extraction->count; i++) {
        Str annotation = extraction->constexprs[i] ? annotation_of(definition) : (Str){0};
        buffer_printf(&head, "%s%s%s%.*s", i ? ", " : "", extraction->names[i],
                      annotation.size ? ": " : "", STR_ARGS(annotation));
        buffer_printf(&passed, "%s%s", i ? ", " : "", extraction->values[i]);
    }
    const char *name;
    bool is_there;
    const char *helper = define(extraction, callee, buffer_text(&head), &name, &is_there);
    size_t above = is_there ? 0 : place_above(extraction);
    Range range = extraction->call;
    Buffer out = buffer_sized(arena, text.size + 1);
    buffer_add(&out, text.data, above);
    if (!is_there) buffer_printf(&out, "@%.*s\n%s\n\n", STR_ARGS(decorator), helper);
    buffer_add(&out, text.data + above, range.start - above);
    buffer_printf(&out, "%s(%s)", name, buffer_text(&passed));
    buffer_add(&out, text.data + range.end, text.size - range.end);
    return buffer_text(&out);
}

// --- one after the other

/// A rule for the helper that lets a gradient pass.
static const char *some_rule(Arena *arena, const FunctionDefinition *helper) {
    Buffer out = buffer_new(arena);
    const char *comma = "";
    buffer_printf(&out, "# tad: backward of %s: ",
                  helper_signature(arena, str_dup(arena, helper->name), helper));
    for (int i = 0; i < helper->parameter_count; i++) {
        if (helper->parameters[i].is_constexpr) continue;
        buffer_printf(&out, "%sgrad", comma);
        comma = ", ";
    }
    return buffer_text(&out);
}

/// What is refused in `tried` is put into a helper, or that helper gets some rule. False where nothing is refused, or it cannot be.
static bool step(Arena *arena, const char *path, const char *kernel_name, const char **tried,
                 bool *is_new) {
    ImportResolver *resolver = import_resolver_new(NULL);
    SnapshotOptions options = {.resolver = import_resolver_interface(resolver),
                               .skip_checks = true};
    const Snapshot *snapshot = snapshot_build(path, str_from(*tried), &options);
    const Kernel *kernel = snapshot_find_kernel(snapshot, str_from(kernel_name));
    const BackwardOptions wrapper = {.wrapper = WRAPPER_AUTOGRAD};
    Diagnostics ignored = {.arena = arena};
    const Backward *backward =
        kernel ? backward_derive(arena, snapshot, kernel, &wrapper, &ignored) : NULL;
    bool is_made = false;
    if (backward && backward->status == BACKWARD_REFUSED) {
        const FunctionDefinition *around =
            snapshot_function_around(snapshot, backward->reason_range);
        Extraction extraction = {
            .arena = arena, .snapshot = snapshot, .kernel = kernel, .call = backward->reason_range};
        SyntaxNode call;
        *is_new = around == kernel->definition;
        if (*is_new && is_call(&extraction, &call)) {
            const char *made = with_helper(&extraction, call);
            is_made = made != NULL;
            if (made) *tried = made;
        } else if (around && !*is_new) {
            OpenHelpers helpers = {0};
            OpenHelper helper = {.definition = around,
                                 .name = str_dup(arena, around->name),
                                 .rule = some_rule(arena, around)};
            LIST_PUSH(arena, &helpers, helper);
            *tried = candidate_insert(arena, snapshot->source->text, &helpers, NULL);
            is_made = true;
        }
    }
    snapshot_release(snapshot);
    import_resolver_free(resolver);
    return is_made;
}

/// Without the lines that `extract_refused` has put in, which the text had none of.
static const char *without_rules(Arena *arena, const char *text, const char *before) {
    Buffer out = buffer_new(arena);
    for (const char *at = text; *at;) {
        size_t size = strcspn(at, "\n");
        Str line = {at, size};
        size += at[size] == '\n';
        bool is_rule = str_starts(str_trim(line), "# tad: backward of ") &&
                       !str_contains(str_from(before), line);
        if (!is_rule) buffer_add(&out, at, size);
        at += size;
    }
    return buffer_text(&out);
}

const char *extract_refused(Arena *arena, const char *path, const char *text, const char *kernel) {
    const char *tried = text;
    int made = 0;
    for (int i = 0; i < 2 * MOST_HELPERS; i++) {
        bool is_new = false;
        if (!step(arena, path, kernel, &tried, &is_new)) break;
        made += is_new;
    }
    return made ? without_rules(arena, tried, text) : NULL;
}
