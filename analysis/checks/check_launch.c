// Launches and tuning: arguments that do not fit the kernel, block sizes that cannot be, tuning that spoils the output.
#include "analysis/checks/check_arguments.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/host/launch.h"
#include "analysis/host/launch_bind.h"
#include "analysis/module/module_launch.h"
#include "analysis/module/module_scope.h"
#include "analysis/syntax/syntax_nodes.h"

/* ---- what is known of a kernel's definition ---- */

/// Decorators of other packages may change what a call takes.
static bool has_only_known_decorators(const Check *check, const FunctionDefinition *definition) {
    for (LIST_EACH(int, i, definition->decorators))
        if (!module_wrapper_flags(check->arena, definition->module, definition->decorators.items[i],
                                  0))
            return false;
    return definition->decorators.count > 0;
}

static bool is_tuned(const FunctionDefinition *definition, Str name) {
    for (LIST_EACH(int, i, definition->tuned_names))
        if (str_equal(definition->tuned_names.items[i], name)) return true;
    return false;
}

/* ---- arguments ---- */

/// What the kernel of a launch is called in messages: by its name, where the call may launch others.
static const char *kernel_told(const Check *check, const LaunchSite *site) {
    const FunctionDefinition *kernel = site->kernel;
    return launch_has_several(kernel->module, site)
               ? arena_printf(check->arena, "`%.*s`", STR_ARGS(kernel->name))
               : "the kernel";
}

static void check_missing(Check *check, const LaunchSite *site, const CheckedArguments *arguments) {
    const FunctionDefinition *kernel = site->kernel;
    for (int i = 0; i < kernel->parameter_count && !arguments->has_splat; i++) {
        const ParameterDefinition *parameter = &kernel->parameters[i];
        if (parameter->is_variadic || parameter->default_text.size ||
            is_tuned(kernel, parameter->name))
            continue;
        if (arguments_find(kernel, arguments, i)) continue;
        // Configurations may be made by code that was not followed.
        if ((kernel->is_autotuned || kernel->has_heuristics) && parameter->is_constexpr) continue;
        check_report_at(check, DIAGNOSTIC_LAUNCH_ARGUMENTS, site->range,
                        "the launch gives no value for parameter %.*s%s%s",
                        STR_ARGS(parameter->name),
                        launch_has_several(kernel->module, site) ? " of " : "",
                        launch_has_several(kernel->module, site) ? kernel_told(check, site) : "");
        return;
    }
}

static void check_keywords(Check *check, const LaunchSite *site, const Source *source,
                           const CheckedArguments *arguments) {
    const FunctionDefinition *kernel = site->kernel;
    int positional = 0;
    for (LIST_EACH(int, i, arguments->list)) {
        const CheckedArgument *argument = &arguments->list.items[i];
        Range range = node_range(source, argument->node);
        if (!argument->keyword.size) {
            if (++positional > kernel->parameter_count && !arguments->has_splat)
                check_report_at(check, DIAGNOSTIC_LAUNCH_ARGUMENTS, range,
                                "%s has only %d parameter%s", kernel_told(check, site),
                                kernel->parameter_count, kernel->parameter_count == 1 ? "" : "s");
            continue;
        }
        int parameter = definition_parameter(kernel, argument->keyword);
        if (parameter >= 0 && parameter < positional && !arguments->has_splat)
            check_report_at(check, DIAGNOSTIC_LAUNCH_ARGUMENTS, range,
                            "%.*s is given twice: it is also argument %d%s",
                            STR_ARGS(argument->keyword), parameter + 1,
                            launch_has_several(kernel->module, site)
                                ? arena_printf(check->arena, " of %s", kernel_told(check, site))
                                : "");
        if (parameter >= 0 || launch_option_is_known(argument->keyword)) continue;
        const char *nearest = NULL;
        for (int p = 0; p < kernel->parameter_count && !nearest; p++)
            if (str_distance(kernel->parameters[p].name, argument->keyword) <= 2)
                nearest = str_dup(check->arena, kernel->parameters[p].name);
        check_report_at(check, DIAGNOSTIC_LAUNCH_UNKNOWN_KEYWORD, range,
                        "%s has no parameter %.*s%s%s%s", kernel_told(check, site),
                        STR_ARGS(argument->keyword), nearest ? ": did you mean " : "",
                        nearest ? nearest : "", nearest ? "?" : "");
    }
}

