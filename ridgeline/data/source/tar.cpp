#include "ridgeline/data/source/tar.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/patterns.h"
#include "ridgeline/data/source/several_files.h"
#include "ridgeline/data/source/source_entry.h"
#include "ridgeline/format/record/tar_samples.h"

namespace ridgeline::data {

Dataset Tar(std::vector<std::string> files, TarOptions options) {
  return source_dataset("tar", {{"files", std::move(files)},
                                {"image", std::move(options.image)},
                                {"label", std::move(options.label)},
                                {"fields", std::move(options.fields)},
                                {"num_classes", options.num_classes}});
}

namespace {

Schema columns_of(const Node& node) {
  Schema schema;
  if (!arg<Texts>(node.args, "image").empty()) schema.push_back(encoded_image());
  if (!arg<std::string>(node.args, "label").empty()) schema.push_back(class_label());
  for (const std::string& field : arg<Texts>(node.args, "fields")) schema.push_back({field, DType::bytes, Shape{}});
  schema.push_back({"key", DType::bytes, Shape{}});
  return schema;
}

// SeveralFiles wants a path.
class Archive : public TarSamples {
 public:
  using TarSamples::TarSamples;
  const std::string& path() const { return archive().path(); }
};

// The contents of a sample's fields.
struct Contents : Record::Work {
  std::vector<std::string> of;
  std::string label;
};

class TarSource : public Source {
 public:
  explicit TarSource(const Node& node)
      : images_(arg<Texts>(node.args, "image")),
        label_(arg<std::string>(node.args, "label")),
        fields_(arg<Texts>(node.args, "fields")),
        num_classes_(arg<std::int64_t>(node.args, "num_classes")),
        schema_(columns_of(node)) {
    for (const std::string& path : expand_patterns("tar", arg<Texts>(node.args, "files")))
      files_.add(Archive(path, {.index_cache_directory = index_directory(path)}));
    if (files_.size() == 0) throw Error("[tar] no samples in " + files_.files()[0].path());
  }

  std::uint64_t size() const override { return files_.size(); }
  Schema schema() const override { return schema_; }
  void read(std::uint64_t index, Record& record) const override {
    const auto place = files_.at(index);
    auto& contents = record.work_as<Contents>();
    contents.of.resize(fields_.size());
    record.objects.clear();
    record.cells.clear();
    if (!images_.empty()) {
      const auto name = std::find_if(images_.begin(), images_.end(),
                                     [&](const std::string& field) { return place.file->has(place.record, field); });
      if (name == images_.end())
        throw Error(fmt::format("none of its fields is an image ({})", fmt::join(images_, ", ")));
      const auto bytes = place.file->field(place.record, *name, record.storage);
      record.cells.push_back(bytes_cell(bytes.data(), bytes.size()));
    }
    if (!label_.empty()) {
      record.label = label(index, contents.label);
      record.cells.push_back(dense_cell(&record.label, DType::i32, {}));
    }
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const auto bytes = place.file->field(place.record, fields_[i], contents.of[i]);
      record.cells.push_back(bytes_cell(bytes.data(), bytes.size()));
    }
    const std::string_view key = place.file->key(place.record);
    record.cells.push_back(bytes_cell(key.data(), key.size()));
  }
  std::string origin(std::uint64_t index) const override {
    const auto place = files_.at(index);
    return fmt::format("[tar] {}: sample {} ('{}') at byte {}", place.file->path(), place.record,
                       place.file->key(place.record), place.file->offset(place.record));
  }
  std::int64_t label_of(std::uint64_t index) const override {
    std::string storage;
    return label_.empty() ? Source::label_of(index) : label(index, storage);
  }
  std::int64_t num_classes() const override { return num_classes_; }
  std::uint64_t fingerprint() const override { return fingerprint_of(files_.paths()); }

 private:
  std::int32_t label(std::uint64_t index, std::string& storage) const {
    const auto place = files_.at(index);
    const auto bytes = place.file->field(place.record, label_, storage);
    std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0 ||
        (num_classes_ > 0 && value >= num_classes_)) {
      throw Error(fmt::format("field '{}' holds '{}', which is no class{}", label_, text.substr(0, 40),
                              num_classes_ > 0 ? fmt::format(" of {}", num_classes_) : ""));
    }
    return value;
  }

  Texts images_;
  std::string label_;
  Texts fields_;
  std::int64_t num_classes_;
  Schema schema_;
  SeveralFiles<Archive> files_;
};

void check_tar(const Node& node) {
  check_files(node);
  at_least(node, "num_classes", 0);
}

}  // namespace

SourceEntry tar_source() {
  return {
      .op = "tar",
      .doc = "tar archives in WebDataset's layout: members with one base name are one sample, extensions its fields",
      .args = {files_arg(),
               texts_arg("image", "fields that may be the image, the first that is there; empty: no column image",
                         {"jpg", "jpeg", "png"}),
               text_arg("label", "field that holds the class as text; empty: no column label", "cls"),
               texts_arg("fields", "further fields, as bytes"), num_classes_arg()},
      .check = check_tar,
      .open = open_as<TarSource>,
      .columns = [](const Node& node) { return std::optional(columns_of(node)); }};
}

}  // namespace ridgeline::data
