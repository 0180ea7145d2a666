// Bytes as a Python file through the whole pipeline: parse, lower, check, derive and emit backwards.
#include <stdio.h>
#include <stdlib.h>

#include "analysis/snapshot.h"
#include "autodiff/backward.h"
#include "autodiff/module/module.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void refuse_internal_errors(const Diagnostics *diagnostics) {
    for (LIST_EACH(int, i, diagnostics->list)) {
        if (diagnostics->list.items[i].id != DIAGNOSTIC_INTERNAL_ERROR) continue;
        fprintf(stderr, "%s\n", diagnostics->list.items[i].message);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    Snapshot *snapshot = snapshot_build("fuzz.py", (Str){(const char *)data, size}, NULL);
    refuse_internal_errors(&snapshot->diagnostics);
    Diagnostics diagnostics = {.arena = snapshot->arena};
    BackwardOptions options = {.wrapper = WRAPPER_AUTOGRAD};
    Backward **backwards = ARENA_ARRAY(snapshot->arena, Backward *, snapshot->kernels.count + 1);
    int count = 0;
    for (LIST_EACH(int, i, snapshot->kernels)) {
        const Kernel *kernel = &snapshot->kernels.items[i];
        if (kernel_is_forward(kernel))
            backwards[count++] =
                backward_derive(snapshot->arena, snapshot, kernel, &options, &diagnostics);
    }
    backward_module(snapshot->arena, snapshot, backwards, count, &options, &diagnostics);
    refuse_internal_errors(&diagnostics);
    snapshot_release(snapshot);
    return 0;
}
