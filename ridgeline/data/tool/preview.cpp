#include "ridgeline/data/tool/preview.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ridgeline/core/bytes.h"
#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/ir/node_names.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/runtime/replayer.h"
#include "ridgeline/data/source/source.h"
#include "ridgeline/data/tool/caption.h"
#include "ridgeline/data/tool/picture_extents.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/image/resample/resample.h"

namespace ridgeline::data {
namespace {

constexpr int kGap = 4;
constexpr int kCaption = kGlyphHeight + 4;
constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;
constexpr int kEmptySide = 64;  // of cells if no sample at all can be made
constexpr std::array<std::uint8_t, 3> kInk{235, 235, 235}, kWarning{255, 140, 110};
constexpr std::uint8_t kPaper = 32, kMissing = 90;

// A sample and, perhaps, what it was made from.
struct Picture {
  PreviewCell cell;
  std::optional<image::Image> image, original;
};

// The last map of the graph, if it ends in normalize.
Node* normalizing_map(DataGraph& graph) {
  const Node* node = &graph.output();
  while (node->op != node_name::kMap && node->inputs.size() == 1) node = &graph.node(node->inputs[0]);
  if (node->op != node_name::kMap || node->operations.empty() ||
      transform_entry(node->operations.back().op).tail != TailPart::normalize)
    return nullptr;
  return &graph.node(node->id);
}

Dataset without_normalize(const Dataset& dataset) {
  DataGraph graph = dataset.graph();
  Node* map = normalizing_map(graph);
  if (!map) return dataset;
  if (map->operations.size() > 1) {
    map->operations.pop_back();
    return Dataset(std::move(graph));
  }
  const std::string id = map->id, below = map->inputs[0];
  std::erase_if(graph.nodes, [&](const Node& n) { return n.id == id; });
  for (Node& node : graph.nodes) std::replace(node.inputs.begin(), node.inputs.end(), id, below);
  std::replace(graph.outputs.begin(), graph.outputs.end(), id, below);
  return Dataset(std::move(graph));
}

// Numbers as a picture: grey or RGB, channels last or first.
image::Image to_picture(const Tensor& values, bool& stretched) {
  const std::optional<PictureExtents> extents = picture_extents(values.shape());
  if (!extents)
    throw Error("[preview] the column 'image' is " + values.shape().to_string() +
                ", which is no picture of 1 or 3 channels");
  const auto [height, width, depth, first] = *extents;
  const std::int64_t n = values.elements();
  double low = 0, scale = 1;
  if (values.dtype() != DType::u8) {
    stretched = true;
    double high = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double v = values.at(i);
      low = i == 0 ? v : std::min(low, v);
      high = i == 0 ? v : std::max(high, v);
    }
    scale = high > low ? 255 / (high - low) : 0;
  }
  image::Image picture(static_cast<int>(height), static_cast<int>(width), 3);
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < 3; ++c) {
        const std::int64_t channel = std::min(c, depth - 1);
        const std::int64_t at = first ? (channel * height + y) * width + x : (y * width + x) * depth + channel;
        picture.row(static_cast<int>(y))[3 * x + c] =
            static_cast<std::uint8_t>(std::lround((values.at(at) - low) * scale));
      }
    }
  }
  return picture;
}

image::Image decoded(const std::string& bytes) { return image::decode(as_bytes(bytes)); }

std::string caption_of(const Sample& sample, std::uint64_t index, const std::vector<std::string>& class_names) {
  std::string text = fmt::format("#{}", index);
  for (const NamedTensor& column : sample.columns) {
    if (column.name != kLabelColumn || column.tensor.dtype() == DType::bytes || column.tensor.elements() != 1) continue;
    const auto label = static_cast<std::int64_t>(column.tensor.at(0));
    const bool named = label >= 0 && static_cast<std::size_t>(label) < class_names.size();
    text += named ? " " + class_names[static_cast<std::size_t>(label)] : fmt::format(" {}", label);
  }
  return text;
}

class Previewer {
 public:
  Previewer(const Dataset& dataset, const PreviewOptions& options)
      : Previewer(without_normalize(dataset), dataset.class_names(), options) {}

