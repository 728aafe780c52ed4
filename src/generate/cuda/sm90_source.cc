// SPDX-License-Identifier: Apache-2.0
// Text and launch of a kernel of the family sm90. What the configuration's fields mean stands in
// device/sm90_gemm.cuh. The wgmma instruction has one operand for each accumulator, so it is
// written out here for the width that the program uses.
#include "generate/cuda/cuda_source.h"
#include "program/family_cuda.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace tilewright {
namespace {

using cuda_text::Fields;

constexpr std::string_view kWgmma = R"(
// d (64 x {n}) (+)= a (64 x 16) * b (16 x {n}), operands in shared memory. PTX ISA 9.7.15.5.
struct Wgmma {{
  __device__ __forceinline__ static void issue({type} (&d)[{columns}][{per_piece}], tw::u64 a,
                                               tw::u64 b, int accumulate) {{
    asm volatile(
        "{{\n.reg .pred p;\nsetp.ne.b32 p, %{last}, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n{n}k16.{sums}.{in}.{in} "
{registers}
        "%{desc_a}, %{desc_b}, p, 1, 1, {transpose_a}, {transpose_b};\n}}"
        : {outputs}
        : "l"(a), "l"(b), "r"(accumulate));
  }}
}};
)";

constexpr std::string_view kKernel = R"(
using Kernel = tw::Sm90Gemm<tw::Sm90Config{{{fields}}}, Wgmma>;

extern "C" __global__ void __launch_bounds__(Kernel::kThreads, 1)
tw_kernel({maps}void* c, void* workspace, int head, int m, int n, int k, tw::i64 ldc, tw::i64 sc, int batch,
          float alpha, float beta{served}{packed}{gathered}) {{{none}
  Kernel::run({{{map_a}, {map_b}, {map_c}, c, {{workspace, head}}, {{m, n, k, {lda}, {ldb}, ldc, {sa}, {sb}, sc}}, batch,
               alpha, beta{given}{source}}});
}}
)";

constexpr std::string_view kPacking = R"(
extern "C" __global__ void __launch_bounds__(tw::Repack::kThreads)
tw_repack(unsigned char* workspace{parameters}) {{
  tw::Repack::run(workspace{operands});
}}
)";

// "%0,%1, ...", in lines.
std::string register_list(int count) {
  std::string out;
  for (int first = 0; first < count; first += 16) {
    out += "        \"";
    out += first == 0 ? "{" : "";
    for (int i = first; i < std::min(first + 16, count); ++i) {
      out += fmt::format("%{}{}", i, i + 1 < count ? "," : "},");
    }
    out += " \"\n";
  }
  out.pop_back();
  return out;
}

std::string output_list(int count, int per_piece, std::string_view constraint) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    if (i > 0) out += i % 4 == 0 ? ",\n          " : ", ";
    out += fmt::format("\"{}\"(d[{}][{}])", constraint, i / per_piece, i % per_piece);
  }
  return out;
}

std::string wgmma_text(const Problem& problem, int n) {
  const bool f16_sums = problem.acc == Accumulator::f16;
  const int per_piece = f16_sums ? 2 : 4;
  const int count = n / 8 * per_piece;
  return fmt::format(kWgmma, fmt::arg("n", n), fmt::arg("type", f16_sums ? "tw::u32" : "float"),
                     fmt::arg("columns", n / 8), fmt::arg("per_piece", per_piece),
                     fmt::arg("sums", f16_sums ? "f16" : "f32"),
                     fmt::arg("in", name_of(problem.in)), fmt::arg("last", count + 2),
                     fmt::arg("registers", register_list(count)), fmt::arg("desc_a", count),
                     fmt::arg("desc_b", count + 1),
                     fmt::arg("transpose_a", problem.a_transposed ? 1 : 0),
                     fmt::arg("transpose_b", problem.b_transposed ? 0 : 1),
                     fmt::arg("outputs", output_list(count, per_piece, f16_sums ? "+r" : "+f")));
}

