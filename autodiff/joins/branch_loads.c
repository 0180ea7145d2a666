// A load in a branch is one under a mask, where nothing else depends on the branch.
#include "autodiff/joins/branch_loads.h"

#include "analysis/build/build.h"
#include "autodiff/rewrite/rewrite.h"

enum { LOAD_MASK = 1, LOAD_OTHER = 2, MOST_LOADS = 4 };

typedef struct BranchLoads {
    Function *function;
    OpList branches;
    const Op *branch;  // whose tensors are looked for elsewhere
    const Value *root;
    bool is_elsewhere;
} BranchLoads;

static bool is_in_branch(const Op *op, const Op *branch) {
    for (; op; op = op->parent->parent)
        if (op == branch) return true;
    return false;
}

static bool visit_elsewhere(void *context, Op *op) {
    BranchLoads *search = context;
    search->is_elsewhere |= op->code == OP_LOAD && op->results[0]->type.rank &&
                            !is_in_branch(op, search->branch) &&
                            pointer_root(op->operands[0]) == search->root;
    return !search->is_elsewhere;
}

/// Whether the kernel loads tiles of the same tensor outside of the branch.
static bool is_loaded_elsewhere(BranchLoads *search, const Op *branch, const Op *load) {
    search->branch = branch;
    search->root = pointer_root(load->operands[0]);
    search->is_elsewhere = false;
    if (search->root) region_walk(search->function->body, visit_elsewhere, search);
    return search->is_elsewhere;
}

/// Whether a side does nothing but load tiles of floats and compute. `*is_neighbour`: of a tensor that is loaded elsewhere, too.
static bool loads_alone(BranchLoads *search, const Op *branch, const Region *side,
                        bool *is_neighbour) {
    int count = 0;
    for (const Op *op = side->first; op != region_terminator(side); op = op->next) {
        if (op->code != OP_LOAD) {
            if (op->region_count || !op_is_pure(op)) return false;
            continue;
        }
        const Type *type = &op->results[0]->type;
        bool is_plain = type->kind == TYPE_NUMBER && type->rank && op->operand_count > LOAD_MASK &&
                        op->operands[LOAD_MASK];
        if (!is_plain || ++count > MOST_LOADS || !op_is_stable_load(search->function, op))
            return false;
        *is_neighbour |= is_loaded_elsewhere(search, branch, op);
    }
    return true;
}

static bool visit_branch_loads(void *context, Op *op) {
    BranchLoads *search = context;
    const Value *condition = op->code == OP_IF && op->region_count == 2 ? op->operands[0] : NULL;
    if (!condition || !op->result_count || condition->type.rank || condition->type.is_constexpr ||
        condition->constant || !condition->op ||
        (condition->op->code != OP_EQ && condition->op->code != OP_NE))
        return true;
    bool is_neighbour = false;
    for (int r = 0; r < 2; r++)
        if (!loads_alone(search, op, op->regions[r], &is_neighbour)) return true;
    if (is_neighbour) LIST_PUSH(search->function->arena, &search->branches, op);
    return true;
}

/// `x != y` for `x == y`, and the other way around.
static Value *opposite(Builder *b, const Value *condition) {
    const Op *op = condition->op;
    return build_binary(b, op->code == OP_EQ ? OP_NE : OP_EQ, op->operands[0], op->operands[1]);
}

/// What stands in a side is in front of the branch then, and loads under its condition.
static void open_side(Function *function, Op *branch, int r, Value *condition) {
    Region *side = branch->regions[r];
    while (side->first != region_terminator(side)) {
        Op *op = side->first;
        op_move_before(op, branch);
        if (op->code != OP_LOAD) continue;
        Builder b = {
            .function = function, .region = branch->parent, .before = op, .range = op->range};
        op_set_operand(op, LOAD_MASK, build_binary(&b, OP_AND, op->operands[LOAD_MASK], condition));
        if (op->operand_count > LOAD_OTHER && !op->operands[LOAD_OTHER])
            op_set_operand(op, LOAD_OTHER, build_float(&b, 0));
    }
}

static void open_branch(Function *function, Op *branch) {
    Builder b = {
        .function = function, .region = branch->parent, .before = branch, .range = branch->range};
    Value *sides[] = {branch->operands[0], opposite(&b, branch->operands[0])};
    for (int r = 0; r < 2; r++) open_side(function, branch, r, sides[r]);
    for (int i = 0; i < branch->result_count; i++) {
        Value *chosen = build_ternary(&b, OP_WHERE, sides[0],
                                      region_terminator(branch->regions[0])->operands[i],
                                      region_terminator(branch->regions[1])->operands[i]);
        chosen->name = branch->results[i]->name;
        region_replace_uses(function->body, branch->results[i], chosen);
    }
    op_remove(branch);
}

void function_open_branch_loads(Function *function) {
    BranchLoads search = {.function = function};
    region_walk(function->body, visit_branch_loads, &search);
    for (LIST_EACH(int, i, search.branches)) open_branch(function, search.branches.items[i]);
    if (search.branches.count) function_clean(function);
}
