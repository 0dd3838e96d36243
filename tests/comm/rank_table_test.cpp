#include "ridgeline/comm/rank_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <vector>

#include "ridgeline/core/file.h"
#include "tests/support/error_of.h"

namespace ridgeline::comm {
namespace {

std::string device(int id, const std::string& ip, int rank) {
  return fmt::format(R"({{"device_id": "{}", "device_ip": "{}", "rank_id": "{}"}})", id, ip, rank);
}

std::string server(const std::string& name, const std::string& devices) {
  return fmt::format(R"({{"server_id": "{}", "device": [{}]}})", name, devices);
}

std::string table(const std::string& servers, const std::string& count = "1") {
  return fmt::format(R"({{"status": "completed", "version": "1.0", "server_count": "{}", "server_list": [{}]}})", count,
                     servers);
}

std::string two_devices() { return device(0, "10.0.0.1", 0) + "," + device(1, "10.0.0.2", 1); }

std::string pod(const std::string& name, const std::string& server_id, const std::string& devices) {
  return fmt::format(R"({{"pod_name": "{}", "server_id": "{}", "devices": [{}]}})", name, server_id, devices);
}

std::string group(const std::string& instances, const std::string& instance_count, const std::string& device_count) {
  return fmt::format(
      R"({{"status": "completed", "group_count": "1", "group_list": [{{"group_name": "worker", "device_count": "{}",
          "instance_count": "{}", "instance_list": [{}]}}]}})",
      device_count, instance_count, instances);
}

std::string refusal(const std::string& text) {
  return error_of([&] { parse_rank_table(text, "t.json"); });
}

void expect_refusal(const std::string& text, const std::string& words) {
  const std::string message = refusal(text);
  EXPECT_NE(message.find(words), std::string::npos) << message << "\nwanted: " << words;
  EXPECT_TRUE(message.starts_with("[rank table] t.json: ")) << message;
}

TEST(RankTable, ServersWithRankIdsAreAWorldInTheOrderOfTheIds) {
  const World world = parse_rank_table(
      table(server("b", device(1, "10.0.0.4", 3) + "," + device(0, "10.0.0.3", 2)) + "," + server("a", two_devices()),
            "2"),
      "t.json");
  ASSERT_EQ(world.size(), 4);
  EXPECT_EQ(world.ranks[0].server, "a");
  EXPECT_EQ(world.ranks[3].server, "b");
  EXPECT_EQ(world.ranks[3].device, 1);
  EXPECT_EQ(world.ranks[2].address, "10.0.0.3");
  EXPECT_NE(world.checksum, 0u);
}

TEST(RankTable, GroupsAreNumberedByServerThenDevice) {
  const std::string text =
      group(pod("second", "10.0.1.2",
                R"({"device_id": 1, "device_ip": "10.0.0.4"}, {"device_id": 0, "device_ip": "10.0.0.3"})") +
                "," + pod("first", "10.0.1.1", R"({"device_id": "0", "device_ip": "10.0.0.1"})"),
            "2", "3");
  const World world = parse_rank_table(text, "t.json");
  ASSERT_EQ(world.size(), 3);
  EXPECT_EQ(world.ranks[0].pod, "first");
  EXPECT_EQ(world.ranks[1].device, 0);
  EXPECT_EQ(world.ranks[2].address, "10.0.0.4");
}

TEST(RankTable, BothFormsOfTheSameDevicesAreTheSameWorld) {
  const World by_server = parse_rank_table(table(server("10.0.1.1", two_devices())), "t.json");
  const World by_group = parse_rank_table(
      group(pod("0", "10.0.1.1",
                R"({"device_id": "1", "device_ip": "10.0.0.2"}, {"device_id": "0", "device_ip": "10.0.0.1"})"),
            "1", "2"),
      "t.json");
  ASSERT_EQ(by_server.size(), by_group.size());
  for (std::size_t r = 0; r < by_server.ranks.size(); ++r) {
    EXPECT_EQ(by_server.ranks[r].server, by_group.ranks[r].server);
    EXPECT_EQ(by_server.ranks[r].device, by_group.ranks[r].device);
    EXPECT_EQ(by_server.ranks[r].address, by_group.ranks[r].address);
  }
}

