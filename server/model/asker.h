// One question after the other, within the budget: over the network, or out of a transcript.
#ifndef TAD_SERVER_MODEL_ASKER_H
#define TAD_SERVER_MODEL_ASKER_H

#include "server/model/transcript.h"

typedef struct Asker {
    Arena *arena;
    const ModelSettings *settings;
    Transcript *played;     // answers come from here; NULL: from the endpoint
    Transcript *kept;       // where questions and answers are noted; or NULL
    struct AnswerLog *log;  // of a session that may be resumed; or NULL
    double started_s;
    int questions, tries;  // tries over the network
    int64_t input_tokens, output_tokens;
    double cost;  // of these, by the prices that the settings had then
    /// As that of HttpRequest; also asked before each question.
    bool (*goes_on)(void *context, size_t bytes);
    /// What the session is at, where it asks nobody. May be NULL.
    void (*tells)(void *context, const char *what);
    void *context;
} Asker;

/// The budget begins now.
Asker asker_new(Arena *arena, const ModelSettings *settings);
/// The reply has no key in it, nor has an error.
Error asker_ask(Asker *asker, const Chat *chat, ChatReply *reply);
/// What was measured at this point of the session when it was recorded, or broke off; NULL: measure it. Either is told by asker_note.
const Json *asker_measured(Asker *asker);
void asker_note(Asker *asker, const Json *measured);
/// Says what the session is at.
void asker_tell(const Asker *asker, const char *what);
/// Why nothing more is asked after so many answers without a gain.
const char *asker_stalled(const Asker *asker, int answers);
double asker_seconds(const Asker *asker);
/// What it has cost so far, as " (0.0123 by your prices)"; "" where the user has said none.
const char *asker_price(const Asker *asker);

#endif
