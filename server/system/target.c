// The operand FILE[:KERNEL] of a command, taken apart.
#include "server/system/target.h"

#include <string.h>

#include "server/system/files.h"

CommandTarget target_of(Arena *arena, const char *operand) {
    const char *colon = strrchr(operand, ':');
    if (!colon || file_exists(operand)) return (CommandTarget){operand, NULL};
    return (CommandTarget){arena_strndup(arena, operand, (size_t)(colon - operand)), colon + 1};
}
