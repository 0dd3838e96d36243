// Operations on whole batches: MixUp and CutMix against the functions of image/.
#include "helpers.h"
#include "ridgeline/image/augment/mix.h"

namespace ridgeline::data::testing {
namespace {

// Images as u8 or f32, one-hot labels.
Dataset labelled(std::int64_t n, bool floats = false) {
  const Dataset rows = rows_in_memory(n).map_columns({"label"}, {OneHot(n)});
  return floats ? rows.map(Rescale(0.5, 3)) : rows;
}

Batch first(const Dataset& data, IteratorOptions options = {.pull = true}) {
  Iterator it(data, std::move(options));
  return std::move(*it.next());
}

template <class T>
std::vector<T> values(const Tensor& t) {
  return {t.data<T>(), t.data<T>() + t.elements()};
}

TEST(BatchOperations, MixUpIsTheBlendOfImage) {
  for (const bool floats : {false, true}) {
    const Dataset plain = labelled(10, floats).with_seed(5);
    const Dataset mixed = plain.batch(4, {.operations = {MixUp(0.7)}});
    Iterator a(plain.batch(4), {.epochs = 2, .pull = true}), b(mixed, {.epochs = 2, .pull = true});
    for (std::uint64_t batch = 0; batch < 6; ++batch) {
      std::optional<Batch> before = a.next(), after = b.next();
      const std::int64_t real = batch % 3 == 2 ? 2 : 4;  // the last batch has two rows and two of padding
      SampleRandom random(philox_key(5, "mixup"), batch / 3, batch % 3);
      const double lambda = image::draw_beta(0.7, 0.7, random);
      std::vector<float> labels = values<float>(before->column("label"));
      image::mix_samples(labels.data(), real, 10, lambda);
      EXPECT_EQ(values<float>(after->column("label")), labels);
      if (floats) {
        std::vector<float> images = values<float>(before->column("image"));
        image::mix_samples(images.data(), real, 72, lambda);
        EXPECT_EQ(values<float>(after->column("image")), images);
      } else {
        std::vector<std::uint8_t> images = values<std::uint8_t>(before->column("image"));
        image::mix_samples(images.data(), real, 72, lambda);
        EXPECT_EQ(values<std::uint8_t>(after->column("image")), images);
      }
      for (std::int64_t i = real * 10; i < 40; ++i) EXPECT_EQ(after->column("label").at(i), 0);
      for (std::int64_t i = real * 72; i < 4 * 72; ++i) EXPECT_EQ(after->column("image").at(i), 0);
    }
  }
}

TEST(BatchOperations, CutMixPastesTheDrawnBox) {
  const Dataset plain = labelled(6).with_seed(5);
  int cut = 0;
  for (const std::uint64_t seed : {5, 6, 7, 8}) {
    const Batch before = first(plain.with_seed(seed).batch(6)),
                after = first(plain.with_seed(seed).batch(6, {.operations = {CutMix()}}));
    SampleRandom random(philox_key(seed, "cutmix"), 0, 0);
    const image::CutMix drawn = image::draw_cutmix(1, {4, 6}, random);
    cut += drawn.lambda < 1 ? 1 : 0;
    std::vector<std::uint8_t> images = values<std::uint8_t>(before.column("image"));
    image::cut_and_paste(images.data(), 6, {4, 6}, 3, drawn.box);
    EXPECT_EQ(values<std::uint8_t>(after.column("image")), images);
    std::vector<float> labels = values<float>(before.column("label"));
    image::mix_samples(labels.data(), 6, 6, drawn.lambda);
    EXPECT_EQ(values<float>(after.column("label")), labels);
  }
  EXPECT_GT(cut, 0);
}

TEST(BatchOperations, ChoiceDrawsByBatch) {
  const Dataset plain = labelled(300);
  const auto with = [&](std::vector<Transform> operations) {
    Iterator it(plain.batch(3, {.operations = std::move(operations)}), {.pull = true});
    return digests(it);
  };
  const std::vector<std::uint64_t> none = with({}), up = with({MixUp()}), cut = with({CutMix()}),
                                   either = with({RandomChoice({MixUp(), CutMix()})}),
                                   some = with({RandomApply({MixUp()}, 0.3)});
  int ups = 0, applied = 0;
  for (std::size_t i = 0; i < none.size(); ++i) {
    EXPECT_TRUE(either[i] == up[i] || either[i] == cut[i]) << i;
    EXPECT_TRUE(some[i] == up[i] || some[i] == none[i]) << i;
    ups += either[i] == up[i] ? 1 : 0;
    applied += some[i] == up[i] ? 1 : 0;
  }
  EXPECT_NEAR(ups, 50, 22);
  EXPECT_NEAR(applied, 30, 20);
  EXPECT_EQ(with({Compose({MixUp(), CutMix()})}), with({MixUp(), CutMix()}));
}

TEST(BatchOperations, DoNotDependOnWorkers) {
  const Dataset data = labelled(40)
                           .shuffle()
                           .map(RandomHorizontalFlip(), RandomInvert())
                           .batch(7, {.operations = {RandomChoice({MixUp(0.2), CutMix()})}});
  Iterator reference(data, {.epochs = 2, .pull = true});
  const std::uint64_t expected = digest(reference);
  for (const int workers : {1, 2, 7}) {
    Iterator it(data, {.workers = workers, .epochs = 2});
    EXPECT_EQ(digest(it), expected) << workers;
  }
  const Dataset back = Dataset::from_json(data.to_json());
  Iterator it(back, {.epochs = 2, .pull = true});
  EXPECT_EQ(digest(it), expected);
}

TEST(BatchOperations, SkippedRowsStayEmptyAndLeakIntoNoOther) {
  const TempDir dir;
  const std::string folder = write_folders(dir / "train", 1, 6);
  write_bytes(folder + "/class_a/102.jpg", "no picture", 10);
  const Dataset plain = ImageFolder(folder).map(Resize({8, 8})).map_columns({"label"}, {OneHot(3)});
  const auto options = [] { return IteratorOptions{.pull = true, .bad_samples = {.policy = BadSamplePolicy::skip}}; };
  const Batch before = first(plain.batch(6), options());
  const Batch after = first(plain.batch(6, {.operations = {MixUp(5)}}), options());
  SampleRandom random(philox_key(0, "mixup"), 0, 0);
  const double lambda = image::draw_beta(5, 5, random);
  std::vector<std::uint8_t> images = values<std::uint8_t>(before.column("image")), dense;
  ASSERT_EQ(before.mask().at(2), 0);
  constexpr std::ptrdiff_t kSize = 8 * 8 * 3;
  for (std::ptrdiff_t row : {0, 1, 3, 4, 5})
    dense.insert(dense.end(), images.begin() + row * kSize, images.begin() + (row + 1) * kSize);
  image::mix_samples(dense.data(), 5, kSize, lambda);
  dense.insert(dense.begin() + 2 * kSize, kSize, 0);
  EXPECT_EQ(values<std::uint8_t>(after.column("image")), dense);
}

// Raw images are mixed after flips; only Normalize is left to the consumer.
TEST(BatchOperations, MixRawImagesWithTheFlipDone) {
  const Dataset plain = labelled(8).map(RandomHorizontalFlip());
  const Dataset finished = plain.map(Normalize::imagenet());
  for (const Transform& operation : {CutMix(), MixUp(0.7)}) {
    const BatchOptions mixed{.operations = {operation}};
    const Batch bytes = first(plain.batch(8, mixed), {.pull = true});
    Iterator raw(finished.batch(8, mixed), {.raw_images = true, .pull = true});
    EXPECT_FALSE(raw.image_tail().flip);
    EXPECT_TRUE(raw.image_tail().normalize);
    const std::optional<Batch> batch = raw.next();
    ASSERT_TRUE(batch);
    EXPECT_EQ(values<std::uint8_t>(batch->column("image")), values<std::uint8_t>(bytes.column("image")))
        << operation.op;
    EXPECT_EQ(values<float>(batch->column("label")), values<float>(bytes.column("label")));
    EXPECT_EQ(values<std::uint8_t>(batch->column("flip")), std::vector<std::uint8_t>(8, 0));
    // CutMix gives the same result before and after Normalize; MixUp of bytes rounds.
    if (operation.op != "cutmix") continue;
    const Batch floats = first(finished.batch(8, mixed), {.pull = true});
    const image::NormalizeTable table({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225});
    const std::vector<std::uint8_t> pixels = values<std::uint8_t>(batch->column("image"));
    std::vector<float> expected;
    for (std::size_t i = 0; i < pixels.size(); ++i) expected.push_back(table.at(static_cast<int>(i % 3), pixels[i]));
    EXPECT_EQ(values<float>(floats.column("image")), expected);
  }
}

TEST(BatchOperations, SayWhatTheyNeed) {
  const Dataset rows = rows_in_memory(8);
  EXPECT_ERROR(rows.batch(2, {.operations = {MixUp()}}), "[mixup] mixes labels as f32 [classes], it gets label i32[2]");
  EXPECT_ERROR(rows.batch(2, {.operations = {MixUp()}}), "OneHot(classes)");
  EXPECT_ERROR(rows.project({"image"}).batch(2, {.operations = {CutMix()}}),
               "[cutmix] needs the columns image and label");
  EXPECT_ERROR(labelled(8).batch(2, {.operations = {MixUp(0)}}), "[mixup] alpha is 0, it must be positive");
  EXPECT_ERROR(labelled(8).map(MixUp()), "[mixup] works on whole batches: it is an operation of batch, not of map");
  EXPECT_ERROR(labelled(8).batch(2, {.operations = {Invert()}}), "[invert] works on samples");
  EXPECT_ERROR(labelled(8).batch(2, {.operations = {RandomApply({Invert()})}}), "[invert] works on samples");
  EXPECT_ERROR(labelled(8, true).map(HWC2CHW()).batch(2, {.operations = {CutMix()}}), "channels in the last place");
  const Dataset varying = labelled(8).map(RandomApply({Pad({1})}));
  EXPECT_ERROR(varying.batch(2, {.pad = true, .operations = {MixUp()}}), "[mixup] needs images u8 or f32 of one size");
}

}  // namespace
}  // namespace ridgeline::data::testing
