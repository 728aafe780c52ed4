// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: the driver of driver/fake_driver.cc, bundles of kernels that
// it understands, a backend on top, and a plain product to compare with.
#pragma once

#include "base/element.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/scratch_folder.h"
#include "cli/bundle_kernels.h"
#include "runtime/backend.h"
#include "runtime_cuda/driver/fake_state.h"

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::runtime {

inline FakeState& fake() {
  static FakeState* const state = [] {
    void* const library = dlopen(TILEWRIGHT_FAKE_CUDA, RTLD_NOW | RTLD_GLOBAL);
    return reinterpret_cast<FakeState* (*)()>(dlsym(library, "tw_fake_state"))();
  }();
  return *state;
}

// Before anything opens a driver, or a vendor's library, in this process.
class FakeDriver : public ::testing::Environment {
 public:
  void SetUp() override {
    setenv("TILEWRIGHT_LIBCUDA", TILEWRIGHT_FAKE_CUDA, 1);
    setenv("TILEWRIGHT_CUDA_LIBRARIES", TILEWRIGHT_FAKE_VENDOR, 1);
    setenv("XDG_DATA_HOME", "/nonexistent", 1);
  }
};
inline const ::testing::Environment* const kFakeDriver =
    ::testing::AddGlobalTestEnvironment(new FakeDriver);

inline Device described(const std::string& file) {
  return *device_from_json(*read_file(TILEWRIGHT_SOURCE_DIR "/devices/" + file));
}

// What the fake driver needs to know of a kernel.
inline std::string fake_cubin(const BundleKernel& kernel) {
  std::string image(64, '\0');
  image.replace(0, 4, "\177ELF");
  const Problem p = *parse_problem(kernel.problem);
  image += "tw_kernel " + std::string(name_of(p.in)) + " " + std::string(name_of(p.out));
  image += p.a_transposed ? " t" : " n";
  image += p.b_transposed ? " t" : " n";
  for (const int elements : kernel.alignment) image += " " + std::to_string(elements);
  std::string program = kernel.program;
  std::ranges::replace(program, ' ', ',');
  image += " program:" + program;
  for (const std::string& word : kernel.launch.cuda.arguments) image += " " + word;
  for (const LaunchStep& step : kernel.launch.cuda.before) {
    image += " | " + step.symbol;
    for (const std::string& word : step.arguments) image += " " + word;
  }
  return image + '\0';
}

inline std::string fake_bundle(const Device& device, std::vector<PlannedKernel> kernels) {
  Bundle bundle{device.silicon, device.cuda.capability, {}};
  std::vector<std::string> cubins;
  cubins.reserve(kernels.size());
  for (PlannedKernel& planned : kernels) {
    cubins.push_back(fake_cubin(planned.kernel));
    bundle.kernels.push_back(std::move(planned.kernel));
    bundle.kernels.back().cubin = cubins.back();
  }
  return to_bytes(bundle);
}

// Matrices with room around, so that any address can be had.
struct Case {
  Call call;
  Operands operands;
  std::vector<std::uint8_t> a, b, c, bias, before;
  std::size_t c_at = 0;
  bool bias_used = false;

  static std::size_t extent(std::int64_t rows, std::int64_t ld, std::int64_t columns,
                            std::int64_t batch, std::int64_t stride) {
    if (rows == 0 || columns == 0 || batch == 0) return 0;
    return static_cast<std::size_t>((batch - 1) * stride + (rows - 1) * ld + columns);
  }
  // `shift`: elements by which the operands are off a multiple of 64 bytes.
  void fill(Rng& rng, std::array<int, 3> shift = {0, 0, 0}, bool with_bias = false) {
    const std::size_t in = size_of(call.in), out = size_of(call.out);
    const auto place = [](std::vector<std::uint8_t>& bytes, std::size_t size, std::size_t at) {
      bytes.assign(size + at + 256, 0);
      const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
      return (64 - address % 64) % 64 + at;
    };
    const auto draw = [&](ElementType type, std::uint8_t* to, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        store(type, to, static_cast<std::int64_t>(i),
              static_cast<double>(static_cast<std::int64_t>(rng.below(9)) - 4) / 4);
      }
    };
    const std::size_t na =
        extent(call.a_rows(), call.lda, call.a_columns(), call.batch, call.stride_a);
    const std::size_t nb =
        extent(call.b_rows(), call.ldb, call.b_columns(), call.batch, call.stride_b);
    const std::size_t nc = extent(call.m, call.ldc, call.n, call.batch, call.stride_c);
    std::uint8_t* const pa = a_at(place(a, na * in, static_cast<std::size_t>(shift[0]) * in), a);
    std::uint8_t* const pb = a_at(place(b, nb * in, static_cast<std::size_t>(shift[1]) * in), b);
    c_at = place(c, nc * out, static_cast<std::size_t>(shift[2]) * out);
    draw(call.in, pa, na);
    draw(call.in, pb, nb);
    draw(call.out, c.data() + c_at, nc);
    bias.assign(static_cast<std::size_t>(call.n) * out + 8, 0);
    draw(call.out, bias.data(), static_cast<std::size_t>(call.n));
    operands.a = pa;
    operands.b = pb;
    operands.c = c.data() + c_at;
    operands.bias = with_bias ? bias.data() : nullptr;
    before = c;
  }
  static std::uint8_t* a_at(std::size_t at, std::vector<std::uint8_t>& bytes) {
    return bytes.data() + at;
  }

  // Empty if C is what it has to be, gaps included.
  [[nodiscard]] std::string wrong() const {
    std::vector<std::uint8_t> expected = before;
    void* const to = expected.data() + c_at;
    const double alpha = operands.alpha, beta = operands.beta;
    for (std::int64_t e = 0; e < call.batch; ++e) {
      for (std::int64_t i = 0; i < call.m; ++i) {
        for (std::int64_t j = 0; j < call.n; ++j) {
          double sum = 0;
          for (std::int64_t l = 0; alpha != 0 && l < call.k; ++l) {
            sum +=
                load(
                    call.in, operands.a,
                    e * call.stride_a + (call.a_transposed ? l * call.lda + i : i * call.lda + l)) *
                load(call.in, operands.b,
                     e * call.stride_b + (call.b_transposed ? j * call.ldb + l : l * call.ldb + j));
          }
          const std::int64_t at = e * call.stride_c + i * call.ldc + j;
          double x = alpha * sum + (beta != 0 ? beta * load(call.out, to, at) : 0);
          if (operands.bias != nullptr) x += load(call.out, operands.bias, j);
          if (call.activation == TW_RELU) x = x < 0 ? 0 : x;
          if (call.activation == TW_GELU) x = 0.5 * x * std::erfc(-x / std::sqrt(2.0));
          if (call.activation == TW_SILU) x = x / (1 + std::exp(-x));
          store(call.out, to, at, x);
        }
      }
    }
    return expected == c ? "" : "C differs from the plain product";
  }
};

