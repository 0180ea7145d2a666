// Stands in for libcuda and libnvrtc where there is no GPU: a kernel's text is compiled by the C compiler and run here, a block after
// the other, each with a few threads. Tests compile it and load it by TAD_LIBCUDA and TAD_NVRTC.
//   STAND_IN_THREADS=4                 threads of a block, at most (default 1)
//   STAND_IN_GPUS=2                    how many there are; STAND_IN_USED=FILE: the numbers of those that are asked for
//   STAND_IN_KEEP=FOLDER               the texts of kernels are kept there, as the worker has them (.cu) and as they are compiled here
//   STAND_IN_MEMORY=1000000            bytes of the GPU's memory (default: all of this machine's)
//   STAND_IN_TOGETHER=FILE             for each text a line: how many are compiled at that moment
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "standin.h"

enum { FAILED = 999, COMPILE_FAILED = 6, LONGEST = 4096, MOST_THREADS = 16 };

/// What a C compiler has to know of CUDA.
static const char shim[] =
    "#include <math.h>\n"
    "#include <pthread.h>\n"
    "#include <stdint.h>\n"
    "#define KERNEL\n"
    "#define DEVICE static\n"
    "#define __shared__ static\n"
    "typedef struct { unsigned x, y, z; } TadDim;\n"
    "static _Thread_local TadDim threadIdx;\n"
    "static TadDim blockIdx, blockDim, gridDim;\n"
    "static pthread_barrier_t tad_barrier;\n"
    "static pthread_mutex_t tad_lock = PTHREAD_MUTEX_INITIALIZER;\n"
    "#define __syncthreads() ((void)pthread_barrier_wait(&tad_barrier))\n"
    "static unsigned long long atomicCAS(unsigned long long *at, unsigned long long wanted, "
    "unsigned long long value) {\n"
    "    pthread_mutex_lock(&tad_lock);\n"
    "    unsigned long long old = *at;\n"
    "    if (old == wanted) *at = value;\n"
    "    pthread_mutex_unlock(&tad_lock);\n"
    "    return old;\n"
    "}\n"
    "static double __longlong_as_double(long long bits) {\n"
    "    union { long long bits; double number; } u = {bits};\n"
    "    return u.number;\n"
    "}\n"
    "static long long __double_as_longlong(double number) {\n"
    "    union { double number; long long bits; } u = {number};\n"
    "    return u.bits;\n"
    "}\n"
    "typedef struct { void (*kernel)(void *); void *argument; unsigned thread; } TadThread;\n"
    "static void *tad_thread(void *context) {\n"
    "    TadThread *self = context;\n"
    "    threadIdx.x = self->thread;\n"
    "    self->kernel(self->argument);\n"
    "    return 0;\n"
    "}\n"
    "void tad_block(void (*kernel)(void *), void *argument, unsigned block, unsigned blocks, "
    "unsigned threads) {\n"
    "    TadThread selves[16];\n"
    "    pthread_t handles[16];\n"
    "    blockIdx.x = block, gridDim.x = blocks, blockDim.x = threads;\n"
    "    (void)__double_as_longlong, (void)__longlong_as_double, (void)atomicCAS;\n"
    "    pthread_barrier_init(&tad_barrier, 0, threads);\n"
    "    for (unsigned i = 0; i < threads; i++) selves[i] = (TadThread){kernel, argument, i};\n"
    "    for (unsigned i = 1; i < threads; i++)\n"
    "        pthread_create(&handles[i], 0, tad_thread, &selves[i]);\n"
    "    tad_thread(&selves[0]);\n"
    "    for (unsigned i = 1; i < threads; i++) pthread_join(handles[i], 0);\n"
    "    pthread_barrier_destroy(&tad_barrier);\n"
    "}\n";

/// A file of this process.
static void temporary(char path[LONGEST], const char *ending) {
    static int number;
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder) folder = "/tmp";
    snprintf(path, LONGEST, "%s/tad-stand-in-%d-%d-%s", folder, (int)getpid(),
             __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED), ending);
}

// --- libcuda ------------------------------------------------------------------------------------------------------------

