#include "ridgeline/train/loop/interrupt.h"

#include <sys/types.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <limits>
#include <mutex>
#include <optional>

namespace ridgeline::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
constexpr Clock::rep kNoLimit = std::numeric_limits<Clock::rep>::max();

// A signal handler can reach nothing but a global.
std::atomic<bool> g_interrupted{false};
std::atomic<int> g_signal{0};
std::atomic<pid_t> g_sender{0};  // of that signal
std::atomic<Clock::rep> g_limit{kNoLimit};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free);
std::mutex g_guarding;  // of what follows
int g_guards = 0;
std::array<struct sigaction, kSignals.size()> g_before;  // the first guard
std::optional<PipeGuard> g_pipes;

void on_signal(int signal, siginfo_t* info, void* /*context*/) {
  const pid_t sender = info->si_pid;  // 0: the terminal, the system, or somebody outside of this container
  if (g_interrupted && g_signal != 0 && (signal == SIGINT || sender == g_sender)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  g_signal = signal;
  g_sender = sender;
  g_interrupted = true;
}

void nothing(int /*signal*/) {}

}  // namespace

InterruptGuard::InterruptGuard() {
  const std::lock_guard lock(g_guarding);
  if (g_guards++ > 0) return;
  set_interrupted(false);
  g_pipes.emplace();
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &g_before[i]);
    if (kSignals[i] == SIGHUP && g_before[i].sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  const std::lock_guard lock(g_guarding);
  if (--g_guards > 0) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &g_before[i], nullptr);
  g_pipes.reset();
  set_interrupted(false);
}

// A handler, since child programs inherit ignored signals but not handlers.
PipeGuard::PipeGuard() {
  struct sigaction action {};
  action.sa_handler = nothing;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGPIPE, &action, &before_);
}

PipeGuard::~PipeGuard() { sigaction(SIGPIPE, &before_, nullptr); }

bool interrupted() { return g_interrupted || out_of_time(); }
int interrupting_signal() { return g_signal; }
void set_interrupted(bool value) {
  g_signal = 0;
  g_interrupted = value;
  if (!value) g_limit = kNoLimit;
}

void set_time_limit(Clock::time_point end) { g_limit = end.time_since_epoch().count(); }
bool out_of_time() {
  const Clock::rep limit = g_limit;
  return !g_interrupted && limit != kNoLimit && Clock::now().time_since_epoch().count() >= limit;
}

}  // namespace ridgeline::train
