// `--dump configurations`: what the worker runs the kernels of a file with.
#ifndef TAD_SERVER_DUMPS_DUMP_CONFIGURATIONS_H
#define TAD_SERVER_DUMPS_DUMP_CONFIGURATIONS_H

#include "analysis/snapshot.h"
#include "server/settings/options.h"
#include "server/text/resolve.h"

/// Proves the kernels of the snapshot, or `kernel` alone, and prints what was run, given up and covered. An exit status.
int dump_configurations(const Options *options, const Snapshot *snapshot, ImportResolver *resolver,
                        const char *path, const char *kernel);

#endif
