#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/comm/killed_ranks.h"
#include "tests/comm/ranks.h"

namespace ridgeline::comm {
namespace {

// Rounds with one rank that is killed within that time. Another rank ends after naming it, and must not be named
// itself.
void kill_within(std::chrono::microseconds most, int rounds) {
  std::mt19937 random(std::random_device{}());
  for (int round = 0; round < rounds; ++round) {
    const int size = 2 + static_cast<int>(random() % 3),
              victim = static_cast<int>(random() % static_cast<unsigned>(size));
    const std::chrono::microseconds moment(random() % static_cast<unsigned>(most.count()));
    const std::vector<std::string> messages = run_processes(size, [&](Communicator& c) {
      if (c.rank() == victim) kill_this_process_after(moment);
      exchange_for_ever(c);
    });
    for (int r = 0; r < size; ++r) {
      const std::string& message = messages[static_cast<std::size_t>(r)];
      if (r == victim) {
        EXPECT_EQ(message, "signal 9");
      } else {
        EXPECT_TRUE(message.starts_with(fmt::format("[ranks] rank {} (process ", victim)))
            << "rank " << r << " of " << size << ", killed after " << moment.count() << " us: " << message;
      }
    }
  }
}

TEST(KilledRanks, AreNamedByAllOthersAtAnyMoment) { kill_within(std::chrono::milliseconds(60), kills(10)); }

TEST(KilledRanks, AreNamedByAllOthersWhileTheseStillMeet) { kill_within(std::chrono::microseconds(400), kills(20)); }

// The others may still check whether all have arrived after one of them has finished.
TEST(KilledRanks, AreNotThoseThatHaveFinishedAtOnce) {
  for (int round = 0; round < 20; ++round) {
    for (const std::string& message : run_processes(4, [](Communicator&) {})) EXPECT_EQ(message, "");
  }
}

}  // namespace
}  // namespace ridgeline::comm
