// SPDX-License-Identifier: Apache-2.0
// The CUDA backend: a context, the kernels of the bundles, the workspaces, and the ladders that
// were built so far. A call finds its ladder, takes the first rung that can serve it, and enqueues.
// Read next: ladder.h.
#include "device/cuda/detect.h"
#include "runtime/cuda/context_guard.h"
#include "runtime/cuda/planner.h"
#include "runtime/cuda/timing.h"
#include "runtime/wisdom_files.h"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

namespace tilewright::runtime {
namespace {

constexpr std::size_t kMostLadders = 4096;
constexpr int kLeastCapability = 80;

struct CallHash {
  std::size_t operator()(const Call& c) const {
    std::uint64_t hash = 0;
    const auto mix = [&hash](std::int64_t value) {
      hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 29U;
    };
    for (const std::int64_t value :
         {c.m, c.n, c.k, c.batch, c.lda, c.ldb, c.ldc, c.stride_a, c.stride_b, c.stride_c}) {
      mix(value);
    }
    mix(static_cast<std::int64_t>(c.in) | static_cast<std::int64_t>(c.out) << 4 |
        std::int64_t{c.a_transposed} << 8 | std::int64_t{c.b_transposed} << 9 |
        std::int64_t{c.f16_sums} << 10 | static_cast<std::int64_t>(c.activation) << 12 |
        static_cast<std::int64_t>(c.mode) << 16);
    return hash;
  }
};

tl::unexpected<Failure> failed(const Error& error, tw_status otherwise) {
  const bool memory = error.message.find("OUT_OF_MEMORY") != std::string::npos;
  return tl::unexpected(Failure{
      memory ? TW_OUT_OF_MEMORY : otherwise,
      error.hint.empty() ? error.message : fmt::format("{}; {}", error.message, error.hint)});
}

// With the strides of 0 that a problem has no word for.
std::string in_words(const Call& call) {
  return fmt::format(
      "{}{}{}{}", to_text(problem_of(call, 1, 0)), call.lda == 0 ? " one row of A again" : "",
      call.ldb == 0 ? " one row of B again" : "",
      call.batch > 1 ? fmt::format(" strides {} {} {}", call.stride_a, call.stride_b, call.stride_c)
                     : "");
}

class CudaBackend : public Backend {
 public:
  CudaBackend(cuda::Context context, Device device, const Options& options)
      : context_(std::move(context)), device_(std::move(device)), options_(options) {}

  ~CudaBackend() override {
    // Modules and memory go while their context is current.
    const ContextGuard guard(context_.driver(), context_.handle());
    ladders_.clear();
    planner_.reset();
    workspaces_.reset();
    shelf_.reset();
  }

  tl::expected<void, Failure> start() {
    std::vector<std::string> warnings;
    shelf_.emplace();
    const std::vector<std::filesystem::path> paths = bundle_paths(options_);
    for (const std::filesystem::path& path : paths) {
      auto file = BundleFile::open(path);
      if (file) {
        shelf_->add(*std::move(file), device_, warnings);
      } else {
        warnings.push_back("bundle of kernels left out: " + file.error().message);
      }
    }
    shelf_->load_core(context_);
    KnownWisdom known = known_wisdom(options_, device_);
    warnings.insert(warnings.end(), known.warnings.begin(), known.warnings.end());
    warn(warnings);
    if (shelf_->kernels().empty()) {
      return tl::unexpected(Failure{
          TW_NO_DEVICE,
          fmt::format("there are no kernels for {} ({} bundles read): make a bundle with "
                      "`tilewright bundle --core`, and name its folder in TILEWRIGHT_KERNELS",
                      device_.name, paths.size())});
    }
    lookup_ = Lookup(std::move(known.entries));
    auto workspaces = Workspaces::make(context_, options_.streams, options_.workspace_bytes);
    if (!workspaces) {
      Error error = workspaces.error();
      error.hint = fmt::format("streams={} workspace_bytes={} of tw_options may be less",
                               options_.streams, options_.workspace_bytes);
      return failed(error, TW_FAILED);
    }
    workspaces_ = *std::move(workspaces);
    planner_.emplace(context_, device_, *shelf_, lookup_, *workspaces_, !options_.no_vendor);
    return {};
  }

