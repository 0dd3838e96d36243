#include <fmt/format.h>

#include <memory>

#include "ridgeline/cli/dataset_tools.h"
#include "ridgeline/cli/pipeline_flags.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/data/tool/preview.h"
#include "ridgeline/image/jpeg/jpeg.h"
#include "ridgeline/image/png/png.h"

namespace ridgeline::cli {
namespace {

constexpr int kJpegQuality = 95;

struct PreviewFlags {
  PipelineFlags pipeline;
  data::PreviewOptions options;
  std::string out;
};

int run_preview(const Command& app, const PreviewFlags& flags) {
  const bool jpeg = flags.out.ends_with(".jpg") || flags.out.ends_with(".jpeg");
  if (!jpeg && !flags.out.ends_with(".png"))
    throw Error("--out=" + flags.out + ": the name must end in .png or .jpg", ErrorKind::usage);
  const data::Preview preview = data::preview(dataset_of(app, flags.pipeline), flags.options);
  const std::vector<std::uint8_t> bytes =
      jpeg ? image::encode_jpeg(preview.sheet, kJpegQuality) : image::encode_png(preview.sheet);
  write_file_atomically(flags.out, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  std::size_t broken = 0;
  for (const data::PreviewCell& cell : preview.cells) {
    if (cell.problem.empty()) continue;
    ++broken;
    fmt::print(stderr, "sample {}: {}\n", cell.index, printable(cell.problem));
  }
  fmt::print("{}: {} samples from {} of epoch {}, {} x {} pixels{}{}\n", printable(flags.out), preview.cells.size(),
             flags.options.start, flags.options.epoch, preview.sheet.width(), preview.sheet.height(),
             preview.stretched ? ", each scaled to its own range of values" : "",
             broken > 0 ? fmt::format(", {} broken", broken) : "");
  return 0;
}

}  // namespace

DatasetTool add_dataset_preview(Command& dataset) {
  auto flags = std::make_shared<PreviewFlags>();
  Command& app = dataset.subcommand("preview", "draw a contact sheet of augmented samples, as training gets them");
  app.option("--out", flags->out, "image file to write, .png or .jpg").required();
  app.option("--rows", flags->options.rows, "of the contact sheet");
  app.option("--columns", flags->options.columns, "of the contact sheet");
  app.option("--epoch", flags->options.epoch, "epoch whose order and augmentation are drawn, from 0");
  app.option("--start", flags->options.start, "position of the first sample in the epoch, from 0");
  app.flag("--original", flags->options.original, "also draw the original image to the left of each sample");
  add_pipeline_flags(app, flags->pipeline, {.batch_size = false});
  return {&app, [&app, flags] { return run_preview(app, *flags); }};
}

}  // namespace ridgeline::cli
