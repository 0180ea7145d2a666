// What passes between client and server: each byte once and in order, and found again after a server's end.
#include "server/crash/journal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server/crash/blackbox.h"
#include "tests/support/check.h"

enum { PIECE = 100 * 1000, PIECES = 300 };  // more than either ring holds, many times

static int bell[2];

static Journal *journal_begun(void) {
    CHECK(pipe(bell) == 0);
    fcntl(bell[0], F_SETFL, O_NONBLOCK);
    fcntl(bell[1], F_SETFL, O_NONBLOCK);
    Journal *journal = journal_new();
    CHECK(journal != NULL);
    journal_begin(journal, bell[1]);
    return journal;
}

static void journal_over(Journal *journal) {
    journal_free(journal);
    close(bell[0]);
    close(bell[1]);
}

static int rings(void) {
    char taken[16];
    ssize_t size = read(bell[0], taken, sizeof taken);
    return size < 0 ? 0 : (int)size;
}

static void put(Journal *journal, Str text) {
    size_t room;
    char *to = journal_room(journal, &room);
    CHECK(room > text.size);
    memcpy(to, text.data, text.size);
}

static void hear(Journal *journal, const char *text) {
    put(journal, str_from(text));
    journal_hear(journal, strlen(text));
}

static void say_text(Journal *journal, const char *text) {
    CHECK_EQ_INT(journal_say(journal, text, strlen(text)), strlen(text));
}

static void check_unread(Journal *journal, Speaker speaker, const char *text) {
    Str unread = journal_unread(journal, speaker, journal_said(journal, speaker));
    CHECK_EQ_INT(unread.size, strlen(text));
    CHECK(memcmp(unread.data, text, strlen(text)) == 0);
    journal_forget(journal, speaker, unread.size);
}

static char nth_byte(size_t place) { return (char)(1 + place % 127); }

/// Whether the piece is what stands at that place; moves the place behind it.
static bool is_next(Str piece, size_t *place) {
    for (size_t i = 0; i < piece.size; i++)
        if (piece.data[i] != nth_byte((*place)++)) return false;
    return piece.size > 0;
}

static void read_all(Journal *journal, Speaker speaker, size_t *place) {
    size_t end = journal_said(journal, speaker);
    for (Str piece; (piece = journal_unread(journal, speaker, end)).size;) {
        CHECK(is_next(piece, place));
        journal_forget(journal, speaker, piece.size);
    }
}

static void write_all(Journal *journal, size_t *place) {
    for (Str piece; (piece = journal_unwritten(journal)).size;) {
        CHECK(is_next(piece, place));
        journal_begin_write(journal, piece.size);
        journal_end_write(journal, piece.size);
    }
}

TEST(what_the_server_says_comes_once_and_in_order) {
    Journal *journal = journal_begun();
    static char piece[PIECE];
    size_t said = 0, written = 0, read = 0;
    for (int i = 0; i < PIECES; i++) {
        for (int byte = 0; byte < PIECE; byte++) piece[byte] = nth_byte(said++);
        for (size_t taken = 0; taken < PIECE;) {
            taken += journal_say(journal, piece + taken, PIECE - taken);
            // Now the client is slower than the reader, now the reader.
            if (i % 100 < 50) write_all(journal, &written);
            read_all(journal, SPEAKER_SERVER, &read);
            write_all(journal, &written);
        }
    }
    CHECK_EQ_INT(read, said);
    CHECK_EQ_INT(written, said);
    CHECK_EQ_INT(journal_backlog(journal), 0);
    journal_over(journal);
}

TEST(what_the_client_says_comes_once_and_in_order) {
    Journal *journal = journal_begun();
    size_t said = 0, read = 0;
    for (int i = 0; i < PIECES; i++) {
        size_t room;
        char *to = journal_room(journal, &room);
        if (room > PIECE) room = PIECE;
        CHECK(room > 0);
        for (size_t byte = 0; byte < room; byte++) to[byte] = nth_byte(said++);
        journal_hear(journal, room);
        if (i % 2 == 0) read_all(journal, SPEAKER_CLIENT, &read);
    }
    read_all(journal, SPEAKER_CLIENT, &read);
    CHECK_EQ_INT(read, said);
    journal_over(journal);
}

