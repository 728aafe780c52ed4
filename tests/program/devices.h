// SPDX-License-Identifier: Apache-2.0
// Invented devices for tests that must not depend on the machine they run on.
#pragma once

#include "device/device.h"

namespace tilewright {

inline Device avx512_device(int cores) {
  Device device;
  device.name = "invented";
  device.silicon = "cpu-invented-1";
  device.isa = {"avx2", "avx512bf16", "avx512bw", "avx512dq", "avx512f", "avx512vl", "f16c", "fma"};
  device.cores = cores;
  for (int i = 0; i < cores; ++i) device.cpus.push_back(i);
  device.l1d_bytes = 48 << 10;
  device.l2_bytes = 2 << 20;
  device.l3_bytes = 32 << 20;
  return device;
}

inline Device avx2_device(int cores) {
  Device device = avx512_device(cores);
  device.isa = {"avx2", "f16c", "fma"};
  return device;
}

}  // namespace tilewright
