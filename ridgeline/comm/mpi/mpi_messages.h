// ridgeline/comm/mpi/mpi_messages.h
//
// Messages in flight, and waiting for them, though never for a rank that is gone. One thread at a time.
#pragma once

#include "ridgeline/comm/mpi/mpi_process.h"

namespace ridgeline::comm {

// The channel of one communicator.
struct MpiChannel {
  MpiProcess& process;
  std::uint64_t number;      // equal on its ranks, different from other communicators
  std::vector<int> members;  // by their ranks in the world
  int tag;                   // the first of three
  std::chrono::milliseconds timeout;
};

class MpiMessages {
 public:
  explicit MpiMessages(const MpiChannel& channel) : channel_(channel) {}
  ~MpiMessages();
  MpiMessages(const MpiMessages&) = delete;
  MpiMessages& operator=(const MpiMessages&) = delete;

  // `peer` is a rank of the channel. Without bytes no message is sent.
  void send(const void* data, std::int64_t bytes, int peer, int tag);
  void receive(void* data, std::int64_t bytes, int peer, int tag);
  // Returns when all messages are sent and received. Errors as those of Communicator, told to all members: a rank that
  // is waited for has ended; one has given up; timeout.
  void wait();

 private:
  void check(bool late);

  const MpiChannel& channel_;
  std::vector<MpiLibrary::Handle> requests_;
  std::vector<int> peers_;  // of each request, by their ranks in the world
};

}  // namespace ridgeline::comm
