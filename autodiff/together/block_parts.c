// A kernel whose loops take a block of the forward at once in; one whose loops take it in parts, out.
#include "autodiff/together/block_parts.h"

#include <string.h>

#include "analysis/choices/choices.h"
#include "analysis/launches/launch_values.h"
#include "autodiff/products/loop_parts.h"
#include "autodiff/rewrite/rewrite.h"
#include "autodiff/together/launch_parameter.h"

typedef struct PartLoops {
    Arena *arena;
    OpList loops;
    Value *block;
} PartLoops;

static bool visit_loop(void *context, Op *op) {
    PartLoops *search = context;
    if (op->code == OP_FOR && loop_block_in_parts(search->arena, op) == search->block)
        LIST_PUSH(search->arena, &search->loops, op);
    return true;
}

/// The constexpr parameter that is the size of a block.
static Value *block_value(const Differentiation *state, const LaunchBlock *block) {
    for (int i = 0; i < state->backward->parameter_count; i++)
        if (strcmp(state->backward->parameters[i].name, block->name) == 0)
            return state->backward->parameters[i].value;
    return NULL;
}

/// Whether all launches of the file pass no more rows than a part has.
static bool has_few_rows(const Differentiation *state, const LaunchBlock *block) {
    const Function *primal = state->primal;
    for (int i = 0; i < primal->definition->parameter_count; i++) {
        if (strcmp(primal->parameters[i].name, block->of) != 0) continue;
        LaunchValues values = launches_values(primal, i);
        return values.count && values.items[values.count - 1] <= ROWS_OF_A_PART;
    }
    return false;
}

/// The block as a whole: beside another one that is chosen nothing is said of it, else warps and stages are chosen for it.
static void keep_whole(BackwardLaunch *launch) {
    bool is_beside = launch_block_with(launch, BLOCK_LOOP) != NULL;
    for (int i = 0; i < launch->block_count; i++)
        if (launch->blocks[i].role == BLOCK_PARTS)
            launch->blocks[i].role = is_beside ? BLOCK_OTHER : BLOCK_FIXED;
}

void blocks_take_parts(Differentiation *state, BackwardLaunch *launch) {
    const LaunchBlock *block = launch_block_with(launch, BLOCK_PARTS);
    const FunctionDefinition *kernel = state->primal->definition;
    bool is_set = state->options && state->options->wrapper == WRAPPER_AUTOGRAD,
         is_tuned = kernel->is_autotuned || kernel->has_heuristics;
    if (!is_set || !block || (is_tuned && !launch->follows_tuner)) return;
    if (!is_tuned && has_few_rows(state, block)) {
        keep_whole(launch);
        return;
    }
    PartLoops search = {.arena = state->arena, .block = block_value(state, block)};
    region_walk(state->backward->body, visit_loop, &search);
    if (!search.loops.count) return;
    Value *parts = launch_add_parameter(
        state, launch, "PARTS",
        (BackwardArgument){.use = ARGUMENT_PARTS, .of = block->of, .is_constexpr = true});
    for (LIST_EACH(int, i, search.loops))
        loop_take_parts(state->backward, search.loops.items[i], search.block, parts);
    launch->has_parts = true;
}
