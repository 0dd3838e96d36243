// tests/cli/fuzz.h
//
// Hostile inputs and command lines: mutations that depend on a seed alone, and processes that try them, so that one
// that is killed, hangs or eats the memory is a finding and not the end of the test. RIDGELINE_FUZZ says how many
// mutations of each kind are tried (a few without it).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ridgeline/core/random.h"

namespace ridgeline::testing {

// RIDGELINE_FUZZ, or `otherwise`.
int fuzz_count(int otherwise);

// A program's words, the command first. Runs it in this process, its output into the file "output" of this folder:
// what main() would exit with. Anything but an Error or a lack of memory is thrown on: it would be an internal error.
int run_command(const std::vector<std::string>& words);

struct FuzzOptions {
  // Of the process's own time, or 20 times as many by the clock: a busy machine is no hang.
  double hang_seconds = 20;
  // Likewise, after which a case that is still at work is interrupted as by Ctrl-C; hang_seconds count from then. 0:
  // never.
  double interrupt_seconds = 0;
  std::size_t memory_bytes = std::size_t{2} << 30;
  bool process_each = false;  // a case can leave threads and settings behind, or becomes another program
  // Whether case i may end its process with that code.
  std::function<bool(int, int)> may_end_with = [](int, int code) { return code == 0; };
};
// The program that this process becomes: ridgeline with these words. Its codes and "internal error" are looked for by
// the parent.
[[noreturn]] void become_program(const std::vector<std::string>& words);

struct Finding {
  int at = 0;
  std::string what;
};
// Calls body(0) ... body(count - 1) in child processes, whose folder is one of their own. A finding is a case that ends
// by a signal, hangs, takes more memory, throws anything but std::bad_alloc, or fails one of gtest's checks.
std::vector<Finding> findings_in(int count, const std::function<void(int)>& body, const FuzzOptions& options = {});
// The same; each finding fails the test, and describe(i) tells which case it was.
void try_all(int count, const std::function<void(int)>& body, const std::function<std::string(int)>& describe,
             const FuzzOptions& options = {});

// Bytes and numbers changed, parts left out, doubled, exchanged.
std::string mutated(std::string bytes, SampleRandom& random);

// A mutated file goes where `write` says (a checksum may have to be put right again), then `read` reads it. Both work
// in the current folder.
struct FuzzInput {
  std::string name, bytes;
  std::function<void(const std::string&)> write;
  std::function<int()> read;  // 0 where nothing was wrong
};
// Writes a file and its folder.
void put(const std::string& path, const std::string& bytes);
// The `write` that puts all bytes there.
std::function<void(const std::string&)> to(const std::string& path);
// Each whole, which must be read without an Error, and with mutations, which may not.
void try_inputs(const std::vector<FuzzInput>& inputs);

}  // namespace ridgeline::testing
