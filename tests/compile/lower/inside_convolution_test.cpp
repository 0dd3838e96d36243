// Ops merged into convolutions (the relu gradient after conv2d_bwd_data, max pooling after conv2d) give the bits of
// separate ops and the same kernels: random shapes, every instruction set and RIDGELINE_KERNELS.
// RIDGELINE_INSIDE_SHAPES=N tries N shapes of each kind.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "ridgeline/core/random.h"
#include "ridgeline/device/cpu/library.h"
#include "ridgeline/graph/ir/text.h"
#include "tests/compile/support.h"
#include "tests/support/environment.h"
#include "tests/support/forced_isa.h"

namespace ridgeline {
namespace {

using namespace testing;

// Forces a family of kernels (RIDGELINE_KERNELS), and restores the previous value at the end.
class ForcedKernels {
 public:
  explicit ForcedKernels(const std::string& family) {
    if (const char* before = std::getenv(kName)) before_ = before;
    family.empty() ? ::unsetenv(kName) : ::setenv(kName, family.c_str(), 1);
  }
  ~ForcedKernels() { before_ ? ::setenv(kName, before_->c_str(), 1) : ::unsetenv(kName); }
  ForcedKernels(const ForcedKernels&) = delete;
  ForcedKernels& operator=(const ForcedKernels&) = delete;

 private:
  static constexpr const char* kName = "RIDGELINE_KERNELS";
  std::optional<std::string> before_;
};

// Calls body(instruction set and family) for every instruction set and family of the build.
template <class Body>
void for_each_choice(const Body& body) {
  for (const device::Isa isa : device::machine_isas()) {
    const ForcedIsa forced(isa);
    for (const std::string family : {"", "own", "library", "reference"}) {
      if (family == "library" && device::library_kernels().empty()) continue;
      if (family == "reference" && isa != device::machine_isas().front()) continue;  // the same for all, and slow
      const ForcedKernels kernels(family);
      body(std::string(device::name_of(isa)) + " " + (family.empty() ? "any" : family), family);
    }
  }
}

std::string list(std::initializer_list<std::int64_t> values) {
  std::string text = "[";
  for (const std::int64_t v : values) text += (text.size() > 1 ? "," : "") + std::to_string(v);
  return text + "]";
}

// A convolution with stride 1: a large one, which uses Winograd kernels on f32 by default, or a small one of any kind.
struct Shapes {
  std::int64_t n, h, w, c, k, taps, pad, groups;
  std::string dtype;

