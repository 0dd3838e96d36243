// Whole models compared with published results, by command line.
#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ridgeline/core/file.h"
#include "ridgeline/image/png/png.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;
using testing::Outcome;

// The first `count` numbers of "var labels=[6, 9, ...]" after `skip`.
std::vector<int> labels_of(const std::string& text, std::size_t skip, std::size_t count) {
  std::vector<int> labels;
  const char* at = text.data() + text.find('[') + 1;
  const char* end = text.data() + text.size();
  while (at < end && labels.size() < skip + count) {
    int label = 0;
    const auto parsed = std::from_chars(at, end, label);
    if (parsed.ec == std::errc{}) labels.push_back(label);
    at = parsed.ec == std::errc{} ? parsed.ptr : at + 1;
  }
  labels.erase(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(skip));
  return labels;
}

// The first 1,000 test images of CIFAR-10, exactly: row r of a 1024 x 1000 image is image r.
void write_cifar_validation(const std::string& pack, const std::string& directory) {
  const std::string file = read_file(pack + "/cifar10/lossless/cifar10_batch_50.png");
  const image::Image rows = image::decode_png({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
  const std::vector<int> labels = labels_of(read_file(pack + "/cifar10/lossless/cifar10_labels.js"), 50000, 1000);
  ASSERT_EQ(labels.size(), 1000u);
  ASSERT_EQ(rows.height(), 1000);
  for (int i = 0; i < 1000; ++i) {
    const std::string folder = directory + "/val/" + std::to_string(labels[static_cast<std::size_t>(i)]);
    fs::create_directories(folder);
    const image::ImageView picture{rows.data() + static_cast<std::ptrdiff_t>(i) * 1024 * 3, 32, 32, 3, 32 * 3};
    const std::vector<std::uint8_t> png = image::encode_png(picture);
    char name[32];
    std::snprintf(name, sizeof name, "/%04d.png", i);
    std::ofstream(folder + name, std::ios::binary)
        .write(reinterpret_cast<const char*>(png.data()), static_cast<std::streamsize>(png.size()));
  }
}

TEST(KnownAnswers, ResNet20ClassifiesExactly915OfAThousandAndGivesThePublishedLogits) {
  const std::string pack = testing::pack_a();
  if (pack.empty()) GTEST_SKIP() << "RIDGELINE_TEST_DATA is not set";
  const std::string directory = testing::temporary_directory() + "/cifar";
  write_cifar_validation(pack, directory);
  const std::string weights = pack + "/derived/resnet20-cifar10.safetensors";
  const Outcome evaluation = testing::run_shell(testing::program() + " evaluate --model resnet20 --restore_path " +
                                                weights + " --data_dir " + directory);
  ASSERT_EQ(evaluation.code, 0) << evaluation.text;
  EXPECT_NE(evaluation.text.find("Validation dataset size: 1000"), std::string::npos) << evaluation.text;
  EXPECT_NE(evaluation.text.find("    0    0.0  91.500  "), std::string::npos) << evaluation.text;

  const Outcome prediction =
      testing::run_shell(testing::program() + " predict --logits --model resnet20 --restore_path " + weights + " " +
                         directory + "/val/3/0000.png");
  ASSERT_EQ(prediction.code, 0) << prediction.text;
  constexpr std::array<double, 10> kLogits{-5.3097, -0.4958, 0.8773,  23.7305, -4.1050,
                                           4.4637,  -0.2343, -5.4179, -3.7118, -9.8822};
  std::istringstream numbers(prediction.text.substr(prediction.text.find('\n') + 1));
  for (double expected : kLogits) {
    double logit = 0;
    ASSERT_TRUE(numbers >> logit) << prediction.text;
    EXPECT_NEAR(logit, expected, 1e-3);
  }
  fs::remove_all(directory);
}

TEST(KnownAnswers, RecordsOfPlainGreysAreLearnedToTheLast) {
  const std::string pack = testing::pack_a();
  if (pack.empty()) GTEST_SKIP() << "RIDGELINE_TEST_DATA is not set";
  const std::string log = testing::temporary_directory() + "/greys";
  const Outcome outcome =
      testing::run_shell(testing::program() +
                         " train --model=resnet20 --num_classes=10 --batch_size=32 --max_epochs=12 --warmup_epochs=1" +
                         " --lr=0.05 --epochs_between_evals=100 --save_summary_steps=32 --log_dir=" + log +
                         " --data_dir=" + pack + "/tfrecord/tf-benchmarks-fake-imagenet");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("labels: stored from 0 on (--label_base=auto)"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find("validation: 100.0 % of 128 images"), std::string::npos) << outcome.text;
  fs::remove_all(log);
}

}  // namespace
}  // namespace ridgeline
