// The tile kernels' dense layers compared with the reference, on scalar tiles and on the machine's.
#include "ridgeline/device/cpu/tiles/dense_states.h"
#include "tile_support.h"

namespace ridgeline {
namespace {

struct DenseCase {
  std::int64_t rows, inputs, outputs;
  Shape x() const { return {rows, inputs}; }
  Shape w() const { return {outputs, inputs}; }
  Shape y() const { return {rows, outputs}; }
  std::string to_string() const { return x().to_string() + " by " + w().to_string(); }
};

TileProblem dense_forward(const DenseCase& c) {
  return {{"dense", {random_bf16(c.x(), 1, 0, 1), random_bf16(c.w(), 2), random_tensor({c.outputs}, 3)}, {}},
          {},
          device::tiles::make_dense_forward};
}
TileProblem dense_backward_data(const DenseCase& c) {
  return {{"dense_bwd_data", {random_bf16(c.y(), 4), random_bf16(c.w(), 2)}, {}},
          {},
          device::tiles::make_dense_backward_data};
}
TileProblem dense_backward_weights(const DenseCase& c) {
  return {{"dense_bwd_weights", {random_bf16(c.x(), 1, 0, 1), random_bf16(c.y(), 4)}, {{"bias", true}}},
          {DType::f32, DType::f32},
          device::tiles::make_dense_backward_weights};
}
constexpr TileProblem (*kPasses[])(const DenseCase&) = {dense_forward, dense_backward_data, dense_backward_weights};

void expect_reference(const TileProblem& problem, const DenseCase& c) {
  const std::vector<Tensor> expected = problem.reference();
  std::vector<Tensor> first;
  for (const Tiles tiles : machine_tiles()) {
    const auto kernel = problem.kernel(tiles);
    ASSERT_NE(kernel, nullptr);
    const std::vector<Tensor> got = problem.run(*kernel);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const TileError error = tile_error(got[i], expected[i]);
      ASSERT_LE(error.worst, 1) << kernel->name << " result " << i << ": " << c.to_string();
      if (!first.empty() && same_order(tiles)) {
        ASSERT_TRUE(same_bits(got[i], first[i])) << kernel->name << " result " << i << " of " << c.inputs;
      }
    }
    if (first.empty()) first = got;
  }
}

TEST(TileDense, RandomShapesAgreeWithTheReferenceOnAllTiles) {
  const std::int64_t shapes = shapes_to_try(60);
  SampleRandom random(philox_key(13, "tile dense shapes"), 0, 0);
  for (std::int64_t shape = 0; shape < shapes; ++shape) {
    const auto size = [&](std::int64_t most) {
      if (random.integer(0, 3) == 0) return 32 * random.integer(1, most / 32);
      return random.integer(1, random.integer(0, 2) == 0 ? most : 50);
    };
    const DenseCase c{size(random.integer(0, 5) == 0 ? 520 : 70), size(300), size(300)};
    const ComputeScope team(static_cast<int>(random.integer(1, 3)));
    for (std::size_t pass = 0; pass < 3; ++pass) {
      TileProblem problem = kPasses[pass](c);
      if (pass == 0) {
        const std::int64_t bias = random.integer(0, 2);
        if (bias == 0) problem.problem.inputs.pop_back();
        if (bias == 1) problem.problem.inputs.back() = random_bf16({c.outputs}, 3);
        if (random.integer(0, 1) == 0) problem.problem.attributes.set("activation", std::string("relu"));
        if (bias > 0 && random.integer(0, 1) == 0) problem.problem.inputs.push_back(random_bf16(c.y(), 7));
      } else if (pass == 2) {
        if (random.integer(0, 2) == 0) problem.result_types = {DType::bf16, DType::bf16};
        if (random.integer(0, 3) == 0) problem.problem.attributes.set("bias", false);
      }
      ASSERT_NO_FATAL_FAILURE(expect_reference(problem, c));
    }
  }
}

// Larger than one chunk of inputs (1,024), of outputs (1,024), one item's outputs and one load of rows (256).
const DenseCase kLong[] = {{5, 2500, 40}, {130, 1100, 700}, {300, 70, 1090}, {1, 1050, 513}};

TEST(TileDense, LongShapesAgreeWithTheReference) {
  for (const DenseCase& c : kLong) {
    for (const auto pass : kPasses) ASSERT_NO_FATAL_FAILURE(expect_reference(pass(c), c));
  }
}

TEST(TileDense, TheBitsDoNotDependOnTheTeam) {
  for (const DenseCase& c : kLong) {
    for (const auto pass : kPasses) ASSERT_NO_FATAL_FAILURE(expect_the_same_bits_of_all_teams(pass(c), c.to_string()));
  }
}

// Rules with w, m, the gradient, a rate and a flag; some with a rounded copy of the weights.
struct UpdateCase {
  const char* expression;
  std::int64_t states;
  bool copies, flag;
};
constexpr UpdateCase kUpdates[] = {
    {"x0 - x2 * x1", 1, false, false},
    {"t0 = x0 - x2 * x1; t0; t0 : bf16", 1, true, false},
    {"t0 = 0.9 * x1 + (0.0001 * x0 + x2); x0 - x3 * t0; t0", 2, false, false},
    {"t0 = 0.0001 * x0 + x2; t1 = 0.9 * x1 + t0; t2 = x0 - x3 * (t0 + 0.9 * t1); t2; t1; t2 : bf16", 2, true, false},
    {"t0 = 0.9 * x1 + x2; select(x4, x0 - x3 * t0, x0); select(x4, t0, x1)", 2, false, true},
};

// A problem with `slots` states besides w, and the scalars after dy.
Problem dense_update(const DenseCase& c, const UpdateCase& u, bool bias, bool squares) {
  Problem p{"dense_update",
            {},
            {{"expression", std::string(u.expression)}, {"states", u.states}, {"bias", bias}, {"squares", squares}}};
  for (std::int64_t i = 0; i < u.states; ++i) p.inputs.push_back(random_tensor(c.w(), 20 + i));
  p.inputs.push_back(random_bf16(c.x(), 1, 0, 1));
  p.inputs.push_back(random_bf16(c.y(), 4));
  p.inputs.push_back(Tensor::scalar(0.01f));
  if (u.flag) p.inputs.push_back(Tensor::scalar(true));
  return p;
}

// `free`: the kernel may choose the layout of the states.
KernelRequest update_request(const Problem& problem, const Node& node, bool free) {
  KernelRequest request = problem.request(node);
  for (std::int64_t i = 0; i < node.attributes.integer("states"); ++i)
    request.inputs[static_cast<std::size_t>(i)].free = free;
  return request;
}

std::unique_ptr<Kernel> update_kernel(const Problem& problem, Tiles tiles, bool free = false) {
  const Node node = problem.node();
  KernelChoice made = device::tiles::make_dense_update(update_request(problem, node, free), tiles);
  if (const auto* refusal = std::get_if<Refusal>(&made)) {
    ADD_FAILURE() << "refused: " << refusal->reason;
    return nullptr;
  }
  return std::move(std::get<std::unique_ptr<Kernel>>(made));
}

// The states have the bits that the loop gives for the gradient of the kernel that computes only the gradient.
void expect_update(const DenseCase& c, const UpdateCase& u, bool bias, bool squares, bool free = false) {
  const Problem problem = dense_update(c, u, bias, squares);
  TileProblem alone = dense_backward_weights(c);
  alone.problem.attributes.set("bias", bias);
  for (const Tiles tiles : machine_tiles()) {
    const auto gradient_kernel = alone.kernel(tiles), kernel = update_kernel(problem, tiles, free);
    ASSERT_TRUE(gradient_kernel && kernel);
    EXPECT_EQ(kernel->input_layouts.empty(), !free || c.inputs % 32 != 0) << "blocks of whole tiles alone";
    const std::vector<Tensor> gradient = alone.run(*gradient_kernel);
    Problem loop{"loop", {}, {{"expression", std::string(u.expression)}}};
    const auto states = static_cast<std::ptrdiff_t>(u.states);
    loop.inputs.assign(problem.inputs.begin(), problem.inputs.begin() + states);
    loop.inputs.push_back(gradient[0]);
    loop.inputs.insert(loop.inputs.end(), problem.inputs.begin() + states + 2, problem.inputs.end());
    const std::vector<Tensor> next = loop.reference();
    std::vector<Tensor> got = run_kernel(*kernel, problem);
    if (squares) {  // of the old weights, in any order
      const auto at = got.begin() + states + (bias ? 1 : 0);
      double sum = 0;
      for (std::int64_t i = 0; i < problem.inputs[0].elements(); ++i) sum += std::pow(problem.inputs[0].at(i), 2);
      ASSERT_NEAR(at->at(0), sum, 1e-6 * sum);
      got.erase(at);
    }
    std::vector<Tensor> expected(next.begin(), next.begin() + states);
    if (bias) expected.push_back(gradient[1]);
    expected.insert(expected.end(), next.begin() + states, next.end());
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(same_bits(got[i], expected[i])) << kernel->name << " result " << i << " of " << u.expression << ", "
                                                  << c.rows << " x " << c.inputs << " x " << c.outputs;
    }
    for (std::size_t i = 0; i < kernel->in_place.size(); ++i)
      EXPECT_EQ(kernel->in_place[i], static_cast<std::ptrdiff_t>(i) < states ? static_cast<int>(i) : -1);
  }
}

