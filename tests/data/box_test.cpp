// The column boxes follows the geometry of the column image: if objects are drawn inside the boxes, the boxes still
// frame them afterwards.
#include "helpers.h"
#include "ridgeline/image/boxes.h"

namespace ridgeline::data::testing {
namespace {

constexpr std::int64_t kSide = 64;

// Black images with two white rectangles each and the boxes around them: fractions of top, left, bottom, right.
Dataset framed(std::int64_t n) {
  Tensor images = Tensor::zeros(DType::u8, Shape{n, kSide, kSide, 3}), boxes(DType::f32, Shape{n, 2, 4});
  Tensor labels(DType::i32, Shape{n, 2});
  for (std::int64_t i = 0; i < n; ++i) {
    SampleRandom random(philox_key(7, "framed"), 0, static_cast<std::uint64_t>(i));
    for (std::int64_t k = 0; k < 2; ++k) {
      // The first object is in the left half and red, the second in the right half and green.
      const std::int64_t top = random.integer(12, 25), bottom = top + random.integer(12, 24);
      const std::int64_t left = k * 32 + random.integer(4, 10), right = left + random.integer(10, 16);
      for (std::int64_t y = top; y < bottom; ++y) {
        for (std::int64_t x = left; x < right; ++x)
          images.data<std::uint8_t>()[((i * kSide + y) * kSide + x) * 3 + k] = 255;
      }
      const std::int64_t sides[4] = {top, left, bottom, right};
      for (std::int64_t s = 0; s < 4; ++s)
        boxes.data<float>()[(i * 2 + k) * 4 + s] = static_cast<float>(sides[s]) / static_cast<float>(kSide);
      labels.data<std::int32_t>()[i * 2 + k] = static_cast<std::int32_t>(10 * i + k);
    }
  }
  return InMemory({{"image", images}, {"boxes", boxes}, {"box_labels", labels}});
}

// The bounding box of the pixels of object k, in whole pixels.
std::array<double, 4> seen(const Tensor& image, std::int64_t k) {
  std::array<double, 4> box{1e9, 1e9, -1, -1};
  const std::int64_t height = image.shape()[0], width = image.shape()[1];
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      if (image.data<std::uint8_t>()[(y * width + x) * 3 + k] < 128) continue;
      const auto row = static_cast<double>(y), column = static_cast<double>(x);
      box = {std::min(box[0], row), std::min(box[1], column), std::max(box[2], row + 1), std::max(box[3], column + 1)};
    }
  }
  return box;
}

void expect_framed(const Dataset& data, double slack, bool around = false) {
  for (std::uint64_t i = 0; i < 12; ++i) {
    const Sample sample = replay(data, i % 3, i % 4);
    const Tensor &image = sample.column("image"), &boxes = sample.column("boxes");
    ASSERT_EQ(boxes.shape(), (Shape{2, 4}));
    const double extents[2] = {static_cast<double>(image.shape()[0]), static_cast<double>(image.shape()[1])};
    for (std::int64_t k = 0; k < 2; ++k) {
      const std::array<double, 4> wanted = seen(image, k);
      if (wanted[2] < 0) continue;  // cropped away
      for (std::int64_t s = 0; s < 4; ++s) {
        // Parts outside the image cannot be found in it.
        const double got = std::clamp(boxes.at((k * 4) + s), 0.0, 1.0) * extents[s % 2];
        const double want = wanted[static_cast<std::size_t>(s)];
        if (around)
          EXPECT_TRUE(s < 2 ? got <= want + slack : got >= want - slack) << i << " " << k << " " << s;
        else
          EXPECT_NEAR(got, want, slack) << i << " " << k << " " << s;
      }
    }
  }
}

