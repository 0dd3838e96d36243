#include "ridgeline/train/ranks/ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ridgeline/comm/connect.h"
#include "ridgeline/comm/meeting/membership.h"
#include "ridgeline/comm/meeting/scheduler.h"
#include "ridgeline/comm/rank_environment.h"
#include "ridgeline/core/error.h"
#include "ridgeline/core/printable.h"
#include "ridgeline/format/wire/crc32c.h"
#include "ridgeline/graph/pass/distribution.h"
#include "ridgeline/graph/pass/in_parts.h"
#include "ridgeline/train/loop/interrupt.h"

namespace ridgeline::train {
namespace {

std::span<const std::uint8_t> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::uint8_t*>(tensor.raw()), tensor.byte_size()};
}

}  // namespace

Ranks::Ranks(const Session& session) {
  const auto world = session.groups().find(kWorld);
  if (world != session.groups().end()) all_ = world->second;
}

Ranks Ranks::with_batch(const Session& session) {
  const auto workers = session.groups().find(kWorkersGroup);
  return workers == session.groups().end() ? Ranks(session) : Ranks(workers->second);
}

int Ranks::largest(int value) const {
  auto most = static_cast<std::int32_t>(value);
  if (all_) all_->all_reduce(&most, 1, DType::i32, comm::Reduction::max);
  return most;
}

void Ranks::sum(std::span<double> values) const {
  if (all_) all_->all_reduce(values.data(), static_cast<std::int64_t>(values.size()), DType::f64);
}

void Ranks::tell(std::string& text, int of) const {
  if (!all_) return;
  auto size = static_cast<std::int64_t>(text.size());
  all_->broadcast(&size, sizeof size, of);
  text.resize(static_cast<std::size_t>(size));
  all_->broadcast(text.data(), size, of);
}

std::string checksum_of(const ParameterStore& store) {
  std::uint32_t crc = 0;
  for (const std::string& name : store.names()) {
    crc = crc32c({reinterpret_cast<const std::uint8_t*>(name.data()), name.size()}, crc);
    crc = crc32c(bytes_of(store.get(name)), crc);
  }
  return fmt::format("{:08x}", crc);
}

std::string Ranks::tell(ParameterStore& store) const {
  if (!all_) return checksum_of(store);
  for (const std::string& name : store.names()) {
    Tensor value = store.get(name);
    all_->broadcast(value.raw(), static_cast<std::int64_t>(value.byte_size()));
    if (!main()) store.set(name, value, store.entry(name).kind);
  }
  const std::string own = checksum_of(store);
  std::string of_main = own;
  tell(of_main);
  // All ranks learn of a difference, so that all end.
  if (largest(own != of_main ? rank() : 0) > 0) {
    throw Error(
        fmt::format("[ranks] the stored values of rank {} have checksum {}, those of rank 0 {}: the ranks do not "
                    "train the same model",
                    rank(), own, of_main));
  }
  return own;
}

// The first of these in which a rank differs from the main one, as text from that rank to all; "" for none.
std::string Ranks::difference(const std::vector<std::string>& own, const char* has) const {
  std::string of_main = fmt::format("{}\n", fmt::join(own, "\n"));
  tell(of_main);
  std::string difference;
  std::size_t begin = 0;
  for (std::size_t i = 0; difference.empty() && (i < own.size() || begin < of_main.size()); ++i) {
    const std::string mine = i < own.size() ? own[i] : "nothing";
    const std::string main_line =
        begin < of_main.size() ? of_main.substr(begin, of_main.find('\n', begin) - begin) : "nothing";
    if (mine != main_line)
      difference = fmt::format("{} {} {}, {} {}", all_->name(rank()), has, mine, all_->name(0), main_line);
    begin += main_line.size() + 1;
  }
  const int worst = largest(difference.empty() ? 0 : rank());
  if (worst > 0) tell(difference, worst);
  return difference;
}

void Ranks::compare(const Program& program) const {
  if (!all_) return;
  std::vector<std::string> own;
  for (const LaunchReport& launch : program.launches())
    own.push_back(fmt::format("{} ({}) by '{}'", launch.node, launch.op, launch.kernel));
  if (const std::string other = difference(own, "runs"); !other.empty())
    throw Error(fmt::format("[ranks] {}: all ranks need the same instruction set, kernels and options", other));
}

void Ranks::agree(const std::vector<std::pair<std::string, std::string>>& settings) const {
  if (!all_) return;
  std::vector<std::string> own;
  for (const auto& [name, value] : settings) own.push_back(fmt::format("{}={}", name, printable(value)));
  if (const std::string other = difference(own, "has"); !other.empty())
    throw Error(fmt::format("[ranks] {}: all processes of a run need the same settings", other), ErrorKind::usage);
}

