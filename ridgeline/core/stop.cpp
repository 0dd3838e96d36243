#include "ridgeline/core/stop.h"

namespace ridgeline {
namespace {

thread_local const std::atomic<bool>* current_stop = nullptr;

}  // namespace

StopScope::StopScope(const std::atomic<bool>* flag) : outer_(current_stop) { current_stop = flag; }
StopScope::~StopScope() { current_stop = outer_; }

const std::atomic<bool>* stop_flag() { return current_stop; }
bool stop_wanted() { return current_stop && current_stop->load(std::memory_order_relaxed); }

}  // namespace ridgeline
