// From the text of a launch to its arguments, also those that are spread: `**{"n": n}`, `*x.stride()` of a tensor whose axes
// the launcher has named.
#include "analysis/checks/check_arguments.h"
#include "analysis/syntax/syntax_nodes.h"

static bool text_is_any(Str text, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (str_is(text, words[i])) return true;
    return false;
}

int definition_parameter(const FunctionDefinition *definition, Str name) {
    for (int i = 0; i < definition->parameter_count; i++)
        if (str_equal(definition->parameters[i].name, name)) return i;
    return -1;
}

/* ---- what a launcher says of a name ---- */

typedef struct NameUses {
    const Source *source;
    Str name;
    SyntaxNode bound;     // by `name = ...`, or its part of `name, other = ..., ...`
    SyntaxNode unpacked;  // by `name, other = ...`: what is on the right
    int bindings;
    int others;  // uses that are neither bindings nor spread in a call
    const FunctionDefinition *launcher;
    uint32_t place;
    int rank;  // by `a, b = name.shape`; -1: by two of different lengths
} NameUses;

static bool is_label(SyntaxNode parent, SyntaxNode node) {
    return node_same(node_field(parent, "attribute"), node) ||
           (node_kind(parent) == SYNTAX_KEYWORD_ARGUMENT &&
            node_same(node_field(parent, "name"), node));
}

static bool is_spread_pattern(SyntaxNode node) {
    return node_kind(node) == SYNTAX_LIST_SPLAT_PATTERN || node_kind(node) == SYNTAX_COMMENT;
}

/// `name, other = ...`: binds one of several names, each to its part where as many are written on the right.
static bool visit_pattern(NameUses *uses, SyntaxNode pattern, SyntaxNode node) {
    SyntaxNode assignment = node_parent(pattern), none = {0};
    if (node_kind(pattern) != SYNTAX_PATTERN_LIST || node_kind(assignment) != SYNTAX_ASSIGNMENT ||
        !node_same(node_field(assignment, "left"), pattern))
        return false;
    SyntaxNode right = node_field(assignment, "right");
    bool is_written =
        node_kind(right) == SYNTAX_TUPLE || node_kind(right) == SYNTAX_EXPRESSION_LIST;
    bool fits = is_written && node_child_count(right) == node_child_count(pattern);
    uses->unpacked = right;
    uses->bound = none;
    for (uint32_t i = 0; i < node_child_count(pattern); i++) {
        if (is_spread_pattern(node_child(pattern, i))) return false;
        if (fits && node_kind(node_child(right, i)) == SYNTAX_LIST_SPLAT) return false;
        if (fits && node_same(node_child(pattern, i), node)) uses->bound = node_child(right, i);
    }
    uses->bindings++;
    return true;
}

static bool visit_name(void *context, SyntaxNode node) {
    NameUses *uses = context;
    if (node_kind(node) != SYNTAX_IDENTIFIER ||
        !str_equal(node_text(uses->source, node), uses->name))
        return true;
    SyntaxNode parent = node_parent(node);
    if (is_label(parent, node)) return true;
    switch (node_kind(parent)) {
    case SYNTAX_ASSIGNMENT:
        if (!node_same(node_field(parent, "left"), node)) break;
        uses->bound = node_field(parent, "right");
        uses->bindings++;
        return true;
    case SYNTAX_AUGMENTED_ASSIGNMENT:
    case SYNTAX_FOR:
    case SYNTAX_FOR_IN_CLAUSE:
    case SYNTAX_NAMED_EXPRESSION: uses->bindings += 2; return true;
    case SYNTAX_DICTIONARY_SPLAT:
    case SYNTAX_LIST_SPLAT: return true;
    default: break;
    }
    if (visit_pattern(uses, parent, node)) return true;
    if (node_binds_names(parent))
        uses->bindings += 2;
    else
        uses->others++;
    return true;
}

/// The tensor of `x.shape`, `x.size()` or `x.stride()`; a null node for anything else.
static SyntaxNode tensor_of_axes(const Source *source, SyntaxNode node) {
    SyntaxNode none = {0}, attribute = node;
    bool is_call = node_kind(node) == SYNTAX_CALL;
    if (is_call) {
        if (node_child_count(node_field(node, "arguments"))) return none;
        attribute = node_field(node, "function");
    }
    if (node_kind(attribute) != SYNTAX_ATTRIBUTE) return none;
    Str name = node_text(source, node_field(attribute, "attribute"));
    bool fits = is_call ? str_is(name, "size") || str_is(name, "stride") : str_is(name, "shape");
    SyntaxNode object = node_field(attribute, "object");
    return fits && node_kind(object) == SYNTAX_IDENTIFIER ? object : none;
}

