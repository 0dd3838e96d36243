#include "ridgeline/data/set/voc.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <pugixml.hpp>
#include <set>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/set/class_names.h"
#include "ridgeline/format/text/number_text.h"

namespace ridgeline {
namespace {

using Element = pugi::xml_node;

[[noreturn]] void fail(const std::string& where, std::ptrdiff_t byte, const std::string& problem) {
  throw Error(where + " byte " + std::to_string(byte) + ": " + problem);
}

// At the element's '<'; the library knows where its name is.
[[noreturn]] void fail(const std::string& where, const Element& element, const std::string& problem) {
  fail(where, element.offset_debug() - 1, problem);
}

std::string named(const Element& element) { return std::string("<") + element.name() + ">"; }

Element child(const Element& element, const char* name, const std::string& where) {
  const Element found = element.child(name);
  if (!found) fail(where, element, named(element) + " has no <" + name + ">");
  return found;
}

float number(const Element& element, const char* name, const std::string& where) {
  const Element found = child(element, name, where);
  const std::string text = found.text().get();
  const auto value = parse_f32(text);
  if (!value || !std::isfinite(*value))
    fail(where, found, named(found) + " holds '" + text.substr(0, 40) + "', which is no number");
  return *value;
}

std::int32_t label_of(const Element& object, const std::vector<std::string>& class_names, const std::string& where) {
  const Element element = child(object, "name", where);
  const std::string name = element.text().get();
  const auto found = std::find(class_names.begin(), class_names.end(), name);
  if (found == class_names.end())
    fail(where, element, "unknown class '" + name + "'" + did_you_mean(name, class_names));
  return static_cast<std::int32_t>(found - class_names.begin());
}

AnnotatedBox box_of(const Element& object, const std::string& where) {
  const Element corners = child(object, "bndbox", where);
  // Some sets count from 0 against the kit: their 0 is the first pixel, too.
  AnnotatedBox box{.ymin = std::max(number(corners, "ymin", where) - 1, 0.0f),
                   .xmin = std::max(number(corners, "xmin", where) - 1, 0.0f),
                   .ymax = number(corners, "ymax", where),
                   .xmax = number(corners, "xmax", where)};
  if (!(box.ymax > box.ymin && box.xmax > box.xmin)) fail(where, corners, "a box without area");
  return box;
}

std::int32_t extent(const Element& root, const char* name, const std::string& where) {
  const Element size = root.child("size");
  if (!size.child(name)) return 0;
  const auto value = parse_i64(size.child(name).text().get());
  if (!value || *value < 0 || *value > (1 << 30)) fail(where, size, "<size> is no size of an image");
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
  pugi::xml_document document;
  const pugi::xml_parse_result parsed =
      document.load_buffer(xml.data(), xml.size(), pugi::parse_default | pugi::parse_trim_pcdata);
  if (!parsed) fail(where, parsed.offset, parsed.description());
  const Element root = document.document_element();
  if (root.name() != std::string_view("annotation")) fail(where, root, named(root) + " is no <annotation>");
  if (const Element second = root.next_sibling(root.name())) fail(where, second, "a second <annotation>");
  AnnotatedFile file;
  file.width = extent(root, "width", where);
  file.height = extent(root, "height", where);
  std::set<std::int32_t> labels;
  for (const Element& object : root.children("object")) {
    const std::string_view mark = object.child("difficult").text().get();
    const bool difficult = !mark.empty() && mark != "0";
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
