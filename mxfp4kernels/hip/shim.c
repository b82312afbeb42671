/* A HIP library without a device: modules are kept as they come, launches go to a callback.
 *
 * Holds what libfly_jit_runtime.so of FlyDSL 0.5.0 imports, and hipPeekAtLastError. The device's
 * address space is the process's own, and everything has happened when a call returns: streams and
 * events are only handles. What HIP defines and this library lacks is hipErrorNotSupported, never a
 * pretended success.
 */

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int hipError_t;

enum {
  hipSuccess = 0,
  hipErrorInvalidValue = 1,
  hipErrorOutOfMemory = 2,
  hipErrorNoDevice = 100,
  hipErrorInvalidDevice = 101,
  hipErrorInvalidImage = 200,
  hipErrorInvalidHandle = 400,
  hipErrorLaunchFailure = 719,
  hipErrorNotSupported = 801,
};

typedef struct {
  size_t size;
  unsigned char *image;
} Module;

typedef struct Function {
  const Module *module;
  struct Function *next; /* of all functions, so that none is unreachable */
  char name[];
} Function;

typedef struct {
  const char *kernel;
  const void *image;
  uint64_t image_size;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t dynamic_lds;
  void **parameters;
} Launch;

typedef struct {
  hipError_t (*launch)(const Launch *launch);
  hipError_t (*map)(void *pointer, uint64_t size); /* memory that kernels may use from now on */
  hipError_t (*unmap)(void *pointer);
} Callbacks;

static Callbacks callbacks;
static Function *functions;
static _Thread_local hipError_t last_error;

static const unsigned char POISON = 0xA5;

static hipError_t report(hipError_t error) {
  if (error != hipSuccess) last_error = error;
  return error;
}

/* Whether this is the emulated library; a real one lacks the symbol. */
void emulated_hip_set_callbacks(const Callbacks *given) { callbacks = *given; }

/* --- errors and devices --- */

hipError_t hipGetLastError(void) {
  hipError_t error = last_error;
  last_error = hipSuccess;
  return error;
}

hipError_t hipPeekAtLastError(void) { return last_error; }

const char *hipGetErrorName(hipError_t error) {
  switch (error) {
    case hipSuccess: return "hipSuccess";
    case hipErrorInvalidValue: return "hipErrorInvalidValue";
    case hipErrorOutOfMemory: return "hipErrorOutOfMemory";
    case hipErrorNoDevice: return "hipErrorNoDevice";
    case hipErrorInvalidDevice: return "hipErrorInvalidDevice";
    case hipErrorInvalidImage: return "hipErrorInvalidImage";
    case hipErrorInvalidHandle: return "hipErrorInvalidHandle";
    case hipErrorLaunchFailure: return "hipErrorLaunchFailure";
    case hipErrorNotSupported: return "hipErrorNotSupported";
    default: return "hipErrorUnknown";
  }
}

hipError_t hipGetDevice(int *device) {
  *device = 0;
  return hipSuccess;
}

hipError_t hipSetDevice(int device) {
  return report(device == 0 ? hipSuccess : hipErrorInvalidDevice);
}

hipError_t hipDeviceSynchronize(void) { return hipSuccess; }

/* --- modules --- */

