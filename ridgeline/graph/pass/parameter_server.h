// ridgeline/graph/pass/parameter_server.h
//
// Divides a training step between workers, which have a batch each, and parameter servers, which keep and update
// parameters with their slots. A worker's step computes gradients of its batch, sends ("pushes") those of the servers'
// parameters, and receives ("pulls") the updated parameters for its next step. A server's step adds the workers'
// gradients, in pairs of workers as all_reduce does, and then runs those ops of the given step that depend on the
// means: scaling, clipping, decay and the update. Parameters that are on no server are exchanged between the workers as
// by data_parallel. Ops that depend on neither (schedules, counters) run on all ranks; an l2_penalty over several
// ranks' gradients is summed over the ranks; a returned number is sent to the servers.
//
// Ranks of the group: the workers, then the servers. Every push comes before every pull, in the same order on all
// ranks, so that no two ranks wait for each other.
// Keeps: the bits of parameters and slots that data_parallel over the workers gives; with an l2_penalty over several
// servers, up to the order of its sum.
#pragma once

#include "ridgeline/graph/pass/pass_context.h"

namespace ridgeline {

// Does nothing if there are no servers or the step is already divided. An Error names an op or stored value that one
// rank computes and another one would need.
Graph parameter_server(Graph graph, const PassContext& context, PassResults& results);

// An Error (usage) for servers combined with another way to divide the work, or a rank out of range. Passes that divide
// the work earlier call this first.
void check_servers(const Distribution& over);

}  // namespace ridgeline
