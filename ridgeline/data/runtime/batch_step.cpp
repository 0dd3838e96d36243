#include "ridgeline/data/runtime/batch_step.h"

#include <cstring>

#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/runtime/steps/nested_plan.h"
#include "ridgeline/image/mix.h"

namespace ridgeline::data {
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

// op(T* first, count) on the given rows of a column as if they lay side by side.
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

// MixUp draws Beta(alpha, alpha), CutMix what image::draw_cutmix does. A single sample stays.
class Mix : public BatchStep {
 public:
  Mix(const Transform& t, const Schema& schema, std::uint64_t seed)
      : key_(philox_key(seed, t.name)),
        alpha_(arg<double>(t.args, "alpha")),
        cut_(t.op == "cutmix"),
        image_(index_of(schema, "image")),
        label_(index_of(schema, "label")) {}

  void run(std::vector<Tensor>& columns, std::int64_t samples, std::uint64_t epoch,
           std::uint64_t index) const override {
    const Rows rows = real_rows(columns, samples);
    if (rows.size() < 2) return;
    SampleRandom random(key_, epoch, index);
    Tensor& images = columns[image_];
    if (!cut_) {
      const double lambda = image::draw_beta(alpha_, alpha_, random);
      mix(images, rows, lambda);
      mix(columns[label_], rows, lambda);
      return;
    }
    const image::Size size{static_cast<int>(images.shape()[1]), static_cast<int>(images.shape()[2])};
    const int channels = static_cast<int>(images.shape()[3]);
    const image::CutMix drawn = image::draw_cutmix(alpha_, size, random);
    on_numbers(images, rows,
               [&](auto* data, std::int64_t count) { image::cut_and_paste(data, count, size, channels, drawn.box); });
    mix(columns[label_], rows, drawn.lambda);
  }

 private:
  static std::size_t index_of(const Schema& schema, const char* name) {
    const Column* column = find_column(schema, name);
    RIDGELINE_CHECK(column != nullptr, "the schema rule has looked for it");
    return static_cast<std::size_t>(column - schema.data());
  }

  PhiloxKey key_;
  double alpha_;
  bool cut_;
  std::size_t image_, label_;
};

class NestedBatch : public BatchStep {
 public:
  NestedBatch(const Transform& t, const Schema& schema, std::uint64_t seed) : key_(philox_key(seed, t.name)), plan_(t) {
    for (const Transform& operation : t.operations) steps_.push_back(make_batch_step(operation, schema, seed));
  }
  void run(std::vector<Tensor>& columns, std::int64_t samples, std::uint64_t epoch,
           std::uint64_t index) const override {
    SampleRandom random(key_, epoch, index);
    for (const std::size_t i : plan_.draw(random)) steps_[i]->run(columns, samples, epoch, index);
  }

 private:
  PhiloxKey key_;
  NestedPlan plan_;
  std::vector<std::unique_ptr<BatchStep>> steps_;
};

}  // namespace

std::unique_ptr<BatchStep> make_batch_step(const Transform& t, const Schema& schema, std::uint64_t seed) {
  if (t.op == "mixup" || t.op == "cutmix") return std::make_unique<Mix>(t, schema, seed);
  if (transform_entry(t.op).nests) return std::make_unique<NestedBatch>(t, schema, seed);
  throw InternalError("no step for batch operation " + t.op);
}

}  // namespace ridgeline::data
