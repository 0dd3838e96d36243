#include "tests/cli/fuzz.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>

#include "ridgeline/cli/commands.h"
#include "ridgeline/cli/flags.h"
#include "ridgeline/core/error.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::testing {
namespace {

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

constexpr int kBad = 99;  // exit code of a child whose case failed and reported it

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// Messages from a child to its parent.
struct Shared {
  std::atomic<int> at{0};
  std::array<char, 2000> message{};
  void say(const std::string& text) { std::snprintf(message.data(), message.size(), "%s", text.c_str()); }
};

[[noreturn]] void run_child(Shared& shared, int from, int to, const std::string& folder,
                            const std::function<void(int)>& body, const FuzzOptions& options) {
  // Far above the allowed memory: keeps a case that allocates without limit from exhausting the system.
  const struct rlimit memory {
    3 * options.memory_bytes, 3 * options.memory_bytes
  };
  if (!kSanitized) ::setrlimit(RLIMIT_AS, &memory);
  const struct rlimit none {
    0, 0
  };
  ::setrlimit(RLIMIT_CORE, &none);
  const struct rlimit written {
    options.memory_bytes, options.memory_bytes
  };
  ::setrlimit(RLIMIT_FSIZE, &written);
  std::signal(SIGXFSZ, SIG_IGN);
  if (::chdir(folder.c_str()) != 0) ::_exit(kBad);
  const int output = ::open("output", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  const auto failures = [] {
    return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
  };
  const int before = failures();  // number of cases that the parent has reported
  for (int i = from; i < to; ++i) {
    shared.at = i;
    if (::ftruncate(output, 0) != 0) ::_exit(kBad);
    std::string problem;
    try {
      body(i);
    } catch (const std::bad_alloc&) {
    } catch (const Error& e) {
      problem = std::string("an error: ") + e.what();
    } catch (const std::exception& e) {
      problem = std::string("internal error: ") + e.what();
    }
    if (failures() > before) {
      std::fflush(stdout);
      std::array<char, 1500> said{};
      const ssize_t n = ::pread(output, said.data(), said.size() - 1, 0);
      problem += n > 0 ? said.data() : "a check failed";
    }
    if (problem.empty()) continue;
    shared.say(problem);
    ::_exit(kBad);
  }
  ::_exit(0);
}

std::string beginning_of(const std::string& file) {
  std::array<char, 1500> text{};
  std::ifstream(file).read(text.data(), text.size() - 1);
  return text.data();
}

// Processor time of a process so far, which does not depend on other load.
double processor_seconds(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// A long run says after so many cases how far it is: it can be interrupted, and go on with RIDGELINE_FUZZ_FROM.
constexpr int kToldEach = 1000;

// Factor by which something may take longer on a busy machine.
constexpr double kBusy = 20;

// A child process that tries cases.
class Child {
 public:
  // Starts at case `from`; with process_each it tries this one alone, else all up to `to`.
  Child(Shared& shared, int from, int to, const std::string& folder, const std::function<void(int)>& body,
        const FuzzOptions& options)
      : shared_(shared), output_(folder + "/output"), options_(options) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    shared.at = from;
    std::fflush(nullptr);
    process_ = ::fork();
    if (process_ < 0) throw std::runtime_error("no process can be made");
    if (process_ == 0) run_child(shared, from, options.process_each ? from + 1 : to, folder, body, options);
  }

  // How it ended, "" if well; nothing while it runs. Ends it once it takes longer than the options allow.
  std::optional<std::string> ended() {
    int status = 0;
    struct rusage used {};
    if (::wait4(process_, &status, WNOHANG, &used) == process_)
      return problem_of(status, static_cast<std::size_t>(used.ru_maxrss) * 1024);
    if (const int at = shared_.at; at != last_) {
      last_ = at;
      start_clocks();
    }
    if (options_.interrupt_seconds > 0 && !interrupted_ && over(options_.interrupt_seconds)) {
      ::kill(process_, SIGINT);
      interrupted_ = true;
      start_clocks();
    } else if (over(options_.hang_seconds)) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, &status, 0);
      return interrupted_ ? "no end after an interrupt" : "no end";
    }
    return std::nullopt;
  }

  int at() const { return shared_.at; }

