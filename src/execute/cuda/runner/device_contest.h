// SPDX-License-Identifier: Apache-2.0
// What the CUDA runner holds: the context, the mapped operands, the baselines and the candidates,
// and a way to call each of them. It outlives sessions: what the next one needs again is kept.
#pragma once

#include "baseline/cuda/cuda_baseline.h"
#include "execute/cuda/device_arena.h"
#include "execute/cuda/runner/stream_clock.h"
#include "execute/protocol.h"
#include "execute/runner/failure.h"
#include "launch/cuda/kernel.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilewright::runner {

inline constexpr int kCandidate = -1;  // and its rivals are -2, -3, ...
[[nodiscard]] constexpr bool is_candidate(int contestant) {
  return contestant < 0;
}

// One call of one contestant, with everything looked up.
struct DeviceCall {
  CudaKernel* kernel = nullptr;  // of a candidate, and how it is to be called
  std::shared_ptr<const ReadyCall> ready;
  CudaBaseline* baseline = nullptr;  // or a baseline, and its product
  CudaGemm gemm;
};

class DeviceContest {
 public:
  // Opens the device, once in the life of a runner.
  [[nodiscard]] static tl::expected<std::unique_ptr<DeviceContest>, Failure> create(int ordinal);
  ~DeviceContest();
  DeviceContest(const DeviceContest&) = delete;
  DeviceContest& operator=(const DeviceContest&) = delete;

  // Begins a session: maps the operands and makes, prepares and runs the baselines, unless that was
  // done for this very arena. Fills the reply's prime_seconds and choices. With kOwnArena there is
  // no descriptor: the operands are memory of this process, filled with random numbers.
  [[nodiscard]] Done open(const OpenRequest& request, int arena_fd, Reply& reply);
  // Loads the candidates, a cubin for each launch of open(), and zeroes what they may expect to be
  // zero.
  [[nodiscard]] Done load(std::span<const std::vector<std::byte>> cubins);

  // A contestant's index (of a candidate, or of a baseline), or a failure that names those there
  // are.
  [[nodiscard]] tl::expected<int, Failure> find(const std::string& name) const;
  [[nodiscard]] tl::expected<DeviceCall, Failure> call_for(int contestant, int set, float alpha,
                                                           float beta);
  // Before calls of `contestant` that follow another's: what it may expect to be zero of the
  // workspace, which its rivals write, too.
  [[nodiscard]] Status take_turn(int contestant);
  [[nodiscard]] Status enqueue(const DeviceCall& call);
  // Waits for everything enqueued. `contestant` is who it was.
  [[nodiscard]] Done finish(int contestant);
  // Enqueue and finish.
  [[nodiscard]] Done run(int contestant, const DeviceCall& call);
  [[nodiscard]] Done run_sizes(const GemmShape& sizes);
  // Calls on set 0: `warm` of them first, then the one between the driver's profiler marks.
  [[nodiscard]] Done profile(int contestant, int warm);
  // What an error during a call of `contestant` amounts to: whether later calls repeat it decides.
  [[nodiscard]] Failure failure_of(int contestant, const Error& error) const;

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] int sets() const { return layout_.sets; }
  [[nodiscard]] const cuda::Context& context() const { return context_; }
  [[nodiscard]] cuda::Stream stream() const { return stream_; }
  [[nodiscard]] StreamClock& clock() { return *clock_; }
  [[nodiscard]] LaunchGraphs& graphs() { return *graphs_; }

 private:
  struct Prepared {
    std::unique_ptr<CudaBaseline> baseline;
    double seconds = 0;    // of one run
    std::string recalled;  // the algorithm that was asked for
  };
  explicit DeviceContest(cuda::Context context) : context_(std::move(context)) {}
  [[nodiscard]] bool is_mapped(const OpenRequest& request) const;
  // The same operands and the same baselines in the same order as the session before.
  [[nodiscard]] bool continues(const OpenRequest& request) const;
  [[nodiscard]] Done map_arena(const OpenRequest& request, int arena_fd);
  [[nodiscard]] Done make_arena(const OpenRequest& request);
  [[nodiscard]] Done prepare_baseline(const std::string& name, const std::string& algorithm);
  [[nodiscard]] tl::expected<DeviceCall, Failure> candidate_call(int contestant,
                                                                 const GemmShape& sizes, int set,
                                                                 float alpha, float beta);
  [[nodiscard]] Done load_all(std::span<const std::vector<std::byte>> cubins);
  void unload();
  [[nodiscard]] Status zero();  // the front of the workspace, enqueued
  [[nodiscard]] CudaOperands operands(int set, Owner owner) const;
  [[nodiscard]] CudaGemm gemm(int set, float alpha, float beta) const;

  cuda::Context context_;
  cuda::Stream stream_ = nullptr;
  std::optional<StreamClock> clock_;
  std::optional<LaunchGraphs> graphs_;
  std::optional<CudaLibraries> libraries_;

  std::string arena_id_, problem_text_;
  std::optional<ImportedArena> arena_;
  cuda::Buffer own_;                          // instead of a mapped one
  cuda::Pointer base_ = 0;                    // of either
  std::map<std::string, Prepared> prepared_;  // for this arena and problem

  Problem problem_;  // of the session
  ArenaLayout layout_;
  std::int64_t workspace_ = 0, zeroed_ = 0;
  double vendor_search_ = 1;
  std::vector<std::string> names_;   // of the session's baselines
  std::vector<Launch> launches_;     // of the candidates
  std::vector<CudaKernel> kernels_;  // loaded, none or as many
};

}  // namespace tilewright::runner