/// `rows, columns = x.shape`, where nothing decides whether it runs.
static bool visit_unpacking(void *context, SyntaxNode node) {
    NameUses *uses = context;
    SyntaxNode left = node_field(node, "left");
    if (node_kind(node) != SYNTAX_ASSIGNMENT || node_kind(left) != SYNTAX_PATTERN_LIST) return true;
    SyntaxNode tensor = tensor_of_axes(uses->source, node_field(node, "right"));
    if (node_is_null(tensor) || !str_equal(node_text(uses->source, tensor), uses->name))
        return true;
    SyntaxNode block = node_parent(node_parent(node));
    int count = 0;
    bool is_plain =
        node_same(block, uses->launcher->body) && node_range(uses->source, node).end <= uses->place;
    for (uint32_t i = 0; i < node_child_count(left); i++) {
        count += node_kind(node_child(left, i)) != SYNTAX_COMMENT;
        is_plain = is_plain && node_kind(node_child(left, i)) != SYNTAX_LIST_SPLAT_PATTERN;
    }
    bool fits = is_plain && (!uses->rank || uses->rank == count);
    uses->rank = fits ? count : -1;
    return true;
}

SyntaxNode launcher_binding(const FunctionDefinition *launcher, Str name) {
    SyntaxNode none = {0};
    if (!launcher || launcher->is_jit || definition_parameter(launcher, name) >= 0) return none;
    NameUses uses = {.source = launcher->module->source, .name = name};
    syntax_walk(launcher->body, visit_name, &uses);
    return uses.bindings == 1 ? uses.bound : none;
}

bool launcher_binds_size(const FunctionDefinition *launcher, Str name) {
    if (!launcher || launcher->is_jit || definition_parameter(launcher, name) >= 0) return false;
    NameUses uses = {.source = launcher->module->source, .name = name};
    syntax_walk(launcher->body, visit_name, &uses);
    return uses.bindings == 1 && !node_is_null(uses.unpacked) &&
           !node_is_null(tensor_of_axes(uses.source, uses.unpacked));
}

bool launcher_binds(const FunctionDefinition *launcher, Str name) {
    if (definition_parameter(launcher, name) >= 0) return true;
    NameUses uses = {.source = launcher->module->source, .name = name};
    syntax_walk(launcher->body, visit_name, &uses);
    return uses.bindings > 0;
}

/// The tensor that a new one is like: `torch.empty_like(x)`; empty for anything else.
static Str model_of(const Source *source, SyntaxNode value) {
    SyntaxNode function = node_field(value, "function");
    if (node_kind(value) != SYNTAX_CALL || node_kind(function) != SYNTAX_ATTRIBUTE) return (Str){0};
    SyntaxNode first = node_child(node_field(value, "arguments"), 0);
    bool fits = str_is(node_text(source, node_field(function, "object")), "torch") &&
                str_ends(node_text(source, function), "_like") &&
                node_kind(first) == SYNTAX_IDENTIFIER;
    return fits ? node_text(source, first) : (Str){0};
}

/// How many sizes are written out for a new tensor: `torch.empty((rows, columns), ...)`; 0 for anything else.
static int written_rank(const Source *source, SyntaxNode value) {
    static const char *const makers[] = {"torch.empty", "torch.zeros", "torch.ones", "torch.full"};
    Str function = node_text(source, node_field(value, "function"));
    if (node_kind(value) != SYNTAX_CALL ||
        !text_is_any(function, makers, sizeof makers / sizeof *makers))
        return 0;
    SyntaxNode sizes = node_child(node_field(value, "arguments"), 0);
    if (node_kind(sizes) != SYNTAX_TUPLE && node_kind(sizes) != SYNTAX_LIST) return 0;
    int rank = 0;
    for (uint32_t i = 0; i < node_child_count(sizes); i++) {
        if (node_kind(node_child(sizes, i)) == SYNTAX_LIST_SPLAT) return 0;
        rank += node_kind(node_child(sizes, i)) != SYNTAX_COMMENT;
    }
    return rank;
}

int launcher_rank_of(const FunctionDefinition *launcher, Str name, uint32_t place) {
    if (!launcher || launcher->is_jit) return 0;
    NameUses uses = {
        .source = launcher->module->source, .name = name, .launcher = launcher, .place = place};
    if (definition_parameter(launcher, name) < 0) {
        SyntaxNode bound = launcher_binding(launcher, name);
        if (node_is_null(bound)) return 0;
        int written = written_rank(uses.source, bound);
        if (written) return written;
        Str model = model_of(uses.source, bound);
        bool is_given = model.size && definition_parameter(launcher, model) >= 0;
        return is_given ? launcher_rank_of(launcher, model, place) : 0;
    }
    syntax_walk(launcher->body, visit_unpacking, &uses);
    if (uses.rank <= 0) return 0;
    syntax_walk(launcher->body, visit_name, &uses);
    return uses.bindings ? 0 : uses.rank;
}

