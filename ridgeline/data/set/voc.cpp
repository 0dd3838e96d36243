#include "ridgeline/data/set/voc.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/set/class_names.h"
#include "ridgeline/format/text/number_text.h"
#include "ridgeline/format/text/xml.h"

namespace ridgeline {
namespace {

[[noreturn]] void fail(const std::string& where, const XmlNode& node, const std::string& problem) {
  throw Error(where + " byte " + std::to_string(node.byte) + ": " + problem);
}

const XmlNode& child(const XmlNode& node, std::string_view name, const std::string& where) {
  const XmlNode* found = node.find(name);
  if (found == nullptr) fail(where, node, "<" + node.name + "> has no <" + std::string(name) + ">");
  return *found;
}

float number(const XmlNode& node, std::string_view name, const std::string& where) {
  const XmlNode& element = child(node, name, where);
  const auto value = parse_f32(element.text);
  if (!value || !std::isfinite(*value)) {
    fail(where, element, "<" + element.name + "> holds '" + element.text.substr(0, 40) + "', which is no number");
  }
  return *value;
}

std::int32_t label_of(const XmlNode& object, const std::vector<std::string>& class_names, const std::string& where) {
  const XmlNode& name = child(object, "name", where);
  const auto found = std::find(class_names.begin(), class_names.end(), name.text);
  if (found == class_names.end()) {
    fail(where, name, "unknown class '" + name.text + "'" + did_you_mean(name.text, class_names));
  }
  return static_cast<std::int32_t>(found - class_names.begin());
}

AnnotatedBox box_of(const XmlNode& object, const std::string& where) {
  const XmlNode& corners = child(object, "bndbox", where);
  // Some sets count from 0 against the kit: their 0 is the first pixel, too.
  AnnotatedBox box{.ymin = std::max(number(corners, "ymin", where) - 1, 0.0f),
                   .xmin = std::max(number(corners, "xmin", where) - 1, 0.0f),
                   .ymax = number(corners, "ymax", where),
                   .xmax = number(corners, "xmax", where)};
  if (!(box.ymax > box.ymin && box.xmax > box.xmin)) fail(where, corners, "a box without area");
  return box;
}

std::int32_t extent(const XmlNode& root, std::string_view name, const std::string& where) {
  const XmlNode* size = root.find("size");
  if (size == nullptr || size->find(name) == nullptr) return 0;
  const auto value = parse_i64(size->find(name)->text);
  if (!value || *value < 0 || *value > (1 << 30)) fail(where, *size, "<size> is no size of an image");
  return static_cast<std::int32_t>(*value);
}

// The first word of each line; in lists of one class a mark follows.
std::vector<std::string> read_list(const std::string& path) {
  std::vector<std::string> names = read_class_names(path);
  for (std::string& name : names) name.resize(std::min(name.find_first_of(" \t"), name.size()));
  if (names.empty()) throw Error("[voc] " + path + ": the list is empty");
  return names;
}

}  // namespace

AnnotatedFile parse_voc_annotation(std::string_view xml, const std::vector<std::string>& class_names,
                                   const std::string& where, bool leave_out_difficult) {
  const XmlNode root = parse_xml(xml, where);
  if (root.name != "annotation") fail(where, root, "<" + root.name + "> is no <annotation>");
  AnnotatedFile file;
  file.width = extent(root, "width", where);
  file.height = extent(root, "height", where);
  std::set<std::int32_t> labels;
  for (const XmlNode& object : root.children) {
    if (object.name != "object") continue;
    const XmlNode* mark = object.find("difficult");
    const bool difficult = mark != nullptr && mark->text != "0" && !mark->text.empty();
    if (difficult && leave_out_difficult) continue;
    AnnotatedBox box = box_of(object, where);
    box.label = label_of(object, class_names, where);
    box.difficult = difficult;
    labels.insert(box.label);
    file.boxes.push_back(box);
  }
  file.labels.assign(labels.begin(), labels.end());
  return file;
}

AnnotatedFiles read_voc(const std::string& root, const std::string& split, const VocOptions& options) {
  const std::filesystem::path folder(root);
  AnnotatedFiles found;
  found.class_names = options.class_names.empty() ? known_class_names("voc") : options.class_names;
  const std::string list = (folder / "ImageSets" / "Main" / (split + ".txt")).string();
  found.annotations = {list};
  for (const std::string& id : read_list(list)) {
    const std::string xml = (folder / "Annotations" / (id + ".xml")).string();
    found.annotations.push_back(xml);
    AnnotatedFile file =
        parse_voc_annotation(read_file(xml), found.class_names, "[voc] " + xml + ":", options.leave_out_difficult);
    file.path = (folder / "JPEGImages" / (id + ".jpg")).string();
    found.files.push_back(std::move(file));
  }
  return found;
}

}  // namespace ridgeline
