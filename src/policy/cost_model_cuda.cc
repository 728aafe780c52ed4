// SPDX-License-Identifier: Apache-2.0
// The analytic cost model of CUDA programs: a CTA's latency, and four limits of throughput.
//
// A CTA walks K in steps. Alone, a step takes what its products take or, if the ring is too short
// for the latency of a load, its share of that latency (Little's law). The busiest multiprocessor
// runs its CTAs in rounds of as many as fit. Against that stand the tensor cores (limited by
// power), the multiprocessor's port to L2, L2 itself, and memory with cold operands, whose traffic
// depends on the raster. It need not be right, only rank well: tests/policy checks what its choice
// costs on shapes whose programs were timed.
#include "policy/cost_model_cuda.h"

#include "program/family_cuda.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tilewright {
namespace {

constexpr double kSharedFlop = 2e10;  // from here on kernels are better shared between shapes
constexpr double kStaticCost = 1.005;
// Clusters live within a GPC, some of which lack multiprocessors: what all of them together hold.
// Measured for 4 and 8: 30 clusters of 4 do not fit on 132 multiprocessors. The others are what 16
// multiprocessors of a GPC hold, and no more than the measured.
constexpr std::array<double, 9> kClustersFill = {1, 1, 1, 0.88, 0.88, 0.88, 0.75, 0.87, 0.91};

double ceil_div(double a, double b) {
  return b > 0 ? std::ceil(a / b) : 0;
}

// A kernel as the model sees it. Microseconds and bytes.
struct Kernel {
  double tile_m = 1, tile_n = 1, tile_k = 1;
  double split = 1;
  double threads = 128, registers = 128, shared = 0;
  bool persistent = false, streams = false, alternates = false;
  double cluster_m = 1, cluster_n = 1;
  double group = 1;
  bool raster_n = false;
  double stages = 1;
  double prologue = 0, latency = 0;    // before the first step; of its load
  double fast = 0, slow = 0;           // a step that was waited for before; one in a full ring
  double tensor = 0;                   // of a step, exclusive
  double port_rate = 64;               // bytes per cycle
  double finish = 0, finish_load = 0;  // epilogue alone; what more each neighbour adds
};

struct Chip {
  double multiprocessors, mhz, peak_mhz;
};

// Whether results reach C through shared memory and the copy engine.
bool by_copy_engine(const Program& p) {
  return cuda_family::stores_by_map(p.find_word("epilogue"));
}

// What hardly matters, or is not modelled, as a factor near 1: it orders what would otherwise tie.
double taste(const Program& p, const Problem& problem, const Kernel& k, double waves,
             const Chip& chip) {
  double factor = 1;
  // Two warpgroups hide each other's waits; one alone, or alternating, loses 2-7 %.
  const bool waits = p.find_word("in_flight") == "0";
  const bool shares =
      p.find_word("schedule") == "cooperative" || p.find_word("schedule") == "swapped";
  const bool shared_ring = shares && k.threads > 256;
  if (waits) factor += shared_ring ? (k.persistent ? -0.01 : 0.01) : k.alternates ? 0.05 : 0.03;
  // More and smaller stages were measured 1-4 % faster.
  if (k.tile_k > 64 && p.find_word("form").empty()) factor += 0.04;
  if (p.find_word("fragments") == "single") factor += 0.01;
  if (p.find_word("copies") == "staggered") factor += 0.005;
  if (p.find_word("epilogue") == "direct" && p.find_word("form").empty()) factor += 0.01;
  if (waves <= 1) {
    // CTAs of a GPC should read as little as they can together.
    const double rows = ceil_div(static_cast<double>(problem.m), k.tile_m);
    const double columns = ceil_div(static_cast<double>(problem.n), k.tile_n);
    const auto reads = [&](bool along_n, double group) {
      return reads_of_gpc({k.tile_m, k.tile_n, rows, columns, along_n, group});
    };
    const double more = reads(k.raster_n, k.group) / reads(false, 4) - 1;
    factor += std::clamp(more * (problem.k >= 2048 ? 0.08 : 0.03), -0.05, 0.2);
  } else {
    // Half the group that makes the waves' rectangles squares of bytes (sqrt of the multiprocessors
    // over the ratio of sides) was fastest.
    const double ratio = k.raster_n ? k.tile_m / k.tile_n : k.tile_n / k.tile_m;
    const double best =
        std::clamp(std::sqrt(std::max(1.0, chip.multiprocessors / ratio)) / 2, 1.0, 16.0);
    factor += 0.004 * std::abs(std::log2(best / std::max(k.group, 1.0)));
  }
  if (k.raster_n) factor += 0.001;
  // B stored along N in boxes of 16 columns: measured 15-30 % slower than in wider ones.
  const bool narrow = std::fmod(k.tile_n, 32) == 16 && k.tile_n > 16;
  if (narrow && !problem.b_transposed && p.find_word("form").empty()) factor += 0.22;
  // Measured: a persistent kernel with few rounds and stores from registers.
  if (k.persistent && waves <= 2 && !by_copy_engine(p)) factor += 0.2;
  // With a tile to each CTA nothing alternates: measured 15-35 % slower than modelled.
  if (k.alternates && waves <= 1) factor += 0.2;
  // Odd widths: few were timed. B stored along N then comes in boxes of 32 columns: 10-20 % slower.
  if (k.tile_n > 64 && std::fmod(k.tile_n, 64) != 0) factor += problem.b_transposed ? 0.02 : 0.1;
  // Where power limits, products of small tiles cost more: A and B are read more often for each.
  // Two warpgroups that alternate are ahead of what the rest says, the more the wider their tiles.
  if (waves > 2) {
    if (k.alternates) {
      factor += 14 / k.tile_n - 0.11;
    } else if (problem.k >= 1024 && k.tile_m * k.tile_n < 128 * 192) {
      factor += 0.08;
    }
  }
  // Tiles of more than 64x64 reduced through clusters: measured 20-50 % slower than the rest says.
  if (p.find_word("reduce") == "cluster" && k.tile_m * k.tile_n > 8192) factor += 0.2;
  // Three consumers were measured 10 % slower than the rest of the model says.
  if (p.find_word("consumers") == "3") factor += 0.1;
  // Stores from registers that L2 cannot hold back were measured to cost large problems 5-15 %.
  const double results = static_cast<double>(problem.m) * static_cast<double>(problem.n) * 2;
  if (!by_copy_engine(p) && results > 16e6) factor += 0.05;
  return factor + 0.02 / std::max(k.stages, 1.0);
}

}  // namespace