static bool has_variadic(const FunctionDefinition *definition) {
    for (int i = 0; i < definition->parameter_count; i++)
        if (definition->parameters[i].is_variadic) return true;
    return false;
}

void check_launches(Check *check) {
    const FunctionDefinition *definition = check->kernel->definition;
    if (!has_only_known_decorators(check, definition) || has_variadic(definition)) return;
    const Module *module = definition->module;
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (site->kernel != definition || node_has_error(site->call)) continue;
        CheckedArguments arguments =
            arguments_read(check, module->source, site->launcher, site->call);
        check_missing(check, site, &arguments);
        check_keywords(check, site, module->source, &arguments);
    }
}

/* ---- block sizes ---- */

const Op *check_needs_power_of_two(Check *check, const Value *parameter) {
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        if ((op->code != OP_ARANGE && op->code != OP_FULL) || check_is_optional(op)) continue;
        Type type = op->results[0]->type;
        for (int k = 0; k < type.rank; k++) {
            const Poly *dim = type.dims[k];
            if (dim && dim->count == 1 && dim->terms[0].coefficient == 1 &&
                dim->terms[0].atom_count == 1 && dim->terms[0].atoms[0] == parameter)
                return op;
        }
    }
    return NULL;
}

static bool is_bad_size(const Source *source, SyntaxNode value, long long *size) {
    if (node_kind(value) != SYNTAX_INTEGER) return false;
    Str text = node_text(source, value);
    char digits[32];
    if (text.size >= sizeof digits) return false;
    memcpy(digits, text.data, text.size);
    digits[text.size] = '\0';
    char *end;
    *size = strtoll(digits, &end, 10);
    return *end == '\0' && (*size < 1 || (*size & (*size - 1)) != 0);
}

static void report_size(Check *check, Range range, const char *name, long long size,
                        const Op *made) {
    Diagnostic *said =
        check_report_at(check, DIAGNOSTIC_LAUNCH_BLOCK_SIZE, range,
                        "%s is the length of a tile, and %lld is no power of two", name, size);
    check_relate(check, said, made, "the tile");
}

typedef struct ConfigurationSearch {
    Check *check;
    const char *name;
    const Op *made;
    const Source *source;
} ConfigurationSearch;

static bool visit_configuration(void *context, SyntaxNode node) {
    ConfigurationSearch *search = context;
    if (node_kind(node) != SYNTAX_PAIR) return true;
    Str key = node_text(search->source, node_field(node, "key"));
    SyntaxNode value = node_field(node, "value");
    long long size;
    if (key.size == strlen(search->name) + 2 &&
        strncmp(key.data + 1, search->name, key.size - 2) == 0 &&
        is_bad_size(search->source, value, &size))
        report_size(search->check, node_range(search->source, value), search->name, size,
                    search->made);
    return false;
}

void check_block_sizes(Check *check) {
    const FunctionDefinition *definition = check->kernel->definition;
    const Module *module = definition->module;
    for (int p = 0; p < check->function->parameter_count && p < definition->parameter_count; p++) {
        const Parameter *parameter = &check->function->parameters[p];
        const Op *made =
            parameter->is_constexpr ? check_needs_power_of_two(check, parameter->value) : NULL;
        if (!made) continue;
        for (LIST_EACH(int, i, module->launches)) {
            const LaunchSite *site = &module->launches.items[i];
            long long size;
            if (site->kernel != definition) continue;
            CheckedArguments arguments =
                arguments_read(check, module->source, site->launcher, site->call);
            const CheckedArgument *argument =
                arguments.has_splat ? NULL : arguments_find(definition, &arguments, p);
            if (argument && is_bad_size(module->source, argument->value, &size))
                report_size(check, node_range(module->source, argument->value), parameter->name,
                            size, made);
        }
        ConfigurationSearch search = {check, parameter->name, made, module->source};
        for (LIST_EACH(int, i, definition->decorators))
            syntax_walk(definition->decorators.items[i], visit_configuration, &search);
    }
}

