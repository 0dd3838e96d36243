// Metrics on rows whose results are counted by hand, in parts, and in a model's evaluation.
#include <gtest/gtest.h>

#include "ridgeline/core/random.h"
#include "ridgeline/data/data.h"
#include "ridgeline/nn/layers.h"
#include "ridgeline/train/estimator.h"
#include "ridgeline/train/metric/accuracy.h"
#include "ridgeline/train/metric/confusion_matrix.h"
#include "ridgeline/train/metric/loss.h"
#include "ridgeline/train/metric/table.h"
#include "tests/support/error_of.h"

namespace ridgeline::train {
namespace {

// Three classes; the predictions of rows 0 to 5 are 0, 1, 1, 2, 0, none; the last row is padding.
MetricBatch seven_rows() {
  const float none = std::numeric_limits<float>::quiet_NaN();
  MetricBatch batch;
  batch.outputs["logits"] =
      Tensor::of<float>({3, 1, 2, 0, 5, 1, 2, 4, 3, 1, 1, 9, 7, 7, 0, none, 1, 2, 9, 0, 0}, {7, 3});
  batch.inputs["labels"] = Tensor::of<std::int32_t>({0, 1, 2, 2, 1, 0, 1}, {7});
  batch.mask = Tensor::of<std::uint8_t>({1, 1, 1, 1, 1, 1, 0}, {7});
  batch.outputs["loss_sum"] = Tensor::scalar(9.0f);
  batch.outputs["rows"] = Tensor::scalar(6.0f);
  return batch;
}

TEST(Metrics, CountTheRowsThatCount) {
  Accuracy accuracy;
  TopK first(1), second(2);
  Loss loss;
  for (Metric* metric : std::initializer_list<Metric*>{&accuracy, &first, &second, &loss}) metric->update(seven_rows());
  EXPECT_DOUBLE_EQ(accuracy.value().at(0), 3.0 / 6);  // rows 0, 1, 3
  EXPECT_DOUBLE_EQ(first.value().at(0), 4.0 / 6);     // and the tie in row 4
  EXPECT_DOUBLE_EQ(second.value().at(0), 5.0 / 6);    // all except the one that is not finite
  EXPECT_DOUBLE_EQ(loss.value().at(0), 1.5);
}

TEST(Metrics, OfSharesTheLargestIsTheLabel) {
  MetricBatch batch = seven_rows();
  const Tensor classes = batch.inputs["labels"];
  Tensor shares = Tensor::zeros(DType::f32, {7, 3});
  for (std::int64_t n = 0; n < 7; ++n) {
    const auto label = static_cast<std::int64_t>(classes.at(n));
    shares.set(n * 3 + label, 0.6);
    shares.set(n * 3 + (label + 1) % 3, 0.4);
  }
  batch.inputs["labels"] = shares;
  Accuracy accuracy;
  accuracy.update(batch);
  EXPECT_DOUBLE_EQ(accuracy.value().at(0), 3.0 / 6);
}

TEST(Metrics, TellWhichClassIsTakenForWhich) {
  ConfusionMatrix matrix(3);
  Precision precision(3);
  Recall recall(3);
  for (Metric* metric : std::initializer_list<Metric*>{&matrix, &precision, &recall}) metric->update(seven_rows());
  const Tensor counts = matrix.value();
  ASSERT_EQ(counts.shape(), (Shape{3, 3}));
  const std::vector<double> expected = {1, 0, 0, 1, 1, 0, 0, 1, 1};
  for (std::int64_t i = 0; i < 9; ++i) EXPECT_EQ(counts.at(i), expected[static_cast<std::size_t>(i)]) << i;
  const auto shares = [](const Metric& metric) {
    const Tensor value = metric.value();
    return std::vector<double>{value.at(0), value.at(1), value.at(2)};
  };
  EXPECT_EQ(shares(precision), (std::vector<double>{0.5, 0.5, 1}));
  EXPECT_EQ(shares(recall), (std::vector<double>{0.5, 0.5, 0.5}));
}

TEST(Metrics, SumsOfPartsAreTheWhole) {
  for (const MetricEntry& entry : metric_table()) {
    const std::unique_ptr<Metric> whole = entry.make(3), part = entry.make(3);
    whole->update(seven_rows());
    whole->update(seven_rows());
    part->update(seven_rows());
    for (double& sum : part->sums()) sum *= 2;
    const Tensor a = whole->value(), b = part->value();
    ASSERT_EQ(a.shape(), b.shape()) << entry.name;
    for (std::int64_t i = 0; i < a.elements(); ++i) EXPECT_EQ(a.at(i), b.at(i)) << entry.name;
    whole->clear();
    EXPECT_EQ(error_of([&] { whole->value(); }), "[metric] no row was counted") << entry.name;
  }
}

TEST(Metrics, NameWhatTheyMiss) {
  MetricBatch batch = seven_rows();
  Accuracy other({.logits = "scores"});
  EXPECT_EQ(error_of([&] { other.update(batch); }),
            "[metric] the evaluation returns no scores (it returns logits, loss_sum, rows)");
  batch.inputs["labels"].set(2, 3);
  Accuracy accuracy;
  EXPECT_EQ(error_of([&] { accuracy.update(batch); }), "[metric] a label is 3; there are 3 classes");
  ConfusionMatrix small(2);
  EXPECT_EQ(error_of([&] { small.update(seven_rows()); }), "[metric] the metric has 2 classes, the logits 3");
  EXPECT_EQ(error_of([] { metrics_named({"acuracy"}, 3); }),
            "unknown metric 'acuracy': did you mean 'accuracy'? (allowed: accuracy, top_1_accuracy, top_5_accuracy, "
            "loss, precision, recall, confusion_matrix)");
  EXPECT_EQ(error_of([] { TopK(0); }), "The argument 'k' must be 1 or more, but got 0");
}

TEST(Metrics, AreToldByTheNamesOfTheClasses) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(metric_lines("accuracy", Tensor::scalar(0.5), {}), (Lines{"accuracy: 0.5000"}));
  EXPECT_EQ(metric_lines("recall", Tensor::of<double>({1, 0.5}, {2}), {"cat", "dog"}),
            (Lines{"recall: mean 0.7500; cat 1.0000, dog 0.5000"}));
  EXPECT_EQ(metric_lines("m", Tensor::of<double>({8, 2, 1, 9}, {2, 2}), {"cat"}),
            (Lines{"m of cat:      8      2", "m of 1:      1      9"}));
  Tensor many = Tensor::zeros(DType::f64, {30}), matrix = Tensor::zeros(DType::f64, {30, 30});
  for (int i = 0; i < 30; ++i) many.set(i, i / 30.0);
  EXPECT_TRUE(metric_lines("recall", many, {})[0].starts_with("recall: mean 0.4833; lowest: 0 0.0000, 1 0.0333, "));
  matrix.set(0, 100);
  matrix.set(5 * 30 + 7, 3);
  EXPECT_EQ(metric_lines("m", matrix, {}), (Lines{"m: 3 of 5 are taken for 7"}));
}

// The metrics of a model are those that its evaluation step computes.
TEST(Metrics, AreMeasuredInOneEvaluation) {
  constexpr std::int64_t kRows = 4, kImages = 10;
  Tensor images(DType::f32, Shape{kImages, 8, 8, 3}), labels(DType::i32, Shape{kImages});
  SampleRandom random(philox_key(1, "metrics"), 0, 0);
  for (float& v : images.span<float>()) v = static_cast<float>(random.uniform(-1, 1));
  for (std::int32_t& v : labels.span<std::int32_t>()) v = static_cast<std::int32_t>(random.integer(0, 2));
  const data::Dataset dataset = data::InMemory({{"image", images}, {"label", labels}}).batch(kRows);
  Session session({.compute_threads = 1});
  Model model(session, nn::image_classifier({.model = &nn::model_named("linear"),
                                             .model_options = {.num_classes = 3},
                                             .batch_size = kRows,
                                             .image_size = 8,
                                             .images = nn::ImageForm::f32}));
  const auto counted = evaluate(model, dataset);
  EXPECT_EQ(counted.count("logits"), 0u);
  Accuracy accuracy;
  Loss loss;
  Recall recall(3);
  evaluate(model, dataset, {&accuracy, &loss, &recall});
  EXPECT_DOUBLE_EQ(accuracy.value().at(0), counted.at("top_1"));
  EXPECT_NEAR(loss.value().at(0), counted.at("loss"), 1e-12);
  EXPECT_EQ(counted.count("loss_sum"), 0u) << "a mean is not called a sum";
  EXPECT_EQ(counted.at("rows"), kImages);
  double hits = 0;
  for (std::int64_t c = 0; c < 3; ++c) {
    const auto of_class = std::count(labels.data<std::int32_t>(), labels.data<std::int32_t>() + kImages, c);
    hits += recall.value().at(c) * static_cast<double>(of_class);
  }
  EXPECT_NEAR(hits / kImages, counted.at("top_1"), 1e-12);
  evaluate(model, dataset, {&accuracy});  // since clear()
  EXPECT_DOUBLE_EQ(accuracy.value().at(0), counted.at("top_1"));
  EXPECT_EQ(error_of([&] { evaluate(model, dataset, {}); }), "The model argument 'metrics' can not be None or empty");
}

}  // namespace
}  // namespace ridgeline::train
