// SPDX-License-Identifier: Apache-2.0
// Implementation of call.h. Dimensions of a map shrink with the sizes of a ragged call, strides are
// always the problem's: the storage does not move. Limits are the CUDA driver API's
// (cuTensorMapEncodeTiled, cuLaunchKernelEx).
#include "launch/cuda/call.h"

#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace tilewright {
namespace {

constexpr std::array<std::int64_t, 3> kMostGrid = {2147483647, 65535, 65535};
constexpr std::int64_t kMostSharedBytes = std::int64_t{1} << 30;  // the device has its own limit
constexpr std::int64_t kMapAlignment = 16;                        // bytes: base and strides
constexpr std::int64_t kMostMapStride = std::int64_t{1} << 40;    // bytes, exclusive
constexpr std::int64_t kMostMapDimension = std::int64_t{1} << 32;

tl::unexpected<Error> refuse(const Launch& launch, const std::string& what) {
  return fail(ErrorCode::usage, fmt::format("launch of '{}': {}", launch.symbol, what));
}

// What is stored of one operand: the extent of this call, the strides of the problem.
struct Storage {
  std::string_view name;
  cuda::Pointer address;
  ElementType type;
  std::int64_t rows, columns;         // of this call
  std::int64_t stride, batch_stride;  // elements
  std::int64_t entries;
};

std::array<Storage, 3> storage_of(const Problem& problem, const CudaStrides& strides,
                                  const GemmShape& sizes, const CudaOperands& operands) {
  Problem call = problem;  // for its rows and columns alone
  call.m = sizes.m;
  call.n = sizes.n;
  call.k = sizes.k;
  const std::int64_t batch = problem.batch;
  return {
      {{"a", operands.a, problem.in, call.a_rows(), call.a_cols(), strides.lda, strides.sa, batch},
       {"b", operands.b, problem.in, call.b_rows(), call.b_cols(), strides.ldb, strides.sb, batch},
       {"c", operands.c, problem.out, call.m, call.n, strides.ldc, strides.sc, batch}}};
}

template <class Table>
auto look_up(const Table& table, int key) {
  const auto row = std::find_if(table.begin(), table.end(),
                                [key](const auto& entry) { return entry.first == key; });
  return row == table.end() ? table.front().second : row->second;
}
constexpr std::array<std::pair<int, cuda::TensorSwizzle>, 4> kSwizzles = {
    {{0, cuda::kSwizzleNone},
     {32, cuda::kSwizzle32},
     {64, cuda::kSwizzle64},
     {128, cuda::kSwizzle128}}};
constexpr std::array<std::pair<int, cuda::TensorPromotion>, 4> kPromotions = {
    {{0, cuda::kPromoteNone},
     {64, cuda::kPromote64},
     {128, cuda::kPromote128},
     {256, cuda::kPromote256}}};
constexpr std::array<std::pair<int, cuda::TensorType>, 3> kTypes = {
    {{static_cast<int>(ElementType::f16), cuda::kTensorF16},
     {static_cast<int>(ElementType::bf16), cuda::kTensorBf16},
     {static_cast<int>(ElementType::f32), cuda::kTensorF32}}};

class Resolver {
 public:
  Resolver(const Launch& launch, const Problem& problem, const CudaStrides& strides,
           const GemmShape& sizes, const CudaOperands& operands, int sms, std::int64_t slots)
      : launch_(launch),
        problem_(problem),
        operands_(operands),
        storage_(storage_of(problem, strides, sizes, operands)),
        names_(names_for(launch, problem)) {
    names_.m = sizes.m;
    names_.n = sizes.n;
    names_.k = sizes.k;
    names_.lda = strides.lda;
    names_.ldb = strides.ldb;
    names_.ldc = strides.ldc;
    names_.sa = strides.sa;
    names_.sb = strides.sb;
    names_.sc = strides.sc;
    names_.sms = sms;
    names_.slots = slots;
  }

