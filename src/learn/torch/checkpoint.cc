// SPDX-License-Identifier: Apache-2.0
// Saving and resuming a trainer (trainer.h).
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "learn/torch/tensors.h"
#include "learn/torch/training.h"

#include <fmt/format.h>

#include <system_error>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTrainerFile = "trainer.safetensors";
constexpr const char* kModelPrefix = "model-";

tl::unexpected<Error> refused(const fs::path& folder, const std::string& why) {
  return fail(ErrorCode::refused, fmt::format("checkpoint {}: {}", folder.string(), why));
}

// Weights of earlier checkpoints; a file that cannot be removed does no harm.
void remove_others(const fs::path& folder, const std::string& kept) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kModelPrefix) && name.ends_with(".safetensors") && name != kept) {
      fs::remove(entry.path(), ignored);
    }
  }
}

std::string metadata_of(const TensorFile& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  return found == file.metadata.end() ? std::string() : found->second;
}

// `prefix` + name of each parameter, into tensors of the same shape and type.
Status fill(const TensorFile& file, const std::string& prefix, const Network& network,
            const std::vector<at::Tensor>& targets, const fs::path& folder) {
  const auto parameters = network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string name = prefix + parameters[i].first;
    const auto found = file.tensors.find(name);
    if (found == file.tensors.end() || found->second.shape != targets[i].sizes().vec()) {
      return refused(folder, fmt::format("tensor '{}' is missing or has another shape", name));
    }
    targets[i].copy_(tensor_of(found->second, network));
  }
  return {};
}

std::vector<at::Tensor> tensors_of(const Network& network) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : network.parameters()) tensors.push_back(tensor);
  return tensors;
}

}  // namespace

Status Trainer::save(const fs::path& folder, const std::string& notes) const {
  const Network& network = impl_->network();
  const std::string bytes = write_safetensors(file_of(network));
  const std::string hash = hash128(bytes);
  const std::string model_name =
      fmt::format("{}{}-{}.safetensors", kModelPrefix, impl_->steps, hash.substr(0, 8));

  TensorFile file;
  file.metadata = {{"model", model_name},
                   {"model_hash", hash},
                   {"steps", std::to_string(impl_->steps)},
                   {"stage_steps", std::to_string(impl_->stage_steps)},
                   {"updates", std::to_string(impl_->optimiser.updates())},
                   {"reference", impl_->reference_is_model ? "model" : "here"},
                   {"notes", notes}};
  const auto parameters = network.parameters();
  const auto references = impl_->reference.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = parameters[i].first;
    file.tensors.emplace("mean." + name, value_of(impl_->optimiser.means()[i]));
    file.tensors.emplace("square." + name, value_of(impl_->optimiser.squares()[i]));
    if (!impl_->reference_is_model) {
      file.tensors.emplace("reference." + name, value_of(references[i].second));
    }
  }
  if (const Status ok = write_file_atomically(folder / model_name, bytes); !ok) return ok;
  if (const Status ok = save_safetensors(folder / kTrainerFile, file); !ok) return ok;
  remove_others(folder, model_name);
  return {};
}

Result<std::string> Trainer::load(const fs::path& folder) {
  const auto file = read_safetensors(folder / kTrainerFile);
  if (!file) return tl::unexpected(file.error());
  const std::string model_name = metadata_of(*file, "model");
  if (!model_name.starts_with(kModelPrefix) || model_name.find('/') != std::string::npos) {
    return refused(folder, "it names no weights");
  }
  const auto bytes = read_file(folder / model_name);
  if (!bytes) return tl::unexpected(bytes.error());
  if (hash128(*bytes) != metadata_of(*file, "model_hash")) {
    return refused(folder, fmt::format("{} is not the file that was saved with it", model_name));
  }
  const auto tensors = parse_safetensors(*bytes);
  if (!tensors) return tl::unexpected(tensors.error());
  const auto model = LanguageModel::from_tensors(*tensors, impl_->model->device_name);
  if (!model) return tl::unexpected(model.error());
  if (model->shape() != impl_->network().shape()) {
    return refused(folder, fmt::format("its model is '{}', of another shape", model->shape().size));
  }
  const auto steps = parse_integer(metadata_of(*file, "steps"));
  const auto stage_steps = parse_integer(metadata_of(*file, "stage_steps"));
  const auto updates = parse_integer(metadata_of(*file, "updates"));
  if (!steps || !stage_steps || !updates) return refused(folder, "its counters are no numbers");

  const c10::NoGradGuard no_grad;
  Network& network = impl_->model->network;
  // Read all before anything of the trainer changes.
  AdamW optimiser(network);
  for (const auto& [prefix, targets] :
       {std::pair("mean.", optimiser.means()), std::pair("square.", optimiser.squares())}) {
    if (const Status ok = fill(*file, prefix, network, targets, folder); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  const bool own_reference = metadata_of(*file, "reference") == "here";
  Network reference = model->impl().network.copy();
  if (own_reference) {
    if (const Status ok = fill(*file, "reference.", network, tensors_of(reference), folder); !ok) {
      return tl::unexpected(ok.error());
    }
  }
  network.assign(model->impl().network);
  optimiser.set_updates(*updates);
  impl_->optimiser = std::move(optimiser);
  impl_->reference = std::move(reference);
  impl_->reference_is_model = !own_reference;
  impl_->steps = *steps;
  impl_->stage_steps = *stage_steps;
  return metadata_of(*file, "notes");
}

}  // namespace tilewright
