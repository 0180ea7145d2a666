// One lock for the table of keys; it is not held while a result is made.
#include "base/memo.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/budget.h"
#include "base/error.h"
#include "base/map.h"

typedef struct MemoEntry {
    Arena *arena;
    const void *result;
    const char *failure;  // of a BUG
    bool is_made;
} MemoEntry;

struct Memo {
    Arena *arena;
    Map entries;
    size_t bytes;  // that memo_keep took over
    pthread_mutex_t lock;
    pthread_cond_t made;
};

Memo *memo_new(void) {
    Arena *arena = arena_new_sized(512);
    Memo *memo = ARENA_NEW(arena, Memo);
    memo->arena = arena;
    memo->entries = map_new(arena);
    pthread_mutex_init(&memo->lock, NULL);
    pthread_cond_init(&memo->made, NULL);
    return memo;
}

void memo_free(Memo *memo) {
    if (!memo) return;
    for (int i = 0; i < memo->entries.count; i++) {
        const MemoEntry *entry = memo->entries.entries[i].value;
        arena_free(entry->arena);
    }
    pthread_cond_destroy(&memo->made);
    pthread_mutex_destroy(&memo->lock);
    arena_free(memo->arena);
}

static void entry_make(MemoEntry *entry, MemoMake make, void *context) {
    BugGuard guard;
    if (BUG_GUARD(&guard)) {
        entry->result = make(context, entry->arena);
        bug_guard_end(&guard);
        return;
    }
    entry->failure = arena_strdup(entry->arena, guard.message);
}

/// Requires the lock.
static MemoEntry *entry_add(Memo *memo, Str key, Arena *arena) {
    MemoEntry *entry = ARENA_NEW(memo->arena, MemoEntry);
    entry->arena = arena;
    map_set(&memo->entries, (Str){arena_strndup(memo->arena, key.data, key.size), key.size}, entry);
    return entry;
}

static const MemoEntry *entry_get(Memo *memo, Str key, MemoMake make, void *context) {
    pthread_mutex_lock(&memo->lock);
    MemoEntry *entry = map_get(&memo->entries, key);
    bool is_mine = !entry;
    if (is_mine) {
        entry = entry_add(memo, key, arena_new());
        pthread_mutex_unlock(&memo->lock);
        entry_make(entry, make, context);
        pthread_mutex_lock(&memo->lock);
        entry->is_made = true;
        pthread_cond_broadcast(&memo->made);
    }
    while (!entry->is_made) pthread_cond_wait(&memo->made, &memo->lock);
    pthread_mutex_unlock(&memo->lock);
    return entry;
}

const void *memo_get(Memo *memo, Str key, MemoMake make, void *context) {
    StepBudget *paused =
        budget_pause();  // all who ask have the result, and nothing ends with the lock held
    const MemoEntry *entry = entry_get(memo, key, make, context);
    budget_resume(paused);
    if (entry->failure) BUG("%s", entry->failure);
    return entry->result;
}

const void *memo_find(Memo *memo, Str key) {
    pthread_mutex_lock(&memo->lock);
    const MemoEntry *entry = map_get(&memo->entries, key);
    const void *result = entry ? entry->result : NULL;
    pthread_mutex_unlock(&memo->lock);
    return result;
}

const void *memo_keep(Memo *memo, Str key, Arena *arena, const void *result) {
    StepBudget *paused = budget_pause();  // nothing ends with the lock held
    pthread_mutex_lock(&memo->lock);
    const MemoEntry *first = map_get(&memo->entries, key);
    if (!first) {
        MemoEntry *entry = entry_add(memo, key, arena);
        entry->result = result;
        entry->is_made = true;
        memo->bytes += arena_bytes(arena);
        first = entry;
    } else {
        arena_free(arena);
    }
    pthread_mutex_unlock(&memo->lock);
    budget_resume(paused);
    return first->result;
}

size_t memo_bytes(Memo *memo) {
    pthread_mutex_lock(&memo->lock);
    size_t bytes = memo->bytes;
    pthread_mutex_unlock(&memo->lock);
    return bytes;
}
