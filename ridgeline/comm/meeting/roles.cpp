#include "ridgeline/comm/meeting/roles.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>

#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"

namespace ridgeline::comm {
namespace {

constexpr const char* kRoles = "MS_SCHED, MS_PSERVER, MS_WORKER";

[[noreturn]] void reject(const std::string& message) { throw Error("[ranks] " + message, ErrorKind::usage); }

int whole_number_of(const std::string& name, const std::string& text, int least, int most) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < least || number > most)
    reject(fmt::format("{}='{}' (allowed: {} to {})", name, printable(text), least, most));
  return number;
}

Role role_named(const std::string& text) {
  if (text == "MS_SCHED") return Role::scheduler;
  if (text == "MS_PSERVER" || text == "MS_SERVER") return Role::server;
  if (text == "MS_WORKER") return Role::worker;
  reject(fmt::format("MS_ROLE='{}' (allowed: {})", printable(text), kRoles));
}

}  // namespace

const char* name_of(Role role) {
  switch (role) {
    case Role::scheduler: return "scheduler";
    case Role::server: return "server";
    case Role::worker: return "worker";
  }
  return "";
}

std::optional<RoleEnvironment> role_environment(const Environment& environment) {
  const std::optional<std::string> role = environment("MS_ROLE");
  if (!role) {
    for (const char* name : {"MS_SERVER_NUM", "MS_WORKER_NUM", "MS_SCHED_HOST", "MS_SCHED_PORT"}) {
      if (environment(name))
        reject(fmt::format("{} is set, but MS_ROLE is not: what is this process? (allowed: {})", name, kRoles));
    }
    return std::nullopt;
  }
  RoleEnvironment own{.role = role_named(*role), .place = {}, .number = std::nullopt};
  for (const char* name : {"RANK_ID", "RANK_SIZE", "RANK_TABLE_FILE", "OMPI_COMM_WORLD_SIZE"}) {
    if (environment(name))
      reject(
          fmt::format("MS_ROLE and {} are both set, and each says who this process is (allowed: one of them)", name));
  }
  const auto text_of = [&](const char* name, const std::string& allowed) {
    const std::optional<std::string> text = environment(name);
    if (!text) reject(fmt::format("MS_ROLE={}, but {} is not set ({})", printable(*role), name, allowed));
    return *text;
  };
  const auto number_of = [&](const char* name, int least, int most) {
    return whole_number_of(name, text_of(name, fmt::format("{} to {}", least, most)), least, most);
  };
  MeetingPlace& place = own.place;
  place.servers = number_of("MS_SERVER_NUM", 1, kMostMembers - 1);
  place.workers = number_of("MS_WORKER_NUM", 1, kMostMembers - 1);
  if (place.servers + place.workers > kMostMembers)
    reject(fmt::format("MS_SERVER_NUM={} and MS_WORKER_NUM={} (allowed: {} together)", place.servers, place.workers,
                       kMostMembers));
  place.host = text_of("MS_SCHED_HOST", "the scheduler's IPv4 address");
  in_addr address{};
  if (::inet_pton(AF_INET, place.host.c_str(), &address) != 1 || place.host.find('\0') != std::string::npos)
    reject(fmt::format("MS_SCHED_HOST='{}' (allowed: an IPv4 address, such as 127.0.0.1)", printable(place.host)));
  place.port = number_of("MS_SCHED_PORT", 1024, 65535);
  if (environment("MS_SCHED_NUM")) whole_number_of("MS_SCHED_NUM", *environment("MS_SCHED_NUM"), 1, 1);
  if (const auto text = environment("MS_TOPO_TIMEOUT"))
    place.meeting_timeout = std::chrono::seconds(whole_number_of("MS_TOPO_TIMEOUT", *text, 1, 86400));
  if (const auto text = environment("MS_NODE_TIMEOUT"))
    place.silence_timeout = std::chrono::seconds(whole_number_of("MS_NODE_TIMEOUT", *text, 1, 86400));
  if (const auto text = environment("MS_NODE_ID"); text && own.role != Role::scheduler)
    own.number =
        whole_number_of("MS_NODE_ID", *text, 0, (own.role == Role::server ? place.servers : place.workers) - 1);
  return own;
}

}  // namespace ridgeline::comm
