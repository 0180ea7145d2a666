// A parent that the client's connection outlives the server with; a child that is the server, and talks with the client itself.
// The parent reads what they said a little later (server/crash/journal.h), to know what the client has told and waits for. When the
// child crashes, what is open is answered, and another child is told the same; the text that it was at is left alone.
#include "server/crash/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "server/crash/recollection.h"
#include "server/report/ours.h"
#include "server/system/child.h"
#include "server/system/output.h"

enum {
    TICK_MS = 1000,
    LAST_WRITES_MS = 1000,
    MOST_UNEXPLAINED = 5,  // crashes that no text is blamed for, within
    UNEXPLAINED_S = 180,
    QUEUE_OF_EDITS = 1,
    LONGEST_STEP_S = 30,  // of the processor's time, on the fast queue
};

/// The step that a queue was seen at, and how much time of the processor the server had taken then.
typedef struct Watched {
    uint64_t step;
    double since_s;
} Watched;

typedef struct Supervisor {
    const Options *options;
    ServeFunction *serve;
    Inheritance heir;  // of the next server
    Arena *arena;      // of what it inherits
    Buffer owed;
    size_t said_before;  // by all servers, when this one was started
    pid_t child;
    int bell;  // the other end is the server's, and closed when it is gone
    FrameReader from_client, from_server;
    size_t foreseen;  // bytes that from_server has and the server will still say: it inherits them
    Recollection *recollection;
    Watched watched[BLACKBOX_QUEUES];
    bool is_stuck;
    int unexplained;
    double unexplained_s[MOST_UNEXPLAINED];  // when the last of them came
} Supervisor;

// --- The child

/// The child never returns. False where there is none.
static bool server_fork(Supervisor *supervisor) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) return false;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    const Inheritance *heir = &supervisor->heir;
    blackbox_begin(heir->box);
    journal_begin(heir->journal, ends[1]);
    supervisor->said_before = journal_said(heir->journal, SPEAKER_SERVER);
    supervisor->is_stuck = false;
    memset(supervisor->watched, 0, sizeof supervisor->watched);
    supervisor->child = child_fork();
    if (supervisor->child == 0) {
        close(ends[0]);
        exit(supervisor->serve(supervisor->options, heir));
    }
    close(ends[1]);
    if (supervisor->child < 0) close(ends[0]);
    supervisor->bell = ends[0];
    return supervisor->child > 0;
}

