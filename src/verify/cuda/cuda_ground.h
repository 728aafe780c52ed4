// SPDX-License-Identifier: Apache-2.0
// A Ground in a DeviceArena: everything is done by kernels of ours in the parent's context.
//
// Data come from the shelf (cuda_shelf.h). What C held before a call is not kept but drawn again
// where it is needed; what inputs and other results were is kept as digests. A kernel of ours that
// fails ends the proof as `verifier`, without a word about the candidate (kernel_bench.h).
#pragma once

#include "verify/cuda/cuda_shelf.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

class CudaGround final : public Ground {
 public:
  explicit CudaGround(CudaShelf& shelf, Owner owner = Owner::candidate);

  const Problem& problem() const override { return shelf_.problem(); }
  int sets() const override { return arena_.layout().sets; }
  Owner owner() const override { return owner_; }

  FeedPointer fixed(DataKind kind) override { return shelf_.fixed(kind); }
  FeedPointer fresh(DataKind kind, std::uint64_t seed, Depth depth) override;
  FeedPointer one_changed(const FeedPointer& feed, bool in_a, std::uint64_t seed) override;
  FeedPointer unread(const FeedPointer& feed) override;
  std::vector<RaggedFeed> ragged() override { return shelf_.ragged(); }

  void paint_guards() override;
  void place(int set, const Feed& feed) override;
  void fill_c(int set, Fill fill, std::uint64_t seed) override;
  void accept_c(int set) override;
  void scrub_workspace(std::uint64_t number) override;
  bool spoil_workspace(std::uint64_t seed) override;
  void spoil_c(int set, std::uint64_t seed) override;
  void lay_bait(int set, std::uint64_t seed) override;
  void fill_baseline_c(int set, std::uint64_t seed, DataKind like) override;
  void settle() override { bench_.synchronize(); }

  Finding intact(int called) override;
  Finding all_intact() override;
  Agreement compare(int set, const Feed& feed, const Scaling& scaling, bool with_norm) override;
  Agreement compare_present(int set, const Scaling& scaling, std::uint64_t seed,
                            Depth depth) override;
  std::optional<Mismatch> weigh(int set, const Feed& feed, bool exact, std::uint64_t seed) override;
  Before before(int set, const Mismatch& at) override;
  std::optional<std::int64_t> written_beyond(int set, const Extent& extent) override;
  std::string digest_c(int set) override;

  void draw(int set, DataKind kind, std::uint64_t seed) override;
  void draw_a(int set, DataKind kind, std::uint64_t seed) override;
  void start_round(int set, std::uint64_t seed) override;
  Weighing weigh_present(int set, double beta, std::uint64_t seed) override;

  Finding trouble() const override { return bench_.trouble(); }

 private:
  enum Matrix { kOperandA, kOperandB, kResult, kMatrixCount };
  struct Placed {
    std::array<bool, kMatrixCount> known{};  // which digests are
    Fill fill = Fill::nan;                   // of C, before the call
    std::uint64_t fill_seed = 0;
    std::optional<WeighedOperand> operand;  // of the present B
    std::optional<WeighedResult> weighed;   // of C at the start of a round
  };
  [[nodiscard]] Placed& at(int set) { return placed_[static_cast<std::size_t>(set)]; }
  [[nodiscard]] DeviceView matrix(int set, Matrix which) const;
  [[nodiscard]] cuda::Pointer digest_slot(int set, Matrix which) const;
  void digest(int set, Matrix which, cuda::Pointer to);
  void remember(int set, Matrix which);
  void moved_to(int set);
  const WeighedOperand& operand(int set, std::uint64_t seed);  // of its present B
  [[nodiscard]] Finding check(const std::vector<int>& sets, int called, bool with_results);
  [[nodiscard]] Agreement against(int set, const DeviceReference& reference, bool exact,
                                  const Scaling& scaling, bool with_norm);

  CudaShelf& shelf_;
  const DeviceArena& arena_;
  KernelBench& bench_;
  Owner owner_;
  std::vector<Placed> placed_;
  PooledMemory digests_;      // as remembered, by set and matrix
  int last_ = 0, other_ = 0;  // the sets placed last
};

}  // namespace tilewright
