// The update of dense weights that computes their gradient: the same values as separate ops, fewer bytes, and unchanged
// copies of the parameters.
#include <gtest/gtest.h>

#include "ridgeline/device/cpu/isa.h"
#include "ridgeline/device/cpu/loop/loop_kernel.h"
#include "ridgeline/device/cpu/tiles/on_tiles.h"
#include "ridgeline/graph/ir/text.h"
#include "tests/compile/list_device.h"
#include "tests/compile/support.h"

namespace ridgeline {
namespace {

using namespace testing;

constexpr const char* kTrain =
    "graph @train(%x: bf16[6,64], %dy: bf16[6,48], %w: param f32[48,64], %m: state f32[48,64], %b: param f32[48],"
    " %loss: f32[], %rate: f32[]) {\n"
    "  %0 = cast(%w) {to=bf16} : bf16[48,64]\n"
    "  %1 = dense(%x, %0) : bf16[6,48]\n"
    "  %2 = l2_penalty(%w) {factor=0.25} : f32[]\n"
    "  %3 = add(%loss, %2) : f32[]\n"
    "  %4, %5 = dense_bwd_weights(%x, %dy) {bias=true, f32_results=true} : f32[48,64], f32[48]\n"
    "  %6 = dense_bwd_data(%dy, %0) : bf16[6,64]\n"
    "  %7, %8 = sgd_momentum(%w, %m, %4, %rate) {momentum=0.9, nesterov=true, weight_decay=0.25} : f32[48,64], "
    "f32[48,64]\n"
    "  %9 = sgd(%b, %5, %rate) : f32[48]\n"
    "  update %w = %7\n"
    "  update %m = %8\n"
    "  update %b = %9\n"
    "  return %1 \"y\", %3 \"total\", %6 \"dx\"\n"
    "}\n";

KernelChoice make_scalar_dense_update(const KernelRequest& request) {
  return device::tiles::make_dense_update(request, device::tiles::Tiles::scalar);
}
KernelChoice make_scalar_dense_bwd_weights(const KernelRequest& request) {
  return device::tiles::make_dense_backward_weights(request, device::tiles::Tiles::scalar);
}

KernelChoice make_scalar_dense(const KernelRequest& request) {
  return device::tiles::make_dense_forward(request, device::tiles::Tiles::scalar);
}
KernelChoice make_scalar_dense_bwd_data(const KernelRequest& request) {
  return device::tiles::make_dense_backward_data(request, device::tiles::Tiles::scalar);
}

// A device with loops and scalar tiles, which has the bits of the machine's tiles. `update`: creates the kernel of the
// fused op. `weights`: the passes over the weights also use tiles.
SessionOptions with_tiles(KernelChoice (*update)(const KernelRequest&) = make_scalar_dense_update,
                          bool weights = false) {
  std::vector<KernelEntry> entries;
  for (const char* op : {"loop", "sgd_momentum", "sgd", "cast"})
    entries.push_back({op, "loop_interpreter", Provider::own, device::make_loop_kernel, kFloatingTypes});
  const DTypeSet types{DType::f32, DType::bf16};
  entries.push_back({"dense_update", "tiles", Provider::own, update, types});
  entries.push_back({"dense_bwd_weights", "tiles", Provider::own, make_scalar_dense_bwd_weights, types});
  if (weights) {
    entries.push_back({"dense", "tiles", Provider::own, make_scalar_dense, types});
    entries.push_back({"dense_bwd_data", "tiles", Provider::own, make_scalar_dense_bwd_data, types});
  }
  FusionLimits limits = reference_fusion_limits();
  std::erase_if(limits.forms, [](const FusedForms& forms) { return forms.op == "dense_update"; });
  limits.forms.push_back({"dense_update", "", {DType::bf16}});  // without the squares of a penalty
  return on_list_device(std::move(entries), limits);
}

struct Training {
  Graph graph;
  Session session;
  std::unique_ptr<Program> program;

