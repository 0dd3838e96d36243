// What has the CPU's bits: dropout, the image tail, updates, copies.
#include <gtest/gtest.h>

#include <cmath>

#include "ridgeline/comm/reduce.h"
#include "ridgeline/core/threads.h"
#include "ridgeline/device/cuda/kernels/launches.h"
#include "ridgeline/image/normalize.h"
#include "tests/device/cuda/op_support.h"

namespace ridgeline::cuda::testing {
namespace {

TEST(CudaDropout, HasTheCpusMasksAndBits) {
  for (int round = 0; round < 60; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = kStorageTypes[round % 3];
    const Tensor x = values.special(type, {values.pick({1, 2, 3, 4, 5, 1023, 1024, 1025, 5000})});
    const double keep = values.coin() ? 0.5 : 0.3;
    const std::uint64_t key = values.random()() | std::uint64_t{values.random()()} << 32;
    const Tensor step = Tensor::scalar<std::int64_t>(static_cast<std::int64_t>(values.random()()) << round % 20);
    const auto expected =
        reference_of("dropout", {x, step}, {{"keep_prob", keep}, {"key", static_cast<std::int64_t>(key)}})[0];
    Tensor y = noise(type, x.shape());
    dropout(run_on_host, type, x.raw(), y.raw(), step.data<std::int64_t>(), key, keep, x.elements());
    EXPECT_EQ(unequal_bits(y, expected), "") << round;
  }
}

std::array<float, 768> table_of(const image::NormalizeTable& table) {
  std::array<float, 768> all{};
  for (int c = 0; c < 3; ++c) {
    for (int v = 0; v < 256; ++v)
      all[static_cast<std::size_t>(c * 256 + v)] = table.at(c, static_cast<std::uint8_t>(v));
  }
  return all;
}

TEST(CudaRankSums, CombineInThePairsAndWithTheBitsOfTheCpusRanks) {
  for (int round = 0; round < 120; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = kStorageTypes[round % 3];
    const auto ranks = static_cast<int>(values.pick({2, 3, 4, 5, 6, 7, 8, 9, 31, 64, 255}));
    const std::int64_t elements = values.pick({1, 7, 8, 64, 1000}), stride = elements + values.pick({0, 1, 8});
    const int rank = static_cast<int>(values.random()() % static_cast<unsigned>(ranks));
    const Tensor own = values.special(type, {elements}), others = values.special(type, {stride * (ranks - 1)});
    std::vector<const void*> sources;
    for (int r = 0; r < ranks; ++r) {
      const auto place = static_cast<std::size_t>((r < rank ? r : r - 1) * stride) * size_of(type);
      sources.push_back(r == rank ? own.raw() : static_cast<const char*>(others.raw()) + place);
    }
    const bool mean = values.coin();
    Tensor y = noise(type, {elements}), expected = noise(type, {elements});
    {
      const FlushDenormals flush;
      comm::reduce_in_pairs(sources, expected.raw(), elements, type,
                            mean ? comm::Reduction::mean : comm::Reduction::sum);
    }
    const RankValues all{type, elements, stride, ranks, rank, mean};
    rank_sums(run_on_host, all, own.raw(), others.raw(), y.raw());
    EXPECT_EQ(unequal_bits(y, expected), "") << ranks << " ranks, round " << round;
    Tensor in_place = own.clone();
    rank_sums(run_on_host, all, in_place.raw(), others.raw(), in_place.raw());
    EXPECT_EQ(unequal_bits(in_place, expected), "") << "in place, " << ranks << " ranks, round " << round;
  }
}

TEST(CudaImageTail, HasTheCpusBitsInThreeAndEightChannelsAndInBlocks) {
  const auto table = table_of(image::NormalizeTable(image::kImagenetMean, image::kImagenetStd));
  for (int round = 0; round < 40; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = kStorageTypes[round % 3];
    ImageTailShape s{type, values.pick({1, 3}), values.pick({1, 9, 16}), values.pick({1, 8, 11, 34, 40, 75}), 3};
    const Tensor images = values.integers(DType::u8, {s.n, s.h, s.w, 3}, 256),
                 flip = values.integers(DType::u8, {s.n}, 2);
    const bool flips = values.coin();
    const std::vector<Tensor> inputs = flips ? std::vector{images, flip} : std::vector{images};
    const auto expected = reference_of("image_tail", inputs,
                                       {{"mean", Reals(image::kImagenetMean.begin(), image::kImagenetMean.end())},
                                        {"std", Reals(image::kImagenetStd.begin(), image::kImagenetStd.end())},
                                        {"dtype", type}})[0];
    const void* const flip_at = flips ? flip.raw() : nullptr;
    Tensor y = noise(type, expected.shape());
    image_tail(run_on_host, s, images.raw(), flip_at, table, y.raw());
    EXPECT_EQ(unequal_bits(y, expected), "") << round;

    s.channels = 8;
    Tensor padded = noise(type, {s.n, s.h, s.w, 8}), wide = Tensor::zeros(type, padded.shape());
    for (std::int64_t i = 0; i < expected.elements(); ++i) wide.set(i / 3 * 8 + i % 3, expected.at(i));
    image_tail(run_on_host, s, images.raw(), flip_at, table, padded.raw());
    EXPECT_EQ(unequal_bits(padded, wide), "") << round;

    const ImageBlocks b{values.pick({2, 4}), values.pick({0, 2}), values.pick({0, 1}), values.pick({1, 6}),
                        values.pick({2, 10})};
    Tensor blocks = noise(type, {s.n, b.rows, b.columns, b.side * b.side * 3}),
           right = Tensor::zeros(type, blocks.shape());
    for_each_index(Shape{s.n, b.rows, b.columns, b.side, b.side, 3}, [&](std::int64_t at, const Integers& i) {
      const std::int64_t row = i[1] * b.side + i[3] - b.top, column = i[2] * b.side + i[4] - b.left;
      if (row < 0 || row >= s.h || column < 0 || column >= s.w) return;
      right.set(at, expected.at(((i[0] * s.h + row) * s.w + column) * 3 + i[5]));
    });
    image_tail_blocks(run_on_host, s, b, images.raw(), flip_at, table, blocks.raw());
    EXPECT_EQ(unequal_bits(blocks, right), "") << round;
  }
}

TEST(CudaUpdates, HaveTheCpusBitsForManyParametersAtOnce) {
  for (int round = 0; round < 40; ++round) {
    Values values(static_cast<unsigned>(round));
    const bool momentum = values.coin(), nesterov = values.coin(), conditional = values.coin();
    const double decay = values.coin() ? 0.0123 : 0;
    const DType low = values.coin() ? DType::bf16 : DType::f16;
    const Tensor rate = Tensor::scalar<float>(0.0731f), apply = Tensor::scalar<bool>(values.coin());
    const std::int64_t count = values.pick({1, 3, 64, 65});
    std::vector<Tensor> w, m, g, new_w, copies;
    std::vector<MomentumTensor> tensors;
    std::vector<std::int64_t> sizes;
    double squares = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const Shape shape{values.pick({1, 3, 100, 4096, 4100, 9001})};
      w.push_back(values.uniform(DType::f32, shape));
      m.push_back(values.uniform(DType::f32, shape));
      g.push_back(i == 0 ? values.special(DType::f32, shape) : values.uniform(DType::f32, shape));
      new_w.push_back(noise(DType::f32, shape));
      copies.push_back(noise(low, shape));
      sizes.push_back(shape.elements());
      for (std::int64_t k = 0; k < shape.elements(); ++k) squares += w.back().at(k) * w.back().at(k);
    }
    std::vector<Tensor> new_m;
    for (const Tensor& t : m) new_m.push_back(t.clone());
    for (std::size_t i = 0; i < w.size(); ++i) {
      MomentumTensor t{};
      t.w = of<float>(w[i]);
      t.g = of<float>(g[i]);
      t.new_w = of<float>(new_w[i]);
      if (momentum) t.m = t.new_m = of<float>(new_m[i]);  // in place
      t.copy = i % 3 == 2 ? nullptr : copies[i].raw();
      t.elements = w[i].elements();
      tensors.push_back(t);
    }
    auto memory = scratch(momentum_scratch(sizes));
    Tensor penalty = noise(DType::f32, {});
    MomentumUpdate u{};
    u.rate = rate.data<float>();
    if (conditional) u.apply = apply.data<bool>();
    u.has_momentum = momentum;
    u.nesterov = nesterov;
    u.momentum = 0.9;
    u.weight_decay = decay;
    u.copy_type = low;
    u.penalty = of<float>(penalty);
    u.penalty_factor = 3e-4;
    u.scratch = memory.data();
    momentum_update(run_on_host, u, tensors);
    for (std::size_t i = 0; i < w.size(); ++i) {
      Attributes attributes{{"weight_decay", decay}, {"conditional", conditional}};
      std::vector<Tensor> inputs = {w[i]};
      if (momentum) {
        inputs.push_back(m[i]);
        attributes.set("momentum", 0.9);
        attributes.set("nesterov", nesterov);
      }
      inputs.push_back(g[i]);
      inputs.push_back(rate);
      if (conditional) inputs.push_back(apply);
      const auto expected = reference_of(momentum ? "sgd_momentum" : "sgd", inputs, attributes);
      EXPECT_EQ(unequal_bits(new_w[i], expected[0]), "") << round << " " << i;
      if (momentum) {
        EXPECT_EQ(unequal_bits(new_m[i], expected[1]), "") << round << " " << i;
      }
      if (tensors[i].copy != nullptr) {
        EXPECT_EQ(unequal_bits(copies[i], reference_of("cast", {expected[0]}, {{"to", low}})[0]), "") << round;
      }
    }
    EXPECT_NEAR(penalty.at(0), 3e-4 / 2 * squares, 1e-6 * 3e-4 * squares);
  }
}

TEST(CudaTotals, NormsClipFactorsAndFiniteFlagsAreOfAllTensors) {
  for (int round = 0; round < 30; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = kStorageTypes[round % 3];
    std::vector<Tensor> tensors;
    std::vector<NormTensor> list;
    std::vector<std::int64_t> sizes;
    double squares = 0;
    for (std::int64_t i = 0, count = values.pick({1, 5, 130}); i < count; ++i) {
      tensors.push_back(values.uniform(type, {values.pick({1, 77, 4097})}));
      sizes.push_back(tensors.back().elements());
      for (std::int64_t k = 0; k < sizes.back(); ++k) squares += tensors.back().at(k) * tensors.back().at(k);
    }
    for (const Tensor& t : tensors) list.push_back({t.raw(), t.elements()});
    auto memory = scratch(tensors_total_scratch(sizes));
    const auto total = [&](TensorsTotal what, double factor, double limit) {
      Tensor y = noise(DType::f32, {});
      tensors_total(run_on_host, what, type, list, factor, limit, y.raw(), memory.data());
      return y.at(0);
    };
    const auto finite = [&] {
      Tensor y = noise(DType::boolean, {});
      tensors_total(run_on_host, TensorsTotal::all_finite, type, list, 1, 0, y.raw(), memory.data());
      return y.at(0) == 1;
    };
    EXPECT_NEAR(total(TensorsTotal::squares, 2, 0), 2 * squares, 1e-6 * squares);
    EXPECT_NEAR(total(TensorsTotal::norm, 1, 0), std::sqrt(squares), 1e-6 * std::sqrt(squares));
    EXPECT_EQ(total(TensorsTotal::clip, 1, 1e9), 1.0);
    EXPECT_NEAR(total(TensorsTotal::clip, 1, 1e-3), 1e-3 / std::sqrt(squares), 1e-9);
    EXPECT_TRUE(finite());
    for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
      Tensor& t = tensors[values.random()() % tensors.size()];
      const std::int64_t at = static_cast<std::int64_t>(values.random()()) % t.elements();
      const double before = t.at(at);
      t.set(at, bad);
      EXPECT_FALSE(finite());
      if (bad != bad) {
        EXPECT_NE(total(TensorsTotal::clip, 1, 1), total(TensorsTotal::clip, 1, 1));
      }
      t.set(at, before);
    }
  }
}

