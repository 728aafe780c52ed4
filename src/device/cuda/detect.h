// SPDX-License-Identifier: Apache-2.0
// CUDA devices as values: what a program may rely on there, read from the driver.
#pragma once

#include "device/cuda/driver.h"
#include "device/device.h"

#include <string>
#include <string_view>

namespace tilewright {

// Devices that the driver shows to this process; 0 also where there is no driver.
[[nodiscard]] int cuda_device_count();

// Device `ordinal`, or why not with the fix. Makes no context, so it takes no device memory.
[[nodiscard]] Result<Device> detect_cuda(int ordinal);

// The same for a driver that is already open, which may be an invented one.
[[nodiscard]] Result<Device> detect_cuda(const cuda::Driver& driver, int ordinal);

// nvidia-h200-sm_90 for "NVIDIA H200" of capability 90.
[[nodiscard]] std::string cuda_silicon(std::string_view name, int capability);
// Sorted feature words: sm80 (mma.sync on f16 and bf16, cp.async), sm90a (wgmma, TMA).
[[nodiscard]] std::vector<std::string> cuda_features(int capability);

}  // namespace tilewright
