// SPDX-License-Identifier: Apache-2.0
// The runtime library on a device: random products, and the numeric and integration cases that
// others have reported (CASES N and I). Wants a bundle of kernels: TILEWRIGHT_KERNELS, or one that
// is installed. TILEWRIGHT_RANDOM_PRODUCTS is how many random products are tried (500).
#include "gpu/random_products.h"

#include "vendor/lt_matmul.h"

#include <chrono>
#include <cstdlib>
#include <thread>

namespace tilewright {
namespace {

TEST_F(RuntimeCudaRandom, Products) {
  const char* const wanted = std::getenv("TILEWRIGHT_RANDOM_PRODUCTS");
  expect_all_right(wanted == nullptr ? 500 : std::atoi(wanted), 2026);
}

// Each listed product in both input types and all layouts.
template <class Change>
std::vector<Product> each_form(std::int64_t m, std::int64_t n, std::int64_t k,
                               const Change& change) {
  std::vector<Product> out;
  for (const tw_type type : {TW_F16, TW_BF16}) {
    for (int layout = 0; layout < 4; ++layout) {
      Product p = product(type, m, n, k);
      p.desc.a_layout = layout / 2;
      p.desc.b_layout = layout % 2;
      change(p);
      out.push_back(p);
    }
  }
  return out;
}

TEST_F(RuntimeCuda, ReportedShapes) {
  struct Listed {
    const char* id;
    std::int64_t m, n, k, batch;
    float alpha, beta;
  };
  Rng rng(1);
  for (const Listed& l : {Listed{"N01", 16, 16, 0, 1, 1, 0}, {"N01", 2, 3, 0, 3, 1, 0},
                          {"N01", 1, 4320, 0, 10, 1, 0},     {"N02", 3, 3, 0, 1, 1, 1},
                          {"N02", 3, 3, 0, 1, 1, 0.5F},      {"N03", 0, 7, 7, 5, 1, 0},
                          {"N03", 8, 0, 8, 1, 1, 0},         {"N03", 5, 9, 7, 0, 1, 0},
                          {"N03", 0, 0, 0, 0, 1, 0},         {"N04", 128, 128, 64, 1, 1, 0},
                          {"N04", 129, 127, 65, 1, 1, 0},    {"N04", 1, 3520, 128, 1, 1, 0},
                          {"N05", 4, 4, 4, 1, 0, 0},         {"N05", 130, 70, 33, 1, 0, 1},
                          {"N05", 130, 70, 33, 1, 0, 2},     {"N06", 200, 199, 201, 1, 1, 0},
                          {"N07", 1, 128, 1, 1, 1, 0},       {"N07", 513, 513, 1, 1, 1, 0},
                          {"N08", 16, 256, 14336, 1, 1, 0},  {"N24", 64, 64, 64, 1, 1, 0},
                          {"N25", 1, 105, 107, 1, 1, 0},     {"N25", 7, 512, 4096, 1, 1, 0},
                          {"N25", 9, 512, 4096, 1, 1, 0}}) {
    for (Product p : each_form(l.m, l.n, l.k, [](Product&) {})) {
      SCOPED_TRACE(l.id);
      p.desc.batch = l.batch;
      p.alpha = l.alpha;
      p.beta = l.beta;
      p.with_bias = std::string_view(l.id) == "N25";
      const bool padded = std::string_view(l.id) == "N06" || std::string_view(l.id) == "N24";
      if (padded) {
        const std::int64_t more = l.m == 64 ? 1 : 7;
        p.desc.lda = p.a_columns() + more;
        p.desc.ldb = p.b_columns() + more;
      }
      expect_right(p, rng);
      if (HasFailure()) return;
    }
  }
}

TEST_F(RuntimeCuda, N22AnyElementAlignedAddress) {
  Rng rng(2);
  for (const auto& [m, n, k] : {std::tuple{64, 64, 64}, {257, 129, 65}}) {
    for (int shift = 1; shift < 8; ++shift) {
      for (int which = 0; which < 3; ++which) {
        Product p = product(TW_F16, m, n, k);
        (which == 0 ? p.shift_a : which == 1 ? p.shift_b : p.shift_c) = shift;
        p.with_bias = true;
        expect_right(p, rng);
      }
    }
  }
}

TEST_F(RuntimeCuda, N09N11N13N15Values) {
  Rng rng(3);
  const auto constant = [](double v) { return [v](Rng&) { return v; }; };
  for (const std::int64_t k : {2048, 4096, 8192, 65504}) {
    Product p = product(TW_F16, 64, 64, k);
    p.draw_a = p.draw_b = constant(1);
    expect_right(p, rng);
  }
  for (const double v : {256.0, -256.0}) {  // 65536: beyond f16
    Product p = product(TW_F16, 8, 8, 1);
    p.draw_a = constant(v);
    p.draw_b = constant(256);
    fill(p, rng);
    ASSERT_EQ(call(p), TW_OK);
    std::uint16_t bits = 0;
    ASSERT_EQ(driver().MemcpyDtoH(&bits, c_.address(), 2), cuda::kSuccess);
    EXPECT_EQ(bits, v > 0 ? 0x7c00 : 0xfc00);
  }
  for (const tw_type type : {TW_F16, TW_BF16}) {  // subnormals, and zeros with a sign
    Product p = product(type, 16, 16, 16);
    p.draw_a = constant(type == TW_F16 ? std::ldexp(1, -24) : std::ldexp(1, -133));
    p.draw_b = constant(1);
    expect_right(p, rng);
    p.draw_a = constant(-0.0);
    p.beta = 1;
    p.draw_c = constant(-0.0);
    expect_right(p, rng);
  }
}

TEST_F(RuntimeCuda, N16N32TheSameAddressesAgain) {
  Rng rng(4);
  Product p = product(TW_F16, 64, 64, 8192);
  expect_right(p, rng);
  p.draw_a = [](Rng&) { return 0.0; };
  expect_right(p, rng);
  p.draw_a = nullptr;
  p.draw_c = [](Rng&) { return 1.0; };
  expect_right(p, rng);
  ASSERT_EQ(call(p), TW_OK);  // into the same C
  EXPECT_EQ(wrong(p), "");
}

TEST_F(RuntimeCuda, N26Broadcasts) {
  Rng rng(5);
  const auto one = [](Rng&) { return 1.0; };
  for (int which = 0; which < 4; ++which) {
    Product p = product(TW_F16, 32, 32, 32);
    p.desc.batch = 32;
    p.draw_a = p.draw_b = one;
    if (which == 0) p.desc.stride_a = 0;
    if (which == 1) p.desc.stride_b = 0;
    if (which == 2) p.desc.lda = 0;
    if (which == 3) p.desc.ldb = 0;
    expect_right(p, rng);
  }
}

TEST_F(RuntimeCuda, N28AliasedOperandsAreRefused) {
  Rng rng(6);
  Product p = product(TW_F16, 50, 50, 50);
  fill(p, rng);
  EXPECT_EQ(
      tw_gemm(handle_, &p.desc, 1, c_.pointer(), b_.pointer(), 0, c_.pointer(), nullptr, nullptr),
      TW_ALIASED);
  EXPECT_EQ(tw_gemm(handle_, &p.desc, 1, a_.pointer(), reinterpret_cast<void*>(c_.address() + 100),
                    0, c_.pointer(), nullptr, nullptr),
            TW_ALIASED);
}

// Results that are too large to compare whole.
class LargeRuntimeCuda : public RuntimeCuda {
 protected:
  // A and B drawn here, C painted there; then some rows are compared.
  void expect_rows(const Product& p, const Rows& rows, Rng& rng) {
    const tw_gemm_desc& d = p.desc;
    const std::size_t bytes = elements(d.m, d.n, p.ldc(), d.batch, p.sc()) * size_of(p.out());
    std::size_t free = 0, total = 0;
    ASSERT_EQ(driver().MemGetInfo(&free, &total), cuda::kSuccess);
    if (free < bytes + (std::size_t{2} << 30)) GTEST_SKIP() << "too little device memory";
    fill_inputs(p, rng);
    auto memory = cuda::Buffer::allocate(*context_, bytes);
    ASSERT_TRUE(memory) << memory.error().message;
    ASSERT_EQ(driver().MemsetD8Async(memory->address(), 0xff, bytes, nullptr), cuda::kSuccess);
    ASSERT_EQ(tw_gemm(handle_, &d, 1, a_.pointer(), b_.pointer(), 0,
                      reinterpret_cast<void*>(memory->address()), nullptr, nullptr),
              TW_OK)
        << tw_last_error();
    const Status done = context_->synchronize();
    ASSERT_TRUE(done) << done.error().message;
    std::vector<std::uint8_t> row(static_cast<std::size_t>(d.n) * size_of(p.out()));
    for (const auto& [entry, r] : rows) {
      const auto offset = static_cast<std::size_t>(entry * p.sc() + r * p.ldc());
      ASSERT_EQ(driver().MemcpyDtoH(row.data(), memory->address() + offset * size_of(p.out()),
                                    row.size()),
                cuda::kSuccess);
      EXPECT_EQ(wrong_row(p, entry, r, row.data()), "") << text_of(p);
    }
  }