static uint64_t furthest(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* The size of an ELF file from its own tables, or 0: HIP is handed no size. */
static uint64_t elf_size(const unsigned char *image) {
  Elf64_Ehdr header;
  memcpy(&header, image, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64) return 0;
  uint64_t end = furthest(header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize,
                          header.e_phoff + (uint64_t)header.e_phnum * header.e_phentsize);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    memcpy(&section, image + header.e_shoff + (uint64_t)i * header.e_shentsize, sizeof section);
    if (section.sh_type != SHT_NOBITS) end = furthest(end, section.sh_offset + section.sh_size);
  }
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    memcpy(&segment, image + header.e_phoff + (uint64_t)i * header.e_phentsize, sizeof segment);
    end = furthest(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

hipError_t hipModuleLoadData(Module **module, const void *image) {
  uint64_t size = elf_size(image);
  if (size == 0) return report(hipErrorInvalidImage);
  Module *loaded = malloc(sizeof *loaded);
  unsigned char *copy = malloc(size);
  if (loaded == NULL || copy == NULL) {
    free(loaded);
    free(copy);
    return report(hipErrorOutOfMemory);
  }
  memcpy(copy, image, size);
  *loaded = (Module){size, copy};
  *module = loaded;
  return hipSuccess;
}

hipError_t hipModuleUnload(Module *module) {
  if (module == NULL) return report(hipErrorInvalidHandle);
  for (Function **link = &functions; *link != NULL;) {
    Function *function = *link;
    if (function->module == module) {
      *link = function->next;
      free(function);
    } else {
      link = &function->next;
    }
  }
  free(module->image);
  free(module);
  return hipSuccess;
}

hipError_t hipModuleGetFunction(Function **function, Module *module, const char *name) {
  if (module == NULL) return report(hipErrorInvalidHandle);
  for (Function *known = functions; known != NULL; known = known->next) {
    if (known->module == module && strcmp(known->name, name) == 0) {
      *function = known;
      return hipSuccess;
    }
  }
  size_t length = strlen(name) + 1;
  Function *made = malloc(sizeof *made + length);
  if (made == NULL) return report(hipErrorOutOfMemory);
  made->module = module;
  made->next = functions;
  memcpy(made->name, name, length);
  functions = made;
  *function = made;
  return hipSuccess;
}

hipError_t hipModuleLaunchKernel(const Function *function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned dynamic_lds, void *stream,
                                 void **parameters, void **extra) {
  (void)stream;
  if (function == NULL) return report(hipErrorInvalidHandle);
  if (extra != NULL) return report(hipErrorNotSupported);
  if (callbacks.launch == NULL) return report(hipErrorNoDevice);
  Launch launch = {function->name,
                   function->module->image,
                   function->module->size,
                   {grid_x, grid_y, grid_z},
                   {block_x, block_y, block_z},
                   dynamic_lds,
                   parameters};
  return report(callbacks.launch(&launch));
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                              int block, size_t lds) {
  (void)blocks, (void)function, (void)block, (void)lds;
  return report(hipErrorNotSupported);
}

/* --- memory --- */

hipError_t hipMalloc(void **pointer, size_t size) {
  *pointer = NULL;
  if (size == 0) return hipSuccess;
  if (callbacks.map == NULL) return report(hipErrorNoDevice);
  void *memory = malloc(size);
  if (memory == NULL) return report(hipErrorOutOfMemory);
  memset(memory, POISON, size);
  hipError_t error = callbacks.map(memory, size);
  if (error != hipSuccess) {
    free(memory);
    return report(error);
  }
  *pointer = memory;
  return hipSuccess;
}

hipError_t hipFree(void *pointer) {
  if (pointer == NULL) return hipSuccess;
  if (callbacks.unmap == NULL) return report(hipErrorNoDevice);
  hipError_t error = callbacks.unmap(pointer);
  if (error == hipSuccess) free(pointer);
  return report(error);
}

hipError_t hipHostRegister(void *pointer, size_t size, unsigned flags) {
  (void)flags;
  if (callbacks.map == NULL) return report(hipErrorNoDevice);
  return report(callbacks.map(pointer, size));
}

hipError_t hipHostUnregister(void *pointer) {
  if (callbacks.unmap == NULL) return report(hipErrorNoDevice);
  return report(callbacks.unmap(pointer));
}

hipError_t hipHostGetDevicePointer(void **device, void *host, unsigned flags) {
  (void)flags;
  *device = host;
  return hipSuccess;
}

hipError_t hipMemcpy(void *to, const void *from, size_t size, int kind) {
  (void)kind;
  memmove(to, from, size);
  return hipSuccess;
}

hipError_t hipMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream) {
  (void)stream;
  return hipMemcpy(to, from, size, kind);
}

hipError_t hipMemset(void *to, int value, size_t size) {
  memset(to, value, size);
  return hipSuccess;
}

hipError_t hipMemsetD16Async(void *to, unsigned short value, size_t count, void *stream) {
  (void)stream;
  for (size_t i = 0; i < count; ++i) ((unsigned short *)to)[i] = value;
  return hipSuccess;
}

hipError_t hipMemsetD32Async(void *to, int value, size_t count, void *stream) {
  (void)stream;
  for (size_t i = 0; i < count; ++i) ((int *)to)[i] = value;
  return hipSuccess;
}

/* --- streams and events: every call has ended when it returns --- */

static char handle; /* what non-null handles point at */

hipError_t hipStreamCreate(void **stream) {
  *stream = &handle;
  return hipSuccess;
}

hipError_t hipStreamDestroy(void *stream) {
  (void)stream;
  return hipSuccess;
}

hipError_t hipStreamSynchronize(void *stream) {
  (void)stream;
  return hipSuccess;
}

hipError_t hipStreamWaitEvent(void *stream, void *event, unsigned flags) {
  (void)stream, (void)event, (void)flags;
  return hipSuccess;
}

hipError_t hipEventCreateWithFlags(void **event, unsigned flags) {
  (void)flags;
  *event = &handle;
  return hipSuccess;
}

hipError_t hipEventDestroy(void *event) {
  (void)event;
  return hipSuccess;
}

hipError_t hipEventRecord(void *event, void *stream) {
  (void)event, (void)stream;
  return hipSuccess;
}

hipError_t hipEventSynchronize(void *event) {
  (void)event;
  return hipSuccess;
}
