// One op, one Python expression: operators by the table's symbols, calls by its parameter names and defaults.
#include "autodiff/emit/emit_expression.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/addresses/axis.h"
#include "analysis/module/module.h"

static EmittedText atom(const char *text) { return (EmittedText){text, PRECEDENCE_ATOM}; }

static const char *float_text(Arena *arena, double number) {
    if (isinf(number)) return number > 0 ? "float(\"inf\")" : "-float(\"inf\")";
    if (isnan(number)) return "float(\"nan\")";
    Buffer text = buffer_new(arena);
    buffer_put_float(&text, number);
    return buffer_text(&text);
}

static const char *dtype_text(Emitter *emitter, DType dtype) {
    if (dtype.code == DTYPE_OF_PARAMETER && dtype.parameter < emitter->function->parameter_count)
        return arena_printf(emitter->arena, "%s.dtype.element_ty",
                            emitter->function->parameters[dtype.parameter].name);
    const char *name = dtype_name(dtype.code);
    return arena_printf(emitter->arena, "tl.%s", name ? name : "float32");
}

static const char *string_text(Arena *arena, Str string) {
    Buffer text = buffer_new(arena);
    buffer_putc(&text, '"');
    for (size_t i = 0; i < string.size; i++) {
        unsigned char c = (unsigned char)string.data[i];
        if (c == '\n')
            buffer_puts(&text, "\\n");
        else if (c == '\t')
            buffer_puts(&text, "\\t");
        else if (c == '"' || c == '\\')
            buffer_printf(&text, "\\%c", c);
        else if (c < ' ')
            buffer_printf(&text, "\\x%02x", c);
        else
            buffer_putc(&text, (char)c);
    }
    buffer_putc(&text, '"');
    return buffer_text(&text);
}

static EmittedText constant_text(Emitter *emitter, const Constant *constant) {
    Arena *arena = emitter->arena;
    switch (constant->kind) {
    case CONSTANT_NONE: return atom("None");
    case CONSTANT_BOOL: return atom(constant->integer ? "True" : "False");
    case CONSTANT_INT: {
        bool negative = constant->integer < 0;
        return (EmittedText){arena_printf(arena, "%lld", (long long)constant->integer),
                             negative ? 11 : PRECEDENCE_ATOM};
    }
    case CONSTANT_FLOAT: {
        const char *text = float_text(arena, constant->number);
        return (EmittedText){text, text[0] == '-' ? 11 : PRECEDENCE_ATOM};
    }
    case CONSTANT_STRING: return atom(string_text(arena, constant->string));
    case CONSTANT_DTYPE: {
        const char *text = dtype_text(emitter, constant->dtype);
        return atom(constant->is_pointer ? arena_printf(emitter->arena, "tl.pointer_type(%s)", text)
                                         : text);
    }
    case CONSTANT_FUNCTION:
        if (constant->function) {
            const char *name = map_get_pointer(&emitter->functions, constant->function);
            Str own = constant->string.size ? constant->string : constant->function->name;
            return atom(name ? name : str_dup(arena, own));
        }
        return atom(arena_printf(arena, "tl.%s", op_rows[constant->op].name));
    case CONSTANT_TUPLE: break;  // its items stand for it
    }
    return atom("None");
}

EmittedText emit_value(Emitter *emitter, const Value *value) {
    EmittedText *known = map_get_pointer(&emitter->texts, value);
    if (known) return *known;
    if (value->constant) return constant_text(emitter, value->constant);
    if (value->op && value->op->result_count == 1) return emit_op(emitter, value->op);
    return atom(value->name ? value->name : "unnamed");
}

const char *emit_operand(Emitter *emitter, const Value *value, int precedence, bool is_right) {
    EmittedText text = emit_value(emitter, value);
    bool enough = is_right ? text.precedence > precedence : text.precedence >= precedence;
    if (precedence == 4) enough = text.precedence > 4;  // comparisons do not associate
    return enough ? text.text : arena_printf(emitter->arena, "(%s)", text.text);
}

static const char *any(Emitter *emitter, const Value *value) {
    return emit_value(emitter, value).text;
}

static const char *tuple_text(Emitter *emitter, const Value *tuple) {
    if (!tuple->op || tuple->op->code != OP_TUPLE)
        return arena_printf(emitter->arena, "%s", any(emitter, tuple));
    Buffer text = buffer_new(emitter->arena);
    buffer_putc(&text, '[');
    for (int i = 0; i < tuple->op->operand_count; i++)
        buffer_printf(&text, "%s%s", i ? ", " : "", any(emitter, tuple->op->operands[i]));
    buffer_putc(&text, ']');
    return buffer_text(&text);
}

