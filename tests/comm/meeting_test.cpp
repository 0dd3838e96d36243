// Workers and servers that meet at a scheduler, by environment variables, over TCP.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>

#include "ridgeline/comm/meeting/membership.h"
#include "ridgeline/comm/meeting/scheduler.h"
#include "ridgeline/core/error.h"
#include "tests/support/error_of.h"

namespace ridgeline::comm {
namespace {

using Variables = std::map<std::string, std::string>;

Environment environment_of(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

const Variables kWorker = {{"MS_ROLE", "MS_WORKER"},
                           {"MS_SERVER_NUM", "2"},
                           {"MS_WORKER_NUM", "3"},
                           {"MS_SCHED_HOST", "10.0.0.7"},
                           {"MS_SCHED_PORT", "8118"}};

Variables with(const std::string& name, const std::string& value) {
  Variables variables = kWorker;
  variables[name] = value;
  return variables;
}

Variables without(const std::string& name) {
  Variables variables = kWorker;
  variables.erase(name);
  return variables;
}

TEST(RoleEnvironment, TellsWhatAProcessIs) {
  EXPECT_FALSE(role_environment(environment_of({{"RANK_SIZE", "4"}})).has_value());
  const auto worker = role_environment(environment_of(with("MS_NODE_ID", "2")));
  ASSERT_TRUE(worker.has_value());
  EXPECT_EQ(worker->role, Role::worker);
  EXPECT_EQ(worker->number, 2);
  EXPECT_EQ(worker->place.servers, 2);
  EXPECT_EQ(worker->place.workers, 3);
  EXPECT_EQ(worker->place.host, "10.0.0.7");
  EXPECT_EQ(worker->place.port, 8118);
  EXPECT_EQ(role_environment(environment_of(with("MS_ROLE", "MS_PSERVER")))->role, Role::server);
  EXPECT_EQ(role_environment(environment_of(with("MS_ROLE", "MS_SERVER")))->role, Role::server);
  EXPECT_EQ(role_environment(environment_of(with("MS_ROLE", "MS_SCHED")))->role, Role::scheduler);
  EXPECT_EQ(role_environment(environment_of(with("MS_NODE_TIMEOUT", "5")))->place.silence_timeout.count(), 5);
}

TEST(RoleEnvironment, WhatIsWrongIsNamedWithWhatIsAllowed) {
  const auto refusal = [](const Variables& variables) {
    return error_of([&] { role_environment(environment_of(variables)); });
  };
  EXPECT_EQ(refusal(with("MS_ROLE", "MS_MASTER")),
            "[ranks] MS_ROLE='MS_MASTER' (allowed: MS_SCHED, MS_PSERVER, MS_WORKER)");
  EXPECT_EQ(refusal(without("MS_ROLE")),
            "[ranks] MS_SERVER_NUM is set, but MS_ROLE is not: what is this process? (allowed: MS_SCHED, MS_PSERVER, "
            "MS_WORKER)");
  for (const char* name : {"MS_SERVER_NUM", "MS_WORKER_NUM", "MS_SCHED_HOST", "MS_SCHED_PORT"})
    EXPECT_EQ(refusal(without(name)).rfind(fmt::format("[ranks] MS_ROLE=MS_WORKER, but {} is not set (", name), 0), 0u);
  for (const char* value : {"", "0", "-1", "64", "1e3", " 1", "1 ", "99999999999999999999"}) {
    EXPECT_EQ(refusal(with("MS_SERVER_NUM", value)),
              fmt::format("[ranks] MS_SERVER_NUM='{}' (allowed: 1 to 63)", value));
    EXPECT_EQ(refusal(with("MS_WORKER_NUM", value)),
              fmt::format("[ranks] MS_WORKER_NUM='{}' (allowed: 1 to 63)", value));
  }
  EXPECT_EQ(refusal(with("MS_WORKER_NUM", "63")),
            "[ranks] MS_SERVER_NUM=2 and MS_WORKER_NUM=63 (allowed: 64 together)");
  for (const char* value : {"", "scheduler", "10.0.0", "10.0.0.256", "::1"})
    EXPECT_EQ(refusal(with("MS_SCHED_HOST", value)),
              fmt::format("[ranks] MS_SCHED_HOST='{}' (allowed: an IPv4 address, such as 127.0.0.1)", value));
  for (const char* value : {"80", "65536", "port"})
    EXPECT_EQ(refusal(with("MS_SCHED_PORT", value)),
              fmt::format("[ranks] MS_SCHED_PORT='{}' (allowed: 1024 to 65535)", value));
  EXPECT_EQ(refusal(with("MS_NODE_ID", "3")), "[ranks] MS_NODE_ID='3' (allowed: 0 to 2)");
  EXPECT_EQ(refusal(with("MS_SCHED_NUM", "2")), "[ranks] MS_SCHED_NUM='2' (allowed: 1 to 1)");
  for (const char* name : {"RANK_ID", "RANK_SIZE", "RANK_TABLE_FILE", "OMPI_COMM_WORLD_SIZE"})
    EXPECT_EQ(
        refusal(with(name, "1")),
        fmt::format("[ranks] MS_ROLE and {} are both set, and each says who this process is (allowed: one of them)",
                    name));
}

constexpr const char* kHost = "127.0.0.1";

// A scheduler that runs during the test.
class Meeting {
 public:
  explicit Meeting(MeetingPlace place) : place_(std::move(place)), scheduler_(place_) {
    place_.port = scheduler_.port();
    thread_ = std::thread([this] { end_ = error_of([&] { scheduler_.run(); }); });
  }
  ~Meeting() {
    if (thread_.joinable()) end();
  }
  RoleEnvironment member(Role role, std::optional<int> number = {}) const {
    return {.role = role, .place = place_, .number = number};
  }
  const std::string& wait() {
    thread_.join();
    return end_;
  }
  const std::string& end() {
    scheduler_.stop();
    return wait();
  }

 private:
  MeetingPlace place_;
  Scheduler scheduler_;
  std::string end_;
  std::thread thread_;
};

std::vector<std::unique_ptr<Membership>> join_all(const std::vector<RoleEnvironment>& all) {
  std::vector<std::unique_ptr<Membership>> members(all.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < all.size(); ++i)
    threads.emplace_back([&, i] { members[i] = std::make_unique<Membership>(all[i]); });
  for (std::thread& thread : threads) thread.join();
  return members;
}

TEST(Meeting, NumbersWorkersAndServersAndEndsWhenAllHaveLeft) {
  Meeting meeting({.servers = 2, .workers = 2, .host = kHost});
  auto members = join_all({meeting.member(Role::server), meeting.member(Role::worker, 1), meeting.member(Role::server),
                           meeting.member(Role::worker)});
  EXPECT_EQ(members[1]->identity().rank, 1);
  EXPECT_EQ(members[3]->identity().rank, 0);
  EXPECT_EQ(members[0]->identity().rank + members[2]->identity().rank, 5);  // 2 and 3
  for (const auto& member : members) {
    EXPECT_EQ(member->identity().size(), 4);
    EXPECT_EQ(member->identity().local_size(), 4);  // one machine
    EXPECT_EQ(member->identity().job, members[0]->identity().job);
    EXPECT_EQ(member->identity().names, (std::vector<std::string>{"worker 0", "worker 1", "server 0", "server 1"}));
  }
  members.clear();
  EXPECT_EQ(meeting.wait(), "");
}

TEST(Meeting, OtherNumbersAndASecondOneAreRefused) {
  Meeting meeting({.servers = 1, .workers = 2, .host = kHost});
  RoleEnvironment other = meeting.member(Role::worker);
  other.place.workers = 3;
  const std::string refusal = error_of([&] { Membership member(other); });
  EXPECT_NE(refusal.find("counts 3 workers and 1 servers, the scheduler 2 and 1 (MS_WORKER_NUM, MS_SERVER_NUM)"),
            std::string::npos)
      << refusal;
  auto members =
      join_all({meeting.member(Role::worker, 0), meeting.member(Role::worker, 1), meeting.member(Role::server, 0)});
  const std::string late = error_of([&] { Membership member(meeting.member(Role::server)); });
  EXPECT_NE(late.find("comes when all 1 servers are there"), std::string::npos) << late;
  members.clear();
  EXPECT_EQ(meeting.wait(), "");
}

TEST(Meeting, TwoThatSayTheyAreTheSameAreTold) {
  Meeting meeting({.servers = 1, .workers = 2, .host = kHost});
  const std::optional<Descriptor> first = connect_to(kHost, meeting.member(Role::worker).place.port);
  ASSERT_TRUE(first.has_value());
  const std::string join = "join 1 worker 1 77 0123456789abcdef 1 2\n";
  ASSERT_EQ(::write(first->number(), join.data(), join.size()), static_cast<ssize_t>(join.size()));
  std::string refusal;
  for (int i = 0; i < 100 && refusal.find("is there already") == std::string::npos; ++i) {
    RoleEnvironment again = meeting.member(Role::worker, 1);
    again.place.meeting_timeout = std::chrono::seconds(1);
    refusal = error_of([&] { Membership member(again); });
  }
  EXPECT_NE(refusal.find("(MS_NODE_ID)"), std::string::npos) << refusal;
}

TEST(Meeting, WhoIsMissingWhenTheTimeIsOverIsTold) {
  Meeting meeting({.servers = 1, .workers = 3, .host = kHost, .meeting_timeout = std::chrono::seconds(1)});
  const std::string end = error_of([&] { Membership member(meeting.member(Role::worker)); });
  const std::string wanted =
      "[ranks] the scheduler waited 1 s in vain for 2 of 3 workers and 1 of 1 servers "
      "(MS_TOPO_TIMEOUT)";
  EXPECT_EQ(end, wanted);
  EXPECT_EQ(meeting.wait(), wanted);
}

TEST(Meeting, WithoutASchedulerAMemberEndsInTime) {
  int port = 0;
  {
    const Descriptor free = listen_at(kHost, 0);
    port = port_of(free);
  }
  const RoleEnvironment member{.role = Role::server,
                               .place = {.host = kHost, .port = port, .meeting_timeout = std::chrono::seconds(1)},
                               .number = {}};
  const std::string end = error_of([&] { Membership alone(member); });
  EXPECT_EQ(end, fmt::format("[ranks] a server waited 1 s in vain for the scheduler at {}:{} (MS_SCHED_HOST, "
                             "MS_SCHED_PORT, MS_TOPO_TIMEOUT)",
                             kHost, port));
}

// The message passed to on_loss().
class Loss {
 public:
  explicit Loss(Membership& member) : member_(member) {
    member.on_loss([this](int rank, const std::string& why) {
      why_ = why;
      rank_ = rank;
    });
  }
  ~Loss() { member_.on_loss({}); }
  std::string wait() const {
    for (int look = 0; look < 6000 && rank_ == kNone; ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return rank_ == kNone ? "nothing" : fmt::format("{} {}", rank_.load(), why_);
  }

 private:
  static constexpr int kNone = -2;
  Membership& member_;
  std::string why_;
  std::atomic<int> rank_{kNone};
};

// A member that is a bare connection and does what the test says.
std::unique_ptr<LineSocket> bare_member(const Meeting& meeting, const std::string& role) {
  const MeetingPlace& place = meeting.member(Role::worker).place;
  auto socket = std::make_unique<LineSocket>(std::move(*connect_to(kHost, place.port)));
  socket->send(fmt::format("join 1 {} 0 4711 0123456789abcdef {} {}", role, place.servers, place.workers));
  return socket;
}

TEST(Meeting, OneThatEndsIsNamedToAllOthersByRoleAndNumber) {
  Meeting meeting({.servers = 1, .workers = 1, .host = kHost});
  std::unique_ptr<LineSocket> server = bare_member(meeting, "server");
  Membership worker(meeting.member(Role::worker));
  const Loss loss(worker);
  server.reset();
  EXPECT_EQ(loss.wait(), "1 server 0 (process 4711) has ended");
  worker.on_loss({});
}

TEST(Meeting, OneOfWhichNothingIsHeardIsLost) {
  Meeting meeting({.servers = 1, .workers = 1, .host = kHost, .silence_timeout = std::chrono::seconds(2)});
  const std::unique_ptr<LineSocket> server = bare_member(meeting, "server");
  Membership worker(meeting.member(Role::worker));
  EXPECT_EQ(Loss(worker).wait(), "1 nothing has been heard of server 0 (process 4711) for 2 s (MS_NODE_TIMEOUT)");
}

TEST(Meeting, ASchedulerThatEndsIsMissed) {
  auto meeting = std::make_unique<Meeting>(MeetingPlace{.servers = 1, .workers = 1, .host = kHost});
  auto members = join_all({meeting->member(Role::worker), meeting->member(Role::server)});
  const Loss worker(*members[0]), server(*members[1]);
  const int port = meeting->member(Role::worker).place.port;
  meeting.reset();
  const std::string wanted = fmt::format("-1 the scheduler at {}:{} has ended", kHost, port);
  EXPECT_EQ(worker.wait(), wanted);
  EXPECT_EQ(server.wait(), wanted);
}

TEST(Meeting, AHostThatDoesNotAnswerIsWaitedForNoLongerThanItsTime) {
  // A listen queue of length one that nobody accepts from: the system completes no further connection.
  const Descriptor full(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(full.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(full.number(), 0), 0);
  const int port = port_of(full);
  std::vector<Descriptor> queued;
  while (std::optional<Descriptor> one = connect_to(kHost, port, std::chrono::milliseconds(200))) {
    queued.push_back(std::move(*one));
    ASSERT_LT(queued.size(), 16u);
  }
  const auto begin = std::chrono::steady_clock::now();
  const RoleEnvironment member{.role = Role::server,
                               .place = {.host = kHost, .port = port, .meeting_timeout = std::chrono::seconds(1)},
                               .number = {}};
  const std::string end = error_of([&] { Membership alone(member); });
  EXPECT_NE(end.find("waited 1 s in vain for the scheduler"), std::string::npos) << end;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(100)) << "the system's own limit is later";
}

TEST(Meeting, OneLookTakesABoundedPartOfWhatHasCome) {
  const Descriptor listening = listen_at(kHost, 0);
  const std::optional<Descriptor> other = connect_to(kHost, port_of(listening));
  ASSERT_TRUE(other.has_value());
  std::optional<Descriptor> own;
  while (!(own = accept_from(listening))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::string empty_lines(1 << 16, '\n');
  std::size_t sent = 0;
  for (ssize_t n = 0; (n = ::send(other->number(), empty_lines.data(), empty_lines.size(), MSG_DONTWAIT)) > 0;)
    sent += static_cast<std::size_t>(n);
  ASSERT_GT(sent, std::size_t{100'000});
  LineSocket socket(std::move(*own));
  std::vector<std::string> lines;
  EXPECT_TRUE(socket.read(lines));
  EXPECT_LE(lines.size(), std::size_t{1} << 16);
  while (lines.size() < sent && socket.wait(std::chrono::seconds(5))) EXPECT_TRUE(socket.read(lines));
  EXPECT_EQ(lines.size(), sent);
}

TEST(Meeting, AMemberThatAsksAndNeverReadsHoldsUpNobody) {
  Meeting meeting({.servers = 1, .workers = 1, .host = kHost});
  const std::unique_ptr<LineSocket> server = bare_member(meeting, "server");
  std::string flood;
  for (int i = 0; i < 2'000'000; ++i) flood += "alive\n";
  EXPECT_TRUE(server->send(flood)) << "the scheduler has stopped reading";
  EXPECT_NO_THROW(Membership(meeting.member(Role::worker))) << "the scheduler waits for the member that does not read";
}

TEST(Meeting, StrangersAreNobody) {
  Meeting meeting({.servers = 1, .workers = 1, .host = kHost});
  const int port = meeting.member(Role::worker).place.port;
  std::vector<std::unique_ptr<LineSocket>> strangers;
  for (const std::string& line :
       {std::string("GET / HTTP/1.1"), std::string("join"), std::string("join 1 worker -1 1 0123456789abcdef 1 1"),
        std::string("join 1 worker 0 1 ../../../../etc/p 1 1"), std::string("join 2 worker - 1 0123456789abcdef 1 1"),
        std::string("join 1 scheduler - 1 0123456789abcdef 1 1"), std::string("alive"), std::string("left"),
        std::string(3 * LineSocket::kMostBytes, 'x'), std::string("\0\0\0", 3),
        std::string("join 1 worker 99999999999 1 0123456789abcdef 1 1")}) {
    strangers.push_back(std::make_unique<LineSocket>(std::move(*connect_to(kHost, port))));
    strangers.back()->send(line);
  }
  auto members = join_all({meeting.member(Role::worker), meeting.member(Role::server)});
  EXPECT_EQ(members[0]->identity().rank, 0);
  members.clear();
  EXPECT_EQ(meeting.wait(), "");
}

}  // namespace
}  // namespace ridgeline::comm