  Shapes(SampleRandom& random, const std::string& type, bool large) : dtype(type) {
    const auto draw = [&](std::int64_t low, std::int64_t high) { return random.integer(low, high); };
    groups = !large && draw(0, 5) == 0 ? 2 : 1;
    taps = 1 + 2 * draw(large ? 1 : 0, large ? 1 : 2);
    n = large ? 4 : draw(1, 3), h = large ? draw(24, 28) : draw(6, 15), w = large ? draw(24, 28) : draw(6, 15);
    c = large ? 64 : groups * draw(1, 6) * 16 + (groups == 1 ? draw(0, 1) * draw(0, 7) : 0);
    k = large ? 64 : groups * draw(1, 6) * 16;
    pad = draw(0, taps / 2);
  }
  std::int64_t oh() const { return h + 2 * pad - taps + 1; }
  std::int64_t ow() const { return w + 2 * pad - taps + 1; }
  std::string image() const { return dtype + list({n, h, w, c}); }
  std::string weights() const { return dtype + list({k, taps, taps, c / groups}); }
  std::string result() const { return dtype + list({n, oh(), ow(), k}); }
  std::string attributes() const { return "pad=" + list({pad, pad, pad, pad}) + ", groups=" + std::to_string(groups); }
};

Graph gated_gradient(const Shapes& s) {
  return parse_graph("graph @gradient(%d: " + s.result() + ", %w: param " + s.weights() + ", %y: " + s.image() +
                     ") {\n  %0 = conv2d_bwd_data(%d, %w) {input=" + list({s.n, s.h, s.w, s.c}) + ", " +
                     s.attributes() + "} : " + s.image() + "\n  %1 = relu_grad(%y, %0) : " + s.image() +
                     "\n  return %1 \"dx\"\n}\n");
}

// Pools whose windows overlap or not, with padding and gaps.
Graph pooled(const Shapes& s, SampleRandom& random) {
  const std::int64_t kernel = random.integer(1, 4), stride = random.integer(1, 4), pad = random.integer(0, kernel - 1);
  const auto out = [&](std::int64_t size) { return (size + 2 * pad - kernel) / stride + 1; };
  const std::string shape = list({s.n, out(s.oh()), out(s.ow()), s.k});
  const bool bias = random.integer(0, 1) == 1, relu = random.integer(0, 1) == 1;
  std::string text = "graph @pooled(%x: " + s.image() + ", %w: param " + s.weights();
  if (bias) text += ", %b: param f32" + list({s.k});
  text += ") {\n  %0 = conv2d(%x, %w" + std::string(bias ? ", %b" : "") + ") {" + s.attributes() + "} : " + s.result();
  if (relu) text += "\n  %1 = relu(%0) : " + s.result();
  text += "\n  %2, %3 = max_pool(%" + std::string(relu ? "1" : "0") + ") {kernel=" + list({kernel, kernel}) +
          ", stride=" + list({stride, stride}) + ", pad=" + list({pad, pad, pad, pad}) + "} : " + s.dtype + shape +
          ", u8" + shape;
  return parse_graph(text + "\n  return %2 \"y\", %3 \"index\"\n}\n");
}

// The gradients of a convolution whose result a pool reads.
Graph pooled_gradient(const Shapes& s, SampleRandom& random) {
  const std::int64_t kernel = random.integer(1, 4), stride = random.integer(1, 4), pad = random.integer(0, kernel - 1);
  const auto out = [&](std::int64_t size) { return (size + 2 * pad - kernel) / stride + 1; };
  const std::string shape = list({s.n, out(s.oh()), out(s.ow()), s.k});
  const std::string window =
      "kernel=" + list({kernel, kernel}) + ", stride=" + list({stride, stride}) + ", pad=" + list({pad, pad, pad, pad});
  std::string text = "graph @gradient(%x: " + s.image() + ", %w: param " + s.weights() + ", %z: " + s.result() +
                     ", %d: " + s.dtype + shape + ") {\n  %0, %1 = max_pool(%z) {" + window + "} : " + s.dtype + shape +
                     ", u8" + shape + "\n  %2 = max_pool_bwd(%d, %1) {" + window +
                     ", input=" + list({s.n, s.oh(), s.ow(), s.k}) + "} : " + s.result();
  std::string returned = "\n  return %3 \"dw\", %4 \"db\"";
  text += "\n  %3, %4 = conv2d_bwd_weights(%x, %2) {kernel=" + list({s.taps, s.taps}) +
          ", bias=true, f32_results=" + (s.dtype == "f32" ? "false" : "true") + ", " + s.attributes() + "} : f32" +
          list({s.k, s.taps, s.taps, s.c / s.groups}) + ", f32" + list({s.k});
  if (random.integer(0, 1) == 1) {
    text += "\n  %5 = conv2d_bwd_data(%2, %w) {input=" + list({s.n, s.h, s.w, s.c}) + ", " + s.attributes() +
            "} : " + s.image();
    returned += ", %5 \"dx\"";
  }
  return parse_graph(text + returned + "\n}\n");
}

// Values with zeros of both signs, subnormal numbers, infinities and NaN.
void add_special(Tensor& t) {
  const double special[] = {0.0, -0.0, 0x1p-130, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()};
  for (std::int64_t i = 0; i < t.elements(); i += 3) t.set(i, special[i / 3 % 5]);
}

struct Run {
  std::vector<Tensor> results;
  std::string kernel;  // of the convolution
  std::size_t launches = 0;
};

Run run(const Graph& graph, const Arguments& arguments, const std::vector<std::string>& left_out) {
  Session session({.compute_threads = 2});
  store_arguments(graph, arguments, session);
  const auto program = compile(graph, session, {.disabled_passes = left_out});
  bind_inputs(graph, arguments, *program);
  EXPECT_TRUE(program->run());
  Run run;
  for (const auto& returned : graph.returns) run.results.push_back(program->output(returned.name).clone());
  for (const LaunchReport& launch : program->launches()) {
    if (!launch.converts) ++run.launches;
    if (launch.op.starts_with("conv2d") && !launch.converts) run.kernel = launch.kernel;
  }
  return run;
}

// The first element whose bits differ; "" if there is none.
std::string difference(const Tensor& a, const Tensor& b) {
  const std::size_t bytes = size_of(a.dtype());
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * bytes;
    if (std::memcmp(static_cast<const char*>(a.raw()) + at, static_cast<const char*>(b.raw()) + at, bytes) != 0)
      return "element " + std::to_string(i) + ": " + std::to_string(a.at(i)) + " and " + std::to_string(b.at(i));
  }
  return "";
}

// The number of graphs that were merged; all have the same bits and kernels with and without the pass.
int merged(std::span<const Graph> graphs, std::span<const Arguments> arguments, const std::string& pass,
           const std::string& in_force) {
  int count = 0;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const Run with = run(graphs[i], arguments[i], {}), without = run(graphs[i], arguments[i], {pass});
    for (std::size_t r = 0; r < with.results.size(); ++r) {
      EXPECT_EQ(difference(with.results[r], without.results[r]), "") << in_force << "\n" << to_text(graphs[i]);
    }
    std::string kernel = with.kernel;
    if (const std::size_t pool = kernel.find("_max_pool"); pool != std::string::npos) kernel.erase(pool, 9);
    EXPECT_EQ(kernel, without.kernel) << in_force << "\n" << to_text(graphs[i]);
    count += with.launches < without.launches ? 1 : 0;
  }
  return count;
}

