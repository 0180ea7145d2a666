// Reads the numbers that configurations of autotune and launches give a kernel's constexprs, where they are written out; and says which of
// them the kernel cannot be compiled with.
#include <stdlib.h>
#include <string.h>

#include "analysis/checks/check_arguments.h"
#include "analysis/checks/check_instances.h"
#include "analysis/host/launch_bind.h"
#include "analysis/ir/loops.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

enum { MOST_CONFIGURATIONS = 64, MOST_INSTANCES = 128 };

typedef struct InstanceReading {
    Check *check;
    const FunctionDefinition *kernel;
    LIST(TunedValues) configurations;
    Instances instances;
    bool is_tuned;  // by a list that was looked at
} InstanceReading;

/// An integer or a truth as it is written, or NULL.
static const Constant *number_of(Arena *arena, const Source *source, SyntaxNode node) {
    Str text = node_text(source, node);
    char digits[24], *end;
    if (str_is(text, "True") || str_is(text, "False"))
        return constant_new(
            arena, (Constant){.kind = CONSTANT_BOOL, .integer = str_is(text, "True") ? 1 : 0});
    if (node_kind(node) != SYNTAX_INTEGER || text.size >= sizeof digits) return NULL;
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    int64_t number = strtoll(digits, &end, 10);
    if (*end) return NULL;
    return constant_new(arena, (Constant){.kind = CONSTANT_INT, .integer = number});
}

/* ---- configurations ---- */

static void read_pairs(InstanceReading *reading, const Source *source, SyntaxNode dictionary,
                       TunedValues *configuration) {
    for (uint32_t i = 0; i < node_child_count(dictionary); i++) {
        SyntaxNode pair = node_child(dictionary, i);
        Str key =
            node_kind(pair) == SYNTAX_PAIR ? node_text(source, node_field(pair, "key")) : (Str){0};
        if (key.size < 3) continue;
        int p = definition_parameter(reading->kernel, (Str){key.data + 1, key.size - 2});
        if (p < 0) continue;
        configuration->values[p] =
            number_of(reading->check->arena, source, node_field(pair, "value"));
        configuration->varies[p] = !configuration->values[p];
    }
}

static int option_of(Arena *arena, const Source *source, SyntaxNode value) {
    enum { MOST = 64 };
    const Constant *number = number_of(arena, source, value);
    bool is_some = number && number->integer > 0 && number->integer <= MOST;
    return is_some ? (int)number->integer : -1;
}

/// `num_warps=4, num_stages=2` among the arguments of a call.
static LaunchOptions options_of(Arena *arena, const Source *source, SyntaxNode call) {
    LaunchOptions options = {0};
    SyntaxNode list = node_field(call, "arguments");
    for (uint32_t i = 0; node_kind(call) == SYNTAX_CALL && i < node_child_count(list); i++) {
        SyntaxNode argument = node_child(list, i);
        if (node_kind(argument) == SYNTAX_DICTIONARY_SPLAT) options.warps = options.stages = -1;
        if (node_kind(argument) != SYNTAX_KEYWORD_ARGUMENT) continue;
        Str name = node_text(source, node_field(argument, "name"));
        SyntaxNode value = node_field(argument, "value");
        if (str_is(name, "num_warps")) options.warps = option_of(arena, source, value);
        if (str_is(name, "num_stages")) options.stages = option_of(arena, source, value);
    }
    return options;
}

/// `triton.Config({...}, ...)`; false for anything else.
static bool read_configuration(InstanceReading *reading, const Module *module, SyntaxNode node) {
    SyntaxNode list = node_field(node, "arguments");
    SyntaxNode settings = node_kind(node) == SYNTAX_CALL ? node_child(list, 0) : node;
    if (node_kind(node) != SYNTAX_CALL ||
        !str_ends(node_text(module->source, node_field(node, "function")), "Config") ||
        node_kind(settings) != SYNTAX_DICTIONARY ||
        reading->configurations.count == MOST_CONFIGURATIONS)
        return false;
    Arena *arena = reading->check->arena;
    int count = reading->kernel->parameter_count;
    TunedValues configuration = {.range = node_range(module->source, node),
                                 .number = reading->configurations.count + 1,
                                 .options = options_of(arena, module->source, node),
                                 .values = ARENA_ARRAY(arena, const Constant *, count + 1),
                                 .varies = ARENA_ARRAY(arena, bool, count + 1)};
    read_pairs(reading, module->source, settings, &configuration);
    LIST_PUSH(arena, &reading->configurations, configuration);
    return true;
}

