// SPDX-License-Identifier: Apache-2.0
// Is the baseline rigged? OpenBLAS chooses kernels by processor model and by environment; a wrong
// choice makes every candidate look several times better than it is, and nothing says so. This
// loads it in a child, as a runner would, and asks: which kernels, right numbers, how fast.
#include "baseline/baseline.h"
#include "baseline/environment.h"
#include "baseline/implementation.h"
#include "baseline/openblas_api.h"
#include "baseline/pool_scope.h"
#include "baseline/trial_child.h"

#include "base/rng.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

namespace tilewright {
namespace {

constexpr int kSize = 1024;
// The best of a few counts: others may use the machine too. On one so busy that a product takes a
// second there is no use in more.
constexpr int kRepeats = 7;
constexpr double kEnoughSeconds = 1;
constexpr std::chrono::seconds kPatience{60};
constexpr double kLeastFraction = 0.35;
constexpr int kSampled = 64;  // results checked against f64
constexpr double kTolerance = 1e-3;

// "core type\nseconds\nlargest relative error".
std::string try_sgemm(const Device& device, int threads) {
  apply_baseline_environment(device);
  const PoolScope scope(team_cpus(device, threads));
  const auto api = OpenblasApi::open();
  if (!api) return "error\n" + api.error().message;
  api->set_num_threads(threads);
  constexpr std::size_t kCount = std::size_t{kSize} * kSize;
  std::vector<float> a(kCount), b(kCount), c(kCount);
  Rng rng(1);
  for (float& x : a) x = static_cast<float>(rng.uniform() - 0.5);
  for (float& x : b) x = static_cast<float>(rng.uniform() - 0.5);
  double best = HUGE_VAL, total = 0;
  for (int i = 0; i < kRepeats && total < kEnoughSeconds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    api->sgemm(kRowMajor, kNoTranspose, kNoTranspose, kSize, kSize, kSize, 1, a.data(), kSize,
               b.data(), kSize, 0, c.data(), kSize);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count());
    total += spent.count();
  }
  double worst = 0;
  for (int i = 0; i < kSampled; ++i) {
    const std::size_t row = rng.below(kSize), col = rng.below(kSize);
    double sum = 0, magnitude = 0;
    for (std::size_t l = 0; l < kSize; ++l) {
      const double term = static_cast<double>(a[row * kSize + l]) * b[l * kSize + col];
      sum += term;
      magnitude += std::abs(term);
    }
    worst = std::max(worst, std::abs(c[row * kSize + col] - sum) / magnitude);
  }
  return fmt::format("{}\n{}\n{}", api->get_corename(), best, worst);
}

}  // namespace

SelfCheck self_check(const Device& device, int threads, double fma_peak) {
  SelfCheck result;
  if (const std::string set = rigging_variable(); !set.empty()) {
    result.reason = fmt::format("{} is set: it would cripple a baseline; unset {}", set,
                                set.substr(0, set.find('=')));
    return result;
  }
  const auto answer = ask_in_child([&] { return try_sgemm(device, threads); }, kPatience);
  if (!answer) {
    result.reason = "OpenBLAS could not be tried: " + answer.error().message;
    return result;
  }
  const auto lines = split(*answer, '\n');
  if (lines.size() != 3) {
    result.absent = true;
    result.reason = fmt::format("{}; install libopenblas0-pthread",
                                lines.size() > 1 ? std::string(lines[1]) : *answer);
    return result;
  }
  result.core_type = lines[0];
  const double seconds = std::strtod(std::string(lines[1]).c_str(), nullptr);
  const double error = std::strtod(std::string(lines[2]).c_str(), nullptr);
  if (fma_peak > 0 && seconds > 0) {
    result.sgemm_fraction = 2.0 * kSize * kSize * kSize / seconds / fma_peak;
  }
  if (!core_type_fits(result.core_type, device)) {
    result.reason = wrong_core_type(result.core_type, device);
  } else if (!(error <= kTolerance)) {
    result.reason = fmt::format("OpenBLAS' {} kernels compute wrong results here: error {:.3g}",
                                result.core_type, error);
  } else if (!(result.sgemm_fraction >= kLeastFraction)) {
    result.reason = fmt::format(
        "OpenBLAS ({}) reaches {:.0f} % of the FMA peak on {} threads, less than {:.0f} %: close "
        "other programs, or check OPENBLAS_* and the CPU affinity",
        result.core_type, 100 * result.sgemm_fraction, threads, 100 * kLeastFraction);
  } else {
    result.passed = true;
  }
  return result;
}

}  // namespace tilewright
