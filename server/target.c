// The operand FILE[:KERNEL] of a command, taken apart.
#include "server/target.h"

#include <string.h>

#include "server/files.h"

Target target_of(Arena *arena, const char *operand) {
    const char *colon = strrchr(operand, ':');
    if (!colon || file_exists(operand)) return (Target){operand, NULL};
    return (Target){arena_strndup(arena, operand, (size_t)(colon - operand)), colon + 1};
}
