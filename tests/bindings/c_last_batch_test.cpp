// The rows of a batch are samples and nothing else, unless batches of equal size are requested.
#include <algorithm>
#include <numeric>
#include <vector>

#include "bindings/c/ridgeline_data.h"
#include "tests/data/helpers.h"

namespace ridgeline::data::testing {
namespace {

#define EXPECT_OK(call) EXPECT_EQ(call, RIDGELINE_OK) << ridgeline_last_error()

struct Rows {
  std::vector<std::int64_t> rows, samples, real;  // one per batch
  std::vector<std::int32_t> labels;               // over the rows whose mask is 1
};

Rows rows_of(ridgeline_iterator* it) {
  Rows all;
  ridgeline_batch* batch = nullptr;
  while (ridgeline_iterator_next(it, -1, &batch) == RIDGELINE_OK) {
    ridgeline_batch_info info;
    ridgeline_column image, label, mask;
    EXPECT_OK(ridgeline_batch_get_info(batch, &info));
    EXPECT_OK(ridgeline_batch_column(batch, "image", &image));
    EXPECT_OK(ridgeline_batch_column(batch, "label", &label));
    EXPECT_OK(ridgeline_batch_column(batch, "mask", &mask));
    EXPECT_EQ(image.shape[0], info.rows);
    EXPECT_EQ(image.bytes, static_cast<std::size_t>(info.rows) * 8 * 8 * 3);
    const auto* real = static_cast<const std::uint8_t*>(mask.data);
    all.rows.push_back(info.rows);
    all.samples.push_back(info.samples);
    all.real.push_back(std::count(real, real + info.rows, 1));
    for (std::int64_t i = 0; i < info.rows; ++i) {
      if (real[i]) all.labels.push_back(static_cast<const std::int32_t*>(label.data)[i]);
    }
    EXPECT_OK(ridgeline_batch_free(batch));
  }
  return all;
}

TEST(CLastBatch, HoldsItsSamplesAloneUnlessPaddingIsAskedFor) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 3, 7);
  write_bytes(folder + "/class_b/999.jpg", "no image", 8);
  ridgeline_dataset* dataset = nullptr;
  EXPECT_OK(ridgeline_dataset_from_json(ImageFolder(folder).map(Resize({8, 8})).batch(4).to_json().c_str(), &dataset));
  ridgeline_options o;
  EXPECT_OK(ridgeline_options_init(&o));
  EXPECT_EQ(o.pad_last, 0);
  o.bad_samples = "skip";
  for (const int pad : {0, 1}) {
    o.pad_last = pad;
    ridgeline_iterator* it = nullptr;
    EXPECT_OK(ridgeline_iterator_create(dataset, &o, &it));
    const Rows all = rows_of(it);
    // 22 files, one of which is not an image.
    EXPECT_EQ(std::accumulate(all.real.begin(), all.real.end(), std::int64_t{0}), 21);
    for (const int label : {0, 1, 2}) EXPECT_EQ(std::count(all.labels.begin(), all.labels.end(), label), 7);
    EXPECT_EQ(all.rows, pad ? std::vector<std::int64_t>(6, 4) : all.real);
    EXPECT_EQ(all.samples, pad ? (std::vector<std::int64_t>{4, 4, 4, 4, 4, 2}) : all.real);
    EXPECT_OK(ridgeline_iterator_free(it));
  }
  EXPECT_OK(ridgeline_dataset_free(dataset));
}

}  // namespace
}  // namespace ridgeline::data::testing
