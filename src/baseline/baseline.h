// SPDX-License-Identifier: Apache-2.0
// The libraries that a candidate is compared with, behind one interface. They run inside the
// runner, in the same process, threads and minutes as the candidate.
#pragma once

#include "base/error.h"
#include "device/device.h"
#include "launch/cpu_abi.h"
#include "problem/problem.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

class Baseline {
 public:
  virtual ~Baseline() = default;
  // Computes args like a kernel would; uses the library's own threads. Status per call is checked.
  [[nodiscard]] virtual Status run(const tw_cpu_gemm_args& args) = 0;
  // Work that the column's name excludes from the clock, such as weights converted ahead. Called
  // once for each operand set before timing, and again after its B has changed.
  [[nodiscard]] virtual Status prepare(const tw_cpu_gemm_args& args) = 0;
};

struct BaselineInfo {
  std::string name;  // onednn, onednn_current, openblas, openblas_ahead, openblas_sbgemm, reference
  std::string library;  // name and version as the library itself reports it, "" if absent
  bool available = false;
  std::string why_not;  // if not available: reason and fix in one line
  bool headline =
      true;  // false: shown beside, not part of "fastest baseline" (openblas_ahead, reference)
};

// Every known baseline for this problem on this machine, available or not, in a fixed order.
[[nodiscard]] std::vector<BaselineInfo> baselines_for(const Problem& problem, const Device& device);
// An instance for one problem and thread count. Call only in the process that will run it.
[[nodiscard]] Result<std::unique_ptr<Baseline>> make_baseline(std::string_view name,
                                                              const Problem& problem,
                                                              const Device& device, int threads);

// Refuses a rigged baseline: OpenBLAS' core type against CPUID, OPENBLAS_CORETYPE and friends, and
// sgemm's fraction of the measured FMA peak. `fma_peak` in FLOP/s for `threads` threads.
struct SelfCheck {
  bool passed = false;
  bool absent = false;        // there is no OpenBLAS to check
  std::string core_type;      // as OpenBLAS reports it
  double sgemm_fraction = 0;  // of fma_peak, 1024^3
  std::string reason;         // if not passed: what is mis-set, and the fix
};
[[nodiscard]] SelfCheck self_check(const Device& device, int threads, double fma_peak);

// Variables ("KEY=value") that a process which is to run baselines must have from its start: short
// spinning of idle worker threads, no pinning by the library, the OpenBLAS core type where OpenBLAS
// misjudges the processor. docs/measurement.md tells why each. A variable that the user has set to
// choose a library (TILEWRIGHT_ONEDNN, OPENBLAS_CORETYPE) is left alone; self_check judges it.
[[nodiscard]] std::vector<std::string> baseline_environment(const Device& device);

}  // namespace tilewright
