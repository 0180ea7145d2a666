// Stands in for libcuda and libnvidia-ml where cubins are launched that nothing here can run: it reads the parameters that a cubin itself
// says it takes, and writes down each launch. Tests compile it and load it by TAD_LIBCUDA and TAD_NVML.
//   STAND_IN_LOG=FILE                  a line of JSON for each launch
//   STAND_IN_MS=0.5                    how long everything takes
//   STAND_IN_BY_SIZE=1                 a millisecond for each 100 kB of the last launched kernel's code
//   STAND_IN_BEST=256                  launches with so many threads take half as long
//   STAND_IN_WRONG=128                 launches with so many threads write to their second tensor
//   STAND_IN_SHARED=232448,101376      a GPU for each number: its shared memory for a block. CUDA_VISIBLE_DEVICES=1 hides others
//   STAND_IN_PROCESSORS=4              of each GPU
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

enum { MOST_PARAMETERS = 128, LARGE = 1 << 20 };
enum { KPARAM_INFO = 0x17, WITH_SIZE = 0x04 };  // of a cubin's .nv.info.KERNEL

#define NOTHING(name, ...)                                                                         \
    API int name(__VA_ARGS__) {                                                                    \
        ANSWER();                                                                                  \
        return 0;                                                                                  \
    }
#define GIVES(name, type, value, ...)                                                              \
    API int name(__VA_ARGS__) {                                                                    \
        ANSWER();                                                                                  \
        *(type *)result = (value);                                                                 \
        return 0;                                                                                  \
    }
#define UNUSED __attribute__((unused))

NOTHING(cuInit, unsigned flags UNUSED)
GIVES(cuDriverGetVersion, int, 13000, int *result)
NOTHING(cuCtxSetCurrent, void *context UNUSED)
NOTHING(cuCtxSynchronize, void)
NOTHING(cuStreamQuery, void *stream UNUSED)
GIVES(cuOccupancyMaxActiveBlocksPerMultiprocessor, int, 8, int *result, void *function UNUSED,
      int threads UNUSED, size_t shared UNUSED)
NOTHING(cuFuncSetCacheConfig, void *function UNUSED, int config UNUSED)
NOTHING(cuEventDestroy_v2, void *event UNUSED)
NOTHING(cuEventRecord, void *event UNUSED, void *stream UNUSED)
NOTHING(nvmlInit_v2, void)
GIVES(nvmlDeviceGetHandleByPciBusId_v2, void *, (void *)1, const char *bus UNUSED, void **result)
GIVES(nvmlDeviceGetClockInfo, unsigned, 1980, void *of UNUSED, int clock UNUSED, unsigned *result)
GIVES(nvmlDeviceGetPowerUsage, unsigned, 350000, void *of UNUSED, unsigned *result)
GIVES(nvmlDeviceGetTemperature, unsigned, 40, void *of UNUSED, int sensor UNUSED, unsigned *result)

/// Item `index` of numbers between commas; `otherwise` where there is none.
static int item_of(const char *numbers, int index, int otherwise) {
    for (; numbers && index; index--) {
        numbers = strchr(numbers, ',');
        if (numbers) numbers++;
    }
    return numbers && *numbers ? atoi(numbers) : otherwise;
}
static int count_of(const char *numbers) {
    int count = 0;
    while (item_of(numbers, count, -1) >= 0) count++;
    return count;
}
API int cuDeviceGetCount(int *count) {
    ANSWER();
    const char *visible = getenv("CUDA_VISIBLE_DEVICES"), *all = getenv("STAND_IN_SHARED");
    *count = visible ? count_of(visible) : all ? count_of(all) : 1;
    return 0;
}
/// The driver numbers those that it shows.
API int cuDeviceGet(int *device, int ordinal) {
    ANSWER();
    *device = 100 + ordinal;
    return 0;
}
static int shared_of(int device) {
    int ordinal = device - 100;
    return item_of(getenv("STAND_IN_SHARED"),
                   item_of(getenv("CUDA_VISIBLE_DEVICES"), ordinal, ordinal), 232448);
}

