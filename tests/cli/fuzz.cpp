#include "tests/cli/fuzz.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

// Factor by which something may take longer on a busy machine.
constexpr double kBusy = 20;

// How the child ended, "" if well; waits at most as long as the options say.
std::string wait_for(pid_t child, const Shared& shared, const std::string& output, const FuzzOptions& options) {
  int last = -1;
  bool interrupted = false;
  Clock::time_point since = Clock::now();
  double worked_before = 0;
  while (true) {
    int status = 0;
    struct rusage used {};
    if (::wait4(child, &status, WNOHANG, &used) == child) {
      const auto resident = static_cast<std::size_t>(used.ru_maxrss) * 1024;
      if (WIFSIGNALED(status) && !(interrupted && WTERMSIG(status) == SIGINT))
        return std::string("ended by signal ") + std::to_string(WTERMSIG(status));
      if (WIFEXITED(status) && WEXITSTATUS(status) == kBad) return shared.message.data();
      if (WIFEXITED(status) && !options.may_end_with(shared.at, WEXITSTATUS(status)))
        return "exit code " + std::to_string(WEXITSTATUS(status)) + ": " + beginning_of(output);
      if (beginning_of(output).find("internal error") != std::string::npos) return beginning_of(output);
      return resident > options.memory_bytes && !kSanitized ? std::to_string(resident >> 20) + " MiB of memory" : "";
    }
    if (const int at = shared.at; at != last) {
      last = at;
      since = Clock::now();
      worked_before = processor_seconds(child);
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - since).count();
    const double worked = processor_seconds(child) - worked_before;
    const auto over = [&](double limit) { return worked > limit || seconds > kBusy * limit; };
    if (options.interrupt_seconds > 0 && !interrupted && over(options.interrupt_seconds)) {
      ::kill(child, SIGINT);
      interrupted = true;
      since = Clock::now();
      worked_before = worked_before + worked;
    } else if (over(options.hang_seconds)) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return interrupted ? "no end after an interrupt" : "no end";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace

int fuzz_count(int otherwise) {
  const char* text = std::getenv("RIDGELINE_FUZZ");
  return text != nullptr && *text != '\0' ? std::atoi(text) : otherwise;
}

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

std::vector<Finding> findings_in(int count, const std::function<void(int)>& body, const FuzzOptions& options) {
  std::vector<Finding> findings;
  const std::string folder = temporary_directory() + "/fuzz";
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto& shared = *new (memory) Shared;
  for (int next = 0; next < count;) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    shared.at = next;
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("no process can be made");
    if (child == 0) run_child(shared, next, options.process_each ? next + 1 : count, folder, body, options);
    const std::string problem = wait_for(child, shared, folder + "/output", options);
    const int at = shared.at;
    if (!problem.empty()) findings.push_back({at, problem});
    next = problem.empty() && !options.process_each ? count : at + 1;
  }
  fs::remove_all(folder);
  ::munmap(memory, sizeof(Shared));
  return findings;
}

void try_all(int count, const std::function<void(int)>& body, const std::function<std::string(int)>& describe,
             const FuzzOptions& options) {
  for (const Finding& finding : findings_in(count, body, options))
    ADD_FAILURE() << "case " << finding.at << ", " << describe(finding.at) << ": " << finding.what;
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
