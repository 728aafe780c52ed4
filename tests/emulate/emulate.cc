// SPDX-License-Identifier: Apache-2.0
// Runs an emulated kernel beside a slow product. See emulate.h.
#include "emulate/emulate.h"

#include "base/element.h"
#include "base/rng.h"
#include "emulate/machine.h"
#include "verify/operation.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstring>
#include <functional>

namespace tilewright {
namespace {

constexpr std::size_t kGuard = 4096;
constexpr int kWrong = 87;           // exit code of a run with wrong results
constexpr unsigned kRunLimit = 120;  // seconds

// Host memory between guards, all of it NaN.
class Guarded {
 public:
  explicit Guarded(std::int64_t bytes, std::int64_t shift = 0)
      : bytes_(static_cast<std::size_t>(bytes)),
        begin_(kGuard + static_cast<std::size_t>(shift)),
        lines_((bytes_ + 255) / 256 + 1 + 2 * kGuard / 256) {
    std::memset(lines_.data(), emu::kPoison, lines_.size() * 256);
  }
  [[nodiscard]] std::byte* data() { return lines_.front().bytes + begin_; }
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(bytes_); }
  [[nodiscard]] bool guards_hold() const {
    const std::byte* all = lines_.front().bytes;
    for (std::size_t i = 0; i < lines_.size() * 256; ++i) {
      if ((i < begin_ || i >= begin_ + bytes_) && all[i] != std::byte{emu::kPoison}) return false;
    }
    return true;
  }

 private:
  struct alignas(256) Line {
    std::byte bytes[256];
  };
  std::size_t bytes_, begin_;
  std::vector<Line> lines_;
};

struct Operands {
  Guarded a, b, c;
  std::vector<std::byte> wanted;  // C after
  Guarded bias{0};
};

double activated(double x, int activation) {
  if (activation == 1) return x < 0 ? 0 : x;
  if (activation == 2) return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  return activation == 3 ? x / (1 + std::exp(-x)) : x;
}

// Integers from -2 to 2; small sums are exact in f16 too.
void draw(Guarded& into, ElementType type, std::int64_t rows, std::int64_t columns,
          std::int64_t stride, std::int64_t batch, Rng& rng) {
  for (std::int64_t row = 0; row < rows * batch; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      store(type, into.data(), row * stride + column, static_cast<double>(rng.below(5)) - 2.0);
    }
  }
}

// Of an operation by rows: numbers of many magnitudes where the call looks, NaN elsewhere.
Operands operands_of_operation(const EmulatedCall& call) {
  const Problem& p = call.problem;
  const auto bytes = [](ElementType type, std::int64_t rows, std::int64_t stride) {
    return static_cast<std::int64_t>(size_of(type)) * rows * stride;
  };
  Operands out{Guarded(bytes(p.in, p.a_rows(), p.a_stride())),
               Guarded(bytes(p.in, p.b_rows(), p.b_stride())),
               Guarded(bytes(p.out, p.c_rows(), p.c_stride())),
               {}};
  Rng rng(call.seed, 7);
  const auto fill = [&](Guarded& into, std::int64_t rows, std::int64_t stride) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < call.sizes.n; ++c) {
        store(p.in, into.data(), r * stride + c, 8 * rng.uniform() - 4);
      }
    }
  };
  fill(out.a, call.sizes.m, p.a_stride());
  fill(out.b, p.b_rows(), p.b_stride());
  return out;
}

// What is wrong with C; beyond the call's sizes it must be what it was.
std::string wrong_operation(const EmulatedCall& call, Operands& operands) {
  Problem p = call.problem;
  const auto view = [](Guarded& memory, ElementType type, std::int64_t rows, std::int64_t cols,
                       std::int64_t stride) {
    return Strided{memory.data(), type, rows, cols, 1, stride, rows * stride};
  };
  p.lda = p.a_stride();
  p.ldb = p.b_rows() == 0 ? 0 : p.b_stride();
  p.ldc = p.c_stride();
  const std::int64_t all = p.c_rows() * p.ldc;
  p.m = call.sizes.m;
  p.n = call.sizes.n;
  const Agreement agreement = compare_by_rows(
      p, view(operands.a, p.in, p.a_rows(), p.a_cols(), p.lda),
      view(operands.b, p.in, p.b_rows(), p.b_cols(), p.ldb),
      view(operands.c, p.out, p.c_rows(), p.c_cols(), p.ldc), is_exact(DataKind::normal, p));
  if (agreement.first) return agreement.first->text();
  const auto size = static_cast<std::int64_t>(size_of(p.out));
  for (std::int64_t i = 0; i < all; ++i) {
    if (i / p.ldc < p.c_rows() && i % p.ldc < p.c_cols()) continue;
    const std::byte* at = operands.c.data() + i * size;
    if (std::any_of(at, at + size, [](std::byte b) { return b != std::byte{emu::kPoison}; })) {
      return fmt::format("row {} column {} is beyond the call and was written", i / p.ldc,
                         i % p.ldc);
    }
  }
  return "";
}

