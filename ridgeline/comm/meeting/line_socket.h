// ridgeline/comm/meeting/line_socket.h
//
// A TCP connection that carries lines of text. It owns its descriptor. One thread reads; any thread sends.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::comm {

// Owns an open descriptor and closes it; -1: none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;

  int number() const { return number_; }

 private:
  int number_ = -1;
};

class LineSocket {
 public:
  // Our processes send no longer lines.
  static constexpr std::size_t kMostBytes = 8192;

  explicit LineSocket(Descriptor socket);

  // `line` has no line end. False if the other side is gone or accepts no more data.
  bool send(const std::string& line);
  // Adds the whole lines that have arrived to `lines`, at most 64 KiB at a time, without waiting. False: there will be
  // no more, since the other side has closed the connection or sent something that is not a line.
  bool read(std::vector<std::string>& lines);
  // Waits up to `most` until there is something to read; false if there is nothing.
  bool wait(std::chrono::milliseconds most) const;
  int number() const { return socket_.number(); }

 private:
  Descriptor socket_;
  std::mutex sending_;
  std::string begun_;  // the beginning of a line
};

// Listens for connections; `port` 0 takes a free one. An Error names the address and the port.
Descriptor listen_at(const std::string& host, int port);
int port_of(const Descriptor& listening);
// The next waiting connection, if there is one.
std::optional<Descriptor> accept_from(const Descriptor& listening);
// Enough for two retries of a connection's first packet; the system itself would try for two minutes.
inline constexpr std::chrono::milliseconds kMostConnecting{4000};
// None if nobody listens there, or nobody answers in that time.
std::optional<Descriptor> connect_to(const std::string& host, int port,
                                     std::chrono::milliseconds most = kMostConnecting);

// Splits "a b c" at spaces into at most `most` words; the last one is all that is left.
std::vector<std::string> words_of(const std::string& line, std::size_t most = std::string::npos);

}  // namespace ridgeline::comm
