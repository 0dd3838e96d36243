// Empty or null functions, callbacks and metrics, and masks of any type: mistakes in a training program that are easily
// overlooked.
#include <gtest/gtest.h>

#include "ridgeline/data/data.h"
#include "ridgeline/train/callback/monitors.h"
#include "ridgeline/train/checkpoint/checkpoint.h"
#include "ridgeline/train/estimator.h"
#include "ridgeline/train/metric/accuracy.h"
#include "tests/support/error_of.h"
#include "tests/train/line_model.h"

namespace ridgeline::train {
namespace {

std::string line(int number) { return " (" + std::string(__FILE__) + ":" + std::to_string(number) + ")"; }

TEST(EmptyFunctions, OfAFeedAndOfAnInputAreToldWhereTheyAreGiven) {
  LineModel model;
  const std::string empty = "an empty function is given where one is called";
  EXPECT_EQ(error_of([] { FunctionFeed(nullptr); }), empty + line(__LINE__));
  EXPECT_EQ(error_of([] { FunctionFeed(std::function<bool(Program&)>()); }), empty + line(__LINE__));
  EXPECT_EQ(error_of([&] { train_steps(model.model, nullptr, 3, {}); }), empty + line(__LINE__));
  EXPECT_EQ(error_of([] { Session session({.make_device = [] { return std::unique_ptr<Device>(); }}); }),
            "SessionOptions::make_device gave no device");
}

TEST(EmptyFunctions, ASinkThatIsEmptyTakesNoLines) {
  LineModel model;
  LossMonitor losses(1, nullptr);
  LearningRateMonitor rates(nullptr);
  TimeMonitor times(0, nullptr);
  EXPECT_EQ(Loop(model.model, model.feed, {.total_steps = 2}).run({&losses, &rates, &times}).step(), 2);
  EXPECT_FALSE(load_newest("/no/such/folder", nullptr).has_value());
}

TEST(EmptyFunctions, NullCallbacksAndMetricsNameTheCallersLine) {
  LineModel model;
  LossMonitor monitor(0, nullptr);
  Loop loop(model.model, model.feed, {.total_steps = 2});
  EXPECT_EQ(error_of([&] { loop.run({&monitor, nullptr}); }), "callback 2 of 2 is null" + line(__LINE__));
  const auto input = [&] { return std::make_unique<FunctionFeed>(model.feed); };
  EXPECT_EQ(error_of([&] { train_steps(model.model, input, 3, {nullptr}); }),
            "callback 1 of 1 is null" + line(__LINE__ - 1));
  EXPECT_EQ(model.model.global_step(), 0);
  Tensor x(DType::f32, Shape{8, 1});
  const data::Dataset rows = data::InMemory({{"x", x}, {"y", x}}).batch(8);
  EXPECT_EQ(error_of([&] { train_epochs(model.model, 1, rows, {nullptr}); }),
            "callback 1 of 1 is null" + line(__LINE__ - 1));
  EXPECT_EQ(error_of([&] { evaluate(model.model, rows, {nullptr}); }), "a metric is null" + line(__LINE__));
}

TEST(EmptyFunctions, ACallbackThatWantsToBeCalledInThePastIsNamed) {
  struct Stuck : Callback {
    std::int64_t next_stop(std::int64_t step) const override { return step; }
  } stuck;
  LineModel model;
  EXPECT_EQ(error_of([&] { Loop(model.model, model.feed, {.total_steps = 2}).run({&stuck}); }),
            "callback 1 of 1 wants to be called next behind step 0, and 0 are done: next_stop() names a later step");
}

// Eleven rows in batches of eight: the last batch has five rows of padding, which masks of any type exclude.
TEST(RowMask, OfAnEvaluationMayHaveAnyType) {
  Tensor x(DType::f32, Shape{11, 1});
  for (float& v : x.span<float>()) v = 1;
  const data::Dataset rows = data::InMemory({{"x", x}}).batch(8);
  for (const DType type : {DType::f32, DType::u8, DType::boolean, DType::i32, DType::bf16}) {
    SCOPED_TRACE(name_of(type));
    nn::Network network = LineModel::network();
    network.evaluate = [type](nn::ModelContext& context) {
      GraphBuilder& builder = context.builder;
      builder.input("x", {DType::f32, {8, 1}});
      const Value mask = builder.input(nn::kMaskInput, {type, {8}});
      builder.returns(nn::kRowsResult, nn::sum(type == DType::f32 ? mask : nn::cast(mask, DType::f32)));
    };
    Session session({.compute_threads = 1});
    Model model(session, network);
    EXPECT_EQ(evaluate(model, rows).at(nn::kRowsResult), 11);
  }
}

}  // namespace
}  // namespace ridgeline::train
