#include "ridgeline/device/cpu/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

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

TEST(Isa, TheMachinesAreListedLowestFirst) {
  const auto isas = machine_isas();
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.front(), Isa::avx2);
  EXPECT_TRUE(std::is_sorted(isas.begin(), isas.end()));
}

}  // namespace
}  // namespace ridgeline::device
