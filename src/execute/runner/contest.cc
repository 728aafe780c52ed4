// SPDX-License-Identifier: Apache-2.0
// Setting up a session and calling its contestants. The order matters: baselines start their
// threads while all of the team's CPUs are allowed, the team is pinned after them, and the
// candidate comes last (serve.cc locks down before it). Next: bursts.h for the clock.
#include "execute/runner/contest.h"

#include "baseline/pool_scope.h"
#include "device/device.h"
#include "execute/clock.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tilewright::runner {
namespace {

constexpr int kCandidate = -1;
constexpr int kMaxThreads = 4096;

tl::unexpected<Failure> failure(std::string word, std::string detail) {
  return tl::unexpected<Failure>(Failure{std::move(word), std::move(detail)});
}

// What the loader says names the descriptor; a reader knows the file by another name.
std::string loader_text() {
  const char* const text = dlerror();
  return text == nullptr ? "no reason given" : text;
}

}  // namespace

Contest::~Contest() {
  if (base_ != nullptr) munmap(base_, static_cast<std::size_t>(layout_.bytes));
}

Done Contest::map_arena(int fd) {
  void* const mapped = mmap(nullptr, static_cast<std::size_t>(layout_.bytes),
                            PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) {
    return failure("setup", fmt::format("mapping the operands: {}", std::strerror(errno)));
  }
  base_ = static_cast<std::byte*>(mapped);
  // Advice before the pages are mapped; populating now keeps page faults out of the clock. Both
  // are only advice: an old kernel does without.
  madvise(mapped, static_cast<std::size_t>(layout_.bytes), MADV_HUGEPAGE);
  madvise(mapped, static_cast<std::size_t>(layout_.bytes), MADV_POPULATE_WRITE);
  return {};
}

Done Contest::make_baselines(const OpenRequest& request, std::vector<double>& seconds) {
  auto device = device_from_json(request.device);
  if (!device) return failure("setup", device.error().message);
  device->cpus = request.cpus;
  const int threads = std::max(1, static_cast<int>(request.cpus.size()));
  const PoolScope threads_that_start_here(request.cpus);
  for (const std::string& name : request.baselines) {
    auto made = make_baseline(name, problem_, *device, threads);
    if (!made) return failure("baseline", fmt::format("{}: {}", name, made.error().message));
    baselines_.push_back({name, std::move(*made)});
  }
  if (Done prepared = prepare_baselines(); !prepared) return prepared;
  // With every beta that a call beside a candidate may have (session.h), since a library may make
  // code for each.
  std::vector<float> betas = {timed_beta(problem_)};
  if (problem_.beta == BetaClass::any) betas.push_back(0);
  for (std::size_t i = 0; i < baselines_.size(); ++i) {
    const int index = static_cast<int>(i);
    std::int64_t slowest = 0;
    for (const float beta : betas) {
      const std::int64_t start = now_nanoseconds();
      if (Done ran = invoke(index, arguments_for(index, 0, 1, beta)); !ran) return ran;
      slowest = std::max(slowest, now_nanoseconds() - start);
    }
    seconds.push_back(static_cast<double>(slowest) * 1e-9);
  }
  return {};
}

tl::expected<std::unique_ptr<Contest>, Failure> Contest::create(const OpenRequest& request,
                                                                int arena_fd,
                                                                std::vector<double>& seconds) {
  std::unique_ptr<Contest> contest(new Contest);
  auto problem = parse_problem(request.problem);
  if (!problem) return failure("setup", problem.error().message);
  contest->problem_ = *problem;
  contest->layout_ = request.layout;
  if (!request.launch.empty()) {
    auto launch = launch_from_json(request.launch);
    if (!launch) return failure("setup", launch.error().message);
    if (launch->threads < 1 || launch->threads > kMaxThreads) {
      return failure("setup", fmt::format("launch: threads = {}", launch->threads));
    }
    contest->launch_ = *launch;
    contest->has_candidate_ = true;
  }
  if (Done mapped = contest->map_arena(arena_fd); !mapped) {
    return tl::unexpected<Failure>(mapped.error());
  }
  if (Done made = contest->make_baselines(request, seconds); !made) {
    return tl::unexpected<Failure>(made.error());
  }
  // Also without a candidate: the caller is pinned as it would be with one.
  contest->team_ = std::make_unique<Team>(contest->launch_.threads, request.cpus);
  return contest;
}

Done Contest::load_candidate(int fd) {
  // By descriptor: the file may be replaced in the cache, and no path needs to be readable.
  void* const library = dlopen(fmt::format("/proc/self/fd/{}", fd).c_str(), RTLD_NOW | RTLD_LOCAL);
  close(fd);
  if (library == nullptr) return failure("dlopen", loader_text());
  void* const symbol = dlsym(library, launch_.symbol.c_str());
  if (symbol == nullptr) {
    return failure("missing-symbol", fmt::format("{}: {}", launch_.symbol, loader_text()));
  }
  kernel_ = reinterpret_cast<tw_cpu_gemm_fn>(symbol);
  return {};
}

tl::expected<int, Failure> Contest::find(const std::string& name) const {
  if (name == "candidate" && kernel_ != nullptr) return kCandidate;
  std::string known = kernel_ == nullptr ? "" : " candidate";
  for (std::size_t i = 0; i < baselines_.size(); ++i) {
    if (baselines_[i].name == name) return static_cast<int>(i);
    known += " " + baselines_[i].name;
  }
  return failure("request",
                 fmt::format("contestant = {}: there is{}", name, known.empty() ? " none" : known));
}

tw_cpu_gemm_args Contest::arguments_for(int contestant, int set, float alpha, float beta) const {
  const Owner owner = contestant == kCandidate ? Owner::candidate : Owner::baseline;
  return arguments(problem_, layout_, base_, set, owner, alpha, beta);
}

Done Contest::invoke(int contestant, const tw_cpu_gemm_args& args) {
  if (contestant == kCandidate) {
    team_->run(kernel_, args);
    return {};
  }
  const Named& named = baselines_[static_cast<std::size_t>(contestant)];
  const Status status = named.baseline->run(args);
  if (status) return {};
  return failure("baseline", fmt::format("{}: {}", named.name, status.error().message));
}

Done Contest::prepare_baselines() {
  for (std::size_t i = 0; i < baselines_.size(); ++i) {
    for (int set = 0; set < layout_.sets; ++set) {
      const auto args = arguments_for(static_cast<int>(i), set, 1, timed_beta(problem_));
      const Status status = baselines_[i].baseline->prepare(args);
      if (!status) {
        return failure("baseline",
                       fmt::format("{}: {}", baselines_[i].name, status.error().message));
      }
    }
  }
  return {};
}

}  // namespace tilewright::runner
