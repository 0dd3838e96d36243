#include "ridgeline/comm/rank_environment.h"

#include <gtest/gtest.h>

#include <map>

#include "ridgeline/core/file.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::comm {
namespace {

Environment of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

void expect_refusal(std::map<std::string, std::string> variables, const std::string& words) {
  const std::string message = error_of([&] { rank_identity(of(std::move(variables))); });
  EXPECT_NE(message.find(words), std::string::npos) << message << "\nwanted: " << words;
}

std::string server_table() {
  const std::string path = testing::temporary_directory() + "/servers.json";
  write_file_atomically(path, R"({"status": "completed", "version": "1.0", "server_list": [
      {"server_id": "a", "device": [{"device_id": 4, "device_ip": "10.0.0.1", "rank_id": 0},
                                    {"device_id": 5, "device_ip": "10.0.0.2", "rank_id": 1}]},
      {"server_id": "b", "device": [{"device_id": 0, "device_ip": "10.0.0.3", "rank_id": 2}]}]})");
  return path;
}

std::string group_table() {
  const std::string path = testing::temporary_directory() + "/groups.json";
  write_file_atomically(path, R"({"status": "completed", "group_count": 1, "group_list": [{"group_name": "worker",
      "device_count": 2, "instance_count": 1, "instance_list": [{"pod_name": "pod-7", "server_id": "a",
      "devices": [{"device_id": 0, "device_ip": "10.0.0.1"}, {"device_id": 1, "device_ip": "10.0.0.2"}]}]}]})");
  return path;
}

TEST(RankEnvironment, NothingSetIsOneProcessAlone) {
  const RankIdentity alone = rank_identity(of({}));
  EXPECT_EQ(alone.size(), 1);
  EXPECT_EQ(alone.rank, 0);
  EXPECT_EQ(alone.local_size(), 1);
}

TEST(RankEnvironment, NumbersWithoutATable) {
  const RankIdentity third = rank_identity(of({{"RANK_SIZE", "4"}, {"RANK_ID", "2"}, {"JOB_ID", "10087"}}));
  EXPECT_EQ(third.size(), 4);
  EXPECT_EQ(third.rank, 2);
  EXPECT_EQ(third.device, 2);
  EXPECT_EQ(third.local_rank(), 2);
  EXPECT_EQ(third.job, "10087");
  const RankIdentity mpi = rank_identity(of({{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}}));
  EXPECT_EQ(mpi.rank, 1);
}

TEST(RankEnvironment, ATableOfServers) {
  const RankIdentity last =
      rank_identity(of({{"RANK_TABLE_FILE", server_table()}, {"RANK_ID", "2"}, {"RANK_SIZE", "3"}}));
  EXPECT_EQ(last.device, 0);
  EXPECT_EQ(last.local_size(), 1);
  EXPECT_EQ(last.local_rank(), 0);
  const RankIdentity second = rank_identity(of({{"RANK_ID", "1"}, {"DEVICE_ID", "5"}}), server_table());
  EXPECT_EQ(second.local_rank(), 1);
  EXPECT_EQ(second.local_size(), 2);
}

TEST(RankEnvironment, APodIsFoundByNameAndDevice) {
  const RankIdentity by_rank_id =
      rank_identity(of({{"RANK_TABLE_FILE", group_table()}, {"RANK_ID", "pod-7"}, {"DEVICE_ID", "1"}}));
  EXPECT_EQ(by_rank_id.rank, 1);
  const RankIdentity by_pod_name = rank_identity(
      of({{"RANK_TABLE_FILE", group_table()}, {"RANK_ID", "0"}, {"POD_NAME", "pod-7"}, {"DEVICE_ID", "0"}}));
  EXPECT_EQ(by_pod_name.rank, 0);
}

