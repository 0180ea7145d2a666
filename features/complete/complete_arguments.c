// Completion inside calls, launches, decorators, strings and `# tad:` comments.
#include "features/complete/complete_arguments.h"

#include <string.h>

#include "analysis/syntax/syntax_nodes.h"
#include "features/complete/complete.h"
#include "features/complete/complete_names.h"
#include "features/describe/describe.h"
#include "features/names/arguments.h"
#include "features/names/values.h"

typedef struct DecoratorRow {
    const char *decorator;
    const char *name;
    const char *doc;
} DecoratorRow;

static const DecoratorRow decorator_rows[] = {
#define DECORATOR(decorator, name, doc) {decorator, name, doc},
#include "features/complete/completion.def"
#undef DECORATOR
};

typedef struct WordRow {
    const char *text;
    const char *snippet;
    const char *doc;
} WordRow;

static const WordRow word_rows[] = {
#define WORD(text, snippet, doc) {text, snippet, doc},
#include "features/complete/completion.def"
#undef WORD
};

static const WordRow launch_words[] = {
#define LAUNCH_OPTION(name, doc) {name, name, doc},
#include "features/names/launch_options.def"
#undef LAUNCH_OPTION
};

static void add_keyword(Completer *completer, Str name, const char *detail, const char *doc,
                        const char *sort) {
    const char *label = arena_printf(completer->arena, "%.*s=", STR_ARGS(name));
    CompletionItem item = {.label = label,
                           .kind = COMPLETION_KEYWORD_ARGUMENT,
                           .detail = detail,
                           .sort = arena_printf(completer->arena, "%s%s", sort, label)};
    if (doc) item.key = arena_printf(completer->arena, "text:%s", doc);
    complete_add(completer, item);
}

// --- Values of arguments

static void add_values(Completer *completer, OpCode code, Str parameter, bool in_string) {
    ArgumentValues values = argument_values(completer->arena, code, parameter);
    for (LIST_EACH(int, i, values.list)) {
        const ArgumentValue *value = &values.list.items[i];
        bool is_text = value->text[0] == '"';
        if (in_string && !is_text) continue;
        const char *label = value->text;
        if (in_string) label = arena_strndup(completer->arena, label + 1, strlen(label) - 2);
        complete_add(completer,
                     (CompletionItem){.label = label,
                                      .kind = COMPLETION_VALUE,
                                      .detail = value->doc,
                                      .sort = arena_printf(completer->arena, "0%02d", i)});
    }
    bool wants_dtype = str_is(parameter, "dtype") || str_is(parameter, "out_dtype");
    if (!wants_dtype || in_string) return;
    const char *alias = language_alias(completer->names);
    static const DTypeCode usual[] = {DTYPE_FLOAT32, DTYPE_FLOAT16, DTYPE_BFLOAT16,
                                      DTYPE_INT32,   DTYPE_INT64,   DTYPE_FLOAT64};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        complete_add(completer,
                     (CompletionItem){.label = arena_printf(completer->arena, "%s.%s", alias,
                                                            dtype_name(usual[i])),
                                      .kind = COMPLETION_DTYPE,
                                      .detail = dtype_short_name(usual[i]),
                                      .sort = arena_printf(completer->arena, "0%02d", (int)i)});
}

/// The parameter that the argument at the cursor is for, by keyword or position; size 0 where it is not known.
static Str parameter_at(const Callee *callee, const OpenBracket *open, Str keyword) {
    if (keyword.size || callee->op == OP_COUNT) return keyword;
    int count;
    const OpParameter *parameters = op_parameters(callee->op, &count);
    int index = open->commas + (callee->kind == CALLEE_METHOD ? 1 : 0);
    bool fits =
        index < count && !parameters[index].is_keyword_only && !parameters[index].is_variadic;
    return fits ? parameters[index].name : (Str){"", 0};
}

// --- Keywords

static void keywords_of_operation(Completer *completer, const Callee *callee,
                                  const OpenBracket *open, const Map *given) {
    int count;
    const OpParameter *parameters = op_parameters(callee->op, &count);
    int first = open->commas + (callee->kind == CALLEE_METHOD ? 1 : 0);
    for (int i = 0; i < count; i++) {
        const OpParameter *parameter = &parameters[i];
        bool is_passed = i < first && !parameter->is_keyword_only && given->count == 0;
        if (is_passed || parameter->is_variadic || map_has(given, parameter->name)) continue;
        if (i < (callee->kind == CALLEE_METHOD ? 1 : 0)) continue;
        const char *detail =
            parameter->default_text.size
                ? arena_printf(completer->arena, "default %.*s", STR_ARGS(parameter->default_text))
                : "required";
        add_keyword(completer, parameter->name, detail,
                    argument_documentation(callee->op, parameter->name),
                    arena_printf(completer->arena, "0%02d", i));
    }
}

