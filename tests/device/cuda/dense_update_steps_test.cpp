// Dense layers whose update computes the gradient, in steps on a card of the recording driver: which ones do so, what
// they compute beside the ops apart, and what a failure says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "ridgeline/compile/compile.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/nn/training_step.h"
#include "tests/compile/support.h"
#include "tests/device/cuda/dense_updates.h"
#include "tests/device/cuda/device_support.h"
#include "tests/device/cuda/op_support.h"

namespace ridgeline::cuda::testing {
namespace {

using ::testing::HasSubstr;

struct DenseLayer {
  std::int64_t rows, inputs, outputs;
  std::string type = "bf16";
};

// A step of a dense layer with a penalty, momentum and, in 16 bits, a copy of the weights that the next step reads.
std::string step_text(const DenseLayer& layer) {
  const bool narrow = layer.type != "f32";
  std::string text =
      R"(graph @train(%x: T[N,C], %dy: T[N,K], %w: param f32[K,C], %m: state f32[K,C], %b: param f32[K],)"
      R"( %loss: f32[], %rate: f32[]) {
)";
  if (narrow) text += "  %0 = cast(%w) {to=T} : T[K,C]\n";
  text += R"(  %1 = dense(%x, %0) : T[N,K]
  %2 = l2_penalty(%w) {factor=0.25} : f32[]
  %3 = add(%loss, %2) : f32[]
  %4, %5 = dense_bwd_weights(%x, %dy) {bias=true, f32_results=true} : f32[K,C], f32[K]
  %6 = dense_bwd_data(%dy, %0) : T[N,C]
  %7, %8 = sgd_momentum(%w, %m, %4, %rate) {momentum=0.9, nesterov=true, weight_decay=0.25} : f32[K,C], f32[K,C]
  %9 = sgd(%b, %5, %rate) : f32[K]
  update %w = %7
  update %m = %8
  update %b = %9
  return %1 "y", %3 "total", %6 "dx"
}
)";
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replace("T[", layer.type + "[");
  replace("to=T", "to=" + layer.type);
  replace("[N", "[" + std::to_string(layer.rows));
  replace("[K", "[" + std::to_string(layer.outputs));
  replace(",K]", "," + std::to_string(layer.outputs) + "]");
  replace(",C]", "," + std::to_string(layer.inputs) + "]");
  if (!narrow) replace("%0", "%w");
  return text;
}

// The kernels of a step's launches that name `word`.
int launches_of(const std::string& word, const DenseLayer& layer, const SessionOptions& options) {
  Session session(options);
  const Planned planned = plan_program(parse_graph(step_text(layer)), session, {});
  int count = 0;
  for (const ridgeline::Launch& launch : planned.plan.launches)
    count += launch.kernel && launch.kernel->name.find(word) != std::string::npos;
  return count;
}

TEST(CudaDenseUpdates, AreMadeOfLargeLayersOverFewRowsOf16BitsAlone) {
  add_recording_device();
  const SessionOptions options{.device = "cuda_recording"};
  const auto fused = [&](const DenseLayer& layer) {
    const int updates = launches_of("dense_update", layer, options);
    EXPECT_EQ(launches_of("l2_penalty", layer, options), 1 - updates) << "the update gives the penalty's sum";
    return updates == 1;
  };
  for (const char* type : {"bf16", "f16"}) {
    EXPECT_TRUE(fused({1, 1024, 1025, type}));
    EXPECT_TRUE(fused({256, 1025, 1024, type}));
    EXPECT_FALSE(fused({257, 1025, 1024, type}));
    EXPECT_FALSE(fused({8, 1024, 1024, type})) << "which is updated in a group with others";
  }
  EXPECT_FALSE(fused({8, 1025, 1024, "f32"}));
}

TEST(CudaDenseUpdates, TakeAlexnetsThreeDenseLayersAtSmallBatches) {
  add_recording_device();
  const auto planned = [](std::int64_t batch) {
    nn::StepOptions options;
    options.model = &nn::model_named("alexnet_torchvision");
    options.batch_size = batch;
    const nn::Step step = nn::build_training_step(options, {.schedule = optim::Constant{0.01}});
    Session session({.device = "cuda_recording"});
    const CompileOptions in_bf16{.precision = PrecisionPolicy::of(precision_mode_named("allow_mix_precision_bf16"))};
    const Planned made = plan_program(step.graph, session, in_bf16);
    std::map<std::string, int> ops;
    for (const ridgeline::Launch& launch : made.plan.launches) {
      if (launch.node >= 0) ++ops[made.plan.graph.nodes[static_cast<std::size_t>(launch.node)].op];
    }
    return ops;
  };
  auto few = planned(256), many = planned(257);
  EXPECT_EQ(few["dense_update"], 3);
  EXPECT_EQ(few["dense_bwd_weights"], 0);
  EXPECT_EQ(many["dense_update"], 0);
  EXPECT_EQ(many["dense_bwd_weights"], 3);
}

