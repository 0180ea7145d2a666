// What a child is told of our environment: a short list, by the kind of child. What nobody is told: the keys that were taken out of it.
#ifndef TAD_SERVER_ENVIRONMENT_H
#define TAD_SERVER_ENVIRONMENT_H

#include <stddef.h>

#include "base/arena.h"

/// Columns of environment.def, which may be joined; ENVIRONMENT_OWN is all of it, for programs that a person could as well have started.
typedef enum EnvironmentKind {
    ENVIRONMENT_OWN = 0,
    ENVIRONMENT_WORKER = 1,
    ENVIRONMENT_COMMAND = 2,
    ENVIRONMENT_PYTHON = 4,
    ENVIRONMENT_KEYED =
        8,  // all of it, and the secrets: for this program, which takes them out again
} EnvironmentKind;

/// `NAME=value` texts, NULL-terminated; NULL for ENVIRONMENT_OWN.
char **environment_for(Arena *arena, EnvironmentKind kind);

/// A model and its embeddings have a key each: by the default names, by those of the settings' file, and by the command line's.
enum { SECRETS_MOST = 8 };

/// Takes a variable out of our environment, text and all, and keeps it in memory that no core file holds. Called before there are threads.
void secret_take(const char *variable);
/// The value of a variable that was taken, which nobody copies. NULL: it had none.
const char *secret_of(const char *variable);
/// The `NAME=value` texts of all, SECRETS_MOST at most. Returns how many there are.
int secrets_list(char **entries);
/// Memory that no core file holds, for a text with a secret in it; NULL where there is none to be had.
char *secret_room(size_t size);
/// Overwrites it and gives it back. NULL is allowed.
void secret_room_free(char *room, size_t size);
/// From now on this process leaves no core file, and no other process of the user's reads its memory: for who hands a secret to a library.
void secrets_seal_process(void);

#endif