TEST(TileDense, AnUpdateWithItsGradientGivesTheBitsOfBothApart) {
  const std::int64_t shapes = shapes_to_try(40);
  SampleRandom random(philox_key(14, "dense update shapes"), 0, 0);
  for (std::int64_t shape = 0; shape < shapes; ++shape) {
    const auto size = [&](std::int64_t most) { return random.integer(1, random.integer(0, 2) == 0 ? most : 50); };
    DenseCase c{size(100), size(300), size(200)};
    const bool free = random.integer(0, 1) == 0;
    if (free && random.integer(0, 3) > 0) c.inputs = (c.inputs + 31) / 32 * 32;
    const ComputeScope team(static_cast<int>(random.integer(1, 3)));
    ASSERT_NO_FATAL_FAILURE(
        expect_update(c, kUpdates[random.integer(0, 4)], random.integer(0, 1) == 0, random.integer(0, 1) == 0, free));
  }
  // Larger than one range of inputs (4,096; 512 for many rows) and one item of outputs (128).
  for (const DenseCase& c : {DenseCase{40, 4200, 40}, DenseCase{1100, 1090, 33}, DenseCase{3, 70, 300}})
    ASSERT_NO_FATAL_FAILURE(expect_update(c, kUpdates[3], true, true));
  for (const DenseCase& c : {DenseCase{40, 4224, 40}, DenseCase{1100, 1088, 33}, DenseCase{3, 96, 300}})
    ASSERT_NO_FATAL_FAILURE(expect_update(c, kUpdates[3], true, true, true));
  const ComputeScope team(1);  // whose items of blocks are the longest: 1,024 outputs
  ASSERT_NO_FATAL_FAILURE(expect_update({2, 64, 8300}, kUpdates[3], true, true, true));
}

