// Type errors that the types of operands show after inference: only what Triton's compiler certainly refuses.
#include "analysis/build/value_poly.h"
#include "analysis/checks/check_certainty.h"

#include <string.h>

enum { MAX_TILE_ELEMENTS = 1048576, DOT_BITS = 256, BITS_PER_BYTE = 8 };

/* ---- what is certain ---- */

/// A value of the running program (no constexpr) whose element type is certain.
static bool is_runtime_number(const Value *value) {
    return value && value->type.kind == TYPE_NUMBER && !value->type.is_constexpr &&
           !value->constant && check_is_concrete(value->type.element) && check_is_certain(value);
}

static bool is_float_number(const Value *value) {
    return value && value->type.kind == TYPE_NUMBER && dtype_is_float(value->type.element) &&
           check_is_certain(value);
}

static const char *type_text(Check *check, const Value *value) {
    return type_told(check->arena, value->type);
}

static bool text_has(const Op *op, const char *word) {
    return op->range.source && str_contains(source_slice(op->range), str_from(word));
}

/* ---- operands ---- */

static void check_bitwise(Check *check, Op *op) {
    if (op->results[0]->type.is_constexpr) return;
    for (int i = 0; i < op->operand_count; i++) {
        Value *operand = op->operands[i];
        if (!is_float_number(operand)) continue;
        check_report(check, DIAGNOSTIC_BITWISE_FLOAT, op,
                     "`%s` works on integers and masks, and %s is %s", op_rows[op->code].symbol,
                     check_name(check, operand), type_text(check, operand));
        return;
    }
}

static void check_logical(Check *check, Op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (!op->operands[i] || op->operands[i]->type.is_constexpr || op->operands[i]->constant)
            return;
    for (int i = 0; i < op->operand_count; i++) {
        Value *operand = op->operands[i];
        if (!is_runtime_number(operand) || operand->type.element.code == DTYPE_INT1) continue;
        check_report(check, DIAGNOSTIC_LOGICAL_OPERAND, op,
                     "`%s` takes masks, and %s is %s: compare it with 0", op_rows[op->code].symbol,
                     check_name(check, operand), type_text(check, operand));
        return;
    }
}

static void check_math(Check *check, Op *op) {
    Value *operand = op->operands[0];
    if (!is_runtime_number(operand)) return;
    DTypeCode code = operand->type.element.code;
    if (code == DTYPE_FLOAT32 || code == DTYPE_FLOAT64) return;
    check_report(check, DIAGNOSTIC_MATH_TYPE, op,
                 "`tl.%s` takes float32 or float64, and %s is %s: add `.to(tl.float32)`",
                 op_rows[op->code].name, check_name(check, operand), type_text(check, operand));
}

/// Places and bins are whole numbers.
static void check_whole(Check *check, Op *op, const char *parameter) {
    Value *operand = op->operands[op_parameter_index(op->code, str_from(parameter))];
    if (is_runtime_number(operand) && is_float_number(operand))
        check_report(check, DIAGNOSTIC_WRONG_ARGUMENT, op,
                     "`%s` of `tl.%s` takes whole numbers, and %s is %s", parameter,
                     op_rows[op->code].name, check_name(check, operand), type_text(check, operand));
}

static void check_power(Check *check, Op *op) {
    if (!text_has(op, "**") || text_has(op, "pow(")) return;
    for (int i = 0; i < 2; i++) {
        Value *operand = op->operands[i];
        if (!is_runtime_number(operand)) continue;
        check_report(
            check, DIAGNOSTIC_TILE_POWER, op,
            "`**` works on constexprs only, and %s is %s: multiply, or use `libdevice.pow`",
            check_name(check, operand), type_text(check, operand));
        return;
    }
}

