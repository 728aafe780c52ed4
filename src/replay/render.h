// SPDX-License-Identifier: Apache-2.0
// A comparison of policies for people, as Markdown, as JSON and as a chart.
#pragma once

#include "replay/bench.h"
#include "report/report.h"

#include <string>

namespace tilewright {

struct PolicyReport {
  PolicyBench bench;
  TableFacts facts;
  PolicyBenchOptions options;
  std::vector<std::string> left_out;  // problems whose tables are too small or hold nothing right
};

// human, md or json; an Error for other formats.
[[nodiscard]] Result<std::string> render_policies(const PolicyReport& report, Format format,
                                                  const Context& context);
[[nodiscard]] std::string plot_policies(const PolicyReport& report);
// Why the numbers may not be read as a ranking of policies; empty for a dense table timed twice.
[[nodiscard]] std::vector<std::string> caveats(const TableFacts& facts);

}  // namespace tilewright
