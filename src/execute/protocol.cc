// SPDX-License-Identifier: Apache-2.0
// Implementation of protocol.h. The reader takes any bytes: a missing field, a wrong type, a number
// out of range or a line too deep makes an Error, never a crash. tests/fuzz/fuzz_protocol.cc.
#include "execute/protocol.h"

#include "base/text.h"

#include <sys/random.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace tilewright {
namespace {

using Json = nlohmann::json;

// Reads fields of one JSON object (or elements of one array) and remembers the first that is off.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  // Integers: exactly representable in T. Others: of that JSON type.
  template <class T, class Key>
  void read(const Key& key, T& value) {
    const Json* const found = find(key);
    if (found == nullptr || !convert(*found, value)) note(key);
  }
  // As read(), but the field may be absent, and then `value` stays.
  template <class T>
  void read_optional(const char* key, T& value) {
    if (json_.is_object() && json_.contains(key)) read(key, value);
  }
  [[nodiscard]] bool ok() const { return bad_.empty(); }
  [[nodiscard]] const std::string& bad() const { return bad_; }

 private:
  const Json* find(const char* key) const {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  const Json* find(std::size_t index) const {
    return json_.is_array() && index < json_.size() ? &json_[index] : nullptr;
  }
  template <class Key>
  void note(const Key& key) {
    if (bad_.empty()) bad_ = fmt::format("{}", key);
  }

  template <class T>
  static bool convert(const Json& json, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!json.is_boolean()) return false;
      value = json.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      if (json.is_number_unsigned()) {
        const auto number = json.get<std::uint64_t>();
        if (!std::in_range<T>(number)) return false;
        value = static_cast<T>(number);
      } else if (json.is_number_integer()) {
        const auto number = json.get<std::int64_t>();
        if (!std::in_range<T>(number)) return false;
        value = static_cast<T>(number);
      } else {
        return false;
      }
    } else if constexpr (std::is_same_v<T, double>) {
      if (!json.is_number()) return false;
      value = json.get<double>();
      return std::isfinite(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!json.is_string()) return false;
      value = json.get<std::string>();
    } else {  // a vector of one of the above, or of rows
      if (!json.is_array()) return false;
      value.resize(json.size());
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (!convert(json[i], value[i])) return false;
      }
    }
    return true;
  }
  static bool convert(const Json& json, Burst& burst) {
    Reader row(json);
    row.read(std::size_t{0}, burst.contestant);
    row.read(std::size_t{1}, burst.calls);
    row.read(std::size_t{2}, burst.first_set);
    row.read(std::size_t{3}, burst.each);
    row.read(std::size_t{4}, burst.gap_mean_us);
    row.read(std::size_t{5}, burst.gap_seed);
    row.read(std::size_t{6}, burst.settle_seconds);
    if (json.size() > 7) row.read(std::size_t{7}, burst.wall);
    return row.ok();
  }
  static bool convert(const Json& json, RawSample& sample) {
    Reader row(json);
    row.read(std::size_t{0}, sample.burst);
    row.read(std::size_t{1}, sample.seconds);
    row.read(std::size_t{2}, sample.calls);
    row.read(std::size_t{3}, sample.switches);
    if (json.size() > 4) row.read(std::size_t{4}, sample.latency);
    return row.ok();
  }
  static bool convert(const Json& json, ArenaLayout& layout) {
    Reader fields(json);
    fields.read("bytes", layout.bytes);
    fields.read("sets", layout.sets);
    fields.read("set_stride", layout.set_stride);
    fields.read("a", layout.a);
    fields.read("b", layout.b);
    fields.read("c", layout.c);
    fields.read("c_baseline", layout.c_baseline);
    fields.read("workspace", layout.workspace);
    fields.read("workspace_bytes", layout.workspace_bytes);
    return fields.ok();
  }

  const Json& json_;
  std::string bad_;
};

Json to_json_value(const ArenaLayout& layout) {
  return {{"bytes", layout.bytes},
          {"sets", layout.sets},
          {"set_stride", layout.set_stride},
          {"a", layout.a},
          {"b", layout.b},
          {"c", layout.c},
          {"c_baseline", layout.c_baseline},
          {"workspace", layout.workspace},
          {"workspace_bytes", layout.workspace_bytes}};
}

