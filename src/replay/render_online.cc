// SPDX-License-Identifier: Apache-2.0
// A comparison of runs (online.h) for people, as Markdown and as JSON.
#include "replay/online.h"
#include "replay/render.h"
#include "report/render.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tilewright {
namespace {

using nlohmann::json;

std::string json_of(const OnlineBench& bench, const Context& context) {
  json out = envelope("policy-runs", context);
  out["problems"] = bench.problems;
  out["left_out"] = bench.left_out;
  out["runs"] = json::array();
  for (std::size_t i = 0; i < bench.runs.size(); ++i) {
    const OnlineRun& run = bench.runs[i];
    const PolicyScore& score = bench.scores[i];
    json by_problem = json::object();
    for (std::size_t p = 0; p < bench.problems.size(); ++p) {
      by_problem[bench.problems[p]] = score.shape_areas[p];
    }
    out["runs"].push_back({{"run", run.run},
                           {"policy", run.policy},
                           {"measured", run.measured},
                           {"seconds", run.seconds},
                           {"fraction_of_best", interval_json(score.area)},
                           {"median", score.area_median},
                           {"fifth_percentile", score.area_fifth},
                           {"difference", interval_json(score.difference)},
                           {"verdict", score.verdict},
                           {"shapes_better", score.shapes_better},
                           {"shapes_worse", score.shapes_worse},
                           {"by_problem", std::move(by_problem)}});
  }
  return json_text(out, false);
}

}  // namespace

Result<std::string> render_online(const OnlineBench& bench, Format format, const Context& context) {
  if (format == Format::json) return json_of(bench, context);
  if (format != Format::human && format != Format::md) {
    return fail(ErrorCode::usage, "--format: a comparison of runs is human, md or json");
  }
  const bool markdown = format == Format::md;
  Table table({{"run", TableColumn::Align::left},
               {"policy", TableColumn::Align::left},
               {"measured"},
               {"of the best"},
               {"median"},
               {"5 %"},
               {"minus " + bench.runs.front().run},
               {"verdict"},
               {"shapes better"},
               {"worse"},
               {"s a shape"}});
  for (std::size_t i = 0; i < bench.runs.size(); ++i) {
    const OnlineRun& run = bench.runs[i];
    const PolicyScore& s = bench.scores[i];
    table.add({run.run, run.policy, fmt::format("{:.1f}", run.measured), with_interval(s.area),
               fmt::format("{:.3f}", s.area_median), fmt::format("{:.3f}", s.area_fifth),
               i == 0 ? "" : with_interval(s.difference), s.verdict,
               fmt::format("{}", s.shapes_better), fmt::format("{}", s.shapes_worse),
               fmt::format("{:.1f}", run.seconds)});
  }
  std::string out = fmt::format(
      "{} problems that every run has a proven winner for{}. A run's best final ratio to the "
      "fastest baseline, over the best of all these runs:\n\n",
      bench.problems.size(),
      bench.left_out.empty() ? "" : fmt::format(" ({} left out)", bench.left_out.size()));
  out += markdown ? table.markdown() : table.text(kReportWidth);
  if (!context.empty()) out += "\n" + context_text(context, markdown ? "- " : "  ");
  return out;
}

}  // namespace tilewright
