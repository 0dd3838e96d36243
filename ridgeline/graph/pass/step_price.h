// ridgeline/graph/pass/step_price.h
//
// An estimate of a distributed step's time, for comparing ways to divide it: ops run one after the other, each as long
// as its arithmetic or its bytes need, whichever is longer; exchanges run one after the other beside them, each from
// its start, and are waited for where their results are first read. Not included: caches, kernels, the time that
// exchanges take from ops.
#pragma once

#include "ridgeline/graph/ir/graph.h"
#include "ridgeline/graph/pass/distribution.h"

namespace ridgeline {

// One op, without exchanges.
double op_seconds(const Graph& graph, const Node& node, const RankRates& rates);
// An exchange of `node`, a whole one or a start. Rings: an all-reduce sends 2 (N-1)/N of the bytes in 2 (N-1) messages,
// the others (N-1)/N in N-1, a transfer all in one (Patarasuk and Yuan, 2009). If the rates have a tree and it takes
// less time, all bytes go down a tree and, for sums, up it (Sanders, Speck and Traeff, 2009).
double exchange_seconds(const Graph& graph, const Node& node, const RankRates& rates);

// A step whose exchanges are whole or split.
double step_seconds(const Graph& step, const RankRates& rates);

}  // namespace ridgeline
