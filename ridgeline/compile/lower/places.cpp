#include "ridgeline/compile/lower/places.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace ridgeline {
namespace {

class SpaceTable {
 public:
  SpaceTable(const Plan& plan, std::vector<Space>& spaces) : plan_(plan), spaces_(spaces) {
    if (plan.arena_bytes.empty()) return;
    for (std::size_t d = 0; d < plan.devices.size(); ++d) {
      add({.device = d, .bytes = d < plan.arena_bytes.size() ? plan.arena_bytes[d] : 0});
    }
  }

  // Of a buffer that is not within another one.
  int of(int index) {
    const Buffer& b = plan_.buffers[static_cast<std::size_t>(index)];
    switch (b.home) {
      case BufferHome::arena: return arena(index);
      case BufferHome::kept: break;
      case BufferHome::store: return named(stored_, index);
      case BufferHome::input: return named(inputs_, index);
      case BufferHome::derived: return derived(index);
    }
    return own(index);
  }

 private:
  int add(Space space) {
    spaces_.push_back(space);
    return static_cast<int>(spaces_.size()) - 1;
  }

  int own(int index) {
    const Buffer& b = plan_.buffers[static_cast<std::size_t>(index)];
    return add({.home = b.home, .buffer = index, .bytes = b.bytes});
  }

  int arena(int index) {
    if (plan_.arena_bytes.empty()) return own(index);
    const Buffer& b = plan_.buffers[static_cast<std::size_t>(index)];
    const auto device = std::find(plan_.devices.begin(), plan_.devices.end(), b.device) - plan_.devices.begin();
    Space& space = spaces_[static_cast<std::size_t>(device)];
    if (space.buffer < 0) space.buffer = index;
    return static_cast<int>(device);
  }

  int named(std::unordered_map<std::string_view, int>& known, int index) {
    const auto [at, is_new] = known.try_emplace(plan_.buffers[static_cast<std::size_t>(index)].name, -1);
    if (is_new) at->second = own(index);
    return at->second;
  }

  // The store has one form of each type and layout on a device, for all programs.
  int derived(int index) {
    const Buffer& b = plan_.buffers[static_cast<std::size_t>(index)];
    std::vector<int>& forms = forms_[b.name];
    for (const int form : forms) {
      const Buffer& other = plan_.buffers[static_cast<std::size_t>(spaces_[static_cast<std::size_t>(form)].buffer)];
      if (other.type.dtype == b.type.dtype && other.device == b.device && other.layout == b.layout) return form;
    }
    forms.push_back(own(index));
    return forms.back();
  }

  const Plan& plan_;
  std::vector<Space>& spaces_;
  std::unordered_map<std::string_view, int> stored_, inputs_;
  std::unordered_map<std::string_view, std::vector<int>> forms_;
};

}  // namespace

Places::Places(const Plan& plan) : places_(plan.buffers.size()) {
  SpaceTable table(plan, spaces_);
  const bool planned = !plan.arena_bytes.empty();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Buffer& b = plan.buffers[i];
    if (b.within >= 0) continue;
    const std::size_t begin = planned && b.home == BufferHome::arena ? b.offset : 0;
    places_[i] = {table.of(static_cast<int>(i)), begin, begin + b.bytes};
  }
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Buffer& b = plan.buffers[i];
    if (b.within < 0) continue;
    const Place& whole = of(b.within);
    places_[i] = {whole.space, whole.begin + b.within_offset, whole.begin + b.within_offset + b.bytes};
  }
  for (const Launch& launch : plan.launches) {
    if (launch.shared >= 0) spaces_[static_cast<std::size_t>(of(launch.shared).space)].exchanged = true;
  }
}

std::string Places::text(const Plan& plan, const Place& place) const {
  const Space& space = this->space(place.space);
  const std::string buffer = "b" + std::to_string(space.buffer);
  std::string where;
  switch (space.home) {
    case BufferHome::arena:
      if (plan.arena_bytes.empty())
        where = buffer;
      else
        where = "the arena on " + std::string(plan.devices[space.device]->name());
      break;
    case BufferHome::store: where = "the stored " + plan.buffers[static_cast<std::size_t>(space.buffer)].name; break;
    case BufferHome::derived:
      where = "the form " + buffer + " of " + plan.buffers[static_cast<std::size_t>(space.buffer)].name;
      break;
    case BufferHome::kept: where = "the kept " + buffer; break;
    case BufferHome::input: where = "the input " + plan.buffers[static_cast<std::size_t>(space.buffer)].name; break;
  }
  return "bytes " + std::to_string(place.begin) + " to " + std::to_string(place.end) + " of " + where;
}

}  // namespace ridgeline
