// SPDX-License-Identifier: Apache-2.0
// Files of tensors: the same back, and damage is an error.
#include "learn/safetensors.h"

#include "base/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

TensorFile random_file(Rng& rng) {
  TensorFile file;
  if (rng.below(2) == 0) file.metadata = {{"format", "pt"}, {"words", "a \"b\" \n c"}};
  const std::uint64_t count = rng.below(5);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> shape;
    std::int64_t elements = 1;
    for (std::uint64_t d = rng.below(4); d > 0; --d) {
      shape.push_back(static_cast<std::int64_t>(rng.below(5)));
      elements *= shape.back();
    }
    std::vector<double> values(static_cast<std::size_t>(elements));
    for (double& value : values) value = rng.normal();
    const std::vector<float> narrow(values.begin(), values.end());
    file.tensors.emplace("t" + std::to_string(i), rng.below(2) == 0
                                                      ? TensorValue::of(values, shape)
                                                      : TensorValue::of(narrow, shape));
  }
  return file;
}

std::string with_header(const std::string& header, const std::string& data) {
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

TEST(Safetensors, ComesBack) {
  Rng rng(1);
  for (int i = 0; i < 300; ++i) {
    const TensorFile file = random_file(rng);
    const std::string bytes = write_safetensors(file);
    const auto back = parse_safetensors(bytes);
    ASSERT_TRUE(back) << back.error().message;
    ASSERT_EQ(*back, file);
    ASSERT_EQ(write_safetensors(*back), bytes);
  }
}

TEST(Safetensors, AShorterFileIsAnError) {
  Rng rng(2);
  for (int i = 0; i < 40; ++i) {
    TensorFile file = random_file(rng);
    file.tensors.emplace("z", TensorValue::of(std::vector<float>{1, 2, 3}, {3}));
    const std::string bytes = write_safetensors(file);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      ASSERT_FALSE(parse_safetensors(std::string_view(bytes).substr(0, length))) << length;
    }
    ASSERT_FALSE(parse_safetensors(bytes + "x"));
  }
}

TEST(Safetensors, AChangedFileIsReadOrRefusedButNeverMore) {
  Rng rng(3);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = write_safetensors(random_file(rng));
    for (std::uint64_t n = 1 + rng.below(3); n > 0; --n) {
      bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    }
    if (const auto file = parse_safetensors(bytes)) {
      for (const auto& [name, tensor] : file->tensors) {
        ASSERT_EQ(tensor.bytes.size(), static_cast<std::size_t>(tensor.elements()) *
                                           (tensor.type == TensorType::f32 ? 4 : 8));
      }
    }
  }
}

TEST(Safetensors, RefusesByName) {
  const auto refusal = [](const std::string& header, const std::string& data) {
    const auto file = parse_safetensors(with_header(header, data));
    return file ? std::string("accepted") : file.error().message;
  };
  const std::string eight(8, 'x');
  EXPECT_THAT(refusal(R"({"a":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}})", eight),
              HasSubstr("'BF16'"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", eight),
              HasSubstr("8 bytes for 3 elements"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})", eight),
              HasSubstr("not within"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", eight),
              HasSubstr("gap or an overlap"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", eight),
              HasSubstr("belong to no tensor"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                      R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                      eight),
              HasSubstr("gap or an overlap"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", eight),
              HasSubstr("negative or too large"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],)"
                      R"("data_offsets":[0,0]}})",
                      ""),
              HasSubstr("too large"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":1}})", ""), HasSubstr("no text"));
  EXPECT_THAT(refusal("[1]", ""), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal("{", ""), HasSubstr("no JSON object"));
  std::string huge(8, '\xff');
  EXPECT_THAT(parse_safetensors(huge + "{}").error().message, HasSubstr("header of"));
}

TEST(Safetensors, FilesNameThemselvesInErrors) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "tilewright_safetensors";
  const TensorFile file{.metadata = {},
                        .tensors = {{"a", TensorValue::of(std::vector<double>{1.5, -2}, {2})}}};
  ASSERT_TRUE(save_safetensors(folder / "a.safetensors", file));
  EXPECT_EQ(read_safetensors(folder / "a.safetensors").value(), file);
  EXPECT_EQ(file.tensors.at("a").as_doubles(), (std::vector<double>{1.5, -2}));
  std::ofstream(folder / "b.safetensors") << "short";
  EXPECT_THAT(read_safetensors(folder / "b.safetensors").error().message,
              HasSubstr("b.safetensors"));
  EXPECT_FALSE(read_safetensors(folder / "none.safetensors"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tilewright
