// A kernel whose loops take a block of the forward at once in; one whose loops take it in parts, out.
#include "autodiff/together/block_parts.h"

#include <string.h>

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

void blocks_take_parts(Differentiation *state, BackwardLaunch *launch) {
    const LaunchBlock *block = launch_block_with(launch, BLOCK_PARTS);
    const FunctionDefinition *kernel = state->primal->definition;
    bool is_set = state->options && state->options->wrapper == WRAPPER_AUTOGRAD,
         is_tuned = kernel->is_autotuned || kernel->has_heuristics;
    if (!is_set || !block || (is_tuned && !launch->follows_tuner)) return;
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
