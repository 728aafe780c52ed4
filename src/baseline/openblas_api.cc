// SPDX-License-Identifier: Apache-2.0
// Opening OpenBLAS and asking it who it is.
#include "baseline/openblas_api.h"

#include "base/text.h"
#include "baseline/trial_child.h"

#include <fmt/format.h>

#include <vector>

namespace tilewright {

Result<OpenblasApi> OpenblasApi::open() {
  const std::vector<std::string> places = {"libopenblas.so.0", "libopenblas.so"};
  const Result<Library> library = open_library(places);
  if (!library) return tl::unexpected(library.error());
  OpenblasApi api;
  api.library = *library;
  const auto bind = [&](auto& function, const char* name) {
    using Function = std::remove_pointer_t<std::remove_reference_t<decltype(function)>>;
    function = api.library.find<Function>(name);
    return function != nullptr;
  };
  bind(api.sbgemm, "cblas_sbgemm");
  if (!bind(api.sgemm, "cblas_sgemm") || !bind(api.set_num_threads, "openblas_set_num_threads") ||
      !bind(api.get_num_threads, "openblas_get_num_threads") ||
      !bind(api.get_config, "openblas_get_config") ||
      !bind(api.get_corename, "openblas_get_corename")) {
    return fail(ErrorCode::environment,
                fmt::format("{} lacks a symbol of OpenBLAS", api.library.path()));
  }
  return api;
}

OpenblasFacts look_at_openblas() {
  OpenblasFacts facts;
  const auto answer = ask_in_child([] {
    const auto api = OpenblasApi::open();
    if (!api) return "error\n" + api.error().message;
    return fmt::format("found\n{}\n{}\n{}\n{}", api->library.path(), api->get_config(),
                       api->get_corename(), api->sbgemm != nullptr ? 1 : 0);
  });
  if (!answer) {
    facts.error = "loading it: " + answer.error().message;
    return facts;
  }
  const auto lines = split(*answer, '\n');
  if (lines.size() != 5 || lines[0] != "found") {
    facts.error = lines.size() > 1 ? std::string(lines[1]) : *answer;
    return facts;
  }
  facts.found = true;
  facts.path = lines[1];
  const auto config = words(lines[2]);
  facts.version =
      config.size() >= 2 ? fmt::format("{} {}", config[0], config[1]) : std::string(lines[2]);
  facts.core_type = lines[3];
  facts.sbgemm = lines[4] == "1";
  return facts;
}

const OpenblasFacts& openblas_facts() {
  static const OpenblasFacts facts = look_at_openblas();
  return facts;
}

}  // namespace tilewright