  tl::expected<void, Failure> prepare(const Call& given, void* stream) override {
    if (given.empty()) return {};
    const ContextGuard guard(context_.driver(), context_.handle());
    if (auto current = check(guard); !current) return current;
    if (capturing(stream)) {
      return tl::unexpected(Failure{
          TW_INVALID, fmt::format("stream={} is being captured, or is the default stream while "
                                  "another one is: tw_prepare loads and waits, so it goes before",
                                  fmt::ptr(stream))});
    }
    const Call call = folded(given);
    auto ladder = build(call, true);
    if (!ladder) return tl::unexpected(ladder.error());
    if (options_.timing_seconds > 0 && call.mode == TW_FASTEST && call.k > 0) {
      ladder = settled(call, *ladder);
      if (!ladder) return tl::unexpected(ladder.error());
    }
    for (const Rung& rung : (*ladder)->rungs) {
      if (rung.workspace > 0) std::ignore = workspaces_->claim(as_stream(stream), rung.zeroed);
    }
    return {};
  }

  tl::expected<Origin, Failure> run(const Call& given, const Operands& operands,
                                    void* stream) override {
    if (given.empty()) return Origin::empty;
    const ContextGuard guard(context_.driver(), context_.handle());
    if (auto current = check(guard); !current) return tl::unexpected(current.error());
    const Call call = folded(given);
    std::shared_ptr<const Ladder> ladder = find(call);
    if (ladder == nullptr || (!ladder->complete && !capturing(stream))) {
      auto built = build(call, !capturing(stream));
      if (!built) return tl::unexpected(built.error());
      ladder = *std::move(built);
    }
    const Wish wish = wish_of(call, operands);
    if (several_devices_) {
      if (auto home = check_home(wish, operands.bias); !home) return tl::unexpected(home.error());
    }
    for (const Rung& rung : ladder->rungs) {
      if (!wish.granted_by(rung)) continue;
      cuda::Pointer workspace = 0;
      if (rung.workspace > 0) {
        // A graph may be replayed beside the stream that it was captured on.
        if (capturing(stream)) continue;
        workspace = workspaces_->claim(as_stream(stream), rung.zeroed);
        if (workspace == 0) continue;
      }
      if (const Status launched =
              launch(rung, call, operands, workspace, context_.driver(), as_stream(stream));
          !launched) {
        return failed(launched.error(), TW_FAILED);
      }
      return wish.sums_nothing ? Origin::empty : rung.origin;
    }
    return tl::unexpected(Failure{
        TW_UNSUPPORTED,
        fmt::format("no kernel for {} with a={} b={} c={}{}{}: `tilewright bundle --core` makes "
                    "those that serve any product",
                    in_words(call), operands.a, operands.b, operands.c,
                    wish.finishes ? ", bias or activation" : "",
                    ladder->notes.empty() ? "" : "; " + ladder->notes.front())});
  }

  tl::expected<std::string, Failure> explain(const Call& given) override {
    std::string text = fmt::format("{} on {} (CUDA device {}, {})\n", in_words(given), device_.name,
                                   device_.cuda.ordinal, device_.fingerprint());
    if (given.empty()) return text + "nothing to compute\n";
    const ContextGuard guard(context_.driver(), context_.handle());
    if (auto current = check(guard); !current) return tl::unexpected(current.error());
    const Call call = folded(given);
    if (!(call == given)) text += "all entries have one B: computed as one taller product\n";
    const auto ladder = build(call, true);
    if (!ladder) return tl::unexpected(ladder.error());
    for (std::size_t i = 0; i < (*ladder)->rungs.size(); ++i) {
      text += rung_text((*ladder)->rungs[i], i == 0);
    }
    for (const std::string& note : (*ladder)->notes) text += "not: " + note + "\n";
    return text;
  }

