// The tile interface: scalar tiles and tile registers give the same bits for all operations that kernels use, and dot
// products move values equally. Their sums, which are rounded in another order: tile_dots_test.cpp.
#include <bit>
#include <cmath>
#include <limits>

#include "ridgeline/device/cpu/tiles/added_products.h"
#include "tile_support.h"

namespace ridgeline {
namespace {

using namespace device::tiles;

// Results of tiles for random and special values, from scalar tiles and others.
template <class Make>
void expect_same(Tiles tiles, const Make& make) {
  const auto expected = make(tile_code(Tiles::scalar));
  const auto got = make(tile_code(tiles));
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if constexpr (std::is_same_v<std::decay_t<decltype(got[0])>, bfloat16>) {
      ASSERT_EQ(got[i].bits, expected[i].bits) << i;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(expected[i])) << i;
    }
  }
}

template <class Make>
void expect_same(const Make& make) {
  if (machine_tiles().back() != Tiles::amx) GTEST_SKIP() << "this machine has no tile registers";
  expect_same(Tiles::amx, make);
}

// Results of moves, which are the same code for tile registers and dot products.
template <class Make>
void expect_same_moves(const Make& make) {
  if (machine_tiles().size() < 2) GTEST_SKIP() << "this machine has scalar tiles only";
  expect_same(Tiles::dots, make);
}

TEST(TileProducts, ProductsSumInTheSameOrder) {
  expect_same([](const TileCode& code) {
    constexpr std::int64_t kSteps = 5;
    const auto a = tile_values(2 * kTileRows * kSteps * kTileDepth, 1);
    const auto b = tile_values(2 * kSteps * kTileValues, 2);
    std::vector<std::int64_t> a_offsets, b_offsets;
    for (std::int64_t i = 0; i < kSteps; ++i) {
      a_offsets.push_back((kSteps - 1 - i) * kTileDepth);
      b_offsets.push_back(i * kTileValues);
    }
    std::vector<float> all;
    for (int rows = 0; rows < 2; ++rows) {
      for (int columns = 0; columns < 2; ++columns) {
        for (const bool add : {false, true}) {
          TileSums sums;
          std::fill_n(sums.at, 4 * kTileSums, 0.375f);
          const TileScope scope(code);
          LinesAhead ahead(a.data(), 2, 100, 300);
          code.multiply[rows][columns]({{a.data(), a.data() + kTileRows * kSteps * kTileDepth},
                                        kSteps * kTileDepth,
                                        a_offsets.data(),
                                        {b.data(), b.data() + kSteps * kTileValues},
                                        b_offsets.data(),
                                        kSteps,
                                        sums.at,
                                        add,
                                        &ahead,
                                        2});
          all.insert(all.end(), sums.at, sums.at + 4 * kTileSums);
        }
      }
    }
    return all;
  });
}

// Rows further apart than the width of a product, and nothing after its columns.
TEST(TileProducts, SumsInRowsAreThoseOfTilesSideBySide) {
  constexpr std::int64_t kSteps = 3, kRow = 48;
  const auto a = tile_values(2 * kTileRows * kSteps * kTileDepth, 1), b = tile_values(2 * kSteps * kTileValues, 2);
  const std::vector<std::int64_t> a_offsets = {0, kTileDepth, 2 * kTileDepth}, b_offsets = {0, 512, 1024};
  for (const Tiles tiles : machine_tiles()) {
    const TileCode& code = tile_code(tiles);
    for (std::size_t rows = 0; rows < 2; ++rows) {
      for (std::size_t columns = 0; columns < 2; ++columns) {
        TileSums packed;
        alignas(64) float in_rows[32 * kRow];
        TileProduct product{};
        product.a[0] = a.data();
        product.a[1] = a.data() + kTileRows * kSteps * kTileDepth;
        product.a_row = kSteps * kTileDepth;
        product.a_offsets = a_offsets.data();
        product.b[0] = b.data();
        product.b[1] = b.data() + kSteps * kTileValues;
        product.b_offsets = b_offsets.data();
        product.steps = kSteps;
        const TileScope scope(code);
        product.c = packed.at;
        code.multiply[rows][columns](product);
        std::fill_n(in_rows, 32 * kRow, -1.0f);
        product.c = in_rows;
        product.c_row = kRow;
        code.multiply[rows][columns](product);
        for (std::size_t row = 0; row < 32; ++row) {
          for (std::size_t column = 0; column < kRow; ++column) {
            const bool there = row < 16 * (rows + 1) && column < 16 * (columns + 1);
            const std::size_t tile = row / 16 * 2 + column / 16;
            const float expected = there ? packed.at[tile * kTileSums + row % 16 * 16 + column % 16] : -1.0f;
            ASSERT_EQ(in_rows[row * kRow + column], expected) << row << ", " << column;
          }
        }
      }
    }
  }
}

