// Values of the tile IR in, sentences and labels out.
#include "features/describe/describe.h"
#include "features/describe/describe_cost.h"

#include <string.h>

#include "analysis/addresses/affine.h"
#include "analysis/frames/sightings.h"
#include "analysis/syntax/syntax_nodes.h"
#include "base/escape.h"
#include "features/describe/describe_memory.h"
#include "features/describe/mathematics.h"

enum { LABEL_ATOM_LIMIT = 28, TUPLE_LIMIT = 8 };

// --- Types

static void put_dims(Buffer *out, Type type) {
    if (type.rank == 0) return;
    buffer_putc(out, '[');
    for (int i = 0; i < type.rank; i++)
        buffer_printf(out, "%s%s", i ? ", " : "", poly_label(out->arena, type.dims[i]));
    buffer_putc(out, ']');
}

/// "f32[BLOCK_M, 64]", "*f16[BLOCK]", "*float" (the caller decides which), "(f32, i32[N])"; "?" where it is not understood.
static const char *type_label(Arena *arena, Type type) {
    Buffer out = buffer_new(arena);
    switch (type.kind) {
    case TYPE_NUMBER: break;
    case TYPE_POINTER: buffer_puts(&out, "*"); break;
    case TYPE_BLOCK_POINTER: buffer_puts(&out, "block_ptr "); break;
    case TYPE_DESCRIPTOR: buffer_puts(&out, "tensor_descriptor "); break;
    case TYPE_TUPLE: return "tuple";
    case TYPE_NONE: return "None";
    case TYPE_DTYPE: return "dtype";
    case TYPE_STRING: return "str";
    case TYPE_FUNCTION: return "function";
    case TYPE_UNKNOWN: return "?";
    }
    if (type.is_constexpr && type.kind == TYPE_NUMBER && type.rank == 0) {
        bool is_plain = type.element.code < DTYPE_OF_PARAMETER || type.element.code == DTYPE_COUNT;
        if (is_plain) return "constexpr";
        return arena_printf(arena, "constexpr %s", dtype_label(type.element));
    }
    buffer_puts(&out, dtype_label(type.element));
    put_dims(&out, type);
    return buffer_text(&out);
}

static void put_value(Buffer *out, const Value *value, int depth) {
    bool is_tuple = value->op && value->op->code == OP_TUPLE && value->type.kind == TYPE_TUPLE;
    if (!is_tuple || depth > 3) {
        buffer_puts(out, type_label(out->arena, value->type));
        return;
    }
    buffer_putc(out, '(');
    for (int i = 0; i < value->op->operand_count && i < TUPLE_LIMIT; i++) {
        if (i) buffer_puts(out, ", ");
        if (value->op->operands[i]) put_value(out, value->op->operands[i], depth + 1);
    }
    if (value->op->operand_count > TUPLE_LIMIT) buffer_puts(out, ", ...");
    buffer_puts(out, value->op->operand_count == 1 ? ",)" : ")");
}

const char *value_label(Arena *arena, const Value *value) {
    Buffer out = buffer_new(arena);
    put_value(&out, value, 0);
    return buffer_text(&out);
}

bool value_is_told(const Value *value) { return value && value->type.kind != TYPE_UNKNOWN; }

/// What a place of a helper comes to where kernels inline it: each label once, with the first kernel.
typedef struct CallLabel {
    const char *label;
    const Value *value;
    const Kernel *kernel;
} CallLabel;
typedef struct CallLabels {
    LIST(CallLabel) list;
} CallLabels;

static void call_label_add(Arena *arena, CallLabels *labels, const Value *value,
                           const Kernel *kernel) {
    CallLabel label = {value_label(arena, value), value, kernel};
    for (LIST_EACH(int, i, labels->list))
        if (strcmp(labels->list.items[i].label, label.label) == 0) return;
    LIST_PUSH(arena, &labels->list, label);
}

static CallLabels call_labels(FileNames *names, const Kernel *helper, Range place) {
    CallLabels labels = {0};
    for (LIST_EACH(int, i, names->snapshot->kernels)) {
        const Kernel *kernel = &names->snapshot->kernels.items[i];
        if (kernel->is_helper || !kernel->function) continue;
        const InlinedValue *each =
            function_inlined_at(kernel->function, helper->definition, place.start, place.end);
        for (; each; each = each->next) call_label_add(names->arena, &labels, each->value, kernel);
    }
    return labels;
}

