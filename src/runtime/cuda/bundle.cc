// SPDX-License-Identifier: Apache-2.0
// See bundle.h. A reader takes nothing on trust: every length is compared with what is left.
#include "runtime/cuda/bundle.h"

#include "base/file.h"
#include "base/hash.h"

#include <fmt/format.h>

#include <utility>

namespace tilewright::runtime {
namespace {

constexpr std::string_view kMagic = "TWKERN1\n";
constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kHead = kMagic.size() + kHashDigits;
constexpr std::size_t kCubinAlignment = 64;
constexpr std::uint64_t kMostKernels = 100000;

tl::unexpected<Error> refuse(const std::string& what) {
  return fail(ErrorCode::refused, "not a bundle of kernels: " + what,
              "make it again with `tilewright bundle`");
}

class Writer {
 public:
  void number(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
  }
  void text(std::string_view text) {
    number(text.size());
    bytes_ += text;
  }
  void pad_to(std::size_t multiple, std::size_t before) {
    while ((before + bytes_.size()) % multiple != 0) bytes_ += '\0';
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}
  std::uint64_t number() {
    if (left_.size() < 8) return spoil();
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(left_[i])} << (8 * i);
    }
    left_.remove_prefix(8);
    return value;
  }
  std::string_view text() {
    const std::uint64_t size = number();
    if (size > left_.size()) {
      spoil();
      return {};
    }
    const std::string_view out = left_.substr(0, size);
    left_.remove_prefix(size);
    return out;
  }
  [[nodiscard]] bool good() const { return good_; }

 private:
  std::uint64_t spoil() {
    good_ = false;
    left_ = {};
    return 0;
  }
  std::string_view left_;
  bool good_ = true;
};

constexpr std::uint64_t kServed = 1, kCore = 2;

// All of a kernel but its cubin, which begins at `offset` of the file.
void write_kernel(Writer& out, const BundleKernel& kernel, std::uint64_t offset) {
  out.text(kernel.program);
  out.text(kernel.stands_for);
  out.text(kernel.problem);
  out.number((kernel.served ? kServed : 0) | (kernel.core ? kCore : 0));
  for (const int elements : kernel.alignment) out.number(static_cast<std::uint64_t>(elements));
  out.text(to_json(kernel.launch));
  out.number(offset);
  out.number(kernel.cubin.size());
  out.text(hash128(kernel.cubin));
}

std::string index_of(const Bundle& bundle, const std::vector<std::uint64_t>& offsets,
                     std::uint64_t total) {
  Writer out;
  out.number(kBundleVersion);
  out.number(total);
  out.text(bundle.silicon);
  out.number(static_cast<std::uint64_t>(bundle.capability));
  out.number(bundle.kernels.size());
  for (std::size_t i = 0; i < bundle.kernels.size(); ++i) {
    write_kernel(out, bundle.kernels[i], offsets[i]);
  }
  out.pad_to(kCubinAlignment, kHead);
  return std::move(out.bytes());
}

Result<BundleKernel> read_kernel(Reader& in, std::string_view file) {
  BundleKernel kernel;
  kernel.program = in.text();
  kernel.stands_for = in.text();
  kernel.problem = in.text();
  const std::uint64_t flags = in.number();
  kernel.served = (flags & kServed) != 0;
  kernel.core = (flags & kCore) != 0;
  for (int& elements : kernel.alignment) {
    const std::uint64_t value = in.number();
    if (value != 1 && value != 2 && value != 4 && value != 8) {
      return refuse(fmt::format("an alignment of {} elements", value));
    }
    elements = static_cast<int>(value);
  }
  const std::string_view launch_text = in.text();
  const std::uint64_t offset = in.number(), size = in.number();
  const std::string_view hash = in.text();
  if (!in.good()) return refuse("it ends in the middle of a kernel");
  auto launch = launch_from_json(launch_text);
  if (!launch) return refuse(launch.error().message);
  if (launch->target != "cuda") return refuse("a launch that is not for CUDA");
  kernel.launch = *std::move(launch);
  if (const auto problem = parse_problem(kernel.problem); !problem) {
    return refuse(problem.error().message);
  }
  if (offset > file.size() || size > file.size() - offset || offset % 8 != 0) {
    return refuse(fmt::format("a cubin of {} bytes at {} in {}", size, offset, file.size()));
  }
  kernel.cubin = file.substr(offset, size);
  if (hash128(kernel.cubin) != hash) {
    return refuse(fmt::format("the cubin of '{}' is damaged", kernel.program));
  }
  return kernel;
}

}  // namespace

std::string to_bytes(const Bundle& bundle) {
  // Offsets are numbers of a fixed width, so the index is as long with any of them.
  std::vector<std::uint64_t> offsets(bundle.kernels.size(), 0);
  std::uint64_t at = kHead + index_of(bundle, offsets, 0).size();
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] = at;
    at +=
        (bundle.kernels[i].cubin.size() + kCubinAlignment - 1) / kCubinAlignment * kCubinAlignment;
  }
  std::string body = index_of(bundle, offsets, at);
  body.resize(at - kHead, '\0');
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const std::string_view cubin = bundle.kernels[i].cubin;
    body.replace(offsets[i] - kHead, cubin.size(), cubin);
  }
  return std::string(kMagic) + hash128(body) + body;
}

Result<Bundle> parse_bundle(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return refuse("it does not begin like one");
  if (bytes.size() < kHead) return refuse("it is cut off");
  const std::string_view body = bytes.substr(kHead);
  if (hash128(body) != bytes.substr(kMagic.size(), kHashDigits)) {
    return refuse("its bytes are not those that were written");
  }
  Reader in(body);
  if (const std::uint64_t version = in.number(); version != kBundleVersion) {
    return refuse(fmt::format("version {}, this library reads {}", version, kBundleVersion));
  }
  if (in.number() != bytes.size()) return refuse("it is longer or shorter than it says");
  Bundle bundle;
  bundle.silicon = in.text();
  bundle.capability = static_cast<int>(in.number() & 0xffff);
  const std::uint64_t count = in.number();
  if (!in.good() || count > kMostKernels) return refuse("its index is damaged");
  for (std::uint64_t i = 0; i < count; ++i) {
    auto kernel = read_kernel(in, bytes);
    if (!kernel) return tl::unexpected(kernel.error());
    bundle.kernels.push_back(*std::move(kernel));
  }
  return bundle;
}

std::string why_not(const Bundle& bundle, const Device& device) {
  const int ours = device.cuda.capability, theirs = bundle.capability;
  // sm_90a runs on 9.0 alone; before, a cubin runs on later minor versions of its own major one.
  const bool runs =
      ours == theirs || (theirs < 90 && ours / 10 == theirs / 10 && ours % 10 > theirs % 10);
  if (runs) return {};
  return fmt::format("it is for compute capability {}.{}, this device has {}.{}", theirs / 10,
                     theirs % 10, ours / 10, ours % 10);
}

Result<std::unique_ptr<BundleFile>> BundleFile::open(const std::filesystem::path& path) {
  auto bytes = read_file(path);
  if (!bytes) return tl::unexpected(bytes.error());
  std::unique_ptr<BundleFile> opened(new BundleFile);
  opened->bytes_ = *std::move(bytes);
  auto bundle = parse_bundle(opened->bytes_);
  if (!bundle) {
    return fail(ErrorCode::refused, fmt::format("{}: {}", path.string(), bundle.error().message),
                bundle.error().hint);
  }
  opened->bundle_ = *std::move(bundle);
  return opened;
}

}  // namespace tilewright::runtime
