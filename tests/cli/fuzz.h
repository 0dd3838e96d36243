// tests/cli/fuzz.h
//
// Tests with hostile inputs and command lines: mutations that depend only on a seed, and child processes that try them,
// so that a case that is killed, hangs or uses too much memory is a finding and does not end the test. RIDGELINE_FUZZ
// is the number of mutations of each kind (by default a few). Where each case has a process of its own,
// RIDGELINE_FUZZ_JOBS of them run at a time (by default one), from case RIDGELINE_FUZZ_FROM on (by default the first).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ridgeline/core/random.h"

namespace ridgeline::testing {

// RIDGELINE_FUZZ, or `otherwise`.
int fuzz_count(int otherwise);

// Runs the program with these words (the command first) in this process, output to the file "output" of this folder.
// Returns the exit code of main(). Exceptions other than Error and std::bad_alloc are passed on: they would be internal
// errors.
int run_command(const std::vector<std::string>& words);

struct FuzzOptions {
  // In processor time; or 20 times as long by the clock, so that a busy machine is not a hang.
  double hang_seconds = 20;
  // After this time, counted likewise, a running case is interrupted as by Ctrl-C; hang_seconds count from then. 0:
  // never.
  double interrupt_seconds = 0;
  std::size_t memory_bytes = std::size_t{2} << 30;
  bool process_each = false;  // a case may leave threads and settings behind, or execute another program
  // Whether case i may end its process with this exit code.
  std::function<bool(int, int)> may_end_with = [](int, int code) { return code == 0; };
};
// Replaces this process by ridgeline with these words. The parent checks exit codes and searches the output for
// "internal error".
[[noreturn]] void become_program(const std::vector<std::string>& words);

struct Finding {
  int at = 0;
  std::string what;
};
// Calls body(0) ... body(count - 1) in child processes, each in a folder of its own. A finding is a case that ends by a
// signal, hangs, uses too much memory, throws anything but std::bad_alloc, or fails a gtest check.
std::vector<Finding> findings_in(int count, const std::function<void(int)>& body, const FuzzOptions& options = {});
// The same; each finding fails the test, and describe(i) describes its case.
void try_all(int count, const std::function<void(int)>& body, const std::function<std::string(int)>& describe,
             const FuzzOptions& options = {});

// Mutates text: bytes and numbers changed, parts removed, repeated, exchanged.
std::string mutated(std::string bytes, SampleRandom& random);

// `write` stores a mutated file (and may have to correct a checksum), then `read` reads it. Both run in the current
// folder.
struct FuzzInput {
  std::string name, bytes;
  std::function<void(const std::string&)> write;
  std::function<int()> read;  // 0 if nothing was wrong
};
// Writes a file and creates its folder.
void put(const std::string& path, const std::string& bytes);
// A `write` that stores all bytes in that file.
std::function<void(const std::string&)> to(const std::string& path);
// Reads each sample unchanged, which must succeed, and mutated, which may fail.
void try_inputs(const std::vector<FuzzInput>& inputs);

}  // namespace ridgeline::testing