 private:
  void fill_inputs(const Product& p, Rng& rng) {
    // One list of numbers again and again, of a length that no stride divides: drawing hundreds of
    // millions takes longer than all the rest.
    constexpr std::size_t kPeriod = 65521;
    const auto draw = [&](DeviceMatrix& matrix, std::size_t count) {
      std::vector<std::uint16_t> bits(kPeriod);
      std::vector<float> numbers(kPeriod);
      for (std::size_t i = 0; i < kPeriod; ++i) {
        const double number = (static_cast<double>(rng.below(17)) - 8) / 8;
        numbers[i] = static_cast<float>(number);
        store(p.in(), bits.data(), static_cast<std::int64_t>(i), number);
      }
      make(matrix, count * sizeof bits[0], 0);
      matrix.values.resize(count);
      std::uint8_t* const base = matrix.host.data() + matrix.at;
      for (std::size_t from = 0; from < count; from += kPeriod) {
        const std::size_t some = std::min(kPeriod, count - from);
        std::memcpy(base + from * sizeof bits[0], bits.data(), some * sizeof bits[0]);
        std::copy_n(numbers.begin(), some,
                    matrix.values.begin() + static_cast<std::ptrdiff_t>(from));
      }
      upload(matrix);
    };
    const tw_gemm_desc& d = p.desc;
    draw(a_, elements(p.a_rows(), p.a_columns(), p.lda(), d.batch, p.sa()));
    draw(b_, elements(p.b_rows(), p.b_columns(), p.ldb(), d.batch, p.sb()));
  }
};

TEST_F(LargeRuntimeCuda, N18OffsetsBeyond32Bits) {
  Rng rng(7);
  for (const std::int64_t batch : {8192, 8193, 8208, 8209}) {
    Product p = product(TW_BF16, 512, 512, 1);
    p.desc.batch = batch;
    expect_rows(p, {{0, 0}, {4096, 7}, {8191, 511}, {batch - 1, 0}, {batch - 1, 511}}, rng);
  }
}

TEST_F(LargeRuntimeCuda, N20GridsBeyond65535) {
  Rng rng(8);
  for (const std::int64_t batch : {65535, 65536, 200000}) {
    for (const std::int64_t k : {4, 8}) {
      Product p = product(TW_F16, 225, 4, k);
      p.desc.batch = batch;
      expect_rows(p, {{0, 0}, {32768, 100}, {65534, 224}, {batch - 1, 224}}, rng);
    }
  }
  expect_rows(product(TW_F16, 1, 65536 * 128 + 1, 8), {{0, 0}}, rng);
}

TEST_F(LargeRuntimeCuda, N21ElementsBeyond32Bits) {
  Rng rng(9);
  expect_rows(product(TW_F16, 23491, 128256, 64), {{0, 0}, {0, 11745}, {0, 16744}, {0, 23490}},
              rng);
}

TEST_F(RuntimeCuda, N33RunToRun) {
  Rng rng(10);
  for (const std::int64_t k : {8192, 14336}) {
    Product p = product(TW_F16, 64, 64, k);
    p.desc.mode = TW_DETERMINISTIC;
    fill(p, rng);
    std::vector<std::uint8_t> first(64 * 64 * 2), next(first.size());
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(call(p), TW_OK);
      ASSERT_EQ(driver().MemcpyDtoH(next.data(), c_.address(), next.size()), cuda::kSuccess);
      if (i == 0) first = next;
      ASSERT_EQ(first, next) << i;
    }
  }
}

TEST_F(RuntimeCuda, BatchInvariantRows) {
  Rng rng(11);
  const std::int64_t n = 512, k = 4096;
  Product p = product(TW_F16, 300, n, k);
  p.desc.mode = TW_BATCH_INVARIANT;
  fill(p, rng);
  std::vector<std::uint8_t> all(static_cast<std::size_t>(300 * n * 2)), some(all.size());
  ASSERT_EQ(call(p), TW_OK);
  ASSERT_EQ(driver().MemcpyDtoH(all.data(), c_.address(), all.size()), cuda::kSuccess);
  for (const std::int64_t m : {1, 2, 31, 64, 129, 257}) {
    p.desc.m = m;
    ASSERT_EQ(call(p), TW_OK);
    const auto bytes = static_cast<std::size_t>(m * n * 2);
    ASSERT_EQ(driver().MemcpyDtoH(some.data(), c_.address(), bytes), cuda::kSuccess);
    EXPECT_EQ(std::memcmp(all.data(), some.data(), bytes), 0) << m;
  }
}

TEST_F(RuntimeCuda, I01WorkIsOrderedByItsStream) {
  cuda::Stream stream = nullptr;
  ASSERT_EQ(driver().StreamCreate(&stream, 1), cuda::kSuccess);  // not the legacy stream's friend
  auto delay = cuda::Buffer::allocate(*context_, std::size_t{1} << 30);
  ASSERT_TRUE(delay);
  Rng rng(12);
  Product p = product(TW_F16, 128, 128, 128);
  DeviceMatrix real;
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    fill(p, rng);
    make(real, a_.host.size() - kGuard - a_.at, 0);
    real.host = a_.host;
    upload(real);
    ASSERT_EQ(driver().MemsetD8Async(a_.memory.address(), 0, a_.host.size(), stream),
              cuda::kSuccess);
    for (int i = 0; i < 10; ++i) {  // some milliseconds of copies
      ASSERT_EQ(driver().MemcpyDtoDAsync(delay->address(), delay->address() + (1U << 29), 1U << 29,
                                         stream),
                cuda::kSuccess);
    }
    ASSERT_EQ(driver().MemcpyDtoDAsync(a_.memory.address(), real.memory.address(), a_.host.size(),
                                       stream),
              cuda::kSuccess);
    ASSERT_EQ(call(p, stream), TW_OK) << tw_last_error();
    ASSERT_EQ(driver().StreamSynchronize(stream), cuda::kSuccess);
    EXPECT_EQ(wrong(p), "") << round;
  }
  driver().StreamDestroy(stream);
}

