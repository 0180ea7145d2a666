// The number that a launch passes for a kernel's scalar in; where the launcher reads it off a tensor of its caller's
// (`alpha.item()`, `1 / float(t)`), the same computed with the tensor out, so that autograd sees where it comes from.
#include <string.h>

#include "analysis/host/host_tensor.h"
#include "analysis/host_values/host.h"
#include "analysis/host_values/torch.h"
#include "analysis/launches/launch_tensors.h"
#include "analysis/launches/launch_uses.h"
#include "analysis/syntax/syntax_nodes.h"

enum { DEEPEST = 32 };

typedef enum NumberOrigin {
    ORIGIN_NUMBER,   // of no tensor
    ORIGIN_TENSOR,   // computed from tensors by what tensors can do as well
    ORIGIN_UNKNOWN,  // from tensors by something else
} NumberOrigin;

static Str text_of(const TensorReader *reader, SyntaxNode node) {
    return node_text(reader->source, node);
}

static bool is_argument(const TensorReader *reader, Str name) {
    const FunctionDefinition *launcher = reader->site->launcher;
    for (int i = 0; i < launcher->parameter_count; i++)
        if (str_equal(launcher->parameters[i].name, name)) return true;
    return false;
}

/// A launcher's argument, its attributes and items: `alpha`, `self.alpha`, `weights[0]`. What `.data` gives is cut off on purpose.
static bool is_given(const TensorReader *reader, SyntaxNode node) {
    switch (node_kind(node)) {
    case SYNTAX_IDENTIFIER:  // a Function's context is that of a backward
        return is_argument(reader, text_of(reader, node)) && !str_is(text_of(reader, node), "ctx");
    case SYNTAX_ATTRIBUTE:
        return !str_is(text_of(reader, node_field(node, "attribute")), "data") &&
               is_given(reader, node_field(node, "object"));
    case SYNTAX_SUBSCRIPT: return is_given(reader, node_field(node, "value"));
    default: return false;
    }
}

typedef struct Evidence {
    const TensorReader *reader;
    Str name;
    bool found;
} Evidence;

/// Whether the launcher treats the name as a tensor: `x.device`, `isinstance(x, torch.Tensor)`, `torch.is_tensor(x)`.
static bool visit_evidence(void *context, SyntaxNode node) {
    Evidence *evidence = context;
    const TensorReader *reader = evidence->reader;
    if (node_kind(node) == SYNTAX_ATTRIBUTE)
        evidence->found |= str_equal(text_of(reader, node_field(node, "object")), evidence->name) &&
                           torch_tells_tensor(text_of(reader, node_field(node, "attribute")));
    if (node_kind(node) != SYNTAX_CALL) return !evidence->found;
    Str function = text_of(reader, node_field(node, "function"));
    SyntaxNode list = node_field(node, "arguments");
    bool asks = str_is(function, "isinstance") || str_ends(function, "is_tensor");
    if (!asks || node_child_count(list) == 0) return !evidence->found;
    bool is_it = str_equal(text_of(reader, node_child(list, 0)), evidence->name);
    bool of_tensors =
        node_child_count(list) == 1 || str_ends(text_of(reader, node_child(list, 1)), "Tensor");
    evidence->found |= is_it && of_tensors;
    return !evidence->found;
}

static bool is_known_tensor(const TensorReader *reader, SyntaxNode node) {
    if (!is_given(reader, node)) return false;
    const FunctionDefinition *launcher = reader->site->launcher;
    Evidence evidence = {reader, text_of(reader, node), false};
    for (int i = 0; i < launcher->parameter_count; i++)
        if (str_equal(launcher->parameters[i].name, evidence.name) &&
            strstr(str_dup(reader->arena, launcher->parameters[i].annotation), "Tensor"))
            return true;
    syntax_walk(launcher->body, visit_evidence, &evidence);
    return evidence.found;
}

static void splice(TensorReader *reader, uint32_t start, uint32_t end, const char *text) {
    Splice one = {start, end, text};
    LIST_PUSH(reader->arena, &reader->splices, one);
}

