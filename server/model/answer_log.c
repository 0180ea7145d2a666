// A transcript, written anew after each answer. Requests that differ from those of the earlier run end the resuming, not the session.
#include "server/model/answer_log.h"

#include <unistd.h>

#include "base/map.h"
#include "server/system/files.h"
#include "server/system/output.h"
#include "server/system/private.h"

struct AnswerLog {
    Arena *arena;
    const char *path;
    Transcript *earlier;  // NULL: there is none, or it has come to its end
    Transcript *now;
};

static Transcript *read_earlier(Arena *arena, const char *path, const ModelSettings *settings) {
    Transcript *transcript = NULL;
    ModelSettings of;
    if (!file_exists(path) || private_refuse(arena, path)) return NULL;
    if (transcript_read(arena, path, &transcript, &of)) return NULL;
    bool is_same = strcmp(of.model, settings->model) == 0 &&
                   strcmp(of.endpoint, settings->endpoint) == 0 && of.api == settings->api;
    return is_same ? transcript : NULL;
}

AnswerLog *answer_log_open(Arena *arena, const ModelSettings *settings, const char *workspace,
                           const char *what) {
    Error error;
    const char *name =
        arena_printf(arena, "sessions/%016llx.json", (unsigned long long)map_hash(str_from(what)));
    const char *path =
        private_path(arena, "XDG_STATE_HOME", ".local/state", name, workspace, &error);
    if (!path) return NULL;
    private_make_folder(arena, path_folder(arena, path));
    if (private_refuse(arena, path_folder(arena, path))) return NULL;
    AnswerLog *log = ARENA_NEW(arena, AnswerLog);
    *log = (AnswerLog){arena, path, read_earlier(arena, path, settings),
                       transcript_new(arena, settings)};
    return log;
}

int answer_log_left(const AnswerLog *log) {
    return log->earlier ? transcript_left(log->earlier) : 0;
}

bool answer_log_next(AnswerLog *log, const char *body, ChatReply *reply) {
    if (log->earlier && !transcript_next(log->earlier, body, reply)) return true;
    log->earlier = NULL;
    return false;
}

void answer_log_add(AnswerLog *log, const char *body, const ChatReply *reply) {
    transcript_add(log->now, body, reply);
    if (answer_log_left(log)) return;  // the file has more
    Output output = {.path = log->path, .root = "/", .is_forced = true};
    (void)output_write(log->arena, &output, transcript_text(log->now));
}

const Json *answer_log_next_measured(AnswerLog *log) {
    return log->earlier ? transcript_next_measured(log->earlier) : NULL;
}

void answer_log_add_measured(AnswerLog *log, const Json *measured) {
    transcript_add_measured(log->now, measured);
}

void answer_log_end(AnswerLog *log) {
    if (log) unlink(log->path);
}
