// A kernel whose programs run row after row of the grid in; one whose programs run through memory in its order out.
#include "autodiff/blocks/program_order.h"

#include "analysis/addresses/axis.h"
#include "analysis/build/build.h"

typedef struct GridUses {
    Value *ids[PROGRAM_AXES];
    bool is_counted;  // the number of programs is used, or an id is read twice
} GridUses;

static bool visit_id(void *context, Op *op) {
    GridUses *uses = context;
    if (op->code == OP_NUM_PROGRAMS) uses->is_counted = true;
    for (int axis = 0; axis < PROGRAM_AXES && op->code == OP_PROGRAM_ID; axis++) {
        if (!value_is_program_id(op->results[0], axis)) continue;
        uses->is_counted |= uses->ids[axis] != NULL;
        uses->ids[axis] = op->results[0];
    }
    return true;
}

/// The axis of the grid that numbers the blocks of a row, behind others; 0: none.
static int axis_of_blocks(const BackwardLaunch *launch) {
    for (int i = 0; i < launch->block_count; i++)
        if (launch->blocks[i].role == BLOCK_ELEMENTS && launch->blocks[i].axis > 0)
            return launch->blocks[i].axis;
    return 0;
}

/// Whether what stands between two numbers of a program is made of one of them.
static bool is_read_between(const Op *first, const Op *last) {
    for (const Op *op = first->next; op && op != last; op = op->next) {
        if (op->region_count) return true;
        for (int i = 0; i < op->operand_count; i++)
            if (op->operands[i] == first->results[0]) return true;
    }
    return false;
}

void programs_follow_rows(Function *backward, const BackwardLaunch *launch) {
    GridUses uses = {0};
    int axis = axis_of_blocks(launch);
    region_walk(backward->body, visit_id, &uses);
    Value *row = uses.ids[0], *block = uses.ids[axis];
    bool fits = axis && row && block && !uses.is_counted;
    for (int i = 1; i < PROGRAM_AXES; i++) fits &= i == axis || !uses.ids[i];
    if (!fits || row->op->parent != block->op->parent) return;
    Op *last = row->op;
    for (Op *op = row->op; op; op = op->next)
        if (op == block->op) last = op;
    if (is_read_between(last == row->op ? block->op : row->op, last)) return;
    Builder b = {.function = backward, .region = last->parent, .before = last->next};
    Value *rows = build_unary(&b, OP_NUM_PROGRAMS, build_int(&b, 0)),
          *blocks = build_unary(&b, OP_NUM_PROGRAMS, build_int(&b, axis));
    Value *number = build_binary(&b, OP_ADD, row, build_binary(&b, OP_MUL, block, rows));
    Value *own_row = build_binary(&b, OP_FLOORDIV, number, blocks),
          *own_block = build_binary(&b, OP_MOD, number, blocks);
    own_row->name = row->name;
    own_block->name = block->name;
    number->name = "program";
    row->name = block->name = NULL;
    for (Op *op = own_block->op->next; op; op = op->next) {
        for (int i = 0; i < op->operand_count; i++) {
            if (op->operands[i] == row) op->operands[i] = own_row;
            if (op->operands[i] == block) op->operands[i] = own_block;
        }
        for (int r = 0; r < op->region_count; r++) {
            region_replace_uses(op->regions[r], row, own_row);
            region_replace_uses(op->regions[r], block, own_block);
        }
    }
}
