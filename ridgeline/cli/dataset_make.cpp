#include <cstdio>
#include <memory>

#include "ridgeline/cli/dataset_tools.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/data/make/make_tfrecord.h"

namespace ridgeline::cli {
namespace {

int draw_shapes(const std::string& out, data::MakeShapesOptions options) {
  options.progress = counter("drawing");
  const data::MakeShapesReport report = data::make_shapes(out, options);
  if (report.already_there) {
    std::printf("%s already contains this data set\n", printable(out).c_str());
  } else {
    std::printf("%lld JPEGs drawn into %s\n", static_cast<long long>(report.written), printable(out).c_str());
  }
  return 0;
}

int pack_records(const std::string& from, const std::string& out, data::MakeTFRecordOptions options) {
  options.progress = counter("packing");
  const data::MakeTFRecordReport report = data::make_tfrecord(from, out, options);
  for (const data::UnreadableImage& image : report.unreadable) {
    std::fprintf(stderr, "left out %s: %s\n", printable(image.file).c_str(), printable(image.reason).c_str());
  }
  for (const std::string& note : report.notes) std::fprintf(stderr, "note: %s\n", printable(note).c_str());
  std::printf("%lld training and %lld validation records of %zu classes in %zu files in %s\n",
              static_cast<long long>(report.train_records), static_cast<long long>(report.validation_records),
              report.class_names.size(), report.files.size(), printable(out).c_str());
  return 0;
}

struct MakeFlags {
  std::string out, from;
  data::MakeShapesOptions shapes;
  data::MakeTFRecordOptions records;
};

}  // namespace

DatasetTool add_dataset_make(Command& dataset) {
  auto flags = std::make_shared<MakeFlags>();
  Command& make = dataset.subcommand("make", "make a data set");
  Command& shapes =
      make.subcommand("shapes", "draw a small data set: ten classes of shapes, as JPEG files in class folders");
  shapes.option("--out", flags->out, "folder to write").required();
  shapes.option("--seed", flags->shapes.seed, "seed of the images");
  shapes.option("--train", flags->shapes.train, "number of training images");
  shapes.option("--val", flags->shapes.val, "number of validation images");
  Command& records =
      make.subcommand("tfrecord", "pack class folders into sharded TFRecords in the format of TF-Slim's ImageNet");
  records
      .option("--from", flags->from,
              "folder with train/<class>/* and optionally val/<class>/*, or with <class>/* alone")
      .required();
  records.option("--out", flags->out, "folder to write the shards to").required();
  records.option("--train_shards", flags->records.train_shards, "number of shards; 0: one per 64 MiB");
  records.option("--validation_shards", flags->records.validation_shards, "number of shards; 0: one per 64 MiB");
  records.option("--seed", flags->records.seed, "seed of the order of the training records");
  return {&make, [flags, &shapes] {
            if (shapes.called()) return draw_shapes(flags->out, flags->shapes);
            return pack_records(flags->from, flags->out, flags->records);
          }};
}

}  // namespace ridgeline::cli
