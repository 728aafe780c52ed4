// SPDX-License-Identifier: Apache-2.0
// Where libdnnl is looked for, its symbols, and the few calls that make and run a matmul.
#include "baseline/onednn_api.h"

#include "baseline/environment.h"
#include "baseline/onednn_descriptor.h"

#include <fmt/format.h>

#include <cstdlib>
#include <span>
#include <utility>

namespace tilewright {
namespace {

using namespace onednn;  // onednn_descriptor.h

constexpr int kOutOfMemory = 1, kInvalid = 2;
constexpr int kCpu = 1;                          // dnnl_cpu
constexpr unsigned kInOrder = 1;                 // dnnl_stream_in_order
constexpr int kLinearV2 = 0x7f, kLinearV3 = 38;  // dnnl_eltwise_linear

struct Version {  // dnnl_version_t, equal in both versions
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};
struct Runtime {
  unsigned bit;
  const char* name;
};
constexpr std::array kRuntimes = {Runtime{1, "sequential"}, Runtime{2, "OpenMP"}, Runtime{4, "TBB"},
                                  Runtime{8, "thread pool"}, Runtime{0x200, "SYCL"}};

}  // namespace

Status onednn::succeeded(int status, std::string_view what) {
  if (status == kSuccess) return {};
  const char* why = status == kUnimplemented ? "not implemented"
                    : status == kOutOfMemory ? "out of memory"
                    : status == kInvalid     ? "invalid arguments"
                                             : "failed";
  return fail(ErrorCode::environment, fmt::format("oneDNN: {}: {} ({})", what, why, status));
}

int onednn::type_code(ElementType type) {
  constexpr std::array kCodes = {1, 2, 3};
  return kCodes[static_cast<std::size_t>(type)];
}

Result<OnednnApi> OnednnApi::open(int major) {
  const std::vector<std::string> places = onednn_places(major);
  Result<Library> library = open_library(places);
  if (!library) return tl::unexpected(library.error());
  OnednnApi api;
  api.library_ = *library;
  api.major_ = major;
  std::string missing;
  const auto bind = [&](auto& function, const char* name, bool wanted = true) {
    if (!wanted) return;
    function =
        api.library_.find<std::remove_pointer_t<std::remove_reference_t<decltype(function)>>>(name);
    if (function == nullptr) missing = name;
  };
  Functions& f = api.call_;
  bind(f.engine_create, "dnnl_engine_create");
  bind(f.engine_destroy, "dnnl_engine_destroy");
  bind(f.stream_create, "dnnl_stream_create");
  bind(f.stream_destroy, "dnnl_stream_destroy");
  bind(f.stream_wait, "dnnl_stream_wait");
  bind(f.memory_create, "dnnl_memory_create");
  bind(f.memory_destroy, "dnnl_memory_destroy");
  bind(f.memory_set_data_handle, "dnnl_memory_set_data_handle");
  bind(f.memory_desc_get_size, "dnnl_memory_desc_get_size");
  bind(f.primitive_attr_create, "dnnl_primitive_attr_create");
  bind(f.primitive_attr_destroy, "dnnl_primitive_attr_destroy");
  bind(f.primitive_attr_set_scratchpad_mode, "dnnl_primitive_attr_set_scratchpad_mode");
  bind(f.primitive_attr_set_post_ops, "dnnl_primitive_attr_set_post_ops");
  bind(f.post_ops_create, "dnnl_post_ops_create");
  bind(f.post_ops_destroy, "dnnl_post_ops_destroy");
  bind(f.primitive_desc_destroy, "dnnl_primitive_desc_destroy");
  bind(f.primitive_desc_query, "dnnl_primitive_desc_query");
  bind(f.primitive_desc_query_md, "dnnl_primitive_desc_query_md");
  bind(f.primitive_create, "dnnl_primitive_create");
  bind(f.primitive_destroy, "dnnl_primitive_destroy");
  bind(f.primitive_execute, "dnnl_primitive_execute");
  bind(f.version, "dnnl_version");
  const bool two = major == 2, three = major == 3;
  bind(f.memory_desc_init_by_strides, "dnnl_memory_desc_init_by_strides", two);
  bind(f.matmul_desc_init, "dnnl_matmul_desc_init", two);
  bind(f.primitive_desc_create, "dnnl_primitive_desc_create", two);
  bind(f.append_sum_v2, "dnnl_post_ops_append_sum", two);
  bind(f.append_eltwise_v2, "dnnl_post_ops_append_eltwise", two);
  bind(f.memory_desc_create_with_strides, "dnnl_memory_desc_create_with_strides", three);
  bind(f.memory_desc_destroy, "dnnl_memory_desc_destroy", three);
  bind(f.matmul_primitive_desc_create, "dnnl_matmul_primitive_desc_create", three);
  bind(f.append_sum_v3, "dnnl_post_ops_append_sum", three);
  bind(f.append_eltwise_v3, "dnnl_post_ops_append_eltwise", three);
  if (!missing.empty()) {
    return fail(ErrorCode::environment,
                fmt::format("{} has no {}: not oneDNN {}.x", api.library_.path(), missing, major));
  }
  const int found = static_cast<const Version*>(f.version())->major;
  if (found != major) {
    return fail(ErrorCode::environment,
                fmt::format("{} is oneDNN {}.x, not {}.x", api.library_.path(), found, major));
  }
  return api;
}

std::string OnednnApi::version() const {
  const auto& v = *static_cast<const Version*>(call_.version());
  std::string runtime = "unknown threading";
  for (const Runtime& known : kRuntimes) {
    if (v.cpu_runtime & known.bit) runtime = known.name;
  }
  return fmt::format("oneDNN {}.{}.{} ({})", v.major, v.minor, v.patch, runtime);
}

Result<OnednnHandle> OnednnApi::engine() const {
  void* made = nullptr;
  if (auto s = succeeded(call_.engine_create(&made, kCpu, 0), "engine"); !s) {
    return tl::unexpected(s.error());
  }
  return OnednnHandle(made, call_.engine_destroy);
}

Result<OnednnHandle> OnednnApi::stream(void* engine) const {
  void* made = nullptr;
  if (auto s = succeeded(call_.stream_create(&made, engine, kInOrder), "stream"); !s) {
    return tl::unexpected(s.error());
  }
  return OnednnHandle(made, call_.stream_destroy);
}

Result<OnednnHandle> OnednnApi::post_ops(float alpha, float beta) const {
  void* made = nullptr;
  int status = call_.post_ops_create(&made);
  OnednnHandle ops(made, call_.post_ops_destroy);
  // alpha * (AB + beta / alpha * C): the fast implementations take a sum in first place only.
  const auto sum = [&](float scale) {
    if (status != kSuccess || scale == 0) return;
    status = major_ == 2 ? call_.append_sum_v2(made, scale)
                         : call_.append_sum_v3(made, scale, 0, 0 /* C's own type */);
  };
  const auto scale = [&] {
    if (status != kSuccess || alpha == 1) return;
    status = major_ == 2 ? call_.append_eltwise_v2(made, 1, kLinearV2, alpha, 0)
                         : call_.append_eltwise_v3(made, kLinearV3, alpha, 0);
  };
  if (alpha != 0) sum(beta / alpha);
  scale();
  if (alpha == 0) sum(beta);
  if (auto s = succeeded(status, fmt::format("alpha {} and beta {}", alpha, beta)); !s) {
    return tl::unexpected(s.error());
  }
  return ops;
}

Result<OnednnApi::Descriptor> OnednnApi::descriptor(const OnednnOperand& operand) const {
  Descriptor made;
  const int rank = static_cast<int>(operand.dims.size());
  int status = 0;
  if (major_ == 2) {
    made.block = std::make_unique<std::byte[]>(kOnednnBlockBytes);
    status = call_.memory_desc_init_by_strides(made.block.get(), rank, operand.dims.data(),
                                               type_code(operand.type), operand.strides.data());
  } else {
    void* handle = nullptr;
    status = call_.memory_desc_create_with_strides(&handle, rank, operand.dims.data(),
                                                   type_code(operand.type), operand.strides.data());
    made.handle = OnednnHandle(handle, call_.memory_desc_destroy);
  }
  if (auto s = succeeded(status, "strides of an operand"); !s) return tl::unexpected(s.error());
  return made;
}

Result<OnednnHandle> OnednnApi::primitive_descriptor(void* engine,
                                                     const std::array<Descriptor, 3>& operands,
                                                     const void* attr) const {
  const auto& [a, b, c] = operands;
  void* made = nullptr;
  int status = 0;
  if (major_ == 2) {
    const auto block = std::make_unique<std::byte[]>(kOnednnBlockBytes);
    status = call_.matmul_desc_init(block.get(), a.get(), b.get(), nullptr, c.get());
    if (status == kSuccess) {
      status = call_.primitive_desc_create(&made, block.get(), attr, engine, nullptr);
    }
  } else {
    status =
        call_.matmul_primitive_desc_create(&made, engine, a.get(), b.get(), nullptr, c.get(), attr);
  }
  if (auto s = succeeded(status, "matmul"); !s) return tl::unexpected(s.error());
  return OnednnHandle(made, call_.primitive_desc_destroy);
}

Result<OnednnApi::Primitive> OnednnApi::matmul(void* engine, const OnednnMatmul& what) const {
  const auto ops = post_ops(what.alpha, what.beta);
  if (!ops) return tl::unexpected(ops.error());
  void* raw = nullptr;
  int status = call_.primitive_attr_create(&raw);
  const OnednnHandle attr(raw, call_.primitive_attr_destroy);
  if (status == kSuccess) {
    // Memory of our own: nothing is allocated while the clock runs.
    status = call_.primitive_attr_set_scratchpad_mode(raw, kScratchpadOfUser);
  }
  if (status == kSuccess) status = call_.primitive_attr_set_post_ops(raw, ops->get());
  if (auto s = succeeded(status, "attributes"); !s) return tl::unexpected(s.error());

  std::array<Descriptor, 3> operands;
  const std::array<const OnednnOperand*, 3> from = {&what.a, &what.b, &what.c};
  for (std::size_t i = 0; i < from.size(); ++i) {
    auto made = descriptor(*from[i]);
    if (!made) return tl::unexpected(made.error());
    operands[i] = std::move(*made);
  }
  const auto described = primitive_descriptor(engine, operands, attr.get());
  if (!described) return tl::unexpected(described.error());

  Primitive result;
  status = create(result, described->get());
  const auto memory = [&](OnednnHandle& into, const void* descriptor, void* data) {
    if (status == kSuccess) status = create(into, engine, descriptor, data);
  };
  memory(result.a, operands[0].get(), nullptr);
  memory(result.b, operands[1].get(), nullptr);
  memory(result.c, operands[2].get(), nullptr);
  const void* scratch = call_.primitive_desc_query_md(described->get(), kQueryScratchpad, 0);
  constexpr std::size_t kPage = 4096;
  if (scratch != nullptr) {
    result.scratch.resize(call_.memory_desc_get_size(scratch) + kPage);
    void* start = result.scratch.data();
    std::size_t space = result.scratch.size();
    std::align(kPage, 1, start, space);
    memory(result.scratchpad, scratch, start);
  }
  if (auto s = succeeded(status, "primitive"); !s) return tl::unexpected(s.error());
  return result;
}

int OnednnApi::create(Primitive& into, const void* described) const {
  const char* name = nullptr;
  if (call_.primitive_desc_query(described, kQueryName, 0, &name) == kSuccess && name) {
    into.implementation = name;
  }
  void* raw = nullptr;
  const int status = call_.primitive_create(&raw, described);
  into.primitive = OnednnHandle(raw, call_.primitive_destroy);
  return status;
}

int OnednnApi::create(OnednnHandle& into, void* engine, const void* descriptor, void* data) const {
  void* made = nullptr;
  const int status = call_.memory_create(&made, descriptor, engine, data);
  into = OnednnHandle(made, call_.memory_destroy);
  return status;
}

Status OnednnApi::execute(const Primitive& p, void* stream, const void* a, const void* b,
                          void* c) const {
  // The API has no const; matmul reads A and B only.
  int status = call_.memory_set_data_handle(p.a.get(), const_cast<void*>(a));
  if (p.ready_bytes != 0) b = p.ready.at(b).data;
  if (p.b && status == kSuccess) {
    status = call_.memory_set_data_handle(p.b.get(), const_cast<void*>(b));
  }
  if (status == kSuccess) status = call_.memory_set_data_handle(p.c.get(), c);
  std::array<OnednnArgument, 4> arguments = {OnednnArgument{kOnednnSource, p.a.get()},
                                             OnednnArgument{kOnednnDestination, p.c.get()}};
  int count = 2;
  const auto add = [&](int which, const OnednnHandle& memory) {
    if (memory) arguments[static_cast<std::size_t>(count++)] = {which, memory.get()};
  };
  add(kOnednnWeights, p.b);
  add(kOnednnScratchpad, p.scratchpad);
  if (status == kSuccess) {
    status = call_.primitive_execute(p.primitive.get(), stream, count, arguments.data());
  }
  if (status == kSuccess) status = call_.stream_wait(stream);
  return succeeded(status, "execute");
}

}  // namespace tilewright
