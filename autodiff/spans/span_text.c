// A number of a program, made of ids, of the launch's arguments and of what it reads, as Python over tensors of program numbers.
#include "autodiff/spans/span_text.h"

#include "analysis/addresses/affine.h"
#include "analysis/addresses/axis.h"
#include "analysis/build/infer.h"
#include "analysis/build/value_poly.h"
#include "autodiff/addresses/place.h"
#include "autodiff/rewrite/rewrite.h"

/// Parts of numbers that a person would read in a check. Beyond: nobody says it.
enum { MOST_PARTS = 64, MOST_DEPTH = 12 };

/* ---- what numbers are made of ---- */

/// The axis of the grid where a value is an id, or -1.
static int axis_of_id(const Value *value) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (value_is_program_id(value, axis)) return axis;
    return -1;
}

/// The axis where a value is a quotient or a remainder of an id, or -1.
static int axis_of_digit(Value *value) {
    const Op *op = value->op;
    if (!op || (op->code != OP_FLOORDIV && op->code != OP_MOD)) return -1;
    const Value *id = op->operands[0];
    while (id && id->op && op_keeps_numbers(id->op)) id = id->op->operands[0];
    return id ? axis_of_id(id) : -1;
}

static bool are_same(const SpanText *text, Value *a, Value *b) {
    return a == b || poly_equal(value_poly(text->arena, a), value_poly(text->arena, b));
}

static void note_digit(const SpanText *text, AxisUse *use, const Op *op) {
    Value **by = op->code == OP_MOD ? &use->rest : &use->quotient;
    if (*by && !are_same(text, *by, op->operands[1])) use->is_whole = true;
    *by = op->operands[1];
}

static void note_value(const SpanText *text, SpanUses *uses, Value *value, Map *seen);

static void note_loop(const SpanText *text, SpanUses *uses, const Value *variable, Map *seen) {
    const Op *loop = variable->region->parent;
    for (int i = 0; i < 3; i++) note_value(text, uses, loop->operands[i], seen);
}

static void note_value(const SpanText *text, SpanUses *uses, Value *value, Map *seen) {
    if (!value || value->constant || map_has_pointer(seen, value)) return;
    map_set_pointer(seen, value, seen);
    const Op *op = value->op;
    int axis = axis_of_id(value), digit = axis_of_digit(value);
    if (!op) {
        if (value_is_loop_variable(value))
            note_loop(text, uses, value, seen);
        else if (!value->region || value->region->parent)
            uses->is_open = true;
        return;
    }
    if (axis >= 0) uses->axes[axis].is_whole = true;
    if (digit >= 0) note_digit(text, &uses->axes[digit], op);
    if (op->code == OP_LOAD) uses->loads = true;
    bool is_known = op->code == OP_LOAD || op->code == OP_PROGRAM_ID || op->code == OP_IF ||
                    !op_rows[op->code].effects;
    uses->is_open = uses->is_open || !is_known || (op->region_count && op->code != OP_IF);
    if (axis >= 0) return;
    for (int i = digit >= 0; i < op->operand_count; i++)
        note_value(text, uses, op->operands[i], seen);
    for (int r = 0; op->code == OP_IF && r < op->region_count; r++)
        note_value(text, uses, region_terminator(op->regions[r])->operands[value->index], seen);
}

void span_note(const SpanText *text, SpanUses *uses, Value *value) {
    Map seen = map_new(text->arena);
    note_value(text, uses, value, &seen);
}

void span_note_poly(const SpanText *text, SpanUses *uses, const Poly *poly) {
    for (int t = 0; t < poly->count; t++)
        for (int i = 0; i < poly->terms[t].atom_count; i++)
            span_note(text, uses, poly->terms[t].atoms[i]);
}

static bool is_used(const AxisUse *use) { return use->is_whole || use->quotient || use->rest; }

bool span_uses_meet(const SpanUses *a, const SpanUses *b) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++)
        if (is_used(&a->axes[axis]) && is_used(&b->axes[axis])) return true;
    return false;
}

bool span_uses_are_apart(const SpanText *text, const SpanUses *other) {
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        const AxisUse *a = &text->uses.axes[axis], *b = &other->axes[axis];
        if (!is_used(a) || !is_used(b)) continue;
        if (a->is_whole || b->is_whole) return false;
        bool is_apart = (a->quotient && b->rest && !a->rest && !b->quotient &&
                         are_same(text, a->quotient, b->rest)) ||
                        (a->rest && b->quotient && !a->quotient && !b->rest &&
                         are_same(text, a->rest, b->quotient));
        if (!is_apart) return false;
    }
    return true;
}

