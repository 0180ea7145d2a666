// Which files were written by us, so that they may be written again.
#ifndef TAD_SERVER_REPORT_OURS_H
#define TAD_SERVER_REPORT_OURS_H

#include "base/text.h"

/// A report of `--check` in any of the formats, by what only ours have. A text without its last line (`--quiet`) is not known.
bool report_is_ours(Arena *arena, Str text);
/// A module of `--backward`, by its header; also below warnings.
bool module_is_ours(Arena *arena, Str text);
/// A session of `--record`.
bool record_is_ours(Arena *arena, Str text);

#endif
