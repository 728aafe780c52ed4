// SPDX-License-Identifier: Apache-2.0
// See cuda_shelf.h.
#include "verify/cuda/cuda_shelf.h"

#include "base/rng.h"
#include "verify/library.h"

#include <algorithm>

namespace tilewright {
namespace {

// References are kept while they take no more than this part of the device's memory.
constexpr std::size_t kKeptPart = 16;

unsigned nan_bits(ElementType type) {
  if (type == ElementType::f16) return 0x7e00U;
  return type == ElementType::bf16 ? 0x7fc0U : 0x7fc00000U;
}

}  // namespace

CudaShelf::CudaShelf(const DeviceArena& arena, KernelBench& bench, std::uint64_t seed)
    : CudaShelf(arena, bench, seed, Limits{}) {}

CudaShelf::CudaShelf(const DeviceArena& arena, KernelBench& bench, std::uint64_t seed,
                     const Limits& limits)
    : arena_(arena), bench_(bench), guards_(arena), seed_(seed), limits_(limits) {}

const CudaShelf::Table& CudaShelf::table(DataKind kind, Operand operand, std::uint64_t seed) {
  Table& table = tables_[{kind, operand}];
  if (table.recipe && (!table.recipe->seeded || table.seed == seed)) return table;
  table.recipe = recipe(problem(), kind, operand, seed);
  table.seed = seed;
  table.values = bench_.upload(table.recipe->values);
  table.ordinals = bench_.upload(table.recipe->ordinals);
  return table;
}

const CudaShelf::Table& CudaShelf::table(Fill fill) {
  Table& table = fills_[fill];
  if (table.recipe) return table;
  if (fill == Fill::nan) {
    auto constant = std::make_shared<Recipe>();
    constant->drawing.bits = nan_bits(problem().out);
    table.recipe = constant;
    return table;
  }
  table.recipe =
      fill == Fill::even
          ? even_recipe(problem())
          : plausible_recipe(problem(), fill == Fill::damped ? DataKind::damped : DataKind::normal);
  table.values = bench_.upload(table.recipe->values);
  return table;
}

Drawing CudaShelf::on_device(const Table& table, std::uint64_t seed) const {
  Drawing drawing = table.recipe->drawing;
  drawing.seed = seed;
  drawing.values = device_pointer<const unsigned>(table.values);
  drawing.ordinals = device_pointer<const int>(table.ordinals);
  return drawing;
}

Drawing CudaShelf::drawing(DataKind kind, Operand operand, std::uint64_t seed) {
  return on_device(table(kind, operand, seed), seed);
}

Drawing CudaShelf::drawing(Fill fill, std::uint64_t seed) {
  return on_device(table(fill), seed);
}

Drawing CudaShelf::host_drawing(Fill fill, std::uint64_t seed) {
  Drawing drawing = table(fill).recipe->drawing;
  drawing.seed = seed;
  return drawing;
}

void CudaShelf::draw(const DeviceView& to, const Drawing& drawing) {
  bench_.run(Kernel::draw_matrix, bench_.blocks_for((elements(to) + 7) / 8), to, drawing);
}

CudaShelf::Operands CudaShelf::materialise(const CudaFeed& feed) {
  const Problem& p = problem();
  const auto bytes = [](const DeviceView& view) {
    return static_cast<std::size_t>(bytes_of(view));
  };
  if (const auto need = bytes(packed_device_a(p, 0)); scratch_a_.bytes() < need) {
    scratch_a_ = bench_.allocate(need);
  }
  if (const auto need = bytes(packed_device_b(p, 0)); scratch_b_.bytes() < need) {
    scratch_b_ = bench_.allocate(need);
  }
  const Operands made{packed_device_a(p, scratch_a_.address()),
                      packed_device_b(p, scratch_b_.address())};
  if (in_scratch_ == feed.number) return made;
  in_scratch_ = feed.number;
  if (feed.unread) {
    Drawing nothing;
    nothing.bits = nan_bits(p.in);
    draw(made.a, nothing);
    draw(made.b, nothing);
    return made;
  }
  draw(made.a, drawing(feed.kind, Operand::a, feed.seed));
  draw(made.b, drawing(feed.kind, Operand::b, feed.seed));
  const auto size = static_cast<std::int64_t>(size_of(p.in));
  for (const FeedChange& change : feed.changes) {
    unsigned char* const data = change.in_a ? made.a.data : made.b.data;
    bench_.run(Kernel::change_element, 1,
               ElementChange{data + change.at * size, made.a.type, change.bits});
  }
  if (feed.extent) {
    const Extent& e = *feed.extent;
    const auto poison = [&](const DeviceView& view, long long rows, long long cols) {
      bench_.run(Kernel::fill_outside, bench_.blocks_for(elements(view)), view, rows, cols,
                 nan_bits(p.in));
    };
    poison(made.a, p.a_transposed ? e.k : e.m, p.a_transposed ? e.m : e.k);
    poison(made.b, p.b_transposed ? e.n : e.k, p.b_transposed ? e.k : e.n);
  }
  return made;
}

std::shared_ptr<CudaFeed> CudaShelf::make(DataKind kind, std::uint64_t seed) {
  auto feed = std::make_shared<CudaFeed>();
  feed->kind = kind;
  feed->seed = seed;
  feed->number = ++feeds_;
  return feed;
}

void CudaShelf::complete(CudaFeed* feed, std::uint64_t sample_seed, const ReferenceLimits& limits) {
  ReferenceWishes wishes;
  wishes.magnitude = !is_exact(feed->kind);
  // Ragged sizes and results that may overflow are not weighed (proof.cc).
  wishes.weighed = !feed->extent && feed->kind != DataKind::large;
  wishes.weighed_magnitude = feed->kind != DataKind::split_k;
  const Operands operands = materialise(*feed);
  feed->reference = std::make_shared<DeviceReference>(
      device_reference(bench_, problem(), operands.a, operands.b,
                       feed->extent.value_or(whole(problem())), wishes, sample_seed, limits));
}

FeedPointer CudaShelf::fixed(DataKind kind) {
  if (const auto found = fixed_.find(kind); found != fixed_.end()) return found->second;
  const std::uint64_t seed = seed_ * 64 + static_cast<std::uint64_t>(kind);
  const std::shared_ptr<CudaFeed> feed = make(kind, seed);
  complete(feed.get(), seed, limits_.thorough);
  if (kept_bytes_ + feed->reference->bytes <= bench_.memory_bytes() / kKeptPart) {
    kept_bytes_ += feed->reference->bytes;
    fixed_[kind] = feed;
  }
  return feed;
}

FeedPointer CudaShelf::fresh(DataKind kind, std::uint64_t seed, Depth depth) {
  const std::shared_ptr<CudaFeed> feed = make(kind, seed);
  complete(feed.get(), seed, limits(depth));
  return feed;
}

FeedPointer CudaShelf::one_changed(const CudaFeed& from, bool in_a, std::uint64_t seed) {
  const Problem& p = problem();
  auto feed = std::make_shared<CudaFeed>(from);
  feed->number = ++feeds_;
  // On a row (or column) that the new reference will have in full.
  const SamplePlan plan = sample_plan(p, whole(p), seed, limits_.thorough);
  Rng rng(seed, 0x0e);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(bound)));
  };
  const auto one_of = [&](const std::vector<long long>& list, std::int64_t count) {
    return list.empty()
               ? below(count)
               : static_cast<std::int64_t>(
                     list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))]);
  };
  const std::int64_t batch = one_of(plan.batches, p.batch);
  const std::int64_t line = in_a ? one_of(plan.rows, p.m) : one_of(plan.cols, p.n);
  const std::int64_t k = below(p.k);
  const std::int64_t lines = in_a ? p.m : p.n;
  const bool k_is_row = in_a ? p.a_transposed : !p.b_transposed;
  const std::int64_t at = batch * lines * p.k + (k_is_row ? k * lines + line : line * p.k + k);
  Drawing drawing = table(from.kind, in_a ? Operand::a : Operand::b, from.seed).recipe->drawing;
  drawing.seed = from.seed;
  unsigned bits = drawn(drawing, at);
  for (const FeedChange& change : from.changes) {
    if (change.in_a == in_a && change.at == at) bits = change.bits;
  }
  unsigned changed = 0;
  store(p.in, &changed, 0, load(p.in, &bits, 0) == 0 ? 1 : 0);
  feed->changes.push_back({in_a, at, changed});
  complete(feed.get(), seed, limits_.thorough);
  return feed;
}

FeedPointer CudaShelf::unread(const CudaFeed& from) {
  auto feed = std::make_shared<CudaFeed>(from);
  feed->number = ++feeds_;
  feed->unread = true;
  return feed;
}

const std::vector<RaggedFeed>& CudaShelf::ragged() {
  if (!ragged_.empty()) return ragged_;
  for (const Extent& extent : ragged_extents(problem())) {
    const std::shared_ptr<CudaFeed> feed = make(DataKind::normal, seed_ * 64 + 63);
    feed->extent = extent;
    complete(feed.get(), seed_, limits_.brief);
    ragged_.push_back({extent, feed});
  }
  return ragged_;
}

}  // namespace tilewright
