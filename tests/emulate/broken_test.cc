// SPDX-License-Identifier: Apache-2.0
// The emulator finds what it is for: device headers with one fault each, of the kind that a GPU
// shows only now and then, are all caught; the same programs without the fault are right.
#include "emulate/emulate.h"

#include "base/scratch_folder.h"
#include "device/invented_gpu.h"
#include "program/program.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <ostream>

namespace tilewright {
namespace {

constexpr int kSeeds = 10;
constexpr int kMostSeeds = 80;  // until a fault shows that few orders of threads show

struct Subject {
  const char* program;
  const char* problem;
};
constexpr Subject kTiled = {
    "sm80 form=tile tile_m=64 tile_n=32 tile_k=32 warps_m=2 warps_n=1 warps_k=1 stages=3 "
    "fragments=single copies=together split_k=1 epilogue=direct raster=m group=1 sizes=runtime",
    "72x40x264 f16 acc=f32 nn"};
constexpr Subject kSplit = {
    "sm80 form=tile tile_m=64 tile_n=32 tile_k=32 warps_m=2 warps_n=1 warps_k=1 stages=3 "
    "fragments=single copies=together split_k=4 reduce=workspace epilogue=direct raster=m group=1 "
    "sizes=runtime",
    "72x40x264 f16 acc=f32 nn"};
constexpr Subject kAlongK = {
    "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=64 tile_k=64 stages=2 split_k=1 "
    "cluster=1x1 grid=persistent in_flight=1 epilogue=tma raster=m group=1 sizes=runtime",
    "264x136x264 f16 acc=f32 nt"};
constexpr Subject kTwoChunks = {
    "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=128 tile_k=64 stages=2 split_k=1 "
    "cluster=1x1 grid=persistent in_flight=0 epilogue=tma raster=m group=1 sizes=runtime",
    "264x264x136 f16 acc=f32 tn"};
constexpr Subject kDeferred = {
    "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=128 tile_k=64 stages=2 split_k=1 "
    "cluster=1x1 grid=persistent in_flight=1 epilogue=deferred raster=m group=1 sizes=runtime",
    "264x264x40 f16 acc=f32 nn"};
constexpr Subject kOverlapped = {
    "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=128 tile_k=64 stages=2 split_k=1 "
    "cluster=1x1 grid=persistent in_flight=1 epilogue=overlapped raster=m group=1 sizes=runtime",
    "520x520x40 f16 acc=f32 nn"};
constexpr Subject kAcross = {
    "sm90 schedule=single tile_m=64 tile_n=48 tile_k=64 stages=2 split_k=1 in_flight=1 "
    "epilogue=direct raster=m group=1 sizes=runtime",
    "72x104x264 bf16 acc=f32 tn"};
constexpr Subject kMulticast = {
    "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=2 split_k=1 "
    "cluster=2x1 grid=tiles in_flight=1 epilogue=direct raster=m group=1 sizes=runtime",
    "200x136x264 f16 acc=f32 nt"};
constexpr Subject kDonating = {
    "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=224 tile_k=64 stages=2 split_k=1 "
    "cluster=1x1 grid=tiles in_flight=1 epilogue=exchange raster=m group=1 sizes=runtime",
    "136x232x136 f16 acc=f32 nt"};
constexpr Subject kCluster = {
    "sm90 schedule=single tile_m=64 tile_n=64 tile_k=64 stages=2 split_k=4 reduce=cluster "
    "in_flight=1 epilogue=direct raster=m group=1 sizes=runtime",
    "72x72x520 f16 acc=f32 nt"};

constexpr Subject kSpread = {
    "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=48 tile_k=64 stages=2 split_k=5 "
    "reduce=spread cluster=1x1 in_flight=1 epilogue=direct raster=m group=1 sizes=runtime",
    "72x40x520 f16 acc=f32 nn"};

// Rows of 8 bytes: cp.async. Rows of 2: through registers, and B by the copy engine.
constexpr Subject kGatherAsync = {
    "sm90 schedule=gather consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=4 split_k=1 grid=tiles "
    "in_flight=1 epilogue=direct raster=m group=1 sizes=runtime",
    "72x76x460 f16 acc=f32 nt"};
constexpr Subject kGatherLoose = {
    "sm90 schedule=gather consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=2 split_k=1 "
    "grid=tiles in_flight=1 epilogue=direct raster=m group=1 sizes=runtime",
    "71x72x264 f16 acc=f32 nn lda=265"};
constexpr Subject kStaged = {
    "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=128 tile_k=64 stages=2 split_k=1 "
    "cluster=1x1 grid=tiles in_flight=1 epilogue=shared raster=m group=1 sizes=runtime",
    "72x133x136 f16 acc=f32 tn ldb=136"};

constexpr Subject kPacked = {
    "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=2 split_k=1 "
    "cluster=1x1 grid=tiles in_flight=1 epilogue=direct raster=m group=1 sizes=runtime",
    "71x75x265 f16 acc=f32 nn batch=2"};

// Ten tiles for eight multiprocessors: two of them are cut in four.
constexpr Subject kStreamed = {
    "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=64 tile_k=64 stages=2 split_k=1 "
    "cluster=1x1 grid=stream in_flight=1 epilogue=direct raster=m group=1 sizes=runtime",
    "136x300x1032 f16 acc=f32 nt"};

struct Fault {
  const char* name;
  Subject subject;
  const char *header, *from, *to;
};
constexpr Fault kFaults[] = {
    {"CopyNotAwaited", kTiled, "sm80_gemm.cuh", "wait_copies<C.stages - 2>();", ""},
    {"StageFilledWhileRead", kTiled, "sm80_gemm.cuh", "const int ahead = i + C.stages - 1;",
     "const int ahead = i + C.stages;"},
    {"CopiesSeenWithoutBarrier", kTiled, "sm80_gemm.cuh",
     "wait_copies<C.stages - 2>();\n      __syncthreads();", "wait_copies<C.stages - 2>();"},
    {"SumsReadBeforeTheyAreThere", kSplit, "split_k.cuh",
     "__threadfence();\n  barrier();\n  if (thread == 0) {", "if (thread == 0) {"},
    {"CounterNotSetBack", kSplit, "split_k.cuh", "if (before == kSplit - 1) *counter = 0;", ""},
    {"SlicesOfNextTile", kSplit, "split_k.cuh", "partial + s * per_slice", "partial + per_slice"},
    {"StageReleasedWhileRead", kAlongK, "sm90_gemm.cuh", "wgmma_wait<1>();", ""},
    {"FullNotAwaited", kAlongK, "sm90_gemm.cuh", "wait(shared.full + 8 * at.stage, at.pass);", ""},
    {"EmptyNotAwaited", kAlongK, "sm90_gemm.cuh", "            wait_empty(shared, at);\n", ""},
    {"StageOfWrongPhase", kAlongK, "sm90_gemm.cuh", "at.pass ^ 1U);", "at.pass);"},
    {"FewerBytesExpected", kAlongK, "sm90_gemm.cuh", "arrive_expecting(full, kStageBytes);",
     "arrive_expecting(full, kStageBytes - 128);"},
    {"BarriersNotFenced", kAlongK, "sm90_gemm.cuh", "      fence_barrier_init();\n", ""},
    {"StoreBufferFilledAgain", kTwoChunks, "sm90_epilogue.cuh",
     "if (kTma && issues) wait_stores_read<1>();", ""},
    {"NoProxyFence", kAlongK, "sm90_epilogue.cuh", "    if (kTma) fence_async_proxy();\n", ""},
    {"LeavesBeforeStored", kAlongK, "sm90_epilogue.cuh",
     "if (elect_lane() && warp == 0) wait_stores_read<0>();", ""},
    {"WrongStrideAlongK", kAlongK, "sm90_operand.cuh", "descriptor(address, 16, 1024, 128)",
     "descriptor(address, 16, 512, 128)"},
    {"WrongAdvance", kAlongK, "sm90_operand.cuh", "step % 4 * 32", "step % 4 * 64"},
    {"WrongSwizzle", kAlongK, "sm90_operand.cuh", "descriptor(address, 16, 1024, 128)",
     "descriptor(address, 16, 1024, 64)"},
    {"WrongStrideAcross", kAcross, "sm90_operand.cuh", "8 * kSwizzle, kSwizzle)",
     "16 * kSwizzle, kSwizzle)"},
    {"WrongLeadingStride", kAcross, "sm90_operand.cuh", "descriptor(address, kBoxBytes,",
     "descriptor(address, 2 * kBoxBytes,"},
    {"NotTransposed", kAcross, "", "p, 1, 1, 1, 1;", "p, 1, 1, 0, 1;"},
    {"SumsReadUnderWay", kAcross, "sm90_gemm.cuh", "    wgmma_wait<0>();\n    if (C.in_flight > 0)",
     "    if (C.in_flight > 0)"},
    {"WgmmaNotFenced", kAcross, "sm90_gemm.cuh", "    wgmma_fence();\n", ""},
    {"TooFewReleases", kMulticast, "sm90_gemm.cuh", "(C.cluster_m + C.cluster_n - 1)",
     "(C.cluster_m + C.cluster_n - 2)"},
    {"MulticastToOne", kMulticast, "sm90_gemm.cuh", "((1 << C.cluster_m) - 1)", "1"},
    {"PeersReleaseOnlyTheirOwn", kMulticast, "sm90_gemm.cuh",
     "if constexpr (kMulticast == 1) {\n      if (lane == 0)",
     "if constexpr (true) {\n      if (lane == 0)"},
    {"LeavesWhileAPeerSends", kMulticast, "sm90_gemm.cuh", "cluster_wait();  // a peer",
     "// a peer"},
    {"SendsBeforePeersExpect", kMulticast, "sm90_gemm.cuh",
     "feed<kMulticast == 1 ? Loads::all : Loads::own>", "feed<Loads::all>"},
    {"RegistersNotGiven", kDonating, "sm90_gemm.cuh", "if constexpr (kDonates) give_registers<",
     "if constexpr (false) give_registers<"},
    {"LeavesWhileAPeerReads", kCluster, "split_k.cuh", "cluster_sync();  // nobody", "// nobody"},
    {"BufferWhileRingIsRead", kCluster, "sm90_gemm.cuh",
     "        named_barrier(1, kHolders);\n        reduce_in", "        reduce_in"},
    {"OneSliceTwice", kCluster, "sm90_plan.cuh", "? rank\n", "? rank / 2 * 2\n"},
    {"PartsOfThoseWhoLeftForgotten", kSpread, "split_k.cuh", "1U << slice | seen / kLeft",
     "1U << slice"},
    {"LeavesThoughAllHaveCome", kSpread, "split_k.cuh",
     "if ((looked & kCountMask) == kSplit) parts = 1U << slice;", ""},
    {"LeavesWithItsOwnPart", kSpread, "split_k.cuh", "write(true);", ""},
    {"CountsBeforeItsLanesHaveWritten", kSpread, "split_k.cuh", "    __syncwarp();\n  };", "  };"},
    {"CountedWithoutRelease", kSpread, "split_k.cuh", "u32 seen = add_to_counter(counter, kCame)",
     "u32 seen = add_to_counter_relaxed(counter, kCame)"},
    {"NotOnceBackToZero", kSpread, "split_k.cuh",
     "looked = add_to_counter_relaxed(counter, kLooked);", "looked = 0;"},
    {"BackToZeroTooEarly", kSpread, "split_k.cuh", "(looked / kLooked & kCountMask) == kSplit - 1",
     "(looked / kLooked & kCountMask) == kSplit - 2"},
    {"GatheredSeenBeforeItCame", kGatherAsync, "sm90_gather_producer.cuh",
     "wait_copies<Gemm::kLag>();", ""},
    {"LastGatheredSeenBeforeTheyCame", kGatherAsync, "sm90_gather_producer.cuh",
     "wait_copies<0>();\n    for (int rest", "for (int rest"},
    {"GatheredIntoAFullStage", kGatherLoose, "sm90_gather_producer.cuh",
     "Gemm::wait_empty(shared, at);", ""},
    {"GatheredWithoutProxyFence", kGatherLoose, "sm90_gather_producer.cuh",
     "fence_async_proxy();\n    arrive(shared.full", "arrive(shared.full"},
    {"GatheredUnswizzled", kGatherLoose, "sm90_gather.cuh", "Boxed::kSwizzle - 16", "0"},
    {"GatheredFromTheWrongByte", kGatherLoose, "copy_tile.cuh", "(shift & 4U) != 0",
     "(shift & 8U) != 0"},
    {"GatheredBeyondTheMatrix", kGatherLoose, "copy_tile.cuh",
     "reinterpret_cast<const u16*>(window + 2) <= tile.end", "true"},
    {"RowsCopiedBeforeTheyAreThere", kStaged, "sm90_epilogue.cuh",
     "    named_barrier(to.barrier, 128);\n    const int down", "const int down"},
    {"HeldTileStoredElsewhere", kDeferred, "sm90_overlap.cuh", "held.at = Gemm::work(p, index);",
     "held.at = Gemm::work(p, p.first);"},
    {"ChunksBeyondKForgotten", kDeferred, "sm90_overlap.cuh", "return chunk >= of_k.count;",
     "return false;"},
    {"LastTileForgotten", kDeferred, "sm90_overlap.cuh", "held, [](int) { return true; }",
     "held, [](int) { return false; }"},
    {"EarlierSumsReadUnderWay", kOverlapped, "sm90_overlap.cuh", "wgmma_wait<1>();", ""},
    {"LastSumsReadUnderWay", kOverlapped, "sm90_overlap.cuh",
     "wgmma_wait<0>();\n    Gemm::keep_all", "Gemm::keep_all"},
    {"LastStageOfATileKept", kOverlapped, "sm90_overlap.cuh",
     "step<false>(sums, shared, p, group, at, last, true)",
     "step<false>(sums, shared, p, group, at, last, false)"},
    {"OverlappedOntoTheTileBefore", kOverlapped, "sm90_overlap.cuh", "at, kAccumulate);",
     "at, true);"},
    {"OverlappedChunksBeyondKForgotten", kOverlapped, "sm90_overlap.cuh",
     "return chunk >= p.count_k;", "return false;"},
    {"ThisTileStoredForTheEarlier", kOverlapped, "sm90_overlap.cuh",
     "store(arg, shared, p, group, index - p.step, earlier,\n          [&p]",
     "store(arg, shared, p, group, index, earlier,\n          [&p]"},
    {"PackedFromTheWrongByte", kPacked, "copy_tile.cuh", "0x5432", "0x3210"},
    {"PackedBeyondTheMatrix", kPacked, "repack.cuh", "left < 8 ? static_cast<int>(left) : 8", "8"},
    {"PackedBeyondTheMatrixByVectors", kPacked, "copy_tile.cuh",
     "reinterpret_cast<const u16*>(window + 2) <= tile.end", "true"},
    {"PackedRowsNotCounted", kPacked, "repack.cuh", "row += at / of_row;", ""},
    {"PackedOverTheFirstEntry", kPacked, "repack.cuh", "+ entry * chunks;", ";"},
    {"PackedBeyondTheCopy", kPacked, "repack.cuh", "if (first + i * kThreads >= chunks) break;",
     ""},
    {"SecondOperandAtTheFirstsBlocks", kPacked, "repack.cuh", "block - blocks);", "block);"},
    {"FirstEntryOfTheCopyForAll", kPacked, "sm90_gemm.cuh",
     "C.packed_b ? w.entry * static_cast<int>(arg.sizes.sb)", "C.packed_b ? 0"},
    {"AnotherWarpsCounter", kSpread, "split_k.cuh", "counters + thread / 32", "counters"},
    {"SliceLeftOut", kStreamed, "stream_k.cuh", "for (int s = 1;", "for (int s = 2;"},
    {"SlicesCounterNotSetBack", kStreamed, "stream_k.cuh",
     "if (before + 1 == static_cast<u32>(slices)) *counter = 0;", ""},
    {"SliceCountedBeforeItIsWritten", kStreamed, "stream_k.cuh",
     "  __threadfence();\n  barrier();\n  if (leads) {", "  if (leads) {"},
    {"AnotherGroupsSlices", kStreamed, "sm90_gemm.cuh", "part * C.consumers + group", "part"},
    {"SlicesOverlap", kStreamed, "sm90_plan.cuh", "begin = at * p.count_k / p.cuts",
     "begin = max(at * p.count_k / p.cuts - 1, 0)"},
    {"FirstSliceStores", kStreamed, "stream_k.cuh", "*flag + 1 != static_cast<u32>(slices)",
     "*flag != 0"},
};

Result<Emulated> made(const Subject& subject, const ScratchFolder& folder,
                      const std::vector<Mutation>& mutations) {
  Device device = invented_h200();
  device.cuda.multiprocessors = 8;
  auto source = generate(parse_program(subject.program).value(),
                         parse_problem(subject.problem).value(), device);
  if (!source) return tl::unexpected(source.error());
  return Emulated::compile(*source, folder.path(), mutations);
}

EmulatedCall call_of(const Subject& subject, int seed) {
  EmulatedCall call;
  call.problem = parse_problem(subject.problem).value();
  call.sizes = {call.problem.m, call.problem.n, call.problem.k};
  call.seed = static_cast<std::uint64_t>(seed);
  return call;
}

TEST(Emulated, SubjectsAreRightAsTheyAre) {
  for (const Subject& subject :
       {kTiled, kSplit, kAlongK, kTwoChunks, kDeferred, kAcross, kMulticast, kDonating, kCluster,
        kSpread, kGatherAsync, kGatherLoose, kStaged, kPacked, kStreamed, kOverlapped}) {
    const ScratchFolder folder;
    const auto kernel = made(subject, folder, {});
    ASSERT_TRUE(kernel) << kernel.error().message;
    for (int seed = 0; seed < kSeeds; ++seed) {
      EXPECT_EQ(kernel->run(call_of(subject, seed)), "") << subject.program;
    }
  }
}

void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.name;
}

class Broken : public testing::TestWithParam<Fault> {};
TEST_P(Broken, IsCaught) {
  const Fault& fault = GetParam();
  const ScratchFolder folder;
  const auto kernel = made(fault.subject, folder, {{fault.header, fault.from, fault.to}});
  ASSERT_TRUE(kernel) << kernel.error().message;
  std::string found;
  for (int seed = 0; seed < kMostSeeds && found.empty(); ++seed) {
    found = kernel->run(call_of(fault.subject, seed));
    if (!found.empty()) RecordProperty("seed", seed);
  }
  EXPECT_NE(found, "");
  RecordProperty("found", found);
  if (std::getenv("TILEWRIGHT_EMULATE") != nullptr) std::printf("%s\n", found.c_str());
}
INSTANTIATE_TEST_SUITE_P(Headers, Broken, testing::ValuesIn(kFaults),
                         [](const auto& at) { return std::string(at.param.name); });

}  // namespace
}  // namespace tilewright