Operands operands_of(const EmulatedCall& call) {
  const Problem& p = call.problem;
  if (by_rows(p)) return operands_of_operation(call);
  const auto bytes = [&](ElementType type, std::int64_t rows, std::int64_t stride) {
    return static_cast<std::int64_t>(size_of(type)) * rows * stride * p.batch;
  };
  const std::int64_t shift = call.shift * static_cast<std::int64_t>(size_of(p.in));
  Operands out{Guarded(bytes(p.in, p.a_rows(), p.a_stride()), shift),
               Guarded(bytes(p.in, p.b_rows(), p.b_stride()), shift),
               Guarded(bytes(p.out, p.m, p.c_stride())),
               {}};
  Rng rng(call.seed, 7);
  const auto [m, n, k] = call.sizes;
  // Only what this call covers: the rest of storage stays NaN.
  for (std::int64_t entry = 0; entry < p.batch; ++entry) {
    const auto fill = [&](Guarded& into, std::int64_t rows, std::int64_t columns,
                          std::int64_t stride, std::int64_t storage_rows) {
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) {
          store(p.in, into.data(), (entry * storage_rows + r) * stride + c,
                static_cast<double>(rng.below(5)) - 2.0);
        }
      }
    };
    const bool image = p.op == Op::conv2d;  // all of it is read
    const std::int64_t rows = p.a_transposed ? k : m, columns = p.a_transposed ? m : k;
    fill(out.a, image ? p.a_rows() : rows, image ? p.a_cols() : columns, p.a_stride(), p.a_rows());
    if (call.same_b && entry > 0) continue;
    p.b_transposed ? fill(out.b, n, k, p.b_stride(), p.b_rows())
                   : fill(out.b, k, n, p.b_stride(), p.b_rows());
  }
  if (call.beta != 0) draw(out.c, p.out, p.m, n, p.c_stride(), p.batch, rng);
  if (call.bias) {
    out.bias = Guarded(static_cast<std::int64_t>(size_of(p.out)) * n);
    draw(out.bias, p.out, 1, n, n, 1, rng);
  }
  Guarded wanted = out.c;
  std::vector<std::byte> gathered;
  const Strided left = left_operand(p,
                                    {out.a.data(), p.in, p.a_rows(), p.a_cols(), p.batch,
                                     p.a_stride(), p.a_rows() * p.a_stride()},
                                    gathered);
  std::vector<float> row(static_cast<std::size_t>(n));
  std::vector<float> b(static_cast<std::size_t>(k * n));
  for (std::int64_t entry = 0; entry < p.batch; ++entry) {
    const std::int64_t a0 = entry * left.batch_stride;
    const std::int64_t b0 = call.same_b ? 0 : entry * p.b_rows() * p.b_stride();
    const std::int64_t c0 = entry * p.m * p.c_stride();
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t at = b0 + (p.b_transposed ? j * p.b_stride() + i : i * p.b_stride() + j);
        b[static_cast<std::size_t>(i * n + j)] = static_cast<float>(load(p.in, out.b.data(), at));
      }
    }
    for (std::int64_t i = 0; i < m; ++i) {
      std::ranges::fill(row, 0.0F);
      for (std::int64_t l = 0; l < k; ++l) {
        const std::int64_t at = a0 + (p.a_transposed ? l * left.stride + i : i * left.stride + l);
        const auto x = static_cast<float>(load(p.in, left.data, at));
        const float* y = b.data() + l * n;
        for (std::int64_t j = 0; j < n; ++j) row[static_cast<std::size_t>(j)] += x * y[j];
      }
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t at = c0 + i * p.c_stride() + j;
        double value = static_cast<double>(call.alpha) * row[static_cast<std::size_t>(j)];
        if (call.beta != 0) value += static_cast<double>(call.beta) * load(p.out, out.c.data(), at);
        if (call.bias) value += load(p.out, out.bias.data(), j);
        store(p.out, wanted.data(), at, activated(value, call.activation));
      }
    }
  }
  out.wanted.assign(wanted.data(), wanted.data() + wanted.bytes());
  return out;
}

emu::Map map_of(const MapDescription& d) {
  emu::Map map;
  map.base = reinterpret_cast<std::byte*>(d.address);
  std::ranges::copy(d.dimensions, map.dimensions);
  std::ranges::copy(d.strides, map.strides);
  std::ranges::copy(d.box, map.box);
  map.swizzle = d.swizzle == cuda::kSwizzle128  ? 128
                : d.swizzle == cuda::kSwizzle64 ? 64
                : d.swizzle == cuda::kSwizzle32 ? 32
                                                : 0;
  map.size = d.type == cuda::kTensorF32 ? 4 : 2;
  return map;
}

