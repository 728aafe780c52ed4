// SPDX-License-Identifier: Apache-2.0
// A comparison of policies for people, as Markdown, as JSON and as a chart.
#pragma once

#include "replay/bench.h"
#include "report/report.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace tilewright {

struct PolicyReport {
  PolicyBench bench;
  TableFacts facts;
  PolicyBenchOptions options;
  std::vector<std::string> left_out;  // problems whose tables are too small or hold nothing right
};

// "0.934 (0.911 to 0.952)", and as JSON.
[[nodiscard]] std::string with_interval(const ScoreInterval& interval);
[[nodiscard]] nlohmann::json interval_json(const ScoreInterval& interval);
// human, md or json; an Error for other formats.
[[nodiscard]] Result<std::string> render_policies(const PolicyReport& report, Format format,
                                                  const Context& context);
[[nodiscard]] std::string plot_policies(const PolicyReport& report);
// Why the numbers may not be read as a ranking of policies; empty for a dense table timed twice.
[[nodiscard]] std::vector<std::string> caveats(const TableFacts& facts);

}  // namespace tilewright
