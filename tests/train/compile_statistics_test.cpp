// --export_compile_stat: what the fusion passes did to the training step, in the format of Ascend's tools.
#include "ridgeline/train/recipe/compile_statistics.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/file.h"
#include "ridgeline/format/text/json_value.h"
#include "ridgeline/graph/pass/passes.h"
#include "ridgeline/train/recipe/trainer.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/small_run.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

// Rows of graph_fusion by pass, and the sum of merged ops that remained.
std::pair<std::size_t, std::int64_t> rows_and_sum(const std::string& text) {
  const JsonValue whole = parse_json(text, "fusion_result.json:");
  const JsonValue* fusion = whole.array()->at(0).find("graph_fusion");
  std::int64_t sum = 0;
  for (const JsonMember& pass : *fusion->object()) sum += std::stoll(*pass.value.find("effect_times")->text());
  return {fusion->object()->size(), sum};
}

TEST(CompileStatistics, AreWrittenAtTheEndOrAtOnceAndChangeNoBit) {
  const std::string root = testing::temporary_directory() + "/statistics";
  fs::remove_all(root);
  const TrainingResult plain = train(small_run(root + "/plain", 2, 2));
  EXPECT_FALSE(fs::exists(root + "/plain/fusion_result.json"));
  for (const int when : {1, 2}) {
    Recipe recipe = small_run(root + "/at" + std::to_string(when), 2, 2);
    recipe.export_compile_stat = when;
    const TrainingResult result = train(recipe);
    EXPECT_EQ(read_file(result.checkpoint_path), read_file(plain.checkpoint_path));
    const auto [rows, merged] = rows_and_sum(read_file(recipe.log_dir + "/fusion_result.json"));
    EXPECT_EQ(rows, fusion_passes().size());
    EXPECT_GT(merged, 50);  // twenty layers, each with a norm and a relu
    const std::string log = read_file(result.log_path);
    EXPECT_EQ(log.find("fusion merged") < log.find("step:"), when == 2);
  }
  Recipe alone = small_run(root + "/alone", 1, 1);
  alone.export_compile_stat = 2;
  alone.fusion = false;
  train(alone);
  EXPECT_EQ(rows_and_sum(read_file(alone.log_dir + "/fusion_result.json")),
            (std::pair<std::size_t, std::int64_t>{0, 0}));
}

}  // namespace
}  // namespace ridgeline::train
