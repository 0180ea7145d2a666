// Launches of variants of one kernel in; the loop whose tile they all choose out.
#include "autodiff/blocks/joined_launches.h"

#include <string.h>

static const BlockRole loop_roles[] = {BLOCK_LOOP, BLOCK_PARTS, BLOCK_FIXED};
enum { LOOP_ROLES = sizeof loop_roles / sizeof *loop_roles };

static bool role_is_equal(const BackwardLaunch *a, const BackwardLaunch *b, BlockRole role) {
    const LaunchBlock *own = launch_block_with(a, role), *other = launch_block_with(b, role);
    return own && other ? strcmp(own->name, other->name) == 0 : own == other;
}

static bool loops_are_alike(const BackwardLaunch *a, const BackwardLaunch *b) {
    bool alike = a->loop && b->loop && a->has_parts == b->has_parts;
    for (int i = 0; i < LOOP_ROLES; i++) alike = alike && role_is_equal(a, b, loop_roles[i]);
    return alike;
}

static bool has_limit(const LaunchBlock *block, const char *name) {
    for (int i = 0; i < block->limit_count; i++)
        if (strcmp(block->limits[i], name) == 0) return true;
    return false;
}

/// What the block has to divide in any of the variants.
static void take_limits(Arena *arena, LaunchBlock *into, const LaunchBlock *from) {
    const char **all = ARENA_ARRAY(arena, const char *, into->limit_count + from->limit_count + 1);
    int count = 0;
    for (int i = 0; i < into->limit_count; i++) all[count++] = into->limits[i];
    for (int i = 0; i < from->limit_count; i++)
        if (!has_limit(into, from->limits[i])) all[count++] = from->limits[i];
    into->limits = all;
    into->limit_count = count;
}

void launches_join_loops(Arena *arena, const BackwardLaunch *const *launches, int count,
                         BackwardLaunch *into) {
    for (int r = 0; r < count; r++)
        if (!loops_are_alike(launches[r], launches[0])) return;
    if (!count) return;
    into->loop = launches[0]->loop;
    into->has_parts = launches[0]->has_parts;
    into->follows_tuner = launches[0]->follows_tuner;
    into->blocks = ARENA_ARRAY(arena, LaunchBlock, LOOP_ROLES);
    into->block_count = 0;
    for (int r = 0; r < count; r++) into->is_precise = into->is_precise || launches[r]->is_precise;
    for (int i = 0; i < LOOP_ROLES; i++) {
        const LaunchBlock *block = launch_block_with(launches[0], loop_roles[i]);
        if (!block) continue;
        LaunchBlock *own = &into->blocks[into->block_count++];
        *own = *block;
        for (int r = 1; r < count; r++)
            take_limits(arena, own, launch_block_with(launches[r], loop_roles[i]));
    }
}
