// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver API that we use, opened at run time: the program builds without a
// CUDA toolkit and runs where there is no driver.
//
// Types and constants are declared here as the driver's ABI has them (CUDA driver API reference;
// tests/device/cuda_abi_test.cc compares them with cuda.h where there is one). Members of Driver
// are the entry points under the names of the API, without the `cu` prefix and version suffix.
// Next: context.h.
#pragma once

#include "base/error.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace tilewright::cuda {

using Code = int;                    // CUresult
using DeviceId = int;                // CUdevice
using Pointer = std::uint64_t;       // CUdeviceptr
using MemoryHandle = std::uint64_t;  // CUmemGenericAllocationHandle
using ContextHandle = struct Context_*;
using Module = struct Module_*;
using Function = struct Function_*;
using Stream = struct Stream_*;
using Event = struct Event_*;
using Graph = struct Graph_*;
using GraphExec = struct GraphExec_*;

inline constexpr Code kSuccess = 0;
inline constexpr Code kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY
inline constexpr Code kNotReady = 600;   // CUDA_ERROR_NOT_READY

enum Attribute : int {  // CUdevice_attribute
  kClockKilohertz = 13,
  kMultiprocessors = 16,
  kRunTimeLimit = 17,
  kMemoryClockKilohertz = 36,
  kMemoryBusBits = 37,
  kL2Bytes = 38,
  kThreadsPerMultiprocessor = 39,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kSharedBytesPerMultiprocessor = 81,
  kRegistersPerMultiprocessor = 82,
  kSharedBytesPerBlockOptIn = 97,
  kVirtualMemory = 102,
  kFileDescriptorHandles = 103,
};

enum FunctionAttribute : int {  // CUfunction_attribute
  kStaticSharedBytes = 1,
  kLocalBytes = 3,
  kRegisters = 4,
  kDynamicSharedBytes = 8,
  kNonPortableClusterSize = 14,
};

enum PointerAttribute : int {  // CUpointer_attribute
  kPointerMemoryType = 2,      // unsigned: 2 is device memory
  kPointerIsManaged = 8,       // unsigned
  kPointerDevice = 9,          // int, as the driver counts
};
inline constexpr unsigned kDeviceMemory = 2;  // CU_MEMORYTYPE_DEVICE
// CU_STREAM_CAPTURE_MODE_RELAXED: forbids nothing to anyone, and is forbidden nothing.
inline constexpr int kRelaxedCapture = 2;

struct alignas(8) LaunchAttribute {  // CUlaunchAttribute
  int id = 0;
  char pad[4] = {};
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
    int flag;
  } value = {};
};
inline constexpr int kClusterDimension = 4;           // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
inline constexpr int kProgrammaticSerialization = 6;  // ..._PROGRAMMATIC_STREAM_SERIALIZATION

struct LaunchConfig {  // CUlaunchConfig
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  Stream stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

struct Location {  // CUmemLocation
  int type = 1;    // CU_MEM_LOCATION_TYPE_DEVICE
  int id = 0;
};
struct AllocationProperties {  // CUmemAllocationProp
  int type = 1;                // CU_MEM_ALLOCATION_TYPE_PINNED
  int handle_types = 0;        // kFileDescriptor
  Location location;
  void* win32 = nullptr;
  unsigned char compression = 0, rdma = 0;
  unsigned short usage = 0;
  unsigned char reserved[4] = {};
};
inline constexpr int kFileDescriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
struct AccessDescription {                 // CUmemAccessDesc
  Location location;
  int flags = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
};

struct alignas(128) TensorMap {  // CUtensorMap: opaque; the API asks for 64, its header gives 128
  std::uint64_t words[16];
};
enum TensorType : int { kTensorF16 = 6, kTensorF32 = 7, kTensorBf16 = 9 };  // CUtensorMapDataType
enum TensorSwizzle : int { kSwizzleNone = 0, kSwizzle32 = 1, kSwizzle64 = 2, kSwizzle128 = 3 };
enum TensorPromotion : int { kPromoteNone = 0, kPromote64 = 1, kPromote128 = 2, kPromote256 = 3 };

struct Uuid {
  char bytes[16];
};

struct Driver {
  Code (*Init)(unsigned flags);
  Code (*DriverGetVersion)(int* version);
  Code (*GetErrorName)(Code, const char** name);
  Code (*GetErrorString)(Code, const char** text);

  Code (*DeviceGetCount)(int* count);
  Code (*DeviceGet)(DeviceId*, int ordinal);
  Code (*DeviceGetName)(char* name, int length, DeviceId);
  Code (*DeviceGetUuid)(Uuid*, DeviceId);
  Code (*DeviceTotalMem)(std::size_t* bytes, DeviceId);
  Code (*DeviceGetAttribute)(int* value, int attribute, DeviceId);
  Code (*DeviceGetPCIBusId)(char* text, int length, DeviceId);
  Code (*DevicePrimaryCtxRetain)(ContextHandle*, DeviceId);
  Code (*DevicePrimaryCtxRelease)(DeviceId);
  Code (*CtxSetCurrent)(ContextHandle);
  Code (*CtxGetCurrent)(ContextHandle*);
  Code (*CtxSynchronize)();

