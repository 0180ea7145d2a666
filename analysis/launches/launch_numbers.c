// Where the numbers of a launch come from, followed backwards through the text of its file.
#include "analysis/launches/launch_numbers.h"

#include <string.h>

#include "analysis/host_values/torch.h"
#include "analysis/launches/launch_tensors.h"
#include "analysis/syntax/syntax_nodes.h"

// Deeper chains of names and calls are not followed: then nothing is said.
enum { DEEPEST = 12 };

typedef struct NumberSearch {
    Arena *arena;
    const Module *module;
    const Source *source;
    Map seen;  // names by function, and attributes: whether they have a gradient, as far as is known
    NumberRead *read;
    bool is_found;
} NumberSearch;

/// An expression in a function, and what is asked of it: where it reads a tensor, or (`is_tensor`) whether it is one that may
/// have a gradient.
typedef struct NumberWalk {
    NumberSearch *search;
    const FunctionDefinition *function;
    int depth;
    bool is_tensor;
    bool is_made;  // asked is only what tensors are made of, as in `torch.tensor(x.tolist())`
    Str key;       // of what a launch spreads: its items by other names do not count; empty: all do
    bool is_cut, has_gradient;
} NumberWalk;

static Str text_of(const NumberSearch *search, SyntaxNode node) {
    return node_text(search->source, node);
}

static void follow(NumberWalk walk, SyntaxNode expression, bool *has_gradient);

/// The innermost plain function around a node; NULL: it stands at module level.
static const FunctionDefinition *function_around(const NumberSearch *search, SyntaxNode node) {
    Range range = node_range(search->source, node);
    const FunctionDefinition *found = NULL;
    for (LIST_EACH(int, i, search->module->functions)) {
        const FunctionDefinition *function = search->module->functions.items[i];
        Range body = node_range(search->source, function->node);
        if (body.start < range.start && range.end <= body.end &&
            (!found || function->range.start > found->range.start))
            found = function;
    }
    return found;
}

static SyntaxNode class_around(const FunctionDefinition *function) {
    SyntaxNode node = function->node;
    while (!node_is_null(node) && node_kind(node) != SYNTAX_CLASS) node = node_parent(node);
    return node;
}

static int parameter_of(const FunctionDefinition *function, Str name) {
    for (int i = 0; i < function->parameter_count; i++)
        if (str_equal(function->parameters[i].name, name)) return i;
    return -1;
}

// --- what reads a tensor

/// Whether the text around a node computes no gradients.
static bool is_without_gradients(const NumberSearch *search, SyntaxNode node) {
    for (; !node_is_null(node) && node_kind(node) != SYNTAX_FUNCTION; node = node_parent(node)) {
        if (node_kind(node) != SYNTAX_WITH) continue;
        const char *clause = str_dup(search->arena, text_of(search, node_child(node, 0)));
        if (strstr(clause, "no_grad") || strstr(clause, "inference_mode")) return true;
    }
    return false;
}

typedef struct TensorSigns {
    const NumberSearch *search;
    Str name;  // that stands for a tensor if one of its members is a tensor's; empty: any member, function or annotation
    bool found;
} TensorSigns;

static bool visit_sign(void *context, SyntaxNode node) {
    TensorSigns *signs = context;
    if (node_kind(node) != SYNTAX_ATTRIBUTE) return !signs->found;
    Str object = text_of(signs->search, node_field(node, "object"));
    Str member = text_of(signs->search, node_field(node, "attribute"));
    const TorchRow *row = torch_row(member);
    if (signs->name.size)
        signs->found |= str_equal(object, signs->name) && torch_tells_tensor(member);
    else
        signs->found |= row && row->storage != TORCH_ASKS && row->storage != TORCH_READS &&
                        !str_is(object, "math");
    return !signs->found;
}

/// Whether `float(...)` of the expression reads a tensor: it calls torch, or its name is treated as a tensor elsewhere.
static bool is_tensor_like(const NumberWalk *walk, SyntaxNode node) {
    TensorSigns signs = {.search = walk->search};
    syntax_walk(node, visit_sign, &signs);
    if (signs.found || node_kind(node) != SYNTAX_IDENTIFIER || !walk->function) return signs.found;
    signs.name = text_of(walk->search, node);
    int own = parameter_of(walk->function, signs.name);
    const char *annotation =
        own < 0 ? "" : str_dup(walk->search->arena, walk->function->parameters[own].annotation);
    syntax_walk(walk->function->body, visit_sign, &signs);
    return signs.found || (annotation && strstr(annotation, "Tensor"));
}