static void check_floor_division(Check *check, Op *op) {
    if (op->operands[0]->type.is_constexpr && op->operands[1]->type.is_constexpr) return;
    for (int i = 0; i < 2; i++) {
        Value *operand = op->operands[i];
        if (!is_float_number(operand) || !(is_runtime_number(operand) || operand->constant))
            continue;
        check_report(check, DIAGNOSTIC_FLOAT_FLOOR_DIVISION, op,
                     "`//` divides integers, and %s is %s: use `tl.floor(a / b)`",
                     check_name(check, operand), type_text(check, operand));
        return;
    }
}

static void check_pointer_operator(Check *check, Op *op) {
    if (check_is_optional(op))
        return;  // a parameter may be a number in the instances that have this branch
    for (int i = 0; i < op->operand_count; i++) {
        Value *operand = op->operands[i];
        if (!operand || operand->type.kind != TYPE_POINTER) continue;
        check_report(check, DIAGNOSTIC_POINTER_ARITHMETIC, op,
                     "`%s` is not defined on pointers (%s is %s)", op_rows[op->code].symbol,
                     check_name(check, operand), type_text(check, operand));
        return;
    }
}

/// `x.to(out_ptr.dtype)`: the type of the pointer, not of what it points to.
static void check_cast(Check *check, Op *op) {
    if (op->results[0]->type.kind != TYPE_POINTER || !is_float_number(op->operands[0]) ||
        check_is_optional(op))
        return;
    check_report(check, DIAGNOSTIC_WRONG_ARGUMENT, op,
                 "a float is cast to a pointer: the type of what a pointer points to is "
                 "`.dtype.element_ty`");
}

void check_operand_types(Check *check, Op *op) {
    if (op->operand_count && !op->operands[0]) return;
    switch (op->code) {
    case OP_GATHER: check_whole(check, op, "index"); break;
    case OP_HISTOGRAM: check_whole(check, op, "input"); break;
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_SHL:
    case OP_SHR:
    case OP_INVERT: check_bitwise(check, op); break;
    case OP_LOGICAL_AND:
    case OP_LOGICAL_OR:
    case OP_LOGICAL_NOT: check_logical(check, op); break;
    case OP_POW: check_power(check, op); break;
    case OP_CAST: check_cast(check, op); break;
    case OP_FLOORDIV:
        check_pointer_operator(check, op);
        check_floor_division(check, op);
        break;
    case OP_MUL:
    case OP_DIV:
    case OP_MOD:
    case OP_NEG: check_pointer_operator(check, op); break;
    default:
        if (op_has(op->code, TRAIT_WIDE) && !text_has(op, "libdevice")) check_math(check, op);
    }
}

/* ---- matrix products ---- */

void check_matrix_products(Check *check, Op *op) {
    if (op->code != OP_DOT || !op->operands[0] || !op->operands[1]) return;
    Type a = op->operands[0]->type;
    Type b = op->operands[1]->type;
    if (a.kind != TYPE_NUMBER || b.kind != TYPE_NUMBER) return;
    if (text_has(op, "@") && !text_has(op, "dot("))
        check_report(check, DIAGNOSTIC_MATMUL_OPERATOR, op,
                     "Triton has no `@` between tiles: use `tl.dot(a, b)`");
    if (!check_is_concrete(a.element) || !check_is_concrete(b.element)) return;
    bool small_floats =
        dtype_bits(a.element.code) == BITS_PER_BYTE && dtype_bits(b.element.code) == BITS_PER_BYTE;
    if (a.element.code != b.element.code && !small_floats) {
        check_report(check, DIAGNOSTIC_DOT_TYPES, op,
                     "the operands are %s and %s: cast one of them", dtype_name(a.element.code),
                     dtype_name(b.element.code));
        return;
    }
    int64_t inner;
    int bits = dtype_bits(a.element.code);
    if (a.rank < 2 || !a.dims[a.rank - 1] || !poly_is_constant(a.dims[a.rank - 1], &inner)) return;
    if (bits < BITS_PER_BYTE || bits > 32 || inner * bits >= DOT_BITS) return;
    check_report(check, DIAGNOSTIC_DOT_TOO_SMALL, op,
                 "the inner dimension is %lld; NVIDIA GPUs take at least %d elements of %s",
                 (long long)inner, DOT_BITS / bits, dtype_name(a.element.code));
}

