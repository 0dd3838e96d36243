#include "ridgeline/data/source/idx.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/data/source/arguments.h"
#include "ridgeline/data/source/source_entry.h"
#include "ridgeline/data/source/tensor_source.h"
#include "ridgeline/format/tensor/idx.h"

namespace ridgeline::data {

Dataset Idx(const std::string& images, const std::string& labels, IdxOptions options) {
  return source_dataset("idx", {{"images", images},
                                {"labels", labels},
                                {"label_base", options.label_base},
                                {"transposed", options.transposed},
                                {"class_names", std::move(options.class_names)}});
}
namespace {

// Rows and columns of every picture exchanged.
Tensor transposed(const Tensor& images) {
  const Shape& s = images.shape();
  Tensor out(DType::u8, Shape{s[0], s[2], s[1], s[3]});
  const auto* from = images.data<std::uint8_t>();
  auto* to = out.data<std::uint8_t>();
  for (std::int64_t n = 0; n < s[0]; ++n) {
    for (std::int64_t y = 0; y < s[2]; ++y) {
      for (std::int64_t x = 0; x < s[1]; ++x)
        std::copy_n(from + ((n * s[1] + x) * s[2] + y) * s[3], s[3], to + ((n * s[2] + y) * s[1] + x) * s[3]);
    }
  }
  return out;
}

std::unique_ptr<Source> open_idx(const Node& node) {
  const std::string& image_file = arg<std::string>(node.args, "images");
  const std::string& label_file = arg<std::string>(node.args, "labels");
  Tensor images = read_idx(image_file);
  const Tensor stored = read_idx(label_file);
  const Shape shape = images.shape();
  if (images.dtype() != DType::u8 || (shape.rank() != 3 && shape.rank() != 4)) {
    throw Error(fmt::format("[idx] {} holds {}{}, images must be u8 [N,height,width] or [N,height,width,channels]",
                            image_file, name_of(images.dtype()), shape.to_string()));
  }
  if (shape.rank() == 3) images = images.reshaped(Shape{shape[0], shape[1], shape[2], 1});
  if ((stored.dtype() != DType::u8 && stored.dtype() != DType::i32) || stored.shape() != Shape{shape[0]}) {
    throw Error(fmt::format("[idx] {} holds {}{}, labels must be u8 or i32 [{}], one for each image of {}", label_file,
                            name_of(stored.dtype()), stored.shape().to_string(), shape[0], image_file));
  }
  if (arg<bool>(node.args, "transposed")) images = transposed(images);
  const std::int64_t base = arg<std::int64_t>(node.args, "label_base");
  Tensor labels(DType::i32, Shape{shape[0]});
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    const std::int64_t label = static_cast<std::int64_t>(stored.at(i)) - base;
    if (label < 0)
      throw Error(fmt::format("[idx] {}: record {} has the label {}, below the label base {}", label_file, i,
                              stored.at(i), base));
    labels.data<std::int32_t>()[i] = static_cast<std::int32_t>(label);
  }
  return std::make_unique<TensorSource>(
      "[idx] " + image_file, Tensors{{kImageColumn, images}, {kLabelColumn, labels}},
      TensorFacts{.files = {image_file, label_file}, .class_names = arg<Texts>(node.args, "class_names")});
}

}  // namespace

SourceEntry idx_source() {
  return {.op = "idx",
          .doc = "a pair of idx files, plain or gzipped",
          .args = {place_arg("images", "u8 [N,H,W] or [N,H,W,C]"), place_arg("labels", "u8 or i32 [N]"),
                   count_arg("label_base", "number that is subtracted from stored labels"),
                   flag_arg("transposed", "images are stored transposed: exchange rows and columns", false),
                   texts_arg("class_names", "names by label")},
          .check =
              [](const Node& node) {
                not_empty(node, "images");
                not_empty(node, "labels");
                check_label_base(node);
              },
          .open = open_idx};
}

}  // namespace ridgeline::data
