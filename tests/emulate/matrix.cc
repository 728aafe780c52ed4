// SPDX-License-Identifier: Apache-2.0
// Tensor cores: ldmatrix, stmatrix, mma.sync, and wgmma with its descriptors. See machine.h.
#include "emulate/machine.h"

#include "base/element.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace emu {
namespace {

const float* halves() {
  static const std::vector<float> table = [] {
    std::vector<float> values(65536);
    for (u32 i = 0; i < values.size(); ++i) {
      values[i] = tilewright::f16_to_f32(static_cast<u16>(i));
    }
    return values;
  }();
  return table.data();
}

float value_of(u16 bits, bool bf16) {
  if (bf16) return same_bits<float>(static_cast<u32>(bits) << 16);
  static const float* const table = halves();
  return table[bits];
}
float low(u32 pair, bool bf16) {
  return value_of(static_cast<u16>(pair), bf16);
}
float high(u32 pair, bool bf16) {
  return value_of(static_cast<u16>(pair >> 16), bf16);
}
u32 pair_of(float a, float b, bool bf16) {
  return narrow(a, bf16) | static_cast<u32>(narrow(b, bf16)) << 16;
}

// The rows of four 8 x 8 matrices whose addresses the lanes give.
struct MatrixLane {
  u32 address;
  u32* r;
};
unsigned char* matrix_row(const Meeting& meeting, int matrix, int row, const char* what) {
  const auto* lane = static_cast<const MatrixLane*>(meeting.data[8 * matrix + row]);
  return shared_at(lane->address, 16, 16, what, nullptr);
}

// d (16 x 8) += a * b of a warp. Get and put: the sum number i of a lane's four.
struct MmaLane {
  float* d;
  u32* half;
  const u32* a;
  u32 b[2];
};

void multiply(const Meeting& meeting, bool bf16) {
  float a[16][16], b[16][8];
  for (int l = 0; l < 32; ++l) {
    const auto& lane = *static_cast<const MmaLane*>(meeting.data[l]);
    const int g = l / 4, t = l % 4;
    for (int i = 0; i < 4; ++i) {
      a[g + i % 2 * 8][2 * t + i / 2 * 8] = low(lane.a[i], bf16);
      a[g + i % 2 * 8][2 * t + i / 2 * 8 + 1] = high(lane.a[i], bf16);
    }
    for (int i = 0; i < 2; ++i) {
      b[2 * t + 8 * i][g] = low(lane.b[i], bf16);
      b[2 * t + 8 * i + 1][g] = high(lane.b[i], bf16);
    }
  }
  float d[16][8] = {};
  for (int r = 0; r < 16; ++r) {
    for (int k = 0; k < 16; ++k) {
      for (int c = 0; c < 8; ++c) d[r][c] += a[r][k] * b[k][c];
    }
  }
  for (int l = 0; l < 32; ++l) {
    const auto& lane = *static_cast<const MmaLane*>(meeting.data[l]);
    const int g = l / 4, t = l % 4;
    if (lane.d != nullptr) {
      for (int i = 0; i < 4; ++i) lane.d[i] += d[g + i / 2 * 8][2 * t + i % 2];
    } else {
      for (int i = 0; i < 2; ++i) {
        lane.half[i] = pair_of(low(lane.half[i], false) + d[g + i * 8][2 * t],
                               high(lane.half[i], false) + d[g + i * 8][2 * t + 1], false);
      }
    }
  }
  wake_warp(*self().warp);
}

// An operand of wgmma in shared memory, as its descriptor says (PTX ISA 9.7.15.5.1): core blocks
// of eight lines as wide as the swizzle.
struct Operand {
  u32 start, leading, stride;
  int width;  // bytes of a line of a core block
  u32 rows;   // address bits that swizzle
  bool transposed;

