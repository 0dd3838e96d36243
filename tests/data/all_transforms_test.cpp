// Properties of every transform: replay, workers, JSON, errors, options, and samples that no pass may change.
#include <cmath>
#include <set>

#include "pictures.h"
#include "ridgeline/data/ir/registry.h"
#include "ridgeline/data/pass/passes.h"
#include "transform_rows.h"

namespace ridgeline::data::testing {
namespace {

// The transforms of the rows that work on images only, separated into random and other ones.
std::vector<Transform> transforms_that_run(bool random) {
  std::vector<Transform> all;
  for (const TransformRow& row : transform_rows()) {
    if (row.run && is_random(*row.run) == random) all.push_back(*row.run);
  }
  return all;
}

TEST(AllTransforms, HaveARowInTheTestsEach) {
  for (const TransformEntry& entry : transform_table()) {
    const TransformRow* row = transform_row(entry.op);
    ASSERT_TRUE(row) << entry.op << " has no row in transform_rows.h";
    const bool of_boxes = entry.op == "clip_boxes" || entry.op == "random_iou_crop";
    const bool of_any_size =
        std::set<std::string>{"random_zoom_out", "random_shortest_size", "random_resize", "scale_jitter"}.contains(
            entry.op);
    const bool alone = entry.needs_pixels && !entry.made_by_pass && !of_boxes && !of_any_size;
    EXPECT_TRUE(row->run || !alone) << "the row of " << entry.op << " does not run it";
    EXPECT_TRUE(!row->run || row->run->op == entry.op) << entry.op << " runs " << row->run->op;
  }
  std::set<std::string> once;
  for (const TransformRow& row : transform_rows()) {
    EXPECT_NO_THROW(transform_entry(row.op));
    EXPECT_TRUE(once.insert(row.op).second) << row.op << " has two rows";
  }
}

// The entry of every transform says how it runs: on samples, on batches, or (if made of other transforms) on both.
TEST(AllTransforms, SayHowTheyRun) {
  for (const TransformEntry& entry : transform_table()) {
    EXPECT_EQ(entry.step != nullptr, !entry.whole_batch) << entry.op;
    EXPECT_EQ(entry.batch_step != nullptr, entry.whole_batch || (entry.nests && !entry.fused_sequence)) << entry.op;
    EXPECT_EQ(entry.fuses.empty(), entry.fuse == nullptr) << entry.op;
    for (const std::string& op : entry.fuses) EXPECT_NO_THROW(transform_entry(op)) << entry.op;
  }
}

TEST(AllTransforms, AloneReplayRunAndJsonAgree) {
  const Pictures pictures;
  std::vector<Transform> all = transforms_that_run(true);
  for (const Transform& t : transforms_that_run(false)) all.push_back(t);
  for (const Transform& t : all) {
    const Dataset data = ImageFolder(pictures.folder).map(Resize({26, 25}), t).batch(4).with_seed(9);
    Iterator reference(data, {.epochs = 2, .pull = true});
    const std::uint64_t expected = digest(reference);
    const Dataset back = Dataset::from_json(data.to_json());
    EXPECT_EQ(back.hash(), data.hash()) << t.op;
    Iterator again(back, {.workers = 2, .epochs = 2});
    EXPECT_EQ(digest(again), expected) << t.op;
    Iterator batches(data, {.epochs = 2, .pull = true});
    for (std::uint64_t k = 0; k < 4; ++k) {
      const std::optional<Batch> batch = batches.next();
      for (std::uint64_t row = 0; row < (k % 2 ? 2u : 4u); ++row) {
        const Tensor one = replay(data, k / 2, k % 2 * 4 + row).column("image");
        const auto* place = static_cast<const char*>(batch->column("image").raw()) + row * one.byte_size();
        EXPECT_EQ(std::memcmp(place, one.raw(), one.byte_size()), 0) << t.op;
      }
    }
  }
}

TEST(AllTransforms, TogetherDoNotDependOnWorkersOrPasses) {
  const TempDir dir;
  const Dataset folder = ImageFolder(write_folders(dir / "train", 2, 10));
  std::vector<Transform> transforms = transforms_that_run(true);
  for (const Transform& t : {Normalize::imagenet().transform, RandomErasing({.noise = true})}) transforms.push_back(t);
  const Dataset data = folder.shuffle().map(transforms).batch(6).with_seed(4);
  Iterator reference(data, {.epochs = 3, .pull = true});
  const std::uint64_t expected = digest(reference);
  for (const int workers : {1, 2, 7}) {
    Iterator it(data, {.workers = workers, .epochs = 3});
    EXPECT_EQ(digest(it), expected) << workers;
  }
  Iterator other(data.with_seed(5), {.epochs = 3, .pull = true});
  EXPECT_NE(digest(other), expected);
}

TEST(AllTransforms, GiveTheSameSamplesWithAnyPassLeftOut) {
  const TempDir dir;
  const Dataset folder = ImageFolder(write_folders(dir / "train", 2, 8));
  const std::vector<Dataset> all{
      folder.map(Compose({RandomResizedCrop(16), RandomHorizontalFlip(), Normalize::imagenet()})).batch(3),
      folder.map(Resize(20, {.size_rule = "mindata"}), CenterCrop(18)).map(ColorJitter({.hue = 0.1})).batch(4),
      folder.map(Resize(20, {.interpolation = "opencv_linear"}), CenterCrop(18), RandomErasing()).batch(4),
      folder.map(RandomApply({RandomResizedCrop(16)}, 1), CenterCrop(16), RandomHorizontalFlip()).batch(4),
      folder.map(RandAugment(), RandomResizedCrop(16))
          .shuffle()
          .map(RandomVerticalFlip(), RandomHorizontalFlip())
          .batch(4),
      folder.map(Pad({2}), Resize(20), CenterCrop(18), RandomHorizontalFlip(), GaussianBlur(3), RandomHorizontalFlip())
          .batch(4)
          .skip(1)};
  for (const Dataset& data : all) {
    for (const bool raw : {false, true}) {
      Iterator reference(data, {.epochs = 2, .raw_images = raw, .pull = true});
      const std::uint64_t expected = digest(reference);
      for (const Pass& pass : passes(raw)) {
        if (pass.required) continue;
        Iterator it(data, {.epochs = 2, .raw_images = raw, .pull = true, .disabled_passes = {pass.name}});
        EXPECT_EQ(digest(it), expected) << "without " << pass.name;
      }
    }
  }
  // The following transform prevents the tail from being split off.
  const Dataset tail =
      folder.map(Resize({8, 8}), RandomHorizontalFlip(), Normalize::imagenet(), RandomErasing(), HWC2CHW()).batch(4);
  Iterator fused(tail, {.pull = true}), plain(tail, {.pull = true, .disabled_passes = {"fuse_write"}});
  EXPECT_EQ(digest(fused), digest(plain));
  EXPECT_ERROR(Iterator(tail, {.raw_images = true}), "raw images need Normalize and RandomHorizontalFlip at the end");
}

TEST(AllTransforms, NameTheirErrors) {
  const Dataset data = rows_in_memory(4);
  const std::vector<std::pair<Transform, std::string>> wrong{
      {RandomRotation(-3), "[random_rotation] degrees is -3, it must be at least 0"},
      {RandomRotation({5, 3}), "[random_rotation] degrees goes from 5 down to 3"},
      {RandomRotation({1, 2}, {.interpolation = "bilinar"}),
       "unknown interpolation 'bilinar': did you mean 'bilinear'?"},
      {Rotate(INFINITY), "[rotate] angle must be finite"},
      {Rotate(1, {.fill = 256}), "[rotate] fill is 256, colours are 0 to 255"},
      {Affine({.scale = 0}), "scale"},
      {RandomAffine(5, {.translate = {{0, 1.5}}}), "[random_affine] translate is 1.5, it must be 0 to 1"},
      {RandomAffine(5, {.scale = {{2, 1}}}), "[random_affine] scale and shear must not go down"},
      {RandomAffine(5, {.scale = {{0, 1}}}), "[random_affine] scale is 0, it must be positive"},
      {RandomAffine(5, {.shear = {1, 2, 3}}), "[random_affine] shear has 3 numbers, it must have 0 or 1 or 2 or 4"},
      {RandomPerspective({.distortion_scale = 2}), "[random_perspective] distortion_scale is 2, it must be 0 to 1"},
      {RandomPerspective({.p = -1}), "[random_perspective] p is -1"},
      {Pad({1, 2, 3}), "[pad] padding has 3 numbers, it must have 1 or 2 or 4"},
      {Pad({-1}), "[pad] padding is -1"},
      {Pad({1}, {.padding_mode = "mirror"}), "unknown padding_mode 'mirror'"},
      {Crop(0, 0, 0), "[crop] size is 0"},
      {RandomCrop(8, {.padding = -1}), "[random_crop] padding is -1"},
      {Resize(8, {.size_rule = "tf"}), "unknown size_rule 'tf'"},
      {RandomVerticalFlip(2), "[random_vertical_flip] p is 2"},
      {ColorJitter({.brightness = -1}), "[color_jitter] brightness is -1"},
      {ColorJitter({.contrast = {2, 1}}), "[color_jitter] contrast goes from 2 down to 1"},
      {ColorJitter({.hue = 0.7}), "[color_jitter] hue is 0.7, it must be -0.5 to 0.5"},
      {AdjustHue(0.6), "[adjust_hue] factor is 0.6"},
      {AdjustContrast(-1), "[adjust_contrast] factor is -1, it must be at least 0"},
      {Posterize(9), "[posterize] bits is 9, it must be 0 to 8"},
      {RandomPosterize(-1), "[random_posterize] bits is -1"},
      {RandomSolarize(300), "[random_solarize] threshold is 300, it must be 0 to 255"},
      {Grayscale(2), "[grayscale] channels is 2, it must be 1 or 3"},
      {RandomSharpness({2, 1}), "[random_sharpness] factor goes from 2 down to 1"},
      {GaussianBlur(4), "[gaussian_blur] kernel_size is 4, sides must be odd"},
      {GaussianBlur(3, {.sigma = 0}), "[gaussian_blur] sigma is 0, it must be positive"},
      {RandomErasing({.scale = {0.5, 0.1}}), "[random_erasing] needs 0 <= scale low <= high <= 1"},
      {RandomErasing({.value = {0.5}}), "[random_erasing] value is 0.5, pixels u8 take whole ones of 0 to 255"},
      {CutOut(0), "[cutout] length is 0"},
      {CutOut(3, {.num_patches = 0}), "[cutout] num_patches is 0"},
      {AutoAugment({.policy = "imagnet"}), "unknown policy 'imagnet': did you mean 'imagenet'?"},
      {RandAugment({.magnitude = 31}), "[rand_augment] magnitude is 31, it must be 0 to 30"},
      {TrivialAugmentWide({.num_magnitude_bins = 1}), "[trivial_augment_wide] num_magnitude_bins is 1"}};
  for (const auto& [transform, message] : wrong) EXPECT_ERROR(data.map(transform), message);
  EXPECT_ERROR(data.map(Normalize::imagenet(), Invert()), "[invert] needs an image u8[height,width,channels], it gets");
  const Dataset four = InMemory({{"image", Tensor::zeros(DType::u8, Shape{1, 2, 2, 4})}});
  EXPECT_ERROR(four.map(Invert()), "[invert] needs an image with 1 or 3 channels");
}

TEST(AllTransforms, KnowNoOptionsButTheirOwn) {
  std::string text = rows_in_memory(2).map(RandomInvert(0.25)).to_json();
  text.replace(text.find("\"p\":0.25"), 8, "\"prob\":1");
  EXPECT_ERROR(Dataset::from_json(text), "'args' of random_invert has an unknown key 'prob'");
  std::string nested = rows_in_memory(2).map(RandomApply({RandomInvert(0.25)})).to_json();
  nested.replace(nested.find("\"p\":0.25"), 8, "\"q\":0.25");
  EXPECT_ERROR(Dataset::from_json(nested), "'args' of random_invert has an unknown key 'q'");
  std::string deep = "{\"op\":\"invert\"}";
  for (int i = 0; i < 40; ++i) deep = "{\"op\":\"compose\",\"args\":{\"operations\":[" + deep + "]}}";
  EXPECT_ERROR(Dataset::from_json(R"({"schema":"data-graph","version":1,"nodes":[{"id":"a","op":"image_folder",
      "args":{"dir":"d"}},{"id":"b","op":"map","inputs":["a"],"args":{"operations":[)" +
                                  deep + "]}}],\"outputs\":[\"b\"]}"),
               "operations lie more than 16 deep in each other");
}

template <class Options>
concept HasP = requires { Options{.p = 0.5}; };
static_assert(HasP<RandomErasingOptions> && HasP<RandomPerspectiveOptions>);
static_assert(!HasP<RotationOptions> && !HasP<PadOptions> && !HasP<ColorJitterOptions> && !HasP<CutOutOptions>);

// The defaults of torchvision, both in the front end and in the table.
TEST(AllTransforms, HaveTorchvisionsDefaults) {
  const auto fallback = [](const char* op, const char* name) {
    for (const ArgSpec& spec : transform_entry(op).args) {
      if (spec.name == name) return spec.fallback.value_or(Value{});
    }
    throw InternalError(std::string(op) + " has no " + name);
  };
  for (const Transform& t : {RandomVerticalFlip(),
                             RandomPerspective(),
                             RandomGrayscale(),
                             RandomInvert(),
                             RandomAutoContrast(),
                             RandomEqualize(),
                             RandomErasing(),
                             AutoAugment(),
                             RandAugment(),
                             TrivialAugmentWide(),
                             MixUp(),
                             CutMix(),
                             RandomRotation(1),
                             RandomAffine(1),
                             Affine({}),
                             Rotate(1),
                             Pad({1}),
                             GaussianBlur(3),
                             RandomPosterize(1),
                             RandomSolarize(1),
                             RandomSharpness(1),
                             CutOut(1),
                             Grayscale(),
                             ClipBoxes(),
                             RandomApply({Invert()}),
                             RandomChoice({Invert()}),
                             ColorJitter({}),
                             RandomCrop(1),
                             Crop(0, 0, 1),
                             Resize(1),
                             RandomResizedCrop(1)}) {
    for (const ArgSpec& spec : transform_entry(t.op).args) {
      ASSERT_TRUE(t.args.contains(spec.name)) << t.op << " " << spec.name;
      EXPECT_TRUE(!spec.fallback || t.args.at(spec.name) == *spec.fallback) << t.op << " " << spec.name;
    }
  }
  EXPECT_TRUE(fallback("random_perspective", "interpolation") == Value(std::string("bilinear")));
  EXPECT_TRUE(fallback("random_rotation", "interpolation") == Value(std::string("nearest")));
  EXPECT_TRUE(fallback("random_grayscale", "p") == Value(0.1));
  EXPECT_TRUE(fallback("random_erasing", "scale") == Value(Reals{0.02, 0.33}));
  EXPECT_TRUE(fallback("random_erasing", "ratio") == Value(Reals{0.3, 3.3}));
  EXPECT_TRUE(fallback("gaussian_blur", "sigma") == Value(Reals{0.1, 2.0}));
  EXPECT_TRUE(fallback("rand_augment", "num_ops") == Value(std::int64_t{2}));
  EXPECT_TRUE(fallback("rand_augment", "magnitude") == Value(std::int64_t{9}));
  EXPECT_TRUE(fallback("trivial_augment_wide", "num_magnitude_bins") == Value(std::int64_t{31}));
}

}  // namespace
}  // namespace ridgeline::data::testing
