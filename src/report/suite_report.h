// SPDX-License-Identifier: Apache-2.0
// The report of a suite: each shape in the layouts that the CUDA-L2 paper compares, and what a
// table of it says in total. Pure functions of trials; render_suite.cc prints.
//
// A headline is a way to look at a shape: `nn` is our layout nn; `tn` is our layout nt, by the
// column-major name that cuBLAS and the paper use; `best` takes for each side, ours and every
// baseline, the faster of the two.
#pragma once

#include "problem/problem.h"
#include "problem/regime.h"
#include "report/report.h"
#include "trial/trial.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct SuiteRow {
  Problem problem;                     // layout nn, whatever the headline
  std::string headline;                // nn, tn, best
  std::map<std::string, Trial> modes;  // by name; at least one
};

// A regime of a GPU's shapes against the fastest baseline, and what the limit leaves (regime.h).
struct RegimeSummary {
  RatioSummary ratio;   // its group is the regime's name
  double headroom = 0;  // geometric mean of the fastest baseline's time over the limit
  double left = 0;      // the same of ours
};

// How one headline of one type stands in one mode.
struct SuiteSlice {
  std::string dtype, headline, mode;
  int shapes = 0;                     // with a proven program
  std::optional<RatioSummary> total;  // against the fastest; none without a headline baseline
  std::vector<RatioSummary> each;     // against each baseline alone
  std::vector<RatioSummary> decades;
  std::vector<RegimeSummary> regimes;  // offline, with known rates; "all" is the last
};

// One way of calling the vendor's library against another, t_first / t_second, over a decade or all
// of them: above 1 the second is faster.
struct VendorRatio {
  std::string dtype, headline, mode, first, second, group;
  int problems = 0;
  double geomean = 0, median = 0, least = 0, most = 0;
};

struct SuiteReport {
  std::string suite;
  int shapes = 0;           // of the suite
  int trials = 0;           // final and bench trials of its shapes, however they ended
  std::vector<Trial> used;  // those that stand (standing.h)
  std::vector<SuiteRow> rows;
  std::vector<SuiteSlice> slices;
  std::vector<VendorRatio> vendors;
  std::vector<std::string> unproven;  // problems that were tried and have no ok trial in any mode
};

// Rows for the suite's shapes in every type and accumulator for which there are trials, in the
// order of the suite. `trials` must be of one device; other problems are left out. `rates`: that
// device's, for the regimes.
[[nodiscard]] SuiteReport suite_report(std::string name, const std::vector<Problem>& suite,
                                       const std::vector<Trial>& trials,
                                       const std::optional<SustainedRates>& rates = {});

// Each side's faster layout. Where ours and a baseline's are of one trial, their paired ratio and
// verdict stay; else the ratio is that of the medians, the intervals of both trials multiply,
// because nothing was paired, and the verdict follows from that and the larger noise.
[[nodiscard]] Trial best_of(const Trial& nn, const Trial& tn);

// What the tables call a baseline: "lt_auto" for cublaslt_autotune; other names stay.
[[nodiscard]] std::string short_baseline(const std::string& name);

// The number in a column of the CSV: "ours", "lt_auto", "wall_cublas", with or without "_us".
[[nodiscard]] std::optional<double> time_in(const SuiteRow& row, std::string_view column);

// CSV: the rows. Else the summary. jsonl is an error of code usage.
[[nodiscard]] Result<std::string> render_suite(const SuiteReport& report, Format format,
                                               const Context& context);
// What a file of rows needs beside it, as JSON: context, counts, versions, dates, the device's
// state while measuring. `device` is the device's own JSON, or empty.
[[nodiscard]] std::string render_about(const SuiteReport& report, const std::string& device,
                                       const Context& context);

}  // namespace tilewright
