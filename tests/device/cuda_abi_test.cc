// SPDX-License-Identifier: Apache-2.0
// driver.h declares the driver's types by hand; where there is a cuda.h, it must agree.
#include "device/cuda/driver.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

#include <cstddef>
#include <type_traits>

namespace tilewright::cuda {
namespace {

template <class Ours, class Theirs>
constexpr bool same_layout() {
  return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs);
}

static_assert(sizeof(Pointer) == sizeof(CUdeviceptr));
static_assert(sizeof(MemoryHandle) == sizeof(CUmemGenericAllocationHandle));
static_assert(sizeof(DeviceId) == sizeof(CUdevice));
static_assert(sizeof(Code) == sizeof(CUresult));
static_assert(sizeof(Module) == sizeof(CUmodule));
static_assert(same_layout<Uuid, CUuuid>());
// CUDA 12 aligned it to 64 bytes, 13 to 128; ours satisfies both.
static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
static_assert(alignof(TensorMap) >= alignof(CUtensorMap));

static_assert(same_layout<LaunchAttribute, CUlaunchAttribute>());
static_assert(int{kPointerMemoryType} == int{CU_POINTER_ATTRIBUTE_MEMORY_TYPE});
static_assert(int{kPointerIsManaged} == int{CU_POINTER_ATTRIBUTE_IS_MANAGED});
static_assert(int{kPointerDevice} == int{CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL});
static_assert(kDeviceMemory == unsigned{CU_MEMORYTYPE_DEVICE});
static_assert(kOutOfMemory == Code{CUDA_ERROR_OUT_OF_MEMORY});
static_assert(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(LaunchAttribute::value) == sizeof(CUlaunchAttributeValue));
static_assert(same_layout<LaunchConfig, CUlaunchConfig>());
static_assert(offsetof(LaunchConfig, grid_x) == offsetof(CUlaunchConfig, gridDimX));
static_assert(offsetof(LaunchConfig, grid_z) == offsetof(CUlaunchConfig, gridDimZ));
static_assert(offsetof(LaunchConfig, block_x) == offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(LaunchConfig, block_z) == offsetof(CUlaunchConfig, blockDimZ));
static_assert(offsetof(LaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));

static_assert(same_layout<Location, CUmemLocation>());
static_assert(offsetof(Location, id) == offsetof(CUmemLocation, id));
static_assert(same_layout<AllocationProperties, CUmemAllocationProp>());
static_assert(offsetof(AllocationProperties, handle_types) ==
              offsetof(CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(AllocationProperties, location) == offsetof(CUmemAllocationProp, location));
static_assert(offsetof(AllocationProperties, win32) ==
              offsetof(CUmemAllocationProp, win32HandleMetaData));
static_assert(offsetof(AllocationProperties, compression) ==
              offsetof(CUmemAllocationProp, allocFlags.compressionType));
static_assert(offsetof(AllocationProperties, rdma) ==
              offsetof(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable));
static_assert(offsetof(AllocationProperties, usage) ==
              offsetof(CUmemAllocationProp, allocFlags.usage));
static_assert(same_layout<AccessDescription, CUmemAccessDesc>());
static_assert(offsetof(AccessDescription, flags) == offsetof(CUmemAccessDesc, flags));

TEST(CudaAbi, ConstantsAreThoseOfTheHeader) {
  EXPECT_EQ(kSuccess, CUDA_SUCCESS);
  EXPECT_EQ(kNotReady, CUDA_ERROR_NOT_READY);
  struct Row {
    int ours, theirs;
  };
  const Row rows[] = {
      {kClockKilohertz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
      {kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
      {kRunTimeLimit, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT},
      {kMemoryClockKilohertz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
      {kMemoryBusBits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
      {kL2Bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
      {kThreadsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR},
      {kCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {kCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {kSharedBytesPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
      {kRegistersPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR},
      {kSharedBytesPerBlockOptIn, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
      {kVirtualMemory, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
      {kFileDescriptorHandles, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED},
      {kStaticSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
      {kLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
      {kRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS},
      {kDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES},
      {kNonPortableClusterSize, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED},
      {kClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION},
      {kProgrammaticSerialization, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION},
      {Location{}.type, CU_MEM_LOCATION_TYPE_DEVICE},
      {AllocationProperties{}.type, CU_MEM_ALLOCATION_TYPE_PINNED},
      {AccessDescription{}.flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
      {kFileDescriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR},
      {kRelaxedCapture, CU_STREAM_CAPTURE_MODE_RELAXED},
      {kTensorF16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16},
      {kTensorBf16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},
      {kSwizzleNone, CU_TENSOR_MAP_SWIZZLE_NONE},
      {kSwizzle32, CU_TENSOR_MAP_SWIZZLE_32B},
      {kSwizzle64, CU_TENSOR_MAP_SWIZZLE_64B},
      {kSwizzle128, CU_TENSOR_MAP_SWIZZLE_128B},
      {kPromoteNone, CU_TENSOR_MAP_L2_PROMOTION_NONE},
      {kPromote64, CU_TENSOR_MAP_L2_PROMOTION_L2_64B},
      {kPromote128, CU_TENSOR_MAP_L2_PROMOTION_L2_128B},
      {kPromote256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B},
  };
  for (const Row& row : rows) EXPECT_EQ(row.ours, row.theirs);
}

}  // namespace
}  // namespace tilewright::cuda

#else

TEST(CudaAbi, ConstantsAreThoseOfTheHeader) {
  GTEST_SKIP() << "there is no cuda.h to compare with";
}

#endif
