// OpenAI's chat completions, as most servers speak them, and Anthropic's messages. Both stream events of JSON.
#include "server/model/chat.h"

#include <stdlib.h>

#include "base/json.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/// Where nobody counts tokens: about as many bytes are one.
enum { BYTES_A_TOKEN = 4 };

const char *chat_url(Arena *arena, const ModelSettings *settings) {
    size_t size = strlen(settings->endpoint);
    while (size && settings->endpoint[size - 1] == '/') size--;
    return arena_printf(arena, "%.*s/%s", (int)size, settings->endpoint,
                        settings->api == MODEL_ANTHROPIC ? "messages" : "chat/completions");
}

const char *chat_key_header(const ModelSettings *settings) {
    return settings->api == MODEL_ANTHROPIC ? "x-api-key: " : "Authorization: Bearer ";
}

const char *const *chat_headers(Arena *arena, const ModelSettings *settings, bool shows) {
    LIST(const char *) headers = {0};
    bool is_anthropic = settings->api == MODEL_ANTHROPIC;
    LIST_PUSH(arena, &headers, "Content-Type: application/json");
    LIST_PUSH(arena, &headers, "User-Agent: tad-lsp/" TAD_VERSION);
    if (is_anthropic) LIST_PUSH(arena, &headers, "anthropic-version: 2023-06-01");
    if (settings->key && shows)
        LIST_PUSH(arena, &headers,
                  arena_printf(arena, "%s(the value of $%s)", chat_key_header(settings),
                               settings->key_variable));
    LIST_PUSH(arena, &headers, NULL);
    return headers.items;
}

static void push_turn(Json *messages, const char *role, const char *text) {
    Json *message = json_object(messages->arena);
    json_set_string(message, "role", role);
    json_set_string(message, "content", text);
    json_push(messages, message);
}

/// The tokens that a model may think with, by effort; they count among those that it may answer with.
static int thinking_tokens(const char *effort) {
    if (strcmp(effort, "low") == 0) return 2048;
    return strcmp(effort, "medium") == 0 ? 8192 : 24576;
}

enum { ANSWER_TOKENS = 8192 };  // some think aloud first

static void set_effort(const ModelSettings *settings, Json *body) {
    bool is_anthropic = settings->api == MODEL_ANTHROPIC;
    int most = ANSWER_TOKENS;
    if (settings->effort && is_anthropic) {
        Json *thinking = json_object(body->arena);
        json_set_string(thinking, "type", "enabled");
        json_set_number(thinking, "budget_tokens", thinking_tokens(settings->effort));
        json_set(body, "thinking", thinking);
        most += thinking_tokens(settings->effort);
    } else if (settings->effort) {
        json_set_string(body, "reasoning_effort", settings->effort);
        json_set_number(body, "max_completion_tokens", most + thinking_tokens(settings->effort));
        return;
    }
    json_set_number(body, "max_tokens", most);
}

const char *chat_body(Arena *arena, const ModelSettings *settings, const Chat *chat) {
    bool is_anthropic = settings->api == MODEL_ANTHROPIC;
    Json *body = json_object(arena), *messages = json_array(arena);
    json_set_string(body, "model", settings->model);
    if (is_anthropic)
        json_set_string(body, "system", chat->system);
    else
        push_turn(messages, "system", chat->system);
    for (LIST_EACH(int, i, chat->turns))
        push_turn(messages, chat->turns.items[i].is_answer ? "assistant" : "user",
                  chat->turns.items[i].text);
    json_set(body, "messages", messages);
    set_effort(settings, body);
    if (settings->temperature >= 0) json_set_number(body, "temperature", settings->temperature);
    json_set_bool(body, "stream", true);
    if (!is_anthropic) {
        Json *options = json_object(arena);
        json_set_bool(options, "include_usage", true);
        json_set(body, "stream_options", options);
    }
    return json_print(arena, body, true);
}

// --- answers

typedef struct ChatReading {
    Arena *arena;
    bool is_anthropic;
    Buffer text;
    double input, output;  // tokens
    bool is_ended, is_cut;
    bool is_stream;         // a line of a stream has been read
    bool is_object;         // a value has been read as a whole
    bool is_answer;         // it had the form of an answer
    const char *complaint;  // an error in the midst of a stream, or NULL
    bool is_busy;           // it says that another attempt may do
} ChatReading;

static void note_end(ChatReading *reading, const char *why) {
    if (!*why) return;
    reading->is_ended = true;
    reading->is_cut = strcmp(why, "length") == 0 || strcmp(why, "max_tokens") == 0;
}

