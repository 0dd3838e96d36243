// Batch norms and response normalisation of random shapes with every kernel, in f32 and bf16.
#include <array>

#include "every_entry.h"

namespace ridgeline {
namespace {

Shape draw_normed(SampleRandom& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) { return random.integer(low, high); };
  const std::int64_t channels = draw(1, draw(0, 2) == 0 ? 140 : 40);
  const std::int64_t side = draw(0, 3) == 0 ? 24 : 7;
  const std::int64_t batch = draw(0, 2) == 0 ? 1 : draw(1, draw(0, 3) == 0 ? 20 : 4);
  const std::int64_t kind = draw(0, 4);
  if (kind == 0) return {draw(1, 130), channels};
  if (kind == 1) return {batch, draw(1, 40), channels};
  return {batch, draw(1, side), draw(1, side), channels};
}

std::uint64_t draw_seed(SampleRandom& random) { return static_cast<std::uint64_t>(random.integer(0, 1'000'000)); }

Tensor draw_tensor(SampleRandom& random, const Shape& shape, DType type, double low = -1, double high = 1) {
  return as_type(random_tensor(shape, draw_seed(random), low, high), type);
}

using Each = std::vector<double>;  // one number per channel

template <class F>
Each each_channel(const Tensor& gamma, const F& value) {
  Each values;
  for (std::int64_t c = 0; c < gamma.elements(); ++c) values.push_back(value(static_cast<std::size_t>(c)));
  return values;
}

Each values_of(const Tensor& t) {
  return each_channel(t, [&](std::size_t i) { return t.at(static_cast<std::int64_t>(i)); });
}

// The operands of a random batch norm, and the magnitudes to which its rounding errors are relative.
struct NormedBatch {
  Shape shape;
  DType type;
  Tensor x, gamma, beta, mean, var;
  bool addend, relu;
  bool fused;  // half of them are the op without activation and addend

  std::string to_string() const { return shape.to_string() + " " + std::string(name_of(type)); }
  double rows() const { return static_cast<double>(x.elements() / gamma.elements()); }
  double scale(std::size_t c) const { return std::abs(gamma.at(static_cast<std::int64_t>(c))); }
  // The largest |x - mean|, in deviations.
  Each reach(const Each& inv_std, const Each& means) const {
    Each most = each_channel(gamma, [&](std::size_t c) { return std::abs(means[c]) * inv_std[c]; });
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const std::size_t c = static_cast<std::size_t>(i) % most.size();
      most[c] = std::max(most[c], std::abs(x.at(i)) * inv_std[c]);
    }
    return most;
  }
  // bf16 values are rounded before they are added.
  Allowance allowed(bool adds) const { return adds && type == DType::bf16 ? Allowance{0x1p-7, 1} : Allowance{2e-6, 1}; }
  Problem problem(const std::string& op, const Tensor& added) const {
    Problem p{op, {x, gamma, beta, mean, var}, {{"activation", std::string(relu ? "relu" : "none")}}};
    if (addend) p.inputs.push_back(added);
    return p;
  }
};

const Allowance kLibraryOnBf16{0x1p-7, 2};

bool draw_coin(SampleRandom& random) { return random.integer(0, 1) == 0; }

NormedBatch draw_batch(SampleRandom& random) {
  Shape shape = draw_normed(random);
  if (shape.elements() == shape[-1]) shape = {2, shape[-1]};  // a channel has more than one value
  const DType type = draw_coin(random) ? DType::bf16 : DType::f32;
  const bool fused = draw_coin(random);
  const Shape c{shape[-1]};
  const double middle = random.integer(0, 3) == 0 ? 8 : 1;  // a mean that is large compared with the deviation
  Tensor gamma = draw_tensor(random, c, DType::f32, 0.2, 2);
  for (std::int64_t i = 0; i < gamma.elements(); i += 3) gamma.set(i, -gamma.at(i));
  return {shape,
          type,
          draw_tensor(random, shape, type, middle - 2, middle + 2),
          gamma,
          draw_tensor(random, c, DType::f32),
          draw_tensor(random, c, DType::f32),
          draw_tensor(random, c, DType::f32, 0.3, 2),
          fused && draw_coin(random),
          fused && draw_coin(random),
          fused};
}

// y, mean, inv_std, the running mean and variance.
Magnitudes magnitudes_of_train(const NormedBatch& batch, const Each& inv_std, const Each& reach) {
  const auto of = [&](const auto& value) { return each_channel(batch.gamma, value); };
  const auto in_x = [&](std::size_t c) { return reach[c] / inv_std[c]; };
  const double spread = std::min(std::sqrt(batch.rows()), 4.0);  // distance of a value from the mean, in deviations
  return {of([&](std::size_t c) { return 2 + batch.scale(c) * reach[c] * (1 + spread); }), of(in_x),
          of([&](std::size_t c) { return inv_std[c] * (1 + reach[c]); }),
          of([&](std::size_t c) { return 1 + in_x(c); }), of([&](std::size_t c) { return 2 + in_x(c) * in_x(c); })};
}

// dx, dgamma, dbeta, g.
Magnitudes magnitudes_of_backward(const NormedBatch& batch, const Each& inv_std, const Each& reach) {
  const auto of = [&](const auto& value) { return each_channel(batch.gamma, value); };
  const double sum = 2 * batch.rows();
  return {of([&](std::size_t c) { return 2 * batch.scale(c) * inv_std[c] * (1 + reach[c]) * (1 + reach[c]); }),
          of([&](std::size_t c) { return sum * (1 + reach[c]); }),
          {sum},
          {2}};
}

