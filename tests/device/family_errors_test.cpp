// The distance of every family of f32 kernels from fp64 by pass, over random shapes, for the table in docs/device.md.
//   RIDGELINE_ERROR_TABLE=200 build/tests/test_device --gtest_filter='FamilyErrors.*'
// prints it for that many shapes.
#include <map>

#include "tile_support.h"
#include "winograd_support.h"

namespace ridgeline {
namespace {

// rms, relative to the result's rms. The terms that bf16x3 omits from a product are up to 1.1e-5 of it.
double most_error(const std::string& family) { return family == "bf16x3" ? 2e-5 : 1e-5; }

using Tables = std::map<std::string, std::map<std::string, double>>;  // by family, then by op

std::vector<Tensor> in_fp64(const Problem& problem) {
  Problem wide = problem;
  for (Tensor& t : wide.inputs) t = as_type(t, DType::f64);
  return wide.reference();
}

void note(Kernel& kernel, const std::string& family, const Problem& problem, const std::vector<Tensor>& expected,
          Tables& errors) {
  const std::vector<Tensor> got = run_kernel(kernel, problem);
  double& worst = errors[family][problem.op];
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = rms_error(got[i], expected[i]);
    EXPECT_LE(error, most_error(family)) << kernel.name << " result " << i << " on "
                                         << problem.inputs[0].shape().to_string();
    worst = std::max(worst, error);
  }
}

using Halves = KernelChoice (*)(const KernelRequest&, Tiles);

// Every kernel that accepts it: those of the list, and bf16x3 on the tiles of the machine.
void note_all(const Problem& problem, Halves halves, Tables& errors) {
  const std::vector<Tensor> expected = in_fp64(problem);
  const Node node = problem.node();
  const KernelRequest request = problem.request(node);
  for (const KernelEntry& entry : cpu_kernels(problem.op)) {
    if (entry.provider == Provider::reference) continue;
    KernelChoice choice = entry.make(request);
    if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&choice)) {
      const std::string name(entry.name);
      // Families with two entries.
      const std::string family = name.starts_with("winograd") ? "winograd"
                                 : name.starts_with("rows")   ? "rows"
                                 : name.starts_with("pixels") ? "pixels"
                                                              : name;
      note(**kernel, family, problem, expected, errors);
    }
  }
  KernelChoice choice = halves(request, machine_tiles().back());
  if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&choice)) note(**kernel, "bf16x3", problem, expected, errors);
}

// A third of them 1x1 and a third 3x3 or 5x5, with stride 1, for which there are special families; the others are
// arbitrary.
ConvolutionCase drawn(SampleRandom& random) {
  ConvolutionCase c = random_convolution(random);
  const std::int64_t kind = random.integer(0, 2);
  if (kind == 2) return c;
  const std::int64_t taps = kind == 0 ? 1 : 2 * random.integer(1, 2) + 1;
  c.kernel = {taps, taps};
  c.stride = c.dilation = {1, 1};
  c.pad.assign(4, taps / 2);
  c.groups = 1;
  c.image = {c.image[0], c.image[1] + taps, c.image[2] + taps, 16 * random.integer(2, 5)};
  c.filters = 16 * random.integer(2, 5);
  return c;
}

std::vector<Problem> passes_of(const ConvolutionCase& c) {
  Problem forward{"conv2d", {random_tensor(c.image, 1, 0, 1), random_tensor(c.weights(), 2)}, c.attributes()};
  Problem data{"conv2d_bwd_data", {random_tensor(c.result(), 4), random_tensor(c.weights(), 2)}, c.attributes()};
  data.attributes.set("input", c.image.dims());
  Problem weights{
      "conv2d_bwd_weights", {random_tensor(c.image, 1, 0, 1), random_tensor(c.result(), 4)}, c.attributes()};
  weights.attributes.set("kernel", c.kernel);
  weights.attributes.set("bias", false);
  return {forward, data, weights};
}

std::vector<Problem> dense_passes_of(std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
  const Tensor x = random_tensor({rows, inputs}, 1, 0, 1), w = random_tensor({outputs, inputs}, 2),
               dy = random_tensor({rows, outputs}, 3);
  return {{"dense", {x, w}, {}}, {"dense_bwd_data", {dy, w}, {}}, {"dense_bwd_weights", {x, dy}, {{"bias", false}}}};
}

void print(const Tables& errors) {
  const char* const ops[] = {"conv2d", "conv2d_bwd_data", "conv2d_bwd_weights",
                             "dense",  "dense_bwd_data",  "dense_bwd_weights"};
  std::printf("| family |");
  for (const char* op : ops) std::printf(" %s |", op);
  std::printf("\n|---|---|---|---|---|---|---|\n");
  for (const auto& [family, of_ops] : errors) {
    std::printf("| %s |", family.c_str());
    for (const char* op : ops) {
      const auto found = of_ops.find(op);
      found == of_ops.end() ? std::printf(" - |") : std::printf(" %.1e |", found->second);
    }
    std::printf("\n");
  }
}

TEST(FamilyErrors, EveryF32KernelIsCloseToFp64InEveryPass) {
  const char* wanted = std::getenv("RIDGELINE_ERROR_TABLE");
  const int shapes = wanted == nullptr ? 16 : std::atoi(wanted);
  ASSERT_GT(shapes, 0) << "RIDGELINE_ERROR_TABLE is a number of shapes";
  using namespace device::tiles;
  constexpr Halves kConvolutions[] = {make_halves_forward, make_halves_backward_data, make_halves_backward_weights};
  constexpr Halves kDense[] = {make_halves_dense_forward, make_halves_dense_backward_data,
                               make_halves_dense_backward_weights};
  SampleRandom random(philox_key(41, "families"), 0, 0);
  Tables errors;
  for (int shape = 0; shape < shapes; ++shape) {
    const std::vector<Problem> convolution = passes_of(drawn(random));
    const auto extent = [&] { return random.integer(1, random.integer(0, 2) == 0 ? 600 : 80); };
    const std::int64_t rows = random.integer(1, 64), inputs = extent();
    const std::vector<Problem> dense = dense_passes_of(rows, inputs, extent());
    for (std::size_t pass = 0; pass < 3; ++pass) {
      note_all(convolution[pass], kConvolutions[pass], errors);
      note_all(dense[pass], kDense[pass], errors);
    }
  }
  for (const char* family : {"direct", "rows", "pixels", "winograd", "bf16x3"})
    EXPECT_GE(errors[family].size(), 3u) << family << " took no shape of some pass";
  EXPECT_EQ(errors.contains("onednn"), has_library());
  if (wanted != nullptr) print(errors);
}

}  // namespace
}  // namespace ridgeline
