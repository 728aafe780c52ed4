// SPDX-License-Identifier: Apache-2.0
// oneDNN's primitives for the operations besides gemm, of version 2: softmax, layer normalisation,
// reduction, eltwise, convolution, and a reorder for a transpose.
//
// What is constant for a network is made ready ahead of the clock, as its users do: the scale and
// shift of a layer normalisation in f32 (it takes no other type), a convolution's filters in the
// layout that the primitive asked for.
#include "baseline/onednn_descriptor.h"
#include "problem/operations.h"

#include <array>
#include <memory>
#include <optional>

namespace tilewright {
namespace {

using namespace onednn;  // onednn_descriptor.h

constexpr int kInference = 96;                           // dnnl_forward_inference
constexpr unsigned kScaleShift = 2;                      // dnnl_use_scaleshift
constexpr int kRelu = 31, kGelu = 48, kSwish = 223;      // dnnl_eltwise_*
constexpr int kReduceMax = 196594, kReduceSum = 196596;  // dnnl_reduction_*
constexpr int kConvolutionDirect = 1;
constexpr int kAnyFormat = 1;  // dnnl_format_tag_any
constexpr int kQueryWeights = 131;

tl::unexpected<Error> failed(std::string_view what, int status) {
  return tl::unexpected<Error>(succeeded(status, what).error());
}

// Storage with room to begin at a multiple of 64.
OnednnApi::Ready storage(std::size_t bytes) {
  OnednnApi::Ready made;
  constexpr std::size_t kLine = 64;
  made.bytes.resize(bytes + kLine);
  void* start = made.bytes.data();
  std::size_t space = made.bytes.size();
  made.data = std::align(kLine, bytes, start, space);
  return made;
}

// A, B and C as the primitive of an operation sees them.
struct Shapes {
  OnednnOperand a, b, c;
};
Shapes shapes_of(const Problem& p, const tw_cpu_gemm_args& args) {
  if (p.op == Op::transpose) {
    // Of 16-bit numbers, whose type does not matter; for bf16 it has machine code.
    constexpr ElementType kAny = ElementType::bf16;
    return {{{p.m, p.n}, {args.lda, 1}, kAny}, {}, {{p.m, p.n}, {1, args.ldc}, kAny}};
  }
  const OnednnOperand a{{p.m, p.n}, {args.lda, 1}, p.in};
  if (p.op == Op::reduce) return {a, {}, {{p.m, 1}, {args.ldc, 1}, p.out}};
  if (p.op != Op::conv2d)
    return {a, {{2, p.n}, {p.n, 1}, ElementType::f32}, {{p.m, p.n}, {args.ldc, 1}, p.out}};
  const Convolution& v = p.conv;
  const auto pixels = [](std::int64_t images, std::int64_t channels, std::int64_t height,
                         std::int64_t width, std::int64_t stride, ElementType type) {
    return OnednnOperand{{images, channels, height, width},
                         {height * width * stride, 1, width * stride, stride},
                         type};
  };
  return {pixels(v.images, v.channels, v.height, v.width, args.lda, p.in),
          {{p.n, v.channels, v.filter_height, v.filter_width},
           {1, args.ldb, v.filter_width * v.channels * args.ldb, v.channels * args.ldb},
           p.in},
          pixels(v.images, p.n, v.out_height(), v.out_width(), args.ldc, p.out)};
}

}  // namespace

// The primitive descriptor of an operation.
Result<OnednnHandle> OnednnApi::describe(void* engine, const Problem& p, const void* a,
                                         const void* b, const void* c, const void* attr) const {
  const auto block = std::make_unique<std::byte[]>(kOnednnBlockBytes);
  const auto made_by = [this]<class Function>(const char* name, Function*& function) {
    function = library_.find<Function>(name);
    return function != nullptr;
  };
  void* made = nullptr;
  int status = kUnimplemented;
  if (p.op == Op::transpose) {
    int (*reorder)(void**, const void*, void*, const void*, void*, const void*) = nullptr;
    if (made_by("dnnl_reorder_primitive_desc_create", reorder)) {
      status = reorder(&made, a, engine, c, engine, attr);
    }
    if (status != kSuccess) return failed("reorder", status);
    return OnednnHandle(made, call_.primitive_desc_destroy);
  }
  if (p.op == Op::softmax) {
    int (*init)(void*, int, const void*, int) = nullptr;
    if (p.out == p.in && made_by("dnnl_softmax_forward_desc_init", init)) {
      status = init(block.get(), kInference, a, 1);
    }
  } else if (p.op == Op::layernorm) {
    int (*init)(void*, int, const void*, const void*, float, unsigned) = nullptr;
    if (p.out == p.in && made_by("dnnl_layer_normalization_forward_desc_init", init)) {
      status = init(block.get(), kInference, a, nullptr, static_cast<float>(kLayernormEpsilon),
                    kScaleShift);
    }
  } else if (p.op == Op::reduce) {
    int (*init)(void*, int, const void*, const void*, float, float) = nullptr;
    if (made_by("dnnl_reduction_desc_init", init)) {
      status = init(block.get(), p.function == Function::max ? kReduceMax : kReduceSum, a, c, 0, 0);
    }
  } else if (p.op == Op::map) {
    int (*init)(void*, int, int, const void*, float, float) = nullptr;
    const int algorithm = p.function == Function::relu   ? kRelu
                          : p.function == Function::gelu ? kGelu
                                                         : kSwish;
    if (p.out == p.in && made_by("dnnl_eltwise_forward_desc_init", init)) {
      status = init(block.get(), kInference, algorithm, a,
                    p.function == Function::silu ? 1.0F : 0.0F, 0);
    }
  } else {
    int (*init)(void*, int, int, const void*, const void*, const void*, const void*,
                const std::int64_t*, const std::int64_t*, const std::int64_t*) = nullptr;
    if (made_by("dnnl_convolution_forward_desc_init", init)) {
      const Convolution& v = p.conv;
      const std::array strides = {v.stride, v.stride};
      // On the far side only what the last pixel of the output reaches over.
      const auto beyond = [&v](std::int64_t out, std::int64_t filter, std::int64_t in) {
        return (out - 1) * v.stride + filter - in - v.pad;
      };
      const std::array before = {v.pad, v.pad};
      const std::array after = {beyond(v.out_height(), v.filter_height, v.height),
                                beyond(v.out_width(), v.filter_width, v.width)};
      status = init(block.get(), kInference, kConvolutionDirect, a, b, nullptr, c, strides.data(),
                    before.data(), after.data());
    }
  }
  if (status == kSuccess) {
    status = call_.primitive_desc_create(&made, block.get(), attr, engine, nullptr);
  }
  if (status != kSuccess) return failed("the operation", status);
  return OnednnHandle(made, call_.primitive_desc_destroy);
}

Result<OnednnApi::Primitive> OnednnApi::operation(void* engine, const Problem& p,
                                                  const tw_cpu_gemm_args& args) const {
  if (major_ != 2) return failed("operations of this version", kUnimplemented);
  const Shapes shapes = shapes_of(p, args);
  void* raw = nullptr;
  int status = call_.primitive_attr_create(&raw);
  const OnednnHandle attr(raw, call_.primitive_attr_destroy);
  if (status == kSuccess) {
    status = call_.primitive_attr_set_scratchpad_mode(raw, kScratchpadOfUser);
  }
  if (status != kSuccess) return failed("attributes", status);
  const auto a = descriptor(shapes.a), c = descriptor(shapes.c);
  if (!a) return tl::unexpected(a.error());
  if (!c) return tl::unexpected(c.error());
  std::optional<Descriptor> b;
  const auto wanted = std::make_unique<std::byte[]>(kOnednnBlockBytes);
  if (!shapes.b.dims.empty()) {
    auto made = descriptor(shapes.b);
    if (!made) return tl::unexpected(made.error());
    b = *std::move(made);
    using ByTag = int(void*, int, const std::int64_t*, int, int);
    auto* by_tag = library_.find<ByTag>("dnnl_memory_desc_init_by_tag");
    if (p.op == Op::conv2d && by_tag != nullptr) {
      status = by_tag(wanted.get(), 4, shapes.b.dims.data(), type_code(p.in), kAnyFormat);
      if (status != kSuccess) return failed("filters", status);
    }
  }
  const auto described = describe(engine, p, a->get(), wanted.get(), c->get(), attr.get());
  if (!described) return tl::unexpected(described.error());

  Primitive result;
  status = create(result, described->get());
  const auto memory = [&](OnednnHandle& into, const void* descriptor, void* data) {
    if (status == kSuccess) status = create(into, engine, descriptor, data);
  };
  memory(result.a, a->get(), nullptr);
  memory(result.c, c->get(), nullptr);
  if (p.op == Op::layernorm) {
    memory(result.b, b->get(), nullptr);
    result.ready_bytes = static_cast<std::size_t>(2 * p.n) * sizeof(float);
  }
  if (p.op == Op::conv2d) {
    const void* chosen = call_.primitive_desc_query_md(described->get(), kQueryWeights, 0);
    memory(result.stored_b, b->get(), nullptr);
    memory(result.b, chosen, nullptr);
    result.ready_bytes = call_.memory_desc_get_size(chosen);
    Problem turn;
    turn.op = Op::transpose;  // its primitive is a reorder, from any layout to any
    const auto reorder = describe(engine, turn, b->get(), nullptr, chosen, nullptr);
    if (!reorder) return tl::unexpected(reorder.error());
    raw = nullptr;
    if (status == kSuccess) status = call_.primitive_create(&raw, reorder->get());
    result.reorder = OnednnHandle(raw, call_.primitive_destroy);
  }
  const void* scratch = call_.primitive_desc_query_md(described->get(), kQueryScratchpad, 0);
  if (scratch != nullptr && call_.memory_desc_get_size(scratch) > 0) {
    Ready space = storage(call_.memory_desc_get_size(scratch));
    result.scratch = std::move(space.bytes);
    memory(result.scratchpad, scratch, space.data);
  }
  if (status != kSuccess) return failed("primitive", status);
  return result;
}

Status OnednnApi::make_ready(Primitive& primitive, void* stream, const Problem& p,
                             const tw_cpu_gemm_args& args) const {
  if (primitive.ready_bytes == 0) return {};
  auto [at, is_new] = primitive.ready.try_emplace(args.b);
  if (is_new) at->second = storage(primitive.ready_bytes);
  if (p.op == Op::layernorm) {
    auto* to = static_cast<float*>(at->second.data);
    for (std::int64_t row = 0; row < 2; ++row) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        to[row * p.n + j] = static_cast<float>(load(p.in, args.b, row * args.ldb + j));
      }
    }
    return {};
  }
  int status = call_.memory_set_data_handle(primitive.stored_b.get(), const_cast<void*>(args.b));
  if (status == kSuccess) {
    status = call_.memory_set_data_handle(primitive.b.get(), at->second.data);
  }
  const std::array arguments = {OnednnArgument{kOnednnSource, primitive.stored_b.get()},
                                OnednnArgument{kOnednnDestination, primitive.b.get()}};
  if (status == kSuccess) {
    status = call_.primitive_execute(primitive.reorder.get(), stream, 2, arguments.data());
  }
  if (status == kSuccess) status = call_.stream_wait(stream);
  if (status != kSuccess) return failed("reordering the filters", status);
  return {};
}

}  // namespace tilewright