static double clock_seconds(clockid_t clock) {
    struct timespec time;
    if (clock_gettime(clock, &time)) return 0;
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double child_seconds(const Supervisor *supervisor) {
    clockid_t clock;
    return clock_getcpuclockid(supervisor->child, &clock) ? 0 : clock_seconds(clock);
}

/// Tests need not wait so long.
static double limit_s(const char *test_variable, double usual) {
#ifdef TAD_FAULTS
    const char *shorter = getenv(test_variable);
    if (shorter) return strtod(shorter, NULL);
#endif
    (void)test_variable;
    return usual;
}

/// Whether the queue has been at one step for too long; what people wait for behind it is less urgent on the slow queues.
static bool queue_is_stuck(Supervisor *supervisor, int queue, double now_s) {
    enum { SLOWER = 4 };
    Watched *watched = &supervisor->watched[queue];
    uint64_t step = blackbox_step(supervisor->heir.box, queue);
    if (step != watched->step) *watched = (Watched){step, now_s};
    double longest_s = limit_s("TAD_LONGEST_STEP_S", LONGEST_STEP_S);
    return step && now_s - watched->since_s > longest_s * (queue == QUEUE_OF_EDITS ? 1 : SLOWER);
}

/// Ends a server that does not get on. Returns whether a queue is at work.
static bool watch_queues(Supervisor *supervisor) {
    double now_s = child_seconds(supervisor);
    bool is_at_work = false;
    for (int queue = QUEUE_OF_EDITS; queue < BLACKBOX_QUEUES && !supervisor->is_stuck; queue++) {
        if (!blackbox_step(supervisor->heir.box, queue)) continue;
        is_at_work = true;
        if (!queue_is_stuck(supervisor, queue, now_s)) continue;
        supervisor->is_stuck = true;
        journal_stop(supervisor->heir.journal);
        blackbox_accuse(supervisor->heir.box, queue);
        kill(supervisor->child, SIGKILL);
    }
    return is_at_work;
}

// --- What was said

/// The server answers what is malformed; here it is only passed over.
static void recollect_heard(Supervisor *supervisor) {
    FrameReader *reader = &supervisor->from_client;
    for (;;) {
        Str body;
        Error error = NULL;
        if (!frame_reader_next(reader, &body, &error)) {
            if (error) continue;
            return;
        }
        Arena *arena = arena_new();
        const Json *message = frame_parse(reader, arena, body, &error);
        if (message) recollect_client(supervisor->recollection, message);
        arena_free(arena);
    }
}

static void recollect_said(Supervisor *supervisor) {
    Str body;
    Error error = NULL;
    while (frame_reader_next(&supervisor->from_server, &body, &error))
        recollect_server(supervisor->recollection, body);
}

static void hear_server(Supervisor *supervisor, Str piece) {
    size_t known = piece.size < supervisor->foreseen ? piece.size : supervisor->foreseen;
    supervisor->foreseen -= known;
    frame_reader_add(&supervisor->from_server, piece.data + known, piece.size - known);
    recollect_said(supervisor);
}

static void hear_client(Supervisor *supervisor, Str piece) {
    frame_reader_add(&supervisor->from_client, piece.data, piece.size);
    recollect_heard(supervisor);
}

static bool read_speaker(Supervisor *supervisor, Speaker speaker, size_t end) {
    Journal *journal = supervisor->heir.journal;
    bool has_read = false;
    for (Str piece; (piece = journal_unread(journal, speaker, end)).size; has_read = true) {
        if (speaker == SPEAKER_CLIENT)
            hear_client(supervisor, piece);
        else
            hear_server(supervisor, piece);
        journal_forget(journal, speaker, piece.size);
    }
    return has_read;
}

/// Each answer after its request. Returns whether there was anything.
static bool read_journal(Supervisor *supervisor) {
    const Journal *journal = supervisor->heir.journal;
    size_t said = journal_said(journal, SPEAKER_SERVER);
    bool has_heard =
        read_speaker(supervisor, SPEAKER_CLIENT, journal_said(journal, SPEAKER_CLIENT));
    return read_speaker(supervisor, SPEAKER_SERVER, said) || has_heard;
}

// --- After a crash

static void add_owed(void *context, const Json *message) {
    Supervisor *supervisor = context;
    Str framed = frame_write(supervisor->arena, message);
    buffer_add(&supervisor->owed, framed.data, framed.size);
}

static void add_past(void *context, const Json *message) {
    Buffer *past = context;
    Str framed = frame_write(past->arena, message);
    buffer_add(past, framed.data, framed.size);
}

static void notify(Supervisor *supervisor, const char *method, const char *text) {
    enum { TYPE_ERROR = 1 };
    Arena *arena = arena_new();
    Json *message = json_object(arena), *params = json_object(arena);
    json_set_number(params, "type", TYPE_ERROR);
    json_set_string(params, "message", text);
    json_set_string(message, "jsonrpc", "2.0");
    json_set_string(message, "method", method);
    json_set(message, "params", params);
    add_owed(supervisor, message);
    arena_free(arena);
}

/// The first crash of a file is shown, more of them are logged.
static void tell_culprit(Supervisor *supervisor, const Culprit *culprit, const char *what) {
    Arena *arena = arena_new();
    const char *path = path_of_uri(arena, culprit->uri), *slash = strrchr(path, '/');
    const char *text = arena_printf(
        arena,
        "tad-lsp: the analysis of %s %s. This file is left alone until it changes, all "
        "others are served. Please report it, with the file.",
        slash ? slash + 1 : culprit->uri, what);
    notify(supervisor, culprit->crashes == 1 ? "window/showMessage" : "window/logMessage", text);
    arena_free(arena);
}

/// Counts a crash that no text explains. Sessions last for days: what was long ago is forgiven.
static void count_unexplained(Supervisor *supervisor, bool *is_first, bool *is_too_much) {
    double now_s = clock_seconds(CLOCK_MONOTONIC), *times_s = supervisor->unexplained_s;
    double window_s = limit_s("TAD_UNEXPLAINED_S", UNEXPLAINED_S);
    int count = supervisor->unexplained++;
    double last_s = times_s[(count + MOST_UNEXPLAINED - 1) % MOST_UNEXPLAINED];
    times_s[count % MOST_UNEXPLAINED] = now_s;
    double oldest_s = times_s[(count + 1) % MOST_UNEXPLAINED];
    *is_first = count == 0 || now_s - last_s > window_s;
    *is_too_much = count + 1 >= MOST_UNEXPLAINED && now_s - oldest_s <= window_s;
}

/// Says what happened. False where it makes no sense to go on.
static bool crash_tell(Supervisor *supervisor, int number) {
    Arena *arena = arena_new();
    Blackbox *box = supervisor->heir.box;
    if (!number) number = blackbox_signal(box);  // a sanitizer exits instead
    const char *what = supervisor->is_stuck
                           ? "did not end"
                           : arena_printf(arena, "crashed (%s)",
                                          number ? signal_text(number) : "it ended too early");
    Culprit culprits[BLACKBOX_QUEUES];
    int count = blackbox_blame(box, culprits);
    for (int i = 0; i < count; i++) tell_culprit(supervisor, &culprits[i], what);
    bool is_first = false, is_too_much = false;
    if (count == 0) count_unexplained(supervisor, &is_first, &is_too_much);
    if (is_too_much)
        say("the server %s, again and again; please report it", what);
    else if (count == 0)
        notify(supervisor, is_first ? "window/showMessage" : "window/logMessage",
               arena_printf(arena, "tad-lsp %s and was started again. Please report it.", what));
    arena_free(arena);
    return !is_too_much;
}

/// What the server was in the middle of saying: its inheritance, or a large message.
static Str unsaid(const Supervisor *supervisor) {
    const Journal *journal = supervisor->heir.journal;
    size_t said = journal_said(journal, SPEAKER_SERVER) - supervisor->said_before;
    Str owed = supervisor->heir.owed;
    return said < owed.size ? (Str){owed.data + said, owed.size - said} : journal_rest(journal);
}

/// The next server begins with that, in a fresh arena. What it holds counts as said.
static void renew_owed(Supervisor *supervisor) {
    Str left = unsaid(supervisor);
    Arena *fresh = arena_new();
    supervisor->owed = buffer_new(fresh);
    buffer_add(&supervisor->owed, left.data, left.size);
    arena_free(supervisor->arena);
    supervisor->arena = fresh;
    size_t known = supervisor->foreseen;
    supervisor->foreseen = 0;
    hear_server(supervisor, (Str){supervisor->owed.data + known, left.size - known});
    supervisor->foreseen = left.size;
}

/// Another server is told what the first one was told, up to the message that is on its way.
static bool server_restart(Supervisor *supervisor) {
    Inheritance *heir = &supervisor->heir;
    Buffer past = buffer_new(supervisor->arena);
    heir->is_greeted = recollection_replay(supervisor->recollection, add_past, &past);
    const FrameReader *reader = &supervisor->from_client;
    buffer_add(&past, reader->pending.data + reader->taken, reader->pending.size - reader->taken);
    heir->past = (Str){past.data, past.size};
    heir->owed = (Str){supervisor->owed.data, supervisor->owed.size};
    if (server_fork(supervisor)) return true;
    say("the server crashed and cannot be started again");
    return false;
}

/// Whether the stream to the client stands between two messages, once the journal is written.
static bool can_go_on(const Supervisor *supervisor) {
    const FrameReader *reader = &supervisor->from_server;
    if (reader->pending.size == reader->taken) return true;
    say("the server crashed in the middle of a message, and must be started anew");
    return false;
}

static void write_last(const Supervisor *supervisor) {
    const Inheritance *heir = &supervisor->heir;
    for (Str left; (left = journal_unwritten(heir->journal)).size;) {
        connection_write(&heir->client, left, LAST_WRITES_MS);
        journal_end_write(heir->journal, left.size);
    }
    connection_write(&heir->client, (Str){supervisor->owed.data, supervisor->owed.size},
                     LAST_WRITES_MS);
}

/// The server is gone. Returns whether there is another one; else `*status` is what to end with.
static bool server_follow(Supervisor *supervisor, int *status) {
    Inheritance *heir = &supervisor->heir;
    int number = child_wait(supervisor->child, status);
    close(supervisor->bell);
    journal_recover(heir->journal);
    read_journal(supervisor);
    if (blackbox_has_ended(heir->box)) return false;
    *status = STATUS_TROUBLE;
    renew_owed(supervisor);
    if (!can_go_on(supervisor)) return false;
    bool is_over = recollection_is_over(supervisor->recollection);
    bool goes_on = !is_over && crash_tell(supervisor, number);
    recollection_excuse(supervisor->recollection, add_owed, supervisor);
    if (goes_on && server_restart(supervisor)) return true;
    write_last(supervisor);
    return false;
}

// --- The whole

/// Waits for the bell, or for one tick. False where the server is gone.
static bool wait_for_server(const Supervisor *supervisor, bool is_asleep, bool *has_rung) {
    char rings[16];
    struct pollfd bell = {.fd = supervisor->bell, .events = POLLIN};
    *has_rung = poll(&bell, 1, is_asleep ? -1 : TICK_MS) > 0;
    if (!*has_rung) return true;
    ssize_t size = read(supervisor->bell, rings, sizeof rings);
    journal_wake(supervisor->heir.journal);
    return size > 0 || (size < 0 && errno == EINTR);
}

/// Whether nothing is to be read or watched before the bell rings.
static bool may_sleep(const Supervisor *supervisor) {
    const Inheritance *heir = &supervisor->heir;
    if (!journal_sleep(heir->journal)) return false;
    for (int queue = QUEUE_OF_EDITS; queue < BLACKBOX_QUEUES; queue++)
        if (blackbox_step(heir->box, queue)) return false;
    return true;
}

/// Reads along until the server is gone.
static void attend(Supervisor *supervisor) {
    bool is_asleep = false, has_rung;
    while (wait_for_server(supervisor, is_asleep, &has_rung)) {
        bool has_read = read_journal(supervisor);
        bool is_at_work = watch_queues(supervisor);
        is_asleep = !has_rung && !has_read && !is_at_work && may_sleep(supervisor);
    }
}

static int supervise_with(Supervisor *supervisor) {
    if (!server_fork(supervisor)) {
        Inheritance alone = supervisor->heir;
        alone.box = NULL;
        journal_begin(alone.journal, -1);
        return supervisor->serve(supervisor->options, &alone);
    }
    int status;
    do attend(supervisor);
    while (server_follow(supervisor, &status));
    return status;
}

static Error record_open(Arena *arena, const Options *options, int *record) {
    Output output = {.path = options->record,
                     .is_ours = record_is_ours,
                     .is_forced = options->force,
                     .way_out = FORCE_HINT};
    *record = -1;
    return options->record ? output_open(arena, &output, record) : NULL;
}

/// The status to end with, 0 where there is no hindrance.
static int prepare(Supervisor *supervisor) {
    const Options *options = supervisor->options;
    Inheritance *heir = &supervisor->heir;
    connection_keep_places();
    heir->record = -1;
    heir->box = blackbox_new();
    heir->journal = journal_new();
    if (!heir->box || !heir->journal) {
        say("there is no memory to share with the server");
        return STATUS_TROUBLE;
    }
    Error error = record_open(supervisor->arena, options, &heir->record);
    if (error) say("%s", error);
    if (error) return STATUS_TROUBLE;
    bool is_stdio = !options->pipe && !options->socket;
    if (is_stdio && isatty(STDIN_FILENO))
        say("waiting for an editor on stdin (`tad-lsp --help` lists the other uses)");
    error = connection_open(supervisor->arena, options, &heir->client);
    if (error) say("the client is gone: %s", error);
    return error ? STATUS_FINDINGS : STATUS_CLEAN;
}

int supervise(const Options *options, ServeFunction *serve) {
    signal(SIGPIPE, SIG_IGN);
    Supervisor supervisor = {.options = options,
                             .serve = serve,
                             .arena = arena_new(),
                             .from_client = frame_reader_new(),
                             .from_server = frame_reader_new(),
                             .recollection = recollection_new()};
    supervisor.owed = buffer_new(supervisor.arena);
    int status = prepare(&supervisor);
    if (status == STATUS_CLEAN) status = supervise_with(&supervisor);
    recollection_free(supervisor.recollection);
    frame_reader_free(&supervisor.from_client);
    frame_reader_free(&supervisor.from_server);
    journal_free(supervisor.heir.journal);
    if (supervisor.heir.box) blackbox_free(supervisor.heir.box);
    arena_free(supervisor.arena);
    return status;
}