API int cuInit(unsigned flags) {
    (void)flags;
    ANSWER();
    return 0;
}
API int cuDriverGetVersion(int *version) {
    ANSWER();
    *version = 12080;
    return 0;
}
API int cuDeviceGetCount(int *count) {
    ANSWER();
    *count = getenv("STAND_IN_GPUS") ? atoi(getenv("STAND_IN_GPUS")) : 1;
    return 0;
}
API int cuDeviceGet(int *device, int ordinal) {
    ANSWER();
    *device = ordinal;
    const char *used = getenv("STAND_IN_USED");
    FILE *file = used ? fopen(used, "a") : NULL;
    if (file) {
        fprintf(file, "%d\n", ordinal);
        fclose(file);
    }
    return 0;
}
API int cuDeviceGetName(char *name, int size, int device) {
    (void)device;
    ANSWER();
    snprintf(name, (size_t)size, "a stand-in");
    return 0;
}
API int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    ANSWER();
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : 2;
    return 0;
}
API int cuDevicePrimaryCtxRetain(void **context, int device) {
    static int it;
    (void)device;
    ANSWER();
    *context = &it;
    return 0;
}
API int cuCtxSetCurrent(void *context) {
    (void)context;
    ANSWER();
    return 0;
}
API int cuStreamQuery(void *stream) {
    (void)stream;
    ANSWER();
    return 0;
}
static size_t taken;  // bytes of memory, as malloc counts them

API int cuMemAlloc_v2(uint64_t *address, size_t size) {
    ANSWER();
    const char *most = getenv("STAND_IN_MEMORY");
    if (most && taken + size > strtoull(most, NULL, 10)) return 2;
    void *memory = malloc(size);
    if (memory) memset(memory, 0xA5, size);
    if (memory) taken += malloc_usable_size(memory);
    *address = (uint64_t)(uintptr_t)memory;
    return memory ? 0 : 2;
}
API int cuMemFree_v2(uint64_t address) {
    ANSWER();
    taken -= malloc_usable_size((void *)(uintptr_t)address);
    free((void *)(uintptr_t)address);
    return 0;
}
API int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size) {
    ANSWER();
    memcpy((void *)(uintptr_t)to, from, size);
    return 0;
}
API int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size) {
    ANSWER();
    memcpy(to, (const void *)(uintptr_t)from, size);
    return 0;
}
API int cuModuleLoadData(void **module, const void *image) {
    ANSWER();
    char path[LONGEST];
    uint64_t size;
    memcpy(&size, image, sizeof size);
    temporary(path, "loaded.so");
    FILE *file = fopen(path, "wb");
    if (!file) return FAILED;
    fwrite((const char *)image + sizeof size, 1, size, file);
    fclose(file);
    *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    return *module ? 0 : 209;
}
API int cuModuleUnload(void *module) {
    ANSWER();
    dlclose(module);
    return 0;
}

typedef void Kernel(void *argument);
typedef void Block(Kernel *kernel, void *argument, unsigned block, unsigned blocks,
                   unsigned threads);

typedef struct Function {
    Kernel *kernel;
    Block *block;
} Function;

API int cuModuleGetFunction(void **function, void *module, const char *name) {
    static Function functions[64];
    static int count;
    ANSWER();
    void *kernel = dlsym(module, name), *block = dlsym(module, "tad_block");
    if (!kernel || !block) return 500;
    Function *it = &functions[count++ % 64];
    memcpy(&it->kernel, &kernel, sizeof kernel);
    memcpy(&it->block, &block, sizeof block);
    *function = it;
    return 0;
}
API int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads,
                       unsigned threads_y, unsigned threads_z, unsigned shared, void *stream,
                       void **arguments, void **extra) {
    (void)y, (void)z, (void)threads_y, (void)threads_z, (void)shared, (void)stream, (void)extra;
    ANSWER();
    const Function *it = function;
    const char *most = getenv("STAND_IN_THREADS");
    unsigned limit = most ? (unsigned)atoi(most) : 1;
    if (limit > MOST_THREADS) limit = MOST_THREADS;
    if (threads > limit) threads = limit;
    void *argument;
    memcpy(&argument, arguments[0], sizeof argument);
    for (unsigned block = 0; block < x; block++) it->block(it->kernel, argument, block, x, threads);
    return 0;
}
API int cuGetErrorName(int code, const char **name) {
    *name = code == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                          : NULL;
    return *name ? 0 : 1;
}

