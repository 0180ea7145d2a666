// Which texts are worth an analysis at all.
#ifndef TAD_SERVER_TEXT_SIEVE_H
#define TAD_SERVER_TEXT_SIEVE_H

#include <stdbool.h>

/// Whether a file with this text, which ends in a NUL byte, may hold kernels or launches; most of a package's files do not.
bool text_may_concern_kernels(const char *text);

#endif
