// Identifiers of kernels, coloured by what the analysis knows of them.
#include "analysis/syntax/syntax_nodes.h"
#include "features/describe/describe.h"
#include "features/features.h"

#include <stdlib.h>
#include <string.h>

typedef struct TokenWriter {
    FileNames *names;
    uint32_t start, end;
    SyntaxNode function;                 // around, of a jit function; null outside
    const Kernel *kernel;                // of it
    uint32_t function_end;               // where it ends
    Map done;                            // identifiers with a meaning of their own, by start
    const FunctionDefinition *launched;  // by the last launch in host code
    uint32_t launch_end;
    Map declared;  // names seen so far in the function
    Tokens tokens;
} TokenWriter;

static void token_add(TokenWriter *writer, SyntaxNode node, TokenType type, unsigned modifiers) {
    Range range = range_of(writer->names, node);
    if (range.end <= writer->start || range.start >= writer->end || range.start == range.end)
        return;
    Token token = {range.start, range.end, type, modifiers};
    LIST_PUSH(writer->names->arena, &writer->tokens.list, token);
}

static unsigned bit(TokenModifier modifier) { return 1u << modifier; }

static void token_of_value(TokenWriter *writer, SyntaxNode node, const Value *value,
                           unsigned modifiers) {
    if (!value_is_told(value)) return;
    Type type = value->type;
    switch (type.kind) {
    case TYPE_POINTER:
    case TYPE_BLOCK_POINTER:
    case TYPE_DESCRIPTOR:
        token_add(writer, node, TOKEN_POINTER, modifiers | bit(TOKEN_MODIFIER_POINTER));
        break;
    case TYPE_DTYPE: token_add(writer, node, TOKEN_DTYPE, modifiers); break;
    case TYPE_FUNCTION: token_add(writer, node, TOKEN_KERNEL, modifiers); break;
    case TYPE_NUMBER:
        if (type.is_constexpr || value->constant)
            token_add(writer, node, TOKEN_CONSTEXPR, modifiers | bit(TOKEN_MODIFIER_READONLY));
        else
            token_add(writer, node, type.rank ? TOKEN_TILE : TOKEN_SCALAR, modifiers);
        break;
    case TYPE_NONE:
    case TYPE_STRING:
        if (type.is_constexpr || value->constant)
            token_add(writer, node, TOKEN_CONSTEXPR, modifiers | bit(TOKEN_MODIFIER_READONLY));
        break;
    default: break;
    }
}

static unsigned operation_modifiers(OpCode code) {
    unsigned modifiers = bit(TOKEN_MODIFIER_DEFAULT_LIBRARY);
    if (op_rows[code].kind == KIND_REMOVED || op_rows[code].until)
        modifiers |= bit(TOKEN_MODIFIER_DEPRECATED);
    return modifiers;
}

static void token_of_name(TokenWriter *writer, const Name *name) {
    switch (name->kind) {
    case NAME_FUNCTION:
        if (name->function && name->function->is_jit)
            token_add(writer, name->node, TOKEN_KERNEL,
                      name->is_write ? bit(TOKEN_MODIFIER_DECLARATION) : 0);
        break;
    case NAME_OPERATION:
    case NAME_METHOD:
        token_add(writer, name->node, TOKEN_OPERATION, operation_modifiers(name->op));
        break;
    case NAME_DTYPE:
        token_add(writer, name->node, TOKEN_DTYPE, bit(TOKEN_MODIFIER_DEFAULT_LIBRARY));
        break;
    case NAME_NAMESPACE:
        token_add(writer, name->node, TOKEN_NAMESPACE, bit(TOKEN_MODIFIER_DEFAULT_LIBRARY));
        break;
    case NAME_GLOBAL: {
        const Value *value = value_of_node(writer->names, writer->kernel, name->node);
        if (value && value->constant)
            token_add(writer, name->node, TOKEN_CONSTEXPR, bit(TOKEN_MODIFIER_READONLY));
        break;
    }
    default: break;
    }
}

/// A variable of the function around; false where it is none.
static bool token_of_variable(TokenWriter *writer, SyntaxNode node) {
    if (!writer->kernel) return false;
    Str text = text_of(writer->names, node);
    if (!map_get(names_bound(writer->names, writer->function), text)) return false;
    const Value *value = value_of_node(writer->names, writer->kernel, node);
    unsigned modifiers = 0;
    if (!map_has(&writer->declared, text)) {
        modifiers = bit(TOKEN_MODIFIER_DECLARATION);
        map_set(&writer->declared, text, writer);
    }
    token_of_value(writer, node, value, modifiers);
    return true;
}