/* ---- arguments ---- */

/// The pairs of a dictionary that is written out, as keywords. False where they are not all known.
static bool add_pairs(Check *check, const Source *source, SyntaxNode dictionary,
                      CheckedArguments *arguments) {
    bool is_call = node_kind(dictionary) == SYNTAX_CALL;
    if (is_call && !str_is(node_text(source, node_field(dictionary, "function")), "dict"))
        return false;
    if (!is_call && node_kind(dictionary) != SYNTAX_DICTIONARY) return false;
    SyntaxNode list = is_call ? node_field(dictionary, "arguments") : dictionary;
    for (uint32_t i = 0; i < node_child_count(list); i++) {
        SyntaxNode item = node_child(list, i), key = node_field(item, is_call ? "name" : "key");
        if (node_kind(item) == SYNTAX_COMMENT) continue;
        if (node_kind(item) != (is_call ? SYNTAX_KEYWORD_ARGUMENT : SYNTAX_PAIR)) return false;
        Str text = node_text(source, key);
        if (!is_call) {
            if (node_kind(key) != SYNTAX_STRING || text.size < 3) return false;
            text = (Str){text.data + 1, text.size - 2};
            if (!str_is_name(text)) return false;
        }
        CheckedArgument argument = {text, node_field(item, "value"), is_call ? item : key};
        LIST_PUSH(check->arena, &arguments->list, argument);
    }
    return true;
}

/// What `**options` gives where the launcher binds it once, to a dictionary that it shows and does not change.
static bool add_dictionary(Check *check, const Source *source, const FunctionDefinition *launcher,
                           SyntaxNode spread, CheckedArguments *arguments) {
    if (node_kind(spread) != SYNTAX_IDENTIFIER) return add_pairs(check, source, spread, arguments);
    NameUses uses = {.source = source, .name = node_text(source, spread)};
    if (!launcher || launcher->is_jit || definition_parameter(launcher, uses.name) >= 0)
        return false;
    syntax_walk(launcher->body, visit_name, &uses);
    return uses.bindings == 1 && uses.others == 0 && !node_is_null(uses.bound) &&
           add_pairs(check, source, uses.bound, arguments);
}

static bool add_sequence(Check *check, const Source *source, const FunctionDefinition *launcher,
                         SyntaxNode splat, CheckedArguments *arguments) {
    SyntaxNode tensor = tensor_of_axes(source, node_child(splat, 0)), none = {0};
    if (node_is_null(tensor)) return false;
    uint32_t place = node_range(source, splat).start;
    int rank = launcher_rank_of(launcher, node_text(source, tensor), place);
    for (int i = 0; i < rank; i++) {
        CheckedArgument argument = {{0}, none, splat};
        LIST_PUSH(check->arena, &arguments->list, argument);
    }
    return rank > 0;
}

CheckedArguments arguments_read(Check *check, const Source *source,
                                const FunctionDefinition *launcher, SyntaxNode call) {
    CheckedArguments arguments = {0};
    SyntaxNode list = node_field(call, "arguments");
    for (uint32_t i = 0; i < node_child_count(list); i++) {
        CheckedArgument argument = {.node = node_child(list, i)};
        argument.value = argument.node;
        switch (node_kind(argument.node)) {
        case SYNTAX_COMMENT: continue;
        case SYNTAX_LIST_SPLAT:
            if (!add_sequence(check, source, launcher, argument.node, &arguments))
                arguments.has_splat = true;
            continue;
        case SYNTAX_DICTIONARY_SPLAT:
            if (!add_dictionary(check, source, launcher, node_child(argument.node, 0), &arguments))
                arguments.has_splat = true;
            continue;
        case SYNTAX_ERROR: arguments.has_splat = true; continue;
        case SYNTAX_KEYWORD_ARGUMENT:
            argument.keyword = node_text(source, node_field(argument.node, "name"));
            argument.value = node_field(argument.node, "value");
            break;
        default: break;
        }
        LIST_PUSH(check->arena, &arguments.list, argument);
    }
    return arguments;
}

const CheckedArgument *arguments_find(const FunctionDefinition *definition,
                                      const CheckedArguments *arguments, int parameter) {
    int position = 0;
    for (LIST_EACH(int, i, arguments->list)) {
        const CheckedArgument *argument = &arguments->list.items[i];
        if (argument->keyword.size
                ? str_equal(argument->keyword, definition->parameters[parameter].name)
                : position++ == parameter)
            return argument;
    }
    return NULL;
}