/// `x[:, None]` for a chain of expand_dims.
static EmittedText expand_text(Emitter *emitter, const Op *op) {
    const Op *chain[TYPE_MAX_RANK];
    int depth = 0;
    const Value *base = op->results[0];
    while (depth < TYPE_MAX_RANK && base->op && base->op->code == OP_EXPAND_DIMS &&
           (depth == 0 || !map_has_pointer(&emitter->texts, base))) {
        chain[depth++] = base->op;
        base = base->op->operands[0];
    }
    const char *tokens[2 * TYPE_MAX_RANK];
    int count = 0;
    for (int i = 0; i < base->type.rank; i++) tokens[count++] = ":";
    for (int i = depth - 1; i >= 0; i--) {
        int64_t axis;
        bool known = value_is_int(chain[i]->operands[1], &axis) && count < TYPE_MAX_RANK;
        if (known && axis < 0) axis += count + 1;
        if (!known || axis < 0 || axis > count) {
            return atom(arena_printf(emitter->arena, "tl.expand_dims(%s, %s)",
                                     any(emitter, op->operands[0]), any(emitter, op->operands[1])));
        }
        memmove(tokens + axis + 1, tokens + axis, sizeof(char *) * (size_t)(count - axis));
        tokens[axis] = "None";
        count++;
    }
    Buffer text = buffer_new(emitter->arena);
    buffer_printf(&text, "%s[", emit_operand(emitter, base, PRECEDENCE_ATOM, false));
    for (int i = 0; i < count; i++) buffer_printf(&text, "%s%s", i ? ", " : "", tokens[i]);
    buffer_putc(&text, ']');
    return atom(buffer_text(&text));
}

static bool is_wide_constant(const Value *value) {
    const Constant *constant = value->constant;
    return constant && constant->kind == CONSTANT_INT &&
           (constant->integer > INT32_MAX && constant->integer <= UINT32_MAX);
}

/// An operand; a number that does not fit the 32 bits of the other side as what Triton makes of a name of it.
static const char *operand_beside(Emitter *emitter, const Value *value, const Value *other,
                                  int precedence, bool is_right) {
    bool is_narrow = other->type.element.code == DTYPE_INT32 && !other->type.is_constexpr;
    if (is_wide_constant(value) && is_narrow)
        return arena_printf(emitter->arena, "tl.full([], %lld, tl.uint32)",
                            (long long)value->constant->integer);
    return emit_operand(emitter, value, precedence, is_right);
}

/// Whether only operators on run-time values and bounds of `range` read a constexpr.
static bool is_read_at_run_time(const Emitter *emitter, const Value *value) {
    const OpList *readers = value_readers(&emitter->readers, value);
    for (int i = 0; i < readers->count; i++) {
        const Op *op = readers->items[i];
        bool is_operator =
            op_rows[op->code].symbol && op->result_count == 1 && !op->results[0]->type.is_constexpr;
        if (!is_operator && op->code != OP_FOR) return false;
    }
    return true;
}

/// (x + (y - 1)) // y is tl.cdiv(x, y): that x, or NULL.
static const Value *cdiv_numerator(const Emitter *emitter, const Op *op) {
    if (op->code != OP_FLOORDIV) return NULL;
    if (op->results[0]->type.is_constexpr && !is_read_at_run_time(emitter, op->results[0]))
        return NULL;  // tl.cdiv of constexprs is none: no bound of tl.static_range
    const Value *sum = op->operands[0], *y = op->operands[1];
    if (!sum->op || sum->op->code != OP_ADD || !map_has_pointer(&emitter->inlined, sum))
        return NULL;
    const Value *less = sum->op->operands[1];
    int64_t one;
    bool is_less = less->op && less->op->code == OP_SUB && less->op->operands[0] == y &&
                   value_is_int(less->op->operands[1], &one) && one == 1;
    return is_less ? sum->op->operands[0] : NULL;
}

static EmittedText operator_text(Emitter *emitter, const Op *op) {
    const OpRow *row = &op_rows[op->code];
    int precedence = row->precedence;
    if (op->operand_count == 1) {
        const Value *inner = op->operands[0];
        if (op->code == OP_LOGICAL_NOT && inner->op && inner->op->code == OP_IS_NONE)
            return (EmittedText){
                arena_printf(emitter->arena, "%s is not None",
                             emit_operand(emitter, inner->op->operands[0], 4, false)),
                4};
        const char *space = op->code == OP_LOGICAL_NOT ? " " : "";
        return (EmittedText){arena_printf(emitter->arena, "%s%s%s", row->symbol, space,
                                          emit_operand(emitter, inner, precedence, false)),
                             precedence};
    }
    const Value *x = op->operands[0], *y = op->operands[1];
    const Value *numerator = cdiv_numerator(emitter, op);
    if (numerator)
        return atom(arena_printf(emitter->arena, "tl.cdiv(%s, %s)", any(emitter, numerator),
                                 any(emitter, y)));
    double number;
    if (op->code == OP_ADD && value_is_number(y, &number) && number < 0 && number > INT32_MIN &&
        !value_is_number(x, &number)) {
        Constant positive = *y->constant;
        positive.integer = -positive.integer;
        positive.number = -positive.number;
        return (EmittedText){arena_printf(emitter->arena, "%s - %s",
                                          emit_operand(emitter, x, precedence, false),
                                          constant_text(emitter, &positive).text),
                             precedence};
    }
    const char *left = operand_beside(emitter, x, y, precedence, op->code == OP_POW);
    const char *right = operand_beside(emitter, y, x, precedence, op->code != OP_POW);
    return (EmittedText){arena_printf(emitter->arena, "%s %s %s", left, row->symbol, right),
                         precedence};
}

