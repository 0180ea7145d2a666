// What a child is told of our environment: a short list, by the kind of child.
#ifndef TAD_SERVER_ENVIRONMENT_H
#define TAD_SERVER_ENVIRONMENT_H

#include "base/arena.h"

/// Columns of environment.def, which may be joined; ENVIRONMENT_OWN is all of it, for programs that a person could as well have started.
typedef enum EnvironmentKind {
    ENVIRONMENT_OWN = 0,
    ENVIRONMENT_WORKER = 1,
    ENVIRONMENT_COMMAND = 2,
    ENVIRONMENT_PYTHON = 4,
} EnvironmentKind;

/// `NAME=value` texts, NULL-terminated; NULL for ENVIRONMENT_OWN.
char **environment_for(Arena *arena, EnvironmentKind kind);

#endif