struct Shape {
  int m, n, k, stages, consumers, split;
  cuda_family::Cluster cluster;
  std::string_view epilogue;
  bool tma_store, staged;
  CudaAlignment aligned;
  bool gather_a, gather_b;  // by threads, without a tensor map
  bool pack_a, pack_b;      // to rows of whole 16 bytes, by a kernel before
  bool swapped;  // of C^T: the rest of this file sees A and B, M and N as the kernel does
  Shape(const Program& p, const Problem& problem)
      : m(static_cast<int>(p.number("tile_m"))),
        n(static_cast<int>(p.number("tile_n"))),
        k(static_cast<int>(p.number("tile_k"))),
        stages(static_cast<int>(p.number("stages"))),
        consumers(p.word("schedule") == "single"     ? 1
                  : p.word("schedule") == "pingpong" ? 2
                                                     : static_cast<int>(p.number("consumers"))),
        split(static_cast<int>(p.number("split_k"))),
        cluster(cuda_family::cluster_of(p.word("cluster"))),
        epilogue(p.word("epilogue")),
        tma_store(cuda_family::stores_by_map(epilogue)),
        staged(epilogue == "shared" || tma_store),
        aligned(alignment_of(problem)),
        gather_a(p.word("schedule") == "gather" && aligned.a < 8),
        gather_b(p.word("schedule") == "gather" && aligned.b < 8),
        pack_a(p.word("schedule") != "gather" && aligned.a < 8),
        pack_b(p.word("schedule") != "gather" && aligned.b < 8),
        swapped(p.word("schedule") == "swapped") {}
  [[nodiscard]] bool gathers() const { return gather_a || gather_b; }
  [[nodiscard]] bool packs() const { return pack_a || pack_b; }
};

Fields fields_of(const Program& p, const Problem& problem, Form form, const Shape& s,
                 Source& source) {
  Fields f;
  f.type("in", problem.in);
  f.type("out", problem.out);
  f.flag("f16_sums", problem.acc == Accumulator::f16);
  f.flag("scaled", cuda_text::is_scaled(problem));
  if (form == Form::served) f.flag("served", true);
  f.flag("a_along_k", !problem.a_transposed);
  f.flag("b_along_k", problem.b_transposed);
  f.number("tile_m", s.m);
  f.number("tile_n", s.n);
  f.number("tile_k", s.k);
  f.number("stages", s.stages);
  f.word("schedule", "Schedule", s.swapped ? "cooperative" : p.word("schedule"));
  if (s.swapped) f.flag("swapped", true);
  f.number("consumers", s.consumers);
  f.number("cluster_m", s.cluster.m);
  f.number("cluster_n", s.cluster.n);
  const bool streams = p.word("grid") == "stream";
  f.flag("persistent", p.word("grid") == "persistent" || streams);
  if (streams) f.flag("stream", true);
  f.number("in_flight", p.number("in_flight"));
  f.number("group", p.number("group"));
  f.flag("raster_n", p.word("raster").starts_with("n"));
  if (p.word("raster").ends_with("4")) f.flag("blocks", true);
  if (s.split > 1) {
    f.number("split", s.split);
    f.word("reduce", "Reduce", p.word("reduce"));
  }
  f.word("epilogue", "Epilogue", p.word("epilogue"));
  f.number("vector_c", s.aligned.c);
  if (s.gathers()) {
    f.flag("gather_a", s.gather_a);
    f.flag("gather_b", s.gather_b);
    f.number("vector_a", s.aligned.a);
    f.number("vector_b", s.aligned.b);
  }
  if (s.packs()) {
    f.flag("packed_a", s.pack_a);
    f.flag("packed_b", s.pack_b);
  }
  cuda_text::add_sizes(f, source, p, problem);
  if (s.swapped) std::swap(source.launch.m, source.launch.n);  // which is asked of the caller's
  return f;
}

// As Sm90Gemm::kThreads: whether the producer is a warp, or a warpgroup that copies or gives
// registers.
int threads_of(const Program& p, const Shape& s) {
  if (p.word("schedule") == "single") return 128;
  const int sums = s.m / 64 / (p.word("schedule") == "pingpong" ? 1 : s.consumers) * s.n / 2;
  const bool gives = cuda_family::gives_registers(s.consumers, sums, s.epilogue);
  return 128 * s.consumers + (gives || s.gathers() ? 128 : 32);
}

// As BoxedOperand: boxes along K, or of the widest atom that divides the tile.
TensorMapSpec map_of(char operand, bool along_k, int extent, int depth, int share) {
  TensorMapSpec map;
  map.operand = operand;
  map.columns = along_k || extent % 64 == 0 ? 64 : extent % 32 == 0 ? 32 : 16;
  map.rows = (along_k ? extent : depth) / share;
  map.swizzle = 2 * map.columns;
  return map;
}

// Tiles of all batch entries, with those that fill the last clusters.
std::string tiles_text(const Shape& s) {
  const auto [m, n] = s.cluster;
  const char rows = s.swapped ? 'N' : 'M', columns = s.swapped ? 'M' : 'N';
  if (m * n == 1) return fmt::format("cdiv({},{})*cdiv({},{})*batch", rows, s.m, columns, s.n);
  return fmt::format("cdiv(cdiv({},{}),{})*cdiv(cdiv({},{}),{})*batch*{}", rows, s.m, m, columns,
                     s.n, n, m * n);
}

