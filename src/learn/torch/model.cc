// SPDX-License-Identifier: Apache-2.0
// Making, loading and saving models (model.h); sample.cc writes texts and score.cc judges them.
#include "learn/model.h"

#include "base/text.h"
#include "learn/torch/network.h"
#include "learn/torch/tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/cuda.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace tilewright {
namespace {

constexpr double kDeviation = 0.02;  // of fresh weights, GPT-2's

Result<at::Device> device_named(const std::string& name) {
  if (name == "cpu") return at::Device(at::kCPU);
  const bool numbered = name.starts_with("cuda:");
  const auto number =
      numbered ? parse_integer(std::string_view(name).substr(5)) : std::optional<std::int64_t>(0);
  if ((name != "cuda" && !numbered) || !number || *number < 0) {
    return fail(ErrorCode::usage, fmt::format("device '{}' is none of cpu, cuda, cuda:N", name));
  }
  const auto count = static_cast<std::int64_t>(torch::cuda::device_count());
  if (*number >= count) {
    return fail(ErrorCode::environment,
                fmt::format("device '{}': this LibTorch sees {} CUDA devices", name, count),
                at::hasCUDA() ? "" : "it was built for CPUs; see cmake/TilewrightTorch.cmake");
  }
  return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(*number));
}

Status check(const ModelShape& shape) {
  if (shape.width >= 1 && shape.layers >= 1 && shape.heads >= 1 && shape.context >= 1 &&
      shape.width <= 8192 && shape.layers <= 128 && shape.context <= 65536 &&
      shape.width % shape.heads == 0) {
    return {};
  }
  return fail(
      ErrorCode::usage,
      fmt::format("model of width={} layers={} heads={} context={}: all at least 1, and the "
                  "width a multiple of the heads",
                  shape.width, shape.layers, shape.heads, shape.context));
}

// In the order of names, so that the same seed gives the same model everywhere.
void fill_fresh(Network& network, std::uint64_t seed) {
  const c10::NoGradGuard no_grad;
  const double residual = kDeviation / std::sqrt(2.0 * network.shape().layers);
  std::uint64_t stream = 0;
  for (auto& [name, tensor] : network.parameters()) {
    ++stream;
    if (tensor.dim() != 2) continue;  // norms and biases stand as they are
    const double deviation = name.ends_with("c_proj.weight") ? residual : kDeviation;
    Rng rng(seed, stream);
    std::vector<double> values(static_cast<std::size_t>(tensor.numel()));
    for (double& value : values) value = deviation * rng.normal();
    tensor.copy_(tensor_of(values, tensor.sizes().vec(), network));
  }
}

Result<int> number_in(const TensorFile& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  const auto value = found == file.metadata.end() ? std::nullopt : parse_integer(found->second);
  if (!value || *value < 0 || *value > 1 << 24) {
    return fail(ErrorCode::refused,
                fmt::format("weights: metadata '{}' is missing or no number", key));
  }
  return static_cast<int>(*value);
}

Result<ModelShape> shape_in(const TensorFile& file) {
  ModelShape shape;
  const std::array<std::pair<const char*, int*>, 4> fields = {{{"width", &shape.width},
                                                               {"layers", &shape.layers},
                                                               {"heads", &shape.heads},
                                                               {"context", &shape.context}}};
  for (const auto& [key, field] : fields) {
    const auto value = number_in(file, key);
    if (!value) return tl::unexpected(value.error());
    *field = *value;
  }
  if (const auto size = file.metadata.find("size"); size != file.metadata.end()) {
    shape.size = size->second;
  }
  const auto words = file.tensors.find("transformer.wte.weight");
  shape.f64 = words != file.tensors.end() && words->second.type == TensorType::f64;
  const auto version = number_in(file, "text_version");
  if (!version) return tl::unexpected(version.error());
  if (*version != kTextVersion) {
    return fail(ErrorCode::refused,
                fmt::format("weights: their prompts are of version {}, this program writes {}",
                            *version, kTextVersion),
                "train anew, or use the program that they came with");
  }
  return shape;
}

// Rows of the file's word embedding by today's words; fresh ones where it has none.
TensorValue remapped(const TensorValue& from, const std::vector<std::string_view>& old_words,
                     const Network& fresh, std::string* notes) {
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < old_words.size(); ++i) places.emplace(old_words[i], i);
  TensorValue out;
  for (const auto& [name, tensor] : fresh.parameters()) {
    if (name == "transformer.wte.weight") out = value_of(tensor);
  }
  const auto row_bytes = from.bytes.size() / std::max<std::size_t>(old_words.size(), 1);
  std::size_t kept = 0;
  const auto words = text_words();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto found = places.find(words[i]);
    if (found == places.end()) continue;
    ++kept;
    out.bytes.replace(i * row_bytes, row_bytes, from.bytes, found->second * row_bytes, row_bytes);
  }
  if (notes != nullptr && (kept != words.size() || kept != old_words.size())) {
    *notes =
        fmt::format("weights of {} words: {} of today's {} are new, {} are gone", old_words.size(),
                    words.size() - kept, words.size(), old_words.size() - kept);
  }
  return out;
}

}  // namespace

