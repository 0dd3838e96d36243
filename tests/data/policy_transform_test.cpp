// The augmentation policies against the functions of image/, and transforms made of other transforms.
#include "pictures.h"
#include "ridgeline/image/augment/policy.h"
#include "ridgeline/image/augment/tone.h"
#include "ridgeline/image/resample/resample.h"

namespace ridgeline::data::testing {
namespace {

image::Image augmented(const image::Image& in, const std::vector<image::AugmentStep>& steps,
                       const image::AugmentOptions& options) {
  image::Image out(in.height(), in.width()), scratch;
  image::apply_augments(in, steps, options, scratch, out.data());
  return out;
}

TEST(PolicyTransforms, DrawAndApplyWhatImageDoes) {
  const Pictures pictures;
  for (std::uint64_t k = 0; k < 24; ++k) {
    const std::uint64_t i = k % 6, epoch = k / 6;
    const image::Image whole = pictures.decoded(i);
    const image::Size size{whole.height(), whole.width()};
    SampleRandom a = Pictures::draws("auto_augment", i, epoch);
    expect_pixels(pictures.through({AutoAugment({.policy = "cifar10", .fill = {1, 2, 3}})}, i, epoch),
                  augmented(whole, image::draw_auto_augment(image::AutoAugmentPolicy::cifar10, size, a),
                            {image::Sampling::nearest, {1, 2, 3}}));
    SampleRandom b = Pictures::draws("rand_augment", i, epoch);
    expect_pixels(
        pictures.through({RandAugment({.num_ops = 3, .magnitude = 5, .interpolation = "bilinear"})}, i, epoch),
        augmented(whole, image::draw_rand_augment({3, 5, 31}, size, b), {image::Sampling::bilinear, {}}));
    SampleRandom c = Pictures::draws("trivial_augment_wide", i, epoch);
    expect_pixels(pictures.through({TrivialAugmentWide()}, i, epoch),
                  augmented(whole, {image::draw_trivial_augment(31, c)}, {}));
  }
}

TEST(NestedTransforms, ComposeIsItsOperations) {
  const Pictures pictures;
  const std::vector<Transform> operations{Resize({16, 12}), RandomHorizontalFlip(), ColorJitter({.hue = 0.2}),
                                          Normalize::imagenet()};
  for (std::uint64_t i = 0; i < 6; ++i) {
    const std::uint64_t plain = digest(pictures.through(operations, i));
    EXPECT_EQ(digest(pictures.through({Compose(operations)}, i)), plain);
    EXPECT_EQ(
        digest(pictures.through({Compose({Compose({operations[0], operations[1]}), operations[2]}), operations[3]}, i)),
        plain);
    // As a branch it stays unchanged.
    EXPECT_EQ(digest(pictures.through({RandomChoice({Compose(operations)})}, i)), plain);
  }
}

TEST(NestedTransforms, DrawTheirPlanAndLeaveTheRestToTheirOperations) {
  const Pictures pictures;
  int applied = 0;
  for (std::uint64_t epoch = 0; epoch < 30; ++epoch) {
    const std::vector<Transform> inside{RandomPosterize(3), RandomAffine(20)};
    SampleRandom apply = Pictures::draws("random_apply", 1, epoch);
    const bool on = apply.uniform() < 0.7;
    applied += on ? 1 : 0;
    EXPECT_EQ(digest(pictures.through({RandomApply(inside, 0.7)}, 1, epoch)),
              digest(on ? pictures.through(inside, 1, epoch) : pictures.through({Pad({0})}, 1, epoch)));
    SampleRandom choose = Pictures::draws("random_choice", 1, epoch);
    const double at = choose.uniform() * 4;
    EXPECT_EQ(digest(pictures.through({RandomChoice(inside, {1, 3})}, 1, epoch)),
              digest(pictures.through({inside[at < 1 ? 0 : 1]}, 1, epoch)));
    SampleRandom order = Pictures::draws("random_order", 1, epoch);
    std::vector<Transform> three{Invert(), RandomPosterize(2), RandomRotation(30)};
    const std::vector<Transform> given = three;
    std::swap(three[2], three[static_cast<std::size_t>(order.integer(0, 2))]);
    std::swap(three[1], three[static_cast<std::size_t>(order.integer(0, 1))]);
    EXPECT_EQ(digest(pictures.through({Resize({8, 9}), RandomOrder(given)}, 1, epoch)),
              digest(pictures.through({Resize({8, 9}), three[0], three[1], three[2]}, 1, epoch)));
  }
  EXPECT_GT(applied, 10);
  EXPECT_LT(applied, 30);
}

TEST(NestedTransforms, BranchesOfDifferentSizesVary) {
  const Dataset rows = rows_in_memory(40);
  EXPECT_EQ(to_string(rows.map(RandomChoice({Resize({5, 6}), Resize({5, 7})})).columns()),
            "image u8[5,?,3], label i32[]");
  EXPECT_EQ(to_string(rows.map(RandomApply({Pad({1})})).columns()), "image u8[?,?,3], label i32[]");
  Iterator it(rows.map(RandomApply({Pad({1})})).batch(40, {.pad = true}), {.pull = true});
  EXPECT_EQ(it.next()->column("image").shape(), (Shape{40, 6, 8, 3}));
  // Without a common size, the last transform cannot write into the batch; with one it can.
  Iterator same(rows.map(RandomChoice({Compose({Pad({1}), CenterCrop({3, 3}), Invert()}), Resize({3, 3})})).batch(40),
                {.pull = true});
  Iterator workers(
      rows.map(RandomChoice({Compose({Pad({1}), CenterCrop({3, 3}), Invert()}), Resize({3, 3})})).batch(40));
  EXPECT_EQ(digest(same), digest(workers));
}

TEST(NestedTransforms, NamesOfWhatTheyHoldAreUniqueAndKept) {
  const DataGraph graph =
      rows_in_memory(3).map(RandomInvert(), RandomApply({RandomInvert(), RandomChoice({RandomInvert()})})).graph();
  const std::vector<Transform>& top = graph.output().operations;
  EXPECT_EQ(top[0].name, "random_invert");
  EXPECT_EQ(top[1].operations[0].name, "random_invert_1");
  EXPECT_EQ(top[1].operations[1].operations[0].name, "random_invert_2");
  EXPECT_EQ(graph_from_json(to_json(graph)), graph);
  Transform named = RandomInvert();
  named.name = "mine";
  const Dataset half = rows_in_memory(3).map(RandomApply({named}));
  EXPECT_EQ(half.graph().output().operations[0].operations[0].name, "mine");
  EXPECT_NE(half.hash(), rows_in_memory(3).map(RandomApply({RandomInvert()})).hash());
  EXPECT_NE(rows_in_memory(3).map(RandomApply({RandomInvert(0.2)})).hash(),
            rows_in_memory(3).map(RandomApply({RandomInvert(0.3)})).hash());
}

TEST(NestedTransforms, RefuseWhatTheyCannotHold) {
  const Dataset rows = rows_in_memory(4);
  EXPECT_ERROR(rows.map(RandomApply({})), "[random_apply] has no operations");
  EXPECT_ERROR(rows.map(Compose({{"decode", {}, ""}})), "[compose] cannot hold decode");
  EXPECT_ERROR(rows.map(RandomApply({{"draw_flip", {}, ""}})), "[random_apply] cannot hold draw_flip");
  EXPECT_ERROR(rows.map(RandomApply({MixUp()})), "[mixup] works on whole batches");
  EXPECT_ERROR(rows.map(RandomApply({RandomInvert(2)})), "[random_invert] p is 2");
  EXPECT_ERROR(rows.map(RandomApply({Invert()}, 7)), "[random_apply] p is 7");
  EXPECT_ERROR(rows.map(RandomChoice({Invert(), Equalize()}, {1})), "[random_choice] has 1 weights for 2 operations");
  EXPECT_ERROR(rows.map(RandomChoice({Invert(), Equalize()}, {0, 0})), "the sum of the weights is 0");
  EXPECT_ERROR(rows.map(RandomChoice({Invert(), Equalize()}, {1, -1})), "weight -1 is negative");
  EXPECT_ERROR(rows.map(RandomApply({Normalize::imagenet()})), "[random_apply] gives different columns");
  EXPECT_ERROR(rows.map(RandomOrder({Invert(), Resize({2, 2})})), "[random_order] resize makes");
  EXPECT_ERROR(rows.map({Transform{"invert", {}, "", {Invert()}}}), "[invert] is not made of operations");
  EXPECT_ERROR(
      replay(rows.map(RandomApply({RandomCrop({30, 30})}, 1)), 0, 0),
      "does not fit into an image of 4x6 with 0 pixels of padding (pad_if_needed makes it fit) (in random_crop) (in "
      "random_apply)");
}

}  // namespace
}  // namespace ridgeline::data::testing
