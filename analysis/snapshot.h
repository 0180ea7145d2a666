// The pipeline, readable from top to bottom: source text in, immutable snapshot out. No I/O, no JSON, no threads.
#ifndef TAD_ANALYSIS_SNAPSHOT_H
#define TAD_ANALYSIS_SNAPSHOT_H

#include "analysis/lower.h"

typedef struct Kernel {
    const FunctionDefinition *definition;
    Function *function;  // symbolic constexprs
    bool is_helper;
    bool understood;  // every value has a type
} Kernel;

typedef struct Snapshot {
    Arena *arena;  // owns everything; freed by snapshot_free
    const Source *source;
    Module *module;
    LIST(Kernel) kernels;  // every jit function, in order
    Diagnostics diagnostics;
} Snapshot;

typedef struct SnapshotOptions {
    const Resolver *resolver;  // may be NULL
    bool skip_checks;          // parse and lower only
} SnapshotOptions;

Snapshot *snapshot_build(const char *path, Str text,
                         const SnapshotOptions *options);  // copies path and text
void snapshot_free(Snapshot *snapshot);
const Kernel *snapshot_find_kernel(const Snapshot *snapshot, Str name);

/// Whether the kernel is launched as it is, as far as one file tells: its parameters without `tl.constexpr` are run-time
/// numbers and pointers. False for helpers, whose parameters may be anything.
bool kernel_is_entry(const Kernel *kernel);
/// All checks of analysis/check*.c over one lowered kernel; called by the pipeline.
void check_kernel(Arena *arena, const Kernel *kernel, Diagnostics *diagnostics);

#endif