  Preview run() {
    Preview preview;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(options_.rows) * options_.columns; ++i) {
      std::optional<Picture> picture = make(options_.start + i);
      if (!picture) break;
      add(std::move(*picture));
    }
    if (pictures_.empty())
      throw Error(fmt::format("[preview] there is no sample {}: epoch {} has {}", options_.start, options_.epoch,
                              replayer_.extent_of(options_.epoch)));
    preview.sheet = draw();
    preview.stretched = stretched_;
    for (Picture& picture : pictures_) preview.cells.push_back(std::move(picture.cell));
    return preview;
  }

 private:
  Previewer(const Dataset& dataset, std::vector<std::string> class_names, const PreviewOptions& options)
      : class_names_(std::move(class_names)), options_(options), replayer_(dataset) {
    const Schema columns = dataset.columns();
    if (!find_column(columns, kImageColumn))
      throw Error("[preview] there is no column 'image' to draw: the graph gives " + to_string(columns));
    if (!options.original) return;
    const std::vector<const Node*> sources = sources_of(dataset.graph());
    if (sources.size() != 1)
      throw Error("[preview] a graph of several sources has no single original to show (--original)", ErrorKind::usage);
    source_ = &source_of(*sources[0]);
    const Schema schema = source_->schema();
    const Column* column = find_column(schema, kImageColumn);
    if (!column) throw Error("[preview] the source has no column 'image': its columns are " + to_string(schema));
    original_column_ = static_cast<std::size_t>(column - schema.data());
  }

  // Nothing after the last sample of the epoch.
  std::optional<Picture> make(std::uint64_t index) {
    Picture picture;
    picture.cell.index = index;
    std::optional<Tensor> numbers, original;
    try {  // a sample that cannot be made has its cell; numbers that are no picture concern all
      const std::optional<Sample> sample = replayer_.sample(options_.epoch, index);
      if (!sample) return std::nullopt;
      picture.cell.origin = sample->origin;
      picture.cell.caption = caption_of(*sample, index, class_names_);
      const Tensor& values = sample->column(kImageColumn);
      if (values.dtype() == DType::bytes) {
        picture.image = decoded(values.string_values().front());
      } else {
        numbers = values;
      }
      if (source_) original = original_of(sample->record, picture.original);
    } catch (const Error& e) {
      picture.image.reset();
      picture.cell.problem = e.what();
      picture.cell.caption = fmt::format("#{} broken", index);
      return picture;
    }
    bool ignored = false;
    if (numbers) picture.image = to_picture(*numbers, stretched_);
    if (original) picture.original = to_picture(*original, ignored);
    return picture;
  }

  // Into `image` where it is encoded, else returned as numbers.
  std::optional<Tensor> original_of(std::uint64_t record, std::optional<image::Image>& image) const {
    Record read;
    source_->read(record, read);
    const Cell& cell = read.cells[original_column_];
    if (cell.dtype != DType::bytes) return to_tensor(cell);
    image = image::decode({cell.data, cell.bytes});
    return std::nullopt;
  }

  void add(Picture picture) {
    const int height = picture.image ? picture.image->height() : 0, width = picture.image ? picture.image->width() : 0;
    pictures_.push_back(std::move(picture));
    if (height <= height_ && width <= width_) return;
    height_ = std::max(height_, height);
    width_ = std::max(width_, width);
    check_size();
  }

  // An Error if there are samples for more cells of the current size than a sheet may have.
  void check_size() const {
    const Grid grid = this->grid();
    const std::int64_t cells = kMostPixels / grid.cell_height / grid.cell_width, rows = cells / options_.columns;
    if (rows >= options_.rows) return;
    const std::int64_t most = rows > 0 ? rows * options_.columns : cells;
    if (replayer_.has(options_.epoch, options_.start + static_cast<std::uint64_t>(most)))
      throw Error("[preview] the sheet would have more than 2^28 pixels: fewer --rows or --columns", ErrorKind::usage);
  }

  struct Grid {
    int rows, columns, height, width;  // of the pictures
    int cell_height, cell_width;
  };
  Grid grid() const {
    const auto count = static_cast<int>(pictures_.size());
    const int height = height_ == 0 ? kEmptySide : height_, width = width_ == 0 ? kEmptySide : width_;
    const int columns = std::min(options_.columns, count);
    return {.rows = (count + columns - 1) / columns,
            .columns = columns,
            .height = height,
            .width = width,
            .cell_height = height + kCaption + kGap,
            .cell_width = (source_ ? 2 * width + 1 : width) + kGap};
  }

  // The whole original, as large as it fits into a cell.
  static image::Image fitted(const image::Image& original, int height, int width) {
    const double scale =
        std::min(static_cast<double>(height) / original.height(), static_cast<double>(width) / original.width());
    const image::Size out{std::max(1, static_cast<int>(original.height() * scale)),
                          std::max(1, static_cast<int>(original.width() * scale))};
    return image::resize(original, out);
  }

  image::Image draw() const {
    const auto [rows, columns, height, width, cell_height, cell_width] = grid();
    image::Image sheet(rows * cell_height + kGap, columns * cell_width + kGap, 3);
    std::fill_n(sheet.data(), sheet.byte_size(), kPaper);
    for (std::size_t i = 0; i < pictures_.size(); ++i) {
      const Picture& p = pictures_[i];
      const int top = kGap + static_cast<int>(i) / columns * cell_height;
      int left = kGap + static_cast<int>(i) % columns * cell_width;
      draw_text(sheet, top + height + 2, left, cell_width - kGap, p.cell.caption, p.image ? kInk : kWarning);
      if (source_ && p.original) paste(fitted(*p.original, height, width), sheet, top, left);
      if (source_) left += width + 1;
      if (p.image) {
        paste(*p.image, sheet, top, left);
      } else {
        for (int y = 0; y < height; ++y) std::fill_n(sheet.row(top + y) + 3 * left, 3 * width, kMissing);
      }
    }
    return sheet;
  }

  static void paste(const image::Image& picture, image::Image& sheet, int top, int left) {
    for (int y = 0; y < picture.height(); ++y)
      std::copy_n(picture.row(y), 3 * picture.width(), sheet.row(top + y) + 3 * left);
  }

  std::vector<std::string> class_names_;
  const PreviewOptions& options_;
  Replayer replayer_;
  const Source* source_ = nullptr;
  std::size_t original_column_ = 0;
  int height_ = 0, width_ = 0;  // of the largest picture
  std::vector<Picture> pictures_;
  bool stretched_ = false;
};

}  // namespace

Preview preview(const Dataset& dataset, const PreviewOptions& options) {
  for (const auto& [flag, value] : {std::pair{"rows", options.rows}, std::pair{"columns", options.columns}}) {
    if (value < 1 || value > 1000)
      throw Error(fmt::format("--{}={} is out of range (allowed: 1 to 1000)", flag, value), ErrorKind::usage);
  }
  return Previewer(dataset, options).run();
}

}  // namespace ridgeline::data