  explicit Training(std::vector<std::string> disabled, SessionOptions options = with_tiles(),
                    const std::string& text = kTrain)
      : graph(parse_graph(text)), session(std::move(options)) {
    const Arguments arguments = random_arguments(graph);
    program = compile(graph, session, {.disabled_passes = std::move(disabled)});
    store_arguments(graph, arguments, session);
    bind_inputs(graph, arguments, *program);
  }
  std::int64_t runs_of(const std::string& kernel) const {
    std::int64_t runs = 0;
    for (const LaunchReport& launch : program->launches()) {
      if (launch.kernel.find(kernel) != std::string::npos) runs += launch.runs;
    }
    return runs;
  }
};

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.byte_size() == b.byte_size() && std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
}

// Runs one step of each, after which both have the same values.
void step_alike(Training& fused, Training& apart, int step) {
  ASSERT_TRUE(fused.program->run());
  ASSERT_TRUE(apart.program->run());
  for (const char* name : {"w", "m", "b"}) {
    EXPECT_TRUE(same_bits(fused.session.parameters().get(name), apart.session.parameters().get(name)))
        << name << " after step " << step;
  }
}

// The same step with this many inputs. If these are whole tiles, the weights are stored in blocks, which the penalty,
// the casts and the separate ops do not use; else in plain rows.
std::string train_text(int inputs) {
  std::string text = kTrain;
  for (std::size_t at = 0; (at = text.find("64", at)) != std::string::npos; at += 2)
    text.replace(at, 2, std::to_string(inputs));
  return text;
}

void expect_steps_alike(const std::string& text) {
  Training fused({}, with_tiles(), text), apart({"fuse_dense_update"}, with_tiles(), text);
  for (int step = 0; step < 3; ++step) {
    ASSERT_NO_FATAL_FAILURE(step_alike(fused, apart, step));
    for (const char* name : {"y", "dx"}) {
      EXPECT_TRUE(same_bits(fused.program->output(name), apart.program->output(name))) << name << ", step " << step;
    }
    expect_close(fused.program->output("total"), apart.program->output("total"), 1e-6, "total");
  }
  EXPECT_EQ(fused.runs_of("dense_update"), 3);
  EXPECT_EQ(fused.runs_of("cast"), 1) << "the update writes the copy that the next step reads";
}

TEST(DenseUpdate, GivesTheBitsOfTheOpsApartStepByStep) {
  ASSERT_NO_FATAL_FAILURE(expect_steps_alike(train_text(72)));
  ASSERT_NO_FATAL_FAILURE(expect_steps_alike(train_text(64)));
}

// Both passes over the weights read tiles: the fused update writes them; separate ops, whose loop does not know tiles,
// make them from the weights in each step.
TEST(DenseUpdate, WritesTheTilesThatTheNextStepReads) {
  Training fused({}, with_tiles(make_scalar_dense_update, true));
  Training apart({"fuse_dense_update"}, with_tiles(make_scalar_dense_update, true));
  constexpr int kSteps = 3;
  for (int step = 0; step < kSteps; ++step) {
    ASSERT_NO_FATAL_FAILURE(step_alike(fused, apart, step));
    for (const char* name : {"y", "dx"}) {
      EXPECT_TRUE(same_bits(fused.program->output(name), apart.program->output(name))) << name << ", step " << step;
    }
  }
  EXPECT_EQ(fused.runs_of("tiles of outputs"), 1);
  EXPECT_EQ(apart.runs_of("tiles of outputs"), kSteps);
}

// The CPU's own kernels in f32: the same step without casts.
std::string few_rows_text() {
  std::string text = kTrain;
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  replace("  %0 = cast(%w) {to=bf16} : bf16[48,64]\n", "");
  replace("%0", "%w");
  replace("bf16", "f32");
  return text;
}

TEST(DenseUpdate, OverFewRowsGivesTheBitsOfTheOpsApartAndThePenaltysSquares) {
  Training fused({}, {}, few_rows_text()), apart({"fuse_dense_update"}, {}, few_rows_text());
  constexpr int kSteps = 3;
  for (int step = 0; step < kSteps; ++step) {
    ASSERT_NO_FATAL_FAILURE(step_alike(fused, apart, step));
    expect_close(fused.program->output("total"), apart.program->output("total"), 1e-6, "total");
  }
  EXPECT_EQ(fused.runs_of("dense_update of few rows"), kSteps);
  EXPECT_EQ(fused.runs_of("l2_penalty"), 0);
  EXPECT_EQ(apart.runs_of("dense_bwd_weights of few rows"), kSteps);
  EXPECT_EQ(apart.runs_of("l2_penalty"), kSteps);
}

// Passes that read weights in plain rows, and an update on tiles, whose states are in blocks: it writes the copy in
// rows.
TEST(DenseUpdate, OnTilesWritesTheRowsThatPassesOverFewRowsRead) {
  if (device::active_isa() != device::Isa::amx) GTEST_SKIP() << "the instruction set in force has no tiles";
  std::string text = kTrain;
  for (std::size_t at = 0; (at = text.find("[6,", at)) != std::string::npos;) text.replace(at, 3, "[2,");
  Training fused({}, {}, text), apart({"fuse_dense_update"}, {}, text);
  constexpr int kSteps = 3;
  for (int step = 0; step < kSteps; ++step) {
    ASSERT_NO_FATAL_FAILURE(step_alike(fused, apart, step));
    for (const char* name : {"y", "dx"}) {
      EXPECT_TRUE(same_bits(fused.program->output(name), apart.program->output(name))) << name << ", step " << step;
    }
  }
  EXPECT_EQ(fused.runs_of("dense of few rows"), kSteps);
  EXPECT_EQ(fused.runs_of("dense_update amx, blocks"), kSteps);
  EXPECT_EQ(apart.runs_of("dense_bwd_weights amx"), kSteps);
}

TEST(DenseUpdate, TheGradientIsNeitherWrittenNorRead) {
  const std::string text = train_text(72);
  const Training fused({}, with_tiles(), text), apart({"fuse_dense_update"}, with_tiles(), text);
  constexpr std::size_t kGradient = 48 * 72 * 4;
  EXPECT_EQ(apart.program->counts().bytes() - fused.program->counts().bytes(), 2 * kGradient);
  EXPECT_EQ(apart.program->counts().launches - fused.program->counts().launches, 1u);
}

TEST(DenseUpdate, WhereNoKernelTakesItTheOpsStayApart) {
  Training run({}, with_tiles(make_never));
  ASSERT_TRUE(run.program->run());
  EXPECT_EQ(run.runs_of("dense_update"), 0);
  EXPECT_EQ(run.runs_of("own dense_bwd_weights scalar tiles"), 1);
}

// In a training another kernel may have chosen the layout of the weights: this kernel needs plain rows or its own
// blocks, so the ops are not merged.
TEST(DenseUpdate, WeightsInAnotherLayoutAreLeftToTheOpsApart) {
  const Graph forward = parse_graph(
      "graph @forward(%x: f32[6,64], %w: param f32[48,64]) {\n  %0 = dense(%x, %w) : f32[6,48]\n  return %0 "
      "\"y\"\n}\n");
  SessionOptions options = on_list_device(
      {{"dense", "columns", Provider::own, make_columns_dense},
       {"dense_update", "tiles", Provider::own, make_scalar_dense_update, {DType::f32, DType::bf16}},
       {"dense_bwd_weights", "tiles", Provider::own, make_scalar_dense_bwd_weights, {DType::f32, DType::bf16}}},
      reference_fusion_limits());
  Session session(std::move(options));
  const Graph graph = parse_graph(kTrain);
  const Arguments arguments = random_arguments(graph);
  const auto first = compile(forward, session);
  const auto program = compile(graph, session);
  store_arguments(graph, arguments, session);
  bind_inputs(graph, arguments, *program);
  const Arguments next = evaluate_updates(graph, arguments);
  ASSERT_TRUE(program->run());
  for (const LaunchReport& launch : program->launches())
    EXPECT_EQ(launch.kernel.find("dense_update"), std::string::npos) << launch.kernel;
  expect_close(session.parameters().get("w"), next.at("w"), 1e-5, "w");
}

}  // namespace
}  // namespace ridgeline
