// Every precision mode trains: repeated on one batch, the loss decreases as in f32.
#include <gtest/gtest.h>

#include <cmath>

#include "ridgeline/core/file.h"
#include "ridgeline/format/text/json_lines.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/small_run.h"

namespace ridgeline::train {
namespace {

std::vector<double> losses(const std::string& mode) {
  Recipe r = small_run(testing::temporary_directory() + "/" + mode, 12, 1000);
  r.batch_size = 8;
  r.save_summary_steps = 1;
  r.iterations_per_loop = 1;
  r.warmup_epochs = 0;
  r.lr = 0.02;
  r.label_smoothing = 0;
  r.do_checkpoint = false;
  r.precision.mode = mode;
  const TrainingResult result = train(r);
  EXPECT_NE(read_file(result.log_path).find("precision " + mode + ": "), std::string::npos);
  std::vector<double> all;
  for (const auto& line : read_json_lines(result.metrics_path)) all.push_back(std::get<double>(line.at("loss")));
  return all;
}

TEST(PrecisionModes, EachOneTrainsLikeF32) {
  std::vector<double> expected;
  for (const PrecisionMode& mode : precision_modes()) {
    SCOPED_TRACE(mode.name);
    const std::vector<double> got = losses(std::string(mode.name));
    ASSERT_EQ(got.size(), 12u);
    if (expected.empty()) expected = got;  // the first mode changes nothing
    EXPECT_LT(got.back(), 0.5 * got.front());
    EXPECT_NEAR(got.front(), expected.front(), 0.02 * expected.front());
    EXPECT_NEAR(got.back(), expected.back(), 0.1 * expected.front());
    const bool changes = mode.rewrite != PrecisionRewrite::none && mode.rewrite != PrecisionRewrite::where_needed;
    EXPECT_EQ(got == expected, !changes) << "a mode that does nothing, or one that does what it should not";
  }
}

}  // namespace
}  // namespace ridgeline::train
