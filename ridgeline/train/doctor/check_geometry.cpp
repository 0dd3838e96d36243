// How much the pipelines enlarge and stretch images, measured: each gets a picture whose red grows from left to right
// and whose green grows from top to bottom, and the slopes of the results give the scale.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ridgeline/core/error.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/pass/edit.h"
#include "ridgeline/data/runtime/iterator.h"
#include "ridgeline/data/standard/standard_pipeline.h"
#include "ridgeline/train/doctor/checks.h"

namespace ridgeline::train {
namespace {

// Random crops stretch by 3/4 to 4/3; a published transform that squashes photographs of 4:3 stays below, too.
constexpr double kMostStretch = 1.5;
// The random crops of ImageNet training enlarge an object by about 1.2, compared with evaluation.
constexpr double kMostMismatch = 2.5;
constexpr double kMostEnlarged = 4;
// Bytes of the test pictures.
constexpr double kMostBytes = 1 << 26;

struct PipelineScale {
  double x = 0, y = 0;  // pixels of the result a pixel of the image
  double stretch() const { return x / y; }
  double both() const { return std::sqrt(x * y); }
};

// `rows` pictures of height x width.
data::Dataset ramps(std::int64_t rows, int height, int width) {
  Tensor images(DType::u8, Shape{rows, height, width, 3});
  Tensor labels = Tensor::zeros(DType::i32, Shape{rows});
  auto* p = images.data<std::uint8_t>();
  for (std::int64_t n = 0; n < rows; ++n) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x, p += 3) {
        p[0] = static_cast<std::uint8_t>(255 * x / std::max(1, width - 1));
        p[1] = static_cast<std::uint8_t>(255 * y / std::max(1, height - 1));
        p[2] = 128;
      }
    }
  }
  return data::InMemory({{"image", images}, {"label", labels}});
}

// The pipeline over all rows of its source: a subset, as that of --validation_split, names rows beyond the few test
// pictures.
data::DataGraph over_all_rows(data::DataGraph graph) {
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const data::Node& node = graph.nodes[i];
    const bool chooses = node.op == data::node_name::kSubsetSampler || node.op == data::node_name::kSubsetRandomSampler;
    if (chooses) data::remove_node(graph, std::string(node.id));
  }
  return graph;
}

// Mean difference of neighbours along an axis (1: down, 2: across) of one channel of picture n, in its middle: at
// edges resampling has less to average.
double slope(const Tensor& images, std::int64_t n, int axis, std::int64_t channel) {
  const std::int64_t height = images.shape()[1], width = images.shape()[2], depth = images.shape()[3];
  const std::int64_t extent = axis == 1 ? height : width, others = axis == 1 ? width : height;
  const auto at = [&](std::int64_t along, std::int64_t other) {
    const std::int64_t y = axis == 1 ? along : other, x = axis == 1 ? other : along;
    return images.at(((n * height + y) * width + x) * depth + channel);
  };
  double sum = 0;
  const std::int64_t first = extent / 4, last = extent - 1 - extent / 4;
  if (last <= first) return 0;
  for (std::int64_t other = 0; other < others; ++other) sum += at(last, other) - at(first, other);
  return std::abs(sum) / static_cast<double>(others * (last - first));
}

double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

std::optional<PipelineScale> scale_of(const data::Dataset& pipeline, int height, int width) {
  const std::int64_t rows = std::max<std::int64_t>(1, pipeline.batch_size());
  // Where so many pictures of that size take too much memory, smaller ones of the same aspect.
  const double bytes = 3.0 * height * width * static_cast<double>(rows);
  const double shrink = std::min(1.0, std::sqrt(kMostBytes / bytes));
  const int h = std::max(2, static_cast<int>(height * shrink)), w = std::max(2, static_cast<int>(width * shrink));
  const data::Dataset tested = data::with_source(over_all_rows(pipeline.graph()), ramps(rows, h, w));
  data::Iterator batches(tested, {.workers = 1, .raw_images = true, .pull = true});
  const std::optional<data::Batch> batch = batches.next();
  if (!batch || !batch->has(data::kImageColumn)) return std::nullopt;
  const Shape& shape = batch->image().shape();
  if (shape.rank() != 4 || shape[3] != 3) return std::nullopt;  // channels first tell no scale
  std::vector<double> across, down;
  for (std::int64_t n = 0; n < rows; ++n) {
    const double x = slope(batch->image(), n, 2, 0), y = slope(batch->image(), n, 1, 1);
    if (x <= 0 || y <= 0) continue;  // turned, or no picture any more
    across.push_back(255.0 / (w - 1) / x * shrink);
    down.push_back(255.0 / (h - 1) / y * shrink);
  }
  if (across.empty()) return std::nullopt;
  return PipelineScale{middle(across), middle(down)};
}

}  // namespace

void check_geometry(Examination& examination, Findings& findings) {
  const Subject& subject = examination.subject();
  const auto [height, width] = examination.image_extent();
  if (height < 2 || width < 2) return findings.leave_out("nobody tells how large the stored images are");
  if (!subject.training_data) return findings.leave_out("there are no data");
  const int h = height, w = width;
  const auto measure = [&](const data::Dataset& pipeline) -> std::optional<PipelineScale> {
    try {
      return scale_of(pipeline, h, w);
    } catch (const Error&) {
      return std::nullopt;  // a pipeline of other columns, or of several sources
    }
  };
  const std::optional<PipelineScale> training = measure(*subject.training_data);
  const std::optional<PipelineScale> validation =
      subject.validation_data ? measure(*subject.validation_data) : std::nullopt;
  if (!training) return findings.leave_out("the pipeline gives no pixels of a picture of another source");
  const auto look = [&](const PipelineScale& scale, const char* part) {
    const double stretch = std::max(scale.stretch(), 1 / scale.stretch());
    if (stretch > kMostStretch) {
      findings.wrong(fmt::format("{} stretches images of {}x{} (height x width) by {:.2f}: {:.2f} across, {:.2f} down",
                                 part, h, w, stretch, scale.x, scale.y),
                     "resize the shorter side to one number and crop, so that the aspect stays");
    }
    if (scale.both() > kMostEnlarged) {
      findings.suspect(fmt::format("{} enlarges images of {}x{} {:.1f} times", part, h, w, scale.both()),
                       "a smaller --image_size, or a model for small images: it is faster and loses nothing");
    }
  };
  look(*training, "training");
  if (!validation) return;
  look(*validation, "validation");
  const double mismatch = training->both() / validation->both();
  if (std::max(mismatch, 1 / mismatch) > kMostMismatch) {
    findings.wrong(
        fmt::format("objects are {:.1f} times as large in training as in validation ({:.2f} and {:.2f} pixels "
                    "a pixel of images of {}x{})",
                    mismatch, training->both(), validation->both(), h, w),
        "resize both to about the same: the evaluation's resize is 256/224 of the image size, crops of "
        "training cover --min_area and more");
  }
}

}  // namespace ridgeline::train