// --- libnvrtc -----------------------------------------------------------------------------------------------------------

typedef struct Program {
    char *text, *log;
    char file[LONGEST];  // of the compiled code: its size and its bytes are the code
} Program;

API int nvrtcVersion(int *major, int *minor) {
    ANSWER();
    *major = 12, *minor = 9;
    return 0;
}
API int nvrtcCreateProgram(void **program, const char *text, const char *name, int headers,
                           const char *const *sources, const char *const *names) {
    (void)name, (void)headers, (void)sources, (void)names;
    ANSWER();
    Program *it = calloc(1, sizeof *it);
    it->text = strdup(text);
    *program = it;
    return 0;
}

/// The compiler's complaints into the log.
static int compile(Program *it, const char *source) {
    char command[3 * LONGEST];
    const char *options = "-shared -fPIC -O1 -ffp-contract=off -std=gnu11 -w";
    snprintf(command, sizeof command, "cc %s -o %s %s -lm -pthread 2>&1", options, it->file,
             source);
    FILE *compiler = popen(command, "r");
    it->log = calloc(1, LONGEST);
    if (!compiler) return COMPILE_FAILED;
    size_t size = fread(it->log, 1, LONGEST - 1, compiler);
    while (fgetc(compiler) != EOF) continue;
    (void)size;
    return pclose(compiler) == 0 ? 0 : COMPILE_FAILED;
}

static int compiling;

static void note_together(int count) {
    const char *path = getenv("STAND_IN_TOGETHER");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%d\n", count);
    fclose(file);
}

/// Beside what is compiled.
static void keep_text(const char *source, const char *text) {
    char path[LONGEST + 4];
    snprintf(path, sizeof path, "%su", source);
    FILE *file = fopen(path, "w");
    if (!file) return;
    fputs(text, file);
    fclose(file);
}

API int nvrtcCompileProgram(void *program, int count, const char *const *options) {
    (void)count, (void)options;
    static int number;
    Program *it = program;
    it->log = it->log ? it->log : strdup("kernel.cu(1): error: the stand-in was told to\n");
    ANSWER();
    const char *kept = getenv("STAND_IN_KEEP");
    char source[LONGEST];
    temporary(it->file, "code.so");
    temporary(source, "text.c");
    if (kept)
        snprintf(source, sizeof source, "%s/tad-%d-%d.c", kept, (int)getpid(),
                 __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED));
    FILE *file = fopen(source, "w");
    if (!file) return COMPILE_FAILED;
    if (kept) keep_text(source, it->text);
    fputs(shim, file);
    fputs(it->text, file);
    fclose(file);
    note_together(__atomic_add_fetch(&compiling, 1, __ATOMIC_SEQ_CST));
    int code = compile(it, source);
    __atomic_sub_fetch(&compiling, 1, __ATOMIC_SEQ_CST);
    if (!kept) unlink(source);
    return code;
}
API int nvrtcDestroyProgram(void **program) {
    Program *it = *program;
    free(it->text);
    free(it->log);
    free(it);
    *program = NULL;
    ANSWER();
    return 0;
}
API int nvrtcGetProgramLogSize(void *program, size_t *size) {
    const Program *it = program;
    ANSWER();
    *size = strlen(it->log) + 1;
    return 0;
}
API int nvrtcGetProgramLog(void *program, char *log) {
    const Program *it = program;
    ANSWER();
    memcpy(log, it->log, strlen(it->log) + 1);
    return 0;
}
API int nvrtcGetCUBINSize(void *program, size_t *size) {
    const Program *it = program;
    struct stat info;
    ANSWER();
    if (stat(it->file, &info)) return FAILED;
    *size = sizeof(uint64_t) + (size_t)info.st_size;
    return 0;
}
API int nvrtcGetCUBIN(void *program, char *code) {
    const Program *it = program;
    struct stat info;
    ANSWER();
    FILE *file = fopen(it->file, "rb");
    if (!file || fstat(fileno(file), &info)) return FAILED;
    uint64_t size = (uint64_t)info.st_size;
    memcpy(code, &size, sizeof size);
    size_t had = fread(code + sizeof size, 1, size, file);
    fclose(file);
    unlink(it->file);
    return had == size ? 0 : FAILED;
}
