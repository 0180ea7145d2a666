// The end of a session: a client that says no more may still wait for answers.
#include "server/queues/leave.h"

#include "server/queues/request.h"
#include "server/session/session.h"

/// How long a client that does not read is waited for.
enum { LAST_WRITES_MS = 1000 };

/// A client that still reads is waited for.
static void watch_last_writes(void *context) {
    Server *server = context;
    size_t backlog = stream_backlog(server->stream);
    if (backlog >= server->last_backlog) loop_stop(server->loop);
    server->last_backlog = backlog;
}

void server_end(Server *server) {
    if (server->is_ending) return;
    server->is_ending = true;
    server->last_backlog = stream_backlog(server->stream);
    if (server->last_backlog)
        timer_start(server->loop, LAST_WRITES_MS, LAST_WRITES_MS, watch_last_writes, server);
    else
        loop_stop(server->loop);
}

/// Without an answer of its own: diagnostics that are on their way.
static bool is_owed(const Request *request) {
    return request->id ? !request->is_answered : request->queue == QUEUE_FAST;
}

static Request *first_owed(const Server *server) {
    Request *request = server->in_flight;
    while (request && !is_owed(request)) request = request->next;
    return request;
}

static Request *first_unanswered(const Server *server) {
    Request *request = server->in_flight;
    while (request && (!request->id || request->is_answered)) request = request->next;
    return request;
}

void server_leave_on(Server *server) {
    if (!server->is_leaving || server->is_ending || first_owed(server)) return;
    if (!server->publish_held(server)) server_end(server);
}

static void leave_tick(void *context) {
    Server *server = context;
    if (stream_is_broken(server->stream)) {
        loop_stop(server->loop);
    } else if (!server->is_ending && loop_now_ms(server->loop) >= server->leave_until_ms) {
        for (Request *request; (request = first_unanswered(server));) request_cancel(request);
        server_end(server);
    }
}

void server_leave(Server *server, uint64_t patience_ms) {
    enum { TICK_MS = 100 };
    uint64_t until_ms = loop_now_ms(server->loop) + patience_ms;
    if (server->is_ending || (server->is_leaving && server->leave_until_ms <= until_ms)) return;
    if (!server->is_leaving) timer_start(server->loop, TICK_MS, TICK_MS, leave_tick, server);
    server->is_leaving = true;
    server->leave_until_ms = until_ms;
    if (stream_is_broken(server->stream))
        server_end(server);
    else
        server_leave_on(server);
}