TEST(Boxes, FollowTheImage) {
  const Dataset data = framed(4);
  expect_framed(data, 0);
  expect_framed(data.map(RandomHorizontalFlip(1)), 1e-4);
  expect_framed(data.map(RandomHorizontalFlip(0.5), RandomVerticalFlip(0.5)), 1e-4);
  expect_framed(data.map(Pad({1, 2, 3, 4})), 1e-4);
  expect_framed(data.map(Crop(3, 5, {50, 48})), 1e-4);
  expect_framed(data.map(Crop(-3, -5, {80, 90})), 1e-4);
  expect_framed(data.map(CenterCrop({40, 44})), 1e-4);
  expect_framed(data.map(CenterCrop({90, 44})), 1e-4);
  expect_framed(data.map(RandomCrop({40, 40}, {.padding = 6})), 1e-4);
  expect_framed(data.map(RandomCrop({80, 40}, {.pad_if_needed = true})), 1e-4);
  expect_framed(data.map(Resize({96, 80})), 1.0);
  expect_framed(data.map(RandomResizedCrop({60, 70}, {.scale = {0.5, 1}})), 1.6);
  expect_framed(data.map(Rotate(90)), 1e-4);
  expect_framed(data.map(Rotate(270, {.expand = true})), 1e-4);
  expect_framed(data.map(Affine({.translate = {5, -3}})), 1e-4);
  expect_framed(data.map(Affine({.scale = 0.5})), 1.0);
  expect_framed(data.map(RandomRotation(20)), 1.0, true);
  expect_framed(data.map(RandomAffine(10, {.translate = {{0.05, 0.05}}, .scale = {{0.8, 1.1}}, .shear = {5}})), 1.0,
                true);
  expect_framed(data.map(RandomPerspective({.distortion_scale = 0.4, .p = 1})), 1.5, true);
  expect_framed(data.map(RandAugment({.num_ops = 3})), 1.5, true);
  expect_framed(data.map(RandomApply({RandomHorizontalFlip(1), Pad({2})}), CenterCrop({60, 60})), 1e-4);
  expect_framed(data.map(RandomChoice({Rotate(90), RandomVerticalFlip(1)})), 1e-4);
}

TEST(Boxes, StayWhereOnlyColoursChange) {
  const Dataset data = framed(3);
  const Tensor before = replay(data, 0, 1).column("boxes");
  const Dataset changed =
      data.map(ColorJitter({.brightness = 0.2}), GaussianBlur(3), RandomErasing({.p = 1}), Normalize::imagenet());
  EXPECT_EQ(digest(replay(changed, 0, 1).column("boxes")), digest(before));
}

TEST(Boxes, AreTheSameWithEveryPassLeftOutAndForRawImages) {
  const TempDir dir;
  const Dataset folder = ImageFolder(write_folders(dir / "train", 2, 6));
  Tensor boxes(DType::f32, Shape{12, 2, 4});
  for (std::int64_t i = 0; i < boxes.elements(); ++i)
    boxes.data<float>()[i] = static_cast<float>(i % 4 < 2 ? 0.1 : 0.6) + static_cast<float>(i % 17) * 0.01f;
  const Dataset data = zip({folder, InMemory({{"boxes", boxes}})});
  const std::vector<Dataset> all{
      data.map(RandomResizedCrop(16), RandomHorizontalFlip(), Normalize::imagenet()).batch(4),
      data.map(Resize(24), CenterCrop(20)).shuffle().map(Normalize::imagenet(), RandomHorizontalFlip()).batch(4),
      data.map(RandomHorizontalFlip(), RandomResizedCrop(16)).map(RandomHorizontalFlip()).batch(4),
      data.map(Resize(24), RandomCrop(20), ClipBoxes(), RandomHorizontalFlip()).batch(4, {.pad = true})};
  for (const Dataset& one : all) {
    std::vector<std::uint64_t> boxes_of[2];
    for (const bool raw : {false, true}) {
      std::vector<std::string> disabled{""};
      for (const char* pass : {"fuse_decode_crop", "fuse_write", "fuse_chains", "push_down"}) disabled.push_back(pass);
      std::uint64_t reference = 0;
      for (const std::string& pass : disabled) {
        IteratorOptions options{.epochs = 2, .raw_images = raw, .pull = true};
        if (!pass.empty()) options.disabled_passes = {pass};
        Iterator it(one, options);
        std::uint64_t sum = 0, of_boxes = 0;
        while (const std::optional<Batch> batch = it.next()) {
          of_boxes = digest(batch->column("boxes"), of_boxes);
          sum = digest(batch->column("image"), of_boxes);
        }
        if (pass.empty()) {
          reference = sum;
          boxes_of[raw ? 1 : 0].push_back(of_boxes);
        }
        EXPECT_EQ(sum, reference) << "without " << pass;
      }
    }
    EXPECT_EQ(boxes_of[0], boxes_of[1]);  // the consumer flips the images, but not the boxes
  }
}