 private:
  std::string problem_of(int status, std::size_t resident_bytes) const {
    if (WIFSIGNALED(status) && !(interrupted_ && WTERMSIG(status) == SIGINT))
      return "ended by signal " + std::to_string(WTERMSIG(status));
    if (WIFEXITED(status) && WEXITSTATUS(status) == kBad) return shared_.message.data();
    if (WIFEXITED(status) && !options_.may_end_with(at(), WEXITSTATUS(status)))
      return "exit code " + std::to_string(WEXITSTATUS(status)) + ": " + beginning_of(output_);
    if (beginning_of(output_).find("internal error") != std::string::npos) return beginning_of(output_);
    const bool much = resident_bytes > options_.memory_bytes && !kSanitized;
    return much ? std::to_string(resident_bytes >> 20) + " MiB of memory" : "";
  }

  void start_clocks() {
    since_ = Clock::now();
    worked_before_ = processor_seconds(process_);
  }
  bool over(double limit) const {
    return processor_seconds(process_) - worked_before_ > limit ||
           std::chrono::duration<double>(Clock::now() - since_).count() > kBusy * limit;
  }

  Shared& shared_;
  std::string output_;
  const FuzzOptions& options_;
  pid_t process_ = -1;
  int last_ = -1;
  bool interrupted_ = false;
  Clock::time_point since_ = Clock::now();
  double worked_before_ = 0;
};

// Memory that a child shares with its parent.
class SharedMemory {
 public:
  SharedMemory() : memory_(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    new (memory_) Shared;
  }
  ~SharedMemory() { ::munmap(memory_, sizeof(Shared)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  Shared& get() { return *static_cast<Shared*>(memory_); }

 private:
  void* memory_;
};

// The whole number in this environment variable, or `otherwise`.
int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0' ? std::atoi(text) : otherwise;
}

}  // namespace

int fuzz_count(int otherwise) { return number_in("RIDGELINE_FUZZ", otherwise); }