API int cuDeviceGetName(char *name, int size, int device UNUSED) {
    ANSWER();
    snprintf(name, (size_t)size, "a stand-in");
    return 0;
}
API int cuDeviceGetPCIBusId(char *name, int size, int device UNUSED) {
    ANSWER();
    snprintf(name, (size_t)size, "0000:00:00.0");
    return 0;
}
API int cuDeviceGetAttribute(int *value, int attribute, int device) {
    ANSWER();
    if (device < 100) return 101;
    int processors = item_of(getenv("STAND_IN_PROCESSORS"), 0, 4);
    *value = attribute == 75   ? 9
             : attribute == 97 ? shared_of(device)
             : attribute == 38 ? 50 << 20
             : attribute == 39 ? 2048
             : attribute == 16 ? processors
                               : 0;
    return 0;
}
API int cuDevicePrimaryCtxRetain(void **context, int device UNUSED) {
    static int it;
    ANSWER();
    *context = &it;
    return 0;
}
API int cuMemAlloc_v2(uint64_t *address, size_t size) {
    ANSWER();
    void *memory = NULL;
    if (posix_memalign(&memory, 256, size)) return 2;
    if (size < LARGE) memset(memory, 0xA5, size);
    *address = (uint64_t)(uintptr_t)memory;
    return 0;
}
API int cuMemFree_v2(uint64_t address) {
    ANSWER();
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
API int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream UNUSED) {
    ANSWER();
    if (size <= 16 * LARGE) memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size);
    return 0;
}
API int cuMemsetD8Async(uint64_t to, unsigned char value, size_t size, void *stream UNUSED) {
    ANSWER();
    if (size <= LARGE) memset((void *)(uintptr_t)to, value, size);
    return 0;
}
API int cuEventCreate(void **event, unsigned flags UNUSED) {
    static int it;
    ANSWER();
    *event = &it;
    return 0;
}
static unsigned last_threads;  // of the last launch
static double last_size;       // of its kernel's code, in bytes

static int has_threads(const char *name) {
    const char *given = getenv(name);
    return given && (unsigned)atoi(given) == last_threads;
}

API int cuEventElapsedTime(float *between, void *from UNUSED, void *to UNUSED) {
    const char *given = getenv("STAND_IN_MS");
    ANSWER();
    *between = given ? (float)atof(given) : 0.5F;
    if (getenv("STAND_IN_BY_SIZE")) *between = (float)(last_size / 1e5);
    if (has_threads("STAND_IN_BEST")) *between /= 2;
    return 0;
}
API int cuGetErrorName(int code, const char **name) {
    *name = code == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                          : NULL;
    return *name ? 0 : 1;
}

// --- cubins ---------------------------------------------------------------------------------------------------------------

typedef struct Kernel {
    char name[256];
    int count;
    unsigned sizes[MOST_PARAMETERS];  // bytes
    double code;                      // bytes of all sections
    int allowed;                      // bytes of shared memory that were asked for
} Kernel;

static Kernel kernels[16];
static int kernel_count;

/// Rows of (format, attribute, size, bytes); a parameter's row has its ordinal and its size.
static void read_info(Kernel *kernel, const unsigned char *at, const unsigned char *end) {
    while (at + 4 <= end) {
        uint16_t size;
        memcpy(&size, at + 2, sizeof size);
        if (at[0] == WITH_SIZE && at[1] == KPARAM_INFO) {
            uint16_t ordinal;
            uint32_t bits;
            memcpy(&ordinal, at + 8, sizeof ordinal);
            memcpy(&bits, at + 12, sizeof bits);
            if (ordinal < MOST_PARAMETERS) kernel->sizes[ordinal] = bits >> 18 & 0x3FFF;
            if (ordinal + 1 > kernel->count) kernel->count = ordinal + 1;
        }
        at += 4 + (at[0] == WITH_SIZE ? size : 0);
    }
}

