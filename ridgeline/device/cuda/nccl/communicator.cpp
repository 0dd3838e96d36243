#include "ridgeline/device/cuda/nccl/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

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
  } catch (...) {
    abort();
    throw;
  }
}

Communicator::~Communicator() { end(); }

void Communicator::give(Stream stream, FunctionRef<void(Group&)> calls) {
  std::string_view what = "ncclGroupEnd";
  {
    const std::lock_guard lock(mutex_);
    if (handle_ == nullptr) throw Error("[cuda] the ranks' NCCL communicator was given up");
    functions_.check(functions_.group_start(), "ncclGroupStart");
    Group group(functions_, handle_, stream);
    calls(group);
    // Also behind a failure: the thread is inside of the group until then.
    const Result end = functions_.group_end();
    if (group.result() != kInProgress) functions_.check(group.result(), group.last());
    if (end != kInProgress) functions_.check(end, "ncclGroupEnd");
    if (!group.last().empty()) what = group.last();
  }
  settle(what);
}

Result Communicator::state(Result* state) {
  const std::lock_guard lock(mutex_);
  *state = kSuccess;
  if (handle_ == nullptr) throw Error("[cuda] the ranks' NCCL communicator was given up");
  return functions_.state(handle_, state);
}

void Communicator::settle(std::string_view what) {
  for (Naps naps;; naps.take()) {
    Result now = kSuccess;
    functions_.check(state(&now), "ncclCommGetAsyncError");
    if (now == kSuccess) return;
    if (now != kInProgress) functions_.check(now, what);
    if (const std::string why = trouble_(); !why.empty()) {
      abort();
      throw Error(why);
    }
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

void Communicator::abort() {
  const std::lock_guard lock(mutex_);
  if (handle_ != nullptr) functions_.abort(handle_);
  handle_ = nullptr;
}

// Whether all ranks have come to the end: none of them uses memory of another one any more.
bool Communicator::finalized() {
  const Result result = functions_.finalize(handle_);
  if (result != kSuccess && result != kInProgress) return false;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (Naps naps; std::chrono::steady_clock::now() < until; naps.take()) {
    Result now = kSuccess;
    if (functions_.state(handle_, &now) != kSuccess) return false;
    if (now != kInProgress) return now == kSuccess;
    if (!trouble_().empty()) return false;
  }
  return false;
}

void Communicator::end() {
  const std::lock_guard lock(mutex_);
  if (handle_ == nullptr) return;
  if (finalized()) {
    functions_.destroy(handle_);
  } else {
    functions_.abort(handle_);
  }
  handle_ = nullptr;
}

}  // namespace ridgeline::cuda::nccl