/* ---- tuning ---- */

/// The call of `triton.autotune` among the decorators; a null node where it is not written out.
static SyntaxNode autotune_call(Check *check, const FunctionDefinition *definition) {
    SyntaxNode none = {0};
    for (LIST_EACH(int, i, definition->decorators)) {
        SyntaxNode decorator = definition->decorators.items[i];
        int flags = module_wrapper_flags(check->arena, definition->module, decorator, 0);
        if (node_kind(decorator) == SYNTAX_CALL && (flags & WRAPS_AUTOTUNE)) return decorator;
    }
    return none;
}

/// Whether the kernel has stored there before it came to this access: then it starts afresh in each run.
static bool is_stored_before(const Check *check, int end, const Value *parameter) {
    for (int i = 0; i < end; i++)
        if (check->memory.items[i]->op->code == OP_STORE &&
            check->memory.items[i]->parameter == parameter)
            return true;
    return false;
}

/// An update of memory that a second run would not repeat: an atomic, or a store of what was loaded there and changed.
/// Where a loop's first iteration touches memory, from where all of them do: the terms of its counter are gone.
static const Poly *first_place(Check *check, const Poly *base, const Op *loop) {
    const Value *start = loop->operands[0];
    if (loop->code != OP_FOR || !start->constant) return base;
    const Poly *from = poly_constant(check->arena, start->constant->integer);
    return poly_substitute(check->arena, base, loop->regions[0]->arguments[0], from);
}

/// Whether the program has stored to the elements that it updates here, on each way to the update: what was there before is gone.
static bool is_begun_anew(Check *check, int update) {
    const Access *updated = check->memory.items[update];
    for (int i = 0; i < update; i++) {
        const Access *access = check->memory.items[i];
        if (access->op->code != OP_STORE || access->parameter != updated->parameter ||
            !access->offset.known || !updated->offset.known)
            continue;
        const Poly *base = access->offset.base;
        for (const Op *store = access->op; store; store = store->parent->parent) {
            if (store != access->op && !op_is_loop(store->code)) break;
            if (store != access->op) base = first_place(check, base, store);
            if (!poly_equal(base, updated->offset.base)) continue;
            for (const Op *op = updated->op; op; op = op->parent->parent)
                if (op->parent == store->parent) return true;
        }
    }
    return false;
}

/// Whether a stored value is, in each lane, what was loaded or what does not depend on it: stored once more it stays the same.
static bool is_choice_of(Check *check, const Value *value, const Value *loaded) {
    const Op *op = value->op;
    if (!op || op->code != OP_WHERE ||
        value_depends_on(check->arena, op->operands[0], loaded, NULL))
        return false;
    for (int side = 1; side <= 2; side++) {
        const Value *chosen = check_strip(op->operands[side]);
        if (chosen != loaded && value_depends_on(check->arena, chosen, loaded, NULL)) return false;
    }
    return true;
}

static const Access *find_update(Check *check) {
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        if (access->op->code == OP_ATOMIC_ADD && access->parameter && !is_begun_anew(check, i))
            return access;
        if (access->op->code != OP_STORE || !access->parameter) continue;
        Value *value = check_operand(access->op, "value");
        for (int k = 0; k < i && value && !is_stored_before(check, i, access->parameter); k++) {
            const Access *before = check->memory.items[k];
            if (before->op->code != OP_LOAD || before->parameter != access->parameter ||
                !before->offset.known || !access->offset.known ||
                !poly_equal(before->offset.base, access->offset.base))
                continue;
            const Value *loaded = before->op->results[0];
            if (value_depends_on(check->arena, value, loaded, NULL) &&
                !is_choice_of(check, value, loaded))
                return access;
        }
    }
    return NULL;
}

