// A launch site in, what every kernel parameter gets out: runs the host code until nothing new is learnt, then binds.
#include "analysis/launch.h"

#include "analysis/host.h"

#include <string.h>

enum { MAX_RUNS = 24 };

/// Keywords of a launch that are no kernel parameters.
static const char *const launch_options[] = {
    "num_warps",
    "num_stages",
    "num_ctas",
    "maxnreg",
    "waves_per_eu",
    "matrix_instr_nonkdim",
    "kpack",
    "grid",
    "warmup",
    "stream",
    "device",
    "device_type",
    "debug",
    "sanitize_overflow",
    "enable_fp_fusion",
    "launch_cooperative_grid",
    "launch_pdl",
    "cluster_dims",
    "ptx_version",
    "ptx_options",
    "ir_override",
    "extern_libs",
    "allow_fp8e4nv",
    "allowed_dot_input_precisions",
    "noinline",
    "do_not_specialize",
    "enable_warp_specialization",
    "num_buffers_warp_spec",
    "num_consumer_groups",
    "reg_dec_producer",
    "reg_inc_consumer",
    "optimize_epilogue",
    "arch",
    "backend_name",
    "instrumentation_mode",
    "supported_fp8_dtypes",
    "pre_hook",
};

static bool is_launch_option(Str name) {
    for (size_t i = 0; i < sizeof launch_options / sizeof *launch_options; i++)
        if (str_is(name, launch_options[i])) return true;
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

typedef struct Uses {
    const Value *value;
    bool as_flag, as_number;
    const Constant *compared;
} Uses;

static bool collect_uses(void *context, Op *op) {
    Uses *uses = context;
    for (int i = 0; i < op->operand_count; i++) {
        if (op->operands[i] != uses->value) continue;
        switch (op->code) {
        case OP_IF:
            if (i == 0) uses->as_flag = true;
            break;
        case OP_LOGICAL_AND:
        case OP_LOGICAL_OR:
        case OP_LOGICAL_NOT: uses->as_flag = true; break;
        case OP_EQ:
        case OP_NE: {
            const Value *other = op->operands[1 - (i > 1 ? 1 : i)];
            if (other && other->constant) uses->compared = other->constant;
            break;
        }
        default: uses->as_number = true;
        }
    }
    return true;
}

/// What an undecided host value has to be, by how the lowered kernel uses the parameter.
static HostInputKind parameter_kind(const Function *function, int index) {
    if (!function || index >= function->parameter_count) return INPUT_UNDECIDED;
    const Parameter *parameter = &function->parameters[index];
    Type type = parameter->value->type;
    if (type.kind == TYPE_POINTER && type.rank == 0) return INPUT_TENSOR;
    if (parameter->is_constexpr) {
        Uses uses = {.value = parameter->value};
        region_walk(function->body, collect_uses, &uses);
        if (uses.compared && uses.compared->kind == CONSTANT_STRING) return INPUT_STRING;
        if (uses.as_flag && !uses.as_number) return INPUT_BOOL;
        return uses.as_number || uses.compared ? INPUT_INT : INPUT_BOOL;
    }
    if (type.kind != TYPE_NUMBER) return INPUT_UNDECIDED;
    if (dtype_is_float(type.element)) return INPUT_FLOAT;
    return dtype_is_integer(type.element) ? INPUT_INT : INPUT_UNDECIDED;
}

typedef struct LengthSearch {
    const Value *value;
    bool found;
} LengthSearch;

static bool visit_length(void *context, Op *op) {
    LengthSearch *search = context;
    search->found |=
        op->code == OP_ARANGE && op->operand_count > 1 && op->operands[1] == search->value;
    return !search->found;
}

/// Whether a range of the kernel is as long as the parameter, and so a power of two.
static bool is_length(const Function *function, int index) {
    if (!function || index >= function->parameter_count) return false;
    LengthSearch search = {.value = function->parameters[index].value};
    region_walk(function->body, visit_length, &search);
    return search.found;
}

static const HostValue *settle(Host *host, int index, const HostValue *value) {
    const FunctionDefinition *kernel = host->launch->kernel;
    HostInputKind kind = parameter_kind(host->policy.function, index);
    if (value->kind == HOST_INPUT || value->kind == HOST_OPERATION) {
        bool scalar = kind != INPUT_TENSOR && kind != INPUT_UNDECIDED;
        if (value->kind == HOST_INPUT && kind != INPUT_UNDECIDED)
            host_decide(host, value->input, kind);
        else if (scalar && (kind == INPUT_INT || kind == INPUT_FLOAT))
            host_want(host, value, kind);
    }
    bool sized = value->kind == HOST_SIZE ||
                 (value->kind == HOST_INPUT && value->input->kind == INPUT_INT) ||
                 (value->kind == HOST_OPERATION && is_length(host->policy.function, index));
    if (kernel->parameters[index].is_constexpr && sized)
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
        if (is_launch_option(name))
            LIST_PUSH(host->arena, &launch->options, (HostOption){name, value});
        return;
    }
    if (launch->arguments[index].value && !launch->arguments[index].is_default) return;
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
    for (int i = 0; i < kernel->decorators.count; i++) {
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

/// A block size or flag that some tuner sets in a way that is not understood.
static const HostValue *guess_tuned(Host *host, int index) {
    Str name = host->launch->kernel->parameters[index].name;
    HostInput *input = host_input(host, arena_printf(host->arena, "tuned %.*s", STR_ARGS(name)));
    HostInputKind kind = parameter_kind(host->policy.function, index);
    if (input->kind == INPUT_UNDECIDED) {
        host_decide(host, input, kind == INPUT_BOOL ? INPUT_BOOL : INPUT_INT);
        if (kind != INPUT_BOOL)
            input->constant = (Constant){.kind = CONSTANT_INT, .integer = 16, .number = 16};
    }
    return host_input_value(host, input);
}

static void bind_grid(Host *host, HostFrame *frame) {
    HostLaunch *launch = host->launch;
    SyntaxNode *parts = NULL;
    int count = node_children(host->arena, host->site->subscript, &parts);
    const HostValue *grid = NULL;
    if (count > 2) {
        const HostValue *axes[8];
        for (int i = 1; i < count && i < 8; i++) axes[i - 1] = host_evaluate(host, frame, parts[i]);
        grid = host_sequence(host, axes, count > 8 ? 7 : count - 1);
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
    if (grid->count == 0 || grid->count > 3) {
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
    for (int i = 0; i < call->count; i++) {
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
            if (!is_launch_option(call->names[i]))
                add_problem(host, PROBLEM_UNKNOWN_KEYWORD, call->name_ranges[i], call->names[i]);
            continue;
        }
        if (launch->arguments[index].value)
            add_problem(host, PROBLEM_GIVEN_TWICE, call->name_ranges[i], call->names[i]);
        launch->arguments[index] = (HostArgument){.value = settle(host, index, call->values[i]),
                                                  .range = call->name_ranges[i]};
    }
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
    bind_grid(host, frame);
    host->is_reached = true;
}

/// Sizes that the host code never looks at: as those of the first tensor of the same rank.
static bool copy_unread_sizes(Host *host) {
    bool changed = false;
    for (int i = 0; i < host->inputs.count; i++) {
        HostInput *input = host->inputs.items[i];
        for (int axis = 0; input->kind == INPUT_TENSOR && axis < input->rank; axis++) {
            if (input->is_dim_read[axis]) continue;
            const HostInput *model = NULL;
            for (int k = 0; k < host->inputs.count; k++) {
                const HostInput *other = host->inputs.items[k];
                if (other->kind != INPUT_TENSOR || other->rank != input->rank ||
                    (other == input && model))
                    continue;
                if (!model || (other->is_dim_read[axis] && !model->is_dim_read[axis]))
                    model = other;
            }
            int64_t old = input->dims[axis];
            bool held = host_constraints_hold(host);
            if (!model || model->dims[axis] == old) continue;
            input->dims[axis] = model->dims[axis];
            if (held && !host_constraints_hold(host))
                input->dims[axis] = old;
            else
                changed = true;
        }
    }
    return changed;
}

static void run_once(Host *host) {
    host->attributes = map_new(host->arena);
    host->constraints.count = 0;
    host->buffer_count = 0;
    host->older_buffers = 0;
    host->step_count = 0;
    host->depth = 0;
    host->call_depth = 0;
    host->is_changed = false;
    host->is_reached = false;
    host->obstacle = NULL;
    for (int i = 0; i < host->inputs.count; i++) host->inputs.items[i]->tensor = NULL;
    host->modules = map_new(host->arena);
    HostFrame *globals = host_module_frame(host, host->module);
    globals->is_on_path = true;
    host_run_block(host, globals, syntax_root(host->module->tree));
}

static void find_reason(Host *host) {
    HostLaunch *launch = host->launch;
    if (!host->is_reached) {
        launch->reason = host->obstacle ? host->obstacle : "the launch is not reached";
        return;
    }
    for (int i = 0; i < launch->argument_count && !launch->reason; i++) {
        const HostValue *value = launch->arguments[i].value;
        const char *note = !value                        ? "nothing is passed"
                           : value->kind == HOST_UNKNOWN ? value->note
                                                         : NULL;
        Str name = launch->kernel->parameters[i].name;
        if (note) launch->reason = arena_printf(host->arena, "%.*s: %s", STR_ARGS(name), note);
    }
    if (!launch->reason && launch->grid_rank == 0) launch->reason = "the grid is not understood";
    for (int i = 0; !launch->reason && i < launch->grid_rank; i++)
        if (launch->grid[i]->kind == HOST_UNKNOWN)
            launch->reason = arena_printf(host->arena, "grid: %s", launch->grid[i]->note);
    if (!launch->reason && !host_constraints_hold(host))
        launch->reason = "a condition on the way to the launch could not be met";
}

HostLaunch *host_launch(Arena *arena, const Module *module, const LaunchSite *site,
                        const HostPolicy *policy) {
    Host host = {.arena = arena, .module = module, .site = site};
    if (policy) host.policy = *policy;
    HostLaunch *launch = ARENA_NEW(arena, HostLaunch);
    launch->site = site;
    launch->kernel = site->kernel;
    host.launch = launch;
    for (int run = 0; run < MAX_RUNS; run++) {
        run_once(&host);
        if (host.is_changed) continue;
        bool changed = run < MAX_RUNS / 2 && copy_unread_sizes(&host);
        if (!host_solve(&host) && !changed) break;
        if (run + 1 == MAX_RUNS) run_once(&host);
    }
    launch->flag_count = host.flag_count;
    launch->is_reached = host.is_reached && host_constraints_hold(&host);
    LIST(HostInput *) inputs = {0};
    for (int arguments = 1; arguments >= 0; arguments--)
        for (int i = 0; i < host.inputs.count; i++)
            if (host.inputs.items[i]->is_argument == (arguments == 1))
                LIST_PUSH(arena, &inputs, host.inputs.items[i]);
    launch->inputs.items = inputs.items;
    launch->inputs.count = inputs.count;
    launch->inputs.capacity = inputs.capacity;
    find_reason(&host);
    return launch;
}

HostLaunches host_launches(Arena *arena, const FunctionDefinition *kernel,
                           const Function *function) {
    HostLaunches all = {0};
    const HostPolicy policy = {.keep_blocks = true, .function = function};
    for (LIST_EACH(int, i, kernel->module->launches)) {
        const LaunchSite *site = &kernel->module->launches.items[i];
        if (site->kernel == kernel)
            LIST_PUSH(arena, &all, host_launch(arena, kernel->module, site, &policy));
    }
    return all;
}
