#include "ridgeline/data/source/tfrecord.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ridgeline/core/ends_run_error.h"
#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/patterns.h"
#include "ridgeline/data/source/record_files.h"
#include "ridgeline/data/source/record_keys.h"
#include "ridgeline/data/source/record_labels.h"
#include "ridgeline/data/source/source_entry.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/tfrecord.h"

namespace ridgeline::data {

LabelBase parse_label_base(const std::string& text) {
  if (text == "auto") return LabelBase::automatic;
  if (text == "0") return LabelBase::zero;
  if (text == "1") return LabelBase::one;
  throw Error("unknown label_base '" + text + "' (allowed: auto, 0, 1)", ErrorKind::usage);
}

Dataset TFRecord(const std::string& pattern, TFRecordOptions options) {
  return TFRecord(std::vector<std::string>{pattern}, options);
}

namespace {

Args args_of(std::vector<std::string> files, const TFRecordOptions& options) {
  const char* base = options.label_base == LabelBase::automatic ? "auto"
                     : options.label_base == LabelBase::zero    ? "0"
                                                                : "1";
  return with_record_files(
      {{"files", std::move(files)}, {"label_base", std::string(base)}, {"num_classes", options.num_classes}},
      options.record_files);
}

Schema tfrecord_columns() { return {encoded_image(), class_label()}; }

// auto: the files tell.
std::optional<int> given_label_base(const Node& node) {
  const std::string& base = arg<std::string>(node.args, "label_base");
  if (base == "auto") return std::nullopt;
  return base == "1" ? 1 : 0;
}

constexpr std::string_view kBox = "image/object/bbox/";

void require(const Example& example, std::string_view key) {
  if (example.has(key)) return;
  std::vector<std::string_view> keys;
  for (const Example::Feature& feature : example.features()) keys.push_back(feature.key);
  std::sort(keys.begin(), keys.end());
  throw Error(
      fmt::format("no key '{}'; its keys are {} (records of slim's ImageNet or of TensorFlow Datasets are expected)",
                  key, fmt::join(keys, ", ")));
}

std::vector<float> box_side(const Example& example, std::string_view side) {
  const std::string key = std::string(kBox).append(side);
  const Example::Feature* feature = example.find(key);
  if (!feature || feature->kind == FeatureKind::none) return {};
  return example.floats(key);
}

void read_objects(const Example& example, std::vector<image::ObjectBox>& objects) {
  objects.clear();
  const std::vector<float> ymin = box_side(example, "ymin"), xmin = box_side(example, "xmin");
  const std::vector<float> ymax = box_side(example, "ymax"), xmax = box_side(example, "xmax");
  if (xmin.size() != ymin.size() || ymax.size() != ymin.size() || xmax.size() != ymin.size()) {
    throw Error(fmt::format("{}{{ymin,xmin,ymax,xmax}} have different lengths: {}, {}, {}, {}", kBox, ymin.size(),
                            xmin.size(), ymax.size(), xmax.size()));
  }
  for (std::size_t i = 0; i < ymin.size(); ++i) objects.push_back({ymin[i], xmin[i], ymax[i], xmax[i]});
}

class TFRecordSource : public Source {
 public:
  explicit TFRecordSource(const Node& node) : TFRecordSource(node, given_label_base(node)) {}
  TFRecordSource(const Node& node, std::optional<int> label_base)
      : files_(open_record_files(node)),
        schema_(tfrecord_columns()),
        num_classes_(arg<std::int64_t>(node.args, "num_classes")) {
    label_base_ = label_base ? *label_base : find_label_base();
  }

  std::uint64_t size() const override { return files_.size(); }
  Schema schema() const override { return schema_; }

  void read(std::uint64_t index, Record& record) const override {
    const auto place = files_.at(index);
    const std::span<const std::uint8_t> bytes = place.file->record(place.record, record.storage);
    const Example example(bytes);
    const RecordKeys& keys = keys_of(example);
    require(example, keys.image);
    require(example, keys.label);
    const std::string_view image = example.one_bytes(keys.image);
    record.label = label(example.one_int64(keys.label));
    read_objects(example, record.objects);
    record.cells = {bytes_cell(image.data(), image.size()), dense_cell(&record.label, DType::i32, {})};
  }

