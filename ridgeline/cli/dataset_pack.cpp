#include <fmt/format.h>

#include <memory>

#include "ridgeline/cli/dataset_tools.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/data/tool/pack.h"
#include "ridgeline/train/recipe/recipe.h"

namespace ridgeline::cli {
namespace {

struct PackFlags {
  std::string data_dir, out;
  std::string label_base = "auto", exif_orientation = "ignore";
  data::PackOptions options;
};

int run_pack(const Command& app, const PackFlags& flags) {
  data::PackOptions options = flags.options;
  if (options.short_side == 0 && app.given("--quality"))
    throw Error("--quality has no effect without --short_side: images are stored unchanged", ErrorKind::usage);
  if (options.short_side == 0 && app.given("--exif_orientation")) {
    throw Error(
        "--exif_orientation has no effect without --short_side: images are stored unchanged; train "
        "--exif_orientation=apply rotates them",
        ErrorKind::usage);
  }
  train::check_exif_orientation(flags.exif_orientation);
  options.exif_orientation = image::parse_exif_orientation(flags.exif_orientation);
  if (options.workers < 0) throw Error("--workers must not be negative", ErrorKind::usage);
  options.source.label_base = data::parse_label_base(flags.label_base);
  options.progress = counter("packing");
  const data::PackReport report = data::pack(flags.data_dir, flags.out, options);
  for (const data::UnreadableImage& image : report.unreadable)
    fmt::print(stderr, "left out {}: {}\n", printable(image.file), printable(image.reason));
  if (report.objects_dropped > 0)
    fmt::print(stderr, "note: {} records have bounding boxes, which are not stored: crops will not use them\n",
               report.objects_dropped);
  if (report.orientations_dropped > 0)
    fmt::print(stderr,
               "note: {} resized images have an Exif orientation, which is not stored (--exif_orientation=apply "
               "rotates and mirrors them)\n",
               report.orientations_dropped);
  fmt::print("{}: {} images, {} of them resized, {:.1f} MB of {:.1f} MB{}\n", printable(flags.out), report.records,
             report.resized, static_cast<double>(report.bytes_out) / 1e6, static_cast<double>(report.bytes_in) / 1e6,
             report.unreadable.empty() ? "" : fmt::format(", {} left out", report.unreadable.size()));
  return 0;
}

}  // namespace

DatasetTool add_dataset_pack(Command& dataset) {
  auto flags = std::make_shared<PackFlags>();
  Command& app = dataset.subcommand(
      "pack", "pack images and labels into one file, unchanged or made smaller; broken images are listed and left out");
  app.option("--data_dir", flags->data_dir,
             "data set folder: TFRecords (train-*, validation-*) or class folders (train/<class>/*, val/<class>/*, or "
             "<class>/* alone)")
      .required();
  app.option("--out", flags->out, "file to write: train.ridge, val.ridge or another name that ends in .ridge")
      .required();
  app.option("--split", flags->options.split, "split to pack: train, val or test; default: train");
  app.option("--short_side", flags->options.short_side,
             "resize images with a longer shorter side to this many pixels on that side and store them as JPEG; 0: "
             "store all unchanged");
  app.option("--quality", flags->options.quality, "with --short_side: JPEG quality of resized images, 1 to 100");
  app.option("--exif_orientation", flags->exif_orientation,
             "with --short_side: rotate and mirror resized images as their Exif orientation says: apply or ignore");
  app.option("--label_base", flags->label_base, "label of the first class in records: 0, 1 or auto (detected)");
  app.option(
      "--label_field", flags->options.source.label_field,
      "tar archives: where the class is: a field such as cls, FIELD:KEY of a JSON object, / for folder names, or auto");
  app.option("--num_classes", flags->options.source.num_classes,
             "number of classes; larger labels in records are errors; 0: not checked");
  app.boolean("--allow_missing_shards", flags->options.source.allow_missing_shards,
              "accept record files of which shards are missing or empty");
  app.option("--workers", flags->options.workers, "threads; 0: one per core");
  return {&app, [&app, flags] { return run_pack(app, *flags); }};
}

}  // namespace ridgeline::cli
