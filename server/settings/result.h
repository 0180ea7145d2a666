// Where a command writes its result.
#ifndef TAD_SERVER_SETTINGS_RESULT_H
#define TAD_SERVER_SETTINGS_RESULT_H

#include "server/settings/options.h"
#include "server/system/output.h"

/// Writes `text` to the file of `--output`, or to stdout. In: what `output` may replace; its path is that of the options.
/// Out: the exit status, `status` where all went well.
int result_write(Arena *arena, const Options *options, Output output, const char *text, int status);

#endif
