#include <fmt/format.h>

#include <map>

#include "ridgeline/device/cuda/driver/memory.h"
#include "ridgeline/device/cuda/loop/cubins.h"
#include "tests/device/cuda/card/stage.h"
#include "tests/device/cuda/dense_updates.h"
#include "tests/device/cuda/kernel_cases.h"
#include "tests/device/cuda/loop_texts.h"

namespace ridgeline::cuda::check {
namespace {

using testing::HostRunner;
using testing::KernelCase;
using testing::KernelRate;

// Launches of kernels on the card; texts from modules of their own.
class CardRunner final : public testing::KernelRunner {
 public:
  explicit CardRunner(Card& card) : card_(card) {}

  void compile(const std::string& name, const std::string& text) override {
    const std::string architecture = card_.context->info().compute_capability >= 90 ? "sm_90a" : "sm_80";
    const auto begin = std::chrono::steady_clock::now();
    const auto cubin = cubin_of(name, text, architecture, "");
    compiling_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    modules_[name] = std::make_unique<Module>(card_.context, name, cubin);
  }
  double compiling() const { return compiling_; }

  void* upload(const void* data, std::size_t bytes) override {
    memory_.push_back(std::make_unique<Memory>(card_.context, bytes + 256, "operands of a kernel"));
    card_.stream.copy_to_device(memory_.back()->address(), data, bytes);
    card_.stream.synchronize();
    return reinterpret_cast<void*>(memory_.back()->address());
  }

  void launch(const KernelLaunch& launch) override {
    const std::string symbol(launch.kernel.symbol);
    const auto own = modules_.find(symbol);
    card_.stream.launch(
        {.name = launch.kernel.symbol,
         .function = own != modules_.end() ? own->second->function(symbol) : card_.kernels.function(symbol),
         .grid = {launch.blocks.x, launch.blocks.y, launch.blocks.z},
         .block = {launch.kernel.threads},
         .parameters = launch.parameters,
         .parameter_bytes = launch.kernel.parameter_bytes,
         .pointers = launch.pointers});
  }

  std::vector<std::byte> download(const void* address, std::size_t bytes) override {
    std::vector<std::byte> read(bytes);
    card_.stream.copy_to_host(read.data(), reinterpret_cast<DeviceAddress>(address), bytes);
    card_.stream.synchronize();
    return read;
  }

