// Image formats, 16-bit grey and rotated images in the commands that read images; and balanced classes on several
// ranks.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "ridgeline/core/file.h"
#include "ridgeline/data/make/make_shapes.h"
#include "tests/support/cases.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

using testing::case_path;
using testing::expect;

std::string in_temporary(const std::string& name) { return testing::temporary_directory() + "/" + name; }

// Runs two steps on a folder of test cases and returns the folder of its checkpoint.
std::string trained_on(const std::string& folder, const std::string& more) {
  const std::string log_dir = in_temporary("formats_" + std::to_string(std::hash<std::string>()(folder + more)));
  expect(testing::run(
             "train --mode=train --max_epochs=1 --max_train_steps=2 --model=resnet20 --batch_size=4 --num_workers=1 "
             "--bad_samples=skip --data_dir=" +
             folder + " --log_dir=" + log_dir + " " + more),
         0, {"step:     2"});
  return log_dir;
}

TEST(PictureFormats, WebpAndBmpAreReadAndOthersNamed) {
  SKIP_WITHOUT_CASES();
  const std::string folder = case_path("other-formats");
  expect(testing::run("dataset inspect --deep --data_dir=" + folder), 1,
         {"BMP 2", "WebP 2", "gif.jpg: [decode] not a JPEG, PNG, WebP or BMP: GIF", "BMP: HEIC", "BMP: AVIF",
          "lfs.jpg: [decode] is a Git LFS pointer, not the picture itself: run git lfs pull",
          "3 images are not what their names say"});
  const std::string log_dir = trained_on(folder, "");
  const testing::Outcome predicted =
      testing::run("predict --checkpoint_dir=" + log_dir + " --format=csv --top=1 " + folder + "/train/b/x0.webp " +
                   folder + "/train/b/x1.bmp " + folder + "/train/b/x3.tif");
  expect(predicted, 1, {"x0.webp,1,", "x1.bmp,1,", "x3.tif: [decode] not a JPEG, PNG, WebP or BMP: TIFF"});
  const std::string packed = in_temporary("formats.ridge");
  expect(testing::run("dataset pack --split=train --data_dir=" + folder + " --out=" + packed), 0,
         {"19 images", "5 left out"});
}

TEST(PictureFormats, GreyOf16BitsIsCountedAndNotWhite) {
  SKIP_WITHOUT_CASES();
  expect(testing::run("dataset inspect --data_dir=" + case_path("png16")), 0,
         {"3 images are of 16 bits a channel, of which the upper 8 are used"});
}

TEST(PictureFormats, TurnedPicturesAreCountedAndTurnedWhereThatIsAskedFor) {
  SKIP_WITHOUT_CASES();
  const std::string folder = case_path("exif"), lying = folder + "/train/a/exif6.jpg";
  expect(testing::run("dataset inspect --data_dir=" + folder), 1, {"2 images are stored lying or mirrored"});
  const std::string log_dir = trained_on(folder, "--exif_orientation=apply");
  // Predictions use the setting of the training.
  const std::string predict = "predict --format=csv --checkpoint_dir=" + log_dir + " " + lying;
  const std::string as_trained = testing::run(predict).text;
  EXPECT_EQ(testing::run(predict + " --exif_orientation=apply").text, as_trained);
  EXPECT_NE(testing::run(predict + " --exif_orientation=ignore").text, as_trained);
  const std::string model = in_temporary("upright.rdgm");
  expect(testing::run("export --checkpoint_dir=" + log_dir + " --out=" + model), 0, {});
  EXPECT_EQ(testing::run("predict " + model + " --format=csv " + lying).text, as_trained);
  expect(testing::run("predict " + model + " --exif_orientation=apply " + lying), 2,
         {"--exif_orientation has no effect with the model file"});
  // The setting is stored with the run.
  expect(testing::run(
             "train --mode=train --max_train_steps=3 --model=resnet20 --batch_size=4 --bad_samples=skip --data_dir=" +
             folder + " --log_dir=" + log_dir),
         1, {"--exif_orientation is apply there and ignore here"});
  expect(testing::run("train --exif_orientation=turn --data_dir=" + folder), 2,
         {"--exif_orientation=turn (allowed: ignore, apply)"});
  // Resized images in a packed file have no Exif data.
  expect(testing::run("dataset pack --split=train --short_side=20 --data_dir=" + folder +
                      " --out=" + in_temporary("a.ridge")),
         0, {"note: 2 resized images have an Exif orientation, which is not stored"});
  const testing::Outcome turned =
      testing::run("dataset pack --split=train --short_side=20 --exif_orientation=apply --data_dir=" + folder +
                   " --out=" + in_temporary("b.ridge"));
  expect(turned, 0, {"18 images"});
  EXPECT_EQ(turned.text.find("have an Exif orientation"), std::string::npos);
  expect(testing::run("doctor --data_dir=" + folder +
                      " --model=resnet20 --batch_size=4 --log_dir=" + in_temporary("doctored")),
         1, {"2 of 19 images are stored lying or mirrored"});
}

TEST(BalancedRanks, HaveTheLossesOfOneRank) {
  const std::string data = in_temporary("unequal_shapes");
  data::make_shapes(data, {.train = 48, .val = 12});
  const fs::path first = *fs::directory_iterator(data + "/train");
  int n = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(first)) {
    if (n++ % 3 != 0) fs::remove(entry.path());
  }
  for (const char* flag : {"--class_weights=balanced", "--sampler=balanced"}) {
    std::string losses[2];
    for (const int ranks : {1, 2}) {
      const std::string log_dir = in_temporary("balanced_" + std::to_string(ranks) + flag);
      expect(
          testing::run_shell("cd " + testing::temporary_directory() + " && " + testing::program() +
                             " launch --ranks=" + std::to_string(ranks) + " --results=" + log_dir + "_results" +
                             " -- train --mode=train --max_epochs=2 --max_train_steps=4 --save_summary_steps=1 "
                             "--model=resnet20 --sync_batch_norm=True --image_size=32 --lr=0.003 --warmup_epochs=0 "
                             "--reproducibility=deterministic --intra_op_parallelism_threads=1 --batch_size=" +
                             std::to_string(16 / ranks) + " --data_dir=" + data + " --log_dir=" + log_dir + " " + flag),
          0, {"rank 0: train success"});
      std::string text = read_file(log_dir + "/metrics.jsonl");
      for (std::size_t at = text.find("\"loss\":"); at != std::string::npos; at = text.find("\"loss\":", at + 1))
        losses[ranks - 1] += text.substr(at, text.find(',', at) - at) + "\n";
    }
    EXPECT_NE(losses[0], "");
    EXPECT_EQ(losses[0], losses[1]) << flag;
  }
}

}  // namespace
}  // namespace ridgeline
