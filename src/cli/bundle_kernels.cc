// SPDX-License-Identifier: Apache-2.0
// See bundle_kernels.h.
#include "cli/bundle_kernels.h"

#include "base/hash.h"
#include "policy/walk.h"
#include "program/family_cuda.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <set>
#include <utility>

namespace tilewright {
namespace {

// A kernel of the core set: enough of them by sense, so that there is one for any call without a
// workspace, the others greedily: of 500 programs each time the one that gains most over the suite
// untuned200 and 2,600 random shapes, where the estimates of the cost model and of the rule
// (runtime/cuda/rule.cc) count alike. By the model this set loses 5 % to the 500, the one before
// it lost 18 %; tests/runtime_cuda/rule_test.cc holds it to that.
//
// `problem`: sizes that its program is legal for, nothing else of it counts. `on`: devices with
// wgmma, or the others, or ("") all.
struct CoreRow {
  std::string_view on;
  std::string_view program, problem;
  std::array<int, 3> alignments;  // elements; 0: none
  bool also_f32;                  // results in f32 too
};
constexpr std::array kCore = {
    CoreRow{"sm90a",
            "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 stages=4 "
            "split_k=1 cluster=1x1 grid=persistent in_flight=1 epilogue=exchange raster=m group=8 "
            "sizes=runtime",
            "4096x4096x4096",
            {8, 1, 0},
            true},
    CoreRow{"sm90a",
            "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=128 tile_k=64 stages=6 "
            "split_k=1 cluster=1x1 grid=tiles in_flight=1 epilogue=exchange raster=m group=8 "
            "sizes=runtime",
            "4096x4096x4096",
            {8, 1, 0},
            false},
    CoreRow{"sm90a",
            "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=128 stages=6 "
            "split_k=1 cluster=1x1 grid=tiles in_flight=1 epilogue=exchange raster=m group=8 "
            "sizes=runtime",
            "4096x4096x4096",
            {8, 1, 0},
            true},
    CoreRow{
        "sm90a",
        "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=32 tile_k=128 stages=8 split_k=1 "
        "cluster=1x1 grid=tiles in_flight=1 epilogue=exchange raster=m group=8 sizes=runtime",
        "4096x4096x4096",
        {8, 1, 0},
        false},
    CoreRow{"sm90a",
            "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=128 stages=6 "
            "split_k=8 reduce=cluster in_flight=1 epilogue=exchange raster=m group=1 sizes=runtime",
            "64x512x8192",
            {8, 1, 0},
            false},
    CoreRow{"sm90a",
            "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=16 tile_k=128 stages=8 "
            "split_k=8 reduce=cluster in_flight=1 epilogue=exchange raster=m group=1 sizes=runtime",
            "64x512x8192",
            {8, 1, 0},
            true},
    CoreRow{"",
            "sm80 form=direct tile_m=16 tile_n=16 warps_k=4 ahead=2 split_k=1 raster=m group=1 "
            "sizes=runtime",
            "64x64x1024",
            {8, 1, 0},
            true},
    CoreRow{"",
            "sm80 form=direct tile_m=16 tile_n=8 warps_k=16 ahead=2 split_k=1 raster=m group=1 "
            "sizes=runtime",
            "64x64x1024",
            {8, 1, 0},
            false},
    CoreRow{"",
            "sm80 form=direct tile_m=16 tile_n=8 warps_k=8 ahead=2 split_k=1 raster=m group=1 "
            "sizes=runtime",
            "64x64x1024",
            {1, 0, 0},
            false},
    CoreRow{"",
            "sm80 form=direct tile_m=16 tile_n=8 warps_k=2 ahead=2 split_k=1 raster=m group=1 "
            "sizes=runtime",
            "64x64x1024",
            {1, 0, 0},
            false},
    CoreRow{"",
            "sm80 form=direct tile_m=16 tile_n=32 warps_k=2 ahead=2 split_k=1 raster=m group=1 "
            "sizes=runtime",
            "64x64x1024",
            {1, 0, 0},
            false},
    CoreRow{"sm90a",
            "sm80 form=direct tile_m=16 tile_n=8 warps_k=8 ahead=2 split_k=8 reduce=cluster "
            "raster=m group=1 sizes=runtime",
            "64x64x8192",
            {1, 0, 0},
            false},
    CoreRow{"sm90a",
            "sm80 form=direct tile_m=16 tile_n=8 warps_k=16 ahead=2 split_k=8 reduce=cluster "
            "raster=m group=1 sizes=runtime",
            "64x64x8192",
            {1, 0, 0},
            false},
    CoreRow{"sm80",
            "sm80 form=direct tile_m=16 tile_n=8 warps_k=8 ahead=2 split_k=8 reduce=workspace "
            "raster=m group=1 sizes=runtime",
            "64x64x8192",
            {1, 0, 0},
            false},
    CoreRow{"sm90a",
            "sm80 form=tile tile_m=32 tile_n=32 tile_k=64 warps_m=1 warps_n=1 warps_k=4 stages=4 "
            "fragments=single copies=together split_k=8 reduce=cluster epilogue=exchange raster=m "
            "group=1 sizes=runtime",
            "64x1024x4096",
            {8, 1, 0},
            false},
    CoreRow{"sm80",
            "sm80 form=tile tile_m=32 tile_n=32 tile_k=64 warps_m=1 warps_n=1 warps_k=4 stages=4 "
            "fragments=single copies=together split_k=8 reduce=workspace epilogue=exchange "
            "raster=m group=1 sizes=runtime",
            "64x1024x4096",
            {8, 1, 0},
            false},
    CoreRow{"sm90a",
            "sm80 form=tile tile_m=64 tile_n=64 tile_k=64 warps_m=2 warps_n=2 warps_k=1 stages=4 "
            "fragments=double copies=together split_k=1 epilogue=exchange raster=m group=8 "
            "sizes=runtime",
            "4096x4096x4096",
            {2, 1, 0},
            true},
    CoreRow{"sm80",
            "sm80 form=tile tile_m=64 tile_n=64 tile_k=64 warps_m=2 warps_n=2 warps_k=1 stages=4 "
            "fragments=double copies=together split_k=1 epilogue=exchange raster=m group=8 "
            "sizes=runtime",
            "4096x4096x4096",
            {8, 2, 1},
            true},
    CoreRow{"sm90a",
            "sm80 form=tile tile_m=128 tile_n=128 tile_k=32 warps_m=2 warps_n=2 warps_k=1 stages=4 "
            "fragments=single copies=together split_k=1 epilogue=exchange raster=m group=8 "
            "sizes=runtime",
            "4096x4096x4096",
            {2, 1, 0},
            false},
    CoreRow{"sm80",
            "sm80 form=tile tile_m=128 tile_n=128 tile_k=32 warps_m=2 warps_n=2 warps_k=1 stages=4 "
            "fragments=single copies=together split_k=1 epilogue=exchange raster=m group=8 "
            "sizes=runtime",
            "4096x4096x4096",
            {8, 2, 1},
            false},
    CoreRow{"sm90a",
            "sm80 form=tile tile_m=128 tile_n=64 tile_k=32 warps_m=2 warps_n=2 warps_k=1 stages=4 "
            "fragments=single copies=together split_k=1 epilogue=exchange raster=m group=8 "
            "sizes=runtime",
            "4096x4096x4096",
            {1, 0, 0},
            false},
};

// `problem` with rows `elements` (below 8) apart from a multiple of 8.
Problem aligned(Problem problem, int elements) {
  if (elements == 8) return problem;
  problem.lda = problem.a_cols() + elements;
  problem.ldb = problem.b_cols() + elements;
  problem.ldc = problem.n + elements;
  return problem;
}

PlannedKernel planned(const Program& program, const Problem& problem, std::string_view stands_for,
                      bool core, Form form, Source source) {
  const CudaAlignment alignment = alignment_of(problem);
  return {.kernel = {.program = program.text(),
                     .stands_for = std::string(stands_for),
                     .problem = to_text(problem),
                     .served = form == Form::served,
                     .core = core,
                     .alignment = {alignment.a, alignment.b, alignment.c},
                     .launch = source.launch,
                     .cubin = {}},
          .source = std::move(source)};
}

// The same decisions, but results reach C from registers, where they can be scaled.
std::optional<Program> served_sibling(const Program& program, const Problem& problem,
                                      const Device& device) {
  if (is_legal(program, problem, device)) return program;
  const std::vector<std::string> tokens = program.tokens();
  Wishes wishes, fixed;
  for (const std::string& token : tokens) {
    const std::string_view word = token;
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = word.substr(0, equals);
    const std::pair wish{key, key == "epilogue" ? "exchange" : word.substr(equals + 1)};
    wishes.push_back(wish);
    if (key == "tile_k" || key == "split_k" || key == "reduce" || key == "sizes") {
      fixed.push_back(wish);
    }
  }
  return Walk(program.family(), problem, device).nearest(wishes, fixed);
}

Problem scaled(Problem problem) {
  problem.alpha = AlphaClass::any;
  problem.beta = BetaClass::any;
  return problem;
}

}  // namespace

Result<std::vector<PlannedKernel>> core_kernels(const Device& device) {
  const std::string_view kind = device.has("sm90a") ? "sm90a" : "sm80";
  std::vector<PlannedKernel> out;
  for (const CoreRow& row : kCore) {
    if (!row.on.empty() && row.on != kind) continue;
    const Result<Program> program = parse_program(row.program);
    if (!program) return tl::unexpected(program.error());
    Result<Problem> sizes = parse_problem(row.problem);
    if (!sizes) return tl::unexpected(sizes.error());
    for (const int alignment : row.alignments) {
      for (const unsigned form : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 10U, 11U, 12U, 13U, 14U,
                                  15U}) {  // bits: transposed A, transposed B, bf16, f32 out
        if (alignment == 0 || ((form & 8U) != 0 && !row.also_f32)) continue;
        Problem problem = scaled(*sizes);
        problem.a_transposed = (form & 1U) != 0;
        problem.b_transposed = (form & 2U) != 0;
        problem.in = (form & 4U) != 0 ? ElementType::bf16 : ElementType::f16;
        problem.out = (form & 8U) != 0 ? ElementType::f32 : problem.in;
        problem = aligned(problem, alignment);
        Result<Source> source = generate(*program, problem, device, Form::served);
        if (!source) return tl::unexpected(source.error());
        out.push_back(planned(*program, problem, "", true, Form::served, *std::move(source)));
      }
    }
  }
  return out;
}