TEST(RankTable, EachCheckNamesTheFieldAndWhatIsAllowed) {
  const std::string good = table(server("a", two_devices()));
  EXPECT_EQ(refusal(good), "");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  expect_refusal(with("completed", "initializing"), "status: is 'initializing': the table is not ready");
  expect_refusal(with("completed", "done"), "status: is 'done' (allowed: completed)");
  expect_refusal(with(R"("status": "completed", )", ""), "has no 'status'");
  expect_refusal(with(R"("1.0")", R"("3.0")"), "version: is '3.0' (allowed: 1.0");
  expect_refusal(with(R"("server_count": "1")", R"("server_count": "2")"),
                 "server_count: The 'server_count' in ranktable is invalid. (it is 2, the server_list has 1)");
  expect_refusal(with(R"("server_count": "1")", R"("server_count": "one")"),
                 "The 'server_count' in ranktable is invalid.");
  expect_refusal(table("", "0"), "server_list: the 'server_list' in the ranktable is empty");
  expect_refusal(with(R"("rank_id": "1")", R"("rank_id": "x")"),
                 "server_list[0].device[1].rank_id: The rank_id must be an digit.");
  expect_refusal(with(R"("rank_id": "1")", R"("rank_id": "-1")"), "The rank_id must be an digit.");
  expect_refusal(with(R"("rank_id": "1")", R"("rank_id": "2")"),
                 "Use a rank ID that exceeds the rank size in the ranktable.");
  expect_refusal(with(R"("rank_id": "1")", R"("rank_id": "0")"),
                 "The 'rank_id' in the ranktable must start from 0 or it is used repeatedly");
  expect_refusal(with(R"("device_id": "1")", R"("device_id": "8")"),
                 "device[1].device_id: The device_id is invalid. (it is \"8\", allowed: 0 to 7)");
  expect_refusal(with(R"("device_id": "1")", R"("device_id": "0")"),
                 "the device_id 0 of server 'a' is used repeatedly");
  expect_refusal(with("10.0.0.2", "10.0.0.1"),
                 "the device_ip 10.0.0.1 is used by t.json: server_list[0].device[0], too");
  expect_refusal(with("10.0.0.2", "10.0.0.256"), "the device_ip '10.0.0.256' is no IPv4 or IPv6 address");
  expect_refusal(with("10.0.0.2", "fe80::1"), "IPv4 and IPv6 must not be mixed");
  expect_refusal(with(R"("server_id": "a")", fmt::format(R"("server_id": "{}")", std::string(65, 'a'))),
                 "server_id: has 65 characters, but must have 1 to 64");
  expect_refusal("[]", "is array, but must be an object");
  expect_refusal(R"({"status": "completed", "version": "1.0"})", "has neither a 'server_list' nor a 'group_list'");
}

TEST(RankTable, ServersAreCheckedTogether) {
  const std::string a = server("a", two_devices());
  expect_refusal(table(a + "," + server("a", device(0, "10.0.0.3", 2)), "2"), "the server_id 'a' is used repeatedly");
  expect_refusal(table(server("a", device(0, "10.0.0.1", 0) + "," + device(1, "10.0.0.2", 2)) + "," +
                           server("b", device(0, "10.0.0.3", 1)),
                       "2"),
                 "the rank ids of servers are interleaved");
  expect_refusal(table(a + "," + server("b", R"({"device_id": "0", "rank_id": "2"})"), "2"), "has no device_ip");
  EXPECT_EQ(refusal(table(server("a", R"({"device_id": "0", "rank_id": "0"})"))), "")
      << "a single server needs no addresses";
}

TEST(RankTable, GroupsAreCheckedAsWell) {
  const std::string one = pod("0", "a", R"({"device_id": "0", "device_ip": "10.0.0.1"})");
  EXPECT_EQ(refusal(group(one, "1", "1")), "");
  expect_refusal(group(one, "2", "1"),
                 "instance_count: The 'instance_count' in ranktable is invalid. (it is 2, there are 1 instances)");
  expect_refusal(group(one, "1", "8"), "device_count: The 'device_count' in ranktable is invalid.");
  expect_refusal(group(one, "0", "1"), "The 'instance_count' in ranktable is invalid.");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = group(one, "1", "1");
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  expect_refusal(with(R"("group_count": "1")", R"("group_count": "0")"),
                 "group_count: The 'group_count' in ranktable is invalid. (it is 0, there are 1 groups)");
  expect_refusal(with(R"("group_list": [)", R"("group_list": [], "x": [)"),
                 "the 'group_list' in the ranktable is empty");
  expect_refusal(with(R"("pod_name": "0", )", ""), "has no 'pod_name'");
  const std::string text = group(one, "1", "1");
  const std::size_t begin = text.find(R"({"group_name")"), end = text.rfind(']');
  std::string twice = text.substr(0, end) + "," + text.substr(begin, end - begin) + text.substr(end);
  twice.replace(twice.find(R"("group_count": "1")"), 18, R"("group_count": "2")");
  expect_refusal(twice, "the group_name 'worker' is used repeatedly");
  expect_refusal(group(one + "," + pod("1", "b", R"({"device_id": "0", "device_ip": "10.0.0.1"})"), "2", "2"),
                 "the device_ip 10.0.0.1 is used by");
  expect_refusal(group(one + "," + pod("1", "a", R"({"device_id": "0", "device_ip": "10.0.0.2"})"), "2", "2"),
                 "the device_id 0 of server 'a' is used repeatedly");
}

