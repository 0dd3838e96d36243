#include "ridgeline/device/cpu/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "ridgeline/core/error.h"
#include "ridgeline/device/cpu/isa_machine.h"

namespace ridgeline::device {
namespace {

// Runs in a separate process, since the choice is made once per process. Prints the choice or the error to standard
// error.
void choose_under(const char* wanted) {
  ::setenv("RIDGELINE_ISA", wanted, 1);
  try {
    std::fprintf(stderr, "chosen: %s\n", std::string(name_of(active_isa())).c_str());
  } catch (const Error& e) {
    std::fprintf(stderr, "error %d: %s\n", e.kind() == ErrorKind::usage ? 2 : 1, e.what());
  }
  std::_Exit(0);
}

std::string names_of(std::span<const Isa> isas) {
  std::string text;
  for (const Isa isa : isas) text += (text.empty() ? "" : ", ") + std::string(name_of(isa));
  return text;
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
              "error 2: RIDGELINE_ISA is 'sse' .allowed: " + names_of(architecture_isas()) + ".");
  const std::span<const Isa> isas = machine_isas();
  const Isa highest = architecture_isas().back();
  if (isas.back() == highest) GTEST_SKIP() << "this machine has them all";
  const std::string name(name_of(highest));
  EXPECT_EXIT(choose_under(name.c_str()), testing::ExitedWithCode(0),
              "error 2: RIDGELINE_ISA=" + name + ", but this machine has only " + names_of(isas));
}

// The same for bf16 dot products.
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
  const std::string lowest(name_of(machine_isas().front()));
  EXPECT_EXIT(ask_for_dots_under(lowest.c_str(), "fast"), testing::ExitedWithCode(0), "dots: slow, rate 1\n");
  const auto isas = machine_isas();
  const auto with = std::find_if(isas.begin(), isas.end(), has_bf16_dots);
  if (with == isas.end()) GTEST_SKIP() << "this machine has no bf16 dot products";
  const bool arm = *with == Isa::neon_bf16;
  const std::string without(name_of(*std::prev(with))), dots(name_of(*with));
  const std::string fast = arm ? "dots: fast, rate 3\n" : "dots: fast, rate 2\n";
  EXPECT_EXIT(ask_for_dots_under(without.c_str(), "fast"), testing::ExitedWithCode(0), "dots: slow, rate 1\n");
  EXPECT_EXIT(ask_for_dots_under(dots.c_str(), "fast"), testing::ExitedWithCode(0), fast);
  EXPECT_EXIT(ask_for_dots_under(dots.c_str(), "slow"), testing::ExitedWithCode(0), "dots: slow, rate 1\n");
  EXPECT_EXIT(ask_for_dots_under(dots.c_str(), "often"), testing::ExitedWithCode(0),
              "error 2: RIDGELINE_BF16_DOTS is 'often' .allowed: fast, slow.");
  std::ifstream cpus("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(cpus), {}};
  const bool makers = arm || text.find("AuthenticAMD") != std::string::npos;
  EXPECT_EXIT(ask_for_dots_under(dots.c_str(), ""), testing::ExitedWithCode(0), makers ? fast : "dots: slow");
  if (isas.back() != Isa::amx) return;
  EXPECT_EXIT(ask_for_dots_under("amx", "slow"), testing::ExitedWithCode(0), "dots: slow, rate 8\n");
}

// under_isa.sh checks whether the machine has the instruction set RIDGELINE_ISA.
TEST(Isa, TheOneInForceIsOneOfTheMachines) {
  const auto isas = machine_isas();
  EXPECT_NE(std::find(isas.begin(), isas.end(), active_isa()), isas.end());
}

TEST(Isa, TheMachinesAreListedLowestFirst) {
  const auto isas = machine_isas();
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.front(), architecture_isas().front());
  EXPECT_TRUE(std::is_sorted(isas.begin(), isas.end()));
}

}  // namespace
}  // namespace ridgeline::device
