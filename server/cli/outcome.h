// What becomes of a report at the end of `--check` and of `--merge`.
#ifndef TAD_SERVER_CLI_OUTCOME_H
#define TAD_SERVER_CLI_OUTCOME_H

#include "server/settings/options.h"

/// A sentence where the options contradict each other.
Error outcome_refuse(const Options *options);
/// Holds the report against the baseline and writes it in the format that is asked for. In: its findings in order; `inputs`: files
/// that must not be written besides those of the report. Out: the exit status.
int outcome_write(Report *report, const Options *options, const char *const *inputs,
                  int input_count);

#endif
