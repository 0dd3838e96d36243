#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "ridgeline/core/random.h"

namespace ridgeline {
namespace {

bool send_all(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

HttpServer::HttpServer(std::map<std::string, std::string> files, std::function<Fault(const Request&)> fault)
    : files_(std::move(files)), fault_(std::move(fault)) {
  ::setenv("no_proxy", "127.0.0.1", 1);
  socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (socket_ < 0 || ::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(socket_, 64) != 0 ||
      ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("the test's server cannot listen");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

HttpServer::~HttpServer() {
  stop_ = true;
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  ::close(socket_);
}

std::string HttpServer::url(const std::string& name) const {
  return "http://127.0.0.1:" + std::to_string(port_) + "/" + name;
}

void HttpServer::set_file(const std::string& name, std::string content) {
  const std::lock_guard lock(mutex_);
  files_[name] = std::move(content);
}

void HttpServer::accept_all() {
  while (!stop_) {
    pollfd waiting{socket_, POLLIN, 0};
    if (::poll(&waiting, 1, 20) <= 0) continue;
    const int connection = ::accept(socket_, nullptr, nullptr);
    if (connection < 0) continue;
    // Sends the body immediately: after its header it would otherwise wait 40 ms for the client's acknowledgement.
    const int at_once = 1;
    ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
    threads_.emplace_back([this, connection] { serve(connection); });
  }
}

void HttpServer::serve(int connection) {
  std::string text;
  while (!stop_) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end != std::string::npos) {
      if (!answer(connection, text.substr(0, end))) break;
      text.erase(0, end + 4);
      continue;
    }
    pollfd waiting{connection, POLLIN, 0};
    if (::poll(&waiting, 1, 20) <= 0) continue;
    char buffer[4096];
    const ssize_t n = ::recv(connection, buffer, sizeof(buffer), 0);
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(connection);
}

bool HttpServer::pause(int ms) const {
  for (; ms > 0 && !stop_; ms -= 10) std::this_thread::sleep_for(std::chrono::milliseconds(std::min(ms, 10)));
  return !stop_;
}

// False: the connection is closed.
bool HttpServer::answer(int connection, const std::string& head) {
  Request request{.number = requests_++};
  const std::size_t name = head.find(" /") + 2;
  const std::string target = head.substr(name, head.find(' ', name) - name);
  request.path = target.substr(0, target.find('?'));
  std::string content;
  Fault fault;
  {
    const std::lock_guard lock(mutex_);
    if (const std::size_t range = head.find("Range: bytes="); range != std::string::npos) {
      unsigned long long first = 0, last = 0;
      request.ranged = std::sscanf(head.c_str() + range, "Range: bytes=%llu-%llu", &first, &last) == 2;
      request.first = first;
      request.last = last;
    }
    if (fault_) fault = fault_(request);
    const auto file = files_.contains(target) ? files_.find(target) : files_.find(request.path);
    if (!fault.status && file == files_.end()) fault.status = 404;
    if (!fault.status) content = file->second;
  }
  if (fault.drop) return false;
  const auto status = [&](int code, const std::string& more) {
    const char* words = code == 404   ? "Not Found"
                        : code == 503 ? "Service Unavailable"
                        : code == 206 ? "Partial"
                                      : "Some";
    return send_all(connection, "HTTP/1.1 " + std::to_string(code) + " " + words + "\r\n" + more + "\r\n");
  };
  if (fault.status) return status(fault.status, fault.headers + "Content-Length: 0\r\n");
  const std::string version =
      fault.last_modified.empty()
          ? "ETag: \"" + (fault.etag.empty() ? std::to_string(hash64(content)) : fault.etag) + "\"\r\n"
          : "Last-Modified: " + fault.last_modified + "\r\n";
  if (!request.ranged || fault.whole_file) {
    return status(200, version + "Content-Length: " + std::to_string(content.size()) + "\r\n") &&
           send_all(connection, content);
  }
  const std::string total = fault.no_total ? "*" : std::to_string(content.size());
  if (request.first >= content.size())
    return status(416, "Content-Range: bytes */" + total + "\r\nContent-Length: 0\r\n");
  const std::size_t first = request.first + std::min(fault.shift, content.size() - 1 - request.first);
  const std::size_t last = std::min<std::size_t>(request.last + fault.shift, content.size() - 1);
  std::string part = content.substr(first, last - first + 1);
  if (fault.length) part.resize(*fault.length, '!');
  const std::string range = std::to_string(first) + "-" + std::to_string(last) + "/" + total;
  if (!status(206, version + "Content-Range: bytes " + range + "\r\n" + fault.headers +
                       "Content-Length: " + std::to_string(part.size()) + "\r\n"))
    return false;
  if (fault.silence_ms && !pause(fault.silence_ms)) return false;
  if (fault.cut && *fault.cut < part.size()) {
    send_all(connection, std::string_view(part).substr(0, *fault.cut));
    return false;
  }
  if (fault.byte_every_ms == 0) return send_all(connection, part);
  for (const char& byte : part) {
    if (!send_all(connection, {&byte, 1}) || !pause(fault.byte_every_ms)) return false;
  }
  return true;
}

}  // namespace ridgeline
