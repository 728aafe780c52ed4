// SPDX-License-Identifier: Apache-2.0
// CUDA devices as their drivers describe them, for tests on machines without one.
#pragma once

#include "device/cuda/detect.h"

namespace tilewright {

inline Device invented_gpu(const std::string& name, int capability, int multiprocessors) {
  Device device;
  device.kind = DeviceKind::cuda;
  device.name = name;
  device.silicon = cuda_silicon(name, capability);
  device.isa = cuda_features(capability);
  device.l1d_bytes = 0;
  device.cuda.capability = capability;
  device.cuda.multiprocessors = multiprocessors;
  device.cuda.registers_per_multiprocessor = 65536;
  return device;
}

inline Device invented_h200() {
  Device device = invented_gpu("NVIDIA H200", 90, 132);
  device.l2_bytes = 62914560;
  device.cuda.shared_per_block = 232448;
  device.cuda.shared_per_multiprocessor = 233472;
  device.cuda.memory_bytes = std::int64_t{143771} << 20;
  device.cuda.clock_kilohertz = 1980000;
  device.cuda.memory_bandwidth = 4.8e12;
  return device;
}

inline Device invented_a100() {
  Device device = invented_gpu("NVIDIA A100-SXM4-80GB", 80, 108);
  device.l2_bytes = 41943040;
  device.cuda.shared_per_block = 166912;
  device.cuda.shared_per_multiprocessor = 167936;
  device.cuda.memory_bytes = std::int64_t{81920} << 20;
  device.cuda.clock_kilohertz = 1410000;
  device.cuda.memory_bandwidth = 2.039e12;
  return device;
}

inline Device invented_rtx3090() {
  Device device = invented_gpu("NVIDIA GeForce RTX 3090", 86, 82);
  device.l2_bytes = 6291456;
  device.cuda.shared_per_block = 101376;
  device.cuda.shared_per_multiprocessor = 102400;
  device.cuda.memory_bytes = std::int64_t{24576} << 20;
  device.cuda.clock_kilohertz = 1695000;
  device.cuda.memory_bandwidth = 9.362e11;
  return device;
}

inline Device invented_rtx4090() {
  Device device = invented_gpu("NVIDIA GeForce RTX 4090", 89, 128);
  device.l2_bytes = 75497472;
  device.cuda.shared_per_block = 101376;
  device.cuda.shared_per_multiprocessor = 102400;
  device.cuda.memory_bytes = std::int64_t{24564} << 20;
  device.cuda.clock_kilohertz = 2520000;
  device.cuda.memory_bandwidth = 1.008e12;
  return device;
}

}  // namespace tilewright
