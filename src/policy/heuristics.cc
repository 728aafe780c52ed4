// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's nvMatmulHeuristics would run a product by, as programs of ours: a rival that has
// measured nothing here. It is asked in a Python process (python/tilewright_matmul_heuristics.py,
// which says why); its kernels are CUTLASS 3's, so that tile, stages, split, cluster and order of
// tiles carry over, and the rest is what the nearest legal program has.
#include "policy/pool.h"
#include "policy/walk.h"

#include "base/embedded.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "program/family_cuda.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>

namespace tilewright {

std::span<const EmbeddedFile> matmul_heuristics_program();  // cmake/TilewrightEmbed.cmake

namespace {

using Json = nlohmann::json;

constexpr int kMost = 64;
constexpr const char* kFix =
    "pip install nvidia-matmul-heuristics, or set TILEWRIGHT_PYTHON to an interpreter that has it; "
    "or choose another --policy";

// Its numbers of GPUs (nvMatmulHeuristics.h, nvmmhNvidiaGpu_t) by what a device's name contains.
struct KnownGpu {
  std::string_view name;
  int number;
};
constexpr std::array<KnownGpu, 6> kGpus = {{{"H200", 9003},
                                            {"H100", 9000},
                                            {"H20", 9004},
                                            {"A100", 8000},
                                            {"RTX 3090", 8601},
                                            {"RTX 4090", 8904}}};

// Types of operands, sums and result, a letter each.
std::string precision_of(const Problem& p) {
  const auto letter = [](ElementType type) {
    return type == ElementType::f32 ? 'S' : type == ElementType::bf16 ? 'T' : 'H';
  };
  return {letter(p.in), p.acc == Accumulator::f16 ? 'H' : 'S', letter(p.out)};
}

Result<Json> ask(const Problem& problem, int gpu) {
  const char* const python = std::getenv("TILEWRIGHT_PYTHON");
  const Json request = {{"gpu", gpu},
                        {"precision", precision_of(problem)},
                        {"m", problem.m},
                        {"n", problem.n},
                        {"k", problem.k},
                        {"batch", problem.batch},
                        {"layout", (problem.a_transposed ? 2 : 0) + (problem.b_transposed ? 1 : 0)},
                        {"count", kMost}};
  Command command;
  command.argv = {python != nullptr && *python != '\0' ? python : "python3", "-c",
                  std::string(matmul_heuristics_program().front().text), request.dump()};
  const Result<Completion> done = run(command);
  if (!done) return tl::unexpected(done.error());
  const std::string line = done->output.substr(0, done->output.find('\n'));
  Json answer = Json::parse(line, nullptr, false);
  if (!answer.is_object()) {
    return fail(ErrorCode::environment,
                fmt::format("nvMatmulHeuristics: the process ended with {} and said '{}'",
                            done->exit_code, line.substr(0, 200)),
                kFix);
  }
  if (answer.contains("error")) {
    return fail(ErrorCode::environment,
                fmt::format("nvMatmulHeuristics: {}", answer["error"].dump()), kFix);
  }
  return answer;
}

// The program nearest to one of its kernels.
std::optional<Program> program_of(const Json& kernel, const Walk& walk) {
  const auto at = [&](const char* name, std::size_t i) {
    const Json& value = kernel.at(name);
    return (value.is_array() ? value.at(i) : value).get<int>();
  };
  const int tile_m = at("tile", 0), tile_n = at("tile", 1);
  const int warps = tile_m / std::max(at("warp", 0), 1) * (tile_n / std::max(at("warp", 1), 1));
  const std::vector<std::pair<std::string, std::string>> words = {
      {"schedule", "cooperative"},
      {"consumers", std::to_string(std::clamp(warps / 4, 1, 2))},
      {"form", "tile"},
      {"tile_m", std::to_string(tile_m)},
      {"tile_n", std::to_string(tile_n)},
      {"tile_k", std::to_string(at("tile", 2))},
      {"warps_m", std::to_string(std::max(tile_m / std::max(at("warp", 0), 1), 1))},
      {"warps_n", std::to_string(std::max(tile_n / std::max(at("warp", 1), 1), 1))},
      {"stages", std::to_string(at("stages", 0))},
      {"split_k", std::to_string(at("split", 0))},
      {"reduce", "workspace"},
      {"cluster", fmt::format("{}x{}", at("cluster", 0), at("cluster", 1))},
      {"grid", "persistent"},
      {"in_flight", "1"},
      {"epilogue", "tma"},
      {"raster", kernel.at("along_n").get<bool>() ? "n" : "m"},
      {"group", std::to_string(at("swizzle", 0))},
      {"sizes", "static"}};
  Wishes wishes;
  for (const auto& [key, value] : words) wishes.emplace_back(key, value);
  return walk.nearest(wishes, {});
}

class HeuristicsPolicy final : public Policy {
 public:
  HeuristicsPolicy(PolicyContext context, const Json& answer)
      : context_(std::move(context)), pool_(context_), rng_(context_.seed) {
    const Family& family = context_.device.has("sm90a") ? sm90_family() : sm80_family();
    const Walk walk(family, context_.problem, context_.device);
    for (const Json& kernel : answer.at("kernels")) {
      if (auto program = program_of(kernel, walk)) wanted_.push_back(*std::move(program));
    }
  }

  std::vector<Program> propose(std::size_t count) override {
    return up_to(count, [this]() -> std::optional<Program> {
      while (next_ < wanted_.size()) {
        const std::optional<Program> program = pool_.adopt(wanted_[next_++], rng_);
        if (program && pool_.take(*program)) return program;
      }
      return std::nullopt;
    });
  }
  void observe(const Trial& trial) override { pool_.take_text(trial.program); }
  [[nodiscard]] std::string_view name() const override { return "heuristics"; }

 private:
  PolicyContext context_;
  Pool pool_;
  Rng rng_;
  std::vector<Program> wanted_;
  std::size_t next_ = 0;
};

}  // namespace

Result<std::unique_ptr<Policy>> make_heuristics(PolicyContext context) {
  const std::string& name = context.device.name;
  const auto gpu = std::ranges::find_if(
      kGpus, [&](const KnownGpu& g) { return name.find(g.name) != std::string::npos; });
  if (context.device.kind != DeviceKind::cuda || gpu == kGpus.end() || !context.problem.is_gemm()) {
    return fail(
        ErrorCode::negative,
        fmt::format("--policy heuristics: nvMatmulHeuristics has nothing to say of {} on {}",
                    to_text(context.problem), name),
        kFix);
  }
  const Result<Json> answer = ask(context.problem, gpu->number);
  if (!answer) return tl::unexpected(answer.error());
  try {
    return std::make_unique<HeuristicsPolicy>(std::move(context), *answer);
  } catch (const Json::exception& error) {
    return fail(ErrorCode::environment,
                fmt::format("nvMatmulHeuristics: an answer of another form: {}", error.what()),
                kFix);
  }
}

}  // namespace tilewright
