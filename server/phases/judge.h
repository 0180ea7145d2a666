// The gate of a session's later phases: a text with a forward and its written backward is analysed, proved as a whole, and measured.
#ifndef TAD_SERVER_PHASES_JUDGE_H
#define TAD_SERVER_PHASES_JUDGE_H

#include "server/phases/bodies.h"
#include "server/report/report.h"
#include "server/settings/options.h"

/// A snapshot of the session, with its scores.
typedef struct Judged {
    const Snapshot *snapshot;  // held; NULL after an error of ours
    OpenBodies open;
    const Report *report;  // of the proof
    const char *refused;   // why it does not pass, in the words of who says so; NULL: it passes
    double worst_error;
    double cost;  // nanoseconds of a program by the roofline, all kernels together; NaN: not known
    double atomics;  // bytes of a program that atomics add to; NaN: not known
    int size;        // bodies_size
    int findings;    // bodies_findings
} Judged;

/// What a candidate is judged by: the forward whose backward it has, where the file lies, what it was before.
typedef struct Gate {
    Arena *arena;
    const Options *options;
    const char *path;
    const char *forward;
    const Judged
        *base;  // what must stay, and findings that count as known; NULL: this is the base itself
} Gate;

/// The first error or warning of `after` that is more than `before` has of its kind, with its line; NULL: none. `before`: NULL has all warnings.
const char *finding_more(Arena *arena, const Snapshot *before, const Snapshot *after);
/// Analyses `text`, compares what is locked, and proves it. Nothing of it is run but by the worker's interpreter.
Judged judge(const Gate *gate, const char *text);
void judged_free(Judged *judged);

#endif
