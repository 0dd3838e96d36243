#include "ridgeline/comm/meeting/scheduler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "ridgeline/core/error.h"
#include "ridgeline/core/random.h"

namespace ridgeline::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick{100};
// Connections that are not members yet: those that do not identify themselves are dropped.
constexpr std::size_t kMostConnections = 4 * kMostMembers;
constexpr std::chrono::seconds kMostStrangeness{10};
// How long missing members stay unreported.
constexpr std::chrono::seconds kUnsaidLack{5};
// After a loss, until the others have ended.
constexpr std::chrono::seconds kLastWords{10};

std::optional<int> number_in(const std::string& text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

bool is_machine(const std::string& text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

struct Scheduler::Member {
  explicit Member(Descriptor descriptor) : socket(std::move(descriptor)) {}

  LineSocket socket;
  Clock::time_point came = Clock::now();
  Clock::duration silent{0};  // since something was heard of it
  bool joined = false, left = false, gone = false;
  Role role = Role::worker;
  int number = -1;  // of its role; -1: not known yet
  int rank = -1;
  int process = 0;
  std::string machine;

  std::string text() const {
    return number < 0 ? fmt::format("a {} (process {})", name_of(role), process)
                      : fmt::format("{} {} (process {})", name_of(role), number, process);
  }
};

Scheduler::Scheduler(const MeetingPlace& place, OptionalFunction<void(const std::string&)> say)
    : place_(place), say_(std::move(say)), listening_(listen_at(place.host, place.port)) {
  place_.port = port_of(listening_);
  say_(fmt::format("scheduler at {}:{}: {} workers and {} servers are meant", place_.host, place_.port, place_.workers,
                   place_.servers));
}

Scheduler::~Scheduler() = default;

void Scheduler::run() {
  const Clock::time_point opened = Clock::now();
  std::optional<Clock::time_point> lost_at;
  while (!stopped_) {
    wait();
    accept();
    for (const auto& member : connections_) hear(*member);
    std::erase_if(connections_, [](const auto& member) { return member->gone && !member->joined; });
    if (!begun_ && complete()) begin();
    if (!begun_ && lost_.empty() && Clock::now() - opened > kUnsaidLack) say_who_is_missing();
    if (!begun_ && lost_.empty() && Clock::now() - opened > place_.meeting_timeout)
      lose(-1, fmt::format("the scheduler waited {} s in vain for {} (MS_TOPO_TIMEOUT)", place_.meeting_timeout.count(),
                           missing()));
    if (lost_.empty()) look();
    // A refusing process is often the first of a run: others are still to come, and must hear of it.
    const bool some_come =
        refused_ > 0 && count(Role::worker) + count(Role::server) + refused_ < place_.workers + place_.servers;
    const bool over = !some_come && std::all_of(connections_.begin(), connections_.end(), [](const auto& member) {
      return !member->joined || member->left || member->gone;
    });
    if (!lost_.empty()) {
      if (!lost_at) lost_at = Clock::now();
      if (over || Clock::now() - *lost_at > kLastWords) throw Error("[ranks] " + lost_);
    } else if (begun_ && over) {
      say_("scheduler: all have left");
      return;
    }
  }
}

void Scheduler::wait() const {
  std::vector<pollfd> asked{{.fd = listening_.number(), .events = POLLIN, .revents = 0}};
  for (const auto& member : connections_) {
    if (!member->gone) asked.push_back({.fd = member->socket.number(), .events = POLLIN, .revents = 0});
  }
  ::poll(asked.data(), asked.size(), static_cast<int>(kTick.count()));
}

void Scheduler::accept() {
  while (std::optional<Descriptor> socket = accept_from(listening_)) {
    if (connections_.size() < kMostConnections) connections_.push_back(std::make_unique<Member>(std::move(*socket)));
  }
}

void Scheduler::hear(Member& member) {
  if (member.gone) return;
  std::vector<std::string> lines;
  const bool open = member.socket.read(lines);
  bool asked = false;
  for (const std::string& line : lines) {
    if (!member.gone) handle(member, line);
    asked |= line == "alive";
  }
  if (!open) member.gone = true;
  // One answer, however often it asks: answers that it does not read would block everybody else.
  if (asked && member.joined && !member.gone && !member.socket.send("alive")) member.gone = true;
  if (!member.joined && Clock::now() - member.came > kMostStrangeness) member.gone = true;
}

void Scheduler::handle(Member& member, const std::string& line) {
  if (!member.joined && line.starts_with("cannot ")) return refuse(member, words_of(line, 6));
  if (!member.joined) {
    member.gone = !join(member, words_of(line));
    return;
  }
  member.silent = {};
  if (line == "left") member.left = true;
}

// The beginning of any message before joining: "join" or "cannot", the version, role, number, process.
bool Scheduler::identify(Member& member, const std::vector<std::string>& words) const {
  if (words.size() < 5 || words[1] != "1" || (words[2] != "worker" && words[2] != "server")) return false;
  const std::optional<int> process = number_in(words[4]);
  if (!process) return false;
  member.role = words[2] == "server" ? Role::server : Role::worker;
  member.process = *process;
  if (words[3] == "-") return true;
  const std::optional<int> number = number_in(words[3]);
  if (!number || *number < 0 || *number >= (member.role == Role::server ? place_.servers : place_.workers))
    return false;
  member.number = *number;
  return true;
}

void Scheduler::refuse(Member& member, const std::vector<std::string>& words) {
  member.gone = true;
  if (words.size() != 6 || !identify(member, words) || begun_) return;
  ++refused_;
  if (lost_.empty()) lose(-1, fmt::format("{} does not come: {}", member.text(), words[5]));
}

// Returns whether it stays connected.
bool Scheduler::join(Member& member, const std::vector<std::string>& words) {
  if (words.size() != 8 || words[0] != "join" || !is_machine(words[5]) || !identify(member, words)) return false;
  const std::optional<int> servers = number_in(words[6]), workers = number_in(words[7]);
  if (!servers || !workers) return false;
  member.machine = words[5];
  if (const std::string why = why_not(member, *servers, *workers); !why.empty()) {
    member.socket.send("refused " + why);
    return false;
  }
  member.joined = true;
  return true;
}

std::string Scheduler::why_not(const Member& member, int servers, int workers) const {
  if (servers != place_.servers || workers != place_.workers)
    return fmt::format("{} counts {} workers and {} servers, the scheduler {} and {} (MS_WORKER_NUM, MS_SERVER_NUM)",
                       member.text(), workers, servers, place_.workers, place_.servers);
  if (!lost_.empty()) return lost_;
  const int all = member.role == Role::server ? place_.servers : place_.workers;
  if (begun_ || count(member.role) >= all)
    return fmt::format("{} comes when all {} {}s are there", member.text(), all, name_of(member.role));
  for (const auto& other : connections_) {
    if (other->joined && other->role == member.role && other->number == member.number && member.number >= 0)
      return fmt::format("{} is there already: process {} says that it is it, too (MS_NODE_ID)", other->text(),
                         member.process);
  }
  return "";
}

int Scheduler::count(Role role) const {
  return static_cast<int>(std::count_if(connections_.begin(), connections_.end(),
                                        [&](const auto& member) { return member->joined && member->role == role; }));
}

bool Scheduler::complete() const {
  return lost_.empty() && count(Role::worker) == place_.workers && count(Role::server) == place_.servers;
}

std::string Scheduler::missing() const {
  const int workers = place_.workers - count(Role::worker), servers = place_.servers - count(Role::server);
  std::string text;
  if (workers > 0) text = fmt::format("{} of {} workers", workers, place_.workers);
  if (servers > 0) text += fmt::format("{}{} of {} servers", text.empty() ? "" : " and ", servers, place_.servers);
  return text;
}

void Scheduler::say_who_is_missing() {
  const std::string now = missing();
  if (now == std::exchange(said_missing_, now)) return;
  say_(fmt::format("scheduler: waits for {}", now));
}

// Ranks: workers by number, then servers by number. Members without a number get the lowest free one.
void Scheduler::begin() {
  std::vector<Member*> ranks(static_cast<std::size_t>(place_.workers + place_.servers), nullptr);
  const auto place = [&](const Member& member) {
    return static_cast<std::size_t>(member.number + (member.role == Role::server ? place_.workers : 0));
  };
  for (const bool numbered : {true, false}) {
    for (const auto& member : connections_) {
      if (!member->joined || (member->number >= 0) != numbered || member->rank >= 0) continue;
      if (!numbered) {
        for (member->number = 0; ranks[place(*member)] != nullptr;) ++member->number;
      }
      ranks[place(*member)] = member.get();
      member->rank = static_cast<int>(place(*member));
    }
  }
  std::string list;
  for (const Member* member : ranks) list += fmt::format(" {},{}", member->machine, member->process);
  const auto now = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  const std::string job = fmt::format("{:016x}", hash64(list, now));
  for (Member* member : ranks) {
    member->socket.send(fmt::format("world {} {}{}", member->rank, job, list));
  }
  begun_ = true;
  say_(fmt::format("scheduler: {} workers and {} servers have come", place_.workers, place_.servers));
}

void Scheduler::look() {
  // If this process itself was stopped for a while, all others may have been: then silence proves nothing.
  const Clock::time_point now = Clock::now();
  const Clock::duration passed = std::min<Clock::duration>(now - std::exchange(looked_, now), 2 * kTick);
  for (const auto& member : connections_) {
    if (!member->joined || member->left) continue;
    if (member->gone)
      return lose(member->rank, fmt::format("{} has ended{}", member->text(), begun_ ? "" : " before all had come"));
    if ((member->silent += passed) > place_.silence_timeout) {
      member->gone = true;  // nobody waits for its end
      return lose(member->rank, fmt::format("nothing has been heard of {} for {} s (MS_NODE_TIMEOUT)", member->text(),
                                            place_.silence_timeout.count()));
    }
  }
}

void Scheduler::lose(int rank, const std::string& reason) {
  lost_ = reason;
  say_("scheduler: " + reason);
  for (const auto& member : connections_) {
    if (!member->joined || member->gone || member->left || (rank >= 0 && member->rank == rank)) continue;
    member->socket.send(fmt::format("lost {} {}", rank, reason));
  }
}

}  // namespace ridgeline::comm
