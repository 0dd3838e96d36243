// A libcuda.so.1 that drives nothing: it answers what cuDNN and cuBLASLt ask while they choose kernels and compile
// them, so that plans are built where no card is. Launches and copies fail. Loaded before those libraries, its name
// stands in for the real one. The card that it describes is that of FAKE_CUDA_DEVICE: sm_90 (an H100) or sm_80 (an
// A100).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSuccess = 0, kNotSupported = 801 };

struct Card {
  const char* name;
  int major, minor, multiprocessors, clock_khz, memory_clock_khz, memory_bus_bits, l2_bytes;
  int shared_bytes_of_multiprocessor, shared_bytes_of_block;
  size_t memory_bytes;
};
static const struct Card kSm90 = {"NVIDIA H100 80GB HBM3", 9, 0, 132, 1980000, 2619000, 5120, 52428800, 233472, 232448,
                                  85017493504ull};
static const struct Card kSm80 = {"NVIDIA A100-SXM4-80GB", 8, 0, 108, 1410000, 1593000, 5120, 41943040, 167936, 166912,
                                  85094825984ull};

static const struct Card* card(void) {
  const char* name = getenv("FAKE_CUDA_DEVICE");
  return name != NULL && strcmp(name, "sm_80") == 0 ? &kSm80 : &kSm90;
}

static char handles[16];  // addresses that stand for what the library is given

int cuInit(unsigned flags) {
  (void)flags;
  return kSuccess;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return kSuccess;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return kSuccess;
}
int cuDeviceGetName(char* name, int room, int device) {
  (void)device;
  snprintf(name, (size_t)room, "%s", card()->name);
  return kSuccess;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  (void)device;
  *bytes = card()->memory_bytes;
  return kSuccess;
}
int cuDeviceGetUuid_v2(char* uuid, int device) {
  memset(uuid, 1 + device, 16);
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  const struct Card* c = card();
  switch (attribute) {
    case 1: *value = 1024; break;  // threads of a block
    case 2:
    case 3: *value = 1024; break;
    case 4: *value = 64; break;
    case 5: *value = 2147483647; break;  // blocks of a grid
    case 6:
    case 7: *value = 65535; break;
    case 8: *value = 49152; break;   // shared memory of a block
    case 10: *value = 32; break;     // a warp
    case 12: *value = 65536; break;  // registers of a block
    case 13: *value = c->clock_khz; break;
    case 16: *value = c->multiprocessors; break;
    case 36: *value = c->memory_clock_khz; break;
    case 37: *value = c->memory_bus_bits; break;
    case 38: *value = c->l2_bytes; break;
    case 39: *value = 2048; break;  // threads of a multiprocessor
    case 75: *value = c->major; break;
    case 76: *value = c->minor; break;
    case 81: *value = c->shared_bytes_of_multiprocessor; break;
    case 82: *value = 65536; break;  // registers of a multiprocessor
    case 95: *value = 1; break;      // cooperative launches
    case 97: *value = c->shared_bytes_of_block; break;
    case 106: *value = 32; break;    // blocks of a multiprocessor
    case 111: *value = 1024; break;  // reserved shared memory of a block
    default: *value = 0;
  }
  return kSuccess;
}

// Code that is "loaded" and its functions.
int cuLibraryLoadData(void** library) {
  *library = handles;
  return kSuccess;
}
int cuLibraryGetKernel(void** kernel) {
  *kernel = handles;
  return kSuccess;
}
int cuLibraryUnload(void) { return kSuccess; }
int cuLibraryGetKernelCount(unsigned* count) {
  *count = 1;
  return kSuccess;
}
int cuLibraryEnumerateKernels(void** kernels, unsigned count) {
  for (unsigned i = 0; i < count; ++i) kernels[i] = handles;
  return kSuccess;
}
int cuKernelGetFunction(void** function, void* kernel) {
  *function = kernel;
  return kSuccess;
}
int cuKernelSetAttribute(void) { return kSuccess; }
int cuKernelGetAttribute(int* value, int attribute) {
  *value = attribute == 4 ? 64 : 0;  // registers of a thread
  return kSuccess;
}
int cuFuncSetAttribute(void) { return kSuccess; }
int cuFuncGetAttribute(int* value, int attribute) {
  *value = attribute == 4 ? 64 : 0;
  return kSuccess;
}
int cuModuleLoadData(void** module) {
  *module = handles;
  return kSuccess;
}
int cuModuleGetFunction(void** function) {
  *function = handles;
  return kSuccess;
}
int cuModuleUnload(void) { return kSuccess; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks) {
  *blocks = 1;
  return kSuccess;
}
int cuOccupancyMaxActiveClusters(int* clusters) {
  *clusters = card()->multiprocessors / 2;
  return kSuccess;
}

// One context, which is always current.
int cuCtxGetCurrent(void** context) {
  *context = handles;
  return kSuccess;
}
int cuCtxSetCurrent(void) { return kSuccess; }
int cuCtxGetDevice(int* device) {
  *device = 0;
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context) {
  *context = handles;
  return kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(void) { return kSuccess; }
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  (void)device;
  *flags = 0;
  *active = 1;
  return kSuccess;
}
int cuTensorMapEncodeTiled(void) { return kSuccess; }
int cuTensorMapEncodeIm2col(void) { return kSuccess; }
int cuGetErrorString(int error, const char** text) {
  (void)error;
  *text = "the fake driver does not do this";
  return kSuccess;
}
int cuGetErrorName(int error, const char** text) { return cuGetErrorString(error, text); }

// What the libraries look up when they are opened, and need a card for.
static int not_supported(void) { return kNotSupported; }
#define NOT_SUPPORTED(function) \
  int function(void) { return not_supported(); }
NOT_SUPPORTED(cuCtxPopCurrent)
NOT_SUPPORTED(cuCtxPushCurrent)
NOT_SUPPORTED(cuCtxGetLimit)
NOT_SUPPORTED(cuLaunchKernel)
NOT_SUPPORTED(cuLaunchKernelEx)
NOT_SUPPORTED(cuLaunchCooperativeKernel)
NOT_SUPPORTED(cuLibraryLoadFromFile)
NOT_SUPPORTED(cuLinkAddData)
NOT_SUPPORTED(cuLinkComplete)
NOT_SUPPORTED(cuLinkCreate)
NOT_SUPPORTED(cuLinkDestroy)
NOT_SUPPORTED(cuOccupancyMaxPotentialClusterSize)
NOT_SUPPORTED(cuStreamGetCtx)

int cuGetProcAddress_v2(const char* symbol, void** address, int version, unsigned long long flags, int* status) {
  (void)version;
  (void)flags;
  static void* self;
  if (self == NULL) {
    Dl_info info;
    if (dladdr((void*)cuInit, &info) != 0) self = dlopen(info.dli_fname, RTLD_NOW);
  }
  char newer[128];
  snprintf(newer, sizeof newer, "%s_v2", symbol);
  *address = dlsym(self, newer);
  if (*address == NULL) *address = dlsym(self, symbol);
  if (*address == NULL && getenv("FAKE_CUDA_VERBOSE") != NULL) fprintf(stderr, "fake driver lacks %s\n", symbol);
  if (*address == NULL) *address = (void*)not_supported;
  if (status != NULL) *status = 0;
  return kSuccess;
}
int cuGetProcAddress(const char* symbol, void** address, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(symbol, address, version, flags, NULL);
}
int cuGetExportTable(void) { return kNotSupported; }
