#include "server/system/environment.h"

#include <stdbool.h>
#include <string.h>

extern char **environ;

typedef struct Variable {
    const char *name;
    int children;
} Variable;

enum { WORKER = ENVIRONMENT_WORKER, COMMAND = ENVIRONMENT_COMMAND, PYTHON = ENVIRONMENT_PYTHON };

static const Variable variables[] = {
#define VARIABLE(name, children) {name, children},
#include "server/system/environment.def"
#undef VARIABLE
};

static bool has_name(const char *entry, const char *name) {
    size_t size = strlen(name);
    if (name[size - 1] == '*') return strncmp(entry, name, size - 1) == 0;
    return strncmp(entry, name, size) == 0 && entry[size] == '=';
}

static bool is_given(const char *entry, EnvironmentKind kind) {
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if ((variables[i].children & (int)kind) && has_name(entry, variables[i].name)) return true;
    return false;
}

/// Secrets stay where they are: the list points at them.
static char **environment_with_secrets(Arena *arena) {
    size_t count = 0;
    while (environ && environ[count]) count++;
    char **given = ARENA_ARRAY(arena, char *, count + SECRETS_MOST + 1);
    memcpy(given, environ, count * sizeof *given);
    given[count + (size_t)secrets_list(given + count)] = NULL;
    return given;
}

char **environment_for(Arena *arena, EnvironmentKind kind) {
    if (kind == ENVIRONMENT_OWN) return NULL;
    if (kind == ENVIRONMENT_KEYED) return environment_with_secrets(arena);
    size_t most = 0, count = 0;
    while (environ && environ[most]) most++;
    char **given = ARENA_ARRAY(arena, char *, most + 1);
    for (size_t i = 0; i < most; i++)
        if (is_given(environ[i], kind)) given[count++] = arena_strdup(arena, environ[i]);
    return given;
}
