// Sizes that the blocks of tensor descriptors cut: `tl.cdiv(M, BLOCK_M)`, `for k in range(0, K, BLOCK_K)`.
#include "gpu-runner/configure/descriptor_sizes.h"

enum { SEVERAL = -1 };  // of sizes that one block length cuts: none is known

typedef struct SizeSearch {
    const Function *function;
    ParameterFacts *facts;
    ParameterSet blocks;  // lengths of descriptors' blocks
} SizeSearch;

static int parameter_index(const SizeSearch *search, const Value *value) {
    while (value && value->op && value->op->operand_count &&
           (value->op->code == OP_CAST || op_rows[value->op->code].kind == KIND_HINT))
        value = value->op->operands[0];
    bool is_parameter = value && !value->op && value->region == search->function->body;
    return is_parameter ? value->index : -1;
}

static void find_blocks(SizeSearch *search) {
    for (int i = 0; i < search->function->parameter_count; i++) {
        Type type = search->function->parameters[i].value->type;
        for (int axis = 0; type.kind == TYPE_DESCRIPTOR && axis < type.rank; axis++) {
            const Poly *dim = type.dims[axis];
            if (!dim || dim->count != 1 || dim->terms[0].coefficient != 1 ||
                dim->terms[0].atom_count != 1)
                continue;
            int block = parameter_index(search, dim->terms[0].atoms[0]);
            if (block < 0) continue;
            set_add(&search->blocks, block);
            search->facts[block].is_block = true;
        }
    }
}

static void note_size(SizeSearch *search, const Value *size, const Value *length) {
    int number = parameter_index(search, size), block = parameter_index(search, length);
    if (number < 0 || block < 0 || number == block || !set_has(search->blocks, block)) return;
    ParameterFacts *facts = &search->facts[number], *cut = &search->facts[block];
    if (search->function->parameters[number].value->type.kind != TYPE_NUMBER) return;
    bool is_other = cut->cut_size && cut->cut_size != number + 1;
    cut->cut_size = is_other ? SEVERAL : number + 1;
    facts->is_size = facts->is_tiled = facts->is_masked = true;
    set_add(&facts->blocks, block);
}

static bool visit_op(void *context, Op *op) {
    SizeSearch *search = context;
    if (op->code == OP_FOR) note_size(search, op->operands[1], op->operands[2]);
    if (op->code != OP_FLOORDIV) return true;
    const Value *length = op->operands[1];
    const Op *sum = op->operands[0]->op;  // M + (B - 1)
    if (!sum || sum->code != OP_ADD) return true;
    const Op *rest = sum->operands[1]->op;
    int64_t one;
    if (rest && rest->code == OP_SUB && value_is_int(rest->operands[1], &one) && one == 1 &&
        parameter_index(search, rest->operands[0]) == parameter_index(search, length))
        note_size(search, sum->operands[0], length);
    return true;
}

void descriptor_sizes_find(const Function *function, ParameterFacts *facts) {
    SizeSearch search = {.function = function, .facts = facts};
    find_blocks(&search);
    if (!set_is_empty(search.blocks)) region_walk(function->body, visit_op, &search);
}
