#include "ridgeline/infer/predictor.h"

#include <gtest/gtest.h>

#include "ridgeline/core/file.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/graph/op/evaluate.h"
#include "tests/infer/support.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::infer {
namespace {

TEST(BatchSize, TheGraphOfAnotherBatchIsTheOneThatWouldHaveBeenBuilt) {
  for (const nn::ModelInfo& info : nn::all_models()) {
    for (const std::int64_t size : {std::int64_t{info.image_size}, std::int64_t{nn::smallest_image_size(info)},
                                    std::int64_t{nn::smallest_image_size(info) + 70}}) {
      nn::StepOptions options{.model = &info, .batch_size = 1, .image_size = size};
      const Graph one = nn::build_prediction_step(options).graph;
      options.batch_size = 5;
      const Graph five = nn::build_prediction_step(options).graph;
      EXPECT_TRUE(with_batch_size(one, 5) == five) << info.name << " " << size;
      EXPECT_TRUE(with_batch_size(five, 1) == one) << info.name << " " << size;
    }
  }
}

TEST(BatchSize, WhatDoesNotFollowIsRefused) {
  const auto refused = [](const char* text) { return error_of([&] { with_batch_size(parse_graph(text), 4); }); };
  EXPECT_NE(refused("graph @g(%x: f32[2,3]) {\n  %0 = reduce_sum(%x) : f32[]\n  return %0\n}\n")
                .find("reduce_sum (reduce_sum) does not follow another number of rows"),
            std::string::npos);
  EXPECT_NE(refused("graph @g(%x: f32[2,3], %y: f32[3,3]) {\n  return %x\n}\n").find("one first extent"),
            std::string::npos);
  EXPECT_NE(refused("graph @g(%x: f32[2,3], %w: param f32[2,3]) {\n  %0 = add(%x, %w) : f32[2,3]\n  return %0\n}\n"),
            "");
  EXPECT_NE(refused("graph @g(%x: f32[2,3], %w: state f32[3]) {\n  %0 = add(%w, %w) : f32[3]\n  update %w = %0\n"
                    "  return %0\n}\n")
                .find("is fixed"),
            std::string::npos);
}

TEST(Predictor, AnyNumberOfImagesAndRowsGivesTheSameClasses) {
  const Model model = drawn_model("resnet20", 5, 32);
  const Tensor pixels = drawn_pixels({7, 32, 32, 3});
  Predictor one(model, {.batch_size = 1}), three(model, {.batch_size = 3});
  const Prediction a = one.predict(pixels), b = three.predict(pixels);
  ASSERT_EQ(a.logits.shape(), (Shape{7, 5}));
  ASSERT_EQ(b.logits.shape(), (Shape{7, 5}));
  Arguments arguments = {{"images", pixels}};
  for (const NamedTensor& t : model.tensors) arguments[t.name] = t.tensor;
  const std::vector<Tensor> reference = evaluate_returns(with_batch_size(model.graph, 7), arguments);
  for (std::int64_t i = 0; i < 35; ++i) {
    EXPECT_NEAR(a.logits.at(i), reference[1].at(i), 1e-4) << i;
    EXPECT_NEAR(b.logits.at(i), reference[1].at(i), 1e-4) << i;
    EXPECT_NEAR(b.probabilities.at(i), reference[0].at(i), 1e-5) << i;
  }
  EXPECT_EQ(error_of([&] { one.predict(Tensor::zeros(DType::u8, {1, 31, 32, 3})); }),
            "[predict] images are u8[1,31,32,3], the model takes u8[1,32,32,3], with any number of rows");
}

TEST(Predictor, WhatCannotPredictIsRefused) {
  Model model = drawn_model("linear", 3, 4);
  model.graph.returns.pop_back();
  EXPECT_EQ(error_of([&] { Predictor p(model); }), "[predict] the model returns no logits");
  model = drawn_model("linear", 3, 4);
  model.preprocessing.reset();
  Predictor tensors_only(model);
  const std::string path = testing::temporary_directory() + "/x.png";
  write_file_atomically(path, "no image");
  EXPECT_EQ(error_of([&] { tensors_only.predict_file(path); }),
            "[predict] the model has no preprocessing: give it tensors");
  Predictor whole(drawn_model("linear", 3, 4));
  EXPECT_NE(error_of([&] { whole.predict_file(path); }).find(path), std::string::npos);
  const std::uint8_t bytes[] = {1, 2, 3};
  const std::span<const std::uint8_t> images[] = {bytes};
  EXPECT_EQ(error_of([&] { whole.predict(images); }).rfind("image 0: ", 0), 0u);
}

}  // namespace
}  // namespace ridgeline::infer
