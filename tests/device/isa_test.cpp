#include "ridgeline/device/cpu/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "ridgeline/core/error.h"

namespace ridgeline::device {
namespace {

// Asks in a process of its own: the choice is made once a process. Prints to standard error what was chosen or said.
void choose_under(const char* wanted) {
  ::setenv("RIDGELINE_ISA", wanted, 1);
  try {
    std::fprintf(stderr, "chosen: %s\n", std::string(name_of(active_isa())).c_str());
  } catch (const Error& e) {
    std::fprintf(stderr, "error %d: %s\n", e.kind() == ErrorKind::usage ? 2 : 1, e.what());
  }
  std::_Exit(0);
}

class IsaDeathTest : public testing::Test {
 protected:
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(IsaDeathTest, TheEnvironmentForcesAnyThatTheMachineHas) {
  for (Isa isa : machine_isas()) {
    const std::string name(name_of(isa));
    EXPECT_EXIT(choose_under(name.c_str()), testing::ExitedWithCode(0), "chosen: " + name + "\n");
  }
  EXPECT_EXIT(choose_under(""), testing::ExitedWithCode(0),
              "chosen: " + std::string(name_of(machine_isas().back())) + "\n");
}

TEST_F(IsaDeathTest, UnknownNamesAndMissingInstructionsAreRefused) {
  EXPECT_EXIT(choose_under("sse"), testing::ExitedWithCode(0),
              "error 2: RIDGELINE_ISA is 'sse' .allowed: avx2, avx512, avx512_bf16, amx.");
  const auto isas = machine_isas();
  if (std::find(isas.begin(), isas.end(), Isa::amx) != isas.end()) GTEST_SKIP() << "this machine has them all";
  EXPECT_EXIT(choose_under("amx"), testing::ExitedWithCode(0),
              "error 2: RIDGELINE_ISA=amx, but this machine has only avx2");
}

// The same for dot products.
void ask_for_dots_under(const char* isa, const char* wanted) {
  ::setenv("RIDGELINE_ISA", isa, 1);
  ::setenv("RIDGELINE_BF16_DOTS", wanted, 1);
  try {
    const bool fast = fast_bf16_dots();
    std::fprintf(stderr, "dots: %s, rate %d\n", fast ? "fast" : "slow", bf16_products_rate());
  } catch (const Error& e) {
    std::fprintf(stderr, "error %d: %s\n", e.kind() == ErrorKind::usage ? 2 : 1, e.what());
  }
  std::_Exit(0);
}

TEST_F(IsaDeathTest, DotProductsAreFastWhereTheInstructionSetHasThemAndTheMakerOrTheEnvironmentSaysSo) {
  EXPECT_EXIT(ask_for_dots_under("avx2", "fast"), testing::ExitedWithCode(0), "dots: slow, rate 1\n");
  const auto isas = machine_isas();
  if (std::find(isas.begin(), isas.end(), Isa::avx512_bf16) == isas.end()) {
    GTEST_SKIP() << "this machine has no bf16 dot products";
  }
  EXPECT_EXIT(ask_for_dots_under("avx512", "fast"), testing::ExitedWithCode(0), "dots: slow, rate 1\n");
  EXPECT_EXIT(ask_for_dots_under("avx512_bf16", "fast"), testing::ExitedWithCode(0), "dots: fast, rate 2\n");
  EXPECT_EXIT(ask_for_dots_under("avx512_bf16", "slow"), testing::ExitedWithCode(0), "dots: slow, rate 1\n");
  EXPECT_EXIT(ask_for_dots_under("avx512_bf16", "often"), testing::ExitedWithCode(0),
              "error 2: RIDGELINE_BF16_DOTS is 'often' .allowed: fast, slow.");
  std::ifstream cpus("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(cpus), {}};
  const bool amd = text.find("AuthenticAMD") != std::string::npos;
  EXPECT_EXIT(ask_for_dots_under("avx512_bf16", ""), testing::ExitedWithCode(0), amd ? "dots: fast" : "dots: slow");
  if (isas.back() != Isa::amx) return;
  EXPECT_EXIT(ask_for_dots_under("amx", "slow"), testing::ExitedWithCode(0), "dots: slow, rate 8\n");
}

// under_isa.sh asks whether the machine has the one that RIDGELINE_ISA names.
TEST(Isa, TheOneInForceIsOneOfTheMachines) {
  const auto isas = machine_isas();
  EXPECT_NE(std::find(isas.begin(), isas.end(), active_isa()), isas.end());
}

TEST(Isa, TheMachinesAreListedLowestFirst) {
  const auto isas = machine_isas();
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.front(), Isa::avx2);
  EXPECT_TRUE(std::is_sorted(isas.begin(), isas.end()));
}

}  // namespace
}  // namespace ridgeline::device