/// A list of configurations, written there or in a global; what is more than that leaves the instances incomplete.
static void read_list(InstanceReading *reading, const Module *module, SyntaxNode node, int depth) {
    enum { DEPTH = 3 };
    if (node_kind(node) == SYNTAX_IDENTIFIER && depth < DEPTH) {
        ScopeEntry entry = scope_of_expression(reading->check->arena, module, node);
        if (entry.kind == SCOPE_ASSIGNED && entry.item < 0) {
            read_list(reading, entry.module, entry.node, depth + 1);
            return;
        }
    }
    if (node_kind(node) == SYNTAX_PARENTHESIZED && depth < DEPTH) {
        read_list(reading, module, node_child(node, 0), depth + 1);
        return;
    }
    bool is_list = node_kind(node) == SYNTAX_LIST;
    if (!is_list) reading->instances.is_complete = false;
    for (uint32_t i = 0; is_list && i < node_child_count(node); i++)
        if (node_kind(node_child(node, i)) != SYNTAX_COMMENT &&
            !read_configuration(reading, module, node_child(node, i)))
            reading->instances.is_complete = false;
}

static void read_decorators(InstanceReading *reading) {
    const Module *module = reading->kernel->module;
    for (LIST_EACH(int, i, reading->kernel->decorators)) {
        SyntaxNode call = reading->kernel->decorators.items[i];
        int flags = module_wrapper_flags(reading->check->arena, module, call, 0);
        if (!(flags & WRAPS_AUTOTUNE)) continue;
        reading->is_tuned = true;
        SyntaxNode configs = {0};
        SyntaxNode list = node_field(call, "arguments");
        for (uint32_t k = 0; node_kind(call) == SYNTAX_CALL && k < node_child_count(list); k++) {
            SyntaxNode argument = node_child(list, k);
            bool is_keyword = node_kind(argument) == SYNTAX_KEYWORD_ARGUMENT;
            Str name =
                is_keyword ? node_text(module->source, node_field(argument, "name")) : (Str){0};
            if (str_is(name, "configs")) configs = node_field(argument, "value");
            if (k == 0 && !is_keyword) configs = argument;
            if (str_is(name, "prune_configs_by")) reading->instances.is_pruned = true;
        }
        if (node_is_null(configs))
            reading->instances.is_complete = false;
        else
            read_list(reading, module, configs, 0);
    }
}

/* ---- launches ---- */

/// What the launch says in numbers: literals, names bound once to one, and the kernel's own defaults.
static void read_launch(InstanceReading *reading, const LaunchSite *site, const Constant **values) {
    Check *check = reading->check;
    const Source *source = reading->kernel->module->source;
    CheckedArguments arguments = arguments_read(check, source, site->launcher, site->call);
    for (int p = 0; p < reading->kernel->parameter_count; p++) {
        const ParameterDefinition *parameter = &reading->kernel->parameters[p];
        if (!parameter->is_constexpr) continue;
        const CheckedArgument *argument = arguments_find(reading->kernel, &arguments, p);
        SyntaxNode value = {0};
        // what is spread is of any length: what has its name beside it is certain
        if (arguments.has_splat && (!argument || !argument->keyword.size)) continue;
        if (argument && node_is_null(argument->value)) continue;
        if (argument) value = argument->value;
        if (!argument && !reading->kernel->has_heuristics) value = parameter->default_node;
        if (!node_is_null(value) && node_kind(value) == SYNTAX_IDENTIFIER) {
            SyntaxNode bound = site->launcher
                                   ? launcher_binding(site->launcher, node_text(source, value))
                                   : (SyntaxNode){0};
            if (!node_is_null(bound)) value = bound;
        }
        if (!node_is_null(value)) values[p] = number_of(check->arena, source, value);
    }
}

/* ---- lines above the kernel, defaults ---- */

static TunedValues values_new(const InstanceReading *reading, const char *place) {
    Arena *arena = reading->check->arena;
    int count = reading->kernel->parameter_count;
    return (TunedValues){.range = reading->kernel->name_range,
                         .place = place,
                         .values = ARENA_ARRAY(arena, const Constant *, count + 1),
                         .varies = ARENA_ARRAY(arena, bool, count + 1)};
}

