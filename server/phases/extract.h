// An operation of a kernel's own text that is refused, put into a helper: a rule by hand is about a helper.
#ifndef TAD_SERVER_PHASES_EXTRACT_H
#define TAD_SERVER_PHASES_EXTRACT_H

#include "analysis/snapshot.h"

/// The text with a helper above the kernel for each call in its own text that refuses the gradient, one after the other, and with
/// calls of these in their place. It computes what it did. NULL where there is none, or one that cannot be put into a helper.
const char *extract_refused(Arena *arena, const char *path, const char *text, const char *kernel);

#endif