/// Whether `reset_to_zero` and `restore_value` are lists of names, none of them the parameter's: then nothing restores it.
static bool is_left_alone(const Source *source, const CheckedArguments *arguments,
                          const char *name) {
    for (LIST_EACH(int, i, arguments->list)) {
        const CheckedArgument *argument = &arguments->list.items[i];
        if (!str_is(argument->keyword, "reset_to_zero") &&
            !str_is(argument->keyword, "restore_value"))
            continue;
        if (node_kind(argument->value) != SYNTAX_LIST) return false;
        for (uint32_t k = 0; k < node_child_count(argument->value); k++) {
            Str text = node_text(source, node_child(argument->value, k));
            if (node_kind(node_child(argument->value, k)) != SYNTAX_STRING || text.size < 3 ||
                str_is((Str){text.data + 1, text.size - 2}, name))
                return false;
        }
    }
    return true;
}

typedef struct HookSearch {
    Check *check;
    const Module *module;
    bool may_reset;
    int depth;
} HookSearch;

static bool visit_hook(void *context, SyntaxNode node);

static void search_hooks(HookSearch *search, const Module *module, SyntaxNode node) {
    enum { DEPTH = 4 };
    if (search->depth >= DEPTH || search->may_reset) return;
    HookSearch inner = *search;
    inner.module = module;
    inner.depth++;
    inner.may_reset = text_contains(node_text(module->source, node), "pre_hook");
    if (!inner.may_reset) syntax_walk(node, visit_hook, &inner);
    search->may_reset = inner.may_reset;
}

/// Functions and globals that configurations are made by; what is not followed may give them hooks.
static bool visit_hook(void *context, SyntaxNode node) {
    HookSearch *search = context;
    SyntaxNode name = node_kind(node) == SYNTAX_CALL ? node_field(node, "function") : node;
    if (node_kind(node) != SYNTAX_CALL && node_kind(node) != SYNTAX_IDENTIFIER) return true;
    ScopeEntry entry = scope_of_expression(search->check->arena, search->module, name);
    if (entry.kind == SCOPE_FUNCTION && entry.function->module)
        search_hooks(search, entry.function->module, entry.function->node);
    else if (entry.kind == SCOPE_ASSIGNED)
        search_hooks(search, entry.module, entry.node);
    else if (entry.kind == SCOPE_OPAQUE && node_kind(node) == SYNTAX_CALL)
        search->may_reset = true;
    return !search->may_reset;
}

/// Whether a configuration may set memory back before it runs: `pre_hook=`, here or where the list comes from.
static bool may_have_hooks(Check *check, const CheckedArguments *arguments) {
    HookSearch search = {.check = check, .module = check->kernel->definition->module};
    for (LIST_EACH(int, i, arguments->list))
        if (i == 0 || arguments->list.items[i].keyword.size)
            search_hooks(&search, search.module, arguments->list.items[i].value);
    return search.may_reset;
}

static bool visit_return(void *context, SyntaxNode node) {
    SyntaxNode *returned = context;
    if (node_kind(node) != SYNTAX_RETURN) return true;
    // a second one decides which list it is
    *returned = node_is_null(*returned) ? node_child(node, 0) : node;
    return true;
}

/// Whether there is one configuration, so that nothing is tried: a list of one, or a call of a function that returns one.
static bool is_one_configuration(Check *check, SyntaxNode list) {
    const Module *module = check->kernel->definition->module;
    if (node_kind(list) == SYNTAX_CALL) {
        ScopeEntry entry = scope_of_expression(check->arena, module, node_field(list, "function"));
        if (entry.kind != SCOPE_FUNCTION) return false;
        SyntaxNode returned = {0};
        syntax_walk(entry.function->body, visit_return, &returned);
        list = returned;
    }
    return !node_is_null(list) && node_kind(list) == SYNTAX_LIST && node_child_count(list) < 2;
}