TEST_F(RuntimeCuda, I02TheFirstCallIsCaptured) {
  cuda::Stream stream = nullptr;
  ASSERT_EQ(driver().StreamCreate(&stream, 1), cuda::kSuccess);
  Rng rng(13);
  for (const auto& [m, n, k] :
       {std::tuple{48, 56, 72}, {16, 256, 8192}, {513, 511, 33}, {1024, 1024, 1024}}) {
    const Product p = product(TW_F16, m, n, k);
    fill(p, rng);
    cuda::Graph graph = nullptr;
    cuda::GraphExec exec = nullptr;
    ASSERT_EQ(driver().StreamBeginCapture(stream, 0), cuda::kSuccess);
    ASSERT_EQ(call(p, stream), TW_OK) << tw_last_error();
    ASSERT_EQ(driver().StreamEndCapture(stream, &graph), cuda::kSuccess);
    ASSERT_EQ(driver().GraphInstantiateWithFlags(&exec, graph, 0), cuda::kSuccess);
    for (int replay = 0; replay < 3; ++replay) {
      store(p.in(), a_.host.data() + a_.at, replay, 3.0 + replay);
      decode(a_, p.in());
      upload(a_);
      upload(c_);
      ASSERT_EQ(driver().GraphLaunch(exec, stream), cuda::kSuccess);
      ASSERT_EQ(driver().StreamSynchronize(stream), cuda::kSuccess);
      if (m <= 513) {
        EXPECT_EQ(wrong(p), "");
      }
    }
    driver().GraphExecDestroy(exec);
    driver().GraphDestroy(graph);
  }
  driver().StreamDestroy(stream);
}

