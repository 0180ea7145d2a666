// Completion inside calls, launches, decorators, strings and `# tad:` comments.
#ifndef TAD_FEATURES_COMPLETE_COMPLETE_ARGUMENTS_H
#define TAD_FEATURES_COMPLETE_COMPLETE_ARGUMENTS_H

#include "features/complete/complete.h"

/// Keyword arguments of the call around the cursor, or what the argument at hand may be.
/// True where nothing else is to be offered.
bool complete_arguments(Completer *completer);
/// Inside a string: what the argument may be, or names of parameters in configurations.
void complete_string(Completer *completer);
/// Inside a comment: `# tad:`.
void complete_comment(Completer *completer);

#endif
