// The semantic tokens that a document was last answered, for deltas.
#ifndef TAD_SERVER_SESSION_TOKEN_MEMORY_H
#define TAD_SERVER_SESSION_TOKEN_MEMORY_H

#include "base/arena.h"

#include <stdbool.h>

/// The numbers of the last answer, so that the next one can be a delta.
struct TokenMemory {
    Arena *arena;
    int id;
    uint32_t *numbers;
    int count;
    bool is_kept;  // the client still has these numbers, as far as we know
};

/// NULL is allowed.
void token_memory_free(struct TokenMemory *memory);

#endif
