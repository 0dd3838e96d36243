// ridgeline/data/runtime/for_each.h
//
// A loop over many independent pieces of work of unequal length, on threads of its own that take one after the other.
#pragma once

#include <cstdint>
#include <functional>

namespace ridgeline::data {

// Calls body(i, worker) once for each i in [0, n), worker below `workers` (0: one per core), any order. `progress`, if
// set, gets (done, n) now and then and at the end, one call at a time. The exception of the lowest i that threw is
// rethrown when all have stopped; what has not begun by then is left out.
void for_each(std::int64_t n, int workers, const std::function<void(std::int64_t, int)>& body,
              const std::function<void(std::int64_t, std::int64_t)>& progress = {});
// Threads that `workers` stands for: one per core for 0. More than a machine has use for is a usage Error.
int worker_count(int workers);

}  // namespace ridgeline::data