  Result<CudaCall> all(float alpha, float beta) {
    CudaCall call;
    if (Status s = in_bounds(); !s) return tl::unexpected(s.error());
    if (Status s = serves(launch_, names_.m, names_.n, names_.k); !s) {
      return tl::unexpected(s.error());
    }
    call.empty = names_.m == 0 || names_.n == 0 || problem_.batch == 0;
    if (call.empty) return call;
    call.threads = static_cast<unsigned>(launch_.cuda.threads);
    for (std::size_t i = 0; i < 3; ++i) {
      call.cluster[i] = static_cast<unsigned>(launch_.cuda.cluster[i]);
    }
    for (const Status& s :
         {aligned(), grid("grid", launch_.cuda.grid, launch_.cuda.cluster, call.grid), memory(call),
          maps(call), pack_all(launch_.cuda.arguments, alpha, beta, call.arguments)}) {
      if (!s) return tl::unexpected(s.error());
    }
    for (std::size_t i = 0; i < launch_.cuda.before.size(); ++i) {
      const LaunchStep& given = launch_.cuda.before[i];
      CudaStep step;
      step.threads = static_cast<unsigned>(given.threads);
      for (const Status& s :
           {grid(fmt::format("before[{}].grid", i), given.grid, {1, 1, 1}, step.grid),
            pack_all(given.arguments, alpha, beta, step.arguments)}) {
        if (!s) return tl::unexpected(s.error());
      }
      call.before.push_back(std::move(step));
    }
    call.chained = launch_.cuda.chained && call.before.empty();
    return call;
  }

  Result<std::int64_t> value(const std::string& field, std::string_view expression) const {
    auto result = evaluate(expression, names_);
    if (!result) return refuse(launch_, fmt::format("{}: {}", field, result.error().message));
    return result;
  }

 private:
  Status in_bounds() const {
    const bool ok = names_.m >= 0 && names_.m <= problem_.m && names_.n >= 0 &&
                    names_.n <= problem_.n && names_.k >= 0 && names_.k <= problem_.k;
    if (ok) return {};
    return refuse(launch_,
                  fmt::format("sizes {}x{}x{} are not within the problem's {}x{}x{}", names_.m,
                              names_.n, names_.k, problem_.m, problem_.n, problem_.k));
  }

  // The kernel's claim, `alignment` elements, of all strides and addresses.
  Status aligned() const {
    const std::int64_t claim = launch_.cuda.alignment;
    for (const Storage& s : storage_) {
      if (s.stride % claim != 0) {
        return refuse(launch_, fmt::format("ld{}={} is not a multiple of alignment={}", s.name,
                                           s.stride, claim));
      }
      const auto bytes = static_cast<std::uint64_t>(claim) * size_of(s.type);
      if (s.address % bytes != 0) {
        return refuse(launch_, fmt::format("the address {:#x} of {} is not aligned to {} bytes "
                                           "(alignment={})",
                                           s.address, s.name, bytes, claim));
      }
    }
    return {};
  }

  Status grid(const std::string& name, const std::array<std::string, 3>& expressions,
              const std::array<int, 3>& clusters, std::array<unsigned, 3>& out) const {
    constexpr std::string_view kAxes = "xyz";
    for (std::size_t i = 0; i < 3; ++i) {
      const auto ctas = value(fmt::format("{}.{}", name, kAxes[i]), expressions[i]);
      if (!ctas) return tl::unexpected(ctas.error());
      if (*ctas < 1 || *ctas > kMostGrid[i]) {
        return refuse(launch_, fmt::format("{}.{}={} ('{}') is not in [1, {}]", name, kAxes[i],
                                           *ctas, expressions[i], kMostGrid[i]));
      }
      if (*ctas % clusters[i] != 0) {
        return refuse(launch_, fmt::format("{}.{}={} ('{}') is not a multiple of the cluster's {}",
                                           name, kAxes[i], *ctas, expressions[i], clusters[i]));
      }
      out[i] = static_cast<unsigned>(*ctas);
    }
    return {};
  }

  Status memory(CudaCall& call) const {
    const auto shared = value("shared_bytes", launch_.cuda.shared_bytes);
    if (!shared) return tl::unexpected(shared.error());
    if (*shared > kMostSharedBytes) {
      return refuse(launch_, fmt::format("shared_bytes={} is more than any CTA has", *shared));
    }
    call.shared_bytes = static_cast<unsigned>(*shared);
    const auto workspace = value("workspace", launch_.workspace);
    if (!workspace) return tl::unexpected(workspace.error());
    const auto zeroed = value("zeroed", launch_.cuda.zeroed);
    if (!zeroed) return tl::unexpected(zeroed.error());
    if (*zeroed > *workspace) {
      return refuse(launch_,
                    fmt::format("zeroed={} is more than workspace={}", *zeroed, *workspace));
    }
    call.workspace_bytes = *workspace;
    call.zeroed_bytes = *zeroed;
    return {};
  }

