// SPDX-License-Identifier: Apache-2.0
// The canonical (big-endian) form of the hash, so that the text is equal on every machine. xxHash
// is taken as a header, so that what we build needs no library of that name.
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tilewright {

std::string hash128(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * sizeof canonical.digest);
  for (const unsigned char byte : canonical.digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace tilewright