static void visit_parameters(TokenWriter *writer) {
    const Kernel *kernel = writer->kernel;
    if (!kernel->function) return;
    for (int i = 0; i < kernel->function->parameter_count; i++) {
        const Parameter *parameter = &kernel->function->parameters[i];
        Range range = snapshot_range(writer->names->snapshot, parameter->range);
        uint32_t end = range.start + (uint32_t)strlen(parameter->name);
        SyntaxNode node = node_at(writer->names->root, range.start, end);
        if (node_kind(node) != SYNTAX_IDENTIFIER) continue;
        map_set(&writer->declared, text_of(writer->names, node), writer);
        map_set_number(&writer->done, (uint64_t)range.start + 1, writer);
        unsigned modifiers = bit(TOKEN_MODIFIER_DECLARATION);
        if (parameter->is_constexpr)
            token_add(writer, node, TOKEN_CONSTEXPR, modifiers | bit(TOKEN_MODIFIER_READONLY));
        else
            token_of_value(writer, node, parameter->value, modifiers);
    }
}

static void enter_function(TokenWriter *writer, SyntaxNode node) {
    const Kernel *kernel = kernel_of_node(writer->names, node);
    if (!kernel) return;
    writer->function = node;
    writer->kernel = kernel;
    writer->function_end = range_of(writer->names, node).end;
    writer->declared = map_new(writer->names->arena);
    visit_parameters(writer);
}

static void token_resolved(TokenWriter *writer, SyntaxNode identifier) {
    map_set_number(&writer->done, (uint64_t)range_of(writer->names, identifier).start + 1, writer);
    Name name = name_resolve(writer->names, identifier);
    token_of_name(writer, &name);
}

static void visit_identifier(TokenWriter *writer, SyntaxNode node, uint32_t start) {
    if (map_has_number(&writer->done, (uint64_t)start + 1)) return;
    if (token_of_variable(writer, node)) return;
    if (writer->kernel) {
        token_resolved(writer, node);
        return;
    }
    // Outside of kernels only kernels are told.
    if (!map_has(&writer->names->snapshot->module->scope->names, text_of(writer->names, node)))
        return;
    Name name = name_resolve(writer->names, node);
    if (name.kind == NAME_FUNCTION) token_of_name(writer, &name);
}

static void identifier_skip(TokenWriter *writer, SyntaxNode identifier) {
    Range range = range_of(writer->names, identifier);
    map_set_number(&writer->done, (uint64_t)range.start + 1, writer);
}

static void visit_attribute(TokenWriter *writer, SyntaxNode identifier) {
    if (writer->kernel)
        token_resolved(writer, identifier);
    else
        identifier_skip(writer, identifier);
}

/// In host code: remembers which kernel is launched, for the keywords.
static void visit_call(TokenWriter *writer, SyntaxNode node, Range range) {
    if (writer->kernel || node_kind(node_field(node, "function")) != SYNTAX_SUBSCRIPT) return;
    Name callee = callee_resolve(writer->names, node);
    if (callee.kind != NAME_FUNCTION || !callee.function->is_jit) return;
    writer->launched = callee.function;
    writer->launch_end = range.end;
}

static void visit_keyword(TokenWriter *writer, SyntaxNode identifier) {
    identifier_skip(writer, identifier);
    const FunctionDefinition *launched = writer->launched;
    bool is_launch = launched && range_of(writer->names, identifier).end <= writer->launch_end;
    Str text = text_of(writer->names, identifier);
    for (int i = 0; is_launch && i < launched->parameter_count; i++)
        if (launched->parameters[i].is_constexpr && str_equal(launched->parameters[i].name, text))
            token_add(writer, identifier, TOKEN_CONSTEXPR, bit(TOKEN_MODIFIER_READONLY));
}

static bool visit_token(void *context, SyntaxNode node) {
    TokenWriter *writer = context;
    Range range = range_of(writer->names, node);
    if (writer->kernel && range.start >= writer->function_end) writer->kernel = NULL;
    if (range.end <= writer->start || range.start >= writer->end) return false;
    switch (node_kind(node)) {
    case SYNTAX_STRING:
    case SYNTAX_COMMENT: return node_kind(node) == SYNTAX_STRING;
    case SYNTAX_FUNCTION:
        if (!writer->kernel) enter_function(writer, node);
        return true;
    case SYNTAX_CALL: visit_call(writer, node, range); return true;
    case SYNTAX_ATTRIBUTE: visit_attribute(writer, node_field(node, "attribute")); return true;
    case SYNTAX_KEYWORD_ARGUMENT: visit_keyword(writer, node_field(node, "name")); return true;
    case SYNTAX_IDENTIFIER: visit_identifier(writer, node, range.start); return false;
    default: return true;
    }
}

static int compare_starts(const void *left, const void *right) {
    const Token *a = left, *b = right;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/// By start: the walk meets a method's name after its arguments, and parameters before their function's name.
static void tokens_sort(Tokens *tokens) {
    if (tokens->list.count)
        qsort(tokens->list.items, (size_t)tokens->list.count, sizeof *tokens->list.items,
              compare_starts);
}

Tokens semantic_tokens(Arena *arena, const Snapshot *snapshot, uint32_t start, uint32_t end) {
    FileNames names = names_of(arena, snapshot);
    TokenWriter writer = {.names = &names, .start = start, .end = end, .done = map_new(arena)};
    writer.declared = map_new(arena);
    syntax_walk(names.root, visit_token, &writer);
    tokens_sort(&writer.tokens);
    return writer.tokens;
}