TEST(TileDense, AnUpdateOverItsOperandsGivesTheSameBitsWithAnyTeam) {
  const DenseCase c{130, 1100, 700};
  const Problem problem = dense_update(c, kUpdates[3], true, true);
  std::vector<Tensor> apart;
  for (const int threads : {1, 2, 3, 8}) {
    const ComputeScope team(threads);
    const auto kernel = update_kernel(problem, machine_tiles().back());
    ASSERT_NE(kernel, nullptr);
    const std::vector<Tensor> got = run_kernel(*kernel, problem);
    if (apart.empty()) apart = got;
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], apart[i])) << i << ", " << threads;

    std::vector<Tensor> states = {problem.inputs[0].clone(), problem.inputs[1].clone()}, rest;
    std::vector<void*> inputs, outputs;
    for (const Tensor& t : problem.inputs) inputs.push_back(const_cast<void*>(t.raw()));
    for (std::size_t i = 0; i < 2; ++i) inputs[i] = states[i].raw();
    for (std::size_t i = 2; i < got.size(); ++i) rest.emplace_back(got[i].dtype(), got[i].shape());
    for (Tensor& t : states) outputs.push_back(t.raw());
    for (Tensor& t : rest) outputs.push_back(t.raw());
    GuardedBuffer scratch(kernel->scratch_bytes);
    kernel->run({inputs.data(), outputs.data(), scratch.data()});
    EXPECT_TRUE(scratch.intact());
    for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(states[i], apart[i])) << "in place, state " << i;
    for (std::size_t i = 2; i < got.size(); ++i) EXPECT_TRUE(same_bits(rest[i - 2], apart[i])) << "in place, " << i;
  }
}