// tw_prepare times, says so, and what it chose is right, for calls that it can serve and for those
// that go further down the ladder.
TEST_F(RuntimeCuda, PrepareChoosesByTiming) {
  Rng rng(15);
  for (const auto& [m, n, k] : {std::tuple{61, 67, 71},
                                {72, 4104, 520},
                                {1, 3001, 1999},
                                {520, 264, 1032},
                                {17, 33, 20001},
                                {513, 511, 515}}) {
    for (const tw_type type : {TW_F16, TW_BF16}) {
      Product p = product(type, m, n, k);
      p.desc.b_layout = type == TW_F16 ? TW_N : TW_T;
      EXPECT_EQ(explained(p).find("timed: "), std::string::npos);
      const auto start = std::chrono::steady_clock::now();
      ASSERT_EQ(tw_prepare(handle_, &p.desc, nullptr), TW_OK) << tw_last_error();
      const double spent =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      const std::string text = explained(p);
      EXPECT_NE(text.find("timed: "), std::string::npos) << text;
      const std::size_t line = text.find('\n') + 1;
      std::printf("%dx%dx%d, prepared in %.1f ms: %s\n", m, n, k, 1e3 * spent,
                  text.substr(line, text.find('\n', line) - line).c_str());
      expect_right(p, rng);
      p.beta = 0.5F;
      p.with_bias = true;
      expect_right(p, rng);
      p.shift_a = p.shift_c = 1;
      expect_right(p, rng);
    }
  }
}

