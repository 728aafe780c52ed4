// SPDX-License-Identifier: Apache-2.0
// Damaged wisdom (CASES C01): cut at every byte, every bit of every byte flipped, lines moved,
// binary, huge. Each is refused with a line and a reason; none is half used.
#include "record/made_wisdom.h"
#include "record/wisdom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Wisdom two_entries() {
  return {.device = made_device(), .entries = {made_entry(32, 3), made_entry(64, 12.3)}};
}

void expect_refused(const std::string& text, const std::string& reason) {
  const auto wisdom = parse_wisdom(text);
  ASSERT_FALSE(wisdom) << text.substr(0, 300);
  EXPECT_EQ(wisdom.error().code, ErrorCode::refused);
  EXPECT_THAT(wisdom.error().message, StartsWith("wisdom line "));
  EXPECT_THAT(wisdom.error().message, HasSubstr(reason));
  EXPECT_FALSE(wisdom.error().hint.empty());
  EXPECT_LT(wisdom.error().message.size(), 400U);  // never the file itself
}

TEST(wisdom_damage, cut_at_every_byte) {
  const std::string text = to_text(two_entries());
  for (std::size_t length = 0; length < text.size(); ++length) {
    expect_refused(text.substr(0, length), "line ");
  }
  ASSERT_TRUE(parse_wisdom(text));
}

TEST(wisdom_damage, every_bit_flipped) {
  const std::string text = to_text(two_entries());
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = text;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      expect_refused(flipped, "line ");
    }
  }
}

TEST(wisdom_damage, every_byte_left_out_or_doubled) {
  const std::string text = to_text(two_entries());
  for (std::size_t at = 0; at < text.size(); ++at) {
    // Leaving out one of two equal neighbours is the same text whichever it is; still not ours.
    expect_refused(text.substr(0, at) + text.substr(at + 1), "line ");
    expect_refused(text.substr(0, at) + text[at] + text.substr(at), "line ");
  }
}

TEST(wisdom_damage, other_files) {
  expect_refused("", "line 1: does not begin with 'tilewright-wisdom'");
  expect_refused(std::string(1, '\0'), "line 1: does not begin");
  expect_refused(std::string(100000, '\0'), "line 1: does not begin");
  expect_refused("\n\n\n", "line 1: does not begin");
  expect_refused("{\"a\":1}", "line 1: does not begin");
  Rng rng(3);
  for (int i = 0; i < 200; ++i) {
    std::string binary(rng.below(500), ' ');
    for (char& c : binary) c = static_cast<char>(rng() & 0xff);
    expect_refused(binary, "line 1: ");
    expect_refused("tilewright-wisdom 1\n" + binary, "line ");
  }
}

TEST(wisdom_damage, huge_lines) {
  const std::string frame = "tilewright-wisdom 1\ndevice " + to_json(made_device()) + "\n";
  expect_refused(std::string(10'000'000, 'x'), "line 1: does not begin");
  expect_refused("tilewright-wisdom " + std::string(10'000'000, '1'), "line 1: version '111");
  expect_refused(frame + std::string(10'000'000, 'x'), "line 3: ");
  expect_refused(sealed(frame + "entry " + std::string(10'000'000, '|') + "\n"),
                 "line 3: has 10000006 bytes");
  expect_refused(sealed("tilewright-wisdom 1\ndevice " + std::string(10'000'000, '[') + "\n"),
                 "line 2: has 10000007 bytes");
}

TEST(wisdom_damage, versions) {
  const std::string rest = "\ndevice " + to_json(made_device()) + "\n";
  ASSERT_TRUE(parse_wisdom(sealed("tilewright-wisdom 1" + rest)));
  for (const char* version :
       {"2", "0", "-1", "", "1.0", "1 ", " 1", "one", "99999999999999999999"}) {
    expect_refused(sealed(fmt::format("tilewright-wisdom {}{}", version, rest)),
                   fmt::format("line 1: version '{}', this program reads 1", version));
  }
  expect_refused(sealed("tilewright-wisdom 01" + rest), "line 1: ");
}

TEST(wisdom_damage, says_what_is_wrong_where) {
  const std::string head = "tilewright-wisdom 1\n",
                    device = "device " + to_json(made_device()) + "\n";
  const std::string text = to_text(two_entries());
  const std::string e1 =
      text.substr(head.size() + device.size(),
                  text.find('\n', head.size() + device.size()) + 1 - head.size() - device.size());
  const std::string e2 = text.substr(head.size() + device.size() + e1.size(),
                                     text.rfind("hash ") - head.size() - device.size() - e1.size());
  ASSERT_EQ(sealed(head + device + e1 + e2), text);
  expect_refused(head + device + e1 + e2, "line 4: is not the hash that ends a file: it was cut");
  expect_refused(text.substr(0, text.size() - 1), "line 5: does not end: the file was cut short");
  expect_refused(text + "\n", "line 6: is not the hash");
  expect_refused(text + "more\n", "line 6: is not the hash");
  expect_refused(text + text, "line 10: is not the hash of the lines above");
  expect_refused(head + device + e1 + "hash 00\n", "line 4: is not the hash of the lines above");
  expect_refused(sealed(head), "line 2: does not begin with 'device '");
  expect_refused(sealed(head + e1), "line 2: does not begin with 'device '");
  expect_refused(sealed(head + "device {}\n"), "line 2: ");
  expect_refused(sealed(head + device + device), "line 3: does not begin with 'entry '");
  expect_refused(sealed(head + device + e2 + e1), "line 4: is not sorted");
  expect_refused(sealed(head + device + e1 + e1), "line 4: is not sorted after the line above, or");
  expect_refused(sealed(head + device + e1 + "\n" + e2), "line 4: does not begin with 'entry '");
  // An editor that writes CRLF changes every line.
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  expect_refused(crlf, "line 1: version '1\r'");
}

TEST(wisdom_damage, a_right_hash_does_not_excuse_a_wrong_line) {
  // Random damage in the body, sealed again: refused, or a wisdom that means what it says.
  Rng rng(9);
  int accepted = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = to_text(two_entries());
    text = text.substr(0, text.rfind("hash "));
    for (auto changes = 1 + rng.below(3); changes > 0; --changes) {
      const auto at = rng.below(text.size());
      switch (rng.below(3)) {
        case 0:
          text[at] = static_cast<char>(text[at] ^ (1 << rng.below(8)));
          break;
        case 1:
          text.erase(at, 1 + rng.below(4));
          break;
        default:
          text.insert(at, text.substr(rng.below(text.size()), rng.below(20)));
      }
    }
    const auto wisdom = parse_wisdom(sealed(text));
    if (!wisdom) {
      ASSERT_EQ(wisdom.error().code, ErrorCode::refused);
      continue;
    }
    ++accepted;
    for (const WisdomEntry& entry : wisdom->entries) ASSERT_TRUE(check(entry));
    const auto again = parse_wisdom(to_text(*wisdom));
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_EQ(again->entries, wisdom->entries);
  }
  EXPECT_GT(accepted, 20);  // a changed digit is another time, and that is well-formed
}

}  // namespace
}  // namespace tilewright