TEST(Boxes, OfRawImagesAreFlippedByTheDrawnFlip) {
  const Dataset data = framed(40).map(RandomHorizontalFlip()).batch(40);
  Iterator it(data, {.raw_images = true, .pull = true});
  const std::optional<Batch> batch = it.next();
  const Tensor boxes = batch->column("boxes"), flip = batch->column("flip");
  int flipped = 0;
  for (std::int64_t i = 0; i < 40; ++i) {
    const Tensor before = replay(framed(40), 0, static_cast<std::uint64_t>(i)).column("boxes");
    const bool on = flip.at(i) != 0;
    flipped += on ? 1 : 0;
    EXPECT_NEAR(boxes.at(i * 8 + 1), on ? 1 - before.at(3) : before.at(1), 1e-6);
  }
  EXPECT_GT(flipped, 8);
  EXPECT_LT(flipped, 32);
}

TEST(Boxes, SmallOnesAreDroppedWithTheirLabels) {
  const Dataset data = framed(4).map(Crop(0, 0, {64, 32}), ClipBoxes());
  EXPECT_EQ(to_string(data.columns()), "image u8[64,32,3], boxes f32[?,4], box_labels i32[?]");
  for (std::uint64_t i = 0; i < 4; ++i) {
    const Sample sample = replay(data, 0, i);
    ASSERT_EQ(sample.column("boxes").shape(), (Shape{1, 4}));  // the second object is in the right half
    EXPECT_EQ(sample.column("box_labels").at(0), static_cast<double>(10 * i));
    EXPECT_LE(sample.column("boxes").at(3), 1.0);
  }
  const Dataset none = framed(4).map(ClipBoxes({.min_area = 4000}));
  EXPECT_EQ(replay(none, 0, 0).column("boxes").shape(), (Shape{0, 4}));
  EXPECT_EQ(replay(none, 0, 0).column("box_labels").shape(), Shape{0});
  const Dataset share = framed(4).map(Crop(0, 40, {64, 24}), ClipBoxes({.min_share = 0.99}));
  for (std::uint64_t i = 0; i < 4; ++i) {
    const Tensor labels = replay(share, 0, i).column("box_labels"), whole = replay(framed(4), 0, i).column("boxes");
    EXPECT_EQ(labels.elements(), whole.at(5) * 64 >= 40 ? 1 : 0);
  }
}

TEST(Boxes, SeveralColumnsDrawTheSame) {
  // min_object_covered uses the boxes, so both columns must be transformed with the boxes from before the crop.
  Tensor images(DType::u8, Shape{8, 40, 40, 3});
  for (std::int64_t i = 0; i < images.elements(); ++i)
    images.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 11);
  Tensor boxes(DType::f32, Shape{8, 1, 4});
  for (std::int64_t i = 0; i < 8; ++i) {
    const float sides[4] = {0.6f, 0.6f, 0.8f, 0.9f};
    std::copy(sides, sides + 4, boxes.data<float>() + i * 4);
  }
  const Dataset data = InMemory({{"image", images}, {"mask", images}, {"boxes", boxes}});
  const Dataset both =
      data.map_columns({"image", "mask"}, {RandomHorizontalFlip(), RandomVerticalFlip(), RandomRotation(30),
                                           RandomAffine(10), RandomResizedCrop(20, {.min_object_covered = 0.9}),
                                           RandomCrop(18), RandomApply({Pad({2})}), CenterCrop({16, 16})});
  for (std::uint64_t i = 0; i < 8; ++i) {
    const Sample sample = replay(both, 1, i);
    EXPECT_EQ(digest(sample.column("image")), digest(sample.column("mask")));
  }
  const Dataset mask_first = data.map_columns({"mask", "image"}, {RandomHorizontalFlip(1)});
  EXPECT_NEAR(replay(mask_first, 0, 0).column("boxes").at(1), 0.1, 1e-6);
  // A map of only the mask does not change the boxes.
  EXPECT_NEAR(replay(data.map_columns({"mask"}, {RandomHorizontalFlip(1)}), 0, 0).column("boxes").at(1), 0.6, 1e-6);
}

