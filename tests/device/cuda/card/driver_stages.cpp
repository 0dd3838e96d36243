#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ridgeline/device/cuda/driver/memory.h"
#include "ridgeline/device/cuda/kernels/self_test.h"
#include "ridgeline/device/cuda/library.h"
#include "tests/device/cuda/card/stage.h"

namespace ridgeline::cuda::check {
namespace {

constexpr int kElements = 1 << 20;
constexpr std::size_t kVectorBytes = kElements * sizeof(float);

void expect(bool holds, const std::string& what) {
  if (!holds) throw Error(what);
}

void give_self_test(CudaStream& stream, FunctionHandle function, const Memory& x, const Memory& y, float a, int count) {
  SelfTestParameters parameters{reinterpret_cast<const float*>(x.address()), reinterpret_cast<float*>(y.address()), a,
                                count};
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
  const PointerMember pointers[] = {reads(&SelfTestParameters::x, bytes), updates(&SelfTestParameters::y, bytes)};
  stream.launch({.name = "self_test",
                 .function = function,
                 .grid = {static_cast<unsigned>((count + 255) / 256)},
                 .block = {256},
                 .parameters = &parameters,
                 .parameter_bytes = sizeof parameters,
                 .pointers = pointers});
}

// Seconds of `body`, given `times` times, by two events.
template <class Body>
double timed(Card& card, int times, Body body) {
  CudaEvent begin(card.context, true), end(card.context, true);
  body();
  card.stream.record(begin);
  for (int i = 0; i < times; ++i) body();
  card.stream.record(end);
  card.stream.synchronize();
  return end.seconds_since(begin) / times;
}

// Seconds that the host takes for one call of `body`.
template <class Body>
double host_seconds(Card& card, int times, Body body) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) body();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  card.stream.synchronize();
  return taken.count() / times;
}

}  // namespace

void check_driver(Card& card) {
  CudaStream other(card.context);
  CudaEvent forked(card.context), joined(card.context);
  const FunctionHandle function = card.kernels.function("self_test");
  Memory x(card.context, kVectorBytes, "x"), y(card.context, kVectorBytes, "y"), z(card.context, kVectorBytes, "z");
  PinnedMemory pinned(card.context, kVectorBytes);
  auto* values = static_cast<float*>(pinned.address());
  for (int i = 0; i < kElements; ++i) values[i] = static_cast<float>(i % 1000);
  other.copy_to_device(x.address(), values, kVectorBytes);
  other.record(forked);
  card.stream.wait(forked);
  card.stream.fill(y.address(), 0, kVectorBytes);
  card.stream.fill(z.address(), 0, kVectorBytes);
  give_self_test(card.stream, function, x, y, 3, kElements);
  std::vector<float> read(kElements);
  card.stream.copy_to_host(read.data(), y.address(), kVectorBytes);
  card.stream.synchronize();
  for (int i = 0; i < kElements; ++i) expect(read[i] == 3.0f * static_cast<float>(i % 1000), "a launch: wrong values");
  card.report.line("a launch behind a copy of another stream: right");

  CapturedGraph graph(card.stream, [&] {
    card.stream.record(forked);
    other.wait(forked);
    give_self_test(other, function, x, z, 1, kElements);
    give_self_test(card.stream, function, x, y, 1, kElements);
    other.record(joined);
    card.stream.wait(joined);
    give_self_test(card.stream, function, z, y, 1, kElements);
  });
  for (int i = 0; i < 3; ++i) graph.launch(card.stream);
  card.stream.copy_to_host(read.data(), y.address(), kVectorBytes);
  card.stream.synchronize();
  // y: 3x, then x + z three times, where z becomes x, 2x, 3x.
  for (int i = 0; i < kElements; ++i) expect(read[i] == 12.0f * static_cast<float>(i % 1000), "a graph: wrong values");
  card.report.line(
      fmt::format("a captured graph of {} nodes on two streams, replayed three times: right", graph.nodes()));

  int registers = 0, local = 0;
  card.context->make("cuFuncGetAttribute", "", &Driver::function_get, &registers, FunctionAttribute::registers,
                     function);
  card.context->make("cuFuncGetAttribute", "", &Driver::function_get, &local, FunctionAttribute::local_bytes, function);
  card.report.line(fmt::format("self_test: {} registers, {} bytes of local memory", registers, local));
  expect(local == 0, "self_test uses local memory");

  bool refused = false;
  try {
    Memory(card.context, card.context->info().memory_bytes * 2, "a test");
  } catch (const Error& error) {
    refused = true;
    card.report.line(fmt::format("too much memory: {}", error.what()));
  }
  expect(refused, "memory for twice the card was given");
}

void look_for_libraries(Card& card) {
  int missing = 0;
  for (const LibraryInfo& info : libraries()) {
    if (info.name == LibraryName::driver && card.context->driver().recording()) continue;
    try {
      card.report.line(fmt::format("{}: {}", info.file, Library::open(info.name).path()));
    } catch (const Error& error) {
      ++missing;
      card.report.line(error.what());
    }
  }
  expect(missing == 0, fmt::format("{} libraries are missing", missing));
}

void measure_rates(Card& card) {
  const FunctionHandle function = card.kernels.function("self_test");
  const std::size_t bytes = std::min(std::size_t{512} << 20, card.context->free_bytes() / 8);
  Memory x(card.context, bytes, "x"), y(card.context, bytes, "y");
  PinnedMemory pinned(card.context, std::min(bytes, std::size_t{64} << 20));
  const auto copied = [&](const char* what, std::size_t moved, double seconds) {
    card.report.line(fmt::format("{}: {:.1f} GB/s", what, static_cast<double>(moved) / seconds * 1e-9));
  };
  copied("copy on the card, read and write", 2 * bytes,
         timed(card, 20, [&] { card.stream.copy_on_device(y.address(), x.address(), bytes); }));
  copied("self_test, two reads and a write", 3 * bytes,
         timed(card, 20, [&] { give_self_test(card.stream, function, x, y, 1, static_cast<int>(bytes / 4)); }));
  copied("copy to the card from pinned memory", pinned.bytes(),
         timed(card, 10, [&] { card.stream.copy_to_device(x.address(), pinned.address(), pinned.bytes()); }));
  copied("copy to pinned memory", pinned.bytes(),
         timed(card, 10, [&] { card.stream.copy_to_host(pinned.address(), x.address(), pinned.bytes()); }));

  const auto small = [&] { give_self_test(card.stream, function, x, y, 1, 256); };
  card.report.line(fmt::format("a launch: {:.2f} us of the host, {:.2f} us one after the other",
                               1e6 * host_seconds(card, 1000, small), 1e6 * timed(card, 1000, small)));
  for (int nodes : {1, 100, 1000}) {
    CapturedGraph graph(card.stream, [&] {
      for (int i = 0; i < nodes; ++i) small();
    });
    const auto replay = [&] { graph.launch(card.stream); };
    card.report.line(fmt::format("replay of {} nodes: {:.2f} us of the host, {:.2f} us, {:.2f} us a node", nodes,
                                 1e6 * host_seconds(card, 20, replay), 1e6 * timed(card, 20, replay),
                                 1e6 * timed(card, 20, replay) / nodes));
  }
  CudaEvent event(card.context);
  card.report.line(
      fmt::format("an event recorded and waited for by the host: {:.2f} us", 1e6 * host_seconds(card, 200, [&] {
                                                                               card.stream.record(event);
                                                                               event.synchronize();
                                                                             })));
}

}  // namespace ridgeline::cuda::check