static void check_reset(Check *check, SyntaxNode call) {
    const Module *module = check->kernel->definition->module;
    CheckedArguments arguments = arguments_read(check, module->source, NULL, call);
    if (text_contains(node_text(module->source, call), "pre_hook")) return;
    for (LIST_EACH(int, i, arguments.list))
        if (str_is(arguments.list.items[i].keyword, "configs") &&
            is_one_configuration(check, arguments.list.items[i].value))
            return;
    const Access *update = arguments.has_splat ? NULL : find_update(check);
    if (!update || !is_left_alone(module->source, &arguments, update->parameter->name) ||
        may_have_hooks(check, &arguments))
        return;
    Range place = node_range(module->source, node_field(call, "function"));
    SyntaxNode decorator = node_parent(call);
    if (node_kind(decorator) == SYNTAX_DECORATOR)
        place.start = node_range(module->source, decorator).start;
    Diagnostic *said =
        check_report_at(check, DIAGNOSTIC_AUTOTUNE_WITHOUT_RESET, place,
                        "every configuration that is tried updates %s once more: add `%s=[\"%s\"]`",
                        update->parameter->name,
                        update->op->code == OP_ATOMIC_ADD ? "reset_to_zero" : "restore_value",
                        update->parameter->name);
    check_relate(check, said, update->op, "updated here");
}

static void check_keys(Check *check, SyntaxNode call) {
    const FunctionDefinition *definition = check->kernel->definition;
    const Source *source = definition->module->source;
    CheckedArguments arguments = arguments_read(check, source, NULL, call);
    for (LIST_EACH(int, i, arguments.list)) {
        SyntaxNode list = arguments.list.items[i].value;
        static const char *const lists[] = {"key", "reset_to_zero", "restore_value"};
        bool names = false;
        for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
            names |= str_is(arguments.list.items[i].keyword, lists[k]);
        if (!names || node_kind(list) != SYNTAX_LIST) continue;
        for (uint32_t k = 0; k < node_child_count(list); k++) {
            SyntaxNode item = node_child(list, k);
            Str text = node_text(source, item);
            if (node_kind(item) != SYNTAX_STRING || text.size < 3) continue;
            Str name = {text.data + 1, text.size - 2};
            if (definition_parameter(definition, name) < 0)
                check_report_at(check, DIAGNOSTIC_AUTOTUNE_UNKNOWN_KEY, node_range(source, item),
                                "the kernel has no parameter %.*s", STR_ARGS(name));
        }
    }
}

typedef struct PairSearch {
    Check *check;
    const FunctionDefinition *definition;
    LIST(Str) told;  // names that it has no parameter for
} PairSearch;

static bool visit_config_key(void *context, SyntaxNode node) {
    PairSearch *search = context;
    const Source *source = search->definition->module->source;
    if (node_kind(node) == SYNTAX_KEYWORD_ARGUMENT) {
        Str name = node_text(source, node_field(node, "name"));
        return str_is(name, "configs") || str_is(name, "kwargs");
    }
    if (node_kind(node) != SYNTAX_PAIR) return true;
    SyntaxNode key = node_field(node, "key");
    Str text = node_text(source, key);
    if (node_kind(key) != SYNTAX_STRING || text.size < 3) return false;
    Str name = {text.data + 1, text.size - 2};
    if (definition_parameter(search->definition, name) >= 0 || launch_option_is_known(name))
        return false;
    for (LIST_EACH(int, i, search->told))  // a list has it in each configuration
        if (str_equal(search->told.items[i], name)) return false;
    LIST_PUSH(search->check->arena, &search->told, name);
    check_report_at(search->check, DIAGNOSTIC_AUTOTUNE_UNKNOWN_PARAMETER, node_range(source, key),
                    "the kernel has no parameter %.*s", STR_ARGS(name));
    return false;
}