// A packed call.
inline Call packed(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
  Call call;
  call.m = m;
  call.n = n;
  call.k = k;
  call.batch = batch;
  call.lda = k;
  call.ldb = n;
  call.ldc = n;
  call.stride_a = m * k;
  call.stride_b = k * n;
  call.stride_c = m * n;
  return call;
}

class CudaBackendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FakeState& s = fake();
    s.compute = true;
    s.keep = false;
    s.launch_code = 0;
    s.out_of_memory = false;
    s.elsewhere = 0;
    s.cost = nullptr;
    s.vendor_us = 1;
    s.free_bytes = std::size_t{60} << 30;
    const std::scoped_lock lock(s.mutex);
    s.kept.clear();
    s.faults.clear();
    options_.kernels = folder_.path().string();
    options_.installed_wisdom = false;
    options_.no_vendor = true;
    options_.timing_seconds = 0;  // the fake device computes: no burst of calls, please
    options_.streams = 2;
    options_.workspace_bytes = 8 << 20;
  }
  void TearDown() override {
    for (const std::string& fault : fake().faults) ADD_FAILURE() << fault;
  }
  void write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(write_file_atomically(folder_.path() / name, bytes));
  }
  // The core set of each fake device, made once.
  static const std::string& core(int device) {
    static const std::array<std::string, 2> bundles = {core_of("h200.json"), core_of("a100.json")};
    return bundles[static_cast<std::size_t>(device)];
  }
  static std::string core_of(const std::string& file) {
    const Device device = described(file);
    return fake_bundle(device, *core_kernels(device));
  }
  std::unique_ptr<Backend> open(int device = 0) {
    write("core" + std::to_string(device) + ".twk", core(device));
    auto backend = open_cuda(options_, device);
    EXPECT_TRUE(backend) << backend.error().message;
    return backend ? *std::move(backend) : nullptr;
  }
  static void expect_right(Backend& backend, Case& c, void* stream = nullptr,
                           const std::string& what = {}) {
    const auto origin = backend.run(c.call, c.operands, stream);
    ASSERT_TRUE(origin) << what << origin.error().message;
    EXPECT_EQ(c.wrong(), "") << what << backend.explain(c.call).value();
  }

  ScratchFolder folder_;
  Options options_;
};

}  // namespace tilewright::runtime
