#include "ridgeline/infer/preprocess.h"

#include <gtest/gtest.h>

#include "ridgeline/core/bytes.h"
#include "ridgeline/core/file.h"
#include "ridgeline/data/api/dataset.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/data/runtime/iterator.h"
#include "ridgeline/data/standard/data_dir.h"
#include "ridgeline/data/standard/standard_pipeline.h"
#include "ridgeline/infer/predictor.h"
#include "tests/infer/support.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::infer {
namespace {

TEST(Preprocess, GivesThePixelsOfTheDataEngine) {
  const std::string root = testing::temporary_directory() + "/preprocess";
  data::make_shapes(root, {.seed = 4, .train = 10, .val = 10});
  const std::vector<std::string> files = glob_files(root + "/val/*/*");
  ASSERT_EQ(files.size(), 10u);
  const EvaluationTransform transforms[] = {{ResizeRule::exact, 37, 32},
                                            {ResizeRule::short_side, 37, 32},
                                            {ResizeRule::short_side, 29, 29},
                                            {ResizeRule::exact, 8, 8},
                                            {ResizeRule::exact, 64, 64}};
  for (const EvaluationTransform& transform : transforms) {
    data::StandardPipeline pipeline{.image_size = transform.crop, .batch_size = 10, .resize = {transform.resize}};
    pipeline.normalize = false;
    if (transform.rule == ResizeRule::exact) pipeline.resize.push_back(transform.resize);
    const data::Dataset dataset = data::evaluation_pipeline(data::open_source(root, "val", {}), pipeline);
    data::Iterator iterator(dataset, {.pull = true});
    const Tensor expected = iterator.next()->image();
    Preprocessor preprocessor(transform);
    ASSERT_EQ(expected.byte_size(), 10 * preprocessor.result_bytes());
    Tensor pixels(DType::u8, expected.shape());
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::string file = read_file(files[i]);
      preprocessor.run(as_bytes(file), pixels.data<std::uint8_t>() + i * preprocessor.result_bytes());
    }
    EXPECT_TRUE(same_bits(pixels, expected)) << transform.resize << " " << transform.crop;
  }
}

TEST(Preprocess, SizesThatMakeNoSenseAreRefused) {
  EXPECT_EQ(error_of([] { Preprocessor({ResizeRule::exact, 8, 9}); }),
            "[preprocess] resize 8 and crop 9; 1 <= crop <= resize <= 2^20 is meant");
  EXPECT_NE(error_of([] { Preprocessor({ResizeRule::exact, 8, 0}); }), "");
  EXPECT_NE(error_of([] { Preprocessor({ResizeRule::exact, 2 << 20, 1}); }), "");
  const std::string no_image = "GIF89a..............";
  std::uint8_t out[3];
  EXPECT_NE(error_of([&] { Preprocessor({ResizeRule::exact, 1, 1}).run(as_bytes(no_image), out); }).find("GIF"),
            std::string::npos);
}

}  // namespace
}  // namespace ridgeline::infer
