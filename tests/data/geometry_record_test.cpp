// The column image_geometry records what was done to the image, independent of passes; and the transforms for
// detection, whose boxes follow.
#include <map>
#include <set>

#include "helpers.h"
#include "ridgeline/data/pass/passes.h"

namespace ridgeline::data::testing {
namespace {

// Black images of 40x60 with one white object each, its box and its label.
Dataset boxed_rows(std::int64_t n) {
  Tensor images = Tensor::zeros(DType::u8, Shape{n, 40, 60, 3}), boxes(DType::f32, Shape{n, 2, 4});
  Tensor labels(DType::i32, Shape{n, 2});
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = 0; k < 2; ++k) {
      const std::int64_t top = 4 + i + 14 * k, left = 6 + 2 * i + 24 * k, bottom = top + 12, right = left + 16;
      for (std::int64_t y = top; y < bottom; ++y) {
        for (std::int64_t x = left; x < right; ++x) images.data<std::uint8_t>()[((i * 40 + y) * 60 + x) * 3 + k] = 255;
      }
      float* box = boxes.data<float>() + (i * 2 + k) * 4;
      box[0] = static_cast<float>(top) / 40, box[1] = static_cast<float>(left) / 60;
      box[2] = static_cast<float>(bottom) / 40, box[3] = static_cast<float>(right) / 60;
      labels.data<std::int32_t>()[i * 2 + k] = static_cast<std::int32_t>(10 * i + k);
    }
  }
  return InMemory({{"image", images}, {"boxes", boxes}, {"box_labels", labels}});
}

std::string told_of(const Sample& sample) { return std::string(sample.column("image_geometry").string_values().at(0)); }

std::string told_after(std::vector<Transform> transforms) {
  transforms.insert(transforms.begin(), RecordGeometry());
  return told_of(replay(boxed_rows(1).map(std::move(transforms)), 0, 0));
}

TEST(RecordedGeometry, SaysWhatEachStepDid) {
  EXPECT_EQ(told_after({}), "size 40 60\n");
  EXPECT_EQ(told_after({Pad({1, 2, 3, 4}), Resize(20), CenterCrop(18)}),
            "size 40 60\npad 1 2 3 4\nresize 20 27\ncenter_crop 18 18\n");
  EXPECT_EQ(told_after({Pad({2}, {.padding_mode = "reflect"}), Crop(-1, 3, {30, 31})}),
            "size 40 60\npad_reflect 2 2 2 2\ncrop -1 3 30 31\n");
  EXPECT_EQ(told_after({RandomHorizontalFlip(1), RandomVerticalFlip(1), RandomHorizontalFlip(0)}),
            "size 40 60\nhorizontal_flip\nvertical_flip\n");
  EXPECT_EQ(told_after({Rotate(12.5, {.expand = true, .center = {{3, 4.5}}})}), "size 40 60\nrotate 12.5 1 3 4.5\n");
  EXPECT_EQ(told_after({Affine({.angle = 3, .translate = {1, -2}, .scale = 0.1, .shear = {4, 5}})}),
            "size 40 60\naffine 3 1 -2 0.1 4 5\n");
  EXPECT_EQ(
      told_after({RandomApply({NoteGeometry("here"), RandomVerticalFlip(1)}, 1), Invert(), Normalize::imagenet()}),
      "size 40 60\nnote here\nvertical_flip\n");
  EXPECT_EQ(told_after({RandomCrop(40, {.padding = 2})}).substr(0, 28), "size 40 60\npad 2 2 2 2\ncrop ");
  EXPECT_EQ(told_after({RandomCrop({40, 60})}), "size 40 60\n");
  EXPECT_EQ(told_after({RandomPerspective({.p = 1})}).substr(0, 23), "size 40 60\nperspective ");
}

