// SPDX-License-Identifier: Apache-2.0
// The part of XGBoost's C interface that we call, declared by its ABI (stable from 1.0 to 2.x).
#include "policy/boosted_trees.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>

namespace tilewright {
namespace {

using Handle = void*;

struct Api {
  int (*matrix_create)(const float*, std::uint64_t, std::uint64_t, float, Handle*) = nullptr;
  int (*matrix_set)(Handle, const char*, const float*, std::uint64_t) = nullptr;
  int (*matrix_free)(Handle) = nullptr;
  int (*create)(const Handle*, std::uint64_t, Handle*) = nullptr;
  int (*set)(Handle, const char*, const char*) = nullptr;
  int (*update)(Handle, int, Handle) = nullptr;
  int (*predict)(Handle, Handle, int, unsigned, int, std::uint64_t*, const float**) = nullptr;
  int (*free)(Handle) = nullptr;
  const char* (*last_error)() = nullptr;
};

Result<Api> open_api() {
  constexpr std::array<const char*, 2> kNames = {"libxgboost.so.0", "libxgboost.so"};
  void* library = nullptr;
  for (const char* name : kNames) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    return fail(ErrorCode::environment, "XGBoost is not installed (libxgboost.so.0)",
                "Debian: apt-get install libxgboost0; or choose another --policy");
  }
  Api api;
  const auto bind = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  if (!bind(api.matrix_create, "XGDMatrixCreateFromMat") ||
      !bind(api.matrix_set, "XGDMatrixSetFloatInfo") || !bind(api.matrix_free, "XGDMatrixFree") ||
      !bind(api.create, "XGBoosterCreate") || !bind(api.set, "XGBoosterSetParam") ||
      !bind(api.update, "XGBoosterUpdateOneIter") || !bind(api.predict, "XGBoosterPredict") ||
      !bind(api.free, "XGBoosterFree") || !bind(api.last_error, "XGBGetLastError")) {
    return fail(ErrorCode::environment, "libxgboost lacks a function of its C interface",
                "Debian's libxgboost0 1.7 has them all");
  }
  return api;
}

// Opened once; it stays in the process.
const Result<Api>& api() {
  static const Result<Api> opened = open_api();
  return opened;
}

class Matrix {
 public:
  Matrix(const Api& api, const FeatureRows& rows) : api_(api) {
    if (api.matrix_create(rows.values.data(), rows.rows(), rows.columns,
                          std::numeric_limits<float>::quiet_NaN(), &handle_) != 0) {
      handle_ = nullptr;
    }
  }
  ~Matrix() {
    if (handle_ != nullptr) api_.matrix_free(handle_);
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  [[nodiscard]] Handle get() const { return handle_; }

 private:
  const Api& api_;
  Handle handle_ = nullptr;
};

class Trees final : public BoostedTrees {
 public:
  Trees(const Api& api, Handle handle) : api_(api), handle_(handle) {}
  ~Trees() override { api_.free(handle_); }
  Trees(const Trees&) = delete;
  Trees& operator=(const Trees&) = delete;

  std::vector<float> predict(const FeatureRows& rows) const override {
    if (rows.rows() == 0) return {};
    const Matrix matrix(api_, rows);
    const std::scoped_lock lock(mutex_);  // a booster is not for several threads at once
    std::uint64_t count = 0;
    const float* values = nullptr;
    if (matrix.get() == nullptr ||
        api_.predict(handle_, matrix.get(), 0, 0, 0, &count, &values) != 0) {
      return {};
    }
    return {values, values + count};
  }

 private:
  const Api& api_;
  Handle handle_;
  mutable std::mutex mutex_;
};

Status refused(const Api& api, const char* what) {
  return fail(ErrorCode::internal, fmt::format("XGBoost: {}: {}", what, api.last_error()));
}

}  // namespace

Status BoostedTrees::available() {
  if (!api()) return tl::unexpected(api().error());
  return {};
}

Result<std::shared_ptr<const BoostedTrees>> BoostedTrees::fit(const FeatureRows& rows,
                                                              std::span<const float> targets,
                                                              const TreeOptions& options) {
  if (Status status = available(); !status) return tl::unexpected(status.error());
  const Api& xgb = *api();
  const Matrix matrix(xgb, rows);
  if (matrix.get() == nullptr ||
      xgb.matrix_set(matrix.get(), "label", targets.data(), targets.size()) != 0) {
    return tl::unexpected(refused(xgb, "data").error());
  }
  const Handle data = matrix.get();
  Handle booster = nullptr;
  if (xgb.create(&data, 1, &booster) != 0) return tl::unexpected(refused(xgb, "create").error());
  auto trees = std::make_shared<const Trees>(xgb, booster);
  const std::array<std::pair<const char*, std::string>, 8> parameters = {{
      {"verbosity", "0"},
      {"nthread", "1"},
      {"seed", "1"},
      {"objective", "reg:squarederror"},
      {"base_score", "0"},
      {"tree_method", rows.rows() > 4000 ? "hist" : "exact"},
      {"max_depth", std::to_string(options.depth)},
      {"eta", fmt::format("{}", options.rate)},
  }};
  for (const auto& [name, value] : parameters) {
    if (xgb.set(booster, name, value.c_str()) != 0) {
      return tl::unexpected(refused(xgb, name).error());
    }
  }
  for (int round = 0; round < options.rounds; ++round) {
    if (xgb.update(booster, round, data) != 0) return tl::unexpected(refused(xgb, "fit").error());
  }
  return trees;
}

}  // namespace tilewright
