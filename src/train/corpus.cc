// SPDX-License-Identifier: Apache-2.0
// See corpus.h.
#include "train/corpus.h"

#include "base/text.h"
#include "learn/mask.h"
#include "policy/exemplars.h"
#include "policy/experts.h"
#include "policy/experts_cuda.h"
#include "problem/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace tilewright {
namespace {

constexpr std::string_view kHeader = "tilewright corpus 1";
constexpr std::array<std::string_view, 3> kSources = {"analytic", "expert", "measured"};
constexpr std::uint64_t kRandomStream = 101, kShapeStream = 102, kOperationStream = 103;
constexpr std::size_t kLeastForRanks = 8;
constexpr double kNoise = 0.01;  // of a measured gain, below which a remark is "even"

void set_deciles(std::vector<Example>& examples) {
  std::vector<std::size_t> order(examples.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return examples[i].score; });
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    // The best of a few is of the best tenth, too.
    const std::size_t from_top = order.size() - 1 - rank;
    examples[order[rank]].decile = 9 - static_cast<int>(from_top * 10 / order.size());
  }
}

class Builder {
 public:
  explicit Builder(const CorpusOptions& options) : options_(options) {}

  void add(const Trial& trial) {
    const Result<Problem> problem = parse_problem(trial.problem);
    const Result<Program> program = parse_program(trial.program);
    if (!problem || !program || trial.device != options_.device.fingerprint()) return;
    const Score score = score_of(trial, 0);
    if (!score.ok || split_of(*problem) == "held-out") return;
    if (!is_legal(*program, *problem, options_.device)) return;
    // One that was timed again counts with its last timing.
    auto& of_shape = measured_[trial.problem];
    of_shape.insert_or_assign(trial.program, trial);
  }

  std::vector<ShapeExamples> build() {
    std::vector<ShapeExamples> shapes;
    std::set<std::string> had;
    const auto take = [&](const Problem& problem) {
      const std::string text = to_text(problem);
      if (split_of(problem) == "held-out" || !had.insert(text).second) return;
      ShapeExamples shape{problem, measured(text), modelled(problem, shapes.size())};
      if (!shape.measured.empty() || !shape.modelled.empty()) shapes.push_back(std::move(shape));
    };
    for (const auto& [text, trials] : measured_) take(parse_problem(text).value());
    for (const Problem& problem : options_.problems) take(problem);
    return shapes;
  }

 private:
  std::vector<Example> measured(const std::string& text) const {
    std::vector<Example> out;
    const auto found = measured_.find(text);
    if (found == measured_.end()) return out;
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [program, trial] : found->second) best = std::min(best, trial.time_us);
    for (const auto& [program, trial] : found->second) {
      out.push_back({parse_program(program).value(), ExampleSource::measured,
                     score_of(trial, best).value, 0, profile_bins(trial.profile)});
    }
    set_deciles(out);
    return out;
  }

  std::vector<Example> modelled(const Problem& problem, std::uint64_t number) const {
    std::vector<Example> out;
    std::set<std::string> had;
    const auto take = [&](const Program& program, ExampleSource source) {
      if (had.insert(program.text()).second) out.push_back({program, source, 0, 0, {}});
    };
    if (options_.random_programs == 0) return out;
    const TokenMask mask(problem, options_.device);
    if (!mask.any()) return out;
    for (const Program& program : experts(problem)) take(program, ExampleSource::expert);
    Rng rng(options_.seed, kRandomStream + (number << 16U));
    for (std::size_t i = 0; i < options_.random_programs; ++i) {
      const std::optional<Continuation> text = draw_text(mask, false, rng);
      if (!text) break;
      const Result<Program> program = program_of(*text);
      if (program) take(*program, ExampleSource::analytic);
    }
    double best = std::numeric_limits<double>::infinity();
    for (Example& example : out) {
      example.score = estimate_seconds(example.program, problem, options_.device);
      best = std::min(best, example.score);
    }
    for (Example& example : out) example.score = std::log(best / example.score);
    set_deciles(out);
    return out;
  }

  // Legal ones; on a GPU counting a whole space for them would take seconds a shape.
  std::vector<Program> experts(const Problem& problem) const {
    std::vector<Program> out;
    if (!problem.is_gemm()) return out;  // of which alone there are any
    if (options_.device.kind == DeviceKind::cuda) return cuda_experts(problem, options_.device);
    PolicyContext context;
    context.problem = problem;
    context.device = options_.device;
    context.experience = std::make_shared<Experience>(std::span<const Trial>());
    return expert_programs(legal_spaces(problem, options_.device), context);
  }

  const CorpusOptions& options_;
  std::map<std::string, std::map<std::string, Trial>> measured_;
};

