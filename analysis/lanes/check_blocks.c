// Block pointers: axes that a block does not have, padding that Triton does not know.
#include "analysis/checks/check.h"

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

void check_blocks(Check *check, Op *op) {
    int rank = op->operand_count ? block_rank(op->operands[0]) : 0;
    if (!rank) return;
    if (op->code == OP_ADVANCE) check_advance(check, op, rank);
    if (op->code != OP_LOAD && op->code != OP_STORE) return;
    check_boundary(check, op, rank);
    if (op->code == OP_LOAD) check_padding(check, op);
}