/// What a call reads numbers off: the object of `.item()`, the argument of `float(...)`; a null node for other calls.
static SyntaxNode read_off(const NumberWalk *walk, SyntaxNode call) {
    SyntaxNode function = node_field(call, "function"), list = node_field(call, "arguments");
    if (node_kind(function) == SYNTAX_ATTRIBUTE) {
        Str method = text_of(walk->search, node_field(function, "attribute"));
        bool reads = str_is(method, "item") || str_is(method, "tolist") || str_is(method, "numpy");
        return reads ? node_field(function, "object") : (SyntaxNode){0};
    }
    bool converts = str_is(text_of(walk->search, function), "float") &&
                    node_kind(list) == SYNTAX_ARGUMENT_LIST && node_child_count(list) == 1;
    SyntaxNode argument = converts ? node_child(list, 0) : (SyntaxNode){0};
    return converts && is_tensor_like(walk, argument) ? argument : (SyntaxNode){0};
}

/// Methods whose results have no gradient, whatever they are of.
static bool cuts_gradient(Str member) {
    static const char *const cutting[] = {"detach", "data",   "long",    "int",  "bool",
                                          "argmax", "argmin", "argsort", "isnan"};
    for (size_t i = 0; i < sizeof cutting / sizeof *cutting; i++)
        if (str_is(member, cutting[i])) return true;
    return false;
}

// --- names

typedef struct NumberSources {
    NumberWalk walk;
    Str name;  // `scale`, or `self.scale`
    bool is_attribute, is_bound, has_gradient;
    bool is_module;  // a name of the module, which its functions may change
} NumberSources;

typedef struct TargetNames {
    const NumberSearch *search;
    Str name;
    bool found;
} TargetNames;

static void visit_target(void *context, SyntaxNode identifier, bool is_item) {
    TargetNames *names = context;
    (void)is_item;
    names->found |= str_equal(text_of(names->search, identifier), names->name);
}

static bool binds(const NumberSources *sources, SyntaxNode target) {
    if (node_is_null(target)) return false;
    if (str_equal(text_of(sources->walk.search, target), sources->name)) return true;
    TargetNames names = {sources->walk.search, sources->name, false};
    if (!sources->is_attribute) syntax_targets(target, visit_target, &names);
    return names.found;
}

/// What a call puts into the container by that name, as `kept.append(x)` does; a null node for other calls.
static SyntaxNode put_into(const NumberSources *sources, SyntaxNode call) {
    static const char *const methods[] = {"append", "extend", "insert", "update", "setdefault"};
    const NumberSearch *search = sources->walk.search;
    SyntaxNode function = node_field(call, "function");
    if (node_kind(function) != SYNTAX_ATTRIBUTE ||
        !str_equal(text_of(search, node_field(function, "object")), sources->name))
        return (SyntaxNode){0};
    Str method = text_of(search, node_field(function, "attribute"));
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (str_is(method, methods[i])) return node_field(call, "arguments");
    return (SyntaxNode){0};
}

/// Whether an assignment is to an item of the name (`kept["scale"] = x`).
static bool is_item_of(const NumberSources *sources, SyntaxNode target) {
    return !node_is_null(target) && node_kind(target) == SYNTAX_SUBSCRIPT &&
           str_equal(text_of(sources->walk.search, node_field(target, "value")), sources->name);
}

typedef struct OwnNames {
    const NumberSearch *search;
    Str name;
    bool is_bound, is_global;
} OwnNames;

static bool visit_own(void *context, SyntaxNode node) {
    OwnNames *names = context;
    SyntaxNode left = node_kind(node) == SYNTAX_ASSIGNMENT ? node_field(node, "left") : node;
    if (node_kind(node) == SYNTAX_ASSIGNMENT)
        names->is_bound |= str_equal(text_of(names->search, left), names->name);
    if (node_kind(node) == SYNTAX_GLOBAL)
        names->is_global |= strstr(str_dup(names->search->arena, text_of(names->search, node)),
                                   str_dup(names->search->arena, names->name)) != NULL;
    return true;
}

/// Whether a function has the name for itself, where another one of the file has it from the module.
static bool has_own(const NumberSearch *search, const FunctionDefinition *function, Str name) {
    if (!function) return false;
    if (parameter_of(function, name) >= 0) return true;
    OwnNames names = {.search = search, .name = name};
    syntax_walk(function->body, visit_own, &names);
    return names.is_bound && !names.is_global;
}

