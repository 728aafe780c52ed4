// SPDX-License-Identifier: Apache-2.0
// One session inside the runner: the arena mapped, the baselines primed, the candidate loaded, and
// a way to call each of them. serve_session() is the whole life of a forked child.
#pragma once

#include "baseline/baseline.h"
#include "execute/channel.h"
#include "execute/protocol.h"
#include "execute/runner/failure.h"
#include "execute/runner/team.h"
#include "launch/launch.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright::runner {

class Contest {
 public:
  // Maps the arena, makes the baselines, prepares them on every set and runs each once, so that
  // their threads exist; then starts the team and pins it. `seconds`: of each of those runs.
  [[nodiscard]] static tl::expected<std::unique_ptr<Contest>, Failure> create(
      const OpenRequest& request, int arena_fd, std::vector<double>& seconds);
  ~Contest();
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;

  // Opens the shared object at `fd` and finds its kernel.
  [[nodiscard]] Done load_candidate(int fd);

  // A contestant's index (-1: the candidate), or a failure that names those there are.
  [[nodiscard]] tl::expected<int, Failure> find(const std::string& name) const;
  [[nodiscard]] tw_cpu_gemm_args arguments_for(int contestant, int set, float alpha,
                                               float beta) const;
  // Runs one contestant. Kept free of allocation: this is what the clock is round.
  [[nodiscard]] Done invoke(int contestant, const tw_cpu_gemm_args& args);
  [[nodiscard]] Done prepare_baselines();

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] int sets() const { return layout_.sets; }

 private:
  Contest() = default;
  [[nodiscard]] Done map_arena(int fd);
  [[nodiscard]] Done make_baselines(const OpenRequest& request, std::vector<double>& seconds);

  struct Named {
    std::string name;
    std::unique_ptr<Baseline> baseline;
  };

  Problem problem_;
  ArenaLayout layout_;
  std::byte* base_ = nullptr;
  std::vector<Named> baselines_;
  Launch launch_;
  bool has_candidate_ = false;
  std::unique_ptr<Team> team_;
  tw_cpu_gemm_fn kernel_ = nullptr;
};

// Serves one session from its first answer (to the request `sequence`, `nonce`) until the socket
// closes. The exit code of the process. `binary_fd` is -1 without a candidate.
[[nodiscard]] int serve_session(std::uint64_t sequence, const std::string& nonce,
                                const OpenRequest& request, Channel channel, int arena_fd,
                                int binary_fd);

}  // namespace tilewright::runner
