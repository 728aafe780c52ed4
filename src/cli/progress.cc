// SPDX-License-Identifier: Apache-2.0
// See progress.h.
#include "cli/progress.h"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace tilewright {
namespace {

std::string clock_text(double seconds) {
  const int whole = static_cast<int>(std::max(seconds, 0.0));
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string bar(double done) {
  constexpr int kWidth = 16;
  const int filled = std::clamp(static_cast<int>(done * kWidth), 0, kWidth);
  return fmt::format("[{:#<{}}{:.<{}}]", "", filled, "", kWidth - filled);
}

std::string summary(const Progress& p) {
  std::string text = fmt::format("{}/{} {}  {} tried, {} ok", p.problem_index + 1, p.problem_count,
                                 p.problem, p.trials, p.ok);
  if (p.best_us > 0) text += fmt::format(", best {:.1f} us", p.best_us);
  if (p.best_speedup > 0) text += fmt::format(" ({:.2f}x)", p.best_speedup);
  return text;
}

std::size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

ProgressLine::ProgressLine(bool quiet, bool verbose)
    : quiet_(quiet), verbose_(verbose), terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::clear() {
  const std::scoped_lock lock(mutex_);
  wipe();
}

void ProgressLine::wipe() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
  drawn_ = false;
}

void ProgressLine::remark(const std::string& line) {
  const std::scoped_lock lock(mutex_);
  if (quiet_ || std::ranges::find(remarks_, line) != remarks_.end()) return;
  remarks_.push_back(line);
  wipe();
  fmt::print(stderr, "{}\n", line);
}

void ProgressLine::show(const Progress& progress) {
  const std::scoped_lock lock(mutex_);
  if (quiet_) return;
  if (verbose_) {
    wipe();
    fmt::print(stderr, "{}\n", progress.last);
  }
  const double total = progress.elapsed_seconds + std::max(progress.remaining_seconds, 0.0);
  const double done =
      progress.remaining_seconds >= 0 && total > 0
          ? progress.elapsed_seconds / total
          : static_cast<double>(progress.problem_index) / std::max(progress.problem_count, 1);
  const std::string left = progress.remaining_seconds >= 0
                               ? fmt::format(" {} left ", clock_text(progress.remaining_seconds))
                               : fmt::format(" {} ", clock_text(progress.elapsed_seconds));
  const std::string line = bar(done) + left + summary(progress);
  const auto now = std::chrono::steady_clock::now();
  if (terminal_) {
    wipe();
    fmt::print(stderr, "{}", line.substr(0, columns() - 1));
    drawn_ = true;
    return;
  }
  // Plain lines: one per problem, and one every ten seconds.
  if (progress.problem_index == last_problem_ && now - last_ < std::chrono::seconds(10)) return;
  last_problem_ = progress.problem_index;
  last_ = now;
  fmt::print(stderr, "{}\n", line);
}

}  // namespace tilewright
