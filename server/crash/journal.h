// What a client and its server say to each other, in memory that outlives the server: the server reads into it and writes out of
// it by itself, and whoever watches over the server reads it later. After a crash nothing that came is lost, and what the
// server was in the middle of saying can be said to its end.
#ifndef TAD_SERVER_CRASH_JOURNAL_H
#define TAD_SERVER_CRASH_JOURNAL_H

#include <stdbool.h>

#include "base/text.h"

typedef struct Journal Journal;

/// Memory that is shared with children; NULL where there is none.
Journal *journal_new(void);
void journal_free(Journal *journal);

// --- The server's side: one thread, but for journal_ring and journal_stop

/// Where the next bytes of the client are to be put, and how many at most: 0 until the reader has read more.
char *journal_room(Journal *journal, size_t *size);
/// So many bytes were put there.
void journal_hear(Journal *journal, size_t size);
/// Takes all of it to be written to the client, or nothing where there is no room for it; of what is larger than the journal, as
/// much as there is room for. Returns how many bytes that was.
size_t journal_say(Journal *journal, const char *data, size_t size);
/// What was said and is not written, from its beginning; more may follow.
Str journal_unwritten(const Journal *journal);
/// Bytes that journal_unwritten comes to in the end.
size_t journal_backlog(const Journal *journal);
/// write(2) comes between these two, of `size` unwritten bytes that it will take all of, or none. The first does not return once the
/// journal was stopped.
void journal_begin_write(Journal *journal, size_t size);
void journal_end_write(Journal *journal, size_t written);
/// Wakes a reader that sleeps. From any thread.
void journal_ring(Journal *journal);
/// Returns when nobody writes to the client, and nobody will. From any thread or process, and from a signal's handler.
void journal_stop(Journal *journal);

// --- The reader's side

/// Before a server is started, which rings by writing to `doorbell`; -1: nobody reads, and what passes is forgotten.
void journal_begin(Journal *journal, int doorbell);
/// After the server's end: finds what it had read and not told, and takes a write that it was killed in for done.
void journal_recover(Journal *journal);
/// Of a message larger than the journal, what was not said when the server ended; empty where all was. Until journal_begin.
Str journal_rest(const Journal *journal);
/// The bell was heard: it may ring again.
void journal_wake(Journal *journal);
/// Lets the server ring when it has something to do. False where something came meanwhile.
bool journal_sleep(Journal *journal);

typedef enum Speaker { SPEAKER_CLIENT, SPEAKER_SERVER, SPEAKER_COUNT } Speaker;

/// Bytes that the speaker ever said.
size_t journal_said(const Journal *journal, Speaker speaker);
/// The next that were not read, from their beginning and before the byte number `end`; empty where there are none.
Str journal_unread(const Journal *journal, Speaker speaker, size_t end);
/// So many of them are read.
void journal_forget(Journal *journal, Speaker speaker, size_t size);

#endif
