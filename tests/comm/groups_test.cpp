#include "ridgeline/comm/groups.h"

#include <gtest/gtest.h>

#include "tests/comm/ranks.h"
#include "tests/support/error_of.h"

namespace ridgeline::comm {
namespace {

// Two servers of two ranks.
World four_places() {
  World world;
  for (const char* server : {"a", "a", "b", "b"}) world.ranks.push_back({.server = server});
  return world;
}

// A communicator that the ranks of a test already own.
std::unique_ptr<Communicator> all_of(Communicator& c) {
  std::vector<int> ranks;
  for (int r = 0; r < c.size(); ++r) ranks.push_back(r);
  return c.group(ranks);
}

TEST(Groups, AreFoundByName) {
  expect_ranks(4, [](Communicator& c) {
    Groups groups(all_of(c), four_places());
    EXPECT_EQ(groups.rank_size(), 4);
    EXPECT_EQ(groups.rank_id(), c.rank());
    EXPECT_EQ(groups.local_rank_size(), 2);
    EXPECT_EQ(groups.local_rank_id(), c.rank() % 2);
    if (c.rank() != 2) {
      groups.create("three", {3, 0, 1});
      EXPECT_EQ(groups.rank_size("three"), 3);
      EXPECT_EQ(groups.rank_id("three"), (c.rank() + 1) % 4);
      EXPECT_EQ(groups.local_rank_size("three"), c.rank() == 3 ? 1 : 2);
      EXPECT_EQ(groups.local_rank_id("three"), c.rank() == 1 ? 1 : 0);
      EXPECT_EQ(groups.world_rank_from_group_rank("three", 0), 3);
      EXPECT_EQ(groups.group_rank_from_world_rank("three", 1), 2);
      EXPECT_NE(error_of([&] { groups.group_rank_from_world_rank("three", 2); }).find("no rank 2 of the world"),
                std::string::npos);
      EXPECT_NE(error_of([&] { groups.world_rank_from_group_rank("three", 3); }).find("no rank 3 (allowed: 0 to 2)"),
                std::string::npos);
      float x = static_cast<float>(c.rank());
      groups.at("three").all_reduce(&x, 1, DType::f32);
      EXPECT_EQ(x, 4.0f);
      groups.destroy("three");
      EXPECT_FALSE(groups.has("three"));
      groups.create("three", {0, 1, 3});  // a name that is free again
      EXPECT_EQ(groups.group_rank_from_world_rank("three", 3), 2);
    }
    groups.at().barrier();
  });
}

TEST(Groups, WrongNamesAndRanksAreTold) {
  Groups groups(single_rank(), World{.ranks = {{.server = "a"}}});
  const auto expect_refusal = [](const std::string& message, const std::string& words) {
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  expect_refusal(error_of([&] { groups.at("x"); }),
                 "group 'x': is not there, or this rank is not in it (there are: "
                 "hccl_world_group)");
  expect_refusal(error_of([&] { groups.create("", {0}); }), "the name has 0 characters (allowed: 1 to 127)");
  expect_refusal(error_of([&] { groups.create(std::string(128, 'g'), {0}); }), "has 128 characters");
  expect_refusal(error_of([&] { groups.create(kWorldGroup, {0}); }), "is that of all ranks");
  expect_refusal(error_of([&] { groups.destroy(kWorldGroup); }), "which stays");
  expect_refusal(error_of([&] { groups.destroy("x"); }), "is not there");
  expect_refusal(error_of([&] { groups.create("g", {}); }), "has no ranks");
  expect_refusal(error_of([&] { groups.create("g", {0, 0}); }), "a group has rank 0 twice");
  expect_refusal(error_of([&] { groups.create("g", {1}); }), "a group with rank 1 (allowed: 0 to 0)");
  groups.create(std::string(127, 'g'), {0});
  expect_refusal(error_of([&] { groups.create(std::string(127, 'g'), {0}); }), "is there already");
}

TEST(Groups, ARankOutsideIsRefused) {
  const std::vector<std::string> messages = run_ranks(2, [](Communicator& c) {
    if (c.rank() == 1) c.group({0});
  });
  EXPECT_EQ(messages[1], "[ranks] rank 1 asks for a group that it is not in");
}

}  // namespace
}  // namespace ridgeline::comm