  Code (*ModuleLoadData)(Module*, const void* image);
  Code (*ModuleUnload)(Module);
  Code (*ModuleGetFunction)(Function*, Module, const char* name);
  Code (*FuncGetAttribute)(int* value, int attribute, Function);
  Code (*FuncSetAttribute)(Function, int attribute, int value);
  Code (*FuncGetParamInfo)(Function, std::size_t index, std::size_t* offset, std::size_t* size);
  Code (*LaunchKernelEx)(const LaunchConfig*, Function, void** arguments, void** extra);
  Code (*OccupancyMaxActiveBlocksPerMultiprocessor)(int* blocks, Function, int block_size,
                                                    std::size_t shared_bytes);
  Code (*OccupancyMaxActiveClusters)(int* clusters, Function, const LaunchConfig*);

  Code (*MemAlloc)(Pointer*, std::size_t bytes);
  Code (*MemFree)(Pointer);
  Code (*MemAllocHost)(void**, std::size_t bytes);
  Code (*MemFreeHost)(void*);
  Code (*MemGetInfo)(std::size_t* free, std::size_t* total);
  Code (*PointerGetAttribute)(void* value, int attribute, Pointer);
  Code (*MemcpyHtoD)(Pointer, const void*, std::size_t bytes);
  Code (*MemcpyDtoH)(void*, Pointer, std::size_t bytes);
  Code (*MemcpyHtoDAsync)(Pointer, const void*, std::size_t bytes, Stream);
  Code (*MemcpyDtoHAsync)(void*, Pointer, std::size_t bytes, Stream);
  Code (*MemcpyDtoDAsync)(Pointer to, Pointer from, std::size_t bytes, Stream);
  Code (*MemsetD8Async)(Pointer, unsigned char, std::size_t bytes, Stream);
  Code (*MemsetD32Async)(Pointer, unsigned, std::size_t words, Stream);

  Code (*MemGetAllocationGranularity)(std::size_t*, const AllocationProperties*, int option);
  Code (*MemAddressReserve)(Pointer*, std::size_t bytes, std::size_t alignment, Pointer hint,
                            unsigned long long flags);
  Code (*MemAddressFree)(Pointer, std::size_t bytes);
  Code (*MemCreate)(MemoryHandle*, std::size_t bytes, const AllocationProperties*,
                    unsigned long long flags);
  Code (*MemRelease)(MemoryHandle);
  Code (*MemMap)(Pointer, std::size_t bytes, std::size_t offset, MemoryHandle,
                 unsigned long long flags);
  Code (*MemUnmap)(Pointer, std::size_t bytes);
  Code (*MemSetAccess)(Pointer, std::size_t bytes, const AccessDescription*, std::size_t count);
  Code (*MemExportToShareableHandle)(void* handle, MemoryHandle, int type,
                                     unsigned long long flags);
  Code (*MemImportFromShareableHandle)(MemoryHandle*, void* handle, int type);

  Code (*StreamCreate)(Stream*, unsigned flags);
  Code (*StreamDestroy)(Stream);
  Code (*StreamSynchronize)(Stream);
  Code (*StreamQuery)(Stream);
  Code (*StreamIsCapturing)(Stream, int* status);
  // What follows on the stream waits until the word at `address` is at least `value` (flags 0).
  Code (*StreamWaitValue32)(Stream, Pointer address, std::uint32_t value, unsigned flags);
  Code (*StreamBeginCapture)(Stream, int mode);
  Code (*StreamEndCapture)(Stream, Graph*);
  // In: the mode of this thread, which says what captures of others forbid it; out: what it was.
  Code (*ThreadExchangeStreamCaptureMode)(int* mode);
  Code (*GraphInstantiateWithFlags)(GraphExec*, Graph, unsigned long long flags);
  Code (*GraphUpload)(GraphExec, Stream);
  Code (*GraphLaunch)(GraphExec, Stream);
  Code (*GraphExecDestroy)(GraphExec);
  Code (*GraphDestroy)(Graph);

  Code (*EventCreate)(Event*, unsigned flags);
  Code (*EventDestroy)(Event);
  Code (*EventRecord)(Event, Stream);
  Code (*EventQuery)(Event);
  Code (*EventSynchronize)(Event);
  Code (*EventElapsedTime)(float* milliseconds, Event start, Event end);

  // What lies between the two is what a profiler looks at (ncu --profile-from-start off).
  Code (*ProfilerStart)();
  Code (*ProfilerStop)();

  // rank <= 5; strides in bytes from the second dimension on; interleave, swizzle, promotion and
  // fill as CUtensorMap* enumerations (cuTensorMapEncodeTiled).
  Code (*TensorMapEncodeTiled)(TensorMap*, int type, std::uint32_t rank, void* address,
                               const std::uint64_t* dimensions, const std::uint64_t* strides,
                               const std::uint32_t* box, const std::uint32_t* element_strides,
                               int interleave, int swizzle, int promotion, int fill);

  int version = 0;  // 13000 for CUDA 13.0, as the driver reports

  // "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  [[nodiscard]] std::string text(Code status) const;
  // Success, or an Error "what: text(status)".
  [[nodiscard]] Status check(Code status, std::string_view what) const;
};

// "13.0" for 13000.
[[nodiscard]] std::string version_text(int version);

// The driver, opened and initialised once per process, or why not, with the fix (CASES C21:
// libcuda.so.1 absent, present without a device, or older than the program needs).
[[nodiscard]] Result<const Driver*> driver();

}  // namespace tilewright::cuda
