// Values of the tile IR in, sentences and labels out.
#include "features/describe.h"

#include <string.h>

#include "analysis/affine.h"
#include "analysis/loops.h"
#include "features/mathematics.h"

enum { LABEL_ATOM_LIMIT = 28, MAX_AXES = 16, TUPLE_LIMIT = 8 };

// --- Types

static const char *element_label(DType element) {
    if (element.code != DTYPE_OF_PARAMETER) return dtype_short_name(element.code);
    switch (element.parameter_class) {
    case CLASS_FLOAT: return "float";
    case CLASS_SIGNED:
    case CLASS_UNSIGNED: return "int";
    case CLASS_BOOL: return "i1";
    default: return "number";
    }
}

static void put_dims(Buffer *out, Type type) {
    if (type.rank == 0) return;
    buffer_putc(out, '[');
    for (int i = 0; i < type.rank; i++)
        buffer_printf(out, "%s%s", i ? ", " : "", poly_label(out->arena, type.dims[i]));
    buffer_putc(out, ']');
}

const char *type_label(Arena *arena, Type type) {
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
        return arena_printf(arena, "constexpr %s", element_label(type.element));
    }
    buffer_puts(&out, element_label(type.element));
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

const char *constant_label(Arena *arena, const Constant *constant) {
    if (!constant) return NULL;
    switch (constant->kind) {
    case CONSTANT_NONE: return "None";
    case CONSTANT_BOOL: return constant->integer ? "True" : "False";
    case CONSTANT_INT: return arena_printf(arena, "%lld", (long long)constant->integer);
    case CONSTANT_FLOAT: return arena_printf(arena, "%.12g", constant->number);
    case CONSTANT_STRING: return arena_printf(arena, "\"%.*s\"", STR_ARGS(constant->string));
    case CONSTANT_DTYPE:
        return dtype_name(constant->dtype.code)
                   ? arena_printf(arena, constant->is_pointer ? "tl.pointer_type(tl.%s)" : "tl.%s",
                                  dtype_name(constant->dtype.code))
                   : NULL;
    case CONSTANT_FUNCTION:
        return constant->function ? str_dup(arena, constant->function->name) : NULL;
    }
    return NULL;
}

// --- Polynomials

static bool is_word(Str text) {
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || (unsigned char)c >= 0x80;
        if (!fits) return false;
    }
    return text.size > 0;
}

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
    bool is_closed = is_word(text) || alone || text.data[text.size - 1] == ')';
    return arena_printf(arena, is_closed ? "%.*s" : "(%.*s)", STR_ARGS(text));
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

static bool poly_is(const Poly *poly, int64_t number) {
    int64_t constant;
    return poly && poly_is_constant(poly, &constant) && constant == number;
}

/// "pid*BLOCK + i + j*stride"; lanes are i, j, k, ... by axis.
static const char *affine_label(Arena *arena, const Affine *affine) {
    static const char *const lanes[TYPE_MAX_RANK] = {"i", "j", "k", "l", "m", "n", "o", "p"};
    Buffer out = buffer_new(arena);
    if (!poly_is(affine->base, 0)) buffer_puts(&out, poly_label(arena, affine->base));
    for (int i = 0; i < affine->rank; i++) {
        const Poly *lane = affine->lane[i];
        if (!lane || poly_is(lane, 0)) continue;
        bool is_negative = lane->count == 1 && lane->terms[0].coefficient < 0 && out.size;
        if (is_negative) lane = poly_subtract(arena, poly_constant(arena, 0), lane);
        buffer_puts(&out, !out.size ? "" : is_negative ? " - " : " + ");
        if (poly_is(lane, 1))
            buffer_puts(&out, lanes[i]);
        else
            buffer_printf(&out, lane->count > 1 ? "(%s)*%s" : "%s*%s", poly_label(arena, lane),
                          lanes[i]);
    }
    if (!out.size) buffer_puts(&out, "0");
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
    return buffer_text(&out);
}

typedef struct ReturnSearch {
    Names *names;
    const Kernel *kernel;
    const char *label;
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
    if (search->label && strcmp(label, search->label) != 0) search->differs = true;
    search->label = label;
    return false;
}

