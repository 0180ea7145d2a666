// What a sandbox refuses and what it lets through, each tried by a child that entered it.
#define _GNU_SOURCE  // CLONE_THREAD, syscall
#include "gpu-runner/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/check.h"

enum { GONE_ON = 100, ENDED = 2, NO_SANDBOX = 3 };

/// Returns 0, or the errno with which the system refused.
typedef int Attempt(void);

static int outcome(long result) { return result >= 0 ? 0 : errno; }

typedef struct End {
    int status;  // GONE_ON + what the attempt returned, or -1
    int signal;
    char words[512];  // what it said on stderr
} End;

static void child_run(Attempt *attempt, SandboxBackend backend, bool is_limit) {
    Error lacking = NULL;
    bool is_in = is_limit
                     ? sandbox_limit(backend, &lacking)
                     : !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && sandbox_filter(backend, &lacking);
    _exit(is_in ? GONE_ON + attempt() : NO_SANDBOX);
}

static End attempt_within(Attempt *attempt, SandboxBackend backend, bool is_limit) {
    End end = {.status = -1};
    int ends[2], state = 0;
    if (pipe(ends)) return end;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);  // a file could not grow
        dup2(ends[1], STDERR_FILENO);
        child_run(attempt, backend, is_limit);
    }
    close(ends[1]);
    size_t size = 0;
    for (ssize_t got; (got = read(ends[0], end.words + size, sizeof end.words - 1 - size)) > 0;)
        size += (size_t)got;
    close(ends[0]);
    waitpid(child, &state, 0);
    if (WIFEXITED(state)) end.status = WEXITSTATUS(state);
    if (WIFSIGNALED(state)) end.signal = WTERMSIG(state);
    return end;
}

static int try_socket(void) { return outcome(syscall(__NR_socket, AF_INET, SOCK_STREAM, 0)); }
static int try_local_socket(void) { return outcome(syscall(__NR_socket, AF_UNIX, SOCK_STREAM, 0)); }
static int try_exec(void) {
    char *arguments[] = {(char[]){"true"}, NULL}, *none[] = {NULL};
    return outcome(syscall(__NR_execve, "/bin/true", arguments, none));
}
static int try_fork(void) {
    long child = syscall(__NR_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    return outcome(child);
}
static int try_clone3(void) { return outcome(syscall(__NR_clone3, NULL, 0)); }
static int try_write_file(void) {
    return outcome(syscall(__NR_openat, AT_FDCWD, "/dev/null", O_WRONLY, 0));
}
static int try_read_write_file(void) {
    return outcome(syscall(__NR_openat, AT_FDCWD, "/dev/null", O_RDWR, 0));
}
static int try_create_file(void) {
    return outcome(syscall(__NR_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_CREAT, 0600));
}
static int try_read_file(void) {
    return outcome(syscall(__NR_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0));
}
static int try_unlink(void) {
    return outcome(syscall(__NR_unlinkat, AT_FDCWD, "/no/such/file", 0));
}
static int try_trace(void) { return outcome(syscall(__NR_ptrace, 0, 0, 0, 0)); }
static int try_peek(void) {
    return outcome(syscall(__NR_process_vm_readv, getppid(), 0, 0, 0, 0, 0));
}
static int try_uring(void) { return outcome(syscall(__NR_io_uring_setup, 1, NULL)); }
static int try_kill_parent(void) { return outcome(syscall(__NR_kill, getppid(), 0)); }
static int try_kill_all(void) { return outcome(syscall(__NR_kill, -1, 0)); }
static int try_kill_itself(void) { return outcome(syscall(__NR_kill, getpid(), 0)); }
static int try_code(void) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? errno : 0;
}
static int try_code_later(void) {
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return outcome(mprotect(page, 4096, PROT_READ | PROT_EXEC));
}
static int try_limit_of_others(void) {
    struct rlimit limit = {1, 1};
    return outcome(syscall(__NR_prlimit64, getppid(), RLIMIT_CPU, &limit, NULL));
}
static int try_more_memory(void) {
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    return outcome(syscall(__NR_prlimit64, 0, RLIMIT_AS, &limit, NULL));
}
static int try_more_time(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_CPU, &limit) || setrlimit(RLIMIT_CPU, &limit);
}
static int try_unnamed(void) { return outcome(syscall(__NR_sethostname, "", (size_t)0)); }
static int try_unheard_of(void) { return outcome(syscall(9999)); }

static void *answer(void *context) {
    *(int *)context = 42;
    return NULL;
}

/// What a proof does: memory large and small, a thread, time, a line.
static int try_work(void) {
    int got = 0;
    pthread_t thread;
    char *large = malloc((size_t)64 << 20);
    if (!large) return 1;
    memset(large, 1, (size_t)64 << 20);
    free(large);
    if (pthread_create(&thread, NULL, answer, &got)) return 2;
    pthread_join(thread, NULL);
    struct timespec now;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) ||
        nanosleep(&(struct timespec){0, 1000}, NULL))
        return 3;
    return fprintf(stderr, "worked\n") < 0 || got != 42;
}

