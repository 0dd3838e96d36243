#include "ridgeline/data/source/tar_labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ridgeline/core/error.h"
#include "ridgeline/format/text/json_value.h"

namespace ridgeline::data {
namespace {

constexpr std::string_view kFolder = "/";
// What labels are called in JSON objects, in the order in which they are looked for: numbers before names.
constexpr std::string_view kKeys[] = {"label",       "cls",      "class",     "class_id",   "label_id",  "target",
                                      "category_id", "category", "label_idx", "class_name", "label_name"};

std::vector<std::string> keys_of_object(const JsonValue& object) {
  std::vector<std::string> keys;
  if (const JsonValue::Object* members = object.object()) {
    for (const JsonMember& member : *members) keys.push_back(member.key);
  }
  return keys;
}

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string key_in(std::string_view text) {
  try {
    const JsonValue object = parse_json(text, "json");
    for (const std::string_view key : kKeys) {
      const JsonValue* value = object.find(key);
      if (value && (value->integer() || value->text())) return std::string(key);
    }
  } catch (const Error&) {  // reading the labels says what is wrong
  }
  return "";
}

}  // namespace

TarLabel parse_tar_label(const std::string& text) {
  if (text.empty()) return {};
  if (text == kFolder) return {TarLabel::Kind::folder, "", ""};
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {TarLabel::Kind::field, text, ""};
  if (colon == 0 || colon + 1 == text.size())
    throw Error(fmt::format("[tar] label is '{}' (allowed: a field, FIELD:KEY of a JSON object, / for folders)", text));
  return {TarLabel::Kind::json, text.substr(0, colon), text.substr(colon + 1)};
}

std::string_view folder_of_key(std::string_view key) {
  const std::size_t end = key.rfind('/');
  if (end == std::string_view::npos) return "";
  key = key.substr(0, end);
  return key.substr(key.rfind('/') + 1);  // npos + 1 is 0
}

std::size_t tar_label_member(const TarSamples& samples, std::size_t sample, const TarLabel& label) {
  try {
    return samples.member(sample, label.field);
  } catch (const Error& e) {
    throw Error(std::string(e.what()) +
                "; label= names the field of the class, FIELD:KEY a member of a JSON object in a field, / the folder");
  }
}

TarLabelText tar_label_text(std::span<const std::uint8_t> content, const TarLabel& label) {
  std::string where = fmt::format("field '{}'", label.field);
  std::string_view text = text_of(content);
  if (label.kind == TarLabel::Kind::field) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
    return {std::string(text), std::move(where)};
  }
  const JsonValue object = parse_json(text, where);
  const JsonValue* value = object.find(label.key);
  if (!value)
    throw Error(
        fmt::format("{} has no member '{}' (it has: {})", where, label.key, fmt::join(keys_of_object(object), ", ")));
  std::string member = fmt::format("member '{}' of {}", label.key, where);
  if (const std::int64_t* number = value->integer()) return {std::to_string(*number), std::move(member)};
  if (const std::string* name = value->text()) return {*name, std::move(member)};
  throw Error(fmt::format("{} is of kind {}, which is no class", member, value->kind()));
}

std::string suggested_tar_label(const TarSamples& samples, std::size_t sample) {
  if (samples.has(sample, "cls")) return "cls";
  if (samples.has(sample, "json")) {
    std::string storage;
    if (const std::string key = key_in(text_of(samples.field(sample, "json", storage))); !key.empty())
      return "json:" + key;
  }
  return folder_of_key(samples.key(sample)).empty() ? "" : std::string(kFolder);
}

}  // namespace ridgeline::data
