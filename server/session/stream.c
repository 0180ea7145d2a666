// Reads when the loop says that something is there, and writes at once as far as the client takes it.
#define _GNU_SOURCE  // F_GETPIPE_SZ
#include "server/session/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    READ_SIZE = 64 * 1024,  // a usual pipe
    HUNGER_MS = 2,
    FEW_BYTES = 32 * 1024,  // half of a usual pipe, a sixth of a socket
};

/// A write, or the rest of one, that the journal has no room for.
typedef struct StreamWaiting {
    Arena *arena;
    Str text;
    struct StreamWaiting *next;
} StreamWaiting;

struct Stream {
    Loop *loop;
    StreamEvents events;
    Journal *journal;
    int input, output;
    bool is_socket;                     // the output
    size_t whole_size;                  // that it takes at once while it is empty
    Watch *readable, *writable;         // NULL: not waited for
    Timer *reads_later, *writes_later;  // NULL: they need not
    StreamWaiting *first, *last;
    size_t waiting_size;
    bool is_paused, has_ended, is_closed;
    bool is_behind;  // something was not written at once
    char buffer[READ_SIZE];
};

static void watch_end(Watch **watch) {
    watch_stop(*watch);
    *watch = NULL;
}

static void timer_end(Timer **timer) {
    timer_stop(*timer);
    *timer = NULL;
}

static void stream_end(Stream *stream, const char *why) {
    stream->has_ended = true;
    watch_end(&stream->readable);
    timer_end(&stream->reads_later);
    stream->events.closed(stream->events.context, why);
}

static void stream_break(Stream *stream, const char *why) {
    stream->is_closed = true;
    watch_end(&stream->writable);
    timer_end(&stream->writes_later);
    stream_end(stream, why);
}

// --- In

static void stream_listen(Stream *stream);

static void stream_take(Stream *stream, const char *data, size_t size) {
    // The journal's reader may give the memory back as soon as it knows of it.
    memcpy(stream->buffer, data, size);
    journal_hear(stream->journal, size);
    stream->events.data(stream->events.context, stream->buffer, size);
}

static void stream_read(void *context) {
    Stream *stream = context;
    size_t room;
    char *to = journal_room(stream->journal, &room);
    ssize_t size = room ? read(stream->input, to, room < READ_SIZE ? room : READ_SIZE) : -1;
    bool is_later = !room || errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    if (size > 0)
        stream_take(stream, to, (size_t)size);
    else if (size == 0)
        stream_end(stream, NULL);
    else if (!is_later)
        stream_break(stream, strerror(errno));
    if (!room) watch_end(&stream->readable);
    stream_listen(stream);
}

static void stream_read_later(void *context) {
    timer_end(&((Stream *)context)->reads_later);
    stream_read(context);
}

/// A file can always be read, and nobody says so; the journal has room again in a moment.
static void stream_listen(Stream *stream) {
    if (stream->is_paused || stream->has_ended || stream->readable || stream->reads_later) return;
    size_t room;
    journal_room(stream->journal, &room);
    if (room)
        stream->readable =
            watch_start(stream->loop, stream->input, WATCH_READABLE, stream_read, stream);
    if (!stream->readable)
        stream->reads_later =
            timer_start(stream->loop, room ? 0 : HUNGER_MS, 0, stream_read_later, stream);
}

void stream_resume(Stream *stream) {
    stream->is_paused = false;
    stream_listen(stream);
}

void stream_pause(Stream *stream) {
    stream->is_paused = true;
    watch_end(&stream->readable);
    timer_end(&stream->reads_later);
}

// --- Out

static void stream_put_off(Stream *stream, const char *data, size_t size) {
    Arena *arena = arena_new_sized(size);
    StreamWaiting *waiting = ARENA_NEW(arena, StreamWaiting);
    *waiting = (StreamWaiting){arena, {arena_strndup(arena, data, size), size}, NULL};
    if (stream->last)
        stream->last->next = waiting;
    else
        stream->first = waiting;
    stream->last = waiting;
    stream->waiting_size += size;
}

/// Into the journal with what waits, as far as there is room.
static void stream_refill(Stream *stream) {
    for (StreamWaiting *first; (first = stream->first);) {
        size_t taken = journal_say(stream->journal, first->text.data, first->text.size);
        stream->waiting_size -= taken;
        first->text = (Str){first->text.data + taken, first->text.size - taken};
        if (first->text.size) return;
        stream->first = first->next;
        if (!stream->first) stream->last = NULL;
        arena_free(first->arena);
    }
}

