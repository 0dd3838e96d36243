// Uniform random numbers by counter are exactly those of the formula, under every instruction set.
#include "ridgeline/device/uniform_fill.h"

#include <gtest/gtest.h>

#include <vector>

#include "ridgeline/device/cpu/isa.h"

namespace ridgeline {
namespace {

float by_the_formula(PhiloxKey key, double amount, std::uint64_t block, std::size_t lane) {
  const PhiloxBlock words =
      philox4x32(key, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0});
  return static_cast<float>(amount * ((static_cast<double>(words[lane] >> 8) + 0.5) * 0x1p-23 - 1.0));
}

TEST(UniformFill, GivesTheFormulasBitsUnderEveryInstructionSet) {
  const PhiloxKey key = philox_key(5, "weights");
  const device::Isa before = device::active_isa();
  for (const device::Isa isa : device::machine_isas()) {
    device::force_isa_for_test(isa);
    // The last one begins where the lower half of the counter overflows.
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{12345}, (std::uint64_t{1} << 32) - 3}) {
      for (const std::size_t count : {1u, 7u, 64u, 1001u}) {
        std::vector<float> got(count + 1, -9.0f);
        device::fill_symmetric_uniform(key, 0.037, first, {got.data(), count});
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(got[i], by_the_formula(key, 0.037, first + i / 4, i % 4)) << device::name_of(isa) << " " << i;
        EXPECT_EQ(got[count], -9.0f) << "nothing is written behind the end";
      }
    }
  }
  device::force_isa_for_test(before);
}

}  // namespace
}  // namespace ridgeline