  tl::expected<Choice, Failure> choose(const Call& given, bool scales) override {
    if (given.empty()) return tl::unexpected(Failure{TW_UNSUPPORTED, "nothing to compute"});
    const ContextGuard guard(context_.driver(), context_.handle());
    if (auto current = check(guard); !current) return tl::unexpected(current.error());
    const Call call = folded(given);
    const auto ladder = build(call, true);
    if (!ladder) return tl::unexpected(ladder.error());
    Choice choice;
    choice.vendor_timed = (*ladder)->vendor_timed;
    const Wish wish{
        .scales = scales, .adds = scales, .finishes = call.activation != TW_NO_ACTIVATION};
    for (const Rung& rung : (*ladder)->rungs) {
      if (!wish.granted_by(rung)) continue;
      if (rung.vendor != nullptr) {
        choice.vendor_because = rung.why;
        continue;
      }
      const BundleKernel& kernel = *rung.kernel->from;
      choice.origin = rung.origin;
      choice.program = kernel.program;
      choice.why = rung.why;
      choice.timed = rung.timed;
      choice.launch = kernel.launch;
      choice.cubin = kernel.cubin;
      choice.launches = static_cast<int>(rung.launches.size());
      return choice;
    }
    return tl::unexpected(Failure{TW_UNSUPPORTED, "no kernel for " + in_words(call)});
  }

 private:
  static cuda::Stream as_stream(void* stream) { return static_cast<cuda::Stream>(stream); }

  tl::expected<void, Failure> check(const ContextGuard& guard) const {
    const Status current = context_.driver().check(guard.code(), "making the device current");
    if (!current) return failed(current.error(), TW_FAILED);
    return {};
  }

  // Memory of another device, even where this one could reach it, is a mistake of the caller's.
  tl::expected<void, Failure> check_home(const Wish& wish, const void* bias) const {
    const cuda::Driver& driver = context_.driver();
    const auto unsigned_attribute = [&driver](int which, cuda::Pointer address) {
      unsigned value = 0;
      return driver.PointerGetAttribute(&value, which, address) == cuda::kSuccess ? value : 0;
    };
    for (const auto& [name, address] : {std::pair{"c", wish.c},
                                        {"a", wish.a},
                                        {"b", wish.b},
                                        {"bias", reinterpret_cast<cuda::Pointer>(bias)}}) {
      int device = 0;
      if (address == 0 ||
          driver.PointerGetAttribute(&device, cuda::kPointerDevice, address) != cuda::kSuccess ||
          device == device_.cuda.ordinal ||
          unsigned_attribute(cuda::kPointerMemoryType, address) != cuda::kDeviceMemory ||
          unsigned_attribute(cuda::kPointerIsManaged, address) != 0) {
        continue;
      }
      return tl::unexpected(
          Failure{TW_INVALID, fmt::format("{}={:#x} is in the memory of CUDA device {}, the "
                                          "handle's is {}",
                                          name, address, device, device_.cuda.ordinal)});
    }
    return {};
  }

  [[nodiscard]] bool capturing(void* stream) const {
    int status = 0;  // CUstreamCaptureStatus: 0 is none
    const cuda::Code code = context_.driver().StreamIsCapturing(as_stream(stream), &status);
    // The legacy stream fails here while another captures: as good as capturing itself.
    return code != cuda::kSuccess || status != 0;
  }

  [[nodiscard]] std::shared_ptr<const Ladder> find(const Call& call) const {
    const std::shared_lock lock(ladders_mutex_);
    const auto found = ladders_.find(call);
    return found == ladders_.end() ? nullptr : found->second;
  }

  tl::expected<std::shared_ptr<const Ladder>, Failure> build(const Call& call, bool may_load) {
    if (call.k > kMostK) {
      return tl::unexpected(
          Failure{TW_UNSUPPORTED, fmt::format("k={}: a sum has {} terms at most", call.k, kMostK)});
    }
    std::optional<RelaxedThread> relaxed;
    if (may_load) relaxed.emplace(context_.driver());
    const std::scoped_lock slow(slow_mutex_);
    if (auto known = find(call); known != nullptr && (known->complete || !may_load)) return known;
    return keep(call, planner_->build(call, may_load));
  }

  std::shared_ptr<const Ladder> keep(const Call& call, Ladder ladder) {
    auto kept = std::make_shared<const Ladder>(std::move(ladder));
    const std::unique_lock lock(ladders_mutex_);
    if (ladders_.size() >= kMostLadders) ladders_.clear();
    ladders_[call] = kept;
    return kept;
  }