static bool is_default(const Value *value, Str default_text) {
    if (!value->constant) {
        if (value->op && value->op->code == OP_TUPLE && value->op->operand_count == 0)
            return str_is(default_text, "()");
        return false;
    }
    const Constant *constant = value->constant;
    switch (constant->kind) {
    case CONSTANT_NONE: return str_is(default_text, "None");
    case CONSTANT_BOOL: return str_is(default_text, constant->integer ? "True" : "False");
    case CONSTANT_STRING:
        return default_text.size == constant->string.size + 2 &&
               memcmp(default_text.data + 1, constant->string.data, constant->string.size) == 0;
    case CONSTANT_INT: {
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)constant->integer);
        return str_is(default_text, text);
    }
    default: return false;
    }
}

/// A float that Triton makes a float64 of where a function takes it, up to release 3.6: it is no normal float32.
static bool is_float64_constant(const Value *value) {
    const Constant *constant = value->constant;
    if (!constant || constant->kind != CONSTANT_FLOAT) return false;
    double size = fabs(constant->number);
    return isfinite(size) && size != 0 && (size < FLT_MIN || size > FLT_MAX);
}

/// An argument; a compile-time integer where the operation wants a float is made one, as Triton does not.
static const char *argument_text(Emitter *emitter, const Op *op, const Value *value) {
    bool is_tuple =
        value->op && value->op->code == OP_TUPLE && !map_has_pointer(&emitter->texts, value);
    if (is_tuple && value == op->operands[0] && op->region_count) {  // tiles: Triton wants a tuple
        const char *list = tuple_text(emitter, value);
        return arena_printf(emitter->arena, "(%.*s%s)", (int)strlen(list) - 2, list + 1,
                            value->op->operand_count == 1 ? "," : "");
    }
    if (is_tuple) return tuple_text(emitter, value);
    const char *text = any(emitter, value);
    if (op_rows[op->code].element == ELEMENT_PROMOTE && is_float64_constant(value)) {
        DType element = op->results[0]->type.element;
        if (!dtype_is_float(element)) element = dtype_of(DTYPE_FLOAT32);
        return arena_printf(emitter->arena, "tl.full([], %s, %s)", text,
                            dtype_text(emitter, element));
    }
    bool is_integer =
        value->type.is_constexpr && !value->constant && !dtype_is_float(value->type.element);
    bool wants_float = op_rows[op->code].element == ELEMENT_FLOAT && value == op->operands[0];
    return is_integer && wants_float ? arena_printf(emitter->arena, "float(%s)", text) : text;
}

/// Required parameters by position, optional ones by keyword, which an assertion does not take; defaults left out.
static EmittedText call_text(Emitter *emitter, const Op *op) {
    const OpRow *row = &op_rows[op->code];
    int count;
    const OpParameter *parameters = op_parameters(op->code, &count);
    Buffer text = buffer_new(emitter->arena);
    const char *name = row->name ? row->name : row->method;
    bool is_libdevice = name && strncmp(name, "libdevice.", 10) == 0;
    if (is_libdevice) emitter->needs_libdevice = true;
    buffer_printf(&text, "%s%s(", is_libdevice ? "" : "tl.", name ? name : row->id);
    bool first = true, by_keyword = false;
    for (int i = 0; i < count && i < op->operand_count; i++) {
        const Value *value = op->operands[i];
        bool optional = parameters[i].default_text.size > 0 && op->code != OP_STATIC_ASSERT;
        if (!value || (optional && is_default(value, parameters[i].default_text))) {
            by_keyword = true;
            continue;
        }
        if (!first) buffer_puts(&text, ", ");
        first = false;
        if (optional || by_keyword) buffer_printf(&text, "%.*s=", STR_ARGS(parameters[i].name));
        buffer_puts(&text, argument_text(emitter, op, value));
    }
    buffer_putc(&text, ')');
    return atom(buffer_text(&text));
}