static bool is_tuned(const FunctionDefinition *function, Str name) {
    for (LIST_EACH(int, i, function->tuned_names))
        if (str_equal(function->tuned_names.items[i], name)) return true;
    return false;
}

static void keywords_of_function(Completer *completer, const Callee *callee,
                                 const OpenBracket *open, const Map *given) {
    const FunctionDefinition *function = callee->function;
    const Kernel *kernel = kernel_of_function(completer->names, function);
    for (int i = 0; i < function->parameter_count; i++) {
        const ParameterDefinition *parameter = &function->parameters[i];
        bool is_passed = i < open->commas && given->count == 0;
        if (is_passed || parameter->is_variadic || map_has(given, parameter->name) ||
            is_tuned(function, parameter->name))
            continue;
        const Value *value = kernel && kernel->function && i < kernel->function->parameter_count
                                 ? kernel->function->parameters[i].value
                                 : NULL;
        const char *detail = parameter->is_constexpr ? "constexpr"
                             : value_is_told(value)  ? value_label(completer->arena, value)
                                                     : "";
        add_keyword(completer, parameter->name, detail, NULL,
                    arena_printf(completer->arena, "0%02d", i));
    }
    if (callee->kind != CALLEE_LAUNCH) return;
    for (size_t i = 0; i < sizeof launch_words / sizeof *launch_words; i++)
        if (!map_has(given, str_from(launch_words[i].text)) &&
            strcmp(launch_words[i].text, "grid") != 0)
            add_keyword(completer, str_from(launch_words[i].text), "launch option",
                        launch_words[i].doc, "2");
}

static void keywords_of_decorator(Completer *completer, const Callee *callee, const Map *given) {
    for (size_t i = 0; i < sizeof decorator_rows / sizeof *decorator_rows; i++)
        if (str_is(callee->dotted, decorator_rows[i].decorator) &&
            !map_has(given, str_from(decorator_rows[i].name)))
            add_keyword(completer, str_from(decorator_rows[i].name), "triton",
                        decorator_rows[i].doc, "0");
}

bool complete_arguments(Completer *completer) {
    OpenBracket open = {0};
    Callee callee = callee_around(completer->names, completer->kernel, completer->scan, &open);
    if (callee.kind == CALLEE_NONE) return false;
    // A list or a tuple inside the call is no place for keywords.
    const Scan *scan = completer->scan;
    bool is_direct = scan->open[scan->depth - 1].offset == open.offset;
    const Source *source = completer->names->source;
    Str keyword = keyword_of(source, open.item_start, completer->offset);
    bool is_operation = callee.kind == CALLEE_OPERATION || callee.kind == CALLEE_METHOD;
    uint32_t start = open.item_start;
    while (start < completer->prefix.start &&
           (source->text.data[start] == ' ' || source->text.data[start] == '\n' ||
            source->text.data[start] == '\t' || source->text.data[start] == '\r'))
        start++;
    bool at_start = start == completer->prefix.start;
    if (is_direct && is_operation && (keyword.size || at_start))
        add_values(completer, callee.op, parameter_at(&callee, &open, keyword), false);
    if (!is_direct || keyword.size || !at_start) return false;
    Map given = keywords_given(completer->names, open.offset + 1);
    if (is_operation)
        keywords_of_operation(completer, &callee, &open, &given);
    else if (callee.kind == CALLEE_DECORATOR)
        keywords_of_decorator(completer, &callee, &given);
    else
        keywords_of_function(completer, &callee, &open, &given);
    return false;
}

// --- Strings

/// The kernel whose decorators the cursor is in, or whose grid: names of its parameters are what the text may be.
static const FunctionDefinition *function_of_text(Completer *completer) {
    FileNames *names = completer->names;
    for (LIST_EACH(int, i, names->snapshot->kernels)) {
        const FunctionDefinition *function = names->snapshot->kernels.items[i].definition;
        Range whole = snapshot_range(names->snapshot, function->range);
        Range name = snapshot_range(names->snapshot, function->name_range);
        if (whole.start <= completer->offset && completer->offset < name.start) return function;
    }
    return NULL;
}

