// Which ops a card has no kernel for: the lists are here, each entry with its reason, and none of them is an op of a
// model or of an optimizer.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ridgeline/compile/compile.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/nn/training_step.h"
#include "ridgeline/nn/unet.h"
#include "ridgeline/optim/optimizers.h"
#include "tests/compile/support.h"
#include "tests/device/cuda/device_support.h"
#include "tests/graph/op_rows.h"

namespace ridgeline::cuda::testing {
namespace {

constexpr const char* kByFusion = "fusion makes it where a device asks for it, and a card does not";
constexpr const char* kExchange = "the device's exchanges, between its launches";

// Ops without an entry in the card's table.
const std::map<std::string, const char*>& ops_without_kernels() {
  static const std::map<std::string, const char*> ops = {
      {"call", "functions are put in place before kernels are chosen"},
      {"transfer", "a copy between the devices' memories"},
      {"collective_done", "waits for what collective_start began"},
      {"all_reduce", kExchange},
      {"reduce", kExchange},
      {"broadcast", kExchange},
      {"all_gather", kExchange},
      {"reduce_scatter", kExchange},
      {"all_to_all", kExchange},
      {"conv2d_max_pool", kByFusion},
      {"conv2d_max_pool_bwd_data", kByFusion},
      {"conv2d_max_pool_bwd_weights", kByFusion},
  };
  return ops;
}

// The refusals of all entries for a case; empty where one takes it.
std::string refusals(RecordingDevice& card, const test::OpRow& row, const std::vector<Tensor>& operands) {
  const NodeProblem problem(row.op, operands, row.attributes);
  std::string reasons;
  for (const KernelEntry& entry : card.device.kernels(row.op)) {
    const KernelChoice choice = entry.make(problem.request(card.device));
    const auto* refusal = std::get_if<Refusal>(&choice);
    if (refusal == nullptr) return "";
    reasons += (reasons.empty() ? "" : "; ") + refusal->reason;
  }
  return reasons;
}

TEST(CudaOpTable, AnOpWithoutAKernelStandsInTheListWithItsReasonAndNoOther) {
  RecordingDevice card;
  std::set<std::string> without;
  for (const OpDef& def : all_ops()) {
    if (card.device.kernels(def.name).empty()) without.insert(def.name);
  }
  std::set<std::string> listed;
  for (const auto& [op, reason] : ops_without_kernels()) listed.insert(op);
  EXPECT_EQ(without, listed);
  // And no fusion asks for those that are made by it.
  for (const auto& form : card.device.fusion_limits().forms) EXPECT_FALSE(listed.contains(std::string(form.op)));
}

// No case of the op test table is one that all of the card's kernels refuse, but what fusion makes for 16 bits only.
TEST(CudaOpTable, EveryCaseOfTheTableIsTakenByAKernel) {
  RecordingDevice card;
  std::map<std::string, std::string> refused;
  std::size_t taken = 0;
  for (const test::OpRow& row : test::op_rows()) {
    if (card.device.kernels(row.op).empty()) continue;
    std::vector<Tensor> operands;
    for (const test::OperandSpec& spec : row.operands)
      operands.push_back(test::make_operand(spec, DType::f32, operands.size()));
    const std::string reasons = refusals(card, row, operands);
    if (reasons.empty())
      ++taken;
    else
      refused[row.op] += reasons;
  }
  EXPECT_GT(taken, 150u);
  // Of f32 operands the product and the update stay apart: nothing fuses them.
  EXPECT_TRUE(refused.contains("dense_update"));
  refused.erase("dense_update");
  EXPECT_EQ(refused, (std::map<std::string, std::string>{}));
}

// The launches of a program for the card that do not run on it.
std::vector<std::string> moved_ops(const Graph& graph, const PrecisionPolicy& policy) {
  Session session({.device = "cuda_recording"});
  const Planned planned = plan_program(graph, session, {.precision = policy});
  std::vector<std::string> moved;
  for (const ridgeline::Launch& launch : planned.plan.launches) {
    if (launch.device != &session.device() && launch.kernel) moved.push_back(launch.kernel->name);
  }
  EXPECT_GT(planned.plan.launches.size(), 2u);
  return moved;
}

constexpr const char* kF32 = "must_keep_origin_dtype";

void expect_all_on_card(const nn::Network& network, const optim::Optimizer& optimizer, const std::string& what,
                        std::initializer_list<const char*> modes) {
  const std::vector<std::string> none;
  const nn::Step step = nn::build_training_step(network, {.optimizer = optimizer});
  for (const char* mode : modes)
    EXPECT_EQ(moved_ops(step.graph, PrecisionPolicy::of(precision_mode_named(mode))), none) << what << " in " << mode;
}

void expect_evaluation_on_card(const nn::Network& network, const std::string& what) {
  const std::vector<std::string> none;
  EXPECT_EQ(moved_ops(nn::build_evaluation_step(network).graph, {}), none) << what;
  EXPECT_EQ(moved_ops(nn::build_prediction_step(network).graph, {}), none) << what;
}

TEST(CudaModels, EveryOpOfEveryModelRunsOnTheCard) {
  add_recording_device();
  for (const nn::ModelInfo& model : nn::all_models()) {
    const nn::Network network = nn::image_classifier({.model = &model, .batch_size = 2});
    const std::string name(model.name);
    expect_all_on_card(network, optim::Momentum{}, name, {kF32, "allow_mix_precision_bf16"});
    expect_evaluation_on_card(network, name);
  }
}

TEST(CudaModels, EveryOpOfAUnetRunsOnTheCard) {
  add_recording_device();
  const nn::Network network = nn::segmentation_network(
      {.model = {.classes = 3, .channels = 8, .depth = 3}, .batch_size = 2, .height = 32, .width = 48});
  expect_all_on_card(network, optim::Momentum{}, "U-Net",
                     {kF32, "allow_mix_precision_bf16", "allow_mix_precision_fp16"});
  expect_evaluation_on_card(network, "U-Net");
}

TEST(CudaModels, EveryOpOfEveryOptimizerRunsOnTheCard) {
  add_recording_device();
  const nn::Network network =
      nn::image_classifier({.model = &nn::model_named("resnet20"), .batch_size = 2, .image_size = 16});
  for (const optim::OptimizerEntry& entry : optim::optimizers())
    expect_all_on_card(network, entry.make(entry.defaults), std::string(entry.name),
                       {kF32, "allow_mix_precision_fp16"});
}

// A card takes no table of whole numbers.
constexpr const char* kMoved = R"(graph @moved(%table: i32[5,4], %rows: i32[3], %x: f32[3,4]) {
  %0 = gather(%table, %rows) : i32[3,4]
  %1 = cast(%0) {to=f32} : f32[3,4]
  %2 = mul(%1, %x) : f32[3,4]
  return %2
}
)";