TEST(RankEnvironment, MpirunSaysWhichRankOfATableThisIs) {
  const RankIdentity of_servers =
      rank_identity(of({{"OMPI_COMM_WORLD_SIZE", "3"}, {"OMPI_COMM_WORLD_RANK", "1"}}), server_table());
  EXPECT_EQ(of_servers.rank, 1);
  EXPECT_EQ(of_servers.device, 5);
  EXPECT_TRUE(of_servers.by_mpirun);
  const RankIdentity of_groups =
      rank_identity(of({{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}}), group_table());
  EXPECT_EQ(of_groups.device, 1);
  const std::string servers = server_table();
  expect_refusal({{"RANK_TABLE_FILE", servers}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}},
                 "mpirun starts 2 processes, but the rank table");
  expect_refusal(
      {{"RANK_TABLE_FILE", servers}, {"RANK_ID", "0"}, {"OMPI_COMM_WORLD_SIZE", "3"}, {"OMPI_COMM_WORLD_RANK", "1"}},
      "and rank 1 for mpirun");
  expect_refusal({{"RANK_SIZE", "4"}, {"RANK_ID", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}},
                 "RANK_SIZE=4, but mpirun starts 2 processes");
}

TEST(RankEnvironment, MpirunsRanksOnSeveralServersKnowTheirOwn) {
  const RankIdentity third = rank_identity(of({{"OMPI_COMM_WORLD_SIZE", "4"},
                                               {"OMPI_COMM_WORLD_RANK", "3"},
                                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                               {"PMIX_NAMESPACE", "1234"}}));
  EXPECT_EQ(third.local_size(), 2);
  EXPECT_EQ(third.local_rank(), 1);
  EXPECT_EQ(third.device, 1);
  EXPECT_EQ(third.job, "1234");
  EXPECT_FALSE(rank_identity(of({{"RANK_SIZE", "2"}, {"RANK_ID", "1"}})).by_mpirun);
}

TEST(RankEnvironment, WrongVariablesAreNamed) {
  expect_refusal({{"RANK_SIZE", "0"}}, "RANK_SIZE='0' (allowed: 1 to");
  expect_refusal({{"RANK_SIZE", "two"}}, "RANK_SIZE='two'");
  expect_refusal({{"RANK_SIZE", "2"}}, "RANK_SIZE=2, but RANK_ID is not set (0 to 1)");
  expect_refusal({{"RANK_SIZE", "2"}, {"RANK_ID", "2"}}, "RANK_ID='2' (allowed: 0 to 1)");
  for (const char* id : {"0", "1", "npu8p"})
    expect_refusal({{"RANK_ID", id}}, "RANK_ID=" + std::string(id) + ", but RANK_SIZE is not set");
  expect_refusal({{"DEVICE_ID", "x"}}, "DEVICE_ID is invalid, should be int, such as 0, 1, 2.");
  expect_refusal({{"DEVICE_ID", "-1"}}, "DEVICE_ID should be >= 0.");
  expect_refusal({{"RANK_SIZE", "2"}, {"CM_WORKER_SIZE", "2"}},
                 "RANK_SIZE and CM_WORK_SIZE cannot be configured at the same time");
  const std::string servers = server_table(), groups = group_table();
  expect_refusal({{"RANK_TABLE_FILE", servers}, {"RANK_ID", "0"}, {"RANK_SIZE", "8"}},
                 "RANK_SIZE=8, but the rank table");
  expect_refusal({{"RANK_TABLE_FILE", servers}, {"RANK_ID", "3"}},
                 "RANK_ID='3' (allowed with this rank table: 0 to 2)");
  expect_refusal({{"RANK_TABLE_FILE", servers}}, "RANK_ID is not set");
  expect_refusal({{"RANK_TABLE_FILE", servers}, {"RANK_ID", "0"}, {"DEVICE_ID", "1"}},
                 "The ranktable config devId is inconsistent with the local devId.");
  expect_refusal({{"RANK_TABLE_FILE", groups}, {"RANK_ID", "pod-8"}}, "RANK_ID or POD_NAME 'pod-8' is no pod_name");
  expect_refusal({{"RANK_TABLE_FILE", groups}, {"RANK_ID", "pod-7"}}, "DEVICE_ID says which");
  expect_refusal({{"RANK_TABLE_FILE", groups}, {"RANK_ID", "pod-7"}, {"DEVICE_ID", "6"}},
                 "The ranktable config devId is inconsistent with the local devId.");
  expect_refusal({{"RANK_TABLE_FILE", "/no/8p.json"}}, "the path /no/8p.json is not a valid real path");
}

}  // namespace
}  // namespace ridgeline::comm
