// A queue, and workers that take from it. What goes wrong here goes wrong again where the variant is timed, and is told there.
#include "server/times/ahead.h"

#include <string.h>

#include "base/list.h"

enum { PLAN_LIMIT_MS = 60000, COMPILE_LIMIT_MS = 120000 };

typedef enum WishState { WISH_WAITS, WISH_COMPILES, WISH_ENDED } WishState;

typedef struct AheadItem {
    AheadWish wish;
    WishState state;
} AheadItem;

typedef struct AheadWorker {
    Ahead *ahead;
    RunnerClient *client;
    AheadItem *item;  // NULL: it is free
} AheadWorker;

struct Ahead {
    Arena *arena;
    AheadWorker *workers;
    int count;
    LIST(AheadItem *) items;
    const AheadItem *awaited;
    void (*done)(void *context);
    void *context;
};

Ahead *ahead_new(Arena *arena, Loop *loop, const char *const *command, int workers) {
    Ahead *ahead = ARENA_NEW(arena, Ahead);
    *ahead = (Ahead){
        .arena = arena, .workers = ARENA_ARRAY(arena, AheadWorker, workers + 1), .count = workers};
    for (int i = 0; i < workers; i++)
        ahead->workers[i] = (AheadWorker){
            .ahead = ahead, .client = runner_client_new(arena, loop, command, NULL, NULL)};
    return ahead;
}

static AheadItem *item_of(const Ahead *ahead, const char *text) {
    for (LIST_EACH(int, i, ahead->items))
        if (strcmp(ahead->items.items[i]->wish.text, text) == 0) return ahead->items.items[i];
    return NULL;
}

bool ahead_knows(const Ahead *ahead, const char *text) { return item_of(ahead, text) != NULL; }

static void worker_next(AheadWorker *worker);

static void wish_ended(AheadWorker *worker) {
    Ahead *ahead = worker->ahead;
    const AheadItem *item = worker->item;
    worker->item->state = WISH_ENDED;
    worker->item = NULL;
    worker_next(worker);
    if (ahead->awaited != item) return;
    ahead->awaited = NULL;
    ahead->done(ahead->context);
}

static void wish_compiled(void *context, RunnerTrouble trouble, const Json *result,
                          const char *message) {
    AheadWorker *worker = context;
    (void)result;
    (void)message;
    if (trouble != RUNNER_OK && trouble != RUNNER_REFUSED) runner_client_close(worker->client);
    wish_ended(worker);
}

static void wish_planned(void *context, RunnerTrouble trouble, const Json *result,
                         const char *message) {
    AheadWorker *worker = context;
    Ahead *ahead = worker->ahead;
    if (trouble != RUNNER_OK) {
        wish_compiled(context, trouble, result, message);
        return;
    }
    Json *plan = json_copy(ahead->arena, result), *compile = worker->item->wish.compile;
    json_set(plan, "launches", json_array(ahead->arena));
    json_set(compile, "plan", plan);
    runner_client_request(worker->client, "compile", compile, COMPILE_LIMIT_MS, wish_compiled,
                          worker);
}

static void worker_next(AheadWorker *worker) {
    Ahead *ahead = worker->ahead;
    for (LIST_EACH(int, i, ahead->items)) {
        AheadItem *item = ahead->items.items[i];
        if (item->state != WISH_WAITS) continue;
        item->state = WISH_COMPILES;
        worker->item = item;
        if (item->wish.plan)
            runner_client_request(worker->client, "plan", item->wish.plan, PLAN_LIMIT_MS,
                                  wish_planned, worker);
        else
            runner_client_request(worker->client, "compile", item->wish.compile, COMPILE_LIMIT_MS,
                                  wish_compiled, worker);
        return;
    }
}

void ahead_wish(Ahead *ahead, const AheadWish *wish) {
    if (ahead_knows(ahead, wish->text)) return;
    AheadItem *item = ARENA_NEW(ahead->arena, AheadItem);
    *item = (AheadItem){.wish = *wish};
    item->wish.text = arena_strdup(ahead->arena, wish->text);
    LIST_PUSH(ahead->arena, &ahead->items, item);
    for (int i = 0; i < ahead->count; i++)
        if (!ahead->workers[i].item) {
            worker_next(&ahead->workers[i]);
            return;
        }
}

bool ahead_wait(Ahead *ahead, const char *text, void (*done)(void *context), void *context) {
    AheadItem *item = item_of(ahead, text);
    if (item && item->state == WISH_COMPILES) {
        ahead->awaited = item;
        ahead->done = done;
        ahead->context = context;
        return true;
    }
    if (item) item->state = WISH_ENDED;
    return false;
}

void ahead_close(Ahead *ahead) {
    for (int i = 0; i < ahead->count; i++) runner_client_close(ahead->workers[i].client);
}
