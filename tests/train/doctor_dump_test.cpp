// Comparing two dumps of a step: equal ones, other precisions, files of other programs, and the origin of a NaN.
#include <gtest/gtest.h>

#include "ridgeline/core/error.h"
#include "ridgeline/format/tensor/safetensors.h"
#include "ridgeline/train/doctor/dump.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/train/doctor_subject.h"

namespace ridgeline::train {
namespace {

std::string dumped(const std::string& name, const Subject& subject, const DumpOptions& options = {}) {
  const std::string path = testing::temporary_directory() + "/" + name + ".safetensors";
  write_dump(path, subject, options);
  return path;
}

TEST(DoctorDump, EqualStepsGiveEqualValuesAndEveryOpIsThere) {
  const std::string a = dumped("a", picture_subject()), b = dumped("b", picture_subject());
  const DumpComparison comparison = compare_dumps(a, b, {.tolerance = 0, .absolute = 0});
  EXPECT_TRUE(comparison.equal()) << comparison.to_text(10);
  EXPECT_TRUE(comparison.only_first.empty() && comparison.only_second.empty());
  const SafetensorsFile file(a);
  EXPECT_TRUE(file.has("conv.weight") && file.has("images") && file.has("head.weight"));
  EXPECT_EQ(file.tensor("images").shape(), (Shape{kPictureRows, 16, 16, 3}));
  EXPECT_GT(comparison.values.size(), 20u);
}

TEST(DoctorDump, NamesTheFirstOpThatAPrecisionMovesOutOfTheBand) {
  Subject reduced = picture_subject();
  reduced.compile.precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"));
  const std::string a = dumped("f32", picture_subject()), b = dumped("bf16", reduced);
  const DumpComparison strict = compare_dumps(a, b, {.tolerance = 1e-6});
  ASSERT_TRUE(strict.first_outside.has_value());
  EXPECT_EQ(strict.values[*strict.first_outside].op, "conv2d") << strict.to_text(5);
  EXPECT_NE(strict.to_text(3).find("first outside the band:\n" + strict.values[*strict.first_outside].name),
            std::string::npos);
  // bf16 rounds operands by 2^-9. (In a backward pass, one unit whose sign changes exceeds any tolerance.)
  const DumpOptions prediction{.part = DumpPart::prediction};
  const DumpComparison forward = compare_dumps(dumped("f32_forward", picture_subject(), prediction),
                                               dumped("bf16_forward", reduced, prediction), {.tolerance = 0.02});
  EXPECT_TRUE(forward.equal()) << forward.to_text(5);
}

TEST(DoctorDump, NamesTheOpThatMakesTheFirstNaN) {
  Subject subject = picture_subject();
  subject.network.loss = [](nn::ModelContext& context) {
    const Value labels = context.builder.input("labels", {DType::i32, {kPictureRows}});
    const Value logits = picture_logits(context, {});
    const Value nothing = logits - logits;
    return nn::mean(nn::softmax_cross_entropy(logits + nothing / nothing, labels, {}).loss);
  };
  const std::string path = testing::temporary_directory() + "/nan.safetensors";
  const DumpReport report = write_dump(path, subject, {.steps = 5});
  EXPECT_EQ(report.step, 1);  // the first step whose loss is not finite
  EXPECT_EQ(report.first_not_finite.substr(0, 9), "div (div)") << report.first_not_finite;
  const DumpComparison comparison = compare_dumps(dumped("finite", picture_subject()), path);
  EXPECT_EQ(comparison.first_origin, "");
  EXPECT_EQ(comparison.second_origin.substr(0, 8), "div (div");
  EXPECT_FALSE(comparison.equal());
}

TEST(DoctorDump, LaterStepsHoldLaterWeights) {
  const std::string first = dumped("step1", picture_subject()),
                    third = dumped("step3", picture_subject(), {.steps = 3});
  const DumpComparison comparison = compare_dumps(first, third);
  EXPECT_FALSE(comparison.equal());
  EXPECT_EQ(SafetensorsFile(third).tensor("global_step").at(0), 2);  // at the begin of the step
}

TEST(DoctorDump, ReadsChannelsFirstUnderOtherNames) {
  const std::string ours = dumped("prediction", picture_subject(), {.part = DumpPart::prediction});
  const SafetensorsFile file(ours);
  const Tensor& weight = file.tensor("conv.weight");  // [K,R,S,C]
  const Shape& s = weight.shape();
  Tensor moved(DType::f32, Shape{s[0], s[3], s[1], s[2]});
  for (std::int64_t k = 0; k < s[0]; ++k)
    for (std::int64_t i = 0; i < s[1] * s[2]; ++i)
      for (std::int64_t c = 0; c < s[3]; ++c)
        moved.set((k * s[3] + c) * s[1] * s[2] + i, weight.at((k * s[1] * s[2] + i) * s[3] + c));
  const std::string theirs = testing::temporary_directory() + "/theirs.safetensors";
  write_safetensors(theirs, {{"features.0.weight", moved}, {"unknown", moved}});
  const CompareOptions options{.tolerance = 0,
                               .absolute = 0,
                               .names = read_dump_names("# ours theirs\nconv.weight features.0.weight\n", "names")};
  const DumpComparison comparison = compare_dumps(ours, theirs, options);
  ASSERT_EQ(comparison.values.size(), 1u);
  EXPECT_TRUE(comparison.equal() && comparison.values[0].moved);
  EXPECT_EQ(comparison.only_second, std::vector<std::string>{"unknown"});
  moved.set(5, moved.at(5) + 1);
  write_safetensors(theirs, {{"features.0.weight", moved}});
  const DumpComparison other = compare_dumps(ours, theirs, options);
  EXPECT_FALSE(other.equal());
  EXPECT_NEAR(other.values[0].difference, 1, 1e-6);
  EXPECT_NE(other.to_json().find("\"first_outside\":\"conv.weight\""), std::string::npos);
}

TEST(DoctorDump, TakesInputsOfAFile) {
  const std::string ours = dumped("drawn", picture_subject(), {.part = DumpPart::prediction});
  Tensor images = Tensor::zeros(DType::f32, {kPictureRows, 16, 16, 3});
  const std::string inputs = testing::temporary_directory() + "/inputs.safetensors";
  write_safetensors(inputs, {{"images", images}});
  const std::string zeros = dumped("given", picture_subject(), {.part = DumpPart::prediction, .inputs = inputs});
  EXPECT_EQ(SafetensorsFile(zeros).tensor("images").at(0), 0);
  const DumpComparison comparison = compare_dumps(ours, zeros);
  ASSERT_TRUE(comparison.first_outside.has_value());
  EXPECT_EQ(comparison.values[*comparison.first_outside].name, "images");
}

TEST(DoctorDump, RefusesWhatCannotBeCompared) {
  const std::string a = testing::temporary_directory() + "/x.safetensors",
                    b = testing::temporary_directory() + "/y.safetensors";
  write_safetensors(a, {{"x", Tensor::zeros(DType::f32, {2})}});
  write_safetensors(b, {{"y", Tensor::zeros(DType::f32, {2})}});
  EXPECT_NE(error_of([&] { compare_dumps(a, b); }).find("have no value of one name and shape"), std::string::npos);
  EXPECT_EQ(error_of([] { read_dump_names("one\n", "names.txt"); }), "names.txt: line 1 is no pair of names");
  EXPECT_EQ(error_of([] { dump_part_named("test"); }),
            "[doctor] unknown part 'test' (allowed: training, evaluation, prediction)");
}

}  // namespace
}  // namespace ridgeline::train