// With more steps than lines of sums, with fewer, and with none.
TEST(TileProducts, SumsAddedByTheNextProductAreThoseOfProductsThatAdd) {
  const auto a = tile_values(2 * kTileRows * kTileDepth, 1), b = tile_values(4 * kTileValues, 2);
  for (const std::int64_t steps : {0, 1, 3, 6, 70}) {
    expect_same([&](const TileCode& code) {
      const std::vector<std::int64_t> offsets(static_cast<std::size_t>(steps), 0);
      TileSums sums[2];
      for (TileSums& s : sums) std::fill_n(s.at, 4 * kTileSums, 0.375f);
      const TileScope scope(code);
      AddedProducts products(code);
      for (const int i : {0, 1, 1, 0}) {
        TileProduct product{};
        product.a[0] = a.data();
        product.a[1] = a.data() + kTileRows * kTileDepth;
        product.a_row = kTileDepth;
        product.b[0] = b.data() + i * 2 * kTileValues;
        product.b[1] = product.b[0] + kTileValues;
        product.a_offsets = product.b_offsets = offsets.data();
        product.steps = steps;
        products.multiply(product, 2, 2, sums[i].at, i == 0);
      }
      products.finish();
      products.finish();
      // The first one twice, added to the previous values; the second one replacing them.
      std::vector<float> all(sums[0].at, sums[0].at + 4 * kTileSums);
      all.insert(all.end(), sums[1].at, sums[1].at + 4 * kTileSums);
      if (steps == 0) {
        EXPECT_EQ(all.front(), 0.375f);
        EXPECT_EQ(all.back(), 0.0f);
      } else {
        EXPECT_NE(all.front(), 0.375f);
      }
      return all;
    });
  }
}

TEST(TileProducts, LinesAreFetchedRunByRunAndThenTheOthers) {
  const bfloat16 values[1] = {};
  LinesAhead last(values, 1, 33, 0), first(values, 3, 64, 1000, &last);
  EXPECT_EQ(first.lines(), 8);
  first.fetch(7);
  EXPECT_EQ(first.lines(), 2) << "one is begun";
  first.fetch(5);
  EXPECT_EQ(first.lines(), 0);
  EXPECT_EQ(LinesAhead().lines(), 0);
}

TEST(TileProducts, RoundedValuesAreThoseOfToBfloat16) {
  const Tensor t = random_tensor({100}, 9, -1e4, 1e4);
  std::vector<float> from(t.data<float>(), t.data<float>() + t.elements());
  const float nan = std::bit_cast<float>(0x7f800001u);
  const float special[] = {1e-39f,
                           -0.0f,
                           1 + 0x1p-8f,
                           1 + 3 * 0x1p-8f,
                           nan,
                           std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::max()};
  std::copy(std::begin(special), std::end(special), from.begin() + 3);
  expect_same_moves([&](const TileCode& code) {
    std::vector<bfloat16> to(100);
    code.round(from.data(), 100 - 3, to.data());
    for (std::size_t i = 0; i < 97; ++i) EXPECT_EQ(to[i].bits, to_bfloat16(from[i]).bits) << i;
    return to;
  });
}