/// `NAME=64` of `# tad: x=f32[n], n=100, NAME=64`.
static void read_item(InstanceReading *reading, Str item, TunedValues *line) {
    size_t at = 0;
    while (at < item.size && item.data[at] != '=') at++;
    if (at == item.size) return;
    int p = definition_parameter(reading->kernel, str_trim((Str){item.data, at}));
    Str text = str_trim((Str){item.data + at + 1, item.size - at - 1});
    int64_t number = 0;
    enum { MOST_DIGITS = 18 };
    if (p < 0 || !text.size || text.size > MOST_DIGITS) return;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return;
        number = 10 * number + (text.data[i] - '0');
    }
    line->values[p] =
        constant_new(reading->check->arena, (Constant){.kind = CONSTANT_INT, .integer = number});
}

static void read_items(InstanceReading *reading, Str text, TunedValues *line) {
    int depth = 0;
    size_t start = 0;
    for (size_t i = 0; i <= text.size; i++) {
        char c = i < text.size ? text.data[i] : ',';
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (c != ',' || (depth > 0 && i < text.size)) continue;
        read_item(reading, (Str){text.data + start, i - start}, line);
        start = i + 1;
    }
}

static void add_instance(InstanceReading *reading, const LaunchSite *site,
                         const TunedValues *configuration);

/// The next `# tad: ...` or `# tad time: ...` of a comment, which goes on behind it: what stands behind the colon.
static bool next_line(Str *comment, Str *words) {
    while (comment->size) {
        const char *end = memchr(comment->data, '\n', comment->size);
        Str text = {comment->data, end ? (size_t)(end - comment->data) : comment->size};
        size_t taken = text.size + (end != NULL), skip = 0;
        *comment = (Str){comment->data + taken, comment->size - taken};
        while (skip < text.size && (text.data[skip] == '#' || text.data[skip] == ' ')) skip++;
        *words = (Str){text.data + skip, text.size - skip};
        if (!str_starts(*words, "tad:") && !str_starts(*words, "tad time:")) continue;
        while (*words->data != ':') *words = (Str){words->data + 1, words->size - 1};
        *words = (Str){words->data + 1, words->size - 1};
        return true;
    }
    return false;
}

static void add_comment(InstanceReading *reading) {
    Str comment = reading->kernel->comment, words;
    while (next_line(&comment, &words)) {
        TunedValues *line = ARENA_NEW(reading->check->arena, TunedValues);
        *line = values_new(reading, "with the numbers of `# tad`");
        read_items(reading, words, line);
        add_instance(reading, NULL, line);
    }
}

/// Where nothing in the file launches the kernel.
static void add_defaults(InstanceReading *reading) {
    const FunctionDefinition *kernel = reading->kernel;
    TunedValues *defaults = ARENA_NEW(reading->check->arena, TunedValues);
    *defaults = values_new(reading, "with the kernel's defaults");
    for (int p = 0; p < kernel->parameter_count; p++)
        if (!node_is_null(kernel->parameters[p].default_node))
            defaults->values[p] = number_of(reading->check->arena, kernel->module->source,
                                            kernel->parameters[p].default_node);
    add_instance(reading, NULL, defaults);
}

static bool is_tuned_name(const FunctionDefinition *kernel, Str name) {
    for (LIST_EACH(int, i, kernel->tuned_names))
        if (str_equal(kernel->tuned_names.items[i], name)) return true;
    return false;
}