static bool prunes_by_function(Check *check, SyntaxNode call) {
    const Source *source = check->kernel->definition->module->source;
    Str written = node_text(source, node_field(call, "arguments"));
    return str_contains(written, str_from("early_config_prune"));
}

void check_autotuning(Check *check) {
    const FunctionDefinition *definition = check->kernel->definition;
    if (!definition->is_autotuned || has_variadic(definition)) return;
    SyntaxNode call = autotune_call(check, definition);
    if (node_is_null(call)) return;
    check_reset(check, call);
    check_keys(check, call);
    // A function that prunes may write others in their place.
    if (prunes_by_function(check, call)) return;
    PairSearch search = {.check = check, .definition = definition};
    syntax_walk(node_field(call, "arguments"), visit_config_key, &search);
}

/* ---- what is added to ---- */

/// Memory that nothing was written to since the launcher allocated it.
static bool is_certainly_empty(const HostArgument *argument) {
    const HostValue *value = argument->value;
    if (!value || value->kind != HOST_TENSOR) return false;
    const HostBuffer *buffer = value->tensor->buffer;
    return buffer->contents == CONTENTS_EMPTY && !buffer->may_be_written;
}

/// The first access to the parameter's memory, where that is an update by an atomic.
static const Access *first_update(const Check *check, int parameter) {
    for (LIST_EACH(int, i, check->memory)) {
        const Access *access = check->memory.items[i];
        if (access->parameter != check->function->parameters[parameter].value) continue;
        bool updates = op_rows[access->op->code].effects & EFFECT_ATOMIC;
        bool replaces = access->op->code == OP_ATOMIC_XCHG || access->op->code == OP_ATOMIC_CAS;
        return updates && !replaces && !check_is_optional(access->op) ? access : NULL;
    }
    return NULL;
}

/// Whether the file gives the kernel a hook, `kernel.add_pre_run_hook(...)`, which may set memory to zero before each launch.
static bool has_run_hook(const Check *check) {
    const FunctionDefinition *definition = check->kernel->definition;
    const char *hook =
        arena_printf(check->arena, "%.*s.add_pre_run_hook", STR_ARGS(definition->name));
    return text_contains(definition->module->source->text, hook);
}

void check_started_sums(Check *check) {
    const FunctionDefinition *definition = check->kernel->definition;
    const Function *function = check->function;
    const Access **updates = ARENA_ARRAY(check->arena, const Access *, function->parameter_count);
    bool any = false;
    for (int p = 0; p < function->parameter_count; p++)
        any |= (updates[p] = first_update(check, p)) != NULL;
    // A tuned kernel's hooks may set it to zero.
    if (!any || !check->is_entry || definition->is_autotuned || has_run_hook(check)) return;
    HostLaunches launches = host_launches(check->arena, definition, function);
    for (LIST_EACH(int, i, launches)) {
        const HostLaunch *launch = launches.items[i];
        for (int p = 0; p < function->parameter_count && p < launch->argument_count; p++) {
            if (!updates[p] || !is_certainly_empty(&launch->arguments[p])) continue;
            Diagnostic *said = check_report_at(
                check, DIAGNOSTIC_UNINITIALISED_READ, launch->arguments[p].range,
                "the kernel updates %s, which holds anything: allocate it with `torch.zeros`",
                function->parameters[p].name);
            check_relate(check, said, updates[p]->op, "updated here");
        }
    }
}

/* ---- calls without a grid ---- */

typedef struct DirectCallSearch {
    Check *check;
    const FunctionDefinition *launcher;
} DirectCallSearch;

