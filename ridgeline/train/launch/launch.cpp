#include "ridgeline/train/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include "ridgeline/comm/connect.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/train/last_line.h"
#include "ridgeline/train/launch/followed_output.h"
#include "ridgeline/train/loop/interrupt.h"

namespace ridgeline::train {
namespace {

using Clock = std::chrono::steady_clock;

// "NAME=value" of this process, replaced by the rank's where it has its own.
std::vector<std::string> environment_of(const PlannedRank& rank) {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) all[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const std::string& name : rank.removed) all.erase(name);
  for (const auto& [name, value] : rank.variables) all[name] = value;
  std::vector<std::string> entries;
  for (const auto& [name, value] : all) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// In the child, which only makes system calls from here on.
[[noreturn]] void become(const PlannedRank& rank, char** words, char** environment, const cpu_set_t* cores,
                         pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(128 + SIGTERM);  // it ended before it could be watched
  ::setpgid(0, 0);  // Ctrl-C in a terminal reaches the launcher alone, which hands it on once
  const int input = ::open("/dev/null", O_RDONLY);
  const int output = ::open(rank.output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const bool ready = input >= 0 && output >= 0 && ::dup2(input, 0) >= 0 && ::dup2(output, 1) >= 0 &&
                     ::dup2(output, 2) >= 0 && ::chdir(rank.runs_in.c_str()) == 0 &&
                     (cores == nullptr || ::sched_setaffinity(0, sizeof *cores, cores) == 0);
  if (ready) ::execve(words[0], words, environment);
  const char* reason = ::strerror(errno);
  (void)!::write(2, reason, ::strlen(reason));
  (void)!::write(2, "\n", 1);
  ::_exit(127);
}

pid_t start(const PlannedRank& rank, std::vector<std::string> command) {
  make_directories(rank.folder);
  std::vector<std::string> environment = environment_of(rank);
  std::string dump;
  for (const std::string& entry : environment) dump += entry + "\n";
  write_file_atomically(fmt::format("{}/env_{}.log", rank.folder, rank.device), dump);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const int core : rank.cores) CPU_SET(core, &cores);
  const std::vector<char*> words = pointers_to(command), entries = pointers_to(environment);
  const auto refuse = [&] { throw Error(fmt::format("[launch] cannot start {}: {}", rank.name, ::strerror(errno))); };
  int starting[2];  // closed when the program begins
  if (::pipe2(starting, O_CLOEXEC) != 0) refuse();
  const pid_t own = ::getpid();
  const pid_t child = ::fork();
  if (child == 0)
    become(rank, const_cast<char**>(words.data()), const_cast<char**>(entries.data()),
           rank.cores.empty() ? nullptr : &cores, own);
  const int fork_error = errno;
  ::close(starting[1]);
  // Until then the child has this process's handlers, which would take a request to stop and end nothing.
  char none = 0;
  if (child > 0) (void)!::read(starting[0], &none, 1);
  ::close(starting[0]);
  errno = fork_error;
  if (child < 0) refuse();
  return child;
}

void append_line(const std::string& path, const std::string& line) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const bool written = file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (file >= 0) ::close(file);
  if (!written) throw Error(fmt::format("[launch] cannot write {}: {}", printable(path), ::strerror(errno)));
}

// The processes that still run. Each leads a group, to which what it starts belongs too.
class Running {
 public:
  ~Running() {
    kill_groups();
    for (const auto& [process, index] : left_) ::waitpid(process, nullptr, 0);
  }
  void add(pid_t process, std::size_t index) { left_[process] = index; }
  bool empty() const { return left_.empty(); }
  void signal_all(int signal) const {
    for (const auto& [process, index] : left_) ::kill(process, signal);
  }
  void kill_groups() const {
    for (const auto& [process, index] : left_) ::kill(-process, SIGKILL);
  }
  // One that has ended, its index and status; false where all run.
  bool take_ended(pid_t& ended, std::size_t& index, int& status) {
    for (const auto& [process, i] : left_) {
      if (::waitpid(process, &status, WNOHANG) != process) continue;
      ended = process;
      index = i;
      left_.erase(process);
      return true;
    }
    return false;
  }

 private:
  std::map<pid_t, std::size_t> left_;
};

// Tells ranks that have not joined yet about one that has ended, if it has not done so itself.
class Refusals {
 public:
  explicit Refusals(const LaunchPlan& plan) : plan_(plan) {}
  ~Refusals() { comm::forget_run(plan_.job_id); }
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;

  void leave(int rank, const std::string& why) const {
    if (plan_.ranks.size() != static_cast<std::size_t>(plan_.world_size)) return;  // others are elsewhere, or servers
    comm::RankIdentity identity{.rank = rank, .device = 0, .job = plan_.job_id, .by_mpirun = false, .world = {}};
    identity.world.ranks.resize(plan_.ranks.size());
    comm::tell_refusal(identity, why);
  }