static void note_usage(ChatReading *reading, const Json *usage) {
    reading->input = json_get_number(
        usage, reading->is_anthropic ? "input_tokens" : "prompt_tokens", reading->input);
    reading->output = json_get_number(
        usage, reading->is_anthropic ? "output_tokens" : "completion_tokens", reading->output);
}

static const Json *first_of(const Json *array) {
    return array && array->kind == JSON_ARRAY && array->count ? array->items[0] : NULL;
}

/// What the formats call a failure that passes: their `type`, or a status in the place of `code`.
static bool passes(const Json *error) {
    static const char *const types[] = {
        "overloaded_error",    "rate_limit_error", "api_error",  "timeout_error",
        "rate_limit_exceeded", "server_error",     "overloaded", "unavailable_error",
    };
    enum { TOO_MANY = 429, SERVER_FAILED = 500, LAST = 599 };
    const char *type = json_get_string(error, "type", ""),
               *name = json_get_string(error, "code", "");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i]) == 0 || strcmp(name, types[i]) == 0) return true;
    double code = json_get_number(error, "code", strtod(name, NULL));
    return code == TOO_MANY || (code >= SERVER_FAILED && code <= LAST);
}

/// `{"error": {"message": ...}}`, `{"error": "..."}`, and an event that is one by itself: `{"type": "error", "message": ...}`.
static void note_error(ChatReading *reading, const Json *value, bool is_event) {
    const Json *error = json_get(value, "error");
    bool is_said = is_event || strcmp(json_get_string(value, "type", ""), "error") == 0 ||
                   strcmp(json_get_string(value, "object", ""), "error") == 0;
    if ((!error || error->kind == JSON_NULL) && is_said) error = value;
    if (!error || error->kind == JSON_NULL) return;
    const char *text = error->kind == JSON_STRING ? str_dup(reading->arena, error->string)
                                                  : json_get_string(error, "message", "");
    if (!*text) text = json_get_string(error, "type", "");
    reading->complaint = *text ? text : "it gives no reason";
    reading->is_busy = error->kind == JSON_OBJECT && passes(error);
}

/// Words, or a list of parts of which some are words.
static void read_content(ChatReading *reading, const Json *content) {
    if (content && content->kind == JSON_STRING)
        buffer_add(&reading->text, content->string.data, content->string.size);
    for (int i = 0; content && content->kind == JSON_ARRAY && i < content->count; i++)
        buffer_puts(&reading->text, json_get_string(content->items[i], "text", ""));
}

/// One event of a stream, or the whole answer.
static void read_openai(ChatReading *reading, const Json *value) {
    const Json *choice = first_of(json_get(value, "choices"));
    const Json *words = json_get(choice, "delta");
    if (!words) words = json_get(choice, "message");
    if (words) reading->is_answer = true;
    read_content(reading, json_get(words, "content"));
    buffer_puts(&reading->text, json_get_string(words, "refusal", ""));
    note_end(reading, json_get_string(choice, "finish_reason", ""));
    note_usage(reading, json_get(value, "usage"));
}

static void read_anthropic(ChatReading *reading, const Json *value) {
    const char *type = json_get_string(value, "type", "");
    const Json *delta = json_get(value, "delta"), *content = json_get(value, "content");
    if (strcmp(type, "content_block_delta") == 0)
        buffer_puts(&reading->text, json_get_string(delta, "text", ""));
    if (content) reading->is_answer = true;
    read_content(reading, content);
    note_end(reading, json_get_string(delta, "stop_reason", ""));
    note_end(reading, json_get_string(value, "stop_reason", ""));
    note_usage(reading, json_get(json_get(value, "message"), "usage"));
    note_usage(reading, json_get(value, "usage"));
}

/// `is_error`: what is around it calls it one.
static void read_value(ChatReading *reading, Str text, bool is_error) {
    Error error = NULL;
    const Json *value = json_parse(reading->arena, text, &error);
    bool is_object = !error && value && value->kind == JSON_OBJECT;
    if (!is_object && is_error && text.size) reading->complaint = str_dup(reading->arena, text);
    if (!is_object || reading->complaint) return;
    reading->is_object = true;
    note_error(reading, value, is_error);
    if (reading->is_anthropic)
        read_anthropic(reading, value);
    else
        read_openai(reading, value);
}