/// The tensor that a call reads a number off, `tensor.item()`, `float(tensor)` or what an emitted Function does; a null node
/// for other calls.
static SyntaxNode tensor_read(const TensorReader *reader, SyntaxNode call) {
    SyntaxNode function = node_field(call, "function"), list = node_field(call, "arguments");
    if (node_kind(list) != SYNTAX_ARGUMENT_LIST) return (SyntaxNode){0};
    if (node_kind(function) == SYNTAX_ATTRIBUTE) {
        SyntaxNode object = node_field(function, "object");
        bool reads = str_is(text_of(reader, node_field(function, "attribute")), "item") &&
                     node_child_count(list) == 0;
        return reads && is_given(reader, object) ? object : (SyntaxNode){0};
    }
    Str name = text_of(reader, function);
    SyntaxNode argument = node_child(list, 0);
    bool reads = str_is(name, LAUNCH_NUMBER_OF)
                     ? is_given(reader, argument)
                     : str_is(name, "float") && is_known_tensor(reader, argument);
    return reads && node_child_count(list) == 1 ? argument : (SyntaxNode){0};
}

static NumberOrigin origin_of(TensorReader *reader, SyntaxNode node, bool is_whole, int depth);

/// Of all parts of something that tensors cannot do as numbers do.
static NumberOrigin origin_of_parts(TensorReader *reader, SyntaxNode node, int depth) {
    for (uint32_t i = 0; i < node_child_count(node); i++)
        if (origin_of(reader, node_child(node, i), false, depth + 1) != ORIGIN_NUMBER)
            return ORIGIN_UNKNOWN;
    return ORIGIN_NUMBER;
}

static NumberOrigin origin_of_two(TensorReader *reader, SyntaxNode a, SyntaxNode b, bool is_whole,
                                  int depth) {
    NumberOrigin first = origin_of(reader, a, is_whole, depth + 1),
                 second = origin_of(reader, b, is_whole, depth + 1);
    return first > second ? first : second;
}

/// Functions of `math` that torch has under the same name.
static bool is_shared_function(Str name) {
    static const char *const shared[] = {"math.exp",  "math.log",  "math.log2", "math.sqrt",
                                         "math.tanh", "math.sin",  "math.cos",  "math.erf",
                                         "math.exp2", "math.log1p"};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (str_is(name, shared[i])) return true;
    return false;
}

static NumberOrigin origin_of_call(TensorReader *reader, SyntaxNode call, bool is_whole,
                                   int depth) {
    SyntaxNode tensor = tensor_read(reader, call), function = node_field(call, "function"),
               list = node_field(call, "arguments");
    Range range = node_range(reader->source, call);
    if (!node_is_null(tensor)) {
        Range kept = node_range(reader->source, tensor);
        LIST_PUSH(reader->arena, &reader->tensors, text_of(reader, tensor));
        reader->conversions += node_kind(function) != SYNTAX_ATTRIBUTE;
        // Python computes in double precision
        splice(reader, range.start, kept.start, is_whole ? "" : LAUNCH_DOUBLE_OF "(");
        splice(reader, kept.end, range.end, is_whole ? "" : ")");
        return ORIGIN_TENSOR;
    }
    bool converts = str_is(text_of(reader, function), "float"),
         shares = is_shared_function(text_of(reader, function));
    if ((!converts && !shares) || node_kind(list) != SYNTAX_ARGUMENT_LIST ||
        node_child_count(list) != 1)
        return origin_of_parts(reader, call, depth);
    Range name = node_range(reader->source, function);
    int before = reader->splices.count, conversions = reader->conversions;
    splice(reader, name.start, converts ? name.end : name.start + 4, converts ? "" : "torch");
    NumberOrigin origin = origin_of(reader, node_child(list, 0), is_whole && converts, depth + 1);
    if (shares && reader->conversions > conversions) return ORIGIN_UNKNOWN;
    if (origin != ORIGIN_TENSOR) reader->splices.count = before;
    return origin;
}