TEST(a_journal_that_is_not_read_fills_and_rings) {
    Journal *journal = journal_begun();
    static char piece[PIECE];
    memset(piece, 'x', sizeof piece);
    int taken = 0;
    for (size_t said; (said = journal_say(journal, piece, sizeof piece)); taken++)
        CHECK_EQ_INT(said, sizeof piece);
    CHECK(taken > 0);
    CHECK_EQ_INT(journal_backlog(journal), taken * PIECE);  // all of a message, or nothing
    CHECK_EQ_INT(rings(), 1);
    CHECK_EQ_INT(journal_say(journal, piece, sizeof piece), 0);
    journal_wake(journal);
    CHECK_EQ_INT(journal_say(journal, piece, sizeof piece), 0);
    CHECK_EQ_INT(rings(), 1);
    // Read, but not written: nothing of it may be lost.
    size_t end = journal_said(journal, SPEAKER_SERVER);
    for (Str unread; (unread = journal_unread(journal, SPEAKER_SERVER, end)).size;)
        journal_forget(journal, SPEAKER_SERVER, unread.size);
    CHECK_EQ_INT(journal_say(journal, piece, sizeof piece), 0);
    journal_end_write(journal, journal_unwritten(journal).size);
    CHECK_EQ_INT(journal_say(journal, piece, sizeof piece), sizeof piece);
    journal_over(journal);
}

TEST(what_is_larger_than_the_journal_passes_in_parts) {
    Journal *journal = journal_begun();
    enum { LARGE = 4 * 1000 * 1000 };
    static char large[LARGE];
    for (size_t i = 0; i < LARGE; i++) large[i] = nth_byte(i);
    size_t said = 0, written = 0, read = 0;
    for (int parts = 0; said < LARGE; parts++) {
        size_t taken = journal_say(journal, large + said, LARGE - said);
        CHECK(taken > 0 && parts < 10);
        said += taken;
        write_all(journal, &written);
        read_all(journal, SPEAKER_SERVER, &read);
    }
    CHECK_EQ_INT(written, LARGE);
    CHECK_EQ_INT(read, LARGE);
    journal_over(journal);
}

/// Of this process, in kilobytes.
static long shared_memory(void) {
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status != NULL);
    char line[256];
    long size = -1;
    const char *name = "RssShmem:";
    while (size < 0 && fgets(line, sizeof line, status))
        if (strncmp(line, name, strlen(name)) == 0) size = strtol(line + strlen(name), NULL, 10);
    fclose(status);
    return size;
}

TEST(what_is_larger_than_the_journal_is_whole_until_it_is_said) {
    Journal *journal = journal_begun();
    enum { LARGE = 4 * 1000 * 1000 };
    static char large[LARGE];
    for (size_t i = 0; i < LARGE; i++) large[i] = nth_byte(i);
    size_t said = journal_say(journal, large, 1000), written = 0, read = 0;
    CHECK_EQ_INT(journal_rest(journal).size, 0);
    long before = shared_memory();
    while (said < LARGE) {
        said += journal_say(journal, large + said, LARGE - said);
        Str rest = journal_rest(journal);
        CHECK_EQ_INT(rest.size, LARGE - said);
        CHECK(memcmp(rest.data, large + said, rest.size) == 0);
        CHECK(said == LARGE || shared_memory() > before + LARGE / 1200);
        write_all(journal, &written);
        read_all(journal, SPEAKER_SERVER, &read);
    }
    CHECK(shared_memory() < before + LARGE / 2000);
    // The next is another one.
    said = journal_say(journal, large, LARGE);
    CHECK_EQ_INT(journal_rest(journal).size, LARGE - said);
    journal_begin(journal, bell[1]);
    CHECK_EQ_INT(journal_rest(journal).size, 0);
    journal_over(journal);
}

TEST(a_journal_without_a_reader_never_fills) {
    Journal *journal = journal_begun();
    journal_begin(journal, -1);
    size_t said = 0, written = 0;
    static char piece[PIECE];
    for (int i = 0; i < PIECES; i++) {
        for (int byte = 0; byte < PIECE; byte++) piece[byte] = nth_byte(said++);
        size_t taken = journal_say(journal, piece, PIECE);
        write_all(journal, &written);
        CHECK_EQ_INT(journal_say(journal, piece + taken, PIECE - taken), PIECE - taken);
        write_all(journal, &written);
        hear(journal, "heard");
    }
    CHECK_EQ_INT(written, said);
    CHECK_EQ_INT(rings(), 0);
    journal_over(journal);
}