Launch launch_of(const Program& p, const Problem& problem, Form form, const Shape& s) {
  Launch launch;
  launch.target = "cuda";
  CudaLaunch& cuda = launch.cuda;
  const auto add_map = [&cuda](const TensorMapSpec& map) {
    cuda.arguments.push_back(fmt::format("map{}", cuda.maps.size()));
    cuda.maps.push_back(map);
  };
  const char first = s.swapped ? 'b' : 'a', second = s.swapped ? 'a' : 'b';
  if (!s.gather_a) add_map(map_of(first, !problem.a_transposed, s.m, s.k, s.cluster.n));
  if (!s.gather_b) add_map(map_of(second, problem.b_transposed, s.n, s.k, s.cluster.m));
  const int store_columns = static_cast<int>(cuda_family::store_columns(s.n));
  if (s.tma_store && s.swapped) add_map({'c', 64, store_columns, 128, 128});
  if (s.tma_store && !s.swapped) add_map({'c', store_columns, 64, 2 * store_columns, 128});
  cuda.arguments.insert(
      cuda.arguments.end(),
      {"c", "workspace", cuda_text::head_argument(p, tiles_text(s), 128 * s.consumers)});
  for (const char* argument : {s.swapped ? "i32:N" : "i32:M", s.swapped ? "i32:M" : "i32:N",
                               "i32:K", "i64:ldc", "i64:sc", "i32:batch", "alpha", "beta"}) {
    cuda.arguments.emplace_back(argument);
  }
  cuda_text::add_served(launch, form);
  if (s.packs()) cuda.arguments.insert(cuda.arguments.end(), {"i32:min(sa,1)", "i32:min(sb,1)"});
  if (s.gathers()) {
    for (const char* argument : {"a", "b", "i64:lda", "i64:ldb", "i64:sa", "i64:sb"}) {
      cuda.arguments.emplace_back(argument);
    }
  }
  const int cluster = p.word("reduce") == "cluster" ? s.split : s.cluster.m * s.cluster.n;
  std::string ctas = tiles_text(s);
  if (p.word("reduce") == "cluster") ctas += fmt::format("*{}", cluster);
  if (p.word("grid") == "persistent" || p.word("grid") == "stream") {
    ctas = fmt::format("min({},slots)", ctas);
  }
  // Slices that do not form a cluster are apart in the grid.
  const bool apart = s.split > 1 && p.word("reduce") != "cluster";
  cuda.grid = {ctas, apart ? std::to_string(s.split) : "1", "1"};
  cuda.cluster = {cluster, 1, 1};
  cuda.threads = threads_of(p, s);
  std::int64_t ring = std::int64_t{s.stages} * (s.m + s.n) * s.k * 2;
  if (p.word("reduce") == "cluster") ring = std::max(ring, std::int64_t{4} * s.m * s.n);
  // 1008: the ring begins at a multiple of 1024; behind it barriers and a flag.
  const std::int64_t bytes = 1008 + ring +
                             (s.staged ? s.consumers * cuda_family::store_bytes(s.n) : 0) +
                             16 * std::int64_t{s.stages} + 16;
  cuda.shared_bytes = std::to_string(bytes);
  cuda.alignment = std::min(
      {s.aligned.c, s.gather_a ? s.aligned.a : 8, s.gather_b ? s.aligned.b : 8, s.packs() ? 1 : 8});
  return launch;
}

// Adds the step that copies operands behind the rest of the workspace, and has their maps describe
// the copies. Expressions: sizes vary from call to call, and entries may be all the same.
void add_packing(Launch& launch, const Problem& problem, const Shape& s) {
  LaunchStep step;
  step.symbol = "tw_repack";
  step.threads = 256;  // Repack::kThreads
  step.arguments = {"workspace"};
  std::string end = launch.workspace, blocks;
  for (const char operand : {'a', 'b'}) {
    if (!(operand == 'a' ? s.pack_a : s.pack_b)) continue;
    const bool transposed = operand == 'a' ? problem.a_transposed : problem.b_transposed;
    const bool rows_of_k = (operand == 'a') == transposed;
    const std::string other = operand == 'a' ? "M" : "N";
    const std::string rows = rows_of_k ? "K" : other, columns = rows_of_k ? other : "K";
    WorkspaceCopy copy;
    copy.offset = end == "0" ? end : fmt::format("roundup({},256)", end);
    copy.row_stride = fmt::format("roundup({},8)", columns);
    copy.batch_stride = fmt::format("{}*{}", rows, copy.row_stride);
    copy.entries = fmt::format("1+min(s{},1)*(batch-1)", operand);
    const std::string bytes = fmt::format("({})*{}*2", copy.entries, copy.batch_stride);
    end = copy.offset == "0" ? bytes : copy.offset + "+" + bytes;
    // Repack::kOfBlock chunks of 8 elements to a CTA.
    blocks += fmt::format("{}({})*cdiv({}*cdiv({},8),1024)", blocks.empty() ? "" : "+",
                          copy.entries, rows, columns);
    for (const std::string& argument :
         {std::string(1, operand), "i64:" + copy.offset, "i32:" + rows, "i32:" + columns,
          "i32:" + copy.entries, fmt::format("i64:ld{}", operand),
          fmt::format("i64:s{}", operand)}) {
      step.arguments.push_back(argument);
    }
    for (TensorMapSpec& map : launch.cuda.maps) {
      if (map.operand == operand) map.copy = copy;
    }
  }
  step.grid = {fmt::format("max({},1)", blocks), "1", "1"};
  launch.workspace = std::move(end);
  launch.cuda.before.push_back(std::move(step));
}

