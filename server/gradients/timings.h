// Times of kernels for the editor: asked for by a command, kept by file and kernel, shown on lenses.
#ifndef TAD_SERVER_GRADIENTS_TIMINGS_H
#define TAD_SERVER_GRADIENTS_TIMINGS_H

#include "server/session/session.h"

struct Timings;
struct Timings *timings_new(Server *server);
/// Stops what runs; requests that wait are let go.
void timings_end(struct Timings *timings);
void timings_free(struct Timings *timings);

/// Times the kernel that the request's argument names; the held request is answered with {"kernel", "summary", ...}.
/// On the loop's thread.
void timings_start(struct Timings *timings, Request *request, const char *kernel);
/// Stops the timing whose progress has this token.
void timings_cancel_token(struct Timings *timings, const Json *token);
void timings_cancel_request(struct Timings *timings, const Request *request);
/// One line about the last timing of this very text, NULL where there is none; `*is_running` while it is made. From any thread.
const char *timing_known(struct Timings *timings, Arena *arena, const char *uri, const char *kernel,
                         uint64_t hash, bool *is_running);
/// Of the forward, as this very text was timed last: {"configuration", "flop_per_byte", "tflop_s", "gb_s", "shared_bytes", "registers"}, without
/// what was not told; NULL where there are no times. From any thread.
Json *timing_figures(struct Timings *timings, Arena *arena, const char *uri, const char *kernel,
                     uint64_t hash);
/// What was timed of this kernel since the server started, whatever its comment said of sizes: [{"configuration", "bytes", "forward_ms",
/// "backward_ms"}], by bytes; NULL where nothing was. From any thread.
Json *timing_sizes(struct Timings *timings, Arena *arena, const char *uri, const char *kernel,
                   uint64_t code);
/// What the compiled kernel has of a line of the file, as it was timed last: "6 instructions: loads 2, constants 1". NULL where that is not known, or the text is another one. From
/// any thread.
const char *timing_of_line(struct Timings *timings, Arena *arena, const char *uri,
                           const Snapshot *snapshot, int line);

#endif