  Status maps(CudaCall& call) const {
    for (std::size_t i = 0; i < launch_.cuda.maps.size(); ++i) {
      auto described = describe(launch_.cuda.maps[i], fmt::format("map{}", i));
      if (!described) return tl::unexpected(described.error());
      call.maps.push_back(*described);
    }
    return {};
  }

  // What a map is of: an operand, or its copy in the workspace.
  Result<Storage> described(const TensorMapSpec& spec, const std::string& name) const {
    Storage s = storage_[static_cast<std::size_t>(spec.operand - 'a')];
    if (!spec.copy) return s;
    std::int64_t offset = 0;
    for (const auto& [expression, number] : {std::pair{&spec.copy->offset, &offset},
                                             {&spec.copy->row_stride, &s.stride},
                                             {&spec.copy->batch_stride, &s.batch_stride},
                                             {&spec.copy->entries, &s.entries}}) {
      const auto known = value(name + ".copy", *expression);
      if (!known) return tl::unexpected(known.error());
      *number = *known;
    }
    s.name = "the copy";
    s.address = operands_.workspace + static_cast<cuda::Pointer>(offset);
    return s;
  }

  Result<MapDescription> describe(const TensorMapSpec& spec, const std::string& name) const {
    const auto of = described(spec, name);
    if (!of) return tl::unexpected(of.error());
    const Storage& s = *of;
    const auto size = static_cast<std::int64_t>(size_of(s.type));
    if (spec.swizzle != 0 && spec.columns * size > spec.swizzle) {
      return refuse(launch_,
                    fmt::format("{}: {} columns of {} are {} bytes, more than swizzle={}", name,
                                spec.columns, name_of(s.type), spec.columns * size, spec.swizzle));
    }
    if (s.address % kMapAlignment != 0) {
      return refuse(launch_, fmt::format("{}: the address {:#x} of {} is not aligned to 16 bytes",
                                         name, s.address, s.name));
    }
    // A dimension of zero cannot be encoded. K = 0 alone gets here, and then a kernel loads
    // nothing.
    const std::int64_t columns = std::max<std::int64_t>(s.columns, 1);
    const std::int64_t rows = std::max<std::int64_t>(s.rows, 1);
    const std::int64_t row_bytes = s.stride * size, batch_bytes = s.batch_stride * size;
    for (const auto& [what, bytes] : {std::pair{"row", row_bytes}, {"batch", batch_bytes}}) {
      if (bytes % kMapAlignment != 0 || bytes >= kMostMapStride) {
        return refuse(launch_, fmt::format("{}: the {} stride of {} is {} bytes, not a multiple of "
                                           "16 below 2^40",
                                           name, what, s.name, bytes));
      }
    }
    // A map cannot stand still.
    const bool something = s.columns > 0 && s.rows > 0;
    if (something && ((row_bytes == 0 && rows > 1) || (batch_bytes == 0 && s.entries > 1))) {
      return refuse(launch_, fmt::format("{}: a stride of {} is 0", name, s.name));
    }
    for (const std::int64_t extent : {columns, rows, s.entries}) {
      if (extent > kMostMapDimension) {
        return refuse(launch_, fmt::format("{}: a dimension of {} is beyond 2^32", name, extent));
      }
    }
    const auto word = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
    MapDescription map;
    map.address = s.address;
    map.type = look_up(kTypes, static_cast<int>(s.type));
    map.dimensions = {word(columns), word(rows), word(s.entries)};
    map.strides = {word(std::max(row_bytes, kMapAlignment)),
                   word(std::max(batch_bytes, kMapAlignment))};
    map.box = {static_cast<std::uint32_t>(spec.columns), static_cast<std::uint32_t>(spec.rows), 1};
    map.swizzle = look_up(kSwizzles, spec.swizzle);
    map.promotion = look_up(kPromotions, spec.l2_promotion);
    return map;
  }

  Status pack_all(const std::vector<std::string>& words, float alpha, float beta,
                  std::vector<CudaArgument>& into) const {
    for (const std::string& word : words) {
      auto argument = pack(word, alpha, beta);
      if (!argument) return tl::unexpected(argument.error());
      into.push_back(*argument);
    }
    return {};
  }

