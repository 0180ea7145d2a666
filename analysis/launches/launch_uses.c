// What a launcher does with the numbers that it reads off a tensor: whether all of it is known to end in launches.
#include "analysis/launches/launch_uses.h"

#include "analysis/launches/launch_tensors.h"
#include "analysis/syntax/syntax_nodes.h"

static Str text_of(const TensorReader *reader, SyntaxNode node) {
    return node_text(reader->source, node);
}

static bool is_launch_argument(const TensorReader *reader, SyntaxNode node) {
    SyntaxNode parent = node_parent(node);
    if (node_kind(parent) == SYNTAX_KEYWORD_ARGUMENT) parent = node_parent(parent);
    if (node_kind(parent) != SYNTAX_ARGUMENT_LIST) return false;
    for (LIST_EACH(int, i, reader->module->launches))
        if (node_same(reader->module->launches.items[i].call, node_parent(parent))) return true;
    return false;
}

/// Functions that tell people something, or ask what a value is.
static bool is_talk(Str function) {
    return str_is(function, "print") || str_is(function, "isinstance") ||
           str_ends(function, "is_tensor") || str_starts(function, "logger.") ||
           str_starts(function, "logging.") || str_starts(function, "warnings.");
}

/// Whether the node's value ends in its parent, but for what is decided by it.
static bool ends_in(const TensorReader *reader, SyntaxNode parent, SyntaxNode node) {
    switch (node_kind(parent)) {
    case SYNTAX_COMPARISON:
    case SYNTAX_ASSERT:
    case SYNTAX_RAISE:
    case SYNTAX_INTERPOLATION: return true;
    case SYNTAX_IF:
    case SYNTAX_ELIF:
    case SYNTAX_WHILE: return node_same(node_field(parent, "condition"), node);
    case SYNTAX_CONDITIONAL: return node_same(node_child(parent, 1), node);
    case SYNTAX_CALL: return is_talk(text_of(reader, node_field(parent, "function")));
    case SYNTAX_RETURN:  // what is not launched
        return node_range(reader->source, parent).end <=
               node_range(reader->source, reader->site->call).start;
    default: return false;
    }
}

static bool is_statement(SyntaxNode node) {
    SyntaxKind kind = node_kind(node);
    return kind == SYNTAX_EXPRESSION_STATEMENT || kind == SYNTAX_BLOCK || kind == SYNTAX_RETURN;
}

typedef struct LaunchUses {
    TensorReader *reader;
    Str name;
    bool all_known;
} LaunchUses;

static bool visit_use(void *context, SyntaxNode node) {
    LaunchUses *uses = context;
    const TensorReader *reader = uses->reader;
    if (node_kind(node) != SYNTAX_IDENTIFIER || !str_equal(text_of(reader, node), uses->name))
        return uses->all_known;
    SyntaxNode parent = node_parent(node);
    SyntaxKind kind = node_kind(parent);
    bool is_label = kind == SYNTAX_ATTRIBUTE || (kind == SYNTAX_KEYWORD_ARGUMENT &&
                                                 node_same(node_field(parent, "name"), node));
    if (is_label || node_same(node_field(parent, "left"), node)) return true;
    bool known = is_launch_argument(reader, node);
    for (SyntaxNode inner = node; !known && !node_is_null(parent) && !is_statement(inner);
         inner = parent, parent = node_parent(parent)) {
        bool converts = node_kind(parent) == SYNTAX_ASSIGNMENT &&
                        str_equal(text_of(reader, node_field(parent, "left")), uses->name);
        known = converts || ends_in(reader, parent, inner);
    }
    uses->all_known = uses->all_known && known;
    return uses->all_known;
}

/// Whether a name's number is passed to launches, as it is, and otherwise only looked at.
static bool is_only_launched(TensorReader *reader, Str name) {
    LaunchUses uses = {reader, name, true};
    syntax_walk(reader->site->launcher->body, visit_use, &uses);
    return uses.all_known;
}

/// What a call reads numbers off: `x.item()`, `x.tolist()`, `float(x)`, `int(x)`; empty for other calls.
static Str read_off(const TensorReader *reader, SyntaxNode call) {
    SyntaxNode function = node_field(call, "function"), list = node_field(call, "arguments");
    if (node_kind(function) == SYNTAX_ATTRIBUTE) {
        Str method = text_of(reader, node_field(function, "attribute"));
        bool reads = str_is(method, "item") || str_is(method, "tolist");
        return reads ? text_of(reader, node_field(function, "object")) : (Str){0};
    }
    Str name = text_of(reader, function);
    bool converts = (str_is(name, "float") || str_is(name, "int")) && node_child_count(list) == 1;
    return converts ? text_of(reader, node_child(list, 0)) : (Str){0};
}

Str tensor_whole(Str tensor) {
    for (size_t i = 0; i < tensor.size; i++)
        if (tensor.data[i] == '[') return (Str){tensor.data, i};
    return tensor;
}

/// Where a number that is read ends up: in a launch, in a name that is launched, in a decision.
static bool is_followed(TensorReader *reader, SyntaxNode read) {
    SyntaxNode inner = read;
    for (SyntaxNode parent = node_parent(read); !node_is_null(parent) && !is_statement(inner);
         inner = parent, parent = node_parent(parent)) {
        if (is_launch_argument(reader, inner)) return tensor_text(reader, inner) != NULL;
        if (ends_in(reader, parent, inner)) return true;
        if (node_kind(parent) != SYNTAX_ASSIGNMENT) continue;
        SyntaxNode left = node_field(parent, "left");
        return node_kind(left) == SYNTAX_IDENTIFIER && tensor_text(reader, inner) &&
               is_only_launched(reader, text_of(reader, left));
    }
    return false;
}

typedef struct Reads {
    TensorReader *reader;
    Str tensor;
    bool all_followed;
} Reads;

static bool visit_read(void *context, SyntaxNode node) {
    Reads *reads = context;
    if (node_kind(node) != SYNTAX_CALL) return reads->all_followed;
    Str tensor = read_off(reads->reader, node);
    if (tensor.size && str_equal(tensor_whole(tensor), reads->tensor))
        reads->all_followed = is_followed(reads->reader, node);
    return reads->all_followed;
}

bool tensor_is_followed(TensorReader *reader, Str tensor) {
    Reads reads = {reader, tensor_whole(tensor), true};
    syntax_walk(reader->site->launcher->body, visit_read, &reads);
    return reads.all_followed;
}
