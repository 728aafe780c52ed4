// SPDX-License-Identifier: Apache-2.0
// The checker's kernels (kernels/*.cuh), loaded into the parent's context, on one stream.
//
// Their text is compiled for the device at first use, through the same cache as candidates. Every
// status is looked at. The first that is not success stays: from then on nothing is launched and
// trouble() says what happened, so that the code which uses a bench needs no error path of its own
// and no result of a broken checker is ever held against a candidate.
#pragma once

#include "base/outcome.h"
#include "compile/compile.h"
#include "device/cuda/context.h"
#include "verify/cuda/kernels/arguments.h"
#include "verify/cuda/memory_pool.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

enum class Kernel {
  draw_matrix,
  fill_outside,
  change_element,
  copy_words,
  digest_words,
  guard_stretches,
  guard_gaps,
  scrub_workspace,
  spoil_workspace,
  check_zeros,
  lay_bait,
  find_written_beyond,
  product,
  product_magnitude,
  weighed_product,
  weighed_product_magnitude,
  weigh_rows,
  weigh_columns,
  compare_strip,
  judge_weighed,
  inner_products
};
inline constexpr std::array<const char*, 21> kKernelNames = {
    "draw_matrix",     "fill_outside",      "change_element",  "copy_words",
    "digest_words",    "guard_stretches",   "guard_gaps",      "scrub_workspace",
    "spoil_workspace", "check_zeros",       "lay_bait",        "find_written_beyond",
    "product",         "product_magnitude", "weighed_product", "weighed_product_magnitude",
    "weigh_rows",      "weigh_columns",     "compare_strip",   "judge_weighed",
    "inner_products"};

// The kernels as a source for a device of this compute capability (90 for 9.0).
[[nodiscard]] Source checker_source(int capability);

class KernelBench {
 public:
  // The context must outlive the bench.
  [[nodiscard]] static Result<std::unique_ptr<KernelBench>> open(const cuda::Context& context,
                                                                 Compiler& compiler,
                                                                 int capability);
  // With the kernels as compiled already.
  [[nodiscard]] static Result<std::unique_ptr<KernelBench>> load(const cuda::Context& context,
                                                                 const std::string& cubin);
  ~KernelBench();
  KernelBench(const KernelBench&) = delete;
  KernelBench& operator=(const KernelBench&) = delete;

  // Makes the context current on this thread.
  void enter();
  void synchronize();

  template <class... Arguments>
  void run(Kernel kernel, std::int64_t blocks, Arguments... arguments) {
    std::array<void*, sizeof...(Arguments)> pointers = {&arguments...};
    launch(kernel, blocks, pointers.data());
  }
  // Blocks of kThreads for a loop over `items`, each thread taking some where there are many.
  [[nodiscard]] std::int64_t blocks_for(std::int64_t items) const;
  static constexpr unsigned kThreads = 256;

  // Contents are undefined; empty if there is trouble.
  [[nodiscard]] PooledMemory allocate(std::size_t bytes);
  void set_bytes(cuda::Pointer at, unsigned char value, std::size_t bytes);
  template <class T>
  [[nodiscard]] PooledMemory upload(const std::vector<T>& values) {
    PooledMemory buffer = allocate(values.size() * sizeof(T));
    upload_to(buffer.address(), values);
    return buffer;
  }
  template <class T>
  void upload_to(cuda::Pointer at, const std::vector<T>& values) {
    copy_in(at, values.data(), values.size() * sizeof(T));
  }
  // Memory for the results of one check, which the next may take.
  [[nodiscard]] cuda::Pointer results(std::size_t bytes);
  // Waits for the stream. Value-initialised elements if there is trouble.
  template <class T>
  [[nodiscard]] std::vector<T> download(cuda::Pointer at, std::size_t count) {
    std::vector<T> values(count);
    copy_out(values.data(), at, count * sizeof(T));
    return values;
  }

  // Ok, or what failed: rule `verifier`, outcome noisy.
  [[nodiscard]] const Finding& trouble() const { return trouble_; }
  // Device memory in bytes.
  [[nodiscard]] std::size_t memory_bytes() const { return memory_bytes_; }

 private:
  explicit KernelBench(const cuda::Context& context)
      : context_(context), pool_(std::make_shared<MemoryPool>(context)) {}
  void launch(Kernel kernel, std::int64_t blocks, void** arguments);
  void copy_in(cuda::Pointer to, const void* from, std::size_t bytes);
  void copy_out(void* to, cuda::Pointer from, std::size_t bytes);
  bool worked(const Status& status);

  const cuda::Context& context_;
  cuda::LoadedModule module_;
  std::array<cuda::Function, kKernelNames.size()> functions_{};
  cuda::Stream stream_ = nullptr;
  Finding trouble_;
  std::shared_ptr<MemoryPool> pool_;
  PooledMemory results_;
  std::int64_t most_blocks_ = 1024;
  std::size_t memory_bytes_ = 0;
};

// An address as the kernels' arguments want it.
template <class T>
[[nodiscard]] T* device_pointer(cuda::Pointer address) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}
template <class T>
[[nodiscard]] T* device_pointer(const PooledMemory& buffer) {
  return device_pointer<T>(buffer.address());
}

}  // namespace tilewright