static bool visit_source(void *context, SyntaxNode node) {
    NumberSources *sources = context;
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_FUNCTION && !sources->is_attribute && !sources->is_module) return false;
    bool assigns = kind == SYNTAX_ASSIGNMENT || kind == SYNTAX_AUGMENTED_ASSIGNMENT ||
                   kind == SYNTAX_FOR || kind == SYNTAX_FOR_IN_CLAUSE;
    SyntaxNode value = {0};
    if (assigns && binds(sources, node_field(node, "left"))) value = node_field(node, "right");
    if (kind == SYNTAX_NAMED_EXPRESSION && binds(sources, node_field(node, "name")))
        value = node_field(node, "value");
    bool is_whole = !node_is_null(value);
    if (assigns && !is_whole && is_item_of(sources, node_field(node, "left")))
        value = node_field(node, "right");
    if (kind == SYNTAX_CALL) value = put_into(sources, node);
    if (node_is_null(value)) return true;
    NumberWalk walk = sources->walk;
    if (sources->is_attribute || sources->is_module)
        walk.function = function_around(walk.search, node);
    if (sources->is_module && has_own(walk.search, walk.function, sources->name)) return true;
    sources->is_bound |= is_whole;
    follow(walk, value, &sources->has_gradient);
    return true;
}

/// The argument that a call passes for a parameter; a null node: none that is seen.
static SyntaxNode passed_for(const NumberSearch *search, SyntaxNode list,
                             const FunctionDefinition *function, int parameter) {
    bool is_method = function->parameter_count && str_is(function->parameters[0].name, "self");
    int position = is_method ? 1 : 0;
    for (uint32_t i = 0; i < node_child_count(list); i++) {
        SyntaxNode child = node_child(list, i);
        if (node_kind(child) == SYNTAX_COMMENT) continue;
        if (node_kind(child) == SYNTAX_KEYWORD_ARGUMENT) {
            if (str_equal(text_of(search, node_field(child, "name")),
                          function->parameters[parameter].name))
                return node_field(child, "value");
        } else if (position++ == parameter) {
            return child;
        }
    }
    return (SyntaxNode){0};
}

typedef struct NumberCallers {
    NumberWalk walk;
    const FunctionDefinition *called;
    Str name;  // by which it is called: that of its class, for a constructor
    int parameter;
    bool has_gradient;
} NumberCallers;

static bool visit_caller(void *context, SyntaxNode node) {
    NumberCallers *callers = context;
    NumberSearch *search = callers->walk.search;
    if (node_kind(node) != SYNTAX_CALL) return !search->is_found;
    SyntaxNode function = node_field(node, "function"), list = node_field(node, "arguments");
    if (node_kind(function) == SYNTAX_ATTRIBUTE) function = node_field(function, "attribute");
    if (!str_equal(text_of(search, function), callers->name)) return true;
    SyntaxNode passed = passed_for(search, list, callers->called, callers->parameter);
    if (node_is_null(passed)) return true;
    NumberWalk walk = callers->walk;
    walk.function = function_around(search, node);
    follow(walk, passed, &callers->has_gradient);
    return true;
}

/// What functions of the file keep under a name of the module, or of an object (`Box.scale`).
static void follow_kept(NumberWalk *walk, Str name, bool is_module) {
    NumberSearch *search = walk->search;
    const char *key = arena_printf(search->arena, "module %d %.*s",
                                   walk->is_tensor + 2 * walk->is_made, STR_ARGS(name));
    if (map_has(&search->seen, str_from(key))) return;
    map_set(&search->seen, str_from(key), ARENA_NEW(search->arena, bool));
    NumberSources sources = {
        .walk = *walk, .name = name, .is_attribute = !is_module, .is_module = is_module};
    syntax_walk(syntax_root(search->module->tree), visit_source, &sources);
    walk->has_gradient |= walk->is_tensor && sources.has_gradient;
}

