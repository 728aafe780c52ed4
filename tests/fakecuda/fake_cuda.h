// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: the driver of driver/fake_driver.cc, and its cubins.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace tilewright {

// Before anything opens a driver in this process; runners inherit it.
class FakeDriver : public ::testing::Environment {
 public:
  void SetUp() override { setenv("TILEWRIGHT_LIBCUDA", TILEWRIGHT_FAKE_CUDA, 1); }
};
inline const ::testing::Environment* const kFakeDriver =
    ::testing::AddGlobalTestEnvironment(new FakeDriver);

// A cubin as the fake driver reads it: one kernel a line, its name and its parameters' sizes.
inline std::string fake_cubin(const std::string& kernels) {
  std::string image(64, '\0');
  image.replace(0, 4, "\177ELF");
  return image + kernels + '\0';
}

}  // namespace tilewright