static bool visit_call(void *context, SyntaxNode node) {
    DirectCallSearch *search = context;
    const FunctionDefinition *kernel = search->check->kernel->definition;
    const Module *module = kernel->module;
    SyntaxNode function = node_kind(node) == SYNTAX_CALL ? node_field(node, "function") : node;
    if (node_kind(node) != SYNTAX_CALL || node_kind(function) != SYNTAX_IDENTIFIER) return true;
    Str name = node_text(module->source, function);
    if (!str_equal(name, kernel->name) || definition_parameter(search->launcher, name) >= 0)
        return true;
    ScopeEntry entry = scope_of_expression(search->check->arena, module, function);
    if (entry.kind == SCOPE_FUNCTION && entry.function == kernel)
        check_report_at(
            search->check, DIAGNOSTIC_LAUNCH_WITHOUT_GRID, node_range(module->source, node),
            "a kernel cannot be called: launch it with `%.*s[grid](...)`", STR_ARGS(name));
    return true;
}

static bool is_launched(const Module *module, const FunctionDefinition *kernel) {
    for (LIST_EACH(int, i, module->launches))
        if (module->launches.items[i].kernel == kernel) return true;
    return false;
}

void check_direct_calls(Check *check) {
    const FunctionDefinition *kernel = check->kernel->definition;
    bool stores = false;
    for (LIST_EACH(int, i, check->memory))
        stores |= (op_rows[check->memory.items[i]->op->code].effects & EFFECT_WRITES) != 0;
    bool is_kernel =
        stores && check->axes.programs[0] && !check->kernel->is_helper && !kernel->returns_value;
    if (!(is_kernel || is_launched(kernel->module, kernel)) ||
        !has_only_known_decorators(check, kernel))
        return;
    const char *name = str_dup(check->arena, kernel->name);
    for (LIST_EACH(int, i, kernel->module->functions)) {
        DirectCallSearch search = {check, kernel->module->functions.items[i]};
        if (!search.launcher->is_jit && !search.launcher->decorators.count &&
            text_contains(source_slice(search.launcher->range), name))
            syntax_walk(search.launcher->body, visit_call, &search);
    }
}

/* ---- grids that stop short ---- */

typedef struct GridSearch {
    Check *check;
    const LaunchSite *site;
    bool is_in_name;  // in what the launcher binds to a name of the grid
} GridSearch;

/// Whether tiles are as long as it: a number of groups, or of a row's elements, divides without a rest.
static bool is_length(const Check *check, int parameter) {
    const Value *value = check->function->parameters[parameter].value;
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        for (int r = 0; r < op->result_count; r++)
            for (int axis = 0; axis < op->results[r]->type.rank; axis++)
                if (op->results[r]->type.dims[axis] &&
                    poly_mentions(op->results[r]->type.dims[axis], value))
                    return true;
    }
    return false;
}

/// Whether a mask compares lanes of tiles that are as long as the parameter says.
static bool is_masked_along(const Check *check, int parameter) {
    const Value *length = check->function->parameters[parameter].value;
    for (LIST_EACH(int, i, check->ops)) {
        const Op *op = check->ops.items[i];
        bool is_along = false;
        for (int axis = 0; op_is_comparison(op->code) && axis < op->results[0]->type.rank; axis++)
            is_along |= op->results[0]->type.dims[axis] &&
                        poly_mentions(op->results[0]->type.dims[axis], length);
        for (int k = 0; is_along && k < check->memory.count; k++) {
            const Value *mask = check->memory.items[k]->mask;
            if (mask && value_depends_on(check->arena, mask, op->results[0], NULL)) return true;
        }
    }
    return false;
}

/// Whether the launch passes what is written so for the parameter.
static bool is_passed_for(const GridSearch *search, int parameter, Str text) {
    const FunctionDefinition *kernel = search->site->kernel;
    const Source *source = kernel->module->source;
    CheckedArguments arguments =
        arguments_read(search->check, source, search->site->launcher, search->site->call);
    const CheckedArgument *argument = arguments_find(kernel, &arguments, parameter);
    bool is_certain = argument && (!arguments.has_splat || argument->keyword.size);
    SyntaxKind kind = is_certain ? node_kind(argument->value) : SYNTAX_COMMENT;
    return (kind == SYNTAX_IDENTIFIER || kind == SYNTAX_INTEGER) &&
           str_equal(node_text(source, argument->value), text);
}