TEST(CudaDenseUpdates, AreDeterministicAndNoMore) {
  add_recording_device();
  const DenseLayer layer{4, 1025, 1024};
  EXPECT_EQ(launches_of("dense_update", layer,
                        {.device = "cuda_recording", .promise = {.bits = Reproducibility::deterministic}}),
            1);
  EXPECT_EQ(
      launches_of("dense_update", layer, {.device = "cuda_recording", .promise = {.bits = Reproducibility::portable}}),
      0);
}

// Three steps with and without the fusion, over whole numbers, so that every order of sums gives the same gradient; the
// copy in 16 bits that the second step reads shows in its results.
TEST(CudaDenseUpdates, GiveTheBitsOfTheOpsApartStepByStepAndThePenaltysSquares) {
  add_recording_device();
  const Graph graph = parse_graph(step_text({3, 1029, 1021}));
  Arguments arguments = ridgeline::testing::random_arguments(graph);
  for (const char* name : {"x", "dy"}) {
    Tensor& t = arguments.at(name);
    for (std::int64_t i = 0; i < t.elements(); ++i) t.set(i, std::round(4 * t.at(i)));
  }
  const auto trained = [&](std::vector<std::string> disabled) {
    Session session({.device = "cuda_recording"});
    const auto program = compile(graph, session, {.disabled_passes = std::move(disabled)});
    ridgeline::testing::store_arguments(graph, arguments, session);
    std::vector<Tensor> values;
    for (int step = 0; step < 3; ++step) {
      ridgeline::testing::bind_inputs(graph, arguments, *program);
      EXPECT_TRUE(program->run());
      for (const char* name : {"y", "dx", "total"}) values.push_back(program->output(name).clone());
    }
    for (const char* name : {"w", "m", "b"}) values.push_back(session.parameters().get(name).clone());
    return values;
  };
  const std::vector<Tensor> fused = trained({}), apart = trained({"fuse_dense_update"});
  ASSERT_EQ(fused.size(), apart.size());
  for (std::size_t i = 0; i < fused.size(); ++i) {
    if (i == 2 || i == 5 || i == 8)  // the total: sums of squares in another order
      ridgeline::testing::expect_close(fused[i], apart[i], 1e-6, "total");
    else
      EXPECT_EQ(unequal_bits(fused[i], apart[i]), "") << i;
  }
}

TEST(CudaDenseUpdates, OfMoreRowsOrOtherTypesAreRefusedByTheKernelItself) {
  RecordingDevice card;
  const auto refusal = [&](std::int64_t rows, DType type) {
    const NodeProblem problem("dense_update",
                              {Tensor(DType::f32, {4, 8}), Tensor(type, Shape{rows, 8}), Tensor(type, Shape{rows, 4}),
                               Tensor(DType::f32, Shape{})},
                              {{"states", std::int64_t{1}}, {"expression", std::string("x0 - x2 * x1")}});
    const KernelChoice choice = card.device.kernels("dense_update").front().make(problem.request(card.device));
    const auto* refused = std::get_if<Refusal>(&choice);
    return refused == nullptr ? std::string() : refused->reason;
  };
  EXPECT_EQ(refusal(256, DType::bf16), "");
  EXPECT_EQ(refusal(0, DType::f16), "");
  EXPECT_EQ(refusal(257, DType::bf16), "more than 256 rows");
  EXPECT_EQ(refusal(4, DType::f32), "x is f32, tensor cores multiply bf16 and f16");
}

TEST(CudaDenseUpdates, AFailingCallNamesTheOp) {
  RecordingDevice card({}, {.work_fault = [](std::string_view work) {
                         return work.find("dense_update") != std::string_view::npos ? result::kIllegalAddress
                                                                                    : result::kSuccess;
                       }});
  const UpdateCase c = random_update(0);
  KernelChoice choice = card.device.kernels("dense_update").front().make(c.problem.request(card.device));
  EXPECT_THAT(
      error_of([&] { run_on_device(card.device, *std::get<std::unique_ptr<Kernel>>(choice), c.problem, false); }),
      HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS: in 'dense_update_under_test"));
}

}  // namespace
}  // namespace ridgeline::cuda::testing
