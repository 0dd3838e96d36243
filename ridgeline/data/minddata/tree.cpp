#include "ridgeline/data/minddata/tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "ridgeline/data/ir/value_json.h"
#include "ridgeline/data/minddata/json.h"
#include "ridgeline/format/text/json_tree.h"

namespace ridgeline::data {
namespace {

using nlohmann::json;

const json& member(const MindDataTree& tree, const json& object, const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end()) throw tree.wrong("Failed to find " + key);
  return *found;
}

}  // namespace

MindDataTree::MindDataTree(std::shared_ptr<const nlohmann::json> json, std::string what)
    : json_(std::move(json)), what_(std::move(what)) {
  if (!json_->is_object()) throw wrong("is " + json_->dump() + ", it must be an object");
}

MindDataTree MindDataTree::parse(const std::string& text) {
  const auto root = std::make_shared<const json>(parse_json_tree(text, "[MindData JSON]"));
  MindDataTree tree(root, "the file");
  if (!tree.has("tree") || tree.has("op_type")) return tree;
  tree.check_keys({"tree", "summary", "remark"});
  return tree.object("tree");
}

bool is_minddata_json(const std::string& text) {
  const json root = json::parse(text, nullptr, false);
  return root.is_object() && (root.contains("op_type") || root.contains("tree"));
}

MindDataTree MindDataTree::called(std::string what) const { return {json_, std::move(what)}; }

Error MindDataTree::wrong(const std::string& message) const {
  return Error(fmt::format("[MindData JSON] {}: {}", what_, message));
}

bool MindDataTree::has(const std::string& key) const { return json_->contains(key); }
std::vector<std::string> MindDataTree::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json_->items()) keys.push_back(key);
  return keys;
}
bool MindDataTree::empty() const { return json_->empty(); }
std::string MindDataTree::text_of(const std::string& key) const { return json_->at(key).dump(); }

void MindDataTree::check_keys(const std::vector<std::string>& known) const {
  for (const auto& [key, value] : json_->items()) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      throw wrong(fmt::format("unknown key '{}'{} (known: {})", key, did_you_mean(key, known), fmt::join(known, ", ")));
  }
}

Value MindDataTree::value(const std::string& key, ArgType type) const {
  const json& value = member(*this, *json_, key);
  if (std::optional<Value> read = value_from_json(value, type)) return *std::move(read);
  throw wrong(fmt::format("{} is {}, it must be {}", key, value.dump(), name_with_article(type)));
}

std::vector<MindDataTree> MindDataTree::list(const std::string& key) const {
  const json& items = member(*this, *json_, key);
  if (!items.is_array()) throw wrong(fmt::format("{} is {}, it must be a list", key, items.dump()));
  std::vector<MindDataTree> out;
  for (const json& item : items) out.push_back({std::shared_ptr<const json>(json_, &item), "an entry of " + key});
  return out;
}

MindDataTree MindDataTree::object(const std::string& key) const {
  static const auto nothing = std::make_shared<const json>(json::object());
  const json& inner = member(*this, *json_, key);
  if (inner.is_null()) return {nothing, key};
  return {std::shared_ptr<const json>(json_, &inner), key};
}

}  // namespace ridgeline::data