/// Whether the helper's own words for a type, in its own constexprs, say what all calls say.
static bool own_holds(Arena *arena, const Value *own, const CallLabels *labels) {
    if (!value_is_told(own) || strchr(value_label(arena, own), '?')) return false;
    for (LIST_EACH(int, i, labels->list)) {
        Type type = labels->list.items[i].value->type;
        if (type.kind != own->type.kind || type.rank != own->type.rank ||
            type.element.code != own->type.element.code)
            return false;
    }
    return true;
}

Told told_at(FileNames *names, const Kernel *kernel, Range place, const Value *own) {
    Arena *arena = names->arena;
    Told told = {0};
    CallLabels labels = {0};
    if (kernel && kernel->is_helper) labels = call_labels(names, kernel, place);
    if (labels.list.count == 0 || own_holds(arena, own, &labels)) {
        if (value_is_told(own)) told = (Told){own, value_label(arena, own), NULL};
        return told;
    }
    told.value = labels.list.items[0].value;
    if (labels.list.count == 1) {
        told.label = labels.list.items[0].label;
        return told;
    }
    Buffer out = buffer_new(arena);
    for (LIST_EACH(int, i, labels.list))
        buffer_printf(&out, "%s`%s` in `%.*s`", i ? ", " : "", labels.list.items[i].label,
                      STR_ARGS(labels.list.items[i].kernel->definition->name));
    told.varies = buffer_text(&out);
    return told;
}

const char *constant_label(Arena *arena, const Constant *constant) {
    if (!constant) return NULL;
    switch (constant->kind) {
    case CONSTANT_NONE: return "None";
    case CONSTANT_BOOL: return constant->integer ? "True" : "False";
    case CONSTANT_INT: return arena_printf(arena, "%lld", (long long)constant->integer);
    case CONSTANT_FLOAT: return arena_printf(arena, "%.12g", constant->number);
    case CONSTANT_STRING:
        return arena_printf(arena, "\"%s\"", code_visible(arena, constant->string));
    case CONSTANT_DTYPE:
        return dtype_name(constant->dtype.code)
                   ? arena_printf(arena, constant->is_pointer ? "tl.pointer_type(tl.%s)" : "tl.%s",
                                  dtype_name(constant->dtype.code))
                   : NULL;
    case CONSTANT_FUNCTION:
        return constant->function ? str_dup(arena, constant->function->name) : NULL;
    case CONSTANT_TUPLE: return NULL;
    }
    return NULL;
}

// --- Polynomials

static const char *atom_label(Arena *arena, const Value *atom, bool alone) {
    if (atom->name) return atom->name;
    const Op *op = atom->op;
    int64_t axis;
    if (op && op->code == OP_PROGRAM_ID && op->operands[0] && value_is_int(op->operands[0], &axis))
        return arena_printf(arena, "program_id(%d)", (int)axis);
    Str text = op ? source_slice(op->range) : source_slice(atom->range);
    bool is_short =
        text.size && text.size <= LABEL_ATOM_LIMIT && !memchr(text.data, '\n', text.size);
    if (!is_short) return "…";
    bool is_closed = str_is_name(text) || alone || text.data[text.size - 1] == ')';
    return arena_printf(arena, is_closed ? "%s" : "(%s)", code_visible(arena, text));
}

static void put_term(Buffer *out, const Monomial *term, bool first, bool alone) {
    int64_t coefficient = term->coefficient;
    bool is_negative = coefficient < 0;
    uint64_t size = is_negative ? 0 - (uint64_t)coefficient : (uint64_t)coefficient;
    buffer_puts(out, first ? (is_negative ? "-" : "") : is_negative ? " - " : " + ");
    if (size != 1 || term->atom_count == 0)
        buffer_printf(out, "%llu%s", (unsigned long long)size, term->atom_count ? "*" : "");
    for (int i = 0; i < term->atom_count; i++)
        buffer_printf(
            out, "%s%s", i ? "*" : "",
            atom_label(out->arena, term->atoms[i], alone && term->atom_count == 1 && size == 1));
}

