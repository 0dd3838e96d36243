// ridgeline/data/runtime/for_each.h
//
// Runs many independent pieces of work of unequal length on its own threads, which take one after the other.
#pragma once

#include <cstdint>
#include <functional>

namespace ridgeline::data {

// Calls body(i, worker) once for each i in [0, n), worker below `workers` (0: one per core), any order. `progress`, if
// set, gets (done, n) now and then and at the end, one call at a time. After an exception no more pieces are begun;
// when all have stopped, that of the lowest i is rethrown.
void for_each(std::int64_t n, int workers, const std::function<void(std::int64_t, int)>& body,
              const std::function<void(std::int64_t, std::int64_t)>& progress = {});
// The number of threads for `workers`: one per core for 0. An excessive number is a usage Error.
int worker_count(int workers);

}  // namespace ridgeline::data
