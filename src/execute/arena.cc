// SPDX-License-Identifier: Apache-2.0
// The arena: where each matrix lies, the guards round it, and what a broken guard is called.
//
// A guard byte depends on its position: a copy
// of one guard, or of a row, never passes for another. The memfd is sealed against resizing, since
// a runner that truncated it would end the parent with SIGBUS. Next: session.h.
#include "execute/arena.h"

#include "execute/arena_layout.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tilewright {
namespace {

constexpr LayoutRules kRules = {.alignment = 64, .guard_bytes = kGuardBytes, .page = 4096};

// The guard byte at `position` in the arena. Cheap, because row gaps can be as large as a matrix.
std::byte pattern(std::int64_t position) {
  const auto p = static_cast<std::uint32_t>(position);
  return static_cast<std::byte>((p * 167U + (p >> 8) * 59U + (p >> 16) * 101U + 0x5bU) & 0xffU);
}

void paint(std::byte* base, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) base[i] = pattern(i);
}

// First changed byte in [begin, end), or end. Last changed byte, or begin - 1.
std::int64_t first_changed(const std::byte* base, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    if (base[i] != pattern(i)) return i;
  }
  return end;
}
std::int64_t last_changed(const std::byte* base, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = end; i > begin; --i) {
    if (base[i - 1] != pattern(i - 1)) return i - 1;
  }
  return begin - 1;
}

// Calls visit(begin, end, row) for each row gap between the first and the last element.
template <class Visit>
void for_each_gap(const Piece& piece, std::int64_t start, Visit visit) {
  if (piece.bytes() == 0 || piece.stride_bytes == piece.row_bytes) return;
  for (std::int64_t row = 0; row + 1 < piece.batch * piece.rows; ++row) {
    const std::int64_t begin = start + row * piece.stride_bytes + piece.row_bytes;
    visit(begin, begin + piece.stride_bytes - piece.row_bytes, row);
  }
}

void paint_piece(std::byte* base, const Piece& piece, std::int64_t start) {
  const std::int64_t end = start + piece.bytes();
  paint(base, start - piece.guard_bytes(kRules), start);
  paint(base, end, end + piece.guard_bytes(kRules));
  for_each_gap(piece, start, [base](std::int64_t first, std::int64_t last, std::int64_t) {
    paint(base, first, last);
  });
}

std::string bytes_text(std::int64_t count) {
  return fmt::format("{} byte{}", count, count == 1 ? "" : "s");
}

// The changed byte nearest to the data, in words.
std::optional<std::string> broken(const std::byte* base, const Piece& piece, std::int64_t start) {
  const std::int64_t end = start + piece.bytes(), guard = piece.guard_bytes(kRules);
  if (const std::int64_t at = first_changed(base, end, end + guard); at != end + guard) {
    return fmt::format("{}, {} past the end", piece.name, bytes_text(at - end + 1));
  }
  if (const std::int64_t at = last_changed(base, start - guard, start); at >= start - guard) {
    return fmt::format("{}, {} before the start", piece.name, bytes_text(start - at));
  }
  std::optional<std::string> found;
  for_each_gap(piece, start, [&](std::int64_t first, std::int64_t last, std::int64_t row) {
    if (found) return;
    const std::int64_t at = first_changed(base, first, last);
    if (at == last) return;
    const std::string batch =
        piece.batch > 1 ? fmt::format("batch {}, ", row / piece.rows) : std::string();
    found = fmt::format("{}, {}row {}, {} into the row gap", piece.name, batch, row % piece.rows,
                        bytes_text(at - first + 1));
  });
  return found;
}

tl::unexpected<Error> system_failure(const char* call, std::int64_t bytes) {
  return fail(ErrorCode::environment,
              fmt::format("operands of {} bytes: {}: {}", bytes, call, std::strerror(errno)),
              "fewer operand sets or a smaller problem needs less memory");
}

}  // namespace

struct Arena::State {
  Problem problem;
  ArenaLayout layout;
  int fd = -1;
  std::byte* base = nullptr;
  std::int64_t workspace_used = 0;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (base != nullptr) munmap(base, static_cast<std::size_t>(layout.bytes));
    if (fd >= 0) close(fd);
  }
  [[nodiscard]] Piece piece(PieceIndex index) const {
    return matrices(problem, layout)[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] std::span<std::byte> storage(PieceIndex index, int set) const {
    const Piece found = piece(index);
    return {base + set * layout.set_stride + found.offset, static_cast<std::size_t>(found.bytes())};
  }
};

Arena::Arena(std::unique_ptr<State> state) : state_(std::move(state)) {}
Arena::~Arena() = default;
Arena::Arena(Arena&&) noexcept = default;
Arena& Arena::operator=(Arena&&) noexcept = default;

