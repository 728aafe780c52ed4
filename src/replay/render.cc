// SPDX-License-Identifier: Apache-2.0
// See render.h.
#include "replay/render.h"

#include "report/plot.h"
#include "report/render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace tilewright {
namespace {

using nlohmann::json;

constexpr double kDense = 0.95;
constexpr std::array<std::string_view, 3> kShapes = {"held-out", "train", "all"};

json score_json(const PolicyScore& score, const PolicyBench& bench) {
  json by_budget = json::array();
  for (std::size_t b = 0; b < bench.budgets.size(); ++b) {
    by_budget.push_back({{"budget", bench.budgets[b]},
                         {"mean", interval_json(score.mean[b])},
                         {"median", score.median[b]},
                         {"fifth_percentile", score.fifth[b]}});
  }
  json shapes = json::object();
  for (std::size_t i = 0; i < bench.worlds.size(); ++i) {
    shapes[to_text(bench.worlds[i]->problem)] = score.shape_areas[i];
  }
  return {{"policy", score.policy},
          {"fraction_of_oracle", by_budget},
          {"auc", interval_json(score.area)},
          {"auc_median", score.area_median},
          {"auc_fifth_percentile", score.area_fifth},
          {"auc_difference", interval_json(score.difference)},
          {"verdict", score.verdict},
          {"shapes_better", score.shapes_better},
          {"shapes_worse", score.shapes_worse},
          {"policy_seconds_per_search", score.seconds},
          {"auc_by_problem", shapes}};
}

std::string json_of(const PolicyReport& report, const Context& context) {
  const PolicyBench& bench = report.bench;
  json out = envelope("policy-bench", context);
  json policies = json::array();
  for (const PolicyScore& score : bench.scores) policies.push_back(score_json(score, bench));
  json tables = json::array();
  for (const ReplayWorld* world : bench.worlds) {
    tables.push_back({{"problem", to_text(world->problem)},
                      {"split", world->held_out ? "held-out" : "train"},
                      {"programs", world->programs->programs().size()},
                      {"oracle_us", world->oracle_us}});
  }
  const TableFacts& facts = report.facts;
  out["table"] = {{"cells", facts.cells},         {"programs", facts.programs},
                  {"failures", facts.failures},   {"timed_again", facts.timed_again},
                  {"density", facts.density},     {"noise", facts.noise},
                  {"proposers", facts.proposers}, {"caveats", caveats(facts)},
                  {"left_out", report.left_out}};
  out["protocol"] = {{"shapes", kShapes[static_cast<std::size_t>(report.options.shapes)]},
                     {"seeds", report.options.seeds},
                     {"first_seed", report.options.first_seed},
                     {"resamples", report.options.resamples},
                     {"reference", report.options.reference},
                     {"budgets", bench.budgets},
                     {"prior_trials", bench.prior_trials},
                     {"prior_shapes", bench.prior_shapes},
                     {"knobs", report.options.knobs.text()}};
  out["problems"] = tables;
  out["policies"] = policies;
  return json_text(out, false);
}

Table budgets_table(const PolicyBench& bench, const std::vector<double> PolicyScore::* values) {
  std::vector<TableColumn> columns{{"policy", TableColumn::Align::left}};
  for (const std::size_t budget : bench.budgets) columns.push_back({fmt::format("B={}", budget)});
  Table table(std::move(columns));
  for (const PolicyScore& score : bench.scores) {
    std::vector<std::string> row{score.policy};
    for (const double value : score.*values) row.push_back(fmt::format("{:.3f}", value));
    table.add(std::move(row));
  }
  return table;
}

Table areas_table(const PolicyReport& report) {
  Table table({{"policy", TableColumn::Align::left},
               {"AUC"},
               {"median"},
               {"5 %"},
               {"minus " + report.options.reference},
               {"verdict"},
               {"shapes better"},
               {"worse"},
               {"s per search"}});
  for (const PolicyScore& s : report.bench.scores) {
    table.add({s.policy, with_interval(s.area), fmt::format("{:.3f}", s.area_median),
               fmt::format("{:.3f}", s.area_fifth),
               s.verdict == "reference" ? "" : with_interval(s.difference), s.verdict,
               fmt::format("{}", s.shapes_better), fmt::format("{}", s.shapes_worse),
               fmt::format("{:.3f}", s.seconds)});
  }
  return table;
}

std::string facts_text(const PolicyReport& report) {
  const PolicyBench& bench = report.bench;
  const TableFacts& facts = report.facts;
  std::string out = fmt::format(
      "{} shapes ({}), {} seeds, budgets 1 to {}; learned from {} trials of {} other shapes\n",
      bench.worlds.size(), kShapes[static_cast<std::size_t>(report.options.shapes)],
      report.options.seeds, bench.budgets.back(), bench.prior_trials, bench.prior_shapes);
  out += fmt::format(
      "table: {} cells of {} programs, density {:.2f}, {} timed again (noise {:.1f} %), {} "
      "failed\n",
      facts.cells, facts.programs, facts.density, facts.timed_again, 100 * facts.noise,
      facts.failures);
  for (const std::string& caveat : caveats(facts)) out += fmt::format("note: {}\n", caveat);
  if (!report.left_out.empty()) {
    const std::size_t named = std::min<std::size_t>(report.left_out.size(), 3);
    out += fmt::format(
        "{} tables left out, too few programs or nothing right: {}{}\n", report.left_out.size(),
        fmt::join(report.left_out.begin(),
                  report.left_out.begin() + static_cast<std::ptrdiff_t>(named), "; "),
        named < report.left_out.size() ? "; ..." : "");
  }
  return out;
}

}  // namespace