TEST(a_sleeping_reader_is_woken_once) {
    Journal *journal = journal_begun();
    hear(journal, "first");
    CHECK_EQ_INT(rings(), 0);
    CHECK(!journal_sleep(journal));
    check_unread(journal, SPEAKER_CLIENT, "first");
    CHECK(journal_sleep(journal));
    hear(journal, "second");
    say_text(journal, "third");
    CHECK_EQ_INT(rings(), 1);
    journal_wake(journal);
    check_unread(journal, SPEAKER_CLIENT, "second");
    check_unread(journal, SPEAKER_SERVER, "third");
    CHECK(journal_sleep(journal));
    journal_ring(journal);
    CHECK_EQ_INT(rings(), 1);
    journal_over(journal);
}

TEST(what_was_read_before_the_end_is_found) {
    Journal *journal = journal_begun();
    hear(journal, "told ");
    put(journal, str_from("not told"));
    journal_recover(journal);
    check_unread(journal, SPEAKER_CLIENT, "told not told");
    journal_over(journal);
}

TEST(a_write_at_the_end_is_taken_for_done) {
    Journal *journal = journal_begun();
    say_text(journal, "written");
    journal_begin_write(journal, strlen("written"));
    journal_recover(journal);
    CHECK_EQ_INT(journal_backlog(journal), 0);
    say_text(journal, "not written");
    journal_recover(journal);
    CHECK_EQ_INT(journal_backlog(journal), strlen("not written"));
    journal_over(journal);
}

static _Noreturn void write_for_ever(Journal *journal) {
    for (;;) {
        journal_say(journal, "x", 1);
        journal_begin_write(journal, 1);
        journal_end_write(journal, 1);
    }
}

TEST(a_server_that_is_killed_between_two_instructions) {
    enum { TIMES = 100 };
    Journal *journal = journal_begun();
    for (int i = 0; i < TIMES; i++) {
        pid_t child = fork();
        if (child == 0) write_for_ever(journal);
        size_t before = journal_said(journal, SPEAKER_SERVER);
        while (journal_said(journal, SPEAKER_SERVER) < before + 100) continue;
        kill(child, SIGKILL);
        CHECK(waitpid(child, NULL, 0) == child);
        journal_recover(journal);
        CHECK(journal_backlog(journal) <= 1);
        journal_end_write(journal, journal_backlog(journal));
        size_t place = 0, end = journal_said(journal, SPEAKER_SERVER);
        for (Str piece; (piece = journal_unread(journal, SPEAKER_SERVER, end)).size;) {
            place += piece.size;
            journal_forget(journal, SPEAKER_SERVER, piece.size);
        }
        CHECK(place > 0);
        journal_begin(journal, bell[1]);
    }
    journal_over(journal);
}

TEST(a_queue_that_begins_wakes_the_reader) {
    Journal *journal = journal_begun();
    Blackbox *box = blackbox_new();
    blackbox_begin(box);
    blackbox_watch(box, journal);
    CHECK(journal_sleep(journal));
    CHECK_EQ_INT(rings(), 0);
    blackbox_enter(box, 1, "file:///a.py", 1);
    CHECK_EQ_INT(rings(), 1);
    blackbox_leave(box, 1);
    blackbox_free(box);
    journal_over(journal);
}

static bool has_ended_soon(pid_t child) {
    const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
    nanosleep(&pause, NULL);
    return waitpid(child, NULL, WNOHANG) == child;
}

TEST(nobody_writes_after_the_stop) {
    Journal *journal = journal_begun();
    journal_stop(journal);
    pid_t child = fork();
    if (child == 0) {
        journal_begin_write(journal, 1);
        _exit(0);
    }
    CHECK(!has_ended_soon(child));
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
    // The next server may write.
    journal_begin(journal, bell[1]);
    journal_begin_write(journal, 1);
    journal_over(journal);
}

TEST_MAIN(TEST_ROW(what_the_server_says_comes_once_and_in_order),
          TEST_ROW(what_the_client_says_comes_once_and_in_order),
          TEST_ROW(a_journal_that_is_not_read_fills_and_rings),
          TEST_ROW(what_is_larger_than_the_journal_passes_in_parts),
          TEST_ROW(what_is_larger_than_the_journal_is_whole_until_it_is_said),
          TEST_ROW(a_journal_without_a_reader_never_fills),
          TEST_ROW(a_sleeping_reader_is_woken_once),
          TEST_ROW(what_was_read_before_the_end_is_found),
          TEST_ROW(a_write_at_the_end_is_taken_for_done),
          TEST_ROW(a_server_that_is_killed_between_two_instructions),
          TEST_ROW(a_queue_that_begins_wakes_the_reader), TEST_ROW(nobody_writes_after_the_stop))
