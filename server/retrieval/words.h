// The words of a kernel's text: what its author calls things tells what it is for where its structure alone does not.
#ifndef TAD_SERVER_RETRIEVAL_WORDS_H
#define TAD_SERVER_RETRIEVAL_WORDS_H

#include "server/retrieval/structure.h"

/// The words of names and comments, in `arena`: `rms_norm` and `RMSNorm` have two each, numbers have none. Those of the kernel's name, and of
/// its file's without the ending, count more.
Structure vocabulary_of(Arena *arena, const char *path, const char *name, Str text);

#endif
