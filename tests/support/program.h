// tests/support/program.h
//
// Runs the program `ridgeline` like a user.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/paths.h"

namespace ridgeline::testing {

struct Outcome {
  int code = -1;     // the exit code, or 128 + signal
  std::string text;  // standard output and standard error together
};

inline Outcome run_shell(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  Outcome outcome;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) outcome.text += buffer;
  const int status = ::pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

// Runs `ridgeline ARGUMENTS`.
inline Outcome run(const std::string& arguments) { return run_shell(program() + " " + arguments); }

// Expects the exit code `code` and all of `words` in the output.
inline void expect(const Outcome& outcome, int code, const std::vector<std::string>& words) {
  EXPECT_EQ(outcome.code, code) << outcome.text;
  for (const std::string& word : words)
    EXPECT_NE(outcome.text.find(word), std::string::npos) << word << " in: " << outcome.text;
}

// packA of RIDGELINE_TEST_DATA, or "" if there is none; then a test skips and says so.
inline std::string pack_a() {
  const char* data = std::getenv("RIDGELINE_TEST_DATA");
  return data == nullptr || *data == '\0' ? std::string() : std::string(data) + "/packA";
}

}  // namespace ridgeline::testing
