// Exchanges from card to card, step by step on memory of the host: their moves by a stand-in for NCCL, whose work is
// done when the test waits for it, and by the ranks' communicator, as on the recording driver. Ranks are threads.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "ridgeline/device/cuda/comm/card_exchange.h"
#include "ridgeline/device/cuda/comm/exchange_watch.h"
#include "tests/comm/ranks.h"
#include "tests/device/cuda/driver_support.h"
#include "tests/device/cuda/exchange_problem.h"
#include "tests/device/cuda/nccl_stand_in.h"
#include "tests/device/cuda/op_support.h"

namespace ridgeline::cuda::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Kernels and copies are work of the stream, too.
class StandInSteps final : public ExchangeSteps {
 public:
  StandInSteps(StandInStream& stream, bool by_nccl) : stream_(stream), by_nccl_(by_nccl) {}
  void call(const LibraryCall& call) override {
    if (by_nccl_) return call.enqueue(stream_.handle());
    std::vector<void*> addresses;
    for (const TouchedRange& range : call.touches) addresses.push_back(reinterpret_cast<void*>(range.address));
    call.host(addresses);
  }
  void launch(const KernelLaunch& l) override {
    const auto* const first = static_cast<const std::byte*>(l.parameters);
    give([&kernel = l.kernel, blocks = l.blocks,
          parameters = std::vector<std::byte>(first, first + l.kernel.parameter_bytes)] {
      alignas(16) std::byte own[kMaxParameterBytes];
      std::memcpy(own, parameters.data(), parameters.size());
      kernel.host(own, blocks);
    });
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    give([=] { std::memcpy(to, from, bytes); });
  }
  void clear(void* to, std::size_t bytes) override {
    give([=] { std::memset(to, 0, bytes); });
  }

 private:
  void give(std::function<void()> work) { by_nccl_ ? stream_.give(std::move(work)) : work(); }

  StandInStream& stream_;
  bool by_nccl_;
};

std::unique_ptr<nccl::Communicator> stand_in_communicator(const NcclStandIn& nccl, comm::Communicator& ranks) {
  nccl::UniqueId id{};
  if (ranks.rank() == 0) nccl.functions().check(nccl.functions().unique_id(&id), "ncclGetUniqueId");
  ranks.broadcast(&id, sizeof id);
  return std::make_unique<nccl::Communicator>(nccl.functions(), ranks.size(), ranks.rank(), id,
                                              [&ranks] { return trouble_of(ranks); });
}

std::vector<int> numbers_to(int size) {
  std::vector<int> all;
  for (int r = 0; r < size; ++r) all.push_back(r);
  return all;
}

// The cases of a kind of exchange: attributes, by what they are.
std::vector<Attributes> settings_of(const CollectiveRule& rule, int ranks) {
  std::vector<Attributes> all;
  for (const char* how : {"sum", "mean"}) {
    Attributes attributes;
    if (rule.combines) attributes.set("reduction", std::string(how));
    if (rule.has_root) attributes.set("root", std::int64_t{ranks - 1});
    if (rule.between_two) attributes.set("from", std::int64_t{ranks - 1}), attributes.set("to", std::int64_t{0});
    all.push_back(attributes);
    if (!rule.combines) break;
  }
  return all;
}

