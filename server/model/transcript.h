// Conversations in a file: what was sent and what came back, without the key, to be played again without a network.
#ifndef TAD_SERVER_MODEL_TRANSCRIPT_H
#define TAD_SERVER_MODEL_TRANSCRIPT_H

#include "server/model/chat.h"

typedef struct Transcript Transcript;

/// An empty one.
Transcript *transcript_new(Arena *arena, const ModelSettings *settings);
/// One that was written, and the settings that its requests were made with.
Error transcript_read(Arena *arena, const char *path, Transcript **transcript,
                      ModelSettings *settings);
void transcript_add(Transcript *transcript, const char *body, const ChatReply *reply);
/// The next answer, where the request is the one that was made then. An error where it is another, or none is left.
Error transcript_next(Transcript *transcript, const char *body, ChatReply *reply);
/// Answers that are still to be played.
int transcript_left(const Transcript *transcript);
/// What was measured on this machine between the answers, in its order: later requests tell of it.
void transcript_add_measured(Transcript *transcript, const Json *measured);
/// The next of it; NULL where none is left.
const Json *transcript_next_measured(Transcript *transcript);
const char *transcript_text(const Transcript *transcript);
bool transcript_is_ours(Arena *arena, Str text);

#endif
