// SPDX-License-Identifier: Apache-2.0
// Prompts and programs as tokens. The order of a prompt's sections is that of text.h.
#include "learn/text.h"

#include "base/text.h"
#include "learn/text_words.h"
#include "problem/operations.h"
#include "problem/regime.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tilewright {
namespace {

constexpr double kScoreStep = 0.04;
constexpr int kLevelBin = 40;  // as fast as the reference

int id(std::string_view word) {
  const auto found = find_word(word);
  assert(found && "a word that we write ourselves is in the vocabulary");
  return *found;
}

void add(std::vector<int>& tokens, std::string_view word) {
  tokens.push_back(id(word));
}

// Nominal: what tells devices apart. FLOP of a unit in a cycle, widest instruction set first.
struct UnitRate {
  std::string_view feature, word;
  double flop_per_cycle;
};
constexpr std::array<UnitRate, 3> kCpuRates = {{{"avx512bf16", "has=avx512bf16", 128},
                                                {"avx512f", "has=avx512", 64},
                                                {"avx2", "has=avx2", 32}}};
constexpr std::array<UnitRate, 2> kCudaRates = {
    {{"sm90a", "has=sm90a", 4096}, {"sm80", "has=sm80", 2048}}};
constexpr double kCpuCycles = 3e9, kCpuBytes = 2e10;  // a second; bytes of one core
constexpr double kKib = 1024, kGiga = 1e9;

struct Limits {
  std::string_view has;
  double units = 1, flop = 0, bytes = 0;  // a second
  double near = 0;                        // bytes of a unit's own memory
  double tile = 1;                        // results of a usual tile
};

Limits limits_of(const Device& device) {
  const bool cuda = device.kind == DeviceKind::cuda;
  const std::span<const UnitRate> rates =
      cuda ? std::span<const UnitRate>(kCudaRates) : std::span<const UnitRate>(kCpuRates);
  const auto rate = std::ranges::find_if(
      rates, [&](const UnitRate& candidate) { return device.has(candidate.feature); });
  Limits limits;
  limits.has = rate != rates.end() ? rate->word : cuda ? "has=cuda" : "has=scalar";
  limits.units = std::max(1, cuda ? device.cuda.multiprocessors : device.cores);
  const double cycles = cuda ? static_cast<double>(device.cuda.clock_kilohertz) * 1e3 : kCpuCycles;
  limits.flop = limits.units * cycles * (rate != rates.end() ? rate->flop_per_cycle : 4);
  limits.bytes = cuda ? device.cuda.memory_bandwidth : kCpuBytes * limits.units;
  limits.near = static_cast<double>(cuda ? device.cuda.shared_per_block : device.l1d_bytes);
  limits.tile = cuda ? 128 * 128 : 14 * 32;
  return limits;
}

void add_task(std::vector<int>& tokens, const Problem& p) {
  constexpr std::array<std::string_view, 3> kBetas = {"beta=zero", "beta=one", "beta=any"};
  tokens.push_back(marks().task);
  add(tokens, operation_of(p.op).name);
  if (p.function != Function::none) add(tokens, fmt::format("fn={}", name_of(p.function)));
  add(tokens, p.layout());
  add(tokens, name_of(p.in));
  add(tokens, p.acc == Accumulator::f16 ? "acc=f16" : "acc=f32");
  add(tokens, fmt::format("out={}", name_of(p.out)));
  add(tokens, binned(kBatchBins, static_cast<double>(p.batch)));
  add(tokens, p.alpha == AlphaClass::one ? "alpha=one" : "alpha=any");
  add(tokens, kBetas[static_cast<std::size_t>(p.beta)]);
  const bool packed =
      p.a_stride() == p.a_cols() && p.b_stride() == p.b_cols() && p.c_stride() == p.c_cols();
  add(tokens, packed ? "rows=packed" : "rows=apart");
  const std::array<std::pair<char, std::int64_t>, 3> sizes = {{{'M', p.m}, {'N', p.n}, {'K', p.k}}};
  for (const auto& [axis, size] : sizes) {
    for (const std::string& word : size_words(axis, size)) add(tokens, word);
  }
}

void add_hardware(std::vector<int>& tokens, const Device& device, const Limits& limits) {
  tokens.push_back(marks().hw);
  add(tokens, device.kind == DeviceKind::cuda ? "kind=cuda" : "kind=cpu");
  add(tokens, limits.has);
  add(tokens, binned(kUnitBins, limits.units));
  add(tokens, binned(kNearBins, limits.near / kKib));
  add(tokens, binned(kL2Bins, static_cast<double>(device.l2_bytes) / kKib));
  if (device.kind == DeviceKind::cpu) {
    add(tokens, binned(kL3Bins, static_cast<double>(device.l3_bytes) / kKib));
  } else {
    add(tokens, binned(kBandwidthBins, limits.bytes / kGiga));
  }
  add(tokens, binned(kPeakBins, limits.flop / kGiga));
}

void add_roof(std::vector<int>& tokens, const Problem& p, const Device& device,
              const Limits& limits) {
  tokens.push_back(marks().roof);
  const double intensity = p.bytes() > 0 ? p.flop() / p.bytes() : 0;
  add(tokens, binned(kIntensityBins, intensity));
  const double results =
      static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.batch);
  add(tokens, binned(kWaveBins, 1 + results / limits.tile / limits.units));
  const bool memory = intensity * std::max(limits.bytes, 1.0) < limits.flop;
  add(tokens, memory ? "bound=memory" : "bound=compute");
  if (p.bytes() <= limits.near) {
    add(tokens, "fits=near");
  } else if (p.bytes() <= static_cast<double>(device.l2_bytes)) {
    add(tokens, "fits=l2");
  } else {
    add(tokens, p.bytes() <= static_cast<double>(device.l3_bytes) ? "fits=l3" : "fits=memory");
  }
  add(tokens, fmt::format("regime={}", name_of(regime_of(p, static_cast<int>(limits.units)))));
}