void RunRanks::abort(const std::string& why) const {
  if (workers) workers->abort(why);
  if (all) all->abort(why);
}

std::int64_t first_row_of(std::int64_t rank, std::int64_t ranks, std::int64_t batch_parts) {
  return batch_parts > 0 ? place_of_rank(rank, ranks) : rank;
}

RunRanks with_servers(std::shared_ptr<comm::Communicator> all, int servers) {
  RunRanks ranks(std::move(all));
  ranks.servers = servers;
  if (servers == 0) return ranks;
  std::vector<int> workers;
  for (int r = 0; r < ranks.data_ranks(); ++r) workers.push_back(r);
  if (!ranks.serves()) ranks.workers = ranks.all->group(workers);
  return ranks;
}

SessionOptions for_ranks(SessionOptions options, const RunRanks& ranks) {
  if (ranks.all) options.groups[kWorld] = ranks.all;
  if (ranks.workers) options.groups[kWorkersGroup] = ranks.workers;
  const bool numbered = options.device.find(':') != std::string::npos;
  if (ranks.device > 0 && !numbered && device_named(options.device).entry->numbered)
    options.device += fmt::format(":{}", ranks.device);
  return options;
}

namespace {

// Owned by a member of a training with servers: it leaves when its communicators are no longer used.
struct Member {
  Member(const comm::RoleEnvironment& own, const OptionalFunction<void(const std::string&)>& say)
      : membership(own, say) {}
  ~Member() { membership.on_loss({}); }

  comm::Membership membership;
  RunRanks ranks;
};

RunRanks connect_member(const comm::RoleEnvironment& own, const comm::ConnectOptions& options,
                        const OptionalFunction<void(const std::string&)>& say) {
  const auto member = std::make_shared<Member>(own, say);
  const int servers = member->membership.servers();
  std::shared_ptr<comm::Communicator> all = comm::connect(member->membership.identity(), options);
  member->ranks = with_servers(std::move(all), servers);
  const RunRanks& ranks = member->ranks;
  member->membership.on_loss([&ranks](int rank, const std::string& why) {
    if (ranks.workers) ranks.workers->lose(rank < ranks.data_ranks() ? rank : -1, why);
    ranks.all->lose(rank, why);
  });
  RunRanks shared(std::shared_ptr<comm::Communicator>(member, ranks.all.get()));
  if (ranks.workers) shared.workers = std::shared_ptr<comm::Communicator>(member, ranks.workers.get());
  shared.servers = servers;
  shared.device = member->membership.identity().device;
  return shared;
}

}  // namespace

void tell_refusal(const std::string& reason) {
  try {
    const comm::Environment environment = comm::process_environment();
    if (const std::optional<comm::RoleEnvironment> own = comm::role_environment(environment)) {
      if (own->role != comm::Role::scheduler) comm::tell_scheduler(*own, reason);
    } else {
      comm::tell_refusal(comm::rank_identity(environment), reason);
    }
  } catch (const Error&) {  // who it is, which is said already
  }
}

RunRanks connect_ranks(std::int64_t wanted, std::string_view flag,
                       const OptionalFunction<void(const std::string&)>& say) {
  const comm::Environment environment = comm::process_environment();
  const auto check_wanted = [&](int there, const char* what) {
    if (wanted <= 0 || wanted == there) return;
    throw Error(
        fmt::format("{3}={0}, but this process is one of {1}{2}: start {0} with ridgeline launch --ranks {0} -- "
                    "and the command",
                    wanted, there, what, flag),
        ErrorKind::usage);
  };
  comm::ConnectOptions options = before_joining([&] { return comm::connect_options(environment); });
  if (const std::optional<comm::RoleEnvironment> own = comm::role_environment(environment)) {
    before_joining([&] { check_wanted(own->place.workers, " workers"); });
    return connect_member(*own, options, say);
  }
  const comm::RankIdentity identity = comm::rank_identity(environment);
  before_joining([&] { check_wanted(identity.size(), ""); });
  if (identity.size() == 1) return {};
  // What the ranks share by then is removed when this is left.
  const InterruptGuard guard;
  options.watch = [] {
    if (interrupted()) throw Error("interrupted while the other ranks were waited for", ErrorKind::interrupted);
  };
  RunRanks ranks(comm::connect(identity, options));
  ranks.device = identity.device;
  return ranks;
}

bool scheduled(const OptionalFunction<void(const std::string&)>& say) {
  const std::optional<comm::RoleEnvironment> own = comm::role_environment(comm::process_environment());
  if (!own || own->role != comm::Role::scheduler) return false;
  comm::Scheduler(own->place, say).run();
  return true;
}

}  // namespace ridgeline::train
