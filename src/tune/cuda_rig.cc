// SPDX-License-Identifier: Apache-2.0
// The rig of a GPU: operands in device memory of this process, tilewright-cuda-runner, proofs on
// the device. What a candidate breaks is the runner's context; this process and its operands stay
// whole.
#include "tune/rig.h"

#include "baseline/cuda/cuda_baseline.h"
#include "device/cuda/telemetry.h"
#include "execute/cuda/cuda_worker.h"
#include "execute/cuda/mirror.h"
#include "launch/cuda/call.h"
#include "program/family_cuda.h"
#include "tune/torch_column.h"
#include "verify/cuda/cuda_verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace tilewright {
namespace {

// Programs split K only where tiles are few, so partial sums are bounded (program/family_cuda.cc).
constexpr std::int64_t kUsualWorkspace = std::int64_t{64} << 20;

struct Shop {
  Device device;
  Compiler& compiler;
  cuda::Context context;
  CudaWorker worker;
  std::optional<cuda::Telemetry> telemetry;
  std::shared_ptr<KernelBench> checker;  // of the last verifier: problems come and go
};

class CudaStand final : public Stand {
 public:
  CudaStand(const Problem& problem, Shop& shop, Mode mode, std::uint64_t seed)
      : problem_(problem), shop_(shop), mode_(mode), seed_(seed) {}

  Status use(const Launch* launch) override {
    Workspace wanted;
    if (launch != nullptr) {
      const Result<Workspace> asked = workspace_of(*launch);
      if (!asked) return tl::unexpected(asked.error());
      wanted = *asked;
    }
    return hand_out(wanted);
  }

  Result<Opened> open(const Binary* candidate, const std::vector<std::string>& names) override {
    Result<Opened> opened = shop_.worker.open(*arena_, candidate, names, algorithms_);
    if (mirror_ && opened && opened->session) {
      opened->session = mirror_->mirrored(std::move(opened->session));
    }
    return opened;
  }
  Result<std::optional<Opened>> open_all(std::span<const Binary> candidates,
                                         const std::vector<std::string>& names) override {
    Workspace most;
    for (const Binary& candidate : candidates) {
      const Result<Workspace> asked = workspace_of(candidate.launch);
      if (!asked) return tl::unexpected(asked.error());
      most = {std::max(most.bytes, asked->bytes), std::max(most.zeroed, asked->zeroed)};
    }
    if (Status status = hand_out(most); !status) return tl::unexpected(status.error());
    Result<Opened> opened =
        shop_.worker.open(*arena_, &candidates.front(), names, algorithms_, candidates.subspan(1));
    if (!opened) return tl::unexpected(opened.error());
    return std::optional<Opened>(*std::move(opened));
  }
  void recall(std::map<std::string, std::string> algorithms) override {
    algorithms_ = std::move(algorithms);
  }
  Verifier& verifier() override { return *verifier_; }
  int sets() const override { return arena_->layout().sets; }

 private:
  struct Workspace {
    std::int64_t bytes = 0, zeroed = 0;
  };
  [[nodiscard]] Result<Workspace> workspace_of(const Launch& launch) const {
    const int sms = shop_.device.cuda.multiprocessors;
    const std::int64_t slots = slots_bound(launch, problem_, shop_.device.cuda);
    const Result<std::int64_t> bytes = workspace_bytes(launch, problem_, sms, slots);
    if (!bytes) return tl::unexpected(bytes.error());
    const Result<std::int64_t> zeroed = zeroed_bytes(launch, problem_, sms, slots);
    if (!zeroed) return tl::unexpected(zeroed.error());
    return Workspace{*bytes, *zeroed};
  }
  Status hand_out(const Workspace& wanted) {
    if (!arena_ || arena_->layout().workspace_bytes < wanted.bytes) {
      const std::int64_t usual = kUsualWorkspace + packed_bytes(problem_);
      if (Status made = make_arena(std::max(wanted.bytes, usual)); !made) return made;
    }
    arena_->use_workspace(wanted.bytes, wanted.zeroed);
    return {};
  }

