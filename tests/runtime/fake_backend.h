// SPDX-License-Identifier: Apache-2.0
// A device made of promises: it notes what it is asked for, and answers as it was told.
#pragma once

#include "runtime/handle.h"

#include <memory>
#include <utility>
#include <vector>

namespace tilewright::runtime {

// What a fake backend saw and shall do. Outlives the backend.
struct FakeDevice {
  std::vector<Call> prepared, explained;
  std::vector<std::pair<Call, Operands>> ran;
  std::vector<void*> streams;
  tl::expected<Origin, Failure> answer = Origin::built_in;
  std::string text = "a fake kernel\n";
  void (*before)() = nullptr;  // called first by every function; may throw
};

class FakeBackend : public Backend {
 public:
  explicit FakeBackend(FakeDevice& device) : device_(device) {}

  tl::expected<void, Failure> prepare(const Call& call, void* stream) override {
    begin(stream);
    device_.prepared.push_back(call);
    if (!device_.answer) return tl::unexpected(device_.answer.error());
    return {};
  }
  tl::expected<Origin, Failure> run(const Call& call, const Operands& operands,
                                    void* stream) override {
    begin(stream);
    device_.ran.emplace_back(call, operands);
    return device_.answer;
  }
  tl::expected<std::string, Failure> explain(const Call& call) override {
    begin(nullptr);
    device_.explained.push_back(call);
    return device_.text;
  }

 private:
  void begin(void* stream) {
    if (device_.before != nullptr) device_.before();
    device_.streams.push_back(stream);
  }

  FakeDevice& device_;
};

// Destroyed by tw_destroy.
inline tw_handle handle_of(FakeDevice& device) {
  auto handle = std::make_unique<tw_handle_s>();
  handle->backend = std::make_unique<FakeBackend>(device);
  return handle.release();
}

}  // namespace tilewright::runtime
