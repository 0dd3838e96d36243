#include "ridgeline/comm/communicator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "ridgeline/comm/shared/shared_communicator.h"
#include "ridgeline/core/error.h"
#include "tests/comm/ranks.h"
#include "tests/support/error_of.h"

namespace ridgeline::comm {
namespace {

// Element i of rank r, the same on every rank.
float value_of(int rank, std::int64_t i) {
  const auto mixed = static_cast<std::uint32_t>(i * 2654435761u) ^ (static_cast<std::uint32_t>(rank) * 40503u);
  return static_cast<float>(static_cast<std::int32_t>(mixed * 2246822519u)) / 65536.0f;
}

std::vector<float> values_of(int rank, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = value_of(rank, i);
  return values;
}

// The sum of ranks in pairs, by the recursive definition.
float sum_in_pairs(const std::vector<float>& all) {
  if (all.size() == 1) return all[0];
  std::size_t left = 1;
  while (left * 2 < all.size()) left *= 2;
  return sum_in_pairs({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(left)}) +
         sum_in_pairs({all.begin() + static_cast<std::ptrdiff_t>(left), all.end()});
}

float sum_of_ranks(int size, std::int64_t i) {
  std::vector<float> all;
  for (int r = 0; r < size; ++r) all.push_back(value_of(r, i));
  return sum_in_pairs(all);
}

TEST(Communicator, AllReduceAddsInPairsOfRanks) {
  for (const int size : {2, 3, 4, 5, 8}) {
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{7}, std::int64_t{1000}, std::int64_t{300'001}}) {
      expect_ranks(size, [&](Communicator& c) {
        std::vector<float> values = values_of(c.rank(), count);
        c.all_reduce(values.data(), count, DType::f32);
        for (std::int64_t i = 0; i < count; i += 1 + count / 500)
          ASSERT_EQ(values[static_cast<std::size_t>(i)], sum_of_ranks(size, i)) << size << " ranks, element " << i;
        EXPECT_EQ(c.traffic().calls, 1);
        EXPECT_EQ(c.traffic().bytes, 2 * count * 4 * (size - 1) / size);
      });
    }
  }
}

TEST(Communicator, AllReduceWhereTheValuesLie) {
  for (const int size : {2, 3, 5}) {
    expect_ranks(size, [&](Communicator& c) {
      const std::int64_t count = 100'003;
      const std::shared_ptr<void> first = c.allocate(64), memory = c.allocate(count * 4 + 12);
      float* values = static_cast<float*>(memory.get()) + 3;  // not a multiple of a vector
      EXPECT_EQ(values[17], 0.0f);
      for (std::int64_t i = 0; i < count; ++i) values[i] = value_of(c.rank(), i);
      values[-1] = static_cast<float>(c.rank());
      c.all_reduce(values, count, DType::f32);
      for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(values[i], sum_of_ranks(size, i)) << i;
      EXPECT_EQ(values[-1], static_cast<float>(c.rank()));
      // Two elements: some ranks have nothing to combine.
      float* two = static_cast<float*>(first.get());
      two[0] = two[1] = static_cast<float>(c.rank());
      c.all_reduce(two, 2, DType::f32, Reduction::max);
      EXPECT_EQ(two[1], static_cast<float>(size - 1));
    });
  }
}

TEST(Communicator, MemoryAtDifferentOffsetsIsTold) {
  const std::vector<std::string> messages = run_ranks(2, [](Communicator& c) {
    const std::shared_ptr<void> memory = c.allocate(64);
    c.all_reduce(static_cast<float*>(memory.get()) + c.rank(), 2, DType::f32);
  });
  EXPECT_NE(messages[0].find("buffer 0 at 4"), std::string::npos) << messages[0];
}

TEST(Communicator, FourRanksAddAsTwoRanksOfTwoPartsDo) {
  std::vector<float> four;
  expect_ranks(4, [&](Communicator& c) {
    std::vector<float> values = values_of(c.rank(), 1000);
    c.all_reduce(values.data(), 1000, DType::f32);
    if (c.rank() == 0) four = values;
  });
  expect_ranks(2, [&](Communicator& c) {
    std::vector<float> values = values_of(2 * c.rank(), 1000);
    const std::vector<float> second = values_of(2 * c.rank() + 1, 1000);
    for (std::size_t i = 0; i < 1000; ++i) values[i] += second[i];
    c.all_reduce(values.data(), 1000, DType::f32);
    EXPECT_EQ(std::memcmp(values.data(), four.data(), 4000), 0);
  });
}

TEST(Communicator, OtherTypesAndReductions) {
  expect_ranks(3, [](Communicator& c) {
    const int r = c.rank();
    double d[2] = {1.0 + r, -2.0};
    c.all_reduce(d, 2, DType::f64, Reduction::prod);
    EXPECT_EQ(d[0], 6.0);
    EXPECT_EQ(d[1], -8.0);
    std::int32_t i[2] = {r, 0x7fffffff};
    c.all_reduce(i, 2, DType::i32, Reduction::sum);
    EXPECT_EQ(i[0], 3);
    EXPECT_EQ(static_cast<std::uint32_t>(i[1]), 3u * 0x7fffffffu);  // wraps around
    std::int64_t l = 10 - r;
    c.all_reduce(&l, 1, DType::i64, Reduction::min);
    EXPECT_EQ(l, 8);
    float f[2] = {static_cast<float>(r), r == 1 ? NAN : 0.0f};
    c.all_reduce(f, 2, DType::f32, Reduction::max);
    EXPECT_EQ(f[0], 2.0f);
    EXPECT_TRUE(std::isnan(f[1]));
    // 256 + 1 is not representable in bfloat16: the sum is rounded once, at the end.
    bfloat16 b = to_bfloat16(r == 0 ? 256.0f : 1.0f);
    c.all_reduce(&b, 1, DType::bf16, Reduction::sum);
    EXPECT_EQ(to_float(b), 258.0f);
    float16 h = to_float16(0.5f);
    c.all_reduce(&h, 1, DType::f16, Reduction::sum);
    EXPECT_EQ(to_float(h), 1.5f);
  });
}

TEST(Communicator, ReduceScatterGivesEachRankItsPartOfAllReduce) {
  for (const int size : {2, 3, 8}) {
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{100'003}}) {
      expect_ranks(size, [&](Communicator& c) {
        std::vector<float> values = values_of(c.rank(), count * size), part(static_cast<std::size_t>(count));
        const std::vector<float> before = values;
        c.reduce_scatter(values.data(), part.data(), count, DType::f32);
        EXPECT_EQ(values, before);
        c.all_reduce(values.data(), count * size, DType::f32);
        EXPECT_EQ(std::memcmp(part.data(), values.data() + c.rank() * count, part.size() * 4), 0);
      });
    }
  }
}

TEST(Communicator, AllGatherBroadcastAndAllToAll) {
  for (const int size : {2, 3, 5}) {
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{70'001}}) {
      expect_ranks(size, [&](Communicator& c) {
        const std::int64_t bytes = count * 4;
        std::vector<float> all(static_cast<std::size_t>(count * size)), mine = values_of(c.rank(), count);
        c.all_gather(mine.data(), all.data(), bytes);
        for (int r = 0; r < size; ++r)
          EXPECT_EQ(std::memcmp(all.data() + r * count, values_of(r, count).data(), static_cast<std::size_t>(bytes)),
                    0);
        c.broadcast(mine.data(), bytes, size - 1);
        EXPECT_EQ(mine, values_of(size - 1, count));
        // Part p of rank r is the values of number 10 r + p.
        std::vector<float> parts, received(static_cast<std::size_t>(count * size));
        for (int p = 0; p < size; ++p) {
          const std::vector<float> part = values_of(10 * c.rank() + p, count);
          parts.insert(parts.end(), part.begin(), part.end());
        }
        c.all_to_all(parts.data(), received.data(), bytes);
        for (int r = 0; r < size; ++r)
          EXPECT_EQ(std::memcmp(received.data() + r * count, values_of(10 * r + c.rank(), count).data(),
                                static_cast<std::size_t>(bytes)),
                    0);
        c.barrier();
      });
    }
  }
}

TEST(Communicator, SendsMeetReceivesInTheirOrder) {
  expect_ranks(3, [](Communicator& c) {
    // Around the ring, large and small messages, and an empty one.
    const int next = (c.rank() + 1) % 3, before = (c.rank() + 2) % 3;
    for (const std::int64_t count : {std::int64_t{3}, std::int64_t{0}, std::int64_t{200'000}}) {
      const std::vector<float> mine = values_of(c.rank(), count);
      std::vector<float> theirs(mine.size());
      if (c.rank() == 0) {
        c.send(mine.data(), count * 4, next);
        c.receive(theirs.data(), count * 4, before);
      } else {
        c.receive(theirs.data(), count * 4, before);
        c.send(mine.data(), count * 4, next);
      }
      EXPECT_EQ(theirs, values_of(before, count));
    }
  });
}

TEST(Communicator, GroupsAreCommunicatorsOfTheirOwn) {
  expect_ranks(4, [](Communicator& c) {
    const std::vector<int> even{0, 2}, odd{3, 1};
    const bool is_even = c.rank() % 2 == 0;
    const auto group = c.group(is_even ? even : odd);
    EXPECT_EQ(group->size(), 2);
    EXPECT_EQ(group->rank(), c.rank() == 0 || c.rank() == 3 ? 0 : 1);
    float x = static_cast<float>(c.rank());
    group->all_reduce(&x, 1, DType::f32);
    EXPECT_EQ(x, is_even ? 2.0f : 4.0f);
    const auto again = c.group(is_even ? even : odd);  // the same ranks again
    again->barrier();
    EXPECT_EQ(c.group({c.rank()})->size(), 1);
  });
}

TEST(Communicator, ManyRandomCallsInARow) {
  expect_ranks(3, [](Communicator& c) {
    std::mt19937 random(11);  // the same on all ranks
    for (int call = 0; call < 300; ++call) {
      const std::int64_t count = 1 + static_cast<std::int64_t>(random() % 5000);
      std::vector<float> values = values_of(c.rank(), count);
      switch (random() % 3) {
        case 0:
          c.all_reduce(values.data(), count, DType::f32);
          ASSERT_EQ(values.back(), sum_of_ranks(3, count - 1));
          break;
        case 1: {
          const int root = static_cast<int>(random() % 3);
          c.broadcast(values.data(), count * 4, root);
          ASSERT_EQ(values.back(), value_of(root, count - 1));
          break;
        }
        default: c.barrier();
      }
    }
  });
}

TEST(Communicator, RanksInDifferentCallsAreTold) {
  const std::vector<std::string> messages = run_ranks(2, [](Communicator& c) {
    float x[4] = {};
    c.all_reduce(x, c.rank() == 0 ? 4 : 3, DType::f32);
  });
  for (const std::string& message : messages)
    EXPECT_NE(message.find("all_reduce (size "), std::string::npos) << message;
}

TEST(Communicator, ARankThatGivesUpEndsTheOthers) {
  const std::vector<std::string> messages = run_ranks(3, [](Communicator& c) {
    if (c.rank() == 1) {
      c.abort("the disk is full");
      throw Error("own reason");
    }
    c.barrier();
  });
  EXPECT_EQ(messages[1], "own reason");
  EXPECT_EQ(messages[0], "[ranks] rank 1 gave up: the disk is full");
  EXPECT_EQ(messages[2], messages[0]);
}

TEST(Communicator, AFailureIsKnownWithoutACallAndBesideOne) {
  std::atomic<int> ready{0};
  const std::vector<std::string> messages = run_ranks(3, [&](Communicator& c) {
    EXPECT_EQ(c.failure(), std::nullopt);
    c.barrier();
    std::thread caller;
    if (c.rank() == 0)
      caller = std::thread([&] { EXPECT_THROW(c.barrier(), Error); });  // waits for the others meanwhile
    ++ready;
    while (ready < 3) std::this_thread::yield();
    if (c.rank() == 1) c.abort("the disk is full");
    while (!c.failure()) std::this_thread::yield();
    EXPECT_EQ(c.failure(), "rank 1 gave up: the disk is full");
    if (caller.joinable()) caller.join();
  });
  for (const std::string& message : messages) EXPECT_EQ(message, "");
  EXPECT_EQ(single_rank()->failure(), std::nullopt);
}

TEST(Communicator, TheEndOfAProcessIsKnownWithoutACall) {
  const std::vector<std::string> messages = run_processes(2, [](Communicator& c) {
    c.barrier();
    if (c.rank() == 1) ::_exit(0);
    while (!c.failure()) std::this_thread::yield();
    throw Error(*c.failure());
  });
  EXPECT_TRUE(messages[0].starts_with("rank 1 (process ") && messages[0].ends_with(") has ended")) << messages[0];
}

TEST(Communicator, ARankThatDoesNotComeIsWaitedForUntilTheTimeout) {
  std::atomic<bool> waited{false};
  const std::vector<std::string> messages = run_ranks(
      2,
      [&](Communicator& c) {
        if (c.rank() == 1) {
          while (!waited) std::this_thread::sleep_for(std::chrono::milliseconds(10));
          return;
        }
        const std::string why = error_of([&] { c.barrier(); });
        waited = true;
        throw Error(why);
      },
      1);
  EXPECT_NE(messages[0].find("waited 1 s in vain for rank 1"), std::string::npos) << messages[0];
}

TEST(Communicator, MissingRanksAreNamed) {
  const std::string message = error_of([] {
    shared_communicator(
        {.name = unique_name(), .rank = 0, .size = 3, .connect_timeout = std::chrono::milliseconds(50)});
  });
  EXPECT_NE(message.find("waited in vain for rank 1, 2 of 3"), std::string::npos) << message;
}

TEST(Communicator, WrongArgumentsAreNamed) {
  EXPECT_NE(
      error_of([] { shared_communicator({.name = "a", .rank = 2, .size = 2}); }).find("rank 2 of 2 (allowed: 0 to 1)"),
      std::string::npos);
  EXPECT_NE(error_of([] { shared_communicator({.name = "a/b", .rank = 0, .size = 2}); }).find("the name 'a/b'"),
            std::string::npos);
  EXPECT_NE(error_of([] { shared_communicator({.name = "a", .rank = 0, .size = 65}); }).find("65 ranks"),
            std::string::npos);
  const auto alone = single_rank();
  std::uint8_t byte = 0;
  EXPECT_NE(error_of([&] { alone->all_reduce(&byte, 1, DType::u8); }).find("u8 is not reduced"), std::string::npos);
  EXPECT_NE(error_of([&] { alone->broadcast(&byte, 1, 1); }).find("broadcast from rank 1 (allowed: 0 to 0)"),
            std::string::npos);
  EXPECT_NE(error_of([&] { alone->group({1}); }).find("a group with rank 1"), std::string::npos);
}

// Killed at 20 moments: the calls of all other ranks are Errors that name the rank, and their processes end.
TEST(Communicator, AKilledRankIsNamedByAllOthers) {
  for (int round = 0; round < 20; ++round) {
    const int victim = round % 3;
    const std::vector<std::string> messages = run_processes(3, [&](Communicator& c) {
      std::vector<float> values = values_of(c.rank(), 50'000);
      for (int call = 0;; ++call) {
        if (c.rank() == victim && call == round * 7) ::kill(::getpid(), SIGKILL);
        c.all_reduce(values.data(), 50'000, DType::f32, Reduction::max);
      }
    });
    for (int r = 0; r < 3; ++r) {
      const std::string& message = messages[static_cast<std::size_t>(r)];
      if (r == victim) {
        EXPECT_EQ(message, "signal 9");
      } else {
        EXPECT_NE(message.find(fmt::format("[ranks] rank {} (process ", victim)), std::string::npos) << message;
      }
    }
  }
}

TEST(Communicator, ARankThatLeavesInPeaceHarmsNobody) {
  for (const std::string& message : run_processes(3, [](Communicator& c) {
         float x = 1;
         for (int i = 0; i < 100; ++i) c.all_reduce(&x, 1, DType::f32, Reduction::max);
       }))
    EXPECT_EQ(message, "");
}

}  // namespace
}  // namespace ridgeline::comm
