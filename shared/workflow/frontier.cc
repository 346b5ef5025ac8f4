#include "shared/workflow/frontier.h"

namespace acl::workflow {

namespace {

constexpr const char* DirectName(Frontier::Kind kind) { return kind == Frontier::Kind::kReady ? "ready" : "own"; }
constexpr const char* WithinName(Frontier::Kind kind) { return kind == Frontier::Kind::kReady ? "ready" : "within"; }
constexpr const char* ItemsName(Frontier::Kind kind) { return kind == Frontier::Kind::kReady ? "items" : "own-items"; }

}  // namespace

ReadySet& Frontier::Set(std::string_view name, const std::string& of, int total) const {
  if (of.empty() && name == "ready") return run_;
  std::string prefix(name);
  if (!of.empty()) prefix.append("@").append(of);
  prefix += '/';
  const auto known = others_.find(prefix);
  return known != others_.end() ? known->second : others_.emplace(prefix, ReadySet(state_, total, prefix)).first->second;
}

ReadySet& Frontier::Direct(Kind kind, const Instance& instance) const {
  return Set(DirectName(kind), instance.item, definition_.RegionOf(instance.step).total());
}

ReadySet& Frontier::Items(Kind kind, const Instance& each) const { return Set(ItemsName(kind), each.step_id, kForeachItems); }

bool Frontier::Has(Kind kind, const Instance& instance) const { return Direct(kind, instance).Has(definition_.position(instance.step)); }

void Frontier::Insert(Kind kind, const Instance& instance) {
  Direct(kind, instance).Insert(definition_.position(instance.step));
  if (instance.item.empty()) return;
  for (Instance in = instance; !in.item.empty();) {
    const Instance each = definition_.EachOf(in);
    Items(kind, each).Insert(in.items.back());
    Set(WithinName(kind), each.item, definition_.RegionOf(each.step).total()).Insert(definition_.position(each.step));
    in = each;
  }
}

void Frontier::Erase(Kind kind, const Instance& instance) {
  Direct(kind, instance).Erase(definition_.position(instance.step));
  for (Instance in = instance; !in.item.empty();) {
    const int total = definition_.RegionOf(in.step).total();
    if (!Set(DirectName(kind), in.item, total).Empty() || !Set(WithinName(kind), in.item, total).Empty()) return;
    const Instance each = definition_.EachOf(in);
    ReadySet& items = Items(kind, each);
    items.Erase(in.items.back());
    if (!items.Empty()) return;
    Set(WithinName(kind), each.item, definition_.RegionOf(each.step).total()).Erase(definition_.position(each.step));
    in = each;
  }
}

bool Frontier::Walk(Kind kind, const Region& region, const std::string& item, const std::vector<int>& items, const Visit& visit) const {
  const auto within = [&](int step) {
    const Instance each = definition_.InstanceOf(step, item, items);
    const ReadySet& with = Items(kind, each);
    for (auto number = with.Next(0); number; number = with.Next(*number + 1)) {
      std::vector<int> inner = items;
      inner.push_back(*number);
      if (!Walk(kind, definition_.BodyOf(step), CompiledDefinition::ItemId(each, *number), inner, visit)) return false;
    }
    return true;
  };
  const ReadySet& direct = Set(DirectName(kind), item, region.total());
  for (auto position = direct.Next(0); position; position = direct.Next(*position + 1)) {
    const int step = region.order[std::size_t(*position)];
    const bool held = kind == Kind::kReady && definition_.step(step).foreach;
    if (held ? !within(step) : !visit(definition_.InstanceOf(step, item, items))) return false;
  }
  if (kind == Kind::kReady || !definition_.has_own()) return true;
  const ReadySet& scopes = Set(WithinName(kind), item, region.total());
  for (auto position = scopes.Next(0); position; position = scopes.Next(*position + 1)) {
    if (!within(region.order[std::size_t(*position)])) return false;
  }
  return true;
}

void Frontier::ForEach(Kind kind, const Visit& visit) const { Walk(kind, definition_.region(0), "", {}, visit); }

std::optional<Instance> Frontier::First(Kind kind) const {
  std::optional<Instance> first;
  ForEach(kind, [&](const Instance& instance) {
    first = instance;
    return false;
  });
  return first;
}

void Frontier::AppendTo(Delta& delta) const {
  run_.AppendTo(delta);
  for (const auto& [prefix, set] : others_) set.AppendTo(delta);
}

}  // namespace acl::workflow
