// Fusion that is requested, and fusion that is left to the device, on devices with and without a compiler for loops.
#include "ridgeline/compile/fusion_switch.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "ridgeline/core/error.h"
#include "ridgeline/graph/ir/text.h"
#include "tests/compile/sum_of_products.h"
#include "tests/compile/support.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline {
namespace {

using namespace testing;

const SessionOptions kUnfused{.device = "simulated_unfused"};

// The kernels of a run whose result is that of the references, without copies of inputs to the device.
std::size_t kernels_of(const SessionOptions& device, std::optional<bool> fusion) {
  const Graph graph = parse_graph(kSum);
  Session session(device);
  const auto program = compile(graph, session, {.fusion = fusion});
  const Arguments arguments = random_arguments(graph);
  bind_inputs(graph, arguments, *program);
  EXPECT_TRUE(program->run());
  expect_close(program->output("sum"), evaluate(graph, arguments).back(), 1e-5, "sum");
  std::size_t kernels = 0;
  for (const LaunchReport& launch : program->launches()) kernels += launch.kernel != "copy";
  return kernels;
}

TEST(FusionSwitch, LeftToTheDeviceItIsAsMuchAsTheDeviceCan) {
  EXPECT_EQ(kernels_of({}, std::nullopt), 1u);
  EXPECT_EQ(kernels_of({.device = "simulated"}, std::nullopt), 1u);
  EXPECT_EQ(kernels_of(kUnfused, std::nullopt), 3u);
}

TEST(FusionSwitch, OffIsOffEverywhere) {
  for (const SessionOptions& device : {SessionOptions{}, SessionOptions{.device = "simulated"}, kUnfused})
    EXPECT_EQ(kernels_of(device, false), 3u) << device.device;
}

TEST(FusionSwitch, AskedForItIsRefusedWhereTheDeviceHasNoCompiler) {
  EXPECT_EQ(kernels_of({}, true), 1u);
  EXPECT_EQ(kernels_of({.device = "simulated"}, true), 1u);
  const Graph graph = parse_graph(kSum);
  Session session(kUnfused);
  const std::string folder = temporary_directory() + "/never_written";
  const auto refusal = [&](auto&& compile_it) -> std::string {
    try {
      compile_it();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.what();
    }
    return "";
  };
  const std::string expected =
      "fusion: not supported on this backend: device 'simulated_unfused' has no compiler for fused loops (allowed: "
      "False, or leave it out)";
  EXPECT_EQ(refusal([&] { compile(graph, session, {.fusion = true, .dump_directory = folder}); }), expected);
  EXPECT_EQ(refusal([&] { count_launches(graph, session, {.fusion = true}); }), expected);
  EXPECT_FALSE(std::filesystem::exists(folder)) << "what is refused writes nothing";
  EXPECT_EQ(compile(graph, session)->graph().nodes.size(), 3u) << "the session is as it was";
}

TEST(FusionSwitch, ADeviceSaysByItsLimitsWhetherItHasACompiler) {
  for (const DeviceEntry* entry : devices()) {
    if (entry->name == "cuda") continue;  // a separate library, which needs a driver
    EXPECT_EQ(entry->make({})->name(), entry->name);
    EXPECT_EQ(compiles_loops(*entry->make({})), entry->name != "simulated_unfused") << entry->name;
  }
}

TEST(FusionSwitch, TheLogSaysOnceThatADeviceHasNoCompiler) {
  const Graph graph = parse_graph(kSum);
  const auto said = [&](const SessionOptions& device, std::optional<bool> fusion) {
    ::testing::internal::CaptureStderr();
    Session session(device);
    compile(graph, session, {.fusion = fusion});
    compile(graph, session, {.fusion = fusion});
    return ::testing::internal::GetCapturedStderr();
  };
  const std::string text = said(kUnfused, std::nullopt),
                    line = "device simulated_unfused has no compiler for fused loops";
  EXPECT_NE(text.find(line), std::string::npos) << text;
  EXPECT_EQ(text.find(line), text.rfind(line)) << text;
  EXPECT_EQ(said(kUnfused, false), "");
  EXPECT_EQ(said({}, std::nullopt), "");
}

}  // namespace
}  // namespace ridgeline
