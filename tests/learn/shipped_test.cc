// SPDX-License-Identifier: Apache-2.0
// The weights that ship: a file of this format, small enough, that knows today's words.
#include "base/text.h"
#include "learn/safetensors.h"
#include "learn/text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

namespace tilewright {
namespace {

TEST(ShippedWeights, AreOfTodaysLanguage) {
  const std::filesystem::path path = TILEWRIGHT_SOURCE_DIR "/weights/lm.safetensors";
  EXPECT_LE(std::filesystem::file_size(path), 32U << 20);
  const Result<TensorFile> file = read_safetensors(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->metadata.at("text_version"), std::to_string(kTextVersion));
  std::set<std::string, std::less<>> known;
  for (const std::string_view word : words(file->metadata.at("words"))) known.emplace(word);
  // A word that is new since has a row of its own that nothing was learned for: train again.
  for (const std::string& word : text_words()) EXPECT_TRUE(known.contains(word)) << word;
}

}  // namespace
}  // namespace tilewright
