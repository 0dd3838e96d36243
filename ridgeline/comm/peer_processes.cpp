#include "ridgeline/comm/peer_processes.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace ridgeline::comm {

PeerProcesses::PeerProcesses(std::vector<int> numbers) : numbers_(std::move(numbers)) {
  for (const int number : numbers_)
    files_.push_back(number > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, number, 0)) : -1);
}

PeerProcesses::~PeerProcesses() {
  for (const int file : files_) {
    if (file >= 0) ::close(file);
  }
}

bool PeerProcesses::has_ended(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  if (numbers_[r] <= 0) return false;
  if (files_[r] < 0) return ::kill(numbers_[r], 0) != 0 && errno == ESRCH;
  pollfd asked{.fd = files_[r], .events = POLLIN, .revents = 0};
  return ::poll(&asked, 1, 0) == 1;
}

}  // namespace ridgeline::comm