/* ---- shapes ---- */

static void check_bounds_are_constexpr(Check *check, Op *op, DiagnosticId id, Value *bound,
                                       const char *what) {
    bool is_quotient = bound && bound->op && bound->op->code == OP_DIV && !bound->constant &&
                       bound->type.is_constexpr && dtype_is_float(bound->type.element);
    if (is_quotient)
        check_report(check, id, op, "%s is a float, and %s is a whole number: divide with `//`",
                     check_name(check, bound), what);
    if (!check_is_runtime(check, bound)) return;
    check_report(check, id, op,
                 "%s is known only at run time, and %s is part of a type: make it a `tl.constexpr`",
                 check_name(check, bound), what);
}

static void check_shape_tuple(Check *check, Op *op) {
    Value *shape = check_operand(op, "shape");
    if (!shape || !shape->op || shape->op->code != OP_TUPLE) return;
    for (int i = 0; i < shape->op->operand_count; i++) {
        Value *dim = shape->op->operands[i];
        int64_t size;
        check_bounds_are_constexpr(check, op, DIAGNOSTIC_SHAPE_NOT_CONSTEXPR, dim, "a shape");
        if (!value_is_int(dim, &size) || (size > 0 && (size & (size - 1)) == 0)) continue;
        check_report(check, DIAGNOSTIC_SHAPE_NOT_POWER_OF_TWO, op,
                     "dim %d is %lld, which is no power of two", i, (long long)size);
    }
}

/// Whether the kernel computes with a constexpr parameter as only numbers can: another may be a whole shape.
static bool is_constexpr_number(const Check *check, const Value *value) {
    int64_t number;
    if (!value || value->type.kind != TYPE_NUMBER) return false;
    if (value_is_int(value, &number)) return true;
    if (!check_is_parameter(value)) return value->op && value->op->code == OP_FLOORDIV;
    const Uses *uses = check_uses(check, value);
    for (LIST_EACH(int, i, uses->list)) {
        OpCode code = uses->list.items[i]->code;
        if (code == OP_ARANGE || code == OP_FLOORDIV || code == OP_MOD) return true;
    }
    return false;
}

static void check_shape_is_list(Check *check, Op *op) {
    const Value *shape = check_operand(op, "shape");
    if (!check->is_entry || !is_constexpr_number(check, shape)) return;
    check_report(check, DIAGNOSTIC_WRONG_ARGUMENT, op,
                 "a shape is a list of lengths, and %s is one number: write `[%s]`",
                 check_name(check, shape), check_name(check, shape));
}

static void check_reduced_axis(Check *check, Op *op) {
    const Value *axis = check_operand(op, "axis");
    bool is_tile = axis && type_is_tile(axis->type);
    bool is_real = axis && axis->constant && axis->constant->kind == CONSTANT_FLOAT;
    if (!axis || (!is_tile && !is_real && !check_is_runtime(check, axis))) return;
    bool is_extreme = op->code == OP_MAX || op->code == OP_MIN;
    const char *name = check_name(check, axis), *what = is_real ? "whole number" : "constexpr";
    if (is_extreme)
        check_report(check, DIAGNOSTIC_WRONG_ARGUMENT, op,
                     "`tl.%s` reduces along an axis, and %s is no %s: for the %s of two "
                     "values there is `tl.%simum`",
                     op_rows[op->code].name, name, what, op->code == OP_MAX ? "larger" : "smaller",
                     op_rows[op->code].name);
    else
        check_report(check, DIAGNOSTIC_WRONG_ARGUMENT, op,
                     "`tl.%s` reduces along an axis, and %s is no %s", op_rows[op->code].name, name,
                     what);
}