// The kernel of that step.
std::string packing_text(const Shape& s) {
  std::string parameters, operands;
  for (const char operand : {'a', 'b'}) {
    if (!(operand == 'a' ? s.pack_a : s.pack_b)) continue;
    parameters += fmt::format(
        ",\n          const tw::u16* {0}, tw::i64 at_{0}, int rows_{0}, int columns_{0}, int "
        "entries_{0},\n          tw::i64 ld{0}, tw::i64 s{0}",
        operand);
    operands += fmt::format(
        ",\n                  {{{0}, at_{0}, rows_{0}, columns_{0}, "
        "entries_{0}, ld{0}, s{0}}}",
        operand);
  }
  return fmt::format(kPacking, fmt::arg("parameters", parameters), fmt::arg("operands", operands));
}

// The kernel with the parameters that launch_of() passes.
std::string kernel_text(const Shape& s, const Fields& fields, Form form) {
  const bool gathers = s.gathers();
  std::string maps;
  const char* none = "";  // stands for the map of what has none
  const char* some = s.gather_a ? s.gather_b ? "none" : "map_b" : "map_a";
  if (s.gather_a && s.gather_b) none = "\n  const tw::TensorMap none{};";
  constexpr std::string_view kMap = "const __grid_constant__ tw::TensorMap map_";
  const std::string line = ",\n          ";
  if (!s.gather_a) maps += fmt::format("{}a, ", kMap);
  if (!s.gather_b) maps += fmt::format("{}b{}", kMap, line);
  if (s.gather_b && !s.gather_a) maps.replace(maps.size() - 2, 2, line);
  if (s.tma_store) maps += fmt::format("{}c{}", kMap, line);
  const std::string_view given = cuda_text::served_values(form);
  return fmt::format(
      kKernel, fmt::arg("fields", fields.text()), fmt::arg("maps", maps),
      fmt::arg("served", cuda_text::served_parameters(form)),
      fmt::arg("gathered", gathers
                               ? ",\n          const tw::u16* a, const tw::u16* b, tw::i64 lda, "
                                 "tw::i64 ldb, tw::i64 sa, tw::i64 sb"
                               : ""),
      fmt::arg("packed", s.packs() ? ", int step_a, int step_b" : ""), fmt::arg("none", none),
      fmt::arg("map_a", s.gather_a ? some : "map_a"),
      fmt::arg("map_b", s.gather_b ? some : "map_b"),
      fmt::arg("map_c", s.tma_store ? "map_c" : some), fmt::arg("lda", gathers ? "lda" : "0"),
      fmt::arg("ldb", gathers ? "ldb" : "0"),
      fmt::arg("sa", gathers     ? "sa"
                     : s.packs() ? "step_a"
                                 : "0"),
      fmt::arg("sb", gathers     ? "sb"
                     : s.packs() ? "step_b"
                                 : "0"),
      fmt::arg("given", gathers && given.empty() ? ", {}" : given),
      fmt::arg("source", gathers ? ", {a, b}" : ""));
}

}  // namespace

Source sm90_source(const Program& program, const Problem& given, const Device& device, Form form) {
  const Shape shape(program, given);
  const Problem problem = cuda_family::seen_by(program.word("schedule"), given);
  Source source;
  source.language = "cuda";
  source.flags = cuda_flags(device);
  source.launch = launch_of(program, problem, form, shape);
  const Fields fields = fields_of(program, problem, form, shape, source);
  source.text = cuda_text::heading(program, given) +
                (shape.packs() ? "#include \"generate/cuda/device/repack.cuh\"\n" : "") +
                "#include \"generate/cuda/device/sm90_gemm.cuh\"\n" + wgmma_text(problem, shape.n) +
                (shape.packs() ? packing_text(shape) : "") + kernel_text(shape, fields, form);
  cuda_text::add_workspace(source, program, tiles_text(shape), 128 * shape.consumers);
  if (shape.packs()) add_packing(source.launch, problem, shape);
  return source;
}

}  // namespace tilewright
