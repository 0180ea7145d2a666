// The rows of system_calls.def as a program for the kernel's classic BPF: a chain of comparisons, first come first served. Written by hand
// because it is a loop over a table; a library would bring the numbers of all architectures along.
#define _GNU_SOURCE  // CLONE_THREAD, AT_EMPTY_PATH, O_TMPFILE
#include "gpu-runner/sandbox/sandbox.h"

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__AARCH64EL__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#endif
#endif

#ifdef ARCHITECTURE

typedef enum Answer { ALLOWED, DENIED, ABSENT, ENDED } Answer;

typedef struct FilterRule {
    int number;
    int argument;
    uint32_t mask, value;  // mask 0: whatever the arguments
    bool is_unless;
    Answer answers[SANDBOX_BACKENDS];
} FilterRule;

enum {
    MOST_OF_RULE = 7,  // instructions
#define CALL(name, cpu, gpu) +1
#define CALL_WHERE(name, argument, mask, value, cpu, gpu) +1
#define CALL_UNLESS(name, argument, mask, value, cpu, gpu) +1
    RULES = 0  // and one for each row
#include "gpu-runner/sandbox/system_calls.def"
#undef CALL
#undef CALL_WHERE
#undef CALL_UNLESS
    ,
    STATUS_ENDED = 2,
    X32_BIT = 0x40000000,  // another numbering of the same calls, on x86-64
};

typedef struct Program {
    struct sock_filter code[MOST_OF_RULE * RULES + 8];
    unsigned short size;
} Program;

static void emit(Program *program, uint16_t code, uint32_t operand, uint8_t yes, uint8_t no) {
    program->code[program->size++] = (struct sock_filter){code, yes, no, operand};
}

static void emit_load(Program *program, size_t offset) {
    emit(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void emit_answer(Program *program, Answer answer) {
    static const uint32_t values[] = {
        [ALLOWED] = SECCOMP_RET_ALLOW,
        [DENIED] = SECCOMP_RET_ERRNO | EPERM,
        [ABSENT] = SECCOMP_RET_ERRNO | ENOSYS,
        [ENDED] = SECCOMP_RET_TRAP,
    };
    emit(program, BPF_RET | BPF_K, values[answer], 0, 0);
}

/// Begins and ends with the call's number loaded. Low halves of arguments suffice: the kernel looks at no others of these.
static void emit_rule(Program *program, const FilterRule *rule, SandboxBackend backend) {
    enum { JUMP = BPF_JMP | BPF_JEQ | BPF_K };
    if (!rule->mask) {
        emit(program, JUMP, (uint32_t)rule->number, 0, 1);
        emit_answer(program, rule->answers[backend]);
        return;
    }
    size_t argument = offsetof(struct seccomp_data, args) + 8 * (size_t)rule->argument;
    emit(program, JUMP, (uint32_t)rule->number, 0, 5);
    emit_load(program, argument);
    emit(program, BPF_ALU | BPF_AND | BPF_K, rule->mask, 0, 0);
    emit(program, JUMP, rule->value, rule->is_unless, !rule->is_unless);
    emit_answer(program, rule->answers[backend]);
    emit_load(program, offsetof(struct seccomp_data, nr));
}

static void program_make(Program *program, SandboxBackend backend) {
    const FilterRule rules[] = {
#define CALL(name, cpu, gpu) {__NR_##name, 0, 0, 0, false, {cpu, gpu}},
#define CALL_WHERE(name, argument, mask, value, cpu, gpu)                                          \
    {__NR_##name, argument, (uint32_t)(mask), (uint32_t)(value), false, {cpu, gpu}},
#define CALL_UNLESS(name, argument, mask, value, cpu, gpu)                                         \
    {__NR_##name, argument, (uint32_t)(mask), (uint32_t)(value), true, {cpu, gpu}},
#include "gpu-runner/sandbox/system_calls.def"
#undef CALL
#undef CALL_WHERE
#undef CALL_UNLESS
    };
    static const Answer unnamed[] = {[SANDBOX_CPU] = ABSENT, [SANDBOX_GPU] = ALLOWED};
    program->size = 0;
    emit_load(program, offsetof(struct seccomp_data, arch));
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    emit(program, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
    emit_load(program, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    emit(program, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
    emit(program, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
#endif
    for (int i = 0; i < RULES; i++) emit_rule(program, &rules[i], backend);
    emit_answer(program, unnamed[backend]);
}

static const char *call_name(int number) {
    static const struct {
        int number;
        const char *name;
    } names[] = {
#define CALL(name, cpu, gpu) {__NR_##name, #name},
#define CALL_WHERE(name, argument, mask, value, cpu, gpu)
#define CALL_UNLESS(name, argument, mask, value, cpu, gpu)
#include "gpu-runner/sandbox/system_calls.def"
#undef CALL
#undef CALL_WHERE
#undef CALL_UNLESS
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == number) return names[i].name;
    return "unknown";
}

static void say(const char *text) {
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;  // who does not listen does not hear
}

/// Async-signal-safe.
static void call_ended(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    say("tad-runner: the sandbox ended a system call that no proof needs, `");
    say(call_name(info->si_syscall));
    say("`; please report it, with the kernel\n");
    _exit(STATUS_ENDED);
}

bool sandbox_filter(SandboxBackend backend, Error *lacking) {
    static Program program;
    program_make(&program, backend);
    struct sock_fprog given = {.len = program.size, .filter = program.code};
    struct sigaction action = {.sa_sigaction = call_ended, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &action, NULL);
    // A filter would slow the process down on some kernels, against code that guesses; there is none but ours.
    unsigned flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    if (syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags, &given) == 0) return true;
    if (errno == EINVAL &&
        syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &given) == 0)
        return true;
    *lacking = errno == ENOSYS || errno == EINVAL ? "the kernel has no seccomp filters"
                                                  : "the kernel refuses a seccomp filter";
    return false;
}

#else

bool sandbox_filter(SandboxBackend backend, Error *lacking) {
    (void)backend;
    *lacking = "there is no filter of system calls for this processor or system";
    return false;
}

#endif
