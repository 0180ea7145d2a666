// The kernel that failed runs program by program; what comes before it runs as a proof runs it.
#include "gpu-runner/execute/fault.h"

#include <string.h>

static const MemoryFinding *first_fault(const VirtualMemory *memory) {
    for (LIST_EACH(int, i, memory->findings)) {
        FindingKind kind = memory->findings.items[i].kind;
        if (kind == FINDING_OUT_OF_BOUNDS || kind == FINDING_MISALIGNED)
            return &memory->findings.items[i];
    }
    return NULL;
}

FaultPlace fault_seek(Executor *executor, int launch) {
    const Problem *problem = executor->problem;
    bool is_forward = launch < 0;
    Execution run = is_forward ? execution_new(executor, NULL) : execution_before(executor, launch);
    FaultPlace place = {.error = run.error};
    if (run.error) return place;
    const GradientLaunch *own = is_forward ? NULL : &problem->launches[launch];
    Tile **tiles = is_forward ? execution_arguments(executor, &run, NULL)
                              : execution_actuals(executor, &run, launch);
    const int64_t *grid = own && own->grid ? own->grid : problem->configuration->grid;
    Interp *interp = executor->interp;
    run.memory->by_bytes = true;
    interp_begin(interp, run.memory, own ? own->function : problem->forward, tiles, grid);
    int64_t count = grid[0] * grid[1] * grid[2];
    for (int64_t i = 0; i < count && !place.error && !place.finding; i++) {
        place.program[0] = i % grid[0];
        place.program[1] = i / grid[0] % grid[1];
        place.program[2] = i / grid[0] / grid[1];
        place.error = interp_program(interp, place.program);
        place.finding = first_fault(run.memory);
    }
    if (!place.error) return place;
    place.loop_line = interp->loop_line;
    place.iterations = interp->loop_iterations;
    return place;
}
