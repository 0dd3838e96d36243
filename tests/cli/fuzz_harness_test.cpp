// The fuzz harness detects each kind of failure of a case and continues after it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/core/file.h"
#include "tests/cli/fuzz.h"
#include "tests/support/temporary_directory.h"

namespace ridgeline::testing {
namespace {

// The report about the second of three cases; the third one must also be tried.
std::string finding_of(const std::function<void()>& misbehaves, const FuzzOptions& options = {}) {
  const std::string file = temporary_directory() + "/tried";
  const std::vector<Finding> findings = findings_in(
      3,
      [&](int i) {
        if (i == 1) misbehaves();
        if (i == 2) write_file_atomically(file, "2");
      },
      options);
  EXPECT_EQ(read_file(file), "2");
  std::remove(file.c_str());
  EXPECT_LE(findings.size(), 1u);
  if (findings.empty()) return "";
  EXPECT_EQ(findings[0].at, 1);
  return findings[0].what;
}

void wait_for_ever() {
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
}

TEST(FuzzHarness, ASignalIsAFinding) {
  // A signal that no sanitizer handles.
  EXPECT_EQ(finding_of([] { std::raise(SIGUSR1); }), "ended by signal " + std::to_string(SIGUSR1));
}

TEST(FuzzHarness, AHangIsAFinding) { EXPECT_EQ(finding_of(wait_for_ever, {.hang_seconds = 0.05}), "no end"); }

TEST(FuzzHarness, WorkThatAnInterruptEndsIsNone) {
  EXPECT_EQ(finding_of(wait_for_ever, {.interrupt_seconds = 0.03, .process_each = true}), "");
  const auto deaf = [] {
    std::signal(SIGINT, SIG_IGN);
    wait_for_ever();
  };
  EXPECT_EQ(finding_of(deaf, {.hang_seconds = 0.05, .interrupt_seconds = 0.03, .process_each = true}),
            "no end after an interrupt");
}

TEST(FuzzHarness, TooMuchMemoryIsAFinding) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const auto eat = [] {
    const std::vector<char> memory(std::size_t{300} << 20, 'x');
    const volatile char* seen = memory.data();
    for (std::size_t i = 0; i < memory.size(); i += 4096) EXPECT_EQ(seen[i], 'x');
  };
  const std::string what = finding_of(eat, {.memory_bytes = std::size_t{200} << 20, .process_each = true});
  EXPECT_TRUE(what.starts_with("3") && what.ends_with(" MiB of memory")) << what;
}

TEST(FuzzHarness, ABugsExceptionIsAFinding) {
  EXPECT_EQ(finding_of([] { throw std::logic_error("an invariant"); }), "internal error: an invariant");
  EXPECT_EQ(finding_of([] { throw Error("nobody took it"); }), "an error: nobody took it");
}

TEST(FuzzHarness, AFailedCheckIsAFinding) {
  EXPECT_NE(finding_of([] { EXPECT_EQ(1, 2); }).find("Expected equality"), std::string::npos);
}

TEST(FuzzHarness, CasesSideBySideAreAllTriedOnceFromTheOneThatIsNamed) {
  const std::string folder = temporary_directory() + "/side_by_side";
  std::filesystem::create_directories(folder);
  ::setenv("RIDGELINE_FUZZ_JOBS", "3", 1);
  ::setenv("RIDGELINE_FUZZ_FROM", "2", 1);
  const std::vector<Finding> findings = findings_in(9,
                                                    [&](int i) {
                                                      const std::string file = folder + "/" + std::to_string(i);
                                                      if (std::filesystem::exists(file))
                                                        throw std::logic_error("tried twice");
                                                      write_file_atomically(file, "");
                                                      if (i == 5) throw std::logic_error("the fifth");
                                                    },
                                                    {.process_each = true});
  ::unsetenv("RIDGELINE_FUZZ_JOBS");
  ::unsetenv("RIDGELINE_FUZZ_FROM");
  std::vector<std::string> tried;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) tried.push_back(entry.path().filename());
  std::sort(tried.begin(), tried.end());
  EXPECT_EQ(tried, (std::vector<std::string>{"2", "3", "4", "5", "6", "7", "8"}));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].at, 5);
  EXPECT_EQ(findings[0].what, "internal error: the fifth");
}

}  // namespace
}  // namespace ridgeline::testing
