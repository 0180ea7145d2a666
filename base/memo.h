// Results that are made once each, by whichever thread asks first, and then shared.
#ifndef TAD_BASE_MEMO_H
#define TAD_BASE_MEMO_H

#include "base/arena.h"
#include "base/text.h"

typedef struct Memo Memo;
/// Makes a result in `arena`, which lives as long as the memo. It must not ask the same memo.
typedef void *(*MemoMake)(void *context, Arena *arena);

Memo *memo_new(void);
/// Frees all results. No thread may use the memo any more. NULL is allowed.
void memo_free(Memo *memo);
/// What `make` returns for this key: called by the first who asks, while others that ask for the same key wait and those that
/// ask for another do not. The result is shared, so nobody may change it. A BUG in `make` is raised for all who ask.
const void *memo_get(Memo *memo, Str key, MemoMake make, void *context);

/// For results whose making may be interrupted, and of which only so many are kept. What is kept for the key, or NULL.
const void *memo_find(Memo *memo, Str key);
/// Keeps a result that the caller made in `arena`, which is the memo's from here on. Of several threads that made one the first
/// is kept, and returned to all. Not for keys that memo_get is asked for.
const void *memo_keep(Memo *memo, Str key, Arena *arena, const void *result);
/// Bytes of all that was kept so.
size_t memo_bytes(Memo *memo);

#endif
