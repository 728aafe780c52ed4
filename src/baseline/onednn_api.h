// SPDX-License-Identifier: Apache-2.0
// The part of oneDNN's C API that a matmul and the operations need, as a table of function
// pointers, for version 2 (Debian's libdnnl.so.2) and version 3 (libdnnl.so.3, such as PyPI's
// `onednn`).
//
// The versions differ in two places only: how a memory descriptor and how a matmul's primitive
// descriptor come to be. Version 2 fills structures of the caller, version 3 returns handles. We
// never look into either, so no vendor header is needed: a block large enough stands in for the
// structures (696 and 2,800 bytes in 2.6; the layout is fixed for all of version 2).
#pragma once

#include "base/element.h"
#include "base/error.h"
#include "baseline/library.h"
#include "launch/cpu_abi.h"
#include "problem/problem.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

using OnednnHandle = std::unique_ptr<void, int (*)(void*)>;  // freed by its own destroy function

struct OnednnArgument {  // dnnl_exec_arg_t
  int which;
  void* memory;
};
inline constexpr int kOnednnSource = 1, kOnednnDestination = 17, kOnednnWeights = 33,
                     kOnednnScratchpad = 80;

// dims and strides, outermost first, and the element type of one operand.
struct OnednnOperand {
  std::vector<std::int64_t> dims, strides;
  ElementType type = ElementType::f32;
};

struct OnednnMatmul {
  OnednnOperand a, b, c;
  float alpha = 1, beta = 0;  // fixed when the primitive is made; beta 0 never reads C
};

class OnednnApi {
 public:
  // `major` is 2 or 3.
  [[nodiscard]] static Result<OnednnApi> open(int major);

  [[nodiscard]] std::string version() const;  // "oneDNN 3.13.0 (OpenMP)"
  [[nodiscard]] const Library& library() const { return library_; }

  [[nodiscard]] Result<OnednnHandle> engine() const;
  [[nodiscard]] Result<OnednnHandle> stream(void* engine) const;

  // B as a primitive wants it, made ahead of the clock.
  struct Ready {
    std::vector<std::byte> bytes;
    void* data = nullptr;
  };
  struct Primitive {
    OnednnHandle primitive{nullptr, nullptr};
    OnednnHandle a{nullptr, nullptr}, b{nullptr, nullptr}, c{nullptr, nullptr};
    OnednnHandle scratchpad{nullptr, nullptr};
    std::vector<std::byte> scratch;  // what `scratchpad` points into
    std::string implementation;      // as oneDNN names it, such as brg:avx512_core_bf16
    // Of an operation whose B is made ready: how large it is then, by the address of the caller's,
    // and what reorders it.
    std::size_t ready_bytes = 0;
    std::map<const void*, Ready> ready;
    OnednnHandle stored_b{nullptr, nullptr}, reorder{nullptr, nullptr};
  };
  [[nodiscard]] Result<Primitive> matmul(void* engine, const OnednnMatmul& what) const;
  // An operation besides gemm (onednn_operation.cc), version 2 only. make_ready() again after B has
  // changed.
  [[nodiscard]] Result<Primitive> operation(void* engine, const Problem& problem,
                                            const tw_cpu_gemm_args& args) const;
  [[nodiscard]] Status make_ready(Primitive& primitive, void* stream, const Problem& problem,
                                  const tw_cpu_gemm_args& args) const;
  [[nodiscard]] Status execute(const Primitive& primitive, void* stream, const void* a,
                               const void* b, void* c) const;

 private:
  struct Functions {
    int (*engine_create)(void**, int kind, std::size_t index);
    int (*engine_destroy)(void*);
    int (*stream_create)(void**, void* engine, unsigned flags);
    int (*stream_destroy)(void*);
    int (*stream_wait)(void*);
    int (*memory_create)(void**, const void* descriptor, void* engine, void* data);
    int (*memory_destroy)(void*);
    int (*memory_set_data_handle)(void*, void* data);
    std::size_t (*memory_desc_get_size)(const void*);
    int (*primitive_attr_create)(void**);
    int (*primitive_attr_destroy)(void*);
    int (*primitive_attr_set_scratchpad_mode)(void*, int mode);
    int (*primitive_attr_set_post_ops)(void*, const void* post_ops);
    int (*post_ops_create)(void**);
    int (*post_ops_destroy)(void*);
    int (*primitive_desc_destroy)(void*);
    int (*primitive_desc_query)(const void*, int what, int index, void* result);
    const void* (*primitive_desc_query_md)(const void*, int what, int index);
    int (*primitive_create)(void**, const void* descriptor);
    int (*primitive_destroy)(void*);
    int (*primitive_execute)(const void*, void* stream, int count, const OnednnArgument*);
    const void* (*version)();
    // Version 2 only.
    int (*memory_desc_init_by_strides)(void*, int, const std::int64_t*, int, const std::int64_t*);
    int (*matmul_desc_init)(void*, const void*, const void*, const void*, const void*);
    int (*primitive_desc_create)(void**, const void*, const void* attr, void* engine, const void*);
    int (*append_sum_v2)(void*, float scale);
    int (*append_eltwise_v2)(void*, float scale, int algorithm, float alpha, float beta);
    // Version 3 only.
    int (*memory_desc_create_with_strides)(void**, int, const std::int64_t*, int,
                                           const std::int64_t*);
    int (*memory_desc_destroy)(void*);
    int (*matmul_primitive_desc_create)(void**, void* engine, const void*, const void*, const void*,
                                        const void*, const void* attr);
    int (*append_sum_v3)(void*, float scale, std::int32_t zero_point, int type);
    int (*append_eltwise_v3)(void*, int algorithm, float alpha, float beta);
  };
  struct Descriptor;  // of a memory, either version

  // Both return oneDNN's status. The primitive that `described` asks for, and its name;
  [[nodiscard]] int create(Primitive& into, const void* described) const;
  // a memory at `data`, which may come later.
  [[nodiscard]] int create(OnednnHandle& into, void* engine, const void* descriptor,
                           void* data) const;

  [[nodiscard]] Result<OnednnHandle> post_ops(float alpha, float beta) const;
  [[nodiscard]] Result<Descriptor> descriptor(const OnednnOperand& operand) const;
  [[nodiscard]] Result<OnednnHandle> primitive_descriptor(void* engine,
                                                          const std::array<Descriptor, 3>& operands,
                                                          const void* attr) const;

  [[nodiscard]] Result<OnednnHandle> describe(void* engine, const Problem& problem, const void* a,
                                              const void* b, const void* c, const void* attr) const;

  Library library_;
  int major_ = 0;
  Functions call_{};
};

}  // namespace tilewright