std::string with_interval(const ScoreInterval& i) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", i.value, i.low, i.high);
}

json interval_json(const ScoreInterval& interval) {
  return {{"value", interval.value}, {"low", interval.low}, {"high", interval.high}};
}

std::vector<std::string> caveats(const TableFacts& facts) {
  std::vector<std::string> out;
  if (facts.density < kDense) {
    out.push_back(fmt::format(
        "the table is not dense: {:.0f} % of what is legal was measured, and what {} proposed is "
        "what the others may propose",
        100 * facts.density, fmt::join(facts.proposers, ", ")));
  }
  if (facts.timed_again < facts.cells) {
    out.push_back(fmt::format("{} of {} cells were timed once, so that a lucky minimum is reported",
                              facts.cells - facts.timed_again, facts.cells));
  }
  return out;
}

Result<std::string> render_policies(const PolicyReport& report, Format format,
                                    const Context& context) {
  if (format == Format::json) return json_of(report, context);
  if (format != Format::human && format != Format::md) {
    return fail(ErrorCode::usage, "--format: policy-bench writes human, md or json");
  }
  const auto text = [&](const Table& table) {
    return format == Format::md ? table.markdown() : table.text(kReportWidth);
  };
  return fmt::format(
      "{}\nFraction of the table's oracle, median of shapes:\n\n{}\n"
      "5th percentile of shapes:\n\n{}\n"
      "Area under the curve over log2 B, mean with 95 % interval (paired bootstrap over shapes, "
      "seeds nested):\n\n{}",
      facts_text(report), text(budgets_table(report.bench, &PolicyScore::median)),
      text(budgets_table(report.bench, &PolicyScore::fifth)), text(areas_table(report)));
}

std::string plot_policies(const PolicyReport& report) {
  Plot plot;
  plot.title = fmt::format("Fraction of the table's oracle, mean of {} shapes, 95 % intervals",
                           report.bench.worlds.size());
  plot.x_title = "measurements B";
  plot.y_title = "oracle time / time found";
  for (const std::size_t budget : report.bench.budgets) {
    plot.x.push_back(static_cast<double>(budget));
  }
  for (const PolicyScore& score : report.bench.scores) {
    PlotLine line{score.policy, {}, {}, {}};
    for (const ScoreInterval& mean : score.mean) {
      line.y.push_back(mean.value);
      line.low.push_back(mean.low);
      line.high.push_back(mean.high);
    }
    plot.lines.push_back(std::move(line));
  }
  return svg(plot);
}

}  // namespace tilewright
