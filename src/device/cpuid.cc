// SPDX-License-Identifier: Apache-2.0
// Bit positions: Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E. State components of
// XCR0: Intel SDM volume 1, section 13.1. A feature counts only if the state it needs is enabled.
#include "device/cpuid.h"

#include "base/text.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tilewright {
namespace {

enum Register : std::uint8_t { eax, ebx, ecx, edx };

constexpr std::uint64_t kYmm = 0x6;        // SSE and AVX state
constexpr std::uint64_t kZmm = 0xe6;       // and opmask, upper ZMM halves, ZMM16-31
constexpr std::uint64_t kTiles = 0x60000;  // XTILECFG and XTILEDATA

struct Feature {
  std::string_view name;
  std::string_view needs;  // an earlier row, or empty
  std::uint32_t leaf, subleaf;
  Register where;
  int bit;
  std::uint64_t state;
};

// What generated code may use. A row that is added changes fingerprints: bump the database format.
constexpr std::array<Feature, 12> kFeatures = {{
    {"avx2", "", 7, 0, ebx, 5, kYmm},
    {"f16c", "", 1, 0, ecx, 29, kYmm},
    {"fma", "", 1, 0, ecx, 12, kYmm},
    {"avx512f", "avx2", 7, 0, ebx, 16, kZmm},
    {"avx512bw", "avx512f", 7, 0, ebx, 30, kZmm},
    {"avx512dq", "avx512f", 7, 0, ebx, 17, kZmm},
    {"avx512vl", "avx512f", 7, 0, ebx, 31, kZmm},
    {"avx512bf16", "avx512bw", 7, 1, eax, 5, kZmm},
    {"avx512fp16", "avx512bw", 7, 0, edx, 23, kZmm},
    {"amx_tile", "", 7, 0, edx, 24, kTiles},
    {"amx_bf16", "amx_tile", 7, 0, edx, 22, kTiles},
    {"amx_fp16", "amx_tile", 7, 1, eax, 21, kTiles},
}};

bool bit_set(std::uint32_t value, int bit) {
  return ((value >> bit) & 1U) != 0;
}

// Leaf 4 and AMD's 0x8000001d share one format.
void read_cache_leaf(const CpuidSource& source, std::uint32_t leaf, CpuCaches& caches) {
  for (std::uint32_t i = 0; i < 16; ++i) {
    const auto r = source.cpuid(leaf, i);
    const std::uint32_t type = r[eax] & 0x1f;  // 1 data, 2 instruction, 3 unified
    if (type == 0) return;
    if (type == 2) continue;
    const std::int64_t ways = (r[ebx] >> 22) + 1, partitions = ((r[ebx] >> 12) & 0x3ff) + 1;
    const std::int64_t line = (r[ebx] & 0xfff) + 1, sets = std::int64_t{r[ecx]} + 1;
    const std::int64_t size = ways * partitions * line * sets;
    const std::uint32_t level = (r[eax] >> 5) & 7;
    if (level == 1) caches.l1d_bytes = size;
    if (level == 2) caches.l2_bytes = size;
    if (level == 3) caches.l3_bytes = size;
  }
}

}  // namespace

CpuidSource this_cpu() {
  CpuidSource source;
#if defined(__x86_64__)
  source.cpuid = [](std::uint32_t leaf, std::uint32_t subleaf) {
    CpuidRegisters r{};
    // Above the highest leaf of its range the instruction repeats other data.
    if (leaf <= __get_cpuid_max(leaf & 0x80000000U, nullptr)) {
      __cpuid_count(leaf, subleaf, r[eax], r[ebx], r[ecx], r[edx]);
    }
    return r;
  };
  constexpr int kOsxsave = 27;
  if (bit_set(source.cpuid(1, 0)[ecx], kOsxsave)) {
    std::uint32_t low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    source.xcr0 = (std::uint64_t{high} << 32) | low;
  }
  // ARCH_GET_XCOMP_SUPP: Linux, Documentation/arch/x86/xstate.rst.
  constexpr int kGetSupported = 0x1021;
  std::uint64_t supported = 0;
  source.amx_permitted =
      ::syscall(SYS_arch_prctl, kGetSupported, &supported) == 0 && (supported & kTiles) == kTiles;
#else
  source.cpuid = [](std::uint32_t, std::uint32_t) { return CpuidRegisters{}; };
#endif
  return source;
}

std::string cpu_silicon(const CpuidSource& source) {
  const auto vendor = source.cpuid(0, 0);
  std::string text;
  for (const auto part : {vendor[ebx], vendor[edx], vendor[ecx]}) {
    for (int shift = 0; shift < 32; shift += 8) {
      const char c = static_cast<char>((part >> shift) & 0xff);
      if (c >= 'A' && c <= 'Z') text += static_cast<char>(c - 'A' + 'a');
      if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) text += c;
    }
  }
  if (text.empty()) text = "unknown";
  const std::uint32_t signature = source.cpuid(1, 0)[eax];
  std::uint32_t family = (signature >> 8) & 0xf, model = (signature >> 4) & 0xf;
  if (family == 6 || family == 15) model += ((signature >> 16) & 0xf) << 4;
  if (family == 15) family += (signature >> 20) & 0xff;
  text += '-' + std::to_string(family) + '-' + std::to_string(model) + '-';
  return text + std::to_string(signature & 0xf);
}

std::string cpu_brand(const CpuidSource& source) {
  std::string text;
  for (std::uint32_t leaf = 0x80000002U; leaf <= 0x80000004U; ++leaf) {
    const auto r = source.cpuid(leaf, 0);
    char part[sizeof r];
    std::memcpy(part, r.data(), sizeof part);
    text.append(part, sizeof part);
  }
  text = text.c_str();  // it is padded with zeros
  return std::string(trim(text));
}

CpuCaches cpu_caches(const CpuidSource& source) {
  CpuCaches caches;
  read_cache_leaf(source, 4, caches);
  if (caches.l1d_bytes == 0) read_cache_leaf(source, 0x8000001dU, caches);
  return caches;
}

std::vector<std::string> cpu_features(const CpuidSource& source, std::string_view mask) {
  std::vector<std::string_view> hidden;
  for (const auto part : split(mask, ',')) hidden.push_back(trim(part));
  std::vector<std::string> found;
  const auto contains = [](const auto& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  for (const auto& f : kFeatures) {
    const bool usable = bit_set(source.cpuid(f.leaf, f.subleaf)[f.where], f.bit) &&
                        (source.xcr0 & f.state) == f.state &&
                        (f.state != kTiles || source.amx_permitted) &&
                        (f.needs.empty() || contains(found, f.needs));
    if (usable && !contains(hidden, f.name)) found.emplace_back(f.name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace tilewright
