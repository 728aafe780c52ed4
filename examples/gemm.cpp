// SPDX-License-Identifier: Apache-2.0
// The library from C++20: a torch Linear with relu, y = relu(x * w^T + bias), on the CPU.
//
// CMakeLists.txt beside this file builds it with find_package(tilewright).
#include <tilewright/tilewright.hpp>

#include <cstdint>
#include <iostream>
#include <vector>

namespace {

// f16 has these numbers as they stand: 1, 2, -3.
constexpr std::uint16_t kOne = 0x3c00, kTwo = 0x4000, kMinusThree = 0xc200;

int failed(const char* what, const tw::Error& error) {
  std::cerr << what << ": " << error.message << '\n';
  return 1;
}

}  // namespace

int main() {
  constexpr std::int64_t kBatch = 2, kIn = 64, kOut = 8;
  const std::vector<std::uint16_t> x(kBatch * kIn, kOne), w(kOut * kIn, kTwo),
      bias(kOut, kMinusThree);
  std::vector<std::uint16_t> y(kBatch * kOut);

  auto device = tw::Handle::create({.device = TW_DEVICE_CPU});
  if (!device) return failed("create", device.error());

  tw::Gemm linear(tw::Type::f16, kBatch, kOut, kIn);
  linear.b(tw::Layout::t).activation(tw::Activation::relu);
  if (auto done = device->prepare(linear); !done) return failed("prepare", done.error());
  // Spans know their sizes, so a vector that is too small is an error and no crash. For memory of a
  // GPU: device->run(linear, {.a = x, .b = w, .c = y, .bias = bias}, stream).
  if (auto done = device->run(linear, std::span(x), std::span(w), std::span(y), bias); !done) {
    return failed("run", done.error());
  }

  const auto why = device->explain(linear);
  if (!why) return failed("explain", why.error());
  std::cout << *why;
  const tw_counts counts = device->counts();
  std::cout << counts.exact + counts.nearest + counts.built_in << " product of ours\n";

  // Errors are values that name the argument.
  std::vector<std::uint16_t> small(kBatch * kOut - 1);
  const auto refused = device->run(linear, std::span(x), std::span(w), std::span(small), bias);
  std::cout << (refused ? "not refused" : refused.error().message) << '\n';

  constexpr std::uint16_t k125 = 0x57d0;  // relu(64 * 1 * 2 - 3)
  for (const std::uint16_t element : y) {
    if (element != k125) return std::cerr << "a wrong element\n", 1;
  }
  return refused ? 1 : 0;
}
