#include "tests/comm/collective_suite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <type_traits>

namespace ridgeline::comm {
namespace {

// Element i of rank r, the same on every rank; products of eight ranks are finite.
template <class T>
T element_of(int rank, std::int64_t i) {
  const std::uint32_t bits =
      static_cast<std::uint32_t>(i) * 2654435761u ^ (static_cast<std::uint32_t>(rank) + 1u) * 40503u;
  const std::uint32_t drawn = (bits * 2246822519u) >> 16;
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    return static_cast<T>(drawn);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(drawn * 60000u) - (std::int64_t{1} << 31));
  } else {
    const float small = static_cast<float>(static_cast<int>(drawn & 2047u) - 1024) / 512.0f;
    if constexpr (std::is_same_v<T, bfloat16>) return to_bfloat16(small);
    if constexpr (std::is_same_v<T, float16>) return to_float16(small);
    // For other types, so many digits that the order of a sum matters.
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(static_cast<std::int32_t>(bits * 2246822519u)) / static_cast<T>(65536.0);
  }
}

template <class A>
A one_of_two(A a, A b, Reduction how) {
  if (how == Reduction::max) return std::max(a, b);
  if (how == Reduction::min) return std::min(a, b);
  if constexpr (std::is_integral_v<A>) {
    using U = std::make_unsigned_t<A>;
    return static_cast<A>(how == Reduction::sum ? static_cast<U>(a) + static_cast<U>(b)
                                                : static_cast<U>(a) * static_cast<U>(b));
  } else {
    return how == Reduction::prod ? a * b : a + b;
  }
}

// Combines ranks in pairs, by the recursive definition.
template <class A>
A in_pairs(const A* values, int count, Reduction how) {
  if (count == 1) return values[0];
  int left = 1;
  while (left * 2 < count) left *= 2;
  return one_of_two(in_pairs(values, left, how), in_pairs(values + left, count - left, how), how);
}

// The combination of element i over the ranks of `c`.
template <class T>
T expected(const Communicator& c, std::int64_t i, Reduction how) {
  constexpr bool narrow = std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>;
  std::conditional_t<narrow, float, T> all[64];
  for (int r = 0; r < c.size(); ++r) {
    const T value = element_of<T>(c.world_rank(r), i);
    if constexpr (narrow) {
      all[r] = to_float(value);
    } else {
      all[r] = value;
    }
  }
  auto result = in_pairs(all, c.size(), how);
  if constexpr (std::is_floating_point_v<decltype(result)>) {
    if (how == Reduction::mean) result *= static_cast<decltype(result)>(1) / static_cast<decltype(result)>(c.size());
  }
  if constexpr (std::is_same_v<T, bfloat16>) return to_bfloat16(result);
  if constexpr (std::is_same_v<T, float16>) return to_float16(result);
  if constexpr (!narrow) return result;
}

template <class T>
std::vector<T> elements_of(int rank, std::int64_t first, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = element_of<T>(rank, first + i);
  return values;
}

bool same_bytes(const void* a, const void* b, std::size_t bytes) { return bytes == 0 || std::memcmp(a, b, bytes) == 0; }

// Whether values[begin ...] are the combinations of elements first + ...; checks all of a few, or samples of many.
template <class T>
void expect_reduced(const Communicator& c, const std::vector<T>& values, std::int64_t begin, std::int64_t count,
                    std::int64_t first, Reduction how, const char* what) {
  const std::int64_t stride = 1 + count / 700;
  for (std::int64_t k = 0; k < count; k = k + stride < count || k == count - 1 ? k + stride : count - 1) {
    const T want = expected<T>(c, first + k, how);
    ASSERT_TRUE(same_bytes(&want, &values[static_cast<std::size_t>(begin + k)], sizeof want))
        << what << " of " << count << " elements, " << name_of(dtype_traits<T>::value) << ", reduction "
        << static_cast<int>(how) << ", rank " << c.rank() << " of " << c.size() << ", element " << k;
  }
}

