// What the configurations of autotune give a kernel, against what its launches give: a constexpr that both give, or neither.
#include "analysis/checks/check_arguments.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

typedef struct TunedNames {
    Check *check;
    bool *by_any, *by_all;  // by parameter: whether configurations give it
    int count;              // configurations
} TunedNames;

/// `triton.Config({"BLOCK": b}, num_warps=w)`; false for anything else, and where a name is not written out.
static bool note_configuration(TunedNames *names, const Source *source, SyntaxNode call) {
    const FunctionDefinition *kernel = names->check->kernel->definition;
    if (node_kind(call) != SYNTAX_CALL ||
        !str_ends(node_text(source, node_field(call, "function")), "Config"))
        return false;
    SyntaxNode dictionary = node_child(node_field(call, "arguments"), 0);
    if (node_kind(dictionary) == SYNTAX_KEYWORD_ARGUMENT)
        dictionary = node_field(dictionary, "value");
    if (node_kind(dictionary) != SYNTAX_DICTIONARY) return false;
    bool *given = ARENA_ARRAY(names->check->arena, bool, kernel->parameter_count + 1);
    for (uint32_t i = 0; i < node_child_count(dictionary); i++) {
        SyntaxNode pair = node_child(dictionary, i), key = node_field(pair, "key");
        if (node_kind(pair) == SYNTAX_COMMENT) continue;
        if (node_kind(pair) != SYNTAX_PAIR || node_kind(key) != SYNTAX_STRING) return false;
        Str text = node_text(source, key);
        int parameter =
            text.size < 3 ? -1 : definition_parameter(kernel, (Str){text.data + 1, text.size - 2});
        if (parameter >= 0) given[parameter] = true;
    }
    for (int p = 0; p < kernel->parameter_count; p++) {
        names->by_any[p] |= given[p];
        names->by_all[p] = given[p] && (names->by_all[p] || !names->count);
    }
    names->count++;
    return true;
}

/// A list of configurations, or what makes one of each of some numbers, there or in a global; false for anything else.
static bool note_list(TunedNames *names, const Module *module, SyntaxNode node, int depth) {
    enum { DEEPEST = 3 };
    switch (node_kind(node)) {
    case SYNTAX_IDENTIFIER: {
        ScopeEntry entry = scope_of_expression(names->check->arena, module, node);
        return depth < DEEPEST && entry.kind == SCOPE_ASSIGNED && entry.item < 0 &&
               note_list(names, entry.module, entry.node, depth + 1);
    }
    case SYNTAX_LIST_COMPREHENSION:
        return note_configuration(names, module->source, node_child(node, 0));
    case SYNTAX_LIST:
        for (uint32_t i = 0; i < node_child_count(node); i++)
            if (node_kind(node_child(node, i)) != SYNTAX_COMMENT &&
                !note_configuration(names, module->source, node_child(node, i)))
                return false;
        return names->count > 0;
    default: return false;
    }
}

/// Reads `@triton.autotune(configs=...)`; false where something else may choose, or the names are not written out.
static bool note_decorators(TunedNames *names) {
    const FunctionDefinition *kernel = names->check->kernel->definition;
    const Source *source = kernel->module->source;
    bool is_noted = false;
    for (LIST_EACH(int, i, kernel->decorators)) {
        SyntaxNode decorator = kernel->decorators.items[i];
        int flags = module_wrapper_flags(names->check->arena, kernel->module, decorator, 0);
        if (!flags || (flags & (WRAPS_HEURISTICS | WRAPS_FOREIGN))) return false;
        if (!(flags & WRAPS_AUTOTUNE)) continue;
        Str written = node_text(source, node_field(decorator, "function"));
        if (is_noted || !str_is(written, "triton.autotune")) return false;
        SyntaxNode list = node_field(decorator, "arguments");
        for (uint32_t k = 0; k < node_child_count(list) && !is_noted; k++) {
            SyntaxNode argument = node_child(list, k), configurations = argument;
            if (node_kind(argument) == SYNTAX_KEYWORD_ARGUMENT) {
                if (!str_is(node_text(source, node_field(argument, "name")), "configs")) continue;
                configurations = node_field(argument, "value");
            }
            if (!note_list(names, kernel->module, configurations, 0)) return false;
            is_noted = true;
        }
        if (str_contains(node_text(source, list), str_from("prune"))) return false;
    }
    return is_noted;
}

static void check_site(const TunedNames *names, const LaunchSite *site) {
    Check *check = names->check;
    const FunctionDefinition *kernel = site->kernel;
    const Source *source = kernel->module->source;
    CheckedArguments arguments = arguments_read(check, source, site->launcher, site->call);
    for (int p = 0; p < kernel->parameter_count && !arguments.has_splat; p++) {
        const ParameterDefinition *parameter = &kernel->parameters[p];
        const CheckedArgument *argument = arguments_find(kernel, &arguments, p);
        if (parameter->is_variadic) return;
        if (argument && names->by_all[p]) {
            check_report_at(check, DIAGNOSTIC_LAUNCH_ARGUMENTS, node_range(source, argument->node),
                            "each configuration of autotune gives %.*s, and Triton takes it from "
                            "one of the two: leave it out here",
                            STR_ARGS(parameter->name));
        } else if (!argument && !names->by_any[p] && parameter->is_constexpr &&
                   !parameter->default_text.size) {
            check_report_at(check, DIAGNOSTIC_LAUNCH_ARGUMENTS, site->range,
                            "neither the launch nor a configuration of autotune gives a value for "
                            "parameter %.*s",
                            STR_ARGS(parameter->name));
            return;
        }
    }
}

/// What every configuration gives, written or not: a kernel may have a parameter of that name.
static void note_options(TunedNames *names) {
    static const char *const options[] = {"num_warps", "num_ctas", "num_stages"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        int parameter =
            definition_parameter(names->check->kernel->definition, str_from(options[i]));
        if (parameter >= 0) names->by_any[parameter] = true;
    }
}

void check_tuned_arguments(Check *check) {
    const FunctionDefinition *kernel = check->kernel->definition;
    if (!kernel->is_autotuned) return;
    TunedNames names = {.check = check,
                        .by_any = ARENA_ARRAY(check->arena, bool, kernel->parameter_count + 1),
                        .by_all = ARENA_ARRAY(check->arena, bool, kernel->parameter_count + 1)};
    if (!note_decorators(&names)) return;
    note_options(&names);
    for (LIST_EACH(int, i, kernel->module->launches)) {
        const LaunchSite *site = &kernel->module->launches.items[i];
        bool is_tuned = site->kernel == kernel && !site->is_bare;
        if (is_tuned && !node_has_error(site->call)) check_site(&names, site);
    }
}