TEST(InsideConvolution, AGateHasTheBitsOfTheReluGradientApartAndTheSameKernel) {
  const std::int64_t shapes = number_from_environment("RIDGELINE_INSIDE_SHAPES", 8);
  std::vector<Graph> graphs;
  std::vector<Arguments> arguments;
  SampleRandom random(philox_key(5, "gates"), 0, 0);
  for (std::int64_t i = 0; i < 2 * shapes; ++i) {
    graphs.push_back(gated_gradient({random, i % 2 == 0 ? "f32" : "bf16", i < 2}));
    arguments.push_back(random_arguments(graphs.back()));
    add_special(arguments.back().at("y"));
  }
  for_each_choice([&](const std::string& in_force, const std::string& family) {
    const std::size_t first = family == "reference" ? 2 : 0;  // large ones would take seconds
    const int count =
        merged(std::span(graphs).subspan(first), std::span(arguments).subspan(first), "fuse_data_gradient", in_force);
    EXPECT_TRUE(count > 0 || family == "library" || family == "reference") << in_force;
  });
}

TEST(InsideConvolution, APoolHasTheBitsOfTheOpsApartAndTheSameKernel) {
  const std::int64_t shapes = number_from_environment("RIDGELINE_INSIDE_SHAPES", 8);
  constexpr std::int64_t kLarge = 6;
  std::vector<Graph> graphs;
  std::vector<Arguments> arguments;
  SampleRandom random(philox_key(5, "pools"), 0, 0);
  for (std::int64_t i = 0; i < 2 * shapes; ++i) {
    Shapes shape(random, i % 2 == 0 ? "f32" : "bf16", i < kLarge);
    if (i < kLarge) shape.n = 9;                         // some for each thread
    if (i == 2 || i == 3) shape.h += 30, shape.w += 30;  // in bands
    // Work items of two images each, except the last one.
    if (i == 4 || i == 5) shape.n = 17, shape.h = shape.w = 13, shape.taps = 3, shape.pad = 1, shape.c = shape.k = 128;
    graphs.push_back(pooled(shape, random));
    arguments.push_back(random_arguments(graphs.back()));
    Tensor& x = arguments.back().at("x");
    x.set(x.elements() / 2, std::numeric_limits<double>::quiet_NaN());
  }
  for_each_choice([&](const std::string& in_force, const std::string& family) {
    const std::size_t first = family == "reference" ? kLarge : 0;
    const int count =
        merged(std::span(graphs).subspan(first), std::span(arguments).subspan(first), "fuse_max_pool", in_force);
    EXPECT_TRUE(count > 0 || family == "library" || family == "reference") << in_force;
  });
}

// The kernels on tiles support it.
TEST(InsideConvolution, APooledGradientHasTheBitsOfTheOpsApartAndTheSameKernel) {
  const std::int64_t shapes = number_from_environment("RIDGELINE_INSIDE_SHAPES", 8);
  std::vector<Graph> graphs;
  std::vector<Arguments> arguments;
  SampleRandom random(philox_key(5, "pooled gradients"), 0, 0);
  for (std::int64_t i = 0; i < 2 * shapes; ++i) {
    graphs.push_back(pooled_gradient({random, i % 4 == 0 ? "f32" : "bf16", false}, random));
    arguments.push_back(random_arguments(graphs.back()));
  }
  for_each_choice([&](const std::string& in_force, const std::string& family) {
    const int count = merged(graphs, arguments, "fuse_pool_gradient", in_force);
    const bool tiles = device::active_isa() == device::Isa::amx && (family.empty() || family == "own");
    EXPECT_TRUE(count > 0 || !tiles) << in_force;
  });
}

}  // namespace
}  // namespace ridgeline