  // The ladder as timing has it, or as it was estimated where nothing can be timed. Calls go on
  // meanwhile, with the estimate. A Failure if timing has cost the context.
  tl::expected<std::shared_ptr<const Ladder>, Failure> settled(
      const Call& call, std::shared_ptr<const Ladder> estimated) {
    if (estimated->settled) return estimated;
    const std::scoped_lock one_at_a_time(timing_mutex_);
    if (auto known = find(call); known != nullptr && known->settled) return known;
    const RelaxedThread relaxed(context_.driver());
    Ladder timed;
    {
      const std::scoped_lock slow(slow_mutex_);
      timed = planner_->candidates(call);
    }
    if (const Status done = time_and_arrange(timed, call, context_, options_.timing_seconds);
        !done) {
      if (done.error().code == ErrorCode::internal) return failed(done.error(), TW_FAILED);
      Ladder as_it_was = *estimated;
      const std::string note = "timed: " + done.error().message;
      std::erase(as_it_was.notes, note);
      as_it_was.notes.push_back(note);
      return keep(call, std::move(as_it_was));
    }
    prune(timed);
    timed.settled = true;
    return keep(call, std::move(timed));
  }

  static std::string rung_text(const Rung& rung, bool first) {
    constexpr std::array<std::string_view, 5> kOrigins = {"exact", "nearest", "built in", "vendor",
                                                          "empty"};
    std::string text = fmt::format(
        "{}{}: {}\n  {}\n", first ? "" : "else ", kOrigins[static_cast<std::size_t>(rung.origin)],
        rung.why, rung.vendor ? "cublasLt " + rung.vendor->text() : rung.kernel->from->program);
    text += fmt::format("  serves {}{}; addresses of A, B, C multiples of {}, {}, {} bytes",
                        rung.finishes ? "any alpha, beta, bias and activation"
                        : rung.adds   ? "any alpha and beta, no bias, no activation"
                        : rung.scales ? "any alpha, beta=0, no bias, no activation"
                                      : "alpha=1 beta=0, no bias, no activation",
                        rung.sums_nothing ? "" : ", alpha not 0", rung.alignment[0],
                        rung.alignment[1], rung.alignment[2]);
    if (rung.kernel != nullptr && rung.kernel->copies.any()) {
      const Copies& copies = rung.kernel->copies;
      text += fmt::format("; copies {} first", !copies.a ? "B" : copies.b ? "A and B" : "A");
    }
    if (rung.workspace > 0) text += fmt::format("; {} bytes of workspace", rung.workspace);
    if (rung.launches.size() > 1) text += fmt::format("; {} launches", rung.launches.size());
    return text + "\n";
  }

  cuda::Context context_;
  const Device device_;
  const Options options_;
  const bool several_devices_ = cuda_device_count() > 1;
  std::optional<Shelf> shelf_;
  Lookup lookup_;
  std::unique_ptr<Workspaces> workspaces_;
  std::optional<Planner> planner_;
  std::mutex slow_mutex_;    // shelf, planner, kernels' loading
  std::mutex timing_mutex_;  // taken before it: two that time at once would see each other
  mutable std::shared_mutex ladders_mutex_;
  std::unordered_map<Call, std::shared_ptr<const Ladder>, CallHash> ladders_;
};

}  // namespace

tl::expected<std::unique_ptr<Backend>, Failure> open_cuda(const Options& options, int ordinal) {
  const auto driver = cuda::driver();
  if (!driver) return failed(driver.error(), TW_NO_DEVICE);
  auto device = detect_cuda(**driver, ordinal);
  if (!device) return failed(device.error(), TW_NO_DEVICE);
  if (device->cuda.capability < kLeastCapability) {
    return tl::unexpected(Failure{
        TW_NO_DEVICE,
        fmt::format("CUDA device {} ({}) has compute capability {}.{}, 8.0 or newer is needed",
                    ordinal, device->name, device->cuda.capability / 10,
                    device->cuda.capability % 10)});
  }
  const ContextGuard guard(**driver);
  auto context = cuda::Context::open(ordinal);
  if (!context) return failed(context.error(), TW_NO_DEVICE);
  auto backend = std::make_unique<CudaBackend>(*std::move(context), *std::move(device), options);
  if (auto started = backend->start(); !started) return tl::unexpected(started.error());
  return backend;
}

}  // namespace tilewright::runtime