static void add_instance(InstanceReading *reading, const LaunchSite *site,
                         const TunedValues *configuration) {
    Arena *arena = reading->check->arena;
    int count = reading->kernel->parameter_count;
    Instances *instances = &reading->instances;
    if (instances->count == MOST_INSTANCES) {
        instances->is_complete = false;
        return;
    }
    const Constant **values = ARENA_ARRAY(arena, const Constant *, count + 1);
    bool *varies = ARENA_ARRAY(arena, bool, count + 1);
    bool says_something = false;
    if (site) read_launch(reading, site, values);
    for (int p = 0; p < count; p++) {
        const ParameterDefinition *parameter = &reading->kernel->parameters[p];
        if (configuration && configuration->values[p]) values[p] = configuration->values[p];
        bool is_left_open = is_tuned_name(reading->kernel, parameter->name) &&
                            !(configuration && configuration->values[p]);
        if (is_left_open) values[p] = NULL;
        varies[p] = is_left_open || (configuration && configuration->varies[p]);
        if (!parameter->is_constexpr) values[p] = NULL;
        says_something = says_something || values[p];
    }
    if (!says_something) {
        instances->is_complete &= configuration && configuration->place;
        return;
    }
    LaunchOptions options = {0};
    if (site) options = options_of(arena, reading->kernel->module->source, site->call);
    if (configuration && configuration->options.warps) options.warps = configuration->options.warps;
    if (configuration && configuration->options.stages)
        options.stages = configuration->options.stages;
    instances->items[instances->count++] = (Instance){configuration, site, values, varies, options};
}

Instances instances_find(Check *check) {
    const FunctionDefinition *kernel = check->kernel->definition;
    InstanceReading reading = {
        .check = check, .kernel = kernel, .instances = {.is_complete = true}};
    reading.instances.items = ARENA_ARRAY(check->arena, Instance, MOST_INSTANCES);
    read_decorators(&reading);
    const Module *module = kernel->module;
    bool is_launched = false;
    for (LIST_EACH(int, i, module->launches))
        is_launched |= module->launches.items[i].kernel == kernel;
    for (int i = 0; i < (is_launched ? module->launches.count : 1); i++) {
        const LaunchSite *site = is_launched ? &module->launches.items[i] : NULL;
        if (site && site->kernel != kernel) continue;
        bool is_bare = site && site->is_bare;  // it is launched in none of the configurations
        if ((!reading.is_tuned || is_bare) && site) add_instance(&reading, site, NULL);
        for (int k = 0; !is_bare && k < reading.configurations.count; k++)
            add_instance(&reading, site, &reading.configurations.items[k]);
    }
    // other files may launch it with other numbers
    if (!reading.instances.count) reading.instances.is_complete = false;
    add_comment(&reading);
    if (!is_launched && !reading.is_tuned && !kernel->has_heuristics) add_defaults(&reading);
    return reading.instances;
}

static bool is_comment(const Instance *instance) {
    return instance->configuration && instance->configuration->place && !instance->launch;
}

/* ---- numbers that Triton refuses ---- */

/// The assertion of the kernel without numbers that is the same text.
static const Op *assertion_at(const Check *check, Range range) {
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        if (op->code == OP_STATIC_ASSERT && op->range.source == range.source &&
            op->range.start == range.start && op->range.end == range.end)
            return op;
    }
    return NULL;
}

/// "BLOCK = 64, D = 128": the whole numbers that the condition depends on; NULL where there are none.
static const char *numbers_of(Check *check, const Instance *instance, const Value *condition) {
    const char *numbers = NULL;
    for (int p = 0; p < check->function->parameter_count; p++) {
        const Parameter *parameter = &check->function->parameters[p];
        const Constant *number = instance->values[p];
        if (!number || number->kind != CONSTANT_INT ||
            !value_depends_on(check->arena, condition, parameter->value, NULL))
            continue;
        numbers = arena_printf(check->arena, "%s%s%s = %lld", numbers ? numbers : "",
                               numbers ? ", " : "", parameter->name, (long long)number->integer);
    }
    return numbers;
}

static void tell_assertion(Check *check, const Instance *instance, const Op *failed) {
    const Op *op = assertion_at(check, failed->range);
    const char *numbers = op ? numbers_of(check, instance, op->operands[0]) : NULL;
    if (!numbers) return;
    const Value *message = op->operand_count > 1 ? op->operands[1] : NULL;
    const Constant *text = message ? message->constant : NULL;
    const char *words =
        text && text->kind == CONSTANT_STRING ? str_dup(check->arena, text->string) : "";
    Diagnostic *said = check_report(
        check, DIAGNOSTIC_INSTANCE_REFUSED, op, "this assertion is false %s, where %s%s%s",
        instance_place(check, instance), numbers, *words ? ": " : "", words);
    instance_relate(check, said, instance);
}

static bool has_assertions(const Check *check) {
    for (LIST_EACH(int, i, check->ops))
        if (check->ops.items[i]->code == OP_STATIC_ASSERT) return true;
    return false;
}