  Result<CudaArgument> pack(const std::string& word, float alpha, float beta) const {
    const std::size_t bytes = argument_bytes(word);
    const auto pointer = [&](cuda::Pointer address) { return CudaArgument{bytes, address}; };
    if (word == "a") return pointer(operands_.a);
    if (word == "b") return pointer(operands_.b);
    if (word == "c") return pointer(operands_.c);
    if (word == "workspace") return pointer(operands_.workspace);
    if (word == "bias") return pointer(operands_.bias);
    if (word == "activation") {
      return CudaArgument{bytes, static_cast<std::uint64_t>(operands_.activation)};
    }
    if (word == "alpha") return CudaArgument{bytes, std::bit_cast<std::uint32_t>(alpha)};
    if (word == "beta") return CudaArgument{bytes, std::bit_cast<std::uint32_t>(beta)};
    if (word.starts_with("map")) {
      const auto map = parse_integer(std::string_view(word).substr(3));
      if (map && *map >= 0 && *map < static_cast<std::int64_t>(launch_.cuda.maps.size())) {
        return CudaArgument{bytes, 0, static_cast<int>(*map)};
      }
    } else if (word.starts_with("i32:") || word.starts_with("i64:")) {
      const auto number = value(word, std::string_view(word).substr(4));
      if (!number) return tl::unexpected(number.error());
      if (word[1] == '3' && *number > INT32_MAX) {
        return refuse(launch_, fmt::format("argument '{}'={} does not fit 32 bits", word, *number));
      }
      return CudaArgument{bytes, static_cast<std::uint64_t>(*number)};
    }
    return refuse(launch_, fmt::format("argument '{}' is not known", word));
  }

  const Launch& launch_;
  const Problem& problem_;
  const CudaOperands& operands_;
  std::array<Storage, 3> storage_;
  ExprNames names_;
};

}  // namespace

CudaStrides strides_of(const Problem& p) {
  const std::int64_t lda = p.a_stride(), ldb = p.b_stride(), ldc = p.c_stride();
  return {lda, ldb, ldc, p.a_rows() * lda, p.b_rows() * ldb, p.c_rows() * ldc};
}

std::size_t argument_bytes(std::string_view word) {
  if (word.starts_with("map")) return kTensorMapBytes;
  const bool short_one =
      word == "alpha" || word == "beta" || word == "activation" || word.starts_with("i32:");
  return short_one ? 4 : 8;
}

Result<CudaCall> resolve(const Launch& launch, const Problem& problem, const GemmShape& sizes,
                         const CudaOperands& operands, float alpha, float beta, int sms,
                         std::int64_t slots) {
  return Resolver(launch, problem, strides_of(problem), sizes, operands, sms, slots)
      .all(alpha, beta);
}

Result<CudaCall> resolve(const Launch& launch, const Problem& problem, const CudaStrides& strides,
                         const CudaOperands& operands, float alpha, float beta, int sms,
                         std::int64_t slots) {
  const GemmShape sizes{problem.m, problem.n, problem.k};
  return Resolver(launch, problem, strides, sizes, operands, sms, slots).all(alpha, beta);
}

Result<std::int64_t> shared_bytes(const Launch& launch, const Problem& problem,
                                  const GemmShape& sizes, int sms) {
  return Resolver(launch, problem, strides_of(problem), sizes, {}, sms, 1)
      .value("shared_bytes", launch.cuda.shared_bytes);
}

Result<std::int64_t> zeroed_bytes(const Launch& launch, const Problem& problem, int sms,
                                  std::int64_t slots) {
  const GemmShape sizes{problem.m, problem.n, problem.k};
  return Resolver(launch, problem, strides_of(problem), sizes, {}, sms, slots)
      .value("zeroed", launch.cuda.zeroed);
}

std::int64_t slots_bound(const Launch& launch, const Problem& problem, const CudaFacts& device) {
  constexpr std::int64_t kMostCtas = 32;       // per SM, the largest of any capability so far
  constexpr std::int64_t kMostThreads = 2048;  // per SM
  const GemmShape sizes{problem.m, problem.n, problem.k};
  const auto shared = shared_bytes(launch, problem, sizes, device.multiprocessors);
  std::int64_t ctas = std::clamp<std::int64_t>(kMostThreads / launch.cuda.threads, 1, kMostCtas);
  if (shared && *shared > 0) {
    ctas = std::min(ctas, std::max<std::int64_t>(device.shared_per_multiprocessor / *shared, 1));
  }
  return std::max<std::int64_t>(device.multiprocessors, 1) * ctas;
}

}  // namespace tilewright
