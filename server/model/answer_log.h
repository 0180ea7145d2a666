// The answers of a session that has not ended, in a file of the user's own: what was paid for is not lost with a crash, or when it is cancelled.
#ifndef TAD_SERVER_MODEL_ANSWER_LOG_H
#define TAD_SERVER_MODEL_ANSWER_LOG_H

#include "server/model/transcript.h"

typedef struct AnswerLog AnswerLog;

/// Opens the one of this session: `what` says all that it depends on. NULL where there is no place for it, or it could be another's.
AnswerLog *answer_log_open(Arena *arena, const ModelSettings *settings, const char *workspace,
                           const char *what);
/// Answers of an earlier run that are still to be had.
int answer_log_left(const AnswerLog *log);
/// The next of them, where it was an answer to this request; else false from now on.
bool answer_log_next(AnswerLog *log, const char *body, ChatReply *reply);
/// Notes an answer, in the file as well. A file that cannot be written is no reason to stop.
void answer_log_add(AnswerLog *log, const char *body, const ChatReply *reply);
/// As transcript_next_measured, of the earlier run; NULL: measure it.
const Json *answer_log_next_measured(AnswerLog *log);
void answer_log_add_measured(AnswerLog *log, const Json *measured);
/// The session has come to its end: the file goes.
void answer_log_end(AnswerLog *log);

#endif