// Values of x for which no y, which of_x recomputes, is so near a bend that rounding decides whether the gate is open.
Tensor clear_of_the_gate(const NormedBatch& batch, const Each& means, const Each& inv_std, const Each& reach) {
  Tensor x = batch.x.clone();
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const std::int64_t channel = i % batch.gamma.elements();
    const auto c = static_cast<std::size_t>(channel);
    for (int step = 0; step < 64; ++step) {
      const double y = (x.at(i) - means[c]) * inv_std[c] * batch.gamma.at(channel) + batch.beta.at(channel);
      if (std::abs(y) > 1e-4 * (1 + batch.scale(c) * reach[c])) break;
      x.set(i, x.at(i) + 0.0625);
    }
  }
  return x;
}

TEST(RandomNorms, EveryBatchNormKernelAgreesWithTheReference) {
  const std::int64_t shapes = shapes_to_try(30);
  SampleRandom random(philox_key(43, "random batch norms"), 0, 0);
  std::map<std::string, int> taken;
  for (std::int64_t shape = 0; shape < shapes; ++shape) {
    const NormedBatch batch = draw_batch(random);
    const Allowance allowed = batch.allowed(batch.addend);
    const auto image = [&] { return draw_tensor(random, batch.shape, batch.type); };
    const auto agree = [&](const Problem& problem, const Allowance& own, const Magnitudes& magnitudes) {
      expect_every_entry_agrees(problem, own, kLibraryOnBf16, magnitudes, random, batch.to_string(), taken);
    };

    const Tensor added = image();
    const Problem train = batch.problem("batch_norm_train", added);
    const std::vector<Tensor> trained = reference_in_f64(train);
    const Tensor mean = as_type(trained[1], DType::f32), deviation = as_type(trained[2], DType::f32);
    const Each means = values_of(mean), inv_std = values_of(deviation), reach = batch.reach(inv_std, means);
    ASSERT_NO_FATAL_FAILURE(agree(train, allowed, magnitudes_of_train(batch, inv_std, reach)));

    Problem eval = batch.problem("batch_norm_eval", added);
    const bool inverse = batch.fused && draw_coin(random);
    eval.attributes.set("var_is_inv_std", inverse);
    Each given = values_of(batch.var);
    for (double& v : given) v = inverse ? v : 1 / std::sqrt(v);
    const Each from_given = batch.reach(given, values_of(batch.mean));
    ASSERT_NO_FATAL_FAILURE(agree(
        eval, allowed, {each_channel(batch.gamma, [&](std::size_t c) { return 2 + batch.scale(c) * from_given[c]; })}));

    const std::int64_t kind = batch.fused ? random.integer(0, 2) : 0;
    const std::string gate = std::array{"none", "of_x", "of_y"}[static_cast<std::size_t>(kind)];
    const bool addend = batch.fused && draw_coin(random), passed = batch.fused && draw_coin(random);
    Problem backward{"batch_norm_bwd",
                     {clear_of_the_gate(batch, means, inv_std, reach), image(), batch.gamma, mean, deviation},
                     {{"gate", gate}, {"addend", addend}, {"passed", passed}}};
    if (gate == "of_x") backward.inputs.push_back(batch.beta);
    if (gate == "of_y") backward.inputs.push_back(image());
    if (addend) backward.inputs.push_back(added);
    ASSERT_NO_FATAL_FAILURE(agree(backward, batch.allowed(addend), magnitudes_of_backward(batch, inv_std, reach)));
  }
  expect_taken(taken, {"batch_norm_train", "batch_norm_eval", "batch_norm_bwd"});
}

TEST(RandomNorms, EveryResponseNormalisationAgreesWithTheReference) {
  const std::int64_t shapes = shapes_to_try(20);
  SampleRandom random(philox_key(44, "random lrn"), 0, 0);
  std::map<std::string, int> taken;
  for (std::int64_t shape = 0; shape < shapes; ++shape) {
    const Shape dims = draw_normed(random);
    const DType type = random.integer(0, 1) == 0 ? DType::bf16 : DType::f32;
    const std::int64_t size = 2 * random.integer(0, random.integer(0, 4) == 0 ? 18 : 3) + 1;
    const double alpha = std::vector<double>{1e-4, 0.05, 1, 5}[static_cast<std::size_t>(random.integer(0, 3))];
    const double beta = random.integer(0, 4) == 0 ? random.uniform(0.25, 1.5) : 0.75;
    const Attributes attributes{{"alpha", alpha}, {"beta", beta}, {"size", size}, {"bias", random.uniform(0.5, 2)}};
    const std::string name = dims.to_string() + " " + std::string(name_of(type)) + ", size " + std::to_string(size) +
                             ", alpha " + std::to_string(alpha) + ", beta " + std::to_string(beta);
    const Tensor x = draw_tensor(random, dims, type, -3, 3);
    const Tensor dy = draw_tensor(random, dims, type);
    ASSERT_NO_FATAL_FAILURE(
        expect_every_entry_agrees({"lrn", {x}, attributes}, {3e-6, 1}, kLibraryOnBf16, {}, random, name, taken));
    ASSERT_NO_FATAL_FAILURE(expect_every_entry_agrees({"lrn_bwd", {x, dy}, attributes}, {5e-6, 1}, kLibraryOnBf16, {},
                                                      random, name, taken));
  }
  expect_taken(taken, {"lrn", "lrn_bwd"});
}

}  // namespace
}  // namespace ridgeline
