// Workers beside the one that times: they compile what a search is going to ask for, so that it finds it kept.
#ifndef TAD_SERVER_TIMES_AHEAD_H
#define TAD_SERVER_TIMES_AHEAD_H

#include "server/proofs/runner_client.h"

/// A variant by its text. `plan`: of the request `plan`, or NULL where `compile`, of the request `compile`, has its plan.
typedef struct AheadWish {
    const char *text;
    Json *plan, *compile;
} AheadWish;

typedef struct Ahead Ahead;
/// In `arena`. `command`: of a worker.
Ahead *ahead_new(Arena *arena, Loop *loop, const char *const *command, int workers);
bool ahead_knows(const Ahead *ahead, const char *text);
/// To be compiled when a worker is free.
void ahead_wish(Ahead *ahead, const AheadWish *wish);
/// True where a worker compiles the variant now: `done` comes once from the loop when it has ended. Otherwise none begins with it any more.
bool ahead_wait(Ahead *ahead, const char *text, void (*done)(void *context), void *context);
/// Ends all workers; nothing comes any more.
void ahead_close(Ahead *ahead);

#endif
