// One message for all proofs of a GPU that is gone, however many they are.
#include "server/gradients/handover.h"

#include <string.h>

#include "server/session/client.h"

enum { WARNING = 2, INFORMATION = 3 };  // of window/showMessage

static void tell(Handover *handover, Server *server, const char *why) {
    if (handover->is_told) return;
    handover->is_told = true;
    Arena *arena = arena_new();
    client_show_message(
        server, WARNING,
        arena_printf(
            arena,
            "Gradient checks go on without the GPU, in the interpreter: %s. It is tried again "
            "with later checks.",
            why));
    arena_free(arena);
}

void handover_take(Handover *handover, Server *server, const Json *answer) {
    const Json *cuda = json_get(answer, "cuda");
    const char *gone = json_get_string(cuda, "gone", NULL);
    if (gone) {
        tell(handover, server, gone);
    } else if (handover->is_told && json_get_number(cuda, "launches", 0) > 0) {
        handover->is_told = false;
        client_show_message(server, INFORMATION, "Gradient checks use the GPU again.");
    }
}

void handover_take_death(Handover *handover, Server *server, const char *command,
                         const char *message) {
    if (strstr(command, "--backend")) tell(handover, server, message);
}