/// Notes how the text changes where tensors take the place of their numbers. `is_whole`: nothing is computed of the number.
static NumberOrigin origin_of(TensorReader *reader, SyntaxNode node, bool is_whole, int depth) {
    if (depth > DEEPEST) return ORIGIN_UNKNOWN;
    switch (node_kind(node)) {
    case SYNTAX_PARENTHESIZED:
        return node_child_count(node) == 1
                   ? origin_of(reader, node_child(node, 0), is_whole, depth + 1)
                   : ORIGIN_UNKNOWN;
    case SYNTAX_UNARY: return origin_of(reader, node_field(node, "argument"), false, depth + 1);
    case SYNTAX_BINARY: {
        Str operator_text = text_of(reader, node_field(node, "operator"));
        bool shared = str_is(operator_text, "+") || str_is(operator_text, "-") ||
                      str_is(operator_text, "*") || str_is(operator_text, "/") ||
                      str_is(operator_text, "**");
        return shared ? origin_of_two(reader, node_field(node, "left"), node_field(node, "right"),
                                      false, depth)
                      : origin_of_parts(reader, node, depth);
    }
    case SYNTAX_CONDITIONAL:
        return node_child_count(node) == 3 ? origin_of_two(reader, node_child(node, 0),
                                                           node_child(node, 2), is_whole, depth)
                                           : ORIGIN_UNKNOWN;
    case SYNTAX_CALL: return origin_of_call(reader, node, is_whole, depth);
    default: return origin_of_parts(reader, node, depth);
    }
}

const char *tensor_text(TensorReader *reader, SyntaxNode node) {
    reader->splices.count = reader->tensors.count = 0;
    if (origin_of(reader, node, true, 0) != ORIGIN_TENSOR) return NULL;
    Range range = node_range(reader->source, node);
    Buffer out = buffer_new(reader->arena);
    uint32_t at = range.start;
    for (LIST_EACH(int, i, reader->splices)) {
        const Splice *one = &reader->splices.items[i];
        buffer_add(&out, reader->source->text.data + at, one->start - at);
        buffer_puts(&out, one->text);
        at = one->end;
    }
    buffer_add(&out, reader->source->text.data + at, range.end - at);
    const char *text = buffer_text(&out);
    return strchr(text, '\n') ? arena_printf(reader->arena, "(%s)", text) : text;
}

// --- a name that was bound before the launch

typedef struct Bindings {
    const TensorReader *reader;
    Str name;
    LIST(SyntaxNode) assignments;
    bool others;
    int uses;
} Bindings;

static bool visit_binding(void *context, SyntaxNode node) {
    Bindings *bindings = context;
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_FUNCTION || kind == SYNTAX_LAMBDA) return false;
    if (kind != SYNTAX_IDENTIFIER || !str_equal(text_of(bindings->reader, node), bindings->name))
        return true;
    SyntaxNode parent = node_parent(node);
    bool is_left = node_same(node_field(parent, "left"), node);
    bool is_label = node_same(node_field(parent, "attribute"), node) ||
                    (node_kind(parent) == SYNTAX_KEYWORD_ARGUMENT &&
                     node_same(node_field(parent, "name"), node));
    bindings->uses += !is_left && !is_label;
    switch (node_kind(parent)) {
    case SYNTAX_ASSIGNMENT:
        if (is_left) LIST_PUSH(bindings->reader->arena, &bindings->assignments, parent);
        break;
    case SYNTAX_AUGMENTED_ASSIGNMENT:
    case SYNTAX_FOR: bindings->others |= is_left; break;
    case SYNTAX_NAMED_EXPRESSION:
        bindings->others |= node_same(node_field(parent, "name"), node);
        break;
    default: bindings->others |= node_binds_names(parent); break;
    }
    return true;
}

static Bindings bindings_of(const TensorReader *reader, Str name) {
    Bindings bindings = {.reader = reader, .name = name};
    syntax_walk(reader->site->launcher->body, visit_binding, &bindings);
    return bindings;
}

/// Where a line of its own can go in front of the statement; false where something else stands on its line.
static bool starts_line(const TensorReader *reader, uint32_t at) {
    const char *text = reader->source->text.data;
    while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t')) at--;
    return at == 0 || text[at - 1] == '\n';
}

