// What tad-runner is asked for a proof, made from a forward kernel and its backward: the one place that knows `gradcheck`.
#ifndef TAD_SERVER_PROOFS_PROOF_H
#define TAD_SERVER_PROOFS_PROOF_H

#include "autodiff/backward.h"
#include "base/json.h"
#include "server/settings/settings.h"
#include "server/text/resolve.h"

/// What the proofs of one file share. The source outlives the snapshot.
typedef struct ProofFile {
    const Source *source;
    const Settings *settings;
    Imports imports;
} ProofFile;

/// What a proof needs of a kernel, free of the snapshot.
typedef struct ProofPlan {
    const char *kernel;
    int line;  // of its name: several functions may define a kernel of one name
    Json *backward, *inputs, *outputs, *spec;
    const char *asserted;  // what the Function asserts of a call's sizes, in words; or NULL
    Json *saved;           // what the forward stores for its backward alone; or NULL
    bool is_partial;       // other inputs may have a gradient as well
    const char
        *before;  // the text that the file had, whose kernel must have computed the same; or NULL
} ProofPlan;

/// `text` is the module with the backward's kernels.
ProofPlan proof_plan(Arena *arena, const Kernel *kernel, const Backward *backward, const char *text,
                     const Settings *settings);
/// The parameters of the method `gradcheck`.
Json *proof_params(Arena *arena, const ProofFile *file, const ProofPlan *plan, int seed,
                   double max_seconds);
/// When a runner that has this limit itself is given up.
uint64_t proof_limit_ms(double max_seconds);
/// The text of a one-based line, or `otherwise` where there is no such line.
Range proof_line_range(const Source *source, int line, Range otherwise);

#endif