static void check_program_axis(Check *check, Op *op) {
    int64_t axis;
    if (!op->operands[0] || !value_is_int(op->operands[0], &axis) || (axis >= 0 && axis < 3))
        return;
    check_report(check, DIAGNOSTIC_PROGRAM_AXIS, op, "a grid has the axes 0, 1 and 2, not %lld",
                 (long long)axis);
}

void check_shapes_of_op(Check *check, Op *op) {
    bool condition;
    switch (op->code) {
    case OP_ARANGE:
        for (int i = 0; i < 2; i++)
            check_bounds_are_constexpr(check, op, DIAGNOSTIC_ARANGE_NOT_CONSTEXPR, op->operands[i],
                                       "the length of a range");
        break;
    case OP_FULL:
        check_shape_tuple(check, op);
        check_shape_is_list(check, op);
        break;
    case OP_SUM:
    case OP_MAX:
    case OP_MIN:
    case OP_ARGMAX:
    case OP_ARGMIN: check_reduced_axis(check, op); break;
    case OP_PROGRAM_ID:
    case OP_NUM_PROGRAMS: check_program_axis(check, op); break;
    case OP_STATIC_ASSERT:
        // What a parameter points to is up to the caller.
        if (op->operands[0] && value_is_bool(op->operands[0], &condition) && !condition &&
            !check_is_optional(op) && !op->call && check->is_entry && !text_has(op, "dtype") &&
            !text_has(op, ".type") && !text_has(op, ".is_"))
            check_report(check, DIAGNOSTIC_STATIC_ASSERT_FAILS, op,
                         "this assertion is false for every use of the kernel");
        break;
    default: break;
    }
    for (int i = 0; i < op->result_count; i++) {
        Type type = op->results[i]->type;
        int64_t count = check_element_count(type);
        if (!type_is_tile(type) || count <= MAX_TILE_ELEMENTS) continue;
        check_report(check, DIAGNOSTIC_TILE_TOO_LARGE, op,
                     "%s has %lld elements; a tile has at most %d", type_told(check->arena, type),
                     (long long)count, MAX_TILE_ELEMENTS);
    }
}

/* ---- addresses ---- */

/// Whether `other` certainly does not fit into the pointers' shape: a store does not widen its pointers.
static bool widens(Type pointer, Type other) {
    if (other.rank > pointer.rank) return true;
    for (int i = 1; i <= other.rank; i++) {
        int64_t wide, own;
        const Poly *mine = pointer.dims[pointer.rank - i];
        const Poly *its = other.dims[other.rank - i];
        if (mine && its && poly_is_constant(mine, &own) && poly_is_constant(its, &wide) &&
            own == 1 && wide > 1)
            return true;
    }
    return false;
}

static void check_mask(Check *check, Op *op, Value *mask) {
    bool is_plain_number = mask->constant && mask->constant->kind == CONSTANT_INT;
    if (!is_plain_number && !is_runtime_number(mask)) return;
    if (!is_plain_number && mask->type.element.code == DTYPE_INT1) return;
    check_report(check, DIAGNOSTIC_MASK_TYPE, op,
                 "the mask %s is %s, no mask: compare it with something", check_name(check, mask),
                 is_plain_number ? "a number" : type_text(check, mask));
}

static void check_widening(Check *check, Op *op, Value *other, DiagnosticId id, const char *what) {
    Type pointer = op->operands[0]->type;
    if (!other || other->type.kind != TYPE_NUMBER || pointer.rank == 0 ||
        !widens(pointer, other->type))
        return;
    check_report(check, id, op,
                 "the %s is %s and the pointers are %s: a store does not widen its pointers", what,
                 type_text(check, other), type_told(check->arena, pointer));
}

