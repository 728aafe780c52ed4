// SPDX-License-Identifier: Apache-2.0
// Implementation of device_contest.h. Every call ends with a wait, so a fault is charged to the
// contestant that was running. Next: device_bursts.cc for the clock.
#include "execute/cuda/runner/device_contest.h"

#include "execute/clock.h"
#include "execute/cuda/runner/own_operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tilewright::runner {
namespace {

constexpr unsigned kNonBlockingStream = 1;  // no order with the legacy default stream

tl::unexpected<Failure> failure(std::string word, std::string detail) {
  return tl::unexpected<Failure>(Failure{std::move(word), std::move(detail)});
}

std::string text(const Error& error) {
  return error.hint.empty() ? error.message : fmt::format("{} ({})", error.message, error.hint);
}

}  // namespace

tl::expected<std::unique_ptr<DeviceContest>, Failure> DeviceContest::create(int ordinal) {
  auto context = cuda::Context::open(ordinal);
  if (!context) return failure("driver", text(context.error()));
  std::unique_ptr<DeviceContest> contest(new DeviceContest(std::move(*context)));
  DeviceContest& c = *contest;
  const cuda::Driver& d = c.context_.driver();
  if (Status s = d.check(d.StreamCreate(&c.stream_, kNonBlockingStream), "making a stream"); !s) {
    return failure("driver", text(s.error()));
  }
  auto clock = StreamClock::create(c.context_, c.stream_);
  if (!clock) return failure("driver", text(clock.error()));
  c.clock_.emplace(std::move(*clock));
  c.graphs_.emplace(c.context_, c.stream_);
  return contest;
}

DeviceContest::~DeviceContest() {
  graphs_.reset();
  kernels_.clear();
  prepared_.clear();
  libraries_.reset();
  arena_.reset();
  clock_.reset();
  if (stream_ != nullptr) context_.driver().StreamDestroy(stream_);
}

Done DeviceContest::open(const OpenRequest& request, int arena_fd, Reply& reply) {
  // What baselines ran before on these operands they run again, by the same graphs.
  const bool again = continues(request);
  unload();
  if (!again) graphs_->clear();
  launches_.clear();
  names_.clear();
  auto problem = parse_problem(request.problem);
  if (!problem) return failure("setup", problem.error().message);
  std::vector<std::string> launches = request.rivals;
  if (!request.launch.empty()) launches.insert(launches.begin(), request.launch);
  for (const std::string& json : launches) {
    auto launch = launch_from_json(json);
    if (!launch) return failure("launch", launch.error().message);
    if (launch->target != "cuda") return failure("launch", "its target is not cuda");
    launches_.push_back(std::move(*launch));
  }
  problem_ = *problem;
  Done there = request.arena == kOwnArena ? make_arena(request) : map_arena(request, arena_fd);
  if (!there) return there;
  layout_ = request.layout;
  workspace_ = request.workspace_in_use;
  zeroed_ = request.workspace_zeroed;
  vendor_search_ = request.vendor_search;
  for (std::size_t i = 0; i < request.baselines.size(); ++i) {
    const std::string& name = request.baselines[i];
    const bool known = i < request.algorithms.size();
    Done made = prepare_baseline(name, known ? request.algorithms[i] : std::string());
    if (!made) return made;
    const Prepared& prepared = prepared_.at(name);
    names_.push_back(name);
    reply.prime_seconds.push_back(prepared.seconds);
    reply.choices.push_back(prepared.baseline->choice());
    reply.algorithms.push_back(prepared.baseline->algorithm());
  }
  return {};
}

bool DeviceContest::is_mapped(const OpenRequest& request) const {
  return arena_ && request.arena == arena_id_ && request.problem == problem_text_;
}

bool DeviceContest::continues(const OpenRequest& request) const {
  if (!is_mapped(request) || request.baselines != names_) return false;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const auto prepared = prepared_.find(names_[i]);
    const std::string asked = i < request.algorithms.size() ? request.algorithms[i] : std::string();
    if (prepared == prepared_.end() || prepared->second.recalled != asked) return false;
  }
  return true;
}

Done DeviceContest::map_arena(const OpenRequest& request, int arena_fd) {
  if (is_mapped(request)) return {};
  prepared_.clear();
  // The old one first: there may not be room for both.
  arena_.reset();
  auto mapped = ImportedArena::map(context_, arena_fd, request.layout.bytes);
  if (!mapped) return failure("setup", text(mapped.error()));
  arena_.emplace(std::move(*mapped));
  base_ = arena_->base();
  arena_id_ = request.arena;
  problem_text_ = request.problem;
  return {};
}

