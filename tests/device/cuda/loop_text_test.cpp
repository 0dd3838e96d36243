// Loops as texts: what g++ makes of them has the bits of the CPU's interpreter, and NVRTC takes them for every card.
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ridgeline/device/cpu/families.h"
#include "ridgeline/device/cuda/library.h"
#include "ridgeline/device/cuda/loop/cubins.h"
#include "ridgeline/device/cuda/loop/kernel.h"
#include "ridgeline/device/cuda/loop/nvrtc.h"
#include "ridgeline/graph/loop/evaluate.h"
#include "ridgeline/graph/loop/text.h"
#include "tests/device/cuda/loop_texts.h"
#include "tests/device/cuda/op_support.h"

namespace ridgeline::cuda::testing {
namespace {

// The CPU's interpreter; empty where it refuses, with its reason.
std::vector<Tensor> interpreted(const LoopCase& c, std::string& refusal) {
  const OpDef& def = op_def("loop");
  Node node;
  node.op = node.name = "loop";
  node.attributes = complete_attributes(def, {{"expression", c.expression}});
  KernelRequest request{def, node, {}, {}};
  for (const Tensor& t : c.operands) request.inputs.push_back({{t.dtype(), t.shape()}, {}, false});
  std::vector<Tensor> results;
  for (const ValueType& type : c.results) {
    request.outputs.push_back({type, {}, false});
    results.emplace_back(type.dtype, type.shape);
  }
  const auto entries = device::loop_kernels();
  const auto entry = std::find_if(entries.begin(), entries.end(), [](const KernelEntry& e) { return e.op == "loop"; });
  KernelChoice choice = entry->make(request);
  if (const auto* refused = std::get_if<Refusal>(&choice)) {
    refusal = refused->reason;
    return {};
  }
  Kernel& kernel = *std::get<std::unique_ptr<Kernel>>(choice);
  std::vector<Tensor> operands;
  for (const Tensor& t : c.operands) operands.push_back(t.clone());
  std::vector<void*> in, out;
  for (Tensor& t : operands) in.push_back(t.raw());
  for (Tensor& t : results) out.push_back(t.raw());
  auto memory = scratch(kernel.scratch_bytes);
  kernel.run({in.data(), out.data(), memory.data()});
  return results;
}

TEST(CudaLoopTexts, TwoHundredRandomLoopsHaveTheBitsOfTheCpusInterpreter) {
  std::vector<LoopCase> cases;
  const char* const asked = std::getenv("RIDGELINE_CUDA_LOOPS");
  const unsigned count = asked != nullptr ? static_cast<unsigned>(std::atoi(asked)) : 200;
  for (unsigned seed = 0; seed < count; ++seed) cases.push_back(random_loop(seed));
  LoopTexts texts(cases);
  std::size_t compared = 0;
  std::string refusal;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const LoopCase& c = cases[i];
    SCOPED_TRACE(std::to_string(i) + ": " + c.expression);
    for (const bool in_place : {false, true}) {
      const auto got = texts.run(i, in_place);
      const auto reference = reference_of("loop", c.operands, {{"expression", c.expression}});
      const auto expected = interpreted(c, refusal);
      for (std::size_t r = 0; r < got.size(); ++r) {
        EXPECT_EQ(unequal_bits(got[r], reference[r]), "") << "result " << r << " beside the reference";
        if (expected.empty()) continue;
        EXPECT_EQ(unequal_bits(got[r], expected[r]), "") << "result " << r << " beside the interpreter";
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 3 * count / 2) << "the interpreter refuses: " << refusal;
}

TEST(CudaLoopTexts, ATextForManyTensorsUpdatesEachAsItsOwnLoopDoes) {
  const std::string adam =
      "t0 = 0.9 * x1 + 0.1 * x3; t1 = 0.999 * x2 + 0.001 * x3 * x3; x0 - x4 * t0 / (sqrt(t1) + 1e-08); t0; t1";
  const loop::Expression expression = loop::parse(adam);
  const ValueType array{DType::f32, Shape{2}}, one{DType::f32, Shape{}};
  const std::vector<ValueType> operands = {array, array, array, array, one};
  const std::vector<DType> types(3, DType::f32);
  const int room = tensors_of_a_launch(7, 1);
  ASSERT_GT(room, 40);
  auto made = loop_text(expression, Arithmetic::f32, Shape{2}, operands, types, room);
  ASSERT_TRUE(std::holds_alternative<LoopText>(made)) << std::get<Refusal>(made).reason;
  const LoopKernel kernel(std::get<LoopText>(std::move(made)), Shape{2});
  const CompiledTexts compiled({kernel.text().text});
  Values values(3);
  const Tensor rate = Tensor::scalar<float>(0.01f);
  std::vector<std::vector<Tensor>> tensors(static_cast<std::size_t>(room) + 9);
  std::vector<std::vector<void*>> inputs, outputs;
  std::vector<std::vector<Tensor>> expected;
  for (auto& t : tensors) {
    const Shape shape{values.pick({1, 3, 1023, 1024, 5000})};
    for (int i = 0; i < 4; ++i) t.push_back(values.uniform(DType::f32, shape, i == 2 ? 0 : -1));
    expected.push_back(reference_of("loop", {t[0], t[1], t[2], t[3], rate}, {{"expression", adam}}));
    inputs.push_back({t[0].raw(), t[1].raw(), t[2].raw(), t[3].raw(), const_cast<void*>(rate.raw())});
    outputs.push_back({t[0].raw(), t[1].raw(), t[2].raw()});  // in place
  }
  std::vector<LoopTensor> list;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    list.push_back({inputs[i].data(), outputs[i].data(), tensors[i][0].elements()});
  int launches = 0;
  kernel.give(
      [&](const KernelLaunch& launch) {
        ++launches;
        compiled.run(launch);
      },
      list);
  EXPECT_EQ(launches, 2);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    for (std::size_t r = 0; r < 3; ++r) EXPECT_EQ(unequal_bits(tensors[i][r], expected[i][r]), "") << i;
  }
}

// As a step in 16 bits has it: bf16 gradients, and a bf16 copy of each new weight.
constexpr const char* kMomentumRule = "t0 = 0.9 * x1 + x2; t1 = x0 - x3 * t0; t1; t0; t1 : bf16";

LoopText momentum_text(int room) {
  const ValueType array{DType::f32, Shape{2}}, narrow{DType::bf16, Shape{2}}, one{DType::f32, Shape{}};
  const std::vector<ValueType> operands = {array, array, narrow, one};
  const std::vector<DType> types = {DType::f32, DType::f32, DType::bf16};
  auto made = loop_text(loop::parse(kMomentumRule), Arithmetic::f32, Shape{2}, operands, types, room);
  if (const auto* refusal = std::get_if<Refusal>(&made)) throw Error(refusal->reason);
  return std::get<LoopText>(std::move(made));
}

TEST(CudaLoopTexts, ATextForManyTensorsReadsNarrowGradientsAndWritesCopies) {
  const int room = tensors_of_a_launch(6, 1);
  const LoopKernel kernel(momentum_text(room), Shape{2});
  EXPECT_EQ(kernel.in_place(), (std::vector<int>{0, 1, 2}));
  const CompiledTexts compiled({kernel.text().text});
  Values values(4);
  const Tensor rate = Tensor::scalar<float>(0.01f);
  std::vector<std::vector<Tensor>> inputs, outputs, expected;
  std::vector<std::vector<void*>> in, out;
  std::vector<LoopTensor> list;
  for (int t = 0; t < room + 3; ++t) {
    const Shape shape{values.pick({1, 5, 96, 1025, 3000})};
    inputs.push_back({values.uniform(DType::f32, shape), values.uniform(DType::f32, shape),
                      values.uniform(DType::bf16, shape), rate});
    outputs.push_back({noise(DType::f32, shape), noise(DType::f32, shape), noise(DType::bf16, shape)});
    expected.push_back(reference_of("loop", inputs.back(), {{"expression", std::string(kMomentumRule)}}));
    in.emplace_back(), out.emplace_back();
    for (Tensor& x : inputs.back()) in.back().push_back(x.raw());
    for (Tensor& y : outputs.back()) out.back().push_back(y.raw());
  }
  for (std::size_t t = 0; t < in.size(); ++t) list.push_back({in[t].data(), out[t].data(), inputs[t][0].elements()});
  kernel.give([&](const KernelLaunch& launch) { compiled.run(launch); }, list);
  for (std::size_t t = 0; t < in.size(); ++t) {
    for (std::size_t r = 0; r < 3; ++r) EXPECT_EQ(unequal_bits(outputs[t][r], expected[t][r]), "") << t << " " << r;
  }
}

TEST(CudaLoopTexts, IntegersAndDoublesAreComputedInDouble) {
  // What counts steps: the bits of the reference, in f64.
  const std::string expression = "x0 + 1; floor(x0 / 7) * 7; cos(x1) + sin(x1); exp(x1) + log(abs(x1)); sqrt(x1)";
  const loop::Expression parsed = loop::parse(expression);
  Values values(5);
  std::vector<Tensor> operands = {Tensor(DType::i64, {37}), Tensor(DType::f64, {37})};
  for (std::int64_t i = 0; i < 37; ++i) {
    operands[0].set(i, static_cast<double>(values.random()()) * 4096);
    operands[1].set(i, static_cast<double>(values.random()()) * 0x1p-24 - 100);
  }
  const std::vector<DType> types = {DType::i64, DType::i32, DType::f64, DType::f64, DType::f32};
  const ValueType inputs[] = {{DType::i64, {37}}, {DType::f64, {37}}};
  auto made = loop_text(parsed, Arithmetic::f64, Shape{37}, inputs, types);
  ASSERT_TRUE(std::holds_alternative<LoopText>(made));
  const LoopKernel kernel(std::get<LoopText>(std::move(made)), Shape{37});
  const CompiledTexts compiled({kernel.text().text});
  std::vector<Tensor> got, expected;
  for (DType type : types) {
    got.push_back(noise(type, {37}));
    expected.push_back(noise(type, {37}));
  }
  loop::evaluate(parsed, Arithmetic::f64, Shape{37}, operands, expected);
  std::vector<void*> in, out;
  for (Tensor& t : operands) in.push_back(t.raw());
  for (Tensor& t : got) out.push_back(t.raw());
  kernel.give([&](const KernelLaunch& launch) { compiled.run(launch); }, in.data(), out.data(), nullptr);
  for (std::size_t r = 0; r < got.size(); ++r) EXPECT_EQ(unequal_bits(got[r], expected[r]), "") << r;
}

TEST(CudaLoopTexts, TheSameLoopOverOtherSizesIsTheSameKernel) {
  const auto name_of = [](Shape shape, std::int64_t channels) {
    const ValueType inputs[] = {{DType::f32, shape}, {DType::f32, {channels}}};
    const DType results[] = {DType::f32};
    return std::get<LoopText>(loop_text(loop::parse("x0 * x1"), Arithmetic::f32, shape, inputs, results)).name;
  };
  EXPECT_EQ(name_of({5, 8}, 8), name_of({70, 96}, 96));
  EXPECT_NE(name_of({5, 8}, 8), name_of({70, 3}, 3));  // groups of four cross its rows
}

bool has_nvrtc() {
  try {
    nvrtc_version();
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Whether `word` stands in the file: names of sections, and of what a kernel uses.
bool holds(const std::vector<unsigned char>& cubin, std::string_view word) {
  return std::search(cubin.begin(), cubin.end(), word.begin(), word.end()) != cubin.end();
}

TEST(CudaLoopTexts, NvrtcTakesThemForEachCardAndNothingLiesInLocalMemory) {
  if (!has_nvrtc()) GTEST_SKIP() << "NVRTC is not here";
  const char* const asked = std::getenv("RIDGELINE_CUDA_LOOPS");
  const unsigned count = asked != nullptr ? static_cast<unsigned>(std::atoi(asked)) : 12;
  for (unsigned seed = 0; seed < count; ++seed) {
    const LoopCase c = random_loop(seed);
    const auto kernel = kernel_of(c);
    for (const char* architecture : {"sm_80", "sm_90a"}) {
      const auto cubin = compile_text(kernel->text().name, kernel->text().text, architecture);
      EXPECT_TRUE(holds(cubin, ".text." + kernel->text().name)) << c.expression;
      EXPECT_EQ(local_bytes(cubin, kernel->text().name), 0u) << c.expression;
    }
    EXPECT_EQ(kernel->text().text.find("atomic"), std::string::npos);
  }
  const LoopText many = momentum_text(tensors_of_a_launch(6, 1));
  for (const char* architecture : {"sm_80", "sm_90a"}) {
    const auto cubin = compile_text(many.name, many.text, architecture);
    EXPECT_TRUE(holds(cubin, ".text." + many.name));
    EXPECT_EQ(local_bytes(cubin, many.name), 0u);
  }
}

TEST(CudaLoopTexts, CubinsAreKeptAndADamagedOneIsMadeAgain) {
  if (!has_nvrtc()) GTEST_SKIP() << "NVRTC is not here";
  const auto folder = std::filesystem::temp_directory_path() / ("cubins_" + std::to_string(::getpid()));
  const auto kernel = kernel_of(random_loop(1));
  const auto get = [&] { return cubin_of(kernel->text().name, kernel->text().text, "sm_90a", folder.string()); };
  const auto first = get();
  ASSERT_FALSE(first.empty());
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  ASSERT_EQ(files.size(), 1u);
  const auto written = std::filesystem::last_write_time(files[0]);
  EXPECT_EQ(get(), first);
  EXPECT_EQ(std::filesystem::last_write_time(files[0]), written);  // read, not made
  std::filesystem::resize_file(files[0], std::filesystem::file_size(files[0]) / 2);
  EXPECT_EQ(get(), first);
  std::ofstream(files[0], std::ios::binary | std::ios::in).seekp(100).put('\x55');
  EXPECT_EQ(get(), first);
  cubin_of(kernel->text().name, kernel->text().text, "sm_80", folder.string());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()), 2);
  std::filesystem::remove_all(folder);
}

TEST(CudaLoopTexts, ATextThatDoesNotCompileTellsTheCompilersWords) {
  if (!has_nvrtc()) GTEST_SKIP() << "NVRTC is not here";
  try {
    compile_text("broken", "extern \"C\" __global__ void broken() { nothing_here(); }", "sm_90a");
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("nothing_here"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("broken for sm_90a"), std::string::npos);
  }
}

}  // namespace
}  // namespace ridgeline::cuda::testing
