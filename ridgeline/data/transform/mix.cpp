#include "ridgeline/data/transform/mix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ridgeline/data/sample/batch_step.h"
#include "ridgeline/data/transform/rules.h"
#include "ridgeline/image/augment/mix.h"

namespace ridgeline::data {

Transform MixUp(double alpha) { return {"mixup", {{"alpha", alpha}}, ""}; }
Transform CutMix(double alpha) { return {"cutmix", {{"alpha", alpha}}, ""}; }

namespace {

using Rows = std::vector<std::int64_t>;

// Those with a sample: neither the padding of a last batch nor skipped ones.
Rows real_rows(const std::vector<Tensor>& columns, std::int64_t samples) {
  Rows rows;
  const auto* mask = columns.back().data<std::uint8_t>();
  for (std::int64_t row = 0; row < samples; ++row) {
    if (mask[row]) rows.push_back(row);
  }
  return rows;
}

// op(T* first, count) on the given rows of a column as if they were contiguous.
template <class T, class Operation>
void on_rows(Tensor& column, const Rows& rows, Operation op) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::int64_t size = column.elements() / column.shape()[0];
  T* data = column.data<T>();
  if (rows.back() == count - 1) {  // no gaps
    op(data, count);
    return;
  }
  const auto bytes = static_cast<std::size_t>(size) * sizeof(T);
  std::vector<T> dense(static_cast<std::size_t>(count * size));
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(dense.data() + i * size, data + rows[static_cast<std::size_t>(i)] * size, bytes);
  op(dense.data(), count);
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(data + rows[static_cast<std::size_t>(i)] * size, dense.data() + i * size, bytes);
}

// op on u8 or f32.
template <class Operation>
void on_numbers(Tensor& column, const Rows& rows, Operation op) {
  if (column.dtype() == DType::f32)
    on_rows<float>(column, rows, op);
  else
    on_rows<std::uint8_t>(column, rows, op);
}

void mix(Tensor& column, const Rows& rows, double lambda) {
  const std::int64_t size = column.elements() / column.shape()[0];
  on_numbers(column, rows, [&](auto* data, std::int64_t count) { image::mix_samples(data, count, size, lambda); });
}

// What both share: the columns, and which rows are mixed. A single sample stays.
class Mixing : public BatchStep {
 public:
  Mixing(const Transform& t, const Schema& schema, std::uint64_t seed)
      : alpha_(arg<double>(t.args, "alpha")),
        key_(philox_key(seed, t.name)),
        image_(index_of(schema, kImageColumn)),
        label_(index_of(schema, kLabelColumn)) {}
  void run(std::vector<Tensor>& columns, std::int64_t samples, std::uint64_t epoch,
           std::uint64_t index) const override {
    const Rows rows = real_rows(columns, samples);
    if (rows.size() < 2) return;
    SampleRandom random(key_, epoch, index);
    mix(columns[label_], rows, mix_images(columns[image_], rows, random));
  }

 protected:
  // Returns the share of a sample itself in what it becomes.
  virtual double mix_images(Tensor& images, const Rows& rows, SampleRandom& random) const = 0;
  double alpha_;

 private:
  static std::size_t index_of(const Schema& schema, const char* name) {
    const Column* column = find_column(schema, name);
    RIDGELINE_CHECK(column != nullptr, "the schema rule has looked for it");
    return static_cast<std::size_t>(column - schema.data());
  }

  PhiloxKey key_;
  std::size_t image_, label_;
};

// Draws Beta(alpha, alpha).
class MixUpStep : public Mixing {
 public:
  using Mixing::Mixing;

 private:
  double mix_images(Tensor& images, const Rows& rows, SampleRandom& random) const override {
    const double lambda = image::draw_beta(alpha_, alpha_, random);
    mix(images, rows, lambda);
    return lambda;
  }
};

// Draws what image::draw_cutmix does.
class CutMixStep : public Mixing {
 public:
  using Mixing::Mixing;

 private:
  double mix_images(Tensor& images, const Rows& rows, SampleRandom& random) const override {
    const image::Size size{static_cast<int>(images.shape()[1]), static_cast<int>(images.shape()[2])};
    const int channels = static_cast<int>(images.shape()[3]);
    const image::CutMix drawn = image::draw_cutmix(alpha_, size, random);
    on_numbers(images, rows,
               [&](auto* data, std::int64_t count) { image::cut_and_paste(data, count, size, channels, drawn.box); });
    return drawn.lambda;
  }
};

template <class T>
std::unique_ptr<BatchStep> make_mixing(const Transform& t, const Schema& schema, std::uint64_t seed) {
  return std::make_unique<T>(t, schema, seed);
}

// ---- rules

ArgSpec alpha_arg() {
  return {.name = "alpha",
          .type = ArgType::real,
          .doc = "alpha of Beta(alpha, alpha), from which the shares are drawn; small values: mostly one sample",
          .fallback = 1.0};
}

void check_alpha(const Transform& t) {
  const double alpha = arg<double>(t.args, "alpha");
  if (alpha <= 0) throw Error(fmt::format("[{}] alpha is {}, it must be positive", t.op, alpha));
}

Schema mixed_schema(const Transform& t, Schema schema, const Columns&) {
  const Column *image = find_column(schema, kImageColumn), *label = find_column(schema, kLabelColumn);
  if (!image || !label)
    throw Error(fmt::format("[{}] needs the columns image and label, it gets {}", t.op, to_string(schema)));
  const std::vector<std::int64_t>& dims = image->shape.dims();
  const bool fixed = std::none_of(dims.begin() + (dims.empty() ? 0 : 1), dims.end(),
                                  [](std::int64_t extent) { return extent == kVaries; });
  if ((image->dtype != DType::u8 && image->dtype != DType::f32) || dims.size() != 4 || !fixed)
    throw Error(fmt::format("[{}] needs images u8 or f32 of one size, it gets {}", t.op, to_string({*image})));
  if (label->dtype != DType::f32 || label->shape.rank() != 2 || label->shape[1] == kVaries) {
    throw Error(
        fmt::format("[{}] mixes labels as f32 [classes], it gets {}: put map_columns({{\"label\"}}, "
                    "{{OneHot(classes)}}) before batch",
                    t.op, to_string({*label})));
  }
  return schema;
}

// Rectangles refer to the pixels of the image: channels first would be read wrongly.
Schema cutmix_schema(const Transform& t, Schema schema, const Columns& columns) {
  schema = mixed_schema(t, std::move(schema), columns);
  const Column& image = *find_column(schema, kImageColumn);
  if (image.shape[3] != 1 && image.shape[3] != 3) {
    throw Error(fmt::format("[{}] needs channels in the last place, it gets {}: leave out hwc_to_chw before batch",
                            t.op, to_string({image})));
  }
  return schema;
}

}  // namespace

std::vector<TransformEntry> mix_transforms() {
  return {
      {.op = "mixup",
       .doc = "mixup: blends each sample and its one-hot label with the previous sample of the batch",
       .args = {alpha_arg()},
       .needs_pixels = false,
       .random = true,
       .whole_batch = true,
       .check = check_alpha,
       .schema = mixed_schema,
       .batch_step = make_mixing<MixUpStep>},
      {.op = "cutmix",
       .doc = "CutMix: copies a rectangle of the previous sample of the batch into each sample and weights the labels "
              "by area",
       .args = {alpha_arg()},
       .needs_pixels = false,
       .random = true,
       .whole_batch = true,
       .check = check_alpha,
       .schema = cutmix_schema,
       .batch_step = make_mixing<CutMixStep>},
  };
}

}  // namespace ridgeline::data