// Every kind, type and size, for one number of ranks; true where a rank takes part.
void expect_the_bits_of_the_cpu(comm::Communicator& ranks, std::shared_ptr<CardGroup> all,
                                std::shared_ptr<CardGroup> ends, bool by_nccl, bool exact) {
  const std::int64_t size = ranks.size();
  unsigned seed = 1;
  for (const CollectiveRule& rule : collective_rules()) {
    for (const DType type : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
      for (const std::int64_t elements : {std::int64_t{1}, size, size + 1, std::int64_t{333}, 64 * size + 5}) {
        // The first axis of these is divided.
        const bool divided = rule.kind == CollectiveKind::reduce_scatter || rule.kind == CollectiveKind::all_to_all;
        for (const Attributes& attributes : settings_of(rule, ranks.size())) {
          const ExchangeProblem problem(rule, type, divided ? elements * size : elements, attributes, ranks.size());
          const CardExchangeOptions options{.exact = exact, .scratch_bytes = elements == 333 ? 256u : 1u << 20};
          ++seed;
          if (!CardExchange::refusal(problem.request(ranks), options).empty()) continue;
          if (rule.between_two && ranks.rank() != 0 && ranks.rank() != size - 1) continue;
          ExchangeValues expected(problem, ranks.rank(), seed), got(problem, ranks.rank(), seed);
          expected.run_on_cpu(problem, ranks);
          const CardExchange exchange(problem.request(ranks), rule.between_two ? ends : all, options);
          EXPECT_LE(exchange.scratch_bytes(), std::max<std::size_t>(options.scratch_bytes, 64 * (ranks.size() - 1)));
          std::vector<std::byte> scratch(exchange.scratch_bytes() + 64, std::byte{0xa5});
          StandInStream stream;
          StandInSteps steps(stream, by_nccl);
          exchange.give(steps, got.operand.data(), got.result.data(), scratch.data());
          stream.synchronize();
          EXPECT_EQ(std::memcmp(got.result.data(), expected.result.data(), got.result.size()), 0)
              << exchange.name() << ' ' << name_of(type) << " [" << elements << "] of " << size << " ranks";
          EXPECT_EQ(std::vector(scratch.end() - 64, scratch.end()), std::vector(64, std::byte{0xa5}));
        }
      }
    }
  }
}

TEST(CardExchange, MovesByNcclGiveTheBitsOfTheCpusRanks) {
  for (const int size : {2, 3, 4, 5}) {
    NcclStandIn nccl;
    comm::expect_ranks(size, [&](comm::Communicator& ranks) {
      NcclStandIn::this_thread_is(ranks.rank());
      HostFailure failure;
      // The first and the last have one of their own.
      const auto two = ranks.rank() == 0 || ranks.rank() == size - 1 ? ranks.group({0, size - 1}) : nullptr;
      const auto all =
          std::make_shared<CardGroup>(ranks, numbers_to(size), failure, stand_in_communicator(nccl, ranks));
      std::shared_ptr<CardGroup> ends = all;
      if (two && size > 2)
        ends = std::make_shared<CardGroup>(ranks, std::vector{0, size - 1}, failure, stand_in_communicator(nccl, *two));
      for (const bool exact : {true, false}) expect_the_bits_of_the_cpu(ranks, all, ends, true, exact);
      EXPECT_FALSE(failure.there());
    });
    EXPECT_THAT(nccl.problems(), IsEmpty());
    EXPECT_EQ(nccl.live(), 0);
    EXPECT_EQ(nccl.aborted(), 0) << "all came to the end";
  }
}

TEST(CardExchange, MovesOnTheHostGiveTheBitsOfTheCpusRanks) {
  for (const int size : {2, 3, 4, 5}) {
    comm::expect_ranks(size, [&](comm::Communicator& ranks) {
      HostFailure failure;
      const auto all = std::make_shared<CardGroup>(ranks, numbers_to(size), failure, nullptr);
      const bool at_end = ranks.rank() == 0 || ranks.rank() == size - 1;
      const auto ends =
          at_end ? std::make_shared<CardGroup>(ranks, std::vector{0, size - 1}, failure, nullptr) : nullptr;
      for (const bool exact : {true, false}) expect_the_bits_of_the_cpu(ranks, all, ends, false, exact);
      failure.tell();
    });
  }
}

TEST(CardExchange, ConditionsAndSumsOfOtherTypesAreRefused) {
  const auto ranks = comm::single_rank();
  ExchangeProblem problem(collective_rules()[0], DType::f64, 5, {}, 1);
  EXPECT_EQ(CardExchange::refusal(problem.request(*ranks), {.exact = false}), "");
  EXPECT_EQ(CardExchange::refusal(problem.request(*ranks), {.exact = true}), "sums of f64 over 1 ranks");
  problem.start.attributes.set("conditional", true);
  EXPECT_EQ(CardExchange::refusal(problem.request(*ranks), {.exact = false}), "exchanges under a condition");
}