TEST(RecordedGeometry, IsTheSameWithEveryPassLeftOutAndWithAnyWorkers) {
  const TempDir dir;
  const Dataset folder = ImageFolder(write_folders(dir / "train", 2, 6));
  const std::vector<Dataset> all{
      folder.map(RecordGeometry(), RandomResizedCrop(16), RandomHorizontalFlip(), Normalize::imagenet()).batch(4),
      folder.map(RecordGeometry()).map(Resize(24), CenterCrop(20)).shuffle().map(RandomHorizontalFlip()).batch(4),
      folder.map(Resize(30)).map(RecordGeometry(), RandomCrop(20, {.padding = 4}), RandomVerticalFlip()).batch(4)};
  for (const Dataset& data : all) {
    for (const bool raw : {false, true}) {
      Iterator reference(data, {.epochs = 2, .raw_images = raw, .pull = true});
      const std::uint64_t expected = digest(reference);
      for (const Pass& pass : passes(raw)) {
        if (pass.required) continue;
        Iterator it(data, {.epochs = 2, .raw_images = raw, .pull = true, .disabled_passes = {pass.name}});
        EXPECT_EQ(digest(it), expected) << "without " << pass.name;
      }
      Iterator threads(data, {.workers = 3, .epochs = 2, .raw_images = raw});
      EXPECT_EQ(digest(threads), expected);
    }
  }
}

TEST(RecordedGeometry, RefusesWhatItHasNoWordsFor) {
  const Dataset data = boxed_rows(2);
  EXPECT_ERROR(data.map(RecordGeometry(), RandAugment()), "[rand_augment] moves pixels in ways that image_geometry");
  EXPECT_ERROR(data.map(RecordGeometry()).map(RecordGeometry()), "there is already a column 'image_geometry'");
  EXPECT_ERROR(data.map(NoteGeometry("a")), "[note_geometry] belongs behind record_geometry");
  EXPECT_ERROR(data.map(RecordGeometry(), NoteGeometry("a\nb")), "[note_geometry] text must be one line");
  EXPECT_ERROR(data.map_columns({"boxes"}, {RecordGeometry()}),
               "[record_geometry] belongs into a map of the column image");
}

// Checks that this white object is where its box says; false: nothing of it is left.
bool object_is_framed(const Sample& sample, std::int64_t row, std::int64_t object, double slack) {
  const Tensor &image = sample.column("image"), &boxes = sample.column("boxes");
  const std::int64_t height = image.shape()[0], width = image.shape()[1];
  double seen[4] = {1e9, 1e9, -1, -1};
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      if (image.data<std::uint8_t>()[(y * width + x) * 3 + object] < 128) continue;
      const auto down = static_cast<double>(y), across = static_cast<double>(x);
      seen[0] = std::min(seen[0], down), seen[1] = std::min(seen[1], across);
      seen[2] = std::max(seen[2], down + 1), seen[3] = std::max(seen[3], across + 1);
    }
  }
  for (int s = 0; s < 4 && seen[2] >= 0; ++s) {
    const double got = std::clamp(boxes.at(row * 4 + s), 0.0, 1.0) * static_cast<double>(s % 2 ? width : height);
    EXPECT_NEAR(got, seen[s], slack) << row << " " << object << " " << s;
  }
  return seen[2] >= 0;
}

TEST(DetectionTransforms, BoxesFollowTheZoomAndTheRandomSizes) {
  for (const Transform& t :
       {RandomZoomOut({.side_range = {1, 3}, .p = 1, .fill = 9}), RandomShortestSize({60, 80}, 100),
        RandomResize(50, 90), ScaleJitter({90, 90}, {.scale_range = {0.9, 1.5}})}) {
    const Dataset data = boxed_rows(4).map(t);
    std::set<std::int64_t> heights;
    for (std::uint64_t i = 0; i < 12; ++i) {
      const Sample sample = replay(data, i / 4, i % 4);
      heights.insert(sample.column("image").shape()[0]);
      for (std::int64_t k = 0; k < 2; ++k)
        EXPECT_TRUE(object_is_framed(sample, k, k, t.op == "random_zoom_out" ? 1e-3 : 1.6)) << t.op;
    }
    EXPECT_GT(heights.size(), 1u) << t.op;
  }
  const Sample limited = replay(boxed_rows(1).map(RandomShortestSize({60}, 66)), 0, 0);
  EXPECT_EQ(limited.column("image").shape(), (Shape{44, 66, 3}));
}