  Status make_arena(std::int64_t workspace) {
    verifier_.reset();
    mirror_.reset();
    arena_.reset();
    Result<DeviceArena> arena = DeviceArena::create(
        shop_.context, problem_, sets_for(problem_, shop_.device, mode_), workspace);
    if (!arena) return tl::unexpected(arena.error());
    arena_ = std::make_unique<DeviceArena>(*std::move(arena));
    arena_->use_workspace(0, 0);
    if (!problem_.is_gemm()) return make_mirror();
    auto verifier =
        CudaVerifier::create(*arena_, shop_.device, shop_.compiler, {.seed = seed_}, shop_.checker);
    if (!verifier) return tl::unexpected(verifier.error());
    shop_.checker = (*verifier)->kernels();
    verifier_ = *std::move(verifier);
    // The libraries are prepared on these operands when a session opens: they must hold numbers.
    verifier_->arm();
    return shop_.context.synchronize();
  }

  // The checker's kernels know products only: other operations are judged on the host.
  Status make_mirror() {
    Result<std::unique_ptr<OperandMirror>> mirror = OperandMirror::create(*arena_);
    if (!mirror) return tl::unexpected(mirror.error());
    mirror_ = *std::move(mirror);
    verifier_ = std::make_unique<HostVerifier>(mirror_->arena(), VerifyOptions{.seed = seed_});
    verifier_->arm();
    return mirror_->upload(mirror_->all());
  }

  Problem problem_;
  Shop& shop_;
  Mode mode_;
  std::uint64_t seed_;
  std::map<std::string, std::string> algorithms_;  // of baselines, chosen earlier
  std::unique_ptr<DeviceArena> arena_;
  std::unique_ptr<OperandMirror> mirror_;
  std::unique_ptr<Verifier> verifier_;
};

class CudaRig final : public Rig {
 public:
  CudaRig(std::unique_ptr<Shop> shop, TorchColumn torch)
      : shop_(std::move(shop)), torch_(std::move(torch)) {}

  Result<std::unique_ptr<Stand>> stand(const Problem& problem, Mode mode,
                                       std::uint64_t seed) override {
    auto made = std::make_unique<CudaStand>(problem, *shop_, mode, seed);
    if (Status status = made->use(nullptr); !status) return tl::unexpected(status.error());
    return made;
  }
  std::vector<BaselineInfo> baselines(const Problem& problem) const override {
    return cuda_baselines_for(problem, shop_->device);
  }
  std::optional<UnpairedTime> time_unpaired(std::string_view name, const Problem& problem,
                                            Mode mode, int sets) override {
    if (name != kTorchColumn) return std::nullopt;
    return torch_.time(problem, mode, sets);
  }
  std::optional<Conditions> conditions() const override {
    if (!shop_->telemetry) return std::nullopt;
    const cuda::Reading now = shop_->telemetry->read();
    Conditions found;
    found.sm_mhz = now.sm_megahertz;
    found.watts = now.watts;
    found.celsius = now.celsius;
    found.throttle = cuda::throttle_text(now.throttle);
    return found;
  }

 private:
  std::unique_ptr<Shop> shop_;  // stands and libraries refer into it, so it does not move
  TorchColumn torch_;
};

}  // namespace

Result<std::unique_ptr<Rig>> make_cuda_rig(const Device& device, Compiler& compiler,
                                           const RigOptions& options) {
  Result<cuda::Context> context = cuda::Context::open(device.cuda.ordinal);
  if (!context) return tl::unexpected(context.error());
  WorkerOptions worker_options;
  worker_options.runner = options.runner;
  worker_options.vendor_search = options.vendor_search;
  Result<CudaWorker> worker = CudaWorker::start(worker_options, device);
  if (!worker) return tl::unexpected(worker.error());
  auto shop = std::unique_ptr<Shop>(
      new Shop{device, compiler, *std::move(context), *std::move(worker), std::nullopt, nullptr});
  if (Result<cuda::Telemetry> telemetry = cuda::Telemetry::open(shop->context)) {
    shop->telemetry = *std::move(telemetry);
  } else if (options.log) {
    options.log(fmt::format("clocks and power are not recorded: {}", telemetry.error().message));
  }
  TorchPeerOptions torch;
  torch.ordinal = device.cuda.ordinal;
  return std::make_unique<CudaRig>(std::move(shop), TorchColumn(std::move(torch), options.log));
}

}  // namespace tilewright
