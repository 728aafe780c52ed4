// SPDX-License-Identifier: Apache-2.0
// One row per problem: the winner against the fastest headline baseline. People get that; machines
// get every baseline with its interval, and the program.
#include "problem/problem.h"
#include "report/render.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string_view>

namespace tilewright {
namespace {

using nlohmann::json;
using Align = TableColumn::Align;

constexpr std::string_view kLost = "slower";

double flop_of(const Trial& trial) {
  const Result<Problem> problem = parse_problem(trial.problem);
  return problem ? problem->flop() : 0;
}

double gflops_of(const Trial& trial) {
  return trial.time_us > 0 ? flop_of(trial) / (trial.time_us * 1e3) : 0;
}

// A loss must catch the eye, also where there is no colour.
std::string verdict(const std::string& comparison, std::string_view before,
                    std::string_view after) {
  return comparison == kLost ? fmt::format("{}{}{}", before, comparison, after) : comparison;
}

Table table_of(const std::vector<Trial>& winners, std::string_view before, std::string_view after) {
  Table table({{"problem", Align::left},
               {"time us"},
               {"GFLOP/s"},
               {"fastest baseline", Align::left},
               {"its us"},
               {"ratio"},
               {"interval"},
               {"verdict", Align::left}});
  for (const Trial& trial : winners) {
    std::vector<std::string> row = {short_problem(trial.problem)};
    if (trial.outcome != Outcome::ok) {
      row.insert(row.end(), {"-", "-", "-", "-", "-", "-", std::string(name_of(trial.outcome))});
    } else {
      row.insert(row.end(), {for_people(trial.time_us), for_people(gflops_of(trial))});
      if (const auto* fastest = trial.fastest_baseline()) {
        const BaselineTime& time = fastest->second;
        row.insert(row.end(),
                   {fastest->first, for_people(time.time_us), ratio_text(time.ratio),
                    fmt::format("{}-{}", ratio_text(time.ratio_low), ratio_text(time.ratio_high)),
                    verdict(time.comparison, before, after)});
      } else {
        row.insert(row.end(), {"-", "-", "-", "-", "no baseline"});
      }
    }
    table.add(std::move(row));
  }
  return table;
}

json json_of(const Trial& trial) {
  json baselines = json::object();
  for (const auto& [name, time] : trial.baselines) {
    baselines[name] = {{"time_us", time.time_us},       {"ratio", time.ratio},
                       {"ratio_low", time.ratio_low},   {"ratio_high", time.ratio_high},
                       {"comparison", time.comparison}, {"headline", time.headline}};
  }
  const auto* fastest = trial.fastest_baseline();
  return {{"id", trial.id()},
          {"problem", trial.problem},
          {"program", trial.program},
          {"device", trial.device},
          {"outcome", name_of(trial.outcome)},
          {"mode", trial.mode},
          {"stage", trial.stage},
          {"policy", trial.policy},
          {"seed", trial.seed},
          {"flop", flop_of(trial)},
          {"time_us", trial.time_us},
          {"gflop_per_s", gflops_of(trial)},
          {"spread", trial.spread},
          {"noise", trial.noise},
          {"max_bound_ratio", trial.max_bound_ratio},
          {"repeatable", trial.repeatable},
          {"fastest_baseline", fastest == nullptr ? json() : json(fastest->first)},
          {"baselines", std::move(baselines)}};
}

std::string csv_of(const std::vector<Trial>& winners, const Context& context) {
  std::vector<std::vector<std::string>> rows;
  for (const Trial& trial : winners) {
    const auto* fastest = trial.fastest_baseline();
    const std::vector<std::string> head = {
        trial.problem,           trial.program,          std::string(name_of(trial.outcome)),
        exactly(flop_of(trial)), exactly(trial.time_us), exactly(gflops_of(trial))};
    for (const auto& [name, time] : trial.baselines) {
      std::vector<std::string> row = head;
      row.insert(row.end(), {name, time.headline ? "1" : "0",
                             fastest != nullptr && fastest->first == name ? "1" : "0",
                             exactly(time.time_us), exactly(time.ratio_low), exactly(time.ratio),
                             exactly(time.ratio_high), time.comparison, trial.mode});
      rows.push_back(std::move(row));
    }
    if (trial.baselines.empty()) {
      std::vector<std::string> row = head;
      row.resize(14);
      row.push_back(trial.mode);
      rows.push_back(std::move(row));
    }
  }
  return csv_with_context(
      {"problem", "program", "outcome", "flop", "time_us", "gflop_per_s", "baseline", "headline",
       "fastest", "baseline_time_us", "ratio_low", "ratio", "ratio_high", "comparison", "mode"},
      rows, context);
}

}  // namespace

std::string render_winners(const std::vector<Trial>& winners, Format format,
                           const Context& context) {
  switch (format) {
    case Format::human:
      return table_of(winners, "! ", "").text(kReportWidth);
    case Format::md:
      return table_of(winners, "**", "**").markdown() + "\n" + context_text(context, "- ");
    case Format::csv:
      return csv_of(winners, context);
    case Format::json: {
      json out = envelope("winners", context);
      out["winners"] = json::array();
      for (const Trial& trial : winners) out["winners"].push_back(json_of(trial));
      return json_text(out, false);
    }
    case Format::jsonl: {
      std::string out = json_text(envelope("winners", context), true);
      for (const Trial& trial : winners) {
        json line = json_of(trial);
        line["kind"] = "winner";
        out += json_text(line, true);
      }
      return out;
    }
  }
  return {};
}

}  // namespace tilewright