TEST(CudaCopies, CastsRoundAsTheOpDoes) {
  for (int round = 0; round < 30; ++round) {
    Values values(static_cast<unsigned>(round));
    for (DType from : kStorageTypes) {
      for (DType to : kStorageTypes) {
        if (from == to) continue;
        const Tensor x = values.special(from, {values.pick({1, 7, 8, 9, 2048, 4099})});
        Tensor y = noise(to, x.shape());
        cast(run_on_host, from, x.raw(), to, y.raw(), x.elements());
        EXPECT_EQ(unequal_bits(y, reference_of("cast", {x}, {{"to", to}})[0]), "");
      }
    }
  }
}

TEST(CudaCopies, TransposesSlicesAndPadsMoveEachElementToItsPlace) {
  for (int round = 0; round < 30; ++round) {
    Values values(static_cast<unsigned>(round));
    const DType type = round % 2 == 0 ? DType::i32 : DType::u8;
    const std::int64_t b = values.pick({1, 3}), r = values.pick({1, 31, 33, 70}), k = values.pick({1, 3, 64, 65});
    const Tensor x = values.integers(type, {b, r, k}, 200);
    Tensor y = noise(type, {b, k, r}), z = noise(type, {b, r + 3, k}), narrow = noise(DType::f32, {b * r, 8});
    transpose(run_on_host, size_of(type), x.raw(), y.raw(), b, r, k);
    const CopyAxis axes[] = {{b, (r + 3) * k, 0, 1, 1, b, r * k}, {r + 3, k, r, -1, 1, r, k}, {k, 1, 0, 1, 1, k, 1}};
    strided_copy(run_on_host, size_of(type), x.raw(), z.raw(), axes);
    for_each_index(x.shape(), [&](std::int64_t at, const Integers& i) {
      ASSERT_EQ(y.at((i[0] * k + i[2]) * r + i[1]), x.at(at));
      ASSERT_EQ(z.at((i[0] * (r + 3) + r - i[1]) * k + i[2]), x.at(at));
    });
    for (std::int64_t i = 0; i < b; ++i) ASSERT_EQ(z.at(i * (r + 3) * k), 0);  // position r is outside
    const Tensor rows = values.uniform(DType::bf16, {b * r, 3});
    resize_rows(run_on_host, DType::bf16, rows.raw(), 3, DType::f32, narrow.raw(), 8, b * r);
    for (std::int64_t i = 0; i < narrow.elements(); ++i)
      ASSERT_EQ(narrow.at(i), i % 8 < 3 ? rows.at(i / 8 * 3 + i % 8) : 0);
  }
}

}  // namespace
}  // namespace ridgeline::cuda::testing