/// `meta["|"]` of a grid: the kernels that the function around launches.
static void parameters_of_launches(Completer *completer) {
    FileNames *names = completer->names;
    SyntaxNode around = function_around(node_at(names->root, completer->offset, completer->offset));
    const FunctionDefinition *launcher = definition_of_node(names, around);
    const Module *module = names->snapshot->module;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (!launcher || !function_is_same(names, site->launcher, launcher)) continue;
        for (int k = 0; k < site->kernel->parameter_count; k++)
            if (site->kernel->parameters[k].is_constexpr)
                complete_add(completer,
                             (CompletionItem){.label = str_dup(completer->arena,
                                                               site->kernel->parameters[k].name),
                                              .kind = COMPLETION_CONSTEXPR,
                                              .detail = "constexpr"});
    }
}

void complete_string(Completer *completer) {
    const Scan *scan = completer->scan;
    OpenBracket open = {0};
    Callee callee = callee_around(completer->names, completer->kernel, scan, &open);
    bool is_operation = callee.kind == CALLEE_OPERATION || callee.kind == CALLEE_METHOD;
    // `.ca` is one text; its dot is no member access.
    completer->completions.replace.start = scan->text_start + 1;
    if (completer->completions.replace.start > completer->offset)
        completer->completions.replace.start = completer->offset;
    if (is_operation && completer->kernel) {
        Str keyword = keyword_of(completer->names->source, open.item_start, completer->offset);
        add_values(completer, callee.op, parameter_at(&callee, &open, keyword), true);
        return;
    }
    const FunctionDefinition *function = function_of_text(completer);
    for (int i = 0; function && i < function->parameter_count; i++)
        complete_add(
            completer,
            (CompletionItem){.label = str_dup(completer->arena, function->parameters[i].name),
                             .kind = function->parameters[i].is_constexpr ? COMPLETION_CONSTEXPR
                                                                          : COMPLETION_VARIABLE,
                             .detail =
                                 function->parameters[i].is_constexpr ? "constexpr" : "argument"});
    bool is_subscript = scan->depth && scan->open[scan->depth - 1].bracket == '[' &&
                        scan->open[scan->depth - 1].offset + 1 == scan->text_start;
    if (!function && is_subscript && !completer->kernel) parameters_of_launches(completer);
}

// --- Comments

static void add_directive(Completer *completer, const char *label, const char *insert,
                          bool is_snippet, const char *doc) {
    complete_add(completer, (CompletionItem){.label = label,
                                             .kind = COMPLETION_DIRECTIVE,
                                             .insert = insert,
                                             .is_snippet = is_snippet,
                                             .detail = doc});
}

static void complete_diagnostics(Completer *completer) {
    // Names have dashes, which end a word elsewhere.
    uint32_t start = completer->offset;
    const char *text = completer->names->source->text.data;
    while (start > completer->scan->text_start &&
           (byte_is_word(text[start - 1]) || text[start - 1] == '-'))
        start--;
    completer->completions.replace.start = start;
    for (int i = 0; i < DIAGNOSTIC_COUNT; i++) {
        const DiagnosticRow *row = &diagnostic_rows[i];
        complete_add(
            completer,
            (CompletionItem){.label = row->name,
                             .kind = COMPLETION_DIRECTIVE,
                             .detail = row->title,
                             .sort = arena_printf(completer->arena, "1%s", row->name),
                             .key = arena_printf(completer->arena, "diagnostic:%s", row->name)});
    }
    for (int i = 0; i < DIAGNOSTIC_COUNT; i++)
        complete_add(completer, (CompletionItem){.label = diagnostic_rows[i].family,
                                                 .kind = COMPLETION_DIRECTIVE,
                                                 .detail = "every diagnostic of the family",
                                                 .sort = arena_printf(completer->arena, "2%s",
                                                                      diagnostic_rows[i].family)});
}

