// A request is one arena: what the runner answered is freed when its callback returned. A dead worker is started again for the next request.
#include "server/proofs/runner_client.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/frames.h"

enum {
    LAST_WORDS = 2000,           // what was said before is dropped
    LARGEST_MESSAGE = 16 << 20,  // an answer has some kilobytes
    MOST_OUTPUT = 32 << 20,      // for one request, with its progress and complaints
    LONGEST_GREETING_LINE = 1000,
    LONGEST_GREETING = 64 << 10,
};

struct RunnerClient {
    Arena *arena;
    Loop *loop;
    const char *const *command;
    RunnerProgress *progress;
    void *progress_context;

    Process *process;  // NULL: to be started with the next request
    FrameReader reader;
    char last_words[LAST_WORDS + 1];  // the end of its stderr, and of its greeting: why it died
    size_t last_words_size;
    Buffer
        greeting;  // what it wrote and may be a login's greeting; its arena is its own, NULL: the protocol has begun
    size_t greeted;   // bytes of lines that were one
    size_t received;  // bytes, since the request

    int next_id;
    bool gives_way;
    bool in_flight;
    bool timed_out;
    int device;
    const char *start_error;
    RunnerCallback *callback;
    void *context;
    Timer *timer;
    uint64_t limit_ms;
};

RunnerClient *runner_client_new(Arena *arena, Loop *loop, const char *const *command,
                                RunnerProgress *progress, void *progress_context) {
    RunnerClient *client = ARENA_NEW(arena, RunnerClient);
    client->arena = arena;
    client->loop = loop;
    client->command = command;
    client->progress = progress;
    client->progress_context = progress_context;
    return client;
}

static void request_finish(RunnerClient *client, RunnerTrouble trouble, const Json *result,
                           const char *message) {
    if (!client->in_flight) return;
    client->in_flight = false;
    timer_stop(client->timer);
    client->timer = NULL;
    client->callback(client->context, trouble, result, message);
}

/// As messages name it. The rest of a command is left out: keys may stand there.
static const char *worker_name(Arena *arena, const RunnerClient *client) {
    const char *program = client->command[0], *slash = strrchr(program, '/');
    bool is_ours = strcmp(slash ? slash + 1 : program, "tad-runner") == 0;
    return is_ours ? "tad-runner" : arena_printf(arena, "`%s`", program);
}

static void greeting_end(RunnerClient *client) {
    if (client->greeting.arena) arena_free(client->greeting.arena);
    client->greeting = (Buffer){0};
}

static void worker_forget(RunnerClient *client) {
    client->process = NULL;
    greeting_end(client);
    frame_reader_free(&client->reader);
}

static void worker_drop(RunnerClient *client) {
    if (client->process) process_abandon(client->process);
    worker_forget(client);
}

/// Ends a worker that talks nonsense or without end.
static void worker_refuse(RunnerClient *client, const char *what) {
    Arena *arena = arena_new();
    worker_drop(client);
    request_finish(
        client, RUNNER_DIED, NULL,
        arena_printf(
            arena,
            "`%s` was stopped: it sent %s. A worker sends messages of tad-runner alone on stdout, "
            "up to %d MB each and %d MB for a request",
            client->command[0], what, LARGEST_MESSAGE >> 20, MOST_OUTPUT >> 20));
    arena_free(arena);
}

/// False where it was too much, and the worker is gone.
static bool worker_may_send(RunnerClient *client, size_t size) {
    client->received += size;
    if (client->received <= MOST_OUTPUT) return true;
    worker_refuse(client, "too much");
    return false;
}

static void message_received(RunnerClient *client, Arena *arena, Str body) {
    Error error = NULL;
    Json *message = json_parse(arena, body, &error);
    if (error) {
        worker_refuse(client, arena_printf(arena, "a malformed message (%s)", error));
        return;
    }
    const char *method = json_get_string(message, "method", NULL);
    if (method && json_get(message, "id")) {
        worker_refuse(client, "our own request back");
        return;
    }
    if (method) {
        if (strcmp(method, "progress") == 0 && client->progress)
            client->progress(client->progress_context, json_get(message, "params"));
        return;
    }
    if (!client->in_flight || json_get_int(message, "id", -1) != client->next_id) return;
    const Json *failure = json_get(message, "error");
    // A process that lost its GPU does not get it back; another one does.
    if (json_get_bool(json_get(json_get(message, "result"), "cuda"), "lost", false))
        worker_drop(client);
    if (failure && failure->kind == JSON_OBJECT)
        request_finish(client, RUNNER_REFUSED, NULL,
                       json_get_string(failure, "message", "no reason given"));
    else
        request_finish(client, RUNNER_OK, json_get(message, "result"), NULL);
}