  Operand(u64 descriptor, bool transposed_) : transposed(transposed_) {
    start = static_cast<u32>(descriptor & 0x3fffU) << 4;
    leading = static_cast<u32>(descriptor >> 16 & 0x3fffU) << 4;
    stride = static_cast<u32>(descriptor >> 32 & 0x3fffU) << 4;
    if ((descriptor >> 49 & 7U) != 0) fault("a descriptor with a base offset is not emulated");
    constexpr int kWidths[] = {16, 128, 64, 32};
    constexpr u32 kRows[] = {0, 7, 3, 1};
    width = kWidths[descriptor >> 62];
    rows = kRows[descriptor >> 62];
  }
  // Eight elements: of line `line` (a row of A, column of B; if transposed a line of K) those from
  // 8 * chunk on along the other dimension.
  [[nodiscard]] const u16* chunk(int line, int chunk) const {
    u32 at = 0;
    const u32 block = static_cast<u32>(line / 8), within = static_cast<u32>(line % 8);
    const u32 bytes = static_cast<u32>(chunk) * 16, across = static_cast<u32>(width);
    if (rows != 0) {
      at = block * stride + within * across + bytes / across * leading + bytes % across;
      if (!transposed && bytes >= across) fault("wgmma: K beyond the swizzle");
    } else if (transposed) {
      at = block * leading + within * 16 + static_cast<u32>(chunk) * stride;
    } else {
      at = block * stride + within * 16 + static_cast<u32>(chunk) * leading;
    }
    u32 address = start + at;
    address ^= (address >> 7 & rows) << 4;
    Cta& cta = *self_cta;
    if (address < cta.start || address + 16 > cta.end) {
      fault(fmt::format("wgmma reads at {:#x}, shared memory is {:#x} to {:#x}", address, cta.start,
                        cta.end));
    }
    return reinterpret_cast<const u16*>(cta.memory + address);
  }
  Cta* self_cta = nullptr;
};

// What wgmma is going to read must be fenced when it is issued.
void check_fenced(const Operand& operand, int count) {
  const int lines = operand.transposed ? 16 : count, chunks = operand.transposed ? count / 8 : 2;
  for (int line = 0; line < lines; ++line) {
    for (int c = 0; c < chunks; ++c) {
      const auto* at = reinterpret_cast<const unsigned char*>(operand.chunk(line, c));
      check_fenced(*operand.self_cta, static_cast<u32>(at - operand.self_cta->memory), 16, "wgmma");
    }
  }
}

// Rows [first, first + count) of a 16-deep operand, to out[k * pitch + row].
void gather(const Operand& from, int first, int count, bool bf16, float* out, int pitch) {
  if (from.transposed) {
    for (int k = 0; k < 16; ++k) {
      for (int c = first / 8; c < (first + count) / 8; ++c) {
        const u16* some = from.chunk(k, c);
        for (int i = 0; i < 8; ++i) out[k * pitch + 8 * c - first + i] = value_of(some[i], bf16);
      }
    }
    return;
  }
  for (int r = 0; r < count; ++r) {
    for (int c = 0; c < 2; ++c) {
      const u16* some = from.chunk(first + r, c);
      for (int i = 0; i < 8; ++i) out[(8 * c + i) * pitch + r] = value_of(some[i], bf16);
    }
  }
}

void execute(Warp& warp, const Product& product) {
  const WgmmaForm& form = product.sums->form;
  const int n = form.columns;
  Operand a(product.a, form.transpose_a), b(product.b, form.transpose_b);
  a.self_cta = b.self_cta = warp.cta;
  float left[16 * 16], right[16 * 256];
  gather(a, 16 * (warp.number % 4), 16, form.bf16, left, 16);
  gather(b, 0, n, form.bf16, right, n);
  std::vector<float>& sums = product.sums->values;
  if (!product.accumulate) std::ranges::fill(sums, 0.0F);
  for (int r = 0; r < 16; ++r) {
    float* row = sums.data() + r * n;
    for (int k = 0; k < 16; ++k) {
      const float x = left[k * 16 + r];
      const float* y = right + k * n;
      for (int c = 0; c < n; ++c) row[c] += x * y[c];
    }
  }
  if (!form.f16_sums) return;
  for (float& sum : sums) sum = value_of(narrow(sum, false), false);
}

// Between the threads' registers and a warp's 16 rows.
void exchange_sums(const Sums& sums, std::vector<float>& values, bool out) {
  const int n = sums.form.columns;
  for (int l = 0; l < 32; ++l) {
    for (int j = 0; j < n / 8; ++j) {
      for (int half = 0; half < 2; ++half) {
        float* at = values.data() + (l / 4 + 8 * half) * n + 8 * j + 2 * (l % 4);
        if (sums.form.f16_sums) {
          u32& pair = static_cast<u32*>(sums.registers[l])[2 * j + half];
          if (out) {
            pair = pair_of(at[0], at[1], false);
          } else {
            at[0] = low(pair, false);
            at[1] = high(pair, false);
          }
        } else {
          float* registers = static_cast<float*>(sums.registers[l]) + 4 * j + 2 * half;
          std::copy_n(out ? at : registers, 2, out ? registers : at);
        }
      }
    }
  }
}

std::shared_ptr<Sums> take_sums(Warp& warp, const Meeting& meeting, const WgmmaForm& form) {
  struct Lane {
    void* d;
  };
  const auto pointer = [&](int lane) { return static_cast<const Lane*>(meeting.data[lane])->d; };
  for (const auto& sums : warp.sums) {
    if (sums->registers[0] != pointer(0)) continue;
    if (sums->form.columns != form.columns) fault("wgmma of another shape on sums under way");
    return sums;
  }
  auto sums = std::make_shared<Sums>();
  sums->form = form;
  sums->values.resize(static_cast<std::size_t>(16 * form.columns));
  for (int l = 0; l < 32; ++l) sums->registers[l] = pointer(l);
  exchange_sums(*sums, sums->values, false);
  const std::size_t bytes = static_cast<std::size_t>(form.columns) * (form.f16_sums ? 1 : 2);
  for (void* registers : sums->registers) std::memset(registers, kPoison, bytes);
  warp.sums.push_back(sums);
  return sums;
}

}  // namespace

float widen(u16 bits, bool bf16) {
  return value_of(bits, bf16);
}
u16 narrow(float value, bool bf16) {
  return bf16 ? tilewright::f64_to_bf16(value) : tilewright::f64_to_f16(value);
}

