// SPDX-License-Identifier: Apache-2.0
// See mirror.h. Guards are wider on a device than on a host; those of the host's width are copied.
#include "execute/cuda/mirror.h"

#include "execute/arena_layout.h"

namespace tilewright {
namespace {

class MirroredSession final : public Session {
 public:
  MirroredSession(std::unique_ptr<Session> inner, const OperandMirror& mirror)
      : inner_(std::move(inner)), mirror_(mirror) {}

  Finding call(const std::string& contestant, int set, float alpha, float beta) override {
    return round({set, set + 1}, [&] { return inner_->call(contestant, set, alpha, beta); });
  }
  Finding call_sizes(std::int64_t m, std::int64_t n, std::int64_t k) override {
    return round({0, 1}, [&] { return inner_->call_sizes(m, n, k); });
  }
  TimingReply time(const std::vector<Burst>& plan) override {
    TimingReply reply;
    reply.finding = round(mirror_.all(), [&] {
      reply = inner_->time(plan);
      return reply.finding;
    });
    return reply;
  }
  Finding reprepare() override {
    return round(mirror_.all(), [&] { return inner_->reprepare(); });
  }
  std::int64_t process() const override { return inner_->process(); }

 private:
  template <class Call>
  Finding round(OperandMirror::Sets sets, const Call& call) {
    if (Status s = mirror_.upload(sets); !s) return trouble(s.error());
    if (Finding finding = call(); !finding.ok()) return finding;
    if (Status s = mirror_.download(sets); !s) return trouble(s.error());
    return {};
  }
  // Nothing can be said of the candidate then.
  static Finding trouble(const Error& error) { return {Outcome::noisy, "verifier", error.message}; }

  std::unique_ptr<Session> inner_;
  const OperandMirror& mirror_;
};

}  // namespace

Result<std::unique_ptr<OperandMirror>> OperandMirror::create(const DeviceArena& device) {
  Result<Arena> host = Arena::create(device.problem(), device.layout().sets, 0);
  if (!host) return tl::unexpected(host.error());
  return std::unique_ptr<OperandMirror>(new OperandMirror(*std::move(host), device));
}

std::unique_ptr<Session> OperandMirror::mirrored(std::unique_ptr<Session> session) const {
  return std::make_unique<MirroredSession>(std::move(session), *this);
}

template <class Visit>
Status OperandMirror::for_each_piece(Sets sets, Visit visit) const {
  const ArenaLayout &here = host_.layout(), &there = device_.layout();
  const auto pieces = matrices(host_.problem(), here);
  const auto far = matrices(host_.problem(), there);
  if (Status s = device_.context().make_current(); !s) return s;
  for (int set = sets.begin; set < sets.end; ++set) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::int64_t guard = pieces[i].guard_bytes(LayoutRules{});
      std::byte* const host = host_.base() + set * here.set_stride + pieces[i].offset - guard;
      const cuda::Pointer device =
          device_.base() +
          static_cast<cuda::Pointer>(set * there.set_stride + far[i].offset - guard);
      const auto bytes = static_cast<std::size_t>(pieces[i].bytes() + 2 * guard);
      if (Status s = visit(host, device, bytes); !s) return s;
    }
  }
  return device_.context().synchronize();
}

Status OperandMirror::upload(Sets sets) const {
  const cuda::Driver& d = device_.context().driver();
  return for_each_piece(sets, [&](const std::byte* host, cuda::Pointer device, std::size_t bytes) {
    return d.check(d.MemcpyHtoD(device, host, bytes), "copying operands to the device");
  });
}

Status OperandMirror::download(Sets sets) const {
  const cuda::Driver& d = device_.context().driver();
  return for_each_piece(sets, [&](std::byte* host, cuda::Pointer device, std::size_t bytes) {
    return d.check(d.MemcpyDtoH(host, device, bytes), "copying operands from the device");
  });
}

}  // namespace tilewright
