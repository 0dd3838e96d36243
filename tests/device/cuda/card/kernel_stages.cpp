#include <fmt/format.h>

#include <map>

#include "ridgeline/device/cuda/driver/memory.h"
#include "ridgeline/device/cuda/loop/cubins.h"
#include "tests/device/cuda/card/stage.h"
#include "tests/device/cuda/kernel_cases.h"
#include "tests/device/cuda/loop_texts.h"

namespace ridgeline::cuda::check {
namespace {

using testing::HostRunner;
using testing::KernelCase;
using testing::KernelRate;

// Launches of kernels on the card; loops from modules of their own.
class CardRunner final : public testing::KernelRunner {
 public:
  explicit CardRunner(Card& card, Module* module = nullptr) : card_(card), module_(module) {}

  void* upload(const void* data, std::size_t bytes) override {
    memory_.push_back(std::make_unique<Memory>(card_.context, bytes + 256, "operands of a kernel"));
    card_.stream.copy_to_device(memory_.back()->address(), data, bytes);
    card_.stream.synchronize();
    return reinterpret_cast<void*>(memory_.back()->address());
  }

  void launch(const KernelLaunch& launch) override {
    const std::string symbol(launch.kernel.symbol);
    const bool loop = module_ != nullptr && launch.kernel.host == nullptr;
    card_.stream.launch({.name = launch.kernel.symbol,
                         .function = loop ? module_->function(symbol) : card_.kernels.function(symbol),
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
  Module* module_;
  std::vector<std::unique_ptr<Memory>> memory_;
};

double timed(Card& card, int times, const std::function<void()>& body) {
  CudaEvent begin(card.context, true), end(card.context, true);
  body();
  card.stream.record(begin);
  for (int i = 0; i < times; ++i) body();
  card.stream.record(end);
  card.stream.synchronize();
  return end.seconds_since(begin) / times;
}

}  // namespace

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
  const int capability = card.context->info().compute_capability;
  const std::string architecture = capability >= 90 ? "sm_90a" : "sm_80";
  int equal = 0;
  double compiling = 0;
  for (unsigned seed = 0; seed < 60 && card.left() > 3; ++seed, ++equal) {
    const testing::LoopCase c = testing::random_loop(seed);
    const auto kernel = testing::kernel_of(c);
    const auto begin = std::chrono::steady_clock::now();
    const auto cubin = cubin_of(kernel->text().name, kernel->text().text, architecture, "");
    compiling += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    Module module(card.context, kernel->text().name, cubin);
    CardRunner runner(card, &module);
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

// GB/s of each kernel beside the rate of a copy.
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
}

}  // namespace ridgeline::cuda::check
