// What a command is asked about: a file, or one kernel of it.
#ifndef TAD_SERVER_TARGET_H
#define TAD_SERVER_TARGET_H

#include "base/arena.h"

typedef struct Target {
    const char *path;
    const char *kernel;  // NULL: all of them
} Target;

/// FILE or FILE:KERNEL; a file that has such a name itself is the file.
Target target_of(Arena *arena, const char *operand);

#endif