TEST_F(RuntimeCuda, PrepareIsRefusedWithinACapture) {
  cuda::Stream stream = nullptr;
  cuda::Graph graph = nullptr;
  ASSERT_EQ(driver().StreamCreate(&stream, 1), cuda::kSuccess);
  ASSERT_EQ(driver().StreamBeginCapture(stream, 0), cuda::kSuccess);
  const Product p = product(TW_F16, 72, 88, 104);
  EXPECT_EQ(tw_prepare(handle_, &p.desc, stream), TW_INVALID);
  EXPECT_EQ(driver().StreamEndCapture(stream, &graph), cuda::kSuccess);
  driver().GraphDestroy(graph);
  // Another thread may prepare meanwhile, for another stream: the capture is none the worse.
  cuda::Stream other = nullptr;
  ASSERT_EQ(driver().StreamCreate(&other, 1), cuda::kSuccess);
  ASSERT_EQ(driver().StreamBeginCapture(stream, 0), cuda::kSuccess);
  std::jthread([&] { EXPECT_EQ(tw_prepare(handle_, &p.desc, other), TW_OK); }).join();
  EXPECT_EQ(driver().StreamEndCapture(stream, &graph), cuda::kSuccess);
  EXPECT_NE(explained(p).find("timed: "), std::string::npos) << explained(p);
  driver().GraphDestroy(graph);
  driver().StreamDestroy(other);
  driver().StreamDestroy(stream);
}

// What opening a device takes, with the driver already there and without. Printed, not judged.
TEST_F(RuntimeCuda, WhatOpeningTakes) {
  tw_options options;
  tw_options_init(&options);
  options.device = 0;
  std::vector<double> taken;
  for (int i = 0; i < 5; ++i) {
    tw_handle another = nullptr;
    const auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(tw_create(&another, &options), TW_OK) << tw_last_error();
    taken.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    tw_destroy(another);
  }
  std::sort(taken.begin(), taken.end());
  std::printf("tw_create: %.1f ms, beside another handle %.1f ms (median)\n", 1e3 * opened_in_,
              1e3 * taken[2]);
}

// What a call costs its host, beside cublasLtMatmul with an algorithm that was chosen before, in
// one run and by turns. Printed, not judged.
TEST_F(RuntimeCuda, HostCostBesideCublasLt) {
  const auto library = vendor::cublas_lt();
  if (!library) GTEST_SKIP() << library.error().message;
  vendor::LtHandle handle = nullptr;
  ASSERT_EQ((*library)->Create(&handle), vendor::kSuccess);
  Rng rng(14);
  for (const std::int64_t size : {64, 256}) {
    Product p = product(TW_F16, size, size, size);
    p.desc.mode = TW_DETERMINISTIC;  // or it might be left to cublasLt
    fill(p, rng);
    ASSERT_EQ(tw_prepare(handle_, &p.desc, nullptr), TW_OK);
    Problem problem;
    problem.m = problem.n = problem.k = size;
    auto matmul = vendor::LtMatmul::make(
        **library, handle, vendor::column_gemm(problem, vendor::packed_strides(problem)));
    ASSERT_TRUE(matmul) << matmul.error().message;
    vendor::LtLimits limits;
    limits.align_left = limits.align_right = limits.align_out = 16;
    const auto proposals = matmul->propose(limits, 4);
    ASSERT_TRUE(proposals && !proposals->empty());
    const auto seconds = [&](const auto& enqueue) {
      constexpr int kCalls = 300;  // fewer than a stream holds
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kCalls; ++i) enqueue();
      const double spent =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      std::ignore = context_->synchronize();
      return spent / kCalls;
    };
    std::vector<double> ours, theirs;
    for (int round = 0; round < 41; ++round) {
      ours.push_back(seconds([&] { std::ignore = call(p); }));
      theirs.push_back(seconds([&] {
        std::ignore = matmul->run(proposals->front().algo, 1, b_.address(), a_.address(), 0,
                                  c_.address(), 0, 0, nullptr);
      }));
    }
    for (auto* list : {&ours, &theirs}) std::sort(list->begin(), list->end());
    std::printf("%lld^3, host: tw_gemm %.0f ns, cublasLtMatmul %.0f ns a call (medians)\n",
                static_cast<long long>(size), 1e9 * ours[20], 1e9 * theirs[20]);
  }
  (*library)->Destroy(handle);
}

}  // namespace
}  // namespace tilewright
