// Each secret is a mapping of its own, `NAME=value`, so that a child's environment can point at it.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "server/system/environment.h"

extern char **environ;

static struct {
    char *entry;  // NULL-terminated, as in `environ`
    size_t name_size;
} secrets[SECRETS_MOST];

static int secret_count;

char *secret_room(size_t size) {
    void *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return NULL;
#ifdef MADV_DONTDUMP
    madvise(room, size, MADV_DONTDUMP);
#endif
    (void)mlock(room, size);  // where the limit allows it, nothing of it is swapped out
    return room;
}

void secret_room_free(char *room, size_t size) {
    if (!room) return;
    explicit_bzero(room, size);
    munmap(room, size);
}

static bool is_of(const char *entry, const char *name, size_t size) {
    return strncmp(entry, name, size) == 0 && entry[size] == '=';
}

const char *secret_of(const char *variable) {
    size_t size = strlen(variable);
    for (int i = 0; i < secret_count; i++)
        if (secrets[i].name_size == size && is_of(secrets[i].entry, variable, size))
            return secrets[i].entry + size + 1;
    return NULL;
}

static void keep(const char *entry, size_t name_size) {
    size_t size = strlen(entry) + 1;
    char *room = secret_count < SECRETS_MOST ? secret_room(size) : NULL;
    if (!room) return;
    memcpy(room, entry, size);
    secrets[secret_count].entry = room;
    secrets[secret_count++].name_size = name_size;
}

void secret_take(const char *variable) {
    size_t size = strlen(variable);
    for (char **at = environ; at && *at; at++) {
        if (!is_of(*at, variable, size)) continue;
        char *value = *at + size + 1;
        if (*value && !secret_of(variable)) keep(*at, size);
        explicit_bzero(value, strlen(value));  // /proc/PID/environ shows these bytes
    }
    unsetenv(variable);
}

int secrets_list(char **entries) {
    for (int i = 0; i < secret_count; i++) entries[i] = secrets[i].entry;
    return secret_count;
}

void secrets_seal_process(void) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
#ifdef __linux__
    prctl(PR_SET_DUMPABLE, 0);  // also where a program collects core files: it knows no limit
#endif
}
