#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include "ridgeline/comm/shared/shared_communicator.h"
#include "ridgeline/device/cuda/cuda_device.h"
#include "ridgeline/device/cuda/driver/memory.h"
#include "ridgeline/device/cuda/driver/real.h"
#include "ridgeline/device/cuda/kernel_images.h"
#include "ridgeline/device/cuda/nccl/communicator.h"
#include "tests/device/cuda/card/stage.h"
#include "tests/device/cuda/exchange_problem.h"

namespace ridgeline::cuda::check {
namespace {

constexpr int kMostCards = 8;

// A communicator of one rank: functions, numbers and sizes are the library's, and its work is captured.
void check_one_rank(Card& card, const nccl::Functions& nccl) {
  constexpr std::size_t kCount = 1000, kBytes = kCount * sizeof(float);
  card.context->enter();
  nccl::UniqueId id{};
  nccl.check(nccl.unique_id(&id), "ncclGetUniqueId");
  nccl::Communicator one(nccl, 1, 0, id, [] { return std::string(); });
  Memory x(card.context, kBytes, "values"), y(card.context, kBytes, "values"), z(card.context, kBytes, "values");
  std::vector<float> values(kCount), got(kCount);
  for (std::size_t i = 0; i < kCount; ++i) values[i] = 0.25f * static_cast<float>(i);
  const auto address = [](const Memory& memory) { return reinterpret_cast<void*>(memory.address()); };
  const auto give = [&] {
    card.stream.library_call({.name = "NCCL of one rank", .enqueue = [&](StreamHandle stream) {
                                one.give("one rank", stream, [&](nccl::Group& group) {
                                  group.add("ncclAllReduce", [&](const auto& f, auto handle, auto s) {
                                    return f.all_reduce(address(x), address(y), kCount, nccl::DataType::f32,
                                                        nccl::Operation::sum, handle, s);
                                  });
                                });
                                one.give("one rank", stream, [&](nccl::Group& group) {
                                  group.add("ncclSend", [&](const auto& f, auto handle, auto s) {
                                    return f.send(address(y), kBytes, nccl::DataType::u8, 0, handle, s);
                                  });
                                  group.add("ncclRecv", [&](const auto& f, auto handle, auto s) {
                                    return f.receive(address(z), kBytes, nccl::DataType::u8, 0, handle, s);
                                  });
                                });
                              }});
  };
  const auto expect_values = [&](const char* when) {
    card.stream.copy_to_host(got.data(), z.address(), kBytes);
    card.stream.synchronize();
    if (got != values) throw Error(fmt::format("NCCL of one rank, {}: other values", when));
    if (const std::string error = one.error(); !error.empty()) throw Error(error);
  };
  card.stream.copy_to_device(x.address(), values.data(), kBytes);
  give();
  expect_values("at once");
  CapturedGraph graph(card.stream, give);
  for (float& value : values) value = -value;
  card.stream.copy_to_device(x.address(), values.data(), kBytes);
  graph.launch(card.stream);
  expect_values("captured");
  card.report.line(fmt::format("NCCL {}: one rank right, at once and captured ({} nodes)",
                               nccl::Functions::text_of(nccl.version()), graph.nodes()));
}

// One exchange of these ranks on their cards: "", or what differs from the CPU's.
std::string beside_the_cpu(CudaDevice& device, comm::Communicator& ranks, const CollectiveRule& rule, DType type,
                           std::int64_t elements) {
  Attributes attributes;
  if (rule.has_root) attributes.set("root", std::int64_t{ranks.size() - 1});
  const testing::ExchangeProblem problem(rule, type, elements, attributes, ranks.size());
  testing::ExchangeValues expected(problem, ranks.rank(), 1), got(problem, ranks.rank(), 1);
  expected.run_on_cpu(problem, ranks);
  const std::unique_ptr<Kernel> kernel = device.collective(problem.request(ranks));
  const auto operand = device.allocate(got.operand.size()), result = device.allocate(got.result.size());
  Stream& stream = device.stream_for(StreamPurpose::exchanges);
  stream.copy_from_host(operand->address(), got.operand.data(), got.operand.size());
  stream.copy_from_host(result->address(), got.result.data(), got.result.size());
  void* const inputs[] = {operand->address()};
  void* const outputs[] = {result->address()};
  stream.run(*kernel, {inputs, outputs, nullptr});
  stream.copy_to_host(got.result.data(), result->address(), got.result.size());
  stream.synchronize();
  if (got.result == expected.result) return {};
  return fmt::format("rank {}: '{}' of {} {} has other bits than the CPU's ranks", ranks.rank(), kernel->name, elements,
                     name_of(type));
}

// A thread and a card a rank. The bytes a second of an all_reduce, of rank 0.
void run_rank(int rank, int size, const std::string& name, std::string& problem, double& seconds, std::size_t bytes) {
  std::unique_ptr<comm::Communicator> ranks;
  try {
    ranks = comm::shared_communicator({.name = name, .rank = rank, .size = size});
    CudaDevice device(std::make_shared<Context>(start_driver(open_driver()), rank),
                      {.name = fmt::format("cuda:{}", rank),
                       .promise = {.bits = Reproducibility::portable},
                       .images = kernel_images(),
                       .exchanges = {.over = CardsOver::nccl}});
    for (const CollectiveRule& rule : collective_rules()) {
      if (rule.between_two) continue;
      for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
        for (const std::int64_t each : {1, 1001, 100'000}) {
          const std::string wrong = beside_the_cpu(device, *ranks, rule, type, each * size);
          if (!wrong.empty()) throw Error(wrong);  // the others would wait for this rank
        }
      }
    }
    const testing::ExchangeProblem large(collective_rules()[0], DType::f32, static_cast<std::int64_t>(bytes / 4), {},
                                         size);
    const std::unique_ptr<Kernel> kernel = device.collective(large.request(*ranks));
    const auto memory = device.allocate(large.pending_bytes);
    void* const outputs[] = {memory->address()};
    Stream& stream = device.stream_for(StreamPurpose::exchanges);
    stream.clear(memory->address(), large.pending_bytes);
    stream.run(*kernel, {nullptr, outputs, nullptr});
    stream.synchronize();
    constexpr int kTimes = 10;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kTimes; ++i) stream.run(*kernel, {nullptr, outputs, nullptr});
    stream.synchronize();
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / kTimes;
  } catch (const std::exception& error) {
    problem = error.what();
    if (ranks) ranks->abort(problem);
  }
}

void check_between_cards(Card& card, int size) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  const std::string name = fmt::format("ridgeline-check-{}", ::getpid());
  std::vector<std::string> problems(static_cast<std::size_t>(size));
  std::vector<double> seconds(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) {
    const auto place = static_cast<std::size_t>(r);
    threads.emplace_back([&, r, place] { run_rank(r, size, name, problems[place], seconds[place], kBytes); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& problem : problems) {
    if (!problem.empty()) throw Error(problem);
  }
  card.report.line(
      fmt::format("{} cards: all exchanges have the CPU's bits; all_reduce of {} MiB of f32, summed in "
                  "pairs, in {:.2f} ms",
                  size, kBytes >> 20, 1e3 * *std::max_element(seconds.begin(), seconds.end())));
}

}  // namespace

void check_ranks(Card& card) {
  if (card.context->driver().recording()) {
    card.report.line("the recording driver has no NCCL: left out");
    return;
  }
  const nccl::Functions* nccl = nullptr;
  try {
    nccl = &nccl::library();
  } catch (const Error& error) {
    card.report.line(fmt::format("{}: left out", error.what()));
    return;
  }
  check_one_rank(card, *nccl);
  const int cards = std::min(kMostCards, card_count(card.context->calls()));
  if (cards < 2) {
    card.report.line("one card: exchanges between cards need two, left out");
    return;
  }
  check_between_cards(card, cards);
}

}  // namespace ridgeline::cuda::check
