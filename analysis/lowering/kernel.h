// A jit function of a text and what its analysis came to.
#ifndef TAD_ANALYSIS_LOWERING_KERNEL_H
#define TAD_ANALYSIS_LOWERING_KERNEL_H

#include "analysis/lowering/lower.h"

typedef struct Snapshot Snapshot;

typedef struct Kernel {
    const Snapshot *snapshot;              // that it belongs to
    const FunctionDefinition *definition;  // of this text
    Function *
        function;  // symbolic constexprs; its body may be that of an earlier text, see snapshot_range
    bool is_helper;
    bool understood;    // every value has a type
    struct Unit *unit;  // private to the pipeline
} Kernel;

/// Whether the kernel is launched as it is, as far as one file tells: its parameters without `tl.constexpr` are run-time
/// numbers and pointers. False for helpers, whose parameters may be anything.
bool kernel_is_entry(const Kernel *kernel);

#endif