std::vector<PlannedKernel> winners(const Wisdom& wisdom, const Device& device,
                                   std::vector<std::string>& notes) {
  std::vector<PlannedKernel> out;
  std::set<std::string> known;  // one kernel may be the winner of many problems
  const auto add = [&](const WisdomEntry& entry, const Program& program, const Problem& problem,
                       Form form) {
    Result<Source> source = generate(program, problem, device, form);
    if (!source) {
      notes.push_back(fmt::format("{}: {}", entry.problem, source.error().message));
      return;
    }
    if (!known.insert(entry.program + hash128(source->text + to_json(source->launch))).second) {
      return;
    }
    out.push_back(planned(program, problem, entry.program, false, form, *std::move(source)));
  };
  for (const WisdomEntry& entry : wisdom.entries) {
    const Result<Program> program = parse_program(entry.program);
    const Result<Problem> problem = parse_problem(entry.problem);
    if (!program || !problem) {
      notes.push_back(fmt::format("{}: {}", entry.problem,
                                  program ? problem.error().message : program.error().message));
      continue;
    }
    if (!problem->is_gemm()) continue;  // the library computes products only
    add(entry, *program, *problem, Form::plain);
    const Problem any = scaled(*problem);
    if (const auto sibling = served_sibling(*program, any, device)) {
      add(entry, *sibling, any, Form::served);
    } else {
      notes.push_back(
          fmt::format("{}: no program near '{}' can be served", entry.problem, entry.program));
    }
  }
  return out;
}

}  // namespace tilewright