template <class T>
void check_reductions(Communicator& c, Reduction how, const std::vector<std::int64_t>& counts) {
  constexpr DType type = dtype_traits<T>::value;
  const int own = c.world_rank(c.rank());
  for (const std::int64_t count : counts) {
    // With guard elements on both sides: element -1 and `count`.
    std::vector<T> values = elements_of<T>(own, -1, count + 2);
    const std::vector<T> before = values;
    c.all_reduce(values.data() + 1, count, type, how);
    expect_reduced(c, values, 1, count, 0, how, "all_reduce");
    EXPECT_TRUE(same_bytes(&values.front(), &before.front(), sizeof(T)) &&
                same_bytes(&values.back(), &before.back(), sizeof(T)))
        << "elements beside those of all_reduce";
    const std::vector<T> all = elements_of<T>(own, 0, count * c.size());
    std::vector<T> part = elements_of<T>(own, -1, count + 2);
    c.reduce_scatter(all.data(), part.data() + 1, count, type, how);
    expect_reduced(c, part, 1, count, c.rank() * count, how, "reduce_scatter");
    EXPECT_TRUE(same_bytes(&part.front(), &before.front(), sizeof(T)) &&
                same_bytes(&part.back(), &before.back(), sizeof(T)))
        << "elements beside those of reduce_scatter";
    const std::vector<T> again = elements_of<T>(own, 0, count * c.size());
    EXPECT_TRUE(same_bytes(all.data(), again.data(), all.size() * sizeof(T))) << "operand of reduce_scatter";
  }
}