double reads_of_gpc(const TileOrder& o) {
  constexpr double kCtas = 16;
  const double major = o.along_n ? o.columns : o.rows, minor = o.along_n ? o.rows : o.columns;
  const double group = std::min(o.group, major);
  const double high = std::min(group * std::max(1.0, std::floor(kCtas / (group * minor))), major);
  const double wide = std::clamp(std::ceil(kCtas / group), 1.0, minor);
  return o.along_n ? high * o.tile_n + wide * o.tile_m : high * o.tile_m + wide * o.tile_n;
}

namespace {

Chip chip_of(const Device& d, const CudaConstants& c) {
  const double largest =
      d.cuda.clock_kilohertz > 0 ? static_cast<double>(d.cuda.clock_kilohertz) / 1e3 : 1700;
  return {std::max(1.0, static_cast<double>(d.cuda.multiprocessors)), largest * c.clock, largest};
}

// Cycles of mma.sync m16n8k16 at the peak of one of the four parts of a multiprocessor.
double mma_peak_cycles(int capability) {
  if (capability >= 90) return 6.5;
  return capability == 80 ? 8 : 16;
}

// Epilogues, by bytes that one of `writers` stores.
double store_time(const Kernel& k, const Problem& p, double writers, double rate) {
  const double element = p.out == ElementType::f32 ? 4 : 2;
  const double reads = p.beta == BetaClass::zero ? 1 : 1.6;
  const double aligned = alignment_of(p).c >= 8 ? 1 : 1.5;
  return k.tile_m * k.tile_n * element * reads * aligned / std::max(writers, 1.0) / rate;
}

void add_reduction(Kernel& k, const Program& p, const CudaConstants& c) {
  const double sums = k.tile_m * k.tile_n * 4;
  if (p.word("reduce") == "cluster") {
    const bool thin = k.split >= 4 && p.word("epilogue") == "exchange";
    k.finish = k.finish / k.split + c.cluster_reduce +
               (thin ? c.cluster_exchange * std::min(1.0, (k.tile_n - 8) / 24) : 0);
    const double writers = std::max(1.0, k.threads / 160);
    k.finish_load = std::max(0.0, sums / writers - 8192) / c.cluster_rate;  // small ones hide
    // Clusters of 3, 5, 6 and 7 CTAs were measured to end so much later.
    if (std::exp2(std::round(std::log2(k.split))) != k.split)
      k.finish += c.odd_cluster * (k.split - 2);
  } else if (p.word("reduce") == "workspace") {
    k.finish += c.workspace_reduce + sums * k.split / c.workspace_rate;
    k.finish_load = sums / c.workspace_rate;
  } else if (p.word("reduce") == "spread") {
    // All write their sums and load as much.
    k.finish = k.finish / k.split + c.spread_reduce + 2 * sums / c.workspace_rate;
    k.finish_load = 2 * sums / c.workspace_rate;
  }
}

// Microseconds in which the producer of schedule=gather fills a stage.
double gather_time(const Kernel& k, const Problem& problem, const Chip& chip,
                   const CudaConstants& c) {
  const CudaAlignment aligned = alignment_of(problem);
  const double batch = (aligned.a < 8 && aligned.b < 8 ? 4 : 8) * 128 * 16;
  double time = 0;
  for (const auto& [extent, vector] : {std::pair(k.tile_m, aligned.a), {k.tile_n, aligned.b}}) {
    const double bytes = extent * k.tile_k * 2;
    if (vector == 1) time += ceil_div(bytes, batch) * c.loose_latency;
    if (vector > 1 && vector < 8) time += bytes / (c.loose_rate * vector * chip.mhz);
  }
  return time;
}

Kernel sm90_kernel(const Program& p, const Problem& problem, const Chip& chip,
                   const CudaConstants& c) {
  Kernel k;
  k.tile_m = static_cast<double>(p.number("tile_m"));
  k.tile_n = static_cast<double>(p.number("tile_n"));
  k.tile_k = static_cast<double>(p.number("tile_k"));
  k.stages = static_cast<double>(p.number("stages"));
  k.split = static_cast<double>(p.number("split_k"));
  const bool single = p.word("schedule") == "single";
  k.alternates = p.word("schedule") == "pingpong";
  const double consumers =
      single ? 1 : (k.alternates ? 2 : static_cast<double>(p.number("consumers")));
  const double blocks = std::max(1.0, k.tile_m / 64 / (k.alternates ? 1 : consumers));
  const double sums = blocks * k.tile_n / 2;
  const bool donates = !single && cuda_family::gives_registers(static_cast<std::int64_t>(consumers),
                                                               static_cast<std::int64_t>(sums),
                                                               p.find_word("epilogue"));
  k.threads = 128 * consumers + (donates ? 128 : single ? 0 : 32);
  k.registers = donates ? 65536 / k.threads : std::min(255.0, sums + 90);
  const bool tma = by_copy_engine(p);
  const bool staged = tma || p.word("epilogue") == "shared";
  const bool gathers = p.word("schedule") == "gather";
  if (gathers) k.threads = 128 * consumers + 128;
  k.shared =
      k.stages * (k.tile_m + k.tile_n) * k.tile_k * 2 + (staged ? consumers * 16384 : 0) + 2048;
  const cuda_family::Cluster cluster = cuda_family::cluster_of(p.word("cluster"));
  k.cluster_m = cluster.m;
  k.cluster_n = cluster.n;
  k.streams = p.word("grid") == "stream";
  k.persistent = k.streams || p.word("grid") == "persistent";
  k.port_rate = c.port_rate;

  // A warpgroup's wgmma takes half a cycle per column, and 24 at least to read A.
  const double wgmma = std::max(k.tile_n / 2, 24.0) * k.tile_m / 64 * k.tile_k / 16;
  k.tensor = wgmma / chip.mhz;
  const bool multicast = k.cluster_m * k.cluster_n > 1;
  const double latency = multicast ? c.cluster_latency : c.latency90;
  k.latency = multicast ? c.cluster_first : c.first90;
  const double held = p.number("in_flight") > 0 ? 2 : 1;
  k.fast = std::max(k.tensor, single ? c.single_step : c.step90);
  k.slow = std::max(k.fast, (latency + held * k.tensor) / k.stages);
  if (gathers) k.fast = k.slow = std::max(k.slow, gather_time(k, problem, chip, c));
  const double rate = p.word("epilogue") == "shared"   ? c.shared_rate
                      : tma                            ? c.tma_rate
                      : p.word("epilogue") == "direct" ? c.direct_rate
                                                       : c.exchange_rate;
  k.finish = store_time(k, problem, k.alternates ? 1 : consumers, rate) *
                 (k.alternates && !tma ? c.alone_store : 1) +
             (tma && !k.persistent ? c.tma_wait : 0);
  add_reduction(k, p, c);
  return k;
}

Kernel sm80_tile(const Program& p, const Problem& problem, const Chip& chip, const Device& device,
                 const CudaConstants& c) {
  Kernel k;
  k.tile_m = static_cast<double>(p.number("tile_m"));
  k.tile_n = static_cast<double>(p.number("tile_n"));
  k.tile_k = static_cast<double>(p.number("tile_k"));
  k.stages = static_cast<double>(p.number("stages"));
  k.split = static_cast<double>(p.number("split_k"));
  const double warps_m = static_cast<double>(p.number("warps_m"));
  const double warps_n = static_cast<double>(p.number("warps_n"));
  const double warps_k = static_cast<double>(p.number("warps_k"));
  const double warps = warps_m * warps_n * warps_k;
  const double rows = std::max(k.tile_m / warps_m, 8.0),
               columns = std::max(k.tile_n / warps_n, 8.0);
  const bool double_fragments = p.word("fragments") == "double";
  k.threads = 32 * warps;
  k.registers = std::min(
      255.0, rows * columns / 32 + (rows / 4 + columns / 4) * (double_fragments ? 2 : 1) + 56);
  k.shared = std::max(k.stages * (k.tile_m + k.tile_n) * k.tile_k * 2,
                      (warps_k - 1) * k.tile_m * k.tile_n * 4);
  const CudaAlignment aligned = alignment_of(problem);
  const double narrow = 8.0 / std::min(aligned.a, aligned.b);  // more and smaller copies
  k.port_rate = c.copy_rate / (0.5 + 0.5 * narrow);

  const double products = k.tile_m / 16 * k.tile_n / 8 * k.tile_k / 16 / std::min(warps, 4.0);
  const double cycles = std::max(mma_peak_cycles(device.cuda.capability),
                                 c.mma_base + c.mma_slope * (1 / rows + 1 / columns));
  k.tensor = products * cycles / chip.mhz;
  const double alone = double_fragments || warps > 4 ? std::sqrt(c.mma_alone) : c.mma_alone;
  k.latency = c.latency80;
  k.fast = k.tensor * alone + c.step80;
  k.slow = std::max(k.fast, (c.latency80 + k.tensor) / std::max(k.stages - 1, 1.0));
  k.prologue = c.prologue80;
  const double rate = p.word("epilogue") == "shared"     ? c.store80_rate * 1.4
                      : p.word("epilogue") == "exchange" ? c.store80_rate
                                                         : c.store80_rate * 0.8;
  k.finish = store_time(k, problem, warps_m * warps_n, rate) +
             (warps_k > 1 ? c.meet * (0.5 + 0.5 * rows * columns / 1024) : 0);
  add_reduction(k, p, c);
  return k;
}

Kernel sm80_direct(const Program& p, const Problem& problem, const Chip& chip, const Device& device,
                   const CudaConstants& c) {
  Kernel k;
  k.tile_m = static_cast<double>(p.number("tile_m"));
  k.tile_n = static_cast<double>(p.number("tile_n"));
  k.split = static_cast<double>(p.number("split_k"));
  const double warps = static_cast<double>(p.number("warps_k"));
  const double ahead = static_cast<double>(p.number("ahead"));
  k.tile_k = 32 * warps;
  k.stages = ahead;
  k.threads = 32 * warps;
  const double fragments = k.tile_m / 2 + k.tile_n / 2;
  k.registers = std::min(255.0, k.tile_m * k.tile_n / 32 + ahead * fragments + 24);
  k.shared = warps * k.tile_m * k.tile_n * 4;
  // Operands along K come in 16-byte loads; along the other side pair by pair.
  const CudaAlignment aligned = alignment_of(problem);
  double wait = 1, waste = 1;
  if (!problem.b_transposed || aligned.b < 8) {
    wait *= c.along_n * (k.tile_n < 16 ? c.eight : 1);
    waste *= c.along_n_rate * (k.tile_n < 16 ? c.eight : 1);
  }
  if (problem.a_transposed || aligned.a < 8) {
    wait *= c.along_n;
    waste *= c.along_n_rate;
  }
  k.port_rate = c.direct_load_rate / waste;
  const double products = k.tile_m / 16 * k.tile_n / 8 * 2 * std::max(warps / 4, 1.0);
  k.tensor = products * std::max(mma_peak_cycles(device.cuda.capability), 12.0) / chip.mhz;
  k.latency = c.direct_latency * wait;
  k.fast =
      k.latency * std::pow(ahead, -c.direct_ahead) + 0.02 * wait * (fragments / 16 - 1) + k.tensor;
  k.slow = k.fast;
  k.prologue = c.prologue_direct;
  k.latency = 0;  // each step waits for its own
  k.finish = store_time(k, problem, std::min(warps, 4.0), c.store80_rate) +
             (warps > 1 ? c.meet * (0.3 + 0.1 * warps * k.tile_m * k.tile_n / 1024) : 0);
  add_reduction(k, p, c);
  return k;
}

// Bytes of A and B that come from memory: what the CTAs in flight share is read once, what L2 keeps
// from wave to wave is not read again.
double operand_bytes(const Kernel& k, const Problem& p, const Device& device, double tiles,
                     double in_flight, const CudaConstants& c) {
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n);
  const double depth = static_cast<double>(p.k), batch = static_cast<double>(p.batch);
  const double once = (m + n) * depth * 2 * batch;
  const double wave = std::max(1.0, std::min(tiles, in_flight / k.split));
  const double rows_m = ceil_div(m, k.tile_m), rows_n = ceil_div(n, k.tile_n);
  const double major = k.raster_n ? rows_n : rows_m, minor = k.raster_n ? rows_m : rows_n;
  const double group = std::min(k.group * (k.raster_n ? k.cluster_n : k.cluster_m), major);
  const double across = std::min(minor, std::ceil(wave / group));
  const double along = std::min(major, std::max(group, wave / std::max(across, 1.0)));
  const double span_m = std::min(m, (k.raster_n ? across : along) * k.tile_m);
  const double span_n = std::min(n, (k.raster_n ? along : across) * k.tile_n);
  const double read = tiles / wave * (span_m + span_n) * depth * 2;
  const double keeps = std::min(1.0, c.kept * static_cast<double>(device.l2_bytes) / (once + 1));
  return once + (1 - keeps) * std::max(0.0, read - once);
}

