// SPDX-License-Identifier: Apache-2.0
// tilewright-learner: the process that has LibTorch. It answers `tilewright` line by line (serve)
// or trains (`tilewright train` hands it one JSON object). Its standard error is a log; it ends at
// the end of its input, and with its parent.
#include "train/request.h"
#include "train/serve.h"

#include "learn/model.h"

#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <thread>

namespace {

using namespace tilewright;

std::atomic<bool> g_stop{false};

// A request under way would end long after the one who asked.
void end_with_parent() {
  std::thread([parent = ::getppid()] {
    while (::getppid() == parent) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::_Exit(0);
  }).detach();
}

// Both pools of threads read their variables before main(): the process begins again with them.
// Threads that wait by spinning lose several times over where others want the cores too.
void settle_threads(char** argv) {
  if (std::getenv("OPENBLAS_NUM_THREADS") != nullptr) return;
  ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
  ::setenv("OMP_WAIT_POLICY", "passive", 0);
  ::execv("/proc/self/exe", argv);
}

int threads() {
  if (const char* asked = std::getenv("OMP_NUM_THREADS")) {
    if (const int count = std::atoi(asked); count > 0) return count;
  }
  // Small models gain nothing from more.
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 8);
}

int report(const Error& error) {
  fmt::print(stderr, "tilewright-learner: {}\n", error.message);
  if (!error.hint.empty()) fmt::print(stderr, "  {}\n", error.hint);
  return static_cast<int>(error.code);
}

int serve(const std::string& compute) {
  end_with_parent();
  LearnerServer server(compute);
  std::string line;
  while (!server.done() && std::getline(std::cin, line)) {
    std::cout << server.answer(line) << "\n" << std::flush;
    if (!std::cout) break;
  }
  return 0;
}

int run(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "serve" && argc <= 3) return serve(argc == 3 ? argv[2] : default_compute());
  if (mode == "train" && argc == 3) {
    for (const int number : {SIGINT, SIGTERM}) {
      std::signal(number, [](int) { g_stop = true; });
    }
    const Result<int> code = train_by_request(argv[2], [] { return g_stop.load(); });
    return code ? *code : report(code.error());
  }
  fmt::print(stderr,
             "usage: tilewright-learner serve [cpu|cuda|cuda:N]\n"
             "       tilewright-learner train REQUEST     (as `tilewright train` calls it)\n");
  return static_cast<int>(ErrorCode::usage);
}

}  // namespace

int main(int argc, char** argv) {
  settle_threads(argv);
  try {
    set_learning_threads(threads());
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tilewright-learner: internal error: {}\n", error.what());
    return static_cast<int>(ErrorCode::internal);
  }
}
