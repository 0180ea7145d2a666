// A conversation with a model as the two formats have it: a request's text out, the words of an answer in.
#ifndef TAD_SERVER_MODEL_CHAT_H
#define TAD_SERVER_MODEL_CHAT_H

#include "server/model/model.h"
#include "server/network/http.h"

typedef struct ChatTurn {
    bool is_answer;  // the model's words, else ours
    const char *text;
} ChatTurn;

typedef struct Chat {
    const char *system;
    LIST(ChatTurn) turns;
} Chat;

typedef struct ChatReply {
    const char *text;
    int input_tokens, output_tokens;  // as counted there; where nobody counts, by length
    bool is_cut;                      // there was no room for the rest
} ChatReply;

/// Where the request goes.
const char *chat_url(Arena *arena, const ModelSettings *settings);
/// NULL-terminated, without the one that holds the key; `shows`: for a person, who is told of that one.
const char *const *chat_headers(Arena *arena, const ModelSettings *settings, bool shows);
/// What the header with the key begins with.
const char *chat_key_header(const ModelSettings *settings);
/// What is sent, byte for byte.
const char *chat_body(Arena *arena, const ModelSettings *settings, const Chat *chat);
/// Whether the answer has come to its end, if only because the server says in its midst that it failed.
HttpVerdict chat_verdict(const ModelSettings *settings, Str body);
/// The reply in the body of an answer with status 200, streamed or in one piece.
Error chat_read(Arena *arena, const ModelSettings *settings, Str body, ChatReply *reply);
/// What the body of another answer says, in its own words; "" where it says nothing.
const char *chat_complaint(Arena *arena, Str body);

#endif
