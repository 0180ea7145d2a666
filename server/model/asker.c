// What a server says is stripped of the key before anybody sees it.
#include "server/model/asker.h"

#include "server/model/answer_log.h"
#include "server/network/http.h"
#include "server/system/loop.h"

Asker asker_new(Arena *arena, const ModelSettings *settings) {
    return (Asker){.arena = arena, .settings = settings, .started_s = (double)clock_ns() / 1e9};
}

double asker_seconds(const Asker *asker) { return (double)clock_ns() / 1e9 - asker->started_s; }

const char *asker_price(const Asker *asker) {
    const ModelSettings *settings = asker->settings;
    if (settings->price_input < 0 && settings->price_output < 0 && !(asker->cost > 0)) return "";
    return arena_printf(asker->arena, " (%.4f by your prices)", asker->cost);
}

const char *asker_stalled(const Asker *asker, int answers) {
    return arena_printf(asker->arena, "%d answer%s without a gain", answers,
                        answers == 1 ? "" : "s");
}

void asker_tell(const Asker *asker, const char *what) {
    if (asker->tells) asker->tells(asker->context, what);
}

const Json *asker_measured(Asker *asker) {
    const Json *played = asker->played ? transcript_next_measured(asker->played) : NULL;
    return !played && asker->log ? answer_log_next_measured(asker->log) : played;
}

void asker_note(Asker *asker, const Json *measured) {
    if (asker->kept) transcript_add_measured(asker->kept, measured);
    if (asker->log) answer_log_add_measured(asker->log, measured);
}

static HttpVerdict verdict_of(void *context, Str body) { return chat_verdict(context, body); }

static Error status_error(Asker *asker, const HttpAnswer *answer) {
    const char *said = chat_complaint(asker->arena, answer->body);
    const char *meaning = answer->status == 401 || answer->status == 403 ? " (the key)"
                          : answer->status == 404 ? " (the endpoint, or the model's name)"
                          : answer->status >= 300 && answer->status < 400
                              ? " (it points to another place, and redirections are not followed)"
                          : answer->status == 429 ? " (too many requests)"
                                                  : "";
    const char *wish = "";
    if ((answer->status == 429 || answer->status >= 500) && answer->retry_after_s > 0)
        wish = arena_printf(asker->arena, " (it asks to wait %.0f s)", answer->retry_after_s);
    return arena_printf(asker->arena, "the server answers %d%s%s%s%s", answer->status, meaning,
                        *said ? ": " : "", said, wish);
}

static Error ask_server(Asker *asker, const char *body, ChatReply *reply) {
    const ModelSettings *settings = asker->settings;
    Arena *arena = asker->arena;
    HttpRequest request = {.url = chat_url(arena, settings),
                           .headers = chat_headers(arena, settings, false),
                           .secret_header = chat_key_header(settings),
                           .secret = settings->key,
                           .body = body,
                           .proxy = settings->proxy,
                           .ca_file = settings->ca_file,
                           .max_seconds = settings->max_seconds - asker_seconds(asker),
                           .goes_on = asker->goes_on,
                           .context = asker->context};
    HttpAnswer answer;
    Error error = http_post(arena, &request, verdict_of, (void *)(uintptr_t)settings, &answer);
    asker->tries += answer.tries;
    if (!error && answer.status != 200) error = status_error(asker, &answer);
    if (!error) error = chat_read(arena, settings, answer.body, reply);
    return error;
}

Error asker_ask(Asker *asker, const Chat *chat, ChatReply *reply) {
    const ModelSettings *settings = asker->settings;
    Arena *arena = asker->arena;
    const char *body = chat_body(arena, settings, chat);
    if (asker->goes_on && !asker->goes_on(asker->context, 0)) return "cancelled";
    if ((double)(asker->input_tokens + asker->output_tokens) >= settings->max_tokens)
        return arena_printf(arena, "the budget of %.0f tokens is spent", settings->max_tokens);
    if (!asker->played && asker_seconds(asker) >= settings->max_seconds)
        return arena_printf(arena, "the budget of %.0f seconds is spent", settings->max_seconds);
    Error error = NULL;
    bool is_known = asker->log && answer_log_next(asker->log, body, reply);
    if (!is_known)
        error = asker->played ? transcript_next(asker->played, body, reply)
                              : ask_server(asker, body, reply);
    if (error) return model_redacted(arena, settings, error);
    reply->text = model_redacted(arena, settings, reply->text);
    if (!is_known && !asker->played && reply->input_tokens <= 1)
        reply->input_tokens = (int)(strlen(body) / 4);
    asker->questions++;
    asker->input_tokens += reply->input_tokens;
    asker->output_tokens += reply->output_tokens;
    asker->cost += model_price(settings, reply->input_tokens, reply->output_tokens);
    if (asker->kept) transcript_add(asker->kept, body, reply);
    if (asker->log) answer_log_add(asker->log, body, reply);
    return NULL;
}
