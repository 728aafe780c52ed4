// SPDX-License-Identifier: Apache-2.0
// Opening libcuda and finding its entry points by their exported, versioned names.
#include "device/cuda/driver.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include <cstdlib>

namespace tilewright::cuda {
namespace {

constexpr int kLeastVersion = 12000;  // CUDA 12.0: tensor maps, clusters, versioned capture

// Opens `name` at the place that `variable` names, else on the loader's path.
void* open_library() {
  const char* chosen = std::getenv("TILEWRIGHT_LIBCUDA");
  const char* name = chosen != nullptr && *chosen != '\0' ? chosen : "libcuda.so.1";
  return dlopen(name, RTLD_NOW | RTLD_GLOBAL);
}

struct Finder {
  void* library;
  std::string missing;

  template <class Pointer>
  void operator()(Pointer& entry, const char* name) {
    entry = reinterpret_cast<Pointer>(dlsym(library, name));
    if (entry == nullptr && missing.empty()) missing = name;
  }
};

void find_entries(Finder& find, Driver& d) {
  find(d.Init, "cuInit");
  find(d.DriverGetVersion, "cuDriverGetVersion");
  find(d.GetErrorName, "cuGetErrorName");
  find(d.GetErrorString, "cuGetErrorString");
  find(d.DeviceGetCount, "cuDeviceGetCount");
  find(d.DeviceGet, "cuDeviceGet");
  find(d.DeviceGetName, "cuDeviceGetName");
  find(d.DeviceGetUuid, "cuDeviceGetUuid_v2");
  find(d.DeviceTotalMem, "cuDeviceTotalMem_v2");
  find(d.DeviceGetAttribute, "cuDeviceGetAttribute");
  find(d.DeviceGetPCIBusId, "cuDeviceGetPCIBusId");
  find(d.DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  find(d.DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
  find(d.CtxSetCurrent, "cuCtxSetCurrent");
  find(d.CtxGetCurrent, "cuCtxGetCurrent");
  find(d.CtxSynchronize, "cuCtxSynchronize");
  find(d.ModuleLoadData, "cuModuleLoadData");
  find(d.ModuleUnload, "cuModuleUnload");
  find(d.ModuleGetFunction, "cuModuleGetFunction");
  find(d.FuncGetAttribute, "cuFuncGetAttribute");
  find(d.FuncSetAttribute, "cuFuncSetAttribute");
  find(d.FuncGetParamInfo, "cuFuncGetParamInfo");
  find(d.LaunchKernelEx, "cuLaunchKernelEx");
  find(d.OccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  find(d.OccupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters");
  find(d.MemAlloc, "cuMemAlloc_v2");
  find(d.MemFree, "cuMemFree_v2");
  find(d.MemAllocHost, "cuMemAllocHost_v2");
  find(d.MemFreeHost, "cuMemFreeHost");
  find(d.MemGetInfo, "cuMemGetInfo_v2");
  find(d.PointerGetAttribute, "cuPointerGetAttribute");
  find(d.MemcpyHtoD, "cuMemcpyHtoD_v2");
  find(d.MemcpyDtoH, "cuMemcpyDtoH_v2");
  find(d.MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  find(d.MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  find(d.MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  find(d.MemsetD8Async, "cuMemsetD8Async");
  find(d.MemsetD32Async, "cuMemsetD32Async");
  find(d.MemGetAllocationGranularity, "cuMemGetAllocationGranularity");
  find(d.MemAddressReserve, "cuMemAddressReserve");
  find(d.MemAddressFree, "cuMemAddressFree");
  find(d.MemCreate, "cuMemCreate");
  find(d.MemRelease, "cuMemRelease");
  find(d.MemMap, "cuMemMap");
  find(d.MemUnmap, "cuMemUnmap");
  find(d.MemSetAccess, "cuMemSetAccess");
  find(d.MemExportToShareableHandle, "cuMemExportToShareableHandle");
  find(d.MemImportFromShareableHandle, "cuMemImportFromShareableHandle");
  find(d.StreamCreate, "cuStreamCreate");
  find(d.StreamDestroy, "cuStreamDestroy_v2");
  find(d.StreamSynchronize, "cuStreamSynchronize");
  find(d.StreamQuery, "cuStreamQuery");
  find(d.StreamIsCapturing, "cuStreamIsCapturing");
  find(d.StreamWaitValue32, "cuStreamWaitValue32_v2");
  find(d.StreamBeginCapture, "cuStreamBeginCapture_v2");
  find(d.StreamEndCapture, "cuStreamEndCapture");
  find(d.ThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode");
  find(d.GraphInstantiateWithFlags, "cuGraphInstantiateWithFlags");
  find(d.GraphUpload, "cuGraphUpload");
  find(d.GraphLaunch, "cuGraphLaunch");
  find(d.GraphExecDestroy, "cuGraphExecDestroy");
  find(d.GraphDestroy, "cuGraphDestroy");
  find(d.EventCreate, "cuEventCreate");
  find(d.EventDestroy, "cuEventDestroy_v2");
  find(d.EventRecord, "cuEventRecord");
  find(d.EventQuery, "cuEventQuery");
  find(d.EventSynchronize, "cuEventSynchronize");
  find(d.EventElapsedTime, "cuEventElapsedTime");
  find(d.ProfilerStart, "cuProfilerStart");
  find(d.ProfilerStop, "cuProfilerStop");
  find(d.TensorMapEncodeTiled, "cuTensorMapEncodeTiled");
}

Result<Driver> open_driver() {
  void* library = open_library();
  if (library == nullptr) {
    return fail(ErrorCode::environment, fmt::format("no CUDA driver: {}", dlerror()),
                "install the NVIDIA driver, or set TILEWRIGHT_LIBCUDA to libcuda.so.1; the CPU "
                "works without");
  }
  Driver found{};
  Finder find{library, {}};
  find_entries(find, found);
  // Before anything is called: a driver that is too old lacks entry points, and says its version.
  if (found.DriverGetVersion != nullptr) found.DriverGetVersion(&found.version);
  if (!find.missing.empty() || found.version < kLeastVersion) {
    return fail(ErrorCode::environment,
                fmt::format("the CUDA driver supports CUDA {}{}", version_text(found.version),
                            find.missing.empty() ? "" : " and lacks " + find.missing),
                fmt::format("a driver for CUDA {} or newer is needed (525 or newer)",
                            version_text(kLeastVersion)));
  }
  if (const Code status = found.Init(0); status != kSuccess) {
    return fail(ErrorCode::environment,
                fmt::format("the CUDA driver does not start: {}", found.text(status)),
                "no device, no permission for /dev/nvidia*, or driver and kernel module differ: "
                "nvidia-smi says which");
  }
  return found;
}

}  // namespace

std::string Driver::text(Code status) const {
  const char* name = nullptr;
  const char* meaning = nullptr;
  if (GetErrorName(status, &name) != kSuccess || name == nullptr) {
    return fmt::format("unknown CUDA error {}", status);
  }
  GetErrorString(status, &meaning);
  return fmt::format("{}: {}", name, meaning == nullptr ? "" : meaning);
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Status Driver::check(Code status, std::string_view what) const {
  if (status == kSuccess) return {};
  return fail(ErrorCode::environment, fmt::format("{}: {}", what, text(status)));
}

Result<const Driver*> driver() {
  static const Result<Driver> opened = open_driver();
  if (!opened) return tl::unexpected(opened.error());
  return &*opened;
}

}  // namespace tilewright::cuda