void check_all_types(Communicator& c) {
  const std::vector<std::int64_t> few{0, 1, 2, 13, 1027};
  for (const Reduction how : {Reduction::sum, Reduction::prod, Reduction::max, Reduction::min}) {
    check_reductions<float>(c, how, few);
    check_reductions<double>(c, how, few);
    check_reductions<bfloat16>(c, how, few);
    check_reductions<float16>(c, how, few);
    check_reductions<std::int32_t>(c, how, few);
    check_reductions<std::int64_t>(c, how, few);
  }
  check_reductions<float>(c, Reduction::mean, few);
  check_reductions<double>(c, Reduction::mean, few);
  check_reductions<bfloat16>(c, Reduction::mean, few);
  check_reductions<float16>(c, Reduction::mean, few);
  check_reductions<std::uint8_t>(c, Reduction::max, few);
  check_reductions<std::uint8_t>(c, Reduction::min, few);
  // Larger than the chunks of all engines.
  check_reductions<float>(c, Reduction::sum, {100'003});
  check_reductions<bfloat16>(c, Reduction::sum, {200'001});
}

void check_moves(Communicator& c) {
  const int own = c.world_rank(c.rank());
  for (const std::int64_t bytes : {0, 1, 3, 4097, 300'007}) {
    const auto size = static_cast<std::size_t>(bytes);
    const std::vector<std::uint8_t> mine = elements_of<std::uint8_t>(own, 0, bytes);
    std::vector<std::uint8_t> all(size * static_cast<std::size_t>(c.size()) + 1, 77);
    c.all_gather(mine.data(), all.data(), bytes);
    for (int r = 0; r < c.size(); ++r)
      EXPECT_TRUE(same_bytes(all.data() + r * bytes, elements_of<std::uint8_t>(c.world_rank(r), 0, bytes).data(), size))
          << "all_gather of " << bytes;
    EXPECT_EQ(all.back(), 77);
    for (int root = 0; root < c.size(); ++root) {
      std::vector<std::uint8_t> data = mine;
      c.broadcast(data.data(), bytes, root);
      EXPECT_EQ(data, elements_of<std::uint8_t>(c.world_rank(root), 0, bytes)) << "broadcast of " << bytes;
    }
    // Part p of rank r begins with its element 1000 p.
    std::vector<std::uint8_t> parts;
    for (int p = 0; p < c.size(); ++p) {
      const std::vector<std::uint8_t> part = elements_of<std::uint8_t>(own, 1000 * p, bytes);
      parts.insert(parts.end(), part.begin(), part.end());
    }
    std::vector<std::uint8_t> received(parts.size() + 1, 78);
    c.all_to_all(parts.data(), received.data(), bytes);
    for (int r = 0; r < c.size(); ++r)
      EXPECT_TRUE(same_bytes(received.data() + r * bytes,
                             elements_of<std::uint8_t>(c.world_rank(r), 1000 * c.rank(), bytes).data(), size))
          << "all_to_all of " << bytes;
    EXPECT_EQ(received.back(), 78);
    c.barrier();
  }
}

// Each rank sends to each; the lower one sends first.
void check_messages(Communicator& c) {
  for (int distance = 1; distance < c.size(); ++distance) {
    for (const std::int64_t bytes : {0, 5, 150'001}) {
      for (int sender = 0; sender < c.size(); ++sender) {
        const int receiver = (sender + distance) % c.size();
        if (c.rank() == sender) {
          const std::vector<std::uint8_t> mine = elements_of<std::uint8_t>(c.world_rank(sender), distance, bytes);
          c.send(mine.data(), bytes, receiver);
        } else if (c.rank() == receiver) {
          std::vector<std::uint8_t> theirs(static_cast<std::size_t>(bytes));
          c.receive(theirs.data(), bytes, sender);
          EXPECT_EQ(theirs, elements_of<std::uint8_t>(c.world_rank(sender), distance, bytes));
        }
      }
    }
  }
}

void check_allocated(Communicator& c) {
  const std::int64_t count = 70'001;
  const std::shared_ptr<void> memory = c.allocate(count * 4 + 12);
  auto* values = static_cast<float*>(memory.get()) + 3;
  for (std::int64_t i = -3; i < count; ++i) ASSERT_EQ(values[i], 0.0f);
  for (std::int64_t i = 0; i < count; ++i) values[i] = element_of<float>(c.world_rank(c.rank()), i);
  c.all_reduce(values, count, DType::f32);
  expect_reduced(c, std::vector<float>(values, values + count), 0, count, 0, Reduction::sum, "all_reduce in place");
  EXPECT_EQ(values[-1], 0.0f);
}

// reduce_scatter and all_gather that read values in place, twice: nobody overwrites what others still read.
void check_allocated_parts(Communicator& c) {
  const std::int64_t count = 30'011, all = count * c.size();
  const int own = c.world_rank(c.rank());
  const std::shared_ptr<void> memory = c.allocate(all * 4 + 4);
  auto* values = static_cast<float*>(memory.get()) + 1;
  for (const std::int64_t first : {0, 7}) {
    for (std::int64_t i = 0; i < all; ++i) values[i] = element_of<float>(own, first + i);
    std::vector<float> part(static_cast<std::size_t>(count) + 1, 5.0f);
    c.reduce_scatter(values, part.data(), count, DType::f32, Reduction::mean);
    expect_reduced(c, part, 0, count, first + c.rank() * count, Reduction::mean, "reduce_scatter in place");
    EXPECT_EQ(part.back(), 5.0f);
    const std::vector<float> before = elements_of<float>(own, first, all);
    EXPECT_TRUE(same_bytes(values, before.data(), before.size() * 4)) << "operand of reduce_scatter";
    std::vector<float> gathered(static_cast<std::size_t>(all) + 1, 5.0f);
    c.all_gather(values, gathered.data(), count * 4);
    for (int r = 0; r < c.size(); ++r) {
      const std::vector<float> theirs = elements_of<float>(c.world_rank(r), first, count);
      EXPECT_TRUE(same_bytes(gathered.data() + r * count, theirs.data(), theirs.size() * 4)) << "all_gather in place";
    }
    EXPECT_EQ(gathered.back(), 5.0f);
    c.all_gather(values + c.rank() * count, values, count * 4);  // into the memory from which it reads
    for (int r = 0; r < c.size(); ++r) {
      const std::vector<float> theirs = elements_of<float>(c.world_rank(r), first + r * count, count);
      EXPECT_TRUE(same_bytes(values + r * count, theirs.data(), theirs.size() * 4)) << "all_gather within its result";
    }
  }
}

void check_group(Communicator& group) {
  check_reductions<float>(group, Reduction::sum, {0, 1, 5003});
  check_moves(group);
  group.barrier();
}

void check_groups(Communicator& c) {
  if (c.size() < 2) return;
  // Two halves of the ranks at the same time.
  std::vector<int> low, high;
  for (int r = 0; r < c.size(); ++r) (r < c.size() / 2 ? low : high).push_back(r);
  const bool is_low = c.rank() < c.size() / 2;
  const auto half = c.group(is_low ? low : high);
  check_group(*half);
  // Some of the ranks, in another order than in the world.
  if (c.rank() == 0 || c.rank() == c.size() - 1) {
    const auto ends = c.group({c.size() - 1, 0});
    EXPECT_EQ(ends->rank(), c.rank() == 0 ? 1 : 0);
    EXPECT_EQ(ends->world_rank(0), c.world_rank(c.size() - 1));
    check_group(*ends);
  }
  if (c.size() % 2 == 0 && c.size() > 2) {
    // Rows of two and columns of the rest: each rank is in both and uses both at the same time, on two threads.
    std::vector<int> row, column;
    for (int r = 0; r < c.size(); ++r) {
      if (r / 2 == c.rank() / 2) row.push_back(r);
      if (r % 2 == c.rank() % 2) column.push_back(r);
    }
    const auto in_row = c.group(row), in_column = c.group(column);
    std::thread other([&] {
      for (int i = 0; i < 5; ++i) check_reductions<float>(*in_column, Reduction::sum, {3001, 40'000});
    });
    for (int i = 0; i < 5; ++i) check_reductions<float>(*in_row, Reduction::sum, {40'000, 3001});
    other.join();
  }
  // A group within a group, by the group's rank numbers.
  if (half->size() > 2) {
    if (half->rank() != 1) {
      std::vector<int> without;
      for (int r = 0; r < half->size(); ++r) {
        if (r != 1) without.push_back(r);
      }
      const auto inner = half->group(without);
      EXPECT_EQ(inner->world_rank(inner->rank()), c.world_rank(c.rank()));
      check_group(*inner);
    }
  }
  c.barrier();
}

void check_many_in_a_row(Communicator& c) {
  std::mt19937 random(11);  // the same on all ranks
  for (int call = 0; call < 200; ++call) {
    const std::int64_t count = 1 + static_cast<std::int64_t>(random() % 3000);
    std::vector<float> values = elements_of<float>(c.world_rank(c.rank()), 0, count);
    switch (random() % 3) {
      case 0:
        c.all_reduce(values.data(), count, DType::f32);
        ASSERT_EQ(values.back(), expected<float>(c, count - 1, Reduction::sum));
        break;
      case 1: {
        const int root = static_cast<int>(random() % static_cast<unsigned>(c.size()));
        c.broadcast(values.data(), count * 4, root);
        ASSERT_EQ(values.back(), element_of<float>(c.world_rank(root), count - 1));
        break;
      }
      default: c.barrier();
    }
  }
}

}  // namespace

void check_collectives(Communicator& all) {
  check_all_types(all);
  check_moves(all);
  check_messages(all);
  check_allocated(all);
  check_allocated_parts(all);
  check_groups(all);
  check_many_in_a_row(all);
  // Several chunks of the engine with the largest chunks.
  check_reductions<float>(all, Reduction::sum, {1'100'003});
}

}  // namespace ridgeline::comm