TensorFile file_of(const Network& network) {
  const ModelShape& s = network.shape();
  TensorFile file;
  file.metadata = {{"format", "pt"},  // what Hugging Face's reader asks for
                   {"model", "gpt2"},
                   {"size", s.size},
                   {"width", std::to_string(s.width)},
                   {"layers", std::to_string(s.layers)},
                   {"heads", std::to_string(s.heads)},
                   {"context", std::to_string(s.context)},
                   {"text_version", std::to_string(kTextVersion)},
                   {"words", fmt::format("{}", fmt::join(text_words(), " "))}};
  for (const auto& [name, tensor] : network.parameters()) {
    file.tensors.emplace(name, value_of(tensor));
  }
  return file;
}

std::span<const ModelShape> model_shapes() {
  static const std::array<ModelShape, 4> shapes = {
      {{.size = "xs", .width = 128, .layers = 4, .heads = 4},
       {.size = "s", .width = 256, .layers = 6, .heads = 8},
       {.size = "m", .width = 384, .layers = 8, .heads = 6},
       {.size = "l", .width = 512, .layers = 9, .heads = 8}}};
  return shapes;
}

Result<ModelShape> model_shape(std::string_view size) {
  const auto found = std::ranges::find(model_shapes(), size, &ModelShape::size);
  if (found != model_shapes().end()) return *found;
  std::vector<std::string_view> names;
  for (const ModelShape& shape : model_shapes()) names.push_back(shape.size);
  return fail(ErrorCode::usage,
              fmt::format("model '{}' is none of {}", size, fmt::join(names, ", ")));
}

LanguageModel::LanguageModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LanguageModel::~LanguageModel() = default;
LanguageModel::LanguageModel(LanguageModel&&) noexcept = default;
LanguageModel& LanguageModel::operator=(LanguageModel&&) noexcept = default;

Result<LanguageModel> LanguageModel::create(const ModelShape& shape, std::uint64_t seed,
                                            const std::string& device) {
  if (const Status ok = check(shape); !ok) return tl::unexpected(ok.error());
  const auto place = device_named(device);
  if (!place) return tl::unexpected(place.error());
  Network network(shape, static_cast<std::int64_t>(text_words().size()), *place);
  fill_fresh(network, seed);
  return LanguageModel(std::make_unique<Impl>(Impl{std::move(network), device}));
}

Result<LanguageModel> LanguageModel::load(const std::filesystem::path& path,
                                          const std::string& device, std::string* notes) {
  const auto file = read_safetensors(path);
  if (!file) return tl::unexpected(file.error());
  return from_tensors(*file, device, notes);
}

Result<LanguageModel> LanguageModel::from_tensors(const TensorFile& file, const std::string& device,
                                                  std::string* notes) {
  const auto shape = shape_in(file);
  if (!shape) return tl::unexpected(shape.error());
  auto model = create(*shape, 0, device);
  if (!model) return model;
  const auto listed = file.metadata.find("words");
  if (listed == file.metadata.end()) {
    return fail(ErrorCode::refused, "weights: metadata 'words' is missing");
  }
  const std::vector<std::string_view> old_words = words(listed->second);
  const Network& network = model->impl_->network;
  const c10::NoGradGuard no_grad;
  for (auto& [name, tensor] : network.parameters()) {
    const auto found = file.tensors.find(name);
    std::vector<std::int64_t> wanted = tensor.sizes().vec();
    const bool embedding = name == "transformer.wte.weight";
    if (embedding) wanted[0] = static_cast<std::int64_t>(old_words.size());
    const TensorType type = shape->f64 ? TensorType::f64 : TensorType::f32;
    if (found == file.tensors.end() || found->second.shape != wanted ||
        found->second.type != type) {
      return fail(ErrorCode::refused,
                  fmt::format("weights: tensor '{}' is missing or not {} of {}", name,
                              fmt::join(wanted, "x"), shape->f64 ? "f64" : "f32"));
    }
    at::Tensor target = tensor;
    target.copy_(tensor_of(
        embedding ? remapped(found->second, old_words, network, notes) : found->second, network));
  }
  return model;
}

TensorFile LanguageModel::to_tensors() const {
  return file_of(impl_->network);
}

Status LanguageModel::assign(const TensorFile& file) {
  const auto other = from_tensors(file, device());
  if (!other) return tl::unexpected(other.error());
  if (other->shape() != shape()) {
    return fail(ErrorCode::refused, fmt::format("weights: of a model '{}', this one is '{}'",
                                                other->shape().size, shape().size));
  }
  impl_->network.assign(other->impl_->network);
  return {};
}

Status LanguageModel::save(const std::filesystem::path& path) const {
  return save_safetensors(path, to_tensors());
}

const ModelShape& LanguageModel::shape() const {
  return impl_->network.shape();
}

std::string LanguageModel::device() const {
  return impl_->device_name;
}

std::size_t LanguageModel::parameters() const {
  std::size_t count = 0;
  for (const auto& [name, tensor] : impl_->network.parameters()) {
    count += static_cast<std::size_t>(tensor.numel());
  }
  return count;
}

LanguageModel LanguageModel::clone() const {
  return LanguageModel(std::make_unique<Impl>(Impl{impl_->network.copy(), impl_->device_name}));
}

}  // namespace tilewright