// A body's fields, one pair of functions per request. alpha and beta travel as bits, because JSON
// has no infinity and a proof may want one.
void write_fields(Json&, const HelloRequest&) {}
void read_fields(Reader&, HelloRequest&) {}
void write_fields(Json& json, const OpenRequest& r) {
  json["problem"] = r.problem;
  json["device"] = r.device;
  json["launch"] = r.launch;
  json["layout"] = to_json_value(r.layout);
  json["baselines"] = r.baselines;
  json["cpus"] = r.cpus;
  json["memory_limit"] = r.memory_limit;
  if (r.arena.empty()) return;  // a CPU's
  json["arena"] = r.arena;
  json["workspace_in_use"] = r.workspace_in_use;
  json["workspace_zeroed"] = r.workspace_zeroed;
  json["vendor_search"] = r.vendor_search;
  if (!r.algorithms.empty()) json["algorithms"] = r.algorithms;
  if (!r.rivals.empty()) json["rivals"] = r.rivals;
}
void read_fields(Reader& in, OpenRequest& r) {
  in.read("problem", r.problem);
  in.read("device", r.device);
  in.read("launch", r.launch);
  in.read("layout", r.layout);
  in.read("baselines", r.baselines);
  in.read("cpus", r.cpus);
  in.read("memory_limit", r.memory_limit);
  in.read_optional("arena", r.arena);
  in.read_optional("workspace_in_use", r.workspace_in_use);
  in.read_optional("workspace_zeroed", r.workspace_zeroed);
  in.read_optional("vendor_search", r.vendor_search);
  in.read_optional("algorithms", r.algorithms);
  in.read_optional("rivals", r.rivals);
}
void write_fields(Json& json, const ReapRequest& r) {
  json["pid"] = r.pid;
  json["grace_ms"] = r.grace_ms;
}
void read_fields(Reader& in, ReapRequest& r) {
  in.read("pid", r.pid);
  in.read("grace_ms", r.grace_ms);
}
void write_fields(Json&, const LoadRequest&) {}
void read_fields(Reader&, LoadRequest&) {}
void write_fields(Json& json, const CallRequest& r) {
  json["contestant"] = r.contestant;
  json["set"] = r.set;
  json["alpha_bits"] = std::bit_cast<std::uint32_t>(r.alpha);
  json["beta_bits"] = std::bit_cast<std::uint32_t>(r.beta);
}
void read_fields(Reader& in, CallRequest& r) {
  std::uint32_t alpha = 0, beta = 0;
  in.read("contestant", r.contestant);
  in.read("set", r.set);
  in.read("alpha_bits", alpha);
  in.read("beta_bits", beta);
  r.alpha = std::bit_cast<float>(alpha);
  r.beta = std::bit_cast<float>(beta);
}
void write_fields(Json& json, const SizesRequest& r) {
  json["m"] = r.m;
  json["n"] = r.n;
  json["k"] = r.k;
}
void read_fields(Reader& in, SizesRequest& r) {
  in.read("m", r.m);
  in.read("n", r.n);
  in.read("k", r.k);
}
void write_fields(Json& json, const TimeRequest& r) {
  json["plan"] = Json::array();
  for (const Burst& b : r.plan) {
    Json row = {b.contestant,  b.calls,    b.first_set,     b.each,
                b.gap_mean_us, b.gap_seed, b.settle_seconds};
    if (b.wall) row.push_back(b.wall);
    json["plan"].push_back(std::move(row));
  }
}
void read_fields(Reader& in, TimeRequest& r) {
  in.read("plan", r.plan);
}
void write_fields(Json&, const ReprepareRequest&) {}
void read_fields(Reader&, ReprepareRequest&) {}
void write_fields(Json&, const SyncRequest&) {}
void read_fields(Reader&, SyncRequest&) {}
void write_fields(Json& json, const ProfileRequest& r) {
  json["contestant"] = r.contestant;
  json["warm"] = r.warm;
}
void read_fields(Reader& in, ProfileRequest& r) {
  in.read("contestant", r.contestant);
  in.read("warm", r.warm);
}

// In the order of RequestBody's alternatives.
constexpr std::array<const char*, std::variant_size_v<RequestBody>> kVerbs = {
    "hello", "open", "reap", "load", "call", "sizes", "time", "reprepare", "sync", "profile"};