 private:
  Card& card_;
  std::map<std::string, std::unique_ptr<Module>> modules_;
  double compiling_ = 0;
  std::vector<std::unique_ptr<Memory>> memory_;
};

}  // namespace

double timed(Card& card, int times, const std::function<void()>& run) {
  CudaEvent begin(card.context, true), end(card.context, true);
  run();
  card.stream.record(begin);
  for (int i = 0; i < times; ++i) run();
  card.stream.record(end);
  card.stream.synchronize();
  return end.seconds_since(begin) / times;
}

// Each kernel on random operands: the bits of its host version, or within the band of tensor cores and the same bits
// again.
void check_kernels(Card& card) {
  for (const KernelRow* row : kernel_rows()) {
    int local = 0;
    card.context->make("cuFuncGetAttribute", row->symbol, &Driver::function_get, &local, FunctionAttribute::local_bytes,
                       card.kernels.function(std::string(row->symbol)));
    if (local != 0) throw Error(fmt::format("{} uses {} bytes of local memory", row->symbol, local));
  }
  std::map<std::string, int> equal, different;
  std::string first;
  std::uint64_t hash = 0;
  for (const KernelCase& c : testing::kernel_cases(1, 6)) {
    if (card.left() < 2) {
      const std::string cut = "out of time before " + c.name;
      card.report.line(cut);
      if (!card.context->driver().recording() && first.empty()) first = cut;  // which is as slow as its host
      break;
    }
    CardRunner on_card(card);
    HostRunner on_host;
    const auto got = c.run(on_card);
    std::string wrong = testing::difference(got, c.run(on_host), c.tensor_cores);
    if (c.tensor_cores && wrong.empty()) {
      CardRunner again(card);
      wrong = testing::difference(c.run(again), got);
    }
    hash = hash * 31 + testing::hash_of(got);
    ++(wrong.empty() ? equal : different)[c.name.substr(0, c.name.find(' '))];
    if (!wrong.empty()) {
      card.report.line(c.name + ": " + wrong);
      if (first.empty()) first = c.name + ": " + wrong;
    }
  }
  for (const auto& [family, count] : equal)
    card.report.line(fmt::format("{:26} {} cases as the host version computes them, {} otherwise", family, count,
                                 different[family]));
  card.report.line(fmt::format("{} kernels; hash of all results {:016x}", kernel_rows().size(), hash));
  if (!first.empty()) throw Error(first);
}

// Random loops, compiled for this card: the bits of the reference.
void check_loops(Card& card) {
  if (card.context->driver().recording()) return card.report.line("the recording driver takes no cubins");
  int equal = 0;
  double compiling = 0;
  for (unsigned seed = 0; seed < 60 && card.left() > 3; ++seed, ++equal) {
    const testing::LoopCase c = testing::random_loop(seed);
    const auto kernel = testing::kernel_of(c);
    CardRunner runner(card);
    runner.compile(kernel->text().name, kernel->text().text);
    compiling += runner.compiling();
    std::vector<void*> in, out;
    for (const Tensor& t : c.operands) in.push_back(runner.upload(t.raw(), t.byte_size()));
    for (const ValueType& r : c.results) {
      const Tensor noise = testing::noise(r.dtype, r.shape);
      out.push_back(runner.upload(noise.raw(), noise.byte_size()));
    }
    const auto memory = testing::scratch(kernel->scratch_bytes());
    void* const scratch = runner.upload(memory.data(), memory.size());
    kernel->give([&](const KernelLaunch& launch) { runner.launch(launch); }, in.data(), out.data(), scratch);
    const auto expected = testing::reference_of("loop", c.operands, {{"expression", c.expression}});
    for (std::size_t r = 0; r < out.size(); ++r) {
      Tensor got(c.results[r].dtype, c.results[r].shape);
      const auto bytes = runner.download(out[r], got.byte_size());
      std::memcpy(got.raw(), bytes.data(), bytes.size());
      const std::string wrong = testing::unequal_bits(got, expected[r]);
      if (!wrong.empty()) throw Error(fmt::format("loop {}, result {}: {} ({})", seed, r, wrong, c.expression));
    }
  }
  card.report.line(fmt::format("{} random loops with the reference's bits, compiled in {:.0f} ms each", equal,
                               1e3 * compiling / std::max(equal, 1)));
}

namespace {

// The results of an update on the card.
std::vector<Tensor> updated(CardRunner& runner, const UpdateKernel& kernel, const testing::NodeProblem& problem) {
  std::vector<void*> in, out;
  for (const Tensor& t : problem.inputs) in.push_back(runner.upload(t.raw(), t.byte_size()));
  for (const ValueType& type : problem.outputs) {
    const Tensor noise = testing::noise(type.dtype, type.shape);
    out.push_back(runner.upload(noise.raw(), noise.byte_size()));
  }
  const std::vector<int> over = kernel.in_place();
  for (std::size_t r = 0; r < out.size(); ++r) {
    if (over[r] >= 0) out[r] = in[static_cast<std::size_t>(over[r])];
  }
  const auto room = testing::scratch(kernel.scratch_bytes());
  void* const scratch = runner.upload(room.data(), room.size());
  kernel.give([&](const KernelLaunch& launch) { runner.launch(launch); }, in.data(), out.data(), scratch);
  std::vector<Tensor> results;
  for (std::size_t r = 0; r < out.size(); ++r) {
    results.emplace_back(problem.outputs[r].dtype, problem.outputs[r].shape);
    const auto bytes = runner.download(out[r], results.back().byte_size());
    std::memcpy(results.back().raw(), bytes.data(), bytes.size());
  }
  return results;
}

}  // namespace

// Random updates of dense weights, compiled for this card: the bits of the reference where sums are exact, else within
// the band of tensor cores; the same bits again.
void check_dense_updates(Card& card) {
  if (card.context->driver().recording()) return card.report.line("the recording driver takes no cubins");
  int exact = 0, in_band = 0;
  double compiling = 0;
  for (unsigned seed = 0; seed < 60 && card.left() > 3; ++seed) {
    const testing::UpdateCase c = testing::random_update(seed);
    const auto kernel = testing::kernel_of(c.problem);
    CardRunner runner(card);
    runner.compile(kernel->text().name, kernel->text().text);
    compiling += runner.compiling();
    const auto got = updated(runner, *kernel, c.problem), again = updated(runner, *kernel, c.problem);
    std::string wrong = testing::unlike_reference(c, got);
    for (std::size_t r = 0; r < got.size() && wrong.empty(); ++r) {
      wrong = testing::unequal_bits(again[r], got[r]);
      if (!wrong.empty()) wrong = fmt::format("result {} a second time, {}", r, wrong);
    }
    if (!wrong.empty()) throw Error(fmt::format("update {}: {} ({})", seed, wrong, testing::text_of(c)));
    ++(c.exact ? exact : in_band);
  }
  card.report.line(fmt::format("{} dense updates with the reference's bits, {} in the band, compiled in {:.0f} ms each",
                               exact, in_band, 1e3 * compiling / std::max(exact + in_band, 1)));
}

// GB/s of each kernel beside the rate of a copy, and the library's times for dense layers of few rows.
void measure_kernels(Card& card) {
  if (card.context->driver().recording()) return card.report.line("the recording driver has no speed");
  const std::size_t bytes = std::size_t{1} << 29;
  Memory x(card.context, bytes, "a copy"), y(card.context, bytes, "a copy");
  const double copy = 2.0 * static_cast<double>(bytes) /
                      timed(card, 10, [&] { card.stream.copy_on_device(y.address(), x.address(), bytes); });
  card.report.line(fmt::format("copy {:.0f} GB/s, read and written", copy * 1e-9));
  for (const KernelRate& rate : testing::kernel_rates()) {
    if (card.left() < 3) return card.report.line("out of time");
    CardRunner runner(card);
    const double seconds = timed(card, 10, rate.prepare(runner));
    card.report.line(fmt::format("{:58} {:8.1f} us {:6.0f} GB/s, {:.2f} of the copy", rate.name, 1e6 * seconds,
                                 rate.bytes / seconds * 1e-9, rate.bytes / seconds / copy));
  }
  time_library_products(card);
}

}  // namespace ridgeline::cuda::check
