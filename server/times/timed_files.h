// Forward kernels of many files, timed one after the other on this machine's GPU: what --bench and --check --time share.
#ifndef TAD_SERVER_TIMES_TIMED_FILES_H
#define TAD_SERVER_TIMES_TIMED_FILES_H

#include "server/proofs/proof.h"
#include "server/settings/wanted.h"
#include "server/times/kept.h"

typedef struct TimedFiles TimedFiles;

/// All three outlive it.
TimedFiles *timed_files_new(Arena *arena, const Options *options, Report *report,
                            ImportResolver *resolver);
/// Takes the forward kernels of a snapshot, or the one named `only` where it is not NULL: how many these are. Keeps nothing of the snapshot.
int timed_files_take(TimedFiles *files, const Snapshot *snapshot, const Settings *settings,
                     const char *only);
/// Times all of them, at each of their sizes. What cannot be timed is said, and is a row without times; what this machine lacks is a problem of the
/// report, once. The times as times.h describes them.
Json *timed_files_run(TimedFiles *files);
/// Whether this machine lacks what timing needs.
bool timed_files_lack_setup(const TimedFiles *files);
/// A finding `kernel-slower` at the kernel's name for each direction that the comparison calls slower.
void timed_files_report(TimedFiles *files, const Comparison *comparison);

#endif
