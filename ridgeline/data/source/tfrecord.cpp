#include "ridgeline/data/source/tfrecord.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/record_files.h"
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

Dataset TFRecord(std::vector<std::string> files, TFRecordOptions options) {
  const char* base = options.label_base == LabelBase::automatic ? "auto"
                     : options.label_base == LabelBase::zero    ? "0"
                                                                : "1";
  return source_dataset("tfrecord", with_record_files({{"files", std::move(files)},
                                                       {"label_base", std::string(base)},
                                                       {"num_classes", options.num_classes}},
                                                      options.record_files));
}

namespace {

Schema columns() { return {encoded_image(), class_label()}; }

// auto: the files tell.
std::optional<int> label_base_of(const Node& node) {
  const std::string& base = arg<std::string>(node.args, "label_base");
  if (base == "auto") return std::nullopt;
  return base == "1" ? 1 : 0;
}

// The slim ImageNet keys that are read.
constexpr std::string_view kImage = "image/encoded";
constexpr std::string_view kLabel = "image/class/label";
constexpr std::string_view kBox = "image/object/bbox/";

void require(const Example& example, std::string_view key) {
  if (example.has(key)) return;
  std::vector<std::string_view> keys;
  for (const Example::Feature& feature : example.features()) keys.push_back(feature.key);
  std::sort(keys.begin(), keys.end());
  throw Error(
      fmt::format("no key '{}'; its keys are {} (slim ImageNet records are expected)", key, fmt::join(keys, ", ")));
}

std::vector<float> box_side(const Example& example, std::string_view side) {
  const std::string key = std::string(kBox) + std::string(side);
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
  explicit TFRecordSource(const Node& node)
      : files_(open_record_files(node)), schema_(columns()), num_classes_(arg<std::int64_t>(node.args, "num_classes")) {
    const auto known = label_base_of(node);
    label_base_ = known ? *known : find_label_base();
  }

  std::uint64_t size() const override { return files_.size(); }
  Schema schema() const override { return schema_; }

  void read(std::uint64_t index, Record& record) const override {
    const auto place = files_.at(index);
    const std::span<const std::uint8_t> bytes = place.file->record(place.record, record.storage);
    const Example example(bytes);
    require(example, kImage);
    require(example, kLabel);
    const std::string_view image = example.one_bytes(kImage);
    record.label = label(example.one_int64(kLabel));
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
      throw Error(fmt::format("label {} is below the label base {} (--label_base=0 if labels start at 0)", stored,
                              label_base_));
    }
    if (num_classes_ > 0 && value >= num_classes_) {
      throw Error(fmt::format("label {} (stored as {}, label base {}) is outside the {} classes", value, stored,
                              label_base_, num_classes_));
    }
    if (value > INT32_MAX) throw Error(fmt::format("label {} does not fit 32 bits", stored));
    return static_cast<std::int32_t>(value);
  }

  // Slim's ImageNet stores 1..1000 with 0 kept for background, its flowers 0..4: a label 0 tells them apart. The first
  // file decides. Where some of its labels cannot be read (whether that matters is for whoever reads the record), one
  // of them may have been the 0, so the next file is asked, too. Where no label at all can be read, there is no base.
  int find_label_base() const {
    std::string storage, first_fault;
    bool read_one = false;
    for (const TFRecordFile& file : files_.files()) {
      if (file.size() == 0) continue;
      bool all = true;
      for (std::size_t i = 0; i < file.size(); ++i) {
        try {
          if (stored_label(file, i, storage) == 0) return 0;
          read_one = true;
        } catch (const Error& e) {
          if (first_fault.empty()) first_fault = e.what();
          all = false;
        }
      }
      if (all) return 1;
    }
    if (!read_one && !first_fault.empty()) throw Error(first_fault);
    return 1;
  }

  static std::int64_t stored_label(const TFRecordFile& file, std::size_t i, std::string& storage) {
    std::string fault;
    const auto at = [&] { return fmt::format("[tfrecord] {}: record {} at byte {}", file.path(), i, file.offset(i)); };
    const auto bytes = file.record(i, storage, fault);
    if (!bytes) throw Error(at() + " " + fault);
    try {
      const Example example(*bytes);
      require(example, kLabel);
      return example.one_int64(kLabel);
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
    throw Error("[tfrecord] label_base auto looks at the first file, which only one part has: give 0 or 1");
}

}  // namespace

SourceEntry tfrecord_source() {
  return {.op = "tfrecord",
          .doc = "tf.train.Examples with the slim ImageNet keys, in TFRecord files (plain, GZIP, ZLIB)",
          .args = record_file_args(
              {{.name = "label_base",
                .type = ArgType::text,
                .doc = "what is subtracted from stored labels; auto: 0 if the first file has a label 0, else 1",
                .fallback = std::string("auto"),
                .allowed = {"auto", "0", "1"}},
               num_classes_arg()}),
          .check = check_tfrecord,
          .open = open_as<TFRecordSource>,
          .columns = [](const Node&) { return std::optional(columns()); },
          .label_base = label_base_of};
}

}  // namespace ridgeline::data