  std::string origin(std::uint64_t index) const override {
    const auto place = files_.at(index);
    return fmt::format("[tfrecord] {}: record {} at byte {}", place.file->path(), place.record,
                       place.file->offset(place.record));
  }
  std::uint64_t fingerprint() const override { return fingerprint_of(files_.paths()); }
  std::int64_t num_classes() const override { return num_classes_; }
  int label_base() const override { return label_base_; }

 private:
  std::int32_t label(std::int64_t stored) const {
    const std::int64_t value = stored - label_base_;
    if (value < 0) {
      throw EndsRunError(fmt::format("label {} is below the label base {}{}", stored, label_base_,
                                     stored == 0 ? " (--label_base=0 if labels start at 0)" : ""));
    }
    if (num_classes_ > 0 && value >= num_classes_) {
      throw Error(fmt::format("label {} (stored as {}, label base {}) is outside the {} classes", value, stored,
                              label_base_, num_classes_));
    }
    if (value > INT32_MAX) throw Error(fmt::format("label {} does not fit 32 bits", stored));
    return static_cast<std::int32_t>(value);
  }

  // Slim's ImageNet stores 1..1000 with 0 kept for background, its flowers 0..4: a label 0 tells them apart, in
  // whichever file it is. Labels that cannot be read are reported when the record is read; without any label there is
  // no base.
  int find_label_base() const {
    bool any = false;
    for (const TFRecordFile& file : files_.files()) {
      const RecordLabels labels = labels_of(file);
      if (label_base_of(labels) == 0) return 0;
      any |= !labels.by_label.empty();
    }
    bound_index_directory();
    if (!any) check_first_label();
    return 1;
  }

  void check_first_label() const {
    std::string storage;
    for (const TFRecordFile& file : files_.files()) {
      if (file.size() > 0) return static_cast<void>(stored_label(file, 0, storage));
    }
  }

  static std::int64_t stored_label(const TFRecordFile& file, std::size_t i, std::string& storage) {
    std::string fault;
    const auto at = [&] { return fmt::format("[tfrecord] {}: record {} at byte {}", file.path(), i, file.offset(i)); };
    const auto bytes = file.record(i, storage, fault);
    if (!bytes) throw Error(at() + " " + fault);
    try {
      const Example example(*bytes);
      const RecordKeys& keys = keys_of(example);
      require(example, keys.label);
      return example.one_int64(keys.label);
    } catch (const Error& e) {
      throw Error(at() + ": " + e.what(), e.kind());
    }
  }

  SeveralFiles<TFRecordFile> files_;
  Schema schema_;
  std::int64_t num_classes_;
  int label_base_ = 0;
};

void check_tfrecord(const Node& node) {
  check_record_files(node);
  if (arg<std::int64_t>(node.args, "file_shards") > 1 && arg<std::string>(node.args, "label_base") == "auto")
    throw Error("[tfrecord] label_base auto looks at all files, of which a part has its own: give 0 or 1");
}

}  // namespace

Dataset TFRecord(std::vector<std::string> files, TFRecordOptions options) {
  return source_dataset("tfrecord", args_of(std::move(files), options));
}

Dataset TFRecord(std::vector<std::string> files, TFRecordOptions options, int label_base) {
  return source_dataset("tfrecord", args_of(std::move(files), options),
                        [&](const Node& node) { return std::make_unique<TFRecordSource>(node, label_base); });
}

SourceEntry tfrecord_source() {
  return {
      .op = "tfrecord",
      .doc =
          "tf.train.Examples with the keys of slim's ImageNet or of TensorFlow Datasets (image, label), in TFRecord "
          "files (plain, GZIP, ZLIB)",
      .args = record_file_args(
          {{.name = "label_base",
            .type = ArgType::text,
            .doc = "number that is subtracted from stored labels; auto: 0 if any file has a label 0, else 1",
            .fallback = std::string("auto"),
            .allowed = {"auto", "0", "1"}},
           num_classes_arg()}),
      .check = check_tfrecord,
      .open = open_as<TFRecordSource>,
      .columns = [](const Node&) { return std::optional(tfrecord_columns()); },
      .label_base = given_label_base};
}

}  // namespace ridgeline::data