/// A call of the author's helper: its arguments in order, behind a `*` by their names.
static EmittedText given_text(Emitter *emitter, const Op *op) {
    const FunctionDefinition *callee = op->operands[0]->constant->function;
    Buffer text = buffer_new(emitter->arena);
    buffer_printf(&text, "%s(", constant_text(emitter, op->operands[0]->constant).text);
    for (int i = GIVEN_ARGUMENTS; i < op->operand_count; i++) {
        const ParameterDefinition *parameter = &callee->parameters[i - GIVEN_ARGUMENTS];
        buffer_puts(&text, i > GIVEN_ARGUMENTS ? ", " : "");
        if (parameter->is_keyword_only) buffer_printf(&text, "%.*s=", STR_ARGS(parameter->name));
        buffer_puts(&text, any(emitter, op->operands[i]));
    }
    buffer_putc(&text, ')');
    return atom(buffer_text(&text));
}

static EmittedText full_text(Emitter *emitter, const Op *op) {
    double number;
    const char *shape = tuple_text(emitter, op->operands[0]),
               *dtype = any(emitter, op->operands[2]);
    if (value_is_number(op->operands[1], &number) && number == 0)
        return atom(arena_printf(emitter->arena, "tl.zeros(%s, dtype=%s)", shape, dtype));
    return atom(arena_printf(emitter->arena, "tl.full(%s, %s, %s)", shape,
                             any(emitter, op->operands[1]), dtype));
}

EmittedText emit_op(Emitter *emitter, const Op *op) {
    Arena *arena = emitter->arena;
    switch (op->code) {
    case OP_CONSTANT: return constant_text(emitter, op->results[0]->constant);
    case OP_GIVEN: return given_text(emitter, op);
    case OP_TUPLE: return atom(tuple_text(emitter, op->results[0]));
    case OP_EXPAND_DIMS: return expand_text(emitter, op);
    case OP_FULL: return full_text(emitter, op);
    case OP_CAST:
    case OP_BITCAST: {
        const char *how = op->code == OP_BITCAST ? ", bitcast=True" : "";
        // A constexpr has no methods, nor has the variable of a loop in Triton's interpreter.
        if (op->operands[0]->type.is_constexpr || op->operands[0]->constant ||
            value_is_loop_variable(op->operands[0]))
            return atom(arena_printf(arena, "tl.cast(%s, %s%s)", any(emitter, op->operands[0]),
                                     any(emitter, op->operands[1]), how));
        return atom(arena_printf(arena, "%s.to(%s%s)",
                                 emit_operand(emitter, op->operands[0], PRECEDENCE_ATOM, false),
                                 any(emitter, op->operands[1]), how));
    }
    case OP_DTYPE_OF:
        return atom(arena_printf(arena, "%s.dtype",
                                 emit_operand(emitter, op->operands[0], PRECEDENCE_ATOM, false)));
    case OP_ELEMENT_TYPE_OF: {
        const Value *inner = op->operands[0];
        bool of_pointer = inner->type.kind == TYPE_POINTER;
        return atom(arena_printf(arena, of_pointer ? "%s.dtype.element_ty" : "%s.element_ty",
                                 emit_operand(emitter, inner, PRECEDENCE_ATOM, false)));
    }
    case OP_DTYPE_QUESTION: {
        Str name = op->operands[1]->constant->string;
        return atom(arena_printf(arena, "%s.%.*s%s",
                                 emit_operand(emitter, op->operands[0], PRECEDENCE_ATOM, false),
                                 STR_ARGS(name), str_starts(name, "is_") ? "()" : ""));
    }
    case OP_GLOBAL:
        return atom(arena_printf(arena, "%.*s", STR_ARGS(op->operands[0]->constant->string)));
    case OP_PYTHON_CALL:
        return atom(arena_printf(arena, "%.*s(%s)", STR_ARGS(op->operands[0]->constant->string),
                                 any(emitter, op->operands[1])));
    case OP_IS_NONE:
        return (EmittedText){
            arena_printf(arena, "%s is None", emit_operand(emitter, op->operands[0], 4, false)), 4};
    case OP_ITEM:
        return atom(arena_printf(arena, "%s[%s]",
                                 emit_operand(emitter, op->operands[0], PRECEDENCE_ATOM, false),
                                 any(emitter, op->operands[1])));
    case OP_UNDEFINED: return atom("0.0");
    case OP_POW:
        return op->operands[0]->type.is_constexpr ? operator_text(emitter, op)
                                                  : call_text(emitter, op);
    case OP_ADVANCE: break;
    default: break;
    }
    const OpRow *row = &op_rows[op->code];
    if (row->symbol) return operator_text(emitter, op);
    return call_text(emitter, op);
}
