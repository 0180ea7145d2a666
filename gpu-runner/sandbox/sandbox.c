// Limits, the environment, and entering. The limits are hard: nothing raises them again, but the soft one on time.
#include "gpu-runner/sandbox/sandbox.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

extern char **environ;

/// What holds by now.
static struct {
    bool is_entered;
    bool has_no_new_privileges, has_filter, has_limits, has_environment;  // an empty one
    uint64_t memory_bytes;
    Error lacking;  // why something does not hold, or NULL
} sandbox;

enum {
    STATUS_ORPHAN = 2,
    MOST_GPU_SECONDS = 3600,  // of each process; who started it waits for some minutes
    MOST_FILES = 16,
    GIBIBYTE = 1 << 30,
    LEAST_GIBIBYTES = 4,
    MOST_GIBIBYTES = 16
};

/// As much as the machine has, so that one kernel does not take it down; but the interpreter's own limit on buffers, which answers with a
/// sentence, has to come first.
static uint64_t memory_limit_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    uint64_t least = (uint64_t)LEAST_GIBIBYTES * GIBIBYTE,
             most = (uint64_t)MOST_GIBIBYTES * GIBIBYTE;
    return bytes < least ? least : bytes > most ? most : bytes;
}

/// Never raises what is lower already.
static bool limit_set(int resource, rlim_t value) {
    struct rlimit limit;
    if (getrlimit(resource, &limit)) return false;
    if (limit.rlim_max == RLIM_INFINITY || value < limit.rlim_max) limit.rlim_max = value;
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    return setrlimit(resource, &limit) == 0;
}

/// Whether the stream is a file, of a person who keeps what a worker says: it could not grow.
static bool is_file(int descriptor) {
    struct stat info;
    return fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
}

bool sandbox_limit(SandboxBackend backend, Error *lacking) {
    bool holds = limit_set(RLIMIT_CORE, 0);
    if (backend == SANDBOX_CPU) {
        sandbox.memory_bytes = memory_limit_bytes();
        holds = limit_set(RLIMIT_AS, sandbox.memory_bytes) &&
                limit_set(RLIMIT_NOFILE, MOST_FILES) && holds;
        if (!is_file(STDOUT_FILENO) && !is_file(STDERR_FILENO))
            holds = limit_set(RLIMIT_FSIZE, 0) && holds;
    }
    if (backend == SANDBOX_GPU) holds = limit_set(RLIMIT_CPU, MOST_GPU_SECONDS) && holds;
    if (!holds) *lacking = "the system refuses limits on memory, files or core dumps";
    return holds;
}

void sandbox_grant_seconds(double seconds) {
    enum { MOST_SECONDS = 1000 * 1000 };
    struct timespec used;
    struct rlimit limit;
    if (!sandbox.is_entered || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)) return;
    if (!(seconds >= 0 && seconds < MOST_SECONDS)) seconds = MOST_SECONDS;
    rlim_t until = (rlim_t)used.tv_sec + (rlim_t)seconds + 1;
    if (getrlimit(RLIMIT_CPU, &limit)) return;
    limit.rlim_cur =
        limit.rlim_max == RLIM_INFINITY || until < limit.rlim_max ? until : limit.rlim_max;
    setrlimit(RLIMIT_CPU, &limit);
}

/// The texts themselves are cleared, too: they lie where /proc/PID/environ shows them.
static void environment_clear(void) {
    for (char **entry = environ; entry && *entry; entry++) memset(*entry, 0, strlen(*entry));
    static char *none[] = {NULL};
    environ = none;
    sandbox.has_environment = true;
}

void sandbox_follow_parent(void) {
#ifdef __linux__
    pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(STATUS_ORPHAN);
#endif
}

/// A driver of NVIDIA's makes its devices when it is first used, by a program with more rights than its caller has.
static bool needs_privileges(SandboxBackend backend) {
    return backend == SANDBOX_GPU && access("/sys/module/nvidia", F_OK) == 0 &&
           (access("/dev/nvidiactl", F_OK) || access("/dev/nvidia-uvm", F_OK));
}

static void files_close(void) {
#if defined(__linux__) && defined(__NR_close_range)
    syscall(__NR_close_range, STDERR_FILENO + 1, ~0u, 0);  // an older kernel keeps them
#endif
}

static bool privileges_drop(SandboxBackend backend, Error *lacking) {
    if (needs_privileges(backend)) {
        *lacking = "the GPU's driver has to make its devices first";
        return false;
    }
#ifdef __linux__
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) return true;
#endif
    *lacking = "the system has no `no_new_privs`";
    return false;
}

void sandbox_enter(SandboxBackend backend) {
    if (SANITIZED) {
        sandbox.lacking =
            "this build has a sanitizer, whose runtime needs more than a sandbox allows";
        return;
    }
    if (backend == SANDBOX_CPU) {
        environment_clear();
        files_close();
    }
    sandbox.is_entered = true;
    sandbox.has_limits = sandbox_limit(backend, &sandbox.lacking);
    sandbox.has_no_new_privileges = privileges_drop(backend, &sandbox.lacking);
    sandbox.has_filter = sandbox.has_no_new_privileges && sandbox_filter(backend, &sandbox.lacking);
}

Json *sandbox_json(Arena *arena) {
    Json *json = json_object(arena);
    json_set_bool(json, "system_calls", sandbox.has_filter);
    json_set_bool(json, "no_new_privileges", sandbox.has_no_new_privileges);
    json_set_bool(json, "limits", sandbox.has_limits);
    json_set_bool(json, "environment", sandbox.has_environment);
    json_set_number(json, "memory_bytes", (double)sandbox.memory_bytes);
    if (sandbox.lacking) json_set_string(json, "lacking", sandbox.lacking);
    return json;
}
