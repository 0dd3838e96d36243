// ridgeline/comm/meeting/roles.h
//
// The role of this process in a training with parameter servers, from the environment variables of the original:
// MS_ROLE (MS_SCHED, MS_PSERVER or MS_SERVER, MS_WORKER), MS_SERVER_NUM, MS_WORKER_NUM, and where the scheduler is:
// MS_SCHED_HOST, MS_SCHED_PORT.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "ridgeline/comm/rank_environment.h"

namespace ridgeline::comm {

enum class Role : std::uint8_t { scheduler, server, worker };
// "scheduler", "server", "worker".
const char* name_of(Role role);

// The most workers and servers of a run together.
inline constexpr int kMostMembers = 64;

struct MeetingPlace {
  int servers = 1, workers = 1;
  std::string host;  // IPv4
  int port = 0;
  std::chrono::seconds meeting_timeout{1800};  // until all have arrived: MS_TOPO_TIMEOUT
  std::chrono::seconds silence_timeout{300};   // after which a silent process counts as lost: MS_NODE_TIMEOUT
};

struct RoleEnvironment {
  Role role = Role::worker;
  MeetingPlace place;
  std::optional<int> number;  // MS_NODE_ID: which worker or server this is, from 0; none: in the order of arrival
};

// None if MS_ROLE is not set. Errors (kind usage) name the variable, its value and what is allowed: a missing variable,
// one of these without MS_ROLE, and another one that identifies this process (RANK_ID, RANK_SIZE, RANK_TABLE_FILE,
// mpirun's).
std::optional<RoleEnvironment> role_environment(const Environment& environment);

}  // namespace ridgeline::comm
