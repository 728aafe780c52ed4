// SPDX-License-Identifier: Apache-2.0
// The table behind metrics.h. Names as of Nsight Compute 2022 to 2025 on sm_80 to sm_90; whoever
// adds one tries `ncu --query-metrics --chip gh100`.
#include "profile/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace tilewright {
namespace {

constexpr double kMicro = 1e-3;  // from nanoseconds
constexpr double kMega = 1e-6;   // from Hz
constexpr std::string_view kDuration = "gpu__time_duration.sum";

// Kinds of rows: a share of a peak, a mean of something else, a sum, the most of several kernels.
using Name = std::string_view;
constexpr NamedMetric share(Name name, Name about, Name first, Name second = {}, Name third = {}) {
  return {name, about, "%", 1, Fold::mean, {first, second, third}};
}
constexpr NamedMetric mean(Name name, Name about, Name first, Name second = {}) {
  return {name, about, "", 1, Fold::mean, {first, second, {}}};
}
constexpr NamedMetric sum(Name name, Name about, Name first, Name second = {}, Name third = {}) {
  return {name, about, "", 1, Fold::sum, {first, second, third}};
}
constexpr NamedMetric bytes(Name name, Name about, Name first, Name second = {}) {
  return {name, about, "B", 1, Fold::sum, {first, second, {}}};
}
constexpr NamedMetric most(Name name, Name about, Name metric) {
  return {name, about, "", 1, Fold::most, {metric, {}, {}}};
}
constexpr NamedMetric least(Name name, Name about, Name metric) {
  return {name, about, "", 1, Fold::least, {metric, {}, {}}};
}

constexpr NamedMetric kNamed[] = {
    {"duration_us", "the kernel under the profiler", "us", kMicro, Fold::sum, {kDuration}},
    {"sm_mhz",
     "SM clock",
     "MHz",
     kMega,
     Fold::mean,
     {"sm__cycles_elapsed.avg.per_second", "gpc__cycles_elapsed.avg.per_second"}},
    sum("cycles", "SM cycles from start to end", "sm__cycles_elapsed.max",
        "gpc__cycles_elapsed.max"),
    share("active_pct", "cycles in which an SM had work",
          "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"),
    share("tensor_pct", "tensor pipe busy",
          "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
          "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
          "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed"),
    share("tensor_active_pct", "the same while an SM had work",
          "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
          "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
          "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active"),
    share("hmma_pct", "tensor pipe busy with f16 and bf16",
          "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed"),
    share("dram_pct", "DRAM throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
          "dram__throughput.avg.pct_of_peak_sustained_elapsed",
          "dram__bytes.sum.pct_of_peak_sustained_elapsed"),
    share("l2_pct", "L2 throughput", "lts__throughput.avg.pct_of_peak_sustained_elapsed"),
    share("l2_hit_pct", "L2 sectors that were there", "lts__t_sector_hit_rate.pct"),
    share("shared_pct", "L1 and shared memory throughput",
          "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
          "l1tex__throughput.avg.pct_of_peak_sustained_active"),
    share("issue_pct", "issue slots used", "smsp__issue_active.avg.pct_of_peak_sustained_elapsed",
          "sm__inst_issued.avg.pct_of_peak_sustained_elapsed"),
    mean("ipc", "instructions a cycle and SM while it had work",
         "sm__inst_executed.avg.per_cycle_active"),
    mean("issued_ipc", "instructions issued a cycle and SM",
         "sm__inst_issued.avg.per_cycle_active"),
    share("occupancy_pct", "warps resident, of the most",
          "sm__warps_active.avg.pct_of_peak_sustained_active"),
    mean("eligible_warps", "warps ready to issue, a scheduler",
         "smsp__warps_eligible.avg.per_cycle_active"),
    sum("instructions", "warp instructions", "smsp__inst_executed.sum", "sm__inst_executed.sum"),
    sum("tensor_instructions", "warp instructions of the tensor pipe",
        "sm__inst_executed_pipe_tensor_op_gmma.sum", "sm__inst_executed_pipe_tensor_op_hmma.sum",
        "sm__inst_executed_pipe_tensor.sum"),
    share("tma_pct", "TMA unit busy",
          "sm__pipe_tma_cycles_active.avg.pct_of_peak_sustained_elapsed"),
    bytes("tma_load_bytes", "read from L2 by TMA",
          "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum",
          "l1tex__m_xbar2l1tex_read_bytes_pipe_tma.sum"),
    bytes("tma_store_bytes", "written to L2 by TMA",
          "l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum",
          "l1tex__m_l1tex2xbar_write_bytes_pipe_tma.sum"),
    bytes("l2_read_bytes", "read from L2 by the SMs", "l1tex__m_xbar2l1tex_read_bytes.sum"),
    bytes("l2_write_bytes", "written to L2 by the SMs", "l1tex__m_l1tex2xbar_write_bytes.sum"),
    sum("l2_sectors", "L2 sectors of 32 bytes touched", "lts__t_sectors.sum"),
    sum("l2_read_sectors", "of them read", "lts__t_sectors_op_read.sum"),
    sum("l2_write_sectors", "of them written", "lts__t_sectors_op_write.sum"),
    bytes("dram_read_bytes", "read from DRAM", "dram__bytes_read.sum"),
    bytes("dram_write_bytes", "written to DRAM", "dram__bytes_write.sum"),
    sum("shared_wavefronts", "shared memory accesses of loads and stores",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"),
    sum("shared_conflicts", "of them again because of a bank conflict",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"),
    sum("shared_load_conflicts", "of loads",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
    sum("shared_store_conflicts", "of stores",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"),
    sum("local_sectors", "L1 sectors of spilled registers, loaded",
        "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"),
    most("registers", "a thread", "launch__registers_per_thread"),
    most("shared_bytes", "shared memory of a block", "launch__shared_mem_per_block"),
    most("threads", "a block", "launch__block_size"),
    most("blocks", "of the grid", "launch__grid_size"),
    most("cluster", "blocks of a cluster", "launch__cluster_size"),
    most("waves", "times the grid fills the device", "launch__waves_per_multiprocessor"),
    least("fit_registers", "blocks that fit an SM, by registers",
          "launch__occupancy_limit_registers"),
    least("fit_shared", "by shared memory", "launch__occupancy_limit_shared_mem"),
    least("fit_warps", "by warps", "launch__occupancy_limit_warps"),
    least("fit_barriers", "by barriers", "launch__occupancy_limit_barriers"),
    mean("selected", "warps that issue",
         "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio"),
    mean("not_selected", "warps ready while another issued",
         "smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio"),
};

// `other` is what the tool calls `misc`.
constexpr StallClass kStalls[kStallClasses.size()] = {
    {"barrier", "the other warps of the block (bar.sync)"},
    {"branch_resolving", "the target of a branch"},
    {"dispatch_stall", "the dispatcher"},
    {"drain", "stores to leave at the end"},
    {"gmma", "a warpgroup's matrix product (wgmma)"},
    {"lg_throttle", "the queue for local and global memory"},
    {"long_scoreboard", "a load from L2, DRAM or a memory barrier object"},
    {"math_pipe_throttle", "a busy pipe"},
    {"membar", "a memory fence"},
    {"mio_throttle", "the queue for shared memory and special instructions"},
    {"no_instruction", "an instruction fetch"},
    {"short_scoreboard", "shared memory or a special function"},
    {"sleeping", "its own sleep"},
    {"tex_throttle", "the queue for textures"},
    {"wait", "a fixed latency"},
    {"other", "anything else"},
};

std::string stall_metric(std::string_view name) {
  return fmt::format("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio",
                     name == "other" ? "misc" : name);
}

std::string_view base_of(std::string_view metric) {
  return metric.substr(0, metric.find('.'));
}

std::optional<double> folded(const NcuReport& report, std::string_view metric, Fold fold) {
  std::optional<double> result;
  double weights = 0;
  for (const NcuKernel& kernel : report.kernels) {
    const auto found = kernel.metrics.find(std::string(metric));
    if (found == kernel.metrics.end()) return std::nullopt;  // half a sum is none
    const double value = found->second.value;
    const auto duration = kernel.metrics.find(std::string(kDuration));
    const double weight = duration == kernel.metrics.end() ? 1 : duration->second.value;
    weights += weight;
    if (fold == Fold::sum) result = result.value_or(0) + value;
    if (fold == Fold::mean) result = result.value_or(0) + value * weight;
    if (fold == Fold::most) result = std::max(result.value_or(value), value);
    if (fold == Fold::least) result = std::min(result.value_or(value), value);
  }
  if (result && fold == Fold::mean) *result = weights > 0 ? *result / weights : 0;
  return result;
}

std::string top_stall(const std::map<std::string, double>& values) {
  std::string top;
  double most = 0;
  for (const StallClass& stall : kStalls) {
    const auto found = values.find(fmt::format("stall_{}", stall.name));
    if (found == values.end() || found->second <= most) continue;
    top = stall.name;
    most = found->second;
  }
  return top;
}

// Nothing that is busy for less than this holds a kernel up: then it waits.
constexpr double kBusyPercent = 60;

std::string busiest(const std::map<std::string, double>& values) {
  std::string top;
  double most = -1;
  for (const std::string_view limit : kLimits) {
    const auto found = values.find(fmt::format("{}_pct", limit));
    if (found == values.end() || found->second <= most) continue;
    top = limit;
    most = found->second;
  }
  return top.empty() || most >= kBusyPercent ? top : "latency";
}

}  // namespace

std::span<const NamedMetric> named_metrics() {
  return kNamed;
}
std::span<const StallClass> stall_classes() {
  return kStalls;
}

MetricChoice choose_metrics(std::span<const std::string> known,
                            std::span<const std::string> extra) {
  MetricChoice choice;
  const auto is_known = [&](std::string_view metric) {
    return known.empty() || std::ranges::find(known, base_of(metric)) != known.end();
  };
  const auto ask = [&](std::string metric) {
    if (std::ranges::find(choice.metrics, metric) == choice.metrics.end()) {
      choice.metrics.push_back(std::move(metric));
    }
  };
  for (const NamedMetric& named : kNamed) {
    const auto* const metric = std::ranges::find_if(
        named.metrics, [&](std::string_view m) { return !m.empty() && is_known(m); });
    if (metric == named.metrics.end()) {
      choice.unknown.emplace_back(named.name);
    } else {
      ask(std::string(*metric));
    }
  }
  for (const StallClass& stall : kStalls) {
    const std::string metric = stall_metric(stall.name);
    if (is_known(metric)) {
      ask(metric);
    } else {
      choice.unknown.push_back(fmt::format("stall_{}", stall.name));
    }
  }
  for (const std::string& metric : extra) {
    if (is_known(metric)) {
      ask(metric);
    } else {
      choice.unknown.push_back(metric);
    }
  }
  return choice;
}

Profile profile_of(const NcuReport& report, std::span<const std::string> extra) {
  Profile profile;
  for (const NcuKernel& kernel : report.kernels) profile.kernels.push_back(kernel.name);
  for (const NamedMetric& named : kNamed) {
    for (const std::string_view metric : named.metrics) {
      if (metric.empty()) break;
      if (const auto value = folded(report, metric, named.fold)) {
        profile.values[std::string(named.name)] = *value * named.scale;
        break;
      }
    }
  }
  for (const StallClass& stall : kStalls) {
    if (const auto value = folded(report, stall_metric(stall.name), Fold::mean)) {
      profile.values[fmt::format("stall_{}", stall.name)] = *value;
    }
  }
  for (const std::string& metric : extra) {
    const Fold fold =
        metric.find(".sum") != std::string::npos && metric.find(".sum.") == std::string::npos
            ? Fold::sum
            : Fold::mean;
    if (const auto value = folded(report, metric, fold)) profile.values[metric] = *value;
  }
  profile.stall = top_stall(profile.values);
  profile.limit = busiest(profile.values);
  return profile;
}

}  // namespace tilewright