static bool holds(const TensorReader *reader, SyntaxNode outer, SyntaxNode inner) {
    Range a = node_range(reader->source, outer), b = node_range(reader->source, inner);
    return a.start <= b.start && b.end <= a.end;
}

/// The statement in `block` that the node is part of.
static SyntaxNode statement_in(SyntaxNode node, SyntaxNode block) {
    while (!node_is_null(node) && !node_same(node_parent(node), block)) node = node_parent(node);
    return node;
}

static LaunchTensor bound_before(const TensorReader *reader, SyntaxNode statement, Str name,
                                 const char *text) {
    Range range = node_range(reader->source, statement);
    uint32_t launch = node_range(reader->source, reader->site->call).start;
    if (node_is_null(statement) || range.start > launch || !starts_line(reader, range.start))
        return (LaunchTensor){0};
    Str launcher = source_slice(node_range(reader->source, reader->site->launcher->node));
    const char *bound = arena_printf(reader->arena, "tensor_of_%.*s", STR_ARGS(name));
    while (strstr(str_dup(reader->arena, launcher), bound))
        bound = arena_printf(reader->arena, "%s_", bound);
    uint32_t line = range.start;
    while (line > 0 && reader->source->text.data[line - 1] != '\n') line--;
    Str indentation = {reader->source->text.data + line, range.start - line};
    return (LaunchTensor){.text = text,
                          .name = bound,
                          .start = range.start,
                          .end = range.start,
                          .binding = arena_printf(reader->arena, "%s = %s\n%.*s", bound, text,
                                                  STR_ARGS(indentation))};
}

/// `alpha.item()`, `float(alpha.item())`, `alpha.item() if torch.is_tensor(alpha) else alpha`.
static bool is_same_number(TensorReader *reader, SyntaxNode node, Str name, int depth) {
    if (depth > DEEPEST) return false;
    SyntaxNode list = node_field(node, "arguments");
    bool converts = node_kind(node) == SYNTAX_CALL && node_child_count(list) == 1 &&
                    str_is(text_of(reader, node_field(node, "function")), "float");
    if (converts) return is_same_number(reader, node_child(list, 0), name, depth + 1);
    if (node_kind(node) == SYNTAX_PARENTHESIZED)
        return is_same_number(reader, node_child(node, 0), name, depth + 1);
    if (node_kind(node) == SYNTAX_CONDITIONAL && node_child_count(node) == 3)
        return is_same_number(reader, node_child(node, 0), name, depth + 1) &&
               is_same_number(reader, node_child(node, 2), name, depth + 1);
    if (str_equal(text_of(reader, node), name)) return true;
    const char *text = tensor_text(reader, node);
    return text && str_is(name, text);
}

/// `alpha = alpha.item()`, maybe on a condition: the tensor is what the name stood for at first.
static bool only_converts(TensorReader *reader, const Bindings *bindings) {
    bool reads = false;
    for (LIST_EACH(int, i, bindings->assignments)) {
        SyntaxNode value = node_field(bindings->assignments.items[i], "right");
        if (!is_same_number(reader, value, bindings->name, 0)) return false;
        reads = reads || tensor_text(reader, value);
    }
    reader->tensors.count = 0;
    LIST_PUSH(reader->arena, &reader->tensors, bindings->name);
    return reads && is_argument(reader, bindings->name);
}