TEST(TileProducts, FinishedSumsAreRoundedAlike) {
  expect_same_moves([](const TileCode& code) {
    TileSums sums;
    const Tensor t = random_tensor({2 * kTileSums}, 3);
    std::copy_n(t.data<float>(), 2 * kTileSums, sums.at);
    sums.at[5] = std::numeric_limits<float>::quiet_NaN();
    sums.at[6] = -std::numeric_limits<float>::infinity();
    sums.at[7] = -0.0f;
    sums.at[8] = 1 + 0x1p-8f;  // a tie
    const Tensor bias = random_tensor({32}, 4);
    const auto added = tile_values(kTileRows * 40, 6);
    const bfloat16* addends[kTileRows];
    for (std::int64_t r = 0; r < kTileRows; ++r) addends[r] = r == 3 ? nullptr : added.data() + r * 40;
    std::vector<bfloat16> all;
    for (const std::int64_t columns : {1, 16, 17, 32}) {
      for (const bool relu : {false, true}) {
        for (const float* b : {static_cast<const float*>(nullptr), bias.data<float>()}) {
          std::vector<bfloat16> out(kTileRows * 40, to_bfloat16(9));
          bfloat16* rows[kTileRows];
          for (std::int64_t r = 0; r < kTileRows; ++r) rows[r] = r == 3 ? nullptr : out.data() + r * 40;
          code.finish({sums.at, columns, b, relu, rows});
          all.insert(all.end(), out.begin(), out.end());
          code.finish({sums.at, columns, b, relu, rows, addends});
          all.insert(all.end(), out.begin(), out.end());
          code.finish({sums.at, columns, b, relu, rows, nullptr, true});
          all.insert(all.end(), out.begin(), out.end());
          code.finish({sums.at, columns, b, relu, rows, nullptr, false, addends});
          all.insert(all.end(), out.begin(), out.end());
          alignas(64) bfloat16 lines[kTileRows * 32] = {};
          for (std::int64_t r = 0; r < kTileRows; ++r) rows[r] = r == 3 ? nullptr : lines + r * 32;
          code.finish({sums.at, columns, b, relu, rows, nullptr, false, nullptr, true});
          all.insert(all.end(), lines, lines + kTileRows * 32);
        }
      }
    }
    return all;
  });
}

TEST(TileProducts, SplitValuesHaveTheSameHalves) {
  const Tensor t = random_tensor({200}, 8, -1e4, 1e4);
  std::vector<float> from(t.data<float>(), t.data<float>() + t.elements());
  from[3] = 1e-39f;        // subnormal
  from[4] = 0x1.01p-126f;  // its low half is
  from[5] = std::numeric_limits<float>::infinity();
  from[6] = -0.0f;
  expect_same_moves([&](const TileCode& code) {
    std::vector<bfloat16> high(200), low(200);
    code.split(from.data(), 200 - 5, high.data(), low.data());
    for (std::size_t i = 7; i < 195; ++i) {
      EXPECT_NEAR(to_float(high[i]) + to_float(low[i]), from[i], std::abs(from[i]) * 0x1p-16) << i;
    }
    high.insert(high.end(), low.begin(), low.end());
    return high;
  });
}

TEST(TileProducts, WideSumsAreFinishedAlike) {
  expect_same_moves([](const TileCode& code) {
    TileSums sums;
    const Tensor t = random_tensor({2 * kTileSums}, 3), bias = random_tensor({32}, 4);
    std::copy_n(t.data<float>(), 2 * kTileSums, sums.at);
    sums.at[5] = std::numeric_limits<float>::quiet_NaN();
    sums.at[7] = -0.0f;
    const Tensor gate = random_tensor({kTileRows, 32}, 5);
    const float* gates[kTileRows];
    for (std::int64_t r = 0; r < kTileRows; ++r) gates[r] = gate.data<float>() + r * 32;
    std::vector<float> all;
    for (const std::int64_t columns : {1, 16, 17, 32}) {
      for (const bool relu : {false, true}) {
        for (const float* b : {static_cast<const float*>(nullptr), bias.data<float>()}) {
          std::vector<float> out(kTileRows * 40, 9.0f);
          float* rows[kTileRows];
          for (std::int64_t r = 0; r < kTileRows; ++r) rows[r] = r == 3 ? nullptr : out.data() + r * 40;
          code.finish_wide({sums.at, columns, b, relu, rows});
          all.insert(all.end(), out.begin(), out.end());
          code.finish_wide({sums.at, columns, b, relu, rows, nullptr, false, gates});
          all.insert(all.end(), out.begin(), out.end());
        }
      }
    }
    return all;
  });
}

