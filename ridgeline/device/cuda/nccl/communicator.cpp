#include "ridgeline/device/cuda/nccl/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "ridgeline/core/error.h"

namespace ridgeline::cuda::nccl {
namespace {

// Between looks at what does not block; the first ones are soon.
constexpr std::chrono::microseconds kFirstNap{20}, kLongestNap{2000};
// How long the end waits for the other ranks to come to theirs.
constexpr std::chrono::seconds kPatience{5};

class Naps {
 public:
  void take() {
    std::this_thread::sleep_for(nap_);
    nap_ = std::min(2 * nap_, kLongestNap);
  }

 private:
  std::chrono::microseconds nap_ = kFirstNap;
};

}  // namespace

Communicator::Communicator(const Functions& functions, int ranks, int rank, const UniqueId& id, Trouble trouble)
    : functions_(functions), trouble_(std::move(trouble)) {
  Config config;
  config.blocking = 0;
  try {
    const Result result = functions_.initialize(&handle_, ranks, id, rank, &config);
    if (result != kInProgress) functions_.check(result, "ncclCommInitRankConfig");
    settle("ncclCommInitRankConfig");
  } catch (const Error& error) {
    abort(error.what());
    throw;
  }
}

Communicator::~Communicator() {
  const Handle handle = taken_out();
  if (handle == nullptr) return;
  if (!failed_ && finalized(handle)) {
    functions_.destroy(handle);
  } else {
    functions_.abort(handle);
  }
}

void Communicator::give(std::string_view what, Stream stream, FunctionRef<void(Group&)> calls) {
  const bool failed_before = std::exchange(failed_, true);
  settle(fmt::format("{} of '{}'", add(what, stream, calls), what));
  failed_ = failed_before;
}

// The last call of the group.
std::string Communicator::add(std::string_view what, Stream stream, FunctionRef<void(Group&)> calls) {
  const auto check = [&](Result result, std::string_view call) {
    if (result != kInProgress) functions_.check(result, fmt::format("{} of '{}'", call, what));
  };
  const std::lock_guard lock(mutex_);
  check_there();
  check(functions_.group_start(), "ncclGroupStart");
  Group group(functions_, handle_, stream);
  calls(group);
  // Also behind a failure: the thread is inside of the group until then.
  const Result end = functions_.group_end();
  check(group.result(), group.last());
  check(end, "ncclGroupEnd");
  return std::string(group.last().empty() ? "ncclGroupEnd" : group.last());
}

void Communicator::check_there() const {
  if (handle_ == nullptr) throw Error(why_ended_);
}

Result Communicator::state(Result* state) {
  const std::lock_guard lock(mutex_);
  check_there();
  return functions_.state(handle_, state);
}

void Communicator::settle(std::string_view what) {
  for (Naps naps;; naps.take()) {
    Result now = kSuccess;
    functions_.check(state(&now), "ncclCommGetAsyncError");
    if (now == kSuccess) return;
    if (now != kInProgress) functions_.check(now, what);
    if (const std::string why = trouble_(); !why.empty()) throw Error(why);
  }
}

std::string Communicator::error() {
  const std::lock_guard lock(mutex_);
  if (handle_ == nullptr) return {};
  Result now = kSuccess;
  const Result asked = functions_.state(handle_, &now);
  if (asked != kSuccess) return fmt::format("[cuda] ncclCommGetAsyncError: {}", functions_.reason(asked));
  if (now == kSuccess || now == kInProgress) return {};
  return fmt::format("[cuda] NCCL failed in an exchange: {}", functions_.reason(now));
}

Handle Communicator::taken_out() {
  const std::lock_guard lock(mutex_);
  return std::exchange(handle_, nullptr);
}

void Communicator::abort(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (why_ended_.empty()) why_ended_ = why;
  }
  if (const Handle handle = taken_out(); handle != nullptr) functions_.abort(handle);
}

// Whether all ranks have come to the end: none of them uses memory of another one any more.
bool Communicator::finalized(Handle handle) {
  const Result result = functions_.finalize(handle);
  if (result != kSuccess && result != kInProgress) return false;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (Naps naps; std::chrono::steady_clock::now() < until; naps.take()) {
    Result now = kSuccess;
    if (functions_.state(handle, &now) != kSuccess) return false;
    if (now != kInProgress) return now == kSuccess;
    if (!trouble_().empty()) return false;
  }
  return false;
}

}  // namespace ridgeline::cuda::nccl