static bool is_unsupported_atomic(OpCode code, DTypeCode type) {
    bool sixteen = type == DTYPE_FLOAT16 || type == DTYPE_BFLOAT16;
    bool small_integer =
        type == DTYPE_INT8 || type == DTYPE_INT16 || type == DTYPE_UINT8 || type == DTYPE_UINT16;
    switch (code) {
    case OP_ATOMIC_ADD: return small_integer;
    case OP_ATOMIC_MAX:
    case OP_ATOMIC_MIN:
    case OP_ATOMIC_XCHG: return sixteen || small_integer;
    default: return false;
    }
}

/// Of a sum, and of expressions one in the other. Beyond: nothing is said.
enum { MOST_TERMS = 16, MOST_DEPTH = 8 };

/// The parameter that a sum begins with, and what is added to it, the last first; NULL where it begins with none.
static const Value *parameter_of_sum(const Value *sum, const Value **terms, int *count) {
    *count = 0;
    while (sum && sum->op && sum->op->code == OP_ADD && *count < MOST_TERMS) {
        terms[(*count)++] = sum->op->operands[1];
        sum = check_strip(sum->op->operands[0]);
    }
    return sum && *count && check_is_parameter(sum) && !sum->type.is_constexpr ? sum : NULL;
}

static bool is_same_term(const Value *a, const Value *b, int depth) {
    bool is_known = false;
    if (a == b) return true;
    if (a && b && a->constant && b->constant)
        return constant_equal(a->constant, b->constant, &is_known) && is_known;
    if (!a || !b || !a->op || !b->op || depth > MOST_DEPTH || a->op->code != b->op->code ||
        a->op->operand_count != b->op->operand_count || op_is_access(a->op) || a->op->region_count)
        return false;
    for (int i = 0; i < a->op->operand_count; i++)
        if (!is_same_term(a->op->operands[i], b->op->operands[i], depth + 1)) return false;
    return true;
}

/// Whether `value` is computed from a load at the same places, whatever tensor they are in.
static bool is_loaded_at(const Value *value, const Value *const *terms, int count, int depth) {
    const Op *op = value ? value->op : NULL;
    if (!op || depth > MOST_DEPTH || op->region_count) return false;
    if (op->code == OP_LOAD) {
        const Value *own[MOST_TERMS];
        int own_count;
        bool is_same = parameter_of_sum(check_strip(op->operands[0]), own, &own_count) != NULL &&
                       own_count == count;
        for (int i = 0; i < count && is_same; i++) is_same = is_same_term(own[i], terms[i], 0);
        return is_same;
    }
    for (int i = 0; i < op->operand_count; i++)
        if (is_loaded_at(op->operands[i], terms, count, depth + 1)) return true;
    return false;
}

/// `tl.store(x, y_ptr + i)` of what was loaded at `x_ptr + i`: of the second parameter, which nothing else uses, nobody knows more than that.
static void check_exchanged(Check *check, Op *op) {
    const Value *terms[MOST_TERMS];
    int count;
    Value *value = check_operand(op, "value");
    const Value *parameter = value ? parameter_of_sum(check_strip(value), terms, &count) : NULL;
    if (!parameter || check_uses(check, parameter)->list.count != 1 ||
        !is_loaded_at(op->operands[0], terms, count, 0))
        return;
    check_report(check, DIAGNOSTIC_STORE_EXCHANGED, op,
                 "%s was loaded, and %s is where: are the address and the value exchanged?",
                 check_name(check, op->operands[0]), check_name(check, value));
}

void check_addresses(Check *check, Op *op) {
    if (op->code == OP_STORE && op->operands[0] && op->operands[0]->type.kind != TYPE_POINTER)
        check_exchanged(check, op);
    if (!op_is_access(op) || op->operands[0]->type.kind != TYPE_POINTER) return;
    Value *mask = check_operand(op, "mask");
    if (mask) check_mask(check, op, mask);
    if (op->code == OP_LOAD) {
        if (!mask && check_operand(op, "other") && op->operands[1] == NULL)
            check_report(check, DIAGNOSTIC_OTHER_WITHOUT_MASK, op,
                         "`other` says what masked lanes read, and there is no mask");
        return;
    }
    check_widening(check, op, mask, DIAGNOSTIC_MASK_SHAPE, "mask");
    check_widening(check, op, check_operand(op, op->code == OP_STORE ? "value" : "val"),
                   DIAGNOSTIC_STORE_SHAPE, "value");
    DTypeCode element = op->operands[0]->type.element.code;
    if (is_unsupported_atomic(op->code, element))
        check_report(check, DIAGNOSTIC_ATOMIC_TYPE, op, "`tl.%s` does not work on %s",
                     op_rows[op->code].name, dtype_name(element));
}

