// SPDX-License-Identifier: Apache-2.0
// Any line as a request and as a reply of the runner protocol: a value or an Error, and an accepted
// value prints to a line that means the same. A candidate can write to this socket.
#include "execute/protocol.h"
#include "fuzz/must_hold.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilewright {
namespace {

void check_line(std::string_view line) {
  if (const auto reply = parse_reply(line)) {
    const auto again = parse_reply(to_line(*reply));
    must_hold(again.has_value() && *again == *reply, "parse(print(reply)) == reply");
  }
  if (const auto request = parse_request(line)) {
    const auto printed = to_line(*request);
    const auto again = parse_request(printed);
    must_hold(again.has_value() && to_line(*again) == printed, "a request prints to itself");
  }
  if (const auto trap = parse_trap(line)) must_hold(*trap >= 0, "a system call has a number");
}

}  // namespace
}  // namespace tilewright

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tilewright::check_line({reinterpret_cast<const char*>(data), size});
  return 0;
}
