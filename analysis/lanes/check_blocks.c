// Block pointers: how they are made, axes that a block does not have, and what plain pointers and these do not share.
#include "analysis/checks/check.h"
#include "analysis/ir/limits.h"

static int block_rank(const Value *pointer) {
    return pointer && pointer->type.kind == TYPE_BLOCK_POINTER ? pointer->type.rank : 0;
}

static void check_advance(Check *check, const Op *op, int rank) {
    const Value *offsets = check_operand(op, "offsets");
    int count;
    if (!offsets || !value_is_tuple(offsets, &count) || count == rank) return;
    Diagnostic *said = check_report(check, DIAGNOSTIC_WRONG_ARGUMENT, op,
                                    "the block has %d ax%s, and `offsets` has %d number%s", rank,
                                    rank == 1 ? "is" : "es", count, count == 1 ? "" : "s");
    // not each release looks at the number
    if (said) said->severity = SEVERITY_WARNING;
}

static void check_axis(Check *check, const Op *op, const Value *axis, int rank) {
    int64_t number;
    if (!axis || !value_is_int(axis, &number) || (number >= 0 && number < rank)) return;
    check_report(check, DIAGNOSTIC_AXIS_OUT_OF_RANGE, op,
                 "`boundary_check` names axis %lld, and the block has %d ax%s", (long long)number,
                 rank, rank == 1 ? "is" : "es");
}

static void check_boundary(Check *check, const Op *op, int rank) {
    const Value *axes = check_operand(op, "boundary_check");
    const Constant *constant = axes ? axes->constant : NULL;
    int count;
    if (!axes) return;
    if (constant && constant->kind == CONSTANT_TUPLE) {
        for (int i = 0; i < constant->item_count; i++) {
            const Constant *item = &constant->items[i];
            if (item->kind == CONSTANT_INT && (item->integer < 0 || item->integer >= rank))
                check_report(check, DIAGNOSTIC_AXIS_OUT_OF_RANGE, op,
                             "`boundary_check` names axis %lld, and the block has %d ax%s",
                             (long long)item->integer, rank, rank == 1 ? "is" : "es");
        }
    } else if (value_is_tuple(axes, &count)) {
        for (int i = 0; i < count; i++) check_axis(check, op, axes->op->operands[i], rank);
    } else {
        check_axis(check, op, axes, rank);
    }
}

static void check_padding(Check *check, const Op *op) {
    const Value *padding = check_operand(op, "padding_option");
    const Constant *constant = padding ? padding->constant : NULL;
    if (!constant || constant->kind != CONSTANT_STRING || constant->string.size == 0 ||
        str_is(constant->string, "zero") || str_is(constant->string, "nan"))
        return;
    check_report(check, DIAGNOSTIC_WRONG_ARGUMENT, op,
                 "`padding_option` is \"zero\" or \"nan\", and this is \"%.*s\"",
                 STR_ARGS(constant->string));
}

/// Whether an argument is given that is not None, nor empty.
static bool is_given(const Op *op, const char *name) {
    const Value *value = check_operand(op, name);
    if (!value || value_is_none(value)) return false;
    const Constant *constant = value->constant;
    int count;
    if (constant && constant->kind == CONSTANT_STRING) return constant->string.size > 0;
    if (constant && constant->kind == CONSTANT_TUPLE) return constant->item_count > 0;
    return value_is_tuple(value, &count) ? count > 0 : constant != NULL;
}

/// A block pointer has its bounds in itself, a plain one in a mask.
static void check_bounds_given(Check *check, const Op *op, bool is_block) {
    static const char *const plain[] = {"mask", "other"};
    static const char *const blocks[] = {"boundary_check", "padding_option"};
    const char *const *names = is_block ? plain : blocks;
    for (int i = 0; i < 2; i++) {
        if (i && op->code != OP_LOAD) break;
        bool is_there =
            is_block ? check_operand(op, names[i]) && !value_is_none(check_operand(op, names[i]))
                     : is_given(op, names[i]);
        if (!is_there) continue;
        check_report(check, DIAGNOSTIC_WRONG_ARGUMENT, op,
                     is_block
                         ? "a block pointer takes no `%s`: name the axes that may end in a "
                           "block, `boundary_check=(0, 1)`"
                         : "`%s` is for block pointers, and this is a plain one: give a `mask`",
                     names[i]);
        return;
    }
}

/// Whether numbers are a permutation of the axes; true where one is not known.
static bool is_permutation(const Value *order, int rank) {
    const Constant *constant = order->constant;
    bool is_tuple = constant && constant->kind == CONSTANT_TUPLE;
    bool seen[TYPE_MAX_RANK] = {false};
    int count = is_tuple ? constant->item_count : 0;
    if (!is_tuple && !value_is_tuple(order, &count)) return true;
    if (count != rank || count > TYPE_MAX_RANK) return true;  // its length is told elsewhere
    for (int i = 0; i < count; i++) {
        int64_t axis;
        if (is_tuple && constant->items[i].kind != CONSTANT_INT) return true;
        if (is_tuple)
            axis = constant->items[i].integer;
        else if (!value_is_int(order->op->operands[i], &axis))
            return true;
        if (axis < 0 || axis >= count || seen[axis]) return false;
        seen[axis] = true;
    }
    return true;
}

static void check_made(Check *check, const Op *op) {
    const Value *order = check_operand(op, "order"), *shape = check_operand(op, "block_shape");
    int count = 0;
    if (order && !is_permutation(order, op->results[0]->type.rank))
        check_report(check, DIAGNOSTIC_TRANSPOSE_ORDER, op,
                     "`order` names each axis of the block once, the one that is contiguous "
                     "first: `(1, 0)` for rows");
    if (!shape || !value_is_tuple(shape, &count) || !shape->op) return;
    for (int i = 0; i < count; i++) {
        const Value *length = shape->op->operands[i];
        int64_t number;
        bool is_open = length && length->type.kind == TYPE_NUMBER && !length->constant &&
                       !length->type.is_constexpr && check->is_entry;
        if (is_open)
            check_report(check, DIAGNOSTIC_SHAPE_NOT_CONSTEXPR, op,
                         "%s is known only at run time, and the lengths of a block are part of its "
                         "type: `block_shape` takes constexprs, `shape` the sizes of the tensor",
                         check_name(check, length));
        else if (value_is_int(length, &number) && number > 0 && (number & (number - 1)))
            check_report(check, DIAGNOSTIC_SHAPE_NOT_POWER_OF_TWO, op,
                         "a block of %lld elements along axis %d: the length must be a power of "
                         "two, and `boundary_check` leaves out the rest",
                         (long long)number, i);
    }
}

void check_blocks(Check *check, Op *op) {
    if (op->code == OP_MAKE_BLOCK_POINTER) check_made(check, op);
    const Value *pointer = op->operand_count ? op->operands[0] : NULL;
    int rank = block_rank(pointer);
    bool is_access = op->code == OP_LOAD || op->code == OP_STORE;
    // what a helper is called with its callers say
    bool is_plain = pointer && pointer->type.kind == TYPE_POINTER && check->is_entry;
    if (is_access && (rank || is_plain)) check_bounds_given(check, op, rank > 0);
    if (!rank) return;
    if (op->code == OP_ADVANCE) check_advance(check, op, rank);
    if (!is_access) return;
    check_boundary(check, op, rank);
    if (op->code == OP_LOAD) check_padding(check, op);
}
