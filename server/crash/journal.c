// Two rings of shared memory, one for each direction. Places are counted in bytes ever said. What the client said is made zero when it
// was read: JSON has no zeros, so that bytes that were read into the ring without a word about them can be found.
#include "server/crash/journal.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    CLIENT_BYTES = 256 << 10,
    SERVER_BYTES = 512 << 10,
    MUCH_BYTES = 64 << 10,      // for a reader to be woken
    LARGEST_BYTES = 256 << 20,  // of one message; memory only while there is one
};

typedef struct Ring {
    char *bytes;
    size_t size;
    atomic_size_t said, read;  // read <= said <= read + size
} Ring;

/// A message of the server that is larger than its ring, whole until all of it is said.
typedef struct Large {
    char *bytes;  // NULL: none is kept
    size_t start;
    atomic_size_t size;  // 0: there is none
} Large;

struct Journal {
    Ring rings[SPEAKER_COUNT];
    Large large;
    atomic_size_t written;  // of what the server said
    atomic_size_t writing;  // a write goes on up to there, 0 for none
    atomic_bool is_stopped;
    atomic_bool is_asleep;  // the reader
    atomic_bool is_rung;
    int doorbell;
};

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

static void *shared(size_t size) {
    const int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

Journal *journal_new(void) {
    static const size_t sizes[SPEAKER_COUNT] = {CLIENT_BYTES, SERVER_BYTES};
    Journal *journal = shared(sizeof *journal);
    bool is_whole = journal != NULL;
    for (int i = 0; is_whole && i < SPEAKER_COUNT; i++) {
        journal->rings[i].size = sizes[i];
        journal->rings[i].bytes = shared(sizes[i]);
        is_whole = journal->rings[i].bytes != NULL;
    }
    if (is_whole) journal->large.bytes = shared(LARGEST_BYTES);
    if (is_whole) return journal;
    journal_free(journal);
    return NULL;
}

void journal_free(Journal *journal) {
    if (!journal) return;
    for (int i = 0; i < SPEAKER_COUNT; i++)
        if (journal->rings[i].bytes) munmap(journal->rings[i].bytes, journal->rings[i].size);
    if (journal->large.bytes) munmap(journal->large.bytes, LARGEST_BYTES);
    munmap(journal, sizeof *journal);
}

// --- Rings

static char *ring_at(const Ring *ring, size_t place) { return ring->bytes + place % ring->size; }

/// As many of the `size` bytes from there on as lie one after the other.
static size_t ring_stretch(const Ring *ring, size_t place, size_t size) {
    size_t straight = ring->size - place % ring->size;
    return size < straight ? size : straight;
}

static Str ring_piece(const Ring *ring, size_t start, size_t end) {
    return (Str){ring_at(ring, start), ring_stretch(ring, start, end - start)};
}

/// Where the client's next bytes are put, as far as they lie one after the other.
static char *room_to_hear(const Journal *journal, size_t *size) {
    const Ring *ring = &journal->rings[SPEAKER_CLIENT];
    size_t said = atomic_load(&ring->said);
    *size = ring_stretch(ring, said, atomic_load(&ring->read) + ring->size - said);
    return ring_at(ring, said);
}

/// What the server said is needed until it is read and written.
static size_t said_and_held(const Journal *journal) {
    size_t read = atomic_load(&journal->rings[SPEAKER_SERVER].read);
    size_t written = atomic_load(&journal->written);
    return written < read ? written : read;
}

// --- The server's side

static void forget_at_once(Journal *journal) {
    if (journal->doorbell >= 0) return;
    for (Speaker speaker = 0; speaker < SPEAKER_COUNT; speaker++)
        journal_forget(journal, speaker,
                       journal_said(journal, speaker) - atomic_load(&journal->rings[speaker].read));
}

static void ring_bell(Journal *journal) {
    if (journal->doorbell < 0 || atomic_exchange(&journal->is_rung, true)) return;
    // A bell that is not heard is one that was rung already.
    if (write(journal->doorbell, "", 1) < 0) return;
}

void journal_ring(Journal *journal) {
    if (atomic_load(&journal->is_asleep) && atomic_exchange(&journal->is_asleep, false))
        ring_bell(journal);
}

static void grow(Journal *journal, Speaker speaker, size_t size) {
    Ring *ring = &journal->rings[speaker];
    atomic_fetch_add(&ring->said, size);
    if (atomic_load(&ring->said) - atomic_load(&ring->read) > MUCH_BYTES) ring_bell(journal);
    journal_ring(journal);
}

static void large_keep(Journal *journal, size_t start, const char *data, size_t size) {
    Large *large = &journal->large;
    bool is_kept = atomic_load(&large->size) != 0;
    if (is_kept || !large->bytes || size > LARGEST_BYTES || journal->doorbell < 0) return;
    memcpy(large->bytes, data, size);
    large->start = start;
    atomic_store(&large->size, size);
}

static void large_forget(Journal *journal) {
    Large *large = &journal->large;
    size_t size = atomic_exchange(&large->size, 0);
#ifdef MADV_REMOVE
    if (size) madvise(large->bytes, size, MADV_REMOVE);
#else
    (void)size;
#endif
}

char *journal_room(Journal *journal, size_t *size) {
    char *room = room_to_hear(journal, size);
    if (!*size) ring_bell(journal);
    return room;
}

void journal_hear(Journal *journal, size_t size) {
    grow(journal, SPEAKER_CLIENT, size);
    forget_at_once(journal);
}

size_t journal_say(Journal *journal, const char *data, size_t size) {
    const Ring *ring = &journal->rings[SPEAKER_SERVER];
    size_t said = atomic_load(&ring->said), free = said_and_held(journal) + ring->size - said;
    if (size > ring->size) large_keep(journal, said, data, size);
    if (size > free) {
        ring_bell(journal);
        size = size > ring->size ? free : 0;
    }
    for (size_t taken = 0, stretch; taken < size; taken += stretch) {
        stretch = ring_stretch(ring, said + taken, size - taken);
        memcpy(ring_at(ring, said + taken), data + taken, stretch);
    }
    if (size) grow(journal, SPEAKER_SERVER, size);
    if (!journal_rest(journal).size) large_forget(journal);
    return size;
}

Str journal_unwritten(const Journal *journal) {
    const Ring *ring = &journal->rings[SPEAKER_SERVER];
    return ring_piece(ring, atomic_load(&journal->written), atomic_load(&ring->said));
}

size_t journal_backlog(const Journal *journal) {
    return atomic_load(&journal->rings[SPEAKER_SERVER].said) - atomic_load(&journal->written);
}

void journal_begin_write(Journal *journal, size_t size) {
    atomic_store(&journal->writing, atomic_load(&journal->written) + size);
    if (!atomic_load(&journal->is_stopped)) return;
    atomic_store(&journal->writing, 0);
    for (;;) pause();
}

void journal_end_write(Journal *journal, size_t written) {
    atomic_fetch_add(&journal->written, written);
    atomic_store(&journal->writing, 0);
    forget_at_once(journal);
}

void journal_stop(Journal *journal) {
    enum { MOST_TRIES = 200 };
    const struct timespec millisecond = {.tv_nsec = 1000000};
    atomic_store(&journal->is_stopped, true);
    for (int i = 0; i < MOST_TRIES && atomic_load(&journal->writing); i++)
        nanosleep(&millisecond, NULL);
}

// --- The reader's side

void journal_wake(Journal *journal) {
    atomic_store(&journal->is_asleep, false);
    atomic_store(&journal->is_rung, false);
}

Str journal_rest(const Journal *journal) {
    const Large *large = &journal->large;
    size_t size = atomic_load(&large->size);
    size_t said = journal_said(journal, SPEAKER_SERVER) - (size ? large->start : 0);
    return size > said ? (Str){large->bytes + said, size - said} : (Str){"", 0};
}

void journal_begin(Journal *journal, int doorbell) {
    large_forget(journal);
    journal->doorbell = doorbell;
    atomic_store(&journal->writing, 0);
    atomic_store(&journal->is_stopped, false);
    journal_wake(journal);
}

void journal_recover(Journal *journal) {
    size_t room;
    const char *from = room_to_hear(journal, &room);
    while (room && !from[room - 1]) room--;
    atomic_fetch_add(&journal->rings[SPEAKER_CLIENT].said, room);
    size_t written = atomic_load(&journal->written), writing = atomic_load(&journal->writing);
    // A client is woken by a write before its writer goes on: whoever is killed then has most likely written.
    if (writing > written) journal_end_write(journal, writing - written);
}

bool journal_sleep(Journal *journal) {
    atomic_store(&journal->is_asleep, true);
    for (Speaker speaker = 0; speaker < SPEAKER_COUNT; speaker++) {
        if (atomic_load(&journal->rings[speaker].read) == journal_said(journal, speaker)) continue;
        atomic_store(&journal->is_asleep, false);
        return false;
    }
    return true;
}

size_t journal_said(const Journal *journal, Speaker speaker) {
    return atomic_load(&journal->rings[speaker].said);
}

Str journal_unread(const Journal *journal, Speaker speaker, size_t end) {
    const Ring *ring = &journal->rings[speaker];
    return ring_piece(ring, atomic_load(&ring->read), end);
}

void journal_forget(Journal *journal, Speaker speaker, size_t size) {
    Ring *ring = &journal->rings[speaker];
    size_t end = atomic_load(&ring->read) + size;
    for (size_t at = end - size; speaker == SPEAKER_CLIENT && at < end;) {
        size_t stretch = ring_stretch(ring, at, end - at);
        memset(ring_at(ring, at), 0, stretch);
        at += stretch;
    }
    atomic_store(&ring->read, end);
}
