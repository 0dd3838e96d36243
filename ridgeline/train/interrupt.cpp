#include "ridgeline/train/interrupt.h"

#include <atomic>
#include <csignal>

namespace ridgeline::train {
namespace {

// A signal handler can reach nothing but a global.
std::atomic<bool> g_interrupted{false};
std::atomic<int> g_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free);
int g_guards = 0;
struct sigaction g_old_int;  // before the first guard
struct sigaction g_old_term;

void on_signal(int signal) {
  if (g_interrupted) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  g_signal = signal;
  g_interrupted = true;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  if (g_guards++ > 0) return;
  set_interrupted(false);
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &g_old_int);
  sigaction(SIGTERM, &action, &g_old_term);
}

InterruptGuard::~InterruptGuard() {
  if (--g_guards > 0) return;
  sigaction(SIGINT, &g_old_int, nullptr);
  sigaction(SIGTERM, &g_old_term, nullptr);
  set_interrupted(false);
}

bool interrupted() { return g_interrupted; }
int interrupting_signal() { return g_signal; }
void set_interrupted(bool value) {
  g_signal = 0;
  g_interrupted = value;
}

}  // namespace ridgeline::train
