// The bytes between the client and the server, both ways through the journal. On the loop's thread.
#ifndef TAD_SERVER_SESSION_STREAM_H
#define TAD_SERVER_SESSION_STREAM_H

#include "server/crash/journal.h"
#include "server/system/loop.h"

typedef struct Stream Stream;

/// What a stream tells its owner, from loop_run. `closed`: nothing more comes, and with `why`, which may follow, nothing more goes
/// either.
typedef struct StreamEvents {
    void (*data)(void *context, const char *data, size_t size);
    void (*drained)(void *context);  // everything written was taken
    void (*closed)(void *context, const char *why);
    void *context;
} StreamEvents;

/// Of two descriptors of any kind: pipes, sockets, terminals, files. What the journal holds unwritten goes first. Nothing is read
/// before stream_resume.
Stream *stream_open(Loop *loop, Arena *arena, int input, int output, Journal *journal,
                    const StreamEvents *events);
/// After the loop's last turn: lets go of what is not written. NULL is allowed.
void stream_close(Stream *stream);
/// Copies what cannot be written at once.
void stream_write(Stream *stream, const char *data, size_t size);
/// Bytes that the client has not taken yet.
size_t stream_backlog(const Stream *stream);
/// Whether nobody is there to read any more.
bool stream_is_broken(const Stream *stream);
/// Stops and goes on reading.
void stream_pause(Stream *stream);
void stream_resume(Stream *stream);

#endif
