// What is written to a client: in order, and each write whole, so that a server that is killed in one has written all of it.
#define _GNU_SOURCE
#include "server/session/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/support/check.h"

enum { LARGE = 1000 * 1000, MOST_AT_ONCE = 9000 };

static int writes, partial_writes;

/// In the place of the C library's.
ssize_t write(int descriptor, const void *data, size_t size) {
    ssize_t written = syscall(SYS_write, descriptor, data, size);
    writes++;
    partial_writes += written >= 0 && (size_t)written < size;
    return written;
}

/// A client that reads a little at each of its turns.
typedef struct Reader {
    Loop *loop;
    int input;
    size_t read, at_once;
} Reader;

static char nth_byte(size_t place) { return (char)('a' + place % 23); }

static void read_some(void *context) {
    Reader *reader = context;
    static char piece[MOST_AT_ONCE];
    reader->at_once = (reader->at_once * 7 + 13) % MOST_AT_ONCE;
    ssize_t size = read(reader->input, piece, reader->at_once + 1);
    CHECK(size > 0 || errno == EAGAIN);
    for (ssize_t i = 0; i < size; i++) CHECK(piece[i] == nth_byte(reader->read++));
    if (reader->read == LARGE) loop_stop(reader->loop);
}

static void ignore_data(void *context, const char *data, size_t size) {
    (void)context, (void)data, (void)size;
}

static void ignore(void *context) { (void)context; }

static void never_closed(void *context, const char *why) {
    (void)context, (void)why;
    CHECK(false);
}

static void check_whole_writes(int output, int input) {
    static char large[LARGE];
    for (size_t i = 0; i < LARGE; i++) large[i] = nth_byte(i);
    fcntl(input, F_SETFL, O_NONBLOCK);
    Loop *loop = loop_new();
    Arena *arena = arena_new();
    Journal *journal = journal_new();
    journal_begin(journal, -1);
    StreamEvents events = {ignore_data, ignore, never_closed, NULL};
    Stream *stream = stream_open(loop, arena, STDIN_FILENO, output, journal, &events);
    Reader reader = {.loop = loop, .input = input};
    writes = partial_writes = 0;
    // Short messages and long ones.
    size_t said = 0;
    for (size_t size = 100; said < LARGE; size = size * 3 % 100000) {
        if (size > LARGE - said) size = LARGE - said;
        stream_write(stream, large + said, size);
        said += size;
    }
    timer_start(loop, 0, 1, read_some, &reader);
    loop_run(loop);
    CHECK(writes > 20);
    CHECK_EQ_INT(partial_writes, 0);
    CHECK_EQ_INT(stream_backlog(stream), 0);
    loop_free(loop);
    stream_close(stream);
    journal_free(journal);
    arena_free(arena);
    close(output);
    close(input);
}

TEST(a_write_to_a_pipe_is_whole) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    check_whole_writes(ends[1], ends[0]);
}

TEST(a_write_to_a_pipe_of_one_page_is_whole) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    CHECK(fcntl(ends[1], F_SETPIPE_SZ, 4096) >= 4096);
    check_whole_writes(ends[1], ends[0]);
}

TEST(a_write_to_a_socket_is_whole) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    check_whole_writes(ends[1], ends[0]);
}

TEST_MAIN(TEST_ROW(a_write_to_a_pipe_is_whole), TEST_ROW(a_write_to_a_pipe_of_one_page_is_whole),
          TEST_ROW(a_write_to_a_socket_is_whole))