API int cuFuncSetAttribute(void *function, int attribute, int value) {
    ANSWER();
    if (attribute == 8) ((Kernel *)function)->allowed = value;
    return 0;
}
API int cuModuleLoadData(void **module, const void *image) {
    static const char mark[] = ".nv.info.";
    const unsigned char *bytes = image;
    const Elf64_Ehdr *head = image;
    ANSWER();
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return 209;
    const Elf64_Shdr *sections = (const void *)(bytes + head->e_shoff);
    const char *names = (const char *)bytes + sections[head->e_shstrndx].sh_offset;
    for (int i = 0; i < head->e_shnum; i++) {
        const char *name = names + sections[i].sh_name;
        if (strncmp(name, mark, sizeof mark - 1) != 0) continue;
        Kernel *kernel = &kernels[kernel_count++ % 16];
        memset(kernel, 0, sizeof *kernel);
        snprintf(kernel->name, sizeof kernel->name, "%s", name + sizeof mark - 1);
        const unsigned char *info = bytes + sections[i].sh_offset;
        read_info(kernel, info, info + sections[i].sh_size);
        for (int k = 0; k < head->e_shnum; k++)
            if (strncmp(names + sections[k].sh_name, ".text.", 6) == 0)
                kernel->code += (double)sections[k].sh_size;
        *module = kernel;
        return 0;
    }
    return 209;
}
NOTHING(cuModuleUnload, void *module UNUSED)
API int cuModuleGetFunction(void **function, void *module, const char *name) {
    ANSWER();
    if (strcmp(((Kernel *)module)->name, name) != 0) return 500;
    *function = module;
    return 0;
}
GIVES(cuFuncGetAttribute, int, attribute == 4 ? 32 : 0, int *result, int attribute,
      void *function UNUSED)

/// The cuda backend's way; nothing here takes it.
NOTHING(cuLaunchKernel, void *function UNUSED)

// Their own layouts, as the driver's header has them.
typedef struct Attribute {
    int id, padding;
    int value[16];
} Attribute;
typedef struct Config {
    unsigned grid[3], block[3], shared;
    void *stream;
    const Attribute *attributes;
    unsigned count;
} Config;

/// A map that says what it was made of: the address, then eight numbers.
API int cuTensorMapEncodeTiled(void *map, int element, unsigned axes, void *address,
                               const uint64_t *shape, const uint64_t *steps, const unsigned *block,
                               const unsigned *each UNUSED, int interleaved UNUSED, int swizzle,
                               int promoted UNUSED, int filled UNUSED) {
    ANSWER();
    if ((uintptr_t)map % 64 || (uintptr_t)address % 16) return 1;
    for (unsigned i = 0; i + 1 < axes; i++)
        if (steps[i] % 16) return 1;
    const uint64_t made[16] = {(uint64_t)(uintptr_t)address,
                               (uint64_t)element,
                               axes,
                               shape[0],
                               axes > 1 ? shape[1] : 0,
                               axes > 1 ? steps[0] : 0,
                               block[0],
                               axes > 1 ? block[1] : 0,
                               (uint64_t)swizzle};
    memcpy(map, made, sizeof made);
    return 0;
}

API int cuLaunchKernelEx(const Config *config, void *function, void **parameters,
                         void **extra UNUSED) {
    const Kernel *kernel = function;
    const char *file = getenv("STAND_IN_LOG");
    ANSWER();
    last_threads = config->block[0];
    last_size = kernel->code;
    if (has_threads("STAND_IN_WRONG")) memset(*(void **)parameters[1], 0x3F, 4);
    FILE *log = file ? fopen(file, "a") : NULL;
    if (!log) return 0;
    fprintf(log,
            "{\"kernel\": \"%s\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared\": %u",
            kernel->name, config->grid[0], config->grid[1], config->grid[2], config->block[0],
            config->block[1], config->block[2], config->shared);
    fprintf(log, ", \"allowed\": %d, \"attributes\": [", kernel->allowed);
    for (unsigned i = 0; i < config->count; i++)
        fprintf(log, "%s[%d, %d, %d, %d]", i ? ", " : "", config->attributes[i].id,
                config->attributes[i].value[0], config->attributes[i].value[1],
                config->attributes[i].value[2]);
    fprintf(log, "], \"parameters\": [");
    for (int i = 0; i < kernel->count; i++) {
        uint64_t value = 0;
        memcpy(&value, parameters[i], kernel->sizes[i] < 8 ? kernel->sizes[i] : 8);
        fprintf(log, "%s[%u, %llu", i ? ", " : "", kernel->sizes[i], (unsigned long long)value);
        for (unsigned k = 1; kernel->sizes[i] == 128 && k < 9; k++)
            fprintf(log, ", %llu", (unsigned long long)((const uint64_t *)parameters[i])[k]);
        fprintf(log, "]");
    }
    fprintf(log, "]}\n");
    fclose(log);
    return 0;
}
