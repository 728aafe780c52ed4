// SPDX-License-Identifier: Apache-2.0
// Any bytes as a report of ncu, as CSV and as a profile's JSON.
#include "fuzz/must_hold.h"
#include "profile/csv.h"
#include "profile/metrics.h"
#include "profile/ncu_report.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (const auto rows = parse_csv(bytes)) {
    std::string text;
    for (const CsvRow& row : *rows) text += csv_line(row) + "\n";
    const auto again = parse_csv(text);
    must_hold(again && *again == *rows, "rows that are written come back");
  }
  if (const auto report = parse_ncu(bytes)) {
    for (const NcuKernel& kernel : report->kernels) {
      for (const auto& [name, metric] : kernel.metrics) {
        must_hold(std::isfinite(metric.value), "a metric is a number");
      }
    }
    const Profile profile = profile_of(*report, {});
    must_hold(profile.kernels.size() == report->kernels.size(), "every kernel is named");
  }
  if (const auto profile = profile_from_json(bytes)) {
    const auto again = profile_from_json(to_json(*profile));
    must_hold(again && to_json(*again) == to_json(*profile), "a profile comes back");
  }
  return 0;
}