static ChatReading read_body(Arena *arena, const ModelSettings *settings, Str body) {
    ChatReading reading = {.arena = arena,
                           .is_anthropic = settings->api == MODEL_ANTHROPIC,
                           .text = buffer_new(arena),
                           .input = -1,
                           .output = -1};
    if (str_starts(body, BYTE_ORDER_MARK)) body = (Str){body.data + 3, body.size - 3};
    Str trimmed = str_trim(body);
    if (trimmed.size && trimmed.data[0] == '{') {
        read_value(&reading, trimmed, false);
        if (reading.is_answer) reading.is_ended = true;  // some do not say so
        return reading;
    }
    bool is_error = false;  // the event at hand
    for (size_t at = 0; at < body.size;) {
        const char *end = memchr(body.data + at, '\n', body.size - at);
        size_t size = end ? (size_t)(end - body.data) - at : body.size - at;
        Str line = str_trim((Str){body.data + at, size});
        at += size + 1;
        if (!line.size) is_error = false;
        bool is_own_line = str_starts(line, "error:");  // of the server of llama.cpp
        bool is_data = is_own_line || str_starts(line, "data:");
        if (is_data || str_starts(line, "event:") || str_starts(line, ":"))
            reading.is_stream = true;
        if (str_starts(line, "event:"))
            is_error = str_is(str_trim((Str){line.data + 6, line.size - 6}), "error");
        if (!is_data) continue;
        line =
            str_trim((Str){line.data + (is_own_line ? 6 : 5), line.size - (is_own_line ? 6 : 5)});
        if (str_is(line, "[DONE]"))
            reading.is_ended = true;
        else
            read_value(&reading, line, is_error || is_own_line);
    }
    return reading;
}

/// Whether what came is whole, and something else than an answer: a page of a proxy, another format.
static bool is_something_else(const ChatReading *reading, Str body) {
    Str trimmed = str_trim(body);
    bool may_go_on = trimmed.size && trimmed.data[0] == '{' && !reading->is_object;
    return trimmed.size && !may_go_on && !reading->is_stream && !reading->is_answer &&
           !reading->complaint && !reading->is_ended;
}

HttpVerdict chat_verdict(const ModelSettings *settings, Str body) {
    Arena *arena = arena_new();
    ChatReading reading = read_body(arena, settings, body);
    HttpVerdict verdict = reading.complaint ? reading.is_busy ? HTTP_BUSY : HTTP_WHOLE
                          : reading.is_ended || is_something_else(&reading, body) ? HTTP_WHOLE
                                                                                  : HTTP_BROKEN_OFF;
    arena_free(arena);
    return verdict;
}

static int token_count(double counted, size_t bytes) {
    return counted >= 0 && counted < 1e9 ? (int)counted : (int)(bytes / BYTES_A_TOKEN) + 1;
}

static const char *shortened(Arena *arena, Str text) {
    enum { MOST_SHOWN = 300 };
    return arena_printf(arena, "%.*s", (int)(text.size > MOST_SHOWN ? MOST_SHOWN : text.size),
                        text.data);
}

Error chat_read(Arena *arena, const ModelSettings *settings, Str body, ChatReply *reply) {
    ChatReading reading = read_body(arena, settings, body);
    if (reading.complaint)
        return arena_printf(arena, "the server ended its answer with an error: %s",
                            shortened(arena, str_from(reading.complaint)));
    if (is_something_else(&reading, body)) {
        enum { MOST_QUOTED = 60 };
        Str said = str_trim(body);
        const char *end = memchr(said.data, '\n', said.size);
        if (end) said = str_trim((Str){said.data, (size_t)(end - said.data)});
        if (said.size > MOST_QUOTED) said.size = MOST_QUOTED;
        return arena_printf(arena,
                            "what the server sent is no answer in the format that `api` names "
                            "(%s): it begins `%.*s`; look at the endpoint",
                            settings->api == MODEL_ANTHROPIC ? "anthropic" : "openai",
                            STR_ARGS(said));
    }
    if (!reading.is_ended) return "the answer broke off";
    const char *text = buffer_text(&reading.text);
    *reply = (ChatReply){.text = text,
                         .input_tokens = token_count(reading.input, 0),
                         .output_tokens = token_count(reading.output, strlen(text)),
                         .is_cut = reading.is_cut};
    return NULL;
}

const char *chat_complaint(Arena *arena, Str body) {
    ModelSettings any = {.api = MODEL_OPENAI};
    ChatReading reading = read_body(arena, &any, body);
    return shortened(arena, reading.complaint ? str_from(reading.complaint) : str_trim(body));
}