Done DeviceContest::make_arena(const OpenRequest& request) {
  prepared_.clear();
  arena_.reset();
  own_ = {};
  auto made = random_operands(context_, stream_, request.layout.bytes, problem_.in);
  if (!made) return failure("setup", text(made.error()));
  own_ = std::move(*made);
  base_ = own_.address();
  return {};
}

Done DeviceContest::prepare_baseline(const std::string& name, const std::string& algorithm) {
  const auto before = prepared_.find(name);
  if (before != prepared_.end() && before->second.recalled == algorithm) return {};
  const auto refused = [&name](const Error& error) {
    return failure("baseline", fmt::format("{}: {}", name, text(error)));
  };
  if (!libraries_) {
    auto opened = CudaLibraries::open(context_);
    if (!opened) return refused(opened.error());
    libraries_.emplace(std::move(*opened));
  }
  const SearchBudgets usual;
  libraries_->set_budgets({.autotune_seconds = usual.autotune_seconds * vendor_search_,
                           .neighbours_seconds = usual.neighbours_seconds * vendor_search_});
  auto made = libraries_->make(name, problem_);
  if (!made) return refused(made.error());
  if (!algorithm.empty()) (*made)->recall(algorithm);
  std::vector<CudaGemm> products;
  for (int set = 0; set < layout_.sets; ++set) {
    products.push_back(gemm(set, 1, timed_beta(problem_)));
  }
  if (Status s = (*made)->prepare(products); !s) {
    const Failure why = failure_of(0, s.error());
    return failure(why.word, fmt::format("{}; {}", why.detail, name));
  }
  const std::int64_t start = now_nanoseconds();
  DeviceCall call;
  call.baseline = made->get();
  call.gemm = products.front();
  if (Done ran = run(0, call); !ran) {
    return failure(ran.error().word, fmt::format("{}; {}", ran.error().detail, name));
  }
  const double seconds = static_cast<double>(now_nanoseconds() - start) * 1e-9;
  prepared_[name] = {std::move(*made), seconds, algorithm};
  return {};
}

void DeviceContest::unload() {
  for (int i = 0; i < static_cast<int>(launches_.size()); ++i) graphs_->forget(kCandidate - i);
  kernels_.clear();
}

Done DeviceContest::load(std::span<const std::vector<std::byte>> cubins) {
  unload();
  if (Done loaded = load_all(cubins); !loaded) {
    kernels_.clear();
    return loaded;
  }
  if (kernels_.empty()) return {};
  if (Status s = zero(); !s) return tl::unexpected<Failure>(failure_of(kCandidate, s.error()));
  return finish(kCandidate);
}

Status DeviceContest::zero() {
  if (zeroed_ == 0) return {};
  const cuda::Driver& d = context_.driver();
  const cuda::Pointer workspace = operands(0, Owner::candidate).workspace;
  return d.check(d.MemsetD8Async(workspace, 0, static_cast<std::size_t>(zeroed_), stream_),
                 "zeroing");
}

Status DeviceContest::take_turn(int contestant) {
  return is_candidate(contestant) && kernels_.size() > 1 ? zero() : Status{};
}

Done DeviceContest::load_all(std::span<const std::vector<std::byte>> cubins) {
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    auto kernel = CudaKernel::load(context_, cubins[i], launches_[i]);
    if (!kernel) return failure("cubin", text(kernel.error()));
    kernels_.push_back(std::move(*kernel));
  }
  // Now rather than at the first call, so that what cannot be launched is known before it is timed.
  for (int i = 0; i < static_cast<int>(kernels_.size()); ++i) {
    const auto call = call_for(kCandidate - i, 0, 1, timed_beta(problem_));
    if (!call) return tl::unexpected<Failure>(call.error());
  }
  return {};
}

tl::expected<int, Failure> DeviceContest::find(const std::string& name) const {
  std::vector<std::string> there;
  for (int i = 0; i < static_cast<int>(kernels_.size()); ++i) {
    there.push_back(i == 0 ? "candidate" : rival_name(i));
    if (name == there.back()) return kCandidate - i;
  }
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found != names_.end()) return static_cast<int>(found - names_.begin());
  there.insert(there.end(), names_.begin(), names_.end());
  return failure("request",
                 fmt::format("contestant = {}: there is {}", name, fmt::join(there, " ")));
}