TEST(RankTable, AFileThatIsNotThereIsNamed) {
  EXPECT_NE(
      error_of([] { read_rank_table("/no/such/8p.json"); }).find("the path /no/such/8p.json is not a valid real path"),
      std::string::npos);
}

// One to three bytes or pieces changed, removed and repeated.
std::string mutated(std::string text, int changes, std::mt19937& random) {
  for (int k = 0; k < changes; ++k) {
    const std::size_t at = random() % text.size();
    switch (random() % 4) {
      case 0: text[at] = static_cast<char>(random() % 256); break;
      case 1: text.erase(at, 1 + random() % 12); break;
      case 2: text.insert(at, text.substr(random() % text.size(), random() % 30)); break;
      default: text[at] = "0123456789\"{}[],:"[random() % 17];
    }
    if (text.empty()) text = "{";
  }
  return text;
}

// A complete world, or the Error's message.
std::string read_mutated(const std::string& text) {
  return error_of([&] {
    const World world = parse_rank_table(text, "t.json");
    EXPECT_GT(world.size(), 0);
    for (const RankPlace& place : world.ranks) {
      EXPECT_GE(place.device, 0);
      EXPECT_FALSE(place.server.empty());
    }
  });
}

// Published rank tables: each is a world, or an Error that names the field.
TEST(RankTable, PublishedTablesAreReadOrRefusedByName) {
  const char* data = std::getenv("RIDGELINE_TEST_DATA");
  const std::string folder = data == nullptr ? "" : std::string(data) + "/packA/golden/rank-tables";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "RIDGELINE_TEST_DATA does not hold packA's rank tables";
  int worlds = 0, refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    const std::string message = error_of([&] {
      const World world = read_rank_table(path);
      EXPECT_GT(world.size(), 0);
      ++worlds;
    });
    if (message.empty()) continue;
    ++refused;
    // "192.1.*.6", "[device_ip]"
    const bool masked = message.find("is no IPv4 or IPv6 address") != std::string::npos ||
                        message.find("10.*.*.*") != std::string::npos;
    const bool not_json = path.find("fake_rank_table_file") != std::string::npos;
    EXPECT_TRUE(masked || not_json) << message;
  }
  EXPECT_EQ(worlds + refused, 35);
  EXPECT_GE(worlds, 25);
}

// Valid tables with bytes changed, removed and repeated: a world or an Error, nothing else.
TEST(RankTable, MutatedTablesNeitherCrashNorPass) {
  const std::string seeds[] = {
      table(server("a", two_devices()) + "," + server("b", device(0, "10.0.0.3", 2)), "2"),
      group(
          pod("0", "a", R"({"device_id": "0", "device_ip": "10.0.0.1"}, {"device_id": "1", "device_ip": "10.0.0.2"})"),
          "1", "2")};
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    if (!read_mutated(mutated(seeds[i % 2], 1 + i % 3, random)).empty()) ++refused;
  }
  EXPECT_GT(refused, 200);
}

TEST(RankTable, MutatedPublishedTablesNeitherCrashNorHang) {
  const char* data = std::getenv("RIDGELINE_TEST_DATA");
  const std::string folder = data == nullptr ? "" : std::string(data) + "/packA/golden/rank-tables";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "RIDGELINE_TEST_DATA does not hold packA's rank tables";
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    texts.push_back(read_file(entry.path().string()));
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string& text = texts[static_cast<std::size_t>(i) % texts.size()];
    const std::string message = read_mutated(mutated(text, 1 + i % 4, random));
    if (message.empty()) continue;
    EXPECT_TRUE(message.starts_with("[rank table] t.json")) << message;
    ++refused;
  }
  EXPECT_GT(refused, 80);
}

}  // namespace
}  // namespace ridgeline::comm
