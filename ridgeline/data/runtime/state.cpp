#include "ridgeline/data/runtime/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "ridgeline/core/error.h"
#include "ridgeline/format/text/json_tree.h"

namespace ridgeline::data {
namespace {

constexpr int kVersion = 1;
const std::vector<std::string>& known_keys() {
  static const std::vector<std::string> keys{"schema",  "version", "graph_hash", "seed",
                                             "records", "epoch",   "delivered"};
  return keys;
}

}  // namespace

std::string IteratorState::to_json() const {
  return nlohmann::json{
      {"schema", "data-state"}, {"version", kVersion}, {"graph_hash", fmt::format("{:016x}", graph_hash)},
      {"seed", seed},           {"records", records},  {"epoch", epoch},
      {"delivered", delivered}}
      .dump();
}

IteratorState IteratorState::from_json(const std::string& text) {
  const nlohmann::json root = parse_json_tree(text, "[data state]");
  if (!root.is_object()) throw Error("[data state] not an object");
  for (const auto& [key, value] : root.items()) {
    if (std::find(known_keys().begin(), known_keys().end(), key) == known_keys().end())
      throw Error("[data state] unknown key '" + key + "'");
  }
  for (const std::string& key : known_keys()) {
    if (!root.contains(key)) throw Error("[data state] has no key '" + key + "'");
  }
  if (root["schema"] != "data-state")
    throw Error("[data state] schema is " + root["schema"].dump() + ", it must be \"data-state\"");
  if (root["version"] != kVersion) {
    throw Error(
        fmt::format("[data state] version is {}, this program reads version {}", root["version"].dump(), kVersion));
  }
  const auto number = [&](const char* key) {
    if (!root[key].is_number_unsigned())
      throw Error(fmt::format("[data state] '{}' is {}, it must be an integer of at least 0", key, root[key].dump()));
    return root[key].get<std::uint64_t>();
  };
  IteratorState state{0, number("seed"), number("records"), number("epoch"), number("delivered")};
  const std::string hash = root["graph_hash"].is_string() ? root["graph_hash"].get<std::string>() : "";
  const auto [end, error] = std::from_chars(hash.data(), hash.data() + hash.size(), state.graph_hash, 16);
  if (hash.size() != 16 || error != std::errc{} || end != hash.data() + hash.size()) {
    throw Error("[data state] 'graph_hash' is " + root["graph_hash"].dump() + ", it must be 16 hexadecimal digits");
  }
  return state;
}

}  // namespace ridgeline::data