/// What a name stands for: what is assigned to it here or in the function around, what callers pass for it.
static void follow_name(NumberWalk *walk, Str name) {
    NumberSearch *search = walk->search;
    for (const FunctionDefinition *function = walk->function; function;
         function = function_around(search, function->node)) {
        const char *key =
            arena_printf(search->arena, "%d %u %.*s", walk->is_tensor + 2 * walk->is_made,
                         function->range.start, STR_ARGS(name));
        const bool *known = map_get(&search->seen, str_from(key));
        walk->has_gradient |= known && *known;
        if (known) return;
        int parameter = parameter_of(function, name);
        bool *result = ARENA_NEW(search->arena, bool);
        *result = parameter >= 0;  // `x = x.contiguous()`: the first x is the caller's
        map_set(&search->seen, str_from(key), result);
        NumberWalk inner = *walk;
        inner.function = function;
        NumberSources sources = {.walk = inner, .name = name};
        syntax_walk(function->body, visit_source, &sources);
        if (parameter < 0 && !sources.is_bound) continue;
        if (sources.is_bound) *result = sources.has_gradient;
        walk->has_gradient |= walk->is_tensor && *result;
        if (parameter < 0) return;
        NumberCallers callers = {inner, function, function->name, parameter, false};
        SyntaxNode class = class_around(function);
        if (str_is(function->name, "__init__") && !node_is_null(class))
            callers.name = text_of(search, node_field(class, "name"));
        SyntaxNode root = syntax_root(search->module->tree);
        if (!walk->is_tensor) syntax_walk(root, visit_caller, &callers);
        return;
    }
    follow_kept(walk, name, true);
}

/// `self.scale`: what the methods of the class assign to it. A buffer of a module has no gradient.
static void follow_attribute(NumberWalk *walk, SyntaxNode node) {
    NumberSearch *search = walk->search;
    SyntaxNode class = walk->function ? class_around(walk->function) : (SyntaxNode){0};
    if (node_is_null(class)) return;
    Str name = text_of(search, node), member = text_of(search, node_field(node, "attribute"));
    const char *body = str_dup(search->arena, text_of(search, class));
    const char *buffer = arena_printf(search->arena, "register_buffer(\"%.*s\"", STR_ARGS(member));
    if (walk->is_tensor) {
        walk->has_gradient |= !strstr(body, buffer);
        return;
    }
    const char *key = arena_printf(search->arena, "%d %.*s", walk->is_made, STR_ARGS(name));
    if (map_has(&search->seen, str_from(key))) return;
    map_set(&search->seen, str_from(key), ARENA_NEW(search->arena, bool));
    NumberSources sources = {.walk = *walk, .name = name, .is_attribute = true};
    syntax_walk(class, visit_source, &sources);
}

// --- expressions

typedef struct NumberReturns {
    NumberWalk walk;
    bool has_gradient;
} NumberReturns;

static bool visit_return(void *context, SyntaxNode node) {
    NumberReturns *returns = context;
    if (node_kind(node) == SYNTAX_FUNCTION) return false;
    if (node_kind(node) == SYNTAX_RETURN && node_child_count(node) > 0)
        follow(returns->walk, node_child(node, 0), &returns->has_gradient);
    return true;
}

/// `scale_of` of `scale_of(x)` and of `self.scale_of(x)`; empty for other calls.
static Str called_name(const NumberSearch *search, SyntaxNode function) {
    if (node_kind(function) == SYNTAX_IDENTIFIER) return text_of(search, function);
    bool is_own = node_kind(function) == SYNTAX_ATTRIBUTE &&
                  str_is(text_of(search, node_field(function, "object")), "self");
    return is_own ? text_of(search, node_field(function, "attribute")) : (Str){0};
}

/// What a plain function of the file gives back.
static void follow_call(NumberWalk *walk, Str name) {
    const NumberSearch *search = walk->search;
    for (LIST_EACH(int, i, search->module->functions)) {
        const FunctionDefinition *function = search->module->functions.items[i];
        if (function->is_jit || !str_equal(function->name, name)) continue;
        NumberReturns returns = {.walk = *walk};
        returns.walk.function = function;
        syntax_walk(function->body, visit_return, &returns);
    }
}

/// `torch.tensor(...)` and its like, which make a tensor of numbers.
static bool makes_tensor(const NumberSearch *search, SyntaxNode function) {
    static const char *const makers[] = {"tensor",    "as_tensor", "new_tensor", "full",
                                         "full_like", "new_full",  "fill_"};
    Str name = text_of(search, node_field(function, "attribute"));
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (node_kind(function) == SYNTAX_ATTRIBUTE && str_is(name, makers[i])) return true;
    return false;
}