// grid=stream: into how many slices each tile is cut that fills no wave.
double slices_of_the_rest(const Kernel& k, double tiles, double used, double steps) {
  const double cluster = k.cluster_m * k.cluster_n;
  return static_cast<double>(cuda_family::stream_cuts(static_cast<std::int64_t>(tiles / cluster),
                                                      static_cast<std::int64_t>(used / cluster),
                                                      static_cast<std::int64_t>(steps)));
}

// Microseconds of the kernel before that copies operands which no tensor map describes.
double packing_time(const Program& p, const Problem& problem, const Device& device,
                    double bandwidth, const CudaConstants& c) {
  if (p.family().name != "sm90" || p.word("schedule") == "gather") return 0;
  const double bytes = 2 * static_cast<double>(packed_bytes(problem));  // read and written
  if (bytes == 0) return 0;
  const double faster = bytes <= static_cast<double>(device.l2_bytes) ? c.pack_in_l2 : 1;
  return c.pack_launch + bytes / (bandwidth * c.memory * faster) * 1e6;
}

}  // namespace

CudaEstimate estimate_cuda(const Program& p, const Problem& given, const Device& device,
                           const CudaConstants& c) {
  const Problem problem = cuda_family::seen_by(p.find_word("schedule"), given);
  const Chip chip = chip_of(device, c);
  Kernel k = p.family().name == "sm90"    ? sm90_kernel(p, problem, chip, c)
             : p.word("form") == "direct" ? sm80_direct(p, problem, chip, device, c)
                                          : sm80_tile(p, problem, chip, device, c);
  k.group = static_cast<double>(p.number("group"));
  k.raster_n = p.word("raster").starts_with("n");

  const double m = static_cast<double>(problem.m), n = static_cast<double>(problem.n);
  const double batch = static_cast<double>(problem.batch);
  const double tiles = ceil_div(ceil_div(m, k.tile_m), k.cluster_m) * k.cluster_m *
                       ceil_div(ceil_div(n, k.tile_n), k.cluster_n) * k.cluster_n * batch;
  const double steps = std::ceil(ceil_div(static_cast<double>(problem.k), k.tile_k) / k.split);
  const double ctas = tiles * k.split;
  // Clusters leave multiprocessors of a GPC without work.
  const double cluster = k.cluster_m * k.cluster_n * (p.word("reduce") == "cluster" ? k.split : 1);
  const double used =
      chip.multiprocessors * kClustersFill[static_cast<std::size_t>(std::clamp(cluster, 0.0, 8.0))];
  const double per_shared =
      static_cast<double>(device.cuda.shared_per_multiprocessor) / (k.shared + 1024);
  const double fit = std::max(1.0, std::floor(std::min({per_shared, 2048 / k.threads,
                                                        65536 / (k.threads * k.registers), 32.0})));
  // CTAs of a multiprocessor; tiles that are cut along K count by their slices.
  const double cuts = k.streams ? slices_of_the_rest(k, tiles, used, steps) : 1;
  const double left = ctas - std::floor(ctas / used) * used;
  const double busiest =
      std::max(1.0, std::floor(ctas / used) + ceil_div(left * cuts, used) / cuts);
  const double together = std::min(fit, busiest);

  CudaEstimate e;
  const double first = k.prologue + k.latency;
  if (k.persistent) {
    const double rounds = cuts > 1 ? busiest : std::max(1.0, ceil_div(tiles, used * fit));
    const double multiply = steps * k.slow;
    const double period =
        k.alternates ? std::max(multiply, (multiply + k.finish) / 2) : multiply + k.finish;
    e.fixed = c.launch + first + c.persistent;
    // The last of a tile's CTAs writes one slice and reads all.
    if (cuts > 1) e.fixed += (1 + cuts) * k.tile_m * k.tile_n * 4 / c.slice_rate;
    e.latency = rounds * period + (k.alternates ? k.finish : 0);
  } else {
    const double free = std::min(steps, k.stages);
    const double multiply = free * k.fast + (steps - free) * k.slow;
    const double finish = k.finish + k.finish_load * together;
    e.fixed = c.launch + first + finish + c.cta * ctas * 132 / chip.multiprocessors / fit;
    e.latency = (ceil_div(busiest, fit) - 1) * (first + multiply + finish) + multiply;
  }
  e.latency = std::max(e.latency, busiest * steps * k.tensor);
  e.tensor = ctas * steps * k.tensor / chip.multiprocessors * chip.mhz / (chip.peak_mhz * c.power);
  // A multicast box counts once for all who receive it.
  const double shared_bytes = (k.tile_m / k.cluster_n + k.tile_n / k.cluster_m) * k.tile_k * 2;
  e.port = busiest * steps * shared_bytes / (k.port_rate * chip.mhz);
  e.chip = ctas * steps * shared_bytes / (c.chip_rate * chip.mhz * chip.multiprocessors);
  const double element = problem.out == ElementType::f32 ? 4 : 2;
  const double results = m * n * batch * element * (problem.beta == BetaClass::zero ? 1 : 2);
  const double bandwidth = device.cuda.memory_bandwidth > 0 ? device.cuda.memory_bandwidth : 1e12;
  e.memory = (operand_bytes(k, problem, device, tiles, used * fit, c) + results) /
             (bandwidth * c.memory) * 1e6;
  e.fixed += packing_time(p, problem, device, bandwidth, c);
  double sum = 0;
  for (const double limit : {e.latency, e.tensor, e.port, e.chip, e.memory}) {
    sum += std::pow(limit, c.blend);
  }
  e.total =
      (e.fixed + std::pow(sum, 1 / c.blend)) * taste(p, problem, k, ctas / (used * fit), chip);
  if (p.word("sizes") == "static") {
    const double gain = p.family().name == "sm90"    ? c.static90
                        : p.word("form") == "direct" ? c.static_direct
                                                     : c.static_tile;
    e.total -= std::min(gain, c.static_part * e.total);
    if (problem.flop() > kSharedFlop) e.total *= kStaticCost;
  }
  return e;
}

}  // namespace tilewright