int run_command(const std::vector<std::string>& words) {
  std::vector<std::string> all{"ridgeline"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  const cli::Words normal = cli::normalize(static_cast<int>(pointers.size()), pointers.data());
  int code = 2;
  try {
    for (const cli::CommandEntry& command : cli::command_table()) {
      if (!normal.empty() && normal[0] == command.name) code = command.run({normal.begin() + 1, normal.end()});
    }
  } catch (const Error& e) {
    std::cerr << e.what() << "\n";
    code = e.kind() == ErrorKind::usage ? 2 : e.kind() == ErrorKind::failure ? 1 : 130;
  } catch (const std::bad_alloc&) {
    code = 1;
  }
  std::fflush(stdout);
  EXPECT_TRUE(code == 0 || code == 1 || code == 2 || code == 130) << "exit code " << code;
  return code;
}

void become_program(const std::vector<std::string>& words) {
  std::vector<std::string> all{testing::program()};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(pointers.front(), pointers.data());
  throw std::runtime_error("the program does not start");
}

namespace {

// Tries all cases and tells each finding at once, because a long run may be interrupted.
void try_cases(int count, const std::function<void(int)>& body, const FuzzOptions& options,
               const std::function<void(const Finding&)>& found) {
  // Cases with a process each are tried a few at a time.
  const int lanes = options.process_each ? std::max(1, number_in("RIDGELINE_FUZZ_JOBS", 1)) : 1;
  std::vector<SharedMemory> shared(static_cast<std::size_t>(lanes));
  std::vector<std::optional<Child>> children(static_cast<std::size_t>(lanes));
  const std::string folder = temporary_directory() + "/fuzz";
  int next = options.process_each ? std::min(count, number_in("RIDGELINE_FUZZ_FROM", 0)) : 0;
  for (int running = 0; running > 0 || next < count;) {
    for (std::size_t lane = 0; lane < children.size(); ++lane) {
      if (!children[lane]) {
        if (next >= count) continue;
        children[lane].emplace(shared[lane].get(), next, count, folder + std::to_string(lane), body, options);
        next = options.process_each ? next + 1 : count;
        ++running;
      }
      const std::optional<std::string> problem = children[lane]->ended();
      if (!problem) continue;
      const int at = children[lane]->at();
      children[lane].reset();
      --running;
      if (options.process_each && at % kToldEach == kToldEach - 1)
        std::fprintf(stderr, "[ fuzz     ] %d of %d cases tried\n", at + 1, count);
      if (problem->empty()) continue;
      found({at, *problem});
      if (!options.process_each) next = at + 1;  // the others, in a new child
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (int lane = 0; lane < lanes; ++lane) fs::remove_all(folder + std::to_string(lane));
}

}  // namespace

std::vector<Finding> findings_in(int count, const std::function<void(int)>& body, const FuzzOptions& options) {
  std::vector<Finding> findings;
  try_cases(count, body, options, [&](const Finding& finding) { findings.push_back(finding); });
  return findings;
}

void try_all(int count, const std::function<void(int)>& body, const std::function<std::string(int)>& describe,
             const FuzzOptions& options) {
  try_cases(count, body, options, [&](const Finding& finding) {
    ADD_FAILURE() << "case " << finding.at << ", " << describe(finding.at) << ": " << finding.what;
  });
}

std::string mutated(std::string bytes, SampleRandom& random) {
  const auto below = [&](std::size_t n) {
    return n == 0 ? 0 : static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(n) - 1));
  };
  constexpr std::array<std::int64_t, 12> kNumbers{
      0, 1, -1, 2, 127, 255, 32768, 65536, 2147483647, INT64_C(4294967295), INT64_C(9223372036854775807), 1000000};
  constexpr std::array<const char*, 16> kTexts{
      "0",    "-1", "2147483647", "9223372036854775807", "1e308", "nan", "\"", "{", "]", ",", "<", "&", "\\u",
      "null", "\n", "\xff"};
  for (std::int64_t k = random.integer(1, 3); k > 0; --k) {
    const std::size_t at = below(bytes.size()),
                      length = std::min(bytes.size() - at, 1 + below(random.bits() % 2 ? 8 : 300));
    switch (random.integer(0, 9)) {
      case 0:
      case 1:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.integer(0, 7)));
        break;
      case 2:
        if (!bytes.empty()) bytes[at] = static_cast<char>(random.bits());
        break;
      case 3: {  // a number of 1 to 8 bytes, in either order
        const auto value = static_cast<std::uint64_t>(kNumbers[below(kNumbers.size())]);
        const std::size_t width = std::size_t{1} << below(4);
        const bool big = random.integer(0, 1) == 0;
        for (std::size_t b = 0; b < width && at + b < bytes.size(); ++b)
          bytes[at + b] = static_cast<char>(value >> (8 * (big ? width - 1 - b : b)));
        break;
      }
      case 4: bytes.insert(at, kTexts[below(kTexts.size())]); break;
      case 5: {  // the digits that begin at or after this place
        const std::size_t digit = bytes.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        const std::size_t end = std::min(bytes.find_first_not_of("0123456789.", digit), bytes.size());
        bytes.replace(digit, end - digit, kTexts[below(6)]);
        break;
      }
      case 6: bytes.resize(at); break;
      case 7: bytes.erase(at, length); break;
      case 8: bytes.insert(below(bytes.size() + 1), bytes.substr(at, length)); break;
      default: {
        const std::size_t other = below(bytes.size());
        for (std::size_t b = 0; b < length && at + b < bytes.size() && other + b < bytes.size(); ++b)
          std::swap(bytes[at + b], bytes[other + b]);
      }
    }
  }
  return bytes;
}

void put(const std::string& path, const std::string& bytes) {
  if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) fs::create_directories(folder);
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::function<void(const std::string&)> to(const std::string& path) {
  return [path](const std::string& bytes) { put(path, bytes); };
}

void try_inputs(const std::vector<FuzzInput>& inputs) {
  const int each = fuzz_count(12);
  const auto number = [&](int i) { return static_cast<std::size_t>(i / (each + 1)); };
  try_all(
      static_cast<int>(inputs.size()) * (each + 1),
      [&](int i) {
        const FuzzInput& input = inputs[number(i)];
        SampleRandom random(philox_key(7, input.name), 0, static_cast<std::uint64_t>(i % (each + 1)));
        // The first file of each kind is unchanged and must be read without an error.
        const bool whole = i % (each + 1) == 0;
        if (whole) fs::remove_all("set");  // the result for the previous kind
        input.write(whole ? input.bytes : mutated(input.bytes, random));
        try {
          const int code = input.read();
          EXPECT_TRUE(code == 0 || !whole) << "exit code " << code;
        } catch (const Error& e) {
          EXPECT_FALSE(whole) << e.what();
        }
      },
      [&](int i) { return "mutation " + std::to_string(i % (each + 1)) + " of a " + inputs[number(i)].name; });
}

}  // namespace ridgeline::testing