typedef struct Case {
    const char *name;
    Attempt *attempt;
    int cpu, gpu;  // errno, 0 where it is let through, or ENDS
} Case;

enum { ENDS = -1, ANY = -2 };

static const Case cases[] = {
    {"socket", try_socket, ENDS, EPERM},
    {"socket", try_local_socket, ENDS, 0},
    {"execve", try_exec, ENDS, ANY},
    {"clone", try_fork, ENDS, 0},
    {"clone3", try_clone3, ENOSYS, ANY},
    {"openat", try_write_file, ENDS, 0},
    {"openat", try_read_write_file, ENDS, 0},
    {"openat", try_create_file, ENDS, ANY},
    {"openat", try_read_file, EPERM, 0},
    {"unlinkat", try_unlink, ENDS, ENOENT},
    {"ptrace", try_trace, ENDS, EPERM},
    {"process_vm_readv", try_peek, ENDS, EPERM},
    {"io_uring_setup", try_uring, ENDS, EPERM},
    {"kill", try_kill_parent, ENDS, 0},
    {"kill", try_kill_all, ENDS, ANY},
    {"kill", try_kill_itself, 0, 0},
    {"mmap", try_code, ENDS, 0},
    {"mprotect", try_code_later, ENDS, 0},
    {"prlimit64", try_limit_of_others, EPERM, ANY},
    {"prlimit64", try_more_memory, EPERM, ANY},
    {"prlimit64", try_more_time, 0, 0},
    {"sethostname", try_unnamed, ENOSYS, ANY},
    {"a call of tomorrow", try_unheard_of, ENOSYS, ENOSYS},
};

static void check_case(const Case *one, SandboxBackend backend) {
    int wanted = backend == SANDBOX_CPU ? one->cpu : one->gpu;
    if (wanted == ANY) return;
    End end = attempt_within(one->attempt, backend, false);
    int status = wanted == ENDS ? ENDED : GONE_ON + wanted;
    if (end.status != status) printf("%s, %s:\n", one->name, backend ? "gpu" : "cpu");
    CHECK_EQ_INT(end.status, status);
    char call[64];
    snprintf(call, sizeof call, "`%s`", one->name);
    if (wanted == ENDS) CHECK(strstr(end.words, call) != NULL);
}

TEST(system_calls) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_case(&cases[i], SANDBOX_CPU);
        check_case(&cases[i], SANDBOX_GPU);
    }
}

TEST(a_worker_can_work) {
    for (int backend = 0; backend < SANDBOX_BACKENDS; backend++) {
        End end = attempt_within(try_work, (SandboxBackend)backend, false);
        CHECK_EQ_INT(end.status, GONE_ON);
        CHECK_EQ_STR(end.words, "worked\n");
    }
}

static int try_much_memory(void) {
    // More than any machine's limit, less than what a process can address.
    void *much =
        mmap(NULL, (size_t)1 << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return much == MAP_FAILED ? errno : 0;
}
static int try_many_files(void) {
    for (int i = 0; i < 64; i++)
        if (dup(STDERR_FILENO) < 0) return errno;
    return 0;
}
static int try_growing_file(void) {
    char path[] = "/tmp/tad-sandbox-XXXXXX";
    int file = mkstemp(path);
    unlink(path);
    return outcome(write(file, "x", 1));
}
static int try_core(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_CORE, &limit) || limit.rlim_max != 0;
}

TEST(limits) {
    CHECK_EQ_INT(attempt_within(try_much_memory, SANDBOX_CPU, true).status, GONE_ON + ENOMEM);
    CHECK_EQ_INT(attempt_within(try_many_files, SANDBOX_CPU, true).status, GONE_ON + EMFILE);
    CHECK_EQ_INT(attempt_within(try_growing_file, SANDBOX_CPU, true).signal, SIGXFSZ);
    for (int backend = 0; backend < SANDBOX_BACKENDS; backend++)
        CHECK_EQ_INT(attempt_within(try_core, (SandboxBackend)backend, true).status, GONE_ON);
    CHECK_EQ_INT(attempt_within(try_much_memory, SANDBOX_GPU, true).status, GONE_ON);
    CHECK_EQ_INT(attempt_within(try_many_files, SANDBOX_GPU, true).status, GONE_ON);
    CHECK_EQ_INT(attempt_within(try_growing_file, SANDBOX_GPU, true).status, GONE_ON);
}

TEST_MAIN(TEST_ROW(system_calls), TEST_ROW(a_worker_can_work), TEST_ROW(limits))