TEST(TileDense, AnUpdateOfStatesInBlocksGivesTheSameBitsWithAnyTeamAndKeepsTheirPadding) {
  const DenseCase c{130, 1120, 700};
  const Problem problem = dense_update(c, kUpdates[3], true, true);
  std::vector<Tensor> first;
  for (const int threads : {1, 2, 3, 8}) {
    const ComputeScope team(threads);
    const auto kernel = update_kernel(problem, machine_tiles().back(), true);
    ASSERT_NE(kernel, nullptr);
    const std::vector<Tensor> got = run_kernel(*kernel, problem);
    if (first.empty()) first = got;
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], first[i])) << i << ", " << threads;
  }

  const auto kernel = update_kernel(problem, machine_tiles().back(), true);
  const BlockedLayout& blocks = *kernel->input_layouts[0].blocked();
  std::vector<GuardedBuffer> states;
  std::vector<void*> inputs, outputs;
  std::vector<Tensor> rest;
  for (const Tensor& t : problem.inputs) inputs.push_back(const_cast<void*>(t.raw()));
  for (std::size_t i = 0; i < 2; ++i) {
    states.emplace_back(blocks.bytes());
    blocks.from_plain(problem.inputs[i].raw(), states[i].data());
    inputs[i] = states[i].data();
    outputs.push_back(states[i].data());
  }
  for (std::size_t i = 2; i < first.size(); ++i) rest.emplace_back(first[i].dtype(), first[i].shape());
  for (Tensor& t : rest) outputs.push_back(t.raw());
  GuardedBuffer scratch(kernel->scratch_bytes);
  kernel->run({inputs.data(), outputs.data(), scratch.data()});
  EXPECT_TRUE(scratch.intact());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(states[i].intact());
    Tensor plain(DType::f32, c.w());
    blocks.to_plain(states[i].data(), plain.raw());
    EXPECT_TRUE(same_bits(plain, first[i])) << "in place, state " << i;
    // Rows 700 to 703 of the last blocks do not exist.
    const auto* const last = reinterpret_cast<const float*>(states[i].data()) + 21 * 35 * 1024 + 28 * 32;
    EXPECT_TRUE(std::all_of(last, last + 4 * 32, [](float v) { return v == 0; }));
  }
  for (std::size_t i = 2; i < first.size(); ++i) EXPECT_TRUE(same_bits(rest[i - 2], first[i])) << "in place, " << i;
}

// With the copy in the tiles that both passes over the weights read: the values of the derived form of the plain copy,
// and all other results unchanged.
TEST(TileDense, AnUpdateWritesItsCopyInTiles) {
  using device::tiles::DenseForm;
  for (const DenseCase& c : {DenseCase{5, 70, 45}, DenseCase{33, 64, 90}, DenseCase{40, 4200, 40}}) {
    const Problem problem = dense_update(c, kUpdates[3], true, true);
    const Node node = problem.node();
    const DenseForm form{c.outputs, c.inputs};
    for (const Tiles tiles : machine_tiles()) {
      const auto plain = update_kernel(problem, tiles);
      ASSERT_NE(plain, nullptr);
      const std::vector<Tensor> expected = run_kernel(*plain, problem);
      std::vector<bfloat16> copy(static_cast<std::size_t>(form.values()));
      form.pack(device::tiles::tile_code(Tiles::scalar), expected.back().data<bfloat16>(), copy.data());

      const Layout layout = device::tiles::dense_layout(form, tiles);
      const auto with_tiles = [&](bool free) {
        KernelRequest request = update_request(problem, node, free);
        request.outputs.back().layout = layout;
        return device::tiles::make_dense_update(request, tiles);
      };
      KernelChoice made = with_tiles(false);
      ASSERT_TRUE(std::holds_alternative<std::unique_ptr<Kernel>>(made));
      Kernel& kernel = *std::get<std::unique_ptr<Kernel>>(made);
      ASSERT_EQ(kernel.output_layouts.size(), expected.size());
      EXPECT_EQ(kernel.output_layouts.back(), layout);
      std::vector<Tensor> got;
      std::vector<void*> inputs, outputs;
      for (const Tensor& t : problem.inputs) inputs.push_back(const_cast<void*>(t.raw()));
      for (std::size_t i = 0; i + 1 < expected.size(); ++i) got.emplace_back(expected[i].dtype(), expected[i].shape());
      for (Tensor& t : got) outputs.push_back(t.raw());
      const std::size_t bytes = layout.blocked()->bytes();
      GuardedBuffer written(bytes), scratch(kernel.scratch_bytes);
      std::memset(written.data(), 0xff, bytes);
      outputs.push_back(written.data());
      kernel.run({inputs.data(), outputs.data(), scratch.data()});
      EXPECT_TRUE(written.intact() && scratch.intact());
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(got[i], expected[i])) << i;
      EXPECT_EQ(std::memcmp(written.data(), copy.data(), bytes), 0) << c.to_string();

      // From states in blocks, the same tiles.
      KernelChoice in_blocks = with_tiles(true);
      ASSERT_TRUE(std::holds_alternative<std::unique_ptr<Kernel>>(in_blocks));
      Kernel& other = *std::get<std::unique_ptr<Kernel>>(in_blocks);
      std::vector<GuardedBuffer> states;
      for (std::size_t i = 0; i < 2 && !other.input_layouts.empty(); ++i) {
        states.emplace_back(other.input_layouts[i].blocked()->bytes());
        other.input_layouts[i].blocked()->from_plain(inputs[i], states[i].data());
        inputs[i] = outputs[i] = states[i].data();
      }
      GuardedBuffer other_scratch(other.scratch_bytes);
      std::memset(written.data(), 0xff, bytes);
      other.run({inputs.data(), outputs.data(), other_scratch.data()});
      EXPECT_TRUE(written.intact() && other_scratch.intact());
      EXPECT_EQ(std::memcmp(written.data(), copy.data(), bytes), 0) << "of blocks, " << c.to_string();
    }
  }
}

