// SPDX-License-Identifier: Apache-2.0
// What the loader of the driver asks for and the library of fake_driver.cc's tests does not call.
#include "device/cuda/driver.h"

using tilewright::cuda::Code;

namespace {
constexpr Code kSuccess = 0, kNotFound = 500;
}

extern "C" {

Code cuDeviceGetUuid_v2() {
  return kNotFound;
}
Code cuDeviceGetPCIBusId() {
  return kNotFound;
}
Code cuDevicePrimaryCtxRelease_v2() {
  return kSuccess;
}
Code cuFuncSetAttribute() {
  return kSuccess;
}
Code cuMemAllocHost_v2() {
  return kNotFound;
}
Code cuMemFreeHost() {
  return kNotFound;
}
Code cuMemcpyDtoHAsync_v2() {
  return kNotFound;
}
Code cuMemsetD32Async() {
  return kNotFound;
}
Code cuMemGetAllocationGranularity() {
  return kNotFound;
}
Code cuMemAddressReserve() {
  return kNotFound;
}
Code cuMemAddressFree() {
  return kNotFound;
}
Code cuMemCreate() {
  return kNotFound;
}
Code cuMemRelease() {
  return kNotFound;
}
Code cuMemMap() {
  return kNotFound;
}
Code cuMemUnmap() {
  return kNotFound;
}
Code cuMemSetAccess() {
  return kNotFound;
}
Code cuMemExportToShareableHandle() {
  return kNotFound;
}
Code cuMemImportFromShareableHandle() {
  return kNotFound;
}
Code cuStreamQuery() {
  return kNotFound;
}
Code cuEventQuery() {
  return kNotFound;
}
Code cuProfilerStart() {
  return kNotFound;
}
Code cuProfilerStop() {
  return kNotFound;
}

}  // extern "C"