bool span_settle(SpanText *text) {
    if (text->uses.is_open) return false;
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        const AxisUse *use = &text->uses.axes[axis];
        if (!is_used(use)) continue;
        bool is_digit = !use->is_whole && !(use->quotient && use->rest);
        text->drivers[axis] = !is_digit ? DRIVER_ID : use->quotient ? DRIVER_QUOTIENT : DRIVER_REST;
        text->driver_count++;
    }
    return text->driver_count > 0;
}

/* ---- as Python ---- */

static const char *number_text(SpanText *text, Value *value, int depth);

static int driver_number(const SpanText *text, int axis) {
    int number = 0;
    for (int i = 0; i < axis; i++) number += text->drivers[i] != DRIVER_NONE;
    return number;
}

static const char *binary_text(SpanText *text, const Op *op, const char *format, int depth) {
    const char *a = number_text(text, op->operands[0], depth + 1);
    const char *b = a ? number_text(text, op->operands[1], depth + 1) : NULL;
    if (!b) return NULL;
    Buffer out = buffer_new(text->arena);
    for (const char *at = format; *at; at++) {
        if (*at == 'a' || *at == 'b')
            buffer_puts(&out, *at == 'a' ? a : b);
        else if (*at == '<' && at[1] == '?')
            buffer_puts(&out, "_smaller"), at++;
        else if (*at == '>' && at[1] == '?')
            buffer_puts(&out, "_larger"), at++;
        else
            buffer_add(&out, at, 1);
    }
    return buffer_text(&out);
}

static const char *poly_text_at(SpanText *text, const Poly *poly, int depth) {
    Buffer out = buffer_new(text->arena);
    for (int t = 0; t < poly->count; t++) {
        const Monomial *term = &poly->terms[t];
        int64_t coefficient = term->coefficient < 0 ? -term->coefficient : term->coefficient;
        if (t || term->coefficient < 0)
            buffer_puts(&out, term->coefficient < 0 ? (t ? " - " : "-") : " + ");
        bool is_one = coefficient == 1 && term->atom_count;
        if (!is_one) buffer_printf(&out, "%lld", (long long)coefficient);
        for (int i = 0; i < term->atom_count; i++) {
            const char *atom = number_text(text, term->atoms[i], depth + 1);
            if (!atom) return NULL;
            buffer_printf(&out, "%s%s", i || !is_one ? " * " : "", atom);
        }
    }
    return poly->count ? buffer_text(&out) : "0";
}

/// What a program reads, without a mask, of memory that nobody writes to.
static const char *load_text(SpanText *text, Op *op, int depth) {
    Access access = access_of(text->arena, op);
    bool is_plain = !access_mask(op) && access.parameter && access.offset.known &&
                    !access.offset.rank && op_is_stable_load(text->state->primal, op) &&
                    dtype_is_integer(op->results[0]->type.element);
    const char *place = is_plain ? poly_text_at(text, access.offset.base, depth + 1) : NULL;
    if (!place) return NULL;
    const char *name = parameter_of_root(text->state, access.parameter)->name;
    if (!text->reads) text->reads = name;
    return arena_printf(text->arena, "_element(%s, %s)", name, place);
}

static const char *parameter_text(const SpanText *text, const Value *value) {
    bool is_number = value->region == text->state->primal->body && value->type.kind == TYPE_NUMBER;
    return is_number ? text->state->primal->parameters[value->index].name : NULL;
}

static const char *flag_text(SpanText *text, Value *value, int depth);

/// One of two numbers, by a flag of the launch.
static const char *branch_text(SpanText *text, const Value *value, int depth) {
    const Op *op = value->op;
    if (!op->operands[0]->type.is_constexpr || op->region_count != 2) return NULL;
    const char *flag = flag_text(text, op->operands[0], depth + 1), *sides[2];
    for (int r = 0; r < 2; r++)
        sides[r] =
            number_text(text, region_terminator(op->regions[r])->operands[value->index], depth + 1);
    if (!flag || !sides[0] || !sides[1]) return NULL;
    return arena_printf(text->arena, "(%s if %s else %s)", sides[0], flag, sides[1]);
}

static const char *digit_text(SpanText *text, const Value *value, int axis, int depth) {
    const Op *op = value->op;
    bool is_driver = text->drivers[axis] == (op->code == OP_MOD ? DRIVER_REST : DRIVER_QUOTIENT);
    const char *driver = arena_printf(text->arena, "@%d", driver_number(text, axis));
    if (is_driver) return driver;
    const char *by = number_text(text, op->operands[1], depth + 1);
    return by ? arena_printf(text->arena, "(%s %s %s)", driver, op->code == OP_MOD ? "%" : "//", by)
              : NULL;
}

