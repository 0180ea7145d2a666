// The derived backward knows what an argument is for, the file knows which there are: by names, else by the text that is passed.
#include "server/proofs/pair.h"

#include <string.h>

#include "analysis/syntax/syntax_nodes.h"
#include "autodiff/module/module.h"
#include "autodiff/plan/launch_plan.h"

static const BackwardArgument *argument_named(const BackwardLaunch *launch, Str name) {
    for (int i = 0; i < launch->argument_count; i++)
        if (str_is(name, launch->arguments[i].name)) return &launch->arguments[i];
    return NULL;
}

static int parameter_at(const FunctionDefinition *kernel, const char *name) {
    for (int i = 0; i < kernel->parameter_count; i++)
        if (str_is(kernel->parameters[i].name, name)) return i;
    return -1;
}

/// The arguments of the first launch of the kernel whose places are known; false where there is none.
static bool bound_launch(Arena *arena, const Module *module, Str kernel, BoundLaunch *bound) {
    for (LIST_EACH(int, i, module->launches)) {
        const LaunchSite *site = &module->launches.items[i];
        if (str_equal(site->kernel->name, kernel) && launch_bind(arena, module, site, bound))
            return true;
    }
    return false;
}

// --- What an argument comes from, whatever the names on the way are

typedef struct ArgumentOrigin {
    Arena *arena;
    const LaunchSite *site;
    const Source *source;
    Str name;      // that is looked for
    Buffer *text;  // where what it is bound to goes
    int depth;
    bool is_bound;
} ArgumentOrigin;

enum { DEEPEST_BINDING = 6 };

static void origin_write(Arena *arena, const LaunchSite *site, const Source *source,
                         SyntaxNode node, int depth, Buffer *text);

typedef struct BindingTarget {
    Str name;
    const Source *source;
    int index, found;  // among the names that a pattern binds; -1: not one of them
} BindingTarget;

static void visit_target(void *context, SyntaxNode identifier, bool is_item) {
    BindingTarget *target = context;
    (void)is_item;
    if (str_equal(node_text(target->source, identifier), target->name))
        target->found = target->index;
    target->index++;
}

static bool visit_binding(void *context, SyntaxNode node) {
    ArgumentOrigin *origin = context;
    if (origin->is_bound) return false;
    if (node_kind(node) != SYNTAX_ASSIGNMENT) return true;
    SyntaxNode left = node_field(node, "left");
    BindingTarget target = {.name = origin->name, .source = origin->source, .found = -1};
    syntax_targets(left, visit_target, &target);
    if (target.found < 0) return true;
    SyntaxNode right = node_field(node, "right");
    while (node_kind(right) == SYNTAX_ASSIGNMENT) right = node_field(right, "right");
    if (str_is(node_text(origin->source, right), "None")) return true;  // bound again where made
    origin->is_bound = true;
    origin_write(origin->arena, origin->site, origin->source, node_field(node, "right"),
                 origin->depth + 1, origin->text);
    if (target.index > 1) buffer_printf(origin->text, "[%d]", target.found);
    return false;
}

/// A name as what it stands for in the function of the launch: the place of a parameter, or what it is first bound to.
static void origin_of_name(ArgumentOrigin *origin) {
    const FunctionDefinition *function = origin->site->launcher;
    for (int i = 0; function && i < function->parameter_count; i++)
        if (str_equal(function->parameters[i].name, origin->name)) {
            buffer_printf(origin->text, "parameter %d", i);
            return;
        }
    if (function && origin->depth < DEEPEST_BINDING)
        syntax_walk(function->body, visit_binding, origin);
    if (!origin->is_bound) buffer_printf(origin->text, "%.*s", STR_ARGS(origin->name));
}

static bool is_word_of_another(SyntaxNode node) {
    SyntaxNode parent = node_parent(node);
    if (node_is_null(parent)) return false;
    if (node_kind(parent) == SYNTAX_ATTRIBUTE)
        return node_same(node_field(parent, "attribute"), node);
    return node_kind(parent) == SYNTAX_KEYWORD_ARGUMENT &&
           node_same(node_field(parent, "name"), node);
}

static void origin_write(Arena *arena, const LaunchSite *site, const Source *source,
                         SyntaxNode node, int depth, Buffer *text) {
    if (node_kind(node) == SYNTAX_IDENTIFIER && !is_word_of_another(node)) {
        ArgumentOrigin origin = {arena, site, source, node_text(source, node), text, depth, false};
        origin_of_name(&origin);
        return;
    }
    uint32_t count = node_all_child_count(node);
    if (count == 0) buffer_printf(text, "%.*s ", STR_ARGS(node_text(source, node)));
    for (uint32_t i = 0; i < count; i++)
        origin_write(arena, site, source, node_all_child(node, i), depth, text);
}