 private:
  const LaunchPlan& plan_;
};

// Of an output, which earlier launches may have begun.
std::int64_t bytes_in(const std::string& path) {
  std::error_code none;
  const auto bytes = std::filesystem::file_size(path, none);
  return none ? 0 : static_cast<std::int64_t>(bytes);
}

// How a rank has ended, and its last line, behind `begin` bytes of earlier ranks, where that is the reason.
std::string described(int code, const std::string& output, std::int64_t begin) {
  if (code == 0) return "train success";
  if (code == kInterruptedCode) return fmt::format("train interrupted (exit code {})", code);
  if (code >= 128) return fmt::format("train fail (signal {}), see {}", code - 128, printable(output));
  const std::string line = last_line(output, begin);
  return fmt::format("train fail (exit code {}), see {}{}{}", code, printable(output), line.empty() ? "" : ": ", line);
}

}  // namespace

std::vector<RankEnd> run_launch(const LaunchPlan& plan, const std::vector<std::string>& command, int grace_seconds,
                                const OptionalFunction<void(const std::string&)>& say) {
  Running running;
  std::vector<RankEnd> ends;
  std::vector<std::int64_t> begins;  // of each rank's output
  std::optional<FollowedOutput> first;
  if (plan.shows_first_rank) first.emplace(plan.ranks.front().output);
  for (std::size_t i = 0; i < plan.ranks.size(); ++i) {
    const PlannedRank& rank = plan.ranks[i];
    begins.push_back(bytes_in(rank.output));
    running.add(start(rank, command), i);
    ends.push_back({.name = rank.name});
    std::string where;
    if (!rank.cores.empty()) where = fmt::format(" on cores {} to {}", rank.cores.front(), rank.cores.back());
    say(fmt::format("{}{}: {}", rank.described, where, printable(rank.output)));
  }
  const Refusals refusals(plan);
  bool failed = false, terminated = false, told = false;
  int turn = 0;
  Clock::time_point first_failure;
  while (!running.empty()) {
    if (!told && interrupted()) {
      told = true;
      running.signal_all(SIGTERM);
      say("interrupted: the ranks end behind the present step (once more ends them at once)");
    }
    if (first) first->show();
    pid_t process = 0;
    std::size_t index = 0;
    int status = 0;
    if (running.take_ended(process, index, status)) {
      // A shell ends by the signal and leaves what it waits for: that is asked to end too.
      if (told || terminated || WIFSIGNALED(status)) ::kill(-process, SIGTERM);
      if (first && index == 0) {
        first->show_rest();
        first.reset();
      }
      RankEnd& end = ends[index];
      end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      if (told && end.code == 128 + SIGTERM) end.code = kInterruptedCode;  // before it trained
      end.stopped = terminated && end.code != 0;
      end.turn = turn++;
      const std::string ending = described(end.code, plan.ranks[index].output, begins[index]);
      say(fmt::format("{}: {}", end.name, ending));
      if (end.code != 0) refusals.leave(plan.ranks[index].rank, ending);
      append_line(plan.ranks[index].output, end.code == 0 ? "turing train success\n" : "turing train fail\n");
      // A rank that ends on request, or in time, has not failed: others may need longer, to save.
      if (end.code != 0 && end.code != kInterruptedCode && !failed) {
        failed = true;
        first_failure = Clock::now();
      }
      continue;
    }
    if (failed && Clock::now() - first_failure > std::chrono::seconds(grace_seconds)) {
      if (terminated)
        running.kill_groups();
      else
        running.signal_all(SIGTERM);
      terminated = true;
      first_failure = Clock::now();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return ends;
}

std::vector<std::string> with_absolute_paths(std::vector<std::string> words, const NamesFile& names_file) {
  for (std::size_t i = 2; i < words.size(); ++i) {  // behind the program and its command
    std::string& word = words[i];
    const bool flag = word.starts_with("--");
    const std::size_t equals = flag ? word.find('=') : std::string::npos;
    if (flag && equals == std::string::npos) continue;
    const std::string name = flag ? word.substr(0, equals) : words[i - 1];
    const std::string value = flag ? word.substr(equals + 1) : word;
    std::error_code ignored;
    if (name.starts_with("--") ? !names_file(name.substr(2), value) : !std::filesystem::is_regular_file(value, ignored))
      continue;
    if (value.empty() || !std::filesystem::exists(value, ignored)) continue;
    word = (flag ? name + "=" : "") + std::filesystem::absolute(value).lexically_normal().string();
  }
  return words;
}

}  // namespace ridgeline::train