void load_matrices(u32* r, u32 address, bool transposed) {
  MatrixLane lane{address, r};
  meet(transposed ? "ldmatrix.trans" : "ldmatrix", 0, &lane, [&](const Meeting& meeting) {
    for (int matrix = 0; matrix < 4; ++matrix) {
      u16 values[8][8];
      for (int row = 0; row < 8; ++row) {
        std::memcpy(values[row], matrix_row(meeting, matrix, row, "ldmatrix"), 16);
      }
      for (int l = 0; l < 32; ++l) {
        const int g = l / 4, t = 2 * (l % 4);
        const u32 first = transposed ? values[t][g] : values[g][t];
        const u32 second = transposed ? values[t + 1][g] : values[g][t + 1];
        static_cast<MatrixLane*>(meeting.data[l])->r[matrix] = first | second << 16;
      }
    }
    wake_warp(*self().warp);
  });
}

void store_matrices(u32 address, const u32* r, bool transposed) {
  u32 copy[4];
  std::copy_n(r, 4, copy);
  MatrixLane lane{address, copy};
  meet(transposed ? "stmatrix.trans" : "stmatrix", 0, &lane, [&](const Meeting& meeting) {
    Warp& warp = *self().warp;
    for (int matrix = 0; matrix < 4; ++matrix) {
      for (int row = 0; row < 8; ++row) {
        unsigned char* to = matrix_row(meeting, matrix, row, "stmatrix");
        for (int column = 0; column < 8; ++column) {
          // As registers hold it, lane 4 g + t has row g, columns 2t and 2t + 1.
          const int g = transposed ? column : row, h = transposed ? row : column;
          const auto* from = static_cast<const MatrixLane*>(meeting.data[4 * g + h / 2]);
          const auto value = static_cast<u16>(from->r[matrix] >> (16 * (h % 2)));
          std::memcpy(to + 2 * column, &value, 2);
        }
        note_written(*warp.lanes[8 * matrix + row], *warp.cta,
                     static_cast<u32>(to - warp.cta->memory));
      }
    }
    wake_warp(warp);
  });
}

void mma(float* d, const u32* a, u32 b0, u32 b1, bool bf16) {
  MmaLane lane{d, nullptr, a, {b0, b1}};
  meet("mma", bf16 ? 1 : 0, &lane, [bf16](const Meeting& meeting) { multiply(meeting, bf16); });
}
void mma_f16(u32* d, const u32* a, u32 b0, u32 b1) {
  MmaLane lane{nullptr, d, a, {b0, b1}};
  meet("mma", 2, &lane, [](const Meeting& meeting) { multiply(meeting, false); });
}

void wgmma(void* d, u64 a, u64 b, bool accumulate, const WgmmaForm& form) {
  struct Lane {
    void* d;
  } lane{d};
  const std::uint64_t key = a * 0x9e3779b97f4a7c15ULL ^ b ^ (accumulate ? 1ULL << 63 : 0U);
  meet("wgmma", key, &lane, [&](const Meeting& meeting) {
    Warp& warp = *self().warp;
    if (!warp.fenced) fault("wgmma without a fence after its sums were in the threads' hands");
    // The same in all warps of the warpgroup.
    auto& products = warp.cta->products[warp.number / 4];
    if (warp.issued == products.size()) products.emplace_back(a, b);
    if (products[warp.issued++] != std::pair{a, b}) {
      fault("warps of a warpgroup issue different wgmma");
    }
    if (warp.number % 4 == 0) {  // one for all four
      Operand left(a, form.transpose_a), right(b, form.transpose_b);
      left.self_cta = right.self_cta = warp.cta;
      check_fenced(left, 64);
      check_fenced(right, form.columns);
    }
    Product product{a, b, accumulate, take_sums(warp, meeting, form), warp.group};
    product.sums->last_group = warp.group;
    warp.products.push_back(product);
    if (!is_late()) execute_products(warp, warp.group);
    wake_warp(warp);
  });
}

void execute_products(Warp& warp, int up_to_group) {
  while (!warp.products.empty() && warp.products.front().group <= up_to_group) {
    execute(warp, warp.products.front());
    warp.products.pop_front();
  }
}

void wgmma_fence() {
  meet("wgmma.fence", 0, nullptr, [](const Meeting&) {
    self().warp->fenced = true;
    wake_warp(*self().warp);
  });
}

void wgmma_commit() {
  meet("wgmma.commit_group", 0, nullptr, [](const Meeting&) {
    ++self().warp->group;
    wake_warp(*self().warp);
  });
}

void wgmma_wait(int pending) {
  meet("wgmma.wait_group", static_cast<std::uint64_t>(pending), nullptr, [&](const Meeting&) {
    Warp& warp = *self().warp;
    const int done = warp.group - pending - 1;  // groups up to this one
    execute_products(warp, done);
    std::erase_if(warp.sums, [&](const auto& sums) {
      if (sums->last_group > done) return false;
      exchange_sums(*sums, sums->values, true);
      warp.fenced = false;
      return true;
    });
    wake_warp(warp);
  });
}

}  // namespace emu
