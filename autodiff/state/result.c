// What is asked of a launch by name.
#include "autodiff/state/result.h"

#include <string.h>

int launch_index(const BackwardLaunch *launch, const char *name) {
    for (int i = 0; i < launch->argument_count; i++)
        if (strcmp(launch->arguments[i].name, name) == 0) return i;
    return -1;
}

const LaunchBlock *launch_block_with(const BackwardLaunch *launch, BlockRole role) {
    for (int i = 0; i < launch->block_count; i++)
        if (launch->blocks[i].role == role) return &launch->blocks[i];
    return NULL;
}

bool launch_alone(const Backward *backward, const char *name) {
    int count = 0;
    for (int i = 0; i < backward->launch_count; i++)
        count += launch_index(&backward->launches[i], name) >= 0;
    return count == 1;
}

bool step_checks_are_equal(const StepCheck *a, const StepCheck *b) {
    bool same = a->range_count == b->range_count && a->is_of_stores == b->is_of_stores &&
                a->programs == b->programs && strcmp(a->of, b->of) == 0 &&
                strcmp(a->guard, b->guard) == 0;
    for (int i = 0; same && i < a->range_count; i++) same = strcmp(a->ranges[i], b->ranges[i]) == 0;
    if (!same || !a->other || !b->other) return same && !a->other && !b->other;
    return strcmp(a->distance, b->distance) == 0 && step_checks_are_equal(a->other, b->other);
}
