// The end of a session: a client that says no more may still wait for answers.
#include "server/session.h"

/// Without an answer of its own: diagnostics that are on their way.
static bool is_owed(const Request *request) {
    return request->id ? !request->is_answered : request->lane == LANE_FAST;
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
    if (!publish_held(server)) server_end(server);
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
