#include "ridgeline/data/set/coco.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <unordered_map>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/format/text/json_value.h"

namespace ridgeline {
namespace {

// Walks one of the file's lists and names the position in messages.
class List {
 public:
  List(const JsonValue& root, std::string name, const std::string& file) : name_(std::move(name)), file_(file) {
    const JsonValue* list = root.find(name_);
    if (list == nullptr || list->array() == nullptr) throw Error(file_ + " there is no array '" + name_ + "'");
    items_ = list->array();
  }

  bool next() { return ++at_ < static_cast<std::ptrdiff_t>(items_->size()); }
  const JsonValue* find(std::string_view key) const { return items_->at(static_cast<std::size_t>(at_)).find(key); }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(file_ + " " + name_ + "[" + std::to_string(at_) + "]: " + problem);
  }
  std::int64_t integer(std::string_view key) const {
    const JsonValue* value = find(key);
    if (value == nullptr || value->integer() == nullptr) fail("there is no integer '" + std::string(key) + "'");
    return *value->integer();
  }
  const std::string& text(std::string_view key) const {
    const JsonValue* value = find(key);
    if (value == nullptr || value->text() == nullptr) fail("there is no text '" + std::string(key) + "'");
    return *value->text();
  }

 private:
  std::string name_;
  const std::string& file_;
  const JsonValue::Array* items_ = nullptr;
  std::ptrdiff_t at_ = -1;
};

std::map<std::int64_t, std::int32_t> read_categories(const JsonValue& root, const std::string& where,
                                                     std::vector<std::string>& class_names) {
  std::map<std::int64_t, std::string> names;
  List categories(root, "categories", where);
  while (categories.next()) {
    const std::int64_t id = categories.integer("id");
    if (!names.emplace(id, categories.text("name")).second) categories.fail("id " + std::to_string(id) + " again");
  }
  std::map<std::int64_t, std::int32_t> labels;
  for (const auto& [id, name] : names) {
    labels[id] = static_cast<std::int32_t>(class_names.size());
    class_names.push_back(name);
  }
  return labels;
}

std::int32_t optional_extent(const List& images, std::string_view key) {
  if (images.find(key) == nullptr) return 0;
  const std::int64_t value = images.integer(key);
  if (value < 0 || value > (1 << 30)) images.fail("'" + std::string(key) + "' is no size of an image");
  return static_cast<std::int32_t>(value);
}

// [x, y, width, height]. False for a box without area.
bool read_box(const List& annotations, AnnotatedBox& box) {
  const JsonValue* list = annotations.find("bbox");
  std::array<double, 4> numbers{};
  bool right = list != nullptr && list->array() != nullptr && list->array()->size() == 4;
  for (std::size_t i = 0; right && i < 4; ++i) {
    right = (*list->array())[i].as_double(numbers[i]) && std::abs(numbers[i]) < 1e9;
  }
  if (!right || numbers[2] < 0 || numbers[3] < 0) annotations.fail("'bbox' is no [x, y, width, height]");
  box.xmin = static_cast<float>(numbers[0]);
  box.ymin = static_cast<float>(numbers[1]);
  box.xmax = static_cast<float>(numbers[0] + numbers[2]);
  box.ymax = static_cast<float>(numbers[1] + numbers[3]);
  return box.xmax > box.xmin && box.ymax > box.ymin;
}

}  // namespace

AnnotatedFiles read_coco(const std::string& path, const std::string& image_directory, const CocoOptions& options) {
  const std::string where = "[coco] " + path + ":";
  const JsonValue root = parse_json(
      read_file(path), where + " the file",
      {.ignored_keys = {"segmentation", "info", "licenses", "keypoints", "coco_url", "flickr_url", "date_captured"}});
  AnnotatedFiles found;
  found.annotations = {path};
  const auto labels = read_categories(root, where, found.class_names);
  std::unordered_map<std::int64_t, std::size_t> places;
  List images(root, "images", where);
  while (images.next()) {
    const std::int64_t id = images.integer("id");
    if (!places.emplace(id, found.files.size()).second) images.fail("id " + std::to_string(id) + " again");
    AnnotatedFile file;
    file.path = (std::filesystem::path(image_directory) / images.text("file_name")).string();
    file.width = optional_extent(images, "width");
    file.height = optional_extent(images, "height");
    found.files.push_back(std::move(file));
  }
  List annotations(root, "annotations", where);
  while (annotations.next()) {
    const std::int64_t image = annotations.integer("image_id");
    const std::int64_t category = annotations.integer("category_id");
    const auto place = places.find(image);
    if (place == places.end()) annotations.fail("'image_id' " + std::to_string(image) + " is no image's id");
    const auto label = labels.find(category);
    if (label == labels.end()) annotations.fail("'category_id' " + std::to_string(category) + " is no category's id");
    AnnotatedBox box;
    box.label = label->second;
    box.difficult = annotations.find("iscrowd") != nullptr && annotations.integer("iscrowd") != 0;
    const bool has_area = read_box(annotations, box);
    if (box.difficult && options.leave_out_crowds) continue;
    AnnotatedFile& file = found.files[place->second];
    file.labels.push_back(box.label);
    if (has_area) file.boxes.push_back(box);
  }
  for (AnnotatedFile& file : found.files) {
    std::sort(file.labels.begin(), file.labels.end());
    file.labels.erase(std::unique(file.labels.begin(), file.labels.end()), file.labels.end());
  }
  if (options.leave_out_unlabelled) {
    std::erase_if(found.files, [](const AnnotatedFile& file) { return file.labels.empty(); });
  }
  return found;
}

}  // namespace ridgeline