/* ---- control flow ---- */

static void check_loop_bounds(Check *check, Op *op) {
    for (int i = 0; i < 3; i++) {
        Value *bound = op->operands[i];
        if (!bound || bound->type.kind != TYPE_NUMBER) continue;
        if (bound->type.rank > 0)
            check_report(check, DIAGNOSTIC_LOOP_BOUND, op, "the bound %s is a tile (%s)",
                         check_name(check, bound), type_text(check, bound));
        else if (op->code == OP_STATIC_FOR) {
            if (check_is_runtime(check, bound))
                check_report(
                    check, DIAGNOSTIC_STATIC_RANGE_NOT_CONSTEXPR, op,
                    "%s is known only at run time, and `tl.static_range` is unrolled at compile time: use `range`",
                    check_name(check, bound));
        } else if (is_runtime_number(bound) && dtype_is_float(bound->type.element))
            check_report(check, DIAGNOSTIC_LOOP_BOUND, op, "the bound %s is %s, no integer",
                         check_name(check, bound), type_text(check, bound));
    }
}

/// Whether a branch around is only taken where the tile has one element: `if x.numel == 1:`.
static bool is_of_one_lane(const Check *check, const Op *op, const Value *tile) {
    const Poly *count = poly_constant(check->arena, 1);
    for (int i = 0; i < tile->type.rank; i++) {
        if (!tile->type.dims[i]) return false;
        count = poly_multiply(check->arena, count, tile->type.dims[i]);
    }
    for (const Region *region = op->parent; region && region->parent;
         region = region->parent->parent) {
        const Op *outer = region->parent;
        const Op *asked = outer->code == OP_IF ? outer->operands[0]->op : NULL;
        int64_t one;
        if (asked && asked->code == OP_EQ && region == outer->regions[0] &&
            value_is_int(asked->operands[1], &one) && one == 1 &&
            poly_equal(value_poly(check->arena, asked->operands[0]), count))
            return true;
    }
    return false;
}

void check_conditions(Check *check, Op *op) {
    if (op->code == OP_FOR || op->code == OP_STATIC_FOR) check_loop_bounds(check, op);
    if (op->code != OP_IF && op->code != OP_CONDITION) return;
    Value *condition = op->operands[0];
    if (!condition || condition->type.kind != TYPE_NUMBER || !check_is_tile(condition)) return;
    if (is_of_one_lane(check, op, condition)) return;
    const Op *place = op->code == OP_CONDITION ? op->parent->parent : op;
    const Range whole = place->range, made = condition->range;
    const Source *own = check->kernel->definition->module->source;
    const bool is_here = made.source && made.source == whole.source && made.start >= whole.start &&
                         made.end <= whole.end;
    if (is_here && made.source == own) {
        check_report_at(
            check, DIAGNOSTIC_CONDITION_NOT_SCALAR, made,
            "this condition is a tile (%s): choose lane by lane with `tl.where`, or reduce it",
            type_text(check, condition));
        return;
    }
    Diagnostic *said = check_report(
        check, DIAGNOSTIC_CONDITION_NOT_SCALAR, place,
        "the condition %s is a tile (%s): choose lane by lane with `tl.where`, or reduce it",
        check_name(check, condition), type_text(check, condition));
    if (made.source == own && said && said->range.source == own)
        diagnostic_relate(check->diagnostics, said, made, "made here");
}