TEST(TileDense, WeightsBecomeTilesOfEitherType) {
  const device::tiles::DenseForm form{45, 1100};
  const Tensor wide = random_tensor({45, 1100}, 5);
  const Tensor narrow = random_bf16({45, 1100}, 5);
  for (const Tiles tiles : machine_tiles()) {
    const device::tiles::TileCode& code = device::tiles::tile_code(tiles);
    std::vector<bfloat16> of_wide(static_cast<std::size_t>(form.values())), of_narrow(of_wide);
    form.pack(code, wide.data<float>(), of_wide.data());
    form.pack(code, narrow.data<bfloat16>(), of_narrow.data());
    EXPECT_EQ(of_wide, of_narrow);
    for (const auto& [output, input] : {std::pair{0, 0}, std::pair{44, 1099}, std::pair{17, 33}}) {
      const std::int64_t at = form.at(output / 32, input / 32) + output % 32 * 32 + input % 32;
      EXPECT_EQ(of_narrow[static_cast<std::size_t>(at)], narrow.data<bfloat16>()[output * 1100 + input]);
    }
    EXPECT_EQ(to_float(of_narrow.back()), 0) << "there is no such output";
  }
}

TEST(TileDense, StatesInBlocksBecomeTheSameTilesAndRowsAgain) {
  const device::tiles::DenseForm form{45, 1088};
  const Tensor plain = random_tensor({45, 1088}, 5);
  const Layout layout = device::tiles::dense_states_layout(form);
  EXPECT_FALSE(layout.one_way());
  std::vector<float> blocks(static_cast<std::size_t>(form.values()), 1.0f);
  layout.blocked()->from_plain(plain.raw(), blocks.data());
  EXPECT_EQ(blocks.back(), 0) << "there is no such output";
  Tensor again(DType::f32, plain.shape());
  layout.blocked()->to_plain(blocks.data(), again.raw());
  EXPECT_TRUE(same_bits(again, plain));
  for (const Tiles tiles : machine_tiles()) {
    const device::tiles::TileCode& code = device::tiles::tile_code(tiles);
    std::vector<bfloat16> of_plain(static_cast<std::size_t>(form.values())), of_blocks(of_plain);
    form.pack(code, plain.data<float>(), of_plain.data());
    form.pack_blocks(code, blocks.data(), of_blocks.data());
    EXPECT_EQ(of_blocks, of_plain);
  }
}

TEST(TileDense, AnUpdateWantsItsStatesInPlainRowsOrBlocks) {
  const Problem problem = dense_update({4, 32, 32}, kUpdates[0], false, false);
  const Node node = problem.node();
  KernelRequest request = problem.request(node);
  class Elsewhere final : public BlockedLayout {
    std::size_t bytes() const override { return 4096; }
    std::string name() const override { return "elsewhere"; }
    bool equals(const BlockedLayout&) const override { return true; }
    void from_plain(const void*, void*) const override {}
  };
  request.inputs[0].layout = Layout(std::make_shared<Elsewhere>());
  const KernelChoice made = device::tiles::make_dense_update(request, Tiles::scalar);
  ASSERT_TRUE(std::holds_alternative<Refusal>(made));
  EXPECT_EQ(std::get<Refusal>(made).reason, "a state lies in elsewhere");
}

}  // namespace
}  // namespace ridgeline
