// ridgeline/graph/pass/step_price.h
//
// What a distributed step is estimated to take, for comparing plans: every op as long as its arithmetic or its bytes
// need, whichever is longer, one after the other; exchanges one after the other beside them, each from its start, and
// waited for where what they give is first read. Not in it: caches, kernels, what an exchange takes from the ops.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/distribution.h"

namespace ridgeline {

// One op, without exchanges.
double op_seconds(const Graph& graph, const Node& node, const RankRates& rates);
// An exchange of `node`, a whole one or a start. Rings: an all-reduce sends 2 (N-1)/N of the bytes in 2 (N-1) messages,
// the others (N-1)/N in N-1, a transfer all in one (Patarasuk and Yuan, 2009). Where the rates have a tree, what takes
// less by one goes so, all bytes down it and, of sums, up it (Sanders, Speck and Traeff, 2009).
double exchange_seconds(const Graph& graph, const Node& node, const RankRates& rates);

// A step whose exchanges are whole or split.
double step_seconds(const Graph& step, const RankRates& rates);

}  // namespace ridgeline