/// The first jit function below the comment, nothing but comments and blank lines between.
static const FunctionDefinition *function_below(Completer *completer) {
    FileNames *names = completer->names;
    const FunctionDefinition *best = NULL;
    uint32_t best_start = 0;
    for (LIST_EACH(int, i, names->snapshot->kernels)) {
        const FunctionDefinition *function = names->snapshot->kernels.items[i].definition;
        Range range = snapshot_range(names->snapshot, function->range);
        if (range.start < completer->offset || (best && range.start > best_start)) continue;
        best = function;
        best_start = range.start;
    }
    const char *text = names->source->text.data;
    bool in_comment = true;
    for (uint32_t i = completer->offset; best && i < best_start; i++) {
        if (text[i] == '\n')
            in_comment = false;
        else if (text[i] == '#')
            in_comment = true;
        else if (!in_comment && text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
            return NULL;
    }
    return best;
}

static void complete_specification(Completer *completer) {
    const FunctionDefinition *function = function_below(completer);
    if (!function) return;
    const Kernel *kernel = kernel_of_function(completer->names, function);
    for (int i = 0; i < function->parameter_count; i++) {
        const Value *value = kernel && kernel->function && i < kernel->function->parameter_count
                                 ? kernel->function->parameters[i].value
                                 : NULL;
        add_keyword(completer, function->parameters[i].name,
                    function->parameters[i].is_constexpr ? "constexpr"
                    : value_is_told(value)               ? value_label(completer->arena, value)
                                                         : "",
                    NULL, arena_printf(completer->arena, "0%02d", i));
    }
    for (size_t i = 0; i < sizeof word_rows / sizeof *word_rows; i++)
        add_directive(completer, word_rows[i].text, word_rows[i].snippet,
                      strchr(word_rows[i].snippet, '$') != NULL, word_rows[i].doc);
}

/// What the expressions of a rule by hand may say.
static void complete_rule(Completer *completer) {
    const FunctionDefinition *function = function_below(completer);
    for (int i = 0; function && i < function->parameter_count; i++)
        add_directive(completer, str_dup(completer->arena, function->parameters[i].name), NULL,
                      false, "What the helper was called with.");
    add_directive(completer, "grad", NULL, false, "The gradient of what the helper returned.");
    add_directive(completer, "result", NULL, false, "What the helper returned.");
}

/// `# tad: backward of helper(x, y): ` above a helper.
static void add_rule(Completer *completer, const FunctionDefinition *function, const char *before) {
    if (!function->is_helper) return;
    Buffer text = buffer_new(completer->arena);
    buffer_printf(&text, "%sbackward of %.*s(", before, STR_ARGS(function->name));
    for (int i = 0, count = 0; i < function->parameter_count; i++)
        if (!function->parameters[i].is_constexpr)
            buffer_printf(&text, "%s%.*s", count++ ? ", " : "",
                          STR_ARGS(function->parameters[i].name));
    buffer_puts(&text, "): $0");
    add_directive(completer, *before ? "tad: backward of ..." : "backward", buffer_text(&text),
                  true, "The derivative of the helper below, given by hand.");
}

void complete_comment(Completer *completer) {
    const Source *source = completer->names->source;
    uint32_t start = completer->scan->text_start + 1;
    if (start > completer->offset) return;
    Str text = {source->text.data + start, completer->offset - start};
    Str body = str_trim(text);
    if (str_starts(body, "tad:")) {
        body = str_trim((Str){body.data + 4, body.size - 4});
        const char *bracket = body.size ? memchr(body.data, '[', body.size) : NULL;
        const char *closed = body.size ? memchr(body.data, ']', body.size) : NULL;
        if (str_starts(body, "ignore") && bracket && !closed)
            complete_diagnostics(completer);
        else if (str_starts(body, "backward of "))
            complete_rule(completer);
        else if (!str_starts(body, "ignore["))
            complete_specification(completer);
        Str prefix = source_slice(completer->prefix);
        const FunctionDefinition *below = function_below(completer);
        if (body.size == prefix.size && below) add_rule(completer, below, "");
        if (body.size == prefix.size)
            add_directive(completer, "ignore", "ignore[$0]", true,
                          "Silences diagnostics on this line, by name.");
        return;
    }
    bool is_beginning = body.size == 0 || str_starts(STR("tad:"), str_dup(completer->arena, body));
    if (!is_beginning) return;
    bool is_useful = completer->kernel || function_below(completer);
    if (!is_useful) return;
    completer->completions.replace.start = start;
    const char *space = "";
    if (text.size == 0 || text.data[0] != ' ') space = " ";
    if (text.size && text.data[0] == ' ') completer->completions.replace.start = start + 1;
    add_directive(completer, "tad: ignore[...]",
                  arena_printf(completer->arena, "%stad: ignore[$0]", space), true,
                  "Silences diagnostics on this line, by name.");
    if (function_below(completer))
        add_directive(completer, "tad: ...", arena_printf(completer->arena, "%stad: $0", space),
                      true, "What the kernel below is run with, when its gradients are checked.");
    if (function_below(completer))
        add_rule(completer, function_below(completer),
                 arena_printf(completer->arena, "%stad: ", space));
}