void add_exemplar(std::vector<int>& tokens, const Exemplar& exemplar) {
  tokens.push_back(marks().example);
  const std::vector<int> program = encode(exemplar.program);
  tokens.insert(tokens.end(), program.begin(), program.end() - 1);  // without <end>
  tokens.push_back(marks().score);
  add(tokens, fmt::format("s{}", score_bin(exemplar.log_speedup)));
  if (std::ranges::any_of(exemplar.profile, [](const auto& bin) { return bin.has_value(); })) {
    tokens.push_back(marks().profile);
    for (std::size_t i = 0; i < kProfileKeys.size(); ++i) {
      const auto& bin = exemplar.profile[i];
      add(tokens, bin ? fmt::format("{}:{}", kProfileKeys[i], std::clamp(*bin, 0, kProfileBins - 1))
                      : fmt::format("{}:?", kProfileKeys[i]));
    }
  }
  tokens.push_back(marks().example_end);
}

}  // namespace

int score_bin(double log_speedup) {
  if (std::isnan(log_speedup)) return 0;
  const double place = std::round(log_speedup / kScoreStep) + kLevelBin;
  return static_cast<int>(std::clamp(place, 0.0, static_cast<double>(kScoreBins - 1)));
}

double score_of_bin(int bin) {
  return (bin - kLevelBin) * kScoreStep;
}

int profile_bin(double fraction) {
  if (std::isnan(fraction)) return 0;
  const double place = std::floor(fraction * kProfileBins);
  return static_cast<int>(std::clamp(place, 0.0, static_cast<double>(kProfileBins - 1)));
}

std::vector<int> encode(const Prompt& prompt) {
  std::vector<int> tokens;
  const Limits limits = limits_of(prompt.device);
  add_task(tokens, prompt.problem);
  add_hardware(tokens, prompt.device, limits);
  add_roof(tokens, prompt.problem, prompt.device, limits);
  if (prompt.want_decile || prompt.want_score) {
    tokens.push_back(marks().want);
    if (prompt.want_decile) add(tokens, fmt::format("q{}", std::clamp(*prompt.want_decile, 0, 9)));
    if (prompt.want_score) {
      add(tokens, fmt::format("s{}", std::clamp(*prompt.want_score, 0, kScoreBins - 1)));
    }
  }
  const std::size_t shown = std::min(prompt.exemplars.size(), kMostExemplars);
  for (std::size_t i = 0; i < shown; ++i) add_exemplar(tokens, prompt.exemplars[i]);
  return tokens;
}

std::vector<int> encode(const Program& program) {
  std::vector<int> tokens;
  for (const std::string& word : program.tokens()) add(tokens, word);
  tokens.push_back(marks().end);
  return tokens;
}

Result<Program> decode_program(std::span<const int> tokens) {
  const int known = static_cast<int>(text_words().size());
  if (!std::ranges::all_of(tokens, [&](int token) { return token >= 0 && token < known; })) {
    return fail(ErrorCode::usage, "program: a token that is none of the vocabulary");
  }
  if (tokens.empty() || tokens.back() != marks().end) {
    return fail(ErrorCode::usage,
                fmt::format("program: '{}' does not end with {}", text_of(tokens), kEndToken));
  }
  auto program = parse_program(text_of(tokens.first(tokens.size() - 1)));
  if (program && !std::ranges::equal(encode(*program), tokens)) {
    return fail(ErrorCode::usage,
                fmt::format("program: '{}' is not in the order of its decisions", text_of(tokens)),
                program->text());
  }
  return program;
}

int opening(bool analysis) {
  return analysis ? marks().analysis : marks().program;
}

LearningText learning_text(const Prompt& prompt, const std::optional<std::vector<Remark>>& analysis,
                           const Program& program) {
  LearningText text{.tokens = encode(prompt), .own = 0};
  text.tokens.push_back(opening(analysis.has_value()));
  text.own = text.tokens.size();
  if (analysis) {
    const std::vector<int> said = encode(*analysis);
    text.tokens.insert(text.tokens.end(), said.begin(), said.end());
    text.tokens.push_back(marks().program);
  }
  const std::vector<int> written = encode(program);
  text.tokens.insert(text.tokens.end(), written.begin(), written.end());
  return text;
}

}  // namespace tilewright