// Arguments as the driver would find them.
struct Arguments {
  struct alignas(64) Value {
    std::byte bytes[128] = {};
  };
  std::vector<Value> values;
  std::vector<void*> pointers;

  Arguments(const std::vector<CudaArgument>& arguments, const std::vector<MapDescription>& maps)
      : values(arguments.size()) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const CudaArgument& argument = arguments[i];
      if (argument.map >= 0) {
        const emu::Map map = map_of(maps[static_cast<std::size_t>(argument.map)]);
        std::memcpy(values[i].bytes, &map, sizeof(map));
      } else {
        std::memcpy(values[i].bytes, &argument.value, argument.bytes);
      }
      pointers.push_back(values[i].bytes);
    }
  }
};

// `off`: relatively, by how much results may differ.
std::string compare(const Problem& p, const std::vector<std::byte>& wanted, const std::byte* got,
                    double off) {
  const std::int64_t total = static_cast<std::int64_t>(wanted.size() / size_of(p.out));
  std::int64_t wrong = 0;
  std::string first;
  for (std::int64_t i = 0; i < total; ++i) {
    const double want = load(p.out, wanted.data(), i), have = load(p.out, got, i);
    if (want == have || std::fabs(want - have) <= off * std::fabs(want) ||
        std::memcmp(wanted.data() + i * static_cast<std::int64_t>(size_of(p.out)),
                    got + i * static_cast<std::int64_t>(size_of(p.out)), size_of(p.out)) == 0) {
      continue;
    }
    if (++wrong > 1) continue;
    const std::int64_t row = i / p.c_stride();
    first = fmt::format("entry {} row {} column {}: {}, not {}", row / p.m, row % p.m,
                        i % p.c_stride(), have, want);
  }
  if (wrong == 0) return "";
  return fmt::format("{} of {} results are wrong; first {}", wrong, total, first);
}

// A kernel of the object whose parameters are what it will be given.
struct Entry {
  void (*call)(void**) = nullptr;
  std::string wrong;
};
Entry entry_of(void* library, const std::string& symbol,
               const std::vector<CudaArgument>& arguments) {
  const auto size = reinterpret_cast<int (*)(int)>(::dlsym(library, (symbol + "_size").c_str()));
  Entry entry;
  entry.call = reinterpret_cast<void (*)(void**)>(::dlsym(library, (symbol + "_call").c_str()));
  if (size == nullptr || entry.call == nullptr) return {nullptr, "no kernel " + symbol};
  for (std::size_t i = 0; i <= arguments.size(); ++i) {
    const int bytes = i < arguments.size() ? static_cast<int>(arguments[i].bytes) : 0;
    if (size(static_cast<int>(i)) == bytes) continue;
    entry.wrong = fmt::format("argument {} of {} has {} bytes, the kernel's has {}", i, symbol,
                              bytes, size(static_cast<int>(i)));
    break;
  }
  return entry;
}

// Memory that the grid before still writes: NaN until it ends, then what it is, whatever was
// written meanwhile.
std::function<void()> late_end(std::vector<Guarded*> memory) {
  std::vector<std::vector<std::byte>> kept;
  for (Guarded* each : memory) {
    kept.emplace_back(each->data(), each->data() + each->bytes());
    std::memset(each->data(), emu::kPoison, kept.back().size());
  }
  return [memory = std::move(memory), kept = std::move(kept)] {
    for (std::size_t i = 0; i < memory.size(); ++i) {
      std::ranges::copy(kept[i], memory[i]->data());
    }
  };
}