static const char *number_text(SpanText *text, Value *value, int depth) {
    int64_t number;
    if (value_is_int(value, &number))
        return arena_printf(text->arena, number < 0 ? "(%lld)" : "%lld", (long long)number);
    if (value->constant || depth > MOST_DEPTH || ++text->parts > MOST_PARTS) return NULL;
    Op *op = value->op;
    if (!op) return parameter_text(text, value);
    int axis = axis_of_id(value), digit = axis_of_digit(value);
    if (axis >= 0) return arena_printf(text->arena, "@%d", driver_number(text, axis));
    if (digit >= 0) return digit_text(text, value, digit, depth);
    switch (op->code) {
    case OP_ADD: return binary_text(text, op, "(a + b)", depth);
    case OP_SUB: return binary_text(text, op, "(a - b)", depth);
    case OP_MUL: return binary_text(text, op, "(a * b)", depth);
    case OP_FLOORDIV: return binary_text(text, op, "(a // b)", depth);
    case OP_MOD: return binary_text(text, op, "(a % b)", depth);
    case OP_MINIMUM: return binary_text(text, op, "<?(a, b)", depth);
    case OP_MAXIMUM: return binary_text(text, op, ">?(a, b)", depth);
    case OP_CAST:
        return op_keeps_numbers(op) ? number_text(text, op->operands[0], depth + 1) : NULL;
    case OP_LOAD: return load_text(text, op, depth);
    case OP_IF: return branch_text(text, value, depth);
    default: return NULL;
    }
}

const char *span_number_text(SpanText *text, Value *value) { return number_text(text, value, 0); }

const char *span_poly_text(SpanText *text, const Poly *poly) { return poly_text_at(text, poly, 0); }

/// A condition: comparisons and what joins them.
static const char *flag_text(SpanText *text, Value *value, int depth) {
    bool is_true;
    if (value_is_bool(value, &is_true)) return is_true ? "True" : "False";
    if (depth > MOST_DEPTH || value->constant) return NULL;
    const Op *op = value->op;
    if (!op) return parameter_text(text, value);
    switch (op->code) {
    case OP_LT: return binary_text(text, op, "(a < b)", depth);
    case OP_LE: return binary_text(text, op, "(a <= b)", depth);
    case OP_GT: return binary_text(text, op, "(a > b)", depth);
    case OP_GE: return binary_text(text, op, "(a >= b)", depth);
    case OP_EQ: return binary_text(text, op, "(a == b)", depth);
    case OP_NE: return binary_text(text, op, "(a != b)", depth);
    case OP_AND:
    case OP_OR: {
        const char *a = flag_text(text, op->operands[0], depth + 1);
        const char *b = flag_text(text, op->operands[1], depth + 1);
        return a && b
                   ? arena_printf(text->arena, "(%s %s %s)", a, op->code == OP_AND ? "&" : "|", b)
                   : NULL;
    }
    default: return NULL;
    }
}

const char *span_condition_text(SpanText *text, const StoreCondition *condition) {
    if (condition->positive) {
        const char *number = poly_text_at(text, condition->positive, 0);
        return number ? arena_printf(text->arena, "(%s >= 1)", number) : NULL;
    }
    const char *said = flag_text(text, condition->value, 0);
    if (!said || condition->is_first) return said;
    return arena_printf(text->arena, condition->is_flag ? "not %s" : "(%s == 0)", said);
}

const char *span_counts_text(SpanText *text) {
    Buffer out = buffer_new(text->arena);
    for (int axis = 0; axis < PROGRAM_AXES; axis++) {
        const AxisUse *use = &text->uses.axes[axis];
        Driver driver = text->drivers[axis];
        if (driver == DRIVER_NONE) continue;
        Value *by = driver == DRIVER_QUOTIENT ? use->quotient : use->rest;
        const char *digit = driver == DRIVER_ID ? "" : number_text(text, by, 0);
        if (!digit) return NULL;
        buffer_puts(&out, out.size ? ", " : "[");
        if (driver == DRIVER_ID) buffer_printf(&out, "grid.%d", axis);
        if (driver == DRIVER_QUOTIENT) buffer_printf(&out, "-(-grid.%d // %s)", axis, digit);
        if (driver == DRIVER_REST) buffer_printf(&out, "min(grid.%d, %s)", axis, digit);
    }
    buffer_puts(&out, "]");
    return buffer_text(&out);
}
