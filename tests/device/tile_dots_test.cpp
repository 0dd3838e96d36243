// Sums of the machine's bf16 dot products, which are rounded in another order than those of tile registers.
#include <bit>
#include <cmath>
#include <limits>

#include "tile_support.h"

namespace ridgeline {
namespace {

using namespace device::tiles;

// AVX-512 adds the two products of a dot product one after the other, each rounded once to nearest: a sum of n products
// and the previous value has n roundings. Arm adds the two products first and then their sum, each rounded to odd,
// which may be off by twice as much: n / 2 + 1 roundings, and as many units as n + 2 of the others. So an error is at
// most n u / (1 - n u) of the sum of magnitudes, u = 2^-24, with two more in n.
TEST(TileDots, DotProductsAreWithinTheirRoundings) {
  if (machine_tiles().size() < 2) GTEST_SKIP() << "this machine has no bf16 dot products";
  const TileCode& code = tile_code(Tiles::dots);
  for (const std::int64_t steps : {0, 1, 2, 9, 40}) {
    const std::int64_t row = steps * kTileDepth + 32;
    const Tensor a = random_bf16({32 * row}, 11), b = random_bf16({2 * steps * kTileValues + 1}, 12);
    const Tensor before = random_tensor({4 * kTileSums}, 13);
    const auto* const at_a = a.data<bfloat16>();
    const auto* const at_b = b.data<bfloat16>();
    std::vector<std::int64_t> a_offsets, b_offsets;
    for (std::int64_t i = 0; i < steps; ++i) {
      a_offsets.push_back((steps - 1 - i) * kTileDepth);
      b_offsets.push_back(i * kTileValues);
    }
    for (std::int64_t rows = 1; rows <= 2; ++rows) {
      for (std::int64_t columns = 1; columns <= 2; ++columns) {
        for (const bool add : {false, true}) {
          TileSums sums, earlier, onto;
          std::copy_n(before.data<float>(), 4 * kTileSums, sums.at);
          std::copy_n(before.data<float>(), 4 * kTileSums, earlier.at);
          std::copy_n(before.data<float>(), 4 * kTileSums, onto.at);
          TileProduct product{};
          product.a[0] = at_a, product.a[1] = at_a + 16 * row;
          product.a_row = row;
          product.a_offsets = a_offsets.data();
          product.b[0] = at_b, product.b[1] = at_b + steps * kTileValues;
          product.b_offsets = b_offsets.data();
          product.steps = steps;
          product.c = sums.at;
          product.add = add;
          product.earlier = earlier.at, product.onto = onto.at, product.add_earlier = true;
          {
            const TileScope scope(code);
            code.multiply[rows - 1][columns - 1](product);
          }
          for (std::int64_t r = 0; r < 16 * rows; ++r) {
            for (std::int64_t column = 0; column < 16 * columns; ++column) {
              const std::int64_t at = (r / 16 * 2 + column / 16) * kTileSums + r % 16 * 16 + column % 16;
              double exact = add ? before.at(at) : 0, sizes = std::abs(exact);
              for (std::int64_t k = 0; k < steps * kTileDepth; ++k) {
                const std::int64_t step = k / kTileDepth, depth = k % kTileDepth;
                const bfloat16 x = product.a[r / 16][r % 16 * row + a_offsets[static_cast<std::size_t>(step)] + depth];
                const bfloat16 y =
                    product.b[column / 16][step * kTileValues + depth / 2 * 32 + column % 16 * 2 + depth % 2];
                const double value = static_cast<double>(to_float(x)) * static_cast<double>(to_float(y));
                exact += value;
                sizes += std::abs(value);
              }
              const double n = static_cast<double>(steps * kTileDepth + 2) * 0x1p-24;
              ASSERT_LE(std::abs(static_cast<double>(sums.at[at]) - exact), n / (1 - n) * sizes)
                  << steps << " steps, row " << r << ", column " << column;
            }
          }
          for (std::int64_t i = 0; i < 4 * kTileSums; ++i) ASSERT_EQ(onto.at[i], 2 * before.data<float>()[i]) << i;
        }
      }
    }
  }
}

// The sum of two values rounded to odd: towards zero, and where that loses something, the last bit is set.
float sum_to_odd(float a, float b) {
  const double x = a, y = b, sum = x + y, of_y = sum - x;
  const double lost = (x - (sum - of_y)) + (y - of_y);
  auto cut = static_cast<float>(sum);
  if (cut == sum && lost == 0) return cut;
  const double beyond = static_cast<double>(cut) - sum - lost;
  if (beyond != 0 && std::signbit(beyond) == std::signbit(cut)) cut = std::nextafter(cut, 0.0f);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(cut) | 1u);
}

// As Arm's manual defines BFMMLA where FPCR.EBF is 0: pairs of depths in order, subnormal numbers as zeros.
TEST(TileDots, ArmsSumsAreRoundedToOdd) {
  if (device::active_isa() != device::Isa::neon_bf16) GTEST_SKIP() << "this machine has no bfmmla";
  constexpr std::int64_t kSteps = 6;
  const auto a = tile_values(kTileRows * kSteps * kTileDepth, 21), b = tile_values(kSteps * kTileValues, 22);
  const Tensor before = random_tensor({kTileSums}, 23, -100, 100);
  std::vector<std::int64_t> a_offsets, b_offsets;
  for (std::int64_t i = 0; i < kSteps; ++i) {
    a_offsets.push_back(i * kTileDepth);
    b_offsets.push_back(i * kTileValues);
  }
  TileSums sums;
  std::copy_n(before.data<float>(), kTileSums, sums.at);
  TileProduct product{};
  product.a[0] = a.data();
  product.a_row = kSteps * kTileDepth;
  product.a_offsets = a_offsets.data();
  product.b[0] = b.data();
  product.b_offsets = b_offsets.data();
  product.steps = kSteps;
  product.c = sums.at;
  product.add = true;
  tile_code(Tiles::dots).multiply[0][0](product);
  const auto value = [](bfloat16 v) {
    const float x = to_float(v);
    return std::abs(x) < std::numeric_limits<float>::min() ? 0.0f : x;
  };
  for (std::int64_t row = 0; row < kTileRows; ++row) {
    for (std::int64_t column = 0; column < kTileColumns; ++column) {
      float expected = before.data<float>()[row * 16 + column];
      for (std::int64_t depth = 0; depth < kSteps * kTileDepth; depth += 2) {
        const bfloat16* const of_a = a.data() + row * product.a_row + depth;
        const bfloat16* const of_b = b.data() + depth / 2 * 32 + column * 2;
        const float pair = sum_to_odd(value(of_a[0]) * value(of_b[0]), value(of_a[1]) * value(of_b[1]));
        expected = sum_to_odd(expected, pair);
      }
      ASSERT_EQ(sums.at[row * 16 + column], expected) << row << ", " << column;
    }
  }
}

// Tiles made by transpose() give the sums of the same tiles without it.
TEST(TileDots, TurnedTilesGiveTheSumsOfPlainOnes) {
  if (machine_tiles().size() < 2) GTEST_SKIP() << "this machine has no bf16 dot products";
  const TileCode& code = tile_code(Tiles::dots);
  ASSERT_TRUE(code.turns_a);
  constexpr std::int64_t kSteps = 3, kFilters = 32, kOffsets[] = {0, kTileValues, 2 * kTileValues};
  const auto from = tile_values(kSteps * kTileDepth * kFilters, 14), b = tile_values(2 * kSteps * kTileValues, 15);
  for (const std::int64_t length : {1, 9, 16}) {
    std::vector<bfloat16> plain(2 * kSteps * kTileValues), turned(2 * kSteps * kTileValues);
    for (std::int64_t tile = 0; tile < 2; ++tile) {
      for (std::int64_t step = 0; step < kSteps; ++step) {
        const bfloat16* rows[kTileDepth];
        for (std::int64_t r = 0; r < kTileDepth; ++r) {
          rows[r] = r == 5 || r == 8 ? nullptr : from.data() + (step * kTileDepth + r) * kFilters;
        }
        const std::int64_t at = (tile * kSteps + step) * kTileValues;
        scalar_tile_code().transpose(rows, tile * kTileRows, length, plain.data() + at);
        code.transpose(rows, tile * kTileRows, length, turned.data() + at);
      }
    }
    TileSums of_plain, of_turned;
    TileProduct product{};
    product.a_row = kTileDepth;
    product.a_offsets = product.b_offsets = kOffsets;
    product.b[0] = b.data(), product.b[1] = b.data() + kSteps * kTileValues;
    product.steps = kSteps;
    const auto multiply = [&](const std::vector<bfloat16>& a, bool is_turned, TileSums& sums) {
      product.a[0] = a.data(), product.a[1] = a.data() + kSteps * kTileValues;
      product.a_turned = is_turned;
      product.c = sums.at;
      const TileScope scope(code);
      code.multiply[1][1](product);
    };
    multiply(plain, false, of_plain);
    multiply(turned, true, of_turned);
    for (std::int64_t i = 0; i < 4 * kTileSums; ++i) ASSERT_EQ(of_plain.at[i], of_turned.at[i]) << length << " " << i;
  }
}

}  // namespace
}  // namespace ridgeline