static void messages_add(RunnerClient *client, const char *data, size_t size) {
    frame_reader_add(&client->reader, data, size);
    for (;;) {
        Str body;
        Error error = NULL;
        if (!client->process || !frame_reader_next(&client->reader, &body, &error)) {
            if (error) worker_refuse(client, error);
            return;
        }
        Arena *arena = arena_new();
        message_received(client, arena,
                         (Str){arena_strndup(arena, body.data, body.size), body.size});
        arena_free(arena);
    }
}

static void remember_words(RunnerClient *client, const char *data, size_t size) {
    if (size > LAST_WORDS) {
        data += size - LAST_WORDS;
        size = LAST_WORDS;
    }
    if (client->last_words_size + size > LAST_WORDS) {
        size_t drop = client->last_words_size + size - LAST_WORDS;
        memmove(client->last_words, client->last_words + drop, client->last_words_size - drop);
        client->last_words_size -= drop;
    }
    memcpy(client->last_words + client->last_words_size, data, size);
    client->last_words_size += size;
    client->last_words[client->last_words_size] = 0;
}

/// The line that begins at `at` is a greeting's, where it is whole; `*next`: after it, or where the first message begins.
static bool greeting_line(Str text, size_t at, size_t *next) {
    static const char opening[] = "Content-Length:";
    const size_t opening_size = sizeof opening - 1;
    size_t end = at;
    for (; end < text.size && text.data[end] != '\n'; end++)
        if (text.size - end >= opening_size &&
            strncasecmp(text.data + end, opening, opening_size) == 0)
            break;
    *next = end;
    if (end == text.size) return false;
    if (text.data[end] == '\n') *next = end + 1;
    return *next - at <= LONGEST_GREETING_LINE && *next > at;
}

/// Shells and logins may greet on stdout before the worker is there: whole lines, before the first message. Too much of it is
/// left to the reader of messages, which says what is wrong with it.
static void greeting_take(RunnerClient *client, const char *data, size_t size) {
    buffer_add(&client->greeting, data, size);
    Str text = {client->greeting.data, client->greeting.size};
    size_t at = client->greeted, next = at;
    while (at < LONGEST_GREETING && greeting_line(text, at, &next)) {
        remember_words(client, text.data + at, next - at);
        at = next;
    }
    client->greeted = at;
    bool is_waiting = next == text.size && next - at < LONGEST_GREETING_LINE;
    if (is_waiting && at < LONGEST_GREETING) return;
    Buffer taken = client->greeting;
    client->greeting = (Buffer){0};
    messages_add(client, taken.data + at, taken.size - at);
    arena_free(taken.arena);
}

static void worker_output(void *context, const char *data, size_t size) {
    RunnerClient *client = context;
    if (!client->process || !worker_may_send(client, size)) return;
    if (client->greeting.arena)
        greeting_take(client, data, size);
    else
        messages_add(client, data, size);
}

static void worker_error_output(void *context, const char *data, size_t size) {
    RunnerClient *client = context;
    if (!client->process || !worker_may_send(client, size)) return;
    remember_words(client, data, size);
}

/// The last line that says something: sanitizers and shells put theirs at the end.
static const char *last_line(Arena *arena, const char *text) {
    Str rest = str_trim(str_from(text));
    const char *start = rest.data + rest.size;
    while (start > rest.data && start[-1] != '\n') start--;
    return arena_strndup(arena, start, (size_t)(rest.data + rest.size - start));
}

static void worker_exited(void *context, int status, int signal_number) {
    RunnerClient *client = context;
    Arena *arena = arena_new();
    if (client->greeting.arena && client->greeting.size > client->greeted)
        remember_words(client, client->greeting.data + client->greeted,
                       client->greeting.size - client->greeted);
    worker_forget(client);
    const char *name = worker_name(arena, client), *words = last_line(arena, client->last_words),
               *colon = *words ? ": " : "";
    if (client->in_flight && client->timed_out) {
        request_finish(client, RUNNER_TIMED_OUT, NULL,
                       arena_printf(arena, "%s did not answer within %.0f s and was stopped%s%s",
                                    name, (double)client->limit_ms / 1000, colon, words));
    } else if (client->in_flight) {
        const char *how =
            signal_number
                ? arena_printf(arena, "was killed by signal %d%s", signal_number,
                               signal_number == SIGXCPU ? ", its limit on processor time" : "")
                : arena_printf(arena, "exited with status %d", status);
        request_finish(client, RUNNER_DIED, NULL,
                       arena_printf(arena, "%s %s%s%s", name, how, colon, words));
    }
    arena_free(arena);
}

static void request_late(void *context) {
    RunnerClient *client = context;
    client->timed_out = true;
    if (client->process) process_kill(client->process);  // worker_exited answers
}