/// The argument of a bound launch, its names followed; empty where nothing is passed.
static const char *argument_origin(Arena *arena, const Module *module, const BoundLaunch *bound,
                                   int index) {
    Str text = bound->arguments[index];
    if (!text.size) return "";
    uint32_t start = (uint32_t)(text.data - module->source->text.data);
    SyntaxNode node = node_at(syntax_root(module->tree), start, start + (uint32_t)text.size);
    Buffer buffer = buffer_new(arena);
    origin_write(arena, bound->site, module->source, node, 0, &buffer);
    return buffer_text(&buffer);
}

/// The file that tad-lsp would write now: where a parameter has another name, its argument tells which one it was.
typedef struct Derived {
    const Snapshot *snapshot;  // of the file that holds the backward
    const Snapshot *forward;   // of the file that it was derived in
    Arena *arena;
    const Module *module;  // made when it is first asked for
    Snapshot *written;
    Backward *backward;
} Derived;

static const Module *derived_module(Derived *derived) {
    if (derived->module) return derived->module;
    Diagnostics ignored = {.arena = derived->arena};
    const BackwardOptions options = {.wrapper = WRAPPER_AUTOGRAD};
    const char *text = backward_module(derived->arena, derived->forward, &derived->backward, 1,
                                       &options, &ignored);
    const SnapshotOptions quick = {.skip_checks = true};
    derived->written =
        snapshot_build(derived->forward->source->path, str_from(text ? text : ""), &quick);
    return derived->module = derived->written->module;
}

/// The derived argument that is passed what the file passes for its kernel's parameter `index`.
static const BackwardArgument *argument_passed(Derived *derived, const BackwardLaunch *launch,
                                               const Kernel *kernel, int index) {
    BoundLaunch here, there;
    Str name = str_from(launch->kernel);
    if (!bound_launch(derived->arena, derived->snapshot->module, name, &here)) return NULL;
    const Module *module = derived_module(derived);
    if (!bound_launch(derived->arena, module, name, &there)) return NULL;
    const FunctionDefinition *fresh = there.site->kernel;
    const char *origin = argument_origin(derived->arena, derived->snapshot->module, &here, index);
    for (int i = 0; *origin && i < launch->argument_count; i++) {
        const BackwardArgument *argument = &launch->arguments[i];
        int at = parameter_at(fresh, argument->name);
        bool is_taken = parameter_at(kernel->definition, argument->name) >= 0;
        if (at >= 0 && !is_taken &&
            strcmp(argument_origin(derived->arena, module, &there, at), origin) == 0)
            return argument;
    }
    return NULL;
}

static bool is_of_gradients(const BackwardArgument *argument) {
    return argument->use == ARGUMENT_GRADIENT || argument->use == ARGUMENT_UPSTREAM ||
           argument->use == ARGUMENT_RUNNING || argument->use == ARGUMENT_KEPT;
}

/// Whether the file's kernel takes one of the derived kernel's gradients, by its name or by what is passed.
static bool takes_gradients(Derived *derived, const BackwardLaunch *launch, const Kernel *kernel) {
    const FunctionDefinition *definition = kernel->definition;
    for (int i = 0; i < definition->parameter_count; i++) {
        const BackwardArgument *known = argument_named(launch, definition->parameters[i].name);
        if (known && is_of_gradients(known)) return true;
    }
    for (int i = 0; i < definition->parameter_count; i++) {
        if (argument_named(launch, definition->parameters[i].name)) continue;
        const BackwardArgument *known = argument_passed(derived, launch, kernel, i);
        if (known && is_of_gradients(known)) return true;
    }
    return false;
}

bool pair_is_written(const Snapshot *snapshot, const Snapshot *forward, Backward *backward) {
    for (int i = 0; i < backward->launch_count; i++)
        if (!snapshot_find_kernel(snapshot, str_from(backward->launches[i].kernel))) return false;
    if (backward_origin(snapshot->source->text).size) return backward->launch_count > 0;
    Arena *arena = arena_new();
    Derived derived = {
        .snapshot = snapshot, .forward = forward, .arena = arena, .backward = backward};
    bool is_known = false;
    for (int i = 0; i < backward->launch_count && !is_known; i++) {
        const BackwardLaunch *launch = &backward->launches[i];
        is_known = takes_gradients(&derived, launch,
                                   snapshot_find_kernel(snapshot, str_from(launch->kernel)));
    }
    snapshot_release(derived.written);
    arena_free(arena);
    return is_known;
}