TEST(Boxes, SteerTheCropFromWhereAFlipHasLeftThem) {
  const Dataset data = framed(6).with_seed(3);
  for (std::uint64_t i = 0; i < 6; ++i) {
    const Tensor before = replay(data, 0, i).column("boxes");
    std::vector<image::ObjectBox> boxes;
    for (std::int64_t k = 0; k < 2; ++k) {
      const auto side = [&](std::int64_t s) { return static_cast<float>(before.at(k * 4 + s)); };
      boxes.push_back({side(0), side(1), side(2), side(3)});
    }
    image::flip_boxes_horizontal(boxes);
    SampleRandom random(philox_key(3, "random_resized_crop"), 0, i);
    const image::Box box =
        image::random_resized_crop({kSide, kSide}, {.scale_high = 0.4, .min_object_covered = 0.9}, random, boxes);
    image::crop_boxes(boxes, {kSide, kSide}, box);
    const Tensor after = replay(data.map(RandomHorizontalFlip(1),
                                         RandomResizedCrop(20, {.scale = {0.08, 0.4}, .min_object_covered = 0.9})),
                                0, i)
                             .column("boxes");
    EXPECT_EQ(after.at(1), static_cast<double>(boxes[0].xmin));
    EXPECT_EQ(after.at(6), static_cast<double>(boxes[1].ymax));
  }
}

TEST(Boxes, AMaskIsResizedInAMapOfItsOwn) {
  Tensor images(DType::u8, Shape{4, 30, 20, 3}), masks(DType::u8, Shape{4, 30, 20, 1});
  for (std::int64_t i = 0; i < masks.elements(); ++i) {
    const auto inside = static_cast<std::uint8_t>((i / 20) % 30 > 12 && i % 20 > 9 ? 200 : 10);
    masks.data<std::uint8_t>()[i] = inside;
    for (std::int64_t c = 0; c < 3; ++c) images.data<std::uint8_t>()[i * 3 + c] = inside;
  }
  const Dataset data = InMemory({{"image", images}, {"mask", masks}})
                           .map(Resize({60, 40}, {.interpolation = "nearest"}), AdjustBrightness(1))
                           .map_columns({"mask"}, {Resize({60, 40}, {.interpolation = "nearest"})})
                           .map_columns({"image", "mask"}, {RandomHorizontalFlip(), RandomCrop({33, 22})});
  EXPECT_EQ(to_string(data.columns()), "image u8[33,22,3], mask u8[33,22,1]");
  for (std::uint64_t i = 0; i < 4; ++i) {
    const Sample sample = replay(data, 2, i);
    for (std::int64_t k = 0; k < 33 * 22; ++k)
      ASSERT_EQ(sample.column("image").at(k * 3), sample.column("mask").at(k)) << i << " " << k;
  }
}

TEST(Boxes, ErrorsSayWhatIsMissing) {
  const Dataset data = framed(2);
  EXPECT_ERROR(rows_in_memory(2).map(ClipBoxes()), "[clip_boxes] needs a column boxes f32[?,4]");
  EXPECT_ERROR(data.map_columns({"box_labels"}, {ClipBoxes()}), "[clip_boxes]");
  EXPECT_ERROR(data.map(ClipBoxes({.min_share = 2})), "[clip_boxes] min_share is 2");
  Tensor labels(DType::i32, Shape{2, 3});
  const Dataset wrong = zip({data.project({"image", "boxes"}), InMemory({{"box_labels", labels}})});
  EXPECT_ERROR(replay(wrong.map(ClipBoxes()), 0, 0), "2 boxes have 3 box_labels");
}

TEST(Boxes, AFilterOnThemWaitsForTheImage) {
  register_predicate("left_of_middle", [](const Tensor& boxes) { return boxes.at(1) < 0.5; });
  const Dataset data = framed(30).map(RandomHorizontalFlip()).filter(passes("boxes", "left_of_middle"));
  const Dataset more = data.map(Normalize::imagenet()).batch(5);
  Iterator reference(more, {.pull = true, .disabled_passes = {"push_down", "fuse_chains", "fuse_write"}});
  Iterator it(more, {.pull = true});
  EXPECT_EQ(digest(it), digest(reference));
}

}  // namespace
}  // namespace ridgeline::data::testing