static bool visit_grid(void *context, SyntaxNode node) {
    GridSearch *search = context;
    const FunctionDefinition *kernel = search->site->kernel;
    const Source *source = kernel->module->source;
    if (node_kind(node) == SYNTAX_IDENTIFIER && !search->is_in_name) {
        SyntaxNode bound = launcher_binding(search->site->launcher, node_text(source, node));
        GridSearch inner = *search;
        inner.is_in_name = true;
        if (!node_is_null(bound) && node_kind(bound) == SYNTAX_BINARY &&
            str_is(node_text(source, node_field(bound, "operator")), "//"))
            syntax_walk(bound, visit_grid, &inner);
    }
    if (node_kind(node) != SYNTAX_BINARY) return true;
    Str sign = node_text(source, node_field(node, "operator"));
    // what is added to a quotient may be for the rest
    if (!str_is(sign, "//")) return !str_is(sign, "+");
    SyntaxNode left = node_field(node, "left");
    Str numerator = node_text(source, left);
    Str divisor = node_text(source, node_field(node, "right"));
    if (text_contains(numerator, "+") || text_contains(numerator, "-") ||
        node_kind(left) == SYNTAX_INTEGER)
        return true;
    SyntaxNode bound = launcher_binding(search->site->launcher, divisor);
    if (!node_is_null(bound) && str_is(node_text(source, bound), "1")) return true;
    // how many rows a tensor has: its elements by one of its sizes
    bool is_size = launcher_binds_size(search->site->launcher, divisor) ||
                   (!node_is_null(bound) && node_kind(bound) == SYNTAX_SUBSCRIPT &&
                    str_ends(node_text(source, node_child(bound, 0)), ".shape"));
    if (is_size && text_contains(numerator, ".numel()")) return true;
    for (int i = 0; i < kernel->parameter_count; i++) {
        const ParameterDefinition *parameter = &kernel->parameters[i];
        bool is_block = parameter->is_constexpr &&
                        (str_equal(divisor, parameter->name) || is_passed_for(search, i, divisor) ||
                         text_contains(divisor, arena_printf(search->check->arena, "\"%.*s\"",
                                                             STR_ARGS(parameter->name))));
        // along an axis without a mask the extent is a multiple of the block
        if (!is_block || !is_length(search->check, i) || !is_masked_along(search->check, i))
            continue;
        check_report_at(
            search->check, DIAGNOSTIC_GRID_TOO_SMALL, node_range(source, node),
            "rounds down: the last %.*s that is not full gets no program (`triton.cdiv` rounds up)",
            STR_ARGS(parameter->name));
        return false;
    }
    return true;
}

static bool has_masks(const Check *check) {
    for (LIST_EACH(int, i, check->memory)) {
        const Value *mask = check->memory.items[i]->mask;
        if (mask && !value_is_none(mask)) return true;
    }
    return false;
}

void check_grids(Check *check) {
    const FunctionDefinition *kernel = check->kernel->definition;
    const Module *module = kernel->module;
    if (!has_masks(check)) return;  // without masks the extents are multiples of the blocks
    for (LIST_EACH(int, i, check->ops))
        if (check->ops.items[i]->code == OP_NUM_PROGRAMS)
            return;  // programs share the work in some other way
    for (LIST_EACH(int, i, module->launches)) {
        GridSearch search = {.check = check, .site = &module->launches.items[i]};
        const FunctionDefinition *launcher = search.site->launcher;
        if (search.site->kernel != kernel) continue;
        // A remainder that is tested somewhere in the launcher is the author's way to be sure.
        if (launcher && text_contains(source_slice(launcher->range), " % ")) continue;
        syntax_walk(launch_grid(search.site).value, visit_grid, &search);
    }
}
