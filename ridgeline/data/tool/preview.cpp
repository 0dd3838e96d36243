#include "ridgeline/data/tool/preview.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ridgeline/data/ir/analysis.h"
#include "ridgeline/data/runtime/iterator.h"
#include "ridgeline/data/source/source.h"
#include "ridgeline/data/tool/caption.h"
#include "ridgeline/image/decode.h"
#include "ridgeline/image/resample.h"

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
  while (node->op != "map" && node->inputs.size() == 1) node = &graph.node(node->inputs[0]);
  if (node->op != "map" || node->operations.empty() || node->operations.back().op != "normalize") return nullptr;
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
  const Shape& shape = values.shape();
  const auto channels = [](std::int64_t n) { return n == 1 || n == 3; };
  bool first = false;
  std::int64_t height = 0, width = 0, depth = 1;
  if (shape.rank() == 2) {
    height = shape[0], width = shape[1];
  } else if (shape.rank() == 3 && channels(shape[2])) {
    height = shape[0], width = shape[1], depth = shape[2];
  } else if (shape.rank() == 3 && channels(shape[0])) {
    first = true;
    depth = shape[0], height = shape[1], width = shape[2];
  } else {
    throw Error("[preview] the column 'image' is " + shape.to_string() + ", which is no picture of 1 or 3 channels");
  }
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

image::Image sample_picture(const Sample& sample, bool& stretched) {
  const Tensor& values = sample.column("image");
  if (values.dtype() != DType::bytes) return to_picture(values, stretched);
  const std::string& bytes = values.string_values().front();
  return image::decode({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

std::string caption_of(const Sample& sample, std::uint64_t index, const std::vector<std::string>& class_names) {
  std::string text = fmt::format("#{}", index);
  for (const NamedTensor& column : sample.columns) {
    if (column.name != "label" || column.values.dtype() == DType::bytes || column.values.elements() != 1) continue;
    const auto label = static_cast<std::int64_t>(column.values.at(0));
    const bool named = label >= 0 && static_cast<std::size_t>(label) < class_names.size();
    text += named ? " " + class_names[static_cast<std::size_t>(label)] : fmt::format(" {}", label);
  }
  return text;
}

class Previewer {
 public:
  Previewer(const Dataset& dataset, const PreviewOptions& options)
      : dataset_(without_normalize(dataset)), class_names_(dataset.class_names()), options_(options) {
    const Schema columns = dataset_.columns();
    if (!find_column(columns, "image"))
      throw Error("[preview] there is no column 'image' to draw: the graph gives " + to_string(columns));
    const std::vector<const Node*> sources = sources_of(dataset_.graph());
    if (!options.original) return;
    if (sources.size() != 1)
      throw Error("[preview] a graph of several sources has no single original to show (--original)", ErrorKind::usage);
    source_ = &source_of(*sources[0]);
  }

  Preview run() {
    Preview preview;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(options_.rows) * options_.columns; ++i) {
      std::optional<Picture> picture = make(options_.start + i);
      if (!picture) break;
      pictures_.push_back(std::move(*picture));
    }
    preview.sheet = draw();
    preview.stretched = stretched_;
    for (Picture& picture : pictures_) preview.cells.push_back(std::move(picture.cell));
    return preview;
  }

 private:
  // Nothing behind the last sample of the epoch; for the first one that is an Error.
  std::optional<Picture> make(std::uint64_t index) {
    Picture picture;
    picture.cell.index = index;
    try {
      const Sample sample = replay(dataset_, options_.epoch, index);
      picture.cell.origin = sample.origin;
      picture.cell.caption = caption_of(sample, index, class_names_);
      picture.image = sample_picture(sample, stretched_);
      if (source_) picture.original = original_of(sample.record);
    } catch (const Error& e) {
      const std::string reason = e.what();
      if (reason.starts_with("[replay]")) {
        if (pictures_.empty()) throw;
        return std::nullopt;
      }
      if (reason.starts_with("[preview]")) throw;
      picture.image.reset();
      picture.cell.problem = reason;
      picture.cell.caption = fmt::format("#{} broken", index);
    }
    return picture;
  }

  image::Image original_of(std::uint64_t record) const {
    Record read;
    source_->read(record, read);
    const Schema schema = source_->schema();
    const Column* column = find_column(schema, "image");
    if (!column) throw Error("[preview] the source has no column 'image': its columns are " + to_string(schema));
    const Cell& cell = read.cells[static_cast<std::size_t>(column - schema.data())];
    if (cell.dtype == DType::bytes) return image::decode({cell.data, cell.bytes});
    bool ignored = false;
    return to_picture(to_tensor(cell), ignored);
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
    int height = 0, width = 0;
    for (const Picture& p : pictures_) {
      if (p.image) height = std::max(height, p.image->height()), width = std::max(width, p.image->width());
    }
    if (height == 0) height = width = kEmptySide;
    const int columns = std::min<int>(options_.columns, static_cast<int>(pictures_.size()));
    const int rows = (static_cast<int>(pictures_.size()) + columns - 1) / columns;
    const int cell_width = (source_ ? 2 * width + 1 : width) + kGap, cell_height = height + kCaption + kGap;
    if (std::int64_t{rows} * cell_height * columns * cell_width > kMostPixels)
      throw Error("[preview] the sheet would have more than 2^28 pixels: fewer --rows or --columns", ErrorKind::usage);
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

  Dataset dataset_;
  std::vector<std::string> class_names_;
  const PreviewOptions& options_;
  const Source* source_ = nullptr;
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
