// A launch that was reached: what each kernel parameter gets, by the argument list, the defaults, autotune and heuristics.
#include "analysis/host/launch_bind.h"

#include <limits.h>

#include "analysis/host/host_call.h"
#include "analysis/host/host_expression.h"
#include "analysis/host/host_operator.h"
#include "analysis/host/host_statement.h"
#include "analysis/host/host_tensor.h"
#include "analysis/host/launch_spreads.h"
#include "analysis/host_values/host_input.h"
#include "analysis/host_values/host_solve.h"
#include "analysis/host_values/host_value.h"
#include "analysis/syntax/syntax_nodes.h"

bool launch_option_is_known(Str name) {
    static const char *const options[] = {
#define OPTION(NAME) #NAME,
#include "analysis/host_values/launch_options.def"
#undef OPTION
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (str_is(name, options[i])) return true;
    return false;
}

static void add_problem(Host *host, HostProblemKind kind, Range range, Str name) {
    LIST_PUSH(host->arena, &host->launch->problems, (HostProblem){kind, range, name});
}

static int parameter_index(const FunctionDefinition *kernel, Str name) {
    for (int i = 0; i < kernel->parameter_count; i++)
        if (str_equal(kernel->parameters[i].name, name)) return i;
    return -1;
}

static bool is_tuned_name(const FunctionDefinition *kernel, Str name) {
    for (int i = 0; i < kernel->tuned_names.count; i++)
        if (str_equal(kernel->tuned_names.items[i], name)) return true;
    return false;
}

static bool is_tensor(const HostValue *value) {
    return value->kind == HOST_TENSOR ||
           (value->kind == HOST_INPUT && value->input->kind == INPUT_TENSOR);
}

/// What an undecided host value has to be, by how the lowered kernel uses the parameter.
static KernelUse use_of(const Host *host, int index) {
    return index < host->uses.count ? host->uses.items[index]
                                    : (KernelUse){.kind = INPUT_UNDECIDED, .divisor = -1};
}

/// A text of the caller's that nothing is known of: one of those that the kernel asks for, another for another choice.
static void choose_text(Host *host, const KernelUse *use, HostInput *input) {
    if (input->kind != INPUT_STRING || input->constant.string.size || !use->text_count) return;
    int choice = 0;
    for (int among = 1; among < use->text_count; among *= 2)
        choice = 2 * choice + host_flag_bit(host);
    Str text = use->texts[choice % use->text_count];
    if (!text.size) return;
    input->constant = constant_of_string(str_from(str_dup(host->arena, text)));
    host->is_changed = true;
}

/// The first input of a sum or product that may be a tensor; NULL: there is none.
static HostInput *first_open(const HostValue *value) {
    if (value->kind == HOST_INPUT) return host_may_be_tensor(value->input) ? value->input : NULL;
    HostInput *first = NULL;
    for (int i = 0; value->kind == HOST_OPERATION && i < value->count && !first; i++)
        first = first_open(value->items[i]);
    return first;
}

static const HostValue *settle(Host *host, int index, const HostValue *value) {
    const FunctionDefinition *kernel = host->launch->kernel;
    HostInputKind kind = use_of(host, index).kind;
    HostInput *open =
        kind == INPUT_TENSOR && value->kind == HOST_OPERATION ? first_open(value) : NULL;
    if (open) host_decide(host, open, INPUT_TENSOR);
    if (value->kind == HOST_INPUT || value->kind == HOST_OPERATION) {
        bool scalar = kind != INPUT_TENSOR && kind != INPUT_UNDECIDED;
        if (value->kind == HOST_INPUT && kind != INPUT_UNDECIDED)
            host_decide(host, value->input, kind);
        else if (scalar && (kind == INPUT_INT || kind == INPUT_FLOAT))
            host_want(host, value, kind);
    }
    if (value->kind == HOST_INPUT) {
        const KernelUse use = use_of(host, index);
        choose_text(host, &use, value->input);
    }
    if (value->kind == HOST_INPUT && value->input->is_optional && use_of(host, index).is_present)
        host_require(host, host_input_property(host, HOST_IS_NONE, value->input, 0), false,
                     HOST_WISH);
    bool sized = value->kind == HOST_SIZE ||
                 (value->kind == HOST_INPUT && value->input->kind == INPUT_INT) ||
                 (value->kind == HOST_OPERATION && use_of(host, index).is_length);
    if (kernel->parameters[index].is_constexpr && sized && !host->policy.keeps_lengths)
        host_require(host, host_apply(host, HOST_OP_IS_POWER_OF_2, value, NULL), true, HOST_WISH);
    if (!is_tensor(value)) return value;
    HostTensor *tensor = host_as_tensor(host, value);
    if (tensor->buffer->id < host->older_buffers) tensor->buffer->may_be_written = true;
    return host_of_tensor(host, tensor);
}

static const HostValue *meta_dictionary(Host *host) {
    const HostLaunch *launch = host->launch;
    HostValue *meta = host_new(host, HOST_DICTIONARY);
    int capacity = launch->argument_count + launch->options.count + 1;
    Str *keys = ARENA_ARRAY(host->arena, Str, capacity);
    const HostValue **items = ARENA_ARRAY(host->arena, const HostValue *, capacity);
    for (int i = 0; i < launch->argument_count; i++) {
        if (!launch->arguments[i].value) continue;
        keys[meta->count] = launch->kernel->parameters[i].name;
        items[meta->count++] = launch->arguments[i].value;
    }
    for (int i = 0; i < launch->options.count; i++) {
        keys[meta->count] = launch->options.items[i].name;
        items[meta->count++] = launch->options.items[i].value;
    }
    meta->keys = keys;
    meta->items = items;
    return meta;
}

static void set_tuned(Host *host, Str name, const HostValue *value) {
    HostLaunch *launch = host->launch;
    int index = parameter_index(launch->kernel, name);
    if (index < 0) {
        if (launch_option_is_known(name))
            LIST_PUSH(host->arena, &launch->options, (HostOption){name, value});
        return;
    }
    if (launch->arguments[index].value && !launch->arguments[index].is_default) return;
    bool is_number = value->kind == HOST_CONSTANT && value->constant.kind == CONSTANT_INT;
    if (host->policy.divide_blocks && is_number)
        value = host_of_int(host, host_divided_block(value->constant.integer));
    launch->arguments[index] =
        (HostArgument){.value = value, .range = host->site->range, .is_tuned = true};
}

/// The first argument of a decorator call, or the keyword; a null node when neither is there.
static SyntaxNode decorator_argument(const Source *source, SyntaxNode call, const char *keyword) {
    SyntaxNode list = node_field(call, "arguments"), nothing = {0};
    for (uint32_t i = 0; !node_is_null(list) && i < node_child_count(list); i++) {
        SyntaxNode child = node_child(list, i);
        if (node_kind(child) == SYNTAX_COMMENT) continue;
        if (node_kind(child) != SYNTAX_KEYWORD_ARGUMENT) return child;
        if (str_is(node_text(source, node_field(child, "name")), keyword))
            return node_field(child, "value");
    }
    return nothing;
}

/// One of autotune's configurations, by the seed; then what heuristics compute from all arguments.
static void apply_decorators(Host *host) {
    const FunctionDefinition *kernel = host->launch->kernel;
    const Source *source = kernel->module->source;
    // `kernel.fn` is what the outermost one is put around
    for (int i = host->site->is_bare ? 1 : 0; i < kernel->decorators.count; i++) {
        SyntaxNode call = kernel->decorators.items[i];
        if (node_kind(call) == SYNTAX_DECORATOR) call = node_child(call, 0);
        if (node_kind(call) != SYNTAX_CALL) continue;
        // A frame of its own: literals of configurations are block sizes.
        HostFrame *frame =
            host_frame(host, host_module_frame(host, kernel->module), kernel->module);
        SyntaxNode configs = decorator_argument(source, call, "configs"),
                   values = decorator_argument(source, call, "values");
        Str callee = node_text(source, node_field(call, "function"));
        if (!node_is_null(configs) && str_ends(callee, "autotune")) {
            const HostValue *list = host_evaluate(host, frame, configs);
            const HostValue *const *items = NULL;
            int count = 0;
            if (!host_items(host, list, &items, &count) || count == 0) continue;
            const HostValue *config = items[host->policy.seed % (uint64_t)count];
            for (int k = 0; config->kind == HOST_DICTIONARY && k < config->count; k++)
                set_tuned(host, config->keys[k], config->items[k]);
        } else if (!node_is_null(values) && str_ends(callee, "heuristics")) {
            const HostValue *table = host_evaluate(host, frame, values);
            for (int k = 0; table->kind == HOST_DICTIONARY && k < table->count; k++) {
                const HostValue *meta = meta_dictionary(host), *function = table->items[k];
                HostCall arguments = {.items = &meta, .count = 1, .frame = frame};
                if (function->kind == HOST_FUNCTION)
                    set_tuned(host, table->keys[k], host_invoke(host, function, &arguments));
            }
        }
    }
}

/// Whether every decorator is Triton's own: then a parameter that nothing sets is certainly missing.
static bool is_plainly_decorated(const FunctionDefinition *kernel) {
    for (int i = 0; i < kernel->decorators.count; i++) {
        SyntaxNode node = kernel->decorators.items[i];
        if (node_kind(node) == SYNTAX_DECORATOR) node = node_child(node, 0);
        if (node_kind(node) == SYNTAX_CALL) node = node_field(node, "function");
        Str name = node_text(kernel->module->source, node);
        bool dotted = str_is(name, "triton.jit") || str_is(name, "triton.autotune") ||
                      str_is(name, "triton.heuristics");
        if (!dotted && !str_is(name, "jit") && !str_is(name, "autotune") &&
            !str_is(name, "heuristics"))
            return false;
    }
    return kernel->decorators.count > 0;
}

/// A block size or flag that is set in a way that is not understood, as `input`.
static const HostValue *guess_number(Host *host, int index, HostInput *input) {
    HostInputKind kind = use_of(host, index).kind;
    if (input->kind == INPUT_UNDECIDED) {
        host_decide(host, input, kind == INPUT_BOOL ? INPUT_BOOL : INPUT_INT);
        if (kind != INPUT_BOOL)
            input->constant = (Constant){.kind = CONSTANT_INT, .integer = 16, .number = 16};
    }
    return host_input_value(host, input);
}

/// The same, where some tuner sets it.
static const HostValue *guess_tuned(Host *host, int index) {
    Str name = host->launch->kernel->parameters[index].name;
    return guess_number(host, index,
                        host_input(host, arena_printf(host->arena, "tuned %.*s", STR_ARGS(name))));
}

/// `kernel[grid](x, **config)`: what nothing else passes is in `config`, as `config["BLOCK"]`, of which the launcher may speak as well.
static void bind_keyed(Host *host, const HostCall *call) {
    HostLaunch *launch = host->launch;
    if (!call->open_names || call->open_from != INT_MAX) return;
    for (int i = 0; i < launch->kernel->parameter_count; i++) {
        const ParameterDefinition *parameter = &launch->kernel->parameters[i];
        bool is_set = launch->arguments[i].value || is_tuned_name(launch->kernel, parameter->name);
        if (is_set || parameter->is_variadic || !parameter->is_constexpr) continue;
        const HostValue *value = host_keyed(host, call->open_names, parameter->name);
        HostInputKind kind = use_of(host, i).kind;
        bool is_number = kind == INPUT_UNDECIDED || kind == INPUT_INT || kind == INPUT_BOOL;
        if (value->kind == HOST_INPUT && is_number) value = guess_number(host, i, value->input);
        launch->arguments[i] =
            (HostArgument){.value = settle(host, i, value), .range = host->site->range};
    }
}

static void bind_grid(Host *host, HostFrame *frame) {
    HostLaunch *launch = host->launch;
    SyntaxNode *parts = NULL;
    int count = node_children(host->arena, host->site->subscript, &parts);
    const HostValue *grid = NULL;
    if (count > 2) {
        const HostValue
            *axes[PROGRAM_AXES + 1];  // one more, so that it shows where they are too many
        int axis_count = 0;
        for (int i = 1; i < count && axis_count <= PROGRAM_AXES; i++)
            axes[axis_count++] = host_evaluate(host, frame, parts[i]);
        grid = host_sequence(host, axes, axis_count);
    } else {
        grid = host_evaluate(host, frame, host->site->grid);
    }
    if (grid->kind == HOST_FUNCTION) {
        const HostValue *meta = meta_dictionary(host);
        HostCall arguments = {.items = &meta, .count = 1, .frame = frame};
        grid = host_invoke(host, grid, &arguments);
    }
    if (grid->kind != HOST_SEQUENCE && grid->kind != HOST_UNKNOWN && grid->is_concrete)
        grid = host_sequence(host, &grid, 1);
    if (grid->kind != HOST_SEQUENCE) return;
    if (grid->count == 0 || grid->count > PROGRAM_AXES) {
        add_problem(host, PROBLEM_GRID_RANK, node_range(frame->module->source, host->site->grid),
                    STR(""));
        return;
    }
    launch->grid_rank = grid->count;
    for (int i = 0; i < grid->count; i++) {
        host_want(host, grid->items[i], INPUT_INT);
        launch->grid[i] = grid->items[i];
    }
}

static void bind_given(Host *host, const HostCall *call) {
    HostLaunch *launch = host->launch;
    const FunctionDefinition *kernel = launch->kernel;
    for (int i = 0; i < call->count && i < call->open_from; i++) {
        if (i >= kernel->parameter_count) {
            add_problem(host, PROBLEM_TOO_MANY_ARGUMENTS, call->item_ranges[i], STR(""));
            break;
        }
        launch->arguments[i] =
            (HostArgument){.value = settle(host, i, call->items[i]), .range = call->item_ranges[i]};
    }
    for (int i = 0; i < call->name_count; i++) {
        int index = parameter_index(kernel, call->names[i]);
        if (index < 0) {
            LIST_PUSH(host->arena, &launch->options, (HostOption){call->names[i], call->values[i]});
            if (!launch_option_is_known(call->names[i]))
                add_problem(host, PROBLEM_UNKNOWN_KEYWORD, call->name_ranges[i], call->names[i]);
            continue;
        }
        if (launch->arguments[index].value)
            add_problem(host, PROBLEM_GIVEN_TWICE, call->name_ranges[i], call->names[i]);
        launch->arguments[index] = (HostArgument){.value = settle(host, index, call->values[i]),
                                                  .range = call->name_ranges[i]};
    }
}

/// What the kernel divides, as groups of channels: as if the launcher did.
static void expect_quotients(Host *host) {
    const HostLaunch *launch = host->launch;
    for (int i = 0; i < launch->argument_count; i++) {
        int divisor = use_of(host, i).divisor;
        if (divisor < 0 || divisor >= launch->argument_count) continue;
        const HostValue *a = launch->arguments[i].value, *b = launch->arguments[divisor].value;
        if (a && b) host_expect_quotient(host, a, b);
    }
}

/// How many parameters get nothing that the launch shows, nor from a tuner.
static int missing_count(const Host *host) {
    const HostLaunch *launch = host->launch;
    int missing = 0;
    for (int i = 0; i < launch->kernel->parameter_count; i++) {
        const ParameterDefinition *parameter = &launch->kernel->parameters[i];
        missing += !launch->arguments[i].value && !parameter->is_variadic &&
                   !is_tuned_name(launch->kernel, parameter->name);
    }
    return missing;
}

void host_bind_launch(Host *host, HostFrame *frame) {
    HostLaunch *launch = host->launch;
    const FunctionDefinition *kernel = launch->kernel;
    launch->argument_count = kernel->parameter_count;
    launch->arguments = ARENA_ARRAY(host->arena, HostArgument, kernel->parameter_count + 1);
    launch->options.count = 0;
    launch->problems.count = 0;
    launch->grid_rank = 0;
    HostCall call = host_call_arguments(host, frame, host->site->call);
    bind_given(host, &call);
    HostFrame *globals = host_module_frame(host, kernel->module);
    for (int i = 0; i < kernel->parameter_count; i++) {
        if (launch->arguments[i].value || node_is_null(kernel->parameters[i].default_node))
            continue;
        const HostValue *value = host_evaluate(host, globals, kernel->parameters[i].default_node);
        launch->arguments[i] =
            (HostArgument){.value = value, .range = host->site->range, .is_default = true};
    }
    apply_decorators(host);
    bind_keyed(host, &call);
    host_fit_spreads(host, &call, missing_count(host));
    for (int i = 0; i < kernel->parameter_count; i++) {
        const ParameterDefinition *parameter = &kernel->parameters[i];
        if (launch->arguments[i].value || call.is_open || parameter->is_variadic) continue;
        bool unset =
            !kernel->is_autotuned && !kernel->has_heuristics && is_plainly_decorated(kernel);
        if (unset)
            add_problem(host, PROBLEM_MISSING_ARGUMENT, host->site->range, parameter->name);
        else if (parameter->is_constexpr || is_tuned_name(kernel, parameter->name))
            launch->arguments[i] = (HostArgument){
                .value = guess_tuned(host, i), .range = host->site->range, .is_tuned = true};
    }
    expect_quotients(host);
    bind_grid(host, frame);
    host->is_reached = true;
}