// --- What a Function does not set to 0

/// What a lambda calls the tuner's choice and the grid; empty outside of one.
typedef struct ChoiceNames {
    Str meta, grid;
} ChoiceNames;

static ChoiceNames choice_names(const Source *source, SyntaxNode lambda) {
    SyntaxNode parameters = node_field(lambda, "parameters");
    bool are_two = !node_is_null(parameters) && node_child_count(parameters) == 2;
    if (!are_two) return (ChoiceNames){0};
    return (ChoiceNames){node_text(source, node_child(parameters, 0)),
                         node_text(source, node_child(parameters, 1))};
}

/// `grid[0]` or `meta["BLOCK"]`, as `grid.0` or `BLOCK` in a request; false: something else.
static bool subscript_write(const Source *source, SyntaxNode node, ChoiceNames names,
                            Buffer *text) {
    Str name = node_text(source, node_field(node, "value")),
        index = node_text(source, node_field(node, "subscript"));
    bool is_choice = names.meta.size && str_equal(name, names.meta) && index.size > 2;
    if (is_choice)
        buffer_printf(text, "%.*s ", (int)index.size - 2, index.data + 1);
    else if (str_ends(name, ".grid") || str_starts(name, "programs") ||
             (names.grid.size && str_equal(name, names.grid)))
        buffer_printf(text, "grid.%.*s ", STR_ARGS(index));
    else
        return false;
    return true;
}

/// Python as it stands, but for the grid, whose axes are `grid.0` and so on in a request. What holds for each choice of a tuner is what
/// the lambda gives that is passed last.
static void ranges_write(const Source *source, SyntaxNode node, ChoiceNames names, Buffer *text) {
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_CALL) {
        SyntaxNode arguments = node_field(node, "arguments");
        uint32_t last = node_child_count(arguments);
        SyntaxNode lambda = last ? node_child(arguments, last - 1) : node;
        if (node_kind(lambda) == SYNTAX_LAMBDA) {
            ranges_write(source, node_field(lambda, "body"), choice_names(source, lambda), text);
            return;
        }
    }
    if (kind == SYNTAX_SUBSCRIPT && subscript_write(source, node, names, text)) return;
    uint32_t count = kind == SYNTAX_ATTRIBUTE ? 0 : node_all_child_count(node);
    if (count == 0) buffer_printf(text, "%.*s ", STR_ARGS(node_text(source, node)));
    for (uint32_t i = 0; i < count; i++) ranges_write(source, node_all_child(node, i), names, text);
}

typedef struct StoredClaim {
    const Source *source;
    const char *gradient;
    Buffer *text;
    bool is_found;
} StoredClaim;

/// `torch.empty_like(x)`, `x.new_empty(...)`: by hand, in the place of a buffer that is zeroed.
static bool allocates_empty(const Source *source, SyntaxNode call) {
    SyntaxNode callee = node_field(call, "function");
    if (node_kind(callee) == SYNTAX_ATTRIBUTE) callee = node_field(callee, "attribute");
    Str name = node_text(source, callee);
    return str_starts(name, "empty") || str_starts(name, "new_empty");
}

static bool visit_claim(void *context, SyntaxNode node) {
    StoredClaim *claim = context;
    if (node_kind(node) != SYNTAX_ASSIGNMENT) return true;
    SyntaxNode call = node_field(node, "right");
    bool is_it = str_is(node_text(claim->source, node_field(node, "left")), claim->gradient) &&
                 !node_is_null(call) && node_kind(call) == SYNTAX_CALL;
    SyntaxNode arguments = is_it ? node_field(call, "arguments") : call;
    if (is_it && allocates_empty(claim->source, call)) {
        claim->is_found = true;
        Str text = node_text(claim->source, call);
        buffer_add(claim->text, text.data, text.size);
    }
    for (uint32_t i = 0; is_it && i < node_all_child_count(arguments); i++) {
        SyntaxNode argument = node_all_child(arguments, i);
        if (node_kind(argument) != SYNTAX_KEYWORD_ARGUMENT ||
            !str_is(node_text(claim->source, node_field(argument, "name")), "stored"))
            continue;
        claim->is_found = true;
        ranges_write(claim->source, node_field(argument, "value"), (ChoiceNames){0}, claim->text);
    }
    return false;
}

/// What the Function of the file says of the gradient's buffer; NULL: nothing, and so the buffer is zeroed.
static const char *stored_here(const Derived *derived, const char *kernel, const char *gradient) {
    BoundLaunch here;
    const Module *module = derived->snapshot->module;
    if (!bound_launch(derived->arena, module, str_from(kernel), &here) || !here.site->launcher)
        return NULL;
    Buffer text = buffer_new(derived->arena);
    StoredClaim claim = {.source = module->source, .gradient = gradient, .text = &text};
    syntax_walk(here.site->launcher->body, visit_claim, &claim);
    return claim.is_found ? buffer_text(&text) : NULL;
}

