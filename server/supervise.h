// The server in a process of its own, started again when it crashes, so that the client keeps its connection.
#ifndef TAD_SERVER_SUPERVISE_H
#define TAD_SERVER_SUPERVISE_H

#include "server/blackbox.h"
#include "server/loop.h"
#include "server/options.h"

/// Runs `serve` on stdin and stdout of a child process and carries every byte between it and the client. Returns the exit
/// status. Without a process to spare, `serve` runs here, with no black box.
int supervise(const Options *options, int serve(const Options *options, Blackbox *box));
/// As the options say: our stdin and stdout, or a pipe or a port of an editor that listens.
Error stream_open_client(Loop *loop, Arena *arena, const Options *options,
                         const StreamEvents *events, Stream **stream);

#endif
