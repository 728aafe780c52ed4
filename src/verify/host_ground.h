// SPDX-License-Identifier: Apache-2.0
// A Ground in an Arena: the stage, the library and the products of this folder put together.
#pragma once

#include "verify/freivalds.h"
#include "verify/ground.h"
#include "verify/library.h"
#include "verify/stage.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

class HostGround final : public Ground {
 public:
  // `library` and `arena` are shared by many proofs.
  HostGround(const Arena& arena, DataLibrary& library, Owner owner = Owner::candidate);

  const Problem& problem() const override { return problem_; }
  int sets() const override { return arena_.layout().sets; }
  Owner owner() const override { return owner_; }

  FeedPointer fixed(DataKind kind) override;
  FeedPointer fresh(DataKind kind, std::uint64_t seed, Depth depth) override;
  FeedPointer one_changed(const FeedPointer& feed, bool in_a, std::uint64_t seed) override;
  FeedPointer unread(const FeedPointer& feed) override;
  std::vector<RaggedFeed> ragged() override;

  void paint_guards() override { arena_.paint_guards(); }
  void place(int set, const Feed& feed) override;
  void fill_c(int set, Fill fill, std::uint64_t seed) override;
  void accept_c(int set) override { stage_.accept_c(set); }
  void scrub_workspace(std::uint64_t number) override { stage_.scrub_workspace(number); }
  bool spoil_workspace(std::uint64_t seed) override;
  void spoil_c(int set, std::uint64_t seed) override;
  void lay_bait(int set, std::uint64_t seed) override;
  void fill_baseline_c(int set, std::uint64_t seed, DataKind like) override;

  Finding intact(int called) override { return stage_.intact(called); }
  Finding all_intact() override { return stage_.all_intact(); }
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

 private:
  [[nodiscard]] Strided c(int set) const { return view_c(arena_, set, owner_); }
  [[nodiscard]] Agreement against(int set, const Reference& reference, bool exact,
                                  const Scaling& scaling, bool with_norm) const;
  const Freivalds& products(int set, std::uint64_t seed);
  // A library may keep an operation's intermediate results in the output's type and round again: to
  // drop it for that would lower the bar.
  [[nodiscard]] double roundings() const {
    return owner_ == Owner::baseline && !problem_.is_gemm() ? 2 : 1;
  }

  const Arena& arena_;
  const Problem& problem_;
  DataLibrary& library_;
  Owner owner_;
  Stage stage_;
  std::vector<std::optional<Freivalds>> products_;          // per set; gone when B changes
  std::vector<std::optional<Freivalds::Weighed>> weighed_;  // C at the start of a round, if read
};

}  // namespace tilewright