double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const auto ranks = [](const std::vector<double>& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
    std::vector<double> out(values.size());
    for (std::size_t i = 0; i < order.size();) {
      std::size_t end = i + 1;
      while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
      for (std::size_t j = i; j < end; ++j) out[order[j]] = static_cast<double>(i + end - 1) / 2;
      i = end;
    }
    return out;
  };
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double middle = static_cast<double>(a.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - middle) * (y[i] - middle);
    xx += (x[i] - middle) * (x[i] - middle);
    yy += (y[i] - middle) * (y[i] - middle);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

// A fifth field, where there is a profile: its bins, and ? for what is missing.
std::string bins_field(const ProfileBins& bins) {
  std::string field;
  for (const auto& bin : bins) field += bin ? fmt::format(" {}", *bin) : " ?";
  if (bins == ProfileBins{}) return "";
  field.front() = '\t';
  return field;
}
std::optional<ProfileBins> bins_from(std::string_view field) {
  const std::vector<std::string_view> parts = words(field);
  ProfileBins bins{};
  if (parts.size() != bins.size()) return std::nullopt;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (parts[i] == "?") continue;
    const auto bin = parse_integer(parts[i]);
    if (!bin || *bin < 0 || *bin >= kProfileBins) return std::nullopt;
    bins[i] = static_cast<int>(*bin);
  }
  return bins;
}

}  // namespace

Corpus Corpus::make(const CorpusOptions& options, std::span<const Trial> trials) {
  Builder builder(options);
  for (const Trial& trial : trials) builder.add(trial);
  Corpus corpus;
  corpus.device_ = options.device;
  corpus.shapes_ = builder.build();
  return corpus;
}

std::string Corpus::text() const {
  std::string out = fmt::format("{}\t{}\n", kHeader, device_.fingerprint());
  for (const ShapeExamples& shape : shapes_) {
    const std::string problem = to_text(shape.problem);
    for (const auto* list : {&shape.measured, &shape.modelled}) {
      for (const Example& e : *list) {
        out +=
            fmt::format("{}\t{}\t{}\t{}{}\n", problem, kSources[static_cast<std::size_t>(e.source)],
                        e.score, e.program.text(), bins_field(e.profile));
      }
    }
  }
  return out;
}

Result<Corpus> Corpus::parse(const std::string& text, const Device& device) {
  Corpus corpus;
  corpus.device_ = device;
  std::string last;
  int number = 0;
  const auto refuse = [&](const std::string& why) {
    return fail(ErrorCode::refused, fmt::format("corpus, line {}: {}", number, why),
                "the stage `corpus` writes it anew");
  };
  for (const std::string_view line : split(text, '\n')) {
    if (++number == 1) {
      if (line != fmt::format("{}\t{}", kHeader, device.fingerprint())) {
        return refuse("of another version or device");
      }
      continue;
    }
    if (line.empty()) continue;
    const std::vector<std::string_view> fields = split(line, '\t');
    if (fields.size() != 4 && fields.size() != 5) return refuse("it has not four or five fields");
    const auto bins = fields.size() == 5 ? bins_from(fields[4]) : ProfileBins{};
    if (!bins) return refuse("its profile is wrong");
    const auto source = std::ranges::find(kSources, fields[1]);
    double score = 0;
    const auto [end, error] =
        std::from_chars(fields[2].data(), fields[2].data() + fields[2].size(), score);
    if (source == kSources.end() || error != std::errc()) return refuse("a field is wrong");
    if (fields[0] != last) {
      const Result<Problem> problem = parse_problem(fields[0]);
      if (!problem) return refuse(problem.error().message);
      if (split_of(*problem) == "held-out") return refuse("a held-out shape");
      corpus.shapes_.push_back({*problem, {}, {}});
      last = fields[0];
    }
    Result<Program> program = parse_program(fields[3]);
    if (!program) return refuse(program.error().message);
    ShapeExamples& shape = corpus.shapes_.back();
    const auto from = static_cast<ExampleSource>(source - kSources.begin());
    (from == ExampleSource::measured ? shape.measured : shape.modelled)
        .push_back({*std::move(program), from, score, 0, *bins});
  }
  if (number == 0) return refuse("it is empty");
  for (ShapeExamples& shape : corpus.shapes_) {
    set_deciles(shape.measured);
    set_deciles(shape.modelled);
  }
  return corpus;
}