// The default value of the alternative at a run-time index.
template <std::size_t... I>
RequestBody body_of(std::size_t index, std::index_sequence<I...>) {
  RequestBody body;
  ((I == index ? (void)body.emplace<I>() : (void)0), ...);
  return body;
}

tl::unexpected<Error> refuse(std::string_view what, std::string_view line) {
  constexpr std::size_t kShown = 80;
  std::string shown;
  for (const char c : line.substr(0, kShown)) shown += (c >= ' ' && c <= '~') ? c : '?';
  return fail(ErrorCode::refused, fmt::format("runner protocol: {} in \"{}\"", what, shown));
}

std::string dump(const Json& json) {
  // Texts may hold whatever a library reported: replace what is not UTF-8 instead of throwing.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string fresh_nonce() {
  std::uint64_t word = 0;
  while (getrandom(&word, sizeof word, 0) != static_cast<ssize_t>(sizeof word)) {
  }
  return fmt::format("{:016x}", word);
}

std::string to_line(const Request& request) {
  Json json = {
      {"seq", request.sequence}, {"nonce", request.nonce}, {"verb", kVerbs[request.body.index()]}};
  std::visit([&json](const auto& body) { write_fields(json, body); }, request.body);
  return dump(json);
}

Result<Request> parse_request(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return refuse("no object", line);
  Request request;
  std::string verb;
  Reader reader(json);
  reader.read("seq", request.sequence);
  reader.read("nonce", request.nonce);
  reader.read("verb", verb);
  std::size_t index = 0;
  while (index < kVerbs.size() && verb != kVerbs[index]) ++index;
  if (!reader.ok() || index == kVerbs.size()) return refuse("no seq, nonce or known verb", line);
  request.body = body_of(index, std::make_index_sequence<std::variant_size_v<RequestBody>>());
  std::visit([&reader](auto& body) { read_fields(reader, body); }, request.body);
  if (!reader.ok()) return refuse(fmt::format("field {}", reader.bad()), line);
  return request;
}

std::string to_line(const Reply& r) {
  const Reply none;
  Json json = {{"seq", r.sequence}, {"nonce", r.nonce}};
  const auto put = [&json](const char* key, const auto& value, const auto& absent) {
    if (value != absent) json[key] = value;
  };
  put("failure", r.failure, none.failure);
  put("detail", r.detail, none.detail);
  put("uncounted", r.uncounted_seconds, none.uncounted_seconds);
  put("prime", r.prime_seconds, none.prime_seconds);
  put("choices", r.choices, none.choices);
  put("algorithms", r.algorithms, none.algorithms);
  put("pid", r.pid, none.pid);
  put("status", r.status, none.status);
  put("killed", r.killed, none.killed);
  put("strays", r.strays, none.strays);
  put("isolation", r.isolation, none.isolation);
  put("missing", r.missing, none.missing);
  for (const RawSample& s : r.samples) {
    Json row = {s.burst, s.seconds, s.calls, s.switches};
    if (s.latency != 0) row.push_back(s.latency);
    json["samples"].push_back(std::move(row));
  }
  return dump(json);
}

Result<Reply> parse_reply(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return refuse("no object", line);
  Reply reply;
  Reader reader(json);
  reader.read("seq", reply.sequence);
  reader.read("nonce", reply.nonce);
  reader.read_optional("failure", reply.failure);
  reader.read_optional("detail", reply.detail);
  reader.read_optional("uncounted", reply.uncounted_seconds);
  reader.read_optional("prime", reply.prime_seconds);
  reader.read_optional("choices", reply.choices);
  reader.read_optional("algorithms", reply.algorithms);
  reader.read_optional("pid", reply.pid);
  reader.read_optional("status", reply.status);
  reader.read_optional("killed", reply.killed);
  reader.read_optional("strays", reply.strays);
  reader.read_optional("isolation", reply.isolation);
  reader.read_optional("missing", reply.missing);
  reader.read_optional("samples", reply.samples);
  if (!reader.ok()) return refuse(fmt::format("field {}", reader.bad()), line);
  return reply;
}

std::optional<int> parse_trap(std::string_view line) {
  if (!line.starts_with(kTrapWord)) return std::nullopt;
  const auto number = parse_integer(line.substr(kTrapWord.size()));
  if (!number || *number < 0 || *number > 100000) return std::nullopt;
  return static_cast<int>(*number);
}

}  // namespace tilewright