static LaunchTensor tensor_of_name(TensorReader *reader, Str name) {
    Bindings bindings = bindings_of(reader, name);
    SyntaxNode body = reader->site->launcher->body;
    bool is_direct = true;  // not inside a function of its own
    for (SyntaxNode node = reader->site->call; !node_is_null(node) && !node_same(node, body);
         node = node_parent(node))
        if (node_kind(node) == SYNTAX_FUNCTION || node_kind(node) == SYNTAX_LAMBDA)
            is_direct = false;
    if (bindings.others || bindings.assignments.count == 0 || !is_direct) return (LaunchTensor){0};
    SyntaxNode first = bindings.assignments.items[0];
    if (only_converts(reader, &bindings))
        return bound_before(reader, statement_in(first, body), name, str_dup(reader->arena, name));
    const char *text = tensor_text(reader, node_field(first, "right"));
    SyntaxNode statement = node_parent(first);
    bool precedes = node_kind(statement) == SYNTAX_EXPRESSION_STATEMENT &&
                    holds(reader, node_parent(statement), reader->site->call);
    if (!text || bindings.assignments.count != 1 || !precedes) return (LaunchTensor){0};
    if (bindings.uses == 1) {  // nothing else reads the number
        Range value = node_range(reader->source, node_field(first, "right"));
        return (LaunchTensor){.text = text,
                              .name = str_dup(reader->arena, name),
                              .start = value.start,
                              .end = value.end,
                              .binding = text};
    }
    Bindings source = bindings_of(reader, str_from(text));
    bool stays = is_argument(reader, str_from(text)) && !source.others && !source.assignments.count;
    return stays ? (LaunchTensor){.text = text} : bound_before(reader, statement, name, text);
}

SyntaxNode launch_argument_node(const Module *module, const LaunchSite *site, int parameter) {
    SyntaxNode list = node_field(site->call, "arguments");
    int position = 0;
    bool spreads = false;
    for (uint32_t i = 0; i < node_child_count(list); i++) {
        SyntaxNode child = node_child(list, i);
        Str text = node_text(module->source, child);
        if (node_kind(child) == SYNTAX_COMMENT) continue;
        if (node_kind(child) == SYNTAX_KEYWORD_ARGUMENT) {
            Str name = node_text(module->source, node_field(child, "name"));
            if (str_equal(name, site->kernel->parameters[parameter].name))
                return node_field(child, "value");
            continue;
        }
        spreads = spreads || str_starts(text, "*");
        if (!spreads && position++ == parameter) return child;
    }
    return (SyntaxNode){0};
}

LaunchTensor launch_tensor(Arena *arena, const Module *module, const LaunchSite *site,
                           int parameter) {
    SyntaxNode node = launch_argument_node(module, site, parameter);
    if (node_is_null(node) || !site->launcher) return (LaunchTensor){0};
    TensorReader reader = {
        .arena = arena, .module = module, .source = module->source, .site = site};
    LaunchTensor tensor = node_kind(node) == SYNTAX_IDENTIFIER
                              ? tensor_of_name(&reader, node_text(module->source, node))
                              : (LaunchTensor){.text = tensor_text(&reader, node)};
    TensorReader others = reader;
    others.splices.count = others.splices.capacity = 0;
    others.tensors.count = others.tensors.capacity = 0;
    for (LIST_EACH(int, i, reader.tensors))
        if (tensor.text && !tensor_is_followed(&others, reader.tensors.items[i]))
            return (LaunchTensor){0};
    for (LIST_EACH(int, i, reader.tensors))
        reader.tensors.items[i] = tensor_whole(reader.tensors.items[i]);
    tensor.sources = reader.tensors.items;
    tensor.source_count = reader.tensors.count;
    return tensor;
}

void launch_note_tensors(Arena *arena, const Module *module, const LaunchSite *site,
                         Function *function) {
    for (int p = 0; p < function->parameter_count && p < site->kernel->parameter_count; p++) {
        Parameter *parameter = &function->parameters[p];
        if (parameter->is_constexpr || parameter->value->type.kind != TYPE_NUMBER) continue;
        if (launch_tensor(arena, module, site, p).text) parameter->comes_from_tensor = true;
    }
}

static bool passes_tensor(const HostLaunch *launch, int parameter) {
    const HostValue *value =
        parameter < launch->argument_count ? launch->arguments[parameter].value : NULL;
    if (!value) return false;
    return value->kind == HOST_TENSOR ||
           (value->kind == HOST_INPUT && value->input->kind == INPUT_TENSOR);
}

bool launches_pass_tensors(Arena *arena, const Function *function, int parameter) {
    if (!function->definition) return false;
    HostLaunches launches = host_launches(arena, function->definition, function);
    for (LIST_EACH(int, i, launches))
        if (!passes_tensor(launches.items[i], parameter)) return false;
    return launches.count > 0;
}