/// How many bytes a write takes now, for sure: who is killed in the middle of it has written all of them. 0: none.
static size_t sure_size(const Stream *stream) {
    int queued = 0;
    bool is_known = ioctl(stream->output, TIOCOUTQ, &queued) == 0 ||
                    ioctl(stream->output, FIONREAD, &queued) == 0;
    if (is_known && queued == 0) return stream->whole_size;
    struct pollfd output = {.fd = stream->output, .events = POLLOUT};
    if (poll(&output, 1, 0) <= 0) return 0;
    // A socket is called writable when two thirds of it are free, a pipe when one page is.
    return stream->is_socket ? stream->whole_size : PIPE_BUF;
}

/// False where the client takes nothing now.
static bool stream_write_once(Stream *stream, Str piece) {
    size_t sure = sure_size(stream);
    if (!sure) return false;
    if (piece.size > sure) piece.size = sure;
    journal_begin_write(stream->journal, piece.size);
    ssize_t size = write(stream->output, piece.data, piece.size);
    int failure = errno;
    journal_end_write(stream->journal, size > 0 ? (size_t)size : 0);
    if (size >= 0 || failure == EINTR) return true;
    if (failure != EAGAIN && failure != EWOULDBLOCK) stream_break(stream, strerror(failure));
    return false;
}

static void stream_flush(void *context);

static void stream_flush_later(void *context) {
    timer_end(&((Stream *)context)->writes_later);
    stream_flush(context);
}

/// Goes on when the client takes more, or the journal.
static void stream_write_on(Stream *stream) {
    stream->is_behind = true;
    if (!journal_backlog(stream->journal)) watch_end(&stream->writable);
    if (stream->writable || stream->writes_later) return;
    if (journal_backlog(stream->journal))
        stream->writable =
            watch_start(stream->loop, stream->output, WATCH_WRITABLE, stream_flush, stream);
    if (!stream->writable)
        stream->writes_later = timer_start(stream->loop, HUNGER_MS, 0, stream_flush_later, stream);
}

static void stream_flush(void *context) {
    Stream *stream = context;
    while (!stream->is_closed) {
        stream_refill(stream);
        Str piece = journal_unwritten(stream->journal);
        if (!piece.size || !stream_write_once(stream, piece)) break;
    }
    if (stream->is_closed) return;
    if (stream_backlog(stream)) {
        stream_write_on(stream);
    } else if (stream->is_behind) {
        stream->is_behind = false;
        watch_end(&stream->writable);
        stream->events.drained(stream->events.context);
    }
}

void stream_write(Stream *stream, const char *data, size_t size) {
    if (stream->is_closed) return;
    size_t taken = stream->first ? 0 : journal_say(stream->journal, data, size);
    if (taken < size) stream_put_off(stream, data + taken, size - taken);
    if (!stream->is_behind) stream_flush(stream);
}

size_t stream_backlog(const Stream *stream) {
    return journal_backlog(stream->journal) + stream->waiting_size;
}

bool stream_is_broken(const Stream *stream) {
    struct pollfd output = {.fd = stream->output};
    return stream->is_closed || poll(&output, 1, 0) > 0;  // only what is wrong was asked for
}

// --- The whole

/// Who has many pipes gets small ones.
static size_t whole_size_of(int output) {
#ifdef F_GETPIPE_SZ
    int size = fcntl(output, F_GETPIPE_SZ);
    if (size > 0 && size < FEW_BYTES) return (size_t)size;
#else
    (void)output;
#endif
    return FEW_BYTES;
}

/// A terminal keeps its ways, and a file takes everything.
static void never_block(Stream *stream) {
    struct stat kind = {0};
    int output = stream->output;
    if (fstat(output, &kind)) return;
    stream->is_socket = S_ISSOCK(kind.st_mode);
    if (!stream->is_socket && !S_ISFIFO(kind.st_mode)) return;
    fcntl(output, F_SETFL, fcntl(output, F_GETFL) | O_NONBLOCK);
}

Stream *stream_open(Loop *loop, Arena *arena, int input, int output, Journal *journal,
                    const StreamEvents *events) {
    Stream *stream = ARENA_NEW(arena, Stream);
    stream->loop = loop;
    stream->events = *events;
    stream->journal = journal;
    stream->input = input;
    stream->output = output;
    stream->whole_size = whole_size_of(output);
    never_block(stream);
    return stream;
}

void stream_close(Stream *stream) {
    for (StreamWaiting *first; stream && (first = stream->first);) {
        stream->first = first->next;
        arena_free(first->arena);
    }
}
