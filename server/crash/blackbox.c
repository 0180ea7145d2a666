// One page of shared memory. The server writes what its queues are at, the supervisor what is left alone.
#include "server/crash/blackbox.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/map.h"
#include "base/parallel.h"

enum { QUEUE_OF_LOOP = 0, QUEUE_OF_EDITS = 1, PATIENCE = 3, FORGOTTEN_S = 600 };
enum { MOST_ASIDE = 64 };  // texts; beyond, the oldest is forgotten

typedef struct QueueNote {
    atomic_uint_fast64_t steps;  // odd while the queue is at one
    uint64_t subject;            // 0: no text
    int version;
    char uri[512];
} QueueNote;

typedef struct Aside {
    atomic_uint_fast64_t subject;  // 0: free
    int version;
    int crashes;  // of any version
    time_t last_crash;
    int queues;  // that leave it alone, as bits
    char uri[512];
} Aside;

struct Blackbox {
    int generation;
    atomic_bool has_ended;
    atomic_int crashed_queue;  // 1 + the queue, 0 where it is not known
    atomic_int signal;
    QueueNote queues[BLACKBOX_QUEUES];
    Aside asides[MOST_ASIDE];
    int next_aside;
};

static uint64_t subject_of(const char *uri) { return map_hash(str_from(uri)) | 1; }

// --- The supervisor's side

Blackbox *blackbox_new(void) {
    Blackbox *box =
        mmap(NULL, sizeof *box, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (box == MAP_FAILED) return NULL;
    box->generation = -1;
    return box;
}

void blackbox_free(Blackbox *box) { munmap(box, sizeof *box); }

void blackbox_begin(Blackbox *box) {
    box->generation++;
    atomic_store(&box->has_ended, false);
    atomic_store(&box->crashed_queue, 0);
    atomic_store(&box->signal, 0);
    memset(box->queues, 0, sizeof box->queues);
}

bool blackbox_has_ended(const Blackbox *box) { return atomic_load(&box->has_ended); }

uint64_t blackbox_step(const Blackbox *box, int queue) {
    uint64_t steps = atomic_load(&box->queues[queue].steps);
    return steps % 2 ? steps : 0;
}

int blackbox_signal(const Blackbox *box) { return atomic_load(&box->signal); }

void blackbox_accuse(Blackbox *box, int queue) { atomic_store(&box->crashed_queue, 1 + queue); }

static Aside *aside_find(Blackbox *box, uint64_t subject) {
    for (int i = 0; i < MOST_ASIDE; i++)
        if (atomic_load(&box->asides[i].subject) == subject) return &box->asides[i];
    return NULL;
}

static Aside *aside_put(Blackbox *box, const QueueNote *note, int queue) {
    Aside *aside = aside_find(box, note->subject);
    if (!aside) aside = aside_find(box, 0);
    if (!aside) aside = &box->asides[box->next_aside++ % MOST_ASIDE];
    if (atomic_load(&aside->subject) != note->subject) {
        memset(aside, 0, sizeof *aside);
        memcpy(aside->uri, note->uri, sizeof aside->uri);
    }
    time_t now = time(NULL);
    if (now - aside->last_crash > FORGOTTEN_S) aside->crashes = 0;
    aside->last_crash = now;
    aside->version = note->version;
    aside->crashes++;
    // What only deriving cannot bear is still analysed for the editor.
    aside->queues |= queue == QUEUE_OF_EDITS ? -1 : ~(1 << QUEUE_OF_EDITS);
    atomic_store(&aside->subject, note->subject);
    return aside;
}

int blackbox_blame(Blackbox *box, Culprit culprits[BLACKBOX_QUEUES]) {
    int crashed = atomic_load(&box->crashed_queue), count = 0;
    for (int queue = QUEUE_OF_LOOP + 1; queue < BLACKBOX_QUEUES; queue++) {
        const QueueNote *note = &box->queues[queue];
        bool is_suspect = crashed ? queue == crashed - 1 : blackbox_step(box, queue) != 0;
        if (!is_suspect || !note->subject) continue;
        // What ended all from outside names no queue: the first is suspected, the others if it happens again.
        if (!crashed && count) break;
        const Aside *aside = aside_put(box, note, queue);
        culprits[count++] = (Culprit){aside->uri, aside->crashes};
    }
    return count;
}

// --- The server's side

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
enum { SIGNAL_COUNT = sizeof crash_signals / sizeof *crash_signals };

static Blackbox *watched;
static Journal *watched_journal;
static struct sigaction former[SIGNAL_COUNT];  // the default, or a sanitizer's

/// The stack of a queue may be what has run out. A thread that is several queues in turn needs one.
static void give_signal_stack(int queue) {
    enum { STACK_BYTES = 32 * 1024 };  // the handler notes a few words
    static _Thread_local bool is_given;
    if (is_given) return;
    is_given = true;
    static _Alignas(16) char stacks[BLACKBOX_QUEUES][STACK_BYTES];
    stack_t now, own = {.ss_sp = stacks[queue], .ss_size = STACK_BYTES};
    if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE)) sigaltstack(&own, NULL);
}