TEST(CudaPlacement, AnOpWithoutAKernelRunsOnTheCpuAndIsNamedOnce) {
  add_recording_device();
  const Graph graph = parse_graph(kMoved);
  Arguments arguments = ridgeline::testing::random_arguments(graph);
  ::testing::internal::CaptureStderr();
  Session session({.device = "cuda_recording", .log = "placement"});
  const auto program = compile(graph, session, {});
  for (int run = 0; run < 4; ++run) {
    arguments["x"] = ridgeline::testing::random_tensor({DType::f32, {3, 4}}, "x" + std::to_string(run));
    ridgeline::testing::bind_inputs(graph, arguments, *program);
    ASSERT_TRUE(program->run());
    const Tensor expected = evaluate(graph, arguments)[static_cast<std::size_t>(graph.returns[0].value)];
    ridgeline::testing::expect_close(program->output(0), expected, 0, "run " + std::to_string(run));
  }
  const std::string log = ::testing::internal::GetCapturedStderr();
  const std::string line = "(gather) moved from cuda_recording to cpu: own: a table of whole numbers has no NaN";
  const std::size_t at = log.find(line);
  ASSERT_NE(at, std::string::npos) << log;
  EXPECT_EQ(log.find("moved from", at + line.size()), std::string::npos) << log;
}

TEST(CudaPlacement, WithoutSoftPlacementItIsRefusedByNameBeforeAnythingRuns) {
  add_recording_device();
  Session session({.device = "cuda_recording"});
  const std::size_t before = counts_of(session.device()).works;
  const std::string message = error_of([&] { compile(parse_graph(kMoved), session, {.soft_placement = false}); });
  EXPECT_NE(message.find("(gather)"), std::string::npos) << message;
  EXPECT_NE(message.find("has no kernel on device cuda_recording and allow_soft_placement is off"), std::string::npos)
      << message;
  EXPECT_EQ(counts_of(session.device()).works, before);
}

}  // namespace
}  // namespace ridgeline::cuda::testing
