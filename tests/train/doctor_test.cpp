// The doctor finds the fault of each of ten broken set-ups, and no fault in correct ones.
#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/data/make/make_shapes.h"
#include "ridgeline/format/record/example.h"
#include "ridgeline/format/record/tfrecord.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/image/jpeg/jpeg.h"
#include "ridgeline/train/doctor/checks.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/doctor_subject.h"

namespace ridgeline::train {
namespace {

namespace fs = std::filesystem;

// This check's finding is the first fault, and its sentence contains `words`.
void expect_named(const Subject& subject, const std::string& check, const std::string& words) {
  const Diagnosis diagnosis = examine(subject);
  EXPECT_EQ(diagnosis.first_wrong(), check) << diagnosis.to_text();
  EXPECT_NE(diagnosis.to_text().find(words), std::string::npos) << words << " in:\n" << diagnosis.to_text();
}

std::string reference() {
  static const std::string path = [] {
    const std::string file = testing::temporary_directory() + "/pictures.safetensors";
    train_pictures(file);
    return file;
  }();
  return path;
}

TEST(Doctor, FindsNothingWrongWithASoundSetUp) {
  Subject subject = picture_subject();
  subject.reference = reference();
  const Diagnosis diagnosis = examine(subject);
  EXPECT_TRUE(diagnosis.sound()) << diagnosis.to_text();
  for (const CheckResult& check : diagnosis.checks) {
    const bool needs_more = check.check == "files" || check.check == "duplicates" || check.check == "precision";
    EXPECT_EQ(check.left_out.empty(), !needs_more) << check.check << ": " << check.left_out;
    for (const Finding& finding : check.findings) EXPECT_EQ(finding.level, FindingLevel::note) << finding.what;
  }
}

TEST(Doctor, NamesLabelsThatAreShiftedByOne) {
  Subject subject = picture_subject({.shifted_labels = true});
  subject.reference = reference();
  expect_named(subject, "labels", "the labels are shifted by one");
}

// As after a few steps: such weights say nothing about the labels.
TEST(Doctor, WeightsThatSeeOneClassEverywhereExplainNoLabels) {
  const SafetensorsFile file(reference());
  std::vector<NamedTensor> tensors = file.tensors();
  for (NamedTensor& t : tensors) {
    if (t.tensor.shape() == Shape{kPictureClasses}) {
      for (std::int64_t i = 0; i < kPictureClasses; ++i) t.tensor.set(i, i == 1 ? 9 : 0);
    } else if (t.tensor.shape().rank() == 2) {
      for (std::int64_t i = 0; i < t.tensor.elements(); ++i) t.tensor.set(i, 0);
    }
  }
  Subject subject = picture_subject();
  subject.reference = testing::temporary_directory() + "/one_class.safetensors";
  write_safetensors(subject.reference, tensors);
  const Diagnosis diagnosis = examine(subject, {.only = {"labels"}});
  EXPECT_TRUE(diagnosis.sound()) << diagnosis.to_text();
  EXPECT_NE(diagnosis.to_text().find("one_class.safetensors recognises 2"), std::string::npos) << diagnosis.to_text();
}

TEST(Doctor, NamesRedAndBlueThatAreExchanged) {
  Subject subject = picture_subject({.blue_first = true});
  subject.reference = reference();
  expect_named(subject, "channels", "red and blue are exchanged");
}

TEST(Doctor, NamesImagesThatAreNotNormalised) {
  expect_named(picture_subject({.normalized = false}), "pixels", "the images are not normalised");
}

TEST(Doctor, NamesASoftmaxOfASoftmax) {
  expect_named(picture_subject({.double_softmax = true}), "head", "softmax already");
}

TEST(Doctor, NamesALearningRateThatIsAHundredTimesTooHigh) {
  Subject subject = picture_subject();
  subject.rate *= 100;
  expect_named(subject, "rate", "the learning rate 1 is too high");
}

// Large initial logits shrink towards those of guessing in any case: that alone is not learning.
TEST(Doctor, DoesNotTakeTheWayToGuessingForLearning) {
  Subject subject = picture_subject();
  subject.network.loss = [](nn::ModelContext& context) {
    const Value labels = context.builder.input("labels", {DType::i32, {kPictureRows}});
    Value logits = picture_logits(context, {});
    logits = logits * 0.0 + context.parameter("offset", {kPictureClasses}, nn::normal(5));
    return nn::mean(nn::softmax_cross_entropy(logits, labels, {}).loss);
  };
  subject.rate = 0.1;
  const Diagnosis diagnosis = examine(subject, {.only = {"rate"}});
  EXPECT_EQ(diagnosis.first_wrong(), "rate") << diagnosis.to_text();
  EXPECT_NE(diagnosis.to_text().find("cannot be learned by heart at any rate"), std::string::npos)
      << diagnosis.to_text();
}

TEST(Doctor, NamesLayersThatAreFrozenByMistake) {
  Subject subject = picture_subject();
  subject.training.groups = {{.pattern = "head*", .frozen = true}};
  expect_named(subject, "frozen", "the last layer is frozen (head.weight)");
  subject.training.groups = {{.pattern = "conv*", .frozen = true}};
  expect_named(subject, "frozen", "2 parameters are frozen with the random values");
  subject.restore_path = reference();  // restored weights may be
  EXPECT_EQ(examine(subject, {.only = {"frozen"}}).first_wrong(), "");
}

TEST(Doctor, NamesADeadRelu) { expect_named(picture_subject({.dead_relu = true}), "units", "8 of 8 channels of conv"); }

TEST(Doctor, NamesAnOverflowOfF16AndItsFirstOp) {
  Subject subject = picture_subject({.large_values = true});
  EXPECT_EQ(examine(subject, {.only = {"precision"}}).first_wrong(), "");
  subject.compile.precision = PrecisionPolicy::of(precision_mode_named("force_fp16"));
  expect_named(subject, "precision", "f16 overflows: mul");
  // The same types with values that they can represent.
  Subject sound = picture_subject();
  sound.compile.precision = subject.compile.precision;
  const Diagnosis diagnosis = examine(sound, {.only = {"precision"}});
  EXPECT_TRUE(diagnosis.sound() && diagnosis.checks[0].left_out.empty()) << diagnosis.to_text();
}

TEST(Doctor, NamesAResizeThatStretches) {
  expect_named(picture_subject({.validation_resize = {16, 16}, .width = 32}), "geometry",
               "validation stretches images of 16x32 (height x width) by 2.0");
  expect_named(picture_subject({.validation_resize = {64}}), "geometry", "times as large in training as in validation");
  EXPECT_EQ(examine(picture_subject({.width = 32}), {.only = {"geometry"}}).first_wrong(), "");
}

// --validation_split reads parts of one source by row numbers.
TEST(Doctor, MeasuresTheScaleOfPartsOfASource) {
  Subject subject = picture_subject({.validation_resize = {16, 16}, .width = 32});
  std::vector<std::int64_t> last;  // more than the rows of a batch
  for (std::int64_t row = kPictures - 40; row < kPictures; ++row) last.push_back(row);
  const data::Dataset source = data::InMemory({{"image", Tensor::zeros(DType::u8, Shape{kPictures, 16, 32, 3})},
                                               {"label", Tensor::zeros(DType::i32, Shape{kPictures})}})
                                   .sample(data::SubsetSampler(last));
  subject.training_data = source.map(data::Resize(16), data::CenterCrop(16)).batch(kPictureRows);
  subject.validation_data = source.map(data::Resize(data::Size(16, 16))).batch(kPictureRows);
  const Diagnosis diagnosis = examine(subject, {.only = {"geometry"}});
  EXPECT_NE(diagnosis.to_text().find("validation stretches images of 16x32 (height x width) by 2.0"), std::string::npos)
      << diagnosis.to_text();
}

Recipe shapes_recipe(const std::string& data_dir) {
  Recipe recipe;
  recipe.data_dir = data_dir;
  recipe.model = "resnet20";
  recipe.batch_size = 16;
  recipe.lr = 0.05;
  recipe.min_area = 0.5;
  recipe.log_dir = testing::temporary_directory() + "/no_log";
  return recipe;
}

TEST(Doctor, MeasuresNoScaleWhereAPipelineGivesNoPixels) {
  const data::Transform normalize = data::NormalizeWith({0.4, 0.4, 0.4}, {0.2, 0.2, 0.2});
  const data::Dataset source = data::InMemory({{"image", Tensor::zeros(DType::u8, Shape{kPictureRows, 16, 16, 3})},
                                               {"label", Tensor::zeros(DType::i32, Shape{kPictureRows})}})
                                   .map(data::Resize(16));
  for (const data::Dataset& pipeline : {source.map(data::HWC2CHW()), source.map(normalize, data::HWC2CHW())}) {
    Subject subject = picture_subject();
    subject.training_data = pipeline.batch(kPictureRows);
    const Diagnosis diagnosis = examine(subject, {.only = {"geometry"}});
    EXPECT_EQ(diagnosis.checks[0].left_out, "the pipeline gives no pixels of a picture of another source")
        << diagnosis.to_text();
  }
}

void write_records(const std::string& folder, const std::vector<std::int64_t>& labels) {
  fs::create_directories(folder);
  for (const char* part : {"train", "validation"}) {
    TFRecordWriter writer(folder + "/" + part + "-00000-of-00001");
    for (const std::int64_t label : labels) {
      image::Image picture(32, 32, 3);
      std::fill_n(picture.data(), 32 * 32 * 3, static_cast<std::uint8_t>(20 * label + (*part == 't')));
      const std::vector<std::uint8_t> jpeg = image::encode_jpeg(picture.view(), 90);
      ExampleBuilder example;
      example.bytes("image/encoded", std::string(jpeg.begin(), jpeg.end())).int64s("image/class/label", label);
      writer.write(example.serialize());
    }
    writer.close();
  }
}

TEST(Doctor, NamesLabelsThatStartElsewhereThanTrainingTakesThemTo) {
  const std::string folder = testing::temporary_directory() + "/doctor_labels_";
  const auto labels_of = [&](const std::string& name, std::vector<std::int64_t> labels, data::LabelBase base) {
    if (!fs::exists(folder + name)) write_records(folder + name, labels);
    Recipe recipe = shapes_recipe(folder + name);
    recipe.num_classes = 10;
    recipe.batch_size = 4;
    recipe.label_base = base;
    return examine(subject_of(recipe, 4), {.only = {"files"}});
  };
  EXPECT_EQ(labels_of("sound", {1, 2, 3, 4, 5}, data::LabelBase::automatic).first_wrong(), "");
  const Diagnosis shifted = labels_of("sound", {}, data::LabelBase::zero);
  EXPECT_EQ(shifted.first_wrong(), "files");
  EXPECT_NE(shifted.to_text().find("start from 1, training takes them to start from 0: all are shifted"),
            std::string::npos)
      << shifted.to_text();
  // Images of only some of the classes: labels are not shifted.
  const Diagnosis later = labels_of("later", {4, 5, 6, 7, 8}, data::LabelBase::zero);
  EXPECT_EQ(later.first_wrong(), "") << later.to_text();
  EXPECT_NE(later.to_text().find("suspect: train: the stored labels start from 4"), std::string::npos)
      << later.to_text();
}

TEST(Doctor, NamesValidationImagesThatAreInTheTrainingPart) {
  const std::string folder = testing::temporary_directory() + "/doctor_shapes";
  data::make_shapes(folder, {.train = 40, .val = 20});
  const Diagnosis sound = examine(subject_of(shapes_recipe(folder), 16));
  EXPECT_TRUE(sound.sound()) << sound.to_text();

  const std::string broken = testing::temporary_directory() + "/doctor_shared";
  fs::copy(folder, broken, fs::copy_options::recursive);
  int copied = 0;
  for (const auto& of_class : fs::directory_iterator(broken + "/train")) {
    const fs::path image = fs::directory_iterator(of_class.path())->path();
    fs::copy_file(image,
                  fs::path(broken) / "val" / of_class.path().filename() / ("again_" + image.filename().string()));
    ++copied;
  }
  expect_named(subject_of(shapes_recipe(broken), 16), "duplicates",
               std::to_string(copied) + " images are in both the training and the validation part, which has 30");
}

TEST(Doctor, NamesBrokenImagesAndEmptyClasses) {
  const std::string folder = testing::temporary_directory() + "/doctor_damaged";
  data::make_shapes(folder, {.train = 40, .val = 20});
  const fs::path of_class = fs::directory_iterator(folder + "/train")->path();
  fs::resize_file(fs::directory_iterator(of_class)->path(), 100);
  const Diagnosis diagnosis = examine(subject_of(shapes_recipe(folder), 16), {.only = {"files"}});
  EXPECT_EQ(diagnosis.first_wrong(), "files");
  EXPECT_NE(diagnosis.to_text().find("1 of 40 images are broken"), std::string::npos) << diagnosis.to_text();
}

TEST(Doctor, NamesLogitsThatAreAllEqualAndZeroGradients) {
  Subject subject = picture_subject();
  subject.network.loss = [](nn::ModelContext& context) {
    const Value labels = context.builder.input("labels", {DType::i32, {kPictureRows}});
    const Value logits = picture_logits(context, {});
    return nn::mean(nn::softmax_cross_entropy(nn::relu(logits - 100.0), labels, {}).loss);
  };
  const Diagnosis diagnosis = examine(subject);
  EXPECT_EQ(diagnosis.first_wrong(), "units") << diagnosis.to_text();
  EXPECT_NE(diagnosis.to_text().find("all logits of an image are equal"), std::string::npos);
  EXPECT_NE(diagnosis.to_text().find("parameters get no gradient, the first is conv.weight"), std::string::npos);
  EXPECT_EQ(diagnosis.checks.back().left_out, "a cause is found already");
}

TEST(Doctor, SaysWhatItDoesNotKnow) {
  const Subject subject = picture_subject();
  EXPECT_EQ(error_of([&] { examine(subject, {.only = {"rates"}}); }),
            "[doctor] there is no check 'rates': did you mean 'rate'?");
  const Diagnosis diagnosis = examine(subject, {.only = {"labels", "files"}});
  EXPECT_NE(diagnosis.to_text().find("labels      not looked at: needs weights that know these classes"),
            std::string::npos)
      << diagnosis.to_text();
  EXPECT_NE(diagnosis.to_json().find("\"sound\":true"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::train
