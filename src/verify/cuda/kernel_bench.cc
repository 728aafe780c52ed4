// SPDX-License-Identifier: Apache-2.0
// See kernel_bench.h.
#include "verify/cuda/kernel_bench.h"

#include "base/embedded.h"
#include "base/file.h"
#include "verify/ground.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

namespace tilewright {

// Generated from kernels/ and ../both/ by tw_embed.
std::span<const EmbeddedFile> checker_files();

namespace {

// The functions that both compilers read are plain constexpr; a device compiler wants to be told
// that they are meant for it, and NVRTC and nvcc have different flags for that. So it is written.
std::string for_device(std::string_view text) {
  constexpr std::string_view plain = "\nconstexpr ";
  std::string marked;
  for (;;) {
    const std::size_t at = text.find(plain);
    marked += text.substr(0, at);
    if (at == std::string_view::npos) return marked;
    marked += "\n__host__ __device__ constexpr ";
    text.remove_prefix(at + plain.size());
  }
}

}  // namespace

Source checker_source(int capability) {
  Source source;
  source.language = "cuda";
  source.flags = {fmt::format("--gpu-architecture=sm_{}", capability)};
  for (const EmbeddedFile& file : checker_files()) {
    if (file.name.ends_with(".cu")) {
      source.text = file.text;
    } else {
      source.headers.emplace_back(
          file.name, file.name.ends_with(".h") ? for_device(file.text) : std::string(file.text));
    }
  }
  source.launch.target = "cuda";
  source.launch.symbol = kKernelNames.front();
  return source;
}

Result<std::unique_ptr<KernelBench>> KernelBench::open(const cuda::Context& context,
                                                       Compiler& compiler, int capability) {
  const CompileResult built = compiler.compile(checker_source(capability));
  if (!built.binary) {
    return fail(built.finding.rule == "environment" ? ErrorCode::environment : ErrorCode::internal,
                fmt::format("the checker's kernels could not be compiled: {}: {}",
                            built.finding.rule, built.finding.detail));
  }
  const auto cubin = read_file(built.binary->path);
  if (!cubin) return tl::unexpected(cubin.error());
  return load(context, *cubin);
}

Result<std::unique_ptr<KernelBench>> KernelBench::load(const cuda::Context& context,
                                                       const std::string& cubin) {
  std::unique_ptr<KernelBench> bench(new KernelBench(context));
  if (Status s = context.make_current(); !s) return tl::unexpected(s.error());
  auto module = cuda::LoadedModule::load(context, cubin.data());
  if (!module) return tl::unexpected(module.error());
  bench->module_ = *std::move(module);
  for (std::size_t i = 0; i < kKernelNames.size(); ++i) {
    const auto function = bench->module_.function(kKernelNames[i]);
    if (!function) return tl::unexpected(function.error());
    bench->functions_[i] = *function;
  }
  const cuda::Driver& d = context.driver();
  constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
  if (Status s = d.check(d.StreamCreate(&bench->stream_, kNonBlocking), "making a stream"); !s) {
    return tl::unexpected(s.error());
  }
  bench->most_blocks_ = 16 * std::max(context.attribute(cuda::kMultiprocessors), 1);
  static_cast<void>(d.DeviceTotalMem(&bench->memory_bytes_, context.device()));
  return bench;
}

KernelBench::~KernelBench() {
  if (stream_ == nullptr) return;
  static_cast<void>(context_.make_current());
  context_.driver().StreamSynchronize(stream_);
  context_.driver().StreamDestroy(stream_);
}

bool KernelBench::worked(const Status& status) {
  if (status) return true;
  if (trouble_.ok()) {
    trouble_ = checker_trouble(fmt::format("the checker failed: {}", status.error().message));
  }
  return false;
}

void KernelBench::enter() {
  worked(context_.make_current());
}

void KernelBench::synchronize() {
  if (!trouble_.ok()) return;
  const cuda::Driver& d = context_.driver();
  worked(d.check(d.StreamSynchronize(stream_), "waiting for the checker's kernels"));
}

std::int64_t KernelBench::blocks_for(std::int64_t items) const {
  return std::min((items + kThreads - 1) / kThreads, most_blocks_);
}

void KernelBench::launch(Kernel kernel, std::int64_t blocks, void** arguments) {
  if (!trouble_.ok() || blocks <= 0) return;
  const auto which = static_cast<std::size_t>(kernel);
  const std::string what = fmt::format("launching {} blocks of {}", blocks, kKernelNames[which]);
  constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1;
  if (blocks > kMost) {
    worked(fail(ErrorCode::internal, what + ": too many"));
    return;
  }
  cuda::LaunchConfig config;
  config.grid_x = static_cast<unsigned>(blocks);
  config.block_x = kThreads;
  config.stream = stream_;
  const cuda::Driver& d = context_.driver();
  worked(d.check(d.LaunchKernelEx(&config, functions_[which], arguments, nullptr), what));
}

PooledMemory KernelBench::allocate(std::size_t bytes) {
  if (!trouble_.ok()) return {};
  auto memory = pool_->take(bytes);
  if (memory) return *std::move(memory);
  worked(tl::unexpected(memory.error()));
  return {};
}

cuda::Pointer KernelBench::results(std::size_t bytes) {
  if (results_.bytes() < bytes) results_ = allocate(std::max<std::size_t>(bytes, 1 << 20));
  return results_.address();
}

void KernelBench::set_bytes(cuda::Pointer at, unsigned char value, std::size_t bytes) {
  if (!trouble_.ok() || bytes == 0) return;
  const cuda::Driver& d = context_.driver();
  worked(d.check(d.MemsetD8Async(at, value, bytes, stream_), "filling device memory"));
}

void KernelBench::copy_in(cuda::Pointer to, const void* from, std::size_t bytes) {
  if (!trouble_.ok() || bytes == 0) return;
  const cuda::Driver& d = context_.driver();
  worked(d.check(d.MemcpyHtoDAsync(to, from, bytes, stream_), "copying to the device"));
  synchronize();  // `from` may go
}

void KernelBench::copy_out(void* to, cuda::Pointer from, std::size_t bytes) {
  if (!trouble_.ok() || bytes == 0) return;
  const cuda::Driver& d = context_.driver();
  worked(d.check(d.MemcpyDtoHAsync(to, from, bytes, stream_), "copying from the device"));
  synchronize();
}

}  // namespace tilewright