const char *poly_label(Arena *arena, const Poly *poly) {
    if (!poly) return "?";
    if (poly->count == 0) return "0";
    Buffer out = buffer_new(arena);
    bool first = true;
    // What is subtracted comes last: `n - 1`, not `-1 + n`.
    for (int negative = 0; negative < 2; negative++)
        for (int i = 0; i < poly->count; i++) {
            if ((poly->terms[i].coefficient < 0) != (negative == 1)) continue;
            put_term(&out, &poly->terms[i], first, poly->count == 1);
            first = false;
        }
    return buffer_text(&out);
}

// --- Signatures

const char *operation_label(Arena *arena, OpCode code, bool method) {
    const OpRow *row = &op_rows[code];
    Buffer out = buffer_new(arena);
    if (method && row->method) {
        Str name = str_from(row->method);
        for (size_t i = 0; i < name.size; i++)
            if (name.data[i] == ',') name.size = i;
        buffer_printf(&out, ".%.*s(", STR_ARGS(text_last_component(name)));
    } else {
        const char *name = row->name ? row->name : row->symbol ? row->symbol : row->id;
        bool is_library = strncmp(name, "libdevice.", strlen("libdevice.")) == 0;
        buffer_printf(&out, "%s%s(", is_library || !row->name ? "" : "tl.", name);
    }
    int count;
    const OpParameter *parameters = op_parameters(code, &count);
    bool has_star = false;
    bool any = false;
    for (int i = method ? 1 : 0; i < count; i++) {
        const OpParameter *parameter = &parameters[i];
        if (parameter->is_keyword_only && !has_star) {
            buffer_printf(&out, "%s*", any ? ", " : "");
            any = true;
        }
        has_star = has_star || parameter->is_variadic || parameter->is_keyword_only;
        buffer_printf(&out, "%s%s%.*s", any ? ", " : "", parameter->is_variadic ? "*" : "",
                      STR_ARGS(parameter->name));
        if (parameter->default_text.size)
            buffer_printf(&out, "=%.*s", STR_ARGS(parameter->default_text));
        any = true;
    }
    buffer_puts(&out, ")");
    return buffer_text(&out);
}

const char *function_label(Arena *arena, const FunctionDefinition *function) {
    Buffer out = buffer_new(arena);
    buffer_printf(&out, "%.*s(", STR_ARGS(function->name));
    for (int i = 0; i < function->parameter_count; i++) {
        // As it is written, on one line.
        Str text = source_slice(function->parameters[i].range);
        if (i) buffer_puts(&out, ", ");
        for (size_t k = 0; k < text.size; k++) {
            bool is_space = text.data[k] == '\n' || text.data[k] == ' ' || text.data[k] == '\r';
            if (is_space && out.data[out.size - 1] == ' ') continue;
            buffer_putc(&out, is_space ? ' ' : text.data[k]);
        }
    }
    buffer_puts(&out, ")");
    return code_visible(arena, (Str){out.data, out.size});
}

typedef struct ReturnSearch {
    FileNames *names;
    const Kernel *kernel;
    const Value *value;
    bool differs;
} ReturnSearch;

static bool visit_return(void *context, SyntaxNode node) {
    ReturnSearch *search = context;
    SyntaxKind kind = node_kind(node);
    if (kind == SYNTAX_FUNCTION || kind == SYNTAX_LAMBDA || kind == SYNTAX_CLASS) return false;
    if (kind != SYNTAX_RETURN) return true;
    const Value *value = value_of_node(search->names, search->kernel, node_child(node, 0));
    if (!value_is_told(value)) return false;
    const char *label = value_label(search->names->arena, value);
    const char *former = search->value ? value_label(search->names->arena, search->value) : label;
    if (strcmp(label, former) != 0) search->differs = true;
    search->value = value;
    return false;
}

const char *return_label(FileNames *names, const Kernel *kernel) {
    if (!kernel->definition->returns_value) return NULL;
    SyntaxNode function = node_of_kernel(names, kernel);
    ReturnSearch search = {.names = names, .kernel = kernel};
    if (node_is_null(function)) return NULL;
    SyntaxNode body = node_field(function, "body");
    syntax_walk(body, visit_return, &search);
    return told_at(names, kernel, range_of(names, body), search.differs ? NULL : search.value)
        .label;
}

