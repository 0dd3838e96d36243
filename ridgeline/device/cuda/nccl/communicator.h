// ridgeline/device/cuda/nccl/communicator.h
//
// A rank's place in a communicator of NCCL's. It does not block: where NCCL waits for other ranks, it is waited for
// here, and the wait ends when these ranks are of no more use. Work is given by one thread at a time, which has entered
// the card's context; looked at and ended it is from any.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "ridgeline/core/function_ref.h"
#include "ridgeline/device/cuda/nccl/functions.h"

namespace ridgeline::cuda::nccl {

// The calls of a group: what fails first is kept, what comes after it is left out.
class Group {
 public:
  Group(const Functions& functions, Handle handle, Stream stream)
      : functions_(functions), handle_(handle), stream_(stream) {}

  // call(functions, handle, stream) answers with a Result. `name` is for messages.
  template <class Call>
  void add(std::string_view name, const Call& call) {
    if (result_ == kSuccess || result_ == kInProgress) result_ = call(functions_, handle_, stream_), name_ = name;
  }
  Result result() const { return result_; }
  std::string_view last() const { return name_; }  // that was called

 private:
  const Functions& functions_;
  Handle handle_;
  Stream stream_;
  Result result_ = kSuccess;
  std::string_view name_;
};

class Communicator {
 public:
  // Why the ranks are of no more use, "" where they are; asked while NCCL waits, from any thread.
  using Trouble = std::function<std::string()>;

  // All ranks make it, with the id of one of them. The card is that of the context which the thread has entered.
  Communicator(const Functions& functions, int ranks, int rank, const UniqueId& id, Trouble trouble);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // Gives what `calls` adds to the stream as one piece of work. An Error names the call and `what`.
  void give(std::string_view what, Stream stream, FunctionRef<void(Group&)> calls);
  // What NCCL says is wrong, "" where nothing is.
  std::string error();
  // Ends what is under way, on the card, too. `why` is what work that is given later ends with. Returns when graphs
  // that were captured of its work are gone: so not on the thread that keeps them.
  void abort(const std::string& why);

 private:
  std::string add(std::string_view what, Stream stream, FunctionRef<void(Group&)> calls);
  void check_there() const;
  Result state(Result* state);
  void settle(std::string_view what);
  bool finalized(Handle handle);
  Handle taken_out();

  const Functions& functions_;
  Trouble trouble_;
  std::mutex mutex_;
  Handle handle_ = nullptr;  // null: ended
  std::string why_ended_;
  bool failed_ = false;  // of work that was given: the end waits for nobody
};

}  // namespace ridgeline::cuda::nccl
