// SPDX-License-Identifier: Apache-2.0
// What the loop needs of a kind of device: somewhere to put operands, a process that runs
// candidates on them, a verifier, and the libraries to compare with. host_rig.cc and cuda_rig.cc
// are the two there are; everything else in this folder is written once for both.
#pragma once

#include "base/error.h"
#include "baseline/baseline.h"
#include "compile/compile.h"
#include "execute/session.h"
#include "measure/measure.h"
#include "trial/trial.h"
#include "tune/unpaired.h"
#include "verify/verify.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// The operands of one problem. The rig outlives it.
class Stand {
 public:
  virtual ~Stand() = default;
  // Gives the next candidate the workspace that its launch asks for and no more; nullptr: none. An
  // Error says why this launch cannot be served. May move the operands, so no session may be open.
  [[nodiscard]] virtual Status use(const Launch* launch) = 0;
  // As Worker::open.
  [[nodiscard]] virtual Result<Opened> open(const Binary* candidate,
                                            const std::vector<std::string>& baselines) = 0;
  // Several candidates in one session, the first as above, the others by rival_name(), with the
  // workspace of the greediest. Nothing where a process holds one (CPU).
  [[nodiscard]] virtual Result<std::optional<Opened>> open_all(
      std::span<const Binary> candidates, const std::vector<std::string>& baselines) {
    static_cast<void>(candidates);
    static_cast<void>(baselines);
    return std::nullopt;
  }
  // What baselines, by name, are to run instead of choosing (BaselineTime::algorithm). Before the
  // first open(); only CUDA's libraries have a choice.
  virtual void recall(std::map<std::string, std::string> algorithms) {
    static_cast<void>(algorithms);
  }
  // Valid until the next use().
  [[nodiscard]] virtual Verifier& verifier() = 0;
  [[nodiscard]] virtual int sets() const = 0;
};

struct RigOptions {
  std::filesystem::path runner;  // empty: beside this program
  double vendor_search = 1;      // WorkerOptions
  std::function<void(const std::string&)> log;
};

class Rig {
 public:
  virtual ~Rig() = default;
  // For the kind of `device`. `compiler` makes the checker's kernels on CUDA and outlives the rig.
  [[nodiscard]] static Result<std::unique_ptr<Rig>> create(const Device& device, Compiler& compiler,
                                                           const RigOptions& options);
  [[nodiscard]] virtual Result<std::unique_ptr<Stand>> stand(const Problem& problem, Mode mode,
                                                             std::uint64_t seed) = 0;
  // Every baseline known for this kind of device, available or not.
  [[nodiscard]] virtual std::vector<BaselineInfo> baselines(const Problem& problem) const = 0;
  // Times a column that cannot run in the runner, now and in a process of its own, on so many
  // operand sets. Nothing where it cannot be timed; the rig logs why, once.
  [[nodiscard]] virtual std::optional<UnpairedTime> time_unpaired(std::string_view name,
                                                                  const Problem& problem, Mode mode,
                                                                  int sets) = 0;
  // Clocks, power and the like at this moment; nothing where they cannot be read.
  [[nodiscard]] virtual std::optional<Conditions> conditions() const = 0;
};

// The two kinds.
[[nodiscard]] Result<std::unique_ptr<Rig>> make_host_rig(const Device& device,
                                                         const RigOptions& options);
[[nodiscard]] Result<std::unique_ptr<Rig>> make_cuda_rig(const Device& device, Compiler& compiler,
                                                         const RigOptions& options);

}  // namespace tilewright
