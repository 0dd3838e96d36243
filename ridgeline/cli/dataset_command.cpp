#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>

#include "ridgeline/cli/arguments.h"
#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/dataset_show_command.h"
#include "ridgeline/core/error.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/data/make/make_tfrecord.h"

namespace ridgeline::cli {
namespace {

// A counter on a terminal, nothing elsewhere.
data::Progress counter(const char* what) {
  if (!::isatty(STDERR_FILENO)) return {};
  return [what](std::int64_t done, std::int64_t of) {
    if (done % 64 != 0 && done != of) return;
    std::fprintf(stderr, "\r%s %lld/%lld%s", what, static_cast<long long>(done), static_cast<long long>(of),
                 done == of ? "\n" : "");
  };
}

int draw_shapes(const std::string& out, data::MakeShapesOptions options) {
  options.progress = counter("drawing");
  const data::MakeShapesReport report = data::make_shapes(out, options);
  if (report.already_there) {
    std::printf("%s already holds this data set\n", out.c_str());
  } else {
    std::printf("%lld JPEGs drawn into %s\n", static_cast<long long>(report.written), out.c_str());
  }
  return 0;
}

int pack_records(const std::string& from, const std::string& out, data::MakeTFRecordOptions options) {
  options.progress = counter("packing");
  const data::MakeTFRecordReport report = data::make_tfrecord(from, out, options);
  for (const data::UnreadableImage& image : report.unreadable) {
    std::fprintf(stderr, "left out %s: %s\n", image.file.c_str(), image.reason.c_str());
  }
  std::printf("%lld training and %lld validation records of %zu classes in %zu files in %s\n",
              static_cast<long long>(report.train_records), static_cast<long long>(report.validation_records),
              report.class_names.size(), report.files.size(), out.c_str());
  return 0;
}

}  // namespace

int dataset_command(const Words& words) {
  CLI::App app("make data sets, show data graphs", "dataset");
  app.require_subcommand(1);
  CLI::App* make = app.add_subcommand("make", "make a data set");
  make->require_subcommand(1);
  std::string out;
  CLI::App* shapes =
      make->add_subcommand("shapes", "draw the embedded data set: ten classes of shapes, JPEG class folders");
  data::MakeShapesOptions shape_options;
  shapes->add_option("--out", out, "folder to make")->required();
  shapes->add_option("--seed", shape_options.seed, "another seed, other pictures")->capture_default_str();
  shapes->add_option("--train", shape_options.train, "training images")->capture_default_str();
  shapes->add_option("--val", shape_options.val, "validation images")->capture_default_str();
  CLI::App* records = make->add_subcommand("tfrecord", "pack class folders into sharded slim ImageNet TFRecords");
  std::string from;
  data::MakeTFRecordOptions record_options;
  records->add_option("--from", from, "folder with train/<class>/* and val/<class>/*")->required();
  records->add_option("--out", out, "folder for the shards")->required();
  records->add_option("--train_shards", record_options.train_shards, "0: one per 64 MiB")->capture_default_str();
  records->add_option("--validation_shards", record_options.validation_shards, "0: one per 64 MiB")
      ->capture_default_str();
  records->add_option("--seed", record_options.seed, "of the order of the training records")->capture_default_str();
  ShowOptions show;
  CLI::App* shows = add_dataset_show(app, show);
  if (!parse(app, words)) return 0;
  if (shows->parsed()) return run_dataset_show(show);
  if (shapes->parsed()) return draw_shapes(out, shape_options);
  return pack_records(from, out, record_options);
}

}  // namespace ridgeline::cli