std::size_t Corpus::count(ExampleSource source) const {
  std::size_t n = 0;
  for (const ShapeExamples& shape : shapes_) {
    for (const auto* list : {&shape.measured, &shape.modelled}) {
      n += static_cast<std::size_t>(std::ranges::count(*list, source, &Example::source));
    }
  }
  return n;
}

std::pair<Corpus, Corpus> Corpus::apart(std::size_t every) const {
  std::pair<Corpus, Corpus> out;
  out.first.device_ = out.second.device_ = device_;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    Corpus& part = i % every == every - 1 ? out.second : out.first;
    part.shapes_.push_back(shapes_[i]);
  }
  return out;
}

std::vector<const ShapeExamples*> Corpus::nearest(const Problem& problem) const {
  std::vector<const ShapeExamples*> out;
  for (const ShapeExamples& shape : shapes_) {
    if (!shape.measured.empty()) out.push_back(&shape);
  }
  std::ranges::stable_sort(
      out, {}, [&](const ShapeExamples* shape) { return shape_distance(shape->problem, problem); });
  return out;
}

std::optional<double> Corpus::rank_correlation() const {
  double sum = 0;
  int shapes = 0;
  for (const ShapeExamples& shape : shapes_) {
    if (shape.measured.size() < kLeastForRanks) continue;
    std::vector<double> estimated, measured;
    for (const Example& example : shape.measured) {
      estimated.push_back(-estimate_seconds(example.program, shape.problem, device_));
      measured.push_back(example.score);
    }
    sum += spearman(estimated, measured);
    ++shapes;
  }
  if (shapes == 0) return std::nullopt;
  return sum / shapes;
}

std::optional<LearningText> draw_learning_text(const Corpus& corpus, const TextOptions& options,
                                               Rng& rng) {
  bool any_measured = false;
  for (const ShapeExamples& shape : corpus.shapes()) {
    any_measured = any_measured || !shape.measured.empty();
  }
  std::vector<const ShapeExamples*> shapes;
  for (const ShapeExamples& shape : corpus.shapes()) {
    if (!options.best_only || !any_measured || !shape.measured.empty()) shapes.push_back(&shape);
  }
  if (shapes.empty()) return std::nullopt;
  const ShapeExamples& shape = *shapes[rng.below(shapes.size())];
  const bool measured =
      !shape.measured.empty() && (options.best_only || shape.modelled.empty() || rng.below(2) == 0);
  const std::vector<Example>& list = measured ? shape.measured : shape.modelled;
  std::vector<const Example*> choice;
  for (const Example& example : list) {
    if (!options.best_only || example.decile == 9) choice.push_back(&example);
  }
  const Example& target = *choice[rng.below(choice.size())];

  Prompt prompt{shape.problem, corpus.device()};
  if (options.best_only || rng.uniform() >= options.hide) prompt.want_decile = target.decile;
  // Exemplars are of the shape itself, or as at the start of a search of a near one.
  const ShapeExamples* from = &shape;
  if (measured && rng.below(2) == 0) {
    const std::vector<const ShapeExamples*> near = corpus.nearest(shape.problem);
    if (near.size() > 1) from = near[1];
  }
  const std::vector<Example>& others = measured ? from->measured : from->modelled;
  std::vector<double> scores;
  std::vector<const Example*> known;
  for (const Example& example : others) {
    if (from == &shape && example.program == target.program) continue;
    known.push_back(&example);
    scores.push_back(example.score);
  }
  const Example* shown = nullptr;
  for (const std::size_t i : contrastive(scores, options.exemplars, rng)) {
    if (rng.uniform() < options.drop) continue;
    prompt.exemplars.push_back({known[i]->program, known[i]->score, known[i]->profile});
    shown = known[i];
  }
  std::optional<std::vector<Remark>> analysis;
  if (shown != nullptr && measured && from == &shape && rng.uniform() < options.analysis) {
    analysis = remarks(shown->program, target.program, target.score - shown->score, kNoise);
  }
  return learning_text(prompt, analysis, target.program);
}

