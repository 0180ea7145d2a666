// Lives as long as its document.
#include "server/session/token_memory.h"

void token_memory_free(struct TokenMemory *memory) {
    if (memory) arena_free(memory->arena);
}
