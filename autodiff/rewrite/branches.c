// Branches on one condition that follow each other become one; what both branches compute, and what a branch computes twice, stands once.
#include "autodiff/rewrite/branches.h"

#include "analysis/build/clone.h"
#include "autodiff/rewrite/rewrite.h"

enum { ROUNDS = 3, MOST_BETWEEN = 24 };

/* ---- one branch instead of two ---- */

static bool region_is_pure(const Region *region) {
    for (const Op *op = region->first; op; op = op->next) {
        if (op->code == OP_YIELD) continue;
        if (op->region_count ? op->code != OP_IF : !op_is_pure(op)) return false;
        for (int r = 0; r < op->region_count; r++)
            if (!region_is_pure(op->regions[r])) return false;
    }
    return region_terminator(region) != NULL;
}

typedef struct BranchReadSearch {
    const Map *values;
    bool found;
} BranchReadSearch;

static bool visit_read(void *context, Op *op) {
    BranchReadSearch *search = context;
    for (int i = 0; i < op->operand_count; i++)
        search->found = search->found || map_has_pointer(search->values, op->operands[i]);
    return !search->found;
}

/// The next branch on the condition of `op`, if nothing that it reads is computed between.
static Op *next_alike(Arena *arena, const Op *op) {
    Map between = map_new(arena);
    int count = 0;
    for (Op *next = op->next; next && count < MOST_BETWEEN; next = next->next, count++) {
        if (next->code == OP_IF && next->operands[0] == op->operands[0]) {
            BranchReadSearch search = {.values = &between};
            bool is_pure = region_is_pure(next->regions[0]) && region_is_pure(next->regions[1]);
            for (int r = 0; r < 2 && is_pure; r++)
                region_walk(next->regions[r], visit_read, &search);
            return is_pure && !search.found ? next : NULL;
        }
        if (next->region_count || (!op_is_pure(next) && next->code != OP_LOAD)) return NULL;
        for (int i = 0; i < next->result_count; i++)
            map_set_pointer(&between, next->results[i], next);
    }
    return NULL;
}

/// Moves the branches of `second` to the ends of those of `first`.
static void merge(Function *function, Op *first, Op *second) {
    for (int r = 0; r < 2; r++) {
        Op *end = region_terminator(first->regions[r]);
        const Op *other = region_terminator(second->regions[r]);
        Map values = map_new(function->arena);
        for (int i = 0; i < first->result_count; i++)
            map_set_pointer(&values, first->results[i], end->operands[i]);
        Builder builder = {.function = function,
                           .region = first->regions[r],
                           .before = end,
                           .range = second->range};
        region_clone_into(&builder, second->regions[r], &values);
        for (int i = 0; i < other->operand_count; i++)
            op_append_operand(function, end, value_mapped(&values, other->operands[i]));
    }
    for (int i = 0; i < second->result_count; i++) {
        Value *result = op_append_result(function, first, second->results[i]->type);
        result->name = second->results[i]->name;
        region_replace_uses(function->body, second->results[i], result);
    }
    op_remove(second);
}

/* ---- what stands twice ---- */

static bool is_same(const Op *a, const Op *b) {
    if (a->code != b->code || a->operand_count != b->operand_count || a->result_count != 1 ||
        b->result_count != 1 || !type_equal(a->results[0]->type, b->results[0]->type))
        return false;
    for (int i = 0; i < a->operand_count; i++)
        if (a->operands[i] != b->operands[i]) return false;
    return true;
}

static bool is_common(const Function *function, const Op *op, const Op *branch) {
    if (op->region_count || op->keyword_count || op->result_count != 1 || !op->operand_count ||
        op->results[0]->type.is_constexpr)
        return false;
    if (!op_is_pure(op) && !op_is_stable_load(function, op)) return false;
    for (int i = 0; i < op->operand_count; i++)
        for (int r = 0; r < 2; r++)
            if (op->operands[i] && region_defines(branch->regions[r], op->operands[i]))
                return false;
    return true;
}

/// Ops of both branches, and loads of what the function never stores, go before the branch. True where there were any.
static bool take_out(const Function *function, Op *branch) {
    bool any = false;
    for (Op *op = branch->regions[0]->first, *next; op; op = next) {
        next = op->next;
        if (!is_common(function, op, branch)) continue;
        Op *twin = branch->regions[1]->first;
        while (twin && !is_same(op, twin)) twin = twin->next;
        if (!twin) continue;
        op_move_before(op, branch);
        region_replace_uses(branch->regions[1], twin->results[0], op->results[0]);
        op_remove(twin);
        any = true;
    }
    return any;
}

/// Results that are the same in both branches are one.
static void drop_doubles(Function *function, const Op *branch) {
    const Op *ends[2] = {region_terminator(branch->regions[0]),
                         region_terminator(branch->regions[1])};
    for (int i = 0; i < branch->result_count; i++)
        for (int j = i + 1; j < branch->result_count; j++)
            if (ends[0]->operands[i] == ends[0]->operands[j] &&
                ends[1]->operands[i] == ends[1]->operands[j] &&
                type_equal(branch->results[i]->type, branch->results[j]->type))
                region_replace_uses(function->body, branch->results[j], branch->results[i]);
}

/* ---- the walk ---- */

static bool join_region(Function *function, Region *region) {
    bool changed = false;
    for (Op *op = region->first; op; op = op->next) {
        bool is_branch = op->code == OP_IF && region_terminator(op->regions[0]) &&
                         region_terminator(op->regions[1]);
        Op *next;
        while (is_branch && (next = next_alike(function->arena, op)) != NULL) {
            merge(function, op, next);
            changed = true;
        }
        for (int r = 0; r < op->region_count; r++)
            changed = join_region(function, op->regions[r]) || changed;
        if (!is_branch) continue;
        changed = take_out(function, op) || changed;
        drop_doubles(function, op);
    }
    return changed;
}

void function_join_branches(Function *function) {
    for (int round = 0; round < ROUNDS && join_region(function, function->body); round++)
        function_clean(function);
}