const char *return_label(Names *names, const Kernel *kernel) {
    if (!kernel->definition->returns_value) return NULL;
    SyntaxNode function = node_of_kernel(names, kernel);
    ReturnSearch search = {names, kernel, NULL, false};
    if (!node_is_null(function)) syntax_walk(node_field(function, "body"), visit_return, &search);
    return search.differs ? NULL : search.label;
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

// --- Loops

/// The loop that carries `value`, with its position among what is carried: as the argument of the body, as what an
/// iteration hands on, or as what is left after it.
static const Op *carrier_of(const Value *value, int *index) {
    const Region *region = value->region;
    const Op *loop = region ? region->parent : NULL;
    if (loop && (loop->code == OP_FOR || loop->code == OP_STATIC_FOR)) {
        for (int i = 1; i < region->argument_count; i++)
            if (region->arguments[i] == value) {
                *index = i - 1;
                return loop;
            }
        return NULL;
    }
    const Op *op = value->op;
    if (!op) return NULL;
    if (op->code == OP_FOR || op->code == OP_STATIC_FOR) {
        for (int i = 0; i < op->result_count; i++)
            if (op->results[i] == value) {
                *index = i;
                return op;
            }
        return NULL;
    }
    loop = op->parent ? op->parent->parent : NULL;
    if (!loop || (loop->code != OP_FOR && loop->code != OP_STATIC_FOR)) return NULL;
    const Op *yield = region_terminator(op->parent);
    for (int i = 0; yield && i < yield->operand_count; i++)
        if (yield->operands[i] == value) {
            *index = i;
            return loop;
        }
    return NULL;
}

static const char *written(Arena *arena, const Value *value) {
    if (!value) return NULL;
    Str text = source_slice(value->op ? value->op->range : value->range);
    if (value->name) return value->name;
    bool is_short = text.size && text.size <= 60 && !memchr(text.data, '\n', text.size);
    return is_short ? str_dup(arena, text) : NULL;
}

static void describe_carried(Buffer *out, const Value *value) {
    int index = 0;
    const Op *loop = carrier_of(value, &index);
    if (!loop) return;
    Carried *all = loop_classify(out->arena, loop);
    const Carried *carried = &all[index];
    const char *sign = carried->negated ? "−" : "+";
    const char *step = written(out->arena, carried->step);
    const char *term = written(out->arena, carried->term);
    const char *factor = written(out->arena, carried->factor);
    buffer_puts(out, "\n\n**Carried by the loop**: ");
    switch (carried->class) {
    case CARRIED_UNCHANGED: buffer_puts(out, "unchanged."); break;
    case CARRIED_INDUCTION:
        buffer_printf(out, "an induction, %s `%s` each iteration.", sign,
                      step ? step : "a fixed step");
        break;
    case CARRIED_SUM:
        if (term)
            buffer_printf(out,
                          "a sum, %s `%s` each iteration; its gradient is the same in all of them.",
                          sign, term);
        else
            buffer_puts(out, "a sum; its gradient is the same in all iterations.");
        break;
    case CARRIED_GAUGE:
        if (carried->gauge == index)
            buffer_puts(out, "the gauge of an online reduction; where it cancels no gradient flows "
                             "through it.");
        else
            buffer_printf(out, "a running value of an online reduction, rescaled by `%s`.",
                          factor ? factor : "a factor");
        break;
    case CARRIED_RECURRENCE:
        buffer_puts(out, "a recurrence; each iteration needs the state of the one before.");
        break;
    }
}

// --- Addresses and memory

static const char *axis_label(Arena *arena, const Axis *axis) {
    if (axis->is_program) return arena_printf(arena, "program axis %d", axis->program_axis);
    const Region *body = axis->loop->region_count ? axis->loop->regions[0] : NULL;
    const Value *variable = body && body->argument_count ? body->arguments[0] : NULL;
    return arena_printf(arena, "the loop over `%s`",
                        variable && variable->name ? variable->name : "…");
}

static void describe_axes(Buffer *out, const Kernel *kernel, const Access *access) {
    Axis axes[MAX_AXES];
    AxisDependence dependence[MAX_AXES];
    int count = access_axes(out->arena, kernel->function, access, axes, dependence, MAX_AXES);
    for (int i = 0; i < count && i < MAX_AXES; i++) {
        const char *name = axis_label(out->arena, &axes[i]);
        const char *who = axes[i].is_program ? "programs" : "iterations";
        switch (dependence[i]) {
        case AXIS_FREE:
            buffer_printf(out, "\n- %s: *free*, all %s touch the same elements", name, who);
            break;
        case AXIS_OWNED:
            buffer_printf(out, "\n- %s: *owned*, each of its %s has its own elements", name, who);
            break;
        case AXIS_SCATTERED:
            buffer_printf(out, "\n- %s: *scattered*, %s may share elements", name, who);
            break;
        }
    }
}

static void describe_access(Buffer *out, const Kernel *kernel, Op *op) {
    Access access = access_of(out->arena, op);
    const OpRow *row = &op_rows[op->code];
    const char *verb = row->effects & EFFECT_ATOMIC   ? "Updates"
                       : row->effects & EFFECT_WRITES ? "Stores to"
                                                      : "Reads";
    const char *parameter =
        access.parameter && access.parameter->name ? access.parameter->name : NULL;
    if (parameter && access.offset.known)
        buffer_printf(out, "\n\n**%s** `%s[%s]`", verb, parameter,
                      affine_label(out->arena, &access.offset));
    else if (parameter)
        buffer_printf(out, "\n\n**%s** `%s` at addresses that depend on data", verb, parameter);
    else
        return;
    const char *mask = written(out->arena, access.mask);
    if (access.mask && !value_is_none(access.mask))
        buffer_printf(out, mask ? " where `%s`" : " where its mask holds", mask);
    describe_axes(out, kernel, &access);
}

static void describe_address(Buffer *out, Value *value) {
    if (value->type.kind == TYPE_NUMBER) {
        if (!dtype_is_integer(value->type.element) || value->type.rank == 0 || value->constant ||
            dtype_class(value->type.element) == CLASS_BOOL)
            return;
        Affine affine = affine_of(out->arena, value);
        if (affine.known)
            buffer_printf(out, "\n\n**Lanes**: `%s`", affine_label(out->arena, &affine));
        return;
    }
    bool is_pointer = value->type.kind == TYPE_POINTER || value->type.kind == TYPE_BLOCK_POINTER ||
                      value->type.kind == TYPE_DESCRIPTOR;
    if (!is_pointer) return;
    Value *root = NULL;
    Affine affine = pointer_affine_of(out->arena, value, &root);
    if (!root || !root->name || root == value) return;
    if (affine.known)
        buffer_printf(out, "\n\n**Address**: `%s[%s]`", root->name,
                      affine_label(out->arena, &affine));
    else
        buffer_printf(out, "\n\n**Address**: in `%s`, depends on data", root->name);
}

// --- Values

/// Whether a rule belongs to what the user wrote, and not to how it is represented.
static bool op_is_worth_telling(const Op *op) {
    switch (op->code) {
    case OP_CONSTANT:
    case OP_UNDEFINED:
    case OP_UNKNOWN:
    case OP_TUPLE:
    case OP_ITEM:
    case OP_FOR:
    case OP_STATIC_FOR:
    case OP_WHILE:
    case OP_IF: return false;
    default: return true;
    }
}

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

void describe_rule(Buffer *out, OpCode code) {
    Rule rule = rule_of(out->arena, code);
    if (rule.computes) buffer_printf(out, "\n\n**Computes** `%s`", rule.computes);
    buffer_printf(out, rule.computes ? "  \n**Derivative** `%s`" : "\n\n**Derivative** `%s`",
                  rule.derivative);
}

void describe_value(Buffer *out, Names *names, const Kernel *kernel, const Value *value) {
    (void)names;
    Value *asked = (Value *)(uintptr_t)value;
    const char *constant = constant_label(out->arena, value->constant);
    if (constant) {
        buffer_printf(out, "\n\nKnown at compile time: `%s`", constant);
        return;
    }
    if (value->type.is_constexpr) return;
    describe_carried(out, value);
    describe_address(out, asked);
    Op *op = asked->op;
    if (!op) return;
    if (op_is_access(op)) describe_access(out, kernel, op);
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
    if (row->kind == KIND_HINT || row->kind == KIND_REMOVED || row->kind == KIND_STRUCTURAL) return;
    if (row->expands) buffer_printf(out, "\n\nIt stands for\n```python\n%s\n```", row->expands);
    describe_rule(out, code);
}
