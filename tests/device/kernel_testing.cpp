#include "tests/device/kernel_testing.h"

namespace ridgeline {

Tensor random_tensor(const Shape& shape, std::uint64_t seed, double low, double high) {
  Tensor t(DType::f32, shape);
  SampleRandom random(philox_key(seed, "kernel tests"), 0, 0);
  for (std::int64_t i = 0; i < t.elements(); ++i) t.set(i, random.uniform(low, high));
  return t;
}

Tensor as_type(const Tensor& t, DType dtype) {
  Tensor other(dtype, t.shape());
  for (std::int64_t i = 0; i < t.elements(); ++i) other.set(i, t.at(i));
  return other;
}

Tensor random_labels(std::int64_t rows, std::int64_t classes, std::uint64_t seed) {
  Tensor t(DType::i32, {rows});
  SampleRandom random(philox_key(seed, "labels"), 0, 0);
  for (std::int64_t i = 0; i < rows; ++i)
    t.data<std::int32_t>()[i] = static_cast<std::int32_t>(random.integer(0, classes - 1));
  return t;
}

std::vector<Tensor> run_kernel(Kernel& kernel, const Problem& problem, const std::vector<ValueType>& output_types) {
  std::vector<GuardedBuffer> buffers;
  std::vector<void*> inputs;
  std::vector<void*> outputs;
  const auto layout = [](const std::vector<Layout>& layouts, std::size_t i) {
    return layouts.empty() ? Layout() : layouts[i];
  };
  const auto input_types = problem.input_types();
  for (std::size_t i = 0; i < input_types.size(); ++i) {
    const Layout l = layout(kernel.input_layouts, i);
    buffers.emplace_back(l.bytes(input_types[i]));
    inputs.push_back(buffers.back().data());
    if (l.plain())
      std::memcpy(inputs.back(), problem.inputs[i].raw(), problem.inputs[i].byte_size());
    else
      l.blocked()->from_plain(problem.inputs[i].raw(), inputs.back());
  }
  for (std::size_t i = 0; i < output_types.size(); ++i) {
    buffers.emplace_back(layout(kernel.output_layouts, i).bytes(output_types[i]));
    outputs.push_back(buffers.back().data());
  }
  buffers.emplace_back(kernel.scratch_bytes);
  parallel_team([](int, int) {});  // the team's threads are created when they are first needed
  AllocationCount count;
  kernel.run({inputs.data(), outputs.data(), buffers.back().data()});
  const std::int64_t objects = count.end().objects;
  if (kernel.name.find("onednn") == std::string::npos && !kernel.name.starts_with("reference")) {
    EXPECT_EQ(objects, 0) << kernel.name << " allocates when it runs";
  }
  for (const GuardedBuffer& buffer : buffers) EXPECT_TRUE(buffer.intact()) << kernel.name << " wrote behind a buffer";
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < output_types.size(); ++i) {
    Tensor result(output_types[i].dtype, output_types[i].shape);
    const Layout l = layout(kernel.output_layouts, i);
    if (l.plain())
      std::memcpy(result.raw(), outputs[i], result.byte_size());
    else
      l.blocked()->to_plain(outputs[i], result.raw());
    results.push_back(std::move(result));
  }
  return results;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
}

double difference(const Tensor& got, const Tensor& expected) {
  if (got.dtype() != expected.dtype()) return 1;
  if (!is_floating(got.dtype())) return same_bits(got, expected) ? 0 : 1;
  double largest = 0;
  double worst = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double a = got.at(i);
    const double b = expected.at(i);
    if (std::isnan(a) != std::isnan(b)) return 1;
    if (std::isnan(a)) continue;
    if (std::isfinite(b)) largest = std::max(largest, std::abs(b));
    if (a != b) worst = std::max(worst, std::abs(a - b));
  }
  return worst == 0 ? 0 : worst / std::max(largest, 1e-30);
}

void expect_kernels_agree(const Problem& problem, double tolerance, std::set<std::string>& accepted) {
  const std::vector<Tensor> expected = problem.reference();
  const Node node = problem.node();
  const KernelRequest request = problem.request(node);
  int took = 0;
  for (const KernelEntry& entry : cpu_kernels(problem.op)) {
    if (entry.provider == Provider::reference) continue;
    KernelChoice choice = entry.make(request);
    if (const auto* refusal = std::get_if<Refusal>(&choice)) {
      EXPECT_FALSE(refusal->reason.empty()) << problem.op << " " << entry.name;
      continue;
    }
    ++took;
    accepted.insert(problem.op + "/" + std::string(entry.name));
    Kernel& kernel = *std::get<std::unique_ptr<Kernel>>(choice);
    EXPECT_FALSE(kernel.name.empty());
    const std::vector<Tensor> got = run_kernel(kernel, problem);
    const std::vector<Tensor> again = run_kernel(kernel, problem);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_LE(difference(got[i], expected[i]), tolerance)
          << kernel.name << " result " << i << " on " << problem.inputs[0].shape().to_string();
      EXPECT_TRUE(same_bits(got[i], again[i])) << kernel.name << " result " << i << ": other bits on the second run";
    }
  }
  EXPECT_GT(took, 0) << "nothing but the reference takes " << problem.op << " on "
                     << problem.inputs[0].shape().to_string();
}

}  // namespace ridgeline
