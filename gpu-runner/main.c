// tad-runner: executes kernels for tad-lsp in a process of its own. Speaks JSON-RPC on stdin and stdout, or runs one request from a file.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "gpu-runner/cuda/device.h"
#include "gpu-runner/prove/request.h"
#include "gpu-runner/rpc.h"
#include "gpu-runner/run.h"
#include "gpu-runner/sandbox/sandbox.h"
#include "gpu-runner/verdict/gradcheck.h"

static const char usage[] =
    "tad-runner - runs Triton kernels and checks gradients for tad-lsp\n"
    "\n"
    "usage: tad-runner                     serve JSON-RPC 2.0 on stdin and stdout\n"
    "       tad-runner --gradcheck FILE    do one `gradcheck` request (its params, as JSON) and print the result\n"
    "       tad-runner --run FILE          the same for `run`\n"
    "       tad-runner --backend cuda ...  any of these with the GPU, where there is one\n"
    "       tad-runner --backend auto ...  the same, but what the interpreter is faster at it does\n"
    "       tad-runner --within gpu COMMAND...   start a command that drives a GPU: without network, ended with its parent\n"
    "       tad-runner --version | --help\n";

static Str read_file(Arena *arena, const char *path, Error *error) {
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!file) {
        *error = arena_printf(arena, "%s: %s", path, strerror(errno));
        return (Str){0};
    }
    Buffer text = buffer_new(arena);
    char chunk[65536];
    for (size_t size; (size = fread(chunk, 1, sizeof chunk, file)) > 0;)
        buffer_add(&text, chunk, size);
    if (file != stdin) fclose(file);
    return (Str){buffer_text(&text), text.size};
}

static int one_request(const char *method, const char *path, SandboxBackend backend) {
    Arena *arena = arena_new();
    Error error = NULL;
    Json *result = NULL;
    Str text = read_file(arena, path, &error);
    sandbox_enter(backend);
    Json *params = error ? NULL : json_parse(arena, text, &error);
    sandbox_grant_seconds(request_seconds(params));
    if (params && strcmp(method, "--gradcheck") == 0)
        result = request_gradcheck(arena, params, NULL, NULL, NULL, &error);
    else if (params)
        result = request_run(arena, params, NULL, &error);
    if (error)
        fprintf(stderr, "tad-runner: %s\n", text_visible(arena, error));
    else if (result)
        puts(json_print(arena, result, true));
    arena_free(arena);
    return error ? 2 : 0;
}

/// Becomes the command; returns where it cannot.
static int start_within(char **command) {
    sandbox_follow_parent();
    sandbox_enter(SANDBOX_GPU);
    execvp(command[0], command);
    fprintf(stderr, "tad-runner: cannot start `%s`: %s\n", command[0], strerror(errno));
    return 2;
}

int main(int argc, char **argv) {
    SandboxBackend backend = SANDBOX_CPU;
    bool is_eager = argc > 2 && strcmp(argv[2], "cuda") == 0;
    if (argc > 2 && strcmp(argv[1], "--backend") == 0 &&
        (is_eager || strcmp(argv[2], "auto") == 0)) {
        backend = SANDBOX_GPU;
        device_want(is_eager);
        argc -= 2;
        argv += 2;
    }
    if (argc == 1) {
        sandbox_enter(backend);
        return rpc_serve(stdin, stdout);
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("tad-runner " TAD_VERSION);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc == 3 && (strcmp(argv[1], "--gradcheck") == 0 || strcmp(argv[1], "--run") == 0))
        return one_request(argv[1], argv[2], backend);
    if (argc > 3 && strcmp(argv[1], "--within") == 0 && strcmp(argv[2], "gpu") == 0)
        return start_within(argv + 3);
    fprintf(stderr, "tad-runner: wrong use\n%s", usage);
    return 2;
}
