#include "ridgeline/data/set/manifest.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "ridgeline/core/error.h"
#include "ridgeline/format/text/json_rows.h"
#include "ridgeline/format/text/json_value.h"

namespace ridgeline {
namespace {

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

const std::string& text_member(const JsonValue& object, std::string_view key, const std::string& where) {
  const JsonValue* value = object.find(key);
  if (value == nullptr) throw Error(where + "key '" + std::string(key) + "' is missing");
  if (value->text() == nullptr || value->text()->empty()) {
    throw Error(where + "key '" + std::string(key) + "' is no text, or an empty one");
  }
  return *value->text();
}

std::vector<std::string> names_of(const JsonValue& line, bool needed, const std::string& where) {
  const JsonValue* list = line.find("annotation");
  if (list == nullptr && !needed) return {};
  if (list == nullptr) throw Error(where + "key 'annotation' is missing");
  if (list->array() == nullptr) throw Error(where + "key 'annotation' is no array");
  std::vector<std::string> names;
  for (const JsonValue& annotation : *list->array()) {
    names.push_back(text_member(annotation, "name", where + "annotation " + std::to_string(names.size()) + ": "));
  }
  if (names.empty() && needed) throw Error(where + "key 'annotation' is an empty array");
  return names;
}

// By name: sorted, or in the caller's order.
std::map<std::string, std::int32_t> label_table(const std::vector<std::string>& class_names) {
  std::map<std::string, std::int32_t> labels;
  for (const std::string& name : class_names) {
    if (!labels.emplace(name, static_cast<std::int32_t>(labels.size())).second) {
      throw Error("[manifest] the class '" + name + "' is named twice", ErrorKind::usage);
    }
  }
  return labels;
}

}  // namespace

AnnotatedFiles read_manifest(const std::string& path, const ManifestOptions& options) {
  const JsonRowsFile lines(path, {}, {.allow_unknown_keys = true});
  const std::string usage = lower(options.usage);
  std::vector<std::vector<std::string>> names;  // of each file that is kept
  AnnotatedFiles found;
  found.class_names = options.class_names;
  found.annotations = {path};
  std::size_t line_number = 0;
  std::uint64_t counted = 0;  // bytes before which lines were counted
  for (std::size_t i = 0; i < lines.size(); ++i) {
    line_number = i == 0 || lines.offset(i) != counted ? lines.line(i) : line_number + 1;
    counted = lines.offset(i) + lines.text(i).size() + 1;
    const std::string where = "[manifest] " + path + ": line " + std::to_string(line_number) + ": ";
    const JsonValue line = parse_json(lines.text(i), where + "it", {.first_byte = lines.offset(i)});
    if (line.object() == nullptr) throw Error(where + "it is no object");
    const std::string& source = text_member(line, "source", where);
    if (lower(text_member(line, "usage", where)) != usage) continue;
    names.push_back(names_of(line, usage != "inference", where));
    const bool relative = !options.root.empty() && std::filesystem::path(source).is_relative();
    AnnotatedFile file;
    file.path = relative ? (std::filesystem::path(options.root) / source).lexically_normal().string() : source;
    found.files.push_back(std::move(file));
  }
  if (options.class_names.empty()) {
    for (const auto& list : names) found.class_names.insert(found.class_names.end(), list.begin(), list.end());
    std::sort(found.class_names.begin(), found.class_names.end());
    found.class_names.erase(std::unique(found.class_names.begin(), found.class_names.end()), found.class_names.end());
  }
  const auto labels = label_table(found.class_names);
  std::vector<AnnotatedFile> kept;
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (const std::string& name : names[i]) {
      if (const auto label = labels.find(name); label != labels.end()) found.files[i].labels.push_back(label->second);
    }
    if (!found.files[i].labels.empty() || names[i].empty()) kept.push_back(std::move(found.files[i]));
  }
  found.files = std::move(kept);
  if (found.files.empty()) {
    throw Error("[manifest] " + path + ": none of " + std::to_string(lines.size()) + " lines has the usage '" + usage +
                "'" + (options.class_names.empty() ? "" : " and one of the classes that are named"));
  }
  return found;
}

}  // namespace ridgeline