/// Notes the queue; then it goes on as if nobody had watched.
static void crash_caught(int number, siginfo_t *info, void *context) {
    (void)context;
    atomic_store(&watched->crashed_queue, thread_mark());
    atomic_store(&watched->signal, number);
    journal_stop(watched_journal);
    for (int i = 0; i < SIGNAL_COUNT; i++)
        if (crash_signals[i] == number) sigaction(number, &former[i], NULL);
    // A fault comes again by itself; what was sent does not.
    if (info->si_code <= 0) raise(number);
}

/// A queue's threads bear its number plus 1 as their mark.
static void be_queue(int queue) {
    if (thread_mark() == 1 + queue) return;
    thread_set_mark(1 + queue);
    give_signal_stack(queue);
}

void blackbox_watch(Blackbox *box, Journal *journal) {
    if (!box) return;
    watched = box;
    watched_journal = journal;
    be_queue(QUEUE_OF_LOOP);
    struct sigaction action = {.sa_sigaction = crash_caught, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNAL_COUNT; i++) sigaction(crash_signals[i], &action, &former[i]);
}

void blackbox_forget(Blackbox *box, const char *uri) {
    Aside *aside = box ? aside_find(box, subject_of(uri)) : NULL;
    if (aside) atomic_store(&aside->subject, 0);
}

int blackbox_generation(const Blackbox *box) { return box ? box->generation : 0; }

void blackbox_enter(Blackbox *box, int queue, const char *uri, int version) {
    if (!box) return;
    be_queue(queue);
    QueueNote *note = &box->queues[queue];
    note->subject = uri ? subject_of(uri) : 0;
    note->version = version;
    snprintf(note->uri, sizeof note->uri, "%s", uri ? uri : "");
    atomic_fetch_add(&note->steps, atomic_load(&note->steps) % 2 ? 2 : 1);
    journal_ring(watched_journal);
}

void blackbox_leave(Blackbox *box, int queue) {
    if (!box) return;
    atomic_fetch_add(&box->queues[queue].steps, 1);
    thread_set_mark(1 + QUEUE_OF_LOOP);
}

const char *blackbox_refusal(const Blackbox *box, int queue, const char *uri, int version) {
    uint64_t subject = box ? subject_of(uri) : 0;
    for (int i = 0; box && i < MOST_ASIDE; i++) {
        const Aside *aside = &box->asides[i];
        if (atomic_load(&aside->subject) != subject || !(aside->queues & 1 << queue)) continue;
        if (aside->crashes >= PATIENCE)
            return "its analysis crashed several times; close and open it to have it tried again";
        if (aside->version == version)
            return "its analysis crashed; it is tried again when it changes";
    }
    return NULL;
}

void blackbox_end(Blackbox *box) {
    if (box) atomic_store(&box->has_ended, true);
}