/// A command of the user's own leads to the worker by ways that need more. One of ours with a GPU has what compilers and drivers ask for.
static EnvironmentKind worker_environment(const char *const *command) {
    const char *slash = strrchr(command[0], '/');
    if (strcmp(slash ? slash + 1 : command[0], "tad-runner") != 0) return ENVIRONMENT_COMMAND;
    if (!command[1]) return ENVIRONMENT_WORKER;
    bool has_gpu = strcmp(command[1], "--backend") == 0 && command[2] && !command[3];
    return has_gpu ? (EnvironmentKind)(ENVIRONMENT_WORKER | ENVIRONMENT_PYTHON)
                   : ENVIRONMENT_COMMAND;
}

static void start_failed(void *context) {
    RunnerClient *client = context;
    request_finish(client, RUNNER_UNAVAILABLE, NULL, client->start_error);
}

void runner_client_request(RunnerClient *client, const char *method, Json *params,
                           uint64_t limit_ms, RunnerCallback *callback, void *context) {
    if (client->in_flight) BUG("two requests to one runner");
    client->in_flight = true;
    client->timed_out = false;
    client->callback = callback;
    client->context = context;
    client->limit_ms = limit_ms;
    client->next_id++;
    client->received = 0;
    if (!client->process) {
        ProcessEvents events = {worker_output, worker_error_output, worker_exited, client};
        client->last_words_size = 0;
        client->last_words[0] = 0;
        client->start_error =
            process_start(client->loop, client->arena, client->command,
                          worker_environment(client->command), &events, &client->process);
        if (client->start_error) {
            client->timer = timer_start(client->loop, 0, 0, start_failed, client);
            return;
        }
        if (client->gives_way) process_give_way(client->process);
        client->reader = frame_reader_new_limited(LARGEST_MESSAGE);
        client->greeting = buffer_new(arena_new());
        client->greeted = 0;
    }
    Arena *arena = arena_new();
    Json *message = json_object(arena);
    json_set_string(message, "jsonrpc", "2.0");
    json_set_number(message, "id", client->next_id);
    json_set_string(message, "method", method);
    if (!params) params = json_object(arena);
    if (client->device) json_set_number(params, "device", client->device);
    json_set(message, "params", params);
    Str framed = frame_write(arena, message);
    process_write(client->process, framed.data, framed.size);
    arena_free(arena);
    client->timer = timer_start(client->loop, limit_ms, 0, request_late, client);
}

void runner_client_give_way(RunnerClient *client) { client->gives_way = true; }

void runner_client_use_device(RunnerClient *client, int device) { client->device = device; }

void runner_client_close(RunnerClient *client) {
    worker_drop(client);
    client->in_flight = false;
    timer_stop(client->timer);
    client->timer = NULL;
}

static bool is_program(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

const char *runner_find(Arena *arena, const char *given, Error *error) {
    *error = NULL;
    if (given) return given;
    const char *beside = arena_printf(arena, "%s/tad-runner", executable_folder(arena));
    if (is_program(beside)) return beside;
    const char *path = getenv("PATH");
    for (const char *at = path; at && *at;) {
        size_t size = strcspn(at, ":");
        const char *candidate = arena_printf(arena, "%.*s/tad-runner", (int)size, at);
        if (size && is_program(candidate)) return candidate;
        at += size + (at[size] == ':');
    }
    *error = arena_printf(arena,
                          "tad-runner is neither beside tad-lsp (%s) nor on PATH; "
                          "build it, or name it with --runner COMMAND",
                          executable_folder(arena));
    return NULL;
}

/// One word of a command: up to a space that no quotes enclose. A quote without its fellow is a letter as any other.
static const char *command_word(Arena *arena, const char **at) {
    Buffer word = buffer_new(arena);
    for (; **at && **at != ' '; (*at)++) {
        const char *end = **at == '\'' || **at == '"' ? strchr(*at + 1, **at) : NULL;
        if (end) {
            buffer_add(&word, *at + 1, (size_t)(end - *at - 1));
            *at = end;
        } else {
            buffer_putc(&word, **at);
        }
    }
    return buffer_text(&word);
}

const char *const *runner_command(Arena *arena, const char *text) {
    size_t words = 2;
    for (const char *at = text; *at; at++) words += *at == ' ';
    const char **command = ARENA_ARRAY(arena, const char *, words);
    if (is_program(text)) {
        command[0] = arena_strdup(arena, text);
        return command;
    }
    size_t count = 0;
    for (const char *at = text; *at;) {
        if (*at == ' ')
            at++;
        else
            command[count++] = command_word(arena, &at);
    }
    if (count == 0) command[0] = arena_strdup(arena, text);
    return command;
}

const char *const *runner_command_for(Arena *arena, const char *const *command,
                                      const char *backend) {
    size_t count = 0;
    while (command[count]) count++;
    const char **extended = ARENA_ARRAY(arena, const char *, count + 3);
    memcpy(extended, command, sizeof *extended * count);
    extended[count] = "--backend";
    extended[count + 1] = backend;
    return extended;
}