/// A launch with such a block is refused at its argument (check_block_sizes).
static void tell_blocks(Check *check, const Instance *instance) {
    for (int p = 0; p < check->function->parameter_count; p++) {
        const Parameter *parameter = &check->function->parameters[p];
        const Constant *number = instance->values[p];
        const Op *made = number && number->kind == CONSTANT_INT && parameter->is_constexpr
                             ? check_needs_power_of_two(check, parameter->value)
                             : NULL;
        if (!made || (number->integer > 0 && (number->integer & (number->integer - 1)) == 0))
            continue;
        Diagnostic *said = check_report(
            check, DIAGNOSTIC_INSTANCE_REFUSED, made,
            "%s is the length of a tile, and %lld is no power of two, %s", parameter->name,
            (long long)number->integer, instance_place(check, instance));
        instance_relate(check, said, instance);
    }
}

/* ---- names of a comment ---- */

/// How often the name stands in the text as a word of its own.
static int times_in(Str text, Str name) {
    int times = 0;
    for (size_t at = 0; at + name.size <= text.size; at++) {
        size_t end = at + name.size;
        times += memcmp(text.data + at, name.data, name.size) == 0 &&
                 (at == 0 || !byte_is_word(text.data[at - 1])) &&
                 (end == text.size || !byte_is_word(text.data[end]));
    }
    return times;
}

/// A parameter that the line does not name, of almost this name; NULL where there is none.
static const ParameterDefinition *meant_by(const FunctionDefinition *kernel, Str line, Str name) {
    enum { SHORTEST = 3, MOST_WRONG = 2 };
    for (int p = 0; p < kernel->parameter_count && name.size >= SHORTEST; p++) {
        const ParameterDefinition *parameter = &kernel->parameters[p];
        if (parameter->name.size >= SHORTEST && !times_in(line, parameter->name) &&
            str_distance(parameter->name, name) <= MOST_WRONG)
            return parameter;
    }
    return NULL;
}

/// `BLOK=64`: a name that is no parameter and that nothing in the line uses. Without it the parameter is guessed, and nobody knows.
static void check_names(Check *check, Str line) {
    const FunctionDefinition *kernel = check->kernel->definition;
    const Source *source = kernel->module->source;
    for (size_t at = 0, start; at < line.size; at++) {
        if (!byte_is_word(line.data[at])) continue;
        start = at;
        while (at < line.size && byte_is_word(line.data[at])) at++;
        Str name = {line.data + start, at - start};
        bool is_item = at < line.size && line.data[at] == '=';
        const ParameterDefinition *meant = is_item && definition_parameter(kernel, name) < 0 &&
                                                   !launch_option_is_known(name) &&
                                                   times_in(line, name) == 1
                                               ? meant_by(kernel, line, name)
                                               : NULL;
        if (!meant || name.data < source->text.data ||
            name.data >= source->text.data + source->text.size)
            continue;
        uint32_t first = (uint32_t)(name.data - source->text.data);
        check_report_at(check, DIAGNOSTIC_LAUNCH_UNKNOWN_KEYWORD,
                        (Range){source, first, first + (uint32_t)name.size},
                        "%.*s has no parameter %.*s: did you mean %.*s?", STR_ARGS(kernel->name),
                        STR_ARGS(name), STR_ARGS(meant->name));
    }
}

/// What a tuner leaves out by itself is no mistake.
void check_given_numbers(Check *check) {
    enum { MOST_ASSERTED = 8 };  // instances that are lowered for their assertions
    if (!check->is_entry) return;
    Str comment = check->kernel->definition->comment, line;
    while (next_line(&comment, &line)) check_names(check, line);
    Instances instances = instances_find(check);
    bool asserts = has_assertions(check);
    for (int i = 0, lowered = 0; i < instances.count; i++) {
        const Instance *instance = &instances.items[i];
        if (is_comment(instance)) tell_blocks(check, instance);
        bool is_tuned = instance->configuration && !instance->configuration->place;
        if (instance->launch && check->skips_trials)
            continue;  // said once somebody has time to look
        if (!asserts || is_tuned || lowered++ >= MOST_ASSERTED) continue;
        const Op *failed = instance_failed_assertion(check, instance);
        if (failed) tell_assertion(check, instance, failed);
    }
}
