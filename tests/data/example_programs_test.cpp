// The programs of examples/ that use only the data engine do what their comments say.
#include "source_rules.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"

namespace ridgeline::data::testing {
namespace {

ridgeline::testing::Outcome run_example(const std::string& arguments) {
  return ridgeline::testing::run_shell(ridgeline::testing::examples_directory() + "/example_" + arguments);
}

TEST(ExamplePrograms, TheEngineAlonePrintsEpochs) {
  const TempDir dir;
  const auto outcome = run_example("data_engine_alone " + write_folders(dir / "train", 2, 20) + " 2");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("40 images of 2 classes, 2 batches an epoch"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("epoch 1: 2 batches"), std::string::npos) << outcome.text;
  EXPECT_EQ(run_example("data_engine_alone").code, 2);
}

TEST(ExamplePrograms, ACsvBecomesBatches) {
  const TempDir dir;
  write_folders(dir / "train", 1, 5);
  std::string csv = "file,label\n";
  for (int i = 0; i < 5; ++i) csv += "train/class_a/10" + std::to_string(i) + ".jpg," + std::to_string(10 * i) + "\n";
  write_text(dir / "rows.csv", csv);
  const auto outcome = run_example("data_csv_to_batches " + (dir / "rows.csv"));
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("batch 0: 0 10 20 30\nbatch 1: 40\n"), std::string::npos) << outcome.text;
  write_text(dir / "rows.csv", csv + "gone.jpg,1\n");
  const auto bad = run_example("data_csv_to_batches " + (dir / "rows.csv"));
  EXPECT_EQ(bad.code, 1);
  EXPECT_NE(bad.text.find("row 5, line 7: cannot open " + (dir / "gone.jpg")), std::string::npos) << bad.text;
}

TEST(ExamplePrograms, ARunGoesOnWithOtherWorkers) {
  const TempDir dir;
  const auto outcome = run_example("data_resume " + write_folders(dir / "train", 2, 9) + " " + (dir / "state.json"));
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_EQ(outcome.text, "the rest of the run is the same\n");
  EXPECT_TRUE(std::filesystem::exists(dir / "state.json"));
}

}  // namespace
}  // namespace ridgeline::data::testing