CudaOperands DeviceContest::operands(int set, Owner owner) const {
  const DeviceOperands o = device_operands(layout_, base_, set, owner);
  return {o.a, o.b, o.c, o.workspace};
}

CudaGemm DeviceContest::gemm(int set, float alpha, float beta) const {
  const CudaOperands o = operands(set, Owner::baseline);
  const Problem& p = problem_;
  const std::int64_t lda = p.a_stride(), ldb = p.b_stride(), ldc = p.c_stride();
  return {.a = o.a,
          .b = o.b,
          .c = o.c,
          .m = p.m,
          .n = p.n,
          .k = p.k,
          .lda = lda,
          .ldb = ldb,
          .ldc = ldc,
          .batch = p.batch,
          .stride_a = p.a_rows() * lda,
          .stride_b = p.b_rows() * ldb,
          .stride_c = p.c_rows() * ldc,
          .alpha = alpha,
          .beta = beta};
}

tl::expected<DeviceCall, Failure> DeviceContest::call_for(int contestant, int set, float alpha,
                                                          float beta) {
  DeviceCall call;
  if (!is_candidate(contestant)) {
    call.baseline = prepared_.at(names_[static_cast<std::size_t>(contestant)]).baseline.get();
    call.gemm = gemm(set, alpha, beta);
    return call;
  }
  return candidate_call(contestant, {problem_.m, problem_.n, problem_.k}, set, alpha, beta);
}

tl::expected<DeviceCall, Failure> DeviceContest::candidate_call(int contestant,
                                                                const GemmShape& sizes, int set,
                                                                float alpha, float beta) {
  DeviceCall call;
  call.kernel = &kernels_[static_cast<std::size_t>(kCandidate - contestant)];
  auto ready = call.kernel->prepare(problem_, sizes, operands(set, Owner::candidate), alpha, beta);
  if (!ready) return tl::unexpected<Failure>(failure_of(contestant, ready.error()));
  call.ready = std::move(*ready);
  if (const std::int64_t wanted = call.ready->call().workspace_bytes; wanted > workspace_) {
    return failure("launch", fmt::format("it wants {} bytes of workspace, {} were handed out",
                                         wanted, workspace_));
  }
  return call;
}

Status DeviceContest::enqueue(const DeviceCall& call) {
  return call.baseline != nullptr ? call.baseline->enqueue(call.gemm, stream_)
                                  : call.kernel->launch(*call.ready, stream_);
}

Done DeviceContest::finish(int contestant) {
  const cuda::Driver& d = context_.driver();
  const cuda::Code code = d.StreamSynchronize(stream_);
  if (code == cuda::kSuccess) return {};
  return tl::unexpected<Failure>(failure_of(contestant, d.check(code, "waiting").error()));
}

Done DeviceContest::run(int contestant, const DeviceCall& call) {
  Status s = take_turn(contestant);
  if (s) s = enqueue(call);
  if (!s) return tl::unexpected<Failure>(failure_of(contestant, s.error()));
  return finish(contestant);
}

Done DeviceContest::run_sizes(const GemmShape& sizes) {
  if (kernels_.empty()) return failure("request", "there is no candidate");
  const auto call = candidate_call(kCandidate, sizes, 0, 1, timed_beta(problem_));
  return call ? run(kCandidate, *call) : tl::unexpected<Failure>(call.error());
}

Done DeviceContest::profile(int contestant, int warm) {
  const auto call = call_for(contestant, 0, 1, timed_beta(problem_));
  if (!call) return tl::unexpected<Failure>(call.error());
  for (int i = 0; i < warm; ++i) {
    if (Done ran = run(contestant, *call); !ran) return ran;
  }
  const cuda::Driver& d = context_.driver();
  if (Status s = d.check(d.ProfilerStart(), "starting the profiler"); !s) {
    return failure("driver", text(s.error()));
  }
  if (Done ran = run(contestant, *call); !ran) return ran;
  if (Status s = d.check(d.ProfilerStop(), "stopping the profiler"); !s) {
    return failure("driver", text(s.error()));
  }
  return {};
}

Failure DeviceContest::failure_of(int contestant, const Error& error) const {
  const cuda::Driver& d = context_.driver();
  const cuda::Code code = d.CtxSynchronize();
  if (code == cuda::kSuccess) {
    return {is_candidate(contestant) ? "launch" : "baseline", text(error)};
  }
  return {is_candidate(contestant) ? "sticky" : "sticky-baseline", d.text(code)};
}

}  // namespace tilewright::runner