TEST(DetectionTransforms, IoUCropsHoldTheMiddleOfABoxAndDropTheOthers) {
  const Dataset data = boxed_rows(4).map(RecordGeometry(), RandomIoUCrop({.options = {0.0, 0.3}}));
  std::map<std::size_t, int> kept;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Sample sample = replay(data, i / 4, i % 4);
    const Tensor &boxes = sample.column("boxes"), &labels = sample.column("box_labels");
    ASSERT_EQ(labels.elements(), boxes.shape()[0]);
    ASSERT_GE(labels.elements(), 1);
    ++kept[static_cast<std::size_t>(labels.elements())];
    for (std::int64_t row = 0; row < labels.elements(); ++row)
      EXPECT_TRUE(object_is_framed(sample, row, labels.data<std::int32_t>()[row] % 10, 1e-3));
    EXPECT_EQ(told_of(sample).find("iou_crop "), 11u);
  }
  EXPECT_EQ(kept.size(), 2u);  // both, and one of them
  const Dataset as_it_is = boxed_rows(1).map(RecordGeometry(), RandomIoUCrop({.options = {1.0}}));
  EXPECT_EQ(told_of(replay(as_it_is, 0, 0)), "size 40 60\n");
}

TEST(DetectionTransforms, NameTheirErrors) {
  const Dataset data = boxed_rows(2), bare = rows_in_memory(2);
  EXPECT_ERROR(bare.map(RandomIoUCrop()), "[random_iou_crop] needs a column boxes f32[?,4] beside the image");
  EXPECT_ERROR(data.map(RandomIoUCrop({.min_scale = 0})), "[random_iou_crop] needs 0 < min_scale");
  EXPECT_ERROR(data.map(RandomIoUCrop({.options = {}})), "[random_iou_crop] there are no options");
  EXPECT_ERROR(data.map(RandomZoomOut({.side_range = {0.5, 2}})),
               "[random_zoom_out] side_range is 0.5, it must be at least 1");
  EXPECT_ERROR(data.map(RandomZoomOut({.side_range = {3, 2}})), "[random_zoom_out] side_range goes from 3 down to 2");
  EXPECT_ERROR(data.map(RandomShortestSize({})), "[random_shortest_size] min_size has no numbers");
  EXPECT_ERROR(data.map(RandomResize(9, 9)), "[random_resize] min_size is 9, it must be less than max_size 9");
  EXPECT_ERROR(data.map(ScaleJitter({8, 8}, {.scale_range = {0, 1}})), "[scale_jitter] needs 0 < least");
  for (const Transform& t :
       {RandomZoomOut({.side_range = {1e9, 1e9}, .p = 1}), ScaleJitter({60, 40}, {.scale_range = {1e9, 1e9}})})
    EXPECT_ERROR(replay(data.map(t), 0, 0), "an image of 40x60 becomes 40000000000x60000000000, sides must be 1 to");
  EXPECT_ERROR(replay(data.map(RandomResize(65534, 65535)), 0, 0), "an image of 40x60 becomes 65534x98301");
  const Dataset empty = InMemory(
      {{"image", Tensor::zeros(DType::u8, Shape{1, 8, 8, 3})}, {"boxes", Tensor::zeros(DType::f32, Shape{1, 0, 4})}});
  EXPECT_ERROR(replay(empty.map(RandomIoUCrop({.options = {0.0}})), 0, 0), "no crop was found for its 0 boxes");
}

}  // namespace
}  // namespace ridgeline::data::testing
