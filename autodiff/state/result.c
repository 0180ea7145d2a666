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
