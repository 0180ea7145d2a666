// The server in a process of its own, started again when it crashes, so that the client keeps its connection.
#ifndef TAD_SERVER_CRASH_SUPERVISE_H
#define TAD_SERVER_CRASH_SUPERVISE_H

#include "server/crash/blackbox.h"
#include "server/crash/connection.h"
#include "server/crash/journal.h"

/// What a server is given: the client's connection, and what servers before it have left.
typedef struct Inheritance {
    Connection client;
    Journal *journal;
    Blackbox *box;  // NULL: nobody watches
    int record;     // a descriptor that takes what the client sends, or -1
    Str past;  // what the client has told that still counts, as messages; the last may have just begun
    bool is_greeted;  // the client has the answer to its `initialize`
    Str owed;         // to be written first
} Inheritance;

typedef int ServeFunction(const Options *options, const Inheritance *inheritance);

/// Runs `serve` in a child process until the client is gone or the server ends by itself. Returns the exit status. Without a process
/// to spare, `serve` runs here, and nobody watches.
int supervise(const Options *options, ServeFunction *serve);

#endif
