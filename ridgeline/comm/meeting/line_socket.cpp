#include "ridgeline/comm/meeting/line_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "ridgeline/core/error.h"

namespace ridgeline::comm {
namespace {

// Lines are short and few: a peer that does not take one for so long is considered lost.
constexpr std::chrono::seconds kMostSending{10};
// Bytes read from a connection at a time, so that a peer that sends without a pause does not block the others.
constexpr std::size_t kChunkBytes = 4096;
constexpr int kMostChunks = 16;

sockaddr_in address_of(const std::string& host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1)
    throw Error(fmt::format("[ranks] '{}' is no IPv4 address", host), ErrorKind::usage);
  return address;
}

Descriptor new_socket(int flags = 0) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  if (socket < 0) throw Error(fmt::format("[ranks] cannot make a socket: {}", ::strerror(errno)));
  return Descriptor(socket);
}

bool ready(int socket, short events, std::chrono::milliseconds most) {
  pollfd asked{.fd = socket, .events = events, .revents = 0};
  return ::poll(&asked, 1, static_cast<int>(most.count())) == 1;
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

LineSocket::LineSocket(Descriptor socket) : socket_(std::move(socket)) {
  const int yes = 1;
  ::setsockopt(socket_.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

bool LineSocket::send(const std::string& line) {
  const std::lock_guard lock(sending_);
  const std::string bytes = line + "\n";
  const auto until = std::chrono::steady_clock::now() + kMostSending;
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t sent = ::send(number(), bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      at += static_cast<std::size_t>(sent);
      continue;
    }
    if (errno == EINTR) continue;
    if ((errno != EAGAIN && errno != EWOULDBLOCK) || std::chrono::steady_clock::now() > until) return false;
    ready(number(), POLLOUT, std::chrono::milliseconds(100));
  }
  return true;
}

bool LineSocket::read(std::vector<std::string>& lines) {
  char bytes[kChunkBytes];
  for (int chunk = 0; chunk < kMostChunks; ++chunk) {
    const ssize_t got = ::recv(number(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0) return false;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    for (ssize_t i = 0; i < got; ++i) {
      if (bytes[i] == '\n') {
        lines.push_back(std::exchange(begun_, ""));
      } else if (begun_.size() < kMostBytes) {
        begun_ += bytes[i];
      } else {
        return false;
      }
    }
  }
  return true;  // there may be more
}

bool LineSocket::wait(std::chrono::milliseconds most) const { return ready(number(), POLLIN, most); }

Descriptor listen_at(const std::string& host, int port) {
  Descriptor socket = new_socket();
  const int yes = 1;
  ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in address = address_of(host, port);
  if (::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.number(), SOMAXCONN) != 0) {
    throw Error(fmt::format("[ranks] the scheduler cannot listen at {}:{} (MS_SCHED_HOST, MS_SCHED_PORT): {}", host,
                            port, ::strerror(errno)),
                ErrorKind::usage);
  }
  return socket;
}

int port_of(const Descriptor& listening) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(listening.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.sin_port);
}

std::optional<Descriptor> accept_from(const Descriptor& listening) {
  if (!ready(listening.number(), POLLIN, std::chrono::milliseconds(0))) return std::nullopt;
  const int socket = ::accept4(listening.number(), nullptr, nullptr, SOCK_CLOEXEC);
  if (socket < 0) return std::nullopt;
  return Descriptor(socket);
}

std::optional<Descriptor> connect_to(const std::string& host, int port, std::chrono::milliseconds most) {
  Descriptor socket = new_socket(SOCK_NONBLOCK);
  const sockaddr_in address = address_of(host, port);
  if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
  if (errno != EINPROGRESS || !ready(socket.number(), POLLOUT, most)) return std::nullopt;
  int error = 0;
  socklen_t size = sizeof error;
  const bool known = ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size) == 0;
  return known && error == 0 ? std::optional<Descriptor>(std::move(socket)) : std::nullopt;
}

std::vector<std::string> words_of(const std::string& line, std::size_t most) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  while (begin < line.size()) {
    const std::size_t end = words.size() + 1 < most ? std::min(line.find(' ', begin), line.size()) : line.size();
    words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace ridgeline::comm
