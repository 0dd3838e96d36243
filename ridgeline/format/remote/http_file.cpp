#include "ridgeline/format/remote/http_file.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "ridgeline/core/error.h"
#include "ridgeline/core/random.h"
#include "ridgeline/core/stop.h"
#include "ridgeline/core/unreachable_error.h"
#include "ridgeline/format/remote/curl_library.h"
#include "ridgeline/format/remote/http_answer.h"
#include "ridgeline/format/remote/url.h"

#undef curl_easy_setopt
#undef curl_easy_getinfo

namespace ridgeline {
namespace {

constexpr double kLongestWait = 8, kLongestRetryAfter = 60;
constexpr std::string_view kETag = "ETag ";  // how a version that is one begins
// A try that brought as much does not count as failed.
constexpr std::size_t kProgress = 64 << 10;

// A write to a connection that the server has closed must not end the process: older versions of the library leave the
// signal to the program.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before_);
  }
  ~WithoutSigpipe() {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    const timespec now{};
    if (!sigismember(&before_, SIGPIPE)) sigtimedwait(&pipe, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t before_;
};

void pause_for(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!stop_wanted() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

bool never_gets_better(CURLcode code) {
  return code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT || code == CURLE_TOO_MANY_REDIRECTS ||
         code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE || code == CURLE_OUT_OF_MEMORY;
}

}  // namespace

struct HttpClient::State {
  std::mutex mutex;
  std::vector<CURL*> idle;
  pid_t process = ::getpid();
  std::atomic<std::uint64_t> requests{0};
};

// A handle of the library with its open connections, for one request.
class HttpClient::Connection {
 public:
  explicit Connection(State& state) : state_(state) {
    const std::lock_guard lock(state_.mutex);
    // The parent's connections must not be used, nor closed.
    if (state_.process != ::getpid()) {
      state_.idle.clear();
      state_.process = ::getpid();
    }
    if (!state_.idle.empty()) {
      handle = state_.idle.back();
      state_.idle.pop_back();
    } else if (!(handle = curl_library().init())) {
      throw Error("[http] libcurl has no memory for another connection");
    }
    ++state_.requests;
  }
  ~Connection() {
    const std::lock_guard lock(state_.mutex);
    state_.idle.push_back(handle);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  CURL* handle = nullptr;

 private:
  State& state_;
};

HttpClient::HttpClient(const HttpOptions& options) : options_(options), state_(std::make_unique<State>()) {}

HttpClient::~HttpClient() {
  if (state_->process != ::getpid()) return;
  for (CURL* handle : state_->idle) curl_library().cleanup(handle);
}

std::uint64_t HttpClient::requests() const { return state_->requests; }

// One request and its result.
struct HttpFile::Transfer {
  std::uint64_t first = 0;         // the byte asked for
  std::span<std::uint8_t> into;    // how many, and where they go
  const HttpFile* file = nullptr;  // whose answers must fit; null while it is opened
  std::size_t got = 0;
  HttpAnswer answer;
  bool looked = false;  // at the answer
  std::optional<HttpFault> fault;

  std::uint64_t last() const { return first + into.size() - 1; }

  // Before the first byte of the content, or at the end where there is none.
  void look() {
    if (std::exchange(looked, true)) return;
    fault = fault_of(answer, first, last());
    if (fault || !file) return;
    if (answer.total != file->size_) {
      fault = HttpFault{"the file has " + (answer.total ? std::to_string(*answer.total) : "an unknown number of") +
                        " bytes, it had " + std::to_string(file->size_) + " when it was opened"};
    } else if (file->version_of(*this) != file->version_) {
      fault = HttpFault{"the file has changed since it was opened (" + file->version_ + ", now " +
                        file->version_of(*this) + ")"};
    }
  }

  static std::size_t on_header(char* text, std::size_t, std::size_t bytes, void* self) {
    static_cast<Transfer*>(self)->answer.line({text, bytes});
    return bytes;
  }
  static std::size_t on_content(char* content, std::size_t, std::size_t bytes, void* self) {
    auto& t = *static_cast<Transfer*>(self);
    t.look();
    if (t.fault) return 0;  // ends the transfer
    const std::size_t room = static_cast<std::size_t>(t.answer.last - t.first + 1) - t.got;
    std::memcpy(t.into.data() + t.got, content, std::min(bytes, room));
    t.got += std::min(bytes, room);
    if (bytes <= room) return bytes;
    t.fault = HttpFault{"more bytes arrived than the answer announced"};
    t.got = 0;  // which of them are right?
    return 0;
  }
  static int on_progress(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) { return stop_wanted() ? 1 : 0; }
};

HttpFile::HttpFile(const std::string& url, std::shared_ptr<HttpClient> client)
    : url_(url), shown_(shown_url(url)), client_(std::move(client)) {
  std::uint8_t byte = 0;
  Transfer transfer{.first = 0, .into = {&byte, 1}};
  fetch(transfer);
  const HttpAnswer& answer = transfer.answer;
  if (!answer.total)
    throw UnreachableError("[http] " + shown_ + ": the server does not tell the size of the file (Content-Range)");
  size_ = *answer.total;
  version_ = version_of(transfer);
  open_ = true;
}

HttpFile::~HttpFile() = default;

std::string HttpFile::version_of(const Transfer& transfer) const {
  const HttpAnswer& answer = transfer.answer;
  return !answer.etag.empty()           ? std::string(kETag) + answer.etag
         : answer.last_modified.empty() ? "no version"
                                        : "Last-Modified " + answer.last_modified;
}

std::optional<IndexedFile> HttpFile::indexed() const {
  if (version_ == "no version") return std::nullopt;
  // Files of one path with different queries have separate indexes.
  const std::string name = url_.find('?') == std::string::npos ? shown_ : shown_ + " " + std::to_string(version());
  return IndexedFile{name, size_, version()};
}

std::uint64_t HttpFile::version() const {
  const std::uint64_t hash = hash64(version_);
  return version_.starts_with(kETag) ? hash : hash64(url_.substr(std::min(url_.find('?'), url_.size())), hash);
}

void HttpFile::request(Transfer& transfer) const {
  const CurlLibrary& curl = curl_library();
  const HttpClient::Connection connection(*client_->state_);
  CURL* handle = connection.handle;
  std::array<char, CURL_ERROR_SIZE> words{};
  const std::string range = std::to_string(transfer.first) + "-" + std::to_string(transfer.last());
  // The library counts in milliseconds, of 31 bits in some versions.
  const auto stall = static_cast<long>(std::clamp(client_->options().stall_seconds, 1.0, 1e6));
  const auto set = [&](CURLoption option, auto value) { curl.set(handle, option, value); };
  set(CURLOPT_URL, url_.c_str());
  set(CURLOPT_RANGE, range.c_str());
  set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  set(CURLOPT_REDIR_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, 10L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
  set(CURLOPT_USERAGENT, "ridgeline");
  set(CURLOPT_CONNECTTIMEOUT, stall);
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, stall);
  if (const char* bundle = std::getenv("CURL_CA_BUNDLE"); bundle && *bundle) set(CURLOPT_CAINFO, bundle);
  set(CURLOPT_ERRORBUFFER, words.data());
  set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
  set(CURLOPT_WRITEFUNCTION, &Transfer::on_content);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &Transfer::on_progress);
  CURLcode code = CURLE_OK;
  {
    const WithoutSigpipe guard;
    code = curl.perform(handle);
  }
  set(CURLOPT_ERRORBUFFER, static_cast<char*>(nullptr));  // ends with this call
  if (stop_wanted()) throw Error("[http] " + shown_ + ": stopped", ErrorKind::interrupted);
  if (!transfer.fault && code == CURLE_OK) transfer.look();
  if (transfer.fault || (code == CURLE_OK && transfer.got == transfer.into.size())) return;
  if (code != CURLE_OK) {
    transfer.fault = HttpFault{words[0] ? words.data() : curl.text_of(code), never_gets_better(code)};
  } else {
    transfer.fault = HttpFault{"only " + std::to_string(transfer.got) + " of " + std::to_string(transfer.into.size()) +
                               " bytes arrived"};
  }
}

// Until all bytes are there.
void HttpFile::fetch(Transfer& transfer) const {
  const std::uint64_t first = transfer.first, last = transfer.last();
  int failed = 0;
  double pause = client_->options().first_wait_seconds;
  while (true) {
    request(transfer);
    if (!transfer.fault) return;
    const bool progress = transfer.got >= kProgress;
    failed = progress ? 1 : failed + 1;
    if (progress) pause = client_->options().first_wait_seconds;
    const bool empty = !open_ && transfer.answer.status == 416 && transfer.answer.total == 0u;
    if (empty) return;
    if (transfer.fault->final || failed >= client_->options().tries) {
      throw UnreachableError("[http] " + shown_ + ": bytes " + std::to_string(first) + " to " + std::to_string(last) +
                             ": " + transfer.fault->text + ", " + std::to_string(failed) +
                             (failed == 1 ? " try" : " tries") +
                             (transfer.first > first ? " from byte " + std::to_string(transfer.first) : ""));
    }
    pause_for(std::max(pause, std::min(transfer.answer.retry_after, kLongestRetryAfter)));
    pause = std::min(2 * pause, kLongestWait);
    // The rest.
    transfer.first += transfer.got;
    transfer.into = transfer.into.subspan(transfer.got);
    transfer.got = 0;
    transfer.answer = {};
    transfer.looked = false;
    transfer.fault.reset();
  }
}

std::size_t HttpFile::read_some(std::uint64_t at, std::span<std::uint8_t> into) const {
  if (at >= size_ || into.empty()) return 0;
  into = into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), size_ - at)));
  Transfer transfer{.first = at, .into = into, .file = this};
  fetch(transfer);
  return into.size();
}

std::string HttpFile::cut_short(std::uint64_t at, std::size_t got) const {
  return "the file ends at byte " + std::to_string(at + got);
}

}  // namespace ridgeline