Str function_documentation(const FunctionDefinition *function) {
    SyntaxNode statement = node_child(function->body, 0);
    SyntaxNode text = node_child(statement, 0);
    if (node_kind(statement) != SYNTAX_EXPRESSION_STATEMENT || node_kind(text) != SYNTAX_STRING)
        return (Str){"", 0};
    for (uint32_t i = 0; i < node_child_count(text); i++)
        if (node_kind(node_child(text, i)) == SYNTAX_STRING_CONTENT)
            return str_trim(node_text(function->module->source, node_child(text, i)));
    return (Str){"", 0};
}

const char *stranger_text(Arena *arena, Str text) {
    return arena_printf(arena, "```text\n%s\n```", fence_visible(arena, text));
}

// --- Values

/// Whether a rule belongs to what the user wrote, and not to how it is represented.
static bool op_is_worth_telling(const Op *op) { return op_rows[op->code].kind != KIND_STRUCTURAL; }

static bool names_contain(Str text, const char *names) {
    Str rest = str_from(names ? names : "");
    while (rest.size) {
        size_t size = 0;
        while (size < rest.size && rest.data[size] != ',') size++;
        Str name = text_last_component(str_trim((Str){rest.data, size}));
        for (size_t i = 0; name.size && i + name.size <= text.size; i++)
            if (memcmp(text.data + i, name.data, name.size) == 0) return true;
        size_t taken = size < rest.size ? size + 1 : size;
        rest = (Str){rest.data + taken, rest.size - taken};
    }
    return false;
}

/// Whether the operation stands in the text itself, and not in a helper or in what an operation stands for.
static bool op_is_written(const Op *op) {
    const OpRow *row = &op_rows[op->code];
    Str text = source_slice(op->range);
    if (op->call) return false;
    if (row->symbol && text_contains(text, row->symbol)) return true;
    return names_contain(text, row->name) || names_contain(text, row->aliases) ||
           names_contain(text, row->method);
}

static bool type_is_float(Type type) {
    return type.kind == TYPE_NUMBER && !type.is_constexpr && !dtype_is_integer(type.element) &&
           type.element.code != DTYPE_UNKNOWN;
}

static void describe_rule(Buffer *out, OpCode code) {
    Rule rule = rule_of(out->arena, code);
    if (rule.computes) buffer_printf(out, "\n\n**Computes** `%s`", rule.computes);
    buffer_printf(out, rule.computes ? "  \n**Derivative** `%s`" : "\n\n**Derivative** `%s`",
                  rule.derivative);
}

void describe_value(Buffer *out, FileNames *names, const Kernel *kernel, const Value *value) {
    Value *asked = (Value *)(uintptr_t)value;
    const char *constant = constant_label(out->arena, value->constant);
    if (constant) {
        buffer_printf(out, "\n\nKnown at compile time: `%s`", constant);
        return;
    }
    if (value->type.is_constexpr) return;
    describe_carried(out, names, value);
    describe_address(out, asked);
    Op *op = asked->op;
    if (!op) return;
    if (op_is_access(op)) describe_access(out, kernel, op);
    if (op_is_access(op) || op->code == OP_DOT)
        describe_cost(out, names, kernel, snapshot_range(names->snapshot, op->range));
    if (op_is_worth_telling(op) && type_is_float(value->type) && op_is_written(op))
        describe_rule(out, op->code);
}

void describe_operation(Buffer *out, OpCode code, bool method) {
    const OpRow *row = &op_rows[code];
    buffer_printf(out, "```python\n%s\n```", operation_label(out->arena, code, method));
    if (row->doc) buffer_printf(out, "\n%s", row->doc);
    if (row->kind == KIND_REMOVED) buffer_puts(out, "\n\n**Removed from Triton.**");
    if (row->since) buffer_printf(out, "\n\nSince Triton %s.", row->since);
    if (row->until) buffer_printf(out, "\n\nTriton %s no longer has it.", row->until);
    if (row->instead) buffer_printf(out, " Use %s.", row->instead);
    describe_operation_rule(out, code);
}

void describe_operation_rule(Buffer *out, OpCode code) {
    const OpRow *row = &op_rows[code];
    if (row->kind == KIND_HINT || row->kind == KIND_REMOVED || row->kind == KIND_STRUCTURAL) return;
    if (row->expands) buffer_printf(out, "\n\nIt stands for\n```python\n%s\n```", row->expands);
    describe_rule(out, code);
}