TEST(TileProducts, MovesPutEveryValueInTheSamePlace) {
  expect_same_moves([](const TileCode& code) {
    const auto from = tile_values(64 * 100 + 64, 5);
    std::vector<bfloat16> all;
    const auto keep = [&](std::int64_t n, const auto& move) {
      std::vector<bfloat16> out(static_cast<std::size_t>(n) + 128, to_bfloat16(7));
      move(out.data());
      all.insert(all.end(), out.begin(), out.begin() + n);
    };
    for (const std::int64_t length : {1, 16, 31, 32, 33, 70}) {
      keep(5 * 96, [&](bfloat16* out) { code.copy_rows(from.data(), 100, 5, length, out, 96); });
      if (length <= 32) {
        keep(32 * 32, [&](bfloat16* out) { code.stream_rows(from.data(), 100, 5, length, out, 32); });
        keep(9 * 32, [&](bfloat16* out) { code.stream_rows(from.data(), 100, 8, length, out, 8); });
      }
      const std::int64_t runs[] = {0, 100, 200};
      keep(4 * 224, [&](bfloat16* out) { code.copy_patches(from.data(), 9, 4, runs, 3, length, out, 224); });
      keep(5 * 64, [&](bfloat16* out) { code.interleave(from.data(), from.data() + 100, length, out, 64); });
      keep(5 * 64, [&](bfloat16* out) { code.interleave(from.data(), nullptr, length, out, 64); });
      keep(2 * 64, [&](bfloat16* out) { code.interleave_mixed(from.data(), from.data() + 100, out, 64); });
      keep(2 * 64, [&](bfloat16* out) { code.interleave_mixed(nullptr, from.data() + 100, out, 64); });
      keep(2 * 600, [&](bfloat16* out) { code.pair_rows_mixed(from.data(), length, 16, out, 600); });
      const bfloat16* rows[32];
      for (std::int64_t r = 0; r < 32; ++r) rows[r] = r == 7 || r == 20 ? nullptr : from.data() + r * 100;
      // What dot products transpose is turned: another test compares it. Arm has no other code.
      const TileCode* const transposes = code.turns_a ? machine_tile_code(Tiles::amx) : &code;
      if (length <= 16) {
        keep(kTileValues, [&](bfloat16* out) {
          (transposes != nullptr ? *transposes : scalar_tile_code()).transpose(rows, 3, length, out);
        });
      }
      if (length <= 32) {
        keep(kTileValues, [&](bfloat16* out) { code.pair_columns(from.data(), 100, 11, length, out); });
      }
    }
    return all;
  });
}

TEST(TileProducts, PartsOfPairsGoToTheSamePlaces) {
  expect_same_moves([](const TileCode& code) {
    const auto from = tile_values(1000, 8);
    std::vector<bfloat16> all;
    std::vector<PairPart> parts;
    for (std::int64_t count = 0; count < 5; ++count) {  // of 3 columns each
      std::vector<bfloat16> out(7 * kTileDepth);
      code.pair_parts(from.data(), 40, count == 0 ? 0 : 7, parts, out.data());
      all.insert(all.end(), out.begin(), out.end());
      PairPart& part = parts.emplace_back();
      part.from = 100 * count;
      for (std::size_t i = 0; i < 6; ++i) {
        const std::size_t place = static_cast<std::size_t>(count) * 6 + i;
        part.these |= std::uint32_t{1} << place;
        part.index[place] = static_cast<std::uint16_t>(i * 11 % 32);
      }
    }
    return all;
  });
}

TEST(TileProducts, SumsAreStoredAndAddedAlike) {
  expect_same_moves([](const TileCode& code) {
    TileSums sums;
    const Tensor t = random_tensor({2 * kTileSums}, 6);
    std::copy_n(t.data<float>(), 2 * kTileSums, sums.at);
    const auto rows = tile_values(9 * 100, 7);
    std::vector<float> all;
    for (const std::int64_t columns : {5, 16, 30, 32}) {
      GuardedBuffer out(kTileRows * 48 * sizeof(float));
      auto* to = static_cast<float*>(out.data());
      std::fill_n(to, kTileRows * 48, 0.0f);
      const TileScope scope(code);
      for (const bool past_caches : {false, true}) {
        code.store_sums(sums.at, 13, columns, to, 48, past_caches);
        code.add_rows(rows.data(), 100, 9, columns, to);
        code.add_rows(rows.data(), 100, 9, columns + 50, to);
        all.insert(all.end(), to, to + kTileRows * 48);
      }
      for (const bool mixed : {false, true}) {
        for (const std::int64_t parts : {1, 3}) {
          code.add_products(sums.at, parts, kTileRows, mixed, 9, columns, to, 48);
          all.insert(all.end(), to, to + kTileRows * 48);
        }
      }
    }
    return all;
  });
}

}  // namespace
}  // namespace ridgeline