// ---- what goes wrong

// A rank's run of some exchanges by NCCL, as a device and a trainer do it: what fails is told to the others.
void exchange_or_tell(const NcclStandIn& nccl, comm::Communicator& ranks,
                      const std::function<void(int round, HostFailure& failure)>& before = {}) {
  NcclStandIn::this_thread_is(ranks.rank());
  HostFailure failure;
  std::shared_ptr<CardGroup> all;
  ExchangeWatch watch(std::chrono::milliseconds(1));
  try {
    all = std::make_shared<CardGroup>(ranks, numbers_to(ranks.size()), failure, stand_in_communicator(nccl, ranks));
    watch.add(all);
    int round = 0;
    for (const CollectiveRule& rule : collective_rules()) {
      if (rule.between_two) continue;
      for (const bool exact : {true, false}) {
        const ExchangeProblem problem(rule, DType::f32, 4 * ranks.size(), {}, ranks.size());
        const CardExchange exchange(problem.request(ranks), all, {.exact = exact});
        ExchangeValues values(problem, ranks.rank(), 1);
        std::vector<std::byte> scratch(exchange.scratch_bytes());
        StandInStream stream;
        StandInSteps steps(stream, true);
        exchange.give(steps, values.operand.data(), values.result.data(), scratch.data());
        if (before) before(round, failure);
        stream.synchronize();
        failure.tell();
        ++round;
      }
    }
  } catch (const Error& error) {
    ranks.abort(error.what());
    throw;
  }
}

TEST(CardExchangeFaults, EveryErrorAtEveryCallEndsAllRanksClearly) {
  std::vector<std::string> calls;  // of rank 0, which makes the id, too
  {
    NcclStandIn nccl([&](std::string_view call, int rank) {
      if (rank == 0) calls.emplace_back(call);
      return nccl::kSuccess;
    });
    comm::expect_ranks(2, [&](comm::Communicator& ranks) { exchange_or_tell(nccl, ranks); });
  }
  // How often a state is asked for depends on the time; what is done beside is the same each time.
  std::erase(calls, "ncclCommGetAsyncError");
  ASSERT_GT(calls.size(), 30u);
  calls.emplace_back("ncclCommGetAsyncError");
  constexpr nccl::Result kCodes[] = {1, 2, 3, 4, 5, 6, 8};  // 7 is "in progress"
  for (std::size_t wanted = 0; wanted < calls.size(); ++wanted) {
    for (const nccl::Result code : kCodes) {
      std::size_t at = 0;
      bool fired = false;
      NcclStandIn nccl([&](std::string_view call, int rank) {
        if (rank != 0 || fired) return nccl::kSuccess;
        const bool asks = call == "ncclCommGetAsyncError";
        if (asks ? wanted + 1 != calls.size() : at++ != wanted) return nccl::kSuccess;
        fired = true;
        return code;
      });
      const std::vector<std::string> ends =
          comm::run_ranks(2, [&](comm::Communicator& ranks) { exchange_or_tell(nccl, ranks); });
      ASSERT_TRUE(fired) << calls[wanted];
      EXPECT_EQ(nccl.live(), 0) << calls[wanted];
      if (calls[wanted] == "ncclCommFinalize" || calls[wanted] == "ncclCommDestroy") {
        EXPECT_THAT(ends, ElementsAre("", "")) << calls[wanted];  // all is done by then
        continue;
      }
      EXPECT_THAT(ends[0], StartsWith("[cuda] ")) << calls[wanted];
      EXPECT_THAT(ends[0], HasSubstr(nccl.functions().reason(code))) << calls[wanted];
      EXPECT_EQ(ends[1], "[ranks] rank 0 gave up: " + ends[0]) << calls[wanted];
    }
  }
}

