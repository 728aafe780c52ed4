// SPDX-License-Identifier: Apache-2.0
// The ground that a proof stands on: memory with operands in it, wherever it lies.
//
// The rules (proof.h, timed.h) are written once. They say which data are placed, which call is made
// and what must hold afterwards; a Ground does it: HostGround in an Arena with the code beside it
// (host_ground.h), CudaGround on a device with kernels of its own (cuda/cuda_ground.h). Whatever is
// decided about a candidate is decided in the rules or by arithmetic that both share
// (bound_arithmetic.h); a ground moves bytes, draws, multiplies and compares.
#pragma once

#include "base/outcome.h"
#include "verify/bounds.h"
#include "verify/inputs.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

enum class Fill {
  nan,        // what was not written, or was read, shows
  plausible,  // numbers that a result could be: shows a kernel that works only over NaN
  damped,     // the same for damped data
  even,       // small even integers: for exact data where beta is not zero
};

// A number in place of `result`, of normal data with inner dimension `k`: so far off that weighted
// sums show it alone where a large result is only sampled.
[[nodiscard]] inline double another_result(double result, std::int64_t k) {
  return (result < 0 ? 1 : -1) * (1 + 4 * std::sqrt(static_cast<double>(k)));
}

// Data for one operand set with what the result should be. What else it holds is its ground's.
struct Feed {
  DataKind kind = DataKind::normal;
  virtual ~Feed() = default;

 protected:
  Feed() = default;
  Feed(const Feed&) = default;
  Feed& operator=(const Feed&) = default;
};
using FeedPointer = std::shared_ptr<const Feed>;

// Sizes near the problem's, all within it. Outside them the operands hold NaN.
struct RaggedFeed {
  Extent extent{};
  FeedPointer feed;
};

// What C should be but for the data: alpha * sum + beta * before, `calls` times over.
struct Scaling {
  double alpha = 1, beta = 0;
  std::int64_t calls = 1;
};

enum class Depth { thorough, brief };  // how much of a large result is recomputed

class Ground {
 public:
  virtual ~Ground() = default;
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;
  [[nodiscard]] virtual const Problem& problem() const = 0;
  [[nodiscard]] virtual int sets() const = 0;
  [[nodiscard]] virtual Owner owner() const = 0;  // whose C the calls write

  // Data. fixed(): what every candidate of the problem meets. one_changed(): the same but for one
  // element of A (or B), of an exact kind. unread(): the same result, NaN in A and B.
  [[nodiscard]] virtual FeedPointer fixed(DataKind kind) = 0;
  [[nodiscard]] virtual FeedPointer fresh(DataKind kind, std::uint64_t seed, Depth depth) = 0;
  [[nodiscard]] virtual FeedPointer one_changed(const FeedPointer& feed, bool in_a,
                                                std::uint64_t seed) = 0;
  [[nodiscard]] virtual FeedPointer unread(const FeedPointer& feed) = 0;
  [[nodiscard]] virtual std::vector<RaggedFeed> ragged() = 0;

  // Before a call. accept_c() takes the C of `set` as it is now for its proper content.
  virtual void paint_guards() = 0;
  virtual void place(int set, const Feed& feed) = 0;
  virtual void fill_c(int set, Fill fill, std::uint64_t seed) = 0;
  virtual void accept_c(int set) = 0;
  // Overwrites the workspace, by turns with NaN for every type, hashed words, ordinary numbers.
  virtual void scrub_workspace(std::uint64_t number) = 0;
  // Turns the bits of half of its lines, chosen by `seed`. False if there is none.
  virtual bool spoil_workspace(std::uint64_t seed) = 0;
  // One number in C, the result of normal data, becomes another. `seed` chooses which.
  virtual void spoil_c(int set, std::uint64_t seed) = 0;
  // The baselines' C gets the candidate's but for one number in eight, or numbers of ours.
  virtual void lay_bait(int set, std::uint64_t seed) = 0;
  virtual void fill_baseline_c(int set, std::uint64_t seed, DataKind like) = 0;
  // Whatever was begun has ended: called before somebody else works on the memory.
  virtual void settle() {}

  // After a call on `called`: guards and inputs of that set and of the two placed last, C of those
  // two unless it was called, and the workspace's contract. (All sets after every call would cost
  // more than the calls.) all_intact(): of all sets, but C's content.
  [[nodiscard]] virtual Finding intact(int called) = 0;
  [[nodiscard]] virtual Finding all_intact() = 0;
  // C against the feed's reference, or against what its own operands give now.
  [[nodiscard]] virtual Agreement compare(int set, const Feed& feed, const Scaling& scaling,
                                          bool with_norm) = 0;
  [[nodiscard]] virtual Agreement compare_present(int set, const Scaling& scaling,
                                                  std::uint64_t seed, Depth depth) = 0;
  // What the feed's reference left out, by weighted sums; `exact` as in freivalds.h.
  [[nodiscard]] virtual std::optional<Mismatch> weigh(int set, const Feed& feed, bool exact,
                                                      std::uint64_t seed) = 0;
  // The element of a mismatch before the call, as a number and whether its bits are the same.
  struct Before {
    double value = 0;
    bool untouched = false;
  };
  [[nodiscard]] virtual Before before(int set, const Mismatch& at) = 0;
  // The first row in which C beyond `extent` is not what it was filled with.
  [[nodiscard]] virtual std::optional<std::int64_t> written_beyond(int set,
                                                                   const Extent& extent) = 0;
  // Equal for equal bits of C, in any set.
  [[nodiscard]] virtual std::string digest_c(int set) = 0;

  // Timed calls. draw() places data without a reference; draw_a() rewrites A alone. start_round()
  // weighs the C that calls are about to read. weigh_present() compares weighted sums of C with
  // those of its own operands, and says how many calls C shows (1 unless beta is not 0).
  virtual void draw(int set, DataKind kind, std::uint64_t seed) = 0;
  virtual void draw_a(int set, DataKind kind, std::uint64_t seed) = 0;
  virtual void start_round(int set, std::uint64_t seed) = 0;
  struct Weighing {
    std::optional<Mismatch> off;
    std::int64_t calls = 1;
  };
  [[nodiscard]] virtual Weighing weigh_present(int set, double beta, std::uint64_t seed) = 0;

  // Ok, or a fault of the checker's own, after which nothing here means anything: it ends a proof
  // without blaming the candidate.
  [[nodiscard]] virtual Finding trouble() const { return {}; }

 protected:
  Ground() = default;
};

// The finding of a ground in trouble: outcome noisy, since no result can be trusted.
[[nodiscard]] inline Finding checker_trouble(std::string detail) {
  return {Outcome::noisy, "verifier", std::move(detail)};
}

}  // namespace tilewright