Result<Arena> Arena::create(const Problem& problem, int sets, std::int64_t workspace_bytes) {
  if (Status valid = check(problem); !valid) return tl::unexpected<Error>(valid.error());
  if (sets < 1) return fail(ErrorCode::usage, fmt::format("sets = {}: at least 1", sets));
  if (workspace_bytes < 0) {
    return fail(ErrorCode::usage, fmt::format("workspace_bytes = {}: at least 0", workspace_bytes));
  }
  const double wanted = estimate_bytes(problem, sets, workspace_bytes);
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (wanted > 0.8 * memory) {
    return fail(
        ErrorCode::environment,
        fmt::format("{} operand set{} of \"{}\" need {:.1f} GiB; this machine has {:.1f}", sets,
                    sets == 1 ? "" : "s", to_text(problem), wanted / (1 << 30), memory / (1 << 30)),
        "fewer operand sets or a smaller problem needs less memory");
  }
  auto state = std::make_unique<State>();
  state->problem = problem;
  state->layout = lay_out(problem, sets, workspace_bytes, kRules);
  state->workspace_used = workspace_bytes;
  const std::int64_t bytes = state->layout.bytes;
  state->fd = memfd_create("tilewright-operands", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (state->fd < 0) return system_failure("memfd_create", bytes);
  if (ftruncate(state->fd, bytes) != 0) return system_failure("ftruncate", bytes);
  if (fcntl(state->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return system_failure("sealing", bytes);
  }
  void* mapped = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
                      state->fd, 0);
  if (mapped == MAP_FAILED) return system_failure("mmap", bytes);
  state->base = static_cast<std::byte*>(mapped);
  // Before the first touch, so that pages come huge where the machine allows it for shared memory.
  madvise(mapped, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  std::memset(mapped, 0, static_cast<std::size_t>(bytes));
  Arena arena(std::move(state));
  arena.paint_guards();
  return arena;
}

const Problem& Arena::problem() const {
  return state_->problem;
}
const ArenaLayout& Arena::layout() const {
  return state_->layout;
}
int Arena::fd() const {
  return state_->fd;
}
std::byte* Arena::base() const {
  return state_->base;
}

std::span<std::byte> Arena::a(int set) const {
  return state_->storage(kA, set);
}
std::span<std::byte> Arena::b(int set) const {
  return state_->storage(kB, set);
}
std::span<std::byte> Arena::c(int set, Owner owner) const {
  return state_->storage(owner == Owner::candidate ? kC : kCBaseline, set);
}
std::span<std::byte> Arena::workspace() const {
  return {state_->base + state_->layout.workspace,
          static_cast<std::size_t>(state_->workspace_used)};
}

void Arena::paint_guards() const {
  const ArenaLayout& layout = state_->layout;
  for (const Piece& piece : matrices(state_->problem, layout)) {
    for (int set = 0; set < layout.sets; ++set) {
      paint_piece(state_->base, piece, piece.offset + set * layout.set_stride);
    }
  }
  paint_piece(state_->base, workspace_piece(layout, state_->workspace_used), layout.workspace);
}

std::optional<std::string> Arena::broken_guard(int set) const {
  const ArenaLayout& layout = state_->layout;
  const auto pieces = matrices(state_->problem, layout);
  for (const PieceIndex index : {kC, kA, kB, kCBaseline}) {  // the likeliest first
    const Piece& piece = pieces[index];
    auto found = broken(state_->base, piece, piece.offset + set * layout.set_stride);
    if (found) return found;
  }
  return broken(state_->base, workspace_piece(layout, state_->workspace_used), layout.workspace);
}

void Arena::use_workspace(std::int64_t bytes) {
  State& s = *state_;
  s.workspace_used = std::clamp<std::int64_t>(bytes, 0, s.layout.workspace_bytes);
  paint_piece(s.base, workspace_piece(s.layout, s.workspace_used), s.layout.workspace);
}

void Arena::scrub_workspace(std::uint32_t salt) const {
  std::uint32_t word = salt * 2654435761U + 0x9e3779b9U;
  for (std::byte& b : workspace()) {
    word = word * 1664525U + 1013904223U;
    b = static_cast<std::byte>(word >> 24);
  }
}

tw_cpu_gemm_args arguments(const Problem& problem, const ArenaLayout& layout, std::byte* base,
                           int set, Owner owner, float alpha, float beta) {
  std::byte* const set_base = base + set * layout.set_stride;
  tw_cpu_gemm_args args{};
  args.a = set_base + layout.a;
  args.b = set_base + layout.b;
  args.c = set_base + (owner == Owner::candidate ? layout.c : layout.c_baseline);
  args.m = problem.m;
  args.n = problem.n;
  args.k = problem.k;
  args.lda = problem.a_stride();
  args.ldb = problem.b_stride();
  args.ldc = problem.c_stride();
  args.batch = problem.batch;
  args.stride_a = problem.a_rows() * args.lda;
  args.stride_b = problem.b_rows() * args.ldb;
  args.stride_c = problem.c_rows() * args.ldc;
  args.alpha = alpha;
  args.beta = beta;
  args.workspace = layout.workspace_bytes == 0 ? nullptr : base + layout.workspace;
  return args;
}

}  // namespace tilewright