TEST(CardExchangeFaults, ARankThatGivesUpIsNamedByTheOthersWhoseKernelsEnd) {
  NcclStandIn nccl;
  bool refused = false;
  std::atomic<bool> given{false};
  const std::vector<std::string> ends = comm::run_ranks(3, [&](comm::Communicator& ranks) {
    exchange_or_tell(nccl, ranks, [&](int round, HostFailure& failure) {
      if (round != 3) return;
      if (ranks.rank() == 2) {
        while (!given) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        throw Error("it stopped in the middle of a step");
      }
      // What was recorded before is not given again once the kernels are ended.
      if (ranks.rank() == 0) {
        given = true;
        while (!failure.there()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        for (int i = 0; i < 2; ++i) {
          try {
            failure.check_end();
          } catch (const Error&) {
            refused = i == 1;
          }
        }
      }
    });
  });
  EXPECT_EQ(ends[2], "it stopped in the middle of a step");
  EXPECT_EQ(ends[0], "[ranks] rank 2 gave up: it stopped in the middle of a step");
  EXPECT_EQ(ends[1], ends[0]);
  EXPECT_TRUE(refused);
  EXPECT_EQ(nccl.live(), 0);
}

// As a program does that is stopped: it says so, and waits for what it has in flight.
TEST(CardExchangeFaults, ARankThatGivesUpDoesNotWaitForItsOwnKernels) {
  NcclStandIn nccl;
  std::atomic<bool> waited{false};
  const std::vector<std::string> ends = comm::run_ranks(2, [&](comm::Communicator& ranks) {
    try {
      exchange_or_tell(nccl, ranks, [&](int round, HostFailure&) {
        if (round != 2) return;
        if (ranks.rank() == 1) ranks.abort("it stopped");
        // The other one does not come until this one has finished.
        while (ranks.rank() == 0 && !waited) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
    } catch (const Error&) {
      waited = true;
      throw;
    }
  });
  EXPECT_THAT(ends, ElementsAre("[ranks] rank 1 gave up: it stopped", "[ranks] rank 1 gave up: it stopped"));
  EXPECT_EQ(nccl.live(), 0);
}

// As MPI's after a rank of its world is gone.
class RanksThatCannotBeAsked final : public comm::Communicator {
 public:
  RanksThatCannotBeAsked() : Communicator(0, 2) {}
  void abort(const std::string&) override {}
  std::optional<std::string> failure() override { throw Error("[ranks] MPI: MPI_Test: a process failed"); }

 protected:
  void do_all_reduce(void*, std::int64_t, DType, comm::Reduction) override {}
  void do_reduce_scatter(const void*, void*, std::int64_t, DType, comm::Reduction) override {}
  void do_all_gather(const void*, void*, std::int64_t) override {}
  void do_broadcast(void*, std::int64_t, int) override {}
  void do_all_to_all(const void*, void*, std::int64_t) override {}
  void do_send(const void*, std::int64_t, int) override {}
  void do_receive(void*, std::int64_t, int) override {}
  void do_barrier() override {}
  std::shared_ptr<void> do_allocate(std::int64_t) override { return nullptr; }
  std::unique_ptr<comm::Communicator> do_group(const std::vector<int>&, int) override { return nullptr; }
};

// The watch asks on a thread of its own, where an error would end the process.
TEST(CardExchangeFaults, RanksThatCannotBeAskedAreOfNoMoreUse) {
  NcclStandIn nccl;
  RanksThatCannotBeAsked ranks;
  HostFailure failure;
  nccl::UniqueId id{};
  nccl.functions().check(nccl.functions().unique_id(&id), "ncclGetUniqueId");
  auto alone = std::make_unique<nccl::Communicator>(nccl.functions(), 1, 0, id, [&] { return trouble_of(ranks); });
  {
    ExchangeWatch watch(std::chrono::milliseconds(1));
    watch.add(std::make_shared<CardGroup>(ranks, std::vector{0}, failure, std::move(alone)));
    while (!failure.there()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(error_of([&] { failure.tell(); }), "[ranks] MPI: MPI_Test: a process failed");
  EXPECT_EQ(nccl.aborted(), 1);
}

}  // namespace
}  // namespace ridgeline::cuda::testing
