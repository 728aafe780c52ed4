// SPDX-License-Identifier: Apache-2.0
// The rig of a CPU: operands in shared memory, tilewright-runner, proofs on the host.
#include "tune/rig.h"

#include <algorithm>

namespace tilewright {
namespace {

// What the largest program of this problem asks for, more or less: both operands widened and a
// whole C of partial sums for each thread. Reserving costs nothing until it is used.
std::int64_t generous_workspace(const Problem& problem, const Device& device) {
  constexpr double kMost = 4e9;
  const auto size = [](std::int64_t a, std::int64_t b) {
    return static_cast<double>(a + 256) * static_cast<double>(b + 256) * sizeof(float);
  };
  const double per_thread =
      size(problem.m, problem.k) + size(problem.n, problem.k) + size(problem.m, problem.n);
  return static_cast<std::int64_t>(std::min(kMost, device.cores * per_thread));
}

class HostStand final : public Stand {
 public:
  HostStand(const Problem& problem, const Device& device, Worker& worker, Mode mode,
            std::uint64_t seed)
      : problem_(problem), device_(device), worker_(worker), mode_(mode), seed_(seed) {}

  Status use(const Launch* launch) override {
    std::int64_t bytes = 0;
    if (launch != nullptr) {
      const Result<std::int64_t> asked = workspace_bytes(*launch, problem_);
      if (!asked) return tl::unexpected(asked.error());
      bytes = *asked;
    }
    if (arena_ && arena_->layout().workspace_bytes >= bytes) {
      arena_->use_workspace(bytes);
      return {};
    }
    Result<Arena> arena = Arena::create(problem_, sets_for(problem_, device_, mode_),
                                        std::max(bytes, generous_workspace(problem_, device_)));
    if (!arena) return tl::unexpected(arena.error());
    verifier_.reset();
    arena_ = std::make_unique<Arena>(*std::move(arena));
    arena_->use_workspace(bytes);
    verifier_ = std::make_unique<HostVerifier>(*arena_, VerifyOptions{.seed = seed_});
    return {};
  }

  Result<Opened> open(const Binary* candidate, const std::vector<std::string>& names) override {
    return worker_.open(*arena_, candidate, names);
  }
  Verifier& verifier() override { return *verifier_; }
  int sets() const override { return arena_->layout().sets; }

 private:
  Problem problem_;
  const Device& device_;
  Worker& worker_;
  Mode mode_;
  std::uint64_t seed_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<HostVerifier> verifier_;
};

class HostRig final : public Rig {
 public:
  HostRig(Device device, Worker worker) : device_(std::move(device)), worker_(std::move(worker)) {}

  Result<std::unique_ptr<Stand>> stand(const Problem& problem, Mode mode,
                                       std::uint64_t seed) override {
    auto made = std::make_unique<HostStand>(problem, device_, worker_, mode, seed);
    if (Status status = made->use(nullptr); !status) return tl::unexpected(status.error());
    return made;
  }
  std::vector<BaselineInfo> baselines(const Problem& problem) const override {
    return baselines_for(problem, device_);
  }
  std::optional<UnpairedTime> time_unpaired(std::string_view, const Problem&, Mode, int) override {
    return std::nullopt;  // every library of a CPU runs in the runner
  }
  std::optional<Conditions> conditions() const override { return std::nullopt; }

 private:
  Device device_;
  Worker worker_;
};

}  // namespace

Result<std::unique_ptr<Rig>> make_host_rig(const Device& device, const RigOptions& options) {
  WorkerOptions worker_options;
  worker_options.runner = options.runner;
  Result<Worker> worker = Worker::start(worker_options, device);
  if (!worker) return tl::unexpected(worker.error());
  return std::make_unique<HostRig>(device, *std::move(worker));
}

Result<std::unique_ptr<Rig>> Rig::create(const Device& device, Compiler& compiler,
                                         const RigOptions& options) {
  if (device.kind == DeviceKind::cuda) return make_cuda_rig(device, compiler, options);
  return make_host_rig(device, options);
}

}  // namespace tilewright
