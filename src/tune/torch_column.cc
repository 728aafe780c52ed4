// SPDX-License-Identifier: Apache-2.0
// See torch_column.h.
#include "tune/torch_column.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

constexpr double kMostBytes = 8.0 * (std::int64_t{1} << 30);
constexpr double kSampleSeconds = 0.005;
constexpr double kMostCalls = 1024;  // launches of one graph
constexpr int kProbeRepeats = 3;
constexpr int kWarmups = 2;  // full samples that do not count: the clocks rise again
constexpr int kRepeats = 5;
constexpr int kMostFailures = 3;  // processes that are started again after an error

}  // namespace

std::optional<TorchMode> torch_mode(Mode mode) {
  if (mode == Mode::offline) return TorchMode::device;
  if (mode == Mode::wall) return TorchMode::wall;
  return std::nullopt;
}

int torch_sets(const Problem& p, int wanted) {
  // Its check holds B and |B| of one set in f64 besides.
  const double check = 2.0 * sizeof(double) * static_cast<double>(p.batch) *
                       static_cast<double>(p.k) * static_cast<double>(p.n);
  const double fitting = std::floor((kMostBytes - check) / std::max(p.bytes(), 1.0));
  return static_cast<int>(std::clamp(fitting, 0.0, static_cast<double>(std::max(wanted, 1))));
}

int torch_calls(double seconds_per_call, int sets) {
  const double enough = kSampleSeconds / seconds_per_call;
  const double calls = enough < kMostCalls ? std::max(enough, 1.0) : kMostCalls;
  const int each = std::max(sets, 1);
  return each * static_cast<int>(std::ceil(calls / each));
}

std::optional<UnpairedTime> TorchColumn::time(const Problem& problem, Mode mode, int sets) {
  const std::optional<TorchMode> how = torch_mode(mode);
  if (!how) return std::nullopt;
  if (const std::string reason = torch_why_not(problem); !reason.empty()) {
    remark(reason);
    return std::nullopt;
  }
  const int fitting = torch_sets(problem, sets);
  if (fitting == 0) {
    remark(fmt::format("{} does not fit beside our operands", to_text(problem)));
    return std::nullopt;
  }
  if (!ready()) return std::nullopt;
  Result<UnpairedTime> timed = time_on(*peer_, problem, *how, fitting);
  if (!timed) {
    // After an error of the device nothing works in that process any more.
    peer_.reset();
    ++failures_;
    remark(fmt::format("{}: {}", to_text(problem), timed.error().message));
    return std::nullopt;
  }
  if (timed->seconds.empty()) return std::nullopt;
  return *std::move(timed);
}

bool TorchColumn::ready() {
  if (peer_) return true;
  if (failures_ >= kMostFailures) return false;
  Result<TorchPeer> started = TorchPeer::start(options_);
  if (!started) {
    failures_ = kMostFailures;
    const Error& error = started.error();
    remark(error.hint.empty() ? error.message : fmt::format("{}; {}", error.message, error.hint));
    return false;
  }
  peer_.emplace(*std::move(started));
  return true;
}

// No seconds: its result is wrong, which is no fault of the process.
Result<UnpairedTime> TorchColumn::time_on(TorchPeer& peer, const Problem& problem, TorchMode mode,
                                          int sets) {
  if (Status s = peer.open(problem, sets); !s) return tl::unexpected(s.error());
  UnpairedTime timed;
  timed.library = peer.library();
  const Result<double> worst = peer.check();
  if (!worst) return tl::unexpected(worst.error());
  if (*worst <= 1) {
    const Result<TorchSamples> probe = peer.time(sets, kProbeRepeats, mode);
    if (!probe) return tl::unexpected(probe.error());
    const int calls = torch_calls(*std::ranges::min_element(probe->seconds), sets);
    Result<TorchSamples> samples = peer.time(calls, kWarmups + kRepeats, mode);
    if (!samples) return tl::unexpected(samples.error());
    timed.seconds.assign(samples->seconds.begin() + kWarmups, samples->seconds.end());
  } else {
    remark(fmt::format("{}: its result is wrong ({:.3g} times the permitted error)",
                       to_text(problem), *worst));
  }
  if (Status s = peer.close(); !s) return tl::unexpected(s.error());
  return timed;
}

void TorchColumn::remark(const std::string& reason) {
  if (said_.insert(reason).second && log_) log_(fmt::format("{}: {}", kTorchColumn, reason));
}

}  // namespace tilewright
