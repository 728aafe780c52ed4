// SPDX-License-Identifier: Apache-2.0
// See host_ground.h; what the steps are for stands where the rules are, in proof.cc and timed.cc.
#include "verify/host_ground.h"

#include "base/hash.h"
#include "base/rng.h"
#include "problem/operations.h"
#include "verify/operation.h"

#include <algorithm>
#include <cstring>

namespace tilewright {
namespace {

// Set 0 is recomputed after every round, so less of a large problem than in a proof.
constexpr std::int64_t kTimedMultiplyAdds = std::int64_t{1} << 28;
// More calls on one set than any plan makes in one round.
constexpr std::int64_t kMostCalls = 1 << 14;

// Every feed that comes here was made here.
const DataSet& data_of(const Feed& feed) {
  return static_cast<const DataSet&>(feed);
}

}  // namespace

HostGround::HostGround(const Arena& arena, DataLibrary& library, Owner owner)
    : arena_(arena),
      problem_(arena.problem()),
      library_(library),
      owner_(owner),
      stage_(arena, owner),
      products_(static_cast<std::size_t>(arena.layout().sets)),
      weighed_(products_.size()) {}

FeedPointer HostGround::fixed(DataKind kind) {
  return library_.fixed(kind);
}

// Full or sampled, a reference here costs less than the digests: there is no briefer one.
FeedPointer HostGround::fresh(DataKind kind, std::uint64_t seed, Depth) {
  return library_.fresh(kind, seed);
}

FeedPointer HostGround::one_changed(const FeedPointer& feed, bool in_a, std::uint64_t seed) {
  return with_one_changed(problem_, data_of(*feed), in_a, seed);
}

FeedPointer HostGround::unread(const FeedPointer& feed) {
  auto nothing = std::make_shared<DataSet>(data_of(*feed));
  fill_nan(packed_a(problem_, nothing->operands.a));
  fill_nan(packed_b(problem_, nothing->operands.b));
  return nothing;
}

std::vector<RaggedFeed> HostGround::ragged() {
  return library_.ragged();
}

void HostGround::place(int set, const Feed& feed) {
  products_[static_cast<std::size_t>(set)].reset();
  stage_.place(set, data_of(feed).operands);
}

void HostGround::fill_c(int set, Fill fill, std::uint64_t seed) {
  stage_.fill_c(set, fill, seed);
}

bool HostGround::spoil_workspace(std::uint64_t seed) {
  const std::span<std::byte> space = arena_.workspace();
  Rng rng(seed, 0x77);
  constexpr std::size_t line = 64;
  for (std::size_t i = 0; i < space.size(); i += line) {
    if (rng() % 2 == 0) continue;
    for (std::byte& b : space.subspan(i, std::min(line, space.size() - i))) b ^= std::byte{0xa5};
  }
  return !space.empty();
}

void HostGround::spoil_c(int set, std::uint64_t seed) {
  const Strided now = c(set);
  Rng rng(seed, 0x5c);
  const auto below = [&rng](std::int64_t bound) {
    return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(bound)));
  };
  std::byte* const row = now.row(below(now.batches), below(now.rows));
  const std::int64_t col = below(now.cols);
  store(now.type, row, col, another_result(load(now.type, row, col), problem_.k));
}

void HostGround::lay_bait(int set, std::uint64_t seed) {
  std::vector<std::byte> lure = get(view_c(arena_, set));
  Rng rng(seed, 0xba);
  const std::int64_t count = problem_.batch * problem_.c_rows() * problem_.c_cols();
  for (std::int64_t i = 0; i < count; ++i) {
    if (rng() % 8 != 0) continue;
    store(problem_.out, lure.data(), i, load(problem_.out, lure.data(), i) * 1.25 + 0.25);
  }
  put(view_c(arena_, set, Owner::baseline), lure);
}

void HostGround::fill_baseline_c(int set, std::uint64_t seed, DataKind like) {
  put(view_c(arena_, set, Owner::baseline), plausible_c(problem_, seed, like));
}

Agreement HostGround::against(int set, const Reference& reference, bool exact,
                              const Scaling& scaling, bool with_norm) const {
  const Expectation x{&reference,         exact,         scaling.alpha, scaling.beta,
                      stage_.before(set), scaling.calls, roundings()};
  return tilewright::compare(problem_, c(set), x, with_norm);
}