namespace {

// From 2^low on; half are powers of two.
std::int64_t draw_size(Rng& rng, int low, int high) {
  const auto choices = static_cast<std::uint64_t>(high - low + 1);
  const std::int64_t power = std::int64_t{1} << (low + static_cast<int>(rng.below(choices)));
  constexpr std::array<int, 4> kQuarters = {4, 4, 5, 6};
  return std::max<std::int64_t>(1, power * kQuarters[rng.below(kQuarters.size())] / 4);
}

// A conv2d as nets have them.
Problem draw_convolution(Rng& rng, bool gpu) {
  Problem p;
  p.op = Op::conv2d;
  Convolution& c = p.conv;
  c.images = std::int64_t{1} << rng.below(gpu ? 6 : 2);
  c.height = c.width = std::int64_t{7} << rng.below(4);
  c.channels = std::int64_t{16} << rng.below(gpu ? 6 : 4);
  c.filter_height = c.filter_width = rng.below(3) == 0 ? 1 : 3;
  c.pad = c.filter_height / 2;
  c.stride = rng.below(4) == 0 ? 2 : 1;
  p.m = c.images * c.out_height() * c.out_width();
  p.n = std::int64_t{16} << rng.below(gpu ? 6 : 4);
  p.k = c.filter_height * c.filter_width * c.channels;
  return p;
}

// Up to `count` different ones of draw(turn), valid and not held out.
std::vector<Problem> different_problems(std::size_t count,
                                        const std::function<Problem(std::size_t)>& draw) {
  std::vector<Problem> out;
  std::set<std::string> had;
  for (std::size_t turn = 0; out.size() < count && turn < 100 * count + 100; ++turn) {
    const Problem p = draw(turn);
    if (!check(p) || split_of(p) == "held-out" || !had.insert(to_text(p)).second) continue;
    out.push_back(p);
  }
  return out;
}

}  // namespace

std::vector<Problem> training_operations(const Device& device, std::size_t count,
                                         std::uint64_t seed) {
  Rng rng(seed, kOperationStream);
  const bool gpu = device.kind == DeviceKind::cuda;
  std::vector<Operation> others;
  std::ranges::copy_if(operations(), std::back_inserter(others),
                       [](const Operation& operation) { return operation.op != Op::gemm; });
  return different_problems(count, [&](std::size_t turn) {
    const Operation& operation = others[turn % others.size()];
    Problem p;
    if (operation.op == Op::conv2d) {
      p = draw_convolution(rng, gpu);
    } else {
      p.op = operation.op;
      p.m = gpu ? draw_size(rng, 6, 13) : draw_size(rng, 0, 10);
      p.n = gpu ? draw_size(rng, 6, 13) : draw_size(rng, 5, 12);
      p.k = 1;
      if (!operation.functions.empty()) {
        p.function = operation.functions[rng.below(operation.functions.size())];
      }
    }
    if (rng.below(4) == 0) p.in = p.out = ElementType::bf16;
    return p;
  });
}

std::vector<Problem> training_shapes(const Device& device, std::size_t count, std::uint64_t seed) {
  Rng rng(seed, kShapeStream);
  const bool gpu = device.kind == DeviceKind::cuda;
  return different_problems(count, [&](std::size_t) {
    Problem p;
    p.m = gpu ? draw_size(rng, 6, 13) : draw_size(rng, 0, 8);
    p.n = gpu ? draw_size(rng, 6, 13) : draw_size(rng, 7, 11);
    p.k = gpu ? draw_size(rng, 6, 13) : draw_size(rng, 7, 11);
    if (rng.below(4) == 0) p.in = p.out = ElementType::bf16;
    if (rng.below(4) == 0) p.b_transposed = true;
    return p;
  });
}

}  // namespace tilewright
