// What a command is asked about: a file, or one kernel of it.
#ifndef TAD_SERVER_SYSTEM_TARGET_H
#define TAD_SERVER_SYSTEM_TARGET_H

#include "base/arena.h"

typedef struct CommandTarget {
    const char *path;
    const char *kernel;  // NULL: all of them
} CommandTarget;

/// FILE or FILE:KERNEL; a file that has such a name itself is the file.
CommandTarget target_of(Arena *arena, const char *operand);

#endif
