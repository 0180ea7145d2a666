// What the server's queues are at, in memory that outlives their process: which text a crash was about, and which texts are left
// alone because of one. The supervisor (server/crash/supervise.c) and the server share it.
#ifndef TAD_SERVER_CRASH_BLACKBOX_H
#define TAD_SERVER_CRASH_BLACKBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "server/crash/journal.h"

typedef struct Blackbox Blackbox;

enum { BLACKBOX_QUEUES = 4 };  // those of server/queues

// --- The supervisor's side

/// NULL where there is no memory to share.
Blackbox *blackbox_new(void);
void blackbox_free(Blackbox *box);
/// Before a server is started: it is at nothing.
void blackbox_begin(Blackbox *box);
/// Whether the server said that it ends.
bool blackbox_has_ended(const Blackbox *box);
/// The number of the step that the queue is at, 0 for none. A step is a job, or one file of it.
uint64_t blackbox_step(const Blackbox *box, int queue);
/// The signal that was seen when the server crashed, 0 for none.
int blackbox_signal(const Blackbox *box);
/// The queue that was ended from outside.
void blackbox_accuse(Blackbox *box, int queue);

/// A text that was at hand when the server crashed.
typedef struct Culprit {
    const char *uri;  // valid until the next blackbox_blame
    int crashes;      // with this one, not long ago
} Culprit;

/// After a crash: the text that the crashed queue was at, or the first busy queue where that is not known, is left alone from now on.
/// Returns how many.
int blackbox_blame(Blackbox *box, Culprit culprits[BLACKBOX_QUEUES]);

// --- The server's side; `box` may be NULL

/// The signals of a crash leave a note of the thread that they came from, and the journal between two writes. From the loop's
/// thread.
void blackbox_watch(Blackbox *box, Journal *journal);
/// The file was opened, closed or changed on disk: what was known of it is void.
void blackbox_forget(Blackbox *box, const char *uri);
/// How many servers there were before this one.
int blackbox_generation(const Blackbox *box);
/// The calling thread is the queue's, and at this text from now on, until it leaves; `uri` may be NULL. A supervisor that sleeps is
/// woken.
void blackbox_enter(Blackbox *box, int queue, const char *uri, int version);
void blackbox_leave(Blackbox *box, int queue);
/// NULL, or why the queue leaves this text alone.
const char *blackbox_refusal(const Blackbox *box, int queue, const char *uri, int version);
/// The server ends by itself.
void blackbox_end(Blackbox *box);

#endif