Agreement HostGround::compare(int set, const Feed& feed, const Scaling& scaling, bool with_norm) {
  const DataSet& data = data_of(feed);
  return against(set, data.reference, is_exact(data.kind, problem_), scaling, with_norm);
}

Agreement HostGround::compare_present(int set, const Scaling& scaling, std::uint64_t seed,
                                      Depth depth) {
  const Reference present =
      reference(problem_, view_a(arena_, set), view_b(arena_, set), whole(problem_), true, seed,
                depth == Depth::brief ? kTimedMultiplyAdds : kFullMultiplyAdds);
  return against(set, present, only_moves(problem_), scaling, false);
}

std::optional<Mismatch> HostGround::weigh(int set, const Feed& feed, bool exact,
                                          std::uint64_t seed) {
  if (data_of(feed).reference.full) return std::nullopt;
  if (by_rows(problem_)) {
    return compare_by_rows(problem_, view_a(arena_, set), view_b(arena_, set), c(set),
                           is_exact(feed.kind, problem_), roundings())
        .first;
  }
  const Freivalds freivalds(problem_, view_b(arena_, set), seed);
  Freivalds::Options options;
  options.exact = exact;
  std::vector<std::byte> gathered;
  return freivalds.check(left_operand(problem_, view_a(arena_, set), gathered), c(set), options);
}

Ground::Before HostGround::before(int set, const Mismatch& m) {
  const Strided now = c(set);
  const auto size = static_cast<std::int64_t>(size_of(now.type));
  const std::int64_t at = (m.batch * now.rows + m.row) * now.cols + m.col;
  const std::byte* earlier = stage_.before(set).data() + at * size;
  return {load(now.type, earlier, 0), std::memcmp(now.row(m.batch, m.row) + m.col * size, earlier,
                                                  static_cast<std::size_t>(size)) == 0};
}

std::optional<std::int64_t> HostGround::written_beyond(int set, const Extent& e) {
  const Strided now = c(set);
  const auto size = static_cast<std::int64_t>(size_of(now.type));
  const Area within = area_of_c(problem_, e);
  for (std::int64_t row = 0; row < now.batches * now.rows; ++row) {
    const std::int64_t from = row % now.rows < within.rows ? within.cols * size : 0;
    const std::byte* bytes = now.row(row / now.rows, row % now.rows);
    const std::byte* earlier = stage_.before(set).data() + row * now.row_bytes();
    if (std::memcmp(bytes + from, earlier + from, static_cast<std::size_t>(now.row_bytes() - from)))
      return row % now.rows;
  }
  return std::nullopt;
}

std::string HostGround::digest_c(int set) {
  const std::vector<std::byte> bytes = get(c(set));
  return hash128({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void HostGround::draw(int set, DataKind kind, std::uint64_t seed) {
  products_[static_cast<std::size_t>(set)].reset();
  stage_.place(set, tilewright::draw(problem_, kind, seed));
}

void HostGround::draw_a(int set, DataKind kind, std::uint64_t seed) {
  stage_.place_a(set, tilewright::draw_a(problem_, kind, seed));
}

const Freivalds& HostGround::products(int set, std::uint64_t seed) {
  std::optional<Freivalds>& kept = products_[static_cast<std::size_t>(set)];
  if (!kept) kept.emplace(problem_, view_b(arena_, set), seed);
  return *kept;
}

// Only called where C is read, hence of products.
void HostGround::start_round(int set, std::uint64_t seed) {
  weighed_[static_cast<std::size_t>(set)] = products(set, seed).weigh(c(set));
}

Ground::Weighing HostGround::weigh_present(int set, double beta, std::uint64_t seed) {
  if (by_rows(problem_)) {
    return {compare_by_rows(problem_, view_a(arena_, set), view_b(arena_, set), c(set),
                            only_moves(problem_))
                .first,
            1};
  }
  const Freivalds& weights = products(set, seed);
  std::vector<std::byte> gathered;
  const Strided a = left_operand(problem_, view_a(arena_, set), gathered);
  Freivalds::Options options;
  options.beta = beta;
  if (beta != 0) {
    const Freivalds::Weighed& before = *weighed_[static_cast<std::size_t>(set)];
    options.before = &before;
    options.calls = weights.count_calls(a, c(set), beta, before, kMostCalls);
  }
  return {weights.check(a, c(set), options), options.calls};
}

}  // namespace tilewright
