// ridgeline/comm/meeting/line_socket.h
//
// A TCP connection over which lines of text go. It owns its descriptor. One thread reads; any thread sends.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::comm {

// An open descriptor, closed with it; -1: none.
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
  // Longer lines are nobody's of ours.
  static constexpr std::size_t kMostBytes = 8192;

  explicit LineSocket(Descriptor socket);

  // Without its end of line. False where the other side is gone or takes nothing more.
  bool send(const std::string& line);
  // Whole lines that have come, at most 64 KiB at a time and without waiting; adds to `lines`. False: there will be no
  // more, as the other side has closed the connection or sent what is no line.
  bool read(std::vector<std::string>& lines);
  // Waits until there is something to read, at most so long; false where there is nothing.
  bool wait(std::chrono::milliseconds most) const;
  int number() const { return socket_.number(); }

 private:
  Descriptor socket_;
  std::mutex sending_;
  std::string begun_;  // of a line
};

// Where others connect to: `port` 0 takes a free one. An Error names the address and the port.
Descriptor listen_at(const std::string& host, int port);
int port_of(const Descriptor& listening);
// The next connection that has come, if there is one.
std::optional<Descriptor> accept_from(const Descriptor& listening);
// Enough for the first words of a connection to be sent again twice; the system itself would try for two minutes.
inline constexpr std::chrono::milliseconds kMostConnecting{4000};
// None where nobody listens there, or nobody answers in that time.
std::optional<Descriptor> connect_to(const std::string& host, int port,
                                     std::chrono::milliseconds most = kMostConnecting);

// "a b c" by spaces; `rest`: the last word is all that is left.
std::vector<std::string> words_of(const std::string& line, std::size_t most = std::string::npos);

}  // namespace ridgeline::comm
