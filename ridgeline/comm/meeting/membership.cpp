#include "ridgeline/comm/meeting/membership.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "ridgeline/comm/table_fields.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/random.h"

namespace ridgeline::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kBeat{1};
constexpr std::chrono::milliseconds kTry{100};
// Time for a scheduler that is started together with this process.
constexpr std::chrono::seconds kStarting{2};
// The characters of a reason that go into a line.
constexpr std::size_t kMostReason = 1000;
// How long a wait stays unreported.
constexpr std::chrono::seconds kUnsaidWait{5};

// Equal for processes that can share memory and see each other's ends: this boot of the machine, its shared memory and
// its process numbers.
std::string machine_name() {
  std::string text = read_file("/proc/sys/kernel/random/boot_id");
  for (const char* path : {"/dev/shm", "/proc/self/ns/pid"}) {
    struct stat status {};
    if (::stat(path, &status) == 0) text += fmt::format(" {}.{}", status.st_dev, status.st_ino);
  }
  return fmt::format("{:016x}", hash64(text));
}

std::string number_text(const RoleEnvironment& own) { return own.number ? std::to_string(*own.number) : "-"; }

int number_at(const std::string& text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Membership::Membership(const RoleEnvironment& own, const OptionalFunction<void(const std::string&)>& say) : own_(own) {
  RIDGELINE_CHECK(own.role != Role::scheduler, "a scheduler is no member");
  meet(say);
  thread_ = std::jthread([this](const std::stop_token& stop) { listen(stop); });
}

Membership::~Membership() {
  thread_.request_stop();
  thread_.join();  // before the scheduler closes the connection
  socket_->send("left");
}

std::string Membership::scheduler_text() const {
  return fmt::format("the scheduler at {}:{}", own_.place.host, own_.place.port);
}

void Membership::meet(const OptionalFunction<void(const std::string&)>& say) {
  const Clock::time_point begin = Clock::now(), until = begin + own_.place.meeting_timeout;
  bool said = !say;
  const auto waits_for = [&](const std::string& what) {
    if (said || Clock::now() - begin < kUnsaidWait) return;
    said = true;
    say(fmt::format("waiting for {}, {} s at most (MS_TOPO_TIMEOUT)", what, own_.place.meeting_timeout.count()));
  };
  std::optional<Descriptor> connected;
  const auto left = [&] { return std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()); };
  while (!(connected = connect_to(own_.place.host, own_.place.port, std::clamp(left(), kTry, kMostConnecting)))) {
    if (Clock::now() > until)
      throw Error(fmt::format("[ranks] a {} waited {} s in vain for {} (MS_SCHED_HOST, MS_SCHED_PORT, MS_TOPO_TIMEOUT)",
                              name_of(own_.role), own_.place.meeting_timeout.count(), scheduler_text()));
    waits_for(scheduler_text());
    std::this_thread::sleep_for(kTry);
  }
  said = !say;
  socket_ = std::make_unique<LineSocket>(std::move(*connected));
  socket_->send(fmt::format("join 1 {} {} {} {} {} {}", name_of(own_.role), number_text(own_), ::getpid(),
                            machine_name(), own_.place.servers, own_.place.workers));
  // The scheduler watches the time from here on, and reports it.
  std::vector<std::string> lines;
  for (Clock::time_point beat = Clock::now();;) {
    if (Clock::now() - beat > kBeat) {
      socket_->send("alive");
      beat = Clock::now();
    }
    socket_->wait(kTry);
    const bool open = socket_->read(lines);
    for (const std::string& line : lines) {
      if (line.starts_with("refused ")) throw Error("[ranks] " + line.substr(8), ErrorKind::usage);
      if (line.starts_with("lost ")) throw Error("[ranks] " + words_of(line, 3).back());
      if (line.starts_with("world ")) return read_world(line);
    }
    lines.clear();
    waits_for("the others, who are missing as the scheduler says");
    if (!open || Clock::now() > until + kBeat * 10)
      throw Error(fmt::format("[ranks] {} {} before all had come", scheduler_text(),
                              open ? "has said nothing more" : "has closed the connection"));
  }
}

void Membership::read_world(const std::string& line) {
  const std::vector<std::string> words = words_of(line);
  const auto all = static_cast<std::size_t>(own_.place.workers + own_.place.servers);
  const int rank = words.size() < 3 ? -1 : number_at(words[1]);
  if (words.size() != all + 3 || rank < 0 || static_cast<std::size_t>(rank) >= all)
    throw Error(fmt::format("[ranks] {} says what is no world of {} processes", scheduler_text(), all));
  identity_.rank = rank;
  identity_.job = words[2];
  for (std::size_t r = 0; r < all; ++r) {
    const bool worker = r < static_cast<std::size_t>(own_.place.workers);
    const std::size_t number = worker ? r : r - static_cast<std::size_t>(own_.place.workers);
    identity_.names.push_back(fmt::format("{} {}", worker ? "worker" : "server", number));
    identity_.world.ranks.push_back({.server = words[r + 3].substr(0, words[r + 3].find(',')),
                                     .pod = "",
                                     .device = static_cast<int>(r) % kDevicesPerServer,
                                     .address = ""});
  }
  identity_.device = identity_.world.ranks[static_cast<std::size_t>(rank)].device;
}

void Membership::listen(const std::stop_token& stop) {
  Clock::time_point beat = Clock::now(), looked = beat;
  Clock::duration silent{0};
  std::vector<std::string> lines;
  while (!stop.stop_requested()) {
    if (Clock::now() - beat > kBeat) {
      socket_->send("alive");
      beat = Clock::now();
    }
    socket_->wait(kTry);
    lines.clear();
    const bool open = socket_->read(lines);
    // If this process itself was stopped for a while, all others may have been: then silence proves nothing.
    const Clock::time_point now = Clock::now();
    silent += std::min<Clock::duration>(now - std::exchange(looked, now), 2 * kTry);
    if (!lines.empty()) silent = {};
    for (const std::string& line : lines) {
      if (!line.starts_with("lost ")) continue;
      const std::vector<std::string> words = words_of(line, 3);
      if (words.size() == 3) return lose(number_at(words[1]), words[2]);
    }
    if (!open) return lose(-1, scheduler_text() + " has ended");
    if (silent > own_.place.silence_timeout)
      return lose(-1, fmt::format("nothing has been heard of {} for {} s (MS_NODE_TIMEOUT)", scheduler_text(),
                                  own_.place.silence_timeout.count()));
  }
}

void Membership::lose(int rank, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  lost_rank_ = rank;
  lost_ = reason;
  if (tell_ && !told_) {
    told_ = true;
    tell_(rank, reason);
  }
}

void Membership::on_loss(std::function<void(int, const std::string&)> tell) {
  const std::lock_guard lock(mutex_);
  tell_ = std::move(tell);
  if (tell_ && !lost_.empty() && !told_) {
    told_ = true;
    tell_(lost_rank_, lost_);
  }
}

void tell_scheduler(const RoleEnvironment& own, const std::string& reason) {
  const Clock::time_point until = Clock::now() + kStarting;
  std::optional<Descriptor> connected;
  while (!(connected = connect_to(own.place.host, own.place.port, kTry)) && Clock::now() < until)
    std::this_thread::sleep_for(kTry);
  if (!connected) return;
  std::string line = reason.substr(0, kMostReason);
  std::replace(line.begin(), line.end(), '\n', ' ');
  LineSocket(std::move(*connected))
      .send(fmt::format("cannot 1 {} {} {} {}", name_of(own.role), number_text(own), ::getpid(), line));
}

}  // namespace ridgeline::comm