static const char *settle_launch(Derived *derived, BackwardLaunch *launch, Range *place) {
    Arena *arena = derived->arena;
    const Kernel *kernel = snapshot_find_kernel(derived->snapshot, str_from(launch->kernel));
    const FunctionDefinition *definition = kernel->definition;
    BackwardLaunch settled = *launch;
    settled.arguments = ARENA_ARRAY(arena, BackwardArgument, definition->parameter_count + 1);
    settled.argument_count = 0;
    for (int i = 0; i < definition->parameter_count; i++) {
        const ParameterDefinition *parameter = &definition->parameters[i];
        const BackwardArgument *known = argument_named(launch, parameter->name);
        if (!known) known = argument_passed(derived, launch, kernel, i);
        if (!known && parameter->default_text.size) continue;
        if (!known) {
            *place = definition->name_range;
            return arena_printf(
                arena,
                "nobody knows what `%.*s` of `%s` is for: name it as the derived kernel does, or "
                "pass it what the derived Function passes",
                STR_ARGS(parameter->name), launch->kernel);
        }
        settled.arguments[settled.argument_count] = *known;
        BackwardArgument *argument = &settled.arguments[settled.argument_count++];
        argument->name = str_dup(arena, parameter->name);
        argument->is_optional = known->is_optional && kernel->function->parameters[i].is_optional;
        argument->upstream = NULL;  // the file's kernel may do more with it
        argument->stored = known->use == ARGUMENT_GRADIENT
                               ? stored_here(derived, launch->kernel, known->name)
                               : NULL;
    }
    *launch = settled;
    return NULL;
}

static bool takes_gradient_of(const Backward *backward, const char *input) {
    for (int i = 0; i < backward->launch_count; i++)
        for (int k = 0; k < backward->launches[i].argument_count; k++) {
            const BackwardArgument *argument = &backward->launches[i].arguments[k];
            bool is_gradient = argument->use == ARGUMENT_GRADIENT ||
                               argument->use == ARGUMENT_RUNNING || argument->use == ARGUMENT_KEPT;
            if (is_gradient && strcmp(argument->of, input) == 0) return true;
        }
    return false;
}

/// The kernel for rows that a block holds, where the file has it.
static const char *settle_whole_rows(Derived *derived, Backward *backward, Range *place) {
    const Backward *rows = backward->whole_rows;
    backward->whole_rows = NULL;
    if (!rows || !snapshot_find_kernel(derived->snapshot, str_from(rows->launches[0].kernel)))
        return NULL;
    Backward *own = ARENA_NEW(derived->arena, Backward);
    *own = *rows;
    own->launches = ARENA_NEW(derived->arena, BackwardLaunch);
    own->launches[0] = rows->launches[0];
    const char *obstacle = settle_launch(derived, &own->launches[0], place);
    if (!obstacle) backward->whole_rows = own;
    return obstacle;
}

const char *pair_settle(Arena *arena, const Snapshot *snapshot, const Snapshot *forward,
                        Backward *backward, Range *place) {
    Derived derived = {
        .snapshot = snapshot, .forward = forward, .arena = arena, .backward = backward};
    BackwardLaunch *launches = ARENA_ARRAY(arena, BackwardLaunch, backward->launch_count);
    const char *obstacle = NULL;
    for (int i = 0; i < backward->launch_count && !obstacle; i++) {
        launches[i] = backward->launches[i];
        obstacle = settle_launch(&derived, &launches[i], place);
    }
    if (!obstacle) obstacle = settle_whole_rows(&derived, backward, place);
    snapshot_release(derived.written);
    if (obstacle) return obstacle;
    backward->launches = launches;
    int count = 0;
    for (int i = 0; i < backward->input_count; i++) {
        if (takes_gradient_of(backward, backward->inputs[i]))
            backward->inputs[count++] = backward->inputs[i];
        else
            backward->is_partial = true;
    }
    backward->input_count = count;
    return count ? NULL : "no kernel of the file takes a gradient any more";
}

const char *pair_without_origin(Arena *arena, const char *name, const Snapshot *origin) {
    if (origin)
        return arena_printf(arena,
                            "its launches are in %s, which has another kernel of this name: write "
                            "the backward anew",
                            name);
    return arena_printf(arena,
                        "its launches are in %s, which is not beside this module: put both files "
                        "in one folder",
                        name);
}
