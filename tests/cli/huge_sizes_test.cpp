// Sizes that make no sense or do not fit into memory, in every command that builds a network: a one-line error with the
// reason, and no signal, hang or internal error. A process limited to 4 GB imitates a small machine.
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/nn/models.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

class HugeSizes : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizers need more addresses than the limit leaves";
#endif
  }

  // Exit code 0, 1 or 2 with one line of reason; returns the output.
  static std::string run(const std::string& arguments) {
    const testing::Outcome outcome = testing::run_shell("ulimit -v 4194304; GOMP_SPINCOUNT=1000 timeout -s KILL 100 " +
                                                        testing::program() + " " + arguments);
    EXPECT_TRUE(outcome.code >= 0 && outcome.code <= 2) << outcome.code << ": " << arguments << "\n" << outcome.text;
    EXPECT_EQ(outcome.text.find("internal error"), std::string::npos) << arguments << "\n" << outcome.text;
    const std::size_t last = outcome.text.rfind('\n', outcome.text.size() - 2) + 1;  // of the last line
    EXPECT_TRUE(outcome.code == 0 || outcome.text.compare(last, 9, "ridgeline") == 0) << arguments << "\n"
                                                                                      << outcome.text;
    return outcome.text;
  }
  static std::vector<std::string> commands() {
    const std::string root = testing::temporary_directory();
    const std::string image = root + "/huge/val/circle/00000.jpg";
    if (!std::filesystem::exists(image)) data::make_shapes(root + "/huge", {.seed = 1, .train = 10, .val = 10});
    return {"bench step --steps=1 ",
            "train --synthetic --mode=train --max_train_steps=1 --do_checkpoint=False --log_dir=" + root + "/log ",
            // A file that contains no weights: depending on the size, its error or the one about memory comes first.
            "predict " + image + " --restore_path=" + image + " "};
  }
};

TEST_P(HugeSizes, OfImagesAreRefusedWithAReason) {
  for (const std::string& command : commands()) {
    for (const char* size : {"1", "2", "3", "31", "65536", "2147483647", "9223372036854775807"}) {
      const std::string batch = command.starts_with("predict") ? "" : " --batch_size=1";
      const std::string said =
          run(command + "--model=" + GetParam() + " --num_classes=10 --image_size=" + size + batch);
      const std::string reason = command.starts_with("predict") ? "ridgeline"
                                 : std::string(size) == "65536" ? "ridgeline: [memory] "
                                 : std::string(size).size() > 5 ? "is too large"
                                                                : "";
      EXPECT_NE(said.find(reason), std::string::npos) << said;
    }
  }
}

TEST_P(HugeSizes, OfBatchesAndClassesAreRefusedWithAReason) {
  for (const std::string& command : commands()) {
    const std::string base = command + "--model=" + GetParam();
    run(base + " --num_classes=1");
    if (command.starts_with("predict")) continue;
    for (const char* classes : {"2147483647", "9223372036854775807"}) {
      const std::string said = run(base + " --num_classes=" + classes);
      EXPECT_TRUE(said.find("[memory]") != std::string::npos || said.find("any memory") != std::string::npos) << said;
    }
    run(base + " --num_classes=10 --batch_size=65536");  // the size of the smallest models that is just too large
    for (const char* batch : {"2147483647", "9223372036854775807"}) {
      const std::string said = run(base + " --num_classes=10 --batch_size=" + batch);
      EXPECT_TRUE(said.find("[memory]") != std::string::npos || said.find("any memory") != std::string::npos) << said;
    }
  }
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const nn::ModelInfo& model : nn::all_models()) names.emplace_back(model.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Of, HugeSizes, ::testing::ValuesIn(model_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace ridgeline
