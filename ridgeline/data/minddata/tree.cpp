#include "ridgeline/data/minddata/tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace ridgeline::data {
namespace {

using nlohmann::json;

const json& json_of(const std::shared_ptr<const void>& pointer) { return *static_cast<const json*>(pointer.get()); }

bool is_integer(const json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() ||
          value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
}

const json& member(const MindDataTree& tree, const json& object, const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end()) throw tree.wrong("Failed to find " + key);
  return *found;
}

}  // namespace

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(word, known);
  return fmt::format("{} (known: {})", nearest.empty() ? "" : ": did you mean '" + nearest + "'?",
                     fmt::join(known, ", "));
}

MindDataTree::MindDataTree(std::shared_ptr<const void> json, std::string what)
    : json_(std::move(json)), what_(std::move(what)) {
  if (!json_of(json_).is_object()) throw wrong("is " + json_of(json_).dump() + ", it must be an object");
}

MindDataTree MindDataTree::parse(const std::string& text) {
  std::shared_ptr<const json> root;
  try {
    root = std::make_shared<const json>(json::parse(text));
  } catch (const json::exception& e) {
    throw Error(std::string("[MindData JSON] ") + e.what());
  }
  MindDataTree tree(root, "the file");
  if (!tree.has("tree") || tree.has("op_type")) return tree;
  tree.check_keys({"tree", "summary", "remark"});
  return tree.object("tree");
}

MindDataTree MindDataTree::called(std::string what) const { return {json_, std::move(what)}; }

Error MindDataTree::wrong(const std::string& message) const {
  return Error(fmt::format("[MindData JSON] {}: {}", what_, message));
}

bool MindDataTree::has(const std::string& key) const { return json_of(json_).contains(key); }
bool MindDataTree::empty() const { return json_of(json_).empty(); }
std::string MindDataTree::text_of(const std::string& key) const { return json_of(json_).at(key).dump(); }

void MindDataTree::check_keys(const std::vector<std::string>& known) const {
  for (const auto& [key, value] : json_of(json_).items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw wrong(fmt::format("unknown key '{}'{}", key, did_you_mean(key, known)));
  }
}

Value MindDataTree::value(const std::string& key, ArgType type) const {
  const json& value = member(*this, json_of(json_), key);
  const auto all = [&](auto test) { return value.is_array() && std::all_of(value.begin(), value.end(), test); };
  switch (type) {
    case ArgType::boolean:
      if (value.is_boolean()) return value.get<bool>();
      break;
    case ArgType::integer:
      if (is_integer(value)) return value.get<std::int64_t>();
      break;
    case ArgType::real:
      if (value.is_number()) return value.get<double>();
      break;
    case ArgType::text:
      if (value.is_string()) return value.get<std::string>();
      break;
    case ArgType::integers:
      if (all(is_integer)) return value.get<Integers>();
      break;
    case ArgType::reals:
      if (all([](const json& v) { return v.is_number(); })) return value.get<Reals>();
      break;
    case ArgType::texts:
      if (all([](const json& v) { return v.is_string(); })) return value.get<Texts>();
      break;
    case ArgType::tensors: break;
  }
  throw wrong(fmt::format("{} is {}, it must be a {}", key, value.dump(), name_of(type)));
}

std::vector<MindDataTree> MindDataTree::list(const std::string& key) const {
  const json& items = member(*this, json_of(json_), key);
  if (!items.is_array()) throw wrong(fmt::format("{} is {}, it must be a list", key, items.dump()));
  std::vector<MindDataTree> out;
  for (const json& item : items) out.push_back({std::shared_ptr<const void>(json_, &item), "an entry of " + key});
  return out;
}

MindDataTree MindDataTree::object(const std::string& key) const {
  static const auto nothing = std::make_shared<const json>(json::object());
  const json& inner = member(*this, json_of(json_), key);
  if (inner.is_null()) return {nothing, key};
  return {std::shared_ptr<const void>(json_, &inner), key};
}

}  // namespace ridgeline::data