// Everything of a run, in its own process; what is wrong goes to stderr.
std::string run_here(const std::filesystem::path& object, const Launch& launch,
                     const EmulatedCall& call) {
  void* library = ::dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fmt::format("not loaded: {}", ::dlerror());
  const auto threads = reinterpret_cast<int (*)()>(::dlsym(library, "emulated_threads"));

  Operands operands = operands_of(call);
  const auto address = [](Guarded& memory) {
    return reinterpret_cast<cuda::Pointer>(memory.data());
  };
  CudaOperands pointers{address(operands.a), address(operands.b), address(operands.c), 0x1000};
  if (call.bias) pointers.bias = address(operands.bias);
  pointers.activation = call.activation;
  const int width = launch.cuda.cluster[0] * launch.cuda.cluster[1] * launch.cuda.cluster[2];
  const std::int64_t slots = std::max(call.sms / width, 1) * width;
  const auto resolved = [&] {
    if (call.same_b) {
      CudaStrides strides = strides_of(call.problem);
      strides.sb = 0;
      return resolve(launch, call.problem, strides, pointers, call.alpha, call.beta, call.sms,
                     slots);
    }
    return resolve(launch, call.problem, call.sizes, pointers, call.alpha, call.beta, call.sms,
                   slots);
  };
  auto asked = resolved();
  if (!asked) return asked.error().message;
  Guarded workspace(asked->workspace_bytes);
  std::memset(workspace.data(), 0, static_cast<std::size_t>(asked->zeroed_bytes));
  pointers.workspace = address(workspace);
  asked = resolved();
  if (!asked) return asked.error().message;
  if (asked->empty) return "";
  const Entry entry = entry_of(library, launch.symbol, asked->arguments);
  if (!entry.wrong.empty()) return entry.wrong;
  if (threads() != static_cast<int>(asked->threads)) {
    return fmt::format("{} threads are launched, the kernel has {}", asked->threads, threads());
  }
  Arguments arguments(asked->arguments, asked->maps);
  const Guarded a = operands.a, b = operands.b;
  emu::Grid grid;
  grid.ctas = {asked->grid[0], asked->grid[1], asked->grid[2]};
  grid.cluster = {asked->cluster[0], asked->cluster[1], asked->cluster[2]};
  grid.threads = static_cast<int>(asked->threads);
  grid.shared_bytes = static_cast<int>(asked->shared_bytes);
  grid.regions = {{"A", operands.a.data(), operands.a.bytes(), false},
                  {"B", operands.b.data(), operands.b.bytes(), false},
                  {"C", operands.c.data(), operands.c.bytes(), true},
                  {"the workspace", workspace.data(), workspace.bytes(), true},
                  {"the bias", operands.bias.data(), operands.bias.bytes(), false}};
  grid.seed = call.seed;
  for (std::size_t i = 0; i < asked->before.size(); ++i) {
    const CudaStep& step = asked->before[i];
    const Entry kernel = entry_of(library, launch.cuda.before[i].symbol, step.arguments);
    if (!kernel.wrong.empty()) return kernel.wrong;
    Arguments given(step.arguments, {});
    emu::Grid first = grid;
    first.ctas = {step.grid[0], step.grid[1], step.grid[2]};
    first.cluster = {1, 1, 1};
    first.threads = static_cast<int>(step.threads);
    first.shared_bytes = 0;
    first.regions[2].writable = false;  // what comes before the product does not write C
    first.entry = kernel.call;
    first.arguments = given.pointers.data();
    emu::run(first);
  }
  grid.entry = entry.call;
  grid.arguments = arguments.pointers.data();
  if (asked->chained)
    grid.end_before = late_end({&operands.a, &operands.b, &operands.c, &workspace});
  emu::run(grid);

  for (const auto& [name, before, after] :
       {std::tuple{"A", &a, &operands.a}, std::tuple{"B", &b, &operands.b}}) {
    if (std::memcmp(const_cast<Guarded*>(before)->data(), after->data(),
                    static_cast<std::size_t>(before->bytes())) != 0) {
      return fmt::format("{} was written", name);
    }
  }
  for (const auto& [name, memory] : {std::pair{"A", &operands.a},
                                     {"B", &operands.b},
                                     {"C", &operands.c},
                                     {"the workspace", &workspace}}) {
    if (!memory->guards_hold()) return fmt::format("written outside of {}", name);
  }
  const auto zero = [](std::byte byte) { return byte == std::byte{0}; };
  if (!std::all_of(workspace.data(), workspace.data() + asked->zeroed_bytes, zero)) {
    return "the head of the workspace is not zero behind the kernel";
  }
  if (by_rows(call.problem)) return wrong_operation(call, operands);
  // Approximated activations may fall on the other side of a rounding.
  const double off = call.activation > 1 ? 2 * unit_roundoff(call.problem.out) + 4e-6 : 0;
  return compare(call.problem, operands.wanted, operands.c.data(), off);
}

}  // namespace

std::string Emulated::run(const EmulatedCall& call) const {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child < 0) return "no process";
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::alarm(kRunLimit);
    const std::string wrong = run_here(object_, launch_, call);
    const auto ignored = ::write(STDERR_FILENO, wrong.data(), wrong.size());
    static_cast<void>(ignored);
    ::_exit(wrong.empty() ? 0 : kWrong);
  }
  ::close(ends[1]);
  std::string output;
  char some[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], some, sizeof(some))) > 0;) {
    output.append(some, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    return fmt::format("{}signal {} ({})", output, WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) == 0) return "";
  return output.empty() ? fmt::format("exit code {}", WEXITSTATUS(status)) : output;
}

}  // namespace tilewright