/// True where the walk goes on below the call.
static bool visit_call(NumberWalk *walk, SyntaxNode node) {
    NumberSearch *search = walk->search;
    SyntaxNode function = node_field(node, "function");
    if (walk->is_tensor) return !makes_tensor(search, function);
    if (walk->is_made && makes_tensor(search, function)) {
        NumberWalk numbers = *walk;
        numbers.is_made = false;
        bool has_gradient = false;
        follow(numbers, node_field(node, "arguments"), &has_gradient);
        return false;
    }
    if (walk->is_made) {
        follow_call(walk, called_name(search, function));
        return true;
    }
    SyntaxNode tensor = read_off(walk, node);
    if (node_is_null(tensor)) {
        follow_call(walk, called_name(search, function));
        return true;
    }
    NumberWalk inner = *walk;
    inner.is_tensor = true;
    bool has_gradient = false;
    if (!is_without_gradients(search, node)) follow(inner, tensor, &has_gradient);
    if (!has_gradient || search->is_found) return false;
    search->is_found = true;
    *search->read = (NumberRead){text_of(search, tensor), node_range(search->source, node)};
    return false;
}

/// The name of a member or of a keyword.
static bool is_label(SyntaxNode node) {
    SyntaxNode parent = node_parent(node);
    return node_same(node_field(parent, "attribute"), node) ||
           (node_kind(parent) == SYNTAX_KEYWORD_ARGUMENT &&
            node_same(node_field(parent, "name"), node));
}

/// Whether an item may be the one that is asked for: by a string or a name of that text, or by something computed.
static bool has_key(const NumberWalk *walk, SyntaxNode key) {
    if (!walk->key.size) return true;
    Str text = text_of(walk->search, key);
    if (node_kind(key) == SYNTAX_STRING && text.size > 2)
        text = (Str){text.data + 1, text.size - 2};
    else if (node_kind(key) != SYNTAX_IDENTIFIER || node_kind(node_parent(key)) == SYNTAX_PAIR)
        return true;
    return str_equal(text, walk->key);
}

static bool visit_part(void *context, SyntaxNode node) {
    NumberWalk *walk = context;
    if (walk->search->is_found || walk->is_cut) return false;
    switch (node_kind(node)) {
    case SYNTAX_FUNCTION: return false;
    case SYNTAX_COMPARISON: return false;
    case SYNTAX_CALL: return visit_call(walk, node);
    case SYNTAX_ATTRIBUTE: {
        Str member = text_of(walk->search, node_field(node, "attribute"));
        walk->is_cut = walk->is_tensor && cuts_gradient(member);
        if (walk->is_cut || torch_asks_only(member)) return false;
        SyntaxNode object = node_field(node, "object");
        bool is_own = str_is(text_of(walk->search, object), "self");
        if (is_own) follow_attribute(walk, node);
        if (!is_own && !walk->is_tensor && node_kind(object) == SYNTAX_IDENTIFIER)
            follow_kept(walk, text_of(walk->search, node), false);
        return !is_own;
    }
    case SYNTAX_PAIR: return has_key(walk, node_field(node, "key"));
    case SYNTAX_KEYWORD_ARGUMENT: {
        SyntaxNode call = node_parent(node_parent(node));
        bool is_item = str_is(text_of(walk->search, node_field(call, "function")), "dict");
        return !is_item || has_key(walk, node_field(node, "name"));
    }
    case SYNTAX_IDENTIFIER:
        if (!is_label(node)) follow_name(walk, text_of(walk->search, node));
        return true;
    default: return true;
    }
}

static void follow(NumberWalk walk, SyntaxNode expression, bool *has_gradient) {
    if (++walk.depth > DEEPEST || walk.search->is_found) return;
    bool has_own_gradient = walk.function && parameter_of(walk.function, STR("ctx")) >= 0;
    if (has_own_gradient) return;  // a method of an autograd.Function
    walk.has_gradient = walk.is_cut = false;
    syntax_walk(expression, visit_part, &walk);
    *has_gradient |= walk.has_gradient && !walk.is_cut;
}

bool launch_number_read(Arena *arena, const Module *module, const LaunchSite *site, int parameter,
                        bool makes_tensors, NumberRead *read) {
    SyntaxNode node = launch_argument_node(module, site, parameter);
    if (!site->launcher) return false;
    NumberSearch search = {.arena = arena,
                           .module = module,
                           .source = module->source,
                           .seen = map_new(arena),
                           .read = read};
    NumberWalk walk = {.search = &search, .function = site->launcher, .is_made = makes_tensors};
    bool has_gradient = false;
    if (!node_is_null(node)) {
        follow(walk, node, &has_gradient);
        return search.is_found;
    }
    walk.key = site->kernel->parameters[parameter].name;
    SyntaxNode list = node_field(site->call, "arguments");
    for (uint32_t i = 0; i < node_child_count(list); i++)
        if (node_kind(node_child(list, i)) == SYNTAX_DICTIONARY_SPLAT)
            follow(walk, node_child(list, i), &has_gradient);
    return search.is_found;
}
