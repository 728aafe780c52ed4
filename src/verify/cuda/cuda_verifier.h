// SPDX-License-Identifier: Apache-2.0
// The Verifier of a DeviceArena: the same rules, on the device.
#pragma once

#include "compile/compile.h"
#include "device/device.h"
#include "execute/cuda/device_arena.h"
#include "verify/verify.h"

#include <memory>

namespace tilewright {

class KernelBench;

class CudaVerifier final : public Verifier {
 public:
  // Compiles the checker's kernels for `device`, unless they are in the cache. The arena must
  // outlive the verifier. An Error if the kernels cannot be had or device memory is short; a fault
  // later on is a finding with rule `verifier`, outcome noisy, and needs a new verifier. `kernels`:
  // those of an earlier verifier of this context and device, which spares loading them; if they
  // had a fault, or are null, they are loaded.
  [[nodiscard]] static Result<std::unique_ptr<CudaVerifier>> create(
      const DeviceArena& arena, const Device& device, Compiler& compiler, VerifyOptions options,
      std::shared_ptr<KernelBench> kernels = nullptr);
  ~CudaVerifier() override;

  Verdict prove(Session& session, bool quick = false, bool ragged = false) override;
  Verdict prove_baseline(Session& session, const std::string& baseline) override;
  void arm() override;
  void refresh() override;
  Finding check_timed(const std::vector<int>& ran) override;
  Finding replay(Session& session) override;
  [[nodiscard]] const std::shared_ptr<KernelBench>& kernels() const;

 private:
  struct State;
  explicit CudaVerifier(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tilewright
